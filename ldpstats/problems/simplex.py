"""The probability simplex."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["project_simplex", "project_subsimplex"]

Array = npt.NDArray[Any]


def project_simplex(v: Array, variances: Array | None = None) -> Array:
    """Point of the simplex nearest to v in the Euclidean distance (Wang & Carreira-Perpinan 2013).

    It is ``max(v - mu, 0)`` with mu such that it sums to one, found by one sort. With `variances`
    the distance is ``sum (p - v)^2 / variances``, and the point ``max(v - mu variances, 0)``.

    Parameters
    ----------
    v : array, shape (k,)
    variances : array, shape (k,), optional
        How far each entry may move; one with variance zero stays where it is, or at zero.

    Returns
    -------
    array, shape (k,)

    Examples
    --------
    >>> project_simplex(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    >>> project_simplex(np.array([0.75, 0.5, -0.25]), variances=np.array([0.1, 0.4, 0.4]))
    array([0.7, 0.3, 0. ])
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
    """Point with entries of at least zero and a sum of at most one that is nearest to v.

    Parameters
    ----------
    v : array, shape (k,)

    Returns
    -------
    array, shape (k,)

    Examples
    --------
    >>> project_subsimplex(np.array([0.5, 0.25, -0.25]))
    array([0.5 , 0.25, 0.  ])
    >>> project_subsimplex(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    """
    positive = np.maximum(v, 0.0)
    return positive if positive.sum() <= 1.0 else project_simplex(v)
