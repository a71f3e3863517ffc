"""Effects of variables: comparisons and slopes through the formula, and grids of predictions."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from models.regression.examples import JOBS, N, answers, fitted, numerical, reports, table
from simulate import near

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable

# -- without noise: published numbers ----------------------------------------------------------


@cache
def cars() -> pd.DataFrame:
    """Motor Trend's road tests of 1974, R's `mtcars`."""
    text = """
    21 6 110 2.62 1|21 6 110 2.875 1|22.8 4 93 2.32 1|21.4 6 110 3.215 0|18.7 8 175 3.44 0
    |18.1 6 105 3.46 0|14.3 8 245 3.57 0|24.4 4 62 3.19 0|22.8 4 95 3.15 0|19.2 6 123 3.44 0
    |17.8 6 123 3.44 0|16.4 8 180 4.07 0|17.3 8 180 3.73 0|15.2 8 180 3.78 0|10.4 8 205 5.25 0
    |10.4 8 215 5.424 0|14.7 8 230 5.345 0|32.4 4 66 2.2 1|30.4 4 52 1.615 1|33.9 4 65 1.835 1
    |21.5 4 97 2.465 0|15.5 8 150 3.52 0|15.2 8 150 3.435 0|13.3 8 245 3.84 0|19.2 8 175 3.845 0
    |27.3 4 66 1.935 1|26 4 91 2.14 1|30.4 4 113 1.513 1|15.8 8 264 3.17 1|19.7 6 175 2.77 1
    |15 8 335 3.57 1|21.4 4 109 2.78 1"""
    rows = [list(map(float, row.split())) for row in text.split("|")]
    return pd.DataFrame(rows, columns=["mpg", "cyl", "hp", "wt", "am"])


def of_cars(formula: str, **how: Any) -> Any:
    """A regression of the answers themselves."""
    name = formula.partition(" ")[0]
    data = cars().assign(am=cars()["am"].astype(int))
    seen = ldp.Observed(tuple(sorted(set(data[name])))).parse(name, data[name])
    return ldp.regression(formula, data.drop(columns=name), {name: seen}, **how)


# Stata's `margins, dydx(*)`, in the vignette "Comparison with Stata's 'margins' command" of T.
# Leeper's package margins for R: estimate and standard error
STATA: list[tuple[str, dict[str, Any], dict[str, tuple[float, float]]]] = [
    (
        "am ~ cyl + hp + wt",
        {},
        {
            "cyl": (0.0214527, 0.0469746),
            "hp": (0.0014339, 0.0006182),
            "wt": (-0.4025475, 0.1154098),
        },
    ),
    (
        "mpg ~ cyl + hp * wt",
        {"model": "linear"},
        {
            "cyl": (-0.3652391, 0.5086204),
            "hp": (-0.0252715, 0.0105097),
            "wt": (-3.837584, 0.6730996),
        },
    ),
    (
        "mpg ~ C(cyl) + hp + wt",
        {"model": "linear"},
        {
            "cyl: 6.0 - 4.0": (-3.359024, 1.40167),
            "cyl: 8.0 - 4.0": (-3.185884, 2.170476),
            "hp": (-0.0231198, 0.0119522),
            "wt": (-3.181404, 0.7196011),
        },
    ),
    (
        "mpg ~ cyl + hp + I(hp ** 2) + wt",
        {"model": "linear"},
        {
            "cyl": (-0.3696041, 0.6163571),
            "hp": (-0.0429018, 0.0178353),
            "wt": (-2.873553, 0.7301251),
        },
    ),
]


@pytest.mark.parametrize(("formula", "how", "published"), STATA)
def test_margins_of_stata(formula, how, published):
    model = of_cars(formula, **how)
    results = model.fit("nonrobust") if how.get("model") == "linear" else model.fit()
    frames = [results.slopes().frame]
    if "C(" in formula:
        frames.append(results.comparisons("cyl").frame)
    found = pd.concat([one.iloc[:, :2].set_axis(["estimate", "se"], axis=1) for one in frames])
    expected = pd.DataFrame(published, index=["estimate", "se"]).T
    np.testing.assert_allclose(found.loc[expected.index], expected, atol=1e-6, rtol=1e-5)
    if "I(" in formula:  # by the t law of 27 degrees of freedom
        ends = results.slopes("hp").conf_int().to_numpy()
        np.testing.assert_allclose(ends, [[-0.0794969, -0.0063066]], atol=1e-6)


@cache
def affairs() -> pd.DataFrame:
    """Every fourth woman of R. Fair's survey."""
    data = sm.datasets.fair.load_pandas().data.iloc[::4].reset_index(drop=True)
    data["rel"] = data["religious"].astype(int).astype(str)
    data["kids"] = np.where(data["children"] > 0, "yes", "no")
    data["level"] = np.digitize(data["rate_marriage"], [2.5, 4.5])
    return data


