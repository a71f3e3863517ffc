"""`wald_test` of several categories at once, and ratios, where reports of some are few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import ldpstats as ldp
from ldpstats import FrequencyResults
from ldpstats.inference.goodness import ReportSums, form_cumulants
from ldpstats.inference.tails import chi2_pvalue
from tests.simulate import at_least, at_most

Array = npt.NDArray[np.float64]

CATEGORIES = tuple("abcdef")
P = np.array([0.9, 0.07, 0.02, 0.008, 0.002, 0.0])
SETTINGS: dict[str, tuple[ldp.Mechanism, int, str]] = {
    "projective": (ldp.ProjectiveGeometryResponse(CATEGORIES, epsilon=8.0), 200, "bcd"),
    "oue": (ldp.KRAPPOR(CATEGORIES, epsilon=8.0, theta=0.5), 200, "abc"),
    "rappor": (ldp.KRAPPOR(CATEGORIES, epsilon=4.0), 200, "bcd"),
    "urap": (ldp.URAP(CATEGORIES, {"a", "c"}, epsilon=4.0), 200, "bcd"),
    "hadamard": (ldp.HadamardResponse(CATEGORIES, epsilon=8.0), 200, "bcd"),
    "krr": (ldp.KRR(CATEGORIES, epsilon=8.0), 200, "bcd"),
}


def survey(
    mechanism: ldp.Mechanism, n: int, rng: np.random.Generator, p: Array = P
) -> FrequencyResults:
    answers = np.asarray(mechanism.categories)[rng.choice(p.size, n, p=p)]
    return ldp.FrequencyModel(mechanism.privatize(answers, rng)).fit_quietly()


def restrictions(which: str) -> tuple[Array, Array]:
    R = np.eye(P.size)[[CATEGORIES.index(c) for c in which]]
    return R, R @ P


def rejected(name: str, R: int, alpha: float) -> float:
    mechanism, n, which = SETTINGS[name]
    rng = np.random.default_rng([39, list(SETTINGS).index(name)])
    given = restrictions(which)
    found = [survey(mechanism, n, rng).wald_test(given).pvalue < alpha for _ in range(R)]
    return float(np.mean(found))


@pytest.mark.parametrize("name", ["oue", "krr"])
def test_rare_categories_are_not_rejected_together(name: str) -> None:
    """At .01, in 25 surveys: 0.2.0 rejected .12 to .26. Three Monte Carlo errors are allowed."""
    assert at_most(rejected(name, 25, 0.01), 0.01, 25)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["projective", "oue", "urap", "krr"])
def test_sizes(name: str, replications: Callable[..., int]) -> None:
    R = replications(1000, least=200)
    assert at_most(rejected(name, R, 0.05), 0.05, R)
    assert at_most(rejected(name, R, 0.01), 0.012, R)


def test_moments_are_those_of_all_samples() -> None:
    """Of all 3^5 samples of five reports with three labels, listed one by one."""
    m, u, n = np.array([0.7, 0.25, 0.05]), np.array([[0.0, 1.0, 0.5], [1.0, -0.3, 2.0]]), 5
    sums = ReportSums((u * m) @ u.T / n - np.outer(u @ m, u @ m) / n, [(u, m, n)])
    values, vectors = np.linalg.eigh(sums.covariance)
    whitened = vectors.T / np.sqrt(values)[:, None]
    samples = np.stack(np.meshgrid(*[np.arange(3)] * n), axis=-1).reshape(-1, n)
    chance = m[samples].prod(axis=1)
    gap = u[:, samples].mean(axis=2) - (u @ m)[:, None]
    T = np.sum((whitened @ gap) ** 2, axis=0)
    mean = chance @ T
    law = form_cumulants([(n, (whitened @ u / n).T, m)])
    assert law.mean == pytest.approx(mean)
    assert law.variance == pytest.approx(chance @ (T - mean) ** 2)
    assert law.third == pytest.approx(chance @ (T - mean) ** 3)
    for i in (0, 100, -1):
        expected = max(float(chi2_pvalue(T[i], 2)), law.pvalue(T[i]))
        assert sums.test(gap[:, i]) == pytest.approx((T[i], 2, expected))


@pytest.mark.parametrize("name", ["projective", "oue", "krr"])
def test_results_from_a_file_say_the_same(name: str) -> None:
    mechanism, n, which = SETTINGS[name]
    results = survey(mechanism, n, np.random.default_rng(3))
    again = type(results).from_json(results.to_json())
    one, two = results.wald_test(restrictions(which)), again.wald_test(restrictions(which))
    assert (one.statistic, one.pvalue) == pytest.approx((two.statistic, two.pvalue), rel=1e-9)
    first, second = results.ratio("b", "a"), again.ratio("b", "a")
    assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=1e-9)


def test_one_restriction_is_tested_as_by_t_test() -> None:
    for i, (mechanism, n, _) in enumerate(SETTINGS.values()):
        results = survey(mechanism, n, np.random.default_rng(i))
        alone = results.wald_test("b - c = 0.03").pvalue
        assert alone == pytest.approx(results.t_test("b - c = 0.03").pvalue, rel=1e-9)


def test_with_many_reports_the_law_is_chi_square() -> None:
    rng = np.random.default_rng(1)
    results = survey(ldp.KRAPPOR(CATEGORIES, epsilon=2.0), 20_000, rng, np.full(6, 1 / 6))
    test = results.wald_test("a = b, b = c, c = d")
    assert test.pvalue == pytest.approx(float(chi2_pvalue(test.statistic, test.df)), abs=2e-3)


@pytest.mark.parametrize("method", ["mle", "inversion"])
def test_a_category_that_nobody_reported_can_be_tested_with_others(method: str) -> None:
    """Reports of f are without noise: none was seen, which is what the null says."""
    mechanism = ldp.URAP(CATEGORIES, {"a", "c"}, epsilon=4.0)
    answers = np.repeat(CATEGORIES[:4], (160, 24, 10, 6))
    reports = mechanism.privatize(answers, np.random.default_rng(2))
    results = ldp.FrequencyModel(reports).fit(method)
    R = np.eye(6)[3:]
    assert 0.001 < results.wald_test((R, [0.03, 0.004, 0.0])).pvalue <= 1.0
    assert results.wald_test((R, [0.03, 0.4, 0.0])).pvalue < 1e-3  # control


# ---- ratios


def test_the_ends_of_a_ratio_are_those_that_the_test_does_not_reject() -> None:
    for i, (mechanism, _, _) in enumerate(SETTINGS.values()):
        results = survey(mechanism, 500, np.random.default_rng(i))
        found = results.ratio("b", "a")
        for end in (found.low, found.high):
            row = np.eye(6)[1] - end * np.eye(6)[0]
            assert float(results.t_test((row, 0.0)).pvalue) == pytest.approx(0.05, abs=1e-6)


def test_ratios_are_not_negative() -> None:
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    results = ldp.FrequencyModel(krr.counts([450, 360, 190])).fit()
    below = results.ratio("c", "a")
    assert results.linear_params["c"] < 0.0
    assert below.low == 0.0 < below.high < 0.3
    above = results.ratio("a", "c")
    assert above.low == pytest.approx(1.0 / below.high) and np.isinf(above.high)
    same = results.ratio("a", "a")
    assert (same.low, same.high) == (1.0, 1.0)


def covered(mechanism: ldp.Mechanism, n: int, R: int) -> float:
    rng = np.random.default_rng([39, n])
    return float(np.mean([2 / 7 in survey(mechanism, n, rng).ratio("c", "b") for _ in range(R)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "n"), [(SETTINGS["oue"][0], 300), (SETTINGS["rappor"][0], 2000)], ids=str
)
def test_coverage_of_ratios(
    mechanism: ldp.Mechanism, n: int, replications: Callable[..., int]
) -> None:
    """Fieller's set covered .88 of the first and .91 of the second."""
    R = replications(1000, least=200)
    assert at_least(covered(mechanism, n, R), 0.94, R, errors=3.0)


def test_a_share_among_some_is_a_function_of_the_odds() -> None:
    """Fieller's set of a / (a + b) is that of a / b, mapped by r / (1 + r)."""
    krr = ldp.KRR(("low", "high", "refused"), epsilon=1.5)
    results = ldp.FrequencyModel(krr.counts([620, 410, 270])).fit()
    odds, share = results.ratio("low", "high"), results.ratio("low", ["low", "high"])
    assert share.low == pytest.approx(odds.low / (1 + odds.low), rel=1e-9)
    assert share.high == pytest.approx(odds.high / (1 + odds.high), rel=1e-9)
    assert 0.5 < share.low < share.high < 1.0
    again = results.ratio(["low"], ["high"])
    assert (again.low, again.high) == (odds.low, odds.high)
