"""Reading what each respondent keeps secret under a personalised mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_series, encode
from ldpstats.errors import InvalidArgument

__all__ = ["codes_or_none", "secret_codes", "those_given"]


def secret_codes(tag: Any, own: object, categories: pd.Index[Any]) -> Iterable[int]:
    """Codes of a respondent's own categories; messages name the tag, never a category."""
    if isinstance(own, str | bytes) or not isinstance(own, Iterable):
        raise InvalidArgument("tags", tag, "must be given a set or list of categories, even of one")
    try:
        codes: list[int] = encode("tags", list(own), categories)[0].tolist()
        return codes
    except Exception:  # any: its message may show what was given
        pass
    # raised out here, where that exception is no context of it
    raise InvalidArgument("tags", tag, "was given an unknown category")


def those_given(name: str, own: object, given: npt.NDArray[np.bool_]) -> pd.Series[Any]:
    """The categories of respondents who gave an answer."""
    series = as_series(name, own)
    if len(series) != given.size:
        raise InvalidArgument(name, len(series), f"must be {given.size} categories, one each")
    return series[given]


def codes_or_none(name: str, own: object, categories: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Codes of the categories of simulated respondents, -1 for those who have none."""
    series = as_series(name, own)
    present = series.notna().to_numpy()
    codes = np.full(len(series), -1, dtype=np.int64)
    given = series[present]
    if pd.api.types.is_float_dtype(given) and isinstance(categories, pd.RangeIndex):
        given = given.astype(object).map(lambda v: int(v) if v.is_integer() else v)
    codes[present] = encode(name, given.tolist(), categories)[0]
    return codes
