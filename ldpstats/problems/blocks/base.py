"""What every design of blocks answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BlockDesign"]

Array = npt.NDArray[Any]


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
