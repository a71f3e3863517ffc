"""Newton's method for smooth functions that need not be concave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Maximum", "maximise"]

Array = npt.NDArray[Any]
Evaluate = Callable[[Array], tuple[float, Array, Array]]

_FLOOR = 1e-7  # of the scaled curvature: flatter directions are taken to be of this curvature
_LONGEST = 20.0  # times what parameters are, and one more, that a step may be long
_ENOUGH = 1e-4  # of the predicted gain, that a step must reach
_HALVINGS = 40
_ROUNDING = 1e-18  # decrement relative to the value, far below any standard error


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where an iteration ended.

    Parameters
    ----------
    theta : array, shape (p,)
    value : float
    score : array, shape (p,)
    hessian : array, shape (p, p)
    decrement : float
        ``s' (-H)^-1 s`` over the free parameters: twice the gain that a quadratic would still
        have.
    converged : bool
    n_iter : int
    """

    theta: Array
    value: float
    score: Array
    hessian: Array
    decrement: float
    converged: bool
    n_iter: int


def maximise(
    evaluate: Evaluate,
    value: Callable[[Array], float],
    start: Array,
    free: Array | None = None,
    maxiter: int = 100,
    tolerance: float = 0.0,
    stop: Callable[[Array], bool] | None = None,
    units: Array | None = None,
) -> Maximum:
    """Maximise a function by damped Newton steps.

    Directions in which the function is convex or flat are climbed by the gradient: their curvature
    is taken by its absolute value.

    Parameters
    ----------
    evaluate : callable
        Value, gradient and Hessian at theta.
    value : callable
        The value alone.
    start : array, shape (p,)
    free : bool array, shape (p,), optional
        Parameters that may change; all by default.
    maxiter : int
    tolerance : float
        Newton decrement that is small enough: twice the gain that is left. By default what
        rounding leaves.
    stop : callable, optional
        Ends the iteration early where it is true of theta.
    units : array, shape (p, p), optional
        Makes parameters of standardised ones, ``theta = units @ z``: in these the curvature of a
        covariate is told from rounding whose mean is very many of its standard deviations.
    """
    theta = np.array(start, dtype=np.float64)
    free = np.ones(theta.shape, dtype=bool) if free is None else free
    own = None if units is None else units[np.ix_(free, free)]
    there, score, hessian = evaluate(theta)
    decrement, n_iter, settled = np.inf, 0, False
    while n_iter < maxiter:
        n_iter += 1
        inner = hessian[np.ix_(free, free)]
        direction, decrement, is_peak = _step(score[free], inner, theta[free], own)
        limit = max(tolerance, _ROUNDING * (1.0 + abs(there)))
        if decrement <= limit and is_peak:
            settled = True
            break
        length, moved = 1.0, False
        for _ in range(_HALVINGS):
            tried = theta.copy()
            tried[free] += length * direction
            at = value(tried)
            if at >= there + _ENOUGH * length * decrement or (
                decrement < 1e-9 * (1.0 + abs(there)) and at >= there - 1e-13 * (1.0 + abs(there))
            ):
                moved = True
                break
            length *= 0.5
        if not moved:  # rounding allows no further gain
            settled = decrement <= 1e-10 * (1.0 + abs(there))
            break
        theta = tried
        there, score, hessian = evaluate(theta)
        if stop is not None and stop(theta):
            break
    return Maximum(theta, there, score, hessian, float(decrement), settled, n_iter)


def _step(
    score: Array, hessian: Array, theta: Array, units: Array | None
) -> tuple[Array, float, bool]:
    """The step, the gain that it promises, and whether the function is concave here."""
    if not score.size:
        return score, 0.0, True
    scale = np.sqrt(np.abs(np.diagonal(hessian)))
    scale = np.where(scale > 0.0, scale, 1.0)
    curved = -hessian / np.outer(scale, scale)
    if not (np.isfinite(curved).all() and np.isfinite(score).all()):
        return np.zeros(score.shape), np.inf, False
    g = score / scale
    direction = _uphill(curved, g)
    if direction is None and units is not None:
        inner = -units.T @ hessian @ units
        if (np.diagonal(inner) > 0.0).all():  # else it is not positive definite
            own = units / np.sqrt(np.diagonal(inner))
            step = _uphill(-own.T @ hessian @ own, own.T @ score)
            direction = None if step is None else scale * (own @ step)
    is_peak = direction is not None
    if direction is None:
        size, axes = np.linalg.eigh(curved)
        direction = axes @ ((axes.T @ g) / np.maximum(np.abs(size), _FLOOR))
    # parameters of small covariates are large, and grow as fast
    longest = float(np.abs(direction / scale / (1.0 + np.abs(theta))).max(initial=0.0))
    if longest > _LONGEST:
        direction = direction * (_LONGEST / longest)
    return direction / scale, float(g @ direction), is_peak


def _uphill(curved: Array, g: Array) -> Array | None:
    """Newton's step where the curvature is positive definite beyond rounding, else None."""
    try:
        np.linalg.cholesky(curved - _FLOOR * np.eye(len(g)))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(curved, g))
