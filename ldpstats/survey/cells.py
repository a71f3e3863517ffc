"""Columns of a table of reports: labels with their own type, other reports as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.reports.single import Reports

__all__ = ["cell_type", "cells_of_reports", "cells_of_text"]

Mask = npt.NDArray[np.bool_]


def cell_type(mechanism: Any) -> type:
    """The type of a mechanism's reports in a table: of its labels, if they have one, or text.

    Labels of several types are `object`: each keeps its own, where a table can hold them.
    """
    if not isinstance(mechanism, Enumerated):
        return str
    outputs = mechanism.outputs
    if isinstance(outputs, pd.RangeIndex):
        return int
    kinds = {type(label) for label in outputs.tolist()}
    return kinds.pop() if len(kinds) == 1 else object


def cells_of_reports(reports: Reports, absent: Mask) -> pd.Series[Any]:
    """A column of reports in this order, empty where a respondent is `absent`, (n,)."""
    labels = reports.mechanism.report_labels(reports)
    return cells_of_text(labels, absent, cell_type(reports.mechanism))


def cells_of_text(cells: Any, absent: Mask, kind: type) -> pd.Series[Any]:
    """A column of cells of one type, empty where `absent`, (n,)."""
    if kind in (int, bool):
        values = np.zeros(absent.size, dtype=np.int64 if kind is int else bool)
        values[~absent] = cells
        if not absent.any():
            return pd.Series(values)
        masked = pd.arrays.IntegerArray if kind is int else pd.arrays.BooleanArray
        return pd.Series(masked(values, absent))
    if kind is float:
        numbers = np.full(absent.size, np.nan)
        numbers[~absent] = cells
        return pd.Series(numbers)
    objects = np.full(absent.size, None, dtype=object)
    objects[~absent] = cells
    column = pd.Series(objects, dtype=object)
    return column.infer_objects() if kind is str else column
