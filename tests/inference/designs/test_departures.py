"""Rao-Scott tests: against R's survey, Pearson's statistic, and all samples and randomisations."""

import json
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS, all_reports, candidates, channel, distribution
from scipy import stats
from scipy.stats import chi2, chi2_contingency
from simulate import at_least, bias, coverage, near

import ldpstats as ldp
from ldpstats.inference.designs.linearisation import (
    LinearTotals,
    Sample,
    Scores,
    Stage,
    collision_covariance,
    collisions,
    design_covariance,
    estimated_totals,
)
from ldpstats.inference.designs.tests import (
    Counted,
    Differences,
    PseudoLikelihood,
    RaoScott,
    critical,
    fit_to,
    maxima,
    metric,
    pseudo_likelihood,
    ratio_bounds,
    score_bounds,
    t_bounds,
)
from ldpstats.inference.tables.ratio import fieller
from ldpstats.likelihood.joint import decode
from ldpstats.models.weighted.base import SampleFacts
from ldpstats.models.weighted.model import WeightedModel, WeightedVariable

REFERENCE = Path(__file__).parents[2] / "reference" / "survey"


@cache
def reference():
    return json.loads((REFERENCE / "designs.json").read_text())


def sampled(w, unit=None, strata=None, population=np.inf):
    """A cell a respondent; units in strata, respondents in one stratum by default."""
    w = np.asarray(w, dtype=float)
    one = np.zeros(len(w) if unit is None else int(np.max(unit)) + 1, dtype=np.int64)
    strata = one if strata is None else np.asarray(strata)
    n = np.bincount(strata).astype(float)
    every = np.broadcast_to(np.asarray(population, dtype=float), n.shape)
    stage = Stage(unit, strata, n, every, np.zeros(len(n), dtype=np.int64), list(range(len(n))))
    return Sample((stage,), np.ones(len(w)), w, w**2)


def crossed(sample, *variables):
    """Two variables, each a mechanism and the codes of its reports."""
    facts = SampleFacts("", "", 1, 1, 1, 1.0, 1.0, 1.0)
    made = [
        WeightedVariable(name, ldp.Reports(np.asarray(y), mechanism), np.arange(len(y)))
        for name, (mechanism, y) in zip("xy", variables, strict=True)
    ]
    return WeightedModel(sample, facts, tuple(made), np.zeros(len(sample.w), dtype=np.int64))


# -- R ---------------------------------------------------------------------------------------
def test_what_a_distribution_rules_out_is_infinitely_far_from_it():
    totals = LinearTotals(np.array([6.0, 3.0, 1.0, 10.0]), np.eye(4), np.zeros((4, 4)))
    p0 = np.array([0.5, 0.5, 0.0])
    L = metric(np.diag(p0) - np.outer(p0, p0), True)
    test = fit_to(totals, p0, L, 10.0, 5.0).test("H0")
    assert (test.statistic, test.pvalue) == (np.inf, 0.0)
    without = LinearTotals(np.array([6.0, 4.0, 0.0, 10.0]), np.eye(4), np.zeros((4, 4)))
    assert np.isfinite(fit_to(without, p0, L, 10.0, 5.0).test("H0").statistic)


def test_empty_cells_are_those_of_r():
    # R: svychisq(~x + y, svydesign(~u, weights = ~w, data = ...), statistic = ...) of these
    x = np.array([0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0])
    y = np.array([0, 1, 2, 0, 1, 2, 1, 0, 0, 1, 2, 1])
    w, unit = np.arange(1.0, 13.0), np.arange(12) // 2
    variables = (ldp.Observed(2), x), (ldp.Observed(4), y)  # a column is empty too: R drops it
    model = crossed(sampled(w, unit), *variables)
    found = model.fit_table().dependence.observed
    expected = {
        "second": (1.37466428313098, 1.54428602004184, 7.72143010020919, 0.29814955548931),
        "wald": (5.82711082461868, 2, 5, 0.0493871721838713),
        "wald-adjusted": (4.66168865969495, 2, 4, 0.0901345568801181),
    }
    for method, numbers in expected.items():
        test = found.test("H0", method)
        assert (test.statistic, *test.df, test.pvalue) == pytest.approx(numbers, rel=1e-8)
    assert found.test("H0", "first-chi2").pvalue == pytest.approx(0.252924492572056, rel=1e-8)


