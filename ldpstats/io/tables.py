"""Tables in CSV and Parquet files, read in chunks."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase, TextIOWrapper
from itertools import islice
from typing import Any

import pandas as pd

from ldpstats.arguments.checks import listed, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.io import plain_csv
from ldpstats.io.cells import guarded, objects
from ldpstats.io.storage.files import FilePath, checked_path, reading, refusal

__all__ = [
    "Advance",
    "column_metadata",
    "csv_lines",
    "file_format",
    "names",
    "read_column",
    "read_columns",
    "table_chunks",
]

Advance = Callable[[float], None]
"""Called after each chunk with the fraction of the file that has been read."""

CHUNK_ROWS = 1 << 18
_PIECE = 1 << 13
_LONGEST = 1 << 24  # bytes of a line

_FORMATS = (".csv", ".csv.gz", ".parquet")


def file_format(path: FilePath) -> str:
    """The format of a table, which is its suffix."""
    name = checked_path(path).name.lower()
    for suffix in _FORMATS:
        if name.endswith(suffix):
            return suffix
    raise refusal(path, f"has no known format: the name must end in {', '.join(_FORMATS)}")


def names(name: str, given: object) -> list[str]:
    """A sequence of texts as a list; refuse a single text."""
    example = f", for example [{given!r}]" if isinstance(given, str) else ""
    found = listed(name, given, f"must be a list{example}")
    for text in found:
        if not isinstance(text, str):
            raise InvalidArgument(name, text, "must be text")
    return found


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
        Called after each chunk with the fraction of the file that has been read.

    Yields
    ------
    Series, shape (at most chunk_rows,)
        Objects, text or None, from CSV; the file's own type, as an ArrowDtype, from Parquet.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is malformed, or has no such column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
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
    """Read several columns in chunks; see `read_column`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ldpstats.io import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("id,job,age\\n1,nurse,30\\n2,cook,41\\n")
    ...     [chunk.shape for chunk in read_columns(f"{folder}/a.csv", ["id", "job"])]
    [(2, 2)]
    """
    yield from table_chunks(path, columns, chunk_rows, advance)


def table_chunks(
    path: FilePath,
    columns: Sequence[str],
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
    *,
    optional: Sequence[str] = (),
    secret: bool = False,
    codes: Sequence[str] = (),
) -> Iterator[pd.DataFrame]:
    """Read several columns, and the `optional` ones that exist, in chunks.

    Text in the columns of `codes` may come as a dictionary of Arrow, which `coded` reads.

    For a `secret` table, of true answers, no error shows what it holds, the first line included: it
    may be an answer if the header is missing.
    """
    chunk_rows = positive_integer("chunk_rows", chunk_rows)
    if advance is not None and not callable(advance):
        raise InvalidArgument("advance", advance, "must be a function of the fraction done")
    chunks = _parquet_chunks if file_format(path) == ".parquet" else _csv_chunks
    wanted = _Wanted(path, names("columns", columns), list(optional), secret, codes)
    for frame, fraction in chunks(wanted, chunk_rows):
        yield frame
        if advance is not None:
            advance(fraction)


@dataclass(frozen=True)
class _Wanted:
    """The columns to read from a table."""

    path: FilePath
    columns: list[str]
    optional: list[str]
    secret: bool
    codes: Sequence[str]

    def places(self, header: list[str]) -> dict[str, int]:
        """Positions of the wanted columns that exist."""
        there = [name for name in self.optional if _spelling(header, name) in header]
        every = dict.fromkeys([*self.columns, *there])
        return {name: _position(self.path, header, name, self.secret) for name in every}


@contextmanager
def csv_lines(path: FilePath, secret: bool = False) -> Iterator[tuple[Iterator[list[str]], Any]]:
    """The rows of a CSV file as lists of text, and the open file under them (compressed or not)."""
    with _csv_bytes(path, secret) as (stream, raw):
        text = TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        yield csv.reader(text, strict=True), raw


@contextmanager
def _csv_bytes(path: FilePath, secret: bool) -> Iterator[tuple[Any, Any]]:
    """A CSV file as it is read, decompressed, and the open file under it."""
    with reading(path, secret=secret, regular=True), open(path, "rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if file_format(path) == ".csv.gz" else raw
        yield BufferedReader(_Lines(stream), _PIECE), raw


class _Lines(RawIOBase):
    """A stream of bytes that ends in an error where a line is longer than any table has.

    A few kilobytes of gzip can hold a line that no memory does.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._length = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        end = piece.rfind(b"\n")
        self._length = self._length + len(piece) if end < 0 else len(piece) - 1 - end
        if self._length > _LONGEST:
            raise csv.Error(f"a line has more than {_LONGEST >> 20} megabytes")
        return len(piece)


