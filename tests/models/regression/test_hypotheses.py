"""Tests of coefficients, between ways of asking, and of the fit."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats as stats
from models.regression.examples import answers as answers_of_examples
from models.regression.examples import fitted as of_examples
from models.regression.examples import reports, table
from simulate import near, size

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable


def answers(n: int, seed: int, slope: float = 0.8) -> tuple[np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=n), "u": rng.normal(size=n)})
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(0.5 - slope * X.z))).astype(int)
    return y, X


@pytest.fixture(scope="module")
def fitted():
    y, X = answers(2000, 1)
    reports = ldp.KRR((0, 1), 2.0).privatize(y, np.random.default_rng(2))
    return ldp.PrivatizedLogit(reports, X).fit()


def test_terms_are_nested_models(fitted):
    table = fitted.term_tests()
    assert list(table.index) == ["z", "u"]
    model = fitted.model
    reports, X = model.data.response, pd.DataFrame(model.data.designs[0], columns=model.exog_names)
    without = ldp.PrivatizedLogit(reports, X[["const", "z"]]).fit()
    np.testing.assert_allclose(table.loc["u", "llf_without"], without.llf, rtol=1e-10)
    np.testing.assert_allclose(table.loc["u", "LR"], 2 * (fitted.llf - without.llf), atol=1e-6)
    both = fitted.lr_test(["z", "u"])
    np.testing.assert_allclose(both.statistic, fitted.llr, atol=1e-6)
    assert both.df == 2


def test_score_test_is_that_of_the_formula(fitted):
    """U' I^-1 U at the null fit, with the information of binary reports by hand."""
    model = fitted.model
    X, y = model.data.designs[0], model.data.response[0].y
    null = ldp.PrivatizedLogit(model.data.response, X[:, :2]).fit()
    beta = np.append(null.params.to_numpy(), 0.0)
    e = np.exp(2.0)
    pi = 1.0 / (1.0 + np.exp(-X @ beta))
    m = (1.0 + (e - 1.0) * pi) / (1.0 + e)
    slope = (e - 1.0) / (1.0 + e) * pi * (1.0 - pi)
    U = X.T @ (slope * (y - m) / (m * (1.0 - m)))
    information = (X.T * (slope**2 / (m * (1.0 - m)))) @ X
    expected = U @ np.linalg.solve(information, U)
    test = fitted.score_test("u")
    np.testing.assert_allclose(test.statistic, expected, rtol=1e-6)
    assert "expected information" in test.method
    assert fitted.test_of_coefficients == "penalised likelihood ratio"
    np.testing.assert_allclose(fitted.pvalues["u"], test.pvalue, rtol=0.05)  # large sample


@pytest.mark.parametrize("what", ["logit", "ordered", "poisson", "private"])
def test_intervals_hold_zero_exactly_where_p_values_do_not_reject(what):
    """At every level, such as a little below and above a p-value."""
    agree(of_examples(what), 1)


def agree(results, place, others=()) -> None:
    """p < alpha if and only if the interval of level 1 - alpha does not hold zero."""
    p = np.asarray(results.pvalues).T.ravel()
    for alpha in (p[place] * 0.999, p[place] * 1.001, *others):
        ends = results.conf_int(alpha).to_numpy()
        left_out = (ends[:, 0] > 0.0) | (ends[:, 1] < 0.0)
        np.testing.assert_array_equal(left_out, p < alpha)


def test_surveys_agree_about_zero_in_what_they_print():
    """Slopes near the edge of significance, with much noise; some estimates are infinite."""
    for seed in range(2):
        rng = np.random.default_rng([seed, 41])
        X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=300)})
        y = (rng.random(300) < 1.0 / (1.0 + np.exp(1.5 - 0.5 * X.z))).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ldp.PrivatizedLogit(ldp.KRR((0, 1), 1.0).privatize(y, rng), X).fit()
        agree(results, 1, [0.05])
        text = str(results.summary())
        assert "profiles of the penalised likelihood, which agree" in " ".join(text.split())


@pytest.mark.parametrize("term", ["age", 3, [], ["z", "age"]])
def test_unknown_terms_are_refused(fitted, term):
    for test in (fitted.lr_test, fitted.score_test):
        with pytest.raises(InvalidArgument, match="z"):
            test(term)


