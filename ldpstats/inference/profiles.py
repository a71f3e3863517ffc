"""Profile likelihoods: of frequencies and parameters of devices, of regressions, and with bounds.

The likelihood of frequencies is continued beyond [0, 1], as far as every report stays possible, so
that the ratio is chi-square also where the true value is at a bound; the interval is then cut. An
interval that lies wholly outside gets the limit v at which ``P(X <= x)`` is alpha/2 times what it
is at the bound, by the signed root of the ratio (`inference.intervals.edge_normal`). Limits are
found on the signed root of the fall, which is nearly linear.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric import climb, continued, wide_bounds
from ldpstats.estimators.regression import Maximum, Objective, maximise
from ldpstats.likelihood.parametric import ParametricLikelihood

__all__ = [
    "Bounds",
    "Probed",
    "Profile",
    "Surface",
    "function_interval",
    "profile_intervals",
    "signed_roots",
    "slopes_of",
]


Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

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
_INSIDE = 1e-3  # distance from a bound at which climbs begin


@dataclass(frozen=True, eq=False)
class Probed:
    """A value of a parameter, and the profile there."""

    value: float
    fall: float  # the root of twice the fall from the top: the absolute value of the signed root
    theta: Array  # (p,), the restricted maximum


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of parameter `index` below the `top` of an objective.

    `units` are as for `maximise`; parameters that are `bounded`, (p,), stay in [0, 1].
    """

    objective: Objective
    top: Maximum
    index: int
    units: Array
    bounded: Mask

    @cached_property
    def free(self) -> Mask:
        """What is maximised over."""
        free: Mask = np.arange(self.bounded.size) != self.index
        if not self.top.held[self.index]:  # coefficients at infinity stay there, where all is flat
            free &= self.bounded | ~self.top.held
        return free

    @cached_property
    def along(self) -> Array:
        """How the other parameters follow this one, as far as the objective is quadratic."""
        direction, hessian = np.zeros(self.bounded.size), self.top.hessian
        direction[self.index] = 1.0
        free = self.free & ~self.top.held
        inner = hessian[np.ix_(free, free)]
        scale = np.sqrt(np.abs(np.diagonal(inner)))
        scale = np.where(scale > 0.0, scale, 1.0)
        right = -hessian[free, self.index] / scale
        follow = np.linalg.lstsq(inner / np.outer(scale, scale), right, rcond=1e-8)[0]
        direction[free] = follow / scale
        return direction

    def line(self, value: float) -> Array:
        """The point on the line from the top where the parameter has a value."""
        ahead: Array = self.top.theta + self.along * (value - self.top.theta[self.index])
        return ahead

    def at(self, value: float, starts: Sequence[Array], tolerance: float = _CLOSER) -> Probed:
        """The profile at a value: the highest maximum met from several starts."""
        best, fall = self.top.theta, np.inf
        if self.bounded.any():
            starts = [*starts, self.line(value)]
        for start in (*starts, None):
            if start is None and np.isfinite(fall):
                break
            first, inside = np.array(best if start is None else start), self.bounded & self.free
            first[self.index] = value
            first[inside] = np.clip(first[inside], _INSIDE, 1.0 - _INSIDE)
            if not np.isfinite(self.objective.value(first)):
                continue
            how = self.free, 100, tolerance, None, self.units, self.bounded
            end = maximise(self.objective, first, *how)
            if (lost := 2.0 * (self.top.value - end.value)) < fall:
                best, fall = end.theta, lost
        return Probed(value, float(np.sqrt(max(0.0, fall))), best)

    def interval(self, drop: float, step: float, tested: Probed) -> tuple[float, float]:
        """Values at which the profile lies at most `drop` below its top.

        What was tested lies between the limits if and only if its fall is at most `drop`.
        """
        ends = (0.0, 1.0) if self.bounded[self.index] else (-np.inf, np.inf)
        root = np.sqrt(2.0 * drop)
        return self._limit(root, -step, ends[0], tested), self._limit(root, step, ends[1], tested)

    def _limit(self, root: float, step: float, end: float, tested: Probed | None) -> float:
        """One limit, by regula falsi on the signed root of the drop, which is nearly linear."""
        top, center = self.top, float(self.top.theta[self.index])
        if center == end:
            return end
        inner = outer = Probed(center, 0.0, top.theta)
        wall: Probed | None = None  # where the limit is exceeded for certain
        if tested is not None and (tested.value - center) * step > 0.0:  # else on the other side
            if tested.fall > root:
                wall = tested
            else:
                inner = tested
        for _ in range(_MOST_ROUNDS):  # outwards, until the drop is reached
            reach = inner.value - center
            # of a fall that is nearly enough, a little more than its line needs
            grow = 2.0 if inner.fall < 0.5 * root else min(1.05 * root / inner.fall, 2.0)
            reach = reach * grow if abs(reach * grow) > abs(step) else step
            if abs(reach) > _WIDEST * abs(step):
                return end
            if wall is not None and abs(reach) >= abs(wall.value - center):
                outer = wall
                break
            value = center + reach
            value = max(value, end) if step < 0.0 else min(value, end)
            ahead, gone = self.line(value), inner.value - center
            if abs(gone) > 0.1 * abs(step):
                # the others are carried on along the line from the top
                ahead = top.theta + (inner.theta - top.theta) * ((value - center) / gone)
            outer = self.at(value, [ahead], _DECREMENT)
            if outer.fall > root - _CLOSE:
                break
            if value == end:
                return end
            inner = outer
        side = 0
        for _ in range(_MOST_ROUNDS):
            # a wall is rejected, and so never the limit
            near = abs(outer.fall - root) < _CLOSE and outer is not wall
            if abs(inner.fall - root) < _CLOSE or near:
                break
            if np.isinf(outer.fall):
                middle = (inner.value + outer.value) / 2.0
            else:
                share = (root - inner.fall) / (outer.fall - inner.fall)
                if side > 1 or side < -1:  # one end stays: halve towards it
                    share = min(max(share, 0.1), 0.9) if abs(side) < 3 else 0.5
                middle = inner.value + share * (outer.value - inner.value)
            share = (middle - inner.value) / (outer.value - inner.value)
            start = inner.theta + share * (outer.theta - inner.theta)
            found = self.at(middle, [start], _DECREMENT)
            if found.fall < root:
                inner, side = found, min(side, 0) - 1
            else:
                outer, side = found, max(side, 0) + 1
            if abs(outer.value - inner.value) <= 1e-10 * (1.0 + abs(outer.value)):
                break
        nearer = abs(inner.fall - root) < abs(outer.fall - root)
        return inner.value if nearer or outer is wall else outer.value


