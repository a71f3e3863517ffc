"""The composite likelihood of bits."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from shared.moment_problems import krr_moments, unary_moments

from ldpstats.errors import NotAvailable
from ldpstats.estimators import (
    Composite,
)

Array = npt.NDArray[Any]


def proposition_7(T: Array, n: int, p1: float, p0: float) -> tuple[Array, float]:
    """KBR16's Proposition 7 by a general convex solver."""
    q = cp.Variable(T.size, nonneg=True)
    m = p0 + (p1 - p0) * q
    objective = ((T / n) @ cp.log(m) + (1 - T / n) @ cp.log(1 - m)) / T.size
    cp.Problem(cp.Maximize(objective), [cp.sum(q) == 1]).solve(solver=cp.CLARABEL)
    return q.value, float(objective.value)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("k", [2, 5, 40])
def test_composite_maximises_proposition_7(k: int, epsilon: float) -> None:
    theta = np.exp(epsilon / 2) / (1 + np.exp(epsilon / 2))
    rng = np.random.default_rng(k)
    p, n = rng.dirichlet(np.full(k, 0.5)), 2000
    T = rng.binomial(n, 1 - theta + (2 * theta - 1) * p)
    found = Composite().solve(unary_moments(T, n, theta, 1 - theta)).p
    expected, best = proposition_7(T, n, theta, 1 - theta)
    m = 1 - theta + (2 * theta - 1) * found
    value = float((T / n) @ np.log(m) + (1 - T / n) @ np.log1p(-m)) / k
    assert abs(found.sum() - 1) < 1e-12 and found.min() >= 0
    assert value >= best - 1e-9  # at least the solver's own optimum
    np.testing.assert_allclose(found, expected, atol=2e-3)  # it stops at about 1e-8 in value


def test_composite_residual_is_in_the_message() -> None:
    solution = Composite().solve(unary_moments(np.array([50, 40, 20]), 100, 0.75, 0.25))
    assert float(solution.message.rsplit(" ", 1)[1]) < 1e-12


@pytest.mark.parametrize("T", [[0, 0, 0], [100, 100, 100], [100, 0, 0], [0, 60, 40]])
def test_composite_at_extreme_counts(T: list[int]) -> None:
    solution = Composite().solve(unary_moments(np.array(T), 100, 0.75, 0.25))
    assert abs(solution.p.sum() - 1) < 1e-12 and solution.p.min() >= 0
    assert float(solution.message.rsplit(" ", 1)[1]) < 1e-12


def test_composite_with_p0_zero() -> None:
    solution = Composite().solve(unary_moments(np.array([30, 20, 0]), 100, 0.5, 0.0))
    np.testing.assert_allclose(solution.p, [0.6, 0.4, 0.0], atol=1e-12)


def test_composite_refuses_other_reports(counts: Array) -> None:
    with pytest.raises(NotAvailable, match="unary"):
        Composite().solve(krr_moments(counts, 1.0))
