"""The linear estimate of hashed candidates, its covariance, and whether the candidates fit.

The equations are those of `ldpstats.cohorts`; the normal equations of several mechanisms add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.cohorts import CohortSource
from ldpstats.covariances import Covariance
from ldpstats.designs import is_identified, least_squares, mirrored
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.estimates import OwnTally
from ldpstats.problems import Equations, Moments
from ldpstats.simplex import project_simplex, project_subsimplex

__all__ = ["LARGEST_DENSE", "CohortMoments", "Misfit", "merged"]

Array = npt.NDArray[Any]

LARGEST_DENSE = 8192  # candidates up to which (S, S) matrices are formed: 512 MB each
_SMALL = 1024  # candidates up to which the inverse, needed for standard errors, gives the estimate
_RANK = 1e-10  # pivots of the scaled normal equations below which candidates are not told apart


@dataclass(frozen=True, eq=False)
class Misfit:
    """How far the frequencies are from all laws that the candidates can make.

    `statistic` is the weighted residual sum of squares, with its `mean` and `variance` if the
    candidates (and, over an open alphabet, answers that hash evenly) explain the reports.
    """

    statistic: float
    mean: float
    variance: float
    per_answer: float = np.inf  # what an answer that all hold and nobody listed adds on average

    @property
    def least_unlisted(self) -> float:
        """The smallest share of answers that are not listed that makes such a statistic.

        Shares q of several answers add in proportion to the sum of their squares, which is the
        largest where there is one answer only.
        """
        return float(np.sqrt(max(self.statistic - self.mean, 0.0) / self.per_answer))

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

    @property
    def condition(self) -> float:
        """That of one cohort's labels, or bits; hashes that nearly agree are left to `inverse`."""
        found = []
        for source in self.sources:
            slope, cells = abs(source.design.slope), source.design.n_cells
            low = source.offset - source.design.slope * source.design.background
            found.append((slope + cells * low) / slope)
        return float(min(found))

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
        if self.k > _SMALL and len(self.sources) == 1:
            source = self.sources[0]
            fit = least_squares(source.design, source.weights, source.moved)
            if fit.converged:
                return fit.p, f"{how}, by {fit.n_iter} conjugate gradients"
        right = [s.design.adjoint(s.weights * s.moved) for s in self.sources]
        return self.inverse @ np.sum(right, axis=0), f"{how}, by Cholesky"

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
        return Misfit(statistic, mean, variance, sum(map(_collisions, self.sources)) * mean / full)

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


def _collisions(source: CohortSource) -> float:
    """Weighted sum of squares that one answer brings to the cells that it owns, and leaves."""
    share = source.design.background
    return float(source.design.slope**2 * share * (1.0 - share) * source.weights.sum())


def merged(problems: Sequence[CohortMoments]) -> CohortMoments:
    """The equations of several mechanisms over the same candidates."""
    sources = tuple(source for problem in problems for source in problem.sources)
    is_open = any(problem.is_open for problem in problems)
    return CohortMoments(sources, is_open, problems[0].describe)
