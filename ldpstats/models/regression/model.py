"""Regressions of and on privatised answers: logits, multinomial logits, proportional odds.

`RegressionModel` has the data of all, `PrivatizedRegression` a likelihood over distinct rows, how
its maxima are searched, and `fit`. The others say what data they take.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, numbers, one_of, positive_integer
from ldpstats.errors import (
    ConvergenceWarning,
    InvalidArgument,
    LDPWarning,
    MisfitWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.regression import (
    Found,
    Maximum,
    Objective,
    Penalised,
    corrected,
    expectation_maximisation,
    flat_direction,
    search,
    search_bounded,
)
from ldpstats.hints import Model
from ldpstats.inference.designs.linearisation import degrees_of_freedom
from ldpstats.inference.regression import MOST_CLUSTERS, InformationShares, cluster_sandwich
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.labels import Codes, Mask
from ldpstats.likelihood.parametric import generic_point, unidentified
from ldpstats.likelihood.predictors import (
    constant_column,
    constant_combination,
    stacked_indicators,
    start,
    starts,
    units,
)
from ldpstats.likelihood.regression import (
    LINKS,
    Multinomial,
    Ordered,
    RegressionLikelihood,
    ReportLaw,
    Seen,
    predictors_of,
)
from ldpstats.likelihood.regression import Normal as Numeric
from ldpstats.models.layout import in_turn
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.posterior import regression_posterior
from ldpstats.models.regression.results import DeviceRegressionResults, RegressionResults
from ldpstats.models.regression.structure import (
    Assembled,
    Named,
    RegressionData,
    assemble,
    cluster_options,
    has_listed_reports,
    new_covariates,
    pseudo_response,
    refuse_aliased,
    report_channel,
    response_data,
    sandwich_meat,
)
from ldpstats.priors import Beta, Normal

_METHODS = ("mle", "newton", "em", "corrected")
_SOME = 5000  # rows on which other starts are tried
_KNOWN = 0.5  # standardised coefficients known to this, of many rows, need no other starts
_MISLED = 1e-3
_COVARIANCES = ("nonrobust", "HC0", "cluster")
_SHARE = 0.1  # part in a flat direction from which on a coefficient is named in the warning
_LEAST = 1e-12  # of the spread of a number, below which its residual variance is not told
_SINGULAR = 1e-8  # eigenvalue of a correlation matrix, that counts as zero
_APART = 0.01  # unknown parameters that are not the same
_ANOTHER_DEVICE = (
    "add a group of respondents with another device, or one whose parameters are known"
)


class RegressionModel(Named, Model):
    """Data of a regression that are checked: the response, predictors, or both are privatised."""

    def __init__(self, data: RegressionData) -> None:
        self.data = data
        weights, designs = data.mass, data.designs
        if (weights == 0.0).any():
            designs = [X[weights > 0.0] for X in designs]
        refuse_aliased(designs, data.names, isinstance(data.outcome, Ordered))
        reports = dict(data.predictors)
        if data.is_private and data.is_categorical:
            reports[data.response_name] = data.response
        for name, groups in reports.items():
            unknown = [one for group in groups for one in group.mechanism.unknown]
            if unknown and not data.is_categorical:
                raise NotAvailable(
                    f"{name}: a private predictor by a device with the unknown {unknown[0]}: "
                    f"{data.response_name} is a number, whose corrected scores need a known "
                    "device: use mechanism.at(...) with an estimate from elsewhere, or classes of "
                    f"{data.response_name} with model='ordered'"
                )
            if unknown:
                continue
            listed = data.candidates.get(name)
            Q = np.hstack([report_channel(group, listed) for group in groups])
            if np.linalg.matrix_rank(Q) != len(Q):
                raise NotIdentified(
                    f"{name}: the channel of its reports has a rank below its number of "
                    "categories, so that reports do not determine their frequencies: join "
                    "categories, or ask with another mechanism"
                )

        if data.is_private and data.scores is not None:
            # scores of the answers, which least squares take for the response
            candidates = data.candidates.get(data.response_name)
            self.response = pseudo_response(data.response, data.scores, weights, candidates)

    @classmethod
    def of(cls, data: RegressionData) -> Self:
        """The model of data that are checked already."""
        model = cls.__new__(cls)
        RegressionModel.__init__(model, data)
        return model

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.data.times.sum())

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.endog_names} on {', '.join(self.exog_names)}; n={self.nobs})"

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Unknown parameters of devices: those of the response, then those of the predictors."""
        found = (name for one in self.data.mechanisms() for name in one.unknown)
        return tuple(dict.fromkeys(found))


