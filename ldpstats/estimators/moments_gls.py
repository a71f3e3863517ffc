"""Moments of several variables from features that sum to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Moments
from ldpstats.problems.joint.moments import JointMoments
from ldpstats.problems.problem import Solution

__all__ = ["MomentsGLS"]


@dataclass(frozen=True)
class MomentsGLS(MomentsEstimator):
    """The linear estimate of a joint table, adjusted by least squares to margins that sum to one.

    Bit reports estimate each category from its own bit, so that their estimates do not sum to one.
    That they must is used report by report; it loses less to the maximum likelihood estimate.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> MomentsGLS().solve(ldp.AssociationModel(counts).moments()).p.sum().round(12)
    np.float64(1.0)
    """

    name: ClassVar[str] = "moments-gls"

    def solve(self, problem: Moments) -> Solution:
        """Adjust and solve `AssociationModel.moments`.

        Raises
        ------
        NotAvailable
            If the moments are not of a joint table, or some categories are not listed.
        """
        p, how = _adjusted(problem).estimate()
        return Solution(p, np.nan, 0, True, f"{how}; margins sum to one by least squares")

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        adjusted = _adjusted(problem)
        large = None if linear.factors is None else adjusted.factored
        return adjusted.covariance() if large is None else large


def _adjusted(problem: Moments) -> JointMoments:
    # only moments of several variables have margins
    if not isinstance(problem, JointMoments) or not problem.complete:
        raise NotAvailable("moments-gls is for joint tables whose categories are all listed")
    return problem.summing_to_one()
