"""A table of two variables, and effects of one on the other by the labels of their categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import position, two_positions
from ldpstats.errors import NotAvailable
from ldpstats.inference.tables import effects
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tables.estimated import allow_for_unseen
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.record import Variables
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.covariance import Covariance

__all__ = ["TwoWay", "z_values"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class TwoWay:
    """The fit of two variables; effects rest on its unconstrained estimate.

    Beside it they have their value at the maximum of the likelihood, where that was fitted.
    """

    fit: Fit
    variables: Variables

    @classmethod
    def of(cls, fit: Fit, variables: Variables) -> TwoWay:
        """The fit, refused where it is one of more variables."""
        names = variables.names
        if len(names) != 2:
            raise NotAvailable(
                f"this is for two variables; there are {len(names)}: fit a model of two, or "
                f"take two of these by collapse({list(names[:2])})"
            )
        return cls(fit, variables)

    @property
    def linear(self) -> pd.DataFrame:
        """The unconstrained estimate."""
        table: pd.DataFrame = self.variables.table(self.fit.linear.estimate, "linear_params")
        return table

    def spread(self, alpha: float) -> Covariance:
        """Covariance for conditionals and effects, where cells that were never seen may exist."""
        return allow_for_unseen(self.fit.linear.known(), self.fit.nobs, alpha)

    @property
    def _maximum(self) -> Array:
        """The maximum likelihood table, nan where it was not fitted."""
        estimate = self.fit.fitted.estimate
        values = estimate if self.fit.is_maximum else np.full(estimate.size, np.nan)
        return values.reshape(self.variables.sizes)

    def _place(self, name: str, axis: int, label: Any) -> int:
        return position(name, label, self.variables.labels[axis], self._remedy(axis))

    def _pair(self, name: str, axis: int, labels: Any) -> list[int]:
        return two_positions(name, labels, self.variables.labels[axis], self._remedy(axis))

    def _remedy(self, axis: int) -> str:
        names, labels = self.variables.names, self.variables.labels
        return f"is no category of {names[axis]}: {list(labels[axis])}"

    def odds_ratio(self, rows: Any, columns: Any, alpha: float) -> Effect:
        """See `AssociationResults.odds_ratio`, as for the other effects."""
        i, j = self._pair("rows", 0, rows), self._pair("columns", 1, columns)
        found = effects.odds_ratio(self.linear, self.spread(alpha), i, j, alpha)
        p = self._maximum
        return effects.beside(found, _quotient(p[i, j].prod(), p[i, j[::-1]].prod()))

    def risk_difference(self, rows: Any, column: Any, alpha: float) -> Effect:
        (i, i2), j = self._pair("rows", 0, rows), self._place("column", 1, column)
        found = effects.risk_difference(self.linear, self.spread(alpha), i, i2, j, alpha)
        first, second = self._risks(i, i2, j)
        return effects.beside(found, first - second)

    def risk_ratio(self, rows: Any, column: Any, alpha: float) -> Effect:
        (i, i2), j = self._pair("rows", 0, rows), self._place("column", 1, column)
        found = effects.risk_ratio(self.linear, self.spread(alpha), i, i2, j, alpha)
        return effects.beside(found, _quotient(*self._risks(i, i2, j)))

    def _risks(self, i: int, i2: int, j: int) -> tuple[float, float]:
        """Maximum likelihood estimates of P(column | row) in two rows."""
        p = self._maximum
        first, second = (_quotient(p[row, j], p[row].sum()) for row in (i, i2))
        return first, second

    def cramers_v(self, alpha: float, test: TestResult | None) -> Effect:
        """With the interval that goes with this test of independence."""
        small = self.variables.sizes == (2, 2)  # no table of larger ones gains by unseen cells
        V = self.spread(alpha) if small else self.fit.linear.known()
        p = None if test is None else test.pvalue
        found = effects.cramers_v(self.linear, V, alpha, p)
        if not self.fit.is_maximum:
            return found
        return effects.beside(found, effects.fitted_cramers_v(self._maximum))

    def departures(self) -> tuple[Array, Array]:
        """Departures from independence and their standard errors."""
        return effects.departures(self.linear, self.fit.linear.known())


def z_values(departure: Array, se: Array) -> Array:
    """Departures in standard errors; zero where there is nothing to vary."""
    return np.asarray(np.divide(departure, se, out=np.zeros_like(se), where=se > 0.0))


def _quotient(numerator: float, denominator: float) -> float:
    """Ratio of two frequencies: infinite over zero, and nan for nothing over nothing."""
    if denominator > 0.0:
        return float(numerator / denominator)
    return float("inf") if numerator > 0.0 else float("nan")
