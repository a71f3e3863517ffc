"""Tests of association of two privatised variables, from their reports.

If X and Y are independent and their mechanisms act independently, the reports are independent too,
so features a(x') and b(y') of a report each are uncorrelated. The score test uses a_i =
Q(x'|i)/(p Q)(x'), the likelihood of category i over that of the marginal fit; for k-RR it is
Pearson's X^2 of the table of reports. No joint distribution is fitted, so no boundary matters.

If both reports of a respondent share a cohort, or a group with its own mechanisms, they are
independent only within these strata, and the tests centre within strata. `permutation_moments`
gives p-values for sparse tables, `permutation` exact ones for small n, and `wald` tests from an
estimated table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.cross_moments import (
    CrossMoments,
    Whitening,
    count_table,
    unvarying,
    weighted,
)
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.problems.covariance import finite_array

__all__ = [
    "CrossMoments",
    "ScoreTest",
    "centred_scores",
    "linear_trend",
    "pearson",
    "score",
    "smallest_expected",
    "trend_moments",
]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Outcome of `score`.

    Parameters
    ----------
    statistic : float
    df : int
    pvalue : float
        Of the chi-square law.
    ranks : tuple of int
        Ranks of the features of the two variables.
    note : str
        A warning if `df` is not as expected.
    """

    statistic: float
    df: int
    pvalue: float
    ranks: tuple[int, int]
    note: str = ""


def score(
    parts: Sequence[CrossMoments],
    expected_ranks: tuple[int, int] | None = None,
    space: Whitening | None = None,
) -> ScoreTest:
    """Score test of independence: that features of the two reports are uncorrelated within strata.

    One stratum: T = N tr(Sa^+ S Sb^+ S'), df = rank(Sa) rank(Sb), with S the covariance of a and b.
    Several: T = N vec(S)' [sum_c w_c Sa_c (x) Sb_c]^+ vec(S), df = the rank of the matrix in
    brackets, S = sum_c pi_c S_c, pi_c = n_c/N, w_c = pi_c n_c/(n_c - 1) (N - 1)/N.

    Parameters
    ----------
    parts : sequence of CrossMoments
        One per stratum, with the same features.
    expected_ranks : (int, int), optional
        Ranks of the features if every output were seen; `note` reports a difference.
    space : Whitening, optional
        Of the parts, if already known.

    Returns
    -------
    ScoreTest
        With a chi-square p-value, unreliable on sparse tables; use
        `ldpstats.inference.tables.permutation_moments` there.

    Raises
    ------
    NotIdentified
        If the features of both variables vary together in no stratum.
    NotAvailable
        If several strata need a matrix of order above 5000.
    InvalidArgument
        If there are no parts, or their numbers of features differ.

    Notes
    -----
    The weights w_c give E[T] = df (1 + O(1/N)) exactly under permutations within strata;
    T (N - 1)/N is the generalised Cochran-Mantel-Haenszel statistic. With 64 strata of 10 and 3 x 4
    categories, the size at .05 is .045, and .065 with the weights pi_c.

    References
    ----------
    The score test of FPE16's hypothesis of no association (section III-D), whose own statistic
    is `ldpstats.inference.tables.wald.fpe16`.

    Examples
    --------
    Twenty pairs of answers, privatised by k-RR with two categories: Pearson's X^2.

    >>> part = CrossMoments.of_table([[8, 2], [4, 6]], np.eye(2), np.eye(2))
    >>> result = score([part])
    >>> round(result.statistic, 4), result.df, round(result.pvalue, 4)
    (3.3333, 1, 0.0679)
    """
    space = Whitening.of(parts) if space is None else space
    S = weighted([part.covariance() for part in parts], _shares(parts))
    statistic = float(space.statistic(space.x @ S @ space.y.T))
    df, ranks, note = space.df, (len(space.x), len(space.y)), ""
    if expected_ranks is not None and df != math.prod(expected_ranks):
        note = (
            f"the features have ranks {ranks[0]} and {ranks[1]} instead of "
            f"{expected_ranks[0]} and {expected_ranks[1]} (for example, an output was never seen): "
            f"df {df} instead of {math.prod(expected_ranks)}"
        )
    return ScoreTest(statistic, df, float(chi2_pvalue(statistic, df)), ranks, note)


