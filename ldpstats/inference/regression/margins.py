"""Averages of functions of a regression's linear predictors, with derivatives by all parameters.

With private predictors an average is also one over their configurations, whose law given the public
covariates has parameters of its own; the derivatives include those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Multinomial, Outcome
from ldpstats.problems.regression.predictors import Predictors

__all__ = [
    "Average",
    "Points",
    "average",
    "effects_of_rows",
    "marginal_effects",
    "means",
    "ones",
    "row_means",
]

Array = npt.NDArray[Any]
Function = Callable[[Array], tuple[Array, Array]]

_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Average:
    """Numbers and their derivatives by all parameters.

    Parameters
    ----------
    value : array, shape (m,)
    gradient : array, shape (m, size)
    """

    value: Array
    gradient: Array

    def __sub__(self, other: Average) -> Average:
        return Average(self.value - other.value, self.gradient - other.gradient)

    def __truediv__(self, other: Average) -> Average:
        """The ratio to a single number."""
        value = self.value / other.value
        gradient = (self.gradient - value[:, None] * other.gradient) / other.value
        return Average(value, gradient)

    def times(self, R: Array) -> Average:
        """The linear combinations that the rows of R, (r, m), are."""
        return Average(R @ self.value, R @ self.gradient)

    def covariance(self, V: Array) -> Array:
        """Covariance by the delta method, (m, m); V is that of the parameters.

        A parameter without a variance matters only where the derivative by it is not zero.
        """
        G = self.gradient
        none = np.isnan(np.diagonal(V))
        found = G @ np.where(np.isnan(V), 0.0, V) @ G.T
        lost = np.asarray(G[:, none].any(axis=1))
        return np.asarray(np.where(lost[:, None] | lost, np.nan, found))

    @classmethod
    def stacked(cls, parts: Sequence[Average]) -> Average:
        """Several after one another."""
        values = np.concatenate([part.value for part in parts])
        return cls(values, np.vstack([part.gradient for part in parts]))


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of covariates at which the law of the true answers is evaluated.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors
        One for each configuration of the private predictors; one alone if their values are given.
    marginal : Predictors or None
        Of the law of the configurations; None for one design.
    weights : array, shape (n,)
    size : int
        Number of all parameters.
    seen : array, shape (n, C), optional
        Likelihoods of the reports on the private predictors, which the law is then given too.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    marginal: Predictors | None
    weights: Array
    size: int
    seen: Array | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def n_outcome(self) -> int:
        """Number of parameters of the outcome."""
        return self.designs[0].size

    def take(self, rows: Any) -> Points:
        """Some rows."""
        return replace(
            self,
            designs=tuple(design.take(rows) for design in self.designs),
            marginal=None if self.marginal is None else self.marginal.take(rows),
            weights=self.weights[rows],
            seen=None if self.seen is None else self.seen[rows],
        )

    def law(self, theta: Array) -> tuple[Array, Array | None]:
        """Probabilities of the configurations, (n, C), and their derivatives, (n, C, C - 1)."""
        if self.marginal is None:
            return np.ones((self.n, 1)), None
        law = Multinomial(len(self.designs))
        eta = self.marginal.eta(theta[self.n_outcome :])
        if self.seen is None:
            return law.mean(eta), law.jacobian(eta)
        posterior = law.mean(eta) * self.seen
        posterior /= posterior.sum(axis=1, keepdims=True)
        return posterior, posterior[:, :, None] * (np.eye(law.k)[:, 1:] - posterior[:, None, 1:])

    def blocks(self, width: int) -> Iterator[tuple[slice, Points]]:
        """Parts whose arrays of so many numbers a row fit in the cache."""
        step = max(256, _BLOCK // max(width, 1))
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            yield rows, self if step >= self.n else self.take(rows)


def average(
    points: Points,
    theta: Array,
    of: Function,
    chosen: Sequence[int] | None = None,
    factor: Sequence[Array] | None = None,
) -> Average:
    """The weighted sum of functions of the linear predictors over rows and configurations.

    Parameters
    ----------
    points : Points
        Weights that sum to one make the sum an average.
    theta : array, shape (size,)
    of : callable
        Maps eta, (n, q), to values, (n, m), and their derivatives, (n, m, q).
    chosen : sequence of int, optional
        Configurations that the sum takes in; all by default.
    factor : sequence of array, each (n,), optional
        Multiplies the weights in each configuration.

    Returns
    -------
    Average
    """
    m = points.n_outcome
    beta, gamma = theta[:m], theta[m:]
    some = range(len(points.designs)) if chosen is None else chosen
    q = points.outcome.q
    width = q * max(getattr(points.outcome, "k", 1), 1) * (q + 1)
    value: Any = 0.0
    gradient: Any = 0.0
    for rows, part in points.blocks(width):
        law, bend = part.law(theta)
        for c in some:
            w = part.weights if factor is None else part.weights * factor[c][rows]
            values, first = of(part.designs[c].eta(beta))
            u = w * law[:, c]
            value = value + u @ values
            own = np.zeros((values.shape[1], points.size))
            for a in range(values.shape[1]):
                own[a, :m] = part.designs[c].adjoint(beta, u[:, None] * first[:, a])
                if bend is not None:
                    assert part.marginal is not None
                    away = (w * values[:, a])[:, None] * bend[:, c]
                    own[a, m:] = part.marginal.adjoint(gamma, away)
            gradient = gradient + own
    return Average(value, gradient)


def means(outcome: Outcome, logarithm: bool = False) -> Function:
    """The mean of the outcome (probabilities of its categories), or its logarithm."""

    def of(eta: Array) -> tuple[Array, Array]:
        mean, first = outcome.mean(eta), outcome.jacobian(eta)
        if not logarithm:
            return mean, first
        return np.log(mean), first / mean[:, :, None]

    return of


def ones(eta: Array) -> tuple[Array, Array]:
    """One, whatever the linear predictors are."""
    return np.ones((len(eta), 1)), np.zeros((len(eta), 1, eta.shape[1]))


def _rates(outcome: Outcome, logarithm: bool) -> Function:
    """Derivatives of the mean, or of its logarithm, by the predictors: (n, k q)."""

    def of(eta: Array) -> tuple[Array, Array]:
        first, second = outcome.jacobian(eta), outcome.curvature(eta)
        if logarithm:
            mean = outcome.mean(eta)
            first = first / mean[:, :, None]
            second = second / mean[:, :, None, None]
            second = second - first[:, :, :, None] * first[:, :, None, :]
        n, k, q = first.shape
        return first.reshape(n, k * q), second.reshape(n, k * q, q)

    return of


def _slopes(design: Predictors, theta: Array) -> Array:
    """Derivatives of the predictors by the covariates, (p, q)."""
    at, zero = _units(design)
    return np.asarray(at.eta(theta) - zero.eta(theta))


def _slope_adjoint(design: Predictors, theta: Array, G: Array) -> Array:
    """Derivative of ``sum(G * _slopes)``, G of shape (p, q)."""
    at, zero = _units(design)
    return np.asarray(at.adjoint(theta, G) - zero.adjoint(theta, G))


def _units(design: Predictors) -> tuple[Predictors, Predictors]:
    """Rows that have one covariate each, and none."""
    p = design.p
    at = replace(design, X=np.eye(p), offset=None)
    return at, replace(at, X=np.zeros((p, p)))


def marginal_effects(
    points: Points, theta: Array, columns: Sequence[int], method: str = "dydx"
) -> Average:
    """Average derivatives of the mean by covariates.

    Parameters
    ----------
    points : Points
    theta : array, shape (size,)
    columns : sequence of int, length m
    method : {"dydx", "dyex", "eydx", "eyex"}
        As in statsmodels: "ey" for derivatives of the logarithm of the mean, "ex" for derivatives
        by the logarithm of the covariate.

    Returns
    -------
    Average
        Of (k m,) numbers, the effects on the first category first.
    """
    outcome, m = points.outcome, points.n_outcome
    of = _rates(outcome, method.startswith("ey"))
    design, q = points.designs[0], outcome.q
    slopes = _slopes(design, theta[:m])
    plain = None if method.endswith("ex") else average(points, theta, of)
    values, gradients = [], []
    for j in columns:
        one = plain or average(points, theta, of, factor=[X.X[:, j] for X in points.designs])
        mean = one.value.reshape(-1, q)
        k = len(mean)
        values.append(mean @ slopes[j])
        gradient = np.einsum("kqs,q->ks", one.gradient.reshape(k, q, -1), slopes[j])
        for a in range(k):
            G = np.zeros(slopes.shape)
            G[j] = mean[a]
            gradient[a, :m] += _slope_adjoint(design, theta[:m], G)
        gradients.append(gradient)
    if not values:
        return Average(np.zeros(0), np.zeros((0, points.size)))
    stacked = np.array(gradients).transpose(1, 0, 2).reshape(-1, points.size)
    return Average(np.array(values).T.ravel(), stacked)


def effects_of_rows(
    points: Points, theta: Array, columns: Sequence[int], method: str = "dydx"
) -> Array:
    """The derivatives of `marginal_effects` in each row, (n, k, m)."""
    m, some = points.n_outcome, list(columns)
    found: Any = 0.0
    law = points.law(theta)[0]
    slopes = _slopes(points.designs[0], theta[:m])[some]
    of = _rates(points.outcome, method.startswith("ey"))
    for c, design in enumerate(points.designs):
        first = of(design.eta(theta[:m]))[0].reshape(points.n, -1, points.outcome.q)
        own = np.einsum("n,nkq,mq->nkm", law[:, c], first, slopes, optimize=True)
        found = found + (own * design.X[:, None, some] if method.endswith("ex") else own)
    return np.asarray(found)


def row_means(points: Points, theta: Array, V: Array | None = None) -> tuple[Array, Array | None]:
    """The mean of each row, over the configurations, and its variance.

    Parameters
    ----------
    points : Points
        Weights are not used.
    theta : array, shape (size,)
    V : array, shape (size, size), optional
        Covariance of the parameters.

    Returns
    -------
    values : array, shape (n, k)
    variances : array, shape (n, k), or None without V
    """
    m = points.n_outcome
    beta, gamma = theta[:m], theta[m:]
    if not points.n:
        none = points.outcome.mean(points.designs[0].eta(beta))
        return none, None if V is None else none
    values, variances = [], []
    for _, part in points.blocks(points.size + points.outcome.q**2 * 8):
        law, bend = part.law(theta)
        etas = [design.eta(beta) for design in part.designs]
        each = [points.outcome.mean(eta) for eta in etas]
        values.append(np.sum([law[:, c, None] * one for c, one in enumerate(each)], axis=0))
        if V is None:
            continue
        first = [points.outcome.jacobian(eta) for eta in etas]
        own = np.empty(values[-1].shape)
        for a in range(own.shape[1]):
            G = np.zeros((part.n, points.size))
            for c, design in enumerate(part.designs):
                G[:, :m] += design.rows(beta, law[:, c, None] * first[c][:, a])
                if bend is not None:
                    assert part.marginal is not None
                    G[:, m:] += part.marginal.rows(gamma, each[c][:, a, None] * bend[:, c])
            own[:, a] = _forms(G, V)
        variances.append(own)
    return np.vstack(values), np.vstack(variances) if V is not None else None


def _forms(G: Array, V: Array) -> Array:
    """``g' V g`` of each row; parameters by which nothing changes need no variance."""
    none = np.isnan(np.diagonal(V))
    found = np.einsum("np,np->n", G @ np.where(np.isnan(V), 0.0, V), G)
    return np.where(G[:, none].any(axis=1), np.nan, found)
