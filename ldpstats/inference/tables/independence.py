"""Tests of association of two privatised variables, from their reports or an estimated table.

If X and Y are independent and their mechanisms act independently, the reports are independent too,
so features a(x') and b(y') of a report each are uncorrelated. The score test uses a_i =
Q(x'|i)/(p Q)(x'), the likelihood of category i over that of the marginal fit; for k-RR it is
Pearson's X^2 of the table of reports. No joint distribution is fitted, so no boundary matters.

If both reports of a respondent share a cohort, or a group with its own mechanisms, they are
independent only within these strata, and the tests centre within strata. `tables.permutation` gives
p-values for sparse tables, and exact ones for small n.

Estimated tables are vectorised row-major: cell (i, j) of a k1 x k2 table is entry i k2 + j of a
vector and of its covariance. The Wald tests use the unconstrained estimate, which may have negative
cells.

A feature is a function of one report, a(x') or b(y'). A stratum is what the reports of both
variables share, a cohort or a group with its own mechanisms; otherwise all respondents are one.
Rank of generalised inverses (`Whitening`): a feature whose variance is below 1e-10 of its mean
square is constant; eigenvalues of the correlation matrix below max(1e-9, k 1e-14 g) of the largest
count as 0, with g the largest ratio of mean square to variance, by which rounding errors grow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, level, positive_integer, record
from ldpstats.errors import BoundaryWarning, InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.information import checked_inverse
from ldpstats.inference.tails import chi2_pvalue, normal_critical
from ldpstats.inference.tests import count_array
from ldpstats.likelihood.covariance import Covariance, finite_array


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Outcome of `score`."""

    statistic: float
    df: int
    pvalue: float  # of the chi-square law
    ranks: tuple[int, int]  # of the features of the two variables
    note: str = ""  # a warning if `df` is not as expected


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
        `ldpstats.inference.tables.permutation` there.

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
    is `ldpstats.inference.tables.independence.fpe16`.

    Examples
    --------
    Twenty pairs of answers, privatised by k-RR with two categories: Pearson's X^2.

    >>> part = CrossMoments.of_table([[8, 2], [4, 6]], np.eye(2), np.eye(2))
    >>> result = score([part])
    >>> round(result.statistic, 4), result.df, round(result.pvalue, 4)
    (3.3333, 1, 0.0679)
    """
    space = Whitening.of(parts) if space is None else space
    sizes = np.array(list(map(attrgetter("n"), parts)), dtype=np.float64)
    S = weighted(map(CrossMoments.covariance, parts), sizes / space.n)
    statistic = float(space.statistic(space.x @ S @ space.y.T))
    df, ranks, note = space.df, (len(space.x), len(space.y)), ""
    if expected_ranks is not None and df != (full := math.prod(expected_ranks)):
        note = (
            "the features have ranks {} and {} instead of {} and {} (for example, an output was "
            "never seen): df {} instead of {}"
        ).format(*ranks, *expected_ranks, df, full)
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
    return scored_trend(parts, u, v)[1]


def scored_trend(
    parts: Sequence[CrossMoments],
    u: npt.ArrayLike,
    v: npt.ArrayLike,
    inverses: Sequence[Array] | None = None,
) -> tuple[list[CrossMoments], tuple[float, float, float], list[Array]]:
    """Moments of single features u'a and v'b, the outcome of `linear_trend`, and the maps u and v.

    With `inverses` X it is the features ``X (a + 1)`` that are unbiased.
    """
    if not parts:
        raise InvalidArgument("parts", parts, "must hold at least one stratum")
    sizes = np.array(list(map(attrgetter("n"), parts)), dtype=np.float64)
    shares, maps, variances = sizes / sizes.sum(), [], []
    for axis, (name, scores) in enumerate((("u", u), ("v", v))):
        array, X = finite_array(name, scores, 1), None if inverses is None else inverses[axis]
        mean = weighted([(part.mean_x, part.mean_y)[axis] for part in parts], shares)
        mean = mean if X is None else X @ (mean + 1.0)
        if array.size != mean.size:
            raise InvalidArgument(name, array, f"must hold {mean.size} scores, one per category")
        if not np.ptp(array) > 0:
            raise InvalidArgument(name, array, "must hold scores that differ, for example 1, 2, 3")
        centred = array - (mean @ array) / mean.sum()  # estimates need not sum to one
        maps.append(centred if X is None else X.T @ centred)
        variances.append(float(mean @ centred**2))
    a, b = (one[None] for one in maps)
    scored = []
    for part in parts:
        cross, gram_x, gram_y = a @ part.cross @ b.T, a @ part.gram_x @ a.T, b @ part.gram_y @ b.T
        one = CrossMoments(part.n, cross, a @ part.mean_x, b @ part.mean_y, gram_x, gram_y)
        scored.append(one)
    statistic = score(scored).statistic
    covariance = float(weighted(map(CrossMoments.covariance, scored), shares)[0, 0])
    defined = min(variances) > 0
    correlation = covariance / math.sqrt(math.prod(variances)) if defined else math.nan
    z = math.copysign(math.sqrt(statistic), covariance)
    return scored, (z, covariance, correlation), maps


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
    rows, columns = np.subtract(counts.shape, seen.shape).tolist()
    note = f"{rows} rows and {columns} columns were never seen: df {df} instead of {full}"
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    return statistic, df, note if rows or columns else ""


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


# -- Tests of association from an estimated joint table and its covariance ------------------------


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
        If G V G' is singular, by the rule of `ldpstats.inference.tests`.
    InvalidArgument
        If shapes disagree.

    Examples
    --------
    Are two frequencies in the ratio of one to two?

    >>> from ldpstats.likelihood.covariance import multinomial
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
    df : int, (k1 - 1)(k2 - 1)

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
    >>> from ldpstats.likelihood.covariance import multinomial
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
    df : int, (k1 - 1)(k2 - 1)

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
    df : int, (k1 - 1)(k2 - 1) k3
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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> p = np.array([[[0.2, 0.1], [0.1, 0.1]], [[0.1, 0.1], [0.2, 0.1]]])
    >>> statistic, df, note = conditional_independence(p, multinomial(p.ravel(), n=100))
    >>> round(statistic, 4), df, note
    (6.25, 2, '')
    """
    table = _table("p", p, 3, covariance)
    k1, k2, k3 = table.shape
    statistic, df = wald_nonlinear(*conditional_departures(table, 2), covariance)
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
    p, covariance
        As in `conditional_independence`.

    Returns
    -------
    statistic : float
    df : int, (k1 - 1)(k2 - 1)(k3 - 1)

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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> p = np.array([[[0.2, 0.1], [0.1, 0.1]], [[0.1, 0.1], [0.2, 0.1]]])
    >>> statistic, df = homogeneity(p, multinomial(p.ravel(), n=1000))
    >>> round(statistic, 4), df
    (27.4545, 1)
    """
    table = _table("p", p, 3, covariance)
    if table.shape[2] < 2:
        raise InvalidArgument("p", table.shape, "must have at least two levels of Z to compare")
    refuse_weak_cells(table.ravel(), covariance)
    return wald_nonlinear(*interaction(table), covariance)


def refuse_weak_cells(p: Array, covariance: Covariance) -> None:
    """Refuse odds ratios of cells, (k,), that may be empty."""
    weak = p < _RELIABLE * np.sqrt(covariance.variances())
    if weak.any():
        raise NotAvailable(
            f"{int(weak.sum())} of {p.size} cells are below {_RELIABLE:g} standard errors, "
            "where odds ratios have no usable law; merge categories, or collect more reports"
        )


def conditional_departures(p: Array, given: int) -> tuple[Array, Array]:
    """Functions ``p_ijk p_..k - p_i.k p_.jk``, (q,), of which k is the axis `given`, and their
    Jacobian, (q, cells), row by row of p.
    """
    table = np.moveaxis(p, given, -1)
    k1, k2, k3 = table.shape
    slices = [_dependence(table[:, :, k]) for k in range(k3)]
    G = np.zeros((k3, (k1 - 1) * (k2 - 1), k1, k2, k3))
    for k, (_, jacobian) in enumerate(slices):
        G[k, ..., k] = jacobian.reshape(-1, k1, k2)
    rows = np.moveaxis(G, -1, given + 2).reshape(-1, p.size)
    return np.concatenate([g for g, _ in slices]), rows


def interaction(p: Array) -> tuple[Array, Array]:
    """Differences of log odds ratios between levels of a third variable, and their Jacobian."""
    contrasts = np.ones((1, 1))
    for k in p.shape:
        contrasts = np.kron(contrasts, np.column_stack([np.eye(k - 1), -np.ones(k - 1)]))
    return contrasts @ np.log(p.ravel()), contrasts / p.ravel()


def independent_given(p: Array, given: int) -> Array:
    """The table ``p_i.k p_.jk / p_..k``, of which k is the axis `given`."""
    first, second = (v for v in range(3) if v != given)
    mass = p.sum(axis=(first, second), keepdims=True)
    both = p.sum(axis=first, keepdims=True) * p.sum(axis=second, keepdims=True)
    return np.asarray(np.divide(both, mass, out=np.zeros(p.shape), where=mass > 0.0))


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


# -- Effects in a table of nonnegative frequencies, such as a maximum likelihood estimate ---------


_SEEN = 1e-3  # of 1 / n^2: a cell that was seen once has more variance
_NOTHING = 1e-10  # share below which a condition is empty


def allow_for_unseen(covariance: Covariance, nobs: int, alpha: float) -> Covariance:
    """Give cells that were never seen, of variables without noise, the variance z^2 / n^2.

    There normal intervals end where Wilson's of zero out of n does, but for terms in 1 / n^2.
    """
    unseen = covariance.variances() < _SEEN / nobs**2
    if not unseen.any():
        return covariance
    spread = np.where(unseen, (normal_critical(level(alpha)) / nobs) ** 2, 0.0)
    return replace(covariance, diagonal=covariance.diagonal + spread)


def axis_number(name: str, value: object) -> int:
    if value not in (0, 1) or isinstance(value, bool | np.bool_):
        raise InvalidArgument(name, value, "must be 0 for the rows or 1 for the columns")
    return int(value)


def fitted_conditionals(P: npt.ArrayLike, axis: int = 0) -> tuple[Array, Array]:
    """Conditional distributions of a table of nonnegative frequencies.

    Parameters
    ----------
    P : array_like, shape (k1, k2)
        Nonnegative frequencies.
    axis : {0, 1}
        The variable in the condition: 0 gives P(Y | X), 1 gives P(X | Y).

    Returns
    -------
    estimate : ndarray, shape (k1, k2)
        In [0, 1]; the marginal distribution of the other variable if the condition is empty.
    empty : ndarray of bool, shape (k1, k2)
        Whether the condition is empty.

    Examples
    --------
    >>> fitted_conditionals([[0.3, 0.1], [0.0, 0.0]])[0]
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    p = finite_array("P", P, 2)
    if axis_number("axis", axis):
        estimate, empty = fitted_conditionals(p.T)
        return estimate.T, empty.T
    total = p.sum(axis=1, keepdims=True)
    empty = np.broadcast_to(total <= _NOTHING * p.sum(), p.shape)
    others = np.broadcast_to(p.sum(axis=0) / p.sum(), p.shape)
    return np.divide(p, total, out=np.array(others), where=~empty), empty


