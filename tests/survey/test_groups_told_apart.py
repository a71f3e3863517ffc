"""Groups of moments, whole numbers and decimals that are close to each other lose nobody."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp


def _lazy(table: pa.Table) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").from_arrow(table).lazy()


PLACES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "relation": lambda table: duckdb.connect().from_arrow(table),
    "lazy": _lazy,
}
LARGE = Decimal(10**20)
NOON = dt.datetime(2024, 1, 1, 12)
COLUMNS = {
    "parts of a second": (
        pa.array([NOON, NOON + dt.timedelta(microseconds=100)] * 30),
        ["2024-01-01 12:00:00.000000", "2024-01-01 12:00:00.000100"],
    ),
    "parts of a microsecond": (pa.array([1, 2] * 30, pa.timestamp("ns")), ["1970-01-01"]),
    "large decimals": (
        pa.array([LARGE, LARGE + 1] * 30, pa.decimal128(25, 0)),
        [10**20, 10**20 + 1],
    ),
    "decimals": (
        pa.array([Decimal(2**53), Decimal(2**53 + 1)] * 30, pa.decimal128(20, 2)),
        [2**53, 2**53 + 1],
    ),
    "unsigned": (pa.array([2**64 - 2, 2**64 - 1] * 30, pa.uint64()), [2**64 - 2, 2**64 - 1]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_respondent_is_in_a_group(name: str, place: str) -> None:
    column, labels = COLUMNS[name]
    table = pa.table({"ill": ["no", "yes", "yes"] * 20, "x": column})
    survey = ldp.Survey(PLACES[place](table), {"ill": ldp.Warner(epsilon=1.0)})
    found = survey.frequencies("ill", by="x")
    assert found.nobs == 60
    assert [label for (label,) in found.labels] == labels


@pytest.mark.parametrize("place", PLACES)
def test_large_decimals_are_compared_exactly(place: str) -> None:
    table = pa.table({"ill": ["no", "yes", "yes"] * 20, "x": COLUMNS["large decimals"][0]})
    survey = ldp.Survey(PLACES[place](table), {"ill": ldp.Warner(epsilon=1.0)})
    for condition, n in ((f"x == {10**20}", 30), (f"x > {10**20}", 30), (f"x < {10**38}", 60)):
        assert len(survey.where(condition)) == n


def test_ordered_categories_keep_their_order() -> None:
    moments = pd.to_datetime([5_000, 3_001, 3_002, 9_000], unit="ns")
    kind = pd.CategoricalDtype(moments, ordered=True)
    table = pd.DataFrame({"x": pd.Series(moments[[2, 1, 0, 3]], dtype=kind), "ill": "no"})
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    found = survey.association("ill", "x").table
    assert [str(label)[-2:] for label in found.columns] == ["05", "03", "09"]
    assert survey.reports("x").y.tolist() == [1, 1, 0, 2]
