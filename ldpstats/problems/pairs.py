"""Decoded reports of two variables together: their products, and the noise of these.

Respondents randomise their answers independently, so that ``phi_x kron phi_y`` is unbiased for the
indicator of the pair of true categories. Its covariance given these, with E_x the matrix that has a
one at (x, x) alone, is ``C_x kron C_y + E_x kron C_y + C_x kron E_y``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.decoding import Decoding

__all__ = ["pair_noise", "pair_table", "report_covariance"]

Array = npt.NDArray[Any]


def pair_table(first: Array, second: Array) -> Array:
    """Pairs of decoded reports, (u, a) and (u, b): products, both, and one; (u, ab + a + b + 1)."""
    products = np.einsum("ia,ib->iab", first, second).reshape(len(first), -1)
    return np.hstack([products, first, second, np.ones((len(first), 1))])


def pair_noise(totals: Array, first: Decoding, second: Decoding) -> Array:
    """Randomisation covariance of totals of `pair_table`, (m, m) with m = ab + a + b + 1.

    Parameters
    ----------
    totals : array, shape (m,)
        Sums of `pair_table` in which each respondent counts by her squared weight.
    first, second : Decoding
        Of a and of b categories.
    """
    a, b = first.k, second.k
    cells = a * b
    T, rows, columns = (
        totals[:cells].reshape(a, b),
        totals[cells : cells + a],
        totals[cells + a : -1],
    )
    every = float(totals[-1])
    found = np.zeros((totals.size, totals.size))
    whole = found[:cells, :cells].reshape(a, b, a, b)
    of_rows, of_columns = found[:cells, cells : cells + a], found[:cells, cells + a : -1]
    crossed, beside = of_rows.reshape(a, b, a), of_columns.reshape(a, b, b)
    for y in range(b):
        own = first.noise(T[:, y], float(columns[y]))
        whole[:, y, :, y] += own
        crossed[:, y, :] = own
    for x, unit in enumerate(np.eye(a + 1, a)):  # the last is any other answer
        pairs, size = (T[x], rows[x]) if x < a else (columns - T.sum(axis=0), every - rows.sum())
        own = second.noise(pairs, float(size))
        whole += np.einsum("ik,jl->ijkl", first.noise(unit, 1.0), own)
        if x < a:
            whole[x, :, x, :] += own
            beside[x] = own
    found[cells : cells + a, :cells] = of_rows.T
    found[cells + a : -1, :cells] = of_columns.T
    found[cells : cells + a, cells : cells + a] = first.noise(rows, every)
    found[cells + a : -1, cells + a : -1] = second.noise(columns, every)
    return found


def report_covariance(decoding: Decoding, p: Array) -> Array:
    """Covariance of the decoded report of one respondent whose category has the law p, (k, k)."""
    return np.asarray(decoding.noise(p, 1.0) + np.diag(p) - np.outer(p, p))
