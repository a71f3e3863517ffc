"""Permutation tests of independence of privatised variables, exact at any number of reports.

Under independence every order of the reports of Y, within strata, is equally likely. A permutation
changes only the mean cross-product of features, at the cost of a small matrix product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.cross_moments import CrossMoments, Whitening, count_table
from ldpstats.problems.covariance import finite_array

__all__ = [
    "all_table_scores",
    "exact_pvalue",
    "log_probability",
    "permutation_pvalue",
    "permuted_scores",
    "permuted_table_scores",
]

Array = npt.NDArray[Any]

_TIE = 1e-9  # relative difference below which two statistics are tied
_CELLS = 2**22  # cells of random tables held at a time
_FREE = 4  # degrees of freedom up to which tables with the same margins may be few
_ORDERS = 6  # respondents up to which they are few


def permutation_pvalue(statistic: float, draws: npt.ArrayLike) -> float:
    """Share of permutations with a statistic at least as large, the observed order among them.

    (1 + #{draws >= statistic})/(B + 1), a valid p-value for every B.

    Parameters
    ----------
    statistic : float
        Of the observed reports.
    draws : array_like, shape (B,)
        Of permuted reports. Relative differences below 1e-9 are ties.

    Raises
    ------
    InvalidArgument
        If there are no draws, or an argument is NaN.

    Examples
    --------
    >>> permutation_pvalue(3.0, [1.0, 4.0, 2.0])
    0.5
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or not values.size or np.isnan(values).any() or np.isnan(statistic):
        raise InvalidArgument("draws", values, "and statistic must be numbers, at least one draw")
    return float((1 + np.sum(values >= _bar(statistic))) / (values.size + 1))


def exact_pvalue(statistic: float, statistics: Array, probabilities: Array) -> float:
    """Probability of a statistic at least as large, from the complete null distribution."""
    return float(min(probabilities[statistics >= _bar(statistic)].sum(), 1.0))


def _bar(statistic: float) -> float:
    """`statistic` less a tolerance for ties."""
    return statistic - _TIE * max(abs(statistic), 1.0)


def permuted_scores(
    x: Sequence[npt.ArrayLike],
    y: Sequence[npt.ArrayLike],
    n_perm: int,
    rng: np.random.Generator,
    advance: Callable[[float], None] | None = None,
) -> Array:
    """Score statistics of reports of Y permuted against those of X within strata.

    Parameters
    ----------
    x, y : sequence of array_like, shapes (n_c, k1) and (n_c, k2)
        Features of the reports, one array per stratum, one row per respondent.
    n_perm : int
        B, the number of permutations.
    rng : numpy.random.Generator
    advance : callable, optional
        Told the fraction that is done, from 0 to 1.

    Returns
    -------
    ndarray, shape (B,)
        Compare with ``score([CrossMoments.of_reports(a, b) for a, b in zip(x, y)])``.

    Raises
    ------
    NotIdentified, NotAvailable, InvalidArgument
        As `ldpstats.inference.tables.independence.score`.

    Examples
    --------
    >>> a = np.eye(2)[[0, 0, 0, 1, 1, 1]]
    >>> draws = permuted_scores([a], [a], n_perm=99, rng=np.random.default_rng(1))
    >>> np.unique(draws.round(4))
    array([0.6667, 6.    ])
    """
    _same_strata(x, y)
    n_perm = positive_integer("n_perm", n_perm)
    pairs = [(finite_array("x", a, 2), finite_array("y", b, 2)) for a, b in zip(x, y, strict=True)]
    space = Whitening.of([CrossMoments.of_reports(a, b) for a, b in pairs])
    cross = np.zeros((n_perm, len(space.x), len(space.y)))
    for done, (a, b) in enumerate(pairs):
        left = ((a - a.mean(axis=0)) @ space.x.T).T / space.n
        right = (b - b.mean(axis=0)) @ space.y.T
        for i, draw in enumerate(cross, start=1):
            draw += left @ right[rng.permutation(len(right))]
            if advance is not None:
                advance((done + i / n_perm) / len(pairs))
    return space.statistic(cross)


def permuted_table_scores(
    tables: Sequence[npt.ArrayLike],
    ax: Sequence[npt.ArrayLike],
    by: Sequence[npt.ArrayLike],
    n_perm: int,
    rng: np.random.Generator,
    advance: Callable[[float], None] | None = None,
) -> Array:
    """Score statistics of random tables with the margins of `tables`.

    The law of `permuted_scores`, at a cost that does not depend on the number of reports.

    Parameters
    ----------
    tables : sequence of array_like of integers, shape (l1, l2)
        Respondents with each pair of outputs, one table per stratum.
    ax, by : sequence of array_like, shapes (l1, k1) and (l2, k2)
        Features of each output, in each stratum.
    n_perm : int
        B, the number of tables drawn.
    rng : numpy.random.Generator
    advance : callable, optional
        Told the fraction that is done, from 0 to 1.

    Returns
    -------
    ndarray, shape (B,)

    Raises
    ------
    NotIdentified, NotAvailable, InvalidArgument
        As `ldpstats.inference.tables.independence.score`.

    References
    ----------
    Patefield (1981), Applied Statistics 30, 91-97.

    Examples
    --------
    >>> labels = [np.eye(2)]
    >>> rng = np.random.default_rng(1)
    >>> draws = permuted_table_scores([[[3, 0], [0, 3]]], labels, labels, n_perm=99, rng=rng)
    >>> np.unique(draws.round(4))
    array([0.6667, 6.    ])
    """
    from scipy.stats import random_table

    _same_strata(tables, ax)
    _same_strata(tables, by)
    n_perm = positive_integer("n_perm", n_perm)
    strata = list(zip(tables, ax, by, strict=True))
    space = Whitening.of([CrossMoments.of_table(*stratum) for stratum in strata])
    cross = np.zeros((n_perm, len(space.x), len(space.y)))
    for done, (table, a, b) in enumerate(strata):
        counts = count_table(table)
        r, c = counts.sum(axis=1).astype(np.int64), counts.sum(axis=0).astype(np.int64)
        left = _centred(a, r) @ space.x.T / space.n
        right = _centred(b, c) @ space.y.T
        law = random_table(r, c)
        batch = max(1, _CELLS // counts.size)
        for start in range(0, n_perm, batch):
            some = cross[start : start + batch]
            drawn = law.rvs(len(some), method="patefield", random_state=rng)
            some += left.T @ (drawn.astype(np.float64) @ right)
            if advance is not None:
                advance((done + min(start + batch, n_perm) / n_perm) / len(strata))
    return space.statistic(cross)


def all_table_scores(
    tables: Sequence[npt.ArrayLike],
    ax: Sequence[npt.ArrayLike],
    by: Sequence[npt.ArrayLike],
    most: int,
) -> tuple[Array, Array] | None:
    """Score statistics of all tables with the margins of `tables`, and their probabilities.

    Parameters
    ----------
    tables, ax, by
        As in `permuted_table_scores`.
    most : int
        Most combinations of tables to enumerate.

    Returns
    -------
    statistics, probabilities : ndarray, shape (m,)
        Of each combination of tables, under permutations within strata; None if there are more than
        `most`.

    Raises
    ------
    NotIdentified, NotAvailable, InvalidArgument
        As `ldpstats.inference.tables.independence.score`.

    Examples
    --------
    >>> labels = [np.eye(2)]
    >>> statistics, probabilities = all_table_scores([[[3, 0], [0, 3]]], labels, labels, most=10)
    >>> statistics.round(4), probabilities.round(4)
    (array([6.    , 0.6667, 0.6667, 6.    ]), array([0.05, 0.45, 0.45, 0.05]))
    """
    _same_strata(tables, ax)
    _same_strata(tables, by)
    strata = [
        (count_table(t), np.asarray(a), np.asarray(b))
        for t, a, b in zip(tables, ax, by, strict=True)
    ]
    space = Whitening.of([CrossMoments.of_table(*stratum) for stratum in strata])
    cross, log_p = np.zeros((1, len(space.x), len(space.y))), np.zeros(1)
    for counts, a, b in strata:
        free = (len(a) - 1) * (len(b) - 1)
        if free > _FREE and counts.sum() > _ORDERS:
            return None
        r, c = counts.sum(axis=1).astype(np.int64), counts.sum(axis=0).astype(np.int64)
        found = list(itertools.islice(_tables(tuple(r), tuple(c)), most // len(cross) + 1))
        if len(found) * len(cross) > most:
            return None
        every = np.array(found, dtype=np.float64)
        left, right = _centred(a, r) @ space.x.T / space.n, _centred(b, c) @ space.y.T
        own = left.T @ every @ right
        cross = (cross[:, None] + own).reshape(-1, *cross.shape[1:])
        log_p = (log_p[:, None] + log_probability(every)).reshape(-1)
    return space.statistic(cross), np.exp(log_p)


def log_probability(tables: npt.ArrayLike) -> Array:
    """Multivariate hypergeometric log-probability of tables, (..., l1, l2), given their margins.

    Examples
    --------
    >>> round(float(np.exp(log_probability([[3, 0], [0, 3]]))), 6)
    0.05
    """
    from scipy.special import gammaln

    counts = np.asarray(tables, dtype=np.float64)
    ways = sum(gammaln(counts.sum(axis=axis) + 1.0).sum(axis=-1) for axis in (-1, -2))
    more, cells = counts > 1.0, np.zeros(counts.shape)  # few in a large table: log 0! = log 1! = 0
    cells[more] = gammaln(counts[more] + 1.0)
    total = gammaln(counts.sum(axis=(-2, -1)) + 1.0)
    return np.asarray(ways - cells.sum(axis=(-2, -1)) - total)


def _tables(r: tuple[int, ...], c: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """All tables of counts with row sums r and column sums c."""
    if len(r) == 1:
        yield [c]
        return
    for row in _rows(r[0], c):
        left = tuple(total - cell for total, cell in zip(c, row, strict=True))
        for rest in _tables(r[1:], left):
            yield [row, *rest]


def _rows(total: int, most: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All rows of counts with this sum and at most `most` in each cell."""
    if len(most) == 1:
        yield (total,)
        return
    others = sum(most[1:])
    for cell in range(max(0, total - others), min(total, most[0]) + 1):
        for rest in _rows(total - cell, most[1:]):
            yield (cell, *rest)


def _centred(features: npt.ArrayLike, counts: Array) -> Array:
    """Features of outputs, centred at their mean over reports."""
    array = finite_array("features", features, 2)
    return np.asarray(array - (counts @ array) / counts.sum())


def _same_strata(x: Sequence[npt.ArrayLike], y: Sequence[npt.ArrayLike]) -> None:
    if len(x) != len(y):
        raise InvalidArgument("y", f"{len(y)} strata", f"must have {len(x)} strata, as the first")
