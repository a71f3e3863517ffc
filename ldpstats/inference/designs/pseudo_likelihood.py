"""Weighted likelihoods of privatised reports: their maximum, and its linearised score.

The pseudo-likelihood ``sum_i w_i log P(r_i; p)`` estimates that of the whole population (Skinner
1989; Binder 1983, equation 2.3). Its maximum is p plus, to first order, the sum of ``w_i z_i`` with
z = V (s - mean s), s the score of a report and V the inverse of the weighted information on the
tangent space of the simplex. The variance between sampling units of z is the sandwich covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.estimators.mle import MLE
from ldpstats.inference.designs.estimation import estimated_totals, missed_noise
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Ratios
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.problems.decoding import Decoding, distinct_reports, each_once
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import Rows
from ldpstats.reports.single import Counts, Reports

__all__ = ["Maxima", "PseudoLikelihood", "maxima", "pseudo_likelihood"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LARGEST = 2048  # categories up to which an information matrix is formed


@dataclass(frozen=True, eq=False)
class PseudoLikelihood(Decoding):
    """The maximum of a weighted likelihood, and reports decoded around it.

    With W the sum of the weights, ``phi = p + W z``, z as above. So the weighted mean of phi is p
    exactly, phi - p is its linearised score, and where p is right, phi is unbiased for the
    indicator of the true category, as every `Decoding` is.

    Parameters
    ----------
    solution : Solution
        Its gap is that of the weighted likelihood, per report.
    llf : float
        Log-likelihood in nats, with weights that sum to the number of respondents.
    rows : Rows
        Likelihood of each distinct report, (u, k).
    shares : array, shape (u,)
        Weighted share of each distinct report.
    has_errors : bool
        Whether the scores are known; where not, `phi` is nan.
    """

    solution: Solution
    llf: float
    rows: Rows
    shares: Array
    has_errors: bool = True

    @property
    def is_fixed(self) -> bool:
        return False

    def noise_at(self, q: Array) -> Array:
        # reports as they were seen have the law m of p; those of q are seen q Q / m times as often
        seen = self._over(self.rows.mix(q))
        squares = (self.phi.T * seen) @ self.phi
        return np.asarray(squares - (self._means.T * q) @ self._means)

    def noise(self, t: Array, total: float | None = None) -> Array:
        return np.asarray(self.noise_at(t))  # the likelihood takes the candidates for all answers

    def _over(self, v: Array) -> Array:
        """Share of each report times v, (u,), relative to its probability; zero if never seen."""
        d, seen = self.rows.mix(self.solution.p), self.shares > 0.0
        return np.asarray(np.divide(self.shares * v, d, out=np.zeros(d.shape), where=seen))

    @cached_property
    def _means(self) -> Array:
        """Mean of phi given each category, (k, k)."""
        weights = self._over(np.ones(self.shares.shape))
        return np.asarray((self.rows.dense().T * weights) @ self.phi)


def pseudo_likelihood(
    reports: Reports,
    weights: Array,
    nobs: float,
    candidates: Any = None,
    constraints: Any = None,
) -> PseudoLikelihood:
    """Maximise the weighted likelihood of the reports of one variable in one domain.

    Parameters
    ----------
    reports : Reports
        Of n respondents, or of n groups of respondents with equal reports.
    weights : array, shape (n,)
        Of each, at least zero; zero outside the domain.
    nobs : float
        Respondents in the domain, which the weights are made to sum to: tolerances are about
        them.
    candidates : sequence of str, optional
        Where any string is an answer; the likelihood takes them for all answers.
    constraints : callable, optional
        As for `MLE`; a constrained estimate has no scores.

    Raises
    ------
    InvalidArgument
        If no p meets the constraints, or no weight is positive.

    Warns
    -----
    ConvergenceWarning
        Where the gap of the weighted likelihood was not reached.
    """
    distinct, place = distinct_reports(reports)
    total = np.bincount(place, weights, len(distinct))
    once = each_once(distinct)
    if not total.any():
        raise InvalidArgument("weights", 0.0, "must be positive for one report at least")
    rows = reports.mechanism.likelihood(once, candidates).W
    problem = Likelihood(rows, total * (nobs / total.sum()))
    solution = MLE(constraints=constraints).solve(problem)
    z = None
    if constraints is None:
        free = _free(once, problem.W, candidates, solution.p)
        z = _influence(problem, solution.p, free)
    phi = np.full(problem.W.shape, np.nan) if z is None else solution.p + z
    llf, shares = problem.loglike(solution.p), total / total.sum()
    return PseudoLikelihood(phi, place, solution, llf, rows, shares, z is not None)


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maxima of the weighted likelihoods of g domains, and how they vary together.

    Parameters
    ----------
    domains : tuple of PseudoLikelihood
        Their `place` is that of the domain's cells.
    covariance : array, shape (g k, g k), or None
        Sandwich covariance under the design; None where a domain has no scores.
    """

    domains: tuple[PseudoLikelihood, ...]
    covariance: Array | None

    @property
    def p(self) -> Array:
        """The estimates, shape (g k,)."""
        return np.concatenate([one.solution.p for one in self.domains])

    @property
    def llf(self) -> float:
        """Log-likelihood of all domains, with weights that sum to the respondents of each."""
        return sum(one.llf for one in self.domains)

    @property
    def solution(self) -> Solution:
        """All of them, with the certificate of the worst."""
        found = [one.solution for one in self.domains]
        worst = max(found, key=lambda one: (not one.converged, one.gap))
        return replace(worst, p=self.p, n_iter=max(one.n_iter for one in found))


