"""Rows of reports say which mechanism made them, so that no other is taken for it."""

import gzip
import io as streams
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

TEXT = (".csv", ".csv.gz")
FORMATS = (*TEXT, ".parquet")
JOBS = ("nurse", "teacher", "driver")
ONE, TWO = ldp.KRR(JOBS, epsilon=1.0), ldp.KRR(JOBS, epsilon=2.0)
PAID = ldp.KRR(("no", "yes"), epsilon=1.0)
SHAPE: dict[str, Any] = {"length": 4, "gram": 2, "alphabet": "abc"}
SURVEY = ldp.DictionarySurvey(**SHAPE, epsilon=6.0)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def answers(folder: Path, suffix: str = ".csv") -> Path:
    table = pd.DataFrame({"who": range(60), "job": JOBS * 20, "paid": ["no", "yes"] * 30})
    path = folder / f"a{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
    return path


def columns(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return list(pyarrow.parquet.read_schema(path).names)
    return lines(path)[0].split(",")


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", TEXT)
def test_every_row_says_which_mechanism_made_it(suffix, tmp_path):
    """Rows of missing answers too: they would be counted with those of another mechanism."""
    reports = ONE.privatize(["nurse", None, "driver"], rng(), missing="count")
    io.write_reports([reports, reports], tmp_path / f"r{suffix}")
    head, *rest = [line.split(",") for line in lines(tmp_path / f"r{suffix}")]
    assert head == ["report", "report_fingerprint"]
    assert [row[1] for row in rest] == [ONE.fingerprint] * 6
    assert [row[0] == "" for row in rest] == [False, False, True] * 2
    again = io.read_counts(tmp_path / f"r{suffix}", ONE, missing="count")
    assert (again.nobs, again.n_missing) == (4, 2)


def test_a_privatised_file_says_it_too(tmp_path):
    out = tmp_path / "r.csv"
    io.privatize_file(
        answers(tmp_path), out, "job", ONE.collector(), name="work", keep=["who"], chunk_rows=7
    )
    assert columns(out) == ["work", "work_fingerprint", "who"]
    assert {line.split(",")[1] for line in lines(out)[1:]} == {ONE.fingerprint}
    assert io.read_counts(out, ONE, "work").nobs == 60


def test_parquet_has_no_such_column(tmp_path):
    io.write_reports(ONE.privatize(JOBS, rng()), tmp_path / "r.parquet")
    assert columns(tmp_path / "r.parquet") == ["report"]


@pytest.mark.parametrize("suffix", TEXT)
def test_a_dictionary_survey_has_one_column_for_all_five(suffix, tmp_path):
    made, path = SURVEY.privatize(["abc", None], rng(), missing="count"), tmp_path / f"r{suffix}"
    io.write_dictionary_reports(made, path)
    assert columns(path)[-2:] == ["string", "survey_fingerprint"]
    assert [line.split(",")[-1] for line in lines(path)[1:]] == [SURVEY.fingerprint] * 2
    assert io.read_dictionary_reports(path, SURVEY, missing="count").n_missing == 1
    assert io.read_counts(path, SURVEY.string_mechanism, "string", missing="count").nobs == 1


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [1000, 7, 1])
@pytest.mark.parametrize("suffix", TEXT)
def test_another_epsilon_is_refused(suffix, chunk_rows, tmp_path):
    path = tmp_path / f"r{suffix}"
    io.write_reports(ONE.privatize(JOBS * 20, rng()), path)
    with pytest.raises(ldp.MechanismMismatch) as caught:
        io.read_counts(path, TWO, chunk_rows=chunk_rows)
    for words in ("column 'report_fingerprint', row 1:", ONE.fingerprint, TWO.fingerprint, "use "):
        assert words in str(caught.value)


@pytest.mark.parametrize("chunk_rows", [1000, 20, 1])
@pytest.mark.parametrize("first", [ONE, TWO])
def test_files_put_together_are_refused(first, chunk_rows, tmp_path):
    parts = []
    for mechanism in (ONE, TWO):
        path = tmp_path / f"{mechanism.epsilon}.csv"
        io.write_reports(mechanism.privatize(JOBS * 10, rng()), path)
        parts.append(lines(path))
    if first is TWO:
        parts.reverse()
    path = tmp_path / "both.csv"
    path.write_text("\n".join([*parts[0], *parts[1][1:]]) + "\n")
    with pytest.raises(ldp.MechanismMismatch, match="row 31: the report is of"):
        io.read_counts(path, first, chunk_rows=chunk_rows)
    path.write_text("\n".join([*parts[0], *parts[0]]) + "\n")
    with pytest.raises(ldp.MechanismMismatch, match="row 31: is a second header line"):
        io.read_counts(path, first, chunk_rows=chunk_rows)


