"""ldpstats privatize and fit over open alphabets: candidates, maps, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused
from shared.job_runs import fit

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main

FRUIT = ("apple", "red pear", "plüm")
OTHERS = ("fig", "quince, raw", "日本")
OPEN = {
    "orr": "--n-outputs 16 --n-cohorts 32 --epsilon 3",
    "orappor": "--n-bits 16 --n-hashes 1 --n-cohorts 16 --epsilon 3",
    "rappor": "--n-bits 16 --n-hashes 2 --n-cohorts 16 -f 0 --p 0.25 --q 0.75",
    "rappor-google": "--n-bits 16 --n-hashes 2 --n-cohorts 16 --f 0.1 --p 0.2 --q 0.8 "
    "--hashing google",
}


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """10,000 strings, and a file of six candidates, three of which are there."""
    table = pd.DataFrame({"id": np.arange(10_000), "fruit": np.repeat(FRUIT, [5000, 3000, 2000])})
    table.to_csv(tmp_path / "answers.csv", index=False)
    table.to_parquet(tmp_path / "answers.parquet")
    (tmp_path / "fruit.txt").write_text("\n".join([*FRUIT, *OTHERS]) + "\n", encoding="utf-8")
    return tmp_path


def privatize_open(folder: Path, kind: str, suffix: str = ".csv") -> int:
    made = ["--mechanism", kind.split("-")[0], *OPEN[kind].split()]
    paths = [str(folder / f"answers{suffix}"), str(folder / f"reports{suffix}")]
    spec = ["--write-spec", str(folder / "spec.json")]
    return main(["privatize", *paths, "--column", "fruit", *made, *spec])


def fit_open(folder: Path, *more: str, suffix: str = ".csv") -> int:
    return fit(folder, "--candidates", str(folder / "fruit.txt"), *more, suffix=suffix)


@pytest.mark.parametrize(("kind", "suffix"), [*zip(OPEN, [".csv", ".parquet"] * 2, strict=True)])
def test_from_strings_to_candidates(
    kind: str, suffix: str, fruit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert privatize_open(fruit, kind, suffix) == 0
    assert "10000 reports" in capsys.readouterr().out
    assert fit_open(fruit, "--json", "-", suffix=suffix) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)
    assert results.categories.tolist() == [*FRUIT, *OTHERS] and results.nobs == 10_000
    # as above: one of six estimates is off by 7 standard errors with probability 2e-11
    z = (results.linear_params - np.r_[0.5, 0.3, 0.2, 0, 0, 0]) / results.linear_bse
    assert np.abs(z).max() < 7 and results.linear_bse.max() < 0.03


def reports_of_fruit(folder: Path) -> ldp.RAPPOR:
    """The same reports whenever it is asked for, with the map of the candidates."""
    rappor = ldp.RAPPOR(16, 2, 16, f=0.0, p=0.25, q=0.75, hashing="google")
    values = np.repeat(FRUIT, [500, 300, 200])
    drawn = rappor.privatize(values.tolist(), np.random.default_rng(2))
    files.write_reports(drawn, folder / "reports.csv")
    files.write_mechanism(rappor, folder / "spec.json")
    files.write_rappor_map([*FRUIT, *OTHERS], rappor, folder / "map.csv")
    files.write_rappor_params(rappor, folder / "params.csv")
    files.write_rappor_counts(drawn.tally(), folder / "google_counts.csv")
    files.write_rappor_reports(drawn, folder / "google_reports.csv")
    return rappor


def test_what_is_detected(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rappor = reports_of_fruit(fruit)
    counts = files.read_counts(fruit / "reports.csv", rappor)
    results = ldp.FrequencyModel(counts, candidates=[*FRUIT, *OTHERS]).fit()
    table = str(results.summary())
    for detect, title in (
        ([], "bonferroni, family-wise error 0.05"),
        (["--detect", "bonferroni"], "bonferroni, family-wise error 0.05"),
        (["--detect", "holm"], "holm, family-wise error 0.05"),
        (["--detect", "bh"], "bh, false discovery rate 0.05"),
    ):
        assert fit_open(fruit, *detect) == 0
        found = results.detected(0.05, detect[1] if detect else "bonferroni")
        assert {"apple", "red pear"} < set(found) and len(found) < 6
        names = "".join(f"  {name}\n" for name in found)
        below = f"\n\nDetected ({title}): {len(found)} of 6\n{names}"
        assert capsys.readouterr() == (table + below, "")


def test_detection_at_another_rate(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports_of_fruit(fruit)
    assert fit_open(fruit, "--alpha", "1e-300", "--detect", "holm") == 0
    assert capsys.readouterr().out.endswith("Detected (holm, family-wise error 1e-300): 0 of 6\n")
    assert fit_open(fruit, "--max-rows", "1") == 0
    assert capsys.readouterr().out.endswith("of 6\n  apple\n  and 2 more\n")


def test_detection_among_known_categories(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(reports) == 0
    assert "Detected" not in capsys.readouterr().out
    assert fit(reports, "--detect", "bh") == 0
    assert "Detected (bh" in capsys.readouterr().out


def test_a_lasso_among_candidates(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rappor = reports_of_fruit(fruit)
    assert fit_open(fruit, "--method", "lasso", "--json", "-") == 0
    counts = files.read_counts(fruit / "reports.csv", rappor)
    expected = ldp.FrequencyModel(counts, candidates=[*FRUIT, *OTHERS]).fit("lasso")
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


def test_every_way_to_the_same_estimates(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Candidates or a map, our files or those of google/rappor, cohorts in or beside reports."""
    reports_of_fruit(fruit)
    table = pd.read_csv(fruit / "reports.csv", dtype=str)["report"].str.split(":", expand=True)
    table.columns = ["group", "told"]
    table.to_csv(fruit / "two.csv", index=False)
    at = {name: str(fruit / name) for name in ("reports.csv", "two.csv", "spec.json", "params.csv")}
    at |= {name: str(fruit / name) for name in ("google_counts.csv", "google_reports.csv")}
    strings = ["--candidates", str(fruit / "fruit.txt")]
    mapped = ["--map", str(fruit / "map.csv")]
    ours, theirs = ["--spec", at["spec.json"]], ["--params", at["params.csv"]]
    printed = []
    for arguments in (
        [at["reports.csv"], *ours, *strings],
        [at["reports.csv"], *ours, *mapped],
        [at["reports.csv"], *ours, *strings, "--bits"],
        [at["two.csv"], *ours, *strings, "--column", "told", "--cohort", "group"],
        [at["google_reports.csv"], *theirs, *mapped],
        [at["google_reports.csv"], *theirs, *strings, "--bits"],
        [at["google_counts.csv"], *theirs, *mapped],
    ):
        assert main(["fit", *arguments, "--method", "inversion", "--json", "-"]) == 0
        printed.append(json.loads(capsys.readouterr().out) | {"name": ""})  # that of --column
        del printed[-1]["fingerprint"]  # of that name too
    assert all(document == printed[0] for document in printed[1:])


