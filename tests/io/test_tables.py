"""Tables of reports and counts in CSV and Parquet: there and back, and what a field means."""

import datetime
import gzip
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
from ldpstats.errors import LDPError
from ldpstats.io import tables

JOBS = ("nurse", "teacher", "driver")

# tells the truth but for one answer in e^40 / k, so that a test can see which row went where
HONEST = ldp.KRR(JOBS, epsilon=40.0)


# -- specifications --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["device-cards", "product", "urap-levels"])
def test_a_specification_comes_back(name, tmp_path):
    mechanism = grid.MECHANISMS[name]
    io.write_mechanism(mechanism, tmp_path / "spec.json")
    again = io.read_mechanism(tmp_path / "spec.json")
    assert again == mechanism and again.fingerprint == mechanism.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


def test_a_specification_is_not_overwritten_by_accident(tmp_path):
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
def test_reports_come_back_as_the_same_counts(name, suffix, tmp_path):
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
def test_every_label_survives(kind, suffix, tmp_path):
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
def test_missing_answers_come_back_as_missing(suffix, tmp_path):
    reports = ldp.KRR(JOBS, 1.0).privatize(["nurse", None, "driver", None], rng(), missing="count")
    io.write_reports(reports, tmp_path / f"r{suffix}")
    with pytest.raises(ldp.InvalidArgument, match=r"row 3.*is missing"):
        io.read_counts(tmp_path / f"r{suffix}", reports.mechanism)
    counts = io.read_counts(tmp_path / f"r{suffix}", reports.mechanism, missing="count")
    assert (counts.nobs, counts.n_missing) == (2, 2)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("bits", [False, True])
@pytest.mark.parametrize("k", [3, 65])
def test_chunks_add_up(k, bits, suffix, tmp_path):
    mechanism = ldp.KRAPPOR(k, epsilon=1.0)
    reports = mechanism.privatize(answers(mechanism, 1000), rng())
    pieces = [ldp.Reports(reports.y[i : i + 300], mechanism) for i in range(0, 1000, 300)]
    io.write_reports(iter(pieces), tmp_path / f"r{suffix}")
    whole = io.read_counts(tmp_path / f"r{suffix}", mechanism, bits=bits)
    assert same(whole, reports.tally(bits))
    for chunk_rows in (1000, 999, 37):
        parts = io.read_counts(tmp_path / f"r{suffix}", mechanism, bits=bits, chunk_rows=chunk_rows)
        assert type(parts) is type(whole) and same(parts, whole)


def test_a_wrong_pattern_would_be_noticed():
    """The negative control of `same`."""
    mechanism = ldp.KRAPPOR(65, epsilon=1.0)
    a, b = (mechanism.privatize(answers(mechanism, 50), rng(seed)).tally() for seed in (1, 2))
    assert not same(a, b)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_counts(suffix, tmp_path):
    table = pd.DataFrame({"job": [*JOBS, "nurse"], "n": [5, 0, 2**52, 7]})
    path = tmp_path / f"t{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path)
    counts = io.read_counts(path, ldp.KRR(JOBS, 1.0), "job", "n", chunk_rows=3)
    assert counts.vector().tolist() == [12, 0, 2**52]


# -- cohorts ---------------------------------------------------------------------------------------
ORR = ldp.ORR(4, 3, epsilon=1.0)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_cohorts(suffix, tmp_path):
    table = pd.DataFrame({"group": [2, 0, 2], "told": ["3", "1", "3"], "n": [4, 2, 1]})
    path = tmp_path / f"t{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
    counts = io.read_counts(path, ORR, "told", cohort="group", chunk_rows=2)
    assert counts.vector().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]
    counts = io.read_counts(path, ORR, "told", "n", cohort="group", chunk_rows=2)
    assert counts.vector().tolist() == [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 5]]


