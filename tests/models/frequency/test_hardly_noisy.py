"""Reports that are hardly noisy: epsilon 50 over open alphabets."""

from __future__ import annotations

import numpy as np
import pytest
from surveys import quiet

import ldpstats as ldp

ABC = ("a", "b", "c")


@pytest.mark.parametrize("method", ["inversion", "mle", "thresholded"])
@pytest.mark.parametrize("n_cohorts", [1, 16])
def test_epsilon_50_over_an_open_alphabet(method: str, n_cohorts: int) -> None:
    # the share of other answers has no variance, which 0.1.0 computed as -1e-20
    orr, rng = ldp.ORR(5, n_cohorts, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(rng.choice(["a", "c"], 1000), rng)
    model = ldp.FrequencyModel(reports, candidates=["a", "c"])
    results = quiet(lambda: model.fit(method))
    assert results.unexplained.estimate == pytest.approx(0.0, abs=1e-9)
    # with few cells others could be held unseen, and the error allows for that
    assert 0.0 <= results.unexplained.bse < (1e-6 if n_cohorts == 1 else 0.02)
    assert np.isfinite(results.linear_bse).all()


def test_a_label_that_nobody_makes_pins_the_candidates_that_own_it() -> None:
    orr, rng = ldp.ORR(32, 4, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(["a", "b"] * 300, rng)
    results = ldp.FrequencyModel(reports, candidates=["a", "b", "c"]).fit("mle")
    assert results.bse["c"] == 0.0 and results.bse["a"] == pytest.approx(
        0.5 / np.sqrt(600), rel=0.1
    )


def test_thresholds_of_estimates_that_cannot_vary() -> None:
    # all is known from reports without noise, and rounding is all that varies
    first = ldp.URAP(ABC, set(), 0.5).privatize(["a", "a"], np.random.default_rng(0))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Q = np.ones((3, 3)) + 1e-9 * rng.random((3, 3))
        blind = ldp.CustomMechanism(Q / Q.sum(axis=1, keepdims=True), ABC)
        model = ldp.FrequencyModel([first, blind.privatize(["a"], rng)])
        assert quiet(lambda m=model: m.fit("thresholded")).params["a"] == pytest.approx(1.0)
