"""Uniform subsets of one size that hold a given member with a given probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.sampling.samplers import I64, U8, _check_range, _integers, sample_coins
from ldpstats.sampling.words import Words

__all__ = ["sample_subsets"]

Array = npt.NDArray[Any]

_ENTRIES = 1 << 19  # keys that are drawn at a time


def sample_subsets(codes: npt.ArrayLike, k: int, size: int, keep: int, words: Words) -> U8:
    """Draw subsets of `size` of k categories that hold the true code with probability keep / 2**64.

    The other members are uniform: those with the smallest of independent 32-bit keys. Where two
    keys tie at the border all keys of the subset are drawn again, which favours no category.
    Returns packed bits, shape (n, ceil(k/8)).
    """
    true = _integers("codes", codes, 1)
    _check_range("codes", true, k)
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
