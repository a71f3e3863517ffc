"""The likelihood of groups of reports whose channels share unknown parameters.

The entries of their matrices are polynomials in the parameters. Do the laws of the reports
determine the frequencies and the parameters? The map from (p, theta) to the laws is polynomial:
where the rank of its Jacobian is full at one point it is full almost everywhere, so that one
generic point decides. For rational channels the rank is computed without rounding, in the integers
modulo a prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ParametricLikelihood",
    "PolynomialMatrix",
    "exact_jacobian",
    "generic_point",
    "unidentified",
    "unidentified_exactly",
]


Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ParametricLikelihood:
    """Reports of several groups: ``sum_g sum_y n_gy log (p Q_g(theta))_y``.

    A point x, shape (k + m,), is the frequencies p followed by the parameters theta. Functions take
    many points at once, shape (..., k + m), as where many surveys are fitted together: the counts,
    (..., l_g) of each group, may then have leading axes too.
    """

    matrices: tuple[PolynomialMatrix, ...]
    counts: tuple[Array, ...]

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.matrices[0].shape[1]

    @property
    def m(self) -> int:
        """Number of unknown parameters."""
        return self.matrices[0].shape[0]

    @property
    def size(self) -> int:
        """k + m."""
        return self.k + self.m

    @cached_property
    def nobs(self) -> Array:
        """Reports of all groups together, shape (...)."""
        return np.asarray(sum(n.sum(axis=-1) for n in self.counts))

    def take(self, rows: Any) -> ParametricLikelihood:
        """The likelihood of some of many surveys."""
        return ParametricLikelihood(self.matrices, tuple(n[rows] for n in self.counts))

    def laws(self, x: npt.ArrayLike) -> list[Array]:
        """Laws of a report in each group, each of shape (..., l_g)."""
        p, theta = self._parts(x)
        return [np.einsum("...k,...kl->...l", p, Q.at(theta)) for Q in self.matrices]

    def jacobians(self, x: npt.ArrayLike) -> list[Array]:
        """Derivatives of the laws by p and theta, each of shape (..., k + m, l_g)."""
        p, theta = self._parts(x)
        jacobians = []
        for Q in self.matrices:
            by_theta = np.einsum("...k,...jkl->...jl", p, Q.derivatives(theta))
            jacobians.append(np.concatenate([Q.at(theta), by_theta], axis=-2))
        return jacobians

    def bends(self, x: npt.ArrayLike, weights: Sequence[Array]) -> Array:
        """Second derivatives of the laws, weighted, (..., l_g), and summed: (..., k + m, k + m).

        A law is linear in the frequencies, and not in frequencies and parameters together.
        """
        p, theta = self._parts(x)
        bends, k = np.zeros((*p.shape[:-1], self.size, self.size)), self.k
        for w, Q in zip(weights, self.matrices, strict=True):
            mixed = np.einsum("...jkl,...l->...kj", Q.derivatives(theta), w)
            bends[..., :k, k:] += mixed
            bends[..., k:, :k] += np.swapaxes(mixed, -1, -2)
            twice = Q.second_derivatives(theta)
            bends[..., k:, k:] += np.einsum("...ijkl,...k,...l->...ij", twice, p, w)
        return bends

    def loglike(self, x: npt.ArrayLike) -> Array:
        """Log-likelihood in nats, shape (...); -inf where a report that was seen is impossible."""
        total: Any = 0.0
        for n, law in zip(self.counts, self.laws(x), strict=True):
            log = np.log(np.where(law > 0.0, law, 1.0))
            terms = np.where(n > 0.0, n * log, 0.0).sum(axis=-1)
            total = total + np.where(np.any((n > 0.0) & (law <= 0.0), axis=-1), -np.inf, terms)
        return np.asarray(total)

    def score(self, x: npt.ArrayLike) -> Array:
        """Derivatives of the log-likelihood, shape (..., k + m)."""
        pairs = zip(self.counts, self.laws(x), self.jacobians(x), strict=True)
        total: Any = 0.0
        for n, law, J in pairs:
            ratio = np.where(n > 0.0, n / np.where(n > 0.0, law, 1.0), 0.0)
            total = total + np.einsum("...dl,...l->...d", J, ratio)
        return np.asarray(total)

    def evaluate(self, x: npt.ArrayLike) -> tuple[Array, Array]:
        """`loglike` and `score` of one survey in one pass, at points of shape (c, k + m)."""
        p, theta = self._parts(x)
        value: Any = 0.0
        by_p: Any = 0.0
        by_theta: Any = 0.0
        for n, Q in zip(self.counts, self.matrices, strict=True):
            terms, slopes = Q.terms(theta)
            parts = np.tensordot(p, Q.coefficients, axes=(1, 1))  # (c, T, l)
            law = np.einsum("ct,ctl->cl", terms, parts)
            seen = n > 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                value = value + np.log(law[:, seen]) @ n[seen]
                ratio = np.where(seen, n / law, 0.0)
            each = np.tensordot(ratio, Q.coefficients, axes=(1, 2))  # (c, T, k)
            by_p = by_p + np.einsum("ct,ctk->ck", terms, each)
            by_theta = by_theta + np.einsum("cjt,ctl,cl->cj", slopes, parts, ratio)
        return np.asarray(value), np.concatenate([by_p, by_theta], axis=1)

    def information(self, x: npt.ArrayLike) -> Array:
        """Expected information of all reports, shape (..., k + m, k + m)."""
        pairs = zip(self.counts, self.laws(x), self.jacobians(x), strict=True)
        total: Any = 0.0
        for n, law, J in pairs:
            nobs = np.asarray(n.sum(axis=-1))[..., None]
            weight = np.where(law > 0.0, nobs / np.where(law > 0.0, law, 1.0), 0.0)
            total = total + np.einsum("...dl,...l,...el->...de", J, weight, J)
        return np.asarray(total)

    def slope(self, x: npt.ArrayLike) -> Array:
        """``max score . (z - x) / nobs`` over all z in [0, 1]: what a first step could gain.

        Zero at a stationary point, which need be no global maximum.
        """
        point, score = np.asarray(x, dtype=np.float64), self.score(x)
        by_p, by_theta = score[..., : self.k], score[..., self.k :]
        p, theta = point[..., : self.k], point[..., self.k :]
        gain = by_p.max(axis=-1) - np.einsum("...k,...k->...", by_p, p)
        gain = gain + np.maximum(by_theta * (1.0 - theta), -by_theta * theta).sum(axis=-1)
        return np.asarray(gain / self.nobs)

    def _parts(self, x: npt.ArrayLike) -> tuple[Array, Array]:
        point = np.asarray(x, dtype=np.float64)
        return point[..., : self.k], point[..., self.k :]


# -- Channel matrices whose entries are polynomials in unknown parameters -------------------------


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
        derivatives: Array = np.tensordot(np.stack(slopes, axis=-2), self.coefficients, axes=1)
        return derivatives

    def second_derivatives(self, theta: npt.ArrayLike) -> Array:
        """Its second derivatives at parameters of shape (..., m): shape (..., m, m, k, l).

        Examples
        --------
        >>> square = PolynomialMatrix(np.array([[2]]), np.ones((1, 1, 1)))
        >>> square.second_derivatives([0.7]).ravel()
        array([2.])
        """
        values, m = np.asarray(theta, dtype=np.float64), self.shape[0]
        second = np.zeros((*values.shape[:-1], m, *self.shape))
        for j in range(m):
            second[..., j, :, :, :] = self.derivative(j).derivatives(values)
        return second

    def derivative(self, j: int) -> PolynomialMatrix:
        """The derivative by parameter j, as polynomials."""
        scaled = self.exponents[:, j, None, None] * self.coefficients
        return PolynomialMatrix(_lower(self.exponents, j), scaled)

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
    return exponents[:, j] * powers(theta, _lower(exponents, j))


def _lower(exponents: Array, j: int) -> Array:
    """The exponents, (T, m), once parameter j was differentiated by."""
    lower = exponents.copy()
    lower[:, j] = np.maximum(lower[:, j] - 1, 0)
    return lower


# -- Do the laws of the reports determine the frequencies and the parameters? ---------------------


_PRIME = 2**31 - 1
_ROUNDING = 1e-9  # singular value, relative to the largest, that counts as zero


def generic_point(k: int, m: int) -> tuple[list[Fraction], list[Fraction]]:
    """Frequencies and parameters between 0 and 1 that no simple equation holds for."""
    # remainders of a linear congruential generator: fixed, and without a pattern
    state, drawn = 20_011, []
    for _ in range(k + m):
        state = (state * 48_271) % _PRIME
        drawn.append(Fraction(1 + state % 99_991, 100_003))
    total = sum(drawn[:k], Fraction(0))
    return [value / total for value in drawn[:k]], drawn[k:]


def unidentified_exactly(
    laws: Sequence[Sequence[Sequence[Fraction]]], k: int
) -> npt.NDArray[np.bool_]:
    """Which frequencies and parameters, (k + m,), the laws leave open: exactly.

    `laws` are the derivatives of the law of each group at a generic point, matrices of Fractions of
    shape (k + m, l_g); the k frequencies sum to one.

    Examples
    --------
    Two categories that make the same reports:

    >>> half = Fraction(1, 2)
    >>> unidentified_exactly([[[half, half], [half, half]]], 2).tolist()
    [True, True]
    """
    size = len(laws[0])

    def residue(value: Fraction | int) -> int:
        exact = Fraction(value)
        return exact.numerator % _PRIME * pow(exact.denominator, -1, _PRIME) % _PRIME

    rows = [[1] * k + [0] * (size - k)]
    for law in laws:
        rows += [[residue(law[x][y]) for x in range(size)] for y in range(len(law[0]))]
    return _null_pattern(np.array(rows, dtype=np.int64))


def unidentified(
    matrices: Sequence[PolynomialMatrix], x: Array | None = None
) -> npt.NDArray[np.bool_]:
    """Which frequencies and parameters, (k + m,), the laws leave open, to rounding.

    At x, (k + m,), by default a generic point; `matrices` are the channels of the groups.
    """
    m, k, _ = matrices[0].shape
    if x is None:
        p, theta = generic_point(k, m)
        x = np.array([float(v) for v in (*p, *theta)])
    rows = [np.r_[np.ones(k), np.zeros(m)][None]]
    for Q in matrices:
        by_theta = np.einsum("k,jkl->lj", x[:k], Q.derivatives(x[k:]))
        rows.append(np.concatenate([Q.at(x[k:]).T, by_theta], axis=1))
    J = np.concatenate(rows)
    scale = np.sqrt(np.square(J).sum(axis=0))
    flat = scale <= _ROUNDING * scale.max()  # of a coin for two steps that do the same there
    J[:, flat], scale[flat] = 0.0, 1.0
    _, values, right = np.linalg.svd(J / scale, full_matrices=True)
    rank = int(np.sum(values > _ROUNDING * values[0]))
    null = right[rank:] / scale
    return np.asarray(np.any(np.abs(null) > 1e-6 * np.abs(null).max(initial=0.0), axis=0))


def exact_jacobian(
    exponents: Array, coefficients: Any, p: Sequence[Fraction], theta: Sequence[Fraction]
) -> list[list[Fraction]]:
    """Derivatives of a law by p and theta, shape (k + m, l), without rounding.

    `coefficients`, nested lists of shape (T, k, l), are Fractions.
    """
    values, C = np.array([*theta], dtype=object), np.array(coefficients, dtype=object)
    parts = [np.tensordot(powers(values, exponents), C, axes=1)]
    for j in range(len(theta)):
        by_theta = np.tensordot(_slopes(values, exponents, j), C, axes=1)
        parts.append(np.array(p, dtype=object)[None] @ by_theta)
    return [list(row) for part in parts for row in part]


def _null_pattern(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which columns take part in the null space of a matrix modulo the prime."""
    J, done, pivots = rows % _PRIME, 0, []
    for column in range(J.shape[1]):
        below = np.flatnonzero(J[done:, column])
        if not below.size:
            continue
        J[[done, done + below[0]]] = J[[done + below[0], done]]
        J[done] = J[done] * pow(int(J[done, column]), -1, _PRIME) % _PRIME
        others = np.flatnonzero(J[:, column])
        others = others[others != done]
        J[others] = (J[others] - J[others, column, None] * J[done] % _PRIME) % _PRIME
        pivots.append(column)
        done += 1
        if done == len(J):
            break
    free = np.setdiff1d(np.arange(J.shape[1]), pivots)
    pattern = np.zeros(J.shape[1], dtype=bool)
    pattern[free] = True
    pattern[pivots] = J[: len(pivots)][:, free].any(axis=1)
    return pattern
