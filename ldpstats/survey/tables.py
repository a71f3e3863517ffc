"""Tables of several kinds seen alike: pandas, Polars, Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from ldpstats.arguments.labels import as_series, missing_entries
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.reports.fingerprints import check_fingerprints
from ldpstats.survey.absent import NO_CODES, MissingCodes, emptied
from ldpstats.survey.arrow import from_arrow, index_names, kept_notes, to_arrow

__all__ = ["Table", "check_names"]

_KINDS = "a pandas or Polars DataFrame, or an Arrow table"


@runtime_checkable
class _Stream(Protocol):
    """What can be read as Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@dataclass(frozen=True, eq=False)
class Table(ABC):
    """A table of any kind; `Table.of` finds which. No error shows what a table holds."""

    name: str  # of the argument, for errors
    frame: Any  # as it was given
    secret: bool = False
    na: MissingCodes = NO_CODES

    @staticmethod
    def of(data: object, name: str = "data", secret: bool = False) -> Table:
        """See a frame as a table; refuse anything else, and columns that have no name of their own.

        No error shows the columns of a `secret` table, of true answers: without a header, the first
        respondent's answers are their names. Frames made of it have none of its notes (the attrs of
        pandas, the metadata of an Arrow schema), which may hold answers too.

        Examples
        --------
        >>> table = Table.of(pd.DataFrame({"job": ["cook", "nurse"], "age": [31, 47]}))
        >>> table.columns, len(table)
        (('job', 'age'), 2)
        >>> print(table.with_columns({"age": [1, 2]}).to_string(index=False))
          job  age
         cook    1
        nurse    2
        """
        table: Table
        kind = type(data)
        polars = kind.__name__ if kind.__module__.partition(".")[0] == "polars" else ""
        if isinstance(data, pd.DataFrame):
            table = _Pandas(name, data, secret)
        elif polars == "DataFrame":
            table = _Polars(name, data, secret)
        elif polars == "LazyFrame":
            raise InvalidArgument(name, "LazyFrame", "is not computed yet: pass .collect() of it")
        elif isinstance(data, _Stream) and not isinstance(data, pd.Series) and not polars:
            table = _Arrow(name, data, secret)
        else:
            raise InvalidArgument(name, kind.__name__, f"must be {_KINDS}{_hint(data)}")
        check_names(name, list(table.columns), secret)
        return table

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @property
    def index(self) -> pd.Index[Any]:
        """Labels of the rows: their numbers from 0, but for tables of pandas."""
        return pd.RangeIndex(len(self))

    @abstractmethod
    def _column(self, name: str) -> pd.Series[Any]:
        """A column that exists."""

    @abstractmethod
    def _arranged(self, columns: Mapping[str, pd.Series[Any] | None]) -> Any:
        """The frame of `arranged`, from columns that were checked."""

    def column(self, name: str) -> pd.Series[Any]:
        """A column as a Series numbered from 0: whole numbers and categories stay what they are.

        Codes that mean missing are.
        """
        self.check_column(name)
        return emptied(self._column(name), self.missing_codes(name))

    def missing_codes(self, name: str) -> tuple[str, ...]:
        """What means missing in a column."""
        return self.na.on(name)

    def typed(self, name: str) -> pd.Series[Any]:
        """A column that nothing else describes, as the table's kind types it."""
        return self.column(name)

    def reports(self, name: str, labels: pd.Index[Any] | None) -> pd.Series[Any]:
        """A column of reports, which are among some labels if those are given."""
        return self.column(name)

    def first(self, name: str) -> Any:
        """The first report of a column that is not missing; None if all are."""
        column = self.reports(name, None)
        present = np.flatnonzero(~missing_entries(name, column))
        return column.iloc[present[0]] if present.size else None

    def index_names(self) -> tuple[Any, ...]:
        """Names of the index of pandas, which stays beside the columns of frames made of it."""
        return ()

    def prepare(self, names: Iterable[str]) -> None:  # noqa: B027
        """Read the columns of these names that exist, where that takes a pass over a file."""

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        """The keys and values that the table stores beside a column."""
        return {}

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
            shown = ", ".join(map(repr, self.columns[:20])) + ", ..." * (len(self.columns) > 20)
            hint = did_you_mean(name, self.columns)
            if len(self.columns) == 1 and (other := [c for c in ";\t" if c in self.columns[0]]):
                hint = "; if this is a file, its fields must be separated by commas: pass the "
                hint += f"table pandas.read_csv(file, sep={other[0]!r})"
            raise InvalidArgument(what, name, f"no such column; the table has {shown}{hint}")

    def arranged(self, columns: Mapping[str, Any]) -> Any:
        """A frame of the same kind and rows with these columns in this order.

        None stands for the table's own column of that name; anything else is its values, (n,).
        """
        found: dict[str, pd.Series[Any] | None] = {}
        for name, values in columns.items():
            if values is None:
                self.check_column(name)
            found[name] = None if values is None else self._values(name, values)
        return self._arranged(found)

    def with_columns(self, columns: Mapping[str, Any]) -> Any:
        """A frame of the same kind and rows with some columns replaced, or added at the end."""
        return self.arranged({**dict.fromkeys(self.columns), **columns})

    def _values(self, name: str, values: Any) -> pd.Series[Any]:
        series = as_series(name, values)
        if len(series) != len(self):
            raise InvalidArgument(name, f"{len(series)} values", f"must be {len(self)}, one a row")
        return series


