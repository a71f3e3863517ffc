"""Do the channel and the list of categories fit the reports, whatever p is?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.mle import maximise
from ldpstats.estimators.solvers.ascent import gap_target
from ldpstats.inference import goodness
from ldpstats.inference import tests as tests_
from ldpstats.inference.tails import normal_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.chi_square import (
    by_moments,
    contrasts,
    plug_in,
    rare_categories,
    together,
)
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.problems.covariance import block_diagonal
from ldpstats.problems.equations import Equations
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.moments import Check, Moments
from ldpstats.problems.pooled import joined
from ldpstats.problems.rows.base import DenseRows
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["HOMOGENEITY", "goodness_of_fit"]

Array = npt.NDArray[Any]

_NULL = "the reports were made by this mechanism"
_NEGATIVE = "Bonferroni on the most negative estimate"
HOMOGENEITY = "all sources have the same distribution"
_FEWEST = 10  # reports that two cells of five take


def goodness_of_fit(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likeliest: Array | None = None,
) -> TestResult | None:
    """Test that the reports can come from their channel(s) at all, whatever p is.

    Bit patterns are tested by their numbers of ones, whose law is free of p; a channel with more
    outputs than categories by its distance from the laws that it can make; a square channel can
    only show estimates that are too negative. Bits that are noised for sensitive categories only
    are tested by that, and by the sum of all estimates, which is one on average. Several sources
    are tested one by one and compared with each other, with Bonferroni's correction; hashed ones
    whose cohorts were merged to one problem are tested at once. None where there are too few
    reports for any. `likeliest` is where the likelihood of a single source is largest, if known.
    """
    pairs = zip(sources, problems, strict=False)
    found = [_one_fit(c, problem, likeliest) for c, problem in pairs]
    if len(problems) > 1:
        found.append(_homogeneity(problems))
    return _worst([test for test in found if test is not None])


def _worst(tests: Sequence[TestResult]) -> TestResult | None:
    """The test that speaks loudest, with Bonferroni's correction for their number."""
    if len(tests) < 2:
        return tests[0] if tests else None
    worst = min(tests, key=lambda test: test.pvalue)
    return replace(
        worst,
        pvalue=min(1.0, len(tests) * worst.pvalue),
        method=f"{worst.method}; smallest of {len(tests)} tests, Bonferroni",
    )


def _one_fit(counts: Any, problem: Moments, likeliest: Array | None) -> TestResult | None:
    """What one source's equations say can be tested; the worst, where that is several things."""
    try:
        found = [
            _laws_fit(counts, problem, likeliest)
            if check is Check.LAWS
            else _TESTS[check](counts, problem)
            for check in problem.checks
        ]
    except (NotAvailable, NotIdentified):  # too few reports, or they leave p open
        return None
    return _worst([test for test in found if test is not None])


def _cells_fit(counts: Any, problem: Moments) -> TestResult | None:
    """Squared residuals of hashed cells against the sum that privacy's noise alone would make."""
    found = problem.misfit()
    if found is None:
        return None
    evenly = "the candidates explain the reports, up to answers that hash evenly"
    null = evenly if problem.is_open else _NULL
    if found.n_sources > 1:
        null += f", and {HOMOGENEITY}"
    how = "chi-square matched to the squared residuals of the cells"
    return TestResult.chi_square(null, found.chi_square, found.df, how)


def _ones_fit(counts: Counts | BitCounts, problem: Moments) -> TestResult:
    """The number of ones in a report, or in all, whose law is free of p."""
    mechanism = counts.mechanism
    if isinstance(counts, Counts):  # patterns tell more than their sums
        ones = np.bitwise_count(counts.y).sum(axis=1, dtype=np.int64)
        histogram = np.bincount(ones, weights=counts.n, minlength=mechanism.k + 1)
        statistic, df = goodness.popcount_fit(histogram, mechanism.p1, mechanism.p0)
        law = counts.nobs, mechanism.k, mechanism.p1, mechanism.p0
        pvalue = goodness.popcount_pvalue(float(statistic), *law)
        how = "chi-square of the number of ones in a report, p-value by its moments"
        return TestResult(_NULL, float(statistic), float(df), pvalue, how)
    total = int(counts.ones.sum())
    z, p = goodness.bit_total_fit(total, counts.nobs, mechanism.k, mechanism.p1, mechanism.p0)
    return TestResult(_NULL, float(z), None, float(p), "z-test of the total number of ones")


