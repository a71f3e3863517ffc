"""Effect sizes of a two-way table of privatised variables, with intervals.

Every function takes the unconstrained estimate P of the joint distribution, shape (k1, k2) with X
in the rows and Y in the columns, whose entries may be negative, and the `Covariance` of P.ravel().
The labels and axis names of a DataFrame appear in the names of the effects.

In simulations of k-RR (3x4 and 5x5 tables, epsilon 1, 2 and 4, n = 10,000 and 100,000, margins from
.85 to .01, independent and associated), 95% sets of conditionals, risk differences and risk ratios
cover .93 to .97, except .92 if a cell has about ten reports or fewer, and up to 1 if both margins
of a difference or ratio lie within two standard errors of 0; most of these sets are unbounded. Odds
ratios and Cramer's V have other sets if cells or margins are weak; see their notes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.inference.tables.cramer import cramers_v, departures
from ldpstats.inference.tables.effect import Effect, Kind, beside
from ldpstats.inference.tables.estimated import EstimatedTable, LinearForms, axis_number
from ldpstats.inference.tables.fitted import fitted_conditionals, fitted_cramers_v
from ldpstats.inference.tables.ratio import fieller_within, odds_profile
from ldpstats.inference.tails import normal_critical
from ldpstats.problems.covariance import Covariance

__all__ = [
    "Effect",
    "beside",
    "conditional",
    "conditionals",
    "cramers_v",
    "departures",
    "fitted_conditionals",
    "fitted_cramers_v",
    "odds_ratio",
    "risk_difference",
    "risk_ratio",
]

Array = npt.NDArray[Any]


def conditional(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    given_axis: int,
    i: int,
    j: int,
    alpha: float = 0.05,
) -> Effect:
    """One conditional probability, P(Y = j | X = i) or P(X = i | Y = j), with Fieller's set.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution.
    covariance : Covariance
        Of P.ravel().
    given_axis : {0, 1}
        The variable in the condition: 0 for X, the rows; 1 for Y, the columns.
    i, j : int
        Positions of row and column.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Effect
        With a set within [0, 1].

    Raises
    ------
    InvalidArgument
        If shapes disagree or a position is outside the table.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(conditional(P, multinomial(np.ravel(P), n=400), 0, 1, 1))
    P(Y = 1 | X = 1): 0.8, 95% interval [0.7443, 0.8557]
    """
    table = EstimatedTable.of(P, covariance)
    i, j = table.position("i", i, 0), table.position("j", j, 1)
    margin = table.margin(axis_number("given_axis", given_axis), (i, j)[given_axis])
    linear = table.linear([table.cell(i, j), margin])
    X, Y = table.says(0, i), table.says(1, j)
    name = f"P({X} | {Y})" if given_axis else f"P({Y} | {X})"
    cell, total = linear.values
    return linear.ratio(name, cell, total, (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), alpha)


def conditionals(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    axis: int = 0,
    alpha: float = 0.05,
    cumulative: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """All conditional probabilities of a table, with Fieller's sets; see `conditional`.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution.
    covariance : Covariance
        Of P.ravel().
    axis : {0, 1}
        The variable in the condition: 0 gives P(Y | X), 1 gives P(X | Y).
    alpha : float
        One minus the confidence level.
    cumulative : bool
        Whether to give P(Y <= j | X), or P(X <= i | Y), in the order of the table.

    Returns
    -------
    estimate : ndarray, shape (k1, k2)
        nan if the margin is not positive.
    lower, upper : ndarray, shape (k1, k2)
        Within [0, 1]; the hull if `conditional` gives a set of two parts.
    unbounded : ndarray of bool, shape (k1, k2)
        Whether the margin does not differ significantly from 0.

    Raises
    ------
    InvalidArgument
        If shapes disagree.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> estimate, lower, upper, unbounded = conditionals(P, multinomial(np.ravel(P), n=400))
    >>> estimate, lower.round(4)
    (array([[0.6, 0.4],
           [0.2, 0.8]]), array([[0.5318, 0.3318],
           [0.1443, 0.7443]]))
    """
    table = EstimatedTable.of(P, covariance)
    if axis_number("axis", axis):
        found = conditionals(table.p.T, table.transposed(), 0, alpha, cumulative)
        estimate, lower, upper, unbounded = (values.T for values in found)
        return estimate, lower, upper, unbounded
    total = table.p.sum(axis=1, keepdims=True)
    part = np.cumsum(table.p, axis=1) if cumulative else table.p
    variance, with_total = _within_rows(covariance, table.p.shape, cumulative)
    of_total = with_total[:, -1:] if cumulative else with_total.sum(axis=1, keepdims=True)
    arguments = np.broadcast_arrays(part, total, variance, of_total, with_total)
    lower, upper = np.empty(part.shape), np.empty(part.shape)
    unbounded = np.empty(part.shape, dtype=np.bool_)
    for at in np.ndindex(part.shape):
        num, den, *moments = (float(values[at]) for values in arguments)
        low, high, kind, _ = fieller_within(
            num, den, moments[0], moments[1], moments[2], (0.0, 1.0), level(alpha)
        )
        lower[at], upper[at] = (0.0, 1.0) if kind == "complement" else (low, high)
        unbounded[at] = kind != "bounded"
    positive = np.where(total > 0, total, np.nan)
    return np.asarray(part / positive), lower, upper, unbounded


def risk_difference(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    i: int,
    i2: int,
    j: int,
    alpha: float = 0.05,
) -> Effect:
    """P(Y = j | X = i) - P(Y = j | X = i2), in [-1, 1].

    With a, c the cells and B, D their rows, the set holds every d for which aD - cB - d BD does not
    differ significantly from 0: Fieller's set, with the delta method for the products.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution.
    covariance : Covariance
        Of P.ravel().
    i, i2 : int
        Positions of two rows.
    j : int
        Position of the column.
    alpha : float
        One minus the confidence level.

    Raises
    ------
    InvalidArgument
        If shapes disagree, a position is outside the table, or both rows are the same.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(risk_difference(P, multinomial(np.ravel(P), n=400), 0, 1, 0))
    P(Y = 0 | X = 0) - P(Y = 0 | X = 1): 0.4, 95% interval [0.3123, 0.4877]
    """
    (a, c, B, D), linear, (first, second) = _two_rows(P, covariance, i, i2, j)
    numerator, denominator = (D, -B, -c, a), (0.0, 0.0, D, B)
    return linear.ratio(
        f"{first} - {second}", a * D - c * B, B * D, numerator, denominator, (-1.0, 1.0), alpha
    )


def risk_ratio(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    i: int,
    i2: int,
    j: int,
    alpha: float = 0.05,
) -> Effect:
    """P(Y = j | X = i) / P(Y = j | X = i2), at least 0.

    The set is Fieller's, from aD - r cB; see `risk_difference` for the arguments.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(risk_ratio(P, multinomial(np.ravel(P), n=400), 0, 1, 0))
    P(Y = 0 | X = 0) / P(Y = 0 | X = 1): 3, 95% interval [2.282, 4.217]
    """
    (a, c, B, D), linear, (first, second) = _two_rows(P, covariance, i, i2, j)
    numerator, denominator = (D, 0.0, 0.0, a), (0.0, B, c, 0.0)
    return linear.ratio(
        f"{first} / {second}", a * D, c * B, numerator, denominator, (0.0, math.inf), alpha
    )


def odds_ratio(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    rows: Sequence[int],
    columns: Sequence[int],
    alpha: float = 0.05,
) -> Effect:
    """Odds ratio p_ij p_i2j2 / (p_ij2 p_i2j), with a Wald interval of its log or a profile set.

    If a cell does not exceed four standard errors, the logarithm has no useful law: a profile set
    (`ratio.odds_profile`), which may be one-sided, replaces the Wald interval, and the message
    names the weak cells.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution.
    covariance : Covariance
        Of P.ravel().
    rows, columns : sequence of two int
        Positions (i, i2) and (j, j2).
    alpha : float
        One minus the confidence level.

    Raises
    ------
    InvalidArgument
        If shapes disagree, a position is outside the table, or two positions are the same.

    Notes
    -----
    The rule selects on noise. Given that it is used, the Wald interval covers .94 to .97 if the
    true cells exceed six standard errors, .96 to .99 from 4.5 to 6, .93 on average if the smallest
    is at 3.5 (a quarter of the surveys use it), and .90 at 3 (a tenth).

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(odds_ratio(P, multinomial(np.ravel(P), n=400), (0, 1), (0, 1)))
    odds ratio of Y = 0 against Y = 1, X = 0 against X = 1: 6, 95% interval [3.836, 9.384]
    >>> effect = odds_ratio(P, multinomial(np.ravel(P), n=100), (0, 1), (0, 1))
    >>> effect.kind, round(effect.lower, 2), round(effect.upper, 2), effect.message[:65]
    ('bounded', 2.63, 17.56, 'profile set, as P(X = 1, Y = 0) = 0.1 is 3.3 standard errors from')
    """
    table = EstimatedTable.of(P, covariance)
    i, i2 = table.pair("rows", rows, 0)
    j, j2 = table.pair("columns", columns, 1)
    at = [(i, j), (i2, j2), (i, j2), (i2, j)]
    linear = table.linear([table.cell(*cell) for cell in at])
    against = [table.says(1, j), table.says(1, j2), table.says(0, i), table.says(0, i2)]
    name = "odds ratio of {} against {}, {} against {}".format(*against)
    words = [f"P({table.says(0, row)}, {table.says(1, column)})" for row, column in at]
    if weak := linear.weak(words):
        ratio, low, high = odds_profile(linear.values, linear.covariance, level(alpha))
        kind: Kind = "bounded" if math.isfinite(high) else "unbounded"
        return Effect(name, ratio, low, high, alpha, kind, f"profile set, as {weak}")
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    gradient = signs / linear.values
    log = float(signs @ np.log(linear.values))
    half = normal_critical(alpha) * math.sqrt(gradient @ linear.covariance @ gradient)
    return Effect(name, math.exp(log), math.exp(log - half), math.exp(log + half), alpha)


def _two_rows(
    P: pd.DataFrame | npt.ArrayLike, covariance: Covariance, i: int, i2: int, j: int
) -> tuple[Array, LinearForms, tuple[str, str]]:
    """Cells (i, j) and (i2, j) with their rows, and the two conditionals in words."""
    table = EstimatedTable.of(P, covariance)
    first, second = table.pair("i, i2", (i, i2), 0)
    column = table.position("j", j, 1)
    cells = [table.cell(first, column), table.cell(second, column)]
    linear = table.linear([*cells, table.margin(0, first), table.margin(0, second)])
    Y = table.says(1, column)
    words = f"P({Y} | {table.says(0, first)})", f"P({Y} | {table.says(0, second)})"
    return linear.values, linear, words


def _within_rows(V: Covariance, shape: tuple[int, ...], cumulative: bool) -> tuple[Array, Array]:
    """Variances of cells, or of sums along a row, and covariances with the row sum, (k1, k2).

    With V = diag(d) + F C F' no covariance between rows is formed.
    """
    k1, k2 = shape
    d = V.diagonal.reshape(k1, k2)
    if V.factors is None:
        blocks = np.einsum("ijim->ijm", V.core.reshape(k1, k2, k1, k2)).copy()
        blocks[:, np.arange(k2), np.arange(k2)] += d
        with_row = blocks.sum(axis=2)
        if cumulative:
            blocks = blocks.cumsum(axis=1).cumsum(axis=2)
            with_row = with_row.cumsum(axis=1)
        return np.einsum("ijj->ij", blocks), with_row
    F = V.factors.reshape(k1, k2, -1)
    loaded = F.sum(axis=1) @ V.core
    if cumulative:
        F, d = F.cumsum(axis=1), d.cumsum(axis=1)
    variances = Covariance(d.ravel(), V.core, F.reshape(k1 * k2, -1)).variances()
    return variances.reshape(k1, k2), d + np.einsum("ijr,ir->ij", F, loaded)
