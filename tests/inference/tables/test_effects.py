"""Effects of two-way tables: what an effect is, conditionals, risks, odds ratios, coverage."""

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
from shared.refusals import refusals, refuses, said

from ldpstats import Effect
from ldpstats.inference.tables import effects, ratio
from ldpstats.inference.tables.effects import (
    conditional,
    conditionals,
    cramers_v,
    departures,
    odds_ratio,
    risk_difference,
    risk_ratio,
    standardised,
)
from ldpstats.likelihood.covariance import Covariance, multinomial

Array = npt.NDArray[Any]

Z = stats.norm.isf(0.025)

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


def z_of(p: Array) -> Array:
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.asarray((p / p.sum() - expected / p.sum() ** 2) / np.sqrt(expected) * p.sum())


# ---- the effect
EFFECTS = {
    "bounded": Effect("risk ratio", 1.5, 1.1, 2.2),
    "unbounded": Effect("risk ratio", 4.0, 1.2, np.inf, 0.1, "unbounded", "weak"),
    "complement": Effect("P(Y = a)", 0.9, 0.2, 0.6, 0.05, "complement"),
    "not given": Effect("odds ratio", np.nan, np.nan, np.nan, 0.05, "not given", "it is weak"),
}


def test_effects_print():
    assert [str(effect) for effect in EFFECTS.values()] == [
        "risk ratio: 1.5, 95% interval [1.1, 2.2]",
        "risk ratio: 4, 90% interval [1.2, inf] (weak)",
        "P(Y = a): 0.9, 95% set below 0.2 or above 0.6",
        "odds ratio: not given, because it is weak",
    ]
    assert "no estimate, 95%" in str(Effect("ratio", np.nan, 0.0, np.inf, 0.05, "unbounded"))


def test_effects_hold_values():
    holds = {kind: [v in effect for v in (0.1, 0.3, 1.5)] for kind, effect in EFFECTS.items()}
    assert holds == {
        "bounded": [False, False, True],
        "unbounded": [False, False, True],
        "complement": [True, False, True],
        "not given": [False, False, False],
    }
    assert [effect.given for effect in EFFECTS.values()] == [True, True, True, False]


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_survive_json(kind):
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
def test_the_cut(low, high, kind, expected, monkeypatch):
    monkeypatch.setattr(ratio, "fieller", lambda *_: ratio.FiellerInterval(low, high, kind))
    *numbers, message = ratio.fieller_within(0.1, 0.2, 1e-4, 1e-4, 0.0, (0.0, 1.0))
    assert tuple(numbers) == expected[:3]
    assert expected[3] in message and bool(expected[3]) == bool(message)


@pytest.mark.parametrize("num", [-0.03, -0.1, 0.23, 0.3])
def test_a_cut_that_leaves_nothing_gives_a_limit_instead(num):
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
def test_conditionals_are_fieller_sets_of_cell_and_margin(form, axis):
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
        found = ratio.fieller(num, den, W[0, 0], W[1, 1], W[0, 1], 0.1)
        effect = conditional(P, V, axis, i, j, 0.1)
        assert effect.estimate == pytest.approx(num / den, rel=1e-12)
        assert (effect.lower, effect.upper) == pytest.approx((found.low, found.high), rel=1e-9)
        assert estimate[i, j] == pytest.approx(effect.estimate, rel=1e-12)
        assert (lower[i, j], upper[i, j]) == pytest.approx((effect.lower, effect.upper), rel=1e-9)
    np.testing.assert_allclose(estimate.sum(axis=1 - axis), 1.0, rtol=1e-12)


@pytest.mark.parametrize("form", [lambda V: V, as_dense], ids=["structured", "dense"])
def test_cumulative_conditionals_are_conditionals_of_merged_columns(form):
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


def test_a_margin_near_zero_is_unbounded_and_says_so():
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


def test_a_set_of_two_parts_has_its_hull_in_the_table():
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


def test_sets_of_risk_effects_hold_what_is_not_rejected():
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


def test_risk_effects_are_cut_to_what_is_possible():
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
def test_a_bad_argument_is_named(case):
    case.check()


# -- odds ratio ------------------------------------------------------------------------------------
def test_odds_ratio_by_the_delta_method():
    P, V = survey()
    J = jacobian(lambda p: np.log([p[0, 1] * p[2, 3] / (p[0, 3] * p[2, 1])]), P)
    se = np.sqrt(V.transform(J)[0, 0])
    effect = odds_ratio(P, V, (0, 2), (1, 3), alpha=0.1)
    log = np.log(P[0, 1] * P[2, 3] / (P[0, 3] * P[2, 1]))
    half = stats.norm.isf(0.05) * se
    expected = np.exp([log, log - half, log + half])
    np.testing.assert_allclose([effect.estimate, effect.lower, effect.upper], expected, rtol=1e-6)


