"""What a single hashed report can make of the linear estimate of the candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.problems.reach import Pair, bit_reach, label_reach, picked

__all__ = ["cohort_reach", "crowded_reach"]

Array = npt.NDArray[Any]

_MOST = 1e10  # multiplications: a few seconds


def cohort_reach(source: CohortSource, inverse: Array, pair: Pair | None) -> tuple[Array, Array]:
    """Of reports from cohorts of equal size, each of which sends what goes furthest there.

    `inverse` is that of the mean over cohorts of A_c' A_c. The mean over cohorts, (q,) both.
    """
    C, S, _ = source.design.cells.shape
    _check(float(C) * source.design.n_cells * S**2)
    rows = picked(inverse, pair)
    found = [_in_cohort(source, c, rows) for c in range(C)]
    low, high = np.mean(found, axis=0)
    return low, high


def crowded_reach(
    source: CohortSource, inverse: Array, p: Array, share: float, pair: Pair | None
) -> tuple[Array, Array]:
    """The expected estimate if a share of all respondents sends one report in one cohort.

    Others have frequencies p and are spread evenly. The least and the largest over all cohorts and
    reports, (q,) both. The cohort that is chosen grows, which changes the weights of all.
    """
    C, S, _ = source.design.cells.shape
    _check(float(C) * S**2 * (S + source.design.n_cells))
    even = np.linalg.inv(inverse)
    found = []
    for c in range(C):
        block = source.design.block(c)
        M = (1.0 - share) * even + share * (block.T @ block)
        crowded = np.linalg.inv(M)
        honest = picked((1.0 - share) * (crowded @ (even @ p))[:, None], pair)[:, 0]
        found.append(honest + share * np.array(_in_cohort(source, c, picked(crowded, pair))))
    return np.min(found, axis=0)[0], np.max(found, axis=0)[1]


def _in_cohort(source: CohortSource, c: int, rows: Array) -> tuple[Array, Array]:
    weights = rows @ source.design.block(c).T
    low, high = (label_reach if source.is_labels else bit_reach)(weights)
    base = source.offset * weights.sum(axis=1)
    return low - base, high - base


def _check(work: float) -> None:
    if work > _MOST:
        raise NotAvailable(
            "the cohorts and candidates are too many for what one report can do in each: give "
            "fewer candidates"
        )
