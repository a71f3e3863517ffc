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
from functools import cached_property
from typing import Any

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.cells import CellReports, Plain
from ldpstats.estimators.parametric import WIDTH, ascend
from ldpstats.estimators.regression import Maximum, Objective, maximise
from ldpstats.estimators.solvers import newton_root
from ldpstats.labels import Mask

_ROOT_ERROR = 1e-5  # of the signed root, that a limit may be off
_NARROW = 1e-8  # of a bracket, or the distance from a bound
_NEAREST = 1e-9  # to zero, where zero itself has no likelihood
_BETTER = 1e-6  # nats by which a restricted maximum may exceed the free one


def profile_intervals(
    law: Plain, reports: CellReports, top: Array, spread: Array, alpha: float
) -> Array:
    """Values in [0, 1] of each entry that the likelihood ratio does not reject, (k + m, 2).

    `top` is the maximum of the continued likelihood, `spread` are standard errors, where known,
    which say where limits are looked for first.
    """
    from scipy.special import log_ndtr, ndtri, ndtri_exp

    usual = float(-ndtri(alpha / 2.0))
    step = np.clip(np.where(spread > 1e-9, usual * spread, 0.1), 0.01, 0.5)
    higher = [top]  # points met, of which one may be

    def limit(j: int, inner: float, edge: float, root: float, near: Array) -> float:
        """Where the root of the fall of entry j, from `inner` on, is this; or the edge."""

        def steep(value: float) -> tuple[float, float]:
            central = len(met) < 3
            fall, slope, at = restricted(law, reports, top, j, value, met[-1], central)
            met.append(at)
            return root - fall, -slope

        met, ahead = [near], min(step[j], abs(edge - inner))
        first = inner + (ahead if edge > inner else -ahead)
        end = newton_root(steep, inner, edge, first, _ROOT_ERROR, _NARROW)
        higher.extend(met)
        return edge if abs(end - edge) < 2.0 * _NARROW else end

    limits = np.tile([0.0, 1.0], (law.size, 1))
    for j, center in enumerate(top.tolist()):
        inner, root, near = min(max(center, 0.0), 1.0), usual, top
        if inner != center:  # further where the whole interval lies outside [0, 1]
            fall, _, near = restricted(law, reports, top, j, inner, top)
            if fall > usual:
                root = float(-ndtri_exp(np.log(alpha / 2.0) + log_ndtr(-min(fall, 1e3))))
        if center > 0.0:  # else the bound on this side stays the limit
            limits[j, 0] = limit(j, inner, 0.0, root, near)
        if center < 1.0:
            limits[j, 1] = limit(j, inner, 1.0, root, near)
    values = [law.loglike(reports, x) for x in higher]
    best = int(np.argmax(values))
    if values[best] > values[0] + _BETTER:  # the profile met a larger maximum
        top, _ = ascend(law, reports, higher[best])
        if law.loglike(reports, top) > values[0] + _BETTER:
            return profile_intervals(law, reports, top, spread, alpha)
    return limits


def signed_roots(law: Plain, reports: CellReports, top: Array) -> Array:
    """Roots of the likelihood ratio of each entry being zero, (k + m,).

    Positive for values below the maximum `top`; standard normal under the null.
    """
    falls = []
    for j in range(law.size):
        # where zero rules out a report that nobody made, the likelihood is that near zero
        never = law.mix(reports, np.where(np.arange(law.size) == j, 0.0, law.centre)) < 1e-12
        value = _NEAREST if never.any() and not reports.n[never].any() else 0.0
        falls.append(restricted(law, reports, top, j, value, top)[0])
    return np.copysign(falls, top)


def restricted(
    law: Plain,
    reports: CellReports,
    top: Array,
    index: int,
    value: float,
    near: Array,
    central: bool = True,
) -> tuple[float, float, Array]:
    """The root of twice the fall where an entry has a value, its slope, and the maximum there.

    It is looked for from `near`, and from the centre if `central`, or where that is impossible.
    """
    k = law.k
    direction = np.where(np.arange(law.size) < k, -1.0 / (k - 1), 0.0) * (index < k)
    direction[index] = 1.0  # other frequencies share the difference evenly
    peak, best, slope, at = law.loglike(reports, top), -np.inf, np.nan, near
    for start in (near, law.centre):
        start = start + direction * (value - start[index])
        if np.abs(start - 0.5).max() < WIDTH + 0.5 and law.mix(reports, start).min() > 0.0:
            end, gradient = ascend(law, reports, start, index)
            if (there := law.loglike(reports, end)) > best:
                best, slope, at = there, float(gradient @ direction), end
            if not central:
                break
    fall = float(np.sqrt(max(0.0, 2.0 * (peak - best))))
    return fall, -slope / fall if fall > 0.0 else np.nan, at


