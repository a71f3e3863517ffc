"""The exact MLE of a channel a I + 1 b' (k-RR, uRR) in closed form: water-filling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.estimators.solvers.ascent import Ascent, certified_gap
from ldpstats.problems.rows.base import UniformRows

__all__ = ["water_filling"]

Array = npt.NDArray[Any]


def water_filling(counts: Array, a: float, b: float | Array) -> Array:
    """Maximise ``sum_y c_y log(a p_y + b_y)`` over the simplex (KBR16 Proposition 6, eq. 28, 29).

    The maximum is ``p_y = max(0, c_y / lam - b_y / a)``, with lam such that it sums to one. Once
    the counts are sorted by ``c_y / b_y``, lam follows from each possible number of positive
    entries at once. Categories that are not sensitive have b_y = 0 under uRR, and come first.

    Parameters
    ----------
    counts : array, shape (k,)
        Reports of each label; not all zero.
    a : float
        Weight of the identity, positive.
    b : float or array, shape (k,)
        Background of the channel ``Q[x, y] = b_y + a [x == y]``, not negative; for k-RR
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
    if not c.max() > 0.0:
        raise InvalidArgument("counts", c.tolist(), "must hold at least one report")
    ratio: Any = b / a
    if np.ndim(ratio) == 0:
        lam = _level(np.sort(c)[::-1].astype(np.float64), ratio)
    else:
        # counts without background are positive whatever the level; the others are sorted
        some = np.flatnonzero(ratio)
        order = some[np.argsort(-c[some] / ratio[some])]
        lam = _level(c[order].astype(np.float64), ratio[order], float(c.sum() - c[some].sum()))
    p = np.maximum(c / lam - ratio, 0.0)
    return np.asarray(p / p.sum())


def _level(c: Array, ratio: float | Array, certain: float = 0.0) -> float:
    """The lam of `water_filling`; c / ratio falls, `certain` are the counts without background."""
    if not c.size:
        return certain
    weight = ratio * np.arange(1, c.size + 1) if np.ndim(ratio) == 0 else np.cumsum(ratio)
    lam = (certain + np.cumsum(c)) / (1.0 + weight)
    positive = np.flatnonzero(c > lam * ratio)
    return float(lam[positive[-1]]) if positive.size else certain


def solve_uniform(W: UniformRows, n: Array) -> Ascent:
    """`water_filling` for rows of `UniformRows`, with its certificate."""
    p = water_filling(np.bincount(W.codes, weights=n, minlength=W.k), W.a, W.b)
    return Ascent(p, certified_gap(W, n, p), 0, True)
