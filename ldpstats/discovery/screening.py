"""Which grams are at a position: marginal decoding over all that there could be (FPE16 IV-A, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.cohorts import CohortSource
from ldpstats.discovery.owners import OwnerSums
from ldpstats.grams import GramLayout
from ldpstats.mechanisms.base import Mechanism
from ldpstats.reports import BitCounts, Counts

__all__ = ["ScreenedGrams", "screen"]

Array = npt.NDArray[Any]

_HEAVY = 5.0  # standard errors from which a gram's collisions are taken off those of the others
_FRACTION = 0.3  # of the most significant gram, from which others are taken along with it
_SCANS = 4
_SHORTLIST = 4096  # grams that are looked at again between two scans of all
_SAMPLE = 256  # grams whose noise stands for that of all


@dataclass(frozen=True, eq=False)
class ScreenedGrams:
    """The grams that were kept at one position, in order of their estimates.

    Parameters
    ----------
    grams : array of text, shape (g,)
    estimate, se : array, shape (g,)
        Unbiased frequencies, estimated together, and their standard errors.
    z : array, shape (g,)
        What they were kept for: each estimate over its standard error if the gram were absent.
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
    """Keep the grams of each position that stand out from the noise.

    Parameters
    ----------
    mechanism : Mechanism
        Of the grams.
    counts : sequence of K Counts or BitCounts
        Reports of each position; of bits, sums do.
    layout : GramLayout
    false_grams : float
        Expected number of absent grams that are kept at a position (a per-family error rate): each
        gram is tested at ``false_grams / n_grams``. With .05 this is Bonferroni's bound.
    most : int
        Grams of a position that are kept at most, the most significant ones.

    Notes
    -----
    Each of G grams is tested on its own, by its least squares estimate over the noise that it would
    have if the gram were absent. Over hashed reports that would leave the collisions with frequent
    grams in the noise: what is far beyond it is estimated together and taken off, and all others
    are tested again on what is left.
    """
    from scipy.special import ndtri

    critical = float(-ndtri(min(false_grams / layout.n_grams, 0.5)))
    if mechanism.is_open:
        found = _hashed(mechanism, counts, layout, critical, most)
    else:
        found = [_listed(mechanism, c, critical, most) for c in counts]
    kept = zip(found, counts, strict=True)
    return [_together(mechanism, c, *part, critical) for part, c in kept]


def _listed(
    mechanism: Mechanism, counts: Counts | BitCounts, critical: float, most: int
) -> tuple[Array, Array, int]:
    """Grams, their z and how many were left out, where each has an estimate of its own."""
    problem = mechanism.moments(counts)
    estimate = problem.estimate()[0]
    null = np.full(mechanism.k, 1.0 / mechanism.k)
    z = estimate / np.sqrt(problem.covariance(null).variances())
    return _best(mechanism.categories.to_numpy().astype(str), z, critical, most)


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
    changed = positions
    for _ in range(_SCANS):
        _scan(changed, layout, least, max(_SHORTLIST, 10 * most))
        before = [set(position.heavy.tolist()) for position in changed]
        for position in changed:
            position.explain(most)
        after = [set(position.heavy.tolist()) for position in changed]
        if all(new <= old for new, old in zip(after, before, strict=True)):
            break
        changed = [p for p, old, new in zip(changed, before, after, strict=True) if new != old]
    return [position.kept(critical, most) for position in positions]


