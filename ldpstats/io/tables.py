"""Tables in CSV and Parquet files, read and written in chunks."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.io.files import FilePath, checked_path, reading, refusal, replacing

__all__ = [
    "Advance",
    "column_metadata",
    "csv_lines",
    "csv_writer",
    "file_format",
    "names",
    "objects",
    "read_column",
    "read_columns",
    "write_table",
]

Advance = Callable[[float], None]
"""Told, after each chunk, the fraction of the file that has been read."""

CHUNK_ROWS = 1 << 17

_FORMATS = (".csv", ".csv.gz", ".parquet")


def file_format(path: FilePath) -> str:
    """The format of a table, which is its suffix."""
    name = checked_path(path).name.lower()
    for suffix in _FORMATS:
        if name.endswith(suffix):
            return suffix
    raise refusal(path, f"has no known format: the name must end in {', '.join(_FORMATS)}")


def names(name: str, given: object) -> list[str]:
    """A sequence of text as a list; text alone would be taken for a sequence of characters."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidArgument(name, given, f"must be a list, for example [{given!r}]")
    found = list(given)
    for text in found:
        if not isinstance(text, str):
            raise InvalidArgument(name, text, "must be text")
    return found


# -- reading ---------------------------------------------------------------------------------------


def read_column(
    path: FilePath,
    column: str,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> Iterator[pd.Series[Any]]:
    """Read one column of a CSV or Parquet file in chunks.

    Parameters
    ----------
    path : path-like
    column : str
    chunk_rows : int
        Most rows a chunk.
    advance : callable, optional
        Told, after each chunk, the fraction of the file that has been read.

    Yields
    ------
    Series, shape (at most chunk_rows,)
        Objects, text or None, from CSV; the file's own type, as an ArrowDtype, from Parquet.

    Raises
    ------
    InvalidArgument
        For a file that cannot be read, is malformed, or has no such column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answers.csv").write_text("id,answer\\n1,01\\n2,NA\\n3,\\n")
    ...     chunks = read_column(f"{folder}/answers.csv", "answer", chunk_rows=2)
    ...     [chunk.tolist() for chunk in chunks]
    [['01', 'NA'], [None]]
    """
    for frame in read_columns(path, [column], chunk_rows, advance):
        yield frame[column]


def read_columns(
    path: FilePath,
    columns: Sequence[str],
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> Iterator[pd.DataFrame]:
    """Read several columns in chunks; see `read_column`."""
    positive_integer("chunk_rows", chunk_rows)
    chunks = _parquet_chunks if file_format(path) == ".parquet" else _csv_chunks
    for frame, fraction in chunks(path, names("columns", columns), chunk_rows):
        yield frame
        if advance is not None:
            advance(fraction)


@contextmanager
def csv_lines(path: FilePath) -> Iterator[tuple[Iterator[list[str]], Any]]:
    """The rows of a CSV file as lists of text, and the open file under them (compressed or not)."""
    with reading(path), open(path, "rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if file_format(path) == ".csv.gz" else raw
        text = TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        yield csv.reader(text, strict=True), raw


def _csv_chunks(
    path: FilePath, columns: list[str], chunk_rows: int
) -> Iterator[tuple[pd.DataFrame, float]]:
    with csv_lines(path) as (lines, raw):
        size = os.fstat(raw.fileno()).st_size
        header = next(lines, [])
        if not header:
            raise refusal(path, "is empty: the first line must name the columns")
        at = {column: _position(path, header, column) for column in columns}
        rows = _whole_rows(path, lines, len(header))
        while texts := _by_column(rows, chunk_rows, at):
            yield pd.DataFrame(texts, dtype=object), raw.tell() / size


def _by_column(
    rows: Iterator[list[str]], number: int, at: Mapping[str, int]
) -> dict[str, list[str | None]]:
    """The next `number` rows, or fewer, as columns; none when there are no more rows."""
    texts: dict[str, list[str | None]] = {}
    # in blocks too small to wake the garbage collector, which would take half of the time
    for start in range(0, number, 512):
        block = list(islice(rows, min(512, number - start)))
        if not block:
            break
        for column, i in at.items():
            texts.setdefault(column, []).extend([row[i] or None for row in block])  # "" is falsy
    return texts


def _whole_rows(path: FilePath, lines: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    """The rows, each with `width` fields; in a table of one column a blank line is an empty one."""
    for number, row in enumerate(lines, start=1):
        if len(row) == width:
            yield row
        elif not row and width == 1:
            yield [""]
        else:
            raise refusal(
                path, f"row {number} has {len(row)} fields, the header has {width}: repair the file"
            )


def _parquet_chunks(
    path: FilePath, columns: list[str], chunk_rows: int
) -> Iterator[tuple[pd.DataFrame, float]]:
    import pyarrow
    import pyarrow.parquet

    with reading(path, pyarrow.ArrowException), pyarrow.parquet.ParquetFile(path) as file:
        for column in columns:
            _position(path, file.schema_arrow.names, column)
        done = 0
        for batch in file.iter_batches(batch_size=chunk_rows, columns=columns):
            done += batch.num_rows
            frame = batch.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
            yield frame, done / max(1, file.metadata.num_rows)


def _position(path: FilePath, header: list[str], column: str) -> int:
    if header.count(column) != 1:
        found = "no" if column not in header else "more than one"
        raise InvalidArgument("column", column, f"{found} such column in {path}: it has {header}")
    return header.index(column)


def objects(column: Any) -> npt.NDArray[np.object_]:
    """The values of a column of any type as objects, None where missing."""
    values: npt.NDArray[np.object_] = column.to_numpy(dtype=object, na_value=None)
    return values


def column_metadata(path: FilePath, column: str) -> Mapping[bytes, bytes]:
    """The keys and values that are stored beside a column, in Parquet."""
    if file_format(path) != ".parquet":
        return {}
    import pyarrow
    import pyarrow.parquet

    with reading(path, pyarrow.ArrowException):
        schema = pyarrow.parquet.read_schema(path)
        return schema.field(_position(path, schema.names, column)).metadata or {}


# -- writing ---------------------------------------------------------------------------------------


def write_table(
    frames: Iterable[pd.DataFrame],
    path: FilePath,
    types: Mapping[str, str],
    stored: Mapping[str, Mapping[bytes, bytes]],
    force: bool,
) -> None:
    """Write frames as the chunks of one table.

    Parameters
    ----------
    frames : iterable of DataFrame
        Columns of objects, None where missing, or of an ArrowDtype.
    path : path-like
    types : mapping
        Arrow type of the columns of objects that are not text, in Parquet.
    stored : mapping of str to mapping of bytes to bytes
        What to store beside columns, in Parquet.
    force : bool
        Whether an existing file may be overwritten.
    """
    write = _write_parquet if file_format(path) == ".parquet" else _write_csv
    with replacing(path, force) as temporary:
        write(frames, temporary, file_format(path), types, stored)


@contextmanager
def csv_writer(path: Path, suffix: str) -> Iterator[Any]:
    """A csv.writer to a new file, whose suffix says whether to compress it."""
    with open(path, "xb") as raw:
        stream: Any = raw
        if suffix == ".csv.gz":  # without a name and a time in it, equal tables are equal files
            stream = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        with TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield csv.writer(_Lines(text), lineterminator="\r\n")


class _Lines:
    """Ends lines in a line feed alone, though csv.writer knows both characters.

    It quotes a field with a line break only where its own line end has that character.
    """

    def __init__(self, text: TextIOWrapper) -> None:
        self.text = text

    def write(self, line: str) -> int:
        return self.text.write(line.removesuffix("\r\n") + "\n")


def _write_csv(
    frames: Iterable[pd.DataFrame],
    path: Path,
    suffix: str,
    types: Mapping[str, str],
    stored: Mapping[str, Mapping[bytes, bytes]],
) -> None:
    with csv_writer(path, suffix) as lines:
        for number, frame in enumerate(frames):
            if number == 0:
                lines.writerow(frame.columns)
            columns = [objects(frame[name]) for name in frame.columns]
            lines.writerows(zip(*columns, strict=True))


def _write_parquet(
    frames: Iterable[pd.DataFrame],
    path: Path,
    suffix: str,
    types: Mapping[str, str],
    stored: Mapping[str, Mapping[bytes, bytes]],
) -> None:
    import pyarrow
    import pyarrow.parquet

    def convert(name: str, column: pd.Series[Any]) -> Any:
        if isinstance(column.dtype, pd.ArrowDtype):
            return pyarrow.array(column)
        kind = types.get(name, "string")
        values = column.tolist()
        if kind == "string":
            values = [None if value is None else str(value) for value in values]
        return pyarrow.array(values, kind)

    writer = None
    try:
        for frame in frames:
            table = pyarrow.table({name: convert(name, frame[name]) for name in frame.columns})
            fields = [field.with_metadata(stored.get(field.name)) for field in table.schema]
            table = table.cast(pyarrow.schema(fields))
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