@cache
def of_affairs(engine: str = "patsy") -> Any:
    import statsmodels.formula

    data = affairs()
    seen = ldp.Observed((0, 1)).parse("affair", (data["affairs"] > 0).astype(int))
    formula = "affair ~ age + I(age ** 2) + C(rel) + np.log(yrs_married + 1) * kids"
    before = statsmodels.formula.options.formula_engine
    statsmodels.formula.options.formula_engine = engine
    try:
        return ldp.regression(formula, data, {"affair": seen}).fit()
    finally:
        statsmodels.formula.options.formula_engine = before


@cache
def of_marriages() -> Any:
    seen = ldp.Observed((0, 1, 2)).parse("level", affairs()["level"])
    data = affairs().drop(columns="level")
    return ldp.regression("level ~ age + I(age ** 2) + kids", data, {"level": seen}).fit()


# marginaleffects 0.6.0 for Python of the same logit by statsmodels: avg_comparisons of
# {"age": [25, 40], "kids": "reference"}, estimates and standard errors
COMPARED = {
    "difference": [(-0.18646815, 0.03798888), (0.02679206, 0.03854819)],
    "ratio": [(0.52492997, 0.07667593), (1.08406428, 0.12943437)],
    "lift": [(-0.47507003, 0.07667593), (0.08406428, 0.12943437)],
    "odds_ratio": [(-0.91218415, 0.19973153), (0.12083677, 0.1763409)],  # their logarithms
}


@pytest.mark.parametrize("comparison", COMPARED)
def test_comparisons_of_marginaleffects(comparison):
    found = of_affairs().comparisons({"age": [25, 40], "kids": None}, comparison=comparison)
    estimate, se = found.params.to_numpy(), found.bse.to_numpy()
    sign = "-" if comparison == "difference" else "/"
    assert found.index.tolist() == [f"age: 40 {sign} 25", f"kids: yes {sign} no"]
    if comparison == "odds_ratio":
        estimate, se = np.log(estimate), se / estimate
    np.testing.assert_allclose(np.column_stack([estimate, se]), COMPARED[comparison], atol=1e-6)
    z = found.params / found.bse
    if comparison != "difference":  # made on the log scale, lifts and ratios alike
        ratio = found.params + (comparison == "lift")
        z = np.log(ratio) / (found.bse / ratio)
        ends = np.log(found.conf_int() + (comparison == "lift"))
        np.testing.assert_allclose(ends.sum(axis=1) / 2.0, np.log(ratio))
    np.testing.assert_allclose(found.tvalues, z)
    np.testing.assert_allclose(found.pvalues, 2.0 * sm.stats.stattools.stats.norm.sf(np.abs(z)))


