"""Pooling of cells with small expected counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.problems.covariance import finite_array

__all__ = ["SMALLEST_EXPECTED", "group_sums", "pooled_starts", "rare_groups"]

Array = npt.NDArray[np.float64]


SMALLEST_EXPECTED = 5.0  # expected count up to which cells are pooled


def rare_groups(expected: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Pool rare cells until each group has an expected count of at least 5.

    Smaller counts have long tails, and chi-square statistics of many of them are unreliable: with
    expected counts of 1/2, tests of level .05 had sizes from .01 to .10. Rare cells are pooled with
    rare neighbours; a remainder joins the last group, or the smallest other cell.

    Parameters
    ----------
    expected : array_like, shape (k,)
        Expected counts.

    Returns
    -------
    ndarray of int64, shape (k,)
        Group of each cell, 0 .. g - 1. Without at least two groups, every cell is its own group.

    Examples
    --------
    >>> rare_groups([40.0, 2.0, 30.0, 3.0, 1.0, 6.0])
    array([0, 3, 1, 3, 3, 2])
    >>> rare_groups([40.0, 2.0, 30.0])
    array([0, 1, 1])
    """
    counts = finite_array("expected", expected, 1)
    rare = counts < SMALLEST_EXPECTED
    group = np.cumsum(~rare) - 1
    n_others = counts.size - int(rare.sum())
    if rare.any():
        starts = pooled_starts(counts[rare])
        group[rare] = n_others + np.searchsorted(starts, np.arange(int(rare.sum())), "right") - 1
        if counts[rare].sum() < SMALLEST_EXPECTED and n_others:
            group[rare] = group[int(np.argmin(np.where(rare, np.inf, counts)))]
    return np.asarray(group if group.max() > 0 else np.arange(counts.size), dtype=np.int64)


def group_sums(values: npt.ArrayLike, group: npt.NDArray[np.int64]) -> Array:
    """Sums over the groups of `rare_groups`, shape (g,)."""
    return np.bincount(group, weights=np.asarray(values)).astype(np.float64)


def pooled_starts(expected: Array) -> list[int]:
    """First index of each run of neighbours with a total expected count of at least 5."""
    starts, running = [0], 0.0
    for i, value in enumerate(expected):
        if running >= SMALLEST_EXPECTED:
            starts.append(i)
            running = 0.0
        running += float(value)
    # a remainder that is too small joins its neighbour
    if running < SMALLEST_EXPECTED and len(starts) > 1:
        starts.pop()
    return starts
