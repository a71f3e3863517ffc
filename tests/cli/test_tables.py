"""One file, several, a folder or a pattern: the same table, whichever engine counts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import spoil

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

JOBS = ("nurse", "cook", "driver")
SITES = [f"site{i}" for i in range(12)]
RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=8, f=0.0, p=0.25, q=0.75)
SHEET = ["--questionnaire", "sheet.json", "--column", "job"]
SPEC = ["--spec", "job.json", "--column", "job"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A table of a questionnaire whole and in three files, in Parquet and CSV."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"job": rng.choice(JOBS, 900), "site": rng.choice(SITES, 900)})
    people["late"] = np.where(rng.random(900) < 0.2 + 0.5 * (people["job"] == "cook"), "y", "n")
    people["region"] = rng.choice(["n", "s"], 900)
    asked = {"job": ldp.KRR(JOBS, 3.0), "late": ldp.KRR(("n", "y"), 3.0), "site": RAPPOR}
    sheet = ldp.Questionnaire(asked)
    sheet.to_json("sheet.json")
    for name, mechanism in asked.items():
        io.write_mechanism(mechanism, f"{name}.json")
    Path("sites.txt").write_text("\n".join(SITES))
    table = sheet.privatize(people, rng)
    whole = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(whole, "whole.parquet")
    table.to_csv("whole.csv", index=False)
    for kind in ("parquet", "csv"):
        Path(kind).mkdir()
    for i in range(3):
        pq.write_table(whole.slice(300 * i, 300), f"parquet/{i}.parquet")
        table[300 * i : 300 * (i + 1)].to_csv(f"csv/{i}.csv", index=False)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def named(kind: str) -> list[list[str]]:
    files = [f"{kind}/{i}.{kind}" for i in range(3)]
    return [[kind], [files[0], f"{kind}/[12].{kind}"]]


COMMANDS = {
    "spec": SPEC,
    "sheet": SHEET,
    "groups": [*SHEET, "--by", "region", "--where", "region in ['n', 's']"],
    "bits": ["--spec", "site.json", "--column", "site", "--candidates", "sites.txt"],
    "sums": ["--spec", "site.json", "--column", "site", "--candidates", "sites.txt", "--bits"],
}


@pytest.mark.parametrize(
    ("command", "kind"),
    [*((name, "parquet") for name in COMMANDS), ("spec", "csv"), ("bits", "csv")],
)
def test_fit_takes_files_in_any_way(command, kind, capsys):
    expected = printed(capsys, "fit", "whole.csv", *COMMANDS[command])
    for names in named(kind):
        assert printed(capsys, "fit", *names, *COMMANDS[command]) == expected
    if kind == "parquet":
        engine = ["--engine", "polars"]
        assert printed(capsys, "fit", kind, *COMMANDS[command], *engine) == expected


@pytest.mark.parametrize(
    ("given", "kind"), [("specs", "csv"), ("sheet", "parquet"), ("public", "parquet")]
)
def test_associate_takes_files_in_any_way(given, kind, capsys):
    columns = ["--column", "job", "--column", "late" if given != "public" else "region"]
    how = ["--questionnaire", "sheet.json", *columns]
    if given == "specs":
        how = ["--spec", "job.json", "--spec", "late.json", *columns]
    expected = printed(capsys, "associate", "whole.csv", *how)
    assert printed(capsys, "associate", f"{kind}/*", *how) == expected


@pytest.mark.parametrize("kind", ["parquet"])
def test_discover_takes_files_in_any_way(kind, capsys):
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abcd", epsilon=9.0)
    io.write_survey(survey, "strings.json")
    rng = np.random.default_rng(2)
    Path("many").mkdir()
    for i in range(3):
        part = survey.privatize(rng.choice(["abcd", "dcba", "aabb"], 500), rng)
        io.write_dictionary_reports(part, f"many/{i}.{kind}")
    how = ["--survey", "strings.json"]
    found = printed(capsys, "discover", "many", *how)
    assert "abcd" in found and "1500" in found
    engine = ["--engine", "polars"] * (kind == "parquet")
    assert printed(capsys, "discover", f"many/0.{kind}", "many/[12]*", *how, *engine) == found
    if kind == "parquet":
        spoil(Path("many/1.parquet"))
        assert main(["discover", "many", *how, "--on-error", "report"]) == 0
        out, err = capsys.readouterr()
        assert "1000" in out and "many/1.parquet: cannot be read" in err and err.count("\n") == 1


def test_a_damaged_file_is_named_or_left_out(capsys):
    survey = ldp.Survey(
        [f"parquet/{i}.parquet" for i in (0, 2)], ldp.Questionnaire.from_json("sheet.json")
    )
    expected = f"{survey.frequencies('job').summary()}\n"
    Path("parquet/1.parquet").write_bytes(Path("parquet/1.parquet").read_bytes()[:-9])
    for how in (SPEC, SHEET):
        assert main(["fit", "parquet", *how]) == 2
        assert "parquet/1.parquet" in capsys.readouterr().err
        assert main(["fit", "parquet", *how, "--on-error", "report"]) == 0
        out, err = capsys.readouterr()
        assert out == expected and err.count("ldpstats: warning:") == err.count("\n") == 1
        assert "parquet/1.parquet" in err and "left out" in err


REFUSED = {
    "fit csv --engine duckdb": "--engine='duckdb': goes with Parquet",
    "fit csv --on-error report": "--on-error='report': goes with Parquet",
    "fit parquet/*.csv": "no file matches",
    "fit parquet/0.parquet parquet/*.parquet": "listed twice",
    "fit parquet csv/0.csv": "of another kind",
    "fit none.csv parquet": "no such file",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_table_is_refused(words, capsys):
    assert main([*words.split(), *SPEC]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and REFUSED[words] in err


def test_two_tables_are_not_taken_for_one(capsys):
    """A second file of `associate` may be another variable's table, or a part of the same."""
    assert main(["associate", "csv/0.csv", "csv/1.csv", *SHEET, "--column", "late"]) == 2
    err = capsys.readouterr().err
    assert "--with csv/1.csv" in err and "pattern in quotes" in err
    how = ["--spec", "job.json", "--spec", "late.json", "--id", "region", "--with", "csv"]
    assert main(["associate", "csv", *how]) == 2
    assert "survey.matched()" in capsys.readouterr().err


@pytest.mark.spark
def test_spark_counts_the_same(spark, capsys):
    for how in COMMANDS.values():
        expected = printed(capsys, "fit", "whole.csv", *how)
        assert printed(capsys, "fit", "parquet", *how, "--engine", "spark") == expected
