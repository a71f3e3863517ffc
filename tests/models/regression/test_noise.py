"""Regressions on privatised answers equal maxima that are found another way."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from models.regression import references
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

import ldpstats as ldp

Array = npt.NDArray[Any]

N = 400
CLOSE = {"rtol": 1e-6, "atol": 1e-7}  # the independent optimiser stops there
NAMES = ("a", "b", "c")
RECTANGULAR = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.1, 0.2], [0.1, 0.1, 0.4, 0.4]]
THREE: dict[str, list[Any]] = {  # groups of respondents
    "k-RR": [ldp.KRR(NAMES, 2.0)],
    "rectangular Q": [ldp.CustomMechanism(RECTANGULAR, NAMES)],
    "bits": [ldp.KRAPPOR(NAMES, 3.0)],
    "URR": [ldp.URR(NAMES, ("b",), 1.5)],
    "hashed labels": [ldp.ORR(4, 5, epsilon=2.5)],
    "hashed bits": [ldp.RAPPOR(6, 1, 4, f=0.0, p=0.2, q=0.8)],
    "different epsilon": [ldp.KRR(NAMES, 1.5), ldp.KRR(NAMES, 3.0), ldp.KRAPPOR(NAMES, 3.0)],
    "direct question": [ldp.Observed(NAMES), ldp.KRR(NAMES, 1.5)],
}
TWO = {
    "k-RR": [ldp.KRR(NAMES[:2], 1.5)],
    "forced response": [ldp.ForcedResponse(p_truth=0.6, p_yes=0.2, categories=NAMES[:2])],
    "direct question": [ldp.Observed(NAMES[:2]), ldp.Warner(epsilon=1.5, categories=NAMES[:2])],
}


@cache
def covariates() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    z = rng.normal(size=N)
    return pd.DataFrame({"const": 1.0, "z": z, "d": rng.integers(0, 2, N) + 0.0})


@cache
def truth(k: int) -> Array:
    """Answers that depend on the covariates."""
    rng, X = np.random.default_rng(22), covariates()
    latent = X.z - 0.6 * X.d + rng.logistic(size=N)
    return np.digitize(latent, [-0.7, 1.0][: k - 1])


def asked(groups: list[Any], k: int, seed: int = 23) -> list[ldp.Reports]:
    """Reports of the groups, which have equal shares of the respondents."""
    rng, y = np.random.default_rng(seed), np.array(NAMES)[truth(k)]
    parts = np.array_split(np.arange(N), len(groups))
    return [m.privatize(y[part], rng) for m, part in zip(groups, parts, strict=True)]


def candidates(groups: list[Any]) -> dict[str, Any]:
    return {"candidates": NAMES} if groups[0].is_open else {}


def flat(table: Any) -> Array:
    """Coefficients as a vector, one equation after the other."""
    return np.asarray(table, dtype=float).T.reshape(-1)


def equal(results: Any, value: references.Function, start: Array) -> None:
    """Estimates, standard errors and log-likelihood are those of the independent maximum."""
    best = references.maximum(value, start)
    assert results.converged and not len(results.infinite)
    np.testing.assert_allclose(flat(results.params), best, **CLOSE)
    np.testing.assert_allclose(
        flat(results.bse), references.standard_errors(value, best), rtol=1e-6
    )
    np.testing.assert_allclose(results.llf, value(best), rtol=1e-10)


# ---- a private response


@pytest.mark.parametrize(
    ("name", "link"),
    [("k-RR", "logit"), ("forced response", "probit"), ("direct question", "cloglog")],
)
def test_two_categories(name: str, link: str) -> None:
    reports, X = asked(TWO[name], 2), covariates()
    value = references.logit_like(X.to_numpy(), references.report_law(reports), link)
    ours = ldp.PrivatizedLogit(reports, X, link=link).fit(disp=False)
    equal(ours, value, np.zeros(3))


HASHED = {"hashed labels", "hashed bits"}  # which take seconds
QUICK = [pytest.param(name, marks=pytest.mark.slow) if name in HASHED else name for name in THREE]


@pytest.mark.parametrize("name", QUICK)
def test_three_categories(name: str) -> None:
    groups = THREE[name]
    reports, X, more = asked(groups, 3), covariates(), candidates(groups)
    A = references.report_law(reports, more.get("candidates"))
    ours = ldp.PrivatizedMNLogit(reports, X, **more).fit(disp=False)
    equal(ours, references.multinomial_like(X.to_numpy(), A), np.zeros(6))


@pytest.mark.parametrize("name", ["k-RR", "hashed bits", "different epsilon"])
def test_ordered_categories(name: str) -> None:
    groups = THREE[name]
    reports, X, more = asked(groups, 3), covariates()[["z", "d"]], candidates(groups)
    A = references.report_law(reports, more.get("candidates"))
    best = references.ordered_maximum(X.to_numpy(), A)
    ours = ldp.PrivatizedOrderedModel(reports, X, **more).fit(disp=False)
    equal(ours, references.ordered_like(X.to_numpy(), A), best)


# ---- Jeffreys' penalty, and intervals by its profile


def penalised() -> tuple[Any, references.Function, Array]:
    """A model of forced response with two covariates, and its penalised log-likelihood."""
    reports, X = asked(TWO["forced response"], 2), covariates()[["const", "z"]]
    Q, D = reports[0].mechanism.channel().matrix(), X.to_numpy()
    value = references.logit_like(D, references.report_law(reports))
    law = references.binary("logit")
    model = ldp.PrivatizedLogit(reports, X)
    return model, references.penalised(value, lambda b: law((D @ b)[:, None]) @ Q), D


def test_jeffreys_penalty() -> None:
    model, value, _ = penalised()
    results = model.fit(penalty="jeffreys", disp=False)
    best = references.best(value, np.zeros(2))
    np.testing.assert_allclose(results.params, best, rtol=1e-6, atol=1e-7)


def test_intervals_by_penalised_profile() -> None:
    """The ends are where twice the penalised log-likelihood is lower by the chi-square quantile."""
    model, value, _ = penalised()
    ends = model.fit(disp=False).conf_int(0.1).loc["z"]
    best = references.best(value, np.zeros(2))
    for end in ends:
        profile = minimize_scalar(
            lambda a, end=end: -value(np.array([a, end])), (best[0], best[0] + 0.1)
        )
        drop = 2.0 * (value(best) + profile.fun)
        np.testing.assert_allclose(drop, chi2.ppf(0.9, 1), rtol=3e-4)


# ---- private predictors

K = 3
OUTCOMES = ("linear", "logit", "poisson", "multinomial", "private")


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(one, marks=pytest.mark.slow) if one == "multinomial" else one
        for one in OUTCOMES
    ],
)
def test_private_predictor(outcome: str) -> None:
    rng, n = np.random.default_rng(31), N // 2
    z, job = covariates().z.to_numpy()[:n], truth(3)[:n]
    reports = {"job": ldp.KRR(NAMES, 3.0).privatize(np.array(NAMES)[job], rng)}
    eta = 0.4 * z + 1.2 * (job == 1) - 1.0 * (job == 2)
    y: Array = (eta + rng.logistic(size=n) > 0) + 0
    if outcome == "linear":
        y = eta + rng.normal(size=n)
    elif outcome == "poisson":
        y = rng.poisson(np.exp(eta))
    elif outcome == "multinomial":
        y = np.digitize(eta + rng.logistic(size=n), [-0.5, 0.7])
    seen: Any = y
    data, kind = pd.DataFrame({"z": z, "y": y}), outcome
    if outcome == "private":
        reports["y"] = ldp.KRR(("no", "yes"), 3.0).privatize(np.array(["no", "yes"])[y], rng)
        seen, kind = references.report_law(reports["y"]), "logit"
        del data["y"]
    elif outcome in ("logit", "multinomial"):
        seen = references.indicators(y, int(y.max()) + 1)
    designs = [np.column_stack([np.full((n, 3), [1, c == 1, c == 2]), z]) for c in range(K)]
    law, Z = references.report_law(reports["job"]), np.column_stack([np.ones(n), z])
    value = references.mixture(kind, seen, designs, [law], Z)
    model = ldp.regression("y ~ C(job) + z", data, reports=reports, model=kind)
    results = model.fit(method="mle", disp=False)
    extra = {"linear": 1, "multinomial": 4}.get(outcome, 0)
    best = references.maximum(value, np.zeros(4 + extra + 4))
    assert results.converged
    size = 8 if outcome == "multinomial" else 4
    np.testing.assert_allclose(flat(results.params), best[:size], **CLOSE)
    errors = references.standard_errors(value, best)
    if outcome == "linear":  # as of least squares
        errors = errors * np.sqrt(n / (n - 4))
    np.testing.assert_allclose(flat(results.bse), errors[:size], rtol=1e-6)
    np.testing.assert_allclose(flat(results.marginal_params), best[-4:], **CLOSE)


# ---- what changes nothing


def fit(reports: Any, X: pd.DataFrame, **more: Any) -> Any:
    return ldp.PrivatizedMNLogit(reports, X, **more).fit(disp=False)


def test_another_reference_category() -> None:
    """Coefficients are differences to those of the reference."""
    (reports,), X = asked(THREE["k-RR"], 3), covariates()
    turned = ldp.Reports((reports.y.astype(int) + 1) % 3, ldp.KRR(("c", "a", "b"), 2.0))
    one, other = fit(reports, X).params.to_numpy(), fit(turned, X).params.to_numpy()
    np.testing.assert_allclose(other[:, 0], -one[:, 1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other[:, 1], one[:, 0] - one[:, 1], rtol=1e-6, atol=1e-8)


def test_reversed_answers() -> None:
    """Of two categories or of ordered ones: all signs change."""
    for model, k, X in (
        (ldp.PrivatizedLogit, 2, covariates()),
        (ldp.PrivatizedOrderedModel, 3, covariates()[["z", "d"]]),
    ):
        (reports,) = asked([ldp.KRR(NAMES[:k], 2.0)], k)
        turned = ldp.Reports(k - 1 - reports.y.astype(int), ldp.KRR(NAMES[k - 1 :: -1], 2.0))
        one, other = (model(each, X).fit(disp=False) for each in (reports, turned))
        np.testing.assert_allclose(one.params[["z", "d"]], -other.params[["z", "d"]], rtol=1e-6)
        np.testing.assert_allclose(one.llf, other.llf, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "scale"), [("multinomial", 1e-4), ("logit", 1e5), ("ordered", 1e5)]
)
def test_units_of_covariates(name: str, scale: float) -> None:
    k = 2 if name == "logit" else 3
    (reports,) = asked([ldp.KRR(NAMES[:k], 2.0)], k)
    model = {"logit": ldp.PrivatizedLogit, "ordered": ldp.PrivatizedOrderedModel}
    X = covariates().drop(columns="const") if name == "ordered" else covariates()
    other = X.assign(z=scale * X.z)
    one, two = (
        model.get(name, ldp.PrivatizedMNLogit)(reports, each).fit(disp=False) for each in (X, other)
    )
    np.testing.assert_allclose(one.params.loc["z"], scale * two.params.loc["z"], rtol=1e-6)
    np.testing.assert_allclose(one.bse.loc["z"], scale * two.bse.loc["z"], rtol=1e-6)
    np.testing.assert_allclose(one.llf, two.llf, rtol=1e-10)