REFUSED: list[tuple[str, list[str], str]] = [
    ("no candidates", [], "--candidates"),
    ("a list as a map", ["--map", "fruit.txt"], "goes with --candidates"),
    ("both", ["--candidates", "fruit.txt", "--map", "map.csv"], "not allowed with"),
    ("a blank line", ["--candidates", "blank.txt"], "line 2 is blank"),
    ("no such cohorts", ["--candidates", "fruit.txt", "--cohort", "group"], "group"),
    ("cohorts of reports", ["--candidates", "fruit.txt", "--cohort", "report"], "cohort"),
    ("read and written", ["--candidates", "fruit.txt", "--json", "fruit.txt", "--force"], "twice"),
]


@pytest.mark.parametrize(("more", "says"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_candidates_are_refused(
    more: list[str],
    says: str,
    fruit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports_of_fruit(fruit)
    for name, data in (("blank.txt", b"a\n\nb\n"),):
        (fruit / name).write_bytes(data)
    monkeypatch.chdir(fruit)
    refused(["fit", "reports.csv", "--spec", "spec.json", *more], says, capsys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("reports.csv --spec orr.json --map map.csv", "RAPPOR only"),
        ("google_counts.csv --params params.csv", "--candidates"),
        ("google_reports.csv --params params.csv --map map.csv --column irr", "--column"),
        ("google_reports.csv --params params.csv --map map.csv --cohort cohort", "--cohort"),
        ("google_reports.csv --params params.csv --map map.csv --na x", "--na"),
        ("reports.csv --params params.csv --map map.csv", "row 1 has 2 fields"),
    ],
)
def test_files_that_do_not_go_together(
    arguments: str,
    says: str,
    fruit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports_of_fruit(fruit)
    files.write_mechanism(ldp.KRR(FRUIT, 1.0), fruit / "krr.json")
    files.write_mechanism(ldp.ORR(8, 4, epsilon=1.0), fruit / "orr.json")
    monkeypatch.chdir(fruit)
    refused(["fit", *arguments.split()], says, capsys)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("orr --n-outputs 4 --epsilon 1", "--n-cohorts"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --n-bits 4", "--n-bits"),
        ("orr --n-outputs 2.5 --n-cohorts 2 --epsilon 1", "--n-outputs"),
        ('orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --alphabet a,"b', "--alphabet"),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 --p 0.1 --q 0.5", "--f"),
        (
            "rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f 0 --p 0.1 --q 0.5 --epsilon 1",
            "--epsilon",
        ),
        ("krr --categories a,b --epsilon 1 --alphabet a,b", "--alphabet"),
    ],
)
def test_mechanisms_are_refused(
    made: str,
    says: str,
    fruit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(fruit)
    paths = ["answers.csv", "out.csv", "--column", "fruit", "--write-spec", "new.json"]
    refused(["privatize", *paths, "--mechanism", *made.split()], says, capsys)


@pytest.mark.parametrize("method", [[]])
def test_too_many_candidates_are_refused_before_reports_are_read(
    method: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    files.write_mechanism(ldp.ORR(4, 4, epsilon=1.0), "spec.json")
    files.write_mechanism(ldp.ORR(4, 4, epsilon=1.0, alphabet=8193), "closed.json")
    Path("few.txt").write_text("".join(f"{i}\n" for i in range(8192)))
    Path("many.txt").write_text("".join(f"{i}\n" for i in range(8193)))
    # there is no table of reports: the number of candidates is complained of first
    fit_ = ["fit", "none.csv", *method, "--spec"]
    refused([*fit_, "spec.json", "--candidates", "many.txt"], "--method lasso", capsys)
    refused([*fit_, "closed.json"], "--method lasso", capsys)
    refused([*fit_, "spec.json", "--candidates", "few.txt"], "no such file", capsys)
    lasso = ["fit", "none.csv", "--method", "lasso", "--spec", "spec.json"]
    refused([*lasso, "--candidates", "many.txt"], "no such file", capsys)