# -- Pearson's statistic -----------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_of_labels_it_is_pearsons_statistic_of_the_weighted_table(epsilon):
    rng = np.random.default_rng(1)
    krr, urr = ldp.KRR(3, epsilon), ldp.URR(4, (1, 2), epsilon)
    x, y, w = rng.integers(0, 3, 80), rng.integers(0, 4, 80), rng.uniform(1, 4, 80)
    table = np.zeros((3, 4))
    np.add.at(table, (x, y), w)
    expected = chi2_contingency(table * 80 / w.sum(), correction=False)
    found = crossed(sampled(w), (krr, x), (urr, y)).fit_table().dependence.null
    assert found.pearson == pytest.approx(expected.statistic, rel=1e-9)
    assert found.d == 6


@pytest.mark.parametrize("mechanism", [ldp.Observed(3), ldp.KRR(3, 1.0)])
def test_effects_of_a_simple_random_sample_are_one(mechanism):
    x, y = (np.repeat(np.arange(3), 20), np.tile(np.repeat([0, 1], [8, 12]), 3))  # independent
    model = crossed(sampled(np.ones(60)), (mechanism, x), (ldp.Warner(epsilon=0.5), y))
    found = model.fit_table().dependence
    for one in (found.null, found.observed):
        # variances are divided by n - 1
        assert one.trace == pytest.approx(2 * 60 / 59)
        assert one.trace2 == pytest.approx(2 * (60 / 59) ** 2)
        assert one.pearson == pytest.approx(0.0, abs=1e-12)


# -- the metric -------------------------------------------------------------------------------
def test_departures_of_bits_sum_to_zero_by_least_squares():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9))
    S = A @ A.T
    L = metric(S, True)
    np.testing.assert_allclose(L.T @ S @ L, np.eye(3), atol=1e-12)
    basis = np.eye(4)[:, :3] - np.eye(4)[:, 3:]
    W = np.linalg.inv(S)
    expected = W @ basis @ np.linalg.inv(basis.T @ W @ basis) @ basis.T @ W
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-12)
    np.testing.assert_allclose(metric(S, False) @ metric(S, False).T, W, atol=1e-10)


def test_categories_that_do_not_occur_are_no_directions():
    p = np.array([0.5, 0.0, 0.3, 0.2])
    L = metric(np.diag(p) - np.outer(p, p), True)
    assert L.shape == (4, 2)
    np.testing.assert_allclose(L[1], 0.0, atol=1e-12)
    with pytest.raises(ldp.NotAvailable, match="so far outside"):
        metric(np.diag([1.0, -0.5]), True)


# -- laws -------------------------------------------------------------------------------------
def test_each_law_is_the_one_named():
    found = RaoScott(12.0, 4, 6.0, 12.0, 10.0, 20.0)
    assert found.test("H0", "first").df == (4.0, 80.0)
    assert found.test("H0", "second").df == (3.0, 60.0)
    assert found.test("H0", "first-chi2").pvalue == pytest.approx(chi2.sf(8.0, 4))
    assert found.test("H0", "second-chi2").pvalue == pytest.approx(chi2.sf(6.0, 3))
    assert found.test("H0", "wald-adjusted").df == (4.0, 17.0)
    assert RaoScott.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    test = found.test("H0")
    assert ldp.TestResult.from_dict(json.loads(json.dumps(test.to_dict()))) == test


