"""What a table that is not in memory may be, and how it is opened."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ldpstats.arguments import one_of, record
from ldpstats.engines.base import Engine, Partial, needed, stacked
from ldpstats.engines.database import SUFFIXES, DuckDB, database
from ldpstats.engines.parquet import found_files, parquet
from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage import checked_path, refusal

# -- Lazy frames of Polars ------------------------------------------------------------------------


@record
class Polars(Engine):
    """Runs lazy frames of Polars, and reads Parquet files with them."""

    title = "Polars"
    misread = r"\*|\^.*\$"  # all columns, and patterns

    def scan(self, files: Sequence[str], widths: Mapping[str, str]) -> Any:
        import narwhals

        with needed("polars", "polars"):
            frames = [narwhals.scan_parquet(f, backend="polars", glob=False) for f in files]
        return stacked(frames, widths)


# -- Frames of PySpark ----------------------------------------------------------------------------


@record
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
        names = []  # none of their signs is a pattern to Spark
        for file in files:
            path = Path(file).absolute()
            if ":" in path.name:
                remedy = "Spark reads no file with a colon in its name: rename it"
                raise refusal(file, remedy)
            if path.name[0] in "._":
                remedy = "Spark takes this name for a hidden file, without rows: rename it"
                raise refusal(file, remedy)
            names.append("file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", path.as_posix()))
        read = session.read.parquet
        if not widths:
            return narwhals.from_native(read(*names))
        return stacked([narwhals.from_native(read(name)) for name in names], widths)


# what reads Parquet files
ENGINES = {"duckdb": lambda: DuckDB(own=True), "spark": Spark, "polars": Polars}


def is_files(data: object) -> bool:
    """Whether `data` names files: a name, or a list of names."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(item, str | os.PathLike) for item in data)
    return isinstance(data, str | os.PathLike)


def opened(
    data: object,
    name: str = "data",
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
) -> Query | None:
    """A query over a table that an engine holds, see `Survey`; None for what memory takes."""
    if engine is not None:
        engine = one_of("engine", engine, tuple(ENGINES))
    if table is not None and not isinstance(table, str):
        raise InvalidArgument("table", table, "must be text, the name of a table")
    report = one_of("on_error", on_error, ("raise", "report")) == "report"
    files = is_files(data)
    alone = files and not isinstance(data, list | tuple)
    stored = alone and checked_path(data).name.lower().endswith(SUFFIXES)
    if engine is not None and not files:
        raise InvalidArgument("engine", engine, "goes with Parquet files: a frame has its own")
    if stored and engine not in (None, "duckdb"):
        raise InvalidArgument("engine", engine, "a DuckDB database is read by DuckDB alone")
    if table is not None and not stored:
        raise InvalidArgument("table", table, f"goes with a database ({', '.join(SUFFIXES)})")
    if report and (stored or not files):
        raise InvalidArgument("on_error", "report", "goes with lists of files")
    if not files:
        return _frame(data, name)
    if stored:
        return database(name, checked_path(data), table)
    found = found_files(data, report)
    names = [str(file) for file in found[0]] or [name for name, _ in found[1]]
    if not all(name.lower().endswith(".parquet") for name in names):
        if engine is not None:
            remedy = "goes with Parquet files: convert these, for others are read into memory"
            raise InvalidArgument("engine", engine, remedy)
        if report:
            raise InvalidArgument("on_error", "report", "goes with Parquet files: convert these")
        return None
    return parquet(name, found, ENGINES[engine or "duckdb"](), report)


def _frame(data: Any, name: str) -> Query | None:
    """A lazy frame; None for anything else."""
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    frames: dict[str, type[Engine]] = {
        "duckdb.DuckDBPyRelation": DuckDB,
        "polars.LazyFrame": Polars,
        "pyspark.DataFrame": Spark,
    }
    if made := frames.get(f"{package.lstrip('_')}.{kind.__name__}"):
        return Query(name, made(), kind.__name__, data)
    if package in ("builtins", "numpy", "pandas", "pyarrow", "ldpstats", "polars", "pyspark"):
        return None
    import narwhals

    lazy: Any = narwhals.from_native(data, pass_through=True)  # of another package
    if not isinstance(lazy, narwhals.LazyFrame):
        return None
    native = lazy.to_native()
    if native is not data:
        return _frame(native, name)
    return Query(name, Engine(), kind.__name__, data)
