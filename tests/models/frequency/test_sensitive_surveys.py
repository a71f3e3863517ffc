"""Simulated surveys by URR and URAP: coverage, bias, sizes, errors of detection, goodness of fit.

What these mechanisms bring that others do not is categories that are reported without noise, and
then seldom or never: every setting has some of probability zero and some that are expected 0.5 to
10 times. Tallies are binomial, so that the coverage of default intervals is summed over their laws,
without Monte Carlo error; simulations have to agree with the sums.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, at_most, bias, coverage, error, near, repeat, size
from surveys import (
    as_counts,
    assert_cut,
    default_intervals,
    draw,
    estimates,
    moments,
    observed_covariances,
    projected,
    quadratic_forms,
    score_forms,
)

import ldpstats as ldp
from ldpstats.inference import goodness, intervals, tests
from ldpstats.inference.intervals import clip_unit, exact_binomial
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.covariance import PooledTallies, Tallies
from ldpstats.models.frequency.tests import goodness_of_fit

Array = npt.NDArray[Any]

FULL = 10_000

# of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")

SENSITIVE = {0.2: (3,), 0.4: (0, 3), 0.8: (0, 1, 3, 4)}  # of every five categories
# expected reports of their own, or what they share of all that is left
KINDS = ("large", 0.0, 0.5, "moderate", 2.0, "large", 0.0, 10.0, 5.0, 1.0)


def with_levels(k: int, sensitive: tuple[int, ...], epsilon: float) -> ldp.URR:
    """One sensitive category in three has half of epsilon, one has twice as much."""
    return ldp.URR(k, epsilon={x: epsilon * (1, 0.5, 2)[i % 3] for i, x in enumerate(sensitive)})


MECHANISMS: dict[str, Callable[..., ldp.Mechanism]] = {
    "urr": ldp.URR,
    "urr-levels": with_levels,
    "urap": ldp.URAP,
    "urap-half": partial(ldp.URAP, theta=0.5),
}


@dataclass(frozen=True)
class Setting:
    """A mechanism, the number of respondents, and the first of `KINDS` in either class."""

    name: str
    k: int
    share: float
    epsilon: float
    n: int
    turn: int = 0

    def __str__(self) -> str:
        return f"{self.name}-{self.k}-{self.share:g}-{self.epsilon:g}-{self.n}-{self.turn}"

    @cached_property
    def is_sensitive(self) -> npt.NDArray[np.bool_]:
        return np.isin(np.arange(self.k) % 5, SENSITIVE[self.share])

    @cached_property
    def mechanism(self) -> ldp.Mechanism:
        sensitive = tuple(np.flatnonzero(self.is_sensitive).tolist())
        return MECHANISMS[self.name](self.k, sensitive, self.epsilon)

    @cached_property
    def law(self) -> tuple[Array, Array]:
        """P(tally) of each category is offset + scale p."""
        problem = moments(self.mechanism, self.n)
        offset, scale = (np.broadcast_to(x, self.k) for x in (problem.offset, problem.A))
        return offset, scale

    @cached_property
    def p(self) -> Array:
        few, weight = np.zeros(self.k), np.zeros(self.k)
        for members in (self.is_sensitive, ~self.is_sensitive):
            for i, x in enumerate(np.flatnonzero(members)):
                kind = KINDS[(i + self.turn) % len(KINDS)]
                if isinstance(kind, float):
                    few[x] = min(kind / (self.n * self.law[1][x]), 0.2 / self.k)
                else:
                    weight[x] = {"large": 1.0, "moderate": 0.1}[kind]
        return few + (1 - few.sum()) * weight / weight.sum()

    @property
    def tallied(self) -> Array:
        offset, scale = self.law
        return offset + scale * self.p

    def draw(self, R: int, stream: int = 0) -> Array:
        rng = np.random.default_rng([2019, stream, self.k, self.n, len(self.name)])
        return draw(self.mechanism, self.p, self.n, R, rng)

    def counts(self, survey: Array) -> ldp.Counts | ldp.BitCounts:
        return as_counts(self.mechanism, survey, self.n)


# each mechanism with few and many categories, weak and strong noise; turns as far as they differ
SETTINGS = [
    Setting("urr", 20, 0.4, 1.0, 10_000),
    Setting("urr", 50, 0.8, 3.0, 1000, 4),
    Setting("urr-levels", 20, 0.4, 0.3, 100_000),
    Setting("urr-levels", 5, 0.2, 3.0, 10_000, 1),
    Setting("urap", 20, 0.4, 3.0, 10_000),
    Setting("urap", 50, 0.2, 0.3, 1000, 1),
    Setting("urap-half", 20, 0.4, 1.0, 100_000),
    Setting("urap-half", 5, 0.8, 1.0, 10_000, 4),
]
A_FEW = [SETTINGS[0], SETTINGS[4]]


# ---- coverage, summed over the binomial law of each tally


@cache
def exact_ends(n: int) -> Array:
    """Clopper-Pearson intervals of all tallies of n, shape (n + 1, 2)."""
    return exact_binomial(np.arange(n + 1), n)


def default_ends(tally: Array, n: int, offset: float, scale: float) -> Array:
    return (exact_ends(n)[tally] - offset) / scale


def halved_ends(tally: Array, n: int, offset: float, scale: float) -> Array:
    """Control: half the standard error."""
    m = tally / n
    return intervals.wald((m - offset) / scale, np.sqrt(m * (1 - m) / n) / scale / 2)


@cache
def cell_coverage(
    n: int, p: float, m: float, offset: float, scale: float, ends: Callable[..., Array]
) -> tuple[float, float]:
    """Coverage of one category, before and after the cut to [0, 1]."""
    spread = int(8 * np.sqrt(n * m * (1 - m))) + 8
    tally = np.arange(max(0, int(n * m) - spread), min(n, int(n * m) + spread) + 1)
    chance = stats.binom.pmf(tally, n, m)
    low, high = ends(tally, n, offset, scale).T
    inside = (low <= p) & (p <= high)
    cut = inside | ((p == 0) & (low <= 0))  # an interval below zero becomes zero alone
    return float(chance @ inside), float(chance @ cut)


def summed_coverage(setting: Setting, ends: Callable[..., Array] = default_ends) -> pd.DataFrame:
    """Coverage of each category of a setting."""
    n, p, m, (offset, scale) = setting.n, setting.p, setting.tallied, setting.law
    law = zip(p, m, offset, scale, strict=True)
    shares = np.array([cell_coverage(n, *cell, ends) for cell in law])
    frame = pd.DataFrame({"p": p, "expected": n * m, "sensitive": setting.is_sensitive})
    return frame.assign(uncut=shares[:, 0], cut=shares[:, 1], setting=str(setting))


def outside(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Cells whose coverage is below .94, or above .965 (.99 after the cut at p = 0).

    The upper limit is one where 50 tallies are expected: a binomial count of fewer is too coarse.
    """
    upper = np.where((cells.p == 0) & (column == "cut"), 0.99, 0.965)
    return cells[(cells[column] < 0.94) | ((cells[column] > upper) & (cells.expected >= 50))]


