"""Extreme rays of the columns q with ``q_x <= e^c_xx' q_x'``, where every pair has its own limit c.

In v = ln q the limits are v_x - v_x' <= c_xx'. A ray is extreme if and only if the pairs whose
limit it reaches connect all categories. From one such point others are reached along edges: raise a
set of categories until another limit is reached.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["extreme_rays"]

Array = npt.NDArray[Any]

_TIGHT = 1e-9


def extreme_rays(limits: Array, most: int) -> tuple[Array, bool]:
    """Rays, shape (R, k), with the largest entry 1, and whether they are all of them.

    Parameters
    ----------
    limits : array, shape (k, k)
        Closed by shortest paths, zero on the diagonal.
    most : int
        Rays after which to stop.
    """
    k = len(limits)
    start = limits[:, 0] - limits[:, 0].min()  # v_x = c_x0 is one
    sets = _subsets(k)
    queue, seen = deque([start]), {_key(start): start}
    while queue and len(seen) < most:
        v = queue.popleft()
        for raised in _edges(v, limits, sets):
            room = (limits - (v[:, None] - v))[np.ix_(raised, ~raised)]
            new = v + raised * room.min()
            new = new - new.min()
            if _key(new) not in seen:
                seen[_key(new)] = new
                queue.append(new)
    found = np.array(list(seen.values()))
    return np.exp(found - found.max(axis=1, keepdims=True)), not queue


def _key(v: Array) -> tuple[int, ...]:
    return tuple(np.rint(v * 1e8).astype(np.int64).tolist())


def _subsets(k: int) -> Array:
    """Proper subsets of k categories, (2^k - 2, k) of bool; none where they are too many."""
    if k > 12:
        return np.zeros((0, k), dtype=bool)
    return (np.arange(1, 2**k - 1)[:, None] >> np.arange(k) & 1).astype(bool)


def _edges(v: Array, limits: Array, sets: Array) -> list[Array]:
    """Sets of categories that can be raised, with the set and the rest connected."""
    k = len(v)
    tight = (limits - (v[:, None] - v) <= _TIGHT) & ~np.eye(k, dtype=bool)
    if not len(sets):
        sets = _cuts(tight)
    # raising x while x' stays breaks a limit that is reached
    closed = ~((sets[:, :, None] & ~sets[:, None, :]) & tight).any(axis=(1, 2))
    both = tight | tight.T
    return [U for U in sets[closed] if _connected(both, U) and _connected(both, ~U)]


def _cuts(tight: Array) -> Array:
    """Sets that fall off when one reached pair is cut; all of them where the pairs are a tree."""
    both = tight | tight.T
    found = []
    for x, z in np.argwhere(np.triu(both)):
        cut = both.copy()
        cut[x, z] = cut[z, x] = False
        part = _reached(cut, int(x), np.ones(len(tight), dtype=bool))
        if not part[z]:
            found += [part, ~part]
    return np.array(found).reshape(-1, len(tight))


def _reached(both: Array, start: int, inside: Array) -> Array:
    part = np.zeros(len(both), dtype=bool)
    part[start] = True
    while True:
        wider = part | (both[part].any(axis=0) & inside)
        if (wider == part).all():
            return part
        part = wider


def _connected(both: Array, U: Array) -> bool:
    return bool((_reached(both, int(np.argmax(U)), U) == U).all())
