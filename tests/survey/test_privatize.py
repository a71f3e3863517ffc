"""Tables of true answers made into tables of reports."""

import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from shared.sheets import MECHANISMS, PUM, STRINGS, cells, every_kind, people
from shared.tracebacks import shown

import ldpstats as ldp
from ldpstats import InvalidArgument, io
from ldpstats.survey.analyses import privatize_sheets

TAGS = {"place": {"home": "home"}}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def honest(labels: Any) -> ldp.KRR:
    """Tells the truth but for one answer in e^40 / k, so that tests see which answer went where."""
    return ldp.KRR(labels, epsilon=40.0)


@pytest.mark.parametrize("kind", ["polars", "arrow", "batch"])
@pytest.mark.parametrize("ask", [3])
def test_every_kind_of_frame_gets_the_same_reports(kind, ask):
    frame, sheet = people(300, missing=0.2), every_kind(ask)
    made: Any = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    if kind == "polars":
        pl = pytest.importorskip("polars", reason="polars is not installed")
        made = pl.from_arrow(made)
    elif kind == "arrow":
        made = pa.Table.from_batches([made])
    out = sheet.privatize(made, rng(), TAGS)
    assert type(out) is type(made)
    assert cells(out) == cells(sheet.privatize(frame, rng(), TAGS))


def test_reports_have_the_type_of_their_labels():
    out = every_kind().privatize(people(300), rng())
    assert out["children"].dtype == np.int64 and out["late"].dtype == bool
    assert out["size"].dtype == np.float64
    assert set(out["job"]) == {"cook", "nurse", "refused"}
    assert set(out["bits"]) <= {"00", "01", "10", "11"}
    assert out["host"].str.fullmatch(r"[0-3]:[0-7]").all()
    assert out["filter"].str.fullmatch("[0-7]:[01]{16}").all()
    assert set(out["place"]) <= {"park", "centre", "mill", "home"}
    some = every_kind(ask=2).privatize(people(300), rng())
    assert some["children"].dtype == "Int64" and some["late"].dtype == "boolean"
    mixed = ldp.Questionnaire({"a": honest(("x", 1, 2.5))})
    frame = pd.DataFrame({"a": ["x", 1, 2.5]})
    assert mixed.privatize(frame, rng())["a"].tolist() == ["x", 1, 2.5]
    assert mixed.privatize(pa.table({"a": ["x", "1", "2.5"]}), rng())["a"].to_pylist() == [
        *("x", "1", "2.5")
    ]


def test_answers_are_matched_as_people_write_them():
    frame = pd.DataFrame(
        {"n": [" 1", "2.0", "3 "], "job": pd.Categorical(["cook ", "nurse", None])}
    )
    sheet = ldp.Questionnaire({"n": honest(4), "job": honest(("cook", "nurse"))})
    assert cells(sheet.privatize(frame, rng())) == {
        "n": [1, 2, 3],
        "job": ["cook", "nurse", None],
    }


def test_missing_answers_are_empty_or_a_category():
    frame = pd.DataFrame({"a": ["x", None, " "], "b": ["x", "y", None], "h": ["u", "", None]})
    made = {
        "a": honest(("x", "y", "none")),
        "b": honest(("x", "y")),
        "h": ldp.ORR(8, 2, epsilon=1.0),
    }
    out = ldp.Questionnaire(made, refused={"a": "none"}).privatize(frame, rng())
    assert cells(out[["a", "b"]]) == {"a": ["x", "none", "none"], "b": ["x", "y", None]}
    assert out["h"].isna().tolist() == [False, True, True]
    filled = ldp.Questionnaire(made, refused={"h": "(none)"}).privatize(frame, rng())
    assert not filled["h"].isna().any()


