"""Tests of one variable: goodness of fit, what a fit warns of, and given distributions.

Whether reports can come from their channel, whatever p is, is asked in the ways that `Check` names.
Bit patterns are tested by their numbers of ones, whose law is free of p; a channel with more
outputs than categories by its distance from the laws that it can make; a square channel can only
show estimates that are too negative. Bits that are noised for sensitive categories only are tested
by that, and by the sum of all estimates, which is one on average. Several sources are tested one by
one and compared with each other, with Bonferroni's correction; hashed ones whose cohorts were
merged to one problem are tested at once.

Over an open alphabet answers that are not listed are no misfit, where the list is known to be
incomplete or `unexplained` leaves room for as many as it takes, unless the estimate takes the list
for complete. Reports that no answers could make are always one.

Chi-square tests of estimates put rare categories together. uRR and uRAP report what is not
sensitive without noise, so that categories that nearly nobody has are nearly never reported; they
must not be chosen by an error that is part of the difference, nor depend on the order of groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    LDPWarning,
    MisfitWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.likelihood import maximise
from ldpstats.estimators.solvers import gap_target
from ldpstats.inference import goodness
from ldpstats.inference import tests as tests_
from ldpstats.inference.goodness import form_cumulants, group_sums, is_feasible, rare_groups
from ldpstats.inference.tails import normal_pvalue, standardised
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import ExactForm, block_diagonal, project_simplex
from ldpstats.likelihood.joint import joined
from ldpstats.likelihood.moments import Check, Equations, Moments, OwnCounts, ill_conditioned
from ldpstats.likelihood.rows import DenseRows
from ldpstats.models.frequency.intervals import (
    LARGEST_INFORMATION,
    OneStep,
    effective_counts,
    fewest,
)
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.reports.single import BitCounts, Counts

_NULL = "the reports were made by this mechanism"
_NEGATIVE = "Bonferroni on the most negative estimate"
HOMOGENEITY = "all sources have the same distribution"
_FEWEST = 10  # reports that two cells of five take


def goodness_of_fit(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likeliest: Array | None = None,
) -> TestResult | None:
    """Test that the reports can come from their channel(s) at all, whatever p is; None if too few.

    `likeliest` is where the likelihood of a single source is largest, if known.
    """
    tests = []
    for counts, problem in zip(sources, problems, strict=False):
        with suppress(NotAvailable, NotIdentified):  # too few reports, or they leave p open
            each = [_check_of(check, counts, problem, likeliest) for check in problem.checks]
            tests.append(_worst(each))
    if len(problems) > 1:
        tests.append(_homogeneity(problems))
    return _worst(tests)


def _worst(outcomes: Sequence[TestResult | None]) -> TestResult | None:
    """The test with the smallest p-value, with Bonferroni's correction for their number."""
    tests = list(filter(None, outcomes))
    if len(tests) < 2:
        return tests[0] if tests else None
    worst = min(tests, key=lambda test: test.pvalue)
    how = f"{worst.method}; smallest of {len(tests)} tests, Bonferroni"
    return replace(worst, pvalue=min(1.0, len(tests) * worst.pvalue), method=how)


def _check_of(
    check: Check, counts: Any, problem: Moments, likeliest: Array | None
) -> TestResult | None:
    """What one source's equations say can be tested; None where it always holds."""
    if check is Check.LAWS:
        return _laws_fit(counts, problem, likeliest)
    if check is Check.NEGATIVE:
        return _negative_fit(problem)
    if check is Check.ONES:
        # the number of ones in a report, or in all, whose law is free of p
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
    if check is Check.CELLS:
        # squared residuals of hashed cells against the sum that privacy's noise alone would make
        misfit = problem.misfit()
        if misfit is None:
            return None
        evenly = "the candidates explain the reports, up to answers that hash evenly"
        null = evenly if problem.is_open else _NULL
        if misfit.n_sources > 1:
            null += f", and {HOMOGENEITY}"
        how = "chi-square matched to the squared residuals of the cells"
        return TestResult.chi_square(null, misfit.chi_square, misfit.df, how)
    # do the estimates sum to one, as they do on average?
    estimate, V = problem.estimate()[0], problem.covariance()
    variance = float(V.transform(np.ones((1, estimate.size)))[0, 0])
    if variance <= 1e-12 * float(V.variances().max()):
        return None
    z, p = tests_.z_test(estimate.sum(), np.sqrt(variance), 1.0)
    return TestResult(_NULL, float(z), None, float(p), "z-test of the sum of the estimates")


