"""Expected information of regressions on reports, and the penalty that is half its log determinant.

A report of law ``P(r) = sum_y pi_y(eta) Q[y, r]`` has the information ``sum_r d_r d_r' / P(r)`` on
the linear predictors, d_r the derivative of P(r). Where a maximum of the likelihood is at infinity
the determinant of the information vanishes, so that the penalised maximum is finite (Firth 1993;
Heinze and Schemper 2002, for answers without noise).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Normal, Outcome, Poisson
from ldpstats.problems.regression.predictors import Predictors

__all__ = ["ExpectedInformation", "ReportLaw"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_TINY = 1e-300  # probabilities below are of reports that do not occur
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """Channels of the reports on a categorical outcome.

    Parameters
    ----------
    channels : tuple of array, each (k, l)
    at : array of int64, shape (n,)
        The channel of each row.
    """

    channels: tuple[Array, ...]
    at: Codes

    def take(self, rows: Any) -> ReportLaw:
        """The same of some rows."""
        return replace(self, at=self.at[rows])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Reports of some rows at given predictors: P(r), (n, l), and its derivatives, (n, q, l)."""

    outcome: Outcome
    eta: Array
    Q: Array
    P: Array
    d: Array

    @classmethod
    def at(cls, outcome: Outcome, eta: Array, Q: Array) -> _Rows:
        mean, jacobian = outcome.mean_jacobian(eta)
        P = np.maximum(mean @ Q, _TINY)
        return cls(outcome, eta, Q, P, jacobian.transpose(0, 2, 1) @ Q)

    def information(self) -> Array:
        """Of each row on its predictors, (n, q, q)."""
        if self.d.shape[1] == 1:
            return np.asarray((self.d[:, 0] ** 2 / self.P).sum(axis=1)[:, None, None])
        return np.asarray((self.d / self.P[:, None, :]) @ self.d.transpose(0, 2, 1))

    def slope(self, S: Array) -> Array:
        """Derivative by the predictors of ``tr(S J)``, S held fixed; (n, q)."""
        if self.d.shape[1] == 1:
            share = self.d[:, 0] / self.P
            bend = self.outcome.curvature(self.eta)[:, :, 0, 0]
            twice = 2.0 * ((share @ self.Q.T) * bend).sum(axis=1)
            return np.asarray(S[:, 0] * (twice - (share**2 * self.d[:, 0]).sum(axis=1))[:, None])
        along = (S @ self.d) / self.P[:, None, :]  # (n, q, l)
        squares = (along * self.d).sum(axis=1) / self.P
        twice = 2.0 * self.outcome.bent(self.eta, along @ self.Q.T)
        return np.asarray(twice - (self.d @ squares[:, :, None])[:, :, 0])


@dataclass(frozen=True, eq=False)
class ExpectedInformation:
    """Expected information of the outcome's parameters.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors
        One, or one for each configuration of the private predictors.
    weights : array, shape (n, C)
        Weight of each row and configuration.
    law : ReportLaw, or None
        How categories are reported; None for numbers.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    weights: Array
    law: ReportLaw | None = None

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.designs[0].size

    def _parts(self) -> Iterator[tuple[Predictors, Array, Array | None]]:
        """Rows of one design and channel that fit in the cache, with their weights."""
        q, n = self.outcome.q, self.designs[0].n
        kinds: list[tuple[Array | None, Any]] = [(None, slice(0, n))]
        longest = 2
        if self.law is not None:
            longest = max(Q.shape[1] for Q in self.law.channels)
            kinds = [(self.law.channels[0], slice(0, n))]
            if len(self.law.channels) > 1:
                kinds = [
                    (Q, np.flatnonzero(self.law.at == g)) for g, Q in enumerate(self.law.channels)
                ]
        step = max(256, _BLOCK // (longest * q * q + self.size))
        for c, design in enumerate(self.designs):
            for Q, rows in kinds:
                size = n if isinstance(rows, slice) else len(rows)
                for start in range(0, size, step):
                    some = slice(start, start + step)
                    some = some if isinstance(rows, slice) else rows[some]
                    yield design.take(some), self.weights[some, c], Q

    def _row(self, eta: Array, Q: Array | None) -> tuple[Array, _Rows | None]:
        """Information of each row on its predictors, (n, q, q)."""
        if Q is not None:
            rows = _Rows.at(self.outcome, eta, Q)
            return rows.information(), rows
        found = np.zeros((len(eta), self.outcome.q, self.outcome.q))
        if isinstance(self.outcome, Poisson):
            found[:, 0, 0] = np.exp(eta[:, 0])
        if isinstance(self.outcome, Normal):
            found[:, 0, 0] = np.exp(-2.0 * eta[:, 1])
            found[:, 1, 1] = 2.0
        return found, None

    def matrix(self, theta: Array) -> Array:
        """The information, shape (size, size)."""
        total = np.zeros((self.size, self.size))
        for design, w, Q in self._parts():
            eta = design.eta(theta)
            J = self._row(eta, Q)[0] * w[:, None, None]
            total += design.hessian(theta, J, np.zeros(eta.shape))
        return total

    def penalty(self, theta: Array) -> float:
        """Half the log determinant; minus infinity where it is singular."""
        matrix = self.matrix(theta)
        if not np.isfinite(matrix).all():
            return -np.inf
        sign, size = np.linalg.slogdet(matrix)
        return 0.5 * float(size) if sign > 0 else -np.inf

    def penalty_slope(self, theta: Array) -> tuple[float, Array]:
        """`penalty` and its derivatives, shape (size,)."""
        matrix, kept = np.zeros((self.size, self.size)), []
        for design, w, Q in self._parts():
            eta = design.eta(theta)
            J, rows = self._row(eta, Q)
            matrix += design.hessian(theta, J * w[:, None, None], np.zeros(eta.shape))
            kept.append((design, w, eta, rows))
        sign, size = np.linalg.slogdet(matrix) if np.isfinite(matrix).all() else (0.0, 0.0)
        if sign <= 0 or not np.isfinite(size):
            return -np.inf, np.full(self.size, np.nan)
        inverse = np.linalg.inv(matrix)
        slope = self.designs[0].stretch(theta)[1]
        for design, w, eta, rows in kept:
            S = design.quadratic(theta, inverse)
            found = self._number_slope(eta, S) if rows is None else rows.slope(S)
            slope = slope + 0.5 * design.adjoint(theta, found * w[:, None])
        return 0.5 * float(size), slope

    def _number_slope(self, eta: Array, S: Array) -> Array:
        """Derivative of ``tr(S J)`` of numbers, (n, q)."""
        found = np.zeros(eta.shape)
        if isinstance(self.outcome, Poisson):
            found[:, 0] = np.exp(eta[:, 0]) * S[:, 0, 0]
        if isinstance(self.outcome, Normal):
            found[:, 1] = -2.0 * np.exp(-2.0 * eta[:, 1]) * S[:, 0, 0]
        return found
