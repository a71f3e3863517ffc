"""Weights that reproduce known population totals (Deville and Saerndal 1992, JASA 87, 376-382).

The totals are those of categories: every respondent is in one category of each margin. All who are
in the same ones, a *margin cell*, get the same factor of their weights. Minimising a distance
between the weights d and d g, given totals of X, makes ``g = F(X lambda)``. F grows, and the
multipliers minimise the convex ``sum d P(X lambda) - t'lambda``, P' = F.

A total under the weights w g varies as that of ``g (z - x'B)`` under w, with B the regression of
the scores z on the categories by the weights w (equation 3.4; any distance has the same residuals
in large samples): residuals take the place of scores. Those are the scores that an earlier step
calibrated. Replicates are calibrated to the same population totals anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotConverged
from ldpstats.inference.designs.linearisation import Replication, Sample, Scores, dense
from ldpstats.labels import Codes

TOLERANCE = 1e-12  # largest relative deviation from a target
_MOST_STEPS = 100
_SHORTEST = 2.0**-40  # part of a Newton step
_RANK = 1e-11  # of equations whose margins all sum to the population
_DAMPING = 1e-3
_SHOWN = 5  # categories that an error names


@record
class Margins:
    """Categories of M margin cells in k margins, with population totals."""

    codes: Codes  # (M, k): the category of each cell in each margin
    totals: tuple[Array, ...]  # of the categories of each margin
    names: tuple[str, ...]  # the margins, for messages
    labels: tuple[Sequence[str], ...]  # their categories, for messages

    @cached_property
    def targets(self) -> Array:
        """All totals, shape (q,)."""
        return np.concatenate(self.totals)

    @cached_property
    def words(self) -> list[str]:
        """All categories with their margin."""
        return [
            f"{name} {label}"
            for name, labels in zip(self.names, self.labels, strict=True)
            for label in labels
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
        bad = np.flatnonzero(~(np.isfinite(self.targets) & (self.targets > 0.0)))
        if bad.size:
            remedy = "must be positive finite totals; leave out respondents of a category that the "
            remedy += "population does not have"
            raise InvalidArgument("margins", self._shown(bad, self.targets), remedy)
        sizes = [float(total.sum()) for total in self.totals]
        if max(sizes) - min(sizes) > TOLERANCE * max(sizes):
            shown = {
                name: float(f"{size:.15g}") for name, size in zip(self.names, sizes, strict=True)
            }
            remedy = "the totals of the margins add up to different populations: multiply those of "
            remedy += "all but one by the ratio of the sums"
            raise InvalidArgument("margins", shown, remedy)
        if np.any(weights < 0.0):
            remedy = "some weights are negative after an earlier calibration: give it bounds="
            raise InvalidArgument("weights", float(weights.min()), remedy)
        sums = self.indicators.T @ weights
        empty = np.flatnonzero(sums <= 0.0)
        if empty.size:
            remedy = "has no respondent with a weight above zero: join it with another category"
            raise InvalidArgument("margins", self._shown(empty), remedy)

    def _shown(self, places: Codes, values: Array | None = None) -> Any:
        """The first of some categories, with a value each."""
        first = [self.words[j] for j in places[:_SHOWN]]
        if values is None:
            return first
        return dict(zip(first, values[places[:_SHOWN]].tolist(), strict=True))


@record
class Step:
    """One calibration: what the weights of M margin cells were multiplied by."""

    margins: Margins
    distance: Distance
    factors: Array  # (M,)
    multipliers: Array  # (q,): of the categories, from which other weights can start
    iterations: int
    deviation: float  # largest relative deviation from a target


def calibrate(
    weights: Array, margins: Margins, distance: Distance, start: Array | None = None
) -> Step:
    """Factors closest to one with which weights, (M,), reproduce the totals of all margins.

    The largest relative deviation is at most 1e-12; `start` are multipliers, (q,), to start from.
    """
    margins.check(weights)
    size = float(margins.totals[0].sum())
    ratio = size / float(weights.sum())
    if not distance.lower <= ratio <= distance.upper:
        remedy = f"the weights sum to {size / ratio:.6g} and the population to {size:.6g}, "
        remedy += f"{ratio:.6g} times as much, which is outside: multiply the weights first, or "
        remedy += "widen the bounds"
        raise InvalidArgument("bounds", (distance.lower, distance.upper), remedy)
    near, ratio = distance.centred(ratio)
    X, d, t = margins.indicators, weights * (ratio / size), margins.targets / size  # shares

    def sums(at: Array) -> Any:  # off the targets: the gradient of the dual
        return X.T @ (d * near.factors(X @ at)) - t

    at = np.zeros(len(t)) if start is None else start
    gradient = sums(at)
    for iteration in range(_MOST_STEPS):
        deviation, u = float(np.max(np.abs(gradient) / t)), X @ at
        if deviation <= TOLERANCE:
            return Step(margins, distance, ratio * near.factors(u), at, iteration, deviation)
        # where bounds leave no curvature, a little that vanishes at the solution
        slopes = np.maximum(near.slopes(u), min(deviation, 1.0) * _DAMPING)
        step = -solved_equations(X, d * slopes, gradient)
        descent, part = float(gradient @ step), 1.0
        while descent < 0.0 and part > _SHORTEST:
            slope = sums(at + part * step)
            half = np.max(np.abs(slope) / t) <= deviation / 2.0
            if half or slope @ step <= -0.1 * descent:  # not far beyond the lowest point, as convex
                break
            part /= 2.0
        else:
            break
        at, gradient = at + part * step, slope
    bounds = (distance.least, distance.upper)
    refuse_unreachable(X, weights, margins.targets, margins.words, bounds)
    raise NotConverged(
        f"calibration stopped after {iteration + 1} iterations with a relative deviation of "
        f"{deviation:.2g} from the target of {margins.words[np.argmax(np.abs(gradient) / t)]}: "
        "join categories, or calibrate to fewer margins"
    )


def calibrate_replicates(weights: Array, step: Step) -> Array:
    """Factors of the weights of R replicates, (M, R), calibrated anew as in a `step`."""
    found = np.empty(weights.shape)
    for r in range(weights.shape[1]):
        try:
            one = calibrate(weights[:, r], step.margins, step.distance, step.multipliers)
            found[:, r] = one.factors
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
        return scale**2 * right
    scaled = H.toarray() * scale.reshape(-1) * scale.reshape(-1, 1)
    factor, order, rank, _ = dpstrf(scaled, tol=_RANK)
    free = order[:rank] - 1
    solution = np.zeros(right.shape)
    solution[free] = cho_solve((factor[:rank, :rank], False), (scale * right)[free])
    return scale * solution


# -- How far calibration may move weights: the distances of Deville and Saerndal (1992) -----------


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
        """A distance from d times a factor, and that factor, with equal nearest weights."""
        # with the sum of the weights given they are those of d * ratio, where the distance is a sum
        # of (w - d)^2 / d or w log(w / d), and there rounding does least
        return replace(self, lower=self.lower / ratio, upper=self.upper / ratio), ratio

    @abstractmethod
    def factors(self, u: Array) -> Array:
        """F at ``u = X lambda``."""

    @abstractmethod
    def slopes(self, u: Array) -> Array:
        """The derivative of F; zero where a bound holds."""


@dataclass(frozen=True)
class Linear(Distance):
    """``F = 1 + u``, the generalised regression estimator; cut off at bounds."""

    def _cut(self, u: Array) -> Array:
        return np.clip(u, self.lower - 1.0, self.upper - 1.0)

    def factors(self, u: Array) -> Array:
        return 1.0 + self._cut(u)

    def slopes(self, u: Array) -> Array:
        return floats(self._cut(u) == u)


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
            return np.exp(self._cut(u))

    def slopes(self, u: Array) -> Array:
        return np.where(self._cut(u) == u, self.factors(u), 0.0)


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
        return (1.0 + np.tanh(self._place(u)[0] / 2.0)) / 2.0

    def factors(self, u: Array) -> Array:
        return self.lower + (self.upper - self.lower) * self._share(u)

    def slopes(self, u: Array) -> Array:
        share = self._share(u)
        return (self.upper - self.lower) * self._place(u)[1] * share * (1.0 - share)


# -- Whether any weights reach population totals, and which totals are in the way -----------------


_NEGLIGIBLE = 1e-9  # relative deviation that rounding explains


def refuse_unreachable(
    X: Any, weights: Array, targets: Array, words: Sequence[str], bounds: tuple[float, float]
) -> None:
    """Raise an error that names categories, if no factors within bounds reach all targets, (q,).

    The nearest weights, by the sum of relative deviations, solve a linear programme.
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


