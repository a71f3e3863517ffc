"""Covariances and checks of fit for one privatised variable, from its counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.channels import Uniformised
from ldpstats.covariances import Covariance, block_diagonal, uniformised, uniformised_fpe16
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimates import ExactForm
from ldpstats.estimators.inversion import Inversion, linear_map
from ldpstats.estimators.projected import project_simplex
from ldpstats.inference import goodness, information
from ldpstats.inference import tests as tests_
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.operators import UniformRows
from ldpstats.problems import Likelihood, Moments, pool
from ldpstats.reports import BitCounts, Counts

__all__ = ["chi_square", "exact_form", "goodness_of_fit", "linear_covariance", "mle_covariance"]

Array = npt.NDArray[Any]

LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def linear_covariance(problem: Moments, p: Array | None = None) -> Covariance:
    """Covariance of the linear estimate if the frequencies are p.

    By default p is the linear estimate projected onto the simplex: where the estimate is one, this
    is the plug-in of the observed frequencies; elsewhere it keeps reports that were not seen from
    passing for impossible ones.
    """
    G = linear_map(problem)
    if p is None:
        p = project_simplex(Inversion().solve(problem).p)
    V = problem.V(p)
    return V.scaled(G**2) if isinstance(G, float) else Covariance.dense(V.transform(G))


def exact_form(problem: Moments) -> ExactForm | None:
    """The categories whose linear estimate is an affine function of one binomial count.

    An estimate that weights all reports with two weights only counts the reports of the larger
    weight, and its mean gives the law of that count: ``P(counted) = offset + scale p_x``.
    """
    counts = np.rint(problem.t * problem.nobs).astype(np.int64)
    if isinstance(problem.A, float):
        offset = np.broadcast_to(problem.offset, counts.shape).astype(np.float64)
        return ExactForm(counts, problem.nobs, offset, np.full(counts.shape, problem.A))
    if problem.kind != "labels":
        return None
    G = np.asarray(linear_map(problem))
    low, high = G.min(axis=1), G.max(axis=1)
    tolerance = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
    counted = high[:, None] - G <= tolerance
    known = np.all(counted | (G - low[:, None] <= tolerance), axis=1) & (high > low)
    scale = np.divide(1.0, high - low, out=np.full(low.shape, np.nan), where=known)
    offset = np.where(np.abs(low) <= tolerance[:, 0], 0.0, -low) * scale
    return ExactForm(counted @ counts, problem.nobs, offset, scale)


def mle_covariance(
    sources: Sequence[Counts], likelihoods: Sequence[Likelihood], p: Array, fpe16: bool
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    Expected information where the outputs of every source can be enumerated, observed information
    on the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    channels = [counts.mechanism.channel() for counts in sources]
    nobs = sum(counts.nobs for counts in sources)
    if len(channels) == 1 and isinstance(channels[0], Uniformised):
        form = uniformised_fpe16 if fpe16 else uniformised
        V = form(p, channels[0].a, channels[0].b, nobs)
        return V, "fpe16" if fpe16 else "expected"
    patterns = sum(part.W.shape[0] for part in likelihoods if not isinstance(part.W, UniformRows))
    if p.size > LARGEST_INFORMATION or patterns * p.size**2 > MOST_OPERATIONS:
        return None, "none (too large)"
    listed = all(counts.mechanism.n_outputs for counts in sources)
    kind = "fpe16" if fpe16 else "expected" if listed else "observed"
    matrices = [
        channel.matrix() if counts.mechanism.n_outputs else None
        for channel, counts in zip(channels, sources, strict=True)
    ]
    free = _finite_information(matrices, p)
    J = np.zeros((int(free.sum()), int(free.sum())))
    for Q, counts, likelihood in zip(matrices, sources, likelihoods, strict=True):
        if Q is None:
            J += likelihood.information(p)[np.ix_(free, free)]
        else:
            J += information.expected_information(_kept(Q[free]), p[free], counts.nobs)
    try:
        inverse = information.fpe16(J) if fpe16 else information.observed_tangent_inverse(J)
    except NotIdentified:  # fewer different reports than categories
        return None, "none (singular information)"
    if free.all():
        return inverse, kind
    full = np.zeros((p.size, p.size))
    full[np.ix_(free, free)] = inverse.matrix()
    return Covariance.dense(full), kind


def _finite_information(matrices: Sequence[Array | None], p: Array) -> Array:
    """Categories whose estimate can vary: none of their reports has probability zero under p.

    A category at zero that some never-expected report would reveal is known to first order.
    """
    free = np.ones(p.size, dtype=bool)
    for Q in matrices:
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
    only show estimates that are too negative. Several sources are tested one by one and compared
    with each other, with Bonferroni's correction. None where there are too few reports for any.
    """
    found = [_one_fit(c, problem) for c, problem in zip(sources, problems, strict=True)]
    if len(sources) > 1:
        found.append(_homogeneity(problems))
    tests = [test for test in found if test is not None]
    if len(tests) < 2:
        return tests[0] if tests else None
    worst = min(tests, key=lambda test: test.pvalue)
    return replace(
        worst,
        pvalue=min(1.0, len(tests) * worst.pvalue),
        method=f"{worst.method}; smallest of {len(tests)} tests, Bonferroni",
    )


