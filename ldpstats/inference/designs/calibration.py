"""Weights that reproduce known population totals (Deville and Saerndal 1992, JASA 87, 376-382).

The totals are those of categories: every respondent is in one category of each margin. All who are
in the same ones, a *margin cell*, get the same factor of their weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotConverged
from ldpstats.inference.designs.linearisation import Adjustment, Replication, Sample, Scores, dense

__all__ = [
    "Distance",
    "Linear",
    "Logit",
    "Margins",
    "Raking",
    "Recalibrated",
    "Step",
    "calibrate",
    "calibrate_replicates",
    "calibrated_sample",
    "trimmed",
]


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


# -- How far calibration may move weights: the distances of Deville and Saerndal (1992) -----------
# Minimising a distance between the weights d and d g, given totals of X, makes ``g = F(X lambda)``.
# F grows, and the multipliers minimise the convex ``sum d P(X lambda) - t'lambda``, P' = F.


@dataclass(frozen=True)
class Distance(ABC):
    """A distance; factors of weights stay within `lower` and `upper`."""

    lower: float = -np.inf
    upper: float = np.inf

    @property
    def least(self) -> float:
        """What no factor is below."""
        return self.lower

    def centred(self, ratio: float) -> tuple[Distance, float]:
        """A distance from d times a factor, and that factor, with the same nearest weights.

        With the sum of the weights given those are the same for ``d * ratio``, where the distance
        is a sum of (w - d)^2 / d or w log(w / d), and there rounding does least.
        """
        return replace(self, lower=self.lower / ratio, upper=self.upper / ratio), ratio

    @abstractmethod
    def factors(self, u: Array) -> Array:
        """F at ``u = X lambda``."""

    @abstractmethod
    def slopes(self, u: Array) -> Array:
        """The derivative of F; zero where a bound holds."""

    @abstractmethod
    def potential(self, u: Array) -> Array:
        """P, the integral of F."""


@dataclass(frozen=True)
class Linear(Distance):
    """``F = 1 + u``, the generalised regression estimator; cut off at bounds."""

    def _cut(self, u: Array) -> Array:
        return np.clip(u, self.lower - 1.0, self.upper - 1.0)

    def factors(self, u: Array) -> Array:
        return 1.0 + self._cut(u)

    def slopes(self, u: Array) -> Array:
        return np.asarray(self._cut(u) == u, dtype=np.float64)

    def potential(self, u: Array) -> Array:
        inside = self._cut(u)
        return np.asarray(inside + inside**2 / 2.0 + (1.0 + inside) * (u - inside))


@dataclass(frozen=True)
class Raking(Distance):
    """``F = exp(u)``, which iterative proportional fitting reaches; cut off at bounds."""

    @property
    def least(self) -> float:
        return max(self.lower, 0.0)

    def _cut(self, u: Array) -> Array:
        low = np.log(self.lower) if self.lower > 0.0 else -np.inf
        return np.clip(u, low, np.log(self.upper))

    def factors(self, u: Array) -> Array:
        with np.errstate(over="ignore"):  # a step too long is taken back
            return np.asarray(np.exp(self._cut(u)))

    def slopes(self, u: Array) -> Array:
        return np.where(self._cut(u) == u, self.factors(u), 0.0)

    def potential(self, u: Array) -> Array:
        inside = self._cut(u)
        return self.factors(u) * (1.0 + u - inside)


@dataclass(frozen=True)
class Logit(Distance):
    """Between finite bounds, smoothly: (2.6) of Deville and Saerndal (1992)."""

    def centred(self, ratio: float) -> tuple[Distance, float]:
        return self, 1.0

    def _place(self, u: Array) -> tuple[Array, float]:
        """The logit of the place between the bounds, and its derivative."""
        slope = (self.upper - self.lower) / ((1.0 - self.lower) * (self.upper - 1.0))
        return slope * u + np.log((1.0 - self.lower) / (self.upper - 1.0)), slope

    def _share(self, u: Array) -> Array:
        return np.asarray((1.0 + np.tanh(self._place(u)[0] / 2.0)) / 2.0)

    def factors(self, u: Array) -> Array:
        return self.lower + (self.upper - self.lower) * self._share(u)

    def slopes(self, u: Array) -> Array:
        share = self._share(u)
        return np.asarray((self.upper - self.lower) * self._place(u)[1] * share * (1.0 - share))

    def potential(self, u: Array) -> Array:
        place, slope = self._place(u)
        return self.lower * u + (self.upper - self.lower) / slope * np.logaddexp(0.0, place)


# -- Whether any weights reach population totals, and which totals are in the way -----------------


_NEGLIGIBLE = 1e-9  # relative deviation that rounding explains


def refuse_unreachable(
    X: Any, weights: Array, targets: Array, words: Sequence[str], bounds: tuple[float, float]
) -> None:
    """Raise an error that names categories, if no factors within bounds reach all targets.

    The nearest weights, by the sum of relative deviations, solve a linear programme.

    Parameters
    ----------
    X : sparse array, shape (M, q)
        Indicators of the categories of each cell.
    weights : array, shape (M,)
    targets : array, shape (q,)
    words : sequence of str
        The categories.
    bounds : tuple of float
        What factors of the weights lie between.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    q, size = len(targets), float(targets.max())
    counts = weights > 0.0
    X, d, t = X[counts], weights[counts] / size, targets / size
    low, high = (d * bound for bound in bounds)
    slack = eye_array(q)
    solved = linprog(
        np.concatenate([np.zeros(len(d)), 1.0 / t, 1.0 / t]),
        A_eq=hstack([X.T, slack, -slack]),
        b_eq=t,
        bounds=np.column_stack(
            [np.concatenate([low, np.zeros(2 * q)]), np.concatenate([high, np.full(2 * q, np.inf)])]
        ),
    )
    if solved.x is None:  # nothing was shown, and the iteration's own words stand
        return
    reached = X.T @ solved.x[: len(d)]
    off = np.flatnonzero(np.abs(reached - t) > _NEGLIGIBLE * t)
    if not off.size:
        return
    worst = off[np.argsort(-np.abs(reached - t)[off] / t[off], kind="stable")][:_SHOWN]
    nearest = "; ".join(
        f"{words[j]} {size * reached[j]:.6g} instead of {targets[j]:.6g}" for j in worst
    )
    lower, upper = bounds
    bounded = upper < np.inf or lower > 0.0
    limits = f"no weights between {lower:g} and {upper:g} times their own reach all targets at once"
    why = limits if bounded else "no weights reach all targets at once, which contradict each other"
    advice = "widen the bounds" if bounded else "correct the totals, or join categories"
    raise InvalidArgument(
        "bounds" if bounded else "margins",
        bounds if bounded else words[worst[0]],
        f"{why} in this sample; nearest: {nearest}: {advice}",
    )


