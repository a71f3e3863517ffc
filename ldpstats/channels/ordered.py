"""Channels of ordered categories: nearby ones make nearly the same reports."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.problems.rows.base import DenseRows, Rows

__all__ = ["Band", "Geometric"]

Array = npt.NDArray[Any]


class _Written(Channel):
    """A channel whose matrix is written out once."""

    @cached_property
    def _all(self) -> Array:
        Q = self._written()
        Q.flags.writeable = False
        return Q

    @abstractmethod
    def _written(self) -> Array:
        """The matrix, shape (k, l)."""

    def _matrix(self) -> Array:
        return self._all

    def rows(self, y: Array) -> Rows:
        return DenseRows(np.ascontiguousarray(self.matrix()[:, y].T))


@dataclass(frozen=True, eq=False)
class Band(_Written):
    """``Q[x, y] = p`` for ``x <= y <= x + 2 b``, else q: the square wave of Li et al. (2020).

    Parameters
    ----------
    k : int
        Number of categories. There are ``k + 2 b`` reports.
    b : int
        Half width of the band.
    log_ratio : float
        Logarithm of p / q: epsilon, in nats.

    Examples
    --------
    >>> Band(3, 1, np.log(3.0)).matrix().round(4)
    array([[0.2727, 0.2727, 0.2727, 0.0909, 0.0909],
           [0.0909, 0.2727, 0.2727, 0.2727, 0.0909],
           [0.0909, 0.0909, 0.2727, 0.2727, 0.2727]])
    """

    k: int
    b: int
    log_ratio: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, self.k + 2 * self.b

    @property
    def width(self) -> int:
        """Reports in the band of a category."""
        return 2 * self.b + 1

    @property
    def high(self) -> float:
        """Probability p of each report in the band."""
        return 1.0 / (self.width + (self.k - 1) * float(np.exp(-self.log_ratio)))

    @property
    def low(self) -> float:
        """Probability q of each other report."""
        return float(np.exp(-self.log_ratio)) * self.high

    @property
    def excess(self) -> float:
        """By how much p exceeds q."""
        return self.high * float(-np.expm1(-self.log_ratio))

    def _written(self) -> Array:
        x, y = np.arange(self.k)[:, None], np.arange(self.shape[1])
        return np.where((y >= x) & (y <= x + 2 * self.b), self.high, self.low)

    def forward(self, p: Array) -> Array:
        given = np.asarray(p, dtype=np.float64)
        sums = np.concatenate([[0.0], np.cumsum(given)])
        y = np.arange(self.shape[1])
        inside = sums[np.minimum(y + 1, self.k)] - sums[np.maximum(y - 2 * self.b, 0)]
        return np.asarray(self.low * given.sum() + self.excess * inside)

    def epsilon(self) -> float:
        return float(np.log1p(self.excess / self.low))


@dataclass(frozen=True, eq=False)
class Geometric(_Written):
    """``Q[x, y]`` in proportion to ``a^|x - y|``, what lies beyond the ends added to them.

    Parameters
    ----------
    k : int
        Number of categories, which are the reports too.
    rate : float
        ``-ln a``, in nats for each step away.

    Examples
    --------
    >>> Geometric(3, np.log(2.0)).matrix().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """

    k: int
    rate: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, self.k

    def _written(self) -> Array:
        steps = np.abs(np.subtract.outer(np.arange(self.k), np.arange(self.k)))
        a = np.exp(-self.rate)
        Q = np.exp(-self.rate * steps) / (1.0 + a)
        Q[:, 1:-1] *= -np.expm1(-self.rate)
        return np.asarray(Q)

    def epsilon(self) -> float:
        Q = self.matrix()
        return float(np.log(Q.max(axis=0) / Q.min(axis=0)).max())