def maxima(
    sample: Sample,
    reports: Reports,
    at: Codes,
    domain: Codes,
    candidates: Any = None,
    constraints: Any = None,
) -> Maxima:
    """Maximise the weighted likelihood in every domain, under a design.

    Parameters
    ----------
    sample : Sample
        Of c cells.
    reports : Reports
        Those that cells have.
    at, domain : array of int64, shape (c,)
        The report and the domain of each cell; -1 for none. Each domain has a report.
    candidates, constraints : optional
        As for `pseudo_likelihood`, where the errors and warnings are too.
    """
    distinct, place = distinct_reports(reports)
    at = np.append(place, -1)[at]
    cells = [np.flatnonzero((domain == g) & (at >= 0)) for g in range(int(domain.max()) + 1)]
    found = []
    for own in cells:
        seen, mine = np.unique(at[own], return_inverse=True)  # distinct reports keep their order
        weights, nobs = np.bincount(mine, sample.w[own]), float(sample.n[own].sum())
        one = pseudo_likelihood(distinct[seen], weights, nobs, candidates, constraints)
        found.append(replace(one, place=mine))
    covariance = None
    if all(one.has_errors for one in found):
        covariance = _joint_covariance(sample, cells, found)
    return Maxima(tuple(found), covariance)


def _joint_covariance(sample: Sample, cells: list[Codes], found: list[PseudoLikelihood]) -> Array:
    """Covariance of the maxima of all domains, of some cells each, from their linearised scores."""
    from scipy.linalg import block_diag
    from scipy.sparse import block_diag as sparse_diag

    place, missed = np.full(sample.w.shape, -1), sample.w2 * missed_noise(sample)
    domain = np.full(sample.w.shape, -1)
    parts, before = [], 0
    noise: list[Array] = []
    lost: list[Array] = []
    for i, (own, one) in enumerate(zip(cells, found, strict=True)):
        domain[own] = i
        rows, total = one.place, sample.w[own].sum()
        place[own] = before + rows
        before += len(one.phi)
        parts.append((one.phi - one.solution.p) / total)
        for v, kept in ((sample.w2, noise), (missed, lost)):
            t = np.bincount(rows, v[own], len(one.phi)) @ one.phi
            kept.append(one.noise(t) / total**2)
    table = parts[0] if len(parts) == 1 else sparse_diag(parts, format="csr")
    totals = estimated_totals(
        sample,
        Scores(((place, table),), domain, len(found)),
        block_diag(*noise),
        block_diag(*lost),
    )
    return totals.covariance_of(Ratios(np.eye(len(found) * found[0].k)))


def _influence(problem: Likelihood, p: Array, free: Mask) -> Array | None:
    """Change of the maximum with the share of each report, (u, k); None if it is not unique."""
    seen, total = problem.n > 0, float(problem.n.sum())
    if p.size > _LARGEST:
        return None
    try:
        J = problem.information(p)[np.ix_(free, free)]
        V = observed_tangent_inverse(J).matrix() * total
    except NotIdentified:
        return None
    d = np.where(seen, problem.W.mix(p), 1.0)
    scores = problem.W.dense()[:, free] / d[:, None] - problem.score(p)[free] / total
    found = np.zeros(problem.W.shape)
    found[:, free] = np.where(seen[:, None], scores, 0.0) @ V
    return found


def _free(once: Counts, W: Rows, candidates: Any, p: Array) -> Mask:
    """Categories whose estimate can vary, as in the covariance of unweighted estimates.

    One that some report with probability zero would reveal is known to be absent, to first order.
    """
    mechanism = once.mechanism
    free = ~(W.pinned(p) | mechanism.moments(once, candidates).pinned(p))
    if mechanism.n_outputs and not mechanism.n_cohorts:
        Q = mechanism.channel().matrix()
        never = (p @ Q <= 0.0) & Q.any(axis=0)
        free &= ~Q[:, never].any(axis=1)
    return np.asarray(free)
