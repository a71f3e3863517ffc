"""Limits of weighted shares, their differences and ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulate import at_least

import ldpstats as ldp
from ldpstats.inference.designs.tests import (
    Counted,
    Differences,
    critical,
    ratio_bounds,
    score_bounds,
    t_bounds,
)
from ldpstats.inference.tables.ratio import fieller

Z = np.array([stats.norm.ppf(0.975)])
PLAIN = Counted(np.zeros(1), np.ones(1))  # answers without noise


def wilson(count: int, n: int, t: Any) -> Any:
    p = np.array([count / n])
    return score_bounds(p, np.sqrt(p * (1.0 - p) / n), t, PLAIN, np.array([n]))


def counted(first: tuple[int, int], second: tuple[int, int]) -> Differences:
    p, q = (np.array([count / n]) for count, n in (first, second))
    V = np.array([p * (1 - p) / first[1], q * (1 - q) / second[1], 0 * p])
    return Differences(p, q, V, lambda t: (wilson(*first, t), wilson(*second, t)))


def test_newcombe_has_published_these_limits() -> None:
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10
    for first, second, low, high in (
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ):
        np.testing.assert_allclose(counted(first, second).bounds(Z), [[low, high]], atol=5e-5)


def test_symmetric_limits_make_those_of_the_t_law() -> None:
    p, q = np.array([0.3, 0.1]), np.array([0.2, 0.4])
    V = np.array([[0.01, 0.02], [0.03, 0.01], [0.004, -0.003]])
    df = np.array([7.0, 0.5])

    def limits(t: Any) -> tuple[Any, Any]:
        return t_bounds(p, np.sqrt(V[0]), t), t_bounds(q, np.sqrt(V[1]), t)

    apart = Differences(p, q, V, limits)
    spread = np.sqrt(V[0] + V[1] - 2 * V[2])
    t = critical(df, 0.1)
    np.testing.assert_allclose(apart.bounds(t), t_bounds(p - q, spread, t), rtol=1e-12)
    expected = 2 * stats.t.sf(np.abs(p - q) / spread, np.maximum(df, 1))
    np.testing.assert_allclose(apart.pvalues(df), expected, rtol=1e-10)
    ratios = ratio_bounds(p, q, V, *limits(0.4 * t))
    for i, (low, high) in enumerate(ratios):
        alpha = 2 * stats.norm.sf(0.4 * t[i])
        found = fieller(p[i], q[i], *V[:, i], alpha)
        assert found.kind == "bounded"
        np.testing.assert_allclose([low, high], [found.low, found.high], rtol=1e-10)


@pytest.mark.parametrize(
    "first, second", [((1, 9), (30, 40)), ((25, 40), (3, 60)), ((0, 5), (2, 9))]
)
def test_a_limit_is_zero_at_the_p_value_and_a_ratio_at_no_difference(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    apart = counted(first, second)
    p = apart.pvalues(np.array([12.0]))
    assert np.abs(apart.bounds(critical(np.array([12.0]), p))).min() < 1e-9
    (low, high), sides = (
        ratio_bounds(apart.first, apart.second, apart.covariance, *apart.limits(Z))[0],
        apart.limits(Z),
    )

    def holds(r: float) -> bool:
        scaled = Differences(
            apart.first,
            r * apart.second,
            apart.covariance * [[1.0], [r**2], [r]],
            lambda _: (sides[0], r * sides[1]),
        )
        ends = scaled.bounds(Z)[0]
        return bool(ends[0] <= 0.0 <= ends[1])

    if low > 0.0:
        assert holds(low * 1.0001) and not holds(low * 0.9999)
    assert holds(high * 0.9999) and not holds(high * 1.0001)


def test_critical_values_of_small_levels() -> None:
    df, most = np.array([0.0, 7.0, 1e10]), np.array([6.366197723675814e19, 1596.284, 9.336045])
    np.testing.assert_allclose(critical(df, 1e-20), most, rtol=1e-6)
    np.testing.assert_allclose(critical(df, 0.05), stats.t.isf(0.025, [1.0, 7.0, 1e10]), rtol=1e-9)
    table = pd.DataFrame({"job": ["cook", "nurse"] * 20, "w": 1.0})
    survey = ldp.Survey(table, {"job": ldp.Observed(["cook", "nurse", "driver"])}, weights="w")
    for alpha in (1e-20, 1e-300):
        ends = survey.frequencies("job").conf_int(alpha)
        assert (ends["lower"] <= 0.5).all() and ends.loc["driver", "upper"] > 0.5


def test_ratios_to_what_may_be_nobody_are_without_limit() -> None:
    p, q = np.array([0.2, 0.2, -0.1]), np.array([0.1, -0.1, 0.3])
    V = np.array([[0.001] * 3, [0.01] * 3, [0.0] * 3])
    limits = [t_bounds(one, np.sqrt(v), Z) for one, v in zip((p, q), V[:2], strict=True)]
    found = ratio_bounds(p, q, V, *limits)
    assert found[0, 0] > 0.0 and found[0, 1] == np.inf
    assert found[1].tolist() == [-np.inf, np.inf]
    assert found[2, 0] < found[2, 1] < 0.0


@pytest.mark.parametrize("p, low, high", [(0.02, -0.04, 0.3), (-0.1, -0.2, -0.02), (0.2, 0.1, 0.5)])
def test_limits_of_a_ratio_take_the_side_that_their_sign_has(
    p: float, low: float, high: float
) -> None:
    q, sides = 0.3, np.array([0.2, 0.5])
    V = np.array([[0.002], [0.003], [0.0005]])
    above, limits = np.array([p]), np.array([[low, high]])
    (found,) = ratio_bounds(above, np.array([q]), V, limits, sides[None])
    r = 0.0005 / np.sqrt(0.002 * 0.003)
    for x in np.linspace(-3.0, 3.0, 601):
        # the second, times x, has its limits in order, and moves against the first
        scaled = np.sort(x * sides)
        down, up = (p - low, scaled[1] - x * q), (high - p, x * q - scaled[0])
        a, b = down if p - x * q > 0.0 else up
        holds = (p - x * q) ** 2 <= a**2 + b**2 - 2.0 * np.sign(x) * r * a * b
        if np.abs(x - found).min() > 1e-6:
            assert holds == (found[0] < x < found[1]), x


def test_limits_of_ratios_hold_the_estimate_in_order() -> None:
    rng = np.random.default_rng(9)
    n = 20_000
    p, q = rng.normal(0, 1, n), np.abs(rng.normal(0, 1, n))
    se, r = np.exp(rng.normal(-1, 1, (2, n))), rng.uniform(-1, 1, n)
    skew = np.exp(rng.normal(0, 1, (2, n, 2)))
    limits, below = (
        one[:, None] + s[:, None] * np.array([-1.0, 1.0]) * own
        for one, s, own in zip((p, q), se, skew, strict=True)
    )
    low, high = ratio_bounds(p, q, np.stack([*se**2, r * se[0] * se[1]]), limits, below).T
    assert np.all((low <= p / q) & (p / q <= high))
    same = ratio_bounds(q, q, np.stack([se[1] ** 2] * 3), below, below)
    assert np.all((same[:, 0] <= 1.0) & (same[:, 1] >= 1.0))


def test_sets_are_counted_by_the_reports_of_their_members() -> None:
    channel = ldp.KRR(4, epsilon=1.0).channel().matrix()
    counted = Counted(np.full(4, channel[0, 1]), np.full(4, channel[0, 0] - channel[0, 1]))
    sets = np.array([[1, 0, 0, 0], [1, 0, 1, 0]])
    found = counted.joined(sets, disjoint=True)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(found.offset + found.scale * (sets @ p), p @ channel @ sets.T)
    assert np.isnan(counted.joined(sets, disjoint=False).scale).tolist() == [False, True]
    subsets = Counted(np.full(4, 0.45), np.full(4, 0.2))  # each report holds two of four
    assert np.isnan(subsets.joined(sets, disjoint=True).scale).tolist() == [False, True]


def survey(rng: np.random.Generator, mechanism: Any, sex: Any, few: float) -> ldp.Survey:
    """Six schools of 20 in each of ten strata; few boys, and few who smoke among them."""
    school = np.arange(1200) // 20
    boy = rng.random(1200) < few
    smokes = rng.random(1200) < 0.05
    table = pd.DataFrame(
        {
            "smokes": np.where(smokes, "yes", rng.choice(["no", "once"], 1200)),
            "sex": np.where(boy, "boy", "girl"),
            "w": rng.uniform(1, 3, 1200) * (1 + school // 30),
            "school": school,
            "stratum": school // 6,
        }
    )
    sheet = ldp.Questionnaire({"smokes": mechanism, "sex": sex})
    reports = sheet.privatize(table, rng)
    return ldp.Survey(reports, sheet, weights="w", strata="stratum", clusters="school")


@pytest.mark.slow
def test_differences_and_ratios_of_few_cover_where_those_of_wald_do_not(
    replications: Callable[..., int],
) -> None:
    R, rng = replications(1000, least=120), np.random.default_rng(6)
    labels = ["no", "once", "yes"]
    held = np.zeros((2, 3))
    for _ in range(R):
        found = survey(rng, ldp.Observed(labels), ldp.Observed(["boy", "girl"]), 0.025)
        results = found.frequencies("smokes", by="sex")
        for own, method in zip(held, ("default", "wald"), strict=True):
            apart = results.differences("girl", method=method).loc[("boy", "yes")]
            ratio = results.ratio("yes", ["no", "once"], method=method).loc["boy"]
            own[0] += apart["lower"] <= 0.0 <= apart["upper"]
            own[1] += ratio["lower"] <= 0.05 / 0.95 <= ratio["upper"]
            own[2] += apart["pvalue"] >= 0.05
    default, wald = held / R
    assert at_least(default, 0.95, R), default  # of 30 boys, counts are steps: it may be more
    assert np.all(default < 0.995)
    assert not at_least(wald, 0.95, R), wald


@pytest.mark.slow
def test_shares_given_a_private_answer_cover(replications: Callable[..., int]) -> None:
    R, rng = replications(1000, least=150), np.random.default_rng(7)
    labels = ["no", "once", "yes"]
    held, wide = np.zeros((2, 2)), 0
    for _ in range(R):
        found = survey(rng, ldp.Observed(labels), ldp.KRR(["boy", "girl"], 2.0), 0.15)
        results = found.association("sex", "smokes")
        for own, method in zip(held, ("default", "wald"), strict=True):
            given = results.conditional("sex", method=method).loc[("boy", "yes")]
            apart = results.differences("sex", "girl", method=method).loc[("boy", "yes")]
            own[0] += given["lower"] <= 0.05 <= given["upper"]
            own[1] += apart["lower"] <= 0.0 <= apart["upper"]
            wide += given["upper"] == 1.0
    default, wald = held / R
    assert at_least(default, 0.95, R), default
    assert R < 500 or not at_least(wald, 0.95, R, errors=2.0), wald  # which fewer do not show
    assert wide < 0.1 * R