def test_slopes_and_predictions_of_marginaleffects():
    # estimates to seven digits; its standard errors of slopes are numerical, to three
    results = of_affairs()
    expected = {"dydx": -0.010874, "eyex": -1.14084, "eydx": -0.032913, "dyex": -0.377523}
    for slope, value in expected.items():
        assert results.slopes("age", slope=slope).params["age"] == pytest.approx(value, abs=1e-6)
    found = results.slopes(["age", "yrs_married"], by="kids").frame
    rows = [[-0.004108, 0.00375], [0.049914, 0.00752], [-0.014868, 0.00366], [0.021702, 0.004225]]
    np.testing.assert_allclose(found.iloc[:, 0], np.array(rows)[:, 0], atol=1e-6)
    np.testing.assert_allclose(found["se"], np.array(rows)[:, 1], rtol=0.01)
    pairs = results.comparisons("rel", pairs=True).frame
    expected = [-0.071505, -0.146754, -0.298624, -0.075249, -0.227119, -0.151869]
    np.testing.assert_allclose(pairs["difference"], expected, atol=1e-6)
    errors = [0.036116, 0.035438, 0.040737, 0.026211, 0.033020, 0.032006]
    np.testing.assert_allclose(pairs["se"], errors, atol=1e-6)
    grouped = results.predictions(by=["kids", "rel"]).frame
    assert grouped.index.names == ["kids", "rel"]
    expected = [0.293155, 0.239878, 0.171599, 0.072014, 0.527160, 0.439850, 0.356355, 0.170763]
    np.testing.assert_allclose(grouped["mean"], expected, atol=1e-6)
    errors = [0.029994, 0.021710, 0.018137, 0.016576, 0.035000, 0.023442, 0.021612, 0.032776]
    np.testing.assert_allclose(grouped["se"], errors, atol=1e-6)


def test_categories_have_an_effect_each():
    found = of_marriages().comparisons("kids").frame
    expected = [(0.04600735, 0.01409681), (0.08055605, 0.03019348), (-0.1265634, 0.0301635)]
    np.testing.assert_allclose(found.iloc[:, :2], expected, atol=1e-6)
    slopes = of_marriages().slopes("age", by="kids").frame["dydx"]
    expected = [0.00096651, 0.00257865, -0.00354516, 0.00201406, -0.00217396, 0.00015989]
    np.testing.assert_allclose(slopes, expected, atol=1e-6)
    np.testing.assert_allclose(slopes.groupby("kids").sum(), 0.0, atol=1e-12)


def test_engines_agree():
    pytest.importorskip("formulaic")
    for ask in (
        lambda results: results.slopes(["age", "yrs_married"], by="kids"),
        lambda results: results.comparisons(["rel", "age"], at={"kids": ["no", "yes"]}),
    ):
        one, other = (ask(of_affairs(engine)) for engine in ("patsy", "formulaic"))
        pd.testing.assert_frame_equal(one.frame, other.frame, rtol=1e-6)


# -- covariates, not columns -------------------------------------------------------------------


def test_columns_that_stand_alone_have_the_effects_of_statsmodels():
    data = affairs()
    formula = "affair ~ age + educ + C(rel)"
    seen = (data["affairs"] > 0).astype(int)
    theirs = smf.logit(formula, data.assign(affair=seen)).fit(disp=0, tol=1e-12)
    reports = ldp.Observed((0, 1)).parse("affair", seen)
    ours = ldp.regression(formula, data, {"affair": reports}).fit()
    margins = theirs.get_margeff()
    np.testing.assert_allclose(ours.get_margeff().margeff, margins.margeff, rtol=1e-7)
    found = ours.slopes()
    np.testing.assert_allclose(found.params, margins.margeff[-2:], rtol=1e-7)
    np.testing.assert_allclose(found.bse, margins.margeff_se[-2:], rtol=1e-7)
    new = {"age": [20.0, 50.0], "educ": [12.0, 16.0], "rel": ["1", "3"]}
    predicted = theirs.get_prediction(pd.DataFrame(new)).summary_frame()
    one = ours.predictions(newdata=new).frame
    np.testing.assert_allclose(one[["mean", "se"]], predicted.iloc[:, :2], rtol=1e-6)