def _one_fit(counts: Counts | BitCounts, problem: Moments) -> TestResult | None:
    try:
        return _bits_fit(counts) if problem.kind == "bits" else _labels_fit(counts, problem)
    except NotAvailable:  # too few reports
        return None


def chi_square(null: str, outcome: tuple[Any, Any], method: str, note: str = "") -> TestResult:
    """A chi-square statistic and its degrees of freedom as a `TestResult`."""
    statistic, df = float(outcome[0]), float(outcome[1])
    return TestResult(null, statistic, df, float(chi2_pvalue(statistic, df)), method, note)


_NULL = "the reports were made by this mechanism"
_NEGATIVE = "Bonferroni on the most negative estimate"


def _bits_fit(counts: Counts | BitCounts) -> TestResult:
    mechanism = counts.mechanism
    if isinstance(counts, Counts):
        ones = np.bitwise_count(counts.y).sum(axis=1, dtype=np.int64)
        histogram = np.bincount(ones, weights=counts.n, minlength=mechanism.k + 1)
        outcome = goodness.popcount_fit(histogram, mechanism.p1, mechanism.p0)
        return chi_square(_NULL, outcome, "chi-square of the number of ones in a report")
    total = int(counts.ones.sum())
    z, p = goodness.bit_total_fit(total, counts.nobs, mechanism.k, mechanism.p1, mechanism.p0)
    return TestResult(_NULL, float(z), None, float(p), "z-test of the total number of ones")


def _labels_fit(counts: Counts | BitCounts, problem: Moments) -> TestResult:
    assert isinstance(counts, Counts)
    if problem.t.size > problem.k:
        outcome = goodness.channel_fit(counts.vector(), counts.mechanism.channel().matrix())
        return chi_square(_NULL, outcome, "chi-square distance from the laws of the channel")
    form = exact_form(problem)
    estimate, V = Inversion().solve(problem).p, linear_covariance(problem)
    z, p = tests_.z_test(estimate, np.sqrt(V.variances()), 0.0, "smaller")
    if form is not None:  # the chance of a count as small if the frequency is zero
        least = _smallest(form)
        p[form.known] = 1.0
        p[least] = form.take(least).apply(tests_.binomial_deficit)
    pvalue = min(1.0, float(p.size * p.min()))
    return TestResult(_NULL, float(z.min()), None, pvalue, _NEGATIVE)


def _smallest(form: ExactForm) -> Array:
    """Categories that can have the smallest p-value: of each law, the one counted least."""
    at = np.flatnonzero(form.known)
    counts = pd.Series(form.tally[at] * np.sign(form.scale[at]), index=at)
    return np.asarray(counts.groupby(form.offset[at]).idxmin())


def _homogeneity(problems: Sequence[Moments]) -> TestResult | None:
    """Do several sources agree on p? Wald test of equal linear estimates."""
    k, S = problems[0].k, len(problems)
    if k * (S - 1) > LARGEST_INFORMATION:
        return None
    pooled = project_simplex(Inversion().solve(pool(problems)).p)
    estimates = np.concatenate([Inversion().solve(problem).p for problem in problems])
    V = block_diagonal([linear_covariance(problem, pooled) for problem in problems])
    R = np.kron(np.diff(np.eye(S), axis=0), np.diff(np.eye(k), axis=0))
    try:
        outcome = tests_.wald(R, np.zeros(len(R)), estimates, V)
    except InvalidArgument:  # nothing varies that could differ
        return None
    null = "all sources have the same distribution"
    return chi_square(null, outcome, "homogeneity of the sources, Wald")
