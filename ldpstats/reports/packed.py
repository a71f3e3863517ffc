"""Columns of reports that are bytes, and the columns of cohorts that stand beside reports.

The whole layout of reports in tables is written down in `io.layout`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument

__all__ = [
    "arrow_bytes",
    "cohort_beside",
    "cohort_column",
    "holds_bytes",
    "in_pandas",
    "is_of_bytes",
    "packed_bytes",
    "plain_bytes",
    "tells_cohort",
]

Packed = npt.NDArray[np.uint8]

_WIDTH = "must be {} bytes, the {} bits of a report"


def cohort_column(reports: str) -> str:
    """The name of the column of cohorts that belongs to a column of reports."""
    return f"{reports}_cohort"


def tells_cohort(report: object) -> bool:
    """Whether a report has its cohort before it: text such as "3:0110"."""
    return isinstance(report, str) and ":" in report


def cohort_beside(
    column: str, mechanism: Any, columns: Collection[object], first: object
) -> str | None:
    """The column of cohorts beside one of reports, of which `first` is one; None if there is none.

    Reports that have their cohorts before them need none: a column of that name is another.
    """
    name = cohort_column(column)
    known = mechanism.n_cohorts or mechanism.cohort_names
    return name if known and name in columns and not tells_cohort(first) else None


def holds_bytes(column: pd.Series[Any]) -> bool:
    """Whether a column of pandas holds bytes: by its type, or by its first value that is there."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return is_of_bytes(column.dtype.pyarrow_dtype)
    if column.dtype != object:
        return False
    try:
        first = column.first_valid_index()
    except ArithmeticError:  # a signalling NaN, which whoever reads the column refuses
        return False
    return first is not None and isinstance(column.loc[first], bytes | bytearray)


def packed_bytes(name: str, column: pd.Series[Any], width: int, n_bits: int) -> Packed:
    """A column of bytes, none missing, as uint8 of shape (n, width); `n_bits` bits are used."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow_bytes(name, plain_bytes(column.array.__arrow_array__()), width, n_bits)
    values = column.tolist()
    for i, value in enumerate(values):
        if not isinstance(value, bytes | bytearray) or len(value) != width:
            raise InvalidArgument(f"{name}[{i}]", value, _WIDTH.format(width, n_bits))
    return np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), width)


def is_of_bytes(kind: Any) -> bool:
    """Whether a type of Arrow is of bytes."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(test(kind) for test in (*tests, types.is_binary_view))


def plain_bytes(array: Any) -> Any:
    """An Arrow array of bytes in a type that Arrow's functions take, a dictionary decoded."""
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    views = pyarrow.types.is_binary_view(array.type)
    return array.cast(pyarrow.large_binary()) if views else array


def in_pandas(array: Any) -> pd.Series[Any]:
    """An Arrow array as a column of pandas, in its own memory."""
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


def arrow_bytes(name: str, array: Any, width: int, n_bits: int) -> Packed:
    """An Arrow array of bytes, whole or in chunks, as `packed_bytes`: a view where it is whole."""
    remedy, done = _WIDTH.format(width, n_bits), 0
    parts = [np.empty((0, width), dtype=np.uint8)]
    for chunk in getattr(array, "chunks", [array]):
        if len(chunk):
            parts.append(_whole(name, chunk, width, done, remedy))
        done += len(chunk)
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def _whole(name: str, array: Any, width: int, done: int, remedy: str) -> Packed:
    """An Arrow array of bytes as a view of its memory; errors count from `done`."""
    import pyarrow

    if array.null_count:
        at = done + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidArgument(f"{name}[{at}]", None, "is missing: leave such rows out")
    if pyarrow.types.is_fixed_size_binary(array.type):
        if array.type.byte_width != width:
            raise InvalidArgument(f"{name}[{done}]", array[0].as_py(), remedy)
        first, memory = array.offset * width, array.buffers()[1]
    else:
        array = array.cast(pyarrow.large_binary())
        ends = np.frombuffer(array.buffers()[1], dtype=np.int64)
        ends = ends[array.offset : array.offset + len(array) + 1]
        wrong = np.flatnonzero(np.diff(ends) != width)
        if wrong.size:
            at = int(wrong[0])
            raise InvalidArgument(f"{name}[{done + at}]", array[at].as_py(), remedy)
        first, memory = int(ends[0]), array.buffers()[2]
    stop = first + len(array) * width
    return np.frombuffer(memory, dtype=np.uint8)[first:stop].reshape(len(array), width)
