"""The binomial counts that estimates of hashed candidates rest on, to second order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.hashed.cohorts import CohortSource

__all__ = ["own_cells"]

Array = npt.NDArray[Any]


def own_cells(
    sources: Sequence[CohortSource], p: Array, variances: Array
) -> tuple[Array, Array, Array, Array]:
    """`nobs`, `offset`, `scale` and `other` of an `OwnTally`, (S,) each, at the frequencies p.

    One tally with the variance, and its growth, that those of several sources have together; its
    noise is part of the `variances` of the estimate.
    """
    parts = [source.own_cells(p) for source in sources]
    slopes = np.array([source.design.slope for source in sources])[:, None]
    pulls, reports, share = (np.array(part) for part in zip(*parts, strict=True))
    weights = slopes**2 * pulls
    weights /= weights.sum(axis=0)
    offset, rate = (weights * share).sum(axis=0), (weights**2 / (slopes * reports)).sum(axis=0)
    own = (weights**2 * share * (1.0 - share) / (slopes**2 * reports)).sum(axis=0)
    nobs = own / (rate**2 * offset * (1.0 - offset))
    scale = 1.0 / (rate * nobs)
    present = offset + scale * p
    other = variances - present * (1.0 - present) / (scale**2 * nobs)
    # own tallies are approximate, so that the rest may come out as less than nothing
    return nobs, offset, scale, np.maximum(other, 0.0)
