"""Difference and ratio of the frequencies of two categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.problems.estimates import Uncertain

__all__ = ["difference", "ratio"]


def difference(
    labels: tuple[Any, Any],
    places: tuple[int, int],
    k: int,
    t_test: Callable[[Any], Any],
    alpha: float,
) -> pd.Series[float]:
    """Estimate, standard error, interval and p-value by the `t_test` of k frequencies."""
    (first, second), (i, j) = labels, places
    if i == j:
        raise InvalidArgument("second", second, "is the first category: name two")
    R = np.zeros((1, k))
    R[0, i], R[0, j] = 1.0, -1.0
    try:
        test = t_test(R)
    except InvalidArgument:  # which names another argument
        remedy = f"and {first!r} were never reported, of which conf_int() tells more"
        raise InvalidArgument("second", second, remedy) from None
    lower, upper = test.conf_int(alpha)[0]
    values = [test.effect[0], test.sd.ravel()[0], lower, upper, float(np.ravel(test.pvalue)[0])]
    index = ["estimate", "se", "lower", "upper", "pvalue"]
    return pd.Series(values, index=index, name=f"{first} - {second}")


def ratio(
    linear: Uncertain, first: Sequence[int], second: Sequence[int], alpha: float
) -> FiellerInterval:
    """Fieller's interval of the frequencies at some places over those at others."""
    R = np.zeros((2, linear.estimate.size))
    R[0, first] = R[1, second] = 1.0
    R, estimate, covariance = linear.restricted(R)
    num, den = R @ estimate
    V = covariance.transform(R)
    return fieller(num, den, V[0, 0], V[1, 1], V[0, 1], alpha)
