"""Conditional probabilities of an estimated table, with Fieller's sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.inference.tables.effect import Effect
from ldpstats.inference.tables.estimated import EstimatedTable, axis_number
from ldpstats.inference.tables.ratio import fieller_within
from ldpstats.problems.covariance import Covariance

__all__ = ["conditional", "conditionals"]

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
