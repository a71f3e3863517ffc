"""Effect sizes of a two-way table of privatised variables, with intervals.

Every function takes the unconstrained estimate P of the joint distribution, shape (k1, k2) with X
in the rows and Y in the columns, whose entries may be negative, and the `Covariance` of P.ravel().
A DataFrame lends its labels, and the names of its index and columns, to the names of the effects.

Measured with pairs of k-RR reports (3x4 and 5x5 tables, epsilon 1, 2 and 4, n = 10,000 and
100,000, margins from .85 down to .01, independent and associated), 95% sets of conditionals, risk
differences and risk ratios cover .93 to .97, except (a) .92 where a cell has some ten reports or
fewer, which are too skew for a normal law, and (b) up to 1 where both margins of a difference or
ratio lie within two standard errors of 0; most sets say then that they are unbounded. The rules by
which odds ratios and Cramer's V are given or not select; see their notes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.checks import level
from ldpstats.covariances import Covariance, finite_array
from ldpstats.errors import InvalidArgument
from ldpstats.estimates import number_from_json, number_to_json
from ldpstats.inference.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import normal_critical

__all__ = [
    "Effect",
    "conditional",
    "conditionals",
    "cramers_v",
    "departures",
    "odds_ratio",
    "risk_difference",
    "risk_ratio",
]

Array = npt.NDArray[Any]
Kind = Literal["bounded", "unbounded", "complement", "not given"]

_CLEAR = 4.0  # standard errors from 0 beyond which a cell or a margin may stand in a denominator
_NAMED = 4  # weak cells or margins that a message names
_REMEDY = "merge rare categories, or collect more reports"


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect size and its confidence set.

    Parameters
    ----------
    name : str
        What it is, in words.
    estimate : float
        From the unconstrained table, so that a probability may lie outside [0, 1]; nan where a
        denominator is not positive.
    lower, upper : float
        Ends of the set, cut to the values that the effect can have.
    alpha : float
        One minus the confidence level.
    kind : {"bounded", "unbounded", "complement", "not given"}
        "bounded": [lower, upper]. "unbounded": also [lower, upper], but a denominator is not
        distinguishable from 0, and only the cut, if anything, bounds the set. "complement":
        everything possible outside the open interval (lower, upper). "not given": there is no
        number, only a message.
    message : str
        Why there is no number, or what to bear in mind.

    Examples
    --------
    >>> effect = Effect("risk ratio", 1.5, 1.1, 2.2)
    >>> print(effect)
    risk ratio: 1.5, 95% interval [1.1, 2.2]
    >>> 1.0 in effect, Effect.from_dict(effect.to_dict()) == effect
    (False, True)
    """

    name: str
    estimate: float
    lower: float
    upper: float
    alpha: float = 0.05
    kind: Kind = "bounded"
    message: str = ""

    @property
    def given(self) -> bool:
        """Whether there is a confidence set at all."""
        return self.kind != "not given"

    def __contains__(self, value: float) -> bool:
        """Whether `value` is in the set; nothing is in one that is not given."""
        if self.kind == "complement":
            return value <= self.lower or value >= self.upper
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        if not self.given:
            return f"{self.name}: not given, because {self.message}"
        ends = f"interval [{self.lower:.4g}, {self.upper:.4g}]"
        if self.kind == "complement":
            ends = f"set below {self.lower:.4g} or above {self.upper:.4g}"
        estimate = "no estimate" if math.isnan(self.estimate) else f"{self.estimate:.4g}"
        note = f" ({self.message})" if self.message else ""
        return f"{self.name}: {estimate}, {100 * (1 - self.alpha):.4g}% {ends}{note}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; nan and infinity become their names."""
        numbers = {n: number_to_json(getattr(self, n)) for n in ("estimate", "lower", "upper")}
        words = {"alpha": self.alpha, "kind": self.kind, "message": self.message}
        return {"name": self.name} | numbers | words

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Effect:
        """The effect that `to_dict` wrote."""
        fields = dict(document)
        for name in ("estimate", "lower", "upper"):
            fields[name] = number_from_json(fields[name])
        return cls(**fields)


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
        Its set is cut to [0, 1].

    Raises
    ------
    InvalidArgument
        Where shapes disagree or a position is not in the table.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(conditional(P, multinomial(np.ravel(P), n=400), 0, 1, 1))
    P(Y = 1 | X = 1): 0.8, 95% interval [0.7443, 0.8557]
    """
    table = _Table.of(P, covariance)
    i, j = table.position("i", i, 0), table.position("j", j, 1)
    margin = table.margin(_axis("given_axis", given_axis), (i, j)[given_axis])
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
        Give P(Y <= j | X), or P(X <= i | Y), in the order of the table.

    Returns
    -------
    estimate : ndarray, shape (k1, k2)
        nan where the margin is not positive.
    lower, upper : ndarray, shape (k1, k2)
        Cut to [0, 1]. Where `conditional` gives a set of two parts, its hull.
    unbounded : ndarray of bool, shape (k1, k2)
        Where the margin is not distinguishable from 0.

    Raises
    ------
    InvalidArgument
        Where shapes disagree.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> estimate, lower, upper, unbounded = conditionals(P, multinomial(np.ravel(P), n=400))
    >>> estimate, lower.round(4)
    (array([[0.6, 0.4],
           [0.2, 0.8]]), array([[0.5318, 0.3318],
           [0.1443, 0.7443]]))
    """
    table = _Table.of(P, covariance)
    if _axis("axis", axis):
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
        held = fieller(num, den, moments[0], moments[1], moments[2], level(alpha))
        low, high, kind, _ = _cut(held, 0.0, 1.0)
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

    With a, c the cells and B, D their rows, the set holds every d for which aD - cB - d BD is not
    significantly different from 0: Fieller's set, with the delta method for the products.

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
        Where shapes disagree, a position is not in the table, or both rows are the same.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
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

    The set is found as that of `risk_difference`, from aD - r cB; arguments and errors are the
    same.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
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
    """Odds ratio p_ij p_i2j2 / (p_ij2 p_i2j): a Wald interval of its logarithm.

    It is given only where each of the four cells exceeds four of its standard errors; elsewhere the
    logarithm of a noisy cell has no useful law, and the effect says which cells are too weak.

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
        Where shapes disagree, a position is not in the table, or two positions are the same.

    Notes
    -----
    The rule selects: a cell whose true value lies below four standard errors passes when its noise
    is positive. Among the surveys in which it is given, the interval covers .94 to .97 where the
    true cells exceed six standard errors, .96 to .99 from 4.5 to 6, .93 on average where the
    smallest lies at 3.5 (given in a quarter of the surveys) and .90 at 3 (in a tenth).

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(odds_ratio(P, multinomial(np.ravel(P), n=400), (0, 1), (0, 1)))
    odds ratio of Y = 0 against Y = 1, X = 0 against X = 1: 6, 95% interval [3.836, 9.384]
    >>> effect = odds_ratio(P, multinomial(np.ravel(P), n=100), (0, 1), (0, 1))
    >>> effect.given, effect.message[:51]
    (False, 'P(X = 1, Y = 0) = 0.1 is 3.3 standard errors from 0')
    """
    table = _Table.of(P, covariance)
    i, i2 = table.pair("rows", rows, 0)
    j, j2 = table.pair("columns", columns, 1)
    at = [(i, j), (i2, j2), (i, j2), (i2, j)]
    linear = table.linear([table.cell(*cell) for cell in at])
    against = [table.says(1, j), table.says(1, j2), table.says(0, i), table.says(0, i2)]
    name = "odds ratio of {} against {}, {} against {}".format(*against)
    words = [f"P({table.says(0, row)}, {table.says(1, column)})" for row, column in at]
    if weak := linear.weak(words):
        return _not_given(name, alpha, weak)
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    gradient = signs / linear.values
    log = float(signs @ np.log(linear.values))
    half = normal_critical(alpha) * math.sqrt(gradient @ linear.covariance @ gradient)
    return Effect(name, math.exp(log), math.exp(log - half), math.exp(log + half), alpha)


