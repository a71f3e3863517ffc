"""One survey wherever its rows are, in memory or on an engine: identical results, byte for byte."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow as pa
import pyarrow.parquet
import pyarrow.parquet as pq
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main
from ldpstats.errors import InvalidArgument

WORDS = ("alpha", "beta", "gamma", "delta")

RAPPOR = {"n_hashes": 2, "n_cohorts": 4, "f": 0.0, "p": 0.25, "q": 0.75}

SHEET = ldp.Questionnaire(
    {
        "job": ldp.KRR(("nurse", "cook", "driver"), 2.0),
        "late_1": ldp.Warner(epsilon=1.5),
        "late_2": ldp.Warner(epsilon=2.0),
        "bits": ldp.KRAPPOR(("a", "b", "c"), 2.0),
        "word": ldp.RAPPOR(n_bits=32, **RAPPOR),
        "wide": ldp.RAPPOR(n_bits=96, **RAPPOR),
        "host": ldp.ORR(8, 4, epsilon=2.0),
        "seen": ldp.Observed(("v", "u")),
    }
)

CHOSEN = (
    "18 <= age < 65 and (region == 'n' or income > -.5) and not urban "
    "and day < '2024-03-01' and seen >= 'v' and region != level"
)


def collected(n: int = 900) -> pa.Table:
    """Reports and public columns of every kind, with gaps, as an Arrow table."""
    rng = np.random.default_rng(5)
    drawn = {name: rng.choice(WORDS, n) for name in ("word", "wide", "host")}
    for name in ("job", "late_1", "late_2", "bits", "seen"):
        drawn[name] = rng.choice(SHEET[name].categories.to_numpy(), n)
    people = pd.DataFrame(drawn)
    people["age"] = rng.integers(15, 80, n)
    people["region"] = rng.choice(["s", "n ", " n", "w", ""], n)
    people["level"] = rng.choice(["s", "n", None], n)
    people["income"] = rng.normal(size=n).round(2)
    people["urban"] = rng.random(n) < 0.5
    people["day"] = rng.choice(["2024-01-01", "2024-02-01", "2024-03-01"], n)
    for number, column in enumerate(("job", "late_1", "word", "income"), start=5):
        people[column] = people[column].mask(np.arange(n) % number == 0)
    made = SHEET.privatize(people, rng)
    return pa.Table.from_pandas(made, preserve_index=False)


TABLE = collected()


def results(survey: ldp.Survey) -> Iterator[Any]:
    chosen = survey.where(CHOSEN)
    yield repr(chosen)
    yield survey.frequencies("job", by=["region", "urban"])
    yield chosen.frequencies("late_1", by="seen")
    yield survey.frequencies("word", candidates=WORDS)
    yield survey.frequencies("word", candidates=WORDS, method="mle")
    yield chosen.frequencies("wide", candidates=WORDS, by="level")
    yield survey.frequencies("host", candidates=WORDS)
    yield survey.frequencies("bits")
    yield chosen.frequencies("day")
    yield survey.association("job", "late_1", "level")
    yield chosen.association("late_1", "bits")
    yield survey.association("host", "late_2", candidates={"host": WORDS[:2]})
    yield survey.associations(["job", "late_1", "urban"])
    yield chosen.change("late_1", "late_2", name="late")


def texts(survey: ldp.Survey) -> list[str]:
    found = results(survey)
    return [next(found), *(f"{one.summary()}\n{one.to_json()}" for one in found)]


@pytest.fixture(scope="module")
def expected():
    return texts(ldp.Survey(TABLE.to_pandas(), SHEET))


@pytest.mark.filterwarnings("ignore::ldpstats.errors.LDPWarning")
@pytest.mark.parametrize("place", SOME)
def test_results_are_the_same_wherever_the_rows_are(place, tmp_path, expected, request):
    if "spark" in place:
        request.getfixturevalue("spark")
    assert texts(ldp.Survey(**PLACES[place](TABLE, tmp_path), questionnaire=SHEET)) == expected


def files(folder: Path) -> tuple[Path, Path]:
    """Two waves in Parquet files."""
    paths = folder / "one.parquet", folder / "two.parquet"
    for path, rows in zip(paths, (np.arange(600), np.arange(899, 299, -1)), strict=True):
        who = [f"person {i}" for i in rows]
        pq.write_table(TABLE.take(rows).append_column("who", pa.array(who)), path)
    return paths


def test_waves_are_joined_on_the_engine(tmp_path):
    one, two = files(tmp_path)
    found = []
    for read in (lambda path: path, pq.read_table):
        first, second = (ldp.Survey(read(path), SHEET) for path in (one, two))
        first = first.where("age > 20")
        both = first.matched(second, id="who")
        part = both.where("region_1 == 'n' and region_2 is not missing and age_1 < 70")
        change = part.change("job_1", "job_2")
        by = both.frequencies("word_2", by="level_1", candidates=WORDS)
        joint = both.association("job_1", "job_2", "urban_1")
        found.append(
            [repr(both), both.lost, repr(part), change.to_json(), by.to_json(), joint.to_json()]
        )
    assert found[0] == found[1]


@pytest.mark.spark
def test_waves_are_joined_on_spark(tmp_path, spark):
    one, two = files(tmp_path)
    found = []
    for read in (lambda path: spark.read.parquet(path.as_uri()), pq.read_table):
        both = ldp.Survey(read(one), SHEET).matched(ldp.Survey(read(two), SHEET), id="who")
        part = both.where("region_1 == 'n' and age_1 < 70 and not urban_2 and day_1 <= day_2")
        found.append([repr(part), part.change("job_1", "job_2").to_json()])
    assert found[0] == found[1]


def test_identifiers_that_are_missing_or_repeat_are_refused_as_in_memory(tmp_path):
    one, _ = files(tmp_path)
    table = pq.read_table(one)
    who = table.column("who").to_pylist()
    number = table.column_names.index("who")
    cases = [
        ([who[0], *who[:-1]], "appears 2 times: keep one row a person"),
        ([None, *who[1:]], "1 of 600 rows have no identifier"),
        (["", *who[1:]], "1 of 600 rows have no identifier"),
        (list(range(len(who))), "holds text in one wave and numbers in the other"),
        ([f" {name}" for name in who], "Survey(600 rows"),  # blanks around it are not seen
        ([f"{name}\xa0" for name in who], "Survey(600 rows"),
    ]
    for i, (wrong, words) in enumerate(cases):
        pq.write_table(table.set_column(number, "who", pa.array(wrong)), tmp_path / "wrong.parquet")
        said = []
        for read in (lambda path: path, pq.read_table):
            first = ldp.Survey(read(one), SHEET)
            other = ldp.Survey(read(tmp_path / "wrong.parquet"), SHEET)
            one_way = (first, other) if i % 2 else (other, first)
            try:
                said.append(repr(one_way[0].matched(one_way[1], id="who")))
            except ldp.InvalidArgument as error:
                said.append(str(error))
        assert said[0] == said[1] and words in said[0]


def test_a_wave_in_memory_is_matched_with_one_on_an_engine(tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    one, two = files(tmp_path)
    memory = [ldp.Survey(pq.read_table(path), SHEET) for path in (one, two)]
    mixed = ldp.Survey(one, SHEET).matched(memory[1], id="who")
    expected = memory[0].matched(memory[1], id="who").change("job_1", "job_2").to_json()
    assert mixed.change("job_1", "job_2").to_json() == expected
    lazy = ldp.Survey(pl.scan_parquet(two), SHEET)
    with pytest.raises(ldp.NotAvailable, match="no order"):
        memory[0].matched(lazy, id="who")


# -- rows ------------------------------------------------------------------------------------------
def test_rows_of_files_have_an_order_and_those_of_frames_none(tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    one, _ = files(tmp_path)
    file, memory = ldp.Survey(one, SHEET), ldp.Survey(pq.read_table(one), SHEET)
    mask = np.arange(600) % 3 == 0
    for some in (mask, slice(100, 200)):
        parts = [survey[some].frequencies("job", by="region") for survey in (file, memory)]
        assert parts[0].to_json() == parts[1].to_json()
    old = [survey.where("age > 30")[:50].reports("word") for survey in (file, memory)]
    assert np.array_equal(old[0].y, old[1].y) and np.array_equal(old[0].cohort, old[1].cohort)
    lazy = ldp.Survey(pl.scan_parquet(one), SHEET)
    for call in (lambda: lazy[mask], lambda: lazy.reports("job")):
        with pytest.raises(ldp.NotAvailable, match="no order"):
            call()
    by_id = [survey.reports("job", id="who") for survey in (lazy, memory)]
    found = [dict(zip(reports.ids, reports.y.tolist(), strict=True)) for reports in by_id]
    assert found[0] == found[1]
    assert by_id[0].n_missing == by_id[1].n_missing > 0


def test_an_unknown_report_is_placed_in_its_file(tmp_path):
    one, two = files(tmp_path)
    table = pq.read_table(two)
    jobs = table.column("job").to_pylist()
    jobs[41] = jobs[50] = "Nurse"
    number = table.column_names.index("job")
    pq.write_table(table.set_column(number, "job", pa.array(jobs)), two)
    survey = ldp.Survey([one, two], SHEET)
    words = r"^job='Nurse': .*nearest is 'nurse'; .*; 2 rows, the first in .*two.parquet, row 42$"
    for call in (
        lambda: survey.frequencies("job"),
        lambda: survey.association("late_1", "job"),
        lambda: survey[:-1].frequencies("job"),
    ):
        with pytest.raises(ldp.UnknownCategory, match=words):
            call()


# -- what is refused -------------------------------------------------------------------------------
def test_csv_files_are_read_one_after_another(tmp_path):
    frame = TABLE.to_pandas()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        part = frame.iloc[rows]
        part[part.columns[::-1] if i else part.columns].to_csv(tmp_path / f"{i}.csv", index=False)
    whole = ldp.Survey(frame, SHEET).frequencies("job", by="urban").to_json()
    for data in (tmp_path / "*.csv", [tmp_path / f"{i}.csv" for i in range(3)]):
        assert ldp.Survey(data, SHEET).frequencies("job", by="urban").to_json() == whole
    (tmp_path / "3.csv").write_text("job,other\ncook,1\n")
    with pytest.raises(ldp.InvalidArgument, match=r"3\.csv.*do not both have the column"):
        ldp.Survey(tmp_path / "*.csv", SHEET)


def test_an_empty_table_says_that_nobody_answered(tmp_path):
    pq.write_table(TABLE.slice(0, 0), tmp_path / "empty.parquet")
    survey = ldp.Survey(tmp_path / "empty.parquet", SHEET)
    assert len(survey) == 0
    for call in (
        lambda: survey.frequencies("job"),
        lambda: survey.frequencies("word", candidates=WORDS),
        lambda: survey.association("job", "late_1"),
        lambda: survey.where("age > 3"),
    ):
        with pytest.raises(ldp.InvalidArgument, match="nobody"):
            call()


def test_a_column_called_n_and_moments_in_milliseconds(tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    day = np.datetime64("2024-01-01", "ms")
    table = pa.table(
        {
            "job": ["nurse", "cook", "nurse", "cook"],
            "n": ["no", "yes", "no", "yes"],
            "when": pa.array([day, day + np.timedelta64(1, "ms"), day, day], pa.timestamp("ms")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    job = {"job": SHEET["job"]}
    places = (table, tmp_path / "t.parquet", pl.from_arrow(table).lazy())
    for where in ("when == '2024-01-01'", "when > '2024-01-01' or n == 'no'"):
        surveys = [ldp.Survey(data, job).where(where) for data in places]
        by = {survey.frequencies("job", by="n").to_json() for survey in surveys}
        assert len(by) == 1 and {len(survey) for survey in surveys} == {3}
    asked = [ldp.Survey(data, {"n": ldp.Warner(epsilon=1.0)}) for data in places]
    assert len({survey.frequencies("n", by="job").to_json() for survey in asked}) == 1


# One survey from pandas, Polars, Arrow, CSV, Parquet and folders: identical summaries.


def polars_frame(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars", reason="tables of Polars need Polars")
    return polars.from_arrow(pyarrow.Table.from_pandas(frame, preserve_index=False))


def written(suffix: str) -> Callable[[pd.DataFrame, Path], Path]:
    def write(frame: pd.DataFrame, folder: Path) -> Path:
        path = folder / f"collected{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False)
        return path

    return write


def polars_csv(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "polars.csv"  # which writes true where pandas writes True
    polars_frame(frame).write_csv(path)
    return path


TABLES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, _: frame.set_index(np.arange(len(frame))[::-1]),
    "pandas on Arrow": lambda frame, _: frame.convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda frame, _: polars_frame(frame),
    "Arrow": lambda frame, _: pyarrow.Table.from_pandas(frame),
    "CSV": lambda frame, folder: str(written(".csv")(frame, folder)),
    "Parquet": written(".parquet"),
    "CSV of Polars": polars_csv,
}


def summaries(survey: ldp.Survey) -> Iterator[str]:
    chosen = survey.where("18 <= age < 65 and (zip == '01' or income > -.5) and not urban")
    yield repr(survey)
    yield str(survey.frequencies("job").summary())
    yield str(survey.frequencies("job", by="region").summary())
    yield survey.frequencies("late", by=["zip", "urban"]).to_json()
    yield str(survey.where("age < 30").frequencies("late", by="age").params)
    yield str(survey.frequencies("zip").summary())
    yield str(survey.association("job", "late").summary())
    yield str(survey.association("late", "urban").summary())
    yield str(survey.association("job", "late", "region").summary())
    yield str(chosen.frequencies("late").summary())
    yield chosen.association("late", "zip").to_json()


@pytest.fixture(scope="module")
def expected_tables(survey):
    return list(summaries(survey))


@pytest.mark.parametrize("kind", TABLES)
def test_summaries_are_the_same_from_every_table(kind, collected, sheet, expected_tables, tmp_path):
    table = TABLES[kind](collected, tmp_path)
    assert list(summaries(ldp.Survey(table, sheet))) == expected_tables


def test_ordered_categories_keep_their_order_and_have_an_interval_if_nobody_has_them(
    sheet, collected, tmp_path
):
    kind = pd.CategoricalDtype(["s", "n", "w"], ordered=True)
    frame = collected.assign(region=collected["region"].astype(kind))
    plain = ldp.Survey(collected, sheet).association("job", "region")
    for name in ("pandas", "Arrow", "Parquet"):
        survey = ldp.Survey(TABLES[name](frame, tmp_path), sheet)
        assert survey.frequencies("job", by="region").groups.tolist() == ["s", "n"]
        assert len(survey.where("region > 's'")) == (collected["region"] == "n").sum()
        results = survey.frequencies("region")
        assert results.params.index.tolist() == ["s", "n", "w"] and results.params["w"] == 0
        assert 0 < results.conf_int().loc["w", "upper"] < 0.05
        rows = survey.where("region == 's'").frequencies("region")
        assert rows.params.tolist() == [1, 0, 0]  # a selection has the same scale
        joint = survey.association("job", "region").test_independence()
        assert joint.pvalue == pytest.approx(plain.test_independence().pvalue)
    loose = frame.assign(region=frame["region"].cat.as_unordered())
    assert "w" not in ldp.Survey(loose, sheet).frequencies("region").params  # as of a CSV file


def test_columns_of_csv_are_what_their_fields_say(tmp_path):
    path = tmp_path / "typed.csv"
    path.write_text(
        "late,whole,number,truth,zip,mixed,empty,odd\n"
        "yes,3,1.5,TRUE,01,1,,1_000\nno,-4,-2,false,02,x,,0x1\nno,,1e3,,03,2,,+3\n"
    )
    survey = ldp.Survey(path, {"late": ldp.Warner(epsilon=1.0)})
    for condition in (
        "whole > 2", "number == 1.5", "truth", "zip == '01'", "mixed == '1'", "odd == '1_000'",
    ):  # fmt: skip
        assert len(survey.where(condition)) == 1, condition
    assert len(survey.where("empty is missing and number > -3")) == 3
    with pytest.raises(InvalidArgument, match="'zip' holds text"):
        survey.where("zip == 1")


def test_a_csv_file_is_read_by_the_columns_that_are_needed(tmp_path):
    """A row that cannot be text of numbers elsewhere does no harm; a file that changes does."""
    path = tmp_path / "changing.csv"
    path.write_text("late,age\nyes,18\nno,20\n")
    survey = ldp.Survey(path, {"late": ldp.Warner(epsilon=1.0)})
    assert len(survey) == 2
    path.write_text("late,age\nyes,18\n")
    assert survey.reports("late").n_missing == 0  # was read before
    with pytest.raises(InvalidArgument, match="changed while it was in use"):
        survey.where("age > 3")


# -- fingerprints ----------------------------------------------------------------------------------
def test_a_table_of_another_epsilon_is_refused(collected, sheet, tmp_path):
    other = ldp.Questionnaire({**sheet.mechanisms, "job": ldp.KRR(sheet["job"].categories, 1.0)})
    whole = collected.assign(questionnaire_fingerprint=sheet.fingerprint)
    single = collected.assign(job_fingerprint=sheet["job"].fingerprint)
    path = tmp_path / "whole.csv"
    whole.to_csv(path, index=False)
    for table in (whole, single, path):
        ldp.Survey(table, sheet)
        with pytest.raises(ldp.errors.MechanismMismatch, match="row 1: the report is of"):
            ldp.Survey(table, other)


def test_fingerprints_stored_in_parquet_and_arrow_are_checked(sheet, people, tmp_path):
    path = tmp_path / "reports.parquet"
    jobs = people["job"].dropna()
    io.write_reports(sheet["job"].privatize(jobs, np.random.default_rng(1)), path)
    right, wrong = {"report": sheet["job"]}, {"report": ldp.KRR(sheet["job"].categories, 1.0)}
    for table in (path, pyarrow.parquet.read_table(path)):
        assert len(ldp.Survey(table, right)) == len(jobs)
        with pytest.raises(ldp.errors.MechanismMismatch, match="column 'report' holds reports"):
            ldp.Survey(table, wrong)


def test_a_table_of_the_command_line_is_checked(sheet, people, tmp_path):
    """Another number of questions asked is another epsilon, with the same mechanisms."""
    people[["job", "late", "age"]].to_csv(tmp_path / "answers.csv", index=False)
    sheet.to_json(tmp_path / "sheet.json")
    other = ldp.Questionnaire(sheet.mechanisms, ask=1)
    for suffix in (".csv", ".parquet"):
        path = str(tmp_path / f"reports{suffix}")
        asked = ["--questionnaire", str(tmp_path / "sheet.json"), "--keep", "age"]
        assert main(["privatize", str(tmp_path / "answers.csv"), path, *asked]) == 0
        survey = ldp.Survey(path, sheet)
        assert survey.reports("job").n_missing == people["job"].isna().sum()
        assert "public: age)" in repr(survey)
        with pytest.raises(ldp.errors.MechanismMismatch, match=sheet.fingerprint):
            ldp.Survey(path, other)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_fields_that_are_separated_by_something_else_need_sep(mark, tmp_path):
    path = tmp_path / "semicolons.csv"
    path.write_text(f"late{mark}age\nyes{mark}18\nno{mark}20\n")
    with pytest.raises(InvalidArgument, match=re.escape(f"sep={mark!r}) reads it")):
        ldp.Survey(path, {"late": ldp.Warner(epsilon=1.0)})
    assert len(ldp.Survey(path, {"late": ldp.Warner(epsilon=1.0)}, sep=mark)) == 2


# -- folders ---------------------------------------------------------------------------------------
SHEET_TABLES = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0)})


@pytest.fixture
def folder(tmp_path):
    SHEET_TABLES.to_json(tmp_path / "questionnaire.json")
    pd.DataFrame({"ill": ["no", "yes", "no"]}).to_parquet(tmp_path / "a.parquet")
    (tmp_path / ".collecting").mkdir()
    (tmp_path / ".collecting" / "b.parquet").write_text("not finished")
    return tmp_path


@pytest.mark.parametrize("kind", [str, Path])
def test_the_questionnaire_is_in_the_folder(folder, kind):
    survey = ldp.Survey(kind(folder))
    assert survey.questionnaire == SHEET_TABLES and len(survey) == 3
    assert survey.frequencies("ill").nobs == 3


def test_a_questionnaire_that_is_given_counts(folder):
    (folder / "questionnaire.json").write_text("spoilt")
    assert len(ldp.Survey(folder, SHEET_TABLES)) == 3
    with pytest.raises(ldp.InvalidArgument, match=r"questionnaire\.json"):
        ldp.Survey(folder)


def test_without_one_the_error_says_where_it_was_looked_for(folder):
    (folder / "questionnaire.json").unlink()
    with pytest.raises(ldp.InvalidArgument, match="is not there") as caught:
        ldp.Survey(folder)
    assert str(folder / "questionnaire.json") in str(caught.value)
    for data in (pd.DataFrame({"ill": ["no"]}), str(folder / "a.parquet"), [str(folder)]):
        with pytest.raises(ldp.InvalidArgument, match=r"questionnaire=None: must be"):
            ldp.Survey(data)


def test_before_the_first_file_of_a_collector(folder):
    (folder / "a.parquet").unlink()
    for given in ((), (SHEET_TABLES,)):
        with pytest.raises(ldp.InvalidArgument, match="holds no sheets yet"):
            ldp.Survey(folder, *given)
    (folder / "questionnaire.json").unlink()
    with pytest.raises(ldp.InvalidArgument, match="the folder holds no table"):
        ldp.Survey(folder, SHEET_TABLES)


# Tables of pandas, Polars and Arrow, seen alike.

FRAME = pd.DataFrame(
    {
        "text": ["x", None, "y"],
        "count": pd.array([2**60 + 1, None, 3], "Int64"),
        "level": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
        "true": pd.array([True, None, False], "boolean"),
        "real": [1.5, None, 2.0],
    },
    index=pd.Index([5, 5, 7], name="row"),
)


def polars(frame: pd.DataFrame) -> Any:
    """The frame in Polars, with ordered categories."""
    pl = pytest.importorskip("polars", reason="polars is not installed")
    made = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    if "level" not in frame:
        return made
    return made.with_columns(made.get_column("level").cast(pl.Enum(["lo", "hi"])))


def test_notes_of_pandas_in_arrow_do_not_outlive_their_columns():
    """Else to_pandas() would make whole numbers of the reports that took their place."""
    table = pa.Table.from_pandas(FRAME)
    sheet = ldp.Questionnaire({"count": ldp.KRAPPOR((2**60 + 1, 3), epsilon=1.0)})
    found = sheet.privatize(table, np.random.default_rng(1)).to_pandas()
    assert found["count"].dropna().map(len).tolist() == [2, 2] and "text" in found
    assert found.index.equals(FRAME.index)
    alone = table.select(["count"])
    assert "row" not in sheet.privatize(alone, np.random.default_rng(1)).to_pandas()
    for notes in (b"?", b"[]", b"{}", b"1"):
        damaged = table.replace_schema_metadata({b"pandas": notes, b"own": b"an answer perhaps"})
        assert not sheet.privatize(damaged, np.random.default_rng(1)).schema.metadata


def test_pandas_on_arrow_is_read_as_arrow():
    """Also where pandas cannot compute with Arrow's type: dictionaries, nothing, views of text."""
    columns: dict[str, Any] = {
        "band": pa.array(["b", "a", None]).dictionary_encode(),
        "level": pa.DictionaryArray.from_arrays([1, None, 0], ["lo", "hi"], ordered=True),
        "none": pa.nulls(3),
        "view": pa.array(["y", None, "x"], pa.string_view()),
        "count": [2**60 + 1, None, 3],
        "list": [[1], None, [2]],
        "true": [True, None, False],
    }
    given = pa.table(columns)
    frame = given.to_pandas(types_mapper=pd.ArrowDtype).set_axis([5, 5, 7])
    sheet = ldp.Questionnaire({"true": ldp.KRR((False, True), 1.0)})

    def outcome(data: Any, name: str) -> Any:
        try:
            return ldp.Survey(data, sheet).frequencies(name).params.to_dict()
        except ldp.InvalidArgument as error:
            return str(error)

    for name in given.column_names:
        assert outcome(frame, name) == outcome(given, name)
    kept = sheet.privatize(frame, np.random.default_rng(1)).drop(columns="true")
    assert kept.dtypes.equals(frame.drop(columns="true").dtypes)
    assert "column='list': must hold text" in outcome(frame, "list")


