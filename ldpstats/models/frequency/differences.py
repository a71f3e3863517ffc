"""Differences of the frequencies of two independent groups of respondents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference.differences import Difference
from ldpstats.inference.skewness import CellLaw
from ldpstats.models.frequency.record import Laws
from ldpstats.problems.estimates import Uncertain

if TYPE_CHECKING:
    from ldpstats.models.frequency.results import FrequencyResults

__all__ = ["COLUMNS", "cell_law", "difference_rows"]

Array = npt.NDArray[Any]

COLUMNS = ("estimate", "se", "lower", "upper", "pvalue")

_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_rows(
    first: FrequencyResults, second: FrequencyResults, alpha: float
) -> pd.DataFrame:
    """Each frequency of the first group minus that of the second, a row a category."""
    for results in (first, second):
        if results.linear.at is not None:
            raise NotAvailable(
                "differences of frequencies after a selection of candidates are not known: fit "
                "both groups with method='inversion'"
            )
    pair = Difference(
        first.linear.estimate,
        second.linear.estimate,
        cell_law(first.linear, first.laws),
        cell_law(second.linear, second.laws),
    )
    bounds = pair.interval(alpha)
    columns = [pair.estimate, _se(first, second), bounds[:, 0], bounds[:, 1], pair.pvalues()]
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)), index=first.categories)


def _se(first: FrequencyResults, second: FrequencyResults) -> Array:
    return np.asarray(np.hypot(first.linear.bse(), second.linear.bse()))


def cell_law(linear: Uncertain, laws: Laws) -> CellLaw:
    """Variance and third cumulant of each linear estimate, whatever its frequency is.

    By the binomial count of the category where it has one, else by what the estimate rests on
    (`Tallies`); without either the variance is that at the estimate.
    """
    k = linear.estimate.size
    variance, third = np.repeat(linear.known().variances()[None], 4, axis=0), np.zeros((4, k))
    if laws.tally is not None:
        found = [laws.tally.law(np.full(k, p)) for p in _AT]
        variance = np.array([se**2 for se, _, _ in found])
        third = np.array([skewness * se**3 for se, skewness, _ in found])
    own = laws.counted(k)
    if laws.exact is not None and own.any():
        counted = [laws.exact.cumulants(np.full(k, p)) for p in _AT]
        variance = np.where(own, [v for v, _ in counted], variance)
        third = np.where(own, [c for _, c in counted], third)
    none = np.zeros(k)
    coefficients = _TO_COEFFICIENTS @ variance, _TO_COEFFICIENTS @ third
    return CellLaw(coefficients[0][:3].T, coefficients[1].T, none, none)
