"""Newton's method for a likelihood with an explicit matrix W."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, certified_gap, require_possible, search
from ldpstats.estimators.solvers.dense import DenseModel
from ldpstats.estimators.solvers.proximal import DiagonalModel
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.rows.base import Rows

__all__ = ["newton"]

Array = npt.NDArray[Any]

_WARM_UP = 10  # EM steps before the first quadratic model
_PATIENCE = 20  # iterations without a smaller gap before giving up
_TINY = 1e-30  # EM sends probabilities here on their way to zero


def newton(
    W: Rows,
    n: Array,
    target: float,
    start: Array | None = None,
    max_step: float = np.inf,
    max_iter: int = 100,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, with the k x k Hessian.

    The problem is the minimisation of ``f(p) = -sum_i n_i log(W p)_i / N + sum(p)`` over p >= 0,
    whose solution sums to one by itself. Each iteration minimises the quadratic model of f over p
    >= 0, exactly (`DenseModel`), and searches the line to the model's minimum exactly. It starts at
    `start`, or after a few EM steps from the uniform p, and stops at a gap of `target` after a step
    below `max_step` standard errors: as f is self-concordant, a step of s < 1 leaves one of at most
    ``(s / (1 - s))^2``.
    """
    total, k = float(n.sum()), W.shape[1]
    p = np.full(k, 1.0 / k) if start is None else start
    d = W.mix(p)
    if not d.min() > 0.0:
        require_possible(W)
        p = 0.5 * p + 0.5 / k
        d = W.mix(p)
    for _ in range(_WARM_UP if start is None else 0):
        p = p * W.adjoint(n / (d * total))
        d = W.mix(p)
    p = np.where(p < _TINY, 0.0, p)
    best, best_at, step_size = Ascent(p, np.inf, 0, False), 0, np.inf
    for i in range(max_iter + 1):
        p = p / p.sum()
        d = W.mix(p)
        score = W.adjoint(n / (d * total))
        gap = max(float(score.max()) - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best, best_at = Ascent(p, gap, i, False), i
        if (gap <= target and step_size <= max_step) or i - best_at >= _PATIENCE:
            break
        v, g = n / (d * d * total), 1.0 - score
        step = DenseModel(W.gram(v)).step(p, g)
        t, change = search(W, n, p, d, step)
        if t == 0.0:  # columns so alike that rounding hides the way up; a diagonal model finds it
            step = DiagonalModel.at(W, v).step(p, g)
            t, change = search(W, n, p, d, step)
        step_size = float(np.sqrt(n @ (change / d) ** 2))
        if t == 0.0:
            break
        p = np.maximum(p + t * step, 0.0)
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, i, fresh <= target and step_size <= max_step)