def fitted_cramers_v(P: npt.ArrayLike) -> float:
    """Cramer's V of a table of nonnegative frequencies, without empty rows and columns.

    Examples
    --------
    >>> round(fitted_cramers_v([[0.3, 0.2], [0.1, 0.4]]), 4)
    0.4082
    """
    p = finite_array("P", P, 2)
    r, c = p.sum(axis=1), p.sum(axis=0)
    rows, columns = r > _NOTHING * p.sum(), c > _NOTHING * p.sum()
    expected = np.outer(r[rows], c[columns]) / p.sum()
    phi2 = float(np.sum((p[np.ix_(rows, columns)] - expected) ** 2 / expected)) / p.sum()
    return math.sqrt(min(phi2 / (min(p.shape) - 1), 1.0))


# -- Moments of the features of pairs of reports, and coordinates that whiten them ----------------


_CONSTANT = 1e-10  # variance over mean square below which a feature is constant
_RANK = 1e-9  # eigenvalue of a correlation matrix, relative to the largest, that counts as 0
_ROUNDING = 1e-14  # relative rounding error of a mean of products
_LARGEST = 5000  # order of the largest matrix to decompose with several strata


@record
class CrossMoments:
    """First and second moments of the features of the reports of one stratum.

    Parameters
    ----------
    n : int
        Number of respondents.
    cross : ndarray, shape (k1, k2)
        Mean of a b'.
    mean_x, mean_y : ndarray, shapes (k1,) and (k2,)
        Means of a and of b.
    gram_x, gram_y : ndarray, shapes (k1, k1) and (k2, k2)
        Means of a a' and of b b'.

    Raises
    ------
    InvalidArgument
        If shapes disagree, an entry is not finite, or n < 1.

    Examples
    --------
    >>> part = CrossMoments.of_table([[30, 20], [20, 30]], np.eye(2), np.eye(2))
    >>> part.n, part.covariance()
    (100, array([[ 0.05, -0.05],
           [-0.05,  0.05]]))
    """

    n: int
    cross: Array
    mean_x: Array
    mean_y: Array
    gram_x: Array
    gram_y: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_integer("n", self.n))
        k1, k2 = np.shape(self.cross) if np.ndim(self.cross) == 2 else (0, 0)
        shapes = {"cross": (k1, k2), "mean_x": (k1,), "mean_y": (k2,)}
        for name, shape in (shapes | {"gram_x": (k1, k1), "gram_y": (k2, k2)}).items():
            array = finite_array(name, getattr(self, name), len(shape))
            if array.shape != shape:
                raise InvalidArgument(name, array.shape, f"must have the shape {shape}, as cross")
            object.__setattr__(self, name, array)

    @classmethod
    def of_reports(cls, a: npt.ArrayLike, b: npt.ArrayLike) -> CrossMoments:
        """Moments of features a, shape (n, k1), and b, shape (n, k2), one respondent a row."""
        x, y = finite_array("a", a, 2), finite_array("b", b, 2)
        if len(x) != len(y):
            raise InvalidArgument("b", y.shape, f"must have {len(x)} rows, one per respondent")
        n = positive_integer("n", len(x))
        return cls(n, x.T @ y / n, x.mean(axis=0), y.mean(axis=0), x.T @ x / n, y.T @ y / n)

    @classmethod
    def of_table(cls, table: npt.ArrayLike, ax: npt.ArrayLike, by: npt.ArrayLike) -> CrossMoments:
        """Moments from counts of pairs of outputs.

        Parameters
        ----------
        table : array_like of integers, shape (l1, l2)
            Respondents with each pair of outputs.
        ax, by : array_like, shapes (l1, k1) and (l2, k2)
            Features of each output.
        """
        counts, x, y = count_table(table), finite_array("ax", ax, 2), finite_array("by", by, 2)
        if (len(x), len(y)) != counts.shape:
            raise InvalidArgument("table", counts.shape, f"must have shape {(len(x), len(y))}")
        n = counts.sum()
        shares = counts / n
        r, c = shares.sum(axis=1), shares.sum(axis=0)
        gram_x, gram_y = (x.T * r) @ x, (y.T * c) @ y
        return cls(int(n), x.T @ shares @ y, r @ x, c @ y, gram_x, gram_y)

    def covariance(self) -> Array:
        """Covariance of a and b within the stratum, shape (k1, k2)."""
        return np.asarray(self.cross - np.outer(self.mean_x, self.mean_y))

    def covariance_x(self) -> Array:
        """Covariance matrix of a, shape (k1, k1)."""
        return np.asarray(self.gram_x - np.outer(self.mean_x, self.mean_x))

    def covariance_y(self) -> Array:
        """Covariance matrix of b, shape (k2, k2)."""
        return np.asarray(self.gram_y - np.outer(self.mean_y, self.mean_y))


