"""Likelihood estimates of joint tables and their information, against dense Kronecker channels."""

from __future__ import annotations

import warnings
from functools import reduce

import numpy as np
import pytest
from shared.variable_products import (
    LABELS,
    channels,
    dense,
    drawn,
    every_product,
    expected,
    law_of,
    model_of,
    random_law,
    survey,
    variables,
)

import ldpstats as ldp
from ldpstats.estimators.em import EM
from ldpstats.estimators.mle import MLE
from ldpstats.estimators.one_step import OneStep

# -- likelihood estimates ----------------------------------------------------------------------


@every_product
def test_likelihood_is_that_of_the_dense_channel(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs)
    ours, brute = model_of(pairs, n).likelihood(), dense(pairs, n)
    p = random_law(pairs, 5).reshape(-1)
    assert ours.loglike(p) == pytest.approx(brute.loglike(p), rel=1e-12)
    np.testing.assert_allclose(ours.score(p), brute.score(p), rtol=1e-10)
    np.testing.assert_allclose(ours.information(p), brute.information(p), rtol=1e-9)


@every_product
def test_mle_and_em_reach_the_dense_maximum(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs)
    model, brute = model_of(pairs, n), dense(pairs, n)
    best = MLE(tol=1e-10).solve(brute)
    default = model.fit()  # which keeps its certificate
    assert brute.gap_nats(default.fitted.estimate) == pytest.approx(default.gap_nats, abs=1e-6)
    assert default.method == "mle" and default.gap_nats <= 1e-3
    for method in (MLE(tol=1e-9), EM(tol=1e-9)):
        results = model.fit(method)
        assert results.converged
        assert brute.gap(results.fitted.estimate) <= 1.1e-9
        assert results.gap <= 1e-9
        # a gap of 1e-9 per report bounds the difference by 1e-9 n nats
        assert abs(results.llf - brute.loglike(best.p)) <= 1e-9 * n.sum() + 1e-8


def test_newton_steps_of_one_step_reach_the_interior_maximum() -> None:
    pairs = variables(("krappor", "krr"))
    P = random_law(pairs)
    law = law_of(pairs, P)
    n = np.random.default_rng(4).multinomial(200_000, law.reshape(-1)).reshape(law.shape)
    model = model_of(pairs, n)
    best = model.fit(MLE(tol=1e-12))
    assert not best.on_boundary
    newton = model.fit(OneStep(newton=4))
    np.testing.assert_allclose(newton.fitted.estimate, best.fitted.estimate, atol=1e-8)
    np.testing.assert_allclose(newton.bse, best.fitted.bse(), rtol=0.05)


def test_one_step_is_refused_where_small_strata_bias_it() -> None:
    # by 1.8 standard deviations in 64 strata of ten, by .7 in 64 of a hundred
    rng, words = np.random.default_rng(1), ["a", "b", "c"]
    rappor = ldp.RAPPOR(16, 2, 64, f=0.0, p=0.1, q=0.9)
    x = rappor.privatize(rng.choice(words, 640), rng)
    y = rappor.privatize(rng.choice(words, 640), rng, cohort=x.cohort)
    model = ldp.AssociationModel(x, y, candidates=(words, words))
    with pytest.raises(ldp.NotAvailable, match="64 strata"):
        model.fit("one_step")
    assert model.fit("mle").converged


def test_one_step_is_inversion_for_square_channels() -> None:
    # and so is its covariance, with its floor for combinations that were seen seldom
    krr, binary = ldp.KRR(3, 3.0), ldp.KRR(2, 1.0)
    table = [[500, 3], [40, 200], [0, 12]]
    model = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, binary)))
    with pytest.warns(ldp.MisfitWarning):
        one, linear = model.fit("one_step"), model.fit("inversion")
    np.testing.assert_allclose(one.params, linear.params, atol=1e-12)
    np.testing.assert_allclose(one.bse, linear.bse, rtol=1e-9)


