"""A log-likelihood, and half the log determinant of its information added to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.jeffreys import ExpectedInformation
from ldpstats.problems.regression.likelihood import RegressionLikelihood

__all__ = ["Penalised"]

Array = npt.NDArray[Any]

_STEP = 1e-5  # of the differences of the penalty's derivatives, in standard errors
_LONGEST = 1e-3  # such a difference, where the likelihood is flat
_MOST = 3  # parameters up to which the penalty's second derivatives are taken at every step


@dataclass(frozen=True, eq=False)
class Penalised:
    """The objective ``l(theta) + log det I(theta) / 2``.

    Parameters
    ----------
    likelihood : RegressionLikelihood
    information : ExpectedInformation
        Of the first parameters, those of the outcome.
    bend : array, shape (m, m), optional
        Second derivatives of the penalty that do for all theta: they steer steps only.
    """

    likelihood: RegressionLikelihood
    information: ExpectedInformation
    bend: Array | None = None

    def bent_at(self, theta: Array) -> Penalised:
        """The same with second derivatives of the penalty that were taken at theta."""
        m = self.information.size
        if m <= _MOST:
            return self
        hessian = self.likelihood.evaluate(theta)[2]
        _, slope = self.information.penalty_slope(theta[:m])
        return replace(self, bend=self._differences(theta, slope, hessian))

    def _differences(self, theta: Array, slope: Array, hessian: Array) -> Array | None:
        """Second derivatives of the penalty; None where they are not finite."""
        m = self.information.size
        scale = np.sqrt(np.abs(np.diagonal(hessian)[:m]))
        steps = _STEP / np.where(scale > 0.0, scale, 1.0)
        steps = np.minimum(steps, _LONGEST * (1.0 + np.abs(theta[:m])))
        bend = np.empty((m, m))
        for j in range(m):
            beside = theta[:m].copy()
            beside[j] += steps[j]
            bend[j] = (self.information.penalty_slope(beside)[1] - slope) / steps[j]
        return (bend + bend.T) / 2.0 if np.isfinite(bend).all() else None

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
        bend = self.bend
        if m <= _MOST and np.isfinite(penalty):
            bend = self._differences(theta, slope, hessian)
        if bend is not None:
            hessian[:m, :m] += bend
        return value + penalty, score, hessian
