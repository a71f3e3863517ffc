"""Surveys of a collector's folder, which has its questionnaire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ldpstats as ldp

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
