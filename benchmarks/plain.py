"""The same jobs in a few lines of numpy: the figure to beat."""

from __future__ import annotations

import numpy as np

__all__ = ["em_step", "krr", "krr_estimate", "unary", "unary_estimate"]

ROWS = 2_000  # respondents whose bits are handled at a time


def krr(codes: np.ndarray, k: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """k-RR: the true code with probability `keep`, else a uniform draw over all k."""
    n = codes.size
    return np.where(rng.random(n) < keep, codes, rng.integers(k, size=n))


def krr_estimate(y: np.ndarray, k: int, keep: float) -> np.ndarray:
    """Unbiased frequencies from k-RR reports."""
    return (np.bincount(y, minlength=k) / y.size - (1.0 - keep) / k) / keep


def unary(codes: np.ndarray, k: int, p1: float, p0: float, rng: np.random.Generator) -> np.ndarray:
    """Packed unary reports, (n, k / 8) bytes."""
    out = np.empty((codes.size, -(-k // 8)), dtype=np.uint8)
    for start in range(0, codes.size, ROWS):
        code = codes[start : start + ROWS]
        bits = rng.random((code.size, k)) < p0
        bits[np.arange(code.size), code] = rng.random(code.size) < p1
        out[start : start + ROWS] = np.packbits(bits, axis=1, bitorder="little")
    return out


def unary_estimate(y: np.ndarray, k: int, p1: float, p0: float) -> np.ndarray:
    """Unbiased frequencies from packed unary reports."""
    ones = np.zeros(k)
    for start in range(0, len(y), ROWS):
        ones += np.unpackbits(y[start : start + ROWS], axis=1, count=k, bitorder="little").sum(0)
    return (ones / len(y) - p0) / (p1 - p0)


def em_step(W: np.ndarray, p: np.ndarray) -> np.ndarray:
    """One EM iteration on the dense likelihoods W, (n, k): two matrix-vector products."""
    return p * (W.T @ (1.0 / (W @ p))) / len(W)
