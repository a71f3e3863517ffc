"""Maxima at infinity and several maxima, penalties, defaults of fits."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import (
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
    with pytest.warns(ConvergenceWarning, match=r"maximum at infinity.*z.*jeffreys"):
        results = model.fit()
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


def test_jeffreys_penalty_is_half_the_log_determinant():
    X, rng = covariates(200, 3), np.random.default_rng(4)
    reports = ldp.KRR((0, 1), 1.0).privatize((rng.random(200) < 0.4).astype(int), rng)
    model = ldp.PrivatizedLogit(reports, X)
    results = model.fit(penalty="jeffreys")

    def objective(beta: np.ndarray) -> float:
        pi = 1.0 / (1.0 + np.exp(-X.to_numpy() @ beta))
        e = np.exp(1.0)
        m = (1.0 + (e - 1.0) * pi) / (1.0 + e)
        slope = (e - 1.0) / (1.0 + e) * pi * (1.0 - pi)
        information = (X.to_numpy().T * (slope**2 / (m * (1.0 - m)))) @ X.to_numpy()
        y = reports.y
        return float(np.sum(np.where(y == 1, np.log(m), np.log(1.0 - m)))) + 0.5 * float(
            np.linalg.slogdet(information)[1]
        )

    top = objective(results.params.to_numpy())
    for j in range(2):
        for h in (-1e-3, 1e-3):
            moved = results.params.to_numpy().copy()
            moved[j] += h
            assert objective(moved) < top
    assert objective(model.fit().params.to_numpy()) < top


def test_a_profile_ends_where_the_penalised_likelihood_has_fallen():
    X, rng = covariates(300, 5), np.random.default_rng(6)
    reports = ldp.KRR((0, 1), 1.5).privatize((rng.random(300) < 0.4).astype(int), rng)
    model = ldp.PrivatizedLogit(reports, X)
    results = model.fit()
    penalised = model.fit(penalty="jeffreys")
    lower, upper = results.conf_int().loc["z"]
    target = model.penalised()
    for limit in (lower, upper):
        heights = [
            target.value(np.array([a, limit]))
            for a in penalised.params["const"] + np.linspace(-1.5, 1.5, 301)
        ]
        root = np.sqrt(2.0 * (penalised.value - max(heights)))
        assert abs(root - 1.959964) < 3e-3


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


def test_a_start_far_away_does_no_harm():
    X, rng = covariates(400, 15), np.random.default_rng(16)
    reports = ldp.KRR((0, 1), 2.0).privatize((rng.random(400) < 0.4).astype(int), rng)
    model = ldp.PrivatizedLogit(reports, X)
    far = model.fit(start_params=[1e6, 1e6])
    np.testing.assert_allclose(far.params, model.fit().params, rtol=1e-8, atol=1e-8)
