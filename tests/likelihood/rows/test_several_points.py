"""Products with several vectors at once are those with each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

RNG = np.random.default_rng(1)
ANSWERS = RNG.integers(0, 5, 300)
WORDS = np.array(list("abcde"))
DATA: dict[str, Any] = {
    "k-RR": {"data": ldp.KRR(5, 1.0).privatize(ANSWERS, RNG)},
    "uRR": {"data": ldp.URR(5, {0, 1}, 1.0).privatize(ANSWERS, RNG)},
    "bits": {"data": ldp.KRAPPOR(5, 1.0).privatize(ANSWERS, RNG)},
    "uRAP": {"data": ldp.URAP(5, {0, 1}, 1.0).privatize(ANSWERS, RNG)},
    "subsets": {"data": ldp.SubsetSelection(5, 1.0).privatize(ANSWERS, RNG)},
    "blocks": {"data": ldp.HadamardResponse(5, 1.0).privatize(ANSWERS, RNG)},
    "hashed": {
        "data": ldp.ORR(8, 4, epsilon=2.0).privatize(WORDS[ANSWERS], RNG),
        "candidates": list(WORDS),
    },
    "two groups": {
        "data": [
            ldp.KRR(5, 1.0).privatize(ANSWERS, RNG),
            ldp.KRAPPOR(5, 2.0).privatize(ANSWERS, RNG),
        ]
    },
}


@pytest.mark.parametrize("given", DATA.values(), ids=DATA)
@pytest.mark.parametrize("prepared", [False, True])
def test_products_of_several_vectors(given: dict[str, Any], prepared: bool) -> None:
    W = ldp.FrequencyModel(**given).likelihood().W
    W = W.prepared() if prepared else W
    p, v = RNG.dirichlet(np.ones(5), 3), RNG.random((3, W.shape[0]))
    np.testing.assert_allclose(W.mix_each(p), [W.mix(one) for one in p], rtol=1e-12)
    np.testing.assert_allclose(W.adjoint_each(v), [W.adjoint(one) for one in v], rtol=1e-12)
    assert W.mix_each(p).shape == (3, W.shape[0]) and W.adjoint_each(v).shape == (3, 5)
