"""How far a query has come is told to whoever watches, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from shared.engines import parts, table

from ldpstats.engines import watch
from ldpstats.engines.sources import opened


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})


def test_shares_of_files_tell_the_fraction_that_is_done(tmp_path: Path) -> None:
    query = opened(parts(table(), tmp_path))
    schema, seen = pa.schema({"rows": pa.int64()}), []
    with watch.watched(seen.append):
        found = list(query.partial(["job"], counted, schema))
    assert sum(batch["rows"][0].as_py() for batch in found) == len(query)
    assert len(seen) == 3 and seen == sorted(seen) and seen[-1] == 1
    list(query.partial(["job"], counted, schema))
    assert len(seen) == 3


def test_a_grouped_query_is_the_same_when_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_reading_is_the_first_half_of_what_duckdb_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SECONDS", 1e-4)
    seen, looked = [], Event()

    def advance(fraction: float) -> None:
        seen.append(fraction)
        looked.set()

    with watch.watched(advance), watch.polled(Connection()):
        assert looked.wait(10)
    assert set(seen) == {0.6}
