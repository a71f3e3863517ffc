"""The likelihood of a regression in which answers are privatised.

Respondent i has private predictors in one of C configurations (one, if none are private), with
probability rho_c(z_i; gamma), and reports on them of likelihood B_ic. With f_ic the probability or
density of what is seen of her outcome, she adds ``w_i log m_i``, ``m_i = sum_c B_ic rho_ic f_ic``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Multinomial, Outcome, Terms
from ldpstats.problems.regression.predictors import Predictors

__all__ = ["RegressionLikelihood", "Seen"]

Array = npt.NDArray[Any]

_BLOCK = 1 << 20  # numbers of the largest array that is made at a time: it stays in the cache


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of categories: the likelihood of each report, as a table of distinct reports.

    Parameters
    ----------
    table : array, shape (u, k), or (c, u, k) of c channels
    at : array of int64, shape (n,)
        The report of each row.
    """

    table: Array
    at: npt.NDArray[np.int64]

    def __getitem__(self, rows: Any) -> Array:
        """Likelihoods of some rows, (., k) or (c, ., k)."""
        return np.asarray(self.table[..., self.at[rows], :])

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class RegressionLikelihood:
    """Log-likelihood of parameters theta: those of the outcome, then those of the predictors.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors
        Those of the outcome in each configuration of the private predictors.
    seen : Seen, or array of shape (n,)
        What is seen of a categorical outcome, or the numbers.
    weights : array, shape (n,)
    B : Seen, optional
        Likelihoods of the reports on the private predictors, over the C configurations.
    marginal : Predictors, optional
        Linear predictors of the configurations, C - 1 of them, if there are several.
    constant : float
        Added to the logarithm.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    seen: Any
    weights: Array
    B: Seen | None = None
    marginal: Predictors | None = None
    constant: float = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def n_outcome(self) -> int:
        """Number of parameters of the outcome, which come first."""
        return self.designs[0].size

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.n_outcome + (0 if self.marginal is None else self.marginal.size)

    @cached_property
    def _configurations(self) -> Multinomial:
        return Multinomial(len(self.designs))

    def take(self, rows: Any, weights: Array | None = None) -> RegressionLikelihood:
        """The likelihood of some rows, without the constant."""
        return replace(
            self,
            designs=tuple(design.take(rows) for design in self.designs),
            seen=Seen(self.seen.table, self.seen.at[rows])
            if isinstance(self.seen, Seen)
            else self.seen[rows],
            weights=self.weights[rows] if weights is None else weights,
            B=None if self.B is None else Seen(self.B.table, self.B.at[rows]),
            marginal=None if self.marginal is None else self.marginal.take(rows),
            constant=0.0,
        )

    def blocks(self) -> Iterator[RegressionLikelihood]:
        """Parts of the rows that fit in the cache."""
        q = self.outcome.q
        width = max(q * q, q * self.designs[0].p, len(self.designs) * (q + 1), 8)
        step = max(256, _BLOCK // width)
        if step >= self.n:
            yield self
            return
        for start in range(0, self.n, step):
            yield self.take(slice(start, start + step))

    # -- values --------------------------------------------------------------------------------

    def value(self, theta: Array) -> float:
        """The log-likelihood, minus infinity where it is not defined."""
        total = self.constant
        for part in self.blocks():
            rows = part.row_values(theta)
            there = part.weights != 0.0
            total += float(part.weights[there] @ rows[there])
        return total if not np.isnan(total) else -np.inf

    def row_values(self, theta: Array) -> Array:
        """log m of each row, shape (n,)."""
        if self.marginal is None:
            return self.outcome.logarithm(self.designs[0].eta(theta), self.seen[:])
        joint, top = self._joint(theta, self._logarithms(theta))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(joint.sum(axis=1)) + top)

    def _logarithms(self, theta: Array) -> Array:
        """log f of all configurations, (n, C)."""
        beta = theta[: self.n_outcome]
        seen = self.seen[:]
        return np.column_stack(
            [self.outcome.logarithm(design.eta(beta), seen) for design in self.designs]
        )

    def law(self, theta: Array) -> Array:
        """P(configuration | public covariates), shape (n, C)."""
        if self.marginal is None:
            return np.ones((self.n, 1))
        gamma = theta[self.n_outcome :]
        return self._configurations.mean(self.marginal.eta(gamma))

    def _joint(self, theta: Array, logarithms: Array) -> tuple[Array, Array]:
        """B rho f, (n, C), with the largest f of each row taken out, and its logarithm."""
        assert self.B is not None
        top = np.nan_to_num(logarithms.max(axis=1), neginf=0.0)
        return self.B[:] * self.law(theta) * np.exp(logarithms - top[:, None]), top

    def posterior(self, theta: Array) -> Array:
        """P(configuration | all that is seen), shape (n, C)."""
        if self.marginal is None:
            return np.ones((self.n, 1))
        joint, _ = self._joint(theta, self._logarithms(theta))
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    # -- derivatives ---------------------------------------------------------------------------

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (size,), and Hessian, (size, size)."""
        value, score = self.constant, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        for part in self.blocks():
            each = part._plain(theta) if part.marginal is None else part._mixed(theta)
            value += each[0]
            score += each[1]
            hessian += each[2]
        return value, score, hessian

    def _plain(self, theta: Array) -> tuple[float, Array, Array]:
        design, w = self.designs[0], self.weights
        found = self.outcome.terms(design.eta(theta), self.seen[:])
        first = found.first * w[:, None]
        second = found.second * w[:, None, None]
        return (
            float(w @ found.value),
            design.adjoint(theta, first),
            design.hessian(theta, second, first),
        )

    def _mixed(self, theta: Array) -> tuple[float, Array, Array]:
        marginal, w, m = self.marginal, self.weights, self.n_outcome
        assert marginal is not None
        beta, gamma = theta[:m], theta[m:]
        found = self._all_terms(beta)
        joint, top = self._joint(theta, np.column_stack([one.value for one in found]))
        total = joint.sum(axis=1)
        posterior, law = joint / total[:, None], self.law(theta)
        weighted = posterior * w[:, None]
        score, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        mean = np.zeros((self.n, m))
        cross = np.zeros((m, marginal.size))
        for c, (design, one) in enumerate(zip(self.designs, found, strict=True)):
            wc = weighted[:, c]
            first = one.first * wc[:, None]
            score[:m] += design.adjoint(beta, first)
            hessian[:m, :m] += design.hessian(beta, one.second * wc[:, None, None], first)
            rows = design.rows(beta, one.first)
            hessian[:m, :m] += (rows * wc[:, None]).T @ rows
            mean += rows * posterior[:, c : c + 1]
            if c:
                away = np.zeros((self.n, len(self.designs) - 1))
                away[:, c - 1] = wc
                cross += rows.T @ marginal.rows(gamma, away)
        first = posterior[:, 1:] - law[:, 1:]
        second = self._configurations.spread(posterior) - self._configurations.spread(law)
        score[m:] = marginal.adjoint(gamma, first * w[:, None])
        hessian[m:, m:] = marginal.hessian(gamma, second * w[:, None, None], first)
        hessian[:m, :m] -= (mean * w[:, None]).T @ mean
        cross -= mean.T @ marginal.rows(gamma, posterior[:, 1:] * w[:, None])
        hessian[:m, m:], hessian[m:, :m] = cross, cross.T
        return float(w @ (np.log(total) + top)), score, hessian

    def _all_terms(self, beta: Array) -> list[Terms]:
        seen = self.seen[:]
        return [self.outcome.terms(design.eta(beta), seen) for design in self.designs]

    def score_obs(self, theta: Array) -> Array:
        """Score of each row, without its weight, shape (n, size)."""
        return np.vstack([part._score_rows(theta) for part in self.blocks()])

    def _score_rows(self, theta: Array) -> Array:
        beta = theta[: self.n_outcome]
        found = self._all_terms(beta)
        if self.marginal is None:
            return self.designs[0].rows(beta, found[0].first)
        joint, _ = self._joint(theta, np.column_stack([one.value for one in found]))
        posterior = joint / joint.sum(axis=1, keepdims=True)
        outcome = sum(
            design.rows(beta, one.first * posterior[:, c : c + 1])
            for c, (design, one) in enumerate(zip(self.designs, found, strict=True))
        )
        gamma = theta[self.n_outcome :]
        first = posterior[:, 1:] - self.law(theta)[:, 1:]
        return np.hstack([outcome, self.marginal.rows(gamma, first)])
