"""Do the laws of the reports determine the frequencies and the parameters?

The map from (p, theta) to the laws of the reports is polynomial. Where the rank of its Jacobian is
full at one point it is full almost everywhere, so that one generic point decides. For rational
channels the rank is computed without rounding, in the integers modulo a prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.parametric.matrices import PolynomialMatrix, powers

__all__ = ["generic_point", "unidentified", "unidentified_exactly"]

Array = npt.NDArray[Any]

_PRIME = 2**31 - 1
_ROUNDING = 1e-9  # singular value, relative to the largest, that counts as zero


def generic_point(k: int, m: int) -> tuple[list[Fraction], list[Fraction]]:
    """Frequencies and parameters between 0 and 1 that no simple equation holds for.

    Examples
    --------
    >>> p, theta = generic_point(3, 1)
    >>> sum(p) == 1, 0 < theta[0] < 1
    (True, True)
    """
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
    """Which frequencies and parameters the laws leave open: exactly, for rational Jacobians.

    Parameters
    ----------
    laws : sequence of matrices of Fractions, each of shape (k + m, l_g)
        Derivatives of the law of each group, at a generic point.
    k : int
        Number of frequencies, which sum to one.

    Returns
    -------
    array of bool, shape (k + m,)

    Examples
    --------
    Two categories that make the same reports:

    >>> half = Fraction(1, 2)
    >>> unidentified_exactly([[[half, half], [half, half]]], 2).tolist()
    [True, True]
    """
    size = len(laws[0])
    rows = [[1] * k + [0] * (size - k)]
    for law in laws:
        rows += [[_residue(law[x][y]) for x in range(size)] for y in range(len(law[0]))]
    return _null_pattern(np.array(rows, dtype=np.int64))


def unidentified(
    matrices: Sequence[PolynomialMatrix], x: Array | None = None
) -> npt.NDArray[np.bool_]:
    """Which frequencies and parameters the laws leave open, to rounding.

    Parameters
    ----------
    matrices : sequence of PolynomialMatrix
        The channel of each group.
    x : array, shape (k + m,), optional
        Where; a generic point by default.

    Returns
    -------
    array of bool, shape (k + m,)
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
    values = np.array([*theta], dtype=object)
    parts = [_combined(powers(values, exponents), coefficients)]
    for j in range(len(theta)):
        lower = exponents.copy()
        lower[:, j] = np.maximum(lower[:, j] - 1, 0)
        slopes = exponents[:, j] * powers(values, lower)
        parts.append(np.array(p, dtype=object)[None] @ _combined(slopes, coefficients))
    return [list(row) for part in parts for row in part]


def _combined(terms: Array, coefficients: Sequence[Any]) -> Array:
    """The sum of terms times coefficients, shape (k, l)."""
    return np.tensordot(terms, np.array(coefficients, dtype=object), axes=1)


def _residue(value: Fraction | int) -> int:
    """A rational number in the integers modulo the prime."""
    exact = Fraction(value)
    return exact.numerator % _PRIME * pow(exact.denominator, -1, _PRIME) % _PRIME


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
