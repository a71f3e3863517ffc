"""What values parameters may have: shares of a distribution, probabilities, numbers."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["POSITIVE", "PROBABILITY", "REAL", "contrast_range"]

Array = npt.NDArray[Any]

# beside 0, 1, ..., the distribution that a share belongs to
PROBABILITY = -1  # by itself
REAL = -2
POSITIVE = -3


def contrast_range(R: Array, simplex: Array) -> tuple[float, float]:
    """The least and largest R p of parameters p that are what `simplex` says of each."""
    low = high = 0.0
    for group in np.unique(simplex).tolist():
        own = R[simplex == group]
        if group >= 0:
            low, high = low + float(own.min()), high + float(own.max())
        elif group == PROBABILITY:
            low += float(np.minimum(own, 0.0).sum())
            high += float(np.maximum(own, 0.0).sum())
        elif own.any():
            low = low if group == POSITIVE and own.min() >= 0.0 else -inf
            high = high if group == POSITIVE and own.max() <= 0.0 else inf
    return low, high
