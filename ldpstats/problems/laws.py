"""Raw moments of what a linear estimate makes of single reports: of labels, and of bits.

A report y counts for category i with a weight. Each function returns two arrays of shape (3, k),
the means of the weight, of its square and of its cube: over the reports of those who hold category
i, and over all reports if the frequencies are p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["answer_moments", "bit_moments", "label_moments"]

Array = npt.NDArray[Any]


def label_moments(Q: Array, weights: Array, p: Array) -> tuple[Array, Array]:
    """Of labels with the channel Q, shape (k, l), and weights of shape (k, l)."""
    own = np.array([np.einsum("iy,iy->i", Q, weights**j) for j in (1, 2, 3)])
    return own, np.array([weights**j @ (p @ Q) for j in (1, 2, 3)])


def bit_moments(noise: Array, slope: Any, weights: Array, p: Array) -> tuple[Array, Array]:
    """Of k bits that are independent given the category, of sums with weights of shape (k, k).

    A bit is set with probability `noise`, shape (k,), in the reports of the other categories, and
    ``noise + slope`` in those of its own.
    """
    raw = answer_moments(noise, slope, weights)
    return np.array([np.diagonal(m) for m in raw]), np.array([m @ p for m in raw])


def answer_moments(noise: Array, slope: Any, weights: Array) -> tuple[Array, Array, Array]:
    """The same, raw moments of each row i of weights if x is the category, three times (q, k)."""
    owned = noise + slope
    # cumulants of row i if x is the category: those of noise, with another law of bit x
    first, second, third = (
        (law(noise) @ (weights**j).T)[:, None] + weights**j * (law(owned) - law(noise))
        for j, law in enumerate((_mean, _variance, _third), start=1)
    )
    return first, second + first**2, third + 3.0 * first * second + first**3


def _mean(m: Array) -> Array:
    return m


def _variance(m: Array) -> Array:
    return np.asarray(m * (1.0 - m))


def _third(m: Array) -> Array:
    return np.asarray(m * (1.0 - m) * (1.0 - 2.0 * m))