def test_chance_spreads_the_effects_and_the_default_takes_it_back():
    """Even effects of a Wishart law of 8 degrees of freedom, 300 draws: four dimensions."""
    Z = np.random.default_rng(5).normal(size=(300, 8, 4)) / np.sqrt(8.0)
    trace = np.sum(Z**2, axis=(1, 2))
    trace2 = np.sum((Z.transpose(0, 2, 1) @ Z) ** 2, axis=(1, 2))
    dimensions = [
        [RaoScott(1.0, 4, t, t2, 1.0, 8.0).test("H0", m).df[0] for m in ("unbiased", "second")]
        for t, t2 in zip(trace, trace2, strict=True)
    ]
    unbiased, second = np.median(dimensions, axis=0)
    assert second < 3.0 < 3.6 < unbiased <= 4.0
    found = RaoScott(12.0, 4, 6.0, 12.0, 10.0, 20.0)
    squares = (12.0 - 36.0 / 20.0) * 400.0 / (22.0 * 19.0)
    assert found.test("H0").df[0] == pytest.approx((36.0 - 2.0 * squares / 20.0) / squares)
    assert RaoScott(12.0, 4, 6.0, 36.0, 10.0, 1.0).test("H0").df == (4.0, 4.0)


@pytest.mark.parametrize(
    ("changes", "method", "words"),
    [
        ({"nu": 0.0}, "first", "no degrees of freedom"),
        ({"nu": 3.0}, "wald-adjusted", "4 degrees of freedom"),
        ({"wald": np.nan}, "wald", "singular"),
        ({"trace": 0.0}, "second", "no variance"),
    ],
)
def test_what_cannot_be_tested_says_why(changes, method, words):
    given = {"pearson": 12.0, "d": 4, "trace": 6.0, "trace2": 12.0, "wald": 10.0, "nu": 20.0}
    with pytest.raises(ldp.NotAvailable, match=words):
        RaoScott(**given | changes).test("H0", method)
    with pytest.raises(ldp.InvalidArgument, match="method"):
        RaoScott(**given).test("H0", "pearson")


# -- all samples and all randomisations --------------------------------------------------------
def test_the_covariance_of_totals_is_unbiased():
    # two of three persons are drawn; both answers of each are randomised
    first, second = ldp.Warner(epsilon=1.5), ldp.Warner(epsilon=0.8)
    truth = [(0, 1), (0, 0), (1, 1)]
    Q, R = first.channel().matrix(), second.channel().matrix()
    cells = list(product(range(2), repeat=2))
    values, covariances, weights = [], [], []
    for drawn in combinations(range(3), 2):
        for reports in product(cells, repeat=2):
            persons = zip(drawn, reports, strict=True)
            chance = np.prod([Q[truth[i][0], x] * R[truth[i][1], y] for i, (x, y) in persons])
            x, y = np.array(reports).T
            model = crossed(sampled([1.5, 1.5], population=3.0), (first, x), (second, y))
            totals = estimated_totals(model.sample, model.scores, model.noise)
            values.append(totals.estimate)
            covariances.append(totals.covariance)
            weights.append(chance / 3.0)
    p, T = np.array(weights), np.array(values)
    mean = p @ T
    np.testing.assert_allclose(mean[:4].reshape(2, 2), [[1, 1], [0, 1]], atol=1e-12)
    exact = (T.T * p) @ T - np.outer(mean, mean)
    np.testing.assert_allclose(np.einsum("i,ijk->jk", p, covariances), exact, atol=1e-10)


# Limits of weighted shares, their differences and ratios.
Z = np.array([stats.norm.ppf(0.975)])

PLAIN = Counted(np.zeros(1), np.ones(1))  # answers without noise


def wilson(count: int, n: int, t: Any) -> Any:
    p = np.array([count / n])
    return score_bounds(p, np.sqrt(p * (1.0 - p) / n), t, PLAIN, np.array([n]))


def counted(first: tuple[int, int], second: tuple[int, int]) -> Differences:
    p, q = (np.array([count / n]) for count, n in (first, second))
    V = np.array([p * (1 - p) / first[1], q * (1 - q) / second[1], 0 * p])
    return Differences(p, q, V, lambda t: (wilson(*first, t), wilson(*second, t)))


def test_newcombe_has_published_these_limits():
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10
    for first, second, low, high in (
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ):
        np.testing.assert_allclose(counted(first, second).bounds(Z), [[low, high]], atol=5e-5)


