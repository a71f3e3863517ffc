"""The corrected log-likelihood: unbiased for the one that true answers would give.

With phi_ic the unbiased indicator that respondent i is in configuration c of the private
predictors, and a_iy that her outcome is y, it is ``sum_i w_i sum_c phi_ic sum_y a_iy log
pi_y(eta_ic)``. Given the true answers its mean is their log-likelihood, whatever the law of the
private predictors. As indicators may be negative it need be neither concave nor bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Categorical, Outcome, Terms
from ldpstats.problems.regression.predictors import Predictors

__all__ = ["CorrectedLikelihood"]

Array = npt.NDArray[Any]

_LEAST = 0.02  # share of a configuration in the smoothed indicators, relative to an equal one


@dataclass(frozen=True, eq=False)
class CorrectedLikelihood:
    """The corrected log-likelihood of the parameters of an outcome.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors, length C
        Those of the outcome in each configuration.
    phi : array, shape (n, C)
        Unbiased indicators of the configurations.
    response : array, shape (n,) or (n, k)
        Numbers, or unbiased indicators of the categories of the outcome.
    weights : array, shape (n,)
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    phi: Array
    response: Array
    weights: Array

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.designs[0].size

    @cached_property
    def is_seen(self) -> bool:
        """Whether the outcome is a number, or one category for certain."""
        a = self.response
        return a.ndim == 1 or bool(np.all((a == 0.0) | (a == 1.0)) and np.all(a.sum(axis=1) == 1.0))

    def smoothed(self, t: float) -> CorrectedLikelihood:
        """The same with indicators ``mean + t (phi - mean)``, of which t = 0 takes all news.

        The means of the indicators, cut to be positive, take the place of those that are not.
        """
        a = self.response
        response = a if a.ndim == 1 or self.is_seen else self._toward_mean(a, t)
        return replace(self, phi=self._toward_mean(self.phi, t), response=response)

    def _toward_mean(self, phi: Array, t: float) -> Array:
        mean = np.maximum(self.weights @ phi / self.weights.sum(), _LEAST / phi.shape[1])
        return np.asarray((1.0 - t) * mean / mean.sum() + t * phi)

    def value(self, theta: Array) -> float:
        """The corrected log-likelihood; minus infinity where it is not finite."""
        total = 0.0
        with np.errstate(all="ignore"):
            for c, design in enumerate(self.designs):
                rows = self._logarithm(design.eta(theta))
                total += float((self.weights * self.phi[:, c]) @ rows)
        return total if np.isfinite(total) else -np.inf

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, first and second derivatives."""
        total, score = 0.0, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        with np.errstate(all="ignore"):
            for c, design in enumerate(self.designs):
                one, w = self._terms(design.eta(theta)), self.weights * self.phi[:, c]
                first = one.first * w[:, None]
                total += float(w @ one.value)
                score += design.adjoint(theta, first)
                hessian += design.hessian(theta, one.second * w[:, None, None], first)
        return total if np.isfinite(total) else -np.inf, score, hessian

    def score_rows(self, theta: Array) -> Array:
        """The corrected score of each respondent, without her weight; shape (n, size)."""
        found = np.zeros((len(self.weights), self.size))
        for c, design in enumerate(self.designs):
            one = self._terms(design.eta(theta))
            found += design.rows(theta, one.first * self.phi[:, [c]])
        return found

    def _logarithm(self, eta: Array) -> Array:
        if self.is_seen:
            return self.outcome.logarithm(eta, self.response)
        with np.errstate(divide="ignore"):
            logs = np.log(self.outcome.mean(eta))
        return np.asarray(np.einsum("nk,nk->n", self.response, logs))

    def _terms(self, eta: Array) -> Terms:
        """Terms of the outcome, linear in the indicators of its categories."""
        outcome, a = self.outcome, self.response
        if self.is_seen:
            return outcome.terms(eta, a)
        assert isinstance(outcome, Categorical)
        n, q = eta.shape
        value, first, second = np.zeros(n), np.zeros((n, q)), np.zeros((n, q, q))
        for y in range(outcome.k):
            certain = np.zeros((n, outcome.k))
            certain[:, y] = 1.0
            one = outcome.terms(eta, certain)
            value += a[:, y] * one.value
            first += a[:, [y]] * one.first
            second += a[:, y, None, None] * one.second
        return Terms(value, first, second)

    def spread(self, theta: Array) -> float:
        """Root of the mean square of the linear predictors, about their weighted means."""
        total = float(self.weights.sum()) * len(self.designs)
        means = squares = np.zeros(self.outcome.q)
        for design in self.designs:
            eta = design.eta(theta)
            means = means + self.weights @ eta / total
            squares = squares + self.weights @ eta**2 / total
        return float(np.sqrt(max(np.max(squares - np.square(means)), 0.0)))

    def moved(self, theta: Array, other: Array) -> float:
        """Root mean square of the change of the linear predictors between two parameters."""
        total, size = float(self.weights.sum()) * len(self.designs), np.zeros(self.outcome.q)
        for design in self.designs:
            change = design.eta(other) - design.eta(theta)
            size = size + self.weights @ change**2 / total
        return float(np.sqrt(np.max(size)))
