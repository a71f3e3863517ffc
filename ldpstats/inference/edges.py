"""Intervals intersected with [0, 1], with CLs limits where they lie outside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.binomial import checked_tallies

__all__ = ["clip_unit", "edge_binomial", "edge_normal", "edge_range"]

Array = npt.NDArray[np.float64]

_STEPS = 55  # of bisection: to 3e-17 of the width at the start


def clip_unit(interval: npt.ArrayLike) -> Array:
    """Intersect intervals with [0, 1]; an empty intersection becomes [0, 0] or [1, 1].

    The intersection does not change the coverage of p in [0, 1], but an interval entirely outside
    becomes the nearest end, which adds coverage at p = 0 or 1.

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
        If an end is NaN or low exceeds high.

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
    """Intersect intervals with [0, 1]; an interval outside gets a CLs limit.

    An estimate far below zero does not show that the frequency is zero. The upper limit of its
    interval is the frequency v at which so low an estimate is alpha/2 times as probable as at zero,
    ``P_v(X <= x) = alpha/2 P_0(X <= x)``; likewise above one (the CLs method of particle physics).

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends, not clipped.
    estimate, se : array_like, shape (...)
        Estimates and their standard errors, > 0 if the interval lies outside.
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


def edge_range(
    interval: npt.ArrayLike,
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    reach: tuple[float, float],
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` for quantities that lie in `reach`, from the least to the most possible.

    Examples
    --------
    >>> edge_range([[-1.4, 0.2]], [-0.6], [0.4], (-1.0, 1.0))
    array([[-1. ,  0.2]])
    """
    least, width = reach[0], reach[1] - reach[0]
    if width == 0.0:
        return np.full(np.shape(interval), least)
    ends, x = np.asarray(interval, dtype=np.float64), np.asarray(estimate, dtype=np.float64)
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
    >>> from ldpstats.inference.binomial import exact_binomial
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
            # a low estimate has a low tally, or a high one if slope < 0
            below = (slope[at] > 0) == bool(side)
            count = np.where(below, t[at], n[at] - t[at])
            law = partial(_mirrored, base[at], slope[at], below)
            ends[at, side] = _edge(count, n[at], law, 1.0 - side, log_half)
    return ends


def _mirrored(base: Array, slope: Array, below: Array, v: Array) -> Array:
    """Probability of what is counted, or of its complement, at frequencies v."""
    m = np.clip(base + slope * v, 0.0, 1.0)
    return np.where(below, m, 1.0 - m)


def _edge(
    count: Array, n: Array, law: Callable[[Array], Array], edge: float, log_share: float
) -> Array:
    """The v at which P(Bin(n, law(v)) <= count) is `exp(log_share)` times that at v = edge."""
    near, far = np.full(count.size, edge), np.full(count.size, 1.0 - edge)
    goal = log_share + _log_binomial(count, n, law(near))
    for _ in range(_STEPS):
        middle = 0.5 * (near + far)
        held = _log_binomial(count, n, law(middle)) > goal
        near, far = np.where(held, middle, near), np.where(held, far, middle)
    return far


def _outside(interval: npt.ArrayLike) -> list[tuple[int, npt.NDArray[np.bool_], float]]:
    """End to move, intervals that do not reach into (0, 1), and the direction to the edge."""
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
