"""The maximum of a likelihood with unknown parameters, from several starts.

The likelihood is not concave in frequencies and parameters together, and may have several maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric.interior import climb
from ldpstats.problems.parametric.likelihood import ParametricLikelihood

__all__ = ["Maximum", "continued", "maximum", "starts", "wide_bounds"]

Array = npt.NDArray[Any]

_ACTIVE = 1e-6  # of a bound: closer entries are tried at the bound
_SAME = 1e-3  # by which two maxima differ at least
_MANY = 60  # frequencies and parameters from which fewer starts are tried
WIDTH = 1.0  # by which the continued likelihood leaves [0, 1] on either side


@dataclass(frozen=True, eq=False)
class Maximum:
    """The largest maximum that was found.

    Parameters
    ----------
    x : array, shape (k + m,)
        Frequencies, then parameters; exactly 0 or 1 where a bound holds them.
    inner : array, shape (k + m,)
        The same, strictly between its bounds.
    rivals : array, shape (r, k + m)
        Other points at which the likelihood is as large.
    rounds : int
        Steps of the longest climb.
    starts : int
        Number of starts.
    """

    x: Array
    inner: Array
    rivals: Array
    rounds: int
    starts: int


def maximum(likelihood: ParametricLikelihood) -> Maximum:
    """Maximise a likelihood over frequencies on the simplex and parameters in [0, 1]."""
    k, m = likelihood.k, likelihood.m
    lower, upper = np.zeros(k + m), np.r_[np.full(k, 2.0), np.ones(m)]
    begun = starts(k, m)
    center = climb(likelihood, begun[:1], lower, upper)
    others = climb(likelihood, begun[1:], lower, upper, barrier=1e-3)
    ends = np.concatenate([center.x, others.x])
    values = likelihood.loglike(ends)
    best = int(np.argmax(values))
    near = values[best] - values <= 1e-6 + 1e-9 * float(likelihood.nobs)
    apart = np.abs(ends - ends[best]).max(axis=1) > _SAME
    return Maximum(
        x=_polished(likelihood, ends[best]),
        inner=ends[best],
        rivals=ends[near & apart],
        rounds=max(center.rounds, others.rounds),
        starts=len(begun),
    )


def starts(k: int, m: int) -> Array:
    """Points from which maxima are looked for, shape (s, k + m); the first is the centre.

    Examples
    --------
    >>> starts(2, 1)[:2]
    array([[0.5, 0.5, 0.5],
           [0.9, 0.1, 0.5]])
    """
    uniform = np.full(k, 1.0 / k)
    tilted = [0.8 * np.eye(k)[x] + 0.2 * uniform for x in range(min(k, 3))]
    values = _scattered(m) if k + m <= _MANY else _scattered(m)[:3]
    pairs = [np.r_[p, theta] for theta in values for p in (uniform, *tilted)]
    return np.array(pairs)


def _scattered(m: int) -> list[Array]:
    """Parameters all over (0, 1)^m, the centre first."""
    if not m:
        return [np.empty(0)]
    found = [np.full(m, 0.5)]
    count = min(4 + 4 * m, 20)
    grid = (np.arange(count) + 0.5) / count
    step = [1, 3, 7, 9, 11, 13, 17, 19]  # another order of the same values for each parameter
    at = np.array([(np.arange(count) * step[j % 8] + j) % count for j in range(m)])
    return [*found, *grid[at].T]


def _polished(likelihood: ParametricLikelihood, x: Array) -> Array:
    """The same point to rounding: what its bounds hold is set to them, the rest by Newton."""
    k, total = likelihood.k, float(likelihood.nobs)
    upper = np.r_[np.full(k, np.inf), np.ones(likelihood.m)]
    point = np.where(x < _ACTIVE, 0.0, np.where(upper - x < _ACTIVE, upper, x))
    held = point != x
    point[:k] = np.where(held[:k], point[:k], point[:k] / point[:k][~held[:k]].sum())
    for _ in range(30):
        step = _newton(likelihood, point, held)
        if step is None:
            return x
        point = point + step
        if np.any((point < 0.0) | (point > upper)) or not np.isfinite(likelihood.loglike(point)):
            return x
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    point[:k] /= point[:k].sum()
    worse = likelihood.loglike(point) < likelihood.loglike(x) - 1e-9 * max(1.0, total)
    return x if worse else point


def _newton(likelihood: ParametricLikelihood, point: Array, held: Array) -> Array | None:
    """A Newton step of what is not held; None where a report that was seen is impossible.

    A step by the expected or the outer product's information would converge slowly, or not at all,
    where the reports contradict the device or tell next to nothing of a parameter.
    """
    k, d = likelihood.k, likelihood.size
    free = np.flatnonzero(~held)
    outer: Any = 0.0
    ratios = []
    pairs = zip(likelihood.counts, likelihood.laws(point), likelihood.jacobians(point), strict=True)
    for n, law, J in pairs:
        if np.any((n > 0) & (law <= 0.0)):
            return None
        ratio = np.where(n > 0, n / np.where(law > 0.0, law, 1.0), 0.0)
        own = J[free] * np.where(n > 0, ratio / np.sqrt(np.where(n > 0, n, 1.0)), 0.0)
        outer = outer + own @ own.T
        ratios.append(ratio)
    curvature = outer - likelihood.bends(point, ratios)[np.ix_(free, free)]
    sums = (free < k).astype(float)[None]
    total = float(likelihood.nobs)
    M = np.block([[curvature / total, sums.T], [sums, np.zeros((1, 1))]])
    if not sums.any():
        M[-1, -1] = 1.0
    right = np.r_[likelihood.score(point)[free] / total, 0.0]
    step = np.zeros(d)
    # what is open at this point stays where it is
    step[free] = np.linalg.lstsq(M, right, rcond=1e-13)[0][:-1]
    return step


def wide_bounds(k: int, m: int) -> tuple[Array, Array]:
    """Bounds of the continued likelihood: frequencies and parameters from -1 to 2."""
    return np.full(k + m, -WIDTH), np.full(k + m, 1.0 + WIDTH)


def continued(likelihood: ParametricLikelihood, x: Array) -> tuple[Array, bool]:
    """The maximum nearest to x where frequencies and parameters may leave [0, 1].

    The likelihood is continued as far as every report stays possible. Where the maximum is inside,
    it is the same; beyond, its distances keep the law that they have inside.

    Returns
    -------
    array, shape (k + m,)
        The maximum.
    bool
        Whether there is one within -1 and 2.
    """
    lower, upper = wide_bounds(likelihood.k, likelihood.m)
    found = climb(likelihood, x[None], lower, upper, barrier=1e-6).x[0]
    inside = bool(np.all((found > lower + 1e-3) & (found < upper - 1e-3)))
    return found, inside
