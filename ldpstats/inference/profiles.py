"""Profile likelihoods: of frequencies and parameters of devices, of regressions, and with bounds.

The likelihood of frequencies is continued beyond [0, 1], as far as every report stays possible, so
that the ratio is chi-square also where the true value is at a bound; the interval is then cut. An
interval that lies wholly outside gets the limit v at which ``P(X <= x)`` is alpha/2 times what it
is at the bound, by the signed root of the ratio (`inference.intervals.edge_normal`). Limits are
found on the signed root of the fall, which is nearly linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric import climb, continued, wide_bounds
from ldpstats.estimators.regression import Maximum, Objective, maximise
from ldpstats.likelihood.parametric import ParametricLikelihood
from ldpstats.likelihood.predictors import ParametricRegression

__all__ = [
    "Probed",
    "bounded_profile",
    "drop_at",
    "profile_at",
    "profile_interval",
    "profile_intervals",
    "signed_roots",
]


Array = npt.NDArray[Any]

_ROOT_ERROR = 1e-5  # of the signed root, that a limit may be off
_ROUNDS = 40
_NARROW = 1e-8  # of a bracket, or the distance from a bound
_BETTER = 1e-6  # nats by which a restricted maximum may exceed the free one


def profile_intervals(
    likelihood: ParametricLikelihood,
    top: Array,
    spread: Array,
    alpha: float,
    index: npt.ArrayLike,
) -> Array:
    """Values in [0, 1] of entries `index`, (q,), that the likelihood ratio does not reject, (q, 2).

    `spread` are standard errors, where known, which say where limits are looked for first.
    """
    for _ in range(5):
        limits, better = _limits(likelihood, top, spread, alpha, np.asarray(index))
        if better is None:
            break
        top = continued(likelihood, better)[0]  # the profile met a larger maximum
    return limits.reshape(2, -1).T


def signed_roots(
    likelihood: ParametricLikelihood, top: Array, index: npt.ArrayLike, values: npt.ArrayLike
) -> Array:
    """Roots of the likelihood ratio of entries `index` that are these `values`, both (q,).

    Positive for values below the maximum `top`; standard normal under the null.
    """
    place, at = np.asarray(index), np.asarray(values, dtype=np.float64)
    peak = float(likelihood.loglike(top))
    fall = _falls(likelihood, peak, at, np.tile(top, (place.size, 1)), place)[0]
    return np.asarray(np.copysign(fall, top[place] - at))


def _limits(
    likelihood: ParametricLikelihood, top: Array, spread: Array, alpha: float, index: Array
) -> tuple[Array, Array | None]:
    """Lower limits, then upper ones, (2 q,); and a point better than the top, where one was met."""
    from scipy.special import log_ndtr, ndtri, ndtri_exp

    usual = float(-ndtri(alpha / 2.0))
    step = np.where(np.isfinite(spread) & (spread > 1e-9), usual * spread, 0.1)[index]
    step = np.tile(np.clip(step, 0.01, 0.5), 2)
    place, side = np.tile(index, 2), np.repeat([-1.0, 1.0], index.size)
    peak, center = float(likelihood.loglike(top)), top[place]
    edge = (side + 1.0) / 2.0
    limits = edge.copy()
    beyond = (side * (center - edge)) >= 0.0  # the bound on this side stays the limit
    inner = np.clip(center, 0.0, 1.0)
    fall, at, better = _falls(likelihood, peak, inner, np.tile(top, (len(inner), 1)), place)
    if better is not None:
        return limits, better
    # signed roots of the limits: further where the whole interval lies outside [0, 1]
    further = -ndtri_exp(np.log(alpha / 2.0) + log_ndtr(-np.minimum(fall, 1e3)))
    root = np.where((center != inner) & (fall > usual), further, usual)
    rows = np.flatnonzero(~beyond)
    ends = inner[rows], fall[rows], at[rows]
    where = place[rows], side[rows], root[rows], step[rows]
    limits[rows], better = _outwards(likelihood, peak, *ends, *where)
    return limits, better


def _outwards(
    likelihood: ParametricLikelihood,
    peak: float,
    inner: Array,
    fall: Array,
    at: Array,
    place: Array,
    side: Array,
    root: Array,
    step: Array,
) -> tuple[Array, Array | None]:
    """Where falls from the points `inner` towards the bounds reach `root`, all of shape (B,)."""
    edge = (side + 1.0) / 2.0
    outer = inner + side * np.minimum(step, np.abs(edge - inner))
    outer_fall, limits = np.full(len(inner), np.nan), np.full(len(inner), np.nan)
    bracketed = np.zeros(len(inner), dtype=bool)
    for turn in range(_ROUNDS):
        todo = np.flatnonzero(np.isnan(limits))
        if not todo.size:
            break
        # where a line between the ends has the root, or half way
        gap = np.where(np.isfinite(outer_fall), outer_fall, np.inf) - fall
        straight = np.isfinite(gap) & (gap > 0.0) & (turn % 3 != 2)
        share = np.where(straight, (root - fall) / np.where(straight, gap, 1.0), 0.5)
        between = inner + np.clip(share, 0.02, 0.98) * (outer - inner)
        tried = np.where(bracketed, between, outer)[todo]
        value, point, better = _falls(likelihood, peak, tried, at[todo], place[todo], turn < 2)
        if better is not None:
            return edge, better
        below = value < root[todo]
        at_edge = below & (tried == edge[todo])
        limits[todo[at_edge]] = edge[todo[at_edge]]
        done = np.abs(value - root[todo]) < _ROOT_ERROR
        limits[todo[done & ~at_edge]] = tried[done & ~at_edge]
        up, out = todo[below], todo[~below]
        inner[up], fall[up], at[up] = tried[below], value[below], point[below]
        outer[out], outer_fall[out], bracketed[out] = tried[~below], value[~below], True
        grow = up[~bracketed[up]]
        step[grow] *= 3.0
        outer[grow] = inner[grow] + side[grow] * np.minimum(
            step[grow], np.abs(edge[grow] - inner[grow])
        )
        shut = np.isnan(limits) & bracketed & (np.abs(outer - inner) < _NARROW)
        limits[shut] = inner[shut]
    limits = np.where(np.isnan(limits), outer, limits)
    return np.where(np.abs(limits - edge) < 2.0 * _NARROW, edge, limits), None


def _falls(
    likelihood: ParametricLikelihood,
    peak: float,
    values: Array,
    near: Array,
    place: Array,
    central: bool = True,
) -> tuple[Array, Array, Array | None]:
    """Roots of twice the fall from `peak` where entries have these values, and restricted maxima.

    They are looked for from points `near`, and from the centre if `central`.
    """
    k, m = likelihood.k, likelihood.m
    lower, upper = wide_bounds(k, m)
    fixed = np.zeros((len(values), k + m), dtype=bool)
    fixed[np.arange(len(values)), place] = True
    centre = np.r_[np.full(k, 1.0 / k), np.full(m, 0.5)]
    first = np.array([_beside(x, j, v, k) for x, j, v in zip(near, place, values, strict=True)])
    second = np.array([_beside(centre, j, v, k) for j, v in zip(place, values, strict=True)])
    best, at = np.full(len(values), -np.inf), second.copy()
    for start in (first, second) if central else (first,):
        good = np.array([all(np.all(law > 0.0) for law in likelihood.laws(x)) for x in start])
        good &= np.all((start > lower) & (start < upper), axis=1)
        if not good.any():
            continue
        end = climb(likelihood, start[good], lower, upper, fixed[good], barrier=1e-5).x
        reached = np.full(len(values), -np.inf)
        reached[good] = likelihood.loglike(end)
        places = np.flatnonzero(good)
        gain = reached[places] > best[places]
        at[places[gain]] = end[gain]
        best = np.maximum(best, reached)
    better = at[int(np.argmax(best))] if best.max() > peak + _BETTER else None
    return np.sqrt(np.maximum(0.0, 2.0 * (peak - best))), at, better


def _beside(x: Array, index: int, value: float, k: int) -> Array:
    """A point with one entry at a value; other frequencies share the difference evenly."""
    moved = x.copy()
    if index < k:
        moved[:k] += (x[index] - value) / (k - 1)
    moved[index] = value
    return moved


# -- Profiles of likelihoods: the ratio at a value of a parameter, and the values near the top ----


_CLOSE = 5e-4  # of the signed root of a drop, that a limit may be off
_WIDEST = 1e4  # standard errors after which a limit is infinite
_MOST_ROUNDS = 60
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
    """The profile at a value of parameter `index`: the highest maximum met from several starts.

    The first start follows the curvature of the top; `others` and `units` are as for `maximise`.
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
    """Values of parameter `index` at which the profile lies at most `drop` below its top.

    What was tested lies between the limits if and only if its fall is at most `drop`.
    """
    free = np.ones(top.theta.shape, dtype=bool)
    free[index] = False
    root = np.sqrt(2.0 * drop)
    along = _direction(top.hessian, index, free)
    lower, upper = (
        _limit(objective, top, index, free, root, sign * step, along, units, tested)
        for sign in (-1.0, 1.0)
    )
    return lower, upper


