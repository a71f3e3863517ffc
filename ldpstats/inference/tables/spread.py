"""Sums over the coordinates of one variable that determine its permutation moments.

W_ij = z_i . z_j, with z_i the centred coordinates of report i, so the rows of W sum to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Blocks", "Spread", "blocks_of"]

Array = npt.NDArray[Any]

Blocks = Callable[[], Iterator[tuple[Array, Array]]]  # features (b, k) and their counts (b,)

_WORK = 1e10  # most multiplications for third moments of all coordinates


@dataclass(frozen=True, eq=False, slots=True)
class Spread:
    """Sums over W that determine the permutation moments of one variable.

    Parameters
    ----------
    n : int
        Number of respondents.
    t1, t2, t3 : float
        Traces of W, W^2 and W^3.
    s2, s3 : float
        Sums of w_ii^2 and of w_ii^3.
    u : float
        Sum of w_ij^3 over all i and j.
    r : float
        Sum of w_ii (W^2)_ii.
    lean : ndarray
        Sum of w_ii z_i, whose squared norm is the sum of w_ii w_ij w_jj.

    Examples
    --------
    Three respondents with one label and three with the other: W is a projection of rank one.

    >>> spread = Spread.of(blocks_of(np.eye(2), [3, 3]), np.full(2, 0.5), np.eye(2) / 3**0.5)
    >>> spread.n, round(spread.t1, 6), round(spread.s2, 6)
    (6, 1.0, 0.166667)
    """

    n: int
    t1: float
    t2: float
    t3: float
    s2: float
    s3: float
    u: float
    r: float
    lean: Array

    @classmethod
    def of(cls, blocks: Blocks, mean: Array, L: Array) -> Spread:
        """Of the coordinates z = L (a - mean), L of shape (r, k).

        `blocks()` yields features a, shape (b, k), with the number of respondents of each row,
        (b,). The sum of w_ij^3 is the squared norm of the third moments, r^3/3 multiplications per
        row, or a sum over pairs of rows if that costs less. If both exceed 1e10, moments of three
        different coordinates are left out, after a rotation to coordinates of few features.
        """
        n_rows = sum(len(n) for _, n in blocks())
        r = len(L)
        by_pairs = n_rows < r * r / 3
        if not by_pairs and n_rows * r**3 / 3 > _WORK:
            L = np.linalg.qr(L)[0].T @ L
        sums = _Sums(r, full=n_rows * r**3 / 3 <= _WORK and not by_pairs)
        kept = []
        for features, n in blocks():
            z = (features - mean) @ L.T
            sums.add(z, n)
            if by_pairs:
                kept.append((z, n))
        u = _cubes(kept) if by_pairs else sums.cubes()
        G, D = sums.gram, sums.leaning
        t2, t3 = float(np.sum(G * G)), float(np.sum((G @ G) * G))
        n_respondents = round(sums.n)
        return cls(
            n_respondents, float(np.trace(G)), t2, t3, sums.s2, sums.s3, u, float(np.sum(G * D)),
            sums.lean,
        )  # fmt: skip

    @classmethod
    def of_labels(cls, counts: npt.ArrayLike) -> Spread:
        """Of all functions of labels with these counts, in white coordinates.

        W is the projection onto the centred indicators of the labels: 1/n_x - 1/N for two
        respondents with label x, and -1/N for two with different labels.

        Examples
        --------
        >>> spread = Spread.of_labels([8, 2])
        >>> round(spread.t1, 6), round(spread.s2, 6), round(spread.u, 6)
        (1.0, 0.325, 0.225)
        """
        n = np.asarray(counts, dtype=np.float64)
        n = n[n > 0.0]
        N, rank = float(n.sum()), float(n.size - 1)
        d = 1.0 / n - 1.0 / N
        s2, s3 = float(n @ d**2), float(n @ d**3)
        u = float(n**2 @ (d**3 + N**-3.0)) - 1.0 / N
        lean = np.array([math.sqrt(max(s2 - rank**2 / N, 0.0))])
        return cls(round(N), rank, rank, rank, s2, s3, u, s2, lean)

    def scaled(self, factor: float) -> Spread:
        """Of coordinates times the root of `factor`, which multiplies W."""
        f = float(factor)
        return Spread(
            self.n, f * self.t1, f**2 * self.t2, f**3 * self.t3, f**2 * self.s2, f**3 * self.s3,
            f**3 * self.u, f**3 * self.r, f**1.5 * self.lean,
        )  # fmt: skip

    @property
    def b(self) -> float:
        """Sum of w_ii w_ij w_jj over all i and j."""
        return float(self.lean @ self.lean)

    def kinds(self, order: int) -> Array:
        """The sums over the slots of `order` factors, in the order of `slots._KINDS`."""
        if order == 1:
            return np.array([self.t1])
        if order == 2:
            return np.array([self.s2, self.t1**2, self.t2])
        t1 = self.t1
        return np.array(
            [self.s3, self.u, self.b, t1 * self.s2, self.r, t1**3, t1 * self.t2, self.t3]
        )


class _Sums:
    """Running sums over rows of coordinates."""

    def __init__(self, r: int, full: bool) -> None:
        self.n = self.s2 = self.s3 = 0.0
        self.gram, self.leaning, self.lean = np.zeros((r, r)), np.zeros((r, r)), np.zeros(r)
        self.pairs, self.third = np.zeros((r, r)), None
        if full:
            self.third = [np.zeros((r - a, r - a)) for a in range(r)]

    def add(self, z: Array, n: Array) -> None:
        d = np.einsum("ij,ij->i", z, z)
        self.n += float(n.sum())
        self.s2 += float(n @ d**2)
        self.s3 += float(n @ d**3)
        weighted = z.T * n
        self.gram += weighted @ z
        self.lean += weighted @ d
        self.leaning += (weighted * d) @ z
        if self.third is None:
            self.pairs += weighted @ z**2
            return
        for a, found in enumerate(self.third):
            found += (weighted[a:] * z[:, a]) @ z[:, a:]

    def cubes(self) -> float:
        """Sum over a, b and c of the squared third moments m_abc."""
        if self.third is None:  # of at most two different coordinates
            return float(3.0 * np.sum(self.pairs**2) - 2.0 * np.sum(np.diagonal(self.pairs) ** 2))
        total = 0.0
        for found in self.third:  # a the smallest index: alone, twice, or three times
            same, twice = found[0, 0] ** 2, np.sum(found[0, 1:] ** 2)
            total += float(same + 3.0 * twice + 3.0 * np.sum(found[1:, 1:] ** 2))
        return total


def _cubes(kept: Sequence[tuple[Array, Array]]) -> float:
    """Sum of w_ij^3, pair by pair of rows."""
    z, n = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    total = 0.0
    for start in range(0, len(z), 1024):
        block = slice(start, start + 1024)
        total += float(n[block] @ (z[block] @ z.T) ** 3 @ n)
    return total


def blocks_of(features: npt.ArrayLike, counts: npt.ArrayLike) -> Blocks:
    """Blocks of one array of features, shape (u, k), with the counts of its rows."""
    rows, n = np.asarray(features, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    return lambda: iter([(rows, n)])