def cramers_v(
    P: pd.DataFrame | npt.ArrayLike, covariance: Covariance, alpha: float = 0.05
) -> Effect:
    """Cramer's V = sqrt(phi^2 / (min(k1, k2) - 1)), freed of the bias that noise gives it.

    phi^2 = ||z||^2 with z_ij = (p_ij - r_i c_j) / sqrt(r_i c_j), r and c the margins. Noise of
    covariance S adds tr S to it, which privacy makes large: it is taken off. The interval holds
    every phi^2 that the estimate does not contradict, with 2 tr S^2 + 4 phi^2 w for its variance,
    w = z'Sz / z'z. Estimate and interval are cut to [0, 1].

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution. If it does not sum to one, the effect is
        that of its cells divided by their sum.
    covariance : Covariance
        Of P.ravel().
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Effect
        Not given unless every margin exceeds four of its standard errors, because z divides by
        them.

    Raises
    ------
    InvalidArgument
        Where shapes disagree, or the table has one row or column.

    Notes
    -----
    Where it is given, coverage of 95% intervals was .94 to .98; .95 to .96 under independence.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> print(cramers_v(P, multinomial(np.ravel(P), n=400)))
    Cramer's V of X and Y: 0.4055, 95% interval [0.3263, 0.5036]
    """
    table = _Table.of(P, covariance)
    if min(table.p.shape) < 2:
        raise InvalidArgument("P", table.p.shape, "must have at least two rows and two columns")
    name = "Cramer's V of {} and {}".format(*(str(label.name) for label in table.labels))
    at = [(axis, place) for axis in (0, 1) for place in range(table.p.shape[axis])]
    margins = table.linear([table.margin(*where) for where in at])
    if weak := margins.weak([f"P({table.says(*where)})" for where in at]):
        return _not_given(name, alpha, weak)
    z, S = _standardised(table.p, covariance)
    phi2, z2 = float(z @ z), normal_critical(alpha) ** 2
    unbiased = phi2 - float(np.trace(S))
    w = float(z @ S @ z) / phi2 if phi2 > 0 else 0.0
    # (unbiased - t)^2 <= z2 (2 tr S^2 + 4 t w), a quadratic in t
    middle = unbiased + 2 * z2 * w
    square = middle**2 - unbiased**2 + 2 * z2 * float(np.sum(S**2))
    half = math.sqrt(square) if square >= 0 else math.nan
    scale = min(table.p.shape) - 1
    estimate, low, high = (
        math.sqrt(min(max(value / scale, 0.0), 1.0)) if value == value else 0.0
        for value in (unbiased, middle - half, middle + half)
    )
    below = "" if middle + half >= 0 else "the table is closer to independence than noise allows"
    return Effect(name, estimate, low, high, alpha, "bounded", below)


