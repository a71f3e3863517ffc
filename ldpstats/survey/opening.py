"""What a survey rests on, whatever kind of table it is given."""

from __future__ import annotations

from ldpstats.engines.sources import opened
from ldpstats.errors import InvalidArgument
from ldpstats.io.tables import names
from ldpstats.survey.coded import refuse_empty_labels, refuse_labels
from ldpstats.survey.files import ONLY_CSV, Csv, table_of
from ldpstats.survey.held import Collected, Held
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.remote import Remote

__all__ = ["held_of"]


def held_of(
    data: object,
    sheet: Questionnaire,
    na: object = (),
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
) -> Held:
    """The rows of a table, in memory or on the engine that holds them."""
    query = opened(data, "data", table, engine, on_error)
    if query is not None:
        if names("na", na):
            raise InvalidArgument("na", na, ONLY_CSV)
        return Remote.of(query, sheet)
    rows = table_of(data, na)
    if isinstance(rows, Csv):
        refuse_labels(rows.na, sheet.entries)
        refuse_empty_labels(sheet.entries)
    return Collected(rows, sheet)