MIXED = (
    "age + I(age ** 2)",
    "age * city",
    "bs(age, df=4)",
    "age:city",
    "C(city, Sum)",
    "I(age * kids)",
)


@pytest.mark.parametrize("right", MIXED)
def test_columns_that_share_a_covariate_have_no_effects_of_their_own(right):
    results = ldp.regression(f"ill ~ {right}", table(), {"ill": reports("ill")}).fit()
    name = "city" if "Sum" in right else "age"
    with pytest.raises(NotAvailable, match=rf"use slopes\('{name}'\) or comparisons\('{name}'\)"):
        results.get_margeff()
    if "bs" in right:
        assert results.slopes("age").frame["se"].gt(0.0).all()
        with pytest.raises(InvalidArgument, match=r"covariate='age'.*a spline ends where"):
            results.comparisons("age")
        return
    frame = results.comparisons(name).frame
    moved = table().assign(age=table()["age"] + 1.0)
    if name == "city":
        gaps = [results.predict(table().assign(city=city)).mean() for city in "abc"]
        np.testing.assert_allclose(frame["difference"], np.array(gaps[1:]) - gaps[0])
    else:
        gap = (results.predict(moved) - results.predict()).mean()
        assert frame["difference"].tolist() == pytest.approx([gap])


FORMULAS = {
    "splines": "ill ~ bs(age, df=4) + city * np.sqrt(kids + 1)",
    "logarithms": "ill ~ np.log(age + 4) + center(kids):city + C(city, Treatment('b'))",
}


@cache
def through(what: str) -> Any:
    if what in FORMULAS:
        return ldp.regression(FORMULAS[what], table(), {"ill": reports("ill")}).fit()
    if what == "numeric private":
        scores = {"use": {"no": 0.0, "u": 1.0, "v": 3.0}}
        both = {"ill": reports("ill"), "use": reports("use")}
        formula = "ill ~ age * use + I(use ** 2) + city"
        return ldp.regression(formula, table(), both, scores=scores).fit()
    if what == "least squares":
        scores = {"job": dict(zip(JOBS, range(4), strict=True))}
        jobs = {"job": reports("job")}
        formula = "job ~ age * kids + I(age ** 2)"
        return ldp.regression(formula, table(), jobs, model="linear", scores=scores).fit()
    return fitted(what)


@pytest.mark.parametrize("what", ["splines", "logarithms", "numeric private", "least squares"])
def test_slopes_are_the_limits_of_comparisons(what):
    results, inside = through(what), table().assign(age=table()["age"].clip(-1.5, 1.5))
    asked = ["age", "use"] if "private" in what else ["age", "kids"]
    h = 1e-4
    for name in asked:
        both = [
            results.comparisons({name: way * h}, newdata=inside, by="city").frame
            for way in (1.0, -1.0)
        ]
        slope = results.slopes(name, newdata=inside, by="city").frame["dydx"].to_numpy()
        central = (both[0]["difference"] - both[1]["difference"].to_numpy()) / (2.0 * h)
        np.testing.assert_allclose(slope, central, rtol=1e-5, atol=1e-8)


DELTA: list[tuple[str, str, dict[str, Any]]] = [
    ("splines", "slopes", {"by": "city"}),
    ("logarithms", "slopes", {"variables": "age", "slope": "eyex", "at": {"city": ["a", "b"]}}),
    ("splines", "comparisons", {"variables": "city", "comparison": "odds_ratio", "pairs": True}),
    ("private", "comparisons", {"by": "use", "variables": "city", "comparison": "ratio"}),
    ("private", "comparisons", {"variables": ["use", "age"], "by": ["use", "city"]}),
    ("private", "slopes", {"variables": "age", "at": {"use": ["no", "v"], "city": ["a", "c"]}}),
    ("numeric private", "slopes", {"variables": ["age", "use"], "slope": "eydx"}),
    ("multinomial", "comparisons", {"by": "kids", "comparison": "lift"}),
    ("ordered", "slopes", {"at": {"age": [-1.0, 1.0]}}),
    ("poisson", "comparisons", {"comparison": "ratio", "newdata": {"age": [0.0, 1.0]}}),
    ("arrays", "slopes", {"by": "kids"}),
]