@record
class Whitening:
    """Coordinates in which features are uncorrelated with unit variance under independence."""

    n: int  # respondents in all strata
    x: Array  # (r1, k1): from the features of the first variable to its coordinates
    y: Array  # (r2, k2): and of the second
    joint: Array | None = None  # (df, r1 r2): whitens their products; None in one stratum

    @classmethod
    def of(cls, parts: Sequence[CrossMoments]) -> Whitening:
        """The coordinates for strata `parts`; errors are those of `score`."""
        shapes = [part.cross.shape for part in parts]
        if len(set(shapes)) != 1:
            raise InvalidArgument("parts", shapes, "must be strata with the same features")
        sizes = np.array([part.n for part in parts], dtype=np.float64)
        n, weights = int(sizes.sum()), np.ones(1)
        if len(parts) > 1:  # w_c of `score`; strata of one respondent have weight 0
            factor = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1.0), 0.0)
            weights = sizes / n * factor * (n - 1) / n
        x = whiten(
            weighted(map(CrossMoments.covariance_x, parts), weights),
            weighted([part.gram_x.diagonal() for part in parts], weights),
        )
        y = whiten(
            weighted(map(CrossMoments.covariance_y, parts), weights),
            weighted([part.gram_y.diagonal() for part in parts], weights),
        )
        if not (len(x) and len(y)):
            constant = [name for name, axes in (("first", x), ("second", y)) if not len(axes)]
            raise unvarying(" and the ".join(constant))
        if len(parts) == 1:
            return cls(n, x, y)
        order = len(x) * len(y)
        if order > _LARGEST:
            raise NotAvailable(
                f"{order} products of features in {len(parts)} strata need a matrix of that order; "
                f"merge categories until there are at most {_LARGEST}"
            )
        products = np.zeros((order, order))
        for part, weight in zip(parts, weights, strict=True):
            inner = x @ part.covariance_x() @ x.T
            products += weight * np.kron(inner, y @ part.covariance_y() @ y.T)
        joint = whiten(products, np.diagonal(products))
        if not len(joint):
            raise unvarying("first, wherever the second does,")
        return cls(n, x, y, joint)

    @property
    def df(self) -> int:
        """Number of coordinates of products."""
        return len(self.x) * len(self.y) if self.joint is None else len(self.joint)

    def statistic(self, cross: Array) -> Array:
        """T from mean cross-products of centred coordinates, shape (..., r1, r2)."""
        flat = cross.reshape(*cross.shape[:-2], -1)
        if self.joint is not None:
            flat = flat @ self.joint.T
        return np.asarray(self.n * np.sum(flat**2, axis=-1), dtype=np.float64)


