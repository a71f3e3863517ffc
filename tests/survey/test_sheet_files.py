"""Files of answers made into files of answer sheets."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from shared.sheets import STRINGS, cells, every_kind, people

import ldpstats as ldp
from ldpstats import io
from ldpstats.survey.analyses import privatize_sheets

HONEST = ldp.Questionnaire(  # tells the truth but for one answer in e^40 / k
    {
        "job": ldp.KRR(("cook", "nurse", "none"), 40.0),
        "region": ldp.Observed(("n", "s")),
        "n": ldp.KRR(5, 40.0),
    },
    refused={"job": "none"},
)
SECRET = "hepatitis-4711"


def written(frame: pd.DataFrame, path: Path) -> Path:
    """A file of a frame; in CSV, text of all values."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def read(path: Path) -> dict[str, list[Any]]:
    """The cells of a file as text, None where empty."""
    if path.suffix == ".parquet":
        found = cells(pyarrow.parquet.read_table(path))
    else:
        found = cells(pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None))
    return {c: [None if v is None else str(v) for v in column] for c, column in found.items()}


@pytest.mark.parametrize(
    ("source", "target"), [(".csv", ".parquet"), (".csv.gz", ".csv"), (".parquet", ".csv.gz")]
)
def test_rows_and_types(source: str, target: str, tmp_path: Path) -> None:
    rng, n = np.random.default_rng(1), 400
    job = np.array(["cook", " nurse"], dtype=object)[rng.integers(0, 2, n)]
    job[::7] = None
    numbers = pd.Series(rng.integers(0, 5, n)).astype("Int64").mask(rng.random(n) < 0.1)
    region = np.array(["n", "s"], dtype=object)[rng.integers(0, 2, n)]
    region[::9] = None
    frame = pd.DataFrame({"id": np.arange(n), "region": region, "n": numbers, "job": job, "x": 1})
    out = tmp_path / f"s{target}"
    totals = privatize_sheets(
        written(frame, tmp_path / f"a{source}"),
        out,
        HONEST.collector(),
        keep=["id"],
        chunk_rows=90,
    )
    assert totals == {"job": n, "n": int(numbers.notna().sum())}
    found = read(out)
    digits = ["questionnaire_fingerprint"] if target != ".parquet" else []
    assert list(found) == ["job", "region", "n", *digits, "id"]  # x is not named
    assert found["job"] == ["none" if v is None else str(v).strip() for v in job]
    assert found["n"] == [None if pd.isna(v) else str(v) for v in numbers]
    assert found["region"] == list(region) and found["id"] == [str(i) for i in range(n)]
    if target == ".parquet":
        schema = pyarrow.parquet.read_schema(out)
        assert schema.field("n").type == "int64"
    else:
        assert set(found["questionnaire_fingerprint"]) == {HONEST.fingerprint}


@pytest.mark.parametrize("target", [".csv", ".parquet"])
def test_every_kind_of_question(target: str, tmp_path: Path) -> None:
    """Every column is read by what the package has for it, with its fingerprint in Parquet."""
    sheet, frame = every_kind(ask=4), people(300, missing=0.1)
    out = tmp_path / f"s{target}"
    source = written(frame, tmp_path / "a.csv")
    totals = privatize_sheets(source, out, sheet.collector(), chunk_rows=128)
    assert sum(totals.values()) == pytest.approx(4 * 300 * 0.91, rel=0.05)
    assert "home" not in read(out) and "id" not in read(out)
    for name in sheet.private:
        if name == "url":
            columns = list(sheet.columns(name))
            reports = io.read_dictionary_reports(out, STRINGS, columns=columns, missing="count")
            found: Any = len(reports), reports.n_missing
        else:
            made_by = sheet[name].common if name == "place" else sheet[name]
            counts = io.read_counts(out, made_by, name, missing="count")
            found = counts.nobs, counts.n_missing
        assert found == (totals[name], 300 - totals[name]), name
    if target == ".parquet":
        schema = pyarrow.parquet.read_schema(out)
        digits = sheet.fingerprint.encode()
        assert {f.metadata[b"ldpstats.questionnaire"] for f in schema} == {digits}
        with pytest.raises(ldp.MechanismMismatch):
            io.read_counts(out, ldp.KRR(("cook", "nurse", "refused"), 1.1), "job", missing="count")


