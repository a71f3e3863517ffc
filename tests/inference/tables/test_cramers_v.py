"""Cramer's V and departures from independence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from shared.effect_surveys import Setting, Z, jacobian, joint, survey, z_of

from ldpstats.inference.tables.cramer import cramers_v, departures, standardised
from ldpstats.problems.covariance import multinomial


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
    assert 0.002 < effect.upper < 0.02  # what is expected of no association
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
    bias = np.array([standardised(P, V)[1].variances().sum() for P, V in surveys])
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
