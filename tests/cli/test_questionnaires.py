"""Fit and associate on tables of a questionnaire: what they print is what a survey says."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.cli import main

JOBS = ("nurse", "cook", "driver")
JOB = ["--questionnaire", "sheet.json", "--column", "job"]
BOTH = [*JOB, "--column", "late"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A table of a questionnaire in CSV and Parquet, in the current directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"job": rng.choice(JOBS, 3000), "age": rng.integers(18, 80, 3000)})
    people["late"] = np.where(rng.random(3000) < 0.2 + 0.5 * (people["job"] == "cook"), "y", "n")
    people["region"] = rng.choice(["n", "s"], 3000)
    for number, column in enumerate(("job", "late", "region"), start=8):
        people[column] = people[column].mask(np.arange(3000) % number == 0)
    sheet = ldp.Questionnaire({"job": ldp.KRR(JOBS, 3.0), "late": ldp.KRR(("n", "y"), 3.0)})
    sheet.to_json("sheet.json")
    table = sheet.privatize(people, rng)
    table.to_parquet("table.parquet", index=False)
    table.to_csv("table.csv", index=False)
    table.assign(questionnaire_fingerprint=sheet.fingerprint).to_csv("marked.csv", index=False)
    return tmp_path


def survey() -> ldp.Survey:
    return ldp.Survey("table.parquet", ldp.Questionnaire.from_json("sheet.json"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("table", ["table.parquet", "marked.csv"])
def test_fit_prints_what_the_survey_says(table, capsys):
    assert printed(capsys, "fit", table, *JOB) == f"{survey().frequencies('job').summary()}\n"
    where = "18 <= age < 60 and region == 'n'"
    expected = survey().where(where).frequencies("job").summary()
    assert printed(capsys, "fit", table, *JOB, "--where", where) == f"{expected}\n"
    expected = survey().frequencies("region").summary()
    column = ["--questionnaire", "sheet.json", "--column", "region"]
    assert printed(capsys, "fit", table, *column) == f"{expected}\n"


@pytest.mark.parametrize("table", ["table.csv"])
def test_fit_by_groups(table, capsys):
    groups = survey().frequencies("job", by="region")
    assert json.loads(printed(capsys, "fit", table, *JOB, "--by", "region", "--json", "-")) == (
        groups.to_dict()
    )
    out = printed(capsys, "fit", table, *JOB, "--by", "region", "--csv", "-")
    frame = pd.read_csv(StringIO(out))
    assert frame["region"].tolist() == ["n"] * 3 + ["s"] * 3
    assert frame["job"].tolist() == [*JOBS] * 2


def test_fit_writes_the_table_of_estimates(capsys):
    out = printed(capsys, "fit", "table.csv", *JOB, "--csv", "estimates.csv")
    assert out == f"{survey().frequencies('job').summary()}\n"
    frame = pd.read_csv("estimates.csv")
    expected = survey().frequencies("job").to_frame()
    pd.testing.assert_frame_equal(expected, frame, check_dtype=False)
    assert main(["fit", "table.csv", *JOB, "--csv", "estimates.csv"]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["fit", "table.csv", *JOB, "--csv", "estimates.csv", "--force"]) == 0


def test_associate_prints_what_the_survey_says(capsys):
    joint = survey().association("job", "late")
    out = printed(capsys, "associate", "table.csv", *BOTH)
    assert f"{joint.n_missing} of 3000 respondents were left out" in out
    assert [line for line in str(joint.summary()).splitlines() if ":" in line][2] in out
    where = ["--where", "age < 50"]
    young = survey().where("age < 50").association("job", "late")
    out = printed(capsys, "associate", "table.csv", *BOTH, *where)
    assert out.startswith(f"{young.summary()}\n")
    region = survey().association("job", "region")
    columns = [*JOB, "--column", "region", "--test", "wald"]
    out = printed(capsys, "associate", "table.parquet", *columns)
    assert out == f"{region.summary()}\n\n{region.test_independence('wald')}\n"


def test_missing_answers_may_be_refused(capsys):
    for arguments in (["fit", "table.csv", *JOB], ["associate", "table.csv", *BOTH]):
        for more in ([], ["--where", "age > 20"]):
            assert main([*arguments, *more, "--missing", "raise"]) == 2
            assert "missing" in capsys.readouterr().err


BAD = {
    ("fit", "table.csv", *JOB[:2]): "is needed: a question, job, late",
    ("fit", "table.csv", *JOB, "--count", "age"): "--count='age'",
    ("fit", "table.csv", *JOB, "--by", "late"): "is private",
    ("fit", "table.csv", *JOB, "--by", "region,age"): "give --by again for each column",
    ("fit", "table.csv", *JOB, "--by", "region", "--detect", "holm"): "--detect='holm'",
    ("fit", "table.csv", *JOB, "--where", "age = 3"): "write == to compare",
    ("fit", "table.csv", *JOB, "--where", "late == 'y'"): "is private",
    ("fit", "table.csv", *JOB, "--csv", "-", "--json", "-"): "--csv='-'",
    ("fit", "table.csv", *JOB, "--csv", "x.parquet"): "must end in .csv",
    ("fit", "table.csv", "--questionnaire", "sheet.json", "--column", "jbo"): "mean 'job'",
    ("fit", "table.csv", *JOB, "--spec", "a.json"): "not allowed with",
    ("associate", "table.csv", *JOB): "must be given twice or more",
    ("associate", "table.csv", *BOTH, "--with", "b.csv"): "--with=",
    ("associate", "table.csv", *JOB, "--column", "age"): "make bands",
    ("associate", "table.csv", *BOTH, "--where", "age > 100"): "true for nobody",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_options_are_refused_in_one_line(arguments, refused):
    refused(arguments, BAD[arguments])


def test_where_without_a_questionnaire_is_refused(capsys):
    assert main(["fit", "table.csv", "--spec", "a.json", "--where", "age > 3"]) == 2
    assert "goes with --questionnaire only" in capsys.readouterr().err
