"""Lists, patterns and folders of files: each good one is counted exactly once."""

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import opened, spoil

from ldpstats.errors import InvalidArgument, LDPWarning

SCHEMA = pa.schema({"rows": pa.int64()})


def write(path: Path, n: int = 40, start: int = 0, **others: Any) -> Path:
    """A file of `n` rows with distinct numbers, in row groups of ten."""
    ids = pa.array(range(start, start + n), pa.int64())
    jobs = pa.array([f"job {i % 3}" for i in range(n)], pa.string())
    pq.write_table(pa.table({"id": ids, "job": jobs, **others}), path, row_group_size=10)
    return path


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def rows_of(query: Any) -> list[int]:
    """The number of rows, as each kind of question finds it."""

    def count(batches: Any) -> Any:
        yield pa.record_batch({"rows": [sum(map(len, batches))]}, schema=SCHEMA)

    every = query.filtered(nw.col("id") >= 0)
    partial = [pa.Table.from_batches(q.partial(["job"], count, SCHEMA)) for q in (query, every)]
    return [
        len(query),
        sum(query.cells(["job"]).column("n").to_pylist()),
        query.rows(["id"]).num_rows,
        sum(map(len, query.batches(["job"]))),
        *(sum(table.column(0).to_pylist()) for table in partial),
    ]


