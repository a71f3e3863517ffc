"""Least squares of the scores of a privatised answer: model, results, summary and posterior.

A decoded report phi is unbiased for the indicator of the true answer, so that the pseudo-response
``sum_j phi_j v_j`` is unbiased for its score v, and least squares of it estimate what least squares
of the true scores would. The randomisation adds ``v' C v`` to the variance of a pseudo-response, C
the covariance of phi given the answer; residual variances less this are those of the answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import boolean, one_of
from ldpstats.errors import IncompleteListWarning, InvalidArgument, NotAvailable
from ldpstats.estimators.regression import COVARIANCES, LeastSquares, least_squares
from ldpstats.inference.chains import LogDensity
from ldpstats.inference.regression import InformationShares, cluster_sandwich
from ldpstats.inference.tests import pvalue_text
from ldpstats.likelihood.predictors import constant_column, unbiased_indicators
from ldpstats.likelihood.regression import Normal as Numeric
from ldpstats.likelihood.regression import RegressionLikelihood, Scaled
from ldpstats.models.layout import (
    LONGEST_LABEL,
    SummaryTable,
    header,
    one_line,
)
from ldpstats.models.posterior.densities import (
    LEVEL,
    SLOPE,
    SPREAD,
    CoefficientPrior,
    EstimateDensity,
    RegressionDensity,
    coefficient_prior,
)
from ldpstats.models.posterior.draws import ENGINES, chains_by, checked_draws
from ldpstats.models.posterior.results import POSITIVE, REAL, Origin, PosteriorResults
from ldpstats.models.regression.hypotheses import (
    Degrees,
    naive_params,
    reported_codes,
    wald_contrast,
)
from ldpstats.models.regression.model import RegressionModel
from ldpstats.models.regression.posterior import no_coefficient, prior_laws
from ldpstats.models.regression.presentation import (
    coefficients_table,
    few_notes,
    quantiles_in_words,
)
from ldpstats.models.regression.results import Coefficients
from ldpstats.models.regression.structure import (
    RegressionData,
    cluster_options,
    covariates,
    response_data,
    row_numbers,
)
from ldpstats.priors import Normal, checked_generator
from ldpstats.reports.single import Reports

if TYPE_CHECKING:
    from statsmodels.stats.contrast import ContrastResults

__all__ = ["PrivatizedOLS", "PrivatizedOLSResults", "pseudo_response"]


Array = npt.NDArray[Any]

FEW_RESPONDENTS = 30.0  # degrees of freedom below which HC2 alone may miss a variance
_NO_RESIDUALS = 1e-20  # of the sum of squares, which is rounding
_CERTAIN = 3.09  # standard errors of the share of other answers that has p < .001
_SCORES = 8  # scores that a note shows
_NAIVE = 6  # and naive coefficients
_FEW = 10.0  # degrees of freedom, in respondents, below which skewed answers mislead t
_WORDS = {
    "nonrobust": "equal variances",
    "HC0": "robust (HC0)",
    "HC1": "robust (HC1)",
    "HC2": "robust (HC2)",
    "HC3": "robust (HC3)",
}


class PrivatizedOLS(RegressionModel):
    """Least squares of a numeric score of a privatised answer on covariates.

    A decoded report phi is unbiased for the indicator of the true category, so that the
    pseudo-response ``sum_j phi_j v_j`` is unbiased for the score v of the true answer. Its least
    squares estimate the coefficients that least squares of the true scores would have, for every
    mechanism and whatever the law of the answers; the randomisation adds to the residuals, by
    amounts that depend on the answer, so that standard errors are robust (HC2) by default, and each
    coefficient has the degrees of freedom of Bell and McCaffrey: few for a covariate that few
    respondents have.

    Parameters
    ----------
    reports : Reports, or a list of them
        A list holds groups of respondents with different mechanisms over the same categories,
        whose rows follow one another in `X`.
    X : DataFrame or array, shape (n, p)
        Covariates, a row for each report. No constant is added.
    scores : mapping or sequence, optional
        The score of each category. By default labels that are numbers are their own scores, and
        two categories without numbers have 0 and 1: a linear probability of the second.
    offset : array, shape (n,), optional
        Is subtracted from the pseudo-response.
    freq_weights : array of whole numbers, shape (n,), optional
        How many respondents, alike in covariates and report, a row stands for.
    weights : array, shape (n,), optional
        Survey weights, which make covariances robust.
    candidates : sequence of str, optional
        The answers, for mechanisms with an open alphabet only; they are taken to be all answers.

    Raises
    ------
    InvalidArgument
        If reports, covariates or weights have other lengths, or values that are missing or not
        finite; or if categories that are not numbers have no scores.
    MechanismMismatch
        For groups over different categories.
    NotIdentified
        If columns of `X` are linear combinations of others, or there are fewer rows than columns.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.uniform(2, 8, 4000)})
    >>> answer = rng.binomial(4, X["age"] / 10)
    >>> reports = ldp.KRR([0, 1, 2, 3, 4], epsilon=2.0).privatize(answer, rng)
    >>> result = ldp.PrivatizedOLS(reports, X).fit()
    >>> result.params.round(2).to_dict()
    {'const': 0.1, 'age': 0.37}
    >>> result.cov_type, bool(result.df_inference.min() > 1000.0)
    ('HC2', True)
    """

    def __init__(
        self,
        reports: Any,
        X: Any,
        scores: Any = None,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        candidates: Any = None,
    ) -> None:
        how = offset, freq_weights, weights, candidates, scores
        super().__init__(response_data("linear", reports, X, *how))
        self._decode()

    @classmethod
    def of(cls, data: RegressionData) -> Self:
        model = super().of(data)
        model._decode()
        return model

    def _decode(self) -> None:
        data, weights = self.data, np.prod(self._weights, axis=0)
        assert data.scores is not None
        candidates = data.candidates.get(data.response_name)
        self.response = pseudo_response(data.response, data.scores, weights, candidates)

    @property
    def endog(self) -> Array:
        """The pseudo-response, shape (n,)."""
        return self.response.values

    @property
    def exog(self) -> Array:
        """The covariates, shape (n, p)."""
        return self.data.designs[0]

    @property
    def is_observed(self) -> bool:
        """Whether no report was randomised."""
        return all(group.mechanism.unprotected for group in self.data.response)

    @property
    def is_weighted(self) -> bool:
        """Whether there are survey weights."""
        return self.data.weights is not None

    @cached_property
    def _weights(self) -> tuple[Array, Array]:
        """Respondents of each row, (n,), and the weight of one."""
        data, ones = self.data, np.ones(self.data.n)
        times = ones if data.counts is None else data.counts
        return times, ones if data.weights is None else data.weights / np.where(times, times, 1.0)

    @cached_property
    def offset(self) -> Array:
        """What is subtracted from the pseudo-response, shape (n,)."""
        return np.zeros(self.data.n) if self.data.offset is None else self.data.offset

    @cached_property
    def solution(self) -> LeastSquares:
        """The fit, without a covariance."""
        return least_squares(self.exog, self.response.values - self.offset, *self._weights)

    def fit(
        self,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        use_t: bool = True,
    ) -> PrivatizedOLSResults:
        """Estimate the coefficients.

        Parameters
        ----------
        cov_type : {None, "nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}
            Covariance of the estimates. None is "nonrobust" where all mechanisms are `Observed`
            and no survey weights were given, else "HC2". "nonrobust" takes the variance of the
            pseudo-response for the same in all rows, which a randomisation makes it not.
        cov_kwds : mapping, optional
            "df_correction" (True), of "HC2" and "cluster": whether degrees of freedom are as below;
            else they are n - p. Those of "HC2" are of Bell and McCaffrey, for each coefficient;
            where they are fewer than 30 its variance is at least that of equal variances, as of
            few respondents all residuals may be alike (not with survey weights).
            "groups", for "cluster": the cluster of each row. "use_correction", for "cluster": by
            default the covariance of up to 1,000 clusters is bias-reduced (CR2), with Satterthwaite
            degrees of freedom of each coefficient. True gives it the factor
            G / (G - 1) * (n - 1) / (n - p), as in statsmodels, False none, and both G - 1 degrees
            of freedom; beyond 1,000 clusters the default is True.
        use_t : bool
            Whether tests and intervals rest on the t distribution; else on the normal one.

        Raises
        ------
        InvalidArgument
            For another covariance, or clusters that do not fit the rows.
        NotAvailable
            For a covariance that is not defined for these rows or weights.

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed(["no", "yes"]).parse("answer", ["no", "yes", "yes", "no"])
        >>> model = ldp.PrivatizedOLS(reports, np.ones((4, 1)))
        >>> model.fit().bse.round(3).to_dict()
        {'const': 0.289}
        >>> model.fit("cluster", {"groups": [1, 1, 2, 2]}).bse.to_dict()
        {'const': 0.0}
        """
        robust = not self.is_observed or self.is_weighted
        kind = ("HC2" if robust else "nonrobust") if cov_type is None else cov_type
        kind = one_of("cov_type", kind, COVARIANCES)
        if kind == "nonrobust" and self.is_weighted:
            raise NotAvailable(
                "survey weights have no covariance of type 'nonrobust': use 'HC2' or 'cluster'"
            )
        fit = self.solution
        if not self.is_observed and fit.ssr <= _NO_RESIDUALS * float(fit.times @ fit.y**2):
            raise NotAvailable(
                "the reports lie on the fitted line, as where all are equal: they show no variance "
                "although the answers were randomised. Collect more, or use a model with a "
                "likelihood, such as PrivatizedLogit, which knows the randomisation"
            )
        more = ("df_correction",) if kind in ("HC2", "cluster") else ()
        codes, correct = cluster_options(kind, cov_kwds, len(self.exog), more)
        own = boolean("cov_kwds['df_correction']", (cov_kwds or {}).get("df_correction", True))
        n_clusters = None if codes is None else int(codes.max()) + 1
        shares: InformationShares | None = None
        if codes is not None:
            if correct:
                fit.refuse_saturated()
            information: Array | None = None  # of each cluster, (G, p, p)
            if correct is None:
                each = (fit.X[:, :, None] * fit.X[:, None, :]).reshape(len(codes), -1)
                each = each * (fit.times * fit.weights)[:, None]
                information = np.column_stack([np.bincount(codes, column) for column in each.T])
                information = information.reshape(-1, fit.p, fit.p)
            rows = fit.scores(), np.arange(len(codes)), fit.times, codes
            V, shares = cluster_sandwich(rows, fit.inverse, fit.nobs, correct, information)
        else:
            V = fit.covariance(kind)
            if kind == "HC2":
                X = fit.X * np.sqrt(fit.weights)[:, None]
                shares = InformationShares.of_rows(X, fit.inverse, fit.times)
                if own and not self.is_weighted and fit.df_resid > 0.0:
                    # few residuals may be all alike, as where nobody of ten says yes, and show no
                    # variance
                    df = np.array([shares.degrees(row[None, :]) for row in np.eye(len(V))])
                    gap = np.diagonal(fit.covariance("nonrobust")) - np.diagonal(V)
                    few = df < FEW_RESPONDENTS
                    V = np.asarray(V + np.diag(np.where(few, np.maximum(gap, 0.0), 0.0)))
        return PrivatizedOLSResults(
            model=self,
            fitted=fit,
            covariance=V,
            cov_type=kind,
            df=n_clusters - 1.0 if n_clusters is not None and own else fit.df_resid,
            shares=shares,
            own_degrees=own and shares is not None,
            n_clusters=n_clusters,
            use_t=boolean("use_t", use_t),
        )

    def fit_posterior(
        self,
        rng: np.random.Generator,
        prior: Normal | Mapping[str, Normal] | None = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> PosteriorResults:
        """The posterior of the coefficients, by draws.

        A pseudo-response has no law of its own, so that the estimate takes the place of the data:
        the posterior is that of coefficients about which the least squares estimate is normal with
        the HC2 covariance (a posterior with limited information). Where no report was randomised
        it is that of the normal linear model, with sigma.

        Parameters
        ----------
        rng : numpy Generator
            The same seed gives the same draws.
        prior : Normal, mapping of str to Normal, or None
            Of all coefficients, the constant included, or of those named. By default slopes are
            normal with mean 0 and standard deviation ``2.5 s / sd(covariate)``, and the mean score
            at the means of the covariates with ``10 s``, about the mean of the scores; s is the
            standard deviation of the scores of the categories (without randomisation both are
            those of the answers).
        draws, engine
            As for `PrivatizedLogit.fit_posterior`.

        Raises
        ------
        NotAvailable
            With survey weights, and where reports show no variance.
        InvalidArgument
            For an argument that is out of range, and a prior of another coefficient.

        References
        ----------
        Y. K. Kwan, Asymptotic Bayesian analysis based on a limited information estimator, Journal
        of Econometrics 1999.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.uniform(2, 8, 4000)})
        >>> answer = rng.binomial(4, X["age"] / 10)
        >>> reports = ldp.KRR([0, 1, 2, 3, 4], epsilon=2.0).privatize(answer, rng)
        >>> posterior = ldp.PrivatizedOLS(reports, X).fit_posterior(rng, draws=1000)
        >>> posterior.params.round(1).to_dict()
        {'const': 0.1, 'age': 0.4}
        """
        generator, number = checked_generator(rng), checked_draws(draws)
        engine = one_of("engine", engine, ENGINES)
        if self.is_weighted:
            raise NotAvailable(
                "fit_posterior: survey weights leave a pseudo-likelihood, of which a posterior is "
                "not defined: use fit(), or leave out weights="
            )
        names = [*self.exog_names]

        def places(name: object) -> list[int]:
            if not isinstance(name, str) or name not in names:
                raise no_coefficient(name, names)
            return [names.index(name)]

        laws = prior_laws(prior, len(names), places)
        # the normal linear model of the pseudo-response
        design = Scaled(self.exog, 2, self.offset)
        y, times = self.response.values, self._weights[0]
        likelihood = RegressionLikelihood(Numeric(), (design,), y, times)
        density: LogDensity
        if self.is_observed:
            law = coefficient_prior(likelihood, [*names, "log(sigma)"], laws)
            density = RegressionDensity(likelihood, law)
        else:
            scores = np.asarray(self.data.scores, dtype=np.float64)
            scale = (float(scores.std()) or 1.0, float(scores.mean()))
            whole = coefficient_prior(likelihood, [*names, "log(sigma)"], laws, scale)
            rows = whole.rows[:, -1] == 0.0
            law = CoefficientPrior(whole.rows[rows, :-1], whole.mean[rows], whole.sd[rows])
            fit = self.fit("HC2")
            density = EstimateDensity(np.asarray(fit.params), np.asarray(fit.cov_params()), law)
        chains = chains_by(engine, density, generator, number)
        prior_draws = law.draw(generator, number)
        if self.is_observed:
            prior_draws[:, -1] = np.exp(prior_draws[:, -1])
        mechanisms = list(dict.fromkeys(self.data.mechanisms()))
        origin = Origin(
            nobs=self.nobs,
            n_missing=self.data.n_missing,
            epsilon=max(mechanism.epsilon for mechanism in mechanisms),
            sources=tuple(map(str, mechanisms)),
            prior=self._prior_in_words(prior, laws),
            name=self.endog_names,
            subject="Coefficients",
        )
        return PosteriorResults.of(
            chains,
            density,
            pd.Index([*names, *(["sigma"] if self.is_observed else [])]),
            origin,
            simplex=[REAL] * len(names) + [POSITIVE] * self.is_observed,
            peak=density.constrained(density.mode()),
            prior_draws=prior_draws,
            engine=engine,
        )

    def _prior_in_words(self, prior: object, laws: dict[int, tuple[float, float]]) -> str:
        """The prior as the summary shows it."""
        names = self.exog_names
        of = "response" if self.is_observed else "scores"
        words = [f"coefficients {prior!r}"] if isinstance(prior, Normal) else []
        if not words:
            words = [f"{names[j]} {Normal(*law)!r}" for j, law in laws.items()]
            constant = constant_column([self.exog])
            if set(range(len(names))) - {constant} - set(laws):
                rest = f"{'other ' if laws else ''}slopes"
                words.append(f"{rest} Normal(0, {SLOPE:g} sd({of}) / sd(x))")
            if constant is not None and constant not in laws:
                words.append(f"level at the means of the covariates of sd {LEVEL:g} sd({of})")
        if self.is_observed:
            words.append(f"log(sigma) of sd {SPREAD:g} about log sd(response)")
        return "; ".join(words)


# -- scores of the answers, each estimated without bias from its report ------------------------


@dataclass(frozen=True, eq=False)
class PseudoResponse:
    """Unbiased scores of the answers, (n,), and the weighted sum of what noise adds to variances.

    `is_open` says that other answers than those listed are possible; the listed are taken to be
    all.
    """

    values: Array
    noise: float
    is_open: bool


def pseudo_response(
    groups: list[Reports], scores: Array, weights: Array, candidates: Any
) -> PseudoResponse:
    """The scores, (k,), of decoded reports; `weights` of all rows, (n,)."""
    values, noise, start, is_open = np.zeros(len(weights)), 0.0, 0, False
    for group in groups:
        end = start + len(group)
        weighed = weights[start:end]
        if weighed.any():  # others count nowhere
            decoded = unbiased_indicators(group, weighed, candidates)
            values[start:end] = (decoded.phi @ scores)[decoded.place]
            noise += float(scores @ decoded.noise @ scores)
            is_open = is_open or decoded.is_open
            if decoded.unlisted > _CERTAIN:
                warnings.warn(
                    "candidates: the reports indicate that other answers exist, and the scores of "
                    "these are wrong: list more candidates",
                    IncompleteListWarning,
                    4,
                )
        start = end
    return PseudoResponse(values, noise, is_open)


# -- results -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrivatizedOLSResults(Coefficients):
    """Coefficients of least squares of the scores of a privatised answer.

    Attributes
    ----------
    params, bse, tvalues, pvalues : Series, shape (p,)
        Coefficients, standard errors, their ratio, and two-sided p-values.
    scale : float
        Residual variance of the pseudo-response; it holds the variance of the randomisation.
    noise_variance : float
        Estimated mean variance that the randomisation adds to a pseudo-response.
    privacy_share : float
        `noise_variance` over `scale`: the share of the residual variance that is randomisation.
    rsquared : float
        Of the pseudo-response: what the covariates explain of answers and randomisation.
    rsquared_answers : float
        Estimated R squared of the true scores; nan where their estimated variance is not positive.
    nobs, df_model, df_resid : float
        Respondents, coefficients other than a constant, and respondents less coefficients.
    df_inference : Series, shape (p,)
        Degrees of freedom of the test and interval of each coefficient.
    cov_type : str
        Covariance of the estimates.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5_000)})
    >>> days = np.clip(np.round(2 + X["age"] + rng.normal(size=5_000)), 0, 4).astype(int)
    >>> reports = ldp.KRR(range(5), epsilon=2.0).privatize(days, rng)
    >>> results = ldp.PrivatizedOLS(reports, X).fit()
    >>> results.params.round(2)
    const    1.95
    age      0.82
    Name: params, dtype: float64
    >>> f"{results.privacy_share:.2f}"
    '0.83'
    """

    model: Any
    fitted: LeastSquares
    covariance: Array
    cov_type: str
    df: float  # of tests and intervals, where not all have their own
    shares: InformationShares | None  # of respondents or clusters in the information
    own_degrees: bool  # whether contrasts have degrees of freedom of their own, by the shares
    n_clusters: int | None
    use_t: bool

    def __repr__(self) -> str:
        return f"PrivatizedOLSResults(p={self.fitted.p}, n={self.nobs:g}, {self.cov_type})"

    @property
    def index(self) -> pd.Index[Any]:
        index: pd.Index[Any] = pd.Index(self.model.exog_names)
        return index

    @property
    def _estimated(self) -> tuple[Array, Array]:
        return self.fitted.beta, self.covariance

    @property
    def degrees(self) -> Degrees:
        return self.shares.degrees if self.own_degrees and self.shares is not None else self.df

    @property
    def _df(self) -> Degrees:
        return self.degrees if self.use_t else None

    # -- the fit, and how much of the misfit is privacy --------------------------------------

    @property
    def nobs(self) -> float:
        """Number of respondents."""
        return self.fitted.nobs

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return self.fitted.df_resid

    @property
    def df_model(self) -> float:
        """Coefficients other than a constant."""
        return float(self.fitted.p - self.k_constant)

    @property
    def scale(self) -> float:
        """Residual variance of the pseudo-response."""
        return self.fitted.scale

    @cached_property
    def k_constant(self) -> int:
        """1 if a constant is a column of X or a combination of columns, else 0."""
        X = self.fitted.X
        ones = np.ones(len(X))
        explained = X @ np.linalg.lstsq(X, ones, rcond=None)[0]
        return int(np.abs(explained - ones).max() < 1e-8)

    @cached_property
    def _tss(self) -> float:
        """Total sum of squares, about the mean where there is a constant."""
        y, a = self.fitted.y, self.fitted.times * self.fitted.weights
        mean = float(a @ y) / float(a.sum()) if self.k_constant else 0.0
        return float(a @ (y - mean) ** 2)

    @property
    def rsquared(self) -> float:
        """Share of the variance of the pseudo-response that X explains; nan if it has none."""
        return 1.0 - self.fitted.ssr / self._tss if self._tss > 0.0 else float("nan")

    @property
    def rsquared_adj(self) -> float:
        """`rsquared`, adjusted for the number of coefficients."""
        if self.df_resid <= 0.0:
            return float("nan")
        return 1.0 - (self.nobs - self.k_constant) / self.df_resid * (1.0 - self.rsquared)

    @property
    def noise_variance(self) -> float:
        """Mean variance that the randomisation adds to a pseudo-response, estimated."""
        total = float(np.sum(self.fitted.times * self.fitted.weights))
        return float(self.model.response.noise) / total

    @property
    def privacy_share(self) -> float:
        """Share of the residual variance that is randomisation, estimated; it may exceed 1."""
        # the residual variance of a respondent, whatever the unit of the weights
        total = float(np.sum(self.fitted.times * self.fitted.weights))
        size = self.fitted.ssr / total * self.nobs / max(self.df_resid, 1.0)
        return self.noise_variance / size if size > 0.0 else float("nan")

    @property
    def rsquared_answers(self) -> float:
        """R squared of the true scores, estimated: variances less that of the randomisation."""
        noise = float(self.model.response.noise)
        left, total = self.fitted.ssr - noise, self._tss - noise
        return 1.0 - left / total if left > 0.0 and total > 0.0 else float("nan")

    @property
    def fvalue(self) -> float:
        """F statistic of all coefficients but the constant; nan where there are none."""
        return self._overall()[0]

    @property
    def f_pvalue(self) -> float:
        """p-value of `fvalue`."""
        return self._overall()[1]

    def _overall(self) -> tuple[float, float]:
        """F test of all coefficients but the constant, and its p-value."""
        fit = self.fitted
        if self.cov_type == "nonrobust" and self.df_model > 0.0 and fit.ssr > 0.0:
            from scipy.special import fdtrc

            f = (self._tss - fit.ssr) / self.df_model / self.scale
            return f, float(fdtrc(self.df_model, self.df_resid, f))
        constant = np.flatnonzero((np.ptp(fit.X, axis=0) == 0.0) & (fit.X[0] != 0.0))[:1]
        tested = np.delete(np.eye(fit.p), constant, axis=0)
        implied = self.k_constant and not constant.size
        if not len(tested) or implied or not np.any(self.covariance):
            return float("nan"), float("nan")
        zero = np.zeros(len(tested))
        try:
            test = wald_contrast(fit.beta, self.covariance, tested, zero, self.degrees)
        except NotAvailable:  # too few clusters for so many coefficients together
            return float("nan"), float("nan")
        return float(test.statistic), float(test.pvalue)

    @property
    def llf(self) -> float:
        """Gaussian log-likelihood, of unprotected answers only.

        Raises
        ------
        NotAvailable
            For randomised reports, or with survey weights.
        """
        self._refuse_pseudo("llf")
        n = self.nobs
        return -n / 2.0 * float(np.log(2.0 * np.pi * self.fitted.ssr / n) + 1.0)

    def _refuse_pseudo(self, what: str) -> None:
        if not self.model.is_observed:
            raise NotAvailable(
                f"{what}: the Gaussian likelihood of decoded reports is not the likelihood of the "
                "reports; compare models by wald_test, or fit a model with a likelihood "
                "(PrivatizedLogit, PrivatizedMNLogit, PrivatizedOrderedModel)"
            )
        if self.model.is_weighted:
            raise NotAvailable(f"{what}: survey weights leave no likelihood; use wald_test")

    # -- prediction --------------------------------------------------------------------------

    @property
    def fittedvalues(self) -> Array:
        """Expected scores of the respondents, shape (n,)."""
        return np.asarray(self.fitted.X @ self.fitted.beta + self.model.offset)

    @property
    def resid(self) -> Array:
        """Pseudo-responses less `fittedvalues`, shape (n,): they hold the randomisation."""
        return self.fitted.resid

    def predict(self, exog: Any = None, offset: Any = None) -> Any:
        """Expected scores of true answers.

        Parameters
        ----------
        exog : DataFrame or array, shape (m, p), optional
            The columns of X; those of a table are found by name. Of a model from a formula also
            the columns that the formula names. By default the respondents.
        offset : array, shape (m,), optional
            Zero by default; that of the fit where `exog` is not given.

        Returns
        -------
        Series, shape (m,), for a table, else array

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed([0, 1, 2]).parse("answer", [0, 1, 2, 1, 1])
        >>> ldp.PrivatizedOLS(reports, np.ones((5, 1))).fit().predict([[1.0]]).round(2).tolist()
        [1.0]
        """
        if exog is None:
            if offset is None:
                return self.fittedvalues
            shift = row_numbers("offset", offset, len(self.fitted.y))
            return np.asarray(self.fitted.X @ self.fitted.beta + shift)
        if isinstance(exog, pd.DataFrame) and set(self.names) <= set(map(str, exog.columns)):
            named = exog.set_axis([str(one) for one in exog.columns], axis=1)
            X = covariates(named[self.names], len(exog), name="exog")[0]
        elif isinstance(exog, pd.DataFrame) and self.model.data.formula is not None:
            (X,) = self.model.data.formula.exog(exog)
        else:
            try:
                m = len(exog)
            except Exception:  # a number, or somebody else's object
                m = -1
            X = covariates(exog, m, name="exog")[0]
            if X.shape[1] != len(self.names):
                columns = ", ".join(self.names[:8])
                remedy = f"must have the {len(self.names)} columns of X: {columns}"
                raise InvalidArgument("exog", f"{X.shape[1]} columns", remedy)
        mean = X @ self.fitted.beta
        if offset is not None:
            mean = mean + row_numbers("offset", offset, len(mean))
        if isinstance(exog, pd.DataFrame):
            return pd.Series(mean, index=exog.index, name="predicted")
        return mean

    # -- tests -------------------------------------------------------------------------------

    def wald_test(self, hypothesis: Any, use_f: bool | None = None) -> ContrastResults:
        """Wald test of several linear restrictions together.

        Parameters
        ----------
        hypothesis : str, list of str, array, or pair (R, value)
        use_f : bool, optional
            Whether the test is an F test; by default as the fit uses t. Else it is a chi-square
            test.
        """
        is_f = self.use_t if use_f is None else boolean("use_f", use_f)
        df = self.degrees if is_f else None
        return wald_contrast(*self._estimated, *self._hypothesis(hypothesis), df)

    def f_test(self, hypothesis: Any) -> ContrastResults:
        """F test of several linear restrictions together."""
        return self.wald_test(hypothesis, use_f=True)

    def _naive(self) -> Array:
        model = self.model
        y = model.data.scores[reported_codes(model.data.response, model.categories)]
        weights = self.fitted.times * self.fitted.weights
        return naive_params(Numeric(), [self.fitted.X], y, None, weights, model.offset)

    # -- presentation ------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {
            "name": self._subject,
            "mechanism": "; ".join(self.mechanisms),
            "method": "least squares",
            "cov_type": self.cov_type,
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.model.data.n_missing,
            "k": len(self.model.categories),
            "df_model": self.df_model,
            "df_resid": self.df_resid,
            "rsquared": self.rsquared,
            "rsquared_answers": self.rsquared_answers,
            "privacy_share": self.privacy_share,
            **self._criteria(),
            "converged": True,
        }

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms, one for each group."""
        return [str(group.mechanism) for group in self.model.data.response]

    @property
    def epsilon(self) -> float:
        """Privacy of a report in nats; of several mechanisms the weakest."""
        return float(max(group.mechanism.epsilon for group in self.model.data.response))

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        frame = self._tidy(alpha)
        shown = frame.iloc[:max_rows]
        title = f"Least squares of {one_line(self.model.endog_names, LONGEST_LABEL)}"
        notes = _notes(self, len(shown), len(frame), details)
        return coefficients_table(self, title, _header(self, details), shown, alpha, notes)