def _direction(hessian: Array, index: int, free: npt.NDArray[np.bool_]) -> Array:
    """How the other parameters follow one of them, as far as the objective is quadratic."""
    direction = np.zeros(len(hessian))
    direction[index] = 1.0
    inner = hessian[np.ix_(free, free)]
    scale = np.sqrt(np.abs(np.diagonal(inner)))
    scale = np.where(scale > 0.0, scale, 1.0)
    right = -hessian[free, index] / scale
    follow = np.linalg.lstsq(inner / np.outer(scale, scale), right, rcond=1e-8)[0]
    direction[free] = follow / scale
    return direction


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
        end = maximise(
            objective.evaluate, objective.value, start, free, tolerance=_DECREMENT, units=units
        )
        return float(np.sqrt(max(0.0, 2.0 * (top.value - end.value)))), end.theta

    inner, inner_fall, theta = center, 0.0, top.theta
    outer, outer_fall, outer_theta = center + step, np.nan, theta
    wall = np.inf  # distance at which the limit is exceeded for certain
    if tested is not None and tested.fall > root:
        wall = abs(tested.value - center)
    elif tested is not None:
        inner, inner_fall, theta = tested.value, tested.fall, tested.theta
        outer = center + _further(inner - center, inner_fall, root)
        outer = outer if abs(outer - center) > abs(step) else center + step
    for _ in range(_MOST_ROUNDS):  # outwards, until the drop is reached
        if abs(outer - center) >= wall:
            assert tested is not None
            outer, outer_fall, outer_theta = tested.value, tested.fall, tested.theta
            break
        ahead = top.theta + along * (outer - center)
        if abs(theta[index] - center) > 0.1 * abs(step):
            gone = theta[index] - center  # the others are carried on along the line from the top
            ahead = np.asarray(top.theta + (theta - top.theta) * ((outer - center) / gone))
        outer_fall, outer_theta = fall(outer, ahead)
        if outer_fall > root - _CLOSE:
            break
        inner, inner_fall, theta = outer, outer_fall, outer_theta
        outer = center + _further(outer - center, inner_fall, root)
        if abs(outer - center) > _WIDEST * abs(step):
            return float(np.copysign(np.inf, step))
    side = 0
    for _ in range(_MOST_ROUNDS):
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
        at, end = fall(middle, theta + share * (outer_theta - theta))
        if at < root:
            inner, inner_fall, theta, side = middle, at, end, min(side, 0) - 1
        else:
            outer, outer_fall, outer_theta, side = middle, at, end, max(side, 0) + 1
        if abs(outer - inner) <= 1e-10 * (1.0 + abs(outer)):
            break
    nearer = abs(inner_fall - root) < abs(outer_fall - root)
    return inner if nearer or abs(outer - center) >= wall else outer


