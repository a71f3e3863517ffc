"""Which respondents have a report on every variable: by identifier, by row, or in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, counts_vector, listed
from ldpstats.errors import InvalidArgument
from ldpstats.reports.checks import checked_ids
from ldpstats.reports.columns import not_reports
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["Matched", "alike", "by_ids", "by_rows", "check_ids", "checked_parts"]

Array = npt.NDArray[Any]
Matched = tuple[tuple[Reports, ...], tuple[int, ...]]  # reports, and how many lacked each variable

_PAIRS = "must be pairs (reports, present), one per variable"


def by_ids(parts: Sequence[Reports]) -> Matched:
    """The reports of those who are among the identifiers of all parts, in the first's order.

    There were at least as many respondents as identifiers, and as reports and missing answers of
    one variable together.
    """
    columns = [pd.Index(part.ids, dtype=object) for part in parts]
    chosen = np.array([column.get_indexer(columns[0]) for column in columns])
    chosen = chosen[:, (chosen >= 0).all(axis=0)]
    if not chosen.shape[1] and all(map(len, parts)):
        seen = ", ".join(repr(column[0]) for column in columns)
        raise InvalidArgument(
            "ids",
            seen,
            "no respondent has a report on every variable: are these identifiers of one kind?",
        )
    everyone = columns[0]
    for column in columns[1:]:
        everyone = everyone.append(column[everyone.get_indexer(column) < 0])
    total = max(len(everyone), *(len(part) + part.n_missing for part in parts))
    left_out = total - chosen.shape[1]
    return _taken(parts, chosen, left_out, total, [len(part) for part in parts])


def by_rows(rows: object, n: Array | None = None) -> tuple[Matched, Array]:
    """The reports of the rows that have one on every variable, and how many respondents each is.

    `rows` are pairs of `Reports` and a mask of all rows, or None where every row has a report. The
    reports are those of the rows in the mask, or of all rows, of which the others are left out. A
    row stands for n respondents, (N,), by default for one.
    """
    pairs = [_pair(v, pair) for v, pair in enumerate(listed("rows", rows, _PAIRS))]
    sizes = [len(reports if mask is None else mask) for reports, mask in pairs]
    if len(set(sizes)) > 1:
        raise InvalidArgument("rows", f"{sizes} rows", "must be the same rows for each variable")
    N = sizes[0] if sizes else 0
    masks = [np.ones(N, dtype=bool) if mask is None else mask for _, mask in pairs]
    kept = np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.empty(0, dtype=np.int64)
    parts = [reports for reports, _ in pairs]
    chosen = [
        kept if len(part) == N else np.cumsum(mask)[kept] - 1
        for part, mask in zip(parts, masks, strict=True)
    ]
    times = np.ones(N, dtype=np.int64) if n is None else counts_vector("n", n, (N,))
    answered = [int(times[mask].sum()) for mask in masks]
    left_out = int(times.sum() - times[kept].sum())
    return _taken(parts, chosen, left_out, int(times.sum()), answered), times[kept]


def _pair(v: int, pair: object) -> tuple[Reports, Array | None]:
    """One variable's reports and the mask of the rows that have one."""
    both = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
    reports, given = both
    if not isinstance(reports, Reports):
        raise InvalidArgument(f"rows[{v}]", pair, _PAIRS)
    if given is None:
        return reports, None
    name, remedy = f"rows[{v}]", "the mask must be True or False for each row"
    mask = as_array(name, given, remedy)
    if mask.dtype != bool or mask.ndim != 1:
        raise InvalidArgument(name, given, remedy)
    if len(reports) not in (int(mask.sum()), mask.size):
        remedy = f"there are {len(reports)} reports, and {int(mask.sum())} of {mask.size} rows"
        raise InvalidArgument(name, "mask", f"{remedy} have one: pass the mask of these reports")
    return reports, mask


def _taken(
    parts: Sequence[Reports], chosen: Any, left_out: int, total: int, answered: Sequence[int]
) -> Matched:
    """Reports at the places chosen; of `total` respondents, how many `answered` each question."""
    reports = tuple(
        replace(part[at], n_missing=left_out, ids=None)
        for part, at in zip(parts, chosen, strict=True)
    )
    lacking = tuple(total - size for size in answered) if left_out else ()
    return reports, lacking


# -- in order ---------------------------------------------------------------------------------


def checked_parts(reports: Sequence[Reports]) -> tuple[Reports, ...]:
    """Reports of two or more variables."""
    parts = tuple(listed("reports", reports, "must be a list of Reports, one per variable"))
    for part in parts:
        if not isinstance(part, Reports):
            kind = "counts of one variable do not say what the others were; "
            remedy = kind if isinstance(part, Counts | BitCounts) else ""
            remedy = f"must be Reports, one per variable: {remedy}pass the reports"
            raise not_reports("reports", part, remedy)
    if len(parts) < 2:
        raise InvalidArgument(
            "reports",
            f"{len(parts)} variable",
            "two or more variables are needed; FrequencyModel is for one",
        )
    return parts


def alike(parts: tuple[Reports, ...]) -> tuple[Reports, ...]:
    """The same parts without identifiers, after a check that they have as many reports."""
    sizes = [len(part) for part in parts]
    if len(set(sizes)) > 1:
        raise InvalidArgument(
            "reports",
            f"{sizes} reports",
            "must be as many for each variable: report i of all variables is one respondent's; "
            "reports with identifiers, Reports(..., ids=), are matched by them",
        )
    return tuple(part if part.ids is None else replace(part, ids=None) for part in parts)


def check_ids(ids: Sequence[Any], variables: int, u: int) -> None:
    """Refuse identifiers, a column for each of several variables, that are not in one order."""
    remedy = "must hold one column of identifiers per variable"
    given = listed("ids", ids, remedy)
    if len(given) != variables:
        raise InvalidArgument("ids", f"{len(given)} columns", f"needs {variables}, one each")
    columns = [checked_ids(f"ids[{v}]", column, u) for v, column in enumerate(given)]
    for v, column in enumerate(columns):
        differ = np.flatnonzero((column != columns[0]).to_numpy())
        if differ.size:
            i = int(differ[0])
            raise InvalidArgument(
                f"ids[{v}][{i}]",
                column.iloc[i],
                f"is not the respondent of the first variable, {columns[0].iloc[i]!r}: bring the "
                "reports into one order, for example by merging the tables on the identifier",
            )
