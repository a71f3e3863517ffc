"""Tests of hypotheses about one or two distributions, from estimates or from privatised counts.

Chi-square statistics come as (statistic, df), normal ones as (z, p-value); leading axes are
surveys. `TestResult` carries one test to the reader, with its null hypothesis in words.

Tests of counts use the counts of reports, never n times an estimate, with which Pearson's statistic
almost always rejects a true hypothesis.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.inference.binomial import binomial_deficit, binomial_excess, checked_tallies
from ldpstats.inference.information import checked_inverse, observed_tangent_inverse
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue
from ldpstats.problems.covariance import Covariance, finite_array

__all__ = [
    "TestResult",
    "binomial_deficit",
    "binomial_excess",
    "checked_tallies",
    "chi2_pvalue",
    "count_array",
    "independent",
    "quadratic",
    "standardised",
    "wald",
    "z_test",
]

Array = npt.NDArray[np.float64]

_KNOWN = 1e-10  # relative variance below which a value is known
_AGREES = 1e-8  # relative discrepancy up to which a known value satisfies a restriction


def z_test(
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    value: npt.ArrayLike = 0.0,
    alternative: str = "two-sided",
) -> tuple[Array, Array]:
    """Test estimate = value by z = (estimate - value)/se.

    Parameters
    ----------
    estimate, se, value : array_like
        They broadcast. With a standard error of 0, z is 0 if the estimate equals `value`, and
        infinite otherwise.
    alternative : {"two-sided", "larger", "smaller"}
        The parameter under the alternative, compared with `value`.

    Returns
    -------
    z, pvalue : ndarray

    Raises
    ------
    InvalidArgument
        If an argument is NaN, a standard error is negative, or the alternative is unknown.

    Examples
    --------
    >>> z, pvalue = z_test([0.3, 0.1], 0.1, alternative="larger")
    >>> z.round(4), pvalue.round(4)
    (array([3., 1.]), array([0.0013, 0.1587]))
    """
    z = standardised(np.asarray(estimate, dtype=np.float64) - np.asarray(value), se)
    return z, normal_pvalue(z, alternative)


def standardised(excess: npt.ArrayLike, se: npt.ArrayLike) -> Array:
    """excess/se; if se = 0, zero for no excess and infinite otherwise."""
    beyond, spread = np.asarray(excess, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if np.isnan(beyond).any():
        raise InvalidArgument("estimate", excess, "and value must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    certain = np.where(beyond == 0, 0.0, np.copysign(np.inf, beyond))
    return np.where(spread > 0, beyond / np.where(spread > 0, spread, 1.0), certain)


def wald(
    R: npt.ArrayLike,
    value: npt.ArrayLike,
    estimate: npt.ArrayLike,
    covariance: Covariance,
) -> tuple[float, int]:
    """Wald test of the linear restrictions R p = value.

    Parameters
    ----------
    R : array_like, shape (q, k)
        One restriction per row.
    value : array_like, shape (q,)
        Right-hand sides.
    estimate : array_like, shape (k,)
    covariance : Covariance
        Of the estimate; it may be singular.

    Returns
    -------
    statistic : float
        Chi-square with `df` degrees of freedom under the null.
    df : int
        Number of restrictions that are not redundant.

    Raises
    ------
    InvalidArgument
        If shapes disagree, restrictions contradict each other or what is certain (sum p = 2), or
        all are certain (sum p = 1).

    Notes
    -----
    Row i is divided by ``sum_j |R_ij| se_j``, its standard error without cancellation. A direction
    whose variance is then below 1e-10 is known: it is redundant if the estimate satisfies it to
    1e-8 of the largest row, and contradicted otherwise.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> p = [0.5, 0.3, 0.2]
    >>> statistic, df = wald([[1, -1, 0], [1, 1, 1]], [0, 1], p, multinomial(p, n=100))
    >>> round(statistic, 4), df
    (5.2632, 1)
    """
    gaps = independent(R, value, estimate, covariance)[1]
    return float(np.sum(gaps**2)), gaps.size


def independent(
    R: npt.ArrayLike, value: npt.ArrayLike, estimate: npt.ArrayLike, covariance: Covariance
) -> tuple[Array, Array]:
    """Uncorrelated contrasts C of unit variance that say the same as R p = value, and their gaps.

    C has the shape (df, k) and the gaps, their estimates less their values, (df,). Arguments,
    errors and what is known are as for `wald`, whose statistic is the sum of the squared gaps.
    """
    rows, b = finite_array("R", R, 2), finite_array("value", value, 1)
    p = finite_array("estimate", estimate, 1)
    if rows.shape != (b.size, p.size) or p.size != covariance.size:
        raise InvalidArgument(
            "R", rows.shape, f"must have {b.size} rows, as value, and {covariance.size} columns"
        )
    empty = ~rows.any(axis=1)
    if np.any(b[empty] != 0.0):
        raise InvalidArgument("value", b, "contradicts a row of zeros: remove that restriction")
    rows, b = rows[~empty], b[~empty]
    if not len(rows):
        raise InvalidArgument("R", rows, "leaves nothing to test: every restriction is 0 = 0")
    se = np.abs(rows) @ np.sqrt(covariance.variances())
    se = np.where(se > 0, se, 1.0)
    values, directions = np.linalg.eigh(covariance.transform(rows) / np.outer(se, se))
    gaps = directions.T @ ((rows @ p - b) / se)
    size = float(np.max((np.abs(rows) @ np.abs(p) + np.abs(b)) / se))
    known = values <= _KNOWN
    if np.any(np.abs(gaps[known]) > _AGREES * size):
        raise InvalidArgument(
            "value",
            b,
            "contradicts what is known for certain, such as sum p = 1, or the restrictions "
            "contradict each other; remove the impossible ones",
        )
    if known.all():
        raise InvalidArgument("R", rows, "leaves nothing to test: every restriction is certain")
    gaps, values = gaps[~known], values[~known]
    contrasts = (directions[:, ~known].T / np.sqrt(values)[:, None]) @ (rows / se[:, None])
    return contrasts, gaps / np.sqrt(values)


def quadratic(
    difference: npt.ArrayLike, covariance: Covariance | npt.ArrayLike, tangent: bool = True
) -> tuple[Array, int]:
    """Chi-square statistic d' V^- d of a vector of differences.

    Parameters
    ----------
    difference : array_like, shape (..., k)
        d, for example an estimate minus its value under the null.
    covariance : Covariance or array_like of shape (k, k)
        V. Diagonal plus low rank costs O(k).
    tangent : bool
        True: contrasts only, d' B (B'VB)^-1 B' d with B a basis of the directions that sum to zero;
        df = k - 1, and V may be singular along the vector of ones. False: d' V^-1 d, df = k.

    Returns
    -------
    statistic : ndarray, shape (...)
    df : int

    Raises
    ------
    NotIdentified
        If V is singular on the space used: for diagonal plus low rank, if the smallest singular
        value of I + C F'D^-1 F is below 1e-12 of its size without cancellation; else by the rule of
        `ldpstats.inference.information`.
    InvalidArgument
        If shapes disagree, k < 2 with `tangent`, or V has a negative eigenvalue.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> statistic, df = quadratic([0.1, -0.1, 0.0], multinomial([0.5, 0.3, 0.2], n=100))
    >>> round(float(statistic), 4), df
    (5.3333, 2)
    """
    V = covariance if isinstance(covariance, Covariance) else Covariance.dense(covariance)
    d = np.asarray(difference, dtype=np.float64)
    if d.shape[-1:] != (V.size,) or not np.all(np.isfinite(d)):
        raise InvalidArgument("difference", d, f"must be finite with a last axis of {V.size}")
    if tangent and V.size < 2:
        raise InvalidArgument("difference", d, "needs at least two entries to form contrasts")
    df = V.size - 1 if tangent else V.size
    if V.factors is not None and np.all(V.diagonal > 0):
        statistic, size = _structured_form(d, V, tangent), np.sum(d**2 / V.diagonal, axis=-1)
    else:
        dense = V.matrix()
        precision = (
            observed_tangent_inverse(dense).core if tangent else checked_inverse(dense, "of d")
        )
        statistic = np.einsum("...i,...i->...", d @ precision, d)
        size = np.einsum("...i,...i->...", np.abs(d) @ np.abs(precision), np.abs(d))
    if np.any(statistic < -_AGREES * size):
        raise InvalidArgument("covariance", V.diagonal, "has a negative eigenvalue")
    return np.asarray(np.maximum(statistic, 0.0), dtype=np.float64), df  # zero but for rounding


def count_array(name: str, value: npt.ArrayLike) -> Array:
    """Counts of shape (..., l) as float64, after a check that every survey has some."""
    counts = np.asarray(value, dtype=np.float64)
    if counts.ndim < 1 or not np.all((counts >= 0) & (counts == np.floor(counts))):
        raise InvalidArgument(name, counts, "must be integer counts >= 0, not estimates")
    if not np.all(np.isfinite(counts)) or not np.all(counts.sum(axis=-1) > 0):
        raise InvalidArgument(name, counts, "must be finite, with at least one report per survey")
    return counts


def _structured_form(d: Array, V: Covariance, tangent: bool) -> Array:
    """d' V^-1 d, or its contrast form, for V = diag(D) + F C F' with D > 0, in O(k r^2)."""
    D, F, C = V.diagonal, V.factors, V.core
    assert F is not None
    if tangent:
        # adding c 11' changes no contrast, and makes a V of rank k - 1 invertible
        F = np.column_stack([F, np.ones_like(D)])
        C = np.pad(C, (0, 1))
        C[-1, -1] = 1.0 / np.sum(1.0 / D)
    # factors of unit length in the metric of D
    length = np.sqrt(np.sum(F**2 / D[:, None], axis=0))
    length = np.where(length > 0, length, 1.0)
    F, C = F / length, C * np.outer(length, length)
    added = C @ (F.T @ (F / D[:, None]))
    core = np.eye(length.size) + added
    # V is singular where the two terms of the core cancel
    if np.linalg.norm(core, -2) < 1e-12 * (1 + np.linalg.norm(added, 2)):
        raise NotIdentified(
            "the covariance matrix is singular on the differences tested; drop categories whose "
            "probability is known, or restate the test with `wald`, which removes redundancy"
        )
    middle = np.linalg.solve(core, C)

    def solve(v: Array) -> Array:
        w = v / D
        return np.asarray(w - (w @ F) @ middle.T @ F.T / D, dtype=np.float64)

    x = solve(d)
    statistic = np.einsum("...i,...i->...", d, x)
    if tangent:
        statistic = statistic - x.sum(axis=-1) ** 2 / solve(np.ones_like(D)).sum()
    return np.asarray(statistic, dtype=np.float64)