def test_own_categories_of_respondents():
    """Who is at home always reports a protected category, whatever home is."""
    sheet, n = ldp.Questionnaire({"place": PUM}), 4_000
    frame = pd.DataFrame({"place": ["park"] * n, "own": ["park", "centre"] * (n // 2)})
    out = sheet.privatize(frame, rng(), {"place": {"home": "own"}})
    at_home = np.arange(n) % 2 == 0
    assert list(out) == ["place"] and not (out["place"][at_home] == "park").any()
    assert (out["place"][~at_home] == "park").any()
    array = sheet.privatize(frame, rng(), {"place": {"home": frame["own"].to_numpy()}})
    assert cells(array[["place"]]) == cells(out) and list(array) == ["place", "own"]
    asked = ldp.Questionnaire({"place": PUM, "ill": ldp.Warner(epsilon=1.0)}, ask=1)
    some = asked.privatize(frame.assign(ill="no"), rng(), {"place": {"home": "own"}})
    assert not (some["place"][at_home] == "park").any()


@pytest.mark.parametrize(
    ("kind", "levels"), [("pandas", ["job"]), ("arrow", ["region", "url"]), ("batch", ["home"])]
)
def test_an_index_of_true_answers_is_refused(kind, levels):
    """It would stay beside the reports, whatever becomes of the column of that name."""
    frame = people(20).set_index(levels, drop=False)
    made = {"arrow": pa.Table.from_pandas, "batch": pa.RecordBatch.from_pandas}
    given: Any = frame if kind == "pandas" else made[kind](frame)
    words = rf"^frame='{levels[-1]}': is the name of the index too.*reset_index\(drop=True\)"
    with pytest.raises(ldp.InvalidArgument, match=words):
        every_kind().privatize(given, rng(), TAGS)


def test_an_index_of_public_columns_stays():
    frame = people(20).set_index("region", drop=False)
    assert every_kind().privatize(frame, rng(), TAGS).index.equals(frame.index)
    out = every_kind().privatize(pa.Table.from_pandas(frame), rng(), TAGS)
    assert out.to_pandas().index.equals(frame.index)
    with pytest.raises(ldp.InvalidArgument, match=r"question='job': is the index, .*reset_index"):
        every_kind().privatize(people(20).set_index("job"), rng())
    arrow = pa.Table.from_pandas(people(20).set_index("job"))  # there it is a column like others
    assert set(every_kind().privatize(arrow, rng())["job"].to_pylist()) <= {
        *MECHANISMS["job"].labels()
    }


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_notes_on_a_table_are_left_out(kind):
    """They may hold answers."""
    frame = people(20)
    frame.attrs = {"first": SECRET}
    if kind == "pandas":
        assert every_kind().privatize(frame, rng()).attrs == {}
        return
    made = {"arrow": pa.Table.from_pandas, "batch": pa.RecordBatch.from_pandas}[kind](frame)
    assert SECRET.encode() in made.schema.metadata[b"pandas"]
    noted = made.replace_schema_metadata({**made.schema.metadata, b"own": SECRET.encode()})
    out = every_kind().privatize(noted, rng()).schema.metadata
    assert SECRET not in repr(out) and list(out) == [b"pandas"]
    bare = made.replace_schema_metadata({b"own": SECRET.encode()})
    assert every_kind().privatize(bare, rng()).schema.metadata is None


SECRET = "hepatitis-4711"


def _with(name: str, value: Any, row: int = 4) -> Callable[[], Any]:
    """Privatise a table in which one answer cannot be."""
    frame = people(20)
    frame[name] = frame[name].astype(object)
    frame.at[row, name] = value
    return lambda: every_kind().privatize(frame, rng(), TAGS)


def _call(frame: Any = None, tags: Any = None, how: Any = 3) -> Callable[[], Any]:
    given = people(20) if frame is None else frame
    return lambda: every_kind().privatize(given, np.random.default_rng(how), tags)


def _headed(*names: Any) -> pd.DataFrame:
    """A file without a header: the first respondent's answers are the names."""
    return pd.DataFrame([["nurse", "no"]], columns=list(names))


def _own(categories: Any) -> Callable[[], Any]:
    return _call(tags={"place": {"home": categories}})


HOMES = people(20)["home"].to_numpy()

BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown": (_with("job", SECRET), r"^job, row 5=\(not shown\): is not among the 3 labels"),
    "the last row": (_with("ill", SECRET, 19), r"^ill, row 20=\(not shown\): is not among"),
    "observed": (_with("region", SECRET), r"^region, row 5=\(not shown\)"),
    "a string": (_with("url", SECRET), r"^url, row 5=\(not shown\): has characters outside"),
    "own category": (_with("home", SECRET), r"^tags\['place'\]\['home'\], row 5=\(not shown\)"),
    "no column": (_call(people(5).drop(columns="job")), "question='job': no such column"),
    "misspelled": (_call(people(5).rename(columns={"job": SECRET})), "has 13 columns: check"),
    "a header of answers": (_call(_headed(SECRET, "job")), r"='ill': no such.*has 2 columns"),
    "clash": (_call(people(5).assign(url_string="x")), "frame='url_string': is a column that"),
    "dict": (_call({"job": [SECRET]}), "frame='dict': must be"),
    "tags of no question": (_call(tags={SECRET: {"home": HOMES}}), r"tags=\(not shown\).*'place'"),
    "no such tag": (
        _call(tags={"place": {SECRET: HOMES}}),
        r"^tags\['place'\]=\(not shown\).*no tag",
    ),
    "tags of a column": (_call(tags={"place": {"home": SECRET}}), r"=\(not shown\): is no column"),
    "tags in a question": (_call(tags={"place": {"home": "job"}}), "tags.*="),
    "tags of one": (_call(tags={"place": "home"}), r"tags\['place'\]='str'"),
    "sets of own categories": (_own([{SECRET}] * 20), r"^tags\['place'\]\['home'\].*\(not shown\)"),
    "one set": (_own({SECRET}), r"\(not shown\): must be one category a row"),
    "a column as a Series": (_own(people(20)["home"]), r"='Series': has the name of a column"),
    "too few tags": (_call(tags={"place": {"home": HOMES[:9]}}), "=9: must be 20 categories"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, words = BAD[name]
    with pytest.raises(ldp.InvalidArgument, match=words) as found:
        call()
    error = found.value
    assert error.__cause__ is None and error.__context__ is None
    assert SECRET not in shown(error) and "4711" not in shown(error)


def test_an_answer_that_cannot_be_uses_no_randomness():
    generator, frame = rng(), people(20)
    frame.loc[3, "late"] = SECRET
    before = generator.bit_generator.state
    with pytest.raises(ldp.UnknownCategory, match="late, row 4"):
        every_kind().privatize(frame, generator)
    assert generator.bit_generator.state == before
    with pytest.raises(ldp.InvalidArgument, match="rng"):
        every_kind().privatize(people(5), 3)


@pytest.mark.parametrize("mark", ["questionnaire_fingerprint", "ill_fingerprint", "stored"])
def test_reports_are_not_privatised_again(mark):
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0), "sex": ldp.Observed(("f", "m"))})
    table = pa.table({"ill": ["no", "yes"], "sex": ["f", "m"]})
    if mark == "stored":
        field = pa.field("ill", pa.string(), metadata={b"ldpstats.questionnaire": b"0123456789ab"})
        table = table.set_column(0, field, table.column("ill"))
    else:
        table = table.append_column(mark, pa.array([sheet.fingerprint] * 2))
    frames = [table] if mark == "stored" else [table, table.to_pandas()]
    for frame in frames:
        for privatize in (lambda f: sheet.privatize(f, rng()), sheet.collector().privatize):
            with pytest.raises(ldp.InvalidArgument, match="reports already, not true answers"):
                privatize(frame)
    # those of a public question, or of another column, are no reports of this sheet
    others = pd.DataFrame(
        {"ill": ["no"], "sex": ["f"], "sex_fingerprint": ["a"], "x_fingerprint": 1}
    )
    assert len(sheet.privatize(others, rng())) == 1


# Files of answers made into files of answer sheets.

HONEST = ldp.Questionnaire(  # tells the truth but for one answer in e^40 / k
    {
        "job": ldp.KRR(("cook", "nurse", "none"), 40.0),
        "region": ldp.Observed(("n", "s")),
        "n": ldp.KRR(5, 40.0),
    },
    refused={"job": "none"},
)


def written(frame: pd.DataFrame, path: Path) -> Path:
    """A file of a frame; in CSV, text of all values."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def read(path: Path) -> dict[str, list[Any]]:
    """The cells of a file as text, None where empty."""
    if path.suffix == ".parquet":
        found = cells(pyarrow.parquet.read_table(path))
    else:
        found = cells(pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None))
    return {c: [None if v is None else str(v) for v in column] for c, column in found.items()}


@pytest.mark.parametrize(
    ("source", "target"), [(".csv", ".parquet"), (".csv.gz", ".csv"), (".parquet", ".csv.gz")]
)
def test_rows_and_types(source, target, tmp_path):
    rng, n = np.random.default_rng(1), 400
    job = np.array(["cook", " nurse"], dtype=object)[rng.integers(0, 2, n)]
    job[::7] = None
    numbers = pd.Series(rng.integers(0, 5, n)).astype("Int64").mask(rng.random(n) < 0.1)
    region = np.array(["n", "s"], dtype=object)[rng.integers(0, 2, n)]
    region[::9] = None
    frame = pd.DataFrame({"id": np.arange(n), "region": region, "n": numbers, "job": job, "x": 1})
    out = tmp_path / f"s{target}"
    totals = privatize_sheets(
        written(frame, tmp_path / f"a{source}"),
        out,
        HONEST.collector(),
        keep=["id"],
        chunk_rows=90,
    )
    assert totals == {"job": n, "n": int(numbers.notna().sum())}
    found = read(out)
    digits = ["questionnaire_fingerprint"] if target != ".parquet" else []
    assert list(found) == ["job", "region", "n", *digits, "id"]  # x is not named
    assert found["job"] == ["none" if v is None else str(v).strip() for v in job]
    assert found["n"] == [None if pd.isna(v) else str(v) for v in numbers]
    assert found["region"] == list(region) and found["id"] == [str(i) for i in range(n)]
    if target == ".parquet":
        schema = pyarrow.parquet.read_schema(out)
        assert schema.field("n").type == "int64"
    else:
        assert set(found["questionnaire_fingerprint"]) == {HONEST.fingerprint}


@pytest.mark.parametrize("target", [".csv", ".parquet"])
def test_every_kind_of_question(target, tmp_path):
    """Every column is read by what the package has for it, with its fingerprint in Parquet."""
    sheet, frame = every_kind(ask=4), people(300, missing=0.1)
    out = tmp_path / f"s{target}"
    source = written(frame, tmp_path / "a.csv")
    totals = privatize_sheets(source, out, sheet.collector(), chunk_rows=128)
    assert sum(totals.values()) == pytest.approx(4 * 300 * 0.91, rel=0.05)
    assert "home" not in read(out) and "id" not in read(out)
    for name in sheet.private:
        if name == "url":
            columns = list(sheet.columns(name))
            reports = io.read_dictionary_reports(out, STRINGS, columns=columns, missing="count")
            found: Any = len(reports), reports.n_missing
        else:
            made_by = sheet[name].common if name == "place" else sheet[name]
            counts = io.read_counts(out, made_by, name, missing="count")
            found = counts.nobs, counts.n_missing
        assert found == (totals[name], 300 - totals[name]), name
    if target == ".parquet":
        schema = pyarrow.parquet.read_schema(out)
        digits = sheet.fingerprint.encode()
        assert {f.metadata[b"ldpstats.questionnaire"] for f in schema} == {digits}
        with pytest.raises(ldp.MechanismMismatch):
            io.read_counts(out, ldp.KRR(("cook", "nurse", "refused"), 1.1), "job", missing="count")


HEAD = "job,region,n,id"

BAD_FILES: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown": (f"{HEAD}\ncook,n,1,1\n{SECRET},n,1,2\n", {}, r"'job', row 2=\(not shown\): is not"),
    "later chunk": (
        f"{HEAD}\n" + "cook,n,1,1\n" * 150 + f",{SECRET},1,2\n",
        {},
        "'region', row 151",
    ),
    "no header": (f"{SECRET},n,1,1\n", {}, "column='job': no such column.*4 columns"),
    "no question": ("job,region\ncook,n\n", {}, "column='n': no such column"),
    "no row": (f"{HEAD}\n", {}, "holds no row"),
    "too long a row": (f"{HEAD}\n{SECRET},n,1,1,1\n", {}, "row 1 has 5 fields"),
    "keep a question": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["job"]}, "true answers"),
    "keep observed": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["region"]}, "is copied anyway"),
    "keep nothing": (f"{HEAD}\ncook,n,1,1\n", {"keep": ["x"]}, "column='x': no such"),
    "client": (f"{HEAD}\ncook,n,1,1\n", {"client": HONEST}, "client=.*must be a collector"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_input_files(name, tmp_path):
    content, how, words = BAD_FILES[name]
    source = text(tmp_path / "a.csv", content)
    given = {"client": HONEST.collector(), "chunk_rows": 100, **how}
    with pytest.raises(ldp.InvalidArgument, match=words) as found:
        privatize_sheets(source, tmp_path / "s.csv", **given)
    assert SECRET not in str(found.value)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_files_that_are_read_or_exist(tmp_path):
    source = text(tmp_path / "a.csv", f"{HEAD}\ncook,n,1,1\n")
    client = HONEST.collector()
    with pytest.raises(ldp.InvalidArgument, match="is the file that is read"):
        privatize_sheets(source, source, client, force=True)
    out = text(tmp_path / "s.csv", "kept")
    with pytest.raises(ldp.InvalidArgument, match="already exists"):
        privatize_sheets(source, out, client)
    assert out.read_text() == "kept"
    empty = ldp.Questionnaire({"a": ldp.KRR(("", "x"), 1.0)})
    with pytest.raises(ldp.InvalidArgument, match="empty field means a missing answer"):
        privatize_sheets(source, tmp_path / "t.csv", empty.collector())


def test_memory_is_bounded_by_a_chunk(tmp_path):
    source = text(tmp_path / "a.csv", f"{HEAD}\n" + "cook,n,1,1\n" * 3_000)
    peaks = []
    for rows in (100, 100, 3_000):  # the first run imports; the last is the negative control
        tracemalloc.start()
        privatize_sheets(
            source, tmp_path / "s.csv", HONEST.collector(), chunk_rows=rows, force=True
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4e5 < peaks[2] / 1.5


def test_tables_that_are_safe_for_spreadsheets_are_read_without_apostrophes(tmp_path):
    rng, n = np.random.default_rng(2), 300
    mechanisms = {
        "job": ldp.KRR(("=cook", "-nurse", "'@x"), 3.0),
        "size": ldp.KRR((-1.5, 2.5), 3.0),
        "side": ldp.Observed(("+N", "@S")),
    }
    answers: dict[str, list[Any]] = {
        "job": ["=cook", "-nurse", "'@x"],
        "size": [-1.5, 2.5],
        "side": ["+N", "@S"],
        "=public": ["=1", "b"],
        "debt": ["-2", "3"],
        "na": ["-", "x"],
    }
    frame = pd.DataFrame({name: rng.choice(np.array(v, object), n) for name, v in answers.items()})
    sheet, source = ldp.Questionnaire(mechanisms), written(frame, tmp_path / "answers.csv")
    target, keep = tmp_path / "sheets.csv", ["=public", "debt", "na"]
    privatize_sheets(source, target, sheet.collector(), keep=keep, spreadsheet_safe=True)
    assert "'-nurse" in target.read_text() and "'-2" in target.read_text()
    survey = ldp.Survey(target, sheet, na=["-"])
    for name in ("job", "size", "side"):
        assert survey.frequencies(name).nobs == n
    assert survey.frequencies("=public").params.index.tolist() == ["=1", "b"]
    assert len(survey.where("debt < 0")) == (frame["debt"] == "-2").sum()
    assert len(survey.where("na is missing")) == (frame["na"] == "-").sum()


@pytest.mark.parametrize("middle", [".csv", ".parquet"])
def test_a_file_of_reports_is_not_privatised_again(middle, tmp_path):
    answers = pd.DataFrame({"job": ["cook"], "region": ["n"], "n": [1]})
    source, once = written(answers, tmp_path / "a.parquet"), tmp_path / f"once{middle}"
    twice = tmp_path / "twice.csv"
    privatize_sheets(source, once, HONEST.collector())
    with pytest.raises(ldp.InvalidArgument, match="reports already, not true answers"):
        privatize_sheets(once, twice, HONEST.collector())
    assert not twice.exists()


# Codes that mean missing: of all columns or of some, in files and in memory.

SHEET = {"ill": ldp.Warner(epsilon=1.0)}

FRAME = pd.DataFrame(
    {
        "ill": ["no", "yes", "9", "no"],
        "region": [9, 1, 2, 9],
        "income": [9.0, 1.5, -9.0, 3.0],
        "code": ["09", " 9 ", "9.0", "x"],
    }
)

TABLES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: FRAME,
    "pandas of Arrow": lambda _: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda _: pl.from_pandas(FRAME),
    "Arrow": lambda _: pa.Table.from_pandas(FRAME),
    "CSV": lambda folder: _written(folder / "table.csv"),
}


def _written(path: Path) -> Path:
    FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", TABLES)
def test_a_mapping_is_for_its_columns_and_a_list_for_all(kind, tmp_path):
    table = TABLES[kind](tmp_path)
    some = ldp.Survey(table, SHEET, na={"ill": ["9"], "income": [-9]})
    assert some.reports("ill").n_missing == 1
    assert len(some.where("region == 9")) == 2
    assert len(some.where("income is missing")) == 1
    every = ldp.Survey(table, SHEET, na=[9])
    assert every.reports("ill").n_missing == 1
    assert len(every.where("region is missing")) == 2
    assert len(every.where("region == 1 or region == 2")) == 2  # the others are numbers still
    assert len(every.where("income is missing")) == 1
    assert len(every.where("code is missing")) == 2  # "09" is text
    assert ldp.count(table, SHEET["ill"], "ill", na=[9]).n_missing == 1
    assert ldp.count(table, SHEET["ill"], "ill", na={"region": [9], "ill": [9]}).n_missing == 1


@pytest.mark.parametrize("code", [9, 9.0, "9", "9.0", " 9", np.int8(9), np.float64(9), Decimal(9)])
def test_codes_are_compared_as_people_write_them(code):
    cells = [9, 9.0, "9", " 9.0 ", np.int64(9), Decimal(9), True, "09", "nine", 10, None]
    frame = pd.DataFrame({"ill": ["no"] * len(cells), "mixed": pd.Series(cells, dtype=object)})
    frame["mixed"] = [str(cell) if isinstance(cell, bool) else cell for cell in cells]
    table = ldp.Survey(frame, SHEET, na={"mixed": [code]}).data.table
    assert table.column("mixed").isna().tolist() == [True] * 6 + [False] * 4 + [True]
    assert frame["mixed"].notna().sum() == 10  # the caller's frame is as it was


@pytest.mark.parametrize("kind", ["pandas", "CSV"])
@pytest.mark.parametrize(
    ("na", "words"),
    [
        ({"regoin": ["9"]}, "na='regoin': no such column.*did you mean 'region'"),
        ({"region": "9"}, r"na='9': must be a list in a mapping.*\['9'\]"),
        ({"region": 9}, "na=9: must be a list in a mapping"),
        ({1: ["9"]}, "na=1: must be text, the name of a column"),
        ("9", r"na='9': must be a list, for example \['9'\], or a mapping"),
        ([None], "na=None: must be text or a finite number"),
        ([True], "na=True: must be text or a finite number"),
        ([float("nan")], "na=nan: must be text or a finite number"),
        (["no"], r"na='no': is a label of 'ill'.*na=\{'COLUMN': \['no'\]\}"),
        ({"ill": ["no"]}, "na='no': is a label of 'ill'.*answer$"),
    ],
)
def test_what_cannot_mean_missing_is_refused(kind, na, words, tmp_path):
    with pytest.raises(InvalidArgument, match=words):
        ldp.Survey(TABLES[kind](tmp_path), SHEET, na=na)


@pytest.mark.parametrize("kind", ["pandas", "CSV"])
def test_weights_that_a_list_makes_missing_are_refused_by_its_name(kind, tmp_path):
    table = TABLES[kind](tmp_path)
    with pytest.raises(InvalidArgument, match=r"weights 'region', row 1=None: .*na=\['9'\]"):
        ldp.Survey(table, SHEET, weights="region", na=["9"])
    survey = ldp.Survey(table, SHEET, weights="region", na={"ill": ["9"]})
    assert survey.frequencies("ill").nobs == 3
