"""A column of privatised reports in a table: which mechanism made it, and what its fields say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.arguments.labels import encode
from ldpstats.arguments.matching import matched
from ldpstats.errors import InvalidArgument, MechanismMismatch, shorten
from ldpstats.io.cells import coded, objects
from ldpstats.io.cohorts import cohort_index, cohort_labels, joined_codes
from ldpstats.io.layout import cohorts_in, parsed, present_bytes
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import column_metadata, names
from ldpstats.io.values import (
    LabelOf,
    check_mechanism,
    label_of,
    missing_texts,
    present,
    refuse_missing,
    row_named,
)
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.reports.fingerprints import check_coded, check_fingerprints, fingerprint_column
from ldpstats.reports.packed import cohort_beside, cohort_column, holds_bytes
from ldpstats.reports.single import Reports

__all__ = [
    "ARROW_TYPES",
    "FINGERPRINT",
    "SURVEY_COLUMNS",
    "SURVEY_FINGERPRINT",
    "SURVEY_FINGERPRINTS",
    "ReportColumn",
    "cell_type",
    "read_fingerprints",
    "stored_fingerprint",
    "stored_text",
]

FINGERPRINT = b"ldpstats.fingerprint"  # under this, Parquet stores it beside a column
# the same of reports about strings that nobody listed, whose columns are those of `to_frame`
SURVEY_COLUMNS = ("start_1", "gram_1", "start_2", "gram_2", "string")
SURVEY_FINGERPRINT = b"ldpstats.survey"
SURVEY_FINGERPRINTS = fingerprint_column("survey")  # the column of it in CSV


# of columns of reports, by what `cell_type` says; all others are text
ARROW_TYPES = {int: "int64", float: "double", bool: "bool"}


def cell_type(mechanism: Mechanism) -> type:
    """The type of a mechanism's reports in a table: of its labels, if they have one, or text.

    Labels of several types are `object`: each keeps its own, where a table can hold them.
    """
    if not isinstance(mechanism, Enumerated):
        return str
    if isinstance(mechanism.outputs, pd.RangeIndex):
        return int
    kinds = {type(label) for label in mechanism.outputs.tolist()}
    return kinds.pop() if len(kinds) == 1 else object


def stored_fingerprint(mechanism: Mechanism) -> dict[bytes, bytes]:
    """What a Parquet file stores beside a column of this mechanism's reports."""
    return {FINGERPRINT: mechanism.fingerprint.encode("ascii")}


def stored_text(stored: Mapping[bytes, bytes], key: bytes) -> str:
    """What Parquet stores under a key beside a column, as text; empty if nothing."""
    return stored.get(key, b"").decode("ascii", "replace")  # it may be damaged


def read_fingerprints(
    path: FilePath, frame: pd.DataFrame, column: str, na: Sequence[str], made_by: Any, done: int
) -> None:
    """Refuse a chunk, `done` rows after the start, with another fingerprint in `column`, if any.

    Missing fields and those with text of `na` are skipped.
    """
    if column not in frame:
        return
    where, text = f"{path}, column {column!r}", coded(frame[column])
    if text is None:
        check_fingerprints(where, column, objects(frame[column]), made_by, done)
        return
    fields = [None if field in na else field for field in text[1].tolist()]
    check_coded(where, column, text[0], fields, made_by, done)


