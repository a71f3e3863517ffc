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
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, level, record
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.independence import axis_number
from ldpstats.inference.tables.ratio import Effect, Kind, fieller_within, odds_profile
from ldpstats.inference.tails import chi2_pvalue, normal_critical, normal_pvalue, skewed_pvalue
from ldpstats.likelihood.covariance import Covariance, finite_array


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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(risk_difference(P, multinomial(np.ravel(P), n=400), 0, 1, 0))
    P(Y = 0 | X = 0) - P(Y = 0 | X = 1): 0.4, 95% interval [0.3123, 0.4877]
    """
    (a, c, B, D), linear, (first, second) = _two_rows(P, covariance, i, i2, j)
    values, rates = (a * D - c * B, B * D), [(D, -B, -c, a), (0.0, 0.0, D, B)]
    return linear.ratio(f"{first} - {second}", values, rates, (-1.0, 1.0), alpha)


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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(risk_ratio(P, multinomial(np.ravel(P), n=400), 0, 1, 0))
    P(Y = 0 | X = 0) / P(Y = 0 | X = 1): 3, 95% interval [2.282, 4.217]
    """
    (a, c, B, D), linear, (first, second) = _two_rows(P, covariance, i, i2, j)
    values, rates = (a * D, c * B), [(D, 0.0, 0.0, a), (0.0, B, c, 0.0)]
    return linear.ratio(f"{first} / {second}", values, rates, (0.0, math.inf), alpha)


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
    P, covariance, alpha
        As in `risk_difference`.
    rows, columns : sequence of two int
        Positions (i, i2) and (j, j2).

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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(odds_ratio(P, multinomial(np.ravel(P), n=400), (0, 1), (0, 1)))
    odds ratio of Y = 0 against Y = 1, X = 0 against X = 1: 6, 95% interval
      [3.836, 9.384]
    >>> effect = odds_ratio(P, multinomial(np.ravel(P), n=100), (0, 1), (0, 1))
    >>> effect.kind, round(effect.lower, 2), round(effect.upper, 2), effect.message[:65]
    ('bounded', 2.63, 17.56, 'profile set, as P(X = 1, Y = 0) = 0.1 is 3.3 standard errors from')
    """
    table = EstimatedTable(P, covariance)
    i, i2 = table.pair("rows", rows, 0)
    j, j2 = table.pair("columns", columns, 1)
    at = [(i, j), (i2, j2), (i, j2), (i2, j)]
    linear = table.linear([table.cell(*cell) for cell in at])
    (one, other), (x, x2) = map(table.says, (1, 1), (j, j2)), map(table.says, (0, 0), (i, i2))
    name = f"odds ratio of {one} against {other}, {x} against {x2}"
    words = [f"P({table.says(0, row)}, {table.says(1, column)})" for row, column in at]
    if weak := linear.weak(words):
        ratio, low, high = odds_profile(linear.values, linear.covariance, level(alpha))
        kind: Kind = "bounded" if math.isfinite(high) else "unbounded"
        return Effect(name, ratio, low, high, alpha, kind, f"profile set, as {weak}")
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    gradient, log = signs / linear.values, float(signs @ np.log(linear.values))
    half = normal_critical(alpha) * math.sqrt(gradient @ linear.covariance @ gradient)
    return Effect(name, math.exp(log), math.exp(log - half), math.exp(log + half), alpha)


def _two_rows(
    P: pd.DataFrame | npt.ArrayLike, covariance: Covariance, i: int, i2: int, j: int
) -> tuple[Array, LinearForms, tuple[str, str]]:
    """Cells (i, j) and (i2, j) with their rows, and the two conditionals in words."""
    table = EstimatedTable(P, covariance)
    first, second = table.pair("i, i2", (i, i2), 0)
    column = table.position("j", j, 1)
    cells = [table.cell(first, column), table.cell(second, column)]
    linear = table.linear([*cells, table.margin(0, first), table.margin(0, second)])
    Y = table.says(1, column)
    words = f"P({Y} | {table.says(0, first)})", f"P({Y} | {table.says(0, second)})"
    return linear.values, linear, words


# -- Conditional probabilities of an estimated table, with Fieller's sets -------------------------


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
    P, covariance, alpha
        As in `risk_difference`.
    given_axis : {0, 1}
        The variable in the condition: 0 for X, the rows; 1 for Y, the columns.
    i, j : int
        Positions of row and column.

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
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(conditional(P, multinomial(np.ravel(P), n=400), 0, 1, 1))
    P(Y = 1 | X = 1): 0.8, 95% interval [0.7443, 0.8557]
    """
    table = EstimatedTable(P, covariance)
    i, j = table.position("i", i, 0), table.position("j", j, 1)
    margin = table.margin(axis_number("given_axis", given_axis), (i, j)[given_axis])
    linear = table.linear([table.cell(i, j), margin])
    X, Y = table.says(0, i), table.says(1, j)
    name = f"P({X} | {Y})" if given_axis else f"P({Y} | {X})"
    cell, total = linear.values
    return linear.ratio(name, (cell, total), [(1.0, 0.0), (0.0, 1.0)], (0.0, 1.0), alpha)


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
    P, covariance, alpha
        As in `risk_difference`.
    axis : {0, 1}
        The variable in the condition: 0 gives P(Y | X), 1 gives P(X | Y).
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

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> estimate, lower, upper, unbounded = conditionals(P, multinomial(np.ravel(P), n=400))
    >>> estimate, lower.round(4)
    (array([[0.6, 0.4],
           [0.2, 0.8]]), array([[0.5318, 0.3318],
           [0.1443, 0.7443]]))
    """
    table = EstimatedTable(P, covariance)
    if axis_number("axis", axis):
        cells = np.arange(table.p.size).reshape(table.p.shape).T.ravel()
        transposed = conditionals(table.p.T, covariance.take(cells), 0, alpha, cumulative)
        estimate, lower, upper, unbounded = (values.T for values in transposed)
        return estimate, lower, upper, unbounded
    alpha = level(alpha)
    total = table.p.sum(axis=1, keepdims=True)
    part = np.cumsum(table.p, axis=1) if cumulative else table.p
    lower, upper, unbounded = np.zeros(part.shape), np.ones(part.shape), np.ones(part.shape, bool)
    for i, row in enumerate(np.arange(part.size).reshape(part.shape)):
        V = covariance.take(row).matrix()
        of_total, with_total = V.sum(), V.sum(axis=1)
        if cumulative:
            V, with_total = V.cumsum(axis=0).cumsum(axis=1), with_total.cumsum()
        for j, shared in enumerate(with_total):
            both, own = (float(part[i, j]), float(total[i, 0])), (float(V[j, j]), float(of_total))
            low, high, kind, _ = fieller_within(*both, *own, float(shared), (0.0, 1.0), alpha)
            if kind != "complement":
                lower[i, j], upper[i, j] = low, high
            unbounded[i, j] = kind != "bounded"
    positive = np.where(total > 0, total, np.nan)
    return np.asarray(part / positive), lower, upper, unbounded


# -- An estimated two-way table with its labels, and linear forms of its cells --------------------


_CLEAR = 4.0  # standard errors that a cell or margin in a denominator must exceed
_NAMED = 4  # weak cells or margins named in a message
_REMEDY = "merge rare categories, or collect more reports"


@record
class LinearForms:
    """Values of a few linear functionals of the table, shape (q,), and their covariance."""

    values: Array
    covariance: Array

    @property
    def se(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))

    def ratio(
        self,
        name: str,
        values: tuple[float, float],
        rates: npt.ArrayLike,
        possible: tuple[float, float],
        alpha: float,
    ) -> Effect:
        """Ratio of two functions of the values with these derivatives."""
        V = np.asarray(rates) @ self.covariance @ np.transpose(rates)
        moments = float(V[0, 0]), float(V[1, 1]), float(V[0, 1])
        low, high, kind, words = fieller_within(*values, *moments, possible, level(alpha))
        estimate = float(values[0] / values[1]) if values[1] > 0 else math.nan
        return Effect(name, estimate, low, high, alpha, kind, words)

    def weak(self, words: Sequence[str]) -> str:
        """Message that names the values below four standard errors, with the remedy."""
        named = [
            f"{name} = {value:.4g} is {value / error if error else 0.0:.1f} standard errors from 0"
            for name, value, error in zip(words, self.values, self.se, strict=True)
            if value <= _CLEAR * error
        ]
        if len(named) > _NAMED:
            named[_NAMED:] = [f"so are {len(named) - _NAMED} others"]
        return f"{' and '.join(named)}, fewer than {_CLEAR:g}: {_REMEDY}" if named else ""


class EstimatedTable:
    """A checked table with its labels, and linear forms of its cells."""

    def __init__(self, P: pd.DataFrame | npt.ArrayLike, covariance: Covariance) -> None:
        self.p, self.covariance = finite_array("P", P, 2), covariance
        if covariance.size != (size := self.p.size):
            raise InvalidArgument("covariance", covariance.size, f"must have {size} rows, as P")
        frame = P if isinstance(P, pd.DataFrame) else pd.DataFrame(self.p)
        self.labels: list[pd.Index[Any]] = []
        for own, name in ((frame.index, "X"), (frame.columns, "Y")):
            self.labels.append(own.rename(name if own.name is None else own.name))

    def position(self, name: str, value: Any, axis: int) -> int:
        count = self.p.shape[axis]
        whole = isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)
        place = int(value) if whole else -1
        if not 0 <= place < count:
            raise InvalidArgument(name, value, f"must be a position from 0 to {count - 1}")
        return place

    def pair(self, name: str, value: Sequence[int], axis: int) -> tuple[int, int]:
        places = [self.position(name, place, axis) for place in value]
        if len(places) != 2 or places[0] == places[1]:
            raise InvalidArgument(name, value, "must be two different positions, such as (0, 1)")
        return places[0], places[1]

    def says(self, axis: int, place: int) -> str:
        return f"{self.labels[axis].name} = {self.labels[axis][place]}"

    def cell(self, i: int, j: int) -> Array:
        """Indicator of one cell."""
        reads = np.zeros(self.p.shape)
        reads[i, j] = 1.0
        return reads

    def margin(self, axis: int, place: int) -> Array:
        """Indicator of one row (axis 0) or column (axis 1)."""
        reads = np.zeros(self.p.shape)
        np.moveaxis(reads, axis, 0)[place] = 1.0
        return reads

    def linear(self, functionals: list[Array]) -> LinearForms:
        R = np.array([reads.ravel() for reads in functionals])
        return LinearForms(R @ self.p.ravel(), self.covariance.transform(R))

    def margins(self, axis: int) -> LinearForms:
        return self.linear([self.margin(axis, place) for place in range(self.p.shape[axis])])

    def strong(self, axis: int) -> list[int]:
        """Categories that exceed four standard errors, the sum of the others exceeding them too."""
        size, margins = self.p.shape[axis], self.margins(axis)
        clear = margins.values - _CLEAR * margins.se
        strong = [int(i) for i in np.argsort(-clear, kind="stable") if clear[i] > 0.0]
        while strong and len(strong) < size:
            rest = np.isin(np.arange(size), strong, invert=True).astype(float)
            spread = math.sqrt(max(float(rest @ margins.covariance @ rest), 0.0))
            if rest @ margins.values > _CLEAR * spread:
                break
            strong.pop()
        return sorted(strong)


# -- Cramer's V, and departures from independence -------------------------------------------------


_LEAST, _MOST = 1e-300, 1.0 - 1e-9  # p-values
_FADES = 4  # power by which the p-value of a test counts less further from independence
_LARGE = 2000.0  # noncentrality from which the normal law with skewness takes over
_RIDGE = 1e-9  # relative variance added to a singular covariance
_SUM = 1e4  # weight of the sum of the cells, over that of the largest
_GRID, _ROUNDS = 21, 6  # points of a side, and rounds, of a search on a square


def cramers_v(
    P: pd.DataFrame | npt.ArrayLike,
    covariance: Covariance,
    alpha: float = 0.05,
    pvalue: float | None = None,
) -> Effect:
    """Cramer's V = sqrt(phi^2 / (min(k1, k2) - 1)), corrected for bias.

    phi^2 = ||z||^2 with z_ij = (p_ij - r_i c_j) / sqrt(r_i c_j), r and c the margins. Noise of
    covariance S adds tr S, which is subtracted. The interval inverts a test of independence: its
    lower end is above 0 exactly where the test rejects at level `alpha`.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution, rescaled to sum to one.
    covariance : Covariance
        Of P.ravel().
    alpha : float
        One minus the confidence level.
    pvalue : float, optional
        Of a test of independence from the same reports; by default, of the estimate itself.

    Returns
    -------
    Effect
        If a margin of a table larger than 2 x 2 does not exceed four standard errors, the estimate
        is nan, and the upper end a bound from the table with its weak categories merged; see the
        notes.

    Raises
    ------
    InvalidArgument
        If shapes disagree, or the table has one row or column.

    Notes
    -----
    Let a normal deviate of mean d and variance 1 have the absolute value y. ``|d| = v`` has the
    p-value ``P(||N| - v| >= |y - v|)``, which is the two-sided one at v = 0. The set of all v whose
    p-value is above alpha says, at the y that goes with `pvalue`, how far both ends are from y, and
    which shares of alpha are beyond them.

    2 x 2: both ends are those of the tables p >= 0 that are as far from the estimate, in standard
    errors. No margin need be clear of 0. Larger tables: ``||z||^2`` has a noncentral chi-square law
    of mean tr S + phi^2 and variance 2 tr S^2 + 4 phi^2 w, w = z'Sz / z'z, and both ends have these
    shares beyond them. Where independence is further from the estimate than the test says, or less
    far, the lower end moves in proportion; the further it is from 0, the less.

    Merging categories never raises phi^2 (a chi-square divergence). Let R and C be the sums of the
    weak rows and columns. The whole table exceeds the merged one by at most R / min c + C / min r,
    minima over the other margins, plus the smaller number of weak categories of the two variables.
    Bonferroni's rule shares the confidence among these bounds, so the upper end is high. The lower
    end is the larger of that of the merged table and that of the whole one with weak margins taken
    to be four standard errors larger than estimated, which lowers V.

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(cramers_v(P, multinomial(np.ravel(P), n=400)))
    Cramer's V of X and Y: 0.4055, 95% interval [0.3198, 0.4965]
    """
    table, alpha = EstimatedTable(P, covariance), level(alpha)
    if min(table.p.shape) < 2:
        raise InvalidArgument("P", table.p.shape, "must have at least two rows and two columns")
    name = f"Cramer's V of {table.labels[0].name} and {table.labels[1].name}"
    at = [(axis, place) for axis in (0, 1) for place in range(table.p.shape[axis])]
    margins, words = table.linear([table.margin(*where) for where in at]), ""
    weak = margins.weak([f"P({table.says(*where)})" for where in at])
    if table.p.shape == (2, 2):
        estimate, low, high = _Fourfold(table).interval(alpha, pvalue)
        if not weak:
            norm = _Norm(*standardised(table.p, covariance))
            estimate = norm.value - norm.trace
    elif weak:
        estimate, (low, high) = math.nan, _bounded_phi2(table, alpha, pvalue)
        words = f"bound from merged categories, as {weak}"
    else:
        norm = _Norm(*standardised(table.p, covariance))
        estimate, (low, high) = norm.value - norm.trace, norm.interval(alpha, pvalue)
        if norm.value < norm.least(alpha):
            words = "the table is closer to independence than noise allows"
    scale = min(table.p.shape) - 1
    low, high = (math.sqrt(min(v / scale, 1.0)) for v in (low, high))
    if not math.isnan(estimate):
        estimate = min(max(math.sqrt(max(estimate / scale, 0.0)), low), high)
    kind: Kind = "bounded" if high < 1.0 else "unbounded"
    return Effect(name, estimate, low, high, alpha, kind, words)


def _folded(pvalue: float, alpha: float) -> tuple[float, float, float]:
    """y with this two-sided p-value, and the ends of the set of ``|d|`` for N(d, 1)."""
    from scipy.optimize import brentq

    y = normal_critical(min(max(pvalue, _LEAST), _MOST))
    reach = y + normal_critical(alpha) + 1.0

    def above(v: float) -> float:  # v is further from 0 than y
        tails = normal_pvalue([v - y, v + y, 3.0 * v - y], "larger")
        return float(tails @ [2.0, -1.0, 1.0]) - alpha

    def below(v: float) -> float:
        tails = normal_pvalue([y - v, y + v, 3.0 * v - y], "larger")
        return float(tails[0] + tails[1] + max(tails[0] - tails[2], 0.0)) - alpha

    upper = float(brentq(above, y, reach))
    return y, float(brentq(below, 0.0, y)) if pvalue < alpha else 0.0, upper


def _moved(root: float, target: float, goal: float) -> float:
    """The r below `root` that is `goal` on a scale on which `root` is `target`, above the goal."""
    from scipy.optimize import brentq

    def excess(r: float) -> float:
        return r + (target - root) * (r / root) ** _FADES - goal

    return float(brentq(excess, 0.0, root)) if root > 0.0 else 0.0


class _Fourfold:
    """Estimates x of the first row r, column c and cell a of a 2 x 2 table, and their law.

    Given r and c, a has the mean ``a + along (x - (r, c))`` and variance `rest`;
    `precision` is that of r and c.
    """

    def __init__(self, table: EstimatedTable) -> None:
        s = table.p.sum()
        reads = np.array([table.margin(0, 0), table.margin(1, 0), table.cell(0, 0)]).reshape(3, 4)
        self.x = x = reads @ table.p.ravel() / s
        self.covariance = S = table.covariance.transform((reads - x[:, None]) / s)
        S += _RIDGE * max(float(np.trace(S)), 1e-300) * np.eye(3)
        self.precision = np.linalg.inv(S[:2, :2])
        self.along = self.precision @ S[:2, 2]
        self.rest = float(S[2, 2] - self.along @ S[:2, 2])

    def _margins(self, r: Array, c: Array) -> tuple[Array, Array]:
        """Squared distances of margins, and the best first cell given these."""
        apart = np.stack([r - self.x[0], c - self.x[1]], axis=-1)
        return np.sum(apart @ self.precision * apart, axis=-1), self.x[2] + apart @ self.along

    def phi(self, squared: float, side: float, start: Array) -> float:
        """The largest phi, or the least (side -1), of the tables within a squared distance."""

        def within(r: Array, c: Array) -> Array:
            apart, a = self._margins(r, c)
            half = np.sqrt(np.maximum((squared - apart) * self.rest, 0.0))
            low, high = np.maximum(0.0, r + c - 1.0), np.minimum(r, c)
            first, last = np.maximum(low, a - half), np.minimum(high, a + half)
            there = (apart <= squared) & (first <= last)
            return np.where(there, side * _phi(r, c, last if side > 0.0 else first), -np.inf)

        largest = _highest(within, start[:2], *self._box(math.sqrt(squared)))
        return side * max(largest, side * float(_phi(*start)))

    def _box(self, reach: float) -> tuple[Array, Array]:
        """Ends of both margins within so many standard errors."""
        se = np.sqrt(np.diagonal(self.covariance))[:2]
        return np.clip(self.x[:2] - reach * se, 0, 1), np.clip(self.x[:2] + reach * se, 0, 1)

    def interval(self, alpha: float, pvalue: float | None) -> tuple[float, float, float]:
        """phi^2 of the nearest table, and the ends of its interval."""
        from scipy.optimize import nnls

        # r, c and a of the nearest table without negative cells, and its squared distance
        white = np.linalg.inv(np.linalg.cholesky(self.covariance))
        cells = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
        weight = _SUM * float(np.abs(white).max())
        system = np.vstack([white @ cells, np.full(4, weight)])
        nearest = nnls(system, np.r_[white @ self.x, weight])[0]
        start = cells @ (nearest / nearest.sum())
        least = float(np.sum((white @ (start - self.x)) ** 2))

        def closeness(r: Array, c: Array) -> Array:  # of tables with independent rows and columns
            apart, a = self._margins(r, c)
            return np.asarray(-(apart + (a - r * c) ** 2 / self.rest))

        margins = np.clip(self.x[:2], 0.0, 1.0)
        reach = math.sqrt(-float(closeness(*margins)))
        independent = -_highest(closeness, margins, *self._box(reach))
        root = math.sqrt(max(independent - least, 0.0))
        p = float(normal_pvalue(root)) if pvalue is None else pvalue
        y, lower, upper = _folded(p, alpha)
        ends = [self.phi(least + (upper - y) ** 2, side, start) for side in (1.0, -1.0)]
        high, estimate = max(ends[0], -ends[1]), float(_phi(*start))
        low = 0.0
        if p < alpha:
            side = math.copysign(1.0, estimate)
            squared = least + _moved(root, y, y - lower) ** 2
            low = side * self.phi(squared, -side, start)
            if low <= 0.0:  # the estimate has no association; phi is at least four times p11 - r c
                step = np.array([-self.x[1], -self.x[0], 1.0])
                low = min(4.0 * lower * math.sqrt(step @ self.covariance @ step), high)
        return estimate**2, low**2, high**2


def _phi(r: Array, c: Array, a: Array) -> Array:
    """phi of 2 x 2 tables, 0 where a row or column is empty."""
    square = np.maximum(np.asarray(r * (1.0 - r) * c * (1.0 - c)), 0.0)
    phi = np.divide(a - r * c, np.sqrt(square), out=np.zeros_like(square), where=square > 0.0)
    return np.asarray(phi)


def _highest(f: Callable[[Array, Array], Array], start: Array, low: Array, high: Array) -> float:
    """The maximum of a function on a rectangle, on grids about the best point so far."""
    best, at, ends = -math.inf, start, (low, high)
    for _ in range(_ROUNDS):
        u, v = (np.linspace(*pair, _GRID) for pair in zip(*ends, strict=True))
        values = f(*np.meshgrid(u, v, indexing="ij"))
        i, j = np.unravel_index(int(values.argmax()), values.shape)
        if values[i, j] > best:
            best, at = float(values[i, j]), np.array([u[i], v[j]])
        step = 1.5 * (ends[1] - ends[0]) / (_GRID - 1)
        ends = np.maximum(at - step, low), np.minimum(at + step, high)
    return best


class _Norm:
    """``||z||^2`` of an estimate z of covariance S, whose mean has the squared norm phi^2.

    `trace` and `squares` are those of S and of S^2, `along` is the variance along z.
    """

    def __init__(self, z: Array, S: Covariance) -> None:
        d, F, shared, v = S.diagonal, S.factors, S.core, np.diagonal(S.core)
        if F is not None:  # tr S^2 = sum d^2 + 2 sum d (v - d) + tr (C F'F)^2
            shared, v = S.core @ (F.T @ F), S.variances()
        self.squares = float(d @ (2.0 * v - d)) + float(np.sum(shared * shared.T))
        self.value, self.trace = float(z @ z), float(v.sum())
        # of a z that is noise; where z, by rounding, has no variance, a little
        self.along = self.squares / self.trace if self.trace > 0.0 else 0.0
        if self.value > 0.0:
            self.along = max(float(z @ S.times(z)) / self.value, _RIDGE * self.along)

    def tail(self, phi2: float, value: float, upper: bool) -> float:
        """Probability of so large a squared norm, or so small a one."""
        from scipy.special import chdtr, chndtr

        mean, variance = self.trace + phi2, 2.0 * self.squares + 4.0 * phi2 * self.along
        beyond = phi2 / self.along
        unit = variance / (mean + math.sqrt(mean**2 + 2.0 * beyond * variance))
        nu = max(mean / unit - beyond, 1e-6)
        if beyond > _LARGE:
            sign, sd = 1.0 if upper else -1.0, math.sqrt(variance)
            skewness = unit**3 * (8.0 * nu + 24.0 * beyond) / sd**3
            return float(skewed_pvalue(sign * (value - mean) / sd, sign * skewness))
        if upper and beyond == 0.0:
            return float(chi2_pvalue(value / unit, nu))
        below = chndtr(value / unit, nu, beyond) if beyond > 0.0 else chdtr(nu, value / unit)
        return float(1.0 - below if upper else below)

    def least(self, alpha: float) -> float:
        """The squared norm that is exceeded by all but alpha / 2 under independence."""
        from scipy.special import chdtri

        if self.trace <= 0.0:
            return 0.0
        unit = self.squares / self.trace
        return unit * float(chdtri(self.trace / unit, 1.0 - alpha / 2.0))

    def interval(self, alpha: float, pvalue: float | None) -> tuple[float, float]:
        """Ends of the interval of phi^2."""
        if self.trace <= 0.0:  # a variable does not vary
            return 0.0, math.inf
        tail = max(self.tail(0.0, self.value, True), _LEAST)
        p = min(max(tail if pvalue is None else pvalue, _LEAST), _MOST)
        y, lower, upper = _folded(p, alpha)
        value = max(self.value, self.least(alpha))
        below, beyond = normal_pvalue([upper - y, upper + y], "larger")
        share = (below - beyond) / (1.0 - p) * self.tail(0.0, value, False)
        high = self._where(lambda t: share - self.tail(t, value, False))
        if p >= alpha:
            return 0.0, high
        goal = -math.log(float(np.sum(normal_pvalue([y - lower, y + lower], "larger"))))
        goal = math.exp(-_moved(-math.log(min(tail, _MOST)), -math.log(p), goal))
        low = self._where(lambda t: self.tail(t, self.value, True) - goal)
        return max(low, 1e-12 * self.trace), high

    def _where(self, excess: Callable[[float], float]) -> float:
        """The phi^2 at which a rising function is zero."""
        from scipy.optimize import brentq

        if excess(0.0) >= 0.0:
            return 0.0
        end = self.value + self.trace
        while excess(end) < 0.0:
            end *= 2.0
        return float(brentq(excess, 0.0, end, xtol=1e-12 * end))


def _bounded_phi2(table: EstimatedTable, alpha: float, pvalue: float | None) -> tuple[float, float]:
    """Ends of the interval of phi^2 where some margin is weak; see the notes of `cramers_v`."""
    groups, known, maps = [table.strong(axis) for axis in (0, 1)], [], []
    for axis, (size, strong) in enumerate(zip(table.p.shape, groups, strict=True)):
        # weak categories are four standard errors larger than estimated
        margins = table.margins(axis)
        larger = np.maximum(margins.values, 0.0) + _CLEAR * margins.se
        larger[strong] = np.nan
        known.append(larger)
        # the map, (m, size), that keeps the strong categories and sums the others
        rows = np.eye(size)[strong]
        rest = 1.0 - rows.sum(axis=0)
        maps.append(np.vstack([rows, rest]) if rest.any() else rows)
    whole = standardised(table.p, table.covariance, np.concatenate(known))
    low = _Norm(*whole).interval(alpha, pvalue)[0]
    p = maps[0] @ table.p @ maps[1].T
    if min(p.shape) < 2 or not all(groups):
        return low, math.inf  # one row or column is left
    V = table.covariance
    if V.factors is None:
        V = Covariance.dense(V.transform(np.kron(*maps)))
    else:
        first, second = (kept.argmax(axis=0) for kept in maps)
        V = V.merged((first[:, None] * len(maps[1]) + second).ravel())
    merged = _Norm(*standardised(p, V))
    low = max(low, merged.interval(alpha, pvalue)[0])
    high = merged.interval(alpha / 2.0, None)[1]
    weak = [size - len(strong) for strong, size in zip(groups, table.p.shape, strict=True)]
    z = normal_critical(alpha / (2.0 * sum(len(strong) + 1 for strong in groups)))
    for axis in (0, 1):
        if weak[axis]:
            some = [table.margin(axis, i) for i in groups[axis]]
            rare = np.ones(table.p.shape) - np.sum(some, axis=0)
            others = [table.margin(1 - axis, j) for j in groups[1 - axis]]
            linear = table.linear([rare, *others])
            largest = max(float(linear.values[0] + z * linear.se[0]), 0.0)
            smallest = float(np.min(linear.values[1:] - z * linear.se[1:]))
            high += largest / smallest if smallest > 0.0 else math.inf
    return low, max(high + min(weak), low)


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

    Examples
    --------
    >>> from ldpstats.likelihood.covariance import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> departure, se = departures(P, multinomial(np.ravel(P), n=400))
    >>> departure.round(4), se.round(4)
    (array([[ 0.1, -0.1],
           [-0.1,  0.1]]), array([[0.0112, 0.0112],
           [0.0112, 0.0112]]))
    """
    p = EstimatedTable(P, covariance).p
    departure, R, L = _departures(p)
    spread = _congruence(np.ones(p.size), L, R, covariance)
    exact = np.diagonal(spread.core) if spread.factors is None else spread.variances()
    variance = np.maximum(exact, 0.0)  # below 0 by rounding only
    return departure.reshape(p.shape), np.sqrt(variance).reshape(p.shape)


