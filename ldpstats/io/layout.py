"""The layout of reports in tables: how reports of any mechanism stand in columns.

A column holds one report a row; a missing one is a null, or an empty field in CSV.

Labels
    As they are, with their own type: text, whole numbers, numbers or booleans. Labels of several
    types, and those of CSV, are text.
Bits
    In CSV and in frames text such as "0110", first bit first. In Parquet, and wherever a column
    holds bytes, ``ceil(n_bits / 8)`` bytes a report: bit j of the text is in byte ``j // 8`` at
    position ``j % 8``, counted from the lowest; the bits after the last are zero. In Parquet the
    column is a FIXED_LEN_BYTE_ARRAY; other types of bytes are read too.
Cohorts
    In CSV and in frames before the report: "3:0110", "3:17". In Parquet in a column of their own,
    NAME_cohort beside the column NAME, whole numbers from 0 (int32). Both are read everywhere: a
    report whose text has a colon has its cohort there, and then a column of that name is any other.
    Devices of cohorts (`devices.cohorts`) report labels: "A:yes", or "yes" beside a column
    NAME_cohort with the name of the cohort.
Fingerprints
    Twelve hexadecimal digits that say which mechanism, survey or questionnaire made a report. In
    Parquet they are stored once, with the columns of reports and cohorts; in CSV, and in frames
    that are made of several files, every row has them in the column NAME_fingerprint
    (`reports.fingerprints`).

A dictionary survey has five columns (start_1, gram_1, start_2, gram_2, string), of which the three
of reports are laid out like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.distinct import is_text
from ldpstats.arguments.labels import missing_entries
from ldpstats.errors import InvalidArgument
from ldpstats.io.cells import objects
from ldpstats.io.values import row_named, whole_counts
from ldpstats.mechanisms import Mechanism
from ldpstats.reports.packed import cohort_column, holds_bytes, in_pandas, plain_bytes
from ldpstats.reports.single import Reports

__all__ = [
    "cohorts_in",
    "parsed",
    "present_bytes",
    "reports_in",
    "stored_columns",
    "stored_names",
]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


# -- reading ---------------------------------------------------------------------------------------


def reports_in(
    where: str,
    mechanism: Mechanism,
    column: pd.Series[Any],
    cohort: pd.Series[Any] | None = None,
) -> tuple[Reports, Mask]:
    """The reports of a column, which are not labels from a list, and which rows have none, (n,).

    `cohort` is the column of cohorts, if they are not in the reports. Errors name `where`, and the
    row, from 1.
    """
    values, absent = _present(where, column)
    groups = None
    if cohort is not None:
        groups = cohorts_in(f"{where}, cohort", mechanism, cohort, absent)
    return parsed(where, mechanism, values, absent, groups), absent


def parsed(
    where: str,
    mechanism: Mechanism,
    values: Any,
    absent: Mask,
    groups: Array | None,
    done: int = 0,
) -> Reports:
    """Reports of the rows that are not `absent`, (n,), from their values and, if apart, cohorts.

    Errors name the row, from 1, after `done` others.
    """
    with row_named(where, done, values, absent):
        return mechanism.parse("reports", values, groups)


def _present(where: str, column: pd.Series[Any]) -> tuple[Any, Mask]:
    """The reports of a column in any form, and which rows have none."""
    if holds_bytes(column):
        return present_bytes(column)
    absent: Mask
    if pd.api.types.is_integer_dtype(column.dtype):
        absent = column.isna().to_numpy(dtype=bool)
        return column[~absent].to_numpy(dtype=np.int64), absent
    if isinstance(column.dtype, pd.ArrowDtype) and is_text(column.dtype.pyarrow_dtype):
        empty = (column == "").fillna(True).to_numpy(dtype=bool)
        return column[~empty].reset_index(drop=True), empty
    missing_entries(where, column)  # refuses what cannot be told to be missing or not
    values = objects(column)
    absent = np.asarray(pd.isna(values) | (values == ""), dtype=bool)
    return values[~absent], absent


def present_bytes(column: pd.Series[Any]) -> tuple[pd.Series[Any], Mask]:
    """The bytes of a column, in its own memory, and which rows have none."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = in_pandas(plain_bytes(column.array.__arrow_array__()))
    absent: Mask = column.isna().to_numpy(dtype=bool)
    found = column[~absent] if absent.any() else column
    return found.reset_index(drop=True), absent


def cohorts_in(
    where: str, mechanism: Mechanism, column: pd.Series[Any], absent: Mask, done: int = 0
) -> npt.NDArray[np.int64]:
    """The cohorts of the rows that are not `absent`, (n,), from a column of cohorts."""
    groups = whole_counts(where, column, done, absent)
    if groups.size and groups.max() >= mechanism.n_cohorts:
        i = int(np.argmax(groups >= mechanism.n_cohorts))
        remedy = f"is not a cohort: cohorts are numbered from 0 to {mechanism.n_cohorts - 1}"
        raise InvalidArgument(f"{where}, row {done + i + 1}", int(groups[i]), remedy)
    return groups[~absent] if absent.any() else groups


# -- writing ---------------------------------------------------------------------------------------


def stored_names(name: str, mechanism: Mechanism) -> tuple[str, ...]:
    """The columns of a mechanism's reports in a Parquet file."""
    return (name, cohort_column(name)) if mechanism.n_cohorts else (name,)


def stored_columns(name: str, reports: Reports, absent: Mask) -> dict[str, pd.Series[Any]]:
    """The columns of reports in a Parquet file, empty where a respondent is `absent`, (n,).

    For reports that are not labels from a list; see the module.
    """
    import pyarrow

    mechanism = reports.mechanism
    if mechanism.n_bits:
        column = _fixed_size(mechanism.format.to_table(reports.y), absent)
    else:
        kind = pyarrow.int32() if mechanism.n_outputs <= 1 << 31 else pyarrow.int64()
        column = _numbers(reports.y, absent, kind)
    found = {name: in_pandas(column)}
    if reports.cohort is not None:
        found[cohort_column(name)] = in_pandas(_numbers(reports.cohort, absent, pyarrow.int32()))
    return found


def _numbers(values: Array, absent: Mask, kind: Any) -> Any:
    """Whole numbers in this order as an Arrow array, null where `absent`."""
    import pyarrow

    cells = np.zeros(absent.size, dtype=np.int64)
    cells[~absent] = values
    return pyarrow.array(cells, mask=absent if absent.any() else None).cast(kind)


def _fixed_size(packed: npt.NDArray[np.uint8], absent: Mask) -> Any:
    """Packed bits as an Arrow array of fixed-size binary, null where `absent`."""
    import pyarrow

    cells, width, valid = np.ascontiguousarray(packed), packed.shape[1], None
    if absent.any():
        cells = np.zeros((absent.size, width), dtype=np.uint8)
        cells[~absent] = packed
        valid = pyarrow.py_buffer(np.packbits(~absent, bitorder="little"))
    memory = [valid, pyarrow.py_buffer(cells)]
    return pyarrow.Array.from_buffers(pyarrow.binary(width), absent.size, memory)
