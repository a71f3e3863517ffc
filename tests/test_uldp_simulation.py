"""URR and URAP in simulated surveys: coverage, size and power, errors of detection, calibration.

Tallies of both mechanisms are binomial, so that the coverage of default intervals is summed over
their laws, without Monte Carlo error, and simulations only have to agree with the sums. What the
mechanisms bring that others do not is categories that are reported without noise, and then seldom
or never: every setting has some of probability zero and some that are expected 0.5 to 10 times.
`python tests/test_uldp_simulation.py` prints the tables.
"""

from __future__ import annotations

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
from surveys import (
    as_counts,
    assert_cut,
    covered,
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
from ldpstats.estimators.thresholded import null_standard_errors
from ldpstats.inference import intervals, multiplicity, pearson, tests
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.frequency.fit_checks import goodness_of_fit
from ldpstats.problems.estimates import PooledTallies, Tallies

# of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")

Array = npt.NDArray[Any]

FULL = 10_000
Z = stats.norm.isf(0.025)
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
    turn: int

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
        rng = np.random.default_rng([2019, stream, SETTINGS.index(self)])
        return draw(self.mechanism, self.p, self.n, R, rng)


GRID = list(itertools.product(MECHANISMS, (5, 20, 50), SENSITIVE, (0.3, 1.0, 3.0)))
SIZES = list(itertools.product((1000, 10_000, 100_000), (0, 1, 4)))
SETTINGS = [Setting(*where, *size) for where in GRID for size in SIZES]
# one of the nine sizes for each, so that all meet each k, share and epsilon
SIMULATED = [Setting(*where, *SIZES[(4 * i + i // 9) % 9]) for i, where in enumerate(GRID)]
A_FEW = [SIMULATED[GRID.index(g)] for g in (("urr-levels", 20, 0.4, 1.0), ("urap", 5, 0.4, 3.0))]


# ---- coverage, summed over the binomial law of each tally


@cache
def exact_ends(n: int) -> Array:
    """Clopper-Pearson intervals of all tallies of n, shape (n + 1, 2)."""
    return intervals.exact_binomial(np.arange(n + 1), n)


def default_ends(tally: Array, n: int, offset: float, scale: float) -> Array:
    return (exact_ends(n)[tally] - offset) / scale


def halved_ends(tally: Array, n: int, offset: float, scale: float) -> Array:
    """Control: half the standard error."""
    m = tally / n
    return intervals.wald((m - offset) / scale, np.sqrt(m * (1 - m) / n) / scale / 2)


def krr_ends(tally: Array, n: int, offset: float, scale: float, krr: ldp.KRR) -> Array:
    """Control: the standard error of k-RR at the same epsilon."""
    p = (tally / n - offset) / scale
    channel = krr.channel()
    m = np.clip(channel.b + channel.a * p, 0, 1)
    return intervals.wald(p, np.sqrt(m * (1 - m) / n) / channel.a)


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


@cache
def all_cells(name: str) -> pd.DataFrame:
    found = [summed_coverage(setting) for setting in SETTINGS if setting.name == name]
    return pd.concat(found, ignore_index=True)


@pytest.mark.parametrize("name", MECHANISMS)
def test_coverage_of_default_intervals(name: str) -> None:
    """All 243 settings of a mechanism, some 6,000 cells, exactly."""
    cells = all_cells(name)
    for column in ("uncut", "cut"):
        assert cells[column].min() > 0.95 - 1e-9  # Clopper and Pearson promise even this
        wrong = outside(cells, column)
        assert wrong.empty, f"\n{wrong}"
    absent = cells[(cells.p == 0) & ~cells.sensitive]
    assert len(absent) > 500 and (absent.expected == 0).all()
    np.testing.assert_allclose(absent[["uncut", "cut"]], 1.0, rtol=0, atol=1e-12)
    few = cells[(cells.p > 0) & (cells.expected <= 10)]
    assert len(few) > 500
    np.testing.assert_array_equal(cells.cut[cells.p > 0], cells.uncut[cells.p > 0])


@pytest.mark.parametrize("name", MECHANISMS)
def test_wrong_intervals_would_be_found(name: str) -> None:
    some = [s for s in SETTINGS if (s.name, s.k, s.turn) == (name, 20, 0) and s.epsilon <= 1]
    halved, wider = [], []
    for setting in some:
        krr = ldp.KRR(setting.k, setting.epsilon)
        halved.append(summed_coverage(setting, halved_ends))
        wider.append(summed_coverage(setting, partial(krr_ends, krr=krr)))
    cells = pd.concat(halved)
    assert cells.uncut[cells.expected >= 50].max() < 0.75
    cells = pd.concat(wider)
    cells = cells[~cells.sensitive & (cells.expected >= 50)]
    assert len(cells) > 20
    assert len(outside(cells, "uncut")) == len(cells)


# ---- and in surveys


def check(setting: Setting, R: int, fits: int) -> None:
    """Simulation agrees with the sums, and users get the same intervals and p-values."""
    counts, theory = setting.draw(R), summed_coverage(setting)
    uncut = default_intervals(setting.mechanism, counts, setting.n)
    for ends, share in ((uncut, theory.uncut), (intervals.clip_unit(uncut), theory.cut)):
        se = np.sqrt(np.maximum(share * (1 - share), 0) / R)
        # 5 standard errors, and one survey where hardly any interval misses
        assert np.all(np.abs(covered(ends, setting.p) - share) <= 5 * se + 1 / R), setting
    never = ~setting.is_sensitive & (setting.p == 0)
    assert not counts[:, never].any()
    for survey, ends in zip(counts[:fits], uncut, strict=False):
        results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit(
            "inversion"
        )
        np.testing.assert_allclose(results.conf_int(clip=False), ends, rtol=0, atol=1e-9)
        assert_cut(results.conf_int(), ends)
        assert (results.pvalues[never] == 1).all()


@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_simulated_coverage_of_two_settings(setting: Setting) -> None:
    check(setting, R=2000, fits=20)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SIMULATED, ids=str)
def test_simulated_coverage(setting: Setting, replications: Callable[[int], int]) -> None:
    R = replications(FULL)
    check(setting, R, fits=R // 500)


@pytest.mark.parametrize("name", MECHANISMS)
def test_coverage_of_reports_privatised_one_by_one(name: str) -> None:
    """The law of the tallies is that of the mechanism's own reports."""
    R, setting = 1000, Setting(name, 5, 0.4, 1.0, 200, 0)
    rng = np.random.default_rng([3, len(name)])
    reports = setting.mechanism.privatize(rng.choice(5, R * setting.n, p=setting.p), rng)
    if setting.mechanism.n_bits:
        seen = setting.mechanism.format.unpack(reports.y)
    else:
        seen = np.eye(5, dtype=bool)[reports.y]
    counts = seen.reshape(R, setting.n, 5).sum(axis=1)
    theory = summed_coverage(setting).uncut
    found = covered(default_intervals(setting.mechanism, counts, setting.n), setting.p)
    assert np.all(np.abs(found - theory) <= 5 * np.sqrt(theory * (1 - theory) / R) + 1 / R)


def test_dropping_categories_at_zero_loses_coverage() -> None:
    """Control: the information of the MLE without the sensitive categories that it puts at zero."""
    R, setting = 500, Setting("urr", 20, 0.8, 1.0, 10_000, 0)
    urr, small = setting.mechanism, setting.is_sensitive & (setting.n * setting.p <= 100)
    counts = setting.draw(R)
    mle = np.array([ldp.FrequencyModel(urr.counts(survey)).fit().params for survey in counts])
    offset, scale = setting.law
    m = np.where(mle > 0, offset + scale * mle, 0.0)
    dropped = np.sqrt(m * (1 - m / m.sum(axis=1, keepdims=True)) / setting.n) / scale
    band = 4 * np.sqrt(0.05 * 0.95 / R)  # a wide one for the mean of several categories
    assert small.sum() > 3
    assert covered(intervals.wald(mle, dropped), setting.p)[small].mean() < 0.95 - band


# ---- groups of respondents with different mechanisms


def groups(k: int = 20) -> tuple[list[ldp.Mechanism], list[int], Array]:
    """Three groups; what is not sensitive is expected 0 to 50 times in all of them together."""
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


def group_coverage(R: int, seed: int) -> dict[str, Array]:
    """Coverage of default and of Wald intervals from three groups fitted together."""
    mechanisms, nobs, p = groups()
    rng = np.random.default_rng(seed)
    found: dict[str, list[Array]] = {"default": [], "wald": []}
    for _ in range(R):
        sources = [m.draw(p, n, rng) for m, n in zip(mechanisms, nobs, strict=True)]
        results = ldp.FrequencyModel(sources).fit("inversion")
        for method, ends in found.items():
            ends.append(results.conf_int(method=method, clip=False).to_numpy())
    return {method: covered(np.array(ends), p) for method, ends in found.items()}


def check_groups(R: int, seed: int) -> None:
    _, _, p = groups()
    found = group_coverage(R, seed)
    others = np.arange(p.size) % 5 > 0
    band = 4 * np.sqrt(0.06 * 0.94 / R)
    assert found["default"].min() > 0.94 - band
    assert np.all(found["default"][others & (p == 0)] == 1.0)
    few = others & (p > 0) & (p < 0.005)
    assert few.sum() > 5
    assert found["wald"][few].max() < 0.94 - band  # control: Wald intervals of a few reports fail


def test_coverage_of_groups() -> None:
    check_groups(R=200, seed=1)


@pytest.mark.slow
def test_coverage_of_groups_in_many_surveys(replications: Callable[[int], int]) -> None:
    check_groups(replications(3000), seed=2)


def mixed_coverage(R: int, seed: int) -> dict[str, Array]:
    """Coverage where uRR reports a category 0 to 20 times and k-RR hides it among many others."""
    urr, krr, n = ldp.URR(10, range(3), 1.0), ldp.KRR(10, 1.0), 1000
    p = np.array([0.0, 0.0, 0.0, 0.0, 0.0003, 0.001, 0.005, 0.01, 0.02, 0.05])
    p[:3] = (1 - p.sum()) * np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(seed)
    found: dict[str, list[Array]] = {"default": [], "wald": []}
    for _ in range(R):
        results = ldp.FrequencyModel([urr.draw(p, n, rng), krr.draw(p, n, rng)]).fit("inversion")
        for method, ends in found.items():
            ends.append(results.conf_int(method=method, clip=False).to_numpy())
    return {method: covered(np.array(ends), p) for method, ends in found.items()}


def check_mixed(R: int, seed: int) -> None:
    found, band = mixed_coverage(R, seed), 4 * np.sqrt(0.06 * 0.94 / R)
    assert found["default"].min() > 0.94 - band
    assert found["wald"].min() < 0.94 - band / 2  # control: a few reports are skewed


def test_coverage_of_noiseless_and_noisy_counts_together() -> None:
    check_mixed(R=400, seed=3)


@pytest.mark.slow
def test_coverage_of_noiseless_and_noisy_counts_in_many_surveys(
    replications: Callable[[int], int],
) -> None:
    check_mixed(replications(4000), seed=4)


def test_the_law_of_pooled_tallies() -> None:
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
            counts = np.arange(n + 1)
            one = tallies.share[s, x] * (counts / n - o) / a
            weight = stats.binom.pmf(counts, n, o + a * p[x])
            values = (values[:, None] + one).ravel()
            chances = (chances[:, None] * weight).ravel()
        mean = chances @ values
        moments_ = [chances @ (values - mean) ** power for power in (2, 3)]
        assert mean == pytest.approx(p[x], abs=1e-12)
        assert se[x] == pytest.approx(np.sqrt(moments_[0]), rel=1e-10)
        assert skewness[x] == pytest.approx(moments_[1] / moments_[0] ** 1.5, rel=1e-9)
    step = 1e-6
    slope = (tallies.law(p + step)[0] ** 2 - tallies.law(p - step)[0] ** 2) / (2 * step)
    np.testing.assert_allclose(rate, slope, rtol=1e-6)
    again = Tallies.from_dict(json.loads(json.dumps(tallies.to_dict())))
    assert isinstance(again, PooledTallies)
    np.testing.assert_array_equal(again.law(p), tallies.law(p))


# ---- sizes of tests


@dataclass(frozen=True)
class Sparse:
    """A survey in which most of what is not sensitive is expected in `tallies` reports."""

    name: str
    k: int
    share: float
    epsilon: float
    n: int
    tallies: tuple[float, ...]
    ratio: int  # reports of the second sample, for each one of the first

    def __str__(self) -> str:
        return f"{self.name}-{self.k}-{self.share:g}-{self.epsilon:g}-{self.n}-{self.tallies}"

    @cached_property
    def where(self) -> Setting:
        return Setting(self.name, self.k, self.share, self.epsilon, self.n, 0)

    @property
    def mechanism(self) -> ldp.Mechanism:
        return self.where.mechanism

    @cached_property
    def p(self) -> Array:
        sensitive, scale = self.where.is_sensitive, self.where.law[1]
        others = np.flatnonzero(~sensitive)
        rare = others[min(2, others.size - 1) :]
        few = np.zeros(self.k)
        few[rare] = np.resize(self.tallies, rare.size) / (self.n * scale[rare])
        weight = np.where(sensitive, 1 / sensitive.sum(), 0.0)
        weight[others[: -rare.size]] = 1 / max(others.size - rare.size, 1)
        return few + (1 - few.sum()) * weight / weight.sum()

    def draw(self, mechanism: ldp.Mechanism, n: int, R: int, stream: int) -> Array:
        rng = np.random.default_rng([77, stream, SPARSE.index(self)])
        return draw(mechanism, self.p, n, R, rng)


MIXED = (0.1, 0.5, 2.0)
SPARSE = [
    Sparse("urr", 5, 0.4, 1.0, 1000, (0.5,), 1),
    Sparse("urr", 20, 0.2, 0.3, 10_000, (0.5,), 10),
    Sparse("urr", 20, 0.8, 3.0, 1000, (2.0,), 1),
    Sparse("urr", 50, 0.2, 1.0, 10_000, MIXED, 1),
    Sparse("urr-levels", 20, 0.4, 1.0, 10_000, (1.0,), 10),
    Sparse("urap", 5, 0.4, 1.0, 1000, (0.5,), 1),
    Sparse("urap", 20, 0.2, 1.0, 1000, (0.5,), 10),
    Sparse("urap", 20, 0.2, 3.0, 10_000, (2.0,), 1),
    Sparse("urap", 50, 0.2, 1.0, 10_000, MIXED, 1),
    Sparse("urap-half", 20, 0.4, 1.0, 10_000, (1.0,), 10),
]


def rate(pvalue: npt.ArrayLike) -> float:
    return float(np.mean(np.asarray(pvalue) < 0.05))


def sizes(setting: Sparse, R: int) -> dict[str, float]:
    """How often true nulls are rejected by the tests that users call."""
    mechanism, p, n = setting.mechanism, setting.p, setting.n
    krr, m = ldp.KRR(setting.k, setting.epsilon), n * setting.ratio
    drawn = [
        (mechanism, n, setting.draw(mechanism, n, R, 0)),
        (mechanism, m, setting.draw(mechanism, m, R, 1)),
        (krr, m, setting.draw(krr, m, R, 2)),
    ]
    pvalues: dict[str, list[float]] = {
        "given distribution": [],
        "two samples": [],
        "two samples, Wald": [],
        "k-RR in the other": [],
    }
    for r in range(R):
        a, b, c = (as_counts(each, counts[r], size) for each, size, counts in drawn)
        found = [ldp.FrequencyModel(a).test_distribution(p), ldp.two_sample_test(a, b)]
        labels = not mechanism.n_bits
        found.append(ldp.two_sample_test(a, b, "wald") if labels else found[1])
        found.append(ldp.two_sample_test(a, c))
        for values, test in zip(pvalues.values(), found, strict=True):
            values.append(test.pvalue)
    return {name: rate(values) for name, values in pvalues.items()}


def check_sizes(setting: Sparse, R: int) -> None:
    """Within .035 to .065, widened by four standard errors where surveys are fewer."""
    band = 0.015 + (0.0 if R >= FULL else 4 * np.sqrt(0.05 * 0.95 / R))
    for name, found in sizes(setting, R).items():
        assert abs(found - 0.05) <= band, f"{setting}, {name}: {found}"


@pytest.mark.parametrize("setting", [SPARSE[0], SPARSE[6]], ids=str)
def test_sizes_of_two_settings(setting: Sparse) -> None:
    check_sizes(setting, R=300)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SPARSE, ids=str)
def test_sizes(setting: Sparse, replications: Callable[[int], int]) -> None:
    check_sizes(setting, replications(FULL))


def untouched_sizes(setting: Sparse, R: int) -> tuple[float, float]:
    """Sizes of Pearson's tests if rare categories were tested one by one."""
    first, second = (
        setting.draw(setting.mechanism, size, R, i)
        for i, size in enumerate((setting.n, setting.n * setting.ratio))
    )
    given = pearson.pearson_given(first, setting.mechanism.channel().forward(setting.p))
    return rate(chi2_pvalue(*given)), rate(chi2_pvalue(*pearson.two_sample_pearson(first, second)))


def test_rare_categories_one_by_one_would_be_found() -> None:
    """Control: expected counts below five are far from the chi-square law, in either direction."""
    given, two = untouched_sizes(SPARSE[3], FULL)
    assert given > 0.1 and two < 0.035
    given, two = untouched_sizes(SPARSE[1], FULL)
    assert given > 0.08 and two > 0.07


# ---- linear hypotheses


def contrasts(setting: Setting) -> dict[str, Array]:
    """Differences of the two most frequent categories of each class, and of one of either."""
    unit, order = np.eye(setting.k), np.argsort(-setting.p, kind="stable")
    a, b = order[setting.is_sensitive[order]][:2]
    c, d = order[~setting.is_sensitive[order]][:2]
    pairs = {"both sensitive": (a, b), "neither": (c, d), "one of them": (a, c)}
    return {name: unit[[i]] - unit[[j]] for name, (i, j) in pairs.items()}


def contrast_sizes(setting: Setting, R: int, fits: int) -> dict[str, float]:
    """How often `wald_test` rejects true differences."""
    counts, found = setting.draw(R, stream=1), {}
    d = estimates(setting.mechanism, counts, setting.n)[0] - setting.p
    V = observed_covariances(setting.mechanism, counts, setting.n)
    for name, row in contrasts(setting).items():
        if setting.mechanism.n_bits:
            statistic = quadratic_forms(d, V, row)
        else:
            statistic = score_forms(setting.mechanism, counts, setting.n, row, row @ setting.p)
        found[name] = rate(chi2_pvalue(statistic, 1))
        for survey, value in zip(counts[:fits], statistic, strict=False):
            results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit(
                "inversion"
            )
            test = results.wald_test((row, row @ setting.p))
            assert test.statistic == pytest.approx(value, rel=1e-6)
    return found


CONTRASTS = [
    Setting(name, 20, 0.4, epsilon, n, 0)
    for name, epsilon, n in itertools.product(MECHANISMS, (0.3, 1.0, 3.0), (10_000, 100_000))
]


def check_contrasts(setting: Setting, R: int, fits: int) -> None:
    band = 4 * np.sqrt(0.05 * 0.95 / R)
    for name, size in contrast_sizes(setting, R, fits).items():
        assert abs(size - 0.05) < band, f"{setting}, {name}: {size}"


@pytest.mark.parametrize("setting", CONTRASTS[2::12], ids=str)
def test_sizes_of_contrasts_in_two_settings(setting: Setting) -> None:
    check_contrasts(setting, R=1000, fits=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", CONTRASTS, ids=str)
def test_sizes_of_contrasts(setting: Setting, replications: Callable[[int], int]) -> None:
    check_contrasts(setting, replications(FULL), fits=10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_difference_of_categories_with_few_reports_is_tested_conservatively(name: str) -> None:
    """A Wald test of two counts of two is far from its level, on the safe side."""
    R, setting = FULL, Setting(name, 50, 0.2, 3.0, 10_000, 0)
    few = np.flatnonzero(~setting.is_sensitive & np.isclose(setting.n * setting.tallied, 2.0))
    first, second = setting.draw(R, stream=2)[:, few[:2]].T
    z2 = (first - second) ** 2 / np.maximum(first + second, 1)
    assert rate(chi2_pvalue(z2, 1)) < 0.05


# ---- detection and selection


def detection(setting: Setting, R: int, fits: int) -> dict[str, float]:
    """How often anything absent is detected, or kept by the thresholded estimate."""
    counts, absent = setting.draw(R, stream=3), setting.p == 0
    offset, scale = setting.law
    pvalues = tests.binomial_excess(counts, setting.n, offset, scale)
    found = multiplicity.reject(pvalues, 0.05, "bonferroni")
    problem = moments(setting.mechanism, setting.n)
    bar = stats.norm.isf(0.05 / setting.k) * null_standard_errors(problem)
    keep = (counts / setting.n - offset) / scale > bar
    assert not found[:, absent & ~setting.is_sensitive].any()
    assert not keep[:, absent & ~setting.is_sensitive].any()
    seen = ~setting.is_sensitive & (counts > 0)
    assert found[seen].all() and keep[seen].all()  # one report proves it
    for survey, expected, kept in zip(counts[:fits], found, keep, strict=False):
        model = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n))
        assert model.fit("inversion").detected().tolist() == np.flatnonzero(expected).tolist()
        assert model.fit("thresholded").message.startswith(f"kept {kept.sum()} of {setting.k}")
    return {
        "detected": float(np.mean(found[:, absent].any(axis=1))),
        "kept": float(np.mean(keep[:, absent].any(axis=1))),
    }


def noise(setting: Setting) -> float:
    """Fewest reports that are expected of an absent category that is sensitive."""
    absent = setting.is_sensitive & (setting.p == 0)
    return float(setting.n * setting.law[0][absent].min(initial=np.inf))


def check_detection(setting: Setting, R: int, fits: int) -> None:
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / R)
    errors = detection(setting, R, fits)
    assert errors["detected"] <= limit
    if noise(setting) > 2:
        assert errors["kept"] <= limit


@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_errors_of_detection_in_two_settings(setting: Setting) -> None:
    check_detection(setting, R=1000, fits=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SIMULATED, ids=str)
def test_errors_of_detection(setting: Setting, replications: Callable[[int], int]) -> None:
    check_detection(setting, replications(FULL), fits=10)


def test_the_threshold_is_a_normal_one() -> None:
    """Where noise alone is seldom reported, absent categories pass it; `detected` is exact."""
    k, n = 20, 1000
    urr = ldp.URR(k, epsilon=dict.fromkeys(range(0, k, 2), 9.5))
    problem = moments(urr, n)
    at, b = urr.channel().b[0], n * urr.channel().b[0]
    bar = n * at + stats.norm.isf(0.05 / k) * n * urr.channel().a * null_standard_errors(problem)[0]
    assert 0.01 < b < 0.1 and 9 * stats.binom.sf(np.floor(bar), n, at) > 0.3
    least = np.flatnonzero(tests.binomial_excess(np.arange(9), n, at, 1.0) <= 0.05 / k)[0]
    assert 9 * stats.binom.sf(least - 1, n, at) < 0.05


# ---- goodness of fit


FITS = [
    Setting(name, 20, share, epsilon, n, turn)
    for (name, turn), (share, epsilon, n) in zip(
        itertools.product(MECHANISMS, (0, 1)),
        itertools.cycle([(0.2, 1.0, 1000), (0.8, 3.0, 10_000), (0.4, 0.3, 100_000)]),
        strict=False,
    )
]


def fit_size(setting: Setting, R: int) -> float:
    """How often reports of the mechanism are called doubtful."""
    mechanism, pvalues = setting.mechanism, []
    for survey in setting.draw(R, stream=4):
        counts = as_counts(mechanism, survey, setting.n)
        test = goodness_of_fit([counts], [mechanism.moments(counts)])
        assert test is not None
        pvalues.append(test.pvalue)
    fitted = ldp.FrequencyModel(counts).fit("inversion").goodness_of_fit
    assert fitted == test
    return rate(pvalues)


@pytest.mark.parametrize("setting", [FITS[1], FITS[4]], ids=str)
def test_reports_of_the_mechanism_fit_it(setting: Setting) -> None:
    assert fit_size(setting, 500) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.slow
@pytest.mark.parametrize("setting", FITS, ids=str)
def test_reports_of_the_mechanism_fit_it_in_many_surveys(
    setting: Setting, replications: Callable[[int], int]
) -> None:
    R = replications(FULL)
    assert fit_size(setting, R) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / R)


S4 = (0, 5, 10, 15)
MISTAKES = {
    "k-RR as URR": (ldp.KRR(20, 1.0), ldp.URR(20, S4, 1.0)),
    "URR as k-RR": (ldp.URR(20, S4, 1.0), ldp.KRR(20, 1.0)),
    "URR of a larger epsilon": (ldp.URR(20, S4, 2.0), ldp.URR(20, S4, 1.0)),
    "URR of others": (ldp.URR(20, (1, 5, 10, 16), 1.0), ldp.URR(20, S4, 1.0)),
    "URAP of a larger epsilon": (ldp.URAP(20, S4, 2.0), ldp.URAP(20, S4, 1.0)),
    "URAP of a smaller epsilon": (ldp.URAP(20, S4, 1.0), ldp.URAP(20, S4, 2.0)),
    "URAP of another theta": (ldp.URAP(20, S4, 1.0, theta=0.5), ldp.URAP(20, S4, 1.0)),
    "URAP as k-RAPPOR": (ldp.URAP(20, S4, 1.0), ldp.KRAPPOR(20, 1.0)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_reports_of_another_mechanism_do_not_fit(mistake: str) -> None:
    """Power is at least .95 in 10,000 reports; 50 surveys find it above .8 but for 4 sd."""
    made, taken_for = MISTAKES[mistake]
    p, n, rng = 0.85 ** np.arange(20), 10_000, np.random.default_rng(6)
    rejected = 0
    for survey in draw(made, p / p.sum(), n, 50, rng):
        counts = as_counts(taken_for, survey, n)
        test = goodness_of_fit([counts], [taken_for.moments(counts)])
        rejected += test is not None and test.pvalue < 0.05
    assert rejected >= 40


@pytest.mark.parametrize("made", [ldp.KRAPPOR(20, 1.0), ldp.URAP(20, (1, 2, 3), 1.0)], ids=str)
def test_bits_that_no_report_can_have_are_refused(made: ldp.Mechanism) -> None:
    """Of categories that are not sensitive, no report reveals two."""
    survey = draw(made, np.full(20, 0.05), 10_000, 1, np.random.default_rng(1))[0]
    with pytest.raises(ldp.InvalidArgument, match="reveals one at most"):
        ldp.URAP(20, S4, 1.0).counts(survey, 10_000)


def test_more_noise_than_claimed_goes_unseen_in_labels() -> None:
    """A square channel explains all reports whose estimates are not negative, as k-RR's does."""
    made, taken_for = ldp.URR(20, S4, 1.0), ldp.URR(20, S4, 2.0)
    survey = draw(made, np.full(20, 0.05), 10_000, 1, np.random.default_rng(1))[0]
    fit = ldp.FrequencyModel(taken_for.counts(survey)).fit("inversion").goodness_of_fit
    assert fit is not None and fit.pvalue > 0.9


# ---- bias and standard errors


def calibration(setting: Setting, R: int) -> pd.DataFrame:
    """Bias of the linear estimate in Monte Carlo errors, and claimed over actual variances.

    "euclidean" is the control: variances at the nearest point of the simplex, to which categories
    move alike however well they are known.
    """
    counts, some = setting.draw(R, stream=5), setting.n * setting.tallied >= 5
    estimate, variance = estimates(setting.mechanism, counts, setting.n)
    offset, scale = setting.law
    m = offset + scale * projected(estimate)
    nearest = m * (1 - m) / scale**2 / setting.n
    x, actual = estimate[:, some], estimate[:, some].var(axis=0)
    frame = {
        "p": setting.p[some],
        "bias": (x.mean(axis=0) - setting.p[some]) / np.sqrt(actual / R),
        "ratio": variance[:, some].mean(axis=0) / actual,
        "error": np.sqrt((np.maximum(stats.kurtosis(x, axis=0), 0) + 2) / R),
        "euclidean": nearest[:, some].mean(axis=0) / actual,
        "sensitive": setting.is_sensitive[some],
        "expected": setting.n * setting.tallied[some],
    }
    return pd.DataFrame(frame)


def check_calibration(setting: Setting, R: int) -> None:
    """Unbiased; variances are right to 5 % and four Monte Carlo errors.

    The 5 % are what the projection takes from categories of some ten reports where the sensitive
    ones are noisy. Where nobody has a sensitive category, the cut of negative estimates adds 0.4
    standard deviations of the tally on average.
    """
    cells = calibration(setting, R)
    assert cells.bias.abs().max() < 4.5
    off, band = cells.ratio - 1, 0.05 + 4 * cells.error
    wrong = cells[(off < -band) | (off > band + 0.4 / np.sqrt(cells.expected))]
    assert wrong.empty, f"{setting}\n{wrong}"


@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_standard_errors_of_two_settings(setting: Setting) -> None:
    check_calibration(setting, R=2000)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SIMULATED, ids=str)
def test_standard_errors(setting: Setting, replications: Callable[[int], int]) -> None:
    check_calibration(setting, replications(FULL))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_euclidean_projection_would_lose_what_is_known_well(name: str) -> None:
    setting = Setting(name, 50, 0.2, 1.0, 10_000, 0)
    cells = calibration(setting, 1000)
    check_calibration(setting, 1000)
    assert (1 - cells.euclidean).max() > 0.05 + 4 * cells.error.max()


FITTED = [(name, method) for name in MECHANISMS for method in ("inversion", "mle", "em")]


def fits(name: str, method: str, R: int) -> pd.DataFrame:
    """Bias, spread and claimed standard errors of an estimator, at an interior p."""
    setting, p = Setting(name, 5, 0.4, 1.0, 20_000, 0), np.array([0.35, 0.25, 0.2, 0.12, 0.08])
    rng = np.random.default_rng([8, len(name)])
    found = []
    for _ in range(R):
        reports = setting.mechanism.privatize(rng.choice(5, setting.n, p=p), rng)
        results = ldp.FrequencyModel(reports).fit(method)
        found.append((results.params.to_numpy(), results.bse.to_numpy()))
    params, bse = np.moveaxis(np.array(found), 1, 0)
    sd = params.std(axis=0)
    bias = (params.mean(axis=0) - p) / (sd / np.sqrt(R))
    return pd.DataFrame({"bias": bias, "ratio": bse.mean(axis=0) / sd, "sd": sd})


def check_fits(name: str, method: str, R: int) -> None:
    found = fits(name, method, R)
    assert found.bias.abs().max() < 4
    assert (found.ratio - 1).abs().max() < 4 / np.sqrt(2 * R)


@pytest.mark.parametrize(("name", "method"), [FITTED[1], FITTED[5], FITTED[8], FITTED[10]])
def test_standard_errors_of_estimators(name: str, method: str) -> None:
    check_fits(name, method, R=100)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), FITTED)
def test_standard_errors_of_estimators_in_many_surveys(
    name: str, method: str, replications: Callable[[int], int]
) -> None:
    check_fits(name, method, replications(1000))


def test_em_has_standard_errors_where_answers_were_never_revealed() -> None:
    """It leaves them a trace of probability, which the maximum does not."""
    p = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
    urap, rng = ldp.URAP(6, (0, 3), 1.0), np.random.default_rng(1)
    model = ldp.FrequencyModel(urap.privatize(rng.choice(6, 2000, p=p), rng))
    em, mle = model.fit("em"), model.fit("mle")
    np.testing.assert_allclose(em.params, mle.params, atol=1e-3)
    np.testing.assert_allclose(em.bse, mle.bse, atol=1e-4)
    assert (em.bse[[4, 5]] == 0).all()


def test_what_the_threshold_leaves_is_spread_over_all_others() -> None:
    """Biased, as in the papers: what nobody has gets a share of what is below the threshold."""
    R, setting = 400, Setting("urap", 20, 0.2, 1.0, 10_000, 0)
    counts, absent = setting.draw(R, stream=6), setting.p == 0
    found = np.array(
        [
            ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n))
            .fit("thresholded")
            .params
            for survey in counts
        ]
    )
    bias = (found.mean(axis=0) - setting.p) / (found.std(axis=0) / np.sqrt(R))
    assert bias[absent].min() > 4
    linear = estimates(setting.mechanism, counts, setting.n)[0]
    some = setting.n * setting.tallied >= 5
    off = (linear.mean(axis=0) - setting.p)[some] / (linear.std(axis=0)[some] / np.sqrt(R))
    assert np.abs(off).max() < 4


