"""Dictionary surveys as files: specifications, and reports there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.dictionary_files import COLUMNS, SHAPE, SURVEY, SURVEYS, reports
from shared.written_tables import FORMATS, rng, table_file

import ldpstats as ldp
from ldpstats import io


def same(a: ldp.DictionaryReports, b: ldp.DictionaryReports) -> bool:
    """Whether the same reports stand in the same order."""
    if a.survey != b.survey or a.n_missing != b.n_missing or len(a) != len(b):
        return False
    parts = [(a.first, b.first), (a.second, b.second), (a.string, b.string)]
    cohorts = [(x.cohort, y.cohort) for x, y in parts if x.cohort is not None]
    arrays = [(a.pair, b.pair), *((x.y, y.y) for x, y in parts), *cohorts]
    return all(np.array_equal(x, y) for x, y in arrays)  # type: ignore[arg-type]


# -- specifications --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURVEYS)
def test_a_specification_comes_back(name: str, tmp_path: Path) -> None:
    survey = SURVEYS[name]
    io.write_survey(survey, tmp_path / "s.json")
    again = io.read_survey(tmp_path / "s.json")
    assert again == survey and again.fingerprint == survey.fingerprint
    assert again.epsilon == pytest.approx(9.0, abs=1e-12) and again.audit().agrees
    assert io.is_survey(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_a_survey_is_no_mechanism(tmp_path: Path) -> None:
    io.write_survey(SURVEY, tmp_path / "s.json")
    io.write_mechanism(ldp.Warner(epsilon=1.0), tmp_path / "m.json")
    with pytest.raises(ldp.InvalidArgument, match=r"m\.json.*of a mechanism, not of a survey"):
        io.read_survey(tmp_path / "m.json")
    with pytest.raises(ldp.InvalidArgument, match=r"s\.json.*of a survey of strings"):
        io.read_mechanism(tmp_path / "s.json")
    assert not io.is_survey(tmp_path / "m.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a specification"),
        ("[1]", "is not the specification of a survey.*must be an object"),
        ("[" * 100_000, "is not a specification"),
        ('{"format": "x", "format": "y"}', "repeats a field"),
        ('{"format": ["ldpstats-mechanism"]}', "must be an object"),
        ('{"format": "ldpstats-dictionary-survey"}', "version 1 and the fields"),
    ],
)
def test_other_documents_are_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ldp.InvalidArgument, match=says) as caught:
        io.read_survey(tmp_path / "s.json")
    assert "s.json" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", 7),
        ("gram", 0),
        ("alphabet", "ab "),
        ("step", 0.5),
        ("replace", "z"),
        ("version", 2),
        ("gram_mechanism", None),
        ("gram_mechanism", ldp.KRR(3, 3.0).to_dict()),
        ("string_mechanism", ldp.KRR(3, 3.0).to_dict()),
    ],
)
def test_fields_that_cannot_be_are_refused(field: str, value: Any, tmp_path: Path) -> None:
    document = SURVEY.to_dict() | {field: value}
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(ldp.InvalidArgument, match=r"s\.json.*not the specification of a survey"):
        io.read_survey(tmp_path / "s.json")


# -- reports there and back ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", SURVEYS)
def test_reports_come_back(name: str, suffix: str, tmp_path: Path) -> None:
    survey, path = SURVEYS[name], tmp_path / f"r{suffix}"
    made = reports(survey)
    io.write_dictionary_reports(made, path)
    for chunk_rows in (1000, 200, 37):
        assert same(io.read_dictionary_reports(path, survey, chunk_rows=chunk_rows), made)


def test_other_reports_would_be_noticed() -> None:
    """The negative control of `same`."""
    for survey in SURVEYS.values():
        assert not same(reports(survey), reports(survey, seed=2))
    made = reports(SURVEY)
    assert not same(made, made.select(np.arange(len(made))[::-1]))


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_table_is_that_of_to_frame(suffix: str, tmp_path: Path) -> None:
    made = reports(SURVEY)
    io.write_dictionary_reports(made, tmp_path / f"a{suffix}")
    beside = ["string_cohort"] if suffix == ".parquet" else []
    written = pd.concat(io.read_columns(tmp_path / f"a{suffix}", [*COLUMNS, *beside]))
    if beside:  # io.layout
        written["string"] = (
            written.pop("string_cohort").astype(str) + ":" + written["string"].astype(str)
        )
    assert written.astype(str).to_numpy().tolist() == made.to_frame().astype(str).values.tolist()
    path = table_file(tmp_path / f"b{suffix}", made.to_frame())
    assert same(io.read_dictionary_reports(path, SURVEY), made)


@pytest.mark.parametrize("suffix", FORMATS)
def test_chunks_of_one_survey_are_one_file(suffix: str, tmp_path: Path) -> None:
    made, path = reports(SURVEY, 90), tmp_path / f"r{suffix}"
    pieces = (made.select(np.arange(i, i + 30)) for i in (0, 30, 60))
    io.write_dictionary_reports(pieces, path)
    assert same(io.read_dictionary_reports(path, SURVEY), made)


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_answers_come_back_as_missing(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"r{suffix}"
    made = SURVEY.privatize(["abc", None, "de", None], rng(), missing="count")
    io.write_dictionary_reports([made, made], path)
    with pytest.raises(ldp.InvalidArgument, match=r"row 3=None: is missing.*missing='count'"):
        io.read_dictionary_reports(path, SURVEY)
    for chunk_rows in (100, 3, 2, 1):
        again = io.read_dictionary_reports(path, SURVEY, missing="count", chunk_rows=chunk_rows)
        assert same(again, made + made) and again.n_missing == 4


def test_the_order_of_two_grams_does_not_matter(tmp_path: Path) -> None:
    for survey in SURVEYS.values():
        made = reports(survey, 60)
        table = made.to_frame().astype(object)
        odd = np.arange(60) % 2 == 1
        turned = ["start_2", "gram_2", "start_1", "gram_1", "string"]
        table.loc[odd, COLUMNS] = table.loc[odd, turned].to_numpy()
        path = table_file(tmp_path / "r.parquet", table)  # pandas leaves "\r" unquoted in CSV
        assert same(io.read_dictionary_reports(path, survey, chunk_rows=25), made)


def test_more_text_may_mean_missing(tmp_path: Path) -> None:
    table = reports(SURVEY, 3).to_frame().astype(object)
    table.loc[1] = "?"
    path = table_file(tmp_path / "r.csv", table)
    again = io.read_dictionary_reports(path, SURVEY, missing="count", na=["?"])
    assert len(again) == 2 and again.n_missing == 1
    with pytest.raises(ldp.InvalidArgument, match=r"column 'start_1', row 2='\?'"):
        io.read_dictionary_reports(path, SURVEY, missing="count")
    with pytest.raises(ldp.InvalidArgument, match="na='ab': is a label"):
        io.read_dictionary_reports(path, SURVEY, missing="count", na=["?", "ab"])


# -- malformed rows --------------------------------------------------------------------------------

GOOD = "0,ab,2,ca,1:3"
BAD = {
    "an impossible start": ("1,ab,2,ca,1:3", r"'start_1', row 6='1': is not the start of a gram"),
    "a start beyond the end": ("0,ab,6,ca,1:3", r"'start_2', row 6='6'.*start at 0, 2, 4"),
    "a start below zero": ("-2,ab,2,ca,1:3", r"'start_1', row 6='-2'"),
    "a start in other digits": ("0,ab,٢,ca,1:3", r"'start_2', row 6='٢'"),
    "equal starts": ("2,ab,2,ca,1:3", r"'start_2', row 6=2: is also the start of the other gram"),
    "no gram": ("0,zz,2,ca,1:3", r"'gram_1', row 6='zz'"),
    "a pad in front": ("0,ab,2, a,1:3", r"'gram_2', row 6=' a'"),
    "no cohort": ("0,ab,2,ca,3", r"'string', row 6='3'"),
    "a cohort of text": ("0,ab,2,ca,x:3", r"'string', row 6='x:3': must be text such as"),
    "a cohort too high": ("0,ab,2,ca,4096:3", r"'string', row 6='4096:3'.*no cohort"),
    "a label too high": ("0,ab,2,ca,1:99", r"'string', row 6='1:99'"),
    "no string": ("0,ab,2,ca,", r"'string', row 6=None.*a report has all five"),
    "a string alone": (",,,,1:3", r"'start_1', row 6=None.*a report has all five"),
    "four fields": ("0,ab,2,ca", r"row 6 has 4 fields"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_row_is_named(name: str, tmp_path: Path) -> None:
    row, says = BAD[name]
    lines = [",".join(COLUMNS), GOOD, GOOD, ",,,,", GOOD, GOOD, row, GOOD]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for chunk_rows in (100, 1):
        with pytest.raises(ldp.InvalidArgument, match=says) as caught:
            io.read_dictionary_reports(path, SURVEY, missing="count", chunk_rows=chunk_rows)
        assert "r.csv" in str(caught.value)


@pytest.mark.parametrize("column", ["start_1", "start_2"])
@pytest.mark.parametrize("value", [True, -2, 7, 0.5, 2**63, b"2"])
def test_starts_of_parquet_that_are_none(column: str, value: Any, tmp_path: Path) -> None:
    table = pyarrow.Table.from_pandas(reports(SURVEY, 3).to_frame(), preserve_index=False)
    kind = pyarrow.uint64() if value == 2**63 else None
    place = table.column_names.index(column)
    table = table.set_column(place, column, pyarrow.array([value] * 3, kind))
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(ldp.InvalidArgument, match=f"column '{column}'"):
        io.read_dictionary_reports(tmp_path / "r.parquet", SURVEY)


# -- fingerprints ----------------------------------------------------------------------------------


def test_parquet_remembers_its_survey(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made = reports(SURVEY)
    io.write_dictionary_reports(made, path)
    others = [
        ldp.DictionarySurvey(**SHAPE, epsilon=8.0),
        ldp.DictionarySurvey(  # with the same mechanisms
            8, 2, "abcde", gram_mechanism=SURVEY.gram_mechanism,
            string_mechanism=SURVEY.string_mechanism,
        ),
    ]  # fmt: skip
    for other in others:
        with pytest.raises(ldp.MechanismMismatch, match=r"r\.parquet.*fingerprint"):
            io.read_dictionary_reports(path, other)
    # what another program wrote is taken by what it says
    bare = table_file(tmp_path / "bare.parquet", made.to_frame())
    assert len(io.read_dictionary_reports(bare, others[1])) == len(made)