def test_a_missing_report_has_no_cohort(tmp_path):
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
def test_a_bad_cohort_is_named(row, says, tmp_path):
    path = text_file(tmp_path / "t.csv", f"group,told\n2,3\n0,1\n2,3\n{row}\n")
    for chunk_rows in (100, 3, 1):
        with pytest.raises(ldp.InvalidArgument, match=says):
            io.read_counts(path, ORR, "told", cohort="group", chunk_rows=chunk_rows)


COHORTS = "who,group,told,n\n1,2,3,4\n2,0,1,2\n3,2,3,1\n"


def test_a_column_of_cohorts_that_cannot_be(tmp_path):
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
def test_candidates_one_a_line(end, tmp_path):
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
def test_bad_candidates_are_refused(data, says, tmp_path):
    path = tmp_path / "c.txt"
    path.write_bytes(data)
    with pytest.raises(ldp.InvalidArgument, match=says) as caught:
        io.read_candidates(path)
    assert "c.txt" in str(caught.value)
    with pytest.raises(ldp.InvalidArgument, match="no such file"):
        io.read_candidates(tmp_path / "none.txt")


# -- what a field means ----------------------------------------------------------------------------
def test_empty_fields_alone_are_missing(tmp_path):
    path = text_file(tmp_path / "t.csv", "id,job\n1,nurse\n2,\n3,NA\n4,None\n5,nan\n")
    values = [value for chunk in io.read_column(path, "job") for value in chunk]
    assert values == ["nurse", None, "NA", "None", "nan"]


def test_more_text_may_mean_missing(tmp_path):
    path = text_file(tmp_path / "t.csv", "id,job\n1,nurse\n2,\n3,NA\n4,?\n")
    krr = ldp.KRR(JOBS, 1.0)
    counts = io.read_counts(path, krr, "job", missing="count", na=["NA", "?"])
    assert (counts.nobs, counts.n_missing) == (1, 3)
    with pytest.raises(ldp.UnknownCategory, match=r"row 4.*'\?'"):
        io.read_counts(path, krr, "job", missing="count", na=["NA"])


def test_text_is_never_read_as_a_number(tmp_path):
    path = text_file(tmp_path / "t.csv", "code\n01\n1\n01\n")
    assert io.read_counts(path, ldp.KRR(("1", "01"), 1.0), "code").vector().tolist() == [1, 2]
    with pytest.raises(ldp.UnknownCategory, match=r"row 1.*'01'"):
        io.read_counts(path, ldp.KRR(3, 1.0), "code")


@pytest.mark.parametrize("text", ["1", " 1", "1 ", "1.0"])
def test_a_label_may_be_written_as_people_do(text, tmp_path):
    path = text_file(tmp_path / "t.csv", f"code\n{text}\n")
    assert io.read_counts(path, ldp.KRR(5, 1.0), "code").vector().tolist() == [0, 1, 0, 0, 0]
    blank = text_file(tmp_path / "b.csv", f"code\n{text}\n  \n")
    with pytest.raises(ldp.InvalidArgument, match="row 2=None: is missing"):
        io.read_counts(blank, ldp.KRR(5, 1.0), "code")
    assert io.read_counts(blank, ldp.KRR(5, 1.0), "code", missing="count").n_missing == 1


@pytest.mark.parametrize("text", ["1.5", "+1", "1 1", "1e0", "٣", "9" * 30])
def test_what_is_no_label_is_refused(text, tmp_path):
    path = text_file(tmp_path / "t.csv", f"code\n{text}\n")
    with pytest.raises(ldp.UnknownCategory, match="row 1"):
        io.read_counts(path, ldp.KRR(5, 1.0), "code")


