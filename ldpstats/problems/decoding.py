"""What single reports say of the true category: the basis of every weighted estimate.

The decoded report phi of a respondent is unbiased for the indicator of her true category. Weighted
totals of phi are then unbiased for the weighted totals of the truth, whatever the weights, and what
her randomisation adds to their variance is the covariance C_x of phi given her category x, which is
known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.problems.equations import Equations
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.joint.features import indicators, linear_features, single_estimates
from ldpstats.reports.single import Counts, Reports

__all__ = [
    "CohortDecoding",
    "Decoding",
    "GroupedDecoding",
    "LinearDecoding",
    "decode",
    "distinct_reports",
    "each_once",
]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_LISTED = 1 << 16  # numbers that keys may have, up to which they are counted and not sorted
_ROUNDING = 1e-14  # of a covariance, of which those of the truth were taken away
_KEY = 8  # bytes of packed reports up to which equal ones are merged


@dataclass(frozen=True, eq=False)
class Decoding(ABC):
    """The reports of one variable, each decoded.

    Parameters
    ----------
    phi : array, shape (u, k)
        The estimate that each distinct report is on its own.
    place : array of int64, shape (n,)
        Row of `phi` of each report.
    """

    phi: Array
    place: Codes

    @property
    def k(self) -> int:
        """Number of categories, or of candidates."""
        return int(self.phi.shape[1])

    @property
    def is_fixed(self) -> bool:
        """Whether `phi` is the same in every domain, as it does not depend on the weights."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether other answers than the listed ones are possible."""
        return False

    @property
    def laws(self) -> tuple[tuple[Codes | slice, Decoding], ...]:
        """The distinct reports whose randomisation has one law: their rows of `phi`, and it.

        `noise` of each holds for respondents with these reports; that of the whole holds for all
        respondents together.
        """
        return ((slice(None), self),)

    @abstractmethod
    def noise_at(self, q: Array) -> Array:
        """``sum_x q_x C_x``, (k, k), for shares q >= 0 of the categories, shape (k,).

        Where the list is open, what is missing to a sum of one are shares of other answers.
        """

    def noise(self, t: Array, total: float | None = None) -> Array:
        """``sum_x t_x C_x``, shape (k, k): the randomisation covariance of weighted categories.

        With t the sum of ``v_i phi_i`` this is the unbiased estimate of what the randomisation adds
        to the variance of a total whose squared weights are v_i.

        Parameters
        ----------
        t : array, shape (k,)
            Of any sign.
        total : float, optional
            The sum of the v_i, of use where other answers than those listed are possible: their
            share is what t lacks of it. By default nobody gave another answer.
        """
        rest = total - float(np.sum(t)) if self.is_open and total is not None else 0.0
        every, found = np.append(t, rest), np.zeros((self.k, self.k))
        for sign in (1.0, -1.0):
            part = np.maximum(sign * every, 0.0)
            size = float(part.sum())
            if size > 0.0:
                found += sign * size * self.noise_at(part[:-1] / size)
        return found


@dataclass(frozen=True, eq=False)
class LinearDecoding(Decoding):
    """Reports that all obey the same equations, ``phi = G (t - offset)``."""

    equations: Equations

    def noise_at(self, q: Array) -> Array:
        # the covariance of phi is that of the truth, diag(q) - q q', and the noise
        whole = self.equations.covariance(q).matrix() * self.equations.nobs
        found = whole - np.diag(q) + np.outer(q, q)
        # without noise only rounding is left, which may be negative
        return np.where(np.abs(found) <= _ROUNDING * np.abs(whole).max(initial=0.0), 0.0, found)


@dataclass(frozen=True, eq=False)
class CohortDecoding(Decoding):
    """Hashed reports, whose equations ``E[b] = offset + A_c p`` differ by cohort.

    One cohort does not determine p, so that single reports are decoded around the weighted estimate
    of all, ``phi_i = p + M^-1 A_c' D (b_i - offset - A_c p)`` with D the precision of the equations
    and M the weighted mean of ``A_c' D A_c``. Their weighted mean is p, by weighted least squares,
    and phi - p is its linearised score. Both are those of the domain that the weights are of.
    """

    distinct: Reports
    moments: CohortMoments
    p: Array

    @property
    def is_fixed(self) -> bool:
        return False

    @property
    def is_open(self) -> bool:
        return self.moments.is_open

    def noise_at(self, q: Array) -> Array:
        source, p, W = self.moments.sources[0], self.p, self.moments.sources[0].reports
        inverse = self.moments.inverse * W.sum()
        off = source.design.by_cohort(source.precision * source.design.times(q - p))
        # noise_weights are D^2 times the weight of each cohort
        squares = source.noise.spread(source, q) + (off.T * W) @ off
        truth = np.diag(q) - np.outer(q, p) - np.outer(p, q) + q.sum() * np.outer(p, p)
        rest = (1.0 - q.sum()) * np.outer(p, p)
        return np.asarray(inverse @ (squares / W.sum()) @ inverse - truth - rest)


