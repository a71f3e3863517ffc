"""A survey answers as the models that it stands for, on the rows that it should."""

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, LDPError, LDPWarning, UnknownCategory

YES = ldp.KRR(("no", "yes"), 2.0)


# -- one variable ----------------------------------------------------------------------------------
def test_frequencies_are_those_of_the_model(survey, collected, sheet):
    reports = sheet["job"].parse("job", collected["job"].dropna())
    expected = ldp.FrequencyModel(reports).fit()
    found = survey.frequencies("job")
    assert found.name == "job"
    assert found.params.equals(expected.params)
    assert (found.nobs, found.n_missing) == (len(reports), collected["job"].isna().sum())
    assert found.nobs + found.n_missing == len(survey)
    assert survey.frequencies("job", method="inversion").method == "inversion"
    assert survey.frequencies("job", cov_type="linear").cov_type == "linear"


def test_groups_are_those_of_the_selections(survey):
    groups = survey.frequencies("job", by=["region", "urban"])
    assert groups.groups.tolist() == [("n", False), ("n", True), ("s", False), ("s", True)]
    for region, urban in groups.groups:
        alone = survey.where(f"region == '{region}' and urban == {urban}").frequencies("job")
        assert groups[region, urban].params.equals(alone.params)
        assert groups[region, urban].n_missing == alone.n_missing
    assert groups.nobs + groups.n_missing + groups.n_ungrouped == len(survey)


def test_a_group_without_a_report_is_named():
    table = pd.DataFrame({"late": ["no", "yes", None] * 20, "region": ["n", "n", "s"] * 20})
    with pytest.warns(LDPWarning, match="no report in the group region='s'"):
        groups = ldp.Survey(table, {"late": YES}).frequencies("late", by="region")
    assert groups.empty == (("s",),)


def test_public_columns_are_tabulated_without_noise(survey, collected):
    found = survey.frequencies("region")
    shares = collected["region"].value_counts(normalize=True)
    assert np.allclose(found.params, shares.loc[found.params.index])
    assert found.n_missing == collected["region"].isna().sum()
    urban = survey.frequencies("urban")
    assert urban.params.index.tolist() == [False, True]
    assert np.isclose(urban.params[True], collected["urban"].mean())


def test_an_observed_question_groups_selects_and_joins():
    region = ldp.Observed(("w", "n", "s"))
    table = pd.DataFrame({"late": ["no", "yes"] * 45, "region": [" n", "s", "w"] * 30})
    survey = ldp.Survey(table, {"late": YES, "region": region})
    assert survey.frequencies("late", by="region").groups.tolist() == ["w", "n", "s"]
    assert len(survey.where("region > 'w'")) == 60
    assert survey.association("late", "region").labels[1].tolist() == ["w", "n", "s"]
    assert "private: late; observed: region" in repr(survey)


def test_reports_carry_name_identifiers_and_missing_answers(survey):
    reports = survey.reports("job", id="id")
    assert reports.name == "job"
    assert len(reports) + reports.n_missing == len(survey)
    late = survey.reports("late", id="id")
    both = ldp.AssociationModel(reports, late).fit()
    assert np.allclose(both.params, survey.association("job", "late").params, atol=1e-9)


def test_an_unknown_value_is_named_by_its_row_in_the_whole_table():
    table = pd.DataFrame({"job": ["nurse"] * 5 + ["Nurse"], "age": range(6)})
    survey = ldp.Survey(table, {"job": ldp.KRR(("nurse", "cook"), 1.0)})
    with pytest.raises(UnknownCategory, match=r"job, row 6='Nurse': .*nearest is 'nurse'"):
        survey.where("age > 2").frequencies("job")


def test_dictionary_questions_find_strings():
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


def test_personal_questions():
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
def test_association_uses_the_rows_that_have_all(survey, collected):
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