HEAD = "job,region,n,id"
BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown": (f"{HEAD}\ncook,n,1,1\n{SECRET},n,1,2\n", {}, r"'job', row 2=\(not shown\): is not"),
    "later chunk": (
        f"{HEAD}\n" + "cook,n,1,1\n" * 150 + f",{SECRET},1,2\n",
        {},
        "'region', row 151",
    ),
    "no header": (f"{SECRET},n,1,1\n", {}, "column='job': no such column.*4 columns"),
    "no question": ("job,region\ncook,n\n", {}, "column='n': no such column"),
    "no row": (f"{HEAD}\n", {}, "holds no row"),
    "too long a row": (f"{HEAD}\n{SECRET},n,1,1,1\n", {}, "row 1 has 5 fields"),
    "keep a question": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["job"]}, "true answers"),
    "keep observed": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["region"]}, "is copied anyway"),
    "keep nothing": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["x"]}, "column='x': no such"),
    "client": (f"{HEAD}\ncook,n,1,1\n", {"client": HONEST}, "client=.*must be a collector"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, tmp_path: Path) -> None:
    content, how, words = BAD[name]
    source = text(tmp_path / "a.csv", content)
    given = {"client": HONEST.collector(), "chunk_rows": 100, **how}
    with pytest.raises(ldp.InvalidArgument, match=words) as found:
        privatize_sheets(source, tmp_path / "s.csv", **given)
    assert SECRET not in str(found.value)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_files_that_are_read_or_exist(tmp_path: Path) -> None:
    source = text(tmp_path / "a.csv", f"{HEAD}\ncook,n,1,1\n")
    client = HONEST.collector()
    with pytest.raises(ldp.InvalidArgument, match="is the file that is read"):
        privatize_sheets(source, source, client, force=True)
    out = text(tmp_path / "s.csv", "kept")
    with pytest.raises(ldp.InvalidArgument, match="already exists"):
        privatize_sheets(source, out, client)
    assert out.read_text() == "kept"
    empty = ldp.Questionnaire({"a": ldp.KRR(("", "x"), 1.0)})
    with pytest.raises(ldp.InvalidArgument, match="empty field means a missing answer"):
        privatize_sheets(source, tmp_path / "t.csv", empty.collector())


def test_memory_is_bounded_by_a_chunk(tmp_path: Path) -> None:
    source = text(tmp_path / "a.csv", f"{HEAD}\n" + "cook,n,1,1\n" * 3_000)
    peaks = []
    for rows in (100, 100, 3_000):  # the first run imports; the last is the negative control
        tracemalloc.start()
        privatize_sheets(
            source, tmp_path / "s.csv", HONEST.collector(), chunk_rows=rows, force=True
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4e5 < peaks[2] / 1.5


def test_tables_that_are_safe_for_spreadsheets_are_read_without_apostrophes(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(2), 300
    mechanisms = {
        "job": ldp.KRR(("=cook", "-nurse", "'@x"), 3.0),
        "size": ldp.KRR((-1.5, 2.5), 3.0),
        "side": ldp.Observed(("+N", "@S")),
    }
    answers: dict[str, list[Any]] = {
        "job": ["=cook", "-nurse", "'@x"],
        "size": [-1.5, 2.5],
        "side": ["+N", "@S"],
        "=public": ["=1", "b"],
        "debt": ["-2", "3"],
        "na": ["-", "x"],
    }
    frame = pd.DataFrame({name: rng.choice(np.array(v, object), n) for name, v in answers.items()})
    sheet, source = ldp.Questionnaire(mechanisms), written(frame, tmp_path / "answers.csv")
    target, keep = tmp_path / "sheets.csv", ["=public", "debt", "na"]
    privatize_sheets(source, target, sheet.collector(), keep=keep, spreadsheet_safe=True)
    assert "'-nurse" in target.read_text() and "'-2" in target.read_text()
    survey = ldp.Survey(target, sheet, na=["-"])
    for name in ("job", "size", "side"):
        assert survey.frequencies(name).nobs == n
    assert survey.frequencies("=public").params.index.tolist() == ["=1", "b"]
    assert len(survey.where("debt < 0")) == (frame["debt"] == "-2").sum()
    assert len(survey.where("na is missing")) == (frame["na"] == "-").sum()


@pytest.mark.parametrize("middle", [".csv", ".parquet"])
def test_a_file_of_reports_is_not_privatised_again(middle: str, tmp_path: Path) -> None:
    answers = pd.DataFrame({"job": ["cook"], "region": ["n"], "n": [1]})
    source, once = written(answers, tmp_path / "a.parquet"), tmp_path / f"once{middle}"
    twice = tmp_path / "twice.csv"
    privatize_sheets(source, once, HONEST.collector())
    with pytest.raises(ldp.InvalidArgument, match="reports already, not true answers"):
        privatize_sheets(once, twice, HONEST.collector())
    assert not twice.exists()
