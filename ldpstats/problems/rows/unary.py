"""Likelihoods of unary (RAPPOR-like) reports: a bit a category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ldpstats.problems.rows.base import Rows, dense_if_small, log_noise
from ldpstats.problems.simplex import project_simplex

__all__ = ["PackedRows", "UnaryRows"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class UnaryRows(Rows):
    """Rows of a unary channel: category x sets bit x with p1, every other bit with p0 < p1.

    Where bits differ in their noise p1 and p0 are arrays, shape (k,).

    Up to the factor ``prod_j p0^y_j (1-p0)^(1-y_j)`` of the row, which `log_scale` holds,
    ``W[i, x] = absent + (present - absent) * bit x of report i`` with present = p1/p0 and
    absent = (1-p1)/(1-p0): the exact likelihood of a whole report (KBR16's Proposition 7 multiplies
    the bits as if they were independent given p, which they are not).

    `packed` has shape (u, ceil(k/8)), bit j of a report in byte j // 8 at position j % 8.
    """

    packed: npt.NDArray[np.uint8]
    p1: float | Array
    p0: float | Array
    k: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.k

    @property
    def is_structured(self) -> bool:
        return True

    @property
    def present(self) -> float | Array:
        """Scaled likelihood of the categories whose bit is set."""
        return self.p1 / self.p0

    @property
    def absent(self) -> float | Array:
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
        block = bits.astype(np.float64)
        block *= self.present - self.absent
        block += self.absent
        return block

    def select(self, keep: Array) -> Self:
        return replace(self, packed=self.packed[keep])

    def prepared(self) -> Rows:
        return PackedRows(np.ascontiguousarray(self.packed), self.p1, self.p0, self.k).prepared()


@dataclass(frozen=True, eq=False)
class PackedRows(UnaryRows):
    """`UnaryRows` with compiled products: by bytes, or along the set bits where these are few.

    Examples
    --------
    >>> rows = PackedRows(np.array([[0b01], [0b10]], dtype=np.uint8), p1=0.75, p0=0.25, k=2)
    >>> rows.mix(np.array([1.0, 0.0])).round(3)   # 3 where the bit is set, else 1/3
    array([3.   , 0.333])
    """

    @cached_property
    def _listed(self) -> tuple[Array, Array] | None:
        from ldpstats.kernels.bits import listed

        return listed(self.packed)

    def mix(self, p: Array) -> Array:
        from ldpstats.kernels.bits import bit_mix, list_mix

        gain = (self.present - self.absent) * p
        owned = list_mix(*self._listed, gain) if self._listed else bit_mix(self.packed, gain)
        return np.asarray(np.sum(self.absent * p) + owned)

    def adjoint(self, v: Array) -> Array:
        return self.adjoints(v)[0]

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        one, zero, total, sums = self.present, self.absent, float(v.sum()), self._sums(v)
        return zero * total + (one - zero) * sums, zero**2 * total + (one**2 - zero**2) * sums

    def gram(self, v: Array) -> Array:
        if not self._listed:
            return super().gram(v)
        from ldpstats.kernels.bits import list_gram

        zero, gain = self.absent, self.present - self.absent
        gain, zero = np.broadcast_to(gain, self.k), np.broadcast_to(zero, self.k)
        cross = np.outer(gain * self._sums(v), zero)
        pairs = np.outer(gain, gain) * list_gram(*self._listed, v, self.k)
        return np.asarray(pairs + cross + cross.T + np.outer(zero, zero) * v.sum())

    def prepared(self) -> Rows:
        return dense_if_small(self)

    def start(self, n: Array) -> Array:
        return project_simplex(self.linear(n / n.sum(), 1.0))

    def linear(self, v: Array, total: float) -> Array:
        """``(m - p0 total) / (p1 - p0)`` for the weight m of the reports that have each bit set."""
        sums, _ = self.adjoints(v)  # absent times total + (present - absent) m
        m = (sums - self.absent * total) / (self.present - self.absent)
        return np.asarray((m - self.p0 * total) / (self.p1 - self.p0))

    def _sums(self, v: Array) -> Array:
        """Weighted sums of the bits, shape (k,)."""
        from ldpstats.kernels.bits import bit_sums, list_sums

        if self._listed:
            return list_sums(*self._listed, v, self.k)
        return bit_sums(self.packed, v, self.k)
