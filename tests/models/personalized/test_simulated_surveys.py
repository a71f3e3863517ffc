"""Simulated surveys behind a personalised mechanism: bias, coverage, size.

The full simulation takes 10,000 surveys a setting (Monte Carlo standard error .0022). Among the
cells luck carries a few beyond a limit: their settings are surveyed again, ten times as often, and
then the limits hold as they stand. With fewer surveys they are widened by four standard errors.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, at_least, at_most, bias, coverage, error, near, repeat, size
from surveys import (
    assert_cut,
    draw,
    moments,
    null_covariances,
    observed_covariances,
    projected,
    quadratic_forms,
    score_forms,
)
from surveys import default_intervals as exact_ends
from surveys import estimates as intermediate

import ldpstats as ldp
from ldpstats import planning
from ldpstats.inference import intervals
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models import personalized

Array = npt.NDArray[Any]

BATCH = 1000  # surveys at a time

KINDS: dict[str, Callable[..., Any]] = {"urr": ldp.URR, "urap": ldp.URAP}


@dataclass(frozen=True)
class Setting:
    """What is surveyed: the mechanism, the respondents, and how many of them use bots.

    The last category is reached through bots only, the one before has half a report on average and
    no bot, two more have two and six reports and bots. The shares of the others fall.
    """

    kind: str
    k: int
    S: int
    kappa: int
    epsilon: float
    n: int
    where: str

    def __str__(self) -> str:
        values = [getattr(self, field.name) for field in fields(self)]
        return "-".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)

    @cached_property
    def pum(self) -> ldp.PUM:
        tags = ("home", "work", "gym")[: self.kappa]
        return ldp.PUM(KINDS[self.kind](self.k, range(self.S), self.epsilon), tags)

    @cached_property
    def pi(self) -> Array:
        """Background, (kappa, k): none of what is sensitive for all, or of the last but one."""
        base = 1.0 / np.arange(1, self.k + 1)
        pi = np.array([np.roll(base, -3), base[::-1], np.roll(base, self.k // 2)])[: self.kappa]
        pi[:, : self.S] = pi[:, -2] = 0.0
        pi[0, self.k // 2] = 0.0
        return np.asarray(pi / pi.sum(axis=1, keepdims=True))

    @cached_property
    def r(self) -> Array:
        """Intermediate frequencies, shape (k + kappa,)."""
        share = {"many": 0.3, "few": 0.01, "none": 0.0}[self.where]
        bots = share * np.array([1.0, 0.4, 0.2])[: self.kappa]
        own = 1.0 / np.arange(1, self.k + 1)
        rare = np.array([6.0, 2.0, 0.5, 0.0]) / self.n
        own[-4:] = 0.0
        own *= (1.0 - bots.sum() - rare.sum()) / own.sum()
        own[-4:] = rare
        return np.concatenate([own, bots])

    @cached_property
    def G(self) -> Array:
        return np.hstack([np.eye(self.k), self.pi.T])

    @property
    def p(self) -> Array:
        return np.asarray(self.G @ self.r)

    @cached_property
    def law(self) -> tuple[Array, Array]:
        """Offset and scale of the tallies, shape (k + kappa,): chance of each, offset + scale r."""
        problem = moments(self.pum.common, self.n)
        shape = self.r.shape
        return np.broadcast_to(problem.offset, shape), np.broadcast_to(problem.A, shape)

    @property
    def expected(self) -> Array:
        """Smallest expected tally among those that the estimate of a category rests on."""
        offset, scale = self.law
        tally = self.n * (offset + scale * self.r)
        bots = np.where(self.pi > 0.0, tally[self.k :, None], np.inf).min(axis=0)
        return np.asarray(np.minimum(tally[: self.k], bots))

    def draw(self, R: int, *key: int) -> Array:
        """Tallies of R surveys, shape (R, k + kappa): they have the law of `Mechanism.draw`."""
        rng = np.random.default_rng([2025, *map(ord, str(self)), *key])
        return draw(self.pum.common, self.r, self.n, R, rng)

    def counts(self, tally: Array) -> Any:
        return self.pum.common.counts(tally, None if self.kind == "urr" else self.n)

    def results(self, tally: Array, exact: bool = True) -> ldp.PersonalizedResults:
        background = dict(zip(self.pum.tags, self.pi, strict=True))
        model = ldp.PersonalizedModel(self.counts(tally), self.pum, background, exact)
        return model.fit("inversion")


# ---- many surveys at once
def estimates(setting: Setting, tally: Array) -> tuple[Array, Array]:
    """Linear estimates of r, shape (R, k + kappa), and their plug-in covariances."""
    common, n = setting.pum.common, setting.n
    with np.errstate(divide="ignore", invalid="ignore"):  # of one report again and again
        r, V = intermediate(common, tally, n)[0], observed_covariances(common, tally, n)
    unknown = ~np.isfinite(V).all(axis=(1, 2))
    V[unknown] = null_covariances(common, projected(r[unknown]), n)
    return r, V


pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]

FULL = 10_000

SETTINGS = [
    Setting("urr", 10, 3, 1, 3.0, 1000, "many"),
    Setting("urap", 10, 0, 2, 1.0, 10_000, "few"),
    Setting("urr", 30, 5, 2, 0.5, 1000, "few"),
    Setting("urap", 30, 5, 2, 3.0, 10_000, "many"),
    Setting("urr", 10, 0, 2, 3.0, 100_000, "few"),
    Setting("urap", 10, 3, 1, 0.5, 1000, "many"),
]


def default_intervals(setting: Setting, tally: Array, correlated: bool = True) -> Array:
    """What `conf_int(clip=False)` gives, shape (R, k, 2)."""
    k, kappa, R = setting.k, setting.kappa, len(tally)
    r, V = estimates(setting, tally)
    ends = exact_ends(setting.pum.common, tally, setting.n)
    sd = np.sqrt(np.diagonal(V, axis1=1, axis2=2))
    product = sd[:, :, None] * sd[:, None, :]
    rho = np.divide(V, product, out=np.zeros(V.shape), where=product > 0.0)
    at = np.column_stack([np.arange(k), np.broadcast_to(k + np.arange(kappa), (k, kappa))])
    weights = np.column_stack([np.ones(k), setting.pi.T])
    own = rho[:, at[:, :, None], at[:, None, :]]
    own[..., np.arange(1 + kappa), np.arange(1 + kappa)] = 1.0
    if not correlated:
        own = np.broadcast_to(np.eye(1 + kappa), own.shape)
    down, up = r - ends[..., 0], ends[..., 1] - r
    assert down.min() > -1e-9 and up.min() > -1e-9 and own.shape == (R, k, 1 + kappa, 1 + kappa)
    below, above = personalized.mover(weights * down[:, at], weights * up[:, at], own)
    p = r @ setting.G.T
    return np.stack([p - below, p + above], axis=-1)


def coverages(setting: Setting, R: int, *key: int) -> pd.DataFrame:
    """Coverage of each category of a setting.

    Controls: "halved" standard errors; "known": bots as if they were not estimated; "apart": parts
    as if they did not vary together; "wald": the normal interval.
    """
    k, p = setting.k, setting.p
    names = ("default", "wald", "halved", "known", "apart")
    found = {name: np.zeros(k) for name in names}
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i, *key)
        r, V = estimates(setting, tally)
        estimate = r @ setting.G.T
        variance = np.einsum("xi,rij,xj->rx", setting.G, V, setting.G, optimize=True)
        se = np.sqrt(np.maximum(variance, 0.0))
        own = exact_ends(setting.pum.common, tally, setting.n)[:, :k]
        own = own + (r[:, k:] @ setting.pi)[..., None]
        for name, bounds in {
            "default": default_intervals(setting, tally),
            "wald": intervals.wald(estimate, se),
            "halved": intervals.wald(estimate, se / 2),
            "known": own,
            "apart": default_intervals(setting, tally, correlated=False),
        }.items():
            # to rounding where nothing varies
            found[name] += len(tally) / R * coverage(bounds, p, rounding=1e-12)
    frame = pd.DataFrame(found)
    return frame.assign(p=p, expected=setting.expected, own=setting.r[:k])


def outside(cells: pd.DataFrame, column: str, slack: float) -> pd.DataFrame:
    """Cells whose coverage is not .94 to .965; the upper limit where 50 tallies are expected."""
    low, high = cells[column] < 0.94 - slack, cells[column] > 0.965 + slack
    return cells[low | (high & (cells.expected >= 50))]


def check(setting: Setting, R: int, fits: int) -> None:
    cells = coverages(setting, R)
    slack = 0.0 if R >= FULL else 4 * float(error(0.94, R))
    wrong = outside(cells, "default", slack)
    if len(wrong) and R >= FULL:
        wrong = outside(coverages(setting, 10 * R, 1), "default", 0.0)
    assert wrong.empty, f"{setting}\n{wrong}"
    moving = cells.p * setting.n > 20  # rarer ones may hardly ever be reported
    assert (cells.halved[moving] < 0.9).all()  # control
    through = (cells.own == 0.0) & (cells.p > 0.0)
    assert through.any() and (cells.known[through] < 0.8).all()  # control
    for tally in setting.draw(fits, 7):
        results = setting.results(tally)
        ours = default_intervals(setting, tally[None])[0]
        np.testing.assert_allclose(results.conf_int(clip=False), ours, rtol=0, atol=1e-10)
        assert_cut(results.conf_int(), ours)


@pytest.mark.parametrize("setting", SETTINGS[:3], ids=str)
def test_coverage_of_some_settings(setting):
    check(setting, R=500, fits=2)


@pytest.mark.slow
def test_coverage(replications):
    R = replications(FULL)
    for setting in SETTINGS:
        check(setting, R, fits=3)


@pytest.mark.slow
def test_normal_intervals_fail_where_reports_are_few(replications):
    """Control: the reason for exact parts."""
    setting = Setting("urr", 10, 3, 1, 3.0, 10_000, "few")
    assert coverages(setting, replications(FULL)).wald.min() < 0.9


HARD = [  # few reports, nearly all of them of bots, and estimates that lean on one another
    (2, [0.05, 0.05, 0.9], [[0.5, 0.5]]),
    (2, [0.5, 0.0, 0.5], [[0.2, 0.8]]),
    (2, [0.0, 0.0, 1.0], [[0.01, 0.99]]),
    (3, [0.3, 0.2, 0.1, 0.4], [[0.5, 0.4, 0.1]]),
    (3, [0.02, 0.88, 0.0, 0.06, 0.04], [[0.5, 0.4, 0.1], [0.1, 0.0, 0.9]]),
    (3, [0.0, 0.998, 0.0, 0.001, 0.001], [[0.5, 0.4, 0.1], [0.1, 0.0, 0.9]]),
]


@dataclass(frozen=True)
class Hard(Setting):
    """A setting that is given in numbers."""

    index: int = 0

    @cached_property
    def pi(self) -> Array:
        return np.array(HARD[self.index][2])

    @cached_property
    def r(self) -> Array:
        return np.array(HARD[self.index][1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_of_hard_settings(kind, replications):
    """At least .94 from 50 reports and epsilon = .1 on."""
    R = replications(FULL)
    slack = 4 * float(error(0.94, R))
    for index, (k, _, pi) in enumerate(HARD):
        for epsilon, n in ((0.1, 50), (1.0, 200), (6.0, 50), (6.0, 1000)):
            setting = Hard(kind, k, int(k == 3 and len(pi) == 2), len(pi), epsilon, n, "", index)
            cells = coverages(setting, R)
            assert cells.default.min() > 0.94 - slack, f"{setting}\n{cells}"


@pytest.mark.slow
def test_uncorrelated_parts_cover_too_much(replications):
    """Control: bots and categories share the respondents."""
    setting = Hard("urr", 2, 0, 1, 3.0, 10_000, "", 0)
    cells = coverages(setting, replications(FULL))
    assert cells.expected.min() > 50
    assert (cells.apart > 0.98).all() and outside(cells, "default", 0.01).empty


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "case"), [("urr", "none"), ("urap", "mixed")])
def test_without_background_intervals_cover_what_is_estimated(kind, case, replications):
    """The frequencies as they would be if bots were spread like the rest."""
    R = replications(2000, least=250)
    setting = Setting(kind, 10, 3, 2, 1.0, 2000, "many")
    k, r = setting.k, setting.r
    known = {"home": setting.pi[0]} if case == "mixed" else {}
    given = r[k] if known else 0.0
    p = r[:k] + given * setting.pi[0]
    p[3:] += (r[k:].sum() - given) * r[3:k] / r[3:k].sum()
    tallies = setting.draw(R)

    def survey(i: int) -> dict[str, Any]:
        model = ldp.PersonalizedModel(setting.counts(tallies[i]), setting.pum, known)
        return {"ends": model.fit("inversion").conf_int()}

    ends = repeat(R, survey)["ends"]
    assert at_least(coverage(ends, p, rounding=1e-12), 0.94, R)
    # control: they say nothing of an error of the background
    assert coverage(ends, setting.p).min() < 0.5


# ---- sizes
def sizes(setting: Setting, R: int) -> dict[str, float]:
    """Rejection rates of true hypotheses at .05, of categories with 50 reports and more.

    With 20 reports of each of three categories together the Wald test rejects .063.
    """
    pvalues: dict[str, list[Array]] = {}
    k, S = setting.k, setting.S
    contrasts = {
        "t, through bots": np.eye(k)[[-1]],
        "t, two categories": np.eye(k)[[S]] - np.eye(k)[[S + 1]],
        "t, the first": np.eye(k)[[0]],
        "wald of three": np.eye(k)[[S, S + 2, -1]],
    }
    fits = 3
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i)
        r, V = estimates(setting, tally)
        for name, rows in contrasts.items():
            given = rows @ setting.G
            statistic = quadratic_forms(r - setting.r, V, given)
            if setting.kind == "urr":  # labels, of which the law under the null is known
                common = setting.pum.common
                statistic = score_forms(common, tally, setting.n, given, given @ setting.r)
            pvalue = chi2_pvalue(statistic, len(rows))
            pvalues.setdefault(name, []).append(pvalue)
            for survey, value in zip(tally[:fits], pvalue, strict=False):
                results, value_of = setting.results(survey), (rows, rows @ setting.p)
                # it knows skewness, and of bits the variance under the null: 40 reports where
                # 50 are expected are 1.41 standard errors away, by Wald's form 1.58
                abs_ = 0.01 if setting.kind == "urr" else 0.05
                found = results.wald_test(value_of).pvalue
                assert found == pytest.approx(value, rel=0.1, abs=abs_)
                if len(rows) == 1:
                    assert found == pytest.approx(results.t_test(value_of).pvalue, rel=1e-9)
        fits = 0
    return {name: size(np.concatenate(found)) for name, found in pvalues.items()}


SIZES = [  # without sensitive categories and with them, at strong and weak noise
    Setting("urr", 10, 3, 1, 0.5, 30_000, "many"),
    Setting("urap", 10, 0, 2, 0.5, 30_000, "many"),
    Setting("urr", 30, 5, 2, 3.0, 30_000, "many"),
    Setting("urap", 30, 5, 2, 1.0, 100_000, "many"),
]


def check_sizes(setting: Setting, R: int) -> None:
    found = pd.Series(sizes(setting, R))
    assert near(found, ALPHA, R, errors=4.5), f"{setting}\n{found}"


def test_sizes_of_a_setting():
    check_sizes(SIZES[0], 1000)


@pytest.mark.slow
def test_sizes(replications):
    for setting in SIZES:
        check_sizes(setting, replications(FULL))


def absent(setting: Setting) -> tuple[Array, Array]:
    """Categories that nobody has, one sensitive and one not, and their weights on idle bots."""
    k = setting.k
    at = np.array([[0, k, k + 1], [k - 1, k, k + 1], [k - 1, k, k + 1]])
    return at, np.array([[1.0, 0.3, 0.1], [1.0, 0.02, 0.5], [1.0, 0.3, 0.0]])


@dataclass(frozen=True)
class Idle(Setting):
    """Nobody has the first and the last category, or uses the first two of three bots."""

    @cached_property
    def r(self) -> Array:
        r = np.concatenate([np.ones(self.k), [0.0, 0.0, 3.0]])
        r[[0, self.k - 1]] = 0.0
        return np.asarray(r / r.sum())


def presence(setting: Setting, R: int) -> tuple[Array, Array]:
    """Largest rejection rates of p = 0 at .05 and at .05/30, of both sides."""
    at, weights = absent(setting)
    offset, scale = setting.law
    labels = setting.kind == "urr"
    rates = []
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i)
        tails = personalized.presence(
            tally[:, at], setting.n, offset[at], scale[at], weights, labels
        )
        rates.append([[np.mean(p <= a, axis=0) for a in (0.05, 0.05 / 30)] for p in tails])
    mean = np.mean(rates, axis=0)
    return mean[:, 0].max(axis=-1), mean[:, 1].max(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_presence_keeps_its_level(kind, replications):
    R = replications(FULL)
    reached = 0.0
    for epsilon, n in itertools.product((0.1, 1.0, 6.0), (200, 1000, 100_000)):
        setting = Idle(kind, 10, 3, 3, epsilon, n, "idle")
        for level, rates in zip((0.05, 0.05 / 30), presence(setting, R), strict=True):
            assert at_most(rates, level, R, errors=4.5), setting
            if n == 100_000:
                reached = max(reached, rates.max() / level)
    assert reached > 0.8  # not by rejecting nothing


def test_presence_in_results_is_what_was_simulated():
    for kind in KINDS:
        setting = Idle(kind, 10, 3, 3, 1.0, 1000, "idle")
        at, weights = absent(setting)
        offset, scale = setting.law
        tally = setting.draw(1)[0]
        larger, smaller = personalized.presence(
            tally[at], 1000, offset[at], scale[at], weights, kind == "urr"
        )
        pi = np.full((3, 10), 0.0)
        pi[0, [0, 9]], pi[1, [0, 9]] = [0.3, 0.02], [0.1, 0.5]
        pi[:2, 4] = 1.0 - pi[:2].sum(axis=1)
        pi[2, 5] = 1.0
        background = dict(zip(setting.pum.tags, pi, strict=True))
        model = ldp.PersonalizedModel(setting.counts(tally), setting.pum, background, exact=True)
        results = model.fit("inversion")
        np.testing.assert_allclose(results.presence_pvalues()[[0, 9]], larger[:2], rtol=1e-9)
        both = np.minimum(2 * np.minimum(larger, smaller), 1)[:2]
        np.testing.assert_allclose(results.pvalues[[0, 9]], both, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_bias_of_all_three_cases(kind):
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
def test_respondents_with_their_own_preprocessors(kind):
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
def test_theorem_1_holds_in_every_survey(kind):
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
