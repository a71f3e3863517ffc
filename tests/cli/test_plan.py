"""ldpstats plan: mechanisms before a survey."""

from __future__ import annotations

import io
import json
import re
from math import log
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from golden.commands import DEVICES
from shared.command_refusals import refused

import ldpstats as ldp
from ldpstats import io as files
from ldpstats import planning
from ldpstats.cli import main
from ldpstats.devices import library

JOBS = ("nurse", "cook", "driver")

LIST = ("--categories", "nurse,cook,driver")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
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


def test_standard_errors(capsys):
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
def test_respondents(kind, capsys):
    how = ("--category", "cook", "--design-effect", "1.4", "--alpha", "0.1", f"--{kind}", "0.03")
    out = printed(capsys, *LIST, "--epsilon", "1", "--mechanism", "oue", *how, "--json", "-")
    document = json.loads(out)
    given: dict[str, Any] = {kind: 0.03, "category": "cook", "design_effect": 1.4, "alpha": 0.1}
    (row,) = document.pop("mechanisms")
    assert row["respondents"] == planning.sample_size(ldp.KRAPPOR(JOBS, 1.0, 0.5), **given)
    assert row["mechanism"] == "OUE" and document == given


def test_specifications_and_candidates(capsys):
    how = ("--spec", "urr.json", "--spec", "orr.json", "--candidates", "jobs.txt", "--n", "900")
    table = frame(printed(capsys, *how, "--csv", "-"))
    hashed = planning.precision(ldp.ORR(8, 8, epsilon=2.0), None, 900, candidates=JOBS)
    assert table["se"][1] == pytest.approx(hashed.se.max())
    both = frame(printed(capsys, *LIST, "--epsilon", "3", "--spec", "urr.json", "--n", "9",
                         "--csv", "-"))  # fmt: skip
    assert len(both) == 8 and "URR" in both["mechanism"][7]


def test_numbers_of_categories_and_their_labels(capsys):
    how = ("--categories", "4", "--epsilon", "1", "--se", "0.1", "--category", "3")
    out = printed(capsys, *how, "--p", "0.7,0.1,0.1,0.1", "--json", "-")
    document = json.loads(out)
    assert document["category"] == 3
    p = [0.7, 0.1, 0.1, 0.1]
    needed = planning.sample_size(ldp.KRR(4, 1.0), p, se=0.1, category=3)
    assert document["mechanisms"][0]["respondents"] == needed


def test_the_shares_are_printed(capsys):
    how = ("--epsilon", "1", "--mechanism", "krr", "--n", "900")
    two = ("--categories", "no,yes", *how)
    assert re.search(r"^Shares: +equal \(no --p\) *$", printed(capsys, *two), re.M)
    given = printed(capsys, *two, "--p", ".95,.05")
    assert re.search(r"^Shares: +no 0.95, yes 0.05 *$", given, re.M)
    many = printed(capsys, "--categories", "4", *how, "--p", "0.71,0.1,0.1,0.09")
    assert re.search(r"^Shares: +see below", many, re.M)
    assert "\nShares: 0 0.71, 1 0.1, 2 0.1, 3 0.09.\n" in many


def test_files_appear_together(capsys, folder):
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


def test_without_privacy_there_is_no_epsilon(capsys):
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
def test_bad_command_lines(arguments, says, capsys):
    refused(["plan", *arguments], says, capsys)


# Designs from the literature on the command line.

KUK = ("--device", "kuk", "--param", "p1=.8", "--param", "p2=1/5")


@pytest.fixture
def used(tmp_path, monkeypatch):
    here = tmp_path / "used"
    here.mkdir()
    monkeypatch.chdir(here)
    answers = ["yes"] * 400 + ["no"] * 1600
    pd.DataFrame({"used": answers, "id": range(2000)}).to_csv("answers.csv", index=False)
    return here


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_from_answers_to_estimates(used, capsys):
    names = ("answers.csv", "cards.csv", "--column", "used")
    assert main(["privatize", *names, *KUK, "--write-spec", "kuk.json"]) == 0
    mechanism = files.read_mechanism("kuk.json")
    assert mechanism == library.kuk("4/5", "1/5").mechanism(("no", "yes"))
    assert set(pd.read_csv("cards.csv")["report"]) == {"red", "black"}
    assert main(["audit", "kuk.json"]) == 0
    said(capsys)
    assert main(["fit", "cards.csv", "--spec", "kuk.json", "--json", "-"]) == 0
    results = ldp.FrequencyResults.from_json(said(capsys))
    # 7 standard errors: P = 3e-12, for a client's randomness cannot be fixed
    assert abs(results.linear_params["yes"] - 0.2) < 7 * results.linear_bse["yes"] < 0.15


