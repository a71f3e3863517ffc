"""Answers of a file made into reports, chunk by chunk."""

from __future__ import annotations

import datetime
import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.written_tables import FORMATS, answers, rng, same, text_file

import ldpstats as ldp
from ldpstats import io

JOBS = ("nurse", "teacher", "driver")
# tells the truth but for one answer in e^40 / k, so that a test can see which row went where
HONEST = ldp.KRR(JOBS, epsilon=40.0)


# -- privatising a file ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_rows_keep_their_order(source: str, target: str, tmp_path: Path) -> None:
    job = np.array(JOBS, dtype=object)[rng().integers(0, 3, 500)]
    job[::50] = None
    table = pd.DataFrame({"id": np.arange(500), "job": job})
    path = tmp_path / f"a{source}"
    table.to_parquet(path) if source == ".parquet" else table.to_csv(path, index=False)
    out = tmp_path / f"r{target}"
    done = io.privatize_file(
        path, out, "job", HONEST.collector(), keep=["id"], missing="count", chunk_rows=120
    )
    assert done == (490, 10)
    frames = list(io.read_columns(out, ["report", "id"]))
    again = pd.concat(frames, ignore_index=True)
    assert again["id"].astype(int).tolist() == list(range(500))
    reports = [None if pd.isna(v) else v for v in again["report"]]
    # each of the 490 differs with probability 2 e^-40
    assert reports == job.tolist()


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_true_column_is_not_copied(suffix: str, tmp_path: Path) -> None:
    path = text_file(tmp_path / "a.csv", "secret,sex\n" + "yes,f\n" * 40)
    out = tmp_path / f"r{suffix}"
    client = ldp.Warner(epsilon=1.0).collector()
    io.privatize_file(path, out, "secret", client, keep=["sex"])
    frame = pd.read_parquet(out) if suffix == ".parquet" else pd.read_csv(out)
    digits = [] if suffix == ".parquet" else ["report_fingerprint"]
    assert frame.columns.tolist() == ["report", *digits, "sex"]
    raw = out.read_bytes()
    assert b"secret" not in (gzip.decompress(raw) if suffix == ".csv.gz" else raw)
    # 40 true answers would be all "yes"; 40 reports are, with probability 0.73^40 = 4e-6
    assert set(frame["report"]) == {"no", "yes"}


def test_kept_columns_keep_their_types(tmp_path: Path) -> None:
    kept = pyarrow.table(
        {
            "job": JOBS,
            "age": pyarrow.array([30, None, 50], pyarrow.int16()),
            "day": pyarrow.array([datetime.date(2024, 1, 1), None, None]),
            "sex": pyarrow.array(["f", None, "m"]).dictionary_encode(),
        }
    )
    pyarrow.parquet.write_table(kept, tmp_path / "a.parquet")
    names = ["sex", "age", "day"]
    io.privatize_file(
        tmp_path / "a.parquet", tmp_path / "r.parquet", "job", HONEST.collector(), keep=names
    )
    again = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert again.column_names == ["report", *names]
    for name in ("age", "day"):
        assert again[name].equals(kept[name])
    assert again["sex"].to_pylist() == ["f", None, "m"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_failure_leaves_nothing(suffix: str, tmp_path: Path) -> None:
    path = text_file(tmp_path / "a.csv", "job\n" + "nurse\n" * 50 + "cook\n")
    with pytest.raises(ldp.UnknownCategory, match="row 51"):
        io.privatize_file(path, tmp_path / f"r{suffix}", "job", HONEST.collector(), chunk_rows=10)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    path = text_file(tmp_path / "a.csv", "job\nnurse\n")
    (tmp_path / "link.csv").symlink_to(path)
    for target in (path, tmp_path / "link.csv"):
        with pytest.raises(ldp.InvalidArgument, match="is the file that is read"):
            io.privatize_file(path, target, "job", HONEST.collector(), force=True)


def test_a_label_that_csv_cannot_hold(tmp_path: Path) -> None:
    mechanism = ldp.KRR(("", "yes"), 1.0)
    reports = mechanism.privatize(["", "yes"], rng())
    for suffix in (".csv", ".csv.gz"):
        with pytest.raises(ldp.InvalidArgument, match="Parquet"):
            io.write_reports(reports, tmp_path / f"r{suffix}")
    io.write_reports(reports, tmp_path / "r.parquet")
    assert same(io.read_counts(tmp_path / "r.parquet", mechanism), reports.tally())


# -- size ------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A file is never in memory as a whole: ten times the rows, hardly more memory."""

    def peak(n: int) -> int:
        path = text_file(tmp_path / f"{n}.csv", "job\n" + "nurse\ndriver\n" * (n // 2))
        tracemalloc.start()
        assert io.read_counts(path, HONEST, "job", chunk_rows=1000).nobs == n
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(2000)  # whatever is imported or cached at first
    assert peak(100_000) < 1.5 * peak(10_000)


def test_reports_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    mechanism = ldp.KRAPPOR(200, epsilon=1.0)
    path = tmp_path / "r.csv"
    io.write_reports(mechanism.privatize(answers(mechanism, 500), rng()), path)
    with pytest.raises(ldp.NotAvailable, match="--bits"):
        io.read_counts(path, mechanism, most_bytes=10_000, chunk_rows=50)
    assert io.read_counts(path, mechanism, most_bytes=10_000, chunk_rows=50, bits=True).nobs == 500


@pytest.mark.parametrize("suffix", FORMATS)
def test_progress_is_told(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"r{suffix}"
    # reports of 100 bits, so that the file is larger than the buffers it is read through
    mechanism = ldp.KRAPPOR(100, epsilon=1.0)
    io.write_reports(mechanism.privatize(answers(mechanism, 4000), rng()), path)
    told: list[float] = []
    io.read_counts(path, mechanism, chunk_rows=100, advance=told.append)
    assert len(told) == 40 and told == sorted(told)
    assert 0.0 < told[0] < 0.2 and told[-1] == 1.0
