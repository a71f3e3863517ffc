"""Codes that mean missing: of all columns or of some, in files and in memory."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ldpstats as ldp
from ldpstats import InvalidArgument

SHEET = {"ill": ldp.Warner(epsilon=1.0)}
FRAME = pd.DataFrame(
    {
        "ill": ["no", "yes", "9", "no"],
        "region": [9, 1, 2, 9],
        "income": [9.0, 1.5, -9.0, 3.0],
        "code": ["09", " 9 ", "9.0", "x"],
    }
)
TABLES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: FRAME,
    "pandas of Arrow": lambda _: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda _: pl.from_pandas(FRAME),
    "Arrow": lambda _: pa.Table.from_pandas(FRAME),
    "CSV": lambda folder: _written(folder / "table.csv"),
}


def _written(path: Path) -> Path:
    FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", TABLES)
def test_a_mapping_is_for_its_columns_and_a_list_for_all(kind: str, tmp_path: Path) -> None:
    table = TABLES[kind](tmp_path)
    some = ldp.Survey(table, SHEET, na={"ill": ["9"], "income": [-9]})
    assert some.reports("ill").n_missing == 1
    assert len(some.where("region == 9")) == 2
    assert len(some.where("income is missing")) == 1
    every = ldp.Survey(table, SHEET, na=[9])
    assert every.reports("ill").n_missing == 1
    assert len(every.where("region is missing")) == 2
    assert len(every.where("region == 1 or region == 2")) == 2  # the others are numbers still
    assert len(every.where("income is missing")) == 1
    assert len(every.where("code is missing")) == 2  # "09" is text
    assert ldp.count(table, SHEET["ill"], "ill", na=[9]).n_missing == 1
    assert ldp.count(table, SHEET["ill"], "ill", na={"region": [9], "ill": [9]}).n_missing == 1


@pytest.mark.parametrize("code", [9, 9.0, "9", "9.0", " 9", np.int8(9), np.float64(9), Decimal(9)])
def test_codes_are_compared_as_people_write_them(code: Any) -> None:
    cells = [9, 9.0, "9", " 9.0 ", np.int64(9), Decimal(9), True, "09", "nine", 10, None]
    frame = pd.DataFrame({"ill": ["no"] * len(cells), "mixed": pd.Series(cells, dtype=object)})
    frame["mixed"] = [str(cell) if isinstance(cell, bool) else cell for cell in cells]
    table = ldp.Survey(frame, SHEET, na={"mixed": [code]}).data.table
    assert table.column("mixed").isna().tolist() == [True] * 6 + [False] * 4 + [True]
    assert frame["mixed"].notna().sum() == 10  # the caller's frame is as it was


@pytest.mark.parametrize("kind", ["pandas", "CSV"])
@pytest.mark.parametrize(
    ("na", "words"),
    [
        ({"regoin": ["9"]}, "na='regoin': no such column.*did you mean 'region'"),
        ({"region": "9"}, r"na='9': must be a list in a mapping.*\['9'\]"),
        ({"region": 9}, "na=9: must be a list in a mapping"),
        ({1: ["9"]}, "na=1: must be text, the name of a column"),
        ("9", r"na='9': must be a list, for example \['9'\], or a mapping"),
        ([None], "na=None: must be text or a finite number"),
        ([True], "na=True: must be text or a finite number"),
        ([float("nan")], "na=nan: must be text or a finite number"),
        (["no"], r"na='no': is a label of 'ill'.*na=\{'COLUMN': \['no'\]\}"),
        ({"ill": ["no"]}, "na='no': is a label of 'ill'.*answer$"),
    ],
)
def test_what_cannot_mean_missing_is_refused(
    kind: str, na: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        ldp.Survey(TABLES[kind](tmp_path), SHEET, na=na)


@pytest.mark.parametrize("kind", ["pandas", "CSV"])
def test_weights_that_a_list_makes_missing_are_refused_by_its_name(
    kind: str, tmp_path: Path
) -> None:
    table = TABLES[kind](tmp_path)
    with pytest.raises(InvalidArgument, match=r"weights 'region', row 1=None: .*na=\['9'\]"):
        ldp.Survey(table, SHEET, weights="region", na=["9"])
    survey = ldp.Survey(table, SHEET, weights="region", na={"ill": ["9"]})
    assert survey.frequencies("ill").nobs == 3