def _departures(p: Array) -> tuple[Array, Array, Array]:
    """p - r c' / s as a vector, and R and L, (k, k1 + k2), of its derivative ``1 + L R'``.

    R' p are the sums of rows and columns.
    """
    (k1, k2), s, r, c = p.shape, p.sum(), p.sum(axis=1), p.sum(axis=0)
    R = np.hstack([np.kron(np.eye(k1), np.ones((k2, 1))), np.tile(np.eye(k2), (k1, 1))])
    expected = np.outer(r, c) / s
    L = np.hstack([np.kron(np.eye(k1), c[:, None]), np.kron(r[:, None], np.eye(k2))]) / -s
    L[:, :k1] += expected.reshape(-1, 1) / s
    return (p - expected).ravel(), R, L


def standardised(
    p: Array, covariance: Covariance, known: Array | None = None
) -> tuple[Array, Covariance]:
    """z = (p - r c' / s) / sqrt(r c') as a vector, and its covariance by the delta method.

    `known`, (k1 + k2,), are margins to divide by instead, which are no estimates; nan for others.
    """
    (departure, R, L), margins = _departures(p), np.concatenate([p.sum(axis=1), p.sum(axis=0)])
    own = np.full(margins.size, True) if known is None else np.isnan(known)
    below = margins if known is None else np.where(own, margins, known)
    below = np.where(below > 0.0, below, np.inf)  # without reports or noise nothing departs
    root = np.sqrt(np.outer(below[: len(p)], below[len(p) :])).ravel()
    z = departure / root
    L = L / root[:, None] - z[:, None] / 2.0 * R * np.where(own, 1.0 / below, 0.0)
    return z, _congruence(1.0 / root, L, R, covariance)


def _congruence(g: Array, L: Array, R: Array, V: Covariance) -> Covariance:
    """G V G' of the derivative ``G = diag(g) + L R'``.

    With V = diag(d) + F C F' it is of this form too, with the factors L, g d R and G F.
    """

    def along(D: Array) -> Array:
        return np.asarray(g[:, None] * D + L @ (R.T @ D))

    if V.factors is None:
        spread = along(along(V.matrix()).T)
        return Covariance.dense((spread + spread.T) / 2)
    q, r = R.shape[1], len(V.core)
    core = np.zeros((2 * q + r,) * 2)
    core[:q, :q] = (R.T * V.diagonal) @ R
    core[:q, q : 2 * q] = core[q : 2 * q, :q] = np.eye(q)
    core[2 * q :, 2 * q :] = V.core
    factors = np.hstack([L, (g * V.diagonal)[:, None] * R, along(V.factors)])
    return Covariance(g**2 * V.diagonal, core, factors)
