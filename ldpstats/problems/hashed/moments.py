"""The linear estimate of hashed candidates, its covariance, and whether the candidates fit.

The equations are those of `problems.hashed.cohorts`; the normal equations of several mechanisms add
up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain, Unexplained
from ldpstats.problems.hash_design import is_identified, least_squares
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.problems.hashed.influences import collided, fourth_cumulant, roughly_collided
from ldpstats.problems.hashed.inverse import inverted
from ldpstats.problems.hashed.own_cells import own_cells
from ldpstats.problems.hashed.reach import cohort_reach, crowded_reach
from ldpstats.problems.moments import (
    LARGEST_LIST,
    CellBounds,
    Check,
    Misfit,
    Moments,
    OwnCounts,
)
from ldpstats.problems.reach import Pair
from ldpstats.problems.simplex import project_simplex, project_subsimplex
from ldpstats.problems.tallies import OwnTally, Tallies

__all__ = ["LARGEST_DENSE", "CohortMoments", "merged"]

Array = npt.NDArray[Any]

LARGEST_DENSE = 8192  # candidates up to which (S, S) matrices are formed: 512 MB each
_SMALL = 1024  # candidates up to which the inverse, needed for standard errors, gives the estimate
_ROUNDS = 6  # of reweighting, at most; _LONG_ROUNDS where the matrices are large
_LONG_ROUNDS = 2
_SATURATED = 1e-8  # share of their variance that residuals have where candidates fit anything
_SETTLED = 0.05  # relative change of weights that is too small to matter
_INFLUENCES = 1e10  # multiplications up to which the influence of every cell is computed
_BLIND = 0.25  # growth of variances that must not go unnoticed
_GUARD = 0.12  # share of the variance that residuals show, where that is the larger one
_KEPT = ("inverse", "_estimate", "_plug_in_noise", "_collision_spread", "_noise_squares", "_misfit")
_DOUBT = 0.01  # p-value below which candidates do not fit, and the equations allow for others
_FEWEST_COHORTS = 8  # from which tests over incomplete lists keep their level


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
    incomplete : bool
        Whether the covariance allows for answers that are not listed, see `open_ended`.
    """

    sources: tuple[CohortSource, ...]
    is_open: bool = field()  # required, whatever `Moments` has
    describe: Callable[[], str]
    incomplete: bool = False
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

    @property
    def has_errors(self) -> bool:
        return self.k <= LARGEST_DENSE

    def merged(self, others: Sequence[Moments]) -> CohortMoments | None:
        hashed = [q for q in others if isinstance(q, CohortMoments)]  # their cohorts add up
        return merged([self, *hashed]) if len(hashed) == len(others) else None

    def matched(self, other: Moments) -> tuple[Moments, Moments] | None:
        """Both groups with equal weights of their cohorts: those of the difference of two cells.

        Over an open alphabet answers that are not listed then cancel, hash by hash, if both groups
        have the same mechanism. None where they share too few cohorts.
        """
        if not self.is_open or not isinstance(other, CohortMoments):
            return None
        weights = [problem.sources[0].cohort_weights for problem in (self, other)]
        total = np.sum(weights, axis=0)
        both = np.divide(weights[0] * weights[1], total, out=np.zeros_like(total), where=total > 0)
        first, second = (problem.weighted((both,)) for problem in (self, other))
        try:
            first.require_identified()
        except NotIdentified:
            return None
        return first, second

    def weighted(self, weights: Sequence[Array]) -> CohortMoments:
        """With these weights of the cohorts of each source, (C,)."""
        pairs = zip(self.sources, weights, strict=True)
        return replace(self, sources=tuple(replace(s, given=w) for s, w in pairs))

    @cached_property
    def inverse(self) -> Array:
        """``(A' D A)^-1``, shape (S, S), by Cholesky; the rank is checked."""
        if self.k > LARGEST_DENSE:
            raise NotAvailable(
                f"standard errors of {self.k} candidates at once need a matrix of that size; the "
                f"largest is {LARGEST_DENSE}: use method 'lasso', which selects candidates first"
            )
        if not self.k:  # nothing was selected
            return np.empty((0, 0))
        if self.k > self.n_equations:
            raise NotIdentified(self.describe())
        M = np.asarray(sum(source.design.gram(source.weights) for source in self.sources))
        found = inverted(M)
        if found is None:
            raise NotIdentified(self.describe())
        return found

    def require_identified(self) -> None:
        """Raise `NotIdentified` if candidates cannot be distinguished."""
        if self.k <= LARGEST_DENSE:
            _ = self.inverse
            return
        source = self.single("inversion")
        if self.k > self.n_equations or not is_identified(source.design, source.weights):
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
        return project_subsimplex(p) if self.is_open or not p.size else project_simplex(p)

    def spread(self, p: Array) -> Array:
        """Covariance of the right-hand side ``A' D t`` at p, shape (S, S)."""
        return self._with_collisions(self._noise(p))

    def _with_collisions(self, noise: Array) -> Array:
        if not self.collisions:
            return noise
        return np.asarray(noise + self.collisions * self._collision_spread)

    def _noise(self, p: Array) -> Array:
        return np.asarray(sum(source.noise.spread(source, p) for source in self.sources))

    def covariance(self, p: Array | None = None) -> Covariance:
        inverse = self.inverse
        X = self._with_collisions(self._plug_in_noise) if p is None else self.spread(p)
        return Covariance(np.zeros(self.k), X, inverse)

    @cached_property
    def _plug_in_noise(self) -> Array:
        return self._noise(self.plug_in())

    @cached_property
    def _collision_spread(self) -> Array:
        """What `spread` has of collisions if `collisions` are one."""
        return np.asarray(sum(source.collision_spread() for source in self.sources))

    @property
    def _residuals(self) -> list[Array]:
        p = self.estimate()[0]
        return [source.moved - source.design.times(p) for source in self.sources]

    @cached_property
    def _noise_moments(self) -> tuple[float, float]:
        """Mean and variance, by noise, of the weighted squares before fitting, at the plug-in."""
        p = self.plug_in()
        mean, variance = np.sum([s.noise.misfit(s, p) for s in self.sources], axis=0)
        return float(mean), float(variance)

    @cached_property
    def _noise_squares(self) -> tuple[float, float, float]:
        """Weighted residual sum of squares, and its mean by noise before and after fitting."""
        pairs = zip(self.sources, self._residuals, strict=True)
        statistic = sum(float(source.weights @ residual**2) for source, residual in pairs)
        full = self._noise_moments[0]
        # least squares takes up the part of the noise that the candidates can follow
        return statistic, full, full - float(np.vdot(self.inverse, self._plug_in_noise))

    def misfit(self) -> Misfit | None:
        """Goodness of fit of the candidates; None where they can explain any frequencies seen."""
        return self._misfit

    @cached_property
    def _misfit(self) -> Misfit | None:
        if not self.has_errors or not (self.k or self.is_open):
            return None
        statistic, full, mean = self._noise_squares
        variance = self._noise_moments[1] * mean / full if full > 0.0 else 0.0
        if mean < _SATURATED * full or variance <= 1e-12 * mean**2:  # or too few reports to tell
            return None
        per_answer = sum(map(_collisions, self.sources)) * mean / full
        return Misfit(statistic, mean, variance, per_answer, len(self.sources))

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        return cohort_reach(self.single("reach"), self._evenly(), pair)

    def crowded_reach(
        self, p: Array, share: float, pair: Pair | None = None
    ) -> tuple[Array, Array]:
        """The expected estimate if a share of reports are alike, see `hashed.reach`."""
        return crowded_reach(self.single("reach"), self._evenly(), p, share, pair)

    def _evenly(self) -> Array:
        """The inverse of the mean over cohorts of A_c' A_c, (S, S), for one report in each."""
        source = self.sources[0]
        return self.inverse * (source.precision * source.design.n_cohorts)

    # -- what can be tested ------------------------------------------------------------------

    @property
    def checks(self) -> tuple[Check, ...]:
        return (Check.CELLS,)

    def cell_bounds(self) -> tuple[CellBounds, ...]:
        return tuple(source.bounds() for source in self.sources) if self.is_open else ()

    def information(self, p: Array) -> Array | None:
        """That of labels at p, if nobody holds anything but the candidates; None for bits."""
        if not all(source.is_labels for source in self.sources):
            return None
        return np.asarray(sum(source.information(p) for source in self.sources))

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        labels = [source.pinned(p) for source in self.sources if source.is_labels]
        return np.any(labels, axis=0) if labels else super().pinned(p)

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        """Of labels: each cohort is a source by itself; None where others than candidates count."""
        size = self.k * sum(source.ones.size for source in self.sources)
        if self.is_open or size > LARGEST_LIST or not all(s.is_labels for s in self.sources):
            return None
        found = []
        for source in self.sources:
            design, n = source.design, source.reports
            rows = (design.matrix() @ self.inverse).reshape(*source.ones.shape, self.k)
            law = np.maximum(source.cell_means(p), 0.0)  # of rounding
            for c in np.flatnonzero(n):
                each = rows[c] * (source.cohort_weights[c] / n[c])
                found.append((int(n[c]), each, law[c] / law[c].sum()))
        return found

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        own = self.own_counts()
        if own is None:
            return None
        tally = sum(s.design.owners(s.ones.reshape(-1) + 0.0) for s in self.sources)
        return np.asarray(tally), own.offset + own.slope * p

    def own_counts(self) -> OwnCounts | None:
        """Where each label belongs to one candidate alone, whatever the cohort: that of k-RR."""
        if self.is_open or len(self.sources) > 1:
            return None
        (source,) = self.sources
        C, m = source.ones.shape
        cells = np.sort(source.design.cells.reshape(C, -1), axis=1)
        if not source.is_labels or source.given is not None or m != self.k:
            return None
        if not np.array_equal(cells, np.broadcast_to(np.arange(m), (C, m))):
            return None
        slope, low = source.design.slope, source.bounds().absent
        v = source.precision * slope**2 * self.nobs
        return OwnCounts(self.nobs, *(np.full(m, value) for value in (low, slope, v)))

    def wald_law(self) -> tuple[float, float] | None:
        if not self.collisions:
            return None
        found = self.misfit()
        return np.inf if found is None else found.df, self.wald_variance() / (2.0 * self.k)

    # -- lists that are not complete ---------------------------------------------------------

    def for_inference(self, incomplete: bool = False) -> CohortMoments:
        """The equations that inference rests on: `open_ended` where other answers are held.

        An answer that is not among the candidates hashes to the same cells in every report, not
        evenly over all: frequent ones spread the cells more than reports alone do. Where the misfit
        shows that (at .01), or the candidates sum to less than one, the equations allow for it, so
        that tests keep their level over the hashes. Where candidates are known to be `incomplete`,
        for example because they were selected, they always do: the test misses what still matters
        to many tests at once. So they do where cohorts are so uneven, or cells so few, that it
        would miss what matters to one.
        """
        found = self.misfit()
        if found is None or not self.is_open:
            return self
        if incomplete or found.pvalue < _DOUBT or self._leaves_some_over or self.is_blind:
            return self.open_ended()
        return self

    @property
    def _leaves_some_over(self) -> bool:
        """Whether the candidates do not sum to one, by a one-sided test."""
        share = self._unexplained(Uncertain(self.estimate()[0], self.covariance()))
        return share.is_positive(_DOUBT)

    def unexplained(self, linear: Uncertain) -> Unexplained | None:
        return self._unexplained(linear) if self.is_open else None

    def _unexplained(self, linear: Uncertain) -> Unexplained:
        p = linear.estimate[linear.places]
        if linear.covariance is None or not p.size:
            return Unexplained(1.0 - float(p.sum()), np.nan)
        variance = linear.covariance.merged(np.zeros(p.size, dtype=np.int64)).variances()[0]
        return Unexplained(1.0 - float(p.sum()), float(np.sqrt(variance)))

    def caution(self, others: bool) -> str:
        if not (self.is_open and others and self.k):
            return ""
        if self.n_cohorts < _FEWEST_COHORTS:
            few = f"only {self.n_cohorts} of the cohorts have reports"
            return f"{few}, fewer than {_FEWEST_COHORTS}"
        if 3 * self.k > self.n_equations:
            many = f"{self.k} candidates are more than a third"
            return f"{many} of the {self.n_equations} cells"
        return ""

    def open_ended(self) -> CohortMoments:
        """The same equations for a list that is known not to be complete.

        Chance collisions with unlisted answers do not shrink as a cohort grows, as noise does.
        They are a second component of variance (`collisions`), and weights are one over the sum of
        both (random-effects least squares; DerSimonian and Laird 1986, Paule and Mandel 1982).
        Where the weights would hardly move, as with even cohorts, they stay as they are.
        """
        problem = replace(self, incomplete=True)
        # what was computed does not depend on whether the list is complete
        problem.__dict__.update({k: v for k, v in self.__dict__.items() if k in _KEPT})
        for _ in range(_ROUNDS if self.k <= _SMALL else _LONG_ROUNDS):
            found = problem.collisions
            sources = tuple(source.reweighted(found) for source in self.sources)
            if _settled(problem.sources, sources):
                break
            problem = replace(problem, sources=sources)
        return problem

    @cached_property
    def collisions(self) -> float:
        """Sum of the squared frequencies of the answers that are not listed, from the residuals.

        The moment estimate: squared residuals are on average those of noise and, in proportion to
        this sum, those of collisions. Zero for lists that are taken for complete.
        """
        if not self.incomplete or not self.k:
            return 0.0
        statistic, full, mean = self._noise_squares
        share = [source.collision_variance * source.weights.sum() for source in self.sources]
        rate = sum(share) - float(np.vdot(self.inverse, self._collision_spread))
        if rate <= _SATURATED * sum(share) or mean < _SATURATED * full:
            return 0.0
        return max(0.0, float((statistic - mean) / rate))

    @property
    def dispersion(self) -> float:
        """How much larger variances are, on average, than those of the reports alone."""
        return self.dispersion_by(self.collisions)

    def dispersion_by(self, collisions: float) -> float:
        """The same with the weights of these equations, for collisions that are known."""
        if not collisions:
            return 1.0
        noise = float(np.vdot(self.inverse, self._plug_in_noise))
        return 1.0 + collisions * float(np.vdot(self.inverse, self._collision_spread)) / noise

    @property
    def n_cohorts(self) -> int:
        """Cohorts with reports, over all sources."""
        return sum(int(np.count_nonzero(source.reports)) for source in self.sources)

    @property
    def n_equations(self) -> int:
        """Cells of the cohorts with reports."""
        return sum(
            int(np.count_nonzero(source.reports)) * source.design.n_cells for source in self.sources
        )

    @property
    def is_blind(self) -> bool:
        """Whether `misfit` may miss collisions that matter to the estimates.

        It weighs all cells alike, but a cohort counts in the estimates by the square of its weight.
        """
        found = self.misfit()
        if found is None:
            return True
        w = np.concatenate([source.weights for source in self.sources])
        uneven = np.count_nonzero(w) * float((w**2).sum()) / float(w.sum()) ** 2
        return bool(2.0 * np.sqrt(found.variance) / found.mean * uneven > _BLIND)

    @cached_property
    def _collided(self) -> tuple[Array, Array, float]:
        """Third cumulants of the estimates by collisions, and what variances cells show, (S,) both.

        And the sum of the cubed frequencies of the unlisted answers.

        Collisions only ever add to a cell, so that estimates have a long upper tail: how long, the
        cubes of the residuals show. The variances are those of MacKinnon and White (1985, HC3),
        the squared residuals of each candidate's own influences: they are large where a candidate
        owes its estimate to few cells.
        """
        given = self.sources, self._residuals, self.plug_in(), self.collisions
        if self._has_influences:
            return collided(*given, self.inverse)
        return roughly_collided(*given)

    @property
    def _has_influences(self) -> bool:
        """Whether the influences of all cells on all estimates are few enough to compute."""
        return sum(source.ones.size for source in self.sources) * self.k**2 <= _INFLUENCES

    def wald_variance(self) -> float:
        """Variance of the Wald statistic of all candidates: 2 S, and more by collisions.

        A cell that meets an unlisted answer is far off: with ``G_ii`` the weight of its square in
        the statistic, its fourth cumulant times ``G_ii^2`` is added. It is taken from the second
        and third, as if the unlisted answers were all as frequent.
        """
        plain = 2.0 * self.k
        if not self.collisions or not self._has_influences:  # so many cells that none matters
            return plain
        third = self._collided[2]
        spread = self._with_collisions(self._plug_in_noise)
        scale = float(np.vdot(self.inverse, spread)) / self.k
        fourth = fourth_cumulant(self.sources, self.inverse)
        return plain + third**2 / self.collisions * fourth / scale**2

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        if linear.covariance is None or not self.k:
            return None
        return self.own_tally(linear.covariance.variances())

    def own_tally(self, variances: Array) -> OwnTally:
        """Tallies of own cells, whose noise is part of the given variances, (S,), of the estimate.

        Of a list that is not complete the residuals show how skewed the noise of answers is that
        are not among the candidates, and whether a candidate owes its estimate to few cells.
        """
        own = own_cells(self.sources, self.plug_in(), variances)
        excess, guard = np.zeros(self.k), np.zeros(self.k)
        if self.incomplete:
            excess, shown, _ = self._collided
            guard = np.maximum(_GUARD * (shown - variances), 0.0)
        return OwnTally(*own, excess, guard)


def _collisions(source: CohortSource) -> float:
    """Weighted sum of squares that one answer brings to the cells that it owns, and leaves."""
    share = source.design.background
    return float(source.design.slope**2 * share * (1.0 - share) * source.weights.sum())


def _settled(now: Sequence[CohortSource], after: Sequence[CohortSource]) -> bool:
    """Whether new weights are in the same proportions as the present ones, nearly."""
    old, new = (np.concatenate([s.cohort_weights for s in each]) for each in (now, after))
    ratio = new[old > 0.0] / old[old > 0.0]
    return bool(ratio.max() <= (1.0 + _SETTLED) * ratio.min())


def merged(problems: Sequence[CohortMoments]) -> CohortMoments:
    """The equations of several mechanisms over the same candidates."""
    sources = tuple(source for problem in problems for source in problem.sources)
    is_open = any(problem.is_open for problem in problems)
    return CohortMoments(sources, is_open, problems[0].describe)
