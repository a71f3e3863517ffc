"""Tests of association from an estimated joint table and its covariance.

Tables are vectorised row-major: cell (i, j) of a k1 x k2 table is entry i k2 + j of a vector and of
its covariance. The tests use the unconstrained estimate, which may have negative cells.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import BoundaryWarning, InvalidArgument, NotAvailable
from ldpstats.inference.information import checked_inverse
from ldpstats.problems.covariance import Covariance, finite_array

__all__ = [
    "conditional_independence",
    "fpe16",
    "homogeneity",
    "wald_independence",
    "wald_nonlinear",
]

Array = npt.NDArray[Any]

_ZERO = 1e-9  # a cell of a fit below this is on the boundary
_RELIABLE = 4.0  # standard errors that a denominator must exceed


def wald_nonlinear(g: npt.ArrayLike, G: npt.ArrayLike, covariance: Covariance) -> tuple[float, int]:
    """Wald test that smooth functions g of a parameter are all zero, g' (G V G')^-1 g.

    Parameters
    ----------
    g : array_like, shape (q,)
        The functions at the estimate.
    G : array_like, shape (q, k)
        Their Jacobian at the estimate.
    covariance : Covariance
        V, of the estimate; it may be singular.

    Returns
    -------
    statistic : float
        Chi-square under the null.
    df : int
        q, the number of functions.

    Raises
    ------
    NotIdentified
        If G V G' is singular, by the rule of `ldpstats.inference.information`.
    InvalidArgument
        If shapes disagree.

    Examples
    --------
    Are two frequencies in the ratio of one to two?

    >>> from ldpstats.problems.covariance import multinomial
    >>> p = [0.2, 0.5, 0.3]
    >>> statistic, df = wald_nonlinear([2 * p[0] - p[1]], [[2, -1, 0]], multinomial(p, n=100))
    >>> round(statistic, 4), df
    (0.7752, 1)
    """
    values, jacobian = finite_array("g", g, 1), finite_array("G", G, 2)
    if jacobian.shape != (values.size, covariance.size):
        raise InvalidArgument(
            "G", jacobian.shape, f"must have the shape {(values.size, covariance.size)}"
        )
    se = np.abs(jacobian) @ np.sqrt(covariance.variances())
    precision = checked_inverse(covariance.transform(jacobian), "of what is tested", se**2)
    return float(values @ precision @ values), int(values.size)


def wald_independence(P: npt.ArrayLike, covariance: Covariance) -> tuple[float, int]:
    """Wald test of independence from an unconstrained estimate of a two-way table.

    It tests d = t P - r c' = 0, with r and c the margins of P and t its sum, which need not be one.

    Parameters
    ----------
    P : array_like, shape (k1, k2)
        Unconstrained estimate.
    covariance : Covariance
        Of P, vectorised row-major.

    Returns
    -------
    statistic : float
    df : int
        (k1 - 1)(k2 - 1).

    Raises
    ------
    NotIdentified
        If the covariance of d has rank below df.
    InvalidArgument
        If shapes disagree, or a variable has one category.

    Notes
    -----
    The rows and columns of d sum to zero, so the last of each are left out. With a covariance
    estimated at P the test is liberal in small samples: its size at .05 is .15 for 5 x 5 categories
    and 200 reports, where the score test keeps its level.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> P = np.array([[0.3, 0.2], [0.2, 0.3]])
    >>> statistic, df = wald_independence(P, multinomial(P.ravel(), n=100))
    >>> round(statistic, 4), df
    (4.1667, 1)
    """
    table = _table("P", P, 2, covariance)
    return wald_nonlinear(*_dependence(table), covariance)


def fpe16(p: npt.ArrayLike, J: npt.ArrayLike) -> tuple[float, int]:
    """The statistic of FPE16 (section III-D): T = (p - mu)' J (p - mu), mu the product of margins.

    For comparison with that paper only. Its chi-square law needs positive cells of the MLE. Zero
    cells, frequent at small epsilon, take its size and power to 0; in small samples at large
    epsilon it rejects too often. The score test has neither fault.

    Parameters
    ----------
    p : array_like, shape (k1, k2)
        MLE of the joint table, on the simplex.
    J : array_like, shape (k1 k2, k1 k2)
        Observed information of all reports at p, without the constraint that p sums to one.

    Returns
    -------
    statistic : float
    df : int
        (k1 - 1)(k2 - 1).

    Warns
    -----
    BoundaryWarning
        If a cell of p is below 1e-9.

    Raises
    ------
    NotIdentified
        If J is singular.
    InvalidArgument
        If shapes disagree.

    Examples
    --------
    >>> p = np.array([[0.3, 0.2], [0.2, 0.3]])
    >>> statistic, df = fpe16(p, np.diag(100 / p.ravel()))
    >>> round(statistic, 4), df
    (4.1667, 1)
    """
    information = Covariance.dense(J)
    table = _table("p", p, 2, information)
    checked_inverse(information.core, "J, the observed information,")
    zeros = int(np.sum(table <= _ZERO))
    if zeros:
        warnings.warn(
            f"{zeros} of {table.size} cells are zero, where the test of FPE16 loses its level and "
            "its power; use the score test",
            BoundaryWarning,
            stacklevel=2,
        )
    gap = (table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
    return float(gap @ information.core @ gap), (table.shape[0] - 1) * (table.shape[1] - 1)


def conditional_independence(p: npt.ArrayLike, covariance: Covariance) -> tuple[float, int, str]:
    """Wald test that X and Y are independent at every level of Z, the third axis.

    It tests ``p_ijk p_..k - p_i.k p_.jk = 0``. (Given the report of Z, reports of X and Y are in
    general dependent, so no test on the table of reports is valid.)

    Parameters
    ----------
    p : array_like, shape (k1, k2, k3)
        Unconstrained estimate.
    covariance : Covariance
        Of p, vectorised row-major; preferably under the null.

    Returns
    -------
    statistic : float
    df : int
        (k1 - 1)(k2 - 1) k3.
    note : str
        Number of levels of Z with a mass below 4 standard errors; empty if there are none.

    Raises
    ------
    NotIdentified
        If the covariance of the functions has rank below df.
    InvalidArgument
        If shapes disagree, or X or Y has one category.

    Notes
    -----
    In simulated k-RR surveys the size at .05 is .04 to .06 if no level of Z is weak, and falls to
    .002 if all are, because the functions of a weak level are products of noise. With the
    covariance at the estimate, small counts make the test liberal: 3 x 3 x 2 cells, epsilon 8,
    1,000 respondents and a smallest expected count of 1 give .41. The covariance under the null
    gives .05; at a smallest expected count of .3, sizes of .056, .019, .007 at .05, .01, .001.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> p = np.array([[[0.2, 0.1], [0.1, 0.1]], [[0.1, 0.1], [0.2, 0.1]]])
    >>> statistic, df, note = conditional_independence(p, multinomial(p.ravel(), n=100))
    >>> round(statistic, 4), df, note
    (6.25, 2, '')
    """
    table = _table("p", p, 3, covariance)
    k1, k2, k3 = table.shape
    slices = [_dependence(table[:, :, k]) for k in range(k3)]
    q = (k1 - 1) * (k2 - 1)
    G = np.zeros((k3, q, k1 * k2, k3))
    for k, (_, jacobian) in enumerate(slices):
        G[k, :, :, k] = jacobian
    statistic, df = wald_nonlinear(
        np.concatenate([g for g, _ in slices]), G.reshape(k3 * q, table.size), covariance
    )
    mass = table.sum(axis=(0, 1))
    sums = np.tile(np.eye(k3), k1 * k2)
    se = np.sqrt(np.diagonal(covariance.transform(sums)))
    weak = int(np.sum(mass < _RELIABLE * se))
    note = (
        f"{weak} of {k3} levels of the third variable have an estimated mass below {_RELIABLE:g} "
        "standard errors, so the test is conservative; merge levels"
    )
    return statistic, df, note if weak else ""


def homogeneity(p: npt.ArrayLike, covariance: Covariance) -> tuple[float, int]:
    """Wald test that the odds ratios of X and Y are the same at every level of Z.

    It tests differences of log odds ratios between levels of Z, the third axis: no three-way
    interaction.

    Parameters
    ----------
    p : array_like, shape (k1, k2, k3)
        Unconstrained estimate.
    covariance : Covariance
        Of p, vectorised row-major.

    Returns
    -------
    statistic : float
    df : int
        (k1 - 1)(k2 - 1)(k3 - 1).

    Raises
    ------
    NotAvailable
        If a cell is below 4 standard errors, so that its logarithm is far from normal.
    NotIdentified
        If the covariance of the contrasts has rank below df.
    InvalidArgument
        If shapes disagree, or a variable has one category.

    Notes
    -----
    Cross-multiplied odds ratios need no logarithm but do not help with weak cells: their size at
    .05 is then .000 to .084 in simulated k-RR surveys, and depends on the reference categories. If
    all cells pass, both forms have sizes of .02 to .06.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> p = np.array([[[0.2, 0.1], [0.1, 0.1]], [[0.1, 0.1], [0.2, 0.1]]])
    >>> statistic, df = homogeneity(p, multinomial(p.ravel(), n=1000))
    >>> round(statistic, 4), df
    (27.4545, 1)
    """
    table = _table("p", p, 3, covariance)
    if table.shape[2] < 2:
        raise InvalidArgument("p", table.shape, "must have at least two levels of Z to compare")
    flat = table.ravel()
    weak = flat < _RELIABLE * np.sqrt(covariance.variances())
    if weak.any():
        raise NotAvailable(
            f"{int(weak.sum())} of {flat.size} cells are below {_RELIABLE:g} standard errors, "
            "where odds ratios have no usable law; merge categories, or collect more reports"
        )
    contrasts = np.ones((1, 1))
    for k in table.shape:
        contrasts = np.kron(contrasts, np.column_stack([np.eye(k - 1), -np.ones(k - 1)]))
    return wald_nonlinear(contrasts @ np.log(flat), contrasts / flat, covariance)


def _dependence(P: Array) -> tuple[Array, Array]:
    """d = t P - r c' without its last row and column, and its Jacobian, both vectorised."""
    k1, k2 = P.shape
    r, c = P.sum(axis=1), P.sum(axis=0)
    d = P.sum() * P - np.outer(r, c)
    rows, columns = np.eye(k1)[:, None, :, None], np.eye(k2)[None, :, None, :]
    G = P.sum() * rows * columns + P[:, :, None, None]
    G = G - rows * c[None, :, None, None] - columns * r[:, None, None, None]
    return d[:-1, :-1].ravel(), G[:-1, :-1].reshape(-1, P.size)


def _table(name: str, value: npt.ArrayLike, ndim: int, covariance: Covariance) -> Array:
    """A checked table of `ndim` axes, with at least two rows and columns."""
    table = finite_array(name, value, ndim)
    if table.shape[0] < 2 or table.shape[1] < 2:
        raise InvalidArgument(name, table.shape, "must have at least two rows and two columns")
    if table.size != covariance.size:
        raise InvalidArgument(
            name, table.shape, f"must have {covariance.size} cells, as its covariance"
        )
    return table
