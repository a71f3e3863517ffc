"""Quadratic models of a likelihood by a dense Hessian, minimised exactly over p >= 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DenseModel"]

Array = npt.NDArray[Any]

_PIVOTS = 3  # exchanges of many entries that may fail to reduce the number of wrong ones
_MOST_PIVOTS = 60


class DenseModel:
    """A dense model H, shape (k, k), of the Hessian of ``-sum_i n_i log(W p)_i / N``.

    Where H is singular, because columns of W coincide or nearly do, a ridge far below any curvature
    that the data can show makes it definite; it slows the last digits, and moves no solution. From
    step to step the same entries tend to be free: their Cholesky factor is kept.
    """

    def __init__(self, H: Array) -> None:
        self.H, self._factor = _definite(H)
        self._free = np.ones(len(H), dtype=bool)

    def times(self, x: Array) -> Array:
        """H x."""
        return np.asarray(self.H @ x)

    def size(self, x: Array) -> float:
        """The length ``sqrt(x'H x)`` of a step; times sqrt(N) it counts standard errors."""
        return float(np.sqrt(x @ self.times(x)))

    def step(self, p: Array, g: Array) -> Array:
        """The x >= -p that minimises ``g.x + x'H x / 2``."""
        x = self.pivoted(p, g)
        return self.least_squares(p, g) if x is None else x

    def pivoted(self, p: Array, g: Array) -> Array | None:
        """`step` by block principal pivoting (Judice & Pires 1994), warm: a few linear systems.

        Entries are at -p or free to solve their equations; all that violate their sign change
        sides, and one at a time where that does not reduce their number. None where rounding makes
        it cycle.
        """
        free, fewest, patience = (p > 0.0) | (g < 0.0), p.size + 1, _PIVOTS
        for _ in range(_MOST_PIVOTS):
            x = self._solved(p, g, free)
            slope = g + self.H @ x
            wrong = np.where(free, x < -p, slope < -1e-12 * np.abs(g).max())
            found = int(wrong.sum())
            if found == 0:
                return x
            if found < fewest:
                fewest, patience = found, _PIVOTS
            else:
                patience -= 1
            free = free ^ (wrong if patience >= 0 else _last(wrong))
        return None

    def least_squares(self, p: Array, g: Array) -> Array:
        """`step` as non-negative least squares; slower and harder to upset.

        With H = R'R, q = p + x minimises ``|R q - R p + R'^-1 g|`` over q >= 0.
        """
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        lower = _definite(self.H)[1]
        right = lower.T @ p - solve_triangular(lower, g, lower=True)
        try:
            q, _ = nnls(lower.T, right, maxiter=30 * p.size)
        except RuntimeError:  # it may cycle where columns nearly coincide; keep the positive
            q = p
        # q - p would lose the digits of a small step; on positive entries it solves an equation.
        free, x = q > 0.0, -p
        while free.any():
            x = self._solved(p, g, free)
            if np.all(x >= -p):
                break
            free &= x > -p
        return x if g @ x < 0.0 else np.asarray(q - p)

    def _solved(self, p: Array, g: Array, free: Array) -> Array:
        """The x that is -p off the free entries and has slope ``g + H x = 0`` on them."""
        from scipy.linalg import lapack

        x, rest = -p, ~free
        if free.any():
            if not np.array_equal(free, self._free):
                self._free, self._factor = free.copy(), _definite(self.H[np.ix_(free, free)])[1]
            right = self.H[np.ix_(free, rest)] @ p[rest] - g[free]
            x[free] = lapack.dpotrs(self._factor, right, lower=1)[0]
        return x


def _last(wrong: Array) -> Array:
    """The last of the entries alone, as a mask."""
    return np.asarray(np.arange(wrong.size) == np.flatnonzero(wrong)[-1])


def _definite(H: Array) -> tuple[Array, Array]:
    """H with the smallest ridge, from 1e-14 of its largest diagonal entry, that has a factor."""
    scale = float(H.diagonal().max())
    for exponent in range(-14, 1):
        definite = H.copy()
        definite[np.diag_indices_from(H)] += 10.0**exponent * scale
        try:
            return definite, np.asfortranarray(np.linalg.cholesky(definite))
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("the Hessian of the log-likelihood is not finite")
