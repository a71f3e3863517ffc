"""Rao-Scott tests: against R's survey, Pearson's statistic, and all samples and randomisations."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

import ldpstats as ldp
from ldpstats.inference.designs.linearisation import (
    LinearTotals,
    Sample,
    Stage,
    estimated_totals,
)
from ldpstats.inference.designs.tests import RaoScott, fit_to, metric
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
