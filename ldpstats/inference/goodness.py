"""Goodness of fit: of the channel itself, for any p, of a distribution, and of several samples.

If the analyst's mechanism differs from the client's, estimates are wrong and their standard errors
small. Tests of the channel use what the law of the reports satisfies for every p. Tests of counts
use the counts of reports, never n times an estimate, with which Pearson's statistic almost always
rejects a true hypothesis. Chi-square statistics come as (statistic, df), normal ones as (z,
p-value).

At the end stand chi-square statistics of few reports, whose law is that of a quadratic form with
known moments: the statistic is the squared norm of a sum of coordinates, one vector a report. With
many reports its law is chi-square; with few, or few that tell of a rare category, it has larger
variance and skewness: a report with an expected count of c adds 1/c to the fourth cumulant. Where
the law of a report is known, so are the moments of the statistic, for any number of reports. With S
the covariance of the sum, k3, k4 and k6 its cumulants contracted over pairs of indices, and v the
third cumulants contracted over one pair, the mean is tr S, the variance ``2 tr S^2 + k4`` and the
third cumulant ``8 tr S^3 + 12 tr(k4 S) + 6 |v|^2 + 4 |k3|^2 + k6``; cumulants add up over reports.
The tail is that of Pearson's type III law, as for permutations (`inference.tables.permutation`).

References
----------
Haldane (1937), Biometrika 29, 133-143, for Pearson's statistic. McCullagh (1987), Tensor Methods
in Statistics, chapter 3, for cumulants of polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import floats, positive_integer, probability, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.inference.tables.permutation import Cumulants, Spread, blocks_of
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue, skewed_pvalue, two_sided
from ldpstats.inference.tests import binomial_excess, count_array, quadratic
from ldpstats.likelihood.covariance import Covariance, finite_array, probabilities

Array = npt.NDArray[np.float64]

_ROUNDS = 3  # the first weights are observed frequencies; the rest follow the fit
_EPS = float(np.finfo(np.float64).eps)
_DOUBTED = 0.05  # p-value below which the probability of what was seen matters
_NOTHING = 1e-14  # fitted probability that counts as zero
_EVERY_LAW = (
    "the channel has as many free probabilities as outputs, so every law of the reports fits it, "
    "apart from estimates that are too negative"
)


def channel_fit(counts: npt.ArrayLike, Q: npt.ArrayLike) -> tuple[Array, int]:
    """Pearson's X^2 between observed frequencies and the nearest law p Q, p of any sign.

    The laws p Q with sum p = 1 have rank(Q) - 1 of the l - 1 dimensions of all laws of a report, so
    df = l - rank(Q), with l the number of possible outputs.

    Parameters
    ----------
    counts : array_like of integers, shape (..., l)
        Counts of the outputs.
    Q : array_like, shape (k, l)
        Channel, rows sum to one. Impossible outputs are left out; if one was seen, the statistic is
        infinite.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int

    Raises
    ------
    NotAvailable
        If df = 0, or a fitted probability is not positive.
    InvalidArgument
        If counts are invalid, or shapes disagree.

    Notes
    -----
    Generalised least squares on the row space of Q, in three rounds. The weights are 1/m, with m
    first the frequencies with 1/2 added to each count, then the fit. From the second round m lies
    in the row space, and the normal equations make the fit sum to one.

    Examples
    --------
    >>> Q = [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    >>> statistic, df = channel_fit([300, 260, 440], Q)
    >>> round(float(statistic), 4), df
    (22.5, 1)
    """
    c, channel = count_array("counts", counts), finite_array("Q", Q, 2)
    if c.shape[-1] != channel.shape[1]:
        raise InvalidArgument("Q", channel.shape, f"must have {c.shape[-1]} columns, as counts")
    possible = channel.any(axis=0)
    impossible = np.any(c[..., ~possible] > 0, axis=-1)
    c, channel = c[..., possible], channel[:, possible]
    _, values, right = np.linalg.svd(channel, full_matrices=False)
    rank = int(np.sum(values > max(channel.shape) * _EPS * values[0]))
    df = channel.shape[1] - rank
    if df == 0:
        raise NotAvailable(_EVERY_LAW)
    n = np.maximum(c.sum(axis=-1, keepdims=True), 1.0)
    basis = right[:rank].T
    m = (c + 0.5) / (n + c.shape[-1] / 2)
    for _ in range(_ROUNDS):
        # by singular values, not normal equations: weights may differ by any factor
        root = np.sqrt(m)
        weighted = np.linalg.pinv(basis / root[..., None], rcond=max(channel.shape) * _EPS)
        m = np.einsum("...iy,...y->...i", weighted, c / n / root) @ basis.T
        if not np.all(m > _NOTHING):
            raise NotAvailable(
                "the best fit gives some output a probability <= 0, where the chi-square law fails;"
                " collect more reports, or merge rare outputs"
            )
    statistic = np.sum(n * (c / n - m) ** 2 / m, axis=-1)
    return np.where(impossible, np.inf, statistic), df


def channel_distance(
    counts: npt.ArrayLike, Q: npt.ArrayLike, law: npt.ArrayLike
) -> tuple[float, int, float]:
    """`channel_fit` around a law that the channel can make, for reports few of which are rare.

    The statistic is the part of Pearson's residuals that no change of p explains, to first order.
    It is a sum over reports, so that its mean, variance and third cumulant under `law` are known;
    the p-value is that of Pearson's type III law with these moments, not of chi-square, which fails
    where outputs are expected in few reports.

    Parameters
    ----------
    counts : array_like of integers, shape (l,)
        Counts of the outputs.
    Q : array_like, shape (k, l)
        Channel, rows sum to one.
    law : array_like, shape (l,)
        Probabilities of the outputs under the likeliest p.

    Returns
    -------
    statistic : float
    df : int
        Outputs that are possible under `law`, less the rank of their channel.
    pvalue : float
        At least that of chi-square, and the probability of these very counts under `law`.

    Raises
    ------
    NotAvailable
        If df = 0.
    InvalidArgument
        If counts are invalid, shapes disagree, or an impossible output was seen.

    Examples
    --------
    >>> Q, law = [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]], [0.35, 0.2, 0.45]
    >>> statistic, df, pvalue = channel_distance([300, 260, 440], Q, law)
    >>> round(statistic, 4), df, round(pvalue, 7)
    (22.5, 1, 2.2e-06)
    """
    c, m = count_array("counts", counts), finite_array("law", law, 1)
    channel = finite_array("Q", Q, 2)
    if not c.shape == m.shape == channel.shape[1:]:
        raise InvalidArgument("Q", channel.shape, f"must have {c.size} columns, as counts and law")
    possible = m > _NOTHING
    if np.any(c[~possible] > 0):
        raise InvalidArgument("law", m, "gives probability zero to an output that was seen")
    c, channel, m = c[possible], channel[:, possible], m[possible] / m[possible].sum()
    root, n = np.sqrt(m), c.sum()
    left, values, _ = np.linalg.svd((channel / root).T, full_matrices=False)
    basis = left[:, values > max(channel.shape) * _EPS * values[0]]
    df = c.size - basis.shape[1]
    if df == 0:
        raise NotAvailable(_EVERY_LAW)
    each = (np.eye(c.size) - basis @ basis.T) / root[:, None] / np.sqrt(n)
    statistic = float(np.sum((c @ each) ** 2))
    pvalue = form_cumulants([(int(n), each, m)]).pvalue(statistic)
    return statistic, df, max(pvalue, float(chi2_pvalue(statistic, df)), _probability(c, m))


def negative_estimates(
    counts: npt.ArrayLike, inverse: npt.ArrayLike, law: npt.ArrayLike
) -> tuple[Array, Array]:
    """Test whether linear estimates are too negative for a frequency of zero.

    Standard error and skewness are those under `law`, a possible law of the reports close to the
    data. It should come from a maximum likelihood fit: under an ill-conditioned channel, a
    projected linear estimate may give a distant law and standard errors far too small.

    Parameters
    ----------
    counts : array_like of integers, shape (l,)
        Counts of the outputs.
    inverse : array_like, shape (k, l)
        The linear estimate is ``inverse @ counts / n``.
    law : array_like, shape (l,)
        Probabilities of the outputs.

    Returns
    -------
    z, pvalue : ndarray, shape (k,)
        One-sided: the larger of the normal and the Pearson type III tail, because the latter has
        bounded support; and at least the probability under `law` of what the estimate was made of,
        the counts of outputs that it weighs alike, which is above both tails where reports are few.

    Raises
    ------
    InvalidArgument
        If counts are invalid, or `inverse` or `law` is not finite.

    Examples
    --------
    >>> z, pvalue = negative_estimates([7, 93], [[1.5, -0.5], [-0.5, 1.5]], [0.25, 0.75])
    >>> z.round(4), pvalue.round(4)
    (array([-4.1569, 15.7039]), array([0., 1.]))
    """
    c, m = count_array("counts", counts), finite_array("law", law, 1)
    G, n = finite_array("inverse", inverse, 2), c.sum()
    deviation = G - (G @ m)[:, None]
    size = np.abs(G).max(axis=1)
    se = np.sqrt(np.square(deviation) @ m)
    random = se > 1e-12 * size
    scale = np.where(random, se, 1.0)
    estimate = G @ (c / n)
    certain = np.where(estimate < -1e-9 * size, -np.inf, 0.0)  # rounding apart
    z = np.where(random, estimate / scale * np.sqrt(n), certain)
    third = (deviation * deviation * deviation) @ m  # quicker than a power
    skewness = np.where(random, third / scale**3 / np.sqrt(n), 0.0)
    pvalue = np.maximum(normal_pvalue(z, "smaller"), skewed_pvalue(-z, -skewness))
    pvalue = np.maximum(pvalue, np.where(np.isneginf(z), 0.0, _probability(c, m)))
    for i in np.flatnonzero((pvalue < _DOUBTED) & np.isfinite(z)):
        kinds = np.unique(np.round(G[i] / size[i], 9), return_inverse=True)[1].reshape(-1)
        seen, together = (floats(np.bincount(kinds, weights=w)) for w in (c, m))
        pvalue[i] = max(pvalue[i], _probability(seen, together))
    return z, pvalue


def _probability(counts: Array, law: Array) -> float:
    """Multinomial probability of counts: no tail that holds them has less."""
    from scipy.special import gammaln, xlogy

    log = gammaln(counts.sum() + 1.0) + np.sum(xlogy(counts, law) - gammaln(counts + 1.0))
    return float(np.exp(min(log, 0.0)))


def any_answers_fit(
    ones: npt.ArrayLike, reports: npt.ArrayLike, absent: float, present: float, most: int | None
) -> float:
    """Test whether any answers could have produced these hashed reports; needs no candidates.

    Every report sets a cell with one of two probabilities, so the tails of its count lie between
    two binomial ones. An answer owns between one and `most` bits, which bounds the number of bits
    set.

    Parameters
    ----------
    ones : array_like of integers, shape (C, m)
        Number of reports that set each cell, by cohort.
    reports : array_like of integers, shape (C,)
        Reports of each cohort.
    absent, present : float
        P(cell set | the answer does not own it) and P(cell set | it does).
    most : int or None
        Most cells that an answer owns; None for labels, of which a report sets exactly one.

    Returns
    -------
    float
        Smallest p-value times the number of tests (Bonferroni); conservative.

    Examples
    --------
    >>> ones = [[500, 500, 250, 250]]   # two answers, each held by half, that own a bit each
    >>> any_answers_fit(ones, [1000], absent=0.25, present=0.75, most=1)
    1.0
    >>> any_answers_fit(ones, [1000], absent=0.3, present=0.7, most=1) < 0.01
    True
    """
    n = floats(reports)
    cells, n = floats(ones)[n > 0], n[n > 0]
    if not cells.size:
        return 1.0
    ends = min(absent, present), max(absent, present)
    extremes = cells.min(axis=1), cells.max(axis=1)  # the smallest tails of each cohort
    pvalues = [
        float(binomial_excess(extreme, n, end, sign).min())
        for extreme, end, sign in zip(extremes, ends, (-1.0, 1.0), strict=True)
    ]
    tests = 2 * cells.size
    if most is not None:
        # laws of the bits of answers that own fewest and most
        bits = [np.repeat([present, absent], [h, cells.shape[1] - h]) for h in (1, most)]
        few, many = sorted(bits, key=np.sum)
        total = cells.sum()
        pvalues += [_sum_tail(total, n.sum(), many, 1.0), _sum_tail(total, n.sum(), few, -1.0)]
        tests += 2
    return min(1.0, tests * min(pvalues))


def _sum_tail(total: float, n: float, laws: Array, sign: float) -> float:
    """Tail, above (sign 1) or below (-1), of the sum of n reports of independent bits."""
    variances = laws * (1.0 - laws)
    beyond, variance = sign * (total - n * laws.sum()), n * variances.sum()
    if variance <= 0.0:
        return float(beyond <= 0.0)
    skewness = sign * n * np.sum(variances * (1.0 - 2.0 * laws)) / variance**1.5
    z = beyond / np.sqrt(variance)
    return float(np.maximum(normal_pvalue(z, "larger"), skewed_pvalue(z, skewness)))


# -- Chi-square tests of one distribution, or of two, from counts or estimates --------------------


def given_distribution(
    estimate: npt.ArrayLike, null_covariance: Covariance, p0: npt.ArrayLike
) -> tuple[Array, int]:
    """Test p = p0 with the covariance of the unconstrained estimate under the null.

    For k-RR it equals Pearson's X^2 of the counts of reports, with m0 = p0 Q (`pearson_given`).

    Parameters
    ----------
    estimate : array_like, shape (..., k)
        Unconstrained (linear) estimates.
    null_covariance : Covariance
        Their covariance if p = p0.
    p0 : array_like, shape (k,)
        The given distribution.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int
        k - 1.

    Raises
    ------
    InvalidArgument, NotIdentified
        As for `quadratic`, and where p0 is not on the simplex.

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import uniformised
    >>> p0 = [0.5, 0.5]
    >>> statistic, df = given_distribution([0.6, 0.4], uniformised(p0, 0.5, 0.25, n=100), p0)
    >>> round(float(statistic), 4), df
    (1.0, 1)
    """
    null = probabilities("p0", p0)
    estimates = floats(estimate)
    if estimates.shape[-1:] != null.shape:
        raise InvalidArgument("p0", null.shape, f"must match estimates of {estimates.shape}")
    return quadratic(estimates - null, null_covariance)


def pearson_given(counts: npt.ArrayLike, m0: npt.ArrayLike) -> tuple[Array, int]:
    """Pearson's X^2 of report counts against their law under the null, m0 = p0 Q.

    Parameters
    ----------
    counts : array_like of integers, shape (..., l)
        Counts of the l outputs.
    m0 : array_like, shape (l,)
        Law of a report under the null. If an output of probability 0 was seen, the statistic is
        infinite.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int
        Outputs with m0 > 0, minus one.

    Raises
    ------
    InvalidArgument
        If counts are negative, fractional or all 0, or m0 is not a distribution over l outputs.

    Examples
    --------
    >>> statistic, df = pearson_given([[30, 20], [25, 25]], [0.5, 0.5])
    >>> statistic, df
    (array([2., 0.]), 1)
    """
    c, law = count_array("counts", counts), probabilities("m0", m0)
    if c.shape[-1] != law.size:
        raise InvalidArgument("m0", law.shape, f"must have {c.shape[-1]} entries, one per output")
    expected = c.sum(axis=-1, keepdims=True) * law
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(c == expected, 0.0, (c - expected) ** 2 / expected)
    return terms.sum(axis=-1), int(np.count_nonzero(law)) - 1


def two_sample_pearson(
    counts_a: npt.ArrayLike, counts_b: npt.ArrayLike
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Pearson's X^2 of two samples of reports from the same mechanism, a 2 x l table.

    As `several_samples_pearson`, for counts of shape (..., l) of two samples.

    Raises
    ------
    InvalidArgument
        If counts are negative or fractional, a sample is empty, or shapes disagree.

    Examples
    --------
    >>> statistic, df = two_sample_pearson([30, 20, 0], [20, 30, 0])
    >>> round(float(statistic), 4), int(df)
    (4.0, 1)
    """
    a, b = count_array("counts_a", counts_a), count_array("counts_b", counts_b)
    if a.shape[-1] != b.shape[-1]:
        raise InvalidArgument("counts_b", b.shape, f"must have {a.shape[-1]} outputs")
    return several_samples_pearson(np.stack(np.broadcast_arrays(a, b), axis=-2))


