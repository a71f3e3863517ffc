"""Which grams make up whole strings: paths through the graph of pairs (FPE16 IV-A, 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.models.dictionary.search.progress import Advance, counted, silent

__all__ = ["Grown", "grow"]

Array = npt.NDArray[Any]
Pair = tuple[int, int]

_SPARSE = 0.1  # share of the possible strings below which scores are added up one by one


@dataclass(frozen=True, eq=False)
class Grown:
    """Strings, best first.

    Parameters
    ----------
    members : array of int, shape (c, K)
        Number of the gram of each position.
    score : array, shape (c,)
        Sum of the scores of all grams and pairs.
    n_cut : int
        Beginnings of strings that were given up because there were too many; zero where the
        strings are all that there are.
    """

    members: Array
    score: Array
    n_cut: int


def grow(
    allowed: Mapping[Pair, Array],
    scores: Sequence[Array],
    pair_scores: Mapping[Pair, Array],
    width: int,
    advance: Advance = silent,
) -> Grown:
    """All strings whose pairs are all allowed: cliques of one gram a position; the best if many.

    Strings grow position by position. A beginning that a pair forbids is dropped at once; where
    more than `width` are left, those with the highest scores so far go on.
    """
    members, total, cut = np.zeros((1, 0), dtype=np.int64), np.zeros(1), 0
    for i, own in counted(list(enumerate(scores)), advance):
        possible = np.ones((len(members), own.size), dtype=bool)
        for a in range(i):
            possible &= allowed[a, i][members[:, a]]
        row, gram = np.nonzero(possible)
        if row.size < _SPARSE * possible.size:
            value = total[row] + own[gram]
            for a in range(i):
                value += pair_scores[a, i][members[row, a], gram]
        else:
            sums = total[:, None] + own[None, :]
            for a in range(i):
                sums += pair_scores[a, i][members[:, a]]
            value = sums[row, gram]
        if value.size > width:
            best = _largest(value, width)
            cut += value.size - width
            row, gram, value = row[best], gram[best], value[best]
        members, total = np.column_stack([members[row], gram]), value
    order = np.lexsort((*members.T[::-1], -total))
    return Grown(members[order], total[order], cut)


def _largest(values: Array, size: int) -> npt.NDArray[np.int64]:
    """Places of the largest values, in order of place; of equal ones those that come first."""
    least = np.partition(values, values.size - size)[values.size - size]
    above = np.flatnonzero(values > least)
    ties = np.flatnonzero(values == least)[: size - above.size]
    return np.sort(np.concatenate([above, ties]))