def test_an_odds_ratio_of_a_weak_cell_has_a_profile_set():
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


def test_the_profile_set_of_an_odds_ratio_by_hand():
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


def test_the_profile_set_is_the_wald_interval_of_clear_cells():
    x, V = np.array([0.4, 0.3, 0.2, 0.1]), 1e-6 * np.eye(4)
    estimate, low, high = ratio.odds_profile(x, V)
    half = Z * np.sqrt(1e-6 * np.sum(1 / x**2))
    expected = np.exp(np.log(6.0) + np.array([-half, half]))
    np.testing.assert_allclose([low, high], expected, rtol=2e-4)
    assert estimate == pytest.approx(6.0)


def test_cells_that_may_be_zero_leave_an_odds_ratio_open():
    V = 4e-4 * np.eye(4)
    assert ratio.odds_profile([0.4, 0.3, 0.2, 0.01], V)[2] == np.inf  # b c may be 0
    assert ratio.odds_profile([0.4, 0.01, 0.2, 0.3], V)[1] == 0.0  # a d may be 0
    assert ratio.odds_profile([0.01, 0.3, 0.01, 0.3], V)[1:] == (0.0, np.inf)
    assert np.isnan(ratio.odds_profile([0.5, -0.03, -0.04, 0.5], V)[0])


def test_labels_come_from_a_data_frame():
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


def test_the_rule_for_odds_ratios_selects(monkeypatch):
    """What the notes of `odds_ratio` say: it covers where the cells are clear in truth."""
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    share, covers = odds_of_normal_cells(8.0, 800)
    assert share > 0.99 and abs(covers - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 800)
    share, covers = odds_of_normal_cells(3.0, 2000)
    band = 4 * np.sqrt(0.16 * 0.84 / 2000)
    assert share == pytest.approx(stats.norm.sf(1.0), abs=band) and covers < 0.9


# -- effect coverage -------------------------------------------------------------------------------
SETTINGS = [  # dense; with weak margins; with strong association of many
    Setting("3x4 dense", 0.0, 2.0, 10_000),
    Setting("5x5 sparse", 0.3, 1.0, 10_000),
    Setting("5x5 sparse", 0.3, 4.0, 100_000),
]

PAIRS = ((0, 1), (0, 2), (1, 2))

# pooled over the effects of a kind, where they are given: sets of weak margins are unbounded, and
# an odds ratio is given where all its cells stand out, which selects
PROMISED = {
    "conditional": (0.93, 0.97),
    "risk": (0.93, 1.0),
    "odds": (0.93, 1.0),
    "V": (0.93, 0.98),
}


def held(P: Array, V: Covariance, truth: Array) -> dict[str, list[bool]]:
    """Whether the effects that are given hold what they estimate."""
    given = {axis: truth / truth.sum(axis=1 - axis, keepdims=True) for axis in (0, 1)}
    v = float(np.sqrt(np.sum(z_of(truth) ** 2) / (min(truth.shape) - 1)))
    pairs: list[tuple[str, Any, float]] = [("V", cramers_v(P, V), v if v > 1e-9 else 0.0)]
    p = given[0]
    for i, i2 in PAIRS:
        for j in range(P.shape[1]):
            pairs.append(("risk", risk_difference(P, V, i, i2, j), p[i, j] - p[i2, j]))
            pairs.append(("risk", risk_ratio(P, V, i, i2, j), p[i, j] / p[i2, j]))
        for j, j2 in PAIRS:
            odds = truth[i, j] * truth[i2, j2] / (truth[i, j2] * truth[i2, j])
            pairs.append(("odds", odds_ratio(P, V, (i, i2), (j, j2)), odds))
    found: dict[str, list[bool]] = {name: [] for name in (*PROMISED, "halved")}
    for name, effect, value in pairs:
        if "standard errors from 0" not in effect.message:
            found[name].append(value in effect)
    for name, covariance in (("conditional", V), ("halved", V.scaled(0.25))):
        for axis in (0, 1):
            _, lower, upper, _ = conditionals(P, covariance, axis)
            found[name].extend(((lower <= given[axis]) & (given[axis] <= upper)).ravel())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage(setting, replications, monkeypatch):
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    R = replications(1000)
    every = [held(P, V, setting.P) for P, V in setting.surveys(R, SETTINGS.index(setting))]
    slack = 4 * np.sqrt(0.95 * 0.05 / R)  # as of one effect: those of a survey go together
    for name, (low, high) in PROMISED.items():
        pooled = [one for found in every for one in found[name]]
        if len(pooled) > R / 2:
            assert low - slack <= np.mean(pooled) <= high + slack, name
    assert np.mean([one for found in every for one in found["halved"]]) < 0.8  # the control