# -- Any function of the parameters of a likelihood ------------------------------------------------


Bounds = tuple[float, float]

_EDGE = 1e-6  # from a probability to a bound that it is on
_FAR = 16.0  # log odds that are as good as infinite
_FAR_OFF = 1e4  # standard errors that are
_NEAR = 1e-3  # of the critical value, how exactly an interval ends where it is reached


@dataclass(frozen=True, eq=False)
class Surface:
    """A log-likelihood near its maximum theta, (d,), with the inverse of the information there."""

    theta: Array
    llf: float
    inverse: Array
    nobs: int
    evaluate: Callable[[Array], tuple[float, Array]]  # the value and its slopes
    climb: Callable[[Array, Callable[[Array], tuple[float, Array]]], Array]  # with something added
    inside: Array  # near theta, where no probability is zero: what is zero can rise from there


def function_interval(
    top: Surface,
    g: Callable[[Array], Any],
    turn: Callable[[Array], Array],
    z: float,
    bounded: bool,
    infinite: bool = False,
) -> Bounds:
    """All values t of g for which the signed root of ``2 (llf - max over g = t)`` is below z.

    `turn` has the derivatives of g, (1, d). Values of a `bounded` g are probabilities; towards one
    end of an `infinite` one the likelihood never falls. The maximum under g = t is found in
    coordinates in which the information is the identity.
    """
    value, slope = float(np.real(g(top.theta))), turn(top.theta)
    if bounded and not _EDGE < value < 1.0 - _EDGE:
        return _from_edge(top, g, turn, value < 0.5, z, True)
    if infinite:
        return _from_edge(top, g, turn, value < 0.0, z, False)
    size, axes = np.linalg.eigh((top.inverse + top.inverse.T) / 2.0)
    known = size > 1e-12 * size.max(initial=0.0)
    root = np.column_stack([axes[:, known] * np.sqrt(size[known]), axes[:, ~known]])
    se = float(np.linalg.norm(slope[0] @ root[:, : known.sum()]))
    middle, scale = value, max(se, 1e-12)
    if bounded:
        middle = float(np.log(value / (1.0 - value)))
        scale = max(se, 1.0 / top.nobs) / (value * (1.0 - value))
    begun = np.linalg.lstsq(root, top.inside - top.theta, rcond=None)[0]
    ends = []
    for sign in (-1.0, 1.0):
        low, high = (middle, 0.0), (np.nan, np.inf)
        s, found = middle + sign * z * min(scale, 4.0), sign * np.inf
        found = float(sign > 0.0) if bounded else found
        u = begun
        for _ in range(60):
            if abs(s) > _FAR if bounded else abs(s - middle) > _FAR_OFF * scale:
                break
            t = float(1.0 / (1.0 + np.exp(-s))) if bounded else s
            # along the way so far
            far = (s - middle) / (low[0] - middle) if low[0] != middle else 1.0
            begin = begun + (u - begun) * far
            u_t, drop = _constrained(top, g, turn, root, begin, t)
            r = float(np.sqrt(max(0.0, 2.0 * drop)))
            if abs(r - z) <= _NEAR * z:
                found = t
                break
            if r < z:
                low, u = (s, r), u_t
            else:
                high = (s, r)
            if np.isfinite(high[0]):  # the root of a line, kept from the ends; else the middle
                share = (z - low[1]) / (high[1] - low[1]) if np.isfinite(high[1]) else 0.5
                s = low[0] + float(np.clip(share, 0.03, 0.97)) * (high[0] - low[0])
                if abs(high[0] - low[0]) < 1e-6 * scale:  # the fall jumps: between maxima
                    found = t
                    break
            else:
                more = float(np.clip(z / max(r, 0.3 * z) - 1.0, 0.01, 2.0))
                s = low[0] + (low[0] - middle) * more
        ends.append(found)
    return min(ends), max(ends)


