"""Cramer's V, and departures from independence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.effect import Effect, Kind
from ldpstats.inference.tables.estimated import EstimatedTable
from ldpstats.inference.tails import normal_critical
from ldpstats.problems.covariance import Covariance

__all__ = ["cramers_v", "departures", "standardised"]

Array = npt.NDArray[Any]


def cramers_v(
    P: pd.DataFrame | npt.ArrayLike, covariance: Covariance, alpha: float = 0.05
) -> Effect:
    """Cramer's V = sqrt(phi^2 / (min(k1, k2) - 1)), corrected for bias.

    phi^2 = ||z||^2 with z_ij = (p_ij - r_i c_j) / sqrt(r_i c_j), r and c the margins. Noise of
    covariance S adds tr S, which is subtracted. The interval holds every phi^2 that the estimate
    does not reject, with variance 2 tr S^2 + 4 phi^2 w, w = z'Sz / z'z. Both are clipped to [0, 1].

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution, rescaled to sum to one.
    covariance : Covariance
        Of P.ravel().
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Effect
        If a margin does not exceed four standard errors, the estimate is nan and the set is a bound
        from the table with its weak categories merged; see the notes.

    Raises
    ------
    InvalidArgument
        If shapes disagree, or the table has one row or column.

    Notes
    -----
    Without weak margins, 95% intervals covered .94 to .98 in simulations, .95 to .96 under
    independence.

    Merging categories never raises phi^2 (a chi-square divergence), so a lower bound for the merged
    table holds for the whole one. Let R and C be the sums of the weak rows and columns. The whole
    table exceeds the merged one by at most R / min c + C / min r, minima over the other margins,
    plus the smaller number of weak categories of the two variables. Bonferroni's rule shares the
    confidence among these bounds, so the set is wide.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(cramers_v(P, multinomial(np.ravel(P), n=400)))
    Cramer's V of X and Y: 0.4055, 95% interval [0.3263, 0.5036]
    """
    table = EstimatedTable.of(P, covariance)
    if min(table.p.shape) < 2:
        raise InvalidArgument("P", table.p.shape, "must have at least two rows and two columns")
    name = "Cramer's V of {} and {}".format(*(str(label.name) for label in table.labels))
    at = [(axis, place) for axis in (0, 1) for place in range(table.p.shape[axis])]
    margins = table.linear([table.margin(*where) for where in at])
    scale = min(table.p.shape) - 1
    if weak := margins.weak([f"P({table.says(*where)})" for where in at]):
        low, high = (math.sqrt(min(v / scale, 1.0)) for v in _bounded_phi2(table, level(alpha)))
        words = f"bound from merged categories, as {weak}"
        kind: Kind = "bounded" if high < 1.0 else "unbounded"
        return Effect(name, math.nan, low, high, alpha, kind, words)
    values = _phi2(table.p, covariance, level(alpha))
    estimate, low, high = (math.sqrt(min(max(value / scale, 0.0), 1.0)) for value in values)
    below = ""
    if high == 0.0:
        # closer to independence than noise allows: the limit for an estimate of 0
        high = math.sqrt(min(_least_phi2(table.p, covariance, alpha) / scale, 1.0))
        below = "the table is closer to independence than noise allows"
    return Effect(name, estimate, low, high, alpha, "bounded", below)


def _phi2(p: Array, covariance: Covariance, alpha: float) -> tuple[float, float, float]:
    """phi^2 corrected for bias, and the ends of its interval, none of them clipped."""
    z, S = standardised(p, covariance)
    phi2, z2 = float(z @ z), normal_critical(alpha) ** 2
    unbiased = phi2 - float(np.trace(S))
    w = float(z @ S @ z) / phi2 if phi2 > 0 else 0.0
    # (unbiased - t)^2 <= z2 (2 tr S^2 + 4 t w), a quadratic in t
    middle = unbiased + 2 * z2 * w
    square = middle**2 - unbiased**2 + 2 * z2 * float(np.sum(S**2))
    half = math.sqrt(square) if square >= 0 else -math.inf
    return unbiased, middle - half, middle + half


def _least_phi2(p: Array, covariance: Covariance, alpha: float) -> float:
    """The upper end of phi^2 at an estimate of 0."""
    S = standardised(p, covariance)[1]
    return normal_critical(alpha) * math.sqrt(2.0 * float(np.sum(S**2)))


def _bounded_phi2(table: EstimatedTable, alpha: float) -> tuple[float, float]:
    """Bounds of phi^2 where some margin is weak; see the notes of `cramers_v`."""
    groups = [table.strong(axis) for axis in (0, 1)]
    maps = [_merging(size, strong) for size, strong in zip(table.p.shape, groups, strict=True)]
    p = maps[0] @ table.p @ maps[1].T
    if min(p.shape) < 2 or not all(groups):
        return 0.0, math.inf  # one row or column is left
    merged = Covariance.dense(table.covariance.transform(np.kron(*maps)))
    low = max(_phi2(p, merged, alpha)[1], 0.0)
    high = max(_phi2(p, merged, alpha / 2.0)[2], _least_phi2(p, merged, alpha / 2.0))
    weak = [size - len(strong) for strong, size in zip(groups, table.p.shape, strict=True)]
    limits = sum(len(strong) + 1 for strong in groups)
    z = normal_critical(alpha / (2.0 * limits))
    for axis in (0, 1):
        if not weak[axis]:
            continue
        rare = np.sum(
            [table.margin(axis, i) for i in range(table.p.shape[axis]) if i not in groups[axis]],
            axis=0,
        )
        others = [table.margin(1 - axis, j) for j in groups[1 - axis]]
        linear = table.linear([rare, *others])
        se = np.sqrt(np.maximum(np.diagonal(linear.covariance), 0.0))
        largest = max(float(linear.values[0] + z * se[0]), 0.0)
        smallest = float(np.min(linear.values[1:] - z * se[1:]))
        high += largest / smallest if smallest > 0.0 else math.inf
    return low, high + min(weak)


def _merging(size: int, strong: Sequence[int]) -> Array:
    """The map, shape (m, size), that keeps the strong categories and sums the others."""
    rows = np.eye(size)[list(strong)]
    rest = 1.0 - rows.sum(axis=0)
    return np.vstack([rows, rest]) if rest.any() else rows


def departures(P: pd.DataFrame | npt.ArrayLike, covariance: Covariance) -> tuple[Array, Array]:
    """Departures from independence, p_ij - r_i c_j, and their standard errors.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution. With a sum s other than 1, the departure
        is p_ij - r_i c_j / s.
    covariance : Covariance
        Of P.ravel().

    Returns
    -------
    departure, se : ndarray, shape (k1, k2)
        By the delta method; their ratio is approximately standard normal under independence.

    Raises
    ------
    InvalidArgument
        If shapes disagree.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> departure, se = departures(P, multinomial(np.ravel(P), n=400))
    >>> departure.round(4), se.round(4)
    (array([[ 0.1, -0.1],
           [-0.1,  0.1]]), array([[0.0112, 0.0112],
           [0.0112, 0.0112]]))
    """
    p = EstimatedTable.of(P, covariance).p
    spread = _congruence(lambda D: _departure_rate(p, D), covariance, p.shape)
    expected = np.outer(p.sum(axis=1), p.sum(axis=0)) / p.sum()
    variance = np.maximum(np.diagonal(spread), 0.0)  # below 0 by rounding only
    return p - expected, np.sqrt(variance).reshape(p.shape)


def _departure_rate(p: Array, D: Array) -> Array:
    """Derivative of p - r c' / s along tangents D, shape (k1, k2, m); s is the sum of p."""
    s, r, c = p.sum(), p.sum(axis=1)[:, None, None], p.sum(axis=0)[None, :, None]
    dr, dc, ds = D.sum(axis=1)[:, None], D.sum(axis=0)[None], D.sum(axis=(0, 1))
    return np.asarray(D - (dr * c + r * dc) / s + r * c * ds / s**2)


def standardised(p: Array, covariance: Covariance) -> tuple[Array, Array]:
    """z = (p - r c' / s) / sqrt(r c') as a vector, and its covariance by the delta method."""
    r, c = p.sum(axis=1)[:, None], p.sum(axis=0)[None]
    root = np.sqrt(r * c)
    z = (p - r * c / p.sum()) / root

    def rate(D: Array) -> Array:
        relative = D.sum(axis=1)[:, None] / r[..., None] + D.sum(axis=0)[None] / c[..., None]
        return np.asarray(_departure_rate(p, D) / root[..., None] - z[..., None] * relative / 2)

    return z.ravel(), _congruence(rate, covariance, p.shape)


def _congruence(rate: Any, covariance: Covariance, shape: tuple[int, ...]) -> Array:
    """G V G' of a derivative G, given by its action on tangents, shape (k1, k2, m)."""
    half = rate(covariance.matrix().reshape(*shape, -1)).reshape(covariance.size, -1)
    spread = rate(half.T.reshape(*shape, -1)).reshape(covariance.size, -1)
    return np.asarray((spread + spread.T) / 2)