def several_samples_pearson(counts: npt.ArrayLike) -> tuple[Array, npt.NDArray[np.int64]]:
    """Pearson's X^2 of g samples of reports from the same mechanism, a g x l table.

    If all samples have the same p, their reports have the same law, so the test is valid for every
    channel. It has no power against differences that the channel hides.

    Parameters
    ----------
    counts : array_like of integers, shape (..., g, l)
        Counts of the l outputs in each sample.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : ndarray of int64, shape (...)
        Outputs seen in any sample, minus one, times g - 1.

    Raises
    ------
    InvalidArgument
        If counts are negative or fractional, or a sample is empty.

    Examples
    --------
    >>> statistic, df = several_samples_pearson([[30, 20, 0], [20, 30, 0], [25, 25, 0]])
    >>> round(float(statistic), 4), int(df)
    (4.0, 2)
    """
    c = count_array("counts", counts)
    n, total = c.sum(axis=-1, keepdims=True), c.sum(axis=-2, keepdims=True)
    expected = n * total / total.sum(axis=-1, keepdims=True)
    terms = (c - expected) ** 2 / np.where(expected > 0.0, expected, 1.0)
    seen = np.count_nonzero(total, axis=-1)[..., 0]
    df = np.asarray((seen - 1) * (c.shape[-2] - 1), dtype=np.int64)
    return np.sum(terms, axis=(-2, -1)), df