def _laws_fit(counts: Counts, problem: Any, likeliest: Array | None) -> TestResult:
    """Labels: their distance from the laws of the channel, or else the most negative estimates.

    Rare outputs are put together, if enough are left. A channel with no more outputs than
    categories can make any law but for signs.
    """
    n, Q = counts.vector(), counts.mechanism.channel().matrix()
    seen, possible = n > 0, Q.any(axis=0)
    target = gap_target(int(n.sum()), None)
    best = maximise(
        DenseRows(Q.T[seen]), n[seen].astype(np.float64), target, False, start=likeliest
    )[0].p
    law = best @ Q
    if possible.sum() > len(Q) and n.sum() >= _FEWEST:
        expected = n.sum() * law[possible]
        for group in (goodness.rare_groups(expected), np.arange(expected.size)):
            pooled = np.array([goodness.group_sums(row, group) for row in Q[:, possible]])
            seen_together = goodness.group_sums(n[possible], group)
            try:
                found = goodness.channel_distance(seen_together, pooled, best @ pooled)
            except NotAvailable:  # no more groups than categories they tell apart
                continue
            how = "distance from the laws of the channel, p-value by the moments of the statistic"
            return TestResult(_NULL, found[0], float(found[1]), found[2], how)
    if problem.is_dense:
        assert isinstance(problem, Equations)
        inverse = np.asarray(problem.inverse)
        z, p = goodness.negative_estimates(n[possible], inverse, law[possible])
        return _most_negative(z, p, problem.exact_form())
    listed = problem.influences(best) if problem.exact_form() is None else None
    if listed is None:
        return _negative_fit(counts, problem)
    ((_, each, _),) = listed
    z, p = goodness.negative_estimates(n, each.T * n.sum(), law)
    return _most_negative(z, p, None)


def _negative_fit(counts: Any, problem: Moments) -> TestResult:
    """Estimates that are more negative than chance makes them where a frequency is zero.

    One report more than expected is allowed for: where a report is hardly ever made, the normal law
    takes even one for impossible.
    """
    estimate, variance = problem.estimate()[0], problem.estimate_variances()
    try:
        variance = variance + (problem.reach()[0] / problem.nobs) ** 2
    except (NotAvailable, InvalidArgument):  # what one report does is not known
        pass
    form, z = problem.exact_form(), tests_.standardised(estimate, np.sqrt(variance))
    if form is not None and form.known.all():
        return _most_negative(z, np.ones_like(z), form)
    return _most_negative(z, normal_pvalue(z, "smaller"), form)


def _most_negative(z: Array, p: Array, form: ExactForm | None) -> TestResult:
    """Bonferroni over the categories, with exact p-values of those that have a count."""
    if form is not None:  # the chance of a count as small if the frequency is zero
        least = _smallest(form)
        p[form.known] = 1.0
        p[least] = form.take(least).apply(tests_.binomial_deficit)
    pvalue = min(1.0, float(p.size * p.min()))
    return TestResult(_NULL, float(z.min()), None, pvalue, _NEGATIVE)


def _sum_fit(counts: Any, problem: Moments) -> TestResult | None:
    """Do the estimates sum to one, as they do on average? None where they always do."""
    estimate, V = problem.estimate()[0], problem.covariance()
    variance = float(V.transform(np.ones((1, estimate.size)))[0, 0])
    if variance <= 1e-12 * float(V.variances().max()):
        return None
    z, p = tests_.z_test(estimate.sum(), np.sqrt(variance), 1.0)
    return TestResult(_NULL, float(z), None, float(p), "z-test of the sum of the estimates")


def _smallest(form: ExactForm) -> Array:
    """Categories that can have the smallest p-value: of each law, the one counted least."""
    at = np.flatnonzero(form.known)
    counts = pd.Series(form.tally[at] * np.sign(form.scale[at]), index=at)
    return np.asarray(counts.groupby(form.offset[at]).idxmin())


_TESTS: Mapping[Check, Callable[[Any, Any], TestResult | None]] = {
    Check.CELLS: _cells_fit,
    Check.NEGATIVE: _negative_fit,
    Check.ONES: _ones_fit,
    Check.SUM: _sum_fit,
}


def _homogeneity(problems: Sequence[Moments]) -> TestResult | None:
    """Do several sources agree on p? Wald test of what each estimates of it, against one of them.

    A source that leaves p open, such as one of withheld reports, is compared in what it does tell.
    """
    from scipy.linalg import block_diag

    k, S = problems[0].k, len(problems)
    if k * (S - 1) > LARGEST_INFORMATION:
        return None
    pooled = plug_in(joined(problems))
    group = rare_categories([[problem] for problem in problems], pooled)
    parts = [problem.estimable(pooled, contrasts(group)) for problem in problems]
    first, *others = sorted(parts, key=lambda part: part.partial)
    if first.partial:
        return None
    R = np.hstack([-np.vstack([q.C for q in others]), block_diag(*(q.G for q in others))])
    estimates = np.concatenate([part.estimate for part in (first, *others)])
    V = block_diagonal([part.covariance for part in (first, *others)])
    try:
        outcome = tests_.wald(R, np.zeros(len(R)), estimates, V)
    except InvalidArgument:  # nothing varies that could differ
        return None
    how = "homogeneity of the sources, Wald"
    test = TestResult.chi_square(HOMOGENEITY, *outcome, how, together(group))
    if any(part.partial for part in parts):
        return test
    order = sorted(range(S), key=lambda s: parts[s] is not first)
    return by_moments(test, [problems[s] for s in order], pooled, R)
