"""Estimation behind a personalised mechanism: eq. 21, its covariance, intervals and tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats import planning
from ldpstats.inference import intervals
from ldpstats.models.personalized import intervals as personalized
from ldpstats.problems.covariance import Covariance

Array = npt.NDArray[Any]

REGIONS = ("centre", "park", "clinic", "market", "school")
HOMES = np.array([0.1, 0.5, 0.0, 0.4, 0.0])
WORKS = np.array([0.4, 0.0, 0.1, 0.3, 0.2])
R = np.array([0.25, 0.1, 0.08, 0.12, 0.0, 0.3, 0.15])  # school is reached through "work" only
K = len(REGIONS)
OTHERS = np.array([True, True, False, True, True])
PUMS = {
    "urr": ldp.PUM(ldp.URR(REGIONS, {"clinic"}, epsilon=1.0), ("home", "work")),
    "urap": ldp.PUM(ldp.URAP(REGIONS, {"clinic"}, epsilon=1.0), ("home", "work")),
}
CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "mixed": {"background": {"work": WORKS}},
    "given": {"background": {"home": HOMES, "work": WORKS}},
    "exact": {"background": {"work": WORKS, "home": HOMES}, "exact": True},
}


def survey(kind: str, n: int = 20_000, seed: int = 1) -> Any:
    """Bit sums under uRAP, counts under uRR."""
    return PUMS[kind].common.draw(R, n, np.random.default_rng(seed))


def patterns(kind: str, n: int = 20_000, seed: int = 1) -> ldp.Counts:
    common = PUMS[kind].common
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(R.size), rng.multinomial(n, R))
    return common.privatize(common.categories.take(codes), rng).tally()


def fit(kind: str, case: str, method: str | None = None, n: int = 20_000) -> Any:
    data = survey(kind, n) if method == "inversion" else patterns(kind, n)
    return ldp.PersonalizedModel(data, PUMS[kind], **CASES[case]).fit(method)


def by_hand(r: Array, case: str) -> Array:
    """Eq. 21, tags without a background in proportion to r over what is not sensitive."""
    known = CASES[case].get("background", {})
    spread = np.where(OTHERS, r[:K], 0.0) / r[:K][OTHERS].sum()
    pi = [known.get("home", spread), known.get("work", spread)]
    return np.asarray(r[:K] + r[K] * pi[0] + r[K + 1] * pi[1])


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


# ---- estimates


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", ["mle", "em", "projected", "normalized", "thresholded"])
def test_estimates_are_distributions(kind: str, case: str, method: str) -> None:
    results = fit(kind, case, method, n=4000)
    r = results.intermediate.params.to_numpy()
    np.testing.assert_allclose(results.params, by_hand(r, case), rtol=0, atol=1e-14)
    assert results.params.sum() == pytest.approx(1.0, abs=1e-9) and results.params.min() >= 0.0
    assert results.params.index.tolist() == list(REGIONS)
    assert results.method == method and results.llf == pytest.approx(results.intermediate.llf)
    np.testing.assert_allclose(results.background.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_the_linear_estimate_is_that_of_the_linear_one(kind: str, case: str) -> None:
    results = fit(kind, case, "inversion")
    r = results.intermediate.linear_params.to_numpy()
    np.testing.assert_allclose(results.linear_params, by_hand(r, case), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(results.params, results.linear_params)


def test_without_background_bots_are_discarded() -> None:
    """MK19 section 5.3: it amounts to a normalisation over what is not sensitive."""
    pum = ldp.PUM(ldp.URR(3, (), epsilon=1.0), ("home",))
    results = ldp.PersonalizedModel(pum.common.counts([200, 50, 100, 650]), pum).fit()
    np.testing.assert_allclose(results.params, np.array([200, 50, 100]) / 350, rtol=1e-12)


def test_the_default_method_is_that_of_the_data() -> None:
    pum = PUMS["urap"]
    counts = patterns("urap")
    assert ldp.PersonalizedModel(counts, pum).fit().method == "mle"
    results = ldp.PersonalizedModel(counts.bit_counts(), pum).fit()
    assert results.method == "inversion" and np.isnan(results.llf) and not results.is_maximum
    other = ldp.PersonalizedModel(counts, pum).fit("inversion")
    np.testing.assert_allclose(results.params, other.params, rtol=0, atol=1e-13)


def test_reports_and_their_counts_say_the_same() -> None:
    pum = PUMS["urr"]
    rng = np.random.default_rng(3)
    values = rng.choice(REGIONS, 3000, p=[0.4, 0.2, 0.1, 0.2, 0.1])
    reports = pum.privatize(values, rng, {"home": rng.choice(REGIONS, 3000)})
    first, second = (
        ldp.PersonalizedModel(data, pum, {"home": HOMES, "work": WORKS}).fit()
        for data in (reports, reports.tally())
    )
    assert first.to_dict() == second.to_dict() and first.nobs == 3000


def test_groups_with_another_epsilon_are_fitted_together() -> None:
    pum, careful = PUMS["urr"], ldp.PUM(ldp.URR(REGIONS, {"clinic"}, epsilon=0.4), ("home", "work"))
    groups = [survey("urr"), careful.common.draw(R, 10_000, np.random.default_rng(2))]
    results = ldp.PersonalizedModel(groups, pum, **CASES["exact"]).fit()
    alone = ldp.PersonalizedModel(groups[0], pum, **CASES["exact"]).fit()
    assert results.nobs == 30_000 and len(results.sources) == 2
    assert (results.linear_bse < alone.linear_bse).all()
    # noisy counts have no exact law any more: the clinic's interval is Wald's but for its skewness
    exact, wald = (results.conf_int(method=method) for method in ("default", "wald"))
    np.testing.assert_allclose(exact.loc["clinic"], wald.loc["clinic"], rtol=2e-3)
    assert np.abs(exact - wald).max().max() < 0.02 * (wald["upper"] - wald["lower"]).max()
    z = results.linear_params / results.linear_bse
    expected = stats.norm.sf(z[["clinic", "school"]])  # no one reported school
    np.testing.assert_allclose(results.presence_pvalues()[["clinic", "school"]], expected, 1e-9)
    np.testing.assert_allclose(results.pvalues["clinic"], 2 * expected[0], rtol=1e-9)
    assert (results.presence_pvalues()[["centre", "park", "market"]] == 0.0).all()


def test_other_mechanisms_over_the_categories_enter_too() -> None:
    """The joint law of several counts of a general channel is not known: Wald's p-values."""
    pum = PUMS["urr"]
    general = ldp.CustomMechanism(ldp.KRR(7, 1.0).channel().matrix(), pum.common.categories)
    counts = general.draw(R, 20_000, np.random.default_rng(1))
    results = ldp.PersonalizedModel(counts, pum, **CASES["exact"]).fit()
    z = (results.linear_params / results.linear_bse)[["centre", "clinic"]]
    np.testing.assert_allclose(results.presence_pvalues()[z.index], stats.norm.sf(z), rtol=1e-9)
    form = results.intermediate.exact
    assert form is not None and form.known.all()


