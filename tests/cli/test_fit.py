"""ldpstats fit: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context
from shared.job_runs import JOBS, fit, privatize

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main


def test_the_summary_is_that_of_the_api(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = files.read_counts(reports / "reports.csv", ldp.KRR(JOBS, 1.0))
    results = ldp.FrequencyModel(counts).fit()
    assert fit(reports, "--alpha", "0.1", "--max-rows", "2") == 0
    assert capsys.readouterr() == (f"{results.summary(0.1, 2)}\n", "")


@pytest.mark.parametrize("method", ["em", "inversion"])
def test_every_method_can_be_asked_for(
    method: str, reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mechanism = ldp.KRAPPOR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, reports / "reports.parquet")
    files.write_mechanism(mechanism, reports / "spec.json", force=True)
    assert fit(reports, "--method", method, "--json", "-", suffix=".parquet") == 0
    results = ldp.FrequencyModel(drawn).fit(method)
    assert json.loads(capsys.readouterr().out) == results.to_dict()


def test_json_is_that_of_the_results(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = files.read_counts(reports / "reports.csv", ldp.KRR(JOBS, 1.0))
    results = ldp.FrequencyModel(counts).fit()
    assert fit(reports, "--json", str(reports / "out.json")) == 0
    assert capsys.readouterr().out == f"{results.summary()}\n"
    text = (reports / "out.json").read_text()
    assert json.loads(text) == results.to_dict()
    assert ldp.FrequencyResults.from_json(text).to_dict() == results.to_dict()


def test_bit_sums_use_inversion(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = ldp.KRAPPOR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, reports / "reports.csv.gz")
    files.write_mechanism(mechanism, reports / "spec.json", force=True)
    assert fit(reports, "--bits", "--json", "-", suffix=".csv.gz") == 0
    document = json.loads(capsys.readouterr().out)
    assert document == ldp.FrequencyModel(drawn.tally(bits=True)).fit().to_dict()
    assert document["method"] == "inversion"


def test_counts_in_a_column(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reports / "counts.csv").write_text("answer,n\nnurse,40\nteacher,33\ndriver,27\n")
    arguments = ["--spec", str(reports / "spec.json"), "--column", "answer", "--count", "n"]
    assert main(["fit", str(reports / "counts.csv"), *arguments, "--json", "-"]) == 0
    expected = ldp.FrequencyModel(ldp.KRR(JOBS, 1.0).counts([40, 33, 27]), name="answer").fit()
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


def test_a_plot_has_the_title_that_is_asked_for(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []
    for more in ([], ["--title", "Jobs in $ and $"], ["--title", ""]):
        with rc_context({"svg.fonttype": "none"}):
            assert fit(reports, "--plot", str(reports / "f.svg"), "--force", *more) == 0
        made.append((reports / "f.svg").read_text())
    assert ["KRR(k=3, epsilon=1), n = " in svg for svg in made] == [True, False, False]
    assert ["Jobs in $ and $" in svg for svg in made] == [False, True, False]
    assert fit(reports, "--title", "Jobs") == 2
    assert "--title='Jobs': goes with --plot" in capsys.readouterr().err


def test_the_same_input_gives_the_same_bytes(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str) -> list[bytes]:
        made = [reports / f"{name}{suffix}" for suffix in (".json", ".svg", ".pdf")]
        for plot in made[1:]:
            assert fit(reports, "--json", str(made[0]), "--plot", str(plot), "--force") == 0
        return [path.read_bytes() for path in made] + [capsys.readouterr().out.encode()]

    assert run("a") == run("b")


def test_files_are_overwritten_only_on_request(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = reports / "old.json"
    old.write_text("mine")
    assert fit(reports, "--json", str(old)) == 2
    assert old.read_text() == "mine" and capsys.readouterr().out == ""
    assert fit(reports, "--json", str(old), "--force") == 0
    assert json.loads(old.read_text())["nobs"] == 300


def test_a_failure_leaves_no_specification(answers: Path) -> None:
    (answers / "answers.csv").write_text("id,job\n1,nurse\n2,cook\n")
    assert privatize(answers, "krr", ".csv", ".csv") == 2
    assert not (answers / "spec.json").exists() and not (answers / "reports.csv").exists()
    (answers / "reports.csv").write_text("mine")  # nor where the other file cannot be written
    assert privatize(answers, "krr", ".parquet", ".csv") == 2
    assert not (answers / "spec.json").exists()
