"""The distinct values of a long column, found by Arrow: not one Python object at a time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["arrow_text", "factorized", "is_text"]

Codes = npt.NDArray[np.int32]
Objects = npt.NDArray[np.object_]

MANY = 1 << 12
"""Columns of fewer values do not pay for importing Arrow."""


def factorized(values: object, labels: pd.Index[Any]) -> tuple[Codes, Objects] | None:
    """Codes of a column, (n,), -1 where missing, and the values that they stand for.

    None where this is not quicker: for short columns, and those that are neither text nor objects
    that Arrow reads as text. Some values may be equal, or not occur; where all text is among the
    `labels`, the values are these.
    """
    try:
        n = len(values)  # type: ignore[arg-type]
        if n < MANY:
            return None
        known = 4 * len(labels) < n and labels.inferred_type == "string"
        return _encoded(values, labels.to_numpy(dtype=object) if known else None)
    except Exception:  # half of a surrogate pair; and somebody else's object may raise anything
        return None


def _encoded(values: Any, likely: Objects | None) -> tuple[Codes, Objects] | None:
    if isinstance(values, pd.Series | pd.Index) and not isinstance(values, pd.MultiIndex):
        if isinstance(values.dtype, pd.StringDtype | pd.ArrowDtype):
            array: Any = values.array
            return arrow_text(array.__arrow_array__(), likely)
        return _of_objects(values.to_numpy(), likely) if values.dtype == object else None
    if type(values) is np.ndarray and values.ndim == 1:  # not a masked one
        if values.dtype.kind == "U" and values.dtype.isnative and values.itemsize:
            return _of_unicode(values, likely)
        return _of_objects(values, likely) if values.dtype == object else None
    kind = type(values).__module__.partition(".")[0]
    if kind == "polars" and type(values).__name__ == "Series":
        return arrow_text(values.to_arrow(), likely) if str(values.dtype) in _POLARS else None
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
        return arrow_text(values, likely)
    return None


_POLARS = ("String", "Categorical")


def arrow_text(column: Any, likely: Objects | None = None) -> tuple[Codes, Objects] | None:
    """Codes and values of a column of Arrow that is text, or a dictionary of it; else None."""
    import pyarrow
    from pyarrow import types

    if not types.is_dictionary(column.type):
        if not is_text(column.type):
            return None
        if likely is not None:
            codes = _among(column, pyarrow.array(likely, column.type))
            if codes is not None:
                return _numbers(codes), likely
        column = column.dictionary_encode()
    elif not is_text(column.type.value_type):
        return None
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pyarrow.ChunkedArray):  # of no chunk, or too long for one
        return None
    return _merged(column.indices, np.array(column.dictionary.to_pylist(), dtype=object))


def _among(column: Any, likely: Any) -> Any:
    """Places of the values among distinct `likely` ones; None if one is not among them."""
    import pyarrow.compute

    found = pyarrow.compute.index_in(column, likely)
    return found if found.null_count == column.null_count else None


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is of text that its functions take."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _of_unicode(values: npt.NDArray[np.str_], likely: Objects | None) -> tuple[Codes, Objects]:
    """Text of a fixed width, compared as bytes."""
    import pyarrow

    def column_of(text: npt.NDArray[np.str_]) -> Any:
        buffer = pyarrow.py_buffer(np.ascontiguousarray(text))
        kind = pyarrow.binary(values.itemsize)
        return pyarrow.Array.from_buffers(kind, text.size, [None, buffer])

    column = column_of(values)
    if likely is not None:
        width = values.itemsize // 4  # numpy drops the NULs at the end of a text
        likely = likely[[len(text) <= width and text[-1:] != "\0" for text in likely]]
        if (codes := _among(column, column_of(likely.astype(values.dtype)))) is not None:
            return codes.to_numpy(), likely
    column = column.dictionary_encode()
    distinct = np.array(column.dictionary.to_pylist(), dtype=f"S{values.itemsize}")
    return _merged(column.indices, distinct.view(values.dtype).astype(object))


def _of_objects(values: Objects, likely: Objects | None) -> tuple[Codes, Objects] | None:
    """Objects that are the same object, as labels that were taken from a list; else text."""
    import pyarrow

    addresses = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
    if len(np.unique(addresses[:MANY])) > MANY // 2:
        text = pyarrow.array(values, from_pandas=True)
        return arrow_text(text, likely)
    column = pyarrow.array(addresses).dictionary_encode()
    codes = column.indices.to_numpy()
    place = np.empty(len(column.dictionary), dtype=np.intp)
    place[codes] = np.arange(values.size)  # whichever is the last: they are the same object
    return _merged(column.indices, values[place])


def _numbers(indices: Any) -> Codes:
    """Codes of Arrow, -1 where null."""
    found: Codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    return found


def _merged(indices: Any, distinct: Objects) -> tuple[Codes, Objects]:
    """The codes, -1 where the index is null or its value is missing."""
    codes = _numbers(indices)
    absent = pd.isna(pd.Series(distinct, dtype=object)).to_numpy()
    if absent.any():
        codes = np.append(np.where(absent, -1, np.arange(absent.size)), -1)[codes]
    return codes, distinct