# ---- covariances


def jacobian(r: Array, case: str) -> Array:
    step = 1e-6
    columns = [
        (by_hand(r + step * e, case) - by_hand(r - step * e, case)) / (2 * step)
        for e in np.eye(r.size)
    ]
    return np.column_stack(columns)


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_covariances_carry_through(kind: str, case: str) -> None:
    """G V G' with G from finite differences, of the linear estimate and of the MLE."""
    results = fit(kind, case, "mle")
    r = results.intermediate
    for estimate, V, found in (
        (r.linear_params, r.linear_cov, results.linear_cov),
        (r.params, r.cov_params(), results.cov_params()),
    ):
        G = jacobian(estimate.to_numpy(), case)
        np.testing.assert_allclose(found, G @ V.to_numpy() @ G.T, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(results.bse**2, np.diag(results.cov_params()), rtol=1e-10)


def test_covariances_of_dense_and_structured_form_agree() -> None:
    results = fit("urr", "mixed", "mle")
    r = results.intermediate.linear
    mix = personalized.mixture(r.estimate, results.given, results.others)
    V = r.known()
    dense = Covariance.dense(V.matrix())
    assert V.factors is not None and mix.covariance(V).factors is not None
    np.testing.assert_allclose(
        mix.covariance(V).matrix(), mix.covariance(dense).matrix(), rtol=0, atol=1e-15
    )
    for ours, theirs in zip(mix.blocks(V), mix.blocks(dense), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)


def test_a_mixture_is_homogeneous_in_the_frequencies() -> None:
    """G r = p, also where the share of a bot depends on r."""
    r = np.array([0.3, 0.2, 0.1, 0.1, 0.0, 0.2, 0.1])
    given = np.vstack([np.full(K, np.nan), WORKS])
    mix = personalized.mixture(r, given, OTHERS)
    p = mix.own * r[:K] + mix.loads @ (mix.rows @ r)
    np.testing.assert_allclose(p, mix.estimate(r), rtol=1e-14)


def test_the_overstated_covariance_carries_through() -> None:
    results = fit("urr", "exact", "mle")
    r = results.intermediate
    G = jacobian(r.params.to_numpy(), "exact")
    expected = G @ r.cov_params("fpe16").to_numpy() @ G.T
    np.testing.assert_allclose(results.cov_params("fpe16"), expected, rtol=1e-6)


def test_many_categories_cost_no_matrix() -> None:
    k = 100_000
    pum = ldp.PUM(ldp.URR(k, range(100), epsilon=2.0), ("home", "work"))
    flat = np.full(k, 1 / k)
    r = np.concatenate([0.9 * flat, [0.06, 0.04]])
    counts = pum.common.draw(r, 10**7, np.random.default_rng(1))
    results = ldp.PersonalizedModel(counts, pum, {"home": flat}).fit()
    assert results.params.sum() == pytest.approx(1.0) and results.fitted.covariance is not None
    bounds = results.conf_int()
    covered = (bounds["lower"] <= flat) & (flat <= bounds["upper"])
    assert covered.mean() == pytest.approx(0.96, abs=0.02)


# ---- intervals


def test_categories_without_a_bot_keep_their_exact_interval() -> None:
    results = fit("urr", "given")  # no one is at home or at work in the clinic, or in two places
    assert HOMES[2] == 0.0
    model = ldp.PersonalizedModel(
        patterns("urr"), PUMS["urr"], {"home": HOMES, "work": HOMES}, exact=True
    )
    results = model.fit()
    own = results.intermediate.conf_int().iloc[[2, 4]]
    pd.testing.assert_frame_equal(results.conf_int().iloc[[2, 4]], own, rtol=1e-12)


def test_a_category_of_one_bot_has_its_interval() -> None:
    """Where no report is the category's own, and the bot cannot be told from the truth."""
    pum = ldp.PUM(ldp.URR(3, (), epsilon=2.0), ("home",))
    counts = pum.common.counts([300, 200, 0, 500])
    pi = np.array([0.0, 0.75, 0.25])
    results = ldp.PersonalizedModel(counts, pum, {"home": pi}, exact=True).fit()
    bot, own = results.intermediate.conf_int(clip=False).loc[["home", 2]].to_numpy()
    r = results.intermediate.linear_params["home"]
    p, (lower, upper) = 0.25 * r, results.conf_int().loc[2]
    assert p == results.linear_params[2]
    assert lower == pytest.approx(0.25 * bot[0], rel=1e-12)  # nothing can be subtracted from it
    assert upper == pytest.approx(p + np.hypot(0.25 * (bot[1] - r), own[1]), rel=1e-12)


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_intervals_of_many_reports_are_those_of_wald(kind: str, case: str) -> None:
    results = fit(kind, case, "inversion", n=10**8)
    exact, wald = (results.conf_int(method=method, clip=False) for method in ("default", "wald"))
    width = (wald["upper"] - wald["lower"]).to_numpy()[:, None]
    difference = np.abs(exact.to_numpy() - wald.to_numpy())[:-1]
    assert np.all(difference < 0.002 * width[:-1])  # of school none is reported


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_nested_and_hold_the_estimate(case: str) -> None:
    results = fit("urap", case, n=3000)
    wide, narrow = (results.conf_int(alpha, clip=False) for alpha in (0.01, 0.2))
    assert (wide["lower"] <= narrow["lower"]).all() and (narrow["upper"] < wide["upper"]).all()
    assert (wide["lower"] < narrow["lower"]).sum() >= K - 1  # of school none is reported
    assert (narrow["lower"] <= results.linear_params).all()
    assert (results.linear_params <= narrow["upper"]).all()
    cut = results.conf_int(0.01)
    np.testing.assert_array_equal(cut, intervals.clip_unit(wide.to_numpy()))


def test_wald_mle_warns_on_the_boundary() -> None:
    results = fit("urr", "exact", "mle")
    assert results.intermediate.on_boundary  # of school none was reported
    with pytest.warns(ldp.BoundaryWarning, match="wald-mle"):
        bounds = results.conf_int(method="wald-mle", clip=False)
    middle = (bounds["lower"] + bounds["upper"]) / 2
    np.testing.assert_allclose(middle, results.params, rtol=1e-12)


def test_mover_of_normal_parts_is_wald() -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 3, 3))
    V = A @ A.transpose(0, 2, 1)
    sd = np.sqrt(np.einsum("...ii->...i", V))
    rho = V / (sd[:, :, None] * sd[:, None, :])
    below, above = personalized.mover(1.96 * sd, 1.96 * sd, rho)
    np.testing.assert_allclose(below, 1.96 * np.sqrt(V.sum(axis=(1, 2))), rtol=1e-12)
    np.testing.assert_allclose(above, below, rtol=1e-12)


