"""Without privacy the regressions are statsmodels' own."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.stats
import simulate
import statsmodels.api as sm
from models.regression import references
from statsmodels.miscmodels.ordinal_model import OrderedModel

import ldpstats as ldp

Array = npt.NDArray[Any]

N = 240

CLOSE = {"rtol": 1e-8, "atol": 1e-9}

THREE = ("low", "middle", "high")


@cache
def covariates() -> pd.DataFrame:
    """A constant, a number, a dummy and a count."""
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "const": 1.0,
            "z": rng.normal(size=N) + 1.0,
            "d": rng.integers(0, 2, N) + 0.0,
            "c": rng.poisson(3.0, N) + 0.0,
        }
    )


@cache
def codes(k: int) -> Array:
    """An answer that depends on them."""
    rng, X = np.random.default_rng(12), covariates()
    return np.clip(np.rint(X.z + 0.4 * X.d - 0.1 * X.c + rng.logistic(size=N)), 0, k - 1).astype(
        int
    )


def observed(k: int) -> ldp.Reports:
    """The answers themselves."""
    return ldp.Reports(codes(k), ldp.Observed(THREE[:k]), name="answer")


def groups() -> Array:
    """Clusters of respondents."""
    return np.arange(N) // 8


BINARY = {"logit": sm.Logit, "probit": sm.Probit}

COVARIANCES: dict[str, dict[str, Any]] = {
    "nonrobust": {},
    "HC0": {"cov_type": "HC0"},
    "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": groups(), "use_correction": True}},
}


@cache
def pair(name: str, covariance: str = "nonrobust") -> tuple[Any, Any]:
    """Results of ours and of statsmodels."""
    how, X = COVARIANCES[covariance], covariates()
    if name == "multinomial":
        ours = ldp.PrivatizedMNLogit(observed(3), X).fit(disp=False, **how)
        return ours, sm.MNLogit(codes(3), X).fit(disp=0, tol=1e-12, **how)
    ours = ldp.PrivatizedLogit(observed(2), X, link=name).fit(disp=False, **how)
    return ours, BINARY[name](codes(2), X).fit(disp=0, tol=1e-12, **how)


NAMES = (*BINARY, "multinomial")


@pytest.mark.parametrize("name", NAMES)
def test_estimates_and_likelihoods(name):
    ours, theirs = pair(name)
    assert ours.converged
    np.testing.assert_allclose(ours.params, theirs.params, **CLOSE)
    np.testing.assert_allclose(ours.bse, theirs.bse, **CLOSE)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), **CLOSE)
    np.testing.assert_allclose(ours.tvalues, theirs.tvalues, **CLOSE)
    for figure in ("llf", "llnull", "llr", "prsquared", "aic", "bic"):
        np.testing.assert_allclose(getattr(ours, figure), getattr(theirs, figure), rtol=1e-8)
    np.testing.assert_allclose(ours.llr_pvalue, theirs.llr_pvalue, rtol=1e-6)
    for figure in ("nobs", "df_model", "df_resid"):
        assert getattr(ours, figure) == getattr(theirs, figure)
    np.testing.assert_allclose(ours.predict(), theirs.predict(), **CLOSE)
    some = covariates().iloc[:5]
    np.testing.assert_allclose(ours.predict(some), theirs.predict(some), **CLOSE)


@pytest.mark.parametrize("covariance", list(COVARIANCES)[1:])
@pytest.mark.parametrize("name", NAMES)
def test_sandwiches(name, covariance):
    ours, theirs = pair(name, covariance)
    assert ours.cov_type == covariance
    np.testing.assert_allclose(ours.bse, theirs.bse, **CLOSE)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), **CLOSE)


@pytest.mark.parametrize("name", BINARY)
def test_wald_tests(name):
    ours, theirs = pair(name)
    R = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    for hypothesis in ("z = 0.5", "z = d, c = 0", R):
        one, other = ours.wald_test(hypothesis), theirs.wald_test(hypothesis, scalar=True)
        np.testing.assert_allclose(np.squeeze(one.statistic), np.squeeze(other.statistic), **CLOSE)
        np.testing.assert_allclose(np.squeeze(one.pvalue), np.squeeze(other.pvalue), rtol=1e-7)
    one, other = ours.t_test(R), theirs.t_test(R)
    np.testing.assert_allclose(one.effect, other.effect, **CLOSE)
    np.testing.assert_allclose(one.sd, other.sd, **CLOSE)


MARGINS = [
    {"at": at, "method": method}
    for at in ("overall", "mean", "median", "zero", "all")
    for method in ("dydx", "eyex", "dyex", "eydx")
    if at != "all" or method == "dydx"
]

DISCRETE = [{"dummy": True}, {"count": True}, {"dummy": True, "count": True, "at": "mean"}]


@pytest.mark.parametrize("name", NAMES)
def test_margins(name):
    ours, theirs = pair(name)
    for how in [*MARGINS, *DISCRETE]:
        if name == "multinomial" and (how in DISCRETE or how["method"] in ("eyex", "dyex")):
            continue  # statsmodels fails; `test_margins_written_out` has them
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # statsmodels divides by covariates that are zero
            other = theirs.get_margeff(**how)
            one = ours.get_margeff(**how)
        np.testing.assert_allclose(one.margeff, other.margeff, **CLOSE)
        if how.get("at") != "all":
            np.testing.assert_allclose(one.margeff_se, other.margeff_se, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["eyex", "dyex"])
def test_margins_written_out(method):
    """Elasticities of a multinomial logit, and their standard errors by complex steps."""
    ours, _ = pair("multinomial")
    X = covariates().to_numpy()

    def margins(theta: Array) -> Array:
        b = np.column_stack([np.zeros(4), theta.reshape(2, 4).T])
        pi = references.multinomial(references.by_equation(X, theta, 2))
        found = np.empty((3, 3), dtype=theta.dtype)
        for j in range(1, 4):
            mean = pi @ b[j]
            for y in range(3):
                each = b[j, y] - mean  # d log pi / dx
                if method == "eyex":
                    found[j - 1, y] = (each * X[:, j]).mean()
                else:  # dy / d log x
                    found[j - 1, y] = (pi[:, y] * each * X[:, j]).mean()
        return found.reshape(-1)

    theta = ours.params.to_numpy().T.reshape(-1)
    J = references.steps(margins, theta)
    V = J.T @ ours.cov_params().to_numpy() @ J
    one = ours.get_margeff(method=method)
    np.testing.assert_allclose(np.ravel(one.margeff), margins(theta), **CLOSE)
    np.testing.assert_allclose(np.ravel(one.margeff_se), np.sqrt(np.diag(V)), rtol=1e-7)


def test_margins_at_values_of_covariates():
    ours, theirs = pair("logit")
    one, other = (each.get_margeff(at="mean", atexog={1: 2.0}) for each in (ours, theirs))
    np.testing.assert_allclose(one.margeff, other.margeff, **CLOSE)
    np.testing.assert_allclose(one.margeff_se, other.margeff_se, rtol=1e-7)


def test_complementary_log_log():
    X = covariates()
    ours = ldp.PrivatizedLogit(observed(2), X, link="cloglog").fit(disp=False)
    link = sm.families.links.CLogLog()
    theirs = sm.GLM(codes(2), X, family=sm.families.Binomial(link)).fit(method="newton", tol=1e-12)
    np.testing.assert_allclose(ours.params, theirs.params, rtol=1e-7)
    np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(ours.llf, theirs.llf, rtol=1e-8)


# ---- ordered categories
@cache
def ordered() -> tuple[Any, Any]:
    """Results of ours and of statsmodels."""
    X = covariates()[["z", "d", "c"]]
    y = pd.Series(pd.Categorical.from_codes(codes(3), THREE, ordered=True), name="answer")
    theirs = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=0, gtol=1e-7, maxiter=500)
    return ldp.PrivatizedOrderedModel(observed(3), X).fit(disp=False), theirs


def test_proportional_odds_by_newton():
    """To the digits that statsmodels' optimiser does not reach."""
    ours, _ = ordered()
    X, A = covariates()[["z", "d", "c"]].to_numpy(), references.indicators(codes(3), 3)
    best, value = references.ordered_maximum(X, A), references.ordered_like(X, A)
    np.testing.assert_allclose(ours.params, best, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.bse, references.standard_errors(value, best), rtol=1e-8)
    np.testing.assert_allclose(ours.llf, value(best), rtol=1e-10)


