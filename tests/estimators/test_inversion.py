"""Inversion, and its estimates on the simplex, against independent computations."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from shared.moment_problems import dense_moments, krr_moments, unary_moments

from ldpstats.errors import NotIdentified
from ldpstats.estimators import (
    Inversion,
    Normalized,
    Projected,
)
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations
from ldpstats.problems.simplex import project_simplex

Array = npt.NDArray[Any]


# ---- inversion


def test_inversion_of_a_scalar_design_is_kbr16_equation_6(counts: Array) -> None:
    e = np.exp(1.3)
    expected = (e + 5) / (e - 1) * counts / 400 - 1 / (e - 1)
    solution = Inversion().solve(krr_moments(counts, 1.3))
    np.testing.assert_allclose(solution.p, expected, rtol=0, atol=1e-14)
    assert np.isnan(solution.gap) and solution.converged and solution.n_iter == 0


def test_inversion_of_a_dense_design_agrees_with_statsmodels_style_wls() -> None:
    rng = np.random.default_rng(1)
    Q = rng.dirichlet(np.ones(9), size=4)
    c = rng.multinomial(1000, Q.mean(axis=0))
    w = rng.random(9) + 0.5
    problem = dense_moments(Q, c, w)
    expected = np.linalg.solve(Q @ (w[:, None] * Q.T), Q @ (w * problem.t))
    np.testing.assert_allclose(Inversion().solve(problem).p, expected, rtol=1e-10)
    G = problem.inverse
    np.testing.assert_allclose(G @ Q.T, np.eye(4), atol=1e-12)  # unbiased


def test_an_array_of_offsets_is_subtracted() -> None:
    problem = Equations(
        0.5, np.array([0.1, 0.4]), np.array([0.35, 0.65]), lambda p: multinomial(p, 9),
        np.ones(2), 9,
    )  # fmt: skip
    np.testing.assert_allclose(Inversion().solve(problem).p, [0.5, 0.5])


@pytest.mark.parametrize("Q", [np.array([[0.6, 0.4], [0.6, 0.4]]), np.full((3, 2), 0.5)])
def test_inversion_refuses_a_design_that_does_not_identify_p(Q: Array) -> None:
    with pytest.raises(NotIdentified, match=r"rank 1.*more independent"):
        Inversion().solve(dense_moments(Q, np.array([6, 4])))


def test_inversion_refuses_a_channel_without_signal() -> None:
    flat = Equations(
        0.0, 0.5, np.array([0.4, 0.6]), lambda p: multinomial(p, 9),
        np.ones(2), 9,
    )  # fmt: skip
    with pytest.raises(NotIdentified, match="epsilon > 0"):
        Inversion().solve(flat)


# ---- onto the simplex


@pytest.mark.parametrize("seed", range(5))
def test_projection_solves_its_quadratic_programme(seed: int) -> None:
    v = np.random.default_rng(seed).normal(0.2, 0.5, size=7)
    q = cp.Variable(7, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(q - v)), [cp.sum(q) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    found = project_simplex(v)
    np.testing.assert_allclose(found, q.value, atol=1e-6)
    assert abs(found.sum() - 1) < 1e-15 and found.min() >= 0


def test_projection_leaves_a_point_of_the_simplex_alone() -> None:
    np.testing.assert_allclose(project_simplex(np.array([0.5, 0.0, 0.5])), [0.5, 0, 0.5], atol=0)


def test_normalized_truncates_then_divides(counts: Array) -> None:
    problem = krr_moments(counts, 0.8)
    kept = np.maximum(Inversion().solve(problem).p, 0)
    np.testing.assert_allclose(Normalized().solve(problem).p, kept / kept.sum(), rtol=1e-14)


def test_normalized_refuses_to_divide_nothing() -> None:
    nothing = unary_moments(np.array([20, 22, 18]), 100, 0.75, 0.25)
    with pytest.raises(NotIdentified, match="projected"):
        Normalized().solve(nothing)
    assert abs(Projected().solve(nothing).p.sum() - 1) < 1e-15