def _laws_fit(counts: Counts, problem: Any, likeliest: Array | None) -> TestResult:
    """Labels: their distance from the laws of the channel, or else the most negative estimates."""
    n, Q = counts.vector(), counts.mechanism.channel().matrix()
    seen, possible = n > 0, Q.any(axis=0)
    target = gap_target(int(n.sum()), None)
    best = maximise(
        DenseRows(Q.T[seen]), n[seen].astype(np.float64), target, False, start=likeliest
    )[0].p
    law = best @ Q
    if possible.sum() > len(Q) and n.sum() >= _FEWEST:
        expected = n.sum() * law[possible]
        # rare outputs are put together, if enough are left
        for group in (rare_groups(expected), np.arange(expected.size)):
            pooled = np.array([group_sums(row, group) for row in Q[:, possible]])
            seen_together = group_sums(n[possible], group)
            try:
                distance = goodness.channel_distance(seen_together, pooled, best @ pooled)
            except NotAvailable:  # no more groups than categories they tell apart
                continue
            how = "distance from the laws of the channel, p-value by the moments of the statistic"
            return TestResult(_NULL, distance[0], float(distance[1]), distance[2], how)
    if problem.is_dense:
        assert isinstance(problem, Equations)
        inverse = np.asarray(problem.inverse)
        z, p = goodness.negative_estimates(n[possible], inverse, law[possible])
        return _most_negative(z, p, problem.exact_form())
    listed = problem.influences(best) if problem.exact_form() is None else None
    if listed is None:
        return _negative_fit(problem)
    ((_, each, _),) = listed
    z, p = goodness.negative_estimates(n, each.T * n.sum(), law)
    return _most_negative(z, p, None)


def _negative_fit(problem: Moments) -> TestResult:
    """Estimates that are more negative than chance makes them where a frequency is zero."""
    estimate, variance = problem.estimate()[0], problem.estimate_variances()
    with suppress(NotAvailable, InvalidArgument):  # what one report does is not known
        # one report more than expected: the normal law takes even one rare report for impossible
        variance = variance + (problem.reach()[0] / problem.nobs) ** 2
    form, z = problem.exact_form(), standardised(estimate, np.sqrt(variance))
    if form is not None and form.known.all():
        return _most_negative(z, np.ones_like(z), form)
    return _most_negative(z, normal_pvalue(z, "smaller"), form)


def _most_negative(z: Array, p: Array, form: ExactForm | None) -> TestResult:
    """Bonferroni over the categories, with exact p-values of those that have a count."""
    if form is not None:  # the chance of a count as small if the frequency is zero
        # only these can have the smallest p-value: of each law, the category counted least
        known = np.flatnonzero(form.known)
        counts = pd.Series(form.tally[known] * np.sign(form.scale[known]), index=known)
        least = np.asarray(counts.groupby(form.offset[known]).idxmin())
        p[form.known] = 1.0
        p[least] = form.take(least).apply(tests_.binomial_deficit)
    pvalue = min(1.0, float(p.size * p.min()))
    return TestResult(_NULL, float(z.min()), None, pvalue, _NEGATIVE)


def _homogeneity(problems: Sequence[Moments]) -> TestResult | None:
    """Do several sources agree on p? Wald test of what each tells of it, against one of them."""
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


# -- Do reports look as their mechanism can make them? Where they do not, the fit says so ---------


MISFIT = 1e-3  # p-value below which a fit warns
_KNOWN = "pass incomplete=True if other answers are known to be held"
_CHECK = "check that its parameters are those with which the reports were made"
_ROOM = 3.0  # standard errors that the share of answers that are not listed may be off


def impossible(problems: Sequence[Moments]) -> float:
    """p-value of hashed reports that no answers whatever could make; 1 where none are open."""
    pvalues: list[float] = []
    for problem in problems:
        for bounds in problem.cell_bounds() if problem.is_open else ():
            pvalues.append(goodness.any_answers_fit(*bounds))
    return min(1.0, len(pvalues) * min(pvalues)) if pvalues else 1.0