def test_symmetric_limits_make_those_of_the_t_law():
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
def test_a_limit_is_zero_at_the_p_value_and_a_ratio_at_no_difference(first, second):
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


def test_critical_values_of_small_levels():
    df, most = np.array([0.0, 7.0, 1e10]), np.array([6.366197723675814e19, 1596.284, 9.336045])
    np.testing.assert_allclose(critical(df, 1e-20), most, rtol=1e-6)
    np.testing.assert_allclose(critical(df, 0.05), stats.t.isf(0.025, [1.0, 7.0, 1e10]), rtol=1e-9)
    table = pd.DataFrame({"job": ["cook", "nurse"] * 20, "w": 1.0})
    survey = ldp.Survey(table, {"job": ldp.Observed(["cook", "nurse", "driver"])}, weights="w")
    for alpha in (1e-20, 1e-300):
        ends = survey.frequencies("job").conf_int(alpha)
        assert (ends["lower"] <= 0.5).all() and ends.loc["driver", "upper"] > 0.5


def test_ratios_to_what_may_be_nobody_are_without_limit():
    p, q = np.array([0.2, 0.2, -0.1]), np.array([0.1, -0.1, 0.3])
    V = np.array([[0.001] * 3, [0.01] * 3, [0.0] * 3])
    limits = [t_bounds(one, np.sqrt(v), Z) for one, v in zip((p, q), V[:2], strict=True)]
    found = ratio_bounds(p, q, V, *limits)
    assert found[0, 0] > 0.0 and found[0, 1] == np.inf
    assert found[1].tolist() == [-np.inf, np.inf]
    assert found[2, 0] < found[2, 1] < 0.0


@pytest.mark.parametrize("p, low, high", [(0.02, -0.04, 0.3), (-0.1, -0.2, -0.02), (0.2, 0.1, 0.5)])
def test_limits_of_a_ratio_take_the_side_that_their_sign_has(p, low, high):
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


def test_limits_of_ratios_hold_the_estimate_in_order():
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


def test_sets_are_counted_by_the_reports_of_their_members():
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
def test_differences_and_ratios_of_few_cover_where_those_of_wald_do_not(replications):
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
def test_shares_given_a_private_answer_cover(replications):
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


# Weighted likelihoods: their maximum, its linearised scores, and what they make of a design.


@pytest.mark.parametrize("name", MECHANISMS)
def test_at_the_law_of_p_reports_are_unbiased_and_their_noise_is_known(name):
    mechanism = MECHANISMS[name]
    reports, Q = all_reports(mechanism), channel(mechanism).matrix()
    p = distribution(len(Q))
    made = pseudo_likelihood(reports, p @ Q, 1000.0, candidates(mechanism))
    np.testing.assert_allclose(made.solution.p, p, atol=1e-7)
    assert made.solution.gap < 1e-9
    F = made.phi[made.place]
    np.testing.assert_allclose(Q @ F, np.eye(len(Q)), atol=1e-5)
    t = np.random.default_rng(1).normal(size=len(Q))
    expected = (F.T * (t @ Q)) @ F - np.diag(t)
    size = np.abs((F.T * (np.abs(t) @ Q)) @ F).max()
    np.testing.assert_allclose(made.noise(t), expected, rtol=0, atol=1e-6 * size)


def elements(w: np.ndarray) -> Sample:
    """Respondents drawn one by one from a large population."""
    n, zero = w.size, np.zeros(w.size, dtype=np.int64)
    stage = Stage(None, zero, np.array([n]), np.array([np.inf]), np.array([0]), [""])
    return Sample((stage,), np.ones(n), w, w**2)


def covariance(made: PseudoLikelihood, sample: Sample) -> np.ndarray:
    z = (made.phi - made.solution.p) / sample.w.sum()
    return design_covariance(sample, Scores(((made.place, z),)))


