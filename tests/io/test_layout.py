"""The layout of reports in tables: there and back in every form, and what is refused."""

from collections.abc import Callable
from typing import Any

import grid
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.report_tables import as_stored, as_text, some_reports
from shared.written_tables import rng, same

import ldpstats as ldp
from ldpstats import io
from ldpstats.survey.analyses import privatize_sheets

RAPPOR = ldp.RAPPOR(11, 2, 3, f=0.0, p=0.25, q=0.75)
ORR = ldp.ORR(300, 5, epsilon=1.0)
UNARY = ldp.KRAPPOR(11, epsilon=1.0)
NOT_LABELS = {  # one of each form of reports
    **{n: grid.MECHANISMS[n] for n in ("krappor", "lumped-byte", "subsets-9", "urap-bytes")},
    **{n: grid.MECHANISMS[n] for n in ("urap-none", "orr", "orappor-closed", "rappor-google")},
}


def held(data: Any, mechanism: ldp.Mechanism) -> ldp.Reports:
    return ldp.Survey(data, ldp.Questionnaire({"answer": mechanism})).reports("answer")


def equal(a: ldp.Reports, b: ldp.Reports) -> bool:
    cohorts = (a.cohort is None) == (b.cohort is None)
    return cohorts and np.array_equal(a.y, b.y) and np.array_equal(a.cohort, b.cohort)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", NOT_LABELS)
def test_files_come_back_as_the_same_reports(name, suffix, tmp_path):
    """By `read_counts`, and in order by a survey, with missing answers at the end of each chunk."""
    mechanism, path = grid.MECHANISMS[name], tmp_path / f"r{suffix}"
    made = some_reports(mechanism, 60)
    chunks = [ldp.Reports(part.y, mechanism, 2, part.cohort) for part in (made[:25], made[25:])]
    io.write_reports(chunks, path)
    counts = io.read_counts(path, mechanism, missing="count")
    assert counts.n_missing == 4 and same(counts, sum(c.tally() for c in chunks))
    survey = ldp.Survey(path, ldp.Questionnaire({"report": mechanism}))
    found = survey.reports("report")
    assert found.n_missing == 4 and equal(found, made)
    assert "report_cohort" not in survey.data.public_columns


@pytest.mark.parametrize("name", NOT_LABELS)
def test_parquet_has_bytes_and_cohorts(name, tmp_path):
    mechanism, path = grid.MECHANISMS[name], tmp_path / "r.parquet"
    made = some_reports(mechanism, 40)
    io.write_reports(made, path)
    table = pq.read_table(path)
    digits = {b"ldpstats.fingerprint": mechanism.fingerprint.encode()}
    assert {field.name: field.metadata for field in table.schema} == dict.fromkeys(
        ["report", "report_cohort"] if mechanism.n_cohorts else ["report"], digits
    )
    if mechanism.n_bits:  # bit j of the text is in byte j // 8 at position j % 8
        assert table.schema.field("report").type == pa.binary(-(-mechanism.n_bits // 8))
        text = [label.rpartition(":")[2] for label in mechanism.report_labels(made).tolist()]
        bits = np.array([[int(bit) for bit in label] for label in text])
        cells = np.frombuffer(b"".join(table["report"].to_pylist()), np.uint8).reshape(40, -1)
        for j in range(mechanism.n_bits):
            assert np.array_equal(cells[:, j // 8] >> (j % 8) & 1, bits[:, j])
    if mechanism.n_cohorts:
        assert table.schema.field("report_cohort").type == pa.int32()
        assert table["report_cohort"].to_pylist() == made.cohort.tolist()


def test_joint_counts_read_both_forms(tmp_path):
    rappor, orr = some_reports_of(RAPPOR, 200), some_reports(ORR, 200)
    whole = np.zeros(200, dtype=bool)
    bits, labels = as_stored(rappor, whole), as_stored(orr, whole)
    table = {"a": bits["answer"], "a_cohort": bits["answer_cohort"]}
    table |= {"b": labels["answer"], "b_cohort": labels["answer_cohort"]}
    pq.write_table(pa.table(table), tmp_path / "new.parquet")
    text = {"a": as_text(rappor, whole)["answer"], "b": as_text(orr, whole)["answer"]}
    pq.write_table(pa.table(text), tmp_path / "old.parquet")
    both = [
        io.read_joint_counts(tmp_path / name, (RAPPOR, ORR), ("a", "b"), chunk_rows=64)
        for name in ("new.parquet", "old.parquet")
    ]
    assert np.array_equal(both[0].n, both[1].n)
    assert all(equal(a, b) for a, b in zip(both[0].reports, both[1].reports, strict=True))


def some_reports_of(mechanism: ldp.Mechanism, n: int) -> ldp.Reports:
    """Reports of more bits than could be listed."""
    bits = rng().random((n, mechanism.n_bits)) < 0.3
    cohort = rng().integers(0, mechanism.n_cohorts, n) if mechanism.n_cohorts else None
    return ldp.Reports(grid.packed(bits), mechanism, cohort=cohort)


# -- tables ----------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "arrow in slices": lambda table: pa.concat_tables(
        [table.slice(0, 7).combine_chunks(), table.slice(7, 0), table.slice(7)]
    ),
    "record batch": lambda table: table.combine_chunks().to_batches()[0].slice(0),
    "pandas": lambda table: table.to_pandas(),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "dictionaries": lambda table: table.set_column(
        0, "answer", table["answer"].dictionary_encode()
    ),
    "polars": lambda table: polars.from_arrow(table),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("mechanism", [RAPPOR, ORR, UNARY], ids=lambda m: type(m).__name__)
def test_tables_hold_reports_in_every_form(mechanism, kind):
    absent = rng().random(80) < 0.2
    n = int((~absent).sum())
    made = some_reports(ORR, n) if mechanism is ORR else some_reports_of(mechanism, n)
    for form in (as_stored, as_text):
        found = held(TABLES[kind](form(made, absent)), mechanism)
        assert equal(found, made) and found.n_missing == 80 - n
        if kind.startswith("pandas"):
            frame = TABLES[kind](form(made, absent))
            counts = ldp.Counts.from_frame(frame, mechanism, "answer", missing="count")
            assert same(counts, ldp.Reports(made.y, mechanism, 80 - n, made.cohort).tally())
    if mechanism is not ORR:  # cohorts in a column beside text
        text = [label.rpartition(":")[2] for label in mechanism.report_labels(made)]
        cells = np.full(80, None, dtype=object)
        cells[~absent] = text
        table = as_stored(made, absent)
        table = table.set_column(0, "answer", pa.array(cells, pa.string()))
        assert equal(held(TABLES[kind](table), mechanism), made)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)])
