"""The exact MLE of a channel a I + b 11' (k-RR) in closed form: water-filling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.estimators.ascent import Ascent, certified_gap
from ldpstats.operators import UniformRows

__all__ = ["water_filling"]

Array = npt.NDArray[Any]


def water_filling(counts: Array, a: float, b: float) -> Array:
    """Maximise ``sum_y c_y log(a p_y + b)`` over the simplex (KBR16 Proposition 6, eq. 28, 29).

    The maximum is ``p_y = max(0, c_y / lam - b / a)``, with lam such that it sums to one. Once the
    counts are sorted, lam follows from each possible number of positive entries at once.

    Parameters
    ----------
    counts : array, shape (k,)
        Reports of each label; not all zero.
    a, b : float
        The channel, ``Q[x, y] = b + a [x == y]`` with a > 0, b >= 0; for k-RR
        b = 1 / (e^eps + k - 1) and a = (e^eps - 1) b.

    Returns
    -------
    array, shape (k,)

    Raises
    ------
    InvalidArgument
        Where a <= 0 or no report was counted.

    Examples
    --------
    >>> water_filling(np.array([50, 30, 15]), a=0.5, b=0.5 / 3).round(4)
    array([0.7083, 0.2917, 0.    ])
    """
    if not a > 0.0:
        raise InvalidArgument("a", a, "must be positive; other channels need `MLE`")
    c = np.asarray(counts)
    largest_first = np.sort(c)[::-1].astype(np.float64)
    if not largest_first[0] > 0.0:
        raise InvalidArgument("counts", c.tolist(), "must hold at least one report")
    ratio = b / a
    lam = np.cumsum(largest_first) / (1.0 + ratio * np.arange(1, c.size + 1))
    positive = int(np.flatnonzero(largest_first > lam * ratio)[-1])
    p = np.maximum(c / lam[positive] - ratio, 0.0)
    return np.asarray(p / p.sum())


def solve_uniform(W: UniformRows, n: Array) -> Ascent:
    """`water_filling` for rows of `UniformRows`, with its certificate."""
    p = water_filling(np.bincount(W.codes, weights=n, minlength=W.k), W.a, W.b)
    return Ascent(p, certified_gap(W, n, p), 0, True)
