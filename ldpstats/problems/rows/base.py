"""The likelihood matrix W of observed reports, kept in the form that its channel allows.

Row i belongs to one distinct report y_i, column x to one category:
``W[i, x] = Q[x, y_i] / exp(log_scale[i])``. A solver needs only the products below, so the matrix
itself is formed for dense channels alone. The scale of a row leaves the maximum where it is, and
keeps reports of many bits, whose probabilities underflow, in range.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = [
    "DenseRows",
    "FixedEntry",
    "Rows",
    "StackedRows",
    "UnaryRows",
    "UniformRows",
    "log_noise",
]

Array = npt.NDArray[Any]

_BLOCK = 1 << 21  # entries of W that are unpacked at a time (16 MB as float64)


class Rows(ABC):
    """A (u, k) matrix of report likelihoods, known through its products."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of distinct reports u and of categories k."""

    @property
    def log_scale(self) -> Array:
        """Natural logarithm, shape (u,), of the factor taken out of each row."""
        return np.zeros(self.shape[0])

    @abstractmethod
    def mix(self, p: Array) -> Array:
        """W p, shape (u,): the scaled probability of each report under p."""

    @abstractmethod
    def adjoint(self, v: Array) -> Array:
        """W' v, shape (k,)."""

    @abstractmethod
    def take(self, start: int, stop: int) -> Array:
        """Rows `start` to `stop` as a dense (stop - start, k) float64 array."""

    @abstractmethod
    def select(self, keep: Array) -> Rows:
        """The rows where the boolean `keep`, shape (u,), is true, in the same form."""

    def pinned(self, p: Array) -> Array:
        """Categories, bool of shape (k,), that are absent under p beyond doubt.

        One respondent of such a category may make a report that no other can, and that has
        probability zero under p: the information about its absence is infinite.
        """
        return np.zeros(self.shape[1], dtype=bool)

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        """W' v and (W * W)' v, both (k,); the latter is the diagonal of `gram`."""
        first, second = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for part, block in self.blocks():
            first += v[part] @ block
            second += v[part] @ (block * block)
        return first, second

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Dense blocks of rows, each of at most about 16 MB."""
        u, k = self.shape
        step = max(1, _BLOCK // max(k, 1))
        for start in range(0, u, step):
            stop = min(start + step, u)
            yield slice(start, stop), self.take(start, stop)

    def dense(self) -> Array:
        """The whole scaled matrix, shape (u, k)."""
        return self.take(0, self.shape[0])

    def gram(self, v: Array) -> Array:
        """W' diag(v) W, shape (k, k), for v >= 0."""
        k = self.shape[1]
        total = np.zeros((k, k))
        root = np.sqrt(v)
        for part, block in self.blocks():
            weighted = block * root[part, None]
            total += weighted.T @ weighted
        return total


@dataclass(frozen=True, eq=False)
class DenseRows(Rows):
    """An explicit matrix, shape (u, k), with an optional scale per row."""

    W: Array
    scale: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.W.shape[0], self.W.shape[1]

    @property
    def log_scale(self) -> Array:
        return np.zeros(self.W.shape[0]) if self.scale is None else self.scale

    def mix(self, p: Array) -> Array:
        return np.asarray(self.W @ p)

    def adjoint(self, v: Array) -> Array:
        return np.asarray(v @ self.W)

    def take(self, start: int, stop: int) -> Array:
        return self.W[start:stop]

    def select(self, keep: Array) -> DenseRows:
        return DenseRows(self.W[keep], None if self.scale is None else self.scale[keep])


@dataclass(frozen=True, eq=False)
class UniformRows(Rows):
    """Rows ``b_y + a [x == y]``, y = codes[i], of a channel a I + 1 b' (k-RR, uRR), in O(u) memory.

    `b` is a number where all reports are alike (k-RR), else of shape (k,).
    """

    codes: Array
    a: float
    b: float | Array
    k: int

    @cached_property
    def background(self) -> Any:
        """What all categories share of each row: a number, or shape (u,)."""
        return self.b if np.ndim(self.b) == 0 else np.asarray(self.b)[self.codes]

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.k

    def mix(self, p: Array) -> Array:
        return np.asarray(self.a * p[self.codes] + self.background * p.sum())

    def adjoint(self, v: Array) -> Array:
        own = np.bincount(self.codes, weights=v, minlength=self.k)
        return np.asarray(self.a * own + (self.background * v).sum())

    def take(self, start: int, stop: int) -> Array:
        codes = self.codes[start:stop]
        block = np.empty((codes.size, self.k))
        block.T[:] = np.broadcast_to(self.background, self.codes.shape)[start:stop]
        block[np.arange(codes.size), codes] += self.a
        return block

    def select(self, keep: Array) -> UniformRows:
        return replace(self, codes=self.codes[keep])

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        b = self.background
        tally = np.bincount(self.codes, weights=v, minlength=self.k)
        twice = np.bincount(self.codes, weights=(self.a + 2.0 * b) * v, minlength=self.k)
        return self.a * tally + (b * v).sum(), self.a * twice + (b * b * v).sum()