# ---- weights and offsets
MODELS: dict[str, Any] = {
    "logit": (ldp.PrivatizedLogit, 2),
    "multinomial": (ldp.PrivatizedMNLogit, 3),
    "ordered": (ldp.PrivatizedOrderedModel, 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_frequency_weights_are_repeated_rows(name):
    model, k = MODELS[name]
    X = covariates() if name != "ordered" else covariates()[["z", "d", "c"]]
    times = np.random.default_rng(13).integers(1, 4, N)
    rows = np.repeat(np.arange(N), times)
    weighted = model(observed(k), X, freq_weights=times).fit(disp=False)
    repeated = model(observed(k)[rows], X.iloc[rows]).fit(disp=False)
    for figure in ("params", "bse", "llf", "llnull", "nobs", "df_resid", "aic", "bic"):
        one, other = getattr(weighted, figure), getattr(repeated, figure)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        weighted.get_margeff().margeff_se if name == "logit" else 0.0,
        repeated.get_margeff().margeff_se if name == "logit" else 0.0,
        rtol=1e-7,
    )


def test_offset():
    offset, X = 0.3 * covariates().c.to_numpy(), covariates()[["const", "z", "d"]]
    ours = ldp.PrivatizedLogit(observed(2), X, offset=offset).fit(disp=False)
    theirs = sm.Logit(codes(2), X, offset=offset).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(ours.params, theirs.params, **CLOSE)
    np.testing.assert_allclose(ours.bse, theirs.bse, **CLOSE)
    np.testing.assert_allclose(ours.llf, theirs.llf, rtol=1e-10)


# ---- numbers, and private predictors that are public
@pytest.mark.parametrize(
    ("name", "method"), [("poisson", "mle"), ("linear", "corrected"), ("logit", "mle")]
)
def test_public_predictors(name, method):
    X, y = covariates(), codes(3)
    data = pd.DataFrame({"z": X.z, "count": X.c, "d": X.d})
    dummies = np.column_stack([np.ones(N), y == 1, y == 2, X.z])
    family = {
        "poisson": (sm.families.Poisson(), "count"),
        "linear": (sm.families.Gaussian(), "count"),
        "logit": (sm.families.Binomial(), "d"),
    }
    law, outcome = family[name]
    formula = f"{outcome} ~ C(answer) + z"
    model = ldp.regression(formula, data, reports={"answer": observed(3)}, model=name)
    ours = model.fit(method=method, disp=False)
    plain = sm.GLM(data[outcome], dummies, family=law)
    robust = {"cov_type": "HC0"} if method == "corrected" else {}  # comes with a sandwich
    theirs = plain.fit(tol=1e-13, maxiter=100, **robust)
    np.testing.assert_allclose(ours.params, theirs.params, **CLOSE)
    np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-7)


