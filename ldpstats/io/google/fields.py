"""Rows and fields of google/rappor's files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.commits import replacing
from ldpstats.io.storage.files import FilePath, checked_path, refusal
from ldpstats.io.table_writing import csv_writer
from ldpstats.io.tables import csv_lines, file_format
from ldpstats.mechanisms import RAPPOR, BooleanRAPPOR, Mechanism

__all__ = ["check_rappor", "header_of", "number", "rows_of", "whole", "wholes", "write_rows"]

# as Python and R write numbers, where R writes 100000 as 1e+05
_NUMBER = re.compile(r"-?([0-9]{1,17}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")


def check_rappor(name: str, mechanism: Mechanism) -> RAPPOR | BooleanRAPPOR:
    """Refuse mechanisms that google/rappor's files cannot describe."""
    if isinstance(mechanism, BooleanRAPPOR):
        return mechanism
    if not isinstance(mechanism, RAPPOR) or not mechanism.is_open:
        raise InvalidArgument(
            name, mechanism, "must be RAPPOR over an open alphabet, as google/rappor is"
        )
    return mechanism


def header_of(path: FilePath) -> list[str]:
    """The first row of a file; empty if there is none."""
    _check_format(path)
    with csv_lines(path) as (lines, _):
        return next(lines, [])


def rows_of(
    path: FilePath, width: int, what: str, header: Sequence[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file below its header, if any, numbered from 1; each has `width` fields."""
    _check_format(path)
    row_number = 0
    with csv_lines(path) as (lines, _):
        if header is not None and (first := next(lines, [])) != list(header):
            raise refusal(path, f"must begin with the line {','.join(header)}, not with {first}")
        for row_number, row in enumerate(lines, start=1):
            if len(row) != width:
                raise refusal(
                    path,
                    f"row {row_number} has {len(row)} fields, not {width}: it must have {what}",
                )
            yield row_number, row
    if not row_number:
        raise refusal(path, f"has no row: each must have {width} fields, {what}")


def wholes(path: FilePath, row: int, fields: list[str], first: int) -> list[int]:
    """Whole numbers in the fields of a row; `first` is the number of the first field."""
    joined = "".join(fields)
    if joined.isascii() and joined.isdigit() and all(0 < len(field) < 16 for field in fields):
        return list(map(int, fields))
    numbers = []
    for i, field in enumerate(fields, start=first):
        found = whole(field)
        if found is None:
            raise InvalidArgument(
                f"{path}, row {row}, field {i}", field, "must be a whole number, not negative"
            )
        numbers.append(found)
    return numbers


def number(text: str) -> float | None:
    """The number in a field; None if there is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def whole(text: str) -> int | None:
    """The whole number from 0 to 2**53 - 1 in a field; None if there is none."""
    found = number(text)
    if found is None or not found.is_integer() or not 0.0 <= found < 2.0**53:
        return None
    return int(found)


def write_rows(path: FilePath, rows: Iterable[Iterable[object]], force: bool) -> None:
    """Write the rows of a file, the header included."""
    _check_format(path)
    suffix = file_format(path)
    with replacing(path, force) as temporary, csv_writer(temporary, suffix) as lines:
        lines.writerows(rows)


def _check_format(path: FilePath) -> None:
    name = checked_path(path).name.lower()
    if not name.endswith((".csv", ".csv.gz")):
        what = "is called Parquet" if name.endswith(".parquet") else "has no known format"
        raise refusal(path, f"{what}: files of google/rappor end in .csv or .csv.gz")
