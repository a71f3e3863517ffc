"""Compiled products with packed bits; imported only where a solver needs them, because of numba.

A byte of eight bits indexes a table of the 256 possible partial sums, so that a product costs one
look-up per byte. The plain numpy twins are `UnaryRows.mix` and `UnaryRows.adjoint`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.kernels import compiled

__all__ = ["bit_mix", "bit_sums"]

Array = npt.NDArray[Any]

# Rows of a table are a little longer than 256 entries: at a stride of a power of two the entries
# of the frequent byte 0 would all compete for the same cache lines (five times slower).
_STRIDE = 260

_BITS = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)  # bit j of byte c


def bit_mix(packed: npt.NDArray[np.uint8], x: Array) -> Array:
    """Y x for the bits Y, shape (u, k), of packed reports.

    Parameters
    ----------
    packed : array of uint8, shape (u, ceil(k/8))
        Bit j of a report is in byte j // 8 at position j % 8.
    x : array, shape (k,)

    Returns
    -------
    array, shape (u,)

    Examples
    --------
    >>> bit_mix(np.array([[0b101], [0b110]], dtype=np.uint8), np.array([1.0, 2.0, 4.0]))
    array([5., 6.])
    """
    width = packed.shape[1]
    padded = np.zeros(8 * width)
    padded[: x.size] = x
    table = np.empty((width, _STRIDE))
    table[:, :256] = padded.reshape(width, 8) @ _BITS.T
    out = np.empty(packed.shape[0])
    _gather(packed, table, out)
    return out


def bit_sums(packed: npt.NDArray[np.uint8], v: Array, k: int) -> Array:
    """Y' v for the bits Y, shape (u, k), of packed reports.

    Examples
    --------
    >>> bit_sums(np.array([[0b101], [0b110]], dtype=np.uint8), np.array([1.0, 10.0]), 3)
    array([ 1., 10., 11.])
    """
    table = np.zeros((packed.shape[1], _STRIDE))
    _scatter(packed, np.asarray(v, dtype=np.float64), table)
    return np.asarray((table[:, :256] @ _BITS).ravel()[:k])


@compiled
def _gather(packed: Any, table: Any, out: Any) -> None:
    u, width = packed.shape
    for i in range(u):
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0  # four sums: an addition need not wait for the last
        b = 0
        while b + 4 <= width:
            a0 += table[b, packed[i, b]]
            a1 += table[b + 1, packed[i, b + 1]]
            a2 += table[b + 2, packed[i, b + 2]]
            a3 += table[b + 3, packed[i, b + 3]]
            b += 4
        while b < width:
            a0 += table[b, packed[i, b]]
            b += 1
        out[i] = (a0 + a1) + (a2 + a3)


@compiled
def _scatter(packed: Any, v: Any, table: Any) -> None:
    u, width = packed.shape
    for i in range(u):
        weight = v[i]
        for b in range(width):
            table[b, packed[i, b]] += weight
