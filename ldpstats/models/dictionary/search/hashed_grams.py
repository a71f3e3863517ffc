"""Frequent grams among hashed ones, which share cells: scans of all grams, then fits of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.inference.tails import skewed_pvalue
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search.owners import OwnedCells
from ldpstats.models.dictionary.search.progress import Advance, between, counted, nested, silent
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["best_grams", "normal_score", "screen_hashed"]

Array = npt.NDArray[Any]

_HEAVY = 5.0  # standard errors from which a gram's collisions are taken off those of the others
_FRACTION = 0.3  # of the most significant gram, from which others are taken along with it
_SCANS = 4
_MARGIN = 1.5  # standard errors below what is looked for, from which grams are looked at again
_SURE = 4.0  # standard errors by which hardly any gram moves
_SHORTLIST = 1 << 14  # grams that are looked at again between two scans of all
_SCANNING = 0.85  # of the time, about, that scans and explanations take
_ROUNDS = 100  # in which frequent grams are told apart between two scans


def screen_hashed(
    mechanism: Any,
    counts: Sequence[Counts | BitCounts],
    layout: GramLayout,
    critical: float,
    most: int,
    advance: Advance = silent,
) -> list[tuple[Array, Array, int]]:
    """Grams, their z and how many were left out, of every position.

    The grams are hashed for all positions together.
    """
    positions = [_Position.of(mechanism, c, layout) for c in counts]
    least = min(critical, _HEAVY)
    unsettled = positions
    for scan in range(_SCANS):  # the first takes longest, and may be the last
        start, stop = (_SCANNING * (1.0 - 0.2**i) for i in (scan, scan + 1))
        here, rest = (start + stop) / 2, between(advance, (start + stop) / 2, stop)
        shortlist = max(_SHORTLIST, 10 * most)
        _scan(unsettled, layout, least - _MARGIN, shortlist, between(advance, start, here))
        for position, step in nested(unsettled, rest):
            position.explain(most, step)
        unsettled = [position for position in unsettled if not position.is_settled(least)]
        if not unsettled:
            break
    last = between(advance, _SCANNING, 1.0)
    return [position.kept(critical, most) for position in counted(positions, last)]


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
        rest = cells - total[:, None] / m
        third = h / m * float(np.vdot(rest * rest, rest))
        return (variance**0.5, third / variance**1.5) if variance > 0.0 else (0.0, 0.0)

    def z_together(self, grams: Array) -> Array:
        """Estimates over their standard errors, of grams that are estimated together."""
        if not grams.size:
            return np.empty(0)
        problem = self.mechanism.moments(self.counts, grams.tolist())
        se = np.sqrt(problem.covariance().variances())
        estimate = problem.estimate()[0]
        return np.asarray(np.divide(estimate, se, out=np.zeros(se.shape), where=se > 0.0))

    def explain(self, most: int, advance: Advance = silent) -> None:
        """Find the frequent grams among those that stood out.

        A collision looks like a fraction of the gram that it is with: the most significant come
        first, and what is nothing once it is estimated together with the others is dropped.
        """
        for rounds in range(_ROUNDS if self.grams.size else 0):
            advance(1.0 - 0.9**rounds)  # how many there will be is not known
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
        z = normal_score(skewed_pvalue(z, self.noise(residual)[1]), z)
        grams = np.append(self.heavy, self.grams[light])
        return best_grams(grams, np.append(self.z_together(self.heavy), z), critical, most)


def _by_cohort(positions: Sequence[_Position], residuals: Sequence[Array]) -> Array:
    """What is left at each position, shape (K, C, m)."""
    mechanism = positions[0].mechanism
    return np.reshape(residuals, (len(positions), mechanism.n_cohorts, mechanism.n_cells))


def _scan(
    positions: Sequence[_Position],
    layout: GramLayout,
    least: float,
    most: int,
    advance: Advance = silent,
) -> None:
    """Test all grams at every position, and keep those whose z is at least `least`."""
    residuals = [position.residual() for position in positions]
    names: list[list[Array]] = [[] for _ in positions]
    values: list[list[Array]] = [[] for _ in positions]
    mechanism, left = positions[0].mechanism, _by_cohort(positions, residuals)
    done = 0
    for block in layout.gram_blocks(OwnedCells.most(mechanism)):
        owned = OwnedCells(mechanism, block).sums(left)
        for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
            z = position.scaled(owned[i], residual)
            beyond = np.flatnonzero(z >= least)
            names[i].append(block[beyond])
            values[i].append(z[beyond])
        done += len(block)
        advance(done / layout.n_grams)
    for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
        z = np.concatenate(values[i])
        best = np.argsort(-z, kind="stable")[:most]
        grams = np.concatenate(names[i])[best]  # those that were taken off are hidden
        hidden = position.heavy[~np.isin(position.heavy, grams)]
        position.grams, position.scanned = np.append(grams, hidden), residual
        position.owned = OwnedCells(mechanism, position.grams)
        position.cut = float(z[best[-1]]) if z.size > most else least


def normal_score(p: Array, z: Array) -> Array:
    """The z that have these p-values in the normal law; as they are where p is beyond a double."""
    from scipy.special import ndtri

    score = -np.asarray(ndtri(np.where(p > 0.0, p, 1.0)))
    return np.where(p > 0.0, score, z)


def best_grams(grams: Array, z: Array, critical: float, most: int) -> tuple[Array, Array, int]:
    """At most so many grams whose z is at least `critical`, their z, and how many are left out."""
    beyond = np.flatnonzero(z >= critical)
    order = beyond[np.argsort(-z[beyond], kind="stable")]
    return grams[order[:most]], z[order[:most]], max(order.size - most, 0)