def test_a_byte_order_mark_is_tolerated(tmp_path):
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
def test_types_of_parquet(labels, column, tmp_path):
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
def test_other_values_of_parquet_are_refused(column, tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": column}), path)
    with pytest.raises(ldp.InvalidArgument, match="column 'v'"):
        io.read_counts(path, ldp.KRR(3, 1.0), "v")


def test_text_of_parquet_that_is_no_text(tmp_path):
    """Bytes that another program called text."""
    path, data = tmp_path / "t.parquet", pyarrow.array([b"nurse", b"caf\xe9"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), 2, data.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"job": text}), path)
    with pytest.raises(ldp.InvalidArgument, match="column='job': holds text that is not UTF-8"):
        io.read_counts(path, HONEST, "job")
    with pytest.raises(ldp.InvalidArgument, match="column='job': holds text that is not UTF-8"):
        io.privatize_file(path, tmp_path / "r.csv", "job", HONEST.collector())


# CSV read by Arrow, and by the strict reader alone: the same cells, and the same errors.

PIECES = [b"a", b"bc", b"1", b" ", b",", b",", b"\n", b"\n", b"\r\n", b"\xc3\xa9", b"NA", b"=x"]

ODD = [b'"', b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b'"a,b"', b"\n\n", b"\x0b", b"\xe2\x80\xa8"]


def outcome(path, wanted, rows, codes=()):
    """All cells of a file, or the error about it."""
    try:
        frames = list(tables.table_chunks(path, wanted, rows, codes=codes))
    except LDPError as error:
        return f"{type(error).__name__} {error}"
    columns = {name: [tables.objects(frame[name]) for frame in frames] for name in wanted}
    sizes = [len(frame) for frame in frames]
    return sizes, {name: [c for part in parts for c in part] for name, parts in columns.items()}


def strictly(path, wanted, rows, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tables, "header_of", lambda line: None)
        return outcome(path, wanted, rows)


