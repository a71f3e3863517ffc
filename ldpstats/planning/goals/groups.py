"""Comparison of groups of respondents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.errors import InvalidArgument
from ldpstats.planning.goals.base import (
    Goal,
    Ray,
    Setting,
    checked_category,
    checked_shares,
    frozen,
    setting,
)
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.laws.differences import difference_test
from ldpstats.planning.laws.homogeneity import homogeneity_form
from ldpstats.planning.shares import table_text
from ldpstats.planning.variances import check_mechanism

__all__ = ["GroupsTest"]

Array = npt.NDArray[Any]

_TABLE = "must be a table of shares: a row for each group, which sums to one"
_LABELS = "a DataFrame with categories as columns"
_SHOWN = 4  # shares of a list that is written out as rows
_MECHANISMS = "must be one mechanism for all groups, or a list of one for each of the {} groups"


@dataclass(frozen=True, eq=False)
class GroupsTest(Goal):
    """To find that groups of respondents differ.

    Without a category the test is that of ``homogeneity_test(groups)`` or ``two_sample_test``:
    Pearson's of the privatised table where all groups report labels by one mechanism, else Wald's
    with the covariance pooled under the null hypothesis. The power is that of a quadratic form of
    normal variables with the covariances of the truth. With a category the test is that of its row
    in ``two_sample_test(first, second).differences()``: a two-sided score test of the difference.

    Parameters
    ----------
    p : array-like, shape (g, k), or DataFrame
        True distributions of the groups, a row each, in the order of the categories. The columns of
        a DataFrame are categories; over an open alphabet they are the candidates.
    shares : array-like, shape (g,), optional
        Shares of the groups among the respondents. Default: equal.
    category : label, optional
        Compare the frequencies of this category, in two groups.

    Raises
    ------
    InvalidArgument
        If a row of `p` is not a distribution, there are fewer than two, a share is zero, or a
        category is named for more than two groups.

    Notes
    -----
    On the ray of `planning.minimum_detectable` each group goes from the distribution of all
    respondents together to its own. The effect is the difference, first group less second, with a
    category; else Cramer's V of groups and true answers.

    The tests put categories together that are expected in fewer than five reports; the power is
    that of the test of all categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.GroupsTest([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    >>> print(goal)
    to find that 2 groups differ; true shares: 0.5, 0.3, 0.2; 0.4, 0.3, 0.3
    >>> round(ldp.planning.power(ldp.KRR(3, epsilon=1.0), goal, n=4000), 3)
    0.712
    """

    p: Any
    shares: Any = None
    category: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _checked_table(self.p))
        groups = len(self.p)
        if self.shares is not None:
            shares = distribution("shares", self.shares, groups)
            if not shares.min() > 0.0:
                remedy = "must be positive: a group without respondents cannot be compared"
                raise InvalidArgument("shares", self.shares, remedy)
            object.__setattr__(self, "shares", frozen(shares / shares.sum()))
        if self.category is not None:
            category = checked_category("category", self.category, _row(self.p, 0))
            object.__setattr__(self, "category", category)
            if groups > 2:
                remedy = f"is compared in two groups, and p has {groups}: give the rows of two"
                raise InvalidArgument("category", self.category, remedy)

    @property
    def words(self) -> str:
        if self.category is None:
            return f"to find that {len(self.p)} groups differ"
        return f"to find that two groups differ in the frequency of {self.category!r}"

    @property
    def truth(self) -> str:
        return f"true shares: {table_text(self.p)}"

    def ray(self, mechanism: Any) -> _GroupsRay:
        """The goal in a survey with this mechanism, or these."""
        groups = len(self.p)
        makers = [mechanism] * groups
        if isinstance(mechanism, list | tuple):
            if len(mechanism) != groups:
                raise InvalidArgument("mechanism", mechanism, _MECHANISMS.format(groups))
            makers = list(mechanism)
        for one in makers:
            check_mechanism(one)
        sides = [setting(one, _row(self.p, i)) for i, one in enumerate(makers)]
        for side in sides[1:]:
            if not side.labels.equals(sides[0].labels):
                remedy = "must have the same categories in the same order for all groups"
                raise InvalidArgument("mechanism", mechanism, remedy)
        shares = np.full(groups, 1.0 / groups) if self.shares is None else self.shares
        x = None if self.category is None else sides[0].place(self.category)
        index = self.p.index if isinstance(self.p, pd.DataFrame) else pd.RangeIndex(groups)
        return _GroupsRay(tuple(sides), shares, x, index)


@dataclass(frozen=True, eq=False)
class _GroupsRay(Ray):
    """Groups go from the distribution of all to their own."""

    sides: tuple[Setting, ...]
    shares: Array
    x: int | None
    index: pd.Index[Any]

    @property
    def _table(self) -> tuple[Array, Array]:
        """Distribution of all respondents, (k,), and the departures of the groups, (g, k)."""
        P = np.array([side.p for side in self.sides])
        pooled = self.shares @ P
        return pooled, P - pooled

    @property
    def most(self) -> float:
        pooled, departures = self._table
        falling = departures < 0.0
        ratio = -np.broadcast_to(pooled, departures.shape)[falling] / departures[falling]
        return float(ratio.min(initial=np.inf))

    @property
    def unit(self) -> str:
        if self.x is None:
            return "Cramer's V of group and answer"
        return f"difference of the frequency of {self.sides[0].labels[self.x]!r}"

    def effect(self, multiple: float) -> float:
        pooled, departures = self._table
        if self.x is not None:
            return float(multiple * (departures[0, self.x] - departures[1, self.x]))
        held = pooled > 0.0
        phi2 = float(self.shares @ (departures[:, held] ** 2 / pooled[held]).sum(axis=1))
        return multiple * float(np.sqrt(phi2 / (min(len(departures), int(held.sum())) - 1)))

    def truth(self, multiple: float) -> pd.DataFrame:
        return pd.DataFrame(self._laws(multiple), index=self.index, columns=self.sides[0].labels)

    def _laws(self, multiple: float) -> Array:
        pooled, departures = self._table
        found = np.maximum(pooled + multiple * departures, 0.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def test(self, multiple: float, alpha: float) -> PlannedTest:
        makers = [side.mechanism for side in self.sides]
        given = makers, self._laws(multiple), self.shares
        candidates = self.sides[0].candidates
        if self.x is None:
            return homogeneity_form(*given, candidates, alpha)
        return difference_test(*given, self.x, candidates, alpha)


def _checked_table(p: Any) -> Any:
    """Distributions of groups, a row each."""
    values = numbers("p", p, f"{_TABLE}, or {_LABELS}")
    if values.ndim == 1 and values.size > 1 and ((0.0 <= values) & (values <= 1.0)).all():
        pairs = ", ".join(f"[{1.0 - share:g}, {share:g}]" for share in values[:_SHOWN])
        pairs += ", ..." * (values.size > _SHOWN)
        remedy = f"{_TABLE}; for no/yes answers [{pairs}], or {_LABELS}"
        raise InvalidArgument("p", values.tolist(), remedy)
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < 2:
        remedy = f"{_TABLE}, or {_LABELS}; at least two of each"
        raise InvalidArgument("p", f"array of shape {values.shape}", remedy)
    named = isinstance(p, pd.DataFrame)
    columns = p.columns if named else None
    rows = [
        checked_shares(f"p[{i}]", pd.Series(row, index=columns) if named else row)
        for i, row in enumerate(values)
    ]
    if not named:
        return frozen(np.array(rows))
    return pd.DataFrame(np.array(rows), index=p.index.copy(), columns=p.columns.copy())


def _row(p: Any, i: int) -> Any:
    return p.iloc[i] if isinstance(p, pd.DataFrame) else p[i]
