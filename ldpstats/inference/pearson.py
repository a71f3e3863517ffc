"""Chi-square tests of one distribution, or of two, from counts or estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.inference.tests import Array, count_array, quadratic
from ldpstats.problems.covariance import Covariance, probabilities

__all__ = [
    "given_distribution",
    "pearson_given",
    "several_samples_pearson",
    "several_samples_wald",
    "two_sample_pearson",
    "two_sample_wald",
]


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
    >>> from ldpstats.problems.covariance import uniformised
    >>> p0 = [0.5, 0.5]
    >>> statistic, df = given_distribution([0.6, 0.4], uniformised(p0, 0.5, 0.25, n=100), p0)
    >>> round(float(statistic), 4), df
    (1.0, 1)
    """
    null = probabilities("p0", p0)
    estimates = np.asarray(estimate, dtype=np.float64)
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
    possible = law > 0
    expected = c.sum(axis=-1, keepdims=True) * law[possible]
    statistic = np.sum((c[..., possible] - expected) ** 2 / expected, axis=-1)
    impossible = np.any(c[..., ~possible] > 0, axis=-1)
    return np.where(impossible, np.inf, statistic), int(possible.sum()) - 1


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
    >>> from ldpstats.problems.covariance import uniformised
    >>> V = uniformised([0.5, 0.5], 0.5, 0.25, n=100)
    >>> statistic, df = two_sample_wald([0.6, 0.4], [0.4, 0.6], V, V)
    >>> round(float(statistic), 4), df
    (2.0, 1)
    """
    a, b = np.asarray(est_a, dtype=np.float64), np.asarray(est_b, dtype=np.float64)
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
    >>> from ldpstats.problems.covariance import uniformised
    >>> V = uniformised([0.5, 0.5], 0.5, 0.25, n=100)
    >>> statistic, df = several_samples_wald([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]], [V, V, V])
    >>> round(float(statistic), 4), df
    (2.0, 2)
    """
    mean, V = np.asarray(estimates[0], dtype=np.float64), covariances[0]
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