def misfit(
    results: FrequencyResults, problems: Sequence[Moments], incomplete: bool, complete: str = ""
) -> str:
    """What a fit warns of, in words; "" where the reports fit, or nothing tells.

    `complete` is the remedy where the estimate takes a list of candidates for complete.
    """
    pvalue = impossible(problems)
    if pvalue < MISFIT:
        return (
            f"the reports do not fit the mechanism (p {shown(pvalue)}): no answers could make so "
            "many or so few of some cells; " + _CHECK
        )
    test, share = results.goodness_of_fit, results.unexplained
    if test is None or not test.pvalue < MISFIT:
        return ""
    remedy = "fit them one by one" if test.null == HOMOGENEITY else _CHECK
    if share is not None:
        if incomplete or results.linear.at is not None:
            return ""
        cells = joined(problems).misfit()
        least = 0.0 if cells is None else cells.least_unlisted  # that explains the misfit
        room = share.estimate + _ROOM * share.bse >= least
        if room and not complete:
            return ""
        remedy = complete if room else f"check the mechanism's parameters, or {_KNOWN}"
    return (
        f"goodness of fit has p {shown(test.pvalue)}: the reports contradict the hypothesis that "
        f"{test.null} ({test.method}); {remedy}"
    )


def shown(pvalue: float) -> str:
    """A p-value behind the letter p; nobody is shown that one is zero."""
    return f"= {pvalue:.2g}" if pvalue > 0.0 else "< 1e-300"


def warn_of_caution(caution: str, stacklevel: int = 3) -> None:
    """Tell the caller of the caller why tests of an incomplete list may not keep their level."""
    if caution:
        warnings.warn(
            f"the list of candidates is not complete, and {caution}: tests and intervals do not "
            "keep their level; collect reports in more cohorts or cells, or list more of the "
            "answers",
            IncompleteListWarning,
            stacklevel=stacklevel,
        )


def warn_of_doubts(misfit: str, condition: float) -> None:
    """Tell the caller of the caller of reports that do not fit, and of ill-conditioned channels."""
    for words, kind in ((misfit, MisfitWarning), (ill_conditioned(condition), LDPWarning)):
        if words:
            warnings.warn(words, kind, stacklevel=3)


# -- Chi-square tests of estimates, in which rare categories are put together ---------------------


_RELATIVE = 1e-10  # relative variance below which a contrast is known


def all_candidates(
    null: str, outcome: tuple[Any, Any], problems: Sequence[Moments], method: str
) -> TestResult:
    """A Wald test of all candidates: F, with `wald_law`'s df, where residuals gave a variance."""
    from scipy.special import fdtrc

    test = TestResult.chi_square(null, *outcome, method)
    laws = [law for problem in problems if (law := problem.wald_law()) is not None]
    rest = min((df for df, _ in laws), default=np.inf)
    if not np.isfinite(rest) or not np.isfinite(test.statistic):
        return test
    df = outcome[1] / max(spread for _, spread in laws)
    pvalue = float(fdtrc(df, rest, outcome[0] / outcome[1]))
    return replace(test, pvalue=pvalue, method=f"{method}; F law, {df:.3g} and {rest:.3g} df")


def by_moments(test: TestResult, problems: Sequence[Moments], p: Array, R: Array) -> TestResult:
    """The test of contrasts R, (q, sum of k), of all estimates, by its statistic's law under p.

    Chi-square is the limit of that law, and far from it where some reports are rare. The test is
    left as it is where the reports of a problem cannot be listed. R may be redundant.
    """
    sides = np.split(R, np.cumsum([problem.k for problem in problems])[:-1], axis=1)
    parts, covariance = [], np.zeros((len(R), len(R)))
    for problem, side in zip(problems, sides, strict=True):
        reports = problem.influences(p)
        if reports is None:
            return test
        for n, own, law in reports:
            each = own @ side.T
            centred = each - law @ each
            covariance += n * (centred.T * law) @ centred
            parts.append((n, each, law))
    scale = np.sqrt(np.diagonal(covariance))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > _RELATIVE * values[-1]
    white = vectors[:, kept] / scale[:, None] / np.sqrt(values[kept])
    size = sum(len(law) for _, _, law in parts)
    if kept.sum() != test.df or not is_feasible(size, white.shape[1]):
        return test
    cumulants = form_cumulants([(n, each @ white, law) for n, each, law in parts])
    how = f"{test.method}, p-value by the moments of the statistic"
    # a law that rare reports dominate says little of the statistic where none was seen
    return replace(test, pvalue=max(test.pvalue, cumulants.pvalue(test.statistic)), method=how)


