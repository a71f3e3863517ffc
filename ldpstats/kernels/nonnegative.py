"""Compiled coordinate descent; imported only for designs that are large, because of numba.

The plain numpy twin is `ldpstats.estimators.constrained.sweep`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpstats.kernels.words import compiled

__all__ = ["sweep"]


@compiled
def sweep(
    cells: Any, weights: Any, columns: Any, shared: Any, pull: Any, sums: Any, p: Any
) -> float:
    """Minimise over one coordinate after another; see the twin for the arguments."""
    slope, background, weight = shared
    S, C, h = cells.shape
    none = pull.shape[1] - 1
    largest = 0.0
    for x in range(S):
        count, square, penalty = columns[x]
        if square <= 0.0:
            continue
        dense = slope * background * sums[0]
        own = dense * count
        for c in range(C):
            for j in range(h):
                own += pull[c, cells[x, c, j]]
        descent = slope * (own - background * (sums[1] + dense * weight)) - penalty
        step = max(descent / square, -p[x])
        if step != 0.0:
            p[x] += step
            sums[0] += step
            sums[1] -= slope * count * step
            for c in range(C):
                change = slope * step * weights[c]
                for j in range(h):
                    pull[c, cells[x, c, j]] -= change
                pull[c, none] = 0.0
            largest = max(largest, abs(step) * np.sqrt(square))
    return largest
