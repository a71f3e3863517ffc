"""Size and power of tests behind URR and URAP, and errors of detection, in simulated surveys.

`PYTHONPATH=tests python tests/models/frequency/test_sensitive_size.py` prints the tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, at_most, error, near, repeat, size
from simulated.sensitive import A_FEW, MECHANISMS, SIMULATED, Setting
from surveys import (
    as_counts,
    draw,
    estimates,
    moments,
    observed_covariances,
    quadratic_forms,
    score_forms,
)

import ldpstats as ldp
from ldpstats.estimators.thresholded import null_standard_errors
from ldpstats.inference import multiplicity, pearson, tests
from ldpstats.inference.tails import chi2_pvalue

Array = npt.NDArray[Any]

FULL = 10_000

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


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


def sizes(setting: Sparse, R: int) -> dict[str, float]:
    """How often true nulls are rejected by the tests that users call.

    Two samples are two groups, whose test leaves out what `two_sample_test` adds: a fit of each,
    which takes most of its time. Of the first survey both are compared.
    """
    mechanism, p, n = setting.mechanism, setting.p, setting.n
    krr, m = ldp.KRR(setting.k, setting.epsilon), n * setting.ratio
    drawn = [
        (mechanism, n, setting.draw(mechanism, n, R, 0)),
        (mechanism, m, setting.draw(mechanism, m, R, 1)),
        (krr, m, setting.draw(krr, m, R, 2)),
    ]

    def survey(r: int) -> dict[str, float]:
        a, b, c = (as_counts(each, counts[r], size) for each, size, counts in drawn)
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

    return {name: size(pvalues) for name, pvalues in repeat(R, survey).items()}


def check_sizes(setting: Sparse, R: int) -> None:
    """Within .035 to .065, widened by four standard errors where surveys are fewer."""
    band = 0.015 + (0.0 if R >= FULL else 4 * error(ALPHA, R))
    for name, found in sizes(setting, R).items():
        assert abs(found - 0.05) <= band, f"{setting}, {name}: {found}"


@pytest.mark.parametrize("setting", [SPARSE[0], SPARSE[6]], ids=str)
def test_sizes_of_two_settings(setting: Sparse) -> None:
    check_sizes(setting, R=300)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SPARSE, ids=str)
def test_sizes(setting: Sparse, replications: Callable[..., int]) -> None:
    check_sizes(setting, replications(FULL))


def untouched_sizes(setting: Sparse, R: int) -> tuple[float, float]:
    """Sizes of Pearson's tests if rare categories were tested one by one."""
    first, second = (
        setting.draw(setting.mechanism, size, R, i)
        for i, size in enumerate((setting.n, setting.n * setting.ratio))
    )
    given = pearson.pearson_given(first, setting.mechanism.channel().forward(setting.p))
    return size(chi2_pvalue(*given)), size(chi2_pvalue(*pearson.two_sample_pearson(first, second)))


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
        found[name] = size(chi2_pvalue(statistic, 1))
        for survey, value in zip(counts[:fits], statistic, strict=False):
            results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit(
                "inversion"
            )
            # a score test, with the variance at the likeliest frequencies under the null
            test = results.wald_test((row, row @ setting.p))
            assert test.statistic == pytest.approx(value, rel=0.15, abs=0.05)
    return found


CONTRASTS = [
    Setting(name, 20, 0.4, epsilon, n, 0)
    for name, epsilon, n in itertools.product(MECHANISMS, (0.3, 1.0, 3.0), (10_000, 100_000))
]


def check_contrasts(setting: Setting, R: int, fits: int) -> None:
    for name, found in contrast_sizes(setting, R, fits).items():
        assert near(found, ALPHA, R), f"{setting}, {name}: {found}"


@pytest.mark.parametrize("setting", CONTRASTS[2::12], ids=str)
def test_sizes_of_contrasts_in_two_settings(setting: Setting) -> None:
    check_contrasts(setting, R=1000, fits=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", CONTRASTS, ids=str)
def test_sizes_of_contrasts(setting: Setting, replications: Callable[..., int]) -> None:
    check_contrasts(setting, replications(FULL), fits=10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_difference_of_categories_with_few_reports_is_tested_conservatively(name: str) -> None:
    """A Wald test of two counts of two is far from its level, on the safe side."""
    R, setting = FULL, Setting(name, 50, 0.2, 3.0, 10_000, 0)
    few = np.flatnonzero(~setting.is_sensitive & np.isclose(setting.n * setting.tallied, 2.0))
    first, second = setting.draw(R, stream=2)[:, few[:2]].T
    z2 = (first - second) ** 2 / np.maximum(first + second, 1)
    assert size(chi2_pvalue(z2, 1)) < 0.05


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
    errors = detection(setting, R, fits)
    assert at_most(errors["detected"], ALPHA, R)
    if noise(setting) > 2:
        assert at_most(errors["kept"], ALPHA, R)


@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_errors_of_detection_in_two_settings(setting: Setting) -> None:
    check_detection(setting, R=1000, fits=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SIMULATED, ids=str)
def test_errors_of_detection(setting: Setting, replications: Callable[..., int]) -> None:
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


def test_what_is_tested_together_is_still_tested() -> None:
    """One of 14 categories of two reports each has fifteen times as many: found nearly always."""
    setting = Sparse("urr", 20, 0.2, 1.0, 10_000, (2.0,), 1)
    p0 = setting.p
    p = p0.copy()
    rare = np.flatnonzero(p0 == p0.min())[3]
    p[rare] *= 15
    p /= p.sum()
    surveys = draw(setting.mechanism, p, setting.n, 50, np.random.default_rng(10))
    models = [ldp.FrequencyModel(setting.mechanism.counts(survey)) for survey in surveys]
    assert np.mean([model.test_distribution(p0).pvalue < 0.05 for model in models]) > 0.9


if __name__ == "__main__":
    pd.options.display.float_format = "{:.4f}".format
    print(pd.DataFrame({str(setting): sizes(setting, FULL) for setting in SPARSE}).T.to_string())
    found = {str(s): contrast_sizes(s, FULL, 0) for s in CONTRASTS}
    print(pd.DataFrame(found).T.agg(["min", "max", "mean"]).to_string())
    errors = pd.DataFrame({str(s): detection(s, FULL, 0) for s in SIMULATED}).T
    print(errors.agg(["min", "max"]).to_string())
