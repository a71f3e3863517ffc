"""The design of projective geometry response: points and hyperplanes over a field of q elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.blocks.base import BlockDesign

__all__ = ["ProjectiveDesign"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ProjectiveDesign(BlockDesign):
    """Points of the projective space of dimension t - 1 over a field of q elements, q a prime.

    Categories are the first k points and labels are all points. Label y is own of x where the
    vectors are orthogonal, ``x_1 y_1 + ... + x_t y_t = 0 mod q`` (Feldman, Nelson, Nguyen and
    Talwar 2022, section 3). A point is the vector whose last entry other than zero is 1; with
    that at place j, its number is ``(q^j - 1) / (q - 1) + sum_i x_i q^i`` over i < j, from j = 0.

    Parameters
    ----------
    k : int
        Number of categories, at most ``(q^t - 1) / (q - 1)``.
    q, t : int
        A prime, and the length of the vectors, at least 2.

    Examples
    --------
    >>> ProjectiveDesign(7, 2, 3).holds(np.arange(7)).sum(axis=0)   # the Fano plane
    array([3, 3, 3, 3, 3, 3, 3])
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
        found = self._orthogonal(np.asarray(c, dtype=np.float64), self.t)[: self.k]
        return np.rint(found) if np.asarray(c).dtype.kind in "iu" else found

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
        within = zero.reshape(-1)[self._vectors(t - 1)] / q + inner
        return np.concatenate([within, one.reshape(-1) / q + every])

    @cached_property
    def _times(self) -> Array:
        """Multiplication table of the field, shape (q, q)."""
        return np.asarray(np.outer(np.arange(self.q), np.arange(self.q)) % self.q)

    def _vectors(self, t: int) -> Array:
        """Numbers ``sum_i x_i q^i`` of the vectors of all points of length t."""
        q = self.q
        return np.concatenate([q**j + np.arange(q**j) for j in range(t)])

    @cached_property
    def _point_of(self) -> Array:
        """The point that each vector of length t - 1 is a multiple of, by number; -1 for zero."""
        q, found = self.q, [np.array([-1])]
        inverse = np.array([0] + [pow(d, -1, q) for d in range(1, q)])
        scaled = np.zeros((q, 1), dtype=np.int64)  # numbers of a times each vector of length j
        for j in range(self.t - 1):
            found += [_points(q, j) + scaled[inverse[d]] for d in range(1, q)]
            if j < self.t - 2:
                top = self._times[:, :, None] * q**j
                scaled = (top + scaled[:, None, :]).reshape(q, -1)
        return np.concatenate(found)

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
        return self._label(codes, self._coordinates_of_space(number, self.t - 1), 0)

    def other_label(self, codes: Array, number: Array) -> Array:
        # a point off the hyperplane has one multiple whose product with x is one
        digits = number[:, None] // self.q ** np.arange(self.t - 1) % self.q
        return self._label(codes, digits, 1)

    def _coordinates_of_space(self, points: Array, t: int) -> Array:
        return ProjectiveDesign(1, self.q, t).coordinates(points)

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
