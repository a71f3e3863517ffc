"""The columns of a dictionary survey's reports in a table, and what their fields say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.dictionary_reports import DictionaryReports
from ldpstats.dictionary_survey import DictionarySurvey
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.files import FilePath
from ldpstats.io.report_columns import ReportColumn
from ldpstats.io.tables import column_metadata, objects
from ldpstats.io.values import present
from ldpstats.mechanisms import Mechanism
from ldpstats.reports import Reports

__all__ = ["COLUMNS", "FINGERPRINT", "DictionaryColumns"]

Array = npt.NDArray[Any]

COLUMNS = ("start_1", "gram_1", "start_2", "gram_2", "string")  # of `DictionaryReports.to_frame`

FINGERPRINT = b"ldpstats.survey"
"""What a Parquet file stores the survey's fingerprint under, beside each of the columns."""


@dataclass(frozen=True)
class DictionaryColumns:
    """The five columns of reports of a table, chunks of which it reads.

    Parameters
    ----------
    path : path-like
    survey : DictionarySurvey
    columns : list of five str
    na : list of str
    """

    path: FilePath
    survey: DictionarySurvey
    columns: list[str]
    na: list[str]

    def __post_init__(self) -> None:
        if len(self.columns) != len(COLUMNS) or len(set(self.columns)) < len(COLUMNS):
            remedy = f"must be five distinct names, of what {', '.join(COLUMNS)} hold"
            raise InvalidArgument("columns", self.columns, remedy)
        for column in self.columns:
            stored = column_metadata(self.path, column).get(FINGERPRINT, b"")
            found = stored.decode("ascii", "replace")
            if found and found != self.survey.fingerprint:
                raise MechanismMismatch(
                    f"{self.path}, column {column!r} holds reports of a survey with fingerprint "
                    f"{found}, not of {self.survey} ({self.survey.fingerprint}): use the "
                    "specification that the reports were made with"
                )

    @cached_property
    def _parts(self) -> list[ReportColumn]:
        """The columns of the first gram, the second gram and the string."""
        return [
            ReportColumn(self.path, mechanism, column, None, "count", self.na)
            for mechanism, column in zip(
                self.survey.mechanisms, self.columns[1::2] + self.columns[4:], strict=True
            )
        ]

    @cached_property
    def _pair_numbers(self) -> Array:
        """Number of the pair of two positions, the first before the second; (K, K)."""
        pairs = np.array(self.survey.layout.pairs)
        numbers = np.full((self.survey.layout.n_positions,) * 2, -1)
        numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        return numbers

    def read(self, frame: pd.DataFrame, done: int) -> tuple[DictionaryReports, Array]:
        """The reports of a chunk, after `done` rows of the file, and which of its rows are empty.

        The reports have the number of empty rows for their `n_missing`.
        """
        a, no_a = self._positions(self.columns[0], frame, done)
        b, no_b = self._positions(self.columns[2], frame, done)
        (first, no_1), (second, no_2), (string, no_3) = [p.read(frame, done) for p in self._parts]
        absent = self._empty(np.array([no_a, no_1, no_b, no_2, no_3]), done)
        if (same := np.flatnonzero(a == b)).size:
            row = done + int(np.flatnonzero(~absent)[same[0]]) + 1
            raise InvalidArgument(
                f"{self.path}, column {self.columns[2]!r}, row {row}",
                self.survey.layout.starts[b[same[0]]],
                "is the start of the other gram too: the two grams are at distinct positions",
            )
        first, second = _swapped(first, second, a > b)
        pair = self._pair_numbers[np.minimum(a, b), np.maximum(a, b)]
        n_missing = int(absent.sum())
        return DictionaryReports(self.survey, pair, first, second, string, n_missing), absent

    def _positions(self, column: str, frame: pd.DataFrame, done: int) -> tuple[Array, Array]:
        """The positions, counted from 0, of the starts in a column, and which rows have none."""
        starts, where = self.survey.layout.starts, f"{self.path}, column {column!r}"
        values, absent = present(where, frame[column], None, self.na)
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
                values[i],
                f"is the start of no gram: those of the survey start at {shown}",
            )
        return positions, absent

    def _empty(self, absent: Array, done: int) -> Array:
        """Which rows are empty, (n,), from the fields that are, (5, n): all of a row or none."""
        rows: Array = absent.all(axis=0)
        partly = absent.any(axis=0) & ~rows
        if partly.any():
            i = int(np.argmax(partly))
            column = self.columns[int(np.argmax(absent[:, i]))]
            raise InvalidArgument(
                f"{self.path}, column {column!r}, row {done + i + 1}",
                None,
                "is missing, though other fields of the row are there: a report has all five",
            )
        return rows


def _swapped(first: Reports, second: Reports, swap: Array) -> tuple[Reports, Reports]:
    """Reports of one mechanism, exchanged where `swap`, (n,), says so."""
    if not swap.any():
        return first, second

    def chosen(a: Reports, b: Reports) -> Reports:
        y = np.where(swap if a.y.ndim == 1 else swap[:, None], b.y, a.y)
        cohort = None if a.cohort is None else np.where(swap, b.cohort, a.cohort)
        return replace(a, y=y, cohort=cohort)

    return chosen(first, second), chosen(second, first)