def test_two_waves_are_matched_by_persons():
    first, second = waves()
    both = first.matched(second, id="who")
    assert (len(both), both.lost) == (2500, (500, 100))
    assert both.columns == ("who", "late_1", "late_2")
    assert "500 and 100 in one wave only" in " ".join(repr(both).split())
    assert both.questionnaire["late_2"].epsilon == 3.0
    joint = both.association("late_1", "late_2")
    x, y = first.reports("late", id="who"), second.reports("late", id="who")
    direct = ldp.AssociationModel(x, y, names=("late_1", "late_2")).fit()
    assert np.allclose(joint.params, direct.params, atol=1e-9)
    assert len(both[: len(both) // 2]) == 1250
    assert both.where("who < 100").lost == (500, 100)
    table = pd.DataFrame({"who": list("abc"), "late": ["no", "yes", "no"]})
    one = ldp.Survey(table.astype({"who": "category"}), {"late": YES_BAD})
    assert len(one.matched(ldp.Survey(table, {"late": YES_BAD}), id="who")) == 3


def test_change_is_that_of_the_reports_matched_by_identifier():
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
def test_masks_slices_and_conditions_choose_the_same_rows(survey, collected):
    mask = (collected["age"] >= 40).to_numpy()
    chosen = [survey[mask], survey[pd.Series(mask)], survey[mask.tolist()], survey.where("age>=40")]
    assert {len(part) for part in chosen} == {mask.sum()}
    texts = {part.frequencies("job").to_json() for part in chosen}
    assert len(texts) == 1
    twice = survey.where("age >= 40")[:100].where("region == 'n'")
    assert len(twice) == (collected["region"][mask][:100] == "n").sum()
    assert len(survey[::2]) == len(survey) // 2


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_a_mask_is_matched_by_its_index(kind):
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


def test_a_survey_does_not_see_what_is_done_to_the_frame_later():
    frame = pd.DataFrame({"late": ["no", "yes"] * 5, "age": np.arange(10)})
    survey = ldp.Survey(frame, {"late": YES})
    frame["age"], frame["late"] = 0, "?"
    assert len(survey.where("age > 4")) == 5
    assert survey.frequencies("late").nobs == 10


def test_the_html_is_escaped():
    table = pd.DataFrame({"<b>": ["no", "yes"], "<i>": [1, 2]})
    text = ldp.Survey(table, {"<b>": YES})._repr_html_()
    assert "<b>" not in text and "<i>" not in text and "&lt;i&gt;" in text


@pytest.mark.parametrize("by", ["age", ["age", "sex"]])
def test_many_numbers_as_groups_are_warned_of(by):
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


def test_the_bands_of_cut_are_an_ordered_question():
    people = pd.DataFrame({"age": np.arange(600) % 60, "ill": ["no", "yes", "no"] * 200})
    sheet = {"ill": ldp.Warner(epsilon=1.0)}
    with pytest.raises(InvalidArgument, match=r"pd\.cut\(\.\.\., labels=\[\.\.\.\]\), or turn"):
        ldp.Survey(people, sheet).association("ill", "age")
    cut = people.assign(
        age=pd.cut(people["age"], [-1, 9, 29, 59], labels=["under 10", "10-29", "30-59"])
    )
    joint = ldp.Survey(cut, sheet).association("age", "ill")
    assert joint.table.index.tolist() == list(cut["age"].cat.categories)


def test_groups_by_whole_numbers_with_gaps_are_in_their_order():
    table = pd.DataFrame({"late": ["no", "yes"] * 30, "band": [10, 2, np.nan] * 20})
    groups = ldp.Survey(table, {"late": YES}).frequencies("late", by="band")
    assert groups.groups.tolist() == [2, 10]
    assert groups.n_ungrouped == 20


# Surveys that cannot be: an error that names the argument, and says what to do.

YES_BAD = ldp.KRR(("no", "yes"), 1.0)

STRINGS = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)

PLACES = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))

TABLE = pd.DataFrame(
    {
        "late": ["no", "yes", None, "no"],
        "ill": ["no", None, "yes", None],
        "never": [None] * 4,
        "word": ["0:1", "1:2", "0:3", None],
        "place": ["centre", "home", "park", "clinic"],
        "age": [18, 40, 60, 80],
        "income": [1.5, 2.5, 3.5, 4.5],
        "region": ["n", "s", None, "n"],
        "same": ["x"] * 4,
        "day": pd.to_datetime(["2024-01-01"] * 4),
        "who": [1, 2, 2, 4],
        "some": ["a", None, "b", "c"],
        "mixed": [1, "a", 2, "b"],
        "nothing": [None] * 4,
    }
)

