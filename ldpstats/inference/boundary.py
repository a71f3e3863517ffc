"""At the boundary of the simplex, and with few reports, where chi-square and normal laws fail.

First intervals intersected with [0, 1], with CLs limits where they lie outside. Then chi-square
statistics of few reports, whose law is that of a quadratic form with known moments: the statistic
is the squared norm of a sum of coordinates, one vector a report. With many reports its law is
chi-square; with few, or few that tell of a rare category, it has larger variance and skewness: a
report with an expected count of c adds 1/c to the fourth cumulant. Where the law of a report is
known, so are the moments of the statistic, for any number of reports. With S the covariance of the
sum, k3, k4 and k6 its cumulants contracted over pairs of indices, and v the third cumulants
contracted over one pair, the mean is tr S, the variance ``2 tr S^2 + k4`` and the third cumulant
``8 tr S^3 + 12 tr(k4 S) + 6 |v|^2 + 4 |k3|^2 + k6``; cumulants add up over reports. The tail is
that of Pearson's type III law, as for permutations (`inference.tables.permutation`).

References
----------
Haldane (1937), Biometrika 29, 133-143, for Pearson's statistic. McCullagh (1987), Tensor Methods
in Statistics, chapter 3, for cumulants of polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.binomial import checked_tallies
from ldpstats.inference.tables.permutation import Cumulants, Spread, blocks_of
from ldpstats.inference.tails import bisected, chi2_pvalue

__all__ = [
    "ReportSums",
    "clip_unit",
    "edge_binomial",
    "edge_normal",
    "edge_range",
    "form_cumulants",
    "is_feasible",
]


Array = npt.NDArray[np.float64]

_STEPS = 55  # of bisection: to 3e-17 of the width at the start


def clip_unit(interval: npt.ArrayLike) -> Array:
    """Intersect intervals with [0, 1]; an empty intersection becomes [0, 0] or [1, 1].

    The intersection does not change the coverage of p in [0, 1], but an interval entirely outside
    becomes the nearest end, which adds coverage at p = 0 or 1.

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends.

    Returns
    -------
    ndarray, shape (..., 2)

    Raises
    ------
    InvalidArgument
        If an end is NaN or low exceeds high.

    Examples
    --------
    >>> clip_unit([[-0.1, 0.2], [-0.3, -0.1], [0.9, 1.4]])
    array([[0. , 0.2],
           [0. , 0. ],
           [0.9, 1. ]])
    """
    ends = np.asarray(interval, dtype=np.float64)
    if ends.shape[-1:] != (2,) or not np.all(ends[..., 0] <= ends[..., 1]):
        raise InvalidArgument("interval", ends, "must have low <= high along a last axis of 2")
    return np.clip(ends, 0.0, 1.0)


def edge_normal(
    interval: npt.ArrayLike, estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05
) -> Array:
    """Intersect intervals with [0, 1]; an interval outside gets a CLs limit.

    An estimate far below zero does not show that the frequency is zero. The upper limit of its
    interval is the frequency v at which so low an estimate is alpha/2 times as probable as at zero,
    ``P_v(X <= x) = alpha/2 P_0(X <= x)``; likewise above one (the CLs method of particle physics).

    Parameters
    ----------
    interval : array_like, shape (..., 2)
        Low and high ends, not clipped.
    estimate, se : array_like, shape (...)
        Estimates and their standard errors, > 0 if the interval lies outside.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., 2)

    Raises
    ------
    InvalidArgument
        As for `clip_unit`.

    References
    ----------
    Read, A. L. (2002), Journal of Physics G 28, 2693-2704.

    Examples
    --------
    >>> edge_normal([[-0.1, 0.2], [-0.39, -0.01]], [0.05, -0.2], [0.075, 0.1]).round(3)
    array([[0.   , 0.2  ],
           [0.   , 0.125]])
    """
    from scipy.special import log_ndtr, ndtri_exp

    ends, log_half = clip_unit(interval), np.log(level(alpha) / 2)
    x, s = np.broadcast_arrays(
        np.asarray(estimate, dtype=np.float64), np.asarray(se, dtype=np.float64)
    )
    for side, beyond, sign in _outside(interval):
        at = beyond & (s > 0)
        reach = (x[at] - (1 - side)) * sign / s[at]  # standard errors beyond the edge
        move = s[at] * (-reach - ndtri_exp(log_half + log_ndtr(-reach)))
        inward = np.minimum(move, 1.0)
        ends[at, side] = inward if side else 1.0 - inward
    return ends


def edge_range(
    interval: npt.ArrayLike,
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    reach: tuple[float, float],
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` for quantities that lie in `reach`, from the least to the most possible."""
    least, width = reach[0], reach[1] - reach[0]
    if width == 0.0:
        return np.full(np.shape(interval), least)
    ends, x = np.asarray(interval, dtype=np.float64), np.asarray(estimate, dtype=np.float64)
    scaled = (ends - least) / width
    cut = edge_normal(scaled, (x - least) / width, np.asarray(se) / width, alpha)
    return np.where(cut == scaled, ends, least + width * cut)  # what is inside stays as it is


