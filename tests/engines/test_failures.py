"""What happens to the data while they are in use is told in an error that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import opened

import ldpstats as ldp
from ldpstats.engines.base import running
from ldpstats.engines.database import DuckDB
from ldpstats.errors import InvalidArgument

TABLE = pa.table({"job": ["cook", "nurse", "cook"]})


def database(path: Path, **tables: str) -> Path:
    with duckdb.connect(path) as connection:
        for name, query in tables.items():
            connection.execute(f'CREATE TABLE "{name}" AS {query}')
    return path


def test_a_closed_connection_is_named() -> None:
    connection = duckdb.connect()
    query = opened(connection.from_arrow(TABLE), name="source")
    assert len(query) == 3
    connection.close()
    with pytest.raises(InvalidArgument, match=r"^source=DuckDBPyRelation: DuckDB .*: keep "):
        query.cells(["job"])


def test_a_dropped_table_is_named() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE answers AS SELECT 'cook' AS job")
    query = opened(connection.table("answers"))
    connection.execute("DROP TABLE answers")
    with pytest.raises(InvalidArgument, match=r"answers does not exist.*keep the table"):
        query.cells(["job"])


def test_a_database_needs_the_name_of_its_table(tmp_path: Path) -> None:
    path = database(tmp_path / "x.duckdb", answers="SELECT 1 AS a", people="SELECT 2 AS a")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE VIEW other.people AS SELECT 3 AS a")
    for table, message in (
        (None, "more than one: 'answers', 'people', 'other.people'"),
        ("people", "must be one table of the database"),
        ("Answers", "must be one table of the database"),
    ):
        with pytest.raises(InvalidArgument, match=f"^table={table!r}: .*{message}"):
            opened(path, table=table)
    query = opened(path, table="other.people")
    assert query.cells(["a"]).to_pydict() == {"a": [3], "n": [1]}
    one = opened(database(tmp_path / "one.db", answers="SELECT 1 AS a"))
    assert len(one) == 1


def test_a_database_that_is_open_here_is_named(tmp_path: Path) -> None:
    path = database(tmp_path / "x.duckdb", answers="SELECT 1 AS a")
    words = r"x.duckdb: DuckDB stopped .*pass a relation of that connection"
    with duckdb.connect(path), pytest.raises(InvalidArgument, match=words):
        opened(path)
    queries = [opened(path), opened(path)]  # two surveys of one file
    assert [len(query) for query in queries] == [1, 1]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with pytest.raises(InvalidArgument, match=r"x\.duckdb': no such file"):
        opened(path)
    path.write_bytes(b"no database" * 500)
    with pytest.raises(InvalidArgument, match="not a valid DuckDB database"):
        opened(path)
    path.write_bytes(b"")
    with pytest.raises(InvalidArgument, match=r"holds no table|not a valid"):
        opened(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": TABLE, "engine": "duckdb"}, "engine='duckdb': goes with Parquet"),
        ({"data": "x.duckdb", "table": ["x"]}, r"table=\['x'\]: must be text"),
        ({"data": "x.csv", "on_error": "report"}, "on_error='report': goes with Parquet"),
        ({"data": TABLE, "table": "x"}, "table='x': goes with a database"),
        ({"data": "a.csv", "engine": "spark"}, "a.csv.*no such file"),
        ({"data": "a.db", "engine": "polars"}, "engine='polars': a DuckDB database"),
        ({"data": "a.parquet", "engine": "hive"}, "engine='hive': must be one of"),
        ({"data": "a.parquet", "on_error": "skip"}, "on_error='skip': must be one of"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        opened(**given)


class _Java(Exception):
    """An error of Java, as Python shows it."""


_Java.__module__ = "py4j.protocol"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "An error occurred.\nCaused by: org.SparkException: Python worker exited (crashed)\n"
            "\tat org.apache.spark.SparkContext.x(Y.scala:1)\nCaused by: java.io.EOFException\n",
            r"_Java: java.io.EOFException\): a worker ended",
        ),
        (
            "x: bigger than spark.driver.maxResultSize (1024.0 KiB)\n\tat a.b(c.scala:1)",
            r"\(1024.0 KiB\)\): raise spark.driver.maxResultSize",
        ),
        (
            "Traceback\nldpstats.errors.UnknownCategory: report='x: y': is no label: none\n\tat a",
            "^report='x: y': is no label: none$",
        ),
        ("connection is busy with another call", r"give each a cursor\(\) of it"),
        ("ModuleNotFoundError: No module named 'ldpstats'", "install ldpstats where the workers"),
    ],
)
def test_traces_of_java_are_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as caught, running("data", "a table"):
        raise _Java(text)
    assert "\n" not in str(caught.value) and "scala" not in str(caught.value)


def test_a_stopped_session_and_a_full_disk_are_named_and_other_faults_not_hidden() -> None:
    stopped: dict[str, Any] = {"__name__": "pyspark.core"}
    exec("def fail():\n    assert None", stopped)
    with pytest.raises(InvalidArgument, match=r"data=t: Spark .*keep the Spark session running"):
        with running("data", "t"):
            stopped["fail"]()
    with pytest.raises(InvalidArgument, match=r"data=t: the system .*: the disk is full"):
        with running("data", "t"):
            raise OSError(28, "No space left on device")
    with pytest.raises(ZeroDivisionError), running("data", "t"):
        _ = 1 / 0


def test_panics_of_rust_are_errors_and_an_interrupt_is_none() -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with pytest.raises(InvalidArgument, match=r"data=t: Polars stopped \(PanicException: range"):
        with running("data", "t"):
            raise panic("range")
    with pytest.raises(KeyboardInterrupt), running("data", "t"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "kind"), [("Query interrupted", KeyboardInterrupt), ("odd", RuntimeError)]
)
def test_an_interrupted_query_of_duckdb_is_an_interrupt(
    words: str, kind: type[BaseException]
) -> None:
    class Frame:
        def to_native(self) -> Any:
            raise RuntimeError(words)

        def collect(self, backend: str) -> Any:
            return self.to_native()

    for ask in (
        lambda: DuckDB().table(Frame()),
        lambda: DuckDB().table(Frame(), 9),
        lambda: list(DuckDB().batches(Frame(), 9)),
    ):
        with pytest.raises(kind):
            ask()


def test_a_wrong_cohort_is_shown_with_its_row(tmp_path: Path) -> None:
    bits = pa.array([b"\1"] * 4, pa.binary(1))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"word": bits, "word_cohort": [0, 3, 4, 1]}), path)
    mechanism = ldp.RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    with pytest.raises(InvalidArgument, match=r"cohort=4: .*1 row, .* in .*x.parquet, row 3"):
        ldp.count(path, mechanism, "word")
    with pytest.raises(InvalidArgument, match=r"^column='words': no such column"):
        ldp.count(path, mechanism, "words")
