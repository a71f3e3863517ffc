"""Equal reports merged, and bits summed: functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.reports.source import Source

__all__ = ["bit_sums", "cell_numbers", "merged"]

Array = npt.NDArray[Any]

_MOST_CELLS = 1 << 26  # labels of all cohorts that are counted in an array of 512 MB at most


def cell_numbers(y: Array, cohort: Array | None, n_outputs: int) -> Array:
    """One number for each label of each cohort, cohort by cohort."""
    return y if cohort is None else cohort * np.int64(n_outputs) + y  # cohorts are int64


def bit_sums(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Source
) -> tuple[Array, Array]:
    """Sums of bits, shape (C, n_bits), and reports, (C,), of n packed reports each (None: one)."""
    C = max(mechanism.n_cohorts, 1)
    ones = mechanism.format.sum_bits(y, n, cohort, C)
    groups = np.zeros(len(y), dtype=np.int64) if cohort is None else cohort
    return ones, np.bincount(groups, weights=n, minlength=C).astype(np.int64)


def merged(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Source
) -> tuple[Array, npt.NDArray[np.int64], Array | None]:
    """Merge equal reports, n of each (None: one), and drop those with count zero."""
    if y.ndim == 1:
        return _merged_labels(y, n, cohort, mechanism.n_outputs, max(mechanism.n_cohorts, 1))
    if y.shape[1] > 8:
        if n is None:
            return y, np.ones(len(y), dtype=np.int64), cohort
        seen = n > 0
        if seen.all():
            return y, n, cohort
        return y[seen], n[seen], None if cohort is None else cohort[seen]
    words = np.zeros((y.shape[0], 8), dtype=np.uint8)
    words[:, : y.shape[1]] = y
    keys: Array = words.view(np.uint64)[:, 0]
    if cohort is None and n is None:  # the sorted keys are the reports: no order is needed
        keys, total = np.unique(keys, return_counts=True)
        return np.ascontiguousarray(keys[:, None].view(np.uint8)[:, : y.shape[1]]), total, None
    if cohort is not None:  # equal patterns of one cohort: number the patterns first
        keys = np.unique(keys, return_inverse=True)[1] * np.int64(mechanism.n_cohorts) + cohort
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(group, weights=n, minlength=first.size)
    kept = first[total > 0]
    members = None if cohort is None else cohort[kept]
    return y[kept], total[total > 0].astype(np.int64), members


def _merged_labels(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, n_outputs: int, n_cohorts: int
) -> tuple[Array, npt.NDArray[np.int64], Array | None]:
    numbers = cell_numbers(y, cohort, n_outputs)
    if n_outputs * n_cohorts > _MOST_CELLS:  # too many to count in an array
        cells, group = np.unique(numbers, return_inverse=True)
        total = np.bincount(group, weights=n, minlength=cells.size)
        cells, total = cells[total > 0], total[total > 0]
    else:
        everything = np.bincount(numbers, weights=n, minlength=n_outputs * n_cohorts)
        cells = np.flatnonzero(everything)
        total = everything[cells]
    members = None if cohort is None else cells // n_outputs
    return cells % n_outputs if cohort is not None else cells, total.astype(np.int64), members