# Cramer's V and departures from independence.
@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_covariances_of_departures_by_numerical_derivatives(scale):
    P, V = survey()
    P, V = P * scale, V.scaled(scale**2)
    z, spread = standardised(P, V)
    S = spread.matrix()
    np.testing.assert_allclose(z, z_of(P).ravel(), rtol=1e-12)
    np.testing.assert_allclose(S, V.transform(jacobian(z_of, P)), rtol=1e-6, atol=1e-12)
    departure, se = departures(P, V)
    expected = lambda p: p - np.outer(p.sum(axis=1), p.sum(axis=0)) / p.sum()  # noqa: E731
    np.testing.assert_allclose(departure, expected(P), rtol=1e-12)
    spread = V.transform(jacobian(expected, P))
    np.testing.assert_allclose(se.ravel() ** 2, np.diagonal(spread), rtol=1e-6)


def test_cramers_v_without_noise_is_the_textbook_value():
    P = joint("3x4 dense", 0.4)
    V = multinomial(P.ravel(), 1e12)
    chi2 = stats.contingency.association(np.rint(P * 1e9).astype(int), method="cramer")
    effect = cramers_v(P, V)
    assert effect.estimate == pytest.approx(chi2, rel=1e-6)
    assert effect.lower == pytest.approx(effect.upper, rel=1e-3)


def test_cramers_v_ignores_the_scale_and_the_orientation():
    P, V = survey()
    effect = cramers_v(P, V)
    ends = (effect.estimate, effect.lower, effect.upper)
    twice = cramers_v(2 * P, V.scaled(4.0))
    assert (twice.estimate, twice.lower, twice.upper) == pytest.approx(ends, rel=1e-9)
    turned = cramers_v(P.T, V.take(np.arange(P.size).reshape(P.shape).T.ravel()))
    assert (turned.estimate, turned.lower, turned.upper) == pytest.approx(ends, rel=1e-9)


def test_ends_of_cramers_v_have_their_shares_of_alpha():
    """Far from independence 2.5% each; the norm of z in a simulation of its noncentral law."""
    P, V = survey()
    z, spread = standardised(P, V)
    S = spread.matrix()
    phi2, w = z @ z - np.trace(S), z @ S @ z / (z @ z)
    effect = cramers_v(P, V)
    assert effect.estimate**2 * 2 == pytest.approx(phi2, rel=1e-12)
    for end, side in ((effect.lower, 1.0), (effect.upper, -1.0)):
        theta = end**2 * (min(P.shape) - 1)
        sd = np.sqrt(2 * np.sum(S**2) + 4 * theta * w)
        assert side * (phi2 - theta) / sd == pytest.approx(Z, rel=0.1)  # it is skewed


def test_cramers_v_of_weak_margins_has_bounds():
    setting = Setting("5x5 sparse", 0.0, 1.0, 10_000)
    effect = cramers_v(*setting.truth)
    assert effect.given and np.isnan(effect.estimate)
    assert effect.message.startswith(
        "bound from merged categories, as P(X = 3) = 0.03 is 2.1 standard errors from 0 and "
    )
    P, V = survey()
    P[1] *= -1
    assert "P(X = 1) = -0.2973 is -43.8 standard errors" in cramers_v(P, V).message


@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_of_cramers_v_hold_without_noise(seed):
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


def test_a_table_too_close_to_independence_gives_no_point():
    r = np.full(30, 1 / 30)
    P = np.outer(r, r)
    effect = cramers_v(P, multinomial(P.ravel(), 10_000))
    assert (effect.estimate, effect.lower) == (0.0, 0.0)
    assert 0.002 < effect.upper < 0.02  # what is expected of no association
    assert "closer to independence" in effect.message


def test_cramers_v_takes_off_what_the_noise_adds():
    """phi^2 without the correction is off by tr S, here 1.2 times phi^2 itself."""
    setting = Setting("3x4 dense", 0.15, 1.0, 30_000)
    surveys = setting.surveys(1000, 13)
    phi2 = np.sum(z_of(setting.P) ** 2)
    naive = np.array([np.sum(z_of(P) ** 2) for P, _ in surveys])
    bias = np.array([standardised(P, V)[1].variances().sum() for P, V in surveys])
    se = np.std(naive - bias) / np.sqrt(1000)
    assert np.mean(naive) > phi2 + 10 * se
    assert abs(np.mean(naive - bias) - phi2) < 4 * se