@record
class Recalibrated(Replication):
    """Replicates whose weights get a factor in each of M margin cells."""

    base: Replication  # that of the weights before calibration
    before: Sample  # with those weights
    at: Codes  # (c,): the margin cell of each cell
    size: int  # the number M of margin cells
    anew: Callable[[Array], Array]  # factors from weights of margin cells in replicates, (M, R)
    later: Array | None = None  # (c,): what weights were multiplied by later, as in trimming

    @property
    def about_estimate(self) -> bool:  # type: ignore[override]
        return self.base.about_estimate

    @property
    def from_design(self) -> bool:  # type: ignore[override]
        return self.base.from_design

    def totals(self, sample: Sample, scores: Scores) -> Array:
        base = self.base
        before = replace(self.before, stages=sample.stages, single_unit=sample.single_unit)
        factors = self.anew(base.totals(before, Scores(((self.at, np.eye(self.size)),))).T)
        if self.later is not None:
            base, before = base.times(self.later), before.times(self.later)
        totals: Any = 0.0
        for m in range(self.size):  # so that no weights by cell and replicate are kept
            inside = tuple((np.where(self.at == m, at, -1), table) for at, table in scores.parts)
            totals = totals + factors[m][:, None] * base.totals(before, Scores(inside))
        return np.asarray(totals)

    def scales(self, sample: Sample) -> Array:
        return self.base.scales(sample)

    def most_degrees(self, inside: npt.NDArray[np.bool_]) -> float:
        return self.base.most_degrees(inside)

    def times(self, factor: Array) -> Recalibrated:
        return replace(self, later=factor if self.later is None else self.later * factor)


