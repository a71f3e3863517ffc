"""The unbiased linear estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems import Moments, Solution

__all__ = ["Inversion", "linear_map"]

Array = npt.NDArray[Any]


def linear_map(problem: Moments) -> float | Array:
    """The G of the linear estimate ``p = G (t - offset)``, whose covariance is G V(p) G'.

    Weighted least squares: ``G = (A' D A)^-1 A' D`` with D the diagonal of `problem.weights`, which
    is A^-1 for a square A. Equations of weight zero are left out.

    Parameters
    ----------
    problem : Moments

    Returns
    -------
    float or array, shape (k, d)
        A float g stands for g times the identity, as in `Moments.A`.

    Raises
    ------
    NotIdentified
        Where the rank of A is below k, so that different p give the same reports.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> warner = ldp.Warner(epsilon=np.log(3.0))   # Q = [[.75, .25], [.25, .75]] = I/2 + 11'/4
    >>> round(linear_map(warner.moments(warner.counts([60, 40]))), 12)
    2.0
    """
    return problem.inverse


@dataclass(frozen=True)
class Inversion(MomentsEstimator):
    """The unbiased empirical estimate ``p = G (t - offset)`` (KBR16 eq. 6 and 11).

    Entries may be negative; they are shown as they are. See `linear_map` for G.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))   # p = 2 m - 1/3
    >>> Inversion().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([ 0.8667,  0.2667, -0.1333])
    """

    name: ClassVar[str] = "inversion"

    def solve(self, problem: Moments) -> Solution:
        """Return the linear estimate; `message` holds the misfit of the equations.

        Raises
        ------
        NotIdentified
            See `linear_map`.
        """
        G = linear_map(problem)
        moved = np.asarray(problem.t - problem.offset, dtype=np.float64)
        if isinstance(G, float):
            return Solution(moved * G, np.nan, 0, True, "one equation per category, solved exactly")
        p = G @ moved
        misfit = float(np.abs(moved - problem.A @ p).max())
        message = (
            f"least squares of {moved.size} equations, weights their precision at the uniform p: "
            f"largest misfit {misfit:.2e}"
        )
        return Solution(p, np.nan, 0, True, message)
