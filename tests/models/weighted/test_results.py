"""Weighted frequencies: functions of totals, t and F tests, effects, candidates."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp

JOBS = ("cook", "driver", "nurse")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = 1200
    people = pd.DataFrame({"school": rng.integers(0, 40, n), "w": rng.uniform(1.0, 4.0, n)})
    people["stratum"] = people.school % 4
    people["N"] = 30
    people["region"] = rng.choice(["n", "s", None], n, p=[0.5, 0.3, 0.2])
    people["job"] = rng.choice(JOBS, n, p=[0.5, 0.3, 0.2])
    people.loc[::50, "job"] = None
    return people


@pytest.fixture(scope="module")
def survey(table: pd.DataFrame) -> ldp.Survey:
    sheet = ldp.Questionnaire({"job": ldp.KRR(JOBS, epsilon=2.0)})
    reports = sheet.privatize(table, np.random.default_rng(5))
    return ldp.Survey(reports, sheet, weights="w", strata="stratum", clusters="school", fpc="N")


@pytest.fixture(scope="module")
def whole(survey: ldp.Survey) -> Any:
    return survey.frequencies("job")


@pytest.fixture(scope="module")
def domains(survey: ldp.Survey) -> Any:
    return survey.frequencies("job", by="region")


def test_shares_are_ratios_of_weighted_totals_of_decoded_reports(
    survey: ldp.Survey, whole: Any
) -> None:
    reports, w = survey.reports("job"), survey.data.public("w")
    weights = w.values[w.codes].astype(float)[np.arange(1200) % 50 > 0]
    Q = ldp.KRR(JOBS, epsilon=2.0).channel().matrix()
    phi = np.linalg.inv(Q)[reports.y]
    np.testing.assert_allclose(whole.totals()["estimate"], weights @ phi, rtol=1e-12)
    np.testing.assert_allclose(whole.params, weights @ phi / weights.sum(), rtol=1e-12)
    assert (whole.nobs, whole.n_missing) == (1176, 24)


def test_a_domain_by_where_is_that_of_by(survey: ldp.Survey, domains: Any) -> None:
    alone = survey.where("region == 'n'").frequencies("job")
    np.testing.assert_allclose(alone.params, domains.params["n"], rtol=1e-12)
    np.testing.assert_allclose(alone.bse, domains.bse["n"], rtol=1e-12)
    np.testing.assert_allclose(alone.conf_int(), domains.conf_int().loc["n"], rtol=1e-12)
    masked = survey[(np.array(survey.data.public("region").codes) == 0)].frequencies("job")
    np.testing.assert_allclose(masked.cov_params(), alone.cov_params(), rtol=1e-12)
    assert domains.domains.n_ungrouped == 1200 - (domains.nobs + domains.n_missing)


def test_functions_of_totals_have_delta_variances(domains: Any) -> None:
    T, V = domains.totals_law.estimate, domains.totals_law.covariance

    def variance(value: Any) -> float:
        steps = 1e-4 * np.eye(T.size) * np.abs(T)
        J = np.array([value(T + h) - value(T - h) for h in steps]) / (2e-4 * np.abs(T))
        return float(J @ V @ J)

    ratio = domains.ratio("cook", ["driver", "nurse"])
    assert ratio.loc["n", "estimate"] == pytest.approx(T[0] / (T[1] + T[2]), rel=1e-12)
    by_hand = variance(lambda t: t[0] / (t[1] + t[2]))
    assert ratio.loc["n", "se"] == pytest.approx(np.sqrt(by_hand), rel=1e-6)
    mean = domains.mean([1, 2, 5])
    by_hand = variance(lambda t: (t[4] + 2 * t[5] + 5 * t[6]) / t[7])
    assert mean.loc["s", "se"] == pytest.approx(np.sqrt(by_hand), rel=1e-6)
    apart = domains.differences()
    by_hand = variance(lambda t: t[5] / t[7] - t[1] / t[3])
    assert apart.loc[("s", "driver"), "se"] == pytest.approx(np.sqrt(by_hand), rel=1e-6)
    contrast = domains.t_test("s:driver - n:driver = 0")
    assert contrast.sd.item() == pytest.approx(apart.loc[("s", "driver"), "se"], rel=1e-9)
    plain = domains.differences(method="wald").loc[("s", "driver")]
    assert contrast.pvalue.item() == pytest.approx(plain["pvalue"], rel=1e-9)
    np.testing.assert_allclose(plain[["lower", "upper"]], contrast.conf_int()[0], rtol=1e-9)


def test_intervals_and_tests_use_the_degrees_of_freedom_of_the_design(whole: Any) -> None:
    assert set(whole.df) == {36.0}
    reach = stats.t.ppf(0.95, 36) * whole.linear_bse
    bounds = whole.conf_int(0.1, method="wald", clip=False)
    np.testing.assert_allclose(bounds["upper"] - whole.linear_params, reach, rtol=1e-12)
    two_sided = 2.0 * stats.t.sf(np.abs(whole.tvalues), 36)
    np.testing.assert_allclose(whole.to_frame()["p_value"], two_sided, rtol=1e-9)
    W = whole.linear_params.to_numpy()[:2] - [0.5, 0.3]
    W = W @ np.linalg.solve(whole.linear_cov.to_numpy()[:2, :2], W)
    test = whole.wald_test("cook = 0.5, driver = 0.3")
    assert test.df == (2.0, 35.0)
    assert test.statistic == pytest.approx(W * 35 / 72, rel=1e-9)
    assert test.pvalue == pytest.approx(stats.f.sf(W * 35 / 72, 2, 35), rel=1e-9)


def test_the_score_interval_of_answers_without_noise_is_wilsons() -> None:
    table = pd.DataFrame({"job": ["cook"] * 3 + ["nurse"] * 97, "w": [2.0] * 100})
    jobs = ldp.Observed(["cook", "nurse", "driver"])
    found = ldp.Survey(table, {"job": jobs}, weights="w").frequencies("job").conf_int()
    t2, m = stats.t.ppf(0.975, 99) ** 2, 99.0  # s^2 / n has n - 1
    centre, c = (0.03 + t2 / m / 2) / (1 + t2 / m), t2 / m
    reach = np.sqrt(c * 0.03 * 0.97 + c**2 / 4) / (1 + c)
    np.testing.assert_allclose(found.loc["cook"], [centre - reach, centre + reach], rtol=1e-9)
    assert found.loc["driver", "lower"] == 0.0
    assert found.loc["driver", "upper"] == pytest.approx(t2 / (100 + t2), rel=1e-9)


def test_design_effects_multiply_and_know_the_noise(whole: Any) -> None:
    deff = whole.deff()
    np.testing.assert_allclose(deff.deff_design * deff.deff_privacy, deff.deff, rtol=1e-9)
    p, n = whole.linear_params, whole.nobs
    np.testing.assert_allclose(deff.deff, whole.linear_bse**2 / (p * (1 - p) / (n - 1)), rtol=1e-9)
    np.testing.assert_allclose(whole.effective_n, n / deff.deff, rtol=1e-12)
    Q = ldp.KRR(JOBS, epsilon=2.0).channel().matrix()
    G = np.linalg.inv(Q)
    C = p.to_numpy() @ (Q @ G**2) - p.to_numpy()  # noise of each decoded indicator
    np.testing.assert_allclose(deff.channel, 1 + C / (p * (1 - p)), rtol=1e-9)


def test_degrees_of_freedom_of_a_contrast_of_domains_follow_the_smaller() -> None:
    rng = np.random.default_rng(1)
    n = 600
    table = pd.DataFrame({"job": rng.choice(JOBS, n), "w": 1.0, "unit": np.repeat(range(60), 10)})
    table["d"] = np.where(table.unit < 4, "small", "large")
    survey = ldp.Survey(table, {"job": ldp.Observed(JOBS)}, weights="w", clusters="unit")
    results = survey.frequencies("job", by="d")
    assert results.domains.df.tolist() == [55.0, 3.0]
    df = results.t_test("large:cook = small:cook").df_denom
    v = results.linear_bse.to_numpy()[[0, 3]] ** 2
    assert df == pytest.approx(v.sum() ** 2 / (v[0] ** 2 / 55 + v[1] ** 2 / 3), rel=1e-9)


def test_results_are_stored_and_printed(whole: Any, domains: Any) -> None:
    for results in (whole, domains):
        again = ldp.WeightedResults.from_json(results.to_json())
        assert again.to_json() == results.to_json()
        assert str(again.summary()) == str(results.summary())
    text = str(domains.summary())
    assert "n (n = " in text and "deff design" in text and "by region" in text
    assert "Intervals: 95% score, t quantiles with" in text
    assert whole.glance()["n_units"].item() == 40


def test_summaries_say_whom_totals_are_of(survey: ldp.Survey, whole: Any, domains: Any) -> None:
    for results, words in ((whole, "answered:"), (domains, "answered and are in a domain:")):
        text = " ".join(results.summary().as_text().split())
        said = re.search(
            rf"Totals are of those who {words} the sum of their weights is (\S+)\.(?: |$)", text
        )
        assert said is not None
        total = results.totals()["estimate"].sum()
        assert float(said[1].replace(",", "")) == pytest.approx(total, rel=1e-5)
        assert total < results.sample.weight_sum
        assert ("df of each domain." in text) == (results is domains)
    other = survey.where("region is not missing").frequencies("region")
    assert other.n_missing == 0 and "Totals are of" not in other.summary().as_text()


def test_the_likelihood_and_the_linear_estimate_agree_inside_the_simplex(
    survey: ldp.Survey, whole: Any
) -> None:
    likeliest = survey.frequencies("job", method="mle")
    np.testing.assert_allclose(likeliest.params, whole.params, atol=1e-9)
    np.testing.assert_allclose(likeliest.bse, whole.bse, rtol=1e-6)
    assert likeliest.gap_nats < 1e-3 and np.isnan(likeliest.aic)


def test_bad_arguments_name_what_is_wrong(survey: ldp.Survey, whole: Any, domains: Any) -> None:
    with pytest.raises(ldp.NotAvailable, match="'projected' with weights"):
        survey.frequencies("job", method="projected")
    with pytest.raises(ldp.InvalidArgument, match="method='mle' only"):
        survey.frequencies("job", method="inversion", constraints=lambda p: [p[0] == 0.3])
    with pytest.raises(ldp.InvalidArgument, match="cov_type"):
        survey.frequencies("job", cov_type="linear")
    with pytest.raises(ldp.InvalidArgument, match="must be a domain: 'n', 's'"):
        domains.differences("west")
    with pytest.raises(ldp.NotAvailable, match="two domains"):
        whole.differences()
    with pytest.raises(ldp.InvalidArgument, match="denominator"):
        whole.ratio("cook", "pilot")
    with pytest.raises(ldp.InvalidArgument, match="nothing to test"):
        whole.t_test(np.ones((1, 3)))


def test_domains_without_a_report_are_named(table: pd.DataFrame) -> None:
    lost = table.assign(job=table.job.where(table.region != "s"))
    survey = ldp.Survey(lost, {"job": ldp.Observed(JOBS)}, weights="w", clusters="school")
    with pytest.warns(ldp.LDPWarning, match="no report in the domain region='s'"):
        results = survey.frequencies("job", by="region")
    assert results.groups.tolist() == ["n"]


def test_rao_scott_tests_of_fit_and_homogeneity(
    survey: ldp.Survey, whole: Any, domains: Any
) -> None:
    again = ldp.WeightedResults.from_json(domains.to_json())
    assert again.test_equal("second") == domains.test_equal("second")
    assert domains.test_equal().df == (2.0, 72.0)
    as_table = survey.where("region == 'n' or region == 's'").association("region", "job")
    independent = as_table.test_independence()
    assert domains.test_equal().statistic == pytest.approx(independent.statistic, rel=1e-9)
    assert whole.test_distribution(whole.linear_params.to_numpy()).pvalue == pytest.approx(1.0)
    test = whole.test_distribution([0.5, 0.3, 0.2], method="wald")
    assert test.pvalue > 0.01 and test.df == (2.0, 36.0)
    alone = survey.where("region == 's'").frequencies("job").test_distribution([0.4, 0.4, 0.2])
    assert domains.test_distribution([0.4, 0.4, 0.2], "s").statistic == pytest.approx(
        alone.statistic, rel=1e-9
    )
    with pytest.raises(ldp.InvalidArgument, match="domain"):
        domains.test_distribution([0.4, 0.4, 0.2])
    with pytest.raises(ldp.NotAvailable, match="one domain only"):
        whole.test_equal()


@pytest.mark.parametrize("how", [None, "N"])
def test_a_domain_in_one_unit_does_not_show_how_it_varies(table: Any, how: Any) -> None:
    people = table.assign(job=table.job.fillna("cook"), place="town")
    people.loc[people.school == 8, "place"] = "isle"
    people.loc[people.index[(people.school == 9)][:3], "place"] = "farm"
    people.loc[people.index[(people.school == 10)][:3], "place"] = "farm"
    sheet = ldp.Questionnaire({"job": ldp.KRR(JOBS, epsilon=2.0)})
    reports = sheet.privatize(people, np.random.default_rng(6))
    columns = {"weights": "w", "strata": "stratum", "clusters": "school"}
    survey = ldp.Survey(reports, sheet, **columns, fpc=how)
    with pytest.warns(ldp.LDPWarning, match="domain place='isle' is in one sampling unit"):
        found = survey.frequencies("job", by="place")
    assert found.domains.df.tolist() == [0.0, 0.0, 35.0]
    assert found.bse["isle"].isna().all() and (found.bse["farm"] > 0.0).all()
    for V in (found.cov_params(), found.linear_cov):
        assert V.loc["isle"].isna().all(axis=None) and V.loc["town", "farm"].notna().all(axis=None)
    frame = found.summary_frame().loc["isle"]
    assert frame[["bse", "linear_se", "deff", "effective_n"]].isna().all(axis=None)
    assert re.search(r"  cook +-?\d\.\d+ +- ", str(found.summary()))
    for method in ("default", "wald", "estimate"):
        assert (found.conf_int(method=method).loc["isle"] == [0.0, 1.0]).all(axis=None)
    with pytest.raises(ldp.NotAvailable, match="one lies in one sampling unit"):
        found.test_equal()
    apart = found.differences(reference="town")
    assert apart.loc["isle"].drop(columns="estimate").isna().all(axis=None)
    # one unit in each of two strata: one degree of freedom at least
    assert np.isfinite(apart.loc["farm"]).all(axis=None)
    assert found.mean([1, 2, 3]).loc["isle", ["se", "lower", "upper"]].isna().all()
    assert found.ratio("cook", "nurse").loc["town"].notna().all()
    for hypothesis in ("isle:cook = 0.3", "isle:cook = town:cook"):
        for test in (found.t_test, found.wald_test):
            with pytest.raises(ldp.NotAvailable, match="one sampling unit"):
                test(hypothesis)


def test_ratios_to_nobody_are_unknown_and_others_are_not() -> None:
    table = pd.DataFrame({"job": ["cook", "nurse"] * 20, "sex": ["f", "m", "m"] * 13 + ["f"]})
    table["w"] = np.arange(40) % 7 + 1.0
    sheet = {"job": ldp.Observed([*JOBS]), "sex": ldp.Observed(["f", "m"])}
    survey = ldp.Survey(table, sheet, weights="w")
    found = survey.association("job", "sex")
    given = found.conditional("job")
    assert given.loc["driver"].isna().all(axis=None) and given.drop("driver").notna().all(axis=None)
    assert found.differences("job").loc["driver"].isna().all(axis=None)
    assert found.differences("job", reference="driver").isna().all(axis=None)
    assert np.isnan(survey.frequencies("job").ratio("cook", "driver")["estimate"])


def test_a_share_that_population_totals_fix_is_a_point(table: pd.DataFrame) -> None:
    people = table.assign(sex=np.where(table.index % 3 > 0, "f", "m"), job=table.job.fillna("cook"))
    sheet = {"job": ldp.Observed([*JOBS, "pilot"]), "sex": ldp.Observed(["f", "m"])}
    survey = ldp.Survey(people, sheet, weights="w", clusters="school")
    margin = {"sex": {"f": 600, "m": 400}}
    ends = survey.calibrate(margin).frequencies("sex").conf_int()
    np.testing.assert_allclose(ends, [[0.6, 0.6], [0.4, 0.4]], rtol=1e-9)
    assert survey.calibrate(margin).frequencies("job").conf_int().loc["pilot", "upper"] > 0.001


def test_rare_answers_of_a_domain_know_its_own_weights(table: pd.DataFrame) -> None:
    people = table.assign(w=np.where(table.region == "s", table.w**4, table.w))
    people["job"] = people.job.where(people.job != "driver")
    survey = ldp.Survey(people, {"job": ldp.Observed(JOBS)}, weights="w", clusters="school")
    both, alone = survey.frequencies("job", by="region"), survey.where("region == 's'")
    ends = alone.frequencies("job").conf_int()
    np.testing.assert_allclose(both.conf_int().loc["s"], ends, rtol=1e-9)


WORDS = ("ash", "birch", "cedar", "daphne", "elm")


@pytest.fixture(scope="module")
def survey_of_candidates() -> ldp.Survey:
    """Trees in 40 clusters, reported by O-RR with 12 cohorts."""
    rng, n = np.random.default_rng(1), 4000
    table = pd.DataFrame(
        {
            "tree": rng.choice(WORDS, n, p=[0.4, 0.25, 0.15, 0.12, 0.08]),
            "side": rng.choice(["n", "s"], n),
            "w": rng.uniform(1.0, 3.0, n),
            "plot": np.arange(n) % 40,
        }
    )
    sheet = ldp.Questionnaire({"tree": ldp.ORR(8, 12, epsilon=3.0)})
    return ldp.Survey(sheet.privatize(table, rng), sheet, weights="w", clusters="plot")


def test_what_is_left_of_a_complete_list_is_nothing(survey_of_candidates):
    found = survey_of_candidates.frequencies("tree", candidates=WORDS)
    np.testing.assert_allclose(found.params, [0.4, 0.25, 0.15, 0.12, 0.08], atol=0.05)
    share = found.unexplained()
    assert abs(share["estimate"]) < 4.0 * share["se"] and share["lower"] == 0.0
    again = ldp.WeightedResults.from_json(found.to_json())
    pd.testing.assert_series_equal(again.unexplained(), share)
    by_side = survey_of_candidates.frequencies("tree", by="side", candidates=WORDS).unexplained()
    assert by_side.index.tolist() == ["n", "s"]


def test_standard_errors_allow_for_answers_that_are_not_listed(survey_of_candidates):
    every = survey_of_candidates.frequencies("tree", candidates=WORDS)
    some = survey_of_candidates.frequencies("tree", candidates=WORDS[2:], incomplete=True)
    assert some.unexplained()["estimate"] == pytest.approx(0.65, abs=0.06)
    # birch and ash meet the cells of others in some cohorts, which no design shows
    assert np.all(some.bse > 1.1 * every.bse[list(WORDS[2:])])


def test_a_likelihood_that_takes_the_list_for_complete_is_doubted(survey_of_candidates):
    with pytest.warns(ldp.MisfitWarning, match="takes the candidates for all answers"):
        survey_of_candidates.frequencies("tree", candidates=WORDS[2:], method="mle")
    full = survey_of_candidates.frequencies("tree", candidates=WORDS, method="mle")
    assert full.params.sum() == pytest.approx(1.0) and full.converged


def test_hashed_reports_of_a_closed_alphabet_have_design_effects():
    rng, n = np.random.default_rng(3), 2000
    table = pd.DataFrame({"tree": rng.choice(WORDS, n), "plot": np.arange(n) % 40, "N": 80})
    sheet = ldp.Questionnaire({"tree": ldp.ORR(3, 8, epsilon=3.0, alphabet=WORDS)})
    collected = sheet.privatize(table, rng)
    survey_of_candidates = ldp.Survey(collected, sheet, clusters="plot", fpc="N")
    found = survey_of_candidates.frequencies("tree").deff()
    # the product is known even where the noise leaves too little to tell its factors apart
    assert np.all(found["deff"] > 1.5) and np.all(found["channel"] > 1.5)
    assert 0.0 < found["deff_design"].median() < 1.5


def test_closed_alphabets_know_all_answers():
    table = pd.DataFrame({"ill": ["no", "yes"] * 20, "w": 1.0})
    survey_of_candidates = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w")
    with pytest.raises(ldp.NotAvailable, match="no candidates"):
        survey_of_candidates.frequencies("ill").unexplained()
    with pytest.raises(ldp.InvalidArgument, match="open alphabet"):
        survey_of_candidates.frequencies("ill", incomplete=True)
