"""Columns of a table as reports: what mechanisms made, and which row holds which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.matching import matched
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.io.cohorts import cohort_index, cohort_labels, joined_codes
from ldpstats.io.layout import reports_in
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.mechanisms.observed import Observed
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.single import Reports
from ldpstats.survey.absent import MissingCodes
from ldpstats.survey.columns import Column
from ldpstats.survey.questions import Question

__all__ = [
    "Coded",
    "as_dictionary",
    "as_observed",
    "as_reports",
    "observed_column",
    "refuse_empty_labels",
    "refuse_labels",
]

Array = npt.NDArray[Any]

_PUBLIC = (
    "make bands of it first, for example pd.cut(..., labels=[...]), or turn it into text or an "
    "ordered categorical"
)


@dataclass(frozen=True, eq=False)
class Coded:
    """The reports of a question, and where they stand in a table of n rows.

    Attributes
    ----------
    reports : Reports or DictionaryReports
        `n_missing` counts the rows without one.
    at : array of int64, shape (n,)
        Number of the report of each row, -1 where it has none.
    """

    reports: Any
    at: npt.NDArray[np.int64]

    @classmethod
    def of(cls, reports: Any, absent: npt.NDArray[np.bool_]) -> Coded:
        """Reports of the rows that are not `absent`, (n,), in order."""
        at = np.where(absent, -1, np.cumsum(~absent) - 1).astype(np.int64)
        return cls(replace(reports, n_missing=int(absent.sum())), at)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows have a report."""
        there: npt.NDArray[np.bool_] = self.at >= 0
        return there

    def taken(self, rows: Array) -> Coded:
        """Those of some rows: positions, each at most once."""
        at = self.at[rows]
        chosen = at[at >= 0]
        some = self.reports
        kept = some[chosen] if isinstance(some, Reports) else some.select(chosen)
        return Coded.of(kept, at < 0)


def as_reports(
    name: str,
    mechanism: Mechanism,
    column: pd.Series[Any],
    cohort: pd.Series[Any] | None = None,
) -> Coded:
    """Read a column of reports, and of their cohorts if there is one; labels as people write them.

    Errors name the question, the row from 1, and the value.
    """
    if isinstance(mechanism, Enumerated):
        codes = _codes(name, mechanism, column, cohort)
        reports = Reports(codes[codes >= 0], mechanism, name=name)
        return Coded.of(reports, codes < 0)
    found, absent = reports_in(name, mechanism, column, cohort)
    return Coded.of(replace(found, name=name), absent)


def _codes(
    name: str, mechanism: Enumerated, column: pd.Series[Any], cohort: pd.Series[Any] | None
) -> npt.NDArray[np.int64]:
    """Numbers of reports among the outputs, (n,), -1 where missing; perhaps with cohorts apart."""
    if cohort is None:
        return mechanism.format.matched(name, column)
    places = {"report": name, "cohort": f"{name}, cohort"}
    codes = matched(name, column, cohort_labels(mechanism))
    cohorts = matched(places["cohort"], cohort, cohort_index(mechanism))
    return joined_codes(mechanism, codes, cohorts, lambda i, of: f"{places[of]}, row {i + 1}")


def as_dictionary(
    name: str,
    survey: DictionarySurvey,
    columns: Sequence[tuple[str, pd.Series[Any]]],
    cohorts: Mapping[str, pd.Series[Any]],
) -> Coded:
    """Read the five columns of a dictionary question: start, gram, start, gram and string.

    `cohorts` has the columns of cohorts, by the column of reports.
    """
    start_1, gram_1, start_2, gram_2, string = columns
    starts: pd.Index[Any] = pd.Index(list(survey.layout.starts))
    a, b = (matched(where, column, starts) for where, column in (start_1, start_2))
    given = zip(survey.mechanisms, (gram_1, gram_2, string), strict=True)
    parts = [as_reports(c, mechanism, column, cohorts.get(c)) for mechanism, (c, column) in given]
    missing = np.array([a < 0, ~parts[0].present, b < 0, ~parts[1].present, ~parts[2].present])
    absent: npt.NDArray[np.bool_] = np.asarray(missing.all(axis=0))
    partly = missing.any(axis=0) & ~absent
    if partly.any():
        row = int(np.argmax(partly))
        where = columns[int(np.argmax(missing[:, row]))][0]
        remedy = "is missing, but other fields of the row are not: a report has all five"
        raise InvalidArgument(f"{where}, row {row + 1}", None, remedy)
    same = (a == b) & ~absent
    if same.any():
        row = int(np.argmax(same))
        remedy = "is also the start of the other gram: the two grams must be at distinct positions"
        raise InvalidArgument(f"{start_2[0]}, row {row + 1}", int(starts[b[row]]), remedy)
    first, second, whole = (replace(part.reports, n_missing=0) for part in parts)
    there = ~absent
    found = DictionaryReports.at_positions(survey, a[there], b[there], (first, second, whole))
    return Coded.of(found, absent)


def as_observed(column: Column) -> Coded:
    """Read a public column as answers without noise; its values are the categories.

    Of ordered categories all are, also those that nobody has: a scale is what was asked.
    """
    if column.kind == "number" and column.ordered is None:
        raise InvalidArgument("column", column.name, f"holds numbers: {_PUBLIC}")
    found = column.categories(_PUBLIC, declared=True)
    if len(found.values) < 2:
        held = f"holds {found.values[0]!r} only" if len(found.values) else "is empty"
        remedy = f"{held}: two categories are needed, or more"
        raise InvalidArgument("column", column.name, remedy)
    mechanism = Observed(found.values.tolist())
    there = ~found.missing
    return Coded.of(Reports(found.codes[there], mechanism, name=column.name), ~there)


def observed_column(name: str, coded: Coded) -> Column:
    """The answers to an unprotected question, as a column whose text is in the categories' order.

    Numbers and booleans compare as such.
    """
    labels = coded.reports.mechanism.categories
    values = np.array(labels.tolist(), dtype=object)
    kinds = {str: "text", bool: "boolean"}
    found = {kinds.get(type(value), "number") for value in values.tolist()}
    if len(found) > 1:
        remedy = "has categories of several types: a condition needs text, numbers or booleans"
        raise InvalidArgument("column", name, remedy)
    kind = found.pop()
    codes = np.append(coded.reports.y, -1)[coded.at]
    return Column(name, kind, codes, values, True if kind == "text" else None)


def refuse_labels(na: MissingCodes, questions: Sequence[Question]) -> None:
    """Refuse a label of a question as a code that means missing."""
    for question in questions:
        labels = question.labels
        if labels is None:  # any text is an answer, but no report
            continue
        for code in na.on(question.name):
            try:
                known = matched("na", [code], labels)[0] >= 0
            except UnknownCategory:
                continue
            if known:
                remedy = f"is a label of {question.name!r}: it cannot stand for a missing answer"
                if code in na.everywhere:
                    remedy += f"; for other columns name them, na={{'COLUMN': [{code!r}]}}"
                raise InvalidArgument("na", code, remedy)


def refuse_empty_labels(questions: Sequence[Question]) -> None:
    """Refuse a label that is empty text, where an empty field means a missing answer."""
    for question in questions:
        labels = question.labels
        if labels is not None and not isinstance(labels, pd.RangeIndex) and "" in labels.tolist():
            remedy = "is a label, but an empty field of a CSV file means a missing answer: use a "
            raise InvalidArgument(question.name, "", f"{remedy}Parquet file, or name the label")
