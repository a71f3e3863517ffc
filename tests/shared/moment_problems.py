"""Small problems of k-RR, bits and a dense channel, and counts to go with them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.likelihood.covariance import independent_bits, multinomial
from ldpstats.likelihood.moments import Equations
from ldpstats.likelihood.rows import Likelihood, UniformRows

Array = npt.NDArray[Any]


def krr_channel(k: int, epsilon: float) -> tuple[float, float]:
    """a and b of k-RR."""
    b = 1.0 / (np.exp(epsilon) + k - 1)
    return float(np.expm1(epsilon) * b), float(b)


def krr_likelihood(c: Array, epsilon: float) -> Likelihood:
    a, b = krr_channel(c.size, epsilon)
    return Likelihood(UniformRows(np.arange(c.size), a, b, c.size), c)


def krr_moments(c: Array, epsilon: float) -> Equations:
    (a, b), k, n = krr_channel(c.size, epsilon), c.size, int(c.sum())
    t = c / n
    return Equations(a, b, t, lambda p: multinomial(b + a * p, n), np.full(k, 1.0 * n * k), n)


def unary_moments(T: Array, n: int, p1: float, p0: float) -> Equations:
    t = T / n
    V = lambda p: independent_bits(p, p1, p0, n)  # noqa: E731
    middle = V(np.full(T.size, 1.0 / T.size))
    return Equations(p1 - p0, p0, t, V, 1.0 / middle.variances(), n, kind="bits")


def dense_moments(Q: Array, c: Array, weights: Array | None = None) -> Equations:
    n = int(c.sum())
    weights = np.ones(c.size) if weights is None else weights
    V = lambda p: multinomial(p @ Q, n)  # noqa: E731
    return Equations(Q.T, 0.0, c / n, V, weights, n)


DENSE = np.array([[0.75, 0.25], [0.25, 0.75]])
