"""Tests and intervals that allow for skewness: outside references, and exact sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, special, stats

from ldpstats.inference import intervals
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue, skewed_pvalue

Array = npt.NDArray[Any]


def pearson_tail(z: float, g: float) -> float:
    """Upper tail of Pearson's type III law by numerical integration of its density."""
    shape = 4.0 / g**2

    def log_density(t: float) -> float:
        u = g * t / 2.0
        return (shape - 1.0) * np.log1p(u) - shape * u if u > -1.0 else -np.inf

    end = min(z + 15.0, -2.0 / g) if g < 0 else z + 60.0
    top = log_density(z)
    area = integrate.quad(lambda t: np.exp(log_density(t) - top), z, end, epsrel=1e-10, limit=500)
    constant = (shape - 0.5) * np.log(shape) - shape - special.gammaln(shape)
    return float(area[0] * np.exp(top + constant))


@pytest.mark.parametrize("g", [0.5, 0.1, 0.01, -0.01, -0.1, -0.5])
def test_skewed_tails_by_integration(g: float) -> None:
    z = np.array([0.5, 2.0, 3.7])
    reference = [pearson_tail(float(v), g) for v in z]
    np.testing.assert_allclose(skewed_pvalue(z, g), reference, rtol=1e-7)


@pytest.mark.parametrize("g", [0.0021, 0.0019, 0.0005, -0.0005, -0.0019, -0.0021])
def test_slightly_skewed_tails_by_integration(g: float) -> None:
    """On both sides of the change of formula; 1e-4 is what it promises."""
    z = np.array([0.5, 2.0, 3.7, 5.0])
    reference = [pearson_tail(float(v), g) for v in z]
    np.testing.assert_allclose(skewed_pvalue(z, g), reference, rtol=2e-4)


def test_skewed_tails_of_known_laws() -> None:
    x, df = np.linspace(0.1, 60.0, 50), 7.0
    z, skewness = (x - df) / np.sqrt(2 * df), np.sqrt(8 / df)
    np.testing.assert_allclose(skewed_pvalue(z, skewness), chi2_pvalue(x, df), rtol=1e-12)
    np.testing.assert_allclose(skewed_pvalue(-z, -skewness), 1 - chi2_pvalue(x, df), rtol=1e-9)
    for skewness in (0.5, 0.001, 0.0, -0.001, -0.5):
        ends = skewed_pvalue([-np.inf, np.inf], skewness)
        np.testing.assert_array_equal(ends, [1.0, 0.0])


def test_no_skewness_is_normal() -> None:
    z = np.linspace(-10.0, 10.0, 41)
    np.testing.assert_allclose(skewed_pvalue(z, 0.0), normal_pvalue(z, "larger"), rtol=1e-15)


@pytest.mark.parametrize(("mean", "tolerance"), [(20.0, 0.14), (100.0, 0.04), (1000.0, 0.005)])
def test_skewed_tail_of_a_count(mean: float, tolerance: float) -> None:
    """At the depth of Bonferroni over 500, for a count that is smoothed by other noise.

    The noise is uniform over one count, so that the tail is a sum; the point is that of tail 1e-4.
    What is left is the kurtosis, of the order of one over the mean.
    """
    sd = np.sqrt(mean + 1 / 12)
    point = mean + 3.719 * sd
    whole = np.floor(point + 0.5)
    exact = stats.poisson.sf(whole, mean) + (whole + 0.5 - point) * stats.poisson.pmf(whole, mean)
    assert abs(skewed_pvalue(3.719, mean / sd**3) / exact - 1) < tolerance
    assert exact / normal_pvalue(3.719, "larger") > 1 + 5 / np.sqrt(mean)  # control


def poisson_coverage(means: Array, bounds: Array) -> tuple[float, float]:
    """Share of the means above, and below, the intervals of counts, averaged over the means."""
    chance = stats.poisson.pmf(np.arange(len(bounds)), means[:, None])
    above = chance * (means[:, None] > bounds[:, 1])
    below = chance * (means[:, None] < bounds[:, 0])
    return float(above.sum(axis=1).mean()), float(below.sum(axis=1).mean())


@pytest.mark.parametrize(
    ("low", "high", "tolerance"), [(3, 6, 0.0055), (10, 15, 0.001), (60, 80, 2e-4)]
)
def test_skewed_intervals_of_a_count_cover_on_both_sides(
    low: float, high: float, tolerance: float
) -> None:
    """Averaged over means between `low` and `high`: one mean alone sees steps of single counts."""
    means, counts = np.linspace(low, high, 500), np.arange(250.0)
    se = np.sqrt(np.maximum(counts, 0.5))
    shares = poisson_coverage(means, intervals.skewed(counts, se, 1 / se, 1.0))
    np.testing.assert_allclose(shares, 0.025, atol=tolerance)
    wald = poisson_coverage(means, intervals.wald(counts, se))  # control
    assert wald[0] > 0.025 + 3 * tolerance and wald[1] < 0.025 - 3 * tolerance


def test_skewed_intervals_without_skewness_are_wald() -> None:
    estimate, se = np.array([0.5, -0.1]), np.array([0.1, 0.0])
    ours = intervals.skewed(estimate, se, 0.0, 0.0, alpha=0.1)
    np.testing.assert_allclose(ours, intervals.wald(estimate, se, alpha=0.1), rtol=1e-15)
    mirrored = -intervals.skewed(-estimate, se, -0.5, -0.01)[..., ::-1]
    np.testing.assert_allclose(intervals.skewed(estimate, se, 0.5, 0.01), mirrored, rtol=1e-12)
