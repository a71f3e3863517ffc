"""The likelihood of a regression whose devices have unknown parameters.

Respondent i of group g makes the report y with probability ``f_i = pi_i(beta) Q_g(theta)[:, y]``;
theta are probabilities, and beta the parameters of the law pi of the true answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.parametric.matrices import PolynomialMatrix
from ldpstats.problems.regression.outcomes import Categorical
from ldpstats.problems.regression.predictors import Predictors

__all__ = ["ParametricRegression"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ParametricRegression:
    """Log-likelihood of x, shape (p + m,): the parameters beta of the outcome, then theta.

    Parameters
    ----------
    outcome : Categorical
    design : Predictors
        Of u distinct rows.
    matrices : tuple of PolynomialMatrix
        The channel of each group, in the same m parameters.
    group, code : arrays of int64, shape (u,)
        The group of each row, and its report.
    weights : array, shape (u,)
        Respondents of each row.
    """

    outcome: Categorical
    design: Predictors
    matrices: tuple[PolynomialMatrix, ...]
    group: Codes
    code: Codes
    weights: Array

    @property
    def m(self) -> int:
        """Number of unknown parameters of the devices."""
        return self.matrices[0].shape[0]

    @property
    def p(self) -> int:
        """Number of parameters of the outcome."""
        return self.design.size

    @property
    def size(self) -> int:
        """p + m."""
        return self.p + self.m

    @cached_property
    def _slopes(self) -> tuple[tuple[tuple[PolynomialMatrix, ...], ...], ...]:
        """Second derivatives of each matrix, by pairs of parameters."""
        pairs = range(self.m)
        return tuple(
            tuple(tuple(_slope(_slope(Q, a), b) for b in pairs) for a in pairs)
            for Q in self.matrices
        )

    def seen(self, theta: Array) -> Array:
        """P(report of the row | category), shape (u, k)."""
        return self._picked([Q.at(theta) for Q in self.matrices])

    def _picked(self, matrices: list[Array]) -> Array:
        """The column of each row's report, of the matrix of its group: (u, k)."""
        found = np.empty((len(self.code), matrices[0].shape[0]))
        for g, Q in enumerate(matrices):
            own = self.group == g
            found[own] = Q[:, self.code[own]].T
        return found

    def value(self, x: Array) -> float:
        """The log-likelihood; minus infinity beyond [0, 1] and where a report is impossible."""
        beta, theta = x[: self.p], x[self.p :]
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        rows = self.outcome.logarithm(self.design.eta(beta), self.seen(theta))
        total = float(self.weights @ rows)
        return total if not np.isnan(total) else -np.inf

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (p + m,), and Hessian, (p + m, p + m)."""
        beta, theta = x[: self.p], x[self.p :]
        p, m, w = self.p, self.m, self.weights
        eta, A = self.design.eta(beta), self.seen(theta)
        found = self.outcome.terms(eta, A)
        mean, jacobian = self.outcome.mean_jacobian(eta)
        f = (A * mean).sum(axis=1)
        each = [Q.derivatives(theta) for Q in self.matrices]
        by_theta = [self._picked([d[a] for d in each]) for a in range(m)]
        t = np.column_stack([(one * mean).sum(axis=1) / f for one in by_theta])
        score, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        first = found.first * w[:, None]
        score[:p] = self.design.adjoint(beta, first)
        hessian[:p, :p] = self.design.hessian(beta, found.second * w[:, None, None], first)
        score[p:] = w @ t
        for a in range(m):
            crossed = np.einsum("nk,nkq->nq", by_theta[a], jacobian) / f[:, None]
            crossed = (crossed - found.first * t[:, a : a + 1]) * w[:, None]
            hessian[:p, p + a] = hessian[p + a, :p] = self.design.adjoint(beta, crossed)
            for b in range(a + 1):
                twice = self._picked([own[a][b].at(theta) for own in self._slopes])
                bent = w @ ((twice * mean).sum(axis=1) / f - t[:, a] * t[:, b])
                hessian[p + a, p + b] = hessian[p + b, p + a] = bent
        return float(w @ found.value), score, hessian

    def expected(self, x: Array) -> Array:
        """Expected information of all reports, shape (p + m, p + m)."""
        beta, theta = x[: self.p], x[self.p :]
        eta = self.design.eta(beta)
        mean, jacobian = self.outcome.mean_jacobian(eta)
        total = np.zeros((self.size, self.size))
        for g, Q in enumerate(self.matrices):
            own = np.flatnonzero(self.group == g)
            if not own.size:
                continue
            part, known, slopes = self.design.take(own), Q.at(theta), Q.derivatives(theta)
            law = mean[own] @ known
            for y in np.flatnonzero(law.max(axis=0) > 0.0):
                by_eta = np.einsum("nkq,k->nq", jacobian[own], known[:, y])
                rows = part.rows(beta, by_eta)
                D = np.column_stack([rows, *(mean[own] @ slope[:, y] for slope in slopes)])
                weight = self.weights[own] / np.maximum(law[:, y], 1e-300)
                total += (D * weight[:, None]).T @ D
        return total

    def take(self, rows: Any) -> ParametricRegression:
        """The likelihood of some rows."""
        return replace(
            self,
            design=self.design.take(rows),
            group=self.group[rows],
            code=self.code[rows],
            weights=self.weights[rows],
        )


def _slope(Q: PolynomialMatrix, a: int) -> PolynomialMatrix:
    """The derivative of a matrix by parameter a, as polynomials."""
    lower = Q.exponents.copy()
    lower[:, a] = np.maximum(lower[:, a] - 1, 0)
    return PolynomialMatrix(lower, Q.coefficients * Q.exponents[:, a, None, None])
