"""What a survey rests on, whatever kind of table it is given."""

from __future__ import annotations

from collections.abc import Mapping

from ldpstats.engines.query import Query
from ldpstats.engines.sources import opened
from ldpstats.errors import InvalidArgument
from ldpstats.io.tables import names
from ldpstats.survey.coded import refuse_empty_labels, refuse_labels
from ldpstats.survey.files import ONLY_CSV, Csv, table_of
from ldpstats.survey.held import Collected, Held
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.remote import Remote
from ldpstats.survey.tables import Table, check_names

__all__ = ["held_on", "rows_of"]


def rows_of(
    data: object,
    name: str = "data",
    na: object = (),
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
) -> Query | Table:
    """A table on the engine that holds it, or in memory; `name` is that of the argument."""
    query = opened(data, name, table, engine, on_error)
    if query is None:
        return table_of(data, na, name)
    if names("na", na):
        raise InvalidArgument("na", na, ONLY_CSV)
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
        refuse_labels(rows.na, sheet.entries)
        refuse_empty_labels(sheet.entries)
    return Collected(rows, sheet, cohorts or {}, whole)
