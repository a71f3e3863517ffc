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

from ldpstats.problems.equations import Equations
from ldpstats.problems.hashed.cohorts import CohortSource
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.joint.features import indicators, linear_features, single_estimates
from ldpstats.reports.single import Counts, Reports

__all__ = [
    "CohortDecoding",
    "Decoding",
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
    moments = reports.mechanism.moments(each_once(distinct), candidates)
    if not isinstance(moments, CohortMoments):
        return LinearDecoding(single_estimates(distinct, moments), place, moments)
    given = np.ones(len(reports)) if weights is None else weights
    return _decoded(distinct, place, moments, np.bincount(place, given, len(distinct)))


def each_once(distinct: Reports) -> Counts:
    """Counts of one of each, whose equations are those of any reports."""
    n = np.ones(len(distinct), dtype=np.int64)
    return Counts(distinct.y, n, distinct.mechanism, cohort=distinct.cohort)


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
