"""Queries and joins give the same tables wherever the data are."""

from collections import Counter
from collections.abc import Iterator
from threading import Event
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from shared.engines import EVERYWHERE, PLACES, N, opened, parts, table

from ldpstats.engines import base as watch
from ldpstats.errors import InvalidArgument, NotAvailable

TABLE = table()
SCHEMA = pa.schema({"sum": pa.int64(), "rows": pa.int64()})


@pytest.fixture(params=EVERYWHERE, scope="module")
def query(request, tmp_path_factory):
    if "spark" in request.param:
        request.getfixturevalue("spark")
    found = opened(**PLACES[request.param](TABLE, tmp_path_factory.mktemp("table")))
    return found


def sums(batches: Iterator[Any]) -> Iterator[Any]:
    """The sum of a column and the number of rows."""
    total = rows = 0
    for batch in batches:
        total += sum(batch.column(0).to_pylist())
        rows += len(batch)
    yield pa.record_batch({"sum": [total], "rows": [rows]}, schema=SCHEMA)


def tally(names: list[str], rows: pa.Table = TABLE) -> Counter[Any]:
    """Distinct rows as Python has them: NaN and both zeros are one value each."""
    columns = [rows.column(name).to_pylist() for name in names]
    return Counter(tuple("nan" if v != v else v for v in row) for row in zip(*columns, strict=True))


def cells(found: pa.Table) -> dict[Any, int]:
    *columns, n = (column.to_pylist() for column in found.columns)
    keys = [tuple("nan" if v != v else v for v in row) for row in zip(*columns, strict=True)]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, n, strict=True))


def test_cells_are_those_of_the_rows(query):
    everything = [name for name in TABLE.column_names if name != "id"]
    for names in (["job", "code"], ["x", "n"], ["bits", "day", "level"], ["late"], everything):
        found = query.cells(names)
        assert found.column_names == [*names, "n"]
        assert cells(found) == tally(names)
    assert query.columns == tuple(TABLE.column_names) and len(query) == N


def test_cells_come_in_one_order_and_types(query):
    found = query.cells(["a 'b' c", "job", "x"])
    first = found.column(0).to_pylist()
    assert first == sorted(v for v in first if v is not None) + [None] * first.count(None)
    assert found.schema.types == [pa.int64(), pa.string(), pa.float64(), pa.int64()]
    jobs = found.filter(pc.equal(found.column(0), 1)).column("job").to_pylist()
    assert list(dict.fromkeys(jobs)) == ["", "cook", "nurse", "é", None]
    assert query.cells(["bits", "day", "late"]).schema.types[:3] == [
        pa.binary(),
        pa.timestamp("us"),
        pa.bool_(),
    ]


def test_a_column_may_count_the_respondents(query):
    jobs, n = TABLE.column("job").to_pylist(), TABLE.column("n").to_pylist()
    expected: Counter[Any] = Counter()
    for job, number in zip(jobs, n, strict=True):
        expected[(job,)] += number
    assert cells(query.cells(["job"], count="n")) == expected
    assert query.cells([], count="n").to_pydict() == {"n": [sum(n)]}
    assert query.cells([]).to_pydict() == {"n": [N]}


@pytest.mark.parametrize("count", ["job", "x", "a 'b' c", "day"])
def test_other_columns_count_nobody(query, count):
    with pytest.raises(InvalidArgument, match="must hold whole numbers"):
        query.cells(["code"], count=count)


def test_filters_are_applied_where_the_rows_are(query):
    some = query.filtered(nw.col("code") > 2).filtered(nw.col("job").is_null())
    rows = TABLE.to_pandas()
    rows = TABLE.filter(pa.array((rows["code"] > 2) & rows["job"].isna()))
    assert cells(some.cells(["level", "late"])) == tally(["level", "late"], rows)
    assert len(some) == len(rows) and len(query) == N
    assert sorted(some.rows(["id"]).column(0).to_pylist()) == rows.column("id").to_pylist()
    nobody = query.filtered(nw.col("code") > 9)
    assert len(nobody) == 0 and nobody.cells(["job"]).num_rows == 0 == nobody.rows(["x"]).num_rows


def test_rows_and_batches_are_all_rows(query):
    ids = query.rows(["id", "bits"])
    batches = list(query.batches(["bits", "id"], rows=50))
    assert max(map(len, batches)) <= 50
    streamed = [n for batch in batches for n in batch.column(1).to_pylist()]
    for found in (ids.column("id").to_pylist(), streamed):
        assert found == list(range(N)) if query.ordered else sorted(found) == list(range(N))
    assert ids.schema.types == [pa.int64(), pa.binary()]