# ---- p-values and intervals


@pytest.mark.parametrize("name", MECHANISMS)
def test_pvalues_and_intervals_agree(name: str) -> None:
    """p is below alpha exactly where the interval of level 1 - alpha leaves zero out."""
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    told = 0
    for survey in setting.draw(5, stream=7):
        results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit()
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
    assert told > 10


# ---- categories that are never or seldom reported


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_category_that_p0_rules_out_is_proved_by_one_report(name: str) -> None:
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    p0, never = setting.p, np.flatnonzero(~setting.is_sensitive & (setting.p == 0))
    survey = setting.draw(1, stream=8)[0]
    model = ldp.FrequencyModel(as_counts(setting.mechanism, survey, 1000))
    test = model.test_distribution(p0)
    assert 0.001 < test.pvalue < 1 and "few reports were tested" in test.note
    survey[never[0]] += 1
    again = ldp.FrequencyModel(as_counts(setting.mechanism, survey, 1000 + 1))
    test = again.test_distribution(p0)
    assert test.statistic == np.inf and test.pvalue == 0 and "rules out" in test.note
    assert again.fit("inversion").pvalues[never[0]] == 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_neither_sample_reports_takes_no_part(name: str) -> None:
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    a, b = (as_counts(setting.mechanism, x, 1000) for x in setting.draw(2, stream=9))
    wald = ldp.two_sample_test(a, b, "wald")
    assert 0.001 < wald.pvalue < 1 and wald.df < 19
    assert 0.001 < ldp.two_sample_test(a, b).pvalue < 1
    other = ldp.URR(20, setting.mechanism.sensitive, 1.5).draw(setting.p, 1000, _rng())
    assert 0.001 < ldp.two_sample_test(a, other).pvalue < 1
    fit = ldp.FrequencyModel([a, other]).fit("inversion").goodness_of_fit
    assert fit is not None and fit.pvalue > 0.001


