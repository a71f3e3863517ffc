"""What an analysis needs of a survey's rows: counts, of one question or of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.reports.joint import JointCounts, possible_reports
from ldpstats.reports.single import BitCounts, Counts, Reports, tallied
from ldpstats.survey.coded import Coded
from ldpstats.survey.grouping import grouped_rows
from ldpstats.survey.held import Held, maker_of

__all__ = ["Data", "grouped", "joint", "pairs", "tally"]

Data = Reports | Counts | BitCounts
Array = npt.NDArray[Any]

_MOST_CELLS = 1 << 26  # combinations of reports beyond which hardly any repeats


def tally(held: Held, name: str) -> Data:
    """The reports of a question, or how often each distinct one was seen."""
    cells, n = _cells(held, [name])
    return _weighed(_answered(cells, name), n)


def grouped(held: Held, name: str, by: Sequence[object]) -> tuple[dict[Any, Data], int]:
    """The same by groups, in the order of their columns; and how many rows have no group."""
    names = [column for column in by if isinstance(column, str)]
    cells, n = _cells(held, [name, *names])
    found = _answered(cells, name)
    labels, rows, ungrouped = grouped_rows(cells, by, name)
    groups = {
        label: _weighed(found.taken(chosen), None if n is None else n[chosen])
        for label, chosen in zip(labels, rows, strict=True)
    }
    return groups, ungrouped.size if n is None else int(n[ungrouped].sum())


def joint(held: Held, names: Sequence[str]) -> JointCounts:
    """The respondents who answered several questions."""
    cells, n = _cells(held, names)
    found = _together(cells, names, n)
    if n is None or found.merges or not held.ordered:
        return found
    return _together(held.read(names), names, None)  # in the order that a table in memory has


def _together(cells: Held, names: Sequence[str], n: Array | None) -> JointCounts:
    cells.prepare(names)
    parts = [cells.coded(name) for name in names]
    return JointCounts.of_rows([(part.reports, part.present) for part in parts], n)


def _cells(held: Held, names: Sequence[str]) -> tuple[Held, Array | None]:
    """Distinct combinations where few are possible, else rows."""
    sheet = held.questionnaire
    asked = [maker_of(sheet[name]) for name in names if name in sheet]
    sizes = [float(possible_reports(made_by)) for made_by in asked if made_by.n_bits]
    if held.ordered and np.prod(sizes) > _MOST_CELLS:
        return held.read(names), None
    return held.cells(names)


def pairs(
    held: Held, names: Sequence[str]
) -> tuple[Mapping[str, tuple[str, int]], Iterator[tuple[tuple[str, str], JointCounts]]]:
    """The counts of every pair of questions, one pair after another.

    Beside them each question's mechanism in words and its number of reports, which are known once
    a pair with it was read.
    """
    known: dict[str, tuple[str, int]] = {}

    def counted() -> Iterator[tuple[tuple[str, str], JointCounts]]:
        for both in combinations(names, 2):
            counts = joint(held, both)
            lacking = counts.lacking or (0, 0)
            for name, made_by, absent in zip(both, counts.mechanisms, lacking, strict=True):
                known[name] = str(made_by), counts.nobs + counts.n_missing - absent
            yield both, counts.tally()

    return known, counted()


def _answered(cells: Held, name: str) -> Coded:
    """The reports of a question that somebody answered."""
    found = cells.coded(name)
    if not len(found.reports):
        remedy = f"nobody of {cells.respondents} answered this question"
        raise InvalidArgument("name", name, remedy)
    return found


def _weighed(found: Coded, n: Array | None) -> Data:
    """Reports, each of n respondents (None: one)."""
    if n is None:
        reports: Reports = found.reports
        return reports
    missing = int(n[~found.present].sum())
    return tallied(replace(found.reports, n_missing=missing), n[found.present])
