"""The estimate that was asked for, and the linear one that intervals and tests rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.channels.structured import Channel, Uniformised
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.base import (
    Estimator,
    LikelihoodEstimator,
    MomentsEstimator,
    SelectingEstimator,
)
from ldpstats.estimators.likelihood import MLE
from ldpstats.inference import intervals
from ldpstats.inference import tests as information
from ldpstats.inference import tests as tests_
from ldpstats.inference.boundary import edge_binomial, edge_normal
from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.inference.tests import TestResult, exact_binomial, observed_tangent_inverse, wilson
from ldpstats.likelihood.covariance import Covariance, uniformised, uniformised_fpe16
from ldpstats.likelihood.joint import joined
from ldpstats.likelihood.joint_rows import StackedRows
from ldpstats.likelihood.moments import LARGEST_LIST, Moments
from ldpstats.likelihood.problem import Likelihood, Solution
from ldpstats.likelihood.rows import Rows, UniformRows
from ldpstats.likelihood.tallies import (
    ExactForm,
    PathLaw,
    ReportLaw,
    Tallies,
    Uncertain,
    Unexplained,
)
from ldpstats.mechanisms import Mechanism as Mechanism_mechanisms
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.layout import Fit
from ldpstats.reports.single import BitCounts, Counts

__all__ = [
    "LARGEST_INFORMATION",
    "Checks",
    "Estimated",
    "Evidence",
    "Laws",
    "OneStep",
    "Specifications",
    "effective_counts",
    "estimated",
    "rests_on_scores",
    "stacked",
]


@dataclass(frozen=True, eq=False)
class Estimated:
    """What an estimator made of the evidence.

    `listed` are the equations of the candidates that are kept, `problem` those that inference rests
    on; `cov_type` says what the covariance of `fitted` is.
    """

    listed: Moments
    problem: Moments
    linear: Uncertain
    solution: Solution
    fitted: Uncertain
    cov_type: str


def estimated(evidence: Evidence, estimator: Estimator[Any], cov_type: str) -> Estimated:
    """Both estimates, with their covariances."""
    listed, selection = evidence.moments, None
    if isinstance(estimator, SelectingEstimator):
        selection, listed = estimator.refit(listed)
    problem = _inference(evidence, estimator, listed, selection)
    linear = _linear(evidence, problem, selection)
    if selection is not None:
        p = np.where(np.isnan(linear.estimate), 0.0, linear.estimate)
        solution = replace(selection, p=p)
        fitted, kind = Uncertain(p, linear.covariance, linear.at), "linear"
    elif isinstance(estimator, MomentsEstimator):
        solution, fitted, kind = _by_moments(estimator, problem, linear)
    else:
        solution, fitted, kind = _by_likelihood(evidence, estimator, linear, cov_type)
    return Estimated(listed, problem, linear, solution, fitted, kind)


def _inference(
    evidence: Evidence, estimator: Estimator[Any], listed: Moments, selection: Solution | None
) -> Moments:
    """What intervals and tests rest on, beside an estimate by `estimator`."""
    if selection is not None:  # inference is about the selected
        return listed.for_inference(incomplete=True)
    if isinstance(estimator, LikelihoodEstimator) and evidence.one_step is not None:
        return evidence.one_step
    return evidence.inference


def _linear(evidence: Evidence, problem: Moments, selection: Solution | None) -> Uncertain:
    """The linear estimate; of the selected candidates, where some were."""
    at = None if selection is None else selection.support
    full = np.full(evidence.moments.k, np.nan)
    if at is not None and not at.size:
        return Uncertain(full, Covariance.dense(np.empty((0, 0))), at)
    estimate = problem.estimate()[0]
    if problem.has_errors and not problem.has_covariance:
        alone = problem.estimate_variances(evidence.reference)
        return Uncertain(estimate, None, variances=alone)
    V = problem.covariance(evidence.reference) if problem.has_errors else None
    if at is None:
        return Uncertain(estimate, V)
    full[at] = estimate
    return Uncertain(full, V, at)


def _by_moments(
    estimator: MomentsEstimator, problem: Moments, linear: Uncertain
) -> tuple[Solution, Uncertain, str]:
    """The solution, the estimate with its covariance, and the kind of covariance."""
    solution = estimator.solve(problem)
    if linear.covariance is None:
        if np.array_equal(solution.p, linear.estimate) and linear.has_errors:
            return solution, linear, "linear"
        return solution, Uncertain(solution.p, None), "none (too large)"
    V = estimator.covariance(problem, solution, linear.covariance)
    return solution, Uncertain(solution.p, V), "linear"


def _by_likelihood(
    evidence: Evidence, estimator: Estimator[Any], linear: Uncertain, cov_type: str
) -> tuple[Solution, Uncertain, str]:
    """The same by a likelihood."""
    plain = estimator == MLE()
    solution = evidence.maximum if plain else estimator.solve(evidence.likelihood)
    if cov_type == "linear":
        return solution, Uncertain(solution.p, linear.covariance), "linear"
    if estimator.without_errors:
        return solution, Uncertain(solution.p, None), estimator.without_errors
    found, kind = evidence.covariance(solution.p, cov_type == "fpe16")
    return solution, Uncertain(solution.p, found), kind


# -- Covariance of the maximum likelihood estimate of one variable, from Fisher's information -----


Array = npt.NDArray[Any]

LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
_MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def information_covariance(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
    fpe16: bool,
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    Expected information where the outputs of every source can be enumerated, observed information
    on the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    if p.size > LARGEST_INFORMATION or _work(sources, likelihoods, p.size) > _MOST_OPERATIONS:
        return None, "none (too large)"
    J, free = _information(sources, problems, likelihoods, p)
    try:
        inverse = information.fpe16(J) if fpe16 else information.observed_tangent_inverse(J)
    except NotIdentified:  # fewer different reports than categories
        return None, "none (singular information)"
    listed = all(c.mechanism.n_outputs for c in sources)
    kind = "fpe16" if fpe16 else "expected" if listed else "observed"
    if free.all():
        return inverse, kind
    full = np.zeros((p.size, p.size))
    full[np.ix_(free, free)] = inverse.matrix()
    return Covariance.dense(full), kind


def _work(sources: Sequence[Counts | BitCounts], likelihoods: Sequence[Likelihood], k: int) -> int:
    """Multiplications that an observed information takes; none where labels of cohorts give all."""
    if all(c.mechanism.n_outputs and c.mechanism.n_cohorts for c in sources):
        return 0
    rows = [part.W for part in likelihoods if not isinstance(part.W, UniformRows)]  # these are O(k)
    return int(sum(W.shape[0] for W in rows) * k**2)


def _information(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Information of all sources about the categories whose estimate can vary, and which these are.

    Expected where the reports can be listed, else observed.
    """
    matrices = [_matrix(c) for c in sources]
    free = _finite_information(matrices, [part.W for part in likelihoods], p)
    for problem in problems:
        free &= ~problem.pinned(p)
    law = p[free] / p[free].sum()  # where EM stops, what is absent beyond doubt has a little left
    J = np.zeros((int(free.sum()), int(free.sum())))
    for Q, c, problem, likelihood in zip(matrices, sources, problems, likelihoods, strict=True):
        if Q is not None:
            J += information.expected_information(_kept(Q[free]), law, c.nobs)
        else:
            expected = problem.information(p)
            found = likelihood.information(p) if expected is None else expected
            J += found[np.ix_(free, free)]
    return J, free


