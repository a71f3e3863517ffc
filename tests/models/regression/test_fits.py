"""Maxima at infinity and several maxima, penalties, defaults of fits, odd data."""

import warnings
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
from ldpstats import (
    ConvergenceWarning,
    InvalidArgument,
    MisfitWarning,
    NotAvailable,
    NotIdentified,
)


def covariates(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"const": 1.0, "z": rng.normal(size=n)})


def separated() -> tuple[ldp.Reports, pd.DataFrame]:
    """Answers that a covariate separates."""
    X = pd.DataFrame({"const": 1.0, "z": np.linspace(-1.0, 1.0, 40)})
    answers = np.where(X.z > 0.1, "yes", "no")
    return ldp.Observed(("no", "yes")).parse("y", answers), X


def test_separated_answers_are_named_and_a_penalty_makes_them_finite():
    reports, X = separated()
    model = ldp.PrivatizedLogit(reports, X)
    with pytest.warns(ConvergenceWarning, match=r"maximum at infinity.*z.*jeffreys") as warned:
        results = model.fit()
    assert warned[0].filename == __file__
    assert "z" in results.infinite and not results.converged
    assert results.bse[["z"]].isna().all()
    assert results.pvalues["z"] < 1e-6  # by the likelihood ratio
    finite = model.fit(penalty="jeffreys")
    assert finite.converged and not finite.infinite and abs(finite.params["z"]) < 20.0
    lower, upper = results.conf_int().loc["z"]
    assert 0.0 < lower < finite.params["z"] < upper < np.inf


def test_small_surveys_find_the_highest_maximum_and_name_infinite_ones():
    several = large = 0
    grid = [np.array([a, b]) for a in np.linspace(-6, 6, 9) for b in np.linspace(-12.0, 12.0, 13)]
    for seed in range(8):
        X, rng = covariates(60, seed), np.random.default_rng([seed, 2])
        reports = ldp.KRR((0, 1), 0.7).privatize((rng.random(60) < 0.3).astype(int), rng)
        model = ldp.PrivatizedLogit(reports, X)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            results = model.fit()
        several += results.n_maxima > 1
        large += abs(results.params["z"]) > 8.0
        assert abs(results.params["z"]) < 8.0 or met
        assert bool(results.infinite) == (not results.converged)
        best = max(model.likelihood.value(theta) for theta in grid)
        # an infinite maximum is left within half a unit of the log-likelihood
        assert results.value >= best - (0.5 if results.infinite else 1e-9)
    assert several >= 1
    assert large >= 1  # or nothing was tried


def test_numbers_on_private_predictors_are_not_taken_for_a_mixture():
    # to a mixture uniform ages are normal laws, with effects of 20 years
    rng = np.random.default_rng(7)
    jobs = ("a", "b", "c", "d")
    job = rng.choice(jobs, p=[0.4, 0.3, 0.2, 0.1], size=5000)
    table = pd.DataFrame({"age": rng.integers(18, 80, 5000)})
    reports = ldp.KRR(jobs, 1.0).privatize(job, rng)
    model = ldp.regression("age ~ job", table, {"job": reports})
    default = model.fit()
    assert default.method == "corrected"
    assert (default.params / default.bse)[1:].abs().max() < 3.5
    with pytest.warns(MisfitWarning, match="method='corrected'"):
        found = model.fit("mle")
    assert (found.params / found.bse)[1:].abs().max() > 15.0  # the control


def test_low_rank_and_aliased_models_are_refused_by_name():
    X, rng = covariates(50, 8), np.random.default_rng(9)
    same = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]], ("no", "yes"))
    with pytest.raises(NotIdentified, match=r"rank below"):
        ldp.PrivatizedLogit(same.privatize(rng.choice(["no", "yes"], 50), rng), X)
    reports = ldp.KRR((0, 1), 1.0).privatize(rng.integers(0, 2, 50), rng)
    with pytest.raises(NotIdentified, match=r"twice"):
        ldp.PrivatizedLogit(reports, X.assign(twice=2.0 * X.z - 1.0))
    ldp.PrivatizedLogit(reports, X.assign(year=2015.0 + X.z**2))  # far from zero, but no alias


