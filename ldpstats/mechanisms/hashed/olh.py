"""Optimised local hashing by its name in the literature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_epsilon, positive_integer
from ldpstats.arguments.labels import as_labels
from ldpstats.mechanisms.hashed.orr import ORR

__all__ = ["OLH"]

_LEAST_COHORTS = 64
_PER_ANSWER = 16  # free labels of all cohorts for each answer; fewer add to the variance


def OLH(categories: Any, epsilon: float, n_cohorts: int | None = None) -> ORR:
    """Optimised local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017): a kind of `ORR`.

    Answers are hashed to ``g = round(e^eps) + 1`` labels, of which one is reported by k-RR. In the
    paper every respondent draws a hash function of her own. Here there are `n_cohorts` functions,
    each a random permutation of the categories modulo g, so that counts of labels suffice and
    estimates know which answers collide.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.
    n_cohorts : int, optional
        Number of hash functions C. By default the smallest power of two, from 64 on, of at least
        ``16 k / (g - 1)``: collisions then add about 6 % to the variances, about ``k / (C (g -
        1))`` in general. Time and memory of estimates grow with C k; for more than some thousand
        categories take `ProjectiveGeometryResponse`, whose variance is as small.

    Returns
    -------
    ORR
        With the categories as its alphabet. Where g is k or more, k-RR of the labels in one cohort,
        which is better there.

    Raises
    ------
    InvalidArgument
        If the categories, epsilon or n_cohorts is invalid.

    Examples
    --------
    >>> print(OLH(("nurse", "teacher", "driver", "cook", "clerk", "baker"), epsilon=1.0))
    ORR(n_outputs=4, n_cohorts=64, epsilon=1, k=6)
    """
    labels, size = as_labels("categories", categories), positive_epsilon("epsilon", epsilon)
    cohorts = None if n_cohorts is None else positive_integer("n_cohorts", n_cohorts)
    g = round(min(float(np.exp(size)), float(len(labels)))) + 1
    if g >= len(labels):
        return ORR(len(labels), cohorts or 1, epsilon=size, alphabet=labels)
    least = -(-_PER_ANSWER * len(labels) // (g - 1))
    default = max(_LEAST_COHORTS, 1 << (least - 1).bit_length())
    return ORR(g, cohorts or default, epsilon=size, alphabet=labels)
