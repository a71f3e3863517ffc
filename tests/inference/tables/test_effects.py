"""Effects of two-way tables: what an effect is, conditionals, risks, odds ratios, coverage."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import optimize, stats
from shared.bad_values import Refusal, refuses, said
from shared.effect_surveys import Setting, Z, as_dense, jacobian, survey, z_of
from shared.refusals import refusals

from ldpstats import Effect
from ldpstats.inference.tables import effects, ratio
from ldpstats.inference.tables.effects import (
    conditional,
    conditionals,
    cramers_v,
    odds_ratio,
    risk_difference,
    risk_ratio,
)
from ldpstats.likelihood.covariance import Covariance, multinomial

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
    monkeypatch.setattr(ratio, "fieller", lambda *_: ratio.FiellerInterval(low, high, kind))
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
        found = ratio.fieller(num, den, W[0, 0], W[1, 1], W[0, 1], 0.1)
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


# -- odds ratio ------------------------------------------------------------------------------------


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
def test_coverage(
    setting: Setting, replications: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    R = replications(1000)
    every = [held(P, V, setting.P) for P, V in setting.surveys(R, SETTINGS.index(setting))]
    slack = 4 * np.sqrt(0.95 * 0.05 / R)  # as of one effect: those of a survey go together
    for name, (low, high) in PROMISED.items():
        pooled = [one for found in every for one in found[name]]
        if len(pooled) > R / 2:
            assert low - slack <= np.mean(pooled) <= high + slack, name
    assert np.mean([one for found in every for one in found["halved"]]) < 0.8  # the control
