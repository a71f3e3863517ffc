"""Replicated variances against linearisation and all possible draws; degrees of freedom."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from simulate import near, repeat

import ldpstats as ldp
from ldpstats.inference.designs.calibration import Recalibrated
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Replication,
    Sample,
    Scores,
    Stage,
    degrees_of_freedom,
    estimated_totals,
    missed_noise,
)
from ldpstats.inference.designs.replicates import (
    Bootstrap,
    GivenWeights,
    Jackknife,
    bootstrap,
    jackknife,
    scales_of,
)
from ldpstats.likelihood.joint import decode

SHARES = Ratios(np.eye(3)[:2], np.array([[0.0, 0.0, 1.0]] * 2))


def stage(unit: Any, strata: Any, sampled: Any, population: Any = np.inf, parent: Any = 0) -> Stage:
    """A stage whose arrays are written as lists."""
    n = np.asarray(sampled, dtype=float)
    return Stage(
        unit if unit is None else np.asarray(unit),
        np.asarray(strata),
        n,
        np.broadcast_to(np.asarray(population, dtype=float), n.shape).copy(),
        np.broadcast_to(parent, n.shape).astype(np.int64),
        [f"h{h}" for h in range(len(n))],
    )


def rows(stages: tuple[Stage, ...], w: Any, single_unit: str = "fail") -> Sample:
    """A cell a respondent."""
    w = np.asarray(w, dtype=float)
    return Sample(stages, np.ones(len(w)), w, w**2, single_unit)


def clustered(single_unit: str = "fail", population: Any = np.inf, **changes: Any) -> Sample:
    """Fourteen respondents in seven units of three strata."""
    unit = [0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6]
    strata = changes.get("strata", [0, 0, 1, 1, 1, 2, 2])
    sampled = changes.get("sampled", np.bincount(strata))
    first = stage(unit, strata, sampled, population)
    return rows((first,), np.linspace(1.0, 2.3, 14), single_unit)


def scores(n: int, seed: int = 1, width: int = 3) -> Scores:
    """Two columns of numbers and one of ones."""
    table = np.random.default_rng(seed).normal(1.0, 1.0, (n, width))
    table[:, -1] = 1.0
    return Scores(((np.arange(n), table),))


def law(sample: Sample, of: Scores, replication: Replication | None) -> Any:
    """Totals without noise."""
    return estimated_totals(replace(sample, replication=replication), of)


# -- given weights, and the jackknife that R makes of the design -----------------------------------
# -- the jackknife against linearisation -----------------------------------------------------------
def test_the_jackknife_of_respondents_in_cells():
    """Respondents alike, counted, or one by one; those of several weights cannot be told apart."""
    n, w = np.array([1, 3, 2, 4]), np.array([2.0, 1.5, 1.0, 3.0])
    strata, table = np.array([0, 0, 1, 1]), np.random.default_rng(3).normal(size=(4, 3))
    table[:, 2] = 1.0
    counted = Sample((stage(None, strata, [4, 8], [9, 20]),), n, n * w, n * w**2)
    each = np.repeat(np.arange(4), n)
    one_by_one = rows((stage(None, strata[each], [4, 8], [9, 20]),), w[each])
    found = law(counted, Scores(((np.arange(4), table),)), Jackknife()).of(SHARES)
    expected = law(one_by_one, Scores(((each, table),)), Jackknife()).of(SHARES)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-10)
    with pytest.raises(ldp.NotAvailable, match="several weights are summed"):
        law(replace(counted, w2=2.0 * counted.w2), scores(4), Jackknife())


def test_too_many_units_are_refused():
    n = 20_001
    sample = rows((stage(None, np.zeros(n, dtype=np.int64), [n]),), np.ones(n))
    with pytest.raises(ldp.NotAvailable, match=r"20001 units takes as many .*'bootstrap'"):
        law(sample, Scores(((np.zeros(n, dtype=np.int64), np.ones((1, 1))),)), Jackknife())
    rng = np.random.default_rng(1)
    with pytest.raises(ldp.NotAvailable, match="take 49997 replicates, or name the clusters"):
        bootstrap(sample, 100_000, rng)
    draws = Bootstrap(np.zeros((n, 60_000 // 20), dtype=np.uint8))
    wide = Scores(((np.zeros(n, dtype=np.int64), np.ones((1, 20_000))),))
    with pytest.raises(ldp.NotAvailable, match="20000 totals in 3000 replicates"):
        estimated_totals(replace(sample, replication=draws), wide)


# -- the bootstrap against all draws ---------------------------------------------------------------
def every_draw(sample: Sample) -> Bootstrap:
    """All equally likely draws of n - 1 of n units in each stratum, once each."""
    strata = sample.stages[0].strata
    by_stratum = [np.flatnonzero(strata == h) for h in range(len(sample.stages[0].sampled))]
    choices = [product(units, repeat=len(units) - 1) for units in by_stratum]
    drawn = [np.bincount(sum(picks, ()), minlength=len(strata)) for picks in product(*choices)]
    return Bootstrap(np.array(drawn).T.astype(np.uint8))


@pytest.mark.parametrize("population", [np.inf, [4, 9, 2]])
def test_all_draws_of_the_bootstrap_give_the_variance(population):
    """Its mean and variance over the draws are the estimate and what linearisation gives."""
    sample = clustered(population=population)
    draws = every_draw(sample)
    found = draws.totals(sample, scores(14))
    linear = law(sample, scores(14), None)
    np.testing.assert_allclose(found.mean(axis=0), linear.estimate, rtol=1e-12)
    np.testing.assert_allclose(
        np.cov(found.T, bias=True), linear.covariance, rtol=1e-10, atol=1e-12
    )


def test_certain_units_stay_in_all_draws():
    sample = clustered("certainty", strata=[0, 0, 1, 1, 1, 1, 2])
    made = bootstrap(sample, 50, np.random.default_rng(4))
    last = Scores(((np.where(np.arange(14) > 11, 0, -1), np.ones((1, 1))),))
    np.testing.assert_allclose(made.totals(sample, last), last.totals(sample.w)[0], rtol=1e-12)
    assert missed_noise(replace(sample, replication=made)).tolist() == [0.0] * 12 + [1.0, 1.0]


def test_drawn_replicates_have_the_law_of_all_draws():
    """Variances within four Monte Carlo standard errors, ``sqrt(2 / R)`` of them and some tails."""
    n = 4_000
    sample, rng = clustered(population=[4, 9, 8]), np.random.default_rng(11)
    made = bootstrap(sample, n, rng)
    assert made.draws.dtype == np.uint8
    np.testing.assert_array_equal(made.draws[:2].sum(axis=0), 1)
    np.testing.assert_array_equal(made.draws[2:5].sum(axis=0), 2)
    linear, drawn = (law(sample, scores(14), how) for how in (None, made))
    found = np.diagonal(drawn.of(Ratios(np.eye(3))).covariance)
    np.testing.assert_allclose(found, np.diagonal(linear.covariance), rtol=4 * np.sqrt(2 / n))
    again = bootstrap(sample, n, np.random.default_rng(11))
    np.testing.assert_array_equal(again.draws, made.draws)


def test_units_outside_of_a_domain_are_drawn_too():
    """Cells stand for several respondents, and some sampled units have no cell."""
    n = np.array([5, 2, 3])
    sample = Sample((stage(None, [0, 0, 1], [9, 6], [12, 50]),), n, 1.5 * n, 2.25 * n)
    made = bootstrap(sample, 20_000, np.random.default_rng(3))
    linear, drawn = (law(sample, scores(3), how) for how in (None, made))
    found = drawn.of(Ratios(np.eye(3))).covariance
    np.testing.assert_allclose(np.diagonal(found), np.diagonal(linear.covariance), rtol=0.05)
    assert degrees_of_freedom(replace(sample, replication=made), np.zeros(3, int)) == 8.0


# -- calibrated weights ----------------------------------------------------------------------------
def test_replicates_are_calibrated_anew():
    """Post-stratified: weights of each margin cell sum to its total, in every replicate."""
    sample, rng = clustered(), np.random.default_rng(8)
    at, table = np.arange(14) % 3, rng.normal(size=(14, 2))
    target, of = np.array([10.0, 7.0, 9.0]), Scores(((np.arange(14), table),))
    trim = rng.uniform(0.5, 1.0, 14)

    def anew(sums: Any) -> Any:
        return target[:, None] / sums

    kinds: list[Replication] = [
        GivenWeights(rng.gamma(2.0, size=(14, 6)), scales_of("bootstrap", 6)),
        Jackknife(),
        bootstrap(sample, 6, rng),
    ]
    for base in kinds:
        # replicate weights of the cells are the totals of their indicators
        weights = base.totals(sample, Scores(((np.arange(14), np.eye(14)),)))
        sums = np.stack([weights[:, at == m].sum(axis=1) for m in range(3)], axis=1)
        expected = (weights * (target / sums)[:, at]) @ table
        found = Recalibrated(base, sample, at, 3, anew)
        np.testing.assert_allclose(found.totals(sample, of), expected, rtol=1e-10, atol=1e-12)
        trimmed = (weights * (target / sums)[:, at] * trim) @ table
        later = found.times(trim).totals(sample, of)
        np.testing.assert_allclose(later, trimmed, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(found.scales(sample), base.scales(sample))
        assert found.about_estimate is base.about_estimate


# -- taylor ----------------------------------------------------------------------------------------
def test_strata_taken_whole_add_no_degrees_of_freedom():
    strata, each = np.array([0, 0, 0, 1, 1, 1, 1]), 5  # units of both strata, five respondents each
    unit = np.repeat(np.arange(7), each)
    whole = Stage(unit, strata, np.array([3.0, 4.0]), np.array([3.0, 9.0]), np.zeros(2, int), "ab")
    ones = np.ones(unit.size)
    sample = Sample((whole,), ones, ones, ones)
    everyone = np.zeros(unit.size, int)
    assert degrees_of_freedom(sample, everyone) == 3.0  # not 5
    assert degrees_of_freedom(sample.without_corrections(), everyone) == 5.0
    assert degrees_of_freedom(sample, -strata[unit]) == 14.0  # whose noise is all that varies
    assert (
        degrees_of_freedom(sample, np.where(unit < 4, 0, -1)) == 2.0
    )  # one unit of the other: as R's survey
    second = Stage(None, unit, np.full(7, 5.0), np.full(7, 8.0), np.arange(7), "0123456")
    sample = replace(sample, stages=(whole, second))
    assert degrees_of_freedom(sample, np.where(unit < 3, 0, -1)) == 12.0


# Replicated variances of randomised reports from large shares of a finite population.

K, STRATA, UNITS, PERSONS = 3, 4, 30, 12

DRAWN = np.array([12, 18, 21, 24])  # units of each stratum

INSIDE = 8  # persons of each unit, in two stages

KRR3 = ldp.KRR(K, epsilon=2.0)

BELOW = np.array([[0.0] * K + [1.0]] * K)

SHARES_COVERAGE = Ratios(np.eye(K + 1)[:K], BELOW)

STRATUM = np.repeat(np.arange(STRATA), UNITS)


def population(rng: np.random.Generator) -> tuple[Any, Any]:
    """Answers alike within units, and who is of a domain; shape (units, persons)."""
    tilt = np.exp(rng.normal(0.0, 0.8, (STRATA * UNITS, K)) + np.arange(K) * STRATUM[:, None] / 4)
    p = tilt / tilt.sum(axis=1, keepdims=True)
    u = rng.random((STRATA * UNITS, PERSONS, 1))
    answers = (u > np.cumsum(p, axis=1)[:, None, :-1]).sum(axis=2)
    return answers, rng.random(answers.shape) < 0.3 + 0.2 * answers


def drawn(answers: Any, domain: Any, stages: int, rng: np.random.Generator) -> tuple[Sample, Any]:
    """A sample of the population, and the scores of the domain's reports."""
    units = np.concatenate(
        [h * UNITS + np.sort(rng.choice(UNITS, n, replace=False)) for h, n in enumerate(DRAWN)]
    )
    size = PERSONS if stages == 1 else INSIDE
    persons = rng.permuted(np.tile(np.arange(PERSONS), (len(units), 1)), axis=1)[:, :size]
    x = answers[units[:, None], persons].reshape(-1)
    inside = domain[units[:, None], persons].reshape(-1)
    unit, strata = np.repeat(np.arange(len(units)), size), STRATUM[units]
    first = Stage(
        unit, strata, DRAWN.astype(float), np.full(4, float(UNITS)), np.zeros(4, int), range(4)
    )
    second = Stage(
        None,
        unit,
        np.full(len(units), float(size)),
        np.full(len(units), float(PERSONS)),
        np.arange(len(units)),
        range(len(units)),
    )
    w = (UNITS / DRAWN)[strata[unit]] * PERSONS / size
    sample = Sample((first, second)[:stages], np.ones(len(w)), w, w**2)
    found = decode(ldp.Reports(KRR3.privatize(x, rng).y, KRR3))
    table = np.column_stack([found.phi, np.ones(len(found.phi))])
    scores = Scores(((np.where(inside, found.place, -1), table),))
    return sample, (scores, found, inside)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stages"), [("jackknife", 1), ("bootstrap", 2)])
