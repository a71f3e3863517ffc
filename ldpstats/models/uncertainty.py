"""Covariances and checks of fit for one privatised variable, from its counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.channels.structured import Uniformised
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference import goodness, information
from ldpstats.inference import tests as tests_
from ldpstats.inference.tests import TestResult
from ldpstats.models.misfit import HOMOGENEITY, NEGATIVE, NULL, dense_fit
from ldpstats.problems.covariance import Covariance, block_diagonal, uniformised, uniformised_fpe16
from ldpstats.problems.equations import Equations, Moments, pool, precisions
from ldpstats.problems.estimates import ExactForm, PooledTallies, Uncertain, Unexplained
from ldpstats.problems.hashed.moments import LARGEST_DENSE, CohortMoments, merged
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import Rows, UniformRows
from ldpstats.reports.single import BitCounts, Counts

__all__ = [
    "all_candidates",
    "chi_square",
    "cohort_fit",
    "exact_form",
    "goodness_of_fit",
    "is_impossible",
    "joined_exact_form",
    "joined_moments",
    "mle_covariance",
    "pooled_tallies",
    "rare_categories",
    "together",
    "too_few_cohorts",
    "unexplained_share",
]

Array = npt.NDArray[Any]

LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
DOUBT = 0.01  # p-value below which candidates do not fit, and the equations allow for others
CERTAIN = 0.001  # p-value below which others than the candidates are held
FEWEST_COHORTS = 8  # from which tests over incomplete lists keep their level
MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def joined_moments(problems: Sequence[Moments]) -> Moments:
    """The equations of all sources together."""
    if len(problems) == 1:
        return problems[0]
    hashed = [problem for problem in problems if isinstance(problem, CohortMoments)]
    if len(hashed) == len(problems):
        return merged(hashed)
    flat = [q.reduced() if isinstance(q, CohortMoments) else q for q in problems]
    return pool([problem for problem in flat if isinstance(problem, Equations)])


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


def unexplained_share(problem: Moments, linear: Uncertain) -> Unexplained | None:
    """Share of the answers that are not among the candidates, over an open alphabet."""
    if not isinstance(problem, CohortMoments) or not problem.is_open:
        return None
    p = linear.estimate[linear.places]
    if linear.covariance is None or not p.size:
        return Unexplained(1.0 - float(p.sum()), np.nan)
    variance = linear.covariance.merged(np.zeros(p.size, dtype=np.int64)).variances()[0]
    return Unexplained(1.0 - float(p.sum()), float(np.sqrt(variance)))


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


def exact_form(problem: Moments) -> ExactForm | None:
    """The categories whose linear estimate is an affine function of one binomial count.

    An estimate that weights all reports with two weights only counts the reports of the larger
    weight, and its mean gives the law of that count: ``P(counted) = offset + scale p_x``.
    """
    if not isinstance(problem, Equations):
        return None
    counts = np.rint(problem.t * problem.nobs).astype(np.int64)
    if np.ndim(problem.A) < 2:
        offset = np.broadcast_to(problem.offset, counts.shape).astype(np.float64)
        scale = np.broadcast_to(problem.A, counts.shape).astype(np.float64)
        return ExactForm(counts, problem.nobs, offset, scale)
    if problem.kind == "lumped":  # a bit of each category but the last, which none is counted for
        offset, scale = np.array(problem.offset), np.diagonal(problem.A).copy()
        offset[-1] = scale[-1] = np.nan
        return ExactForm(counts, problem.nobs, offset, scale)
    if problem.kind != "labels":
        return None
    try:
        G = np.asarray(problem.inverse)
    except NotIdentified:  # of a source that others complete
        return None
    low, high = G.min(axis=1), G.max(axis=1)
    tolerance = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
    counted = high[:, None] - G <= tolerance
    known = np.all(counted | (G - low[:, None] <= tolerance), axis=1) & (high > low)
    scale = np.divide(1.0, high - low, out=np.full(low.shape, np.nan), where=known)
    offset = np.where(np.abs(low) <= tolerance[:, 0], 0.0, -low) * scale
    return ExactForm(counted @ counts, problem.nobs, offset, scale)


def joined_exact_form(problems: Sequence[Moments]) -> ExactForm | None:
    """The exact form of several sources: of categories that are reported only where they are true.

    The sum of their counts is Poisson binomial, not binomial where sources differ, but its tails
    are the lighter ones (Hoeffding 1956), so that what is exact for a binomial count of the same
    mean is valid, and nearly exact for the few reports where it matters.
    """
    if len(problems) == 1:
        return exact_form(problems[0])
    forms = [form for form in map(exact_form, problems) if form is not None]
    noiseless = np.all([form.offset == 0.0 for form in forms], axis=0)
    if len(forms) < len(problems) or not noiseless.any():
        return None
    nobs = sum(form.nobs for form in forms)
    scale = sum(form.nobs * form.scale for form in forms) / nobs
    tally = np.sum([form.tally for form in forms], axis=0)
    return ExactForm(
        tally, nobs, np.where(noiseless, 0.0, np.nan), np.where(noiseless, scale, np.nan)
    )


def pooled_tallies(problems: Sequence[Moments]) -> PooledTallies | None:
    """The counts of several sources, if categories have a count of their own in each."""
    flat = [q for q in problems if isinstance(q, Equations) and np.ndim(q.A) < 2]
    if len(flat) < 2 or len(flat) < len(problems):
        return None
    slopes, precision = precisions(flat)
    return PooledTallies(
        nobs=np.array([[float(q.nobs)] for q in flat]),
        offset=np.array([np.broadcast_to(q.offset, slopes[0].shape) for q in flat], dtype=float),
        scale=slopes,
        share=precision / precision.sum(axis=0),
    )


def mle_covariance(
    sources: Sequence[Counts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
    fpe16: bool,
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    Expected information where the outputs of every source can be enumerated, observed information
    on the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    first = None if isinstance(problems[0], CohortMoments) else sources[0].mechanism.channel()
    if len(sources) == 1 and isinstance(first, Uniformised):
        form = uniformised_fpe16 if fpe16 else uniformised
        V = form(p, first.a, first.b, sources[0].nobs)
        return V, "fpe16" if fpe16 else "expected"
    patterns = sum(part.W.shape[0] for part in likelihoods if not isinstance(part.W, UniformRows))
    listed = all(c.mechanism.n_outputs for c in sources)
    hashed = all(isinstance(problem, CohortMoments) for problem in problems)
    work = 0 if listed and hashed else patterns * p.size**2
    if p.size > LARGEST_INFORMATION or work > MOST_OPERATIONS:
        return None, "none (too large)"
    kind = "fpe16" if fpe16 else "expected" if listed else "observed"
    matrices = [
        c.mechanism.channel().matrix()
        if c.mechanism.n_outputs and not isinstance(problem, CohortMoments)
        else None
        for c, problem in zip(sources, problems, strict=True)
    ]
    free = _finite_information(matrices, [part.W for part in likelihoods], p)
    for c, problem in zip(sources, problems, strict=True):
        if isinstance(problem, CohortMoments) and c.mechanism.n_outputs:
            free &= ~problem.sources[0].pinned(p)
    law = p[free] / p[free].sum()  # where EM stops, what is absent beyond doubt has a little left
    J = np.zeros((int(free.sum()), int(free.sum())))
    for Q, c, problem, likelihood in zip(matrices, sources, problems, likelihoods, strict=True):
        if Q is not None:
            J += information.expected_information(_kept(Q[free]), law, c.nobs)
        elif isinstance(problem, CohortMoments) and c.mechanism.n_outputs:
            J += problem.sources[0].information(p)[np.ix_(free, free)]
        else:
            J += likelihood.information(p)[np.ix_(free, free)]
    try:
        inverse = information.fpe16(J) if fpe16 else information.observed_tangent_inverse(J)
    except NotIdentified:  # fewer different reports than categories
        return None, "none (singular information)"
    if free.all():
        return inverse, kind
    full = np.zeros((p.size, p.size))
    full[np.ix_(free, free)] = inverse.matrix()
    return Covariance.dense(full), kind


def _finite_information(matrices: Sequence[Array | None], rows: Sequence[Rows], p: Array) -> Array:
    """Categories whose estimate can vary: none of their reports has probability zero under p.

    A category at zero that some never-expected report would reveal is known to first order.
    """
    free = np.ones(p.size, dtype=bool)
    for Q, W in zip(matrices, rows, strict=True):
        free &= ~W.pinned(p)
        if Q is not None:
            never = (p @ Q <= 0.0) & Q.any(axis=0)
            free &= ~Q[:, never].any(axis=1)
    return free


def _kept(Q: Array) -> Array:
    return Q[:, Q.any(axis=0)]


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