def test_small_files_are_read_as_by_the_strict_reader(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    quick = 0
    parsed = tables.parsed_numbers

    def counted(*args):
        nonlocal quick
        found = parsed(*args)
        quick += found is not None
        return found

    monkeypatch.setattr(tables, "parsed_numbers", counted)
    for i in range(220):
        width = int(rng.integers(1, 4))
        header = b",".join([b"x", b"y", b"'=z"][:width])
        if i % 3 == 0:  # anything
            pieces = PIECES + ODD if i % 2 else PIECES
            body = b"".join(pieces[j] for j in rng.integers(0, len(pieces), rng.integers(0, 14)))
        else:  # rows that fit, but for a few
            end = b"\r\n" if i % 5 == 0 else b"\n"
            cells = [b"", b"a", b"bc ", b"\xc3\xa9", b"01"] + ([ODD[i % len(ODD)]] if i % 2 else [])
            row = [cells[j] for j in rng.integers(0, len(cells), width * int(rng.integers(0, 9)))]
            lines = [b",".join(row[k : k + width]) for k in range(0, len(row), width)]
            body = end.join(lines) + end * int(rng.integers(0, 2))
        text = [b"", b"\xef\xbb\xbf"][i % 7 == 0] + header + [b"\n", b"\r\n"][i % 4 == 0] + body
        path = tmp_path / ("t.csv.gz" if i % 11 == 0 else "t.csv")
        path.write_bytes(gzip.compress(text) if i % 11 == 0 else text)
        wanted, rows = ["y" if width > 1 else "x", "=z"][: 2 if width == 3 else 1], i % 4 + 1
        expected = strictly(path, wanted, rows, monkeypatch)
        assert outcome(path, wanted, rows) == expected, text
        assert outcome(path, wanted, rows, codes=wanted) == expected, text
    assert quick > 100


def test_long_fields_and_late_faults_are_found(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    for body in (b"a" * 140_000 + b",b\n", b"a,b\n" * 50 + b"a\n", b"a,b\n" * 50 + b'"a\nb",c\n'):
        path.write_bytes(b"x,y\n" + body)
        for rows in (7, 1000):
            expected = strictly(path, ["y"], rows, monkeypatch)
            assert outcome(path, ["y"], rows) == expected


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_blocks_are_whole_lines(rows, monkeypatch):
    from io import BytesIO

    text = b"".join(b"%d\n" % i for i in range(100)) + b"end"
    monkeypatch.setattr(tables, "_PIECE", 17)
    found = list(tables.blocks(BytesIO(text), rows))
    assert b"".join(found) == text
    assert [block.count(b"\n") for block in found[:-1]] == [rows] * (100 // rows)


# Cells that a spreadsheet would run as formulas, and labels that look like them.

LABELS_SHEETS: dict[str, tuple[Any, ...]] = {
    "text": ("-5", "=x", "+1", "@me", "plain", "'quoted", "a=b"),
    "integers": (-5, 3, -1),
    "floats": (-0.5, 0.5),
    "mixed": ("=x", -5, 2.5),
}

RISKY = ("=", "+", "-", "@")


def cells(path: Path) -> list[str]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return [*frame.columns, *frame.to_numpy().ravel()]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("kind", LABELS_SHEETS)
def test_reports_come_back_as_the_same_counts_sheets(kind, suffix, tmp_path):
    mechanism = ldp.KRR(LABELS_SHEETS[kind], epsilon=1.0)
    codes = np.random.default_rng(1).integers(0, mechanism.k, 300)
    reports, path = ldp.Reports(codes, mechanism, 2), tmp_path / f"r{suffix}"
    for safe in (True, False):
        io.write_reports(reports, path, spreadsheet_safe=safe, force=True)
        counts = io.read_counts(path, mechanism, missing="count")
        assert counts.vector().tolist() == np.bincount(codes).tolist() and counts.n_missing == 2
        assert any(cell.startswith(RISKY) for cell in cells(path)) != safe


@pytest.mark.parametrize("safe", [False, True])
def test_headers_and_kept_columns(safe, tmp_path):
    source, out = tmp_path / "a.csv", tmp_path / "r.csv"
    source.write_text("=x,note,@id\nyes,-1+1,'-2\nno,,=1\n")
    io.privatize_file(
        source, out, "=x", ldp.Warner(epsilon=1.0).collector(),
        name="=x", keep=["note", "@id"], spreadsheet_safe=safe,
    )  # fmt: skip
    head = "'=x,'=x_fingerprint,note,'@id" if safe else "=x,=x_fingerprint,note,@id"
    assert out.read_text().splitlines()[0] == head
    assert any(cell.startswith(RISKY) for cell in cells(out)) != safe
    frame = pd.concat(io.read_columns(out, ["note", "@id"]))
    assert frame["@id"].tolist() == ["'-2", "'=1" if safe else "=1"]
    # a column is found under either spelling, and its fingerprints with it
    assert io.read_counts(out, ldp.Warner(epsilon=1.0), "=x").nobs == 2
    with pytest.raises(ldp.MechanismMismatch):
        io.read_counts(out, ldp.Warner(epsilon=2.0), "=x")


def test_a_guarded_file_is_privatised_again(tmp_path):
    honest = ldp.KRR(("-5", "=x"), epsilon=40.0)  # but for one answer in e^40
    source, step, out = (tmp_path / name for name in ("a.csv", "m.csv", "r.csv"))
    source.write_text("=job,n\n=x,1\n-5,2\n=x,3\n")
    how: dict[str, Any] = {"name": "=job", "spreadsheet_safe": True}
    io.privatize_file(source, step, "=job", honest.collector(), **how)
    io.privatize_file(step, out, "=job", honest.collector(), **how)
    assert out.read_text() == step.read_text()
    assert io.read_counts(out, honest, "=job").vector().tolist() == [1, 2]


def test_a_label_with_an_apostrophe_is_that_label(tmp_path):
    both = ldp.KRR(("-5", "'-5"), epsilon=1.0)
    reports, path = ldp.Reports([0, 1, 1], both), tmp_path / "r.csv"
    io.write_reports(reports, path)
    assert io.read_counts(path, both).vector().tolist() == [1, 2]
    with pytest.raises(ldp.InvalidArgument, match="could not be distinguished from the label '-5'"):
        io.write_reports(reports, tmp_path / "s.csv", spreadsheet_safe=True)


def test_a_guarded_spelling_of_parquet_is_no_label(tmp_path):
    pd.DataFrame({"report": ["'-5"]}).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(ldp.UnknownCategory):
        io.read_counts(tmp_path / "r.parquet", ldp.KRR(("-5", "x"), 1.0))


# -- answers, missing answers and identifiers that are kept for another run ------------------------
OPEN: dict[str, ldp.Mechanism] = {
    "orr": ldp.ORR(n_outputs=8, n_cohorts=4, epsilon=1.0),
    "orappor": ldp.ORAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, epsilon=1.0),
    "rappor": ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75),
}

SIGNS = ldp.DictionarySurvey(length=5, gram=1, alphabet="=+-@'ab", epsilon=8.0)


def kept(folder: Path, answers: list[str], suffix: str = ".csv") -> Path:
    """A table with a column of answers that --spreadsheet-safe left for another run."""
    source, step = folder / "a.csv", folder / f"m{suffix}"
    table = pd.DataFrame({"paid": "yes", "who": answers})
    table.to_csv(source, index=False)
    how = {"keep": ["who"], "spreadsheet_safe": suffix != ".parquet"}
    io.privatize_file(source, step, "paid", ldp.Warner(epsilon=1.0).collector(), **how)
    return step


@pytest.mark.parametrize(("kind", "sign"), list(zip([*OPEN, "survey"], RISKY, strict=True)))
def test_kept_answers_are_not_hashed_with_an_apostrophe(kind, sign, tmp_path):
    collector: Any = SIGNS.collector() if kind == "survey" else OPEN[kind].collector()
    make: Any = io.privatize_strings if kind == "survey" else io.privatize_file
    step, out = kept(tmp_path, ["a", "'a", f"{sign}ab"]), tmp_path / "r.csv"
    with pytest.raises(ldp.InvalidArgument, match=r"row 3=\(not shown\): begins") as caught:
        make(step, out, "who", collector, chunk_rows=2)
    says = "without it; if the apostrophe is part of the answer, use a Parquet file"
    assert says in str(caught.value) and f"{sign}ab" not in str(caught.value)
    assert not out.exists()
    # the ways out, and answers that only begin with an apostrophe
    step = kept(tmp_path, ["a", "'a", f"{sign}ab"], ".parquet")
    assert make(step, out, "who", collector) == (3, 0)
    pd.DataFrame({"who": [f"'{sign}"]}).to_parquet(tmp_path / "b.parquet")
    assert make(tmp_path / "b.parquet", out, "who", collector, force=True) == (1, 0)
    (tmp_path / "c.csv").write_text("who\n'\n'a\n''-\n")
    assert make(tmp_path / "c.csv", out, "who", collector, force=True) == (3, 0)


def test_apostrophes_do_not_reach_parquet(tmp_path):
    """There they would be taken for a part of the answer."""
    step, out = kept(tmp_path, ["a", "=b"]), tmp_path / "r.parquet"
    again: dict[str, Any] = {"name": "again", "keep": ["who"], "chunk_rows": 1}
    with pytest.raises(ldp.InvalidArgument, match=r"'who', row 2=\(not shown\): begins"):
        io.privatize_file(step, out, "report", ldp.Warner(epsilon=1.0).collector(), **again)
    assert not out.exists()
    io.privatize_file(
        tmp_path / "a.csv", out, "paid", ldp.Warner(epsilon=1.0).collector(), keep=["who"]
    )
    assert next(io.read_columns(out, ["who"]))["who"].tolist() == ["a", "=b"]


@pytest.mark.parametrize("kind", ["closed", "numbers", "open", "survey"])
def test_missing_answers_that_are_kept_stay_missing(kind, tmp_path):
    step, out = kept(tmp_path, ["-1", "0", "2", "-1"]), tmp_path / "r.csv"
    survey = ldp.DictionarySurvey(length=2, gram=1, alphabet="-'012", epsilon=8.0)
    collectors: dict[str, Any] = {
        "closed": ldp.KRR(("0", "2"), 1.0).collector(),
        "numbers": ldp.KRR(3, 1.0).collector(),
        "open": OPEN["orr"].collector(),
        "survey": survey.collector(),
    }
    make: Any = io.privatize_strings if kind == "survey" else io.privatize_file
    how: dict[str, Any] = {"missing": "count", "na": ["-1"]}
    assert make(step, out, "who", collectors[kind], **how) == (2, 2)
    # a label is an answer, and Parquet is read as it is
    label = ldp.KRR(("'-1", "0", "2"), 1.0).collector()
    assert io.privatize_file(step, out, "who", label, **how, force=True) == (4, 0)
    pd.DataFrame({"who": ["'-1", "-1", "0"]}).to_parquet(tmp_path / "m.parquet")
    assert io.privatize_file(
        tmp_path / "m.parquet", out, "who", label, **how, force=True
    ) == (2, 1)  # fmt: skip


def test_missing_reports_that_are_kept_stay_missing(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("report,report_fingerprint\nyes,'-\n'-,'-\nno,\n")
    counts = io.read_counts(path, ldp.Warner(epsilon=1.0), missing="count", na=["-"])
    assert (counts.nobs, counts.n_missing) == (2, 1)
    path.write_text("start_1,gram_1,start_2,gram_2,string\n" + ",".join(["'-9"] * 5) + "\n")
    read = io.read_dictionary_reports(path, SIGNS, missing="count", na=["-9"])
    assert read.n_missing == 1


def test_identifiers_are_the_same_with_an_apostrophe(tmp_path):
    source, n = tmp_path / "a.csv", 200
    table = pd.DataFrame({"id": np.arange(n) - n // 2, "a": "yes", "b": ["no", "yes"] * (n // 2)})
    table.to_csv(source, index=False)
    warner, paths = ldp.Warner(epsilon=1.0), [tmp_path / "r.csv", tmp_path / "s.csv"]
    for path, column, safe in zip(paths, "ab", (True, False), strict=True):
        collector = warner.collector()
        io.privatize_file(source, path, column, collector, keep=["id"], spreadsheet_safe=safe)
    pair: Any = (warner, warner), ("report", "report")
    assert io.read_joint_counts(paths, *pair, id="id").nobs == n
    other = tmp_path / "s.parquet"
    io.privatize_file(source, other, "b", warner.collector(), keep=["id"])
    assert io.read_joint_counts([paths[0], other], *pair, id="id").nobs == n
    paths[1].write_text("report,id\nyes,=x\nno,1\nno,'=x\n")
    with pytest.raises(ldp.InvalidArgument, match="row 3='=x': is also the respondent of row 1"):
        io.read_joint_counts(paths, *pair, id="id")


@pytest.mark.parametrize("given", [True, "yes", 1, None])
def test_parquet_needs_none(given, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("job\nyes\n")
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    reports = survey.privatize(["abc"], np.random.default_rng(1))
    warner = ldp.Warner(epsilon=1.0)
    out, how = tmp_path / "r.parquet", {"spreadsheet_safe": given}
    for call in (
        lambda: io.write_reports(warner.privatize(["yes"], np.random.default_rng(1)), out, **how),
        lambda: io.privatize_file(source, out, "job", warner.collector(), **how),
        lambda: io.privatize_strings(source, out, "job", survey.collector(), **how),
        lambda: io.write_dictionary_reports(reports, out, **how),
    ):
        with pytest.raises(ldp.InvalidArgument, match="spreadsheet_safe="):
            call()
    assert not out.exists()
