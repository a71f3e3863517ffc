"""Maxima at infinity and several maxima, penalties, defaults of fits, odd data."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

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


def test_clusters_of_separated_answers() -> None:
    """No coefficient is finite, so that there is no information to share among clusters."""
    X = pd.DataFrame({"const": 1.0, "age": [1.0, 2.0, 3.0, 4.0] * 10})
    said = np.where(X["age"] > 2.0, "yes", "no")
    reports = ldp.Observed(("no", "yes")).privatize(said, np.random.default_rng(3))
    kinds = {"groups": np.arange(40) % 8}
    with pytest.warns(ldp.ConvergenceWarning, match="at infinity"):
        results = ldp.PrivatizedLogit(reports, X).fit(cov_type="cluster", cov_kwds=kinds)
    assert set(results.infinite) == {"const", "age"} and results.bse.isna().all()
