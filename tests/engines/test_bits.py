"""Partial sums of bits from batches of rows, against the sums of all reports at once."""

import pickle
from collections.abc import Iterator
from typing import Any

import duckdb
import grid
import narwhals
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import opened
from shared.report_tables import as_stored, as_text, some_reports

import ldpstats as ldp
from ldpstats import kernels
from ldpstats.engines.bits import BitSums, add_up

BITS = [name for name, made_by in grid.MECHANISMS.items() if made_by.n_bits]
RAPPOR, WIDE = grid.MECHANISMS["rappor"], ldp.RAPPOR(17, 1, 2, f=0.0, p=0.25, q=0.75)


def shares(frame: pa.Table, sizes: list[int]) -> Iterator[list[Any]]:
    """The rows in shares of such sizes, in batches of at most 700, each a slice of the memory."""
    start = 0
    for size in sizes:
        yield frame.slice(start, size).to_batches(max_chunksize=700)
        start += size


def added(what: BitSums, frame: pa.Table) -> dict[int, ldp.BitCounts]:
    again = pickle.loads(pickle.dumps(what))
    sizes = [0, 1, 999, len(frame) - 1000]
    return add_up([batch for part in shares(frame, sizes) for batch in again(part)], what)


@pytest.mark.parametrize("name", BITS)
def test_sums_are_those_of_all_reports(name, text=False):
    mechanism = grid.MECHANISMS[name]
    absent = np.random.default_rng(3).random(2500) < 0.1
    reports = some_reports(mechanism, int((~absent).sum()))
    cohort = "answer_cohort" if mechanism.n_cohorts and not text else None
    (found,) = added(
        BitSums(mechanism, "answer", cohort), (as_text if text else as_stored)(reports, absent)
    ).values()
    expected = reports.tally(bits=True)
    assert np.array_equal(found.ones, expected.ones)
    assert np.array_equal(found.reports, expected.reports)
    assert found.n_missing == absent.sum()


@pytest.mark.parametrize("name", ["krappor", "lumped-byte", "rappor", "urap"])
def test_sums_of_text_are_the_same(name):
    test_sums_are_those_of_all_reports(name, True)


@pytest.fixture
def compiled(monkeypatch):
    """Loops are compiled from the first report."""
    monkeypatch.setattr(kernels, "LOADING", 0.0)


@pytest.mark.usefixtures("compiled")
def test_compiled_sums_are_the_same():
    for name in ("lumped-byte", "rappor"):
        test_sums_are_those_of_all_reports(name)
    test_groups_have_their_own_sums()


def test_groups_have_their_own_sums():
    rng = np.random.default_rng(4)
    absent = rng.random(3000) < 0.1
    reports = some_reports(RAPPOR, int((~absent).sum()))
    region, year = rng.choice(["n", "s", None], 3000), rng.integers(2020, 2023, 3000)
    frame = as_stored(reports, absent)
    frame = frame.append_column("region", pa.array(region).dictionary_encode())
    frame = frame.append_column("year", pa.array(year, pa.int16()))
    domains = pa.array(["s", "n"]), pa.array([2022, 2020, 2021])
    what = BitSums(RAPPOR, "answer", "answer_cohort", ("region", "year"), domains)
    found = added(what, frame)
    assert sorted(found) == [-1, *range(6)]
    group = np.array(
        [
            -1 if r is None else 3 * (r == "n") + [2022, 2020, 2021].index(y)
            for r, y in zip(region, year, strict=True)
        ]
    )
    for g, counts in found.items():
        expected = reports[group[~absent] == g].tally(bits=True)
        assert np.array_equal(counts.ones, expected.ones)
        assert np.array_equal(counts.reports, expected.reports)
        assert counts.n_missing == (absent & (group == g)).sum()
    whole = BitSums(RAPPOR, "answer", "answer_cohort", ("region",), (pa.array(["s", "n", None]),))
    assert sorted(added(whole, frame)) == [0, 1, 2]