def test_partial_results_add_up(query):
    for some, expected in ((query, range(N)), (query.filtered(nw.col("id") >= 9), range(9, N))):
        found = pa.Table.from_batches(some.partial(["id"], sums, SCHEMA))
        assert found.to_pandas().sum().to_dict() == {"sum": sum(expected), "rows": len(expected)}


def test_an_error_of_the_function_is_its_own(query):
    def refuse(batches: Iterator[Any]) -> Iterator[Any]:
        raise InvalidArgument("bits", 3, "padding is set")
        yield from batches

    with pytest.raises(InvalidArgument, match="bits=3: padding"):
        list(query.partial(["bits"], refuse, SCHEMA))


def test_a_stream_that_is_left_leaves_others_alone(query):
    stream = query.batches(["id"], rows=10)
    next(stream)
    stream.close()
    assert len(query) == N
    assert query.filtered(nw.col("id") < 5).rows(["id"]).num_rows == 5


def test_wrong_columns_are_named(query):
    for ask in (query.cells, query.rows, lambda names: list(query.batches(names))):
        with pytest.raises(InvalidArgument, match="column='Job': no such column; the table has"):
            ask(["Job"])  # DuckDB would not mind


@pytest.mark.parametrize("place", ["files", "relation", "polars"])
def test_names_are_no_expressions(place, tmp_path):
    names = ["a", "a+a", "1", "lower(a)", "x, y", "a 'b' c", "select", "ü", "a::text", "--", "?"]
    made = pa.table({name: [i, i + 1] for i, name in enumerate(names)} | {"*": [0, 0]})
    query = opened(**PLACES[place](made, tmp_path))
    for i, name in enumerate(names):
        values = [i, i + 1]
        assert sorted(query.rows([name]).column(0).to_pylist()) == values
        assert query.cells([name], count=name).to_pydict() == {name: values, "n": values}
        assert query.filtered(nw.col(name) == i).rows(["a"]).column(0).to_pylist() == [0]
        (total,) = (
            pa.Table.from_batches(query.partial([name], sums, SCHEMA))
            .group_by([])
            .aggregate([("sum", "sum")])
            .to_pylist()
        )
        assert total == {"sum_sum": 2 * i + 1}
    with pytest.raises(InvalidArgument, match="is a pattern or a field to"):
        query.rows(["*"])


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("polars", "^a$"),
        *(pytest.param("spark", name, marks=pytest.mark.spark) for name in ("a.b", "a`b")),
    ],
)
def test_names_that_an_engine_takes_for_others_are_refused(place, name, tmp_path, request):
    if place == "spark":
        request.getfixturevalue("spark")
    made = pa.table({"a": [{"b": 1}, {"b": 2}], name: [3, 4], "id": [0, 1]})
    query = opened(**PLACES[place](made, tmp_path))
    assert query.rows(["id"]).num_rows == 2
    for ask in (query.rows, query.cells, lambda _: query.joined(query, "id", ("", "_2"))):
        with pytest.raises(InvalidArgument, match="is a pattern or a field to"):
            ask([name])


def test_too_many_cells_are_refused(query):
    with pytest.raises(NotAvailable, match=r"distinct combinations of 'id' take more than 0 MB"):
        query.cells(["id"], most_bytes=100)
    assert query.cells(["late"], most_bytes=100).num_rows == 2


def test_levels_are_those_of_ordered_categories(query):
    files = query.files  # Polars reads categories of Arrow as unordered
    assert query.levels("level") == (("lo", "mid", "hi") if files else None)
    assert query.levels("job") is None


def test_files_say_where_a_value_is_met_first(tmp_path):
    paths = parts(TABLE, tmp_path)
    query = opened(paths)
    assert query.first("id", 201) == f"{paths[1]}, row 2"
    late = query.filtered(nw.col("id") > 400)
    expected = next(i for i in range(401, N) if TABLE.column("job")[i].as_py() is None)
    assert late.first("job", None) == f"{paths[2]}, row {expected - 400 + 1}"
    assert query.first("id", -1) is None
    assert query.first("bits", bytes([2, 255])) == f"{paths[0]}, row 3"


# -- joins -----------------------------------------------------------------------------------------


