"""Calibrated weights and variances against R's survey, and against derivatives taken by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import t as student
from simulate import near, repeat

import ldpstats as ldp
from ldpstats.inference.designs.calibration import (
    Linear,
    Logit,
    Margins,
    Raking,
    Step,
    calibrate,
    calibrate_replicates,
    calibrated_sample,
    trimmed,
)
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Stage,
    degrees_of_freedom,
    estimated_totals,
)
from ldpstats.likelihood.joint import decode

Array = npt.NDArray[Any]

FOLDER = Path(__file__).parents[2] / "reference" / "survey"


@pytest.fixture(scope="module")
def people():
    return pd.read_csv(FOLDER / "people.csv")


@pytest.fixture(scope="module")
def by_r():
    found: dict[str, Any] = json.loads((FOLDER / "calibration.json").read_text())
    return found


def random_margins(
    rng: np.random.Generator, cells: int = 40, scale: float = 1.0
) -> tuple[Array, Margins]:
    """Weights of margin cells, and totals of three margins that some population has."""
    sizes = (3, 4, 2)
    codes = np.unique(np.column_stack([rng.integers(0, k, cells) for k in sizes]), axis=0)
    weights = rng.uniform(0.5, 2.0, len(codes))
    population = weights * rng.uniform(0.6, 1.6, len(codes)) * scale
    totals = tuple(np.bincount(codes[:, j], population) for j in range(3))
    labels = tuple([str(i) for i in range(k)] for k in sizes)
    return weights, Margins(codes, totals, ("a", "b", "c"), labels)


def test_sums_of_weights_need_not_be_near_the_population():
    d, margins = random_margins(np.random.default_rng(3))
    for scale in (1e-8, 1e8):
        totals = tuple(total * scale for total in margins.totals)
        for distance in (Raking(), Linear()):
            plain = calibrate(d, margins, distance).factors
            scaled = calibrate(d, replace(margins, totals=totals), distance)
            np.testing.assert_allclose(scaled.factors, plain * scale, rtol=1e-9)


def test_residuals_are_derivatives():
    """A total after two linear calibrations, by the weight of each cell, in differences."""
    rng = np.random.default_rng(4)
    d, margins = random_margins(rng)
    first = Margins(margins.codes[:, :2], margins.totals[:2], ("a", "b"), margins.labels[:2])
    second = Margins(margins.codes[:, 1:], margins.totals[1:], ("b", "c"), margins.labels[1:])
    at = rng.integers(0, len(d), 120)
    at[: len(d)] = np.arange(len(d))
    w = rng.uniform(0.5, 2.0, 120)
    table = rng.normal(size=(120, 2))
    scores = Scores(((np.arange(120), table),))
    one = np.zeros(1)
    stage = Stage(None, np.zeros(120, np.int64), one + 120, one + np.inf, one.astype(int), ["all"])

    def made(w: Array) -> Sample:
        steps: list[Step] = []
        sums = np.bincount(at, w)
        for own in (first, second):
            steps.append(calibrate(sums, own, Linear()))
            sums = sums * steps[-1].factors
        return calibrated_sample(Sample((stage,), np.ones(120), w, w**2), at, steps)

    sample = made(w)
    found = dense_rows(sample.residuals(scores), 120) * (sample.w / w)[:, None]
    for i in (0, 17, 119):
        step = np.where(np.arange(120) == i, 1e-6, 0.0)
        change = scores.totals(made(w + step).w) - scores.totals(made(w - step).w)
        np.testing.assert_allclose(found[i], change / 2e-6, rtol=1e-5, atol=1e-7)


def dense_rows(scores: Scores, n: int) -> Array:
    """The score of each cell."""
    return np.asarray(scores.totals(np.ones(n), np.arange(n), n))


def test_replicates_reach_the_totals_and_name_those_that_cannot():
    rng = np.random.default_rng(5)
    d, margins = random_margins(rng)
    weights = d[:, None] * rng.uniform(0.5, 1.5, (len(d), 6))
    solved = calibrate(d, margins, Raking())
    found = calibrate_replicates(weights, solved)
    reached = margins.indicators.T @ (weights * found)
    np.testing.assert_allclose(reached, np.tile(margins.targets[:, None], 6), rtol=1e-12)
    weights[margins.codes[:, 2] == 1, 3] = 0.0
    with pytest.raises(ldp.NotAvailable, match=r"replicate 4 of 6 .*'c 1'.*no respondent"):
        calibrate_replicates(weights, solved)


def two_by_two(first: tuple[float, float], second: tuple[float, float]) -> Margins:
    codes = np.array([[0, 0], [0, 1], [1, 0]])
    totals = (np.array(first), np.array(second))
    return Margins(codes, totals, ("sex", "age"), (("f", "m"), ("old", "young")))


def test_totals_that_only_weights_of_zero_have():
    with pytest.raises(ldp.NotConverged, match=r"after .* iterations with a relative deviation"):
        calibrate(np.ones(3), two_by_two((50.0, 50.0), (50.0, 50.0)), Raking())
    zero = calibrate(np.ones(3), two_by_two((50.0, 50.0), (50.0, 50.0)), Linear(0.0))
    np.testing.assert_allclose(zero.factors, [0.0, 50.0, 50.0], atol=1e-12)


def test_trimming_equals_r(people, by_r):
    w = people.weight.to_numpy()
    for strict, name in ((False, "trimmed"), (True, "trimmed_strictly")):
        found, expected = trimmed(w, np.ones(len(w)), 4.0, 25.0, strict), by_r[name]["weights"]
        np.testing.assert_allclose(found[:12], expected["first"], rtol=1e-12)
        np.testing.assert_allclose([found.min(), found.max()], [expected["min"], expected["max"]])
        np.testing.assert_allclose(found.sum(), w.sum())
    for weights, lower, words in (
        ([1.0, 9.0], 3.0, "to take what is cut"),
        ([0.1] * 20 + [0.3, 4.0], 0.2, "fall to zero"),
    ):
        with pytest.raises(ldp.InvalidArgument, match=words):
            trimmed(np.array(weights), np.ones(len(weights)), lower, 6.0, False)


# Calibrated estimates of randomised reports from a finite population, in a domain.

K, DRAWN, EXISTING = 3, np.array([120.0, 150.0, 210.0]), np.array([600.0, 500.0, 300.0])

KRR3 = ldp.KRR(K, epsilon=3.0)

SHARES = Ratios(np.eye(K + 1)[:K], np.array([[0.0] * K + [1.0]] * K))

STRATUM = np.repeat(np.arange(3), EXISTING.astype(int))


def population(rng: np.random.Generator) -> tuple[Any, Any, Any, Margins]:
    """Answers that go with two public columns, a domain, margin cells and their totals."""
    n = len(STRATUM)
    codes = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 2, n)])
    tilt = np.exp(2.5 * (codes[:, :1] == np.arange(K)) + 0.8 * codes[:, 1:] * np.arange(K))
    below = np.cumsum(tilt / tilt.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    answers = (rng.random((n, 1)) > below).sum(axis=1)
    totals = tuple(np.bincount(codes[:, j]).astype(float) for j in range(2))
    cells = np.array([[i, j] for i in range(3) for j in range(2)])
    margins = Margins(cells, totals, ("a", "b"), (("0", "1", "2"), ("0", "1")))
    domain = rng.random(n) < 0.5 + 0.2 * answers
    return answers, domain, codes[:, 0] * 2 + codes[:, 1], margins


@pytest.mark.slow
@pytest.mark.parametrize("distance", [Raking(), Logit(0.5, 2.0)], ids=["raking", "logit"])
def test_coverage_and_variance(distance, replications):
    """Of the shares of all, and of a domain; as if weights were given, variances are too large.

    Bands: four Monte Carlo standard errors; that of a ratio of variances is the root of 2 / R.
    """
    answers, domain, cell, margins = population(np.random.default_rng(6))
    truth = np.concatenate([np.bincount(x) / len(x) for x in (answers, answers[domain])])
    R = replications(3000, least=400)
    strata = np.repeat(np.arange(3), DRAWN.astype(int))
    stage = Stage(None, strata, DRAWN, EXISTING, np.zeros(3, np.int64), range(3))
    w = (EXISTING / DRAWN)[strata]
    base = Sample((stage,), np.ones(len(w)), w, w**2)

    def one(r: int) -> dict[str, Any]:
        rng = np.random.default_rng([23, r])
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(STRATUM == h), int(DRAWN[h]), False) for h in range(3)]
        )
        at = cell[rows]
        step = calibrate(np.bincount(at, w, len(margins.codes)), margins, distance)
        sample = calibrated_sample(base, at, [step])
        found = decode(ldp.Reports(KRR3.privatize(answers[rows], rng).y, KRR3))
        table = np.column_stack([found.phi, np.ones(len(found.phi))])
        said: dict[str, list[Any]] = {"p": [], "v": [], "given": [], "held": []}
        for inside in (np.full(len(rows), True), domain[rows]):
            scores = Scores(((np.where(inside, found.place, -1), table),))

            def noise(weights: Any, scores: Scores = scores) -> Any:
                total = scores.totals(weights)
                made = np.zeros((K + 1, K + 1))
                made[:K, :K] = found.noise(total[:K], float(total[K]))
                return made

            law = estimated_totals(sample, scores, noise).of(SHARES)
            plain = estimated_totals(replace(sample, residuals=None), scores, noise).of(SHARES)
            v = np.diagonal(law.covariance)
            said["p"].extend(law.value)
            said["v"].extend(v)
            said["given"].extend(np.diagonal(plain.covariance))
            df = degrees_of_freedom(sample, np.where(inside, 0, -1))
            reach = student.isf(0.025, df) * np.sqrt(v)
            said["held"].extend(np.abs(law.value - truth[len(said["held"]) :][:K]) <= reach)
        return said

    of = repeat(R, one)
    ratio, given = (of[name].mean(axis=0) / of["p"].var(axis=0) for name in ("v", "given"))
    print(distance, R, ratio.round(3), given.round(3), of["held"].mean(axis=0))
    assert np.all(np.abs(ratio - 1.0) < 4.0 * np.sqrt(2.0 / R))
    assert np.all(given[:K] > 1.25)
    assert near(of["held"].mean(axis=0), 0.95, R)
