"""Tables of true answers made into tables of reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_series, column_name
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.io.kept import ALREADY, is_of_reports
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.sampling.words import Words
from ldpstats.survey.asking import draw_asked
from ldpstats.survey.documents import FINGERPRINTS
from ldpstats.survey.questions import Named, PersonalQuestion, Question
from ldpstats.survey.tables import Table
from ldpstats.survey.worked import by_hand, checked_parameters, given_cohorts

__all__ = ["Wheres", "filled_in", "marks", "privatized", "read_answers", "report_columns"]

Array = npt.NDArray[Any]
_TAGS = 'must be a dict of dicts, such as {"place": {"home": "home"}}'
_OWN = (
    "must be one category a row: the name of a column, a Series, array or list (a respondent with "
    "several needs a client of her own: client(tags=))"
)

Wheres = Callable[[str], Named]
"""How errors about the answers to a question name their places."""


def _row(name: str) -> Named:
    return lambda i: name if i is None else f"{name}, row {i + 1}"


def privatized(
    sheet: Any,
    frame: object,
    words: Words,
    tags: Mapping[str, Any] | None = None,
    parameters: Any = None,
    known: Mapping[str, Any] | None = None,
) -> Any:
    """A frame of the same kind, with reports in place of the answers to private questions."""
    table = Table.of(frame, "frame", secret=True)
    _refuse_reports(sheet, table)
    _check_columns(sheet, table)
    hidden, own = _own_categories(sheet, table, tags)
    _check_index(sheet, table, hidden)
    known = known or checked_parameters(sheet, parameters)
    reports = report_columns(sheet, table, words, own, known=known)
    columns: dict[str, Any] = {}
    for name in table.columns:
        if name not in hidden:
            columns.update(reports.get(name, {name: None}))
    return table.arranged(columns)


def report_columns(
    sheet: Any,
    table: Table,
    words: Words,
    own: Mapping[str, Mapping[Any, Array]] | None = None,
    where: Wheres = _row,
    stored: bool = False,
    known: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, pd.Series[Any]]]:
    """The columns of reports that take the place of each private question.

    With `stored` they are those of a Parquet file. `known` has devices with values for their
    unknown parameters.

    Questions are drawn in the questionnaire's order, whatever that of the table. Nothing is drawn
    before all answers are read.
    """
    read = {q.name: read_answers(q, table, sheet.refused, where(q.name)) for q in sheet.entries}
    private = [question for question in sheet.entries if question.private]
    groups = {q.name: given_cohorts(q, table) for q in private}
    asked = draw_asked(len(table), len(private), sheet.ask, words)
    found = {}
    for j, question in enumerate(private):
        given, absent = read[question.name]
        rows = np.flatnonzero(asked[:, j] & ~absent)
        tags = None
        if own is not None and question.name in own:
            tags = {tag: categories[rows] for tag, categories in own[question.name].items()}
        named = _among(where(question.name), rows)
        device = None if known is None else known.get(question.name)
        cohorts = groups[question.name]
        if device is None and cohorts is None:
            reports = question.reports(given[rows], words, named, tags)
        else:
            own_groups = None if cohorts is None else cohorts[rows]
            reports = by_hand(question, given[rows], words, named, device, own_groups)
        empty = np.ones(len(table), dtype=bool)
        empty[rows] = False
        cells = question.stored_cells if stored else question.cells
        found[question.name] = cells(reports, empty)
    return found


def read_answers(
    question: Question, table: Table, refused: Mapping[str, Any], named: Named
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Answers to a question, (n,), those missing replaced where the questionnaire says by what."""
    given, absent = question.answers(table.column(question.name), named)
    return filled_in(question, refused, given, absent)