SHEET = {
    "late": YES_BAD,
    "ill": YES_BAD,
    "never": YES_BAD,
    "word": ldp.ORR(8, 4, epsilon=1.0),
    "place": PLACES,
}


@pytest.fixture(scope="module")
def good():
    return ldp.Survey(TABLE, SHEET)


def built(*args: Any, **how: Any) -> Callable[[ldp.Survey], Any]:
    return lambda _: ldp.Survey(*args, **how)


def starts(change: dict[str, Any], fit: str = "dictionary") -> Callable[[ldp.Survey], Any]:
    """A table of strings, of which columns are changed."""
    names = ("start_1", "gram_1", "start_2", "gram_2", "string")
    frame = STRINGS.privatize(["abca", "cc"], np.random.default_rng(1)).to_frame()
    frame = frame.astype(object).set_axis([f"host_{name}" for name in names], axis=1)
    made = ldp.Survey(frame.assign(**change), {"host": STRINGS})
    return lambda _: made.dictionary("host") if fit == "dictionary" else made.frequencies("host")


BAD: dict[str, tuple[Callable[[ldp.Survey], Any], str]] = {
    "a directory": (built("/", SHEET), "path='/'"),
    "another format": (built("answers.doc", SHEET), "must end in .csv"),
    "a mechanism": (built(TABLE, YES_BAD), "must be a Questionnaire, or a dict"),
    "a question without a column": (
        built(TABLE, {"latte": YES_BAD}),
        "question='latte': no such column.*did you mean 'late'",
    ),
    "no such question": (lambda s: s.frequencies("latte"), "did you mean 'late'"),
    "nobody answered": (lambda s: s.frequencies("never"), "nobody of 4 answered"),
    "a column of numbers": (lambda s: s.frequencies("age"), "make bands"),
    "where of an unknown value": (lambda s: s.where("region == 'N'"), "is no value of 'region'"),
    "one value only": (lambda s: s.frequencies("same"), "holds 'x' only"),
    "an empty column": (lambda s: s.frequencies("nothing"), "is empty"),
    "values of several types": (lambda s: s.frequencies("mixed"), "several types"),
    "no candidates": (lambda s: s.frequencies("word"), "candidates"),
    "candidates of a list": (lambda s: s.frequencies("late", candidates=["no"]), "candidates"),
    "a PUM question": (lambda s: s.frequencies("place"), r"survey\.personalized\('place'\)"),
    "no PUM question": (lambda s: s.personalized("late"), r"survey\.frequencies\('late'\)"),
    "no dictionary question": (lambda s: s.dictionary("late"), r"survey\.frequencies\('late'\)"),
    "an unknown method": (lambda s: s.frequencies("late", method="mlee"), "method='mlee'"),
    "by a private question": (
        lambda s: s.frequencies("late", by="ill"),
        r"column='ill': is private.*survey\.association\('ill'",
    ),
    "by decimals": (lambda s: s.frequencies("late", by="income"), "make bands"),
    "by an empty column": (lambda s: s.frequencies("late", by="nothing"), "nobody of 4 has"),
    "by itself": (lambda s: s.frequencies("late", by="late"), "other than the question"),
    "a level of the fit": (lambda s: s.frequencies("late", alpha=0.1), "alpha=0.1: is no option"),
    "by too many": (
        lambda _: ldp.Survey(
            pd.DataFrame({"late": ["no"] * 2000, "who": range(2000)}), {"late": YES_BAD}
        ).frequencies("late", by="who"),
        "2000 groups, 1000 at most",
    ),
    "one question": (lambda s: s.association("late"), "two different questions"),
    "nobody has both": (
        lambda s: s.where("age < 50").association("ill", "never"),
        "nobody of 2 answered both",
    ),
    "where with a private question": (
        lambda s: s.where("late == 'yes'"),
        "column='late': is private",
    ),
    "where without such a column": (lambda s: s.where("agee > 3"), "did you mean 'age'"),
    "where nobody is": (
        lambda s: s.where("age > 50 and region == 's'"),
        "true for nobody; of 4 rows alone: age > 50: 2, region == 's': 1",
    ),
    "where with a short mask": (lambda s: s.where([True]), "each of the 4 rows"),
    "where with a number": (lambda s: s.where(3), r"survey\[mask\]"),
    "a private expression": (lambda s: s.where(nw.col("ill") == "no"), "not public"),
    "an expression of numbers": (lambda s: s.where(nw.col("age") + 1), "true or false in each"),
    "an expression that nobody meets": (lambda s: s.where(nw.col("age") > 999), "for nobody"),
    "a short mask": (lambda s: s[[True, False]], "each of the 4 rows"),
    "an empty mask": (lambda s: s[np.zeros(4, dtype=bool)], "chooses nobody"),
    "a slice of text": (lambda s: s["a":"b"], "mask=slice.*of whole numbers"),
    "an empty slice": (lambda s: s[9:], "chooses nobody"),
    "repeated identifiers": (lambda s: s.reports("late", id="who"), "2 appears 2 times"),
    "missing identifiers": (lambda s: s.reports("late", id="some"), "1 of 4 rows have no"),
    "private identifiers": (lambda s: s.reports("late", id="ill"), "column='ill': is private"),
    "a wave that is no survey": (lambda s: s.matched(TABLE, id="age"), "must be a Survey"),
    "equal suffixes": (lambda s: s.matched(s, "age", suffixes=("_", "_")), "two different"),
    "nobody in both waves": (
        lambda s: s.matched(ldp.Survey(TABLE.assign(age=[1, 2, 3, 4]), SHEET), id="age"),
        "no person is in both",
    ),
    "identifiers of two types": (
        lambda s: s.matched(ldp.Survey(TABLE.assign(age=list("abcd")), SHEET), id="age"),
        "numbers in one wave and text in the other",
    ),
    "suffixes that clash": (
        lambda s: s.matched(
            ldp.Survey(TABLE[["late", "age"]].assign(late_=1), {"late": YES_BAD}), "age", ("_", "")
        ),
        "would name two columns 'late_'",
    ),
    "change of other categories": (
        lambda s: s.change("late", "place"),
        "different categories",
    ),
    "a report that cannot be": (
        lambda _: ldp.Survey(
            pd.DataFrame({"w": [None, "0:9"]}), {"w": ldp.ORR(8, 4, epsilon=1.0)}
        ).reports("w"),
        "w, row 2='0:9'",
    ),
    "strings partly empty": (starts({"host_string": [None, "0:1"]}), "host_string, row 1=None"),
    "frequencies of strings": (starts({}, "frequencies"), r"survey\.dictionary\('host'\)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_with_a_remedy(kind, good):
    call, words = BAD[kind]
    with pytest.raises(LDPError, match=words):
        call(good)


def test_questions_that_nobody_was_asked_together_name_ask():
    yes = ldp.Warner(epsilon=1.0)
    sheet = ldp.Questionnaire({"a": yes, "b": yes}, ask=1)
    people = pd.DataFrame({"a": ["no", "yes"] * 20, "b": ["no", "yes"] * 20})
    survey = ldp.Survey(sheet.privatize(people, np.random.default_rng(1)), sheet)
    for fit in (survey.change, survey.association):
        with pytest.raises(ldp.InvalidArgument, match=r"nobody of 40 answered .*\(ask=1: nobody"):
            fit("a", "b")


def test_words_of_other_spellings_and_separators(tmp_path):
    sheet = {"a": ldp.Warner(epsilon=1.0)}
    survey = ldp.Survey(pd.DataFrame({"a": ["no", "yes"], "age": [3, 4]}), sheet)
    for condition, remedy in {
        "age \u2265 3": "write >=",
        "age == \u2018n\u2019": "straight quotation marks",
        "NOT age": "'not' in lower case",
    }.items():
        with pytest.raises(ldp.InvalidArgument, match=remedy):
            survey.where(condition)
    path = tmp_path / "a.csv"
    for text, remedy in {
        "a;b\nno;1\n": "sep=';'\\) reads it",
        "a,b\nno,1\n\n": "2 is an empty line",
    }.items():
        path.write_text(text)
        with pytest.raises(ldp.InvalidArgument, match=remedy):
            ldp.Survey(path, sheet).frequencies("a")


def test_a_type_that_arrow_lacks_is_refused():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": ["no", "yes"], "r": pl.Series([1, 2], dtype=pl.Int128)})
    with pytest.raises(ldp.InvalidArgument, match="type Int128"):
        ldp.Survey(frame, {"a": ldp.Warner(epsilon=1.0)}).frequencies("a", by="r")


# Results of a survey hold counts of reports, never the reports of one respondent.

SHEET_ROWS = ldp.Questionnaire(
    {
        "a": ldp.KRR(("x", "y"), 1.0),
        "b": ldp.KRR(("x", "y"), 2.0),
        "bits": ldp.KRAPPOR(("h", "i", "j"), 1.0),
        "seen": ldp.Observed(("u", "v")),
    }
)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(14)
    answers = {name: rng.choice(SHEET_ROWS[name].categories, n) for name in SHEET_ROWS}
    made: pd.DataFrame = SHEET_ROWS.privatize(pd.DataFrame(answers), rng)
    made.loc[::7, "a"] = None
    return made


@pytest.mark.parametrize("names", [("a", "b"), ("a", "bits"), ("a", "seen"), ("a", "b", "seen")])
def test_documents_depend_on_neither_the_order_nor_the_number_of_rows(names):
    rows = table(4000)
    text = ldp.Survey(rows, SHEET_ROWS).association(*names).to_json()
    shuffled = rows.sample(frac=1.0, random_state=1)
    assert ldp.Survey(shuffled, SHEET_ROWS).association(*names).to_json() == text
    groups = (
        ldp.Survey(table(16_000), SHEET_ROWS).association(*names).to_dict()["tallies"]["groups"]
    )
    assert sum(len(group["n"]) for group in groups) <= 2 ** sum(2 + (n == "bits") for n in names)


def test_changes_and_pairs_do_not_grow_with_the_number_of_rows():
    sizes = []
    for n in (4000, 16_000):
        survey = ldp.Survey(table(n), SHEET_ROWS)
        change, pairs = survey.change("a", "b"), survey.associations(["a", "bits", "seen"])
        sizes.append(len(change.to_json()) + len(pairs.to_json()))
    assert sizes[1] < 1.2 * sizes[0]


# Regressions on surveys: their fits are the same from every table.

N = 80


@pytest.fixture(scope="module")
def regressed():
    return ldp.Questionnaire(
        {
            "ill": ldp.Warner(epsilon=2.0),
            "job": ldp.KRR(("nurse", "cook", "driver"), 2.0),
            "told": ldp.Observed(("yes", "no")),
            "word": ldp.ORR(4, 4, epsilon=2.0),
        }
    )


@pytest.fixture(scope="module")
def frame(regressed):
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "ill": rng.choice(["no", "yes"], N),
            "job": rng.choice(["nurse", "cook", "driver"], N),
            "told": rng.choice(["no", "yes"], N),
            "word": rng.choice(["x", "y"], N),
            "age": rng.integers(20, 40, N),
            "region": rng.choice(["s", "n"], N),
            "income": rng.normal(size=N).round(2),
            "w": rng.integers(1, 4, N) / 2,
            "stratum": rng.choice(["a", "b"], N),
        }
    )
    made: pd.DataFrame = regressed.privatize(people, rng)
    made.loc[[3, 8], "ill"] = None
    made.loc[8, "job"] = None
    made.loc[11, "told"] = None
    made["age"] = made["age"].astype(float)
    made.loc[12, "age"] = np.nan
    return made.drop(columns=[c for c in made if "fingerprint" in c])


