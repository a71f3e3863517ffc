"""Cramer's V and departures from independence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.effect_surveys import Setting, Z, jacobian, joint, survey, z_of

from ldpstats.inference.tables.effects import cramers_v, departures, standardised
from ldpstats.likelihood.covariance import Covariance, multinomial

Array = npt.NDArray[Any]


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_covariances_of_departures_by_numerical_derivatives(scale: float) -> None:
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


def test_ends_of_cramers_v_have_their_shares_of_alpha() -> None:
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


@pytest.mark.parametrize("seed", range(4))
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
    assert 0.002 < effect.upper < 0.02  # what is expected of no association
    assert "closer to independence" in effect.message


def test_cramers_v_takes_off_what_the_noise_adds() -> None:
    """phi^2 without the correction is off by tr S, here 1.2 times phi^2 itself."""
    setting = Setting("3x4 dense", 0.15, 1.0, 30_000)
    surveys = setting.surveys(1000, 13)
    phi2 = np.sum(z_of(setting.P) ** 2)
    naive = np.array([np.sum(z_of(P) ** 2) for P, _ in surveys])
    bias = np.array([standardised(P, V)[1].variances().sum() for P, V in surveys])
    se = np.std(naive - bias) / np.sqrt(1000)
    assert np.mean(naive) > phi2 + 10 * se
    assert abs(np.mean(naive - bias) - phi2) < 4 * se


def test_departures_are_standard_normal_under_independence() -> None:
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
def test_the_lower_end_is_above_zero_exactly_where_a_test_rejects(
    setting: Setting, alpha: float
) -> None:
    for P, V in setting.surveys(3, 21):
        for p in (1e-200, alpha * (1 - 1e-9), alpha, alpha * (1 + 1e-9), 0.5, 1.0):
            effect = cramers_v(P, V, alpha, p)
            assert (effect.lower > 0.0) == (p < alpha)
            assert effect.lower < effect.upper <= 1.0
            if not np.isnan(effect.estimate):
                assert effect.lower <= effect.estimate <= effect.upper


def test_the_lower_end_goes_to_zero_where_the_test_just_rejects() -> None:
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


def test_weak_margins_of_a_small_table_leave_an_interval_with_two_ends() -> None:
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
def test_intervals_of_two_by_two_tables_cover(
    setting: tuple[Any, ...], replications: Callable[[int], int]
) -> None:
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
