"""The empirical estimate, truncated and renormalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.estimators.inversion import Inversion
from ldpstats.problems.equations import Moments
from ldpstats.problems.problem import Solution

__all__ = ["Normalized"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Normalized(MomentsEstimator):
    """Negative entries set to zero, the rest divided by their sum (KBR16 section 4.1, remedy a).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))   # inversion gives .8667, .2667, -.1333
    >>> Normalized().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([0.7647, 0.2353, 0.    ])
    """

    name: ClassVar[str] = "normalized"

    def solve(self, problem: Moments) -> Solution:
        """Return the renormalised estimate; `message` holds the sum it was divided by.

        Raises
        ------
        NotIdentified
            Where no entry of the empirical estimate is positive.
        """
        kept = np.maximum(Inversion().solve(problem).p, 0.0)
        total = float(kept.sum())
        if total == 0.0:
            raise NotIdentified(
                "no entry of the empirical estimate is positive, so nothing is left to normalise; "
                "collect more reports, or use method 'projected' or 'mle'"
            )
        message = f"negative entries set to zero, the rest divided by their sum {total:.6g}"
        return Solution(kept / total, np.nan, 0, True, message)

    def excess(self, problem: Moments, p: Array) -> Array:
        """In proportion to p: dividing by a sum of 1 + s takes p s away, to first order."""
        return p