@pytest.mark.parametrize(
    ("how", "error", "match"),
    [
        ({"method": "bfgs"}, InvalidArgument, "method='bfgs'"),
        ({"penalty": "ridge"}, InvalidArgument, "penalty='ridge'"),
        ({"cov_type": "HC9"}, InvalidArgument, "cov_type='HC9'"),
        ({"cov_type": "cluster"}, InvalidArgument, "groups"),
        ({"cov_type": "cluster", "cov_kwds": {"groups": [1, 2]}}, InvalidArgument, "groups"),
        ({"cov_kwds": {"groups": [1] * 50}}, InvalidArgument, "groups"),
        ({"cov_type": "HC0", "cov_kwds": {"lags": 2}}, InvalidArgument, "lags"),
        ({"cov_type": "HC0", "cov_kwds": {"use_correction": True}}, InvalidArgument, "cluster"),
        ({"start_params": [1.0]}, InvalidArgument, "start_params"),
        ({"start_params": "zero"}, InvalidArgument, "start_params"),
        ({"maxiter": 0}, InvalidArgument, "maxiter"),
        ({"method": "em", "penalty": "jeffreys"}, InvalidArgument, "penalty"),
        ({"method": "corrected", "cov_type": "nonrobust"}, InvalidArgument, "cov_type"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(how, error, match):
    X, rng = covariates(50, 8), np.random.default_rng(9)
    reports = ldp.KRR((0, 1), 1.0).privatize(rng.integers(0, 2, 50), rng)
    with pytest.raises(error, match=match):
        ldp.PrivatizedLogit(reports, X).fit(**how)


def test_robust_covariances_have_wald_tests_alone():
    X, rng = covariates(400, 10), np.random.default_rng(11)
    reports = ldp.KRR((0, 1), 2.0).privatize(rng.integers(0, 2, 400), rng)
    results = ldp.PrivatizedLogit(reports, X).fit(cov_type="HC0")
    assert "HC0" in results.why_wald
    pd.testing.assert_frame_equal(results.conf_int(), results.conf_int(method="wald"))
    pd.testing.assert_series_equal(results.pvalues, results.wald_pvalues)
    with pytest.raises(NotAvailable, match="wald_test"):
        results.lr_test("z")
    table = results.term_tests()
    np.testing.assert_allclose(table.loc["z", "Wald"], results.tvalues["z"] ** 2)
    np.testing.assert_allclose(table.loc["z", "pvalue"], results.wald_pvalues["z"])
    with pytest.raises(NotAvailable, match="'wald'"):
        results.conf_int(method="profile")


def test_what_needs_the_answers_themselves_says_so():
    X, rng = covariates(100, 12), np.random.default_rng(13)
    results = ldp.PrivatizedLogit(ldp.KRR((0, 1), 2.0).privatize([0, 1] * 50, rng), X).fit()
    for name in ("resid_pearson", "get_influence", "pred_table"):
        with pytest.raises(AttributeError, match="nobody has seen"):
            getattr(results, name)
    assert not hasattr(results, "resid_response")
    with pytest.raises(AttributeError, match="no attribute"):
        results.nothing  # noqa: B018


def test_equal_rows_are_one():
    rng = np.random.default_rng(14)
    X = pd.DataFrame({"const": 1.0, "d": rng.integers(0, 3, 300).astype(float)})
    reports = ldp.KRR(("a", "b", "c"), 2.0).privatize(rng.choice(["a", "b", "c"], 300), rng)
    model = ldp.PrivatizedMNLogit(reports, X)
    assert model.likelihood.n == 9
    apart = ldp.PrivatizedMNLogit(reports, X + 1e-11 * rng.normal(size=(300, 1)) * [0.0, 1.0])
    assert apart.likelihood.n == 300
    np.testing.assert_allclose(model.fit().params, apart.fit().params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.fit().bse, apart.fit().bse, rtol=1e-6)


NO_YES = ("no", "yes")


def logistic(X, beta, rng, epsilon=2.0):
    yes = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-np.asarray(X) @ beta))
    return ldp.KRR(NO_YES, epsilon).privatize(np.where(yes, "yes", "no"), rng)


def test_a_maximum_at_infinity_of_a_rare_covariate_is_named():
    # fewer "yes" than randomisation alone gives: one unit is few of its standard deviations
    rng = np.random.default_rng(1)
    rare = np.arange(300) < 15
    answers = np.where(rare, "no", rng.choice(NO_YES, 300))
    reports = ldp.KRR(NO_YES, 2.0).parse("q", answers)
    X = pd.DataFrame({"const": 1.0, "rare": rare})
    with pytest.warns(ConvergenceWarning, match="rare"):
        found = ldp.PrivatizedLogit(reports, X).fit()
    assert found.infinite == ("rare",)
    assert np.isnan(found.bse["rare"]) and found.bse["const"] > 0.0
    assert found.pvalues["rare"] < 0.01


def test_dummies_of_all_levels_are_a_constant():
    middle = 1e5
    rng = np.random.default_rng(2)
    n = 1500
    z, north = rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
    plain = pd.DataFrame({"const": 1.0, "north": north, "z": z})
    reports = logistic(plain, [-0.5, 0.0, 0.8], rng)
    far = pd.DataFrame({"n": north, "s": 1.0 - north, "year": middle + 5.0 * z})
    expected, found = (
        ldp.PrivatizedLogit(reports, plain).fit(),
        ldp.PrivatizedLogit(reports, far).fit(),
    )
    assert found.infinite == () and found.converged
    assert found.llf == pytest.approx(expected.llf, abs=1e-7)
    assert found.params["year"] == pytest.approx(expected.params["z"] / 5.0, rel=1e-5)
    assert found.bse["year"] == pytest.approx(expected.bse["z"] / 5.0, rel=1e-5)
    assert found.df_model == expected.df_model == 2.0
    assert found.llr_pvalue == pytest.approx(expected.llr_pvalue, rel=1e-5)


def test_penalised_maxima_are_reached_where_reports_say_little():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    model = ldp.PrivatizedLogit(ldp.KRR(2, 0.5).privatize(rng.integers(0, 2, 60), rng), X)
    found = model.fit(penalty="jeffreys")
    assert found.converged and np.isfinite(found.bse).all()
    objective, theta = model.objective("jeffreys"), found.theta
    steps = 1e-4 * np.eye(5)
    slope = [(objective.value(theta + h) - objective.value(theta - h)) / 2e-4 for h in steps]
    assert np.abs(slope).max() < 1e-6
    second = [
        [
            objective.value(theta + 10 * (a + b))
            - objective.value(theta + 10 * (a - b))
            - objective.value(theta - 10 * (a - b))
            + objective.value(theta - 10 * (a + b))
            for b in steps
        ]
        for a in steps
    ]  # standard errors are of the penalised likelihood, however many coefficients there are
    V = np.linalg.inv(-np.array(second) / 4e-6)
    assert found.cov_params().to_numpy() == pytest.approx(V, rel=2e-2, abs=2e-2 * V.max())


def test_rows_that_stand_for_nobody():
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=400)})
    reports = logistic(X, [0.0, 0.5], rng)
    times = rng.integers(0, 3, 400)
    rows = np.repeat(np.arange(400), times)
    for how in ({"cov_type": "HC0"}, {"cov_type": "cluster"}, {"method": "corrected"}):
        one, each = dict(how), dict(how)
        if "cluster" in how.values():
            one["cov_kwds"] = {"groups": np.arange(400) % 20}
            each["cov_kwds"] = {"groups": rows % 20}
        found = ldp.PrivatizedLogit(reports, X, freq_weights=times).fit(**one)
        expected = ldp.PrivatizedLogit(reports[rows], X.iloc[rows]).fit(**each)
        assert found.bse.to_numpy() == pytest.approx(expected.bse.to_numpy(), rel=1e-8)
    with pytest.raises(NotIdentified, match="first"):
        first = (np.arange(400) == 0).astype(float)
        ldp.PrivatizedLogit(reports, X.assign(first=first), freq_weights=1 - first)


