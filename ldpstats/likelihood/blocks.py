"""Designs of blocks: which categories each label of a report stands for.

Hadamard response takes its blocks from the rows of Hadamard matrices, projective geometry response
from points and hyperplanes over a field of q elements; of k-RR each label stands for one category.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats


class BlockDesign(ABC):
    """k categories and l labels, each of which stands for a block of categories.

    Every category is in the blocks of the same number `size` of labels, its own labels.
    """

    # annotations only: a subclass has them as fields or as properties
    k: int
    n_labels: int  # l
    size: int  # labels whose block holds a given category

    @property
    @abstractmethod
    def common(self) -> int | None:
        """Labels whose block holds two given categories; None where that depends on the two."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The design in client documents."""

    @abstractmethod
    def masses(self, p: Array) -> Array:
        """Sums of p, shape (k,), over the block of each label, shape (l,)."""

    @abstractmethod
    def tallies(self, c: Array) -> Array:
        """Sums of c, shape (l,), over the own labels of each category, shape (k,)."""

    @abstractmethod
    def holds(self, y: Array) -> npt.NDArray[np.bool_]:
        """Which categories are in the blocks of the labels y, shape (u, k)."""

    @abstractmethod
    def own_label(self, codes: Array, number: Array) -> Array:
        """The own label of each code that has this number, from 0 to size - 1; shape (n,)."""

    @abstractmethod
    def other_label(self, codes: Array, number: Array) -> Array:
        """The label not of each code that has this number, from 0 to l - size - 1; shape (n,)."""

    def part_masses(self, p: Array) -> Array:
        """Sum of p over the categories that enter the feature of each, shape (k,): over all."""
        return np.full(self.k, np.sum(p))

    def label_parts(self, y: Array) -> Array:
        """The part of the design that each label belongs to, shape (u,): all to one."""
        return np.zeros(len(y), dtype=np.int64)

    def features(self, y: Array) -> Array:
        """What a report y adds to the tally of each category, shape (u, k)."""
        return self.holds(y).astype(np.float64)


# -- The design of Hadamard response: blocks from the rows of Hadamard matrices -------------------