def test_bytes_of_any_type_are_read_in_place(kind):
    made = some_reports_of(UNARY, 50)
    column = pa.chunked_array([as_stored(made, np.arange(50) < 0)["answer"].chunk(0).cast(kind)])
    series = pd.Series(pd.arrays.ArrowExtensionArray(column))
    found = UNARY.parse("answer", series[3:])
    assert np.array_equal(found.y, made.y[3:])
    if kind == pa.binary(2):
        assert np.shares_memory(found.y, np.frombuffer(column.chunk(0).buffers()[1], np.uint8))


def test_a_colon_in_the_text_comes_before_a_column_of_that_name():
    made = some_reports(ORR, 30)
    frame = as_text(made, np.zeros(30, dtype=bool)).to_pandas()
    frame["answer_cohort"] = "born 1970"
    assert equal(held(frame, ORR), made)
    survey = ldp.Survey(frame, ldp.Questionnaire({"answer": ORR}))
    assert survey.data.public_columns == ("answer_cohort",)
    assert same(ldp.Counts.from_frame(frame, ORR, "answer"), made.tally())


def test_a_column_of_cohorts_is_not_public():
    made = some_reports(ORR, 30)
    survey = ldp.Survey(as_stored(made, np.zeros(30, bool)), ldp.Questionnaire({"answer": ORR}))
    assert survey.data.public_columns == ()
    with pytest.raises(ldp.InvalidArgument, match="is private"):
        survey.where("answer_cohort > 1")


@pytest.mark.parametrize("mechanism", ["krr", "oue", "orr", "rappor"])
def test_questions_about_strings_have_cohorts_beside_each_part(mechanism, tmp_path):
    strings = ldp.DictionarySurvey(4, 2, "abc", 12.0, gram_mechanism=mechanism)
    made = strings.privatize(["abca", "bc", None, "cab"] * 9, rng(), missing="count")
    io.write_dictionary_reports(made, tmp_path / "r.parquet")
    again = io.read_dictionary_reports(tmp_path / "r.parquet", strings, missing="count")
    assert again.to_frame().equals(made.to_frame()) and again.n_missing == made.n_missing
    sheet = ldp.Questionnaire({"url": strings})
    source, target = tmp_path / "a.csv", tmp_path / "s.parquet"
    pd.DataFrame({"url": ["abca", "bc", None, "cab"] * 9}).to_csv(source, index=False)
    assert privatize_sheets(source, target, sheet.collector()) == {"url": 27}
    columns = list(sheet.columns("url"))
    plain = io.read_dictionary_reports(target, strings, columns=columns, missing="count")
    survey = ldp.Survey(target, sheet)
    found = survey.data.reported("url").reports
    assert found.to_frame().equals(plain.to_frame()) and len(found) == 27
    assert survey.data.public_columns == ()


