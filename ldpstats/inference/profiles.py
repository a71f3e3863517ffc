"""Profile-likelihood intervals of frequencies and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric import climb, continued, wide_bounds
from ldpstats.estimators.regression import (
    BoundedMaximum,
    Maximum,
    Objective,
    maximise,
    maximise_bounded,
)
from ldpstats.likelihood.parametric import ParametricLikelihood
from ldpstats.likelihood.predictors import ParametricRegression

__all__ = [
    "Probed",
    "bounded_profile",
    "drop_at",
    "likelihood_ratio",
    "profile_at",
    "profile_interval",
    "profile_intervals",
    "signed_roots",
]


Array = npt.NDArray[Any]

_CLOSE = 1e-5  # of the signed root, that a limit may be off
_ROUNDS = 40
_NARROW = 1e-8  # of a bracket, or the distance from a bound
_BETTER = 1e-6  # nats by which a restricted maximum may exceed the free one


def likelihood_ratio(
    likelihood: ParametricLikelihood, top: Array, index: int, value: float
) -> Array:
    """Twice the fall of the continued likelihood where entry `index` is `value`.

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Counts of shape (R, l_g) for R surveys.
    top : array, shape (R, k + m)
        The maximum of each (`continued`), which need not be exact.
    index : int
        Of the frequency or parameter.
    value : float
        What it is under the null.

    Returns
    -------
    array, shape (R,)
        Chi-square with one degree of freedom under the null.

    Examples
    --------
    >>> from ldpstats.likelihood.parametric import PolynomialMatrix
    >>> warner = PolynomialMatrix.constant(np.array([[.75, .25], [.25, .75]]), m=0)
    >>> survey = ParametricLikelihood((warner,), (np.array([[60., 40.]]),))
    >>> likelihood_ratio(survey, np.array([[.7, .3]]), 1, 0.5).round(4)
    array([4.0271])
    """
    lower, upper = wide_bounds(likelihood.k, likelihood.m)
    free = climb(likelihood, top, lower, upper, barrier=1e-8).x
    held = np.zeros(top.shape, dtype=bool)
    held[:, index] = True
    start = np.array([_beside(x, index, value, likelihood.k) for x in top])
    bound = climb(likelihood, start, lower, upper, held, barrier=1e-8).x
    return np.asarray(2.0 * (likelihood.loglike(free) - likelihood.loglike(bound)))


def profile_intervals(
    likelihood: ParametricLikelihood,
    top: Array,
    spread: Array,
    alpha: float,
    index: npt.ArrayLike,
) -> Array:
    """Values in [0, 1] that the likelihood ratio does not reject.

    The likelihood is continued beyond [0, 1], as far as every report stays possible, so that the
    ratio is chi-square also where the true value is at a bound; the interval is then cut. An
    interval that lies wholly outside gets the limit v at which ``P(X <= x)`` is alpha/2 times what
    it is at the bound, by the signed root of the ratio (`inference.edges.edge_normal`).

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Of one survey.
    top : array, shape (k + m,)
        Maximum of the continued likelihood.
    spread : array, shape (k + m,)
        Standard errors, where known: they say where limits are looked for first.
    alpha : float
    index : array of int, shape (q,)
        The frequencies and parameters.

    Returns
    -------
    array, shape (q, 2)
    """
    for _ in range(5):
        search = _Search.of(likelihood, top, spread, alpha, np.asarray(index))
        limits, better = search.limits()
        if better is None:
            return limits.reshape(2, -1).T
        top = continued(likelihood, better)[0]  # the profile met a larger maximum
    return limits.reshape(2, -1).T


def signed_roots(
    likelihood: ParametricLikelihood, top: Array, index: npt.ArrayLike, values: npt.ArrayLike
) -> Array:
    """Roots of the likelihood ratio of entries that are these values, positive for values below.

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Of one survey.
    top : array, shape (k + m,)
        Maximum of the continued likelihood.
    index : array of int, shape (q,)
        The frequencies and parameters.
    values : array, shape (q,)

    Returns
    -------
    array, shape (q,)
        Standard normal under the null.
    """
    place, at = np.asarray(index), np.asarray(values, dtype=np.float64)
    search = _Search.of(likelihood, top, np.full(top.size, np.nan), 0.05, place)
    fall = search.falls(at, np.tile(top, (place.size, 1)), place)[0]
    return np.asarray(np.copysign(fall, top[place] - at))


@dataclass(frozen=True, eq=False)
class _Search:
    """Limits that are looked for together: lower ones of all entries, then upper ones."""

    likelihood: ParametricLikelihood
    top: Array
    value: float
    place: npt.NDArray[np.int64]  # (B,)
    side: Array  # (B,): -1 or 1
    step: Array  # (B,)
    root: Array  # (B,): how far the signed root goes
    alpha: float

    @classmethod
    def of(
        cls,
        likelihood: ParametricLikelihood,
        top: Array,
        spread: Array,
        alpha: float,
        index: npt.NDArray[np.int64],
    ) -> _Search:
        from scipy.special import ndtri

        root = float(-ndtri(alpha / 2.0))
        step = np.where(np.isfinite(spread) & (spread > 1e-9), root * spread, 0.1)[index]
        return cls(
            likelihood,
            top,
            float(likelihood.loglike(top)),
            np.tile(index, 2),
            np.repeat([-1.0, 1.0], index.size),
            np.tile(np.clip(step, 0.01, 0.5), 2),
            np.full(2 * index.size, root),
            alpha,
        )

    def limits(self) -> tuple[Array, Array | None]:
        """The limits, (B,), and a point where the likelihood is larger than at the top, or None."""
        center = self.top[self.place]
        edge = (self.side + 1.0) / 2.0
        limits = edge.copy()
        beyond = (self.side * (center - edge)) >= 0.0  # the bound on this side stays the limit
        inner = np.clip(center, 0.0, 1.0)
        fall, at, better = self.falls(inner, np.tile(self.top, (len(inner), 1)), self.place)
        if better is not None:
            return limits, better
        search = replace(self, root=self._targets(center, inner, fall))
        open_ = np.flatnonzero(~beyond)
        limits[open_], better = search._outwards(open_, inner[open_], fall[open_], at[open_])
        return limits, better

    def _targets(self, center: Array, inner: Array, fall: Array) -> Array:
        """Signed roots of the limits; further where the whole interval lies outside [0, 1]."""
        from scipy.special import log_ndtr, ndtri_exp

        further = -ndtri_exp(np.log(self.alpha / 2.0) + log_ndtr(-np.minimum(fall, 1e3)))
        return np.where((center != inner) & (fall > self.root), further, self.root)

    def _outwards(
        self, rows: Array, inner: Array, fall: Array, at: Array
    ) -> tuple[Array, Array | None]:
        """Limits between points inside and the bounds."""
        edge, side = (self.side[rows] + 1.0) / 2.0, self.side[rows]
        root, place, step = self.root[rows], self.place[rows], self.step[rows].copy()
        outer = inner + side * np.minimum(step, np.abs(edge - inner))
        outer_fall, found = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        bracketed = np.zeros(len(rows), dtype=bool)
        for turn in range(_ROUNDS):
            todo = np.flatnonzero(np.isnan(found))
            if not todo.size:
                break
            ends = inner, outer, fall, outer_fall
            tried = self._tried(ends, bracketed, root, turn % 3 == 2)[todo]
            value, point, better = self.falls(tried, at[todo], place[todo], turn < 2)
            if better is not None:
                return edge, better
            below = value < root[todo]
            at_edge = below & (tried == edge[todo])
            found[todo[at_edge]] = edge[todo[at_edge]]
            done = np.abs(value - root[todo]) < _CLOSE
            found[todo[done & ~at_edge]] = tried[done & ~at_edge]
            up, out = todo[below], todo[~below]
            inner[up], fall[up], at[up] = tried[below], value[below], point[below]
            outer[out], outer_fall[out], bracketed[out] = tried[~below], value[~below], True
            grow = up[~bracketed[up]]
            step[grow] *= 3.0
            outer[grow] = inner[grow] + side[grow] * np.minimum(
                step[grow], np.abs(edge[grow] - inner[grow])
            )
            close = np.abs(outer - inner) < _NARROW
            shut = np.isnan(found) & bracketed & close
            found[shut] = inner[shut]
        found = np.where(np.isnan(found), outer, found)
        return np.where(np.abs(found - edge) < 2.0 * _NARROW, edge, found), None

    @staticmethod
    def _tried(
        ends: tuple[Array, Array, Array, Array], bracketed: Array, root: Array, halve: bool
    ) -> Array:
        """Where to look next: where a line between the ends has the root, or half way."""
        inner, outer, fall, outer_fall = ends
        gap = np.where(np.isfinite(outer_fall), outer_fall, np.inf) - fall
        straight = np.isfinite(gap) & (gap > 0.0) & (not halve)
        share = np.where(straight, (root - fall) / np.where(straight, gap, 1.0), 0.5)
        return np.where(bracketed, inner + np.clip(share, 0.02, 0.98) * (outer - inner), outer)

    def falls(
        self, values: Array, near: Array, place: Array, central: bool = True
    ) -> tuple[Array, Array, Array | None]:
        """Roots of twice the fall where entries have these values, and the restricted maxima.

        They are looked for from points `near`, and from the centre if `central`.
        """
        k, m = self.likelihood.k, self.likelihood.m
        lower, upper = wide_bounds(k, m)
        rows = np.arange(len(values))
        held = np.zeros((len(values), k + m), dtype=bool)
        held[rows, place] = True
        first = np.array([_beside(x, j, v, k) for x, j, v in zip(near, place, values, strict=True)])
        second = np.array([_central(j, v, k, m) for j, v in zip(place, values, strict=True)])
        best, at = np.full(len(values), -np.inf), second.copy()
        for start in (first, second) if central else (first,):
            good = np.array([self._is_possible(x) for x in start])
            good &= np.all((start > lower) & (start < upper), axis=1)
            if not good.any():
                continue
            end = climb(self.likelihood, start[good], lower, upper, held[good], barrier=1e-5).x
            reached = np.full(len(values), -np.inf)
            reached[good] = self.likelihood.loglike(end)
            places = np.flatnonzero(good)
            gain = reached[places] > best[places]
            at[places[gain]] = end[gain]
            best = np.maximum(best, reached)
        better = at[int(np.argmax(best))] if best.max() > self.value + _BETTER else None
        return np.sqrt(np.maximum(0.0, 2.0 * (self.value - best))), at, better

    def _is_possible(self, x: Array) -> bool:
        return all(bool(np.all(law > 0.0)) for law in self.likelihood.laws(x))


def _beside(x: Array, index: int, value: float, k: int) -> Array:
    """A point with one entry at a value; other frequencies share the difference evenly."""
    moved = x.copy()
    if index < k:
        moved[:k] += (x[index] - value) / (k - 1)
    moved[index] = value
    return moved


def _central(index: int, value: float, k: int, m: int) -> Array:
    """The centre of the simplex and the parameters, with one entry at a value."""
    return _beside(np.r_[np.full(k, 1.0 / k), np.full(m, 0.5)], index, value, k)


# -- Profiles of likelihoods: the ratio at a value of a parameter, and the values near the top ----


_CLOSE_profiles = 5e-4  # of the signed root of a drop, that a limit may be off
_WIDEST = 1e4  # standard errors after which a limit is infinite
_ROUNDS_profiles = 60
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
    for _ in range(_ROUNDS_profiles):  # outwards, until the drop is reached
        if abs(outer - center) >= wall:
            assert tested is not None
            outer, outer_fall, outer_theta = tested.value, tested.fall, tested.theta
            break
        ahead = top.theta + along * (outer - center)
        if abs(theta[index] - center) > 0.1 * abs(step):
            ahead = _moved(theta, top, index, outer)
        outer_fall, outer_theta = fall(outer, ahead)
        if outer_fall > root - _CLOSE_profiles:
            break
        inner, inner_fall, theta = outer, outer_fall, outer_theta
        outer = center + _further(outer - center, inner_fall, root)
        if abs(outer - center) > _WIDEST * abs(step):
            return float(np.copysign(np.inf, step))
    side = 0
    for _ in range(_ROUNDS_profiles):
        is_wall = abs(outer - center) >= wall  # rejected, and so never the limit
        if abs(inner_fall - root) < _CLOSE_profiles or (
            abs(outer_fall - root) < _CLOSE_profiles and not is_wall
        ):
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


# -- Profiles of likelihoods of which some parameters are bounded ---------------------------------


Array_bounded_profiles = npt.NDArray[np.float64]

_WIDEST_bounded_profiles = 200.0  # standard errors beyond which a limit is infinite
_CLOSE_bounded_profiles = 1e-4  # of the drop in log-likelihood
_ROUNDS_bounded_profiles = 60


def drop_at(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array_bounded_profiles,
    index: int,
    value: float,
) -> float:
    """Fall of the profile log-likelihood from its top where a parameter has this value."""
    return _profile(likelihood, top, units, index, value, top.x)[0]


def bounded_profile(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array_bounded_profiles,
    index: int,
    drop: float,
    step: float,
    at_zero: float | None = None,
) -> tuple[float, float]:
    """Values of a parameter at which the profile lies at most `drop` below its top.

    Zero lies between the limits if and only if the fall there is at most `drop`.

    Parameters
    ----------
    likelihood : ParametricRegression
    top : BoundedMaximum
    units : array, shape (p + m, p + m)
    index : int
    drop : float
        1.92 for a level of 95 %.
    step : float
        About the distance of the limits from the top.
    at_zero : float, optional
        The fall at zero, which was tested.

    Returns
    -------
    lower, upper : float
        Bounds of the parameter where the profile does not fall that far before.
    """
    low, high = (0.0, 1.0) if index >= likelihood.p else (-np.inf, np.inf)
    limits = []
    for sign, end in ((-1.0, low), (1.0, high)):
        limits.append(
            _limit_bounded_profiles(likelihood, top, units, index, drop, sign * step, end, at_zero)
        )
    return limits[0], limits[1]


def _profile(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array_bounded_profiles,
    index: int,
    value: float,
    near: Array_bounded_profiles,
) -> tuple[float, Array_bounded_profiles]:
    """The fall at a value, and where it is met; the better of two starts."""
    fixed = np.arange(top.x.size) == index
    if not top.held[index]:  # coefficients at infinity stay there, where all is flat
        fixed |= top.held & (np.arange(top.x.size) < likelihood.p)
    best, at, along = np.inf, near, _along(top, units, index)
    for begun in (near, top.x):
        start = begun + (value - begun[index]) * along
        start[index] = value
        inside = slice(likelihood.p, None)
        own = ~fixed[inside]
        start[inside] = np.where(own, np.clip(start[inside], 1e-3, 1.0 - 1e-3), start[inside])
        if not np.isfinite(likelihood.value(start)):
            continue
        met = maximise_bounded(likelihood, start, units, fixed)
        if top.value - met.value < best:
            best, at = top.value - met.value, met.x
    return max(best, 0.0), at


def _along(
    top: BoundedMaximum, units: Array_bounded_profiles, index: int
) -> Array_bounded_profiles:
    """How the other parameters follow one at the top of the likelihood, by its curvature."""
    found = np.zeros(top.x.shape)
    found[index] = 1.0
    rest = ~top.held
    rest[index] = False
    if not rest.any():
        return found
    own = units[np.ix_(rest, rest)]
    curved = -own.T @ top.hessian[np.ix_(rest, rest)] @ own
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(curved)), 1e-300))
    pull = own.T @ top.hessian[rest, index] / scale
    move = np.linalg.lstsq(curved / np.outer(scale, scale), pull, rcond=1e-10)[0] / scale
    if np.isfinite(move).all():
        found[rest] = own @ move
    return found


def _limit_bounded_profiles(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array_bounded_profiles,
    index: int,
    drop: float,
    step: float,
    end: float,
    at_zero: float | None,
) -> float:
    """One limit, by bisection and regula falsi on the root of the fall, which is nearly linear."""
    center = float(top.x[index])
    if center == end:
        return end
    inner, inner_fall, near = center, 0.0, top.x
    outer, rejected = center + step, False
    if at_zero is not None and center * step < 0.0:  # zero lies on this side
        rejected = at_zero > drop
        if not rejected:
            inner, inner_fall = 0.0, at_zero
            outer = min(outer, step / 10.0) if step < 0.0 else max(outer, step / 10.0)
    for _ in range(_ROUNDS_bounded_profiles):  # outwards, until the drop is reached
        outer = max(outer, end) if step < 0.0 else min(outer, end)
        if rejected and outer * step >= 0.0:
            assert at_zero is not None
            outer, fall = 0.0, at_zero
            break
        fall, found = _profile(likelihood, top, units, index, outer, near)
        if fall > drop:
            break
        if outer == end:
            return end
        inner, inner_fall, near = outer, fall, found
        outer = center + 1.6 * (outer - center)
        if abs(outer - center) > _WIDEST_bounded_profiles * abs(step):
            return end
    root, outer_fall = np.sqrt(drop), fall
    for i in range(_ROUNDS_bounded_profiles):
        if abs(outer - inner) <= 1e-9 * (1.0 + abs(outer)):
            break
        a, b = np.sqrt(inner_fall), np.sqrt(outer_fall)
        share = (root - a) / (b - a) if np.isfinite(b) and i % 3 < 2 else 0.5
        middle = inner + min(max(share, 0.05), 0.95) * (outer - inner)
        fall, found = _profile(likelihood, top, units, index, middle, near)
        if abs(fall - drop) < _CLOSE_bounded_profiles:
            return float(middle)
        if fall < drop:
            inner, inner_fall, near = middle, fall, found
        else:
            outer, outer_fall = middle, fall
    return float(inner)
