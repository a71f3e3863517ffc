"""Long columns of text read at once are read as row by row, and what is wrong is named as there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.report_tables import some_reports

import ldpstats as ldp
from ldpstats.reports import formats, texts

MECHANISMS = {
    "rappor": ldp.RAPPOR(11, 2, 12, f=0.0, p=0.25, q=0.75),
    "unary": ldp.KRAPPOR(9, epsilon=1.0),
    "orr": ldp.ORR(300, 12, epsilon=1.0),
    "urap": ldp.URAP(7, (0, 3), epsilon=1.0),
}
COLUMNS: dict[str, Any] = {
    "object": lambda cells: pd.Series(cells, dtype=object),
    "str": lambda cells: pd.Series(cells, dtype="str"),
    "arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.string())),
    "large": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.large_string()))[1:],
    "numpy": np.array,
}


def written(name: str, n: int = 3000) -> tuple[ldp.Reports, list[str]]:
    mechanism = MECHANISMS[name]
    reports = some_reports(mechanism, n)
    return reports, mechanism.report_labels(reports).tolist()


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_long_column_is_read_as_a_short_one(name: str, kind: str) -> None:
    reports, cells = written(name)
    column = COLUMNS[kind](cells)
    found, skipped = MECHANISMS[name].parse("answer", column), len(cells) - len(column)
    assert np.array_equal(found.y, reports.y[skipped:])
    assert reports.cohort is None or np.array_equal(found.cohort, reports.cohort[skipped:])


@pytest.mark.parametrize("kind", ["object", "str", "arrow"])
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *[("rappor", cell) for cell in ("3:0101", "0101", ":01010101010", "x:01010101010", "")],
        *[("rappor", cell) for cell in ("٣:01010101010", "3:0101010101é", "12:01010101010")],
        *[
            ("rappor", cell)
            for cell in ("99999999999:01010101010", "3:01010101012", "3 :" + "0" * 11)
        ],
        *[("unary", cell) for cell in ("0101", "010101012", "0:0101010", "01010101é", " 10101010")],
        *[("orr", cell) for cell in ("17", "3:300", "3:x", "3:1:2", "3:\n1", "-3:1", "12:1")],
        ("urap", "0110000"),
    ],
)
def test_what_is_wrong_is_named_as_in_a_short_column(name: str, cell: str, kind: str) -> None:
    _, cells = written(name)
    cells[2000] = cell
    messages = []
    for some in (cells, cells[2000 - 5 : 2001]):
        with pytest.raises(ldp.InvalidArgument) as error:
            MECHANISMS[name].parse("answer", COLUMNS[kind](some))
        messages.append(str(error.value).replace("[2000]", "[5]").replace("row 2001", "row 6"))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("cells", [[1] * 2000, ["0" * 9] * 2000 + [None], ["\ud800"] * 2000])
def test_other_columns_are_left_to_others(cells: list[Any]) -> None:
    assert texts.bits_of_text(pd.Series(cells, dtype=object), 9) is None


def test_text_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    reports, cells = written("unary")
    monkeypatch.setattr(texts, "_ROWS", 700)
    assert np.array_equal(formats.parse_bits("answer", cells, 9), reports.y)
