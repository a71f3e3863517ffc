"""What strings that are clearly held explain of grams and pairs, and what is left without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search.evidence import candidates
from ldpstats.models.dictionary.search.pairs import PairTable
from ldpstats.models.dictionary.search.paths import Grown, Pair
from ldpstats.models.dictionary.search.progress import Advance, between, silent
from ldpstats.models.dictionary.search.screening import ScreenedGrams

__all__ = ["clearly_held", "search_again", "without"]

Array = npt.NDArray[Any]

_HELD = 5.0  # standard errors from which a string may be taken off
_SHORT = 4.0  # standard errors by which its pairs may fall short of it, all in all
_OWN = 4.0  # mean square of a report by one who has what it is about, at most, where noise is small
_MOST = 500  # strings among which the clearly held ones are looked for
_ROUNDS = 30  # of the active set, per string
_RANK = 1e-9  # of the largest eigenvalue: directions below it are not told apart


def search_again(
    first: Grown,
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
    layout: GramLayout,
    width: int,
    least: float,
    advance: Advance = silent,
) -> Grown:
    """Search for what the frequent strings hide: strings that they cannot explain.

    Where a few strings are frequent, mixtures of their grams score higher than rare strings do:
    their grams are frequent, and pairs from the same string say nothing against them. A second
    search, on what the clearly held strings leave of the grams and the pairs, does not meet them.
    """
    top = first.members[:_MOST]
    held, frequency = clearly_held(top, tables)
    if not held.size:
        return first
    advance(0.2)
    left = without(top[held], frequency, screened, tables)
    rest = candidates(*left, layout, None, width, least, between(advance, 0.2, 1.0))
    known = set(map(tuple, top[held].tolist()))
    is_new = [row not in known for row in map(tuple, rest.members.tolist())]
    members = np.concatenate([top[held], rest.members[is_new]])
    score = np.concatenate([first.score[held], rest.score[is_new]])
    order = np.lexsort((*members.T[::-1], -score))
    return Grown(members[order], score[order], max(first.n_cut, rest.n_cut))


def clearly_held(
    members: Array, tables: Mapping[Pair, PairTable]
) -> tuple[npt.NDArray[np.int64], Array]:
    """Strings that the pairs need, fitted together, and their frequencies.

    Non-negative least squares of the frequencies of the pairs that the strings have, first of all
    strings, then of those alone that come out significant. A mixture of frequent strings gets
    little: they explain its frequent pairs, and its others are rare. One that stands in for a
    string that is not in the list has pairs that fall short of its frequency, and is dropped. This
    is a rule for the search, not a test of the strings.
    """
    known = [pair for pair, t in tables.items() if t.nobs and np.isfinite(t.se).all()]
    # half of the pairs of a string that is held fall short by chance
    most = 0.5 * len(known) + _SHORT * np.sqrt(1.25 * len(known))
    held, least = np.arange(len(members)), _HELD
    while held.size and known:
        cells = [_cells(members[held], pair, tables[pair]) for pair in known]
        frequency, bse = _fitted(cells)
        if least:  # all strings together: many are nothing
            stays = frequency >= least * bse
        else:
            stays = (frequency > 0.0) & (_shortfall(frequency, cells) <= most)
            if stays.all():
                return held, frequency
        held, least = held[stays], 0.0
    return np.empty(0, dtype=np.int64), np.empty(0)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The pairs of grams that strings have at one pair of positions.

    `at` says which each string has, shape (c,); `estimate` and `se` are those of the pairs.
    """

    at: Array
    estimate: Array
    se: Array
    nobs: int


def _cells(members: Array, pair: Pair, table: PairTable) -> _Cells:
    cell, at = np.unique(
        np.ravel_multi_index((members[:, pair[0]], members[:, pair[1]]), table.se.shape),
        return_inverse=True,
    )
    se = np.maximum(table.se.ravel()[cell], 1.0 / table.nobs)  # no better than one respondent
    return _Cells(at, table.estimate.ravel()[cell], se, table.nobs)


def _shortfall(frequency: Array, cells: Sequence[_Cells]) -> Array:
    """By how much the pairs of each string are rarer than it is: squares, in standard errors.

    The tables have the noise of a pair that no one has; the reports of those who have it, and how
    many of these were asked for it, add to that.
    """
    total = np.zeros(frequency.size)
    for own in cells:
        variance = own.se[own.at] ** 2 + _OWN * frequency / own.nobs
        total += np.minimum(own.estimate[own.at] - frequency, 0.0) ** 2 / variance
    return total


def _fitted(cells: Sequence[_Cells]) -> tuple[Array, Array]:
    """Non-negative least squares of all cells, with standard errors; 0 for what is not needed."""
    from scipy.optimize import nnls

    size = cells[0].at.size
    G, b = np.zeros((size, size)), np.zeros(size)
    for own in cells:
        weight = 1.0 / own.se**2
        G += np.where(own.at[:, None] == own.at, weight[own.at], 0.0)
        b += (weight * own.estimate)[own.at]
    value, vector = np.linalg.eigh(G)
    told = value > _RANK * value.max()
    root, vector = np.sqrt(value[told]), vector[:, told]
    try:  # the same in as many equations as there are strings
        p, _ = nnls(root[:, None] * vector.T, (b @ vector) / root, maxiter=_ROUNDS * size)
    except RuntimeError:  # no solution within these rounds: nothing is taken off
        p = np.zeros(size)
    on, bse = p > 0.0, np.full(size, np.inf)
    inverse = np.linalg.pinv(G[np.ix_(on, on)], rcond=_RANK, hermitian=True)
    bse[on] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return p, bse


def without(
    members: Array,
    frequency: Array,
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
) -> tuple[list[ScreenedGrams], dict[Pair, PairTable]]:
    """What strings of known frequencies leave of the grams and of the pairs.

    How many of those who were asked hold the strings varies by chance, and so do their reports:
    what is left has that noise, too.
    """
    grams = []
    for a, kept in enumerate(screened):
        part: Array = np.bincount(members[:, a], frequency, minlength=kept.grams.size)
        estimate, se = _left(kept.estimate, kept.se, part, kept.nobs)
        grams.append(replace(kept, estimate=estimate, se=se))
    pairs = {}
    for (a, b), table in tables.items():
        part = np.zeros(table.estimate.shape)
        np.add.at(part, (members[:, a], members[:, b]), frequency)
        estimate, se = _left(table.estimate, table.se, part, table.nobs)
        pairs[a, b] = PairTable(estimate, se, table.nobs)
    return grams, pairs


def _left(estimate: Array, se: Array, part: Array, nobs: int) -> tuple[Array, Array]:
    return estimate - part, np.sqrt(se**2 + _OWN * part / max(nobs, 1))