def test_mover_credits_cancellation_with_the_shorter_side() -> None:
    rho = np.array([[1.0, -1.0], [-1.0, 1.0]])
    below, above = personalized.mover([1.0, 3.0], [2.0, 0.5], rho)
    assert below == pytest.approx(np.sqrt(1.0 + 9.0 - 2 * 1.0 * 0.5))
    assert above == pytest.approx(np.sqrt(4.0 + 0.25 - 2 * 1.0 * 0.5))


# ---- tests


@pytest.mark.parametrize("kind", PUMS)
def test_hypotheses_are_contrasts_of_the_intermediate_frequencies(kind: str) -> None:
    results = fit(kind, "exact")
    r = results.intermediate
    given = np.array([*np.eye(K), HOMES, WORKS]).T
    ours, theirs = results.t_test("park = market"), r.t_test(given[[1]] - given[[3]])
    assert ours.effect[0] == pytest.approx(theirs.effect[0], rel=1e-12)
    assert float(np.ravel(ours.pvalue)[0]) == pytest.approx(float(np.ravel(theirs.pvalue)[0]))
    together = results.wald_test("park = market, centre = 0.3, clinic = 0.09")
    same = r.wald_test((given[[1, 0, 2]] - given[[3, 0, 0]] * [[1], [0], [0]], [0.0, 0.3, 0.09]))
    assert together.statistic == pytest.approx(same.statistic, rel=1e-9) and together.df == 3


