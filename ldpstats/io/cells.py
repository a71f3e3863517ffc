"""Cells of tables: their text with and without a guard, and columns as objects or codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.distinct import arrow_text, factorized
from ldpstats.errors import InvalidArgument

__all__ = ["RISKY", "coded", "guarded", "objects", "taken", "unguarded"]

Array = npt.NDArray[Any]

RISKY = ("=", "+", "-", "@")  # a spreadsheet runs a cell that begins with one of them as a formula


def guarded(text: str) -> str:
    """Text with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(RISKY) else text


def unguarded(text: str) -> str:
    """Text without the apostrophe that `guarded` may have put before it."""
    return text[1:] if text.startswith("'") and text.startswith(RISKY, 1) else text


def objects(column: Any) -> npt.NDArray[np.object_]:
    """The values of a column of any type as objects, None where missing."""
    text = coded(column) if isinstance(column.dtype, pd.ArrowDtype) else None
    values: npt.NDArray[np.object_]
    if text is None:
        values = column.to_numpy(dtype=object, na_value=None)
    else:  # equal texts are one object
        values = np.concatenate([text[1], np.full(1, None, dtype=object)])[text[0]]
    return values


def coded(column: Any) -> tuple[Array, npt.NDArray[np.object_]] | None:
    """Codes of a column of text, (n,), -1 where missing, and its distinct texts; None of others."""
    if isinstance(column.dtype, pd.ArrowDtype):
        import pyarrow

        try:
            return arrow_text(column.array.__arrow_array__())
        except (pyarrow.ArrowException, UnicodeDecodeError):
            remedy = "holds text that is not UTF-8: write it as UTF-8"
            raise InvalidArgument("column", column.name, remedy) from None
    if column.dtype != object:
        return None
    found = factorized(column, pd.RangeIndex(0))
    if found is None:
        codes, distinct = pd.factorize(column)
        found = codes, np.asarray(distinct, dtype=object)
    return found


def taken(codes: Array, texts: Sequence[str]) -> Any:
    """A column of Arrow with the text of each code, (n,); null where that is negative."""
    import pyarrow

    labels = pyarrow.array(texts, pyarrow.string())
    return labels.take(pyarrow.array(codes, mask=codes < 0 if (codes < 0).any() else None))
