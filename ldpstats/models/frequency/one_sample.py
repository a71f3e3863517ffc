"""Test of one distribution that is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference import pearson
from ldpstats.inference import tests as tests_
from ldpstats.inference.goodness import group_sums, rare_groups
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.chi_square import (
    all_candidates,
    by_moments,
    contrasts,
    rare_categories,
    together,
)
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.models.frequency.one_step import effective_counts
from ldpstats.problems.moments import Moments

__all__ = ["one_sample_test"]

Array = npt.NDArray[Any]

_NULL = "the frequencies are p0"


def one_sample_test(evidence: Evidence, p0: Array) -> TestResult:
    """Test that the frequencies are p0, shape (k,): see `FrequencyModel.test_distribution`."""
    step, problem = evidence.one_step, evidence.inference
    if step is not None:
        problem = step = step.at(p0)
    if problem.is_open:
        estimate, V = problem.estimate()[0], problem.covariance(p0)
        every = tests_.wald(np.eye(p0.size), p0, estimate, V)
        how = "Wald on all candidates, covariance under the null"
        return all_candidates(_NULL, every, [problem], how)
    if step is not None:
        group = rare_groups(effective_counts([step], p0))
    else:
        group = rare_categories([evidence.problems], p0)
    return _chi_square(problem, evidence, p0, group)


def _chi_square(
    problem: Moments, evidence: Evidence, p0: Array, group: npt.NDArray[np.int64]
) -> TestResult:
    """Pearson's test where each category has a label of its own, else Wald's."""
    method = "Wald, covariance under the null"
    if any(q.rules_out(p0) for q in evidence.problems):
        how = "a category was reported that p0 rules out"
        return TestResult.chi_square(_NULL, np.inf, group.max(), method, how)
    labels = problem.labels_under(p0)
    if labels is not None:
        seen, law = (group_sums(values, group) for values in labels)
        outcome = pearson.pearson_given(seen, law / law.sum())
        method = "Pearson chi-square of the privatised reports"
    else:
        estimate, V = problem.estimate()[0], problem.covariance(p0)
        sums, null_p = group_sums(estimate, group), group_sums(p0, group)
        outcome = pearson.given_distribution(sums, V.merged(group), null_p)
    test = TestResult.chi_square(_NULL, float(outcome[0]), outcome[1], method, together(group))
    if labels is not None:
        return test
    return by_moments(test, [problem], p0, contrasts(group))
