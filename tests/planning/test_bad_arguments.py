"""Bad arguments of every function of planning: the error begins with the argument that is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from shared.bad_values import Refusal, refuses, said
from shared.refusals import NO_COUNT, NO_PROBABILITY, refusals

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import NotAvailable

P = (0.5, 0.3, 0.2)
R = ((1.0, 0.0),)
ORR = ldp.ORR(4, 16, epsilon=1.0)
GOOD: dict[str, Any] = {
    "p": P,
    "epsilon": 0.5,
    "n": 10,
    "k": 3,
    "S": 8,
    "theta": 0.5,
    "sensitive": [0],
    "n_sensitive": 1,
    "loss": "l1",
    "n_cells": 4,
    "n_cohorts": 2,
    "n_hashes": 1,
    "mass": 0.9,
    "candidates": ("a", "b", "c"),
}
MORE: dict[str, dict[str, Any]] = {  # good arguments that depend on the function
    "effective_sample_size": {"mechanism": "krappor"},
    "effective_sample_size_high_privacy": {"mechanism": "krr"},
    "effective_sample_size_low_privacy": {"mechanism": "krr"},
    "expected_loss": {"mechanism": ORR},
    "random_design_loss": {"mechanism": ORR},
    "manipulation": {"mechanism": ORR, "share": 0.01},
    "uldp_high_privacy_loss": {"mechanism": "urr", "n_sensitive": 3},
    "uldp_low_privacy_loss": {"mechanism": "urr"},
    "uldp_lower_bound": {"n_sensitive": 3},
    "personalized_bound": {"r_hat": P, "r": P, "pi_hat": R, "pi": R},
    "recommend_design": {
        "p": None,
        "closed": False,
        "mechanisms": ("orr",),
        "n_outputs": 8,
        "n_cohorts": 16,
    },
}
BAD: dict[str, Any] = {
    "p": [
        (0.5, 0.6, 0.1),
        (1.5, -0.5, 0.0),
        ([0.5], [0.2, 0.3], [0.1]),
        [P],
        (10**400, 0, 0),
        ("a", "b", "c"),
        (np.nan, 0.5, 0.5),
    ],
    "epsilon": [0.0, -1.0, np.nan, "1", None, ((1.0,), (1.0, 2.0))],
    "n": [0, -1, 2.5, "10", None, np.nan],
    "k": [1, 0, -1, 2.5, "3", None],
    "S": [0, 2.5, "8", None],
    "theta": [theta for theta in (*NO_PROBABILITY, 0.0, 1.0) if theta is not None],
    "sensitive": [
        said([1, 1], "1: ", "twice"),
        said([True, False], "'mask of shape"),
        1,
        None,
        "01",
    ],
    "sensitive[0]": [said([3], "3"), said([-1], "-1")],
    "n_sensitive": [-1, 1.5, "1", None],
    "loss": ["l3", "tv", "linf", None, 2],
    "n_cells": [*NO_COUNT, 1],
    "n_cohorts": NO_COUNT,
    "n_hashes": NO_COUNT,
    "mass": [*NO_PROBABILITY, 0.0, 1.0],
    "mechanism": [None, "oue", 3, ldp.ORR],
}
MORE_BAD: dict[str, dict[str, Any]] = {  # in place of the above
    "best_theta": {
        "p": [*BAD["p"], [0.5, 0.5]],
        "epsilon": [*BAD["epsilon"], [1.0, 2.0]],
        "n_sensitive": [*BAD["n_sensitive"], 0, 4],
    },
    "personalized_bound": {
        "r_hat": [[0.5, 0.5], "abc"],
        "r": [[0.5, 0.3, 0.3], None],
        "pi_hat": [[[1.0, np.nan]], None],
        "pi": [[1.0, 0.0]],
        "pi[0]": [[[0.7, 0.7]]],
    },
    "recommend_design": {
        "S": [*BAD["S"], 1],
        "p": [[0.5, 0.5]],
        "mechanisms": ["krr", [], None],
        "closed": ["x", None],
        "n_outputs": ["4", 1, []],
        "n_cohorts": [[4, 0], 0],
        "n_hashes": [1.5, 0],
    },
    "uldp_high_privacy_loss": {"mechanism": ["krr"], "n_sensitive": [*BAD["n_sensitive"], 1]},
    "uldp_low_privacy_loss": {"mechanism": ["rappor"], "n_sensitive": [*BAD["n_sensitive"], 0]},
    "uldp_lower_bound": {
        "epsilon": [*BAD["epsilon"], 1.5],
        "n_sensitive": [*BAD["n_sensitive"], 1],
    },
    "urap_worst_l2": {"n_sensitive": [*BAD["n_sensitive"], 4]},
    "urr_l2": {"epsilon": [*BAD["epsilon"], said({0: 1.0, 2: 1.0}, "[0]")]},
    "urr_worst_l1": {"n_sensitive": [*BAD["n_sensitive"], 4]},
    "manipulation": {"n": [0, -1, 2.5, "10", np.nan], "share": [-0.1, 1.0, np.nan, "1", None]},
}


ELSEWHERE = {  # functions of mechanisms and goals, whose bad arguments have tests of their own
    "compare",
    "design_channel",
    "minimum_detectable",
    "one_report_covariance",
    "plan_dictionary",
    "plot_frontier",
    "power",
    "precision",
    "realised_losses",
    "recommend",
    "sample_size",
}


def functions() -> Iterator[Callable[..., Any]]:
    for name in planning.__all__:
        if inspect.isfunction(function := getattr(planning, name)) and name not in ELSEWHERE:
            yield function


def cases() -> Iterator[Any]:
    for function in functions():
        taken = inspect.signature(function).parameters
        good = {**GOOD, **MORE.get(function.__name__, {})}
        good = {name: value for name, value in good.items() if name in taken}
        bad = {**BAD, **MORE_BAD.get(function.__name__, {})}
        spoiled = {field: bad[field] for field in bad if field.partition("[")[0] in taken}
        yield from refusals(function, good, spoiled)


CASES = [
    *cases(),
    # arguments that do not go together
    *refuses("n", lambda n: planning.krr_l2(P, [1.0, 2.0, 3.0], n), {"two for three": [10, 20]}),
    *refuses(
        "theta",
        lambda theta: planning.effective_sample_size("krr", 4, 1.0, 10, theta=theta),
        {"theta of k-RR": 0.5},
    ),
    *refuses(
        "",
        lambda candidates: planning.expected_loss(ORR, P, 100, candidates),
        {"no candidates": said(None, "candidates")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda mechanism: planning.random_design_loss(mechanism, P, 100),
        {"two hashes": said(ldp.ORAPPOR(8, 2, 4, epsilon=1.0), "one hash")},
        NotAvailable,
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_a_bad_argument_is_named(case: Refusal) -> None:
    case.check()
