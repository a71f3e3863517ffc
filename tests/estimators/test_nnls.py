"""Non-negative least squares against independent solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.stats
from shared.moment_problems import dense_moments, krr_moments

from ldpstats.estimators import (
    NNLS,
    Inversion,
)

Array = npt.NDArray[Any]


def test_nnls_of_a_scalar_design_clips(counts: Array) -> None:
    problem = krr_moments(counts, 0.5)
    np.testing.assert_allclose(
        NNLS().solve(problem).p, np.maximum(Inversion().solve(problem).p, 0), atol=1e-15
    )


def test_nnls_of_a_dense_design_is_scipys() -> None:
    rng = np.random.default_rng(5)
    Q = rng.dirichlet(np.ones(8), size=5)
    c = rng.multinomial(60, Q[0])
    w = rng.random(8) + 0.5
    solution = NNLS().solve(dense_moments(Q, c, w))
    expected, _ = scipy.optimize.nnls(np.sqrt(w)[:, None] * Q.T, np.sqrt(w) * c / 60)
    np.testing.assert_allclose(solution.p, expected, atol=1e-12)
    assert (expected == 0).any()
