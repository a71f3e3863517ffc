"""Reports of devices that respondents work by hand: in groups, and with unknown parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.matching import matched
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.cohorts import cohort_index
from ldpstats.mechanisms import Mechanism
from ldpstats.models.shared.spelling import in_turn
from ldpstats.reports.packed import cohort_column
from ldpstats.reports.single import Reports
from ldpstats.sampling.words import Words
from ldpstats.survey.questions import Named, Question
from ldpstats.survey.tables import Table

__all__ = ["assigned", "by_hand", "checked_parameters", "given_cohorts", "unknown_of"]

Array = npt.NDArray[Any]
Parameters = Mapping[str, Mapping[str, Any]]


def unknown_of(sheet: Any) -> dict[str, tuple[str, ...]]:
    """The unknown parameters of the questions that have some."""
    return {name: made.unknown for name, made in _mechanisms(sheet).items() if made.unknown}


def _mechanisms(sheet: Any) -> dict[str, Mechanism]:
    """The mechanisms of private questions that have one."""
    made = {name: sheet[name] for name in sheet.private}
    return {name: made_by for name, made_by in made.items() if isinstance(made_by, Mechanism)}


def checked_parameters(sheet: Any, parameters: Any) -> dict[str, Any]:
    """The devices that those with unknown parameters are at the given values, by question.

    Raises
    ------
    NotAvailable
        For a question whose unknown parameters have no values.
    """
    remedy = "must be a dict from questions to dicts, such as {'used': {'cheating': 0.1}}"
    given = {} if parameters is None else parameters
    if not isinstance(given, Mapping):
        raise InvalidArgument("parameters", given, remedy)
    unknown = unknown_of(sheet)
    for name, values in given.items():
        sheet.question(name, "parameters")
        if name not in unknown:
            raise InvalidArgument("parameters", name, "is a question without unknown parameters")
        if not isinstance(values, Mapping):
            raise InvalidArgument(f"parameters[{name!r}]", values, remedy)
    lacking = {name: own for name, own in unknown.items() if name not in given}
    if lacking:
        shown = {name: dict.fromkeys(own, 0.1) for name, own in lacking.items()}
        options = " ".join(f"--param {q}.{n}=0.1" for q, own in lacking.items() for n in own)
        raise NotAvailable(
            f"respondents work the device of {in_turn(list(map(repr, lacking)))} themselves, and "
            f"how some parameter comes out is unknown; to simulate them say parameters={shown} "
            f"({options})"
        )
    return {name: sheet[name].at(given[name]) for name in unknown}


def assigned(sheet: Any) -> dict[str, str]:
    """The column of cohorts that a table of answers may have, by question."""
    return {name: cohort_column(name) for name, m in _mechanisms(sheet).items() if m.cohort_names}


def given_cohorts(question: Question, table: Table) -> Array | None:
    """Numbers of the cohorts that the table assigns respondents to, (n,); None if it does not."""
    made_by, column = question.made_by, cohort_column(question.name)
    if not isinstance(made_by, Mechanism) or not made_by.cohort_names:
        return None
    if column not in table.columns:
        return None
    return matched(column, table.column(column), cohort_index(made_by))


def by_hand(
    question: Question,
    given: Array,
    words: Words,
    named: Named,
    known: Any,
    cohorts: Array | None,
) -> Reports:
    """Reports of answers, (n,), by a device of known parameters, perhaps in given cohorts."""
    mechanism, labels = question.made_by, question.labels
    assert labels is not None
    device = mechanism if known is None else known
    if cohorts is None:
        drawn = device.procedure.draw(labels.take(given), words, "raise")
        return Reports(drawn.y, mechanism)
    if (cohorts < 0).any():
        column = cohort_column(question.name)
        where = named(int(np.argmax(cohorts < 0)))
        raise InvalidArgument(where, None, f"has an answer, but no cohort in the column {column!r}")
    y = np.zeros(given.size, dtype=np.int64)
    for c, part in enumerate(device.cohort_parts):
        rows = np.flatnonzero(cohorts == c)
        drawn = part.mechanism.procedure.draw(labels.take(given[rows]), words, "raise")
        y[rows] = part.places[drawn.y]
    return Reports(y, mechanism)
