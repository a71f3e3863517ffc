"""The distribution of one privatised categorical variable."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, distribution, one_of, replicates
from ldpstats.arguments.labels import align
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    MechanismMismatch,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators.base import (
    Estimator,
    LikelihoodEstimator,
    MomentsEstimator,
    SelectingEstimator,
)
from ldpstats.estimators.mle import MLE
from ldpstats.estimators.solvers.structured import prepared
from ldpstats.inference import intervals, pearson
from ldpstats.inference import tests as tests_
from ldpstats.inference.goodness import group_sums, rare_groups
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.covariance import (
    CERTAIN,
    LARGEST_INFORMATION,
    joined_moments,
    mle_covariance,
    unexplained_share,
)
from ldpstats.models.frequency.fit_checks import (
    all_candidates,
    chi_square,
    cohort_fit,
    goodness_of_fit,
    is_impossible,
    rare_categories,
    together,
    too_few_cohorts,
)
from ldpstats.models.frequency.laws import OneStep, effective_counts, path_law, report_law
from ldpstats.models.frequency.misfit import condition_of, misfit, warn_of_doubts
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tallies import joined_exact_form, pooled_tallies
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.estimates import ReportLaw, Tallies, Uncertain, Unexplained
from ldpstats.problems.hashed.moments import LARGEST_DENSE, CohortMoments
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import FixedEntry, StackedRows
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["FrequencyModel", "settings_of", "two_sample_test"]

Array = npt.NDArray[Any]
Data = Reports | Counts | BitCounts
LARGEST_PLUG_IN = 256  # categories up to which a likelihood is maximised for the sake of variances


class FrequencyModel:
    """Frequencies of the categories of one privatised variable.

    Parameters
    ----------
    data : Reports, Counts or BitCounts, or a list of them
        What was collected. A list holds groups of respondents with different mechanisms or
        different epsilon over the same categories; they enter one likelihood. A group without a
        report adds nothing but the respondents who gave no answer.
    candidates : sequence of str or CandidateMap, optional
        Values to look for; for mechanisms with an open alphabet only.
    incomplete : bool
        Whether others than the candidates are known to be held, as where these are the beginning
        of a long list. Standard errors then always allow for the chance collisions of the others;
        if not, only where the reports show that there are others, or could not show it. The linear
        estimate then weighs cohorts by what noise and collisions leave each to say (random-effects
        least squares, `CohortMoments.open_ended`).

    Raises
    ------
    InvalidArgument
        For data that are none of these, that hold no report, an empty list, and incomplete
        candidates where all categories are known.
    MechanismMismatch
        For groups over different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0)
    >>> ldp.FrequencyModel(krr.counts([420, 330, 250])).fit().params.round(3)
    nurse      0.571
    teacher    0.324
    driver     0.105
    Name: params, dtype: float64

    Respondents who were given a choice of epsilon are fitted together:

    >>> careful = ldp.KRR(krr.categories, epsilon=0.5)
    >>> both = ldp.FrequencyModel([krr.counts([420, 330, 250]), careful.counts([390, 330, 280])])
    >>> both.fit().nobs
    2000
    """

    def __init__(
        self, data: Data | Sequence[Data], candidates: Any = None, incomplete: bool = False
    ) -> None:
        groups: list[Any] = list(data) if isinstance(data, list | tuple) else [data]
        if not groups:
            raise InvalidArgument("data", data, "is empty: pass reports or counts")
        for group in groups:
            if not isinstance(group, Reports | Counts | BitCounts):
                raise InvalidArgument(
                    "data",
                    group,
                    "must be Reports, Counts or BitCounts (plain numbers become counts with "
                    "mechanism.counts(n))",
                )
        self.sources: tuple[Counts | BitCounts, ...] = _merged(
            [group.tally() if isinstance(group, Reports) else group for group in groups]
        )
        self.candidates = candidates
        self.incomplete = boolean("incomplete", incomplete)
        first = self.sources[0].mechanism
        self._labels: pd.Index[Any] = first.labels(candidates)
        for counts in self.sources[1:]:
            if not counts.mechanism.labels(candidates).equals(self._labels):
                raise MechanismMismatch(
                    f"{counts.mechanism} and {first} have different categories: groups that are "
                    "fitted together need the same labels in the same order"
                )
        if incomplete and not first.is_open:
            remedy = f"is for candidates over an open alphabet: {first} knows all categories"
            raise InvalidArgument("incomplete", incomplete, remedy)
        self._n_missing = sum(counts.n_missing for counts in self.sources)
        # groups that nobody reported in add nothing; if all are empty, `moments` refuses the first
        self.sources = tuple(c for c in self.sources if c.nobs) or self.sources[:1]
        self._problems = tuple(c.mechanism.moments(c, candidates) for c in self.sources)

    def __repr__(self) -> str:
        return f"FrequencyModel({', '.join(str(c.mechanism) for c in self.sources)}; n={self.nobs})"

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories or candidates, in order."""
        return self._labels

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return sum(counts.nobs for counts in self.sources)

    @property
    def problems(self) -> tuple[Moments, ...]:
        """The linear equations of each mechanism."""
        return self._problems

    def moments(self) -> Moments:
        """The linear equations that the counts satisfy on average."""
        return joined_moments(self._problems)

    @cached_property
    def _inference(self) -> Moments:
        """The equations that tests rest on: those that allow for others where there are any."""
        problem = self.moments()
        if isinstance(problem, CohortMoments):
            return cohort_fit(problem, self.incomplete)[1]
        return problem

    @property
    def dispersion(self) -> float:
        """How much unlisted answers add to variances where every report has the same weight."""
        plain, problem = self.moments(), self._inference
        if isinstance(plain, CohortMoments) and isinstance(problem, CohortMoments):
            return plain.dispersion_by(problem.collisions)
        return 1.0

    def likelihood(self) -> Likelihood:
        """The exact likelihood of the reports.

        Raises
        ------
        NotAvailable
            When only bit sums are known, which do not determine it.
        """
        return _joined(self._likelihoods)

    @cached_property
    def _likelihoods(self) -> list[Likelihood]:
        for counts in self.sources:
            if isinstance(counts, BitCounts):
                raise NotAvailable(
                    "sums of bits do not determine the likelihood of the reports: use "
                    "method='inversion', or keep the patterns with reports.tally()"
                )
        patterns = [counts for counts in self.sources if isinstance(counts, Counts)]
        return [c.mechanism.likelihood(c, self.candidates) for c in patterns]

    def fit(
        self,
        method: str | Estimator[Any] | None = None,
        constraints: Any = None,
        cov_type: str = "default",
    ) -> FrequencyResults:
        """Estimate the frequencies.

        Parameters
        ----------
        method : str or Estimator, optional
            "mle" (exact maximum likelihood on the simplex, the default), "em", "inversion"
            (unbiased; the default over candidates, and where only bit sums are known; reweighted
            where the candidates are not all answers),
            "normalized", "projected", "thresholded", "nnls", "composite", "cvxpy", "lasso" (selects
            among candidates); or an estimator object with its tuning.
        constraints : callable, optional
            ``constraints(p)`` returns convex cvxpy constraints on the variable p, for example
            ``lambda p: [p[0] == 0.3]`` or one of `ldpstats.estimators.constraints`; for "mle".
            A constrained estimate has no standard errors: `bse` is nan and warns, and `cov_params`
            is refused. Intervals and tests rest on the unconstrained estimate as ever.
        cov_type : {"default", "linear", "fpe16"}
            Covariance of `params`: "default" is the Fisher information on the tangent space of
            the simplex for likelihood estimates; "linear" that of the linear estimate; "fpe16"
            the inverse information without the constraint, which overstates.

        Returns
        -------
        FrequencyResults

        Raises
        ------
        InvalidArgument
            For an unknown method or contradictory constraints.
        NotAvailable
            For a likelihood estimator when only bit sums are known.
        NotIdentified
            When the channel does not determine the frequencies.

        Warns
        -----
        ConvergenceWarning
            When the estimator stops before its certificate is reached.
        IncompleteListWarning
            When candidates are not all answers, and there are fewer than 8 cohorts with reports, or
            more candidates than a third of their cells: tests do not keep their level then.
        MisfitWarning
            When goodness of fit has a p-value below .001, other than for answers that are known or
            seen not to be among the candidates; and when no answers could make the reports.
        LDPWarning
            When the condition number of the channel is above 1e8.
        """
        results = self.fit_quietly(method, constraints, cov_type)
        if results.caution:
            warnings.warn(
                f"the list of candidates is not complete, and {results.caution}: tests and "
                "intervals do not keep their level; collect reports in more cohorts or cells, or "
                "list more of the answers",
                IncompleteListWarning,
                stacklevel=2,
            )
        warn_of_doubts(self.misfit(results), results.condition)
        return results

    def misfit(self, results: FrequencyResults) -> str:
        """What `fit` warns of, in words; "" where the reports fit."""
        remedy = "other answers are held: use method='inversion', or list more candidates"
        complete = remedy if results.assumes_complete else ""
        return misfit(results, self._problems, self.incomplete, complete)

    def fit_quietly(
        self,
        method: str | Estimator[Any] | None = None,
        constraints: Any = None,
        cov_type: str = "default",
    ) -> FrequencyResults:
        """`fit` without a word on how well the reports fit, for models that rest on this one."""
        cov_type = one_of("cov_type", cov_type, ("default", "linear", "fpe16"))
        estimator = self._estimator(method, constraints)
        problem, solution = self._evidence(estimator), None
        if isinstance(estimator, MomentsEstimator) and cov_type == "fpe16":
            raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
        if isinstance(estimator, SelectingEstimator):
            solution, problem = estimator.refit(problem)  # inference is about the selected
        if isinstance(problem, CohortMoments):
            fit, problem = cohort_fit(problem, self.incomplete or solution is not None)
        else:
            fit = goodness_of_fit(self.sources, self._problems)
        plug_in = None if isinstance(problem, CohortMoments | OneStep) else self._plug_in
        linear = _linear(problem, solution, len(self.categories), plug_in)
        law, tally = self._laws(problem)
        if isinstance(problem, CohortMoments) and linear.covariance is not None and problem.k:
            tally = problem.own_tally(linear.covariance.variances())
        if solution is not None:
            assert solution.support is not None
            p = np.zeros(len(self.categories))
            p[solution.support] = linear.estimate[solution.support]
            solution = replace(solution, p=p)
            fitted, kind = Uncertain(solution.p, linear.covariance, linear.at), "linear"
        else:
            solution, V, kind = self._solve(estimator, problem, linear, cov_type)
            fitted = Uncertain(solution.p, V)
        unexplained = unexplained_share(problem, linear)
        return FrequencyResults(
            categories=self.categories,
            fitted=fitted,
            linear=linear,
            method=estimator.name,
            cov_type=kind,
            settings=settings_of(estimator),
            nobs=self.nobs,
            n_missing=self._n_missing,
            llf=self._loglike(solution),
            gap=solution.gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            message=solution.message,
            mechanisms=tuple(counts.mechanism.to_dict() for counts in self.sources),
            sources=tuple(str(counts.mechanism) for counts in self.sources),
            epsilon=max(counts.mechanism.epsilon for counts in self.sources),
            exact=joined_exact_form(self._problems),
            goodness_of_fit=fit,
            tally=tally,
            law=law,
            linear_method="one step" if isinstance(problem, OneStep) else "inversion",
            unexplained=unexplained,
            dispersion=problem.dispersion if isinstance(problem, CohortMoments) else 1.0,
            condition=condition_of(self._problems, self.moments()),
            caution=self._caution(problem, unexplained, fit),
        )

    def _evidence(self, estimator: Estimator[Any]) -> Moments:
        """What intervals and tests rest on, beside an estimate by `estimator`."""
        one_step = self._one_step if isinstance(estimator, LikelihoodEstimator) else None
        return self.moments() if one_step is None else one_step

    @cached_property
    def _one_step(self) -> OneStep | None:
        """The unconstrained estimate from the likelihood of bits; None without their patterns."""
        patterns = [counts for counts in self.sources if isinstance(counts, Counts)]
        bits = any(counts.mechanism.n_bits for counts in patterns)
        hashed = any(isinstance(problem, CohortMoments) for problem in self._problems)
        small = len(self.categories) <= LARGEST_INFORMATION
        if not bits or hashed or not small or len(patterns) < len(self.sources):
            return None
        likelihood = _joined([Likelihood(prepared(part.W), part.n) for part in self._likelihoods])
        channels = tuple(counts.mechanism.channel() for counts in patterns)
        reports = tuple(counts.nobs for counts in patterns)
        one_step = OneStep(channels, reports, likelihood, self.moments().plug_in())
        try:
            one_step.covariance()
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            return None
        return one_step

    @cached_property
    def _plug_in(self) -> Array:
        """Frequencies at which the covariance of the linear estimate is evaluated.

        An ill-conditioned channel takes the projected linear estimate far from the reports that
        were seen, and variances with it; the maximum of the likelihood stays with them.
        """
        problem = self.moments()
        dense = isinstance(problem, Equations) and np.ndim(problem.A) == 2
        labels = all(isinstance(c, Counts) and not c.mechanism.n_bits for c in self.sources)
        if dense and labels and problem.k <= LARGEST_PLUG_IN:
            return MLE().solve(self.likelihood()).p
        return problem.plug_in()

    def _laws(self, problem: Moments) -> tuple[ReportLaw | None, Tallies | None]:
        """What is known of the law of the linear estimate, for tests and for intervals."""
        if isinstance(problem, OneStep):
            return None, problem.law()
        tally: Tallies | None = pooled_tallies(self._problems)
        if isinstance(problem, CohortMoments):
            return None, tally
        given = self.sources, self._problems, problem, self._plug_in
        return report_law(*given), path_law(*given) if tally is None else tally

    def _caution(
        self, problem: Moments, unexplained: Unexplained | None, fit: TestResult | None
    ) -> str:
        """Why tests over an incomplete list may not keep their level; empty where they do."""
        if not isinstance(problem, CohortMoments) or unexplained is None:
            return ""
        others = self.incomplete or unexplained.is_positive(CERTAIN)
        others = others or (fit is not None and fit.pvalue < CERTAIN)
        return too_few_cohorts(problem, others)

    def _estimator(self, method: str | Estimator[Any] | None, constraints: Any) -> Estimator[Any]:
        if method is None:
            linear = self.candidates is not None
            linear = linear or any(isinstance(counts, BitCounts) for counts in self.sources)
            method = "inversion" if linear and constraints is None else "mle"
        if isinstance(method, Estimator):
            estimator = method
        else:
            estimator = ESTIMATORS[one_of("method", method, tuple(ESTIMATORS))]()
        if constraints is not None:
            if estimator.name != "mle":
                raise InvalidArgument("constraints", constraints, "goes with method='mle' only")
            estimator = replace(estimator, constraints=constraints)  # type: ignore[type-var]
        return estimator

    def _loglike(self, solution: Solution) -> float:
        """Log-likelihood of an estimate; nan where it is no distribution, or unknown."""
        on_simplex = np.all(solution.p >= 0.0) and abs(solution.p.sum() - 1.0) < 1e-9
        if not on_simplex or any(isinstance(counts, BitCounts) for counts in self.sources):
            return float("nan")
        fast = [Likelihood(prepared(part.W), part.n) for part in self._likelihoods]
        return sum(part.loglike(solution.p) for part in fast)

    def _solve(
        self, estimator: Estimator[Any], problem: Moments, linear: Uncertain, cov_type: str
    ) -> tuple[Solution, Any, str]:
        if isinstance(estimator, MomentsEstimator):
            solution = estimator.solve(problem)
            if linear.covariance is None:
                return solution, None, "none (too large)"
            return solution, estimator.covariance(problem, solution, linear.covariance), "linear"
        likelihoods = self._likelihoods
        solution = estimator.solve(_joined(likelihoods))
        if cov_type == "linear":
            return solution, linear.covariance, "linear"
        if getattr(estimator, "constraints", None) is not None:
            return solution, None, "none (constrained)"
        counts = [c for c in self.sources if isinstance(c, Counts)]
        fpe16 = cov_type == "fpe16"
        V, kind = mle_covariance(counts, self._problems, likelihoods, solution.p, fpe16)
        return solution, V, kind

    # -- tests and intervals that need the counts --------------------------------------------

    def test_distribution(self, p0: Any) -> TestResult:
        """Test that the frequencies are `p0`.

        Pearson's chi-square of the privatised counts against ``n p0 Q`` for k-RR, uRR and binary
        designs; in general a Wald test with the covariance under the null, which is the same there.
        Both have k - 1 degrees of freedom. Categories that are expected in fewer than five reports
        are tested together, which leaves fewer.

        Parameters
        ----------
        p0 : Series or array, shape (k,)
            The distribution to test; a Series is matched by label. Over candidates of an open
            alphabet it may sum to less than one, and every frequency is tested.

        Raises
        ------
        InvalidArgument
            For p0 that is no distribution over the categories.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> print(ldp.FrequencyModel(counts).test_distribution([0.5, 0.3, 0.2]))
        Pearson chi-square of the privatised reports
          H0: the frequencies are p0
          statistic 6.2, df 2, p-value 0.04505
        """
        problem = self._inference
        is_open = isinstance(problem, CohortMoments) and problem.is_open
        p0 = align("p0", p0, self.categories)
        p0 = distribution("p0", p0, len(self.categories), partial=is_open)
        null = "the frequencies are p0"
        if self._one_step is not None:
            problem = self._one_step.at(p0)
        estimate, V = problem.estimate()[0], problem.covariance(p0)
        if is_open:
            every = tests_.wald(np.eye(p0.size), p0, estimate, V)
            how = "Wald on all candidates, covariance under the null"
            return all_candidates(null, every, [problem], how)
        method = "Wald, covariance under the null"
        if isinstance(problem, OneStep):
            group = rare_groups(effective_counts([problem], p0))
        else:
            group = rare_categories([self._problems], p0)
        if is_impossible(self._problems, p0):
            how = "a category was reported that p0 rules out"
            return chi_square(null, (np.inf, group.max()), method, how)
        if (
            isinstance(problem, Equations)
            and problem.kind == "labels"
            and isinstance(problem.A, float)
        ):
            law = group_sums(problem.offset + problem.A * p0, group)
            seen = group_sums(np.rint(problem.t * problem.nobs), group)
            outcome = pearson.pearson_given(seen, law / law.sum())
            method = "Pearson chi-square of the privatised reports"
        else:
            sums, null_p = group_sums(estimate, group), group_sums(p0, group)
            outcome = pearson.given_distribution(sums, V.merged(group), null_p)
        return chi_square(null, outcome, method, together(group))

    def profile_intervals(self, results: FrequencyResults, alpha: float) -> Array:
        """Profile-likelihood intervals, shape (k, 2): see `FrequencyResults.conf_int`."""
        self._made(results)
        if "constrained" in results.settings:
            raise NotAvailable("profile intervals of a constrained fit: use method='bootstrap'")
        likelihood = self.likelihood()
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

    def bootstrap_intervals(
        self,
        results: FrequencyResults,
        alpha: float,
        rng: np.random.Generator | None = None,
        n_boot: int = 999,
        estimator: Estimator[Any] | None = None,
    ) -> Array:
        """Parametric bootstrap percentile intervals, shape (k, 2).

        Surveys are simulated from `params`, or where they are no distribution from the projected
        linear estimate, through each mechanism, and refitted by the same estimator. Results hold
        only its name: an estimator with settings of its own, such as ``MLE(constraints=...)``, is
        passed again.
        """
        if rng is None:
            raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
        n_boot = replicates("n_boot", n_boot, 2)
        self._made(results)
        if results.unexplained is not None and not results.assumes_complete:
            raise NotAvailable(
                f"bootstrap of {results.method!r} over candidates: the law of the answers that are "
                "not among them is not known; use the default intervals"
            )
        p = results.fitted.estimate
        if p.min() < 0.0 or abs(p.sum() - 1.0) > 1e-9:
            p = self.moments().plug_in()
        estimator = ESTIMATORS[results.method]() if estimator is None else estimator
        if (estimator.name, settings_of(estimator)) != (results.method, results.settings):
            raise InvalidArgument(
                "estimator",
                estimator,
                f"the fit used {results.method!r}, {results.settings or 'default settings'}: pass "
                "estimator= as it was, for example MLE(constraints=...)",
            )
        draws = np.empty((n_boot, p.size))
        for b in range(n_boot):
            again = FrequencyModel([self._redraw(c, p, rng) for c in self.sources], self.candidates)
            if isinstance(estimator, LikelihoodEstimator):
                draws[b] = estimator.solve(again.likelihood()).p
            else:
                draws[b] = estimator.solve(again.moments()).p
        return np.asarray(intervals.percentile(draws, alpha))

    def _made(self, results: FrequencyResults) -> None:
        """Refuse results of other data: the same data give the same linear estimate, bit by bit."""
        if results.linear.at is not None:
            raise NotAvailable("intervals after a selection: use the default ones, or refit")
        evidence = self._one_step if results.linear_method == "one step" else self._inference
        if evidence is None or not np.array_equal(evidence.estimate()[0], results.linear.estimate):
            raise InvalidArgument("model", str(self.sources[0].mechanism), "has other data")

    def _redraw(self, counts: Counts | BitCounts, p: Array, rng: np.random.Generator) -> Data:
        mechanism = counts.mechanism
        if isinstance(counts, BitCounts) or not mechanism.n_bits:
            drawn: Data = mechanism.draw(p, counts.nobs, rng, self.candidates)
            return drawn
        codes = np.repeat(np.arange(p.size), rng.multinomial(counts.nobs, p))
        reports: Data = mechanism.privatize(self.categories.take(codes), rng)
        return reports


