"""Which grams are at a position: marginal decoding over all that there could be (FPE16 IV-A, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotIdentified
from ldpstats.inference.tails import skewed_pvalue
from ldpstats.inference.tests import binomial_excess
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search.detection import critical_z
from ldpstats.models.dictionary.search.owners import OwnedCells
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["ScreenedGrams", "screen"]

Array = npt.NDArray[Any]

_HEAVY = 5.0  # standard errors from which a gram's collisions are taken off those of the others
_FRACTION = 0.3  # of the most significant gram, from which others are taken along with it
_SCANS = 4
_MARGIN = 1.5  # standard errors below what is looked for, from which grams are looked at again
_SURE = 4.0  # standard errors by which hardly any gram moves
_SHORTLIST = 1 << 14  # grams that are looked at again between two scans of all
_ROUNDS = 100  # in which frequent grams are told apart between two scans


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
) -> list[ScreenedGrams]:
    """Keep the grams of each position that stand out from the noise."""
    critical = critical_z(false_grams, layout.n_grams)
    none = np.empty(0, dtype=f"<U{layout.gram}"), np.empty(0), 0
    found = [none for _ in counts]
    seen = [a for a, c in enumerate(counts) if c.nobs]
    if mechanism.is_open and seen:
        parts = _hashed(mechanism, [counts[a] for a in seen], layout, critical, most)
    else:
        parts = [_listed(mechanism, counts[a], critical, most) for a in seen]
    for a, part in zip(seen, parts, strict=True):
        found[a] = part
    kept = zip(found, counts, strict=True)
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
        z = _normal_score(p, z)
    return _best(mechanism.categories.to_numpy().astype(str), z, critical, most)


def _normal_score(p: Array, z: Array) -> Array:
    """The z that have these p-values in the normal law; as they are where p is beyond a double."""
    from scipy.special import ndtri

    score = -np.asarray(ndtri(np.where(p > 0.0, p, 1.0)))
    return np.where(p > 0.0, score, z)


def _best(grams: Array, z: Array, critical: float, most: int) -> tuple[Array, Array, int]:
    beyond = np.flatnonzero(z >= critical)
    order = beyond[np.argsort(-z[beyond], kind="stable")]
    return grams[order[:most]], z[order[:most]], max(order.size - most, 0)


def _hashed(
    mechanism: Any,
    counts: Sequence[Counts | BitCounts],
    layout: GramLayout,
    critical: float,
    most: int,
) -> list[tuple[Array, Array, int]]:
    """As `_listed`, for all positions at once: the grams are hashed for all of them together."""
    positions = [_Position.of(mechanism, c, layout) for c in counts]
    least = min(critical, _HEAVY)
    unsettled = positions
    for _ in range(_SCANS):
        _scan(unsettled, layout, least - _MARGIN, max(_SHORTLIST, 10 * most))
        for position in unsettled:
            position.explain(most)
        unsettled = [position for position in unsettled if not position.is_settled(least)]
        if not unsettled:
            break
    return [position.kept(critical, most) for position in positions]


@dataclass(eq=False)
class _Position:
    """One position while its grams are searched for.

    `heavy` are the frequent grams known so far, whose part is taken off the equations; `grams`
    those whose z was beyond `cut` in the last scan, on the equations `scanned`.
    """

    mechanism: Any
    counts: Counts | BitCounts
    source: CohortSource
    heavy: Array
    grams: Array
    owned: OwnedCells
    cut: float
    scanned: Array

    @classmethod
    def of(cls, mechanism: Any, counts: Counts | BitCounts, layout: GramLayout) -> _Position:
        source = mechanism.moments(counts, next(layout.gram_blocks(1)).tolist()).sources[0]
        none = np.empty(0, dtype=f"<U{layout.gram}")
        owned = OwnedCells(mechanism, none)
        return cls(mechanism, counts, source, none, none, owned, np.inf, source.weights)

    def residual(self) -> Array:
        """Weighted equations, shape (C m,), without the part that the heavy grams explain."""
        if not self.heavy.size:
            return np.asarray(self.source.weights * self.source.moved)
        problem = self.mechanism.moments(self.counts, self.heavy.tolist())
        own = problem.sources[0]
        return np.asarray(own.weights * (own.moved - own.design.times(problem.estimate()[0])))

    def test(self, residual: Array) -> Array:
        """z of `grams`, each alone on what is left."""
        return self.scaled(self.owned.sums(_by_cohort([self], [residual]))[0], residual)

    def scaled(self, owned: Array, residual: Array) -> Array:
        """z of grams from the sums of what is left over the cells that they own."""
        noise, design = self.noise(residual)[0], self.source.design
        moved = design.slope * (owned - design.background * residual.sum())
        return np.asarray(moved / noise) if noise > 0.0 else np.zeros(owned.shape)

    def noise(self, residual: Array) -> tuple[float, float]:
        """Standard deviation and skewness of the sum over the cells that a random gram owns."""
        m, h, r = self.mechanism.n_cells, self.mechanism.n_owned, self.source.design.background
        both = 1.0 - 2.0 * (1.0 - 1.0 / m) ** h + (1.0 - 2.0 / m) ** h  # of two cells are owned
        cells = self.source.design.slope * residual.reshape(-1, m)
        total = cells.sum(axis=1)
        variance = float((r - both) * np.vdot(cells, cells) + (both - r**2) * np.vdot(total, total))
        third = h / m * float(((cells - total[:, None] / m) ** 3).sum())
        return (variance**0.5, third / variance**1.5) if variance > 0.0 else (0.0, 0.0)

    def z_together(self, grams: Array) -> Array:
        """Estimates over their standard errors, of grams that are estimated together."""
        if not grams.size:
            return np.empty(0)
        problem = self.mechanism.moments(self.counts, grams.tolist())
        se = np.sqrt(problem.covariance().variances())
        estimate = problem.estimate()[0]
        return np.asarray(np.divide(estimate, se, out=np.zeros(se.shape), where=se > 0.0))

    def explain(self, most: int) -> None:
        """Find the frequent grams among those that stood out.

        A collision looks like a fraction of the gram that it is with: the most significant come
        first, and what is nothing once it is estimated together with the others is dropped.
        """
        for _ in range(_ROUNDS if self.grams.size else 0):
            z = self.test(self.residual())
            z[np.isin(self.grams, self.heavy)] = 0.0
            new = np.flatnonzero(z >= max(_HEAVY, _FRACTION * z.max()))
            if not new.size or self.heavy.size >= most:
                break
            new = new[np.argsort(-z[new], kind="stable")][:most]
            try:
                after = self.significant(np.append(self.heavy, self.grams[new])[:most])
            except NotIdentified:  # too many at once for the cohorts
                try:
                    after = self.significant(np.append(self.heavy, self.grams[new[:1]]))
                except NotIdentified:
                    break
            if set(after.tolist()) == set(self.heavy.tolist()):
                break
            self.heavy = after

    def is_settled(self, least: float) -> bool:
        """Whether hardly any gram can have come from below `cut` to `least` since the last scan."""
        residual = self.residual()
        before, now = self.noise(self.scanned)[0], self.noise(residual)[0]
        moved = self.noise(residual - self.scanned)[0]
        return self.cut * before + _SURE * moved <= least * now

    def significant(self, grams: Array) -> Array:
        """Those that are far beyond the noise when they are estimated together."""
        return np.asarray(grams[self.z_together(grams) >= _HEAVY])

    def kept(self, critical: float, most: int) -> tuple[Array, Array, int]:
        light, residual = ~np.isin(self.grams, self.heavy), self.residual()
        z = self.test(residual)[light] if light.any() else np.empty(0)
        z = _normal_score(skewed_pvalue(z, self.noise(residual)[1]), z)
        grams = np.append(self.heavy, self.grams[light])
        return _best(grams, np.append(self.z_together(self.heavy), z), critical, most)


def _by_cohort(positions: Sequence[_Position], residuals: Sequence[Array]) -> Array:
    """What is left at each position, shape (K, C, m)."""
    mechanism = positions[0].mechanism
    return np.reshape(residuals, (len(positions), mechanism.n_cohorts, mechanism.n_cells))


def _scan(positions: Sequence[_Position], layout: GramLayout, least: float, most: int) -> None:
    """Test all grams at every position, and keep those whose z is at least `least`."""
    residuals = [position.residual() for position in positions]
    names: list[list[Array]] = [[] for _ in positions]
    values: list[list[Array]] = [[] for _ in positions]
    mechanism, left = positions[0].mechanism, _by_cohort(positions, residuals)
    for block in layout.gram_blocks(OwnedCells.most(mechanism)):
        owned = OwnedCells(mechanism, block).sums(left)
        for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
            z = position.scaled(owned[i], residual)
            beyond = np.flatnonzero(z >= least)
            names[i].append(block[beyond])
            values[i].append(z[beyond])
    for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
        z = np.concatenate(values[i])
        best = np.argsort(-z, kind="stable")[:most]
        grams = np.concatenate(names[i])[best]  # those that were taken off are hidden
        hidden = position.heavy[~np.isin(position.heavy, grams)]
        position.grams, position.scanned = np.append(grams, hidden), residual
        position.owned = OwnedCells(mechanism, position.grams)
        position.cut = float(z[best[-1]]) if z.size > most else least


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
