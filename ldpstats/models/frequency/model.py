"""The distribution of one privatised categorical variable."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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
    MisfitWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.base import Estimator
from ldpstats.estimators.mle import MLE
from ldpstats.inference.intervals import fewest_draws
from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms.observed import protect_some
from ldpstats.models.frequency.data import Data, tallied, variable_name
from ldpstats.models.frequency.estimates import Estimated, estimated
from ldpstats.models.frequency.estimator import estimator_of, settings_of
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.models.frequency.fit_checks import goodness_of_fit
from ldpstats.models.frequency.misfit import misfit, warn_of_doubts
from ldpstats.models.frequency.one_sample import one_sample_test
from ldpstats.models.frequency.record import Checks, Laws, Specifications
from ldpstats.models.frequency.refits import bootstrap_intervals, check_made, profile_intervals
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.parameters.model import ParametersModel
from ldpstats.models.posterior.frequency import checked_prior, frequency_posterior
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.shared.bar import fitting
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.spelling import in_turn
from ldpstats.priors import SimplexPrior
from ldpstats.problems.estimates import Unexplained
from ldpstats.problems.moments import Moments
from ldpstats.problems.problem import Likelihood

__all__ = ["FrequencyModel"]

Array = npt.NDArray[Any]
_CERTAIN = 0.001  # p-value below which others than the candidates are held


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
        groups = tallied(data)
        self.name = variable_name(name, data)
        self.candidates = candidates
        self.incomplete = boolean("incomplete", incomplete)
        first = groups[0].mechanism
        self._labels: pd.Index[Any] = first.labels(candidates)
        for counts in groups[1:]:
            if not counts.mechanism.labels(candidates).equals(self._labels):
                raise MechanismMismatch(
                    f"{counts.mechanism} and {first} have different categories: groups that are "
                    "fitted together need the same labels in the same order"
                )
        if incomplete and not first.is_open:
            remedy = f"is for candidates over an open alphabet: {first} knows all categories"
            raise InvalidArgument("incomplete", incomplete, remedy)
        self._n_missing = sum(counts.n_missing for counts in groups)
        # groups that nobody reported in add nothing; if all are empty, `moments` refuses the first
        self.sources = tuple(c for c in groups if c.nobs) or groups[:1]
        self.unknown = tuple({n: 0 for c in self.sources for n in c.mechanism.unknown})
        asked = {n: 0 for c in groups for n in c.mechanism.unknown}
        lost = [n for n in asked if n not in self.unknown]
        if lost and self.nobs:
            raise NotIdentified(
                f"nobody reported with a device that depends on the unknown {in_turn(lost)}: leave "
                "its empty group out"
            )
        self._evidence = None if self.unknown else Evidence.of(self.sources, candidates, incomplete)

    def __repr__(self) -> str:
        return f"FrequencyModel({', '.join(str(c.mechanism) for c in self.sources)}; n={self.nobs})"

    @property
    def evidence(self) -> Evidence:
        """What the reports say of the frequencies.

        Raises
        ------
        NotAvailable
            For devices with unknown parameters, whose frequencies have no likelihood alone.
        """
        if self._evidence is None:
            raise NotAvailable(
                f"the devices depend on the unknown {in_turn(self.unknown)}, which only "
                "FrequencyModel(groups).fit() and fit_posterior() estimate; for known values "
                "collect or count with device.at(...)"
            )
        return self._evidence

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
        return self.evidence.problems

    def moments(self) -> Moments:
        """The linear equations that the counts satisfy on average."""
        return self.evidence.moments

    @property
    def dispersion(self) -> float:
        """How much unlisted answers add to variances where every report has the same weight."""
        return self.moments().dispersion_by(self.evidence.inference.collisions)

    def likelihood(self) -> Likelihood:
        """The exact likelihood of the reports.

        Raises
        ------
        NotAvailable
            When only bit sums are known, which do not determine it.
        """
        return self.evidence.likelihood

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
            joint = ParametersModel.of(self.sources, self.name, self._n_missing)
            return joint.fit(method, constraints, cov_type)
        with fitting(boolean("progress", progress)):
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
        estimator = estimator_of(self.evidence, method, constraints, cov_type)
        found = estimated(self.evidence, estimator, cov_type)
        likeliest = None
        if estimator == MLE() and len(self.sources) == 1:
            likeliest = found.solution.p
        fit = goodness_of_fit(self.sources, found.listed.parts, likeliest)
        return self._results(self._record(estimator, found), found.problem, fit)

    def _results(self, record: Fit, problem: Moments, fit: TestResult | None) -> FrequencyResults:
        """All that was found, without the data."""
        unexplained = problem.unexplained(record.linear)
        return FrequencyResults(
            record,
            self.categories,
            Specifications(tuple(counts.mechanism for counts in self.sources)),
            Laws(
                exact=self.moments().exact_form(),
                tally=problem.tally(record.linear, self.evidence.reference),
                law=problem.report_law(self.evidence.reference),
                linear_method=problem.linear_method,
            ),
            Checks(
                goodness_of_fit=fit,
                unexplained=unexplained,
                dispersion=problem.dispersion,
                condition=self.moments().condition,
                caution=problem.caution(self._others_held(unexplained, fit)),
            ),
        )

    def _record(self, estimator: Estimator[Any], found: Estimated) -> Fit:
        mechanisms, solution = [counts.mechanism for counts in self.sources], found.solution
        return Fit(
            fitted=found.fitted,
            linear=found.linear,
            method=estimator.name,
            settings=settings_of(estimator),
            cov_type=found.cov_type,
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(mechanism.epsilon for mechanism in mechanisms),
            sources=tuple(map(str, mechanisms)),
            is_partial=protect_some(mechanisms),
            llf=self.evidence.loglike(solution.p),
            gap=solution.gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            message=solution.message,
            name=self.name,
            source_nobs=tuple(counts.nobs for counts in self.sources),
        )

    def _others_held(self, unexplained: Unexplained | None, fit: TestResult | None) -> bool:
        """Whether others than the candidates are known, or seen, to be held."""
        if unexplained is None or self.incomplete:
            return unexplained is not None
        doubted = fit is not None and fit.pvalue < _CERTAIN
        return doubted or unexplained.is_positive(_CERTAIN)

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
            joint = ParametersModel.of(self.sources, self.name, self._n_missing)
            return joint.fit_posterior(rng, prior, draws, engine, self._origin())
        if not self.evidence.has_patterns:
            raise NotAvailable(
                "posterior of sums of bits: they do not determine the likelihood of the reports; "
                "keep the patterns with reports.tally()"
            )
        self._refuse_unlisted()
        return frequency_posterior(
            self.evidence.likelihood,
            self.categories,
            self._origin(),
            rng,
            prior,
            checked_prior(prior).law(self.categories),
            draws,
            engine,
            self.evidence.tables(),
            PosteriorResults,
        )

    def _refuse_unlisted(self) -> None:
        """Refuse, or warn of, answers that are not among the candidates of a posterior."""
        if self.incomplete:
            raise NotAvailable(
                "posterior of an incomplete list: its likelihood takes the candidates for all "
                "answers; list more of them, or use fit('inversion')"
            )
        if any(counts.mechanism.is_open for counts in self.sources):
            if doubt := self.misfit(self.fit_quietly("mle")):
                warnings.warn(doubt, MisfitWarning, stacklevel=3)

    def _origin(self) -> Origin:
        """What draws from the posterior are about, but for the prior."""
        mechanisms = [counts.mechanism for counts in self.sources]
        return Origin(
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(mechanism.epsilon for mechanism in mechanisms),
            sources=tuple(map(str, mechanisms)),
            name=self.name,
            is_partial=protect_some(mechanisms),
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
        p0 = distribution("p0", p0, len(self.categories), partial=self.evidence.inference.is_open)
        return one_sample_test(self.evidence, p0)

    def profile_intervals(
        self, results: FrequencyResults, alpha: float, progress: bool = False
    ) -> Array:
        """Profile-likelihood intervals, shape (k, 2): see `FrequencyResults.conf_int`."""
        check_made(results, self.evidence)
        return profile_intervals(results, self.evidence, alpha, boolean("progress", progress))

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
        check_made(results, self.evidence)
        return bootstrap_intervals(results, self.evidence, estimator, alpha, rng, n_boot, progress)
