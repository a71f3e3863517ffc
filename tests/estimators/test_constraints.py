"""Maximum likelihood under linear constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from shared.likelihoods import krr, krr_counts, step_left, truths, unary

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators import MLE
from ldpstats.estimators import constraints as cons
from ldpstats.likelihood.rows import Likelihood, Solution, UniformRows

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


def test_monotone_without_noise_is_pool_adjacent_violators() -> None:
    c = np.array([30, 50, 10, 20, 0, 5, 5])
    problem = Likelihood(UniformRows(np.arange(7), 1.0, 0.0, 7), c)
    solution = MLE(constraints=cons.monotone()).solve(problem)
    np.testing.assert_allclose(solution.p, decreasing_by_pooling(c / 120), atol=1e-5)
    reversed_problem = Likelihood(UniformRows(np.arange(7), 1.0, 0.0, 7), c[::-1])
    increasing = MLE(constraints=cons.monotone("increasing")).solve(reversed_problem)
    np.testing.assert_allclose(increasing.p, solution.p[::-1], atol=1e-5)


def test_known_margin_without_noise_rescales_each_part() -> None:
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


def test_unimodal_without_noise() -> None:
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
def test_constrained_maximum_is_certified(name: str, k: int, epsilon: float, n: int) -> None:
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
def test_nan_is_refused_and_infinite_bounds_bind_nothing(form: Callable[..., Any]) -> None:
    problem = krr(np.array([500, 300, 150]), 2.0)
    left = form([[np.nan, 0.0, 0.0]])
    with pytest.raises(InvalidArgument, match=r"constraints=.*must hold finite numbers"):
        MLE(constraints=lambda p: [left @ p <= 0.5]).solve(problem)
    left = form([[1.0, 0.0, 0.0]])
    free = MLE(constraints=lambda p: [left @ p <= np.array([np.inf])]).solve(problem)
    np.testing.assert_allclose(free.p, MLE().solve(problem).p, atol=1e-7)


def test_constraints_on_unary_reports() -> None:
    W = unary(3000, 12, 2.0, truths(12)["zipf"])
    problem = Likelihood(W, np.ones(3000, dtype=np.int64))
    solution = MLE(constraints=cons.monotone()).solve(problem)
    assert solution.converged and np.all(np.diff(solution.p) <= 1e-9)
    assert problem.loglike(solution.p) <= problem.loglike(MLE().solve(problem).p) + 1e-9


def test_constraints_that_no_distribution_meets_are_refused() -> None:
    problem = krr(np.array([5, 3, 2]), 1.0)
    with pytest.raises(InvalidArgument, match="no distribution meets them all"):
        MLE(constraints=cons.bounds(0.5)).solve(problem)
    direct = Likelihood(np.eye(3), np.array([5, 3, 2]))
    with pytest.raises(InvalidArgument, match="probability zero to a report that was seen"):
        MLE(constraints=cons.known_margin({(0,): 0.0})).solve(direct)


@pytest.mark.parametrize(
    "build", [lambda p: [cp.norm(p) >= 0.5], lambda p: [True], lambda p: [p[0] * p[1] >= 0.1]]
)
def test_constraints_that_are_not_convex_are_refused(build: Callable[..., Any]) -> None:
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
        lambda: MLE(constraints=[1, 2]),  # type: ignore[arg-type]
    ],
)
def test_malformed_constraints_are_refused(make: Callable[[], Solution]) -> None:
    with pytest.raises(InvalidArgument):
        make()


def test_constraints_on_too_many_categories_are_refused() -> None:
    problem = krr(np.ones(3001, dtype=np.int64), 1.0)
    with pytest.raises(NotAvailable, match="3001"):
        MLE(constraints=cons.monotone()).solve(problem)
