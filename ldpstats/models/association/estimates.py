"""Estimates of a joint distribution from the evidence, with their covariances and laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.base import Estimator, MomentsEstimator
from ldpstats.estimators.mle import MLE, maximise
from ldpstats.estimators.one_step import OneStep
from ldpstats.estimators.solvers.ascent import gap_target, observed, report
from ldpstats.inference.information import fpe16, observed_tangent_inverse
from ldpstats.inference.skewness import CellLaw, path_cumulants
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.models.shared.bar import fitting
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.joint.moments import JointMoments, without_rounding
from ldpstats.problems.problem import Solution
from ldpstats.problems.simplex import project_simplex

__all__ = [
    "Estimated",
    "cell_law",
    "covariance_of",
    "dispersion",
    "estimated",
    "information",
    "maximum",
    "one_step",
    "rests_on",
    "uncertain",
    "unconstrained",
]

Array = npt.NDArray[Any]

_PART = 0.25  # of a step: half of the correction for continuity, which is half a step
_ROUNDING = 1e-9  # of frequencies
_STRATA = 50  # respondents, over the square of the strata, from which these tell their information


@dataclass(frozen=True, eq=False)
class Estimated:
    """What an estimator made of the evidence.

    `problem` are the moments that `linear` solves; `cov_type` says what the covariance of `fitted`
    is; `by_moments` that linear moments were asked for by name.
    """

    problem: JointMoments
    linear: Uncertain
    solution: Solution
    fitted: Uncertain
    cov_type: str
    by_moments: bool


def estimated(
    evidence: Evidence, estimator: Estimator[Any], cov_type: str, progress: bool = False
) -> Estimated:
    """The estimate that was asked for and the unconstrained one; `progress` shows a bar."""
    is_dual = isinstance(estimator, OneStep)  # of moments, but those of the likelihood's dual
    by_moments = isinstance(estimator, MomentsEstimator) and not is_dual  # rests on linear ones
    if cov_type == "fpe16" and (by_moments or is_dual):
        raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
    problem = unconstrained(evidence, by_moments)
    linear = uncertain(evidence, problem)
    if isinstance(estimator, OneStep):
        solution, V, kind = one_step(evidence, estimator)
    elif isinstance(estimator, MomentsEstimator):
        solution, V, kind = _by_moments(estimator, evidence.moments, linear)
    else:
        with fitting(progress):
            solution, V, kind = _by_likelihood(evidence, estimator, linear, cov_type)
    return Estimated(problem, linear, solution, Uncertain(solution.p, V), kind, by_moments)


# -- the unconstrained estimate ----------------------------------------------------------------


def unconstrained(evidence: Evidence, by_name: bool) -> JointMoments:
    """The moments that intervals and effects rest on.

    Those of the scores, which are efficient, for bits of which all patterns can be listed, unless
    moments were asked for by name. Else those of features that sum to one, if they can: the sums of
    others are noise, of rows and columns too, which conditionals divide by.
    """
    if not by_name and _scores_serve(evidence):
        return evidence.dual_moments
    if evidence.is_complete:
        try:
            return evidence.moments.summing_to_one()
        except NotIdentified:  # of one stratum alone
            return evidence.moments
    return evidence.moments


def rests_on(evidence: Evidence, linear: Uncertain) -> JointMoments | None:
    """The moments that an unconstrained estimate solves; None where it is of none of them."""
    for by_name in (False, True):
        try:
            problem = unconstrained(evidence, by_name)
            estimate = problem.estimate()[0]
        except NotIdentified:
            continue
        if np.allclose(estimate, linear.estimate, rtol=0.0, atol=_ROUNDING):
            return problem
    return None


def _scores_serve(evidence: Evidence) -> bool:
    """Whether intervals can rest on the scores, and gain by it, which those of labels do not.

    Their expected information is needed, and all their moments given the true category; the
    observed information is correlated with the estimate, and intervals of empty cells fail.
    """
    bits = any(m.n_bits for group in evidence.groups for m in group.counts.mechanisms)
    if not (bits and evidence.is_exact) or _small_strata(evidence):
        return False
    if any(every is None for group in evidence.groups for every in group.every_report):
        return False
    try:
        return bool(evidence.dual_moments.inverses)
    except NotIdentified:
        return False


def _small_strata(evidence: Evidence) -> bool:
    """Whether strata are so small that the noise of their own information biases the dual.

    The bias is of the order of the number of strata over n, the standard error of 1/sqrt(n).
    """
    strata = len(evidence.moments.strata)
    return strata > 1 and evidence.nobs < _STRATA * strata**2


def covariance_of(problem: JointMoments) -> Covariance | None:
    """Covariance of the estimate that solves the moments; None where it is too large.

    Of more cells than a matrix is formed for it is a diagonal and a low rank, where features allow.
    """
    return problem.covariance() if problem.k <= LARGEST_INFORMATION else problem.factored


def uncertain(evidence: Evidence, problem: JointMoments) -> Uncertain:
    """The linear estimate with its covariance, or its variances where that is too large."""
    estimate, V, factor = problem.estimate()[0], covariance_of(problem), dispersion(evidence)
    if V is not None:
        return Uncertain(estimate, V.scaled(factor))
    alone = None if len(problem.strata) > 1 else problem.variances() * factor
    return Uncertain(estimate, None, variances=alone)


def dispersion(evidence: Evidence) -> float:
    """What variances grow by because answers that are not listed hash to the same cells."""
    if evidence.is_exact:
        return 1.0
    return 1.0 + sum(margin.dispersion - 1.0 for margin in evidence.margins)


def cell_law(evidence: Evidence, problem: JointMoments, V: Covariance | None) -> CellLaw | None:
    """Cumulants of the estimate of each cell along its path; None where they are not known."""
    if not evidence.is_exact:
        return None
    matrix = V.matrix() if V is not None and problem.k <= LARGEST_INFORMATION else None
    parts, N, k = problem.path_moments(problem.in_errors, matrix), evidence.nobs, problem.k
    if parts is None:
        return None
    variance, third = np.zeros((k, 3)), np.zeros((k, 4))
    step, doubt = np.zeros((2, k))
    for part in parts:
        weight = part.nobs / N
        second, cubic = path_cumulants(part.own, part.rest, part.nobs)
        variance += weight**2 * second
        third += weight**3 * cubic
        step = np.maximum(step, part.step * part.share / N)
        doubt += (weight / N) * np.sqrt(part.doubt)  # strata share what is in doubt
    return CellLaw(variance, third, _PART * step, doubt**2)


def _by_moments(
    estimator: MomentsEstimator, problem: JointMoments, linear: Uncertain
) -> tuple[Solution, Covariance | None, str]:
    """An estimate from moments, its covariance and what that is."""
    solution = estimator.solve(problem)
    plain = None if linear.covariance is None else covariance_of(problem)
    if plain is None:
        return solution, None, "none (too large)"
    V = estimator.covariance(problem, solution, plain)
    if V.factors is not None:
        return solution, V, "linear"
    return solution, without_rounding(V.matrix(), plain.variances().max()), "linear"


# -- the likelihood ----------------------------------------------------------------------------


def maximum(evidence: Evidence, estimator: MLE | None = None) -> Solution:
    """The maximum of the likelihood, from the dual estimate."""
    estimator, problem = MLE() if estimator is None else estimator, evidence.likelihood
    W, n = observed(problem)
    target = gap_target(problem.nobs, estimator.tol)
    by_step, most = estimator.tol is None, estimator.max_iter
    found, how = maximise(W, n, target, by_step, most, _start(evidence))
    return report(found, problem.nobs, how, target)


def _by_likelihood(
    evidence: Evidence, estimator: Estimator[Any], linear: Uncertain, cov_type: str
) -> tuple[Solution, Covariance | None, str]:
    """An estimate from the likelihood, its covariance and what that is."""
    if isinstance(estimator, MLE) and estimator.constraints is None:  # can start at the dual
        solution = maximum(evidence, estimator)
    else:
        solution = estimator.solve(evidence.likelihood)
    if cov_type == "linear":
        return solution, linear.covariance, "linear"
    if estimator.without_errors:
        return solution, None, estimator.without_errors
    return solution, *information(evidence, solution.p, cov_type == "fpe16")


def _start(evidence: Evidence) -> Array:
    """Where the likelihood is maximised from: the dual, or the margins' product if likelier."""
    null, likelihood = evidence.null, evidence.likelihood
    try:
        dual = project_simplex(evidence.dual_moments.estimate()[0])
    except NotIdentified:
        return null
    return dual if likelihood.loglike(dual) > likelihood.loglike(null) else null