@pytest.mark.parametrize("name", MECHANISMS)
def test_coverage_of_default_intervals(name):
    """Of 27 settings of a mechanism, some 540 cells, exactly; wrong intervals would be found."""
    grid = list(itertools.product(SENSITIVE, (0.3, 1.0, 3.0), (1000, 10_000, 100_000)))
    settings = [
        Setting(name, 20, *where, turn=(0, 1, 4)[(i + i // 3) % 3]) for i, where in enumerate(grid)
    ]
    cells = pd.concat([summed_coverage(setting) for setting in settings], ignore_index=True)
    for column in ("uncut", "cut"):
        assert cells[column].min() > 0.95 - 1e-9  # Clopper and Pearson promise even this
        wrong = outside(cells, column)
        assert wrong.empty, f"\n{wrong}"
    absent = cells[(cells.p == 0) & ~cells.sensitive]
    assert len(absent) > 40 and (absent.expected == 0).all()
    np.testing.assert_allclose(absent[["uncut", "cut"]], 1.0, rtol=0, atol=1e-12)
    assert ((cells.p > 0) & (cells.expected <= 10)).sum() > 50
    np.testing.assert_array_equal(cells.cut[cells.p > 0], cells.uncut[cells.p > 0])
    some = [Setting(name, 20, 0.4, epsilon, n) for epsilon in (0.3, 1.0) for n in (10_000, 100_000)]
    halved = pd.concat([summed_coverage(setting, halved_ends) for setting in some])
    assert halved.uncut[halved.expected >= 50].max() < 0.75


# ---- and in surveys: coverage, bias, standard errors, contrasts and detection of the same reports


def check_coverage(setting: Setting, counts: Array) -> None:
    """Simulation agrees with the sums."""
    theory, R = summed_coverage(setting), len(counts)
    uncut = default_intervals(setting.mechanism, counts, setting.n)
    for ends, share in ((uncut, theory.uncut), (clip_unit(uncut), theory.cut)):
        se = error(np.clip(share, 0, 1), R)  # sums may exceed one by rounding
        # 5 standard errors, and one survey where hardly any interval misses
        assert np.all(np.abs(coverage(ends, setting.p) - share) <= 5 * se + 1 / R)


def calibration(setting: Setting, counts: Array) -> pd.DataFrame:
    """Bias of the linear estimate in Monte Carlo errors, and claimed over actual variances.

    "euclidean" is the control: variances at the nearest point of the simplex, to which categories
    move alike however well they are known.
    """
    some = setting.n * setting.tallied >= 5
    estimate, variance = estimates(setting.mechanism, counts, setting.n)
    offset, scale = setting.law
    m = offset + scale * projected(estimate)
    nearest = m * (1 - m) / scale**2 / setting.n
    x, actual = estimate[:, some], estimate[:, some].var(axis=0)
    frame = {
        "bias": bias(x, setting.p[some]),
        "ratio": variance[:, some].mean(axis=0) / actual,
        "error": np.sqrt((np.maximum(stats.kurtosis(x, axis=0), 0) + 2) / len(counts)),
        "euclidean": nearest[:, some].mean(axis=0) / actual,
        "expected": setting.n * setting.tallied[some],
    }
    return pd.DataFrame(frame)


def check_calibration(cells: pd.DataFrame) -> None:
    """Unbiased; variances are right to 5 % and four Monte Carlo errors.

    The 5 % are what the projection takes from categories of some ten reports where the sensitive
    ones are noisy. Where nobody has a sensitive category, the cut of negative estimates adds 0.4
    standard deviations of the tally on average.
    """
    assert cells.bias.abs().max() < 4.5
    off, band = cells.ratio - 1, 0.05 + 4 * cells.error
    wrong = cells[(off < -band) | (off > band + 0.4 / np.sqrt(cells.expected))]
    assert wrong.empty, f"\n{wrong}"


def check_contrasts(setting: Setting, counts: Array, fits: int) -> None:
    """True differences of the two most frequent of each class, and of one of either."""
    unit, order, R = np.eye(setting.k), np.argsort(-setting.p, kind="stable"), len(counts)
    a, b = order[setting.is_sensitive[order]][:2]
    c, d = order[~setting.is_sensitive[order]][:2]
    gap = estimates(setting.mechanism, counts, setting.n)[0] - setting.p
    V = observed_covariances(setting.mechanism, counts, setting.n)
    for i, j in ((a, b), (c, d), (a, c)):
        row = unit[[i]] - unit[[j]]
        if setting.mechanism.n_bits:
            statistic = quadratic_forms(gap, V, row)
        else:
            statistic = score_forms(setting.mechanism, counts, setting.n, row, row @ setting.p)
        assert near(size(chi2_pvalue(statistic, 1)), ALPHA, R), (i, j)
        for survey, value in zip(counts[:fits], statistic, strict=False):
            results = ldp.FrequencyModel(setting.counts(survey)).fit("inversion")
            # a score test, with the variance at the likeliest frequencies under the null
            test = results.wald_test((row, row @ setting.p))
            assert test.statistic == pytest.approx(value, rel=0.15, abs=0.05)


def check_detection(setting: Setting, counts: Array, fits: int) -> None:
    """How often anything absent is detected, or kept by the thresholded estimate; users' fits."""
    R, absent, (offset, scale) = len(counts), setting.p == 0, setting.law
    pvalues = tests.binomial_excess(counts, setting.n, offset, scale)
    found = tests.reject(pvalues, 0.05, "bonferroni")
    bar = stats.norm.isf(0.05 / setting.k)
    bar = stats.norm.isf(0.05 / setting.k) * np.sqrt(offset * (1 - offset) / setting.n) / scale
    keep = (counts / setting.n - offset) / scale > bar
    never, seen = absent & ~setting.is_sensitive, ~setting.is_sensitive & (counts > 0)
    assert not counts[:, never].any() and not found[:, never].any() and not keep[:, never].any()
    assert found[seen].all() and keep[seen].all()  # one report proves it
    uncut = default_intervals(setting.mechanism, counts[:fits], setting.n)
    for i, survey in enumerate(counts[:fits]):
        model = ldp.FrequencyModel(setting.counts(survey))
        results = model.fit("inversion")
        np.testing.assert_allclose(results.conf_int(clip=False), uncut[i], rtol=0, atol=1e-9)
        assert_cut(results.conf_int(), uncut[i])
        assert (results.pvalues[never] == 1).all()
        assert results.detected().tolist() == np.flatnonzero(found[i]).tolist()
        assert model.fit("thresholded").message.startswith(f"kept {keep[i].sum()} of {setting.k}")
    assert at_most(np.mean(found[:, absent].any(axis=1)), ALPHA, R)
    # fewest reports that are expected of an absent category that is sensitive
    if setting.n * offset[absent & setting.is_sensitive].min(initial=np.inf) > 2:
        assert at_most(np.mean(keep[:, absent].any(axis=1)), ALPHA, R)


def check(setting: Setting, R: int, fits: int) -> None:
    counts = setting.draw(R)
    check_coverage(setting, counts)
    check_calibration(calibration(setting, counts))
    check_detection(setting, counts, fits)
    if (setting.k, setting.share) == (20, 0.4):  # two large ones of either class
        check_contrasts(setting, counts, fits)


@pytest.mark.usefixtures("without_goodness")
@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_a_few_surveys(setting):
    check(setting, R=1000, fits=5)


@pytest.mark.slow
@pytest.mark.usefixtures("without_goodness")
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_surveys(setting, replications):
    check(setting, replications(FULL), fits=5)


def test_a_euclidean_projection_would_lose_what_is_known_well():
    setting = Setting("urap", 50, 0.2, 1.0, 10_000)
    cells = calibration(setting, setting.draw(1000))
    check_calibration(cells)
    assert (1 - cells.euclidean).max() > 0.05 + 4 * cells.error.max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"), [("urr", "mle"), ("urr-levels", "em"), ("urap", "em"), ("urap-half", "mle")]
)
def test_standard_errors_of_estimators(name, method, replications):
    """At an interior p, where the maximum is unbiased."""
    R, setting = replications(1000, least=200), Setting(name, 5, 0.4, 1.0, 20_000)
    p, rng = np.array([0.35, 0.25, 0.2, 0.12, 0.08]), np.random.default_rng([8, len(name)])

    def survey(_: int) -> dict[str, Any]:
        reports = setting.mechanism.privatize(rng.choice(5, setting.n, p=p), rng)
        results = ldp.FrequencyModel(reports).fit(method)
        return {"params": results.params, "bse": results.bse}

    found = repeat(R, survey)
    assert np.abs(bias(found["params"], p)).max() < 4
    ratio = found["bse"].mean(axis=0) / found["params"].std(axis=0)
    assert np.abs(ratio - 1).max() < 4 / np.sqrt(2 * R)


def test_what_the_threshold_leaves_is_spread_over_all_others():
    """Biased, as in the papers: what nobody has gets a share of what is below the threshold."""
    setting = Setting("urap", 20, 0.2, 1.0, 10_000)
    counts, absent = setting.draw(100, stream=6), setting.p == 0
    models = [ldp.FrequencyModel(setting.counts(survey)) for survey in counts]
    found = np.array([model.fit("thresholded").params for model in models])
    assert bias(found[:, absent], 0.0).min() > 4


def test_the_threshold_is_a_normal_one():
    """Where noise alone is seldom reported, absent categories pass it; `detected` is exact."""
    k, n = 20, 1000
    urr = ldp.URR(k, epsilon=dict.fromkeys(range(0, k, 2), 9.5))
    at, b = urr.channel().b[0], n * urr.channel().b[0]
    bar = b + stats.norm.isf(0.05 / k) * np.sqrt(n * at * (1 - at))
    assert 0.01 < b < 0.1 and 9 * stats.binom.sf(np.floor(bar), n, at) > 0.3
    least = np.flatnonzero(tests.binomial_excess(np.arange(9), n, at, 1.0) <= 0.05 / k)[0]
    assert 9 * stats.binom.sf(least - 1, n, at) < 0.05


# ---- single surveys


def test_em_has_standard_errors_where_answers_were_never_revealed():
    """It leaves them a trace of probability, which the maximum does not."""
    p = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
    urap, rng = ldp.URAP(6, (0, 3), 1.0), np.random.default_rng(1)
    model = ldp.FrequencyModel(urap.privatize(rng.choice(6, 2000, p=p), rng))
    em, mle = model.fit("em"), model.fit("mle")
    np.testing.assert_allclose(em.params, mle.params, atol=1e-3)
    np.testing.assert_allclose(em.bse, mle.bse, atol=1e-4)
    assert (em.bse[[4, 5]] == 0).all()


@pytest.mark.parametrize("name", ["urr-levels", "urap"])
def test_pvalues_and_intervals_agree(name):
    """p is below alpha exactly where the interval of level 1 - alpha leaves zero out."""
    setting = Setting(name, 20, 0.4, 1.0, 1000)
    told = 0
    for survey in setting.draw(2, stream=7):
        results = ldp.FrequencyModel(setting.counts(survey)).fit()
        for x, pvalue in results.pvalues.items():
            if not 1e-10 < pvalue < 1:  # at an end of the scale: zero is in, or out, at any level
                lower = results.conf_int(alpha=1e-6, clip=False).lower[x]
                assert (lower > 0) == (pvalue < 1e-6)
                continue
            for level, inside in ((pvalue * (1 + 1e-6), False), (pvalue * (1 - 1e-6), True)):
                lower, upper = results.conf_int(alpha=level, clip=False).loc[x]
                assert (lower <= 0 <= upper) == inside
            told += 1
        alone = results.presence_pvalues()
        twice = np.minimum(2 * np.minimum(alone, 1), 1)
        larger = results.linear_params > 0
        np.testing.assert_allclose(results.pvalues[larger], twice[larger], rtol=1e-9)
        test = results.t_test(np.eye(20)[[0]] - np.eye(20)[[1]])
        level = float(np.ravel(test.pvalue)[0])
        ends = np.abs(test.conf_int(alpha=level)[0])
        assert ends.min() < 1e-9 * ends.max()  # zero is an end of the interval of that level
    assert told > 5


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_category_that_p0_rules_out_is_proved_by_one_report(name):
    setting = Setting(name, 20, 0.4, 1.0, 1000)
    p0, never = setting.p, np.flatnonzero(~setting.is_sensitive & (setting.p == 0))
    survey = setting.draw(1, stream=8)[0]
    test = ldp.FrequencyModel(setting.counts(survey)).test_distribution(p0)
    assert 0.001 < test.pvalue < 1 and "few reports were tested" in test.note
    survey[never[0]] += 1
    again = ldp.FrequencyModel(as_counts(setting.mechanism, survey, 1000 + 1))
    test = again.test_distribution(p0)
    assert test.statistic == np.inf and test.pvalue == 0 and "rules out" in test.note
    assert again.fit("inversion").pvalues[never[0]] == 0


@pytest.mark.parametrize("name", ["urr-levels", "urap"])
def test_the_plug_in_leaves_what_is_known_well_where_it_was_seen(name):
    """It is the nearest distribution in standard errors: max(v - mu variances, 0)."""
    setting = Setting(name, 50, 0.2, 0.3, 10_000)
    survey = setting.draw(1, stream=11)[0]
    problem = ldp.FrequencyModel(setting.counts(survey)).moments()
    p, v = problem.plug_in, problem.estimate()[0]
    assert p.min() >= 0 and p.sum() == pytest.approx(1)
    se = np.sqrt(problem.covariance().variances())
    well = ~setting.is_sensitive & (survey > 0)
    assert np.all(np.abs(p - v)[well] < 0.5 * se[well])
    assert np.all(p[~setting.is_sensitive & (survey == 0)] == 0)


# ---- sizes of tests where most of what is not sensitive is rare


@dataclass(frozen=True)
class Sparse(Setting):
    """A survey in which most of what is not sensitive is expected in `tallies` reports."""

    tallies: tuple[float, ...] = ()
    ratio: int = 1  # reports of the second sample, for each one of the first

    @cached_property
    def p(self) -> Array:
        scale, others = self.law[1], np.flatnonzero(~self.is_sensitive)
        rare = others[min(2, others.size - 1) :]
        few = np.zeros(self.k)
        few[rare] = np.resize(self.tallies, rare.size) / (self.n * scale[rare])
        weight = np.where(self.is_sensitive, 1 / self.is_sensitive.sum(), 0.0)
        weight[others[: -rare.size]] = 1 / max(others.size - rare.size, 1)
        return few + (1 - few.sum()) * weight / weight.sum()


SPARSE = [
    Sparse("urr", 5, 0.4, 1.0, 1000, tallies=(0.5,)),
    Sparse("urr", 50, 0.2, 1.0, 10_000, tallies=(0.1, 0.5, 2.0)),
    Sparse("urr-levels", 20, 0.4, 1.0, 10_000, tallies=(1.0,), ratio=10),
    Sparse("urap", 20, 0.2, 1.0, 1000, tallies=(0.5,), ratio=10),
    Sparse("urap-half", 50, 0.2, 1.0, 10_000, tallies=(0.1, 0.5, 2.0)),
]


@pytest.mark.slow
@pytest.mark.usefixtures("without_goodness")
@pytest.mark.parametrize("setting", SPARSE, ids=str)
def test_sizes(setting, replications):
    """Within .035 to .065, widened by four standard errors where surveys are fewer.

    Two samples are two groups, whose test leaves out what `two_sample_test` adds: a fit of each,
    which takes most of its time. Of the first survey both are compared.
    """
    R, mechanism, p, n = replications(5000, least=500), setting.mechanism, setting.p, setting.n
    krr, m, rng = ldp.KRR(setting.k, setting.epsilon), n * setting.ratio, np.random.default_rng(77)
    drawn = [(x, i, draw(x, p, i, R, rng)) for x, i in ((mechanism, n), (mechanism, m), (krr, m))]

    def survey(r: int) -> dict[str, float]:
        a, b, c = (as_counts(each, counts[r], i) for each, i, counts in drawn)
        found = {
            "given distribution": ldp.FrequencyModel(a).test_distribution(p),
            "two samples": ldp.homogeneity_test([a, b]),
            "k-RR in the other": ldp.homogeneity_test([a, c]),
        }
        if not mechanism.n_bits:  # of bits it is the test by default
            found["two samples, Wald"] = ldp.homogeneity_test([a, b], "wald")
        if r == 0:
            assert ldp.two_sample_test(a, b).pvalue == found["two samples"].pvalue
            assert ldp.two_sample_test(a, c).pvalue == found["k-RR in the other"].pvalue
        return {name: test.pvalue for name, test in found.items()}

    band = 0.015 + (0.0 if R >= 5000 else 4 * error(ALPHA, R))
    for name, pvalues in repeat(R, survey).items():
        assert abs(size(pvalues) - 0.05) <= band, name


def test_rare_categories_one_by_one_would_be_found():
    """Control: expected counts below five are far from the chi-square law, in either direction."""
    for setting, given, two in (
        (SPARSE[1], (0.1, 1.0), (0.0, 0.035)),
        (Sparse("urr", 20, 0.2, 0.3, 10_000, tallies=(0.5,), ratio=10), (0.08, 1.0), (0.07, 1.0)),
    ):
        mechanism, p, n, rng = setting.mechanism, setting.p, setting.n, np.random.default_rng(77)
        first, second = (draw(mechanism, p, m, FULL, rng) for m in (n, n * setting.ratio))
        alone = size(chi2_pvalue(*goodness.pearson_given(first, mechanism.channel().forward(p))))
        assert given[0] < alone < given[1]
        assert two[0] <= size(chi2_pvalue(*goodness.two_sample_pearson(first, second))) <= two[1]


def test_what_is_tested_together_is_still_tested():
    """One of 14 categories of two reports each has fifteen times as many: found nearly always."""
    setting = Sparse("urr", 20, 0.2, 1.0, 10_000, tallies=(2.0,))
    p0 = setting.p
    p = p0.copy()
    p[np.flatnonzero(p0 == p0.min())[3]] *= 15
    surveys = draw(setting.mechanism, p / p.sum(), setting.n, 50, np.random.default_rng(10))
    models = [ldp.FrequencyModel(setting.counts(survey)) for survey in surveys]
    assert np.mean([model.test_distribution(p0).pvalue < 0.05 for model in models]) > 0.9


# ---- goodness of fit


def fit_pvalues(taken_for: ldp.Mechanism, surveys: Array, n: int) -> Array:
    counts = [as_counts(taken_for, survey, n) for survey in surveys]
    found = [goodness_of_fit([one], [taken_for.moments(one)]) for one in counts]
    assert ldp.FrequencyModel(counts[-1]).fit("inversion").goodness_of_fit == found[-1]
    return np.array([1.0 if test is None else test.pvalue for test in found])


@pytest.mark.slow
@pytest.mark.parametrize("setting", [SETTINGS[1], SETTINGS[4]], ids=str)
def test_reports_of_the_mechanism_fit_it(setting, replications):
    R, mechanism = replications(FULL), setting.mechanism
    pvalues = fit_pvalues(mechanism, setting.draw(R, stream=4), setting.n)
    assert at_most(size(pvalues), ALPHA, R, errors=4)


S4 = (0, 5, 10, 15)
MISTAKES = {
    "k-RR as URR": (ldp.KRR(20, 1.0), ldp.URR(20, S4, 1.0)),
    "URR as k-RR": (ldp.URR(20, S4, 1.0), ldp.KRR(20, 1.0)),
    "URR of a larger epsilon": (ldp.URR(20, S4, 2.0), ldp.URR(20, S4, 1.0)),
    "URAP of a larger epsilon": (ldp.URAP(20, S4, 2.0), ldp.URAP(20, S4, 1.0)),
    "URAP of a smaller epsilon": (ldp.URAP(20, S4, 1.0), ldp.URAP(20, S4, 2.0)),
    "URAP as k-RAPPOR": (ldp.URAP(20, S4, 1.0), ldp.KRAPPOR(20, 1.0)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_reports_of_another_mechanism_do_not_fit(mistake):
    """Power is at least .95 in 10,000 reports; 50 surveys find it above .8 but for 4 sd."""
    made, taken_for = MISTAKES[mistake]
    p = 0.85 ** np.arange(20)
    surveys = draw(made, p / p.sum(), 10_000, 50, np.random.default_rng(6))
    assert np.sum(fit_pvalues(taken_for, surveys, 10_000) < 0.05) >= 40


def test_bits_that_no_report_can_have_are_refused():
    """Of categories that are not sensitive, no report reveals two."""
    survey = draw(ldp.KRAPPOR(20, 1.0), np.full(20, 0.05), 10_000, 1, np.random.default_rng(1))[0]
    with pytest.raises(ldp.InvalidArgument, match="reveals one at most"):
        ldp.URAP(20, S4, 1.0).counts(survey, 10_000)


def test_more_noise_than_claimed_goes_unseen_in_labels():
    """A square channel explains all reports whose estimates are not negative, as k-RR's does."""
    made, taken_for = ldp.URR(20, S4, 1.0), ldp.URR(20, S4, 2.0)
    survey = draw(made, np.full(20, 0.05), 10_000, 1, np.random.default_rng(1))[0]
    fit = ldp.FrequencyModel(taken_for.counts(survey)).fit("inversion").goodness_of_fit
    assert fit is not None and fit.pvalue > 0.9


# ---- groups of respondents with different mechanisms


def three_groups(k: int = 20) -> tuple[list[ldp.Mechanism], list[int], Array]:
    """What is not sensitive is expected 0 to 50 times in all three of them together."""
    sensitive = tuple(range(0, k, 5))
    mechanisms = [ldp.URR(k, sensitive, 0.5), ldp.URR(k, sensitive, 1.0)]
    mechanisms.append(ldp.URAP(k, sensitive, 1.0))
    nobs, others = [2000, 1000, 1000], np.flatnonzero(np.arange(k) % 5)
    told = sum(n * moments(m, n).A * np.ones(k) for m, n in zip(mechanisms, nobs, strict=True))
    p = np.zeros(k)
    p[others[2:]] = np.resize([0, 0.5, 1, 2, 5, 10, 50], others.size - 2) / told[others[2:]]
    large = [*sensitive, *others[:2]]
    p[large] = (1 - p.sum()) / len(large)
    return mechanisms, nobs, p


def urr_beside_krr() -> tuple[list[ldp.Mechanism], list[int], Array]:
    """uRR reports a category 0 to 20 times, and k-RR hides it among many others."""
    p = np.array([0.0, 0.0, 0.0, 0.0, 0.0003, 0.001, 0.005, 0.01, 0.02, 0.05])
    p[:3] = (1 - p.sum()) * np.array([0.5, 0.3, 0.2])
    return [ldp.URR(10, range(3), 1.0), ldp.KRR(10, 1.0)], [1000, 1000], p


@pytest.mark.slow
@pytest.mark.usefixtures("without_goodness")
@pytest.mark.parametrize("together", [three_groups, urr_beside_krr])
def test_coverage_of_groups(together, replications):
    (mechanisms, nobs, p), R = together(), replications(4000, least=400)
    rng = np.random.default_rng(2)

    def survey(_: int) -> dict[str, Any]:
        drawn = [m.draw(p, n, rng) for m, n in zip(mechanisms, nobs, strict=True)]
        results = ldp.FrequencyModel(drawn).fit("inversion")
        return {name: results.conf_int(method=name, clip=False) for name in ("default", "wald")}

    found = {name: coverage(ends, p) for name, ends in repeat(R, survey).items()}
    band = 4 * error(0.94, R)
    assert found["default"].min() > 0.94 - band
    assert found["wald"].min() < 0.94 - band / 2  # control: a few reports are skewed
    if len(nobs) == 3:
        others = np.arange(p.size) % 5 > 0
        assert np.all(found["default"][others & (p == 0)] == 1.0)
        few = others & (p > 0) & (p < 0.005)
        assert few.sum() > 5 and found["wald"][few].max() < 0.94 - band


def test_the_law_of_pooled_tallies():
    """Moments by enumeration of two binomial counts; and JSON."""
    tallies = PooledTallies(
        nobs=np.array([[7.0], [9.0]]),
        offset=np.array([[0.0, 0.1], [0.2, 0.3]]),
        scale=np.array([[0.5, 0.4], [0.6, 0.5]]),
        share=np.array([[0.8, 0.3], [0.2, 0.7]]),
    )
    p = np.array([0.3, 0.6])
    se, skewness, rate = tallies.law(p)
    for x in range(2):
        values, chances = np.zeros(1), np.ones(1)
        for s in range(2):
            n, a, o = int(tallies.nobs[s, 0]), tallies.scale[s, x], tallies.offset[s, x]
            one = tallies.share[s, x] * (np.arange(n + 1) / n - o) / a
            weight = stats.binom.pmf(np.arange(n + 1), n, o + a * p[x])
            values = (values[:, None] + one).ravel()
            chances = (chances[:, None] * weight).ravel()
        mean = chances @ values
        second, third = (chances @ (values - mean) ** power for power in (2, 3))
        assert mean == pytest.approx(p[x], abs=1e-12)
        assert se[x] == pytest.approx(np.sqrt(second), rel=1e-10)
        assert skewness[x] == pytest.approx(third / second**1.5, rel=1e-9)
    step = 1e-6
    slope = (tallies.law(p + step)[0] ** 2 - tallies.law(p - step)[0] ** 2) / (2 * step)
    np.testing.assert_allclose(rate, slope, rtol=1e-6)
    again = Tallies.from_dict(json.loads(json.dumps(tallies.to_dict())))
    assert isinstance(again, PooledTallies)
    np.testing.assert_array_equal(again.law(p), tallies.law(p))
