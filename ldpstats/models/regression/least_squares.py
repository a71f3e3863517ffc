"""Least squares of the scores of a privatised answer: model, results, summary and posterior.

A decoded report phi is unbiased for the indicator of the true answer, so that the pseudo-response
``sum_j phi_j v_j`` is unbiased for its score v, and least squares of it estimate what least squares
of the true scores would. The randomisation adds ``v' C v`` to the variance of a pseudo-response, C
the covariance of phi given the answer; residual variances less this are those of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, one_of, record
from ldpstats.errors import NotAvailable
from ldpstats.estimators.regression import COVARIANCES, LeastSquares, least_squares
from ldpstats.inference.regression import InformationShares, cluster_sandwich
from ldpstats.inference.tests import pvalue_text
from ldpstats.labels import Labels
from ldpstats.models.contrasts import Contrasts
from ldpstats.models.layout import LONGEST_LABEL, Frame, Heading, Pair, figures, one_line
from ldpstats.models.regression.coefficients import KINDS, Coefficients
from ldpstats.models.regression.fitted import FittedLaw
from ldpstats.models.regression.hypotheses import Degrees, wald_contrast
from ldpstats.models.regression.model import PrivatizedRegression
from ldpstats.models.regression.structure import (
    Assembled,
    assemble,
    cluster_options,
    response_data,
)

FEW_RESPONDENTS = 30.0  # degrees of freedom below which HC2 alone may miss a variance
_SCORES = 8  # scores that a note shows
_NO_RESIDUALS = 1e-20  # of the sum of squares, which is rounding


class PrivatizedOLS(PrivatizedRegression):
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
    freq_weights, candidates
        As for `PrivatizedLogit`.
    weights : array, shape (n,), optional
        Survey weights, which make covariances robust.

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

    @property
    def is_exact(self) -> bool:
        return self.is_observed

    @cached_property
    def assembled(self) -> Assembled:
        """The normal linear model of the pseudo-response."""
        return assemble(replace(self.data, response=self.endog))

    @cached_property
    def solution(self) -> LeastSquares:
        """The fit, without a covariance."""
        data, y = self.data, self.endog
        y, times = y if data.offset is None else y - data.offset, data.times
        return least_squares(self.exog, y, times, data.mass / np.maximum(times, 1.0))

    def fit(  # type: ignore[override]
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
        X, df = fit.X * np.sqrt(fit.weights)[:, None], fit.df_resid
        n_clusters: int | None = None
        shares: InformationShares | None = None
        if codes is not None:
            if correct:
                fit.refuse_saturated()
            n_clusters = int(codes.max()) + 1
            rows = fit.scores(), np.arange(len(codes)), fit.times, codes
            how = rows, fit.inverse, fit.nobs, correct
            V, shares = cluster_sandwich(*how, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1))
            df = n_clusters - 1.0 if own else df
        else:
            V = fit.covariance(kind)
            if kind == "HC2":
                shares = InformationShares.of_rows(X, fit.inverse, fit.times)
            if shares is not None and own and not self.is_weighted and df > 0.0:
                # few residuals may be all alike, as where nobody of ten says yes, and show no
                # variance
                few = np.array([shares.degrees(one[None, :]) for one in np.eye(len(V))])
                gap = np.diagonal(fit.covariance("nonrobust")) - np.diagonal(V)
                wider = np.where(few < FEW_RESPONDENTS, np.maximum(gap, 0.0), 0.0)
                V = np.asarray(V + np.diag(wider))
        return PrivatizedOLSResults(
            model=self,
            fitted=fit,
            covariance=V,
            cov_type=kind,
            df=df,
            shares=shares,
            own_degrees=own and shares is not None,
            n_clusters=n_clusters,
            use_t=boolean("use_t", use_t),
        )


# -- results -----------------------------------------------------------------------------------


@record
class PrivatizedOLSResults(Coefficients):
    """Coefficients of least squares of the scores of a privatised answer.

    The residual variance, `scale`, is that of the pseudo-response and holds the randomisation, as
    `rsquared` does; `rsquared_answers` and `privacy_share` are estimates of what it does to them.

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

    method: ClassVar[str] = "least squares"
    penalty: ClassVar[None] = None
    penalises: ClassVar[bool] = False
    infinite: ClassVar[tuple[str, ...]] = ()
    converged: ClassVar[bool] = True
    n_maxima: ClassVar[int] = 1
    _covariances = KINDS | {"nonrobust": "equal variances"}

    @property
    def why_wald(self) -> str:
        """Why tests and intervals are Wald."""
        if self.model.is_observed and self.cov_type == "nonrobust":
            return "they are exact for normal answers"
        return "least squares have no likelihood"

    @property
    def index(self) -> Labels:
        index: Labels = pd.Index(self.model.exog_names)
        return index

    @property
    def _estimated(self) -> tuple[Array, Array]:
        return self.fitted.beta, self.covariance

    @property
    def _contrast_df(self) -> Degrees:
        """Degrees of freedom of F tests."""
        return self.shares.degrees if self.own_degrees and self.shares is not None else self.df

    @property
    def degrees(self) -> Degrees:
        return self._contrast_df if self.use_t else None

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
        return int(self.model.spans_constant)

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
        return float(self.model.response.noise / (self.fitted.times @ self.fitted.weights))

    @property
    def privacy_share(self) -> float:
        """Share of the residual variance that is randomisation, estimated; it may exceed 1."""
        # of the residual variance of a respondent, whatever the unit of the weights
        size = self.fitted.ssr * self.nobs / max(self.df_resid, 1.0)
        return float(self.model.response.noise) / size if size > 0.0 else float("nan")

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
        constant = self.model.constant
        tested = np.eye(fit.p) if constant is None else np.delete(np.eye(fit.p), constant, axis=0)
        implied = constant is None and self.k_constant
        if not len(tested) or implied or not np.any(self.covariance):
            return float("nan"), float("nan")
        zero = np.zeros(len(tested))
        try:
            test = wald_contrast(fit.beta, self.covariance, tested, zero, self._contrast_df)
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
        return np.asarray(self.model.endog - self.resid)

    @property
    def resid(self) -> Array:
        """Pseudo-responses less `fittedvalues`, shape (n,): they hold the randomisation."""
        return self.fitted.resid

    @cached_property
    def law(self) -> FittedLaw:
        """The expected score of a true answer, and the variance of the pseudo-response about it."""
        theta = np.append(self.fitted.beta, 0.5 * np.log(max(self.scale, 1e-300)))
        V = np.pad(self.covariance, (0, 1))
        df = float(np.nanmin(self._each_df)) if self.use_t else None
        return FittedLaw(self.model.data, self.model.assembled, theta, V, df)

    # -- tests -------------------------------------------------------------------------------

    def wald_test(self, hypothesis: Any, use_f: bool | None = None) -> Contrasts:
        """Wald test of several linear restrictions together.

        Parameters
        ----------
        hypothesis : str, list of str, array, or pair (R, value)
        use_f : bool, optional
            Whether the test is an F test; by default as the fit uses t. Else it is a chi-square
            test.
        """
        is_f = self.use_t if use_f is None else boolean("use_f", use_f)
        df = self._contrast_df if is_f else None
        return wald_contrast(*self._estimated, *self._hypothesis(hypothesis), df)

    def f_test(self, hypothesis: Any) -> Contrasts:
        """F test of several linear restrictions together."""
        return self.wald_test(hypothesis, use_f=True)

    # -- presentation ------------------------------------------------------------------------

    def _heading(self) -> Heading:
        name, left, right = super()._heading()
        right.append(("R2, reports:", f"{self.rsquared:.4f}"))
        if not self.model.is_observed:
            (share,) = figures([self.rsquared_answers], 4)
            right.append(("R2, answers:", share))
        if self.n_clusters is not None:
            right.append(("Clusters:", self.n_clusters))
        return name, left, right

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        left, right = super()._computed()
        F = "-" if np.isnan(self.fvalue) else f"{self.fvalue:.4g}"
        return left, [*right, ("F statistic:", F), ("Residual variance:", self.scale)]

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        """What the scores are, and what the randomisation does to least squares of them."""
        notes, model = self._naive_notes(), self.model
        if not np.isnan(self.fvalue):
            text = pvalue_text(self.f_pvalue, "p")
            notes.append(f"All coefficients but the constant are zero: {text}.")
        if details or len(model.categories) <= _SCORES:
            pairs = list(zip(model.categories.tolist(), model.data.scores.tolist(), strict=True))
            if any(label != score for label, score in pairs):
                text = ", ".join(f"{one_line(a, LONGEST_LABEL)} = {v:g}" for a, v in pairs[:40])
                notes.append(f"Scores: {text}{', ...' if len(pairs) > 40 else ''}.")
        if not model.is_observed:
            share = self.privacy_share
            percent = "an unknown part" if np.isnan(share) else f"{100.0 * share:.0f}%"
            notes.append(
                "NOTE: the response is decoded from the reports, and residuals hold the "
                f"randomisation, which is {percent} of their variance. The R2 of the reports is "
                "not that of the answers; there is no likelihood."
            )
            if self.cov_type == "nonrobust":
                notes.append(
                    "WARNING: the randomisation makes the variances of the response unequal, and "
                    "the standard errors assume that they are equal: use cov_type='HC2'."
                )
        if model.response.is_open:
            notes.append("NOTE: the candidates are taken to be all answers.")
        if self.n_clusters is not None and self.shares is None and self.n_clusters < 50:
            notes.append(
                f"WARNING: {self.n_clusters} clusters are few for a covariance; intervals may "
                "cover less often than stated."
            )
        return notes

    def _facts(self) -> dict[str, Any]:
        facts = super()._facts() | {"mechanism": "; ".join(self.mechanisms)}
        del facts["penalty"]
        last = {name: facts.pop(name) for name in ("llf", "aic", "bic", "converged")}
        shares = ("rsquared", "rsquared_answers", "privacy_share")
        return facts | {name: getattr(self, name) for name in shares} | last

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms, one for each group."""
        return [str(group.mechanism) for group in self.model.data.response]

    @property
    def epsilon(self) -> float:
        """Privacy of a report in nats; of several mechanisms the weakest."""
        return float(max(group.mechanism.epsilon for group in self.model.data.response))
