"""The posterior density of a regression on privatised answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.search import search
from ldpstats.inference.chains.density import LogDensity
from ldpstats.models.posterior.densities.coefficients import CoefficientPrior
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.many import scores_at
from ldpstats.problems.regression.outcomes import Normal
from ldpstats.problems.regression.standard import start, units

__all__ = ["RegressionDensity"]

Array = npt.NDArray[Any]

_CONCAVE_ENOUGH = 0.5  # coefficients of standardised covariates known to this: one maximum


@dataclass(frozen=True, eq=False)
class RegressionDensity(LogDensity):
    """Log posterior of the parameters of a regression.

    The coordinates are slopes of standardised covariates, ``theta = units @ z``. Reported are the
    parameters of the outcome as a fit shows them, with sigma in place of its logarithm.

    Parameters
    ----------
    likelihood : RegressionLikelihood
    prior : CoefficientPrior
    """

    likelihood: RegressionLikelihood
    prior: CoefficientPrior

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.likelihood.size

    @cached_property
    def units(self) -> Array:
        """Parameters from coordinates, (d, d)."""
        return units(self.likelihood)

    def parameters(self, z: Array) -> Array:
        """Parameters theta at coordinates, (..., d)."""
        return np.asarray(z @ self.units.T)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        thetas = self.parameters(z)
        with np.errstate(all="ignore"):  # what is not finite is refused by the sampler
            values, scores = scores_at(self.likelihood, thetas)
        there, slopes = self.prior.evaluate(thetas)
        return values + there, (scores + slopes) @ self.units

    def mode(self) -> Array:
        return self._peak

    @cached_property
    def _peak(self) -> Array:
        found = search(
            _Objective(self.likelihood, self.prior),
            start(self.likelihood),
            self.units,
            n_random=2,
            enough=_CONCAVE_ENOUGH,
        )
        return np.asarray(np.linalg.solve(self.units, found.maximum.theta))

    def curvature(self, z: Array) -> Array:
        theta = self.parameters(z)
        hessian = self.likelihood.evaluate(theta)[2] + self.prior.hessian(theta)
        return np.asarray(-self.units.T @ hessian @ self.units)

    def constrained(self, z: Array) -> Array:
        return self.shown(self.parameters(z))

    def shown(self, theta: Array) -> Array:
        """What is reported, (..., m), of parameters (..., d)."""
        found = np.array(theta[..., : self.likelihood.n_outcome])
        if isinstance(self.likelihood.outcome, Normal):
            found[..., -1] = np.exp(found[..., -1])
        return found


@dataclass(frozen=True, eq=False)
class _Objective:
    """The log posterior of theta, to be climbed."""

    likelihood: RegressionLikelihood
    prior: CoefficientPrior

    def value(self, theta: Array) -> float:
        with np.errstate(all="ignore"):
            found = self.likelihood.value(theta) + float(self.prior.evaluate(theta[None])[0][0])
        return found if np.isfinite(found) else -np.inf

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        value, score, hessian = self.likelihood.evaluate(theta)
        there, slope = self.prior.evaluate(theta[None])
        return value + float(there[0]), score + slope[0], hessian + self.prior.hessian(theta)