def test_departures_are_standard_normal_under_independence():
    setting = Setting("3x4 sparse", 0.0, 2.0, 10_000)
    z = np.array([np.divide(*departures(P, V)) for P, V in setting.surveys(500, 12)])
    size = np.mean(np.abs(z) > Z, axis=0)
    assert np.all(np.abs(size - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 500))  # Monte Carlo errors
    associated = Setting("3x4 sparse", 0.8, 2.0, 10_000)
    z = np.array([np.divide(*departures(P, V)) for P, V in associated.surveys(50, 12)])
    assert np.mean(np.abs(z[:, 0, 0]) > Z) > 0.5


@pytest.mark.parametrize(
    ("setting", "alpha"),
    [
        (Setting("2x2 dense", 0.3, 1.0, 300), 0.2),
        (Setting("3x4 dense", 0.2, 2.0, 2000), 0.001),
        (Setting("3x4 sparse", 0.3, 1.0, 2000), 0.05),  # weak margins
    ],
    ids=str,
)
def test_the_lower_end_is_above_zero_exactly_where_a_test_rejects(setting, alpha):
    for P, V in setting.surveys(3, 21):
        for p in (1e-200, alpha * (1 - 1e-9), alpha, alpha * (1 + 1e-9), 0.5, 1.0):
            effect = cramers_v(P, V, alpha, p)
            assert (effect.lower > 0.0) == (p < alpha)
            assert effect.lower < effect.upper <= 1.0
            if not np.isnan(effect.estimate):
                assert effect.lower <= effect.estimate <= effect.upper


def test_the_lower_end_goes_to_zero_where_the_test_just_rejects():
    surveys = Setting("3x4 dense", 0.1, 2.0, 3000).surveys(200, 22)
    P, V = next(
        (P, V)
        for P, V in surveys
        if cramers_v(P, V, 0.05).lower > 0.0 and cramers_v(P, V, 0.01).lower == 0.0
    )
    ends = [cramers_v(P, V, 0.03 * (1 + step), 0.03).lower for step in (1e-9, 1e-6, 1e-2, 1.0)]
    assert ends == sorted(ends) and 0.0 < ends[0] < 0.01 < ends[-1]


def krr_2x2(n: int, epsilon: float, r: float, c: float, v: float) -> tuple[Array, Array]:
    """A table of margins r and c whose phi is v, and the channel of two binary k-RR."""
    d = v * np.sqrt(r * (1 - r) * c * (1 - c))
    P = np.outer([r, 1 - r], [c, 1 - c]) + d * np.array([[1, -1], [-1, 1]])
    assert P.min() >= 0.0
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    Q = np.array([[keep, 1 - keep], [1 - keep, keep]])
    return P, np.kron(Q, Q)


def estimates_2x2(counts: Array, channel: Array) -> tuple[Array, Covariance, float]:
    """Unconstrained estimate, its covariance and Pearson's p-value of the reports."""
    n, inverse = counts.sum(), np.linalg.inv(channel)
    P = (counts / n @ inverse).reshape(2, 2)
    V = multinomial(counts / n, n).transform(inverse.T)
    test = stats.chi2_contingency(counts.reshape(2, 2), correction=False)
    return P, Covariance.dense(V), float(test.pvalue)


def test_weak_margins_of_a_small_table_leave_an_interval_with_two_ends():
    """On 0.2.0 such tables had [0, 1] beside p < .001, as 62% of these surveys do."""
    P, channel = krr_2x2(200, 3.0, 0.1, 0.1, 0.5)
    counts = np.round(200 * P.ravel() @ channel)
    estimate, V, p = estimates_2x2(counts, channel)
    effect = cramers_v(estimate, V, 0.05, p)
    assert p < 0.001 and 0.15 < effect.lower < effect.estimate < effect.upper < 0.85
    assert effect.kind == "bounded" and not effect.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        (200, 1.0, 0.5, 0.5, 0.0),
        (1000, 2.0, 0.1, 0.1, 0.5),
        (5000, 3.0, 0.3, 0.05, 0.35),
    ],
    ids=str,
)
def test_intervals_of_two_by_two_tables_cover(setting, replications):
    """.93 to .98 up to four Monte Carlo standard errors; the control has half the errors."""
    P, channel = krr_2x2(*setting)
    R, rng = replications(1000, 300), np.random.default_rng(31)
    held, halved = [], []
    for counts in rng.multinomial(setting[0], P.ravel() @ channel, size=R):
        estimate, V, p = estimates_2x2(counts, channel)
        effect = cramers_v(estimate, V, 0.05, p)
        assert (effect.lower > 0.0) == (p < 0.05)
        held.append(effect.lower - 1e-6 <= setting[-1] <= effect.upper + 1e-6)
        halved.append(setting[-1] in cramers_v(estimate, V.scaled(0.25)))
    slack = 4 * np.sqrt(0.05 * 0.95 / R)
    assert 0.93 - slack <= np.mean(held) <= 0.98 + slack
    assert np.mean(halved) < 0.9
