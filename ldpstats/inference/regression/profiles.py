"""Profiles of likelihoods: the ratio at a value of a parameter, and the values near the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.newton import Maximum, maximise
from ldpstats.estimators.regression.search import Objective

__all__ = ["Probed", "profile_at", "profile_interval"]

Array = npt.NDArray[Any]

_CLOSE = 5e-4  # of the signed root of a drop, that a limit may be off
_WIDEST = 1e4  # standard errors after which a limit is infinite
_ROUNDS = 60
_DECREMENT = 1e-6  # of restricted maxima
_CLOSER = 1e-9  # of those that a test rests on


@dataclass(frozen=True, eq=False)
class Probed:
    """A value of a parameter, and the profile there.

    Parameters
    ----------
    value : float
    fall : float
        The root of twice the fall from the top: the absolute value of the signed root.
    theta : array, shape (p,)
        The restricted maximum.
    """

    value: float
    fall: float
    theta: Array


def profile_at(
    objective: Objective,
    top: Maximum,
    index: int,
    value: float,
    others: Sequence[Array] = (),
    units: Array | None = None,
) -> Probed:
    """The profile at a value of a parameter: the highest maximum met from several starts.

    Parameters
    ----------
    objective : Objective
    top : Maximum
    index : int
        Of the parameter.
    value : float
    others : sequence of array
        Starts beside that which follows the curvature of the top.
    units : array, shape (p, p), optional
        As for `maximise`.
    """
    free = np.ones(top.theta.shape, dtype=bool)
    free[index] = False
    along = top.theta + _direction(top.hessian, index, free) * (value - top.theta[index])
    met = []
    for begun in (along, *others):
        first = begun.copy()
        first[index] = value
        if np.isfinite(objective.value(first)):
            met.append(
                maximise(
                    objective.evaluate, objective.value, first, free, tolerance=_CLOSER, units=units
                )
            )
    if not met:
        return Probed(value, float("inf"), top.theta)
    best = max(met, key=lambda one: one.value)
    return Probed(value, float(np.sqrt(max(0.0, 2.0 * (top.value - best.value)))), best.theta)


def profile_interval(
    objective: Objective,
    top: Maximum,
    index: int,
    drop: float,
    step: float,
    units: Array | None = None,
    tested: Probed | None = None,
) -> tuple[float, float]:
    """Values of a parameter at which the profile lies at most `drop` below its top.

    The value that was tested lies between the limits if and only if its fall is at most `drop`,
    also where the profile has several maxima.

    Parameters
    ----------
    objective : Objective
    top : Maximum
    index : int
        Of the parameter.
    drop : float
        1.92 for a level of 95 %.
    step : float
        About the distance of the limits from the top.
    units : array, shape (p, p), optional
        As for `maximise`.
    tested : Probed, optional

    Returns
    -------
    lower, upper : float
        Infinite where the objective does not fall that far.
    """
    free = np.ones(top.theta.shape, dtype=bool)
    free[index] = False
    root = np.sqrt(2.0 * drop)
    along = _direction(top.hessian, index, free)
    limits = [
        _limit(objective, top, index, free, root, sign * step, along, units, tested)
        for sign in (-1.0, 1.0)
    ]
    return limits[0], limits[1]


def _direction(hessian: Array, index: int, free: npt.NDArray[np.bool_]) -> Array:
    """How the other parameters follow one of them, as far as the objective is quadratic."""
    found = np.zeros(len(hessian))
    found[index] = 1.0
    inner = hessian[np.ix_(free, free)]
    scale = np.sqrt(np.abs(np.diagonal(inner)))
    scale = np.where(scale > 0.0, scale, 1.0)
    right = -hessian[free, index] / scale
    follow = np.linalg.lstsq(inner / np.outer(scale, scale), right, rcond=1e-8)[0]
    found[free] = follow / scale
    return found


def _limit(
    objective: Objective,
    top: Maximum,
    index: int,
    free: npt.NDArray[np.bool_],
    root: float,
    step: float,
    along: Array,
    units: Array | None,
    tested: Probed | None,
) -> float:
    """One limit, by regula falsi on the signed root of the drop, which is nearly linear."""
    center = float(top.theta[index])
    if tested is not None and (tested.value - center) * step <= 0.0:
        tested = None  # it lies on the other side

    def fall(value: float, near: Array) -> tuple[float, Array]:
        start = near.copy()
        start[index] = value
        if not np.isfinite(objective.value(start)):
            start = top.theta.copy()
            start[index] = value
        if not np.isfinite(objective.value(start)):
            return np.inf, near
        found = maximise(
            objective.evaluate, objective.value, start, free, tolerance=_DECREMENT, units=units
        )
        return float(np.sqrt(max(0.0, 2.0 * (top.value - found.value)))), found.theta

    inner, inner_fall, theta = center, 0.0, top.theta
    outer, outer_fall, outer_theta = center + step, np.nan, theta
    wall = np.inf  # distance at which the limit is exceeded for certain
    if tested is not None and tested.fall > root:
        wall = abs(tested.value - center)
    elif tested is not None:
        inner, inner_fall, theta = tested.value, tested.fall, tested.theta
        outer = center + _further(inner - center, inner_fall, root)
        outer = outer if abs(outer - center) > abs(step) else center + step
    for _ in range(_ROUNDS):  # outwards, until the drop is reached
        if abs(outer - center) >= wall:
            assert tested is not None
            outer, outer_fall, outer_theta = tested.value, tested.fall, tested.theta
            break
        ahead = top.theta + along * (outer - center)
        if abs(theta[index] - center) > 0.1 * abs(step):
            ahead = _moved(theta, top, index, outer)
        outer_fall, outer_theta = fall(outer, ahead)
        if outer_fall > root - _CLOSE:
            break
        inner, inner_fall, theta = outer, outer_fall, outer_theta
        outer = center + _further(outer - center, inner_fall, root)
        if abs(outer - center) > _WIDEST * abs(step):
            return float(np.copysign(np.inf, step))
    side = 0
    for _ in range(_ROUNDS):
        is_wall = abs(outer - center) >= wall  # rejected, and so never the limit
        if abs(inner_fall - root) < _CLOSE or (abs(outer_fall - root) < _CLOSE and not is_wall):
            break
        if np.isinf(outer_fall):
            middle = (inner + outer) / 2.0
        else:
            share = (root - inner_fall) / (outer_fall - inner_fall)
            if side > 1 or side < -1:  # one end stays: halve towards it
                share = min(max(share, 0.1), 0.9) if abs(side) < 3 else 0.5
            middle = inner + share * (outer - inner)
        share = (middle - inner) / (outer - inner)
        at, found = fall(middle, theta + share * (outer_theta - theta))
        if at < root:
            inner, inner_fall, theta, side = middle, at, found, min(side, 0) - 1
        else:
            outer, outer_fall, outer_theta, side = middle, at, found, max(side, 0) + 1
        if abs(outer - inner) <= 1e-10 * (1.0 + abs(outer)):
            break
    nearer = abs(inner_fall - root) < abs(outer_fall - root)
    return inner if nearer or abs(outer - center) >= wall else outer


def _further(distance: float, fall: float, root: float) -> float:
    """The distance from the top to try after one at which the profile has not fallen enough."""
    grow = 2.0 if fall < 0.5 * root else 1.05 * root / fall
    return distance * min(grow, 2.0)


def _moved(theta: Array, top: Maximum, index: int, value: float) -> Array:
    """The other parameters carried on along the line from the top."""
    gone = theta[index] - top.theta[index]
    return np.asarray(top.theta + (theta - top.theta) * ((value - top.theta[index]) / gone))