def departures(P: pd.DataFrame | npt.ArrayLike, covariance: Covariance) -> tuple[Array, Array]:
    """Departures from independence, p_ij - r_i c_j, and their standard errors.

    Parameters
    ----------
    P : DataFrame or array_like, shape (k1, k2)
        Unconstrained estimate of the joint distribution. If it does not sum to s = 1, the
        departure is p_ij - r_i c_j / s.
    covariance : Covariance
        Of P.ravel().

    Returns
    -------
    departure, se : ndarray, shape (k1, k2)
        Their ratio is standard normal under independence; se by the delta method.

    Raises
    ------
    InvalidArgument
        Where shapes disagree.

    Examples
    --------
    >>> from ldpstats.covariances import multinomial
    >>> P = [[0.3, 0.2], [0.1, 0.4]]
    >>> departure, se = departures(P, multinomial(np.ravel(P), n=400))
    >>> departure.round(4), se.round(4)
    (array([[ 0.1, -0.1],
           [-0.1,  0.1]]), array([[0.0112, 0.0112],
           [0.0112, 0.0112]]))
    """
    p = _Table.of(P, covariance).p
    spread = _congruence(lambda D: _departure_rate(p, D), covariance, p.shape)
    expected = np.outer(p.sum(axis=1), p.sum(axis=0)) / p.sum()
    variance = np.maximum(np.diagonal(spread), 0.0)  # below 0 by rounding only
    return p - expected, np.sqrt(variance).reshape(p.shape)


