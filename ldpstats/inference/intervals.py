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


def profile(
    loglike_at: Callable[[float], float], estimate: float, maximum: float, alpha: float = 0.05
) -> tuple[float, float]:
    """Profile likelihood interval of one probability: all v in [0, 1] with 2 (maximum - l(v)) <= c.

    c is the chi-square critical value on one degree of freedom. Brent's method finds the ends on
    the root sqrt(2 (maximum - l(v))), which is nearly linear in v.

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
    ends = []
    for limit in (0.0, 1.0):
        reaches = limit == estimate or excess(limit) <= 0
        ends.append(limit if reaches else float(brentq(excess, limit, estimate, xtol=1e-10)))
    return ends[0], ends[1]


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
    needed = int(np.ceil(1 / half - 1e-9)) - 1
    if values.shape[-2] < needed:
        raise InvalidArgument("draws", values.shape[-2], f"must hold at least {needed} replicates")
    ends = np.quantile(values, [half, 1 - half], axis=-2)
    return np.asarray(np.moveaxis(ends, 0, -1), dtype=np.float64)


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
