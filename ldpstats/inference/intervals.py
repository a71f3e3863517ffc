"""Confidence intervals: functions of arrays that return (..., k, 2), low then high.

All intervals are uncut: an end may lie outside [0, 1]. `clip_unit` intersects with [0, 1], and is a
separate, visible step because it changes what coverage means at p = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level, one_of, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tails import chi2_critical, continuity, normal_critical, skewed_pvalue
from ldpstats.inference.tests import checked_tallies

__all__ = [
    "clip_unit",
    "edge_binomial",
    "edge_normal",
    "exact_binomial",
    "inverted",
    "percentile",
    "profile",
    "scheffe",
    "simultaneous_alpha",
    "skewed",
    "wald",
    "wilson",
]

Array = npt.NDArray[np.float64]

_STEPS = 55  # of bisection: to 3e-17 of the width at the start


def wald(estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Wald intervals, estimate -+ z se.

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates and their standard errors, in the same units.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        Where a standard error is negative or anything is NaN, or alpha is outside (0, 1).

    Examples
    --------
    >>> wald([0.5, 0.1], [0.1, 0.1], alpha=0.05).round(3)
    array([[ 0.304,  0.696],
           [-0.096,  0.296]])
    """
    return _around(estimate, se, normal_critical(alpha))


def scheffe(estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float, df: int) -> Array:
    """Scheffe intervals: simultaneously valid for every linear combination of df free parameters.

    The half-width is se sqrt(c), where c is the chi-square critical value on df degrees of freedom.

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Any number of contrasts and their standard errors.
    alpha : float
        One minus the confidence level of all intervals together.
    df : int
        Dimension of the space of contrasts; k - 1 for k probabilities.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        Where df is not positive, or as for `wald`.

    Examples
    --------
    >>> scheffe([0.5], [0.1], alpha=0.05, df=4).round(3)
    array([[0.192, 0.808]])
    """
    return _around(estimate, se, float(np.sqrt(chi2_critical(alpha, df))))


