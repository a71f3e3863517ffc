"""Columns of a table of reports: labels with their own type, other reports as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.io.layout import stored_columns
from ldpstats.io.report_columns import cell_type
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.reports.single import Reports

__all__ = ["cells_of_reports", "cells_of_text", "stored_cells"]

Mask = npt.NDArray[np.bool_]


def cells_of_reports(reports: Reports, absent: Mask) -> pd.Series[Any]:
    """A column of reports in this order, empty where a respondent is `absent`, (n,)."""
    labels = reports.mechanism.report_labels(reports)
    return cells_of_text(labels, absent, cell_type(reports.mechanism))


def stored_cells(name: str, reports: Reports, absent: Mask) -> dict[str, pd.Series[Any]]:
    """The columns of reports as a Parquet file holds them; labels as `cells_of_reports`."""
    if isinstance(reports.mechanism, Enumerated):
        return {name: cells_of_reports(reports, absent)}
    return stored_columns(name, reports, absent)


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