def _header(result: PrivatizedOLSResults, details: bool) -> list[list[str]]:
    """What was fitted to which reports, in two columns."""
    model = result.model
    several = len(model.data.response) > 1
    left = [
        (
            "Mechanisms:" if several and not i else "" if i else "Mechanism:",
            f"{group.mechanism}" + (f", n = {len(group)}" if several else ""),
        )
        for i, group in enumerate(model.data.response)
    ]
    clusters = f"{result.n_clusters} clusters" + (" (CR2)" if result.shares is not None else "")
    covariance = _WORDS.get(result.cov_type, clusters)
    left += [("Covariance:", covariance), ("R2, reports:", f"{result.rsquared:.4f}")]
    if not model.is_observed:
        share = result.rsquared_answers
        left.append(("R2, answers:", "-" if np.isnan(share) else f"{share:.4f}"))
    right = [
        ("No. Reports:", f"{result.nobs:g}"),
        ("Missing:", str(model.data.n_missing)),
        ("Epsilon, largest:" if several else "Epsilon (nats):", result.epsilon),
        ("Df residuals:", f"{result.df_resid:g}"),
    ]
    if details:
        left.append(("F statistic:", "-" if np.isnan(result.fvalue) else f"{result.fvalue:.4g}"))
        right.append(("Residual variance:", f"{result.scale:.6g}"))
    return header(left, right)