def filled_in(
    question: Question, refused: Mapping[str, Any], given: Array, absent: npt.NDArray[np.bool_]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Answers, (n,), with the category of a refusal in place of missing ones, if there is one."""
    if question.name not in refused or not absent.any():
        return given, absent
    stand_in = question.answers([refused[question.name]], lambda i: "refused")[0]
    given = given.copy()
    given[absent] = stand_in[0]
    return given, np.zeros_like(absent)


def _among(named: Named, rows: Array) -> Named:
    """Names of the answers in some rows."""
    return lambda i: named(None if i is None else int(rows[i]))


def marks(sheet: Any) -> list[str]:
    """The columns of fingerprints that a table may have if it holds reports already."""
    return [FINGERPRINTS, *map(fingerprint_column, sheet.private)]


def _refuse_reports(sheet: Any, table: Table) -> None:
    """Refuse a table of reports, which would be noised twice."""
    found = [column for column in marks(sheet) if column in table.columns]
    private = [name for name in sheet.private if name in table.columns]
    found += [name for name in private if is_of_reports(table.stored(name))]
    if found:
        raise InvalidArgument("frame", found[0], ALREADY)


def _check_columns(sheet: Any, table: Table) -> None:
    """Refuse a table without the column of a question, or with one that reports will have."""
    for question in sheet.entries:
        table.check_column(question.name, "question")
        for column in question.columns:
            if column != question.name and column in table.columns:
                remedy = f"is a column that reports of {question.name!r} will have: rename it"
                raise InvalidArgument("frame", column, remedy)


def _check_index(sheet: Any, table: Table, hidden: Sequence[str]) -> None:
    """Refuse an index of true answers, which would stay beside the reports."""
    for name in table.index_names():
        if name in (*sheet.private, *hidden):
            remedy = "is the name of the index too, whose true answers would stay beside the "
            remedy += "reports: call reset_index(drop=True), or make the Arrow table without it"
            raise InvalidArgument("frame", name, remedy)


def _own_categories(
    sheet: Any, table: Table, tags: object
) -> tuple[Sequence[str], dict[str, dict[Any, Array]] | None]:
    """Columns of `tags`, and the respondents' own categories, (n,), by question and tag."""
    if tags is None:
        return (), None
    if not isinstance(tags, Mapping):
        raise InvalidArgument("tags", type(tags).__name__, _TAGS)
    columns, found = [], {}
    for name, given in tags.items():
        question, where = _personal(sheet, name, given)
        columns += [column for column in given.values() if isinstance(column, str)]
        found[question.name] = {
            tag: _own_of(question, f"{where}[{tag!r}]", table, column)
            for tag, column in given.items()
        }
        stay = {*table.columns} - {*sheet.questions}
        if any(isinstance(own, pd.Series) and column_name(own) in stay for own in given.values()):
            remedy = "has the name of a column, which is secret and would stay: pass that name"
            raise InvalidArgument(where, "Series", remedy)
    asked = [name for name in columns if name in sheet.questions]
    if asked:
        raise InvalidArgument("tags", asked[0], "is the column of a question: name another")
    return columns, found


def _personal(sheet: Any, name: object, given: object) -> tuple[PersonalQuestion, str]:
    """The question that respondents have categories of their own for, and its place in errors."""
    if name not in sheet:
        shown = ", ".join(map(repr, sheet.questions))
        raise InvalidArgument("tags", HIDDEN, f"a key is no question; they are {shown}")
    question = sheet.question(name)
    where = f"tags[{question.name!r}]"
    if not isinstance(question, PersonalQuestion):
        remedy = f"are for a PUM, not for {question.made_by}"
        raise InvalidArgument("tags", question.name, remedy)
    if not isinstance(given, Mapping):
        raise InvalidArgument(where, type(given).__name__, _TAGS)
    known = question.made_by.tags.tolist()
    if not set(given) <= set(known):
        raise InvalidArgument(where, HIDDEN, f"a key is no tag: they are {known}")
    return question, where


def _own_of(question: PersonalQuestion, where: str, table: Table, column: object) -> Array:
    """Each respondent's category of a tag, objects of shape (n,), None for who has none.

    Errors show nothing of what was given: secret categories may stand where a column should.
    """
    if isinstance(column, str) and column not in table.columns:
        remedy = "is no column of the table: name one, or pass an array of shape (n,)"
        raise InvalidArgument(where, HIDDEN, remedy)
    try:
        values = table.column(column) if isinstance(column, str) else as_series(where, column)
    except InvalidArgument:
        raise InvalidArgument(where, HIDDEN, _OWN) from None
    if len(values) != len(table):
        raise InvalidArgument(where, len(values), f"must be {len(table)} categories, one a row")
    codes, absent = question.answers(values, _row(where))
    categories = np.full(len(table), None, dtype=object)
    categories[~absent] = question.labels.take(codes[~absent])
    return categories