class Broken:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("secret-4711")


NO_TABLES: dict[str, tuple[Any, str]] = {
    "list": ([1], "must be a pandas or Polars DataFrame"),
    "dict": ({"a": [1]}, r"pandas.DataFrame\(...\) of the dict"),
    "array": (np.zeros((2, 2)), "DataFrame"),
    "Series": (pd.Series([1]), "to_frame"),
    "column of Arrow": (pa.chunked_array([[1, 2]]), "reads no table"),
    "broken": (Broken(), "reads no table"),
    "numbered": (pd.DataFrame([[1, 2]]), "0: .*must be text"),
    "two of a name": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a': is the name of two"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table(name):
    given, words = NO_TABLES[name]
    with pytest.raises(ldp.InvalidArgument, match=f"^data=.*{words}") as found:
        ldp.Survey(given, {"a": ldp.Warner(epsilon=1.0)})
    assert "4711" not in str(found.value) and found.value.__context__ is None


# Counts of one mechanism's reports, from every kind of table.

N = 400

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
def test_counts_are_the_tally_of_the_reports(place, tmp_path, request):
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
def test_conditions_and_columns_of_counts(kind, tmp_path):
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


def test_cohorts_may_be_in_a_column_of_any_name(tmp_path):
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


def test_files_of_reports_are_counted_as_they_are_written(tmp_path):
    for kind, mechanism in MECHANISMS.items():
        reports = reports_of(mechanism)
        for suffix in (".csv", ".parquet"):
            for part in (0, 1):
                io.write_reports(reports[part::2], tmp_path / f"{kind}{part}{suffix}")
            found = ldp.count(tmp_path / f"{kind}?{suffix}", mechanism)
            alike(found, reports.tally())


def test_fingerprints_and_other_columns_are_not_taken_for_reports():
    krr = MECHANISMS["labels"]
    frame = pd.DataFrame({"r": ["a", "b"], "r_fingerprint": [krr.fingerprint] * 2})
    assert ldp.count(frame, krr).nobs == 2
    assert ldp.count(frame.assign(n=[3, 4]), krr, count="n").nobs == 7
    with pytest.raises(ldp.InvalidArgument, match="name the column of reports; the table has 'r'"):
        ldp.count(frame.assign(n=[3, 4]), krr)
    with pytest.raises(ldp.MechanismMismatch, match="r_fingerprint"):
        ldp.count(frame, ldp.KRR(krr.categories, 1.0))


FRAME_COUNTING = pd.DataFrame({"r": ["a", None, "b"], "n": [1, 2, -1], "x": [1.5, 2.0, 3.0]})

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
def test_bad_input_is_refused_wherever_the_rows_are(kind, tmp_path):
    how, words = BAD[kind]
    pq.write_table(pa.Table.from_pandas(FRAME_COUNTING), tmp_path / "t.parquet")
    given = {"mechanism": MECHANISMS["labels"], "column": "r"} | how
    for source in (FRAME_COUNTING, tmp_path / "t.parquet"):
        with pytest.raises(ldp.LDPError, match=words):
            ldp.count(source, **given)


def test_nobody_is_counted_as_nobody(tmp_path):
    bits = FRAME_COUNTING.assign(r=["010", None, "011"])
    for kind, frame in (("labels", FRAME_COUNTING), ("patterns", bits)):
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
        for source in (frame, tmp_path / "t.parquet"):
            found = ldp.count(source, MECHANISMS[kind], "r", where="x > 10")
            assert (found.nobs, found.n_missing) == (0, 0)
            if kind == "patterns":
                sums = ldp.count(source, MECHANISMS[kind], "r", where="x > 10", bits=True)
                assert (sums.nobs, sums.n_missing, sums.ones.tolist()) == (0, 0, [[0, 0, 0]])
