"""Sheets of every mechanism: what a device sends is taken, written, and read by `Survey`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from grid import MECHANISMS, WORDS
from shared.collecting import message

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.collector.files import BatchWriter
from ldpstats.collector.intake import Checks

N = 40
STRINGS = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c", "d"), {"a"}, epsilon=1.0), tags=("home", "work"))
OTHERS = {"strings": STRINGS, "pum": PUM}

_PARTS = ("start_1", "gram_1", "start_2", "gram_2", "string")


def as_sent(
    reports: pd.DataFrame, sheet: ldp.Questionnaire, strings: str = "q"
) -> list[dict[str, Any]]:
    """The rows of a table as devices send them."""
    rows = []
    for row in reports.astype(object).where(reports.notna(), None).to_dict("records"):
        texts = {name: None if cell is None else str(cell) for name, cell in row.items()}
        if f"{strings}_string" in texts:
            parts = {part: texts.pop(f"{strings}_{part}") for part in _PARTS}
            starts = [row[f"{strings}_start_{i}"] for i in (1, 2)]
            grams = [parts["gram_1"], parts["gram_2"]]
            found = {"positions": starts, "grams": grams, "string": parts["string"]}
            texts[strings] = None if parts["string"] is None else found
        rows.append(texts)
    return rows


def answered(made_by: Any, rng: np.random.Generator) -> pd.DataFrame:
    if made_by is STRINGS:
        answers: Any = ["abc", "cab", "bb"]
    elif isinstance(made_by, ldp.mechanisms.Mechanism) and made_by.is_open:
        answers = WORDS
    else:
        answers = made_by.categories if made_by is PUM else made_by.labels()
    given = pd.Series(answers).astype(object).take(rng.integers(0, len(answers), N))
    given.iloc[3] = None
    return pd.DataFrame({"q": given.to_numpy()})


@pytest.mark.parametrize("name", [*MECHANISMS, *OTHERS])
def test_a_sheet_of_every_mechanism(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    made_by = (MECHANISMS | OTHERS)[name]
    sheet = ldp.Questionnaire({"q": made_by})
    document = sheet.client_document()
    checks, writer = Checks.of(document), BatchWriter(sheet, document)
    reports = sheet.privatize(answered(made_by, rng), rng)
    rows = as_sent(reports, sheet)
    kept = [checks.read(json.dumps(message(sheet, row)).encode())[1] for row in rows]
    assert all(2 * len(json.dumps(message(sheet, row))) <= checks.largest for row in rows)
    writer.write(kept, tmp_path / "sheets.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "sheets.parquet")
    read = ldp.Survey(table, sheet)
    assert len(read) == N
    if made_by is STRINGS:
        starts = ["q_start_1", "q_start_2"]
        found, given = table.select(starts).to_pandas(), reports[starts]
        assert Counter(found.dropna().itertuples(index=False, name=None)) == Counter(
            given.dropna().itertuples(index=False, name=None)
        )
        assert {column.null_count for column in table.columns} == {1}
        return
    direct = ldp.Survey(reports, sheet)
    assert texts_of(read) == texts_of(direct) and sum(texts_of(read).values()) == N - 1


def texts_of(survey: ldp.Survey) -> Counter[Any]:
    found = survey.reports("q")
    return Counter(found.mechanism.report_labels(found))


def test_files_have_the_columns_that_privatize_writes(tmp_path: Path) -> None:
    """The same names, types and notes, for questions of every kind."""
    questions = {
        "number": ldp.KRR(5, 1.0),
        "text": ldp.KRR(("a", "b"), 1.0),
        "half": ldp.URR((0.5, 2.5), (0.5,), 1.0),
        "truth": ldp.KRR((True, False), 1.0),
        "bits": ldp.KRAPPOR(9, 1.0),
        "host": ldp.ORAPPOR(6, 2, 3, epsilon=3.0),
        "strings": STRINGS,
        "sex": ldp.Observed(("f", "m")),
    }
    sheet = ldp.Questionnaire(questions)
    people = pd.DataFrame({"number": [1, 2], "text": ["a", "b"], "half": [0.5, 2.5],
                           "truth": [True, False], "bits": [3, 4], "host": ["x", "y"],
                           "strings": ["ab", "abc"], "sex": ["f", "m"]})  # fmt: skip
    people.to_parquet(tmp_path / "answers.parquet")
    sheet.to_json(tmp_path / "sheet.json")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("answers", "a")]
    assert main(["privatize", *paths, "--questionnaire", str(tmp_path / "sheet.json")]) == 0
    document = sheet.client_document()
    rows = as_sent(pd.DataFrame(sheet.collector().privatize(people)), sheet, "strings")
    kept = [Checks.of(document).read(json.dumps(message(sheet, row)).encode())[1] for row in rows]
    BatchWriter(sheet, document).write(kept, tmp_path / "b.parquet")
    one, other = (pyarrow.parquet.read_schema(tmp_path / f"{name}.parquet") for name in "ab")
    assert one.names == other.names and one.field("sex").metadata == other.field("sex").metadata
    for name in [name for name in one.names if name != "sex"]:  # whose type is that of the answers
        assert one.field(name).type == other.field(name).type, name
        assert one.field(name).metadata == other.field(name).metadata, name
