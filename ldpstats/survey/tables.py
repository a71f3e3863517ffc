"""Tables of several kinds seen alike, pandas, Polars and Arrow, and their public columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, listed, real_number, record
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.io.tables import SIGNS, columns_shown
from ldpstats.labels import as_series, missing_entries, written_as
from ldpstats.reports.layout import check_fingerprints, in_pandas, is_of_bytes, plain_bytes

# -- Columns of Arrow in pandas and back, and what pandas notes in an Arrow schema ----------------


def from_arrow(column: Any) -> pd.Series[Any]:
    """An Arrow column in pandas: dictionaries as categories, whole numbers never as floats."""
    from pyarrow import types

    kind = column.type
    if is_of_bytes(kind):
        return in_pandas(plain_bytes(column))
    if column.null_count and (types.is_boolean(kind) or types.is_integer(kind)):
        whole = f"{'U' * types.is_unsigned_integer(kind)}Int64"
        masked: Any = pd.api.types.pandas_dtype("boolean" if types.is_boolean(kind) else whole)
        return pd.Series(masked.__from_arrow__(column))
    series: pd.Series[Any] = column.to_pandas()
    return series.rename(None).reset_index(drop=True)


def to_arrow(values: pd.Series[Any]) -> Any:
    """A Series in Arrow; labels of several types become text."""
    import pyarrow

    if values.dtype == object:
        absent = values.isna().to_numpy()
        cells = values.tolist()
        texts = [None if no else str(v) for v, no in zip(cells, absent, strict=True)]
        return pyarrow.array(texts, pyarrow.string())
    return pyarrow.array(values, from_pandas=True)


def _noted(metadata: Any) -> dict[str, Any] | None:
    """How pandas held its columns and index, as a schema notes it; None if that is damaged."""
    try:
        notes: dict[str, Any] = json.loads(metadata[b"pandas"])
        fields = {c["field_name"]: c["name"] for c in notes["columns"]}
        return notes if _levels(notes) <= {*fields} else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _levels(notes: Mapping[str, Any]) -> set[str]:
    """The columns that hold levels of an index of pandas; one that only counts has none."""
    return {level for level in notes["index_columns"] if isinstance(level, str)}


# -- Columns that are not privatised, in one form whatever table they come from -------------------
# Kinds are "text" (without blanks around it; of blanks alone it is missing), "number", "boolean",
# "date" (without a time zone; text that is a date in every row, too) and "empty". The order of
# unordered values does not outlive a CSV file, and results must be the same from every table.

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
_BANDS = (pd.IntervalDtype, pd.PeriodDtype)


@record
class Column:
    """A column as codes of its distinct values; see above for the kinds."""

    name: str
    kind: str
    codes: npt.NDArray[np.int64]  # position of each value in `values`, (n,), -1 where missing
    values: Array  # distinct values, (u,): ordered categories in their order, others sorted
    ordered: bool | None = None  # whether the categories are ordered; None for other columns

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Which rows have no value, shape (n,)."""
        absent: npt.NDArray[np.bool_] = self.codes < 0
        return absent

    # -- what conditions ask: masks of the rows, (n,), in this form of a column

    @property
    def vacant(self) -> bool:
        """Whether no row of the whole table has a value."""
        return self.kind == "empty"

    @property
    def known(self) -> Any:
        """Which rows have a value."""
        return ~self.missing

    def holding(self, chosen: Array) -> Any:
        """Which rows hold one of the `chosen` distinct values, (u,)."""
        return np.append(chosen, False)[self.codes]

    def compared(self, sign: str, wanted: Any) -> Any:
        """Which rows are equal to, less or greater than a value of their type."""
        return self.holding(np.asarray(SIGNS[sign](self.values, wanted), dtype=bool))

    def beside(self, sign: str, right: Column) -> Any:
        """Which rows compare so with another column."""
        both = (self.codes >= 0) & (right.codes >= 0)
        true = np.zeros(len(both), dtype=bool)
        if both.any():
            pair = [c.codes[both] for c in (self, right)]
            if not self.ordered or sign == "==":
                pair = [c.values[at] for c, at in zip((self, right), pair, strict=True)]
            true[both] = SIGNS[sign](*pair)
        return true

    @property
    def what(self) -> str:
        """Its kind, in words."""
        if self.ordered is None:
            return {"text": "text", "empty": "empty"}.get(self.kind, f"{self.kind}s")
        return f"{'ordered' if self.ordered else 'unordered'} categories"

    def taken(self, rows: npt.NDArray[np.int64]) -> Column:
        """Some rows, in another order perhaps."""
        return Column(self.name, self.kind, self.codes[rows], self.values, self.ordered)

    def categories(self, remedy: str, declared: bool = False) -> Column:
        """With the values that occur (or are `declared` in an order) as labels; refuse decimals."""
        seen = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)) > 0
        seen |= declared and bool(self.ordered)
        values, kind = self.values[seen], self.kind
        whole = kind != "number" or all(value == value // 1 for value in values.tolist())
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

    def plain(self) -> Any:
        """As formula engines know it, (n,): missing numbers NaN, others None."""
        codes, values, missing = self.codes, self.values, self.missing
        if self.ordered is not None and self.kind != "empty":
            labels: Any = values.tolist() if self.kind != "date" else values
            return pd.Categorical.from_codes(codes, categories=labels, ordered=self.ordered)
        if self.kind == "number":
            whole = values.dtype == object and not missing.any()
            try:
                numbers = values.astype(np.int64 if whole else np.float64)
            except OverflowError:
                remedy = "holds whole numbers beyond 64 bits: make it floats, or text, first"
                raise InvalidArgument("column", self.name, remedy) from None
            return numbers[codes] if not missing.any() else np.append(numbers, np.nan)[codes]
        if self.kind == "date":
            return np.append(values, np.datetime64("NaT"))[codes]
        if self.kind == "boolean" and not missing.any():
            return values.astype(bool)[codes]
        return np.append(values.astype(object), [None])[codes]


def as_column(name: str, series: pd.Series[Any]) -> Column:
    """Read a column of any type; refuse one of several types, or of types that are not values."""
    ordered = None
    if isinstance(series.dtype, _BANDS):
        series = series.astype("category").cat.as_ordered()
    if isinstance(series.dtype, pd.CategoricalDtype):
        ordered = bool(series.cat.ordered)
        distinct: Any = series.cat.categories
        if isinstance(distinct.dtype, _BANDS):  # as they print: "(17, 30]", "2024-01"
            distinct = distinct.astype(str)
        codes = series.cat.codes.to_numpy()
    else:
        try:
            codes, distinct = pd.factorize(series)
        except (TypeError, ValueError, ArithmeticError):
            raise InvalidArgument("column", name, f"must hold {_HELD}: convert it") from None
    kind = _kind(name, pd.Series(distinct) if ordered is not None else series)
    values: Array = np.asarray(distinct, dtype=object)
    if kind == "text":  # blanks around it are not seen in print
        values = np.array([*map(str.strip, values)], dtype=object)
        if ordered is None and any(values) and all(map(DATE.fullmatch, filter(None, values))):
            with suppress(ValueError):  # the 31st of February
                moments = [np.datetime64(v.replace(" ", "T") or "NaT", "us") for v in values]
                kind, values = "date", np.array(moments)
    elif kind == "date":
        if any(getattr(value, "tzinfo", None) is not None for value in values):
            raise InvalidArgument("column", name, "has a time zone: convert it to dates or text")
        moments = [np.datetime64(value, "us") for value in values]
        values = np.array(moments, dtype="datetime64[us]")
    elif kind == "number":
        if distinct.dtype == object:  # float has fewer digits than a decimal number
            whole = [
                isinstance(v, Integral)
                or (isinstance(v, Decimal) and v.is_finite() and v == v.to_integral_value())
                for v in values
            ]
            numbers = [int(v) if yes else v for v, yes in zip(values, whole, strict=True)]
            values = np.array(numbers, dtype=object)
        if not all(isinstance(value, int) for value in values):
            values = as_numbers("column", name, pd.Series(distinct))
    # those that one type does not tell apart, such as moments within a microsecond, become one
    place = np.full(len(values), -1)
    if kind == "text":
        there = values != ""
    else:
        there = ~np.isnat(values) if kind == "date" else np.full(len(values), True)
    known, first, place[there] = np.unique(values[there], return_index=True, return_inverse=True)
    if ordered:
        order = np.argsort(first)
        known, place[there] = known[order], np.argsort(order)[place[there]]
    at = np.append(place, -1)[codes].astype(np.int64)
    return Column(name, kind if len(known) else "empty", at, known, ordered)


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


# -- Codes that mean a missing answer, in all columns of a table or in some -----------------------


MissingCodes = Mapping[str | None, tuple[str, ...]]
"""Codes as text, in the order that they were given in: of some columns, and under None of all."""


def missing_codes(given: object) -> MissingCodes:
    """Read the argument `na`: codes in a list, or in a mapping from columns to lists."""
    found: dict[str | None, tuple[str, ...]] = {}
    for column, codes in (given if isinstance(given, Mapping) else {None: given}).items():
        single = isinstance(codes, str)
        if codes is given:
            example = f", for example [{given!r}]" if single else ""
            remedy = f"must be a list{example}, or a mapping from columns to lists"
        elif not isinstance(column, str):
            raise InvalidArgument("na", column, "must be text, the name of a column")
        else:
            example = f"[{codes!r}]" if single else "['9']"
            remedy = f"must be a list in a mapping of columns, for example {example}"
        texts = []
        for code in listed("na", codes, remedy):  # 9 and 9.0 are "9"
            if isinstance(code, str):
                texts.append(str.__str__(code))
                continue
            value = real_number("na", code, "must be text or a finite number")
            if not np.isfinite(value):
                raise InvalidArgument("na", code, "must be text or a finite number")
            texts.append(str(int(code)) if value.is_integer() else repr(value))
        if texts or column is not None:
            found[column] = tuple(texts)
    return found


# -- Tables of any kind ---------------------------------------------------------------------------


_FRAMES = "a pandas or Polars DataFrame, or an Arrow table"
_ARROW = ("arrow", "batch")


@record
class Table:
    """A table of pandas, Polars or Arrow. No error shows what it holds."""

    # nor the columns of a `secret` one, of true answers: without a header, the first respondent's
    # answers are their names

    name: str  # of the argument, for errors
    frame: Any  # as it was given; anything else that Arrow reads as what it reads
    secret: bool = False
    kind: str = ""  # "pandas", "polars", "arrow"; "batch" where a record batch was given
    na: MissingCodes = field(default_factory=dict)

    @staticmethod
    def of(data: object, name: str = "data", secret: bool = False) -> Table:
        """See a frame as a table; refuse anything else, and columns without names of their own."""
        given, frame = type(data), data
        polars = given.__name__ if given.__module__.partition(".")[0] == "polars" else ""
        if polars == "LazyFrame":
            raise InvalidArgument(name, "LazyFrame", "is not computed yet: pass .collect() of it")
        if isinstance(data, pd.DataFrame) or polars == "DataFrame":
            kind = "polars" if polars else "pandas"
        elif hasattr(given, "__arrow_c_stream__") and not isinstance(data, pd.Series | str):
            import pyarrow

            kind, batch = "", isinstance(data, pyarrow.RecordBatch)
            with suppress(pyarrow.ArrowException, TypeError, ValueError):
                frame = pyarrow.Table.from_batches([data]) if batch else pyarrow.table(data)
                kind = "batch" if batch else "arrow"
            if not kind:
                remedy = f"must be {_FRAMES}: Arrow reads no table from this"
                raise InvalidArgument(name, given.__name__, remedy)
        else:
            hint = ""
            if isinstance(data, Mapping):
                hint = ": pass pandas.DataFrame(...) of the dict"
            elif isinstance(data, pd.Series):
                hint = ": pass .to_frame(NAME) of the Series"
            raise InvalidArgument(name, given.__name__, f"must be {_FRAMES}{hint}")
        table = Table(name, frame, secret, kind)
        check_names(name, list(table.columns), secret)
        return table

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        arrow = self.kind in _ARROW
        return tuple(self.frame.column_names if arrow else self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def index(self) -> pd.Index[Any]:
        """Labels of the rows: their numbers from 0, but for tables of pandas."""
        return self.frame.index if self.kind == "pandas" else pd.RangeIndex(len(self))

    def _column(self, name: str) -> pd.Series[Any]:
        """A column that exists."""
        if self.kind == "pandas":
            found: pd.Series[Any] = self.frame[name]
            if isinstance(found.dtype, pd.ArrowDtype):  # read as of Arrow: pandas does not know all
                return from_arrow(found.array.__arrow_array__())
            return found.reset_index(drop=True)
        if self.kind in _ARROW:
            return from_arrow(self.frame.column(name))
        import pyarrow

        column = self.frame.get_column(name)
        with suppress(pyarrow.ArrowException):
            return from_arrow(column.to_arrow())
        remedy = f"is of the type {column.dtype}, which Arrow does not have: cast it"
        raise InvalidArgument("column", name, remedy)

    def column(self, name: str, labels: pd.Index[Any] | None = None) -> pd.Series[Any]:
        """A column as a Series numbered from 0, missing codes missing, in categories too."""
        self.check_column(name)
        column = self._column(name)
        codes = self.missing_codes(name)
        if not codes:
            return column
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = column.dtype.categories
            found = categories[written_as(pd.Series(categories), codes)]
            return column.cat.remove_categories(found) if len(found) else column
        there = written_as(column, codes)
        if not there.any():
            return column
        if column.dtype == object:
            column = column.copy()
            column[there] = None
            return column
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            whole: Any = "UInt64" if column.dtype.kind == "u" else "Int64"
            column = column.astype(whole)
        return column.mask(there)

    # a column of reports, which are among `labels` if those are given; and one that nothing else
    # describes, as the table's kind types it
    reports = typed = column

    def missing_codes(self, name: str) -> tuple[str, ...]:
        """What means missing in a column."""
        return self.na.get(None, ()) + self.na.get(name, ())

    def first(self, name: str) -> Any:
        """The first report of a column that is not missing; None if all are."""
        column = self.reports(name, None)
        present = np.flatnonzero(~missing_entries(name, column))
        return column.iloc[present[0]] if present.size else None

    def as_column(self, name: str) -> Column:
        """A column that nothing describes, as its distinct values."""
        self.check_column(name)
        return as_column(name, self.typed(name))

    def located(
        self, error: InvalidArgument, parts: Mapping[str, str | None], n: Array | None
    ) -> InvalidArgument:
        """An error about a cell of some columns, by the place of the first such row."""
        return error

    def index_names(self) -> tuple[Any, ...]:
        """Names of the index of pandas, which stays beside the columns of frames made of it."""
        if self.kind == "pandas":
            return tuple(self.frame.index.names)
        if self.kind not in _ARROW:
            return ()
        notes = _noted(self.frame.schema.metadata) or {"columns": [], "index_columns": []}
        levels = [(c["field_name"], c["name"]) for c in notes["columns"]]
        return tuple(name for field, name in levels if field in _levels(notes) and field != name)

    def prepare(self, names: Iterable[str]) -> None:
        """Read the columns of these names that exist, where that takes a pass over a file."""

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        """The keys and values that the table stores beside a column."""
        return (self.frame.schema.field(name).metadata or {}) if self.kind in _ARROW else {}

    def check_marks(self, name: str, made_by: Any) -> None:
        """Refuse a column of fingerprints that are not of this mechanism or questionnaire."""
        check_fingerprints(f"column {name!r}", name, self.column(name), made_by)

    def check_column(self, name: str, what: str = "column") -> None:
        """Refuse the name of a column that is not there; `what` it is for."""
        if name not in self.columns:
            if name in self.index_names():
                raise InvalidArgument(what, name, "is the index, not a column: reset_index() first")
            if self.secret:
                held = f"the table has {len(self.columns)} columns: check their names"
                raise InvalidArgument(what, name, f"no such column; {held}")
            shown = columns_shown(self.columns)
            hint = "" if shown.startswith("one column") else did_you_mean(name, self.columns)
            raise InvalidArgument(what, name, f"no such column; the table has {shown}{hint}")

    def arranged(self, columns: Mapping[str, Any]) -> Any:
        """A frame of this kind with these columns in order: values, (n,), or None for its own.

        Notes on the table are left out: they may hold true answers too.
        """
        made: dict[str, pd.Series[Any]] = {}
        for name, values in columns.items():
            if values is None:
                self.check_column(name)
                continue
            made[name] = as_series(name, values)
            if len(made[name]) != len(self):
                remedy = f"must be {len(self)}, one a row"
                raise InvalidArgument(name, f"{len(made[name])} values", remedy)
        own = [name for name in columns if name not in made]
        if self.kind == "pandas":
            # without their index: rows are matched by position
            arrays = {name: values.array for name, values in made.items()}
            new = pd.DataFrame(arrays, index=self.frame.index)
            frame = pd.concat([self.frame[own], new], axis=1)[list(columns)]
            frame.columns.name = self.frame.columns.name
            frame.attrs = {}
            return frame
        import pyarrow

        arrow = pyarrow.table({name: to_arrow(values) for name, values in made.items()})
        if self.kind == "polars":
            new = type(self.frame)(arrow)
            return type(self.frame)(
                [(new if name in made else self.frame).get_column(name) for name in columns]
            )
        sources = [arrow if name in made else self.frame for name in columns]
        pairs = list(zip(columns, sources, strict=True))
        rest = None
        notes = _noted(self.frame.schema.metadata)
        if notes is not None and _levels(notes) <= {*own}:
            notes["columns"] = [c for c in notes["columns"] if c["field_name"] in own]
            notes.pop("attributes", None)
            rest = {b"pandas": json.dumps(notes).encode()}
        schema = pyarrow.schema([source.schema.field(n) for n, source in pairs], rest)
        cells = [source.column(name) for name, source in pairs]
        if self.kind == "batch":
            cells = [column.combine_chunks() for column in cells]
            return pyarrow.RecordBatch.from_arrays(cells, schema=schema)
        return pyarrow.Table.from_arrays(cells, schema=schema)


def check_names(name: str, columns: list[Any], secret: bool = False) -> None:
    """Refuse columns whose names are no text, or are not distinct; `secret` ones are not shown."""
    for column in columns:
        if not isinstance(column, str):
            remedy = "is the name of a column, and must be text: rename the column"
            raise InvalidArgument(name, HIDDEN if secret else column, remedy)
    if len({*columns}) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        remedy = "is the name of two columns: rename one"
        raise InvalidArgument(name, HIDDEN if secret else twice, remedy)
