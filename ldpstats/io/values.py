"""What the fields of a table say: labels, missing answers and counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import counts_vector
from ldpstats.clients.secrecy import HIDDEN
from ldpstats.errors import InvalidArgument
from ldpstats.io.cells import RISKY, coded, guarded, objects, unguarded
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import file_format
from ldpstats.mechanisms import Mechanism

__all__ = [
    "LabelOf",
    "answers_in",
    "check_guarded",
    "check_mechanism",
    "label_of",
    "missing_texts",
    "present",
    "refuse_guarded",
    "refuse_missing",
    "row_named",
    "whole_counts",
]

Array = npt.NDArray[Any]
LabelOf = Callable[[str], Any]

_WHOLE = re.compile(r"([0-9]{1,16})(\.0*)?")
_INTEGER = re.compile("0|[1-9][0-9]{0,17}")


def check_mechanism(mechanism: object) -> None:
    """Refuse anything but a mechanism, such as its class."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument("mechanism", mechanism, "must be a mechanism, such as KRR(...)")


def label_of(path: FilePath, labels: pd.Index[Any], na: Sequence[str]) -> LabelOf | None:
    """The function from text to its label, or to itself; None if all labels are text."""
    if isinstance(labels, pd.RangeIndex):  # without a table of a million entries
        return lambda text: int(text) if _INTEGER.fullmatch(text) else text
    table = {str(label): label for label in labels}
    for text in na:
        if text in table:
            raise InvalidArgument("na", text, "is a label: it cannot stand for a missing answer")
    if file_format(path) != ".parquet":
        if "" in table:
            raise InvalidArgument(
                "labels", "", f"an empty field means a missing answer in {path}: use a Parquet file"
            )
        for text in [text for text in table if text.startswith(RISKY)]:
            table.setdefault(guarded(text), table[text])  # as spreadsheet_safe= writes it
    if len(table) == len(labels) and all(isinstance(label, str) for label in labels):
        return None
    return lambda text: table.get(text, text)


def missing_texts(path: FilePath, na: Sequence[str], labels: Iterable[Any] = ()) -> list[str]:
    """The texts of `na` and, in CSV, their form with spreadsheet_safe=, unless that is a label."""
    risky = {guarded(text) for text in na if text.startswith(RISKY)}
    if not risky or file_format(path) == ".parquet":
        return list(na)
    if not isinstance(labels, pd.RangeIndex):  # labels 0 .. k-1 look different
        risky -= {str(label) for label in labels}
    return [*na, *risky]


def refuse_guarded(path: FilePath, texts: Array, named: Callable[[int | None], str]) -> None:
    """Refuse texts, (n,), of CSV that spreadsheet_safe= seems to have changed; show none.

    Only for open alphabets; `named` gives the name of text i.
    """
    if file_format(path) == ".parquet":  # which has no spreadsheet_safe=
        return
    changed = [unguarded(text) != text for text in texts]
    if any(changed):
        raise InvalidArgument(
            named(changed.index(True)),
            HIDDEN,
            "begins with an apostrophe and one of =, +, - and @, as written with spreadsheet_safe= "
            "(--spreadsheet-safe): keep answers for another run without it; if the apostrophe is "
            "part of the answer, use a Parquet file, which is read as it is",
        )


def check_guarded(labels: pd.Index[Any]) -> None:
    """Refuse labels if one, guarded against spreadsheets, looks like another."""
    if isinstance(labels, pd.RangeIndex):
        return
    texts = set(map(str, labels))
    for text in texts:
        if guarded(text) != text and guarded(text) in texts:
            remedy = (
                f"could not be distinguished from the label {text!r}: leave spreadsheet_safe out"
            )
            raise InvalidArgument("labels", guarded(text), remedy)


