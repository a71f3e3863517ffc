"""The joint distribution of several privatised variables of the same respondents."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, one_of
from ldpstats.errors import IncompleteListWarning, InvalidArgument, NotAvailable
from ldpstats.estimators import JOINT_ESTIMATORS
from ldpstats.estimators.base import Estimator, MomentsEstimator, SelectingEstimator
from ldpstats.estimators.likelihood import MLE, OneStep
from ldpstats.hints import Model
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import Uncertain, without_rounding
from ldpstats.likelihood.joint import JointMoments
from ldpstats.likelihood.rows import Likelihood, Solution
from ldpstats.mechanisms.base import joint_epsilon, protect_some
from ldpstats.models.association.evidence import (
    Evidence,
    cell_law,
    covariance_of,
    dispersion,
    information,
    maximum,
    one_step,
    simulated,
    unconstrained,
)
from ldpstats.models.association.groups import (
    JointGroup,
    per_variable,
    prepared,
    refuse_shared,
    respondents,
    says_nothing,
    variable_names,
)
from ldpstats.models.association.results import AssociationResults, made_of
from ldpstats.models.frequency.model import settings_of
from ldpstats.models.frequency.tests import misfit, warn_of_doubts
from ldpstats.models.plots import fitting
from ldpstats.models.posterior.draws import ENGINES, frequency_posterior
from ldpstats.models.posterior.results import Origin, TablePosterior, table_law


class AssociationModel(Model):
    """Joint distribution of two or more privatised variables of the same respondents.

    Parameters
    ----------
    *reports : Reports, or lists of Reports; or one JointCounts
        One argument per variable; report i of each is from the same respondent. A list holds groups
        of respondents with mechanisms of their own, the same groups for every variable. Counts of
        combinations (`JointCounts`) stand for all variables. Respondents who, by design, were not
        asked a variable are a group whose mechanism for it has a single output (a `CustomMechanism`
        with one column): all of their reports are used, see `AssociationResults.answered`.
    candidates : sequence or mapping, optional
        Per variable, in order or by name: the values to look for over an open alphabet, or the
        categories of a closed one to keep; None for all categories.
    other : bool or str, or one for each variable
        Whether to add a category "Other" for the answers that are not among the candidates. True
        chooses the treatment: "lump", which is exact, where the mechanism allows it, and "product"
        for hashed reports, which takes the bits of other answers for independent and Other for one
        kind of answer whatever the other variables are, and warns. "fpe16" is the printed formula
        of FPE16 III-B, which comes to ignoring Other.
    names : sequence of str, optional
        Names of the variables; by default those of the reports, or x, y, z (x1, x2, ...).
    ids : sequence of array-like, optional
        Identifiers of the respondents, one column per variable, to be compared. Reports that have
        identifiers of their own are matched by them, and respondents without a report on every
        variable are left out and counted (see `JointCounts`).
    memoised : bool, optional
        False says that devices drew each report afresh. By default two reports that may come from
        one permanent response (`Mechanism.permanent`) are refused: those of one RAPPOR with f > 0
        whose cohorts agree, and those on a question of one name under one ``first >> second``.

    Raises
    ------
    InvalidArgument
        For one variable only, one object passed for two variables, numbers of reports or
        identifiers that differ, and candidates that leave a variable without two categories.
    NotAvailable
        Where two reports of a person may come from one permanent response.

    Notes
    -----
    The channel is the Kronecker product of those of the variables and is never formed. Cohorts are
    taken to be drawn for each variable anew, unless the cohort of one variable determines that of
    another in every respondent: they are then shared, and strata of the moments and tests.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> job = rng.choice(["nurse", "cook"], size=4000)
    >>> late = np.where(rng.random(4000) < 0.2 + 0.3 * (job == "cook"), "yes", "no")
    >>> x = ldp.KRR(("nurse", "cook"), epsilon=2.0).privatize(job, rng)
    >>> y = ldp.KRR(("no", "yes"), epsilon=2.0).privatize(late, rng)
    >>> results = ldp.AssociationModel(x, y, names=("job", "late")).fit()
    >>> results.table.round(2).to_numpy()
    array([[0.4 , 0.1 ],
           [0.24, 0.25]])

    If half of the respondents had not been asked whether they are late:

    >>> silent = ldp.CustomMechanism(np.ones((2, 1)), outputs=["not asked"])
    >>> none = ldp.Reports(np.zeros(2000, dtype=int), silent)
    >>> model = ldp.AssociationModel([x[:2000], x[2000:]], [y[:2000], none], names=("job", "late"))
    >>> model.fit().answered
    ((('job', 'late'), 2000), (('job',), 2000))
    """

    def __init__(
        self,
        *reports: Any,
        candidates: Any = None,
        other: Any = False,
        names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        memoised: bool | None = None,
    ) -> None:
        groups = respondents(reports, ids)
        columns = list(zip(*map(attrgetter("reports"), groups), strict=True))
        known = [first.name for first, *_ in columns]
        self.names: tuple[str, ...] = variable_names(names, len(columns), known)
        refuse_shared(groups, self.names, memoised)
        listed = per_variable("candidates", candidates, self.names)
        others = per_variable("other", other, self.names, scalar=True)
        lumped, specs = zip(*map(prepared, columns, listed, others, self.names), strict=True)
        # groups that nobody reported in add nothing; if all are empty, the fit refuses the first
        held = list(map(attrgetter("nobs"), groups))
        held = held if any(held) else [1, *held[1:]]
        made, self._n_missing, lacking = [], 0, list[tuple[int, ...]]()
        for group, parts, there in zip(groups, zip(*lumped, strict=True), held, strict=True):
            self._n_missing += group.n_missing
            lacking += [group.lacking] * bool(group.n_missing)
            if there:
                made.append(JointGroup(group.with_reports(parts), specs))
        self.evidence = found = Evidence(tuple(made), specs, self.names)
        if not all(map(attrgetter("is_closed"), specs)):
            self.evidence = found.whole  # the margins of others have answers that no cell has
        self._n_missing += (left_out := found.nobs - self.evidence.nobs)
        # of each variable; empty where that is not known
        told = all(lacking) and not left_out
        self._lacking = tuple(map(sum, zip(*lacking, strict=True))) if told else ()
        sources = []
        for column in columns:
            own = [part.mechanism for part in compress(column, held)]
            words = dict.fromkeys(str(device) for device in own if not says_nothing(device))
            words = words or {str(own[0]): None}
            sources.append(next(iter(words)) if len(words) == 1 else f"{len(words)} mechanisms")
        self.sources: tuple[str, ...] = tuple(sources)
        if any(map(attrgetter("approximate"), specs)):
            warnings.warn(
                "the likelihood of Other is modelled: it takes X to be independent of Y within "
                "Other, and is biased where it is not; exact lumping needs k-RR or a bit per "
                "category",
                IncompleteListWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.sizes))
        return f"AssociationModel({', '.join(self.names)}: {sizes}; n={self.nobs})"

    nobs = property(attrgetter("evidence.nobs"), doc="Number of respondents.")
    sizes = property(attrgetter("evidence.sizes"), doc="Categories of each variable.")
    margins = property(attrgetter("evidence.margins"), doc="The model of each variable alone.")

    @property
    def shared_cohorts(self) -> bool:
        """Whether variables share the cohorts of their respondents."""
        return any(group.counts.shared_cohorts for group in self.evidence.groups)

    # -- problems ----------------------------------------------------------------------------

    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports together, over the cells in row-major order."""
        return self.evidence.likelihood

    def moments(self) -> JointMoments:
        """Equations for the products of linear estimates of single reports."""
        return self.evidence.moments

    def dual_moments(self) -> JointMoments:
        """Equations for the products of the scores at the marginal fits (see `OneStep`)."""
        return self.evidence.dual_moments

    def null_distribution(self) -> Array:
        """The cells under independence: products of the marginal fits, shape (k,)."""
        return self.evidence.null

    def maximum(self, estimator: MLE | None = None) -> Solution:
        """The maximum of the likelihood, from the dual estimate."""
        return maximum(self.evidence, estimator)

    def simulated(self, p: Array, rng: np.random.Generator) -> AssociationModel:
        """The model of as many simulated respondents, whose true cells have law p.

        Cohorts stay as they are.
        """
        made = copy.copy(self)
        made.evidence = simulated(self.evidence, p, rng)
        return made

    # -- fit ---------------------------------------------------------------------------------

    def fit(
        self,
        method: str | Estimator[Any] | None = None,
        cov_type: str = "default",
        progress: bool = False,
    ) -> AssociationResults:
        """Estimate the joint distribution.

        Parameters
        ----------
        method : str or Estimator, optional
            "mle" (exact maximum likelihood, the default), "em" (FPE16 III-A, accelerated),
            "one_step" (one pass from the marginal fits), "inversion" (unbiased: the Kronecker
            inverse of the table of reports, or co-occurrence counts of bits), "moments" (another
            name of it), "moments-gls" (of features that sum to one); "projected", "normalized",
            "thresholded", "cvxpy"; or an estimator object. Whatever it is, intervals rest on
            "moments-gls", over candidates on "inversion", and where reports are bits on "one_step";
            the moments that are asked for by name are their own.
        cov_type, progress
            As for `FrequencyModel.fit`.

        Raises
        ------
        InvalidArgument
            For an unknown method.
        NotIdentified
            When the channels do not determine the joint distribution.

        Warns
        -----
        ConvergenceWarning, MisfitWarning, LDPWarning
            As `FrequencyModel.fit`, of the estimator, of a variable's own reports, and of the
            channels together.
        """
        cov_type = one_of("cov_type", cov_type, ("default", "linear", "fpe16"))
        progress = boolean("progress", progress)
        estimator: Any = method
        if isinstance(method, SelectingEstimator):
            raise InvalidArgument("method", method, "selects candidates of one variable only")
        if not isinstance(method, Estimator):
            name = "mle" if method is None else method
            estimator = JOINT_ESTIMATORS[one_of("method", name, tuple(JOINT_ESTIMATORS))]()
        evidence, is_dual = self.evidence, isinstance(estimator, OneStep)
        by_name = isinstance(estimator, MomentsEstimator) and not is_dual  # rests on linear ones
        if cov_type == "fpe16" and (by_name or is_dual):
            raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
        problem = unconstrained(evidence, by_name)
        V, factor, variances = covariance_of(problem), dispersion(evidence), None
        if V is not None:
            V = V.scaled(factor)
        elif len(problem.strata) == 1:
            variances = problem.variances() * factor
        linear = Uncertain(problem.estimate()[0], V, variances=variances)
        if is_dual:
            solution, V, kind = one_step(evidence, estimator)
        elif by_name:
            solution, kind = estimator.solve(evidence.moments), "none (too large)"
            V = plain = None if V is None else covariance_of(evidence.moments)
            if plain is not None:
                V, kind = estimator.covariance(evidence.moments, solution, plain), "linear"
                if V.factors is None:
                    V = without_rounding(V.matrix(), plain.variances().max())
        else:
            with fitting() if progress else nullcontext():
                if isinstance(estimator, MLE) and estimator.constraints is None:
                    solution = maximum(evidence, estimator)
                else:
                    solution = estimator.solve(evidence.likelihood)
                if cov_type == "linear":
                    kind = "linear"
                elif estimator.without_errors:
                    V, kind = None, estimator.without_errors
                else:
                    V, kind = information(evidence, solution.p, cov_type == "fpe16")
        p, llf = solution.p, np.nan
        if p.min() >= 0.0 and abs(p.sum() - 1.0) <= 1e-9:  # else it is no distribution
            llf = evidence.likelihood.loglike(p)
        margin_fits = [model.fit_quietly("inversion") for model in self.margins]
        devices = list(map(attrgetter("counts.mechanisms"), evidence.groups))
        columns = zip(self.names, zip(*devices, strict=True), strict=True)
        unprotected = [name for name, own in columns if any(map(attrgetter("unprotected"), own))]
        results = AssociationResults(
            names=self.names,
            labels=tuple(map(attrgetter("labels"), evidence.specs)),
            others=tuple(map(attrgetter("other"), evidence.specs)),
            margin_fits=tuple(margin_fits),
            is_complete=evidence.is_complete,
            lacking=self._lacking,
            unprotected=tuple(unprotected),
            law=cell_law(evidence, problem, linear.covariance),
            fitted=Uncertain(p, V),
            linear=linear,
            method=method if isinstance(method, str) else estimator.name,
            settings=settings_of(estimator),
            cov_type=kind,
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(map(joint_epsilon, devices)),
            sources=self.sources,
            is_partial=any(map(attrgetter("is_partial"), margin_fits)),
            llf=llf,
            **solution.ended,
            **made_of(evidence, solution),
        )
        remedy = "" if by_name else "answers that are not listed are ignored: use other=True"
        each = zip(self.names, self.margins, margin_fits, evidence.specs, strict=True)
        doubts = [  # of each variable alone, which its mechanism cannot make
            f"{name}: {words}"
            for name, model, margin, spec in each
            if (words := misfit(margin, model.problems, bool(spec.other), remedy))
        ]
        warn_of_doubts("; ".join(doubts), results.condition)
        return results

    def fit_posterior(
        self, rng: np.random.Generator, prior: Any = None, draws: int = 4000, engine: str = "hmc"
    ) -> TablePosterior:
        """The posterior of the joint distribution, by draws.

        Parameters
        ----------
        rng, draws, engine
            As for `FrequencyModel.fit_posterior`.
        prior : Dirichlet, LogisticNormal, Margins or None
            See `ldpstats.priors`. Of the cells: a Dirichlet law with one concentration or one by
            cell, or a logistic normal; `Margins` for what is known of single variables. None is the
            flat one, ``Dirichlet(1.0)``.

        Raises
        ------
        InvalidArgument
            For an argument that is out of range, and a prior of other cells or margins.
        NotAvailable
            Where answers are not among the candidates, or "Other" is modelled: the law of their
            reports is not known, and with it no likelihood; and for tables of over 1,000 cells.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
        >>> model = ldp.AssociationModel(counts, names=("late", "ill"))
        >>> prior = ldp.priors.Margins(first=[500, 500])  # 1,000 persons whose lateness is known
        >>> results = model.fit_posterior(np.random.default_rng(1), prior)
        >>> results.margin("late").params.round(2).to_dict()
        {'no': 0.52, 'yes': 0.48}
        """
        if not self.evidence.is_exact:
            raise NotAvailable(
                "the posterior of a table that does not hold all answers: reports of answers that "
                "are not among the candidates have no known law; fit all categories, or lump the "
                "others by other=True where the mechanism allows it"
            )
        engine = one_of("engine", engine, ENGINES)
        groups = [group.counts.mechanisms for group in self.evidence.groups]
        origin = Origin(
            nobs=self.nobs,
            n_missing=self._n_missing,
            epsilon=max(map(joint_epsilon, groups)),
            sources=self.sources,
            name=" x ".join(self.names),
            subject="Joint frequencies",
            is_partial=protect_some(mechanism for own in groups for mechanism in own),
        )
        labels = [spec.labels for spec in self.evidence.specs]
        return frequency_posterior(
            self.likelihood(),
            pd.MultiIndex.from_product(labels, names=list(self.names)),
            origin,
            rng,
            prior,
            table_law(prior, labels),
            draws,
            engine,
            self.evidence.tables(),
            TablePosterior,
        )

    def test_independence(
        self, results: AssociationResults, method: str = "score", **how: Any
    ) -> TestResult:
        """Test that the variables are independent, with the reports at hand.

        Parameters
        ----------
        results : AssociationResults
            A fit of this model.
        method : str
            As in `AssociationResults.test_independence`.
        **how
            ``rng``, ``n_permutations``, ``n_boot`` and ``progress``, for tests that permute or
            redraw reports.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
        >>> model = ldp.AssociationModel(counts)
        >>> results, rng = model.fit(), np.random.default_rng(1)
        >>> model.test_independence(results, "bootstrap", rng=rng, n_boot=19).pvalue
        0.05
        """
        given: object = results
        if not isinstance(given, AssociationResults):  # what a caller passes may be anything
            raise InvalidArgument("results", given, "must be a fit of this model, model.fit()")
        return results.test_independence(method, model=self, **how)
