"""Small problems of k-RR and of bits, and what one step of EM would still move."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.likelihood.rows import Likelihood, Rows, UnaryRows, UniformRows

Array = npt.NDArray[Any]


def krr(c: Array, epsilon: float) -> Likelihood:
    k = c.size
    b = 1.0 / (np.exp(epsilon) + k - 1)
    return Likelihood(UniformRows(np.arange(k), np.expm1(epsilon) * b, b, k), c)


def krr_counts(k: int, epsilon: float, p: Array, n: int, seed: int = 0) -> Array:
    b = 1.0 / (np.exp(epsilon) + k - 1)
    return np.random.default_rng(seed).multinomial(n, np.expm1(epsilon) * b * p + b)


def truths(k: int) -> dict[str, Array]:
    """Interior and boundary laws: uniform, geometric, Zipf, half of them zero, and a point."""
    geometric, zipf = 0.8 ** np.minimum(np.arange(k), 300), 1.0 / np.arange(1, k + 1)
    half = np.where(np.arange(k) < (k + 1) // 2, 1.0, 0.0)
    laws = {"uniform": np.ones(k), "geometric": geometric, "zipf": zipf, "zeros": half}
    laws["point"] = np.eye(1, k)[0]
    return {name: law / law.sum() for name, law in laws.items()}


def unary(n: int, k: int, epsilon: float, p: Array, seed: int = 0) -> UnaryRows:
    rng = np.random.default_rng(seed)
    theta = float(np.exp(epsilon / 2) / (1 + np.exp(epsilon / 2)))
    bits = rng.random((n, k)) < 1 - theta
    bits[np.arange(n), rng.choice(k, size=n, p=p)] = rng.random(n) < theta
    return UnaryRows(np.packbits(bits, axis=1, bitorder="little"), theta, 1 - theta, k)


def step_left(W: Rows, n: Array, p: Array, q: Array) -> float:
    """Length of q - p in standard errors, ``sqrt(sum_i n_i (W(q - p))_i^2 / (W p)_i^2)``."""
    return float(np.sqrt(n @ (W.mix(q - p) / W.mix(p)) ** 2))
