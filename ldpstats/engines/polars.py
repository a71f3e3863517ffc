"""Lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpstats.engines.base import Engine, stacked
from ldpstats.engines.failures import needed

__all__ = ["Polars"]


@dataclass(frozen=True, eq=False)
class Polars(Engine):
    """Runs lazy frames of Polars, and reads Parquet files with them."""

    title = "Polars"
    misread = r"\*|\^.*\$"  # all columns, and patterns

    def scan(self, files: Sequence[str], widths: Mapping[str, str]) -> Any:
        import narwhals

        with needed("polars", "polars"):
            frames = [narwhals.scan_parquet(f, backend="polars", glob=False) for f in files]
        return stacked(frames, widths)
