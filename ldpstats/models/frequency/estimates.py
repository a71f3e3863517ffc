"""The estimate that was asked for, and the linear one that intervals and tests rest on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpstats.estimators.base import (
    Estimator,
    LikelihoodEstimator,
    MomentsEstimator,
    SelectingEstimator,
)
from ldpstats.estimators.mle import MLE
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.moments import Moments
from ldpstats.problems.problem import Solution

__all__ = ["Estimated", "estimated"]


@dataclass(frozen=True, eq=False)
class Estimated:
    """What an estimator made of the evidence.

    `listed` are the equations of the candidates that are kept, `problem` those that inference rests
    on; `cov_type` says what the covariance of `fitted` is.
    """

    listed: Moments
    problem: Moments
    linear: Uncertain
    solution: Solution
    fitted: Uncertain
    cov_type: str


def estimated(evidence: Evidence, estimator: Estimator[Any], cov_type: str) -> Estimated:
    """Both estimates, with their covariances."""
    listed, selection = evidence.moments, None
    if isinstance(estimator, SelectingEstimator):
        selection, listed = estimator.refit(listed)
    problem = _inference(evidence, estimator, listed, selection)
    linear = _linear(evidence, problem, selection)
    if selection is not None:
        p = np.where(np.isnan(linear.estimate), 0.0, linear.estimate)
        solution = replace(selection, p=p)
        fitted, kind = Uncertain(p, linear.covariance, linear.at), "linear"
    elif isinstance(estimator, MomentsEstimator):
        solution, fitted, kind = _by_moments(estimator, problem, linear)
    else:
        solution, fitted, kind = _by_likelihood(evidence, estimator, linear, cov_type)
    return Estimated(listed, problem, linear, solution, fitted, kind)


def _inference(
    evidence: Evidence, estimator: Estimator[Any], listed: Moments, selection: Solution | None
) -> Moments:
    """What intervals and tests rest on, beside an estimate by `estimator`."""
    if selection is not None:  # inference is about the selected
        return listed.for_inference(incomplete=True)
    if isinstance(estimator, LikelihoodEstimator) and evidence.one_step is not None:
        return evidence.one_step
    return evidence.inference


def _linear(evidence: Evidence, problem: Moments, selection: Solution | None) -> Uncertain:
    """The linear estimate; of the selected candidates, where some were."""
    at = None if selection is None else selection.support
    full = np.full(evidence.moments.k, np.nan)
    if at is not None and not at.size:
        return Uncertain(full, Covariance.dense(np.empty((0, 0))), at)
    estimate = problem.estimate()[0]
    if problem.has_errors and not problem.has_covariance:
        alone = problem.estimate_variances(evidence.reference)
        return Uncertain(estimate, None, variances=alone)
    V = problem.covariance(evidence.reference) if problem.has_errors else None
    if at is None:
        return Uncertain(estimate, V)
    full[at] = estimate
    return Uncertain(full, V, at)


def _by_moments(
    estimator: MomentsEstimator, problem: Moments, linear: Uncertain
) -> tuple[Solution, Uncertain, str]:
    """The solution, the estimate with its covariance, and the kind of covariance."""
    solution = estimator.solve(problem)
    if linear.covariance is None:
        if np.array_equal(solution.p, linear.estimate) and linear.has_errors:
            return solution, linear, "linear"
        return solution, Uncertain(solution.p, None), "none (too large)"
    V = estimator.covariance(problem, solution, linear.covariance)
    return solution, Uncertain(solution.p, V), "linear"


def _by_likelihood(
    evidence: Evidence, estimator: Estimator[Any], linear: Uncertain, cov_type: str
) -> tuple[Solution, Uncertain, str]:
    """The same by a likelihood."""
    plain = estimator == MLE()
    solution = evidence.maximum if plain else estimator.solve(evidence.likelihood)
    if cov_type == "linear":
        return solution, Uncertain(solution.p, linear.covariance), "linear"
    if estimator.without_errors:
        return solution, Uncertain(solution.p, None), estimator.without_errors
    found, kind = evidence.covariance(solution.p, cov_type == "fpe16")
    return solution, Uncertain(solution.p, found), kind
