"""Tables in CSV and Parquet files, read by column when a column is first needed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.storage.files import FilePath, reading, refusal
from ldpstats.io.tables import (
    column_metadata,
    csv_lines,
    file_format,
    names,
    table_chunks,
    unguarded,
)
from ldpstats.io.values import missing_texts
from ldpstats.survey.tables import Table, check_names

__all__ = ["table_of"]

_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?|-?inf")
_TRUTH = {"true": True, "false": False}


def table_of(data: object, na: object = ()) -> Table:
    """A table of any kind: a frame, or the name of a CSV or Parquet file.

    `na` is text that means an empty field, for CSV only.

    Raises
    ------
    InvalidArgument
        For anything else, and for a file that cannot be read.
    """
    empty = names("na", na)
    table: Table
    if isinstance(data, pd.DataFrame):
        table = Table.of(data.copy(deep=False))  # what is done to the caller's later is not seen
    elif not isinstance(data, str | os.PathLike):
        table = Table.of(data)
    elif file_format(data) == ".parquet":
        table = _Parquet("data", data)
    else:
        table = _Csv("data", data, na=tuple(empty))
    if empty and not isinstance(table, _Csv):
        raise InvalidArgument("na", empty, "goes with CSV files: other tables know what is missing")
    check_names("data", list(table.columns))
    return table


class _File(Table):
    """A table in a file, of which `frame` is the name."""

    frame: FilePath

    def _arranged(self, columns: Mapping[str, Any]) -> NoReturn:
        raise NotAvailable(f"{os.fspath(self.frame)}: a file is not changed: read it first")


@dataclass(frozen=True, eq=False)
class _Parquet(_File):
    """A Parquet file."""

    @cached_property
    def _schema(self) -> tuple[tuple[str, ...], int]:
        import pyarrow
        import pyarrow.parquet

        with reading(self.frame, pyarrow.ArrowException, regular=True):
            with pyarrow.parquet.ParquetFile(self.frame) as file:
                return tuple(file.schema_arrow.names), int(file.metadata.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return self._schema[0]

    def __len__(self) -> int:
        return self._schema[1]

    def _column(self, name: str) -> pd.Series[Any]:
        import pyarrow
        import pyarrow.parquet

        with reading(self.frame, pyarrow.ArrowException, regular=True):
            with pyarrow.parquet.ParquetFile(self.frame) as file:
                read = file.read(columns=[name])
        if len(read) != len(self):
            raise refusal(self.frame, "changed while it was in use: make the survey anew")
        return Table.of(read).column(name)

    def first(self, name: str) -> Any:
        for frame in table_chunks(self.frame, [name], 1024):
            found = Table.of(frame).first(name)
            if found is not None:
                return found
        return None

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        return column_metadata(self.frame, name)


@dataclass(frozen=True, eq=False)
class _Csv(_File):
    """A CSV file; an empty field is missing.

    A column that nothing else describes is of whole numbers, of numbers or of booleans if all its
    fields are written so, and of text otherwise; "01" is text. The apostrophe before =, +, - and @
    of spreadsheet_safe= is no part of a field, unless a label has it.
    """

    na: tuple[str, ...] = ()
    empty_is_missing: ClassVar[bool] = True
    read: dict[str, pd.Series[Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def _header(self) -> tuple[str, ...]:
        with csv_lines(self.frame) as (lines, _):
            header = next(lines, [])
        if not header:
            raise refusal(self.frame, "is empty: the first line must name the columns")
        return tuple(map(unguarded, header))

    @property
    def columns(self) -> tuple[str, ...]:
        return self._header

    def __len__(self) -> int:
        if not self.read:
            self.prepare(self.columns[:1])
        return len(next(iter(self.read.values())))

    def prepare(self, columns: Iterable[str]) -> None:
        """Read columns that exist and were not read before, in one pass over the file."""
        wanted = [name for name in dict.fromkeys(columns) if name not in self.read]
        wanted = [name for name in wanted if name in self.columns]
        if not wanted:
            return
        texts: dict[str, list[Any]] = {name: [] for name in wanted}
        empty = missing_texts(self.frame, self.na)
        known: dict[str | None, str | None] = dict.fromkeys(empty)  # equal texts are held once
        for chunk in table_chunks(self.frame, wanted):
            for name in wanted:
                texts[name].extend(known.setdefault(cell, cell) for cell in chunk[name])
        self.read.update({name: pd.Series(cells, dtype=object) for name, cells in texts.items()})
        if len({len(column) for column in self.read.values()}) > 1:
            raise refusal(self.frame, "changed while it was in use: make the survey anew")

    def _column(self, name: str) -> pd.Series[Any]:
        self.prepare([name])
        return self.read[name]

    def typed(self, name: str) -> pd.Series[Any]:
        return _typed(_unguarded(self.column(name), set()))

    def reports(self, name: str, labels: pd.Index[Any] | None) -> pd.Series[Any]:
        if labels is None or isinstance(labels, pd.RangeIndex):  # no label begins with it
            return _unguarded(self.column(name), set())
        return _unguarded(self.column(name), set(map(str, labels)))


def _unguarded(column: pd.Series[Any], labels: set[str]) -> pd.Series[Any]:
    """Fields without the apostrophe of spreadsheet_safe=, but for those that are labels with it."""
    changed = {text for text in column.unique() if text is not None and unguarded(text) != text}
    changed -= labels
    if not changed:
        return column
    cells = [unguarded(text) if text in changed else text for text in column]
    return pd.Series(cells, dtype=object)


def _typed(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as what its fields say that they are."""
    codes, distinct = pd.factorize(column)
    texts = [text.strip() for text in distinct]
    filled = [text for text in texts if text]
    if not filled:
        return column
    values: Any
    if all(_WHOLE.fullmatch(text) for text in filled):
        values = pd.array([int(text) if text else None for text in texts], dtype="Int64")
    elif all(_NUMBER.fullmatch(text) for text in filled):
        values = np.array([float(text or "nan") for text in texts])
    elif all(text.lower() in _TRUTH for text in filled):
        truths = [_TRUTH[text.lower()] if text else None for text in texts]
        values = pd.array(truths, dtype="boolean")
    else:
        return column
    return pd.Series(pd.api.extensions.take(values, codes, allow_fill=True))
