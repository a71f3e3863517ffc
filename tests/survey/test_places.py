"""One survey wherever its rows are, in memory or on an engine: identical results, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp

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
def expected() -> list[str]:
    return texts(ldp.Survey(TABLE.to_pandas(), SHEET))


@pytest.mark.filterwarnings("ignore::ldpstats.errors.LDPWarning")
@pytest.mark.parametrize("place", SOME)
def test_results_are_the_same_wherever_the_rows_are(
    place: str, tmp_path: Path, expected: list[str], request: pytest.FixtureRequest
) -> None:
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


def test_waves_are_joined_on_the_engine(tmp_path: Path) -> None:
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
def test_waves_are_joined_on_spark(tmp_path: Path, spark: Any) -> None:
    one, two = files(tmp_path)
    found = []
    for read in (lambda path: spark.read.parquet(path.as_uri()), pq.read_table):
        both = ldp.Survey(read(one), SHEET).matched(ldp.Survey(read(two), SHEET), id="who")
        part = both.where("region_1 == 'n' and age_1 < 70 and not urban_2 and day_1 <= day_2")
        found.append([repr(part), part.change("job_1", "job_2").to_json()])
    assert found[0] == found[1]


def test_identifiers_that_are_missing_or_repeat_are_refused_as_in_memory(tmp_path: Path) -> None:
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


def test_a_wave_in_memory_is_matched_with_one_on_an_engine(tmp_path: Path) -> None:
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


def test_rows_of_files_have_an_order_and_those_of_frames_none(tmp_path: Path) -> None:
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


def test_an_unknown_report_is_placed_in_its_file(tmp_path: Path) -> None:
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


def test_csv_files_are_read_one_after_another(tmp_path: Path) -> None:
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


def test_an_empty_table_says_that_nobody_answered(tmp_path: Path) -> None:
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


def test_a_column_called_n_and_moments_in_milliseconds(tmp_path: Path) -> None:
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
