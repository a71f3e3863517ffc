"""Singular values at the end of the spectrum, without the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["spectral_norm"]

Array = npt.NDArray[Any]

_MOST_STEPS = 320
_EVERY = 16  # steps between looks at what has been found
_RESIDUAL = 1e-9  # relative; the error of the eigenvalue is about its square


def spectral_norm(M: Array) -> float:
    """The largest singular value of M, to rounding.

    Lanczos' method for M'M, with all vectors kept orthogonal, from a vector that no structure of a
    channel is orthogonal to. All singular values are computed where it does not converge.
    """
    size = M.shape[1]
    most = min(_MOST_STEPS, size)
    basis, diagonal, beside = np.empty((most, size)), np.empty(most), np.empty(most)
    v = np.cos(np.arange(1.0, size + 1.0) ** 2)
    v /= np.linalg.norm(v)
    for i in range(most):
        basis[i] = v
        w = M.T @ (M @ v)
        diagonal[i] = v @ w
        for _ in range(2):  # twice is enough
            w -= (basis[: i + 1] @ w) @ basis[: i + 1]
        beside[i] = np.linalg.norm(w)
        done = beside[i] <= 1e-14 * diagonal[: i + 1].max()
        if done or (i + 1) % _EVERY == 0 or i + 1 == most:
            T = np.diag(diagonal[: i + 1]) + np.diag(beside[:i], 1) + np.diag(beside[:i], -1)
            values, vectors = np.linalg.eigh(T)
            if done or beside[i] * abs(vectors[-1, -1]) <= _RESIDUAL * values[-1]:
                return float(np.sqrt(values[-1]))
        v = w / beside[i]
    return float(np.linalg.norm(M, 2))
