"""Projection of the empirical estimate onto the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.base import MomentsEstimator
from ldpstats.estimators.inversion import Inversion
from ldpstats.problems.equations import Moments
from ldpstats.problems.problem import Solution
from ldpstats.problems.simplex import project_simplex

__all__ = ["Projected"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Projected(MomentsEstimator):
    """The empirical estimate projected onto the simplex (KBR16 section 4.1, remedy b).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=1.0)
    >>> problem = krr.moments(krr.counts([60, 35, 5]))
    >>> Projected().solve(problem).p.round(4)
    array([0.8432, 0.1568, 0.    ])
    """

    name: ClassVar[str] = "projected"

    def solve(self, problem: Moments) -> Solution:
        """Return the projection; `message` says how far the estimate was moved."""
        estimate = Inversion().solve(problem).p
        p = project_simplex(estimate)
        distance = float(np.linalg.norm(p - estimate))
        return Solution(
            p, np.nan, 0, True, f"projected onto the simplex, at distance {distance:.2e}"
        )

    def excess(self, problem: Moments, p: Array) -> Array:
        """The same from every category."""
        return np.full(p.size, 1.0 / p.size)
