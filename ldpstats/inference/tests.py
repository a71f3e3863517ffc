"""Tests of hypotheses about one or two distributions, from estimates or from privatised counts.

Chi-square statistics come as (statistic, df), normal ones as (z, p-value); leading axes are
surveys. `TestResult` carries one test to the reader, with its null hypothesis in words.

Tests of counts use the counts of reports, never n times an estimate, with which Pearson's statistic
almost always rejects a true hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import numbers, real_number
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.inference.information import checked_inverse, observed_tangent_inverse
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue
from ldpstats.problems.covariance import Covariance, finite_array

__all__ = [
    "TestResult",
    "binomial_deficit",
    "binomial_excess",
    "checked_tallies",
    "chi2_pvalue",
    "count_array",
    "quadratic",
    "standardised",
    "wald",
    "z_test",
]

Array = npt.NDArray[np.float64]

_KNOWN = 1e-10  # relative variance below which a value is known
_AGREES = 1e-8  # relative discrepancy up to which a known value satisfies a restriction


@dataclass(frozen=True, slots=True)
class TestResult:
    """Outcome of one test.

    Parameters
    ----------
    null : str
        The null hypothesis in words; the side of a one-sided test belongs here.
    statistic : float
        The test statistic; may be inf.
    df : float, tuple of float, or None
        Degrees of freedom, if the reference law has them.
    pvalue : float
        In [0, 1].
    method : str
        The statistic and its reference law.
    note : str
        What the reader must know, for example that outputs were never seen.

    Raises
    ------
    InvalidArgument
        If the p-value is outside [0, 1] or the statistic is NaN.

    Examples
    --------
    >>> result = TestResult("p is uniform", 7.815, 3, 0.05, "Pearson chi-square on reports")
    >>> print(result)
    Pearson chi-square on reports
      H0: p is uniform
      statistic 7.815, df 3, p-value 0.05
    >>> TestResult.from_dict(result.to_dict()) == result
    True
    """

    __test__: ClassVar[bool] = False  # for pytest: no test cases

    null: str
    statistic: float
    df: float | tuple[float, ...] | None
    pvalue: float
    method: str
    note: str = ""

    def __post_init__(self) -> None:
        remedy = "must be a number, not NaN"
        if math.isnan(real_number("statistic", self.statistic, remedy)):
            raise InvalidArgument("statistic", self.statistic, remedy)
        if not 0 <= real_number("pvalue", self.pvalue, "must be a probability") <= 1:
            raise InvalidArgument("pvalue", self.pvalue, "must lie in [0, 1]")
        if self.df is not None:
            for value in self.df if isinstance(self.df, tuple) else (self.df,):
                real_number("df", value, "must be a number, several in a tuple, or None")
        for name in ("null", "method", "note"):
            if not isinstance(getattr(self, name), str):
                raise InvalidArgument(name, getattr(self, name), "must be text")

    def __str__(self) -> str:
        shown = [f"statistic {self.statistic:.4g}", f"p-value {self.pvalue:.4g}"]
        if self.df is not None:
            values = self.df if isinstance(self.df, tuple) else (self.df,)
            shown.insert(1, "df " + ", ".join(f"{value:g}" for value in values))
        lines = [self.method, f"  H0: {self.null}", "  " + ", ".join(shown)]
        if self.note:
            lines.append(f"  Note: {self.note}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; an infinite statistic becomes the string "inf"."""
        finite = math.isfinite(self.statistic)
        return {
            "null": self.null,
            "statistic": float(self.statistic) if finite else str(float(self.statistic)),
            "df": list(self.df) if isinstance(self.df, tuple) else self.df,
            "pvalue": float(self.pvalue),
            "method": self.method,
            "note": self.note,
        }

    @classmethod
    def chi_square(
        cls, null: str, statistic: float, df: float, method: str, note: str = ""
    ) -> TestResult:
        """A statistic that is chi-square under the null."""
        remedy = "must be a number"
        value, freedom = numbers("statistic", statistic, remedy, ()), numbers("df", df, remedy, ())
        p = float(chi2_pvalue(value, freedom))
        return cls(null, float(value), float(freedom), p, method, note)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TestResult:
        """The result that `to_dict` wrote."""
        remedy = "must be what TestResult.to_dict wrote"
        names = {item.name for item in fields(cls)}
        if not isinstance(document, Mapping) or set(document) - {"note"} != names - {"note"}:
            raise InvalidArgument("document", document, remedy)
        given = dict(document)
        if given["statistic"] in ("inf", "-inf"):
            given["statistic"] = float(given["statistic"])
        if isinstance(given["df"], list):
            given["df"] = tuple(given["df"])
        return cls(**given)


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


