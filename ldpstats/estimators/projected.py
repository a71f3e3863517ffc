"""Projection of the empirical estimate onto the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.base import MomentsEstimator
from ldpstats.estimators.inversion import Inversion
from ldpstats.problems import Moments, Solution

__all__ = ["Projected", "project_simplex"]

Array = npt.NDArray[Any]


def project_simplex(v: Array) -> Array:
    """Point of the simplex nearest to v in the Euclidean distance (Wang & Carreira-Perpinan 2013).

    It is ``max(v - mu, 0)`` with mu such that it sums to one, found by one sort.

    Parameters
    ----------
    v : array, shape (k,)

    Returns
    -------
    array, shape (k,)

    Examples
    --------
    >>> project_simplex(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    """
    largest_first = np.sort(v)[::-1]
    mu = (np.cumsum(largest_first) - 1.0) / np.arange(1, v.size + 1)
    positive = int(np.flatnonzero(largest_first > mu)[-1])
    return np.asarray(np.maximum(v - mu[positive], 0.0))


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
