"""Regressions on surveys: their fits are the same from every table."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp

N = 80


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
    made: pd.DataFrame = sheet.privatize(people, rng)
    made.loc[[3, 8], "ill"] = None
    made.loc[8, "job"] = None
    made.loc[11, "told"] = None
    made["age"] = made["age"].astype(float)
    made.loc[12, "age"] = np.nan
    return made.drop(columns=[c for c in made if "fingerprint" in c])


@pytest.mark.parametrize("lazy", [False, True])
def test_domains_count_the_units_of_the_sample(
    lazy: bool, frame: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    data: Any = frame
    if lazy:
        data = pytest.importorskip("polars").from_pandas(frame).lazy()
    survey = ldp.Survey(data, sheet, weights="w", strata="stratum").where("region == 's'")
    found = survey.regression("ill ~ age").data
    inside = (frame["region"] == "s") & frame["ill"].notna() & frame["age"].notna()
    times = np.ones(len(found.designs[0])) if found.counts is None else found.counts
    assert times.sum() == inside.sum() and found.facts.nobs == inside.sum()
    assert found.n_missing == (frame["region"] == "s").sum() - inside.sum()
    assert found.weights.sum() == pytest.approx(frame.loc[inside, "w"].sum())
    assert found.sample.stages[0].sampled.sum() == N
    assert found.inside is not None and found.inside.sum() == len(found.designs[0])


def test_models(frame: pd.DataFrame, sheet: ldp.Questionnaire) -> None:
    def halved(x: Any) -> Any:
        return x / 2

    survey = ldp.Survey(frame, sheet)
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
def test_bad_input(
    formula: str, how: Any, message: str, frame: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(frame, sheet).regression(formula, **how)


def test_what_has_no_regression() -> None:
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
def test_fits_are_the_same_from_every_table(kind: str, sheet: ldp.Questionnaire) -> None:
    """Also where cells of respondents who are alike are what an engine gives."""
    rng, n = np.random.default_rng(9), 3000
    people = pd.DataFrame({"age": rng.integers(2, 5, n), "w": rng.integers(1, 4, n) / 2})
    people["school"], people["told"] = rng.integers(0, 40, n), rng.choice(["no", "yes"], n)
    people.loc[7, "told"] = None
    ill = np.where(rng.random(n) < 0.1 + 0.15 * (people["age"] - 2), "yes", "no")
    asked = ldp.Questionnaire({name: sheet[name] for name in ("ill", "told")})
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
