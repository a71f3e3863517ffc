"""Fit and associate on complex samples: they print what a survey says, or one clear line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.cli import main

JOBS = ("nurse", "cook", "driver")
JOB = ["--questionnaire", "sheet.json", "--column", "job"]
STAGES = ["--weights", "w", "--strata", "area", "--clusters", "town"]
STAGES += ["--fpc", "towns", "--fpc", "persons"]
DESIGN: dict[str, Any] = {"weights": "w", "strata": "area", "clusters": "town"}
DESIGN |= {"fpc": ["towns", "persons"]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Towns in areas, and persons in towns, in the current directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    town = np.repeat(np.arange(20), 30)
    people = pd.DataFrame({"job": rng.choice(JOBS, 600), "town": town, "area": town % 4})
    people["late"] = np.where(rng.random(600) < 0.2 + 0.5 * (people["job"] == "cook"), "y", "n")
    people["sex"] = rng.choice(["f", "m"], 600)
    people["towns"], people["persons"] = 12, 150 + 10 * town
    people["w"] = people["towns"] / 5 * people["persons"] / 30
    sheet = ldp.Questionnaire({"job": ldp.KRR(JOBS, 3.0), "late": ldp.KRR(("n", "y"), 3.0)})
    sheet.to_json("sheet.json")
    collected = sheet.privatize(people, rng)
    collected.to_csv("table.csv", index=False)
    collected.to_parquet("table.parquet", index=False)
    return tmp_path


def survey(**how: Any) -> ldp.Survey:
    sheet = ldp.Questionnaire.from_json("sheet.json")
    return ldp.Survey("table.csv", sheet, **(how or DESIGN))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_fit_prints_what_the_survey_says(capsys):
    expected = survey().frequencies("job")
    assert printed(capsys, "fit", "table.csv", *JOB, *STAGES) == f"{expected.summary()}\n"
    domains = survey().where("sex == 'f'").frequencies("job", by="area")
    chosen = ["--where", "sex == 'f'", "--by", "area", "--json", "-", "--csv", "jobs.csv"]
    document = json.loads(printed(capsys, "fit", "table.csv", *JOB, *STAGES, *chosen))
    assert document == json.loads(domains.to_json())
    pd.testing.assert_frame_equal(
        domains.to_frame(), pd.read_csv("jobs.csv"), check_dtype=False, rtol=1e-12
    )


def test_an_engine_counts_the_same_cells(capsys):
    expected = printed(capsys, "fit", "table.csv", *JOB, *STAGES)
    assert printed(capsys, "fit", "table.parquet", *JOB, *STAGES) == expected


def test_rules_of_the_design(capsys):
    """Weights that follow from corrections, a stage without strata, and rules."""
    argv = ["fit", "table.csv", *JOB, *STAGES[2:]]
    one = survey(strata="area", clusters="town", fpc=["towns", "persons"]).frequencies("job")
    assert printed(capsys, *argv) == f"{one.summary()}\n"
    argv = ["fit", "table.csv", *JOB, "--weights", "w", "--strata", "-"]
    argv += ["--clusters", "town", "--not-nested", "--single-unit", "average"]
    how: dict[str, Any] = {"strata": "", "single_unit": "average", "nested": False}
    two = survey(weights="w", clusters="town", **how).frequencies("job")
    assert printed(capsys, *argv) == f"{two.summary()}\n"


def test_associate_prints_what_the_survey_says(capsys):
    expected = survey().where("area == 1").association("job", "late")
    argv = ["associate", "table.csv", *JOB, "--column", "late", *STAGES, "--where", "area == 1"]
    assert printed(capsys, *argv) == f"{expected.summary()}\n"
    document = json.loads(printed(capsys, *argv, "--json", "-"))
    assert document.pop("test") == json.loads(json.dumps(expected.test_independence().to_dict()))
    assert document == json.loads(expected.to_json())


GOOD = ("fit", "table.csv", *JOB, *STAGES)
PAIR = ("associate", "table.csv", *JOB, "--column", "late", *STAGES)
BAD = {
    (*GOOD, "--detect", "holm"): "--detect='holm': goes without --weights",
    (*GOOD, "--weights", "w"): "argument --weights: given twice",
    (*GOOD, "--single-unit", "x"): "--single-unit: invalid choice",
    (*GOOD, "--clusters", "-"): "--clusters='-': goes with --strata only",
    (*GOOD, "--by", "late"): "is private",
    ("fit", "table.csv", *JOB, "--weights", ""): "--weights='': must be the name of a column",
    (*GOOD, "--strata", ""): "--strata='': must be the name of a column",
    ("fit", "table.csv", *JOB, "--weights", "v"): "no such column",
    ("fit", "table.csv", *JOB, "--clusters", "town"): "weights=None",
    ("fit", "table.csv", *JOB, "--not-nested"): "--not-nested=True: goes with the columns",
    ("fit", "table.csv", "--spec", "a.json", "--weights", "w"): "--questionnaire only",
    (*PAIR, "--test", "wald"): "--test='wald': goes without --weights",
    (*PAIR, "--permutations", "9", "--seed", "1"): "--permutations=9: goes without",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_options_are_refused_in_one_line(arguments, refused):
    refused(arguments, BAD[arguments])
