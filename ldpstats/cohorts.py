"""Linear equations of hashed reports: many cohorts, each with its own view of the candidates.

Within cohort c, of n_c respondents, the frequency of label or bit j is on average

    E[t_cj] = offset + slope (H_cj . p - background sum(p)),

where H_cj marks the candidates that cohort c hashes to j. Over an open alphabet the answers that
are not among the candidates hash anywhere: their share 1 - sum(p) falls on every cell with the
probability `background` on average, and that is in `offset`. (Without it their mass would be spread
over the candidates.) Over a closed alphabet there are none, and the background is zero.

Cohort sizes are ancillary: everything is conditional on them, and a cohort without reports gives no
equation. All weights are fixed before the data are seen, so that estimates are unbiased.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.designs import HashDesign

__all__ = ["BitNoise", "CohortSource", "LabelNoise", "Noise"]

Array = npt.NDArray[Any]

_NEVER = 1e-14  # probability of a label that rounding cannot tell from zero


class Noise(ABC):
    """The law of one cohort's frequencies, given what share of its cell each answer owns."""

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
    """

    design: HashDesign
    offset: float
    ones: Array
    reports: Array
    precision: float
    noise: Noise

    @cached_property
    def moved(self) -> Array:
        """t - offset, flat, shape (C m,); zero in cohorts without reports."""
        n = self.reports[:, None]
        t = np.divide(self.ones, n, out=np.full(self.ones.shape, self.offset), where=n > 0)
        return np.asarray((t - self.offset).reshape(-1))

    @property
    def is_labels(self) -> bool:
        """Whether a report sets exactly one cell."""
        return isinstance(self.noise, LabelNoise)

    @property
    def cohort_weights(self) -> Array:
        """Weight of the equations of each cohort, shape (C,)."""
        return self.precision * self.reports.astype(np.float64)

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
        noise = (self.precision**2 * self.reports[:, None] * mean * (1.0 - mean)).reshape(-1)
        return self.design.owners(noise), float(noise.sum())

    def own_cells(self, p: Array) -> tuple[Array, Array]:
        """Reports of own cells, (S,), and the share of them that absent candidates would have."""
        owners, n = self.design.owners, self.reports[:, None].astype(np.float64)
        reports = owners(np.broadcast_to(n, self.ones.shape))
        share = owners(n * self.cell_means(p)) / reports - self.design.slope * p
        return reports, np.clip(share, 0.5 / reports, 1.0 - 0.5 / reports)

    def excess(self, estimate: Array, p: Array) -> float:
        """Third cumulant of the reports of a cell beyond that of reports alone, on average."""
        n, means = self.reports[self.reports > 0][:, None], self.cell_means(p)[self.reports > 0]
        residual = (self.moved - self.design.times(estimate)).reshape(self.ones.shape)
        left = 1.0 - self.design.shape[1] / means.size  # residuals are shorter than errors
        if left <= 0.0:  # or nothing is left of them
            return 0.0
        observed = np.mean((n * residual[self.reports > 0]) ** 3) / left**3
        return float(observed - np.mean(n * means * (1.0 - means) * (1.0 - 2.0 * means)))

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
    """One label a report: the counts of a cohort are multinomial."""

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
    """Bits that are independent given the answer, so that bits of one answer vary together.

    `shared` is the probability that an answer that is not a candidate owns two given bits.
    """

    shared: float

    def _covariance(self, source: CohortSource, p: Array, c: int, m: Array) -> Array:
        """Covariance of the m bits of one report in cohort c, shape (m, m)."""
        design = source.design
        rest = max(1.0 - float(p.sum()), 0.0)
        owned = design.incidence(c)
        both = (owned * p) @ owned.T + rest * self.shared
        own = _shares(source, m)
        V = design.slope**2 * (both - np.outer(own, own))
        np.fill_diagonal(V, m * (1.0 - m))
        return np.asarray(V)

    def spread(self, source: CohortSource, p: Array) -> Array:
        design, means = source.design, source.cell_means(p)
        if design.cells.shape[2] == 1:
            return _spread(source, *_single_bits(source, means))
        total = np.zeros((design.shape[1],) * 2)
        for c in np.flatnonzero(source.reports):
            A, V = design.block(int(c)), self._covariance(source, p, int(c), means[c])
            total += source.precision**2 * float(source.reports[c]) * (A.T @ (V @ A))
        return total

    def gradient_variances(self, source: CohortSource) -> Array:
        # to first order bits are independent; each that is not owned enters by the background
        own, every = source.cell_noise()
        r = source.design.background
        return np.asarray(source.design.slope**2 * ((1.0 - 2.0 * r) * own + r**2 * every))

    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        means, mean, variance = source.cell_means(p), 0.0, 0.0
        if source.design.cells.shape[2] == 1:
            return _misfit(source, means, *_single_bits(source, means))
        for c in np.flatnonzero(source.reports):
            m, n = means[c], float(source.reports[c])
            V, tilt = self._covariance(source, p, int(c), m), 1.0 - 2.0 * m
            mean += source.precision * float(np.trace(V))
            pairs = n * float(tilt @ V @ tilt) + 2.0 * n * (n - 1.0) * float((V**2).sum())
            variance += (source.precision / n) ** 2 * pairs
        return mean, variance


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
    scale = source.precision**2 * source.reports.astype(np.float64)  # w_c^2 / n_c
    total = source.design.gram((scale[:, None] * diagonal).reshape(-1))
    mean = source.design.by_cohort(loading.reshape(-1)) * np.sqrt(scale)[:, None]
    total -= mean.T @ mean
    return total


def _misfit(
    source: CohortSource, means: Array, diagonal: Array, loading: Array
) -> tuple[float, float]:
    """`Noise.misfit` where one report's cells have the covariance diag(d) - l l'; see `_spread`."""
    n, square, tilt = source.reports.astype(np.float64), loading**2, 1.0 - 2.0 * means
    variances = diagonal - square
    # Z = |N - n m|^2 is a sum over pairs of reports: its first two moments are exact
    single = (diagonal * tilt**2).sum(axis=1) - (loading * tilt).sum(axis=1) ** 2
    pairs = square.sum(axis=1) ** 2 - (square**2).sum(axis=1) + (variances**2).sum(axis=1)
    variance = n * single + 2.0 * n * (n - 1.0) * pairs
    seen = n > 0
    ratio = np.divide(source.precision, n, out=np.zeros_like(n), where=seen)
    return float(source.precision * variances[seen].sum()), float(ratio**2 @ variance)
