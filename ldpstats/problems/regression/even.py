"""The law of linear predictors under which probabilities are uniform, and its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Binary, Categorical, Multinomial
from ldpstats.problems.regression.predictors import Parallel, Predictors

__all__ = ["EvenLevel"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class EvenLevel:
    """The prior of a level: all category probabilities at one place are as likely as any others.

    The probabilities have the flat Dirichlet law, as the frequencies of a survey without
    covariates. The density is that of the parameters: the Jacobian from the probabilities to the
    linear predictors, and from these to the parameters, is included. It is `slope` for two
    categories, the product of the probabilities for a multinomial logit, and the product of
    logistic densities at the thresholds for ordered categories.

    Parameters
    ----------
    outcome : Categorical
    design : Predictors
        Of one row: the covariates of the place, such as their means.
    constant : int, optional
        The covariate that is the constant; none where thresholds stand for it.
    """

    outcome: Categorical
    design: Predictors
    constant: int | None = None

    def evaluate(self, thetas: Array) -> tuple[Array, Array]:
        """Log density, (c,), and gradient, (c, size), at c parameter vectors."""
        value, first, _ = self._bent(self.design.etas(thetas))
        _, volume = self.design.stretch(thetas[0])  # its logarithm is linear
        return value[:, 0] + thetas @ volume, self.design.adjoints(thetas, first) + volume

    def hessian(self, theta: Array) -> Array:
        """Second derivatives of the log density, (size, size); `stretch` is linear."""
        _, first, second = self._bent(self.design.eta(theta))
        return self.design.hessian(theta, second, first)

    def _bent(self, eta: Array) -> tuple[Array, Array, Array]:
        """Log of the volume, its first and second derivatives by eta, shape (..., q)."""
        if isinstance(self.outcome, Multinomial):
            k, p = self.outcome.k, self.outcome.mean(eta)
            with np.errstate(divide="ignore"):
                value = np.log(p).sum(axis=-1)
            second = k * p[..., 1:, None] * p[..., None, 1:]
            own = np.einsum("...aa->...a", second)
            own -= k * p[..., 1:]
            return value, 1.0 - k * p[..., 1:], second
        value, first, curved = _LOG_SLOPES[getattr(self.outcome, "link", "logit")](eta)
        return value.sum(axis=-1), first, curved[..., None] * np.eye(eta.shape[-1])

    @property
    def log_scale(self) -> float:
        """What `evaluate` leaves out of the logarithm of the density of linear predictors."""
        missing = (
            0.5 * np.log(2.0 * np.pi) if getattr(self.outcome, "link", "") == "probit" else 0.0
        )
        return float(lgamma(self.outcome.k) - missing)

    @property
    def linear(self) -> Array:
        """Linear predictors of the place as combinations of parameters (or their steps), (q, size).

        `stretch` is what turns steps between thresholds into parameters, and part of `evaluate`.
        """
        q, x = self.design.q, self.design.X
        if isinstance(self.design, Parallel):
            return np.hstack([np.repeat(-x, q, axis=0), np.tri(q)])
        return np.asarray(np.kron(np.eye(q), x))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Linear predictors of the place, shape (size, q)."""
        from scipy.special import logit, ndtri

        if isinstance(self.outcome, Multinomial):
            logarithms = np.log(rng.dirichlet(np.ones(self.outcome.k), size))
            return logarithms[:, 1:] - logarithms[:, :1]
        u = np.sort(rng.random((size, self.outcome.q)), axis=1)
        link = self.outcome.link if isinstance(self.outcome, Binary) else "logit"
        if link == "cloglog":
            return np.log(-np.log1p(-u))
        return np.asarray(ndtri(u) if link == "probit" else logit(u))

    def parameters(self, theta: Array, eta: Array) -> Array:
        """Parameters with the slopes of theta, (m, size), and these linear predictors, (m, q)."""
        found, p = np.array(theta), self.design.p
        x = self.design.X[0]
        if isinstance(self.design, Parallel):
            cuts = eta + (found[:, :p] @ x)[:, None]
            found[:, p] = cuts[:, 0]
            found[:, p + 1 :] = np.log(np.diff(cuts, axis=1))
            return found
        at = self.constant
        assert at is not None
        table = found.reshape(len(found), self.design.q, p)
        table[:, :, at] = 0.0
        table[:, :, at] = (eta - table @ x) / x[at]
        return table.reshape(len(found), -1)


def _logit(eta: Array) -> tuple[Array, Array, Array]:
    from scipy.special import expit, log_expit

    p = expit(eta)
    return log_expit(eta) + log_expit(-eta), 1.0 - 2.0 * p, -2.0 * p * expit(-eta)


def _probit(eta: Array) -> tuple[Array, Array, Array]:
    return -0.5 * eta**2, -eta, np.full(eta.shape, -1.0)


def _cloglog(eta: Array) -> tuple[Array, Array, Array]:
    rate = np.exp(np.minimum(eta, 700.0))
    return eta - rate, 1.0 - rate, -rate


_LOG_SLOPES = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}
