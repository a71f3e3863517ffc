"""Likelihoods of unary (RAPPOR-like) reports with compiled products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.rows.base import UnaryRows

__all__ = ["PackedRows"]

Array = npt.NDArray[Any]


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

        owned = list_mix(*self._listed, p) if self._listed else bit_mix(self.packed, p)
        return np.asarray(self.absent * p.sum() + (self.present - self.absent) * owned)

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
        cross = zero * gain * self._sums(v)
        pairs = gain**2 * list_gram(*self._listed, v, self.k)
        return np.asarray(pairs + cross[:, None] + cross + zero**2 * v.sum())

    def _sums(self, v: Array) -> Array:
        """Weighted sums of the bits, shape (k,)."""
        from ldpstats.kernels.bits import bit_sums, list_sums

        if self._listed:
            return list_sums(*self._listed, v, self.k)
        return bit_sums(self.packed, v, self.k)