def _rng() -> np.random.Generator:
    return np.random.default_rng(10)


def test_what_is_tested_together_is_still_tested() -> None:
    """One of 14 categories of two reports each has fifteen times as many: found nearly always."""
    setting = Sparse("urr", 20, 0.2, 1.0, 10_000, (2.0,), 1)
    p0 = setting.p
    p = p0.copy()
    rare = np.flatnonzero(p0 == p0.min())[3]
    p[rare] *= 15
    p /= p.sum()
    surveys = draw(setting.mechanism, p, setting.n, 50, _rng())
    models = [ldp.FrequencyModel(setting.mechanism.counts(survey)) for survey in surveys]
    assert np.mean([model.test_distribution(p0).pvalue < 0.05 for model in models]) > 0.9


def test_nnls_of_bits_is_the_estimate_without_its_negative_entries() -> None:
    setting = Setting("urap", 20, 0.4, 1.0, 1000, 0)
    model = ldp.FrequencyModel(as_counts(setting.mechanism, setting.draw(1)[0], 1000))
    linear = model.fit("inversion").params
    np.testing.assert_allclose(model.fit("nnls").params, np.maximum(linear, 0), atol=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_plug_in_leaves_what_is_known_well_where_it_was_seen(name: str) -> None:
    """It is the nearest distribution in standard errors: max(v - mu variances, 0)."""
    setting = Setting(name, 50, 0.2, 0.3, 10_000, 0)
    survey = setting.draw(1, stream=11)[0]
    model = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n))
    p, v = model.moments().plug_in(), model.moments().estimate()[0]
    assert p.min() >= 0 and p.sum() == pytest.approx(1)
    se = np.sqrt(model.moments().covariance().variances())
    well = ~setting.is_sensitive & (survey > 0)
    assert np.all(np.abs(p - v)[well] < 0.5 * se[well])
    assert np.all(p[~setting.is_sensitive & (survey == 0)] == 0)


