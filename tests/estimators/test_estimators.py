"""Estimators of moments and of the likelihood, against independent computations."""

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.stats
from shared.moment_problems import (
    DENSE,
    dense_moments,
    krr_channel,
    krr_likelihood,
    krr_moments,
    unary_moments,
)

import ldpstats as ldp
from ldpstats.errors import ConvergenceWarning, InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators import (
    EM,
    ESTIMATORS,
    MLE,
    NNLS,
    Composite,
    CvxpyMLE,
    Inversion,
    LikelihoodEstimator,
    MomentsEstimator,
    Normalized,
    Projected,
    Thresholded,
)
from ldpstats.estimators.likelihood import em_step
from ldpstats.likelihood.covariance import multinomial, project_simplex
from ldpstats.likelihood.moments import Equations
from ldpstats.likelihood.rows import Likelihood

Array = npt.NDArray[Any]


# these need candidates, and those are biased or stop early: see their own tests
OTHERS = {"lasso", "unweighted", "minimax", "smoothed", "em-fpe16"}


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - OTHERS))
def test_every_estimator_recovers_p_from_exact_expected_counts(name):
    estimator, p = ESTIMATORS[name](), np.array([0.5, 0.25, 0.125, 0.125])
    if isinstance(estimator, LikelihoodEstimator):
        a, b = krr_channel(4, np.log(5.0))  # a = 1/2, b = 1/8: the expected counts are whole
        found = estimator.solve(
            krr_likelihood(((a * p + b) * 2**20).round().astype(int), np.log(5))
        )
        assert found.gap * 2**20 <= 1e-3
    else:
        T = ((0.25 + 0.5 * p) * 2**20).astype(int)
        found = estimator.solve(unary_moments(T, 2**20, 0.75, 0.25))
        assert np.isnan(found.gap)
    np.testing.assert_allclose(found.p, p, atol=2e-6)
    assert found.converged and found.message


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_names_are_the_keys(name):
    assert ESTIMATORS[name].name == name
    assert issubclass(ESTIMATORS[name], LikelihoodEstimator | MomentsEstimator)
    assert ESTIMATORS[name]() == ESTIMATORS[name]()  # frozen, with values for an identity


@pytest.mark.parametrize("estimator", [MLE(), EM(), CvxpyMLE()])
@pytest.mark.parametrize(
    ("W", "n", "expected"),
    [
        (DENSE, [1, 0], [1, 0]),  # a single report
        (DENSE, [60, 40], [0.7, 0.3]),
        (DENSE, [90, 10], [1, 0]),  # on the boundary
        (np.eye(3), [5, 0, 15], [0.25, 0, 0.75]),  # observed without noise
        (np.eye(3), [0, 0, 9], [0, 0, 1]),  # all reports equal
        (np.array([[0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.5, 1.0, 0.0]]), [3, 1, 2], None),
        (np.array([[0.7, 0.7, 0.2], [0.3, 0.3, 0.8]]), [60, 40], None),  # two equal columns
        (np.ones((2, 3)), [4, 5], None),  # nothing to learn
    ],
)
def test_degenerate_likelihoods(estimator, W, n, expected):
    problem = Likelihood(W, np.array(n))
    solution = estimator.solve(problem)
    assert solution.converged
    assert abs(solution.p.sum() - 1) < 1e-12 and solution.p.min() >= 0
    assert problem.gap_nats(solution.p) <= 1e-3
    if expected is not None:
        np.testing.assert_allclose(solution.p, expected, atol=2e-3)


@pytest.mark.parametrize("estimator", [MLE(), EM(), CvxpyMLE()])
def test_an_impossible_report_is_refused(estimator):
    W = np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])
    with pytest.raises(InvalidArgument, match=r"W\[1\].*impossible"):
        estimator.solve(Likelihood(W, np.array([3, 1, 2])))
    assert estimator.solve(Likelihood(W, np.array([3, 0, 2]))).converged  # never seen: no matter
    with pytest.raises(InvalidArgument, match="at least one report"):
        estimator.solve(Likelihood(DENSE, np.array([0, 0])))


def test_bad_settings():
    for make in (MLE, EM, CvxpyMLE):
        for tol in (0.0, -1e-9, float("nan")):
            with pytest.raises(InvalidArgument, match="tol"):
                make(tol=tol)
    for make in (MLE, EM):
        for max_iter in (0, 2.5, True):
            with pytest.raises(InvalidArgument, match="max_iter"):
                make(max_iter=max_iter)


@pytest.mark.parametrize("estimator", [NNLS(), Composite()])
def test_what_is_for_one_variable_refuses_several(estimator):
    krr = ldp.KRR(2, epsilon=2.0)
    model = ldp.AssociationModel(ldp.JointCounts.from_table([[40, 15], [15, 30]], (krr, krr)))
    with pytest.raises(NotAvailable, match="one"):
        model.fit(estimator)
    assert estimator.constraints is None


# ---- EM


