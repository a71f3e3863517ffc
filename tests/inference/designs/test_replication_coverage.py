"""Replicated variances of randomised reports from large shares of a finite population."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from simulate import near, repeat

import ldpstats as ldp
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Stage,
    degrees_of_freedom,
    estimated_totals,
)
from ldpstats.inference.designs.replicates import bootstrap, jackknife
from ldpstats.likelihood.joint import decode

K, STRATA, UNITS, PERSONS = 3, 4, 30, 12
DRAWN = np.array([12, 18, 21, 24])  # units of each stratum
INSIDE = 8  # persons of each unit, in two stages
KRR3 = ldp.KRR(K, epsilon=2.0)
BELOW = np.array([[0.0] * K + [1.0]] * K)
SHARES = Ratios(np.eye(K + 1)[:K], BELOW)
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
def test_coverage_and_variance(kind: str, stages: int, replications: Callable[..., int]) -> None:
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

        found = estimated_totals(sample, scores, noise).of(SHARES)
        lacking = estimated_totals(sample, scores).of(SHARES)
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
