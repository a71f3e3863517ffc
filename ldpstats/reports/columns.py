"""Columns and tables where reports belong: the errors that say how they are read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldpstats.arguments.labels import column_name
from ldpstats.errors import InvalidArgument

__all__ = ["not_reports"]

_TABLES = ("duckdb", "polars", "pyarrow")


def not_reports(name: str, value: object, remedy: str) -> InvalidArgument:
    """The error about a value that is no reports; one from a table is told the way in."""
    return InvalidArgument(name, _shown(value), f"{remedy}{_way_in(value)}")


def _shown(value: object) -> object:
    """A value, or how long it is where it may hold answers, which do not belong in a log."""
    if isinstance(value, pd.Series | pd.Index | pd.DataFrame):
        return f"{type(value).__name__} of {len(value)} rows"
    if isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind not in "biuf":
        return f"array of {len(value)} rows"
    return value


def _way_in(value: object) -> str:
    """How a column or a table is read; empty for other values."""
    parts = value if isinstance(value, list | tuple) else [value]
    if not any(_of_a_table(part) for part in parts):
        return ""
    named = [found for part in parts if (found := column_name(part))]
    question = repr(named[0] if named else "question")
    return (
        f". A column of a table is read by mechanism.parse({question}, column), a whole table by "
        f"ldp.Survey(table, ldp.Questionnaire({{{question}: mechanism}}))"
    )


def _of_a_table(value: object) -> bool:
    known = isinstance(value, str | np.ndarray | pd.Series | pd.Index | pd.DataFrame)
    return known or type(value).__module__.partition(".")[0] in _TABLES