@pytest.mark.parametrize(("kind", "name"), [("expected", "orr"), ("observed", "krappor")])
def test_equal_weights_give_the_maximum_and_covariance_without_a_design(kind, name):
    mechanism, rng, n = MECHANISMS[name], np.random.default_rng(4), 4000
    labels = mechanism.labels(candidates(mechanism))
    reports = mechanism.privatize(rng.choice(labels, n, p=distribution(len(labels))), rng)
    made = pseudo_likelihood(reports, np.full(n, 2.5), n, candidates(mechanism))
    fit = ldp.FrequencyModel(reports, candidates=candidates(mechanism)).fit("mle")
    np.testing.assert_allclose(made.solution.p, fit.params, atol=1e-7)
    np.testing.assert_allclose(made.llf, fit.llf, rtol=1e-12)
    assert fit.cov_type == kind
    # where the score of p has minus its outer product for derivative, as here, the sandwich is the
    # inverse of the observed information; the expected one is apart from it by sampling error
    tolerance = 1e-5 if kind == "observed" else 0.1
    found = covariance(made, elements(np.full(n, 2.5)))
    expected = fit.cov_params().to_numpy() * n / (n - 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * expected.max())


def test_weights_are_respondents_who_answer_alike():
    rng = np.random.default_rng(5)
    reports = MECHANISMS["krappor"].privatize(rng.integers(0, 4, 300), rng)
    counts = rng.integers(0, 4, 300)
    made = pseudo_likelihood(reports, counts / 7.0, counts.sum())
    fit = ldp.FrequencyModel(reports[np.repeat(np.arange(300), counts)]).fit("mle")
    np.testing.assert_allclose(made.solution.p, fit.params, atol=1e-8)
    np.testing.assert_allclose(made.llf, fit.llf, rtol=1e-12)
    np.testing.assert_allclose(made.shares @ made.phi, made.solution.p, atol=1e-12)


@pytest.mark.parametrize("name", ["custom-wide", "rappor-closed"])
def test_the_weighted_maximum_is_that_of_cvxpy(name):
    import cvxpy

    mechanism, rng = MECHANISMS[name], np.random.default_rng(6)
    reports = mechanism.privatize(rng.choice(mechanism.categories[:3], 200), rng)
    w = rng.exponential(size=200)
    made = pseudo_likelihood(reports, w, 200.0)
    p = cvxpy.Variable(mechanism.k, nonneg=True)
    rows = made.rows.dense()
    n = 200.0 * made.shares
    problem = cvxpy.Problem(cvxpy.Maximize(n @ cvxpy.log(rows @ p)), [cvxpy.sum(p) == 1])
    best = problem.solve(solver="CLARABEL") + n @ made.rows.log_scale
    assert best <= made.llf + 200.0 * made.solution.gap + 1e-6  # the certificate holds
    np.testing.assert_allclose(made.llf, best, atol=1e-5)
    np.testing.assert_allclose(w @ made.phi[made.place] / w.sum(), made.solution.p, atol=1e-12)


def test_constraints_hold_and_leave_no_scores():
    rng = np.random.default_rng(8)
    reports = MECHANISMS["krr-labels"].privatize(rng.choice(["nurse", "cook"], 300), rng)
    w = rng.uniform(size=300)
    made = pseudo_likelihood(reports, w, 300.0, constraints=lambda p: [p[0] == 0.25])
    assert made.solution.p[0] == pytest.approx(0.25, abs=1e-9)
    assert made.solution.converged and not made.has_errors and np.isnan(made.phi).all()