@dataclass(frozen=True, eq=False)
class GroupedDecoding(Decoding):
    """Reports of a device of cohorts, each decoded by the device of the respondent's own cohort.

    `shares` are the weighted shares of the cohorts, of use for the noise of all together; how many
    respondents a cohort has says nothing of their answers.
    """

    parts: tuple[tuple[Codes, Decoding], ...]
    shares: Array

    @property
    def is_fixed(self) -> bool:
        return False  # the shares are those of the domain

    @property
    def laws(self) -> tuple[tuple[Codes | slice, Decoding], ...]:
        return self.parts

    def noise_at(self, q: Array) -> Array:
        found = zip(self.shares, self.parts, strict=True)
        return np.asarray(sum(share * one.noise_at(q) for share, (_, one) in found))


@dataclass(frozen=True, eq=False)
class PooledDecoding(Decoding):
    """Reports of a device of cohorts of which one alone does not determine the frequencies.

    As hashed ones they are decoded around the weighted estimate p of all,
    ``phi = p + M^-1 (L_c[:, y] - L_c Q_c' p)`` with L_c the channel Q_c of cohort c over the law of
    its reports at the uniform p, and M the weighted mean of ``L_c Q_c'``. The weighted mean of phi
    is p.

    Parameters
    ----------
    p : array, shape (k,)
    Q : array, shape (k, l)
        The probabilities of all reports of the cohorts, times the weighted share of each cohort.
    off : array, shape (l, k)
        The phi of each less p.
    """

    p: Array
    Q: Array
    off: Array

    @property
    def is_fixed(self) -> bool:
        return False

    def noise_at(self, q: Array) -> Array:
        truth = np.diag(q) - np.outer(q, self.p) - np.outer(self.p, q)
        truth += q.sum() * np.outer(self.p, self.p)
        return np.asarray((self.off.T * (q @ self.Q)) @ self.off - truth)


def decode(reports: Reports, weights: Array | None = None, candidates: Any = None) -> Decoding:
    """Decode reports of one mechanism.

    Parameters
    ----------
    reports : Reports
        Of n respondents, or of n groups of respondents with equal reports.
    weights : array, shape (n,), optional
        Weight of each, zero outside the domain; they matter for hashed reports only, see
        `CohortDecoding`. All alike by default.
    candidates : sequence of str, optional
        Where any string is an answer.

    Raises
    ------
    NotIdentified
        If the reports do not determine the frequencies.
    """
    distinct, place = distinct_reports(reports)
    given = np.ones(len(reports)) if weights is None else weights
    if reports.mechanism.cohort_parts:
        return _by_cohort(distinct, place, np.bincount(place, given, len(distinct)))
    moments = reports.mechanism.moments(each_once(distinct), candidates)
    if not isinstance(moments, CohortMoments):
        return LinearDecoding(single_estimates(distinct, moments), place, moments)
    return _decoded(distinct, place, moments, np.bincount(place, given, len(distinct)))


def each_once(distinct: Reports) -> Counts:
    """Counts of one of each, whose equations are those of any reports."""
    n = np.ones(len(distinct), dtype=np.int64)
    return Counts(distinct.y, n, distinct.mechanism, cohort=distinct.cohort)


def _by_cohort(distinct: Reports, place: Codes, weights: Array) -> Decoding:
    """Decoded reports of a device of cohorts, from the weights of the distinct ones, (u,)."""
    mechanism = distinct.mechanism
    mechanism.moments(each_once(distinct))  # refuses reports that no cohort can make
    shares, parts = np.zeros(len(mechanism.cohort_parts)), []
    for c, part in enumerate(mechanism.cohort_parts):
        code = np.full(mechanism.n_outputs, -1)
        code[part.places] = np.arange(part.places.size)
        rows = np.flatnonzero(code[distinct.y] >= 0)
        shares[c] = weights[rows].sum() / weights.sum()
        if rows.size:
            parts.append((rows, Reports(code[distinct.y[rows]], part.mechanism)))
    try:
        decoded = tuple((rows, decode(own)) for rows, own in parts)
    except NotIdentified:
        return _pooled(distinct, place, shares, weights)
    phi = np.empty((len(distinct), mechanism.k))
    for rows, one in decoded:
        phi[rows] = one.phi[one.place]
    return GroupedDecoding(phi, place, decoded, shares[shares > 0.0])


