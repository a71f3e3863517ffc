"""Shares of the cells of a weighted table, and what follows of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, listed, one_of
from ldpstats.arguments.labels import position
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.intervals import Counted, score_bounds
from ldpstats.inference.designs.totals import Ratios
from ldpstats.inference.edges import edge_normal
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.base import DesignResults, check_compared, compared

__all__ = ["CrossedShares"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CrossedShares(DesignResults):
    """Estimates of the cells of two variables, from totals of cells, rows, columns and persons."""

    labels: tuple[pd.Index[Any], ...]
    names: tuple[str, ...]

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
        (a, b), m = self._shape, len(self.totals_law.estimate)
        cells, rows, columns, persons = np.split(np.eye(m), [a * b, a * b + a, a * b + a + b])
        return cells, rows, columns, persons

    @property
    def shares(self) -> Ratios:
        cells, *_, persons = self._forms
        return Ratios(cells, persons.repeat(len(cells), axis=0))

    @property
    def _freedom(self) -> float:
        return float(self.domains.df[0])

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
        return {
            name: self._parts(
                forms, persons.repeat(len(forms), axis=0), level(alpha), labels.rename(name)
            )
            for name, forms, labels in zip(self.names, own, self.labels, strict=True)
        }

    @names_alpha
    def conditional(self, on: str | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        alpha : float
            One minus the coverage of each interval: estimate plus or minus t times the linearised
            standard error of the ratio.

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
        axis = self._axis(on)
        given = self._given(axis)
        return self._parts(given.A, given.B, level(alpha), self._by(axis))

    def _parts(self, A: Array, B: Any, alpha: float, index: Any) -> pd.DataFrame:
        """Shares of persons A among B, with t intervals; with score intervals where all are alike.

        Who was not seen there may be there all the same.
        """
        table = self._table(Ratios(A, B), self._freedom, alpha, index)
        p, T = table["estimate"].to_numpy(), self.totals_law.estimate
        ends = ((p == 0.0) | (p == 1.0)) & (table["se"] == 0.0).to_numpy()
        m = B[ends] @ T / T[-1] * (self.domains.sizes / self.domains.spread)
        df, one = np.full(m.shape, self._freedom), np.ones_like(m)
        found = score_bounds(p[ends], 0.0 * one, df, alpha, Counted(0.0 * one, one), m)
        table.loc[ends, ["lower", "upper"]] = edge_normal(found, p[ends], 0.0, alpha)
        return table

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
        (a, b), forms = self._shape, self._forms
        own = forms[1 + axis].repeat(self._shape[1 - axis], axis=0)
        cells = np.arange(a * b).reshape(a, b)
        return Ratios(forms[0][(cells if axis == 0 else cells.T).reshape(-1)], own)

    @names_alpha
    def differences(
        self,
        on: str | None = None,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
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

        Returns
        -------
        DataFrame, a row for each comparison and category of the other variable
            "estimate", "se", "lower", "upper", "pvalue" and "pvalue_holm", Holm's adjustment for
            all rows.
        """
        alpha, axis = level(alpha), self._axis(on)
        own = self.labels[axis]
        at = 0 if reference is None else self._place("reference", axis, reference)
        if boolean("all_pairs", all_pairs) and reference is not None:
            remedy = "goes without all_pairs=True, which compares every pair"
            raise InvalidArgument("reference", reference, remedy)
        if len(own) < 2:
            raise NotAvailable(f"differences need two categories: {self.names[axis]} has one only")
        i, j = np.tril_indices(len(own), -1)
        if not all_pairs:
            i = np.delete(np.arange(len(own)), at)
            j = np.full(i.shape, at)
        unit, other = np.eye(len(own)), self.labels[1 - axis]
        check_compared(len(i) * len(other))
        R = np.kron(unit[i] - unit[j], np.eye(len(other)))
        name = self.names[axis]
        columns = {name: own[i], f"{name} (reference)": own[j]}
        parts = [values.repeat(len(other)) for values in columns.values()]
        keep = slice(None) if all_pairs else slice(1)
        index = pd.MultiIndex.from_arrays(
            [*parts[keep], other.take(np.tile(np.arange(len(other)), len(i)))],
            names=[*list(columns)[keep], self.names[1 - axis]],
        )
        table = self._table(self._given(axis).combined(R), self._freedom, alpha, index)
        return compared(table, np.full(len(R), self._freedom))

    @names_alpha
    def ratio(self, numerator: Any, denominator: Any, alpha: float = 0.05) -> pd.Series[float]:
        """Ratio of the totals of some cells to those of others.

        Parameters
        ----------
        numerator, denominator : tuple of two labels, or list of such
            Cells, for example ("ill", "north").
        alpha : float
            One minus the coverage of the interval: estimate plus or minus t times the linearised
            standard error.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper".
        """
        above, below = (
            self._forms[0][self._cells(name, given)].sum(axis=0, keepdims=True)
            for name, given in (("numerator", numerator), ("denominator", denominator))
        )
        table = self._table(Ratios(above, below), self._freedom, level(alpha), ["ratio"])
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
        known = self.labels[axis]
        return position(name, label, known, f"is no category of {self.names[axis]}: {list(known)}")
