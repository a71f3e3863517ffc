"""Maximise a likelihood through products with W alone, where its Hessian is far from diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, certified_gap
from ldpstats.estimators.solvers.proximal import DiagonalModel
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.rows.base import Rows

__all__ = ["interior_newton"]

Array = npt.NDArray[Any]

_SHRINK = 0.1  # of the barrier from one step to the next
_STAY = 0.995  # share of the way to the boundary that a step may take
_FORCING = 1e-2  # relative error of a Newton step, in its own norm
_MOST_PRODUCTS = 2000  # of the Hessian with a vector, for one step
_PATIENCE = 8  # iterations without a smaller gap before giving up


def interior_newton(
    W: Rows,
    n: Array,
    start: Array,
    target: float,
    max_step: float = np.inf,
    max_iter: int = 100,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex by a primal-dual interior point method.

    The penalty -N sum(p) makes p >= 0 the only constraint, as in `proximal_newton`. Each Newton
    step of ``-sum_i n_i log(W p)_i / N + sum(p) - mu sum_x log(p_x)`` is solved by conjugate
    gradients: two products with W for each, and no matrix of k x k. The preconditioner is the
    diagonal plus rank one Hessian of `DiagonalModel`, exact where p_x is on its way to zero. It
    stops at a gap of `target` after a step below `max_step` standard errors: as the barrier falls
    tenfold from step to step, what is left is shorter. All reports must be possible under `start`,
    shape (k,).
    """
    total, k = float(n.sum()), W.shape[1]
    p = 0.9 * start + 0.1 / k
    d = W.mix(p)
    weight = n / (d * total)
    g = 1.0 - W.adjoint(weight)
    mu = max(-float(g.min()), target) / k
    z = np.maximum(g, mu / p)
    best, best_at, size = Ascent(p, np.inf, 0, False), 0, np.inf
    for i in range(max_iter + 1):
        mass = float(p.sum())
        gap = max((1.0 - float(g.min())) * mass - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best, best_at = Ascent(p / mass, gap, i, size <= max_step), i
        if gap <= target and size <= max_step:
            # what is nearer to its bound than its slope, in the units of the curvature, is zero
            q = np.where(p * W.adjoints(weight / d)[1] < z, 0.0, p)
            q /= q.sum()
            fresh = certified_gap(W, n, q) if W.mix(q).min() > 0.0 else np.inf
            if fresh <= target:
                return Ascent(q, fresh, i, True)
        if i - best_at > _PATIENCE:
            break
        mu = _SHRINK * float(p @ z) / k
        x, change = _newton_step(W, weight / d, z / p, g - mu / p)
        dz = mu / p - z - z / p * x
        t = _damped(n / total, p, d, x, change, mu)
        size = np.sqrt(total * float((weight / d) @ change**2)) if t == 1.0 else np.inf
        z = z + min(1.0, _STAY * _longest(z, dz)) * dz
        p, d = p + t * x, d + t * change
        weight = n / (d * total)
        g = 1.0 - W.adjoint(weight)
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, i, fresh <= target and best.converged)


def _newton_step(W: Rows, v: Array, barrier: Array, g: Array) -> tuple[Array, Array]:
    """The x that solves ``(W' diag(v) W + diag(barrier)) x = -g``, and W x."""
    model = DiagonalModel.at(W, v)
    D = model.D + barrier
    across = model.u / D
    across /= np.sqrt(1.0 + model.u @ across)

    def preconditioned(r: Array) -> Array:
        return np.asarray(r / D - across * (across @ r))

    x, Wx, r = np.zeros_like(g), np.zeros_like(v), -g
    y = preconditioned(r)
    rho, step, length = float(r @ y), y, 0.0
    for _ in range(_MOST_PRODUCTS):
        if rho <= _FORCING**2 * length:
            break
        Wstep = W.mix(step)
        product = W.adjoint(v * Wstep) + barrier * step
        t = rho / float(step @ product)
        x, Wx, r = x + t * step, Wx + t * Wstep, r - t * product
        length += t * rho  # x'(W' diag(v) W + diag(barrier)) x so far
        y = preconditioned(r)
        rho, last = float(r @ y), rho
        step = y + (rho / last) * step
    return x, Wx


def _damped(share: Array, p: Array, d: Array, x: Array, change: Array, mu: float) -> float:
    """How far to go along x: the whole step, unless it leaves p > 0 or raises the objective."""
    far = min(_STAY * _longest(p, x), _STAY * _longest(d, change))
    t = 1.0 if far >= 1.0 else far
    for _ in range(30):
        fall = share @ np.log1p(t * change / d) - t * x.sum() + mu * np.log1p(t * x / p).sum()
        if fall >= -1e-14:
            break
        t /= 2.0
    return t


def _longest(p: Array, x: Array) -> float:
    """The largest t for which p + t x >= 0, for positive p."""
    down = x < 0.0
    return float(np.min(p[down] / -x[down], initial=1e3))
