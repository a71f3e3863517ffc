"""How often two grams are in one string: joint decoding of pairs of positions (FPE16 IV-A, 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.dictionary_reports import DictionaryReports
from ldpstats.discovery.screening import ScreenedGrams
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.lumped import lump
from ldpstats.other import other_law, rows_of_law
from ldpstats.reports import Counts, Reports
from ldpstats.simplex import project_subsimplex

__all__ = ["PairTable", "pair_tables"]

Array = npt.NDArray[Any]

_OTHER = "every other gram of the position"  # longer than a gram can be, to be told from them
_CHUNK = 1 << 15  # reports whose likelihoods are formed at a time


@dataclass(frozen=True, eq=False)
class PairTable:
    """Joint frequencies of the kept grams of two positions.

    Parameters
    ----------
    estimate : array, shape (g_a, g_b)
        Unbiased frequencies with which the first position has gram s and the second gram t.
    se : array, shape (g_a, g_b)
        Their standard errors if the two grams were independent, where what the margins add to the
        noise is left out.
    nobs : int
        Respondents with this pair of positions.
    """

    estimate: Array
    se: Array
    nobs: int


@dataclass(frozen=True, eq=False)
class _Variable:
    """A position as a variable: its kept grams and, last, all others."""

    mechanism: Mechanism
    grams: Array
    reference: Array
    law: Array | None

    def scores(self, reports: Reports) -> Array:
        """Likelihood of each report under each gram over that at the reference, (n, g + 1)."""
        W = _likelihoods(self, reports)
        return np.asarray(W / (W @ self.reference)[:, None])


def pair_tables(
    reports: DictionaryReports, screened: Sequence[ScreenedGrams]
) -> dict[tuple[int, int], PairTable]:
    """Joint frequencies of the kept grams for every pair of positions.

    Products of the scores of the two reports, at the marginal estimates, have the mean
    ``J_a P J_b`` whatever the joint distribution P is, with J the information of a report
    (the dual estimator of an association, fully efficient where P is near independence). Their
    covariance is taken over the respondents of the pair, the margins and J over all reports of a
    position.

    Parameters
    ----------
    reports : DictionaryReports
    screened : sequence of K ScreenedGrams

    Returns
    -------
    dict
        From pairs of positions to tables.

    Raises
    ------
    NotIdentified
        Where the reports cannot tell the kept grams of a position apart.
    """
    layout = reports.survey.layout
    variables = [
        _variable(reports, a, kept) if kept.grams.size else None for a, kept in enumerate(screened)
    ]
    total = [_Sums.none(kept.grams.size + 1) for kept in screened]
    products = {}
    for number, (a, b) in enumerate(layout.pairs):
        products[a, b] = _products(reports, number, variables[a], variables[b], total[a], total[b])
    inverses = [
        None if v is None else _inverse(sums, a)
        for a, (v, sums) in enumerate(zip(variables, total, strict=True))
    ]
    tables = {}
    for a, b in layout.pairs:
        n, cross = products[a, b]
        size = screened[a].grams.size, screened[b].grams.size
        if not n or inverses[a] is None or inverses[b] is None:
            tables[a, b] = PairTable(np.zeros(size), np.full(size, np.inf), n)
            continue
        left, right = inverses[a], inverses[b]
        covariance = (left @ cross @ right)[:-1, :-1]
        margins = screened[a].estimate, screened[b].estimate
        variances = [
            np.diag(inverse)[:-1] - np.clip(margin, 0.0, 1.0) ** 2
            for inverse, margin in zip((left, right), margins, strict=True)
        ]
        estimate = np.outer(*margins) + covariance
        tables[a, b] = PairTable(estimate, np.sqrt(np.outer(*variances) / n), n)
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
    first: _Variable | None,
    second: _Variable | None,
    left: _Sums,
    right: _Sums,
) -> tuple[int, Array]:
    """Respondents of a pair, and the covariance of their scores; adds to the sums of positions."""
    parts = reports.at_pair(number)
    n = len(parts[0])
    if first is None or second is None:
        return n, np.empty(0)
    cross = np.zeros((left.products.shape[0], right.products.shape[0]))
    means = np.zeros(left.products.shape[0]), np.zeros(right.products.shape[0])
    for start in range(0, n, _CHUNK):
        A = first.scores(_rows(parts[0], start, start + _CHUNK))
        B = second.scores(_rows(parts[1], start, start + _CHUNK))
        cross += A.T @ B
        for sums, mean, X in ((left, means[0], A), (right, means[1], B)):
            sums.products += X.T @ X
            sums.n += len(X)
            mean += X.sum(axis=0)
    if n:
        cross = cross / n - np.outer(means[0] / n, means[1] / n)
    return n, cross


def _rows(reports: Reports, start: int, stop: int) -> Reports:
    cohort = None if reports.cohort is None else reports.cohort[start:stop]
    return Reports(reports.y[start:stop], reports.mechanism, 0, cohort)


def _inverse(sums: _Sums, position: int) -> Array:
    """Inverse of the information of a report about the grams of a position."""
    J = sums.products / sums.n
    try:
        factor = np.linalg.cholesky(J)
    except np.linalg.LinAlgError:
        raise NotIdentified(
            f"the reports cannot tell apart the {J.shape[0] - 1} grams that were kept at position "
            f"{position}: keep fewer (false_grams=), or collect with more cohorts or bits"
        ) from None
    half = np.linalg.inv(factor)
    return np.asarray(half.T @ half)


def _variable(reports: DictionaryReports, position: int, kept: ScreenedGrams) -> _Variable:
    mechanism: Any = reports.survey.gram_mechanism
    p = project_subsimplex(kept.estimate)
    # noise may leave nothing for the others, whose law is then unknown: about a standard error
    p = p * min(1.0, (1.0 - max(kept.nobs, 2) ** -0.5) / max(float(p.sum()), 1e-9))
    law = None
    if mechanism.is_open:
        counts = position_counts(reports, position)
        law = other_law(counts, kept.grams.tolist(), p)
    elif kept.grams.size == mechanism.k:
        raise NotAvailable("every gram was kept at a position: choose a smaller false_grams")
    return _Variable(mechanism, kept.grams, np.append(p, 1.0 - p.sum()), law)


def position_counts(reports: DictionaryReports, position: int) -> Counts:
    """Counts of the reports of the grams at a position."""
    pairs = np.array(reports.survey.layout.pairs)
    counts: Counts = reports.survey.gram_mechanism.no_counts()
    for side, part in enumerate((reports.first, reports.second)):
        here = np.flatnonzero(pairs[reports.pair, side] == position)
        cohort = None if part.cohort is None else part.cohort[here]
        counts = counts + Reports(part.y[here], part.mechanism, 0, cohort).tally()
    return counts


def _likelihoods(variable: _Variable, reports: Reports) -> Array:
    """Likelihoods of reports under the kept grams and the others, (n, g + 1)."""
    mechanism: Any = variable.mechanism
    n, size = len(reports), variable.grams.size
    if mechanism.is_open:
        ones = np.ones(n, dtype=np.int64)
        counts = Counts(reports.y, ones, mechanism, cohort=reports.cohort)
        W = mechanism.likelihood(counts, variable.grams.tolist()).W.take(0, n)
        assert variable.law is not None
        return np.column_stack([W, rows_of_law(variable.law, reports)])
    lumped = lump(reports, variable.grams.tolist(), _OTHER)
    whole = Counts(lumped.y, np.ones(n, dtype=np.int64), lumped.mechanism)
    W = lumped.mechanism.likelihood(whole).W.take(0, n)
    order = lumped.mechanism.categories.get_indexer([*variable.grams.tolist(), _OTHER])
    assert order.size == size + 1
    return np.asarray(W[:, order])