def log_noise(packed: npt.NDArray[np.uint8], p0: float, n_bits: int) -> Array:
    """Log-probability, shape (u,), of packed reports all of whose bits are 1 with probability p0.

    Examples
    --------
    >>> log_noise(np.array([[0b101]], dtype=np.uint8), 0.5, 3).round(6)   # 3 ln(1/2)
    array([-2.079442])
    """
    parts = np.array_split(packed, 1 + packed.size // _BLOCK)
    ones = np.concatenate([np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts])
    return np.asarray(ones * np.log(p0) + (n_bits - ones) * np.log1p(-p0))


@dataclass(frozen=True, eq=False)
class UnaryRows(Rows):
    """Rows of a unary channel: category x sets bit x with p1, every other bit with p0 < p1.

    Up to the factor ``prod_j p0^y_j (1-p0)^(1-y_j)`` of the row, which `log_scale` holds,
    ``W[i, x] = absent + (present - absent) * bit x of report i`` with present = p1/p0 and
    absent = (1-p1)/(1-p0): the exact likelihood of a whole report (KBR16's Proposition 7 multiplies
    the bits as if they were independent given p, which they are not).

    `packed` has shape (u, ceil(k/8)), bit j of a report in byte j // 8 at position j % 8.
    """

    packed: npt.NDArray[np.uint8]
    p1: float
    p0: float
    k: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.k

    @property
    def present(self) -> float:
        """Scaled likelihood of the categories whose bit is set."""
        return self.p1 / self.p0

    @property
    def absent(self) -> float:
        """Scaled likelihood of the categories whose bit is not set."""
        return (1.0 - self.p1) / (1.0 - self.p0)

    @cached_property
    def log_scale(self) -> Array:
        return log_noise(self.packed, self.p0, self.k)

    def mix(self, p: Array) -> Array:
        out = np.empty(self.shape[0])
        for part, block in self.blocks():
            out[part] = block @ p
        return out

    def adjoint(self, v: Array) -> Array:
        out = np.zeros(self.k)
        for part, block in self.blocks():
            out += v[part] @ block
        return out

    def take(self, start: int, stop: int) -> Array:
        bits = np.unpackbits(self.packed[start:stop], axis=1, count=self.k, bitorder="little")
        return self.absent + (self.present - self.absent) * bits.astype(np.float64)

    def select(self, keep: Array) -> Self:
        return replace(self, packed=self.packed[keep])


@dataclass(frozen=True, eq=False)
class StackedRows(Rows):
    """The rows of several groups of respondents (mechanisms, cohorts), one after the other."""

    parts: tuple[Rows, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @cached_property
    def log_scale(self) -> Array:
        return np.concatenate([part.log_scale for part in self.parts])

    @cached_property
    def _ends(self) -> Array:
        return np.cumsum([0] + [part.shape[0] for part in self.parts])

    def mix(self, p: Array) -> Array:
        return np.concatenate([part.mix(p) for part in self.parts])

    def adjoint(self, v: Array) -> Array:
        pieces = np.split(v, self._ends[1:-1])
        sums = [part.adjoint(w) for part, w in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(sums, axis=0))

    def take(self, start: int, stop: int) -> Array:
        found = []
        for part, first, last in zip(self.parts, self._ends[:-1], self._ends[1:], strict=True):
            if first < stop and last > start:
                found.append(part.take(max(start - first, 0), min(stop, last) - first))
        return np.concatenate(found) if found else np.empty((0, self.shape[1]))

    def select(self, keep: Array) -> StackedRows:
        pieces = np.split(keep, self._ends[1:-1])
        return StackedRows(tuple(q.select(w) for q, w in zip(self.parts, pieces, strict=True)))

    def gram(self, v: Array) -> Array:
        pieces = np.split(v, self._ends[1:-1])
        return np.asarray(sum(part.gram(w) for part, w in zip(self.parts, pieces, strict=True)))

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        pieces = np.split(v, self._ends[1:-1])
        pairs = [part.adjoints(w) for part, w in zip(self.parts, pieces, strict=True)]
        first, second = np.sum(pairs, axis=0)
        return first, second


@dataclass(frozen=True, eq=False)
class FixedEntry(Rows):
    """The rows seen by the other k - 1 categories when ``p[index] = value`` is held fixed.

    For r on the simplex of the others, ``mix(r)`` is the base's ``mix`` of the distribution that
    has `value` at `index` and ``(1 - value) r`` elsewhere: a profile likelihood is then an
    ordinary one.
    """

    base: Rows
    index: int
    value: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self.base.shape[1] - 1

    @property
    def log_scale(self) -> Array:
        return self.base.log_scale

    @cached_property
    def _column(self) -> Array:
        one = np.zeros(self.base.shape[1])
        one[self.index] = 1.0
        return self.base.mix(one)

    def mix(self, p: Array) -> Array:
        others = np.insert((1.0 - self.value) * p, self.index, self.value * p.sum())
        return self.base.mix(others)

    def adjoint(self, v: Array) -> Array:
        others = np.delete(self.base.adjoint(v), self.index)
        return np.asarray((1.0 - self.value) * others + self.value * (self._column @ v))

    def take(self, start: int, stop: int) -> Array:
        block = np.delete(self.base.take(start, stop), self.index, axis=1)
        return (1.0 - self.value) * block + self.value * self._column[start:stop, None]

    def select(self, keep: Array) -> FixedEntry:
        return replace(self, base=self.base.select(keep))

    def gram(self, v: Array) -> Array:
        G, i = self.base.gram(v), self.index
        others, own = np.delete(np.delete(G, i, 0), i, 1), np.delete(G[i], i)
        f, g = self.value, 1.0 - self.value
        return np.asarray(g * g * others + f * g * (own[:, None] + own) + f * f * G[i, i])

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        first, second = (np.delete(part, self.index) for part in self.base.adjoints(v))
        cross = np.delete(self.base.adjoint(v * self._column), self.index)
        f, g = self.value, 1.0 - self.value
        return (
            g * first + f * (self._column @ v),
            g * g * second + 2.0 * f * g * cross + f * f * (self._column**2 @ v),
        )
