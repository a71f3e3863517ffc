"""Cells that a spreadsheet would run as formulas, and labels that look like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

LABELS: dict[str, tuple[Any, ...]] = {
    "text": ("-5", "=x", "+1", "@me", "plain", "'quoted", "a=b"),
    "integers": (-5, 3, -1),
    "floats": (-0.5, 0.5),
    "mixed": ("=x", -5, 2.5),
}
RISKY = ("=", "+", "-", "@")


def cells(path: Path) -> list[str]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return [*frame.columns, *frame.to_numpy().ravel()]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("kind", LABELS)
def test_reports_come_back_as_the_same_counts(kind: str, suffix: str, tmp_path: Path) -> None:
    mechanism = ldp.KRR(LABELS[kind], epsilon=1.0)
    codes = np.random.default_rng(1).integers(0, mechanism.k, 300)
    reports, path = ldp.Reports(codes, mechanism, 2), tmp_path / f"r{suffix}"
    for safe in (True, False):
        io.write_reports(reports, path, spreadsheet_safe=safe, force=True)
        counts = io.read_counts(path, mechanism, missing="count")
        assert counts.vector().tolist() == np.bincount(codes).tolist() and counts.n_missing == 2
        assert any(cell.startswith(RISKY) for cell in cells(path)) != safe


@pytest.mark.parametrize("safe", [False, True])
def test_headers_and_kept_columns(safe: bool, tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "r.csv"
    source.write_text("=x,note,@id\nyes,-1+1,'-2\nno,,=1\n")
    io.privatize_file(
        source, out, "=x", ldp.Warner(1.0).collector(),
        name="=x", keep=["note", "@id"], spreadsheet_safe=safe,
    )  # fmt: skip
    head = "'=x,'=x_fingerprint,note,'@id" if safe else "=x,=x_fingerprint,note,@id"
    assert out.read_text().splitlines()[0] == head
    assert any(cell.startswith(RISKY) for cell in cells(out)) != safe
    frame = pd.concat(io.read_columns(out, ["note", "@id"]))
    assert frame["@id"].tolist() == ["'-2", "'=1" if safe else "=1"]
    # a column is found under either spelling, and its fingerprints with it
    assert io.read_counts(out, ldp.Warner(1.0), "=x").nobs == 2
    with pytest.raises(ldp.MechanismMismatch):
        io.read_counts(out, ldp.Warner(2.0), "=x")


def test_a_guarded_file_is_privatised_again(tmp_path: Path) -> None:
    honest = ldp.KRR(("-5", "=x"), epsilon=40.0)  # but for one answer in e^40
    source, step, out = (tmp_path / name for name in ("a.csv", "m.csv", "r.csv"))
    source.write_text("=job,n\n=x,1\n-5,2\n=x,3\n")
    how: dict[str, Any] = {"name": "=job", "spreadsheet_safe": True}
    io.privatize_file(source, step, "=job", honest.collector(), **how)
    io.privatize_file(step, out, "=job", honest.collector(), **how)
    assert out.read_text() == step.read_text()
    assert io.read_counts(out, honest, "=job").vector().tolist() == [1, 2]


def test_a_label_with_an_apostrophe_is_that_label(tmp_path: Path) -> None:
    both = ldp.KRR(("-5", "'-5"), epsilon=1.0)
    reports, path = ldp.Reports([0, 1, 1], both), tmp_path / "r.csv"
    io.write_reports(reports, path)
    assert io.read_counts(path, both).vector().tolist() == [1, 2]
    with pytest.raises(ldp.InvalidArgument, match="could not be told from the label '-5'"):
        io.write_reports(reports, tmp_path / "s.csv", spreadsheet_safe=True)


def test_columns_that_would_be_alike(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("job,=x,'=x\nyes,1,2\n")
    how: dict[str, Any] = {"keep": ["=x", "'=x"], "spreadsheet_safe": True}
    with pytest.raises(ldp.InvalidArgument, match="are alike"):
        io.privatize_file(source, tmp_path / "r.csv", "job", ldp.Warner(1.0).collector(), **how)
    frame = next(io.read_columns(source, ["=x", "'=x"]))  # each found under its own name
    assert frame.to_numpy().tolist() == [["1", "2"]]


def test_a_guarded_spelling_of_parquet_is_no_label(tmp_path: Path) -> None:
    pd.DataFrame({"report": ["'-5"]}).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(ldp.UnknownCategory):
        io.read_counts(tmp_path / "r.parquet", ldp.KRR(("-5", "x"), 1.0))


@pytest.mark.parametrize("given", [True, "yes", 1, None])
def test_parquet_needs_none(given: Any, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("job\nyes\n")
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    reports = survey.privatize(["abc"], np.random.default_rng(1))
    warner = ldp.Warner(1.0)
    out, how = tmp_path / "r.parquet", {"spreadsheet_safe": given}
    for call in (
        lambda: io.write_reports(warner.privatize(["yes"], np.random.default_rng(1)), out, **how),
        lambda: io.privatize_file(source, out, "job", warner.collector(), **how),
        lambda: io.privatize_strings(source, out, "job", survey.collector(), **how),
        lambda: io.write_dictionary_reports(reports, out, **how),
    ):
        with pytest.raises(ldp.InvalidArgument, match="spreadsheet_safe="):
            call()
    assert not out.exists()


def test_a_survey_of_signs(tmp_path: Path) -> None:
    survey = ldp.DictionarySurvey(length=4, gram=1, alphabet="=+-@'", epsilon=8.0)
    made = survey.privatize(["=+", "'-@", "@@@@"] * 20, np.random.default_rng(1))
    path = tmp_path / "r.csv"
    io.write_dictionary_reports(made, path, spreadsheet_safe=True)
    assert not any(cell.startswith(RISKY) for cell in cells(path))
    again = io.read_dictionary_reports(path, survey)
    pd.testing.assert_frame_equal(again.to_frame(), made.to_frame())


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("sum\n" + "=1+1\n-5\n" * 50)
    made = "--column sum --mechanism krr --epsilon 1 --categories==1+1,-5 --spreadsheet-safe"
    assert main(["privatize", "a.csv", "r.csv", *made.split(), "--write-spec", "s.json"]) == 0
    assert not any(cell.startswith(RISKY) for cell in cells(Path("r.csv")))
    assert main(["fit", "r.csv", "--spec", "s.json"]) == 0
    capsys.readouterr()
    assert main(["privatize", "a.csv", "r.parquet", *made.split(), "--write-spec", "t.json"]) == 2
    assert "spreadsheet_safe=True: is for CSV" in capsys.readouterr().err
    assert not Path("t.json").exists()
