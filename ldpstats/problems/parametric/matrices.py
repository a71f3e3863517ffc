"""Channel matrices whose entries are polynomials in unknown parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PolynomialMatrix", "powers"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PolynomialMatrix:
    """A matrix Q(theta) whose entries are polynomials in m parameters.

    ``Q(theta) = sum_t coefficients[t] * prod_j theta_j ** exponents[t, j]``. A known matrix has one
    term, whose exponents are zero.

    Parameters
    ----------
    exponents : array of int, shape (T, m)
        Powers of the parameters, a row for each term.
    coefficients : array, shape (T, k, l)
        What multiplies each term.

    Examples
    --------
    Warner's design with an unknown share of cards with the sensitive question:

    >>> warner = PolynomialMatrix(
    ...     np.array([[0], [1]]), np.array([[[0., 1.], [1., 0.]], [[1., -1.], [-1., 1.]]])
    ... )
    >>> warner.at([0.7])
    array([[0.7, 0.3],
           [0.3, 0.7]])
    >>> warner.derivatives([0.7])
    array([[[ 1., -1.],
            [-1.,  1.]]])
    """

    exponents: npt.NDArray[np.int64]
    coefficients: Array

    @classmethod
    def constant(cls, Q: Array, m: int) -> PolynomialMatrix:
        """A known matrix, shape (k, l), among m parameters."""
        return cls(np.zeros((1, m), dtype=np.int64), np.asarray(Q, dtype=np.float64)[None])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Parameters, categories and reports: (m, k, l)."""
        return (self.exponents.shape[1], *self.coefficients.shape[1:])

    def at(self, theta: npt.ArrayLike) -> Array:
        """The matrix at parameters of shape (..., m): shape (..., k, l)."""
        values = np.asarray(theta, dtype=np.float64)
        return np.asarray(np.tensordot(powers(values, self.exponents), self.coefficients, axes=1))

    def derivatives(self, theta: npt.ArrayLike) -> Array:
        """Its derivatives at parameters of shape (..., m): shape (..., m, k, l)."""
        values = np.asarray(theta, dtype=np.float64)
        slopes = [_slopes(values, self.exponents, j) for j in range(self.exponents.shape[1])]
        if not slopes:
            return np.zeros((*values.shape[:-1], *self.shape))
        found: Array = np.tensordot(np.stack(slopes, axis=-2), self.coefficients, axes=1)
        return found

    def second_derivatives(self, theta: npt.ArrayLike) -> Array:
        """Its second derivatives at parameters of shape (..., m): shape (..., m, m, k, l).

        Examples
        --------
        >>> square = PolynomialMatrix(np.array([[2]]), np.ones((1, 1, 1)))
        >>> square.second_derivatives([0.7]).ravel()
        array([2.])
        """
        values, m = np.asarray(theta, dtype=np.float64), self.shape[0]
        found = np.zeros((*values.shape[:-1], m, *self.shape))
        for j in range(m):
            lower = self.exponents.copy()
            lower[:, j] = np.maximum(lower[:, j] - 1, 0)
            scaled = self.exponents[:, j, None, None] * self.coefficients
            found[..., j, :, :, :] = PolynomialMatrix(lower, scaled).derivatives(values)
        return found

    def terms(self, theta: Array) -> tuple[Array, Array]:
        """Terms, (c, T), and their derivatives, (c, m, T), at parameters of shape (c, m)."""
        m = self.exponents.shape[1]
        slopes = [_slopes(theta, self.exponents, j) for j in range(m)]
        none = np.zeros((len(theta), 0, len(self.exponents)))
        return powers(theta, self.exponents), np.stack(slopes, axis=1) if m else none

    def take(self, outputs: Array) -> PolynomialMatrix:
        """The matrix of some of the reports."""
        return PolynomialMatrix(self.exponents, self.coefficients[:, :, outputs])

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Reports that some category makes at some parameters, shape (l,)."""
        return np.asarray(self.coefficients.any(axis=(0, 1)))


def powers(theta: Array, exponents: Array) -> Array:
    """The terms of polynomials, shape (..., T), at parameters of shape (..., m)."""
    return np.asarray(np.prod(theta[..., None, :] ** exponents, axis=-1))


def _slopes(theta: Array, exponents: Array, j: int) -> Array:
    """Derivatives of the terms by parameter j, shape (..., T)."""
    lower = exponents.copy()
    lower[:, j] = np.maximum(lower[:, j] - 1, 0)
    return exponents[:, j] * powers(theta, lower)
