"""Association of two variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.goals.base import Goal, Ray, Setting, frozen, setting
from ldpstats.planning.laws.association import association_form
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.shares import table_text

__all__ = ["IndependenceTest"]

Array = npt.NDArray[Any]

_TABLE = "must be a table of true joint shares, of at least 2 x 2 cells, that sum to one"
_PAIR = "must be a pair of mechanisms, (of the rows, of the columns)"


@dataclass(frozen=True, eq=False)
class IndependenceTest(Goal):
    """To find that two variables are associated; each is reported by a mechanism of its own.

    The test is that of ``results.test_independence()``: the score test T on the marginal fits. With
    JX and JY the information of one report about either variable and D the joint shares less the
    product of the margins, T has (k1 - 1)(k2 - 1) degrees of freedom and n tr(JX D JY D') for its
    noncentrality. That is exact for mechanisms that act independently. The variance is that under
    the truth, or under the null hypothesis where reports are too many to be listed (cohorts, bits
    of many categories).

    Parameters
    ----------
    table : array-like, shape (k1, k2), or DataFrame
        True joint shares. Rows and columns of a DataFrame are labels; over an open alphabet they
        are the candidates.

    Raises
    ------
    InvalidArgument
        If the table is not a distribution, or a row or column is empty.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the table goes from the product of its margins to
    itself. The effect is Cramer's V of the true answers.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.IndependenceTest([[0.3, 0.2], [0.2, 0.3]])
    >>> print(goal)
    to find that two variables are associated; true shares: 0.3, 0.2; 0.2, 0.3
    >>> krr = ldp.KRR(2, epsilon=2.0)
    >>> round(ldp.planning.power((krr, krr), goal, n=1000), 3)
    0.957
    """

    table: Any

    def __post_init__(self) -> None:
        values = numbers("table", self.table, _TABLE)
        if values.ndim != 2 or min(values.shape) < 2:
            raise InvalidArgument("table", f"array of shape {values.shape}", _TABLE)
        distribution("table", values.ravel(), values.size)
        for axis, kind in ((1, "row"), (0, "column")):
            if not values.sum(axis=axis).min() > 0.0:
                remedy = f"has an empty {kind}: leave that category out"
                raise InvalidArgument("table", values.tolist(), remedy)
        values = frozen(values / values.sum())
        if isinstance(self.table, pd.DataFrame):
            index, columns = self.table.index.copy(), self.table.columns.copy()
            values = pd.DataFrame(np.array(values), index=index, columns=columns)  # type: ignore[assignment]
        object.__setattr__(self, "table", values)

    @property
    def words(self) -> str:
        return "to find that two variables are associated"

    @property
    def truth(self) -> str:
        return f"true shares: {table_text(self.table)}"

    def ray(self, mechanism: Any) -> _TableRay:
        """The goal in a survey with this pair of mechanisms."""
        if not isinstance(mechanism, list | tuple) or len(mechanism) != 2:
            raise InvalidArgument("mechanism", mechanism, _PAIR)
        values = np.asarray(self.table, dtype=np.float64)
        margins: list[Any] = [values.sum(axis=1), values.sum(axis=0)]
        if isinstance(self.table, pd.DataFrame):
            axes = (self.table.index, self.table.columns)
            margins = [pd.Series(m, index=axis) for m, axis in zip(margins, axes, strict=True)]
        else:
            _refuse_shape(values, mechanism)
        names = ("table", "table")
        pairs = zip(mechanism, margins, names, strict=True)
        first, second = (
            setting(one, margin, name, f"mechanism[{i}]")
            for i, (one, margin, name) in enumerate(pairs)
        )
        for side, axis in ((first, 0), (second, 1)):
            values = _ordered(self.table, values, side, axis)
        return _TableRay(first, second, values)


def _refuse_shape(values: Array, pair: Any) -> None:
    """Refuse a table without labels that has other categories than the mechanisms."""
    sizes = tuple(m.k for m in pair if isinstance(m, Mechanism) and not m.is_open)
    if len(sizes) == 2 and values.shape != sizes:
        remedy = f"must have the shape {sizes}, of the categories of both mechanisms"
        raise InvalidArgument("table", f"array of shape {values.shape}", remedy)


def _ordered(table: Any, values: Array, side: Setting, axis: int) -> Array:
    """Rows or columns in the order of a mechanism's categories."""
    if not isinstance(table, pd.DataFrame):
        return values
    labels = table.index if axis == 0 else table.columns
    places = align("table", pd.Series(np.arange(len(labels)), index=labels), side.labels)
    return np.take(values, np.asarray(places, dtype=np.int64), axis=axis)


@dataclass(frozen=True, eq=False)
class _TableRay(Ray):
    """A table goes from the product of its margins to itself."""

    first: Setting
    second: Setting
    table: Array

    @property
    def _parts(self) -> tuple[Array, Array]:
        """The product of the margins, and the departure from it."""
        product = np.outer(self.table.sum(axis=1), self.table.sum(axis=0))
        departure = self.table - product
        rounding = np.abs(departure) <= 1e-15
        return product, np.where(rounding, 0.0, departure)

    @property
    def most(self) -> float:
        product, departure = self._parts
        falling = departure < 0.0
        return float((-product[falling] / departure[falling]).min(initial=np.inf))

    @property
    def unit(self) -> str:
        return "Cramer's V"

    def effect(self, multiple: float) -> float:
        product, departure = self._parts
        phi2 = float((departure**2 / product).sum())
        return multiple * float(np.sqrt(phi2 / (min(product.shape) - 1)))

    def truth(self, multiple: float) -> pd.DataFrame:
        product, departure = self._parts
        table = np.maximum(product + multiple * departure, 0.0)
        return pd.DataFrame(table, index=self.first.labels, columns=self.second.labels)

    def test(self, multiple: float, alpha: float) -> PlannedTest:
        product, departure = self._parts
        sides = self.first, self.second
        channels = None
        if not any(side.mechanism.n_cohorts for side in sides):
            channels = self.first.mechanism.channel(), self.second.mechanism.channel()
        information = _information(self.first), _information(self.second)
        return association_form(channels, information, product, multiple * departure, alpha)


def _information(side: Setting) -> Array:
    """Expected information of one report about the frequencies, shape (k, k)."""
    mechanism: Mechanism = side.mechanism
    if not mechanism.n_cohorts:
        try:
            return mechanism.channel().information(side.p)
        except InvalidArgument:
            remedy = "gives no one to an answer that would show: leave that category out"
            raise InvalidArgument("table", side.p.tolist(), remedy) from None
    problem = mechanism.moments(mechanism.specimen(), side.candidates)
    found = problem.information(side.p)
    if found is None:
        raise NotAvailable(
            f"the information of reports of {mechanism} is not known: simulate the survey"
        )
    return np.asarray(found / problem.nobs)
