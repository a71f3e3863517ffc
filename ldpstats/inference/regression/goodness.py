"""Chi-square statistics of what was reported against what a regression expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Cells", "enough_in_each", "pearson", "quadratic_form", "score_groups"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_LEAST, _USUAL, _SHARE = 1.0, 5.0, 0.8  # Cochran's rule for expected counts
_KNOWN = 0.02  # variance of a direction, as a share of what it had with known parameters


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums of what was reported in groups of respondents, less what is expected.

    Parameters
    ----------
    gaps : array, shape (m,)
    spread : array, shape (m, m)
        Covariance of the sums if the parameters were known.
    slopes : array, shape (m, size)
        Derivatives of the expected sums by the parameters.
    """

    gaps: Array
    spread: Array
    slopes: Array


def enough_in_each(expected: Array) -> bool:
    """Whether expected counts allow the chi-square law: all at least 1, four in five at least 5."""
    return bool(expected.min() >= _LEAST and np.mean(expected >= _USUAL) >= _SHARE)


def pearson(observed: Array, expected: Array) -> float:
    """Pearson's statistic of counts, of any shape."""
    return float(np.sum((observed - expected) ** 2 / expected))


def quadratic_form(gaps: Array, V: Array, spread: Array) -> tuple[float, int]:
    """The chi-square statistic of gaps with covariance V, and its degrees of freedom.

    Directions in which fitted parameters leave hardly any variance are left out, as rounding and
    terms of higher order are all that is there.

    Parameters
    ----------
    gaps : array, shape (m,)
    V : array, shape (m, m)
        Their covariance, parameters being estimated.
    spread : array, shape (m, m)
        Their covariance if the parameters were known.
    """
    size, axes = np.linalg.eigh(spread)
    there = size > 1e-10 * size.max(initial=1e-300)
    root = axes[:, there] / np.sqrt(size[there])
    share, directions = np.linalg.eigh(root.T @ V @ root)
    kept = share > _KNOWN
    along = directions[:, kept].T @ (root.T @ gaps)
    return float(np.sum(along**2 / share[kept])), int(kept.sum())


def score_groups(score: Array, weights: Array, groups: int) -> Codes:
    """Groups of about equal weight by a score, equal scores together, numbered from 0."""
    values, place = np.unique(np.round(score, 12), return_inverse=True)
    own = np.bincount(place, weights, len(values))
    middle = np.cumsum(own) - own / 2.0
    found = np.minimum((groups * middle / own.sum()).astype(np.int64), groups - 1)
    return np.asarray(np.unique(found, return_inverse=True)[1][place], dtype=np.int64)
