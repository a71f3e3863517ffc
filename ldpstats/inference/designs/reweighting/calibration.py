"""Weights that reproduce known population totals (Deville and Saerndal 1992, JASA 87, 376-382).

The totals are those of categories: every respondent is in one category of each margin. All who are
in the same ones, a *margin cell*, get the same factor of their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotConverged
from ldpstats.inference.designs.reweighting.distances import Distance
from ldpstats.inference.designs.reweighting.feasibility import refuse_unreachable

__all__ = ["Margins", "Solved", "calibrate", "calibrate_replicates", "solved_equations"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

TOLERANCE = 1e-12  # largest relative deviation from a target
_MOST_STEPS = 100
_SHORTEST = 2.0**-40  # part of a Newton step
_RANK = 1e-11  # of equations whose margins all sum to the population
_DAMPING = 1e-3
_SHOWN = 5  # categories that an error names


@dataclass(frozen=True, eq=False)
class Margins:
    """Categories of M margin cells in k margins, with population totals.

    Parameters
    ----------
    codes : array of int64, shape (M, k)
        The category of each cell in each margin.
    totals : tuple of arrays
        Population totals of the categories of each margin.
    names : tuple of str
        The margins, for messages.
    labels : tuple of sequences of str
        Their categories, for messages.
    """

    codes: Codes
    totals: tuple[Array, ...]
    names: tuple[str, ...]
    labels: tuple[Sequence[str], ...]

    @cached_property
    def targets(self) -> Array:
        """All totals, shape (q,)."""
        return np.concatenate(self.totals)

    @property
    def population(self) -> float:
        """Its size, which all margins sum to."""
        return float(self.totals[0].sum())

    @cached_property
    def words(self) -> list[str]:
        """All categories with their margin."""
        return [
            f"{name} {label}"
            for name, own in zip(self.names, self.labels, strict=True)
            for label in own
        ]

    @cached_property
    def indicators(self) -> Any:
        """Sparse X, shape (M, q): the categories of each cell."""
        from scipy.sparse import csr_array

        cells, k = self.codes.shape
        sizes = [len(total) for total in self.totals]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        columns = (self.codes + first).reshape(-1)
        rows = np.arange(0, cells * k + 1, k)
        return csr_array((np.ones(cells * k), columns, rows), shape=(cells, sum(sizes)))

    def check(self, weights: Array) -> None:
        """Refuse totals that no weights can reach: of empty categories, or contradictory."""
        self._check_positive()
        self._check_population()
        if np.any(weights < 0.0):
            remedy = "some weights are negative after an earlier calibration: give it bounds="
            raise InvalidArgument("weights", float(weights.min()), remedy)
        sums = self.indicators.T @ weights
        empty = np.flatnonzero(sums <= 0.0)
        if empty.size:
            remedy = "has no respondent with a weight above zero: join it with another category"
            raise InvalidArgument("margins", self._shown(empty), remedy)

    def _check_positive(self) -> None:
        bad = np.flatnonzero(~(np.isfinite(self.targets) & (self.targets > 0.0)))
        if bad.size:
            remedy = "must be positive finite totals; leave out respondents of a category that the "
            remedy += "population does not have"
            raise InvalidArgument("margins", self._shown(bad, self.targets), remedy)

    def _check_population(self) -> None:
        """Refuse margins of populations of different sizes."""
        sizes = [float(total.sum()) for total in self.totals]
        if max(sizes) - min(sizes) > TOLERANCE * max(sizes):
            shown = {
                name: float(f"{size:.15g}") for name, size in zip(self.names, sizes, strict=True)
            }
            remedy = "the totals of the margins add up to different populations: multiply those of "
            remedy += "all but one by the ratio of the sums"
            raise InvalidArgument("margins", shown, remedy)

    def _shown(self, places: Codes, values: Array | None = None) -> Any:
        """The first of some categories, with a value each."""
        first = [self.words[j] for j in places[:_SHOWN]]
        if values is None:
            return first
        return dict(zip(first, values[places[:_SHOWN]].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Solved:
    """Factors of the weights of margin cells.

    Parameters
    ----------
    factors : array, shape (M,)
    multipliers : array, shape (q,)
        Of the categories, from which other weights can start.
    iterations : int
    deviation : float
        Largest relative deviation from a target.
    """

    factors: Array
    multipliers: Array
    iterations: int
    deviation: float


def calibrate(
    weights: Array, margins: Margins, distance: Distance, start: Array | None = None
) -> Solved:
    """Factors with which weights reproduce the totals of all margins, closest to one.

    Parameters
    ----------
    weights : array, shape (M,)
        Sum of the weights of each margin cell, before calibration.
    margins : Margins
    distance : Distance
    start : array, shape (q,), optional
        Multipliers to start from.

    Raises
    ------
    InvalidArgument
        For totals that cannot be reached: of categories without respondents, of margins that
        contradict each other, or not within the bounds.
    NotConverged
        If the largest relative deviation stays above 1e-12.
    """
    margins.check(weights)
    size = margins.population
    ratio = size / float(weights.sum())
    _refuse_ratio(ratio, size, distance)
    near, ratio = distance.centred(ratio)
    dual = _Dual(margins.indicators, weights * (ratio / size), margins.targets / size, near)
    point = dual.at(np.zeros(len(dual.t)) if start is None else start)
    for iteration in range(_MOST_STEPS):
        if point.deviation <= TOLERANCE:
            return Solved(ratio * near.factors(point.u), point.at, iteration, point.deviation)
        moved = dual.moved(point)
        if moved is None:
            break
        point = moved
    refuse_unreachable(
        dual.X, weights, margins.targets, margins.words, (distance.least, distance.upper)
    )
    raise NotConverged(
        f"calibration stopped after {iteration + 1} iterations with a relative deviation of "
        f"{point.deviation:.2g} from the target of {margins.words[point.worst]}: join categories, "
        "or calibrate to fewer margins"
    )


def _refuse_ratio(ratio: float, population: float, distance: Distance) -> None:
    """Refuse bounds that exclude what all weights together need."""
    if not distance.lower <= ratio <= distance.upper:
        remedy = f"the weights sum to {population / ratio:.6g} and the population to "
        remedy += f"{population:.6g}, {ratio:.6g} times as much, which is outside: multiply the "
        remedy += "weights first, or widen the bounds"
        raise InvalidArgument("bounds", (distance.lower, distance.upper), remedy)


def calibrate_replicates(
    weights: Array, margins: Margins, distance: Distance, start: Array
) -> Array:
    """Factors of the weights of every replicate, each calibrated anew; shape (M, R).

    Parameters
    ----------
    weights : array, shape (M, R)
        Sum of the weights of each margin cell in each replicate.
    margins, distance
        As for `calibrate`.
    start : array, shape (q,)
        Multipliers of the whole sample, which those of replicates are close to.
    """
    found = np.empty(weights.shape)
    for r in range(weights.shape[1]):
        try:
            found[:, r] = calibrate(weights[:, r], margins, distance, start).factors
        except LDPError as error:
            raise NotAvailable(
                f"replicate {r + 1} of {weights.shape[1]} cannot be calibrated: {error}"
            ) from error
    return found


def solved_equations(X: Any, weights: Array, right: Array) -> Array:
    """``(X' diag(weights) X)^- right`` for sparse X (M, q) and right (q,) or (q, p).

    Categories that others determine get zero, as the last one of a second margin.
    """
    from scipy.linalg import cho_solve
    from scipy.linalg.lapack import dpstrf

    H = (X.T @ X.multiply(weights[:, None])).tocsr()
    scale = np.sqrt(H.diagonal())
    scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
    if right.ndim > 1:
        scale = scale[:, None]
    if H.nnz <= len(scale):  # one margin
        return np.asarray(scale**2 * right)
    scaled = H.toarray() * scale.reshape(-1) * scale.reshape(-1, 1)
    factor, order, rank, _ = dpstrf(scaled, tol=_RANK)
    kept = order[:rank] - 1
    found = np.zeros(right.shape)
    found[kept] = cho_solve((factor[:rank, :rank], False), (scale * right)[kept])
    return np.asarray(scale * found)


@dataclass(frozen=True, eq=False)
class _Point:
    """Multipliers, ``u = X at``, and what the convex function is there."""

    at: Array
    u: Array
    value: float
    gradient: Array
    deviation: float
    worst: int


@dataclass(frozen=True, eq=False)
class _Dual:
    """The convex function ``sum d P(X lambda) - t'lambda``; d and t are shares."""

    X: Any
    d: Array
    t: Array
    distance: Distance

    def at(self, at: Array) -> _Point:
        """The function at some multipliers."""
        u = self.X @ at
        gradient = self.X.T @ (self.d * self.distance.factors(u)) - self.t
        apart = np.abs(gradient) / self.t
        value = float(self.d @ self.distance.potential(u) - self.t @ at)
        return _Point(at, u, value, gradient, float(apart.max()), int(apart.argmax()))

    def moved(self, point: _Point) -> _Point | None:
        """The point after a Newton step; None where none leads downwards."""
        # where bounds leave no curvature, a little that vanishes at the solution
        least = min(point.deviation, 1.0) * _DAMPING
        slopes = np.maximum(self.distance.slopes(point.u), least)
        step = -solved_equations(self.X, self.d * slopes, point.gradient)
        descent = float(point.gradient @ step)
        part = 1.0
        while descent < 0.0 and part > _SHORTEST:
            found = self.at(point.at + part * step)
            lower = found.value <= point.value + 1e-4 * part * descent
            if lower or found.deviation <= point.deviation / 2.0:
                return found
            part /= 2.0
        return None
