"""Penalised likelihood: its maximum against cvxpy's, its certificate, and how it is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats.errors import ConvergenceWarning, InvalidArgument, NotAvailable
from ldpstats.estimators import MLE, Smoothed
from ldpstats.estimators.constrained import Penalised
from ldpstats.estimators.likelihood import roughness
from ldpstats.likelihood.rows import DenseRows, Likelihood

EDGES = np.array([0.0, 1.0, 3.0, 4.0, 8.0, 9.0, 10.0, 20.0])


def reports(k: int = 12, n: int = 3000, epsilon: float = 1.0, seed: int = 0) -> Likelihood:
    mechanism = ldp.SquareWave(np.arange(k + 1), epsilon)
    p = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, k + 1)))
    counts = mechanism.draw(p / p.sum(), n, np.random.default_rng(seed))
    return mechanism.likelihood(counts)


def objective(problem: Likelihood, p: np.ndarray, K: np.ndarray) -> float:
    return float(problem.n @ np.log(problem.W.dense() @ p)) / problem.nobs - p @ K @ p / 2


def by_cvxpy(problem: Likelihood, K: np.ndarray) -> np.ndarray:
    import cvxpy as cp

    p, W = cp.Variable(problem.k, nonneg=True), problem.W.dense()
    values, vectors = np.linalg.eigh(K)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    likelihood = (problem.n / problem.nobs) @ cp.log(W @ p)
    goal = cp.Maximize(likelihood - cp.sum_squares(root @ p) / 2)
    cp.Problem(goal, [cp.sum(p) == 1]).solve(solver=cp.CLARABEL)
    found = np.maximum(p.value, 0.0)
    return np.asarray(found / found.sum())


@pytest.mark.parametrize(
    ("penalty", "uneven"), [(0.0, False), (1e-6, True), (1e-3, False), (1.0, True)]
)
def test_no_point_is_better_by_more_than_the_gap(penalty: float, uneven: bool) -> None:
    k = 7 if uneven else 12
    problem = reports(k)
    edges = EDGES if uneven else np.linspace(0, 1, k + 1)
    K = penalty * roughness(edges)
    solution = Smoothed(penalty, EDGES if uneven else None, tol=1e-9).solve(problem)
    assert solution.converged and 0.0 <= solution.gap <= 1e-9
    best = objective(problem, solution.p, K)
    assert objective(problem, by_cvxpy(problem, K), K) <= best + solution.gap + 1e-12
    assert abs(solution.p - by_cvxpy(problem, K)).max() < 2e-3
    rng = np.random.default_rng(1)
    f = Penalised(DenseRows(problem.W.dense()), problem.n.astype(float), K)
    for near in (0.001, 0.1, 1.0):
        for _ in range(20):
            p = (1 - near) * solution.p + near * rng.dirichlet(np.ones(k))
            value, gap = objective(problem, p, K), f.gap(p)
            assert gap > 0.0 and value <= best + 1e-9
            assert best - value <= gap + 1e-12  # the certificate bounds what is left to gain


def test_the_certificate_is_that_of_the_penalised_objective() -> None:
    # the plain certificate of the same point is far from zero: it belongs to another maximum
    problem = reports()
    solution = Smoothed(1e-4).solve(problem)
    assert solution.gap * problem.nobs <= 1e-3 < 1.0 < problem.gap_nats(solution.p)


def test_without_a_penalty_it_is_the_maximum() -> None:
    problem = reports(16, 100_000, 2.0)
    plain, free = MLE().solve(problem), Smoothed(0.0, tol=1e-11).solve(problem)
    np.testing.assert_allclose(free.p, plain.p, atol=1e-5)
    assert problem.gap(free.p) <= 1e-11
    two = ldp.Warner(epsilon=1.0)  # with two categories there is nothing to smooth
    counts = two.counts([60, 40])
    fitted = ldp.FrequencyModel(counts).fit(Smoothed(1.0))
    np.testing.assert_allclose(fitted.params, ldp.FrequencyModel(counts).fit().params, atol=1e-6)


def test_a_large_penalty_leaves_a_line() -> None:
    mechanism = ldp.SquareWave(np.arange(13), 1.0)
    counts = mechanism.draw(np.arange(20, 8, -1) / 174, 3000, np.random.default_rng(1))
    solution = Smoothed(100.0).solve(mechanism.likelihood(counts))
    assert np.abs(np.diff(solution.p, 2)).max() < 1e-5
    # the level of a line is known, since it sums to one: only its slope is free
    assert "1.0 effective parameters" in solution.message


def test_roughness_is_the_integral_of_the_squared_second_derivative() -> None:
    # of a density 1 + c (u^2 - 1/3): f'' = 2 c everywhere, but for the ends that have no neighbour
    u = np.concatenate([np.linspace(0, 0.4, 401), np.linspace(0.402, 1, 300)])
    c = 0.5
    p = np.diff(u + c * (u**3 - u) / 3)
    assert p @ roughness(u) @ p == pytest.approx((2 * c) ** 2, rel=0.01)
    line = np.diff(u**2)
    middle = line @ roughness(u) @ line
    assert middle < 1e-3  # none for a linear density
    np.testing.assert_allclose(roughness(5 * u - 3), roughness(u), rtol=1e-6, atol=1e-3)


def test_the_choice_is_deterministic_and_moves_with_the_evidence() -> None:
    chosen = []
    for n in (500, 500_000):
        first, second = (Smoothed().solve(reports(32, n)) for _ in range(2))
        np.testing.assert_array_equal(first.p, second.p)
        assert first.message == second.message and "(chosen)" in first.message
        chosen.append(float(first.message.split("penalty ")[1].split(" ")[0]))
    assert chosen[1] < chosen[0]  # more reports show more


def test_summaries_say_that_it_is_penalised() -> None:
    mechanism = ldp.SquareWave(range(13), 1.0)
    counts = mechanism.draw(np.full(12, 1 / 12), 2000, np.random.default_rng(2))
    results = ldp.FrequencyModel(counts).fit("smoothed")
    text = " ".join(results.summary(details=True).as_text().split())
    assert "the estimate is penalised for roughness" in text and "penalty" in text
    assert "a penalised estimate has no standard errors" in text or "none (penalised)" in text
    assert np.isnan(results.aic) and results.gap_nats < 2e-3
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert again.summary().as_text() == results.summary().as_text()
    plain = ldp.FrequencyModel(counts).fit("inversion")
    # intervals and means rest on the unconstrained estimate, whatever the penalty
    np.testing.assert_array_equal(results.conf_int(), plain.conf_int())
    assert results.mean().equals(plain.mean())
    with pytest.raises(NotAvailable, match="penalised"):
        results.cov_params()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(({"penalty": v}, "penalty=") for v in (-1.0, np.nan, "1", True, 1e7)),
        *(({"edges": v}, "edges") for v in (3, [1, 2], [0, 1, 1], {1, 2, 3})),
        *(({"tol": v}, "tol=") for v in (0.0, -1.0, np.nan, "1")),
        *(({"max_iter": v}, "max_iter=") for v in (0, 1.5, None)),
    ],
)
def test_bad_settings(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        Smoothed(**given)


def test_what_has_no_order_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"edges=.*must be 13 edges"):
        Smoothed(edges=[0, 1, 2]).solve(reports())
    rng = np.random.default_rng(1)
    pair = [ldp.KRR(3, 2.0).privatize(rng.integers(0, 3, 50), rng) for _ in range(2)]
    with pytest.raises(NotAvailable, match="no single order"):
        ldp.AssociationModel(*pair).fit(Smoothed())
    with pytest.raises(InvalidArgument, match="at least one report"):
        Smoothed().solve(Likelihood(np.eye(3), np.zeros(3, dtype=int)))
    with pytest.raises(InvalidArgument, match="impossible"):
        Smoothed(1.0).solve(Likelihood(np.array([[0.0, 0.0], [0.5, 0.5]]), np.array([1, 2])))


def test_it_says_when_it_stops_early() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged"):
        assert not Smoothed(1e-6, max_iter=2).solve(reports()).converged
