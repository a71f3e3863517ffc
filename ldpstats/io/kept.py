"""Columns that are copied beside new reports, and the fingerprints of earlier reports in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.clients.secrecy import HIDDEN
from ldpstats.errors import InvalidArgument
from ldpstats.io.cells import coded, guarded, objects, unguarded
from ldpstats.io.report_columns import FINGERPRINT as OF_MECHANISM
from ldpstats.io.report_columns import (
    SURVEY_COLUMNS,
    SURVEY_FINGERPRINT,
    SURVEY_FINGERPRINTS,
    stored_text,
)
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import column_metadata, file_format
from ldpstats.reports.fingerprints import fingerprint_column, is_fingerprint
from ldpstats.reports.packed import cohort_column, holds_bytes

__all__ = ["ALREADY", "STORED_FINGERPRINT", "KeptColumns", "constant", "is_of_reports"]

ALREADY = (
    "belongs to reports: the table holds reports already, not true answers; privatise the table of "
    "true answers instead"
)
STORED_FINGERPRINT = b"ldpstats.questionnaire"  # beside a column of answer sheets, in Parquet


def is_of_reports(stored: Mapping[bytes, bytes]) -> bool:
    """Whether what Parquet and Arrow store beside a column says that it holds reports."""
    return bool({OF_MECHANISM, SURVEY_FINGERPRINT, STORED_FINGERPRINT} & set(stored))


@dataclass(frozen=True)
class KeptColumns:
    """The columns of a table of answers that are copied, unchanged, into the table of reports.

    Earlier reports keep their fingerprints: a column, or what Parquet stores beside the reports,
    which becomes a column in CSV.
    """

    source: FilePath
    target: FilePath
    names: list[str]
    answers: Sequence[str]  # the columns of true answers, which are never copied
    own: Sequence[str]  # the new columns, of reports and fingerprints
    spreadsheet_safe: bool = False
    marks: Sequence[str] = ()  # columns that a table has if its `answers` are sheets already

    def __post_init__(self) -> None:
        for column in self.answers:
            if not isinstance(column, str):  # answers, perhaps: not shown
                remedy = "must be text, the name of the column of answers"
                raise InvalidArgument("column", type(column).__name__, remedy)
            if column in self.names:
                remedy = "holds the true answers, which are never copied"
                raise InvalidArgument("keep", column, remedy)
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice or {*self.names} & {*self.own}:
            remedy = f"must be distinct names, and none of the reports' own: {', '.join(self.own)}"
            wrong = twice or [name for name in self.names if name in self.own]
            raise InvalidArgument("keep", list(dict.fromkeys(wrong)), remedy)
        taken = sorted({*self.own} & {*self._fingerprints.values(), *self._cohorts.values()})
        if taken:
            remedy = "is the name of a new column and of the fingerprints or cohorts of a kept one"
            raise InvalidArgument("keep", taken[0], f"{remedy}: give the new one another name")
        every = [*self.names, *self.own]
        if self.spreadsheet_safe and len(set(map(guarded, every))) < len(every):
            remedy = "become equal when an apostrophe is put before =, +, - and @: rename one"
            raise InvalidArgument("keep", every, remedy)

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        """The name of the column of fingerprints of each kept column, whether or not it exists."""
        found = {name: fingerprint_column(name) for name in self.names}
        return found | ({"": SURVEY_FINGERPRINTS} if set(SURVEY_COLUMNS) & set(self.names) else {})

    @cached_property
    def _cohorts(self) -> dict[str, str]:
        """The name of the column of cohorts of each kept column of reports in a Parquet file."""
        return {name: cohort_column(name) for name in self.names if self.stored[name]}

    @property
    def optional(self) -> list[str]:
        """Columns to read if they exist."""
        every = [*self._fingerprints.values(), *self._cohorts.values(), *self.marks]
        return [c for c in dict.fromkeys(every) if c not in (*self.names, *self.answers)]

    def refuse_reports(self, frame: pd.DataFrame) -> None:
        """Refuse a chunk in which reports, which have fingerprints, stand in place of answers."""
        for column in self.marks:
            if column in frame:
                raise InvalidArgument(f"{self.source}, column {column!r}", HIDDEN, ALREADY)
        if self._reports is not None:
            raise InvalidArgument(f"{self.source}, column {self._reports!r}", HIDDEN, ALREADY)

    @cached_property
    def _reports(self) -> str | None:
        """A column of answers beside which Parquet stores the fingerprint of reports."""
        answers = self.answers if self.marks else ()
        stored = ((name, column_metadata(self.source, name, True)) for name in answers)
        return next((name for name, found in stored if is_of_reports(found)), None)

    @cached_property
    def stored(self) -> dict[str, Mapping[bytes, bytes]]:
        """Fingerprints that Parquet stores beside the columns, by name of the column."""
        found: dict[str, Mapping[bytes, bytes]] = {}
        for name in self.names:
            stored = column_metadata(self.source, name, secret=True)
            kinds = (OF_MECHANISM, SURVEY_FINGERPRINT)
            found[name] = {kind: stored[kind] for kind in kinds if kind in stored}
        return found

    def of(self, frame: pd.DataFrame, done: int) -> dict[str, pd.Series[Any]]:
        """The columns of a chunk, `done` rows after the start, each with its fingerprints."""
        columns: dict[str, pd.Series[Any]] = {}
        for name in self.names:
            self._refuse_guarded(frame[name], name, done)
            self._refuse_bytes(frame[name], name)
            columns[name] = frame[name]
            cohort = self._cohorts.get(name, name)
            if cohort in frame and cohort not in self.names:
                columns[cohort] = frame[cohort]
            self._add(columns, frame, done, fingerprint_column(name), name, OF_MECHANISM)
        for name in self.names:
            if name in SURVEY_COLUMNS:
                self._add(columns, frame, done, SURVEY_FINGERPRINTS, name, SURVEY_FINGERPRINT)
        return columns

    def _add(
        self,
        columns: dict[str, pd.Series[Any]],
        frame: pd.DataFrame,
        done: int,
        column: str,
        name: str,
        kind: bytes,
    ) -> None:
        """Add the column of fingerprints of the column `name`, unless there is none."""
        if column in columns or column not in self.optional:
            return
        if column in frame:
            self._check(frame[column], column, done)
            columns[column] = frame[column]
        elif kind in self.stored[name] and file_format(self.target) != ".parquet":
            digits = stored_text(self.stored[name], kind)
            columns[column] = constant(digits, len(frame))

    def _refuse_guarded(self, column: pd.Series[Any], name: str, done: int) -> None:
        """Refuse to copy the apostrophes of `guarded` into Parquet, where they would stay."""
        if file_format(self.source) == ".parquet" or file_format(self.target) != ".parquet":
            return
        row = _first(column, lambda field: unguarded(field) != field)
        if row is not None:
            raise InvalidArgument(
                f"{self.source}, column {name!r}, row {done + row + 1}",
                HIDDEN,
                "begins with an apostrophe and one of =, +, - and @, as written with "
                "spreadsheet_safe= (--spreadsheet-safe), which Parquet would take for text: write "
                "a CSV file, or make the table without it",
            )

    def _refuse_bytes(self, column: pd.Series[Any], name: str) -> None:
        """Refuse to copy bytes into CSV, which has none."""
        if file_format(self.target) != ".parquet" and holds_bytes(column):
            remedy = "holds bytes, which CSV cannot hold: write a Parquet file"
            raise InvalidArgument(f"{self.source}, column {name!r}", HIDDEN, remedy)

    def _check(self, column: pd.Series[Any], name: str, done: int) -> None:
        """Refuse to copy, unasked, a column named like fingerprints that holds something else."""
        row = _first(column, lambda field: field != "" and not is_fingerprint(field))
        if row is not None:
            raise InvalidArgument(
                f"{self.source}, column {name!r}, row {done + row + 1}",
                HIDDEN,
                "is not a fingerprint, but the column is named like the fingerprints of a kept "
                "column: rename it",
            )


def _first(column: pd.Series[Any], bad: Callable[[Any], bool]) -> int | None:
    """The first row with a field that is bad; each distinct text is looked at once."""
    text = coded(column)
    if text is None:
        fields = objects(column).tolist()
        return next((i for i, v in enumerate(fields) if v is not None and bad(v)), None)
    wrong = np.array([*map(bad, text[1].tolist()), False], dtype=bool)[text[0]]
    return int(np.argmax(wrong)) if wrong.any() else None


def constant(text: str, n: int) -> pd.Series[Any]:
    """A column of n equal texts."""
    return pd.Series(np.full(n, text, dtype=object), dtype=object)
