"""Tables in CSV files, read by column when a column is first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.engines.listing import found_files, is_files
from ldpstats.errors import NotAvailable
from ldpstats.io.cells import coded, unguarded
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.io.tables import csv_lines, file_format, table_chunks
from ldpstats.io.values import missing_texts
from ldpstats.survey.absent import MissingCodes
from ldpstats.survey.tables import Table

__all__ = ["Csv", "table_of"]

_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?|-?inf")
_TRUTH = {"true": True, "false": False}


def table_of(data: object, na: object = (), name: str = "data") -> Table:
    """A table in memory of any kind: a frame, or CSV files, one after another.

    `na` has codes that mean missing, in a list for all columns or in a mapping by column.

    Raises
    ------
    InvalidArgument
        For anything else, for a file that cannot be read, and if `na` names other columns.
    """
    codes = MissingCodes.of(na)
    table: Table
    if is_files(data):
        files = found_files(data).files
        for file in files:
            file_format(file)
        table = Csv(name, files)
    elif isinstance(data, pd.DataFrame):
        # a copy of the frame, to which the caller may add columns later
        table = Table.of(data.copy(deep=False), name)
    else:
        table = Table.of(data, name)
    for column in codes.by_column:
        table.check_column(column, "na")
    return replace(table, na=codes)


@dataclass(frozen=True, eq=False)
class Csv(Table):
    """CSV files of the same columns, one after another; an empty field is missing.

    A column that nothing else describes is of whole numbers, of numbers or of booleans if all its
    fields are written so, and of text otherwise; "01" is text. The apostrophe before =, +, - and @
    of spreadsheet_safe= is no part of a field, unless a label has it.
    """

    frame: tuple[Path, ...]
    read: dict[str, pd.Series[Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def _header(self) -> tuple[str, ...]:
        first, *others = self.frame
        header = _header(first)
        for file in others:
            differ = {*header} ^ {*_header(file)}
            if differ:
                remedy = f"and {first} do not both have the column {min(differ)!r}: give files of "
                raise refusal(file, f"{remedy}one table")
        return header

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
        texts: dict[str, list[Any]] = {name: [np.empty(0, dtype=object)] for name in wanted}
        for file in self.frame:
            for chunk in table_chunks(file, wanted, codes=wanted):
                for name in wanted:
                    texts[name].append(_cells(chunk[name]))
        made = {name: np.concatenate(cells) for name, cells in texts.items()}
        self.read.update({name: pd.Series(cells, dtype=object) for name, cells in made.items()})
        if len({len(column) for column in self.read.values()}) > 1:
            raise refusal(self.frame[0], "changed while it was in use: make the survey anew")

    def _column(self, name: str) -> pd.Series[Any]:
        self.prepare([name])
        return self.read[name]

    def missing_codes(self, name: str) -> tuple[str, ...]:
        return tuple(missing_texts(self.frame[0], self.na.on(name)))

    def typed(self, name: str) -> pd.Series[Any]:
        return _typed(_unguarded(self.column(name), set()))

    def reports(self, name: str, labels: pd.Index[Any] | None) -> pd.Series[Any]:
        if labels is None or isinstance(labels, pd.RangeIndex):  # no label begins with it
            return _unguarded(self.column(name), set())
        return _unguarded(self.column(name), set(map(str, labels)))

    def _arranged(self, columns: Mapping[str, Any]) -> NoReturn:
        raise NotAvailable(f"{self.frame[0]}: a file is not changed: read it first")


def _header(file: FilePath) -> tuple[str, ...]:
    with csv_lines(file) as (lines, _):
        header = next(lines, [])
    if not header:
        raise refusal(file, "is empty: the first line must name the columns")
    return tuple(map(unguarded, header))


def _cells(column: pd.Series[Any]) -> npt.NDArray[np.object_]:
    """The fields of a column of text, None where missing; equal texts are one object."""
    text = coded(column)
    assert text is not None
    codes, distinct = text
    found: npt.NDArray[np.object_] = np.array([*distinct.tolist(), None], dtype=object)[codes]
    return found


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
