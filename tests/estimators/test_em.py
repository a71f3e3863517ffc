"""EM: its step, its path, and the certificate of a maximum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.stats
from shared.moment_problems import DENSE, krr_likelihood

from ldpstats.errors import ConvergenceWarning
from ldpstats.estimators import (
    EM,
    MLE,
)
from ldpstats.estimators.em import em_step
from ldpstats.problems.problem import Likelihood

Array = npt.NDArray[Any]


# ---- EM


def test_em_step_is_bayes_rule() -> None:
    rng = np.random.default_rng(2)
    Q, p = rng.dirichlet(np.ones(5), size=3), rng.dirichlet(np.ones(3))
    c = rng.multinomial(100, p @ Q)
    posterior = p[:, None] * Q / (p @ Q)  # P(value | report)
    np.testing.assert_allclose(em_step(Likelihood(Q.T, c), p), posterior @ c / 100, rtol=1e-13)


def test_em_that_is_stopped_early_says_so() -> None:
    problem = krr_likelihood(np.array([30, 25, 25, 20]), 0.3)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        solution = EM(tol=1e-12, max_iter=2).solve(problem)
    assert not solution.converged and solution.n_iter == 2
    assert solution.gap == pytest.approx(problem.gap(solution.p), abs=1e-15) and solution.gap > 1e-6


def test_em_needs_fewer_steps_than_plain_em() -> None:
    problem = krr_likelihood(np.array([300, 200, 150, 100, 90, 80, 50, 30]), 0.5)
    solution = EM(tol=1e-9).solve(problem)
    p = np.full(8, 0.125)
    for _ in range(10 * solution.n_iter):
        p = em_step(problem, p)
    assert solution.gap <= 1e-9 < problem.gap(p)


# ---- the certificate


def test_a_perturbed_p_has_a_larger_gap(counts: Array) -> None:
    problem = krr_likelihood(counts, 1.0)
    solution = MLE().solve(problem)
    assert solution.gap < 1e-14
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3):
        q = np.abs(solution.p + size * rng.normal(size=6))
        assert problem.gap(q / q.sum()) > size / 100


def test_the_gap_bounds_what_is_left_to_gain(counts: Array) -> None:
    problem = krr_likelihood(counts, 1.0)
    best = problem.loglike(MLE().solve(problem).p)
    for q in np.random.default_rng(1).dirichlet(np.ones(6), size=50):
        assert 0 <= best - problem.loglike(q) <= problem.gap_nats(q)


def test_reports_never_seen_change_nothing() -> None:
    with_zero = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75], [0.0, 0.3]]), np.array([6, 4, 0]))
    without = Likelihood(DENSE, np.array([6, 4]))
    p = np.array([1.0, 0.0])  # the third report has probability zero here
    assert with_zero.loglike(p) == without.loglike(p)
    np.testing.assert_allclose(with_zero.score(p), without.score(p))
    np.testing.assert_allclose(with_zero.information(p), without.information(p))
    np.testing.assert_allclose(MLE().solve(with_zero).p, MLE().solve(without).p, atol=1e-12)


def test_an_independent_optimiser_agrees() -> None:
    rng = np.random.default_rng(21)
    Q = rng.dirichlet(np.ones(7), size=5)
    c = rng.multinomial(3000, rng.dirichlet(np.ones(5)) @ Q)

    def loss(theta: Array) -> float:  # softmax coordinates: no constraint is left
        p = np.exp(theta - theta.max())
        return -float(c @ np.log(p / p.sum() @ Q)) / 3000

    found = scipy.optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    p = MLE().solve(Likelihood(Q.T, c)).p
    np.testing.assert_allclose(p, np.exp(found.x) / np.exp(found.x).sum(), atol=2e-3)
    assert -3000 * loss(np.log(np.maximum(p, 1e-300))) >= -3000 * found.fun - 1e-9
