"""Effect sizes of a two-way table of privatised variables, with intervals.

Every function takes the unconstrained estimate P of the joint distribution, shape (k1, k2) with X
in the rows and Y in the columns, whose entries may be negative, and the `Covariance` of P.ravel().
The labels and axis names of a DataFrame appear in the names of the effects.

In simulations of k-RR (3x4 and 5x5 tables, epsilon 1, 2 and 4, n = 10,000 and 100,000, margins from
.85 to .01, independent and associated), 95% sets of conditionals, risk differences and risk ratios
cover .93 to .97, except .92 if a cell has about ten reports or fewer, and up to 1 if both margins
of a difference or ratio lie within two standard errors of 0; most of these sets are unbounded. Odds
ratios have other sets if cells are weak, and so has Cramer's V of tables larger than 2 x 2 if
margins are; see their notes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.inference.tables.conditionals import conditional, conditionals
from ldpstats.inference.tables.cramer import cramers_v, departures
from ldpstats.inference.tables.effect import Effect, Kind, beside
from ldpstats.inference.tables.estimated import EstimatedTable, LinearForms
from ldpstats.inference.tables.fitted import fitted_conditionals, fitted_cramers_v
from ldpstats.inference.tables.ratio import odds_profile
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
