"""Rows of a regression that are alike, made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["alike"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_LOOKED_AT = 4096  # rows that show whether many are alike
_FEW = 0.7  # share of distinct ones among them, above which rows are left as they are


def alike(columns: Sequence[Array]) -> tuple[Codes, Codes] | None:
    """The first of each kind of rows, and the kind of every row; None if hardly any are alike.

    Parameters
    ----------
    columns : sequence of array, each (n,) or (n, p)

    Returns
    -------
    first : array of int64, shape (u,)
    place : array of int64, shape (n,)
    """
    n = len(columns[0])
    some = np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.int64)
    looked = [np.asarray(column)[some] for column in columns]
    if _kinds(looked).max(initial=0) + 1 > _FEW * some.size and some.size > 1:
        return None
    place = _kinds(columns)
    u = int(place.max()) + 1
    first = np.full(u, n, dtype=np.int64)
    first[place[::-1]] = np.arange(n - 1, -1, -1)
    return first, place


def _kinds(columns: Sequence[Array]) -> Codes:
    """The number of the kind of each row, (n,)."""
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        for one in np.asarray(column).reshape(len(found), -1).T:
            code, values = pd.factorize(one)
            if len(values) > 1:
                found = pd.factorize(found * len(values) + code)[0].astype(np.int64)
    return found
