"""One table in every place that an engine may hold it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpstats.engines import others

N = 600
_OPEN: list[Any] = []


def opened(data: Any, *given: Any, **how: Any) -> Any:
    """The query over a table that an engine holds."""
    query = others.opened(data, *given, **how)
    assert query is not None
    return query


def table(n: int = N) -> pa.Table:
    """Columns of every kind, with missing values, both zeros, NaN and names that mislead."""
    rng = np.random.default_rng(17)
    level = pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "mid", "hi"], ordered=True)
    frame = pd.DataFrame(
        {
            "job": rng.choice(["cook", "nurse", None, "", "é"], n),
            "code": rng.integers(0, 5, n).astype(np.uint8),
            "x": rng.choice([0.0, -0.0, np.nan, 2.5], n),
            "bits": [bytes([i % 3, 255]) for i in range(n)],
            "day": pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 3, n), unit="D"),
            "level": level,
            "n": rng.integers(0, 4, n),
            "late": rng.random(n) < 0.5,
            "id": np.arange(n),
            "a 'b' c": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
        }
    )
    made = pa.Table.from_pandas(frame, preserve_index=False)
    bits = made.schema.get_field_index("bits")
    return made.set_column(bits, "bits", made.column("bits").cast(pa.binary(2)))


def parts(made: pa.Table, folder: Path, number: int = 3) -> list[Path]:
    """A table in several files, which have small row groups."""
    step = -(-len(made) // number)
    paths = [folder / f"part*{i}.parquet" for i in range(number)]
    for i, path in enumerate(paths):
        pq.write_table(made.slice(i * step, step), path, row_group_size=70)
    return paths


def spoil(path: Path) -> None:
    """Damage the pages of a file, and leave its footer."""
    data = bytearray(path.read_bytes())
    footer = 8 + int.from_bytes(data[-8:-4], "little")
    data[4:-footer] = b"\xff" * (len(data) - footer - 4)
    path.write_bytes(data)


def _relation(made: pa.Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("made", made)
    _OPEN.append(connection)  # before 1.5 a relation does not keep it open
    return {"data": connection.table("made")}


def _database(made: pa.Table, folder: Path) -> Any:
    import duckdb

    with duckdb.connect(folder / "it's.duckdb") as connection:
        connection.register("made", made)
        connection.execute('CREATE TABLE "the ""answers""" AS SELECT * FROM made')
        connection.execute("CREATE VIEW other AS SELECT 1 AS x")
    return {"data": folder / "it's.duckdb", "table": 'the "answers"'}


def _polars(made: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return {"data": pl.from_arrow(made).lazy()}


def _polars_files(made: pa.Table, folder: Path) -> Any:
    pytest.importorskip("polars", reason="polars is not installed")
    return {"data": parts(made, folder), "engine": "polars"}


def _spark(made: pa.Table, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    parts(made, folder)
    return {"data": session.read.parquet(folder.as_uri())}


PLACES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "files": lambda made, folder: {"data": parts(made, folder)},
    "relation": _relation,
    "database": _database,
    "polars": _polars,
    "polars reads files": _polars_files,
    "spark": _spark,
    "spark reads files": lambda made, folder: {"data": parts(made, folder), "engine": "spark"},
}
EVERYWHERE = [
    pytest.param(place, marks=pytest.mark.spark) if "spark" in place else place for place in PLACES
]
SOME = ["files", "relation", "polars", pytest.param("spark", marks=pytest.mark.spark)]
