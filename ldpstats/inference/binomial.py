"""Exact tests and intervals of p from tallies that are Binomial(n, offset + scale p)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tails import normal_critical

__all__ = ["binomial_deficit", "binomial_excess", "checked_tallies", "exact_binomial", "wilson"]


Array = npt.NDArray[np.float64]


def exact_binomial(
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """Clopper-Pearson intervals of m = P(output), mapped to p = (m - offset)/scale.

    The tally of an output of k-RR, or of a bit of a unary mechanism, is Binomial(n, offset +
    scale p). Its exact interval, mapped to p, is valid for every n and p.

    Parameters
    ----------
    tally : array_like of integers, shape (..., k)
        Number of reports with this output, or with this bit set.
    nobs : array_like of integers
        Number of reports; it broadcasts against `tally`.
    offset, scale : array_like
        m = offset + scale p; scale may be negative, not 0. (0, 1) gives the interval of m.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        If a tally is not a count up to nobs, nobs or scale is 0, or alpha is outside (0, 1).

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> exact_binomial([0, 7], 20, alpha=0.05).round(4)
    array([[0.    , 0.1684],
           [0.1539, 0.5922]])
    """
    from scipy.special import betainccinv, betaincinv

    half = level(alpha) / 2
    t, n = checked_tallies(tally, nobs)
    # beta quantiles are undefined at tallies of 0 and n, where the interval reaches 0 or 1
    low = np.where(t == 0, 0.0, betaincinv(np.maximum(t, 1), n - t + 1, half))
    high = np.where(t == n, 1.0, betainccinv(t + 1, np.maximum(n - t, 1), half))
    return _mapped(low, high, offset, scale)


def wilson(
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """Wilson score intervals of m = P(output), mapped to p = (m - offset)/scale.

    Shorter than `exact_binomial`, with coverage near the level on average instead of at least the
    level. Arguments and errors are those of `exact_binomial`.

    References
    ----------
    Wilson, E. B. (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> wilson([0, 7], 20, alpha=0.05).round(4)
    array([[0.    , 0.1611],
           [0.1812, 0.5671]])
    """
    z2 = normal_critical(alpha) ** 2
    t, n = checked_tallies(tally, nobs)
    centre = (t + z2 / 2) / (n + z2)
    half = np.sqrt(z2) * np.sqrt(t * (n - t) / n + z2 / 4) / (n + z2)
    # exactly 0 at a tally of 0 and 1 at n, without rounding
    low = np.where(t == 0, 0.0, centre - half)
    high = np.where(t == n, 1.0, centre + half)
    return _mapped(low, high, offset, scale)


def _mapped(low: Array, high: Array, offset: npt.ArrayLike, scale: npt.ArrayLike) -> Array:
    """(m - offset)/scale of both ends; a negative scale swaps them."""
    slope = np.asarray(scale, dtype=np.float64)
    if not np.all(np.isfinite(slope) & (slope != 0)):
        raise InvalidArgument("scale", scale, "must be finite and not 0 (epsilon > 0)")
    base = np.asarray(offset, dtype=np.float64)
    if not np.all(np.isfinite(base)):
        raise InvalidArgument("offset", offset, "must be finite")
    ends = np.stack([(low - base) / slope, (high - base) / slope], axis=-1)
    return np.sort(ends, axis=-1)


def binomial_excess(
    tally: npt.ArrayLike, nobs: npt.ArrayLike, offset: npt.ArrayLike, scale: npt.ArrayLike
) -> Array:
    """Exact one-sided p-values of p = 0 against p > 0, from binomial tallies.

    The tally is Binomial(n, offset + scale p), as in `ldpstats.inference.intervals.exact_binomial`,
    whose one-sided interval the p-value matches. It is the binomial tail at p = 0, on the side to
    which `scale` points.

    Parameters
    ----------
    tally : array_like of integers, shape (..., k)
        Number of reports with this output, or with this bit set.
    nobs : array_like of integers
        Number of reports; it broadcasts.
    offset, scale : array_like
        offset in [0, 1], scale not 0; they broadcast.

    Returns
    -------
    ndarray, shape (..., k)

    Raises
    ------
    InvalidArgument
        If a tally is not a count up to nobs, offset is outside [0, 1], or scale is 0.

    Examples
    --------
    >>> binomial_excess([5, 9, 0], nobs=10, offset=0.5, scale=0.4).round(4)
    array([0.623 , 0.0107, 1.    ])
    """
    from scipy.special import betainc

    t, n = checked_tallies(tally, nobs)
    m0, slope = np.asarray(offset, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    if not np.all((m0 >= 0) & (m0 <= 1)):
        raise InvalidArgument("offset", offset, "must be a probability in [0, 1]")
    if not np.all(np.isfinite(slope) & (slope != 0)):
        raise InvalidArgument("scale", scale, "must be finite and not 0 (epsilon > 0)")
    # both binomial tails, each without cancellation
    upper = np.where(t == 0, 1.0, betainc(np.maximum(t, 1), n - t + 1, m0))
    lower = np.where(t == n, 1.0, betainc(np.maximum(n - t, 1), t + 1, 1 - m0))
    return np.where(slope > 0, upper, lower)


def binomial_deficit(
    tally: npt.ArrayLike, nobs: npt.ArrayLike, offset: npt.ArrayLike, scale: npt.ArrayLike
) -> Array:
    """Exact one-sided p-values of p >= 0, small if the estimate is too negative.

    The other tail of `binomial_excess`, with its arguments and errors.

    Examples
    --------
    >>> binomial_deficit([5, 9, 0], nobs=10, offset=0.5, scale=0.4).round(4)
    array([0.623, 0.999, 0.001])
    """
    return binomial_excess(tally, nobs, offset, -np.asarray(scale, dtype=np.float64))


def checked_tallies(tally: npt.ArrayLike, nobs: npt.ArrayLike) -> tuple[Array, Array]:
    """Tallies and numbers of reports as float64, broadcast against each other, after a check."""
    t, n = np.broadcast_arrays(
        np.asarray(tally, dtype=np.float64), np.asarray(nobs, dtype=np.float64)
    )
    if not np.all((n >= 1) & (n == np.floor(n))):
        raise InvalidArgument("nobs", nobs, "must be a positive integer number of reports")
    if not np.all((t >= 0) & (t <= n) & (t == np.floor(t))):
        raise InvalidArgument("tally", tally, "must be integer counts between 0 and nobs")
    return t, n
