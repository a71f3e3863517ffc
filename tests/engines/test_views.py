"""Views in a database file, which somebody else may have made, read nothing but that file."""

import pickle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from shared.engines import opened

import ldpstats as ldp

HOSTILE = {
    "csv": "SELECT a AS ill, id FROM read_csv('{other}')",
    "text": "SELECT content AS ill, 1 AS id FROM read_text('{other}')",
    "blob": "SELECT content::VARCHAR AS ill, 1 AS id FROM read_blob('{other}')",
    "name": "SELECT a AS ill, id FROM '{other}'",
    "parquet": "SELECT a AS ill, id FROM '{folder}/other.parquet'",
    "names": "SELECT file AS ill, 1 AS id FROM glob('{folder}/*')",
    "macro": "SELECT content AS ill, 1 AS id FROM reader()",
    "joined": "SELECT t.id, c.a AS ill FROM t, read_csv('{other}') c",
    "scalar": "SELECT (SELECT max(content) FROM read_text('{other}')) AS ill, id FROM t",
    "later": "SELECT CASE WHEN id > 0 THEN (SELECT max(a) FROM '{other}') END AS ill, id FROM t",
}


@pytest.fixture
def file(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("id,a\n1,secret\n2,secret\n")
    pd.DataFrame({"id": [1, 2], "a": ["secret", "secret"]}).to_parquet(tmp_path / "other.parquet")
    pd.DataFrame({"id": [1, 2, 3], "sex": ["f", "m", "f"]}).to_parquet(
        tmp_path / "part [1].parquet"
    )
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS id, 'yes' AS ill FROM range(1, 4) t(i)")
        connection.execute("CREATE VIEW own AS SELECT * FROM t WHERE id > 1")
        connection.execute(
            f"CREATE MACRO reader() AS TABLE SELECT content FROM read_text('{other}')"
        )
        for name, text in HOSTILE.items():
            text = text.format(other=other, folder=tmp_path)
            connection.execute(f'CREATE VIEW "{name}" AS {text}')
    return path


def query(path: Path, table: str | None = None) -> Any:
    found = opened(path, table=table)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_a_view_reads_no_other_file(file, name):
    with pytest.raises(ldp.InvalidArgument) as found:
        query(file, name).rows(["ill"])
    words = str(found.value)
    assert "a view of a database may read no other file" in words and "CREATE TABLE" in words
    with pytest.raises(ldp.InvalidArgument, match="may read no other file"):
        ldp.Survey(file, {"ill": ldp.Warner(epsilon=1.0)}, table=name).frequencies("ill")


def test_tables_and_views_of_the_file_itself_are_read(file):
    assert query(file, "t").rows(["id"]).num_rows == 3
    assert query(file, "own").rows(["id"]).num_rows == 2
    copy = pickle.loads(pickle.dumps(query(file, "own").engine))
    assert copy.databases == (file,)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_database_is_joined_with_parquet_files_and_no_others(file, swapped):
    sides = [query(file, "t"), query(file.parent / "part [[]1].parquet")]
    if not swapped:
        assert sides[0].joined(sides[1], "id", ("_a", "_b")).rows(["sex_b"]).num_rows == 3
    else:
        assert sides[1].joined(sides[0], "id", ("_a", "_b")).rows(["sex_a"]).num_rows == 3
    for name in ("csv", "parquet"):
        pair = [query(file, name), sides[1]]
        with pytest.raises(ldp.InvalidArgument, match="may read no other file"):
            first, second = reversed(pair) if swapped else pair
            first.joined(second, "id", ("_a", "_b")).rows(["id"])


def test_two_databases_and_relations_of_the_user_are_joined(file):
    other = file.with_name("second.duckdb")
    with duckdb.connect(other) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i AS id, 'n' AS region FROM range(9) t(i)"
        )
    both = query(file, "own").joined(query(other), "id", ("_a", "_b"))
    assert both.rows(["region_b"]).num_rows == 2
    # on a connection of her own a user reads what she likes
    connection = duckdb.connect()
    relation = connection.sql(f"SELECT * FROM '{file.parent / 'other.csv'}'")
    found = opened(relation)
    assert found.rows(["a"]).num_rows == 2


def test_what_is_too_large_for_memory_still_goes_to_a_folder(file, monkeypatch):
    large = file.with_name("large.duckdb")
    with duckdb.connect(large) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, md5(i::VARCHAR) || md5((i+1)::VARCHAR) AS word "
            "FROM range(1500000) t(i)"
        )
    monkeypatch.setattr("ldpstats.engines.database.MEMORY", "120MB")
    found = query(large)
    session = found.engine.session()
    word = found.root(session).to_native().order("word").limit(1_400_000)
    assert word.aggregate("count(*)").limit(1).fetchall() == [(1_400_000,)]