def test_presence_of_a_single_noisy_count_is_exact() -> None:
    """Of the clinic, whose own reports are noisy, and of school, which only bots reach."""
    pum = PUMS["urr"]
    known = {"home": HOMES, "work": np.array([0.5, 0.0, 0.0, 0.25, 0.25])}
    results = ldp.PersonalizedModel(patterns("urr"), pum, known, exact=True).fit()
    form = results.intermediate.exact
    assert form is not None and form.tally[4] == 0
    own, bot = (stats.binom.sf(form.tally[j] - 1, form.nobs, form.offset[j]) for j in (2, 6))
    p = results.presence_pvalues()
    assert p["clinic"] == pytest.approx(own, rel=1e-9)
    assert p["school"] == pytest.approx(bot, rel=1e-9)
    assert p["centre"] == 0.0  # a report that no other answer makes
    deficit = stats.binom.cdf(form.tally[2], form.nobs, form.offset[2])
    assert results.pvalues["clinic"] == pytest.approx(2 * min(own, deficit), rel=1e-9)


@pytest.mark.parametrize("exclusive", [True, False])
def test_presence_of_several_noisy_counts_has_their_law(exclusive: bool) -> None:
    """Against a million draws under the null; a p-value of .01 has a standard error of 1e-4."""
    n, o, s = 400, np.array([0.1, 0.2, 0.15]), 0.4
    w = np.array([1.0, 0.3, 0.05])
    rng = np.random.default_rng(4)
    if exclusive:
        null = rng.multinomial(n, [*o, 1 - o.sum()], size=10**6)[:, :3]
    else:
        null = rng.binomial(n, o, size=(10**6, 3))
    statistic = null @ w
    for seen in ([55, 90, 60], [58, 95, 70], [60, 120, 90], [25, 60, 50]):
        larger, smaller = personalized.presence([seen], n, o[None], s, w[None], exclusive)
        above, below = np.mean(statistic >= seen @ w), np.mean(statistic <= seen @ w)
        band = [5 * np.sqrt(p * (1 - p) / 10**6) + 0.03 * p + 1e-5 for p in (above, below)]
        # half a report more is counted than was seen: 1/20 of a standard deviation at most here
        assert -band[0] <= larger[0] - above <= band[0] + 0.025
        assert -band[1] <= smaller[0] - below <= band[1] + 0.025