def two_sample_wald(
    est_a: npt.ArrayLike, est_b: npt.ArrayLike, cov_a: Covariance, cov_b: Covariance
) -> tuple[Array, int]:
    """Wald test that two samples have the same p; mechanisms and epsilons may differ.

    Parameters
    ----------
    est_a, est_b : array_like, shape (..., k)
        Unconstrained estimates of the two samples.
    cov_a, cov_b : Covariance
        Their covariances, both at the pooled p; covariances at separate estimates reject too often
        at small n.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int
        k - 1.

    Raises
    ------
    InvalidArgument, NotIdentified
        As for `quadratic`.

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import uniformised
    >>> V = uniformised([0.5, 0.5], 0.5, 0.25, n=100)
    >>> statistic, df = two_sample_wald([0.6, 0.4], [0.4, 0.6], V, V)
    >>> round(float(statistic), 4), df
    (2.0, 1)
    """
    a, b = floats(est_a), floats(est_b)
    if a.shape[-1:] != b.shape[-1:]:
        raise InvalidArgument("est_b", b.shape, f"must end like the shape {a.shape} of est_a")
    return quadratic(a - b, cov_a + cov_b)


def several_samples_wald(
    estimates: Sequence[npt.ArrayLike], covariances: Sequence[Covariance]
) -> tuple[Array, int]:
    """Wald test that g samples have the same p; mechanisms and epsilons may differ.

    The samples are compared one after the other, each with the precision-weighted mean of those
    before it. The statistics are independent under the null; their sum is that of all contrasts of
    samples at once.

    Parameters
    ----------
    estimates : sequence of array_like, shape (..., k)
        Unconstrained estimates of the samples.
    covariances : sequence of Covariance
        Their covariances, all at the pooled p.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int
        (g - 1)(k - 1).

    Raises
    ------
    InvalidArgument, NotIdentified
        As for `quadratic`.

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import uniformised
    >>> V = uniformised([0.5, 0.5], 0.5, 0.25, n=100)
    >>> statistic, df = several_samples_wald([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]], [V, V, V])
    >>> round(float(statistic), 4), df
    (2.0, 2)
    """
    mean, V = floats(estimates[0]), covariances[0]
    statistic, df = np.zeros(mean.shape[:-1]), 0
    for i, (estimate, W) in enumerate(zip(estimates[1:], covariances[1:], strict=True), start=2):
        more, freedom = two_sample_wald(mean, estimate, V, W)
        statistic, df = statistic + more, df + freedom
        if i < len(estimates):  # the mean of those so far, on the contrasts
            precision = observed_tangent_inverse((V + W).matrix()).core
            dense = V.matrix()
            share = dense @ precision
            mean = mean - (mean - np.asarray(estimate)) @ share.T
            V = Covariance.dense(dense - share @ dense)
    return statistic, df


