"""Profiles of likelihoods of which some parameters are bounded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.bounded import BoundedMaximum, maximise_bounded
from ldpstats.problems.regression.parametric import ParametricRegression

__all__ = ["bounded_profile", "drop_at"]

Array = npt.NDArray[np.float64]

_WIDEST = 200.0  # standard errors beyond which a limit is infinite
_CLOSE = 1e-4  # of the drop in log-likelihood
_ROUNDS = 60


def drop_at(
    likelihood: ParametricRegression, top: BoundedMaximum, units: Array, index: int, value: float
) -> float:
    """Fall of the profile log-likelihood from its top where a parameter has this value."""
    return _profile(likelihood, top, units, index, value, top.x)[0]


def bounded_profile(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array,
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
        limits.append(_limit(likelihood, top, units, index, drop, sign * step, end, at_zero))
    return limits[0], limits[1]


def _profile(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array,
    index: int,
    value: float,
    near: Array,
) -> tuple[float, Array]:
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


def _along(top: BoundedMaximum, units: Array, index: int) -> Array:
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


def _limit(
    likelihood: ParametricRegression,
    top: BoundedMaximum,
    units: Array,
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
    for _ in range(_ROUNDS):  # outwards, until the drop is reached
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
        if abs(outer - center) > _WIDEST * abs(step):
            return end
    root, outer_fall = np.sqrt(drop), fall
    for i in range(_ROUNDS):
        if abs(outer - inner) <= 1e-9 * (1.0 + abs(outer)):
            break
        a, b = np.sqrt(inner_fall), np.sqrt(outer_fall)
        share = (root - a) / (b - a) if np.isfinite(b) and i % 3 < 2 else 0.5
        middle = inner + min(max(share, 0.05), 0.95) * (outer - inner)
        fall, found = _profile(likelihood, top, units, index, middle, near)
        if abs(fall - drop) < _CLOSE:
            return float(middle)
        if fall < drop:
            inner, inner_fall, near = middle, fall, found
        else:
            outer, outer_fall = middle, fall
    return float(inner)
