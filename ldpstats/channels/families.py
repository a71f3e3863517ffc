"""Channels of ordered categories, of subsets of one size, and of designs of blocks."""

from __future__ import annotations

from math import comb, lgamma

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.channels.structured import Channel, OutputClasses
from ldpstats.errors import NotAvailable
from ldpstats.labels import Mask
from ldpstats.likelihood.blocks import BlockDesign
from ldpstats.likelihood.rows import BlockRows, Rows, SubsetRows
from ldpstats.reports.layout import Packed

# -- Ordered categories: nearby ones make nearly the same reports ---------------------------------


@record
class Band(Channel):
    """``Q[x, y] = p`` for ``x <= y <= x + 2 b``, else q: the square wave of Li et al. (2020).

    Parameters
    ----------
    k : int
        Number of categories. There are ``k + 2 b`` reports.
    b : int
        Half width of the band.
    log_ratio : float
        Logarithm of p / q: epsilon, in nats.

    Examples
    --------
    >>> Band(3, 1, np.log(3.0)).matrix().round(4)
    array([[0.2727, 0.2727, 0.2727, 0.0909, 0.0909],
           [0.0909, 0.2727, 0.2727, 0.2727, 0.0909],
           [0.0909, 0.0909, 0.2727, 0.2727, 0.2727]])
    """

    k: int
    b: int
    log_ratio: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, self.k + 2 * self.b

    @property
    def width(self) -> int:
        """Reports in the band of a category."""
        return 2 * self.b + 1

    @property
    def high(self) -> float:
        """Probability p of each report in the band."""
        return 1.0 / (self.width + (self.k - 1) * float(np.exp(-self.log_ratio)))

    @property
    def low(self) -> float:
        """Probability q of each other report."""
        return float(np.exp(-self.log_ratio)) * self.high

    @property
    def excess(self) -> float:
        """By how much p exceeds q."""
        return self.high * float(-np.expm1(-self.log_ratio))

    def _matrix(self) -> Array:
        x, y = np.arange(self.k)[:, None], np.arange(self.shape[1])
        return np.where((y >= x) & (y <= x + 2 * self.b), self.high, self.low)

    def forward(self, p: Array) -> Array:
        given = np.asarray(p, dtype=np.float64)
        sums = np.concatenate([[0.0], np.cumsum(given)])
        y = np.arange(self.shape[1])
        inside = sums[np.minimum(y + 1, self.k)] - sums[np.maximum(y - 2 * self.b, 0)]
        return np.asarray(self.low * given.sum() + self.excess * inside)

    def epsilon(self) -> float:
        return float(np.log1p(self.excess / self.low))


@record
class Geometric(Channel):
    """``Q[x, y]`` in proportion to ``a^|x - y|``, what lies beyond the ends added to them.

    Parameters
    ----------
    k : int
        Number of categories, which are the reports too.
    rate : float
        ``-ln a``, in nats for each step away.

    Examples
    --------
    >>> Geometric(3, np.log(2.0)).matrix().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """

    k: int
    rate: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, self.k

    def _matrix(self) -> Array:
        steps = np.abs(np.subtract.outer(np.arange(self.k), np.arange(self.k)))
        a = np.exp(-self.rate)
        Q = np.exp(-self.rate * steps) / (1.0 + a)
        Q[:, 1:-1] *= -np.expm1(-self.rate)
        return np.asarray(Q)


# -- Subset selection: reports are subsets of the categories, all of one size ---------------------


_LARGEST_ENUMERATION = 20  # categories of which matrix() is willing to list the subsets


@record
class Subsets(Channel):
    """Reports of `size` categories, each set with the answer in it ``own / (1 - own)`` as likely.

    Given the answer x a report holds x with probability `own`; its other categories are uniform. It
    is packed as by `Bits`. `matrix` lists the C(k, size) patterns with so many ones, in increasing
    order of ``sum_j bit_j 2^j``.
    """

    k: int
    size: int  # 1 to k - 1
    own: float
    left_out: float  # 1 - own to full precision
    slope: float  # own - other to full precision, `other` = P(x in the report | another answer)

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

    def patterns(self) -> Mask:
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

    def bit_means(self, p: Array) -> Array:
        """P(x in the report), shape (k,), when the category has law `p` of shape (k,)."""
        return np.asarray(self.other * np.sum(p) + self.slope * np.asarray(p))

    def rows(self, y: Packed) -> SubsetRows:
        return SubsetRows(y, self.own, self.other, self.k, self.ratio, self.log_high)

    def epsilon(self) -> float:
        with np.errstate(divide="ignore"):
            return float(abs(np.log(self.ratio)))

    def output_classes(self) -> OutputClasses:
        if self.size == 1 and self.left_out == 0.0:  # the answer itself
            return super().output_classes()
        number = float(np.exp(min(_log_comb(self.k, self.size), 710.0)))
        return OutputClasses(np.array([self.epsilon()]), np.array([-1]), np.array([number]))


def _log_comb(n: int, k: int) -> float:
    """ln C(n, k)."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


# -- A design of blocks: a label is more probable for the categories in its block -----------------


@record
class Blocks(Channel):
    """``Q[x, y] = high`` where the block of label y holds category x, else `low`."""

    design: BlockDesign  # which categories each label stands for; a category has `size` own labels
    high: float  # size high + (l - size) low = 1
    low: float
    gain: float  # high - low to full precision

    @property
    def shape(self) -> tuple[int, int]:
        return self.design.k, self.design.n_labels

    def _matrix(self) -> Array:
        held = self.design.holds(np.arange(self.design.n_labels))
        return np.where(held.T, self.high, self.low)

    def forward(self, p: Array) -> Array:
        inside = self.design.masses(np.asarray(p))
        return np.asarray(self.low * np.sum(p) + self.gain * inside)

    def rows(self, y: Array) -> Rows:
        return BlockRows(np.asarray(y), self.design, self.low / self.high, self.high)

    def epsilon(self) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(self.high / self.low))

    def output_classes(self) -> OutputClasses:
        if self.low == 0.0 or self.design.n_labels < 1 << 12:
            return super().output_classes()
        held = self.design.masses(np.ones(self.design.k))
        told = (held > 0.5) & (held < self.design.k - 0.5)  # by some and not by all
        number = np.array([told.sum(), (~told).sum()], dtype=np.float64)
        return OutputClasses(np.array([self.epsilon(), 0.0]), np.array([-1, -1]), number)
