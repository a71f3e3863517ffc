"""Dictionary surveys as files: specifications, and reports there and back."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.dictionary_files import COLUMNS, HONEST, SHAPE, SURVEY, SURVEYS, reports
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
    return all(np.array_equal(x, y) for x, y in arrays)


# -- specifications --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SURVEYS)
def test_a_specification_comes_back(name, tmp_path):
    survey = SURVEYS[name]
    io.write_survey(survey, tmp_path / "s.json")
    again = io.read_survey(tmp_path / "s.json")
    assert again == survey and again.fingerprint == survey.fingerprint
    assert again.epsilon == pytest.approx(9.0, abs=1e-12) and again.audit().agrees
    assert io.is_survey(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_a_survey_is_no_mechanism(tmp_path):
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
def test_other_documents_are_refused(text, says, tmp_path):
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
def test_fields_that_cannot_be_are_refused(field, value, tmp_path):
    document = SURVEY.to_dict() | {field: value}
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(ldp.InvalidArgument, match=r"s\.json.*not the specification of a survey"):
        io.read_survey(tmp_path / "s.json")


# -- reports there and back ------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", SURVEYS)
def test_reports_come_back(name, suffix, tmp_path):
    survey, path = SURVEYS[name], tmp_path / f"r{suffix}"
    made = reports(survey)
    io.write_dictionary_reports(made, path)
    for chunk_rows in (1000, 200, 37):
        assert same(io.read_dictionary_reports(path, survey, chunk_rows=chunk_rows), made)


def test_other_reports_would_be_noticed():
    """The negative control of `same`."""
    for survey in SURVEYS.values():
        assert not same(reports(survey), reports(survey, seed=2))
    made = reports(SURVEY)
    assert not same(made, made.select(np.arange(len(made))[::-1]))


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_table_is_that_of_to_frame(suffix, tmp_path):
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
def test_chunks_of_one_survey_are_one_file(suffix, tmp_path):
    made, path = reports(SURVEY, 90), tmp_path / f"r{suffix}"
    pieces = (made.select(np.arange(i, i + 30)) for i in (0, 30, 60))
    io.write_dictionary_reports(pieces, path)
    assert same(io.read_dictionary_reports(path, SURVEY), made)


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_answers_come_back_as_missing(suffix, tmp_path):
    path = tmp_path / f"r{suffix}"
    made = SURVEY.privatize(["abc", None, "de", None], rng(), missing="count")
    io.write_dictionary_reports([made, made], path)
    with pytest.raises(ldp.InvalidArgument, match=r"row 3=None: is missing.*missing='count'"):
        io.read_dictionary_reports(path, SURVEY)
    for chunk_rows in (100, 3, 2, 1):
        again = io.read_dictionary_reports(path, SURVEY, missing="count", chunk_rows=chunk_rows)
        assert same(again, made + made) and again.n_missing == 4


def test_the_order_of_two_grams_does_not_matter(tmp_path):
    for survey in SURVEYS.values():
        made = reports(survey, 60)
        table = made.to_frame().astype(object)
        odd = np.arange(60) % 2 == 1
        turned = ["start_2", "gram_2", "start_1", "gram_1", "string"]
        table.loc[odd, COLUMNS] = table.loc[odd, turned].to_numpy()
        path = table_file(tmp_path / "r.parquet", table)  # pandas leaves "\r" unquoted in CSV
        assert same(io.read_dictionary_reports(path, survey, chunk_rows=25), made)


def test_more_text_may_mean_missing(tmp_path):
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
def test_a_malformed_row_is_named(name, tmp_path):
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
def test_starts_of_parquet_that_are_none(column, value, tmp_path):
    table = pyarrow.Table.from_pandas(reports(SURVEY, 3).to_frame(), preserve_index=False)
    kind = pyarrow.uint64() if value == 2**63 else None
    place = table.column_names.index(column)
    table = table.set_column(place, column, pyarrow.array([value] * 3, kind))
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(ldp.InvalidArgument, match=f"column '{column}'"):
        io.read_dictionary_reports(tmp_path / "r.parquet", SURVEY)


# -- fingerprints ----------------------------------------------------------------------------------
def test_parquet_remembers_its_survey(tmp_path):
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


# Strings of a file made into reports of a dictionary survey.

WORDS = ["abcade", "bad", "c", "eedabcde"]  # the last one loses its end


# -- privatising a file ----------------------------------------------------------------------------
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_rows_keep_their_order(source, target, tmp_path):
    told = np.array(WORDS, dtype=object)[rng().integers(0, 4, 300)]
    told[::50] = None
    path = table_file(tmp_path / f"a{source}", pd.DataFrame({"id": range(300), "word": told}))
    out = tmp_path / f"r{target}"
    how: dict[str, Any] = {"keep": ["id"], "missing": "count", "chunk_rows": 70}
    done = io.privatize_strings(path, out, "word", HONEST.collector(), **how)
    assert done == (294, 6)
    columns = pd.concat(io.read_columns(out, [*COLUMNS, "id"]), ignore_index=True)
    assert columns["id"].astype(int).tolist() == list(range(300))
    assert np.flatnonzero(columns["gram_1"].isna()).tolist() == list(range(0, 300, 50))
    again = io.read_dictionary_reports(out, HONEST, missing="count")
    assert len(again) == 294 and again.n_missing == 6
    padded = [word[:6].ljust(6) for word in told if word is not None]
    frame = again.to_frame()
    for side in ("1", "2"):  # each is false with a probability below 31 e^-40 = 2e-16
        each = zip(padded, frame["start_" + side], frame["gram_" + side], strict=True)
        for word, start, gram in each:
            assert gram == word[start : start + 2]
    # equal strings of a cohort have equal labels, and of the four at most 1 in 65,536 pairs agree
    labels = frame["string"].groupby([padded, frame["string"].str.split(":").str[0]]).nunique()
    assert (labels == 1).all()


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_true_column_is_not_copied(suffix, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("secret,sex\n" + "abcade,f\n" * 40)
    out = tmp_path / f"r{suffix}"
    io.privatize_strings(path, out, "secret", SURVEY.collector(), keep=["sex"])
    frame = pd.concat(io.read_columns(out, [*COLUMNS, "sex"]))
    kept = io.read_columns(out, ["secret"])
    with pytest.raises(ldp.InvalidArgument, match="no such column"):
        next(kept)
    assert not frame.astype(str).isin(["abcade"]).any().any()
    # without noise there were three grams; k-RR of epsilon 3 lies with probability .6, and so 80
    # grams are among them with probability .4^80
    assert not frame["gram_1"].isin(["ab", "ca", "de"]).all()


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_answers_are_empty_rows(suffix, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,word\n1,bad\n2,\n3,NA\n4,c\n")
    out = tmp_path / f"r{suffix}"
    with pytest.raises(ldp.InvalidArgument, match=r"a\.csv, column 'word', row 2=None: is missing"):
        io.privatize_strings(path, out, "word", HONEST.collector())
    how: dict[str, Any] = {"missing": "count", "na": ["NA"]}
    for chunk_rows in (100, 2, 1):  # one row: chunks of missing answers alone
        how |= {"chunk_rows": chunk_rows, "force": True}
        assert io.privatize_strings(path, out, "word", HONEST.collector(), **how) == (2, 2)
        gone = pd.concat(io.read_columns(out, COLUMNS)).isna().to_numpy()
        assert gone.tolist() == [[False] * 5, [True] * 5, [True] * 5, [False] * 5]


def test_a_failure_leaves_nothing(tmp_path):
    path = tmp_path / "a.csv"
    for row, says in (
        ("zebra", r"a\.csv, column 'word', row 6=\(not shown\): must be a string, not empty, of"),
        ("", r"row 6=None: is missing"),
    ):
        path.write_text("id,word\n" + "1,bad\n" * 5 + f"6,{row}\n7,c\n")
        for chunk_rows in (100, 4, 1):
            with pytest.raises(ldp.InvalidArgument, match=says):
                io.privatize_strings(
                    path, tmp_path / "r.csv", "word", SURVEY.collector(), chunk_rows=chunk_rows
                )
        assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("values", "says"),
    [(["bad", ""], r"row 2=\(not shown\): .*not empty"), ([1, 2], r"row 1=.*: must be a string")],
)
def test_answers_of_parquet_that_are_no_strings(values, says, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"word": values}), tmp_path / "a.parquet")
    with pytest.raises(ldp.InvalidArgument, match=says):
        io.privatize_strings(tmp_path / "a.parquet", tmp_path / "r.csv", "word", SURVEY.collector())


def test_given_entropy_gives_given_reports(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("word\n" + "abcade\n" * 500)
    made = []
    for seed in (1, 1, 2):
        client = SURVEY.collector(rng(seed).bytes)
        io.privatize_strings(path, tmp_path / "r.csv", "word", client, force=True)
        made.append((tmp_path / "r.csv").read_bytes())
    assert made[0] == made[1] != made[2]


def test_a_kept_column_remembers_its_mechanism(tmp_path):
    warner = ldp.Warner(epsilon=1.0)
    pd.DataFrame({"word": WORDS, "ill": ["no", "yes"] * 2}).to_parquet(tmp_path / "a.parquet")
    how: dict[str, Any] = {"name": "ill", "keep": ["word"]}
    step, path = tmp_path / "step.parquet", tmp_path / "r.parquet"
    io.privatize_file(tmp_path / "a.parquet", step, "ill", warner.collector(), **how)
    io.privatize_strings(step, path, "word", SURVEY.collector(), keep=["ill"])
    assert io.read_counts(path, warner, "ill").nobs == 4
    with pytest.raises(ldp.MechanismMismatch, match="'ill'"):
        io.read_counts(path, ldp.Warner(epsilon=2.0), "ill")


# -- size ------------------------------------------------------------------------------------------
def test_memory_of_privatising_does_not_grow_with_the_file(tmp_path):
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.csv"
        path.write_text("word\n" + "abcade\nbad\n" * (n // 2))
        client = SURVEY.collector()
        tracemalloc.start()
        done = io.privatize_strings(path, tmp_path / f"r{n}.csv", "word", client, chunk_rows=1000)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done == (n, 0)
        return used

    peak(2000)  # whatever is imported or cached at first
    assert peak(12_000) < 1.5 * peak(3000)


def test_progress_is_told(tmp_path):
    path = table_file(tmp_path / "a.parquet", pd.DataFrame({"word": ["bad"] * 90}))
    for call in (
        lambda **how: io.privatize_strings(
            path, tmp_path / "r.parquet", "word", SURVEY.collector(), **how
        ),
        lambda **how: io.read_dictionary_reports(tmp_path / "r.parquet", SURVEY, **how),
    ):
        told: list[float] = []
        call(chunk_rows=30, advance=told.append)
        assert told == pytest.approx([1 / 3, 2 / 3, 1.0])


# -- arguments -------------------------------------------------------------------------------------
CLIENT = SURVEY.collector()

MADE = reports(SURVEY, 3)

WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a survey for a client": (lambda f: io.privatize_strings(f, "o.csv", "w", SURVEY), "client="),
    "another client": (
        lambda f: io.privatize_strings(f, "o.csv", "w", ldp.Warner(epsilon=1.0).collector()),
        "client=",
    ),
    "keep is text": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep="id"), "keep="),
    "keep the truth": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["w"]),
        "never copied",
    ),
    "keep twice": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["id", "id"]),
        "must be distinct names",
    ),
    "keep a name of the reports": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["string"]),
        "none of the reports' own",
    ),
    "keep what is not there": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["x"]),
        "no such column",
    ),
    "no such answers": (lambda f: io.privatize_strings(f, "o.csv", "x", CLIENT), "no such column"),
    "na is text": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, na="NA"), "na='NA'"),
    "missing": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, missing="no"), "missing="),
    "in place": (
        lambda f: io.privatize_strings(f, f, "w", CLIENT, force=True),
        "is the file that is read",
    ),
    "no format": (lambda f: io.privatize_strings(f, "o.txt", "w", CLIENT), "known format"),
    "only missing": (
        lambda f: io.privatize_strings(f, "o.csv", "none", CLIENT, missing="count"),
        "holds no answer",
    ),
    "write no survey": (lambda f: io.write_survey(ldp.Warner(epsilon=1.0), "s.json"), "survey="),
    "write to a number": (lambda f: io.write_survey(SURVEY, 3), "path=3"),
    "read a number": (lambda f: io.read_survey(3), "path=3"),
    "read nothing": (lambda f: io.read_survey("none.json"), "no such file"),
    "write other reports": (lambda f: io.write_dictionary_reports(MADE.string, "o.csv"), "reports"),
    "write numbers late": (lambda f: io.write_dictionary_reports([MADE, 2], "o.csv"), "reports=2"),
    "write no reports": (lambda f: io.write_dictionary_reports([], "o.csv"), "are none"),
    "a mechanism for a survey": (
        lambda f: io.read_dictionary_reports(f, ldp.Warner(epsilon=1.0)),
        "survey=",
    ),
    "four columns": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns=list("abcd")),
        "columns=.*five distinct",
    ),
    "a column twice": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns=list("abcda")),
        "columns=.*five distinct",
    ),
    "columns of text": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns="abcde"),
        "columns='abcde'",
    ),
    "no columns": (lambda f: io.read_dictionary_reports(f, SURVEY, columns=[]), "columns="),
    "missing reports": (lambda f: io.read_dictionary_reports(f, SURVEY, missing="no"), "missing="),
    "na of reports": (lambda f: io.read_dictionary_reports(f, SURVEY, na="NA"), "na='NA'"),
    "no rows": (lambda f: io.read_dictionary_reports(f, SURVEY, chunk_rows=0), "chunk_rows=0"),
    "no such table": (lambda f: io.read_dictionary_reports("x.csv", SURVEY), "no such file"),
    "answers for reports": (lambda f: io.read_dictionary_reports(f, SURVEY), "no such column"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,w,none,string\n1,bad,,x\n2,c,,y\n")
    call, says = WRONG[name]
    with pytest.raises(ldp.InvalidArgument, match=says):
        call(Path("a.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
