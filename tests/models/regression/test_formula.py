"""What formulas make of tables: design matrices, families, and errors that say what to do."""

import contextlib
import copy
import json
import math
import os
import pickle
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp

N = 60

JOBS = ("nurse", "cook", "driver")


@pytest.fixture(params=["patsy", "formulaic"])
def engine(request):
    import statsmodels.formula

    pytest.importorskip(request.param)
    before = statsmodels.formula.options.formula_engine
    statsmodels.formula.options.formula_engine = request.param
    yield request.param
    statsmodels.formula.options.formula_engine = before


def table() -> pd.DataFrame:
    """Public columns, with a gap in age."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(40, 9, N), "region": rng.choice(["s", "n", "w"], N)})
    frame["urban"] = rng.random(N) < 0.5
    frame["visits"] = rng.poisson(2.0, N)
    frame["sex"] = pd.Categorical(rng.choice(["m", "f"], N), categories=["m", "f"])
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame["grade"] = rng.choice(["low", "mid", "high"], N)
    frame["grade"] = frame["grade"].astype(grades)
    frame["big town"] = rng.normal(size=N)
    frame["date"] = pd.Timestamp("2024-01-01")
    frame["same"] = 3.0
    frame["one_text"] = "a"
    frame.loc[3, "age"] = np.nan
    return frame


def answers() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(2)
    return {
        "ill": rng.choice(["no", "yes"], N),
        "job": rng.choice(JOBS, N),
        "level": rng.integers(0, 3, N),
        "told": rng.choice(["b", "a"], N),
        "smoker": rng.random(N) < 0.5,
        "word": rng.choice(["x", "y"], N),
    }


MECHANISMS: dict[str, Any] = {
    "ill": ldp.Warner(epsilon=1.0),
    "job": ldp.KRR(JOBS, 1.0),
    "level": ldp.KRR(3, 1.0),
    "told": ldp.Observed(("b", "a")),
    "smoker": ldp.KRR((False, True), 1.0),
    "word": ldp.ORR(4, 8, epsilon=1.0),
}


def reports(*names: str) -> dict[str, Any]:
    given = answers()
    return {
        name: MECHANISMS[name].privatize(given[name], np.random.default_rng(3)) for name in names
    }


def made(formula: str, *names: str, data: Any = None, **how: Any) -> Any:
    """The arrays of a model."""
    given = table() if data is None else data
    return ldp.regression(formula, given, reports(*names), **how).data


# -- design matrices ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    "right",
    [
        "age + region",
        "age * region + urban",
        "sex:age + region - 1",
        "center(age) + I(age ** 2)",
        "bs(age, df=4) + sex",
        "grade + age",
        "1",
    ],
)
def test_design_is_that_of_statsmodels(engine, right):
    import statsmodels.formula.api as smf

    frame = table()
    found = made(f"ill ~ {right}", "ill")
    # levels, means and knots are those of the rows that are used
    known = frame.dropna() if "age" in right else frame
    theirs = smf.ols(f"visits ~ {right}", known)
    assert list(found.names) == theirs.exog_names
    np.testing.assert_allclose(found.designs[0], theirs.exog, atol=1e-12)
    assert found.formula.index.equals(known.index)
    assert found.n_missing == N - len(known) and found.formula.kept.sum() == len(known)
    assert len(found.response[0]) == len(known)


@pytest.mark.parametrize(
    "right",
    ["job", "job * age + region", "job:level + urban", "C(job):region + np.sqrt(level + 1)"],
)
def test_configurations_are_designs_of_the_answers(engine, right):
    """Each row of a matrix is what the engine makes of a table with that answer."""
    import statsmodels.formula.api as smf

    names = [name for name in ("job", "level", "smoker", "ill") if name in right]
    found = made(f"visits ~ {right}", *names)
    true = table().assign(**answers())
    true["job"] = pd.Categorical(true["job"], categories=list(JOBS))
    true = true.loc[found.formula.index]
    theirs = smf.ols(f"visits ~ {right}", true)
    assert list(found.names) == theirs.exog_names
    at = {own: c for c, own in enumerate(found.configurations)}
    assert len(found.designs) == len(at) == np.prod([len(MECHANISMS[m].labels()) for m in names])
    for row, answer in enumerate(true[names].itertuples(index=False, name=None)):
        np.testing.assert_allclose(found.designs[at[answer]][row], theirs.exog[row], atol=1e-12)


def test_unprotected_predictors_are_public(engine):
    found = made("ill ~ told + age", "ill", "told")
    assert found.names[1] == "told[T.a]" and not found.predictors
    expected = (answers()["told"] == "a")[found.formula.kept]
    np.testing.assert_array_equal(found.designs[0][:, 1], expected)


def test_names_that_are_no_words(engine):
    found = made("ill ~ Q('big town')", "ill")
    np.testing.assert_array_equal(found.designs[0][:, 1], table()["big town"])
    marginal = made("visits ~ Q('big town') + ill", "ill").marginal
    assert marginal is not None and marginal.shape == (N, 2)
    assert not made("Q('big town') ~ ill", "ill").is_categorical


def test_ordered_models_have_no_intercept(engine):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    found = made("job ~ age + region", "job", model="ordered")
    theirs = OrderedModel.from_formula("grade ~ age + region", table())
    assert list(found.names) == theirs.exog_names[: theirs.exog.shape[1]]
    np.testing.assert_allclose(found.designs[0], theirs.exog)
    assert "Intercept" not in found.formula.terms and found.formula.terms["age"].size == 1


def test_functions_and_variables_of_the_caller(engine):
    def halved(x: Any) -> Any:
        return x / 2

    shift = 3.0
    found = ldp.regression("ill ~ I(halved(age) + shift)", table(), reports("ill"), unsafe=True)
    expected = table()["age"].dropna() / 2 + shift
    np.testing.assert_allclose(found.data.designs[0][:, 1], expected)


@pytest.mark.parametrize("kind", ["str", "object", "polars", "arrow", "nullable", "arrow_pandas"])
def test_tables_of_all_kinds_are_one(kind):
    polars: Any = pytest.importorskip("polars")
    frame = table()[["age", "region", "urban", "visits", "sex"]]
    frame = frame.astype({"sex": object, "urban": object})
    frame.loc[7, ["region", "urban"]] = None
    expected = made("visits ~ age + region + urban + sex + ill", "ill", data=frame)
    data: Any = frame
    if kind in ("str", "object"):
        data = frame.astype({"region": kind, "sex": kind})
    elif kind == "polars":
        data = polars.from_pandas(frame)
    elif kind == "arrow":
        data = pa.Table.from_pandas(frame)
    elif kind == "nullable":
        data = frame.convert_dtypes()
    else:
        data = frame.convert_dtypes(dtype_backend="pyarrow")
    found = made("visits ~ age + region + urban + sex + ill", "ill", data=data)
    assert found.names == expected.names and found.n_missing == expected.n_missing == 2
    for ours, theirs in zip(found.designs, expected.designs, strict=True):
        np.testing.assert_array_equal(ours, theirs)


# -- other respondents -------------------------------------------------------------------------
def test_exog_keeps_levels_and_means(engine):
    found = made("ill ~ center(age) + region + sex", "ill")
    new = pd.DataFrame({"age": [20.0, 30.0], "region": ["w", "n"], "sex": ["f", "m"]})
    (X,) = found.formula.exog(new)
    mean = table()["age"].mean()
    expected = {"center(age)": [20 - mean, 30 - mean], "region[T.w]": [1, 0], "sex[T.f]": [1, 0]}
    for name, column in expected.items():
        np.testing.assert_allclose(X[:, found.names.index(name)], column)
    new["sex"] = pd.Categorical(new["sex"])  # with levels of its own, in another order
    np.testing.assert_array_equal(found.formula.exog(new)[0], X)


def test_exog_of_private_predictors(engine):
    found = made("visits ~ job * age + C(level)", "job", "level")
    new = pd.DataFrame({"age": [20.0, np.nan, 30.0]})
    matrices = found.formula.exog(new)
    assert len(matrices) == 9 and all(np.isnan(X[1]).all() for X in matrices)
    given = found.formula.exog(new.assign(job=["cook", "cook", "driver"], level=[2, 0, 0]))
    assert len(given) == 1
    np.testing.assert_array_equal(given[0][0], matrices[5][0])
    np.testing.assert_array_equal(given[0][2], matrices[6][2])
    assert np.isnan(given[0][1]).all()
    for X, design in zip(found.formula.exog(table()), found.designs, strict=True):
        np.testing.assert_array_equal(X[found.formula.kept], design)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (pd.DataFrame({"region": ["n"]}), "'age': no such column"),
        (pd.DataFrame({"age": [1.0], "region": ["mars"]}), "no level that was fitted"),
        (pd.DataFrame({"age": [1.0], "region": ["n"], "job": ["cook"]}), "all private predictors"),
        (pd.DataFrame({"age": [1.0], "region": ["n"], "job": ["king"], "ill": ["no"]}), "category"),
        ({"age": [1.0]}, "DataFrame"),
    ],
)
def test_bad_new_data(new, message):
    found = made("visits ~ job + ill + age + region", "job", "ill")
    with pytest.raises(ldp.InvalidArgument, match=message):
        found.formula.exog(new)


# -- what private predictors depend on ---------------------------------------------------------
@pytest.mark.parametrize(
    ("right", "marginal", "names"),
    [
        ("ill * age + region", None, ["Intercept", "age", "region[T.s]", "region[T.w]"]),
        ("0 + ill:age", None, ["Intercept", "age"]),
        ("I(age * level) + ill", None, ["Intercept", "age"]),
        ("ill * age", "~ 1", ["Intercept"]),
        ("ill", "~ sex + age", ["Intercept", "sex[T.f]", "age"]),
        ("ill + age", "region", ["Intercept", "region[T.s]", "region[T.w]"]),
    ],
)
def test_marginal(engine, right, marginal, names):
    asked = ["ill", *(["level"] if "level" in right else [])]
    found = made(f"visits ~ {right}", *asked, marginal=marginal)
    assert found.marginal is not None
    assert sorted(found.marginal) == sorted(names)
    assert len(found.marginal) == found.formula.kept.sum()
    np.testing.assert_array_equal(
        found.formula.marginal(table())[found.formula.kept], found.marginal
    )


# -- families ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "model", "family"),
    [
        ("ill", None, "logit"),
        ("job", None, "multinomial"),
        ("job", "ordered", "ordered"),
        ("ill", "probit", "probit"),
        ("level", "linear", "linear"),
        ("visits", None, "linear"),
        ("visits", "poisson", "poisson"),
        ("visits", "ordered", "ordered"),
        ("age", None, "linear"),
        ("urban", None, "logit"),
        ("sex", "probit", "probit"),
        ("region", None, "multinomial"),
        ("grade", None, "ordered"),
        ("I((visits > 1) * 1)", None, "logit"),
    ],
)
def test_families(left, model, family):
    private = left in MECHANISMS
    names = [left, "smoker"] if private else ["smoker"]
    found = made(f"{left} ~ smoker", *names, model=model)
    kinds = {link: f"Binary(link='{link}'" for link in ("logit", "probit")} | {"linear": "Normal"}
    assert repr(found.outcome).startswith(kinds.get(family, family.capitalize()))
    assert found.response_name == left
    if private:
        assert family == "linear" or found.response[0].mechanism is MECHANISMS[left]
    elif family in ("linear", "poisson"):
        assert found.response.dtype == np.float64 and found.categories is None
    else:
        assert found.response.dtype == np.int64 and found.categories is not None
        assert len(found.categories) > found.response.max()


def test_scores_of_a_linear_response():
    def scores(name: str, **how: Any) -> list[float]:
        found = made(f"{name} ~ age", name, model="linear", **how).scores
        assert found is not None
        return list(found)

    assert scores("ill") == [0, 1] and scores("level") == [0, 1, 2]
    assert scores("job", scores={"job": [1, 5, 2]}) == [1, 5, 2]


# -- rows --------------------------------------------------------------------------------------
def test_weights_and_offset():
    frame = table().assign(w=2.0, e=0.5)
    frame.loc[5, "e"] = np.nan
    found = made("ill ~ age", "ill", data=frame, weights="w", offset="e")
    assert found.n_missing == 2 and found.weights is not None and found.offset is not None
    assert found.weights.tolist() == [2.0] * (N - 2) and found.offset.tolist() == [0.5] * (N - 2)
    weights = np.arange(1, N + 1)
    found = made("ill ~ age", "ill", freq_weights=weights)
    assert found.counts is not None
    np.testing.assert_array_equal(found.counts, weights[found.formula.kept])


def test_groups_of_reports():
    given = answers()["ill"]
    rng = np.random.default_rng(4)
    groups = [
        ldp.Warner(epsilon=1.0).privatize(given[:20], rng),
        ldp.Observed(("no", "yes")).privatize(given[20:50], rng),
        ldp.Warner(epsilon=2.0).privatize(given[50:], rng),
    ]
    frame = table()
    frame.loc[50:, "age"] = np.nan
    found = ldp.regression("ill ~ age", frame, {"ill": groups}).data
    assert [len(group) for group in found.response] == [19, 30] and found.n_missing == 11
    np.testing.assert_array_equal(found.response[1].y, groups[1].y)
    found = ldp.regression("visits ~ ill", table(), {"ill": groups}).data
    assert [len(group) for group in found.predictors["ill"]] == [20, 30, 10]


def test_candidates_of_open_questions():
    found = made("word ~ age", "word", candidates={"word": ["x", "y", "z"]})
    assert list(found.categories) == ["x", "y", "z"]
    found = made("visits ~ word", "word", candidates={"word": ["x", "y"]})
    assert found.names == ("Intercept", "word[T.y]")
    assert found.candidates == {"word": ["x", "y"]}


# -- models ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("formula", "names", "how", "kind"),
    [
        ("ill ~ age + region", ["ill"], {}, ldp.PrivatizedLogit),
        ("ill ~ age", ["ill"], {"model": "probit"}, ldp.PrivatizedLogit),
        ("job ~ age", ["job"], {}, ldp.PrivatizedMNLogit),
        ("job ~ age", ["job"], {"model": "ordered"}, ldp.PrivatizedOrderedModel),
        ("ill ~ age", ["ill"], {"model": "linear"}, ldp.PrivatizedOLS),
        ("visits ~ ill * age", ["ill"], {}, None),
        ("ill ~ level", ["ill", "level"], {}, None),
    ],
)
def test_models(formula, names, how, kind):
    model = ldp.regression(formula, table(), reports(*names), **how)
    assert kind is None or type(model) is kind
    assert model.endog_names == formula.split()[0]
    assert model.exog_names[-1] in ("age", "level", "region[T.w]", "ill[T.yes]:age")


def test_least_squares_from_a_formula():
    model = ldp.regression(
        "job ~ age + region", table(), reports("job"), "linear", scores={"job": [1, 2, 3]}
    )
    assert model.data.n_missing == 1
    found = model.fit()
    new = pd.DataFrame({"age": [30.0], "region": ["s"]})
    expected = found.params["Intercept"] + 30 * found.params["age"] + found.params["region[T.s]"]
    assert found.predict(new)[0] == pytest.approx(expected)


# -- bad input ---------------------------------------------------------------------------------
COUNTED = ldp.Warner(epsilon=1.0).counts([30, 30])

BAD: list[tuple[str, tuple[str, ...], dict[str, Any], str]] = [
    ("ill ~ agee", ("ill",), {}, "names 'agee', but no such column.*did you mean 'age'"),
    ("ill ~ np.log(agee)", ("ill",), {}, "did you mean 'age'"),
    ("illl ~ ill", ("ill",), {}, "names 'illl'.*did you mean 'ill'"),
    ("ill", ("ill",), {}, "has no ~"),
    ("~ ill", ("ill",), {}, "no response on the left"),
    ("ill ~", ("ill",), {}, "nothing on the right"),
    ("ill ~ age ~ sex", ("ill",), {}, "more than one ~"),
    ("ill ~ age +", ("ill",), {}, "cannot use it"),
    ("ill ~ (age", ("ill",), {}, "cannot use it"),
    ("ill ~ 0", ("ill",), {}, "no column on the right"),
    ("ill + job ~ age", ("ill", "job"), {}, "one response on the left"),
    ("ill:age ~ sex", ("ill",), {}, "one response on the left"),
    ("np.log(level) ~ age", ("level",), {}, "put the question alone on the left"),
    ("C(ill) ~ age", ("ill",), {}, "put the question alone on the left"),
    ("ill ~ ill + age", ("ill",), {}, "on both sides"),
    ("age ~ age + ill", ("ill",), {}, "on both sides"),
    ("visits ~ age", ("ill",), {}, "names no question"),
    ("visits ~ center(level)", ("level",), {}, "learns from the answers to 'level'"),
    ("ill ~ np.log(age - 40)", ("ill",), {}, "missing values|is nan in the row|leave such rows"),
    ("ill ~ np.log(visits)", ("ill",), {}, "is -inf in the row"),
    (
        "ill ~ age.nothing",
        ("ill",),
        {},
        "takes age.nothing: .* column .*unsafe=True",
    ),
    ("ill ~ age.nothing", ("ill",), {"unsafe": True}, "cannot use it"),
    ("job ~ 0 + age", ("job",), {"model": "ordered"}, "take 0 \\+ or - 1 away"),
    ("job ~ 1", ("job",), {"model": "ordered"}, "thresholds alone"),
    ("ill ~ age", ("ill",), {"model": "logistic"}, "did you mean 'logit'"),
    ("ill ~ age", ("ill",), {"model": 3}, "must be one of"),
    ("job ~ age", ("job",), {"model": "logit"}, "3 categories.*use 'multinomial'"),
    ("region ~ ill", ("ill",), {"model": "probit"}, "3 categories"),
    ("ill ~ age", ("ill",), {"model": "poisson"}, "needs public counts: use 'logit'"),
    ("region ~ ill", ("ill",), {"model": "linear"}, "make it a column of numbers"),
    ("age ~ ill", ("ill",), {"model": "poisson"}, "whole numbers.*use 'linear'"),
    ("I(-visits) ~ ill", ("ill",), {"model": "poisson"}, "none of them negative"),
    ("age ~ ill", ("ill",), {"model": "logit"}, "other numbers than 0 and 1"),
    ("age ~ ill", ("ill",), {"model": "ordered"}, "make bands"),
    ("same ~ ill", ("ill",), {}, "in all rows: there is nothing to explain"),
    ("one_text ~ ill", ("ill",), {}, "in all rows"),
    ("date ~ ill", ("ill",), {}, "a response is of numbers"),
    ("job ~ age", ("job",), {"model": "linear"}, "pass a score for each"),
    ("job ~ age", ("job",), {"scores": {"job": [1, 2, 3]}}, "only of model='linear'"),
    ("visits ~ job", ("job",), {"scores": {"job": {"nurse": 1}}}, "cook"),
    ("visits ~ job", ("job",), {"scores": {"job": [1, 1, 1]}}, "all the same"),
    ("visits ~ job", ("job",), {"scores": [1, 2, 3]}, "must be a mapping from questions"),
    ("visits ~ job", ("job",), {"scores": {"jobs": [1, 2, 3]}}, "did you mean 'job'"),
    ("visits ~ job", ("job",), {"marginal": "job"}, "of public columns alone"),
    ("visits ~ job", ("job",), {"marginal": "visits"}, "has the response"),
    ("visits ~ job", ("job",), {"marginal": "y ~ age"}, "has a left side"),
    ("visits ~ job", ("job",), {"marginal": "0 + age"}, "has no intercept"),
    ("visits ~ job", ("job",), {"marginal": "agee"}, "did you mean 'age'"),
    ("visits ~ job", ("job",), {"marginal": ["age"]}, "must be text"),
    ("visits ~ job", ("job",), {"marginal": " "}, "is empty"),
    ("ill ~ age", ("ill",), {"marginal": "1"}, "leave it out"),
    ("ill ~ age", ("ill", "job"), {}, "'job': is not in the formula"),
    ("word ~ age", ("word",), {}, "takes any text"),
    ("ill ~ age", ("ill",), {"candidates": {"ill": ["no", "yes"]}}, "has the categories of"),
    ("ill ~ age", ("ill",), {"candidates": ["no", "yes"]}, "must be a mapping"),
    ("ill ~ age", ("ill",), {"weights": "ww"}, "no column of data"),
    ("ill ~ age", ("ill",), {"weights": [-1.0] * N}, "must be positive"),
    ("ill ~ age", ("ill",), {"weights": [1.0]}, "must be 60 numbers"),
    ("ill ~ age", ("ill",), {"weights": "region"}, "must be 60 numbers"),
    ("ill ~ age", ("ill",), {"freq_weights": [0] * N}, "must be positive"),
    ("ill ~ age", ("ill",), {"offset": [np.inf] * N}, "finite"),
]


@pytest.mark.parametrize(("formula", "names", "how", "message"), BAD)
def test_bad_input(formula, names, how, message):
    with pytest.raises(ldp.InvalidArgument, match=message):
        made(formula, *names, **how)


@pytest.mark.parametrize(
    ("data", "given", "message"),
    [
        (table(), {"ill": reports("ill")["ill"][:9]}, "one for each row"),
        (table().assign(ill="no"), reports("ill"), "is a column of data too"),
        (table(), {"ill": COUNTED}, "counts have no rows"),
        (table(), {"ill": []}, "must be a mapping"),
        (table(), {}, "must be a mapping"),
        (table(), reports("ill")["ill"], "must be a mapping"),
        (table(), {3: reports("ill")["ill"]}, "a key that is no text"),
        (table().assign(age=np.nan), reports("ill"), "age: 60"),
        ({"age": [1.0]}, reports("ill"), r"pass pandas.DataFrame\(it\)"),
        (table()["age"], reports("ill"), "must be a DataFrame"),
        (pd.concat([table()[["age"]]] * 2, axis=1), reports("ill"), "name of several columns"),
        (
            table(),
            {"ill": [reports("ill")["ill"][:30], reports("job")["job"][30:]]},
            "the same in the same order",
        ),
    ],
)
def test_bad_tables_and_reports(data, given, message):
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.regression("ill ~ age", data, given)


def test_too_many_configurations():
    wide = ldp.KRR(200, 1.0).privatize(np.zeros(N, int), np.random.default_rng(0))
    with pytest.raises(ldp.InvalidArgument, match="fewer than the 200 combinations"):
        ldp.regression("visits ~ wide", table(), {"wide": wide})
    with pytest.raises(ldp.errors.NotAvailable, match="40,000 combinations"):
        ldp.regression("visits ~ a + b", table(), {"a": wide, "b": wide})


def test_lazy_frames_are_refused():
    polars: Any = pytest.importorskip("polars")
    with pytest.raises(ldp.InvalidArgument, match="collect"):
        ldp.regression("ill ~ age", polars.DataFrame({"age": [1.0]}).lazy(), reports("ill"))


# What formulas may run: usual ones run as they did, and what is no arithmetic never does.

USUAL = [
    "age",
    "age + region",
    "0 + region",
    "age * region",
    "age:region + sex",
    "(age + visits) ** 2",
    "age / region",
    "I(age ** 2)",
    "I(age / 10**3)",
    "I(age * 10**-3)",
    "np.log(age)",
    "np.log1p(visits) + np.sqrt(age)",
    "np.exp(-age / 100)",
    "np.abs(age - 40)",
    "np.where(region == 'n', 1, 0)",
    "np.clip(age, 20, 60)",
    "np.minimum(age, 50) + np.maximum(age, 30)",
    "np.round(age, 1)",
    "np.sin(2 * np.pi * age / 365)",
    "np.isin(region, ['n', 's'])",
    "I((age - np.mean(age)) / np.std(age))",
    "I((age - age.mean()) / age.std())",
    "I((age > 40).astype(int))",
    "I(age > 40)",
    "I((age > 30) & (age < 50) | (visits != 0))",
    "I(visits % 2) + I(visits // 2)",
    "abs(visits - 2)",
    "log(age) + exp(age / 100)",
    "C(region)",
    "C(region, Sum)",
    "C(visits, Poly)",
    "C(region, Treatment('s'))",
    "C(region, Treatment(reference='s'))",
    "C(region, levels=['s', 'n', 'w'])",
    "C(region, levels=order)",
    "C(region, Helmert) + C(sex, Diff)",
    "center(age) + standardize(visits)",
    "scale(age)",
    "bs(age, df=4)",
    "bs(age, knots=knots, degree=2)",
    "cr(age, df=3)",
    "cc(age, df=3)",
    "Q('big town')",
    "I(Q('big town') + shift)",
    "np.log(age + shift) + vector",
]

ENGINES_OWN = {  # what one engine alone has
    "patsy": ["te(cr(age, df=3), cr(visits, df=3))"],
    "formulaic": ["poly(age, 2)", "cs(age, df=4)", "C(region, contr.treatment('s'))"],
}

HOSTILE = [
    "I(open('{x}', 'w').write('a') and age)",
    "open('{x}', 'w').write('a') + age",
    "__import__('os').system('touch {x}')",
    "I(__import__('os').system('touch {x}') + age)",
    "os.system('touch {x}')",
    "I(age + os.system('touch {x}'))",
    "eval('open(\\'{x}\\', \\'w\\')') + age",
    "exec('open(\\'{x}\\', \\'w\\')') + age",
    "compile('1', '{x}', 'eval') + age",
    "getattr(np, 'save')('{x}', age)",
    "getattr(getattr(np, 'lib'), 'format') + age",
    "'{{0.__class__}}'.format(age)",
    "I(age + len('{{0.__class__.__mro__}}'.format(age)))",
    'f\'{{open("{x}", "w")}}\' + age',
    "np.save('{x}', age)",
    "np.load('{x}')",
    "np.loadtxt('{x}')",
    "np.fromfile('{x}')",
    "np.memmap('{x}', shape=60, mode='w+')",
    "np.lib.format.open_memmap('{x}', 'w+', shape=60)",
    "np.vectorize(touch)(age)",
    "np.frompyfunc(touch, 1, 1)(age)",
    "np.apply_along_axis(touch, 0, age)",
    "np.log(age, age)",
    "np.log(age, out=age)",
    "np.add.at(age, 0, 1)",
    "np.add.reduce(age, out=vector)",
    "age.to_csv('{x}')",
    "age.apply(touch)",
    "age.pipe(touch)",
    "age.map(touch) + visits",
    "age.__class__.__mro__[1].__subclasses__()",
    "I([touch(v) for v in age])",
    "I((lambda: touch(1))())",
    "I((y := touch(1)) + age)",
    "I(touch(1) if True else age)",
    "I(`touch(1)` + age)",
    "I('`' + touch('`'))",
    "I(len('`') + touch(1) + len('`'))",
    "Q('touch')",
    "Q('__builtins__')",
    "Q('np').save('{x}', age)",
    "Q(touch('age'))",
    "Q(name=touch('age'))",
    "C(region, levels=['\"] + [touch(1)] + [\"'])",
    'C(region, levels=[\'"], __FORMULAIC_CONTEXT__["touch"](1), ["\'])',
    "center(age, _state=touch(1))",
    "scale(age, **touch(1))",
    "bs(age, df=touch(1))",
    "C(region, touch)",
    "C(region, touch(1))",
    "bs(age, knots=[*touch(1)])",
    "touch",
    "touch(age)",
    "log(age) + mine.touch(1)",
    "math.log(touch(1)) + age",
    "sqrt(age)",
    "__builtins__['open']('{x}', 'w')",
    "print(age, file=touch(1))",
    "print(age)",
    "breakpoint()",
    "exit()",
    "I(9**9**9**9 + age)",
    "I('a' * 10 + age)",
    "I(age + ('%s' % age))",
    "I.__globals__['touch'](1)",
    "I(np.__loader__ + age)",
    "np.random.seed(1) + age",
    "np.seterr(all='ignore') + age",
    "\uff4f\uff50\uff45\uff4e('{x}', 'w') + age",
    f"I({'-' * 900}touch(1))",
    f"I({'-' * 90}(age and age))",
    "I(ldp.Survey(age) + age)",
]


@pytest.fixture(params=["patsy", "formulaic"])
def engine_safety(request, monkeypatch):
    import statsmodels.formula

    options = getattr(statsmodels.formula, "options", None)  # before 0.15 there is patsy alone
    if options is None and request.param != "patsy":
        pytest.skip("statsmodels knows patsy alone")
    pytest.importorskip(request.param)
    if options is not None:
        monkeypatch.setattr(options, "_formula_engine", request.param)
    return request.param


def table_safety() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.uniform(20, 70, N), "region": rng.choice(["s", "n", "w"], N)})
    frame["visits"] = rng.permutation(np.repeat([0.0, 1, 2, 3, 4, 5], 10))
    frame["sex"] = rng.choice(["m", "f"], N)
    frame["big town"] = rng.normal(size=N)
    return frame


def reports_safety(data: pd.DataFrame) -> dict[str, ldp.Reports]:
    rng = np.random.default_rng(2)
    return {"ill": ldp.Warner(epsilon=2.0).privatize(rng.choice(["no", "yes"], len(data)), rng)}


@pytest.mark.parametrize("right", [*USUAL, *chain(*ENGINES_OWN.values())])
def test_usual_formulas_run_as_unsafe_ones_do(engine_safety, right):
    of_one = [name for name, own in ENGINES_OWN.items() if right in own]
    if of_one and of_one != [engine_safety]:
        pytest.skip(f"{engine_safety} has no such function")
    data, vector = table_safety(), np.arange(N)
    order, knots, shift = ["s", "n", "w"], [35.0, 50.0], 2.0
    log, exp = np.log, np.exp
    assert [order, knots, shift, vector, log, exp]  # which the formulas name
    how = f"ill ~ 0 + {right}", data, reports_safety(data)
    expected = ldp.regression(*how, unsafe=True).data
    found = ldp.regression(*how).data
    assert found.names == expected.names
    np.testing.assert_array_equal(found.designs[0], expected.designs[0])
    np.testing.assert_array_equal(found.formula.exog(data)[0], expected.formula.exog(data)[0])


@pytest.mark.parametrize("place", ["right", "left", "marginal", "survey"])
@pytest.mark.parametrize("formula", HOSTILE, ids=lambda text: text[:60])
def test_hostile_formulas_do_not_run(engine_safety, formula, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, vector, sqrt = table_safety(), np.arange(float(N)), lambda value: ran.append(value)
    before, ran = data.copy(), []

    def touch(*given: Any) -> Any:
        ran.append(given)
        return 1

    class mine:
        pass

    mine.touch = touch
    assert vector is not None and sqrt and mine and os and math
    formula = formula.format(x="made")
    answers = reports_safety(data)
    with pytest.raises(ldp.InvalidArgument) as found:
        if place == "survey":
            ldp.Survey(
                data.assign(ill=["yes", "no"] * 30), {"ill": ldp.Warner(epsilon=1.0)}
            ).regression(f"ill ~ {formula}")
        elif place == "marginal":
            ldp.regression("visits ~ ill + age", data, answers, marginal=formula)
        else:
            whole = f"ill ~ {formula}" if place == "right" else f"{formula} ~ ill"
            ldp.regression(whole, data, answers)
    assert "traceback" not in str(found.value).lower()
    assert not ran and not any(tmp_path.iterdir())
    pd.testing.assert_frame_equal(data, before)
    assert (vector == np.arange(N)).all()


def test_a_refusal_names_the_factor_the_function_and_both_remedies():
    data = table_safety()
    with pytest.raises(ldp.InvalidArgument) as found:
        ldp.regression("ill ~ age + I(open('x').read() + age)", data, reports_safety(data))
    words = str(found.value)
    assert """I(open('x').read() + age)""" in words and " calls open()" in words
    assert "column of the table" in words and "unsafe=True" in words


@pytest.mark.parametrize("engine_safety", ["patsy"], indirect=True)
def test_a_column_whose_name_is_code_is_no_permission(engine_safety, tmp_path):
    code = f"open({str(tmp_path / 'x')!r}, 'w')"
    data = table_safety().assign(**{code: 1.0})
    with pytest.raises(ldp.InvalidArgument, match="calls open"):
        ldp.regression(f"ill ~ {code}", data, reports_safety(data))
    assert not any(tmp_path.iterdir())


def test_a_column_whose_name_holds_quotes_is_no_way_in(engine_safety, tmp_path):
    """Formulaic puts text of calls into code of its own."""
    name = f'a"] + [open({str(tmp_path / "x")!r}, chr(119))] + ["'
    data = table_safety().assign(**{name: 1.0})
    for formula in (
        f"visits ~ ill * Q({name!r})",
        f"visits ~ ill:`{name}`",
        f"visits ~ ill + `{name}`",
    ):
        with contextlib.suppress(ldp.LDPError):
            ldp.regression(formula, data, reports_safety(data))
    assert not any(tmp_path.iterdir())


def test_unsafe_must_be_a_truth_value():
    data = table_safety()
    with pytest.raises(ldp.InvalidArgument, match="unsafe='no'"):
        ldp.regression("ill ~ age", data, reports_safety(data), unsafe="no")


@pytest.mark.parametrize(
    "right",
    [
        "bs(age, df=4) + C(city)",
        "center(age) * C(city, Sum)",
        "np.log(age) + city:age",
        "C(city, Treatment('s')) + I(age**2)",
        "poly(age, 3)",
        "C(city, Helmert) + scale(age)",
    ],
)
def test_a_formula_is_kept_with_what_it_learned(engine, right):
    """Pickles, deep copies and documents predict for new rows as the regression itself."""
    if engine == "patsy" and "poly" in right:
        pytest.skip("patsy has no poly()")
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"age": rng.uniform(18, 80, 400), "city": rng.choice(["n", "s"], 400)})
    reports = {"ill": ldp.Warner(epsilon=3.0).privatize(rng.choice(["no", "yes"], 400), rng)}
    fit = ldp.regression(f"ill ~ {right}", people, reports).fit()
    rows = pd.DataFrame({"age": [20.5, 41.0, 77.0], "city": ["s", "n", "s"]})
    expected = fit.predict(rows)
    text = fit.to_json()
    for again in (
        type(fit).from_json(text),
        pickle.loads(pickle.dumps(fit)),
        copy.deepcopy(fit),
        type(fit).from_json(type(fit).from_json(text).to_json()),
    ):
        np.testing.assert_allclose(again.predict(rows), expected, rtol=1e-12)
        assert str(again.summary()) == str(fit.summary())
    if "city" in right:
        with pytest.raises(ldp.InvalidArgument, match="x"):  # a level that was not there
            type(fit).from_json(text).predict(rows.assign(city="x"))


def test_a_document_of_a_formula_runs_no_code_of_its_own(engine):
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"age": rng.uniform(18, 80, 200)})
    reports = {"ill": ldp.Warner(epsilon=3.0).privatize(rng.choice(["no", "yes"], 200), rng)}
    document = ldp.regression("ill ~ center(age)", people, reports).fit().to_dict()
    text = json.dumps(document).replace("center(age)", "__import__('os').getcwd()")
    changed = json.loads(text)
    changed.pop("fingerprint")
    with pytest.raises(ldp.InvalidArgument):
        ldp.RegressionResults.from_dict(changed)
