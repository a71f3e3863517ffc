"""Groups of respondents, made by one or several public columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.survey.columns import Column
from ldpstats.survey.held import Held

__all__ = ["grouped_rows"]

MOST_GROUPS = 1000

Rows = npt.NDArray[np.int64]

_REMEDY = "group by text, booleans, categories or whole numbers; make bands of it first"


def grouped_rows(held: Held, by: Sequence[object], name: str) -> tuple[list[Any], list[Rows], Rows]:
    """Labels of the groups of a question, the rows of each, and the rows that have no group.

    Labels are tuples where several columns make the groups; groups are in the columns' order.
    """
    columns = _columns(held, by, name)
    missing = np.any([column.missing for column in columns], axis=0)
    known = np.flatnonzero(~missing)
    if not known.size:
        raise InvalidArgument("by", list(by), f"nobody of {held.respondents} has a group")
    cells = np.zeros(known.size, dtype=np.int64)
    for column in columns:  # numbered anew each time, in the same order, so that they stay small
        cells = cells * len(column.values) + column.codes[known]
        cells = np.unique(cells, return_inverse=True)[1]
    n_groups = int(cells.max()) + 1
    if n_groups > MOST_GROUPS:
        remedy = f"makes {n_groups} groups, {MOST_GROUPS} at most: use fewer or wider ones"
        raise InvalidArgument("by", list(by), remedy)
    order = known[np.argsort(cells, kind="stable")]
    rows = np.split(order, np.cumsum(np.bincount(cells))[:-1])
    labels = [tuple(column.values[column.codes[group[0]]] for column in columns) for group in rows]
    return (
        [label[0] if len(label) == 1 else label for label in labels],
        rows,
        np.flatnonzero(missing),
    )


def _columns(held: Held, by: Sequence[object], name: str) -> list[Column]:
    """The columns that make groups; refuse those that cannot."""
    if not by:
        raise InvalidArgument("by", list(by), "names no column")
    names = [str.__str__(column) for column in by if isinstance(column, str)]
    if len(names) < len(by) or len({*names, name}) <= len(names):
        remedy = "must be different public columns, other than the question"
        raise InvalidArgument("by", list(by), remedy)
    held.prepare(names)
    return [held.public(column).categories(_REMEDY) for column in names]
