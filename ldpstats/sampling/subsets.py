"""Uniform subsets of one size that hold a given member with a given probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.sampling.samplers import I64, U8, checked_codes, sample_coins
from ldpstats.sampling.words import Words

__all__ = ["drawn_sums", "sample_subsets"]

Array = npt.NDArray[Any]

_ENTRIES = 1 << 19  # keys that are drawn at a time
_MOST = 500_000_000  # people, of whom numpy draws some at random


def sample_subsets(codes: npt.ArrayLike, k: int, size: int, keep: int, words: Words) -> U8:
    """Draw subsets of `size` of k categories that hold the true code with probability keep / 2**64.

    The other members are uniform: those with the smallest of independent 32-bit keys. Where two
    keys tie at the border all keys of the subset are drawn again, which favours no category.
    Returns packed bits, shape (n, ceil(k/8)).
    """
    true = checked_codes(codes, k)
    out = np.empty((true.size, -(-k // 8)), dtype=np.uint8)
    step = max(1, _ENTRIES // k)
    for start in range(0, true.size, step):
        code = true[start : start + step]
        own = sample_coins(code.size, keep, words)
        bits = np.zeros((code.size, k), dtype=bool)
        bits[:, :-1] = _chosen(k - 1, size - own, words)
        rows = np.arange(code.size)
        bits[rows, -1] = bits[rows, code]  # the last category stands in for the true one
        bits[rows, code] = own
        out[start : start + step] = np.packbits(bits, axis=1, bitorder="little")
    return out


def _chosen(k: int, sizes: I64, words: Words) -> npt.NDArray[np.bool_]:
    """Uniform subsets of k, bool of shape (n, k) of these sizes."""
    out = np.empty((sizes.size, k), dtype=bool)
    left = np.arange(sizes.size)
    while left.size:
        keys = words(-(-left.size * k // 2)).view(np.uint32)[: left.size * k].reshape(-1, k)
        border = _border(keys, sizes[left])
        found = keys < border[:, None]
        out[left] = found
        left = left[found.sum(axis=1) != sizes[left]]
    return out


def _border(keys: Array, sizes: I64) -> Array:
    """A number above the `sizes` smallest keys of each row, as uint64, shape (n,)."""
    places = [m - 1 for m in np.unique(sizes).tolist() if m]
    ranked = np.partition(keys, places, axis=1) if places else keys
    last = ranked[np.arange(len(keys)), np.maximum(sizes - 1, 0)].astype(np.uint64)
    return np.where(sizes > 0, last + np.uint64(1), np.uint64(0))


def drawn_sums(true: I64, size: int, own: float, rng: np.random.Generator) -> I64:
    """Sums of the bits of subset reports of a population, shape (k,), for simulation.

    With the law of `sample_subsets`, in time that hardly grows with the number of people. `true`,
    shape (k,), counts the people of each category, `own` is the chance to report one's own. Beside
    it a report has `size` or ``size - 1`` uniform ones of k - 1 places, and the last category
    takes the true one's place. Places are filled one after another: all that matters of a person
    is how many ones she has left, and when the place of her own category comes.
    """
    total = np.zeros(true.size, dtype=np.int64)
    parts = -(-int(true.sum()) // _MOST)
    for i in range(parts):
        some = true // parts + (i < true % parts)
        kept = rng.binomial(some, own)
        total += kept
        for people, left in ((kept, size - 1), (some - kept, size)):
            total += _filled(people, left, rng)
    return total


def _filled(people: I64, ones: int, rng: np.random.Generator) -> I64:
    """Sums of uniform subsets of k - 1 places, with the last category in the true one's place."""
    k = people.size
    total = np.zeros(k, dtype=np.int64)
    waiting, done = np.zeros(ones + 1, dtype=np.int64), np.zeros(ones + 1, dtype=np.int64)
    waiting[ones] = people.sum()  # by the number of ones left; done: whose own place has passed
    low, high = ones, ones + 1  # of the numbers of ones that anybody has left
    for j in range(k - 1):
        low, at = max(low - 1, 0), slice(max(low - 1, 0), high)
        own = rng.multivariate_hypergeometric(waiting[at], int(people[j]), method="marginals")
        waiting[at] -= own
        chance = np.minimum(np.arange(at.start, high) / (k - 1 - j), 1.0)
        for state, place in ((waiting[at], j), (done[at], j), (own, k - 1)):
            hits = rng.binomial(state, chance)
            total[place] += hits.sum()
            state -= hits
            state[:-1] += hits[1:]
        done[at] += own
        there = np.flatnonzero(waiting[at] + done[at])
        if not there.size:
            break
        low, high = at.start + int(there[0]), at.start + int(there[-1]) + 1
    return total
