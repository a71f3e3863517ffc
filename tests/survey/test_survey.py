"""A survey answers as the models that it stands for, on the rows that it should."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, LDPWarning, UnknownCategory

YES = ldp.KRR(("no", "yes"), 2.0)


# -- one variable ----------------------------------------------------------------------------------


def test_frequencies_are_those_of_the_model(
    survey: ldp.Survey, collected: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    reports = sheet["job"].parse("job", collected["job"].dropna())
    expected = ldp.FrequencyModel(reports).fit()
    found = survey.frequencies("job")
    assert found.name == "job"
    assert found.params.equals(expected.params)
    assert (found.nobs, found.n_missing) == (len(reports), collected["job"].isna().sum())
    assert found.nobs + found.n_missing == len(survey)
    assert survey.frequencies("job", method="inversion").method == "inversion"
    assert survey.frequencies("job", cov_type="linear").cov_type == "linear"


def test_groups_are_those_of_the_selections(survey: ldp.Survey) -> None:
    groups = survey.frequencies("job", by=["region", "urban"])
    assert groups.groups.tolist() == [("n", False), ("n", True), ("s", False), ("s", True)]
    for region, urban in groups.groups:
        alone = survey.where(f"region == '{region}' and urban == {urban}").frequencies("job")
        assert groups[region, urban].params.equals(alone.params)
        assert groups[region, urban].n_missing == alone.n_missing
    assert groups.nobs + groups.n_missing + groups.n_ungrouped == len(survey)


def test_a_group_without_a_report_is_named() -> None:
    table = pd.DataFrame({"late": ["no", "yes", None] * 20, "region": ["n", "n", "s"] * 20})
    with pytest.warns(LDPWarning, match="no report in the group region='s'"):
        groups = ldp.Survey(table, {"late": YES}).frequencies("late", by="region")
    assert groups.empty == (("s",),)


def test_public_columns_are_tabulated_without_noise(
    survey: ldp.Survey, collected: pd.DataFrame
) -> None:
    found = survey.frequencies("region")
    shares = collected["region"].value_counts(normalize=True)
    assert np.allclose(found.params, shares.loc[found.params.index])
    assert found.n_missing == collected["region"].isna().sum()
    urban = survey.frequencies("urban")
    assert urban.params.index.tolist() == [False, True]
    assert np.isclose(urban.params[True], collected["urban"].mean())


def test_an_observed_question_groups_selects_and_joins() -> None:
    region = ldp.Observed(("w", "n", "s"))
    table = pd.DataFrame({"late": ["no", "yes"] * 45, "region": [" n", "s", "w"] * 30})
    survey = ldp.Survey(table, {"late": YES, "region": region})
    assert survey.frequencies("late", by="region").groups.tolist() == ["w", "n", "s"]
    assert len(survey.where("region > 'w'")) == 60
    assert survey.association("late", "region").labels[1].tolist() == ["w", "n", "s"]
    assert "private: late; observed: region" in repr(survey)


def test_reports_carry_name_identifiers_and_missing_answers(survey: ldp.Survey) -> None:
    reports = survey.reports("job", id="id")
    assert reports.name == "job"
    assert len(reports) + reports.n_missing == len(survey)
    late = survey.reports("late", id="id")
    both = ldp.AssociationModel(reports, late).fit()
    assert np.allclose(both.params, survey.association("job", "late").params, atol=1e-9)


def test_an_unknown_value_is_named_by_its_row_in_the_whole_table() -> None:
    table = pd.DataFrame({"job": ["nurse"] * 5 + ["Nurse"], "age": range(6)})
    survey = ldp.Survey(table, {"job": ldp.KRR(("nurse", "cook"), 1.0)})
    with pytest.raises(UnknownCategory, match=r"job, row 6='Nurse': .*nearest is 'nurse'"):
        survey.where("age > 2").frequencies("job")


def test_dictionary_questions_find_strings() -> None:
    rng = np.random.default_rng(5)
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=9.0)
    sheet = ldp.Questionnaire({"host": strings, "late": YES})
    people = pd.DataFrame({"host": rng.choice(["abca", "ccba", None], 3000), "late": "no"})
    people["old"] = rng.random(3000) < 0.5
    table = sheet.privatize(people, rng)
    survey = ldp.Survey(table, sheet)
    found = survey.dictionary("host")
    assert set(found.params.index) == {"abca", "ccba"}
    assert found.n_missing == people["host"].isna().sum()
    # positions in any order are one pair
    flipped = table.rename(
        columns={
            **{f"host_{part}_1": f"host_{part}_2" for part in ("start", "gram")},
            **{f"host_{part}_2": f"host_{part}_1" for part in ("start", "gram")},
        }
    )
    assert ldp.Survey(flipped, sheet).dictionary("host").params.equals(found.params)
    assert survey.where("old").dictionary("host").nobs < found.nobs


def test_personal_questions() -> None:
    rng = np.random.default_rng(6)
    pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 3.0), ("home",))
    sheet = ldp.Questionnaire({"place": pum})
    people = pd.DataFrame({"place": rng.choice(["centre", "park", "clinic"], 3000)})
    tags = {"place": {"home": ["park"] * 3000}}
    made = sheet.privatize(people, rng, tags=tags)
    survey = ldp.Survey(made, sheet)
    found = survey.personalized("place", {"home": [0.0, 1.0, 0.0]}, exact=True)
    assert np.allclose(found.params, 1 / 3, atol=0.08)
    relation = duckdb.connect().from_df(made)
    there = ldp.Survey(relation, sheet).personalized("place", {"home": [0.0, 1.0, 0.0]}, exact=True)
    for text in (lambda results: results.to_json(), lambda results: str(results.summary())):
        assert text(there) == text(found)
    assert survey.reports("place").mechanism == pum.common


# -- several variables -----------------------------------------------------------------------------


def test_association_uses_the_rows_that_have_all(
    survey: ldp.Survey, collected: pd.DataFrame
) -> None:
    joint = survey.association("job", "late")
    complete = collected[["job", "late"]].notna().all(axis=1).sum()
    assert (joint.nobs, joint.n_missing) == (complete, len(collected) - complete)
    assert joint.names == ("job", "late")
    text = str(joint.summary())
    assert f"{len(collected) - complete} of {len(collected)} respondents were left out" in text


# -- two waves -------------------------------------------------------------------------------------


def waves() -> tuple[ldp.Survey, ldp.Survey]:
    rng = np.random.default_rng(9)
    first = pd.DataFrame({"who": np.arange(3000), "late": rng.choice(["no", "yes"], 3000)})
    second = first.sample(2500, random_state=1).reset_index(drop=True)
    new = pd.DataFrame({"who": np.arange(9000, 9100), "late": "no"})
    second = pd.concat([second, new], ignore_index=True)
    second["late"] = second["late"].where(rng.random(2600) < 0.7, "yes")
    one, two = (ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), e)}) for e in (2.0, 3.0))
    a, b = one.privatize(first, rng), two.privatize(second, rng)
    return ldp.Survey(a, one), ldp.Survey(b, two)


def test_two_waves_are_matched_by_persons() -> None:
    first, second = waves()
    both = first.matched(second, id="who")
    assert (len(both), both.lost) == (2500, (500, 100))
    assert both.columns == ("who", "late_1", "late_2")
    assert "500 and 100 in one wave only" in repr(both)
    assert both.questionnaire["late_2"].epsilon == 3.0
    joint = both.association("late_1", "late_2")
    x, y = first.reports("late", id="who"), second.reports("late", id="who")
    direct = ldp.AssociationModel(x, y, names=("late_1", "late_2")).fit()
    assert np.allclose(joint.params, direct.params, atol=1e-9)
    assert len(both[: len(both) // 2]) == 1250
    assert both.where("who < 100").lost == (500, 100)


def test_change_is_that_of_the_reports_matched_by_identifier() -> None:
    first, second = waves()
    found = first.matched(second, id="who").change("late_1", "late_2")
    direct = ldp.change(first.reports("late", id="who"), second.reports("late", id="who"))
    assert found.name == direct.name == "late"
    assert np.allclose(found.params, direct.params, atol=1e-9)
    assert found.nobs == direct.nobs == 2500
    assert found.params["yes"] > 0
    assert found.lost == (500, 100) and direct.lost == (0, 0)
    text = " ".join(str(found.summary()).split())
    assert "Missing: 0" in text and "In one wave only: 600" in text
    assert "NOTE: 500 and 100 persons, in one of the matched waves only, were left out." in text
    again = ldp.ChangeResults.from_json(found.to_json())
    assert again.lost == found.lost and str(again.summary()) == str(found.summary())
    assert direct.n_missing == 600 and "In one wave only" not in str(direct.summary())


# -- rows ------------------------------------------------------------------------------------------


def test_masks_slices_and_conditions_choose_the_same_rows(
    survey: ldp.Survey, collected: pd.DataFrame
) -> None:
    mask = (collected["age"] >= 40).to_numpy()
    chosen = [survey[mask], survey[pd.Series(mask)], survey[mask.tolist()], survey.where("age>=40")]
    assert {len(part) for part in chosen} == {mask.sum()}
    texts = {part.frequencies("job").to_json() for part in chosen}
    assert len(texts) == 1
    twice = survey.where("age >= 40")[:100].where("region == 'n'")
    assert len(twice) == (collected["region"][mask][:100] == "n").sum()
    assert len(survey[::2]) == len(survey) // 2


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_a_mask_is_matched_by_its_index(kind: str) -> None:
    """A Series that was sorted or sampled would choose others than it means."""
    frame = pd.DataFrame({"late": ["no", "yes"] * 50, "age": np.arange(100)})
    given = frame.set_index(np.arange(100)[::-1]) if kind == "pandas" else pa.table(frame)
    labels = given if kind == "pandas" else frame
    survey, mask = ldp.Survey(given, {"late": YES}), labels["age"] >= 40
    some = survey.where("age >= 20")
    young = labels["age"][labels["age"] >= 20] < 30
    assert len(survey[mask]) == 60 and len(some[young]) == 10
    assert len(survey[mask.to_numpy()]) == 60 and len(some[young.to_numpy()]) == 10
    words = r"^mask='Series': has another index.*to_numpy"
    for wrong in (
        mask.sample(frac=1, random_state=1),
        mask[::-1],
        mask.set_axis(np.arange(100) + 1),
    ):
        with pytest.raises(ldp.InvalidArgument, match=words):
            survey[wrong]
    with pytest.raises(ldp.InvalidArgument, match=words):
        some[young[::-1]]


def test_a_survey_does_not_see_what_is_done_to_the_frame_later() -> None:
    frame = pd.DataFrame({"late": ["no", "yes"] * 5, "age": np.arange(10)})
    survey = ldp.Survey(frame, {"late": YES})
    frame["age"], frame["late"] = 0, "?"
    assert len(survey.where("age > 4")) == 5
    assert survey.frequencies("late").nobs == 10


def test_the_html_is_escaped() -> None:
    table = pd.DataFrame({"<b>": ["no", "yes"], "<i>": [1, 2]})
    text = ldp.Survey(table, {"<b>": YES})._repr_html_()
    assert "<b>" not in text and "<i>" not in text and "&lt;i&gt;" in text


@pytest.mark.parametrize("by", ["age", ["age", "sex"]])
def test_many_numbers_as_groups_are_warned_of(by: Any) -> None:
    rows = np.arange(1_260)
    people = pd.DataFrame({"age": rows % 21, "sex": np.where(rows % 2, "f", "m")})
    people["ill"] = np.where(rows % 5 < 2, "yes", "no")
    people["band"] = pd.cut(people["age"], 4, labels=list("abcd"))
    sheet = {"ill": ldp.Warner(epsilon=1.0)}
    with pytest.warns(ldp.LDPWarning, match=r"by='age': 21 different numbers.*pandas.cut"):
        ldp.Survey(people, sheet).frequencies("ill", by=by)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ldp.LDPWarning)
        ldp.Survey(people, sheet).frequencies("ill", by="band")
        ldp.Survey(people[people["age"] < 20], sheet).frequencies("ill", by=by)


def test_the_bands_of_cut_are_an_ordered_question() -> None:
    people = pd.DataFrame({"age": np.arange(600) % 60, "ill": ["no", "yes", "no"] * 200})
    sheet = {"ill": ldp.Warner(epsilon=1.0)}
    with pytest.raises(InvalidArgument, match=r"pd\.cut\(\.\.\., labels=\[\.\.\.\]\), or turn"):
        ldp.Survey(people, sheet).association("ill", "age")
    cut = people.assign(
        age=pd.cut(people["age"], [-1, 9, 29, 59], labels=["under 10", "10-29", "30-59"])
    )
    joint = ldp.Survey(cut, sheet).association("age", "ill")
    assert joint.table.index.tolist() == list(cut["age"].cat.categories)


def test_groups_by_whole_numbers_with_gaps_are_in_their_order() -> None:
    table = pd.DataFrame({"late": ["no", "yes"] * 30, "band": [10, 2, np.nan] * 20})
    groups = ldp.Survey(table, {"late": YES}).frequencies("late", by="band")
    assert groups.groups.tolist() == [2, 10]
    assert groups.n_ungrouped == 20
