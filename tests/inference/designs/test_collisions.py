"""What answers that are not listed do to weighted estimates of candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.inference.designs.linearisation import (
    Sample,
    Scores,
    Stage,
    collision_covariance,
    collisions,
    design_covariance,
)
from ldpstats.likelihood.joint import decode
from tests.simulate import at_least, coverage, near

MECHANISMS = {
    "rappor": ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75),
    "orr": ldp.ORR(16, 16, epsilon=3.0),
}


def sampled(unit: np.ndarray, strata: np.ndarray, w: np.ndarray) -> Sample:
    """Units drawn from many in each stratum."""
    n = np.bincount(strata).astype(float)
    open_ended = np.full(n.size, np.inf)
    stage = Stage(unit, strata, n, open_ended, np.zeros(n.size, int), list(range(n.size)))
    return Sample((stage,), np.ones(w.size), w, w**2)


@pytest.mark.parametrize("name", MECHANISMS)
def test_without_a_design_collisions_are_those_of_the_unweighted_estimate(name):
    mechanism, rng, n = MECHANISMS[name], np.random.default_rng(1), 5_000
    words = np.array([f"word {i}" for i in range(12)])
    reports = mechanism.privatize(rng.choice(words, n), rng)
    sample = sampled(np.arange(n), np.zeros(n, int), np.full(n, 3.0))
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
    sample = sampled(np.arange(300), np.zeros(300, int), np.ones(300))
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
    sample = sampled(unit, strata, (100.0 / sizes)[strata[unit]])
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
