"""Bad parameters of every mechanism: the error begins with the parameter that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared.refusals import (
    NO_COUNT,
    NO_EPSILON,
    NO_LABELS,
    NO_PROBABILITY,
    Says,
    assert_refused,
    refusals,
)

import ldpstats as ldp

ABC = ("a", "b", "c")
HASHED: dict[str, tuple[Any, ...]] = {
    "n_cohorts": (*NO_COUNT, 2**40),
    "alphabet": [labels for labels in NO_LABELS if labels is not None],
}
BLOOM = {**HASHED, "n_bits": (*NO_COUNT, 1), "n_hashes": (*NO_COUNT, 70_000)}
NO_THETA = [theta for theta in (*NO_PROBABILITY, 0.0, 1.0, 1) if theta is not None]
SMALL_THETA = Says(1e-20, "must be at least 1e-09")

SENSITIVE = [
    Says((0, 7), "7: is not among the 5 labels", at="[1]"),
    Says(["nurse"], "'nurse': is not among", at="[0]"),
    Says([1, 0, 1], "1: .*twice.*once"),
    Says("ab", "must be a set or list"),
    Says(3, "must be a set or list"),
    Says([True, False] * 2 + [True], "True: is not among", at="[0]"),
    Says([np.nan], "nan.*: holds a missing value"),
    Says([0, None], "holds a missing value"),
    Says([[0, 1]], "one-dimensional"),
    Says(None, "must be a set or list"),
]
LEVELS = [
    Says({0: 1.0}, "lacks the sensitive category 1"),
    Says({}, "lacks the sensitive category 0"),
    Says({0: 1.0, 1: 1.0, 3: 2.0}, "2.0: is of no sensitive category: leave it out", at="[3]"),
    Says({0: 1.0, 1: 0.0}, "0.0: must be a number", at="[1]"),
    Says({0: 1.0, 1: np.nan}, "nan: must be a number", at="[1]"),
    Says({0: True, 1: 1.0}, "True: must be a number", at="[0]"),
    Says({0: "1", 1: 1.0}, "'1': must be a number", at="[0]"),
]
PUM = {"mechanism": ldp.URR(ABC, {"a"}, epsilon=1.0), "tags": ("home", "work")}
NO_TAGS = [(), 2, {"home", "work"}, "home", None, ("home", "home"), ("home", None), ("home", "b")]

CASES = [
    *refusals(
        ldp.KRR,
        {"categories": 3, "epsilon": 1.0},
        {"categories": NO_LABELS, "epsilon": NO_EPSILON},
    ),
    *refusals(
        ldp.KRAPPOR,
        {"categories": 3, "epsilon": 1.0},
        {"categories": NO_LABELS, "epsilon": NO_EPSILON, "theta": [*NO_THETA, SMALL_THETA]},
    ),
    *refusals(ldp.Warner, {"epsilon": 1.0}, {"epsilon": NO_EPSILON}),
    *refusals(
        ldp.ForcedResponse,
        {"p_truth": 0.5, "p_yes": 0.2},
        {"p_truth": (*NO_PROBABILITY, 0.0), "p_yes": NO_PROBABILITY},
    ),
    *refusals(
        ldp.UnrelatedQuestion,
        {"p": 0.5, "prevalence": 0.2},
        {"p": (*NO_PROBABILITY, 0.0), "prevalence": NO_PROBABILITY},
    ),
    *refusals(ldp.Mangat, {"p": 0.5}, {"p": (*NO_PROBABILITY, 1.0)}),
    *refusals(
        ldp.ORR,
        {"n_outputs": 4, "n_cohorts": 4, "epsilon": 1.0},
        {**HASHED, "n_outputs": (*NO_COUNT, 1, 2**40), "epsilon": NO_EPSILON},
    ),
    *refusals(
        ldp.ORR,
        {"n_outputs": 2**20, "n_cohorts": 1, "epsilon": 1.0},
        {"n_cohorts": [2**20]},  # too many cells
    ),
    *refusals(
        ldp.ORAPPOR,
        {"n_bits": 8, "n_hashes": 2, "n_cohorts": 4, "epsilon": 1.0},
        {**BLOOM, "epsilon": NO_EPSILON},
    ),
    *refusals(
        ldp.RAPPOR,
        {"n_bits": 8, "n_hashes": 2, "n_cohorts": 4, "f": 0.0, "p": 0.2, "q": 0.7},
        {
            **BLOOM,
            "f": (*NO_PROBABILITY, 1.0),
            "p": NO_PROBABILITY,
            "q": (*NO_PROBABILITY, 0.2),
            "hashing": ("md5", None, 3),
        },
    ),
    *refusals(  # more bits than its hash has, and a list that it does not know
        ldp.RAPPOR,
        {"n_bits": 512, "n_hashes": 2, "n_cohorts": 4, "f": 0.0, "p": 0.5, "q": 0.7},
        {"hashing": ["google"]},
    ),
    *refusals(
        ldp.RAPPOR,
        {"n_bits": 8, "n_hashes": 2, "n_cohorts": 4, "f": 0, "p": 0.5, "q": 0.7, "alphabet": 3},
        {"hashing": ["google"]},
    ),
    *refusals(
        ldp.URR,
        {"categories": 5, "sensitive": (0, 1), "epsilon": 1.0},
        {
            "categories": NO_LABELS,
            "sensitive": SENSITIVE,
            "epsilon": [*(Says(value, "must be a number") for value in NO_EPSILON), *LEVELS],
            "levels": [Says((2.0,), "must be 2 epsilons"), 1.0, "ab"],
        },
    ),
    *refusals(
        ldp.URR,
        {"categories": 5, "sensitive": (0, 1), "epsilon": 2.0, "levels": (1.0, 2.0)},
        {"epsilon": [None, Says(1.0, "must be the largest"), Says(3.0, "must be the largest")]},
    ),
    *refusals(
        lambda epsilon: ldp.URR(5, epsilon=epsilon),  # whose keys are the sensitive categories
        {"epsilon": {0: 1.0}},
        {"epsilon": [Says({}, "names no category")]},
    ),
    *refusals(
        ldp.URAP,
        {"categories": 5, "sensitive": (0, 1), "epsilon": 1.0},
        {
            "categories": NO_LABELS,
            "sensitive": SENSITIVE,
            "epsilon": [
                *(Says(value, "must be a number from") for value in NO_EPSILON),
                Says({0: 1, 1: 2}, "must be a number from"),
            ],
            "theta": [*(Says(theta, "must be a probability") for theta in NO_THETA), SMALL_THETA],
        },
    ),
    *refusals(ldp.PUM, PUM, {"mechanism": [3, None, ldp.KRR(3, 1.0)], "tags": NO_TAGS}),
]


@pytest.mark.parametrize(("call", "begins"), CASES)
def test_a_bad_parameter_is_named(call: Callable[[], Any], begins: str) -> None:
    assert_refused(call, begins)


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        (lambda: ldp.URR(5, epsilon={9: 1.0}), "9: is not among the 5 labels"),
        (lambda: ldp.URR(5, (), 2.0, (2.0,)), "^levels=.*no category is sensitive"),
        (lambda: ldp.URR(5, (0,), {0: 1.0}, (1.0,)), r"^levels=\(1.0,\): goes without"),
        (lambda: ldp.URR(5, (0, 1), 2.0, (2.0,)), r"^levels=\(2.0,\): must be 2 epsilons"),
        (lambda: ldp.URR(5, (0,), levels=(1.0,)), "^epsilon=None: .*largest"),
        (lambda: ldp.PUM(ldp.URR(3, {0}, 1.0), ("1",)), "^tags="),
    ],
)
def test_parameters_that_do_not_go_together(call: Callable[[], Any], begins: str) -> None:
    assert_refused(call, begins)