def test_em_step_is_bayes_rule():
    rng = np.random.default_rng(2)
    Q, p = rng.dirichlet(np.ones(5), size=3), rng.dirichlet(np.ones(3))
    c = rng.multinomial(100, p @ Q)
    posterior = p[:, None] * Q / (p @ Q)  # P(value | report)
    np.testing.assert_allclose(em_step(Likelihood(Q.T, c), p), posterior @ c / 100, rtol=1e-13)


def test_em_that_is_stopped_early_says_so():
    problem = krr_likelihood(np.array([30, 25, 25, 20]), 0.3)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        solution = EM(tol=1e-12, max_iter=2).solve(problem)
    assert not solution.converged and solution.n_iter == 2
    assert solution.gap == pytest.approx(problem.gap(solution.p), abs=1e-15) and solution.gap > 1e-6


def test_em_needs_fewer_steps_than_plain_em():
    problem = krr_likelihood(np.array([300, 200, 150, 100, 90, 80, 50, 30]), 0.5)
    solution = EM(tol=1e-9).solve(problem)
    p = np.full(8, 0.125)
    for _ in range(10 * solution.n_iter):
        p = em_step(problem, p)
    assert solution.gap <= 1e-9 < problem.gap(p)


# ---- the certificate


def test_a_perturbed_p_has_a_larger_gap(counts):
    problem = krr_likelihood(counts, 1.0)
    solution = MLE().solve(problem)
    assert solution.gap < 1e-14
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3):
        q = np.abs(solution.p + size * rng.normal(size=6))
        assert problem.gap(q / q.sum()) > size / 100


def test_the_gap_bounds_what_is_left_to_gain(counts):
    problem = krr_likelihood(counts, 1.0)
    best = problem.loglike(MLE().solve(problem).p)
    for q in np.random.default_rng(1).dirichlet(np.ones(6), size=50):
        assert 0 <= best - problem.loglike(q) <= problem.gap_nats(q)


def test_reports_never_seen_change_nothing():
    with_zero = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75], [0.0, 0.3]]), np.array([6, 4, 0]))
    without = Likelihood(DENSE, np.array([6, 4]))
    p = np.array([1.0, 0.0])  # the third report has probability zero here
    assert with_zero.loglike(p) == without.loglike(p)
    np.testing.assert_allclose(with_zero.score(p), without.score(p))
    np.testing.assert_allclose(with_zero.information(p), without.information(p))
    np.testing.assert_allclose(MLE().solve(with_zero).p, MLE().solve(without).p, atol=1e-12)


def test_an_independent_optimiser_agrees():
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


# ---- inversion


def test_inversion_of_a_scalar_design_is_kbr16_equation_6(counts):
    e = np.exp(1.3)
    expected = (e + 5) / (e - 1) * counts / 400 - 1 / (e - 1)
    solution = Inversion().solve(krr_moments(counts, 1.3))
    np.testing.assert_allclose(solution.p, expected, rtol=0, atol=1e-14)
    assert np.isnan(solution.gap) and solution.converged and solution.n_iter == 0


def test_inversion_of_a_dense_design_agrees_with_statsmodels_style_wls():
    rng = np.random.default_rng(1)
    Q = rng.dirichlet(np.ones(9), size=4)
    c = rng.multinomial(1000, Q.mean(axis=0))
    w = rng.random(9) + 0.5
    problem = dense_moments(Q, c, w)
    expected = np.linalg.solve(Q @ (w[:, None] * Q.T), Q @ (w * problem.t))
    np.testing.assert_allclose(Inversion().solve(problem).p, expected, rtol=1e-10)
    G = problem.inverse
    np.testing.assert_allclose(G @ Q.T, np.eye(4), atol=1e-12)  # unbiased


def test_an_array_of_offsets_is_subtracted():
    problem = Equations(
        0.5, np.array([0.1, 0.4]), np.array([0.35, 0.65]), lambda p: multinomial(p, 9),
        np.ones(2), 9,
    )  # fmt: skip
    np.testing.assert_allclose(Inversion().solve(problem).p, [0.5, 0.5])


@pytest.mark.parametrize("Q", [np.array([[0.6, 0.4], [0.6, 0.4]]), np.full((3, 2), 0.5)])
def test_inversion_refuses_a_design_that_does_not_identify_p(Q):
    with pytest.raises(NotIdentified, match=r"rank 1.*more independent"):
        Inversion().solve(dense_moments(Q, np.array([6, 4])))


def test_inversion_refuses_a_channel_without_signal():
    flat = Equations(
        0.0, 0.5, np.array([0.4, 0.6]), lambda p: multinomial(p, 9),
        np.ones(2), 9,
    )  # fmt: skip
    with pytest.raises(NotIdentified, match="epsilon > 0"):
        Inversion().solve(flat)


# ---- onto the simplex


