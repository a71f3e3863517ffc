"""Least squares of the scores of a privatised answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import boolean, one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.regression.least_squares import (
    COVARIANCES,
    LeastSquares,
    least_squares,
)
from ldpstats.inference.regression.sandwich import (
    MOST_CLUSTERS,
    InformationShares,
    cluster_sandwich,
)
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.least_squares.posterior import least_squares_posterior
from ldpstats.models.regression.least_squares.pseudo_response import answer_scores, pseudo_response
from ldpstats.models.regression.least_squares.results import PrivatizedOLSResults
from ldpstats.models.regression.rows import (
    cluster_codes,
    covariates,
    refuse_aliased,
    report_groups,
    response_name,
    row_numbers,
    row_weights,
    same_labels,
    whole_weights,
)
from ldpstats.priors import Normal

__all__ = ["PrivatizedOLS"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

FEW_RESPONDENTS = 30.0  # degrees of freedom below which HC2 alone may miss a variance
_NO_RESIDUALS = 1e-20  # of the sum of squares, which is rounding


class PrivatizedOLS:
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

    formula: Any = None  # makes designs of other tables, `Design`

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
        self.groups = report_groups(reports)
        n = sum(map(len, self.groups))
        self.n_missing = sum(group.n_missing for group in self.groups)
        self.labels = same_labels(self.groups, candidates)
        self.candidates = candidates
        self.exog, self.exog_names = covariates(X, n, self.n_missing)
        self.scores = answer_scores(scores, self.labels)
        self.offset = np.zeros(n) if offset is None else row_numbers("offset", offset, n)
        self.times = whole_weights("freq_weights", freq_weights, n)
        self.weights = row_weights("weights", weights, n)
        self.is_weighted = weights is not None
        total = self.times * self.weights
        if not total.any():
            raise InvalidArgument("weights", weights, "are all zero where freq_weights are not")
        self.response = pseudo_response(self.groups, self.scores, total, candidates)
        refuse_aliased(self.exog, self.exog_names, total)
        self._fitted: LeastSquares | None = None

    @property
    def endog(self) -> Array:
        """The pseudo-response, shape (n,)."""
        return self.response.values

    @property
    def endog_names(self) -> str:
        """Name of the answer."""
        return response_name(self.groups, self.exog_names, "answer")

    @property
    def is_observed(self) -> bool:
        """Whether no report was randomised."""
        return all(group.mechanism.unprotected for group in self.groups)

    @property
    def solution(self) -> LeastSquares:
        """The fit, without a covariance."""
        if self._fitted is None:
            y = self.response.values - self.offset
            self._fitted = least_squares(self.exog, y, self.times, self.weights)
        return self._fitted

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
        clusters, correct, own = self._options(kind, cov_kwds)
        shares = None
        if clusters is not None:
            V, shares = _by_cluster(fit, clusters[0], correct)
        else:
            V = fit.covariance(kind)
            if kind == "HC2":
                X = fit.X * np.sqrt(fit.weights)[:, None]
                shares = InformationShares.of_rows(X, fit.inverse, fit.times)
                if own and not self.is_weighted and fit.df_resid > 0.0:
                    V = _at_least_equal(V, fit.covariance("nonrobust"), shares)
        return PrivatizedOLSResults(
            model=self,
            fitted=fit,
            covariance=V,
            cov_type=kind,
            df=clusters[1] - 1.0 if clusters is not None and own else fit.df_resid,
            shares=shares,
            own_degrees=own and shares is not None,
            n_clusters=None if clusters is None else clusters[1],
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
        return least_squares_posterior(self, rng, prior, draws, engine)

    def _options(
        self, kind: str, given: object
    ) -> tuple[tuple[Codes, int] | None, bool | None, bool]:
        """Clusters, how their covariance is corrected, and whether degrees of freedom are."""
        options = {} if given is None else given
        if not isinstance(options, Mapping):
            remedy = "must be a mapping, for example {'groups': household}"
            raise InvalidArgument("cov_kwds", given, remedy)
        own = boolean("cov_kwds['df_correction']", options.get("df_correction", True))
        if kind != "cluster":
            if set(options) - ({"df_correction"} if kind == "HC2" else set()):
                raise InvalidArgument("cov_kwds", given, "goes with cov_type='cluster' only")
            return None, False, own
        unknown = set(options) - {"groups", "use_correction", "df_correction"}
        if unknown or "groups" not in options:
            remedy = (
                "must have 'groups', the cluster of each row, and may have 'use_correction' and "
                "'df_correction'"
            )
            raise InvalidArgument("cov_kwds", sorted(map(str, options)), remedy)
        clusters = cluster_codes(options["groups"], len(self.exog))
        correct = options.get("use_correction", True if clusters[1] > MOST_CLUSTERS else None)
        if correct is not None:
            correct = boolean("cov_kwds['use_correction']", correct)
        return clusters, correct, own


def _at_least_equal(V: Array, equal: Array, shares: InformationShares) -> Array:
    """V, where few respondents tell a coefficient with at least the variance of `equal`.

    Few residuals may be all alike, as where nobody of ten says yes, and show no variance.
    """
    few = np.array([shares.degrees(row[None, :]) < FEW_RESPONDENTS for row in np.eye(len(V))])
    lacking = np.maximum(np.diagonal(equal) - np.diagonal(V), 0.0)
    return np.asarray(V + np.diag(np.where(few, lacking, 0.0)))


def _by_cluster(
    fit: LeastSquares, codes: Codes, correct: bool | None
) -> tuple[Array, InformationShares | None]:
    """Covariance by clusters, (p, p), and their shares; see `cluster_sandwich`."""
    if correct:
        fit.refuse_saturated()
    rows = fit.scores(), np.arange(len(codes)), fit.times, codes
    information = None
    if correct is None:
        each = (fit.X[:, :, None] * fit.X[:, None, :]).reshape(len(codes), -1)
        each = each * (fit.times * fit.weights)[:, None]
        information = np.column_stack([np.bincount(codes, column) for column in each.T])
        information = information.reshape(-1, fit.p, fit.p)
    return cluster_sandwich(rows, fit.inverse, fit.nobs, correct, information)
