"""The highest maximum of a likelihood that may have several, or none at finite parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.newton import Maximum, maximise

__all__ = ["Found", "Objective", "ascend", "flat_direction", "search"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_SAME_VALUE = 1e-6  # log-likelihood by which one maximum may differ from itself
_SAME_PLACE = 0.05  # distance of two maxima, in standard errors, that are one
_FAR = 60.0  # standardised parameter beyond which nothing changes any more
_SUSPECT = 6.0  # standardised parameter that may be on its way to infinity
_OUT = 10.0  # how much further out it is looked for a fall of the likelihood
_CURVED = 0.05  # curvature below which a direction may be flat
_FALL = 0.5  # a fall below this leaves infinity within half a standard error
_ABOUT = 1e-7  # Newton decrement that tells which maximum it is
_VAGUE = 0.35  # largest standard error, of standardised parameters, of a maximum that may be low
_MORE = 8  # steep starts that are tried then, beside some for each parameter
_STEEP = 6.0  # spread of their standardised parameters
_TRIED = 30  # iterations from other starts
_PLAIN = 12  # steps without second derivatives of a penalty,
_BENT = 6  # and with those of one place
_SPREAD = 2.0  # of standardised parameters in random starts


class Objective(Protocol):
    """What is maximised."""

    def value(self, theta: Array) -> float: ...
    def evaluate(self, theta: Array) -> tuple[float, Array, Array]: ...


@dataclass(frozen=True, eq=False)
class Found:
    """The highest maximum, and what else was met.

    Parameters
    ----------
    maximum : Maximum
    n_maxima : int
        Distinct local maxima that the starts led to.
    flat : array, shape (2, p), or None
        Of directions in which the likelihood does not fall although nothing more is known: the
        maximum is at infinity. First the part that each standardised parameter has in them, less
        what leaves the parameter itself as it is; then how far the parameter itself goes along,
        as a constant goes with covariates that are not centred. None where the maximum is finite.
    """

    maximum: Maximum
    n_maxima: int = 1
    flat: Array | None = None


def search(
    objective: Objective,
    start: Array,
    units: Array,
    others: Sequence[Array] = (),
    free: Mask | None = None,
    maxiter: int = 100,
    concave: bool = False,
    smaller: Objective | None = None,
    n_random: int = 4,
    enough: float = 0.0,
) -> Found:
    """Maximise from several starts.

    Parameters
    ----------
    objective : Objective
    start : array, shape (p,)
    units : array, shape (p, p)
        Makes parameters of standardised ones, which have no unit: ``theta = units @ z``.
    others : sequence of array
        Other starts; random ones are added about the first maximum.
    free : bool array, shape (p,), optional
        Parameters that may change.
    maxiter : int
    concave : bool
        Whether there is one maximum at most.
    smaller : Objective, optional
        The same of some rows, on which other starts are tried where rows are many.
    n_random : int
    enough : float
        Standard error of every standardised parameter below which other starts are not tried.
    """
    free = np.ones(start.shape, dtype=bool) if free is None else free

    def climb(target: Objective, from_: Array, tolerance: float = 0.0) -> Maximum:
        def far(theta: Array) -> bool:
            return _size(theta, units) > _FAR

        most = maxiter if tolerance == 0.0 else min(maxiter, _TRIED)
        return ascend(target, from_, free, most, tolerance, far, units)

    best = climb(objective, start)
    if concave:
        best = _curved(objective, best)
        return Found(best, 1, flat_direction(objective, best, units, free))
    error = _largest_error(best, units, free) if best.converged else np.inf
    if error < enough:
        return Found(_curved(objective, best), 1, None)
    tried = [*others, *_random(best, start, units, free, n_random)]
    if n_random and error > _VAGUE:
        tried += _steep(start, units, free, _MORE + 2 * int(free.sum()))
    if smaller is None:
        met = [best, *_climbed(climb, objective, tried)]
    else:  # what other starts lead to on some rows is climbed on with all
        met = _distinct([climb(smaller, best.theta), *_climbed(climb, smaller, tried)], free)
        met = [best, *_climbed(climb, objective, [one.theta for one in met[1:]])]
    distinct = [one for one in _distinct(met, free) if one.converged]
    top = max(met, key=lambda one: one.value)
    same = [one for one in distinct if one.value >= top.value - _SAME_VALUE]
    top = same[0] if same else top
    if top is not best and abs(top.value - best.value) > _SAME_VALUE:
        top = climb(objective, top.theta)
    elif best.converged:
        top = best
    top = _curved(objective, top)
    return Found(top, max(1, len(distinct)), flat_direction(objective, top, units, free))


def ascend(
    target: Objective,
    start: Array,
    free: Mask | None = None,
    maxiter: int = 100,
    tolerance: float = 0.0,
    stop: Callable[[Array], bool] | None = None,
    units: Array | None = None,
) -> Maximum:
    """Newton's method; where a penalty slows it down its second derivatives are taken too.

    Parameters are those of `maximise`.
    """
    has_penalty = hasattr(target, "bent_at")
    now, theta, n_iter = target, start, 0
    while True:
        steps = (_PLAIN if n_iter == 0 else _BENT) if has_penalty else maxiter
        steps = min(steps, maxiter - n_iter)
        met = maximise(now.evaluate, now.value, theta, free, steps, tolerance, stop, units)
        theta, n_iter = met.theta, n_iter + met.n_iter
        if met.converged or n_iter >= maxiter or (stop is not None and stop(theta)):
            return replace(met, n_iter=n_iter)
        if not has_penalty:
            return met
        now = target.bent_at(theta)  # type: ignore[attr-defined]


def _curved(target: Objective, met: Maximum) -> Maximum:
    """A maximum with the second derivatives of a penalty."""
    if not hasattr(target, "bent_at"):
        return met
    return replace(met, hessian=target.bent_at(met.theta).evaluate(met.theta)[2])


def _climbed(
    climb: Callable[[Objective, Array, float], Maximum], target: Objective, starts: Sequence[Array]
) -> list[Maximum]:
    """About the maxima that starts lead to, of those at which the likelihood is not zero."""
    return [climb(target, one, _ABOUT) for one in starts if np.isfinite(target.value(one))]


def _largest_error(best: Maximum, units: Array, free: Mask) -> float:
    """The largest standard error of a standardised parameter; infinite if it is far out."""
    if _size(best.theta, units) >= _SUSPECT:
        return float("inf")
    own = units[np.ix_(free, free)]
    size, axes = np.linalg.eigh(-own.T @ best.hessian[np.ix_(free, free)] @ own)
    if not size.size or size[0] <= 0.0:
        return float("inf")
    return float(np.sqrt(((axes**2) / size).sum(axis=1).max()))


def _size(theta: Array, units: Array) -> float:
    """The largest standardised parameter."""
    return float(np.abs(np.linalg.solve(units, theta)).max(initial=0.0))


def _random(best: Maximum, start: Array, units: Array, free: Mask, count: int) -> list[Array]:
    """Starts about the first maximum, or about the first start if that is far out."""
    rng = np.random.default_rng(2024)  # the same starts in every call
    center = best.theta if _size(best.theta, units) < _SUSPECT else start
    moves = (rng.normal(size=(count, len(start))) * _SPREAD) @ units.T
    return [np.where(free, center + move, start) for move in moves]


def _steep(start: Array, units: Array, free: Mask, count: int) -> list[Array]:
    """Starts where covariates nearly determine the outcome, as maxima of little information do."""
    rng = np.random.default_rng(2025)
    moves = (rng.normal(size=(count, len(start))) * _STEEP) @ units.T
    return [np.where(free, start + move, start) for move in moves]


def _distinct(met: Sequence[Maximum], free: Mask) -> list[Maximum]:
    """One of each maximum, the highest first."""
    kept: list[Maximum] = []
    for one in sorted(met, key=lambda m: -m.value):
        for other in kept:
            off = (one.theta - other.theta)[free]
            distance = float(off @ (-other.hessian[np.ix_(free, free)]) @ off)
            if abs(one.value - other.value) < _SAME_VALUE and distance < _SAME_PLACE**2:
                break
        else:
            kept.append(one)
    return kept


def flat_direction(
    objective: Objective, found: Maximum, units: Array, free: Mask | None = None
) -> Array | None:
    """How much each parameter takes part in maxima at infinity, see `Found`; None if it is finite.

    Directions in which the objective is nearly flat, and that of an estimate that is far out, are
    followed further out: it does not fall where the maximum is at infinity.
    """
    free = np.ones(found.theta.shape, dtype=bool) if free is None else free
    if not free.any():
        return None
    own = units[np.ix_(free, free)]
    toward = np.linalg.solve(own, found.theta[free])
    curved = -own.T @ found.hessian[np.ix_(free, free)] @ own
    is_far = _size(found.theta, units) >= _SUSPECT
    axes = [toward] if is_far else []
    if np.isfinite(curved).all():
        size, vectors = np.linalg.eigh(curved)
        # of a rare covariate, one unit is many standardised ones: nothing may look far out
        if not is_far and (size[0] >= _CURVED or not found.converged):
            return None
        axes += list(vectors[:, (size < _CURVED) | (size == size[0])].T)
    flat = np.zeros((2, int(free.sum())))
    for axis in axes:
        axis = axis / np.linalg.norm(axis)
        for side in (1.0, -1.0) if axis @ toward >= 0.0 else (-1.0, 1.0):
            move = np.zeros(found.theta.shape)
            move[free] = own @ axis * side
            if objective.value(found.theta + _OUT * move) > found.value - _FALL:
                goes = np.abs(own @ axis) / np.abs(np.diagonal(own))
                flat = np.maximum(flat, [np.minimum(np.abs(axis), goes), goes])
                break
    if not flat.any():
        return None
    whole = np.zeros((2, len(found.theta)))
    whole[:, free] = flat
    return whole