# -- kept columns ----------------------------------------------------------------------------------


def test_kept_reports_keep_their_cohorts(tmp_path):
    """And only theirs: a column of that name beside answers is not copied unasked."""
    made, source, target = some_reports(ORR, 30), tmp_path / "a.parquet", tmp_path / "b.parquet"
    io.write_reports(made, source)
    table = pq.read_table(source).append_column("age", pa.array(range(30)))
    table = table.append_column("age_cohort", pa.array(range(30)))
    table = table.append_column("ill", pa.array(["yes", "no"] * 15))
    pq.write_table(table, source)
    client = ldp.Warner(epsilon=1.0).collector()
    io.privatize_file(source, target, "ill", client, name="sick", keep=["report", "age"])
    assert pq.read_schema(target).names == ["sick", "report", "report_cohort", "age"]
    assert same(io.read_counts(target, ORR), made.tally())
    assert same(io.read_counts(source, ORR), made.tally())


# -- what is refused -------------------------------------------------------------------------------


def stored(mechanism: ldp.Mechanism) -> pa.Table:
    """Twelve reports, of which the second is missing."""
    made = some_reports(ORR, 11) if mechanism is ORR else some_reports_of(mechanism, 11)
    return as_stored(made, np.arange(12) == 1)


def changed(table: pa.Table, column: str, row: int, value: Any, kind: Any = None) -> pa.Table:
    cells = table[column].to_pylist()
    cells[row] = value
    at = table.schema.get_field_index(column)
    return table.set_column(at, column, pa.array(cells, kind or table.schema.field(at).type))


BAD: dict[str, tuple[ldp.Mechanism, Callable[[], pa.Table], str]] = {
    "padding": (
        UNARY,
        lambda: changed(stored(UNARY), "answer", 4, b"\x01\x08"),
        r"row 5=b'\\x01\\x08': has bits beyond the 11 of a report: padding must be zero",
    ),
    "width": (
        UNARY,
        lambda: changed(stored(UNARY), "answer", 4, b"\x01", pa.binary()),
        r"row 5=b'\\x01': must be 2 bytes, the 11 bits of a report",
    ),
    "no cohorts": (
        RAPPOR,
        lambda: stored(RAPPOR).drop_columns("answer_cohort"),
        "row 1=.*is bytes, which have no cohort before them: name the column of cohorts",
    ),
    "unknown cohort": (
        RAPPOR,
        lambda: changed(stored(RAPPOR), "answer_cohort", 4, 3),
        "row 5=3: is not a cohort: cohorts are numbered from 0 to 2",
    ),
    "negative cohort": (
        ORR,
        lambda: changed(stored(ORR), "answer_cohort", 4, -1),
        "row 5=-1: must be a whole number, neither negative nor missing",
    ),
    "no such label": (
        ORR,
        lambda: changed(stored(ORR), "answer", 4, 300),
        "row 5=300",
    ),
    "two bits that are not sensitive": (
        grid.MECHANISMS["urap"],
        lambda: pa.table({"answer": [None, b"\x00", b"\x06"]}),
        "row 3=.*has two bits that are not sensitive",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_columns_are_refused_by_row(kind, tmp_path):
    mechanism, made, words = BAD[kind]
    with pytest.raises(ldp.InvalidArgument, match=words):
        held(made(), mechanism)
    with pytest.raises(ldp.InvalidArgument, match=words):
        held(made().to_pandas(types_mapper=pd.ArrowDtype), mechanism)
    pq.write_table(made(), tmp_path / "r.parquet")
    for chunk_rows in (2, 100):
        with pytest.raises(ldp.InvalidArgument, match=words):
            io.read_counts(
                tmp_path / "r.parquet", mechanism, "answer", missing="count", chunk_rows=chunk_rows
            )


def test_bytes_are_no_labels_and_labels_no_bytes(tmp_path):
    with pytest.raises(ldp.LDPError):
        held(pa.table({"answer": [b"yes"]}), ldp.Warner(epsilon=1.0))
    with pytest.raises(ldp.InvalidArgument, match=r"answer, row 2=b'\\x00"):
        held(pd.DataFrame({"answer": ["0" * 11, b"\0\0"]}), UNARY)
    with pytest.raises(ldp.InvalidArgument, match="answer, row 2='0"):
        held(pd.DataFrame({"answer": [b"\0\0", "0" * 11]}), UNARY)
    with pytest.raises(ldp.InvalidArgument, match="must be None"):
        UNARY.parse("answer", [b"\0\0"], [1])
