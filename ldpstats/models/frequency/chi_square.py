"""Chi-square tests of estimates, in which rare categories are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.inference import goodness
from ldpstats.inference.quadratic import form_cumulants, is_feasible
from ldpstats.inference.tests import TestResult
from ldpstats.problems.moments import Moments, OwnCounts
from ldpstats.problems.pooled import joined
from ldpstats.problems.simplex import project_simplex

__all__ = ["all_candidates", "by_moments", "contrasts", "plug_in", "rare_categories", "together"]

Array = npt.NDArray[Any]

_KNOWN = 1e-10  # relative variance below which a contrast is known


def all_candidates(
    null: str, outcome: tuple[Any, Any], problems: Sequence[Moments], method: str
) -> TestResult:
    """A Wald test of all candidates: F where the residuals gave a component of the variance.

    Its degrees of freedom are matched to the variance of the statistic, see
    `CohortMoments.wald_variance`.
    """
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
    """The test of contrasts R of all estimates, with the law that its statistic has under p.

    Chi-square is the limit of that law, and far from it where some reports are rare. The test is
    left as it is where the reports of a problem cannot be listed.

    Parameters
    ----------
    test : TestResult
        The quadratic form of the contrasts in the inverse of their covariance under p.
    problems : sequence of Moments
        Independent of each other.
    R : array, shape (q, sum of k)
        Contrasts of the estimates of all problems, side by side; they may be redundant.
    """
    listed = [problem.influences(p) for problem in problems]
    sides = np.split(R, np.cumsum([problem.k for problem in problems])[:-1], axis=1)
    parts = [
        (n, each @ side.T, law)
        for found, side in zip(listed, sides, strict=True)
        for n, each, law in found or ()
    ]
    if any(found is None for found in listed):
        return test
    covariance = np.zeros((len(R), len(R)))
    for n, each, law in parts:
        centred = each - law @ each
        covariance += n * (centred.T * law) @ centred
    scale = np.sqrt(np.diagonal(covariance))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > _KNOWN * values[-1]
    white = vectors[:, kept] / scale[:, None] / np.sqrt(values[kept])
    size = sum(len(law) for _, _, law in parts)
    if kept.sum() != test.df or not is_feasible(size, white.shape[1]):
        return test
    found = form_cumulants([(n, each @ white, law) for n, each, law in parts])
    how = f"{test.method}, p-value by the moments of the statistic"
    # a law that rare reports dominate says little of the statistic where none was seen
    return replace(test, pvalue=max(test.pvalue, found.pvalue(test.statistic)), method=how)


def rare_categories(sides: Sequence[Sequence[Moments]], p: Array) -> npt.NDArray[np.int64]:
    """Groups of categories that are tested together, because too few reports are expected.

    uRR and uRAP report what is not sensitive without noise, so that categories that nearly nobody
    has are nearly never reported. What matters of a difference of estimates is its kurtosis beyond
    the normal law's. One over it is the expected count where that is all there is, and large where
    other noise prevails. Where p is estimated, what it may well be counts too: categories must not
    be chosen by an error that is part of the difference. Of more than two sides every pair counts,
    so that neither their order matters nor who is compared with whom. See `goodness.rare_groups`.
    """
    counted = [_own_counts(side) for side in sides]
    if not any(counted):
        return np.arange(p.size)
    pairs = zip(counted, sides, strict=True)
    noise = [np.zeros(p.shape) if own else _noise(side, p) for own, side in pairs]
    expected = _effective_counts(counted, p, noise)
    if len(sides) > 1:
        every = joined([problem for side in sides for problem in side])
        above = p + 2.0 * np.sqrt(every.estimate_variances(p))
        above = np.maximum(p, np.minimum(above, 0.5))
        expected = np.minimum(expected, _effective_counts(counted, above, noise))
    return goodness.rare_groups(expected)


def _own_counts(side: Sequence[Moments]) -> list[OwnCounts] | None:
    """The binomial counts that an estimate is an affine function of; None if it is not."""
    own = [counts for q in side if (counts := q.own_counts()) is not None]
    return own if len(own) == len(side) else None


def _noise(side: Sequence[Moments], p: Array) -> Array:
    """Variances of an estimate that is not an affine function of binomial counts."""
    try:
        return joined(side).estimate_variances(p)
    except NotIdentified:  # a source that tells sums of categories only
        return np.zeros(p.shape)


def _effective_counts(
    sides: Sequence[Sequence[OwnCounts] | None], p: Array, noise: Sequence[Array]
) -> Array:
    """One over the kurtosis of a difference of estimates, the least of all pairs of sides.

    It is at most the number of reports; `noise` has no kurtosis.
    """
    laws = [
        (0, spread, np.zeros(p.shape)) if side is None else _cumulants(side, p)
        for side, spread in zip(sides, noise, strict=True)
    ]
    found = []
    for pair in combinations(laws, 2) if len(laws) > 1 else [tuple(laws)]:
        most, second, fourth = (sum(parts) for parts in zip(*pair, strict=True))
        if most:
            with np.errstate(divide="ignore", invalid="ignore"):
                count = np.where(second > 0.0, second**2 / fourth, 0.0)
            found.append(np.minimum(count, most))
    return np.asarray(np.min(found, axis=0))


def _cumulants(side: Sequence[OwnCounts], p: Array) -> tuple[int, Array, Array]:
    """Reports of one side, and second and fourth cumulant of its estimate."""
    second, fourth = np.zeros(p.shape), np.zeros(p.shape)
    precision = np.array([q.precision for q in side])
    for q, share in zip(side, precision / precision.sum(axis=0), strict=True):
        m = q.offset + q.slope * p
        v, slope = m * (1.0 - m), share / q.slope
        second += slope**2 * v / q.nobs
        fourth += slope**4 * v * np.maximum(1.0 - 6.0 * v, 0.0) / q.nobs**3
    return sum(q.nobs for q in side), second, fourth


def contrasts(group: npt.NDArray[np.int64]) -> Array:
    """Each sum over a group of `rare_categories` minus the one before, shape (g - 1, k)."""
    return np.diff((np.arange(group.max() + 1)[:, None] == group) + 0.0, axis=0)


def plug_in(problem: Moments) -> Array:
    """Frequencies whose law is close to the reports, for variances under a null.

    Sums of bits are noisy where a category is frequent, and hardly elsewhere. The projection counts
    distances in standard errors: else rare categories would make up for the noise of frequent ones.
    """
    estimate = problem.estimate()[0]
    positive = np.maximum(estimate, 0.0)
    if problem.is_open or not positive.any():
        return problem.plug_in()
    return project_simplex(estimate, problem.estimate_variances(positive / positive.sum()))


def together(group: npt.NDArray[np.int64]) -> str:
    """What a reader has to know of categories that were tested together."""
    sizes = np.bincount(group)
    several = sizes[sizes > 1]
    if not several.size:
        return ""
    how = "together" if several.size == 1 else f"in {several.size} groups"
    return f"{several.sum()} categories with few reports were tested {how}"
