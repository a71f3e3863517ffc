"""Coefficients as labelled tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.outcomes import Multinomial

__all__ = ["shaped", "shaped_intervals"]

Array = npt.NDArray[Any]


def shaped(model: RegressionStructure, values: Array, name: str) -> Any:
    """A number for each coefficient: a Series, or a DataFrame of a multinomial logit.

    With unknown parameters of devices a Series in any case; their numbers come last, or are left
    out.
    """
    categories = model.categories
    if model.unknown:
        return pd.Series(values, index=_with_parameters(model)[: len(values)], name=name)
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        table = np.asarray(values).reshape(len(categories) - 1, -1).T
        return pd.DataFrame(table, index=model.exog_names, columns=categories[1:])
    return pd.Series(values, index=model.exog_names + model.threshold_names, name=name)


def _with_parameters(model: RegressionStructure) -> list[str]:
    """Names of the coefficients, and of the unknown parameters."""
    return [*model.all_names[: model.n_shown], *model.unknown]


def shaped_intervals(model: RegressionStructure, limits: Array) -> pd.DataFrame:
    """Limits, (m, 2), as a table."""
    categories, columns = model.categories, ["lower", "upper"]
    if model.unknown:
        return pd.DataFrame(limits, index=_with_parameters(model), columns=columns)
    index: Any = model.exog_names + model.threshold_names
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        pairs = [(label, name) for label in categories[1:] for name in model.exog_names]
        index = pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    return pd.DataFrame(limits, index=index, columns=columns)
