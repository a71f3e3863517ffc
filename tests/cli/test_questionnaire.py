"""ldpstats questionnaire, and privatize with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared.sheets import PUM, STRINGS

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

JOB = ldp.KRR(("cook", "nurse", "refused"), 1.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    io.write_mechanism(JOB, "job.json")
    io.write_mechanism(ldp.KRR(("yes", "refused"), 0.5), "late.json")
    io.write_survey(STRINGS, "url.json")
    text = "person,job,late,url,region\n1,cook,yes,abc,n\n2,,NA,aa,s\n3,nurse,yes,,n\n"
    (tmp_path / "answers.csv").write_text(text)
    return tmp_path


MADE = (
    *("questionnaire", "sheet.json", "--question", "job", "job.json"),
    *("--question", "url", "url.json", "--observed", "region", "n,s"),
)


def test_it_is_written_and_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MADE, "--ask", "1"]) == 0
    out = capsys.readouterr().out
    sheet = ldp.Questionnaire.from_json("sheet.json")
    region = ldp.Observed(("n", "s"))
    assert sheet == ldp.Questionnaire({"job": JOB, "url": STRINGS, "region": region}, ask=1)
    lines = out.splitlines()
    assert lines[0].split() == ["question", "mechanism", "categories", "epsilon"]
    assert [line.split()[0] for line in lines[1:4]] == ["job", "url", "region"]
    assert lines[4].startswith("epsilon of a sheet: 6, 1 of 2 private questions asked at random")
    assert main(["questionnaire", "sheet.json"]) == 0
    assert capsys.readouterr().out == out


def test_questions_are_asked_in_the_order_of_the_options(folder: Path) -> None:
    die = ldp.devices.library.forced_dice().mechanism(("no", "yes"))
    io.write_mechanism(die, "die.json")
    red = ldp.devices.library.warner("1/5").mechanism(("no", "yes"))
    io.write_mechanism(red, "red.json")
    given = [
        *("--krr", "job", "cook,nurse", "1", "--question", "used", "die.json"),
        *("--group", "late", "A", "die.json", "--observed", "age", "3"),
        *("--krr", "region", "n,s", "1", "--group", "late", "B", "red.json"),
        *("--question", "last", "job.json"),
    ]
    assert main(["questionnaire", "s.json", *given]) == 0
    sheet = ldp.Questionnaire.from_json("s.json")
    assert list(sheet.mechanisms) == ["job", "used", "late", "age", "region", "last"]
    assert sheet["used"] == die and sheet["late"].cohort_names == ("A", "B")
    for more in (["--krr", "late", "a,b", "1"], ["--group", "used", "A", "die.json"]):
        assert main(["questionnaire", "s.json", "--force", *given, *more]) == 2


def test_refusals_and_labels_by_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--question", "job", "job.json", "--question", "late", "late.json")
    argv = ["questionnaire", "s.json", *both, "--observed", "age", "4", "--refused", "refused"]
    assert main(argv) == 0
    sheet = ldp.Questionnaire.from_json("s.json")
    assert dict(sheet.refused) == {"job": "refused", "late": "refused"}
    assert sheet["age"] == ldp.Observed(4)
    assert main([*argv, "--force"]) == 0
    assert main(["audit", "s.json"]) == 0
    assert "late: Privacy audit of KRR" in capsys.readouterr().out


def test_a_table_is_privatised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MADE, "--ask", "2"]) == 0
    capsys.readouterr()
    argv = ["privatize", "answers.csv", "sheets.csv", "--questionnaire", "sheet.json"]
    assert main([*argv, "--keep", "person"]) == 0
    out = capsys.readouterr()
    assert out.err == "" and "job: 2, url: 2" in out.out and "epsilon=7" in out.out
    lines = (folder / "sheets.csv").read_text().splitlines()
    parts = "url_start_1,url_gram_1,url_start_2,url_gram_2,url_string"
    assert lines[0] == f"job,{parts},region,questionnaire_fingerprint,person"
    digits = ldp.Questionnaire.from_json("sheet.json").fingerprint
    assert [line.rsplit(",", 3)[1:] for line in lines[1:]] == [
        ["n", digits, "1"], ["s", digits, "2"], ["n", digits, "3"]
    ]  # fmt: skip
    argv[2] = "sheets.parquet"
    assert main(argv) == 0
    assert main(["fit", "sheets.parquet", "--spec", "job.json", "--column", "job",
                 "--missing", "count"]) == 0  # fmt: skip


def test_questions_by_k_rr_need_no_specification(folder: Path) -> None:
    argv = ["questionnaire", "k.json", "--krr", "late", "no,yes", "1", "--krr", "size", "3", "0.5"]
    assert main(argv) == 0
    made = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), 1.0), "size": ldp.KRR(3, 0.5)})
    assert ldp.Questionnaire.from_json("k.json") == made


def test_a_personalised_question(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    (folder / "place.json").write_text(json.dumps(PUM.to_dict()))
    assert main(["questionnaire", "s.json", "--question", "place", "place.json"]) == 0
    assert ldp.Questionnaire.from_json("s.json")["place"] == PUM


USE = ["privatize", "answers.csv", "out.csv", "--questionnaire", "sheet.json"]
BAD: dict[str, tuple[list[str], str]] = {
    "no name": (["questionnaire", "q.json", "--question", "job"], "expected 2 arguments"),
    "nothing to print": (["questionnaire", "q.json"], "no such file"),
    "no questionnaire": (["questionnaire", "job.json"], "is not the specification of a quest"),
    "written over": (["questionnaire", "job.json", "--question", "a", "job.json"], "given twice"),
    "exists": (list(MADE), "already exists"),
    "ask alone": (["questionnaire", "sheet.json", "--ask", "1"], "--ask goes with --question"),
    "twice": (
        ["questionnaire", "q.json", "--question", "a", "job.json", "--observed", "a", "2"],
        "--observed='a': is the name of two questions",
    ),
    "epsilon of k-RR": (
        ["questionnaire", "q.json", "--krr", "a", "2", "one"],
        "--krr a epsilon='one': must be a number",
    ),
    "labels of k-RR": (["questionnaire", "q.json", "--krr", "a", "x", "1"], "--krr a labels="),
    "a questionnaire": (["questionnaire", "q.json", "--question", "a", "sheet.json"], "of one"),
    "ask": ([*MADE[:1], "q.json", *MADE[2:], "--ask", "3"], "ask=3: must be at most 2"),
    "refused": ([*MADE[:1], "q.json", *MADE[2:], "--refused", "x!"], "refused='x!'"),
    "with --spec": ([*USE, "--spec", "job.json"], "--spec='job.json': cannot be combined"),
    "missing": ([*USE, "--missing", "raise"], "--missing='raise': cannot be combined with --quest"),
    "max epsilon": ([*USE, "--max-epsilon", "6"], "max_epsilon=6.0: is less than"),
    "as --spec": (
        ["privatize", "answers.csv", "o.csv", "--column", "job", "--spec", "sheet.json"],
        "is a questionnaire: read it with Questionnaire.from_json, or pass it as --questionnaire",
    ),
    "no column": (["privatize", "answers.csv", "o.csv", "--spec", "job.json"], "--column is"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(MADE)) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    argv, words = BAD[name]
    assert main(argv) == 2
    out = capsys.readouterr()
    assert out.out == "" and words in out.err and out.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_answer_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(MADE)) == 0
    capsys.readouterr()
    (folder / "answers.csv").write_text("job,url,region\nhepatitis-4711,abc,n\n")
    assert main(USE) == 2
    error = capsys.readouterr().err
    assert "column 'job', row 1=(not shown)" in error and "4711" not in error
