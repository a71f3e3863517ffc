"""What a fit has estimated, and the likelihood there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference.regression.sandwich import InformationShares
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.regression.contrasts import Degrees
from ldpstats.models.regression.naming import shaped
from ldpstats.models.regression.null import conditional_value, null_results
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Normal, Ordered

__all__ = ["FittedRegression"]

Array = npt.NDArray[Any]

_MOST_PROFILES = 30  # coefficients up to which each is profiled
_MANY = 50_000  # rows from which on profiles are made only if they may differ from Wald,
_SMALL = 0.05  # as where no standardised coefficient is known to this


@dataclass(frozen=True, eq=False, repr=False)
class FittedRegression:
    """Estimates of a regression, their covariance, and the likelihood.

    Parameters
    ----------
    model : RegressionStructure
    theta : array
        All parameters: coefficients of the outcome, and of the law of private predictors.
    covariance_all : array
        Covariance of `theta`; nan where an estimate is infinite.
    value : float
        Of what was maximised.
    hessian : array
        Its second derivatives.
    method, penalty, cov_type : str
    converged : bool
    n_iter : int
    n_maxima : int
        Distinct local maxima that were met from several starts.
    infinite : tuple of str
        Coefficients whose maximum is at infinity.
    df : float or None
        Degrees of freedom of t quantiles; None for normal ones.
    shares : InformationShares or None
        Of the clusters, if each coefficient has degrees of freedom of its own.
    """

    model: RegressionStructure
    theta: Array
    covariance_all: Array
    value: float
    hessian: Array
    method: str
    penalty: str | None
    cov_type: str
    converged: bool
    n_iter: int
    n_maxima: int
    infinite: tuple[str, ...]
    df: float | None = None
    shares: InformationShares | None = None

    # -- coefficients --------------------------------------------------------------------------

    @property
    def _m(self) -> int:
        return self.model.n_shown

    @property
    def shown(self) -> list[int]:
        """Places in `theta` of what is reported: coefficients, and unknown parameters last."""
        size = len(self.theta)
        return [*range(self._m), *range(size - len(self.model.unknown), size)]

    @property
    def _shown_names(self) -> list[str]:
        names = self.model.all_names
        return [names[j] for j in self.shown]

    @cached_property
    def params(self) -> Any:
        """Coefficients: a Series, or a DataFrame with a column for each equation (multinomial).

        Those whose maximum is at infinity are infinite; predictions take `theta`, which is far out.
        """
        far = [name in self.infinite for name in self._shown_names]
        found = self.theta[self.shown]
        return shaped(self.model, np.where(far, np.copysign(np.inf, found), found), "params")

    @cached_property
    def bse(self) -> Any:
        """Standard errors, shaped as `params`; nan for infinite estimates."""
        return shaped(self.model, np.sqrt(np.diagonal(self.covariance_all)[self.shown]), "bse")

    @property
    def tvalues(self) -> Any:
        """Coefficients in standard errors."""
        return self.params / self.bse

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None or self.shares is not None

    @property
    def degrees(self) -> Degrees:
        """Degrees of freedom of contrasts of what is shown; None for normal quantiles."""
        return self.df if self.shares is None else self.shares.degrees

    @cached_property
    def df_inference(self) -> Any:
        """Degrees of freedom of each coefficient's t quantile, shaped as `params`.

        Infinite for normal quantiles; nan where single clusters determine a coefficient, so that
        its variance cannot be estimated.
        """
        df, m = self.degrees, len(self.shown)
        each = [df(row[None, :]) if callable(df) else df for row in np.eye(m)]
        return shaped(self.model, np.array([np.inf if v is None else v for v in each]), "df")

    @property
    def _each_df(self) -> Any:
        """Degrees of freedom of t quantiles: one, those of what is shown, or None."""
        return np.asarray(self.df_inference).T.ravel() if self.shares is not None else self.df

    @property
    def uses_likelihood(self) -> bool:
        """Whether default tests and intervals are from the likelihood, and not Wald."""
        return not self.why_wald

    @property
    def penalises(self) -> bool:
        """Whether profiles are of the penalised likelihood."""
        return not isinstance(self.model.data.outcome, Normal)

    def parameter_notes(self) -> list[str]:
        """What the summary says of unknown parameters of devices."""
        return []

    @cached_property
    def why_wald(self) -> str:
        """Why default tests and intervals are Wald; "" where they are from the likelihood."""
        if self.method == "corrected":
            return "corrected scores have no likelihood"
        if self.cov_type != "nonrobust":
            kind = "that of the design" if self.cov_type == "design" else self.cov_type
            return f"the likelihood does not know the covariance, which is {kind}"
        if self.use_t and self.model.is_exact:
            return "they are exact for least squares"
        if len(self.shown) > _MOST_PROFILES:
            return f"there are more than {_MOST_PROFILES} coefficients"
        if self.model.likelihood.n > _MANY and self._largest_error < _SMALL:
            return "with so much information the likelihood is quadratic"
        return ""

    @cached_property
    def _largest_error(self) -> float:
        """The largest standard error of a coefficient of a standardised covariate."""
        if self.infinite:
            return float("inf")
        units, m = self.model.units, self._m
        inverse = np.linalg.inv(units[:m, :m])
        V = inverse @ self.covariance_all[:m, :m] @ inverse.T
        return float(np.sqrt(np.diagonal(V).max()))

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients, (p, p); equation by equation (multinomial)."""
        names, V = self._shown_names, self.covariance_all[np.ix_(self.shown, self.shown)]
        return pd.DataFrame(V, index=names, columns=names)

    @cached_property
    def marginal_params(self) -> pd.DataFrame | None:
        """Coefficients of the law of the private predictors, a column for each configuration."""
        marginal = self.model.data.marginal
        if marginal is None or self.method == "corrected":
            return None
        labels = [
            one[0] if len(one) == 1 else one for one in list(self.model.data.configurations)[1:]
        ]
        own = self.model.likelihood
        gamma = self.theta[own.n_outcome : own.size].reshape(len(labels), -1).T
        columns = pd.Index(labels, tupleize_cols=False)
        return pd.DataFrame(gamma, index=list(marginal.columns), columns=columns)

    @property
    def scale(self) -> float:
        """Variance of a numeric outcome about its mean; one for others."""
        if not isinstance(self.model.data.outcome, Normal):
            return 1.0
        n, p = self.model.nobs, len(self.model.data.names)
        sigma = float(np.exp(self.theta[self._m]))
        return sigma**2 * n / (n - p)

    # -- likelihood ----------------------------------------------------------------------------

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return self.model.nobs

    @property
    def llf(self) -> float:
        """Log-likelihood of the reports of the response, given the public covariates.

        With private predictors it is given their reports too: the log-likelihood of all reports
        given the public covariates, which the fit maximises, less that of the predictors' reports
        alone at the same estimate. `llnull`, `aic` and `bic` are of the same likelihood; `llr` is
        of all reports.
        """
        return conditional_value(self.at_estimate, self.theta[: self.at_estimate.size])

    @property
    def at_estimate(self) -> RegressionLikelihood:
        """The likelihood of coefficients, with the devices as they are estimated."""
        return self.model.likelihood

    @cached_property
    def _null(self) -> tuple[float, float]:
        return null_results(self.model, self.theta)

    @property
    def llnull(self) -> float:
        """Log-likelihood of the model without covariates."""
        return self._null[0]

    @property
    def llr(self) -> float:
        """Likelihood ratio statistic of all coefficients but the constant."""
        self._refuse_pseudo("llr")
        likelihood = self.at_estimate
        joint = likelihood.value(self.theta[: likelihood.size])
        return max(0.0, 2.0 * (joint - self._null[1]))

    @property
    def llr_pvalue(self) -> float:
        """Its p-value, chi-square with `df_model` degrees of freedom."""
        return float(chi2_pvalue(self.llr, self.df_model)) if self.df_model else float("nan")

    @property
    def prsquared(self) -> float:
        """McFadden's 1 - llf / llnull, of the reports: noise lowers it."""
        return 1.0 - self.llf / self.llnull

    @property
    def df_model(self) -> float:
        """Number of slopes."""
        model = self.model
        has_constant = not isinstance(model.data.outcome, Ordered) and model.spans_constant
        return float((len(model.data.names) - has_constant) * len(model.equations))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return float(self.nobs - len(self.shown))

    @property
    def aic(self) -> float:
        """-2 llf + 2 coefficients."""
        self._refuse_pseudo("aic")
        return -2.0 * self.llf + 2.0 * len(self.shown)

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) coefficients."""
        self._refuse_pseudo("bic")
        return -2.0 * self.llf + float(np.log(self.nobs)) * len(self.shown)

    def _refuse_pseudo(self, what: str) -> None:
        """Refuse what needs a likelihood, where weights leave a pseudo-likelihood or none."""
        data = self.model.data
        if self.method == "corrected":
            raise NotAvailable(f"{what}: corrected scores have no likelihood: use wald_test")
        if data.weights is not None:
            raise NotAvailable(
                f"{what}: weighted likelihoods are not those of the sample: use wald_test, "
                "which knows the weights and the design"
            )
