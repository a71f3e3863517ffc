"""Effect sizes of two-way tables: their algebra, their refusals, and what their intervals cover.

`python tests/test_effects.py` prints the coverage of every setting of the slow simulation.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import optimize, stats

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables import cramer, effects, ratio
from ldpstats.inference.tables.effects import (
    Effect,
    conditional,
    conditionals,
    cramers_v,
    departures,
    odds_ratio,
    risk_difference,
    risk_ratio,
)
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.problems.covariance import Covariance, multinomial

Array = npt.NDArray[Any]

FULL = 1000
Z = stats.norm.isf(0.025)


# ---- surveys of two k-RR variables

MARGINS = {
    "2x2 dense": ((0.6, 0.4), (0.7, 0.3)),
    "3x4 dense": ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)),
    "3x4 sparse": ((0.85, 0.12, 0.03), (0.8, 0.14, 0.05, 0.01)),
    "5x5 dense": ((0.35, 0.25, 0.18, 0.13, 0.09),) * 2,
    "5x5 sparse": ((0.7, 0.18, 0.08, 0.03, 0.01),) * 2,
}


def joint(margins: str, strength: float) -> Array:
    """A table of these margins, tilted linear by linear; strength 0 is independence."""
    r, c = (np.array(margin) for margin in MARGINS[margins])
    u, v = np.arange(r.size) - (r.size - 1) / 2, np.arange(c.size) - (c.size - 1) / 2
    P = np.outer(r, c) * np.exp(strength * np.outer(u, v))
    for _ in range(2000 if strength else 0):
        P *= (r / P.sum(axis=1))[:, None]
        P *= c / P.sum(axis=0)
    return P


def krr(k: int, epsilon: float) -> Array:
    return (np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)) / (np.exp(epsilon) + k - 1)


@dataclass(frozen=True)
class Setting:
    """Two variables with these margins, each reported by k-RR, by n respondents."""

    margins: str
    strength: float
    epsilon: float
    n: int

    def __str__(self) -> str:
        return f"{self.margins} {self.strength:g} eps {self.epsilon:g} n {self.n}"

    @cached_property
    def P(self) -> Array:
        return joint(self.margins, self.strength)

    @cached_property
    def channel(self) -> Array:
        return np.kron(*(krr(k, self.epsilon) for k in self.P.shape))

    @cached_property
    def inverse(self) -> Array:
        return np.linalg.inv(self.channel).T  # of column vectors

    def estimate(self, m: Array) -> tuple[Array, Covariance]:
        """The unconstrained table of reports with frequencies m, and its plug-in covariance."""
        core = (np.diag(m) - np.outer(m, m)) / self.n
        table = (self.inverse @ m).reshape(self.P.shape)
        return table, Covariance(np.zeros(m.size), core, self.inverse)

    def surveys(self, R: int, seed: int) -> list[tuple[Array, Covariance]]:
        rng = np.random.default_rng([seed, R])
        counts = rng.multinomial(self.n, self.P.ravel() @ self.channel, size=R)
        return [self.estimate(count / self.n) for count in counts]

    @cached_property
    def truth(self) -> tuple[Array, Covariance]:
        """The true table, and the covariance of its estimate."""
        return self.estimate(self.P.ravel() @ self.channel)


SMALL = Setting("3x4 dense", 0.4, 2.0, 10_000)


def survey(seed: int = 0) -> tuple[Array, Covariance]:
    return SMALL.surveys(1, seed)[0]


def as_dense(V: Covariance) -> Covariance:
    return Covariance.dense(V.matrix())


def jacobian(f: Callable[[Array], Array], at: Array) -> Array:
    """Central differences of f at a table; the columns follow the table row by row."""
    columns = []
    for cell in np.ndindex(at.shape):
        step = np.zeros(at.shape)
        step[cell] = 1e-5
        columns.append((np.ravel(f(at + step)) - np.ravel(f(at - step))) / 2e-5)
    return np.stack(columns, axis=1)


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


def test_cumulative_conditionals_of_columns() -> None:
    P, V = survey()
    R = np.eye(P.size).reshape(*P.shape, P.size).transpose(1, 0, 2).reshape(P.size, P.size)
    turned = conditionals(P.T, Covariance.dense(V.transform(R)), cumulative=True)
    for found, expected in zip(conditionals(P, V, 1, cumulative=True), turned, strict=True):
        np.testing.assert_allclose(found, expected.T, rtol=1e-7)


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


def test_swapped_rows_negate_differences_and_invert_ratios() -> None:
    P, V = survey()
    there, back = risk_difference(P, V, 0, 1, 2), risk_difference(P, V, 1, 0, 2)
    assert (back.lower, back.upper) == pytest.approx((-there.upper, -there.lower), rel=1e-9)
    there, back = risk_ratio(P, V, 0, 1, 2), risk_ratio(P, V, 1, 0, 2)
    assert (back.lower, back.upper) == pytest.approx((1 / there.upper, 1 / there.lower), rel=1e-9)


def test_risk_effects_are_cut_to_what_is_possible() -> None:
    P = np.array([[0.48, 0.01], [0.01, 0.5]])
    V = Covariance.dense(1e-4 * np.eye(4))
    assert risk_difference(P, V, 0, 1, 0).upper == 1.0
    ratio = risk_ratio(P, V, 1, 0, 0)
    assert ratio.lower == 0.0 and 0 < ratio.upper < 0.1
    ratio = risk_ratio(P, V, 0, 1, 0)
    assert ratio.upper == np.inf and ratio.kind == "unbounded"


# ---- odds ratios


def test_odds_ratio_by_the_delta_method() -> None:
    P, V = survey()
    J = jacobian(lambda p: np.log([p[0, 1] * p[2, 3] / (p[0, 3] * p[2, 1])]), P)
    se = np.sqrt(V.transform(J)[0, 0])
    effect = odds_ratio(P, V, (0, 2), (1, 3), alpha=0.1)
    log = np.log(P[0, 1] * P[2, 3] / (P[0, 3] * P[2, 1]))
    half = stats.norm.isf(0.05) * se
    expected = np.exp([log, log - half, log + half])
    np.testing.assert_allclose([effect.estimate, effect.lower, effect.upper], expected, rtol=1e-6)


def test_an_odds_ratio_of_a_weak_cell_has_a_profile_set() -> None:
    P = np.array([[0.4, 0.3], [0.2, 0.1]])
    V = Covariance.dense(np.diag([1e-4, 1e-4, 1e-4, 0.0006]))
    effect = odds_ratio(P, V, (0, 1), (0, 1))
    assert effect.given
    V = Covariance.dense(np.diag([0.02, 1e-4, 1e-4, 0.000626]))
    effect = odds_ratio(P, V, (0, 1), (0, 1))
    assert effect.given and effect.lower < 2 / 3 < effect.upper
    assert effect.message == (
        "profile set, as P(X = 0, Y = 0) = 0.4 is 2.8 standard errors from 0 and "
        "P(X = 1, Y = 1) = 0.1 is 4.0 standard errors from 0, fewer than 4: "
        "merge rare categories, or collect more reports"
    )
    assert effect.estimate == pytest.approx(2 / 3)


def profile_by_hand(psi: float, x: Array, V: Array) -> float:
    """Least squared distance of x = (a, d, b, c) from cells >= 0 with a d = psi b c."""
    precision, best = np.linalg.inv(V), np.inf
    for start in itertools.product((0.3, 1.0), repeat=4):
        found = optimize.minimize(
            lambda p: (x - p) @ precision @ (x - p),
            np.maximum(x, 0.02) * start,
            bounds=[(0.0, None)] * 4,
            constraints={"type": "eq", "fun": lambda p: p[0] * p[1] - psi * p[2] * p[3]},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        if abs(found.x[0] * found.x[1] - psi * found.x[2] * found.x[3]) < 1e-9:
            best = min(best, found.fun)
    return best


def test_the_profile_set_of_an_odds_ratio_by_hand() -> None:
    V = Covariance.dense(np.diag([4e-4, 2e-4, 3e-4, 1e-4]) - 2e-5).matrix()
    for x in ([0.4, 0.2, 0.3, 0.03], [0.4, 0.02, 0.3, 0.25], [0.3, 0.01, 0.2, -0.02]):
        estimate, low, high = ratio.odds_profile(x, V)
        nearest = min(profile_by_hand(psi, np.array(x), V) for psi in (1e-6, 1e6, 1.0))
        if estimate < 1e6:
            nearest = min(nearest, profile_by_hand(estimate, np.array(x), V))
        for end in (low, high):
            if 0.0 < end < np.inf:
                excess = profile_by_hand(end, np.array(x), V) - nearest
                assert excess == pytest.approx(Z**2, abs=0.05)


def test_the_profile_set_is_the_wald_interval_of_clear_cells() -> None:
    x, V = np.array([0.4, 0.3, 0.2, 0.1]), 1e-6 * np.eye(4)
    estimate, low, high = ratio.odds_profile(x, V)
    half = Z * np.sqrt(1e-6 * np.sum(1 / x**2))
    expected = np.exp(np.log(6.0) + np.array([-half, half]))
    np.testing.assert_allclose([low, high], expected, rtol=2e-4)
    assert estimate == pytest.approx(6.0)


def test_cells_that_may_be_zero_leave_an_odds_ratio_open() -> None:
    V = 4e-4 * np.eye(4)
    assert ratio.odds_profile([0.4, 0.3, 0.2, 0.01], V)[2] == np.inf  # b c may be 0
    assert ratio.odds_profile([0.4, 0.01, 0.2, 0.3], V)[1] == 0.0  # a d may be 0
    assert ratio.odds_profile([0.01, 0.3, 0.01, 0.3], V)[1:] == (0.0, np.inf)
    assert np.isnan(ratio.odds_profile([0.5, -0.03, -0.04, 0.5], V)[0])


def test_labels_come_from_a_data_frame() -> None:
    frame = pd.DataFrame(
        [[0.3, 0.2], [0.1, 0.4]],
        index=pd.Index(["app", "web"], name="channel"),
        columns=pd.Index(["free", "paid"], name="plan"),
    )
    V = multinomial(frame.to_numpy().ravel(), 400)
    assert conditional(frame, V, 0, 1, 0).name == "P(plan = free | channel = web)"
    assert conditional(frame, V, 1, 1, 0).name == "P(channel = web | plan = free)"
    assert risk_ratio(frame, V, 1, 0, 1).name == (
        "P(plan = paid | channel = web) / P(plan = paid | channel = app)"
    )
    assert odds_ratio(frame, V, (1, 0), (0, 1)).name == (
        "odds ratio of plan = free against plan = paid, channel = web against channel = app"
    )
    assert cramers_v(frame, V).name == "Cramer's V of channel and plan"
    bare = frame.rename_axis(index=None, columns=None)
    assert conditional(bare, V, 0, 1, 0).name == "P(Y = free | X = web)"
    assert bare.index.name is None  # the caller's frame is left alone


# ---- Cramer's V and departures from independence


def z_of(p: Array) -> Array:
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.asarray((p / p.sum() - expected / p.sum() ** 2) / np.sqrt(expected) * p.sum())


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_covariances_of_departures_by_numerical_derivatives(scale: float) -> None:
    P, V = survey()
    P, V = P * scale, V.scaled(scale**2)
    z, S = cramer.standardised(P, V)
    np.testing.assert_allclose(z, z_of(P).ravel(), rtol=1e-12)
    np.testing.assert_allclose(S, V.transform(jacobian(z_of, P)), rtol=1e-6, atol=1e-12)
    departure, se = departures(P, V)
    expected = lambda p: p - np.outer(p.sum(axis=1), p.sum(axis=0)) / p.sum()  # noqa: E731
    np.testing.assert_allclose(departure, expected(P), rtol=1e-12)
    spread = V.transform(jacobian(expected, P))
    np.testing.assert_allclose(se.ravel() ** 2, np.diagonal(spread), rtol=1e-6)


def test_cramers_v_without_noise_is_the_textbook_value() -> None:
    P = joint("3x4 dense", 0.4)
    V = multinomial(P.ravel(), 1e12)
    chi2 = stats.contingency.association(np.rint(P * 1e9).astype(int), method="cramer")
    effect = cramers_v(P, V)
    assert effect.estimate == pytest.approx(chi2, rel=1e-6)
    assert effect.lower == pytest.approx(effect.upper, rel=1e-3)


def test_cramers_v_ignores_the_scale_and_the_orientation() -> None:
    P, V = survey()
    effect = cramers_v(P, V)
    ends = (effect.estimate, effect.lower, effect.upper)
    twice = cramers_v(2 * P, V.scaled(4.0))
    assert (twice.estimate, twice.lower, twice.upper) == pytest.approx(ends, rel=1e-9)
    turned = cramers_v(P.T, V.take(np.arange(P.size).reshape(P.shape).T.ravel()))
    assert (turned.estimate, turned.lower, turned.upper) == pytest.approx(ends, rel=1e-9)


def test_ends_of_cramers_v_solve_their_equation() -> None:
    P, V = survey()
    z, S = cramer.standardised(P, V)
    unbiased, w = z @ z - np.trace(S), z @ S @ z / (z @ z)
    effect = cramers_v(P, V)
    for end in (effect.lower, effect.upper):
        theta = end**2 * (min(P.shape) - 1)
        variance = 2 * np.sum(S**2) + 4 * theta * w
        assert (unbiased - theta) ** 2 == pytest.approx(Z**2 * variance, rel=1e-8)


def test_cramers_v_of_weak_margins_has_bounds() -> None:
    setting = Setting("5x5 sparse", 0.0, 1.0, 10_000)
    effect = cramers_v(*setting.truth)
    assert effect.given and np.isnan(effect.estimate)
    assert effect.message.startswith(
        "bound from merged categories, as P(X = 3) = 0.03 is 2.1 standard errors from 0 and "
    )
    P, V = survey()
    P[1] *= -1
    assert "P(X = 1) = -0.2973 is -43.8 standard errors" in cramers_v(P, V).message


def test_a_message_names_four_weak_margins_at_most() -> None:
    P = np.full((30, 2), 1 / 60)
    message = cramers_v(P, multinomial(P.ravel(), 200)).message
    assert message.count("standard errors from 0") == 4 and "so are 26 others, fewer" in message


@pytest.mark.parametrize("seed", range(20))
def test_the_bounds_of_cramers_v_hold_without_noise(seed: int) -> None:
    # rare categories whose association is as strong as can be
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(16, 0.5)).reshape(4, 4)
    P[3] *= 1e-3
    P[:, 3] *= 1e-3 if seed % 2 else 1.0
    P /= P.sum()
    truth = float(np.sqrt(np.sum(z_of(P) ** 2) / 3))
    effect = cramers_v(P, multinomial(P.ravel(), 1e4))
    assert effect.lower <= truth <= effect.upper
    if "merged" in effect.message and effect.upper < 1.0:
        assert effect.lower > 0.0


def test_a_table_too_close_to_independence_gives_no_point() -> None:
    r = np.full(30, 1 / 30)
    P = np.outer(r, r)
    effect = cramers_v(P, multinomial(P.ravel(), 10_000))
    assert (effect.estimate, effect.lower) == (0.0, 0.0)
    assert 0.01 < effect.upper < 0.02  # what is expected of no association
    assert "closer to independence" in effect.message


@pytest.mark.parametrize("margins", ["2x2 dense", "3x4 dense"])
def test_cramers_v_covers_zero(margins: str) -> None:
    """df 1 and 6. By the chi-square law .948 and .953; Monte Carlo standard error .005."""
    setting = Setting(margins, 0.0, 2.0, 10_000)
    found = [cramers_v(P, V) for P, V in setting.surveys(2000, 11)]
    assert 0.93 <= np.mean([0.0 in effect for effect in found]) <= 0.97
    # Control: half the standard errors.
    halved = [cramers_v(P, V.scaled(0.25)) for P, V in setting.surveys(500, 11)]
    assert np.mean([0.0 in effect for effect in halved]) < 0.8


def test_cramers_v_takes_off_what_the_noise_adds() -> None:
    """phi^2 without the correction is off by tr S, here 1.2 times phi^2 itself."""
    setting = Setting("3x4 dense", 0.15, 1.0, 30_000)
    surveys = setting.surveys(1000, 13)
    phi2 = np.sum(z_of(setting.P) ** 2)
    naive = np.array([np.sum(z_of(P) ** 2) for P, _ in surveys])
    bias = np.array([np.trace(cramer.standardised(P, V)[1]) for P, V in surveys])
    se = np.std(naive - bias) / np.sqrt(1000)
    assert np.mean(naive) > phi2 + 10 * se
    assert abs(np.mean(naive - bias) - phi2) < 4 * se


def test_departures_are_standard_normal_under_independence() -> None:
    setting = Setting("3x4 sparse", 0.0, 2.0, 10_000)
    z = np.array([np.divide(*departures(P, V)) for P, V in setting.surveys(2000, 12)])
    size = np.mean(np.abs(z) > Z, axis=0)
    assert np.all(np.abs(size - 0.05) < 4 * 0.0049)  # four Monte Carlo standard errors
    associated = Setting("3x4 sparse", 0.8, 2.0, 10_000)
    z = np.array([np.divide(*departures(P, V)) for P, V in associated.surveys(50, 12)])
    assert np.mean(np.abs(z[:, 0, 0]) > Z) > 0.5


# ---- refusals


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda P, V: conditional(P, V, 2, 0, 0), "given_axis=2: must be 0 for the rows"),
        (lambda P, V: conditional(P, V, True, 0, 0), "given_axis=True"),
        (lambda P, V: conditional(P, V, 0, 3, 0), "i=3: must be a position from 0 to 2"),
        (lambda P, V: conditional(P, V, 0, 0, -1), "j=-1: must be a position from 0 to 3"),
        (lambda P, V: conditional(P, V, 0, 0.5, 0), r"i=0\.5"),
        (lambda P, V: conditional(P, V, 0, True, 0), "i=True"),
        (lambda P, V: conditional(P, V, 0, 0, 0, 1.0), "alpha"),
        (lambda P, V: conditionals(P, V, 3), "axis=3"),
        (lambda P, V: conditionals(P, V, alpha=0.0), "alpha"),
        (lambda P, V: conditionals(P[:2], V), "covariance=12: must have 8 rows, as P"),
        (lambda P, V: conditionals(P.ravel(), V), "P="),
        (lambda P, V: conditionals(P * np.nan, V), "finite"),
        (lambda P, V: risk_difference(P, V, 1, 1, 0), "two different positions"),
        (lambda P, V: risk_ratio(P, V, 0, 5, 0), "i, i2=5"),
        (lambda P, V: odds_ratio(P, V, (0, 0), (0, 1)), "rows="),
        (lambda P, V: odds_ratio(P, V, (0, 1), (0, 1, 2)), "columns="),
        (lambda P, V: cramers_v(P, V, 2.0), "alpha"),
        (lambda P, V: cramers_v(P.reshape(1, -1), V), "at least two rows"),
    ],
)
def test_refusals(build: Callable[[Array, Covariance], object], match: str) -> None:
    P, V = survey()
    with pytest.raises(InvalidArgument, match=match):
        build(P, V)


# ---- coverage

SETTINGS = [
    Setting(*values)
    for values in itertools.product(
        ("3x4 dense", "3x4 sparse", "5x5 dense", "5x5 sparse"),
        (0.0, 0.3),
        (1.0, 2.0, 4.0),
        (10_000, 100_000),
    )
]
PAIRS = ((0, 1), (0, 2), (1, 2))


def true_effects(P: Array) -> dict[str, float]:
    """What the effects of `estimated_effects` estimate."""
    given = P / P.sum(axis=1, keepdims=True)
    truth = {}
    for i, i2 in PAIRS:
        for j in range(P.shape[1]):
            truth[f"difference {i} {i2} {j}"] = given[i, j] - given[i2, j]
            truth[f"quotient {i} {i2} {j}"] = given[i, j] / given[i2, j]
        for j, j2 in PAIRS:
            truth[f"odds {i} {i2} {j} {j2}"] = P[i, j] * P[i2, j2] / (P[i, j2] * P[i2, j])
    z = z_of(P)
    truth["V"] = float(np.sqrt(np.sum(z**2) / (min(P.shape) - 1)))
    truth["V"] = 0.0 if truth["V"] < 1e-9 else truth["V"]
    return truth


def estimated_effects(P: Array, V: Covariance) -> dict[str, Effect]:
    """Without the sets of weak cells, which `test_profile_sets_cover` is about."""
    found = {"V": cramers_v(P, V)}
    for i, i2 in PAIRS:
        for j in range(P.shape[1]):
            found[f"difference {i} {i2} {j}"] = risk_difference(P, V, i, i2, j)
            found[f"quotient {i} {i2} {j}"] = risk_ratio(P, V, i, i2, j)
        for j, j2 in PAIRS:
            found[f"odds {i} {i2} {j} {j2}"] = odds_ratio(P, V, (i, i2), (j, j2))
    return found


def coverage(setting: Setting, R: int) -> pd.DataFrame:
    """Of every effect: how often it was given, and how often the given set holds the truth."""
    truth = true_effects(setting.P)
    given = {axis: setting.P / setting.P.sum(axis=1 - axis, keepdims=True) for axis in (0, 1)}
    holds: dict[str, list[bool]] = {name: [] for name in truth}
    in_tables, in_halved = [], []
    for P, V in setting.surveys(R, SETTINGS.index(setting)):
        for name, effect in estimated_effects(P, V).items():
            given_ = "standard errors from 0" not in effect.message
            holds[name] += [truth[name] in effect] if given_ else []
        for axis in (0, 1):
            _, lower, upper, _ = conditionals(P, V, axis)
            in_tables.append((lower <= given[axis]) & (given[axis] <= upper))
        _, lower, upper, _ = conditionals(P, V.scaled(0.25), 0)  # the control
        in_halved.append((lower <= given[0]) & (given[0] <= upper))
    rows = {
        name: (len(found) / R, np.mean(found) if found else np.nan) for name, found in holds.items()
    }
    for axis in (0, 1):
        for (i, j), share in np.ndenumerate(np.mean(in_tables[axis::2], axis=0)):
            rows[f"conditional {axis} {i} {j}"] = (1.0, share)
    rows["halved"] = (1.0, np.mean(in_halved))
    return pd.DataFrame(rows, index=["given", "coverage"]).T


def strength(setting: Setting) -> tuple[Array, Array]:
    """Of the true table, in standard errors: margins of the rows, and cells."""
    P, V = setting.truth
    R = np.kron(np.eye(P.shape[0]), np.ones(P.shape[1]))
    rows = P.sum(axis=1) / np.sqrt(np.diagonal(V.transform(R)))
    return rows, P / np.sqrt(V.variances()).reshape(P.shape)


def groups(setting: Setting, cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The effects of one setting by kind, and by what may be expected of them."""
    rows, clear = strength(setting)
    expected = setting.n * (setting.P.ravel() @ setting.channel).reshape(setting.P.shape)
    kind = cells.index.str.split(" ").str[0]
    few, weak = [], []
    for name in cells.index:
        first, *at = name.split(" ")
        places = [int(place) for place in at]
        few.append(first == "conditional" and expected[places[1], places[2]] < 15)
        low = first in ("difference", "quotient") and min(rows[places[:2]]) < 3
        low |= first == "odds" and clear[np.ix_(places[:2], places[2:])].min() < 4.5
        weak.append(low)
    few_, weak_ = np.array(few), np.array(weak)
    found = {
        "conditional": cells[(kind == "conditional") & ~few_],
        "conditional, few": cells[(kind == "conditional") & few_],
        "risk": cells[kind.isin(["difference", "quotient"]) & ~weak_],
        "risk, weak": cells[kind.isin(["difference", "quotient"]) & weak_],
        "odds": cells[(kind == "odds") & ~weak_],
        "odds, weak": cells[(kind == "odds") & weak_],
        "V": cells[kind == "V"],
        "halved": cells[kind == "halved"],
    }
    return {name: part[part["given"] > 0] for name, part in found.items() if len(part)}