class PrivatizedRegression(RegressionModel):
    """A regression with a likelihood over distinct rows, and how its maxima are searched."""

    @cached_property
    def assembled(self) -> Assembled:
        """The likelihood over distinct rows."""
        return assemble(self.data, self.unknown)

    @property
    def likelihood(self) -> RegressionLikelihood:
        """The likelihood over distinct rows."""
        return self.assembled.likelihood

    @cached_property
    def units(self) -> Array:
        """Parameters from standardised ones."""
        return units(self.likelihood)

    @cached_property
    def constant(self) -> int | None:
        """Which covariate is the same for all."""
        return constant_column(self.data.designs)

    @cached_property
    def spans_constant(self) -> bool:
        """Whether covariates, such as dummies of all levels, sum to a constant."""
        return constant_combination(self.data.designs) is not None

    @property
    def lists_reports(self) -> bool:
        """Whether the possible reports of the response can be listed, so that law is their own."""
        return not self.data.is_private or all(
            has_listed_reports(reports.mechanism) for reports in self.data.response
        )

    @property
    def is_exact(self) -> bool:
        """Whether nothing is privatised, so that the likelihood is concave."""
        for one in (self.likelihood.seen, self.likelihood.B):
            if isinstance(one, Seen) and (np.count_nonzero(one.table, axis=1) != 1).any():
                return False
        return True

    @cached_property
    def bounded(self) -> Mask:
        """Which parameters, (size,), stay in [0, 1]: the unknown ones of devices."""
        likelihood = self.likelihood
        return np.arange(likelihood.size) >= likelihood.size - likelihood.m

    # -- its maxima ----------------------------------------------------------------------------

    def objective(self, penalty: str | None, theta: Array | None = None) -> Objective:
        """The log-likelihood, with a penalty if one is asked for.

        Its law of private predictors is that of theta, (size,).
        """
        if penalty is None:
            return self.likelihood
        return Penalised(self.likelihood, self.assembled.expected(theta))

    def climb(
        self,
        penalty: str | None = None,
        start_params: Array | None = None,
        maxiter: int = 100,
        theta: Array | None = None,
    ) -> Found:
        """The highest maximum, with a penalty or without."""
        likelihood, exact = self.likelihood, self.is_exact
        if m := likelihood.m:
            top, rivals = search_bounded(likelihood, starts(likelihood), self.units, m)
            flat = flat_direction(likelihood, top, self.units, ~self.bounded)
            if flat is not None:  # places there are many, of the same coefficients
                gaps = [np.abs(one.theta[-m:] - top.theta[-m:]).max() for one in rivals]
                rivals = [one for one, gap in zip(rivals, gaps, strict=True) if gap > _APART]
            if rivals:
                names, other = self.all_names, rivals[0].theta
                apart = np.flatnonzero(np.abs(top.theta - other) > 1e-3)[:4]
                shown = ", ".join(f"{names[j]} = {float(other[j]):.4g}" for j in apart)
                raise NotIdentified(
                    f"other values fit the reports as well, such as {shown}: {_ANOTHER_DEVICE}"
                )
            return Found(top, 1, flat)
        first, others = start(likelihood), []
        if start_params is not None and not exact:  # else one maximum at most is met from there
            first, others = start_params, [first]
        if penalty is not None and likelihood.marginal is not None and theta is None:
            theta = self.climb(None, start_params, maxiter).maximum.theta
        smaller: Objective | None = None
        if likelihood.n > 2 * _SOME and not exact:  # on some rows, weighted up to all
            n = min(max(_SOME, 200 * likelihood.size), likelihood.n)
            rows = np.sort(np.random.default_rng(2024).choice(likelihood.n, n, replace=False))
            weights = likelihood.weights[rows]
            weights = weights * (likelihood.weights.sum() / weights.sum())
            sampled = self.assembled.take(rows, weights)
            smaller = sampled.likelihood
            if penalty is not None:
                smaller = Penalised(smaller, sampled.expected(theta))
        return search(
            self.objective(penalty, theta),
            first,
            self.units,
            others,
            maxiter=maxiter,
            concave=exact,
            smaller=smaller,
            enough=_KNOWN if smaller is not None else 0.0,
        )

    def _check_devices(
        self, known: Sequence[str] = (), remedy: str = "", stacklevel: int = 3
    ) -> None:
        """Refuse unknown parameters without a likelihood, and what reports leave open.

        Whatever the coefficients, unless a prior is known: `known` are parameters with a prior, and
        `remedy` is a further one.
        """
        data = self.data
        others = {*self.exog_names, *self.all_names[: -len(self.unknown)]}
        for name in self.unknown:
            if name in others:
                remedy = "is a coefficient too: give the unknown parameter another name"
                raise InvalidArgument("unknown", name, remedy)
        for question, groups in data.questions:
            made_by = [one.mechanism for one in groups]
            if question in data.predictors and not any(one.unknown for one in made_by):
                continue  # predictors of known likelihoods may report anything
            for mechanism in made_by:
                if mechanism.n_bits or mechanism.n_cohorts or mechanism.is_open:
                    raise NotAvailable(
                        f"{mechanism} reports bits or cohorts: beside unknown parameters only "
                        "devices whose reports are labels can be fitted"
                    )
        likelihood: Any = self.likelihood
        point, m = start(likelihood), likelihood.m
        drawn = np.random.default_rng(2024).normal(0.0, 0.7, point.size - m)
        point = point + self.units @ np.append(drawn, np.zeros(m))
        point[-m:] = [float(v) for v in generic_point(1, m)[1]]
        information = self.units.T @ likelihood.expected(point) @ self.units
        scale = np.sqrt(np.maximum(np.diagonal(information), 0.0))
        none = scale <= 1e-12 * scale.max(initial=0.0)
        scale = np.where(none, 1.0, scale)
        size, axes = np.linalg.eigh(information / np.outer(scale, scale))
        none |= (np.abs(axes[:, size <= _SINGULAR]) > _SHARE).any(axis=1)
        left = [self.all_names[j] for j in np.flatnonzero(none)]
        if set(left) & set(known):
            return
        if left:
            raise NotIdentified(
                f"{in_turn(left)} cannot be estimated from these reports: other values give them "
                f"the same law; {_ANOTHER_DEVICE}{remedy}"
            )
        laws = [likelihood.saturated] if likelihood.private.exponents.any() else likelihood.matrices
        if not known and unidentified(laws).any():
            warnings.warn(
                "these devices alone do not determine the frequencies and the unknown parameters: "
                "only the shape of the regression does, which data can hardly check. Better "
                f"{_ANOTHER_DEVICE}",
                LDPWarning,
                stacklevel,
            )

    # -- estimates -----------------------------------------------------------------------------

    def information(self, params: Any, exog: Any = None) -> Array:
        """Expected information of the coefficients in one survey, for planning.

        Parameters
        ----------
        params : array-like
            Coefficients, in the order of `fit().cov_params()`.
        exog : array-like, shape (m, p), optional
            Covariates of planned respondents; those of the data by default.

        Returns
        -------
        array, shape (p, p)
        """
        data = self.data
        if self.unknown:
            raise NotAvailable(
                f"information: the devices have the unknown {', '.join(self.unknown)}: use "
                "fit().information(), which has their information too"
            )
        if data.predictors or not data.is_categorical:
            raise NotAvailable(
                "information: it is known for private or public categorical responses with public "
                "predictors; simulate for others"
            )
        m = self.n_shown
        remedy = f"must be {m} finite numbers, the coefficients in the order of cov_params()"
        values = params.T if isinstance(params, pd.DataFrame) else params
        theta = numbers("params", values, remedy).ravel()
        if theta.size != m or not np.isfinite(theta).all():
            raise InvalidArgument("params", params, remedy)
        expected = self.assembled.expected()
        if exog is None:
            return expected.matrix(theta)
        X, _ = new_covariates(data, "exog", exog)
        if np.isnan(X).any():
            raise InvalidArgument("exog", float("nan"), "must be finite numbers")
        law = expected.law
        assert law is not None
        if len(law.channels) > 1:
            raise NotAvailable(
                "information: with several groups it is not known which mechanism planned "
                "respondents have: make a model of one group"
            )
        planned = replace(
            expected,
            designs=(predictors_of(data.outcome, X),),
            weights=np.ones((len(X), 1)),
            law=ReportLaw(law.channels, np.zeros(len(X), dtype=np.int64)),
        )
        return planned.matrix(theta)

    def fit(
        self,
        method: str | None = None,
        penalty: str | None = None,
        cov_type: str | None = None,
        cov_kwds: Any = None,
        start_params: Any = None,
        maxiter: int = 100,
        disp: Any = False,
    ) -> RegressionResults:
        """Estimate the coefficients.

        Where the response or private predictors were asked by devices with unknown parameters
        (`ldpstats.devices.unknown`), in one or several groups of reports, these are estimated with
        the coefficients by maximum likelihood, and come last in `params`.

        Parameters
        ----------
        method : {"mle", "em", "corrected"}, optional
            "mle" is Newton's method on the likelihood of the reports; "em" comes to the same
            maximum by data augmentation. "corrected" solves the corrected score equations, which
            need no model of the private predictors; its covariance is a sandwich. It is the default
            for numbers with private predictors: there "mle" takes every departure from normal or
            Poisson laws for effects of the answers that it does not see. Else "mle" is.
        penalty : {None, "jeffreys"}
            Half the log determinant of the expected information, added to the log-likelihood: the
            estimate is then always finite.
        cov_type : {"nonrobust", "HC0", "cluster"}, optional
            "nonrobust" by default; "HC0" with sampling weights. With the design of a survey the
            covariance is that of the design, as of svyglm in R's survey. Degrees of freedom are
            primary units less strata; with up to 1,000 such units those of each coefficient are
            Satterthwaite's, as for "cluster", if these are fewer.
        cov_kwds : dict, optional
            ``{"groups": labels}`` for "cluster". With up to 1,000 clusters the covariance is then
            bias-reduced (CR2), and each coefficient has the t distribution with its own
            Satterthwaite degrees of freedom (``results.df_inference``): few where few clusters
            have information on it. ``"use_correction": True`` gives the covariance with a factor
            for few clusters and normal quantiles, as in statsmodels, and False that without; beyond
            1,000 clusters the default is True.
        start_params : array-like, optional
            Where iterations start.
        maxiter : int
        disp : bool
            Has no effect: nothing is printed.

        Returns
        -------
        RegressionResults
            `DeviceRegressionResults`, which have all that these have, with unknown parameters.

        Raises
        ------
        InvalidArgument
            For an unknown option, or one that does not go with the others.
        NotIdentified
            If the information of the reports is singular, or they leave a coefficient or an
            unknown parameter open.

        Warns
        -----
        ConvergenceWarning
            If the maximum is at infinity, or the iteration stopped before it.
        """
        if self.unknown:
            usual = {"method": (method, "mle"), "maxiter": (maxiter, 100), "disp": (disp, False)}
            usual |= {"penalty": (penalty, None), "start_params": (start_params, None)}
            for option, (value, one) in usual.items():
                if value is not None and not (value is one or value == one):
                    raise NotAvailable(
                        f"the unknown {in_turn(list(self.unknown))} and the coefficients are "
                        f"estimated by maximum likelihood alone: leave out {option}="
                    )
            self._check_devices()
        data, only = self.data, self.data.only_corrected
        # mixtures of laws of numbers fit any other shape by effects that are not there
        numeric = bool(data.predictors) and not data.is_categorical
        usual_method = "corrected" if only or numeric else "mle"
        method = one_of("method", usual_method if method is None else method, _METHODS)
        if only and method != "corrected":
            raise NotAvailable(f"method={method!r}: {only}: use method='corrected'")
        if penalty is not None:
            penalty = one_of("penalty", penalty, ("jeffreys",))
        maxiter = positive_integer("maxiter", maxiter)
        kind, groups, correct = self._covariance_kind(cov_type, cov_kwds, method)
        first = None if start_params is None else self._first(start_params)
        if penalty is not None and method in ("corrected", "em"):
            raise InvalidArgument("penalty", penalty, "goes with method='mle' only")
        if method == "corrected":
            return self._corrected(kind, groups, correct, first)
        if method == "em":
            first = start(self.likelihood) if first is None else first
            top = expectation_maximisation(self.likelihood, first)
            found = Found(top, 1, flat_direction(self.likelihood, top, self.units))
        else:
            found = self.climb(penalty, first, maxiter)
        # the penalised likelihood falls to minus infinity
        top = found.maximum
        fixed, infinite = self._infinite(found if penalty is None else replace(found, flat=None))
        words = ""
        if infinite:
            instead = "p-values and default intervals are valid, and fit(penalty='jeffreys') has "
            if self.unknown:
                instead = "Their intervals have no end, and fit_posterior() has "
            words = (
                "the likelihood has its maximum at infinity, or cannot tell it from there: "
                f"{', '.join(infinite)}. {instead}finite estimates"
            )
        elif not top.converged:
            words = (
                f"the iteration stopped after {top.n_iter} steps before a maximum was reached "
                f"(twice the gain still predicted: {top.decrement:.2g}): raise maxiter, or pass "
                "start_params"
            )
        if words:
            warnings.warn(words, ConvergenceWarning, 2)
        if numeric:
            self._compare_with_corrected(top.theta, 3)
        V, shares = self._covariance(top, kind, groups, correct, fixed)
        df = self._design_df
        if isinstance(data.outcome, Numeric) and kind == "nonrobust":
            df = float(self.nobs - len(data.names))
        results = DeviceRegressionResults if self.unknown else RegressionResults
        how = kind, groups, correct
        return results(
            model=self,
            theta=top.theta,
            covariance_all=V,
            value=top.value,
            hessian=top.hessian,
            method="mle" if method == "newton" else method,
            penalty=penalty,
            cov_type=kind,
            converged=top.converged and not infinite,
            n_iter=top.n_iter,
            n_maxima=found.n_maxima,
            infinite=infinite,
            df=df,
            shares=shares,
            _inflation=self._inflation(top, V, fixed, how) if self.unknown else None,
        )

    @property
    def _design_df(self) -> float | None:
        """Degrees of freedom of the survey's design, if it has one."""
        sample, inside = self.data.sample, np.where(self.data.inside, 0, -1)
        return None if sample is None else float(degrees_of_freedom(sample, inside)[0])

    def _infinite(self, found: Found) -> tuple[Mask, tuple[str, ...]]:
        """Parameters without a standard error, as a maximum is at infinity, and which are there."""
        if found.flat is None:
            return np.zeros(found.maximum.theta.shape, dtype=bool), ()
        far = found.flat > _SHARE
        return np.any(far, axis=0), tuple(np.array(self.all_names)[far[0]].tolist())

    def _first(self, start_params: Any) -> Array:
        """Where iterations start, (size,), from what a caller passed."""
        likelihood, shown = self.likelihood, self.n_shown
        first = start(likelihood)
        remedy = f"must be {shown} finite numbers, the coefficients"
        values = numbers("start_params", start_params, remedy)
        if isinstance(start_params, pd.DataFrame):
            values = values.T  # equations one after the other
        values = values.ravel()
        sizes = shown, likelihood.n_outcome, first.size
        if values.size not in sizes or not np.isfinite(values).all():
            raise InvalidArgument("start_params", start_params, remedy)
        first[: values.size] = values
        return first

    def _compare_with_corrected(self, theta: Array, stacklevel: int) -> None:
        """Warn where the law of a number misleads its likelihood, as corrected scores show."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                other = self._corrected("HC0", None, False, None)
        except NotIdentified:
            return
        m = self.n_shown
        off, V = theta[:m] - other.theta[:m], other.covariance_all[:m, :m]
        distance = float(off @ np.linalg.solve(V, off))
        if float(chi2_pvalue(distance, m)) < _MISLED:
            warnings.warn(
                "maximum likelihood differs from corrected scores by far more than chance: the law "
                f"of {self.endog_names} given the predictors is not that of the model, and private "
                "predictors are taken for what makes its shape: use method='corrected'",
                MisfitWarning,
                stacklevel,
            )

    def fit_posterior(
        self,
        rng: np.random.Generator,
        prior: Normal | Mapping[str, Normal | Beta] | None = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> PosteriorResults:
        """The posterior of the coefficients, by draws, and of unknown parameters of devices.

        By default slopes are normal with mean 0 and standard deviation 2.5 over that of the
        covariate, and the probabilities of all categories at the means of the covariates are
        uniform, as in a `FrequencyModel` with a flat prior; of numbers, slopes are in standard
        deviations of the response, the level at the means has a standard deviation of 10, and
        log(sigma) one of 1. Thresholds are reported as `fit` has them: the first, and the
        logarithms of the steps. Private predictors have the law of `fit`, a multinomial logit,
        with such a prior too.

        The scores of decoded reports (`PrivatizedOLS`) have no law of their own, so that the
        estimate takes the place of the data: the posterior is that of coefficients about which the
        least squares estimate is normal with the HC2 covariance (a posterior with limited
        information, Kwan 1999). Its scale is the standard deviation of the scores of the
        categories, about their mean.

        Parameters
        ----------
        rng : numpy Generator
            The same seed gives the same draws.
        prior : Normal, mapping of str to Normal or Beta, or None
            Of all coefficients of covariates, the constant included, or of those named; of
            covariates as they are, not standardised. Others have the default. An unknown parameter
            of a device has the Beta prior under its name, by default the flat Beta(1, 1).
        draws : int
            Over all 16 chains, at least 160; rounded up to a multiple of 16.
        engine : {"hmc", "pymc"}
            The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).

        Returns
        -------
        PosteriorResults
            Labels of the coefficients are those of `fit`; "sigma" is added for numbers, and
            unknown parameters of devices by name.

        Raises
        ------
        NotAvailable
            With sampling weights or the design of a survey, which leave no likelihood.
        NotIdentified
            If the reports leave something open beside unknown parameters of devices, and no prior
            of what is open was given.
        InvalidArgument
            For an argument that is out of range, and a prior of another coefficient, given twice,
            or far from the scale of its covariate.

        Warns
        -----
        PosteriorWarning
            Where chains do not agree, or a prior is so wide that most of the posterior lies where
            they do not come.

        References
        ----------
        A. Gelman, A. Jakulin, M. G. Pittau and Y.-S. Su, A weakly informative default prior
        distribution for logistic and other regression models, Annals of Applied Statistics 2008.
        Y. K. Kwan, Asymptotic Bayesian analysis based on a limited information estimator, Journal
        of Econometrics 1999.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.integers(-2, 3, size=4000)})
        >>> ill = np.where(rng.random(4000) < 1 / (1 + np.exp(0.5 - 0.8 * X.age)), "yes", "no")
        >>> model = ldp.PrivatizedLogit(ldp.Warner(epsilon=2.0).privatize(ill, rng), X)
        >>> posterior = model.fit_posterior(rng, draws=1000)
        >>> posterior.params.round(1).to_dict()
        {'const': -0.4, 'age': 0.8}
        """
        return regression_posterior(self, rng, prior, draws, engine)

    # -- covariances ---------------------------------------------------------------------------

    def _covariance_kind(
        self, cov_type: Any, cov_kwds: Any, method: str
    ) -> tuple[str, Any, bool | None]:
        """The kind of covariance, and `cluster_options`."""
        data = self.data
        if data.sample is not None:
            if cov_type is not None or cov_kwds is not None:
                remedy = "leave it out: the survey has a design, and the covariance is that of it"
                raise InvalidArgument("cov_type", cov_type, remedy)
            return "design", None, False
        if cov_type is None:
            plain = data.weights is None and method != "corrected"
            cov_type = "nonrobust" if plain else "HC0"
        cov_type = one_of("cov_type", cov_type, _COVARIANCES)
        groups, correct = cluster_options(cov_type, cov_kwds, data.n)
        if cov_type == "nonrobust" and (data.weights is not None or method == "corrected"):
            why = "sampling weights" if data.weights is not None else "corrected scores"
            remedy = f"must be 'HC0' or 'cluster': the information is no covariance with {why}"
            raise InvalidArgument("cov_type", cov_type, remedy)
        return cov_type, groups, correct

    def _covariance(
        self,
        top: Maximum,
        kind: str,
        groups: Any,
        correct: bool | None,
        fixed: Mask,
    ) -> tuple[Array, InformationShares | None]:
        """Covariance of all parameters, nan where `fixed` or held, and shares of few clusters."""
        free = ~(fixed | top.held)
        full = np.full(top.hessian.shape, np.nan)
        if fixed.any():  # and nothing may be known on others, where some maxima are at infinity
            size, axes, _ = self._in_units(-top.hessian, free)
            none = size <= 1e-6 * max(float(size[-1]), 1e-300) if size.size else size > 0.0
            at = np.flatnonzero(free)
            free[at[(np.abs(axes[:, none]) > _SHARE).any(axis=1)]] = False
        size, axes, scale = self._in_units(-top.hessian, free)
        if size.size and size[0] <= 1e-9 * max(size[-1], 1e-300):
            names = np.array(self.all_names)[free]
            most = np.flatnonzero(np.abs(axes[:, 0]) > 0.3)
            remedy = "use fewer covariates or categories, or fit(penalty='jeffreys')"
            raise NotIdentified(
                f"the information of the reports on {', '.join(names[most])} is singular at the "
                f"estimate: {_ANOTHER_DEVICE if self.unknown else remedy}"
            )
        V = scale @ ((axes / size) @ axes.T) @ scale.T
        V = (V + V.T) / 2.0
        if kind == "nonrobust":
            if isinstance(self.data.outcome, Numeric):  # as for least squares
                V = V * (self.nobs / (self.nobs - len(self.data.names)))
            full[np.ix_(free, free)] = V
            return full, None
        whole = self.assembled
        scores = whole.likelihood.score_obs(top.theta)[:, free]
        shares: InformationShares | None = None
        if kind == "design":
            groups, correct = self._units, None
        if groups is not None:
            rows = scores, whole.place, whole.weights, groups
            each: Array | None = None  # expected information of each cluster, where it is known
            is_known = whole.likelihood.marginal is None and not self.unknown
            if correct is None and is_known and self.lists_reports:
                places = [np.flatnonzero(groups == one) for one in range(int(groups.max()) + 1)]
                parts = [whole.take(whole.place[at], whole.weights[at]) for at in places]
                each = np.array([part.expected().matrix(top.theta) for part in parts])
                each = each[:, free][:, :, free]
            how = rows, V, self.nobs, correct
            full[np.ix_(free, free)], shares = cluster_sandwich(*how, information=each)
        if kind != "cluster":
            full[np.ix_(free, free)] = V @ sandwich_meat(self.data, whole, kind, scores) @ V
        return full, shares and shares.among(free)

    @property
    def _units(self) -> Codes | None:
        """The sampling unit of each row, (n,), where a design has some, but not very many."""
        sample = self.data.sample
        unit = sample.stages[0].unit if sample is not None and sample.stages else None
        if unit is None:
            return None
        codes: Codes = np.unique(unit[self.data.inside], return_inverse=True)[1]
        return codes if codes.max(initial=0) < MOST_CLUSTERS else None

    def _inflation(
        self, top: Maximum, V: Array, fixed: Mask, how: tuple[str, Any, bool | None]
    ) -> Array:
        """The variance of each parameter over that by the information, which profiles assume.

        Of a parameter that a bound holds it is that which it has if let go, infinite if that is not
        known.
        """
        if how[0] == "nonrobust":
            return np.ones(top.theta.size)

        def usual(top: Maximum) -> Array:
            return np.diagonal(self._covariance(top, "nonrobust", None, None, fixed)[0])

        each = np.diagonal(V) / usual(top)
        each = np.where(np.isnan(each), 1.0, each)
        for j in np.flatnonzero(top.held & self.bounded):
            loose, each[j] = replace(top, held=top.held & (np.arange(each.size) != j)), np.inf
            with suppress(NotIdentified):
                each[j] = self._covariance(loose, *how, fixed)[0][j, j] / usual(loose)[j]
        return each

    def _in_units(self, information: Array, free: Mask) -> tuple[Array, Array, Array]:
        """Eigenvalues and vectors of information on standardised parameters, and their units."""
        scale = self.units[np.ix_(free, free)]
        scaled = scale.T @ information[np.ix_(free, free)] @ scale
        size, axes = np.linalg.eigh((scaled + scaled.T) / 2.0)
        return size, axes, scale

    def _corrected(
        self, kind: str, groups: Any, correct: bool | None, first: Array | None
    ) -> RegressionResults:
        """The root of the corrected scores, with a sandwich of it and of the law beside."""
        from scipy.linalg import block_diag

        data, likelihood = self.data, self.likelihood
        # a row for each respondent, as decoded answers depend on her report
        each = replace(self.assembled, place=np.arange(data.n))
        weights = each.weights
        phi = np.ones((data.n, 1))  # unbiased indicators of the configurations, (n, C)
        for name, reports in data.predictors.items():
            decoded = stacked_indicators(reports, weights, data.candidates.get(name))[0]
            phi = (phi[:, :, None] * decoded[:, None, :]).reshape(data.n, -1)
        response, m = data.response, self.n_shown
        if data.is_private:
            listed = data.candidates.get(data.response_name)
            response = stacked_indicators(response, weights, listed)[0]
        elif data.categories is not None:
            response = np.eye(len(data.categories))[response]
        starts = [] if first is None else [first[:m]]
        root = corrected(data.designs, phi, response, data.outcome, weights, data.offset, starts)
        if not root.on_path:
            words = "the root of the corrected score was not reached on the path from smoothed "
            words += "indicators, as happens where reports say little of the private predictors: "
            words += "it may be another than the consistent one; compare method='mle'"
            warnings.warn(words, ConvergenceWarning, 3)
        theta, bread, rows = root.theta, root.bread, root.influence
        if isinstance(data.outcome, Numeric):
            spread = max(root.scale, _LEAST * float(np.var(data.response)))
            theta = np.append(theta, 0.5 * np.log(max(spread, 1e-300)))
        if (marginal := data.law_of_predictors) is not None:
            B: Any = likelihood.B
            B = Seen(B.table, B.at[self.assembled.place])
            law = RegressionLikelihood(Multinomial(len(data.designs)), (marginal,), B, weights)
            top = search(law, np.zeros(law.size), units(law)).maximum
            theta = np.append(theta, top.theta)
            bread = block_diag(bread, -top.hessian)
            rows = np.hstack([rows, law.score_obs(top.theta)])
        inverse, shares = np.linalg.inv(bread), None
        if kind == "cluster":
            how = (rows, each.place, weights, groups), inverse, self.nobs, correct
            V, shares = cluster_sandwich(*how)
        else:
            V = inverse @ sandwich_meat(data, each, kind, rows) @ inverse.T
        whole = np.zeros((theta.size, theta.size))
        there = np.ones(theta.size, dtype=bool)
        there[m : likelihood.n_outcome] = False  # the spread of a number has no standard error
        whole[np.ix_(there, there)] = (V + V.T) / 2.0
        return RegressionResults(
            model=self,
            theta=theta,
            covariance_all=whole,
            value=root.value,
            hessian=-bread,
            method="corrected",
            penalty=None,
            cov_type=kind,
            converged=True,
            n_iter=root.n_iter,
            n_maxima=root.n_roots,
            infinite=(),
            df=self._design_df,
            shares=shares and shares.among(there),
        )


class PrivatizedLogit(PrivatizedRegression):
    """Logit, probit or complementary log-log regression of a privatised answer.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Over two categories, of which the second is success. Several are groups of respondents,
        whose rows follow one another in `X`; each may have another mechanism, `Observed` too.
    X : DataFrame or array, shape (n, p)
        Covariates. No constant is added.
    link : {"logit", "probit", "cloglog"}
    offset : array-like, shape (n,), optional
        Added to the linear predictor.
    freq_weights : array-like, shape (n,), optional
        How many respondents each row stands for.
    weights : array-like, shape (n,), optional
        Sampling weights.
    candidates : sequence of str, optional
        The two answers, for mechanisms over an open alphabet.

    Raises
    ------
    InvalidArgument
        If the reports have not two categories, or arrays do not fit.
    NotIdentified
        If covariates are linear combinations of others, or the reports say nothing.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5000)})
    >>> ill = np.where(rng.random(5000) < 1 / (1 + np.exp(0.5 - 0.8 * X.age)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=1.0).privatize(ill, rng)
    >>> results = ldp.PrivatizedLogit(reports, X).fit()
    >>> results.params.round(2)
    const   -0.42
    age      0.93
    Name: params, dtype: float64
    """

    def __init__(
        self,
        reports: Any,
        X: Any,
        link: str = "logit",
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        candidates: Any = None,
    ) -> None:
        link = one_of("link", link, tuple(LINKS))
        super().__init__(response_data(link, reports, X, offset, freq_weights, weights, candidates))


class _SeveralCategories(PrivatizedRegression):
    _family: ClassVar[str]

    def __init__(
        self,
        reports: Any,
        X: Any,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        candidates: Any = None,
    ) -> None:
        how = reports, X, offset, freq_weights, weights, candidates
        super().__init__(response_data(self._family, *how))


class PrivatizedMNLogit(_SeveralCategories):
    """Multinomial logit of a privatised answer with any number of categories.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Groups of respondents whose rows follow one another in `X`, over the same categories;
        the first is the reference.
    X : DataFrame or array, shape (n, p)
    offset : array-like, shape (n,), optional
        Added to the predictors of all categories but the reference.
    freq_weights, weights, candidates
        As for `PrivatizedLogit`.

    Raises
    ------
    InvalidArgument
        If arrays do not fit.
    NotIdentified
        If covariates are linear combinations of others, or the reports do not determine the
        frequencies of the categories.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=8000)})
    >>> score = np.column_stack([0 * X.age, 0.5 * X.age, -X.age]) + rng.gumbel(size=(8000, 3))
    >>> jobs = np.array(["nurse", "driver", "cook"])
    >>> reports = ldp.KRR(jobs, epsilon=2.0).privatize(jobs[score.argmax(axis=1)], rng)
    >>> ldp.PrivatizedMNLogit(reports, X).fit().params.round(1)
           driver  cook
    const    -0.0   0.0
    age       0.5  -1.0
    """

    _family: ClassVar[str] = "multinomial"


class PrivatizedOrderedModel(_SeveralCategories):
    """Proportional odds model of a privatised answer with ordered categories.

    ``P(y <= a) = 1/(1 + exp(x'beta - alpha_a))``. As in statsmodels' OrderedModel, coefficients are
    the slopes, the first threshold, and the logarithms of the steps from one to the next; `X` has
    no constant.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Groups of respondents whose rows follow one another in `X`, over the same categories;
        the mechanism has them in order, the lowest first.
    X : DataFrame or array, shape (n, p)
    offset : array-like, shape (n,), optional
        Added to the slopes' part of the predictor.
    freq_weights, weights, candidates
        As for `PrivatizedLogit`.

    Raises
    ------
    InvalidArgument
        If arrays do not fit.
    NotIdentified
        If covariates are linear combinations of others, or the reports do not determine the
        frequencies of the categories.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> X = pd.DataFrame({"age": rng.normal(size=8000)})
    >>> latent = 0.8 * X.age + rng.logistic(size=8000)
    >>> levels = np.array(["never", "rarely", "often"])
    >>> answers = levels[np.digitize(latent, [0.0, 1.5])]
    >>> reports = ldp.KRR(levels, epsilon=2.0).privatize(answers, rng)
    >>> ldp.PrivatizedOrderedModel(reports, X).fit().params.round(1)
    age             0.8
    never/rarely    0.0
    rarely/often    0.4
    Name: params, dtype: float64
    """

    _family: ClassVar[str] = "ordered"


class PrivatePredictors(PrivatizedRegression):
    """Regression on privatised answers, made by `regression` and `Survey.regression`.

    By maximum likelihood the outcome's law given all predictors and the law of the private
    predictors given public ones, a multinomial logit, are estimated together; the latter's
    coefficients are ``results.marginal_params``. ``fit(method="corrected")`` solves the corrected
    score equations, which need no such law. It is the default for numeric responses, of which
    maximum likelihood would need the exact law: the ages 18 to 79, all as frequent, are a mixture
    of normal laws to it, and so it found effects of 20 years, with standard errors of half a year,
    where there are none. Unknown parameters of the predictors' devices need maximum likelihood, and
    so a categorical response.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> smokes = rng.choice(["no", "yes"], p=[0.7, 0.3], size=6000)
    >>> table = pd.DataFrame({"ill": rng.random(6000) < np.where(smokes == "yes", 0.5, 0.2)})
    >>> reports = ldp.Warner(epsilon=1.5).privatize(smokes, rng)
    >>> model = ldp.regression("ill ~ smokes", table, {"smokes": reports})
    >>> model.fit().params.round(1)
    Intercept        -1.4
    smokes[T.yes]     1.4
    Name: params, dtype: float64
    """
