"""Goodness of fit of the channel itself, for any p.

If the analyst's mechanism differs from the client's, estimates are wrong and their standard errors
small. These tests use what the law of the reports satisfies for every p. Chi-square statistics come
as (statistic, df), normal ones as (z, p-value).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.pooling import group_sums, rare_groups
from ldpstats.inference.popcounts import (
    bit_total_fit,
    popcount_fit,
    popcount_law,
    popcount_pvalue,
)
from ldpstats.inference.quadratic import form_cumulants
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue, skewed_pvalue
from ldpstats.inference.tests import binomial_excess, count_array
from ldpstats.problems.covariance import finite_array

__all__ = [
    "any_answers_fit",
    "bit_total_fit",
    "channel_distance",
    "channel_fit",
    "group_sums",
    "negative_estimates",
    "popcount_fit",
    "popcount_law",
    "popcount_pvalue",
    "rare_groups",
]

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
        seen, together = (np.bincount(kinds, weights=w).astype(np.float64) for w in (c, m))
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
    n = np.asarray(reports, dtype=np.float64)
    cells, n = np.asarray(ones, dtype=np.float64)[n > 0], n[n > 0]
    if not cells.size:
        return 1.0
    ends = min(absent, present), max(absent, present)
    extremes = cells.min(axis=1), cells.max(axis=1)  # the smallest tails of each cohort
    found = [
        float(binomial_excess(extreme, n, end, sign).min())
        for extreme, end, sign in zip(extremes, ends, (-1.0, 1.0), strict=True)
    ]
    tests = 2 * cells.size
    if most is not None:
        # laws of the bits of answers that own fewest and most
        bits = [np.repeat([present, absent], [h, cells.shape[1] - h]) for h in (1, most)]
        few, many = sorted(bits, key=lambda laws: float(laws.sum()))
        total = cells.sum()
        found += [_sum_tail(total, n.sum(), many, 1.0), _sum_tail(total, n.sum(), few, -1.0)]
        tests += 2
    return min(1.0, tests * min(found))


def _sum_tail(total: float, n: float, laws: Array, sign: float) -> float:
    """Tail, above (sign 1) or below (-1), of the sum of n reports of independent bits."""
    variances = laws * (1.0 - laws)
    beyond, variance = sign * (total - n * laws.sum()), n * variances.sum()
    if variance <= 0.0:
        return float(beyond <= 0.0)
    skewness = sign * n * np.sum(variances * (1.0 - 2.0 * laws)) / variance**1.5
    z = beyond / np.sqrt(variance)
    return float(np.maximum(normal_pvalue(z, "larger"), skewed_pvalue(z, skewness)))
