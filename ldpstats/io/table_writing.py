"""Tables in CSV and Parquet files, written in chunks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pandas as pd

from ldpstats.arguments.checks import boolean
from ldpstats.errors import InvalidArgument
from ldpstats.io.cells import coded, guarded, objects, taken
from ldpstats.io.storage.commits import replacing_all
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import file_format

__all__ = ["check_spreadsheet_safe", "csv_writer", "write_table"]


def write_table(
    frames: Iterable[pd.DataFrame],
    path: FilePath,
    types: Mapping[str, str],
    stored: Mapping[str, Mapping[bytes, bytes]],
    force: bool,
    *,
    beside: Mapping[FilePath, str] | None = None,
    spreadsheet_safe: bool = False,
    notes: Mapping[bytes, bytes] | None = None,
) -> None:
    """Write frames as the chunks of one table; `notes` are beside the whole of it, in Parquet."""
    check_spreadsheet_safe(spreadsheet_safe, path)
    suffix, more = file_format(path), dict(beside or {})
    with replacing_all([path, *more], force) as (temporary, *others):
        for other, text in zip(others, more.values(), strict=True):
            other.write_text(text, encoding="utf-8")
        if suffix == ".parquet":
            _write_parquet(frames, temporary, types, stored, notes)
        else:
            _write_csv(frames, temporary, suffix, spreadsheet_safe)


def check_spreadsheet_safe(given: object, path: FilePath) -> bool:
    """Refuse anything but a boolean, and True for Parquet."""
    if boolean("spreadsheet_safe", given) and file_format(path) == ".parquet":
        remedy = "is for CSV: spreadsheets run no formulas from a Parquet file; leave it out"
        raise InvalidArgument("spreadsheet_safe", given, remedy)
    return bool(given)


@contextmanager
def csv_writer(path: Path, suffix: str) -> Iterator[Any]:
    """A csv.writer to a file, whose suffix says whether to compress it."""
    with open(path, "wb") as raw:
        stream: Any = raw
        if suffix == ".csv.gz":  # without a name and a time in it, equal tables are equal files
            stream = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        with TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield csv.writer(_Lines(text), lineterminator="\r\n")


class _Lines:
    """Turn CRLF into LF: csv.writer quotes CR and LF only if its own line end has both."""

    def __init__(self, text: TextIOWrapper) -> None:
        self.text = text

    def write(self, line: str) -> int:
        return self.text.write(line.removesuffix("\r\n") + "\n")


def _write_csv(
    frames: Iterable[pd.DataFrame], path: Path, suffix: str, spreadsheet_safe: bool
) -> None:
    with csv_writer(path, suffix) as lines:
        for number, frame in enumerate(frames):
            columns: list[Any] = [objects(frame[name]) for name in frame.columns]
            header = list(frame.columns)
            if spreadsheet_safe:
                columns = [[_guarded_cell(cell) for cell in column] for column in columns]
                header = [guarded(name) for name in header]
            if number == 0:
                lines.writerow(header)
            lines.writerows(zip(*columns, strict=True))


def _guarded_cell(cell: Any) -> Any:
    """The text of a cell, guarded; negative numbers begin with a risky character too."""
    return None if cell is None else guarded(str(cell))


def _write_parquet(
    frames: Iterable[pd.DataFrame],
    path: Path,
    types: Mapping[str, str],
    stored: Mapping[str, Mapping[bytes, bytes]],
    notes: Mapping[bytes, bytes] | None,
) -> None:
    import pyarrow
    import pyarrow.parquet

    def convert(name: str, column: pd.Series[Any]) -> Any:
        if isinstance(column.dtype, pd.ArrowDtype):
            array: Any = column.array
            return array.__arrow_array__()
        kind = types.get(name, "string")
        if kind != "string":
            return pyarrow.array(column, kind, from_pandas=True)
        text = coded(column)
        assert text is not None  # whatever else was written has its type
        return taken(text[0], [str(value) for value in text[1]])

    writer = None
    try:
        for frame in frames:
            table = pyarrow.table({name: convert(name, frame[name]) for name in frame.columns})
            fields = [field.with_metadata(stored.get(field.name)) for field in table.schema]
            table = table.cast(pyarrow.schema(fields, metadata=notes))
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