def reported(data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        query = opened(data, on_error="report")
    return query


def test_a_list_may_hold_patterns_and_folders(tmp_path):
    (tmp_path / "more").mkdir()
    paths = [write(tmp_path / f"{name}.parquet", start=40 * i) for i, name in enumerate("cab")]
    write(tmp_path / "more" / "[x].PARQUET", start=120)
    (tmp_path / "more" / "_SUCCESS").touch()
    query = opened([paths[0], str(tmp_path / "[ab].parquet"), tmp_path / "more"])
    assert query.rows(["id"]).column(0).to_pylist() == [*range(160)]


def test_folders_that_are_named_like_tables_are_tables(tmp_path):
    for i, name in enumerate(("2023", "2024")):  # as Spark writes them
        folder = tmp_path / f"{name}.parquet"
        folder.mkdir()
        write(folder / "part-0.parquet", start=40 * i)
        (folder / "_SUCCESS").touch()
    write(tmp_path / "2025.parquet", start=80)
    for data in (tmp_path / "*.parquet", tmp_path, tmp_path / "**" / "*.parquet"):
        query = opened(data)
        assert query.rows(["id"]).column(0).to_pylist() == [*range(120)]
    with pytest.raises(InvalidArgument, match="_SUCCESS': has no known format"):
        opened(tmp_path / "2023.parquet" / "*")


REFUSED = {
    "no such file": lambda folder: folder / "none.parquet",
    "no file matches this pattern": lambda folder: folder / "none*.parquet",
    "only folders match this pattern": lambda folder: folder / "emp*",
    "is listed twice": lambda folder: [folder / "a.parquet", str(folder / "a.parquet")],
    "is the same file as .*a.parquet": lambda folder: [
        folder / "a.parquet",
        folder / "l.ink.parquet",
    ],
    "the folder holds no table": lambda folder: folder / "empty",
    "is of another kind than": lambda folder: [folder / "b.csv", folder / "a.parquet"],
    "cannot be read": lambda folder: [folder / "a.parquet", folder / "cut" / "cut.parquet"],
    "has no columns": lambda folder: folder / "none" / "none.parquet",
    "is not a regular file": lambda folder: folder / "pipe.parquet",
    "leads to no file": lambda folder: folder / "lost",
    "the name is not UTF-8": lambda folder: folder / os.fsdecode(b"\xff.parquet"),
    "cannot be read .File name too long": lambda folder: folder / f"{'x' * 300}.parquet",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_names_without_a_table_are_refused(reason, tmp_path):
    for name in ("cut", "none", "empty", "lost"):
        (tmp_path / name).mkdir()
    first = write(tmp_path / "a.parquet")
    if "same" in reason:
        os.link(first, tmp_path / "l.ink.parquet")
    (tmp_path / "b.csv").touch()
    (tmp_path / "lost" / "link.parquet").symlink_to(tmp_path / "nothing")
    if "UTF-8" in reason:
        shutil.copy(first, tmp_path / os.fsdecode(b"\xff.parquet"))
    cut(write(tmp_path / "cut" / "cut.parquet"))
    pq.write_table(pa.table({}), tmp_path / "none" / "none.parquet")
    if "regular" in reason:
        os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(InvalidArgument, match=reason):
        opened(REFUSED[reason](tmp_path))


OTHERS = {
    "has no column 'job'": pa.table({"id": [1]}),
    "has the column 'age', which": pa.table({"id": [1], "job": ["x"], "age": [3]}),
    "holds text in column 'id', and .* whole numbers": pa.table({"id": ["1"], "job": ["x"]}),
    "holds reports of another mechanism than .*a.parquet": pa.table({"id": [1], "job": ["x"]}).cast(
        pa.schema(
            [
                ("id", pa.int64()),
                pa.field("job", pa.string(), metadata={b"ldpstats.fingerprint": b"b"}),
            ]
        )
    ),
}


@pytest.mark.parametrize("reason", OTHERS)
def test_a_file_of_another_table_is_named(reason, tmp_path):
    job = pa.field("job", pa.string(), metadata={b"ldpstats.fingerprint": b"a"})
    first = pa.table({"id": [1], "job": ["x"]}).cast(pa.schema([("id", pa.int64()), job]))
    pq.write_table(first, tmp_path / "a.parquet")
    pq.write_table(OTHERS[reason], tmp_path / "b.parquet")
    pq.write_table(first, tmp_path / "c.parquet")
    with pytest.raises(InvalidArgument, match=f"b.parquet': {reason}"):
        opened(tmp_path / "*.parquet")
    with pytest.warns(LDPWarning, match=f"b.parquet: {reason}.*left out"):
        query = opened(tmp_path / "*.parquet", on_error="report")
    assert len(query) == 2
    assert [Path(file).name for file, _ in query.left_out] == ["b.parquet"]


@pytest.mark.parametrize(
    "engine", ["duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)]
)
def test_widths_of_columns_may_differ(engine, tmp_path, request):
    if engine == "spark":
        request.getfixturevalue("spark")
    if engine == "polars":
        pytest.importorskip("polars", reason="polars is not installed")
    first = pa.table({"id": pa.array([1, 2], pa.uint8()), "job": ["x", "y"], "x": [1.5, None]})
    second = pa.table(
        {
            "job": pa.array(["x", None]).dictionary_encode(),
            "x": pa.array([1.5, 2.5], pa.float32()),
            "id": pa.array([300, -1], pa.int16()),
        }
    )
    third = pa.table({"id": [2**40], "job": pa.nulls(1), "x": [0.5]})
    for i, made in enumerate((first, second, third)):
        pq.write_table(made, tmp_path / f"{i}.parquet")
    query = opened(tmp_path, engine=engine)
    assert query.cells(["id", "job"]).to_pydict() == {
        "id": [-1, 1, 2, 300, 2**40],
        "job": [None, "x", "y", "x", None],
        "n": [1] * 5,
    }
    assert query.cells(["x"]).to_pydict() == {"x": [0.5, 1.5, 2.5, None], "n": [1, 2, 1, 1]}


def test_polars_names_the_file_that_is_damaged(tmp_path):
    """What checks files one by one is another engine, which must live as long."""
    pytest.importorskip("polars", reason="polars is not installed")
    paths = [write(tmp_path / f"{i}.parquet", start=40 * i) for i in range(3)]
    spoil(paths[1])
    strict = opened(paths, engine="polars")
    lenient = opened(paths, engine="polars", on_error="report")
    with pytest.raises(InvalidArgument, match=r"1\.parquet'.*may be damaged"):
        strict.cells(["id"])
    with pytest.warns(LDPWarning, match=r"1\.parquet: .*left out"):
        lenient.cells(["id"])
    assert [Path(file).name for file, _ in lenient.left_out] == ["1.parquet"]


@pytest.mark.parametrize("harm", [cut, spoil, Path.unlink, lambda path: write(path, 7)])
def test_files_that_are_harmed_later_are_named_or_left_out(harm, tmp_path):
    paths = [write(tmp_path / f"{i}.parquet", start=40 * i) for i in range(3)]
    strict, lenient = opened(paths), opened(paths, on_error="report")
    harm(paths[1])
    for ask in (len, rows_of, lambda q: list(q.batches(["job"])), lambda q: q.cells(["job"])):
        with pytest.raises(InvalidArgument, match=r"1.parquet': changed while it was in use"):
            ask(strict)
    with pytest.warns(LDPWarning, match=r"1.parquet: changed .* left out"):
        assert rows_of(lenient) == [80] * 6
    assert lenient.rows(["id"]).column(0).to_pylist() == [*range(40), *range(80, 120)]


@pytest.mark.parametrize("chosen", [False, True])
def test_a_file_that_changes_while_it_is_counted_is_not_counted(chosen, tmp_path):
    paths = [write(tmp_path / f"{i}.parquet", start=40 * i) for i in range(3)]
    lock, harmed = Lock(), []

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        n = sum(batch.num_rows for batch in batches)
        with lock:  # the first to come here harms the file before any result is used
            harmed or write(paths[1], 7)
            harmed.append(n)
        yield pa.record_batch({"n": pa.array([n], pa.int64())})

    query = opened(paths, on_error="report")
    asked = query.filtered(nw.col("id") >= 0) if chosen else query
    with pytest.warns(LDPWarning, match=r"1.parquet: .* left out"):
        parts = list(asked.partial(["id"], count, pa.schema([("n", pa.int64())])))
    assert sum(part.column(0)[0].as_py() for part in parts) == 80
    assert [file for file, _ in query.left_out] == [str(paths[1])]
    with pytest.raises(InvalidArgument, match=r"2.parquet': changed while it was in use"):
        for _ in query.batches(["id"]):
            write(paths[2], 7)


def test_damage_that_only_reading_finds_is_named_or_left_out(tmp_path):
    paths = [write(tmp_path / f"{i}.parquet", start=40 * i) for i in range(3)]
    spoil(paths[2])

    def strict() -> Any:
        found = opened(paths)
        return found

    count = lambda batches: iter(list(batches)[:0])  # noqa: E731
    for ask in (
        lambda q: q.cells(["job"]),
        lambda q: q.rows(["id"]),
        lambda q: list(q.batches(["id"])),
        lambda q: list(q.partial(["id"], count, SCHEMA)),
        lambda q: list(q.filtered(nw.col("id") > 3).partial(["id"], count, SCHEMA)),
        lambda q: q.joined(q, "id", ("_1", "_2")).cells(["job_1"]),
    ):
        with pytest.raises(InvalidArgument, match=r"path='.*2.parquet': cannot be read"):
            ask(strict())
        with pytest.warns(LDPWarning, match=r"2.parquet: cannot be read .* left out") as warned:
            query = reported(paths)
            ask(query)
        assert len(warned) == 1 and rows_of(query) == [80] * 6


def test_an_error_is_left_where_no_good_file_is(tmp_path):
    path = write(tmp_path / "a.parquet")
    spoil(path)
    query = opened([path], on_error="report")
    with warnings.catch_warnings(), pytest.raises(InvalidArgument, match="no other file is left"):
        warnings.simplefilter("ignore")
        query.cells(["job"])
    with pytest.raises(InvalidArgument, match=r"no such file.*; no other file is left"):
        opened(tmp_path / "none.parquet", on_error="report")


@pytest.mark.parametrize("seed", range(6))
def test_every_good_file_is_counted_exactly_once(seed, tmp_path):
    """Random splits of a table, files named again in several ways, and one that is damaged."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, 200, rng.integers(1, 6)))
    ends = [*map(int, cuts), 200]
    paths, good = [], []
    for i, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        path = write(tmp_path / f"{rng.integers(10)}{i}.parquet", end - start, start)
        paths.append(path)
        good.append(range(start, end))
    bad = int(rng.integers(len(paths)))
    harm = [cut, spoil, None][int(rng.integers(3))]
    if harm is not None and len(good[bad]) > 15:  # fewer rows may leave the pages whole
        harm(paths[bad])
        good[bad] = range(0)
    given: list[Any] = [str(paths[i]) for i in rng.permutation(len(paths))]
    for i in rng.integers(0, len(paths), 3):
        again = tmp_path / "x" / ".." / paths[i].name
        link = tmp_path / f"link{i}"
        (tmp_path / "x").mkdir(exist_ok=True)
        if not link.exists():
            link.symlink_to(paths[i])
        given.insert(int(rng.integers(len(given) + 1)), [paths[i], again][int(rng.integers(2))])
    if rng.random() < 0.5:
        given.append(tmp_path / "*.parquet")
    query = reported(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        found = sorted(query.rows(["id"]).column(0).to_pylist())
    expected = sorted(i for rows in good for i in rows)
    assert found == expected and rows_of(query) == [len(expected)] * 6
    shutil.rmtree(tmp_path)
