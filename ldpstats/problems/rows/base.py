"""The likelihood matrix W of observed reports, kept in the form that its channel allows.

Row i belongs to one distinct report y_i, column x to one category:
``W[i, x] = Q[x, y_i] / exp(log_scale[i])``. A solver needs only the products below, so the matrix
itself is formed for dense channels alone. The scale of a row leaves the maximum where it is, and
keeps reports of many bits, whose probabilities underflow, in range.

Rows also answer what a solver wants to know of their structure: which form has the fastest products
(`prepared`), where iterations start (`start`), whether counts give the maximum (`closed_form`) or a
smaller problem does (`reduced`), and which reports are noisy (`noise`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.simplex import water_filling

__all__ = [
    "DenseRows",
    "Reduction",
    "Rows",
    "UniformRows",
    "dense_if_small",
    "log_noise",
]

Array = npt.NDArray[Any]

_BLOCK = 1 << 21  # entries of W that are unpacked at a time (16 MB as float64)
_SMALL = 1 << 21  # entries of W up to which the dense matrix is the fastest form


@dataclass(frozen=True, eq=False)
class Reduction:
    """A likelihood of fewer categories whose maximum q gives that of all, q[places] * shares.

    Parameters
    ----------
    whole : Rows, shape (u, k)
        The rows of all categories, `prepared`.
    W, n : Rows, shape (u', k'), and array, shape (u',)
        The smaller problem: its rows and counts.
    places : array of int, shape (k,)
        Which of the k' categories each of the k belongs to.
    shares : array, shape (k,)
        Its share of that category at the maximum.
    """

    whole: Rows
    W: Rows
    n: Array
    places: Array
    shares: Array

    def expanded(self, q: Array) -> Array:
        """The p, shape (k,), that belongs to q, shape (k',)."""
        return np.asarray(q[self.places] * self.shares)


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

    @property
    def is_structured(self) -> bool:
        """Whether products with W are cheaper than a dense matrix makes them."""
        return False

    @property
    def is_joint(self) -> bool:
        """Whether these are joint reports on several variables."""
        return False

    @property
    def is_table(self) -> bool:
        """Whether products go through a table of the distinct reports, which makes them quick."""
        return False

    @abstractmethod
    def mix(self, p: Array) -> Array:
        """W p, shape (u,): the scaled probability of each report under p."""

    @abstractmethod
    def adjoint(self, v: Array) -> Array:
        """W' v, shape (k,)."""

    def mix_each(self, p: Array) -> Array:
        """`mix` of several p, shape (c, k), at once: shape (c, u)."""
        return np.stack([self.mix(one) for one in p])

    def adjoint_each(self, v: Array) -> Array:
        """`adjoint` of several v, shape (c, u), at once: shape (c, k)."""
        return np.stack([self.adjoint(one) for one in v])

    @abstractmethod
    def take(self, start: int, stop: int) -> Array:
        """Rows `start` to `stop` as a dense (stop - start, k) float64 array."""

    @abstractmethod
    def select(self, keep: Array) -> Rows:
        """The rows where the boolean `keep`, shape (u,), is true, in the same form."""

    # -- what a solver asks

    def prepared(self) -> Rows:
        """The same rows in the form whose products are fastest: dense if small, else compiled."""
        return self

    def groups(self, v: Array) -> list[tuple[Rows, Array]]:
        """The rows of each group of respondents, with its part of v, shape (u,)."""
        return [(self, v)]

    def closed_form(self, n: Array) -> Array | None:
        """The maximum of the likelihood for counts n, shape (u,), where a formula gives it."""
        return None

    def closed_form_beside(self, n: Array, index: int, value: float) -> Array | None:
        """The shares of the other categories, (k - 1,), at the maximum where one is held fixed."""
        return None

    def reduced(self, n: Array) -> Reduction | None:
        """A smaller problem that has the same maximum for counts n, where there is one."""
        return None

    def start(self, n: Array) -> Array:
        """Where to start for counts n: a projected linear estimate, else the uniform p.

        Solvers ask it of rows that are `prepared`; see also `margins`.
        """
        return np.full(self.shape[1], 1.0 / self.shape[1])

    def linear(self, v: Array, total: float) -> Array | None:
        """The linear estimate from weights v that sum to `total`; None where it is not quick."""
        return None

    def margins(self, n: Array) -> list[tuple[Array, Array]]:
        """W and counts of the reports on each variable alone; none where there is but one."""
        return []

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        """W' v and 1' v over noisy reports alone, if there are any, where W' v is `first`."""
        return first, float(v.sum())

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

    def mix_squares(self, p: Array) -> Array:
        """(W * W) p, shape (u,)."""
        return np.concatenate([(block * block) @ p for _, block in self.blocks()])

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

    def rough_gram(self, v: Array) -> Array:
        """`gram`, to about seven digits where that is quicker: enough to steer iterations."""
        return self.gram(v)


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

    def mix_each(self, p: Array) -> Array:
        return np.asarray(p @ self.W.T)

    def adjoint_each(self, v: Array) -> Array:
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

    @property
    def is_structured(self) -> bool:
        return True

    def mix(self, p: Array) -> Array:
        return np.asarray(self.a * p[self.codes] + self.background * p.sum())

    def adjoint(self, v: Array) -> Array:
        own = np.bincount(self.codes, weights=v, minlength=self.k)
        return np.asarray(self.a * own + (self.background * v).sum())

    def mix_each(self, p: Array) -> Array:
        totals = p.sum(axis=1, keepdims=True)
        return np.asarray(self.a * p[:, self.codes] + self.background * totals)

    def adjoint_each(self, v: Array) -> Array:
        places = self.codes + self.k * np.arange(len(v))[:, None]
        own = np.bincount(places.ravel(), weights=v.ravel(), minlength=self.k * len(v))
        common = (v * self.background).sum(axis=1, keepdims=True)
        return np.asarray(self.a * own.reshape(len(v), self.k) + common)

    def take(self, start: int, stop: int) -> Array:
        codes = self.codes[start:stop]
        block = np.empty((codes.size, self.k))
        block.T[:] = np.broadcast_to(self.background, self.codes.shape)[start:stop]
        block[np.arange(codes.size), codes] += self.a
        return block

    def select(self, keep: Array) -> UniformRows:
        return replace(self, codes=self.codes[keep])

    def closed_form(self, n: Array) -> Array | None:
        """By water-filling (KBR16 Proposition 6), unless reports contradict their label."""
        if not self.a > 0.0:
            return None
        return water_filling(np.bincount(self.codes, n, self.k), self.a, self.b)

    def closed_form_beside(self, n: Array, index: int, value: float) -> Array | None:
        """By water-filling too: the other categories have reports as from a smaller a."""
        if not self.a > 0.0:
            return None
        counts = np.delete(np.bincount(self.codes, n, self.k), index)
        if not counts.any():
            return np.full(self.k - 1, 1.0 / (self.k - 1))
        b = self.b if np.ndim(self.b) == 0 else np.delete(self.b, index)
        return water_filling(counts, self.a * (1.0 - value), b)

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        if not np.any(self.background):
            return super().noise(v, first)
        noisy = np.where(self.background > 0.0, v, 0.0)
        return self.adjoint(noisy), float(noisy.sum())

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        b = self.background
        tally = np.bincount(self.codes, weights=v, minlength=self.k)
        twice = np.bincount(self.codes, weights=(self.a + 2.0 * b) * v, minlength=self.k)
        return self.a * tally + (b * v).sum(), self.a * twice + (b * b * v).sum()


def dense_if_small(W: Rows) -> Rows:
    """W as a dense matrix where that is its fastest form, else W itself."""
    return DenseRows(W.dense(), W.log_scale) if W.shape[0] * W.shape[1] <= _SMALL else W


def log_noise(packed: npt.NDArray[np.uint8], p0: float | Array, n_bits: int) -> Array:
    """Log-probability, (u,), of packed reports whose bits are 1 with probability p0, or (k,)."""
    if np.ndim(p0):
        odds, clear = np.log(p0) - np.log1p(-p0), float(np.log1p(-p0).sum())
        parts = np.array_split(packed, 1 + 8 * packed.size // _BLOCK)
        bits = (np.unpackbits(part, axis=1, count=n_bits, bitorder="little") for part in parts)
        return np.concatenate([part @ odds for part in bits]) + clear
    parts = np.array_split(packed, 1 + packed.size // _BLOCK)
    ones = np.concatenate([np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts])
    return np.asarray(ones * np.log(p0) + (n_bits - ones) * np.log1p(-p0))
