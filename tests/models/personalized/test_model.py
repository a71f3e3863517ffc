"""Estimation behind a personalised mechanism: eq. 21, its covariance, intervals and tests."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from shared.refusals import refuses

import ldpstats as ldp
from ldpstats import planning
from ldpstats.models import personalized

Array = npt.NDArray[Any]

REGIONS = ("centre", "park", "clinic", "market", "school")

HOMES = np.array([0.1, 0.5, 0.0, 0.4, 0.0])

WORKS = np.array([0.4, 0.0, 0.1, 0.3, 0.2])

R = np.array([0.25, 0.1, 0.08, 0.12, 0.0, 0.3, 0.15])  # school is reached through "work" only

K = len(REGIONS)

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


OTHERS = np.array([True, True, False, True, True])


def by_hand(r: Array, case: str) -> Array:
    """Eq. 21, tags without a background in proportion to r over what is not sensitive."""
    known = CASES[case].get("background", {})
    spread = np.where(OTHERS, r[:K], 0.0) / r[:K][OTHERS].sum()
    pi = [known.get("home", spread), known.get("work", spread)]
    return np.asarray(r[:K] + r[K] * pi[0] + r[K + 1] * pi[1])


# ---- estimates
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("kind", "method"), [("urr", "mle"), ("urap", "em"), ("urr", "projected")])
def test_estimates_are_distributions(kind, case, method):
    results = fit(kind, case, method, n=4000)
    r = results.intermediate.params.to_numpy()
    np.testing.assert_allclose(results.params, by_hand(r, case), rtol=0, atol=1e-14)
    assert results.params.sum() == pytest.approx(1.0, abs=1e-9) and results.params.min() >= 0.0
    assert results.params.index.tolist() == list(REGIONS)
    assert results.method == method and results.llf == pytest.approx(results.intermediate.llf)
    np.testing.assert_allclose(results.background.sum(axis=1), 1.0, rtol=1e-12)


def test_without_background_bots_are_discarded():
    """MK19 section 5.3: it amounts to a normalisation over what is not sensitive."""
    pum = ldp.PUM(ldp.URR(3, (), epsilon=1.0), ("home",))
    results = ldp.PersonalizedModel(pum.common.counts([200, 50, 100, 650]), pum).fit()
    np.testing.assert_allclose(results.params, np.array([200, 50, 100]) / 350, rtol=1e-12)


def test_the_default_method_is_that_of_the_data():
    pum = PUMS["urap"]
    counts = patterns("urap")
    assert ldp.PersonalizedModel(counts, pum).fit().method == "mle"
    results = ldp.PersonalizedModel(counts.bit_counts(), pum).fit()
    assert results.method == "inversion" and np.isnan(results.llf) and not results.is_maximum
    other = ldp.PersonalizedModel(counts, pum).fit("inversion")
    np.testing.assert_allclose(results.params, other.params, rtol=0, atol=1e-13)


def test_reports_and_their_counts_say_the_same():
    pum = PUMS["urr"]
    rng = np.random.default_rng(3)
    values = rng.choice(REGIONS, 3000, p=[0.4, 0.2, 0.1, 0.2, 0.1])
    reports = pum.privatize(values, rng, {"home": rng.choice(REGIONS, 3000)})
    first, second = (
        ldp.PersonalizedModel(data, pum, {"home": HOMES, "work": WORKS}).fit()
        for data in (reports, reports.tally())
    )
    assert first.to_dict() == second.to_dict() and first.nobs == 3000


def test_groups_with_another_epsilon_are_fitted_together():
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
def test_covariances_carry_through(kind, case):
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


def test_many_categories_cost_no_matrix():
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


# ---- Theorem 1
@pytest.mark.parametrize("kind", PUMS)
def test_the_first_part_of_the_bound_is_propositions_4_and_7(kind):
    results = fit(kind, "given", "projected")
    r = results.intermediate
    at = r.linear_params.to_numpy()
    loss = planning.urr_l1 if kind == "urr" else planning.urap_l1
    plug_in = np.maximum(at, 0.0)  # where the linear estimate is a distribution already
    plug_in = plug_in / plug_in.sum()
    expected = loss(plug_in, [2, 5, 6], 1.0, results.nobs)
    assert results.loss_bound()["noise"] == pytest.approx(float(expected), rel=0.01)


@pytest.mark.parametrize("case", CASES)
def test_the_second_part_is_the_worst_case(case):
    results = fit("urr", case)
    bound, bots = results.loss_bound(), results.intermediate.params.to_numpy()[K:]
    assert bound["background"] == (0.0 if case == "exact" else pytest.approx(2 * bots.sum()))
    assert bound["bound"] == bound["noise"] + bound["background"]
    if case in ("given", "exact"):
        found = planning.personalized_bound(
            results.intermediate.params, R, results.background, np.array([HOMES, WORKS])
        )
        assert found.worst_second == pytest.approx(2 * bots.sum()) and found.second < 1e-12


def test_the_bound_takes_negative_estimates_by_their_size():
    pum = ldp.PUM(ldp.URR(3, {0}, epsilon=1.0), ("home",))
    counts = pum.common.counts([500, 300, 100, 100])
    with pytest.warns(ldp.MisfitWarning):
        results = ldp.PersonalizedModel(counts, pum, {"home": [0.0, 0.5, 0.5]}).fit("inversion")
    bot = results.intermediate.params["home"]
    assert bot < 0.0 and results.loss_bound()["background"] == pytest.approx(-2.0 * bot)


# ---- intervals
def test_categories_without_a_bot_keep_their_exact_interval():
    results = fit("urr", "given")  # no one is at home or at work in the clinic, or in two places
    assert HOMES[2] == 0.0
    model = ldp.PersonalizedModel(
        patterns("urr"), PUMS["urr"], {"home": HOMES, "work": HOMES}, exact=True
    )
    results = model.fit()
    own = results.intermediate.conf_int().iloc[[2, 4]]
    pd.testing.assert_frame_equal(results.conf_int().iloc[[2, 4]], own, rtol=1e-12)


def test_a_category_of_one_bot_has_its_interval():
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
def test_intervals_of_many_reports_are_those_of_wald(kind, case):
    results = fit(kind, case, "inversion", n=10**8)
    exact, wald = (results.conf_int(method=method, clip=False) for method in ("default", "wald"))
    width = (wald["upper"] - wald["lower"]).to_numpy()[:, None]
    difference = np.abs(exact.to_numpy() - wald.to_numpy())[:-1]
    assert np.all(difference < 0.002 * width[:-1])  # of school none is reported


def test_mover_of_normal_parts_is_wald():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 3, 3))
    V = A @ A.transpose(0, 2, 1)
    sd = np.sqrt(np.einsum("...ii->...i", V))
    rho = V / (sd[:, :, None] * sd[:, None, :])
    below, above = personalized.mover(1.96 * sd, 1.96 * sd, rho)
    np.testing.assert_allclose(below, 1.96 * np.sqrt(V.sum(axis=(1, 2))), rtol=1e-12)
    np.testing.assert_allclose(above, below, rtol=1e-12)


def test_mover_credits_cancellation_with_the_shorter_side():
    rho = np.array([[1.0, -1.0], [-1.0, 1.0]])
    below, above = personalized.mover([1.0, 3.0], [2.0, 0.5], rho)
    assert below == pytest.approx(np.sqrt(1.0 + 9.0 - 2 * 1.0 * 0.5))
    assert above == pytest.approx(np.sqrt(4.0 + 0.25 - 2 * 1.0 * 0.5))


# ---- tests
@pytest.mark.parametrize("kind", PUMS)
def test_hypotheses_are_contrasts_of_the_intermediate_frequencies(kind):
    results = fit(kind, "exact")
    r = results.intermediate
    given = np.array([*np.eye(K), HOMES, WORKS]).T
    ours, theirs = results.t_test("park = market"), r.t_test(given[[1]] - given[[3]])
    assert ours.effect[0] == pytest.approx(theirs.effect[0], rel=1e-12)
    assert float(np.ravel(ours.pvalue)[0]) == pytest.approx(float(np.ravel(theirs.pvalue)[0]))
    together = results.wald_test("park = market, centre = 0.3, clinic = 0.09")
    same = r.wald_test((given[[1, 0, 2]] - given[[3, 0, 0]] * [[1], [0], [0]], [0.0, 0.3, 0.09]))
    assert together.statistic == pytest.approx(same.statistic, rel=1e-9) and together.df == 3


def test_presence_of_a_single_noisy_count_is_exact():
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
def test_presence_of_several_noisy_counts_has_their_law(exclusive):
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


def test_detection_controls_all_errors_together():
    results = fit("urr", "exact")
    assert results.detected(0.001).tolist() == [*REGIONS]
    with_holm, with_bh = (set(results.detected(0.05, m)) for m in ("holm", "bh"))
    assert with_holm <= with_bh
    # reports of one school, and bots that noise explains: what they stand for was not detected
    counts = PUMS["urr"].common.counts([0, 0, 576, 0, 1, 212, 211])
    little = ldp.PersonalizedModel(counts, PUMS["urr"], **CASES["exact"]).fit()
    assert little.detected(0.001).tolist() == ["clinic", "school"]


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_read_back(kind, case):
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


NOISE_ONLY = "allow for the noise of the reports only, not for an error of the background"


def test_summaries_say_what_is_assumed():
    summaries = {case: fit("urr", case, n=4000).summary() for case in CASES}
    texts = {case: summary.extra_txt for case, summary in summaries.items()}
    assert "The background is assumed to be exact." in texts["exact"]
    assert NOISE_ONLY not in texts["exact"] and "at worst" not in texts["exact"]
    for case in ("none", "mixed", "given"):
        assert NOISE_ONLY in texts[case]
        assert re.search(r"an error of the background: \d\.\d+ at worst", texts[case])
    assert "no background is given for home, work: these reports were discarded" in texts["none"]
    assert "no background is given for home: these reports were discarded" in texts["mixed"]
    assert "the background of work was used as given" in texts["mixed"]
    assert "the background of home, work was used as given" in texts["given"]
    assert "discarded" not in texts["given"]
    for text in map(str, summaries.values()):
        assert "Frequencies behind a personalised mechanism" in text
        lines = text.split("\n\n")[0].split("\n")[1:]
        assert len({len(line) for line in lines}) == 1


def test_a_background_as_a_series_is_matched_by_label():
    data, pum = patterns("urr", 1000), PUMS["urr"]
    shuffled = pd.Series(HOMES, index=REGIONS).sample(frac=1, random_state=1)
    first = ldp.PersonalizedModel(data, pum, {"home": shuffled}).fit()
    second = ldp.PersonalizedModel(data, pum, {"home": HOMES}).fit()
    pd.testing.assert_series_equal(first.params, second.params)


DATA = PUMS["urr"].common.counts([100, 50, 200, 60, 20, 300, 270])

ALL = ldp.PUM(ldp.URR(3, range(3), epsilon=1.0), ("home",))


def model(**changes: Any) -> ldp.PersonalizedModel:
    given: dict[str, Any] = {"data": DATA, "pum": PUMS["urr"]} | changes
    return ldp.PersonalizedModel(**given)


def home(law: Any) -> ldp.PersonalizedModel:
    return model(background={"home": law})


def without(document: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != field}


BAD = [
    *refuses("pum", lambda v: model(pum=v), {"no PUM": PUMS["urr"].common}),
    *refuses("data", lambda v: model(data=v), {"no data": [], "plain numbers": [1, 2, 3]}),
    *refuses("counts", lambda v: model(data=v), {"no report": PUMS["urr"].common.counts([0] * 7)}),
    *refuses(
        "exact",
        lambda v: model(exact=v),
        {"exact as text": "yes", "exact as a number": 1, "exact without background": True},
    ),
    *refuses("exact", lambda v: model(background={"home": HOMES}, exact=v), {"exact of one": True}),
    *refuses(
        "background",
        lambda v: model(background=v),
        {
            "unknown tag": {"gym": HOMES},
            "category as tag": {"park": HOMES},
            "a vector": HOMES,
            "a Series alone": pd.Series(HOMES, index=REGIONS),
        },
    ),
    *refuses(
        "background['home']",
        home,
        {
            "too short": [0.5, 0.5],
            "no distribution": HOMES * 2,
            "negative": [1.5, -0.5, 0, 0, 0],
            "infinite": [np.inf, 0, 0, 0, 0],
            "text": "home",
            "unknown labels": pd.Series(HOMES, index=["a", "b", "c", "d", "e"]),
            "labels lacking": pd.Series([0.5, 0.5], REGIONS[:2]),
            "bots in the background": pd.Series([*HOMES, 0.0], index=[*REGIONS, "home"]),
        },
    ),
    *refuses(
        "background",
        lambda v: ldp.PersonalizedModel(v, ALL),
        {"nothing to spread over": ALL.common.counts([1, 2, 3, 4])},
    ),
    *refuses("method", lambda v: model().fit(v), {"unknown method": "best"}),
    *refuses("alpha", lambda v: model().fit().conf_int(v), {"alpha": 2.0}),
    *refuses("method", lambda v: model().fit().conf_int(method=v), {"interval": "exact"}),
    *refuses("method", lambda v: model().fit().detected(0.05, v), {"method of detection": "none"}),
    *refuses("truth", lambda v: model().fit().plot(truth=v), {"truth": [1.0]}),
    *refuses("hypothesis", lambda v: model().fit().t_test(v), {"of a bot": "home = 0.1"}),
    *refuses("cov_type", lambda v: model().fit().cov_params(v), {"kind of covariance": "robust"}),
    *refuses("text", ldp.PersonalizedResults.from_json, {"no JSON": "{"}),
    *refuses(
        "document",
        ldp.PersonalizedResults.from_dict,
        {
            "another document": {},
            "results of frequencies": model().fit().intermediate.to_dict(),
            "a field less": without(model().fit().to_dict(), "given"),
        },
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()


OTHER_DATA = {
    "the categories alone": PUMS["urr"].mechanism.counts([10] * 5),
    "other tags": ldp.PUM(PUMS["urr"].mechanism, ("home", "gym")).common.counts([10] * 7),
    "another order": ldp.PUM(PUMS["urr"].mechanism, ("work", "home")).common.counts([10] * 7),
    "another mechanism": ldp.KRR(7, epsilon=1.0).counts([10] * 7),
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_data_over_other_categories_are_refused(name):
    with pytest.raises(ldp.MechanismMismatch, match="not over the categories and then the tags"):
        model(data=OTHER_DATA[name])
    with pytest.raises(ldp.MechanismMismatch):
        model(data=[DATA, OTHER_DATA[name]])


def test_nothing_to_spread_bots_over_is_said():
    counts = PUMS["urr"].common.counts([0, 0, 500, 0, 0, 400, 300])
    with pytest.raises(ldp.NotAvailable, match="give a background"):
        model(data=counts).fit()
    assert model(data=counts, **CASES["exact"]).fit().params.sum() == pytest.approx(1.0)


def test_hypotheses_that_the_constraint_fixes_are_refused():
    with pytest.raises(ldp.InvalidArgument, match="sum"):
        model(**CASES["exact"]).fit().t_test(np.ones((1, K)))
