"""Intervals and tests behind a personalised mechanism."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared.region_visits import CASES, HOMES, PUMS, REGIONS, WORKS, K, fit, patterns

import ldpstats as ldp
from ldpstats.models.personalized import intervals as personalized

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
