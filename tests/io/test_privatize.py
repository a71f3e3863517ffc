"""Answers of a file made into reports, chunk by chunk."""

import datetime
import gc
import gzip
import tracemalloc
from collections.abc import Callable
from typing import Any

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
def test_rows_keep_their_order(source, target, tmp_path):
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


def test_rows_of_strings_are_respondents_who_report_once(tmp_path):
    rappor = ldp.RAPPOR(16, 2, 8, f=0.5, p=0.25, q=0.75)
    path = text_file(tmp_path / "a.csv", "host\n" + "one\n" * 400)
    out = tmp_path / "r.csv"
    with pytest.raises(ldp.NotAvailable, match="collector"):
        io.privatize_file(path, out, "host", rappor.client())
    assert not out.exists()
    assert io.privatize_file(path, out, "host", rappor.collector()) == (400, 0)
    counts = io.read_counts(out, rappor, bits=True)
    # a cohort is left out with probability 8 (7/8)^400 = 5e-23: these are no reports of one device
    assert (counts.reports > 0).all()


REPORTS = HONEST.privatize(JOBS, np.random.default_rng(1))
HASHED = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.25, q=0.75)
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a mechanism for a client": (lambda f: io.privatize_file(f, "o.csv", "job", HONEST), "client="),
    "keep is text": (
        lambda f: io.privatize_file(f, "o.csv", "job", HONEST.collector(), keep="id"),
        "keep='id'",
    ),
    "na is text": (
        lambda f: io.privatize_file(f, "o.csv", "job", HONEST.collector(), na="NA"),
        "na='NA'",
    ),
    "na of a number": (lambda f: io.read_counts(f, HONEST, "job", na=[0]), "na=0"),
    "na is text, counting": (lambda f: io.read_counts(f, HONEST, "job", na="NA"), "na='NA'"),
    "no column": (lambda f: io.read_counts(f, HONEST, None), "column=None"),
    "columns of an array": (lambda f: io.read_counts(f, HONEST, np.array(["a", "b"])), "column="),
    "columns are text": (lambda f: list(io.read_columns(f, "job")), "columns='job'"),
    "columns are none": (lambda f: list(io.read_columns(f, None)), "columns=None"),
    "no mechanism": (lambda f: io.read_counts(f, None, "job"), "mechanism="),
    "no room": (lambda f: io.read_counts(f, HONEST, "job", most_bytes="2"), "most_bytes="),
    "a file by its number": (lambda f: io.read_candidates(3), "path=3"),
    "a table by its number": (lambda f: io.read_counts(3, HONEST, "job"), "path=3"),
    "a specification by its number": (lambda f: io.read_mechanism(3), "path=3"),
    "no target": (lambda f: io.write_mechanism(HONEST, None), "path=None"),
    "a target of bytes": (lambda f: io.write_reports(REPORTS, b"r.csv"), "path="),
    "no source": (
        lambda f: io.privatize_file(None, "o.csv", "job", HONEST.collector()),
        "path=None",
    ),
    "a null character": (lambda f: io.read_candidates("a\0b"), "path="),
    "write no mechanism": (lambda f: io.write_mechanism(None, "s.json"), "mechanism="),
    "write a class": (lambda f: io.write_mechanism(ldp.KRR, "s.json"), "mechanism="),
    "write a number": (lambda f: io.write_reports(3, "r.csv"), "reports=3"),
    "write numbers": (lambda f: io.write_reports([1, 2], "r.csv"), "reports=1"),
    "write counts": (lambda f: io.write_reports(REPORTS.tally(), "r.csv"), "reports="),
    "write numbers late": (lambda f: io.write_reports([REPORTS, 2], "r.csv"), "reports=2"),
    "write sums of reports": (
        lambda f: io.write_rappor_counts(HASHED.privatize(["a"], rng()), "c.csv"),
        "tally",
    ),
    "write sums of nothing": (lambda f: io.write_rappor_counts(None, "c.csv"), "counts=None"),
    "write no reports": (lambda f: io.write_rappor_reports([1], "c.csv"), "reports="),
    "a map of no format": (lambda f: io.read_rappor_map("map.txt", HASHED), "google/rappor end in"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_another_kind_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = text_file(tmp_path / "a.csv", "id,job\n1,nurse\n2,N\n")
    call, says = WRONG[name]
    with pytest.raises(ldp.InvalidArgument, match=says):
        call(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_true_column_is_not_copied(suffix, tmp_path):
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


def test_kept_columns_keep_their_types(tmp_path):
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


def test_a_client_with_given_entropy_gives_given_reports(tmp_path):
    path = text_file(tmp_path / "a.csv", "job\n" + "nurse\n" * 1000)
    made = []
    for seed in (1, 1, 2):
        client = ldp.KRR(JOBS, 1.0).collector(rng(seed).bytes)
        io.privatize_file(path, tmp_path / "r.csv", "job", client, force=True)
        made.append((tmp_path / "r.csv").read_bytes())
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("suffix", FORMATS)
def test_equal_reports_make_equal_files(suffix, tmp_path):
    reports = ldp.KRR(JOBS, 1.0).privatize(["nurse"] * 50, rng())
    io.write_reports(reports, tmp_path / f"a{suffix}")
    io.write_reports(reports, tmp_path / f"b{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_failure_leaves_nothing(suffix, tmp_path):
    path = text_file(tmp_path / "a.csv", "job\n" + "nurse\n" * 50 + "cook\n")
    with pytest.raises(ldp.UnknownCategory, match="row 51"):
        io.privatize_file(path, tmp_path / f"r{suffix}", "job", HONEST.collector(), chunk_rows=10)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = text_file(tmp_path / "a.csv", "job\ncook\n")
    old = text_file(tmp_path / "r.csv", "report\nnurse\n")
    with pytest.raises(ldp.UnknownCategory):
        io.privatize_file(path, old, "job", HONEST.collector(), force=True)
    assert old.read_text() == "report\nnurse\n"


def test_the_input_is_never_the_output(tmp_path):
    path = text_file(tmp_path / "a.csv", "job\nnurse\n")
    (tmp_path / "link.csv").symlink_to(path)
    for target in (path, tmp_path / "link.csv"):
        with pytest.raises(ldp.InvalidArgument, match="is the file that is read"):
            io.privatize_file(path, target, "job", HONEST.collector(), force=True)


def test_a_label_that_csv_cannot_hold(tmp_path):
    mechanism = ldp.KRR(("", "yes"), 1.0)
    reports = mechanism.privatize(["", "yes"], rng())
    for suffix in (".csv", ".csv.gz"):
        with pytest.raises(ldp.InvalidArgument, match="Parquet"):
            io.write_reports(reports, tmp_path / f"r{suffix}")
    io.write_reports(reports, tmp_path / "r.parquet")
    assert same(io.read_counts(tmp_path / "r.parquet", mechanism), reports.tally())


# -- size ------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file is never in memory as a whole: ten times the rows, hardly more memory."""

    def peak(n: int) -> int:
        path = text_file(tmp_path / f"{n}.csv", "job\n" + "nurse\ndriver\n" * (n // 2))
        gc.collect()
        tracemalloc.start()
        assert io.read_counts(path, HONEST, "job", chunk_rows=1000).nobs == n
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(2000)  # whatever is imported or cached at first
    # the smaller of two: what else a process does, such as a late import, is traced too
    assert min(peak(100_000), peak(100_000)) < 1.5 * peak(10_000)


def test_reports_that_do_not_fit_are_refused(tmp_path):
    mechanism = ldp.KRAPPOR(200, epsilon=1.0)
    path = tmp_path / "r.csv"
    io.write_reports(mechanism.privatize(answers(mechanism, 500), rng()), path)
    with pytest.raises(ldp.NotAvailable, match="--bits"):
        io.read_counts(path, mechanism, most_bytes=10_000, chunk_rows=50)
    assert io.read_counts(path, mechanism, most_bytes=10_000, chunk_rows=50, bits=True).nobs == 500


@pytest.mark.parametrize("suffix", FORMATS)
def test_progress_is_told(suffix, tmp_path):
    path = tmp_path / f"r{suffix}"
    # reports of 100 bits, so that the file is larger than the buffers it is read through
    mechanism = ldp.KRAPPOR(100, epsilon=1.0)
    io.write_reports(mechanism.privatize(answers(mechanism, 4000), rng()), path)
    told: list[float] = []
    io.read_counts(path, mechanism, chunk_rows=100, advance=told.append)
    assert len(told) == 40 and told == sorted(told)
    assert 0.0 < told[0] < 0.2 and told[-1] == 1.0


def test_a_bad_chunk_size_is_refused(tmp_path):
    path = text_file(tmp_path / "a.csv", "job\nnurse\n")
    with pytest.raises(ldp.InvalidArgument, match="chunk_rows"):
        list(io.read_column(path, "job", chunk_rows=0))
