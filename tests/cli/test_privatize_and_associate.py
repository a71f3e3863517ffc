"""From answers to two questions to their joint distribution, by two runs of privatize."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused
from shared.joint_commands import BOTH, JOB, JOBS, LATE, LAW, TARDY, document

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """20,000 answers to two questions with exact shares, as CSV and as Parquet."""
    monkeypatch.chdir(tmp_path)
    cells = np.repeat(np.arange(6), (LAW.reshape(-1) * 20_000).round().astype(int))
    job, late = np.unravel_index(cells, LAW.shape)
    table = pd.DataFrame({"job": np.array(JOBS)[job], "late": np.array(LATE)[late]})
    table.insert(0, "who", np.arange(len(table)))
    table.to_csv("answers.csv", index=False)
    table.to_parquet("answers.parquet")
    files.write_mechanism(JOB, "job.json")
    files.write_mechanism(TARDY, "late.json")
    return tmp_path


def near_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    results = ldp.AssociationResults.from_dict(document(capsys))
    # The client's randomness cannot be fixed here. Each estimate is normal to a good approximation
    # at this size, so one of the six is off by 7 standard errors with probability 2e-11.
    z = (results.linear_params.to_numpy() - LAW.reshape(-1)) / results.linear_bse.to_numpy()
    assert np.abs(z).max() < 7 and results.linear_bse.max() < 0.02
    # 8 standard errors of association or more: independence is rejected unless a chi-square of
    # noncentrality above 200 on 2 df falls below 20
    assert results.independence is not None and results.independence.pvalue < 1e-4


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_two_runs_that_keep_the_respondent(
    suffix: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("job", "late"):
        paths = [f"answers{suffix}", f"{name}s{suffix}"]
        how = ["--column", name, "--spec", f"{name}.json", "--keep", "who"]
        assert main(["privatize", *paths, *how]) == 0
    # in another order: rows do not match, respondents do
    table = pd.concat(files.read_columns(f"lates{suffix}", ["report", "who"]))[::-1]
    table.to_csv("reversed.csv", index=False)
    capsys.readouterr()
    specs = ["--spec", "job.json", "--spec", "late.json", "--name", "job", "--name", "late"]
    for second in (f"lates{suffix}", "reversed.csv"):
        both = [f"jobs{suffix}", "--with", second, "--id", "who"]
        assert main(["associate", *both, *specs, "--json", "-"]) == 0
        near_the_truth(capsys)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_two_runs_to_one_table(
    suffix: str, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = [f"answers{suffix}", f"step{suffix}", "--column", "job", "--spec", "job.json"]
    assert main(["privatize", *first, "--as", "job", "--keep", "late"]) == 0
    second = [f"step{suffix}", f"reports{suffix}", "--column", "late", "--spec", "late.json"]
    assert main(["privatize", *second, "--as", "late", "--keep", "job"]) == 0
    capsys.readouterr()
    assert main(["associate", f"reports{suffix}", *BOTH, "--json", "-"]) == 0
    near_the_truth(capsys)


def test_a_parquet_file_remembers_its_mechanisms(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ["answers.parquet", "step.parquet", "--column", "job", "--spec", "job.json"]
    assert main(["privatize", *first, "--as", "job", "--keep", "late"]) == 0
    second = ["step.parquet", "reports.parquet", "--column", "late", "--spec", "late.json"]
    assert main(["privatize", *second, "--keep", "job"]) == 0
    capsys.readouterr()
    files.write_mechanism(ldp.KRR(JOBS, 1.0), "job1.json")
    files.write_mechanism(ldp.KRR(LATE, 1.0), "late1.json")
    columns = ["--column", "job", "--column", "report"]
    right = ["--spec", "job.json", "--spec", "late.json"]
    assert main(["associate", "reports.parquet", *columns, *right]) == 0
    capsys.readouterr()
    for specs, says in (
        (["--spec", "job1.json", "--spec", "late.json"], "column 'job' holds reports of"),
        (["--spec", "job.json", "--spec", "late1.json"], "column 'report' holds reports of"),
        (["--spec", "late.json", "--spec", "job.json"], "fingerprint"),
    ):
        refused(["associate", "reports.parquet", *columns, *specs], says, capsys)