def clustered(rng: np.random.Generator, n: int, fraction: float) -> Sample:
    """Twelve units of two strata, of which a fraction of the population is drawn."""
    w, unit = rng.uniform(1.0, 3.0, n), np.arange(n) % 12
    sizes = np.array([6.0, 6.0])
    population = sizes / fraction if fraction else np.full(2, np.inf)
    stage = Stage(unit, np.arange(12) % 2, sizes, population, np.zeros(2, int), ["a", "b"])
    return Sample((stage,), np.ones(n), w, w**2)


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_domains_are_fitted_on_their_own_and_vary_together(fraction):
    mechanism, rng, n = MECHANISMS["krappor"], np.random.default_rng(10), 900
    sample = clustered(rng, n, fraction)
    reports = mechanism.privatize(rng.choice(4, n, p=distribution(4)), rng)
    domain = np.append(rng.integers(0, 2, n - 5), np.full(5, -1))
    at = np.where(np.arange(n) < 7, -1, np.arange(n))
    (_, second), both = maxima(sample, reports, at, domain)
    inside = (domain == 1) & (at >= 0)
    (alone,), V = maxima(sample, reports, np.where(inside, at, -1), np.where(inside, 0, -1))
    np.testing.assert_allclose(second.solution.p, alone.solution.p, atol=1e-12)
    np.testing.assert_allclose(both[4:, 4:], V, atol=1e-12)
    assert np.abs(both[:4, 4:]).max() > 0.0  # they share units
    np.testing.assert_allclose(both.sum(axis=1), 0.0, atol=1e-12)
    phi, z = alone.phi[alone.place], np.zeros((n, 4))
    z[inside] = (phi - alone.solution.p) / sample.w[inside].sum()
    X = np.stack([(sample.w[:, None] * z)[np.arange(n) % 12 == j] for j in range(12)]).sum(axis=1)
    expected = sum(6 / 5 * (1 - fraction) * 5 * np.cov(X[h::2].T) for h in range(2))
    v = fraction * sample.w2[inside] / sample.w[inside].sum() ** 2
    expected += alone.noise(v @ phi)
    np.testing.assert_allclose(V, expected, rtol=1e-9, atol=1e-15)


@pytest.fixture(scope="module")
def population():
    """The answers of ten persons in each of 4 x 50 clusters, which are unlike one another."""
    rng = np.random.default_rng(11)
    shares = rng.dirichlet(np.array([3.2, 2.0, 1.6, 0.8, 0.4]), 200)
    return np.array([rng.choice(5, 10, p=p) for p in shares])


SAMPLED = np.array([10, 16, 24, 30])  # clusters of each stratum, of 50


def drawn(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Sample]:
    """A sample of whole clusters without replacement: the answers, and its design."""
    units = [50 * h + rng.choice(50, n, replace=False) for h, n in enumerate(SAMPLED)]
    cells = np.repeat(np.arange(SAMPLED.sum()), 10)
    strata = np.repeat(np.arange(4), SAMPLED)
    w = (50.0 / SAMPLED)[strata[cells]]
    stage = Stage(cells, strata, SAMPLED * 1.0, np.full(4, 50.0), np.zeros(4, int), list("abcd"))
    return x[np.concatenate(units)].ravel(), Sample((stage,), np.ones(cells.size), w, w**2)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [ldp.KRAPPOR(5, 3.0), ldp.URR(5, (0, 1), 1.0)], ids=str)
def test_the_sandwich_is_the_variance_over_samples_and_randomisations(
    mechanism, population, replications
):
    from scipy.special import stdtrit

    R, rng = replications(4000), np.random.default_rng(12)
    truth = np.bincount(population.ravel(), minlength=5) / population.size
    p, V, lacking = np.empty((R, 5)), np.empty((R, 5)), np.empty((R, 5))
    for r in range(R):
        x, sample = drawn(population, rng)
        at = np.arange(x.size)
        (found,), own = maxima(sample, mechanism.privatize(x, rng), at, np.zeros(x.size, int))
        p[r], V[r] = found.solution.p, np.diag(own)
        lacking[r] = np.diag(covariance(found, sample))
    luck = np.sqrt(2.0 / R)  # relative error of a variance from R draws
    assert np.all(np.abs(bias(p, truth)) < 5.0)
    assert np.all(np.abs(V.mean(axis=0) / p.var(axis=0) - 1.0) < 4.0 * luck)
    reach = stdtrit(SAMPLED.sum() - 4, 0.975) * np.sqrt(V)
    held = coverage(np.stack([p - reach, p + reach], axis=-1), truth)
    assert near(held.mean(), 0.945, R) and at_least(held, 0.92, R)  # rare answers are skewed
    # the randomisation that the correction takes away matters
    assert np.mean(lacking.mean(axis=0) / p.var(axis=0)) < 1.0 - 1.5 * luck


# What answers that are not listed do to weighted estimates of candidates.

