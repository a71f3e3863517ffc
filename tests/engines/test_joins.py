"""Two tables side by side, joined where they are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import narwhals as nw
import pyarrow as pa
import pytest
from shared.engines import EVERYWHERE, PLACES, parts

from ldpstats.engines.sources import opened
from ldpstats.errors import InvalidArgument, NotAvailable

FIRST = pa.table({"id": [1, 2, 3, 4, None], "a": ["x", "y", "x", "y", "x"], "b_2": [1, 2, 3, 4, 5]})
SECOND = pa.table({"a": ["p", "q", "p"], "id": [4, 3, 9]})


@pytest.mark.parametrize("place", [place for place in EVERYWHERE if place != "relation"])
def test_rows_of_both_waves_are_matched(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "spark" in place:
        request.getfixturevalue("spark")
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    waves = [PLACES[place](t, f) for t, f in zip((FIRST, SECOND), folders, strict=True)]
    first, second = (opened(**wave) for wave in waves)
    assert first is not None and second is not None
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


def test_relations_are_joined_on_their_connection() -> None:
    """Each of `PLACES` would have a connection of its own."""
    connection = duckdb.connect()
    first, second = (connection.from_arrow(wave) for wave in (FIRST, SECOND))
    both = opened(first).joined(opened(second), "id", ("_1", "_2"))  # type: ignore[union-attr]
    assert len(both) == 2
    elsewhere = duckdb.connect()
    other = opened(elsewhere.from_arrow(SECOND))
    with pytest.raises(NotAvailable, match="different connections"):
        opened(first).joined(other, "id", ("_1", "_2"))  # type: ignore[union-attr]


def test_tables_of_other_engines_are_refused(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    file = opened(parts(FIRST, tmp_path, 1)[0])
    connection = duckdb.connect()
    relation = opened(connection.from_arrow(SECOND))
    lazy = opened(pl.from_arrow(SECOND).lazy())
    for left, right in ((file, lazy), (relation, lazy), (lazy, relation), (relation, file)):
        with pytest.raises(NotAvailable, match="into memory"):
            left.joined(right, "id", ("_1", "_2"))  # type: ignore[union-attr]


def test_names_that_meet_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = opened(parts(FIRST, tmp_path, 1))
    second = opened(parts(SECOND.rename_columns(["b", "id"]), other, 1))
    assert first is not None and second is not None
    with pytest.raises(InvalidArgument, match="would name two columns 'b_2'"):
        first.joined(second, "id", ("", "_2"))
    with pytest.raises(InvalidArgument, match="would name two columns 'a_b'"):  # case is not seen
        first.joined(first, "id", ("_b", "_B"))
    with pytest.raises(InvalidArgument, match="no such column"):
        first.joined(second, "person", ("_1", "_2"))
