"""The non-negative Lasso on hashed designs, against independent solvers and its own certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.stats

from ldpstats.estimators import constrained as nonnegative
from ldpstats.estimators.constrained import nonnegative_lasso
from ldpstats.estimators.moments import penalty_level
from ldpstats.estimators.solvers import Ascent
from ldpstats.likelihood.hashed import HashDesign

Array = npt.NDArray[Any]


def hashed(C: int, S: int, h: int, m: int, rng: np.random.Generator) -> Array:
    """Cells of S candidates, a repeated hash replaced by the sentinel m."""
    cells = rng.integers(0, m, size=(C, S, h), dtype=np.uint16)
    for j in range(1, h):
        repeated = (cells[:, :, :j] == cells[:, :, j : j + 1]).any(axis=2)
        cells[repeated, j] = m
    return cells


@dataclass(frozen=True)
class Case:
    """A problem with a few present candidates and noise in every cell."""

    design: HashDesign
    weights: Array
    rhs: Array
    penalty: Array

    @property
    def D(self) -> Array:
        return np.repeat(self.weights, self.design.n_cells)

    def fit(self, **options: Any) -> Ascent:
        return nonnegative_lasso(self.design, self.weights, self.rhs, self.penalty, **options)

    def objective(self, p: Array) -> float:
        left = self.rhs - self.design.matrix() @ p
        return float(0.5 * self.D @ left**2 + self.penalty @ p)


def case(
    C: int = 6,
    S: int = 40,
    h: int = 2,
    m: int = 16,
    *,
    z: float = 0.0,
    centred: bool = True,
    noise: float = 0.01,
    seed: int = 0,
) -> Case:
    rng = np.random.default_rng(seed)
    background = 1.0 - (1.0 - 1.0 / m) ** h if centred else 0.0
    design = HashDesign(hashed(C, S, h, m, rng), m, slope=0.5, background=background)
    p = np.zeros(S)
    p[: S // 4] = rng.dirichlet(np.ones(S // 4))
    weights = rng.uniform(0.5, 2.0, size=C)
    rhs = design.times(p) + noise * rng.standard_normal(C * m)
    level = noise * np.sqrt(design.normal_diagonal(np.repeat(weights, m)))
    return Case(design, weights, rhs, z * level * rng.uniform(0.8, 1.2, size=S))


def dense_gap(case: Case, p: Array) -> float:
    """The certificate, from the dense matrix."""
    A = case.design.matrix()
    descent = A.T @ (case.D * (case.rhs - A @ p)) - case.penalty
    squares = case.D @ A**2
    move = np.maximum(descent / squares, -p)
    return float(np.max(np.abs(move) * np.sqrt(squares)) / np.sqrt(case.D @ case.rhs**2))


def by_nnls(case: Case) -> Array:
    """The minimiser by scipy: with G = A' D A = L L' the Lasso is least squares on L'."""
    A = case.design.matrix()
    L = np.linalg.cholesky(A.T @ (case.D[:, None] * A))
    linear = A.T @ (case.D * case.rhs) - case.penalty
    return np.asarray(scipy.optimize.nnls(L.T, np.linalg.solve(L, linear))[0])


