"""The probability simplex: projections onto it, and the likeliest point of it in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument

__all__ = ["project_simplex", "project_subsimplex", "water_filling"]

Array = npt.NDArray[Any]


def project_simplex(v: Array, variances: Array | None = None) -> Array:
    """Point of the simplex nearest to v, (k,), in the Euclidean distance.

    It is ``max(v - mu, 0)`` with mu such that it sums to one, found by one sort (Wang and
    Carreira-Perpinan 2013). With `variances` the distance is ``sum (p - v)^2 / variances``, and the
    point ``max(v - mu variances, 0)``; an entry of variance zero stays where it is, or at zero.
    """
    if variances is not None:
        return _project_weighted(v, variances)
    largest_first = np.sort(v)[::-1]
    mu = (np.cumsum(largest_first) - 1.0) / np.arange(1, v.size + 1)
    positive = int(np.flatnonzero(largest_first > mu)[-1])
    return np.asarray(np.maximum(v - mu[positive], 0.0))


def _project_weighted(v: Array, variances: Array) -> Array:
    some = np.flatnonzero(variances > 0.0)
    rate = v[some] / variances[some]  # the mu at which each entry reaches zero
    order = np.argsort(-rate)
    held = np.maximum(np.delete(v, some), 0.0).sum()
    mu = (np.cumsum(v[some][order]) + held - 1.0) / np.cumsum(variances[some][order])
    positive = np.flatnonzero(rate[order] > mu)
    if not positive.size:  # what may not move leaves nothing for the others
        return project_simplex(v)
    return np.asarray(np.maximum(v - mu[positive[-1]] * variances, 0.0))


def project_subsimplex(v: Array) -> Array:
    """Point with entries of at least zero and a sum of at most one that is nearest to v, (k,)."""
    positive = np.maximum(v, 0.0)
    return positive if positive.sum() <= 1.0 else project_simplex(v)


def water_filling(counts: Array, a: float, b: float | Array) -> Array:
    """Maximise ``sum_y c_y log(a p_y + b_y)`` over the simplex (KBR16 Proposition 6, eq. 28, 29).

    The maximum is ``p_y = max(0, c_y / lam - b_y / a)``, with lam such that it sums to one. Once
    the counts are sorted by ``c_y / b_y``, lam follows from each possible number of positive
    entries at once. The channel is ``Q[x, y] = b_y + a [x == y]``: for k-RR b = 1 / (e^eps + k -
    1), a number, and a = (e^eps - 1) b > 0. Categories that are not sensitive have b_y = 0 under
    uRR, and come first.
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
