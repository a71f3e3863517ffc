"""Scores at many parameter vectors are those at each."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.likelihood.regression import (
    Binary,
    Multinomial,
    Normal,
    Ordered,
    Parallel,
    Poisson,
    RegressionLikelihood,
    Scaled,
    Seen,
    Separate,
)

OUTCOMES = [
    Binary("logit"),
    Binary("probit"),
    Binary("cloglog"),
    Multinomial(3),
    Ordered(4),
    Normal(),
    Poisson(),
]


def made(outcome, configurations, offset, n=37, seed=5):
    """A likelihood of random data."""
    rng = np.random.default_rng(seed)
    kind = {Ordered: Parallel, Normal: Scaled}.get(type(outcome), Separate)
    own = rng.normal(size=n) if offset else None
    designs = tuple(kind(rng.normal(size=(n, 2)), outcome.q, own) for _ in range(configurations))
    k = getattr(outcome, "k", 0)
    if k:
        seen = Seen(rng.dirichlet(np.ones(k), 5), rng.integers(0, 5, n))
    else:
        seen = rng.poisson(2.0, n).astype(float)
    if configurations == 1:
        return RegressionLikelihood(outcome, designs, seen, rng.integers(1, 4, n).astype(float))
    return RegressionLikelihood(
        outcome,
        designs,
        seen,
        rng.integers(1, 4, n).astype(float),
        Seen(rng.dirichlet(np.ones(configurations), 6), rng.integers(0, 6, n)),
        Separate(np.column_stack([np.ones(n), rng.normal(size=n)]), configurations - 1),
        0.7,
    )


@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
@pytest.mark.parametrize(("configurations", "offset"), [(1, False), (1, True), (3, True)])
def test_each_vector_has_its_value_and_score(outcome, configurations, offset):
    likelihood = made(outcome, configurations, offset)
    thetas = np.random.default_rng(6).normal(size=(4, likelihood.size))
    values, scores = likelihood.scores_at(thetas)
    for theta, value, score in zip(thetas, values, scores, strict=True):
        there, exact, _ = likelihood.evaluate(theta)
        assert value == pytest.approx(there, rel=1e-11)
        np.testing.assert_allclose(score, exact, rtol=1e-9, atol=1e-9)