def binomial_excess(
    tally: npt.ArrayLike, nobs: npt.ArrayLike, offset: npt.ArrayLike, scale: npt.ArrayLike
) -> Array:
    """Exact one-sided p-values of p = 0 against p > 0, from binomial tallies.

    The tally is Binomial(n, offset + scale p), as in `ldpstats.inference.intervals.exact_binomial`,
    whose one-sided interval the p-value matches. It is the binomial tail at p = 0, on the side to
    which `scale` points.

    Parameters
    ----------
    tally : array_like of integers, shape (..., k)
        Number of reports with this output, or with this bit set.
    nobs : array_like of integers
        Number of reports; it broadcasts.
    offset, scale : array_like
        offset in [0, 1], scale not 0; they broadcast.

    Returns
    -------
    ndarray, shape (..., k)

    Raises
    ------
    InvalidArgument
        If a tally is not a count up to nobs, offset is outside [0, 1], or scale is 0.

    Examples
    --------
    >>> binomial_excess([5, 9, 0], nobs=10, offset=0.5, scale=0.4).round(4)
    array([0.623 , 0.0107, 1.    ])
    """
    from scipy.special import betainc

    t, n = checked_tallies(tally, nobs)
    m0, slope = np.asarray(offset, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    if not np.all((m0 >= 0) & (m0 <= 1)):
        raise InvalidArgument("offset", offset, "must be a probability in [0, 1]")
    if not np.all(np.isfinite(slope) & (slope != 0)):
        raise InvalidArgument("scale", scale, "must be finite and not 0 (epsilon > 0)")
    # both binomial tails, each without cancellation
    upper = np.where(t == 0, 1.0, betainc(np.maximum(t, 1), n - t + 1, m0))
    lower = np.where(t == n, 1.0, betainc(np.maximum(n - t, 1), t + 1, 1 - m0))
    return np.where(slope > 0, upper, lower)


def binomial_deficit(
    tally: npt.ArrayLike, nobs: npt.ArrayLike, offset: npt.ArrayLike, scale: npt.ArrayLike
) -> Array:
    """Exact one-sided p-values of p >= 0, small if the estimate is too negative.

    The other tail of `binomial_excess`, with its arguments and errors.

    Examples
    --------
    >>> binomial_deficit([5, 9, 0], nobs=10, offset=0.5, scale=0.4).round(4)
    array([0.623, 0.999, 0.001])
    """
    return binomial_excess(tally, nobs, offset, -np.asarray(scale, dtype=np.float64))


def wald(
    R: npt.ArrayLike,
    value: npt.ArrayLike,
    estimate: npt.ArrayLike,
    covariance: Covariance,
    null: Callable[[Array, Array], Array | None] | None = None,
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
    null : callable, optional
        ``null(C, gap)`` gives the covariance of contrasts C p under the null, with C of shape (r,
        k) and ``gap``, (r,), their estimates; or None. The test is then a score test. Default, also
        if that covariance is not positive definite: the covariance of the estimate.

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
    Row i is divided by sum_j |R_ij| se_j, its standard error without cancellation. A direction
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
    gaps = gaps / np.sqrt(values)  # of unit variance
    V = None if null is None else null(contrasts, gaps)
    if V is not None:
        least, vectors = np.linalg.eigh(V)
        if least[0] > _KNOWN * least[-1]:
            return float(np.sum((vectors.T @ gaps) ** 2 / least)), gaps.size
    return float(np.sum(gaps**2)), gaps.size


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
        statistic = _structured_form(d, V, tangent)
    else:
        dense = V.matrix()
        precision = (
            observed_tangent_inverse(dense).core if tangent else checked_inverse(dense, "of d")
        )
        statistic = np.einsum("...i,...i->...", d @ precision, d)
    if np.any(statistic < 0):
        raise InvalidArgument("covariance", V.diagonal, "has a negative eigenvalue")
    return np.asarray(statistic, dtype=np.float64), df


def checked_tallies(tally: npt.ArrayLike, nobs: npt.ArrayLike) -> tuple[Array, Array]:
    """Tallies and numbers of reports as float64, broadcast against each other, after a check."""
    t, n = np.broadcast_arrays(
        np.asarray(tally, dtype=np.float64), np.asarray(nobs, dtype=np.float64)
    )
    if not np.all((n >= 1) & (n == np.floor(n))):
        raise InvalidArgument("nobs", nobs, "must be a positive integer number of reports")
    if not np.all((t >= 0) & (t <= n) & (t == np.floor(t))):
        raise InvalidArgument("tally", tally, "must be integer counts between 0 and nobs")
    return t, n


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