def test_coverage_and_variance(kind, stages, replications):
    """Of shares in a domain; without what corrections take of the noise variances are too small.

    Bands: four Monte Carlo standard errors; that of a ratio of variances is the root of 2 / R.
    """
    answers, domain = population(np.random.default_rng(5))
    truth = np.array([np.mean(answers[domain] == x) for x in range(K)])
    R = replications(3000, least=400)

    def one(r: int) -> dict[str, Any]:
        rng = np.random.default_rng([17, stages, r])
        sample, (scores, decoding, inside) = drawn(answers, domain, stages, rng)
        made = jackknife(sample) if kind == "jackknife" else bootstrap(sample, 120, rng)
        sample = replace(sample, replication=made)

        def noise(weights: Any) -> Any:
            total, added = scores.totals(weights), np.zeros((K + 1, K + 1))
            added[:K, :K] = decoding.noise(total[:K], float(total[K]))
            return added

        found = estimated_totals(sample, scores, noise).of(SHARES_COVERAGE)
        lacking = estimated_totals(sample, scores).of(SHARES_COVERAGE)
        v = np.diagonal(found.covariance)
        df = degrees_of_freedom(sample, np.where(inside, 0, -1))
        reach = student.isf(0.025, df) * np.sqrt(v)
        return {
            "p": found.value,
            "v": v,
            "lacking": np.diagonal(lacking.covariance),
            "held": np.abs(found.value - truth) <= reach,
        }

    of = repeat(R, one)
    variance = of["p"].var(axis=0)
    band = 4.0 * np.sqrt(2.0 / R)
    ratio = of["v"].mean(axis=0) / variance
    lacking = of["lacking"].mean(axis=0) / variance
    print(kind, stages, R, ratio.round(3), lacking.round(3), of["held"].mean(axis=0))
    assert np.all(np.abs(ratio - 1.0) < band)
    assert np.all(lacking < 1.0 - (0.25 if stages == 1 else 0.15))
    assert near(of["held"].mean(axis=0), 0.95, R)
