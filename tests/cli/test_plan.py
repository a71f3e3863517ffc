"""ldpstats plan: mechanisms before a survey."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused

import ldpstats as ldp
from ldpstats import io as files
from ldpstats import planning
from ldpstats.cli import main

JOBS = ("nurse", "cook", "driver")
LIST = ("--categories", "nurse,cook,driver")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files.write_mechanism(ldp.URR(JOBS, ["cook"], 1.0), "urr.json")
    files.write_mechanism(ldp.ORR(8, 8, epsilon=2.0), "orr.json")
    files.write_mechanism(ldp.KRR(5, 2.0), "five.json")
    Path("jobs.txt").write_text("\n".join(JOBS))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plan", *arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def frame(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def test_standard_errors(capsys: pytest.CaptureFixture[str]) -> None:
    how = (*LIST, "--epsilon", "1", "--epsilon", "2", "--n", "500", "--p", "0.5,0.3,0.2")
    how += tuple(word for kind in ("krr", "krappor", "oue") for word in ("--mechanism", kind))
    table = frame(printed(capsys, *how, "--csv", "-"))
    assert list(table["mechanism"]) == ["k-RR", "k-RAPPOR", "OUE"] * 2
    assert list(table["epsilon"]) == [1.0] * 3 + [2.0] * 3
    found = planning.precision(ldp.KRR(JOBS, 2.0), [0.5, 0.3, 0.2], 500)
    assert table["se"][3] == pytest.approx(found.se.max())
    assert table["effective_share"][3] == pytest.approx(found.effective_share)
    assert np.allclose(table["ratio"], (table["se"] / table["se"].min()) ** 2)
    text = printed(capsys, *how)
    assert f"{found.se.max():.4g}" in text and "Respondents:" in text and "the worst" in text


@pytest.mark.parametrize("kind", ["se", "width", "relative"])
def test_respondents(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--category", "cook", "--design-effect", "1.4", "--alpha", "0.1", f"--{kind}", "0.03")
    out = printed(capsys, *LIST, "--epsilon", "1", "--mechanism", "oue", *how, "--json", "-")
    document = json.loads(out)
    given: dict[str, Any] = {kind: 0.03, "category": "cook", "design_effect": 1.4, "alpha": 0.1}
    (row,) = document.pop("mechanisms")
    assert row["respondents"] == planning.sample_size(ldp.KRAPPOR(JOBS, 1.0, 0.5), **given)
    assert row["mechanism"] == "OUE" and document == given


def test_specifications_and_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--spec", "urr.json", "--spec", "orr.json", "--candidates", "jobs.txt", "--n", "900")
    table = frame(printed(capsys, *how, "--csv", "-"))
    hashed = planning.precision(ldp.ORR(8, 8, epsilon=2.0), None, 900, candidates=JOBS)
    assert table["se"][1] == pytest.approx(hashed.se.max())
    both = frame(printed(capsys, *LIST, "--epsilon", "3", "--spec", "urr.json", "--n", "9",
                         "--csv", "-"))  # fmt: skip
    assert len(both) == 8 and "URR" in both["mechanism"][7]


def test_numbers_of_categories_and_their_labels(capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--categories", "4", "--epsilon", "1", "--se", "0.1", "--category", "3")
    out = printed(capsys, *how, "--p", "0.7,0.1,0.1,0.1", "--json", "-")
    document = json.loads(out)
    assert document["category"] == 3
    p = [0.7, 0.1, 0.1, 0.1]
    needed = planning.sample_size(ldp.KRR(4, 1.0), p, se=0.1, category=3)
    assert document["mechanisms"][0]["respondents"] == needed


def test_the_shares_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--epsilon", "1", "--mechanism", "krr", "--n", "900")
    two = ("--categories", "no,yes", *how)
    assert re.search(r"^Shares: +equal \(no --p\) *$", printed(capsys, *two), re.M)
    given = printed(capsys, *two, "--p", ".95,.05")
    assert re.search(r"^Shares: +no 0.95, yes 0.05 *$", given, re.M)
    many = printed(capsys, "--categories", "4", *how, "--p", "0.71,0.1,0.1,0.09")
    assert re.search(r"^Shares: +see below", many, re.M)
    assert "\nShares: 0 0.71, 1 0.1, 2 0.1, 3 0.09.\n" in many


def test_files_appear_together(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    how = (*LIST, "--epsilon", "1", "--spec", "urr.json", "--n", "900", "--title", "Jobs",
           "--mechanism", "krr")  # fmt: skip
    names = ("--plot", "plan.png", "--csv", "plan.csv", "--json", "plan.json")
    text = printed(capsys, *how, *names)
    assert matplotlib.image.imread("plan.png").shape[0] > 300
    assert frame(Path("plan.csv").read_text())["se"][0] == pytest.approx(
        json.loads(Path("plan.json").read_text())["mechanisms"][0]["se"]
    )
    assert "k-RR" in text
    drawn = Path("plan.png").read_bytes()
    refused(["plan", *how, *names], "already exists", capsys)
    assert Path("plan.png").read_bytes() == drawn
    printed(capsys, *how, *names, "--force")
    assert Path("plan.png").read_bytes() == drawn  # the same plan, the same file


def test_without_privacy_there_is_no_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    files.write_mechanism(ldp.Observed(JOBS), "direct.json")
    how = ("--spec", "direct.json", "--se", "0.05")
    (row,) = json.loads(printed(capsys, *how, "--json", "-"))["mechanisms"]
    assert row["epsilon"] is None and row["respondents"] == 89
    assert "infinite" in printed(capsys, *how)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*LIST, "--epsilon", "1"), "--n --se --width --relative"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--se", "1"), "not allowed with"),
        ((*LIST, "--n", "9"), "--epsilon"),
        ((*LIST, "--epsilon", "1", "--n", "0"), "--n"),
        ((*LIST, "--epsilon", "1", "--se", "nan"), "--se"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--p", "0.5,x"), "--p"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--category", "pilot"), "--category"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--plot", "x.txt"), "plot"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--csv", "-", "--json", "-"), "--csv"),
        ((*LIST, "--epsilon", "1", "--n", "9", "--candidates", "jobs.txt"), "--candidates"),
        (("--spec", "orr.json", "--n", "9"), "--candidates"),
        (("--spec", "urr.json", "--n", "9", "--json", "urr.json"), "urr.json"),
    ],
)
def test_bad_command_lines(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(["plan", *arguments], says, capsys)