@pytest.mark.parametrize(("what", "ask", "how"), DELTA, ids=str)
def test_standard_errors_by_hand(what, ask, how):
    results = through(what)
    found = getattr(results, ask)(**how)
    G = numerical(results, lambda moved: getattr(moved, ask)(**how).params.to_numpy())
    V = G @ results.covariance_all @ G.T
    np.testing.assert_allclose(found.cov_params(), V, rtol=2e-4, atol=1e-7 * np.abs(V).max())
    assert found.frame["se"].gt(0.0).all()


def test_grids_are_averages_of_predictions():
    results, t = fitted("private"), table()
    found = results.predictions(at={"age": [-1.0, 1.0], "city": ["c", "a"]}, by=t["kids"])
    assert found.index.names == ["kids", "age", "city"] and len(found.groups) == 4 * 2 * 2
    for kids, age, city in ((0.0, -1.0, "c"), (3.0, 1.0, "a")):
        some = t["kids"] == kids
        # the law of the private predictor is that of the respondents as they are
        each = [
            results.predict(t.assign(age=age, city=city, use=use))[some] for use in ("no", "u", "v")
        ]
        Z = results.law.data.formula.marginal(t[some])
        law = np.exp(np.column_stack([np.zeros(len(Z)), Z @ results.marginal_params.to_numpy()]))
        mean = ((law / law.sum(axis=1, keepdims=True)) * np.array(each).T).sum(axis=1).mean()
        assert found.frame["mean"][kids, age, city] == pytest.approx(mean)
    pair = found.contrasts((0.0, -1.0, "c"), "odds_ratio")
    read = type(found).from_json(found.to_json())
    assert read.groups == found.groups
    pd.testing.assert_frame_equal(
        read.contrasts(found.groups[0]).frame, found.differences(found.groups[0])
    )
    assert len(pair.frame) == 15 and pair.frame.columns[0] == "odds_ratio"


def test_effects_of_groups_are_compared():
    results = through("splines")
    by_city = results.slopes("age", by="city")
    gaps = by_city.contrasts("a")
    assert gaps.index.tolist() == [("b - a", "age"), ("c - a", "age")]
    expected = by_city.params.to_numpy()[1:] - by_city.params.to_numpy()[0]
    np.testing.assert_allclose(gaps.params, expected)
    R = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    np.testing.assert_allclose(gaps.cov_params(), R @ by_city.cov_params().to_numpy() @ R.T)
    test = by_city.t_test("p[b:age] = p[a:age]")
    assert float(np.squeeze(test.effect)) == pytest.approx(gaps.params.iloc[0])
    pd.testing.assert_frame_equal(by_city.differences("a"), gaps.frame)
    ratios = results.comparisons("kids", by="city", comparison="ratio")
    ratio = ratios.contrasts("a", "ratio").params.to_numpy()
    np.testing.assert_allclose(ratio, ratios.params.to_numpy()[1:] / ratios.params.to_numpy()[0])


def test_private_numbers():
    results, t = through("numeric private"), table()
    step = results.comparisons({"use": 0.5}, newdata=t.assign(use="u"), by="city").frame
    own = results.predictions(newdata=t.assign(use="u"), by="city").frame["mean"]
    assert (step["difference"].to_numpy() != 0.0).all() and own.between(0.0, 1.0).all()
    found = results.comparisons({"use": ["no", "v"]}).params.iloc[0]
    both = results.predictions(at={"use": ["no", "v"]}).frame["mean"]
    assert found == pytest.approx(both["v"] - both["no"])
    with pytest.raises(InvalidArgument, match="nobody knows"):
        results.slopes("use", slope="dyex")


