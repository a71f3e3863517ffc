"""Test that two groups of respondents have the same distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import pearson
from ldpstats.inference import tests as tests_
from ldpstats.inference.goodness import group_sums, rare_groups
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.chi_square import all_candidates, rare_categories, together
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.models.frequency.model import Data, FrequencyModel
from ldpstats.models.frequency.one_step import effective_counts
from ldpstats.problems.moments import Moments
from ldpstats.reports.single import Reports

__all__ = ["two_sample_test"]

Array = npt.NDArray[Any]

_NULL = "both groups have the same distribution"


def two_sample_test(
    first: Data | Sequence[Data],
    second: Data | Sequence[Data],
    method: str = "default",
    candidates: Any = None,
) -> TestResult:
    """Test that two groups of respondents have the same distribution.

    Parameters
    ----------
    first, second : Reports, Counts or BitCounts, or lists of them
        Reports of the two groups, over the same categories.
    method : {"default", "pearson", "wald"}
        "pearson": chi-square on the privatised 2 x l table; needs one mechanism for both groups.
        "wald": difference of the linear estimates with the covariance pooled under the null; the
        groups may have different mechanisms or epsilon. The default is "pearson" where it
        applies. Both test categories together that are expected in fewer than five reports.
    candidates : sequence of str or CandidateMap, optional
        Values to compare the frequencies of; for mechanisms with an open alphabet only.

    Returns
    -------
    TestResult

    Raises
    ------
    InvalidArgument
        If a group is empty or the method unknown.
    MechanismMismatch
        For groups over different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> test = ldp.two_sample_test(krr.counts([50, 30, 20]), krr.counts([20, 40, 40]))
    >>> test.df
    2.0
    """
    method = one_of("method", method, ("default", "pearson", "wald"))
    _require_reports("first", first)
    _require_reports("second", second)
    models = FrequencyModel(first, candidates), FrequencyModel(second, candidates)
    sources = [*models[0].sources, *models[1].sources]
    pooled = FrequencyModel(sources, candidates).evidence  # refuses groups over other categories
    sides = models[0].evidence, models[1].evidence
    alike = len(sources) == 2 and sources[0].mechanism == sources[1].mechanism
    maker = sources[0].mechanism
    labels = alike and not maker.n_bits
    labels = labels and not maker.n_cohorts  # where cohorts differ in size by chance
    if method == "pearson" and not labels:
        raise NotAvailable(
            "Pearson's test needs reports of one mechanism that are labels: use method='wald'"
        )
    if labels and method != "wald":
        return _pearson(sources[0], sources[1])
    return _wald(sides, pooled.plug_in, alike)


def _require_reports(name: str, data: object) -> None:
    """Refuse data that hold no report; what is no data at all is left to `FrequencyModel`."""
    groups = data if isinstance(data, list | tuple) else [data]
    sizes = [len(g) if isinstance(g, Reports) else getattr(g, "nobs", 1) for g in groups]
    if sizes and not any(sizes):
        raise InvalidArgument(name, 0, "holds no report: there is nothing to compare")


def _pearson(first: Any, second: Any) -> TestResult:
    """Pearson's chi-square of the 2 x l table of labels."""
    seen = np.array([first.vector(), second.vector()])
    share = min(first.nobs, second.nobs) / (first.nobs + second.nobs)
    group = rare_groups(seen.sum(axis=0) * share)
    statistic, df = pearson.two_sample_pearson(*(group_sums(row, group) for row in seen))
    how = "Pearson chi-square of the privatised reports"
    return TestResult.chi_square(_NULL, float(statistic), float(df), how, together(group))


def _wald(sides: tuple[Evidence, Evidence], p: Array, alike: bool) -> TestResult:
    """The difference of the linear estimates, with the covariance at the pooled frequencies p."""
    steps = [side.one_step.at(p) for side in sides if side.one_step is not None]
    problems: Sequence[Moments] = steps if len(steps) == 2 else _comparable(sides, alike)
    first, second = (problem.estimate()[0] for problem in problems)
    V = [problem.covariance(p) for problem in problems]
    if any(problem.is_open for problem in problems):
        R = np.eye(problems[0].k)  # the candidates need not sum to one
        every = tests_.wald(R, np.zeros(len(R)), first - second, V[0] + V[1])
        how = "Wald on all candidates, covariance pooled under the null"
        return all_candidates(_NULL, every, problems, how)
    if len(steps) == 2:
        group = rare_groups(effective_counts(steps, p))
    else:
        group = rare_categories([side.problems for side in sides], p)
    sums = group_sums(first, group), group_sums(second, group)
    outcome = pearson.two_sample_wald(*sums, *(v.merged(group) for v in V))
    how = "Wald, covariance pooled under the null"
    return TestResult.chi_square(_NULL, float(outcome[0]), outcome[1], how, together(group))


def _comparable(sides: tuple[Evidence, Evidence], alike: bool) -> Sequence[Moments]:
    """The equations of two groups, for the difference of their estimates.

    Over an open alphabet answers that are not listed cancel, hash by hash, if both groups have the
    same mechanism and weights. Else both allow for them.
    """
    matched = sides[0].moments.matched(sides[1].moments) if alike else None
    return [side.inference for side in sides] if matched is None else matched