# -- Profiles of likelihoods: the ratio at a value of a parameter, and the values near the top ----


_CLOSE = 5e-4  # of the signed root of a drop, that a limit may be off
_WIDEST = 1e4  # standard errors after which a limit is infinite
_MOST_ROUNDS = 60
_DECREMENT = 1e-6  # of restricted maxima
_CLOSER = 1e-9  # of those that a test rests on
_INSIDE = 1e-3  # distance from a bound at which climbs begin


@record
class Probed:
    """A value of a parameter, and the profile there."""

    value: float
    fall: float  # the root of twice the fall from the top: the absolute value of the signed root
    theta: Array  # (p,), the restricted maximum


@record
class Profile:
    """The profile of parameter `index` below the `top` of an objective.

    `units` are as for `maximise`; parameters that are `bounded`, (p,), stay in [0, 1]. Of another
    the interval lies between the `lowest` value and the `highest`.
    """

    objective: Objective
    top: Maximum
    index: int
    units: Array
    bounded: Mask
    lowest: float = -np.inf
    highest: float = np.inf

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
        ends = (0.0, 1.0) if self.bounded[self.index] else (self.lowest, self.highest)
        root = np.sqrt(2.0 * drop)
        return self._limit(root, -step, ends[0], tested), self._limit(root, step, ends[1], tested)

    def _limit(self, root: float, step: float, end: float, tested: Probed) -> float:
        """One limit, by regula falsi on the signed root of the drop, which is nearly linear."""
        top, center = self.top, float(self.top.theta[self.index])
        if center == end:
            return end
        inner = outer = Probed(center, 0.0, top.theta)
        wall: Probed | None = None  # where the limit is exceeded for certain
        if (tested.value - center) * step > 0.0:  # else on the other side
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
            if np.isinf(outer.fall) or outer.fall <= inner.fall:
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
_STEEP = 20  # steps after which a bracket is halved
_AWAY = 1e3  # times the estimate, to which no end of an interval is followed
_NEAR = 1e-3  # of the critical value, how exactly an interval ends where it is reached


@record
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
        for step in range(120):
            if abs(s) > _FAR if bounded else abs(s - middle) > _FAR_OFF * scale:
                break
            t = float(1.0 / (1.0 + np.exp(-s))) if bounded else s
            # along the way so far
            far = (s - middle) / (low[0] - middle) if low[0] != middle else 1.0
            begin = begun + (u - begun) * far
            u_t, drop = _constrained(top, g, turn, root, begin, t)
            if 2.0 * drop > 4.0 * (low[1] * far) ** 2 > 0.0:  # steeper than so far: stuck, perhaps
                again = _constrained(top, g, turn, root, u, t)
                u_t, drop = min((u_t, drop), again, key=lambda one: one[1])
            r = float(np.sqrt(max(0.0, 2.0 * drop)))
            if abs(r - z) <= _NEAR * z:
                found = t
                break
            if r < z:
                low, u = (s, r), u_t
            else:
                high = (s, r)
            if np.isfinite(high[0]):  # the root of a line, kept from the ends; else the middle
                if abs(high[0] - low[0]) < 1e-6 * scale:  # the fall jumps: between maxima
                    if s == high[0]:
                        found = t
                        break
                    s, high = high[0], (np.nan, np.inf)  # or does it so from afar alone?
                    continue
                share = 0.5
                if np.isfinite(high[1]) and step < _STEEP:
                    share = (z - low[1]) / (high[1] - low[1])
                s = low[0] + float(np.clip(share, 0.03, 0.97)) * (high[0] - low[0])
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
    if not bounded and not abs(t) < _AWAY * max(1.0, abs(float(np.real(g(top.theta))))):
        return -np.inf, np.inf  # ever flatter: what is added has no maximum
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
