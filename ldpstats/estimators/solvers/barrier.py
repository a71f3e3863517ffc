"""Maximise a likelihood less a quadratic penalty over the simplex, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, require_possible
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.rows.base import Rows

__all__ = ["Penalised", "penalised_maximum"]

Array = npt.NDArray[Any]

_SHRINK = 0.1  # of the barrier from one step to the next
_STAY = 0.99  # share of the way to the boundary that a step may take
_LEAST_STEP = 1e-8
_NEVER = 1e-9  # frequency, times the number of categories, below which an entry may be zero
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Penalised:
    """``f(p) = -sum_i n_i log(W p)_i / N + p'K p / 2``, minimised over the simplex; convex.

    `W` has shape (u, k), `n` (u,) with all counts positive, `K` (k, k) is positive semidefinite.
    """

    W: Rows
    n: Array
    K: Array

    @property
    def nobs(self) -> float:
        """Number of reports."""
        return float(self.n.sum())

    def gradient(self, p: Array) -> Array:
        """Gradient of f, shape (k,)."""
        d = self.W.mix(p)
        return np.asarray(self.K @ p - self.W.adjoint(self.n / (d * self.nobs)))

    def information(self, p: Array) -> Array:
        """Hessian of the first term, shape (k, k)."""
        d = self.W.mix(p)
        return self.W.gram(self.n / (d * d * self.nobs))

    def gap(self, p: Array) -> float:
        """``p.g - min g`` for the gradient g: f(p) exceeds its minimum by no more, as f is convex.

        It is never negative, and zero only at the minimum.
        """
        g = self.gradient(p)
        return max(float(p @ g - g.min()), 0.0)

    @property
    def rounding(self) -> float:
        """Gap that float64 cannot tell from zero."""
        scale = 1.0 + float(np.abs(self.K).max(initial=0.0)) / len(self.K)
        return _ROUNDING * scale


def penalised_maximum(f: Penalised, target: float, max_iter: int) -> tuple[Ascent, float]:
    """The minimum of f by a primal-dual interior point method, and its effective parameters.

    Every step solves ``(H + diag(z / p)) dp + dy 1 = tau / p - g - y 1`` with ``1'dp = 0`` for the
    multipliers z of p >= 0 and y of the sum (Boyd and Vandenberghe 2004, section 11.7). It starts
    at the uniform p and uses no random number. The effective parameters are the trace of
    ``(J + K + diag(z / p))^-1 J`` with J the information, restricted to changes that sum to zero.
    """
    k = len(f.K)
    p = np.full(k, 1.0 / k)
    if not f.W.mix(p).min() > 0.0:
        require_possible(f.W)
    goal = max(target, f.rounding)
    g = f.gradient(p)
    y = -float(p @ g)
    z = np.maximum(g + y, 0.1)
    for i in range(max_iter + 1):
        gap = max(float(p @ g - g.min()), 0.0)
        tell(gap, goal)
        if gap <= 0.1 * goal or i == max_iter:
            break
        tau = _SHRINK * float(p @ z) / k
        dp, dz, dy = _direction(f.information(p) + f.K, p, z, g + y, tau)
        t = min(_longest(p, dp), _longest(z, dz))
        least = _residual(p, z, g + y, tau)
        while t > _LEAST_STEP:
            at = p + t * dp
            slope = f.gradient(at)
            new = _residual(at, z + t * dz, slope + y + t * dy, tau)
            if new <= (1.0 - 0.01 * t) * least:
                break
            t /= 2.0
        else:
            break
        p, z, y = at / at.sum(), z + t * dz, y + t * dy
        g = f.gradient(p)
    df = _effective(f, p, z)
    p = _without_traces(f, p, goal)
    gap = f.gap(p)
    return Ascent(p, gap, i, gap <= goal), df


def _factor(A: Array) -> Any:
    from scipy.linalg import cho_factor

    return cho_factor(A, lower=True, check_finite=False)


def _solve(factor: Any, right: Array) -> Array:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve(factor, right, check_finite=False))


def _direction(
    H: Array, p: Array, z: Array, slope: Array, tau: float
) -> tuple[Array, Array, float]:
    """Newton step of p, z and y for the barrier tau; `slope` is the gradient plus y."""
    factor = _factor(H + np.diag(z / p))
    step, ones = _solve(factor, np.column_stack([tau / p - slope, np.ones(p.size)])).T
    dy = float(step.sum() / ones.sum())
    dp = step - dy * ones
    return dp, tau / p - z - z / p * dp, dy


def _longest(x: Array, change: Array) -> float:
    """The longest step of at most one that keeps x positive."""
    falls = change < 0.0
    return min(1.0, _STAY * float(np.min(-x[falls] / change[falls], initial=np.inf)))


def _residual(p: Array, z: Array, slope: Array, tau: float) -> float:
    """Distance from the conditions for the barrier tau."""
    return float(np.sqrt(((slope - z) ** 2).sum() + ((p * z - tau) ** 2).sum()))


def _effective(f: Penalised, p: Array, z: Array) -> float:
    J = f.information(p)
    factor = _factor(J + f.K + np.diag(z / p))
    ones = _solve(factor, np.ones(p.size))
    return float(np.trace(_solve(factor, J)) - ones @ J @ ones / ones.sum())


def _without_traces(f: Penalised, p: Array, goal: float) -> Array:
    """p with entries that the barrier alone keeps from zero set to zero, if its gap stays small."""
    kept = np.where(p * p.size < _NEVER, 0.0, p)
    kept /= kept.sum()
    return kept if f.gap(kept) <= max(goal, f.gap(p)) else p