@pytest.mark.parametrize(
    ("z", "h", "centred"), [(0.0, 1, True), (0.5, 2, False), (3.0, 3, True), (0.5, 3, False)]
)
def test_agrees_with_scipy(z: float, h: int, centred: bool) -> None:
    problem = case(h=h, z=z, centred=centred, seed=h)
    fit = problem.fit()
    expected = by_nnls(problem)
    assert 0 < np.count_nonzero(expected) < expected.size  # some bounds hold, some do not
    assert fit.converged
    np.testing.assert_allclose(fit.p, expected, atol=1e-7)
    assert np.array_equal(fit.p > 0.0, expected > 1e-7)  # an absent candidate is an exact zero


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_coordinate_descent_finds_what_is_solved_at_once(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(C=5, S=60, h=3, m=16, z=1.0)
    cells = problem.design.cells.astype(dtype)
    assert (cells == 16).any()  # some hash repeats another
    problem = replace(problem, design=replace(problem.design, cells=cells))
    start = np.random.default_rng(1).uniform(0.0, 0.1, size=60) * (np.arange(60) % 2)
    at_once = problem.fit()
    monkeypatch.setattr(nonnegative, "_AT_ONCE", 0)
    for options in ({}, {"start": start}):
        swept = problem.fit(**options)
        assert swept.converged and swept.n_iter > at_once.n_iter
        np.testing.assert_allclose(swept.p, at_once.p, atol=1e-7)


@pytest.mark.parametrize(("z", "centred"), [(0.0, False), (1.0, True)])
def test_more_candidates_than_equations(z: float, centred: bool) -> None:
    problem = case(C=3, S=200, m=16, z=z, centred=centred)
    assert problem.design.shape[0] < problem.design.shape[1]
    fit = problem.fit()
    assert fit.converged
    assert dense_gap(problem, fit.p) <= 2e-9
    if z == 0.0:  # p is not unique, the fit is
        root = np.sqrt(problem.D)
        A = problem.design.matrix()
        expected, left = scipy.optimize.nnls(root[:, None] * A, root * problem.rhs)
        assert problem.objective(fit.p) == pytest.approx(0.5 * left**2, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(A @ fit.p, A @ expected, atol=1e-6)


def test_candidates_that_the_design_cannot_tell_apart() -> None:
    """Coordinate descent crawls along such ridges; the certificate is reached all the same."""
    problem = case(S=30, m=16)
    cells = np.concatenate([problem.design.cells] * 2, axis=1)
    twice = Case(replace(problem.design, cells=cells), problem.weights, problem.rhs, np.zeros(60))
    fit = twice.fit()
    assert fit.converged
    np.testing.assert_allclose(fit.p[:30] + fit.p[30:], by_nnls(problem), atol=1e-7)
    # with a penalty on one of each pair, the other takes all
    charged = replace(twice, penalty=np.repeat([0.0, 0.01], 30))
    fit = charged.fit()
    assert fit.converged and not fit.p[30:].any()
    np.testing.assert_allclose(fit.p[:30], by_nnls(problem), atol=1e-7)


def test_correlated_candidates_need_conjugate_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly as many candidates as equations, and all of them present."""
    problem = case(C=4, S=56, m=16)
    p = np.random.default_rng(1).dirichlet(np.full(56, 5.0))
    problem = replace(problem, rhs=problem.design.times(p))
    monkeypatch.setattr(nonnegative, "_AT_ONCE", 0)
    full = problem.fit(max_iter=500)
    monkeypatch.setattr(nonnegative, "_DIRECTIONS", 0)
    alone = problem.fit(max_iter=500)
    assert full.converged and dense_gap(problem, full.p) <= 2e-9
    np.testing.assert_allclose(full.p, p, atol=1e-6)
    assert not alone.converged  # coordinate descent alone is not there yet


def test_empty_cohorts_do_not_count() -> None:
    problem = case(z=1.0)
    weights = problem.weights.copy()
    weights[[1, 4]] = 0.0
    kept = weights > 0.0
    smaller = replace(
        problem,
        design=replace(problem.design, cells=np.ascontiguousarray(problem.design.cells[kept])),
        weights=weights[kept],
        rhs=problem.rhs.reshape(6, -1)[kept].ravel(),
    )
    fit = replace(problem, weights=weights).fit()
    np.testing.assert_allclose(fit.p, smaller.fit().p, atol=1e-8)
    assert not np.allclose(fit.p, problem.fit().p, atol=1e-4)


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_gap_is_the_certificate_it_says(z: float) -> None:
    problem = case(z=z)
    fit = problem.fit()
    assert fit.gap <= 1e-9
    assert dense_gap(problem, fit.p) == pytest.approx(fit.gap, abs=1e-14)
    # away from the minimum, and after too few sweeps, it says so
    p = fit.p + 0.01
    stopped = problem.fit(start=p, max_iter=0)
    assert not stopped.converged and stopped.gap > 1e-3
    assert stopped.gap == pytest.approx(dense_gap(problem, p), rel=1e-9)
    assert np.array_equal(stopped.p, p)
    loose = problem.fit(tol=1e-3)
    assert loose.converged and fit.gap <= loose.gap <= 1e-3


def test_penalty_levels() -> None:
    assert penalty_level("universal", 500) == pytest.approx(np.sqrt(2.0 * np.log(500)))
    assert penalty_level("universal", 1) == 0.0
    assert penalty_level("quantile", 500, 5.0) == pytest.approx(scipy.stats.norm.isf(0.01))
    assert penalty_level("quantile", 500, 250.0) == 0.0
    assert penalty_level("quantile", 1) == 0.0


def test_false_selections_are_as_many_as_expected() -> None:
    """Of absent candidates, in pure noise, about `false_selections` are selected."""
    rng = np.random.default_rng(0)
    C, S, h, m, runs = 32, 1000, 2, 64, 12
    design = HashDesign(hashed(C, S, h, m, rng), m, 0.5, 1.0 - (1.0 - 1.0 / m) ** h)
    weights = rng.uniform(0.5, 2.0, size=C)
    D = np.repeat(weights, m)
    sd = np.sqrt(design.normal_diagonal(D))  # of A' D noise, where the noise has covariance 1 / D
    noises = rng.standard_normal((runs, C * m)) / np.sqrt(D)

    def selected(false_selections: float) -> float:
        penalty = penalty_level("quantile", S, false_selections) * sd
        fits = [nonnegative_lasso(design, weights, noise, penalty) for noise in noises]
        return float(np.mean([np.count_nonzero(fit.p) for fit in fits]))

    # Nearly binomial. The design is not quite orthogonal, which takes some of the candidates away
    # that share cells with a selected one: a tenth at most.
    for expected in (2.0, 10.0):
        error = np.sqrt(expected / runs)
        assert 0.9 * expected - 4.0 * error < selected(expected) < expected + 4.0 * error
    assert selected(20.0) > 10.0 + 4.0 * np.sqrt(10.0 / runs)  # negative control