@dataclass(frozen=True)
class HadamardDesign(BlockDesign):
    """`parts` Hadamard matrices of order b side by side (Acharya, Sun and Zhang 2019, section 5).

    Category x belongs to the part ``x // (b - 1)`` and there to the row ``j = x % (b - 1) + 1`` of
    the matrix ``H[j, y] = (-1)^(number of ones in j & y)``. Label ``part * b + y`` is its own where
    H[j, y] is 1: b/2 of the labels of its part. The first row, all ones, is nobody's. There are at
    most ``parts * (order - 1)`` categories; b is a power of two.
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

    def _rows(self, values: Array) -> Array:
        """Inverse of `_spread`."""
        return np.ascontiguousarray(values[:, 1:]).reshape(-1)[: self.k]

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
        return same & ~odd

    def features(self, y: Array) -> Array:
        """One for own labels; with several parts half of the sign in the part, and zero outside."""
        if self.parts == 1:
            return super().features(y)
        same, odd = self._signs(y)
        return np.where(same, np.where(odd, -0.5, 0.5), 0.0)

    def own_label(self, codes: Array, number: Array) -> Array:
        part, row = self.place(codes)
        return part * self.order + _with_parity(row, number, 0)

    def other_label(self, codes: Array, number: Array) -> Array:
        part, row = self.place(codes)
        near = number < self.size  # labels of the part; after them those of the others
        far = np.where(near, 0, number - self.size)
        far += self.order * (far >= part * self.order)
        within = part * self.order + _with_parity(row, np.where(near, number, 0), 1)
        return np.where(near, within, far)


def walsh_hadamard(a: Array) -> Array:
    """Products with the Hadamard matrix of the last axis, whose length is a power of two."""
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


# -- The design of projective geometry response: points and hyperplanes over a field of q elements -


@dataclass(frozen=True)
class ProjectiveDesign(BlockDesign):
    """Points of the projective space of dimension t - 1 over a field of q elements, q a prime.

    Categories are the first k points and labels are all points. Label y is own of x where the
    vectors are orthogonal, ``x_1 y_1 + ... + x_t y_t = 0 mod q`` (Feldman, Nelson, Nguyen and
    Talwar 2022, section 3). A point is the vector whose last entry other than zero is 1; with
    that at place j, its number is ``(q^j - 1) / (q - 1) + sum_i x_i q^i`` over i < j, from j = 0.
    There are at most ``(q^t - 1) / (q - 1)`` categories.
    """

    k: int
    q: int
    t: int

    @property
    def n_labels(self) -> int:  # type: ignore[override]
        return _points(self.q, self.t)

    @property
    def size(self) -> int:  # type: ignore[override]
        return _points(self.q, self.t - 1)

    @property
    def common(self) -> int:
        return _points(self.q, self.t - 2)

    def document(self) -> dict[str, Any]:
        return {"kind": "projective", "q": self.q, "t": self.t}

    def masses(self, p: Array) -> Array:
        full = np.zeros(self.n_labels)
        full[: self.k] = p
        return self._orthogonal(full, self.t)

    def tallies(self, c: Array) -> Array:
        sums = self._orthogonal(floats(c), self.t)[: self.k]
        return np.rint(sums) if np.asarray(c).dtype.kind in "iu" else sums

    def _orthogonal(self, c: Array, t: int) -> Array:
        """Sums of c over the points orthogonal to each point, of vectors of length t.

        Points (u, 1) are the vectors u of length t - 1. Those among them that are orthogonal to
        (w, s) have ``u.w = -s``, and are found from the Fourier transform F of c over u as
        ``sum_a omega^(a s) F(a w) / q``; the points (u, 0) are those of the smaller space.
        """
        if t == 1:
            return np.zeros(1)
        q, split = self.q, _points(self.q, t - 1)
        F = np.fft.fftn(c[split:].reshape((q,) * (t - 1)))
        zero, one = np.full(F.shape, F.flat[0].real), np.full(F.shape, F.flat[0].real)
        for a in range(1, q // 2 + 1):
            turned = F
            for axis in range(t - 1):
                turned = np.take(turned, self._times[a], axis=axis)
            twice = 1.0 if 2 * a == q else 2.0  # q - a gives the conjugate
            zero += twice * turned.real
            one += twice * (turned * np.exp(-2j * np.pi * a / q)).real
        inner = self._orthogonal(c[:split], t - 1)
        every = np.append(inner, c[:split].sum())[self._point_of[: q ** (t - 1)]]
        # numbers sum_i x_i q^i of the vectors of all points of length t - 1
        vectors = np.concatenate([q**j + np.arange(q**j) for j in range(t - 1)])
        within = zero.reshape(-1)[vectors] / q + inner
        return np.concatenate([within, one.reshape(-1) / q + every])

    @cached_property
    def _times(self) -> Array:
        """Multiplication table of the field, shape (q, q)."""
        return np.outer(np.arange(self.q), np.arange(self.q)) % self.q

    @cached_property
    def _point_of(self) -> Array:
        """The point that each vector of length t - 1 is a multiple of, by number; -1 for zero."""
        q, points = self.q, [np.array([-1])]
        inverse = np.array([0] + [pow(d, -1, q) for d in range(1, q)])
        scaled = np.zeros((q, 1), dtype=np.int64)  # numbers of a times each vector of length j
        for j in range(self.t - 1):
            points += [_points(q, j) + scaled[inverse[d]] for d in range(1, q)]
            if j < self.t - 2:
                top = self._times[:, :, None] * q**j
                scaled = (top + scaled[:, None, :]).reshape(q, -1)
        return np.concatenate(points)

    def coordinates(self, points: Array) -> Array:
        """The vectors of points, int64 of shape (n, t)."""
        starts = np.array([_points(self.q, j) for j in range(self.t + 1)])
        place = np.searchsorted(starts, points, side="right") - 1
        rest, out = points - starts[place], np.zeros((len(points), self.t), dtype=np.int64)
        for i in range(self.t):
            rest, out[:, i] = np.divmod(rest, self.q)
        out[np.arange(len(points)), place] = 1
        return out

    def numbers(self, vectors: Array) -> Array:
        """The points, shape (n,), that vectors other than zero, shape (n, t), are multiples of."""
        q, rows = self.q, np.arange(len(vectors))
        place = self.t - 1 - np.argmax(vectors[:, ::-1] != 0, axis=1)
        inverse = np.array([0] + [pow(d, -1, q) for d in range(1, q)])
        unit = vectors * inverse[vectors[rows, place]][:, None] % q
        unit[rows, place] = 0
        starts = np.array([_points(q, j) for j in range(self.t)])
        return np.asarray(starts[place] + unit @ q ** np.arange(self.t))

    def holds(self, y: Array) -> npt.NDArray[np.bool_]:
        labels = self.coordinates(np.asarray(y, dtype=np.int64)).astype(np.float64)
        return np.asarray(labels @ self._categories.T % self.q == 0.0)

    @cached_property
    def _categories(self) -> Array:
        return self.coordinates(np.arange(self.k)).astype(np.float64)

    def own_label(self, codes: Array, number: Array) -> Array:
        # number points of x's hyperplane by those of the space without x's last place
        return self._label(codes, ProjectiveDesign(1, self.q, self.t - 1).coordinates(number), 0)

    def other_label(self, codes: Array, number: Array) -> Array:
        # a point off the hyperplane has one multiple whose product with x is one
        digits = number[:, None] // self.q ** np.arange(self.t - 1) % self.q
        return self._label(codes, digits, 1)

    def _label(self, codes: Array, free: Array, product: int) -> Array:
        """The point whose product with x is given, from its entries but that at x's last place."""
        x, rows = self.coordinates(np.asarray(codes, dtype=np.int64)), np.arange(len(codes))
        place = self.t - 1 - np.argmax(x[:, ::-1] != 0, axis=1)
        at = np.arange(self.t - 1) + (np.arange(self.t - 1) >= place[:, None])
        vector = np.zeros_like(x)
        np.put_along_axis(vector, at, free, axis=1)
        vector[rows, place] = (product - (x * vector).sum(axis=1)) % self.q
        return self.numbers(vector)


def _points(q: int, t: int) -> int:
    """Number of points of vectors of length t: (q^t - 1) / (q - 1)."""
    return int((q**t - 1) // (q - 1))


# -- The design of k-RR: each label stands for one category ---------------------------------------


@dataclass(frozen=True)
class SingleDesign(BlockDesign):
    """A label for each of k categories, its only own one."""

    k: int
    size = 1

    @property
    def n_labels(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def common(self) -> int:
        return 0

    def document(self) -> dict[str, Any]:
        return {"kind": "single"}

    def masses(self, p: Array) -> Array:
        return np.array(p)

    def tallies(self, c: Array) -> Array:
        return np.array(c)

    def holds(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(np.asarray(y)[:, None] == np.arange(self.k), dtype=np.bool_)

    def own_label(self, codes: Array, number: Array) -> Array:
        return np.array(codes)

    def other_label(self, codes: Array, number: Array) -> Array:
        return number + (number >= codes)
