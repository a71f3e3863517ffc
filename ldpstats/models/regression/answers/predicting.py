"""Predictions of the true answers of respondents, or of other people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers, one_of
from ldpstats.errors import InvalidArgument
from ldpstats.inference.regression.margins import Points, row_means
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.formulas.tables import columns_of
from ldpstats.problems.regression.outcomes import Multinomial, Ordered

__all__ = ["New", "new_rows", "predicted", "prediction_frame"]

Array = npt.NDArray[Any]


class New:
    """Rows to predict for.

    Parameters
    ----------
    points : Points
        The rows without a missing value.
    whole : array of bool, shape (n,)
        Which rows they are.
    index : Index
        Labels of all rows.
    """

    def __init__(self, points: Points, whole: npt.NDArray[np.bool_], index: pd.Index[Any]) -> None:
        self.points, self.whole, self.index = points, whole, index

    def filled(self, values: Array) -> Array:
        """Values of the whole rows among all, others NaN."""
        if self.whole.all():
            return values
        found = np.full((self.whole.size, *values.shape[1:]), np.nan)
        found[self.whole] = values
        return found


def new_rows(law: FittedLaw, exog: Any = None, offset: Any = None) -> New:
    """Rows of the respondents, or of those whom the caller gives.

    Raises
    ------
    InvalidArgument
        If a column is missing, or values are no numbers.
    """
    data = law.data
    marginal: Array | None = None
    if exog is None:
        matrices: list[Array] = list(data.designs)
        marginal = None if data.marginal is None else data.marginal.to_numpy(dtype=np.float64)
        index = pd.RangeIndex(data.n) if data.formula is None else data.formula.index
        shift = data.offset
    else:
        matrices, index = _matrices(law, exog)
        if len(matrices) > 1:
            marginal = data.formula.marginal(exog)
        shift = None
    n = len(matrices[0])
    if offset is not None:
        shift = _offset(offset, n)
    whole = np.ones(n, dtype=bool)
    for one in [*matrices, *([] if marginal is None else [marginal])]:
        whole &= ~np.isnan(one).any(axis=1)
    if shift is not None:
        whole &= ~np.isnan(shift)
    if len(matrices) > 1:
        law.refuse_incomplete("predict")
    points = law.points(
        [one[whole] for one in matrices],
        None if marginal is None else marginal[whole],
        None if shift is None else shift[whole],
    )
    return New(points, whole, index)


def _offset(offset: Any, n: int) -> Array:
    """An offset for each row; one number for all."""
    given = offset.to_numpy() if isinstance(offset, pd.Series) else offset
    remedy = f"must be a number, or {n} numbers, one for each row"
    found = numbers("offset", given, remedy)
    if found.shape not in ((), (n,)) or np.isinf(found).any():
        raise InvalidArgument("offset", offset, remedy)
    return np.broadcast_to(found, (n,))


def _matrices(law: FittedLaw, exog: Any) -> tuple[list[Array], pd.Index[Any]]:
    """Design matrices, one for each configuration or one alone, and labels of the rows."""
    data, p = law.data, len(law.data.names)
    if isinstance(exog, Mapping):
        try:
            exog = pd.DataFrame(dict(exog))
        except ValueError:
            remedy = 'must have columns of one length, such as {"age": [20, 40, 60]}'
            raise InvalidArgument("exog", dict(exog), remedy) from None
    is_table = isinstance(exog, pd.DataFrame) or hasattr(exog, "__arrow_c_stream__")
    if data.formula is not None and is_table and not isinstance(exog, pd.Series):
        found = data.formula.exog(exog)
        index = exog.index if isinstance(exog, pd.DataFrame) else pd.RangeIndex(len(found[0]))
        return found, index
    if law.questions:
        remedy = "must be a table with the public columns of the formula"
        raise InvalidArgument("exog", type(exog).__name__, remedy)
    remedy = f"must be a table or an array with the {p} columns of X: {', '.join(data.names[:8])}"
    if isinstance(exog, pd.DataFrame):
        columns_of("exog", exog)
        named = exog.set_axis([str(one) for one in exog.columns], axis=1)
        lacking = [name for name in data.names if name not in named.columns]
        if lacking:
            raise InvalidArgument("exog, column", lacking[0], "no such column")
        twice = [name for name in data.names if list(named.columns).count(name) > 1]
        if twice:
            raise InvalidArgument("exog, column", twice[0], "is the name of several columns")
        index, given = exog.index, named[list(data.names)]
        X = np.column_stack([_column(given[name], name) for name in data.names])
    else:
        if isinstance(exog, pd.Series):
            exog = exog.to_numpy()
        X = numbers("exog", exog, remedy)
        if X.ndim == 1:
            X = X[:, None] if p == 1 else X[None, :]
        index = pd.RangeIndex(len(X) if X.ndim else 0)
    if X.ndim != 2 or X.shape[1] != p:
        raise InvalidArgument("exog", f"array of shape {X.shape}", remedy)
    if np.isinf(X).any():
        raise InvalidArgument("exog", float("inf"), "must be finite numbers, or NaN for missing")
    return [X], index


def _column(column: pd.Series[Any], name: str) -> Array:
    """Numbers of a column, NaN where one is missing."""
    remedy = "must be numbers; make dummies of text, or fit the model with a formula"
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_datetime64_any_dtype(kind):
        raise InvalidArgument(f"exog[{name!r}]", str(kind), remedy)
    absent = column.isna().to_numpy()
    given = column.astype(object).to_numpy(copy=True)
    given[absent] = np.nan
    return numbers(f"exog[{name!r}]", given.tolist(), remedy).astype(np.float64)


def predicted(law: FittedLaw, exog: Any, which: Any, offset: Any) -> Any:
    """Predictions; see `RegressionResults.predict`."""
    which = one_of("which", which, ("mean", "linear"))
    new = new_rows(law, exog, offset)
    if which == "linear":
        return _linear(law, new)
    values = new.filled(row_means(new.points, law.theta)[0])
    if law.labels is None:
        return pd.Series(values[:, law.shown[0]], index=new.index, name="predicted")
    return pd.DataFrame(values, index=new.index, columns=law.labels)


def _linear(law: FittedLaw, new: New) -> Any:
    """Linear predictors."""
    if len(new.points.designs) > 1:
        remedy = "has no value where private predictors are averaged over: give their values in "
        raise InvalidArgument("which", "linear", f"{remedy}columns of exog, or use 'mean'")
    design, outcome = new.points.designs[0], law.data.outcome
    eta = design.eta(law.theta[: new.points.n_outcome])
    if isinstance(outcome, Multinomial):
        assert law.data.categories is not None
        return pd.DataFrame(new.filled(eta), index=new.index, columns=law.data.categories[1:])
    if isinstance(outcome, Ordered):  # without thresholds
        eta = replace(design, q=1).eta(np.append(law.theta[: design.p], 0.0)) * -1.0
    return pd.Series(new.filled(eta[:, 0]), index=new.index, name="linear")


def prediction_frame(law: FittedLaw, exog: Any, offset: Any, alpha: Any) -> pd.DataFrame:
    """Predictions with intervals; see `RegressionResults.get_prediction`."""
    law.quantile(alpha)
    new = new_rows(law, exog, offset)
    values, variances = row_means(new.points, law.theta, law.covariance)
    assert variances is not None
    mean, se = values[:, law.shown], np.sqrt(np.maximum(variances[:, law.shown], 0.0))
    each = [mean, se, *law.intervals(mean, se, alpha)]
    table = np.column_stack([new.filled(one).ravel() for one in each])
    index: Any = new.index
    if law.labels is not None:
        pairs = [(row, label) for row in new.index for label in law.labels]
        names = [new.index.name, law.data.response_name or "category"]
        index = pd.MultiIndex.from_tuples(pairs, names=names)
    return pd.DataFrame(table, index=index, columns=["mean", "se", "lower", "upper"])