@dataclass(eq=False)
class _Position:
    """One position while its grams are searched for.

    `heavy` are the frequent grams known so far, whose part is taken off the equations; `grams` and
    `z` those that stood out in the last scan.
    """

    mechanism: Any
    counts: Counts | BitCounts
    source: CohortSource
    noise: float
    heavy: Array
    grams: Array
    z: Array

    @classmethod
    def of(cls, mechanism: Any, counts: Counts | BitCounts, layout: GramLayout) -> _Position:
        some = next(layout.gram_blocks(_SAMPLE))
        source = mechanism.moments(counts, some.tolist()).sources[0]
        # all grams own as many cells, in as many cohorts: their noise is the same but for chance
        noise = float(np.sqrt(source.noise.gradient_variances(source).mean()))
        none = np.empty(0, dtype=f"<U{layout.gram}")
        return cls(mechanism, counts, source, noise, none, none, np.empty(0))

    def residual(self) -> Array:
        """Weighted equations, shape (C m,), without the part that the heavy grams explain."""
        if not self.heavy.size:
            return np.asarray(self.source.weights * self.source.moved)
        problem = self.mechanism.moments(self.counts, self.heavy.tolist())
        own = problem.sources[0]
        return np.asarray(own.weights * (own.moved - own.design.times(problem.estimate()[0])))

    def test(self, grams: Array, residual: Array) -> Array:
        """z of grams, each alone on what is left."""
        if not grams.size:
            return np.empty(0)
        return self.scaled(_sums([self], [residual]).of(grams)[0], residual)

    def scaled(self, owned: Array, residual: Array) -> Array:
        """z of grams from the sums of what is left over the cells that they own."""
        design = self.source.design
        return np.asarray(design.slope / self.noise * (owned - design.background * residual.sum()))

    def z_together(self, grams: Array) -> Array:
        """Estimates over their standard errors, of grams that are estimated together."""
        if not grams.size:
            return np.empty(0)
        problem = self.mechanism.moments(self.counts, grams.tolist())
        return np.asarray(problem.estimate()[0] / np.sqrt(problem.covariance().variances()))

    def explain(self, most: int) -> None:
        """Find the frequent grams among those that stood out.

        A collision looks like a fraction of the gram that it is with: the most significant come
        first, and what is nothing once it is estimated together with the others is dropped.
        """
        while self.grams.size:
            z = self.test(self.grams, self.residual())
            z[np.isin(self.grams, self.heavy)] = 0.0
            new = np.flatnonzero(z >= max(_HEAVY, _FRACTION * z.max()))
            if not new.size or self.heavy.size >= most:
                break
            new = new[np.argsort(-z[new], kind="stable")][:most]
            joined = np.append(self.heavy, self.grams[new])[:most]
            after = joined[self.z_together(joined) >= _HEAVY]
            if set(after.tolist()) == set(self.heavy.tolist()):
                break
            self.heavy = after

    def kept(self, critical: float, most: int) -> tuple[Array, Array, int]:
        light = ~np.isin(self.grams, self.heavy)
        z = self.test(self.grams[light], self.residual())
        grams = np.append(self.heavy, self.grams[light])
        return _best(grams, np.append(self.z_together(self.heavy), z), critical, most)


def _sums(positions: Sequence[_Position], residuals: Sequence[Array]) -> OwnerSums:
    mechanism = positions[0].mechanism
    shape = len(positions), mechanism.n_cohorts, mechanism.n_cells
    return OwnerSums(mechanism, np.array(residuals).reshape(shape))


def _scan(positions: Sequence[_Position], layout: GramLayout, least: float, most: int) -> None:
    """Test all grams at every position, and keep those whose z is at least `least`."""
    residuals = [position.residual() for position in positions]
    names: list[list[Array]] = [[] for _ in positions]
    values: list[list[Array]] = [[] for _ in positions]
    sums = _sums(positions, residuals)
    for block in layout.gram_blocks(sums.block):
        owned = sums.of(block)
        for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
            z = position.scaled(owned[i], residual)
            beyond = np.flatnonzero(z >= least)
            names[i].append(block[beyond])
            values[i].append(z[beyond])
    for position, found, value in zip(positions, names, values, strict=True):
        z = np.concatenate(value)
        best = np.argsort(-z, kind="stable")[:most]
        position.grams, position.z = np.concatenate(found)[best], z[best]


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
