"""Codes of reports in the smallest type, and long columns of text read at once."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.report_tables import some_reports

import ldpstats as ldp

SIZES = [255, 256, 65_535, 65_536]


def kind(k):
    return np.uint8 if k < 256 else np.uint16 if k < 65_536 else np.uint32


def extremes(k, n, seed):
    """Codes among which the largest and the smallest are frequent."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, rng.integers(k - 3, k, n), rng.integers(0, k, n))


@pytest.mark.parametrize("k", SIZES)
def test_codes_are_stored_small_and_written_as_they_are(k):
    krr = ldp.KRR(k, epsilon=2.0)
    codes = extremes(k, 2_000, k)
    for given in (codes, codes.tolist(), codes.astype(np.uint64), codes.astype(np.int32)):
        reports = ldp.Reports(given, krr)
        assert reports.y.dtype == kind(k) and np.array_equal(reports.y, codes)
    assert np.array_equal(reports[::-1].y, codes[::-1])
    assert krr.privatize(codes, np.random.default_rng(1)).y.dtype == kind(k)
    assert krr.parse("column", codes).y.dtype == kind(k)
    assert np.array_equal(krr.report_labels(reports), codes)
    counts = reports.tally()
    assert counts.y.dtype == np.int64
    assert np.array_equal((counts + counts).vector(), 2 * np.bincount(codes, minlength=k))


@pytest.mark.parametrize("k", SIZES)
def test_joint_tallies_do_not_overflow(k):
    krr, other = ldp.KRR(k, epsilon=2.0), ldp.KRR(257, epsilon=1.0)
    a, b = extremes(k, 3_000, 1), extremes(257, 3_000, 2)
    joint = ldp.JointCounts([ldp.Reports(a, krr), ldp.Reports(b, other)]).tally()
    cells, n = np.unique(a * 257 + b, return_counts=True)
    twice = joint + joint
    for counts, times in ((joint, 1), (twice, 2)):
        first, second = (part.y.astype(np.int64) for part in counts.reports)
        total = np.zeros(k * 257, dtype=np.int64)
        np.add.at(total, first * 257 + second, counts.n)
        assert np.array_equal(total[cells], times * n) and total.sum() == times * n.sum()
    for v, codes in enumerate((a, b)):
        counts, _ = twice.variable(v)
        size = joint.reports[v].mechanism.n_outputs
        assert np.array_equal(counts.vector(), 2 * np.bincount(codes, minlength=size))
    if k < 1_000:
        table = np.zeros((k, 257), dtype=np.int64)
        np.add.at(table, (a, b), 1)
        assert np.array_equal(joint.table(), table)


@pytest.mark.parametrize("k", SIZES[:2])
def test_cohorts_and_codes_do_not_overflow(k):
    orr = ldp.ORR(n_outputs=k, n_cohorts=300, epsilon=2.0)
    y, cohort = extremes(k, 3_000, 1), extremes(300, 3_000, 2)
    reports = ldp.Reports(y, orr, cohort=cohort)
    table = np.zeros((300, k), dtype=np.int64)
    np.add.at(table, (cohort, y), 1)
    assert np.array_equal(reports.tally().vector(), table)
    joint = ldp.JointCounts([reports, ldp.Reports(y, ldp.KRR(k, 1.0))]).tally()
    first, second = joint.reports
    seen = np.zeros((300, k), dtype=np.int64)
    np.add.at(seen, (first.cohort, first.y), joint.n)
    assert np.array_equal(seen, table) and np.array_equal(first.y, second.y)
    back = orr.parse("reports", orr.report_labels(reports))
    assert np.array_equal(back.y, y) and np.array_equal(back.cohort, cohort)


@pytest.mark.parametrize("y", [[-1], [256], [2**40], [1.0], [True]])
def test_what_is_no_code_is_refused_before_it_is_made_small(y):
    with pytest.raises(ldp.errors.InvalidArgument):
        ldp.Reports(y, ldp.KRR(256, 1.0))


def test_pairs_of_small_codes_do_not_overflow():
    a, b = extremes(20, 3_000, 1), extremes(20, 3_000, 2)
    both = ldp.mechanisms.paired(ldp.Reports(a, ldp.KRR(20, 1.0)), ldp.Reports(b, ldp.KRR(20, 2.0)))
    labels = [f"[{x}, {y}]" for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert both.mechanism.report_labels(both).tolist() == labels


# -- texts -----------------------------------------------------------------------------------------


MECHANISMS = {
    "rappor": ldp.RAPPOR(11, 2, 12, f=0.0, p=0.25, q=0.75),
    "unary": ldp.KRAPPOR(9, epsilon=1.0),
    "orr": ldp.ORR(300, 12, epsilon=1.0),
    "urap": ldp.URAP(7, (0, 3), epsilon=1.0),
}
COLUMNS: dict[str, Any] = {
    "object": lambda cells: pd.Series(cells, dtype=object),
    "str": lambda cells: pd.Series(cells, dtype="str"),
    "arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.string())),
    "large": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.large_string()))[1:],
    "numpy": np.array,
}


def written(name: str, n: int = 3000) -> tuple[ldp.Reports, list[str]]:
    mechanism = MECHANISMS[name]
    reports = some_reports(mechanism, n)
    return reports, mechanism.report_labels(reports).tolist()


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_long_column_is_read_as_a_short_one(name, kind):
    reports, cells = written(name)
    column = COLUMNS[kind](cells)
    found, skipped = MECHANISMS[name].parse("answer", column), len(cells) - len(column)
    assert np.array_equal(found.y, reports.y[skipped:])
    assert reports.cohort is None or np.array_equal(found.cohort, reports.cohort[skipped:])


@pytest.mark.parametrize("kind", ["object", "str", "arrow"])
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *[("rappor", cell) for cell in ("3:0101", "0101", ":01010101010", "x:01010101010", "")],
        *[("rappor", cell) for cell in ("٣:01010101010", "3:0101010101é", "12:01010101010")],
        *[
            ("rappor", cell)
            for cell in ("99999999999:01010101010", "3:01010101012", "3 :" + "0" * 11)
        ],
        *[("unary", cell) for cell in ("0101", "010101012", "0:0101010", "01010101é", " 10101010")],
        *[("orr", cell) for cell in ("17", "3:300", "3:x", "3:1:2", "3:\n1", "-3:1", "12:1")],
        ("urap", "0110000"),
    ],
)
def test_what_is_wrong_is_named_as_in_a_short_column(name, cell, kind):
    _, cells = written(name)
    cells[2000] = cell
    messages = []
    for some in (cells, cells[2000 - 5 : 2001]):
        with pytest.raises(ldp.InvalidArgument) as error:
            MECHANISMS[name].parse("answer", COLUMNS[kind](some))
        messages.append(str(error.value).replace("[2000]", "[5]").replace("row 2001", "row 6"))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("cells", [[1] * 2000, ["0" * 9] * 2000 + [None], ["\ud800"] * 2000])
def test_other_columns_are_refused(cells):
    with pytest.raises(ldp.InvalidArgument, match=r"answer\[(0|2000)\]"):
        MECHANISMS["unary"].parse("answer", pd.Series(cells, dtype=object))


def test_text_is_read_in_blocks():
    reports, cells = written("unary", 40_000)
    assert np.array_equal(MECHANISMS["unary"].parse("answer", cells).y, reports.y)
