"""Effects of two-way tables: what an effect is, conditionals, risks, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.bad_values import Refusal, refuses, said
from shared.effect_surveys import Z, as_dense, jacobian, survey
from shared.refusals import refusals

from ldpstats.inference.tables import ratio
from ldpstats.inference.tables.effects import (
    Effect,
    conditional,
    conditionals,
    cramers_v,
    odds_ratio,
    risk_difference,
    risk_ratio,
)
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.problems.covariance import Covariance

Array = npt.NDArray[Any]


# ---- the effect


EFFECTS = {
    "bounded": Effect("risk ratio", 1.5, 1.1, 2.2),
    "unbounded": Effect("risk ratio", 4.0, 1.2, np.inf, 0.1, "unbounded", "weak"),
    "complement": Effect("P(Y = a)", 0.9, 0.2, 0.6, 0.05, "complement"),
    "not given": Effect("odds ratio", np.nan, np.nan, np.nan, 0.05, "not given", "it is weak"),
}


def test_effects_print() -> None:
    assert [str(effect) for effect in EFFECTS.values()] == [
        "risk ratio: 1.5, 95% interval [1.1, 2.2]",
        "risk ratio: 4, 90% interval [1.2, inf] (weak)",
        "P(Y = a): 0.9, 95% set below 0.2 or above 0.6",
        "odds ratio: not given, because it is weak",
    ]
    assert "no estimate, 95%" in str(Effect("ratio", np.nan, 0.0, np.inf, 0.05, "unbounded"))


def test_effects_hold_values() -> None:
    holds = {kind: [v in effect for v in (0.1, 0.3, 1.5)] for kind, effect in EFFECTS.items()}
    assert holds == {
        "bounded": [False, False, True],
        "unbounded": [False, False, True],
        "complement": [True, False, True],
        "not given": [False, False, False],
    }
    assert [effect.given for effect in EFFECTS.values()] == [True, True, True, False]


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_survive_json(kind: str) -> None:
    text = json.dumps(EFFECTS[kind].to_dict(), allow_nan=False)
    assert repr(Effect.from_dict(json.loads(text))) == repr(EFFECTS[kind])  # nan is not nan


@pytest.mark.parametrize(
    ("low", "high", "kind", "expected"),
    [
        (0.2, 0.4, "bounded", (0.2, 0.4, "bounded", "")),
        (-0.2, 1.4, "bounded", (0.0, 1.0, "bounded", "")),
        (-np.inf, np.inf, "unbounded", (0.0, 1.0, "unbounded", "distinguishable")),
        (0.3, np.inf, "unbounded", (0.3, 1.0, "unbounded", "distinguishable")),
        (0.2, 0.6, "complement", (0.2, 0.6, "complement", "distinguishable")),
        (-0.2, 0.6, "complement", (0.6, 1.0, "unbounded", "distinguishable")),
        (0.2, 1.6, "complement", (0.0, 0.2, "unbounded", "distinguishable")),
        (-0.2, 1.6, "complement", (0.0, 1.0, "unbounded", "distinguishable")),
        (1.2, 1.6, "complement", (0.0, 1.0, "unbounded", "distinguishable")),
    ],
)
def test_the_cut(
    low: float, high: float, kind: Any, expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ratio, "fieller", lambda *_: FiellerInterval(low, high, kind))
    *numbers, message = ratio.fieller_within(0.1, 0.2, 1e-4, 1e-4, 0.0, (0.0, 1.0))
    assert tuple(numbers) == expected[:3]
    assert expected[3] in message and bool(expected[3]) == bool(message)


@pytest.mark.parametrize("num", [-0.03, -0.1, 0.23, 0.3])
def test_a_cut_that_leaves_nothing_gives_a_limit_instead(num: float) -> None:
    """The numerator is alpha/2 times as probable at the limit as at the end, 0 or 1."""
    den, V, alpha = 0.2, (1e-4, 1e-4, 2e-5), 0.1
    low, high, kind, message = ratio.fieller_within(num, den, *V, (0.0, 1.0), alpha)
    assert kind == "bounded" and "before the cut" in message and high - low > 0.01
    below = num < 0.0
    end, limit = (low, high) if below else (high, low)
    assert end == (0.0 if below else 1.0)

    def tail(r: float) -> float:
        z = (num - r * den) / np.sqrt(V[0] - 2 * r * V[2] + r**2 * V[1])
        return float(stats.norm.cdf(z) if below else stats.norm.sf(z))

    assert tail(limit) == pytest.approx(alpha / 2 * tail(end), rel=1e-6)


# ---- conditionals


@pytest.mark.parametrize("form", [lambda V: V, as_dense], ids=["structured", "dense"])
@pytest.mark.parametrize("axis", [0, 1])
def test_conditionals_are_fieller_sets_of_cell_and_margin(
    form: Callable[[Covariance], Covariance], axis: int
) -> None:
    P, V = survey()
    V = form(V)
    estimate, lower, upper, unbounded = conditionals(P, V, axis, 0.1)
    assert not unbounded.any()
    for i, j in np.ndindex(P.shape):
        R = np.zeros((2, *P.shape))
        R[0, i, j] = 1.0
        np.moveaxis(R[1], axis, 0)[(i, j)[axis]] = 1.0
        R = R.reshape(2, -1)
        (num, den), W = R @ P.ravel(), V.transform(R)
        found = fieller(num, den, W[0, 0], W[1, 1], W[0, 1], 0.1)
        effect = conditional(P, V, axis, i, j, 0.1)
        assert effect.estimate == pytest.approx(num / den, rel=1e-12)
        assert (effect.lower, effect.upper) == pytest.approx((found.low, found.high), rel=1e-9)
        assert estimate[i, j] == pytest.approx(effect.estimate, rel=1e-12)
        assert (lower[i, j], upper[i, j]) == pytest.approx((effect.lower, effect.upper), rel=1e-9)
    np.testing.assert_allclose(estimate.sum(axis=1 - axis), 1.0, rtol=1e-12)


@pytest.mark.parametrize("form", [lambda V: V, as_dense], ids=["structured", "dense"])
def test_cumulative_conditionals_are_conditionals_of_merged_columns(
    form: Callable[[Covariance], Covariance],
) -> None:
    P, V = survey()
    found = conditionals(P, form(V), cumulative=True)
    for j in range(P.shape[1] - 1):
        merge = np.zeros((P.shape[1], 2))
        merge[: j + 1, 0] = merge[j + 1 :, 1] = 1.0
        R = np.kron(np.eye(P.shape[0]), merge.T)
        merged = conditionals(P @ merge, Covariance.dense(V.transform(R)))
        for cumulated, expected in zip(found[:3], merged[:3], strict=True):
            np.testing.assert_allclose(cumulated[:, j], expected[:, 0], rtol=1e-8)
    for values in found[:3]:
        np.testing.assert_allclose(values[:, -1], 1.0, atol=1e-6)


def test_a_margin_near_zero_is_unbounded_and_says_so() -> None:
    P = np.array([[0.5, 0.49], [0.001, 0.009]])
    V = Covariance.dense(1e-4 * np.eye(4))
    effect = conditional(P, V, 0, 1, 1)
    assert effect.kind == "unbounded" and "not distinguishable from 0" in effect.message
    assert (effect.lower, effect.upper) == (0.0, 1.0)
    unbounded = conditionals(P, V)[3]
    np.testing.assert_array_equal(unbounded, [[False, False], [True, True]])
    P[1] = [-0.02, 0.01]
    assert np.isnan(conditional(P, V, 0, 1, 1).estimate)
    np.testing.assert_array_equal(np.isnan(conditionals(P, V)[0]), [[False] * 2, [True] * 2])
    assert np.isnan(risk_ratio(P, V, 0, 1, 0).estimate)


def test_a_set_of_two_parts_has_its_hull_in_the_table() -> None:
    P = np.array([[0.5, 0.5], [0.019, -0.019]])  # each 1.9 standard errors from 0
    V = Covariance.dense(1e-4 * np.eye(4))
    effect = conditional(P, V, 0, 1, 0)
    assert effect.kind == "complement" and 0 < effect.lower < effect.upper < 1
    _, lower, upper, unbounded = conditionals(P, V)
    assert (lower[1, 0], upper[1, 0], unbounded[1, 0]) == (0.0, 1.0, True)


# ---- risk differences, risk ratios


def accepted(value: float, g: Callable[[Array, float], float], P: Array, V: Covariance) -> bool:
    """Whether g(P, value) = 0 is not rejected, by the delta method with numerical derivatives."""
    J = jacobian(lambda p: np.array([g(p, value)]), P)
    return bool(abs(g(P, value)) <= Z * np.sqrt(V.transform(J)[0, 0]))


def test_sets_of_risk_effects_hold_what_is_not_rejected() -> None:
    P, V = survey()
    r = lambda p, i: p[i].sum()  # noqa: E731
    both: list[tuple[Any, Callable[[Array, float], float]]] = [
        (
            risk_difference,
            lambda p, d: p[0, 1] * r(p, 2) - p[2, 1] * r(p, 0) - d * r(p, 0) * r(p, 2),
        ),
        (risk_ratio, lambda p, t: p[0, 1] * r(p, 2) - t * p[2, 1] * r(p, 0)),
    ]
    for function, g in both:
        effect = function(P, V, 0, 2, 1)
        assert effect.kind == "bounded" and effect.estimate in effect
        width = effect.upper - effect.lower
        for end, inwards in ((effect.lower, 1), (effect.upper, -1)):
            assert accepted(end + inwards * 1e-3 * width, g, P, V)
            assert not accepted(end - inwards * 1e-3 * width, g, P, V)


def test_risk_effects_are_cut_to_what_is_possible() -> None:
    P = np.array([[0.48, 0.01], [0.01, 0.5]])
    V = Covariance.dense(1e-4 * np.eye(4))
    assert risk_difference(P, V, 0, 1, 0).upper == 1.0
    ratio = risk_ratio(P, V, 1, 0, 0)
    assert ratio.lower == 0.0 and 0 < ratio.upper < 0.1
    ratio = risk_ratio(P, V, 0, 1, 0)
    assert ratio.upper == np.inf and ratio.kind == "unbounded"


# ---- refusals

TABLE, V = survey()
P_V = {"P": TABLE, "covariance": V}
NO_LEVEL = [0.0, 1.0, 2.0, np.nan, "0.05"]
NO_TABLE = [TABLE.ravel(), said(TABLE * np.nan, "finite")]
NO_ROW = [said(i, "must be a position from 0 to 2") for i in (3, -1, 0.5, True, "1")]
NO_COLUMN = [said(j, "must be a position from 0 to 3") for j in (4, -1, 0.5, True, None)]


CASES = [
    *refusals(
        conditional,
        P_V | {"given_axis": 0, "i": 0, "j": 0},
        {"P": NO_TABLE, "given_axis": [2, True], "i": NO_ROW, "j": NO_COLUMN, "alpha": NO_LEVEL},
    ),
    *refusals(cramers_v, P_V, {"P": NO_TABLE, "alpha": NO_LEVEL}),
    *refusals(
        odds_ratio,
        P_V | {"rows": (0, 1), "columns": (0, 1)},
        {"rows": [(0, 0), (0, 3)], "columns": [(0, 1, 2), (0, 4)]},
    ),
    *refuses(
        "",
        lambda i2: risk_difference(TABLE, V, 1, i2, 0),
        {"a row with itself": said(1, "two different positions")},
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_a_bad_argument_is_named(case: Refusal) -> None:
    case.check()