def test_a_missing_answer_of_another_mechanism_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f"report,report_fingerprint\nnurse,{ONE.fingerprint}\n,{TWO.fingerprint}\n")
    with pytest.raises(ldp.MechanismMismatch, match="row 2"):
        io.read_counts(path, ONE, missing="count")


def test_empty_fields_say_nothing(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f"report,report_fingerprint\nnurse,{ONE.fingerprint}\ndriver,\nnurse,?\n")
    assert io.read_counts(path, ONE, na=["?"]).nobs == 3
    with pytest.raises(ldp.MechanismMismatch, match="row 3"):
        io.read_counts(path, ONE)
    path.write_text("report\nnurse\n")  # as before there were fingerprints
    assert io.read_counts(path, TWO).nobs == 1


def test_a_column_in_parquet_is_checked_too(tmp_path):
    digits = [ONE.fingerprint, None, TWO.fingerprint]
    table = pd.DataFrame({"report": JOBS, "report_fingerprint": digits})
    for n, mechanism, good in ((2, ONE, True), (3, ONE, False), (2, TWO, False)):
        table[:n].to_parquet(tmp_path / "r.parquet")
        if good:
            assert io.read_counts(tmp_path / "r.parquet", mechanism).nobs == 2
        else:
            with pytest.raises(ldp.MechanismMismatch, match="column 'report_fingerprint', row"):
                io.read_counts(tmp_path / "r.parquet", mechanism)


