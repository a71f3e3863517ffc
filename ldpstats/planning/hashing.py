"""Numbers of cells and cohorts that keep hashed candidates apart (KBR16 appendix G).

In each of C cohorts a string owns the cells that h hashes name among k: one of the k labels of
O-RR, or up to h of the k bits of a Bloom filter. Probabilities are over independent, uniform
hashes, and so hold for any list of candidates; permutations of a closed alphabet collide less.

Two strings are *indistinguishable* if they own the same cells in every cohort. Estimates need
distinguishable candidates, and also equations of full rank (`identification_rank`).

KBR16 prints k^-C as the probability that two strings are distinguishable; it is that of a
collision. The paper counts k C independent equations; there are C (k - 1) + 1, because the
frequencies of every cohort have the same sum. The rest of appendix G is right for h = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer, probability
from ldpstats.errors import InvalidArgument

__all__ = [
    "cells_needed",
    "cohorts_needed",
    "collision_probability",
    "distinguishable_probability",
    "expected_recoverable_mass",
    "identification_rank",
]

Array = npt.NDArray[Any]

_NEVER = 1e-18  # a probability that cannot change a float near one
_MOST_HASHES = (1 << 16) - 1


def collision_probability(n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Probability that two strings own the same cells in every cohort.

    ``k^-C`` for one hash. For several it is ``[sum over s of P(s)^2 / binomial(k, s)]^C``, with
    P(s) the probability that h hashes name s distinct cells.

    Parameters
    ----------
    n_cells : int
        Labels or bits k of a cohort, at least 2.
    n_cohorts : int
        Cohorts C.
    n_hashes : int
        Hashes h of an answer.

    Returns
    -------
    float
        Zero where it is below 1e-308.

    Raises
    ------
    InvalidArgument
        If a number is not a positive integer, or `n_cells` is below 2.

    Examples
    --------
    >>> collision_probability(n_cells=2, n_cohorts=3)
    0.125
    >>> round(collision_probability(n_cells=16, n_cohorts=1, n_hashes=2), 6)  # (30 + 1) / 16^3
    0.007568
    """
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    sizes, log_match = _filters(k, h)
    return float((sizes @ np.exp(log_match)) ** C)