def edge_binomial(
    interval: npt.ArrayLike,
    tally: npt.ArrayLike,
    nobs: npt.ArrayLike,
    offset: npt.ArrayLike = 0.0,
    scale: npt.ArrayLike = 1.0,
    alpha: float = 0.05,
) -> Array:
    """`edge_normal` for a tally that is Binomial(nobs, offset + scale p).

    Parameters
    ----------
    interval : array_like, shape (k, 2)
        Low and high ends, not clipped, from `exact_binomial` with the same arguments.
    tally, nobs, offset, scale, alpha
        As for `exact_binomial`.

    Examples
    --------
    >>> from ldpstats.inference.binomial import (exact_binomial)
    >>> uncut = exact_binomial([10], 100, 0.25, 0.5)   # [-0.402, -0.148]
    >>> edge_binomial(uncut, [10], 100, 0.25, 0.5).round(4)
    array([[0.    , 0.0835]])
    """
    ends, log_half = clip_unit(interval), np.log(level(alpha) / 2)
    t, n = checked_tallies(tally, nobs)
    base, slope = np.broadcast_arrays(
        np.asarray(offset, dtype=np.float64), np.asarray(scale, dtype=np.float64), t
    )[:2]
    for side, beyond, _ in _outside(interval):
        at = np.flatnonzero(beyond)
        if at.size:
            # a low estimate has a low tally, or a high one if slope < 0
            below = (slope[at] > 0) == bool(side)
            count = np.where(below, t[at], n[at] - t[at])
            terms = base[at], slope[at], below, count, n[at]
            near, far = np.full(at.size, 1.0 - side), np.full(at.size, float(side))
            goal = log_half + _log_tail(near, *terms)
            ends[at, side] = bisected(_more_probable, near, far, _STEPS, goal, *terms)[1]
    return ends


def _outside(interval: npt.ArrayLike) -> list[tuple[int, npt.NDArray[np.bool_], float]]:
    """End to move, intervals that do not reach into (0, 1), and the direction to the edge."""
    low, high = np.moveaxis(np.asarray(interval, dtype=np.float64), -1, 0)
    return [(1, high <= 0.0, -1.0), (0, low >= 1.0, 1.0)]


def _log_tail(v: Array, base: Array, slope: Array, below: Any, t: Array, n: Array) -> Array:
    """ln P(Bin(n, m) <= t) of frequencies v; far in the tail by the signed root of the deviance.

    m is base + slope v, or its complement where the tally is not `below`, so that t counts others.
    """
    from scipy.special import betainc, log_ndtr, xlogy

    m = np.clip(base + slope * v, 0.0, 1.0)
    m = np.where(below, m, 1.0 - m)
    tail = np.where(t >= n, 1.0, betainc(np.maximum(n - t, 1), t + 1, 1 - m))
    with np.errstate(divide="ignore"):
        deviance = xlogy(t, t / (n * m)) + xlogy(n - t, (n - t) / (n * (1 - m)))
        return np.where(
            tail > 1e-290,
            np.log(np.maximum(tail, 1e-300)),
            log_ndtr(-np.sqrt(2 * np.maximum(deviance, 0.0))),
        )


def _more_probable(v: Array, goal: Array, *terms: Any) -> Array:
    """Whether the tail at the frequencies v is above its goal, on the scale of logarithms."""
    return np.asarray(_log_tail(v, *terms) > goal)


# -- Chi-square statistics of few reports ---------------------------------------------------------


Part = tuple[int, Array, Array]  # reports, coordinates of each, (u, r), and their law, (u,)

_WORK = 2e9  # most multiplications for the third moments: about a second
_KNOWN = 1e-10  # variance, relative to the largest, of a contrast that is known under the null
_AGREES = 1e-5  # and how far it may be from its value