def test_counts_of_reports_are_checked(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text(f"n,job,job_fingerprint\n4,nurse,{ONE.fingerprint}\n3,driver,\n")
    assert io.read_counts(path, ONE, "job", "n").nobs == 7
    with pytest.raises(ldp.MechanismMismatch, match="row 1"):
        io.read_counts(path, TWO, "job", "n")
    with pytest.raises(ldp.InvalidArgument, match="is the column of fingerprints"):
        io.read_counts(path, ONE, "job", "job_fingerprint")


def test_a_table_of_pandas_is_checked(tmp_path):
    io.write_reports(ONE.privatize(JOBS * 20, rng()), tmp_path / "r.csv")
    frame = pd.read_csv(tmp_path / "r.csv")
    assert ldp.Counts.from_frame(frame, ONE).nobs == 60
    with pytest.raises(ldp.MechanismMismatch, match="column 'report_fingerprint', row 1:"):
        ldp.Counts.from_frame(frame, TWO)
    frame.loc[5, "report_fingerprint"] = None
    assert ldp.Counts.from_frame(frame, ONE).nobs == 60
    frame.loc[7, "report_fingerprint"] = TWO.fingerprint
    with pytest.raises(ldp.MechanismMismatch, match="row 8:"):
        ldp.Counts.from_frame(frame, ONE)
    frame["report_fingerprint"] = [[1]] * 60
    with pytest.raises(ldp.InvalidArgument, match="must hold fingerprints"):
        ldp.Counts.from_frame(frame, ONE)


@pytest.mark.parametrize("one_table", [True, False])
def test_variables_of_a_joint_table_are_checked(one_table, tmp_path):
    source, jobs, both = answers(tmp_path), tmp_path / "j.csv", tmp_path / "b.csv"
    keep = ["who", "paid"]
    io.privatize_file(source, jobs, "job", ONE.collector(), name="job", keep=keep)
    if one_table:
        io.privatize_file(
            jobs, both, "paid", PAID.collector(), name="paid", keep=["who", "job"], chunk_rows=7
        )
        paths: Any = both
        assert columns(both) == ["paid", "paid_fingerprint", "who", "job", "job_fingerprint"]
    else:
        io.privatize_file(source, both, "paid", PAID.collector(), name="paid", keep=["who"])
        paths = [jobs, both]
    how: dict[str, Any] = {} if one_table else {"id": "who"}
    assert io.read_joint_counts(paths, (ONE, PAID), ("job", "paid"), **how).nobs == 60
    for mechanisms, says in (
        ((TWO, PAID), "'job_fingerprint', row 1:"),
        ((ONE, ldp.KRR(("no", "yes"), 2.0)), "'paid_fingerprint', row 1:"),
    ):
        for chunk_rows in (100, 7):
            with pytest.raises(ldp.MechanismMismatch, match=says):
                io.read_joint_counts(
                    paths, mechanisms, ("job", "paid"), chunk_rows=chunk_rows, **how
                )


def test_another_survey_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    io.write_dictionary_reports(SURVEY.privatize(["abc", "ca"] * 5, rng()), path)
    others = [
        ldp.DictionarySurvey(**SHAPE, epsilon=5.0),
        ldp.DictionarySurvey(  # with the same mechanisms
            6, 2, "abc", gram_mechanism=SURVEY.gram_mechanism,
            string_mechanism=SURVEY.string_mechanism,
        ),
    ]  # fmt: skip
    for other in others:
        with pytest.raises(ldp.MechanismMismatch, match="'survey_fingerprint', row 1:"):
            io.read_dictionary_reports(path, other)
    text = path.read_text().replace(SURVEY.fingerprint, "")
    path.write_text(text)
    assert len(io.read_dictionary_reports(path, SURVEY)) == 10
    assert len(io.read_dictionary_reports(path, others[1])) == 10  # as before


def mechanisms_of(pattern: Any) -> Iterator[ldp.KRR]:
    for i in range(100_000):
        mechanism = ldp.KRR(3, epsilon=1.0 + i / 1024)
        if pattern(mechanism.fingerprint):
            yield mechanism


@pytest.mark.parametrize(
    "pattern",
    [
        lambda digits: digits.isdecimal(),
        lambda digits: digits.isdecimal() and digits.startswith("0"),
        lambda digits: digits.replace("e", "", 1).isdecimal() and digits[9] == "e",
    ],
    ids=["a number", "a number with a zero before it", "a power of ten"],
)
def test_fingerprints_that_look_like_numbers(pattern):
    """What pandas makes of such a column, and writes again, is still that fingerprint."""
    mechanism = next(mechanisms_of(pattern))
    text = "report,report_fingerprint\n" + f"1,{mechanism.fingerprint}\n" * 3
    frame = pd.read_csv(streams.StringIO(text))
    assert frame["report_fingerprint"].dtype != object  # taken for numbers
    assert ldp.Counts.from_frame(frame, mechanism).nobs == 3
    again = frame.to_csv(index=False).splitlines()[1].split(",")[1]
    frame["report_fingerprint"] = again
    assert ldp.Counts.from_frame(frame, mechanism).nobs == 3
    with pytest.raises(ldp.MechanismMismatch):
        ldp.Counts.from_frame(frame, ldp.KRR(3, 50.0))


@pytest.mark.parametrize("digits", [b"\xff\xfe", b"x" * 50_000], ids=["no text", "long"])
def test_damaged_metadata_of_parquet_is_a_mismatch(digits, tmp_path):
    """The message still says what to do, however long what is stored there is."""
    path = tmp_path / "r.parquet"

    def store(made: pyarrow.Table, key: bytes) -> None:
        fields = [field.with_metadata({key: digits}) for field in made.schema]
        pyarrow.parquet.write_table(made.cast(pyarrow.schema(fields)), path)

    store(pyarrow.table({"report": JOBS}), b"ldpstats.fingerprint")
    with pytest.raises(ldp.MechanismMismatch, match="use the specification that the") as caught:
        io.read_counts(path, ONE)
    assert len(str(caught.value)) < 500
    io.write_dictionary_reports(SURVEY.privatize(["abc"], rng()), path, force=True)
    store(pyarrow.parquet.read_table(path), b"ldpstats.survey")
    with pytest.raises(ldp.MechanismMismatch, match="use the specification that the") as caught:
        io.read_dictionary_reports(path, SURVEY)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("form", ["digits", "power"])
def test_fingerprints_that_excel_shortened(form, tmp_path):
    """Of a number it saves six digits, 4.47871E+11, whatever it was."""
    patterns = {
        "digits": lambda digits: digits.isdecimal() and digits[0] != "0",
        "power": lambda digits: (
            re.fullmatch("[1-9][0-9]{5,7}[1-9]e[0-9]+", digits) and float(digits) < 1e308
        ),
    }
    mechanism, path = next(mechanisms_of(patterns[form])), tmp_path / "r.csv"
    own = float(mechanism.fingerprint)
    for saved, good in ((f"{own:.5E}", True), (f"{own * 1.00002:.5E}", False)):
        path.write_text("report,report_fingerprint\n" + f"1,{saved}\n" * 3)
        for read in (
            lambda: io.read_counts(path, mechanism),
            lambda: ldp.Counts.from_frame(pd.read_csv(path), mechanism),
        ):
            if good:
                assert read().nobs == 3
            else:
                with pytest.raises(ldp.MechanismMismatch, match="rewrote the column, empty it"):
                    read()
    # six digits that nobody shortened, and more of them, are those of another mechanism
    for found in (f"{own:.5e}".replace("e+", "e"), f"{own * 1.000001:.11E}"):
        with pytest.raises(ldp.MechanismMismatch):
            row = pd.DataFrame({"report": [1], "report_fingerprint": [found]})
            ldp.Counts.from_frame(row, mechanism)


def test_what_is_no_fingerprint_may_be_emptied(tmp_path):
    path = tmp_path / "r.csv"
    for found, says in (("#NAME?", True), ("4.5E+11", True), (TWO.fingerprint, False)):
        path.write_text(f"report,report_fingerprint\nnurse,{found}\n")
        with pytest.raises(ldp.MechanismMismatch) as caught:
            io.read_counts(path, ONE)
        assert ("if a spreadsheet rewrote the column, empty it" in str(caught.value)) == says
    path.write_text("report,report_fingerprint\nnurse,\n")
    assert io.read_counts(path, ONE).nobs == 1


# -- columns that are kept -------------------------------------------------------------------------


@pytest.mark.parametrize("last", FORMATS)
@pytest.mark.parametrize("middle", FORMATS)
def test_kept_reports_keep_their_fingerprint(middle, last, tmp_path):
    source, step, out = answers(tmp_path), tmp_path / f"m{middle}", tmp_path / f"l{last}"
    io.privatize_file(source, step, "job", ONE.collector(), name="job", keep=["paid"])
    io.privatize_file(step, out, "paid", PAID.collector(), keep=["job"], chunk_rows=7)
    new = [] if last == ".parquet" else ["report_fingerprint"]
    # what Parquet stored becomes a column of CSV; a column stays one
    kept = [] if middle == last == ".parquet" else ["job_fingerprint"]
    assert columns(out) == ["report", *new, "job", *kept]
    assert io.read_counts(out, ONE, "job").nobs == io.read_counts(out, PAID).nobs == 60
    with pytest.raises(ldp.MechanismMismatch):
        io.read_counts(out, TWO, "job")


@pytest.mark.parametrize("last", FORMATS)
@pytest.mark.parametrize("middle", FORMATS)
def test_kept_reports_of_a_survey_keep_theirs(middle, last, tmp_path):
    source, step, out = tmp_path / "a.csv", tmp_path / f"m{middle}", tmp_path / f"l{last}"
    source.write_text("word,paid\n" + "abc,no\nca,yes\n" * 5)
    io.privatize_strings(source, step, "word", SURVEY.collector(), keep=["paid"])
    five = ["start_1", "gram_1", "start_2", "gram_2", "string"]
    io.privatize_file(step, out, "paid", PAID.collector(), keep=five)
    assert len(io.read_dictionary_reports(out, SURVEY)) == 10
    with pytest.raises(ldp.MechanismMismatch):
        io.read_dictionary_reports(out, ldp.DictionarySurvey(**SHAPE, epsilon=5.0))


def test_a_column_of_fingerprints_may_be_named(tmp_path):
    source, step, out = answers(tmp_path), tmp_path / "m.csv", tmp_path / "l.csv"
    io.privatize_file(source, step, "job", ONE.collector(), name="job", keep=["paid"])
    io.privatize_file(
        step, out, "paid", PAID.collector(), keep=["job_fingerprint", "job"], chunk_rows=7
    )
    assert columns(out) == ["report", "report_fingerprint", "job_fingerprint", "job"]


def test_a_column_that_only_has_the_name_is_not_copied(tmp_path):
    path, out = tmp_path / "a.csv", tmp_path / "r.csv"
    path.write_text("id,id_fingerprint,job\n1,,nurse\n2,left thumb,driver\n")
    with pytest.raises(ldp.InvalidArgument, match=r"row 2=.*is not a fingerprint") as caught:
        io.privatize_file(path, out, "job", ONE.collector(), keep=["id"])
    assert "thumb" not in str(caught.value) and not out.exists()
    path.write_text("id,id_fingerprint\n1,nurse\n2,driver\n")  # the true answers are never copied
    io.privatize_file(path, out, "id_fingerprint", ONE.collector(), keep=["id"])
    assert columns(out) == ["report", "report_fingerprint", "id"]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("name", "keep", "says"),
    [
        ("report", ["report_fingerprint"], "none of the reports' own: report, report_fingerprint"),
        ("who_fingerprint", ["who"], "keep='who_fingerprint': is the name of a new column and of"),
        ("survey_fingerprint", ["string"], "keep='survey_fingerprint': is the name of a new"),
        ("who", ["who"], "must be distinct names"),
        ("r", ["who", "who"], "must be distinct names"),
        ("r", ["job"], "never copied"),
    ],
)
def test_names_that_collide(name, keep, says, suffix, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("who,job,report_fingerprint,string\n1,nurse,,x\n")
    out = tmp_path / f"r{suffix}"
    with pytest.raises(ldp.InvalidArgument, match=says):
        io.privatize_file(path, out, "job", ONE.collector(), name=name, keep=keep)
    if name == "report":
        with pytest.raises(ldp.InvalidArgument, match="none of the reports' own: start_1"):
            io.privatize_strings(path, out, "job", SURVEY.collector(), keep=["survey_fingerprint"])
    assert not out.exists()


# -- the specification beside the reports ----------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_a_specification_appears_with_the_reports(force, tmp_path):
    source, out, spec = answers(tmp_path), tmp_path / "r.csv", tmp_path / "s.json"
    if force:
        out.write_text("old")
        spec.write_text("old")
    how: dict[str, Any] = {"force": force, "specification": spec}
    with pytest.raises(ldp.UnknownCategory):
        io.privatize_file(source, out, "paid", ONE.collector(), **how)
    assert out.exists() == spec.exists() == force
    assert not force or out.read_text() == spec.read_text() == "old"
    io.privatize_file(source, out, "job", ONE.collector(), **how)
    assert io.read_counts(out, io.read_mechanism(spec)).nobs == 60
    with pytest.raises(ldp.InvalidArgument, match=r"'.*s\.json': already exists"):
        io.privatize_file(source, tmp_path / "n.csv", "job", ONE.collector(), specification=spec)
    assert not (tmp_path / "n.csv").exists()
    for other, says in ((source, "is the file that is read"), (tmp_path / "n.csv", "given twice")):
        with pytest.raises(ldp.InvalidArgument, match=says):
            io.privatize_file(
                source, tmp_path / "n.csv", "job", ONE.collector(), specification=other, force=True
            )


def test_the_specification_of_a_survey_too(tmp_path):
    source, out, spec = tmp_path / "a.csv", tmp_path / "r.csv", tmp_path / "s.json"
    source.write_text("word\nabc\nzz\n")
    with pytest.raises(ldp.InvalidArgument, match="row 2"):
        io.privatize_strings(source, out, "word", SURVEY.collector(), specification=spec)
    assert not out.exists() and not spec.exists()
    source.write_text("word\nabc\n")
    io.privatize_strings(source, out, "word", SURVEY.collector(), specification=spec)
    assert len(io.read_dictionary_reports(out, io.read_survey(spec))) == 1


def test_the_command_line_refuses_another_epsilon(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answers(tmp_path)
    made = "--column job --mechanism krr --categories nurse,teacher,driver".split()
    for epsilon in ("1", "2"):
        files = [f"r{epsilon}.csv", *made, "--epsilon", epsilon, "--write-spec", f"s{epsilon}.json"]
        assert main(["privatize", "a.csv", *files]) == 0
    capsys.readouterr()
    assert main(["fit", "r1.csv", "--spec", "s1.json", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["nobs"] == 60
    assert main(["fit", "r1.csv", "--spec", "s2.json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "row 1: the report is of a mechanism" in err