def _matrix(counts: Counts | BitCounts) -> Array | None:
    """Q of reports that are labels of one cohort, shape (k, l); None of others."""
    mechanism = counts.mechanism
    if mechanism.n_cohorts or not mechanism.n_outputs:
        return None
    return np.asarray(mechanism.channel().matrix())


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


# -- Confidence intervals of frequencies, from an estimate and what is known of its law -----------


METHODS = ("default", "exact", "wilson", "wald", "wald-mle", "profile", "bootstrap")
_REFITS = {"model", "progress"}
_OPTIONS = {"profile": _REFITS, "bootstrap": _REFITS | {"rng", "n_boot", "estimator"}}
_FEW = 50  # reports: a count of that mean is about as skewed as a normal interval can bear


def check_options(method: str, how: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have."""
    for name, value in how.items():
        if name not in _OPTIONS.get(method, set()):
            raise InvalidArgument(name, value, f"is no option of method={method!r}")


def by_model(results: Any, method: str, alpha: float, model: Any = None, **how: Any) -> Array:
    """Intervals, (k, 2), that the fitted model computes by refits, from `FrequencyResults`."""
    compute = getattr(model, f"{method}_intervals", None)
    if compute is None or not isinstance(getattr(model, "nobs", None), int):
        raise InvalidArgument(
            "model", model, f"results hold no data: pass the fitted model for {method!r}"
        )
    return np.asarray(compute(results, alpha, **how))


def by_method(fit: Fit, laws: Laws, method: str, alpha: float, scheffe: bool = False) -> Array:
    """Intervals, (k, 2), from what results hold, not cut to [0, 1]."""
    if method in ("exact", "wilson"):
        if laws.exact is None or not laws.exact.known.all():
            raise NotAvailable(
                f"no {method} interval: categories do not each have a binomial count of their "
                "own under this channel; use the default, or method='wald'"
            )
        compute = exact_binomial if method == "exact" else wilson
        return laws.exact.apply(compute, alpha)
    fit.linear.every_bse()
    if method == "default":
        return _default(fit.linear, laws, alpha)
    which = fit.fitted if method == "wald-mle" else fit.linear
    if not which.has_errors:
        raise NotAvailable(f"no covariance of params was computed: {fit.cov_type}")
    if scheffe:
        df = which.estimate.size - 1
        return _around(which, partial(intervals.scheffe, alpha=alpha, df=df))
    return _around(which, partial(intervals.wald, alpha=alpha))


def _around(which: Uncertain, compute: Callable[[Array, Array], Array]) -> Array:
    """Intervals, shape (k, 2), around the estimates with a standard error; nan for the others."""
    at, bounds = which.places, np.full((which.estimate.size, 2), np.nan)
    bounds[at] = compute(which.estimate[at], which.bse()[at])
    return bounds


def _default(linear: Uncertain, laws: Laws, alpha: float) -> Array:
    """Exact where a category has a count of its own, else by the score, else Wald; (k, 2)."""
    bounds = _around(linear, partial(intervals.wald, alpha=alpha))
    if laws.tally is not None:
        at = linear.places
        estimate = linear.estimate[at]
        if laws.tally.everywhere:
            score = intervals.inverted(estimate, laws.tally.law, alpha)
            within = np.clip(np.column_stack([estimate, score]), 0.0, 1.0).T
            skewness = [laws.tally.law(p)[1] for p in within]
            few = _FEW * np.square(skewness).max(axis=0) > 1.0  # else it hardly matters
            bounds[at] = np.where(few[:, None], score, bounds[at])
        else:
            bounds[at] = intervals.skewed(estimate, *laws.tally.law(estimate), alpha)
    own = np.flatnonzero(laws.counted(len(bounds)))
    if laws.exact is not None and own.size:
        bounds[own] = laws.exact.take(own).apply(exact_binomial, alpha)
    return bounds


def cut(bounds: Array, method: str, which: Uncertain, laws: Laws, alpha: float) -> Array:
    """Intersect intervals with [0, 1]; what lies outside gets a limit of its own."""
    k = len(bounds)
    at = np.zeros(k, dtype=bool)
    at[which.places] = True
    own = {"default": laws.counted(k), "exact": at, "wilson": at}.get(method, np.zeros_like(at))
    if laws.exact is not None and own.any():
        form = laws.exact.take(np.flatnonzero(own))
        counts = form.tally, form.nobs, form.offset, form.scale
        bounds[own] = edge_binomial(bounds[own], *counts, alpha)
    se = which.bse()
    if method == "default" and laws.tally is not None:
        inside = np.clip(which.estimate[which.places], 0.0, 1.0)
        se[which.places] = laws.tally.law(inside)[0]
    at &= ~own
    bounds[at] = edge_normal(bounds[at], which.estimate[at], se[at], alpha)
    return bounds


# -- The unconstrained estimate from the likelihood of bits that inference rests on, and its law ---


_LEAST = 1e-6  # reports, over all categories, where the reference has none


@dataclass(frozen=True, eq=False)
class OneStep(Moments):
    """One Newton step of the exact likelihood from a reference point, without the bounds of p.

    ``p0 + V s(p0)`` with s the score of all reports and V the inverse of their expected information
    J at p0 on the tangent space of the simplex. Because ``E[s(p0)] = J p`` for every p, it is
    unbiased whatever p0 is, and at p0 = p no regular estimate has a smaller variance. For k-RR it
    is the inversion; for bits it knows, as the inversion bit by bit does not, that a respondent
    has one category. It leaves [0, 1], and so stays calibrated where a frequency is zero.

    Parameters
    ----------
    channels : tuple of Channel
        Of the sources.
    reports : tuple of int
        Reports of each.
    likelihood : Likelihood
        Of all reports.
    reference : array, shape (k,)
        p0, on the simplex.

    Raises
    ------
    NotIdentified
        Where the reports do not determine p.
    NotAvailable
        Where a channel's expected information cannot be computed.
    """

    channels: tuple[Channel, ...]
    reports: tuple[int, ...]
    likelihood: Likelihood
    reference: Array
    kind: str = "scores"
    linear_method: ClassVar[str] = "one step"

    @property
    def k(self) -> int:
        return self.reference.size

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return sum(self.reports)

    def at(self, p: Array) -> OneStep:
        """The same from another reference point."""
        return replace(self, reference=np.asarray(p, dtype=np.float64))

    @cached_property
    def start(self) -> Array:
        """p0, with next to nothing where it is zero: no possible report may be impossible."""
        p = np.maximum(self.reference, _LEAST / (self.nobs * self.k))
        return np.asarray(p / p.sum())

    @cached_property
    def _covariance(self) -> Covariance:
        parts = zip(self.channels, self.reports, strict=True)
        J = sum(n * channel.information(self.start) for channel, n in parts)
        return observed_tangent_inverse(np.asarray(J))

    def estimate(self) -> tuple[Array, str]:
        step = self._covariance.core @ self.likelihood.score(self.start)
        return self.start + step, "one Newton step of the likelihood"

    def covariance(self, p: Array | None = None) -> Covariance:
        return self._covariance if p is None else self.at(p)._covariance

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        step, found = self.at(p), []
        for n, channel in zip(self.reports, self.channels, strict=True):
            if self.k * channel.shape[1] > LARGEST_LIST:
                return None
            Q, m = channel.emitted(step.start)
            found.append((n, (step._covariance.core @ (Q / m)).T, m))
        return found

    def law(self) -> PathLaw:
        """How each estimate varies if its frequency is another than in the reference."""
        p, pairs = self.start, zip(self.channels, self.reports, strict=True)
        moments = [ch.score_moments(p, n * self._covariance.core) for ch, n in pairs]
        return PathLaw.around(p, self.reports, moments)

    def tally(self, linear: Uncertain, p: Array | None = None) -> PathLaw:
        return self.law()


def rests_on_scores(mechanisms: Sequence[Mechanism], problems: Sequence[Moments]) -> bool:
    """Whether inference from whole reports is by one step of their likelihood.

    It is for reports of bits or of blocks without cohorts. A label for each category needs no step.
    """
    if any(one.n_cohorts for one in mechanisms) or problems[0].k > LARGEST_INFORMATION:
        return False
    pairs = zip(mechanisms, problems, strict=True)
    return any(one.n_bits or problem.has_blocks for one, problem in pairs)


def effective_counts(problems: Sequence[OneStep], p: Array) -> Array:
    """Mean of the Poisson count that is as skewed as the sum, or difference, of two estimates.

    Of one problem as its estimate; of more than two as the most skewed of all pairs.
    """
    laws = [(problem.nobs, *problem.law().law(p)[:2]) for problem in problems]
    cumulants = [(n, se**2, np.abs(skewness) * se**3) for n, se, skewness in laws]
    pairs = combinations(cumulants, 2) if len(laws) > 1 else [tuple(cumulants)]
    return np.asarray(np.min([_as_skewed(pair) for pair in pairs], axis=0))


def _as_skewed(cumulants: Sequence[tuple[int, Array, Array]]) -> Array:
    nobs, variance, third = (sum(parts) for parts in zip(*cumulants, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(third > 0.0, variance**3 / third**2, np.inf)
    return np.asarray(np.minimum(count, nobs))


# -- What the reports of one variable say of its frequencies, in every form that a model needs ----


LARGEST_PLUG_IN = 256  # categories up to which a likelihood is maximised for the sake of variances


@dataclass(frozen=True, eq=False)
class Evidence:
    """The counts of every mechanism, their equations and their likelihood.

    Parameters
    ----------
    sources : tuple of Counts or BitCounts
        One a mechanism, over the same categories.
    candidates : sequence of str, CandidateMap or None
        As for `FrequencyModel`.
    incomplete : bool
        Whether others than the candidates are known to be held.
    problems : tuple of Moments
        The linear equations of each source.
    """

    sources: tuple[Counts | BitCounts, ...]
    candidates: Any
    incomplete: bool
    problems: tuple[Moments, ...]

    @classmethod
    def of(
        cls, sources: tuple[Counts | BitCounts, ...], candidates: Any, incomplete: bool
    ) -> Evidence:
        """The evidence of counts over the same categories."""
        problems = tuple(c.mechanism.moments(c, candidates) for c in sources)
        return cls(sources, candidates, incomplete, problems)

    @cached_property
    def moments(self) -> Moments:
        """The linear equations that the counts satisfy on average."""
        return self.problems[0] if len(self.problems) == 1 else joined(self.problems)

    @cached_property
    def inference(self) -> Moments:
        """The equations that tests rest on: those that allow for others where there are any."""
        return self.moments.for_inference(self.incomplete)

    @property
    def has_patterns(self) -> bool:
        """Whether whole reports were counted, and not only the sums of their bits."""
        return all(counts.has_patterns for counts in self.sources)

    @cached_property
    def likelihoods(self) -> list[Likelihood]:
        """The exact likelihood of each source."""
        if not self.has_patterns:
            raise NotAvailable(
                "sums of bits do not determine the likelihood of the reports: use "
                "method='inversion', or keep the patterns with reports.tally()"
            )
        return [c.mechanism.likelihood(c, self.candidates) for c in self.sources]

    @cached_property
    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports."""
        return stacked(self.likelihoods)

    @cached_property
    def maximum(self) -> Solution:
        """Where the likelihood is largest."""
        return MLE().solve(self.likelihood)

    def covariance(self, p: Array, fpe16: bool) -> tuple[Covariance | None, str]:
        """Covariance of the maximum likelihood estimate p, and the kind of information behind it.

        In closed form for one mechanism that tells all categories apart alike, as k-RR does.
        """
        maker = self.sources[0].mechanism
        if len(self.sources) == 1 and not maker.n_cohorts:
            channel = maker.channel()
            if isinstance(channel, Uniformised):  # the inverse of its information is known
                form = uniformised_fpe16 if fpe16 else uniformised
                V = form(p, channel.a, channel.b, self.sources[0].nobs)
                return V, "fpe16" if fpe16 else "expected"
        given = self.sources, self.problems, self.likelihoods
        return information_covariance(*given, p, fpe16)

    def loglike(self, p: Array) -> float:
        """Log-likelihood of an estimate; nan where it is no distribution, or unknown."""
        if not (np.all(p >= 0.0) and abs(p.sum() - 1.0) < 1e-9 and self.has_patterns):
            return float("nan")
        return sum(part.prepared().loglike(p) for part in self.likelihoods)

    @cached_property
    def one_step(self) -> OneStep | None:
        """The unconstrained estimate from the likelihood of bits, or of blocks; None without them.

        Sums of bits do not tell the likelihood.
        """
        made_by = [counts.mechanism for counts in self.sources]
        if not (self.has_patterns and rests_on_scores(made_by, self.problems)):
            return None
        likelihood = stacked([part.prepared() for part in self.likelihoods])
        channels = tuple(mechanism.channel() for mechanism in made_by)
        reports = tuple(counts.nobs for counts in self.sources)
        one_step = OneStep(channels, reports, likelihood, self.moments.plug_in())
        try:
            one_step.covariance()
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            return None
        return one_step

    def tables(self) -> list[tuple[Array, Array]]:
        """Channel, (k, l), and counts, (l,), of each source; none where some are no tables."""
        makers = [counts.mechanism for counts in self.sources]
        if any(maker.n_bits or maker.n_cohorts for maker in makers):
            return []
        try:
            return [(c.mechanism.channel().matrix(), c.vector()) for c in self.sources]
        except NotAvailable:  # too large to list
            return []

    @cached_property
    def reference(self) -> Array | None:
        """Frequencies at which the law of the linear estimate is evaluated; None for its plug-in.

        An ill-conditioned channel takes the projected linear estimate far from the reports that
        were seen, and variances with it; the maximum of the likelihood stays with them.
        """
        labels = self.has_patterns and not any(c.mechanism.n_bits for c in self.sources)
        if labels and self.moments.is_dense and self.moments.k <= LARGEST_PLUG_IN:
            return self.maximum.p
        return None

    @property
    def plug_in(self) -> Array:
        """The same frequencies, shape (k,), whichever they are."""
        return self.moments.plug_in() if self.reference is None else self.reference


def stacked(parts: list[Likelihood]) -> Likelihood:
    """The likelihood of independent sources together."""
    if len(parts) == 1:
        return parts[0]
    W = StackedRows(tuple(part.W for part in parts))
    return Likelihood(W, np.concatenate([part.n for part in parts]))


# -- p-values of frequencies of zero, from an estimate and what is known of its law ---------------


def one_sided(linear: Uncertain, laws: Laws) -> Array:
    """p-values, shape (k,), of p = 0 against p > 0; 1 for what was not selected."""
    p, own = _normal(linear, laws, "larger"), np.flatnonzero(laws.counted(linear.estimate.size))
    if laws.exact is not None and own.size:
        p[own] = laws.exact.take(own).apply(tests_.binomial_excess)
    return p


def two_sided(linear: Uncertain, laws: Laws) -> Array:
    """p-values, shape (k,), of p = 0; twice the smaller tail."""
    p, own = _normal(linear, laws, "two-sided"), np.flatnonzero(laws.counted(linear.estimate.size))
    if laws.exact is not None and own.size:
        form = laws.exact.take(own)
        tails = form.apply(tests_.binomial_excess), form.apply(tests_.binomial_deficit)
        p[own] = np.minimum(2.0 * np.minimum(*tails), 1.0)
    return p


def _normal(linear: Uncertain, laws: Laws, alternative: str) -> Array:
    """By the normal law, with the variance and the skewness at p = 0 where they are known."""
    linear.every_bse()
    at, se = linear.places, linear.bse()
    p = np.ones(linear.estimate.size)
    estimate = linear.estimate[at]
    if laws.tally is None:
        p[at] = tests_.z_test(estimate, se[at], 0.0, alternative)[1]
        return p
    se, skewness = laws.tally.absent(estimate.size)
    z = tests_.z_test(estimate, se)[0]
    step = continuity(skewness) if laws.tally.everywhere else 0.0
    larger, smaller = (skewed_pvalue(s * z - step, s * skewness) for s in (1.0, -1.0))
    p[at] = larger
    if alternative == "two-sided":
        p[at] = np.minimum(2.0 * np.minimum(larger, smaller), 1.0)
    return p


# -- The records that results of one variable hold beside the fit itself --------------------------


_COMPLETE = (
    *("mle", "em", "em-fpe16", "cvxpy", "smoothed"),
    *("projected", "normalized", "thresholded", "minimax"),
)
_SUSPECT = 0.01  # p-value of the goodness of fit below which a list is taken to be incomplete


@dataclass(frozen=True, eq=False)
class Specifications(Sequence[dict[str, Any]]):
    """The specifications of mechanisms, written when they are asked for: Q may be large."""

    mechanisms: tuple[Mechanism_mechanisms, ...]

    @cached_property
    def _written(self) -> tuple[dict[str, Any], ...]:
        return tuple(mechanism.to_dict() for mechanism in self.mechanisms)

    def __getitem__(self, index: Any) -> Any:
        return self._written[index]

    def __len__(self) -> int:
        return len(self.mechanisms)


@dataclass(frozen=True, eq=False)
class Laws:
    """What is known of the law of the linear estimate, beside its covariance.

    `exact` are binomial counts of categories; `tally` gives variance and skewness of each frequency
    as it varies, `law` those of contrasts; each is None where it is not known. `linear_method` is
    how the estimate was computed: "inversion" of equations, or "one step" of the likelihood.
    """

    exact: ExactForm | None = None
    tally: Tallies | None = None
    law: ReportLaw | None = None
    linear_method: str = "inversion"

    def counted(self, k: int) -> npt.NDArray[np.bool_]:
        """Categories, shape (k,), whose default interval and tests rest on a binomial count."""
        if self.exact is None or self.linear_method != "inversion":
            return np.zeros(k, dtype=bool)
        return self.exact.known


@dataclass(frozen=True, eq=False)
class Checks:
    """Signs of a poor fit: misfit, answers beyond the list, an ill-conditioned channel.

    `caution` says in words why tests of an incomplete list may not keep their level.
    """

    goodness_of_fit: TestResult | None = None
    unexplained: Unexplained | None = None
    dispersion: float = 1.0
    condition: float = 1.0
    caution: str = ""

    def assume_complete(self, method: str) -> bool:
        """Whether an estimate assumes that there are no answers but the candidates."""
        return self.unexplained is not None and method in _COMPLETE

    def contradict(self, method: str) -> bool:
        """Whether an estimate assumes that, and the reports contradict it.

        They do where the unexplained share exceeds two standard errors, or the goodness of fit is
        below .01.
        """
        share, fit = self.unexplained, self.goodness_of_fit
        if share is None or not self.assume_complete(method):
            return False
        return share.estimate > 2.0 * share.bse or (fit is not None and fit.pvalue < _SUSPECT)