def test_detection_controls_all_errors_together() -> None:
    results = fit("urr", "exact")
    assert results.detected(0.001).tolist() == [*REGIONS]
    with_holm, with_bh = (set(results.detected(0.05, m)) for m in ("holm", "bh"))
    assert with_holm <= with_bh
    # reports of one school, and bots that noise explains: what they stand for was not detected
    counts = PUMS["urr"].common.counts([0, 0, 576, 0, 1, 212, 211])
    little = ldp.PersonalizedModel(counts, PUMS["urr"], **CASES["exact"]).fit()
    assert little.detected(0.001).tolist() == ["clinic", "school"]


# ---- Theorem 1


@pytest.mark.parametrize("kind", PUMS)
def test_the_first_part_of_the_bound_is_propositions_4_and_7(kind: str) -> None:
    results = fit(kind, "given", "projected")
    r = results.intermediate
    at = r.linear_params.to_numpy()
    loss = planning.urr_l1 if kind == "urr" else planning.urap_l1
    plug_in = np.maximum(at, 0.0)  # where the linear estimate is a distribution already
    plug_in = plug_in / plug_in.sum()
    expected = loss(plug_in, [2, 5, 6], 1.0, results.nobs)
    assert results.loss_bound()["noise"] == pytest.approx(float(expected), rel=0.01)


@pytest.mark.parametrize("case", CASES)
def test_the_second_part_is_the_worst_case(case: str) -> None:
    results = fit("urr", case)
    bound, bots = results.loss_bound(), results.intermediate.params.to_numpy()[K:]
    assert bound["background"] == (0.0 if case == "exact" else pytest.approx(2 * bots.sum()))
    assert bound["bound"] == bound["noise"] + bound["background"]
    if case in ("given", "exact"):
        found = planning.personalized_bound(
            results.intermediate.params, R, results.background, np.array([HOMES, WORKS])
        )
        assert found.worst_second == pytest.approx(2 * bots.sum()) and found.second < 1e-12


def test_the_bound_takes_negative_estimates_by_their_size() -> None:
    pum = ldp.PUM(ldp.URR(3, {0}, epsilon=1.0), ("home",))
    counts = pum.common.counts([500, 300, 100, 100])
    with pytest.warns(ldp.MisfitWarning):
        results = ldp.PersonalizedModel(counts, pum, {"home": [0.0, 0.5, 0.5]}).fit("inversion")
    bot = results.intermediate.params["home"]
    assert bot < 0.0 and results.loss_bound()["background"] == pytest.approx(-2.0 * bot)


