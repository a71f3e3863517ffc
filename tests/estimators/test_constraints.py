"""Maximum likelihood under linear constraints."""

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse, stats
from shared.likelihoods import krr, krr_counts, step_left, truths, unary

import ldpstats as ldp
from ldpstats.errors import ConvergenceWarning, InvalidArgument, NotAvailable
from ldpstats.estimators import MLE, Smoothed
from ldpstats.estimators import constraints as cons
from ldpstats.estimators.constrained import Penalised
from ldpstats.estimators.likelihood import roughness
from ldpstats.likelihood.rows import Likelihood, UniformRows

Array = npt.NDArray[Any]


def decreasing_by_pooling(y: Array) -> Array:
    """Isotonic (decreasing) regression by pooling adjacent violators."""
    blocks: list[tuple[float, int]] = []
    for value in y:
        blocks.append((float(value), 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (v2, w2), (v1, w1) = blocks.pop(), blocks.pop()
            blocks.append(((v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2))
    return np.concatenate([np.full(w, v) for v, w in blocks])


def test_monotone_without_noise_is_pool_adjacent_violators():
    c = np.array([30, 50, 10, 20, 0, 5, 5])
    problem = Likelihood(UniformRows(np.arange(7), 1.0, 0.0, 7), c)
    solution = MLE(constraints=cons.monotone()).solve(problem)
    np.testing.assert_allclose(solution.p, decreasing_by_pooling(c / 120), atol=1e-5)
    reversed_problem = Likelihood(UniformRows(np.arange(7), 1.0, 0.0, 7), c[::-1])
    increasing = MLE(constraints=cons.monotone("increasing")).solve(reversed_problem)
    np.testing.assert_allclose(increasing.p, solution.p[::-1], atol=1e-5)


def test_known_margin_without_noise_rescales_each_part():
    c = np.array([30, 10, 40, 20])
    problem = Likelihood(UniformRows(np.arange(4), 1.0, 0.0, 4), c)
    expected = [0.7 * 0.75, 0.7 * 0.25, 0.3 * 2 / 3, 0.3 / 3]
    for constraint in (
        cons.known_margin({(0, 1): 0.7}),
        cons.known_margin([[1.0, 1.0, 0.0, 0.0]], [0.7]),
        cons.known_margin({(0, 1): 0.7, (2, 3): 0.3}),  # the second follows from the first
    ):
        solution = MLE(constraints=constraint).solve(problem)
        np.testing.assert_allclose(solution.p, expected, atol=1e-5)
        assert abs(solution.p[:2].sum() - 0.7) < 1e-9


def test_unimodal_without_noise():
    c = np.array([20, 10, 40, 5, 25])
    problem = Likelihood(UniformRows(np.arange(5), 1.0, 0.0, 5), c)
    solution = MLE(constraints=cons.unimodal(2)).solve(problem)
    np.testing.assert_allclose(solution.p, [0.15, 0.15, 0.4, 0.15, 0.15], atol=1e-5)


def constraint_sets(k: int) -> dict[str, Callable[..., Any]]:
    return {
        "none": lambda p: [],
        "monotone": cons.monotone(),
        "increasing": cons.monotone("increasing"),
        "unimodal": cons.unimodal(k // 2),
        "margin": cons.known_margin({tuple(range(k // 3 + 1)): 0.5}),
        "bounds": cons.bounds(0.1 / k, np.full(k, 4.0 / k)),
        "a zero": cons.known_margin({(0,): 0.0}),
        "joined": cons.all_of(cons.monotone(), cons.bounds(0.0, 3.0 / k)),
        "a ball": lambda p: [cp.norm(p - 1 / k) <= 0.3 / k],
    }


SIZES = [(2, 0.1, 10**9), (6, 1.0, 500), (30, 2.0, 10**6)]


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "n"),
    [(name, *SIZES[i % 3]) for i, name in enumerate([*constraint_sets(3), "monotone"])],
)
def test_constrained_maximum_is_certified(name, k, epsilon, n):
    build = constraint_sets(k)[name]
    problem = krr(krr_counts(k, epsilon, truths(k)["zipf"], n), epsilon)
    solution = MLE(constraints=build).solve(problem)
    assert solution.converged and solution.gap * n <= 1e-3
    q = cp.Variable(k)
    q.value = solution.p
    assert all(np.max(item.violation()) < 1e-8 for item in build(q))
    assert abs(solution.p.sum() - 1) < 1e-9 and solution.p.min() >= 0
    # the gap is a bound: no other point of the set does better by more
    rng, others = np.random.default_rng(0), []
    for _ in range(5):
        z = cp.Variable(k, nonneg=True)
        cp.Problem(cp.Maximize(rng.normal(size=k) @ z), [cp.sum(z) == 1, *build(z)]).solve(
            solver=cp.CLARABEL
        )
        others.append(np.maximum(z.value, 0) / np.maximum(z.value, 0).sum())
    for other in others:
        for t in (0.01, 0.5):
            moved = (1 - t) * solution.p + t * other
            gain = problem.loglike(moved) - problem.loglike(solution.p)
            assert gain <= 1e-3 + 1e-6 * n * t  # the oracle's points are feasible to about 1e-8
    if name == "none":
        unconstrained = MLE().solve(problem).p
        assert step_left(problem.W, problem.n, unconstrained, solution.p) <= 2e-3


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_nan_is_refused_and_infinite_bounds_bind_nothing(form):
    problem = krr(np.array([500, 300, 150]), 2.0)
    left = form([[np.nan, 0.0, 0.0]])
    with pytest.raises(InvalidArgument, match=r"constraints=.*must hold finite numbers"):
        MLE(constraints=lambda p: [left @ p <= 0.5]).solve(problem)
    left = form([[1.0, 0.0, 0.0]])
    free = MLE(constraints=lambda p: [left @ p <= np.array([np.inf])]).solve(problem)
    np.testing.assert_allclose(free.p, MLE().solve(problem).p, atol=1e-7)


def test_constraints_on_unary_reports():
    W = unary(3000, 12, 2.0, truths(12)["zipf"])
    problem = Likelihood(W, np.ones(3000, dtype=np.int64))
    solution = MLE(constraints=cons.monotone()).solve(problem)
    assert solution.converged and np.all(np.diff(solution.p) <= 1e-9)
    assert problem.loglike(solution.p) <= problem.loglike(MLE().solve(problem).p) + 1e-9


def test_constraints_that_no_distribution_meets_are_refused():
    problem = krr(np.array([5, 3, 2]), 1.0)
    with pytest.raises(InvalidArgument, match="no distribution meets them all"):
        MLE(constraints=cons.bounds(0.5)).solve(problem)
    direct = Likelihood(np.eye(3), np.array([5, 3, 2]))
    with pytest.raises(InvalidArgument, match="probability zero to a report that was seen"):
        MLE(constraints=cons.known_margin({(0,): 0.0})).solve(direct)


@pytest.mark.parametrize(
    "build", [lambda p: [cp.norm(p) >= 0.5], lambda p: [True], lambda p: [p[0] * p[1] >= 0.1]]
)
def test_constraints_that_are_not_convex_are_refused(build):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns of the product
        with pytest.raises(InvalidArgument, match="no convex cvxpy constraint"):
            MLE(constraints=build).solve(krr(np.array([5, 3, 2]), 1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: cons.monotone("down"),
        lambda: cons.unimodal(-1),
        lambda: MLE(constraints=cons.unimodal(9)).solve(krr(np.array([5, 3, 2]), 1.0)),
        lambda: cons.known_margin([[1.0, 0.0]], [0.1, 0.2]),
        lambda: cons.known_margin([[1.0, 0.0]]),
        lambda: MLE(constraints=[1, 2]),
    ],
)
def test_malformed_constraints_are_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_constraints_on_too_many_categories_are_refused():
    problem = krr(np.ones(3001, dtype=np.int64), 1.0)
    with pytest.raises(NotAvailable, match="3001"):
        MLE(constraints=cons.monotone()).solve(problem)


# Penalised likelihood: its maximum against cvxpy's, its certificate, and how it is chosen.

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
def test_no_point_is_better_by_more_than_the_gap(penalty, uneven):
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
    f = Penalised(Likelihood(problem.W.dense(), problem.n), K)
    for near in (0.001, 0.1, 1.0):
        for _ in range(20):
            p = (1 - near) * solution.p + near * rng.dirichlet(np.ones(k))
            value, gap = objective(problem, p, K), f.gap(p)
            assert gap > 0.0 and value <= best + 1e-9
            assert best - value <= gap + 1e-12  # the certificate bounds what is left to gain


def test_the_certificate_is_that_of_the_penalised_objective():
    # the plain certificate of the same point is far from zero: it belongs to another maximum
    problem = reports()
    solution = Smoothed(1e-4).solve(problem)
    assert solution.gap * problem.nobs <= 1e-3 < 1.0 < problem.gap_nats(solution.p)


def test_without_a_penalty_it_is_the_maximum():
    problem = reports(16, 100_000, 2.0)
    plain, free = MLE().solve(problem), Smoothed(0.0, tol=1e-11).solve(problem)
    np.testing.assert_allclose(free.p, plain.p, atol=1e-5)
    assert problem.gap(free.p) <= 1e-11
    two = ldp.Warner(epsilon=1.0)  # with two categories there is nothing to smooth
    counts = two.counts([60, 40])
    fitted = ldp.FrequencyModel(counts).fit(Smoothed(1.0))
    np.testing.assert_allclose(fitted.params, ldp.FrequencyModel(counts).fit().params, atol=1e-6)


def test_a_large_penalty_leaves_a_line():
    mechanism = ldp.SquareWave(np.arange(13), 1.0)
    counts = mechanism.draw(np.arange(20, 8, -1) / 174, 3000, np.random.default_rng(1))
    solution = Smoothed(100.0).solve(mechanism.likelihood(counts))
    assert np.abs(np.diff(solution.p, 2)).max() < 1e-5
    # the level of a line is known, since it sums to one: only its slope is free
    assert "1.0 effective parameters" in solution.message


def test_roughness_is_the_integral_of_the_squared_second_derivative():
    # of a density 1 + c (u^2 - 1/3): f'' = 2 c everywhere, but for the ends that have no neighbour
    u = np.concatenate([np.linspace(0, 0.4, 401), np.linspace(0.402, 1, 300)])
    c = 0.5
    p = np.diff(u + c * (u**3 - u) / 3)
    assert p @ roughness(u) @ p == pytest.approx((2 * c) ** 2, rel=0.01)
    line = np.diff(u**2)
    middle = line @ roughness(u) @ line
    assert middle < 1e-3  # none for a linear density
    np.testing.assert_allclose(roughness(5 * u - 3), roughness(u), rtol=1e-6, atol=1e-3)


def test_the_choice_is_deterministic_and_moves_with_the_evidence():
    chosen = []
    for n in (500, 500_000):
        first, second = (Smoothed().solve(reports(32, n)) for _ in range(2))
        np.testing.assert_array_equal(first.p, second.p)
        assert first.message == second.message and "(chosen)" in first.message
        chosen.append(float(first.message.split("penalty ")[1].split(" ")[0]))
    assert chosen[1] < chosen[0]  # more reports show more


def test_summaries_say_that_it_is_penalised():
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
def test_bad_settings(given, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        Smoothed(**given)


def test_what_has_no_order_is_refused():
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


def test_it_says_when_it_stops_early():
    with pytest.warns(ConvergenceWarning, match="not converged"):
        assert not Smoothed(1e-6, max_iter=2).solve(reports()).converged