@pytest.mark.parametrize("seed", range(5))
def test_projection_solves_its_quadratic_programme(seed):
    v = np.random.default_rng(seed).normal(0.2, 0.5, size=7)
    q = cp.Variable(7, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(q - v)), [cp.sum(q) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    found = project_simplex(v)
    np.testing.assert_allclose(found, q.value, atol=1e-6)
    assert abs(found.sum() - 1) < 1e-15 and found.min() >= 0


def test_normalized_truncates_then_divides(counts):
    problem = krr_moments(counts, 0.8)
    kept = np.maximum(Inversion().solve(problem).p, 0)
    np.testing.assert_allclose(Normalized().solve(problem).p, kept / kept.sum(), rtol=1e-14)


def test_normalized_refuses_to_divide_nothing():
    nothing = unary_moments(np.array([20, 22, 18]), 100, 0.75, 0.25)
    with pytest.raises(NotIdentified, match="projected"):
        Normalized().solve(nothing)
    assert abs(Projected().solve(nothing).p.sum() - 1) < 1e-15


def test_nnls_of_a_dense_design_is_scipys():
    rng = np.random.default_rng(5)
    Q = rng.dirichlet(np.ones(8), size=5)
    c = rng.multinomial(60, Q[0])
    w = rng.random(8) + 0.5
    solution = NNLS().solve(dense_moments(Q, c, w))
    expected, _ = scipy.optimize.nnls(np.sqrt(w)[:, None] * Q.T, np.sqrt(w) * c / 60)
    np.testing.assert_allclose(solution.p, expected, atol=1e-12)
    assert (expected == 0).any()


def test_thresholded_by_hand():
    c = np.array([500, 300, 105, 95])
    a, b = krr_channel(4, 2.0)
    p = (c / 1000 - b) / a
    z = 2.241402727604947  # the 1 - .05/4 point of the normal law
    bound = z * np.sqrt(b * (1 - b) / 1000) / a
    assert (p > bound).tolist() == [True, True, False, False]
    solution = Thresholded(alpha=0.05).solve(krr_moments(c, 2.0))
    rest = (1 - p[0] - p[1]) / 2
    np.testing.assert_allclose(solution.p, [p[0], p[1], rest, rest], rtol=1e-12)
    assert "kept 2 of 4" in solution.message and "spread" in solution.message


def test_thresholded_says_when_it_rescales_what_it_kept():
    solution = Thresholded().solve(unary_moments(np.array([760, 740, 100]), 1000, 0.9, 0.1))
    assert "kept 2 of 3, divided by their sum 1.62" in solution.message
    np.testing.assert_allclose(solution.p, [0.66 / 1.3, 0.64 / 1.3, 0], rtol=1e-12)


def test_thresholded_spreads_everything_when_nothing_is_significant():
    c = np.array([7, 5, 5, 3])  # the standard error at zero is about .6
    np.testing.assert_array_equal(Thresholded().solve(krr_moments(c, 0.5)).p, np.full(4, 0.25))


def test_null_standard_errors_of_unary_reports():
    found = unary_moments(np.array([30, 40, 20]), 100, 0.75, 0.25).null_standard_errors()
    np.testing.assert_allclose(found, np.sqrt(0.25 * 0.75 / 100) / 0.5, rtol=1e-13)


def test_thresholded_keeps_no_false_category_at_its_level():
    rng = np.random.default_rng(3)  # 1000 surveys: 4 binomial standard errors are .028
    a, b = krr_channel(10, 1.0)
    p = np.array([0.6, 0.4] + [0.0] * 8)
    found = [
        Thresholded(0.05).solve(krr_moments(c, 1.0)).message
        for c in rng.multinomial(5000, a * p + b, size=1000)
    ]
    assert np.mean([not m.startswith("kept 2 of") for m in found]) < 0.05 * 0.8 + 0.028


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan"), "0.05"])
def test_thresholded_refuses_a_bad_level(alpha):
    with pytest.raises(InvalidArgument, match="alpha"):
        Thresholded(alpha=alpha)


def proposition_7(T: Array, n: int, p1: float, p0: float) -> tuple[Array, float]:
    """KBR16's Proposition 7 by a general convex solver."""
    q = cp.Variable(T.size, nonneg=True)
    m = p0 + (p1 - p0) * q
    objective = ((T / n) @ cp.log(m) + (1 - T / n) @ cp.log(1 - m)) / T.size
    cp.Problem(cp.Maximize(objective), [cp.sum(q) == 1]).solve(solver=cp.CLARABEL)
    return q.value, float(objective.value)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("k", [2, 5, 40])
def test_composite_maximises_proposition_7(k, epsilon):
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


@pytest.mark.parametrize("T", [[0, 0, 0], [100, 100, 100], [100, 0, 0], [0, 60, 40]])
def test_composite_at_extreme_counts(T):
    solution = Composite().solve(unary_moments(np.array(T), 100, 0.75, 0.25))
    assert abs(solution.p.sum() - 1) < 1e-12 and solution.p.min() >= 0
    assert float(solution.message.rsplit(" ", 1)[1]) < 1e-12


def test_composite_with_p0_zero():
    solution = Composite().solve(unary_moments(np.array([30, 20, 0]), 100, 0.5, 0.0))
    np.testing.assert_allclose(solution.p, [0.6, 0.4, 0.0], atol=1e-12)


def test_composite_refuses_other_reports(counts):
    with pytest.raises(NotAvailable, match="unary"):
        Composite().solve(krr_moments(counts, 1.0))
