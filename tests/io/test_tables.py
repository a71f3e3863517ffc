"""Tables of reports and counts in CSV and Parquet: there and back, and what a field means."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import grid
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


# -- specifications --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["device-cards", "product", "urap-levels"])
def test_a_specification_comes_back(name: str, tmp_path: Path) -> None:
    mechanism = grid.MECHANISMS[name]
    io.write_mechanism(mechanism, tmp_path / "spec.json")
    again = io.read_mechanism(tmp_path / "spec.json")
    assert again == mechanism and again.fingerprint == mechanism.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


def test_a_specification_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    io.write_mechanism(ldp.Warner(epsilon=1.0), path)
    with pytest.raises(ldp.InvalidArgument, match="already exists"):
        io.write_mechanism(ldp.Warner(epsilon=2.0), path)
    assert io.read_mechanism(path) == ldp.Warner(epsilon=1.0)
    io.write_mechanism(ldp.Warner(epsilon=2.0), path, force=True)
    assert io.read_mechanism(path) == ldp.Warner(epsilon=2.0)


# -- reports there and back ------------------------------------------------------------------------

# bits and cohorts are in test_layout.py
OF_LABELS = ("warner", "krr-labels", "custom-wide", "product", "square-wave", "hadamard")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", OF_LABELS)
def test_reports_come_back_as_the_same_counts(name: str, suffix: str, tmp_path: Path) -> None:
    mechanism = grid.MECHANISMS[name]
    reports = mechanism.privatize(answers(mechanism, 500), rng())
    io.write_reports(reports, tmp_path / f"r{suffix}")
    assert same(io.read_counts(tmp_path / f"r{suffix}", mechanism), reports.tally())


LABELS = {
    "numbers as text": ("01", "1", "001"),
    "integers": (10, 20, 7),
    "floats": (0.5, 1.0, 1e-3),
    "booleans": (False, True),
    "mixed": ("a", 3, 2.5),
    "awkward": ("a,b", 'say "no"', "two\nlines", "a\rb", "\r\n", " padded ", "é", "NA", "nan"),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", LABELS)
def test_every_label_survives(kind: str, suffix: str, tmp_path: Path) -> None:
    mechanism = ldp.KRR(LABELS[kind], epsilon=40.0)
    codes = rng().integers(0, mechanism.k, 300)
    reports = ldp.Reports(codes, mechanism)
    io.write_reports(reports, tmp_path / f"r{suffix}")
    counts = io.read_counts(tmp_path / f"r{suffix}", mechanism)
    assert counts.vector().tolist() == np.bincount(codes).tolist()
    # and as answers that a client reads from the file
    source, target = tmp_path / f"r{suffix}", tmp_path / "p.parquet"
    io.privatize_file(source, target, "report", mechanism.collector(), missing="count")
    assert same(io.read_counts(target, mechanism), counts)


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_answers_come_back_as_missing(suffix: str, tmp_path: Path) -> None:
    reports = ldp.KRR(JOBS, 1.0).privatize(["nurse", None, "driver", None], rng(), missing="count")
    io.write_reports(reports, tmp_path / f"r{suffix}")
    with pytest.raises(ldp.InvalidArgument, match=r"row 3.*is missing"):
        io.read_counts(tmp_path / f"r{suffix}", reports.mechanism)
    counts = io.read_counts(tmp_path / f"r{suffix}", reports.mechanism, missing="count")
    assert (counts.nobs, counts.n_missing) == (2, 2)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("bits", [False, True])
@pytest.mark.parametrize("k", [3, 65])
def test_chunks_add_up(k: int, bits: bool, suffix: str, tmp_path: Path) -> None:
    mechanism = ldp.KRAPPOR(k, epsilon=1.0)
    reports = mechanism.privatize(answers(mechanism, 1000), rng())
    pieces = [ldp.Reports(reports.y[i : i + 300], mechanism) for i in range(0, 1000, 300)]
    io.write_reports(iter(pieces), tmp_path / f"r{suffix}")
    whole = io.read_counts(tmp_path / f"r{suffix}", mechanism, bits=bits)
    assert same(whole, reports.tally(bits))
    for chunk_rows in (1000, 999, 37):
        parts = io.read_counts(tmp_path / f"r{suffix}", mechanism, bits=bits, chunk_rows=chunk_rows)
        assert type(parts) is type(whole) and same(parts, whole)


def test_a_wrong_pattern_would_be_noticed() -> None:
    """The negative control of `same`."""
    mechanism = ldp.KRAPPOR(65, epsilon=1.0)
    a, b = (mechanism.privatize(answers(mechanism, 50), rng(seed)).tally() for seed in (1, 2))
    assert not same(a, b)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_counts(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"job": [*JOBS, "nurse"], "n": [5, 0, 2**52, 7]})
    path = tmp_path / f"t{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path)
    counts = io.read_counts(path, ldp.KRR(JOBS, 1.0), "job", "n", chunk_rows=3)
    assert counts.vector().tolist() == [12, 0, 2**52]


# -- cohorts ---------------------------------------------------------------------------------------

ORR = ldp.ORR(4, 3, epsilon=1.0)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_cohorts(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"group": [2, 0, 2], "told": ["3", "1", "3"], "n": [4, 2, 1]})
    path = tmp_path / f"t{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
    counts = io.read_counts(path, ORR, "told", cohort="group", chunk_rows=2)
    assert counts.vector().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]
    counts = io.read_counts(path, ORR, "told", "n", cohort="group", chunk_rows=2)
    assert counts.vector().tolist() == [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 5]]


def test_a_missing_report_has_no_cohort(tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", "group,told\n2,3\n,\n9,\n0,1\n")
    counts = io.read_counts(path, ORR, "told", cohort="group", missing="count")
    assert (counts.nobs, counts.n_missing) == (2, 2)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("3,1", r"column 'group', row 4=3: is not a cohort.*from 0 to 2"),
        ("-1,1", r"column 'group', row 4='-1': must be a whole number"),
        ("1.5,1", r"column 'group', row 4='1.5': must be a whole number"),
        ("two,1", r"column 'group', row 4='two': must be a whole number"),
        (",1", r"column 'group', row 4=None: must be a whole number"),
        ("2,4", r"column 'told', row 4='4'"),
        ("2,", r"column 'told', row 4=None: is missing"),
    ],
)
def test_a_bad_cohort_is_named(row: str, says: str, tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", f"group,told\n2,3\n0,1\n2,3\n{row}\n")
    for chunk_rows in (100, 3, 1):
        with pytest.raises(ldp.InvalidArgument, match=says):
            io.read_counts(path, ORR, "told", cohort="group", chunk_rows=chunk_rows)


COHORTS = "who,group,told,n\n1,2,3,4\n2,0,1,2\n3,2,3,1\n"


def test_a_column_of_cohorts_that_cannot_be(tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", COHORTS)
    for mechanism, cohort, says in (
        (ldp.KRR(4, 1.0), "group", "has no cohorts"),
        (ORR, "told", "column of reports"),
        (ORR, "n", "of counts"),
        (ORR, "none", "no such column"),
    ):
        with pytest.raises(ldp.InvalidArgument, match=says):
            io.read_counts(path, mechanism, "told", "n", cohort=cohort)


# -- candidates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_candidates_one_a_line(end: str, tmp_path: Path) -> None:
    words = ["apple", " red pear ", "plüm", "日本", "NA", '"x"', "a\u2028b"]
    path = text_file(tmp_path / "c.txt", "\ufeff" + end.join(words) + end)
    assert io.read_candidates(path) == words
    assert io.read_candidates(text_file(path, end.join(words))) == words


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"a\n\nb\n", "line 2 is blank"),
        (b"a\nb\na\n", "line 3='a': is also the candidate of line 1"),
        (b"a\ncaf\xe9\n", "UTF-8"),
        ("a\nb\n".encode("utf-16"), "UTF-8"),
    ],
)
def test_bad_candidates_are_refused(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(data)
    with pytest.raises(ldp.InvalidArgument, match=says) as caught:
        io.read_candidates(path)
    assert "c.txt" in str(caught.value)
    with pytest.raises(ldp.InvalidArgument, match="no such file"):
        io.read_candidates(tmp_path / "none.txt")


# -- what a field means ----------------------------------------------------------------------------


def test_empty_fields_alone_are_missing(tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", "id,job\n1,nurse\n2,\n3,NA\n4,None\n5,nan\n")
    values = [value for chunk in io.read_column(path, "job") for value in chunk]
    assert values == ["nurse", None, "NA", "None", "nan"]


def test_more_text_may_mean_missing(tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", "id,job\n1,nurse\n2,\n3,NA\n4,?\n")
    krr = ldp.KRR(JOBS, 1.0)
    counts = io.read_counts(path, krr, "job", missing="count", na=["NA", "?"])
    assert (counts.nobs, counts.n_missing) == (1, 3)
    with pytest.raises(ldp.UnknownCategory, match=r"row 4.*'\?'"):
        io.read_counts(path, krr, "job", missing="count", na=["NA"])


def test_text_is_never_read_as_a_number(tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", "code\n01\n1\n01\n")
    assert io.read_counts(path, ldp.KRR(("1", "01"), 1.0), "code").vector().tolist() == [1, 2]
    with pytest.raises(ldp.UnknownCategory, match=r"row 1.*'01'"):
        io.read_counts(path, ldp.KRR(3, 1.0), "code")


@pytest.mark.parametrize("text", ["1", " 1", "1 ", "1.0"])
def test_a_label_may_be_written_as_people_do(text: str, tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", f"code\n{text}\n")
    assert io.read_counts(path, ldp.KRR(5, 1.0), "code").vector().tolist() == [0, 1, 0, 0, 0]
    blank = text_file(tmp_path / "b.csv", f"code\n{text}\n  \n")
    with pytest.raises(ldp.InvalidArgument, match="row 2=None: is missing"):
        io.read_counts(blank, ldp.KRR(5, 1.0), "code")
    assert io.read_counts(blank, ldp.KRR(5, 1.0), "code", missing="count").n_missing == 1


@pytest.mark.parametrize("text", ["1.5", "+1", "1 1", "1e0", "٣", "9" * 30])
def test_what_is_no_label_is_refused(text: str, tmp_path: Path) -> None:
    path = text_file(tmp_path / "t.csv", f"code\n{text}\n")
    with pytest.raises(ldp.UnknownCategory, match="row 1"):
        io.read_counts(path, ldp.KRR(5, 1.0), "code")


def test_a_byte_order_mark_is_tolerated(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfjob\r\nnurse\r\n")
    assert io.read_counts(path, HONEST, "job").nobs == 1
    spec = tmp_path / "spec.json"
    io.write_mechanism(HONEST, spec)
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes())
    assert io.read_mechanism(spec) == HONEST


@pytest.mark.parametrize(
    ("labels", "column"),
    [
        (3, pyarrow.array([0, 2, None], pyarrow.int8())),
        (3, pyarrow.array([0.0, 2.0, float("nan")], pyarrow.float64())),
        (3, pyarrow.array(["0", "2", None])),
        ((0.5, 1.5, 2.5), pyarrow.array([0.5, 2.5, None])),
        ((5, 6, 7), pyarrow.array([5, 7, None])),
        (("x", "y", "z"), pyarrow.array(["x", "z", None], pyarrow.large_string())),
        (("x", "y", "z"), pyarrow.array(["x", "z", None]).dictionary_encode()),
        (("", "y", "z"), pyarrow.array(["", "z", None])),
    ],
)
def test_types_of_parquet(labels: Any, column: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": column}), path)
    counts = io.read_counts(path, ldp.KRR(labels, 1.0), "v", missing="count", chunk_rows=2)
    assert counts.vector().tolist() == [1, 0, 1] and counts.n_missing == 1


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([True, False]),  # no label 1, no label 0
        pyarrow.array([0.0, 1.5]),
        pyarrow.array([0, 2**63], pyarrow.uint64()),
        pyarrow.array(["0", "one"]),
        pyarrow.array([datetime.date(2020, 1, 1)]),
    ],
)
def test_other_values_of_parquet_are_refused(column: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": column}), path)
    with pytest.raises(ldp.InvalidArgument, match="column 'v'"):
        io.read_counts(path, ldp.KRR(2, 1.0), "v")


def test_text_of_parquet_that_is_no_text(tmp_path: Path) -> None:
    """Bytes that another program called text."""
    path, data = tmp_path / "t.parquet", pyarrow.array([b"nurse", b"caf\xe9"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), 2, data.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"job": text}), path)
    with pytest.raises(ldp.InvalidArgument, match="column='job': holds text that is not UTF-8"):
        io.read_counts(path, HONEST, "job")
    with pytest.raises(ldp.InvalidArgument, match="column='job': holds text that is not UTF-8"):
        io.privatize_file(path, tmp_path / "r.csv", "job", HONEST.collector())


# -- fingerprints ----------------------------------------------------------------------------------
