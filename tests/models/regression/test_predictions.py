"""Predictions of the true answers and marginal effects on them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.regression.examples import JOBS, N, answers, fitted, numerical, reports, table

import ldpstats as ldp
from ldpstats import InvalidArgument

EVERY = ["logit", "private", "multinomial", "ordered", "poisson", "arrays"]


@pytest.mark.parametrize("what", EVERY)
def test_respondents_are_predicted_as_their_rows(what):
    results = fitted(what)
    own = results.predict()
    new = table() if what != "arrays" else table().assign(const=1.0)
    np.testing.assert_allclose(results.predict(new), own, rtol=1e-12)
    if own.ndim == 2:
        assert own.columns.tolist() == list(JOBS)
        np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=1e-12)


def test_private_predictors_are_averaged_over():
    results, new = fitted("private"), table().head(5)
    each = [results.predict(new.assign(use=use)) for use in ("no", "u", "v")]
    Z = np.column_stack([results.law.data.formula.marginal(new)])
    law = np.exp(np.column_stack([np.zeros(5), Z @ results.marginal_params.to_numpy()]))
    law /= law.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(results.predict(new), (law * np.array(each).T).sum(axis=1))
    mixed = results.predict(new.assign(use=["no", "u", "v", "no", "u"]))
    np.testing.assert_allclose(
        mixed,
        [each["no u v".split().index(u)][i] for i, u in enumerate(["no", "u", "v", "no", "u"])],
    )


def test_arrays_names_and_missing_values():
    results = fitted("arrays")
    t = table().head(4).assign(const=1.0, more="text")
    whole = results.predict(t[["more", "const", "kids", "age"]])
    assert whole.index.equals(t.index)
    rows = t[results.model.exog_names].to_numpy()
    np.testing.assert_array_equal(results.predict(rows), whole)
    np.testing.assert_allclose(results.predict(rows[0]), whole[:1])
    rows[1, 0] = np.nan
    found = results.predict(rows)
    assert np.isnan(found[1]) and np.isfinite(found[[0, 2, 3]]).all()
    assert results.get_prediction(rows).loc[1].isna().all()
    lost = table().head(4).astype({"city": object})
    lost.loc[2, "city"] = None
    found = fitted("logit").predict(lost)
    assert found.isna().tolist() == [False, False, True, False]


def test_linear_predictors():
    X = table()[["age", "kids"]]
    results = fitted("arrays")
    b = results.params
    expected = b["const"] + b["age"] * X.age + b["kids"] * X.kids
    np.testing.assert_allclose(results.predict(which="linear"), expected)
    np.testing.assert_allclose(results.predict(which="linear", offset=0.5), expected + 0.5)
    ordered = fitted("ordered").params
    expected = ordered["age"] * X.age + ordered["kids"] * X.kids
    np.testing.assert_allclose(fitted("ordered").predict(which="linear"), expected)
    many = fitted("multinomial")
    found = many.predict(which="linear")
    assert found.columns.tolist() == list(JOBS[1:])
    p = many.predict()
    np.testing.assert_allclose(np.log(p["nurse"] / p["cook"]), found["nurse"])
    with pytest.raises(InvalidArgument, match="averaged over"):
        fitted("private").predict(which="linear")


@pytest.mark.parametrize("what", EVERY)
def test_intervals_of_predictions(what):
    results, new = fitted(what), table().head(3).assign(const=1.0)
    frame = results.get_prediction(new)
    G = numerical(results, lambda moved: moved.predict(new).to_numpy().ravel())
    V = G @ results.covariance_all @ G.T
    np.testing.assert_allclose(frame["se"], np.sqrt(np.diagonal(V)), rtol=1e-5)
    assert (frame["lower"] < frame["mean"]).all() and (frame["mean"] < frame["upper"]).all()
    if what == "poisson":
        np.testing.assert_allclose(frame["lower"] * frame["upper"], frame["mean"] ** 2)
    else:
        logit = np.log(frame / (1.0 - frame))
        np.testing.assert_allclose(logit["lower"] + logit["upper"], 2.0 * logit["mean"])
    narrow = results.get_prediction(new, alpha=0.5)
    assert (narrow["upper"] < frame["upper"]).all()


GROUPS: list[tuple[str, Any, str]] = [
    ("logit", None, "within"),
    ("private", "use", "within"),
    ("private", "use", "adjusted"),
    ("multinomial", "kids", "within"),
    ("ordered", "kids", "adjusted"),
    ("poisson", "use", "within"),
]


@pytest.mark.parametrize(("what", "by", "kind"), GROUPS)
def test_averages_and_their_covariance(what, by, kind):
    results = fitted(what)
    found = results.predictions(by=by, kind=kind)
    G = numerical(results, lambda moved: moved.predictions(by, kind=kind).means.ravel())
    V = G @ results.covariance_all @ G.T
    np.testing.assert_allclose(found.cov, V, rtol=1e-4, atol=1e-10)
    if by is not None:
        gaps = found.differences()
        k = len(results.law.shown)
        se = np.sqrt(V[k, k] + V[0, 0] - 2.0 * V[0, k])
        np.testing.assert_allclose(gaps["se"].iloc[0], se, rtol=1e-4)
        np.testing.assert_allclose(
            gaps["difference"].iloc[0], found.means[1, 0] - found.means[0, 0]
        )


def two_groups() -> tuple[Any, Any, Any]:
    """Results of two groups of which 30 of 100 and 120 of 200 said yes, shares and variances."""
    late = np.repeat(["yes", "no", "yes", "no"], [30, 70, 120, 80])
    people = pd.DataFrame({"new": np.repeat([0, 1], [100, 200])})
    seen = ldp.Observed(("no", "yes")).parse("late", late)
    p = np.array([0.3, 0.6])
    return ldp.regression("late ~ new", people, {"late": seen}).fit(), p, p * (1 - p) / [100, 200]


def test_predictions_and_margins_have_what_results_have():
    results, p, v = two_groups()
    wald = (p[1] - p[0]) ** 2 / v.sum()
    logit, half = np.log(p / (1 - p)), 1.959964 * np.sqrt(v) / (p * (1 - p))
    ends = [1 / (1 + np.exp(-logit - way * half)) for way in (-1.0, 1.0)]
    rows = results.predictions(newdata={"new": [0, 1]})
    for found in (results.predictions(by="new"), rows):
        frame = found.to_frame()
        columns = ["term", "estimate", "std_error", "lower", "upper", "p_value"]
        assert frame.columns.tolist() == columns and frame["term"].tolist() == [0, 1]
        np.testing.assert_allclose(frame["estimate"], p, atol=1e-8)
        np.testing.assert_allclose(found.bse, np.sqrt(v), rtol=1e-6)
        np.testing.assert_allclose(frame[["lower", "upper"]].T, ends, atol=1e-6)
        np.testing.assert_allclose(found.conf_int().T, ends, atol=1e-6)
        np.testing.assert_allclose(found.cov_params(), np.diag(v), rtol=1e-6, atol=1e-12)
        assert float(found.wald_test("p[1] = p[0]").statistic) == pytest.approx(wald)
        tested = found.t_test(([[-1.0, 1.0]], 0.1))
        assert float(np.squeeze(tested.effect)) == pytest.approx(0.3)
        assert float(np.squeeze(tested.statistic)) == pytest.approx(0.2 / np.sqrt(v.sum()))
        assert found.glance()["nobs"].tolist() == [300]
    predicted = results.get_prediction({"new": [0, 1]})
    pd.testing.assert_frame_equal(rows.frame, predicted, check_frame_type=False)
    effect = results.get_margeff(dummy=True)
    frame, reach = effect.to_frame(), 1.959964 * np.sqrt(v.sum())
    assert frame["term"].tolist() == ["new"] and frame["p_value"][0] < 1e-6
    np.testing.assert_allclose(frame[["lower", "upper"]], [[0.3 - reach, 0.3 + reach]], atol=1e-6)
    np.testing.assert_allclose(effect.conf_int(), frame[["lower", "upper"]])
    assert float(effect.wald_test("new = 0").statistic) == pytest.approx(wald)
    assert effect.summary(max_rows=1).as_text() == effect.summary().as_text()
    with pytest.raises(InvalidArgument, match="cannot be read"):
        effect.t_test("old = 0")


def test_rows_that_are_predicted_as_results():
    results, new = fitted("multinomial"), table().head(3)
    found = results.predictions(newdata=new)
    np.testing.assert_allclose(found.frame, results.get_prediction(new), rtol=1e-9)
    assert found.wald_test(f"0:{JOBS[0]} = 1:{JOBS[0]}").pvalue > 0.0
    assert len(found.plot()) == 3
    for rows in (new.assign(age=np.nan), new.head(0)):
        with pytest.raises(InvalidArgument, match="newdata"):
            results.predictions(newdata=rows)


def test_averages_of_rows():
    t, results = table(), fitted("private")
    each = results.predict()
    found = results.predictions(by="city").frame["mean"]
    np.testing.assert_allclose(found, each.groupby(t.city).mean(), rtol=1e-10)
    cut = pd.cut(t.age, 3)
    found = results.predictions(by=cut)
    assert found.by == "age" and found.groups == list(cut.cat.categories)
    np.testing.assert_allclose(found.frame["mean"], each.groupby(cut, observed=True).mean())
    assert results.predictions().frame["mean"].tolist() == pytest.approx([each.mean()])
    for value in ("a", "c"):
        mean = fitted("logit").predict(t.assign(city=value)).mean()
        adjusted = fitted("logit").predictions(by="city", kind="adjusted").frame["mean"]
        assert adjusted[value] == pytest.approx(mean)


def test_averages_at_chosen_values():
    t, results = table(), fitted("logit")
    found = results.predictions(at={"age": [-0.5, 1]})
    for value in (-0.5, 1):
        mean = results.predict(t.assign(age=float(value))).mean()
        assert found.frame["mean"][value] == pytest.approx(mean, rel=1e-10)
    assert found.kind == "adjusted" and len(found.differences()) == 1
    words = " ".join(str(found.summary()).split())
    assert "whose other covariates are as in the sample" in words
    assert "whose covariates are" in " ".join(str(results.predictions().summary()).split())
    # labels, and a private answer: as kind="adjusted" has them
    for what, name, values in (("logit", "city", ["c", "a"]), ("private", "use", ["v", "no"])):
        frame = fitted(what).predictions(at={name: values}).frame
        whole = fitted(what).predictions(by=name, kind="adjusted").frame
        pd.testing.assert_frame_equal(frame, whole.loc[values])


@pytest.mark.parametrize(
    "at, message",
    [
        (3, "must be covariates with their values"),
        ({}, "must be covariates with their values"),
        ({"agee": [1]}, "is no covariate"),
        ({"age": []}, "must be 1 to 50 different values"),
        ({"age": [1, 1]}, "must be 1 to 50 different values"),
        ({"age": ["old"]}, "must be finite numbers"),
        ({"age": [np.nan]}, "must be finite numbers"),
        ({"city": ["z"]}, "is none of its values"),
        ({"use": ["maybe"]}, "is none of its values"),
    ],
)
def test_values_that_nobody_can_be_set_to_are_refused(at, message):
    with pytest.raises(InvalidArgument, match=message):
        fitted("private").predictions(at=at)


def test_weights_and_missing_rows():
    t, rng = table().copy(), np.random.default_rng(8)
    w = rng.uniform(0.5, 2.0, N)
    t.loc[:9, "age"] = np.nan
    results = ldp.regression("ill ~ age + kids", t, {"ill": reports("ill")}, weights=w).fit()
    each = results.predict()
    assert each.index[0] == 10
    found = results.predictions(by=t.city)
    for city, own in each.groupby(t.city[10:]):
        mean = np.average(own, weights=w[own.index])
        assert found.frame["mean"][city] == pytest.approx(mean)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"by": "town"}, "is no covariate, of which there are age, city, kids"),
    ({"by": "age"}, "pass the groups, such as pandas.cut"),
    ({"by": ["city", "town"]}, "by='town': is no covariate"),
    ({"by": np.ones(5)}, "a label for each of the 600 respondents"),
    ({"by": [None] * N}, "missing labels"),
    ({"by": np.arange(N) % 2, "kind": "adjusted"}, "the name of a covariate, not labels"),
    ({"kind": "both"}, "kind='both'"),
    ({"alpha": 2.0}, "alpha=2.0"),
]


@pytest.mark.parametrize(("how", "words"), BAD)
def test_bad_groups(how, words):
    with pytest.raises(InvalidArgument, match=words):
        fitted("logit").predictions(**how)


NEW: list[tuple[str, Any, str]] = [
    ("arrays", [[1.0, 2.0]], "array with the 3 columns of X: age, kids, const"),
    ("arrays", pd.DataFrame({"age": [1.0], "kids": 2.0}), "exog, column='const': no such column"),
    ("arrays", pd.DataFrame({"age": ["x"], "kids": 2.0, "const": 1.0}), "must be numbers"),
    ("arrays", [[np.inf, 1.0, 1.0]], "must be finite numbers, or NaN"),
    ("logit", pd.DataFrame({"age": [1.0], "kids": 1.0}), "'city': no such column"),
    ("private", np.ones((2, 6)), "a table with the public columns of the formula"),
    ("private", pd.DataFrame({"age": [1.0], "city": "a", "use": "x"}), "is no category of 'use'"),
]


@pytest.mark.parametrize(("what", "exog", "words"), NEW)
def test_bad_rows(what, exog, words):
    with pytest.raises(InvalidArgument, match=words):
        fitted(what).predict(exog)


def test_bad_options():
    with pytest.raises(InvalidArgument, match="which='var'"):
        fitted("logit").predict(which="var")
    with pytest.raises(InvalidArgument, match="offset"):
        fitted("logit").predict(table(), offset=[1.0, 2.0])
    with pytest.raises(InvalidArgument, match="is none of the groups"):
        fitted("logit").predictions(by="city").differences("z")
    with pytest.raises(InvalidArgument, match="pass by="):
        fitted("logit").predictions().differences()


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("logit", {"at": "mean", "method": "eydx", "dummy": True}),
    ("private", {}),
    ("private", {"dummy": True, "count": True}),
    ("multinomial", {"at": "mean"}),
    ("ordered", {"method": "eydx"}),
    ("poisson", {"dummy": True, "count": True}),
]


@pytest.mark.parametrize(("what", "how"), OPTIONS, ids=str)
def test_standard_errors_are_of_the_delta_method(what, how):
    results = fitted(what)
    found = results.get_margeff(**how)
    own = numerical(results, lambda moved: moved.get_margeff(**how).margeff.T.ravel())
    V = own @ results.covariance_all @ own.T
    np.testing.assert_allclose(found.margeff_cov, V, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(found.margeff_se.T.ravel() ** 2, np.diagonal(V), rtol=1e-5)


def test_effects_on_all_categories_sum_to_zero():
    for what in ("multinomial", "ordered"):
        found = fitted(what).get_margeff()
        assert found.margeff.shape == (2, 4)
        np.testing.assert_allclose(found.margeff.sum(axis=1), 0.0, atol=1e-12)
        frame = found.summary_frame()
        assert frame.index.names == ["endog", "exog"]
        assert frame.index.get_level_values(0).unique().tolist() == list(JOBS)
        assert found.conf_int().shape == (2, 2, 4)


def test_private_factors_have_differences_of_predictions():
    results = fitted("private")
    found = results.get_margeff()
    assert found.names == ["city[T.b]", "city[T.c]", "age", "use[T.u]", "use[T.v]"]
    frame = results.predictions(by="use", kind="adjusted").differences("no")
    np.testing.assert_allclose(found.margeff[3:], frame["difference"], rtol=1e-10)
    np.testing.assert_allclose(found.margeff_se[3:], frame["se"], rtol=1e-10)


def test_weighted_medians():
    rng, t = np.random.default_rng(3), table().head(400)
    times = rng.integers(1, 4, 400)
    ill = answers()[1][:400]
    X = t[["age", "kids"]].assign(const=1.0)
    some = ldp.Observed(("no", "yes")).parse("ill", ill)
    every = ldp.Observed(("no", "yes")).parse("ill", np.repeat(ill, times))
    one = ldp.PrivatizedLogit(some, X, freq_weights=times).fit()
    other = ldp.PrivatizedLogit(every, X.loc[X.index.repeat(times)]).fit()
    for at in ("overall", "mean", "median", "zero"):
        found, expected = one.get_margeff(at=at), other.get_margeff(at=at)
        np.testing.assert_allclose(found.margeff, expected.margeff, rtol=1e-7)
        np.testing.assert_allclose(found.margeff_se, expected.margeff_se, rtol=1e-7)


BAD_OF_MARGINS: list[tuple[str, dict[str, Any], str]] = [
    ("logit", {"at": "center"}, "at='center'.*must be one of"),
    ("logit", {"method": "dxdy"}, "method='dxdy'.*must be one of"),
    ("logit", {"method": "eyex", "dummy": True}, "use 'dydx' or 'eydx'"),
    ("logit", {"at": "median", "dummy": True}, "use 'overall' or 'mean'"),
    ("private", {"method": "dyex"}, "use 'dydx' or 'eydx'"),
    ("logit", {"atexog": {"height": 2.0}}, "must be the name or the place of a covariate"),
    ("logit", {"atexog": {"age": "old"}}, "must be a number"),
    ("logit", {"atexog": {"age": [1.0, 2.0]}}, "one for each of the"),
    ("logit", {"atexog": [[1.0, 2.0]]}, "an array with the 5 columns"),
    ("private", {"atexog": {"use[T.u]": 1.0}}, "changes with a private predictor"),
    ("private", {"atexog": np.ones((1, 6))}, "must be a dict of public covariates"),
    ("logit", {"dummy": "yes"}, "dummy='yes'"),
]


@pytest.mark.parametrize(("what", "how", "words"), BAD_OF_MARGINS)
def test_bad_options_of_margins(what, how, words):
    with pytest.raises(InvalidArgument, match=words):
        fitted(what).get_margeff(**how)
