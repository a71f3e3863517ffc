"""Questions that groups are asked with different devices, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.cli import main


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Specifications of a cheating detection design, its questionnaire and true answers."""
    monkeypatch.chdir(tmp_path)
    for group, yes in (("one", "1/6"), ("two", "1/2")):
        params = ("--param", f"p_yes={yes}", "--param", "p_no=1/6")
        written = ("--write-spec", f"{group}.json")
        assert main(["device", "cheating-detection", *params, *written]) == 0
    groups = ("--group", "used", "one", "one.json", "--group", "used", "two", "two.json")
    assert main(["questionnaire", "sheet.json", *groups]) == 0
    rng = np.random.default_rng(1)
    answers = {"used": rng.choice(["no", "yes"], 900), "used_cohort": ["one", "two", "two"] * 300}
    pd.DataFrame(answers).to_csv("answers.csv", index=False)


def test_from_devices_to_estimates(asked: None, capsys: pytest.CaptureFixture[str]) -> None:
    simulated = ("privatize", "answers.csv", "reports.csv", "--questionnaire", "sheet.json")
    assert main([*simulated]) == 2
    assert "--param used.cheating=0.1" in capsys.readouterr().err
    assert main([*simulated, "--param", "used.cheating=.1"]) == 0
    reports = pd.read_csv("reports.csv")["used"]
    named = pd.read_csv("answers.csv")["used_cohort"]
    assert (reports.str.split(":").str[0] == named).all()  # the table assigns groups
    capsys.readouterr()
    fit = ("fit", "reports.csv", "--questionnaire", "sheet.json", "--column", "used")
    assert main([*fit, "--csv", "-"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    sheet = ldp.Questionnaire.from_json("sheet.json")
    found = ldp.Survey("reports.csv", sheet).frequencies("used")
    assert {row[0]: float(row[1]) for row in rows} == pytest.approx(found.params.to_dict())
    assert set(found.params.index) == {"no", "yes", "cheating"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--group", "q", "A", "one.json", "--group", "q", "A", "two.json"), "twice a group of q"),
        (("--group", "q", "A:1", "one.json"), "without a colon"),
        (("--group", "q", "A", "krr.json"), "must be a device in each group"),
        (("--group", "q", "A", "one.json", "--question", "q", "two.json"), "of two questions"),
        (("--group", "q", "A", "one.json", "--group", "q", "B", "job.json"), "the categories of"),
    ],
)
def test_groups_that_do_not_go_together(
    asked: None, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    Path("krr.json").write_text(json.dumps(ldp.KRR(("no", "yes"), 1.0).to_dict()))
    main(["device", "forced-categories", "--param", "shares=a=.1,b=.1", "--write-spec", "job.json"])
    assert main(["questionnaire", "bad.json", *options]) == 2
    assert words in capsys.readouterr().err
    assert not Path("bad.json").exists()


@pytest.mark.parametrize("param", ["cheating=.1", "used.cheating", "used.cheating=2", "x.y=.1"])
def test_values_that_are_no_parameters(asked: None, param: str) -> None:
    simulated = ("privatize", "answers.csv", "reports.csv", "--questionnaire", "sheet.json")
    assert main([*simulated, "--param", param]) == 2
    assert not Path("reports.csv").exists()
