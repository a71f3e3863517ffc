"""An estimated two-way table with its labels, and linear forms of its cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.effect import Effect
from ldpstats.inference.tables.ratio import fieller_within
from ldpstats.inference.tails import normal_critical
from ldpstats.problems.covariance import Covariance, finite_array

__all__ = ["EstimatedTable", "LinearForms", "allow_for_unseen", "axis_number"]

Array = npt.NDArray[Any]

_CLEAR = 4.0  # standard errors that a cell or margin in a denominator must exceed
_SEEN = 1e-3  # of 1 / n^2: a cell that was seen once has more variance
_NAMED = 4  # weak cells or margins named in a message
_REMEDY = "merge rare categories, or collect more reports"


def allow_for_unseen(covariance: Covariance, nobs: int, alpha: float) -> Covariance:
    """Give a variance to cells that have none: never seen, of variables without noise.

    The plug-in variance of a count of zero is zero, as if the cell were known to be empty. Such a
    cell gets z^2 / n^2, at which a normal interval ends where the score interval (Wilson) of zero
    out of n does, but for terms of order 1 / n^2.
    """
    unseen = covariance.variances() < _SEEN / nobs**2
    if not unseen.any():
        return covariance
    spread = np.where(unseen, (normal_critical(level(alpha)) / nobs) ** 2, 0.0)
    return replace(covariance, diagonal=covariance.diagonal + spread)


@dataclass(frozen=True, eq=False)
class LinearForms:
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
        """Ratio of two functions of the values with these derivatives."""
        rates = np.array([numerator_rates, denominator_rates])
        V = rates @ self.covariance @ rates.T
        moments = float(V[0, 0]), float(V[1, 1]), float(V[0, 1])
        low, high, kind, message = fieller_within(
            numerator, denominator, *moments, possible, level(alpha)
        )
        estimate = numerator / denominator if denominator > 0 else math.nan
        return Effect(name, float(estimate), low, high, alpha, kind, message)

    def weak(self, words: Sequence[str]) -> str:
        """Message that names the values below four standard errors, with the remedy."""
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
class EstimatedTable:
    """A checked table with its labels."""

    p: Array
    covariance: Covariance
    labels: tuple[pd.Index[Any], pd.Index[Any]]

    @classmethod
    def of(cls, P: pd.DataFrame | npt.ArrayLike, covariance: Covariance) -> EstimatedTable:
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

    def strong(self, axis: int) -> list[int]:
        """Categories that exceed four standard errors, the sum of the others exceeding them too."""
        size = self.p.shape[axis]
        margins = self.linear([self.margin(axis, place) for place in range(size)])
        se = np.sqrt(np.maximum(np.diagonal(margins.covariance), 0.0))
        order = np.argsort(-(margins.values - _CLEAR * se), kind="stable")
        strong = [int(i) for i in order if margins.values[i] > _CLEAR * se[i]]
        while strong and len(strong) < size:
            rest = np.isin(np.arange(size), strong, invert=True).astype(float)
            spread = math.sqrt(max(float(rest @ margins.covariance @ rest), 0.0))
            if rest @ margins.values > _CLEAR * spread:
                break
            strong.pop()
        return sorted(strong)

    def transposed(self) -> Covariance:
        """The covariance of the transposed table."""
        return self.covariance.take(np.arange(self.p.size).reshape(self.p.shape).T.ravel())


def axis_number(name: str, value: object) -> int:
    if value not in (0, 1) or isinstance(value, bool | np.bool_):
        raise InvalidArgument(name, value, "must be 0 for the rows or 1 for the columns")
    return int(value)
