"""Do the channel and the list of categories fit the reports?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference import goodness
from ldpstats.inference import tests as tests_
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.covariance import (
    DOUBT,
    FEWEST_COHORTS,
    LARGEST_INFORMATION,
    Array,
    joined_moments,
    unexplained_share,
)
from ldpstats.models.frequency.misfit import HOMOGENEITY, NEGATIVE, NULL, dense_fit
from ldpstats.models.frequency.tallies import exact_form
from ldpstats.problems.covariance import Covariance, block_diagonal
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.estimates import ExactForm, Uncertain
from ldpstats.problems.hashed.moments import LARGEST_DENSE, CohortMoments
from ldpstats.reports.single import BitCounts, Counts

__all__ = [
    "all_candidates",
    "chi_square",
    "cohort_fit",
    "goodness_of_fit",
    "is_impossible",
    "rare_categories",
    "together",
    "too_few_cohorts",
]


def cohort_fit(
    problem: CohortMoments, incomplete: bool = False
) -> tuple[TestResult | None, CohortMoments]:
    """Test that the candidates explain the reports; and the equations that inference rests on.

    An answer that is not among the candidates hashes to the same cells in every report, not evenly
    over all: frequent ones spread the cells more than reports alone do. Where the test finds that
    (at .01), or that the candidates sum to less than one, the equations allow for it
    (`CohortMoments.open_ended`), so that tests keep their level over the hashes. Where candidates
    are known to be `incomplete`, for example because they were selected, they always do: the test
    misses what still matters to many tests at once. So they do where cohorts are so uneven, or
    cells so few, that it would miss what matters to one.
    """
    if problem.k > LARGEST_DENSE or not (problem.k or problem.is_open):
        return None, problem
    found = problem.misfit()
    if found is None:
        return None, problem
    scale = found.mean / found.df
    null = "the candidates explain the reports, up to answers that hash evenly"
    null = null if problem.is_open else NULL
    if len(problem.sources) > 1:
        null += ", and all sources have the same distribution"
    test = chi_square(
        null,
        (found.statistic / scale, found.df),
        "chi-square matched to the squared residuals of the cells",
    )
    if not problem.is_open:
        return test, problem
    doubted = test.pvalue < DOUBT or _leave_some_over(problem) or problem.is_blind
    return test, problem.open_ended() if incomplete or doubted else problem


def too_few_cohorts(problem: CohortMoments, others: bool) -> str:
    """Why tests over an incomplete list may not keep their level; empty where they do.

    Parameters
    ----------
    problem : CohortMoments
    others : bool
        Whether others than the candidates are known, or seen, to be held.
    """
    if not (problem.is_open and others and problem.k):
        return ""
    if problem.n_cohorts < FEWEST_COHORTS:
        return f"only {problem.n_cohorts} of the cohorts have reports, fewer than {FEWEST_COHORTS}"
    if 3 * problem.k > problem.n_equations:
        return f"{problem.k} candidates are more than a third of the {problem.n_equations} cells"
    return ""


def all_candidates(
    null: str, outcome: tuple[float, int], problems: Sequence[Moments], method: str
) -> TestResult:
    """A Wald test of all candidates: F where the residuals gave a component of the variance.

    Its degrees of freedom are matched to the variance of the statistic, see
    `CohortMoments.wald_variance`.
    """
    from scipy.special import fdtrc

    test = chi_square(null, outcome, method)
    guessed = [q for q in problems if isinstance(q, CohortMoments) and q.collisions]
    found = [misfit for misfit in (q.misfit() for q in guessed) if misfit is not None]
    if not found or not np.isfinite(test.statistic):
        return test
    rest = min(misfit.df for misfit in found)
    spread = max(q.wald_variance() / (2.0 * q.k) for q in guessed)
    pvalue = float(fdtrc(outcome[1] / spread, rest, outcome[0] / outcome[1]))
    how = f"{method}; F law, {outcome[1] / spread:.3g} and {rest:.3g} df"
    return replace(test, pvalue=pvalue, method=how)


def _leave_some_over(problem: CohortMoments) -> bool:
    """Whether the candidates do not sum to one, by a one-sided test."""
    share = unexplained_share(problem, Uncertain(problem.estimate()[0], problem.covariance()))
    assert share is not None
    return share.is_positive(DOUBT)


def rare_categories(sides: Sequence[Sequence[Moments]], p: Array) -> npt.NDArray[np.int64]:
    """Groups of categories that are tested together, because too few reports are expected.

    uRR and uRAP report what is not sensitive without noise, so that categories that nearly nobody
    has are nearly never reported. What matters of a difference of estimates is its kurtosis beyond
    the normal law's. One over it is the expected count where that is all there is, and large where
    other noise prevails. Where p is estimated, what it may well be counts too: categories must not
    be chosen by an error that is part of the difference. See `goodness.rare_groups`.

    Parameters
    ----------
    sides : sequence of sequences of Moments
        The sources of each estimate that takes part in the difference; of one, if the other is p.
    p : array, shape (k,)
        Frequencies under the null, given or estimated from all sources.
    """
    counted, noise = [], np.zeros(p.shape)
    for side in sides:
        own = [q for q in side if isinstance(q, Equations) and np.ndim(q.A) < 2]
        if len(own) == len(side):
            counted.append(own)
        else:
            noise += _noise(side, p)
    if not counted:
        return np.arange(p.size)
    expected = _effective_counts(counted, p, noise)
    if len(sides) > 1:
        every = joined_moments([problem for side in sides for problem in side])
        above = p + 2.0 * np.sqrt(every.covariance(p).variances())
        above = np.maximum(p, np.minimum(above, 0.5))
        expected = np.minimum(expected, _effective_counts(counted, above, noise))
    return goodness.rare_groups(expected)


def _noise(side: Sequence[Moments], p: Array) -> Array:
    """Variances of an estimate that is no affine function of binomial counts: it has many terms."""
    try:
        return joined_moments(side).covariance(p).variances()
    except NotIdentified:  # a source that tells sums of categories only
        return np.zeros(p.shape)


def _effective_counts(sides: Sequence[Sequence[Equations]], p: Array, noise: Array) -> Array:
    """One over the kurtosis of a difference of estimates, at most the reports; `noise` has none."""
    second, fourth = np.zeros(p.shape) + noise, np.zeros(p.shape)
    for side in sides:
        precision = np.array([np.broadcast_to(np.square(q.A) * q.weights, p.shape) for q in side])
        for q, share in zip(side, precision / precision.sum(axis=0), strict=True):
            m = q.offset + q.A * p
            v, slope = m * (1.0 - m), share / q.A
            second += slope**2 * v / q.nobs
            fourth += slope**4 * v * np.maximum(1.0 - 6.0 * v, 0.0) / q.nobs**3
    most = sum(problem.nobs for side in sides for problem in side)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(np.where(second > 0.0, second**2 / fourth, 0.0), most)


def is_impossible(problems: Sequence[Moments], p: Array) -> bool:
    """Whether a category was reported that p rules out."""
    return any(
        bool(np.any((q.offset + q.A * p <= 0.0) & (q.t > 0.0)))
        for q in problems
        if isinstance(q, Equations) and np.ndim(q.A) < 2
    )


def together(group: npt.NDArray[np.int64]) -> str:
    """What a reader has to know of categories that were tested together."""
    sizes = np.bincount(group)
    several = sizes[sizes > 1]
    if not several.size:
        return ""
    how = "together" if several.size == 1 else f"in {several.size} groups"
    return f"{several.sum()} categories with few reports were tested {how}"


def goodness_of_fit(
    sources: Sequence[Counts | BitCounts], problems: Sequence[Moments]
) -> TestResult | None:
    """Test that the reports can come from their channel(s) at all, whatever p is.

    Bit patterns are tested by their numbers of ones, whose law is free of p; a channel with more
    outputs than categories by its distance from the laws that it can make; a square channel can
    only show estimates that are too negative. Bits that are noised for sensitive categories only
    are tested by that, and by the sum of all estimates, which is one on average. Several sources
    are tested one by one and compared with each other, with Bonferroni's correction. None where
    there are too few reports for any.
    """
    found = [_one_fit(c, problem) for c, problem in zip(sources, problems, strict=True)]
    if len(sources) > 1:
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


def _one_fit(counts: Counts | BitCounts, problem: Moments) -> TestResult | None:
    if isinstance(problem, CohortMoments):
        return cohort_fit(problem)[0]
    try:
        if problem.kind == "sensitive":
            found = [_labels_fit(counts, problem), _sum_fit(problem)]
            return _worst([test for test in found if test is not None])
        return _bits_fit(counts) if problem.kind == "bits" else _labels_fit(counts, problem)
    except (NotAvailable, NotIdentified):  # too few reports, or they leave p open
        return None


def chi_square(null: str, outcome: tuple[Any, Any], method: str, note: str = "") -> TestResult:
    """A chi-square statistic and its degrees of freedom as a `TestResult`."""
    return TestResult.chi_square(null, outcome[0], outcome[1], method, note)


def _bits_fit(counts: Counts | BitCounts) -> TestResult:
    mechanism = counts.mechanism
    if isinstance(counts, Counts):
        ones = np.bitwise_count(counts.y).sum(axis=1, dtype=np.int64)
        histogram = np.bincount(ones, weights=counts.n, minlength=mechanism.k + 1)
        outcome = goodness.popcount_fit(histogram, mechanism.p1, mechanism.p0)
        return chi_square(NULL, outcome, "chi-square of the number of ones in a report")
    total = int(counts.ones.sum())
    z, p = goodness.bit_total_fit(total, counts.nobs, mechanism.k, mechanism.p1, mechanism.p0)
    return TestResult(NULL, float(z), None, float(p), "z-test of the total number of ones")


def _labels_fit(counts: Counts | BitCounts, problem: Moments) -> TestResult:
    assert isinstance(problem, Equations)
    form = exact_form(problem)
    if problem.kind == "labels" and np.ndim(problem.A) == 2:
        assert isinstance(counts, Counts)
        found = dense_fit(counts.vector(), counts.mechanism.channel().matrix(), problem)
        if isinstance(found, TestResult):
            return found
        z, p = found
    else:
        estimate, V = problem.estimate()[0], problem.covariance()
        z, p = tests_.z_test(estimate, np.sqrt(V.variances()), 0.0, "smaller")
    if form is not None:  # the chance of a count as small if the frequency is zero
        least = _smallest(form)
        p[form.known] = 1.0
        p[least] = form.take(least).apply(tests_.binomial_deficit)
    pvalue = min(1.0, float(p.size * p.min()))
    return TestResult(NULL, float(z.min()), None, pvalue, NEGATIVE)


def _sum_fit(problem: Moments) -> TestResult | None:
    """Do the estimates sum to one, as they do on average? None where they always do."""
    estimate, V = problem.estimate()[0], problem.covariance()
    variance = float(V.transform(np.ones((1, estimate.size)))[0, 0])
    if variance <= 1e-12 * float(V.variances().max()):
        return None
    z, p = tests_.z_test(estimate.sum(), np.sqrt(variance), 1.0)
    return TestResult(NULL, float(z), None, float(p), "z-test of the sum of the estimates")


def _smallest(form: ExactForm) -> Array:
    """Categories that can have the smallest p-value: of each law, the one counted least."""
    at = np.flatnonzero(form.known)
    counts = pd.Series(form.tally[at] * np.sign(form.scale[at]), index=at)
    return np.asarray(counts.groupby(form.offset[at]).idxmin())


def _homogeneity(problems: Sequence[Moments]) -> TestResult | None:
    """Do several sources agree on p? Wald test of what each estimates of it, against one of them.

    A source that leaves p open, such as one of withheld reports, is compared in what it does tell.
    """
    from scipy.linalg import block_diag

    k, S = problems[0].k, len(problems)
    if k * (S - 1) > LARGEST_INFORMATION:
        return None
    pooled = joined_moments(problems).plug_in()
    group = rare_categories([[problem] for problem in problems], pooled)
    contrasts = np.diff((np.arange(group.max() + 1)[:, None] == group) + 0.0, axis=0)
    told = [_told(problem, pooled, contrasts) for problem in problems]
    first, *others = sorted(told, key=lambda part: part.open)
    if first.open:
        return None
    R = np.hstack([-np.vstack([q.C for q in others]), block_diag(*(q.G for q in others))])
    estimates = np.concatenate([part.estimate for part in (first, *others)])
    V = block_diagonal([part.covariance for part in (first, *others)])
    try:
        outcome = tests_.wald(R, np.zeros(len(R)), estimates, V)
    except InvalidArgument:  # nothing varies that could differ
        return None
    return chi_square(HOMOGENEITY, outcome, "homogeneity of the sources, Wald", together(group))


@dataclass(frozen=True, eq=False)
class _Told:
    """What a source says of p: G times its estimate is C p on average; all of it unless `open`."""

    C: Array
    G: Array
    estimate: Array
    covariance: Covariance
    open: bool


def _told(problem: Moments, p: Array, contrasts: Array) -> _Told:
    try:
        return _Told(contrasts, contrasts, problem.estimate()[0], problem.covariance(p), False)
    except NotIdentified:
        if not isinstance(problem, Equations):
            raise
    A, root = np.asarray(problem.A, dtype=np.float64), np.sqrt(problem.weights)
    left, values, right = np.linalg.svd(root[:, None] * A, full_matrices=False)
    rank = int(np.sum(values > max(A.shape) * np.finfo(np.float64).eps * values[0]))
    G = (left[:, :rank] / values[:rank]).T * root
    return _Told(right[:rank], G, problem.t - problem.offset, problem.V(p), True)
