"""Rows of a table that a mask or a slice chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, check_slice
from ldpstats.errors import InvalidArgument

__all__ = ["masked"]


def masked(mask: object, index: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Positions of the rows with these labels that a mask, True or False each, or a slice chooses.

    A Series whose labels are others, or in another order, would choose other rows than it means.
    """
    n = len(index)
    if isinstance(mask, slice):
        check_slice("mask", mask, n)
        return np.arange(n)[mask]
    remedy = f"must be True or False for each of the {n} rows, or a slice"
    found = as_array("mask", mask, remedy)
    if found.dtype != bool or found.shape != (n,):
        raise InvalidArgument("mask", mask, remedy)
    if isinstance(mask, pd.Series) and not mask.index.equals(index):
        remedy = "has another index than the rows of the survey, or another order: make it from "
        remedy += (
            "the same table, .reindex it, or pass .to_numpy() if its order is that of the rows"
        )
        raise InvalidArgument("mask", "Series", remedy)
    return np.flatnonzero(found)
