"""One survey from pandas, Polars, Arrow, CSV, Parquet and folders: identical summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main
from ldpstats.errors import InvalidArgument


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
def expected(survey: ldp.Survey) -> list[str]:
    return list(summaries(survey))


@pytest.mark.parametrize("kind", TABLES)
def test_summaries_are_the_same_from_every_table(
    kind: str,
    collected: pd.DataFrame,
    sheet: ldp.Questionnaire,
    expected: list[str],
    tmp_path: Path,
) -> None:
    table = TABLES[kind](collected, tmp_path)
    assert list(summaries(ldp.Survey(table, sheet))) == expected


def test_ordered_categories_keep_their_order_and_have_an_interval_if_nobody_has_them(
    sheet: ldp.Questionnaire, collected: pd.DataFrame, tmp_path: Path
) -> None:
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


def test_columns_of_csv_are_what_their_fields_say(tmp_path: Path) -> None:
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


def test_a_csv_file_is_read_by_the_columns_that_are_needed(tmp_path: Path) -> None:
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


def test_a_table_of_another_epsilon_is_refused(
    collected: pd.DataFrame, sheet: ldp.Questionnaire, tmp_path: Path
) -> None:
    other = ldp.Questionnaire({**sheet.mechanisms, "job": ldp.KRR(sheet["job"].categories, 1.0)})
    whole = collected.assign(questionnaire_fingerprint=sheet.fingerprint)
    single = collected.assign(job_fingerprint=sheet["job"].fingerprint)
    path = tmp_path / "whole.csv"
    whole.to_csv(path, index=False)
    for table in (whole, single, path):
        ldp.Survey(table, sheet)
        with pytest.raises(ldp.errors.MechanismMismatch, match="row 1: the report is of"):
            ldp.Survey(table, other)


def test_fingerprints_stored_in_parquet_and_arrow_are_checked(
    sheet: ldp.Questionnaire, people: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "reports.parquet"
    jobs = people["job"].dropna()
    io.write_reports(sheet["job"].privatize(jobs, np.random.default_rng(1)), path)
    right, wrong = {"report": sheet["job"]}, {"report": ldp.KRR(sheet["job"].categories, 1.0)}
    for table in (path, pyarrow.parquet.read_table(path)):
        assert len(ldp.Survey(table, right)) == len(jobs)
        with pytest.raises(ldp.errors.MechanismMismatch, match="column 'report' holds reports"):
            ldp.Survey(table, wrong)


def test_a_table_of_the_command_line_is_checked(
    sheet: ldp.Questionnaire, people: pd.DataFrame, tmp_path: Path
) -> None:
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
def test_fields_that_are_separated_by_something_else_are_read_by_pandas(
    mark: str, tmp_path: Path
) -> None:
    path = tmp_path / "semicolons.csv"
    path.write_text(f"late{mark}age\nyes{mark}18\nno{mark}20\n")
    with pytest.raises(InvalidArgument, match="read_csv") as error:
        ldp.Survey(path, {"late": ldp.Warner(epsilon=1.0)})
    table = eval(str(error.value).partition("pass the table ")[2], {"pandas": pd, "file": path})
    assert len(ldp.Survey(table, {"late": ldp.Warner(epsilon=1.0)})) == 2


# -- folders ---------------------------------------------------------------------------------------


SHEET = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    SHEET.to_json(tmp_path / "questionnaire.json")
    pd.DataFrame({"ill": ["no", "yes", "no"]}).to_parquet(tmp_path / "a.parquet")
    (tmp_path / ".collecting").mkdir()
    (tmp_path / ".collecting" / "b.parquet").write_text("not finished")
    return tmp_path


@pytest.mark.parametrize("kind", [str, Path])
def test_the_questionnaire_is_in_the_folder(folder: Path, kind: Any) -> None:
    survey = ldp.Survey(kind(folder))
    assert survey.questionnaire == SHEET and len(survey) == 3
    assert survey.frequencies("ill").nobs == 3


def test_a_questionnaire_that_is_given_counts(folder: Path) -> None:
    (folder / "questionnaire.json").write_text("spoilt")
    assert len(ldp.Survey(folder, SHEET)) == 3
    with pytest.raises(ldp.InvalidArgument, match=r"questionnaire\.json"):
        ldp.Survey(folder)


def test_without_one_the_error_says_where_it_was_looked_for(folder: Path) -> None:
    (folder / "questionnaire.json").unlink()
    with pytest.raises(ldp.InvalidArgument, match="is not there") as caught:
        ldp.Survey(folder)
    assert str(folder / "questionnaire.json") in str(caught.value)
    for data in (pd.DataFrame({"ill": ["no"]}), str(folder / "a.parquet"), [str(folder)]):
        with pytest.raises(ldp.InvalidArgument, match=r"questionnaire=None: must be"):
            ldp.Survey(data)


def test_before_the_first_file_of_a_collector(folder: Path) -> None:
    (folder / "a.parquet").unlink()
    for given in ((), (SHEET,)):
        with pytest.raises(ldp.InvalidArgument, match="holds no sheets yet"):
            ldp.Survey(folder, *given)
    (folder / "questionnaire.json").unlink()
    with pytest.raises(ldp.InvalidArgument, match="the folder holds no table"):
        ldp.Survey(folder, SHEET)
