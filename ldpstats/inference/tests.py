"""Tests of hypotheses from estimates, the outcome of one test, and tests of many hypotheses.

Chi-square statistics come as (statistic, df), normal ones as (z, p-value); leading axes are
surveys. `TestResult` carries one test to the reader, with its null hypothesis in words. Then
p-values of many hypotheses, and intervals after selection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import (
    floats,
    html_table,
    level,
    numbers,
    one_of,
    page_text,
    real_number,
)
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.estimators.solvers import root
from ldpstats.inference.information import checked_inverse, observed_tangent_inverse
from ldpstats.inference.intervals import checked_tallies
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue, standardised
from ldpstats.likelihood.covariance import Covariance, finite_array

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
    z = standardised(floats(estimate) - np.asarray(value), se)
    return z, normal_pvalue(z, alternative)


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
    >>> from ldpstats.likelihood.covariance import multinomial
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
    """Uncorrelated contrasts, (df, k), of unit variance that say R p = value, and gaps, (df,).

    Arguments and errors are those of `wald`, whose statistic is the sum of the squared gaps.
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
        `ldpstats.inference.tests`.
    InvalidArgument
        If shapes disagree, k < 2 with `tangent`, or V has a negative eigenvalue.

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> statistic, df = quadratic([0.1, -0.1, 0.0], multinomial([0.5, 0.3, 0.2], n=100))
    >>> round(float(statistic), 4), df
    (5.3333, 2)
    """
    V = covariance if isinstance(covariance, Covariance) else Covariance.dense(covariance)
    d = floats(difference)
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
    return floats(np.maximum(statistic, 0.0)), df  # zero but for rounding


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
    m0, slope = floats(offset), floats(scale)
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
    return binomial_excess(tally, nobs, offset, -floats(scale))


def count_array(name: str, value: npt.ArrayLike) -> Array:
    """Counts of shape (..., l) as float64, after a check that every survey has some."""
    counts = floats(value)
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
        return floats(w - (w @ F) @ middle.T @ F.T / D)

    x = solve(d)
    statistic = np.einsum("...i,...i->...", d, x)
    if tangent:
        statistic = statistic - x.sum(axis=-1) ** 2 / solve(np.ones_like(D)).sum()
    return floats(statistic)


# -- The outcome of one test ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TestResult(Document):
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
    note: str = field(default="", metadata={"later": True})

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

    def _numbers(self) -> list[tuple[str, str]]:
        """Names and values of the statistic, of what degrees of freedom there are, and of p."""
        numbers = [("statistic", f"{self.statistic:.4g}"), ("p-value", f"{self.pvalue:.4g}")]
        if self.df is not None:
            values = self.df if isinstance(self.df, tuple) else (self.df,)
            numbers.insert(1, ("df", ", ".join(f"{value:g}" for value in values)))
        return numbers

    def _repr_html_(self) -> str:
        """The test, in a notebook."""
        note = [("note", self.note)] if self.note else []
        return html_table(self.method, [("H0", self.null), *self._numbers(), *note])

    def __str__(self) -> str:
        shown = [f"{name} {value}" for name, value in self._numbers()]
        lines = [self.method, f"  H0: {self.null}", "  " + ", ".join(shown)]
        if self.note:
            lines.append(f"  Note: {self.note}")
        return page_text("\n".join(lines), 4)

    @classmethod
    def chi_square(
        cls, null: str, statistic: float, df: float, method: str, note: str = ""
    ) -> TestResult:
        """A statistic that is chi-square under the null."""
        remedy = "must be a number"
        value, freedom = numbers("statistic", statistic, remedy, ()), numbers("df", df, remedy, ())
        p = float(chi2_pvalue(value, freedom))
        return cls(null, float(value), float(freedom), p, method, note)


# -- Many tests at once: adjusted p-values and rejections -----------------------------------------


METHODS = ("bonferroni", "holm", "bh")


def adjust(
    pvalues: npt.ArrayLike, method: str = "bonferroni", shares: npt.ArrayLike | None = None
) -> Array:
    """Adjusted p-values: the smallest level at which each hypothesis is rejected.

    Parameters
    ----------
    pvalues : array_like, shape (..., k)
        One p-value per hypothesis; leading axes are separate families.
    method : {"bonferroni", "holm", "bh"}
        "bonferroni" and "holm" control the familywise error rate under any dependence; Holm rejects
        at least as often. "bh" (Benjamini-Hochberg) controls the false discovery rate of
        independent or positively dependent statistics.
    shares : array_like, shape (k,), optional
        Weights of the hypotheses for "bonferroni", fixed before the p-values are seen. Default:
        equal.

    Raises
    ------
    InvalidArgument
        If there are no p-values, one is NaN or outside [0, 1], the method is unknown, or shares are
        not positive, do not add up to 1, or come with another method.

    References
    ----------
    Genovese, C. R., Roeder, K. and Wasserman, L. (2006), Biometrika 93, 509-524 (the shares).
    Holm, S. (1979), Scandinavian Journal of Statistics 6, 65-70.
    Benjamini, Y. and Hochberg, Y. (1995), Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.04], "bonferroni")
    array([0.03, 0.06, 0.12])
    >>> adjust([0.01, 0.02, 0.04], shares=[0.25, 0.5, 0.25])
    array([0.04, 0.04, 0.16])
    >>> adjust([0.01, 0.02, 0.04], "holm")
    array([0.03, 0.04, 0.04])
    >>> adjust([0.01, 0.02, 0.04], "bh")
    array([0.03, 0.03, 0.04])
    """
    method = one_of("method", method, METHODS)
    p = floats(pvalues)
    if p.ndim < 1 or p.size == 0:
        raise InvalidArgument("pvalues", p.shape, "must be a non-empty vector of p-values")
    if not np.all((p >= 0) & (p <= 1)):
        raise InvalidArgument("pvalues", p, "must lie in [0, 1], without NaN")
    k = p.shape[-1]
    if shares is not None:
        if method != "bonferroni":
            raise InvalidArgument("shares", shares, f'need method="bonferroni", not {method!r}')
        w = floats(shares)
        if w.shape != (k,) or not np.all(w > 0.0) or abs(w.sum() - 1.0) > 1e-9:
            remedy = f"must be {k} positive numbers that add up to 1"
            raise InvalidArgument("shares", shares, remedy)
        return np.minimum(p / w, 1.0)
    if method == "bonferroni":
        return floats(np.minimum(k * p, 1.0))
    if method == "bh":
        from scipy.stats import false_discovery_control

        return floats(false_discovery_control(p, axis=-1))
    order = np.argsort(p, axis=-1)
    ordered = np.take_along_axis(p, order, axis=-1)
    # no hypothesis may look better than one with a smaller p-value
    stepped = np.maximum.accumulate(np.arange(k, 0, -1) * ordered, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted


def adjusted_differences(estimates: Array, pvalues: Array, k: int) -> Array:
    """Holm's adjustment of all differences between groups, (r,), k categories a comparison."""
    # of two categories whose frequencies add up to one, a group has more of one by as much as it
    # has less of the other: both rows test one hypothesis, which counts once
    pairs = estimates.reshape(-1, 2) if k == 2 and estimates.size % 2 == 0 else None
    if pairs is None or not np.allclose(pairs.sum(axis=1), 0.0, rtol=0.0, atol=1e-12):
        return adjust(pvalues, "holm")
    return adjust(pvalues.reshape(-1, 2).max(axis=1), "holm").repeat(2)


