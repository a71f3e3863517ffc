"""Bad parameters of every mechanism: the error begins with the parameter that is wrong."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.refusals import NO_COUNT, NO_EPSILON, NO_LABELS, NO_PROBABILITY, refusals, refuses, said

import ldpstats as ldp
from ldpstats.errors import UnknownCategory

ABC = ("a", "b", "c")

HASHED: dict[str, tuple[Any, ...]] = {
    "n_cohorts": (*NO_COUNT, 2**40),
    "alphabet": [labels for labels in NO_LABELS if labels is not None],
}

BLOOM = {**HASHED, "n_bits": (*NO_COUNT, 1), "n_hashes": (*NO_COUNT, 70_000)}

NO_THETA = [theta for theta in (*NO_PROBABILITY, 0.0, 1.0, 1) if theta is not None]

SMALL_THETA = said(1e-20, "must be at least 1e-09")

SENSITIVE: dict[str, list[Any]] = {
    "sensitive": [
        said([1, 0, 1], "1: ", "twice", "once"),
        said("ab", "must be a set or list"),
        said(3, "must be a set or list"),
        said([np.nan], "nan", "holds a missing value"),
        said([0, None], "holds a missing value"),
        said([[0, 1]], "one-dimensional"),
        said(None, "must be a set or list"),
    ],
    "sensitive[0]": [
        said(["nurse"], "'nurse': is not among"),
        said([True, False] * 2 + [True], "True: is not among"),
    ],
    "sensitive[1]": [said((0, 7), "7: is not among the 5 labels")],
}

LEVELS: dict[str, list[Any]] = {
    "epsilon": [
        *(said(value, "must be a number") for value in NO_EPSILON),
        said({0: 1.0}, "lacks the sensitive category 1"),
        said({}, "lacks the sensitive category 0"),
    ],
    "epsilon[0]": [
        said({0: True, 1: 1.0}, "True: must be a number"),
        said({0: "1", 1: 1.0}, "'1': must be a number"),
    ],
    "epsilon[1]": [
        said({0: 1.0, 1: 0.0}, "0.0: must be a number"),
        said({0: 1.0, 1: np.nan}, "nan: must be a number"),
    ],
    "epsilon[3]": [
        said({0: 1.0, 1: 1.0, 3: 2.0}, "2.0: is of no sensitive category: leave it out")
    ],
}

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
    *refusals(
        ldp.SquareWave,
        {"edges": [0, 1, 2, 3], "epsilon": 1.0},
        {
            "edges": (*NO_LABELS[:9], [0, 1, 1], [0, 1, np.nan], [0, 1, np.inf], [[0, 1, 2]]),
            "epsilon": NO_EPSILON,
            "half_width": (-1, 3, 1.5, "1", np.nan, True, [1], 10**30),
        },
    ),
    *refusals(
        ldp.GeometricResponse,
        {"categories": 3, "epsilon": 1.0},
        {
            "categories": (*NO_LABELS, (1, 3, 2), ("[1, 2)", "[0, 1)")),
            "epsilon": NO_EPSILON,
        },
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
            "n_bits": NO_COUNT,  # one bit is a truth value's
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
            **SENSITIVE,
            **LEVELS,
            "levels": [said((2.0,), "must be 2 epsilons"), 1.0, "ab"],
        },
    ),
    *refusals(
        ldp.URR,
        {"categories": 5, "sensitive": (0, 1), "epsilon": 2.0, "levels": (1.0, 2.0)},
        {"epsilon": [None, said(1.0, "must be the largest"), said(3.0, "must be the largest")]},
    ),
    *refusals(
        ldp.URR,
        {"categories": 5, "epsilon": {0: 1.0}},  # whose keys are the sensitive categories
        {"epsilon": [said({}, "names no category")]},
    ),
    *refusals(
        ldp.URAP,
        {"categories": 5, "sensitive": (0, 1), "epsilon": 1.0},
        {
            "categories": NO_LABELS,
            **SENSITIVE,
            **LEVELS,
            "theta": [*(said(theta, "must be a probability") for theta in NO_THETA), SMALL_THETA],
        },
    ),
    *refusals(ldp.PUM, PUM, {"mechanism": [3, None, ldp.KRR(3, 1.0)], "tags": NO_TAGS}),
    *refuses(  # parameters that do not go together
        "p_truth + p_yes", lambda p: ldp.ForcedResponse(p_truth=0.8, p_yes=p), {"beyond one": 0.3}
    ),
    *refuses(
        "levels",
        lambda levels: ldp.URR(5, (), 2.0, levels),
        {"levels of no one": said((2.0,), "no category is sensitive")},
    ),
    *refuses(
        "levels",
        lambda levels: ldp.URR(5, (0,), {0: 1.0}, levels),
        {"levels and a dict": said((1.0,), "(1.0,): goes without")},
    ),
    *refuses(
        "epsilon",
        lambda epsilon: ldp.URR(5, (0,), epsilon, (1.0,)),
        {"levels without epsilon": said(None, "None: ", "largest")},
    ),
    *refuses(
        "",
        lambda epsilon: ldp.URR(5, epsilon=epsilon),
        {"unknown level": said({9: 1.0}, "9: is not among the 5 labels")},
        ldp.UnknownCategory,
    ),
    *refuses(
        "tags",
        lambda tag: ldp.PUM(ldp.URR(3, {0}, 1.0), (tag,)),
        {"the text of a category": "1"},
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_a_bad_parameter_is_named(case):
    case.check()


# Malformed mechanisms, specifications and answers: each error names the argument.

JOBS = ("nurse", "teacher", "driver")

KRR = ldp.KRR(JOBS, epsilon=1.0)

WIDE = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])

SPEC = KRR.to_dict()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


BAD = [
    # -- matrices: parameters of the other mechanisms are in test_bad_parameters.py
    *refuses("Q[0]", ldp.CustomMechanism, {"Q rows": [[0.5, 0.4], [0.5, 0.5]]}),
    *refuses("Q[1]", ldp.CustomMechanism, {"Q transposed": np.array([[0.9, 0.1], [0.5, 0.5]]).T}),
    *refuses("Q[0, 1]", ldp.CustomMechanism, {"Q negative": [[1.1, -0.1], [0.5, 0.5]]}),
    *refuses("Q[0, 0]", ldp.CustomMechanism, {"Q nan": [[np.nan, 1], [0.5, 0.5]]}),
    *refuses(
        "Q",
        ldp.CustomMechanism,
        {
            "Q a vector": [0.5, 0.5],
            "Q one row": [[0.5, 0.5]],
            "Q ragged": [[0.5, 0.5], [1.0]],
            "Q text": [["a", "b"], ["c", "d"]],
            "Q beyond floats": [[10**400, 0], [0, 1]],
        },
    ),
    *refuses(
        "categories",
        lambda v: ldp.CustomMechanism(WIDE.Q, v),
        {"too few categories": ("a",), "too many categories": JOBS},
    ),
    *refuses("outputs", lambda v: ldp.CustomMechanism(WIDE.Q, outputs=v), {"too few outputs": 2}),
    *refuses(
        "shares",
        lambda v: ldp.channels.Stacked([KRR.channel()] * 2, v),
        {"channel shares": np.array([1.0, 1.0])},
    ),
    # -- specifications
    *refuses(
        "specification",
        ldp.mechanism_from_dict,
        {
            "not an object": [1],
            "no format": {"mechanism": "KRR"},
            "unknown field": SPEC | {"x": 1},
            "missing field": {k: v for k, v in SPEC.items() if k != "epsilon"},
        },
    ),
    *refuses("version", ldp.mechanism_from_dict, {"later version": SPEC | {"version": 2}}),
    *refuses("mechanism", ldp.mechanism_from_dict, {"no such kind": SPEC | {"mechanism": "X"}}),
    *refuses("mechanism", ldp.Warner.from_dict, {"another kind": SPEC}),
    *refuses("categories", ldp.mechanism_from_dict, {"null labels": SPEC | {"categories": None}}),
    *refuses("epsilon", ldp.mechanism_from_dict, {"null epsilon": SPEC | {"epsilon": None}}),
    # -- values
    *refuses(
        "values[1]",
        lambda v: KRR.privatize(v, rng()),
        {"unknown category": ["nurse", "cook"]},
        UnknownCategory,
    ),
    *refuses(
        "values[1]",
        lambda v: KRR.privatize(v, rng()),
        {"missing answer": ["nurse", None], "pandas missing": pd.Series(["nurse", pd.NA])},
    ),
    *refuses(
        "missing", lambda v: KRR.privatize(["nurse"], rng(), missing=v), {"no such policy": "drop"}
    ),
    *refuses(
        "rng",
        lambda v: KRR.privatize(["nurse"], v),
        {"a seed": 1, "no generator": None, "old generator": np.random.RandomState(1)},
    ),
    *refuses(
        "value=", lambda v: KRR.client().report(v), {"client, unknown": "cook"}, UnknownCategory
    ),
    *refuses("value=", lambda v: KRR.client().report(v), {"client, missing": None}),
    *refuses("entropy", lambda v: KRR.client(entropy=v), {"entropy no function": b"123"}),
    *refuses(
        "entropy", lambda v: KRR.client(v).report("nurse"), {"entropy too short": lambda n: b""}
    ),
    *refuses(
        "p",
        lambda v: KRR.draw(v, 10, rng()),
        {
            "draw from no law": [0.5, 0.6, 0.2],
            "draw, wrong length": [0.5, 0.5],
            "draw, negative": [1.5, -0.5, 0.0],
        },
    ),
    *refuses(
        "n",
        lambda v: KRR.draw([0.5, 0.3, 0.2], v, rng()),
        {"draw nobody": -1, "draw half a person": 1.5},
    ),
    *refuses("rng", lambda v: KRR.draw([0.5, 0.3, 0.2], 10, v), {"draw with a seed": 1}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()
