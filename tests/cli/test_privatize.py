"""ldpstats privatize: from answers to reports, and back to estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.job_runs import SHARES, fit, privatize

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main

FORMATS = (".csv", ".csv.gz", ".parquet")


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [("krr", ".csv", ".csv"), ("krr", ".parquet", ".csv.gz"), ("krappor", ".csv", ".parquet")],
)
def test_from_answers_to_estimates(
    kind: str, source: str, target: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert privatize(answers, kind, source, target) == 0
    out = capsys.readouterr()
    assert out.err == "" and "20000 reports" in out.out and "0 missing" in out.out
    assert fit(answers, "--json", "-", suffix=target) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)

    mechanism = files.read_mechanism(answers / "spec.json")
    counts = files.read_counts(answers / f"reports{target}", mechanism)
    assert results.nobs == counts.nobs == 20_000
    expected = ldp.FrequencyModel(counts).fit()
    pd.testing.assert_series_equal(results.params, expected.params)
    # The client's randomness cannot be fixed here. Each estimate is normal to a good approximation
    # at this size, so one of the three is off by 7 standard errors with probability 8e-12.
    z = (results.linear_params - SHARES) / results.linear_bse
    assert np.abs(z).max() < 7
    assert results.linear_bse.max() < 0.02  # so that 7 of them do not cover everything


def test_the_reports_are_noisy(answers: Path) -> None:
    """The negative control: what is written is not what was answered."""
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    true = pd.read_csv(answers / "answers.csv")["job"]
    told = pd.read_csv(answers / "reports.csv")["report"]
    # 2 / (e^2 + 2) = 0.213 of them are false, with a standard error of 0.0029: 7 of these
    assert (told != true).mean() == pytest.approx(2 / (np.exp(2) + 2), abs=0.0203)


@pytest.mark.parametrize(("kind", "target"), [("urr", ".csv"), ("urap", ".parquet")])
def test_sensitive_answers(
    kind: str, target: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert privatize(answers, kind, ".csv", target, "--sensitive", "driver") == 0
    assert "sensitive={'driver'}" in capsys.readouterr().out
    mechanism = files.read_mechanism(answers / "spec.json")
    assert mechanism.sensitive is not None and mechanism.sensitive.tolist() == ["driver"]
    assert fit(answers, "--json", "-", suffix=target) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)
    z = (results.linear_params - SHARES) / results.linear_bse
    assert results.nobs == 20_000 and np.abs(z).max() < 7  # as above
    assert main(["audit", str(answers / "spec.json")]) == 0
    assert "1 of 3 categories are protected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("urr", [], "--sensitive=None: is needed for urr"),
        ("urap", ["--sensitive", "cook"], "sensitive[0]='cook': is not among the 3 labels"),
        ("urr", ["--sensitive", "nurse,nurse"], "sensitive='nurse': the category occurs twice"),
        ("krr", ["--sensitive", "nurse"], "--sensitive='nurse': is not an option of krr"),
    ],
)
def test_sensitive_answers_that_do_not_exist(
    kind: str, given: list[str], words: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert privatize(answers, kind, ".csv", ".csv", *given) == 2
    assert words in capsys.readouterr().err


def test_sensitive_numbers_and_none(answers: Path) -> None:
    pd.DataFrame({"job": [0, 1, 2, 2]}).to_csv(answers / "numbers.csv", index=False)
    for given, labels in (("2", [2]), ("0,2", [0, 2]), ("", [])):
        spec = answers / f"spec{given}.json"
        made = ["--mechanism", "urr", "--epsilon", "1", "--categories", "3", "--sensitive", given]
        paths = [str(answers / "numbers.csv"), str(answers / f"out{given}.csv")]
        argv = ["privatize", *paths, "--column", "job", *made, "--write-spec", str(spec)]
        if not labels:  # nobody is protected
            assert main(argv) == 2 and not spec.exists()
            argv.append("--allow-no-privacy")
        assert main(argv) == 0
        found = files.read_mechanism(spec).sensitive
        assert found is not None and found.tolist() == labels


def test_two_runs_differ(answers: Path) -> None:
    """Nothing seeds the client: all of 20,000 reports agree with probability 0.65^20000."""
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    first = (answers / "reports.csv").read_bytes()
    assert privatize(answers, "krr", ".csv", ".csv", "--force") == 0
    assert (answers / "reports.csv").read_bytes() != first


def test_missing_answers_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.csv").write_text("id,job\n1,nurse\n2,\n3,NA\n4,driver\n")
    missing = ["--missing", "count", "--na", "NA"]
    assert privatize(tmp_path, "krr", ".csv", ".csv", *missing) == 0
    assert "2 reports" in (out := capsys.readouterr().out) and "2 missing" in out
    assert fit(tmp_path, "--json", "-", "--missing", "count") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["nobs"], document["n_missing"]) == (2, 2)
    assert fit(tmp_path) == 2


def test_other_columns_are_kept_on_request(answers: Path) -> None:
    assert privatize(answers, "krr", ".csv", ".csv", "--keep", "id") == 0
    table = pd.read_csv(answers / "reports.csv")
    assert table.columns.tolist() == ["report", "report_fingerprint", "id"]
    assert table["id"].tolist() == list(range(20_000))


MADE = {
    "forced-response": (
        ["--p-truth", "0.7", "--p-yes", "0.1"],
        ldp.ForcedResponse(p_truth=0.7, p_yes=0.1),
    ),
    "unrelated-question": (
        ["--p", "0.7", "--prevalence", "0"],
        ldp.UnrelatedQuestion(p=0.7, prevalence=0.0),
    ),
    "mangat": (["--p", "0.6"], ldp.Mangat(p=0.6)),
    "orr": (
        ["--n-outputs", "3", "--n-cohorts", "4", "--epsilon", "3", "--alphabet", "no,yes"],
        ldp.ORR(3, 4, epsilon=3.0, alphabet=("no", "yes")),
    ),
    "orappor": (
        [*"--n-bits 4 --n-hashes 1 --n-cohorts 3 --epsilon 2".split(), "--alphabet", "no,yes"],
        ldp.ORAPPOR(4, 1, 3, epsilon=2.0, alphabet=("no", "yes")),
    ),
    "rappor": (
        "--n-bits 4 --n-hashes 1 --n-cohorts 3 -f 0.2 --p 0.1 --q 0.8 --alphabet no,yes".split(),
        ldp.RAPPOR(4, 1, 3, f=0.2, p=0.1, q=0.8, alphabet=("no", "yes")),
    ),
}


KINDS = {  # as `planning.plot_frontier` names them
    "krr": ldp.KRR,
    "warner": lambda labels, epsilon: ldp.Warner(epsilon=epsilon, categories=labels),
    "krappor": ldp.KRAPPOR,
    "oue": lambda labels, epsilon: ldp.KRAPPOR(labels, epsilon, theta=0.5),
    "subset-selection": ldp.SubsetSelection,
    "hadamard-response": ldp.HadamardResponse,
    "projective-geometry-response": ldp.ProjectiveGeometryResponse,
    "olh": ldp.OLH,
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_spelled_as_in_plans(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ill\n" + "yes\nno\n" * 20)
    made = ["--mechanism", kind, "--epsilon", "2", "--write-spec", str(tmp_path / "s.json")]
    if kind != "warner":
        made += ["--categories", "no,yes"]
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    assert main(["privatize", *paths, "--column", "ill", *made]) == 0
    assert files.read_mechanism(str(tmp_path / "s.json")) == KINDS[kind](("no", "yes"), 2.0)


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_can_be_made(kind: str, tmp_path: Path) -> None:
    options, mechanism = MADE[kind]
    (tmp_path / "a.csv").write_text("ill\n" + "yes\nno\n" * 20)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    spec = str(tmp_path / "s.json")
    made = ["--mechanism", kind, *options, "--write-spec", spec]
    if not mechanism.audit().private:
        assert main(["privatize", *paths, "--column", "ill", *made]) == 2
        made.append("--allow-no-privacy")
    assert main(["privatize", *paths, "--column", "ill", *made]) == 0
    assert files.read_mechanism(spec) == mechanism
    assert main(["audit", spec]) == (0 if mechanism.audit().private else 1)
    assert main(["fit", paths[1], "--spec", spec, "--method", "inversion"]) == 0


def test_numbers_are_put_in_bins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("age\n" + "5\n15.5\n50\n1e1\n" * 20)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    spec = str(tmp_path / "s.json")
    made = ["--mechanism", "square-wave", "--epsilon", "1", "--write-spec", spec, "--column", "age"]
    for edges, words in (
        ("0,10,x", "--edges='x': must be numbers separated by commas"),
        ("0,10,20", "row 3=(not shown): is in none of the 2 bins '[0, 10)', '[10, 20]'"),
        ("0,10,10", "edges[2]=10.0: does not exceed the edge before it"),
    ):
        assert main(["privatize", *paths, *made, "--edges", edges]) == 2
        assert words in capsys.readouterr().err
    assert main(["privatize", *paths, *made, "--edges", "0,10,20,50", "--half-width", "1"]) == 0
    assert files.read_mechanism(spec) == ldp.SquareWave([0, 10, 20, 50], 1.0, half_width=1)
    assert main(["fit", paths[1], "--spec", spec, "--method", "smoothed"]) == 0
    assert "penalised for roughness" in " ".join(capsys.readouterr().out.split())


def test_a_device_sets_a_limit(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "1.9") == 2
    assert "max_epsilon=1.9: is less than KRR" in capsys.readouterr().err
    assert not (answers / "reports.csv").exists() and not (answers / "spec.json").exists()
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "2") == 0


@pytest.mark.parametrize(
    ("text", "labels"),
    [("4", [0, 1, 2, 3]), ('a,"b,c"', ["a", "b,c"]), ("1,2", ["1", "2"]), ("é,x", ["é", "x"])],
)
def test_labels_on_the_command_line(text: str, labels: list[Any], tmp_path: Path) -> None:
    path = str(tmp_path / "sheet.json")
    assert main(["questionnaire", path, "--observed", "q", text]) == 0
    assert ldp.Questionnaire.from_json(path)["q"].categories.tolist() == labels
