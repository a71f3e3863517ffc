"""What breaks while an engine counts: the error names it, and nothing is counted twice."""

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
def test_a_worker_of_spark_that_is_killed(deaths: str, spark: Any, tmp_path: Path) -> None:
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
def test_persons_who_appear_twice_are_not_joined_on_spark(spark: Any) -> None:
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


def test_two_processes_on_one_database(tmp_path: Path) -> None:
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
def test_a_forked_process_asks_a_database_of_its_own(tmp_path: Path) -> None:
    reports(200_000).to_parquet(tmp_path / "reports.parquet")
    with python(FORK, tmp_path / "reports.parquet") as program:
        assert program.communicate()[0] == "0 True\nTrue\n"


def test_a_survey_of_files_is_copied_and_pickled(tmp_path: Path) -> None:
    table = reports(300)
    table.to_parquet(tmp_path / "reports.parquet")
    with duckdb.connect(tmp_path / "reports.duckdb") as connection:
        connection.register("made", table)
        connection.execute("CREATE TABLE answers AS SELECT job, id FROM made")
    for data in (tmp_path / "reports.parquet", tmp_path / "reports.duckdb"):
        survey = ldp.Survey(data, SHEET).where("id >= 100")
        for other in (copy.deepcopy(survey), pickle.loads(pickle.dumps(survey))):
            assert other.frequencies("job").to_json() == survey.frequencies("job").to_json()


# -- files -----------------------------------------------------------------------------------------
