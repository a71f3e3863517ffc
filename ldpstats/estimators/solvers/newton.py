"""Newton's method for a likelihood with an explicit matrix W."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, certified_gap, require_possible, search
from ldpstats.estimators.solvers.proximal import DiagonalModel
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.rows.base import Rows

__all__ = ["model_step", "newton"]

Array = npt.NDArray[Any]

_WARM_UP = 10  # EM steps before the first quadratic model
_PATIENCE = 20  # iterations without a smaller gap before giving up
_PIVOTS = 3  # exchanges of many entries that may fail to reduce the number of wrong ones
_MOST_PIVOTS = 60
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
    >= 0, exactly (`model_step`), and searches the line to the model's minimum exactly. It starts at
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
        step = model_step(W.gram(v), p, g)
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


def model_step(H: Array, p: Array, g: Array) -> Array:
    """The x >= -p that minimises ``g.x + x'H x / 2``.

    Where H is singular, because columns of W coincide or nearly do, a ridge far below any curvature
    that the data can show makes it definite; it slows the last digits, and moves no solution.
    """
    definite, lower = _cholesky(H)
    x = _pivoted(definite, p, g, lower)
    return _least_squares(definite, lower, p, g) if x is None else x


def _pivoted(H: Array, p: Array, g: Array, lower: Array | None = None) -> Array | None:
    """`model_step` by block principal pivoting (Judice & Pires 1994), warm: a few linear systems.

    Entries are at -p or free to solve their equations; all that violate their sign change sides,
    and one at a time where that does not reduce their number. None where rounding makes it cycle.
    """
    free, fewest, patience = (p > 0.0) | (g < 0.0), p.size + 1, _PIVOTS
    for _ in range(_MOST_PIVOTS):
        x = _solved(H, p, g, free, lower)
        slope = g + H @ x
        wrong = np.where(free, x < -p, slope < -1e-12 * np.abs(g).max())
        found = int(wrong.sum())
        if found == 0:
            return x
        if found < fewest:
            fewest, patience = found, _PIVOTS
        else:
            patience -= 1
        free ^= wrong if patience >= 0 else np.arange(p.size) == np.flatnonzero(wrong)[-1]
    return None


def _solved(H: Array, p: Array, g: Array, free: Array, lower: Array | None = None) -> Array:
    """The x that is -p off the free entries and has slope ``g + H x = 0`` on them.

    `lower` is Cholesky's factor of all of H, if it is known.
    """
    from scipy.linalg import cho_solve

    x, rest = -p, ~free
    if lower is not None and free.all():
        return np.asarray(cho_solve((lower, True), -g))
    if free.any():
        factor = _cholesky(H[np.ix_(free, free)])[1]
        x[free] = cho_solve((factor, True), H[np.ix_(free, rest)] @ p[rest] - g[free])
    return x


def _least_squares(definite: Array, lower: Array, p: Array, g: Array) -> Array:
    """`model_step` as non-negative least squares; slower and harder to upset.

    With H = R'R, q = p + x minimises ``|R q - R p + R'^-1 g|`` over q >= 0.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    right = lower.T @ p - solve_triangular(lower, g, lower=True)
    try:
        q, _ = nnls(lower.T, right, maxiter=30 * p.size)
    except RuntimeError:  # it may cycle where columns nearly coincide; keep the positive entries
        q = p
    # q - p would lose the digits of a small step; on the positive entries it solves an equation.
    free, x = q > 0.0, -p
    while free.any():
        x = _solved(definite, p, g, free, lower)
        if np.all(x >= -p):
            break
        free &= x > -p
    return x if g @ x < 0.0 else np.asarray(q - p)


def _cholesky(H: Array) -> tuple[Array, Array]:
    """H with the smallest ridge, from 1e-14 of its largest diagonal entry, that has a factor."""
    scale = float(H.diagonal().max())
    for exponent in range(-14, 1):
        definite = H + 10.0**exponent * scale * np.eye(len(H))
        try:
            return definite, np.linalg.cholesky(definite)
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("the Hessian of the log-likelihood is not finite")
