"""Linear equations of hashed reports: many cohorts, each with its own view of the candidates.

Within cohort c, of n_c respondents, the frequency of label or bit j is on average

    E[t_cj] = offset + slope (H_cj . p - background sum(p)),

where H_cj marks the candidates that cohort c hashes to j. Over an open alphabet the answers that
are not among the candidates hash anywhere: their share 1 - sum(p) falls on every cell with the
probability `background` on average, and that is in `offset`. (Without it their mass would be spread
over the candidates.) Over a closed alphabet there are none, and the background is zero.

Cohort sizes are ancillary: everything is conditional on them, and a cohort without reports gives no
equation. All weights are fixed before the data are seen, so that estimates are unbiased; where the
list is incomplete they depend on one number that is estimated, see `CohortMoments.open_ended`.

An answer u that is not listed owns the same cells in every report. Given the hashes, the cells that
it owns are too full: over random hashes the share of the unlisted that own a cell has the variance
``collisions r (1 - r)`` with r the background and ``collisions = sum_u p_u^2``. It does not fall
with n_c, as the noise of privacy does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.problems.hash_design import HashDesign
from ldpstats.problems.moments import CellBounds

__all__ = ["BitNoise", "CohortSource", "LabelNoise", "Noise"]

Array = npt.NDArray[Any]

_NEVER = 1e-14  # probability of a label that rounding cannot tell from zero


class Noise(ABC):
    """The law of one cohort's frequencies, given what share of its cell each answer owns.

    `shared` is the probability that an answer that is not a candidate owns two given cells.
    """

    shared: float
    is_labels: ClassVar[bool] = False  # whether a report sets exactly one cell

    @abstractmethod
    def spread(self, source: CohortSource, p: Array) -> Array:
        """``A' D V D A`` of shape (S, S): the covariance of the right-hand side ``A' D t``."""

    @abstractmethod
    def gradient_variances(self, source: CohortSource) -> Array:
        """Variance, shape (S,), of each entry of ``A' D t``, from the cells as observed."""

    @abstractmethod
    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        """Mean and variance of ``(t - E t)' D (t - E t)`` when the frequencies are p."""