def is_feasible(n_rows: int, r: int) -> bool:
    """Whether the moments of so many kinds of reports, in r coordinates, are quick to compute."""
    return min(float(n_rows), r**2 / 3.0) * n_rows * r <= _WORK


def form_cumulants(parts: Sequence[Part]) -> Cumulants:
    """Cumulants of ``|sum_i z_i|^2`` over independent reports i with coordinates z_i."""
    centred = [(n, z - m @ z, m) for n, z, m in parts]
    r = centred[0][1].shape[1]
    zero, unit = np.zeros(r), np.eye(r)

    total = Spread.of(lambda: ((z, n * m) for n, z, m in centred), zero, unit)
    S = np.sum([n * (z.T * m) @ z for n, z, m in centred], axis=0)
    k4, k4S, k6 = total.s2, total.r, 0.0
    for n, z, m in centred:
        each = Spread.of(blocks_of(z, m), zero, unit)
        S1 = (z.T * m) @ z
        k4 -= n * (each.t1**2 + 2.0 * each.t2)
        k4S -= n * (each.t1 * float(np.sum(S1 * S)) + 2.0 * float(np.sum((S1 @ S1) * S)))
        square = each.s3 - 3.0 * each.t1 * each.s2 + 2.0 * each.t1**3
        inner = each.r - each.t1 * each.t2 - 2.0 * each.t3
        k6 += n * (square - 8.0 * each.t3 - 12.0 * inner - 6.0 * each.b - 4.0 * each.u)
    third = 8.0 * total.t3 + 12.0 * k4S + 6.0 * total.b + 4.0 * total.u + k6
    return Cumulants(total.t1, 2.0 * total.t2 + k4, third)


@dataclass(frozen=True, eq=False)
class ReportSums:
    """Contrasts of an estimate under a null hypothesis, as means over the reports.

    Parameters
    ----------
    covariance : array, shape (q, q)
        Of the contrasts.
    parts : sequence of (array, array, int)
        Of each source: what each report counts for, (q, l), the probabilities of the reports, (l,),
        and their number. Empty where only the covariance is kneach.

    Examples
    --------
    Three counts of which 195, 4 and 1 are expected; chi-square would say .011:

    >>> p, n = np.array([0.975, 0.02, 0.005]), 200
    >>> u = np.eye(3)[1:]
    >>> sums = ReportSums((np.diag(p) - np.outer(p, p))[1:, 1:] / n, [(u, p, n)])
    >>> statistic, df, pvalue = sums.test(np.array([0.0, 0.015]))
    >>> round(statistic, 2), df, round(pvalue, 3)
    (9.05, 2, 0.022)
    """

    covariance: Array
    parts: Sequence[tuple[Array, Array, int]] = ()

    def test(self, gap: Array) -> tuple[float, int, float]:
        """Statistic, degrees of freedom and p-value of contrasts that are off by `gap`, (q,).

        A contrast without variance under the null is not tested where it is as the null says; else
        the p-value is 0.
        """
        variances, directions = np.linalg.eigh(self.covariance)
        varies = variances > _KNOWN * max(float(variances[-1]), 0.0)
        df = int(varies.sum())
        if np.any(np.abs(directions[:, ~varies].T @ gap) > _AGREES):
            return np.inf, gap.size, 0.0
        whitened = directions[:, varies].T / np.sqrt(variances[varies])[:, None]
        statistic = float(np.sum((whitened @ gap) ** 2))
        limit = float(chi2_pvalue(statistic, df))
        parts = [(n, (whitened @ u[:, m > 0.0] / n).T, m[m > 0.0]) for u, m, n in self.parts]
        kinds = sum(m.size for _, _, m in parts)
        if not kinds or not df or not is_feasible(kinds, df):
            return statistic, df, limit
        # the identity where all reports are listed; near it where a sample stands for them
        S = sum(n * np.atleast_2d(np.cov(z.T, aweights=m, ddof=0)) for n, z, m in parts)
        spread = np.linalg.eigvalsh(S)
        if spread[0] < 0.5 or spread[-1] > 2.0:
            return statistic, df, limit
        root = np.linalg.inv(np.linalg.cholesky(S))
        law = form_cumulants([(n, z @ root.T, m) for n, z, m in parts])
        # where next to no report of a kind is expected, three moments put all of the law at its
        # lower end: few reports make tails heavier than chi-square, never lighter
        return statistic, df, max(limit, law.pvalue(statistic))
