"""A log-likelihood, and half the log determinant of its information added to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.jeffreys import ExpectedInformation
from ldpstats.problems.regression.likelihood import RegressionLikelihood

__all__ = ["Penalised"]

Array = npt.NDArray[Any]

_STEP = 1e-5  # of the differences of the penalty's derivatives, in standard errors
_MOST = 12  # parameters up to which the penalty's second derivatives are worth their time


@dataclass(frozen=True, eq=False)
class Penalised:
    """The objective ``l(theta) + log det I(theta) / 2``.

    Parameters
    ----------
    likelihood : RegressionLikelihood
    information : ExpectedInformation
        Of the first parameters, those of the outcome.
    """

    likelihood: RegressionLikelihood
    information: ExpectedInformation

    def value(self, theta: Array) -> float:
        """The objective; minus infinity where it is not defined."""
        beta = theta[: self.information.size]
        return self.likelihood.value(theta) + self.information.penalty(beta)

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian, that of the penalty by differences."""
        m = self.information.size
        value, score, hessian = self.likelihood.evaluate(theta)
        penalty, slope = self.information.penalty_slope(theta[:m])
        score, hessian = score.copy(), hessian.copy()
        score[:m] += slope
        if m <= _MOST and np.isfinite(penalty):
            scale = np.sqrt(np.abs(np.diagonal(hessian)[:m]))
            steps = _STEP / np.where(scale > 0.0, scale, 1.0)
            bend = np.empty((m, m))
            for j in range(m):
                beside = theta[:m].copy()
                beside[j] += steps[j]
                bend[j] = (self.information.penalty_slope(beside)[1] - slope) / steps[j]
            if np.isfinite(bend).all():
                hessian[:m, :m] += (bend + bend.T) / 2.0
        return value + penalty, score, hessian
