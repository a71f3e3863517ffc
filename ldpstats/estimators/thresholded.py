"""Estimates that pass a significance threshold; the others share what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.moments import Moments
from ldpstats.problems.problem import Solution

__all__ = ["Thresholded", "null_standard_errors"]

Array = npt.NDArray[Any]


def null_standard_errors(problem: Moments) -> Array:
    """Standard error of each entry of the linear estimate if its own p_j were zero, shape (k,)."""
    return problem.null_standard_errors()


@dataclass(frozen=True)
class Thresholded(MomentsEstimator):
    """Significant estimates are kept, the rest of the mass is spread evenly over the others.

    Entry j of the linear estimate is kept where it exceeds z_{1 - alpha/k} standard errors at
    p_j = 0 (Bonferroni over the k categories; EPK14, MK19 sections 2.5 and 5). Where the kept
    entries already exceed one they are divided by their sum, and `message` says so.

    Parameters
    ----------
    alpha : float
        Probability, at most, of keeping any category that nobody has.

    Raises
    ------
    InvalidArgument
        Where alpha is not in (0, 1).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(4, epsilon=2.0)
    >>> solution = Thresholded(alpha=0.05).solve(krr.moments(krr.counts([500, 300, 110, 90])))
    >>> solution.p.round(4)
    array([0.6565, 0.3313, 0.0061, 0.0061])
    >>> solution.message
    'kept 2 of 4, 0.0121788 spread evenly over the others'
    """

    alpha: float = 0.05
    name: ClassVar[str] = "thresholded"

    def __post_init__(self) -> None:
        level(self.alpha)

    def solve(self, problem: Moments) -> Solution:
        """Return the thresholded estimate; `message` says what was kept."""
        from scipy.special import ndtri

        k = problem.k
        estimate, _ = problem.estimate()
        keep = estimate > -ndtri(self.alpha / k) * null_standard_errors(problem)
        total, n_kept = float(estimate[keep].sum()), int(keep.sum())
        if total > 1.0 or n_kept == k:
            p = np.where(keep, estimate, 0.0) / total
            message = f"kept {n_kept} of {k}, divided by their sum {total:.6g}"
        else:
            p = np.where(keep, estimate, (1.0 - total) / (k - n_kept))
            message = f"kept {n_kept} of {k}, {1.0 - total:.6g} spread evenly over the others"
        return Solution(p, np.nan, 0, True, message)
