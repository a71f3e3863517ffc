"""Columns that are not privatised, in one form whatever table they come from."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument

__all__ = ["DATE", "Column", "as_column", "as_numbers"]

Array = npt.NDArray[Any]

DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?")

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
        "text" (without blanks around it), "number", "boolean", "date" (without a time zone; text
        that is a date in every row, too) or "empty".
    codes : array of int64, shape (n,)
        Position of each value in `values`, -1 where it is missing; text of blanks alone is missing.
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

    def categories(self, remedy: str, declared: bool = False) -> Column:
        """The same with the values that occur as labels, dates as text; refuse decimals.

        With `declared`, ordered categories that do not occur are labels too.
        """
        seen = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)) > 0
        seen |= declared and bool(self.ordered)
        values, kind = self.values[seen], self.kind
        whole = kind != "number" or all(float(value).is_integer() for value in values.tolist())
        if not whole:
            raise InvalidArgument("column", self.name, f"holds numbers with decimals: {remedy}")
        if kind == "date":
            # days, whole seconds or parts of them, so that every moment has a label of its own
            unit: Any = next(
                u for u in ("D", "s", "ms", "us") if np.all(values == values.astype(f"M8[{u}]"))
            )
            texts = np.datetime_as_string(values, unit=unit)
            kind, values = "text", np.array([text.replace("T", " ") for text in texts], object)
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
    if kind == "text":  # blanks around it are not seen in print
        values = np.array([text.strip() for text in values], dtype=object)
        if ordered is None and (dates := _dates(values)) is not None:
            kind, values = "date", dates
    known, place = _numbered(kind, values, bool(ordered))
    found = np.append(place, -1)[codes].astype(np.int64)
    return Column(name, kind if len(known) else "empty", found, known, ordered)


def as_numbers(argument: str, name: str, series: pd.Series[Any]) -> Array:
    """A column of numbers as float64, (n,), NaN where one is missing; `argument` names it."""
    try:
        is_number = _kind(name, series) in ("number", "empty")
    except InvalidArgument:  # several types, which it calls by the name of the column alone
        is_number = False
    if len(series) and not is_number:
        remedy = "holds values that are not numbers: it must be a column of numbers; convert it"
        raise InvalidArgument(argument, name, remedy)
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        raise InvalidArgument(argument, name, "holds a number of more than 308 digits") from None


def _numbered(kind: str, values: Array, ordered: bool) -> tuple[Array, Array]:
    """Distinct values in order, and the place of each value among them, -1 where it is missing.

    Values that one type does not tell apart, such as moments within a microsecond, become one.
    """
    if kind == "text":
        texts = list(dict.fromkeys(text for text in values.tolist() if text))
        texts = texts if ordered else sorted(texts)
        places = {text: place for place, text in enumerate(texts)}
        return np.array(texts, dtype=object), np.array([places.get(text, -1) for text in values])
    there = ~np.isnat(values) if kind == "date" else np.full(len(values), True)
    known, first, place = np.unique(values[there], return_index=True, return_inverse=True)
    if ordered:
        order = np.argsort(first)
        known, place = known[order], np.argsort(order)[place]
    found = np.full(len(values), -1)
    found[there] = place
    return known, found


def _dates(texts: Array) -> Array | None:
    """Texts that are all dates, such as 2024-12-31 or 2024-12-31 08:30; None if some are not."""
    if not any(texts) or not all(DATE.fullmatch(text) for text in texts if text):
        return None
    try:
        written = [text.replace(" ", "T") or "NaT" for text in texts]
        return np.array([np.datetime64(text, "us") for text in written])
    except ValueError:  # the 31st of February
        return None


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
        if distinct.dtype == object:
            values = np.array([_whole(value) for value in values], dtype=object)
        whole = all(isinstance(value, int | np.integer) for value in values)
        return values if whole else values.astype(np.float64)
    return values


def _whole(value: Any) -> Any:
    """A number; a decimal one without decimals as int, for float has fewer digits."""
    whole = isinstance(value, Decimal) and value == value.to_integral_value()
    return int(value) if whole else value
