"""Frames of PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpstats.engines.base import Engine, Partial
from ldpstats.engines.failures import needed

__all__ = ["Spark"]


@dataclass(frozen=True, eq=False)
class Spark(Engine):
    """Runs frames of Spark on the session that they have; results come as Arrow."""

    title = "Spark"
    in_threads = False

    def partial(self, frame: Any, function: Partial, schema: Any) -> Iterator[Any]:
        from pyspark.sql.pandas.types import from_arrow_schema

        made = frame.to_native().mapInArrow(function, from_arrow_schema(schema))
        yield from made.toArrow().cast(schema).to_batches()

    def scan(self, files: Sequence[str], union: bool) -> Any:
        import narwhals

        with needed("spark", "ldpstats[spark]"):
            from pyspark.sql import SparkSession
        session = SparkSession.builder.getOrCreate()
        names = [Path(file).absolute().as_uri() for file in files]
        return narwhals.from_native(session.read.parquet(*names))