def _further(distance: float, fall: float, root: float) -> float:
    """The distance from the top to try after one at which the profile has not fallen enough."""
    grow = 2.0 if fall < 0.5 * root else 1.05 * root / fall
    return distance * min(grow, 2.0)


# -- Profiles of likelihoods of which some parameters are bounded ---------------------------------


_FARTHEST = 200.0  # standard errors beyond which a limit is infinite
_DROP_ERROR = 1e-4  # of the drop in log-likelihood


def drop_at(
    likelihood: ParametricRegression,
    top: Maximum,
    units: Array,
    index: int,
    value: float,
) -> float:
    """Fall of the profile log-likelihood from its top where a parameter has this value."""
    return _profile(likelihood, top, units, index, value, top.theta)[0]


def bounded_profile(
    likelihood: ParametricRegression,
    top: Maximum,
    units: Array,
    index: int,
    drop: float,
    step: float,
    at_zero: float | None = None,
) -> tuple[float, float]:
    """Values of parameter `index` at which the profile lies at most `drop` below its top.

    Zero lies between the limits if and only if its fall, `at_zero`, is at most `drop`.
    """
    low, high = (0.0, 1.0) if index >= likelihood.p else (-np.inf, np.inf)
    lower, upper = (
        _bounded_limit(likelihood, top, units, index, drop, sign * step, end, at_zero)
        for sign, end in ((-1.0, low), (1.0, high))
    )
    return lower, upper


