"""Personalised mechanisms in complex samples: by hand, against unweighted ones, and simulated."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from tests.simulate import coverage

PLACES = ("centre", "park", "mill", "clinic")
DESIGNS: dict[str, dict[str, str]] = {
    "equal": {},
    "unequal": {},
    "strata": {"strata": "s"},
    "clusters": {"clusters": "u"},
}
SHARES = np.array([0.4, 0.3, 0.2, 0.1])  # of the population in strata
LAWS = np.array(
    [[0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.4, 0.2], [0.6, 0.2, 0.1, 0.1], [0.25, 0.5, 0.15, 0.1]]
)
HOME = np.array([0.3, 0.5, 0.1, 0.0])  # of those in a place, who live there and keep that secret
WEIGHT = np.array([1.0, 2.5, 1.5, 2.0])  # by answer


def pum(epsilon: float = 2.0) -> ldp.PUM:
    return ldp.PUM(ldp.URR(PLACES, {"clinic"}, epsilon), ("home",))


def truth(design: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Shares of the population, and the places of those at home."""
    if design in ("equal", "unequal"):
        P = LAWS[0]
    else:
        P = SHARES @ LAWS if design == "strata" else LAWS.mean(axis=0)
    return P, {"home": P * HOME / (P @ HOME)}


def drawn(design: str, rng: np.random.Generator, n: int = 1600) -> pd.DataFrame:
    """Places of a sample, and where people live, with weights, strata and clusters."""
    stratum, unit, w = np.arange(n) * 4 // n, np.arange(n) // 20, np.ones(n)
    chances = np.broadcast_to(LAWS[0], (n, 4))
    if design == "unequal":  # those with large weights are sampled less
        chances = chances / WEIGHT
    elif design == "strata":
        chances, w = LAWS[stratum], SHARES[stratum]
    elif design == "clusters":
        chances, w = LAWS[rng.integers(0, 4, n // 20)][unit], rng.uniform(1.0, 2.5, n)
    sums = chances.cumsum(axis=1)
    place = (rng.random(n)[:, None] * sums[:, -1:] > sums).sum(axis=1)
    if design == "unequal":
        w = WEIGHT[place]
    other = (place + rng.integers(1, 4, n)) % 4
    home = np.where(
        rng.random(n) < HOME[place], place, np.where(other == 3, (place + 1) % 3, other)
    )
    labels = np.array(PLACES)
    columns = {"place": labels[place], "home": labels[home], "w": w, "s": stratum, "u": unit}
    return pd.DataFrame(columns)


def reports(table: pd.DataFrame, rng: np.random.Generator, epsilon: float = 2.0) -> Any:
    sheet = ldp.Questionnaire({"place": pum(epsilon)})
    return sheet.privatize(table, rng, tags={"place": {"home": "home"}}), sheet


def test_without_noise_shares_and_errors_are_those_computed_by_hand():
    rng = np.random.default_rng(3)
    table = drawn("clusters", rng)
    survey = ldp.Survey(*reports(table, rng, 40.0), weights="w", strata="s", clusters="u")
    pi, w = np.array([0.5, 0.3, 0.2, 0.0]), table["w"].to_numpy()
    found = survey.personalized("place", {"home": pi}, exact=True)
    bot = (table["place"] == table["home"]).to_numpy()
    for label, share in zip(PLACES, pi, strict=True):
        z = np.where(bot, share, (table["place"] == label).to_numpy(float))
        mean = float(w @ z / w.sum())
        scores = table.assign(e=w * (z - mean) / w.sum()).groupby(["s", "u"])["e"].sum()
        strata = scores.groupby("s")
        se = float(np.sqrt((strata.var(ddof=1) * strata.size()).sum()))
        assert (found.params[label], found.bse[label]) == pytest.approx((mean, se), rel=1e-8)
    # without a background the bots are spread in proportion
    r = survey.personalized("place").intermediate.params.to_numpy()
    expected = np.append(r[:3] * (1.0 + r[4] / r[:3].sum()), r[3])
    np.testing.assert_allclose(survey.personalized("place").params, expected, rtol=1e-10)
    jackknife = survey.replicates("jackknife").personalized("place", {"home": pi}, exact=True)
    np.testing.assert_allclose(jackknife.bse, found.bse, rtol=0.02)


@pytest.mark.parametrize("background", [None, {"home": [0.5, 0.3, 0.2, 0.0]}])
def test_equal_weights_are_the_unweighted_analysis(background):
    rng = np.random.default_rng(8)
    held, sheet = reports(drawn("equal", rng).assign(w=3.0), rng)
    found = ldp.Survey(held, sheet, weights="w").personalized("place", background)
    same = ldp.Survey(held, sheet).personalized("place", background, method="inversion")
    np.testing.assert_allclose(found.params, same.params, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.bse, np.sqrt(1600 / 1599) * same.bse, rtol=1e-10)
    np.testing.assert_allclose(found.conf_int(), same.conf_int(), atol=0.01)
    np.testing.assert_allclose(found.loss_bound(), same.loss_bound(), rtol=1e-3)
    likely = ldp.Survey(held, sheet, weights="w").personalized("place", background, method="mle")
    plain = ldp.Survey(held, sheet).personalized("place", background)
    np.testing.assert_allclose(likely.params, plain.params, atol=1e-6)


def test_results_say_what_they_are_and_come_back():
    rng = np.random.default_rng(5)
    survey = ldp.Survey(*reports(drawn("clusters", rng), rng), weights="w", clusters="u")
    background = truth("clusters")[1]
    found = survey.personalized("place", background, exact=True)
    text = " ".join(str(found.summary()).split())
    for words in ("Design: clusters u", "Df of design: 79", "t quantiles with 79 df", "score ones"):
        assert words in text, words
    again = type(found).from_json(found.to_json())
    assert str(again.summary()) == str(found.summary()) and again.to_json() == found.to_json()
    assert isinstance(again.intermediate, ldp.WeightedResults)
    assert found.t_test("park = mill").df_denom == 79.0
    assert found.wald_test("park = mill, park = clinic").df == (2.0, 78.0)
    t = found.linear_params / found.linear_bse
    np.testing.assert_allclose(found.presence_pvalues(), stats.t.sf(t, 79), rtol=1e-10)
    assert (found.pvalues <= 2 * found.presence_pvalues() + 1e-15).all()
    assert list(found.detected()) == list(PLACES)
    text = " ".join(str(survey.personalized("place", background).summary()).split())
    assert "allow for the sample and the noise of the reports only" in text
    assert len(found.to_frame()) == 4 and found.glance()["nobs"].item() == 1600
    inside = survey.where("u < 40").personalized("place", background, exact=True)
    assert (inside.nobs, inside.intermediate.domains.df.tolist()) == (800, [39.0])
    with pytest.raises(ldp.NotAvailable, match="method='em' with weights"):
        survey.personalized("place", method="em")


def test_one_sampling_unit_shows_no_errors():
    rng = np.random.default_rng(5)
    held, sheet = reports(drawn("clusters", rng, 40).assign(u=1), rng)
    survey = ldp.Survey(held, sheet, weights="w", clusters="u", single_unit="average")
    with pytest.warns(ldp.LDPWarning, match="one sampling unit"):
        found = survey.personalized("place", {"home": [0.5, 0.3, 0.2, 0.0]})
    assert found.bse.isna().all() and found.cov_params().isna().all().all()
    assert found.conf_int().to_numpy().tolist() == [[0.0, 1.0]] * 4
    with pytest.raises(ldp.NotAvailable, match="one sampling unit"):
        found.t_test("park = mill")
    str(found.summary())


# -- simulated coverage ---------------------------------------------------------------------------


def simulated(design: str, R: int, naive: bool = False) -> dict[str, Any]:
    """Coverage of 95 percent intervals of the places, and of their contrasts."""
    rng, (P, background) = np.random.default_rng(7), truth(design)
    how = {} if naive else {"weights": "w"} | DESIGNS[design]
    found: dict[str, list[Any]] = {"default": [], "wald": [], "contrast": []}
    for _ in range(R):
        survey = ldp.Survey(*reports(drawn(design, rng), rng), **how)
        results = survey.personalized("place", background, exact=True, method="inversion")
        found["default"].append(results.conf_int().to_numpy())
        found["wald"].append(results.conf_int(method="wald").to_numpy())
        found["contrast"].append(results.t_test("park = mill").conf_int())
    true = {"default": P, "wald": P, "contrast": P[1] - P[2]}
    return {name: coverage(ends, true[name]) for name, ends in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover(design, replications):
    R = replications(600, 200)
    found, error = simulated(design, R), 3.0 * np.sqrt(0.05 * 0.95 / R)
    for name, shares in found.items():
        assert np.all((shares > 0.93 - error) & (shares < 0.97 + error)), (name, shares)
        assert 0.93 - error / 2 <= shares.mean() <= 0.97 + error / 2, (name, shares)


@pytest.mark.slow
def test_without_the_weights_they_do_not(replications):
    R = replications(200, 200)
    assert simulated("unequal", R, naive=True)["default"].min() < 0.8
    assert simulated("clusters", R, naive=True)["default"].mean() < 0.9
