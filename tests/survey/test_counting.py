"""Counts of one mechanism's reports, from every kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp
from ldpstats import io

N = 400
RAPPOR = {"n_hashes": 2, "n_cohorts": 4, "f": 0.0, "p": 0.25, "q": 0.75}
MECHANISMS: dict[str, ldp.Mechanism] = {
    "labels": ldp.KRR(("a", "b", "c"), 2.0),
    "numbers": ldp.KRR(4, 2.0),
    "hashed": ldp.ORR(8, 4, epsilon=2.0),
    "patterns": ldp.KRAPPOR(("a", "b", "c"), 2.0),
    "cohorts": ldp.RAPPOR(n_bits=16, **RAPPOR),
    "wide": ldp.RAPPOR(n_bits=96, **RAPPOR),
    "partly": ldp.URAP(("a", "b", "c"), {"a"}, 2.0),
}


def reports_of(mechanism: ldp.Mechanism, n: int = N) -> ldp.Reports:
    rng = np.random.default_rng(3)
    answers = rng.choice(["a", "b", "c"] if mechanism.is_open else mechanism.categories, n)
    return mechanism.privatize(answers, rng)


def table_of(mechanism: ldp.Mechanism, n: int = N) -> tuple[pa.Table, ldp.Reports]:
    """A table with gaps and a public column, and the reports in it."""
    reports = reports_of(mechanism, n)
    labels = pd.Series(mechanism.report_labels(reports)).astype(object)
    gaps = np.arange(n) % 11 == 0
    frame = pd.DataFrame({"report": labels.mask(gaps, None).infer_objects()})
    frame["age"], frame["n"] = np.arange(n) % 50, np.arange(n) % 4
    table = pa.Table.from_pandas(frame.convert_dtypes(), preserve_index=False)
    return table, ldp.Reports(
        reports.y[~gaps],
        mechanism,
        int(gaps.sum()),
        None if reports.cohort is None else reports.cohort[~gaps],
    )


def alike(one: Any, two: Any) -> None:
    """Two counts are the same, but for the order of patterns that are too wide to be merged."""
    assert type(one) is type(two)
    assert (one.nobs, one.n_missing) == (two.nobs, two.n_missing)
    if isinstance(one, ldp.BitCounts):
        assert np.array_equal(one.ones, two.ones) and np.array_equal(one.reports, two.reports)
    else:
        assert listed(one) == listed(two)
        assert np.array_equal(one.noise, two.noise)


def listed(counts: ldp.Counts) -> list[Any]:
    cohort = np.zeros(len(counts.n), int) if counts.cohort is None else counts.cohort
    rows = zip(counts.y.tolist(), cohort.tolist(), counts.n.tolist(), strict=True)
    found = [row for *row, n in rows for _ in range(n)]
    return sorted(found, key=str) if counts.mechanism.n_bits > 64 else found


@pytest.mark.parametrize("place", SOME)
def test_counts_are_the_tally_of_the_reports(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if place == "spark":
        request.getfixturevalue("spark")
    for kind, mechanism in MECHANISMS.items():
        table, reports = table_of(mechanism)
        (tmp_path / kind).mkdir()
        source = PLACES[place](table.select(["report"]), tmp_path / kind)["data"]
        alike(ldp.count(source, mechanism), reports.tally())
        if mechanism.n_bits:
            alike(ldp.count(source, mechanism, bits=True), reports.tally(bits=True))


@pytest.mark.parametrize("kind", ["labels", "cohorts", "wide"])
def test_conditions_and_columns_of_counts(kind: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[kind]
    table, _ = table_of(mechanism)
    pq.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    old = table.to_pandas().query("age >= 18")
    rows = np.repeat(np.arange(len(old)), old["n"])
    whole = ldp.Survey(old, {"report": mechanism}).reports("report")
    taken = ldp.Survey(old.iloc[rows].reset_index(drop=True), {"report": mechanism})
    weighed = taken.reports("report")
    for source in (table, tmp_path / "t.parquet", tmp_path / "t.csv"):
        alike(ldp.count(source, mechanism, "report", where="age >= 18"), whole.tally())
        how = {"column": "report", "where": "age >= 18", "count": "n"}
        alike(ldp.count(source, mechanism, **how), weighed.tally())
        if mechanism.n_bits:
            found = ldp.count(source, mechanism, bits=True, **how)
            alike(found, weighed.tally(bits=True))


def test_cohorts_may_be_in_a_column_of_any_name(tmp_path: Path) -> None:
    for kind in ("hashed", "cohorts"):
        mechanism = MECHANISMS[kind]
        reports = reports_of(mechanism)
        labels = [text.split(":")[1] for text in mechanism.report_labels(reports)]
        table = pa.table({"r": labels, "group": reports.cohort})
        pq.write_table(table, tmp_path / "t.parquet")
        table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
        for source in (table, tmp_path / "t.parquet", tmp_path / "t.csv"):
            alike(ldp.count(source, mechanism, "r", cohort="group"), reports.tally())
            alike(ldp.count(source, mechanism, cohort="group"), reports.tally())


def test_files_of_reports_are_counted_as_they_are_written(tmp_path: Path) -> None:
    for kind, mechanism in MECHANISMS.items():
        reports = reports_of(mechanism)
        for suffix in (".csv", ".parquet"):
            for part in (0, 1):
                io.write_reports(reports[part::2], tmp_path / f"{kind}{part}{suffix}")
            found = ldp.count(tmp_path / f"{kind}?{suffix}", mechanism)
            alike(found, reports.tally())


def test_fingerprints_and_other_columns_are_not_taken_for_reports() -> None:
    krr = MECHANISMS["labels"]
    frame = pd.DataFrame({"r": ["a", "b"], "r_fingerprint": [krr.fingerprint] * 2})
    assert ldp.count(frame, krr).nobs == 2
    assert ldp.count(frame.assign(n=[3, 4]), krr, count="n").nobs == 7
    with pytest.raises(ldp.InvalidArgument, match="name the column of reports; the table has 'r'"):
        ldp.count(frame.assign(n=[3, 4]), krr)
    with pytest.raises(ldp.MechanismMismatch, match="r_fingerprint"):
        ldp.count(frame, ldp.KRR(krr.categories, 1.0))


FRAME = pd.DataFrame({"r": ["a", None, "b"], "n": [1, 2, -1], "x": [1.5, 2.0, 3.0]})
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"missing": "raise"}, "1 report is missing"),
    "no such column": ({"column": "q"}, "no such column"),
    "negative counts": ({"count": "n"}, "whole number"),
    "fractions": ({"count": "x"}, "whole number"),
    "no cohorts": ({"cohort": "n"}, "has no cohorts"),
    "no bits": ({"bits": True}, "does not report bits"),
    "a private condition": ({"where": "r == 'a'"}, "is private"),
    "a class": ({"mechanism": ldp.KRR}, "mechanism="),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_wherever_the_rows_are(kind: str, tmp_path: Path) -> None:
    how, words = BAD[kind]
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "t.parquet")
    given = {"mechanism": MECHANISMS["labels"], "column": "r"} | how
    for source in (FRAME, tmp_path / "t.parquet"):
        with pytest.raises(ldp.LDPError, match=words):
            ldp.count(source, **given)


def test_nobody_is_counted_as_nobody(tmp_path: Path) -> None:
    bits = FRAME.assign(r=["010", None, "011"])
    for kind, frame in (("labels", FRAME), ("patterns", bits)):
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
        for source in (frame, tmp_path / "t.parquet"):
            found = ldp.count(source, MECHANISMS[kind], "r", where="x > 10")
            assert (found.nobs, found.n_missing) == (0, 0)
            if kind == "patterns":
                sums = ldp.count(source, MECHANISMS[kind], "r", where="x > 10", bits=True)
                assert (sums.nobs, sums.n_missing, sums.ones.tolist()) == (0, 0, [[0, 0, 0]])