def present(
    where: str,
    column: pd.Series[Any],
    to_label: LabelOf | None,
    na: Sequence[str],
    secret: bool = False,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The values present, texts turned into labels, and a mask of missing ones."""
    text = coded(column)
    if text is None:
        column = _plain(where, column, secret)
        missing = column.isna().to_numpy(dtype=bool)
        return column[~missing].to_numpy(), missing
    codes, distinct = text
    if na:
        gone = pd.Index(distinct, dtype=object).isin(list(na))
        codes = np.where(np.append(gone, True)[codes], -1, codes)
    missing = codes < 0
    values = distinct
    if to_label is not None:
        # assigned to a slice, so that numpy does not guess a common type of the labels
        values = np.empty(distinct.size, dtype=object)
        values[:] = [to_label(text) for text in distinct]
    return values[codes[~missing]] if missing.any() else values[codes], missing


def _plain(where: str, column: pd.Series[Any], secret: bool = False) -> pd.Series[Any]:
    """Text as objects, None where missing; floats with nan; integers or booleans; nothing else."""
    if not isinstance(column.dtype, pd.ArrowDtype):
        return column
    from pyarrow import types

    kind = column.dtype.pyarrow_dtype
    if types.is_dictionary(kind):
        kind = kind.value_type
        column = column.astype(pd.ArrowDtype(kind))
    if types.is_floating(kind):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_integer(kind) or types.is_boolean(kind):
        return column
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        return pd.DataFrame({0: objects(column)}, dtype=object)[0]
    # the fields of a nested type have names, which may be answers
    shown = "a nested type" if secret and kind.num_fields else str(kind)
    raise InvalidArgument(where, shown, "must hold text, numbers or booleans: convert it")


def whole_counts(
    where: str, column: pd.Series[Any], done: int, missing: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.int64]:
    """A column of non-negative whole numbers, (n,), `done` rows after the start; 0 if `missing`."""

    def number(value: Any) -> Any:
        if isinstance(value, str):
            value = int(whole[1]) if (whole := _WHOLE.fullmatch(value)) else None
        return -1 if value is None else value  # which is refused below, in the original's name

    absent = np.zeros(len(column), dtype=bool) if missing is None else missing
    if (quick := _whole_numbers(column, absent)) is not None:
        return quick
    values = objects(_plain(where, column))[~absent]
    remedy = "must be a whole number, neither negative nor missing"
    found = np.zeros(len(column), dtype=np.int64)
    with row_named(where, done, values, absent, remedy):
        found[~absent] = counts_vector(where, [number(value) for value in values], (len(values),))
    return found


def _whole_numbers(column: pd.Series[Any], missing: Array) -> npt.NDArray[np.int64] | None:
    """Whole numbers by their type, (n,), 0 if `missing`; None for others and for negative ones."""
    if not pd.api.types.is_integer_dtype(column.dtype):
        return None
    there = ~missing if missing.any() else None
    if (column if there is None else column[there]).hasnans:
        return None
    if there is None:
        found: npt.NDArray[np.int64] = column.to_numpy(np.int64)
    else:
        found = np.where(there, column.to_numpy(np.int64, na_value=0), 0)
    return None if found.size and found.min() < 0 else found


@contextmanager
def row_named(
    where: str, done: int, values: Array, missing: Array, remedy: str | None = None
) -> Iterator[None]:
    """Let an error about value i of `values` name the row of the file."""
    try:
        yield
    except InvalidArgument as error:
        index = re.search(r"\[(\d+)\]$|, row (\d+)$", error.name)
        if index is None:
            raise
        i = int(index[1]) if index[1] else int(index[2]) - 1
        row = row_number(done, missing, i)
        value = values[i].item() if isinstance(values[i], np.generic) else values[i]
        raise type(error)(f"{where}, row {row}", value, remedy or error.remedy) from None


def row_number(done: int, missing: Array, i: int) -> int:
    """The row of the file, from 1, of value i among those present, after `done` rows."""
    return done + int(np.flatnonzero(~missing)[i]) + 1


def answers_in(where: str, done: int, missing: Array) -> Callable[[int | None], str]:
    """The function that names the row of present answer i, or the column if i is None."""
    return lambda i: where if i is None else f"{where}, row {row_number(done, missing, i)}"


def refuse_missing(where: str, done: int, missing: Array) -> None:
    """Refuse missing values; the error names the row of the first."""
    if missing.any():
        raise InvalidArgument(
            f"{where}, row {done + int(np.argmax(missing)) + 1}",
            None,
            "is missing: leave such rows out, or count them with missing='count' (--missing count)",
        )