def distinguishable_probability(S: int, n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Probability that a given one of S candidates differs from all others.

    ``(1 - k^-C)^(S-1)`` for one hash (KBR16 appendix G). For several hashes it is averaged over the
    number of cells that the candidate owns.

    Parameters
    ----------
    S : int
        Number of candidates.
    n_cells, n_cohorts, n_hashes : int
        As in `collision_probability`, with its errors.

    Examples
    --------
    >>> distinguishable_probability(S=2, n_cells=2, n_cohorts=3)
    0.875
    >>> round(distinguishable_probability(S=256, n_cells=16, n_cohorts=2), 4)
    0.3686
    """
    S = positive_integer("S", S)
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    others = S - 1.0
    if others * collision_probability(k, C, h) < _NEVER:
        return 1.0
    log_match, weights = _profiles(*_filters(k, h), C)
    with np.errstate(divide="ignore"):  # log 0 where others match for certain
        return float(weights @ np.exp(others * np.log1p(-np.exp(log_match))))


def expected_recoverable_mass(S: int, n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Expected share of answers whose candidate differs from all others (KBR16 appendix G).

    It equals `distinguishable_probability` for every p, because every candidate is alone with the
    same probability. The more uneven p is, the more the share varies about it. See
    `distinguishable_probability` for the parameters.

    Examples
    --------
    >>> round(expected_recoverable_mass(S=4096, n_cells=256, n_cohorts=2), 4)
    0.9394
    """
    return distinguishable_probability(S, n_cells, n_cohorts, n_hashes)


def cells_needed(S: int, n_cohorts: int, mass: float = 0.99, n_hashes: int = 1) -> int:
    """Fewest cells k for which `expected_recoverable_mass` is at least `mass`.

    For one hash, the least k with ``k^C >= 1 / (1 - mass^{1/(S-1)})`` (KBR16 appendix G). For
    several hashes and a mass below 0.05, the share may not increase with k.

    Parameters
    ----------
    S : int
        Number of candidates.
    n_cohorts : int
        Cohorts C.
    mass : float
        Share of the answers to recover on average, in (0, 1).
    n_hashes : int
        Hashes h of an answer.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Examples
    --------
    >>> cells_needed(S=256, n_cohorts=1, mass=0.9)
    2421
    >>> cells_needed(S=256, n_cohorts=4, mass=0.9)
    8
    """
    mass = probability("mass", mass, zero=False, one=False)
    return _least(lambda k: expected_recoverable_mass(S, k, n_cohorts, n_hashes) >= mass, start=2)


def cohorts_needed(S: int, n_cells: int, mass: float = 0.99, n_hashes: int = 1) -> int:
    """Fewest cohorts C for which `expected_recoverable_mass` is at least `mass`.

    Parameters
    ----------
    S : int
        Number of candidates.
    n_cells : int
        Cells k of a cohort, at least 2.
    mass, n_hashes
        As in `cells_needed`.

    Examples
    --------
    >>> cohorts_needed(S=4096, n_cells=2, mass=0.99)
    19
    """
    mass = probability("mass", mass, zero=False, one=False)
    return _least(lambda C: expected_recoverable_mass(S, n_cells, C, n_hashes) >= mass, start=1)


def identification_rank(n_cells: int, n_cohorts: int, n_hashes: int = 1) -> int:
    """Largest rank of the design: the number of independent equations about the candidates.

    ``C (k - 1) + 1`` for one hash, because the k frequencies of every cohort have the same sum
    (KBR16 has k C). With several hashes Bloom filters differ in size, and all ``k C`` bits count.

    The frequencies of S candidates are identified only if S is at most this rank; over an open
    alphabet with one hash only if S + 1 is, because the share of all other answers is one more
    unknown. Random hashes reach this rank, or nearly.

    Parameters
    ----------
    n_cells, n_cohorts, n_hashes : int
        As in `collision_probability`, with its errors.

    Examples
    --------
    >>> identification_rank(n_cells=4, n_cohorts=16)   # of 64 cells
    49
    """
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    return C * (k - 1) + 1 if h == 1 else C * k


def _design(n_cells: object, n_cohorts: object, n_hashes: object) -> tuple[int, int, int]:
    hashes = positive_integer("n_hashes", n_hashes)
    if hashes > _MOST_HASHES:  # the most that a mechanism allows
        raise InvalidArgument("n_hashes", hashes, f"must be at most {_MOST_HASHES}")
    return positive_integer("n_cells", n_cells, 2), positive_integer("n_cohorts", n_cohorts), hashes


def _filters(k: int, h: int) -> tuple[Array, Array]:
    """P(h hashes name s cells), and the log probability of a given set of s: s = 1, 2, ..."""
    sizes = np.zeros(min(h, k) + 1)
    sizes[0] = 1.0
    s = np.arange(sizes.size)
    for _ in range(h):  # a hash names a new cell, or one already named
        sizes[1:] = sizes[1:] * s[1:] / k + sizes[:-1] * (k - s[:-1]) / k
        sizes[0] = 0.0
    log_sets = np.cumsum(np.log(k - s[:-1]) - np.log(s[1:]))  # binomial(k, s)
    with np.errstate(divide="ignore"):  # sizes may underflow to probability 0
        return sizes[1:], np.log(sizes[1:]) - log_sets


def _profiles(sizes: Array, log_match: Array, C: int) -> tuple[Array, Array]:
    """Law of ln P(another string owns the same cells in all C cohorts): values and weights."""
    sizes, log_match = sizes[sizes > _NEVER], log_match[sizes > _NEVER]
    values: Array = np.zeros(1)
    weights: Array = np.ones(1)
    for _ in range(C if sizes.size > 1 else 0):
        values = (values[:, None] + log_match).ravel()
        weights = (weights[:, None] * sizes).ravel()
        # merge sums that differ only in the order of their terms
        _, first, group = np.unique(values.round(9), return_index=True, return_inverse=True)
        values, weights = values[first], np.bincount(group, weights)
        values, weights = values[weights > _NEVER], weights[weights > _NEVER]
    return (values, weights) if sizes.size > 1 else (C * log_match, np.ones(1))


def _least(enough: Callable[[int], bool], start: int) -> int:
    """The smallest number from `start` that is enough, by doubling and bisection."""
    high = start
    while not enough(high):
        high *= 2
    low = max(high // 2, start - 1)  # not enough, or below the start
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
