"""What an analysis needs of a survey's rows: counts, of one question or of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.engines.query import MOST_BYTES
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators import Inversion
from ldpstats.mechanisms import Mechanism
from ldpstats.models.association.variables import refuse_shared
from ldpstats.models.frequency.groups import reports_in
from ldpstats.reports.joint import JointCounts, possible_reports
from ldpstats.reports.single import BitCounts, Counts, Reports, tallied
from ldpstats.survey.coded import Coded
from ldpstats.survey.grouping import grouped_rows
from ldpstats.survey.held import Held, maker_of
from ldpstats.survey.remote import Remote
from ldpstats.survey.summing import summed

__all__ = [
    "Data",
    "grouped",
    "joint",
    "pairs",
    "refuse_kept",
    "refuse_unanswered",
    "sums_suffice",
    "tally",
    "weighed",
]

Data = Reports | Counts | BitCounts
Array = npt.NDArray[Any]

_MOST_CELLS = 1 << 26  # combinations of reports beyond which hardly any repeats


def tally(held: Held, name: str, sums: bool = False, count: str | None = None) -> Data:
    """The reports of a question, or how often each distinct one was seen.

    With `sums`, sums of bits suffice, and are made where the rows are. Each row stands for as many
    reports as its column `count` says.
    """
    if sums and isinstance(held, Remote):
        return summed(held, name, count=count)[1][0]
    cells, n = _cells(held, [name]) if count is None else held.cells([name], count)
    return weighed(cells.coded(name), n)


def grouped(
    held: Held, name: str, by: Sequence[object], sums: bool = False
) -> tuple[dict[Any, Data], int]:
    """`tally` by groups, in the order of their columns; and how many respondents have no group."""
    names = [column for column in by if isinstance(column, str)]
    for column in names:
        if column != name:
            held.refuse_private(column)
    if sums and isinstance(held, Remote):
        cells, parts = summed(held, name, names)
        labels, rows, ungrouped = grouped_rows(cells, by, name)
        added = [reduce(add, [parts[i] for i in chosen]) for chosen in rows]
        lost = [parts[i] for i in ungrouped]
        return dict(zip(labels, added, strict=True)), sum(p.nobs + p.n_missing for p in lost)
    cells, n = _cells(held, [name, *names])
    labels, rows, ungrouped = grouped_rows(cells, by, name)
    found = cells.coded(name)
    groups = {
        label: weighed(found.taken(chosen), None if n is None else n[chosen])
        for label, chosen in zip(labels, rows, strict=True)
    }
    return groups, ungrouped.size if n is None else int(n[ungrouped].sum())


def sums_suffice(mechanism: Any, candidates: Any, method: Any, constraints: Any) -> bool:
    """Whether a fit needs the sums of bits only, and gives the same from whole reports.

    Estimates over candidates by inversion do. So would others that are distributions, but for
    their log-likelihood, which whole reports have.
    """
    named = isinstance(method, str | None) and method in (None, Inversion.name)
    linear = (named or isinstance(method, Inversion)) and constraints is None
    hashed = isinstance(mechanism, Mechanism) and mechanism.is_open and mechanism.n_bits > 0
    return hashed and linear and candidates is not None


def refuse_unanswered(name: str, data: Iterable[Data], held: Held) -> None:
    """Refuse a question that nobody answered."""
    if not any(map(reports_in, data)):
        raise InvalidArgument("name", name, f"nobody of {len(held)} answered this question")


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
        if isinstance(held, Remote):
            _refuse_many(len(held), sum(-(-made_by.n_bits // 8) for made_by in asked), names)
        return held.read(names), None
    return held.cells(names)


def _refuse_many(n: int, width: int, names: Sequence[str]) -> None:
    """Refuse n reports of so many bytes that hardly ever repeat, beyond what a query may return."""
    if n * width > MOST_BYTES:
        asked = ", ".join(map(repr, names))
        raise NotAvailable(
            f"the likelihood of {asked} needs {n} reports of {width} bytes, more than "
            f"{MOST_BYTES / 1e6:,.0f} MB: sums of bits suffice for method='inversion' with "
            "candidates=, and FrequencyModel takes ldp.count(..., bits=True); or take a random "
            "part of the respondents"
        )


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


def refuse_kept(held: Held, names: Sequence[str], memoised: object, analysis: str) -> None:
    """Refuse two reports of a person that may come from one permanent response."""
    if memoised is not None:
        refuse_shared([], names, memoised, analysis)
        return
    sheet = held.questionnaire
    kept = {name: maker_of(sheet[name]).permanent for name in names if name in sheet}
    for both in combinations(kept, 2):
        if kept[both[0]] is not None and kept[both[0]] == kept[both[1]]:
            origins = [held.origin(name) for name in both]
            refuse_shared([joint(held, both)], both, None, analysis, origins)


def weighed(found: Coded, n: Array | None) -> Data:
    """Reports, each of n respondents (None: one)."""
    if n is None:
        reports: Reports = found.reports
        return reports
    missing = int(n[~found.present].sum())
    return tallied(replace(found.reports, n_missing=missing), n[found.present])