# -- Samples with calibrated weights: residuals take the place of scores --------------------------


def calibrated_sample(sample: Sample, at: Codes, steps: Sequence[Step]) -> Sample:
    """A sample with weights calibrated in steps; `at`, (c,), is the margin cell of each cell."""

    def anew(weights: Array) -> Array:
        """Factors of the weights of margin cells in replicates, (M, R), of all steps."""
        factors = np.ones(weights.shape)
        for step in steps:
            factors *= calibrate_replicates(weights * factors, step)
        return factors

    def residuals(scores: Scores) -> Scores:
        """Scores less their regression on the categories, step by step, the last step first."""
        d, factors = np.bincount(at, sample.w, M), np.array([step.factors for step in steps])
        before = np.cumprod(np.vstack([np.ones(M), factors[:-1]]), axis=0)
        sums = dense(scores.totals(sample.w, at, M))
        table, later = np.zeros(sums.shape), np.ones(M)
        for k in reversed(range(len(steps))):
            X, w = steps[k].margins.indicators, before[k] * later
            right = X.T @ (w[:, None] * (sums + d[:, None] * table))
            B = solved_equations(X, before[k] * d, right)
            table -= (X @ B) / later[:, None]
            later = later * factors[k]
        return scores + Scores(((at, table),))

    for step in steps[1:]:
        if np.any(step.factors == 0.0):
            remedy = "gives some respondents the weight zero, which only a first calibration can: "
            remedy += "choose a lower bound above zero"
            raise InvalidArgument("bounds", 0.0, remedy)
    every, base = np.prod([step.factors for step in steps], axis=0), sample.replication
    M = len(every)
    replication = base and Recalibrated(base, sample, at, M, anew)
    return replace(sample.times(every[at]), residuals=residuals, replication=replication)


# -- Weights that are cut at bounds while their sum stays -----------------------------------------


_ROUNDING = 1e-12
_MOST_PASSES = 1000


def trimmed(weights: Array, n: Array, lower: float, upper: float, strict: bool) -> Array:
    """Weights of one respondent of each cell, (c,), cut at bounds; the others share what was cut.

    `strict` repeats this until no weight is outside; else others may leave the bounds.
    """
    mean = float(weights @ n / n.sum())
    if not lower < mean:
        raise InvalidArgument("lower", lower, f"must be below the mean weight, {mean:.6g}")
    if not mean < upper:
        raise InvalidArgument("upper", upper, f"must be above the mean weight, {mean:.6g}")
    w = weights
    for _ in range(_MOST_PASSES if strict else 1):
        outside = (w < lower * (1.0 - _ROUNDING)) | (w > upper * (1.0 + _ROUNDING))
        if not outside.any():
            break
        if outside.all():
            remedy = f"no weight is between {lower:g} and {upper:g}, to take what is cut: widen "
            raise InvalidArgument("upper", upper, remedy + "these")
        cut = np.clip(w, lower, upper)
        excess = float((w - cut)[outside] @ n[outside])
        w = np.where(outside, cut, w + excess / float(n[~outside].sum()))
    else:
        if strict:
            raise NotConverged(f"trimming left weights outside after {_MOST_PASSES} passes")
    if np.any(w <= 0.0):
        remedy = "takes so much from the other weights that some fall to zero: choose a smaller one"
        raise InvalidArgument("lower", lower, remedy)
    return w
