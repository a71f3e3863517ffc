"""Maximise a likelihood through products with W alone: proximal Newton with a cheap Hessian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, certified_gap, require_possible, search
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.rows.base import Rows

__all__ = ["DiagonalModel", "Model", "proximal_newton"]

Array = npt.NDArray[Any]

STALE = 0.1  # relative change of an entry of W p beyond which curvature is recomputed
_REFRESH = 1e-2  # root mean square relative change beyond which it is
_PATIENCE = 25  # iterations without a smaller gap before giving up


class Model(Protocol):
    """A positive definite model H of the Hessian of ``-sum_i n_i log(W p)_i / N``."""

    def times(self, x: Array) -> Array:
        """H x."""

    def size(self, x: Array) -> float:
        """The length ``sqrt(x'H x)`` of a step; times sqrt(N) it counts standard errors."""

    def step(self, p: Array, g: Array) -> Array:
        """The x >= -p that minimises ``g.x + x'H x / 2``."""


@dataclass(frozen=True, eq=False)
class DiagonalModel:
    """Hessian model H = diag(D) + u u' of ``-sum_i n_i log(W p)_i / N``; D, u of shape (k,).

    With v = n / (W p)^2 / N the Hessian is W' diag(v) W. Its part u u', u = W'v / sqrt(1'v), comes
    from the means of the columns under the weights v; D holds their variances. What is left out are
    the covariances of different columns, which are small where the outputs that different
    categories produce are nearly independent, as with bits, or mutually exclusive, as with k-RR.
    Reports that reveal their category have an entry in one column only, which adds to D: where
    there are such, means are over the other, protected ones.
    """

    D: Array
    u: Array

    @classmethod
    def at(cls, W: Rows, v: Array) -> DiagonalModel:
        first, second = W.adjoints(v)
        first, total = W.noise(v, first)
        # The floors keep the step finite for a category that all reports are equally likely under.
        D = np.maximum(second - first**2 / total, 1e-8 * second.max())
        return cls(D, np.maximum(first, 1e-8 * first.max()) / np.sqrt(total))

    def times(self, x: Array) -> Array:
        return np.asarray(self.D * x + self.u * (self.u @ x))

    def size(self, x: Array) -> float:
        """The length ``sqrt(x'H x)`` of a step; times sqrt(N) it counts standard errors."""
        return float(np.sqrt(x @ self.times(x)))

    def step(self, p: Array, g: Array) -> Array:
        """The x >= -p that minimises ``g.x + x'H x / 2``, by one sort.

        Stationarity is ``x = max(-p, -(g + u s)/D)`` with s = u.x; category i stays positive as
        long as s is below the level ``(D p - g)_i / u_i``.
        """
        D, u = self.D, self.u
        level = (D * p - g) / u
        order = np.argsort(-level)
        mass = (u * p)[order]
        outside = mass.sum() - np.cumsum(mass)
        s = -(np.cumsum((u * g / D)[order]) + outside) / (1.0 + np.cumsum((u * u / D)[order]))
        last = np.flatnonzero(level[order] > s)
        free = np.zeros(p.size, dtype=bool)
        free[order[: last[-1] + 1 if last.size else 1]] = True
        # Once more on the final set, without the cancellation in the running sums.
        fixed = u[~free] @ p[~free] + (u * g / D)[free].sum()
        exact = -fixed / (1.0 + (u[free] ** 2 / D[free]).sum())
        return np.where(free, np.maximum(-(g + u * exact) / D, -p), -p)


def proximal_newton(
    W: Rows,
    n: Array,
    start: Array,
    target: float,
    max_step: float = np.inf,
    max_iter: int = 200,
    model_at: Callable[[Rows, Array], Model] = DiagonalModel.at,
    stale: float = STALE,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, from `start`, shape (k,).

    With the penalty -N sum(p), which leaves the maximum where it is, p >= 0 is the only constraint.
    Each iteration minimises a model of the likelihood exactly, of diagonal plus rank one unless
    `model_at` gives another, adds a multiple of the last step as conjugate gradients do, and
    searches the line exactly. Every product with W is one pass over the reports: three an
    iteration, two once the curvature has settled. The model, of the weights ``n / (W p)^2 / N``, is
    made anew once an entry of W p has changed by more than `stale`, relatively, or by more than
    1e-2 in the root mean square. It stops at a gap of `target` with a step below `max_step`
    standard errors left.
    """
    total = float(n.sum())
    p, d = start, W.mix(start)
    if not d.min() > 0.0:
        require_possible(W)
        p = 0.5 * start + 0.5 / start.size
        d = W.mix(p)
    best, best_at = Ascent(p, np.inf, 0, False), 0
    moved, last = np.inf, None
    model: Model | None = None
    for i in range(max_iter + 1):
        weight = n / (d * total)
        score = W.adjoint(weight)
        g, gap = 1.0 - score, max(float(score.max()) - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best, best_at = Ascent(p, gap, i, False), i
        if model is None or moved > 1.0:
            model = model_at(W, weight / d)
        x = model.step(p, g)
        if gap <= target and np.sqrt(total) * model.size(x) <= max_step:
            q = np.where(x <= -p, 0.0, p)  # the model sends these to zero; they are nearly there
            q /= q.sum()
            fresh = certified_gap(W, n, q)
            if fresh <= target:
                return Ascent(q, fresh, i, True)
        if i - best_at > _PATIENCE:
            break
        step = _conjugate(model, p, g, x, last)
        t, change = search(W, n, p, d, step)
        relative = t * np.abs(change) / d
        moved = max(np.sqrt(n @ relative**2 / total) / _REFRESH, relative.max() / stale)
        last = (t * step, x, model.size(x) ** 2)
        p, d = np.maximum(p + t * step, 0.0), d + t * change
        size = p.sum()
        p, d = p / size, d / size
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, best.n_iter, fresh <= target and not np.isfinite(max_step))


def _conjugate(
    model: Model, p: Array, g: Array, x: Array, last: tuple[Array, Array, float] | None
) -> Array:
    """The model's step x plus momentum (Polak and Ribiere), still within p >= 0."""
    if last is None:
        return x
    previous, previous_x, size = last
    beta = float(model.times(x) @ (x - previous_x)) / max(size, 1e-300)
    if not 0.0 < beta < 1.0:
        return x
    step = model.step(p, g - beta * model.times(previous))
    return step if g @ step < 0.0 else x