# Least squares of a privatised answer: equal to OLS without noise, unbiased with it.

EXACT = 1e-8

SCORES = (0.0, 1.0, 2.5, 7.0)

LABELS = ("none", "some", "much", "most")


def survey(n: int = 300, seed: int = 1) -> tuple[pd.DataFrame, Array]:
    """Covariates and the codes of true answers that depend on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=n), "town": rng.random(n) < 0.4})
    latent = 0.8 * X["age"] - 0.5 * X["town"] + rng.logistic(size=n)
    return X.astype(float), np.searchsorted([-1.0, 0.3, 1.2], latent)


def observed_linear(codes: Array) -> ldp.Reports:
    return ldp.Observed(LABELS).parse("use", np.array(LABELS)[codes])


def clusters(n: int = 300) -> Array:
    return np.arange(n) // 7


COVARIANCES_LINEAR = ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]

OPTIONS = {  # as statsmodels has them
    "HC2": {"df_correction": False},
    "cluster": {"use_correction": True},
}


@pytest.mark.parametrize("cov_type", COVARIANCES_LINEAR)
def test_equals_ols_without_noise(cov_type):
    use_t = cov_type in ("nonrobust", "HC1", "cluster")
    X, codes = survey()
    kwds: dict[str, Any] | None = {"groups": clusters()} if cov_type == "cluster" else None
    asked = {**(kwds or {}), **OPTIONS.get(cov_type, {})}
    ours = ldp.PrivatizedOLS(observed_linear(codes), X, SCORES).fit(cov_type, asked, use_t)
    theirs = sm.OLS(np.array(SCORES)[codes], X).fit(cov_type=cov_type, cov_kwds=kwds, use_t=use_t)
    for name in ("params", "bse", "tvalues", "pvalues", "rsquared", "rsquared_adj", "llf", "aic"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), EXACT, 1e-12)
    for name in ("bic", "fvalue", "nobs", "df_model", "df_resid", "scale", "resid"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), EXACT, 1e-12)
    np.testing.assert_allclose(ours.f_pvalue, theirs.f_pvalue, EXACT, 1e-12)
    np.testing.assert_allclose(ours.conf_int(0.1), theirs.conf_int(0.1), EXACT)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), EXACT, 1e-14)
    for test in ("age = town", "age - 2 * town = 0.1, const = 0"):
        a, b = ours.wald_test(test), theirs.wald_test(test, scalar=True)
        np.testing.assert_allclose([a.statistic, a.pvalue], [b.statistic, b.pvalue], EXACT)
        a, b = ours.t_test(test), theirs.t_test(test)
        np.testing.assert_allclose(a.conf_int(), b.conf_int(), EXACT)
        np.testing.assert_allclose(a.pvalue, b.pvalue, EXACT)
    assert list(ours.params.index) == list(theirs.params.index)


@pytest.mark.parametrize("cov_type", ["HC2", "cluster"])
def test_frequency_weights_repeat_rows(cov_type):
    X, codes = survey()
    times = np.random.default_rng(2).integers(0, 4, len(X))
    every = np.repeat(np.arange(len(X)), times)
    kwds = {"groups": clusters()} if cov_type == "cluster" else None
    long = {"groups": clusters()[every]} if cov_type == "cluster" else None
    krr = ldp.KRR(LABELS, 1.5)
    reports = krr.privatize(np.array(LABELS)[codes], np.random.default_rng(3))
    short = ldp.PrivatizedOLS(reports, X, SCORES, freq_weights=times).fit(cov_type, kwds)
    repeated = ldp.PrivatizedOLS(reports[every], X.iloc[every], SCORES).fit(cov_type, long)
    for name in ("params", "bse", "pvalues", "nobs", "scale", "rsquared", "privacy_share"):
        np.testing.assert_allclose(getattr(short, name), getattr(repeated, name), EXACT)


def test_survey_weights_are_robust_weighted_least_squares():
    X, codes = survey()
    w = np.random.default_rng(2).uniform(0.5, 3.0, len(X))
    model = ldp.PrivatizedOLS(observed_linear(codes), X, SCORES, weights=w)
    theirs = sm.WLS(np.array(SCORES)[codes], X, weights=w)
    assert model.fit().cov_type == "HC2"
    for cov_type in ("HC0", "HC1", "HC2", "HC3"):
        np.testing.assert_allclose(
            model.fit(cov_type).bse, theirs.fit(cov_type=cov_type).bse, EXACT
        )
    double = ldp.PrivatizedOLS(observed_linear(codes), X, SCORES, weights=2.0 * w)
    np.testing.assert_allclose(double.fit().bse, model.fit().bse, EXACT)
    assert double.fit().privacy_share == 0.0
    with pytest.raises(ldp.NotAvailable, match="survey weights"):
        model.fit("nonrobust")
    with pytest.raises(ldp.NotAvailable, match="survey weights"):
        _ = model.fit().llf


MECHANISMS: dict[str, Callable[[Any], Any]] = {
    "krr": lambda labels: ldp.KRR(labels, 1.0),
    "bits": lambda labels: ldp.KRAPPOR(labels, 1.0),
    "cohorts": lambda labels: ldp.ORAPPOR(8, 1, 4, epsilon=2.0, alphabet=labels),
    "open": lambda labels: ldp.ORAPPOR(32, 2, 8, epsilon=4.0),
}


@pytest.mark.parametrize("name", ["krr", "bits"])
def test_a_shift_of_the_scores_moves_the_constant_alone(name):
    X, codes = survey(2000)
    answers = np.array(LABELS)[codes]
    reports = MECHANISMS[name](LABELS).privatize(answers, np.random.default_rng(1))
    plain = ldp.PrivatizedOLS(reports, X, SCORES).fit()
    moved = ldp.PrivatizedOLS(reports, X, np.array(SCORES) * 2.0 + 100.0).fit()
    expected = 2.0 * plain.params + [100.0, 0.0, 0.0]
    np.testing.assert_allclose(moved.params, expected, 1e-9)
    np.testing.assert_allclose(moved.bse, 2.0 * plain.bse, 1e-9)
    np.testing.assert_allclose(moved.rsquared_answers, plain.rsquared_answers, 1e-8)


def test_defaults_of_scores():
    X = np.ones((4, 1))
    yes = ldp.Observed(("no", "yes")).parse("q", ["no", "yes", "yes", "yes"])
    assert ldp.PrivatizedOLS(yes, X).fit().params["const"] == pytest.approx(0.75)
    numbers = ldp.Observed((1, 5, 9)).parse("q", [1, 9, 9, 5])
    assert ldp.PrivatizedOLS(numbers, X).fit().params["const"] == pytest.approx(6.0)
    named = ldp.PrivatizedOLS(yes, X, {"yes": 10.0, "no": 2.0})
    assert named.fit().params["const"] == pytest.approx(8.0)


def test_default_covariance_and_likelihood():
    X, codes = survey(2000)
    reports = ldp.KRR(LABELS, 1.0).privatize(np.array(LABELS)[codes], np.random.default_rng(1))
    result = ldp.PrivatizedOLS(reports, X, SCORES).fit()
    assert result.cov_type == "HC2" and 0.3 < result.privacy_share < 1.0
    assert result.rsquared < result.rsquared_answers
    for name in ("llf", "aic", "bic"):
        with pytest.raises(ldp.NotAvailable, match=name):
            getattr(result, name)
    text = str(result.summary(details=True))
    assert "residuals hold the randomisation" in text.replace("\n  ", " ")
    assert "use cov_type='HC2'" in str(
        ldp.PrivatizedOLS(reports, X, SCORES).fit("nonrobust").summary()
    )
    assert result.to_frame().shape == (3, 6) and result.glance().loc[0, "nobs"] == 2000


def test_answers_that_are_not_candidates_are_warned_of():
    X, codes = survey(4000)
    answers = np.array(LABELS)[codes]
    reports = MECHANISMS["open"](LABELS).privatize(answers, np.random.default_rng(1))
    with pytest.warns(ldp.IncompleteListWarning, match="other answers exist"):
        ldp.PrivatizedOLS(reports, X, SCORES[1:], candidates=LABELS[1:])
    result = ldp.PrivatizedOLS(reports, X, SCORES, candidates=LABELS).fit()
    assert "candidates are taken to be all answers" in str(result.summary())


def test_naive_coefficients_are_those_of_the_reports():
    X, codes = survey(2000)
    reports = ldp.KRR(LABELS, 1.0).privatize(np.array(LABELS)[codes], np.random.default_rng(1))
    result = ldp.PrivatizedOLS(reports, X, SCORES).fit()
    found = result.compare_naive()
    naive = sm.OLS(np.array(SCORES)[reports.y], X).fit().params
    np.testing.assert_allclose(found["naive"], naive, EXACT)
    assert np.all(np.abs(found["ratio"][1:]) < 0.6)
    assert "Without the channel" in str(result.summary())
    bits = ldp.KRAPPOR(LABELS, 1.0).privatize(np.array(LABELS)[codes], np.random.default_rng(1))
    with pytest.raises(ldp.NotAvailable, match="bits"):
        ldp.PrivatizedOLS(bits, X, SCORES).fit().compare_naive()
    assert "Without the channel" not in str(ldp.PrivatizedOLS(bits, X, SCORES).fit().summary())


def bad(**changes: Any) -> Callable[[], Any]:
    """A call with a bad argument."""
    X, codes = survey(60)
    given: dict[str, Any] = {"reports": observed_linear(codes), "X": X, "scores": SCORES} | changes
    kwds = {name: given.pop(name) for name in ("cov_type", "cov_kwds") if name in given}
    return lambda: ldp.PrivatizedOLS(**given).fit(**kwds)


FRAME = survey(60)[0]


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"reports": [1, 2]}, ldp.InvalidArgument, "reports"),
        ({"reports": ldp.KRR(4, 1.0).counts([1, 2, 3, 4])}, ldp.InvalidArgument, "no rows"),
        ({"X": FRAME.iloc[:50]}, ldp.InvalidArgument, "60 reports"),
        ({"X": FRAME.assign(job="x")}, ldp.InvalidArgument, "'job'.*dummies"),
        ({"X": FRAME.assign(age=np.nan)}, ldp.InvalidArgument, "'age'.*missing"),
        ({"X": FRAME.assign(age=np.inf)}, ldp.InvalidArgument, "'age'.*row 1=inf"),
        ({"X": FRAME.assign(a2=2 * FRAME["age"])}, ldp.NotIdentified, "a2 is a linear.*'age'"),
        ({"X": FRAME.assign(nil=0.0)}, ldp.NotIdentified, "nil is zero"),
        (
            {"X": np.random.default_rng(1).normal(size=(60, 61))},
            ldp.NotIdentified,
            "linear comb",
        ),
        ({"scores": None}, ldp.InvalidArgument, "pass a score"),
        ({"scores": [1.0, 2.0, np.nan, 3.0]}, ldp.InvalidArgument, "finite"),
        ({"offset": [1.0]}, ldp.InvalidArgument, "offset"),
        ({"freq_weights": np.full(60, 0.5)}, ldp.InvalidArgument, "weights="),
        ({"weights": np.zeros(60)}, ldp.InvalidArgument, "zero"),
        ({"cov_type": "HC4"}, ldp.InvalidArgument, "cov_type"),
        ({"cov_type": "cluster"}, ldp.InvalidArgument, "'groups'"),
        (
            {"cov_type": "cluster", "cov_kwds": {"groups": np.ones(60)}},
            ldp.InvalidArgument,
            "two groups at least",
        ),
        ({"cov_type": "cluster", "cov_kwds": {"groups": [1, 2]}}, ldp.InvalidArgument, "60 labels"),
        (
            {"X": FRAME.assign(one=np.arange(60) == 7), "cov_type": "HC3"},
            ldp.NotAvailable,
            "row 8 alone",
        ),
    ],
)
def test_bad_input_is_named(changes, error, words):
    with pytest.raises(error, match=words):
        bad(**changes)()


def test_hypotheses():
    X, codes = survey(60)
    result = ldp.PrivatizedOLS(observed_linear(codes), X, SCORES).fit()
    assert result.wald_test("age").pvalue >= 0.0
    for hypothesis, words in [
        ("agee = 0", "did you mean 'age'"),
        ("", "empty"),
        ("age / 0 = 1", "finite|read"),
        (np.ones((1, 2)), "3 columns"),
        ((np.eye(3), [1.0, 2.0]), "rows"),
        ([[0.0, 0.0, 0.0]], "without a coefficient"),
        (["age = 0", "age = 1"], "contradict"),
    ]:
        with pytest.raises(ldp.InvalidArgument, match=words):
            result.wald_test(hypothesis)


# ---- simulations
TRUE = np.array([1.0, 0.5, -0.4])


def linear_survey(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Scores 0 to 4 whose mean is linear in the covariates, with unequal variances."""
    X = np.column_stack([np.ones(n), rng.uniform(0, 2, n), rng.random(n) < 0.3])
    return X, rng.binomial(4, X @ TRUE / 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_bias_and_coverage(name, replications):
    """Bias within 4 Monte Carlo errors and .1 SD; coverage of 95 % within 4 errors."""
    n, R, rng = 3000, replications(400, 80), np.random.default_rng(3000)
    labels = ["0", "1", "2", "3", "4"]
    made = MECHANISMS[name](labels)
    given = {"scores": [0, 1, 2, 3, 4], "candidates": labels if name == "open" else None}
    estimates, ends = [], []
    for _ in range(R):
        X, codes = linear_survey(n, rng)
        reports = made.privatize(np.array(labels)[codes], rng)
        result = ldp.PrivatizedOLS(reports, X, **given).fit()
        estimates.append(result.params.to_numpy())
        ends.append(result.conf_int().to_numpy())
    error, sd = np.mean(estimates, axis=0) - TRUE, np.std(estimates, axis=0)
    assert np.all(np.abs(error) <= 0.1 * sd + 4.0 * sd / np.sqrt(R)), error / sd
    assert simulate.near(simulate.coverage(np.array(ends), TRUE), 0.95, R)


def reduced(X: Array, y: Array, groups: Array, L: Array) -> tuple[Array, float]:
    """CR2 of least squares and its degrees of freedom, with all matrices written out."""
    n, B = len(X), np.linalg.inv(X.T @ X)
    M, V, parts = np.eye(n) - X @ B @ X.T, np.zeros((X.shape[1], X.shape[1])), []
    for one in np.unique(groups):
        at = np.flatnonzero(groups == one)
        size, axes = np.linalg.eigh(M[np.ix_(at, at)])
        grown = np.where(size > 1e-9, 1.0 / np.sqrt(np.maximum(size, 1e-9)), 0.0)
        part = B @ X[at].T @ ((axes * grown) @ axes.T) @ M[at]
        V += np.outer(part @ y, part @ y)
        parts.append(L @ part)
    size, axes = np.linalg.eigh(sum(one @ one.T for one in parts))
    parts = [(axes / np.sqrt(size)).T @ one for one in parts]
    total = 0.0
    for one in parts:
        for other in parts:
            moved = one @ other.T
            total += np.trace(moved) ** 2 + np.trace(moved @ moved)
    q = len(L)
    return V, q * (q + 1.0) / total


def rare(n: int = 80, k: int = 9, seed: int = 4) -> tuple[pd.DataFrame, ldp.Reports, Array]:
    """A covariate that few have, reports, and clusters of unlike size."""
    rng = np.random.default_rng(seed)
    rows = {"const": 1.0, "x": rng.normal(size=n), "rare": (np.arange(n) < n // 10) + 0.0}
    groups = np.sort(rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2)))
    answers = rng.integers(0, 2, n)
    reports = ldp.Warner(epsilon=2.0, categories=(0, 1)).privatize(answers, rng)
    return pd.DataFrame(rows), reports, groups


@pytest.mark.parametrize("by", ["respondents", "clusters"])
def test_few_bear_the_information_on_a_coefficient(by):
    """HC2 and CR2 and their degrees of freedom are those of the definitions."""
    X, reports, groups = rare()
    model = ldp.PrivatizedOLS(reports, X)
    if by == "respondents":
        result, groups = model.fit(), np.arange(len(X))
        assert result.cov_type == "HC2"
    else:
        result = model.fit("cluster", {"groups": groups})
    matrix, places = X.to_numpy(), np.eye(3)
    for j in range(3):
        V, df = reduced(matrix, model.endog, groups, places[[j]])
        np.testing.assert_allclose(result.df_inference.iloc[j], df, EXACT)
    pure = result
    if by == "respondents":  # of the eight alone the variance is at least that of equal ones
        pure = model.fit("HC2", {"df_correction": False})
        most = max(V[2, 2], model.fit("nonrobust").cov_params().loc["rare", "rare"])
        np.testing.assert_allclose(result.bse["rare"] ** 2, most, EXACT)
        np.testing.assert_allclose(result.bse[:2], pure.bse[:2], EXACT)
    np.testing.assert_allclose(pure.cov_params(), V, EXACT)
    assert result.df_inference["rare"] < (9.0 if by == "respondents" else 3.0)
    far = -scipy.stats.t.ppf(0.025, result.df_inference)
    np.testing.assert_allclose(result.conf_int()["upper"], result.params + far * result.bse, EXACT)
    np.testing.assert_allclose(
        result.t_test("rare = 0, x = 0").pvalue, result.pvalues[["rare", "x"]], EXACT
    )
    text = str(result.summary()).replace("\n  ", " ")
    assert "Satterthwaite" in text
    assert "few clusters or respondents have information on rare" in text
    if by == "respondents":
        _, df = reduced(matrix, model.endog, groups, places[1:])
        test = result.f_test("x = 0, rare = 0")
        b, V = result.params.iloc[1:], result.cov_params().iloc[1:, 1:]
        np.testing.assert_allclose(test.df_denom, df - 1.0, EXACT)
        statistic = b @ np.linalg.solve(V, b) * (df - 1.0) / (2.0 * df)
        np.testing.assert_allclose(test.statistic, statistic, EXACT)


def alike(seed: int) -> tuple[float, float]:
    """p-value of a covariate of ten of 200 without effect, and what HC3 says."""
    rng = np.random.default_rng([seed, 6])
    X = np.column_stack([np.ones(200), np.arange(200) < 10]).astype(float)
    reports = ldp.KRR((0, 1), epsilon=3.0).privatize((rng.random(200) < 0.2) + 0, rng)
    model = ldp.PrivatizedOLS(reports, X)
    return model.fit().pvalues.iloc[1], model.fit("HC3").pvalues.iloc[1]


def test_ten_respondents_who_report_alike_show_no_effect():
    """Nobody of the ten says yes, of the others a quarter: HC3 is sure, wrongly."""
    reports = ldp.KRR((0, 1), epsilon=3.0).parse("y", np.append([0] * 10, np.arange(190) % 4 == 0))
    X = np.column_stack([np.ones(200), np.arange(200) < 10]).astype(float)
    model = ldp.PrivatizedOLS(reports, X)
    assert model.fit("HC3").pvalues.iloc[1] < 1e-6
    assert model.fit().pvalues.iloc[1] > 0.05


@pytest.mark.slow
def test_rare_covariates_keep_the_level():
    """400 surveys, error .011 at .05; HC3, the control, is two errors above."""
    found = np.array([alike(seed) for seed in range(400)]) < 0.05
    assert found[:, 0].mean() < 0.05 + 2.0 * 0.011 < found[:, 1].mean()


def test_least_squares_have_the_tables_and_plots_of_other_regressions():
    X, codes = survey(60)
    result = ldp.PrivatizedOLS(observed_linear(codes), X, SCORES).fit()
    frame = result.summary_frame(alpha=0.1)
    assert frame.columns.tolist() == ["params", "bse", "lower", "upper", "pvalues"]
    pd.testing.assert_frame_equal(result.conf_int(0.1), frame[["lower", "upper"]])
    assert result.to_frame()["term"].tolist() == list(result.index) == result.names
    ax = result.plot("naive", constant=True)
    assert [text.get_text() for text in ax.get_yticklabels()] == result.names


def test_answers_are_predicted_as_from_every_regression():
    X, codes = survey(600)
    reports = ldp.KRR(LABELS, 2.0).privatize(np.array(LABELS)[codes], np.random.default_rng(3))
    result = ldp.PrivatizedOLS(reports, X, SCORES).fit()
    some = np.asarray(X)[:5]
    beta, V = np.asarray(result.params), np.asarray(result.cov_params())
    np.testing.assert_allclose(result.predict(some), some @ beta, rtol=1e-12)
    found = result.get_prediction(some)
    se = np.sqrt(np.einsum("ij,jk,ik->i", some, V, some))
    np.testing.assert_allclose(found[["mean", "se"]], np.column_stack([some @ beta, se]))
    mean = np.asarray(X).mean(axis=0)
    every = result.predictions()
    np.testing.assert_allclose(every.frame.loc["all", "mean"], mean @ beta)
    np.testing.assert_allclose(every.frame.loc["all", "se"], np.sqrt(mean @ V @ mean))
    effects = result.get_margeff()
    np.testing.assert_allclose(effects.margeff, result.params[effects.names])
    np.testing.assert_allclose(effects.margeff_se, result.bse[effects.names])