# ---- the tables


def coverage_table() -> pd.DataFrame:
    """Smallest and largest coverage of each kind of category."""
    rows = {}
    for name in MECHANISMS:
        cells = all_cells(name)
        many, zero = cells.expected >= 50, cells.p == 0
        kinds = {
            "50 tallies or more": cells.uncut[many],
            "fewer, not zero": cells.uncut[~many & ~zero],
            "zero, sensitive": cells.uncut[many & zero],
            "the same, cut": cells.cut[many & zero],
            "zero, not sensitive": cells.uncut[zero & ~cells.sensitive],
        }
        for kind, shares in kinds.items():
            rows[name, kind] = {"cells": len(shares), "min": shares.min(), "max": shares.max()}
    return pd.DataFrame(rows).T.astype({"cells": int})


if __name__ == "__main__":
    pd.options.display.float_format = "{:.4f}".format
    print(coverage_table().to_string())
    print(pd.DataFrame({str(setting): sizes(setting, FULL) for setting in SPARSE}).T.to_string())
    found = {str(s): contrast_sizes(s, FULL, 0) for s in CONTRASTS}
    print(pd.DataFrame(found).T.agg(["min", "max", "mean"]).to_string())
    print(pd.Series({str(s): fit_size(s, FULL) for s in FITS}).to_string())
    errors = pd.DataFrame({str(s): detection(s, FULL, 0) for s in SIMULATED}).T
    print(errors.agg(["min", "max"]).to_string())
    claimed = pd.concat([calibration(s, FULL) for s in SIMULATED])
    print(claimed.groupby("sensitive")[["ratio", "euclidean"]].agg(["min", "max"]).to_string())
    print(pd.concat({key: fits(*key, 1000) for key in FITTED}).to_string())