def linear_trend(
    parts: Sequence[CrossMoments], u: npt.ArrayLike, v: npt.ArrayLike
) -> tuple[float, float, float]:
    """Linear-by-linear association of scores u(X) and v(Y) of ordered categories.

    z = N u'Sv / sqrt(N sum_c w_c (u'Sa_c u)(v'Sb_c v)), in the notation of `score`. With one degree
    of freedom it has more power than `score` against a trend.

    Parameters
    ----------
    parts : sequence of CrossMoments
        One per stratum, with unbiased features, E[a | X = i] = e_i, such as the rows of Q^-1.
    u, v : array_like, shapes (k1,) and (k2,)
        Scores of the categories, such as 1, 2, 3, which are centred at their estimated means.

    Returns
    -------
    z : float
        Approximately standard normal under independence.
    covariance : float
        Estimated population covariance of u(X) and v(Y), u'Sv.
    correlation : float
        The same over the estimated standard deviations of u(X) and v(Y). Noise may take it beyond
        1; NaN if an estimated variance is not positive.

    Raises
    ------
    NotIdentified
        If u'a and v'b vary together in no stratum.
    InvalidArgument
        If there are no parts, or scores are constant or not as many as features.

    References
    ----------
    Agresti (2013), Categorical Data Analysis, section 3.4.1, for tables without privacy.

    Examples
    --------
    >>> part = CrossMoments.of_table([[8, 2], [4, 6]], np.eye(2), np.eye(2))
    >>> z, covariance, correlation = linear_trend([part], [0, 1], [0, 1])
    >>> round(z, 4), round(covariance, 4), round(correlation, 4)
    (1.8257, 0.1, 0.4082)
    """
    su, sv = centred_scores(parts, u, v)
    scored = [trend_moments(part, su, sv) for part in parts]
    statistic = score(scored).statistic
    shares = _shares(parts)
    covariance = float(weighted([part.covariance() for part in scored], shares)[0, 0])
    p = weighted([part.mean_x for part in parts], shares)
    q = weighted([part.mean_y for part in parts], shares)
    variances = float(p @ su**2), float(q @ sv**2)
    defined = min(variances) > 0
    correlation = covariance / math.sqrt(math.prod(variances)) if defined else math.nan
    return math.copysign(math.sqrt(statistic), covariance), covariance, correlation


def centred_scores(
    parts: Sequence[CrossMoments], u: npt.ArrayLike, v: npt.ArrayLike
) -> tuple[Array, Array]:
    """Scores u and v less their estimated means, for `linear_trend`."""
    if not parts:
        raise InvalidArgument("parts", parts, "must hold at least one stratum")
    shares = _shares(parts)
    p = weighted([part.mean_x for part in parts], shares)
    q = weighted([part.mean_y for part in parts], shares)
    return _centred("u", u, p), _centred("v", v, q)


def trend_moments(part: CrossMoments, u: Array, v: Array) -> CrossMoments:
    """Moments of the single features u'a and v'b."""
    return CrossMoments(
        part.n,
        np.reshape(u @ part.cross @ v, (1, 1)),
        np.array([u @ part.mean_x]),
        np.array([v @ part.mean_y]),
        np.reshape(u @ part.gram_x @ u, (1, 1)),
        np.reshape(v @ part.gram_y @ v, (1, 1)),
    )


def pearson(table: npt.ArrayLike) -> tuple[float, int, str]:
    """Pearson's X^2 of independence on the table of reports.

    It is valid for all mechanisms with tabulated outputs that act independently and share no
    cohort. For k-RR it is the score test. Use counts of reports, never n times an estimate.

    Parameters
    ----------
    table : array_like of integers, shape (l1, l2)
        Respondents with each pair of outputs. Outputs never seen are left out.

    Returns
    -------
    statistic : float
    df : int
        (outputs of X seen - 1) (outputs of Y seen - 1).
    note : str
        The outputs left out; empty if there are none.

    Raises
    ------
    NotIdentified
        If all reports of a variable are the same.
    InvalidArgument
        If the table does not hold counts.

    Examples
    --------
    >>> pearson([[30, 20, 0], [20, 30, 0]])
    (4.0, 1, '0 rows and 1 columns were never seen: df 1 instead of 2')
    """
    counts = count_table(table)
    seen = counts[np.ix_(counts.any(axis=1), counts.any(axis=0))]
    if 1 in seen.shape:
        raise unvarying("first" if seen.shape[0] == 1 else "second")
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
    df, full = ((t.shape[0] - 1) * (t.shape[1] - 1) for t in (seen, counts))
    missing = [a - b for a, b in zip(counts.shape, seen.shape, strict=True)]
    note = f"{missing[0]} rows and {missing[1]} columns were never seen: df {df} instead of {full}"
    return float(np.sum((seen - expected) ** 2 / expected)), df, note if any(missing) else ""


def smallest_expected(table: npt.ArrayLike) -> float:
    """Smallest expected count under independence, over the outputs that were seen.

    Below about 5 the chi-square law of a test of independence is unreliable.

    Examples
    --------
    >>> smallest_expected([[30, 20, 0], [2, 8, 0]])
    4.666666666666667
    """
    counts = count_table(table)
    r, c = counts.sum(axis=1), counts.sum(axis=0)
    return float(r[r > 0].min() * c[c > 0].min() / counts.sum())


def _shares(parts: Sequence[CrossMoments]) -> Array:
    """Shares of the strata among the respondents."""
    sizes = np.array([part.n for part in parts], dtype=np.float64)
    return np.asarray(sizes / sizes.sum())


def _centred(name: str, scores: npt.ArrayLike, p: Array) -> Array:
    """Scores less their mean under the estimate p, which need not sum to one."""
    array = finite_array(name, scores, 1)
    if array.size != p.size:
        raise InvalidArgument(name, array, f"must hold {p.size} scores, one per category")
    if not np.ptp(array) > 0:
        raise InvalidArgument(name, array, "must hold scores that differ, for example 1, 2, 3")
    return np.asarray(array - (p @ array) / p.sum())
