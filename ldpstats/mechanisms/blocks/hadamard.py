"""Hadamard response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels
from ldpstats.mechanisms.blocks.base import BlockMechanism
from ldpstats.problems.blocks.hadamard import HadamardDesign

__all__ = ["HadamardResponse"]


@dataclass(frozen=True, eq=False)
class HadamardResponse(BlockMechanism):
    """Hadamard response (Acharya, Sun and Zhang 2019): labels in the rows of Hadamard matrices.

    Each category has its own half of the labels of one of B Hadamard matrices of order b, of B b
    labels in all; an own label is e^eps times as probable as any other. With B = 1, where epsilon
    is at most ln 2, the own labels of two categories agree by half and a report takes about log2 k
    bits. More matrices make own labels rarer, as a larger epsilon wants them to be.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, or categories that are none.

    Notes
    -----
    ``B = 2^(ceil(log2 min(e^eps, 2k)) - 1)`` and b is the smallest power of two of at least
    ``k / B + 1``. The linear estimate of p_x is half the share of own labels less that of the
    others of the same matrix, over ``s (e^eps - 1) / (2 Z)``, with s = b/2 and Z = s (e^eps - 1) +
    B b. With B = 1 that is a binomial count.

    References
    ----------
    J. Acharya, Z. Sun and H. Zhang, Hadamard response: estimating distributions privately,
    efficiently, and with little communication, AISTATS 2019, sections 4 and 5.

    Examples
    --------
    >>> hadamard = HadamardResponse(100_000, epsilon=0.5)
    >>> hadamard.n_outputs, hadamard.report_bits
    (131072, 17)
    >>> HadamardResponse(("a", "b", "c"), epsilon=0.5).channel().matrix().round(4)
    array([[0.3112, 0.1888, 0.3112, 0.1888],
           [0.3112, 0.3112, 0.1888, 0.1888],
           [0.3112, 0.1888, 0.1888, 0.3112]])
    """

    categories: Any
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))

    @cached_property
    def design(self) -> HadamardDesign:
        least = min(np.exp(self.epsilon), 2.0 * self.k)
        parts = 1 << max(ceil(log2(least)) - 1, 0)
        return HadamardDesign(self.k, parts, 1 << (-(-self.k // parts)).bit_length())
