"""Coverage of nominal 95 % intervals in simulated surveys, and what point estimates are worth.

The full simulation takes 100,000 surveys a setting: some cells have a true coverage of .960 or
.945, and with 10,000 surveys (Monte Carlo standard error .0022) luck alone would carry one of them
over a limit. Then the limits hold as they stand; with fewer surveys they are widened by four
standard errors.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, bias, coverage, error, near, repeat
from surveys import (
    MECHANISMS,
    as_counts,
    assert_cut,
    default_intervals,
    draw,
    estimates,
    frequencies,
    moments,
)

import ldpstats as ldp
from ldpstats.inference import intervals
from ldpstats.inference.intervals import clip_unit, exact_binomial

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]

Array = npt.NDArray[Any]

FULL = 100_000


@dataclass(frozen=True)
class Setting:
    """What is surveyed: a mechanism, how many answer, and where their frequencies lie."""

    name: str
    k: int
    epsilon: float
    n: int
    where: str

    def __str__(self) -> str:
        return f"{self.name}-{self.k}-{self.epsilon:g}-{self.n}-{self.where}"

    @property
    def most(self) -> int:
        """Surveys to simulate: those of the rectangular channel are fitted one by one."""
        return 2000 if self.name == "rectangular" else FULL

    @cached_property
    def mechanism(self) -> ldp.Mechanism:
        return MECHANISMS[self.name](self.k, self.epsilon)

    @cached_property
    def p(self) -> Array:
        return frequencies(self.where, self.mechanism, self.n)

    def tallied(self) -> Array:
        """Probability that a report tallies each category: by its own output, or its own bit."""
        problem = moments(self.mechanism, self.n)
        if isinstance(problem.A, float):
            return np.asarray(problem.offset + problem.A * self.p)
        return self.mechanism.channel().forward(self.p)[: self.k]

    def draw(self, R: int) -> Array:
        seed = [2024, SETTINGS.index(self)]
        return draw(self.mechanism, self.p, self.n, R, np.random.default_rng(seed))


SETTINGS = [
    Setting("krr", 5, 1.0, 2000, "zeros"),
    Setting("krr", 20, 3.0, 100_000, "near"),
    Setting("rappor", 20, 1.0, 100_000, "zeros"),
    Setting("rappor", 5, 3.0, 2000, "near"),
    Setting("oue", 5, 3.0, 2000, "zeros"),
    Setting("oue", 20, 1.0, 2000, "interior"),
    Setting("rectangular", 5, 1.0, 2000, "zeros"),
    Setting("rectangular", 20, 3.0, 100_000, "near"),
]


# ---- intervals of many surveys at once


def coverages(setting: Setting, R: int) -> pd.DataFrame:
    """Coverage of each category of a setting, before and after the cut to [0, 1].

    "halved" is the control: the same estimates with half their standard errors.
    """
    counts = setting.draw(min(R, setting.most))
    uncut = default_intervals(setting.mechanism, counts, setting.n)
    estimate, variance = estimates(setting.mechanism, counts, setting.n)
    halved = intervals.wald(estimate, np.sqrt(variance) / 2)
    return pd.DataFrame(
        {
            "p": setting.p,
            "expected": setting.n * setting.tallied(),
            "uncut": coverage(uncut, setting.p),
            "cut": coverage(clip_unit(uncut), setting.p),
            "halved": coverage(halved, setting.p),
        }
    )


def slack(limit: float, R: int) -> float:
    """Four Monte Carlo standard errors, where fewer than all surveys were simulated."""
    return 0.0 if R >= FULL else 4 * float(error(limit, R))


def outside(cells: pd.DataFrame, column: str, R: int) -> pd.DataFrame:
    """Cells whose coverage is not what is promised.

    .94 to .965; after the cut, which can only add coverage at p = 0, up to .99 there. Upper limits
    hold where 50 tallies are expected: with fewer, a binomial count is too coarse.
    """
    upper = np.where((cells.p == 0) & (column == "cut"), 0.99, 0.965)
    low = cells[column] < 0.94 - slack(0.94, R)
    high = cells[column] > upper + [slack(limit, R) for limit in upper]
    return cells[low | (high & (cells.expected >= 50))]


def exact_coverage(setting: Setting) -> Array:
    """Coverage of Clopper-Pearson intervals, summed over the binomial law of each tally."""
    n, shares = setting.n, []
    for m in setting.tallied():
        spread = int(8 * np.sqrt(n * m * (1 - m))) + 8
        tally = np.arange(max(0, int(n * m) - spread), min(n, int(n * m) + spread) + 1)
        low, high = exact_binomial(tally, n).T
        shares.append(stats.binom.pmf(tally, n, m) @ ((low <= m) & (m <= high)))
    return np.array(shares)


def check_estimates(setting: Setting, counts: Array) -> None:
    """Unbiased; the mean of the claimed variances is the variance, whose error is sqrt(2 / R)."""
    estimate, variance = estimates(setting.mechanism, counts, setting.n)
    assert np.abs(bias(estimate, setting.p)).max() < 4
    ratio = variance.mean(axis=0) / estimate.var(axis=0)
    np.testing.assert_allclose(ratio, 1, rtol=0, atol=4.5 * np.sqrt(2 / len(counts)))
    if setting.where == "zeros":  # control: cut at zero, they are biased
        assert bias(np.maximum(estimate, 0), setting.p)[setting.p == 0].min() > 4


def check(setting: Setting, R: int, fits: int) -> None:
    """Default intervals cover, simulation agrees with theory, and users get the same intervals."""
    R = min(R, setting.most)
    check_estimates(setting, setting.draw(R))
    cells = coverages(setting, R)
    for column in ("uncut", "cut"):
        wrong = outside(cells, column, R)
        assert wrong.empty, f"{setting}\n{wrong}"
    np.testing.assert_array_equal(cells.cut[cells.p > 0], cells.uncut[cells.p > 0])
    assert len(outside(cells, "halved", R)) == setting.k  # control
    if setting.name != "rectangular":
        theory = exact_coverage(setting)
        # 5 standard errors: over all cells, exceeded by chance in one run of a thousand.
        assert near(cells.uncut, theory, R, errors=5), setting
    counts = setting.draw(R)[:fits]
    ours = default_intervals(setting.mechanism, counts, setting.n)
    for survey, uncut in zip(counts, ours, strict=True):
        results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit()
        np.testing.assert_allclose(results.conf_int(clip=False), uncut, rtol=0, atol=1e-10)
        assert_cut(results.conf_int(), uncut)


def test_coverage_of_a_few_surveys():
    check(SETTINGS[4], R=2000, fits=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage(setting, replications):
    check(setting, replications(setting.most, least=125), fits=5)


def test_dropping_cells_at_zero_loses_coverage():
    """Control: the information of the MLE without the categories that it puts at zero."""
    k, n, R, epsilon = 20, 10_000, 300, 1.0
    krr = ldp.KRR(k, epsilon)
    p = frequencies("near", krr, n)
    counts = draw(krr, p, n, R, np.random.default_rng(1))
    mle = np.array([ldp.FrequencyModel(krr.counts(survey)).fit().params for survey in counts])
    a, b = krr.channel().a, krr.channel().b
    m = np.where(mle > 0, b + a * mle, 0.0)
    dropped = np.sqrt(m * (1 - m / m.sum(axis=1, keepdims=True)) / n) / a
    small = np.argsort(p)[:5]
    band = 4 * error(ALPHA, R)  # cells are nearly independent: a wide band for their mean
    assert coverage(intervals.wald(mle, dropped), p)[small].mean() < 0.95 - band
    default = coverage(default_intervals(krr, counts, n), p)
    assert abs(default[small].mean() - 0.95) < band


# ---- intervals offered by name


def named_coverage(where: str, method: str, R: int) -> tuple[Array, int, int]:
    """Coverage of each category, surveys with an estimate of zero, and warnings given."""
    krr, n = ldp.KRR(5, epsilon=2.0), 2000
    p = frequencies(where, krr, n)
    rng = np.random.default_rng([7, R])
    counts = draw(krr, p, n, R, rng)

    def survey(r: int) -> dict[str, Any]:
        model = ldp.FrequencyModel(krr.counts(counts[r]))
        results = model.fit()
        how: dict[str, Any] = {} if method == "wald-mle" else {"model": model}
        if method == "bootstrap":
            how |= {"rng": rng, "n_boot": 199}
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            ends = results.conf_int(method=method, **how)
        warned = any(issubclass(w.category, ldp.BoundaryWarning) for w in seen)
        return {"ends": ends, "boundary": results.on_boundary, "warned": warned}

    found = repeat(R, survey)
    return coverage(found["ends"], p), found["boundary"].sum(), found["warned"].sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "full"), [("wald-mle", 2000), ("profile", 150), ("bootstrap", 300)]
)
def test_named_intervals(method, full, replications):
    R = replications(full, least=100)
    interior, boundary, warned = named_coverage("interior", method, R)
    assert near(interior.mean(), 0.95, 5 * R)  # categories are nearly independent
    assert boundary == warned < R / 4
    shares, boundary, warned = named_coverage("zeros", method, R)
    assert boundary == warned > R / 2  # they say so where they may fail
    assert shares[:3].mean() > 0.9
    assert shares[3:].mean() > 0.95  # at zero they are conservative


# ---- point estimates


@pytest.mark.slow
@pytest.mark.parametrize("name", ["krr", "rectangular"])
def test_the_mle_is_closer_than_inversion_at_zero(name, replications):
    R, setting = replications(2000, least=200), Setting(name, 5, 1.0, 2000, "zeros")
    counts = setting.draw(R)
    models = [ldp.FrequencyModel(as_counts(setting.mechanism, c, setting.n)) for c in counts]
    mle = np.array([model.fit("mle").params for model in models])
    linear, _ = estimates(setting.mechanism, counts, setting.n)
    rmse = [np.sqrt(np.mean((x - setting.p) ** 2, axis=0)) for x in (mle, linear)]
    ratio = rmse[0] / rmse[1]
    assert ratio[3:].max() < 0.75  # positivity is worth much at zero, and costs nothing elsewhere
    assert ratio[:3].max() < 1.05
