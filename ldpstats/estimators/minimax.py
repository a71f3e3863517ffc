"""KBR16's minimax estimator of the squared loss, with private frequencies in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Moments
from ldpstats.problems.problem import Solution

__all__ = ["Minimax"]


@dataclass(frozen=True)
class Minimax(MomentsEstimator):
    """``(sqrt(n) / k + T) / (sqrt(n) + n)`` with T = n times the unbiased estimate (KBR16 eq. 25).

    For answers without noise T are the counts of the categories, and the estimate is minimax for
    the l2 loss (Lehmann and Casella 1998): its risk is ``(1 - 1/k) / (sqrt(n) + 1)^2`` whatever the
    frequencies are. KBR16 prints it for that case only. For private reports T is n times the
    estimate of `Inversion`. Under k-RR and k-RAPPOR, where the summed variance is a constant less
    ``sum p^2 / n``, the risk is then the same for all frequencies too; it is not minimax any more.

    The default is better for inference: this estimate is biased towards 1/k by about
    ``1 / sqrt(n)`` of the distance, as much as a standard error without noise, and improves the
    largest loss by a factor of ``(1 + 1 / sqrt(n))^2`` only. It is not constrained to the simplex.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> told = ldp.Observed(("a", "b", "c"))
    >>> counts = told.counts([80, 15, 5])                  # (10/3 + T) / 110
    >>> Minimax().solve(told.moments(counts)).p.round(4)
    array([0.7576, 0.1667, 0.0758])
    """

    name: ClassVar[str] = "minimax"

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate; `message` holds the weight of the uniform distribution.

        Raises
        ------
        NotAvailable
            For hashed candidates, of which there may be more than are listed.
        """
        kept = _kept(problem)
        p = kept * problem.estimate()[0] + (1.0 - kept) / problem.k
        message = f"the unbiased estimate with weight {kept:.6g}, the uniform one with the rest"
        return Solution(p, np.nan, 0, True, message)

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        """That of the unconstrained estimate, shrunk."""
        return linear.stretched(_kept(problem))


def _kept(problem: Moments) -> float:
    """Weight of the unbiased estimate: n over n + sqrt(n)."""
    if problem.kind == "cohorts":
        raise NotAvailable(
            "the minimax estimator needs all categories, and hashed candidates need not be all: "
            "use method 'inversion'"
        )
    return float(1.0 / (1.0 + 1.0 / np.sqrt(problem.nobs)))
