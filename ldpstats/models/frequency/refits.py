"""Intervals that fit the model again and again: profile likelihood and parametric bootstrap."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.base import Estimator, LikelihoodEstimator
from ldpstats.estimators.mle import MLE
from ldpstats.inference import intervals
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.combined import FixedEntry
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["bootstrap", "profiles"]

Array = npt.NDArray[Any]


def profiles(likelihood: Likelihood, alpha: float) -> Array:
    """Profile-likelihood intervals of all categories, shape (k, 2)."""
    best = MLE().solve(likelihood).p
    maximum = likelihood.loglike(best)

    def at(i: int, v: float) -> float:
        if v >= 1.0:
            return likelihood.loglike(np.eye(likelihood.k)[i])
        fixed = Likelihood(FixedEntry(likelihood.W, i, v), likelihood.n)
        flat = np.full(fixed.k, 1.0 / fixed.k)
        if fixed.W.mix(flat).min() <= 0.0:  # v makes a report impossible that was seen
            return -np.inf
        return fixed.loglike(MLE().solve(fixed).p)

    ends = [
        intervals.profile(partial(at, i), float(best[i]), maximum, alpha)
        for i in range(likelihood.k)
    ]
    return np.array(ends)


def bootstrap(
    evidence: Evidence,
    estimator: Estimator[Any],
    p: Array,
    alpha: float,
    rng: np.random.Generator,
    n_boot: int,
) -> Array:
    """Percentile intervals, shape (k, 2), of surveys like this one where the frequencies are p."""
    draws = np.empty((n_boot, p.size))
    for b in range(n_boot):
        sources = tuple(_redrawn(c, evidence.candidates, p, rng) for c in evidence.sources)
        again = Evidence.of(sources, evidence.candidates, incomplete=False)
        if isinstance(estimator, LikelihoodEstimator):  # the two kinds solve different problems
            draws[b] = estimator.solve(again.likelihood).p
        else:
            draws[b] = estimator.solve(again.moments).p
    return np.asarray(intervals.percentile(draws, alpha))


def _redrawn(
    counts: Counts | BitCounts, candidates: Any, p: Array, rng: np.random.Generator
) -> Counts | BitCounts:
    """Counts of as many respondents whose categories have the law p."""
    mechanism = counts.mechanism
    if not counts.has_patterns or not mechanism.n_bits:
        drawn: Counts | BitCounts = mechanism.draw(p, counts.nobs, rng, candidates)
        return drawn
    codes = np.repeat(np.arange(p.size), rng.multinomial(counts.nobs, p))
    answers = mechanism.labels(candidates).take(codes)
    patterns: Counts = mechanism.privatize(answers, rng).tally()
    return patterns
