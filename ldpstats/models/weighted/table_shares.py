"""Shares of the cells of a weighted table, and what follows of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, listed, one_of
from ldpstats.arguments.labels import position
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.intervals import Counted, critical, paired, ratio_bounds, t_bounds
from ldpstats.inference.designs.totals import Ratios, checked
from ldpstats.inference.edges import edge_normal
from ldpstats.models.shared.groups import compared_index, compared_pairs
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.base import DesignResults
from ldpstats.models.weighted.comparisons import Limits, differences_table, pair_places

__all__ = ["CrossedShares", "cell_shares"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CrossedShares(DesignResults):
    """Estimates of the cells of two variables, from totals of cells, rows, columns and persons."""

    labels: tuple[pd.Index[Any], ...]
    names: tuple[str, ...]
    unprotected: tuple[str, ...]
    counted: tuple[Counted, ...]  # of each variable alone

    @cached_property
    def index(self) -> pd.Index[Any]:
        """One entry per cell, row-major."""
        return pd.MultiIndex.from_product(self.labels, names=self.names)

    @property
    def _shape(self) -> tuple[int, int]:
        first, second = self.labels
        return len(first), len(second)

    @property
    def _domain_of(self) -> npt.NDArray[np.int64]:
        return np.zeros(len(self.index), dtype=np.int64)

    @property
    def table(self) -> pd.DataFrame:
        """Estimated shares of the cells."""
        return self._grid(self.fitted.estimate)

    @property
    def bse_table(self) -> pd.DataFrame:
        """Standard errors of `table`."""
        return self._grid(self.fitted.every_bse())

    def _grid(self, values: Array) -> pd.DataFrame:
        rows, columns = (
            own.rename(name) for own, name in zip(self.labels, self.names, strict=True)
        )
        return pd.DataFrame(values.reshape(self._shape), index=rows, columns=columns)

    # The totals: of the a b cells, the a rows, the b columns, and the number of persons.

    @property
    def _forms(self) -> tuple[Array, Array, Array, Array]:
        """Cells, rows, columns and persons as linear forms of the totals."""
        return _total_forms(*self._shape)

    @property
    def shares(self) -> Ratios:
        return cell_shares(*self._shape)

    @property
    def _freedom(self) -> float:
        return float(self.domains.df[0])

    @property
    def _effective(self) -> float:
        """Respondents, less what weights cost."""
        return float((self.domains.sizes / self.domains.spread)[0])

    def _margin(self, axis: int) -> Array:
        """Shares of the categories of one variable, of its own reports."""
        T = self.totals_law.estimate
        return np.asarray(self._forms[1 + axis] @ T / T[-1])

    @cached_property
    def _counted(self) -> Counted:
        first, second = self.counted
        return first.crossed(second, self._margin(0), self._margin(1))

    # -- what is estimated -------------------------------------------------------------------

    @names_alpha
    def totals(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimated numbers of persons in the cells: "estimate", "se", "lower", "upper"."""
        return self._table(Ratios(self._forms[0]), self._freedom, level(alpha), self.index)

    @names_alpha
    def margins(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """The distribution of each variable alone, among respondents with both answers.

        Returns
        -------
        dict of DataFrame, one row per category
            "estimate", "se", "lower", "upper", of the variable's own reports: the sums of `params`
            for labels, more precise than these for bits.
        """
        _, *own, persons = self._forms
        found, alpha = {}, level(alpha)
        for name, forms, labels, counted in zip(
            self.names, own, self.labels, self.counted, strict=True
        ):
            functions = Ratios(forms, persons.repeat(len(forms), axis=0))
            table = self._table(functions, self._freedom, alpha, labels.rename(name))
            p, se = table["estimate"].to_numpy(), table["se"].to_numpy()
            if not self._unknown.any():
                t, n = (np.full(p.shape, value) for value in (self._t(alpha), self._effective))
                bounds = self._score(p, se, t, counted, n)
                table[["lower", "upper"]] = edge_normal(bounds, p, se, alpha)
            found[name] = table
        return found

    @names_alpha
    def conditional(
        self, on: str | None = None, alpha: float = 0.05, method: str = "default"
    ) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald"}
            "default": given an `Observed` variable the score interval of the other's report, as
            `conf_int` has it in a domain; given a private one all shares that the limits of cell
            and condition do not rule out, as Fieller's set: all of [0, 1] where the condition does
            not differ from zero. "wald": estimate plus or minus t times the linearised standard
            error.

        Returns
        -------
        DataFrame, one row per cell
            "estimate", "se", "lower", "upper"; the variable in the condition comes first.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "no", "no", "yes"] * 20, "sex": ["f", "m"] * 40,
        ...                       "w": [1.0, 2.0] * 40})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.association("ill", "sex").conditional("sex")["estimate"].round(2).to_dict()
        {('f', 'no'): 1.0, ('f', 'yes'): 0.0, ('m', 'no'): 0.5, ('m', 'yes'): 0.5}
        """
        axis, alpha = self._axis(on), level(alpha)
        value, V, limits = self._conditionals(axis, method)
        se, ends = np.sqrt(np.diagonal(V)), np.full((value.size, 2), np.nan)
        at = np.flatnonzero(~np.isnan(se))
        bounds = limits(at, np.full(at.shape, self._t(alpha)))
        ends[at] = edge_normal(bounds, value[at], se[at], alpha)
        columns = {"estimate": value, "se": se, "lower": ends[:, 0], "upper": ends[:, 1]}
        return pd.DataFrame(columns, index=self._by(axis))

    def _t(self, alpha: float) -> float:
        return float(critical(np.array(self._freedom), alpha))

    def _conditionals(self, axis: int, method: str) -> tuple[Array, Array, Limits]:
        """Shares given a variable, their covariance, nan where unknown, and their limits."""
        default = one_of("method", method, ("default", "wald")) == "default"
        given, T, b = self._given(axis), self.totals_law.estimate, self._shape[1 - axis]
        rows, defined = given.defined(T)
        found, there = self.totals_law.of(defined), np.flatnonzero(rows)
        value, V = np.full(len(rows), np.nan), np.full((len(rows), len(rows)), np.nan)
        value[there] = found.value
        if not self._unknown.any():
            V[np.ix_(there, there)] = checked(found.covariance).matrix()
        se = np.sqrt(np.diagonal(V))
        if not default:
            return value, V, lambda at, t: t_bounds(value[at], se[at], t)
        if self.names[axis] not in self.unprotected:
            return value, V, self._limits_of_ratios(axis)
        own, n = self.counted[1 - axis], self._effective * self._margin(axis)

        def as_in_a_domain(at: Codes, t: Array) -> Array:
            return self._score(value[at], se[at], t, own.some(at % b), n[at // b])

        return value, V, as_in_a_domain

    def _limits_of_ratios(self, axis: int) -> Limits:
        """Limits of shares given a private variable, from those of cells and of its categories."""
        rows, b = self._margin(axis), self._shape[1 - axis]
        forms = np.vstack([self._forms[0], self._forms[1 + axis]])
        shares = self.totals_law.of(Ratios(forms, self._forms[-1].repeat(len(forms), axis=0)))
        V = checked(shares.covariance).matrix()
        cells, spread = self._cells_by(axis), np.sqrt(np.diagonal(V))

        def limits(at: Codes, t: Array) -> Array:
            cell, row = cells[at], at // b
            other, n = len(cells) + row, np.full(at.shape, self._effective)
            margin = self._score(rows[row], spread[other], t, self.counted[axis].some(row), n)
            above, p = self._limits(cell, t), self.linear.estimate[cell]
            return ratio_bounds(p, rows[row], paired(V, cell, other), above, margin)

        return limits

    def _cells_by(self, axis: int) -> Codes:
        """Places of the cells with one variable first."""
        cells = np.arange(len(self.index)).reshape(self._shape)
        return (cells if axis == 0 else cells.T).reshape(-1)

    def _axis(self, on: str | None) -> int:
        return 0 if on is None else self.names.index(one_of("on", on, self.names))

    def _by(self, axis: int) -> pd.MultiIndex:
        """The cells with one variable first."""
        at = [axis, 1 - axis]
        return pd.MultiIndex.from_product(
            [self.labels[v] for v in at], names=[self.names[v] for v in at]
        )

    def _given(self, axis: int) -> Ratios:
        """Shares given a variable, which comes first."""
        own = self._forms[1 + axis].repeat(self._shape[1 - axis], axis=0)
        return Ratios(self._forms[0][self._cells_by(axis)], own)

    @names_alpha
    def differences(
        self,
        on: str | None = None,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
        method: str = "default",
    ) -> pd.DataFrame:
        """Conditional shares given each category of a variable, minus those given a reference.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        reference : label, optional
            The category that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every category with each before it, instead of with one reference.
        method : {"default", "wald"}
            "default" combines the limits of `conditional` of both shares (see `Differences`);
            "wald": estimate plus or minus t times standard error. p-values are of these.

        Returns
        -------
        DataFrame, a row for each comparison and category of the other variable
            "estimate", "se", "lower", "upper", "pvalue" and "pvalue_holm", Holm's adjustment for
            all rows; two categories that add up to one are one hypothesis.
        """
        alpha, axis = level(alpha), self._axis(on)
        own, other = self.labels[axis], self.labels[1 - axis]
        by, name = (self.names[v] for v in (axis, 1 - axis))
        if len(own) < 2:
            raise NotAvailable(f"differences need two categories: {by} has one only")
        pairs = compared_pairs(
            len(own), reference, all_pairs, lambda label: self._place("reference", axis, label)
        )
        labels = [(label,) for label in own]
        index = compared_index(labels, pairs, all_pairs, other, (by,), name)
        places = pair_places(pairs, len(other))
        value, V, limits = self._conditionals(axis, method)
        df = np.full(len(places[0]), self._freedom)
        return differences_table(value, V, places, df, limits, alpha, index)

    @names_alpha
    def ratio(
        self, numerator: Any, denominator: Any, alpha: float = 0.05, method: str = "default"
    ) -> pd.Series[float]:
        """Ratio of the totals of some cells to those of others.

        Parameters
        ----------
        numerator, denominator : tuple of two labels, or list of such
            Cells, for example ("ill", "north").
        alpha : float
            One minus the coverage of the interval.
        method : {"default", "wald"}
            As for `WeightedResults.ratio`.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper".
        """
        alpha, (cells, *_, persons) = level(alpha), self._forms
        sets = np.zeros((2, 1, len(cells)))
        for one, name, given in zip(
            sets, ("numerator", "denominator"), (numerator, denominator), strict=True
        ):
            one[0, self._cells(name, given)] = 1.0
        above, below = (one @ cells for one in sets)
        if one_of("method", method, ("default", "wald")) == "wald":
            table = self._table(Ratios(above, below), self._freedom, alpha, ["ratio"])
        else:
            observed = len(self.unprotected) == 2
            counted, other = (self._counted.joined(one, observed) for one in sets)
            forms = (above, below, persons)
            table = self._ratios(forms, (counted, other), self._freedom, alpha, ["ratio"])
        found: pd.Series[float] = table.iloc[0]
        return found

    def _cells(self, name: str, given: Any) -> list[int]:
        """Places of one cell or several."""
        remedy = "must be a cell such as (first label, second label), or a list of different ones"
        several = [given] if isinstance(given, tuple) else listed(name, given, remedy)
        places = []
        for cell in several:
            if not isinstance(cell, tuple) or len(cell) != 2:
                raise InvalidArgument(name, given, remedy)
            i, j = (self._place(name, v, label) for v, label in enumerate(cell))
            places.append(i * self._shape[1] + j)
        if not places or len(set(places)) < len(places):
            raise InvalidArgument(name, given, remedy)
        return places

    def _place(self, name: str, axis: int, label: Any) -> int:
        return position(name, label, self.labels[axis], self._remedy(axis))

    def _remedy(self, axis: int) -> str:
        return f"is no category of {self.names[axis]}: {list(self.labels[axis])}"


def cell_shares(a: int, b: int) -> Ratios:
    """Shares of the cells, of totals of a b cells, a rows, b columns and persons."""
    cells, *_, persons = _total_forms(a, b)
    return Ratios(cells, persons.repeat(len(cells), axis=0))


def _total_forms(a: int, b: int) -> tuple[Array, Array, Array, Array]:
    ends = [a * b, a * b + a, a * b + a + b]
    cells, rows, columns, persons = np.split(np.eye(ends[-1] + 1), ends)
    return cells, rows, columns, persons
