"""Features of the single reports of one variable whose mean, given its true category, is known.

A feature map turns a report y of variable v into a vector a_v(y) with
``E[a_v | X_v = i] = R_v[:, i]``, its response. Two maps matter: the linear estimate of a single
report, below, and the likelihood of a report relative to a reference distribution (the dual of the
likelihood), in `ldpstats.models.association.groups.Scores`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.equations import Equations
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.reports.single import Counts, Reports

__all__ = ["FeatureMap", "indicators", "linear_features", "single_estimates"]

Array = npt.NDArray[Any]

_CHUNK = 1 << 16  # reports whose bits are unpacked at a time
_LARGE = 1 << 23  # features from which single precision keeps memory in bounds


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features of one variable's reports.

    Parameters
    ----------
    values : array, shape (u, f)
        Features of the distinct reports.
    response : callable
        Takes the shares of the cohorts, shape (C,), or None where there are none, and returns the
        mean of the features given the true category, shape (f, k).
    """

    values: Array
    response: Callable[[Array | None], Array]

    def first(self, k: int) -> FeatureMap:
        """The features of the first k categories, which say nothing of the others."""
        if self.values.shape[1] == k:
            return self
        return FeatureMap(self.values[:, :k], lambda shares: self.response(shares)[:k, :k])


def linear_features(
    counts: Counts | Reports, moments: Equations | CohortMoments, rest: bool = False
) -> FeatureMap:
    """The linear estimate of each single report, times its precision."""
    if isinstance(moments, CohortMoments):  # one design a cohort, not one for all reports
        found = _cohort_features(counts, moments)
        return _with_rest(found) if rest else found
    k = moments.k
    # the precision matters only where groups of mechanisms are averaged
    precision = float(np.mean(moments.weights)) / moments.nobs
    if not moments.is_dense:
        precision *= float(np.mean(np.square(moments.A)))
    values = single_estimates(counts, moments)
    return FeatureMap(values * precision, lambda shares: precision * np.eye(k))


def single_estimates(counts: Counts | Reports, moments: Equations) -> Array:
    """The linear estimate of each single report, ``G (t - offset)``, shape (u, k).

    Given the true category its mean is the indicator of that.
    """
    G = moments.inverse
    reports, offset = indicators(counts), np.asarray(moments.offset, dtype=np.float64)
    if reports.shape[1] > moments.t.size:  # labels that no category ever reports have no equation
        reports = reports[:, counts.mechanism.channel().matrix().any(axis=0)]
    if reports.shape[1] < moments.t.size:  # the last equation says that frequencies sum to one
        reports = np.column_stack([reports, np.ones(len(reports))])
    moved = reports - offset
    return np.asarray(moved * G if np.ndim(G) < 2 else moved @ np.asarray(G).T)


def indicators(counts: Counts | Reports) -> Array:
    """Reports as rows of zeros and ones: their bits, or a one at their label.

    Where equations are of other features of the labels, those.
    """
    mechanism = counts.mechanism
    features = mechanism.format.features(counts.y)
    if features is not None:
        return np.asarray(features)
    if mechanism.n_bits:
        bits = mechanism.format.unpack(counts.y)
        return np.asarray(bits, dtype=np.float32 if bits.size > _LARGE else np.float64)
    out = np.zeros((counts.y.size, mechanism.n_outputs))
    out[np.arange(counts.y.size), counts.y] = 1.0
    return out


def _cohort_features(counts: Counts | Reports, moments: CohortMoments) -> FeatureMap:
    """A_c'(t - offset) of each report t, with A_c the equations of its cohort c."""
    source = moments.sources[0]
    design, offset, cohort = source.design, source.offset, counts.cohort
    assert cohort is not None
    S = design.shape[1]
    values = np.empty((len(cohort), S), np.float32 if len(cohort) * S > _LARGE else np.float64)
    order = np.argsort(cohort, kind="stable")
    ends = np.searchsorted(cohort[order], np.arange(design.n_cohorts + 1))
    for c in np.flatnonzero(np.diff(ends)):
        A = source.precision * design.block(int(c))
        level = offset * A.sum(axis=0)
        for start in range(ends[c], ends[c + 1], _CHUNK):
            rows = order[start : min(start + _CHUNK, ends[c + 1])]
            values[rows] = _cells(counts, rows, A) - level

    def response(shares: Array | None) -> Array:
        assert shares is not None
        blocks = ((shares[c], design.block(int(c))) for c in np.flatnonzero(shares))
        return np.asarray(sum(source.precision * share * (A.T @ A) for share, A in blocks))

    return FeatureMap(values, response)


def _cells(counts: Counts | Reports, rows: Array, A: Array) -> Array:
    """A' t of the reports in these rows."""
    if not counts.mechanism.n_bits:
        return np.asarray(A[counts.y[rows]])
    bits = np.unpackbits(counts.y[rows], axis=1, count=len(A), bitorder="little")
    return np.asarray(bits.astype(np.float64) @ A)


def _with_rest(found: FeatureMap) -> FeatureMap:
    """Features with a constant more, which every answer has, and a category that has only that."""
    values = np.column_stack([found.values, np.ones(len(found.values), found.values.dtype)])

    def response(shares: Array | None) -> Array:
        padded = np.pad(found.response(shares), ((0, 1), (0, 1)))
        padded[-1] = 1.0
        return padded

    return FeatureMap(values, response)
