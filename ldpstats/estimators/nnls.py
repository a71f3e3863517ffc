"""Non-negative least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.estimators.base import MomentsEstimator
from ldpstats.estimators.inversion import linear_map
from ldpstats.problems import Moments, Solution

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
        NotIdentified
            Where the equations do not determine p (see `linear_map`).
        """
        G = linear_map(problem)  # also the check that p is identified
        moved = np.asarray(problem.t - problem.offset, dtype=np.float64)
        if isinstance(G, float):
            p = np.maximum(moved * G, 0.0)
            residual = float(np.linalg.norm(moved - p / G))
        else:
            from scipy.optimize import nnls

            root = np.sqrt(problem.weights / np.max(problem.weights))
            p, residual = nnls(root[:, None] * problem.A, root * moved)
        message = f"non-negative least squares, sum {p.sum():.6g}: residual {residual:.2e}"
        return Solution(np.asarray(p), np.nan, 0, True, message)
