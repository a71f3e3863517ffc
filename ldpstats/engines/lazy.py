"""Lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ldpstats.engines.base import Engine
from ldpstats.engines.failures import needed

__all__ = ["Polars"]


@dataclass(frozen=True, eq=False)
class Polars(Engine):
    """Runs lazy frames of Polars, and reads Parquet files with them."""

    title = "Polars"

    def scan(self, files: Sequence[str], union: bool) -> Any:
        import narwhals

        with needed("polars", "polars"):
            frames = [narwhals.scan_parquet(f, backend="polars", glob=False) for f in files]
        return narwhals.concat([_widened(frame, union) for frame in frames])


def _widened(frame: Any, union: bool) -> Any:
    """Categories as text, for files may have others; with `union` the widest numbers too."""
    import narwhals

    made = []
    for name, kind in frame.collect_schema().items():
        column = narwhals.col(name)
        if kind == narwhals.Categorical:
            made.append(column.cast(narwhals.String))
        elif union and kind.is_integer():
            made.append(column.cast(narwhals.Int64))
        elif union and kind.is_float():
            made.append(column.cast(narwhals.Float64))
    return frame.with_columns(*made) if made else frame
