"""Likelihoods of unary (RAPPOR-like) reports with compiled products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.operators import UnaryRows

__all__ = ["PackedRows"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PackedRows(UnaryRows):
    """`UnaryRows` whose products run as compiled look-ups, a byte of eight bits at a time.

    Examples
    --------
    >>> rows = PackedRows(np.array([[0b01], [0b10]], dtype=np.uint8), p1=0.75, p0=0.25, k=2)
    >>> rows.mix(np.array([1.0, 0.0])).round(3)   # 3 where the bit is set, else 1/3
    array([3.   , 0.333])
    """

    def mix(self, p: Array) -> Array:
        from ldpstats.estimators.packed_kernels import bit_mix

        gain = self.present - self.absent
        return np.asarray(self.absent * p.sum() + gain * bit_mix(self.packed, p))

    def adjoint(self, v: Array) -> Array:
        return self.adjoints(v)[0]

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        from ldpstats.estimators.packed_kernels import bit_sums

        one, zero, total = self.present, self.absent, float(v.sum())
        sums = bit_sums(self.packed, v, self.k)
        return zero * total + (one - zero) * sums, zero**2 * total + (one**2 - zero**2) * sums
