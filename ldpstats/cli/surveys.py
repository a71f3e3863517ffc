"""Tables of a questionnaire on the command line: options, and the survey they describe."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ldpstats as ldp
from ldpstats.cli.common import option
from ldpstats.cli.tables import engine_options, source
from ldpstats.errors import InvalidArgument
from ldpstats.io.report_columns import read_fingerprints
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import table_chunks
from ldpstats.survey.documents import FINGERPRINTS
from ldpstats.survey.opening import held_on, rows_of

__all__ = [
    "add_where",
    "check_fingerprint_column",
    "missing",
    "opened",
    "refuse_missing",
    "refuse_options",
]


def add_where(add: Callable[..., Any]) -> None:
    """The option that chooses respondents."""
    words = (
        "with --questionnaire: only respondents for whom this holds, \"age >= 18 and sex == 'f'\""
    )
    add("--where", metavar="CONDITION", help=words)


def refuse_options(given: argparse.Namespace, names: Sequence[str], remedy: str) -> None:
    """Refuse options that were given but do not apply."""
    for name in names:
        value = getattr(given, name)
        if value not in (None, False, []):
            flag = "--with" if name == "others" else option(name)
            raise InvalidArgument(flag, value, remedy)


def missing(given: argparse.Namespace) -> str:
    """What to do with missing answers: count them where a questionnaire expects some."""
    default = "raise" if given.questionnaire is None else "count"
    chosen: str = given.missing or default
    return chosen


def opened(
    given: argparse.Namespace, sheet: ldp.Questionnaire, design: Mapping[str, Any]
) -> ldp.Survey:
    """The table as a survey, perhaps with a design, or some of its rows.

    Of a table without --questionnaire the sheet has some of the mechanisms.
    """
    rows = rows_of(source(given), "input", given.na, **engine_options(given))
    held = held_on(rows, sheet, None, given.questionnaire is not None)
    survey = ldp.Survey(held, sheet, **design)
    if survey.design is not None:
        survey.design.check(held)
    return survey if given.where is None else survey.where(given.where)


def refuse_missing(given: argparse.Namespace, n_missing: int) -> None:
    """Refuse missing answers where that was asked for."""
    if given.missing == "raise" and n_missing:
        remedy = f"{n_missing} respondents lack an answer or a group: use --missing count"
        raise InvalidArgument("--missing", "raise", remedy)


def check_fingerprint_column(path: FilePath, sheet: ldp.Questionnaire) -> None:
    """Refuse a table in which a row carries another questionnaire's fingerprint."""
    done = 0
    for frame in table_chunks(path, [], optional=[FINGERPRINTS], codes=[FINGERPRINTS]):
        if FINGERPRINTS not in frame:
            return
        read_fingerprints(path, frame, FINGERPRINTS, (), sheet, done)
        done += len(frame)
