"""Intervals of coefficients: profiles, or Wald."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import probability
from ldpstats.errors import NotAvailable

__all__ = ["coefficient_intervals", "quantile"]

Array = npt.NDArray[Any]


def quantile(results: Any, alpha: float) -> Any:
    """The two-sided quantile of the normal or t distribution, or that of each coefficient."""
    from scipy.special import ndtri, stdtrit

    lower, df = probability("alpha", alpha) / 2.0, results._each_df
    return -ndtri(lower) if df is None else -stdtrit(df, lower)


def coefficient_intervals(results: Any, alpha: float, method: str) -> Array:
    """Limits of all that results show, (m, 2)."""
    z, shown = quantile(results, alpha), results.shown
    if method == "profile" and results.method == "corrected":
        raise NotAvailable("profile: corrected scores have no likelihood: use method='wald'")
    if method == "profile" and results.cov_type != "nonrobust":
        raise NotAvailable(
            f"profile: the covariance is {results.cov_type}, which profiles do not know: use 'wald'"
        )
    if np.isinf(z).all():
        return np.tile([-np.inf, np.inf], (len(shown), 1))
    if method == "profile" or (method == "default" and results.uses_likelihood):
        return np.asarray(results.profiles(z))
    center = results.theta[shown]
    half = z * np.sqrt(np.diagonal(results.covariance_all)[shown])
    return np.column_stack([center - half, center + half])
