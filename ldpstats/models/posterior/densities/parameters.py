"""The posterior of frequencies and unknown parameters of devices, without constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric.maximum import maximum as best_of_starts
from ldpstats.inference.chains.density import LogDensity, maximum
from ldpstats.priors.base import LogitLaw, softmax_log
from ldpstats.priors.dirichlet import DirichletLaw
from ldpstats.problems.parametric.likelihood import ParametricLikelihood
from ldpstats.problems.parametric.matrices import PolynomialMatrix

__all__ = ["ParametersDensity", "with_answers"]

Array = npt.NDArray[Any]

_STEP = 1e-5  # of log ratios and logits, for second derivatives


@dataclass(frozen=True, eq=False)
class ParametersDensity(LogDensity):
    """Log posterior of log ratios of p, shape (k - 1,), and then of logits of theta, shape (m,).

    The log-likelihood, the prior's log density of log ratios, and ``a log theta + b log(1 -
    theta)``, which is a beta density with the Jacobian of the logit.

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Of one survey.
    prior : LogitLaw
        Of the frequencies.
    a, b : arrays, shape (m,)
        Of the beta priors.
    """

    likelihood: ParametricLikelihood
    prior: LogitLaw
    a: Array
    b: Array

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.likelihood.size - 1

    @property
    def _k(self) -> int:
        return self.likelihood.k

    @cached_property
    def _start(self) -> Array:
        """The posterior mode of log ratios and logits by a Dirichlet prior, as (p, theta)."""
        law = self.prior
        alpha = law.alpha if isinstance(law, DirichletLaw) else np.ones(self._k)
        return best_of_starts(with_answers(self.likelihood, alpha, self.a, self.b)).inner

    @cached_property
    def _reference(self) -> int:
        return int(np.argmax(self._start[: self._k]))

    def _parts(self, z: Array) -> tuple[Array, Array]:
        """log p, (..., k), and theta, (..., m)."""
        from scipy.special import expit

        ratios = np.insert(z[..., : self._k - 1], self._reference, 0.0, axis=-1)
        return softmax_log(ratios), np.asarray(expit(z[..., self._k - 1 :]))

    def constrained(self, z: Array) -> Array:
        logp, theta = self._parts(z)
        return np.concatenate([np.exp(logp), theta], axis=-1)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        from scipy.special import log_expit

        logp, theta = self._parts(z)
        logits = z[..., self._k - 1 :]
        value, gradient = self.prior.evaluate(logp)
        x = np.concatenate([np.exp(logp), theta], axis=-1)
        found, score = self.likelihood.evaluate(x)
        value = value + found
        value = value + log_expit(logits) @ self.a + log_expit(-logits) @ self.b
        p, by_p = x[..., : self._k], score[..., : self._k]
        by_p = p * (by_p - np.einsum("...k,...k->...", p, by_p)[..., None])
        by_theta = theta * (1.0 - theta) * score[..., self._k :]
        by_theta = by_theta + self.a - (self.a + self.b) * theta
        ratios = np.delete(gradient + by_p, self._reference, axis=-1)
        return value, np.concatenate([ratios, by_theta], axis=-1)

    def curvature(self, z: Array) -> Array:
        steps = _STEP * np.eye(self.size)
        up, down = (self.evaluate(z + sign * steps)[1] for sign in (1.0, -1.0))
        return np.asarray((down - up) / (2.0 * _STEP))

    def mode(self) -> Array:
        p, theta = self._start[: self._k], self._start[self._k :]
        logp = np.log(np.maximum(p, 1e-12))
        ratios = np.delete(logp - logp[self._reference], self._reference)
        theta = np.clip(theta, 1e-12, 1.0 - 1e-12)
        return maximum(self, np.concatenate([ratios, np.log(theta) - np.log1p(-theta)]))


def with_answers(
    likelihood: ParametricLikelihood, alpha: Array, a: Array, b: Array
) -> ParametricLikelihood:
    """The likelihood with answers that were asked directly, and trials of the parameters.

    Parameters
    ----------
    likelihood : ParametricLikelihood
    alpha : array, shape (k,)
        Direct answers of each category, which need not be whole.
    a, b : arrays, shape (m,)
        Trials of each parameter that succeeded and failed.
    """
    k, m = likelihood.k, likelihood.m
    matrices, counts = list(likelihood.matrices), list(likelihood.counts)
    if alpha.any():
        matrices.append(PolynomialMatrix.constant(np.eye(k), m))
        counts.append(alpha)
    for j in range(m):
        if a[j] or b[j]:
            exponents = np.array([np.zeros(m), np.eye(m)[j]], dtype=np.int64)
            rows = [np.tile([0.0, 1.0], (k, 1)), np.tile([1.0, -1.0], (k, 1))]
            matrices.append(PolynomialMatrix(exponents, np.array(rows)))
            counts.append(np.array([a[j], b[j]]))
    return replace(likelihood, matrices=tuple(matrices), counts=tuple(counts))
