"""Compiled sums of the bits of packed reports; imported only where arrays are long, for numba.

The plain numpy twin is in `reports.layout`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ldpstats.kernels.words import compiled

__all__ = ["add_bits"]


@partial(compiled, nogil=True)
def add_bits(words: Any, cell: Any, lanes: Any, seen: Any, total: Any) -> None:
    """Add the bits of report i to the sums of its cell, cell[i], and count it in `seen`, (C,).

    `words` has the n reports of w 64-bit words one after another. Lane j of a word, of the eight in
    `lanes`, (C, 8 w), sums bit j of its eight bytes at once, each in a byte. A byte holds 255 at
    most: after 128 reports of a cell its lanes are emptied into `total`, (C, 64 w), in their order.
    """
    each, sums, width = lanes.view(np.uint8), lanes.reshape(-1), lanes.shape[1] // 8
    lowest = np.uint64(0x0101010101010101)
    for i in range(cell.shape[0]):
        c = np.int64(cell[i])
        for b in range(width):
            word, own = words[i * width + b], 8 * (c * width + b)
            for j in range(8):  # runs on vectors
                sums[own + j] += (word >> np.uint64(j)) & lowest
        seen[c] += 1
        if seen[c] & 127 == 0:
            for j in range(total.shape[1]):  # array expressions would take ten times to compile
                total[c, j] += each[c, j]
            for j in range(lanes.shape[1]):
                lanes[c, j] = 0
