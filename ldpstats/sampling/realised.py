"""Epsilon that the integers of a sampler realise, in exact arithmetic."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.sampling.samplers import CERTAIN, IntegerRows, _check_threshold
from ldpstats.sampling.streams import ALL

__all__ = [
    "log_ratio",
    "realised_bits_raised",
    "realised_epsilon_bits",
    "realised_epsilon_kept",
    "realised_epsilon_krr",
    "realised_epsilon_rows",
    "realised_ratios",
    "weights_of",
]

Array = npt.NDArray[Any]
Ratio = tuple[int, int]  # numerator and denominator


def realised_epsilon_krr(k: int, keep: int) -> float:
    """Return the epsilon that `sample_krr` realises, in nats.

    The likelihood ratio of the true code to another, KBR16 eq. 4 in integers, is
    (k keep + 2**64 - keep) / (2**64 - keep).
    """
    if k < 1:
        raise InvalidArgument("k", k, "must be at least 1")
    _check_threshold("keep", keep)
    if k == 1:
        return 0.0
    return log_ratio(k * keep + CERTAIN - keep, CERTAIN - keep)


def realised_epsilon_bits(p1: int, p0: int, hashes: int = 1) -> float:
    """Return the epsilon that `sample_bits` realises for values that set disjoint bits, in nats.

    It is `hashes` times abs(ln(p1 (1 - p0) / (p0 (1 - p1)))), as in EPK14 Theorem 2.
    """
    _check_threshold("p1", p1)
    _check_threshold("p0", p0)
    if hashes < 1:
        raise InvalidArgument("hashes", hashes, "must be at least 1")
    high, low = max(p1, p0), min(p1, p0)
    return hashes * log_ratio(high * (CERTAIN - low), low * (CERTAIN - high))


def realised_ratios(own: int, other: int) -> tuple[float, float]:
    """Return the largest log ratios of one bit for and against the answer that owns it, in nats.

    Their sum is `realised_epsilon_bits` of one hash.
    """
    _check_threshold("own", own)
    _check_threshold("other", other)
    high, low = max(own, other), min(own, other)
    set_, clear = log_ratio(high, low), log_ratio(CERTAIN - low, CERTAIN - high)
    return (set_, clear) if own >= other else (clear, set_)


def realised_bits_raised(own: list[int], other: list[int], told: int, others: int) -> Array:
    """Return the log ratios that protected reports of `URAP` realise, in nats, shape (S + 1,).

    The bit of sensitive answer x is set with probability own[x] / 2**64 where x is the answer and
    with other[x] / 2**64 where not. An answer that is not sensitive, of which there are `others`,
    makes a protected report with probability 1 - told / 2**64. Entry x is the largest log ratio
    in favour of x against any other answer, the last that in favour of one that is not sensitive.
    """
    left, S = CERTAIN - told, len(own)
    sets = list(zip(own, other, strict=True))
    clear = [(CERTAIN - a, CERTAIN - b) for a, b in sets]
    each = [(_higher(*pair), _lower(*pair)) for pair in zip(sets, clear, strict=True)]
    rest = (left, CERTAIN)
    ranked = sorted(range(S), key=lambda x: log_ratio(*each[x][1]))[:2]
    found = []
    for x in range(S):
        rivals = [each[z][1] for z in ranked if z != x][:1] + [rest] * (others > 0)
        found.append(max((_against(each[x][0], rival) for rival in rivals), default=0.0))
    found.append(_against(rest, each[ranked[0]][1]) if others and S else 0.0)
    return np.asarray(np.maximum(found, 0.0))


def _higher(a: Ratio, b: Ratio) -> Ratio:
    return a if a[0] * b[1] >= b[0] * a[1] else b


def _lower(a: Ratio, b: Ratio) -> Ratio:
    return b if _higher(a, b) is a else a


def _against(a: Ratio, b: Ratio) -> float:
    """``ln (a / b)`` of two exact ratios."""
    return log_ratio(a[0] * b[1], a[1] * b[0])


def realised_epsilon_rows(rows: IntegerRows) -> float:
    """Return the epsilon that `sample_rows` realises, in nats."""
    n_outputs = 1 + max(int(outputs[-1]) for outputs in rows.outputs)
    seen = np.zeros(n_outputs, dtype=np.int64)
    high, low = np.zeros(n_outputs, dtype=np.uint64), np.full(n_outputs, ALL)
    for y, upper in zip(rows.outputs, rows.upper, strict=True):
        less_one = upper.copy()  # weights minus one: 2**64 itself has no 64-bit integer
        less_one[1:] -= upper[:-1] + np.uint64(1)
        seen[y] += 1
        high[y], low[y] = np.maximum(high[y], less_one), np.minimum(low[y], less_one)
    drawn = seen > 0
    if np.any(seen[drawn] < len(rows.upper)):
        return math.inf
    pairs = zip(high[drawn].tolist(), low[drawn].tolist(), strict=True)
    return max(log_ratio(largest + 1, smallest + 1) for largest, smallest in pairs)


def realised_epsilon_kept(keep: int, share: int, of: int) -> float:
    """Return the log ratio in favour of the reported value where others are replaced, in nats.

    A value is kept with probability keep / 2**64, and replaced by a draw that is the value itself
    with probability share / of. The likelihood ratio of that value to any other is
    (keep of + (2**64 - keep) share) / ((2**64 - keep) share).
    """
    _check_threshold("keep", keep)
    replaced = (CERTAIN - keep) * share
    return log_ratio(keep * of + replaced, replaced)


def weights_of(rows: IntegerRows, x: int) -> list[int]:
    """Return the integer weights of row x, which sum to 2**64."""
    ends = [0, *(int(upper) + 1 for upper in rows.upper[x])]
    return [after - before for before, after in pairwise(ends)]


def log_ratio(numerator: int, denominator: int) -> float:
    """Return ln(numerator / denominator) of exact integers, rounded once or twice."""
    if numerator == denominator:
        return 0.0
    if denominator == 0:
        return math.inf
    if numerator == 0:
        return -math.inf
    if numerator > 2 * denominator:  # the quotient of two integers is correctly rounded
        return math.log(numerator / denominator)
    return math.log1p((numerator - denominator) / denominator)