def test_the_printed_form_of_theorem_1_fails_for_negative_estimates() -> None:
    """The bot has an estimate below zero: the printed right-hand side is below the left one."""
    r = np.array([0.6, 0.4, 0.0])
    r_hat = np.array([0.6, 0.42, -0.02])
    pi, pi_hat = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    p, p_hat = r[:2] + r[2] * pi[0], r_hat[:2] + r_hat[2] * pi_hat[0]
    lhs = np.abs(p_hat - p).sum()
    printed = np.abs(r_hat - r).sum() + r_hat[2] * np.abs(pi_hat - pi).sum()
    bound = planning.personalized_bound(r_hat, r, pi_hat, pi)
    assert printed < 0.001 < lhs <= bound.total


# ---- presentation and storage


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_read_back(kind: str, case: str) -> None:
    results = fit(kind, case, n=4000)
    text = results.to_json()
    again = ldp.PersonalizedResults.from_json(text)
    assert again.to_json() == text and "NaN" not in text
    assert repr(again) == repr(results)
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame())
    pd.testing.assert_frame_equal(again.linear_cov, results.linear_cov)
    pd.testing.assert_frame_equal(again.cov_params(), results.cov_params())
    pd.testing.assert_frame_equal(again.background, results.background)
    pd.testing.assert_series_equal(again.case, results.case)
    pd.testing.assert_series_equal(again.loss_bound(), results.loss_bound())
    assert again.summary().as_html() == results.summary().as_html()


def test_numbered_categories_are_read_back() -> None:
    pum = ldp.PUM(ldp.URAP(4, {0}, epsilon=1.0), (7, 8))
    counts = pum.common.draw(np.full(6, 1 / 6), 500, np.random.default_rng(1))
    results = ldp.PersonalizedModel(counts, pum).fit()
    again = ldp.PersonalizedResults.from_json(results.to_json())
    assert again.params.index.equals(results.params.index) and again.case.index.tolist() == [7, 8]
    assert again.t_test("p[1] = p[2]").effect == results.t_test("p[1] = p[2]").effect


NOISE_ONLY = "allow for the noise of the reports only, not for an error of the background"


def test_summaries_say_what_is_assumed() -> None:
    texts = {case: fit("urr", case, n=4000).summary().as_text() for case in CASES}
    assert "The background is taken to be exact." in texts["exact"]
    assert NOISE_ONLY not in texts["exact"] and "at worst" not in texts["exact"]
    for case in ("none", "mixed", "given"):
        assert NOISE_ONLY in texts[case]
        assert re.search(r"an error of the background: \d\.\d+ at worst", texts[case])
    assert "NO BACKGROUND of home, work: such reports were discarded" in texts["none"]
    assert "NO BACKGROUND of home: such reports were discarded" in texts["mixed"]
    assert "BACKGROUND of work: taken as it was given" in texts["mixed"]
    assert "BACKGROUND of home, work: taken as it was given" in texts["given"]
    assert "discarded" not in texts["given"]
    for text in texts.values():
        assert "Frequencies behind a personalised mechanism" in text
        lines = text.split("\n\n")[0].split("\n")[1:]
        assert len({len(line) for line in lines}) == 1


def test_summaries_in_other_forms() -> None:
    results = fit("urr", "given", n=4000)
    summary = results.summary(max_rows=2)
    assert "3 categories with smaller estimates are not shown." in summary.as_text()
    assert "school" not in summary.as_text().split("\n\n")[0]
    assert "<table" in summary.as_html() and r"\begin{tabular}" in summary.as_latex()
    assert "&lt;b&gt;" in odd_labels().summary().as_html()


def odd_labels() -> ldp.PersonalizedResults:
    pum = ldp.PUM(ldp.URR(("<b>", "50%"), (), epsilon=1.0), ("a & b",))
    return ldp.PersonalizedModel(pum.common.counts([100, 200, 300]), pum).fit()


