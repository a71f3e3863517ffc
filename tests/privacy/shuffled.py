"""Shuffled reports by brute force: all data sets, all multisets of reports."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import numpy.typing as npt


def multisets(Q: npt.NDArray[Any], answers: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Probability of each multiset of reports (numbers by kind) of respondents with answers."""
    law = {(0,) * Q.shape[1]: 1.0}
    for x in answers:
        grown: dict[tuple[int, ...], float] = {}
        for counts, chance in law.items():
            for y in range(Q.shape[1]):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[key] = grown.get(key, 0.0) + chance * Q[x, y]
        law = grown
    return law


def worst_delta(Q: npt.NDArray[Any], n: int, epsilons: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The largest hockey-stick divergence of all neighbouring data sets, at each epsilon."""
    worst = np.zeros(len(epsilons))
    for others in combinations_with_replacement(range(len(Q)), n - 1):
        laws = []
        for x in range(len(Q)):
            law = multisets(Q, (x, *others))
            laws.append(np.array([law[key] for key in sorted(law)]))
        for x, other in permutations(range(len(Q)), 2):
            gaps = laws[x] - np.exp(epsilons)[:, None] * laws[other]
            worst = np.maximum(worst, np.maximum(gaps, 0.0).sum(axis=1))
    return worst
