"""Designs from the literature on the command line."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main
from ldpstats.devices import library

KUK = ("--device", "kuk", "--param", "p1=.8", "--param", "p2=1/5")


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    answers = ["yes"] * 400 + ["no"] * 1600
    pd.DataFrame({"used": answers, "id": range(2000)}).to_csv("answers.csv", index=False)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_from_answers_to_estimates(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_the_command_prints_writes_and_draws(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_unknown_parameters_are_named(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_audit_and_plan_take_a_design(capsys: pytest.CaptureFixture[str]) -> None:
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


EVERY = {
    "warner": ["p=.7"],
    "forced-response": ["p_yes=1/6", "p-no=1/6"],
    "forced-dice": ["yes=1,2", "no=9,10", "sides=10"],
    "forced-cards": ["truth_cards=8", "yes=1", "no=1"],
    "forced-coins": [],
    "forced-categories": ["shares=no=.1,yes=1/5"],
    "unrelated-question": ["p=.7", "prevalence=1/4", "text=Born in June, or in July?"],
    "moors": ["p=.7", "group=2"],
    "mangat": ["p=.6"],
    "mangat-singh": ["t=1/2", "p=.7"],
    "kuk": ["p1=.8", "p2=.2", "draws=3"],
    "disguised-response": ["p=.8"],
    "christofides": ["proportions=1/2,1/3,1/6"],
    "crosswise": ["p=1/4"],
    "triangular": ["p=1/4"],
    "stochastic-lie-detector": ["p=.6"],
    "cheating-detection": ["p_yes=1/4", "cheating=.1"],
}


def test_every_design_can_be_named() -> None:
    assert set(EVERY) == set(library.DESIGNS)


@pytest.mark.parametrize("name", EVERY)
def test_every_design_has_its_instructions(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    params = [word for param in EVERY[name] for word in ("--param", param)]
    assert main(["device", name, *params]) == 0
    assert "\n1. " in said(capsys)


def test_answers_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_errors_name_the_option(
    argv: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1


@pytest.mark.parametrize(("more", "named"), BAD_TOGETHER)
def test_options_that_do_not_go_together(
    more: list[str], named: str, used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PRIVATIZE, *more]) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1
    assert sorted(path.name for path in used.iterdir()) == ["answers.csv"]


def test_fractions_are_read_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "warner", "--param", "p=1/3", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == np.log(2)
