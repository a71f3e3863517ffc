"""Maxima of smooth functions of which some parameters are bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Bounded", "BoundedMaximum", "maximise_bounded", "search_bounded"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_ROUNDS = 200
_FLOOR = 1e-8  # of the scaled curvature: flatter directions are taken to be of this curvature
_LONGEST = 3.0  # that a step of a standardised parameter may be
_DONE = 1e-10  # Newton decrement


class Bounded(Protocol):
    """What is maximised: a function of p parameters, and of m more in [0, 1]."""

    @property
    def p(self) -> int: ...
    @property
    def m(self) -> int: ...
    def value(self, x: Array) -> float: ...
    def evaluate(self, x: Array) -> tuple[float, Array, Array]: ...


@dataclass(frozen=True, eq=False)
class BoundedMaximum:
    """Where an iteration ended.

    Parameters
    ----------
    x : array, shape (d,)
    value : float
    score : array, shape (d,)
    hessian : array, shape (d, d)
    held : array of bool, shape (d,)
        What a bound holds, or the caller.
    converged : bool
    n_iter : int
    """

    x: Array
    value: float
    score: Array
    hessian: Array
    held: Mask
    converged: bool
    n_iter: int


def maximise_bounded(
    likelihood: Bounded, start: Array, units: Array, fixed: Mask | None = None
) -> BoundedMaximum:
    """Maximise over beta and theta in [0, 1] by damped Newton steps.

    A step ends at the first bound that it meets; what a bound holds is let go where the slope
    leads inside.

    Parameters
    ----------
    likelihood : Bounded
    start : array, shape (p + m,)
    units : array, shape (p + m, p + m)
        Makes x of standardised parameters; the identity for theta.
    fixed : array of bool, shape (p + m,), optional
        What stays as it is.
    """
    fixed = np.zeros(start.shape, dtype=bool) if fixed is None else fixed
    inside = np.arange(start.size) >= likelihood.p
    x, n_iter, settled = start.copy(), 0, False
    held = fixed | (inside & ((x <= 0.0) | (x >= 1.0)))
    value, score, hessian = likelihood.evaluate(x)
    while n_iter < _ROUNDS:
        n_iter += 1
        step, decrement = _step(score, hessian, units, ~held)
        if decrement <= _DONE * (1.0 + abs(value) * 1e-6):
            inward = inside & ~fixed & held & np.where(x <= 0.0, score > 1e-9, score < -1e-9)
            if not inward.any():
                settled = True
                break
            held = held & ~inward
            continue
        moved, bound = _moved(likelihood.value, x, step, value, decrement, inside & ~held)
        if moved is None:
            settled = decrement < 1e-6 * (1.0 + abs(value))
            break
        x, held = moved, held | bound
        value, score, hessian = likelihood.evaluate(x)
    return BoundedMaximum(x, value, score, hessian, held, settled, n_iter)


def search_bounded(
    likelihood: Bounded, start: Array, units: Array, fixed: Mask | None = None
) -> tuple[BoundedMaximum, list[BoundedMaximum]]:
    """The highest maximum from theta all over [0, 1]^m, and others that are as high.

    `start` gives beta; where `fixed`, theta too.
    """
    fixed = np.zeros(start.shape, dtype=bool) if fixed is None else fixed
    met = []
    for theta in _scattered(likelihood.m):
        first = start.copy()
        first[likelihood.p :] = np.where(fixed[likelihood.p :], start[likelihood.p :], theta)
        if np.isfinite(likelihood.value(first)):
            met.append(maximise_bounded(likelihood, first, units, fixed))
    best = max(met, key=lambda one: one.value)
    rivals = [
        one
        for one in met
        if one.converged
        and best.value - one.value < 1e-6
        and np.abs(np.linalg.solve(units, one.x - best.x)).max() > 1e-2
    ]
    return best, rivals


def _scattered(m: int) -> list[Array]:
    """Parameters all over (0, 1)^m."""
    count = 4 + 3 * m
    grid = (np.arange(count) + 0.5) / count
    each = [grid[(np.arange(count) * (2 * j + 1) + j) % count] for j in range(m)]
    return [np.full(m, 0.1), *np.array(each).T]


def _step(score: Array, hessian: Array, units: Array, free: Mask) -> tuple[Array, float]:
    """Newton's step in standardised parameters, uphill in every direction."""
    step = np.zeros(score.shape)
    if not free.any():
        return step, 0.0
    own = units[np.ix_(free, free)]
    g = own.T @ score[free]
    curved = -own.T @ hessian[np.ix_(free, free)] @ own
    # where a constant is fixed, the others have units as different as covariates have
    scale = np.sqrt(np.abs(np.diagonal(curved)))
    scale = np.where(scale > 0.0, scale, 1.0)
    size, axes = np.linalg.eigh(curved / np.outer(scale, scale))
    size = np.maximum(np.abs(size), _FLOOR * max(float(np.abs(size).max()), 1e-300))
    scaled = axes @ ((axes.T @ (g / scale)) / size) / scale
    scaled *= min(1.0, _LONGEST / max(float(np.abs(scaled).max()), 1e-300))
    step[free] = own @ scaled
    return step, float(g @ scaled)


def _moved(
    value: Callable[[Array], float],
    x: Array,
    step: Array,
    there: float,
    decrement: float,
    bounded: Mask,
) -> tuple[Array | None, Mask]:
    """The point that a step leads to, halved until the function rises, and what meets a bound."""
    room = np.full(x.shape, np.inf)
    down, up = bounded & (step < 0.0), bounded & (step > 0.0)
    room[down], room[up] = x[down] / -step[down], (1.0 - x[up]) / step[up]
    length = min(1.0, float(room.min()))
    for _ in range(50):
        tried = x + length * step
        at = bounded & (room <= length)
        tried[at] = np.where(step[at] < 0.0, 0.0, 1.0)
        if value(tried) >= there + 1e-4 * length * decrement:
            return tried, at
        length *= 0.5
    return None, np.zeros(x.shape, dtype=bool)