def test_the_command_prints_writes_and_draws(used, capsys):
    argv = ["device", "kuk", *KUK[2:], "--write-spec", "kuk.json", "--plot", "kuk.png"]
    assert main([*argv, "--json", "kuk_all.json"]) == 0
    out = said(capsys)
    assert "report red  report black" in out and "no           1/5         4/5" in out
    assert f"epsilon: {log(4):.5f}" in out and "2. If your true answer is “yes”, draw" in out
    document = json.loads(Path("kuk_all.json").read_text())
    assert document["probabilities"] == [["1/5", "4/5"], ["4/5", "1/5"]]
    assert document["outputs"] == ["red", "black"] and document["unknown"] == []
    mechanism = files.read_mechanism("kuk.json")
    assert mechanism.instructions() == document["instructions"]
    assert ldp.mechanisms.mechanism_from_dict(document["specification"]) == mechanism
    assert Path("kuk.png").read_bytes().startswith(b"\x89PNG")
    assert main(argv) == 2  # nothing is overwritten
    assert "already exists" in capsys.readouterr().err


def test_unknown_parameters_are_named(used, capsys):
    argv = ["device", "stochastic-lie-detector", "--param", "p=.7"]
    assert main([*argv, "--write-spec", "lies.json"]) == 0
    out = said(capsys)
    assert "1 - honesty  honesty" in out and "unknown: honesty" in out
    assert files.read_mechanism("lies.json").unknown == ("honesty",)
    names = ["privatize", "answers.csv", "out.csv", "--column", "used", "--spec", "lies.json"]
    assert main(names) == 2
    assert "honesty" in capsys.readouterr().err and not Path("out.csv").exists()
    assert main([*argv, "--param", "honesty=1", "--json", "-"]) == 0
    document = json.loads(said(capsys))
    assert document["epsilon"] is None and document["unknown"] == []


def test_audit_and_plan_take_a_design(capsys):
    assert main(["audit", *KUK]) == 0
    assert "the three agree" in said(capsys)
    assert main(["audit", "--device", "mangat", "--param", "p=.6"]) == 1  # it protects a yes only
    said(capsys)
    assert main(["plan", *KUK, "--n", "1000", "--csv", "-"]) == 0
    rows = said(capsys).splitlines()
    assert len(rows) == 2 and "kuk p1=.8 p2=1/5" in rows[1]
    argv = ["plan", *KUK, "--categories", "no,yes", "--epsilon", "1", "--n", "1000", "--csv", "-"]
    assert main(argv) == 0
    assert len(said(capsys).splitlines()) > 5


def test_every_design_is_in_the_golden_record():
    assert set(DEVICES) == set(library.DESIGNS)


def test_answers_of_ones_own(capsys):
    assert main(["device", "forced-dice", "--categories", "nein,ja"]) == 0
    out = said(capsys)
    assert "say “ja”" in out and "report nein" in out
    argv = ["device", "forced-categories", "--categories", "3", "--param", "shares=0=.1,2=.2,1=.1"]
    assert main([*argv, "--json", "-"]) == 0
    document = json.loads(said(capsys))
    assert document["categories"] == 3 and document["probabilities"][0] == ["7/10", "1/10", "1/5"]
    assert main(["device", "kuk", *KUK[2:], "--categories", "2", "--json", "-"]) == 0
    assert json.loads(said(capsys))["categories"] == 2


BAD = [
    (["device", "kukk"], "did you mean 'kuk'"),
    (["device", "kuk"], "--param p1=None: is needed: kuk: p1, p2, [draws]"),
    (["device", "kuk", "--param", "p1"], "--param='p1': must be NAME=VALUE"),
    (["device", "kuk", "--param", "p3=1"], "--param='p3=1': is no parameter of kuk"),
    (["device", "kuk", "--param", "p1=.8", "--param", "p1=.7"], "gives p1 a second time"),
    (["device", "kuk", "--param", "p1=.8", "--param", "p2=1.2"], "--param p2='1.2'"),
    (["device", "kuk", *KUK[2:], "--categories", "a,b,c"], "--categories='a,b,c'"),
    (["device", "kuk", *KUK[2:], "--plot", "kuk.txt"], "plot='kuk.txt'"),
    (["device", "warner", "--param", "p=.7", "--categories", "a,b,c"], "--categories='a,b,c'"),
    (["audit"], "SPEC is missing"),
    (["audit", "--categories", "a,b"], "--categories='a,b': goes with --device only"),
    (["audit", "x.json", *KUK], "--device='kuk': cannot be combined with x.json"),
]

PRIVATIZE = ["privatize", "answers.csv", "out.csv", "--column", "used"]

BAD_TOGETHER = [
    ([*KUK], "--write-spec"),
    ([*KUK, "--write-spec", "k.json", "--mechanism", "krr"], "--mechanism='krr'"),
    (["--spec", "k.json", "--param", "p=1"], "--param=['p=1']"),
    ([*KUK, *KUK, "--write-spec", "k.json"], "--device"),
]


@pytest.mark.parametrize(("argv", "named"), BAD)
def test_errors_name_the_option(argv, named, capsys):
    assert main(argv) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1


@pytest.mark.parametrize(("more", "named"), BAD_TOGETHER)
def test_options_that_do_not_go_together(more, named, used, capsys):
    assert main([*PRIVATIZE, *more]) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1
    assert sorted(path.name for path in used.iterdir()) == ["answers.csv"]


def test_fractions_are_read_exactly(capsys):
    assert main(["device", "warner", "--param", "p=1/3", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == np.log(2)
