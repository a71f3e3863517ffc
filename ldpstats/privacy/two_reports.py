"""Shuffled reports of two kinds, exactly: the number of reports of one kind is all there is.

An observer who knows the answers of all others knows how many of them, m, send a one with the
larger probability and how many with the smaller: their ones are a sum of two binomial numbers. The
hockey-stick divergence is convex in each respondent's probability of a one, so that the two extreme
answers are the worst ones for all, whatever other categories there are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.privacy.binomial_windows import binomial_window

__all__ = ["TwoReports"]

Array = npt.NDArray[Any]

_ALL = 400  # respondents up to which every number m is tried
_DIRECT = 2048  # points up to which laws are convolved by sums rather than by Fourier transforms
_EVALUATIONS = 160
_ROUNDING = 1e-10  # relative, of probabilities
_CUT = 1e-7  # of the target that unlikely numbers may add


@dataclass(frozen=True)
class TwoReports:
    """n reports that are a one with probability `high` or `low`, by their senders' answers."""

    high: float
    low: float
    n: int

    @property
    def sides(self) -> tuple[TwoReports, ...]:
        """The problem and that with zeros for ones, if it is another."""
        other = TwoReports(1.0 - self.low, 1.0 - self.high, self.n)
        alike = abs(self.high + self.low - 1.0) < 1e-15
        return (self,) if alike else (self, other)

    def split_delta(self, epsilon: float, m: int, rest: int, target: float) -> tuple[float, float]:
        """The divergence where m others send a one with the larger probability.

        `rest` others do with the smaller. And what rounding and what was cut may add or take.
        """
        grown = np.exp(epsilon)
        gain, loss = self.high - grown * self.low, (1.0 - self.high) - grown * (1.0 - self.low)
        if gain <= 0.0:
            return 0.0, 0.0
        _, first = binomial_window(m, self.high, _CUT * target)
        _, second = binomial_window(rest, self.low, _CUT * target)
        mass, noise = _convolved(first, second)
        terms = gain * np.append(0.0, mass), loss * np.append(mass, 0.0)
        moved, stayed = np.append(terms[0], 0.0), np.append(terms[1], 0.0)
        sums = moved[:-1] + stayed[:-1]
        found = float(np.maximum(sums, 0.0).sum())
        error = _ROUNDING * float((np.abs(terms[0]) - terms[1]) @ (sums > 0.0))
        scale = gain - loss
        return found, error + 2.0 * _CUT * target * scale + noise * mass.size * scale

    def delta_below(self, epsilon: float, target: float) -> float:
        """A lower bound of the divergence: the largest of some numbers m; of all for small n."""
        found = 0.0
        for side in self.sides:
            for m in side._tried():
                delta, error = side.split_delta(epsilon, m, side.n - 1 - m, target)
                found = max(found, delta - error)
        return found

    def _tried(self) -> Iterable[int]:
        if self.n <= _ALL:
            return range(self.n)
        return sorted({(self.n - 1) * i // 4 for i in range(5)})

    def certifies(self, epsilon: float, delta: float) -> bool:
        """Whether no number m of the others gives a divergence beyond delta."""
        return all(side._certified(epsilon, delta) for side in self.sides)

    def delta_above(self, epsilon: float, target: float) -> float:
        """An upper bound of the divergence, whatever m is: exact for small n, else by blocks."""
        found = 0.0
        for side in self.sides:
            bounds = [-side._block(epsilon, *block, target) for block in side._blocks()]
            found = max(found, -min(bounds))
        return found

    def _blocks(self) -> list[tuple[int, int]]:
        """Ranges of m that cover all of them."""
        if self.n <= _ALL:
            return [(m, m) for m in range(self.n)]
        ends = [self.n * i // (_EVALUATIONS // 2) for i in range(_EVALUATIONS // 2 + 1)]
        return [(a, b - 1) for a, b in pairwise(ends) if b > a]

    def _block(self, epsilon: float, least: int, most: int, target: float) -> float:
        """An upper bound for all m of a range: without the respondents who may be of either kind.

        What others send besides can only hide more (data processing).
        """
        return sum(self.split_delta(epsilon, least, self.n - 1 - most, target))

    def _certified(self, epsilon: float, delta: float) -> bool:
        heap = [(-self._block(epsilon, *block, delta), *block) for block in self._blocks()]
        heapq.heapify(heap)
        for _ in range(_EVALUATIONS):
            worst, least, most = heap[0]
            if -worst <= delta:
                return True
            if least == most:
                return False
            half = (least + most) // 2
            heapq.heappop(heap)
            for block in ((least, half), (half + 1, most)):
                heapq.heappush(heap, (-self._block(epsilon, *block, delta), *block))
        return -heap[0][0] <= delta


def _convolved(first: Array, second: Array) -> tuple[Array, float]:
    """The law of a sum of two numbers, and the largest absolute error of an entry."""
    if min(first.size, second.size) <= _DIRECT:
        return np.convolve(first, second), 0.0
    size = first.size + second.size - 1
    length = 1 << (size - 1).bit_length()
    found = np.fft.irfft(np.fft.rfft(first, length) * np.fft.rfft(second, length), length)[:size]
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return np.maximum(found, 0.0), 1e-15 * np.log2(length) * norm
