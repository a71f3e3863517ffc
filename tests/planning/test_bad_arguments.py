"""Bad arguments of every function of planning: the error begins with the argument that is wrong."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.refusals import NO_COUNT, NO_PROBABILITY, refusals, refuses, said

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument, NotAvailable

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
def test_a_bad_argument_is_named(case):
    case.check()


# Bad goals, and goals that do not fit the mechanism: the error begins with what is wrong.

KRR, WARNER = ldp.KRR(("a", "b", "c"), 1.0), ldp.Warner(epsilon=1.0)

VALUE = planning.ValueTest(P, "b", 0.25)

X = pd.DataFrame({"const": 1.0, "age": [0.0, 1.0, 2.0]})

PAIR = (KRR, WARNER)

TABLE = np.full((3, 2), 1 / 6)

NAMED = pd.DataFrame(TABLE, index=list("abc"), columns=list(WARNER.categories))

NO_SHARES = {
    "none": None,
    "text": "abc",
    "sum": (0.5, 0.3, 0.3),
    "negative": (1.5, -0.5, 0.0),
    "nan": (np.nan, 0.5, 0.5),
    "inf": (np.inf, 0.5, 0.5),
    "empty": (),
    "one": (1.0,),
    "a set": {0.5, 0.3, 0.2},
    "huge": (10**400, 0, 0),
    "twice": pd.Series([0.5, 0.5], index=["a", "a"]),
}

NO_NUMBER = {"none": None, "text": "x", "nan": np.nan, "bool": True, "list": [0.1]}


def coefficient(**given: Any) -> planning.CoefficientTest:
    good: dict[str, Any] = {"params": (0.1, 0.2), "exog": X, "coefficient": "age"}
    return planning.CoefficientTest(**(good | given))


def power(mechanism: Any = KRR, goal: Any = VALUE, n: Any = 100, **more: Any) -> float:
    return planning.power(mechanism, goal, n, **more)


NO_TABLE = {"none": None, "flat": P, "sum": TABLE * 2, "row": [[0.5, 0.5], [0.0, 0.0]], "text": "x"}

INDEPENDENCE = planning.IndependenceTest(TABLE)

CASES_GOALS = [
    *refuses("p", lambda v: planning.ValueTest(v, "a", 0.2), NO_SHARES),
    *refuses("value", lambda v: planning.ValueTest(P, "a", v), NO_NUMBER | {"above": 1.1}),
    *refuses("category", lambda v: planning.ValueTest(P, v, 0.2), {"none": None, "list": ["a"]}),
    *refuses("category", lambda v: power(goal=planning.PresenceTest(P, v)), {"unknown": "z"}),
    *refuses("p", lambda v: power(goal=planning.PresenceTest(v, "a")), {"short": (0.5, 0.5)}),
    *refuses("n_candidates", lambda v: planning.PresenceTest(P, "a", v), {"few": 2, "half": 3.5}),
    *refuses("p", planning.GroupsTest, {"none": None, "one": [P], "ragged": [P, (1.0,)]}),
    *refuses("p[1]", planning.GroupsTest, {"sum": [P, (0.5, 0.5, 0.5)]}),
    *refuses("shares", lambda v: planning.GroupsTest([P, P], v), {"zero": (1.0, 0.0), "long": P}),
    *refuses("category", lambda v: planning.GroupsTest([P, P, P], category=v), {"three": "a"}),
    *refuses(
        "mechanism",
        lambda v: power(v, planning.GroupsTest([P, P])),
        {"none": None, "three": [KRR] * 3, "labels": [KRR, ldp.KRR(("c", "b", "a"), 1.0)]},
    ),
    *refuses("table", planning.IndependenceTest, NO_TABLE),
    *refuses("mechanism", lambda v: power(v, INDEPENDENCE), {"one": KRR, "three": (KRR,) * 3}),
    *refuses("mechanism[1]", lambda v: power(v, INDEPENDENCE), {"none": (KRR, None)}),
    *refuses("table", lambda v: power(v, INDEPENDENCE), {"shape": PAIR[::-1]}),
    *refuses("params", lambda v: coefficient(params=v), {"nan": (np.nan, 1.0), "text": "ab"}),
    *refuses("params", lambda v: power(WARNER, coefficient(params=v)), {"long": (1.0, 2.0, 3.0)}),
    *refuses("exog", lambda v: coefficient(exog=v), {"none": None, "empty": []}),
    *refuses("coefficient", lambda v: coefficient(coefficient=v), {"name": "sex", "far": 2}),
    *refuses("model", lambda v: coefficient(model=v), {"none": None, "other": "ols"}),
    *refuses("mechanism", lambda v: power(v, coefficient()), {"three": KRR}),
    *refuses("mechanism", power, {"none": None, "text": "krr", "class": ldp.KRR}),
    *refuses("goal", lambda v: power(goal=v), {"none": None, "class": type(VALUE)}),
    *refuses("n", lambda v: power(n=v), NO_NUMBER | {"zero": 0, "half": 1.5, "many": 2**63}),
    *refuses("alpha", lambda v: power(alpha=v), NO_NUMBER | {"zero": 0.0, "one": 1.0}),
    *refuses("design_effect", lambda v: power(design_effect=v), NO_NUMBER | {"zero": 0.0}),
    *refuses(
        "power",
        lambda v: planning.minimum_detectable(KRR, VALUE, 100, power=v),
        NO_NUMBER | {"one": 1.0, "alpha": 0.05},
    ),
    *refuses(
        "",
        lambda v: power((v, WARNER), planning.IndependenceTest(NAMED)),
        {"hashed bits": ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)},
        NotAvailable,
    ),
]


@pytest.mark.parametrize("case", CASES_GOALS)
def test_the_error_begins_with_what_is_wrong(case):
    case.check()


def test_a_table_of_another_shape_names_its_shape():
    goal = planning.IndependenceTest([[0.3, 0.2], [0.2, 0.3]])
    pair = (ldp.KRR(3, 1.0), ldp.KRR(2, 1.0))
    with pytest.raises(InvalidArgument, match=r"table='array of shape \(2, 2\)'.*\(3, 2\)"):
        planning.power(pair, goal, 100)


def test_a_list_of_shares_is_no_table_of_groups():
    with pytest.raises(InvalidArgument, match="no/yes") as error:
        planning.GroupsTest([0.05, 0.09])
    assert "[[0.95, 0.05], [0.91, 0.09]], or a DataFrame" in str(error.value)


def test_goals_print_their_truth():
    named = pd.DataFrame([[0.95, 0.05], [0.91, 0.09]], ["n", "s"], ["no", "yes"])
    for goal, truth in (
        (planning.ValueTest({"yes": 0.3, "no": 0.7}, "yes", 0.25), "yes 0.3, no 0.7"),
        (planning.PresenceTest([0.98, 0.02], 1), "0.98, 0.02"),
        (planning.PresenceTest(np.full(20, 0.05), 1), f"{'0.05, ' * 8}... (20 in all)"),
        (planning.GroupsTest(named), "n: no 0.95, yes 0.05; s: no 0.91, yes 0.09"),
        (planning.GroupsTest(np.full((6, 2), 0.5)), f"{'0.5, 0.5; ' * 4}... (6 rows)"),
        (planning.IndependenceTest([[0.3, 0.2], [0.2, 0.3]]), "0.3, 0.2; 0.2, 0.3"),
    ):
        assert str(goal) == f"{goal.words}; true shares: {truth}"
    assert str(coefficient()).endswith("is not zero; true coefficients: 0.1, 0.2")
