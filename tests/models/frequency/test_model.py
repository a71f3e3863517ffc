"""FrequencyModel and FrequencyResults: what a statistician does with a fit."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import ldpstats as ldp
from ldpstats.estimators import ESTIMATORS

JOBS = ("nurse", "teacher", "driver", "cook")
KRR = ldp.KRR(JOBS, epsilon=1.0)
COUNTS = KRR.counts([600, 500, 480, 420])
MODEL = ldp.FrequencyModel(COUNTS)


def test_interior_mle_is_the_inversion_with_the_multinomial_covariance() -> None:
    results = MODEL.fit()
    Q = KRR.channel().matrix()
    m = COUNTS.vector() / COUNTS.nobs
    np.testing.assert_allclose(results.params, np.linalg.solve(Q.T, m), atol=1e-12)
    V = (np.diag(m) - np.outer(m, m)) / COUNTS.nobs
    inverse = np.linalg.inv(Q)
    np.testing.assert_allclose(results.cov_params(), inverse.T @ V @ inverse, atol=1e-12)
    np.testing.assert_allclose(results.bse**2, np.diag(results.cov_params()), atol=1e-15)
    assert results.llf == pytest.approx(float(COUNTS.vector() @ np.log(m)))


def test_covariance_of_fpe16_overstates_by_the_outer_product() -> None:
    results = MODEL.fit()
    extra = np.outer(results.params, results.params) / results.nobs
    np.testing.assert_allclose(
        results.cov_params("fpe16") - results.cov_params(), extra, atol=1e-15
    )
    refitted = MODEL.fit(cov_type="fpe16")
    np.testing.assert_allclose(refitted.cov_params(), results.cov_params("fpe16"), atol=1e-12)


def test_exact_intervals_are_clopper_pearson_mapped() -> None:
    results = MODEL.fit()
    Q = KRR.channel()
    low, high = proportion_confint(COUNTS.vector(), COUNTS.nobs, method="beta")
    expected = (np.column_stack([low, high]) - Q.b) / Q.a
    np.testing.assert_allclose(results.conf_int(clip=False), expected, atol=1e-9)
    np.testing.assert_allclose(results.conf_int(), np.clip(expected, 0.0, 1.0), atol=1e-9)


def test_simultaneous_intervals_are_wider_in_the_stated_way() -> None:
    results = MODEL.fit()
    bonferroni = results.conf_int(0.05, simultaneous="bonferroni")
    pd.testing.assert_frame_equal(bonferroni, results.conf_int(0.05 / 4))
    scheffe = results.conf_int(0.05, simultaneous="scheffe", clip=False)
    half = np.sqrt(stats.chi2.isf(0.05, 3)) * results.linear_bse
    np.testing.assert_allclose(scheffe["upper"] - results.linear_params, half, rtol=1e-12)


def test_warner_matches_the_textbook() -> None:
    # Warner (1965): pi = (lambda - (1 - P)) / (2 P - 1), Var = lambda (1 - lambda)/(n (2P - 1)^2)
    P, n, yes = 0.75, 400, 180
    design = ldp.Warner(epsilon=np.log(P / (1 - P)))
    results = ldp.FrequencyModel(design.counts([n - yes, yes])).fit("inversion")
    share = yes / n
    assert results.params["yes"] == pytest.approx((share - (1 - P)) / (2 * P - 1))
    assert results.bse["yes"] == pytest.approx(np.sqrt(share * (1 - share) / n) / (2 * P - 1))


@pytest.mark.parametrize(
    ("design", "estimate"),
    [
        (ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6), (0.4 - 1 / 6) / (4 / 6)),
        (ldp.UnrelatedQuestion(p=0.7, prevalence=0.25), (0.4 - 0.3 * 0.25) / 0.7),
        (ldp.Mangat(p=0.7), (0.4 - 0.3) / 0.7),
    ],
)
def test_designs_match_their_textbook_estimators(design: ldp.Mechanism, estimate: float) -> None:
    results = ldp.FrequencyModel(design.counts([600, 400])).fit()
    assert results.params["yes"] == pytest.approx(estimate, abs=1e-10)
    slope = design.channel().matrix()[1, 1] - design.channel().matrix()[0, 1]
    assert results.bse["yes"] == pytest.approx(np.sqrt(0.4 * 0.6 / 1000) / slope, rel=1e-9)


def test_binary_designs_have_exact_intervals_for_both_answers() -> None:
    results = ldp.FrequencyModel(
        ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6).counts([600, 400])
    ).fit()
    ci = results.conf_int(clip=False)
    np.testing.assert_allclose(ci.loc["no"], 1 - ci.loc["yes", ["upper", "lower"]], atol=1e-9)


def test_string_hypotheses_equal_matrices() -> None:
    results = MODEL.fit()
    text = results.t_test("nurse = cook, teacher - driver = 0.1")
    matrix = results.t_test((np.array([[1, 0, 0, -1], [0, 1, -1, 0]]), [0.0, 0.1]))
    np.testing.assert_allclose(text.pvalue, matrix.pvalue)
    V = results.linear_cov.to_numpy()
    R = np.array([1.0, 0, 0, -1])
    assert text.effect[0] == pytest.approx(R @ results.linear_params)
    assert text.sd.ravel()[0] == pytest.approx(np.sqrt(R @ V @ R))
    numbers = ldp.FrequencyModel(ldp.KRR(3, 1.0).counts([50, 30, 20])).fit()
    assert numbers.t_test("p[0] = p[2]").effect[0] == pytest.approx(
        numbers.linear_params[0] - numbers.linear_params[2]
    )


def test_given_distribution_is_pearson_on_the_reports() -> None:
    p0 = np.array([0.4, 0.3, 0.2, 0.1])
    test = MODEL.test_distribution(p0)
    reference = stats.chisquare(COUNTS.vector(), COUNTS.nobs * (p0 @ KRR.channel().matrix()))
    assert test.statistic == pytest.approx(reference.statistic, rel=1e-10)
    assert test.pvalue == pytest.approx(reference.pvalue, rel=1e-9)
    shuffled = pd.Series(p0, index=JOBS).sample(frac=1, random_state=1)
    assert MODEL.test_distribution(shuffled).pvalue == pytest.approx(test.pvalue)


def test_sources_of_different_epsilon_share_one_likelihood() -> None:
    rng = np.random.default_rng(7)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    mechanisms = [ldp.KRR(JOBS, 1.0), ldp.KRR(JOBS, 3.0), ldp.KRAPPOR(JOBS, 2.0)]
    codes = [rng.choice(JOBS, p=p, size=n) for n in (3_000, 1_000, 2_000)]
    reports = [m.privatize(v, rng) for m, v in zip(mechanisms, codes, strict=True)]
    together = ldp.FrequencyModel(reports).fit()
    assert together.nobs == 6_000 and together.converged and together.gap < 1e-9
    # the joint score is the sum of the parts' and vanishes on the tangent space
    likelihood = ldp.FrequencyModel(reports).likelihood()
    np.testing.assert_allclose(likelihood.score(together.params.to_numpy()) / 6_000, 1.0, atol=1e-6)
    alone = [ldp.FrequencyModel(r).fit() for r in reports]
    assert np.all(together.bse < np.min([a.bse for a in alone], axis=0))
    # information adds up: precision of the first category within 20 % of the sum of the parts'
    precision = sum(1 / a.bse["nurse"] ** 2 for a in alone)
    assert 1 / together.bse["nurse"] ** 2 == pytest.approx(precision, rel=0.2)
    assert np.all(np.abs(together.linear_params - p) < 5 * together.linear_bse)
    assert together.goodness_of_fit is not None and together.goodness_of_fit.pvalue > 1e-4


def test_reports_of_another_channel_are_noticed() -> None:
    # negative control of the goodness-of-fit line: epsilon 1 analysed as epsilon 2
    rng = np.random.default_rng(8)
    made = ldp.KRAPPOR(6, epsilon=1.0).privatize(np.zeros(4_000, int), rng)
    wrong = ldp.Reports(made.y, ldp.KRAPPOR(6, epsilon=2.0))
    for counts in (wrong.tally(), wrong.tally(bits=True)):
        with pytest.warns(ldp.MisfitWarning, match="the reports were made by this mechanism"):
            fit = ldp.FrequencyModel(counts).fit().goodness_of_fit
        assert fit is not None and fit.pvalue < 1e-6
    right = ldp.FrequencyModel(made).fit().goodness_of_fit
    assert right is not None and right.pvalue > 1e-3


def test_bit_sums_default_to_inversion_and_refuse_likelihoods() -> None:
    counts = ldp.KRAPPOR(JOBS, 1.0).counts([360, 310, 270, 290], nobs=700)
    results = ldp.FrequencyModel(counts).fit()
    assert results.method == "inversion" and np.isnan(results.llf)
    with pytest.raises(ldp.NotAvailable, match="patterns"):
        ldp.FrequencyModel(counts).fit("em")


def test_detected_controls_over_all_categories() -> None:
    krr = ldp.KRR(50, epsilon=2.0)
    rng = np.random.default_rng(9)
    p = np.zeros(50)
    p[:5] = 0.2
    results = ldp.FrequencyModel(krr.draw(p, 20_000, rng)).fit()
    for method in ("bonferroni", "holm", "bh"):
        # at this level a false detection among the 45 absent has probability below .002
        assert list(results.detected(0.001, method)) == [0, 1, 2, 3, 4]
    tally = results.exact.tally  # type: ignore[union-attr]
    reference = stats.binom.sf(tally - 1, 20_000, krr.channel().b)
    np.testing.assert_allclose(results.presence_pvalues(), reference, rtol=1e-9, atol=1e-300)


def test_boundary_methods_warn_and_defaults_do_not() -> None:
    counts = KRR.counts([900, 500, 480, 330])
    results = ldp.FrequencyModel(counts).fit()
    assert results.on_boundary
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.conf_int()
    with pytest.warns(ldp.BoundaryWarning):
        results.conf_int(method="wald-mle")
    with pytest.warns(ldp.BoundaryWarning):
        profile = results.conf_int(method="profile", model=ldp.FrequencyModel(counts))
    assert profile.loc["cook", "lower"] == 0.0 and 0.0 < profile.loc["cook", "upper"] < 0.1


def test_profile_interval_solves_its_equation() -> None:
    # independent check: maximise over the other categories by scipy at the reported ends
    from scipy.optimize import minimize

    results = MODEL.fit()
    ci = results.conf_int(method="profile", model=MODEL)
    Q, n = KRR.channel().matrix(), COUNTS.vector()

    def loglike_at(v: float) -> float:
        def loss(z: np.ndarray) -> float:
            others = np.exp(z - z.max())
            p = np.insert((1 - v) * others / others.sum(), 0, v)
            return -float(n @ np.log(p @ Q))

        return -minimize(loss, np.zeros(3), method="BFGS").fun

    for end in ci.loc["nurse"]:
        assert 2 * (results.llf - loglike_at(end)) == pytest.approx(
            stats.chi2.isf(0.05, 1), abs=1e-3
        )


def test_bootstrap_interval_is_close_to_wald_in_the_interior() -> None:
    results = MODEL.fit()
    boot = results.conf_int(
        method="bootstrap", model=MODEL, rng=np.random.default_rng(1), n_boot=400
    )
    wald = results.conf_int(method="wald")
    # standard error of a 2.5 % quantile of 400 draws: about .13 standard deviations
    assert np.all(np.abs(boot - wald).max(axis=1) < 0.5 * results.bse)


def test_constraints_enter_the_likelihood() -> None:
    results = MODEL.fit(constraints=lambda p: [p[0] == 0.5])
    assert results.params["nurse"] == pytest.approx(0.5, abs=1e-7)
    assert results.params.sum() == pytest.approx(1.0)
    assert results.llf < MODEL.fit().llf
    with pytest.warns(ldp.LDPWarning, match="a constrained estimate has no standard errors"):
        assert results.bse.isna().all()
    with pytest.raises(ldp.NotAvailable, match="a constrained estimate has no standard errors"):
        results.cov_params()
    assert "NOTE: a constrained estimate has no standard errors" in results.summary().as_text()
    assert results.summary_frame()["bse"].isna().all()  # in a table, without a warning
    with pytest.raises(ldp.InvalidArgument, match="constraints"):
        MODEL.fit(constraints=lambda p: [p[0] == 0.5, p[0] == 0.6])


def test_results_round_trip_through_json_without_data() -> None:
    for model in (MODEL, ldp.FrequencyModel(ldp.KRAPPOR(4, 1.0).counts([3, 4, 5, 2], nobs=9))):
        results = model.fit()
        again = ldp.FrequencyResults.from_json(results.to_json())
        assert again.summary().as_text() == results.summary().as_text()
        pd.testing.assert_frame_equal(again.conf_int(), results.conf_int())
        pd.testing.assert_frame_equal(again.cov_params(), results.cov_params())
        assert json.loads(again.to_json()) == json.loads(results.to_json())


def test_summary_forms() -> None:
    summary = MODEL.fit().summary(alpha=0.1)
    text = summary.as_text()
    for word in (*JOBS, "KRR(k=4, epsilon=1)", "[0.05", "0.95]"):
        assert word in text
    more = MODEL.fit().summary(details=True).as_text()
    for word in ("Gap to maximum", "Converged", "Covariance", "Log-Likelihood", "AIC", "unconstr."):
        assert word in more and word not in text
    assert "<table" in summary.as_html() and r"\begin{tabular}" in summary.as_latex()
    assert text == MODEL.fit().summary(alpha=0.1).as_text()  # no clock in it


def test_missing_answers_are_reported() -> None:
    reports = KRR.privatize(
        ["nurse", None, "cook"] * 100, np.random.default_rng(1), missing="count"
    )
    results = ldp.FrequencyModel(reports).fit()
    assert (results.nobs, results.n_missing) == (200, 100)
    assert "Missing:" in results.summary().as_text()


def test_many_categories() -> None:
    krr = ldp.KRR(300_000, epsilon=4.0)
    p = np.zeros(300_000)
    p[:100] = 0.01
    results = ldp.FrequencyModel(krr.draw(p, 10_000_000, np.random.default_rng(1))).fit()
    assert results.gap < 1e-12 and results.converged
    assert np.all(np.abs(results.linear_params[:100] - 0.01) < 5 * results.linear_bse[:100])
    assert results.bse.shape == (300_000,)
    with pytest.raises(ldp.NotAvailable, match="GB"):
        results.cov_params()


def test_categories_with_a_count_of_their_own_get_exact_inference() -> None:
    # only "c" can cause the third report: never seen, it is no certain zero
    Q = [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.1, 0.1, 0.8]]
    mechanism = ldp.CustomMechanism(Q, ("a", "b", "c"))
    results = ldp.FrequencyModel(mechanism.counts([500, 300, 0])).fit()
    ci = results.conf_int()
    upper = proportion_confint(0, 800, method="beta")[1] / 0.8
    assert ci.loc["c", "lower"] == 0.0
    assert ci.loc["c", "upper"] == pytest.approx(upper, rel=1e-9)
    assert results.presence_pvalues()["c"] == 1.0
    with pytest.raises(ldp.NotAvailable, match="count of their own"):
        results.conf_int(method="exact")
    # k-RR written as a matrix is recognised as what it is
    dense = ldp.CustomMechanism(KRR.channel().matrix(), JOBS).counts(COUNTS.vector())
    pd.testing.assert_frame_equal(
        ldp.FrequencyModel(dense).fit().conf_int(), MODEL.fit().conf_int(), rtol=1e-9
    )


def test_lists_of_sources_enter_two_sample_tests_whole() -> None:
    a, b, c = (KRR.counts(n) for n in ([60, 50, 48, 42], [50, 50, 50, 50], [40, 30, 60, 70]))
    together = ldp.two_sample_test([a, b], c)
    merged = ldp.two_sample_test(a + b, c, method="wald")
    assert together.statistic == pytest.approx(merged.statistic, rel=1e-9)


def test_few_wide_reports_give_estimates_without_a_covariance() -> None:
    reports = ldp.KRAPPOR(50, 1.0).privatize(np.arange(45), np.random.default_rng(1))
    results = ldp.FrequencyModel(reports).fit()
    assert results.converged and results.cov_type == "none (singular information)"
    with pytest.warns(ldp.LDPWarning, match="without standard errors"):
        assert results.bse.isna().all()
    assert np.isfinite(results.conf_int()).all(axis=None)


def test_intervals_refuse_the_model_of_other_data() -> None:
    other = ldp.FrequencyModel(KRR.counts([500, 500, 480, 520]))
    for options in (
        {"method": "profile"},
        {"method": "bootstrap", "rng": np.random.default_rng(1)},
    ):
        with pytest.raises(ldp.InvalidArgument, match="other data"):
            MODEL.fit().conf_int(model=other, **options)


@pytest.mark.parametrize("method", ["inversion", "projected", "normalized", "composite"])
def test_standard_errors_describe_the_estimator(method: str) -> None:
    # unary reports do not sum to one, so each way of mending that has its own variance; 500
    # surveys give a standard deviation to 3.2 %, checked at 4 standard errors
    unary = ldp.KRAPPOR(4, epsilon=2.0)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(5)
    surveys = [unary.draw(p, 20_000, rng) for _ in range(500)]
    solve = ESTIMATORS[method]().solve
    found = [solve(unary.moments(counts)).p for counts in surveys]
    fit = ldp.FrequencyModel(surveys[0]).fit(method)
    np.testing.assert_array_equal(fit.params, found[0])
    np.testing.assert_allclose(fit.bse / np.std(found, axis=0), 1.0, atol=0.13)
    if method != "inversion":  # negative control: the linear estimate varies more
        assert np.all(fit.linear_bse > 1.05 * fit.bse)
