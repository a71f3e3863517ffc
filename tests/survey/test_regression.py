"""Regressions on surveys: their arrays are the same from every table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import NotAvailable
from ldpstats.models.regression.formulas.design import Design
from ldpstats.models.regression.front import design_of
from ldpstats.models.regression.private import PrivatePredictors
from ldpstats.survey.regression import survey_design

N = 80
FORMULA = "ill ~ job * age + told + center(age) + region"


@pytest.fixture(scope="module")
def sheet() -> ldp.Questionnaire:
    return ldp.Questionnaire(
        {
            "ill": ldp.Warner(epsilon=2.0),
            "job": ldp.KRR(("nurse", "cook", "driver"), 2.0),
            "told": ldp.Observed(("yes", "no")),
            "word": ldp.ORR(4, 4, epsilon=2.0),
        }
    )


@pytest.fixture(scope="module")
def frame(sheet: ldp.Questionnaire) -> pd.DataFrame:
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
    mechanisms = {name: sheet[name] for name in ("ill", "job", "told", "word")}
    made: pd.DataFrame = ldp.Questionnaire(mechanisms).privatize(people, rng)
    made.loc[[3, 8], "ill"] = None
    made.loc[8, "job"] = None
    made.loc[11, "told"] = None
    made["age"] = made["age"].astype(float)
    made.loc[12, "age"] = np.nan
    return made.drop(columns=[c for c in made if "fingerprint" in c])


@pytest.fixture(scope="module")
def some(sheet: ldp.Questionnaire) -> ldp.Questionnaire:
    return ldp.Questionnaire({name: sheet[name] for name in ("ill", "job", "told", "word")})


def rows(design: Design) -> tuple[Any, Any]:
    """What respondents have, in an order of its own; and the weighted sums of its squares.

    Respondents who are alike may be one row, of their mean weight.
    """
    assert design.marginal_exog is not None
    groups = [design.response, *design.predictors.values()]
    reports = [np.concatenate([part.y for part in parts])[:, None] for parts in groups]
    found = np.hstack([*design.designs, *reports, design.marginal_exog.to_numpy()]).round(9)
    times = np.ones(len(found)) if design.freq_weights is None else design.freq_weights
    weights = times if design.weights is None else times * design.weights
    squares = found.T @ (weights[:, None] * found)
    found = np.repeat(found, times.astype(int), axis=0)
    return found[np.lexsort(found.T)], squares


@pytest.mark.parametrize("kind", ["polars", "arrow", "lazy", "duckdb"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_of_all_kinds(
    kind: str, weighted: bool, frame: pd.DataFrame, some: ldp.Questionnaire
) -> None:
    how = {"weights": "w", "strata": "stratum"} if weighted else {}
    expected = survey_design(ldp.Survey(frame, some, **how), FORMULA)
    assert expected.n_missing == 4 and len(expected.designs[0]) == N - 4
    assert expected.names[1:3] == ("job[T.cook]", "job[T.driver]")
    assert "told[T.no]" in expected.names and expected.family == "logit"
    data: Any
    if kind == "arrow":
        import pyarrow as pa

        data = pa.Table.from_pandas(frame)
    elif kind == "duckdb":
        import duckdb

        data = duckdb.from_df(frame)
    else:
        polars: Any = pytest.importorskip("polars")
        data = polars.from_pandas(frame)
        data = data.lazy() if kind == "lazy" else data
    found = survey_design(ldp.Survey(data, some, **how), FORMULA)
    assert (found.names, found.n_missing) == (expected.names, expected.n_missing)
    for ours, theirs in zip(rows(found), rows(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-8)
    if weighted:
        assert found.facts.nobs == expected.facts.nobs == N - 4
        assert found.facts.df == expected.facts.df


def test_a_survey_is_as_its_table(frame: pd.DataFrame, some: ldp.Questionnaire) -> None:
    survey = ldp.Survey(frame, some)
    found = survey_design(survey, "income ~ ill * age", offset="w")
    whole = frame["ill"].notna()
    given = {"ill": survey.reports("ill")}
    other = design_of(
        "income ~ ill * age", frame.loc[whole, ["income", "age", "w"]], given, offset="w"
    )
    assert found.names == other.names and found.n_missing == other.n_missing == 3
    for ours, theirs in zip(found.designs, other.designs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found.predictors["ill"][0].y, other.predictors["ill"][0].y)
    np.testing.assert_array_equal(found.response, other.response)
    np.testing.assert_array_equal(found.offset, other.offset)


@pytest.mark.parametrize("lazy", [False, True])
def test_domains_count_the_units_of_the_sample(
    lazy: bool, frame: pd.DataFrame, some: ldp.Questionnaire
) -> None:
    data: Any = frame
    if lazy:
        data = pytest.importorskip("polars").from_pandas(frame).lazy()
    survey = ldp.Survey(data, some, weights="w", strata="stratum").where("region == 's'")
    found = survey_design(survey, "ill ~ age")
    inside = (frame["region"] == "s") & frame["ill"].notna() & frame["age"].notna()
    times = np.ones(len(found.designs[0])) if found.freq_weights is None else found.freq_weights
    assert times.sum() == inside.sum() and found.facts.nobs == inside.sum()
    assert found.n_missing == (frame["region"] == "s").sum() - inside.sum()
    weights = found.weights * times
    assert weights.sum() == pytest.approx(frame.loc[inside, "w"].sum())
    assert found.sample.stages[0].sampled.sum() == N
    assert found.inside is not None and found.inside.sum() == len(found.designs[0])


def test_calibrated_weights_keep_cells_outside(
    frame: pd.DataFrame, some: ldp.Questionnaire
) -> None:
    survey = ldp.Survey(frame, some, weights="w").calibrate({"region": {"s": 50, "n": 50}})
    found = survey_design(survey.where("region == 's'"), "ill ~ age")
    assert found.inside is not None and found.inside.shape == (N,)
    assert found.inside.sum() == len(found.designs[0]) < (frame["region"] == "s").sum()
    np.testing.assert_array_equal(found.sample.w[found.inside], found.weights)


def test_models(frame: pd.DataFrame, some: ldp.Questionnaire) -> None:
    def halved(x: Any) -> Any:
        return x / 2

    survey = ldp.Survey(frame, some)
    model = survey.regression("ill ~ halved(age) + told", unsafe=True)
    assert type(model) is ldp.PrivatizedLogit
    assert model.exog_names == ["Intercept", "told[T.no]", "halved(age)"]
    assert model.data.n_missing == 4
    model = survey.regression("income ~ job", marginal="age")
    assert type(model) is PrivatePredictors
    model = survey.regression("job ~ age", model="linear", scores={"job": [1, 2, 3]})
    assert type(model) is ldp.PrivatizedOLS and model.n_missing == 2
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
def test_bad_input(
    formula: str, how: Any, message: str, frame: pd.DataFrame, some: ldp.Questionnaire
) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(frame, some).regression(formula, **how)


def test_what_has_no_regression() -> None:
    place = ldp.PUM(ldp.URR(("park", "centre", "mill"), {"mill"}, 1.0), ("home",))
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=9.0)
    people = pd.DataFrame({"place": ["park", "mill"], "string": ["abca", "baab"], "age": [1, 2]})
    sheet = ldp.Questionnaire({"place": place, "string": strings})
    made = sheet.privatize(
        people, np.random.default_rng(0), {"place": {"home": ["centre", "park"]}}
    )
    survey = ldp.Survey(made, sheet)
    with pytest.raises(NotAvailable, match=r"survey.personalized\('place'\)"):
        survey.regression("place ~ age")
    with pytest.raises(NotAvailable, match=r"survey.dictionary\('string'\)"):
        survey.regression("age ~ string")


def test_fits_are_the_same_from_cells_and_rows(some: ldp.Questionnaire) -> None:
    polars: Any = pytest.importorskip("polars")
    rng = np.random.default_rng(9)
    n = 3000
    people = pd.DataFrame({"age": rng.integers(2, 5, n), "w": rng.integers(1, 4, n) / 2})
    people["school"] = rng.integers(0, 40, n)
    ill = np.where(rng.random(n) < 0.1 + 0.15 * (people["age"] - 2), "yes", "no")
    made = ldp.Questionnaire({"ill": some["ill"]}).privatize(people.assign(ill=ill), rng)
    sheet, how = {"ill": some["ill"]}, {"weights": "w", "clusters": "school"}
    rows = ldp.Survey(made, sheet, **how).regression("ill ~ center(age)")
    cells = ldp.Survey(polars.from_pandas(made).lazy(), sheet, **how).regression(
        "ill ~ center(age)"
    )
    assert len(cells.data.designs[0]) < n == cells.nobs == rows.nobs
    first, second = rows.fit(), cells.fit()
    assert abs(first.params["center(age)"]) > 0.2
    pd.testing.assert_series_equal(first.params, second.params, rtol=1e-7)
    pd.testing.assert_series_equal(first.bse, second.bse, rtol=1e-7)
