"""The joint distribution of several privatised variables of the same respondents."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators import JOINT_ESTIMATORS
from ldpstats.estimators.base import Estimator, MomentsEstimator, SelectingEstimator
from ldpstats.estimators.mle import MLE, maximise
from ldpstats.estimators.one_step import OneStep
from ldpstats.estimators.solvers.ascent import gap_target, observed, report
from ldpstats.inference.information import fpe16, observed_tangent_inverse
from ldpstats.inference.skewness import CellLaw, path_cumulants
from ldpstats.inference.tables.independence import CrossMoments
from ldpstats.inference.tests import TestResult
from ldpstats.models.association import independence
from ldpstats.models.association.groups import JointGroup, Scores
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.association.variables import (
    VariableSpec,
    per_variable,
    prepared,
    respondents,
    variable_names,
)
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.models.frequency.misfit import misfit, warn_of_doubts
from ldpstats.models.frequency.model import FrequencyModel, settings_of
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.joint import JointMoments, unbiased_map, without_rounding
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import DenseRows
from ldpstats.problems.rows.combined import StackedRows
from ldpstats.problems.rows.other import other_rows
from ldpstats.problems.simplex import project_simplex, project_subsimplex

__all__ = ["AssociationModel"]

Array = npt.NDArray[Any]

_PART = 0.25  # of a step: half of the correction for continuity, which is half a step
_STRATA = 50  # respondents, over the square of the strata, from which these tell their information


class AssociationModel:
    """Joint distribution of two or more privatised variables of the same respondents.

    Parameters
    ----------
    *reports : Reports, or lists of Reports; or one JointCounts
        One argument per variable; report i of each is from the same respondent. A list holds groups
        of respondents with mechanisms of their own, the same groups for every variable. Counts of
        combinations (`JointCounts`) stand for all variables.
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
        Names of the variables; x, y, z (or x1, x2, ...) by default.
    ids : sequence of array-like, optional
        Identifiers of the respondents, one column per variable, to be compared.

    Raises
    ------
    InvalidArgument
        For one variable only, one object passed for two variables, numbers of reports or
        identifiers that differ, and candidates that leave a variable without two categories.

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
    """

    def __init__(
        self,
        *reports: Any,
        candidates: Any = None,
        other: Any = False,
        names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        groups = respondents(reports, ids)
        d = len(groups[0].reports)
        self.names: tuple[str, ...] = variable_names(names, d)
        listed = per_variable("candidates", candidates, self.names)
        others = per_variable("other", other, self.names, scalar=True)
        variables = [
            prepared([group.reports[v] for group in groups], listed[v], others[v], self.names[v])
            for v in range(d)
        ]
        self.specs: tuple[VariableSpec, ...] = tuple(spec for _, spec in variables)
        self._n_missing = sum(max(p.n_missing for p in group.reports) for group in groups)
        # groups that nobody reported in add nothing; if all are empty, the fit refuses the first
        held = [g for g, group in enumerate(groups) if group.nobs] or [0]
        self.groups: tuple[JointGroup, ...] = tuple(
            JointGroup(groups[g].with_reports([parts[g] for parts, _ in variables]), self.specs)
            for g in held
        )
        several = "" if len(held) == 1 else f"{len(held)} mechanisms"
        self.sources: tuple[str, ...] = tuple(
            several or str(mechanism) for mechanism in groups[held[0]].mechanisms
        )
        if any(spec.approximate for spec in self.specs):
            warnings.warn(
                "the likelihood of Other is modelled: it takes X to be independent of Y within "
                "Other, and is biased where it is not; exact lumping needs k-RR or a bit per "
                "category",
                IncompleteListWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        sizes = " x ".join(str(spec.k) for spec in self.specs)
        return f"AssociationModel({', '.join(self.names)}: {sizes}; n={self.nobs})"

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return sum(group.nobs for group in self.groups)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(spec.k for spec in self.specs)

    @property
    def n_cells(self) -> int:
        """Cells of the joint table."""
        return int(np.prod(self.sizes))

    @property
    def is_complete(self) -> bool:
        """Whether every answer is in some cell."""
        return all(spec.complete for spec in self.specs)

    @property
    def is_exact(self) -> bool:
        """Whether every answer is in some cell, and no "Other" is modelled."""
        return self.is_complete and not any(spec.approximate for spec in self.specs)

    @property
    def _small_strata(self) -> bool:
        """Whether strata are so small that the noise of their own information biases the dual.

        The bias is of the order of the number of strata over n, the standard error of 1/sqrt(n).
        """
        strata = len(self.moments().strata)
        return strata > 1 and self.nobs < _STRATA * strata**2

    @property
    def shared_cohorts(self) -> bool:
        """Whether variables share the cohorts of their respondents."""
        return any(group.counts.shared_cohorts for group in self.groups)

    # -- margins -----------------------------------------------------------------------------

    @cached_property
    def margins(self) -> tuple[FrequencyModel, ...]:
        """The model of each variable alone."""
        return tuple(
            FrequencyModel([group.variables[v] for group in self.groups], spec.candidates)
            for v, spec in enumerate(self.specs)
        )

    @cached_property
    def _others(self) -> list[list[Array | None]]:
        """Likelihood of a modelled "Other", by group and variable."""
        found: list[list[Array | None]] = [[None] * len(self.specs) for _ in self.groups]
        for v, spec in enumerate(self.specs):
            if not spec.approximate:
                continue
            p = project_subsimplex(self.margins[v].moments().estimate()[0])
            # noise may leave nothing for Other, whose law is then unknown: about a standard error
            p *= min(1.0, (1.0 - self.nobs**-0.5) / float(p.sum()))
            for g, group in enumerate(self.groups):
                found[g][v] = other_rows(group.variables[v], spec.candidates, p, form=spec.other)
        return found

    @cached_property
    def likelihoods(self) -> list[tuple[DenseRows, ...]]:
        """Likelihoods of the distinct reports of each group and variable."""
        pairs = zip(self.groups, self._others, strict=True)
        return [group.likelihoods(others) for group, others in pairs]

    @cached_property
    def references(self) -> tuple[Array, ...]:
        """Maximum likelihood estimate of each margin."""
        found = []
        for v, spec in enumerate(self.specs):
            mechanism = self.groups[0].counts.mechanisms[v]
            if spec.complete and not (mechanism.n_bits or mechanism.n_cohorts):
                found.append(MLE().solve(self.margins[v].likelihood()).p)  # k-RR in closed form
                continue
            parts = tuple(rows[v] for rows in self.likelihoods)
            n = np.concatenate([group.variables[v].n for group in self.groups])
            W = parts[0] if len(parts) == 1 else StackedRows(parts)
            found.append(MLE().solve(Likelihood(W, n)).p)
        return tuple(found)

    @cached_property
    def scores(self) -> tuple[Scores, ...]:
        """Scores of all reports at the marginal fits, group by group."""
        pairs = zip(self.groups, self.likelihoods, strict=True)
        return tuple(Scores(group, rows, self._interior) for group, rows in pairs)

    @cached_property
    def _interior(self) -> tuple[Array, ...]:
        """The marginal fits, moved from the boundary where they make a report impossible.

        Scores divide by the probability of the report; any reference would do.
        """
        found = []
        for v, p in enumerate(self.references):
            ruled_out = any(group.rules_out(v, p) for group in self.groups)
            weight = 0.5 / self.nobs if ruled_out else 0.0
            found.append((1.0 - weight) * p + weight / p.size)
        return tuple(found)

    # -- problems ----------------------------------------------------------------------------

    @cached_property
    def _likelihood(self) -> Likelihood:
        pairs = zip(self.groups, self.likelihoods, strict=True)
        parts = tuple(group.joint_rows(rows) for group, rows in pairs)
        n = np.concatenate([group.counts.n for group in self.groups])
        return Likelihood(parts[0] if len(parts) == 1 else StackedRows(parts), n)

    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports together, over the cells in row-major order."""
        return self._likelihood

    @cached_property
    def _moments(self) -> JointMoments:
        strata = tuple(s for group in self.groups for s in group.linear_strata())
        return JointMoments(strata, self.names, self.is_complete)

    def _unconstrained(self, by_name: bool) -> JointMoments:
        """The moments that intervals and effects rest on.

        Those of the scores, which are efficient, for bits of which all patterns can be listed,
        unless moments were asked for by name. Else those of features that sum to one, if they can:
        the sums of others are noise, of rows and columns too, which conditionals divide by.
        """
        if not by_name and self._scores_serve:
            return self.dual_moments()
        if self.is_complete:
            try:
                return self.moments().summing_to_one()
            except NotIdentified:  # of one stratum alone
                return self.moments()
        return self.moments()

    def unconstrained_moments(self) -> JointMoments:
        """The equations of counts that `linear_params` solves, of labels at least."""
        return self._unconstrained(by_name=True)

    @cached_property
    def _scores_serve(self) -> bool:
        """Whether intervals can rest on the scores, and gain by it, which those of labels do not.

        Their expected information is needed, and all their moments given the true category; the
        observed information is correlated with the estimate, and intervals of empty cells fail.
        """
        bits = any(m.n_bits for group in self.groups for m in group.counts.mechanisms)
        if not (bits and self.is_exact) or self._small_strata:
            return False
        if any(every is None for group in self.groups for every in group.every_report):
            return False
        try:
            return bool(self.dual_moments().inverses)
        except NotIdentified:
            return False

    def moments(self) -> JointMoments:
        """Equations for the products of linear estimates of single reports."""
        return self._moments

    @cached_property
    def _dual(self) -> JointMoments:
        strata = tuple(s for scores in self.scores for s in scores.strata())
        return JointMoments(strata, self.names, self.is_complete)

    def dual_moments(self) -> JointMoments:
        """Equations for the products of the scores at the marginal fits (see `OneStep`)."""
        return self._dual

    # -- fit ---------------------------------------------------------------------------------

    def fit(
        self, method: str | Estimator[Any] | None = None, cov_type: str = "default"
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
        cov_type : {"default", "linear", "fpe16"}
            Covariance of `params`: "default" is the information on the tangent space of the simplex
            for likelihood estimates; "linear" that of the unconstrained estimate; "fpe16" the
            inverse information without the constraint (FPE16 III-C), which overstates.

        Returns
        -------
        AssociationResults

        Raises
        ------
        InvalidArgument
            For an unknown method.
        NotIdentified
            When the channels do not determine the joint distribution.

        Warns
        -----
        ConvergenceWarning
            When the estimator stops before its certificate is reached.
        MisfitWarning
            When the goodness of fit of a variable's own reports has a p-value below .001, other
            than for answers that are known not to be among the candidates.
        LDPWarning
            When the condition number of the channels together is above 1e8.
        """
        cov_type = one_of("cov_type", cov_type, ("default", "linear", "fpe16"))
        estimator = self._estimator(method)
        if cov_type == "fpe16" and isinstance(estimator, MomentsEstimator):
            raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
        by_name = isinstance(estimator, MomentsEstimator) and not isinstance(estimator, OneStep)
        problem = self._unconstrained(by_name)
        linear = self._uncertain(problem)
        solution, V, kind = self._solve(estimator, linear, cov_type)
        complete = not isinstance(estimator, MomentsEstimator) or isinstance(estimator, OneStep)
        results = AssociationResults(
            fitted=Uncertain(solution.p, V),
            linear=linear,
            method=method if isinstance(method, str) else estimator.name,
            settings=settings_of(estimator),
            cov_type=kind,
            nobs=self.nobs,
            llf=self._loglike(solution.p),
            gap=solution.gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            message=solution.message,
            names=self.names,
            labels=tuple(spec.labels for spec in self.specs),
            others=tuple(spec.other for spec in self.specs),
            is_complete=self.is_complete,
            n_strata=sum(len(group.slices) for group in self.groups),
            margin_fits=self._margin_fits,
            sources=self.sources,
            epsilon=max(group.epsilon for group in self.groups),
            n_missing=self._n_missing,
            dispersion=self._dispersion,
            smallest_expected=independence.smallest_expected(self),
            digest=self.digest,
            independence=self._independence(),
            law=self._law(problem, linear.covariance),
            model=self,
        )
        warn_of_doubts(self._misfit(complete), results.condition)
        return results

    def _estimator(self, method: str | Estimator[Any] | None) -> Estimator[Any]:
        if isinstance(method, SelectingEstimator):
            raise InvalidArgument("method", method, "selects candidates of one variable only")
        if isinstance(method, Estimator):
            return method
        name = "mle" if method is None else method
        return JOINT_ESTIMATORS[one_of("method", name, tuple(JOINT_ESTIMATORS))]()

    def _uncertain(self, problem: JointMoments) -> Uncertain:
        """The linear estimate with its covariance, or its variances where that is too large."""
        estimate, V = problem.estimate()[0], self._covariance(problem)
        if V is not None:
            return Uncertain(estimate, V.scaled(self._dispersion))
        alone = None if len(problem.strata) > 1 else problem.variances() * self._dispersion
        return Uncertain(estimate, None, variances=alone)

    def _law(self, problem: JointMoments, V: Covariance | None) -> CellLaw | None:
        """Cumulants of the estimate of each cell along its path; None where they are not known."""
        if not self.is_exact:
            return None
        matrix = None if V is None else V.matrix()
        parts, N = problem.path_moments(problem.in_errors, matrix), self.nobs
        if parts is None:
            return None
        variance, third = np.zeros((self.n_cells, 3)), np.zeros((self.n_cells, 4))
        step, doubt = np.zeros((2, self.n_cells))
        for part in parts:
            weight = part.nobs / N
            second, cubic = path_cumulants(part.own, part.rest, part.nobs)
            variance += weight**2 * second
            third += weight**3 * cubic
            step = np.maximum(step, part.step * part.share / N)
            doubt += (weight / N) * np.sqrt(part.doubt)  # strata share what is in doubt
        return CellLaw(variance, third, _PART * step, doubt**2)

    @property
    def _dispersion(self) -> float:
        """What variances grow by because answers that are not listed hash to the same cells."""
        if self.is_exact:
            return 1.0
        return 1.0 + sum(margin.dispersion - 1.0 for margin in self.margins)

    @cached_property
    def _margin_fits(self) -> tuple[FrequencyResults, ...]:
        return tuple(model.fit_quietly("inversion") for model in self.margins)

    def _misfit(self, complete: bool) -> str:
        """What of the variables, each alone, looks as its mechanism cannot make it, in words."""
        remedy = "answers that are not listed are ignored: use other=True" if complete else ""
        parts = zip(self.names, self.margins, self._margin_fits, self.specs, strict=True)
        found = [
            (name, misfit(fit, model.problems, bool(spec.other), remedy))
            for name, model, fit, spec in parts
        ]
        return "; ".join(f"{name}: {words}" for name, words in found if words)

    def _covariance(self, problem: JointMoments) -> Covariance | None:
        return problem.covariance() if self.n_cells <= LARGEST_INFORMATION else None

    def _solve(
        self, estimator: Estimator[Any], linear: Uncertain, cov_type: str
    ) -> tuple[Solution, Covariance | None, str]:
        """The estimate, its covariance and what that is."""
        if isinstance(estimator, OneStep):
            return self._one_step(estimator)
        if isinstance(estimator, MomentsEstimator):
            solution = estimator.solve(self.moments())
            if linear.covariance is None:
                return solution, None, "none (too large)"
            plain = self._covariance(self.moments())
            assert plain is not None  # as large as the one that there is
            V = estimator.covariance(self.moments(), solution, plain)
            return solution, without_rounding(V.matrix(), plain.variances().max()), "linear"
        problem = self.likelihood()
        if isinstance(estimator, MLE) and estimator.constraints is None:
            solution = self.maximum(estimator)
        else:
            solution = estimator.solve(problem)
        if cov_type == "linear":
            return solution, linear.covariance, "linear"
        if estimator.constraints is not None:
            return solution, None, "none (constrained)"
        return solution, *self._information(solution.p, cov_type == "fpe16")

    def maximum(self, estimator: MLE | None = None) -> Solution:
        """The maximum of the likelihood, from the dual estimate."""
        estimator, problem = MLE() if estimator is None else estimator, self.likelihood()
        W, n = observed(problem)
        target = gap_target(problem.nobs, estimator.tol)
        by_step, most = estimator.tol is None, estimator.max_iter
        found, how = maximise(W, n, target, by_step, most, self._start())
        return report(found, problem.nobs, how, target)

    def _start(self) -> Array:
        """Where the likelihood is maximised from: the dual, or the margins' product if likelier."""
        null = self.null_distribution()
        try:
            dual = project_simplex(self.dual_moments().estimate()[0])
        except NotIdentified:
            return null
        likelier = self.likelihood().loglike(dual) > self.likelihood().loglike(null)
        return dual if likelier else null

    def _one_step(self, estimator: OneStep) -> tuple[Solution, Covariance | None, str]:
        if self._small_strata:
            strata = len(self.moments().strata)
            raise NotAvailable(
                f"one_step is biased in {strata} strata of {self.nobs} respondents in all, fewer "
                f"than {_STRATA} times the square of the strata: use method='mle' or 'inversion'"
            )
        problem = self.dual_moments()
        solution = estimator.solve(problem)
        if not estimator.newton:
            return solution, self._covariance(problem), "dual"
        p = solution.p
        for _ in range(estimator.newton):
            start = project_simplex(p)
            V, kind = self._information(start, False)
            if V is None:
                raise NotAvailable(f"Newton steps over {self.n_cells} cells: use method='mle'")
            p = start + V.matrix() @ (self.likelihood().score(start) - self.nobs)
        how = f"{solution.message}, then {estimator.newton} Newton step(s)"
        return Solution(p, np.nan, estimator.newton, True, how), V, kind

    def _information(self, p: Array, unconstrained: bool) -> tuple[Covariance | None, str]:
        """Covariance of a likelihood estimate at p, from expected or observed information."""
        if self.n_cells > LARGEST_INFORMATION:
            return None, "none (too large)"
        free = np.all([group.uncertain(p) for group in self.groups], axis=0)
        J, kind = self._expected_information(p), "expected"
        if J is None:
            J, kind = self.likelihood().information(p), "observed"
        J = J[np.ix_(free, free)]
        try:
            V = fpe16(J) if unconstrained else observed_tangent_inverse(J)
        except NotIdentified:
            return None, "none (singular information)"
        kind = "fpe16" if unconstrained else kind
        if free.all():
            return V, kind
        whole = np.zeros((self.n_cells,) * 2)  # a cell whose reports were never seen is known
        whole[np.ix_(free, free)] = V.matrix()
        return Covariance.dense(whole), kind

    def _expected_information(self, p: Array) -> Array | None:
        """Expected information, None where reports cannot be listed."""
        total = np.zeros((self.n_cells,) * 2)
        for group in self.groups:
            rows = group.listed_channel()
            if rows is None or not self.is_complete:
                return None
            law = rows.mix(p)
            total += rows.gram(np.divide(group.nobs, law, out=np.zeros_like(law), where=law > 0.0))
        return total

    def _loglike(self, p: Array) -> float:
        """Log-likelihood of an estimate; nan where it is no distribution."""
        if np.any(p < 0.0) or abs(p.sum() - 1.0) > 1e-9:
            return float("nan")
        return self.likelihood().loglike(p)

    # -- tests -------------------------------------------------------------------------------

    def null_distribution(self) -> Array:
        """The cells under independence: products of the marginal fits, shape (k,)."""
        return reduce(np.kron, self.references)

    def unbiased_moments(self) -> list[CrossMoments]:
        """Moments, by stratum, of features of two variables that are unbiased over all strata.

        Raises
        ------
        NotIdentified
            Where the reports of a variable do not determine its frequencies.
        """
        X, Y = self.unbiased_maps()
        x, y = X.sum(axis=1), Y.sum(axis=1)  # of the one that centred scores lack
        parts = (part for scores in self.scores for part in scores.cross_moments(0, 1))
        return [part.transformed(X, Y, x, y) for part in parts]

    def unbiased_maps(self) -> tuple[Array, Array]:
        """What takes the scores of two variables to features that are unbiased over all strata."""
        N, strata = self.nobs, [(s, part) for s in self.scores for part in s.group.slices]
        responses = [
            np.sum([s.group.n_in(part) / N * s.shown(v, part) for s, part in strata], axis=0)
            for v in range(2)
        ]
        X, Y = map(unbiased_map, responses, self.names)
        return X, Y

    def simulated(self, p: Array, rng: np.random.Generator) -> AssociationModel:
        """The model of as many simulated respondents, whose true cells have law p.

        Cohorts stay as they are.
        """
        if not self.is_exact:
            raise NotAvailable(
                "the law of answers that are not among the candidates is not known: nothing can be "
                "simulated; use method='score'"
            )
        made = object.__new__(AssociationModel)
        made.names, made.specs, made.sources = self.names, self.specs, self.sources
        made._n_missing = self._n_missing
        made.groups = tuple(
            JointGroup(group.counts.simulated(p, [s.labels for s in self.specs], rng), self.specs)
            for group in self.groups
        )
        return made

    def _independence(self) -> TestResult | None:
        try:
            return independence.score_test(self, None)
        except (NotIdentified, NotAvailable):
            return None

    def check_own(self, results: AssociationResults) -> None:
        """Refuse results of other reports."""
        if self.digest != results.digest or self.names != results.names:
            raise InvalidArgument("model", self, "has other data than the results")

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that differ whenever the reports do (BLAKE2)."""
        found = hashlib.blake2b(digest_size=8)
        for group in self.groups:
            for part in group.counts.reports:
                found.update(part.mechanism.fingerprint.encode())
                for values in (part.y, part.cohort):
                    found.update(b"" if values is None else np.ascontiguousarray(values).tobytes())
            found.update(np.ascontiguousarray(group.counts.n).tobytes())
        return found.hexdigest()

    def test_independence(
        self, results: AssociationResults, method: str = "score", **how: Any
    ) -> TestResult:
        """Test that the variables are independent: see `AssociationResults.test_independence`."""
        self.check_own(results)
        return independence.test_independence(self, results, method, **how)

    def test_trend(self, u: Array, v: Array) -> TestResult:
        """Test for a trend: see `AssociationResults.test_trend`."""
        return independence.trend_test(self, u, v)

    def conditional_covariance(self, given: str) -> Covariance | None:
        """Covariance under conditional independence: see `independence.conditional_covariance`."""
        V = independence.conditional_covariance(self, self.names.index(given))
        return None if V is None else V.scaled(self._dispersion)
