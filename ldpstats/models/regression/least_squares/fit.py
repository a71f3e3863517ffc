"""How well least squares of a privatised answer fit, and how much of the misfit is privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.regression.least_squares import LeastSquares
from ldpstats.inference.regression.sandwich import InformationShares
from ldpstats.models.regression.contrasts import Degrees, wald_contrast

__all__ = ["LinearFit"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Measures of the fit of a `PrivatizedOLS` model.

    Parameters
    ----------
    model : PrivatizedOLS
    fitted : LeastSquares
    covariance : array, shape (p, p)
        Of the coefficients.
    cov_type : str
    df : float
        Degrees of freedom of tests and intervals, where not all have their own.
    shares : InformationShares or None
        Of respondents or clusters in the information.
    own_degrees : bool
        Whether contrasts have degrees of freedom of their own, by the shares.
    n_clusters : int or None
    use_t : bool
    """

    model: Any
    fitted: LeastSquares
    covariance: Array
    cov_type: str
    df: float
    shares: InformationShares | None
    own_degrees: bool
    n_clusters: int | None
    use_t: bool

    @property
    def nobs(self) -> float:
        """Number of respondents."""
        return self.fitted.nobs

    @property
    def degrees(self) -> Degrees:
        """Degrees of freedom of contrasts."""
        return self.shares.degrees if self.own_degrees and self.shares is not None else self.df

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

    @property
    def _constant_column(self) -> int | None:
        X = self.fitted.X
        places = np.flatnonzero((np.ptp(X, axis=0) == 0.0) & (X[0] != 0.0))
        return int(places[0]) if places.size else None

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
    def _mean_square(self) -> float:
        """The residual variance of a respondent, whatever the unit of the weights."""
        total = float(np.sum(self.fitted.times * self.fitted.weights))
        return self.fitted.ssr / total * self.nobs / max(self.df_resid, 1.0)

    @property
    def privacy_share(self) -> float:
        """Share of the residual variance that is randomisation, estimated; it may exceed 1."""
        size = self._mean_square
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
        at, p = self._constant_column, self.fitted.p
        if self.cov_type == "nonrobust" and self.df_model > 0.0 and self.fitted.ssr > 0.0:
            from scipy.special import fdtrc

            f = (self._tss - self.fitted.ssr) / self.df_model / self.scale
            return f, float(fdtrc(self.df_model, self.df_resid, f))
        tested = np.delete(np.eye(p), [] if at is None else [at], axis=0)
        if not len(tested) or (self.k_constant and at is None) or not np.any(self.covariance):
            return float("nan"), float("nan")
        zero = np.zeros(len(tested))
        try:
            test = wald_contrast(self.fitted.beta, self.covariance, tested, zero, self.degrees)
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
        self._needs_likelihood("llf")
        n = self.nobs
        return -n / 2.0 * float(np.log(2.0 * np.pi * self.fitted.ssr / n) + 1.0)

    @property
    def aic(self) -> float:
        """Akaike's criterion, where there is a likelihood."""
        self._needs_likelihood("aic")
        return -2.0 * self.llf + 2.0 * self.fitted.p

    @property
    def bic(self) -> float:
        """Schwarz's criterion, where there is a likelihood."""
        self._needs_likelihood("bic")
        return -2.0 * self.llf + float(np.log(self.nobs)) * self.fitted.p

    def _needs_likelihood(self, name: str) -> None:
        if not self.model.is_observed:
            raise NotAvailable(
                f"{name}: the Gaussian likelihood of decoded reports is not the likelihood of the "
                "reports; compare models by wald_test, or fit a model with a likelihood "
                "(PrivatizedLogit, PrivatizedMNLogit, PrivatizedOrderedModel)"
            )
        if self.model.is_weighted:
            raise NotAvailable(f"{name}: survey weights leave no likelihood; use wald_test")