# -- who is averaged, and what varies ----------------------------------------------------------


def test_other_rows_have_effects_of_their_own():
    results = through("logarithms")
    new = pd.DataFrame(
        {"age": [0.0, 1.0, 2.0], "kids": 1.0, "city": list("aab")}, index=list("xyz")
    )
    found = results.slopes("age", newdata=new)
    assert (found.kind, found.measure) == ("rows", "dydx") and found.index.tolist() == [
        (row, "age") for row in "xyz"
    ]
    grouped = results.slopes("age", newdata=new, by="city").params
    assert grouped["a", "age"] == pytest.approx(found.params.iloc[:2].mean())
    for own, words in (
        (found, "Estimates for the rows of newdata"),
        (results.slopes("age", newdata=new, by="city"), "Averages over the rows of newdata;"),
        (results.predictions(newdata=new, by="city"), "newdata, whose covariates are as given;"),
        (results.slopes("age", by="city"), "Averages over the respondents"),
    ):
        assert words in " ".join(str(own.summary()).split())
        again = type(own).from_json(own.to_json())
        assert str(again.summary()) == str(own.summary()) and len(own) == len(own.params)
    labelled = results.slopes("age", newdata=new, by=np.array(["u", "u", "w"])).params
    np.testing.assert_allclose(labelled, grouped)
    grid = results.predictions(newdata=new, at={"city": ["c"]}).frame["mean"]
    assert grid["c"] == pytest.approx(results.predict(new.assign(city="c")).mean())
    read = type(results).from_json(results.to_json())  # without a respondent
    with pytest.raises(NotAvailable, match=r"exog= of predict\(\), newdata= of predictions"):
        read.plot_effects("age")
    with pytest.raises(InvalidArgument, match="no level that was fitted"):
        read.predict(new.assign(city="z"))
    each = results.get_prediction(new)
    pd.testing.assert_frame_equal(each.summary_frame(), each.to_frame())
    pd.testing.assert_frame_equal(
        each.summary_frame(0.2), results.get_prediction(new, alpha=0.2).to_frame()
    )
    for ask in ("slopes", "comparisons", "predictions"):
        one, other = (getattr(each, ask)(newdata=new).frame for each in (read, results))
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_designs_have_their_weights_and_degrees_of_freedom():
    rng, t = np.random.default_rng(4), table()
    people = t.assign(ill=answers()[1], w=rng.uniform(0.5, 2.0, N), place=np.arange(N) // 20)
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=3.0)})
    held = sheet.privatize(people, rng)
    survey = ldp.Survey(held, sheet, weights="w", clusters="place")
    results = survey.regression("ill ~ age * city").fit()
    found = results.comparisons("city", by=held["kids"])
    p = [results.predict(held.assign(city=city)) for city in "ab"]
    some = held["kids"] == 2.0
    gap = np.average((p[1] - p[0])[some], weights=held["w"][some])
    assert found.params[2.0, "city: b - a"] == pytest.approx(gap)
    # of the coefficient with the fewest, and never more than the design has
    assert results.law.df == results.df_inference.min() <= N // 20 - 1
    q = sm.stats.stattools.stats.t.isf(0.025, results.law.df)
    half = np.diff(found.conf_int().to_numpy(), axis=1)[:, 0] / 2.0
    np.testing.assert_allclose(half, q * found.bse)
    with pytest.raises(ldp.NotAvailable, match="of one cluster"):
        results.goodness_of_fit()


