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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.covariances import Covariance
from ldpstats.designs import HashDesign, is_identified, least_squares, mirrored
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.estimates import OwnTally
from ldpstats.problems import Equations, Moments
from ldpstats.simplex import project_simplex, project_subsimplex

__all__ = [
    "BitNoise",
    "CohortMoments",
    "CohortSource",
    "LabelNoise",
    "Misfit",
    "Noise",
    "merged",
]

Array = npt.NDArray[Any]

LARGEST_DENSE = 8192  # candidates up to which (S, S) matrices are formed: 512 MB each
_SMALL = 1024  # candidates up to which the inverse, needed for standard errors, gives the estimate
_RANK = 1e-10  # pivots of the scaled normal equations below which candidates are not told apart


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
        owned = replace(self.design, slope=1.0, background=0.0).adjoint(noise)
        return owned, float(noise.sum())

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
        observed = np.mean((n * residual[self.reports > 0]) ** 3) / left**3
        return float(observed - np.mean(n * means * (1.0 - means) * (1.0 - 2.0 * means)))

    def information(self, p: Array) -> Array:
        """Expected Fisher information of labels about p, shape (S, S): n Q diag(1/m) Q'."""
        design = self.design
        low = self.offset - design.slope * design.background  # P(a label that is not owned)
        law = low * p.sum() + design.slope * design.owned(p)
        Q = replace(design, background=-low / design.slope)
        return Q.gram((self.reports[:, None] / law).reshape(-1))

    def take(self, index: Array) -> CohortSource:
        """The equations if only some candidates exist."""
        return replace(self, design=self.design.take(index))


@dataclass(frozen=True)
class LabelNoise(Noise):
    """One label a report: the counts of a cohort are multinomial."""

    def spread(self, source: CohortSource, p: Array) -> Array:
        m, n = source.cell_means(p), source.reports.astype(np.float64)
        scale = source.precision**2 * n  # w_c^2 / n_c
        total = source.design.gram((scale[:, None] * m).reshape(-1))
        mean = source.design.by_cohort(m.reshape(-1)) * np.sqrt(scale)[:, None]
        total -= mean.T @ mean
        return total

    def gradient_variances(self, source: CohortSource) -> Array:
        # the centring is the same whichever label is reported
        return np.asarray(source.design.slope**2 * source.cell_noise()[0])

    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        m, n = source.cell_means(p), source.reports.astype(np.float64)
        second, third = (m**2).sum(axis=1), (m**3).sum(axis=1)
        # Z = |N - n m|^2 is a sum over pairs of reports: its first two moments are exact
        variance = 4.0 * n * (third - second**2)
        variance += 2.0 * n * (n - 1.0) * (second - 2.0 * third + second**2)
        seen, kappa = n > 0, source.precision
        ratio = np.divide(kappa, n, out=np.zeros_like(n), where=seen)
        return float(kappa * (1.0 - second)[seen].sum()), float(ratio**2 @ variance)


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
        scale = source.precision**2 * source.reports.astype(np.float64)
        if design.cells.shape[2] == 1:
            return _spread_of_single_bits(source, means, scale)
        total = np.zeros((design.shape[1],) * 2)
        for c in np.flatnonzero(source.reports):
            A, V = design.block(int(c)), self._covariance(source, p, int(c), means[c])
            total += scale[c] * (A.T @ (V @ A))
        return total

    def gradient_variances(self, source: CohortSource) -> Array:
        # to first order bits are independent; each that is not owned enters by the background
        own, every = source.cell_noise()
        r = source.design.background
        return np.asarray(source.design.slope**2 * ((1.0 - 2.0 * r) * own + r**2 * every))

    def misfit(self, source: CohortSource, p: Array) -> tuple[float, float]:
        means, mean, variance = source.cell_means(p), 0.0, 0.0
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


def _spread_of_single_bits(source: CohortSource, means: Array, scale: Array) -> Array:
    """`BitNoise.spread` where an answer owns one bit: no two bits are owned together."""
    design, own = source.design, _shares(source, means)
    loading = design.slope * own
    diagonal = means * (1.0 - means) + loading**2
    total = design.gram((scale[:, None] * diagonal).reshape(-1))
    mean = design.by_cohort(loading.reshape(-1)) * np.sqrt(scale)[:, None]
    total -= mean.T @ mean
    return total


