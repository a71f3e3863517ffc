"""The distribution of one privatised categorical variable.

The model sums what it is given to counts of each mechanism, and fits them with the estimator that
is asked for. Then the data, the estimators by name, groups that are compared, and the intervals
that fit the model again and again: profile likelihood and parametric bootstrap.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import chain, compress, filterfalse
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, distribution, one_of, replicates
from ldpstats.errors import InvalidArgument, MisfitWarning, NotAvailable, NotIdentified
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators.base import (
    Estimator,
    LikelihoodEstimator,
    MomentsEstimator,
    SelectingEstimator,
)
from ldpstats.estimators.likelihood import MLE, model_of_refits, refitted
from ldpstats.estimators.solvers import observed
from ldpstats.hints import Model
from ldpstats.inference import intervals
from ldpstats.inference.intervals import fewest_draws
from ldpstats.inference.tests import TestResult
from ldpstats.labels import align
from ldpstats.likelihood.covariance import Covariance, Uncertain
from ldpstats.likelihood.joint import joined
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.rows import FixedEntry, Likelihood, Solution
from ldpstats.mechanisms.base import common_labels, protect_some, told_apart
from ldpstats.models.frequency.intervals import (
    OneStep,
    Specifications,
    information_covariance,
    rests_on_scores,
    stacked,
)
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tests import (
    goodness_of_fit,
    misfit,
    one_sample_test,
    warn_of_caution,
    warn_of_doubts,
)
from ldpstats.models.layout import CONSTRAINED, in_turn
from ldpstats.models.parameters import DeviceGroups, fit_parameters
from ldpstats.models.plots import fitting, maybe_bar
from ldpstats.models.posterior.draws import checked_prior, frequency_posterior
from ldpstats.models.posterior.results import Origin, PosteriorResults
from ldpstats.priors import SimplexPrior
from ldpstats.reports.single import BitCounts, Counts, Reports, not_reports

_LARGEST_PLUG_IN = 256  # categories up to which a likelihood is maximised for variances
_MLE = MLE()
_CERTAIN = 0.001  # p-value below which others than the candidates are held


class FrequencyModel(Model):
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
        Whether other answers than the candidates are known to exist, as when the candidates are
        the beginning of a long list. Standard errors then always allow for chance collisions with
        them; otherwise only if the reports show other answers, or could not show them. The linear
        estimate then weights cohorts by the inverse variance of noise and collisions
        (random-effects least squares, `CohortMoments.open_ended`).
    name : str, optional
        Name of the variable, by which results are called; that of the reports by default.

    Raises
    ------
    InvalidArgument
        If `data` is of another type, is empty or holds no report, or if `incomplete` is set
        although the mechanism knows all categories.
    MechanismMismatch
        For groups over different categories.
    NotIdentified
        If only groups without reports have a device that depends on an unknown parameter.

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
        self,
        data: Data | Sequence[Data],
        candidates: Any = None,
        incomplete: bool = False,
        name: str | None = None,
    ) -> None:
        given: list[Any] = list(data) if isinstance(data, list | tuple) else [data]
        groups, cohorts = _tallies(data, given)
        if name is None:
            names = {group.name if isinstance(group, Reports) else "" for group in given}
            name = names.pop() if len(names) == 1 else ""
        if not isinstance(name, str):
            raise InvalidArgument("name", name, "must be text: the name of the variable")
        self.name = name
        self.candidates = candidates
        self.incomplete = boolean("incomplete", incomplete)
        first = groups[0].mechanism
        mechanisms = list(map(attrgetter("mechanism"), groups))
        self._labels = common_labels(mechanisms, candidates, "groups that are fitted together")
        if incomplete and not first.is_open:
            remedy = f"is for candidates over an open alphabet: {first} knows all categories"
            raise InvalidArgument("incomplete", incomplete, remedy)
        self._n_missing = sum(map(attrgetter("n_missing"), groups))
        # groups that nobody reported in add nothing; if all are empty, `moments` refuses the first
        kept = list(map(attrgetter("nobs"), groups))
        kept = kept if any(kept) else [1, *kept[1:]]
        self.sources = tuple(compress(groups, kept))
        self.cohorts = tuple(compress(cohorts, kept))
        # whether whole reports were counted, and not only the sums of their bits
        self._has_patterns = all(map(attrgetter("has_patterns"), self.sources))
        self._mechanisms = tuple(map(attrgetter("mechanism"), self.sources))
        self.unknown = tuple(_unknown(self.sources))
        lost = [*filterfalse(self.unknown.__contains__, _unknown(groups))]
        if lost and self.nobs:
            raise NotIdentified(
                f"nobody reported with a device that depends on the unknown {in_turn(lost)}: leave "
                "its empty group out"
            )
        self._worded: tuple[str, ...] = ()  # each mechanism, after its cohort if there is one
        for cohort, q in zip(self.cohorts, told_apart(self._mechanisms), strict=True):
            self._worded += (f"{cohort}: {q}" if cohort else q,)
        if not self.unknown:
            self.problems  # noqa: B018 - candidates and counts are refused here

    def __repr__(self) -> str:
        return f"FrequencyModel({', '.join(self._worded)}; n={self.nobs})"

    @cached_property
    def _groups(self) -> DeviceGroups:
        """The groups whose devices have unknown parameters."""
        return DeviceGroups(self.sources, self.cohorts if any(self.cohorts) else ())

    categories = property(
        attrgetter("_labels"), doc="Labels of the categories or candidates, in order."
    )

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return sum(map(attrgetter("nobs"), self.sources))

    # -- what the reports say of the frequencies -----------------------------------------------

    @cached_property
    def problems(self) -> tuple[Moments, ...]:
        """The linear equations of each mechanism.

        Raises
        ------
        NotAvailable
            For devices with unknown parameters, whose frequencies have no likelihood alone.
        """
        if self.unknown:
            raise NotAvailable(
                f"the devices depend on the unknown {in_turn(self.unknown)}, which only "
                "FrequencyModel(groups).fit() and fit_posterior() estimate; for known values "
                "collect or count with mechanism.at(...)"
            )
        return tuple([c.mechanism.moments(c, self.candidates) for c in self.sources])

    def moments(self) -> Moments:
        """The linear equations that the counts satisfy on average."""
        return self._moments

    @cached_property
    def _moments(self) -> Moments:
        return self.problems[0] if len(self.problems) == 1 else joined(self.problems)

    @cached_property
    def _inference(self) -> Moments:
        """The equations that tests rest on: those that allow for others where there are any."""
        moments = self._moments
        return moments.for_inference(self.incomplete) if moments.is_open else moments

    @property
    def dispersion(self) -> float:
        """How much unlisted answers add to variances where every report has the same weight."""
        return self._moments.dispersion(self._inference.collisions)

    @cached_property
    def _likelihoods(self) -> list[Likelihood]:
        """The exact likelihood of each source."""
        if self.problems and not self._has_patterns:
            raise NotAvailable(
                "sums of bits do not determine the likelihood of the reports: use "
                "method='inversion', or keep the patterns with reports.tally()"
            )
        return [c.mechanism.likelihood(c, self.candidates) for c in self.sources]

    def likelihood(self) -> Likelihood:
        """The exact likelihood of the reports.

        Raises
        ------
        NotAvailable
            When only bit sums are known, which do not determine it.
        """
        return stacked(self._likelihoods)

    @cached_property
    def _maximum(self) -> Solution:
        """Where the likelihood is largest."""
        return _MLE.solve(self.likelihood())

    @cached_property
    def _one_step(self) -> OneStep | None:
        """The unconstrained estimate from the likelihood of bits, or of blocks; None without them.

        Sums of bits do not tell the likelihood.
        """
        if not (rests_on_scores(self._mechanisms, self.problems) and self._has_patterns):
            return None
        likelihood = stacked([part.prepared() for part in self._likelihoods])
        channels = tuple(mechanism.channel() for mechanism in self._mechanisms)
        reports = tuple(counts.nobs for counts in self.sources)
        one_step = OneStep(channels, reports, likelihood, self._moments.plug_in)
        try:
            one_step.covariance()
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            return None
        return one_step

    @cached_property
    def _reference(self) -> Array | None:
        """Frequencies at which the law of the linear estimate is evaluated; None for its plug-in.

        An ill-conditioned channel takes the projected linear estimate far from the reports that
        were seen, and variances with it; the maximum of the likelihood stays with them.
        """
        if not self._moments.is_dense or self._moments.k > _LARGEST_PLUG_IN:
            return None
        labels = self._has_patterns and not any(map(attrgetter("n_bits"), self._mechanisms))
        return self._maximum.p if labels else None

    def _tables(self) -> list[tuple[Array, Array]]:
        """Channel, (k, l), and counts, (l,), of each source; none where some are no tables."""
        if any(maker.n_bits or maker.n_cohorts for maker in self._mechanisms):
            return []
        try:
            return [(c.mechanism.channel().matrix(), c.vector()) for c in self.sources]
        except NotAvailable:  # too large to list
            return []

    # -- estimates -----------------------------------------------------------------------------

    def fit(
        self,
        method: str | Estimator[Any] | None = None,
        constraints: Any = None,
        cov_type: str = "default",
        progress: bool = False,
    ) -> FrequencyResults | Any:
        """Estimate the frequencies, and the parameters of devices that are unknown.

        Parameters
        ----------
        method : str or Estimator, optional
            "mle" (exact maximum likelihood on the simplex, the default), "em", "inversion"
            (unbiased; the default over candidates, and where only bit sums are known; reweighted
            where the candidates are not all answers),
            "normalized", "projected", "thresholded", "nnls", "composite", "cvxpy", "lasso" (selects
            among candidates), "smoothed" (ordered categories, penalised for roughness), and as the
            papers print them "em-fpe16", "unweighted" (hashed reports) and "minimax"; or an
            estimator object with its tuning.
        constraints : callable, optional
            ``constraints(p)`` returns convex cvxpy constraints on the variable p, for example
            ``lambda p: [p[0] == 0.3]`` or one of `ldpstats.estimators.constraints`; for "mle".
            A constrained estimate has no standard errors: `bse` is nan and warns, and `cov_params`
            is refused. Intervals and tests rest on the unconstrained estimate as ever.
        cov_type : {"default", "linear", "fpe16"}
            Covariance of `params`: "default" is the Fisher information on the tangent space of
            the simplex for likelihood estimates; "linear" that of the linear estimate; "fpe16"
            the inverse information without the constraint, which overstates.
        progress : bool
            Whether a bar on standard error shows how far the gap of a likelihood has fallen.

        Returns
        -------
        FrequencyResults
            For devices with unknown parameters `ParametersResults`, by maximum likelihood.

        Raises
        ------
        InvalidArgument
            For an unknown method or contradictory constraints.
        NotAvailable
            For a likelihood estimator when only bit sums are known.
        NotIdentified
            When the channel does not determine the frequencies, or the groups together do not
            determine the unknown parameters.

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
        if self.unknown:
            boolean("progress", progress)
            whole = self._groups, self.name, self._n_missing
            return fit_parameters(*whole, method, constraints, cov_type)
        with fitting() if boolean("progress", progress) else nullcontext():
            results = self.fit_quietly(method, constraints, cov_type)
        warn_of_caution(results.caution)
        warn_of_doubts(self.misfit(results), results.condition)
        return results

    def misfit(self, results: FrequencyResults) -> str:
        """What `fit` warns of, in words; "" where the reports fit."""
        remedy = "other answers are held: use fit('inversion'), or list more candidates"
        complete = remedy if results.assumes_complete else ""
        return misfit(results, self.problems, self.incomplete, complete)

    def fit_quietly(
        self,
        method: str | Estimator[Any] | None = None,
        constraints: Any = None,
        cov_type: str = "default",
    ) -> FrequencyResults:
        """`fit` without warnings, for models that rest on this one."""
        cov_type = one_of("cov_type", cov_type, ("default", "linear", "fpe16"))
        if method is None:
            by_moments = self.candidates is not None or not self._has_patterns
            method = "inversion" if by_moments and constraints is None else "mle"
        if isinstance(method, Estimator):  # the user passes a name or an object
            estimator = method
        else:
            estimator = ESTIMATORS[one_of("method", method, tuple(ESTIMATORS))]()
        if constraints is not None:
            if estimator.name != "mle":
                raise InvalidArgument("constraints", constraints, "goes with method='mle' only")
            estimator = replace(estimator, constraints=constraints)  # type: ignore[type-var]
        # the kind of estimator says which of the two problems it solves
        if isinstance(estimator, MomentsEstimator) and cov_type == "fpe16":
            raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
        listed, problem, linear, solution, fitted, kind = self._estimated(estimator, cov_type)
        mechanisms, p = self._mechanisms, solution.p
        likeliest = p if estimator == _MLE and len(mechanisms) == 1 else None
        fit = goodness_of_fit(self.sources, listed.parts, likeliest)
        llf = np.nan  # of what is no distribution
        if np.all(p >= 0.0) and abs(p.sum() - 1.0) < 1e-9 and self._has_patterns:
            llf = 0.0
            for part in self._likelihoods:
                llf += part.prepared().loglike(p)
        unexplained, dispersion, caution = None, 1.0, ""
        if problem.is_open:
            unexplained, dispersion = problem.unexplained(linear), problem.dispersion()
        if unexplained is not None:
            # whether others than the candidates are known, or seen, to be held
            caution = problem.caution(
                self.incomplete
                or (fit is not None and fit.pvalue < _CERTAIN)
                or unexplained.is_positive(_CERTAIN)
            )
        return FrequencyResults(
            self._labels,
            Specifications(mechanisms),
            exact=self._moments.exact_form(),
            tally=problem.tally(linear, self._reference),
            law=problem.report_law(self._reference),
            linear_method=problem.linear_method,
            fitted=fitted,
            linear=linear,
            method=estimator.name,
            settings=settings_of(estimator),
            cov_type=kind,
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(map(attrgetter("epsilon"), mechanisms)),
            sources=self._worded,
            is_partial=protect_some(mechanisms),
            llf=llf,
            **solution.ended,
            name=self.name,
            source_nobs=tuple(map(attrgetter("nobs"), self.sources)),
            goodness_of_fit=fit,
            unexplained=unexplained,
            dispersion=dispersion,
            condition=self._moments.condition,
            caution=caution,
        )

    def _estimated(
        self, estimator: Estimator[Any], cov_type: str
    ) -> tuple[Moments, Moments, Uncertain, Solution, Uncertain, str]:
        """Both estimates, with their covariances.

        The equations of the candidates that are kept, those that inference rests on, the linear
        estimate from these, what the estimator found, its estimate, and the kind of its covariance.
        """
        listed, selection, at = self._moments, None, None
        likely = isinstance(estimator, LikelihoodEstimator)
        if isinstance(estimator, SelectingEstimator):  # inference is about the selected
            selection, listed = estimator.refit(listed)
            problem, at = listed.for_inference(incomplete=True), selection.support
        elif likely and self._one_step is not None:
            problem = self._one_step
        else:
            problem = self._inference
        V: Covariance | None = None
        estimate, variances = np.full(self._moments.k, np.nan), None
        if at is not None and not at.size:
            V = Covariance.dense(np.empty((0, 0)))
        else:
            estimate[slice(None) if at is None else at] = problem.estimate()[0]
            if problem.has_errors and problem.has_covariance:
                V = problem.covariance(self._reference)
            elif problem.has_errors:
                variances = problem.estimate_variances(self._reference)
        linear = Uncertain(estimate, V, at, variances=variances)
        if selection is not None:
            p = np.where(np.isnan(linear.estimate), 0.0, linear.estimate)
            fitted, kind = Uncertain(p, linear.covariance, linear.at), "linear"
            return listed, problem, linear, replace(selection, p=p), fitted, kind
        if isinstance(estimator, MomentsEstimator):
            solution, kind = estimator.solve(problem), "linear"
            same = np.array_equal(solution.p, linear.estimate) and linear.has_errors
            if linear.covariance is not None and not (same and estimator.name == "inversion"):
                V = estimator.covariance(problem, solution, linear.covariance)
                fitted = Uncertain(solution.p, V)
            elif same:
                fitted = linear
            else:
                fitted, kind = Uncertain(solution.p, None), "none (too large)"
            return listed, problem, linear, solution, fitted, kind
        solution = self._maximum if estimator == _MLE else estimator.solve(self.likelihood())
        if cov_type == "linear":
            V, kind = linear.covariance, "linear"
        elif estimator.without_errors:
            V, kind = None, estimator.without_errors
        else:
            V, kind = information_covariance(
                self.sources, self.problems, self._likelihoods, solution.p, cov_type == "fpe16"
            )
        return listed, problem, linear, solution, Uncertain(solution.p, V), kind

    def fit_posterior(
        self,
        rng: np.random.Generator,
        prior: SimplexPrior | Mapping[str, Any] | None = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> PosteriorResults:
        """The posterior of the frequencies, and of unknown parameters of devices, by draws.

        Parameters
        ----------
        rng : numpy Generator
            The same seed gives the same draws.
        prior : Dirichlet, LogisticNormal or None
            See `ldpstats.priors`. None is the flat one, ``Dirichlet(1.0)``. For devices with
            unknown parameters also a dict with a `Beta` by name of the parameter, and that of the
            frequencies as "frequencies"; the others are flat.
        draws : int
            Over all 16 chains, at least 160; rounded up to a multiple of 16.
        engine : {"hmc", "pymc"}
            The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).

        Raises
        ------
        NotAvailable
            For sums of bits, which do not determine a likelihood, and an incomplete list of
            candidates, which the likelihood takes for complete.
        NotIdentified
            When the groups together leave an unknown parameter open that has no prior in `prior`.
        InvalidArgument
            For an argument that is out of range, and a prior of other categories.

        Warns
        -----
        PosteriorWarning
            Where R-hat exceeds 1.01, an effective size is below 400, or a trajectory diverged.
        MisfitWarning
            Where reports over an open alphabet contradict, at .001, that the candidates are all
            answers.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> posterior = ldp.FrequencyModel(counts).fit_posterior(np.random.default_rng(1))
        >>> posterior.params.round(2)
        a    0.57
        b    0.32
        c    0.11
        Name: params, dtype: float64
        """
        if self.unknown:
            return self._groups.fit_posterior(rng, prior, draws, engine, self._origin())
        if not self._has_patterns:
            raise NotAvailable(
                "posterior of sums of bits: they do not determine the likelihood of the reports; "
                "keep the patterns with reports.tally()"
            )
        if self.incomplete:
            raise NotAvailable(
                "posterior of an incomplete list: its likelihood takes the candidates for all "
                "answers; list more of them, or use fit('inversion')"
            )
        if any(mechanism.is_open for mechanism in self._mechanisms):
            if doubt := self.misfit(self.fit_quietly("mle")):
                warnings.warn(doubt, MisfitWarning, stacklevel=2)
        return frequency_posterior(
            self.likelihood(),
            self.categories,
            self._origin(),
            rng,
            prior,
            checked_prior(prior).law(self.categories),
            draws,
            engine,
            self._tables(),
            PosteriorResults,
        )

    def _origin(self) -> Origin:
        """What draws from the posterior are about, but for the prior."""
        return Origin(
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(mechanism.epsilon for mechanism in self._mechanisms),
            sources=self._worded,
            name=self.name,
            is_partial=protect_some(self._mechanisms),
        )

    # -- tests and intervals that need the counts --------------------------------------------

    def test_distribution(self, p0: Any) -> TestResult:
        """Test that the frequencies are `p0`.

        Pearson's chi-square of the privatised counts against ``n p0 Q`` for k-RR, uRR and binary
        designs; in general a Wald test with the covariance under the null, which is the same there.
        Both have k - 1 degrees of freedom. Categories that are expected in fewer than five reports
        are tested together, which leaves fewer. The p-value of a Wald test comes from the moments
        that its statistic has under `p0`, where the possible reports can be listed. Reports of
        several cohorts that each give every category a label of its own are those of k-RR.

        Parameters
        ----------
        p0 : Series or array, shape (k,)
            The distribution to test; a Series is matched by label. Over candidates of an open
            alphabet it may sum to less than one, and every frequency is tested.

        Raises
        ------
        InvalidArgument
            If `p0` is not a distribution over the categories.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> print(ldp.FrequencyModel(counts).test_distribution([0.5, 0.3, 0.2]))
        Pearson chi-square of the privatised reports
          H0: the frequencies are p0
          statistic 6.2, df 2, p-value 0.04505
        """
        p0 = align("p0", p0, self.categories)
        p0 = distribution("p0", p0, len(self.categories), partial=self._inference.is_open)
        return one_sample_test(self.problems, self._inference, self._one_step, p0)

    def profile_intervals(
        self, results: FrequencyResults, alpha: float, progress: bool = False
    ) -> Array:
        """Profile-likelihood intervals, shape (k, 2): see `FrequencyResults.conf_int`."""
        progress = boolean("progress", progress)
        self._refuse_others(results)
        if "constrained" in results.settings:
            raise NotAvailable("profile intervals of a constrained fit: use method='bootstrap'")
        likelihood, se = self.likelihood(), results.linear.bse()
        W, n = observed(likelihood)
        seen = Likelihood(W.prepared(), n)
        best = self._maximum.p
        maximum, ends = seen.loglike(best), np.empty((likelihood.k, 2))
        with maybe_bar("profiles", progress) as advance:
            for i in range(likelihood.k):
                path = _Path(seen, i, best)
                at = path.loglike, float(best[i]), maximum, alpha
                ends[i] = intervals.profile(*at, path.slope, float(se[i]))
                advance((i + 1) / likelihood.k)
        return ends

    def bootstrap_intervals(
        self,
        results: FrequencyResults,
        alpha: float,
        rng: np.random.Generator | None = None,
        n_boot: int = 999,
        estimator: Estimator[Any] | None = None,
        progress: bool = False,
    ) -> Array:
        """Parametric bootstrap percentile intervals, shape (k, 2).

        Surveys are simulated from `params`, or where they are no distribution from the projected
        linear estimate, through each mechanism, and refitted by the same estimator (maximum
        likelihood to within 1e-3 standard errors). Results hold only its name: an estimator with
        settings of its own, such as ``MLE(constraints=...)``, is passed again.
        """
        if rng is None:
            raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
        n_boot = replicates("n_boot", n_boot, fewest_draws(alpha))
        progress = boolean("progress", progress)
        self._refuse_others(results)
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
            p = self._moments.plug_in
        draws, listed = np.empty((n_boot, p.size)), self.candidates
        usual, start, model = estimator == _MLE, None, None
        if usual:
            W, n = observed(self.likelihood())
            if W.closed_form(n) is None and W.reduced(n) is None:
                start, model = p, model_of_refits(W, n, p)
        surveys = [_surveys(c, listed, p, rng, n_boot) for c in self.sources]
        with maybe_bar("bootstrap", progress) as advance:
            for b, sources in enumerate(zip(*surveys, strict=True)):
                if not isinstance(estimator, LikelihoodEstimator):
                    equations = joined([c.mechanism.moments(c, listed) for c in sources])
                    found = estimator.solve(equations)
                else:
                    seen = stacked([c.mechanism.likelihood(c, listed) for c in sources])
                    found = (
                        estimator.solve(seen)
                        if not usual
                        else refitted(*observed(seen), start, model)
                    )
                draws[b] = found.p
                advance((b + 1) / n_boot)
        return intervals.percentile(draws, alpha)

    def _refuse_others(self, results: FrequencyResults) -> None:
        """Refuse results of other data: the same data give the same linear estimate, bit by bit."""
        if results.linear.at is not None:
            raise NotAvailable("intervals after a selection: use the default ones, or refit")
        one_step = results.linear_method == "one step"
        problem = self._one_step if one_step else self._inference
        if problem is None or not np.array_equal(problem.estimate()[0], results.linear.estimate):
            raise InvalidArgument("model", str(self.sources[0].mechanism), "has other data")


# -- What a caller passes as the data of one variable, and what it is called ----------------------


Data = Reports | Counts | BitCounts
Tally = Counts | BitCounts


def _tallies(data: Any, groups: list[Any]) -> tuple[tuple[Tally, ...], tuple[str, ...]]:
    """The counts of each mechanism, summed over its groups; and the cohort that each is of, or "".

    The cohorts of a device are groups with a device of their own. A cohort is drawn without regard
    to the answer: how many respondents it has says nothing of frequencies and parameters, whatever
    the shares that it was drawn with, and everything is estimated given these numbers.
    """
    if not groups:
        raise InvalidArgument("data", data, "is empty: pass reports or counts")
    counts: list[Tally] = []
    for group in groups:
        if not isinstance(group, Reports | Counts | BitCounts):
            remedy = "must be Reports, Counts or BitCounts"
            remedy += " (plain numbers become counts with mechanism.counts(n)"
            more = "; a dict of groups is for GroupedModel(groups).fit())"
            remedy += more if isinstance(group, Mapping) else ")"
            raise not_reports("data", group, remedy)
        counts.append(group.tally() if isinstance(group, Reports) else group)
    cohorts = list(chain.from_iterable(map(_by_cohort, counts)))
    known = _unknown(map(itemgetter(1), cohorts))
    lost = [*filterfalse(known.__contains__, _unknown(counts))]
    if lost:
        there = {name for name, _ in cohorts}
        every = {name: 0 for one in counts for name in one.mechanism.cohort_names}
        raise NotIdentified(
            f"the unknown {in_turn(lost)} cannot be estimated: there is no report of the "
            f"cohort {in_turn([name for name in every if name not in there])}"
        )
    if len(cohorts) == 1:  # a fingerprint takes long where Q is large
        return (cohorts[0][1],), (cohorts[0][0],)
    sums: dict[tuple[str, bool, str], Any] = {}
    for name, one in cohorts:
        key = one.mechanism.fingerprint, one.has_patterns, name
        sums[key] = sums[key] + one if key in sums else one
    return tuple(sums.values()), tuple(name for *_, name in sums)


def _unknown(counts: Iterable[Tally]) -> dict[str, None]:
    """The unknown parameters of the devices, each once."""
    return dict.fromkeys(chain.from_iterable(map(attrgetter("mechanism.unknown"), counts)))


def _by_cohort(counts: Tally) -> list[tuple[str, Tally]]:
    """The cohorts of these counts that have reports, by name; "" where there are none."""
    parts = counts.mechanism.cohort_parts
    if not (parts and isinstance(counts, Counts) and counts.nobs):
        return [("", counts)]
    n = counts.vector()
    own = [np.where(part.places >= 0, n[part.places], 0) for part in parts]
    if sum(int(one.sum()) for one in own) < counts.nobs:  # some are impossible: refused elsewhere
        return [("", counts)]
    found: list[tuple[str, Tally]] = []
    for part, one in zip(parts, own, strict=True):
        if one.any():
            lost = 0 if found else counts.n_missing
            within = _by_cohort(replace(part.mechanism.counts(one), n_missing=lost))
            found += [(f"{part.name}:{name}" if name else part.name, c) for name, c in within]
    return found


def settings_of(estimator: Estimator[Any]) -> str:
    """The settings of an estimator that its name leaves out."""
    if estimator.constraints is not None:
        return CONSTRAINED
    return "" if estimator == type(estimator)() else "tuned"


# -- Groups of respondents that are compared: who reported, and whether they are different persons -


def _parts(data: object) -> list[Any]:
    return list(data) if isinstance(data, list | tuple) else [data]


def reports_in(data: object) -> int | None:
    """Number of reports in the data of a group; None for what is no data."""
    parts = _parts(data)
    if not parts or not all(isinstance(part, Reports | Counts | BitCounts) for part in parts):
        return None
    return sum(len(part) if isinstance(part, Reports) else part.nobs for part in parts)


def missing_in(data: object) -> int:
    """Respondents of a group who gave no answer."""
    return sum(part.n_missing for part in _parts(data))


def refuse_shared_persons(groups: Mapping[str, object]) -> None:
    """Refuse groups, by the argument's name, in which an identifier appears twice."""
    owner: dict[Any, str] = {}
    named: list[tuple[str, Any]] = []
    for name, data in groups.items():
        ids = [one.ids for one in _parts(data) if isinstance(one, Reports) and one.ids is not None]
        if ids:
            named.append((name, pd.unique(np.concatenate(ids))))
    if len(named) < 2 or pd.Index(np.concatenate([ids for _, ids in named])).is_unique:
        return
    for name, ids in named:
        for person in ids:
            if (first := owner.setdefault(person, name)) != name:
                remedy = f"is in {first} too: groups must be of different persons; compare answers "
                remedy += "of the same persons by AssociationModel with ids=, or survey.change"
                raise InvalidArgument(f"{name}.ids", person, remedy)


# -- Intervals that fit the model again and again: profile likelihood and parametric bootstrap ----


_TOGETHER = 1 << 23  # bits of reports that are drawn at a time, at least (1 MB)


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