def _notes(result: PrivatizedOLSResults, n_shown: int, n: int, details: bool) -> list[str]:
    """What tests and intervals are, and what the randomisation does to them."""
    model = result.model
    law = quantiles_in_words(result.df_inference, result.use_t)
    least = 4.0 if result.n_clusters is not None else _FEW
    notes = [f"Intervals and p-values: Wald, {law}.", *few_notes(result.df_inference, least)]
    if n_shown < n:
        notes.append(f"Shown: the first {n_shown} of {n} coefficients.")
    if not np.isnan(result.fvalue):
        notes.append(
            f"All coefficients but the constant are zero: {pvalue_text(result.f_pvalue, 'p')}."
        )
    if details or len(model.categories) <= _SCORES:
        pairs = list(zip(model.categories.tolist(), model.data.scores.tolist(), strict=True))
        if any(label != score for label, score in pairs):
            text = ", ".join(f"{one_line(a, LONGEST_LABEL)} = {v:g}" for a, v in pairs[:40])
            notes.append(f"Scores: {text}{', ...' if len(pairs) > 40 else ''}.")
    if not model.is_observed:
        share = result.privacy_share
        percent = "an unknown part" if np.isnan(share) else f"{100.0 * share:.0f}%"
        notes.append(
            "NOTE: the response is decoded from the reports, and residuals hold the randomisation, "
            f"which is {percent} of their variance. The R2 of the reports "
            "is not that of the answers; there is no likelihood."
        )
        try:
            naive = list(result.compare_naive()["naive"].items())
        except NotAvailable:  # nobody could take them for answers
            naive = []
        if naive:
            slopes = [f"{one_line(name, LONGEST_LABEL)} {b:.3g}" for name, b in naive[:_NAIVE]]
            text = ", ".join(slopes) + (", ..." if len(naive) > _NAIVE else "")
            notes.append(f"Naive coefficients, of the reports as if they were answers: {text}.")
        if result.cov_type == "nonrobust":
            notes.append(
                "WARNING: the randomisation makes the variances of the response unequal, and the "
                "standard errors assume that they are equal: use cov_type='HC2'."
            )
    if model.response.is_open:
        notes.append("NOTE: the candidates are taken to be all answers.")
    if result.n_clusters is not None and result.shares is None and result.n_clusters < 50:
        notes.append(
            f"WARNING: {result.n_clusters} clusters are few for a covariance; intervals may cover "
            "less often than stated."
        )
    return notes
