"""Confidence intervals: functions of arrays that return (..., k, 2), low then high.

`alpha` is one minus the confidence level of each interval. Intervals are not clipped: an end may
lie outside [0, 1]. `clip_unit` intersects them with [0, 1], `edge_normal` and `edge_binomial` give
those outside a limit of their own. `confidence_sequence` has intervals that hold however often one
looks.

At the end stand differences of two independent frequencies, whose estimates have variances and
third cumulants that are polynomials in their own frequency (`CellLaw`). At a difference d the
frequencies are those that solve the score equation under it,

    (t1 - d - v) / V1(v + d) + (t2 - v) / V2(v) = 0,

with v the second one, as in Miettinen and Nurminen (1985), whose interval this is where two counts
are seen without noise, but for the skewness. At v the difference of the estimates is compared with
Pearson's type III law with its own variance V1 + V2 and third cumulant K1 - K2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import floats, level, one_of, positive_integer, record
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.solvers import newton_root, root
from ldpstats.inference.tails import (
    CellLaw,
    chi2_critical,
    continuity,
    normal_critical,
    skewed_pvalue,
    two_sided,
)

Array = npt.NDArray[np.float64]

_XTOL = 1e-10  # error of the ends of profile intervals


def profile(
    loglike_at: Callable[[float], float],
    estimate: float,
    maximum: float,
    alpha: float = 0.05,
    slope_at: Callable[[float], float] | None = None,
    se: float = np.nan,
) -> tuple[float, float]:
    """Profile likelihood interval of one probability: all v in [0, 1] with 2 (maximum - l(v)) <= c.

    c is the chi-square critical value on one degree of freedom. The root sqrt(2 (maximum - l(v)))
    is nearly linear in v: with slopes, Newton's method inside a bracket finds the ends in three or
    four steps each; else inverse quadratic steps do.

    Parameters
    ----------
    loglike_at : callable
        l(v), the profile log-likelihood in nats at v; -inf if v is impossible.
    estimate : float
        The maximiser of l, in [0, 1].
    maximum : float
        l(estimate), the maximised log-likelihood.
    slope_at : callable, optional
        l'(v), asked at the v that `loglike_at` was asked last; nan if unknown.
    se : float
        About the standard error of the estimate, for the first step; nan if unknown.

    Returns
    -------
    (float, float)
        Low and high, accurate to 1e-10; 0 or 1 if the likelihood never falls far enough.

    Raises
    ------
    InvalidArgument
        If `estimate` is outside [0, 1], l is NaN or +inf, l exceeds `maximum` by more than 1e-3
        nats, or `estimate` itself is outside the interval.

    Examples
    --------
    >>> from math import log
    >>> low, high = profile(lambda v: 7 * log(v) + 13 * log(1 - v) if 0 < v < 1 else -float("inf"),
    ...                     estimate=0.35, maximum=7 * log(0.35) + 13 * log(0.65))
    >>> round(low, 4), round(high, 4)
    (0.1683, 0.5679)
    """
    if not 0 <= estimate <= 1:
        raise InvalidArgument("estimate", estimate, "must lie in [0, 1]")
    critical = normal_critical(alpha)

    def excess(v: Any) -> float:
        value = float(loglike_at(float(v)))
        if np.isnan(value) or value > maximum + 1e-3:
            raise InvalidArgument(
                "maximum",
                maximum,
                f"is not the maximum: the log-likelihood at {v:.6g} is {value:.6g}; maximise "
                "more accurately",
            )
        # an impossible v is outside by a finite amount, with which one can interpolate
        return min(float(np.sqrt(2 * max(maximum - value, 0.0))), 1e3 * critical) - critical

    if excess(estimate) > 0:
        raise InvalidArgument(
            "estimate", estimate, "has a likelihood far below the maximum; pass the maximiser"
        )

    def end(limit: float) -> float:
        if limit == estimate:
            return limit
        if slope_at is not None:
            first = float(estimate + np.sign(limit - estimate) * critical * se)
            between = min(estimate, limit) < first < max(estimate, limit)
            return newton_root(steep, estimate, limit, first if between else limit, xtol=_XTOL)
        return float(root(lambda v: -excess(v), estimate, limit, _XTOL))

    def steep(v: float) -> tuple[float, float]:
        above = excess(v)
        fall = above + critical
        return -above, slope_at(v) / fall if slope_at and fall > 0.0 else np.nan

    return end(0.0), end(1.0)


def percentile(draws: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Bootstrap percentile intervals: the alpha/2 and 1 - alpha/2 quantiles of the draws.

    They under-cover at the boundary of the simplex.

    Parameters
    ----------
    draws : array_like, shape (..., B, k)
        B bootstrap replicates of k estimates.

    Raises
    ------
    InvalidArgument
        If B < 2/alpha - 1, too few for the tail, or a draw is NaN.

    Examples
    --------
    >>> percentile(np.arange(101.0)[:, None] / 100, alpha=0.1)
    array([[0.05, 0.95]])
    """
    half = level(alpha) / 2
    values = floats(draws)
    if values.ndim < 2 or np.isnan(values).any():
        raise InvalidArgument("draws", values.shape, "must have the shape (B, k), without NaN")
    needed = fewest_draws(alpha)
    if values.shape[-2] < needed:
        raise InvalidArgument("draws", values.shape[-2], f"must hold at least {needed} replicates")
    return np.moveaxis(np.quantile(values, [half, 1 - half], axis=-2), 0, -1)


