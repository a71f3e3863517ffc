"""Frames of PySpark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpstats.engines.base import Engine, Partial, stacked
from ldpstats.engines.failures import needed
from ldpstats.io.storage.files import refusal

__all__ = ["Spark"]


@dataclass(frozen=True, eq=False)
class Spark(Engine):
    """Runs frames of Spark on the session that they have; results come as Arrow."""

    title = "Spark"
    in_threads = False
    keeps_order = False
    misread = r"\*|.*[.`].*"  # fields of a structure, and quotes

    def partial(self, frame: Any, function: Partial, schema: Any) -> Iterator[Any]:
        from pyspark.sql.pandas.types import from_arrow_schema

        with warnings.catch_warnings():
            # this needs no pandas, and PySpark warns of some versions
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            made = frame.to_native().mapInArrow(function, from_arrow_schema(schema))
        yield from made.toArrow().cast(schema).to_batches()

    def scan(self, files: Sequence[str], widths: Mapping[str, str]) -> Any:
        import narwhals

        with needed("spark", "ldpstats[spark]"):
            from pyspark.sql import SparkSession
        session = SparkSession.builder.getOrCreate()
        names = [_literal(file) for file in files]
        read = session.read.parquet
        if not widths:
            return narwhals.from_native(read(*names))
        return stacked([narwhals.from_native(read(name)) for name in names], widths)


def _literal(file: str) -> str:
    """The name of a file, none of whose signs is a pattern to Spark."""
    path = Path(file).absolute()
    if ":" in path.name:
        raise refusal(file, "Spark reads no file with a colon in its name: rename it")
    if path.name[0] in "._":
        raise refusal(file, "Spark takes this name for a hidden file, without rows: rename it")
    return "file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", path.as_posix())
