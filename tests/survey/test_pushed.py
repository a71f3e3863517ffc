"""Conditions on an engine select the rows that they select in memory, or fail in the same words."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.random_conditions import combined

import ldpstats as ldp

SHEET = {"ill": ldp.Warner(epsilon=1.0), "seen": ldp.Observed((2, 1, 3))}
KINDS: dict[str, Any] = {
    "small": pa.int8(),
    "large": pa.int64(),
    "huge": pa.uint64(),
    "short": pa.float32(),
    "real": pa.float64(),
    "price": pa.decimal128(12, 2),
    "day": pa.date32(),
    "time": pa.timestamp("us"),
    "fine": pa.timestamp("ns"),
    "text": pa.string(),
    "also": pa.string(),
    "dated": pa.string(),
    "flag": pa.bool_(),
    "nothing": pa.float64(),
}
NUMBERS = ("small", "large", "huge", "short", "real", "price", "seen")
DATES = ("day", "time", "fine", "dated")
DAYS = ("2024-02-28", "2024-02-29", "2024-03-01")


def table(rng: np.random.Generator, n: int = 60) -> pa.Table:
    """Columns of every kind, a fourth of whose cells are missing."""
    whole = rng.integers(-3, 4, n)
    moments = [dt.datetime(2024, 2, 28) + dt.timedelta(hours=12) * int(i) for i in whole + 3]
    values: dict[str, Any] = {
        "small": whole,
        "large": rng.choice([0, 3, -1, 2**53, 2**53 + 1, -(2**63)], n),
        "huge": rng.choice(np.array([0, 3, 2**53 + 1, 2**64 - 1], dtype=np.uint64), n),
        "short": rng.choice(np.float32([0.1, 0.5, -2, np.nan, np.inf, -0.0]), n),
        "real": rng.choice([0.1, 0.5, 3, np.nan, -np.inf, -0.0], n),
        "price": pa.array([f"{v}.50" for v in whole]).cast(pa.decimal128(12, 2)).to_pylist(),
        "day": [moment.date() for moment in moments],
        "time": moments,
        "fine": np.array(moments, dtype="datetime64[ns]") + np.timedelta64(1, "ns"),
        "text": rng.choice(["n", " n", "s", "it's", "", " "], n),
        "also": rng.choice(["n", "s ", "it's"], n),
        "dated": rng.choice([*DAYS, "2024-02-29 12:00"], n),
        "flag": rng.random(n) < 0.5,
        "nothing": np.full(n, np.nan),
    }
    gaps = rng.random((n, len(values))) < 0.25
    made = {}
    for i, (name, cells) in enumerate(values.items()):
        cells = cells if isinstance(cells, list) else cells.tolist()
        if name == "fine":
            made[name] = pa.array(values[name], KINDS[name], mask=gaps[:, i])
            continue
        kept = [None if gap else cell for cell, gap in zip(cells, gaps[:, i], strict=True)]
        made[name] = pa.array(kept, KINDS[name])
    made["ill"] = pa.array(rng.choice(["no", "yes"], n))
    made["seen"] = pa.array(rng.choice(["1", "2", "3.0", None], n))
    made["id"] = pa.array(np.arange(n))
    return pa.table(made)


def random_test(rng: np.random.Generator) -> str:
    sign = str(rng.choice(["==", "!=", "<", "<=", ">", ">="]))
    number, date = str(rng.choice(NUMBERS)), str(rng.choice(DATES))
    value = str(
        rng.choice(["0", "-1", "3", ".5", "0.1", "-300", str(2**53 + 1), "1e30", str(2**70)])
    )
    day = str(rng.choice([*DAYS, "2024-02-29 12:00", "2024-02-29 00:00:01"]))
    text = str(rng.choice(['"n"', "'s'", '"it\'s"']))
    return str(
        rng.choice(
            [
                f"{number} {sign} {value}",
                f"{number} in [{value}, 2, -1.5]",
                f"{number} {sign} {rng.choice(NUMBERS)}",
                f"{date} {sign} '{day}'",
                f"'{DAYS[0]}' < {date} {sign} '{day}'",
                f"{date} not in ['{day}', '{DAYS[1]}']",
                f"{date} {sign} {rng.choice(DATES)}",
                f"text {rng.choice(['==', '!='])} {text}",
                f"text {rng.choice(['in', 'not in'])} [{text}, 'n']",
                f"text {rng.choice(['==', '!='])} also",
                "flag",
                "flag == false",
                f"nothing {sign} {rng.choice([value, text])}",
                f"{rng.choice(list(KINDS))} is missing",
            ]
        )
    )


def outcome(survey: ldp.Survey, condition: str) -> Any:
    """Who is selected, or what is said instead."""
    try:
        return sorted(survey.where(condition).reports("ill", id="id").ids.tolist())
    except ldp.InvalidArgument as error:
        return str(error)


def relation(made: pa.Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("made", made)
    return connection.execute("CREATE TABLE t AS SELECT * FROM made").table("t")


def polars(made: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return pl.from_arrow(made).lazy()


def eager(made: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return pl.from_arrow(made)


def pandas(made: pa.Table, folder: Path) -> Any:
    return made.to_pandas(types_mapper=pd.ArrowDtype)


def csv(made: pa.Table, folder: Path) -> Any:
    made.to_pandas().to_csv(folder / "made.csv", index=False)
    return folder / "made.csv"


# numbers of which CSV has other digits than a column of their type
IN_CSV = re.compile(r"\b(short|large|huge|fine)\b")


def compared(place: Any, folder: Path, seed: int, times: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    while len(found) < times:
        made = table(rng)
        here, there = ldp.Survey(made, SHEET), ldp.Survey(place(made, folder), SHEET)
        for _ in range(20):
            condition = combined(rng, int(rng.integers(0, 3)), random_test)
            if place is csv and IN_CSV.search(condition):
                continue
            expected = outcome(here, condition)
            assert outcome(there, condition) == expected, condition
            found.append(expected)
    return found


@pytest.mark.parametrize("place", [relation, eager, pandas, csv])
def test_random_conditions_select_the_same_rows(place: Any, tmp_path: Path) -> None:
    found = compared(place, tmp_path, 21, 20)
    assert len({str(one) for one in found}) > 12 and any(isinstance(one, str) for one in found)


@pytest.mark.parametrize("place", [relation, polars, eager, pandas])
def test_dates_beyond_those_of_a_type_are_before_or_after_all(place: Any, tmp_path: Path) -> None:
    made = table(np.random.default_rng(23))
    survey = ldp.Survey(place(made, tmp_path), SHEET)
    for name in ("day", "time", "fine"):
        known = made.num_rows - made.column(name).null_count
        for test in ("< '9999-12-31'", ">= '1500-01-01'", "> '0000-01-01'", "!= '1500-01-01'"):
            assert len(survey.where(f"{name} {test}")) == known


@pytest.mark.slow
@pytest.mark.parametrize("place", [relation, polars, eager, pandas, csv])
def test_many_random_conditions_select_the_same_rows(place: Any, tmp_path: Path) -> None:
    compared(place, tmp_path, 22, 100)


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        "relation",
        "polars",
        pytest.param("spark", marks=pytest.mark.spark),
    ],
)
def test_bounds_in_files_say_nothing_of_nan(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The least and greatest value that a Parquet file names leave NaN out."""
    if engine == "spark":
        request.getfixturevalue("spark")
    rest = [2.0] * 3000
    table = pa.table({"ill": ["no"] * (len(rest) + 1), "x": [*rest, np.nan]})
    data: Any = tmp_path / "x.parquet"
    pq.write_table(table, data)
    if engine == "relation":
        data, engine = duckdb.connect().from_parquet(str(data)), ""
    survey = ldp.Survey(data, {"ill": ldp.Warner(epsilon=1.0)}, engine=engine or None)
    for condition, n in (
        ("x is missing", 1),
        ("x is not missing", len(rest)),
        ("x != 5", len(rest)),
        ("x == 2", len(rest)),
        ("not x > 2", len(rest)),
        ("x <= 3", len(rest)),
    ):
        assert len(survey.where(condition)) == n
    with pytest.raises(ldp.InvalidArgument, match="holds nan"):
        ldp.count(data, ldp.Warner(epsilon=1.0), "ill", count="x", engine=engine or None)