def fewest_draws(alpha: float) -> int:
    """The number of draws that the quantiles of `percentile` take, 2/alpha - 1."""
    return int(np.ceil(2 / level(alpha) - 1e-9)) - 1


def simultaneous_alpha(alpha: float, k: int, method: str = "bonferroni") -> float:
    """The alpha of each of k intervals with simultaneous level 1 - alpha.

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
        If k < 1 or the method is unknown.

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


# -- Wald, Scheffe and score intervals of estimates that are normal, or nearly so -----------------


def wald(estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Wald intervals, estimate -+ z se.

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates and their standard errors, in the same units.

    Raises
    ------
    InvalidArgument
        If a standard error is negative, an argument is NaN, or alpha is outside (0, 1).

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
        Contrasts and their standard errors, with the errors of `wald`.
    alpha : float
        One minus the simultaneous confidence level.
    df : int
        Dimension of the space of contrasts, positive; k - 1 for k probabilities.

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
    """Score intervals of skewed estimates whose variance depends on the frequency.

    All p that the estimate does not reject, if its variance at p is ``se^2 + rate (p - estimate)``
    and its Cornish-Fisher quantiles are ``z sd(p) + shift``, ``shift = skewness se (z^2 - 1)/6`` ::

        estimate - shift + rate z^2/2 -+ z sqrt(se^2 - rate shift + rate^2 z^2/4).

    It is the Wald interval if skewness and rate are 0, and second-order accurate for a count over
    an exposure N, where rate and skewness se are about 1/N (`wilson` omits the skewness).

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates, and their standard errors if the frequency is as estimated.
    skewness : array_like, shape (..., k)
        Skewness of each estimate.
    rate : array_like, shape (..., k)
        Derivative of the variance with respect to the frequency, in units of the estimate.

    Raises
    ------
    InvalidArgument
        As for `wald`.

    References
    ----------
    Cai, T. T. (2005), Journal of Statistical Planning and Inference 131, 63-88.

    Examples
    --------
    A count of 20, whose exact interval is [12.2, 30.9]:

    >>> skewed(20.0, se=20**0.5, skewness=20**-0.5, rate=1.0).round(1)
    array([12.6, 30.3])
    """
    z, spread, third, growth = normal_critical(alpha), floats(se), floats(skewness), floats(rate)
    if np.isnan(third).any() or np.isnan(growth).any():
        raise InvalidArgument("skewness", third, "and rate must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    shift = third * spread * (z**2 - 1) / 6
    centre = floats(estimate) - shift
    variance = np.maximum(spread**2 - growth * shift, 0.0)  # at the centre
    return _around(centre + growth * z**2 / 2, np.sqrt(variance + (growth * z / 2) ** 2), z)


def inverted(
    estimate: npt.ArrayLike,
    law: Callable[[Array], tuple[Array, ...]],
    alpha: float = 0.05,
    span: tuple[float, float] = (0.0, 1.0),
) -> Array:
    """Score intervals of estimates whose law is known at every frequency.

    All p that the estimate does not reject: at each end a tail of Pearson's type III law, with the
    standard error and skewness at that end, equals alpha/2, after the continuity correction of
    `ldpstats.inference.tails.continuity`. `skewed` is its second-order approximation, less accurate
    if few reports are expected.

    Parameters
    ----------
    estimate : array_like, shape (k,)
    law : callable
        ``law(p)``, p of shape (k,), gives standard errors and skewnesses, (k,); more is ignored.
    span : (float, float)
        Smallest and largest frequency; beyond, the law is that at the nearer end.

    Raises
    ------
    InvalidArgument
        If alpha is outside (0, 1) or an estimate is NaN.

    Examples
    --------
    A count of 4, whose exact interval is [1.09, 10.24]:

    >>> def poisson(mean):
    ...     sd = np.sqrt(np.maximum(mean, 1e-300))
    ...     return sd, 1.0 / sd
    >>> inverted([4.0], poisson, span=(0.0, 100.0)).round(2)
    array([[1.19, 9.87]])
    """
    half, x = level(alpha) / 2, floats(estimate)
    if np.isnan(x).any():
        raise InvalidArgument("estimate", x, "must not hold NaN")
    edges = [np.clip(x, *span), np.full(x.shape, span[0]), np.full(x.shape, span[1])]
    reach = span[1] - span[0] + 40.0 * np.max([law(v)[0] for v in edges], axis=0)
    far_ends = np.minimum(x, span[0]) - reach, np.maximum(x, span[1]) + reach

    def excess(sign: float, v: Array) -> Array:
        se, skewness = law(np.clip(v, *span))[:2]
        above = sign * (x - v) - se * continuity(skewness)
        z = np.divide(above, se, out=np.zeros(above.shape), where=se > 0)
        certain = np.where(above > 0, 0.0, 1.0)
        return np.where(se > 0, skewed_pvalue(z, sign * skewness), certain) - half

    pairs = zip((1.0, -1.0), far_ends, strict=True)
    return np.stack([root(partial(excess, sign), x, far) for sign, far in pairs], axis=-1)


def _around(estimate: npt.ArrayLike, se: npt.ArrayLike, critical: float) -> Array:
    """estimate -+ critical se, shape (..., 2)."""
    centre, spread = floats(estimate), floats(se)
    if np.isnan(centre).any():
        raise InvalidArgument("estimate", centre, "must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    return np.stack([centre - critical * spread, centre + critical * spread], axis=-1)


# -- Exact and Wilson's intervals of p from a tally that is Binomial(n, offset + scale p) ----------


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


_NODES = 64
_NEGLIGIBLE = 40.0  # nats below the largest value of what is integrated
_TINY = 1e-300


def confidence_sequence(
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """Intervals of p that may be looked at after every report: they hold p at all looks together.

    Parameters
    ----------
    tally : array_like, shape (..., k)
        Number of reports with an output, or with a bit set; or sums of scores in [0, 1].
    nobs : array_like
        Number of reports; it broadcasts against `tally`.
    offset, scale : array_like
        Given all earlier reports, one is counted with probability (a score has the mean)
        ``m = offset + scale p``; scale may be negative, not 0.
    alpha : float
        Bound of the probability that the interval of any n, from the first report to the last that
        there will ever be, misses p. What is inside [0, 1] is never empty.

    Notes
    -----
    Let ``L_n(m) = m^T (1 - m)^(n - T)`` with T the tally of n reports. The interval has all p with

        K_n(p) = integral over v from 0 to 1 of L_n(offset + scale v) dv / L_n(offset + scale p)

    below 1/alpha. For fixed v, with theta and m the means at v and p, a report u in {0, 1}
    multiplies the ratio by ``f(u) = (theta / m)^u ((1 - theta) / (1 - m))^(1 - u)``, of which the
    mean given the past is ``m theta / m + (1 - m) (1 - theta) / (1 - m) = 1`` at the true p. So the
    ratio is a non-negative martingale that begins at 1, and so is its average K_n over v. By
    Ville's inequality it reaches 1/alpha at some n with probability alpha at most. That needs no
    law of when one looks or stops, and holds in any order of the reports.

    A score u between 0 and 1 with mean m multiplies by f(u) too, and by the inequality of the
    weighted means ``f(u) <= u theta / m + (1 - u) (1 - theta) / (1 - m)``, of which the mean is 1:
    K_n is a supermartingale and the interval holds, but is wider than need be. The right side is a
    bet on the score, ``1 + b (u - m)`` with ``b = (theta - m) / (m (1 - m))``.

    -log L_n is convex in m, so that the set is an interval, and it depends on n and T alone. It is
    1.6 to 1.8 (n = 1,000) and 2.1 to 2.3 (n = 1e6) times as wide as an interval for one look.

    References
    ----------
    Howard, S. R., Ramdas, A., McAuliffe, J. and Sekhon, J. (2021), Annals of Statistics 49,
    1055-1080 (mixtures, sub-Bernoulli scores). Waudby-Smith, I. and Ramdas, A. (2024), Journal of
    the Royal Statistical Society B 86, 1-27 (bets). Robbins, H. (1970), Annals of Mathematical
    Statistics 41, 1397-1409.

    Examples
    --------
    >>> confidence_sequence([350, 35_000], [1000, 100_000]).round(3)
    array([[0.298, 0.405],
           [0.344, 0.356]])
    >>> exact_binomial([350, 35_000], [1000, 100_000]).round(3)
    array([[0.32 , 0.38 ],
           [0.347, 0.353]])
    """
    from scipy.special import logsumexp, roots_legendre, xlog1py, xlogy

    alpha = level(alpha)
    t, n, a, b = np.broadcast_arrays(floats(tally), floats(nobs), *_line(offset, scale))
    if not np.all(n >= 1.0):
        raise InvalidArgument("nobs", nobs, "must be a positive number of reports")
    if not np.all((t >= 0.0) & (t <= n)):
        raise InvalidArgument("tally", tally, "must be between 0 and nobs")
    share = t / n

    def loglike(m: Array) -> Array:
        return np.asarray(n * (xlogy(share, m) + xlog1py(1.0 - share, -m)))

    # the integral, where it is not negligible by a parabola at its largest value; what is left out
    # only widens the interval
    v = np.clip((share - a) / b, 0.0, 1.0)
    m = np.clip(a + b * v, 0.0, 1.0)
    up = np.divide(share, m, out=np.zeros(m.shape), where=share > 0.0)
    down = np.divide(1.0 - share, 1.0 - m, out=np.zeros(m.shape), where=share < 1.0)
    slope = n * np.abs(b * (up - down))
    curve = n * b**2 * (up**2 / np.maximum(share, _TINY) + down**2 / np.maximum(1.0 - share, _TINY))
    reach = 2.0 * _NEGLIGIBLE / (slope + np.sqrt(slope**2 + 2.0 * _NEGLIGIBLE * curve))
    low, high = np.maximum(v - reach, 0.0), np.minimum(v + reach, 1.0)
    x, w = (one.reshape(-1, *[1] * share.ndim) for one in roots_legendre(_NODES))
    nodes = np.clip(a + b * ((low + high) / 2.0 + (high - low) / 2.0 * x), 0.0, 1.0)
    average = logsumexp(loglike(nodes), axis=0, b=w / 2.0 * (high - low))

    least = average + np.log(alpha)
    first, last = (root(lambda m: loglike(m) - least, share, end) for end in (0.0, 1.0))
    return _mapped(first, last, a, b)


def _line(offset: npt.ArrayLike, scale: npt.ArrayLike) -> tuple[Array, Array]:
    """Offset and scale of m = offset + scale p, checked."""
    slope = floats(scale)
    if not np.all(np.isfinite(slope) & (slope != 0)):
        raise InvalidArgument("scale", scale, "must be finite and not 0 (epsilon > 0)")
    base = floats(offset)
    if not np.all(np.isfinite(base)):
        raise InvalidArgument("offset", offset, "must be finite")
    return base, slope


def _mapped(low: Array, high: Array, offset: npt.ArrayLike, scale: npt.ArrayLike) -> Array:
    """(m - offset)/scale of both ends; a negative scale swaps them."""
    base, slope = _line(offset, scale)
    ends = np.stack([(low - base) / slope, (high - base) / slope], axis=-1)
    return np.sort(ends, axis=-1)


def checked_tallies(tally: npt.ArrayLike, nobs: npt.ArrayLike) -> tuple[Array, Array]:
    """Tallies and numbers of reports as float64, broadcast against each other, after a check."""
    t, n = np.broadcast_arrays(floats(tally), floats(nobs))
    if not np.all((n >= 1) & (n == np.floor(n))):
        raise InvalidArgument("nobs", nobs, "must be a positive integer number of reports")
    if not np.all((t >= 0) & (t <= n) & (t == np.floor(t))):
        raise InvalidArgument("tally", tally, "must be integer counts between 0 and nobs")
    return t, n


# -- Intervals intersected with [0, 1], with CLs limits where they lie outside ---------------------


def clip_unit(interval: npt.ArrayLike) -> Array:
    """Intersect intervals with [0, 1]; an empty intersection becomes [0, 0] or [1, 1].

    The intersection does not change the coverage of p in [0, 1], but an interval entirely outside
    becomes the nearest end, which adds coverage at p = 0 or 1.

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends; refused if one is NaN or low exceeds high.

    Examples
    --------
    >>> clip_unit([[-0.1, 0.2], [-0.3, -0.1], [0.9, 1.4]])
    array([[0. , 0.2],
           [0. , 0. ],
           [0.9, 1. ]])
    """
    ends = floats(interval)
    if ends.shape[-1:] != (2,) or not np.all(ends[..., 0] <= ends[..., 1]):
        raise InvalidArgument("interval", ends, "must have low <= high along a last axis of 2")
    return np.clip(ends, 0.0, 1.0)


def edge_normal(
    interval: npt.ArrayLike, estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05
) -> Array:
    """Intersect intervals with [0, 1]; an interval outside gets a CLs limit.

    An estimate far below zero does not show that the frequency is zero. The upper limit of its
    interval is the frequency v at which so low an estimate is alpha/2 times as probable as at zero,
    ``P_v(X <= x) = alpha/2 P_0(X <= x)``; likewise above one (the CLs method of particle physics).

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends, not clipped; with the errors of `clip_unit`.
    estimate, se : array_like, shape (...)
        Estimates and their standard errors, > 0 if the interval lies outside.

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
    x, s = np.broadcast_arrays(floats(estimate), floats(se))
    low, high = np.moveaxis(floats(interval), -1, 0)
    for side, beyond, sign in ((1, high <= 0.0, -1.0), (0, low >= 1.0, 1.0)):  # end to move
        at = beyond & (s > 0)
        reach = (x[at] - (1 - side)) * sign / s[at]  # standard errors beyond the edge
        move = s[at] * (-reach - ndtri_exp(log_half + log_ndtr(-reach)))
        inward = np.minimum(move, 1.0)
        ends[at, side] = inward if side else 1.0 - inward
    return ends


