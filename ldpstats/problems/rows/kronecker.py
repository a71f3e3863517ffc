"""Products of the rows of several variables, and of pairs of their categories."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "add_grams",
    "along_each",
    "contracted",
    "contracted_pairs",
    "khatri_rao",
    "n_pairs",
    "pairs",
    "unpacked",
]

Array = npt.NDArray[Any]


def khatri_rao(left: Array, right: Array) -> Array:
    """Row by row Kronecker products, shape (b, k_1 k_2)."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), left.shape[1] * right.shape[1])


def contracted(table: Array, matrices: Any, axis: int) -> Array:
    """The table summed with the given axis of a matrix along each of its own axes."""
    for W in matrices:  # each takes the first axis and puts its own last: d times restore the order
        table = np.tensordot(table, W, axes=(0, axis))
    return table


def along_each(tables: Array, matrices: Any, axis: int) -> Array:
    """`contracted` of several tables at once, shape (c, ...)."""
    for W in matrices:
        tables = np.tensordot(tables, W, axes=(1, axis))
    return tables


def pairs(rows: Array) -> Array:
    """Products of columns i <= s of (b, k) rows, shape (b, k (k + 1) / 2), by i, then s."""
    k = rows.shape[1]
    columns = np.ascontiguousarray(rows.T)
    out = np.empty((n_pairs(k), len(rows)), dtype=rows.dtype)
    end = 0
    for i in range(k):
        start, end = end, end + k - i
        np.multiply(columns[i], columns[i:], out=out[start:end])
    return out.T


def n_pairs(k: int) -> int:
    """Columns of `pairs`."""
    return k * (k + 1) // 2


def contracted_pairs(table: Array, W: Array, block: int) -> Array:
    """The table summed along its first axis with `pairs` of W, which are put last."""
    total = np.zeros((*table.shape[1:], n_pairs(W.shape[1])))
    step = max(1, block // total.shape[-1])
    for start in range(0, len(W), step):
        rows = slice(start, start + step)
        total += np.tensordot(table[rows], pairs(W[rows]), axes=(0, 0))
    return total


def add_grams(total: Array, weights: Array, W: Array, block: int) -> None:
    """Add ``W' diag(w) W`` for each column w of the weights, (b, m), to the total, (m, k, k)."""
    b, k = W.shape
    step = max(1, block // (b * k))
    columns = np.ascontiguousarray(W.T)
    for start in range(0, len(total), step):
        some = slice(start, start + step)
        weighted = weights.T[some, None, :] * columns
        total[some] += (weighted.reshape(-1, b) @ W).reshape(-1, k, k)


def unpacked(packed: Array, sizes: Sequence[int], order: Sequence[int]) -> Array:
    """The (k, k) matrix, k = k_1 ... k_d, whose cells are found in `packed`.

    Its axes are the variables in the given order, each a cell per `pairs`; but where there is one
    more, the last two are the categories of the last variable.
    """
    d, cells = len(sizes), []
    for axis in order:
        size = sizes[axis]
        first, second = np.indices((size, size))
        low, high = np.minimum(first, second), np.maximum(first, second)
        whole = packed.ndim > d and axis == order[-1]
        at = [1] * (2 * d)
        at[axis] = at[d + axis] = size
        for cell in (low, high) if whole else (low * (2 * size - low - 1) // 2 + high,):
            cells.append(cell.reshape(at))
    k = prod(sizes)
    return np.asarray(packed[tuple(cells)].reshape(k, k))
