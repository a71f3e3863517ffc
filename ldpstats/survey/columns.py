"""Columns that are not privatised, in one form whatever table they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument

__all__ = ["Column", "as_column"]

Array = npt.NDArray[Any]

# what pandas calls the values of a column of objects, and what they are here
_KINDS = {
    "string": "text",
    "boolean": "boolean",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "date": "date",
    "datetime": "date",
    "datetime64": "date",
    "empty": "empty",
}
_HELD = "text, numbers, booleans, dates or categories"


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes of its distinct values.

    Attributes
    ----------
    name : str
    kind : str
        "text", "number", "boolean", "date" (without a time zone) or "empty".
    codes : array of int64, shape (n,)
        Position of each value in `values`, -1 where it is missing; empty text is missing.
    values : array, shape (u,)
        Distinct values: ordered categories in their order, others sorted. The order of unordered
        ones does not outlive a CSV file, and results must be the same from every table.
    ordered : bool or None
        Whether the categories of a categorical column are ordered; None for other columns.
    """

    name: str
    kind: str
    codes: npt.NDArray[np.int64]
    values: Array
    ordered: bool | None = None

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Which rows have no value, shape (n,)."""
        absent: npt.NDArray[np.bool_] = self.codes < 0
        return absent

    @property
    def what(self) -> str:
        """Its kind, in words."""
        if self.ordered is None:
            return {"text": "text", "empty": "empty"}.get(self.kind, f"{self.kind}s")
        return f"{'ordered' if self.ordered else 'unordered'} categories"

    def taken(self, rows: npt.NDArray[np.int64]) -> Column:
        """Some rows, in another order perhaps."""
        return replace(self, codes=self.codes[rows])

    def categories(self, remedy: str) -> Column:
        """The same with the values that occur as labels; refuse decimals and dates."""
        seen = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)) > 0
        values, kind = self.values[seen], self.kind
        whole = kind != "number" or all(float(value).is_integer() for value in values.tolist())
        if kind == "date" or not whole:
            shown = "dates" if kind == "date" else "numbers with decimals"
            raise InvalidArgument("column", self.name, f"holds {shown}: {remedy}")
        if kind == "number":
            values = np.array([int(value) for value in values.tolist()], dtype=object)
        place = np.append(np.cumsum(seen) - 1, -1)
        return Column(self.name, kind, place[self.codes].astype(np.int64), values, self.ordered)


def as_column(name: str, series: pd.Series[Any]) -> Column:
    """Read a column of any type; refuse one of several types, or of types that are not values."""
    ordered = None
    if isinstance(series.dtype, pd.CategoricalDtype):
        ordered = bool(series.cat.ordered)
        distinct: Any = series.cat.categories
        codes = series.cat.codes.to_numpy()
    else:
        try:
            codes, distinct = pd.factorize(series)
        except (TypeError, ValueError, ArithmeticError):
            raise InvalidArgument("column", name, f"must hold {_HELD}: convert it") from None
    kind = _kind(name, pd.Series(distinct) if ordered is not None else series)
    values = _values(name, kind, distinct)
    order = np.arange(len(values)) if ordered else np.argsort(values, kind="stable")
    if kind == "text":
        order = order[values[order] != ""]
    place = np.full(len(values) + 1, -1)
    place[order] = np.arange(len(order))
    values = values[order]
    found = place[codes].astype(np.int64)
    return Column(name, kind if len(values) else "empty", found, values, ordered)


def _kind(name: str, values: pd.Series[Any]) -> str:
    """The one kind of the values of a column."""
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return "number"
    found = pd.api.types.infer_dtype(values, skipna=True)
    if found not in _KINDS:
        mixed = "values of several types" if found.startswith("mixed") else found
        raise InvalidArgument("column", name, f"holds {mixed}: it must hold {_HELD}; convert it")
    return _KINDS[found]


def _values(name: str, kind: str, distinct: Any) -> Array:
    """Distinct values as an array that numpy compares: numbers, datetimes, objects."""
    values = np.asarray(distinct, dtype=object)
    if kind == "date":
        if any(getattr(value, "tzinfo", None) is not None for value in values):
            raise InvalidArgument("column", name, "has a time zone: convert it to dates or text")
        return np.array([np.datetime64(value, "us") for value in values], dtype="datetime64[us]")
    if kind == "number":
        whole = all(isinstance(value, int | np.integer) for value in values)
        return values if whole else values.astype(np.float64)
    return values