def edge_range(
    interval: npt.ArrayLike,
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    reach: tuple[float, float],
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` for quantities that lie in `reach`, from the least to the most possible."""
    least, width = reach[0], reach[1] - reach[0]
    if width == 0.0:
        return np.full(np.shape(interval), least)
    ends, x = floats(interval), floats(estimate)
    scaled = (ends - least) / width
    cut = edge_normal(scaled, (x - least) / width, np.asarray(se) / width, alpha)
    return np.where(cut == scaled, ends, least + width * cut)  # what is inside stays as it is


def edge_binomial(
    interval: npt.ArrayLike,
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` for a tally that is Binomial(nobs, offset + scale p).

    Parameters
    ----------
    interval : array_like, shape (k, 2)
        Low and high ends, not clipped, from `exact_binomial` with the same arguments.
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
    base, slope = np.broadcast_arrays(floats(offset), floats(scale), t)[:2]
    low, high = np.moveaxis(floats(interval), -1, 0)
    for side, beyond in ((1, high <= 0.0), (0, low >= 1.0)):
        at = np.flatnonzero(beyond)
        if at.size:
            # a low estimate has a low tally, or a high one if slope < 0
            below = (slope[at] > 0) == bool(side)
            count = np.where(below, t[at], n[at] - t[at])
            terms = base[at], slope[at], below, count, n[at]
            near, far = np.full(at.size, 1.0 - side), np.full(at.size, float(side))
            goal = log_half + _log_tail(*terms, near)
            ends[at, side] = root(partial(_log_tail, *terms, goal=goal), near, far)
    return ends


def _log_tail(
    base: Array, slope: Array, below: Any, t: Array, n: Array, v: Array, goal: Any = 0.0
) -> Array:
    """ln P(Bin(n, m) <= t) less a goal; far in the tail by the signed root of the deviance.

    For frequencies v, m is base + slope v, or its complement where the tally is not `below`, so
    that t counts others.
    """
    from scipy.special import betainc, log_ndtr, xlogy

    m = np.clip(base + slope * v, 0.0, 1.0)
    m = np.where(below, m, 1.0 - m)
    tail = np.where(t >= n, 1.0, betainc(np.maximum(n - t, 1), t + 1, 1 - m))
    with np.errstate(divide="ignore"):
        deviance = xlogy(t, t / (n * m)) + xlogy(n - t, (n - t) / (n * (1 - m)))
        far = log_ndtr(-np.sqrt(2 * np.maximum(deviance, 0.0)))
        return np.asarray(np.where(tail > 1e-290, np.log(np.maximum(tail, 1e-300)), far) - goal)


# -- Score intervals and p-values of the difference of two independent frequencies ----------------


_INSIDE = 1e-13  # of the range of a frequency, from its ends


@record
class Difference:
    """Differences of k pairs of independent estimates.

    `first` and `second` are unbiased estimates, shape (k,), the laws their cumulants.

    References
    ----------
    Miettinen, O. and Nurminen, M. (1985), Statistics in Medicine 4, 213-226.

    Examples
    --------
    56 of 70 and 48 of 80, counted without noise; the interval of Miettinen and Nurminen is
    [.0528, .3382]:

    >>> from ldpstats.inference.tails import path_cumulants
    >>> laws = [
    ...     CellLaw(*path_cumulants(np.ones((3, 1)), np.zeros((3, 1)), n), np.zeros(1), np.zeros(1))
    ...     for n in (70.0, 80.0)
    ... ]
    >>> difference = Difference(np.array([0.8]), np.array([0.6]), *laws)
    >>> difference.interval().round(3)
    array([[0.054, 0.339]])
    """

    first: Array
    second: Array
    first_law: CellLaw
    second_law: CellLaw

    def __post_init__(self) -> None:
        if np.isnan(self.first).any() or np.isnan(self.second).any():
            raise InvalidArgument("first", self.first, "and second must be numbers, not NaN")
        shapes = self.second.shape, self.first_law.step.shape, self.second_law.step.shape
        if shapes != (self.first.shape,) * 3:
            raise InvalidArgument("second", self.second.shape, "must match first, and both laws")

    @property
    def estimate(self) -> Array:
        """first - second, shape (k,)."""
        return self.first - self.second

    @property
    def se(self) -> Array:
        """Standard errors, shape (k,), at the estimated frequencies."""
        return np.hypot(self.first_law.at(self.first)[0], self.second_law.at(self.second)[0])

    def law(self, gap: Array) -> tuple[Array, Array]:
        """Standard error and skewness of the estimates if the differences are `gap`, (k,)."""
        # the second frequency, by the score equation: variances are quadratic, so that it, times
        # both, is cubic; where a variance is zero at an end, so is that, which is no solution
        a, b, c = self.first_law.variance.T
        moved = np.array([a + gap * (b + gap * c), b + 2.0 * gap * c, c])  # V1 in powers of v
        other = self.second_law.variance.T
        cubic = np.zeros((4, gap.size))
        for t, V in ((self.first - gap, other), (self.second, moved)):
            cubic[:3] += t * V
            cubic[1:] -= V
        low, high = np.maximum(0.0, -gap), np.minimum(1.0, 1.0 - gap)
        v = root(
            lambda v: cubic[0] + v * (cubic[1] + v * (cubic[2] + v * cubic[3])),
            low + _INSIDE * (high - low),
            high - _INSIDE * (high - low),
        )
        (s1, g1), (s2, g2) = self.first_law.at(v + gap), self.second_law.at(v)
        se = np.hypot(s1, s2)
        third = g1 * s1**3 - g2 * s2**3
        return se, np.where(se > 0.0, third, 0.0) / np.where(se > 0.0, se, 1.0) ** 3

    def interval(self, alpha: float = 0.05) -> Array:
        """All differences that neither one-sided test of level alpha/2 rejects, shape (k, 2).

        They are cut to [-1, 1]; an interval outside gets a limit of its own (`edge_range`).
        """
        bounds = inverted(self.estimate, self.law, alpha, (-1.0, 1.0))
        return edge_range(bounds, self.estimate, self.se, (-1.0, 1.0), alpha)

    def pvalues(self, value: float = 0.0) -> Array:
        """Two-sided p-values, shape (k,), of differences equal to `value`."""
        se, skewness = self.law(np.full(self.first.shape, value))
        return two_sided(self.estimate - value, se, skewness)