def test_ways_of_asking_are_compared(fitted):
    y, X = answers(3000, 3)
    rng = np.random.default_rng(4)
    direct, randomised = ldp.Observed((0, 1)), ldp.KRR((0, 1), 2.0)
    alike = [direct.privatize(y[:1000], rng), randomised.privatize(y[1000:], rng)]
    assert ldp.PrivatizedLogit(alike, X).fit().question_test().pvalue > 0.01
    shy = y[:1000] * (rng.random(1000) < 0.6)  # who is asked directly denies
    other = [direct.privatize(shy, rng), randomised.privatize(y[1000:], rng)]
    results = ldp.PrivatizedLogit(other, X).fit()
    assert results.question_test().pvalue < 0.001
    assert results.question_test("all").df == 3
    with pytest.raises(NotAvailable, match="one group"):
        fitted.question_test()
    with pytest.raises(InvalidArgument, match="terms='slopes'"):
        results.question_test("slopes")


def test_planned_information_is_that_of_the_fit(fitted):
    planned = fitted.model.information(fitted.params)
    bse = np.sqrt(np.diagonal(np.linalg.inv(planned)))
    np.testing.assert_allclose(bse, fitted.bse, rtol=0.05)  # expected and observed information
    twice = np.vstack([fitted.model.data.designs[0]] * 2)
    np.testing.assert_allclose(fitted.model.information(fitted.params, twice), 2.0 * planned)
    with pytest.raises(InvalidArgument, match="params"):
        fitted.model.information([1.0])


@pytest.mark.slow
def test_default_tests_keep_their_level(replications):
    """Likelihood ratio and score at .05, n = 500, epsilon 1; Wald is conservative here."""
    surveys, rejected = replications(600, 60), np.zeros(3)
    krr = ldp.KRR((0, 1), 1.0)
    for seed in range(surveys):
        rng = np.random.default_rng([seed, 9])
        X = np.column_stack([np.ones(500), rng.normal(size=500)])
        y = (rng.random(500) < 0.15).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ldp.PrivatizedLogit(krr.privatize(y, rng), X).fit()
        rejected += [
            results.pvalues["x1"] < 0.05,
            results.score_test("x1").pvalue < 0.05,
            results.wald_pvalues["x1"] < 0.05,
        ]
    share = rejected / surveys
    assert near(share[:2], 0.05, surveys)
    assert share[2] < 0.04


def test_terms_are_not_hypotheses_about_coefficients(fitted):
    results = of_examples("logit")
    for test in (results.wald_test, results.t_test):
        with pytest.raises(InvalidArgument, match=r"score_test\('city'\).*term_tests\(\)"):
            test("city")
    robust = results.model.fit(cov_type="HC0")
    with pytest.raises(InvalidArgument, match=r"use term_tests\(\)"):
        robust.wald_test("city")
    with pytest.raises(InvalidArgument, match=r"term='RegressionResults': is a fitted model.*z, u"):
        fitted.lr_test(fitted)


@pytest.mark.parametrize("what", ["logit", "multinomial", "ordered", "private"])
def test_odds_ratios_are_exponentials_of_the_summary(what):
    results = of_examples(what)
    found = results.odds_ratios(alpha=0.1, per={"age": 10})
    rows = results.conf_int(alpha=0.1)
    rows = rows.assign(odds_ratio=np.asarray(results.params).T.ravel())
    rows = rows.assign(p_value=np.asarray(results.pvalues).T.ravel()).loc[found.index]
    names = found.index.get_level_values(-1)
    by = np.where(names == "age", 10.0, 1.0)
    for name in ("odds_ratio", "lower", "upper"):
        np.testing.assert_allclose(found[name], np.exp(by * rows[name]), rtol=1e-12)
    np.testing.assert_array_equal(found["p_value"], rows["p_value"])
    assert set(names) == set(results.model.exog_names) - {"Intercept"}


