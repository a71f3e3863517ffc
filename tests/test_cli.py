"""The command line: from answers to reports to a summary, and nothing else on its streams."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import common
from ldpstats.cli import privatize as privatizing
from ldpstats.cli import program as cli
from ldpstats.cli.program import main
from ldpstats.estimators import ESTIMATORS

JOBS = ("nurse", "teacher", "driver")
SHARES = np.array([0.5, 0.3, 0.2])
FORMATS = (".csv", ".csv.gz", ".parquet")
COMMAND = [sys.executable, "-m", "ldpstats.cli"]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """20,000 answers with exact shares, as CSV and as Parquet."""
    job = np.repeat(JOBS, (SHARES * 20_000).astype(int))
    table = pd.DataFrame({"id": np.arange(job.size), "job": job})
    table.to_csv(tmp_path / "answers.csv", index=False)
    table.to_csv(tmp_path / "answers.csv.gz", index=False)
    table.to_parquet(tmp_path / "answers.parquet")
    return tmp_path


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The same 300 reports whenever it is asked for, with their specification."""
    mechanism = ldp.KRR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, tmp_path / "reports.csv")
    files.write_mechanism(mechanism, tmp_path / "spec.json")
    return tmp_path


def privatize(folder: Path, kind: str, source: str, target: str, *more: str) -> int:
    labels = ["--epsilon", "2", "--categories", ",".join(JOBS)]
    made = ["--mechanism", kind, *labels, "--write-spec", str(folder / "spec.json")]
    paths = [str(folder / f"answers{source}"), str(folder / f"reports{target}")]
    return main(["privatize", *paths, "--column", "job", *made, *more])


