"""Samplers whose law is exactly a given one, whatever its denominator.

A uniform number U in [0, 1) is compared with cumulative probabilities c. Its first 64 binary digits
are one word; they decide unless they are those of c, which happens once in 2**64 times for each c.
Only then are further digits drawn, as many as it takes. So the realised law is the declared one to
the last digit, not rounded to 64 bits, and a draw costs one word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.sampling.samplers import CERTAIN, LARGE, below, checked_codes
from ldpstats.sampling.words import BULK, Words

__all__ = ["Inversion", "inversion", "sample_inversions", "sample_others", "sample_own"]

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_LAST = CERTAIN - 1


@dataclass(frozen=True, eq=False)
class Inversion:
    """Cumulative probabilities of m outcomes but the last one, in binary.

    Each is ``(upper + rest / total) / 2**64``.

    Parameters
    ----------
    upper : array of uint64, shape (m - 1,)
    rest : tuple of int, m - 1 of them
        From 0 to total - 1; total itself where the cumulative probability is one.
    total : int
    """

    upper: U64
    rest: tuple[int, ...]
    total: int

    def draw(self, first: U64, words: Words) -> I64:
        """Outcomes 0 .. m - 1 from the first word of each draw, shape (n,)."""
        found = np.searchsorted(self.upper, first, side="right")
        if not self.upper.size:
            return found
        same = (found > 0) & (self.upper[found - 1] == first)
        for i in np.flatnonzero(same):
            stop = int(found[i])
            start = int(np.searchsorted(self.upper, first[i], side="left"))
            found[i] = start + _settled(self.rest[start:stop], self.total, words)
        return found

    def document(self) -> dict[str, Any]:
        """The law, as client documents say it."""
        return {
            "upper": [str(word) for word in self.upper.tolist()],
            "rest": [str(value) for value in self.rest],
            "total": str(self.total),
        }

    def law(self) -> list[Fraction]:
        """The probabilities of the outcomes that the integers realise."""
        pairs = zip(self.upper.tolist(), self.rest, strict=True)
        whole = CERTAIN * self.total
        ends = [0, *(u * self.total + r for u, r in pairs), whole]
        widths = [after - before for before, after in pairwise(ends)]
        chances = {width: Fraction(width, whole) for width in set(widths)}
        return [chances[width] for width in widths]


def inversion(weights: Sequence[int]) -> Inversion:
    """Draw outcome i with probability ``weights[i] / sum(weights)``."""
    ends = list(accumulate(weights))
    total = ends.pop()
    upper, rest = [], []
    for end in ends:
        digits = min(end * CERTAIN // total, _LAST)
        upper.append(digits)
        rest.append(end * CERTAIN - digits * total)
    return Inversion(np.array(upper, dtype=np.uint64), tuple(rest), total)


def _settled(rest: Sequence[int], total: int, words: Words) -> int:
    """How many of the fractions rest / total, in increasing order, a uniform number reaches."""
    passed, left = 0, list(rest)
    while left:
        word = int(words(1)[0])
        digits = [value * CERTAIN // total for value in left]
        stop = bisect_right(digits, word)
        start = bisect_right(digits, word - 1)
        passed += start
        left = [value * CERTAIN - word * total for value in left[start:stop]]
        done = next((i for i, value in enumerate(left) if value), len(left))
        passed, left = passed + done, left[done:]  # what is reached exactly needs no digit
    return passed


def _uniform(n: int, size: int, words: Words) -> U64:
    """n words of a simulation of `size` users, which takes to its streams where it is long."""
    request = max(n, 1) if size >= LARGE else BULK - 1
    sizes = (min(request, n - i) for i in range(0, n, request))
    return np.concatenate([np.empty(0, np.uint64), *(words(few) for few in sizes)])


def sample_inversions(codes: npt.ArrayLike, k: int, row: Any, words: Words) -> I64:
    """Draw an outcome from the row of each true code; ``row(x)`` is its `Inversion`."""
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    for start in range(0, true.size, 1 << 16):
        code, report = true[start : start + (1 << 16)], out[start : start + (1 << 16)]
        random = _uniform(code.size, true.size, words)
        order = np.argsort(code, kind="stable")
        present, first = np.unique(code[order], return_index=True)
        for x, users in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            report[users] = row(x).draw(random[users], words)
    return out


def sample_own(codes: npt.ArrayLike, k: int, common: Inversion, words: Words) -> I64:
    """Draw from ``own`` (outcome 0: the code itself) or from a law that all codes have in common.

    Outcome ``y + 1`` of `common` is report y.
    """
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    for start in range(0, true.size, 1 << 16):
        chunk = slice(start, start + (1 << 16))
        drawn = common.draw(_uniform(true[chunk].size, true.size, words), words)
        out[chunk] = np.where(drawn == 0, true[chunk], drawn - 1)
    return out


def sample_others(
    codes: npt.ArrayLike, k: int, common: Inversion, accepted: Sequence[Fraction], words: Words
) -> I64:
    """Draw from a law that all codes have in common, less often the code itself.

    A draw that is the code x is accepted with probability ``accepted[x]``, else all is drawn anew.
    The chance of that is the same for all codes where the law less what is refused sums to one, so
    that the number of draws tells nothing.
    """
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    left = np.arange(true.size)
    scaled = [chance * CERTAIN for chance in accepted]
    digits = np.array([min(int(value), _LAST) for value in scaled], dtype=np.uint64)
    while left.size:
        out[left] = common.draw(_uniform(left.size, true.size, words), words)
        own = left[out[left] == true[left]]
        random, bound = _uniform(own.size, true.size, words), digits[true[own]]
        kept = random < bound
        for i in np.flatnonzero(random == bound):
            x = int(true[own[i]])
            kept[i] = below(scaled[x] - int(digits[x]), words)
        left = own[~kept]
    return out
