"""Tables of several kinds as pandas holds them where a formula engine reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument

__all__ = ["as_frame", "cleaned", "columns_of"]

_KINDS = "must be a DataFrame of pandas or Polars, or an Arrow table"


def columns_of(argument: str, data: object) -> tuple[Any, list[Any]]:
    """A table of pandas or Arrow, and the names of its columns; refuse anything else."""
    if isinstance(data, pd.DataFrame):
        return data, list(data.columns)
    if isinstance(data, Mapping):
        raise InvalidArgument(argument, type(data).__name__, f"{_KINDS}: pass pandas.DataFrame(it)")
    if type(data).__name__ == "LazyFrame":
        raise InvalidArgument(argument, "LazyFrame", "is not computed yet: pass .collect() of it")
    stream = hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")
    if not stream or isinstance(data, pd.Series):
        raise InvalidArgument(argument, type(data).__name__, _KINDS)
    import pyarrow

    try:
        table = pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError, ValueError):
        raise InvalidArgument(argument, type(data).__name__, _KINDS) from None
    return table, list(table.column_names)


_AVERAGES = {  # whoever predicts for some columns
    "exog": '; predictions(at={"age": [20, 40]}) sets one and averages over the others'
}


def as_frame(argument: str, data: object, names: Iterable[str]) -> pd.DataFrame:
    """Some columns of a table, in types that formula engines know."""
    table, columns = columns_of(argument, data)
    found: dict[str, Any] = {}
    for name in names:
        if columns.count(name) != 1:
            how = "is the name of several columns: rename them"
            remedy = how if name in columns else "no such column" + _AVERAGES.get(argument, "")
            raise InvalidArgument(f"{argument}, column", name, remedy)
        series = table[name] if isinstance(table, pd.DataFrame) else table.column(name).to_pandas()
        found[name] = cleaned(series).array
    index = table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(table.num_rows)
    return pd.DataFrame(found, index=index)


def cleaned(series: pd.Series[Any]) -> pd.Series[Any]:
    """A column as numpy's numbers, booleans, objects or dates, or as categories of such."""
    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories
        if isinstance(categories.dtype, pd.StringDtype):
            return series.cat.rename_categories(list(categories))
        return series
    if isinstance(dtype, np.dtype):
        return series
    if pd.api.types.is_bool_dtype(dtype):
        return series.astype(object if series.isna().any() else bool)
    if pd.api.types.is_integer_dtype(dtype) and not series.isna().any():
        return series.astype(np.int64)
    if pd.api.types.is_numeric_dtype(dtype):
        return pd.Series(series.to_numpy(np.float64, na_value=np.nan), index=series.index)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return series
    return series.astype(object)
