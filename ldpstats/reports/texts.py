"""Long columns of reports as text, read in the memory of Arrow; None where they need a closer look.

The plain readers in `formats` name what is wrong; these only find out that nothing is.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.distinct import is_text
from ldpstats.errors import InvalidArgument
from ldpstats.reports.packed import arrow_bytes, in_pandas

__all__ = ["bits_of_text", "cohorts_of_text"]

_FEW = 1 << 10  # rows that are not worth the import
_ROWS = 1 << 14  # read at a time
_COHORT = re.compile(b"([0-9]{1,10}):")


def bits_of_text(column: pd.Series[Any], n_bits: int) -> npt.NDArray[np.uint8] | None:
    """Packed bits of reports "0110", shape (n, ceil(n_bits / 8))."""
    array = _in_memory(column)
    if array is None:
        return None
    try:
        text = arrow_bytes("text", array, n_bits, n_bits)
    except InvalidArgument:
        return None
    parts = []
    for start in range(0, len(text), _ROWS):
        digits = text[start : start + _ROWS] - np.uint8(ord("0"))
        if digits.max() > 1:
            return None
        parts.append(np.packbits(digits, axis=1, bitorder="little"))
    return np.concatenate(parts)


def cohorts_of_text(
    column: pd.Series[Any], n_bits: int
) -> tuple[pd.Series[Any], npt.NDArray[np.int64]] | None:
    """Reports without their cohorts and the cohorts, (n,), of "cohort:report".

    A report has `n_bits` characters; 0 where it is a number.
    """
    array = _in_memory(column)
    if array is None:
        return None
    from pyarrow import compute

    if n_bits:
        before = compute.binary_slice(array, 0, -n_bits)
        rest = compute.binary_slice(array, -n_bits)
    else:
        found = compute.extract_regex(array, "^(?P<before>[0-9]{1,10}:)(?P<rest>.*)$")
        before, rest = compute.struct_field(found, 0), compute.struct_field(found, 1)
    if before.null_count:
        return None
    codes = before.dictionary_encode()
    read = [_COHORT.fullmatch(text) for text in codes.dictionary.to_pylist()]
    if None in read:
        return None
    numbers = np.array([int(match[1]) for match in read if match], dtype=np.int64)
    text = in_pandas(rest.cast("large_binary").cast("large_string"))
    return text, numbers[codes.indices.to_numpy()]


def _in_memory(column: pd.Series[Any]) -> Any:
    """A long column of text, none missing, as one Arrow array of bytes; None for others."""
    kinds = pd.StringDtype | pd.ArrowDtype
    if len(column) < _FEW or not (column.dtype == object or isinstance(column.dtype, kinds)):
        return None
    import pyarrow

    try:
        array = pyarrow.array(column, from_pandas=True)
        if not is_text(array.type) or array.null_count:
            return None
        array = array.cast(pyarrow.large_string()).cast(pyarrow.large_binary())
        return array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
    except (pyarrow.ArrowException, UnicodeEncodeError):
        return None
