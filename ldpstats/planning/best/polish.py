"""From the probabilities of columns to a channel: rows that sum to one, limits that are kept."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotConverged

__all__ = ["channel_of", "row_sums"]

Array = npt.NDArray[Any]


def channel_of(S: Array, theta: Array) -> Array:
    """Q, shape (k, l), from columns S of mean 1 and their probabilities, shape (l,).

    The probabilities change as little as possible, relatively, so that the rows sum to one. What is
    then left, below rounding or where few columns cannot balance, goes with a constant to the
    largest column, which brings its entries closer to one another: no limit is exceeded.
    """
    S, theta = S[:, theta > 0.0], theta[theta > 0.0]
    weights = theta / theta.sum()
    for _ in range(4):
        scaled = S * weights
        rest = 1.0 - scaled.sum(axis=1)
        # the least |change / weights| with S change = rest
        change = np.linalg.lstsq(scaled, rest, rcond=1e-12)[0]
        weights = weights * np.maximum(1.0 + change, 0.5)
    Q = S * weights
    for _ in range(4):
        rest = np.array([fsum([1.0, *(-Q[x]).tolist()]) for x in range(len(Q))])
        if not rest.any():
            break
        Q = _given_back(Q, rest)
    return np.asarray(Q)


def _given_back(Q: Array, rest: Array) -> Array:
    """Add to one column of Q what the rows lack, and a constant that makes it safe."""
    largest = int(np.argmax(Q.min(axis=0)))
    column = Q[:, largest]
    low = float(column.min())
    if low <= 0.0 or np.ptp(rest) == 0.0:
        return np.asarray(Q / Q.sum(axis=1, keepdims=True))
    # the constant c with (high + rest + c) / (low + rest + c) <= high / low
    spread = float(np.log(column.max() / low))
    c = 4.0 * float(np.abs(rest).max()) / max(np.expm1(min(spread, 1.0)), 1e-300)
    if c >= 1.0:
        raise NotConverged("the probabilities that the solver found do not make a channel")
    Q = Q * (1.0 - c)
    Q[:, largest] += c + rest * (1.0 - c)
    return np.asarray(Q)


def row_sums(Q: Array) -> float:
    """By how much a row sum differs from one at most."""
    return float(max(abs(fsum([-1.0, *row.tolist()])) for row in Q))