def one_step(evidence: Evidence, estimator: OneStep) -> tuple[Solution, Covariance | None, str]:
    """The dual estimate, its covariance and what that is; with Newton steps if asked for."""
    if _small_strata(evidence):
        strata = len(evidence.moments.strata)
        raise NotAvailable(
            f"one_step is biased in {strata} strata of {evidence.nobs} respondents in all, fewer "
            f"than {_STRATA} times the square of the strata: use method='mle' or 'inversion'"
        )
    problem = evidence.dual_moments
    solution = estimator.solve(problem)
    if not estimator.newton:
        return solution, covariance_of(problem), "dual"
    p = solution.p
    for _ in range(estimator.newton):
        start = project_simplex(p)
        V, kind = information(evidence, start, False)
        if V is None:
            raise NotAvailable(f"Newton steps over {problem.k} cells: use method='mle'")
        p = start + V.matrix() @ (evidence.likelihood.score(start) - evidence.nobs)
    how = f"{solution.message}, then {estimator.newton} Newton step(s)"
    return Solution(p, np.nan, estimator.newton, True, how), V, kind


def information(evidence: Evidence, p: Array, unconstrained: bool) -> tuple[Covariance | None, str]:
    """Covariance of a likelihood estimate at p, from expected or observed information."""
    if p.size > LARGEST_INFORMATION:
        return None, "none (too large)"
    free = np.all([group.uncertain(p) for group in evidence.groups], axis=0)
    J, kind = _expected_information(evidence, p), "expected"
    if J is None:
        J, kind = evidence.likelihood.information(p), "observed"
    J = J[np.ix_(free, free)]
    try:
        V = fpe16(J) if unconstrained else observed_tangent_inverse(J)
    except NotIdentified:
        return None, "none (singular information)"
    kind = "fpe16" if unconstrained else kind
    if free.all():
        return V, kind
    whole = np.zeros((p.size,) * 2)  # a cell whose reports were never seen is known
    whole[np.ix_(free, free)] = V.matrix()
    return Covariance.dense(whole), kind


def _expected_information(evidence: Evidence, p: Array) -> Array | None:
    """Expected information, None where reports cannot be listed."""
    total = np.zeros((p.size,) * 2)
    for group in evidence.groups:
        rows = group.listed_channel()
        if rows is None or not evidence.is_complete:
            return None
        law = rows.mix(p)
        total += rows.gram(np.divide(group.nobs, law, out=np.zeros_like(law), where=law > 0.0))
    return total
