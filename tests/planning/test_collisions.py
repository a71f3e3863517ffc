"""Probabilities of collisions, and what identifies candidates."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from shared.word_laws import geometric, names, skewed

from ldpstats import planning
from ldpstats.sampling.hashing import hash_strings, hashed_cells


def enumerated(k: int, C: int, h: int, S: int) -> tuple[float, float]:
    """P(two strings collide) and P(one of S is alone), over all hashes there are."""
    filters = Counter(frozenset(hashes) for hashes in itertools.product(range(k), repeat=h))
    law = [Fraction(count, k**h) for count in filters.values()]
    chances = [np.prod(combination) for combination in itertools.product(law, repeat=C)]
    assert sum(chances) == 1
    return float(sum(c * c for c in chances)), float(sum(c * (1 - c) ** (S - 1) for c in chances))


@pytest.mark.parametrize(
    ("k", "C", "h", "S"),
    [(2, 3, 1, 5), (5, 2, 1, 40), (3, 2, 2, 7), (4, 2, 3, 9), (2, 3, 3, 4), (3, 2, 4, 12)],
)
def test_probabilities_are_those_of_all_hashes(k: int, C: int, h: int, S: int) -> None:
    collision, alone = enumerated(k, C, h, S)
    assert planning.collision_probability(k, C, h) == pytest.approx(collision, rel=1e-12)
    found = planning.distinguishable_probability(S, k, C, h)
    assert found == pytest.approx(alone, rel=1e-12)
    assert planning.distinguishable_probability(2, k, C, h) == pytest.approx(1 - collision)
    if h == 1:
        assert found == pytest.approx((1 - k**-C) ** (S - 1), rel=1e-12)
    else:  # several sizes of filters: the average exceeds the power of the average
        assert found > (1 - collision) ** (S - 1) * (1 + 1e-6)
        # hashes are not ordered: equal tuples are rarer than equal sets
        assert collision > 1.2 * k ** (-h * C)


def test_probabilities_of_many_cells_and_cohorts() -> None:
    assert planning.collision_probability(4096, 1024) == 0.0  # 1e-3699
    assert planning.distinguishable_probability(10**9, 4096, 1024, 4) == 1.0
    assert planning.collision_probability(2, 1000, 40) == pytest.approx(
        (1 - 2 * 2.0**-40) ** 2000, rel=1e-6
    )
    assert 0.0 < planning.distinguishable_probability(10**6, 3, 40, 16) < 1.0
    # one hash: sums of (S - 1) log(1 - k^-C) keep their digits
    expected = -(10**6 - 1) * 4096.0**-4
    assert np.log(planning.distinguishable_probability(10**6, 4096, 4)) == pytest.approx(expected)


@pytest.mark.parametrize(("k", "C", "h"), [(4, 3, 1), (5, 2, 2)])
def test_hashes_of_the_package_have_these_probabilities(k: int, C: int, h: int) -> None:
    lists, S = 400, 48
    hashes = hash_strings("values", [f"word {i}" for i in range(lists * S)])
    cells = np.sort(hashed_cells(hashes, C, h, k), axis=2).astype(np.int64)
    sets = np.zeros((lists * S, C), dtype=np.int64)  # a set of cells as a binary number
    for j in range(h):
        sets |= (1 << cells[:, :, j]).T
    key = (sets << (k * np.arange(C))).sum(axis=1).reshape(lists, S)
    alone = np.array([[(row == value).sum() == 1 for value in row] for row in key])
    for p in (np.full(S, 1 / S), geometric(S), skewed(S)):  # the same expectation for every p
        mass = alone @ p
        error = mass.std() / np.sqrt(lists)
        assert abs(mass.mean() - planning.expected_recoverable_mass(S, k, C, h)) < 4 * error
        # with k^-C for the probability of being distinguishable it would be this
        assert abs(mass.mean() - float(k) ** (-h * C)) > 20 * error


def test_cells_and_cohorts_needed() -> None:
    for S, C, mass in [(2, 1, 0.5), (256, 1, 0.9), (256, 4, 0.9), (4096, 2, 0.999)]:
        k = planning.cells_needed(S, C, mass)
        bound = 1 / (1 - mass ** (1 / (S - 1)))  # KBR16 appendix G
        assert k == max(2, int(np.ceil(bound ** (1 / C) * (1 - 1e-12))))
        assert planning.cohorts_needed(S, k, mass) <= C
    for h in (2, 4):
        k = planning.cells_needed(1000, 2, 0.99, h)
        assert planning.expected_recoverable_mass(1000, k, 2, h) >= 0.99
        assert planning.expected_recoverable_mass(1000, k - 1, 2, h) < 0.99
        C = planning.cohorts_needed(1000, 6, 0.99, h)
        assert planning.expected_recoverable_mass(1000, 6, C, h) >= 0.99
        assert planning.expected_recoverable_mass(1000, 6, C - 1, h) < 0.99


@pytest.mark.parametrize(("k", "C", "h"), [(4, 16, 1), (2, 9, 1), (16, 4, 1), (4, 8, 2), (2, 7, 3)])
def test_identification_rank(k: int, C: int, h: int) -> None:
    rank = planning.identification_rank(k, C, h)
    cells = hashed_cells(hash_strings("values", names(12 * k * C)), C, h, k)
    H = np.zeros((C, k, cells.shape[1]))
    for c, x, j in np.ndindex(cells.shape):
        H[c, cells[c, x, j], x] = 1.0
    assert np.linalg.matrix_rank(H.reshape(C * k, -1)) == rank  # reached with enough strings
    assert (rank < k * C) == (h == 1)  # KBR16 counts k C
    low = 1 - (1 - 1 / k) ** h  # the share of other answers, which hash evenly, takes one if h = 1
    assert np.linalg.matrix_rank(H.reshape(C * k, -1) - low) == rank - (h == 1)