def rare_categories(sides: Sequence[Sequence[Moments]], p: Array) -> Array:
    """Groups of categories that are tested together, because too few reports are expected.

    What matters of a difference of estimates is its kurtosis beyond the normal law's: one over it
    is the expected count where rare reports without noise are all there is, and large where other
    noise prevails. Where p is estimated, what it may well be counts too. Every pair counts.
    """
    counted: list[list[OwnCounts] | None] = []  # that an estimate is an affine function of
    noise = []  # variances of an estimate that is no such function
    for side in sides:
        binomial = [counts for problem in side if (counts := problem.own_counts()) is not None]
        counted.append(binomial if len(binomial) == len(side) else None)
    if not any(counted):
        return np.arange(p.size)
    for own, side in zip(counted, sides, strict=True):
        noise.append(np.zeros(p.shape))
        with suppress(NotIdentified):  # a source that tells sums of categories only
            noise[-1] = noise[-1] if own else joined(side).estimate_variances(p)
    expected = _effective_counts(counted, p, noise)
    if len(sides) > 1:
        every = joined([problem for side in sides for problem in side])
        above = p + 2.0 * np.sqrt(every.estimate_variances(p))
        above = np.maximum(p, np.minimum(above, 0.5))
        expected = np.minimum(expected, _effective_counts(counted, above, noise))
    return rare_groups(expected)


def _effective_counts(
    sides: Sequence[Sequence[OwnCounts] | None], p: Array, noise: Sequence[Array]
) -> Array:
    """One over the kurtosis of a difference of estimates, the least of all pairs of sides.

    It is at most the number of reports; `noise` has no kurtosis.
    """
    laws = []  # reports, second and fourth cumulant of each estimate
    for side, spread in zip(sides, noise, strict=True):
        if side is None:
            laws.append((0, spread, np.zeros(p.shape)))
            continue
        second, fourth = np.zeros(p.shape), np.zeros(p.shape)
        precision = np.array([q.precision for q in side])
        for q, share in zip(side, precision / precision.sum(axis=0), strict=True):
            m = q.offset + q.slope * p
            v, slope = m * (1.0 - m), share / q.slope
            second += slope**2 * v / q.nobs
            fourth += slope**4 * v * np.maximum(1.0 - 6.0 * v, 0.0) / q.nobs**3
        laws.append((sum(q.nobs for q in side), second, fourth))
    return fewest(laws, lambda second, fourth: np.where(second > 0.0, second**2 / fourth, 0.0))


def contrasts(group: Array) -> Array:
    """Each sum over a group of `rare_categories` minus the one before, shape (g - 1, k)."""
    return np.diff((np.arange(group.max() + 1)[:, None] == group) + 0.0, axis=0)


def plug_in(problem: Moments) -> Array:
    """Frequencies whose law is close to the reports, for variances under a null.

    The projection counts distances in standard errors: else rare categories would make up for the
    noise of frequent ones.
    """
    estimate = problem.estimate()[0]
    positive = np.maximum(estimate, 0.0)
    if problem.is_open or not positive.any():
        return problem.plug_in
    return project_simplex(estimate, problem.estimate_variances(positive / positive.sum()))


def together(group: Array) -> str:
    """What a reader has to know of categories that were tested together."""
    sizes = np.bincount(group)
    several = sizes[sizes > 1]
    if not several.size:
        return ""
    how = "together" if several.size == 1 else f"in {several.size} groups"
    return f"{several.sum()} categories with few reports were tested {how}"


# -- Test of one distribution that is given -------------------------------------------------------


def one_sample_test(
    problems: Sequence[Moments], problem: Moments, step: OneStep | None, p0: Array
) -> TestResult:
    """Test that the frequencies are p0, shape (k,): see `FrequencyModel.test_distribution`.

    By the equations of the sources, those that inference rests on, or one step of the likelihood.
    """
    null = "the frequencies are p0"
    if step is not None:
        problem = step = step.at(p0)
    if problem.is_open:
        estimate, V = problem.estimate()[0], problem.covariance(p0)
        every = tests_.wald(np.eye(p0.size), p0, estimate, V)
        how = "Wald on all candidates, covariance under the null"
        return all_candidates(null, every, [problem], how)
    rare = None if step is None else rare_groups(effective_counts([step], p0))
    group = rare_categories([problems], p0) if rare is None else rare
    method = "Wald, covariance under the null"
    if any(q.rules_out(p0) for q in problems):
        how = "a category was reported that p0 rules out"
        return TestResult.chi_square(null, np.inf, group.max(), method, how)
    labels = problem.labels_under(p0)
    if labels is not None:  # each category has a label of its own
        seen, law = (group_sums(values, group) for values in labels)
        outcome = goodness.pearson_given(seen, law / law.sum())
        method = "Pearson chi-square of the privatised reports"
    else:
        sums, null_p = group_sums(problem.estimate()[0], group), group_sums(p0, group)
        outcome = goodness.given_distribution(sums, problem.covariance(p0).merged(group), null_p)
    test = TestResult.chi_square(null, float(outcome[0]), outcome[1], method, together(group))
    return test if labels is not None else by_moments(test, [problem], p0, contrasts(group))
