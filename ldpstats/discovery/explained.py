"""What strings that are clearly held explain of grams and pairs, and what is left without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.discovery.evidence import candidates
from ldpstats.discovery.pairs import PairTable
from ldpstats.discovery.screening import ScreenedGrams
from ldpstats.discovery.search import Grown, Pair
from ldpstats.grams import GramLayout

__all__ = ["clearly_held", "search_again", "without"]

Array = npt.NDArray[Any]

_HELD = 5.0  # standard errors from which a string is taken off
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
) -> Grown:
    """Search for what the frequent strings hide: strings that they cannot explain.

    Where a few strings are frequent, mixtures of their grams score higher than rare strings do:
    their grams are frequent, and pairs from the same string say nothing against them. A second
    search, on what the clearly held strings leave of the grams and the pairs, does not meet them.

    Parameters
    ----------
    first : Grown
        What `candidates` found.
    screened, tables, layout, width, least
        As `candidates` has them.

    Returns
    -------
    Grown
        The clearly held strings, with their scores of the first search, and those of the second
        search; `first` itself where no string is clearly held.
    """
    top = first.members[:_MOST]
    held, frequency = clearly_held(top, tables)
    if not held.size:
        return first
    left = without(top[held], frequency, screened, tables)
    rest = candidates(*left, layout, None, width, least)
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

    Non-negative least squares of the frequencies of the pairs that the strings have, each weighted
    by its standard error. A mixture of frequent strings gets nothing: they explain its frequent
    pairs, and its others are rare. This is a rule for the search, not a test of the strings.

    Parameters
    ----------
    members : array of int, shape (c, K)
        Number of the gram of each position.
    tables : mapping from pairs to PairTable
        Pairs of infinite standard error say nothing.

    Returns
    -------
    held : array of int, shape (s,)
        Places of those whose frequency is at least five standard errors.
    frequency : array, shape (s,)

    Examples
    --------
    >>> table = PairTable(np.array([[0.3, 0.0], [0.0, 0.2]]), np.full((2, 2), 0.01), 1000)
    >>> strings = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> held, frequency = clearly_held(strings, {(0, 1): table})
    >>> held.tolist(), frequency.round(2).tolist()
    ([0, 3], [0.3, 0.2])
    """
    from scipy.optimize import nnls

    none = np.empty(0, dtype=np.int64), np.empty(0)
    if not len(members):
        return none
    design, target = _equations(members, tables)
    G, b = (design.T @ design).toarray(), design.T @ target
    value, vector = np.linalg.eigh(G)
    told = value > _RANK * max(float(value.max(initial=0.0)), 1.0)
    if not told.any():
        return none
    root, vector = np.sqrt(value[told]), vector[:, told]
    few = root[:, None] * vector.T, (b @ vector) / root  # the same in few equations
    try:
        p, _ = nnls(*few, maxiter=_ROUNDS * len(members))
    except RuntimeError:  # no solution within these rounds: nothing is taken off
        return none
    on = np.flatnonzero(p > 0.0)
    variance = np.diag(np.linalg.pinv(G[np.ix_(on, on)], hermitian=True))
    held = on[p[on] >= _HELD * np.sqrt(variance)]
    return held, p[held]


def _equations(members: Array, tables: Mapping[Pair, PairTable]) -> tuple[Any, Array]:
    """Which string has which pair of grams, over its standard error; and how frequent each is."""
    from scipy.sparse import csr_array

    rows, cells, targets, n = [], [], [np.empty(0)], 0
    for (a, b), table in tables.items():
        if not np.isfinite(table.se).all() or not table.nobs:
            continue
        cell, at = np.unique(
            np.ravel_multi_index((members[:, a], members[:, b]), table.se.shape),
            return_inverse=True,
        )
        weight = 1.0 / np.maximum(table.se.ravel()[cell], 1.0 / table.nobs)  # one respondent
        rows.append(n + at)
        cells.append(weight[at])
        targets.append(weight * table.estimate.ravel()[cell])
        n += cell.size
    strings = np.tile(np.arange(len(members)), len(rows))
    entries = (np.concatenate(cells), (np.concatenate(rows), strings)) if rows else ([], ([], []))
    return csr_array(entries, shape=(n, len(members))), np.concatenate(targets)


def without(
    members: Array,
    frequency: Array,
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
) -> tuple[list[ScreenedGrams], dict[Pair, PairTable]]:
    """What strings of known frequencies leave of the grams and of the pairs.

    How many respondents of a position, or a pair, hold the strings varies by chance, so that the
    standard error of what is left has that of the share that was taken off, too.

    Parameters
    ----------
    members : array of int, shape (s, K)
    frequency : array, shape (s,)
    screened : sequence of K ScreenedGrams
    tables : mapping from pairs to PairTable
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
    return estimate - part, np.sqrt(se**2 + part / max(nobs, 1))