@dataclass(frozen=True, eq=False)
class Misfit:
    """How far the frequencies are from all laws that the candidates can make.

    `statistic` is the weighted residual sum of squares, with its `mean` and `variance` if the
    candidates (and, over an open alphabet, answers that hash evenly) explain the reports.
    """

    statistic: float
    mean: float
    variance: float

    @property
    def df(self) -> float:
        """Degrees of freedom of the multiple of a chi-square that has this mean and variance."""
        return 2.0 * self.mean**2 / self.variance

    @property
    def dispersion(self) -> float:
        """The statistic over its mean."""
        return self.statistic / self.mean


@dataclass(frozen=True, eq=False)
class CohortMoments(Moments):
    """Equations of hashed candidates from one or several mechanisms.

    Parameters
    ----------
    sources : tuple of CohortSource
        Over the same S candidates.
    is_open : bool
        Whether answers may not be among the candidates.
    describe : callable
        ``describe()`` says in words which candidates cannot be told apart, or what would help.
    """

    sources: tuple[CohortSource, ...]
    is_open: bool
    describe: Callable[[], str]
    kind: str = "cohorts"

    @property
    def k(self) -> int:
        return self.sources[0].design.shape[1]

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return int(sum(source.reports.sum() for source in self.sources))

    def single(self, what: str) -> CohortSource:
        """The only source; several are refused where an algorithm is not made for them."""
        if len(self.sources) > 1:
            raise NotAvailable(
                f"{what!r} of {self.k} candidates is for reports of one mechanism: fit the groups "
                "one by one, or use method 'inversion' with at most "
                f"{LARGEST_DENSE} candidates"
            )
        return self.sources[0]

    def take(self, index: Array) -> CohortMoments:
        """The problem if only some candidates exist."""
        return replace(self, sources=tuple(source.take(index) for source in self.sources))

    @cached_property
    def inverse(self) -> Array:
        """``(A' D A)^-1``, shape (S, S), by Cholesky; the rank is checked.

        Raises
        ------
        NotAvailable
            For more candidates than the matrix has room for.
        NotIdentified
            Where candidates cannot be told apart.
        """
        from scipy.linalg import lapack

        if self.k > LARGEST_DENSE:
            raise NotAvailable(
                f"standard errors of {self.k} candidates at once need a matrix of that size; the "
                f"largest is {LARGEST_DENSE}: use method 'lasso', which selects candidates first"
            )
        if not self.k:  # nothing was selected
            return np.empty((0, 0))
        M = sum(source.design.gram(source.weights) for source in self.sources)
        diagonal = np.diag(M).copy()
        if not diagonal.min() > 0.0:
            raise NotIdentified(self.describe())
        root = 1.0 / np.sqrt(diagonal)
        M *= root[:, None]
        M *= root
        # LAPACK counts in columns: the upper triangle of the transpose is the lower one of M
        factor, fault = lapack.dpotrf(M.T, lower=0, overwrite_a=1)
        if fault or np.diag(factor).min() ** 2 < _RANK:
            raise NotIdentified(self.describe())
        inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
        inverse = mirrored(inverse.T)
        inverse *= root[:, None]
        inverse *= root
        return np.asarray(inverse)

    def require_identified(self) -> None:
        """Raise `NotIdentified` where candidates cannot be told apart."""
        if self.k <= LARGEST_DENSE:
            _ = self.inverse
            return
        source = self.single("inversion")
        if not is_identified(source.design, source.weights):
            raise NotIdentified(self.describe())

    @cached_property
    def _estimate(self) -> tuple[Array, str]:
        self.require_identified()
        how = "least squares of the hashed candidates"
        if self.k <= _SMALL or len(self.sources) > 1:
            right = [s.design.adjoint(s.weights * s.moved) for s in self.sources]
            p, how = self.inverse @ np.sum(right, axis=0), f"{how}, by Cholesky"
            return p, how
        source = self.sources[0]
        fit = least_squares(source.design, source.weights, source.moved)
        if fit.converged:
            return fit.p, f"{how}, by {fit.n_iter} conjugate gradients"
        return self.inverse @ source.design.adjoint(source.weights * source.moved), how

    def estimate(self) -> tuple[Array, str]:
        return self._estimate

    def plug_in(self) -> Array:
        p = self.estimate()[0]
        return project_subsimplex(p) if self.is_open else project_simplex(p)

    def spread(self, p: Array) -> Array:
        """Covariance of the right-hand side ``A' D t`` at p, shape (S, S)."""
        return np.asarray(sum(source.noise.spread(source, p) for source in self.sources))

    def covariance(self, p: Array | None = None) -> Covariance:
        inverse = self.inverse
        X = self._plug_in_spread if p is None else self.spread(p)
        return Covariance(np.zeros(self.k), X, inverse)

    @cached_property
    def _plug_in_spread(self) -> Array:
        return self.spread(self.plug_in())

    def misfit(self) -> Misfit | None:
        """Goodness of fit of the candidates; None where they can explain any frequencies seen."""
        p, plug_in = self.estimate()[0], self.plug_in()
        residuals = [(s.weights, s.moved - s.design.times(p)) for s in self.sources]
        statistic = sum(float(weights @ residual**2) for weights, residual in residuals)
        moments = [source.noise.misfit(source, plug_in) for source in self.sources]
        full = sum(mean for mean, _ in moments)
        # least squares takes up the part of the noise that the candidates can follow
        mean = full - float(np.vdot(self.inverse, self._plug_in_spread))
        variance = sum(v for _, v in moments) * mean / full if full > 0.0 else 0.0
        if mean < 1e-8 * full or variance <= 1e-12 * mean**2:  # or too few reports to tell
            return None
        return Misfit(statistic, mean, variance)

    def own_tally(self, variances: Array, dispersed: bool = False) -> OwnTally:
        """Tallies of own cells, whose noise is part of the given variances, (S,), of the estimate.

        The candidates fit the reports unless `dispersed`: then the third moments of the residuals
        show how skewed the noise of answers is that are not among them.
        """
        p = self.plug_in()
        parts = [source.own_cells(p) for source in self.sources]
        slopes = np.array([source.design.slope for source in self.sources])[:, None]
        precisions = np.array([source.precision for source in self.sources])[:, None]
        reports, share = (np.array(part) for part in zip(*parts, strict=True))
        weights = precisions * slopes**2 * reports
        weights /= weights.sum(axis=0)
        # one tally with the variance, and its growth, that those of several sources have together
        offset, rate = (weights * share).sum(axis=0), (weights**2 / (slopes * reports)).sum(axis=0)
        own = (weights**2 * share * (1.0 - share) / (slopes**2 * reports)).sum(axis=0)
        nobs = own / (rate**2 * offset * (1.0 - offset))
        scale = 1.0 / (rate * nobs)
        present = offset + scale * p
        other = variances - present * (1.0 - present) / (scale**2 * nobs)
        excess = np.zeros(self.k)
        if dispersed:
            for source, weight in zip(self.sources, weights / (slopes * reports), strict=True):
                cells = source.design.owners(np.repeat(source.reports > 0, source.design.n_cells))
                excess += cells * weight**3 * source.excess(self.estimate()[0], p)
        # own tallies are approximate, so that the rest may come out as less than nothing; and
        # answers that are not among the candidates only ever add to cells
        return OwnTally(nobs, offset, scale, np.maximum(other, 0.0), np.maximum(excess, 0.0))

    def reduced(self) -> Equations:
        """One equation a candidate: its linear estimate, to be pooled with other mechanisms."""
        estimate = self.estimate()[0]
        variances = self.covariance(np.full(self.k, 1.0 / self.k)).variances()
        return Equations(
            1.0, 0.0, estimate, self.covariance, 1.0 / variances, self.nobs, kind="pooled"
        )


def merged(problems: Sequence[CohortMoments]) -> CohortMoments:
    """The equations of several mechanisms over the same candidates."""
    sources = tuple(source for problem in problems for source in problem.sources)
    is_open = any(problem.is_open for problem in problems)
    return CohortMoments(sources, is_open, problems[0].describe)
