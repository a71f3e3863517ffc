"""Set partitions of slots, and sums over different respondents by Moebius inversion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["slots"]

Array = npt.NDArray[Any]

# nonzero sums over the slots of one, two and three factors (no block of one slot)
_KINDS = {1: ("t1",), 2: ("s2", "t1t1", "t2")}
_KINDS[3] = ("s3", "u", "b", "t1s2", "r", "t1t1t1", "t1t2", "t3")


@cache
def slots(order: int) -> tuple[Array, dict[tuple[int, ...], tuple[Array, Array]]]:
    """Numbers of blocks of the partitions of 2 order slots, (P,), and their restrictions.

    For each subset of factors: the numbers of blocks left, and the coefficients of `_KINDS` in the
    sum over different respondents, one per block.
    """
    every = list(_partitions(2 * order))
    blocks = np.array([max(p) + 1 for p in every])
    restricted = {}
    for code in range(1, 2**order):
        factors = tuple(e for e in range(order) if code >> e & 1)
        left = [_renumbered([p[s] for e in factors for s in (2 * e, 2 * e + 1)]) for p in every]
        found = {p: _over_different(p) for p in set(left)}
        parts = np.array([max(p) + 1 for p in left])
        restricted[factors] = parts, np.array([found[p] for p in left], dtype=np.float64)
    return blocks, restricted


def _over_different(p: tuple[int, ...]) -> list[int]:
    """Coefficients of `_KINDS` in the sum over different respondents, one per block of p."""
    kinds = _KINDS[len(p) // 2]
    found = [0] * len(kinds)
    for merging in _partitions(max(p) + 1):
        kind = _kind([merging[block] for block in p])
        if kind:
            sizes = [merging.count(block) for block in set(merging)]
            found[kinds.index(kind)] += math.prod(
                (-1) ** (size - 1) * math.factorial(size - 1) for size in sizes
            )
    return found


def _kind(q: Sequence[int]) -> str:
    """The sum over W of a partition of slots, empty if zero: blocks are vertices, factors edges."""
    sizes = sorted(q.count(block) for block in set(q))
    if sizes[0] == 1:
        return ""
    loops = sum(a == b for a, b in zip(q[::2], q[1::2], strict=True))
    names = {
        ((2,), 1): "t1",
        ((4,), 2): "s2",
        ((2, 2), 2): "t1t1",
        ((2, 2), 0): "t2",
        ((6,), 3): "s3",
        ((3, 3), 0): "u",
        ((3, 3), 2): "b",
        ((2, 4), 3): "t1s2",
        ((2, 4), 1): "r",
        ((2, 2, 2), 3): "t1t1t1",
        ((2, 2, 2), 1): "t1t2",
        ((2, 2, 2), 0): "t3",
    }
    return names[tuple(sizes), loops]


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Set partitions of `size` slots: the block of each, numbered in order of appearance."""
    if not size:
        yield ()
        return
    for p in _partitions(size - 1):
        for block in range(max(p, default=-1) + 2):
            yield (*p, block)


def _renumbered(blocks: Sequence[int]) -> tuple[int, ...]:
    order = {block: i for i, block in enumerate(dict.fromkeys(blocks))}
    return tuple(order[block] for block in blocks)
