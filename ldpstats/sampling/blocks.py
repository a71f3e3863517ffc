"""Labels of blocks: whether a report is an own label of the answer, and which one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.sampling.samplers import CERTAIN, I64, sample_coins
from ldpstats.sampling.words import Words

__all__ = ["sample_below", "sample_labels"]


def sample_labels(
    n: int, own: int, others: int, keep: int, words: Words
) -> tuple[npt.NDArray[np.bool_], I64]:
    """Whether each of n users reports one of her `own` labels, and its number; shape (n,) each.

    She does with probability keep / 2**64; else she reports one of `others`. Numbers are uniform,
    from 0 to own - 1, or to others - 1.
    """
    kept = sample_coins(n, keep, words)
    return kept, sample_below(np.where(kept, own, others), words)


def sample_below(bounds: I64, words: Words) -> I64:
    """Draw a uniform integer below each bound, from 64-bit words of which few are refused."""
    if bounds.size and not 1 <= int(bounds.min()):
        raise InvalidArgument("bounds", int(bounds.min()), "must be at least 1")
    out, left = np.zeros(bounds.shape, dtype=np.int64), np.arange(bounds.size)
    size = bounds.astype(np.uint64)
    spare = np.array([CERTAIN % int(b) for b in np.unique(bounds)], dtype=np.uint64)
    refused = spare[np.searchsorted(np.unique(bounds), bounds)] if bounds.size else size
    while left.size:
        random = words(left.size)
        out[left] = random % size[left]
        left = left[random > ~refused[left]]  # the last 2**64 mod b of the words
    return out
