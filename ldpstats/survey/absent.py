"""Codes that mean a missing answer, in all columns of a table or in some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.arguments.matching import written_as
from ldpstats.errors import InvalidArgument

__all__ = ["NO_CODES", "MissingCodes", "emptied"]


@dataclass(frozen=True)
class MissingCodes:
    """Codes that mean missing, as text, in the order that they were given in.

    Attributes
    ----------
    everywhere : tuple of str
        Those of every column.
    by_column : mapping from column to tuple of str
        Those of some columns.
    """

    everywhere: tuple[str, ...] = ()
    by_column: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: object) -> MissingCodes:
        """Read the argument `na`: codes in a list, or in a mapping from columns to lists."""
        if not isinstance(given, Mapping):
            return cls(_codes(given, given))
        for column in given:
            if not isinstance(column, str):
                raise InvalidArgument("na", column, "must be text, the name of a column")
        return cls((), {column: _codes(codes, given) for column, codes in given.items()})

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.by_column)

    def on(self, column: str) -> tuple[str, ...]:
        """The codes of a column."""
        return self.everywhere + self.by_column.get(column, ())


NO_CODES = MissingCodes()


def _codes(given: object, whole: object) -> tuple[str, ...]:
    single = isinstance(given, str)
    if whole is given:
        example = f", for example [{given!r}]" if single else ""
        remedy = f"must be a list{example}, or a mapping from columns to lists"
    else:
        example = f"[{given!r}]" if single else "['9']"
        remedy = f"must be a list in a mapping of columns, for example {example}"
    return tuple(map(_text, listed("na", given, remedy)))


def _text(code: object) -> str:
    """A code as text: 9 and 9.0 are "9"."""
    if isinstance(code, str):
        return str.__str__(code)
    if isinstance(code, Real | Decimal) and not isinstance(code, bool | np.bool_ | np.timedelta64):
        number = float(code)
        if isinstance(code, Integral):
            return str(int(code))
        if np.isfinite(number):
            return str(int(number)) if number.is_integer() else repr(number)
    raise InvalidArgument("na", code, "must be text or a finite number")


def emptied(column: pd.Series[Any], codes: tuple[str, ...]) -> pd.Series[Any]:
    """A column in which some codes are missing; they are no categories either."""
    if not codes:
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.dtype.categories
        found = categories[written_as(pd.Series(categories), codes)]
        return column.cat.remove_categories(found) if len(found) else column
    there = written_as(column, codes)
    if not there.any():
        return column
    if column.dtype == object:
        column = column.copy()
        column[there] = None
        return column
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
        whole: Any = "UInt64" if column.dtype.kind == "u" else "Int64"
        column = column.astype(whole)
    return column.mask(there)
