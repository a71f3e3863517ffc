"""The design of Hadamard response: blocks from the rows of Hadamard matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.blocks.base import BlockDesign

__all__ = ["HadamardDesign", "walsh_hadamard"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class HadamardDesign(BlockDesign):
    """`parts` Hadamard matrices of order b side by side (Acharya, Sun and Zhang 2019, section 5).

    Category x belongs to the part ``x // (b - 1)`` and there to the row ``j = x % (b - 1) + 1`` of
    the matrix ``H[j, y] = (-1)^(number of ones in j & y)``. Label ``part * b + y`` is its own where
    H[j, y] is 1: b/2 of the labels of its part. The first row, all ones, is nobody's.

    Parameters
    ----------
    k : int
        Number of categories, at most ``parts * (order - 1)``.
    parts, order : int
        The number of matrices, and their order b, a power of two.

    Examples
    --------
    >>> HadamardDesign(3, 1, 4).holds(np.arange(4)).astype(int)
    array([[1, 1, 1],
           [0, 1, 0],
           [1, 0, 0],
           [0, 0, 1]])
    """

    k: int
    parts: int
    order: int

    @property
    def n_labels(self) -> int:  # type: ignore[override]
        return self.parts * self.order

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.order // 2

    @property
    def common(self) -> int | None:
        return self.order // 4 if self.parts == 1 else None

    def place(self, codes: Array) -> tuple[Array, Array]:
        """The part and the row of categories, each of shape (n,)."""
        part, row = np.divmod(np.asarray(codes, dtype=np.int64), self.order - 1)
        return part, row + 1

    @property
    def part(self) -> Array:
        """The part of every category, shape (k,)."""
        return self.place(np.arange(self.k))[0]

    def _spread(self, p: Array) -> Array:
        """Values of the categories at their rows, shape (parts, order)."""
        full = np.zeros((self.parts, self.order - 1), dtype=np.asarray(p).dtype)
        full.reshape(-1)[: self.k] = p
        return np.pad(full, ((0, 0), (1, 0)))

    def _rows(self, found: Array) -> Array:
        """Inverse of `_spread`."""
        return np.ascontiguousarray(found[:, 1:]).reshape(-1)[: self.k]

    def document(self) -> dict[str, Any]:
        return {"kind": "hadamard", "order": self.order}

    def masses(self, p: Array) -> Array:
        full = self._spread(p)
        return np.asarray((full.sum(axis=1, keepdims=True) + walsh_hadamard(full)) / 2).reshape(-1)

    def tallies(self, c: Array) -> Array:
        full = np.asarray(c).reshape(self.parts, self.order)
        return self._rows((full.sum(axis=1, keepdims=True) + walsh_hadamard(full)) / 2)

    def differences(self, c: Array) -> Array:
        """Half of what c sums to over own labels, less over the others of the part, (k,)."""
        return self._rows(walsh_hadamard(np.asarray(c).reshape(self.parts, self.order)) / 2)

    def part_masses(self, p: Array) -> Array:
        """Sum of p over the part of each category, shape (k,)."""
        return np.asarray(self._spread(p).sum(axis=1)[self.part])

    def label_parts(self, y: Array) -> Array:
        return np.asarray(y, dtype=np.int64) // self.order

    def _signs(self, y: Array) -> tuple[Array, Array]:
        """Whether label and category share the part, and whether H is -1 there, (u, k) each."""
        part, row = self.place(np.arange(self.k))
        its, place = np.divmod(np.asarray(y, dtype=np.int64), self.order)
        odd = np.bitwise_count(place[:, None] & row) & 1
        return its[:, None] == part, odd.astype(bool)

    def holds(self, y: Array) -> npt.NDArray[np.bool_]:
        same, odd = self._signs(y)
        return np.asarray(same & ~odd)

    def features(self, y: Array) -> Array:
        """One for own labels; with several parts half of the sign in the part, and zero outside."""
        if self.parts == 1:
            return super().features(y)
        same, odd = self._signs(y)
        return np.where(same, np.where(odd, -0.5, 0.5), 0.0)

    def own_label(self, codes: Array, number: Array) -> Array:
        part, row = self.place(codes)
        return np.asarray(part * self.order + _with_parity(row, number, 0))

    def other_label(self, codes: Array, number: Array) -> Array:
        part, row = self.place(codes)
        near = number < self.size  # labels of the part; after them those of the others
        far = np.where(near, 0, number - self.size)
        far += self.order * (far >= part * self.order)
        within = part * self.order + _with_parity(row, np.where(near, number, 0), 1)
        return np.where(near, within, far)


def walsh_hadamard(a: Array) -> Array:
    """Products with the Hadamard matrix of the last axis, whose length is a power of two.

    Examples
    --------
    >>> walsh_hadamard(np.array([1, 2, 3, 4]))
    array([10, -2, -4,  0])
    """
    out, n = np.array(a), np.shape(a)[-1]
    half = 1
    while half < n:
        pairs = out.reshape(*out.shape[:-1], n // (2 * half), 2, half)
        first, second = pairs[..., 0, :], pairs[..., 1, :].copy()
        np.subtract(first, second, out=pairs[..., 1, :])
        first += second
        half *= 2
    return out


def _with_parity(row: Array, number: Array, parity: int) -> Array:
    """The number-th y for which ``row & y`` has an even (0) or odd (1) number of ones.

    `number` has the bits of y but for the place of the lowest one of `row`, which settles it.
    """
    low = row & -row
    y = ((number & ~(low - 1)) << 1) | (number & (low - 1))
    wrong = (np.bitwise_count(row & y) & 1) != parity
    return np.asarray(y | np.where(wrong, low, 0))
