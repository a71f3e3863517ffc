"""What all estimators share: laws of their answers, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.moment_problems import DENSE, krr_channel, krr_likelihood, unary_moments

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators import (
    EM,
    ESTIMATORS,
    MLE,
    NNLS,
    Composite,
    CvxpyMLE,
)
from ldpstats.estimators.base import LikelihoodEstimator, MomentsEstimator
from ldpstats.problems.problem import Likelihood

Array = npt.NDArray[Any]


# these need candidates, and those are biased or stop early: see their own tests
OTHERS = {"lasso", "unweighted", "minimax", "smoothed", "em-fpe16"}


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - OTHERS))
def test_every_estimator_recovers_p_from_exact_expected_counts(name: str) -> None:
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
def test_names_are_the_keys(name: str) -> None:
    assert ESTIMATORS[name].name == name
    assert issubclass(ESTIMATORS[name], LikelihoodEstimator | MomentsEstimator)
    assert ESTIMATORS[name]() == ESTIMATORS[name]()  # frozen, with values for an identity


def test_importing_the_estimators_imports_no_solver() -> None:
    code = (
        "import sys, ldpstats.estimators; "
        "print(sorted({'scipy', 'cvxpy', 'numba', 'statsmodels'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("estimator", [MLE(), EM(), CvxpyMLE()])
def test_a_brute_force_grid_finds_nothing_better(estimator: LikelihoodEstimator) -> None:
    rng = np.random.default_rng(11)
    for _ in range(5):
        Q = rng.dirichlet(np.ones(4), size=3)
        c = rng.multinomial(50, Q[0])
        problem = Likelihood(Q.T, c)
        best = problem.loglike(estimator.solve(problem).p)
        x, y = np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61))
        inside = x + y <= 1
        grid = np.stack([x[inside], y[inside], (1 - x - y)[inside]], axis=1).clip(0)
        with np.errstate(divide="ignore"):
            values = np.log(grid @ Q) @ c
        assert values.max() <= best + 1e-3  # the tolerance of the estimators, in nats


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
def test_degenerate_likelihoods(
    estimator: LikelihoodEstimator, W: Array, n: list[int], expected: list[float] | None
) -> None:
    problem = Likelihood(W, np.array(n))
    solution = estimator.solve(problem)
    assert solution.converged
    assert abs(solution.p.sum() - 1) < 1e-12 and solution.p.min() >= 0
    assert problem.gap_nats(solution.p) <= 1e-3
    if expected is not None:
        np.testing.assert_allclose(solution.p, expected, atol=2e-3)


@pytest.mark.parametrize("estimator", [MLE(), EM(), CvxpyMLE()])
def test_an_impossible_report_is_refused(estimator: LikelihoodEstimator) -> None:
    W = np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])
    with pytest.raises(InvalidArgument, match=r"W\[1\].*impossible"):
        estimator.solve(Likelihood(W, np.array([3, 1, 2])))
    assert estimator.solve(Likelihood(W, np.array([3, 0, 2]))).converged  # never seen: no matter
    with pytest.raises(InvalidArgument, match="at least one report"):
        estimator.solve(Likelihood(DENSE, np.array([0, 0])))


def test_bad_settings() -> None:
    for make in (MLE, EM, CvxpyMLE):
        for tol in (0.0, -1e-9, float("nan")):
            with pytest.raises(InvalidArgument, match="tol"):
                make(tol=tol)
    for make in (MLE, EM):
        for max_iter in (0, 2.5, True):
            with pytest.raises(InvalidArgument, match="max_iter"):
                make(max_iter=max_iter)


@pytest.mark.parametrize("estimator", [NNLS(), Composite()])
def test_what_is_for_one_variable_refuses_several(estimator: MomentsEstimator) -> None:
    krr = ldp.KRR(2, epsilon=2.0)
    model = ldp.AssociationModel(ldp.JointCounts.from_table([[40, 15], [15, 30]], (krr, krr)))
    with pytest.raises(NotAvailable, match="one"):
        model.fit(estimator)
    assert estimator.constraints is None
