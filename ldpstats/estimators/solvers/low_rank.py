"""A Hessian model for reports of several mechanisms: diagonal, plus rank one for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.proximal import DiagonalModel
from ldpstats.problems.rows.base import Rows

__all__ = ["LowRankModel"]

Array = npt.NDArray[Any]

_PASSES = 100  # far more than a piecewise linear equation needs


@dataclass(frozen=True, eq=False)
class LowRankModel:
    """Hessian model H = diag(D) + U U' of ``-sum_i n_i log(W p)_i / N``; D (k,), U (k, G).

    It is the sum of the `DiagonalModel` of each of the G groups of reports in W (`Rows.groups`).
    One for all of them would miss how they differ: where a mechanism protects some categories
    only, a noisy report raises the likelihood of all of these together.

    Examples
    --------
    >>> model = LowRankModel(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> g = np.array([1.0, -1.0])
    >>> x = model.step(np.array([0.5, 0.5]), g)
    >>> x.round(4), (g + model.times(x)).round(4)   # p + x is zero, or its slope is
    (array([-0.5   ,  0.2143]), array([0.2143, 0.    ]))
    """

    D: Array
    U: Array

    @classmethod
    def at(cls, W: Rows, v: Array) -> LowRankModel:
        models = [DiagonalModel.at(part, w) for part, w in W.groups(v)]
        D = np.sum([model.D for model in models], axis=0)
        return cls(D, np.stack([model.u for model in models], axis=1))

    def times(self, x: Array) -> Array:
        return np.asarray(self.D * x + self.U @ (x @ self.U))

    def size(self, x: Array) -> float:
        """The length ``sqrt(x'H x)`` of a step; times sqrt(N) it counts standard errors."""
        return float(np.sqrt(x @ self.times(x)))

    def step(self, p: Array, g: Array) -> Array:
        """The x >= -p that minimises ``g.x + x'H x / 2``.

        Stationarity is ``x(s) = max(-p, -(g + U s)/D)`` with s = U'x(s): G equations, piecewise
        linear, whose left side s - U'x(s) is the gradient of a convex function of s. Newton's
        method solves them once it knows which entries of x are above -p.
        """
        s = np.zeros(self.U.shape[1])
        x, left = self._at(s, p, g)
        for _ in range(_PASSES):
            free = x > -p
            U = self.U[free]
            curvature = np.eye(s.size) + U.T @ (U / self.D[free, None])
            move = -np.linalg.solve(curvature, left)
            t, x, left = self._search(s, move, left, p, g)
            s = s + t * move
            if t == 1.0 and np.array_equal(free, x > -p):
                break
        return x

    def _at(self, s: Array, p: Array, g: Array) -> tuple[Array, Array]:
        x = np.maximum(-(g + self.U @ s) / self.D, -p)
        return x, s - x @ self.U

    def _search(
        self, s: Array, move: Array, left: Array, p: Array, g: Array
    ) -> tuple[float, Array, Array]:
        """How far to go along `move`: all the way, or to where the slope has fallen somewhat."""
        enough = 0.9 * abs(float(move @ left))
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(50):
            x, found = self._at(s + t * move, p, g)
            slope = float(move @ found)
            if abs(slope) <= enough:
                break
            low, high = (low, t) if slope > 0.0 else (t, high)
            t = (low + high) / 2.0
        return t, x, found
