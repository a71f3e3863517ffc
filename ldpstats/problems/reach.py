"""What a single report can make of the linear estimate: its least and largest values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Pair", "bit_reach", "label_reach", "own_reach", "picked"]

Array = npt.NDArray[Any]
Pair = tuple[int, int]  # positions of the two categories of a difference, the first less the second


def picked(weights: Array, pair: Pair | None) -> Array:
    """Rows of weights, (k, d), of the categories, or the row of a difference, (1, d)."""
    return weights if pair is None else weights[[pair[0]]] - weights[[pair[1]]]


def own_reach(
    inverse: Any, offset: Any, k: int, bounds: tuple[float, float], pair: Pair | None
) -> tuple[Array, Array]:
    """Of one equation a category, ``inverse (t - offset)``, for reports with t within bounds.

    Some report has the largest t of any category and the least of any other.
    """
    ends = [np.broadcast_to(inverse * (b - np.asarray(offset)), k) for b in bounds]
    low, high = np.minimum(*ends), np.maximum(*ends)
    if pair is None:
        return low, high
    first, second = pair
    return low[[first]] - high[[second]], high[[first]] - low[[second]]


def label_reach(weights: Array) -> tuple[Array, Array]:
    """Of reports that set one column of the weights, (q, d)."""
    return weights.min(axis=1), weights.max(axis=1)


def bit_reach(weights: Array) -> tuple[Array, Array]:
    """Of reports that set any columns of the weights, (q, d)."""
    return np.minimum(weights, 0.0).sum(axis=1), np.maximum(weights, 0.0).sum(axis=1)