# -- the parts of a table ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Linear:
    """Values of a few linear functionals of the table, shape (q,), and their covariance."""

    values: Array
    covariance: Array

    def ratio(
        self,
        name: str,
        numerator: float,
        denominator: float,
        numerator_rates: tuple[float, ...],
        denominator_rates: tuple[float, ...],
        possible: tuple[float, float],
        alpha: float,
    ) -> Effect:
        """Ratio of two functions of the values, whose derivatives are the rates."""
        rates = np.array([numerator_rates, denominator_rates])
        V = rates @ self.covariance @ rates.T
        found = fieller(numerator, denominator, V[0, 0], V[1, 1], V[0, 1], level(alpha))
        low, high, kind, message = _cut(found, *possible)
        estimate = numerator / denominator if denominator > 0 else math.nan
        return Effect(name, float(estimate), low, high, alpha, kind, message)

    def weak(self, words: Sequence[str]) -> str:
        """The values that do not exceed four standard errors, and what to do about it."""
        se = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        named = [
            f"{name} = {value:.4g} is {value / error if error else 0.0:.1f} standard errors from 0"
            for name, value, error in zip(words, self.values, se, strict=True)
            if value <= _CLEAR * error
        ]
        if not named:
            return ""
        if len(named) > _NAMED:
            named = [*named[:_NAMED], f"so are {len(named) - _NAMED} others"]
        return f"{' and '.join(named)}, fewer than {_CLEAR:g}: {_REMEDY}"


@dataclass(frozen=True, eq=False)
class _Table:
    """A checked table with its labels."""

    p: Array
    covariance: Covariance
    labels: tuple[pd.Index[Any], pd.Index[Any]]

    @classmethod
    def of(cls, P: pd.DataFrame | npt.ArrayLike, covariance: Covariance) -> _Table:
        p = finite_array("P", P, 2)
        if covariance.size != p.size:
            raise InvalidArgument("covariance", covariance.size, f"must have {p.size} rows, as P")
        frame = P if isinstance(P, pd.DataFrame) else pd.DataFrame(p)
        names = (
            "X" if frame.index.name is None else frame.index.name,
            "Y" if frame.columns.name is None else frame.columns.name,
        )
        return cls(p, covariance, (frame.index.rename(names[0]), frame.columns.rename(names[1])))

    def position(self, name: str, value: Any, axis: int) -> int:
        count = self.p.shape[axis]
        try:
            place = operator.index(value)
        except TypeError:
            place = -1
        if not 0 <= place < count or isinstance(value, bool | np.bool_):
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
        """The functional that reads one cell."""
        reads = np.zeros(self.p.shape)
        reads[i, j] = 1.0
        return reads

    def margin(self, axis: int, place: int) -> Array:
        """The functional that sums one row (axis 0) or column (axis 1)."""
        reads = np.zeros(self.p.shape)
        np.moveaxis(reads, axis, 0)[place] = 1.0
        return reads

    def linear(self, functionals: list[Array]) -> _Linear:
        R = np.array([reads.ravel() for reads in functionals])
        return _Linear(R @ self.p.ravel(), self.covariance.transform(R))

    def transposed(self) -> Covariance:
        """The covariance of the transposed table."""
        return self.covariance.take(np.arange(self.p.size).reshape(self.p.shape).T.ravel())