def test_clusters_of_separated_answers():
    """No coefficient is finite, so that there is no information to share among clusters."""
    X = pd.DataFrame({"const": 1.0, "age": [1.0, 2.0, 3.0, 4.0] * 10})
    said = np.where(X["age"] > 2.0, "yes", "no")
    reports = ldp.Observed(("no", "yes")).privatize(said, np.random.default_rng(3))
    kinds = {"groups": np.arange(40) % 8}
    with pytest.warns(ldp.ConvergenceWarning, match="at infinity"):
        results = ldp.PrivatizedLogit(reports, X).fit(cov_type="cluster", cov_kwds=kinds)
    assert set(results.infinite) == {"const", "age"} and results.bse.isna().all()


# Regressions on privatised answers equal maxima that are found another way.

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
def covariates_noise() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    z = rng.normal(size=N)
    return pd.DataFrame({"const": 1.0, "z": z, "d": rng.integers(0, 2, N) + 0.0})


@cache
def truth(k: int) -> Array:
    """Answers that depend on the covariates."""
    rng, X = np.random.default_rng(22), covariates_noise()
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
def test_two_categories(name, link):
    reports, X = asked(TWO[name], 2), covariates_noise()
    value = references.logit_like(X.to_numpy(), references.report_law(reports), link)
    ours = ldp.PrivatizedLogit(reports, X, link=link).fit(disp=False)
    equal(ours, value, np.zeros(3))


