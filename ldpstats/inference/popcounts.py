"""Tests of the number of ones in unary reports, whatever the distribution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer, probability
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.pooling import pooled_starts
from ldpstats.inference.quadratic import form_cumulants
from ldpstats.inference.tails import two_sided
from ldpstats.inference.tests import count_array

__all__ = ["bit_total_fit", "popcount_fit", "popcount_law", "popcount_pvalue"]

Array = npt.NDArray[np.float64]


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

    _check_bits(k, p1, p0)
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
    n = float(totals.flat[0])
    if np.any(totals != n):
        raise InvalidArgument("histogram", totals, "must have the same total in every survey")
    expected = n * popcount_law(c.shape[-1] - 1, p1, p0)
    impossible = np.any(c[..., expected == 0] > 0, axis=-1)
    starts = _cells(expected)
    pooled = np.add.reduceat(expected, starts)
    observed = np.add.reduceat(c, starts, axis=-1)
    statistic = np.sum((observed - pooled) ** 2 / pooled, axis=-1)
    return np.where(impossible, np.inf, statistic), len(starts) - 1


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
    _check_bits(k, p1, p0)
    ones, n = np.asarray(total_ones, dtype=np.float64), np.asarray(nobs, dtype=np.float64)
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


def _check_bits(k: int, p1: float, p0: float) -> None:
    """Refuse a unary mechanism that cannot exist."""
    positive_integer("k", k)
    probability("p1", p1)
    probability("p0", p0)
