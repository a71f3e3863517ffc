"""Cells that a spreadsheet would run as formulas, and labels that look like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import io

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
        source, out, "=x", ldp.Warner(epsilon=1.0).collector(),
        name="=x", keep=["note", "@id"], spreadsheet_safe=safe,
    )  # fmt: skip
    head = "'=x,'=x_fingerprint,note,'@id" if safe else "=x,=x_fingerprint,note,@id"
    assert out.read_text().splitlines()[0] == head
    assert any(cell.startswith(RISKY) for cell in cells(out)) != safe
    frame = pd.concat(io.read_columns(out, ["note", "@id"]))
    assert frame["@id"].tolist() == ["'-2", "'=1" if safe else "=1"]
    # a column is found under either spelling, and its fingerprints with it
    assert io.read_counts(out, ldp.Warner(epsilon=1.0), "=x").nobs == 2
    with pytest.raises(ldp.MechanismMismatch):
        io.read_counts(out, ldp.Warner(epsilon=2.0), "=x")


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
    with pytest.raises(ldp.InvalidArgument, match="could not be distinguished from the label '-5'"):
        io.write_reports(reports, tmp_path / "s.csv", spreadsheet_safe=True)


def test_a_guarded_spelling_of_parquet_is_no_label(tmp_path: Path) -> None:
    pd.DataFrame({"report": ["'-5"]}).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(ldp.UnknownCategory):
        io.read_counts(tmp_path / "r.parquet", ldp.KRR(("-5", "x"), 1.0))


# -- answers, missing answers and identifiers that are kept for another run ------------------------

OPEN: dict[str, ldp.Mechanism] = {
    "orr": ldp.ORR(n_outputs=8, n_cohorts=4, epsilon=1.0),
    "orappor": ldp.ORAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, epsilon=1.0),
    "rappor": ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75),
}
SIGNS = ldp.DictionarySurvey(length=5, gram=1, alphabet="=+-@'ab", epsilon=8.0)


def kept(folder: Path, answers: list[str], suffix: str = ".csv") -> Path:
    """A table with a column of answers that --spreadsheet-safe left for another run."""
    source, step = folder / "a.csv", folder / f"m{suffix}"
    table = pd.DataFrame({"paid": "yes", "who": answers})
    table.to_csv(source, index=False)
    how = {"keep": ["who"], "spreadsheet_safe": suffix != ".parquet"}
    io.privatize_file(source, step, "paid", ldp.Warner(epsilon=1.0).collector(), **how)
    return step


@pytest.mark.parametrize(("kind", "sign"), list(zip([*OPEN, "survey"], RISKY, strict=True)))
def test_kept_answers_are_not_hashed_with_an_apostrophe(
    kind: str, sign: str, tmp_path: Path
) -> None:
    collector: Any = SIGNS.collector() if kind == "survey" else OPEN[kind].collector()
    make: Any = io.privatize_strings if kind == "survey" else io.privatize_file
    step, out = kept(tmp_path, ["a", "'a", f"{sign}ab"]), tmp_path / "r.csv"
    with pytest.raises(ldp.InvalidArgument, match=r"row 3=\(not shown\): begins") as caught:
        make(step, out, "who", collector, chunk_rows=2)
    says = "without it; if the apostrophe is part of the answer, use a Parquet file"
    assert says in str(caught.value) and f"{sign}ab" not in str(caught.value)
    assert not out.exists()
    # the ways out, and answers that only begin with an apostrophe
    step = kept(tmp_path, ["a", "'a", f"{sign}ab"], ".parquet")
    assert make(step, out, "who", collector) == (3, 0)
    pd.DataFrame({"who": [f"'{sign}"]}).to_parquet(tmp_path / "b.parquet")
    assert make(tmp_path / "b.parquet", out, "who", collector, force=True) == (1, 0)
    (tmp_path / "c.csv").write_text("who\n'\n'a\n''-\n")
    assert make(tmp_path / "c.csv", out, "who", collector, force=True) == (3, 0)


def test_apostrophes_do_not_reach_parquet(tmp_path: Path) -> None:
    """There they would be taken for a part of the answer."""
    step, out = kept(tmp_path, ["a", "=b"]), tmp_path / "r.parquet"
    again: dict[str, Any] = {"name": "again", "keep": ["who"], "chunk_rows": 1}
    with pytest.raises(ldp.InvalidArgument, match=r"'who', row 2=\(not shown\): begins"):
        io.privatize_file(step, out, "report", ldp.Warner(epsilon=1.0).collector(), **again)
    assert not out.exists()
    io.privatize_file(
        tmp_path / "a.csv", out, "paid", ldp.Warner(epsilon=1.0).collector(), keep=["who"]
    )
    assert next(io.read_columns(out, ["who"]))["who"].tolist() == ["a", "=b"]


@pytest.mark.parametrize("kind", ["closed", "numbers", "open", "survey"])
def test_missing_answers_that_are_kept_stay_missing(kind: str, tmp_path: Path) -> None:
    step, out = kept(tmp_path, ["-1", "0", "2", "-1"]), tmp_path / "r.csv"
    survey = ldp.DictionarySurvey(length=2, gram=1, alphabet="-'012", epsilon=8.0)
    collectors: dict[str, Any] = {
        "closed": ldp.KRR(("0", "2"), 1.0).collector(),
        "numbers": ldp.KRR(3, 1.0).collector(),
        "open": OPEN["orr"].collector(),
        "survey": survey.collector(),
    }
    make: Any = io.privatize_strings if kind == "survey" else io.privatize_file
    how: dict[str, Any] = {"missing": "count", "na": ["-1"]}
    assert make(step, out, "who", collectors[kind], **how) == (2, 2)
    # a label is an answer, and Parquet is read as it is
    label = ldp.KRR(("'-1", "0", "2"), 1.0).collector()
    assert io.privatize_file(step, out, "who", label, **how, force=True) == (4, 0)
    pd.DataFrame({"who": ["'-1", "-1", "0"]}).to_parquet(tmp_path / "m.parquet")
    assert io.privatize_file(
        tmp_path / "m.parquet", out, "who", label, **how, force=True
    ) == (2, 1)  # fmt: skip


def test_missing_reports_that_are_kept_stay_missing(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("report,report_fingerprint\nyes,'-\n'-,'-\nno,\n")
    counts = io.read_counts(path, ldp.Warner(epsilon=1.0), missing="count", na=["-"])
    assert (counts.nobs, counts.n_missing) == (2, 1)
    path.write_text("start_1,gram_1,start_2,gram_2,string\n" + ",".join(["'-9"] * 5) + "\n")
    read = io.read_dictionary_reports(path, SIGNS, missing="count", na=["-9"])
    assert read.n_missing == 1


def test_identifiers_are_the_same_with_an_apostrophe(tmp_path: Path) -> None:
    source, n = tmp_path / "a.csv", 200
    table = pd.DataFrame({"id": np.arange(n) - n // 2, "a": "yes", "b": ["no", "yes"] * (n // 2)})
    table.to_csv(source, index=False)
    warner, paths = ldp.Warner(epsilon=1.0), [tmp_path / "r.csv", tmp_path / "s.csv"]
    for path, column, safe in zip(paths, "ab", (True, False), strict=True):
        collector = warner.collector()
        io.privatize_file(source, path, column, collector, keep=["id"], spreadsheet_safe=safe)
    pair: Any = (warner, warner), ("report", "report")
    assert io.read_joint_counts(paths, *pair, id="id").nobs == n
    other = tmp_path / "s.parquet"
    io.privatize_file(source, other, "b", warner.collector(), keep=["id"])
    assert io.read_joint_counts([paths[0], other], *pair, id="id").nobs == n
    paths[1].write_text("report,id\nyes,=x\nno,1\nno,'=x\n")
    with pytest.raises(ldp.InvalidArgument, match="row 3='=x': is also the respondent of row 1"):
        io.read_joint_counts(paths, *pair, id="id")


@pytest.mark.parametrize("given", [True, "yes", 1, None])
def test_parquet_needs_none(given: Any, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("job\nyes\n")
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    reports = survey.privatize(["abc"], np.random.default_rng(1))
    warner = ldp.Warner(epsilon=1.0)
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
