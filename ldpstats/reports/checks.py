"""Checks of what reports and counts are made of: arrays, identifiers, selections of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, check_slice, whole_below
from ldpstats.arguments.labels import as_series, missing_entries
from ldpstats.errors import InvalidArgument
from ldpstats.reports.source import Source

__all__ = [
    "checked_codes",
    "checked_cohort",
    "checked_ids",
    "chosen_rows",
    "plain_array",
]

Array = npt.NDArray[Any]


def plain_array(name: str, values: object) -> Array:
    """Return lists or an array as an array, entries unchanged."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidArgument(name, values, "must not be masked: leave masked entries out")
    array = as_array(name, values, "must be an array: are rows of one length?")
    # a list without entries has no type
    return array.astype(np.int64) if array.shape == (0,) and isinstance(values, list) else array


def checked_codes(given: object, mechanism: Source, kind: npt.DTypeLike) -> Array:
    """Packed bits as they are, or output codes as integers of a kind, of a mechanism's reports."""
    y = plain_array("y", given)
    if mechanism.n_bits:
        good = y.dtype == np.uint8 and y.shape[1:] == (-(-mechanism.format.packed_bits // 8),)
        what = f"packed reports of {mechanism.format.packed_bits} bits, uint8 of shape (u, bytes)"
        if good and y.size and (fault := mechanism.format.packing_fault(y)):
            raise InvalidArgument("y", y, fault)
    else:
        good = y.ndim == 1 and whole_below(y, mechanism.n_outputs)
        what = f"output codes 0 to {mechanism.n_outputs - 1}, integers of shape (u,)"
    if not good and y.dtype.kind not in "iufb":
        what += "; mechanism.parse(name, column) reads reports as they are written"
    if not good:
        raise InvalidArgument("y", given, f"must be {what}")
    return y if mechanism.n_bits else y.astype(kind, copy=False)


def checked_cohort(given: object, size: int, mechanism: Source) -> Array | None:
    """The cohort of each of so many reports; None for mechanisms without cohorts."""
    if not mechanism.n_cohorts:
        if given is not None:
            raise InvalidArgument("cohort", given, f"must be None: {mechanism} has no cohorts")
        return None
    cohort = plain_array("cohort", given)
    if cohort.shape != (size,) or not whole_below(cohort, mechanism.n_cohorts):
        raise InvalidArgument(
            "cohort",
            given,
            f"must be a number from 0 to {mechanism.n_cohorts - 1} for each report",
        )
    return cohort.astype(np.int64, copy=False)


def checked_ids(name: str, ids: object, n: int) -> pd.Series[Any]:
    """Identifiers of n respondents, each once."""
    column = as_series(name, ids)
    if len(column) != n:
        raise InvalidArgument(name, f"{len(column)} ids", f"must be {n}, one a report")
    if missing_entries(name, column).any():
        raise InvalidArgument(name, "missing", "every respondent needs an identifier")
    if column.duplicated().any():
        twice = column[column.duplicated()].iloc[0]
        raise InvalidArgument(name, twice, "appears more than once: keep one report each")
    return column


def chosen_rows(rows: object, n: int) -> Any:
    """A mask of n respondents, positions among them, or a slice."""
    if isinstance(rows, slice):
        check_slice("rows", rows, n)
        return rows
    remedy = f"must be a mask of {n} respondents (True or False each), positions, or a slice"
    if isinstance(rows, int | np.integer | str):
        raise InvalidArgument("rows", rows, remedy)
    found = as_array("rows", rows, remedy)
    found = found.astype(np.int64) if found.shape == (0,) else found
    mask = found.dtype == bool
    if found.ndim != 1 or not (found.size == n if mask else whole_below(found, n)):
        raise InvalidArgument("rows", rows, remedy)
    return found