@pytest.mark.parametrize("name", ["rappor", "krappor", "urap"])
def test_rows_may_stand_for_several_reports(name):
    mechanism = grid.MECHANISMS[name]
    rng = np.random.default_rng(5)
    absent, n = rng.random(2000) < 0.1, rng.integers(0, 4, 2000)
    reports = some_reports(mechanism, int((~absent).sum()))
    frame = as_stored(reports, absent).append_column("n", pa.array(n, pa.int32()))
    cohort = "answer_cohort" if mechanism.n_cohorts else None
    (found,) = added(BitSums(mechanism, "answer", cohort, count="n"), frame).values()
    expected = reports[np.repeat(np.arange(len(reports)), n[~absent])].tally(bits=True)
    assert np.array_equal(found.ones, expected.ones)
    assert np.array_equal(found.reports, expected.reports)
    assert found.n_missing == n[absent].sum()


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)])
def test_bytes_of_any_type(kind):
    absent = np.arange(1500) % 7 == 2
    rng = np.random.default_rng(6)
    y = np.packbits(rng.random((int((~absent).sum()), 17)) < 0.3, axis=1, bitorder="little")
    reports = ldp.Reports(y, WIDE, cohort=rng.integers(0, 2, len(y)))
    frame = as_stored(reports, absent)
    try:
        answers = frame["answer"].cast(pa.binary()).cast(kind)
    except pa.ArrowNotImplementedError:
        pytest.skip(f"Arrow {pa.__version__} does not cast to {kind}")
    frame = frame.set_column(0, "answer", answers)
    (found,) = added(BitSums(WIDE, "answer", "answer_cohort"), frame).values()
    assert np.array_equal(found.ones, reports.tally(bits=True).ones)


def test_where_the_data_are(tmp_path):
    """Over files in threads, with a filter, and from DuckDB: the sums of all reports."""
    absent = np.random.default_rng(8).random(4000) < 0.1
    reports = some_reports(RAPPOR, int((~absent).sum()))
    frame = as_stored(reports, absent).append_column("k", pa.array(range(4000)))
    pq.write_table(frame.slice(0, 1500), tmp_path / "a.parquet", row_group_size=400)
    pq.write_table(frame.slice(1500), tmp_path / "b.parquet", row_group_size=900)
    what = BitSums(RAPPOR, "answer", "answer_cohort")
    connection = duckdb.connect()  # some versions close it with its last name
    relation = connection.sql(f"FROM read_parquet('{tmp_path}/*.parquet')")
    for source in (f"{tmp_path}/*.parquet", relation):
        query = opened(source)
        for first in (0, 2500):
            some = query.filtered(narwhals.col("k") >= first) if first else query
            (found,) = add_up(some.partial(what.names, what, what.schema), what).values()
            there = np.flatnonzero(~absent) >= first
            expected = reports[there].tally(bits=True)
            assert np.array_equal(found.ones, expected.ones)
            assert found.n_missing == absent[first:].sum()


def refused(words: str, frame: pa.Table, **how: Any) -> None:
    with pytest.raises(ldp.LDPError, match=words):
        what = BitSums(RAPPOR, **{"column": "answer", "cohort": "answer_cohort"} | how)
        list(what(frame.to_batches()))


def test_files_of_bytes_open_no_database(tmp_path, monkeypatch):
    reports = some_reports(RAPPOR, 500)
    ldp.io.write_reports(reports, tmp_path / "reports.parquet")
    monkeypatch.setattr(duckdb, "connect", None)
    found = ldp.count(tmp_path / "reports.parquet", RAPPOR, "report", bits=True)
    assert np.array_equal(found.ones, reports.tally(bits=True).ones)


def test_refusals_name_no_row_of_a_batch():
    reports = some_reports(RAPPOR, 40)
    frame = as_stored(reports, np.zeros(40, dtype=bool)).append_column("g", pa.array(["a"] * 40))
    bad = pa.array([b"\0"] * 39 + [b"\xff"], pa.binary(1))
    refused(
        r"^job=b'\\xff': has bits beyond the 6", frame.set_column(0, "answer", bad), where="job"
    )
    wide = pa.array([b"\0\0"] * 40, pa.binary(2))
    refused(
        r"^job=b'\\x00\\x00': must be 1 bytes", frame.set_column(0, "answer", wide), where="job"
    )
    high = frame.set_column(1, "answer_cohort", pa.array([0] * 39 + [3]))
    refused("^job, cohort=3: is not a cohort", high, where="job")
    refused("^reports=.*have no cohort before them", frame, cohort=None)
    refused("^column 'g'='a': was not there before", frame, by=("g",), domains=(pa.array(["b"]),))
    refused("^column 'g'='a': must be a whole number", frame, count="g")
    many = (pa.array(np.arange(3 * 10**6)),)
    refused("take more than .* bytes of memory: use fewer groups", frame, by=("g",), domains=many)
    with pytest.raises(ldp.NotAvailable, match="does not report bits"):
        BitSums(ldp.Warner(epsilon=1.0), "answer")