@pytest.mark.parametrize("lazy", [False, True])
def test_domains_count_the_units_of_the_sample(lazy, frame, regressed):
    data: Any = frame
    if lazy:
        data = pytest.importorskip("polars").from_pandas(frame).lazy()
    survey = ldp.Survey(data, regressed, weights="w", strata="stratum").where("region == 's'")
    found = survey.regression("ill ~ age").data
    inside = (frame["region"] == "s") & frame["ill"].notna() & frame["age"].notna()
    times = np.ones(len(found.designs[0])) if found.counts is None else found.counts
    assert times.sum() == inside.sum() and found.facts.nobs == inside.sum()
    assert found.n_missing == (frame["region"] == "s").sum() - inside.sum()
    assert found.weights.sum() == pytest.approx(frame.loc[inside, "w"].sum())
    assert found.sample.stages[0].sampled.sum() == N
    assert found.inside is not None and found.inside.sum() == len(found.designs[0])


def test_models(frame, regressed):
    def halved(x: Any) -> Any:
        return x / 2

    survey = ldp.Survey(frame, regressed)
    model = survey.regression("ill ~ halved(age) + told", unsafe=True)
    assert type(model) is ldp.PrivatizedLogit
    assert model.exog_names == ["Intercept", "told[T.no]", "halved(age)"]
    assert model.data.n_missing == 4
    model = survey.regression("income ~ job", marginal="age")
    assert isinstance(model.data.predictors, dict)
    model = survey.regression("job ~ age", model="linear", scores={"job": [1, 2, 3]})
    assert type(model) is ldp.PrivatizedOLS and model.data.n_missing == 2
    model = survey.regression("word ~ age", candidates={"word": ["x", "y"]})
    assert type(model) is ldp.PrivatizedLogit