def test_intervals_by_simulation():
    results = of_affairs()
    for ask in (
        lambda **how: results.slopes("age", by="kids", **how),
        lambda **how: results.comparisons("rel", comparison="ratio", **how),
        lambda **how: results.predictions(at={"age": [25, 35]}, **how),
    ):
        R = 2000
        delta, drawn = ask(), ask(rng=np.random.default_rng(1), draws=R)
        pd.testing.assert_series_equal(delta.params, drawn.params)
        pd.testing.assert_series_equal(delta.bse, drawn.bse)
        apart = (drawn.conf_int().to_numpy() - delta.conf_int().to_numpy()).T / delta.bse.to_numpy()
        assert np.abs(apart).max() < 0.25  # that skewness and luck leave
        assert "2,000 draws" in " ".join(str(drawn.summary()).split())
        assert drawn.draws is not None
    held = (drawn.draws > delta.conf_int()["lower"].to_numpy()).mean(axis=0)
    assert near(held, 0.975, R, errors=5.0)
    gap = drawn.contrasts()
    assert gap.draws is not None
    np.testing.assert_allclose(gap.draws[:, 0], drawn.draws[:, 1] - drawn.draws[:, 0])
    read = type(drawn).from_json(drawn.to_json())
    pd.testing.assert_frame_equal(read.conf_int(), drawn.conf_int())


# -- presentation ------------------------------------------------------------------------------


def test_summaries_name_what_is_compared():
    found = through("splines").comparisons("city", by="kids", comparison="odds_ratio")
    text = str(found.summary())
    assert repr(found) == text and max(map(len, text.splitlines())) <= 80
    assert (
        "odds ratio" in text
        and "made on the log" in text
        and "  city: b / a" in text
        and "kids = 0.0:" in text
    )
    one = through("splines").slopes("kids", by="city")
    text = str(one.summary())
    assert "Of:" in text and "kids" in text and "\na " in text  # a row for each group
    assert one.to_frame().columns[:2].tolist() == ["city", "term"]
    assert found.glance()["nobs"].tolist() == [N]


def test_plots_have_a_line_where_there_is_no_effect():
    found = through("splines").comparisons("city", comparison="ratio")
    ax = found.plot()
    assert ax.lines[0].get_xdata()[0] == 1.0 and ax.get_xlabel() == "ratio"
    panels = through("multinomial").comparisons("kids", by=np.arange(N) % 2).plot()
    assert len(panels) == 2
    axes = through("splines").slopes("age", by="city").plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"]


def test_curves_of_groups():
    results = through("splines")
    ax = results.plot_effects("age", by="city", points=5)
    frame = results.predictions(
        by="city", at={"age": np.linspace(*table()["age"].agg(["min", "max"]), 5)}
    ).frame
    for line, city in zip(ax.lines, "abc", strict=True):
        np.testing.assert_allclose(line.get_ydata(), frame.loc[city]["mean"])
        assert line.get_label() == f"city = {city}"
    t, plain = table(), fitted("logit")
    line = plain.plot_effects("age", by="city", at="mean", points=3).lines[1]  # city b
    new = {"age": line.get_xdata(), "city": "b", "kids": t["kids"][t["city"] == "b"].mean()}
    np.testing.assert_allclose(line.get_ydata(), plain.predict(pd.DataFrame(new)))
    panels = fitted("multinomial").plot_effects("age", by=np.arange(N) % 2, points=3)
    assert [ax.get_title() for ax in panels] == ["group = 0", "group = 1"]
    for how in (
        {"by": "city"},
        {"by": "kids", "name": "kids"},
    ):
        with pytest.raises(InvalidArgument, match="goes with name="):
            results.plot_effects(**how)


def test_many_groups_or_levels_are_rows_or_panels():
    many = table()["age"].rank(pct=True).mul(12).clip(upper=11.9).astype(int).to_numpy()
    results = through("splines")
    panels = results.plot_effects("city", by=many)
    assert [ax.get_title() for ax in panels] == ["city = a", "city = b", "city = c"]
    assert len(panels[0].get_yticklabels()) == 12
    frame = results.predictions(by=many, at={"city": list("abc")}).frame
    for place, ax in enumerate(panels):
        np.testing.assert_allclose(ax.lines[0].get_xdata(), frame["mean"].to_numpy()[place::3])
    curves = results.plot_effects("age", by=many, points=3)
    assert len(curves) == 12 and all(len(ax.lines) == 1 for ax in curves)


