"""Goodness of fit, and inference where reports are few."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver", "cook")
KRR = ldp.KRR(JOBS, epsilon=1.0)
COUNTS = KRR.counts([600, 500, 480, 420])
MODEL = ldp.FrequencyModel(COUNTS)


def fit_pvalues(draw, R: int) -> np.ndarray:  # type: ignore[no-untyped-def]
    """p-values of the goodness-of-fit line over R simulated surveys."""
    fits = [ldp.FrequencyModel(draw()).fit("inversion").goodness_of_fit for _ in range(R)]
    return np.array([fit.pvalue for fit in fits])


def test_square_channels_are_seldom_doubted_without_reason() -> None:
    # most frequencies are zero, where estimates are negative half of the time; 4 standard errors
    krr, rng, R = ldp.KRR(20, 3.0), np.random.default_rng(6), 300
    p = np.zeros(20)
    p[:3] = 0.5, 0.3, 0.2
    pvalues = fit_pvalues(lambda: krr.draw(p, 108, rng), R)
    for level in (0.05, 0.01):
        assert np.mean(pvalues < level) < level + 4 * np.sqrt(level / R)


def test_sources_that_agree_are_seldom_doubted() -> None:
    a, b, rng, R = ldp.KRR(30, 3.0), ldp.KRR(30, 2.0), np.random.default_rng(6), 120
    p = np.full(30, 1 / 30)
    pvalues = fit_pvalues(lambda: [a.draw(p, 200, rng), b.draw(p, 200, rng)], R)
    assert np.mean(pvalues < 0.05) < 0.05 + 4 * np.sqrt(0.05 / R)


def test_impossible_counts_are_doubted() -> None:
    # all 1000 reports alike, where the noise alone would make 700 others
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel(ldp.KRR(5, 1.0).counts([0, 0, 1000, 0, 0])).fit().goodness_of_fit
    assert fit is not None
    expected = 5 * stats.binom.cdf(0, 1000, ldp.KRR(5, 1.0).channel().b)
    assert fit.pvalue == pytest.approx(expected, rel=1e-6)
    with pytest.warns(ldp.MisfitWarning):
        certain = ldp.FrequencyModel(ldp.Mangat(p=0.6).counts([100, 0])).fit().goodness_of_fit
    assert certain is not None and certain.pvalue < 1e-9


def test_several_sources_keep_the_test_of_each() -> None:
    wrong = ldp.KRAPPOR(3, 1.0).counts([10, 10, 10], nobs=100)  # far too few ones
    right = ldp.KRAPPOR(3, 2.0).counts([55, 50, 50], nobs=100)
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel([wrong, right]).fit().goodness_of_fit
    assert fit is not None and fit.pvalue < 1e-6


def test_groups_of_one_mechanism_are_added_up() -> None:
    halves = [KRR.counts([300, 250, 240, 210])] * 2
    pd.testing.assert_frame_equal(
        ldp.FrequencyModel(halves).fit().conf_int(), MODEL.fit().conf_int()
    )


def test_a_category_that_was_not_seen_is_no_certain_zero() -> None:
    krr = ldp.KRR(("a", "b", "c"), 3.0)
    results = ldp.FrequencyModel(krr.counts([10, 5, 0])).fit()
    assert results.linear_bse["c"] > 0.0 and results.pvalues["c"] > 0.5
    assert results.wald_test("c = 0").pvalue > 0.05
    pooled = ldp.FrequencyModel(
        [krr.counts([10, 5, 0]), ldp.KRR(krr.categories, 2.0).counts([6, 4, 0])]
    )
    assert pooled.fit().conf_int().loc["c", "upper"] > 0.0


def test_loglikelihood_is_of_distributions_only() -> None:
    counts = ldp.KRR(4, 1.0).counts([40, 10, 5, 5])
    assert np.isnan(ldp.FrequencyModel(counts).fit("nnls").llf)
    assert np.isfinite(ldp.FrequencyModel(counts).fit("projected").llf)


def test_reports_that_no_category_can_make_are_refused() -> None:
    mechanism = ldp.CustomMechanism([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]], outputs=("x", "y", "z"))
    with pytest.raises(ldp.InvalidArgument, match="'z'"):
        ldp.FrequencyModel(mechanism.counts([50, 50, 30]))


def test_a_distribution_on_the_boundary_is_tested() -> None:
    certain = ldp.FrequencyModel(ldp.ForcedResponse(p_truth=0.5, p_yes=0.5).counts([30, 70]))
    assert certain.test_distribution([0.0, 1.0]).pvalue == 0.0  # no "no" is possible


def test_bootstrap_wants_the_estimator_that_was_used() -> None:
    from ldpstats.estimators import MLE

    estimator = MLE(constraints=lambda p: [p[0] == 0.3])
    results = MODEL.fit(estimator)
    options = {"method": "bootstrap", "model": MODEL, "n_boot": 39}
    with pytest.raises(ldp.InvalidArgument, match="estimator"):
        results.conf_int(rng=np.random.default_rng(1), **options)
    ci = results.conf_int(rng=np.random.default_rng(1), estimator=estimator, **options)
    np.testing.assert_allclose(ci.loc["nurse"], 0.3, atol=1e-6)
    with pytest.raises(ldp.NotAvailable, match="constrained"):
        results.conf_int(method="profile", model=MODEL)
    with pytest.raises(ldp.NotAvailable, match="no covariance"):
        results.conf_int(method="wald-mle")


def test_a_design_that_protects_nobody_says_so() -> None:
    assert ldp.Mangat(p=1e-20).epsilon == np.inf


def test_clients_refuse_a_sampler_that_leaks() -> None:
    # P(yes | no) = 1e-13 is not held to nine digits by 64-bit thresholds
    design = ldp.ForcedResponse(p_truth=0.999999999999, p_yes=1e-13)
    if not design.audit().agrees:
        with pytest.raises(ldp.InvalidArgument, match="leaks"):
            design.client()

    class Leaky(ldp.KRR):
        def _keep(self) -> int:
            return super()._keep() + (1 << 40)  # of 2^64: too often by one in 16 million

    assert not Leaky(3, 1.0).audit().agrees
    with pytest.raises(ldp.InvalidArgument, match="leaks"):
        Leaky(3, 1.0).client()