@dataclass(frozen=True, eq=False)
class _Pandas(Table):
    """A table of pandas."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def index(self) -> pd.Index[Any]:
        found: pd.Index[Any] = self.frame.index
        return found

    def index_names(self) -> tuple[Any, ...]:
        return tuple(self.index.names)

    def __len__(self) -> int:
        return len(self.frame)

    def _column(self, name: str) -> pd.Series[Any]:
        found: pd.Series[Any] = self.frame[name]
        if isinstance(found.dtype, pd.ArrowDtype):  # read as of Arrow: pandas does not know all
            return from_arrow(found.array.__arrow_array__())
        return found.reset_index(drop=True)

    def _arranged(self, columns: Mapping[str, pd.Series[Any] | None]) -> Any:
        kept = [name for name, values in columns.items() if values is None]
        # without their index: rows are matched by position
        made = {name: values.array for name, values in columns.items() if values is not None}
        new = pd.DataFrame(made, index=self.frame.index)
        frame = pd.concat([self.frame[kept], new], axis=1)[list(columns)]
        frame.columns.name = self.frame.columns.name
        frame.attrs = {} if self.secret else dict(self.frame.attrs)
        return frame


@dataclass(frozen=True, eq=False)
class _Polars(Table):
    """A table of Polars, which this package never imports."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    def __len__(self) -> int:
        return int(self.frame.height)

    def _column(self, name: str) -> pd.Series[Any]:
        import pyarrow

        column = self.frame.get_column(name)
        try:
            return from_arrow(column.to_arrow())
        except pyarrow.ArrowException:
            pass
        remedy = f"is of the type {column.dtype}, which Arrow does not have: cast it"
        raise InvalidArgument("column", name, remedy)

    def _arranged(self, columns: Mapping[str, pd.Series[Any] | None]) -> Any:
        import pyarrow

        made = {name: to_arrow(v) for name, v in columns.items() if v is not None}
        new = type(self.frame)(pyarrow.table(made))
        series = [(self.frame if v is None else new).get_column(n) for n, v in columns.items()]
        return type(self.frame)(series)


@dataclass(frozen=True, eq=False)
class _Arrow(Table):
    """A table of Arrow, or of anything that Arrow reads; the latter becomes a pyarrow.Table."""

    @cached_property
    def table(self) -> Any:
        """What Arrow reads of the frame."""
        return _arrow_table(self.name, self.frame)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def _column(self, name: str) -> pd.Series[Any]:
        return from_arrow(self.table.column(name))

    def index_names(self) -> tuple[Any, ...]:
        return index_names(self.table.schema.metadata)

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        return self.table.schema.field(name).metadata or {}

    def _arranged(self, columns: Mapping[str, pd.Series[Any] | None]) -> Any:
        import pyarrow

        arrays, fields = [], []
        for name, values in columns.items():
            array = self.table.column(name) if values is None else to_arrow(values)
            field = pyarrow.field(name, array.type)
            arrays.append(array)
            fields.append(self.table.schema.field(name) if values is None else field)
        own = [name for name, values in columns.items() if values is None]
        schema = pyarrow.schema(fields, kept_notes(self.table.schema.metadata, own, self.secret))
        table = pyarrow.Table.from_arrays(arrays, schema=schema)
        if not isinstance(self.frame, pyarrow.RecordBatch):
            return table
        return pyarrow.RecordBatch.from_arrays(
            [column.combine_chunks() for column in table.columns], schema=schema
        )


def _arrow_table(name: str, data: object) -> Any:
    """What Arrow reads of an object."""
    import pyarrow

    try:
        if isinstance(data, pyarrow.RecordBatch):
            return pyarrow.Table.from_batches([data])
        return pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError, ValueError):
        kind = type(data).__name__
    raise InvalidArgument(name, kind, f"must be {_KINDS}: Arrow reads no table from this")


def _hint(data: object) -> str:
    """What to do with something that is no table but could become one."""
    if isinstance(data, Mapping):
        return ": pass pandas.DataFrame(...) of the dict"
    if isinstance(data, pd.Series):
        return ": pass .to_frame(NAME) of the Series"
    return ""


def check_names(name: str, columns: list[Any], secret: bool = False) -> None:
    """Refuse columns whose names are no text, or are not distinct; `secret` ones are not shown."""
    for column in columns:
        if not isinstance(column, str):
            remedy = "is the name of a column, and must be text: rename the column"
            raise InvalidArgument(name, HIDDEN if secret else column, remedy)
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        remedy = "is the name of two columns: rename one"
        raise InvalidArgument(name, HIDDEN if secret else twice, remedy)