def test_odds_ratios_that_do_not_exist_are_refused():
    with pytest.raises(NotAvailable, match="Poisson regressions have none"):
        of_examples("poisson").odds_ratios()
    model = ldp.PrivatizedLogit(reports("ill"), table()[["age"]], link="probit")
    with pytest.raises(NotAvailable, match="Probit regressions have none"):
        model.fit().odds_ratios()
    for per, words in (
        ({"agee": 10}, "must be one of 'age', 'kids'"),
        ({"age": 0}, "positive finite number"),
        ([10], "must be a mapping"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            of_examples("arrays").odds_ratios(per=per)


def villages(n_groups: int = 12, size: int = 20, seed: int = 7):
    """A covariate of villages and one of persons; groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    X = pd.DataFrame({"const": 1.0, "u": rng.normal(size=groups.size)})
    X["z"] = rng.normal(size=n_groups)[groups]
    return X, groups


@pytest.mark.parametrize("what", ["direct", "private"])
def test_few_clusters_have_degrees_of_freedom_of_each_coefficient(what):
    """The bias-reduced covariance of a logit, from its score totals and information."""
    X, groups = villages()
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, len(X))
    mechanism = ldp.Observed((0, 1)) if what == "direct" else ldp.KRR((0, 1), epsilon=1.5)
    reports = mechanism.privatize(y, rng)
    results = ldp.PrivatizedLogit(reports, X).fit(cov_type="cluster", cov_kwds={"groups": groups})
    # P(report 1) = a + c pi, and the information of a row is (c pi (1 - pi))^2 / m (1 - m)
    e = np.exp(1.5)
    a, c = (0.0, 1.0) if what == "direct" else (1.0 / (1.0 + e), (e - 1.0) / (1.0 + e))
    design = X.to_numpy()
    pi = 1.0 / (1.0 + np.exp(-design @ results.params.to_numpy()))
    m, slope = a + c * pi, c * pi * (1.0 - pi)
    scores = design * (slope * (reports.y - m) / (m * (1.0 - m)))[:, None]
    weighted = design * (slope / np.sqrt(m * (1.0 - m)))[:, None]
    B = results.model.fit().cov_params().to_numpy()  # inverse of the observed information
    V = np.zeros((3, 3))
    total = weighted.T @ weighted
    for one in range(12):
        at = groups == one
        share = weighted[at].T @ weighted[at] @ np.linalg.inv(total)
        size, axes = np.linalg.eig(np.eye(3) - share)
        grown = (axes / np.sqrt(size)) @ np.linalg.inv(axes)
        along = B @ grown @ scores[at].sum(axis=0)
        V += np.outer(along, along)
    np.testing.assert_allclose(results.cov_params(), V, rtol=1e-5)
    assert results.use_t and results.df_inference["z"] < results.df_inference["u"] < 12.0
    assert results.test_of_coefficients == "Wald"
    z, df = results.tvalues["z"], results.df_inference["z"]
    np.testing.assert_allclose(results.pvalues["z"], 2.0 * stats.t.sf(abs(z), df))
    far = stats.t.ppf(0.975, df) * results.bse["z"]
    np.testing.assert_allclose(results.conf_int().loc["z", "upper"], results.params["z"] + far)
    assert results.t_test("z = 0").pvalue == pytest.approx(results.pvalues["z"])
    assert results.term_tests().loc["z", "pvalue"] == pytest.approx(results.pvalues["z"])
    assert "CR2" in str(results.summary()) and "Satterthwaite" in str(results.summary())
    plain = results.model.fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
    )
    assert not plain.use_t and plain.pvalues["z"] < results.pvalues["z"]


@pytest.mark.parametrize("method", ["mle", "corrected"])
def test_few_clusters_beside_a_private_predictor(method):
    """Without the expected information shares are of the products of scores."""
    X, groups = villages()
    rng = np.random.default_rng(3)
    X["late"] = rng.integers(0, 2, len(X))
    use = ldp.KRR(("no", "yes"), epsilon=3.0).privatize(rng.choice(["no", "yes"], len(X)), rng)
    model = ldp.regression("late ~ z + use", X, {"use": use})
    results = model.fit(method=method, cov_type="cluster", cov_kwds={"groups": groups})
    df = results.df_inference
    assert (df > 1.0).all() and df["z"] < df["use[T.yes]"] < 12.0
    assert np.isfinite(results.wald_test("z = 0, use[T.yes] = 0").pvalue)


def survey(
    rng: np.random.Generator, bend: float, few: bool, mechanism: Any = None, n: int = 1000
) -> tuple[Any, pd.DataFrame]:
    """A logit survey, with a square in the truth that the model leaves out."""
    z = rng.integers(0, 4, n) - 1.5 if few else rng.normal(size=n)
    X = pd.DataFrame({"const": 1.0, "z": z, "d": rng.integers(0, 2, n) + 0.0})
    eta = -0.3 + 0.6 * z + 0.4 * X.d + bend * (z**2 - 1.0)
    yes = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    asked = ldp.KRR(("no", "yes"), 1.0) if mechanism is None else mechanism
    return asked.privatize(yes, rng), X


def test_patterns_of_covariates():
    some, X = survey(np.random.default_rng(1), 0.0, True)
    results = ldp.PrivatizedLogit(some, X).fit()
    found = results.goodness_of_fit()
    law = np.asarray(results.predict())
    Q = some.mechanism.channel().matrix()
    seen = pd.DataFrame({"z": X.z, "d": X.d, "yes": np.asarray(some.y) == 1, "law": law})
    each = seen.groupby(["z", "d"]).agg(n=("yes", "size"), o=("yes", "sum"), p=("law", "mean"))
    e = each.n * (Q[0, 1] + (Q[1, 1] - Q[0, 1]) * each.p)
    statistic = ((each.o - e) ** 2 / e + (each.o - e) ** 2 / (each.n - e)).sum()
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.df == 8 - 3
    assert found.method == "Pearson chi-square of the reports, 8 patterns of covariates"
    assert found.null == "the true answers to y follow the model in const, z, d"


@pytest.mark.parametrize("few", [False, True])
def test_power(few):
    some, X = survey(np.random.default_rng(2), 0.8, few, ldp.KRR(("no", "yes"), 3.0))
    assert ldp.PrivatizedLogit(some, X).fit().goodness_of_fit().pvalue < 1e-6
    right = X.assign(square=X.z**2)
    assert ldp.PrivatizedLogit(some, right).fit().goodness_of_fit().pvalue > 0.01


def test_bits_are_decoded():
    rng, (_, _, job), t = np.random.default_rng(4), answers_of_examples(), table()
    labels = tuple(np.unique(job))
    bits = ldp.KRAPPOR(labels, 4.0).privatize(job, rng)
    X = t[["age", "kids"]].assign(const=1.0)
    found = ldp.PrivatizedMNLogit(bits, X).fit().goodness_of_fit()
    assert "decoded answers" in found.method and found.pvalue > 0.01


def test_what_has_no_test():
    with pytest.raises(NotAvailable, match="the outcome is a number"):
        of_examples("poisson").goodness_of_fit()
    model = of_examples("private").model
    with pytest.raises(NotAvailable, match="corrected scores"):
        model.fit(method="corrected").goodness_of_fit()
    model = of_examples("arrays").model
    clusters = {"groups": np.arange(model.data.n) // 4}
    with pytest.raises(NotAvailable, match="of one cluster"):
        model.fit(cov_type="cluster", cov_kwds=clusters).goodness_of_fit()
    X = pd.DataFrame({"const": 1.0, "d": table().kids > 1.0}).astype(float)
    with pytest.raises(NotAvailable, match="fits any"):
        ldp.PrivatizedLogit(reports("ill"), X).fit().goodness_of_fit()
    with pytest.raises(InvalidArgument, match="groups=1"):
        of_examples("logit").goodness_of_fit(1)
    y = ldp.Observed([0, 1]).parse("y", np.r_[[0, 1] * 10, np.ones(20, dtype=int)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        infinite = ldp.PrivatizedLogit(y, np.repeat([[1.0, 0.0], [1.0, 1.0]], 20, axis=0)).fit()
    with pytest.raises(NotAvailable, match="penalty='jeffreys'"):
        infinite.goodness_of_fit()
    few, X = survey(np.random.default_rng(3), 0.0, False, n=12)
    with pytest.raises(NotAvailable, match="fewer than two groups"):
        ldp.PrivatizedLogit(few, X[["const"]].assign(z=X.z)).fit(
            penalty="jeffreys"
        ).goodness_of_fit()


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True])
def test_size(few, replications):
    R, rng, found = replications(600, 150), np.random.default_rng(8), []
    for _ in range(R):
        some, X = survey(rng, 0.0, few)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(ldp.PrivatizedLogit(some, X).fit().goodness_of_fit().pvalue)
    assert near(size(found), 0.05, R, errors=3.0)