def _profile(
    likelihood: ParametricRegression,
    top: Maximum,
    units: Array,
    index: int,
    value: float,
    near: Array,
) -> tuple[float, Array]:
    """The fall at a value, and where it is met; the better of two starts."""
    fixed = np.arange(top.theta.size) == index
    if not top.held[index]:  # coefficients at infinity stay there, where all is flat
        fixed |= top.held & (np.arange(top.theta.size) < likelihood.p)
    best, at, along = np.inf, near, _bounded_direction(top, units, index)
    for begun in (near, top.theta):
        start = begun + (value - begun[index]) * along
        start[index] = value
        inside = slice(likelihood.p, None)
        free = ~fixed[inside]
        start[inside] = np.where(free, np.clip(start[inside], 1e-3, 1.0 - 1e-3), start[inside])
        if not np.isfinite(likelihood.value(start)):
            continue
        bounded = np.arange(start.size) >= likelihood.p
        how: dict[str, Any] = {"tolerance": _CLOSER, "units": units, "bounded": bounded}
        met = maximise(likelihood.evaluate, likelihood.value, start, ~fixed, **how)
        if top.value - met.value < best:
            best, at = top.value - met.value, met.theta
    return max(best, 0.0), at


def _bounded_direction(top: Maximum, units: Array, index: int) -> Array:
    """How the other parameters follow one at the top of the likelihood, by its curvature."""
    direction = np.zeros(top.theta.shape)
    direction[index] = 1.0
    rest = ~top.held
    rest[index] = False
    if not rest.any():
        return direction
    basis = units[np.ix_(rest, rest)]
    curved = -basis.T @ top.hessian[np.ix_(rest, rest)] @ basis
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(curved)), 1e-300))
    pull = basis.T @ top.hessian[rest, index] / scale
    move = np.linalg.lstsq(curved / np.outer(scale, scale), pull, rcond=1e-10)[0] / scale
    if np.isfinite(move).all():
        direction[rest] = basis @ move
    return direction


def _bounded_limit(
    likelihood: ParametricRegression,
    top: Maximum,
    units: Array,
    index: int,
    drop: float,
    step: float,
    end: float,
    at_zero: float | None,
) -> float:
    """One limit, by bisection and regula falsi on the root of the fall, which is nearly linear."""
    center = float(top.theta[index])
    if center == end:
        return end
    inner, inner_fall, near = center, 0.0, top.theta
    outer, rejected = center + step, False
    if at_zero is not None and center * step < 0.0:  # zero lies on this side
        rejected = at_zero > drop
        if not rejected:
            inner, inner_fall = 0.0, at_zero
            outer = min(outer, step / 10.0) if step < 0.0 else max(outer, step / 10.0)
    for _ in range(_MOST_ROUNDS):  # outwards, until the drop is reached
        outer = max(outer, end) if step < 0.0 else min(outer, end)
        if rejected and outer * step >= 0.0:
            assert at_zero is not None
            outer, fall = 0.0, at_zero
            break
        fall, point = _profile(likelihood, top, units, index, outer, near)
        if fall > drop:
            break
        if outer == end:
            return end
        inner, inner_fall, near = outer, fall, point
        outer = center + 1.6 * (outer - center)
        if abs(outer - center) > _FARTHEST * abs(step):
            return end
    root, outer_fall = np.sqrt(drop), fall
    for i in range(_MOST_ROUNDS):
        if abs(outer - inner) <= 1e-9 * (1.0 + abs(outer)):
            break
        a, b = np.sqrt(inner_fall), np.sqrt(outer_fall)
        share = (root - a) / (b - a) if np.isfinite(b) and i % 3 < 2 else 0.5
        middle = inner + min(max(share, 0.05), 0.95) * (outer - inner)
        fall, point = _profile(likelihood, top, units, index, middle, near)
        if abs(fall - drop) < _DROP_ERROR:
            return float(middle)
        if fall < drop:
            inner, inner_fall, near = middle, fall, point
        else:
            outer, outer_fall = middle, fall
    return float(inner)
