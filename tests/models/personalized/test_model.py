"""Estimation behind a personalised mechanism: eq. 21, its covariance and its bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from shared.region_visits import (
    CASES,
    HOMES,
    PUMS,
    REGIONS,
    WORKS,
    Array,
    K,
    R,
    fit,
    patterns,
    survey,
)

import ldpstats as ldp
from ldpstats import planning

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
