"""Columns of Arrow in pandas and back, and what pandas notes in an Arrow schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ldpstats.reports.packed import in_pandas, is_of_bytes, plain_bytes

__all__ = ["from_arrow", "index_names", "kept_notes", "to_arrow"]


def from_arrow(column: Any) -> pd.Series[Any]:
    """An Arrow column in pandas: dictionaries as categories, whole numbers never as floats.

    Bytes stay in the memory of Arrow.
    """
    from pyarrow import types

    kind = column.type
    if is_of_bytes(kind):
        return in_pandas(plain_bytes(column))
    mapper: Any = None
    if column.null_count and types.is_boolean(kind):
        mapper = pd.BooleanDtype()
    elif column.null_count and types.is_integer(kind):
        mapper = pd.api.types.pandas_dtype(f"{'U' * types.is_unsigned_integer(kind)}Int64")
    series: pd.Series[Any]
    if mapper is not None:
        return pd.Series(mapper.__from_arrow__(column))
    series = column.to_pandas()
    return series.rename(None).reset_index(drop=True)


def to_arrow(values: pd.Series[Any]) -> Any:
    """A Series in Arrow; labels of several types become text."""
    import pyarrow

    if values.dtype == object:
        absent = values.isna().to_numpy()
        cells = values.tolist()
        texts = [None if no else str(v) for v, no in zip(cells, absent, strict=True)]
        return pyarrow.array(texts, pyarrow.string())
    return pyarrow.array(values, from_pandas=True)


def _noted(metadata: Any) -> dict[str, Any] | None:
    """How pandas held its columns and index, as a schema notes it; None if that is damaged."""
    try:
        notes: dict[str, Any] = json.loads(metadata[b"pandas"])
        fields = {c["field_name"]: c["name"] for c in notes["columns"]}
        return notes if _levels(notes) <= {*fields} else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def index_names(metadata: Any) -> tuple[Any, ...]:
    """Names of the index of pandas whose levels stand in columns with names of no meaning."""
    notes = _noted(metadata) or {"columns": [], "index_columns": []}
    levels = [(c["field_name"], c["name"]) for c in notes["columns"]]
    return tuple(name for field, name in levels if field in _levels(notes) and field != name)


def _levels(notes: Mapping[str, Any]) -> set[str]:
    """The columns that hold levels of an index of pandas; one that only counts has none."""
    return {level for level in notes["index_columns"] if isinstance(level, str)}


def kept_notes(metadata: Any, kept: list[str], secret: bool) -> Any:
    """Notes in a schema, without those on how pandas held columns that are replaced."""
    rest = {key: note for key, note in (metadata or {}).items() if key != b"pandas" and not secret}
    notes = _noted(metadata)
    if notes is not None and _levels(notes) <= {*kept}:
        notes["columns"] = [c for c in notes["columns"] if c["field_name"] in kept]
        if secret:
            notes.pop("attributes", None)
        rest[b"pandas"] = json.dumps(notes).encode()
    return rest or None
