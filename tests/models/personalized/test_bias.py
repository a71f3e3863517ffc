"""Bias and loss behind a personalised mechanism, in simulated surveys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from simulate import at_least, bias, coverage, repeat
from simulated.personal import KINDS, Setting, estimates

import ldpstats as ldp
from ldpstats import planning

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_bias_of_all_three_cases(kind: str) -> None:
    """None under an exact background; as predicted under a wrong one, or none."""
    setting = Setting(kind, 10, 3, 2, 1.0, 100_000, "many")
    R, k, p = 4000, setting.k, setting.p
    r, _ = estimates(setting, setting.draw(R))
    wrong = np.full((2, k), 1 / k)
    B, N = r[:, k:].sum(axis=1), r[:, 3:k].sum(axis=1)
    spread = r[:, :k].copy()
    spread[:, 3:] *= (1 + B / N)[:, None]
    without = setting.r[:k].copy()
    without[3:] *= 1 + setting.r[k:].sum() / setting.r[3:k].sum()
    for estimate, expected in (
        (r @ setting.G.T, p),
        (r[:, :k] + r[:, k:] @ wrong, p + setting.r[k:] @ (wrong - setting.pi)),
        (spread, without),
    ):
        se = estimate.std(axis=0, ddof=1) / np.sqrt(R)
        off = np.abs(estimate.mean(axis=0) - expected)
        assert np.all(off < 4.5 * se + 1e-12)
        bias = np.abs(expected - p)  # control: what was predicted is not small
        assert not bias.any() or np.median(bias / np.maximum(se, 1e-9)) > 20
    survey = setting.draw(1)[0]
    model = ldp.PersonalizedModel(setting.counts(survey), setting.pum)
    one, _ = estimates(setting, survey[None])
    expected = one[0, :k] * np.where(np.arange(k) < 3, 1, 1 + one[0, k:].sum() / one[0, 3:k].sum())
    np.testing.assert_allclose(model.fit("inversion").params, expected, rtol=0, atol=1e-12)


# ---- respondents one by one, each with a pre-processor of her own


def population(n: int, rng: np.random.Generator) -> tuple[Array, dict[str, Array]]:
    """Where each respondent lives and works, on ten regions; a third has no workplace."""
    homes = rng.choice(10, n, p=np.arange(10, 0, -1) / 55)
    works = (homes + rng.integers(1, 10, n)) % 10
    return homes, {"home": homes, "work": np.where(rng.random(n) < 1 / 3, np.nan, works)}


def behind_bots(p: Array, tags: dict[str, Array]) -> tuple[Array, Array]:
    """r and pi of these respondents (MK19 eq. 20), all of whom are anywhere with law p."""
    known = [t[~np.isnan(t)].astype(int) for t in tags.values()]
    owned = np.array([np.bincount(t, minlength=10) for t in known])
    mass = p * owned / len(tags["home"])
    bots = mass.sum(axis=1)
    return np.concatenate([p - mass.sum(axis=0), bots]), mass / bots[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_respondents_with_their_own_preprocessors(kind: str) -> None:
    """Reports made one by one: estimates are unbiased and covered, homes drawn anew or not."""
    pum = ldp.PUM(KINDS[kind](10, {0, 1}, 1.0), ("home", "work"))
    n, R = 4000, 400
    rng = np.random.default_rng([11, len(kind)])
    p = np.arange(1, 11) / 55.0
    _, tags = population(n, rng)

    def survey(i: int) -> dict[str, Any]:
        nonlocal tags
        if i < R // 2:  # then the same respondents again and again
            _, tags = population(n, rng)
        r, pi = behind_bots(p, {t: np.asarray(v, dtype=float) for t, v in tags.items()})
        np.testing.assert_allclose(r[:10] + r[10:] @ pi, p, rtol=1e-12)
        reports = pum.privatize(rng.choice(10, n, p=p), rng, tags)
        background = dict(zip(pum.tags, pi, strict=True))
        results = ldp.PersonalizedModel(reports, pum, background, exact=True).fit("inversion")
        said = {"estimate": results.linear_params, "se": results.linear_bse}
        return said | {"ends": results.conf_int()}

    found = repeat(R, survey)
    assert np.abs(bias(found["estimate"], p)).max() < 4.5
    # a standard deviation from 400 surveys has a relative standard error of .035
    ratio = found["se"].mean(axis=0) / found["estimate"].std(axis=0)
    assert np.all((ratio > 0.85) & (ratio < 1.2))
    assert at_least(coverage(found["ends"], p, rounding=1e-12), 0.94, R)


# ---- Theorem 1


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_1_holds_in_every_survey(kind: str) -> None:
    """With the size of r_hat(bot): the printed form fails where estimates are negative."""
    setting = Setting(kind, 10, 3, 2, 0.5, 2000, "few")
    wrong = np.eye(10)[[-2, -1]]  # each bot put wholly where few of its respondents are
    background = dict(zip(setting.pum.tags, wrong, strict=True))
    broken = 0
    for tally in setting.draw(60):
        for method in ("inversion", "normalized"):
            model = ldp.PersonalizedModel(setting.counts(tally), setting.pum, background)
            results = model.fit(method)
            r_hat = results.intermediate.params.to_numpy()
            bound = planning.personalized_bound(r_hat, setting.r, results.background, setting.pi)
            loss = np.abs(results.params.to_numpy() - setting.p).sum()
            assert loss <= bound.total + 1e-12
            assert bound.second <= results.loss_bound()["background"] + 1e-12
            printed = r_hat[10:] @ np.abs(wrong - setting.pi).sum(axis=1)
            broken += loss > bound.first + printed
    assert broken > 0