@pytest.mark.parametrize(
    ("formula", "how", "message"),
    [
        ("ill ~ agee", {}, "did you mean 'age'"),
        ("income ~ age", {}, "names no question.*questions are 'ill'"),
        ("word ~ age", {}, "takes any text"),
        ("ill ~ age", {"offset": "job"}, "is private"),
        ("ill ~ age", {"offset": "region"}, "must be a column of numbers"),
        ("ill ~ age", {"offset": "nothing"}, "no such column"),
        ("ill ~ age", {"offset": [1.0]}, "the name of a public column"),
        ("income ~ ill", {"marginal": "job"}, "of public columns alone"),
        ("np.log(ill) ~ age", {}, "put the question alone on the left"),
        ("job ~ age", {"model": "logit"}, "3 categories"),
    ],
)
def test_bad_input(formula, how, message, frame, regressed):
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(frame, regressed).regression(formula, **how)


def test_what_has_no_regression():
    place = ldp.PUM(ldp.URR(("park", "centre", "mill"), {"mill"}, 1.0), ("home",))
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=9.0)
    people = pd.DataFrame({"place": ["park", "mill"], "string": ["abca", "baab"], "age": [1, 2]})
    sheet = ldp.Questionnaire({"place": place, "string": strings})
    made = sheet.privatize(
        people, np.random.default_rng(0), {"place": {"home": ["centre", "park"]}}
    )
    survey = ldp.Survey(made, sheet)
    with pytest.raises(ldp.NotAvailable, match=r"survey.personalized\('place'\)"):
        survey.regression("place ~ age")
    with pytest.raises(ldp.NotAvailable, match=r"survey.dictionary\('string'\)"):
        survey.regression("age ~ string")