def _merged(groups: list[Counts | BitCounts]) -> tuple[Counts | BitCounts, ...]:
    """Add up the groups that one mechanism made: their sum says as much, and more exactly."""
    sums: dict[tuple[str, type], Any] = {}
    for group in groups:
        key = (group.mechanism.fingerprint, type(group))
        sums[key] = sums[key] + group if key in sums else group
    return tuple(sums.values())


def _joined(parts: list[Likelihood]) -> Likelihood:
    """The likelihood of independent sources together."""
    if len(parts) == 1:
        return parts[0]
    W = StackedRows(tuple(part.W for part in parts))
    return Likelihood(W, np.concatenate([part.n for part in parts]))


def _linear(
    problem: Moments, selection: Solution | None, k: int, plug_in: Array | None
) -> Uncertain:
    """The linear estimate that inference rests on; of the selected candidates, where some were."""
    at = None if selection is None else selection.support
    if at is not None and not at.size:
        return Uncertain(np.full(k, np.nan), Covariance.dense(np.empty((0, 0))), at)
    estimate = problem.estimate()[0]
    covariance = None
    if not isinstance(problem, CohortMoments) or problem.k <= LARGEST_DENSE:
        covariance = problem.covariance(plug_in)
    if at is None:
        return Uncertain(estimate, covariance)
    full = np.full(k, np.nan)
    full[at] = estimate
    return Uncertain(full, covariance, at)


