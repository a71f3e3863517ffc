"""Files of a dictionary survey's reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument, MechanismMismatch, shorten
from ldpstats.io.cells import objects
from ldpstats.io.report_columns import (
    SURVEY_COLUMNS,
    SURVEY_FINGERPRINT,
    SURVEY_FINGERPRINTS,
    ReportColumn,
    read_fingerprints,
    stored_text,
)
from ldpstats.io.specifications import check_survey
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import CHUNK_ROWS, Advance, column_metadata, names, table_chunks
from ldpstats.io.values import missing_texts, present, refuse_missing
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.survey import DictionarySurvey

__all__ = ["DictionaryTable", "read_dictionary_reports"]

Array = npt.NDArray[Any]


def read_dictionary_reports(
    path: FilePath,
    survey: DictionarySurvey,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "raise",
    na: Sequence[str] = (),
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> DictionaryReports:
    """Read the reports of a dictionary survey from a CSV or Parquet file, chunk by chunk.

    Parameters
    ----------
    path : path-like
    survey : DictionarySurvey
        The survey that the reports were collected with.
    columns : sequence of five str, optional
        Columns of the start of a gram (counted from 0) and its report, of the start and the report
        of the other gram, and of the report of the string. By default start_1, gram_1, start_2,
        gram_2 and string. The order of the two grams does not matter.
    missing : {"raise", "count"}
        Refuse rows that are empty in all five columns, or leave them out and count them.
    na : sequence of str
        Text that means an empty field too, for example ("NA",).
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    DictionaryReports
        In the order of the rows.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is malformed, or holds reports that the mechanisms cannot
        make, invalid or equal start positions, or partly empty rows. The row is named, from 1 after
        the header.
    MechanismMismatch
        If the Parquet file, or a row's fingerprint in the column survey_fingerprint, is of another
        survey.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.io import write_dictionary_reports
    >>> survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    >>> reports = survey.privatize(["abca", "cc"] * 10, np.random.default_rng(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dictionary_reports(reports, f"{folder}/reports.csv.gz")
    ...     again = read_dictionary_reports(f"{folder}/reports.csv.gz", survey)
    >>> again.to_frame().equals(reports.to_frame())
    True
    """
    one_of("missing", missing, ("raise", "count"))
    check_survey(survey)
    used = names("columns", SURVEY_COLUMNS if columns is None else columns)
    table = DictionaryTable(path, survey, used, names("na", na))
    how: dict[str, Any] = {"optional": table.optional, "codes": [*used, *table.optional]}
    frames = table_chunks(path, used, chunk_rows, advance, **how)
    return table.gathered(frames, missing)


def _sum(chunks: Sequence[DictionaryReports]) -> DictionaryReports:
    """The sum of chunks, by halves, so that no report is copied many times."""
    if len(chunks) == 1:
        return chunks[0]
    half = len(chunks) // 2
    return _sum(chunks[:half]) + _sum(chunks[half:])


@dataclass(frozen=True)
class DictionaryTable:
    """Reader of the five columns of reports of a table in a file."""

    path: FilePath
    survey: DictionarySurvey
    columns: list[str]
    na: list[str]

    def __post_init__(self) -> None:
        if len(self.columns) != len(SURVEY_COLUMNS) or len(set(self.columns)) < len(SURVEY_COLUMNS):
            remedy = f"must be five distinct names, in place of {', '.join(SURVEY_COLUMNS)}"
            raise InvalidArgument("columns", self.columns, remedy)
        for column in self.columns:
            found = stored_text(column_metadata(self.path, column), SURVEY_FINGERPRINT)
            if found and found != self.survey.fingerprint:
                raise MechanismMismatch(
                    f"{self.path}, column {column!r} holds reports of a survey with fingerprint "
                    f"{shorten(found)}, not of {self.survey} ({self.survey.fingerprint}): use "
                    "the specification that the reports were made with"
                )

    @cached_property
    def parts(self) -> list[ReportColumn]:
        """The columns of the first gram, the second gram and the string."""
        _, gram_1, _, gram_2, string = self.columns
        each = zip(self.survey.mechanisms, (gram_1, gram_2, string), strict=True)
        how: Any = {"missing": "count", "na": self.na, "exact": True}
        return [ReportColumn(self.path, mechanism, column, **how) for mechanism, column in each]

    @property
    def optional(self) -> list[str]:
        """Columns that are read where they exist: fingerprints, and what goes with the reports."""
        return [SURVEY_FINGERPRINTS, *(column for part in self.parts for column in part.optional)]

    def gathered(self, frames: Iterable[pd.DataFrame], missing: str) -> DictionaryReports:
        """The reports of all chunks, in their order; `missing` ones are refused or counted."""
        chunks, done = [self.survey.no_reports()], 0
        for frame in frames:
            chunk, absent = self.read(frame, done)
            if missing == "raise":
                refuse_missing(os.fspath(self.path), done, absent)
            chunks.append(chunk)
            done += len(frame)
        return _sum(chunks)

    def read(self, frame: pd.DataFrame, done: int) -> tuple[DictionaryReports, Array]:
        """The reports of a chunk, `done` rows after the start, and which rows are empty, (n,)."""
        na = missing_texts(self.path, self.na)
        read_fingerprints(self.path, frame, SURVEY_FINGERPRINTS, na, self.survey, done)
        a, no_a = self._positions(self.columns[0], frame, done)
        b, no_b = self._positions(self.columns[2], frame, done)
        (first, no_1), (second, no_2), (string, no_3) = [p.read(frame, done) for p in self.parts]
        absent = self._empty(np.array([no_a, no_1, no_b, no_2, no_3]), done)
        if (same := np.flatnonzero(a == b)).size:
            row = done + int(np.flatnonzero(~absent)[same[0]]) + 1
            raise InvalidArgument(
                f"{self.path}, column {self.columns[2]!r}, row {row}",
                self.survey.layout.starts[b[same[0]]],
                "is also the start of the other gram: the two grams must be at distinct positions",
            )
        n_missing = int(absent.sum())
        parts = first, second, string
        return DictionaryReports.at_positions(self.survey, a, b, parts, n_missing), absent

    def _positions(self, column: str, frame: pd.DataFrame, done: int) -> tuple[Array, Array]:
        """The positions, counted from 0, of the starts in a column, and which rows have none."""
        starts, where = self.survey.layout.starts, f"{self.path}, column {column!r}"
        values, absent = present(where, frame[column], None, missing_texts(self.path, self.na))
        known = {str(start): i for i, start in enumerate(starts)}
        codes, distinct = pd.factorize(objects(pd.Series(values)))
        # a column of whole numbers that lacks some is often written as floats: 4.0 is 4
        found = [known.get(str(value).removesuffix(".0"), -1) for value in distinct]
        positions = np.array(found, dtype=np.int64)[codes]
        if (positions < 0).any():
            i = int(np.argmax(positions < 0))
            shown = ", ".join(map(str, starts[:5])) + (", ..." if len(starts) > 5 else "")
            raise InvalidArgument(
                f"{where}, row {done + int(np.flatnonzero(~absent)[i]) + 1}",
                distinct[codes[i]],
                f"is not the start of a gram: grams of the survey start at {shown}",
            )
        return positions, absent

    def _empty(self, absent: Array, done: int) -> Array:
        """Which rows are empty, (n,), from the empty fields, (5, n); refuse partly empty rows."""
        rows = np.asarray(absent.all(axis=0))
        partly = absent.any(axis=0) & ~rows
        if partly.any():
            i = int(np.argmax(partly))
            column = self.columns[int(np.argmax(absent[:, i]))]
            raise InvalidArgument(
                f"{self.path}, column {column!r}, row {done + i + 1}",
                None,
                "is missing, but other fields of the row are not: a report has all five",
            )
        return rows