# -- bad input ---------------------------------------------------------------------------------

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("comparisons", {"variables": "agee"}, "variables='agee'.*is no covariate.*did you mean 'age'"),
    (
        "slopes",
        {"variables": "city"},
        r"variables='city'.*has categories.*use comparisons\('city'\)",
    ),
    ("slopes", {"variables": {"age": 10}}, "must be the name of a number"),
    ("slopes", {"variables": []}, "name a covariate"),
    ("slopes", {"slope": "dx"}, "slope='dx'"),
    ("comparisons", {"variables": {"age": "old"}}, "how far the number moves"),
    ("comparisons", {"variables": {"age": 0}}, "how far the number moves"),
    ("comparisons", {"variables": {"age": [1, 2, 3]}}, "must be two values"),
    (
        "comparisons",
        {"variables": {"city": ["a", "z"]}},
        "'z'.*is none of its values.*'a', 'b', 'c'",
    ),
    ("comparisons", {"variables": {"city": "z"}}, "is none of its values"),
    ("comparisons", {"variables": "city", "at": {"city": ["a"]}}, "leave it out of at"),
    ("comparisons", {"comparison": "gap"}, "comparison='gap'"),
    ("comparisons", {"pairs": 1}, "pairs=1"),
    ("comparisons", {"newdata": {"age": [1.0]}}, "newdata, column='city'.*no such column"),
    (
        "comparisons",
        {"newdata": {"age": [1.0], "city": ["z"], "kids": [1.0]}},
        r"newdata, column 'city'='z': is no level that was fitted, which are \['a', 'b', 'c'\]",
    ),
    ("predict", {"exog": {"age": [1.0], "city": ["z"], "kids": [1.0]}}, "no level that was fitted"),
    ("slopes", {"by": "region"}, r"is no covariate.*by=table\['region'\]"),
    ("predictions", {"newdata": {"age": [1.0, 2.0], "city": ["a"]}}, "columns of one length"),
    ("predictions", {"at": {"city": ["z"]}}, r"at\['city'\]='z'.*is none of its values"),
    ("predictions", {"at": {"age": [1], "city": []}}, "must be 1 to 50 different values"),
    ("predictions", {"at": {"city": ["a"]}, "by": "city"}, "is set by at="),
    ("predictions", {"by": ["city", "city"]}, "names a covariate twice"),
    ("predictions", {"at": {"age": range(50), "kids": range(50)}}, "more than 1,000"),
    ("slopes", {"rng": 3}, "rng='int'.*Generator"),
    ("slopes", {"rng": np.random.default_rng(1), "draws": 3}, "draws=3"),
    ("slopes", {"alpha": 3}, "alpha=3"),
]


@pytest.mark.parametrize(("ask", "how", "words"), BAD, ids=range(len(BAD)))
def test_bad_input(ask, how, words):
    with pytest.raises(InvalidArgument, match=words):
        getattr(fitted("logit"), ask)(**how)


def test_what_an_outcome_does_not_have():
    with pytest.raises(InvalidArgument, match=r"comparison='odds_ratio'.*is of probabilities"):
        through("least squares").comparisons(comparison="odds_ratio")
    low = ldp.Observed((-1.0, 1.0)).parse("y", np.tile([-1.0, -1.0, 1.0], N // 3))
    results = ldp.regression("y ~ age", table(), {"y": low}, model="linear").fit()
    with pytest.raises(NotAvailable, match="needs averages above zero"):
        results.comparisons(comparison="ratio")
    people = pd.DataFrame({"city": table()["city"]})
    with pytest.raises(InvalidArgument, match="has no number"):
        ldp.regression("ill ~ city", people, {"ill": reports("ill")}).fit().slopes()