def _pooled(distinct: Reports, place: Codes, shares: Array, weights: Array) -> PooledDecoding:
    """`PooledDecoding` from the weighted shares of all cohorts."""
    mechanism, k = distinct.mechanism, distinct.mechanism.k
    Q, L = np.zeros((2, k, mechanism.n_outputs))
    M, B = np.zeros((k, k)), []
    for share, part in zip(shares, mechanism.cohort_parts, strict=True):
        own = np.asarray(part.mechanism.channel().matrix())
        Q[:, part.places] = share * own
        L[:, part.places] = own / own.mean(axis=0)
        B.append(L[:, part.places] @ own.T)
        M += share * B[-1]
    if np.linalg.matrix_rank(M, hermitian=True) < k:
        raise NotIdentified(
            f"the cohorts with reports do not determine the {k} frequencies together: collect "
            "reports of more cohorts, or merge categories that give the same reports"
        )
    inverse = np.linalg.inv(M)
    t = np.bincount(distinct.y, weights, mechanism.n_outputs) / weights.sum()
    p = inverse @ (L @ t)
    for part, own in zip(mechanism.cohort_parts, B, strict=True):
        L[:, part.places] -= (own @ p)[:, None]
    off = L.T @ inverse
    return PooledDecoding(p + off[distinct.y], place, p, Q, off)


def _decoded(
    distinct: Reports, place: Codes, moments: CohortMoments, weights: Array
) -> CohortDecoding:
    """`CohortDecoding` from the weights of the distinct reports, (u,)."""
    weighted = replace(moments, sources=(_weighted(distinct, moments.sources[0], weights),))
    source, p = weighted.sources[0], weighted.estimate()[0]
    mean = source.design.by_cohort(source.precision * source.design.times(p))
    scores = linear_features(distinct, weighted).values - mean[distinct.cohort]
    phi = p + scores @ (weighted.inverse * weights.sum())
    return CohortDecoding(phi, place, distinct, weighted, p)


def _weighted(distinct: Reports, source: CohortSource, weights: Array) -> CohortSource:
    """The equations of weighted frequencies, whose cohorts count by their weights."""
    C, m, cohort = source.design.n_cohorts, source.design.n_cells, distinct.cohort
    assert cohort is not None
    ones = np.zeros((C, m))
    for c in np.unique(cohort):
        here = np.flatnonzero(cohort == c)
        ones[c] = weights[here] @ indicators(distinct[here])
    return replace(source, ones=ones, reports=np.bincount(cohort, weights, C))


def distinct_reports(reports: Reports) -> tuple[Reports, Codes]:
    """The distinct reports, one cohort after the other, and which of them each report is, (n,).

    Patterns of more than 64 bits hardly ever repeat and are not merged.
    """
    y, keys = reports.y, np.arange(len(reports))
    if y.ndim == 1:
        keys = y.astype(np.int64)
    elif y.shape[1] <= _KEY:
        words = np.zeros((len(y), _KEY), dtype=np.uint8)
        words[:, : y.shape[1]] = y
        keys = words.view(np.int64)[:, 0]
    if reports.cohort is not None:
        if y.ndim > 1:  # number the patterns first
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        keys = reports.cohort * (keys.max(initial=0) + 1) + keys
    first, place = _first_of_each(keys)
    return replace(reports[first], ids=None), place


def _first_of_each(keys: Codes) -> tuple[Codes, Codes]:
    """Where each distinct key is first, in ascending order, and its number for each key."""
    size = int(keys.max(initial=-1)) + 1
    if keys.min(initial=0) < 0 or size > max(_LISTED, 4 * keys.size):
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        return first, place.astype(np.int64)
    at = np.full(size, -1)  # by counting, which is quicker than sorting
    at[keys[::-1]] = np.arange(keys.size)[::-1]
    there = at >= 0
    return at[there], (np.cumsum(there) - 1)[keys]