@dataclass(frozen=True)
class ReportColumn:
    """Reader of a column of reports, with a column of cohorts or none."""

    path: FilePath
    mechanism: Mechanism
    column: str
    cohort: str | None = None
    missing: str = "raise"
    na: Sequence[str] = ()
    exact: bool = False  # for labels in which blanks count: others are matched as people write them

    def __post_init__(self) -> None:
        one_of("missing", self.missing, ("raise", "count"))
        check_mechanism(self.mechanism)
        names("column", self.columns)
        object.__setattr__(self, "na", names("na", self.na))
        if self.cohort is not None:
            if self.cohort == self.column:
                raise InvalidArgument("cohort", self.cohort, "is the column of reports")
            if not self._has_cohorts:
                remedy = f"must be left out: {self.mechanism} has no cohorts"
                raise InvalidArgument("cohort", self.cohort, remedy)
        self._check_fingerprint()

    def _check_fingerprint(self) -> None:
        stored = stored_text(column_metadata(self.path, self.column), FINGERPRINT)
        if stored and stored != self.mechanism.fingerprint:
            raise MechanismMismatch(
                f"{self.where} holds reports of a mechanism with fingerprint {shorten(stored)}, "
                f"not of {self.mechanism} ({self.mechanism.fingerprint}): use the specification "
                "that the reports were made with"
            )

    @property
    def _has_cohorts(self) -> bool:
        return bool(self.mechanism.n_cohorts or self.mechanism.cohort_names)

    @property
    def where(self) -> str:
        """The column, in words."""
        return f"{self.path}, column {self.column!r}"

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [self.column] if self.cohort is None else [self.column, self.cohort]

    @property
    def optional(self) -> list[str]:
        """The columns of fingerprints and of cohorts, which are read if they are there."""
        beside = self._has_cohorts and self.cohort is None
        return [fingerprint_column(self.column), *[cohort_column(self.column)] * bool(beside)]

    @cached_property
    def _to_label(self) -> LabelOf | None:
        if not isinstance(self.mechanism, Enumerated):
            return None
        return label_of(self.path, self.mechanism.outputs, self.na)

    @cached_property
    def _missing_texts(self) -> list[str]:
        labels = self.mechanism.outputs if isinstance(self.mechanism, Enumerated) else ()
        return missing_texts(self.path, self.na, labels)

    def read(self, frame: pd.DataFrame, done: int) -> tuple[Reports, npt.NDArray[np.bool_]]:
        """The reports of a chunk, and which of its rows have none."""
        digits = fingerprint_column(self.column)
        read_fingerprints(self.path, frame, digits, self._missing_texts, self.mechanism, done)
        values: Any
        column = frame[self.column]
        if self.mechanism.n_bits and holds_bytes(column):
            values, absent = present_bytes(column)
        else:
            values, absent = present(self.where, column, self._to_label, self._missing_texts)
        if self.missing == "raise":
            refuse_missing(self.where, done, absent)
        if isinstance(self.mechanism, Enumerated):
            if self.mechanism.cohort_names and (apart := self._beside(frame, values)):
                return self._apart(frame, apart, done)
            return self._labels(values, self.mechanism.outputs, absent, done)
        cohort = self._cohorts(frame, values, done, absent)
        return parsed(self.where, self.mechanism, values, absent, cohort, done), absent

    def _labels(
        self, values: Any, labels: pd.Index[Any], absent: Any, done: int
    ) -> tuple[Reports, Any]:
        """Reports that are labels; text of blanks alone is missing, unless it is a label."""
        read = _exactly if self.exact else matched
        with row_named(self.where, done, values, absent):
            codes = read("reports", values, labels)
        blank = absent.copy()
        blank[np.flatnonzero(~absent)[codes < 0]] = True
        if self.missing == "raise":
            refuse_missing(self.where, done, blank)
        return Reports(codes[codes >= 0], self.mechanism), blank

    def _apart(self, frame: pd.DataFrame, cohort: str, done: int) -> tuple[Reports, Any]:
        """Reports that are labels, whose cohorts are in a column of their own."""
        labels = cohort_labels(self.mechanism)
        columns = {"report": self.column, "cohort": cohort}
        known = {"report": labels, "cohort": cohort_index(self.mechanism)}
        found = {}
        for what, column in columns.items():
            where, own = f"{self.path}, column {column!r}", known[what]
            to_label = label_of(self.path, own, self.na)
            values, absent = present(where, frame[column], to_label, self._missing_texts)
            with row_named(where, done, values, absent):
                codes = matched("reports", values, own)
            found[what] = np.full(absent.size, -1, dtype=np.int64)
            found[what][~absent] = codes

        def named(i: int, what: str) -> str:
            return f"{self.path}, column {columns[what]!r}, row {done + i + 1}"

        joined = joined_codes(self.mechanism, found["report"], found["cohort"], named)
        blank = joined < 0
        if self.missing == "raise":
            refuse_missing(self.where, done, blank)
        return Reports(joined[~blank], self.mechanism), blank

    def _beside(self, frame: pd.DataFrame, values: Any) -> str | None:
        """The column of cohorts, if they are not in the reports, of which these are `values`."""
        if self.cohort is not None:
            return self.cohort
        first = values[0] if len(values) else None
        return cohort_beside(self.column, self.mechanism, frame.columns, first)

    def _cohorts(self, frame: pd.DataFrame, values: Any, done: int, absent: Any) -> Any:
        """The cohorts of the rows that have a report; None if reports have them in their text."""
        column = self._beside(frame, values)
        if column is None:
            return None
        where = f"{self.path}, column {column!r}"
        return cohorts_in(where, self.mechanism, frame[column], absent, done)


def _exactly(name: str, values: Any, labels: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Codes of values that are labels to the letter."""
    return encode(name, values, labels)[0]