def _csv_chunks(wanted: _Wanted, chunk_rows: int) -> Iterator[tuple[pd.DataFrame, float]]:
    """Chunks by Arrow as far as the file is plain, then by the strict reader, from the start."""
    done = 0
    with _csv_bytes(wanted.path, wanted.secret) as (stream, raw):
        size = os.fstat(raw.fileno()).st_size
        header = plain_csv.header_of(stream.readline(csv.field_size_limit()))
        at = wanted.places(header) if header else {}
        if header and at:
            for block in plain_csv.blocks(stream, chunk_rows):
                columns = plain_csv.parsed(block, len(header), at.values())
                if columns is None:
                    break
                frame = _of_columns({name: columns[i] for name, i in at.items()}, wanted.codes)
                done += len(frame)
                yield frame, raw.tell() / size
            else:
                return
    yield from _strict_chunks(wanted, chunk_rows, done)


def _of_columns(columns: Mapping[str, Any], codes: Sequence[str]) -> pd.DataFrame:
    """Columns of Arrow as a frame: those of `codes` as they are, others as objects."""
    found: dict[str, pd.Series[Any]] = {}
    for name, column in columns.items():
        text = pd.Series(column, dtype=pd.ArrowDtype(column.type))
        found[name] = text if name in codes else pd.Series(objects(text), dtype=object)
    return pd.DataFrame(found)


def _strict_chunks(
    wanted: _Wanted, chunk_rows: int, done: int
) -> Iterator[tuple[pd.DataFrame, float]]:
    """Chunks after `done` rows; errors name what is wrong, and the row."""
    path = wanted.path
    with csv_lines(path, wanted.secret) as (lines, raw):
        size = os.fstat(raw.fileno()).st_size
        header = next(lines, [])
        if not header:
            raise refusal(path, "is empty: the first line must name the columns")
        at = wanted.places(header)
        rows = _whole_rows(path, lines, len(header))
        for _ in islice(rows, done):
            pass
        while texts := _by_column(rows, chunk_rows, at):
            yield pd.DataFrame(texts, dtype=object), raw.tell() / size


def _by_column(
    rows: Iterator[list[str]], number: int, at: Mapping[str, int]
) -> dict[str, list[str | None]]:
    """The next `number` rows, or fewer, as columns; empty after the last row."""
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
    """The rows, each with `width` fields; a blank line is an empty field if `width` is one."""
    for number, row in enumerate(lines, start=1):
        if len(row) == width:
            yield row
        elif not row and width == 1:
            yield [""]
        elif not row:
            raise refusal(path, f"row {number} is an empty line: remove it")
        else:
            raise refusal(
                path, f"row {number} has {len(row)} fields, the header has {width}: repair the file"
            )


def _parquet_chunks(wanted: _Wanted, chunk_rows: int) -> Iterator[tuple[pd.DataFrame, float]]:
    import pyarrow
    import pyarrow.parquet

    path = wanted.path
    safely = reading(path, pyarrow.ArrowException, secret=wanted.secret, regular=True)
    with safely, _opened_parquet(wanted) as file:
        header = file.schema_arrow.names
        stored = {header[i]: name for name, i in wanted.places(header).items()}
        done = 0
        for batch in file.iter_batches(batch_size=chunk_rows, columns=list(stored)):
            done += batch.num_rows
            plain = batch.replace_schema_metadata(None)  # pandas's is not used, and may be damaged
            frame = plain.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
            yield frame.rename(columns=stored), done / max(1, file.metadata.num_rows)


def _opened_parquet(wanted: _Wanted) -> Any:
    """A Parquet file whose text comes as dictionaries, where it is wanted so."""
    import pyarrow.parquet
    from pyarrow import types

    file = pyarrow.parquet.ParquetFile(wanted.path)
    if not wanted.codes:
        return file
    with file:
        text = [field.name for field in file.schema_arrow if types.is_string(field.type)]
        chosen = [name for name in text if name in wanted.codes]
        return pyarrow.parquet.ParquetFile(wanted.path, read_dictionary=chosen)


def _spelling(header: list[str], column: str) -> str:
    """How a column is written in a header, perhaps with an apostrophe; see `guarded`."""
    return guarded(column) if column not in header else column


def _position(path: FilePath, header: list[str], column: str, secret: bool) -> int:
    spelling = _spelling(header, column)
    if header.count(spelling) != 1:
        found = "no" if spelling not in header else "more than one"
        rest = f"{len(header)} columns: check the first line" if secret else header
        raise InvalidArgument("column", column, f"{found} such column in {path}: it has {rest}")
    return header.index(spelling)


def column_metadata(path: FilePath, column: str, secret: bool = False) -> Mapping[bytes, bytes]:
    """The keys and values that are stored beside a column, in Parquet."""
    if file_format(path) != ".parquet":
        return {}
    import pyarrow
    import pyarrow.parquet

    with reading(path, pyarrow.ArrowException, secret=secret, regular=True):
        schema = pyarrow.parquet.read_schema(path)
        return schema.field(_position(path, schema.names, column, secret)).metadata or {}
