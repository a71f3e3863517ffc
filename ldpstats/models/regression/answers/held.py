"""Rows of covariates of which some have other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument
from ldpstats.inference.regression.margins import Points
from ldpstats.models.regression.answers.fitted_law import FittedLaw

__all__ = ["held", "moved", "with_column", "with_values"]

Array = npt.NDArray[Any]


def with_values(law: FittedLaw, points: Points, atexog: Mapping[Any, Any]) -> Points:
    """Rows with other values in some public columns, by name or place."""
    for key, value in atexog.items():
        j = _place(law, key)
        name = f"atexog[{key!r}]"
        if law.private[j]:
            remedy = "changes with a private predictor: predict(exog) has its values as columns"
            raise InvalidArgument("atexog", key, remedy)
        column = numbers(name, value, f"must be a number, or one for each of {points.n} rows")
        if column.shape not in ((), (points.n,)) or not np.isfinite(column).all():
            remedy = f"must be a finite number, or one for each of the {points.n} rows"
            raise InvalidArgument(name, value, remedy)
        points = with_column(points, j, column)
    return points


def with_column(points: Points, j: int, value: Any) -> Points:
    """The rows with another value in a column of all configurations."""
    designs = []
    for design in points.designs:
        X = design.X.copy()
        X[:, j] = value
        designs.append(replace(design, X=X))
    return replace(points, designs=tuple(designs))


def _place(law: FittedLaw, key: Any) -> int:
    names = list(law.data.names)
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int | np.integer) and 0 <= key < len(names):
        return int(key)
    remedy = f"must be the name or the place of a covariate: {', '.join(names[:8])}"
    raise InvalidArgument("atexog", key, remedy)


def held(points: Points, at: str) -> Points:
    """One row: the means, medians or zeros of the covariates; constants stay."""

    def one(values: Array) -> Array:
        first = values[0]
        same = (values == first).all(axis=0)
        if at == "mean":
            middle = points.weights @ values / points.weights.sum()
        elif at == "median":
            middle = np.array([_median(column, points.weights) for column in values.T])
        else:
            middle = np.zeros(first.shape)
        return np.asarray(np.where(same, first, middle))[None, :]

    def row(design: Any) -> Any:
        offset = None if design.offset is None else one(design.offset[:, None])[0]
        return replace(design, X=one(design.X), offset=offset)

    return replace(
        points,
        designs=tuple(map(row, points.designs)),
        marginal=None if points.marginal is None else row(points.marginal),
        weights=np.ones(1),
    )


def _median(values: Array, weights: Array) -> float:
    """The weighted median; the middle of two values where half the weight is below."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2.0
    i = int(np.searchsorted(below, half * (1.0 - 1e-12)))
    if abs(below[i] - half) <= 1e-12 * half and i + 1 < len(values):
        return float((values[order[i]] + values[order[i + 1]]) / 2.0)
    return float(values[order[i]])


def moved(points: Points, j: int, by: float) -> Points:
    """The rows with a column moved."""
    designs = []
    for design in points.designs:
        X = design.X.copy()
        X[:, j] += by
        designs.append(replace(design, X=X))
    return replace(points, designs=tuple(designs))