HASHED = {"hashed labels", "hashed bits"}  # which take seconds

QUICK = [pytest.param(name, marks=pytest.mark.slow) if name in HASHED else name for name in THREE]


@pytest.mark.parametrize("name", QUICK)
def test_three_categories(name):
    groups = THREE[name]
    reports, X, more = asked(groups, 3), covariates_noise(), candidates(groups)
    A = references.report_law(reports, more.get("candidates"))
    ours = ldp.PrivatizedMNLogit(reports, X, **more).fit(disp=False)
    equal(ours, references.multinomial_like(X.to_numpy(), A), np.zeros(6))


@pytest.mark.parametrize("name", ["k-RR", "hashed bits", "different epsilon"])
def test_ordered_categories(name):
    groups = THREE[name]
    reports, X, more = asked(groups, 3), covariates_noise()[["z", "d"]], candidates(groups)
    A = references.report_law(reports, more.get("candidates"))
    best = references.ordered_maximum(X.to_numpy(), A)
    ours = ldp.PrivatizedOrderedModel(reports, X, **more).fit(disp=False)
    equal(ours, references.ordered_like(X.to_numpy(), A), best)


# ---- Jeffreys' penalty, and intervals by its profile
def penalised() -> tuple[Any, references.Function, Array]:
    """A model of forced response with two covariates, and its penalised log-likelihood."""
    reports, X = asked(TWO["forced response"], 2), covariates_noise()[["const", "z"]]
    Q, D = reports[0].mechanism.channel().matrix(), X.to_numpy()
    value = references.logit_like(D, references.report_law(reports))
    law = references.binary("logit")
    model = ldp.PrivatizedLogit(reports, X)
    return model, references.penalised(value, lambda b: law((D @ b)[:, None]) @ Q), D


def test_jeffreys_penalty():
    model, value, _ = penalised()
    results = model.fit(penalty="jeffreys", disp=False)
    best = references.best(value, np.zeros(2))
    np.testing.assert_allclose(results.params, best, rtol=1e-6, atol=1e-7)


def test_intervals_by_penalised_profile():
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
def test_private_predictor(outcome):
    rng, n = np.random.default_rng(31), N // 2
    z, job = covariates_noise().z.to_numpy()[:n], truth(3)[:n]
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


def test_another_reference_category():
    """Coefficients are differences to those of the reference."""
    (reports,), X = asked(THREE["k-RR"], 3), covariates_noise()
    turned = ldp.Reports((reports.y.astype(int) + 1) % 3, ldp.KRR(("c", "a", "b"), 2.0))
    one, other = fit(reports, X).params.to_numpy(), fit(turned, X).params.to_numpy()
    np.testing.assert_allclose(other[:, 0], -one[:, 1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other[:, 1], one[:, 0] - one[:, 1], rtol=1e-6, atol=1e-8)


def test_reversed_answers():
    """Of two categories or of ordered ones: all signs change."""
    for model, k, X in (
        (ldp.PrivatizedLogit, 2, covariates_noise()),
        (ldp.PrivatizedOrderedModel, 3, covariates_noise()[["z", "d"]]),
    ):
        (reports,) = asked([ldp.KRR(NAMES[:k], 2.0)], k)
        turned = ldp.Reports(k - 1 - reports.y.astype(int), ldp.KRR(NAMES[k - 1 :: -1], 2.0))
        one, other = (model(each, X).fit(disp=False) for each in (reports, turned))
        np.testing.assert_allclose(one.params[["z", "d"]], -other.params[["z", "d"]], rtol=1e-6)
        np.testing.assert_allclose(one.llf, other.llf, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "scale"), [("multinomial", 1e-4), ("logit", 1e5), ("ordered", 1e5)]
)
def test_units_of_covariates(name, scale):
    k = 2 if name == "logit" else 3
    (reports,) = asked([ldp.KRR(NAMES[:k], 2.0)], k)
    model = {"logit": ldp.PrivatizedLogit, "ordered": ldp.PrivatizedOrderedModel}
    X = covariates_noise().drop(columns="const") if name == "ordered" else covariates_noise()
    other = X.assign(z=scale * X.z)
    one, two = (
        model.get(name, ldp.PrivatizedMNLogit)(reports, each).fit(disp=False) for each in (X, other)
    )
    np.testing.assert_allclose(one.params.loc["z"], scale * two.params.loc["z"], rtol=1e-6)
    np.testing.assert_allclose(one.bse.loc["z"], scale * two.bse.loc["z"], rtol=1e-6)
    np.testing.assert_allclose(one.llf, two.llf, rtol=1e-10)
