"""Sheets as a Parquet file: the table that `Survey` reads, as `ldpstats privatize` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import SystemRandom, token_hex
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.collector.files import About
from ldpstats.engines.footers import BATCH, MERGED, footer
from ldpstats.io.report_columns import ARROW_TYPES, SURVEY_COLUMNS, cell_type
from ldpstats.io.storage.commits import replacing
from ldpstats.io.storage.files import reading
from ldpstats.io.table_writing import write_table
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.reports.single import Reports
from ldpstats.survey.cells import cells_of_text, stored_cells
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.questions import Question
from ldpstats.survey.writing import as_written, stored_notes, stored_types

__all__ = ["BatchWriter"]


@dataclass(frozen=True)
class BatchWriter:
    """Writes the sheets of a questionnaire to Parquet files.

    `document` is its client document, whose texts are the reports.
    """

    questionnaire: Questionnaire
    document: Mapping[str, Any]

    def write(self, sheets: Sequence[str], path: Path) -> None:
        """Write sheets, as `Checks.read` returns them, in random order.

        Raises
        ------
        InvalidArgument
            If the file cannot be written.
        """
        rows = [json.loads(sheet) for sheet in sheets]
        SystemRandom().shuffle(rows)
        notes = stored_notes(self.questionnaire)
        drawn = {BATCH: token_hex(16).encode()}
        write_table([self._frame(rows)], path, self._types, notes, False, notes=drawn)

    def merge(self, files: Sequence[Path], path: Path) -> None:
        """Write the sheets of files into one, in random order; it says which it has merged.

        Raises
        ------
        InvalidArgument
            If a file cannot be read, or the one cannot be written.
        """
        import pyarrow
        import pyarrow.parquet

        tables, merged = [], []
        for file in files:
            with reading(file, pyarrow.ArrowException):
                tables.append(pyarrow.parquet.read_table(file, partitioning=None))
            merged.append(footer(file).batch or file.name)
        table = pyarrow.concat_tables(tables, promote_options="permissive")
        order = list(range(len(table)))
        SystemRandom().shuffle(order)
        drawn = {BATCH: token_hex(16).encode(), MERGED: json.dumps(merged).encode("ascii")}
        with replacing(path) as temporary:
            table = table.take(order).replace_schema_metadata(drawn)
            pyarrow.parquet.write_table(table, temporary)

    def about(self, path: Path) -> About:
        """What a file says of itself.

        Raises
        ------
        InvalidArgument
            If it cannot be read.
        """
        found = footer(path)
        return About(found.n, found.batch, found.merged)

    @cached_property
    def _types(self) -> dict[str, str]:
        """Arrow's types of the columns that are not text."""
        sheet = self.questionnaire
        observed = {
            q.name: ARROW_TYPES.get(cell_type(q.made_by), "string")
            for q in sheet.entries
            if not q.private
        }
        return observed | stored_types(sheet)

    def _frame(self, rows: list[list[Any]]) -> pd.DataFrame:
        found: dict[str, Any] = {}
        asked = zip(self.questionnaire.entries, self.document["questions"], strict=True)
        for place, (question, entry) in enumerate(asked):
            columns = _columns(question, entry, [row[place] for row in rows])
            found |= {name: as_written(column) for name, column in columns.items()}
        return pd.DataFrame(found)


def _columns(
    question: Question, entry: Mapping[str, Any], reports: list[Any]
) -> dict[str, pd.Series[Any]]:
    """The columns of a question."""
    absent = np.array([report is None for report in reports], dtype=bool)
    there = [report for report in reports if report is not None]
    if len(question.columns) == 1:
        (mechanism,) = question.mechanisms.values()
        return _stored(question.name, mechanism, entry, there, absent)
    draw, found = entry["draw"], {}
    gram, whole = draw["gram_question"], draw["string_question"]
    parts = (None, gram, None, gram, whole)
    for column, part, name in zip(question.columns, parts, SURVEY_COLUMNS, strict=True):
        cells = [_part(report, name) for report in there]
        if part is None:
            found[column] = cells_of_text(cells, absent, int)
        else:
            found |= _stored(column, question.mechanisms[column], part, cells, absent)
    return found


def _part(report: Mapping[str, Any], name: str) -> Any:
    """What a report about a string has in one of its five columns."""
    what, _, number = name.partition("_")
    if not number:
        return report[what]
    return report["positions" if what == "start" else "grams"][int(number) - 1]


def _stored(
    name: str, mechanism: Mechanism, entry: Mapping[str, Any], texts: list[str], absent: Any
) -> dict[str, pd.Series[Any]]:
    """The columns of a mechanism's reports, from their texts."""
    if isinstance(mechanism, Enumerated):
        reports = Reports(_codes(entry["reports"], texts), mechanism)
    else:
        reports = mechanism.parse("reports", pd.Series(texts, dtype=object))
    return stored_cells(name, reports, absent)


def _codes(reports: list[str] | int, texts: list[str]) -> Any:
    """Places of texts in the list of reports, which is that of the mechanism."""
    if isinstance(reports, int):
        return np.array([int(text) for text in texts], dtype=np.int64)
    place = {text: code for code, text in enumerate(reports)}
    return np.array([place[text] for text in texts], dtype=np.int64)
