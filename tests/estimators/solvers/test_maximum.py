"""The maximisers of a likelihood, against each other, enumeration and general convex solvers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.likelihoods import krr, krr_counts, step_left, truths, unary

from ldpstats.errors import ConvergenceWarning, NotAvailable
from ldpstats.estimators import EM, MLE, CvxpyMLE
from ldpstats.estimators import constraints as cons
from ldpstats.estimators.solvers import LAST_STEP, STEP, newton, proximal_newton
from ldpstats.kernels.bits import bit_mix, bit_sums
from ldpstats.likelihood import rows as likelihood_rows
from ldpstats.likelihood.rows import (
    DenseRows,
    FixedEntry,
    Likelihood,
    StackedRows,
    UnaryRows,
)

Array = npt.NDArray[Any]


# ---- water-filling, and the agreement of all solvers on k-RR


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (3, 10.0), (20, 1.0), (2000, 4.0)])
def test_water_filling_is_certified(k: int, epsilon: float) -> None:
    for p, n in itertools.product(truths(k).values(), (1, 100, 10**5, 10**9)):
        problem = krr(krr_counts(k, epsilon, p, n), epsilon)
        solution = MLE().solve(problem)
        assert problem.gap(solution.p) <= 1e-12 and solution.gap <= 1e-12
        assert solution.n_iter == 0 and abs(solution.p.sum() - 1) < 1e-12


def test_water_filling_is_inversion_in_the_interior() -> None:
    c, e = np.array([40, 35, 25]), np.exp(1.0)
    p = MLE().solve(krr(c, 1.0)).p
    np.testing.assert_allclose(p, (e + 2) / (e - 1) * c / 100 - 1 / (e - 1), atol=1e-15)


def em_is_asked(k: int, epsilon: float) -> bool:
    return bool(np.expm1(epsilon) ** 2 >= 0.01 * k * np.exp(epsilon))


def check_agreement(k: int, epsilon: float, n: int, cvxpy_too: bool) -> None:
    b = 1.0 / (np.exp(epsilon) + k - 1)
    a = np.expm1(epsilon) * b
    for name, p in truths(k).items():
        c = krr_counts(k, epsilon, p, n)
        problem = krr(c, epsilon)
        best = MLE().solve(problem).p
        m = a * best + b
        tolerance = np.maximum(1e-6, 1e-3 * np.sqrt(m * (1 - m) / n) / a)
        seen = c > 0
        W, counts = problem.W.select(seen), c[seen].astype(float)
        start, goal = np.full(k, 1.0 / k), max(1e-3 / n, 1e-13)
        found = {"proximal": proximal_newton(W, counts, start, goal, max_step=STEP)}
        if k <= 300:
            found["newton"] = newton(DenseRows(W.dense()), counts, goal, max_step=LAST_STEP)
        if em_is_asked(k, epsilon):
            assert EM(tol=1e-9).solve(problem).gap <= 1e-9
            if n <= 10**6:  # beyond, 1e-3 nats is less than EM attains in reasonable time
                found["em"] = EM().solve(problem)  # type: ignore[assignment]
        if cvxpy_too:
            found["cvxpy"] = CvxpyMLE().solve(problem)  # type: ignore[assignment]
        for how, other in found.items():
            assert other.converged and problem.gap_nats(other.p) <= 1.1e-3, (name, how)
            assert np.all(np.abs(other.p - best) <= tolerance), (name, how)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (5, 5.0), (40, 1.0)])
def test_all_solvers_agree_on_krr(k: int, epsilon: float) -> None:
    check_agreement(k, epsilon, 10**4, cvxpy_too=True)


@pytest.mark.slow
def test_all_solvers_agree_where_one_may_fail() -> None:
    """At both sides of the sizes where the default changes its solver, and at the extremes."""
    for k, epsilon, n in (
        (2, 0.1, 10**9),
        (3, 10.0, 100),
        (64, 3.0, 10**9),
        (65, 3.0, 10**4),
        (300, 0.3, 10**6),
        (300, 7.0, 100),
        (2000, 5.0, 10**4),
    ):
        check_agreement(k, epsilon, n, cvxpy_too=k < 2000)


def test_cvxpy_is_polished_where_its_own_answer_is_wrong() -> None:
    problem = krr(krr_counts(2, 0.1, np.array([0.7, 0.3]), 10**9), 0.1)
    solution = CvxpyMLE().solve(problem)
    assert "polished" in solution.message
    before = float(solution.message.split("gap ")[1].split(";")[0])
    assert before * 10**9 > 1e-3  # its "optimal" would not have been good enough
    np.testing.assert_allclose(solution.p, MLE().solve(problem).p, atol=1e-6)


# ---- unary reports


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_unary_likelihood_against_all_patterns(epsilon: float) -> None:
    theta = np.exp(epsilon / 2) / (1 + np.exp(epsilon / 2))
    patterns = np.array(list(itertools.product([0, 1], repeat=3)))
    inner = np.where(np.eye(3)[:, None, :] > 0, theta, 1 - theta)  # P(bit j = 1 | x)
    Q = np.prod(np.where(patterns[None] == 1, inner, 1 - inner), axis=2)  # (3, 8)
    np.testing.assert_allclose(Q.sum(axis=1), 1, rtol=1e-14)
    c = np.random.default_rng(4).multinomial(500, np.array([0.8, 0.2, 0.0]) @ Q)
    rows = UnaryRows(np.packbits(patterns, axis=1, bitorder="little"), theta, 1 - theta, 3)
    packed, dense = Likelihood(rows, c), Likelihood(Q.T, c)
    found, expected = MLE().solve(packed), MLE().solve(dense)
    assert found.gap <= 1e-12 and expected.gap <= 1e-12
    np.testing.assert_allclose(found.p, expected.p, atol=1e-7)
    assert packed.loglike(found.p) == pytest.approx(dense.loglike(found.p), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "k", "name", "epsilon"),
    [
        (300, 7, "uniform", 9.0),
        (3000, 30, "zipf", 1.0),
        (3000, 30, "point", 4.0),
        (200, 70, "zeros", 0.2),
        (200, 70, "zipf", 4.0),
    ],
)
def test_packed_solver_agrees_with_newton(
    n: int, k: int, name: str, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likelihood_rows, "_SMALL", 0)  # compiled products however few the reports
    W, counts = unary(n, k, epsilon, truths(k)[name]), np.ones(n)
    found = MLE().solve(Likelihood(W, counts))
    exact = newton(DenseRows(W.dense()), counts, 1e-12)
    assert found.converged and exact.converged
    plain = Likelihood(DenseRows(W.dense(), W.log_scale), counts)
    assert plain.gap(found.p) <= 1e-3 / n
    gain = plain.loglike(exact.p) - plain.loglike(found.p)
    assert -1e-9 <= gain <= 1e-3
    assert step_left(W, counts, exact.p, found.p) <= 2e-3


def test_packed_solver_reaches_a_tight_gap_in_few_passes() -> None:
    n, k = 20_000, 200
    problem = Likelihood(unary(n, k, np.log(k), truths(k)["zipf"]), np.ones(n, dtype=np.int64))
    solution = MLE(tol=1e-9).solve(problem)
    assert solution.converged and "proximal" in solution.message and "; N" not in solution.message
    assert problem.gap(solution.p) <= 1e-9 and solution.n_iter <= 15


@pytest.mark.parametrize("bits", [[[1, 0, 0]], [[0, 0, 0]], [[1, 1, 1]] * 4, [[0, 1, 1]] * 2])
def test_unary_reports_without_variety(bits: list[list[int]]) -> None:
    packed = np.packbits(np.array(bits), axis=1, bitorder="little")
    problem = Likelihood(UnaryRows(packed, 0.8, 0.2, 3), np.ones(len(bits), dtype=np.int64))
    solution = MLE().solve(problem)
    assert solution.converged and problem.gap(solution.p) <= 1e-12
    zero = np.array(bits[0]) == 0
    if zero.any() and not zero.all():
        assert solution.p[zero].max() < 1e-6


@pytest.mark.parametrize("k", [1, 8, 131])
def test_kernels_equal_their_numpy_twins(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood_rows, "_SMALL", 0)
    rng = np.random.default_rng(k)
    bits = rng.random((57, k)) < 0.3
    packed = np.packbits(bits, axis=1, bitorder="little")
    x, v = rng.normal(size=k), rng.normal(size=57)
    np.testing.assert_allclose(bit_mix(packed, x), bits @ x, atol=1e-12)
    np.testing.assert_allclose(bit_sums(packed, v, k), v @ bits, atol=1e-12)
    fast = UnaryRows(packed, 0.7, 0.2, k)
    plain = DenseRows(fast.dense())
    np.testing.assert_allclose(fast.mix(x), plain.mix(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.adjoint(v), plain.adjoint(v), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.adjoints(v), plain.adjoints(v), rtol=1e-12, atol=1e-12)


# ---- several groups, and one entry held fixed


def mixed_groups(k: int, seed: int) -> tuple[StackedRows, Array]:
    """A k-RR group at epsilon 1, another at 3, and a unary group."""
    p = truths(k)["zipf"]
    parts = [krr(krr_counts(k, e, p, 2000, seed), e) for e in (1.0, 3.0)]
    bits = unary(1500, k, 2.0, p, seed)
    W = StackedRows((parts[0].W, parts[1].W, bits))
    return W, np.concatenate([parts[0].n, parts[1].n, np.ones(1500, dtype=np.int64)])


@pytest.mark.parametrize("k", [4, 90])
def test_groups_with_different_mechanisms(k: int) -> None:
    W, n = mixed_groups(k, 1)
    solution = MLE().solve(Likelihood(W, n))
    seen = n > 0
    exact = newton(DenseRows(W.dense()[seen]), n[seen].astype(float), 1e-12)
    assert solution.converged and "proximal" in solution.message
    assert step_left(W.select(seen), n[seen], exact.p, solution.p) <= 2e-3


@pytest.mark.parametrize(("k", "value"), [(2, 0.9), (5, 0.0), (90, 0.2)])
def test_one_entry_held_fixed(k: int, value: float) -> None:
    problem = krr(krr_counts(k, 1.0, truths(k)["zipf"], 3000), 1.0)
    fixed = Likelihood(FixedEntry(problem.W, 0, value), problem.n)
    found = MLE().solve(fixed)
    p = np.insert((1 - value) * found.p, 0, value)
    other = MLE(constraints=cons.known_margin({(0,): value})).solve(problem)
    assert found.converged
    assert problem.loglike(p) == pytest.approx(problem.loglike(other.p), abs=2e-3)


# ---- dense matrices


def smooth_channel(k: int, l: int) -> Array:  # noqa: E741
    """Gaussian noise on an ordered variable: nearly singular, with a sparse maximum."""
    x, y = np.linspace(0, 1, k), np.linspace(-0.3, 1.3, l)
    Q = np.exp(-0.5 * ((y[None] - x[:, None]) / 0.1) ** 2) + 1e-12
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def channels() -> dict[str, Array]:
    rng = np.random.default_rng(6)
    equal = rng.dirichlet(np.ones(12), size=6)
    return {
        "square": rng.dirichlet(np.ones(20), size=20),
        "tall": rng.dirichlet(np.full(60, 0.1), size=30) * 0.999 + 0.001 / 60,
        "smooth": smooth_channel(40, 60),
        "equal columns": equal[[0, 1, 1, 2, 3, 3, 4, 5]],
        "more categories than outputs": rng.dirichlet(np.ones(5), size=9),
        "large": smooth_channel(150, 200),
    }


@pytest.mark.parametrize("name", list(channels()))
@pytest.mark.parametrize("n", [1, 10**4, 10**7])
def test_newton_is_certified_on_any_channel(name: str, n: int) -> None:
    Q = channels()[name]
    c = np.random.default_rng(n).multinomial(n, truths(len(Q))["zipf"] @ Q)
    problem = Likelihood(Q.T, c)
    solution = MLE().solve(problem)
    assert solution.converged
    assert problem.gap(solution.p) <= (1e-12 if len(Q) <= 64 else 1e-3 / n)


def test_newton_reaches_a_gap_that_a_general_solver_does_not() -> None:
    Q = channels()["large"]
    problem = Likelihood(Q.T, np.random.default_rng(0).multinomial(10**6, truths(150)["zipf"] @ Q))
    assert MLE(tol=1e-10).solve(problem).gap <= 1e-10
    cones = CvxpyMLE().solve(problem)
    assert float(cones.message.split("gap ")[1].split(";")[0]) > 1e-10 >= cones.gap


@pytest.mark.slow
def test_newton_at_a_thousand_categories() -> None:
    Q = np.random.default_rng(2).dirichlet(np.ones(1500), size=1000)
    c = np.random.default_rng(3).multinomial(10**6, truths(1000)["zipf"] @ Q)
    problem = Likelihood(Q.T, c)
    assert problem.gap(MLE(tol=1e-8).solve(problem).p) <= 1e-8


def test_a_solver_that_is_stopped_early_says_so() -> None:
    Q = channels()["smooth"]
    problem = Likelihood(Q.T, np.random.default_rng(0).multinomial(10**6, truths(40)["zipf"] @ Q))
    with pytest.warns(ConvergenceWarning, match="not converged"):
        solution = MLE(tol=1e-10, max_iter=1).solve(problem)
    assert not solution.converged and solution.gap == pytest.approx(problem.gap(solution.p))


def test_too_many_reports_for_cvxpy_are_refused() -> None:
    rows = UnaryRows(np.ones((30_000, 80), dtype=np.uint8), 0.7, 0.3, 640)
    with pytest.raises(NotAvailable, match="use method 'mle'"):
        CvxpyMLE().solve(Likelihood(rows, np.ones(30_000, dtype=np.int64)))


# ---- pieces
