"""Confidence intervals: functions of arrays that return (..., k, 2), low then high.

Intervals are not clipped: an end may lie outside [0, 1]. `clip_unit` intersects them with [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level, one_of, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.inference.binomial import exact_binomial, wilson
from ldpstats.inference.edges import clip_unit, edge_binomial, edge_normal
from ldpstats.inference.normal_intervals import inverted, scheffe, skewed, wald
from ldpstats.inference.tails import normal_critical

__all__ = [
    "clip_unit",
    "edge_binomial",
    "edge_normal",
    "exact_binomial",
    "fewest_draws",
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
    four steps each; else Brent's method does.

    Parameters
    ----------
    loglike_at : callable
        l(v), the profile log-likelihood in nats at v; -inf if v is impossible.
    estimate : float
        The maximiser of l, in [0, 1].
    maximum : float
        l(estimate), the maximised log-likelihood.
    alpha : float
        One minus the confidence level.
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
                "more accurately",
            )
        # an impossible v is outside by a finite amount, with which Brent's method can interpolate
        return min(float(np.sqrt(2 * max(maximum - value, 0.0))), 1e3 * critical) - critical

    if excess(estimate) > 0:
        raise InvalidArgument(
            "estimate", estimate, "has a likelihood far below the maximum; pass the maximiser"
        )

    def end(limit: float) -> float:
        if limit == estimate:
            return limit
        if slope_at is not None:
            first = estimate + np.sign(limit - estimate) * critical * se
            return _newton_end(steep, estimate, limit, float(first))
        return limit if excess(limit) <= 0 else float(brentq(excess, limit, estimate, xtol=_XTOL))

    def steep(v: float) -> tuple[float, float]:
        above = excess(v)
        root = above + critical
        return above, -slope_at(v) / root if slope_at and root > 0.0 else np.nan

    return end(0.0), end(1.0)


def _newton_end(
    steep: Callable[[float], tuple[float, float]], estimate: float, limit: float, first: float
) -> float:
    """Where a function that is negative at the estimate becomes zero on the way to a limit.

    The limit itself where it does not. `steep` gives the function, which grows that way and is
    nearly linear, and its slope. The limit is looked at only if a step leads there.
    """
    inside, outside, seen = estimate, limit, False
    v = first if min(estimate, limit) < first < max(estimate, limit) else limit
    while abs(outside - inside) > _XTOL:
        value, slope = steep(v)
        if value > 0.0:
            outside, seen = v, True
        elif v == limit:
            return limit
        else:
            inside = v
        step = -value / slope if np.isfinite(slope) and slope != 0.0 else np.nan
        if abs(step) <= _XTOL:
            return float(np.clip(v + step, 0.0, 1.0))
        v += step
        if not min(inside, outside) < v < max(inside, outside):  # or nan
            v = (inside + outside) / 2.0 if seen else limit
    return v


def percentile(draws: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Bootstrap percentile intervals: the alpha/2 and 1 - alpha/2 quantiles of the draws.

    They under-cover at the boundary of the simplex.

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
        If B < 2/alpha - 1, too few for the tail, or a draw is NaN.

    Examples
    --------
    >>> percentile(np.arange(101.0)[:, None] / 100, alpha=0.1)
    array([[0.05, 0.95]])
    """
    half = level(alpha) / 2
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2 or np.isnan(values).any():
        raise InvalidArgument("draws", values.shape, "must have the shape (B, k), without NaN")
    needed = fewest_draws(alpha)
    if values.shape[-2] < needed:
        raise InvalidArgument("draws", values.shape[-2], f"must hold at least {needed} replicates")
    ends = np.quantile(values, [half, 1 - half], axis=-2)
    return np.asarray(np.moveaxis(ends, 0, -1), dtype=np.float64)


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
