"""Maximum likelihood by a general convex solver, with its certificate checked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import LikelihoodEstimator
from ldpstats.estimators.mle import maximise
from ldpstats.estimators.solvers.ascent import (
    Ascent,
    certified_gap,
    check_tol,
    gap_target,
    observed,
    report,
    require_possible,
)
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import Rows, UniformRows

__all__ = ["CvxpyMLE"]

Array = npt.NDArray[Any]

_LARGEST = 1 << 24  # entries of a dense W that are handed to the solver


@dataclass(frozen=True)
class CvxpyMLE(LikelihoodEstimator):
    """Maximum likelihood by cvxpy and CLARABEL (exponential cones), polished where needed.

    It exists as an independent check of `MLE`, which is faster. An interior-point solver stops on
    its own tolerances; where its gap is above the target, Newton steps from its answer close it,
    and `message` gives the gap before them.

    Parameters
    ----------
    tol : float or None
        Gap per report to reach; None for 1e-3 nats over all reports, with an estimated Newton step
        below 1e-3 standard errors.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> CvxpyMLE().solve(problem).p.round(6)
    array([0.7, 0.3])
    """

    tol: float | None = None
    name: ClassVar[str] = "cvxpy"

    def __post_init__(self) -> None:
        check_tol(self.tol)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood.

        Raises
        ------
        NotAvailable
            Where W has more than 1.7e7 entries and no structure that the solver can use.

        Warns
        -----
        ConvergenceWarning
            Where the gap was not reached.
        """
        W, n = observed(problem)
        require_possible(W)
        target = gap_target(problem.nobs, self.tol)
        p, status, n_iter = _by_cones(W, n)
        gap = certified_gap(W, n, p) if W.mix(p).min() > 0.0 else np.inf
        how = f"CLARABEL, {status}, gap {gap:.1e}"
        found = Ascent(p, gap, n_iter, gap <= target)
        if self.tol is None or not found.converged:
            polished, steps = maximise(W, n, target, self.tol is None, start=p)
            found = Ascent(polished.p, polished.gap, n_iter + polished.n_iter, polished.converged)
            how += f"; polished by {steps}"
        return report(found, problem.nobs, how, target)


def _by_cones(W: Rows, n: Array) -> tuple[Array, str, int]:
    """The solver's p, made to lie on the simplex, its own status and its iterations."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    u, k = W.shape
    p = cp.Variable(k, nonneg=True)
    if isinstance(W, UniformRows):  # sparse for cvxpy, of which rows know nothing
        mixed = W.a * p[W.codes] + W.background
    elif u * k <= _LARGEST:
        mixed = W.dense() @ p
    else:
        raise NotAvailable(
            f"{u} distinct reports of {k} categories are too many for cvxpy; use method 'mle'"
        )
    problem = cp.Problem(cp.Maximize((n / n.sum()) @ cp.log(mixed)), [cp.sum(p) == 1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # status tells
        try:
            problem.solve(solver=cp.CLARABEL)
            status = str(problem.status)
        except cp.SolverError:
            status = "failed"
    iterations = problem.solver_stats.num_iters if problem.solver_stats is not None else None
    # CLARABEL leaves entries of about -1e-10, and sums that are one only to its tolerance.
    value = np.full(k, 1.0) if p.value is None else np.maximum(p.value, 0.0)
    return value / value.sum(), status, int(iterations or 0)
