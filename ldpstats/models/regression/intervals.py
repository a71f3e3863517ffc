"""Intervals of coefficients: profiles, or Wald."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import probability
from ldpstats.errors import NotAvailable
from ldpstats.models.regression.estimates import FittedRegression
from ldpstats.models.regression.likelihood_tests import profile_intervals

__all__ = ["coefficient_intervals", "quantile"]

Array = npt.NDArray[Any]


def quantile(results: FittedRegression, alpha: float) -> float:
    """The two-sided quantile of the normal or t distribution."""
    from scipy.special import ndtri, stdtrit

    lower = probability("alpha", alpha) / 2.0
    return float(-ndtri(lower) if results.df is None else -stdtrit(results.df, lower))


def coefficient_intervals(results: FittedRegression, alpha: float, method: str) -> Array:
    """Limits of all coefficients, (m, 2)."""
    z, m = quantile(results, alpha), results.model.n_shown
    if method == "profile" and results.method == "corrected":
        raise NotAvailable("profile: corrected scores have no likelihood: use method='wald'")
    if method == "profile" and results.cov_type != "nonrobust":
        raise NotAvailable(
            f"profile: the covariance is {results.cov_type}, which profiles do not know: use 'wald'"
        )
    if np.isinf(z):
        return np.tile([-np.inf, np.inf], (m, 1))
    if method == "profile" or (method == "default" and results.uses_likelihood):
        return profile_intervals(results, range(m), z)
    center = results.theta[:m]
    half = z * np.sqrt(np.diagonal(results.covariance_all)[:m])
    return np.column_stack([center - half, center + half])
