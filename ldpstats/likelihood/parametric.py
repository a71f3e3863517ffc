"""Channel matrices whose entries are polynomials in unknown parameters, and what they identify.

Do the laws of the reports determine the frequencies and the parameters? The map from (p, theta) to
the laws is polynomial: where the rank of its Jacobian is full at one point it is full almost
everywhere, so that one generic point decides. For rational channels the rank is computed without
rounding, in the integers modulo a prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record

# -- Channel matrices whose entries are polynomials in unknown parameters -------------------------


@record
class PolynomialMatrix:
    """A matrix Q(theta) whose entries are polynomials in m parameters.

    ``Q(theta) = sum_t coefficients[t] * prod_j theta_j ** exponents[t, j]``. A known matrix has one
    term, whose exponents are zero.

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

    exponents: npt.NDArray[np.int64]  # (T, m): powers of the parameters, a row for each term
    coefficients: Array  # (T, k, l): what multiplies each term

    @classmethod
    def constant(cls, Q: Array, m: int) -> PolynomialMatrix:
        """A known matrix, shape (k, l), among m parameters."""
        return cls(np.zeros((1, m), dtype=np.int64), floats(Q)[None])

    @classmethod
    def beside(cls, matrices: Sequence[PolynomialMatrix]) -> PolynomialMatrix:
        """The matrices of several groups as one: the reports of the first, and so on."""
        exponents, place = np.unique(
            np.concatenate([Q.exponents for Q in matrices]), axis=0, return_inverse=True
        )
        ends = np.cumsum([0, *(Q.shape[2] for Q in matrices)])
        coefficients = np.zeros((len(exponents), matrices[0].shape[1], ends[-1]))
        rows = np.split(place.ravel(), np.cumsum([len(Q.exponents) for Q in matrices[:-1]]))
        for Q, at, start, end in zip(matrices, rows, ends, ends[1:], strict=False):
            np.add.at(coefficients[:, :, start:end], at, Q.coefficients)
        return cls(exponents, coefficients)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Parameters, categories and reports: (m, k, l)."""
        return (self.exponents.shape[1], *self.coefficients.shape[1:])

    def at(self, theta: npt.ArrayLike, order: int = 0) -> Array:
        """The matrix at parameters of shape (..., m): shape (..., k, l); or its derivatives.

        Of `order` one they are of shape (..., m, k, l), of two (..., m, m, k, l).

        Examples
        --------
        >>> square = PolynomialMatrix(np.array([[2]]), np.ones((1, 1, 1)))
        >>> square.at([0.7], 2).ravel()
        array([2.])
        """
        values = self.powers(floats(theta), order)
        return np.tensordot(values, self.coefficients, axes=1)

    def powers(self, theta: Array, order: int = 0) -> Array:
        """The products of powers, (..., T), or their derivatives, (..., m, T) or (..., m, m, T)."""
        factors, exponents = self._orders[order]
        values = theta.reshape(*theta.shape[:-1], *[1] * (order + 1), theta.shape[-1])
        return np.asarray(factors * np.prod(values**exponents, axis=-1))

    @cached_property
    def _orders(self) -> list[tuple[Array, Array]]:
        """Factors, (m, ..., T), and exponents, (m, ..., T, m), of derivatives of order 0 to 2."""
        m = self.exponents.shape[1]
        orders = [(np.ones(len(self.exponents), dtype=np.int64), self.exponents)]
        for _ in range(2):
            factors, own = orders[-1]
            one = np.eye(m, dtype=np.int64).reshape(m, *[1] * (own.ndim - 1), m)
            by_each = np.moveaxis(factors[..., None] * own, -1, 0)
            orders.append((by_each, np.maximum(own - one, 0)))
        return orders

    def derivatives(self, theta: npt.ArrayLike) -> Array:
        """Its derivatives at parameters of shape (..., m): shape (..., m, k, l)."""
        return self.at(theta, 1)

    def take(self, outputs: Array) -> PolynomialMatrix:
        """The matrix of some of the reports."""
        return PolynomialMatrix(self.exponents, self.coefficients[:, :, outputs])

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Reports that some category makes at some parameters, shape (l,)."""
        return np.asarray(self.coefficients.any(axis=(0, 1)))


def crossed(
    each: Sequence[tuple[PolynomialMatrix, npt.NDArray[np.int64]]],
) -> tuple[PolynomialMatrix, npt.NDArray[np.int64]]:
    """Likelihoods over the combinations of several variables' categories, the last one fastest.

    Of matrices, and which report each row has, (n,): those of the distinct joint reports.

    Examples
    --------
    >>> card = PolynomialMatrix(np.array([[1]]), np.array([[[1.0, 3.0]]]))
    >>> joint, at = crossed([(card, np.array([0, 1, 1])), (card, np.array([1, 1, 1]))])
    >>> joint.at([0.5]).tolist(), at.tolist()
    ([[0.75, 2.25]], [0, 1, 1])
    """
    joint, at = each[0]
    for other, own in each[1:]:
        pairs, at = np.unique(at * other.shape[2] + own, return_inverse=True)
        first, second = np.divmod(pairs, other.shape[2])
        some = joint.coefficients[:, :, first], other.coefficients[:, :, second]
        coefficients = np.einsum("skr,tlr->stklr", *some)
        exponents = np.concatenate(joint.exponents[:, None] + other.exponents)
        table = coefficients.reshape(len(exponents), -1, len(pairs))
        joint = PolynomialMatrix(exponents, table)
    return joint, np.asarray(at, dtype=np.int64)


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


def scattered(m: int) -> Array:
    """Points all over (0, 1)^m, in rows, the first in the middle: to look for maxima from."""
    count = min(4 + 4 * m, 20)
    order = np.resize([1, 3, 7, 9, 11, 13, 17, 19], m)  # another one of the same values for each
    at = (np.arange(count)[:, None] * order + np.arange(m)) % count
    return np.vstack([np.full(m, 0.5), (at + 0.5) / count])


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
    _, values, right = np.linalg.svd(np.linalg.qr(J / scale, mode="r"), full_matrices=True)
    rank = int(np.sum(values > _ROUNDING * values[0]))
    null = right[rank:] / scale
    return np.asarray(np.any(np.abs(null) > 1e-6 * np.abs(null).max(initial=0.0), axis=0))


def exact_jacobian(
    exponents: Array, coefficients: Any, p: Sequence[Fraction], theta: Sequence[Fraction]
) -> list[list[Fraction]]:
    """Derivatives of a law by p and theta, shape (k + m, l), without rounding.

    `coefficients`, nested lists of shape (T, k, l), are Fractions.
    """
    Q, values = PolynomialMatrix(exponents, np.array(coefficients, object)), np.array(theta, object)
    by_p, slopes = (np.tensordot(Q.powers(values, order), Q.coefficients, 1) for order in (0, 1))
    return [*by_p.tolist(), *np.tensordot(np.array(p, object), slopes, (0, 1)).tolist()]


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
