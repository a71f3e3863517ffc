"""Files of true answers made into files of answer sheets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.io.answers import check_labels, check_paths, filled
from ldpstats.io.cells import objects
from ldpstats.io.kept import KeptColumns, constant
from ldpstats.io.report_columns import ARROW_TYPES, cell_type
from ldpstats.io.secrecy import without_answers
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.io.table_writing import check_spreadsheet_safe, write_table
from ldpstats.io.tables import CHUNK_ROWS, Advance, file_format, names, table_chunks
from ldpstats.io.values import answers_in, label_of, missing_texts, present, refuse_guarded
from ldpstats.survey.documents import FINGERPRINTS, STORED_FINGERPRINT
from ldpstats.survey.privatizing import marks, report_columns
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.questions import Named, Question
from ldpstats.survey.sheets import SheetCollector
from ldpstats.survey.tables import Table
from ldpstats.survey.worked import assigned

__all__ = ["as_written", "privatize_sheets", "stored_notes", "stored_types"]


@without_answers
def privatize_sheets(
    source: FilePath,
    target: FilePath,
    client: SheetCollector,
    *,
    keep: Sequence[str] = (),
    na: Sequence[str] = (),
    force: bool = False,
    specification: FilePath | None = None,
    spreadsheet_safe: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> dict[str, int]:
    """Privatise the questions of a file into another file, chunk by chunk.

    Reports take the place of the answers to private questions; observed questions are copied.
    Nothing else is, unless `keep` names it, and no error shows what the file holds. The rows keep
    their order. A row is one respondent, who fills in one sheet.

    Parameters
    ----------
    source, target : path-like
        CSV or Parquet files. A CSV file of sheets has the column questionnaire_fingerprint: every
        row says which questionnaire made it. Parquet stores that once for each column.
    client : SheetCollector
        From `Questionnaire.collector`.
    keep : sequence of str
        Other columns to copy, unchanged.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether existing files may be overwritten.
    specification : path-like, optional
        Where to write the questionnaire; both files appear or neither.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula.
    chunk_rows, advance
        As in `io.read_column`.

    Returns
    -------
    dict
        Reports of each private question, by name. Missing answers, and questions that were not
        asked, are empty cells.

    Raises
    ------
    InvalidArgument
        If a file cannot be read or written or is malformed, lacks a question, or holds no row; or
        if `keep` names a question.
    UnknownCategory
        If an answer is not one of the categories; the row is named, the answer is not shown.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5), "sex": ldp.Observed(("f", "m"))})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answers, sheets = Path(folder, "answers.csv"), Path(folder, "sheets.csv")
    ...     _ = answers.write_text("sex,name,ill\\nf,Ann,yes\\nm,Bob,\\n")
    ...     privatize_sheets(answers, sheets, sheet.collector())
    ...     sheets.read_text().splitlines()[0]
    {'ill': 1}
    'ill,sex,questionnaire_fingerprint'
    """
    if not isinstance(client, SheetCollector):
        raise InvalidArgument("client", client, "must be a collector: questionnaire.collector()")
    check_paths(source, target, specification)
    check_spreadsheet_safe(spreadsheet_safe, target)
    writer = _Sheets.of(source, target, client, names("keep", keep), na, spreadsheet_safe)
    totals = dict.fromkeys(client.mechanism.private, 0)
    beside: dict[FilePath, str] = {}
    if specification is not None:
        beside = {specification: client.mechanism.to_json()}
    chunks = writer.chunks(totals, chunk_rows=chunk_rows, advance=advance)
    how: dict[str, Any] = {"force": force, "spreadsheet_safe": spreadsheet_safe}
    types = stored_types(client.mechanism)
    write_table(chunks, target, types, writer.stored, beside=beside, **how)
    return totals


def stored_types(sheet: Questionnaire) -> dict[str, str]:
    """Arrow's types of the columns of a questionnaire's reports that are not text."""
    found: dict[str, str] = {}
    for question in sheet.entries:
        if question.private:
            found |= dict.fromkeys(question.columns, "int64")
            for column, mechanism in question.mechanisms.items():
                found[column] = ARROW_TYPES.get(cell_type(mechanism), "string")
    return found


def stored_notes(sheet: Questionnaire) -> dict[str, dict[bytes, bytes]]:
    """What Parquet stores beside the columns of a questionnaire: who made them."""
    own = {STORED_FINGERPRINT: sheet.fingerprint.encode("ascii")}
    return {
        column: {**stored, **own}
        for question in sheet.entries
        for column, stored in question.stored.items()
    }


@dataclass(frozen=True)
class _Sheets:
    """A table of true answers, and what becomes of its columns."""

    client: SheetCollector
    kept: KeptColumns  # observed questions among them
    na: Sequence[str]

    @classmethod
    def of(
        cls,
        source: FilePath,
        target: FilePath,
        client: SheetCollector,
        keep: list[str],
        na: Sequence[str],
        spreadsheet_safe: bool,
    ) -> _Sheets:
        sheet = client.mechanism
        for name in keep:
            if name in sheet.observed:
                raise InvalidArgument("keep", name, "is a question, and is copied anyway")
        own = [FINGERPRINTS]
        for question in sheet.entries:
            own += question.stored_columns if question.private else ()
            for mechanism in question.mechanisms.values():
                check_labels(target, mechanism, spreadsheet_safe)
        # names of private questions are columns of answers, and of reports as well
        copied = [*sheet.observed, *keep]
        kept = KeptColumns(
            source, target, copied, sheet.private, own, spreadsheet_safe, marks(sheet)
        )
        return cls(client, kept, names("na", na))

    @property
    def stored(self) -> dict[str, Mapping[bytes, bytes]]:
        """What Parquet stores beside the columns."""
        found: dict[str, Mapping[bytes, bytes]] = dict(self.kept.stored)
        for column, own in stored_notes(self.client.mechanism).items():
            found[column] = {**found.get(column, {}), **own}
        return found

    def chunks(self, totals: dict[str, int], **how: Any) -> Iterator[pd.DataFrame]:
        """The chunks of the table of sheets; `totals` counts reports."""
        source, kept, done = self.kept.source, self.kept, 0
        columns = [*self.client.mechanism.questions, *kept.names]
        beside = [c for c in assigned(self.client.mechanism).values() if c not in columns]
        how |= {"optional": [*kept.optional, *beside], "secret": True}
        for frame in table_chunks(source, list(dict.fromkeys(columns)), **how):
            kept.refuse_reports(frame)
            yield pd.DataFrame(self._sheets(frame, done, totals))
            done += len(frame)
        if not done:
            raise refusal(source, "holds no row: there is nothing to privatise")

    def _sheets(
        self, frame: pd.DataFrame, done: int, totals: dict[str, int]
    ) -> dict[str, pd.Series[Any]]:
        """The columns of a chunk, `done` rows after the start: questions first, then others."""
        sheet = self.client.mechanism
        answers = {q.name: self._answers(q, frame[q.name], done) for q in sheet.entries}
        cohorts = {c: frame[c] for c in assigned(sheet).values() if c in frame}
        table = Table.of(pd.DataFrame(answers | cohorts))

        def where(name: str) -> Named:
            return answers_in(self._where(name), done, np.zeros(len(frame), dtype=bool))

        parquet = file_format(self.kept.target) == ".parquet"
        how: dict[str, Any] = {"where": where, "stored": parquet, "known": self.client.known}
        reports = report_columns(sheet, table, self.client.words, **how)
        copied = self.kept.of(frame, done)
        found: dict[str, pd.Series[Any]] = {}
        for name in sheet.questions:
            if name in reports:
                cells = {c: as_written(v) for c, v in reports[name].items()}
                totals[name] += int(next(iter(cells.values())).notna().sum())
                found |= cells
            else:
                found[name] = copied.pop(name).mask(answers[name].isna(), None)
        if not parquet:
            found[FINGERPRINTS] = constant(sheet.fingerprint, len(frame))
        return found | copied

    def _where(self, name: str) -> str:
        return f"{str.__str__(os.fspath(self.kept.source))}, column {name!r}"

    def _answers(self, question: Question, column: pd.Series[Any], done: int) -> pd.Series[Any]:
        """True answers, labels where their text says so, None where missing."""
        source, labels = self.kept.source, question.labels
        to_label = None if labels is None else label_of(source, labels, self.na)
        absent_as = missing_texts(source, self.na, () if labels is None else labels)
        where = self._where(question.name)
        values, absent = present(where, column, to_label, absent_as, True)
        if labels is None:
            refuse_guarded(source, values, answers_in(where, done, absent))
        return filled(values, absent)


def as_written(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of objects, or one of Arrow as it is."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return column
    return pd.Series(objects(column), dtype=object)
