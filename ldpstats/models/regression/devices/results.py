"""What a regression with unknown parameters of devices says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.estimators.regression.bounded import BoundedMaximum
from ldpstats.inference.regression.bounded_profiles import bounded_profile, drop_at
from ldpstats.inference.tails import chi2_critical, chi2_pvalue, normal_critical
from ldpstats.models.regression.contrasts import linear_constraints, t_contrasts, wald_contrast
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.problems.regression.parametric import ParametricRegression

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["DeviceRegressionResults"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class DeviceRegressionResults:
    """Coefficients of a regression and unknown parameters of devices, estimated together.

    Attributes
    ----------
    params : Series, shape (p + m,)
        The coefficients, named as in other fits (those of a multinomial logit "category: name"),
        then the unknown parameters, which lie in [0, 1].
    bse : Series
        Standard errors, from the observed information; nan for a parameter on the boundary, and
        given its value for the rest.
    pvalues : Series
        Likelihood ratio tests of zero; of an unknown parameter against values above zero.
    """

    model: Any
    likelihood: ParametricRegression
    top: BoundedMaximum
    covariance_all: Array
    units: Array

    @property
    def index(self) -> pd.Index[Any]:
        """Names of the coefficients, then of the unknown parameters."""
        names: pd.Index[Any] = pd.Index([*self.model.all_names, *self.model.unknown])
        return names

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.index, name=name)

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients, then parameters."""
        return self._series(self.top.x, "params")

    @property
    def coefficients(self) -> pd.Series[float]:
        """The coefficients alone."""
        return self.params.iloc[: self.likelihood.p].rename("coefficients")

    @property
    def parameters(self) -> pd.Series[float]:
        """The unknown parameters alone."""
        return self.params.iloc[self.likelihood.p :].rename("parameters")

    @property
    def on_boundary(self) -> tuple[str, ...]:
        """Unknown parameters whose estimate is 0 or 1."""
        values = self.parameters
        return tuple(values.index[(values <= 0.0) | (values >= 1.0)])

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors."""
        return self._series(np.sqrt(np.diagonal(self.covariance_all)), "bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """Estimates in standard errors."""
        return (self.params / self.bse).rename("tvalues")

    def cov_params(self) -> pd.DataFrame:
        """Joint covariance, (p + m, p + m); nan for what is on the boundary."""
        return pd.DataFrame(self.covariance_all, index=self.index, columns=self.index)

    def information(self) -> pd.DataFrame:
        """Expected joint information of the reports at the estimate, (p + m, p + m)."""
        found = self.likelihood.expected(self.top.x)
        return pd.DataFrame(found, index=self.index, columns=self.index)

    @cached_property
    def pvalues(self) -> pd.Series[float]:
        """Likelihood ratio tests of zero; see the class."""
        p, found = self.likelihood.p, []
        for j, estimate in enumerate(self.top.x):
            fall = 0.0
            if estimate != 0.0:
                fall = drop_at(self.likelihood, self.top, self.units, j, 0.0)
            one = float(chi2_pvalue(2.0 * fall, 1.0)) if np.isfinite(fall) else 0.0
            found.append(one if j < p else (one / 2.0 if estimate > 0.0 else 1.0))
        return self._series(np.array(found), "pvalues")

    @names_alpha
    def conf_int(self, alpha: float = 0.05, method: str = "profile") -> pd.DataFrame:
        """Confidence intervals.

        Parameters
        ----------
        alpha : float
        method : {"profile", "wald"}
            Profiles of the joint likelihood, which end at the bounds of parameters; or the normal
            approximation, nan for what is on the boundary.

        Returns
        -------
        DataFrame, shape (p + m, 2)
            "lower" and "upper".
        """
        alpha, method = level(alpha), one_of("method", method, ("profile", "wald"))
        bse = self.bse.to_numpy()
        if method == "wald":
            reach = normal_critical(alpha) * bse
            ends = np.column_stack([self.top.x - reach, self.top.x + reach])
        else:
            ends = np.array([self._profile(j, alpha, bse[j]) for j in range(self.top.x.size)])
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def _profile(self, j: int, alpha: float, error: float) -> tuple[float, float]:
        step = normal_critical(alpha) * error if np.isfinite(error) else 0.05
        drop = 0.5 * chi2_critical(alpha, 1)
        return bounded_profile(self.likelihood, self.top, self.units, j, drop, step)

    # -- the fit -------------------------------------------------------------------------------

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.model.nobs)

    @property
    def llf(self) -> float:
        """Log-likelihood of the reports."""
        return float(self.top.value)

    @property
    def converged(self) -> bool:
        """Whether a maximum was reached."""
        return self.top.converged

    @property
    def aic(self) -> float:
        """-2 llf + 2 (p + m)."""
        return -2.0 * self.llf + 2.0 * self.top.x.size

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) (p + m)."""
        return -2.0 * self.llf + float(np.log(self.nobs)) * self.top.x.size

    def t_test(self, hypothesis: Any) -> Any:
        """Wald tests of linear hypotheses, one by one, as "age = 0"."""
        R, value = linear_constraints(list(self.index), hypothesis)
        return t_contrasts(self.top.x, self.covariance_all, R, value, None)

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together, see `t_test`."""
        R, value = linear_constraints(list(self.index), hypothesis)
        return wald_contrast(self.top.x, self.covariance_all, R, value, None)

    # -- presentation --------------------------------------------------------------------------

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of "params", "bse", "lower", "upper" and "pvalues"."""
        ends = self.conf_int(alpha)
        return pd.DataFrame(
            {"params": self.params, "bse": self.bse, **ends, "pvalues": self.pvalues}
        )

    @names_alpha
    def summary(self, alpha: float = 0.05) -> Summary:
        """The estimates with what they rest on, as a statsmodels `Summary`."""
        from ldpstats.models.regression.devices.summary import device_regression_summary

        return device_regression_summary(self, level(alpha)).layout()

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        names = ", ".join(self.model.unknown)
        return f"DeviceRegressionResults({self.model.endog_names}, {names}; n={self.nobs})"
