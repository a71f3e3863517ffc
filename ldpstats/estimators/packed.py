"""The exact MLE of unary (RAPPOR-like) reports, on their packed bits."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.projected import project_simplex
from ldpstats.operators import DenseRows, FixedEntry, Rows, StackedRows, UnaryRows

__all__ = ["PackedRows", "empirical_start", "prepared"]

Array = npt.NDArray[Any]

_SMALL = 1 << 21  # entries of W up to which the dense matrix is the fastest form


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


def prepared(W: Rows) -> Rows:
    """The same rows in the form whose products are fastest: dense if small, else compiled."""
    if isinstance(W, UnaryRows) and not isinstance(W, PackedRows):
        if W.shape[0] * W.shape[1] <= _SMALL:
            return DenseRows(W.dense())
        held = {field.name: getattr(W, field.name) for field in fields(W)}
        return PackedRows(**held | {"packed": np.ascontiguousarray(W.packed)})
    if isinstance(W, StackedRows):
        return StackedRows(tuple(prepared(part) for part in W.parts))
    if isinstance(W, FixedEntry):
        return replace(W, base=prepared(W.base))
    return W


def empirical_start(W: Rows, n: Array) -> Array:
    """Where to start: the projected empirical estimate of unary reports, else the uniform p."""
    k = W.shape[1]
    if not isinstance(W, PackedRows):
        return np.full(k, 1.0 / k)
    sums, _ = W.adjoints(n / n.sum())  # absent + (present - absent) times the mean of each bit
    mean = (sums - W.absent) / (W.present - W.absent)
    return project_simplex((mean - W.p0) / (W.p1 - W.p0))