def count_table(table: npt.ArrayLike) -> Array:
    """A two-way table of counts as float64, after a check that it is not empty."""
    counts = finite_array("table", table, 2)
    return count_array("table", counts.ravel()).reshape(counts.shape)


def weighted(arrays: Iterable[Array], weights: Array) -> Array:
    """Weighted sum of arrays of one shape."""
    return np.tensordot(weights, list(arrays), axes=1)


def whiten(S: Array, squares: Array) -> Array:
    """W of shape (rank, k) with W S W' = I and W'W = S^-; rank as in the module's docstring."""
    variances = np.diagonal(S)
    varies = variances > _CONSTANT * squares
    W = np.zeros((int(varies.sum()), len(S)))
    if not len(W):
        return W
    sd = np.sqrt(variances[varies])
    values, vectors = np.linalg.eigh(S[np.ix_(varies, varies)] / np.outer(sd, sd))
    growth = float(np.max(squares[varies] / variances[varies]))
    kept = values > max(_RANK, _ROUNDING * len(sd) * growth) * values[-1]
    W[:, varies] = (vectors / sd[:, None]).T
    return np.asarray(W[kept] / np.sqrt(values[kept])[:, None])


def unvarying(which: str) -> NotIdentified:
    """The error of a test in which the reports of one variable, or of both, are constant."""
    return NotIdentified(
        f"the reports of the {which} variable do not vary, so association cannot be tested;"
        " use variables with at least two categories that occur, and epsilon > 0"
    )
