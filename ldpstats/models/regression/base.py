"""What all regressions on privatised answers are."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.errors import NotAvailable
from ldpstats.models.regression.fitting import fitted
from ldpstats.models.regression.planned import planned_information
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import RegressionStructure

__all__ = ["PrivatizedRegression"]

Array = npt.NDArray[Any]

_METHODS = ("mle", "newton", "em", "corrected")


class PrivatizedRegression(RegressionStructure):
    """A regression in which the response, predictors, or both are privatised.

    Parameters
    ----------
    data : RegressionData

    Attributes
    ----------
    exog_names : list of str
    endog_names : str
    nobs : int
    """

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
        return planned_information(self, params, exog)

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
            covariance is that of the design.
        cov_kwds : dict, optional
            ``{"groups": labels}`` for "cluster"; ``use_correction`` as in statsmodels.
        start_params : array-like, optional
            Where iterations start.
        maxiter : int
        disp : bool
            Has no effect: nothing is printed.

        Returns
        -------
        RegressionResults

        Raises
        ------
        InvalidArgument
            For an unknown option, or one that does not go with the others.
        NotIdentified
            If the information of the reports is singular.

        Warns
        -----
        ConvergenceWarning
            If the maximum is at infinity, or the iteration stopped before it.
        """
        only = self.data.only_corrected
        if method is None:
            # mixtures of laws of numbers fit any other shape by effects that are not there
            numeric = bool(self.data.predictors) and not self.data.is_categorical
            method = "corrected" if only or numeric else "mle"
        method = one_of("method", method, _METHODS)
        if only and method != "corrected":
            raise NotAvailable(f"method={method!r}: {only}: use method='corrected'")
        if penalty is not None:
            penalty = one_of("penalty", penalty, ("jeffreys",))
        maxiter = positive_integer("maxiter", maxiter)
        del disp
        return fitted(self, method, penalty, cov_type, cov_kwds, start_params, maxiter)
