"""Cramer's V, and departures from independence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
Rate = Callable[[Array, Array, Array, Array], Array]


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
    trace, squares, along = _sums(S, z)
    unbiased = phi2 - trace
    w = along / phi2 if phi2 > 0 else 0.0
    # (unbiased - t)^2 <= z2 (2 tr S^2 + 4 t w), a quadratic in t
    middle = unbiased + 2 * z2 * w
    square = middle**2 - unbiased**2 + 2 * z2 * squares
    half = math.sqrt(square) if square >= 0 else -math.inf
    return unbiased, middle - half, middle + half


def _least_phi2(p: Array, covariance: Covariance, alpha: float) -> float:
    """The upper end of phi^2 at an estimate of 0."""
    z, S = standardised(p, covariance)
    return normal_critical(alpha) * math.sqrt(2.0 * _sums(S, z)[1])


def _sums(S: Covariance, z: Array) -> tuple[float, float, float]:
    """tr S, tr S^2 and z' S z."""
    if S.factors is None:
        C = S.core
        return float(np.trace(C)), float(np.sum(C**2)), float(z @ C @ z)
    d, v, F = S.diagonal, S.variances(), S.factors
    shared = S.core @ (F.T @ F)  # tr S^2 = sum d^2 + 2 sum d (v - d) + tr (C F'F)^2
    squares = float(d @ (2.0 * v - d)) + float(np.sum(shared * shared.T))
    return float(v.sum()), squares, float(z @ S.times(z))


def _bounded_phi2(table: EstimatedTable, alpha: float) -> tuple[float, float]:
    """Bounds of phi^2 where some margin is weak; see the notes of `cramers_v`."""
    groups = [table.strong(axis) for axis in (0, 1)]
    maps = [_merging(size, strong) for size, strong in zip(table.p.shape, groups, strict=True)]
    p = maps[0] @ table.p @ maps[1].T
    if min(p.shape) < 2 or not all(groups):
        return 0.0, math.inf  # one row or column is left
    merged = _merged(table.covariance, maps)
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


def _merged(V: Covariance, maps: Sequence[Array]) -> Covariance:
    """The covariance of the cells of a table whose categories are merged."""
    if V.factors is None:
        return Covariance.dense(V.transform(np.kron(*maps)))
    rows, columns = (kept.argmax(axis=0) for kept in maps)
    return V.merged((rows[:, None] * len(maps[1]) + columns).ravel())


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

    def rate(D: Array, dr: Array, dc: Array, ds: Array) -> Array:
        return _departure_rate(p, D, dr, dc, ds)

    spread = _congruence(rate, covariance, p.shape)
    expected = np.outer(p.sum(axis=1), p.sum(axis=0)) / p.sum()
    exact = np.diagonal(spread.core) if spread.factors is None else spread.variances()
    variance = np.maximum(exact, 0.0)  # below 0 by rounding only
    return p - expected, np.sqrt(variance).reshape(p.shape)


def _departure_rate(p: Array, D: Array, dr: Array, dc: Array, ds: Array) -> Array:
    """Derivative of p - r c' / s along tangents D, (k1, k2, m), with the sums dr, dc and ds."""
    s, r, c = p.sum(), p.sum(axis=1)[:, None, None], p.sum(axis=0)[None, :, None]
    return np.asarray(D - (dr[:, None] * c + r * dc[None]) / s + r * c * ds / s**2)


def standardised(p: Array, covariance: Covariance) -> tuple[Array, Covariance]:
    """z = (p - r c' / s) / sqrt(r c') as a vector, and its covariance by the delta method."""
    r, c = p.sum(axis=1)[:, None], p.sum(axis=0)[None]
    root = np.sqrt(r * c)
    z = (p - r * c / p.sum()) / root

    def rate(D: Array, dr: Array, dc: Array, ds: Array) -> Array:
        relative = dr[:, None] / r[..., None] + dc[None] / c[..., None]
        moved = _departure_rate(p, D, dr, dc, ds)
        return np.asarray(moved / root[..., None] - z[..., None] * relative / 2)

    return z.ravel(), _congruence(rate, covariance, p.shape)


def _congruence(rate: Rate, V: Covariance, shape: tuple[int, int]) -> Covariance:
    """G V G' of a derivative G, given by its action on tangents, (k1, k2, m), and their sums.

    G is a diagonal g and what the sums R' of rows and columns add, L R'. With V = diag(d) + F C F'
    the result is one of these too, with the factors L, g d R and G F.
    """

    def along(D: Array) -> Array:
        D = D.reshape(*shape, -1)
        sums = D.sum(axis=1), D.sum(axis=0), D.sum(axis=(0, 1))
        return rate(D, *sums).reshape(V.size, -1)

    if V.factors is None:
        spread = along(along(V.matrix()).T)
        return Covariance.dense((spread + spread.T) / 2)
    k1, k2 = shape
    none, ones = np.zeros((1, 1, 1)), np.ones(k1)
    by_row = rate(none, np.eye(k1), np.zeros((k2, k1)), ones)
    by_column = rate(none, np.zeros((k1, k2)), np.eye(k2), np.zeros(k2))
    L = np.concatenate([by_row, by_column], axis=2).reshape(V.size, -1)
    apart = rate(np.ones((*shape, 1)), np.zeros((k1, 1)), np.zeros((k2, 1)), np.zeros(1)).ravel()
    R = np.hstack([np.kron(np.eye(k1), np.ones((k2, 1))), np.tile(np.eye(k2), (k1, 1))])
    q, r = k1 + k2, len(V.core)
    core = np.zeros((2 * q + r,) * 2)
    core[:q, :q] = (R.T * V.diagonal) @ R
    core[:q, q : 2 * q] = core[q : 2 * q, :q] = np.eye(q)
    core[2 * q :, 2 * q :] = V.core
    factors = np.hstack([L, (apart * V.diagonal)[:, None] * R, along(V.factors)])
    return Covariance(apart**2 * V.diagonal, core, factors)
