"""Answers and reports that several tests of the command line start from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared.job_runs import JOBS, SHARES

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main


@pytest.fixture
def answers(tmp_path):
    """20,000 answers with exact shares, as CSV and as Parquet."""
    job = np.repeat(JOBS, (SHARES * 20_000).astype(int))
    table = pd.DataFrame({"id": np.arange(job.size), "job": job})
    table.to_csv(tmp_path / "answers.csv", index=False)
    table.to_csv(tmp_path / "answers.csv.gz", index=False)
    table.to_parquet(tmp_path / "answers.parquet")
    return tmp_path


@pytest.fixture
def reports(tmp_path):
    """The same 300 reports whenever it is asked for, with their specification."""
    mechanism = ldp.KRR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, tmp_path / "reports.csv")
    files.write_mechanism(mechanism, tmp_path / "spec.json")
    return tmp_path


@pytest.fixture
def refused(capsys):
    """Whether a command line is refused in one line, with certain words, and writes nothing."""

    def check(arguments: tuple[str, ...], words: str) -> None:
        before = sorted(path.name for path in Path.cwd().iterdir())
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert words in err and err.count("\n") == 1
        assert sorted(path.name for path in Path.cwd().iterdir()) == before

    return check
