"""What happens to the data while they are in use is told in an error that names them."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
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


def test_a_closed_connection_is_named():
    connection = duckdb.connect()
    query = opened(connection.from_arrow(TABLE), name="source")
    assert len(query) == 3
    connection.close()
    with pytest.raises(InvalidArgument, match=r"^source=DuckDBPyRelation: DuckDB .*: keep "):
        query.cells(["job"])


def test_a_dropped_table_is_named():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE answers AS SELECT 'cook' AS job")
    query = opened(connection.table("answers"))
    connection.execute("DROP TABLE answers")
    with pytest.raises(InvalidArgument, match=r"answers does not exist.*keep the table"):
        query.cells(["job"])


def test_a_database_needs_the_name_of_its_table(tmp_path):
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


def test_a_database_that_is_open_here_is_named(tmp_path):
    path = database(tmp_path / "x.duckdb", answers="SELECT 1 AS a")
    words = r"x.duckdb: DuckDB stopped .*pass a relation of that connection"
    with duckdb.connect(path), pytest.raises(InvalidArgument, match=words):
        opened(path)
    queries = [opened(path), opened(path)]  # two surveys of one file
    assert [len(query) for query in queries] == [1, 1]


def test_a_file_that_is_no_database_is_named(tmp_path):
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
def test_arguments_that_do_not_go_together_are_refused(given, message):
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
def test_traces_of_java_are_one_line(text, message):
    with pytest.raises(InvalidArgument, match=message) as caught, running("data", "a table"):
        raise _Java(text)
    assert "\n" not in str(caught.value) and "scala" not in str(caught.value)


def test_a_stopped_session_and_a_full_disk_are_named_and_other_faults_not_hidden():
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


def test_panics_of_rust_are_errors_and_an_interrupt_is_none():
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with pytest.raises(InvalidArgument, match=r"data=t: Polars stopped \(PanicException: range"):
        with running("data", "t"):
            raise panic("range")
    with pytest.raises(KeyboardInterrupt), running("data", "t"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "kind"), [("Query interrupted", KeyboardInterrupt), ("odd", RuntimeError)]
)
def test_an_interrupted_query_of_duckdb_is_an_interrupt(words, kind):
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


def test_a_wrong_cohort_is_shown_with_its_row(tmp_path):
    bits = pa.array([b"\1"] * 4, pa.binary(1))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"word": bits, "word_cohort": [0, 3, 4, 1]}), path)
    mechanism = ldp.RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    with pytest.raises(InvalidArgument, match=r"cohort=4: .*1 row, .* in .*x.parquet, row 3"):
        ldp.count(path, mechanism, "word")
    with pytest.raises(InvalidArgument, match=r"^column='words': no such column"):
        ldp.count(path, mechanism, "words")


# What breaks while an engine counts: the error names it, and nothing is counted twice.

KRR = ldp.KRR(("nurse", "cook", "driver"), epsilon=2.0)

SHEET = ldp.Questionnaire({"job": KRR})


def reports(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"job": rng.choice(KRR.labels(), n), "id": np.arange(n)})
    return SHEET.privatize(people, rng)


def python(code: str, *arguments: Any) -> subprocess.Popen[str]:
    """A program of its own; what it prints can be read."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], text=True, **how)


# -- Spark -----------------------------------------------------------------------------------------
@pytest.mark.spark
@pytest.mark.parametrize("deaths", ["one", "every"])
def test_a_worker_of_spark_that_is_killed(deaths, spark, tmp_path):
    """Its task runs again, and is counted once; a task that fails for good is an error."""
    for i in range(4):
        part = reports(500, i)
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / f"{i}.parquet")
    query, died = opened(spark.read.parquet(str(tmp_path))), tmp_path / "_died"
    schema = pa.schema({"rows": pa.int64(), "ids": pa.int64()})

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = ids = 0
        for batch in batches:
            rows, ids = rows + batch.num_rows, ids + sum(batch.column("id").to_pylist())
            if deaths == "every" or not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        yield pa.record_batch({"rows": [rows], "ids": [ids]}, schema=schema)

    if deaths == "every":
        with pytest.raises(ldp.InvalidArgument, match=r"data=DataFrame: Spark stopped \("):
            list(query.partial(["id"], count, schema))
    else:
        found = pa.Table.from_batches(query.partial(["id"], count, schema)).to_pydict()
        assert died.exists()
        assert (sum(found["rows"]), sum(found["ids"])) == (2000, 4 * sum(range(500)))


@pytest.mark.spark
def test_persons_who_appear_twice_are_not_joined_on_spark(spark):
    first, second = reports(40), reports(40, 2)
    tables = [first, second, pd.concat([second, second[7:8]])]
    frames = (pa.Table.from_pandas(table, preserve_index=False) for table in tables)
    waves = [ldp.Survey(spark.createDataFrame(frame), SHEET) for frame in frames]
    assert len(waves[0].matched(waves[1], id="id")) == 40
    with pytest.raises(ldp.InvalidArgument, match=r"7 appears 2 times"):
        waves[0].matched(waves[2], id="id")


# -- DuckDB ----------------------------------------------------------------------------------------
WRITER = """
import sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("INSERT INTO answers SELECT 'cook', 1000")
    print("open", flush=True)
    sys.stdin.read()
"""


def test_two_processes_on_one_database(tmp_path):
    """Two may read; while one writes, the error says so; what it wrote is there afterwards."""
    path, table = tmp_path / "answers.duckdb", reports(300)
    with duckdb.connect(path) as connection:
        connection.register("made", table)
        connection.execute("CREATE TABLE answers AS SELECT job, id FROM made")
    assert ldp.count(path, KRR, "job").nobs == 300
    writer = python(WRITER, path)
    with writer:
        assert writer.stdout is not None and writer.stdout.readline() == "open\n"
        with pytest.raises(ldp.InvalidArgument, match="another process writes to it"):
            ldp.count(path, KRR, "job")
        writer.communicate("")
    assert ldp.count(path, KRR, "job").nobs == 301


FORK = """
import gc, multiprocessing, sys, tempfile
from pathlib import Path
import ldpstats as ldp
surveys = [ldp.Survey(sys.argv[1], {"job": ldp.KRR(("nurse", "cook", "driver"), 2.0)})]
expected = surveys[0].frequencies("job").to_json()

def again(queue):
    found = surveys[0].frequencies("job").to_json() == expected
    surveys.clear()
    gc.collect()
    queue.put(found)

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
child = context.Process(target=again, args=(queue,))
child.start()
child.join(60)
print(child.exitcode, child.exitcode == 0 and queue.get())
print(surveys[0].frequencies("job").to_json() == expected)
child.kill()
"""


@pytest.mark.slow
def test_a_forked_process_asks_a_database_of_its_own(tmp_path):
    reports(200_000).to_parquet(tmp_path / "reports.parquet")
    with python(FORK, tmp_path / "reports.parquet") as program:
        assert program.communicate()[0] == "0 True\nTrue\n"


def test_a_survey_of_files_is_copied_and_pickled(tmp_path):
    table = reports(300)
    table.to_parquet(tmp_path / "reports.parquet")
    with duckdb.connect(tmp_path / "reports.duckdb") as connection:
        connection.register("made", table)
        connection.execute("CREATE TABLE answers AS SELECT job, id FROM made")
    for data in (tmp_path / "reports.parquet", tmp_path / "reports.duckdb"):
        survey = ldp.Survey(data, SHEET).where("id >= 100")
        for other in (copy.deepcopy(survey), pickle.loads(pickle.dumps(survey))):
            assert other.frequencies("job").to_json() == survey.frequencies("job").to_json()
