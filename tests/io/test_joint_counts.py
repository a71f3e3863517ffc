"""Tables of reports on several variables, made into counts of their combinations."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pandas as pd
import pytest
from shared.written_tables import FORMATS, table_file

import ldpstats as ldp
from ldpstats import io
from ldpstats.io import read_joint_counts

JOBS = ("nurse", "teacher", "driver")
X, Y = ldp.KRR(JOBS, epsilon=1.0), ldp.KRR(("no", "yes"), epsilon=2.0)
BITS = ldp.RAPPOR(12, 2, 4, f=0.0, p=0.25, q=0.75)
WIDE = ldp.KRAPPOR(70, epsilon=1.0)
LABELS = ldp.ORR(4, 3, epsilon=1.0)


def reports(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    labels = mechanism.labels(grid.candidates(mechanism))
    return mechanism.privatize(labels[rng.integers(0, len(labels), n)], rng)


def text(part: ldp.Reports) -> list[Any]:
    return part.mechanism.report_labels(part).tolist()


def combinations(counts: ldp.JointCounts) -> Counter[tuple[Any, ...]]:
    """How often each combination of reports was seen."""
    total: Counter[tuple[Any, ...]] = Counter()
    rows = zip(*(text(part) for part in counts.reports), counts.n.tolist(), strict=True)
    for *combination, n in rows:
        total[tuple(combination)] += n
    return total


# -- one table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("second", [Y, BITS, WIDE, LABELS], ids=str)
def test_combinations_come_back_chunk_by_chunk(second, suffix, tmp_path):
    parts = reports(X, 400, 1), reports(second, 400, 2)
    table = pd.DataFrame({"x": text(parts[0]), "who": range(400), "y": text(parts[1])})
    path = table_file(tmp_path / f"r{suffix}", table)
    expected = combinations(ldp.JointCounts(parts))
    for chunk_rows in (1000, 400, 37):
        counts = read_joint_counts(path, (X, second), ("x", "y"), chunk_rows=chunk_rows)
        assert combinations(counts) == expected and counts.nobs == 400
        assert [part.n_missing for part in counts.reports] == [0, 0]


def test_another_pairing_would_be_noticed():
    """The negative control of `combinations`."""
    x, y = reports(X, 400, 1), reports(Y, 400, 2)
    other = ldp.Reports(y.y[::-1], Y)
    assert combinations(ldp.JointCounts((x, y))) != combinations(ldp.JointCounts((x, other)))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_counts(suffix, tmp_path):
    table = pd.DataFrame(
        {
            "x": ["nurse", "driver", "nurse", "teacher"],
            "y": ["yes", "no", "yes", "no"],
            "n": [4, 2, 2**50, 0],
        }
    )
    path = table_file(tmp_path / f"r{suffix}", table)
    counts = read_joint_counts(path, (X, Y), ("x", "y"), "n", chunk_rows=2)
    assert counts.table().tolist() == [[0, 2**50 + 4], [0, 0], [2, 0]]


def test_counts_of_bits_and_of_missing_reports(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("x,y,n\nnurse,0:110000000011,4\n,1:110000000011,3\ndriver,,2\nnurse,?,1\n")
    missing: dict[str, Any] = {"missing": "count", "na": ["?"]}
    counts = read_joint_counts(path, (X, BITS), ("x", "y"), "n", **missing, chunk_rows=1)
    assert combinations(counts) == {("nurse", "0:110000000011"): 4}
    assert [part.n_missing for part in counts.reports] == [6, 6]


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_reports_leave_respondents_out_of_all_variables(suffix, tmp_path):
    x, y = reports(X, 60, 1), reports(Y, 60, 2)
    table = pd.DataFrame({"x": text(x), "y": text(y)}, dtype=object)
    table.loc[[3, 10], "x"] = None
    table.loc[[10, 59], "y"] = None
    path = table_file(tmp_path / f"r{suffix}", table)
    with pytest.raises(ldp.InvalidArgument, match=r"column 'x', row 4=None.*--missing count"):
        read_joint_counts(path, (X, Y), ("x", "y"))
    kept = np.delete(np.arange(60), [3, 10, 59])
    whole = ldp.JointCounts([ldp.Reports(part.y[kept], part.mechanism) for part in (x, y)])
    for chunk_rows in (100, 7, 1):
        counts = read_joint_counts(path, (X, Y), ("x", "y"), missing="count", chunk_rows=chunk_rows)
        assert (counts.table() == whole.table()).all()
        assert [part.n_missing for part in counts.reports] == [3, 3]
    results = ldp.AssociationModel(counts).fit()
    assert [fit.n_missing for fit in results.margin_fits] == [3, 3] and results.nobs == 57


def test_columns_of_cohorts(tmp_path):
    parts = reports(LABELS, 300, 1), reports(BITS, 300, 2)
    table = pd.DataFrame()
    for name, part in zip("xy", parts, strict=True):
        table[f"c{name}"] = part.cohort
        table[name] = [value.partition(":")[2] for value in text(part)]
    path = table_file(tmp_path / "r.csv", table)
    pair: Any = (LABELS, BITS), ("x", "y")
    counts = read_joint_counts(path, *pair, cohorts=("cx", "cy"), chunk_rows=70)
    assert combinations(counts) == combinations(ldp.JointCounts(parts))
    table["x"] = text(parts[0])
    path = table_file(tmp_path / "mixed.csv", table)
    counts = read_joint_counts(path, *pair, cohorts=(None, "cy"), chunk_rows=70)
    assert combinations(counts) == combinations(ldp.JointCounts(parts))


@pytest.mark.parametrize("suffix", FORMATS)
def test_variables_may_share_a_column_of_cohorts(suffix, tmp_path):
    cohort = np.random.default_rng(1).integers(0, 4, 200)
    table = pd.DataFrame({"x": ["0" * 12] * 200, "y": ["1" * 12] * 200, "group": cohort})
    path = table_file(tmp_path / f"r{suffix}", table)
    counts = read_joint_counts(path, (BITS, BITS), ("x", "y"), cohorts=("group", "group"))
    assert counts.shared_cohorts
    for part in counts.reports:
        assert part.cohort is not None
        seen = np.bincount(part.cohort, weights=counts.n)
        assert seen.tolist() == np.bincount(cohort).tolist()


# -- tables that are matched -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_rows_are_matched_whatever_their_order(suffix, tmp_path):
    parts = reports(X, 200, 1), reports(BITS, 200, 2)
    tables = [pd.DataFrame({"who": range(200), "report": text(part)}) for part in parts]
    first = table_file(tmp_path / "first.csv", tables[0])
    # the same respondents are numbers in Parquet and text in CSV
    second = table_file(tmp_path / f"second{suffix}", tables[1].sample(frac=1.0, random_state=1))
    counts = read_joint_counts(
        [first, second], (X, BITS), ("report", "report"), id="who", chunk_rows=60
    )
    assert combinations(counts) == combinations(ldp.JointCounts(parts))


def test_one_table_may_hold_several_variables_of_those_that_are_matched(tmp_path):
    parts = [reports(m, 50, i) for i, m in enumerate((X, Y, BITS))]
    two = pd.DataFrame({"who": range(50), "x": text(parts[0]), "y": text(parts[1])})
    one = pd.DataFrame({"who": range(50), "report": text(parts[2])}).iloc[::-1]
    paths = [table_file(tmp_path / "two.csv", two)] * 2 + [table_file(tmp_path / "one.csv", one)]
    counts = read_joint_counts(paths, (X, Y, BITS), ("x", "y", "report"), id="who")
    assert combinations(counts) == combinations(ldp.JointCounts(parts))


TWO = "who,report\nr1,nurse\nr2,driver\nr3,nurse\n", "who,report\nr3,yes\nr2,no\nr1,no\n"


def matched(folder: Path, first: str, second: str, **how: Any) -> ldp.JointCounts:
    for name, data in (("a.csv", first), ("b.csv", second)):
        (folder / name).write_text(data)
    paths = [folder / "a.csv", folder / "b.csv"]
    return read_joint_counts(paths, (X, Y), ("report", "report"), id="who", **how)


@pytest.mark.parametrize("chunk_rows", [100, 1])
def test_respondents_of_one_table_only(chunk_rows, tmp_path):
    assert matched(tmp_path, *TWO, chunk_rows=chunk_rows).table().tolist() == [
        [1, 1],
        [0, 0],
        [1, 0],
    ]
    for first, second, says in (
        (TWO[0], TWO[1] + "r9,no\nr8,no\n", r"b.csv, column 'who', row 4='r9': is not in .*a.csv"),
        (TWO[0] + "r7,nurse\n", TWO[1] + "r9,no\n", r"row 4='r7'.*\(2 respondents"),
        ("who,report\n", TWO[1], r"row 1='r3'.*\(3 respondents"),
    ):
        with pytest.raises(ldp.InvalidArgument, match=says) as caught:
            matched(tmp_path, first, second, chunk_rows=chunk_rows)
        assert "--missing count" in str(caught.value)
    first, second = TWO[0] + "r7,nurse\n", TWO[1].replace("r2,no", "r2,") + "r9,no\n"
    counts = matched(tmp_path, first, second, chunk_rows=chunk_rows, missing="count")
    assert counts.table().tolist() == [[1, 1], [0, 0], [0, 0]]
    assert [part.n_missing for part in counts.reports] == [3, 3]  # r2, r7, r9


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("r1,no\nr2,no\nr1,no\n", "b.csv, column 'who', row 3='r1': is also the respondent"),
        ("r1,no\nr2,no\nr1,\n", "row 3='r1'"),
        ("r1,no\n,no\nr3,no\n", r"column 'who', row 2=None: is missing"),
        ("r1,no\nr2,cook\nr3,no\n", r"b.csv, column 'report', row 2='cook'"),
        ("r1,no\nr2,\nr3,no\n", r"b.csv, column 'report', row 2=None"),
    ],
)
def test_identifiers_that_repeat_or_lack(rows, says, tmp_path):
    how = {} if says.endswith("'report', row 2=None") else {"missing": "count"}
    for chunk_rows in (100, 2, 1):
        with pytest.raises(ldp.InvalidArgument, match=says):
            matched(tmp_path, TWO[0], f"who,report\n{rows}", chunk_rows=chunk_rows, **how)


# -- fingerprints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_reports_may_take_the_name_of_the_answers(suffix, tmp_path):
    path = table_file(tmp_path / f"a{suffix}", pd.DataFrame({"job": JOBS * 30, "id": range(90)}))
    out = tmp_path / f"r{suffix}"
    io.privatize_file(path, out, "job", X.collector(), name="job", keep=["id"])
    columns = pd.concat(io.read_columns(out, ["job", "id"]))
    # all 90 reports are true with probability (e / (e + 2))^90 = 2e-22
    assert columns["job"].tolist() != list(JOBS * 30)
    with pytest.raises(ldp.InvalidArgument, match="none of the reports' own: id, id_fingerprint"):
        io.privatize_file(path, tmp_path / "n.csv", "job", X.collector(), name="id", keep=["id"])


# -- arguments -------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one mechanism": (lambda f: read_joint_counts(f, [X], ["x"]), "two or more"),
    "one column": (lambda f: read_joint_counts(f, (X, Y), ["x"]), "columns=.*must be 2"),
    "a column twice": (lambda f: read_joint_counts(f, (X, X), ("x", "x")), "'x': is named twice"),
    "one table by two names": (
        lambda f: read_joint_counts([f, Path("link.csv")], (X, X), ("x", "x"), id="who"),
        "named twice",
    ),
    "counts of reports": (lambda f: read_joint_counts(f, (X, Y), ("x", "y"), "y"), "count='y'"),
    "counts that are not numbers": (
        lambda f: read_joint_counts(f, (X, Y), ("x", "y"), "who"),
        "row 1='r1': must be a whole number",
    ),
    "cohorts of labels": (
        lambda f: read_joint_counts(f, (X, Y), ("x", "y"), cohorts=(None, "who")),
        "has no cohorts",
    ),
    "cohorts of reports": (
        lambda f: read_joint_counts(f, (BITS, Y), ("x", "y"), cohorts=("y", None)),
        "cohorts='y'",
    ),
    "identifiers and counts": (
        lambda f: read_joint_counts(f, (X, Y), ("x", "y"), "n", id="who"),
        "count='n': cannot be combined with id",
    ),
    "identifiers of reports": (
        lambda f: read_joint_counts(f, (X, Y), ("x", "y"), id="x"),
        "id='x': is a column of reports",
    ),
    "tables without identifiers": (
        lambda f: read_joint_counts([f, "b.csv"], (X, Y), ("x", "y")),
        "id=None: is needed",
    ),
    "a table too few": (lambda f: read_joint_counts([f], (X, Y), ("x", "y"), id="who"), "path="),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("who,x,y,n\nr1,nurse,no,2\n")
    Path("link.csv").symlink_to(tmp_path / "a.csv")
    call, says = WRONG[name]
    with pytest.raises(ldp.InvalidArgument, match=says):
        call(Path("a.csv"))