def _two_rows(
    P: pd.DataFrame | npt.ArrayLike, covariance: Covariance, i: int, i2: int, j: int
) -> tuple[Array, _Linear, tuple[str, str]]:
    """Cells (i, j) and (i2, j) with their rows, and the two conditionals in words."""
    table = _Table.of(P, covariance)
    first, second = table.pair("i, i2", (i, i2), 0)
    column = table.position("j", j, 1)
    cells = [table.cell(first, column), table.cell(second, column)]
    linear = table.linear([*cells, table.margin(0, first), table.margin(0, second)])
    Y = table.says(1, column)
    words = f"P({Y} | {table.says(0, first)})", f"P({Y} | {table.says(0, second)})"
    return linear.values, linear, words


def _axis(name: str, value: object) -> int:
    if value not in (0, 1) or isinstance(value, bool | np.bool_):
        raise InvalidArgument(name, value, "must be 0 for the rows or 1 for the columns")
    return int(value)


def _not_given(name: str, alpha: float, message: str) -> Effect:
    return Effect(name, math.nan, math.nan, math.nan, level(alpha), "not given", message)


def _cut(found: FiellerInterval, floor: float, ceiling: float) -> tuple[float, float, Kind, str]:
    """Fieller's set within what is possible: lower, upper, kind, message."""
    message = "" if found.kind == "bounded" else "the denominator is not distinguishable from 0"
    parts = [(found.low, found.high)]
    if found.kind == "complement":
        parts = [(-math.inf, found.low), (found.high, math.inf)]
    inside = [(max(low, floor), min(high, ceiling)) for low, high in parts]
    inside = [part for part in inside if part[0] <= part[1]]
    if len(inside) == 2:
        return inside[0][1], inside[1][0], "complement", message
    kind: Kind = "bounded" if found.kind == "bounded" else "unbounded"
    if inside:
        return *inside[0], kind, message
    if found.kind == "complement":  # whatever is possible is contradicted: it says nothing
        return floor, ceiling, kind, message
    end, side = (floor, "below") if found.high < floor else (ceiling, "above")
    return end, end, kind, f"the interval lay wholly {side} {end:g} before the cut"


def _within_rows(V: Covariance, shape: tuple[int, ...], cumulative: bool) -> tuple[Array, Array]:
    """Variances of cells, or of their running sums along a row, and covariances with the row sum.

    Both have the shape of the table. With V = diag(d) + F C F' no covariance between rows is
    formed.
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


# -- departures from independence ----------------------------------------------------------


def _departure_rate(p: Array, D: Array) -> Array:
    """Derivative of p - r c' / s along tangents D, shape (k1, k2, m); s is the sum of p."""
    s, r, c = p.sum(), p.sum(axis=1)[:, None, None], p.sum(axis=0)[None, :, None]
    dr, dc, ds = D.sum(axis=1)[:, None], D.sum(axis=0)[None], D.sum(axis=(0, 1))
    return np.asarray(D - (dr * c + r * dc) / s + r * c * ds / s**2)


def _standardised(p: Array, covariance: Covariance) -> tuple[Array, Array]:
    """z = (p - r c' / s) / sqrt(r c') as a vector, and its covariance by the delta method."""
    r, c = p.sum(axis=1)[:, None], p.sum(axis=0)[None]
    root = np.sqrt(r * c)
    z = (p - r * c / p.sum()) / root

    def rate(D: Array) -> Array:
        relative = D.sum(axis=1)[:, None] / r[..., None] + D.sum(axis=0)[None] / c[..., None]
        return np.asarray(_departure_rate(p, D) / root[..., None] - z[..., None] * relative / 2)

    return z.ravel(), _congruence(rate, covariance, p.shape)


def _congruence(rate: Any, covariance: Covariance, shape: tuple[int, ...]) -> Array:
    """G V G' of a derivative G that is given by its action on tangents, shape (k1, k2, m)."""
    half = rate(covariance.matrix().reshape(*shape, -1)).reshape(covariance.size, -1)
    spread = rate(half.T.reshape(*shape, -1)).reshape(covariance.size, -1)
    return np.asarray((spread + spread.T) / 2)
