"""How often two grams are in one string: joint decoding of pairs of positions (FPE16 IV-A, 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.mechanisms.hashed.answer_hash import listed_cells
from ldpstats.mechanisms.hashed.candidates import CandidateMap
from ldpstats.mechanisms.lumped import lump
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.search.progress import Advance, between, counted, nested, silent
from ldpstats.models.dictionary.search.screening import ScreenedGrams
from ldpstats.problems.rows.other import rows_of_law
from ldpstats.problems.simplex import project_simplex, project_subsimplex
from ldpstats.reports.single import Counts, Reports

__all__ = ["PairTable", "pair_tables"]

Array = npt.NDArray[Any]

_OTHER = "every other gram of the position"  # longer than a gram can be, to be told from them
_CHUNK = 1 << 15  # reports whose likelihoods are formed at a time
_LISTED = 1 << 21  # scores that are looked up in a table (16 MB), at most
_RANK = 1e-10  # pivots of the scaled information below which grams are not told apart


@dataclass(frozen=True, eq=False)
class PairTable:
    """Joint frequencies of the kept grams of two positions.

    Parameters
    ----------
    estimate : array, shape (g_a, g_b)
        Frequencies with which the first position has gram s and the second gram t, unbiased but for
        terms of the order of 1/n; a gram that chance kept has a margin that is too large.
    se : array, shape (g_a, g_b)
        Their standard errors if the two grams were independent, where what the margins add to the
        noise is left out. That is the noise of a pair that no string has. Of a frequent pair it is
        too little: by a tenth to a fifth where mechanisms are noisy, by much where they are not.
    nobs : int
        Respondents with this pair of positions.
    """

    estimate: Array
    se: Array
    nobs: int


@dataclass(frozen=True, eq=False)
class _Variable:
    """A position as a variable: its kept grams and, last, all others if there are any.

    `rows` gives the likelihoods of reports, (n, g + 1), up to a factor each. Where the reports that
    there can be are few, `number` gives the place of reports among these l, `table` their scores,
    (l, g + 1), and `information` that of a report about the grams.
    """

    rows: Callable[[Reports], Array]
    reference: Array
    number: Callable[[Reports], Array] | None = None
    table: Array | None = None
    information: Array | None = None

    def scores(self, reports: Reports) -> Array:
        """Likelihood of each report under each gram over that at the reference, (n, g + 1)."""
        W = self.rows(reports)
        W /= (W @ self.reference)[:, None]
        return W


def pair_tables(
    reports: DictionaryReports, screened: Sequence[ScreenedGrams], advance: Advance = silent
) -> dict[tuple[int, int], PairTable]:
    """Joint frequencies of the kept grams for every pair of positions.

    Products of the scores of the two reports, at the marginal estimates, have the mean
    ``J_a P J_b`` whatever the joint distribution P is, with J the information of a report
    (the dual estimator of an association, fully efficient where P is near independence). Their
    covariance is taken over the respondents of the pair, the margins over all reports of a
    position; so is J, unless the reports are answers of a known channel. Where these are too few to
    tell the kept grams apart, the tables say so by standard errors that are infinite.
    """
    layout = reports.survey.layout
    variables = [
        _variable(reports, kept) if kept.grams.size else None
        for kept in counted(screened, between(advance, 0.0, 0.1))
    ]
    total = [_Sums.none(0 if v is None else v.reference.size) for v in variables]
    products = {}
    numbered = list(enumerate(layout.pairs))
    for (number, (a, b)), step in nested(numbered, between(advance, 0.1, 0.9)):
        both, sums = (variables[a], variables[b]), (total[a], total[b])
        products[a, b] = _products(reports, number, both, sums, step)
    inverses = [
        None if v is None else _inverse(v, sums) for v, sums in zip(variables, total, strict=True)
    ]
    tables = {}
    for a, b in counted(layout.pairs, between(advance, 0.9, 1.0)):
        n, cross = products[a, b]
        margins = screened[a].estimate, screened[b].estimate
        estimate, left, right = np.outer(*margins), inverses[a], inverses[b]
        se = np.full(estimate.shape, np.inf)
        if n and left is not None and right is not None:
            own = tuple(slice(margin.size) for margin in margins)
            estimate = estimate + (left @ cross @ right)[own]
            variances = [_variances(J)[s] for J, s in zip((left, right), own, strict=True)]
            se = np.sqrt(np.outer(*variances) / n)
        tables[a, b] = PairTable(estimate, se, n)
    return tables


@dataclass(eq=False)
class _Sums:
    """Sums of the outer products of scores over the reports of a position."""

    n: int
    products: Array

    @classmethod
    def none(cls, size: int) -> _Sums:
        return cls(0, np.zeros((size, size)))


def _products(
    reports: DictionaryReports,
    number: int,
    variables: tuple[_Variable | None, _Variable | None],
    totals: tuple[_Sums, _Sums],
    advance: Advance,
) -> tuple[int, Array]:
    """Respondents of a pair, and the covariance of their scores; adds to the sums of positions."""
    (first, second), (left, right) = variables, totals
    parts = reports.at_pair(number)
    n = len(parts[0])
    if first is None or second is None:
        return n, np.empty(0)
    if first.table is not None and second.table is not None:
        return n, _listed_covariance(first, second, parts) if n else np.empty(0)
    cross = np.zeros((left.products.shape[0], right.products.shape[0]))
    means = np.zeros(left.products.shape[0]), np.zeros(right.products.shape[0])
    for start in range(0, n, _CHUNK):
        A = first.scores(_rows(parts[0], start, start + _CHUNK))
        B = second.scores(_rows(parts[1], start, start + _CHUNK))
        cross += A.T @ B
        for sums, mean, X in ((left, means[0], A), (right, means[1], B)):
            mean += X.sum(axis=0)
            sums.products += X.T @ X
            sums.n += len(X)
        advance(min(start + _CHUNK, n) / n)
    if n:
        cross = cross / n - np.outer(means[0] / n, means[1] / n)
    return n, cross


def _listed_covariance(
    first: _Variable, second: _Variable, parts: tuple[Reports, Reports]
) -> Array:
    """Covariance of scores that are looked up: reports that are alike count together."""
    from scipy.sparse import csr_array

    A, B, n = first.table, second.table, len(parts[0])
    assert A is not None and B is not None and first.number and second.number
    i, j = first.number(parts[0]), second.number(parts[1])
    both = csr_array((np.ones(n), (i, j)), shape=(len(A), len(B)))
    means = np.bincount(i, minlength=len(A)) @ A / n, np.bincount(j, minlength=len(B)) @ B / n
    return np.asarray(A.T @ (both @ B) / n - np.outer(*means))


def _rows(reports: Reports, start: int, stop: int) -> Reports:
    cohort = None if reports.cohort is None else reports.cohort[start:stop]
    return Reports(reports.y[start:stop], reports.mechanism, 0, cohort)


def _inverse(variable: _Variable, sums: _Sums) -> Array | None:
    """Inverse of the information of a report about a position; None where there is none."""
    if variable.information is not None:
        J = variable.information
    elif sums.n:
        J = sums.products / sums.n
    else:
        return None
    root = 1.0 / np.sqrt(np.diag(J))
    try:
        factor = np.linalg.cholesky(root[:, None] * J * root)
    except np.linalg.LinAlgError:
        return None
    if np.diag(factor).min() ** 2 < _RANK:
        return None
    half = np.linalg.inv(factor) * root
    return np.asarray(half.T @ half)


def _variances(inverse: Array) -> Array:
    """Variances, for one report, of the frequencies of grams, which sum to one."""
    mean = inverse.sum(axis=1)  # the reference, where the information is exact
    return np.asarray(np.maximum(np.diag(inverse) - mean**2 / mean.sum(), 0.0))


def _variable(reports: DictionaryReports, kept: ScreenedGrams) -> _Variable:
    """How the reports of a position tell its kept grams apart, and from all others."""
    mechanism: Any = reports.survey.gram_mechanism
    grams = kept.grams.tolist()
    if not mechanism.is_open and len(grams) == mechanism.k:  # there are no others
        p = project_simplex(kept.estimate)
        return _listed(mechanism, grams, p, lambda part: part)
    p = project_subsimplex(kept.estimate)
    # noise may leave nothing for the others: about a standard error
    p = p * min(1.0, (1.0 - max(kept.nobs, 2) ** -0.5) / max(float(p.sum()), 1e-9))
    reference = np.append(p, 1.0 - p.sum())
    if mechanism.n_cohorts:
        return _hashed(mechanism, grams, reference)
    lumped = lump(_rows(reports.first, 0, 0), grams, _OTHER).mechanism
    return _listed(lumped, [*grams, _OTHER], reference, lambda part: lump(part, grams, _OTHER))


def _listed(
    mechanism: Mechanism, labels: list[str], p: Array, seen: Callable[[Reports], Reports]
) -> _Variable:
    """A variable whose categories are all known, once the reports are `seen` as those of them."""
    order = mechanism.categories.get_indexer(pd.Index(labels, dtype=object))

    def rows(part: Reports) -> Array:
        counts = Counts(seen(part).y, np.ones(len(part), dtype=np.int64), mechanism)
        return np.asarray(mechanism.likelihood(counts).W.take(0, len(part))[:, order])

    if not isinstance(mechanism, Enumerated):
        return _Variable(rows, p)
    Q = mechanism.channel().matrix()[order]
    mixed = p @ Q
    scores = np.divide(Q, mixed, out=np.zeros(Q.shape), where=mixed > 0.0)
    return _Variable(rows, p, lambda part: seen(part).y.astype(np.int64), scores.T, scores @ Q.T)


def _hashed(mechanism: Any, grams: list[str], reference: Array) -> _Variable:
    """A variable of hashed grams: the others, none of which is frequent, hash anywhere.

    What the reports say of the law of the others would be noise of the same reports, mostly.
    """
    seen: Any = mechanism
    candidates: Any = grams
    if not mechanism.is_open:  # seen as open, with the cells that permutations gave
        at = mechanism.categories.get_indexer(pd.Index(grams, dtype=object))
        candidates = CandidateMap(grams, listed_cells(mechanism.cells()[:, at], mechanism.n_cells))
        seen = replace(mechanism, alphabet=None)
    m = mechanism.n_cells
    even = np.full((mechanism.n_cohorts, m), mechanism.cell_law.mean)

    def rows(part: Reports) -> Array:
        own = Counts(part.y, np.ones(len(part), dtype=np.int64), seen, cohort=part.cohort)
        W = seen.likelihood(own, candidates).W.take(0, len(part))
        return np.column_stack([W, rows_of_law(even, own)])

    if mechanism.n_bits or even.size * reference.size > _LISTED:
        return _Variable(rows, reference)
    cohort, y = np.divmod(np.arange(even.size), m)
    W = rows(Reports(y, mechanism, 0, cohort))
    table = W / (W @ reference)[:, None]
    J = table.T @ W / mechanism.n_cohorts
    return _Variable(rows, reference, lambda part: part.cohort * m + part.y, table, J)


def position_counts(reports: DictionaryReports, position: int) -> Counts:
    """Counts of the reports of the grams at a position."""
    pairs = np.array(reports.survey.layout.pairs)
    counts: Counts = reports.survey.gram_mechanism.no_counts()
    for side, part in enumerate((reports.first, reports.second)):
        here = np.flatnonzero(pairs[reports.pair, side] == position)
        cohort = None if part.cohort is None else part.cohort[here]
        counts = counts + Reports(part.y[here], part.mechanism, 0, cohort).tally()
    return counts
