"""Non-negative least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.problem import Solution

__all__ = ["NNLS"]


@dataclass(frozen=True)
class NNLS(MomentsEstimator):
    """The p >= 0 that fits the equations best in (weighted) least squares; its sum is free.

    With one equation per category this is the empirical estimate with negative entries set to zero.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))
    >>> NNLS().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([0.8667, 0.2667, 0.    ])
    """

    name: ClassVar[str] = "nnls"

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate; `message` holds the root of the weighted sum of squares left.

        Raises
        ------
        NotAvailable
            For moments of several variables.
        NotIdentified
            Where the equations do not determine p.
        """
        # each form of equations has its own algorithm, and moments know none
        if isinstance(problem, CohortMoments):
            return _of_cohorts(problem)
        if not isinstance(problem, Equations):
            raise NotAvailable("nnls is for one variable; use method 'moments' or 'projected'")
        G = problem.inverse  # also the check that p is identified
        moved = np.asarray(problem.t - problem.offset, dtype=np.float64)
        if np.ndim(G) < 2:
            p = np.maximum(moved * G, 0.0)
            residual = float(np.linalg.norm(moved - p / G))
        else:
            from scipy.optimize import nnls

            root = np.sqrt(problem.weights / np.max(problem.weights))
            p, residual = nnls(root[:, None] * problem.A, root * moved)
        return Solution(np.asarray(p), np.nan, 0, True, _message(p, residual))


def _of_cohorts(problem: CohortMoments) -> Solution:
    """The same over hashed candidates, by coordinate descent."""
    from ldpstats.estimators.solvers.nonnegative import nonnegative_lasso

    problem.require_identified()
    source = problem.single("nnls")
    weights, moved = source.cohort_weights, source.moved
    fit = nonnegative_lasso(source.design, weights, moved, 0.0)
    share = np.repeat(weights / weights.max(), source.design.n_cells)
    residual = np.sqrt(share @ (moved - source.design.times(fit.p)) ** 2)
    return Solution(fit.p, np.nan, fit.n_iter, fit.converged, _message(fit.p, float(residual)))


def _message(p: npt.NDArray[np.float64], residual: float) -> str:
    return f"non-negative least squares, sum {p.sum():.6g}: residual {residual:.2e}"
