"""The Hessian of a likelihood of Bloom filters whose candidates own at most two bits each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["gram_of_two"]

Array = npt.NDArray[Any]

_BLOCK = 1 << 19  # bits of reports that are taken as numbers at a time (4 MB)


def gram_of_two(
    packed: npt.NDArray[np.uint8],
    cohort: Array,
    cells: Array,
    n_bits: int,
    ratios: tuple[float, float],
    v: Array,
) -> Array:
    """W' diag(v) W, shape (S, S), of `BloomRows` with cells of shape (C, S, 2).

    A likelihood is ``(absent + gain y_a) (absent + gain y_b)``: what is linear in the bits, B'(y,
    1), and gain^2 where both are set, which few candidates have. The squares of the former take
    the products of all bits of a cohort, the others lists of few.

    Parameters
    ----------
    ratios : tuple of float
        Likelihood ratios of an own bit that is not set, and of one that is.
    """
    from ldpstats.kernels.two_bits import pair_gram

    S, (absent, present) = cells.shape[1], ratios
    gain, half, both = present - absent, np.zeros((S, S)), np.zeros((S, S))
    for c, own in enumerate(cells):
        products, cross = np.zeros((n_bits + 1,) * 2), np.zeros((S, n_bits + 1))
        members = np.flatnonzero(cohort == c)
        for rows in np.array_split(members, 1 + members.size * n_bits // _BLOCK):
            pair_gram(packed[rows], v[rows], own, n_bits, both, cross)
            products += _products(packed[rows], n_bits, v[rows])
        B = _linear(own, n_bits, absent, gain)
        half += B.T @ (products @ B / 2.0 + gain**2 * cross.T)
    half += gain**4 * np.triu(both, 1)
    half[np.diag_indices(S)] += gain**4 * both.diagonal() / 2.0
    return half + half.T


def _linear(own: Array, n_bits: int, absent: float, gain: float) -> Array:
    """Coefficients, (n_bits + 1, S), of the bits and of 1 in each candidate's likelihood."""
    alone = own[:, 1] == n_bits
    slope = gain * np.where(alone, 1.0, absent)
    B = np.zeros((n_bits + 1, len(own)))
    B[own, np.arange(len(own))[:, None]] = slope[:, None]
    B[-1] = np.where(alone, absent, absent**2)
    return B


def _products(packed: npt.NDArray[np.uint8], n_bits: int, weights: Array) -> Array:
    """Weighted sums of the products of the bits and 1, shape (n_bits + 1, n_bits + 1)."""
    bits = np.ones((len(packed), n_bits + 1))
    bits[:, :-1] = np.unpackbits(packed, axis=1, count=n_bits, bitorder="little")
    return np.asarray((bits * weights[:, None]).T @ bits)