# -- Pooling of cells with small expected counts --------------------------------------------------


SMALLEST_EXPECTED = 5.0  # expected count up to which cells are pooled


def rare_groups(expected: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Pool rare cells until each group has an expected count of at least 5.

    Smaller counts have long tails, and chi-square statistics of many of them are unreliable: with
    expected counts of 1/2, tests of level .05 had sizes from .01 to .10. Rare cells are pooled with
    rare neighbours; a remainder joins the last group, or the smallest other cell.

    Parameters
    ----------
    expected : array_like, shape (k,)
        Expected counts.

    Returns
    -------
    ndarray of int64, shape (k,)
        Group of each cell, 0 .. g - 1. Without at least two groups, every cell is its own group.

    Examples
    --------
    >>> rare_groups([40.0, 2.0, 30.0, 3.0, 1.0, 6.0])
    array([0, 3, 1, 3, 3, 2])
    >>> rare_groups([40.0, 2.0, 30.0])
    array([0, 1, 1])
    """
    counts = finite_array("expected", expected, 1)
    rare = counts < SMALLEST_EXPECTED
    group = np.cumsum(~rare) - 1
    n_others = counts.size - int(rare.sum())
    if rare.any():
        starts = pooled_starts(counts[rare])
        group[rare] = n_others + np.searchsorted(starts, np.arange(int(rare.sum())), "right") - 1
        if counts[rare].sum() < SMALLEST_EXPECTED and n_others:
            group[rare] = group[int(np.argmin(np.where(rare, np.inf, counts)))]
    return np.asarray(group if group.max() > 0 else np.arange(counts.size), dtype=np.int64)


def group_sums(values: npt.ArrayLike, group: npt.NDArray[np.int64]) -> Array:
    """Sums over the groups of `rare_groups`, shape (g,)."""
    return floats(np.bincount(group, weights=values))


def pooled_starts(expected: Array) -> list[int]:
    """First index of each run of neighbours with a total expected count of at least 5."""
    starts, running = [0], 0.0
    for i, value in enumerate(expected):
        if running >= SMALLEST_EXPECTED:
            starts.append(i)
            running = 0.0
        running += float(value)
    # a remainder that is too small joins its neighbour
    if running < SMALLEST_EXPECTED and len(starts) > 1:
        starts.pop()
    return starts


# -- Tests of the number of ones in unary reports, whatever the distribution ----------------------


def popcount_law(k: int, p1: float, p0: float) -> Array:
    """Law of the number of ones in a unary report: Bernoulli(p1) + Binomial(k - 1, p0).

    Parameters
    ----------
    k : int
        Number of bits.
    p1, p0 : float
        P(bit 1 | it is the value) and P(bit 1 | it is not), in [0, 1].

    Returns
    -------
    ndarray, shape (k + 1,)

    Raises
    ------
    InvalidArgument
        If k < 1 or a probability is outside [0, 1].

    Examples
    --------
    >>> popcount_law(2, p1=0.75, p0=0.25)
    array([0.1875, 0.625 , 0.1875])
    """
    from scipy.stats import binom

    k, p1, p0 = _bits(k, p1, p0)
    others = binom.pmf(np.arange(k), k - 1, p0)
    return np.asarray(np.append((1 - p1) * others, 0.0) + np.append(0.0, p1 * others))


def popcount_fit(histogram: npt.ArrayLike, p1: float, p0: float) -> tuple[Array, int]:
    """Pearson's X^2 of the numbers of ones in unary reports against their law, whatever p.

    Parameters
    ----------
    histogram : array_like of integers, shape (..., k + 1)
        Number of reports with 0, 1, ..., k ones, with the same total in all surveys. An impossible
        number of ones, if seen, makes the statistic infinite.
    p1, p0 : float
        P(bit 1 | it is the value) and P(bit 1 | it is not).

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int
        Cells minus one, after neighbours are pooled up to an expected count of 5.

    Raises
    ------
    NotAvailable
        If fewer than two cells are left.
    InvalidArgument
        If counts are invalid, or a probability is outside [0, 1].

    Examples
    --------
    >>> statistic, df = popcount_fit([20, 60, 20], p1=0.75, p0=0.25)
    >>> round(float(statistic), 4), df
    (0.2667, 2)
    """
    c = count_array("histogram", histogram)
    totals = c.sum(axis=-1)
    n = float(totals.max())
    if np.any(totals != n):
        raise InvalidArgument("histogram", totals, "must have the same total in every survey")
    expected = n * popcount_law(c.shape[-1] - 1, p1, p0)
    impossible = np.any(c[..., expected == 0] > 0, axis=-1)
    starts = _cells(expected)
    pooled = np.add.reduceat(c, starts, axis=-1)
    statistic, df = pearson_given(pooled, np.add.reduceat(expected, starts) / n)
    return np.where(impossible, np.inf, statistic), df


def popcount_pvalue(statistic: float, nobs: int, k: int, p1: float, p0: float) -> float:
    """p-value of `popcount_fit` by the exact moments of its statistic (Haldane 1937).

    Examples
    --------
    >>> round(popcount_pvalue(9.21034, 100, k=2, p1=0.75, p0=0.25), 4)   # chi-square: .01
    0.0102
    """
    if not np.isfinite(statistic):
        return 0.0
    expected = nobs * popcount_law(k, p1, p0)
    m = np.add.reduceat(expected, _cells(expected)) / nobs
    return form_cumulants([(nobs, np.diag(1.0 / np.sqrt(nobs * m)), m)]).pvalue(statistic)


def _cells(expected: Array) -> list[int]:
    """First number of ones of each cell that has an expected count of 5."""
    starts = pooled_starts(expected)
    if len(starts) < 2:
        raise NotAvailable(
            f"{expected.sum():.0f} reports leave fewer than two cells with an expected count of 5; "
            "collect more"
        )
    return starts


def bit_total_fit(
    total_ones: npt.ArrayLike, nobs: npt.ArrayLike, k: int, p1: float, p0: float
) -> tuple[Array, Array]:
    """z-test of the total number of ones in unary reports, when only bit sums are known.

    Every report has p1 + (k - 1) p0 ones on average, with variance p1 (1 - p1) + (k - 1) p0
    (1 - p0).

    Parameters
    ----------
    total_ones : array_like of integers
        Sum of all bits of all reports.
    nobs : array_like of integers
        Number of reports; it broadcasts.
    k : int
        Bits per report.
    p1, p0 : float
        P(bit 1 | it is the value) and P(bit 1 | it is not); not both 0 or 1.

    Returns
    -------
    z, pvalue : ndarray
        Two-sided, with the skewness that the number of ones has.

    Raises
    ------
    InvalidArgument
        If nobs < 1, the total is not between 0 and k nobs, or the number of ones is certain.

    Examples
    --------
    >>> z, pvalue = bit_total_fit(1050, nobs=1000, k=2, p1=0.75, p0=0.25)
    >>> round(float(z), 4), round(float(pvalue), 4)
    (2.582, 0.0098)
    """
    k, p1, p0 = _bits(k, p1, p0)
    ones, n = floats(total_ones), floats(nobs)
    variance = p1 * (1 - p1) + (k - 1) * p0 * (1 - p0)
    if variance == 0:
        raise InvalidArgument("p1, p0", (p1, p0), "leave no randomness to test")
    if not np.all(n >= 1):
        raise InvalidArgument("nobs", nobs, "must be a positive number of reports")
    if not np.all((ones >= 0) & (ones <= k * n)):
        raise InvalidArgument("total_ones", total_ones, "must lie between 0 and k nobs")
    z = (ones - n * (p1 + (k - 1) * p0)) / np.sqrt(n * variance)
    third = p1 * (1 - p1) * (1 - 2 * p1) + (k - 1) * p0 * (1 - p0) * (1 - 2 * p0)
    return z, two_sided(z, np.ones(z.shape), third / variance**1.5 / np.sqrt(n))


def _bits(k: int, p1: float, p0: float) -> tuple[int, float, float]:
    """The bits of a unary mechanism, checked."""
    return positive_integer("k", k), probability("p1", p1), probability("p0", p0)


# -- Chi-square statistics of few reports ---------------------------------------------------------


Part = tuple[int, Array, Array]  # reports, coordinates of each, (u, r), and their law, (u,)

_WORK = 2e9  # most multiplications for the third moments: about a second
_KNOWN = 1e-10  # variance, relative to the largest, of a contrast that is known under the null
_AGREES = 1e-5  # and how far it may be from its value


def is_feasible(n_rows: int, r: int) -> bool:
    """Whether the moments of so many kinds of reports, in r coordinates, are quick to compute."""
    return min(float(n_rows), r**2 / 3.0) * n_rows * r <= _WORK


def form_cumulants(parts: Sequence[Part]) -> Cumulants:
    """Cumulants of ``|sum_i z_i|^2`` over independent reports i with coordinates z_i."""
    centred = [(n, z - m @ z, m) for n, z, m in parts]
    r = centred[0][1].shape[1]
    zero, unit = np.zeros(r), np.eye(r)

    total = Spread.of(lambda: ((z, n * m) for n, z, m in centred), zero, unit)
    S = np.sum([n * (z.T * m) @ z for n, z, m in centred], axis=0)
    k4, k4S, k6 = total.s2, total.r, 0.0
    for n, z, m in centred:
        each = Spread.of(blocks_of(z, m), zero, unit)
        S1 = (z.T * m) @ z
        k4 -= n * (each.t1**2 + 2.0 * each.t2)
        k4S -= n * (each.t1 * float(np.sum(S1 * S)) + 2.0 * float(np.sum((S1 @ S1) * S)))
        square = each.s3 - 3.0 * each.t1 * each.s2 + 2.0 * each.t1**3
        inner = each.r - each.t1 * each.t2 - 2.0 * each.t3
        k6 += n * (square - 8.0 * each.t3 - 12.0 * inner - 6.0 * each.b - 4.0 * each.u)
    third = 8.0 * total.t3 + 12.0 * k4S + 6.0 * total.b + 4.0 * total.u + k6
    return Cumulants(total.t1, 2.0 * total.t2 + k4, third)


@record
class ReportSums:
    """Contrasts of an estimate under a null hypothesis, as means over the reports.

    Examples
    --------
    Three counts of which 195, 4 and 1 are expected; chi-square would say .011:

    >>> p, n = np.array([0.975, 0.02, 0.005]), 200
    >>> u = np.eye(3)[1:]
    >>> sums = ReportSums((np.diag(p) - np.outer(p, p))[1:, 1:] / n, [(u, p, n)])
    >>> statistic, df, pvalue = sums.test(np.array([0.0, 0.015]))
    >>> round(statistic, 2), df, round(pvalue, 3)
    (9.05, 2, 0.022)
    """

    covariance: Array  # (q, q), of the contrasts
    # of each source: what each report counts for, (q, l), the probabilities of the reports, (l,),
    # and their number; none where only the covariance is known
    parts: Sequence[tuple[Array, Array, int]] = ()

    def test(self, gap: Array) -> tuple[float, int, float]:
        """Statistic, degrees of freedom and p-value of contrasts that are off by `gap`, (q,).

        A contrast without variance under the null is not tested where it is as the null says; else
        the p-value is 0.
        """
        variances, directions = np.linalg.eigh(self.covariance)
        varies = variances > _KNOWN * max(float(variances[-1]), 0.0)
        df = int(varies.sum())
        if np.any(np.abs(directions[:, ~varies].T @ gap) > _AGREES):
            return np.inf, gap.size, 0.0
        whitened = directions[:, varies].T / np.sqrt(variances[varies])[:, None]
        statistic = float(np.sum((whitened @ gap) ** 2))
        limit = float(chi2_pvalue(statistic, df))
        parts = [(n, (whitened @ u[:, m > 0.0] / n).T, m[m > 0.0]) for u, m, n in self.parts]
        kinds = sum(m.size for _, _, m in parts)
        if not kinds or not df or not is_feasible(kinds, df):
            return statistic, df, limit
        # the identity where all reports are listed; near it where a sample stands for them
        S = sum(n * np.atleast_2d(np.cov(z.T, aweights=m, ddof=0)) for n, z, m in parts)
        spread = np.linalg.eigvalsh(S)
        if spread[0] < 0.5 or spread[-1] > 2.0:
            return statistic, df, limit
        root = np.linalg.inv(np.linalg.cholesky(S))
        law = form_cumulants([(n, z @ root.T, m) for n, z, m in parts])
        # where next to no report of a kind is expected, three moments put all of the law at its
        # lower end: few reports make tails heavier than chi-square, never lighter
        return statistic, df, max(limit, law.pvalue(statistic))
