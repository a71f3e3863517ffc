"""Coverage behind URR and URAP.

Tallies of both mechanisms are binomial, so that the coverage of default intervals is summed over
their laws, without Monte Carlo error, and simulations only have to agree with the sums.
`PYTHONPATH=tests python tests/models/frequency/test_sensitive_coverage.py` prints the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, coverage, error, repeat
from simulated.sensitive import A_FEW, MECHANISMS, SETTINGS, SIMULATED, Setting
from surveys import (
    as_counts,
    assert_cut,
    default_intervals,
    moments,
)

import ldpstats as ldp
from ldpstats.inference import intervals
from ldpstats.problems.tallies import PooledTallies, Tallies

Array = npt.NDArray[Any]

FULL = 10_000

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


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
        se = error(np.clip(share, 0, 1), R)  # sums may exceed one by rounding
        # 5 standard errors, and one survey where hardly any interval misses
        assert np.all(np.abs(coverage(ends, setting.p) - share) <= 5 * se + 1 / R), setting
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
def test_simulated_coverage(setting: Setting, replications: Callable[..., int]) -> None:
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
    found = coverage(default_intervals(setting.mechanism, counts, setting.n), setting.p)
    assert np.all(np.abs(found - theory) <= 5 * error(theory, R) + 1 / R)


def test_dropping_categories_at_zero_loses_coverage() -> None:
    """Control: the information of the MLE without the sensitive categories that it puts at zero."""
    R, setting = 500, Setting("urr", 20, 0.8, 1.0, 10_000, 0)
    urr, small = setting.mechanism, setting.is_sensitive & (setting.n * setting.p <= 100)
    counts = setting.draw(R)
    mle = np.array([ldp.FrequencyModel(urr.counts(survey)).fit().params for survey in counts])
    offset, scale = setting.law
    m = np.where(mle > 0, offset + scale * mle, 0.0)
    dropped = np.sqrt(m * (1 - m / m.sum(axis=1, keepdims=True)) / setting.n) / scale
    band = 4 * error(ALPHA, R)  # a wide one for the mean of several categories
    assert small.sum() > 3
    assert coverage(intervals.wald(mle, dropped), setting.p)[small].mean() < 0.95 - band


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

    def draw_groups() -> list[Any]:
        return [m.draw(p, n, rng) for m, n in zip(mechanisms, nobs, strict=True)]

    return coverage_of_both(draw_groups, p, R)


def coverage_of_both(draw: Callable[[], list[Any]], p: Array, R: int) -> dict[str, Array]:
    """Coverage of the default and of the Wald intervals that users get."""

    def survey(_: int) -> dict[str, Any]:
        results = ldp.FrequencyModel(draw()).fit("inversion")
        return {name: results.conf_int(method=name, clip=False) for name in ("default", "wald")}

    return {name: coverage(ends, p) for name, ends in repeat(R, survey).items()}


def check_groups(R: int, seed: int) -> None:
    _, _, p = groups()
    found = group_coverage(R, seed)
    others = np.arange(p.size) % 5 > 0
    band = 4 * error(0.94, R)
    assert found["default"].min() > 0.94 - band
    assert np.all(found["default"][others & (p == 0)] == 1.0)
    few = others & (p > 0) & (p < 0.005)
    assert few.sum() > 5
    assert found["wald"][few].max() < 0.94 - band  # control: Wald intervals of a few reports fail


def test_coverage_of_groups() -> None:
    check_groups(R=200, seed=1)


@pytest.mark.slow
def test_coverage_of_groups_in_many_surveys(replications: Callable[..., int]) -> None:
    check_groups(replications(3000), seed=2)


def mixed_coverage(R: int, seed: int) -> dict[str, Array]:
    """Coverage where uRR reports a category 0 to 20 times and k-RR hides it among many others."""
    urr, krr, n = ldp.URR(10, range(3), 1.0), ldp.KRR(10, 1.0), 1000
    p = np.array([0.0, 0.0, 0.0, 0.0, 0.0003, 0.001, 0.005, 0.01, 0.02, 0.05])
    p[:3] = (1 - p.sum()) * np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(seed)
    return coverage_of_both(lambda: [urr.draw(p, n, rng), krr.draw(p, n, rng)], p, R)


def check_mixed(R: int, seed: int) -> None:
    found, band = mixed_coverage(R, seed), 4 * error(0.94, R)
    assert found["default"].min() > 0.94 - band
    assert found["wald"].min() < 0.94 - band / 2  # control: a few reports are skewed


def test_coverage_of_noiseless_and_noisy_counts_together() -> None:
    check_mixed(R=400, seed=3)


@pytest.mark.slow
def test_coverage_of_noiseless_and_noisy_counts_in_many_surveys(
    replications: Callable[..., int],
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
