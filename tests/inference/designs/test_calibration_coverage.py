"""Calibrated estimates of randomised reports from a finite population, in a domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from simulate import near, repeat

import ldpstats as ldp
from ldpstats.inference.designs.calibration import (
    Distance,
    Logit,
    Margins,
    Raking,
    calibrate,
    calibrated_sample,
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
def test_coverage_and_variance(distance: Distance, replications: Callable[..., int]) -> None:
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
