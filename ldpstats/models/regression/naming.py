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
    """A number for each coefficient: a Series, or a DataFrame of a multinomial logit."""
    categories = model.categories
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        table = np.asarray(values).reshape(len(categories) - 1, -1).T
        return pd.DataFrame(table, index=model.exog_names, columns=categories[1:])
    return pd.Series(values, index=model.exog_names + model.threshold_names, name=name)


def shaped_intervals(model: RegressionStructure, limits: Array) -> pd.DataFrame:
    """Limits, (m, 2), as a table."""
    categories, columns = model.categories, ["lower", "upper"]
    index: Any = model.exog_names + model.threshold_names
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        pairs = [(label, name) for label in categories[1:] for name in model.exog_names]
        index = pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    return pd.DataFrame(limits, index=index, columns=columns)
