"""The design of k-RR: each label stands for one category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.blocks.base import BlockDesign

__all__ = ["SingleDesign"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SingleDesign(BlockDesign):
    """A label for each of k categories, its only own one.

    Examples
    --------
    >>> SingleDesign(3).tallies(np.array([5, 2, 3]))
    array([5, 2, 3])
    """

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
        return np.asarray(number + (number >= codes))
