"""What a fitted regression says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import NotAvailable
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.regression.comparing import compare_naive, question_test
from ldpstats.models.regression.contrasts import (
    linear_constraints,
    t_contrasts,
    wald_contrast,
)
from ldpstats.models.regression.fitted_law import FittedLaw
from ldpstats.models.regression.hypotheses import lr_test, score_test, term_tests
from ldpstats.models.regression.likelihood_tests import likelihood_ratios
from ldpstats.models.regression.naming import shaped, shaped_intervals
from ldpstats.models.regression.presented import PresentedRegression
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Normal, Ordered

if TYPE_CHECKING:
    from ldpstats.models.regression.base import PrivatizedRegression

__all__ = ["RegressionResults"]

Array = npt.NDArray[Any]

_MOST_PROFILES = 30  # coefficients up to which each is profiled
_MANY = 50_000  # rows from which on profiles are made only if they may differ from Wald,
_SMALL = 0.05  # as where no standardised coefficient is known to this


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResults(PresentedRegression):
    """A fitted regression on privatised answers.

    `pvalues`, `conf_int` and the columns of `summary` are from the likelihood: a coefficient is
    tested by the likelihood ratio, and its interval is the profile of the likelihood with half the
    log determinant of the expected information added, which always ends. `bse`, `tvalues`,
    `wald_test`, `t_test` and ``conf_int(method="wald")`` are of the normal approximation, which
    fails where information is scarce. `why_wald` says why all are Wald, as with robust covariances,
    sampling weights, designs, and more than 30 coefficients.

    Parameters
    ----------
    model : PrivatizedRegression
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
    """

    model: PrivatizedRegression
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

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""
        model = self.model
        return FittedLaw(model.data, model.assembled, self.theta, self.covariance_all, self.df)

    # -- coefficients --------------------------------------------------------------------------

    @property
    def _m(self) -> int:
        return self.model.n_shown

    @cached_property
    def params(self) -> Any:
        """Coefficients: a Series, or a DataFrame with a column for each equation (multinomial)."""
        return shaped(self.model, self.theta[: self._m], "params")

    @cached_property
    def bse(self) -> Any:
        """Standard errors, shaped as `params`; nan for infinite estimates."""
        V = self.covariance_all[: self._m, : self._m]
        return shaped(self.model, np.sqrt(np.diagonal(V)), "bse")

    @property
    def tvalues(self) -> Any:
        """Coefficients in standard errors."""
        return self.params / self.bse

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None

    @property
    def uses_likelihood(self) -> bool:
        """Whether default tests and intervals are from the likelihood, and not Wald."""
        return not self.why_wald

    @cached_property
    def why_wald(self) -> str:
        """Why default tests and intervals are Wald; "" where they are from the likelihood."""
        if self.method == "corrected":
            return "corrected scores have no likelihood"
        if self.cov_type != "nonrobust":
            return f"the likelihood does not know the covariance, {self.cov_type}"
        if self.use_t and self.model.is_exact:
            return "they are exact for least squares"
        if self._m > _MOST_PROFILES:
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

    @cached_property
    def _ratios(self) -> Array:
        return likelihood_ratios(self, range(self._m))

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient: by the likelihood ratio, or Wald, see the class."""
        from scipy.special import fdtrc

        if not self.uses_likelihood:
            return self.wald_pvalues
        ratios = self._ratios
        if isinstance(self.model.data.outcome, Normal):
            n, p = self.model.nobs, len(self.model.data.names)
            found = fdtrc(1, n - p, np.expm1(ratios / n) * (n - p))
        else:
            found = chi2_pvalue(ratios, 1)
        return shaped(self.model, found, "pvalues")

    @property
    def wald_pvalues(self) -> Any:
        """p-values of `tvalues`."""
        from scipy.special import ndtr, stdtr

        z = -np.abs(np.asarray(self.tvalues).T.ravel())
        found = 2.0 * (ndtr(z) if self.df is None else stdtr(self.df, z))
        return shaped(self.model, found, "pvalues")

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
        method : {"default", "profile", "wald"}
            "default" is the profile of the penalised likelihood where `uses_likelihood`, else Wald.

        Returns
        -------
        DataFrame
            Columns "lower" and "upper"; of a multinomial logit indexed by equation and name.
        """
        from ldpstats.models.regression.intervals import coefficient_intervals

        method = one_of("method", method, ("default", "profile", "wald"))
        found = coefficient_intervals(self, alpha, method)
        return shaped_intervals(self.model, found)

    # -- hypotheses ----------------------------------------------------------------------------

    def lr_test(self, term: Any) -> TestResult:
        """Likelihood ratio test that all coefficients of a term are zero.

        Parameters
        ----------
        term : str or list of str
            Terms of the formula, or names of covariates.
        """
        return lr_test(self, term)

    def term_tests(self) -> pd.DataFrame:
        """Likelihood ratio test of each term: the model without it, LR, df and p-value."""
        return term_tests(self)

    def score_test(self, term: Any) -> TestResult:
        """Score test that all coefficients of a term are zero, from the model without it.

        Parameters
        ----------
        term : str or list of str
            As for `lr_test`.
        """
        return score_test(self, term)

    def question_test(self, terms: str = "constant") -> TestResult:
        """Test whether groups that were asked in different ways answer alike.

        For a response in several groups of reports, such as a direct question (`Observed`) and a
        randomised one: a likelihood ratio test against a level, or coefficients, of their own.

        Parameters
        ----------
        terms : {"constant", "all"}
            Whether groups may differ in the constant (the thresholds' level), or in every
            coefficient.
        """
        return question_test(self, terms)

    def compare_naive(self) -> pd.DataFrame:
        """Coefficients beside those of a model that takes the reports for the answers.

        Returns
        -------
        DataFrame
            Columns "params", "bse", "naive" and "ratio", the naive ones by the estimates.

        Raises
        ------
        NotAvailable
            If reports are bits or codes, which nobody could take for answers.
        """
        return compare_naive(self)

    def t_test(self, hypothesis: Any) -> Any:
        """Wald tests of linear hypotheses, one by one.

        Parameters
        ----------
        hypothesis : str, array, or pair
            As in statsmodels: "age = 0", a matrix R, or (R, value). Coefficients of a multinomial
            logit are named as in `cov_params`.
        """
        return t_contrasts(*self._hypothesis(hypothesis), self.df)

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together, see `t_test`."""
        return wald_contrast(*self._hypothesis(hypothesis), self.df)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array, Array, Array]:
        names = self.model.all_names[: self._m]
        R, value = linear_constraints(names, hypothesis)
        V = self.covariance_all[: self._m, : self._m]
        return self.theta[: self._m], V, R, value

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients, (p, p); equation by equation (multinomial)."""
        names = self.model.all_names[: self._m]
        V = self.covariance_all[: self._m, : self._m]
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
        gamma = self.theta[self.model.likelihood.n_outcome :].reshape(len(labels), -1).T
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
        """Log-likelihood of the reports; given those on private predictors, if there are any."""
        return _given_predictors(self.model.likelihood, self.theta)

    @cached_property
    def llnull(self) -> float:
        """Log-likelihood of the model without covariates."""
        from ldpstats.models.regression.null import null_results

        return null_results(self)[0]

    @cached_property
    def _joint_null(self) -> float:
        from ldpstats.models.regression.null import null_results

        return null_results(self)[1]

    @property
    def llr(self) -> float:
        """Likelihood ratio statistic of all coefficients but the constant."""
        self._refuse_pseudo("llr")
        return max(0.0, 2.0 * (self.model.likelihood.value(self.theta) - self._joint_null))

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
        has_constant = self.model.constant is not None and not isinstance(
            self.model.data.outcome, Ordered
        )
        return float((len(self.model.data.names) - has_constant) * len(self.model.equations))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return float(self.nobs - self._m)

    @property
    def aic(self) -> float:
        """-2 llf + 2 coefficients."""
        self._refuse_pseudo("aic")
        return -2.0 * self.llf + 2.0 * self._m

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) coefficients."""
        self._refuse_pseudo("bic")
        return -2.0 * self.llf + float(np.log(self.nobs)) * self._m

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


def _given_predictors(likelihood: RegressionLikelihood, theta: Array) -> float:
    """log P(response report | reports on predictors)."""
    from ldpstats.models.regression.null import conditional_value

    return conditional_value(likelihood, theta)