@dataclass(frozen=True, eq=False)
class CohortSource:
    """The equations of one mechanism's reports.

    Parameters
    ----------
    design : HashDesign
        A, with C cohorts of m cells and S candidates.
    offset : float
        Mean of a cell that no candidate explains.
    ones : array of int64, shape (C, m)
        How often each label was reported, or each bit set.
    reports : array of int64, shape (C,)
        Reports of each cohort.
    precision : float
        Weight of an equation per report: one over the variance of a cell at the uniform p.
    noise : Noise
        What the covariance of the frequencies is.
    given : array, shape (C,), or None
        Weight of the equations of each cohort; None for `precision` times `reports`.
    """

    design: HashDesign
    offset: float
    ones: Array
    reports: Array
    precision: float
    noise: Noise
    given: Array | None = None

    @cached_property
    def moved(self) -> Array:
        """t - offset, flat, shape (C m,); zero in cohorts without reports."""
        n = self.reports[:, None]
        t = np.divide(self.ones, n, out=np.full(self.ones.shape, self.offset), where=n > 0)
        return np.asarray((t - self.offset).reshape(-1))

    @property
    def is_labels(self) -> bool:
        """Whether a report sets exactly one cell."""
        return self.noise.is_labels

    @property
    def cohort_weights(self) -> Array:
        """Weight of the equations of each cohort, shape (C,)."""
        if self.given is not None:
            return self.given
        return self.precision * self.reports.astype(np.float64)

    @property
    def noise_weights(self) -> Array:
        """Squared weight per report of each cohort, shape (C,): what its noise counts with."""
        n = self.reports.astype(np.float64)
        squares = self.cohort_weights**2
        return np.asarray(np.divide(squares, n, out=np.zeros_like(n), where=n > 0))

    def reweighted(self, collisions: float) -> CohortSource:
        """With weights one over the variance of a cell: of its noise and of `collisions`."""
        weights = self.precision * self.reports.astype(np.float64)
        shared = collisions * self.collision_variance
        return replace(self, given=weights / (1.0 + shared * weights))

    @property
    def collision_variance(self) -> float:
        """Variance of a cell by chance collisions, for `collisions` of one."""
        r = self.design.background
        return self.design.slope**2 * r * (1.0 - r)

    @property
    def collision_third(self) -> float:
        """Third cumulant of the same, for a sum of cubes of one."""
        return self.design.slope * (1.0 - 2.0 * self.design.background) * self.collision_variance

    def collision_spread(self) -> Array:
        """``A' D X D A``, shape (S, S), with X the covariance of cells by collisions of one."""
        design, r, shared = self.design, self.design.background, self.noise.shared
        total = design.gram(np.repeat(self.cohort_weights**2, design.n_cells))
        total *= r - shared
        sums = design.by_cohort(self.weights)
        total += (shared - r**2) * (sums.T @ sums)
        total *= design.slope**2
        return total

    @cached_property
    def weights(self) -> Array:
        """Weight of each equation, shape (C m,)."""
        return np.repeat(self.cohort_weights, self.design.n_cells)

    def cell_means(self, p: Array) -> Array:
        """Law of the cells, shape (C, m), when the candidates have the frequencies p."""
        design = self.design
        owned = design.owned(p) - design.background * p.sum()
        return np.asarray(self.offset + design.slope * owned)

    def cell_noise(self) -> tuple[Array, float]:
        """Variance of the weighted cells that each candidate owns, (S,), and of all cells."""
        mean = self.moved.reshape(self.ones.shape) + self.offset
        noise = (self.noise_weights[:, None] * mean * (1.0 - mean)).reshape(-1)
        return self.design.owners(noise), float(noise.sum())

    def own_cells(self, p: Array) -> tuple[Array, Array, Array]:
        """Weight of the own cells of each candidate, their reports, and the share of these.

        All of shape (S,). The reports are as many as would be as noisy if all had one weight, the
        share is what absent candidates would have.
        """
        owners, weights = self.design.owners, self.weights
        total = owners(weights)
        reports = total**2 / owners(np.repeat(self.noise_weights, self.design.n_cells))
        share = owners(weights * self.cell_means(p).reshape(-1)) / total - self.design.slope * p
        return total, reports, np.clip(share, 0.5 / reports, 1.0 - 0.5 / reports)

    def noise_third(self, p: Array) -> Array:
        """Third cumulants of cells by the noise of reports, shape (C, m); zero without reports."""
        means, n = self.cell_means(p), self.reports[:, None].astype(np.float64)
        third = means * (1.0 - means) * (1.0 - 2.0 * means)
        return np.divide(third, n**2, out=np.zeros_like(third), where=n > 0)

    def bounds(self) -> CellBounds:
        """What shares of the reports any answers whatever could set of the cells."""
        design = self.design
        low = self.offset - design.slope * design.background
        most = None if self.is_labels else min(design.cells.shape[2], design.n_cells)
        return CellBounds(self.ones, self.reports, low, low + design.slope, most)

    def information(self, p: Array) -> Array:
        """Expected Fisher information of labels about p, shape (S, S): n Q diag(1/m) Q'."""
        design = self.design
        low = self.offset - design.slope * design.background  # P(a label that is not owned)
        law = self._labels_law(p)
        Q = replace(design, background=-low / design.slope)
        n = np.broadcast_to(self.reports[:, None], law.shape)
        return Q.gram(np.divide(n, law, out=np.zeros(law.shape), where=law > _NEVER).reshape(-1))

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        """Candidates, shape (S,), whose labels p makes impossible: they are known to be absent."""
        never = (self._labels_law(p) <= _NEVER) & (self.reports[:, None] > 0)
        return np.asarray(self.design.owners(never.reshape(-1) + 0.0) > 0.0)

    def _labels_law(self, p: Array) -> Array:
        """Law of the labels, shape (C, m), if nobody holds anything but the candidates."""
        low = self.offset - self.design.slope * self.design.background
        return np.asarray(low * p.sum() + self.design.slope * self.design.owned(p))

    def take(self, index: Array) -> CohortSource:
        """The equations if only some candidates exist."""
        return replace(self, design=self.design.take(index))


@dataclass(frozen=True)
class LabelNoise(Noise):
    """One label a report, and no answer owns two: the counts of a cohort are multinomial."""

    shared: float = 0.0
    is_labels: ClassVar[bool] = True

    def spread(self, source: CohortSource, p: Array) -> Array:
        m = source.cell_means(p)
        return _spread(source, m, m)

    def gradient_variances(self, source: CohortSource) -> Array:
        # the centring is the same whichever label is reported
        return np.asarray(source.design.slope**2 * source.cell_noise()[0])

    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        m = source.cell_means(p)
        return _misfit(source, m, m, m)


