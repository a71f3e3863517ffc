"""Intervals that fit the model again and again: profile likelihood and parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators.base import Estimator, LikelihoodEstimator
from ldpstats.estimators.mle import MLE, model_of_refits, refitted
from ldpstats.estimators.solvers.ascent import observed
from ldpstats.inference import intervals
from ldpstats.models.frequency.estimator import settings_of
from ldpstats.models.frequency.evidence import Evidence, stacked
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.bar import maybe_bar
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.combined import FixedEntry
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["bootstrap_intervals", "check_made", "profile_intervals"]

Array = npt.NDArray[Any]
Sources = tuple[Counts | BitCounts, ...]

_TOGETHER = 1 << 23  # bits of reports that are drawn at a time, at least (1 MB)


def check_made(results: FrequencyResults, evidence: Evidence) -> None:
    """Refuse results of other data: the same data give the same linear estimate, bit by bit."""
    if results.linear.at is not None:
        raise NotAvailable("intervals after a selection: use the default ones, or refit")
    one_step = results.linear_method == "one step"
    problem = evidence.one_step if one_step else evidence.inference
    if problem is None or not np.array_equal(problem.estimate()[0], results.linear.estimate):
        raise InvalidArgument("model", str(evidence.sources[0].mechanism), "has other data")


def profile_intervals(
    results: FrequencyResults, evidence: Evidence, alpha: float, progress: bool
) -> Array:
    """Profile-likelihood intervals of results of this evidence, shape (k, 2)."""
    if "constrained" in results.settings:
        raise NotAvailable("profile intervals of a constrained fit: use method='bootstrap'")
    return _profiles(evidence.likelihood, results.linear.bse(), alpha, progress)


def bootstrap_intervals(
    results: FrequencyResults,
    evidence: Evidence,
    estimator: Estimator[Any] | None,
    alpha: float,
    rng: np.random.Generator,
    n_boot: int,
    progress: bool,
) -> Array:
    """Bootstrap percentile intervals of results of this evidence, shape (k, 2)."""
    if results.unexplained is not None and not results.assumes_complete:
        raise NotAvailable(
            f"bootstrap of {results.method!r} over candidates: the law of the answers that are "
            "not among them is not known; use the default intervals"
        )
    estimator = ESTIMATORS[results.method]() if estimator is None else estimator
    if (estimator.name, settings_of(estimator)) != (results.method, results.settings):
        raise InvalidArgument(
            "estimator",
            estimator,
            f"the fit used {results.method!r}, {results.settings or 'default settings'}: pass "
            "estimator= as it was, for example MLE(constraints=...)",
        )
    p = results.fitted.estimate
    if p.min() < 0.0 or abs(p.sum() - 1.0) > 1e-9:
        p = evidence.moments.plug_in()
    return _bootstrap(evidence, estimator, p, alpha, rng, n_boot, progress)


def _profiles(likelihood: Likelihood, se: Array, alpha: float, progress: bool) -> Array:
    """Profile-likelihood intervals of all categories, shape (k, 2).

    `se` are about the standard errors, nan where unknown.
    """
    W, n = observed(likelihood)
    seen = Likelihood(W.prepared(), n)
    best = MLE().solve(likelihood).p
    maximum = seen.loglike(best)
    ends = np.empty((likelihood.k, 2))
    with maybe_bar("profiles", progress) as advance:
        for i in range(likelihood.k):
            path = _Path(seen, i, best)
            at = path.loglike, float(best[i]), maximum, alpha
            ends[i] = intervals.profile(*at, path.slope, float(se[i]))
            advance((i + 1) / likelihood.k)
    return ends


class _Path:
    """The profile likelihood of one category, maximised over the others from where it was last."""

    def __init__(self, likelihood: Likelihood, index: int, best: Array) -> None:
        self.likelihood, self.index = likelihood, index
        others = np.delete(best, index)
        share = others.sum()
        self._others = others / share if share > 0.0 else np.full(others.size, 1.0 / others.size)
        self._at: Array | None = None

    def loglike(self, v: float) -> float:
        """l(v), -inf where v makes a report impossible that was seen."""
        W, n = FixedEntry(self.likelihood.W, self.index, v), self.likelihood.n
        self._at = np.eye(self.likelihood.k)[self.index]
        if v < 1.0:
            flat = np.full(self._others.size, 1.0 / self._others.size)
            if W.mix(flat).min() <= 0.0:
                self._at = None
                return -np.inf
            start = self._others if W.closed_form(n) is None else None
            self._others = refitted(W, n, start).p
            self._at = np.insert((1.0 - v) * self._others, self.index, v)
        return self.likelihood.loglike(self._at)

    def slope(self, v: float) -> float:
        """l'(v), by the envelope theorem; nan where it is not known."""
        if self._at is None or not v < 1.0:
            return np.nan
        score = self.likelihood.score(self._at)
        return float(score[self.index] - self._others @ np.delete(score, self.index))


