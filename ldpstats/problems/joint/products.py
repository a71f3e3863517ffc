"""Covariances of tables of many cells as a diagonal plus a low rank.

The unbiased features of k-RR and of unary bits are simple: one entry that belongs to the category,
times a number, and one number r of the whole report, shared out by a load. Of products of such
features of two variables only the sums along rows and columns are correlated, so that the
covariance of k1 k2 cells needs 2 (k1 + k2) + 3 factors, and no matrix of k1 k2 rows is formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.covariance import Covariance

__all__ = ["Unit", "product_covariance"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Unit:
    """Unbiased features ``scale e_i + load_i r`` of one variable, with E[e_i e_j] = 0, i != j.

    Parameters
    ----------
    mean, square, cross : array, shape (k, c)
        Means of e_i, e_i^2 and e_i r, given each of c states: true categories, or reports.
    rest, rest_square : array, shape (c,)
        Means of r and r^2.
    scale : float
    load : array, shape (k,)
    """

    mean: Array
    square: Array
    cross: Array
    rest: Array
    rest_square: Array
    scale: float
    load: Array

    @classmethod
    def of_labels(cls, Q: Array, a: float, b: float | Array) -> Unit:
        """Of reports by the channel Q = a I + 1 b': e is the indicator of the report, r = 1."""
        k = len(Q)
        load = -np.broadcast_to(b, (k,)) / a
        return cls(Q.T, Q.T, Q.T, np.ones(k), np.ones(k), 1.0 / a, load)

    @classmethod
    def of_bits(cls, k: int, p1: float, p0: float) -> Unit:
        """Of unary bits: e_i is (bit i - p0) / (p1 - p0), and r what their sum lacks of one."""
        square = np.full((k, k), p0 * (1.0 - p0))
        np.fill_diagonal(square, p1 * (1.0 - p0) ** 2 + (1.0 - p1) * p0**2)
        square /= (p1 - p0) ** 2
        rest = square.sum(axis=0) - 1.0
        return cls(np.eye(k), square, np.eye(k) - square, np.zeros(k), rest, 1.0, np.zeros(k))

    @property
    def is_label(self) -> bool:
        """Whether e is the indicator of the report."""
        return bool(np.all(self.rest == 1.0))

    def reported(self) -> Unit:
        """The same of labels, given the report instead of the category."""
        own = np.eye(len(self.mean))
        return replace(self, mean=own, square=own, cross=own)

    def without_excess(self, load: Array) -> Unit:
        """What the features lack of a sum of one is shared out by `load`; labels lack nothing."""
        return self if self.is_label else replace(self, load=load)


def product_covariance(one: Unit, other: Unit, law: Array, nobs: int) -> Covariance:
    """Covariance of the mean products of two variables' features over `nobs` respondents.

    Parameters
    ----------
    one, other : Unit
    law : array, shape (c1, c2)
        Law of the states of both.
    nobs : int

    Returns
    -------
    Covariance
        Of the k1 k2 cells, first variable in rows: diagonal plus 2 (k1 + k2) + 3 factors.
    """
    k1, k2 = len(one.mean), len(other.mean)
    square, both = one.square @ law @ other.square.T, one.cross @ law @ other.cross.T
    by_row, by_column = one.square @ law @ other.cross.T, one.cross @ law @ other.square.T
    # Cell ij has the part scale e_i f_j, of the diagonal, and what w = (e q, r f, r q) adds by J;
    # q and r are the numbers of the whole reports.
    J = np.zeros((k1, k2, k1 + k2 + 1))
    X = np.zeros_like(J)  # means of e_i f_j w
    rows, columns = np.arange(k1), np.arange(k2)
    J[rows, :, rows] = one.scale * other.load
    J[:, columns, k1 + columns] = other.scale * one.load[:, None]
    J[:, :, -1] = np.outer(one.load, other.load)
    X[rows, :, rows] = by_row
    X[:, columns, k1 + columns] = by_column
    X[:, :, -1] = both
    scale = one.scale * other.scale
    F = J.reshape(k1 * k2, -1)
    W, mean_w = _shared(one, other, law, both)
    mean = scale * (one.mean @ law @ other.mean.T).ravel() + F @ mean_w
    q = len(W)
    core = np.zeros((2 * q + 1,) * 2)
    core[:q, :q] = W
    core[:q, q : 2 * q] = core[q : 2 * q, :q] = np.eye(q)
    core[-1, -1] = -1.0
    factors = np.column_stack([F, scale * X.reshape(k1 * k2, -1), mean])
    return Covariance(scale**2 * square.ravel() / nobs, core / nobs, factors)


def _shared(one: Unit, other: Unit, law: Array, both: Array) -> tuple[Array, Array]:
    """Mean outer product, shape (k1 + k2 + 1,) * 2, and mean of w = (e q, r f, r q)."""
    k1 = len(one.mean)
    W = np.zeros((len(one.mean) + len(other.mean) + 1,) * 2)
    W[:k1, :k1] = np.diag(one.square @ law @ other.rest_square)
    W[k1:-1, k1:-1] = np.diag(one.rest_square @ law @ other.square.T)
    W[:k1, k1:-1] = both
    W[:k1, -1] = one.cross @ law @ other.rest_square
    W[k1:-1, -1] = one.rest_square @ law @ other.cross.T
    W = np.triu(W) + np.triu(W, 1).T
    W[-1, -1] = one.rest_square @ law @ other.rest_square
    means = one.mean @ law @ other.rest, one.rest @ law @ other.mean.T
    return W, np.concatenate([*means, [one.rest @ law @ other.rest]])
