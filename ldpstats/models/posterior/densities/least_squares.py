"""The posterior density of coefficients whose least squares estimate is nearly normal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity
from ldpstats.models.posterior.densities.coefficients import CoefficientPrior

__all__ = ["EstimateDensity"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class EstimateDensity(LogDensity):
    """Log posterior of coefficients given their estimate, which is normal about them.

    The estimate takes the place of the data, as in a posterior with limited information: it needs
    no law of the responses. The coordinates are the coefficients in standard errors, rotated.

    Parameters
    ----------
    estimate : array, shape (p,)
    covariance : array, shape (p, p)
        Of the estimate, positive definite.
    prior : CoefficientPrior
        Of the coefficients; normal.
    """

    estimate: Array
    covariance: Array
    prior: CoefficientPrior

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of coefficients."""
        return len(self.estimate)

    @cached_property
    def root(self) -> Array:
        """Square root of the covariance: coefficients less the estimate from coordinates."""
        return np.asarray(np.linalg.cholesky(self.covariance))

    def constrained(self, z: Array) -> Array:
        return np.asarray(self.estimate + z @ self.root.T)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        value, gradient = self.prior.evaluate(self.constrained(z))
        return value - 0.5 * (z * z).sum(axis=1), gradient @ self.root - z

    def curvature(self, z: Array) -> Array:
        theta = self.constrained(z)
        return np.asarray(np.eye(self.size) - self.root.T @ self.prior.hessian(theta) @ self.root)

    def mode(self) -> Array:
        start = np.zeros(self.size)  # the density is quadratic
        slope = self.evaluate(start[None])[1][0]
        return np.asarray(np.linalg.solve(self.curvature(start), slope))
