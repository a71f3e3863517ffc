"""Differences of weighted shares as a table, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.inference.designs.intervals import Differences, critical, paired
from ldpstats.inference.edges import edge_range
from ldpstats.inference.multiplicity import adjusted_differences

__all__ = ["Limits", "differences_table", "pair_places", "satterthwaite"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Limits = Callable[[Codes, Array], Array]  # of the estimates at some places, at critical values


def pair_places(pairs: Sequence[tuple[int, int]], k: int) -> tuple[Codes, Codes]:
    """Places of both sides of k differences for each pair of groups, of k estimates each."""
    at = np.array(pairs, dtype=np.int64).reshape(-1, 2, 1) * k + np.arange(k)
    return at[:, 0].reshape(-1), at[:, 1].reshape(-1)


def satterthwaite(v: Array, df: Array, most: float) -> Array:
    """Degrees of freedom of sums of variances v on df each, (g, r) and (g, 1 or r) -> (r,).

    At most those of the whole sample, whose units the parts share. One at least, as for intervals:
    a domain with one unit in each of its strata has none of its own.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = v.sum(axis=0) ** 2 / (v**2 / np.maximum(df, 1.0)).sum(axis=0)
    return np.maximum(np.where(np.isnan(found), most, np.minimum(found, most)), 1.0)


def differences_table(
    value: Array,
    V: Array,
    places: tuple[Codes, Codes],
    df: Array,
    limits: Limits,
    alpha: float,
    index: Any,
) -> pd.DataFrame:
    """Estimates at the first `places` less those at the second, a row for each.

    Estimates with their covariance, (q,) and (q, q), are nan where they are unknown; `df` is of the
    differences. p-values are of the intervals: below alpha where these do not hold zero.
    """
    first, second = places
    parts = paired(V, first, second)
    known = ~np.isnan(parts).any(axis=0)
    one, other = first[known], second[known]
    apart = Differences(
        value[one], value[other], parts[:, known], lambda t: (limits(one, t), limits(other, t))
    )
    found = np.full((len(first), 6), np.nan)
    found[:, 0] = value[first] - value[second]
    if known.any():
        bounds = apart.bounds(critical(df[known], alpha))
        found[known, 1] = apart.se
        found[known, 2:4] = edge_range(bounds, apart.estimate, apart.se, (-1.0, 1.0), alpha)
        found[known, 4] = p = apart.pvalues(df[known])
        k = index.get_level_values(-1).nunique()
        found[known, 5] = adjusted_differences(apart.estimate, p, k)
    columns = ["estimate", "se", "lower", "upper", "pvalue", "pvalue_holm"]
    return pd.DataFrame(found, index=index, columns=columns)
