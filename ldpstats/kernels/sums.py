"""Compiled sums of the bits of packed reports; imported only where arrays are long, for numba.

The plain numpy twin is in `sampling.packing`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ldpstats.kernels.words import compiled

__all__ = ["add_bits"]


@partial(compiled, nogil=True)
def add_bits(packed: Any, cell: Any, spread: Any, lanes: Any, filled: Any, total: Any) -> None:
    """Add the bits of report i to the sums of its cell, total[cell[i]], (C, 8 w).

    `packed` has the n reports of w bytes one after another. `spread` lays the eight bits of a byte
    into the eight bytes of a word, so that `lanes`, (C, w), sums eight bits at a time. A byte holds
    255 at most: then, after `filled`, (C,), reports of a cell, its lanes are emptied into `total`.
    """
    each, sums, width = lanes.view(np.uint8), lanes.reshape(-1), lanes.shape[1]
    for i in range(cell.shape[0]):
        c = np.int64(cell[i])
        report, own = i * width, c * width
        for b in range(width):
            sums[own + b] += spread[packed[report + b]]
        filled[c] += 1
        if filled[c] == 255:
            total[c] += each[c]
            lanes[c], filled[c] = 0, 0
