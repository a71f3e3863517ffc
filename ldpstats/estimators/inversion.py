"""The unbiased linear estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.equations import Moments
from ldpstats.problems.problem import Solution

__all__ = ["Inversion"]


@dataclass(frozen=True)
class Inversion(MomentsEstimator):
    """The unbiased empirical estimate ``p = G (t - offset)`` (KBR16 eq. 6 and 11).

    Entries may be negative; they are shown as they are. See `Equations.inverse` for G.

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
            Where different p give the same reports.
        """
        p, message = problem.estimate()
        return Solution(p, np.nan, 0, True, message)