def test_summary_frame_and_plot() -> None:
    results = fit("urap", "exact", n=4000)
    frame = results.summary_frame(alpha=0.1)
    assert frame.columns.tolist() == [
        "params",
        "bse",
        "linear",
        "linear_se",
        "lower",
        "upper",
        "presence_pvalue",
    ]
    pd.testing.assert_frame_equal(frame[["lower", "upper"]], results.conf_int(0.1))
    truth = R[:K] + R[K] * HOMES + R[K + 1] * WORKS
    ax = results.plot(truth=pd.Series(truth, index=REGIONS))
    assert "URAP" in ax.get_title() and len(ax.get_yticklabels()) == K


def test_representations() -> None:
    results = fit("urr", "mixed", n=4000)
    assert repr(results) == (
        "PersonalizedResults(mle, k=5, tags: home (none), work (given), n=4000; "
        "URR(k=7, sensitive=3, epsilon=1))"
    )
    model = ldp.PersonalizedModel(patterns("urr", 100), PUMS["urr"])
    assert repr(model).startswith("PersonalizedModel(PUM(URR(k=5") and model.nobs == 100
    assert model.categories.tolist() == list(REGIONS)


def test_a_background_as_a_series_is_matched_by_label() -> None:
    data, pum = patterns("urr", 1000), PUMS["urr"]
    shuffled = pd.Series(HOMES, index=REGIONS).sample(frac=1, random_state=1)
    first = ldp.PersonalizedModel(data, pum, {"home": shuffled}).fit()
    second = ldp.PersonalizedModel(data, pum, {"home": HOMES}).fit()
    pd.testing.assert_series_equal(first.params, second.params)


# ---- bad input

DATA = PUMS["urr"].common.counts([100, 50, 200, 60, 20, 300, 270])
ALL = ldp.PUM(ldp.URR(3, range(3), epsilon=1.0), ("home",))


def model(**changes: Any) -> ldp.PersonalizedModel:
    given: dict[str, Any] = {"data": DATA, "pum": PUMS["urr"]} | changes
    return ldp.PersonalizedModel(**given)


def home(law: Any) -> ldp.PersonalizedModel:
    return model(background={"home": law})


def without(document: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != field}


BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("no PUM", lambda: model(pum=PUMS["urr"].common), "pum"),
    ("no data", lambda: model(data=[]), "data"),
    ("plain numbers", lambda: model(data=[1, 2, 3]), "data"),
    ("no report", lambda: model(data=PUMS["urr"].common.counts([0] * 7)), "counts"),
    ("exact as text", lambda: model(exact="yes"), "exact"),
    ("exact as a number", lambda: model(exact=1), "exact"),
    ("exact without background", lambda: model(exact=True), "exact"),
    ("exact of one", lambda: model(background={"home": HOMES}, exact=True), "exact"),
    ("unknown tag", lambda: model(background={"gym": HOMES}), "background"),
    ("category as tag", lambda: model(background={"park": HOMES}), "background"),
    ("a vector", lambda: model(background=HOMES), "background"),
    ("a Series alone", lambda: model(background=pd.Series(HOMES, index=REGIONS)), "background"),
    ("too short", lambda: home([0.5, 0.5]), "background['home']"),
    ("a matrix", lambda: home([HOMES]), "background['home']"),
    ("no distribution", lambda: home(HOMES * 2), "background['home']"),
    ("counts of people", lambda: home([10, 20, 0, 30, 0]), "background['home']"),
    ("negative", lambda: home([1.5, -0.5, 0, 0, 0]), "background['home']"),
    ("nan", lambda: home([np.nan, 1, 0, 0, 0]), "background['home']"),
    ("infinite", lambda: home([np.inf, 0, 0, 0, 0]), "background['home']"),
    ("text", lambda: home("home"), "background['home']"),
    ("none", lambda: home(None), "background['home']"),
    (
        "unknown labels",
        lambda: home(pd.Series(HOMES, index=["a", "b", "c", "d", "e"])),
        "background['home']",
    ),
    ("labels lacking", lambda: home(pd.Series([0.5, 0.5], REGIONS[:2])), "background['home']"),
    (
        "labels twice",
        lambda: home(pd.Series(HOMES, index=["centre", *REGIONS[:4]])),
        "background['home']",
    ),
    (
        "bots in the background",
        lambda: home(pd.Series([*HOMES, 0.0], index=[*REGIONS, "home"])),
        "background['home']",
    ),
    (
        "nothing to spread over",
        lambda: ldp.PersonalizedModel(ALL.common.counts([1, 2, 3, 4]), ALL),
        "background",
    ),
    ("unknown method", lambda: model().fit("best"), "method"),
    ("alpha", lambda: model().fit().conf_int(2.0), "alpha"),
    ("interval", lambda: model().fit().conf_int(method="exact"), "method"),
    ("level of detection", lambda: model().fit().detected(0.0), "alpha"),
    ("method of detection", lambda: model().fit().detected(0.05, "none"), "method"),
    ("rows", lambda: model().fit().summary(max_rows=0), "max_rows"),
    ("truth", lambda: model().fit().plot(truth=[1.0]), "truth"),
    ("axes", lambda: model().fit().plot(ax=3), "ax"),
    ("hypothesis about a bot", lambda: model().fit().t_test("home = 0.1"), "hypothesis"),
    ("kind of covariance", lambda: model().fit().cov_params("robust"), "cov_type"),
    ("no JSON", lambda: ldp.PersonalizedResults.from_json("{"), "text"),
    ("another document", lambda: ldp.PersonalizedResults.from_dict({}), "document"),
    (
        "results of frequencies",
        lambda: ldp.PersonalizedResults.from_dict(model().fit().intermediate.to_dict()),
        "document",
    ),
    (
        "a field less",
        lambda: ldp.PersonalizedResults.from_dict(without(model().fit().to_dict(), "given")),
        "document",
    ),
]


@pytest.mark.parametrize(("call", "name"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(ldp.InvalidArgument) as caught:
        call()
    assert str(caught.value).startswith(name), caught.value


OTHER_DATA = {
    "the categories alone": PUMS["urr"].mechanism.counts([10] * 5),
    "other tags": ldp.PUM(PUMS["urr"].mechanism, ("home", "gym")).common.counts([10] * 7),
    "another order": ldp.PUM(PUMS["urr"].mechanism, ("work", "home")).common.counts([10] * 7),
    "another mechanism": ldp.KRR(7, epsilon=1.0).counts([10] * 7),
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_data_over_other_categories_are_refused(name: str) -> None:
    with pytest.raises(ldp.MechanismMismatch, match="not over the categories and then the tags"):
        model(data=OTHER_DATA[name])
    with pytest.raises(ldp.MechanismMismatch):
        model(data=[DATA, OTHER_DATA[name]])


def test_nothing_to_spread_bots_over_is_said() -> None:
    counts = PUMS["urr"].common.counts([0, 0, 500, 0, 0, 400, 300])
    with pytest.raises(ldp.NotAvailable, match="give a background"):
        model(data=counts).fit()
    assert model(data=counts, **CASES["exact"]).fit().params.sum() == pytest.approx(1.0)


def test_hypotheses_that_the_constraint_fixes_are_refused() -> None:
    with pytest.raises(ldp.InvalidArgument, match="sum"):
        model(**CASES["exact"]).fit().t_test(np.ones((1, K)))


def test_a_mixture_says_what_it_lacks() -> None:
    given = np.full((1, 2), np.nan)
    with pytest.raises(ldp.NotAvailable, match=r"sum to -0\.1"):
        personalized.mixture(np.array([0.5, -0.1, 0.6]), given, np.array([False, True]))


def test_json_is_strict() -> None:
    json.loads(fit("urr", "none", n=1000).to_json(), parse_constant=pytest.fail)
