"""Intervals, skewness and tails: references, defining properties, exact sums and coverage."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, optimize, special, stats
from simulate import at_least
from statsmodels.stats.proportion import proportion_confint

import ldpstats as ldp
from ldpstats import InvalidArgument
from ldpstats.inference import intervals
from ldpstats.inference.intervals import Difference
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import (
    CellLaw,
    chi2_critical,
    chi2_pvalue,
    normal_critical,
    normal_pvalue,
    skewed_pvalue,
)

Array = npt.NDArray[Any]


# ---- references
@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-6])
@pytest.mark.parametrize(
    ("function", "name"), [(intervals.exact_binomial, "beta"), (intervals.wilson, "wilson")]
)
def test_binomial_intervals_against_statsmodels(function, name, alpha):
    for n in (1, 7, 50, 1000):
        tally = np.unique(np.linspace(0, n, 8).astype(int))
        ours = function(tally, n, alpha=alpha)
        theirs = np.stack(proportion_confint(tally, n, alpha, method=name), axis=-1)
        # At the ends of the range they may miss 0 or 1 by rounding.
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-14)


def test_exact_ends_have_the_tails_that_define_them():
    n, alpha = 1_000_000_000, 0.01
    tally = np.array([1, 12, 40_000, 500_000_000, n - 3])
    low, high = intervals.exact_binomial(tally, n, alpha=alpha).T
    np.testing.assert_allclose(stats.binom.sf(tally - 1, n, low), alpha / 2, rtol=1e-6)
    np.testing.assert_allclose(stats.binom.cdf(tally, n, high), alpha / 2, rtol=1e-6)


def test_the_map_of_both_signs_and_shapes():
    tally = np.array([[3, 5], [0, 10], [10, 1]])
    plain = intervals.exact_binomial(tally, 10)
    mapped = intervals.exact_binomial(tally, 10, offset=[0.2, 0.3], scale=[0.5, 0.4])
    expected = (plain - np.array([0.2, 0.3])[:, None]) / np.array([0.5, 0.4])[:, None]
    np.testing.assert_allclose(mapped, expected, rtol=1e-14, atol=1e-15)
    flipped = intervals.exact_binomial(tally, 10, offset=0.8, scale=-0.5)
    np.testing.assert_allclose(flipped, ((plain - 0.8) / -0.5)[..., ::-1], rtol=1e-14)
    assert flipped.shape == (3, 2, 2)
    assert np.all(flipped[..., 0] < flipped[..., 1])


def test_normal_intervals():
    estimate, se = np.array([[0.2, 0.3]]), np.array([0.01, 0.02])
    low, high = stats.norm.interval(0.9, loc=estimate, scale=se)
    expected = np.stack([low, high], axis=-1)
    np.testing.assert_allclose(intervals.wald(estimate, se, 0.1), expected, rtol=1e-12)
    radius = np.sqrt(stats.chi2.isf(0.1, 4)) * se
    scheffe = intervals.scheffe(estimate, se, 0.1, df=4)
    np.testing.assert_allclose(scheffe[..., 1] - estimate, np.broadcast_to(radius, (1, 2)))
    # One degree of freedom is the pointwise interval.
    np.testing.assert_allclose(intervals.scheffe(estimate, se, 0.1, df=1), expected, rtol=1e-12)


def test_simultaneous_levels():
    assert intervals.simultaneous_alpha(0.05, 7) == 0.05 / 7
    sidak = intervals.simultaneous_alpha(0.05, 7, "sidak")
    assert (1 - sidak) ** 7 == pytest.approx(0.95, rel=1e-14)
    assert intervals.simultaneous_alpha(1e-12, 1, "sidak") == pytest.approx(1e-12, rel=1e-12)


def test_percentile_is_the_quantile_of_each_column():
    draws = np.random.default_rng(5).normal(size=(3, 99, 4))
    ends = intervals.percentile(draws, 0.1)
    assert ends.shape == (3, 4, 2)
    np.testing.assert_allclose(ends[1, 2], np.quantile(draws[1, :, 2], [0.05, 0.95]))


def test_clip_unit():
    given = [[[-0.2, 0.1], [-0.3, -0.2]], [[0.5, 1.2], [1.1, 1.3]]]
    expected = [[[0.0, 0.1], [0.0, 0.0]], [[0.5, 1.0], [1.0, 1.0]]]
    np.testing.assert_array_equal(intervals.clip_unit(given), expected)


# ---- profile likelihood
def test_profile_ends_are_roots():
    def loglike(v: float) -> float:
        return float(stats.binom.logpmf(7, 20, v))

    low, high = intervals.profile(loglike, 0.35, loglike(0.35), alpha=0.05)
    for end in (low, high):
        drop = 2 * (loglike(0.35) - loglike(end))
        assert drop == pytest.approx(stats.chi2.isf(0.05, 1), abs=1e-6)
    assert low < 0.35 < high


def test_profile_at_the_boundary():
    def none_seen(v: float) -> float:
        return 20 * float(np.log1p(-v)) if v < 1 else -np.inf

    low, high = intervals.profile(none_seen, 0.0, 0.0)
    assert low == 0.0
    assert high == pytest.approx(-np.expm1(-stats.chi2.isf(0.05, 1) / 40), abs=1e-9)
    assert intervals.profile(lambda v: 0.0, 0.5, 0.0) == (0.0, 1.0)


def test_profile_refuses_a_wrong_maximum():
    with pytest.raises(InvalidArgument, match="not the maximum"):
        intervals.profile(lambda v: -((v - 0.5) ** 2) * 1e4, 0.4, -100.0)
    with pytest.raises(InvalidArgument, match="pass the maximiser"):
        intervals.profile(lambda v: -((v - 0.5) ** 2) * 1e4, 0.4, 0.0)
    with pytest.raises(InvalidArgument, match=r"estimate=-0\.1"):
        intervals.profile(lambda v: 0.0, -0.1, 0.0)
    with pytest.raises(InvalidArgument, match="not the maximum"):
        intervals.profile(lambda v: np.nan, 0.5, 0.0)


# ---- Fieller
def test_fieller_is_the_set_of_ratios_not_rejected():
    rng = np.random.default_rng(6)
    z = stats.norm.isf(0.025)
    ratios = np.concatenate([-np.logspace(3, -3, 60), np.logspace(-3, 3, 60)])
    kinds = set()
    for _ in range(300):
        num, den = rng.normal(size=2)
        root = rng.normal(size=(2, 2)) * rng.choice([0.1, 0.5, 1.0])
        V = root @ root.T
        found = fieller(num, den, V[0, 0], V[1, 1], V[0, 1])
        kinds.add(found.kind)
        se = np.sqrt(V[0, 0] - 2 * ratios * V[0, 1] + ratios**2 * V[1, 1])
        accepted = np.abs(num - ratios * den) <= z * se
        np.testing.assert_array_equal([r in found for r in ratios], accepted)
        if found.kind == "bounded":
            assert num / den in found
    assert kinds == {"bounded", "complement", "unbounded"}


def test_fieller_corner_cases():
    exact = fieller(0.2, 0.4, 0.0, 0.0, 0.0)
    assert exact.kind == "bounded"
    assert (exact.low, exact.high) == pytest.approx((0.5, 0.5), rel=1e-12)
    assert fieller(0.0, 0.0, 0.1, 0.0, 0.0) == FiellerInterval(-np.inf, np.inf, "unbounded")
    with pytest.raises(InvalidArgument, match="undefined"):
        fieller(1.0, 0.0, 0.01, 0.0, 0.0)
    with pytest.raises(InvalidArgument, match="covariance matrix"):
        fieller(1.0, 1.0, 0.01, 0.01, 0.5)
    with pytest.raises(InvalidArgument, match="finite"):
        fieller(np.nan, 1.0, 0.01, 0.01, 0.0)
    # var_den exactly (den / z)^2: the quadratic degenerates to a half-line, on either side.
    z = normal_critical(0.05)
    for sign in (1.0, -1.0):
        half = fieller(sign, z, 0.01, 1.0, 0.0)
        end = sign * (1 - z**2 * 0.01) / (2 * z)
        assert half.kind == "unbounded"
        assert (half.low, half.high) == ((end, np.inf) if sign > 0 else (-np.inf, end))


# ---- coverage
def covered(interval: Array, p: Array) -> Array:
    """Share of surveys, per category, whose interval holds p."""
    return np.asarray(np.mean((interval[..., 0] <= p) & (p <= interval[..., 1]), axis=0))


@pytest.mark.parametrize("m", [0.03, 0.2, 0.5])
def test_exact_intervals_never_cover_less(m):
    n = 40
    tally = np.arange(n + 1)
    weight = stats.binom.pmf(tally, n, m)
    exact = intervals.exact_binomial(tally, n)
    inside = (exact[:, 0] <= m) & (m <= exact[:, 1])
    assert weight @ inside >= 0.95
    # Control: Wald intervals, whose standard error vanishes at a tally of 0, do cover less.
    plain = intervals.wald(tally / n, np.sqrt(tally / n * (1 - tally / n) / n))
    assert weight @ ((plain[:, 0] <= m) & (m <= plain[:, 1])) < 0.95


REPS = 4_000  # Monte Carlo SE .0035 at .95; the bands below are 4 of them or wider

P = {
    "zeros": np.array([0.5, 0.3, 0.2, 0.0, 0.0]),
    "near": np.array([0.5, 0.29, 0.2, 0.01, 0.0]),
}


def survey(kind: str, p: Array, epsilon: float, n: int) -> tuple[Array, float, float]:
    """Tallies of REPS surveys, shape (REPS, k), and the map m = offset + scale p."""
    rng = np.random.default_rng(8)
    k = p.size
    if kind == "krr":
        offset = float(1 / (np.exp(epsilon) + k - 1))
        scale = float(np.expm1(epsilon)) * offset
        return rng.multinomial(n, offset + scale * p, size=REPS), offset, scale
    p1, p0 = 0.5, 1 / (1 + np.exp(epsilon))  # OUE
    having = rng.multinomial(n, p, size=REPS)
    return rng.binomial(having, p1) + rng.binomial(n - having, p0), float(p0), float(p1 - p0)


@pytest.mark.parametrize(
    ("kind", "epsilon", "where"), [("krr", 1.0, "zeros"), ("oue", 3.0, "near")]
)
def test_coverage_of_uncut_intervals(kind, epsilon, where):
    p, n = P[where], 2000
    tally, offset, scale = survey(kind, p, epsilon, n)
    estimate = (tally / n - offset) / scale
    se = np.sqrt(tally / n * (1 - tally / n) / n) / abs(scale)
    found = {
        "exact": intervals.exact_binomial(tally, n, offset, scale),
        "wilson": intervals.wilson(tally, n, offset, scale),
        "wald": intervals.wald(estimate, se),
    }
    for name, interval in found.items():
        share = covered(interval, p)
        # An exact interval may only err upwards, by less than .015 at expected tallies over 50;
        # the others err by their normal approximation, at most .004 at these tallies.
        upper = 0.965 if name == "exact" else 0.95 + 4 * 0.0035 + 0.004
        lower = 0.95 - 4 * 0.0035 - (0.0 if name == "exact" else 0.004)
        assert np.all((share > lower) & (share < upper)), (name, share)
        cut = covered(intervals.clip_unit(interval), p)
        np.testing.assert_array_equal(cut[p > 0], share[p > 0])
        assert np.all((cut[p == 0] > share[p == 0]) & (cut[p == 0] < 0.99))
    # Control: intervals of the reports' law are no intervals of p.
    assert covered(intervals.exact_binomial(tally, n), p).min() < 0.5


# -- skewness --------------------------------------------------------------------------------------
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
def test_skewed_tails_by_integration(g):
    z = np.array([0.5, 2.0, 3.7])
    reference = [pearson_tail(float(v), g) for v in z]
    np.testing.assert_allclose(skewed_pvalue(z, g), reference, rtol=1e-7)


@pytest.mark.parametrize("g", [0.0021, 0.0019, 0.0005, -0.0005, -0.0019, -0.0021])
def test_slightly_skewed_tails_by_integration(g):
    """On both sides of the change of formula; 1e-4 is what it promises."""
    z = np.array([0.5, 2.0, 3.7, 5.0])
    reference = [pearson_tail(float(v), g) for v in z]
    np.testing.assert_allclose(skewed_pvalue(z, g), reference, rtol=2e-4)


def test_skewed_tails_of_known_laws():
    x, df = np.linspace(0.1, 60.0, 50), 7.0
    z, skewness = (x - df) / np.sqrt(2 * df), np.sqrt(8 / df)
    np.testing.assert_allclose(skewed_pvalue(z, skewness), chi2_pvalue(x, df), rtol=1e-12)
    np.testing.assert_allclose(skewed_pvalue(-z, -skewness), 1 - chi2_pvalue(x, df), rtol=1e-9)
    for skewness in (0.5, 0.001, 0.0, -0.001, -0.5):
        ends = skewed_pvalue([-np.inf, np.inf], skewness)
        np.testing.assert_array_equal(ends, [1.0, 0.0])


def test_no_skewness_is_normal():
    z = np.linspace(-10.0, 10.0, 41)
    np.testing.assert_allclose(skewed_pvalue(z, 0.0), normal_pvalue(z, "larger"), rtol=1e-15)


@pytest.mark.parametrize(("mean", "tolerance"), [(20.0, 0.14), (100.0, 0.04), (1000.0, 0.005)])
def test_skewed_tail_of_a_count(mean, tolerance):
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
def test_skewed_intervals_of_a_count_cover_on_both_sides(low, high, tolerance):
    """Averaged over means between `low` and `high`: one mean alone sees steps of single counts."""
    means, counts = np.linspace(low, high, 500), np.arange(250.0)
    se = np.sqrt(np.maximum(counts, 0.5))
    shares = poisson_coverage(means, intervals.skewed(counts, se, 1 / se, 1.0))
    np.testing.assert_allclose(shares, 0.025, atol=tolerance)
    wald = poisson_coverage(means, intervals.wald(counts, se))  # control
    assert wald[0] > 0.025 + 3 * tolerance and wald[1] < 0.025 - 3 * tolerance


def test_skewed_intervals_without_skewness_are_wald():
    estimate, se = np.array([0.5, -0.1]), np.array([0.1, 0.0])
    ours = intervals.skewed(estimate, se, 0.0, 0.0, alpha=0.1)
    np.testing.assert_allclose(ours, intervals.wald(estimate, se, alpha=0.1), rtol=1e-15)
    mirrored = -intervals.skewed(-estimate, se, -0.5, -0.01)[..., ::-1]
    np.testing.assert_allclose(intervals.skewed(estimate, se, 0.5, 0.01), mirrored, rtol=1e-12)


# -- tails -----------------------------------------------------------------------------------------
def test_tails_against_scipy():
    z = np.array([-40.0, -3.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(normal_pvalue(z, "larger"), stats.norm.sf(z), rtol=1e-12)
    np.testing.assert_allclose(normal_pvalue(z, "smaller"), stats.norm.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(normal_pvalue(z), 2 * stats.norm.sf(np.abs(z)), rtol=1e-12)
    x, df = np.array([0.0, 3.0, 500.0]), np.array([1, 4, 7])
    np.testing.assert_allclose(chi2_pvalue(x, df), stats.chi2.sf(x, df), rtol=1e-12)
    assert chi2_pvalue([0.0, 1.0], 0).tolist() == [1.0, 0.0]
    for alpha in (1e-15, 0.05, 0.9):
        assert chi2_critical(alpha, 3) == pytest.approx(stats.chi2.isf(alpha, 3), rel=1e-12)


# Differences of two independent frequencies: textbook intervals, exact coverage, consistency.

ArrayDifferences = npt.NDArray[np.float64]


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
def test_without_noise_and_skewness_it_is_the_score_interval(x, n, y, m):
    pair = Difference(np.array([x / n]), np.array([y / m]), normal(counted(n)), normal(counted(m)))
    expected = [mee(x, n, y, m, end) for end in (-1.0, 1.0)]
    np.testing.assert_allclose(pair.interval()[0], expected, atol=1e-5)
    if n == 70:  # Newcombe (1998), Statistics in Medicine 17, table II, method 5
        np.testing.assert_allclose(pair.interval()[0], [0.0533, 0.3377], atol=5e-5)


def test_restricted_frequencies_maximise_the_likelihood():
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


def every_pair(
    n: int, m: int, offset: float, scale: float
) -> tuple[Difference, ArrayDifferences, ArrayDifferences]:
    """All outcomes of two counts, n + 1 by m + 1."""
    x, y = (v.ravel() for v in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    laws = (counted(size, offset, scale, x.size) for size in (n, m))
    first, second = (x / n - offset) / scale, (y / m - offset) / scale
    return Difference(first, second, *laws), x, y


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (0.2, 0.5), (0.15, 0.2)])
def test_coverage_by_enumeration(offset, scale):
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


def test_pvalues_agree_with_intervals():
    pair, _, _ = every_pair(12, 25, 0.1, 0.6)
    possible = np.abs(pair.estimate) < 1  # beyond, the interval has a limit of its own
    for alpha in (0.01, 0.05, 0.3):
        low, high = pair.interval(alpha).T
        for value in (0.0, 0.35, -0.8):
            rejected = pair.pvalues(value) < alpha
            outside = (value < low) | (value > high)
            np.testing.assert_array_equal(rejected[possible], outside[possible])


def test_nothing_seen_in_both_groups():
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
def test_bad_input(call):
    with pytest.raises(ldp.InvalidArgument):
        call()


def wald(pair: Difference) -> ArrayDifferences:
    """The control: the normal interval with the standard error at the estimates."""
    reach = 1.959964 * pair.se
    return np.stack([pair.estimate - reach, pair.estimate + reach], axis=-1)


def test_control_normal_intervals_fail_for_rare_categories():
    R, rng = 500, np.random.default_rng(3)
    n, m, p = 150, 1500, 0.01
    first, second = rng.binomial(n, p, R) / n, rng.binomial(m, p, R) / m
    pair = Difference(first, second, counted(n, times=R), counted(m, times=R))
    low, high = wald(pair).T
    assert np.mean((low <= 0.0) & (0.0 <= high)) < 0.9
    assert at_least(np.mean(pair.pvalues() >= 0.05), 0.94, R)
