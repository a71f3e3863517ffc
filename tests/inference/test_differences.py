"""Differences of two independent frequencies: textbook intervals, exact coverage, consistency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, stats
from simulate import at_least

import ldpstats as ldp
from ldpstats.inference.intervals import Difference
from ldpstats.inference.tails import CellLaw

Array = npt.NDArray[np.float64]


def counted(n: int, offset: float = 0.0, scale: float = 1.0, times: int = 1) -> CellLaw:
    """The law of (count/n - offset)/scale, of a count that is Bin(n, offset + scale p)."""
    m, s, a = offset, scale, 1.0 - 2.0 * offset
    variance = np.array([m * (1 - m), s * a, -(s**2)]) / (n * s**2)
    # (m + s p)(1 - m - s p)(1 - 2 m - 2 s p), by powers of p
    third = np.polynomial.polynomial.polymul(variance * n * s**2, [a, -2.0 * s]) / (n**2 * s**3)
    zero = np.zeros(times)
    return CellLaw(np.tile(variance, (times, 1)), np.tile(third, (times, 1)), zero, zero)


def normal(law: CellLaw) -> CellLaw:
    """The law without its skewness."""
    return replace(law, third=np.zeros_like(law.third))


def mee(x: int, n: int, y: int, m: int, end: float) -> float:
    """An end of Mee's score interval, by likelihoods that are maximised numerically."""

    def z(gap: float) -> float:
        def loss(v: float) -> float:
            return -float(stats.binom.logpmf(x, n, v + gap) + stats.binom.logpmf(y, m, v))

        reach = max(0.0, -gap) + 1e-12, min(1.0, 1.0 - gap) - 1e-12
        v = optimize.minimize_scalar(loss, bounds=reach, options={"xatol": 1e-12}).x
        spread = (v + gap) * (1 - v - gap) / n + v * (1 - v) / m
        return float((x / n - y / m - gap) / np.sqrt(spread))

    goal, estimate = np.copysign(1.959964, -end), x / n - y / m
    return float(optimize.brentq(lambda gap: z(gap) - goal, estimate, 0.999 * end))


@pytest.mark.parametrize(("x", "n", "y", "m"), [(56, 70, 48, 80), (9, 10, 3, 10), (5, 56, 1, 29)])
def test_without_noise_and_skewness_it_is_the_score_interval(
    x: int, n: int, y: int, m: int
) -> None:
    pair = Difference(np.array([x / n]), np.array([y / m]), normal(counted(n)), normal(counted(m)))
    expected = [mee(x, n, y, m, end) for end in (-1.0, 1.0)]
    np.testing.assert_allclose(pair.interval()[0], expected, atol=1e-5)
    if n == 70:  # Newcombe (1998), Statistics in Medicine 17, table II, method 5
        np.testing.assert_allclose(pair.interval()[0], [0.0533, 0.3377], atol=5e-5)


def test_restricted_frequencies_maximise_the_likelihood() -> None:
    """At a given difference the law is that of the likeliest frequencies, found on a fine grid."""
    n, m, x, y, gap = 40, 90, 13, 20, 0.3
    (a, s), (b, t) = (0.2, 0.5), (0.1, 0.7)
    first, second = np.array([(x / n - a) / s]), np.array([(y / m - b) / t])
    pair = Difference(first, second, counted(n, a, s), counted(m, b, t))
    v = np.linspace(0.0, 1.0 - gap, 200_001)
    loglike = stats.binom.logpmf(x, n, a + s * (v + gap)) + stats.binom.logpmf(y, m, b + t * v)
    best = v[np.argmax(loglike)]
    spread = [q * (1 - q) / size for q, size in ((a + s * (best + gap), n), (b + t * best, m))]
    expected = np.sqrt(spread[0] / s**2 + spread[1] / t**2)
    assert pair.law(np.array([gap]))[0][0] == pytest.approx(expected, rel=1e-5)


def every_pair(n: int, m: int, offset: float, scale: float) -> tuple[Difference, Array, Array]:
    """All outcomes of two counts, n + 1 by m + 1."""
    x, y = (v.ravel() for v in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    laws = (counted(size, offset, scale, x.size) for size in (n, m))
    first, second = (x / n - offset) / scale, (y / m - offset) / scale
    return Difference(first, second, *laws), x, y


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (0.2, 0.5), (0.15, 0.2)])
def test_coverage_by_enumeration(offset: float, scale: float) -> None:
    """Exact coverage over all outcomes; below .93 for few frequencies, and .95 on average."""
    n, m = 25, 30
    pair, x, y = every_pair(n, m, offset, scale)
    low, high = pair.interval().T
    found = []
    for p in (0.05, 0.1, 0.3, 0.5, 0.8):
        for q in (0.05, 0.2, 0.5, 0.7, 0.95):
            chance = stats.binom.pmf(x, n, offset + scale * p)
            chance = chance * stats.binom.pmf(y, m, offset + scale * q)
            found.append(chance[(low <= p - q + 1e-9) & (p - q - 1e-9 <= high)].sum())
    assert min(found) > 0.93
    assert 0.945 < np.mean(found) < 0.965


def test_pvalues_agree_with_intervals() -> None:
    pair, _, _ = every_pair(12, 25, 0.1, 0.6)
    possible = np.abs(pair.estimate) < 1  # beyond, the interval has a limit of its own
    for alpha in (0.01, 0.05, 0.3):
        low, high = pair.interval(alpha).T
        for value in (0.0, 0.35, -0.8):
            rejected = pair.pvalues(value) < alpha
            outside = (value < low) | (value > high)
            np.testing.assert_array_equal(rejected[possible], outside[possible])


def test_nothing_seen_in_both_groups() -> None:
    pair = Difference(np.zeros(1), np.zeros(1), counted(100), counted(200))
    (low, high), (p,) = pair.interval()[0], pair.pvalues()
    assert p == 1.0 and -0.05 < low < 0.0 < high < 0.06


@pytest.mark.parametrize(
    "call",
    [
        lambda: Difference(np.array([np.nan]), np.zeros(1), counted(5), counted(5)),
        lambda: Difference(np.zeros(2), np.zeros(1), counted(5), counted(5)),
        lambda: Difference(np.zeros(1), np.zeros(1), counted(5), counted(5)).interval(0.0),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(ldp.InvalidArgument):
        call()


def wald(pair: Difference) -> Array:
    """The control: the normal interval with the standard error at the estimates."""
    reach = 1.959964 * pair.se
    return np.stack([pair.estimate - reach, pair.estimate + reach], axis=-1)


def test_control_normal_intervals_fail_for_rare_categories() -> None:
    R, rng = 500, np.random.default_rng(3)
    n, m, p = 150, 1500, 0.01
    first, second = rng.binomial(n, p, R) / n, rng.binomial(m, p, R) / m
    pair = Difference(first, second, counted(n, times=R), counted(m, times=R))
    low, high = wald(pair).T
    assert np.mean((low <= 0.0) & (0.0 <= high)) < 0.9
    assert at_least(np.mean(pair.pvalues() >= 0.05), 0.94, R)