def skewed(
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    skewness: npt.ArrayLike,
    rate: npt.ArrayLike,
    alpha: float = 0.05,
) -> Array:
    """Score intervals of estimates that are skewed, and whose variance moves with the frequency.

    All p that the estimate does not reject, where its variance at p is ``se^2 + rate (p -
    estimate)`` and its quantiles there are those of Cornish and Fisher, ``z sd(p) + shift`` with
    ``shift = skewness se (z^2 - 1)/6``:

        estimate - shift + rate z^2/2 -+ z sqrt(se^2 - rate shift + rate^2 z^2/4).

    It is Wald's interval where skewness and rate are 0, and second-order accurate for a count over
    an exposure N, where rate and skewness se are about 1/N (`wilson` leaves the skewness out).

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates, and their standard errors if the frequency is as estimated.
    skewness : array_like, shape (..., k)
        Third central moments of the standardised estimates.
    rate : array_like, shape (..., k)
        Growth of the variance with the frequency, in units of the estimate.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        Where a standard error is negative, anything is NaN, or alpha is outside (0, 1).

    References
    ----------
    Cai, T. T. (2005), Journal of Statistical Planning and Inference 131, 63-88.

    Examples
    --------
    A count of 20, whose exact interval is [12.2, 30.9]:

    >>> skewed(20.0, se=20**0.5, skewness=20**-0.5, rate=1.0).round(1)
    array([12.6, 30.3])
    """
    z = normal_critical(alpha)
    spread, third = np.asarray(se, dtype=np.float64), np.asarray(skewness, dtype=np.float64)
    growth = np.asarray(rate, dtype=np.float64)
    if np.isnan(third).any() or np.isnan(growth).any():
        raise InvalidArgument("skewness", third, "and rate must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    shift = third * spread * (z**2 - 1) / 6
    centre = np.asarray(estimate, dtype=np.float64) - shift
    variance = np.maximum(spread**2 - growth * shift, 0.0)  # at the centre: a linear law may end
    return _around(centre + growth * z**2 / 2, np.sqrt(variance + (growth * z / 2) ** 2), z)


def inverted(
    estimate: npt.ArrayLike,
    law: Callable[[Array], tuple[Array, ...]],
    alpha: float = 0.05,
    span: tuple[float, float] = (0.0, 1.0),
) -> Array:
    """Score intervals of estimates whose law is known at every frequency.

    All p that the estimate does not reject: at the ends one tail of Pearson's type III law, with
    the standard error and the skewness g that the estimate has there, is alpha/2. `skewed` is this
    to second order; here both are followed along the way, which matters where few reports are
    expected.

    Both tails are corrected for continuity, see `ldpstats.inference.tails.continuity`.

    Parameters
    ----------
    estimate : array_like, shape (k,)
    law : callable
        ``law(p)`` of frequencies p, shape (k,), gives standard errors and skewnesses, (k,), and
        may give more.
    alpha : float
        One minus the confidence level of each interval.
    span : (float, float)
        Least and largest frequency; beyond them the law is as it is there.

    Returns
    -------
    ndarray, shape (k, 2)

    Raises
    ------
    InvalidArgument
        Where alpha is outside (0, 1) or an estimate is NaN.

    Examples
    --------
    A count of 4, whose exact interval is [1.09, 10.24]:

    >>> def poisson(mean):
    ...     sd = np.sqrt(np.maximum(mean, 1e-300))
    ...     return sd, 1.0 / sd
    >>> inverted([4.0], poisson, span=(0.0, 100.0)).round(2)
    array([[1.19, 9.87]])
    """
    half, x = level(alpha) / 2, np.asarray(estimate, dtype=np.float64)
    if np.isnan(x).any():
        raise InvalidArgument("estimate", x, "must not hold NaN")
    edges = [np.clip(x, *span), np.full(x.shape, span[0]), np.full(x.shape, span[1])]
    reach = span[1] - span[0] + 40.0 * np.max([law(v)[0] for v in edges], axis=0)
    far_ends, ends = (np.minimum(x, span[0]) - reach, np.maximum(x, span[1]) + reach), []
    for sign, far in zip((1.0, -1.0), far_ends, strict=True):
        inside, outside = x.copy(), far
        for _ in range(_STEPS):
            middle = 0.5 * (inside + outside)
            se, skewness = law(np.clip(middle, *span))[:2]
            step = se * continuity(skewness)
            held = _tail(sign * (x - middle) - step, se, sign * skewness) > half
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        ends.append(inside)
    return np.stack(ends, axis=-1)


def _tail(excess: Array, se: Array, skewness: Array) -> Array:
    """P(Z > excess/se); where nothing varies, 1 up to an excess of 0 and 0 beyond."""
    z = np.divide(excess, se, out=np.zeros(excess.shape), where=se > 0)
    return np.where(se > 0, skewed_pvalue(z, skewness), np.where(excess > 0, 0.0, 1.0))


def exact_binomial(
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """Clopper-Pearson intervals of m = P(output), mapped to p = (m - offset)/scale.

    In k-RR the tally of an output, and in a unary mechanism the tally of a bit, is exactly
    Binomial(n, offset + scale p). Its exact interval, mapped affinely, is therefore valid at every
    n and every p, p = 0 included.

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
        Where a tally is negative, fractional or above nobs, nobs is 0, scale is 0, or alpha is
        outside (0, 1).

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
    # The beta quantiles are undefined at the two ends, where the interval reaches 0 or 1.
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

    Shorter than `exact_binomial`, with coverage close to the level on average instead of at least
    the level. Arguments and errors are those of `exact_binomial`.

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
    # At a tally of 0 (or n) the interval starts at 0 (ends at 1) exactly, not to rounding.
    low = np.where(t == 0, 0.0, centre - half)
    high = np.where(t == n, 1.0, centre + half)
    return _mapped(low, high, offset, scale)


def clip_unit(interval: npt.ArrayLike) -> Array:
    """Intersect intervals with [0, 1]; an empty intersection becomes [0, 0] or [1, 1].

    Coverage of any p in [0, 1] is unchanged by the intersection itself; an interval that lies
    outside entirely becomes the nearest end, which adds coverage at p = 0 (or 1) exactly.

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends.

    Returns
    -------
    ndarray, shape (..., 2)

    Raises
    ------
    InvalidArgument
        Where an end is NaN or low exceeds high.

    Examples
    --------
    >>> clip_unit([[-0.1, 0.2], [-0.3, -0.1], [0.9, 1.4]])
    array([[0. , 0.2],
           [0. , 0. ],
           [0.9, 1. ]])
    """
    ends = np.asarray(interval, dtype=np.float64)
    if ends.shape[-1:] != (2,) or not np.all(ends[..., 0] <= ends[..., 1]):
        raise InvalidArgument("interval", ends, "must have low <= high along a last axis of 2")
    return np.clip(ends, 0.0, 1.0)


def edge_normal(
    interval: npt.ArrayLike, estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05
) -> Array:
    """Intersect intervals with [0, 1], and give those that lie outside a limit of their own.

    An estimate so far below zero that no frequency is compatible with it does not show that the
    frequency is zero: it is an unlucky survey. As the limit of such an interval take the frequency
    v at which the chance of an estimate as low is alpha/2 of what it is at zero,
    ``P_v(X <= x) = alpha/2 P_0(X <= x)``; likewise above one. (In particle physics this is the
    method of CLs.) The interval then holds all that the intersection would, and has a width.

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends, uncut.
    estimate, se : array_like, shape (...)
        Estimates and their standard errors, > 0 where the interval lies outside.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., 2)

    Raises
    ------
    InvalidArgument
        As for `clip_unit`.

    References
    ----------
    Read, A. L. (2002), Journal of Physics G 28, 2693-2704.

    Examples
    --------
    >>> edge_normal([[-0.1, 0.2], [-0.39, -0.01]], [0.05, -0.2], [0.075, 0.1]).round(3)
    array([[0.   , 0.2  ],
           [0.   , 0.125]])
    """
    from scipy.special import log_ndtr, ndtri_exp

    ends, log_half = clip_unit(interval), np.log(level(alpha) / 2)
    x, s = np.broadcast_arrays(
        np.asarray(estimate, dtype=np.float64), np.asarray(se, dtype=np.float64)
    )
    for side, beyond, sign in _outside(interval):
        at = beyond & (s > 0)
        reach = (x[at] - (1 - side)) * sign / s[at]  # standard errors beyond the edge
        move = s[at] * (-reach - ndtri_exp(log_half + log_ndtr(-reach)))
        inward = np.minimum(move, 1.0)
        ends[at, side] = inward if side else 1.0 - inward
    return ends


def edge_binomial(
    interval: npt.ArrayLike,
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` where a tally is Binomial(nobs, offset + scale p).

    Parameters
    ----------
    interval : array_like, shape (k, 2)
        Low and high ends, uncut, as `exact_binomial` gives them for the other arguments.
    tally, nobs, offset, scale, alpha
        As for `exact_binomial`.

    Examples
    --------
    >>> uncut = exact_binomial([10], 100, 0.25, 0.5)   # [-0.402, -0.148]
    >>> edge_binomial(uncut, [10], 100, 0.25, 0.5).round(4)
    array([[0.    , 0.0835]])
    """
    ends, log_half = clip_unit(interval), np.log(level(alpha) / 2)
    t, n = checked_tallies(tally, nobs)
    base, slope = np.broadcast_arrays(
        np.asarray(offset, dtype=np.float64), np.asarray(scale, dtype=np.float64), t
    )[:2]
    for side, beyond, _ in _outside(interval):
        at = np.flatnonzero(beyond)
        if at.size:
            # an estimate is too low where its tally is, or too high if slope < 0
            below = (slope[at] > 0) == bool(side)
            count = np.where(below, t[at], n[at] - t[at])
            law = partial(_mirrored, base[at], slope[at], below)
            ends[at, side] = _edge(count, n[at], law, 1.0 - side, log_half)
    return ends


def _mirrored(base: Array, slope: Array, below: Array, v: Array) -> Array:
    """Probability of what is counted, or of what is not, at the frequencies v."""
    m = np.clip(base + slope * v, 0.0, 1.0)
    return np.where(below, m, 1.0 - m)


def _edge(
    count: Array, n: Array, law: Callable[[Array], Array], edge: float, log_share: float
) -> Array:
    """Where a tail of Bin(n, law(v)) is `exp(log_share)` of what it is at v = edge, 0 or 1."""
    near, far = np.full(count.size, edge), np.full(count.size, 1.0 - edge)
    goal = log_share + _log_binomial(count, n, law(near))
    for _ in range(_STEPS):
        middle = 0.5 * (near + far)
        held = _log_binomial(count, n, law(middle)) > goal
        near, far = np.where(held, middle, near), np.where(held, far, middle)
    return far


def _outside(interval: npt.ArrayLike) -> list[tuple[int, npt.NDArray[np.bool_], float]]:
    """End to move, which intervals are empty or a point after the cut, and the way to the edge."""
    low, high = np.moveaxis(np.asarray(interval, dtype=np.float64), -1, 0)
    return [(1, high <= 0.0, -1.0), (0, low >= 1.0, 1.0)]


def _log_binomial(t: Array, n: Array, m: Array) -> Array:
    """ln P(Bin(n, m) <= t); far in the tail by the signed root of the deviance."""
    from scipy.special import betainc, log_ndtr, xlogy

    tail = np.where(t >= n, 1.0, betainc(np.maximum(n - t, 1), t + 1, 1 - m))
    with np.errstate(divide="ignore"):
        deviance = xlogy(t, t / (n * m)) + xlogy(n - t, (n - t) / (n * (1 - m)))
        return np.where(
            tail > 1e-290,
            np.log(np.maximum(tail, 1e-300)),
            log_ndtr(-np.sqrt(2 * np.maximum(deviance, 0.0))),
        )


def profile(
    loglike_at: Callable[[float], float], estimate: float, maximum: float, alpha: float = 0.05
) -> tuple[float, float]:
    """Profile likelihood interval of one probability: all v in [0, 1] with 2 (maximum - l(v)) <= c.

    c is the chi-square critical value on one degree of freedom. The ends are found by Brent's
    method on the signed root sqrt(2 (maximum - l(v))), which is nearly linear in v.

    Parameters
    ----------
    loglike_at : callable
        l(v), the log-likelihood in nats maximised over everything else while the probability of
        interest is held at v; -inf where v is impossible.
    estimate : float
        Where l is maximal, in [0, 1].
    maximum : float
        l(estimate), the maximised log-likelihood.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    (float, float)
        Low and high, accurate to 1e-10; 0 or 1 where the likelihood never falls far enough.

    Raises
    ------
    InvalidArgument
        Where `estimate` is outside [0, 1], l is NaN or +inf, l exceeds `maximum` by more than 1e-3
        nats, or `estimate` itself is outside the interval.

    Examples
    --------
    >>> from math import log
    >>> low, high = profile(lambda v: 7 * log(v) + 13 * log(1 - v) if 0 < v < 1 else -float("inf"),
    ...                     estimate=0.35, maximum=7 * log(0.35) + 13 * log(0.65))
    >>> round(low, 4), round(high, 4)
    (0.1683, 0.5679)
    """
    from scipy.optimize import brentq

    if not 0 <= estimate <= 1:
        raise InvalidArgument("estimate", estimate, "must lie in [0, 1]")
    critical = normal_critical(alpha)

    def excess(v: float) -> float:
        value = float(loglike_at(v))
        if np.isnan(value) or value > maximum + 1e-3:
            raise InvalidArgument(
                "maximum",
                maximum,
                f"is not the maximum: the log-likelihood at {v:.6g} is {value:.6g}; maximise "
                "more closely",
            )
        # A value above the maximum by less than the tolerance is at the maximum; an impossible v
        # is far outside, by a finite amount that Brent's method can interpolate with.
        return min(float(np.sqrt(2 * max(maximum - value, 0.0))), 1e3 * critical) - critical

    if excess(estimate) > 0:
        raise InvalidArgument(
            "estimate", estimate, "has a likelihood far below the maximum; pass the maximiser"
        )
    ends = []
    for limit in (0.0, 1.0):
        reaches = limit == estimate or excess(limit) <= 0
        ends.append(limit if reaches else float(brentq(excess, limit, estimate, xtol=1e-10)))
    return ends[0], ends[1]


def percentile(draws: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Bootstrap percentile intervals: the alpha/2 and 1 - alpha/2 quantiles of the draws.

    They under-cover where the estimate sits on the boundary of the simplex; callers warn there.

    Parameters
    ----------
    draws : array_like, shape (..., B, k)
        B bootstrap replicates of k estimates.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        Where B < 2/alpha - 1, too few for the tail, or a draw is NaN.

    Examples
    --------
    >>> percentile(np.arange(101.0)[:, None] / 100, alpha=0.1)
    array([[0.05, 0.95]])
    """
    half = level(alpha) / 2
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2 or np.isnan(values).any():
        raise InvalidArgument("draws", values.shape, "must have the shape (B, k), without NaN")
    needed = int(np.ceil(1 / half - 1e-9)) - 1
    if values.shape[-2] < needed:
        raise InvalidArgument("draws", values.shape[-2], f"must hold at least {needed} replicates")
    ends = np.quantile(values, [half, 1 - half], axis=-2)
    return np.asarray(np.moveaxis(ends, 0, -1), dtype=np.float64)


def simultaneous_alpha(alpha: float, k: int, method: str = "bonferroni") -> float:
    """The alpha of each of k intervals that makes all of them hold together with level 1 - alpha.

    Parameters
    ----------
    alpha : float
        One minus the joint confidence level.
    k : int
        Number of intervals.
    method : {"bonferroni", "sidak"}
        alpha/k, always valid; or 1 - (1 - alpha)^(1/k), valid for independent estimates and for
        two-sided normal intervals under any correlation.

    Raises
    ------
    InvalidArgument
        Where k < 1 or the method is unknown.

    References
    ----------
    Sidak, Z. (1967), Journal of the American Statistical Association 62, 626-633.

    Examples
    --------
    >>> simultaneous_alpha(0.05, 10)
    0.005
    >>> round(simultaneous_alpha(0.05, 10, "sidak"), 6)
    0.005116
    """
    alpha, k = level(alpha), positive_integer("k", k)
    if one_of("method", method, ("bonferroni", "sidak")) == "bonferroni":
        return alpha / k
    return float(-np.expm1(np.log1p(-alpha) / k))


def _around(estimate: npt.ArrayLike, se: npt.ArrayLike, critical: float) -> Array:
    """estimate -+ critical se, shape (..., 2)."""
    centre, spread = np.asarray(estimate, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if np.isnan(centre).any():
        raise InvalidArgument("estimate", centre, "must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    return np.stack([centre - critical * spread, centre + critical * spread], axis=-1)


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