def _comparable(models: Sequence[FrequencyModel], alike: bool) -> list[Moments]:
    """The equations of two groups, for the difference of their estimates.

    Over an open alphabet answers that are not listed cancel, hash by hash, if both groups have the
    same mechanism and weights: those of the difference of two cells. Else both allow for them.
    """
    first, second = problems = [model.moments() for model in models]
    if not (isinstance(first, CohortMoments) and isinstance(second, CohortMoments)):
        return problems
    if alike and first.is_open:
        weights = [problem.sources[0].cohort_weights for problem in (first, second)]
        total = np.sum(weights, axis=0)
        both = np.divide(weights[0] * weights[1], total, out=np.zeros_like(total), where=total > 0)
        pair = [problem.weighted((both,)) for problem in (first, second)]
        try:
            pair[0].require_identified()
        except NotIdentified:  # they share too few cohorts
            return [model._inference for model in models]
        return list(pair)
    return [model._inference for model in models]


def settings_of(estimator: Estimator[Any]) -> str:
    """What of an estimator its name does not say."""
    if getattr(estimator, "constraints", None) is not None:
        return "constrained"
    return "" if estimator == type(estimator)() else "tuned"


def _require_reports(name: str, data: object) -> None:
    """Refuse data that hold no report; what is no data at all is left to `FrequencyModel`."""
    groups = data if isinstance(data, list | tuple) else [data]
    sizes = [len(g) if isinstance(g, Reports) else getattr(g, "nobs", 1) for g in groups]
    if sizes and not any(sizes):
        raise InvalidArgument(name, 0, "holds no report: there is nothing to compare")


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
        For a group of nobody, and an unknown method.
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
    null = "both groups have the same distribution"
    _require_reports("first", first)
    _require_reports("second", second)
    models = FrequencyModel(first, candidates), FrequencyModel(second, candidates)
    both = FrequencyModel([*models[0].sources, *models[1].sources], candidates)  # refuses unlike
    a, b = (model.sources[0] for model in models)
    single = all(len(model.sources) == 1 for model in models)
    same = single and a.mechanism == b.mechanism and not a.mechanism.n_bits
    same = same and not a.mechanism.n_cohorts  # where cohorts differ in size by chance
    if method == "pearson" and not same:
        raise NotAvailable(
            "Pearson's test needs reports of one mechanism that are labels: use method='wald'"
        )
    if same and method != "wald":
        assert isinstance(a, Counts) and isinstance(b, Counts)
        seen = np.array([a.vector(), b.vector()])
        group = rare_groups(seen.sum(axis=0) * min(a.nobs, b.nobs) / (a.nobs + b.nobs))
        table = pearson.two_sample_pearson(*(group_sums(row, group) for row in seen))
        how = "Pearson chi-square of the privatised reports"
        return chi_square(null, table, how, together(group))
    pooled = both._plug_in
    steps = [model._one_step.at(pooled) for model in models if model._one_step is not None]
    problems = _comparable(models, single and a.mechanism == b.mechanism)
    if len(steps) == len(models):
        problems = list(steps)
    estimates = [problem.estimate()[0] for problem in problems]
    V = [problem.covariance(pooled) for problem in problems]
    is_open = [isinstance(problem, CohortMoments) and problem.is_open for problem in problems]
    if any(is_open):
        R = np.eye(problems[0].k)  # the candidates need not sum to one
        every = tests_.wald(R, np.zeros(len(R)), estimates[0] - estimates[1], V[0] + V[1])
        how = "Wald on all candidates, covariance pooled under the null"
        return all_candidates(null, every, problems, how)
    if len(steps) == len(models):
        group = rare_groups(effective_counts(steps, pooled))
    else:
        group = rare_categories([model._problems for model in models], pooled)
    first_sums, second_sums = (group_sums(estimate, group) for estimate in estimates)
    V = [v.merged(group) for v in V]
    outcome = pearson.two_sample_wald(first_sums, second_sums, *V)
    return chi_square(null, outcome, "Wald, covariance pooled under the null", together(group))