@pytest.mark.parametrize("kind", ["polars", "arrow", "lazy", "duckdb"])
def test_fits_are_the_same_from_every_table(kind, regressed):
    """Also where cells of respondents who are alike are what an engine gives."""
    rng, n = np.random.default_rng(9), 3000
    people = pd.DataFrame({"age": rng.integers(2, 5, n), "w": rng.integers(1, 4, n) / 2})
    people["school"], people["told"] = rng.integers(0, 40, n), rng.choice(["no", "yes"], n)
    people.loc[7, "told"] = None
    ill = np.where(rng.random(n) < 0.1 + 0.15 * (people["age"] - 2), "yes", "no")
    asked = ldp.Questionnaire({name: regressed[name] for name in ("ill", "told")})
    made = asked.privatize(people.assign(ill=ill), rng)
    data: Any
    if kind == "arrow":
        data = pa.Table.from_pandas(made)
    elif kind == "duckdb":
        data = duckdb.from_df(made)
    else:
        data = pytest.importorskip("polars").from_pandas(made)
        data = data.lazy() if kind == "lazy" else data
    formula, how = "ill ~ center(age) + told", {"weights": "w", "clusters": "school"}
    first, second = (ldp.Survey(table, asked, **how).regression(formula) for table in (made, data))
    assert first.nobs == second.nobs == n - 1
    one, two = first.fit(), second.fit()
    assert abs(one.params["center(age)"]) > 0.2
    pd.testing.assert_series_equal(one.params, two.params, rtol=1e-7)
    pd.testing.assert_series_equal(one.bse, two.bse, rtol=1e-7)
