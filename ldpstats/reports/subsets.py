"""The form of reports that are subsets of the categories, all of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.reports.formats import BitFormat

__all__ = ["SubsetFormat"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SubsetFormat(BitFormat):
    """Packed bits of which exactly `size` are set; as text "0110", in category order."""

    size: int

    def packing_fault(self, y: Array) -> str:
        if fault := super().packing_fault(y):
            return fault
        ones = _ones(y)
        wrong = np.flatnonzero(ones != self.size)
        return self._remedy(int(ones[wrong[0]])) if wrong.size else ""

    def sums_fault(self, ones: Array, reports: Array) -> str:
        total, expected = int(ones.sum()), self.size * int(reports.sum())
        if total == expected:
            return ""
        return f"sum to {total}: {int(reports.sum())} reports of {self.size} ones have {expected}"

    def from_table(self, name: str, packed: npt.NDArray[np.uint8]) -> Array:
        found = super().from_table(name, packed)
        ones = _ones(found)
        wrong = np.flatnonzero(ones != self.size)
        if wrong.size:
            i = int(wrong[0])
            raise InvalidArgument(
                f"{name}[{i}]", self.text(found[i : i + 1])[0], self._remedy(int(ones[i]))
            )
        return found

    def _remedy(self, ones: int) -> str:
        return f"has {ones} ones: a report of this mechanism has exactly {self.size}"


def _ones(y: Array) -> Array:
    """Number of ones of packed reports, int64 of shape (n,)."""
    return np.asarray(np.bitwise_count(y).sum(axis=1, dtype=np.int64))