def _bootstrap(
    evidence: Evidence,
    estimator: Estimator[Any],
    p: Array,
    alpha: float,
    rng: np.random.Generator,
    n_boot: int,
    progress: bool,
) -> Array:
    """Percentile intervals, shape (k, 2), of surveys like this one where the frequencies are p."""
    draws = np.empty((n_boot, p.size))
    refit = _refit(evidence, estimator, p)
    surveys = [_surveys(c, evidence.candidates, p, rng, n_boot) for c in evidence.sources]
    with maybe_bar("bootstrap", progress) as advance:
        for b, sources in enumerate(zip(*surveys, strict=True)):
            draws[b] = refit(sources)
            advance((b + 1) / n_boot)
    return np.asarray(intervals.percentile(draws, alpha))


def _refit(evidence: Evidence, estimator: Estimator[Any], p: Array) -> Callable[[Sources], Array]:
    """What estimates from a simulated survey; the kinds of estimator solve different problems."""

    def likelihood_of(sources: Sources) -> Likelihood:
        return stacked([c.mechanism.likelihood(c, evidence.candidates) for c in sources])

    def by_moments(sources: Sources) -> Array:
        again = Evidence.of(sources, evidence.candidates, incomplete=False)
        return estimator.solve(again.moments).p

    def by_likelihood(sources: Sources) -> Array:
        return estimator.solve(likelihood_of(sources)).p

    def by_maximum(sources: Sources) -> Array:
        return refitted(*observed(likelihood_of(sources)), start, model).p

    if not isinstance(estimator, LikelihoodEstimator):
        return by_moments
    if estimator != MLE():
        return by_likelihood
    W, n = observed(evidence.likelihood)
    known = W.closed_form(n) is not None or W.reduced(n) is not None
    start, model = (None, None) if known else (p, model_of_refits(W, n, p))
    return by_maximum


def _surveys(
    counts: Counts | BitCounts, candidates: Any, p: Array, rng: np.random.Generator, n_boot: int
) -> Iterator[Counts | BitCounts]:
    """Counts of n_boot surveys of as many respondents each, whose categories have the law p.

    Bits are drawn for several surveys at once, which takes long simulations to compiled loops.
    """
    mechanism, nobs = counts.mechanism, counts.nobs
    if not counts.has_patterns or not mechanism.n_bits:
        yield from (mechanism.draw(p, nobs, rng, candidates) for _ in range(n_boot))
        return
    labels, some = mechanism.labels(candidates), -(-_TOGETHER // (nobs * mechanism.n_bits))
    for start in range(0, n_boot, some):
        drawn = rng.multinomial(nobs, p, size=min(some, n_boot - start))
        codes = np.repeat(np.tile(np.arange(p.size), len(drawn)), drawn.reshape(-1))
        reports = mechanism.privatize(labels.take(codes), rng)
        for first in range(0, len(codes), nobs):
            yield reports[first : first + nobs].tally()