def fit(folder: Path, *more: str, suffix: str = ".csv") -> int:
    return main(
        ["fit", str(folder / f"reports{suffix}"), "--spec", str(folder / "spec.json"), *more]
    )


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["krr", "krappor"])
@pytest.mark.parametrize(
    ("source", "target"), [(".csv", ".csv"), (".parquet", ".parquet"), (".csv", ".csv.gz")]
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


@pytest.mark.parametrize("kind", ["urr", "urap"])
@pytest.mark.parametrize("target", FORMATS)
def test_sensitive_answers(
    kind: str, target: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert privatize(answers, kind, ".csv", target, "--sensitive", "driver") == 0
    assert "sensitive=1" in capsys.readouterr().out
    mechanism = files.read_mechanism(answers / "spec.json")
    assert mechanism.sensitive is not None and mechanism.sensitive.tolist() == ["driver"]
    assert fit(answers, "--json", "-", suffix=target) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)
    z = (results.linear_params - SHARES) / results.linear_bse
    assert results.nobs == 20_000 and np.abs(z).max() < 7  # as above
    assert main(["audit", str(answers / "spec.json")]) == 0
    assert "1 of 3 categories are protected" in capsys.readouterr().out


def test_sensitive_answers_are_all_protected(answers: Path) -> None:
    """No driver is reported as something else that is not sensitive."""
    assert privatize(answers, "urr", ".csv", ".csv", "--sensitive", "driver") == 0
    true = pd.read_csv(answers / "answers.csv")["job"]
    told = pd.read_csv(answers / "reports.csv")["report"]
    assert set(told[true == "driver"]) == {"driver"}
    assert (told[true == "nurse"] == "driver").any()


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("urr", [], "--sensitive=None: is needed for urr"),
        ("urap", ["--sensitive", "cook"], "sensitive[0]='cook': is not among the 3 labels"),
        ("urr", ["--sensitive", "nurse,nurse"], "sensitive='nurse': the category occurs twice"),
        ("krr", ["--sensitive", "nurse"], "--sensitive='nurse': is no option of krr"),
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


def test_a_specification_is_used_again(answers: Path) -> None:
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    spec = str(answers / "spec.json")
    arguments = [str(answers / "answers.parquet"), str(answers / "more.parquet")]
    assert main(["privatize", *arguments, "--column", "job", "--spec", spec]) == 0
    assert main(["fit", arguments[1], "--spec", spec]) == 0


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


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", ["krr", "krappor"])
def test_chunks_change_nothing(
    kind: str,
    suffix: str,
    answers: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert privatize(answers, kind, suffix, suffix) == 0
    capsys.readouterr()
    printed = []
    whole = files.read_counts
    for chunk_rows in (100_000, 1234):
        monkeypatch.setattr(
            files, "read_counts", lambda *a, n=chunk_rows, **k: whole(*a, chunk_rows=n, **k)
        )
        assert fit(answers, "--json", "-", suffix=suffix) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


MADE = {
    "krr": (["--epsilon", "1", "--categories", "no,yes"], ldp.KRR(("no", "yes"), 1.0)),
    "krappor": (
        ["--epsilon", "1", "--categories", "no,yes", "--theta", "0.5"],
        ldp.KRAPPOR(("no", "yes"), 1.0, theta=0.5),
    ),
    "warner": (["--epsilon", "1"], ldp.Warner(1.0)),
    "forced-response": (["--p-truth", "0.7", "--p-yes", "0.1"], ldp.ForcedResponse(0.7, 0.1)),
    "unrelated-question": (["--p", "0.7", "--prevalence", "0"], ldp.UnrelatedQuestion(0.7, 0.0)),
    "mangat": (["--p", "0.6"], ldp.Mangat(0.6)),
    "orr": (
        ["--n-outputs", "3", "--n-cohorts", "4", "--epsilon", "3", "--alphabet", "no,yes"],
        ldp.ORR(3, 4, 3.0, alphabet=("no", "yes")),
    ),
    "orappor": (
        [*"--n-bits 4 --n-hashes 1 --n-cohorts 3 --epsilon 2".split(), "--alphabet", "no,yes"],
        ldp.ORAPPOR(4, 1, 3, 2.0, alphabet=("no", "yes")),
    ),
    "rappor": (
        "--n-bits 4 --n-hashes 1 --n-cohorts 3 -f 0.2 --p 0.1 --q 0.8 --alphabet no,yes".split(),
        ldp.RAPPOR(4, 1, 3, 0.2, 0.1, 0.8, alphabet=("no", "yes")),
    ),
}


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


def test_a_device_sets_a_limit(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "1.9") == 2
    assert "max_epsilon=1.9: is less than KRR" in capsys.readouterr().err
    assert not (answers / "reports.csv").exists() and not (answers / "spec.json").exists()
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "2") == 0


@pytest.mark.parametrize(
    ("text", "labels"),
    [("4", 4), ('a,"b,c"', ["a", "b,c"]), ("1,2", ["1", "2"]), ("é,x", ["é", "x"])],
)
def test_labels_on_the_command_line(text: str, labels: Any) -> None:
    assert privatizing._categories(text) == labels


def test_a_number_of_categories(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("job\n0\n3\n1\n")
    paths = [str(tmp_path / "answers.csv"), str(tmp_path / "r.csv")]
    made = ["--mechanism", "krr", "--epsilon", "40", "--categories", "4"]
    spec = ["--write-spec", str(tmp_path / "s.json")]
    assert main(["privatize", *paths, "--column", "job", *made, *spec]) == 0
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [0, 3, 1]  # but for one in e^40


# -- what fit prints and writes --------------------------------------------------------------------


def test_the_summary_is_that_of_the_api(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = files.read_counts(reports / "reports.csv", ldp.KRR(JOBS, 1.0))
    results = ldp.FrequencyModel(counts).fit()
    assert fit(reports, "--alpha", "0.1", "--max-rows", "2") == 0
    assert capsys.readouterr() == (f"{results.summary(0.1, 2)}\n", "")


@pytest.mark.parametrize("method", sorted(set(ESTIMATORS) - {"lasso"}))
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
    expected = ldp.FrequencyModel(ldp.KRR(JOBS, 1.0).counts([40, 33, 27])).fit()
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")]
)
def test_a_plot_is_written(suffix: str, magic: bytes, reports: Path) -> None:
    assert fit(reports, "--plot", str(reports / f"figure{suffix}")) == 0
    assert (reports / f"figure{suffix}").read_bytes().startswith(magic)


def test_the_same_input_gives_the_same_bytes(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str) -> list[bytes]:
        made = [reports / f"{name}{suffix}" for suffix in (".json", ".svg", ".pdf", ".png")]
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


# -- open alphabets --------------------------------------------------------------------------------

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


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", OPEN)
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
        printed.append(json.loads(capsys.readouterr().out))
    assert all(document == printed[0] for document in printed[1:])


REFUSED: list[tuple[str, list[str], str]] = [
    ("no candidates", [], "--candidates"),
    ("a list as a map", ["--map", "fruit.txt"], "goes with --candidates"),
    ("a map in Parquet", ["--map", "map.parquet"], "must end in .csv or .csv.gz"),
    ("both", ["--candidates", "fruit.txt", "--map", "map.csv"], "not allowed with"),
    ("no such file", ["--candidates", "none.txt"], "no such file"),
    ("no such map", ["--map", "none.csv"], "no such file"),
    ("a blank line", ["--candidates", "blank.txt"], "line 2 is blank"),
    ("a candidate twice", ["--candidates", "twice.txt"], "line 3"),
    ("nothing", ["--candidates", "empty.txt"], "is empty"),
    ("not UTF-8", ["--candidates", "latin.txt"], "UTF-8"),
    ("a map that is none", ["--map", "blank.csv"], "row 1 has 1 fields"),
    ("no such correction", ["--candidates", "fruit.txt", "--detect", "none"], "bonferroni"),
    ("no such cohorts", ["--candidates", "fruit.txt", "--cohort", "group"], "group"),
    ("cohorts of reports", ["--candidates", "fruit.txt", "--cohort", "report"], "cohort"),
    ("spec and params", ["--candidates", "fruit.txt", "--params", "params.csv"], "not allowed"),
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
    for name, data in (
        ("blank.txt", b"a\n\nb\n"),
        ("blank.csv", b"a\n\nb\n"),
        ("twice.txt", b"a\nb\na\n"),
        ("empty.txt", b""),
        ("latin.txt", b"caf\xe9\n"),
    ):
        (fruit / name).write_bytes(data)
    monkeypatch.chdir(fruit)
    refused(["fit", "reports.csv", "--spec", "spec.json", *more], says, capsys)


def refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, exit status 2, and no file more or less."""
    before = {path: path.stat().st_size for path in Path().iterdir()}
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("ldpstats: error: ")
    assert says in err and "defect" not in err
    assert {path: path.stat().st_size for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("reports.csv --spec krr.json --candidates fruit.txt", "--candidates"),
        ("reports.csv --spec krr.json --map map.csv", "--map"),
        ("reports.csv --spec orr.json --map map.csv", "RAPPOR only"),
        ("google_counts.csv --params params.csv", "--candidates"),
        ("google_counts.csv --params spec.json --candidates fruit.txt", "known format"),
        ("google_counts.csv --params map.csv --candidates fruit.txt", "k,h,m,p,q,f"),
        ("google_reports.csv --params params.csv --map map.csv --column irr", "--column"),
        ("google_reports.csv --params params.csv --map map.csv --cohort cohort", "--cohort"),
        ("google_reports.csv --params params.csv --map map.csv --na x", "--na"),
        ("reports.csv --params params.csv --map map.csv", "row 1 has 2 fields"),
        ("google_counts.csv --spec spec.json --map map.csv", "no such column"),
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
    files.write_mechanism(ldp.ORR(8, 4, 1.0), fruit / "orr.json")
    monkeypatch.chdir(fruit)
    refused(["fit", *arguments.split()], says, capsys)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("orr --n-outputs 4 --epsilon 1", "--n-cohorts"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --n-bits 4", "--n-bits"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --categories a,b", "--categories"),
        ("orr --n-outputs 2.5 --n-cohorts 2 --epsilon 1", "--n-outputs"),
        ("orr --n-outputs 4 --n-cohorts two --epsilon 1", "--n-cohorts"),
        ("orr --n-outputs 4 --n-cohorts 1e3 --epsilon 1", "--n-cohorts"),
        ("orr --n-outputs 1 --n-cohorts 2 --epsilon 1", "n_outputs"),
        ("orr --n-outputs 4 --n-cohorts 0 --epsilon 1", "n_cohorts"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --alphabet a,a", "alphabet"),
        ('orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --alphabet a,"b', "--alphabet"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --alphabet fig,plum", "row 1"),
        ("orappor --n-bits 4 --n-cohorts 2 --epsilon 1", "--n-hashes"),
        ("orappor --n-bits 4 --n-hashes 0 --n-cohorts 2 --epsilon 1", "n_hashes"),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 --p 0.1 --q 0.5", "--f"),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f 1 --p 0.1 --q 0.5", "f="),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f 0 --p 0.5 --q 0.5", "q="),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f x --p 0.5 --q 0.5", "--f"),
        (
            "rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f 0 --p 0.1 --q 0.5 --hashing md5",
            "hashing",
        ),
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


@pytest.mark.parametrize("method", [[], ["--method", "inversion"], ["--method", "nnls"]])
def test_too_many_candidates_are_refused_before_reports_are_read(
    method: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    files.write_mechanism(ldp.ORR(4, 4, 1.0), "spec.json")
    files.write_mechanism(ldp.ORR(4, 4, 1.0, alphabet=8193), "closed.json")
    Path("few.txt").write_text("".join(f"{i}\n" for i in range(8192)))
    Path("many.txt").write_text("".join(f"{i}\n" for i in range(8193)))
    # there is no table of reports: the number of candidates is complained of first
    fit_ = ["fit", "none.csv", *method, "--spec"]
    refused([*fit_, "spec.json", "--candidates", "many.txt"], "--method lasso", capsys)
    refused([*fit_, "closed.json"], "--method lasso", capsys)
    refused([*fit_, "spec.json", "--candidates", "few.txt"], "no such file", capsys)
    lasso = ["fit", "none.csv", "--method", "lasso", "--spec", "spec.json"]
    refused([*lasso, "--candidates", "many.txt"], "no such file", capsys)


def test_the_help_names_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fit", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "mle (default), inversion (default with candidates or --bits)" in text
    main(["privatize", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "A row is one respondent, who reports once." in text and "RAPPOR.client" in text


def test_the_default_with_candidates(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports_of_fruit(fruit)
    assert fit_open(fruit, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["method"] == "inversion"


@pytest.mark.parametrize("kind", OPEN)
def test_an_audit_of_hashes(kind: str, fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize_open(fruit, kind) == 0
    assert main(["audit", str(fruit / "spec.json")]) == 0
    assert "the three agree" in capsys.readouterr().out


# -- audit -----------------------------------------------------------------------------------------


def test_an_audit(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit = ldp.KRR(JOBS, 1.0).audit()
    assert main(["audit", str(reports / "spec.json")]) == 0
    assert capsys.readouterr().out == f"{audit}\n"
    assert main(["audit", str(reports / "spec.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == audit.to_dict()


def test_an_audit_that_does_not_agree(
    reports: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ldp.KRR, "_sampler_epsilon", lambda self: 2.0 * self.epsilon)
    assert main(["audit", str(reports / "spec.json")]) == 1
    assert "DO NOT AGREE" in capsys.readouterr().out


def test_an_infinite_epsilon_is_valid_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files.write_mechanism(ldp.Mangat(0.6), tmp_path / "spec.json")
    assert main(["audit", str(tmp_path / "spec.json"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["declared"] is None


# -- streams and exits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv", [["--help"], *([c, "--help"] for c in ("privatize", "fit", "associate", "audit"))]
)
def test_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    out = capsys.readouterr()
    assert out.out.startswith("usage: ldpstats") and out.err == ""


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ldpstats {ldp.__version__}\n"


def test_the_examples_of_the_help_are_understood() -> None:
    text = cli._EXAMPLES.replace("\\\n", " ")
    commands = [line.split()[1:] for line in text.splitlines() if line.startswith("  ldpstats")]
    assert len(commands) == 13
    for arguments in commands:
        assert cli._parser().parse_args(arguments).command == arguments[0]


def test_nothing_moves_where_there_is_no_terminal(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not sys.stderr.isatty()
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    assert fit(answers) == 0
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_moves_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm

    class Eager(tqdm.tqdm):  # type: ignore[type-arg]
        def __init__(self, **how: Any) -> None:
            super().__init__(**(how | {"delay": 0, "mininterval": 0}))

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(tqdm, "tqdm", Eager)
    with common.progress("counting") as advance:
        assert advance is not None
        advance(0.25)
        advance(0.5, "grams")
        advance(1.0)
    for words in ("counting  25%", "counting: grams  50%", "counting 100%"):
        assert words in screen.getvalue()


def test_a_warning_is_one_line(
    reports: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ldp.FrequencyModel.fit

    def warning_fit(self: ldp.FrequencyModel, method: Any = None) -> ldp.FrequencyResults:
        warnings.warn("stopped\n  early", ldp.ConvergenceWarning, stacklevel=2)
        return whole(self, method)

    monkeypatch.setattr(ldp.FrequencyModel, "fit", warning_fit)
    assert fit(reports) == 0
    out = capsys.readouterr()
    assert out.err == "ldpstats: warning: stopped early\n" and "nurse" in out.out


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "memory"),
        (ZeroDivisionError("x\ny"), 2, "please report it (ZeroDivisionError"),
    ],
)
def test_no_error_is_a_traceback(
    error: BaseException,
    status: int,
    says: str,
    reports: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(self: ldp.FrequencyModel, method: Any = None) -> ldp.FrequencyResults:
        raise error

    monkeypatch.setattr(ldp.FrequencyModel, "fit", fail)
    assert fit(reports, "--json", str(reports / "out.json")) == status
    out = capsys.readouterr()
    assert out.out == "" and says in out.err and out.err.count("\n") == 1
    assert sorted(path.name for path in reports.iterdir()) == ["reports.csv", "spec.json"]


def test_a_reader_that_leaves_is_no_error(reports: Path) -> None:
    """As in ``ldpstats fit ... | head -n 0``."""
    arguments = ["fit", str(reports / "reports.csv"), "--spec", str(reports / "spec.json")]
    program = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None and program.stderr is not None
    program.stdout.close()
    err = program.stderr.read()
    program.stderr.close()
    assert program.wait() == 141 and err == b""


def test_labels_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    mechanism = ldp.KRR(("café", "thé"), 1.0)
    files.write_mechanism(mechanism, tmp_path / "spec.json")
    (tmp_path / "reports.csv").write_text("report\ncafé\nthé\n", encoding="utf-8")
    arguments = ["fit", str(tmp_path / "reports.csv"), "--spec", str(tmp_path / "spec.json")]
    ran = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env={"PYTHONIOENCODING": "ascii"}
    )
    assert "Traceback" not in ran.stderr
    assert (ran.returncode, ran.stderr.count("\n")) in ((0, 0), (2, 1))


def test_help_is_light() -> None:
    """Asking for help loads no library beyond those of ``import numpy, pandas``."""
    heavy = ["cvxpy", "matplotlib", "numba", "pyarrow.parquet", "scipy", "statsmodels", "tqdm"]
    code = (
        "import sys, numpy, pandas; before = set(sys.modules)\n"
        "from ldpstats.cli.program import main; main(['--help'])\n"
        f"print(sorted(set({heavy}) & (set(sys.modules) - before)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == "[]\n"
