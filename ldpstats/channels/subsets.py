"""The channel of subset selection: reports are subsets of the categories, all of one size."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel, OutputClasses
from ldpstats.errors import NotAvailable
from ldpstats.problems.rows.subsets import SubsetRows

__all__ = ["Subsets"]

Array = npt.NDArray[Any]

_LARGEST_ENUMERATION = 20  # categories of which matrix() is willing to list the subsets


@dataclass(frozen=True, eq=False)
class Subsets(Channel):
    """Reports of `size` categories, each set with the answer in it ``own / (1 - own)`` as likely.

    Given the answer x a report holds x with probability `own`; its other categories are uniform.

    Parameters
    ----------
    k : int
        Number of categories.
    size : int
        Categories in a report, 1 to k - 1.
    own, left_out : float
        P(x in the report | x), and one minus it to full precision.
    slope : float
        ``own - other`` to full precision, `other` = P(x in the report | another answer).

    Notes
    -----
    A report is packed as by `Bits`. `matrix` lists the C(k, size) patterns with so many ones, in
    increasing order of ``sum_j bit_j 2^j``.

    Examples
    --------
    >>> Subsets(3, 2, own=0.75, left_out=0.25, slope=0.125).matrix()
    array([[0.375, 0.375, 0.25 ],
           [0.375, 0.25 , 0.375],
           [0.25 , 0.375, 0.375]])
    """

    k: int
    size: int
    own: float
    left_out: float
    slope: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, comb(self.k, self.size)

    @property
    def other(self) -> float:
        """P(x in the report) if x is not the answer."""
        return (self.own * (self.size - 1) + self.left_out * self.size) / (self.k - 1)

    @property
    def log_high(self) -> float:
        """ln of the probability of a report under a category in it."""
        return float(np.log(self.own)) - _log_comb(self.k - 1, self.size - 1)

    @property
    def ratio(self) -> float:
        """Probability of a report under a category outside it, over that under one inside."""
        return self.left_out * self.size / (self.own * (self.k - self.size))

    def patterns(self) -> npt.NDArray[np.bool_]:
        """All reports as bits, shape (C(k, size), k), in the order of the columns of `matrix`."""
        if self.k > _LARGEST_ENUMERATION:
            raise NotAvailable(
                f"matrix() of subsets of {self.size} of {self.k} categories is too large to "
                "enumerate: use channel().likelihood(y), which forms only the columns of observed "
                "reports"
            )
        numbers = np.arange(1 << self.k, dtype=np.uint32)
        numbers = numbers[np.bitwise_count(numbers) == self.size]
        return np.asarray((numbers[:, None] >> np.arange(self.k)) & 1, dtype=bool)

    def _matrix(self) -> Array:
        high = self.own / comb(self.k - 1, self.size - 1)
        low = self.left_out / comb(self.k - 1, self.size)
        return np.where(self.patterns().T, high, low)

    def matrix(self) -> Array:
        self.patterns()  # which refuses what is too large
        return super().matrix()

    def bit_means(self, p: Array) -> Array:
        """P(x in the report), shape (k,), when the category has law `p` of shape (k,)."""
        return np.asarray(self.other * np.sum(p) + self.slope * np.asarray(p))

    def rows(self, y: npt.NDArray[np.uint8]) -> SubsetRows:
        return SubsetRows(y, self.own, self.other, self.k, self.ratio, self.log_high)

    def epsilon(self) -> float:
        with np.errstate(divide="ignore"):
            return float(abs(np.log(self.ratio)))

    def output_classes(self) -> OutputClasses:
        one = np.ones(1)
        alone = self.size == 1 and self.left_out == 0.0
        if alone:
            return super().output_classes()
        number = float(np.exp(min(_log_comb(self.k, self.size), 710.0)))
        return OutputClasses(self.epsilon() * one, np.array([-1]), number * one)


def _log_comb(n: int, k: int) -> float:
    """ln C(n, k)."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
