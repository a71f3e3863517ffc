"""Which grams are at a position: marginal decoding over all that there could be (FPE16 IV-A, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotIdentified
from ldpstats.inference.tests import binomial_excess
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search.detection import critical_z
from ldpstats.models.dictionary.search.hashed_grams import (
    best_grams,
    normal_score,
    screen_hashed,
)
from ldpstats.models.dictionary.search.progress import Advance, between, counted, silent
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["ScreenedGrams", "screen"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ScreenedGrams:
    """The grams that were kept at one position, in order of their estimates.

    Parameters
    ----------
    grams : array of text, shape (g,)
    estimate, se : array, shape (g,)
        Unbiased frequencies, estimated together, and their standard errors.
    z : array, shape (g,)
        What they were kept for: the normal score of each one's p-value if the gram were absent; of
        those that are far beyond it, the estimate over its standard error.
    critical : float
        The z from which grams were kept.
    n_left_out : int
        Grams beyond it that were left out because there were too many.
    nobs : int
        Reports of this position.
    """

    grams: Array
    estimate: Array
    se: Array
    z: Array
    critical: float
    n_left_out: int
    nobs: int


def screen(
    mechanism: Mechanism,
    counts: Sequence[Counts | BitCounts],
    layout: GramLayout,
    false_grams: float,
    most: int,
    advance: Advance = silent,
) -> list[ScreenedGrams]:
    """Keep the grams of each position that stand out from the noise."""
    critical = critical_z(false_grams, layout.n_grams)
    none = np.empty(0, dtype=f"<U{layout.gram}"), np.empty(0), 0
    found = [none for _ in counts]
    seen = [a for a, c in enumerate(counts) if c.nobs]
    if mechanism.is_open and seen:
        own = [counts[a] for a in seen]
        parts = screen_hashed(mechanism, own, layout, critical, most, between(advance, 0.0, 0.7))
    else:
        alone = counted(seen, between(advance, 0.0, 0.7))
        parts = [_listed(mechanism, counts[a], critical, most) for a in alone]
    for a, part in zip(seen, parts, strict=True):
        found[a] = part
    kept = counted(list(zip(found, counts, strict=True)), between(advance, 0.7, 1.0))
    return [_together(mechanism, c, *part, critical) for part, c in kept]


def _listed(
    mechanism: Mechanism, counts: Counts | BitCounts, critical: float, most: int
) -> tuple[Array, Array, int]:
    """Grams, their z and how many were left out, where each has an estimate of its own."""
    problem: Any = mechanism.moments(counts)
    estimate = problem.estimate()[0]
    # each gram is absent where the others, or half of them, have all the mass
    half = np.arange(mechanism.k) < mechanism.k // 2
    nulls = [problem.covariance(side / side.sum()).variances() for side in (half, ~half)]
    z = estimate / np.sqrt(np.where(half, nulls[1], nulls[0]))
    if problem.kind in ("labels", "bits") and np.ndim(problem.A) < 2:
        tally = np.rint(problem.t * problem.nobs).astype(np.int64)
        p = binomial_excess(tally, problem.nobs, problem.offset, problem.A)
        z = normal_score(p, z)
    return best_grams(mechanism.categories.to_numpy().astype(str), z, critical, most)


def _told_apart(mechanism: Any, counts: Counts | BitCounts, grams: Array) -> bool:
    """Whether the cohorts that reported suffice to estimate grams together."""
    try:
        mechanism.moments(counts, grams.tolist()).require_identified()
    except NotIdentified:
        return False
    return True


def _together(
    mechanism: Any,
    counts: Counts | BitCounts,
    grams: Array,
    z: Array,
    left_out: int,
    critical: float,
) -> ScreenedGrams:
    """The kept grams with estimates that allow for each other."""
    estimate, se = np.empty(0), np.empty(0)
    while mechanism.is_open and grams.size and not _told_apart(mechanism, counts, grams):
        left_out += grams.size - grams.size // 2
        grams, z = grams[: grams.size // 2], z[: grams.size // 2]  # the most significant ones
    if grams.size:
        if mechanism.is_open:
            problem, at = mechanism.moments(counts, grams.tolist()), slice(None)
        else:
            problem = mechanism.moments(counts)
            at = mechanism.categories.get_indexer(pd.Index(grams.astype(object)))
        estimate = problem.estimate()[0][at]
        se = np.sqrt(problem.covariance().variances()[at])
    order = np.argsort(-estimate, kind="stable")
    return ScreenedGrams(
        grams[order], estimate[order], se[order], z[order], critical, left_out, counts.nobs
    )