MECHANISMS_HASHES = {
    "rappor": ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75),
    "orr": ldp.ORR(16, 16, epsilon=3.0),
}


def sampled_hashes(unit: np.ndarray, strata: np.ndarray, w: np.ndarray) -> Sample:
    """Units drawn from many in each stratum."""
    n = np.bincount(strata).astype(float)
    open_ended = np.full(n.size, np.inf)
    stage = Stage(unit, strata, n, open_ended, np.zeros(n.size, int), list(range(n.size)))
    return Sample((stage,), np.ones(w.size), w, w**2)


@pytest.mark.parametrize("name", MECHANISMS_HASHES)
def test_without_a_design_collisions_are_those_of_the_unweighted_estimate(name):
    mechanism, rng, n = MECHANISMS_HASHES[name], np.random.default_rng(1), 5_000
    words = np.array([f"word {i}" for i in range(12)])
    reports = mechanism.privatize(rng.choice(words, n), rng)
    sample = sampled_hashes(np.arange(n), np.zeros(n, int), np.full(n, 3.0))
    decoded = decode(reports, sample.w, words[:4])
    found = collisions(sample, decoded.place, decoded)
    unweighted = replace(mechanism.moments(reports.tally(), words[:4]), incomplete=True)
    # noise is that of the data here, and that of a plug-in there
    assert found == pytest.approx(unweighted.collisions, rel=0.1)
    added = collision_covariance(sample, decoded.place, decoded)
    spread = (
        unweighted.covariance().matrix()
        - mechanism.moments(reports.tally(), words[:4]).covariance().matrix()
    )
    np.testing.assert_allclose(added, spread * (found / unweighted.collisions), rtol=1e-8)


def test_closed_alphabets_have_no_other_answers():
    mechanism, rng = ldp.ORR(3, 4, epsilon=2.0, alphabet=5), np.random.default_rng(2)
    reports = mechanism.privatize(rng.integers(0, 5, 300), rng)
    sample = sampled_hashes(np.arange(300), np.zeros(300, int), np.ones(300))
    decoded = decode(reports, sample.w)
    assert not collision_covariance(sample, decoded.place, decoded).any()


@pytest.mark.slow
@pytest.mark.parametrize("listed", [4, 20])
def test_intervals_cover_over_hashes_whether_or_not_the_list_is_complete(listed, replications):
    from scipy.special import stdtrit

    mechanism, rng = ldp.ORR(16, 8, epsilon=3.0), np.random.default_rng(3)
    R, law = replications(1000, 250), 1.0 / np.arange(1.0, 21.0)
    people = np.array([rng.choice(20, 20, p=p) for p in rng.dirichlet(10 * law / law.sum(), 400)])
    truth = np.bincount(people.ravel(), minlength=20)[:listed] / people.size
    sizes = np.array([20, 25, 35, 40])
    strata, unit = np.repeat(np.arange(4), sizes), np.repeat(np.arange(120), 20)
    sample = sampled_hashes(unit, strata, (100.0 / sizes)[strata[unit]])
    reach = stdtrit(116.0, 0.975)
    ends = np.empty((2, R, listed, 2))
    for r in range(R):
        drawn = np.concatenate([100 * h + rng.choice(100, n) for h, n in enumerate(sizes)])
        words = np.array([f"{r} {i}" for i in range(20)])  # new hashes each time
        reports = mechanism.privatize(words[people[drawn].ravel()], rng)
        decoded = decode(reports, sample.w, words[:listed])
        z = (decoded.phi - decoded.p) / sample.w.sum()
        V = design_covariance(sample, Scores(((decoded.place, z),)))
        for i, more in enumerate((0.0, collision_covariance(sample, decoded.place, decoded))):
            se = np.sqrt(np.diag(V + more))
            ends[i, r] = (decoded.p + np.outer([-reach, reach], se)).T
    without, held = (coverage(some, truth) for some in ends)
    assert near(held.mean(), 0.95, R, 2.0) and at_least(held, 0.93, R, 4.0)
    if listed == 4:  # the design does not show that hashes collide
        assert without.mean() < 0.925