def test_constrained_fits_have_no_covariance_and_do_not_enter_tests() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    free = model.fit()
    held = model.fit(MLE(constraints=lambda p: [p[0] == 0.2]))
    assert held.fitted.estimate[0] == pytest.approx(0.2, abs=1e-6)
    for method in ("lr", "fpe16"):  # the joint maximum is meant, not the constrained one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statistics = [r.test_independence(method).statistic for r in (held, free)]
        assert statistics[0] == pytest.approx(statistics[1], abs=0.01)
    # as for one variable: a frequency that is held has no standard error of the free one
    assert held.cov_type == "none (constrained)"
    for errors in ("bse", "bse_table"):
        with pytest.warns(ldp.LDPWarning, match="a constrained estimate has no standard errors"):
            assert np.isnan(np.asarray(getattr(held, errors))).all()
    assert "NOTE: a constrained estimate has no standard errors" in held.summary().as_text()


# -- information -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", LABELS, ids="-".join)
def test_expected_information_is_that_of_the_kronecker_channel(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs, nobs=20_000)
    results = model_of(pairs, n).fit(MLE(tol=1e-12))
    p = results.fitted.estimate
    Q = reduce(np.kron, channels(pairs))
    J = n.sum() * (Q / (p @ Q)) @ Q.T
    V = np.linalg.inv(J)
    assert results.cov_type == "expected"
    np.testing.assert_allclose(results.cov_params(), V - np.outer(p, p) / n.sum(), atol=1e-14)
    # (I1): J p = n, so that rows of the tangent covariance sum to zero
    np.testing.assert_allclose(J @ p, n.sum(), rtol=1e-9)
    np.testing.assert_allclose(results.cov_params().sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(results.cov_params("fpe16"), V, rtol=1e-8, atol=1e-14)
    refit = model_of(pairs, n).fit(MLE(tol=1e-12), cov_type="fpe16")
    assert refit.cov_type == "fpe16"
    np.testing.assert_allclose(refit.cov_params(), V, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("names", [("krappor", "krr"), ("orr-closed", "rappor-closed")])
def test_observed_information_on_the_tangent_space(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    P = random_law(pairs)
    law = law_of(pairs, P)
    n = np.random.default_rng(4).multinomial(100_000, law.reshape(-1)).reshape(law.shape)
    results = model_of(pairs, n).fit(MLE(tol=1e-12))
    assert results.cov_type == "observed"
    p, J = results.fitted.estimate, dense(pairs, n).information(results.fitted.estimate)
    assert p.min() > 0.0
    B = np.linalg.svd(np.ones((1, p.size)))[2][1:].T
    V = B @ np.linalg.inv(B.T @ J @ B) @ B.T
    np.testing.assert_allclose(results.cov_params(), V, rtol=1e-6, atol=1e-12)
    # (I1) at an interior maximum: the tangent covariance is J^-1 - p p' / n
    np.testing.assert_allclose(V, np.linalg.inv(J) - np.outer(p, p) / n.sum(), atol=1e-10)
    np.testing.assert_allclose(results.cov_params().sum(axis=0), 0.0, atol=1e-12)
    fpe16 = model_of(pairs, n).fit(MLE(tol=1e-12), cov_type="fpe16").cov_params()
    np.testing.assert_allclose(fpe16, np.linalg.inv(J), rtol=1e-6, atol=1e-12)


def test_dual_covariance_is_the_inverse_information_under_independence() -> None:
    # where X and Y are independent the dual estimate is as good as the maximum likelihood estimate
    for names in (("krr", "wide"), ("krappor", "krappor"), ("rappor-closed", "krr")):
        pairs = variables(names)
        p = np.outer([0.5, 0.3, 0.2], [0.25, 0.35, 0.4])
        model = expected(pairs, p, nobs=1e10)
        dual = model.fit("one_step").cov_params().to_numpy()
        best = model.fit("mle").cov_params().to_numpy()
        np.testing.assert_allclose(dual, best, rtol=1e-4, atol=1e-4 * np.abs(best).max())
