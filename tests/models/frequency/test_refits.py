"""Intervals that fit again and again: what the refits find, and the surveys they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.estimators.mle import model_of_refits, refitted
from ldpstats.estimators.solvers.ascent import observed

WORDS = ("a", "b", "c", "d", "e", "f")
TRUTH = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
BLOOM = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
MECHANISMS: dict[str, tuple[Any, Any]] = {
    "bits": (ldp.KRAPPOR(WORDS, 2.0), None),
    "hashed bits": (BLOOM, WORDS),
    "hashed labels": (ldp.ORR(4, n_cohorts=8, epsilon=2.0), WORDS),
}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_shared_hessian_leaves_the_maximum_where_it_is(kind: str) -> None:
    mechanism, candidates = MECHANISMS[kind]
    rng = np.random.default_rng(1)
    first, second = (
        ldp.FrequencyModel(
            mechanism.privatize(rng.choice(WORDS, 3000, p=TRUTH), rng), candidates=candidates
        )
        for _ in range(2)
    )
    results = first.fit("mle")
    model = model_of_refits(*observed(first.likelihood()), results.params.to_numpy())
    W, n = observed(second.likelihood())
    found, wanted = (
        refitted(W, n, results.params.to_numpy(), model),
        MLE().solve(second.likelihood()),
    )
    assert model is not None and found.message.startswith("Newton with the Hessian of other")
    assert found.converged and 3000 * found.gap <= 1e-3
    # the next step is below 1e-3 standard errors, in the metric of the Hessian
    apart = found.p - wanted.p
    assert np.sqrt(3000 * apart @ model.times(apart)) < 1e-3


def test_a_model_of_refits_is_for_small_structured_problems() -> None:
    few = ldp.CustomMechanism([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]).counts([30, 20, 50])
    W, n = observed(ldp.FrequencyModel(few).likelihood())
    assert model_of_refits(W, n, np.array([0.5, 0.5])) is None
    wide = ldp.KRAPPOR(65, 2.0).privatize(np.arange(65), np.random.default_rng(2))
    W, n = observed(ldp.FrequencyModel(wide).likelihood())
    assert model_of_refits(W, n, np.full(65, 1 / 65)) is None
