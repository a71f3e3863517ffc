"""Without privacy the regressions are statsmodels' own."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
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
def test_estimates_and_likelihoods(name: str) -> None:
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
def test_sandwiches(name: str, covariance: str) -> None:
    ours, theirs = pair(name, covariance)
    assert ours.cov_type == covariance
    np.testing.assert_allclose(ours.bse, theirs.bse, **CLOSE)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), **CLOSE)


@pytest.mark.parametrize("name", BINARY)
def test_wald_tests(name: str) -> None:
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
def test_margins(name: str) -> None:
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
def test_margins_written_out(method: str) -> None:
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


def test_margins_at_values_of_covariates() -> None:
    ours, theirs = pair("logit")
    one, other = (each.get_margeff(at="mean", atexog={1: 2.0}) for each in (ours, theirs))
    np.testing.assert_allclose(one.margeff, other.margeff, **CLOSE)
    np.testing.assert_allclose(one.margeff_se, other.margeff_se, rtol=1e-7)


def test_complementary_log_log() -> None:
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


def test_proportional_odds_by_newton() -> None:
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
def test_frequency_weights_are_repeated_rows(name: str) -> None:
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


def test_offset() -> None:
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
def test_public_predictors(name: str, method: str) -> None:
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
