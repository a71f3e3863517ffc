"""Odds ratios: the delta method, profile sets, and weak cells."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import optimize, stats
from shared.effect_surveys import Z, jacobian, survey

from ldpstats.inference.tables import effects, ratio
from ldpstats.inference.tables.effects import (
    conditional,
    cramers_v,
    odds_ratio,
    risk_ratio,
)
from ldpstats.problems.covariance import Covariance, multinomial

Array = npt.NDArray[Any]


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
