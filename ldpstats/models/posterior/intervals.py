"""Intervals from draws of a posterior."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["equal_tailed", "highest_density"]

Array = npt.NDArray[Any]


def equal_tailed(draws: Array, alpha: float) -> Array:
    """Quantiles alpha/2 and 1 - alpha/2 of draws (s, m): shape (m, 2)."""
    return np.asarray(np.quantile(draws, [alpha / 2.0, 1.0 - alpha / 2.0], axis=0).T)


def highest_density(draws: Array, alpha: float) -> Array:
    """The shortest interval that holds a share 1 - alpha of draws (s, m): shape (m, 2)."""
    ordered = np.sort(draws, axis=0)
    inside = min(max(ceil((1.0 - alpha) * len(ordered)), 1), len(ordered))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    first = np.argmin(widths, axis=0)
    at = np.arange(draws.shape[1])
    return np.column_stack([ordered[first, at], ordered[first + inside - 1, at]])
