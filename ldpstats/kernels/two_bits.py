"""Compiled sums over the candidates that have both of their bits set in a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpstats.kernels.words import compiled

__all__ = ["pair_gram"]


@compiled
def pair_gram(packed: Any, weights: Any, cells: Any, m: int, both: Any, cross: Any) -> None:
    """Add the weighted sums of z_x z_y, x <= y, to `both`, and of z_x (bits, 1) to `cross`.

    Of reports of one cohort, whose candidates own two bits, (S, 2), the second m where it is none:
    z_x is 1 where a report has both bits of candidate x set; `both` has shape (S, S) and `cross`
    (S, m + 1). Few candidates have: what is added runs along a list of them.
    """
    S, width = cells.shape[0], packed.shape[1]
    bits, shares = np.zeros(8 * width + 1, np.uint8), np.empty(m + 1)
    owned = np.empty(S, np.int64)
    for i in range(packed.shape[0]):
        weight = weights[i]
        for b in range(width):
            for j in range(8):
                bits[8 * b + j] = (packed[i, b] >> j) & 1
        for j in range(m):
            shares[j] = weight * bits[j]
        shares[m] = weight
        found = 0
        for x in range(S):
            owned[found] = x
            found += bits[cells[x, 0]] & bits[cells[x, 1]]
        for s in range(found):
            row, one = both[owned[s]], cross[owned[s]]
            for t in range(s, found):
                row[owned[t]] += weight
            for j in range(m + 1):
                one[j] += shares[j]