def _from_edge(top: Surface, g: Any, turn: Any, below: bool, z: float, bounded: bool) -> Bounds:
    """The set of a probability whose estimate is zero (`below`), or one; or of an infinite g.

    The maximum of the likelihood plus c log g, or c g, is one under g = t for some t; the c is
    found at which the likelihood has fallen by z**2 / 2, to which it is near.
    """
    sign = 1.0 if below else -1.0
    theta, c, ends = np.clip(top.theta, -9.0, 9.0), z**2 / 2.0, (0.0, 0.0)
    low, high = 0.0, np.inf
    for _ in range(30):

        def tilt(point: Array, c: float = c) -> tuple[float, Array]:
            value = float(np.real(g(point)))
            if not bounded:
                return sign * c * value, sign * c * turn(point)[0]
            value = max(value if below else 1.0 - value, 1e-300)
            return c * float(np.log(value)), sign * c * turn(point)[0] / value

        theta = top.climb(theta, tilt)
        t, drop = float(np.real(g(theta))), top.llf - top.evaluate(theta)[0]
        ends = (0.0 if bounded else -np.inf, t) if below else (t, 1.0 if bounded else np.inf)
        fall = 2.0 * max(drop, 1e-12) / z**2
        if abs(fall - 1.0) < 2.0 * _NEAR:
            break
        low, high = (c, high) if fall < 1.0 else (low, c)
        c = c / fall if low < c / fall < high else (low + min(high, 4.0 * c)) / 2.0
    return ends


def _constrained(
    top: Surface, g: Any, turn: Any, root: Array, u: Array, t: float
) -> tuple[Array, float]:
    """The best u with ``g(theta + root u) = t``, and how far the likelihood falls."""
    from scipy.optimize import minimize

    def fall(u: Array) -> tuple[float, Array]:
        value, slope = top.evaluate(top.theta + root @ u)
        return (top.llf - value, -(root.T @ slope)) if np.isfinite(value) else (1e10, u)

    rule: dict[str, Any] = {
        "type": "eq",
        "fun": lambda u: float(np.real(g(top.theta + root @ u))) - t,
        "jac": lambda u: root.T @ turn(top.theta + root @ u)[0],
    }
    slope = root.T @ turn(top.theta)[0]
    along = slope * (t - float(np.real(g(top.theta)))) / max(float(slope @ slope), 1e-300)
    best = u, np.inf
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        how = {"ftol": 1e-7, "maxiter": 200}
        for start in (u, along, u / 2.0):  # others only where the search gets stuck
            found = minimize(fall, start, jac=True, method="SLSQP", constraints=[rule], options=how)
            holds = abs(rule["fun"](found.x)) < 1e-6 * max(1.0, abs(t))
            if holds and found.fun < best[1]:
                best = found.x, float(found.fun)
            if holds and found.success:
                break
    return best


def slopes_of(f: Callable[[Array], Any], theta: Array, many: bool = False) -> Array:
    """Derivatives of f, (m, d), by complex steps; by differences where f drops them.

    `many`: f takes points (..., d) at once.
    """
    if many and theta.size:
        values = np.asarray(f(theta + 1e-30j * np.eye(theta.size)))
        return np.atleast_2d(values.imag.T / 1e-30)
    h = 1e-6 * np.maximum(1.0, np.abs(theta))
    moves = h * np.eye(theta.size)
    steps, columns = [1j * 1e-24 * step for step in moves], []
    for step in steps:
        columns.append(np.atleast_1d(np.asarray(f(theta + step))))
    along = h * np.cos(1.0 + np.arange(theta.size))  # any direction: what it says tells of abs()
    ahead, behind = (np.atleast_1d(np.real(f(theta + s * along))) for s in (1.0, -1.0))
    if not columns:
        return np.zeros((ahead.size, 0))
    expected = (ahead - behind) / 2.0
    if all(map(np.iscomplexobj, columns)):
        found = np.stack(columns, axis=1).imag / (1e-24 * h)
        error, size = np.abs(found @ along - expected), np.abs(found) @ np.abs(along)
        if (error <= 1e-3 * np.abs(expected) + 1e-9 * size + 1e-13).all():
            return found
    each = []
    for step in moves:
        up, down = (np.atleast_1d(np.real(f(theta + s * step))) for s in (1.0, -1.0))
        each.append((up - down) / (2.0 * step.sum()))
    return np.stack(each, axis=1)
