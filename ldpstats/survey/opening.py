"""What a survey rests on, whatever kind of table it is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ldpstats.engines.query import Query
from ldpstats.engines.sources import opened
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import checked_path, refusal
from ldpstats.survey.absent import MissingCodes
from ldpstats.survey.coded import refuse_empty_labels, refuse_labels
from ldpstats.survey.files import Csv, table_of
from ldpstats.survey.held import Collected, Held
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.remote import Remote
from ldpstats.survey.tables import Table, check_names

__all__ = ["QUESTIONNAIRE_FILE", "held_on", "questionnaire_of", "rows_of"]

QUESTIONNAIRE_FILE = "questionnaire.json"  # in the folder of a collector, beside the tables
_NO_CODES = "goes with CSV files and tables in memory: on an engine make such codes missing first, "
_NO_CODES += "in SQL with NULLIF(column, code), or read the table into memory"
_NO_SHEETS = "holds no sheets yet: a collector puts them into a file when enough have come, and "
_NO_SHEETS += "when it is stopped"


def questionnaire_of(given: object, data: object) -> Questionnaire:
    """The questionnaire of a survey: as given, or the one that is in the folder of its tables."""
    if isinstance(given, Questionnaire):
        return given
    if isinstance(given, Mapping):
        return Questionnaire(given)
    remedy = 'must be a Questionnaire, or a dict such as {"job": KRR(...)}'
    if given is not None:
        raise InvalidArgument("questionnaire", given, remedy)
    found = _in_folder(data)
    if found is not None:
        if found.exists():
            return Questionnaire.from_json(found)
        remedy += f"; {found} is not there, as it is in the folder of a collector"
    raise InvalidArgument("questionnaire", None, remedy)


def _in_folder(data: object) -> Path | None:
    """Where the questionnaire of a folder is, if `data` names a folder."""
    if isinstance(data, str | os.PathLike) and checked_path(data).is_dir():
        return checked_path(data) / QUESTIONNAIRE_FILE
    return None


def _awaits_sheets(data: object) -> bool:
    """Whether `data` names a folder that has a questionnaire and nothing else that is shown."""
    own = _in_folder(data)
    try:
        return own is not None and [f for f in own.parent.iterdir() if f.name[0] != "."] == [own]
    except OSError:  # whoever reads the folder says why
        return False


def rows_of(
    data: object,
    name: str = "data",
    na: object = (),
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
) -> Query | Table:
    """A table on the engine that holds it, or in memory; `name` is that of the argument."""
    if _awaits_sheets(data):
        raise refusal(os.fspath(data), _NO_SHEETS)  # type: ignore[call-overload]
    query = opened(data, name, table, engine, on_error)
    if query is None:
        return table_of(data, na, name)
    if MissingCodes.of(na):
        raise InvalidArgument("na", na, _NO_CODES)
    return query


def held_on(
    rows: Query | Table,
    sheet: Questionnaire,
    cohorts: Mapping[str, str] | None = None,
    whole: bool = True,
) -> Held:
    """The rows of a table, with the questions that its columns answer.

    `cohorts` names the columns of cohorts, by columns of reports, where they are not beside them.
    The questionnaire is that of the table, or where it is not `whole` some of its mechanisms.
    """
    if isinstance(rows, Query):
        return Remote.of(rows, sheet, cohorts or {}, whole)
    if isinstance(rows, Csv):
        check_names(rows.name, list(rows.columns))
        refuse_empty_labels(sheet.entries)
    refuse_labels(rows.na, sheet.entries)
    return Collected(rows, sheet, cohorts or {}, whole)
