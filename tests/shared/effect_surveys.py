"""Settings of two k-RR variables: tables, estimates, covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from ldpstats.likelihood.covariance import Covariance

Array = npt.NDArray[Any]
Z = stats.norm.isf(0.025)


MARGINS = {
    "2x2 dense": ((0.6, 0.4), (0.7, 0.3)),
    "3x4 dense": ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)),
    "3x4 sparse": ((0.85, 0.12, 0.03), (0.8, 0.14, 0.05, 0.01)),
    "5x5 dense": ((0.35, 0.25, 0.18, 0.13, 0.09),) * 2,
    "5x5 sparse": ((0.7, 0.18, 0.08, 0.03, 0.01),) * 2,
}


def joint(margins: str, strength: float) -> Array:
    """A table of these margins, tilted linear by linear; strength 0 is independence."""
    r, c = (np.array(margin) for margin in MARGINS[margins])
    u, v = np.arange(r.size) - (r.size - 1) / 2, np.arange(c.size) - (c.size - 1) / 2
    P = np.outer(r, c) * np.exp(strength * np.outer(u, v))
    for _ in range(2000 if strength else 0):
        P *= (r / P.sum(axis=1))[:, None]
        P *= c / P.sum(axis=0)
    return P


def krr(k: int, epsilon: float) -> Array:
    return (np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)) / (np.exp(epsilon) + k - 1)


@dataclass(frozen=True)
class Setting:
    """Two variables with these margins, each reported by k-RR, by n respondents."""

    margins: str
    strength: float
    epsilon: float
    n: int

    def __str__(self) -> str:
        return f"{self.margins} {self.strength:g} eps {self.epsilon:g} n {self.n}"

    @cached_property
    def P(self) -> Array:
        return joint(self.margins, self.strength)

    @cached_property
    def channel(self) -> Array:
        return np.kron(*(krr(k, self.epsilon) for k in self.P.shape))

    @cached_property
    def inverse(self) -> Array:
        return np.linalg.inv(self.channel).T  # of column vectors

    def estimate(self, m: Array) -> tuple[Array, Covariance]:
        """The unconstrained table of reports with frequencies m, and its plug-in covariance."""
        core = (np.diag(m) - np.outer(m, m)) / self.n
        table = (self.inverse @ m).reshape(self.P.shape)
        return table, Covariance(np.zeros(m.size), core, self.inverse)

    def surveys(self, R: int, seed: int) -> list[tuple[Array, Covariance]]:
        rng = np.random.default_rng([seed, R])
        counts = rng.multinomial(self.n, self.P.ravel() @ self.channel, size=R)
        return [self.estimate(count / self.n) for count in counts]

    @cached_property
    def truth(self) -> tuple[Array, Covariance]:
        """The true table, and the covariance of its estimate."""
        return self.estimate(self.P.ravel() @ self.channel)


SMALL = Setting("3x4 dense", 0.4, 2.0, 10_000)


def survey(seed: int = 0) -> tuple[Array, Covariance]:
    return SMALL.surveys(1, seed)[0]


def as_dense(V: Covariance) -> Covariance:
    return Covariance.dense(V.matrix())


def jacobian(f: Callable[[Array], Array], at: Array) -> Array:
    """Central differences of f at a table; the columns follow the table row by row."""
    columns = []
    for cell in np.ndindex(at.shape):
        step = np.zeros(at.shape)
        step[cell] = 1e-5
        columns.append((np.ravel(f(at + step)) - np.ravel(f(at - step))) / 2e-5)
    return np.stack(columns, axis=1)


def z_of(p: Array) -> Array:
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.asarray((p / p.sum() - expected / p.sum() ** 2) / np.sqrt(expected) * p.sum())