@dataclass(frozen=True)
class BitNoise(Noise):
    """Bits that are independent given the answer, so that bits of one answer vary together."""

    shared: float

    def _rest(self, p: Array) -> float:
        """The probability that an answer that is not listed is held and owns two given cells."""
        return max(1.0 - float(p.sum()), 0.0) * self.shared

    def spread(self, source: CohortSource, p: Array) -> Array:
        """`Noise.spread` from the covariance of the bits j and k of one report in each cohort.

        That is ``slope^2 (P(both owned) - P(j owned) P(k owned))``. Its parts are added up over the
        cohorts one by one, as few pairs of bits have a common owner.
        """
        design, means = source.design, source.cell_means(p)
        if design.cells.shape[2] == 1:
            return _spread(source, *_single_bits(source, means))
        gain, rest, scale = design.slope**2, self._rest(p), source.noise_weights
        own = _shares(source, means)
        diagonal = means * (1.0 - means) + gain * (own**2 - rest)
        total = design.gram_of_pairs(scale[:, None] * diagonal, gain * scale, p)
        roots = np.sqrt(gain * scale)[:, None]
        shares = design.by_cohort(own.reshape(-1)) * roots
        total -= shares.T @ shares
        if rest > 0.0:
            every = design.by_cohort(np.ones(own.size)) * np.sqrt(rest) * roots
            total += every.T @ every
        return total

    def gradient_variances(self, source: CohortSource) -> Array:
        # to first order bits are independent; each that is not owned enters by the background
        own, every = source.cell_noise()
        r = source.design.background
        return np.asarray(source.design.slope**2 * ((1.0 - 2.0 * r) * own + r**2 * every))

    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        means = source.cell_means(p)
        if source.design.cells.shape[2] == 1:
            return _misfit(source, means, *_single_bits(source, means))
        return self._pair_misfit(source, p, means)

    def _pair_misfit(self, source: CohortSource, p: Array, m: Array) -> tuple[float, float]:
        """`misfit` of bits of which an answer owns several, for the means m, (C, m), of the cells.

        With V the covariance of one report's bits and u = 1 - 2 m, the squared residuals of n
        reports have the mean tr V / n and the variance (u'V u + 2 (n - 1) |V|^2) / n^3. V has the
        entries slope^2 (B_jk + rest - own_j own_k) off its diagonal, with B those of
        `HashDesign.pair_forms`; all sums over pairs that B has no part in are products.
        """
        design, rest = source.design, self._rest(p)
        own, tilt, variances = _shares(source, m), 1.0 - 2.0 * m, m * (1.0 - m)
        every = np.ones_like(own)
        held, owned, tilted, squares = design.pair_forms(p, np.array([every, own, tilt]))
        single = tilted + rest * _pairs(tilt) - _pairs(tilt * own)
        square = squares + 2.0 * (rest * held - owned) + rest**2 * _pairs(every)
        square += _pairs(own**2) - 2.0 * rest * _pairs(own)
        gain = design.slope**2
        single = (variances * tilt**2).sum(axis=1) + gain * single
        square = (variances**2).sum(axis=1) + gain**2 * square
        return _moments(source, variances, single, square)


def _shares(source: CohortSource, m: Array) -> Array:
    """Share of the answers that own each cell, from the means of the cells."""
    return np.asarray((m - source.offset) / source.design.slope + source.design.background)


def _single_bits(source: CohortSource, means: Array) -> tuple[Array, Array]:
    """Diagonal and loading, see `_spread`, of bits of which an answer owns one."""
    loading = source.design.slope * _shares(source, means)
    return means * (1.0 - means) + loading**2, loading


def _spread(source: CohortSource, diagonal: Array, loading: Array) -> Array:
    """`Noise.spread` where one report's cells have the covariance diag(d) - l l', both (C, m).

    Labels have it, with d = l = m, and bits of which an answer owns one.
    """
    scale = source.noise_weights
    total = source.design.gram((scale[:, None] * diagonal).reshape(-1))
    mean = source.design.by_cohort(loading.reshape(-1)) * np.sqrt(scale)[:, None]
    total -= mean.T @ mean
    return total


def _misfit(
    source: CohortSource, means: Array, diagonal: Array, loading: Array
) -> tuple[float, float]:
    """`Noise.misfit` where one report's cells have the covariance diag(d) - l l'; see `_spread`."""
    square, tilt = loading**2, 1.0 - 2.0 * means
    variances = diagonal - square
    # Z = |N - n m|^2 is a sum over pairs of reports: its first two moments are exact
    single = (diagonal * tilt**2).sum(axis=1) - (loading * tilt).sum(axis=1) ** 2
    pairs = _pairs(square) + (variances**2).sum(axis=1)
    return _moments(source, variances, single, pairs)


def _moments(
    source: CohortSource, variances: Array, single: Array, pairs: Array
) -> tuple[float, float]:
    """`Noise.misfit` from the variances of one report's cells, (C, m), and two forms, (C,).

    With V the covariance of the cells, these are u'V u with u = 1 - 2 m, and the sum of the squared
    entries of V.
    """
    n = source.reports.astype(np.float64)
    variance = n * single + 2.0 * n * (n - 1.0) * pairs
    ratio = np.divide(source.cohort_weights, n, out=np.zeros_like(n), where=n > 0)
    square = np.divide(ratio, n, out=np.zeros_like(n), where=n > 0) ** 2
    return float(ratio @ variances.sum(axis=1)), float(square @ variance)


def _pairs(x: Array) -> Array:
    """Sum over different cells j, k of a cohort of x_j x_k, for x of shape (C, m); shape (C,)."""
    return np.asarray(x.sum(axis=1) ** 2 - (x**2).sum(axis=1))
