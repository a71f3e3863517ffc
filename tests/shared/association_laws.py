"""Laws of reports on two variables, surveys drawn from them, and the share of tests that reject."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables.independence import CrossMoments
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.covariance import Covariance

Array = npt.NDArray[Any]

REPS = 1000
ROWS, COLUMNS = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])


def near(size: float, R: int = REPS) -> bool:
    return abs(size - 0.05) < 4 * np.sqrt(0.05 * 0.95 / R)


def krr(k: int, epsilon: float) -> Array:
    """The channel of k-RR."""
    b = 1 / (np.exp(epsilon) + k - 1)
    return np.asarray(np.expm1(epsilon) * b * np.eye(k) + b)


def reported(P: Array, channels: Sequence[Array]) -> Array:
    """Law of the reports of variables with joint law P."""
    for axis, Q in enumerate(channels):
        P = np.moveaxis(np.tensordot(P, Q, axes=(axis, 0)), -1, axis)
    return P


def surveys(P: Array, channels: Sequence[Array], n: int, R: int, seed: int) -> Iterator[Array]:
    """R tables of n reports each."""
    law = reported(P, channels)
    rng = np.random.default_rng([41, seed])
    for counts in rng.multinomial(n, law.ravel(), size=R):
        yield counts.reshape(law.shape)


def estimate(counts: Array, channels: Sequence[Array]) -> tuple[Array, Covariance]:
    """Unconstrained estimate of the joint table, and its covariance with the counts plugged in."""
    A = np.ones((1, 1))
    for Q in channels:
        A = np.kron(A, np.linalg.inv(Q).T)
    n, m = counts.sum(), counts.ravel() / counts.sum()
    p = A @ m
    V = ((A * m) @ A.T - np.outer(p, p)) / n
    return p.reshape([len(Q) for Q in channels]), Covariance.dense((V + V.T) / 2)


def rejects(tests: Iterator[tuple[float, int]]) -> float:
    """Share of tests with a p-value below .05."""
    return float(np.mean([chi2_pvalue(statistic, df) < 0.05 for statistic, df in tests]))


def random_table(seed: int, shape: tuple[int, ...], low: int = 5) -> Array:
    return np.random.default_rng(seed).integers(low, 60, size=shape)


def one_hot(table: Array) -> CrossMoments:
    return CrossMoments.of_table(table, np.eye(table.shape[0]), np.eye(table.shape[1]))
