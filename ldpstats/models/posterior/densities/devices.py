"""The posterior density of a regression whose devices have unknown parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.bounded import BoundedMaximum, search_bounded
from ldpstats.inference.chains.density import LogDensity
from ldpstats.models.posterior.densities.coefficients import CoefficientPrior
from ldpstats.problems.regression.parametric import ParametricRegression

__all__ = ["DevicesDensity"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DevicesDensity(LogDensity):
    """Log posterior of slopes of standardised covariates, and of logits of unknown parameters.

    The log-likelihood, the prior's log density of coefficients, and ``a log theta + b log(1 -
    theta)``, which is a beta density with the Jacobian of the logit. Reported are the coefficients
    of the outcome as a fit shows them, then the unknown parameters.

    Parameters
    ----------
    likelihood : ParametricRegression
        Of p coefficients and m parameters.
    prior : CoefficientPrior
    a, b : arrays, shape (m,)
        Of the beta priors.
    """

    likelihood: ParametricRegression
    prior: CoefficientPrior
    a: Array
    b: Array

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.likelihood.size

    @cached_property
    def units(self) -> Array:
        """Coefficients from coordinates, (p, p)."""
        return self.likelihood.units[: self.likelihood.p, : self.likelihood.p]

    def parameters(self, z: Array) -> Array:
        """Coefficients and parameters at coordinates, (..., p + m)."""
        from scipy.special import expit

        p = self.likelihood.p
        return np.concatenate([z[..., :p] @ self.units.T, expit(z[..., p:])], axis=-1)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        from scipy.special import log_expit

        p, x = self.likelihood.p, self.parameters(z)
        theta = x[:, p:]
        with np.errstate(all="ignore"):  # what is not finite is refused by the sampler
            values, scores = self.likelihood.scores_at(x)
        there, slopes = self.prior.evaluate(x[:, :p])
        values = values + there + log_expit(z[:, p:]) @ self.a + log_expit(-z[:, p:]) @ self.b
        by_beta = (scores[:, :p] + slopes) @ self.units
        by_theta = theta * (1.0 - theta) * scores[:, p:] + self.a - (self.a + self.b) * theta
        return values, np.concatenate([by_beta, by_theta], axis=1)

    def curvature(self, z: Array) -> Array:
        p, x = self.likelihood.p, self.parameters(z)
        theta = x[p:]
        spread = theta * (1.0 - theta)
        _, score, hessian = self.likelihood.evaluate(x)
        hessian[:p, :p] += self.prior.hessian(x[:p])
        units_ = self.likelihood.units.copy()
        units_[range(p, self.size), range(p, self.size)] = spread
        found = units_.T @ hessian @ units_
        bend = spread * ((1.0 - 2.0 * theta) * score[p:] - (self.a + self.b))
        found[range(p, self.size), range(p, self.size)] += bend
        return np.asarray(-found)

    @cached_property
    def peaks(self) -> tuple[BoundedMaximum, list[BoundedMaximum]]:
        """The highest maximum in these coordinates, and others that are as high."""
        return self.highest(self.a, self.b)

    def mode(self) -> Array:
        x, p = self.peaks[0].x, self.likelihood.p
        theta = np.clip(x[p:], 1e-12, 1.0 - 1e-12)
        logits = np.log(theta) - np.log1p(-theta)
        return np.append(np.linalg.solve(self.units, x[:p]), logits)

    def highest(self, a: Array, b: Array) -> tuple[BoundedMaximum, list[BoundedMaximum]]:
        """The maximum where priors of parameters have these exponents, and others as high."""
        objective = _Objective(self.likelihood, self.prior, a, b)
        return search_bounded(objective, self.likelihood.start, self.likelihood.units)

    def constrained(self, z: Array) -> Array:
        return self.shown(self.parameters(z))

    def shown(self, x: Array) -> Array:
        """What is reported, of coefficients and parameters (..., p + m)."""
        n_outcome, p = self.likelihood.base.n_outcome, self.likelihood.p
        return np.concatenate([x[..., :n_outcome], x[..., p:]], axis=-1)


@dataclass(frozen=True, eq=False)
class _Objective:
    """The log posterior of x = (beta, theta), to be climbed."""

    likelihood: ParametricRegression
    prior: CoefficientPrior
    a: Array
    b: Array

    @property
    def p(self) -> int:
        return self.likelihood.p

    @property
    def m(self) -> int:
        return self.likelihood.m

    def value(self, x: Array) -> float:
        from scipy.special import xlog1py, xlogy

        theta = x[self.p :]
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        with np.errstate(all="ignore"):
            found = self.likelihood.value(x) + float(self.prior.evaluate(x[None, : self.p])[0][0])
            found += float((xlogy(self.a, theta) + xlog1py(self.b, -theta)).sum())
        return found if np.isfinite(found) else -np.inf

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        p, theta = self.p, x[self.p :]
        _, score, hessian = self.likelihood.evaluate(x)
        score[:p] += self.prior.evaluate(x[None, :p])[1][0]
        hessian[:p, :p] += self.prior.hessian(x[:p])
        low = np.divide(self.a, theta, out=np.zeros(self.m), where=self.a != 0.0)
        high = np.divide(self.b, 1.0 - theta, out=np.zeros(self.m), where=self.b != 0.0)
        score[p:] += low - high
        at = range(p, score.size)
        bent = np.divide(low, theta, out=np.zeros(self.m), where=self.a != 0.0)
        bent += np.divide(high, 1.0 - theta, out=np.zeros(self.m), where=self.b != 0.0)
        hessian[at, at] -= bent
        return self.value(x), score, hessian