FIRST = pa.table({"id": [1, 2, 3, 4, None], "a": ["x", "y", "x", "y", "x"], "b_2": [1, 2, 3, 4, 5]})
SECOND = pa.table({"a": ["p", "q", "p"], "id": [4, 3, 9]})


@pytest.mark.parametrize("place", [place for place in EVERYWHERE if place != "relation"])
def test_rows_of_both_waves_are_matched(place, tmp_path, request):
    if "spark" in place:
        request.getfixturevalue("spark")
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    waves = [PLACES[place](t, f) for t, f in zip((FIRST, SECOND), folders, strict=True)]
    first, second = (opened(**wave) for wave in waves)
    both = first.joined(second, "id", ("_1", "_2"))
    assert both.columns == ("id", "a_1", "b_2_1", "a_2") and len(both) == 2
    assert both.cells(["a_1", "a_2"]).to_pydict() == {
        "a_1": ["x", "y"],
        "a_2": ["q", "p"],
        "n": [1, 1],
    }
    some = first.filtered(nw.col("id") < 4).joined(second, "id", ("", "_2"))
    assert some.filtered(nw.col("a_2") == "q").rows(["id"]).column(0).to_pylist() == [3]
    assert first.joined(first, "id", ("_1", "_2")).cells(["id"]).num_rows == 4


def test_relations_are_joined_on_their_connection():
    """Each of `PLACES` would have a connection of its own."""
    connection = duckdb.connect()
    first, second = (connection.from_arrow(wave) for wave in (FIRST, SECOND))
    both = opened(first).joined(opened(second), "id", ("_1", "_2"))
    assert len(both) == 2
    elsewhere = duckdb.connect()
    other = opened(elsewhere.from_arrow(SECOND))
    with pytest.raises(NotAvailable, match="different connections"):
        opened(first).joined(other, "id", ("_1", "_2"))


def test_tables_of_other_engines_are_refused(tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    file = opened(parts(FIRST, tmp_path, 1)[0])
    connection = duckdb.connect()
    relation = opened(connection.from_arrow(SECOND))
    lazy = opened(pl.from_arrow(SECOND).lazy())
    for left, right in ((file, lazy), (relation, lazy), (lazy, relation), (relation, file)):
        with pytest.raises(NotAvailable, match="into memory"):
            left.joined(right, "id", ("_1", "_2"))


def test_names_that_meet_are_refused(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    first = opened(parts(FIRST, tmp_path, 1))
    second = opened(parts(SECOND.rename_columns(["b", "id"]), other, 1))
    with pytest.raises(InvalidArgument, match="would name two columns 'b_2'"):
        first.joined(second, "id", ("", "_2"))
    with pytest.raises(InvalidArgument, match="would name two columns 'a_b'"):  # case is not seen
        first.joined(first, "id", ("_b", "_B"))
    with pytest.raises(InvalidArgument, match="no such column"):
        first.joined(second, "person", ("_1", "_2"))


# -- watch -----------------------------------------------------------------------------------------


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})


def test_shares_of_files_tell_the_fraction_that_is_done(tmp_path):
    query = opened(parts(table(), tmp_path))
    schema, seen = pa.schema({"rows": pa.int64()}), []
    with watch.watched(seen.append):
        found = list(query.partial(["job"], counted, schema))
    assert sum(batch["rows"][0].as_py() for batch in found) == len(query)
    assert len(seen) == 3 and seen == sorted(seen) and seen[-1] == 1
    list(query.partial(["job"], counted, schema))
    assert len(seen) == 3


def test_a_grouped_query_is_the_same_when_it_is_watched(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "SECONDS", 1e-4)
    data = parts(pa.concat_tables([table()] * 10), tmp_path)
    seen: list[float] = []
    with watch.watched(seen.append):
        cells = opened(data).cells(["job", "code"])
    assert cells.equals(opened(data).cells(["job", "code"]))
    assert all(0 < fraction <= 1 for fraction in seen)


class Connection:
    """DuckDB, whose query has come to 30 %."""

    def execute(self, text: str) -> None: ...

    def query_progress(self) -> float:
        return 30.0


def test_reading_is_the_first_half_of_what_duckdb_counts(monkeypatch):
    monkeypatch.setattr(watch, "SECONDS", 1e-4)
    seen, looked = [], Event()

    def advance(fraction: float) -> None:
        seen.append(fraction)
        looked.set()

    with watch.watched(advance), watch.polled(Connection()):
        assert looked.wait(10)
    assert set(seen) == {0.6}