def reject(
    pvalues: npt.ArrayLike,
    alpha: float = 0.05,
    method: str = "bonferroni",
    shares: npt.ArrayLike | None = None,
) -> npt.NDArray[np.bool_]:
    """Which hypotheses are rejected at level alpha.

    Parameters
    ----------
    pvalues, method, shares
        As for `adjust`, with its errors.
    alpha : float
        Level of the whole family, in (0, 1).

    Examples
    --------
    >>> reject([0.01, 0.02, 0.04], alpha=0.05, method="bonferroni")
    array([ True, False, False])
    >>> reject([0.01, 0.02, 0.04], alpha=0.05, method="holm")
    array([ True,  True,  True])
    """
    return adjust(pvalues, method, shares) <= level(alpha)


# -- Confidence intervals after selection of large estimates --------------------------------------


_CLOSEST = 1e-3  # standard errors above the bound, below which the ends hardly change


def selected_intervals(estimate: Array, se: Array, least: Array, alpha: float) -> Array:
    """Confidence intervals of means whose estimates were selected because they exceed `least`.

    A selected estimate x of mean mu has the law N(mu, se^2) truncated at `least`:
    ``P(X > x | X >= least) = sf((x - mu)/se) / sf((least - mu)/se)``. The interval ends at the mu
    where this is alpha/2 and 1 - alpha/2, so it covers with probability 1 - alpha given selection.
    Far above `least` it is the usual interval. Just above `least` the lower end falls far below,
    because nearly any mean could give such an estimate; very close to it, so does the upper end.

    Parameters
    ----------
    estimate, se, least : array, shape (k,)
        With estimate >= least.
    alpha : float
        Level in (0, 1).

    Examples
    --------
    >>> selected_intervals(np.array([10.0, 4.1]), np.ones(2), np.full(2, 4.0), 0.05).round(2)
    array([[  8.04,  11.96],
           [-32.81,   5.15]])
    """
    from scipy.special import log_ndtr, ndtri

    alpha = level(alpha)
    x, s, c = floats(estimate), floats(se), floats(least)
    usual, tails = -float(ndtri(alpha / 2.0)), np.array([[alpha / 2.0], [1.0 - alpha / 2.0]])
    # the lower end is far down where the estimate is just above the bound
    far = np.log(2.0 / alpha) / np.maximum((x - c) / s, _CLOSEST)
    high, low = np.tile(x + s * (usual + 1.0), (2, 1)), x - s * (usual + 1.0 + far)
    return root(
        lambda mean: log_ndtr((mean - x) / s) - log_ndtr((mean - c) / s) - np.log(tails), high, low
    ).T


def pvalue_text(p: float, name: str = "") -> str:
    """A p-value with three decimals, "<0.001" below that, and "-" where there is none.

    With a `name`, as within a sentence: "p = 0.034" or "p < 0.001".
    """
    text = "-" if np.isnan(p) else f"{p:.3f}" if p >= 0.0005 else "<0.001"
    if not name:
        return text
    return f"{name} < {text[1:]}" if text[0] == "<" else f"{name} = {text}"
