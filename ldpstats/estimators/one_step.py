"""The dual of the likelihood of several variables: one pass from the marginal fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.arguments.checks import positive_integer
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.equations import Moments
from ldpstats.problems.problem import Solution

__all__ = ["OneStep"]


@dataclass(frozen=True)
class OneStep(MomentsEstimator):
    """Joint distribution in one pass over the reports, from the two marginal fits.

    ``P = JX^-1 mean(a b') JY^-1`` with the scores a and b of each report at the marginal fits, and
    their information JX and JY. It is unbiased to first order whatever P is, and near independence
    as good as the maximum likelihood estimate in the interior; sums over chunks are all it needs.

    Parameters
    ----------
    newton : int
        Newton steps of the joint likelihood that `AssociationModel.fit` takes from there, without
        the constraint p >= 0; one makes it as good as the maximum likelihood estimate under any
        association, in the interior.

    Raises
    ------
    InvalidArgument
        Where `newton` is negative.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> model = ldp.AssociationModel(counts)
    >>> OneStep().solve(model.dual_moments()).p.round(3)
    array([0.488, 0.078, 0.078, 0.357])
    """

    newton: int = 0
    name: ClassVar[str] = "one_step"

    def __post_init__(self) -> None:
        positive_integer("newton", self.newton, 0)

    def solve(self, problem: Moments) -> Solution:
        """Solve the moments of the scores (`AssociationModel.dual_moments`)."""
        p, how = problem.estimate()
        return Solution(p, np.nan, 0, True, f"dual of the likelihood: {how}")