# -- Replicates of calibrated weights: each is calibrated to the same population totals anew ------


@dataclass(frozen=True, eq=False)
class Recalibrated(Replication):
    """Replicates whose weights get a factor in each of M margin cells.

    Parameters
    ----------
    base : Replication
        That of the weights before calibration.
    before : Sample
        The sample with those weights.
    at : array of int64, shape (c,)
        The margin cell of each cell.
    size : int
        The number M of margin cells.
    anew : callable
        The factors, shape (M, R), from the sum of the weights of each margin cell in each
        replicate, of the same shape.
    later : array, shape (c,), optional
        What weights were multiplied by after calibration, as in trimming.
    """

    base: Replication
    before: Sample
    at: Codes
    size: int
    anew: Callable[[Array], Array]
    later: Array | None = None

    @property
    def about_estimate(self) -> bool:
        return self.base.about_estimate

    @property
    def knows_units(self) -> bool:
        return self.base.knows_units

    def totals(self, sample: Sample, scores: Scores) -> Array:
        base = self.base
        before = replace(self.before, stages=sample.stages, single_unit=sample.single_unit)
        factors = self.anew(base.totals(before, Scores(((self.at, np.eye(self.size)),))).T)
        if self.later is not None:
            base, before = base.times(self.later), before.times(self.later)
        found = np.zeros((factors.shape[1], scores.size))
        for m in range(self.size):  # so that no weights by cell and replicate are kept
            own = tuple((np.where(self.at == m, at, -1), table) for at, table in scores.parts)
            found += factors[m][:, None] * base.totals(before, Scores(own))
        return found

    def scales(self, sample: Sample) -> Array:
        return self.base.scales(sample)

    def degrees_of_freedom(self, sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
        return self.base.degrees_of_freedom(sample, inside)

    def missed(self, sample: Sample) -> Array:
        return self.base.missed(sample)

    def rest(self, sample: Sample, scores: Scores) -> Array:
        return self.base.rest(sample, scores)

    def times(self, factor: Array) -> Recalibrated:
        return replace(self, later=factor if self.later is None else self.later * factor)


# -- Samples with calibrated weights: residuals take the place of scores --------------------------


@dataclass(frozen=True, eq=False)
class Step:
    """One calibration of M margin cells."""

    margins: Margins
    distance: Distance
    solved: Solved

    @property
    def factors(self) -> Array:
        """What the weights of the margin cells were multiplied by, shape (M,)."""
        return self.solved.factors

    def anew(self, weights: Array) -> Array:
        """Factors of other weights of the margin cells, (M, R), that reach the same totals."""
        start = self.solved.multipliers
        return calibrate_replicates(weights, self.margins, self.distance, start)


@dataclass(frozen=True, eq=False)
class Calibrated(Adjustment):
    """Weights of a sample that were calibrated, perhaps in several steps.

    Parameters
    ----------
    weights : array, shape (c,)
        Those of the cells of the sample, before.
    at : array of int64, shape (c,)
        The margin cell of each.
    steps : tuple of Step
    """

    weights: Array
    at: Codes
    steps: tuple[Step, ...]

    def residuals(self, scores: Scores) -> Scores:
        """Scores less their regression on the categories, step by step, the last step first.

        A total under the weights w g varies as that of ``g (z - x'B)`` under w, with B from the
        weights w (Deville and Saerndal 1992, equation 3.4; any distance has the same residuals in
        large samples). Those are the scores that an earlier step calibrated.
        """
        factors = np.array([step.factors for step in self.steps])
        before = np.cumprod(np.vstack([np.ones_like(factors[0]), factors[:-1]]), axis=0)
        d = np.bincount(self.at, self.weights, len(factors[0]))
        sums = dense(scores.totals(self.weights, self.at, len(d)))
        table, later = np.zeros(sums.shape), np.ones(len(d))
        for k in reversed(range(len(self.steps))):
            X, w = self.steps[k].margins.indicators, before[k] * later
            right = X.T @ (w[:, None] * (sums + d[:, None] * table))
            B = solved_equations(X, before[k] * d, right)
            table -= (X @ B) / later[:, None]
            later = later * factors[k]
        return scores + Scores(((self.at, table),))


def calibrated_sample(sample: Sample, at: Codes, steps: Sequence[Step]) -> Sample:
    """A sample with calibrated weights.

    Parameters
    ----------
    sample : Sample
    at : array of int64, shape (c,)
        The margin cell of each cell.
    steps : sequence of Step
        In the order of calibration, all of the same margin cells.

    Raises
    ------
    InvalidArgument
        If a second calibration gives weights of zero.
    """
    for step in steps[1:]:
        if np.any(step.factors == 0.0):
            remedy = "gives some respondents the weight zero, which only a first calibration can: "
            remedy += "choose a lower bound above zero"
            raise InvalidArgument("bounds", 0.0, remedy)
    factors = np.prod([step.factors for step in steps], axis=0)
    base = sample.replication
    anew = partial(_anew, steps=steps)
    return replace(
        sample.times(factors[at]),
        calibration=Calibrated(sample.w, at, tuple(steps)),
        replication=base and Recalibrated(base, sample, at, len(factors), anew),
    )


def _anew(weights: Array, steps: Sequence[Step]) -> Array:
    """Factors of the weights of margin cells in replicates, (M, R), of all steps."""
    found = np.ones(weights.shape)
    for step in steps:
        found *= step.anew(weights * found)
    return found


# -- Weights that are cut at bounds while their sum stays -----------------------------------------


_ROUNDING = 1e-12
_MOST_PASSES = 1000


def trimmed(weights: Array, n: Array, lower: float, upper: float, strict: bool) -> Array:
    """Weights cut at bounds, what was cut being given to the others in equal shares, (c,).

    Parameters
    ----------
    weights : array, shape (c,)
        Of one respondent of each cell.
    n : array, shape (c,)
        Respondents of each cell.
    lower, upper : float
    strict : bool
        Whether this is repeated until no weight is outside; else others may leave the bounds.

    Raises
    ------
    InvalidArgument
        If the mean weight is outside of the bounds, no weight is inside, or one falls to zero.
    NotConverged
        If weights are still outside after 1,000 passes.
    """
    mean = float(weights @ n / n.sum())
    if not lower < mean:
        raise InvalidArgument("lower", lower, f"must be below the mean weight, {mean:.6g}")
    if not mean < upper:
        raise InvalidArgument("upper", upper, f"must be above the mean weight, {mean:.6g}")
    found = weights
    for _ in range(_MOST_PASSES if strict else 1):
        outside = (found < lower * (1.0 - _ROUNDING)) | (found > upper * (1.0 + _ROUNDING))
        if not outside.any():
            break
        if outside.all():
            remedy = (
                f"no weight is between {lower:g} and {upper:g}, to take what is cut: widen these"
            )
            raise InvalidArgument("upper", upper, remedy)
        cut = np.clip(found, lower, upper)
        excess = float((found - cut)[outside] @ n[outside])
        found = np.where(outside, cut, found + excess / float(n[~outside].sum()))
    else:
        if strict:
            raise NotConverged(f"trimming left weights outside after {_MOST_PASSES} passes")
    if np.any(found <= 0.0):
        remedy = "takes so much from the other weights that some fall to zero: choose a smaller one"
        raise InvalidArgument("lower", lower, remedy)
    return np.asarray(found)
