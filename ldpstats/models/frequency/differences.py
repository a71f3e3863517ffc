"""Differences of the frequencies of two independent groups of respondents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference.differences import Difference
from ldpstats.inference.multiplicity import adjusted_differences
from ldpstats.inference.skewness import CellLaw
from ldpstats.models.frequency.record import Laws
from ldpstats.problems.estimates import Uncertain

if TYPE_CHECKING:
    from ldpstats.models.frequency.results import FrequencyResults

__all__ = ["cell_law", "difference_rows", "differences_table"]

Array = npt.NDArray[Any]

_COLUMNS = ("estimate", "se", "lower", "upper", "pvalue")

_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_rows(
    first: FrequencyResults, second: FrequencyResults, alpha: float
) -> pd.DataFrame:
    """Each frequency of the first group minus that of the second, a row a category."""
    return _rows([(first, second)], alpha).set_axis(first.categories)


def differences_table(
    fits: Sequence[FrequencyResults], pairs: Sequence[tuple[int, int]], alpha: float
) -> pd.DataFrame:
    """The same of several pairs of groups, pair by pair, with p-values adjusted for all rows."""
    table = _rows([(fits[i], fits[j]) for i, j in pairs], alpha)
    p, k = table["pvalue"].to_numpy(), len(fits[0].categories)
    table["pvalue_holm"] = adjusted_differences(table["estimate"].to_numpy(), p, k)
    return table


def _rows(pairs: Sequence[tuple[FrequencyResults, FrequencyResults]], alpha: float) -> pd.DataFrame:
    """Differences of all pairs at once, a row for each pair and category."""
    laws = {id(fit): _comparable_law(fit) for pair in pairs for fit in pair}
    sides = list(zip(*pairs, strict=True))
    first, second = (np.concatenate([fit.linear.estimate for fit in side]) for side in sides)
    stacked = [_stacked([laws[id(fit)] for fit in side]) for side in sides]
    all_pairs = Difference(first, second, *stacked)
    se = np.hypot(*(np.concatenate([fit.linear.bse() for fit in side]) for side in sides))
    bounds = all_pairs.interval(alpha)
    columns = all_pairs.estimate, se, bounds[:, 0], bounds[:, 1], all_pairs.pvalues()
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _comparable_law(results: FrequencyResults) -> CellLaw:
    if results.linear.at is not None:
        raise NotAvailable(
            "differences of frequencies after a selection of candidates are not known: fit the "
            "groups with method='inversion'"
        )
    return cell_law(results.linear, results.laws)


def _stacked(laws: Sequence[CellLaw]) -> CellLaw:
    parts = ([getattr(law, f.name) for law in laws] for f in fields(CellLaw))
    return CellLaw(*(np.concatenate(part) for part in parts))


def cell_law(linear: Uncertain, laws: Laws) -> CellLaw:
    """Variance and third cumulant of each linear estimate, whatever its frequency is.

    By the binomial count of the category where it has one, else by what the estimate rests on
    (`Tallies`); without either the variance is that at the estimate.
    """
    k = linear.estimate.size
    variance, third = np.repeat(np.square(linear.every_bse())[None], 4, axis=0), np.zeros((4, k))
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
