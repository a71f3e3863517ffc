"""Compiled products with packed bits against plain numpy, and solvers of several mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.likelihood.rows import PackedRows, UnaryRows


def bits(u: int, k: int, density: float, seed: int, spare: int = 0) -> np.ndarray:
    """Packed random bits, u reports of k, with `spare` bytes of zero behind them."""
    drawn = np.random.default_rng(seed).random((u, k)) < density
    packed = np.packbits(drawn, axis=1, bitorder="little")
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, spare))))


@pytest.mark.parametrize("spare", [0, 2])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize(("u", "k"), [(1, 1), (5, 9), (31, 64), (33, 70), (200, 129)])
def test_packed_rows_are_unary_rows(u: int, k: int, density: float, spare: int) -> None:
    packed = bits(u, k, density, 1, spare)
    fast, plain = PackedRows(packed, 0.7, 0.2, k), UnaryRows(packed, 0.7, 0.2, k)
    rng = np.random.default_rng(2)
    p, v = rng.random(k), rng.random(u)
    p[rng.random(k) < 0.3] = 0.0  # whose bytes are skipped
    np.testing.assert_allclose(fast.mix(p), plain.mix(p), rtol=1e-12)
    np.testing.assert_allclose(fast.adjoint(v), plain.adjoint(v), rtol=1e-12)
    for found, wanted in zip(fast.adjoints(v), plain.adjoints(v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(fast.gram(v), plain.gram(v), rtol=1e-12)
    np.testing.assert_allclose(fast.log_scale, plain.log_scale, rtol=1e-12)


# -- the model of the Hessian of several sources -------------------------------------------------


@pytest.mark.parametrize("other", ["krappor", "urr", "urap"])
def test_large_sources_of_several_mechanisms_converge(other: str) -> None:
    """More categories than a Hessian is formed for."""
    k, n = 2600, 3000
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(k, 0.02))
    sensitive = range(0, k, 8)
    made = {
        "krappor": ldp.KRAPPOR(k, 2.0),
        "urr": ldp.URR(k, sensitive, 3.0),
        "urap": ldp.URAP(k, sensitive, 2.0, theta=0.5),
    }[other]
    groups = [
        mechanism.privatize(rng.choice(k, p=p, size=n), rng)
        for mechanism in (ldp.URAP(k, sensitive, 2.0), made)
    ]
    likelihood = ldp.FrequencyModel(groups).likelihood()
    solution = MLE(tol=1e-6).solve(likelihood)
    assert solution.converged and likelihood.gap(solution.p) <= 1e-6
    assert solution.n_iter <= 40
