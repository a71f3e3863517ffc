"""Likelihoods of reports that are subsets of the categories, all of one size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.rows.base import Rows, dense_if_small
from ldpstats.problems.rows.unary import PackedRows

__all__ = ["SubsetRows"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class SubsetRows(PackedRows):
    """Rows of subset selection: ``W[i, x]`` is one where report i holds x, else `ratio`.

    Parameters
    ----------
    packed : array of uint8, shape (u, ceil(k/8))
        Bit j of a report in byte j // 8 at position j % 8.
    p1, p0 : float
        P(x in the report) of the category itself and of any other.
    k : int
        Number of categories.
    ratio : float
        Probability of a report under a category outside it, over that under one inside.
    log_high : float
        Natural logarithm of the latter, the scale of every row.

    Examples
    --------
    >>> rows = SubsetRows(np.array([[0b001], [0b010]], np.uint8), 0.5, 0.25, 3, 0.5, np.log(0.5))
    >>> rows.mix(np.array([0.5, 0.25, 0.25]))
    array([0.75 , 0.625])
    """

    ratio: float
    log_high: float

    @property
    def present(self) -> float:
        return 1.0

    @property
    def absent(self) -> float:
        return self.ratio

    @cached_property
    def log_scale(self) -> Array:
        return np.full(len(self.packed), self.log_high)

    def prepared(self) -> Rows:
        return dense_if_small(replace(self, packed=np.ascontiguousarray(self.packed)))