# Coverage, over all settings, of what is given in nearly every survey: pooled over the effects of
# a setting (Monte Carlo standard error below .004), and of a single effect (to four of them).
PROMISED = {
    "conditional": (0.93, 0.97),
    "conditional, few": (0.90, 0.97),  # skew counts of at most 15 reports
    "risk": (0.93, 0.97),
    "risk, weak": (0.93, 1.0),  # most sets are unbounded
    "odds": (0.93, 0.985),  # above .97 where it is given in fewer than .95 of the surveys
    "V": (0.93, 0.98),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage(
    setting: Setting, replications: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    R = replications(FULL)
    found = groups(setting, coverage(setting, R))
    slack = 4 * np.sqrt(0.95 * 0.05 / R)
    for name, (low, high) in PROMISED.items():
        if name not in found:
            continue
        part = found[name]
        if name in ("V", "odds"):  # otherwise chosen by luck
            part = part[part["given"] > 0.5]
        if len(part) > 5:
            pooled = np.average(part["coverage"], weights=part["given"])
            assert low <= pooled <= high, name
        often = part["coverage"].where(part["given"] > 0.95).dropna()
        assert (often >= low - slack).all() and (often <= high + slack).all(), (name, often)
        assert (part["coverage"] >= low - slack).all(), (name, part)
    assert found["halved"]["coverage"].iloc[0] < 0.8  # the control


def odds_of_normal_cells(weakest: float, R: int) -> tuple[float, float]:
    """Share of tables in which the odds ratio has the Wald interval, and its coverage there.

    Three cells are 20 standard errors from 0, the last one `weakest`.
    """
    p = 0.25 * np.ones((2, 2))
    se = p / np.array([[20.0, 20.0], [20.0, weakest]])
    V = Covariance.dense(np.diag(se.ravel() ** 2))
    draws = p + se * np.random.default_rng(14).standard_normal((R, 2, 2))
    found = [odds_ratio(table, V, (0, 1), (0, 1)) for table in draws]
    given = [1.0 in effect for effect in found if not effect.message]
    return len(given) / R, float(np.mean(given))


def test_the_rule_for_odds_ratios_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the notes of `odds_ratio` say: it covers where the cells are clear in truth."""
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    share, covers = odds_of_normal_cells(8.0, 2000)
    assert share > 0.999 and abs(covers - 0.95) < 4 * 0.0049
    share, covers = odds_of_normal_cells(5.0, 2000)
    assert share == pytest.approx(stats.norm.sf(-1.0), abs=0.04) and 0.93 < covers < 0.99
    share, covers = odds_of_normal_cells(3.0, 8000)
    assert share == pytest.approx(stats.norm.sf(1.0), abs=0.02) and covers < 0.9


if __name__ == "__main__":
    import sys

    R = int(sys.argv[1])
    for setting in SETTINGS:
        for name, part in groups(setting, coverage(setting, R)).items():
            if len(part):
                pooled = np.average(part["coverage"], weights=part["given"])
                low, high = part["coverage"].min(), part["coverage"].max()
                print(
                    f"{setting!s:32} {name:16} {len(part):3} given {part['given'].mean():.2f} "
                    f"pooled {pooled:.3f} range {low:.3f}-{high:.3f}",
                    flush=True,
                )
