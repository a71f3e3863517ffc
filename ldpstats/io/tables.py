"""Tables in CSV and Parquet files, read and written in chunks, and what their fields say."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, RawIOBase, TextIOWrapper
from itertools import islice
from operator import eq, gt, lt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, counts_vector, listed, positive_integer
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.io.storage import FilePath, checked_path, reading, refusal, replacing_all
from ldpstats.labels import Mask, arrow_text, factorized, is_text, missing_entries
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.reports.layout import (
    cohort_column,
    holds_bytes,
    in_pandas,
    label_codes,
    plain_bytes,
)
from ldpstats.reports.single import Reports

Advance = Callable[[float], None]
"""Called after each chunk with the fraction of the file that has been read."""

CHUNK_ROWS = 1 << 18
_PIECE = 1 << 13
_LONGEST = 1 << 24  # bytes of a line

_FORMATS = (".csv", ".csv.gz", ".parquet")
BY_PANDAS = {  # what reads a file of another program
    ".dta": "read_stata",
    ".sav": "read_spss",
    ".xlsx": "read_excel",
    ".xls": "read_excel",
    ".feather": "read_feather",
    ".sas7bdat": "read_sas",
    ".xpt": "read_sas",
}

# comparisons of cells, which conditions are made of
SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {"==": eq, "<": lt, ">": gt}


def file_format(path: FilePath) -> str:
    """The format of a table, which is its suffix."""
    name = checked_path(path).name.lower()
    for suffix in _FORMATS:
        if name.endswith(suffix):
            return suffix
    reader = BY_PANDAS.get(os.path.splitext(name)[1])
    remedy = f"has no known format: the name must end in {', '.join(_FORMATS)}"
    if reader:
        stem = os.path.splitext(name)[0]
        remedy = f"Survey({name!r}, ...) reads it in Python; else make it a Parquet file: "
        remedy += f"pandas.{reader}({name!r}).to_parquet('{stem}.parquet')"
    raise refusal(path, remedy)


def columns_shown(columns: Sequence[str]) -> str:
    """The names of columns for an error, twenty at most."""
    if len(columns) == 1 and (other := [c for c in ";\t" if c in columns[0]]):
        words = f"one column, {columns[0]!r}; if this is a file, its fields have {other[0]!r} "
        words += f"between them: Survey(..., sep={other[0]!r}) reads it, and --sep with "
        return f"{words}--questionnaire"
    return ", ".join(map(repr, columns[:20])) + ", ..." * (len(columns) > 20) or "none"


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
    sep: str = ",",
) -> Iterator[pd.DataFrame]:
    """Read several columns, and the `optional` ones that exist, in chunks."""
    # fields are between `sep`, in CSV;
    # text in the columns of `codes` may come as a dictionary of Arrow, which `coded` reads; of a
    # `secret` table no error shows the first line either: it may be an answer, without a header
    chunk_rows = positive_integer("chunk_rows", chunk_rows)
    if advance is not None and not callable(advance):
        raise InvalidArgument("advance", advance, "must be a function of the fraction done")
    stored = file_format(path) == ".parquet"
    chunks = _parquet_chunks if stored else partial(_csv_chunks, sep=sep)
    wanted = names("columns", columns)

    def places(header: list[str]) -> dict[str, int]:
        """Positions of the wanted columns that exist."""
        there = [name for name in optional if name in header or guarded(name) in header]
        every = dict.fromkeys([*wanted, *there])
        return {name: _position(path, header, name, secret) for name in every}

    for frame, fraction in chunks(path, places, chunk_rows, secret, codes):
        yield frame
        if advance is not None:
            advance(fraction)


Places = Callable[[list[str]], dict[str, int]]
"""From a header to the positions of the columns that are wanted."""


@contextmanager
def csv_lines(
    path: FilePath, secret: bool = False, sep: str = ","
) -> Iterator[tuple[Iterator[list[str]], Any]]:
    """The rows of a CSV file as lists of text, and the open file under them (compressed or not)."""
    with _csv_bytes(path, secret) as (stream, raw):
        text = TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        yield csv.reader(text, strict=True, delimiter=sep), raw


@contextmanager
def _csv_bytes(path: FilePath, secret: bool) -> Iterator[tuple[Any, Any]]:
    """A CSV file as it is read, decompressed, and the open file under it."""
    with reading(path, secret=secret, regular=True), open(path, "rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if file_format(path) == ".csv.gz" else raw
        yield BufferedReader(_Lines(stream), _PIECE), raw


class _Lines(RawIOBase):
    """Bytes that end in an error at a line that no table has: kilobytes of gzip may hold one."""

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


def _csv_chunks(
    path: FilePath,
    places: Places,
    chunk_rows: int,
    secret: bool,
    codes: Sequence[str],
    sep: str = ",",
) -> Iterator[tuple[pd.DataFrame, float]]:
    """Chunks by Arrow as far as the file is plain, then by the strict reader, from the start."""
    done = 0
    with _csv_bytes(path, secret) as (stream, raw):
        size = os.fstat(raw.fileno()).st_size
        header = header_of(stream.readline(csv.field_size_limit())) if sep == "," else None
        at = places(header) if header else {}
        if header and at:
            for block in blocks(stream, chunk_rows):
                columns = parsed_numbers(block, len(header), at.values())
                if columns is None:
                    break
                cells: dict[str, pd.Series[Any]] = {}
                for name, i in at.items():
                    text = pd.Series(columns[i], dtype=pd.ArrowDtype(columns[i].type))
                    cells[name] = text if name in codes else pd.Series(objects(text), dtype=object)
                frame = pd.DataFrame(cells)
                done += len(frame)
                yield frame, raw.tell() / size
            else:
                return
    # whose errors name what is wrong, and the row
    with csv_lines(path, secret, sep) as (lines, raw):
        size = os.fstat(raw.fileno()).st_size
        header = next(lines, [])
        if not header:
            raise refusal(path, "is empty: the first line must name the columns")
        at, rows = places(header), _whole_rows(path, lines, len(header))
        for _ in islice(rows, done):
            pass
        while True:
            texts: dict[str, list[str | None]] = {}
            # in blocks too small to wake the garbage collector, which would take half of the time
            for start in range(0, chunk_rows, 512):
                some = list(islice(rows, min(512, chunk_rows - start)))
                if not some:
                    break
                for name, i in at.items():
                    texts.setdefault(name, []).extend([row[i] or None for row in some])
            if not texts:
                return
            yield pd.DataFrame(texts, dtype=object), raw.tell() / size


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
            hint = "; are they between semicolons or tabs? Give sep=" if width == 1 else ""
            shown = f"row {number} has {len(row)} fields, the header has {width}"
            raise refusal(path, f"{shown}: repair the file{hint}")


def _parquet_chunks(
    path: FilePath, places: Places, chunk_rows: int, secret: bool, codes: Sequence[str]
) -> Iterator[tuple[pd.DataFrame, float]]:
    """Batches of rows, and the fraction of the file that is read."""
    import pyarrow
    import pyarrow.parquet

    with reading(path, pyarrow.ArrowException, secret=secret, regular=True):
        file = pyarrow.parquet.ParquetFile(path)
        if codes:  # text comes as dictionaries, where it is wanted so
            with file:
                text = [c.name for c in file.schema_arrow if pyarrow.types.is_string(c.type)]
                chosen = [name for name in text if name in codes]
                file = pyarrow.parquet.ParquetFile(path, read_dictionary=chosen)
        with file:
            header = file.schema_arrow.names
            stored = {header[i]: name for name, i in places(header).items()}
            done = 0
            for batch in file.iter_batches(batch_size=chunk_rows, columns=list(stored)):
                done += batch.num_rows
                plain = batch.replace_schema_metadata(None)  # is not used, and may be damaged
                frame = plain.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
                yield frame.rename(columns=stored), done / max(1, file.metadata.num_rows)


def _position(path: FilePath, header: list[str], column: str, secret: bool) -> int:
    """The place of a column in a header, where it is perhaps `guarded`."""
    spelling = column if column in header else guarded(column)
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


# -- Reports in columns: `reports.layout` says how they stand in tables ---------------------------


# -- reading ---------------------------------------------------------------------------------------


def reports_in(
    places: tuple[str, str],
    mechanism: Mechanism,
    column: pd.Series[Any],
    cohort: pd.Series[Any] | None = None,
    done: int | None = None,
    exact: bool = False,
) -> tuple[Reports, Mask]:
    """The reports of a column, and which rows have none, (n,).

    `cohort` is the column of cohorts where they do not stand before the reports, `places` what
    errors call both; of a file `done` rows come before. With `exact` labels are as they stand.
    """
    if isinstance(mechanism, Enumerated):
        codes = label_codes(mechanism, places, column, cohort, done, exact)
        return Reports(codes[codes >= 0], mechanism), codes < 0
    values, absent = found_in(places[0], column)
    return parsed(places, mechanism, values, absent, cohort, done or 0), absent


def parsed(
    places: tuple[str, str],
    mechanism: Mechanism,
    values: Any,
    absent: Mask,
    cohort: pd.Series[Any] | None,
    done: int,
) -> Reports:
    """`reports_in`, not labels from a list, from the values of rows that are not `absent`, (n,)."""
    groups = None if cohort is None else cohorts_in(places[1], mechanism, cohort, absent, done)
    with row_named(places[0], done, values, absent):
        return mechanism.parse("reports", values, groups)


def found_in(where: str, column: pd.Series[Any]) -> tuple[Any, Mask]:
    """The reports of a column in any form, and which rows have none."""
    absent: Mask
    if holds_bytes(column):  # in its own memory
        if isinstance(column.dtype, pd.ArrowDtype):
            column = in_pandas(plain_bytes(column.array.__arrow_array__()))
        absent = column.isna().to_numpy(dtype=bool)
        found = column[~absent] if absent.any() else column
        return found.reset_index(drop=True), absent
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


def cell_type(mechanism: Mechanism) -> type:
    """The type of a mechanism's reports in a table: of its labels (several: `object`), or text."""
    if not isinstance(mechanism, Enumerated):
        return str
    if isinstance(mechanism.outputs, pd.RangeIndex):
        return int
    kinds = {type(label) for label in mechanism.outputs.tolist()}
    return kinds.pop() if len(kinds) == 1 else object


def filled(cells: Any, absent: Mask, kind: type = object) -> pd.Series[Any]:
    """A column of cells of one type in this order, empty where a respondent is `absent`, (n,)."""
    empty: Any = {int: 0, bool: False, float: np.nan}.get(kind)
    types: Any = {int: np.int64, bool: bool, float: np.float64}
    values = np.full(absent.size, empty, dtype=types.get(kind, object))
    values[~absent] = cells
    if kind in (int, bool) and absent.any():
        masked = pd.arrays.IntegerArray if kind is int else pd.arrays.BooleanArray
        return pd.Series(masked(values, absent))
    column = pd.Series(values, dtype=values.dtype)
    return column.infer_objects() if kind is str else column


Cells = Mapping[str, Any]
"""By column: reports, or whole numbers beside them, (n,)."""


def columns_of(cells: Cells, absent: Mask, stored: bool) -> dict[str, pd.Series[Any]]:
    """Columns with empty cells where `absent`, (n,), as frames and CSV have them, or `stored`.

    Labels have their own type; other reports are text, or in Parquet what `stored_columns` says.
    """
    found: dict[str, pd.Series[Any]] = {}
    for name, part in cells.items():
        if not isinstance(part, Reports):
            found[name] = filled(part, absent, int)
        elif stored:
            found |= stored_columns(name, part, absent)
        else:
            labels = part.mechanism.report_labels(part)
            found[name] = filled(labels, absent, cell_type(part.mechanism))
    return found


def stored_columns(name: str, reports: Reports, absent: Mask) -> dict[str, pd.Series[Any]]:
    """The columns of reports in Parquet, empty where `absent`, (n,)."""
    import pyarrow

    mechanism = reports.mechanism
    if isinstance(mechanism, Enumerated):
        if cell_type(mechanism) is not str:
            return columns_of({name: reports}, absent, False)
        codes = np.full(absent.size, -1, dtype=np.int64)  # not from Python's objects
        codes[~absent] = reports.y
        column = taken(codes, mechanism.outputs.tolist())
    elif mechanism.n_bits:
        packed = mechanism.format.to_table(reports.y)
        cells, width, valid = np.ascontiguousarray(packed), packed.shape[1], None
        if absent.any():
            cells = np.zeros((absent.size, width), dtype=np.uint8)
            cells[~absent] = packed
            valid = pyarrow.py_buffer(np.packbits(~absent, bitorder="little"))
        memory = [valid, pyarrow.py_buffer(cells)]
        column = pyarrow.Array.from_buffers(pyarrow.binary(width), absent.size, memory)
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


# -- CSV without quotes, read by Arrow where that cannot differ from Python's strict reader -------


_MARK = b"\xef\xbb\xbf"  # a mark that Arrow would drop at the start of any block


def header_of(line: bytes) -> list[str] | None:
    """The fields of the first line; None where only the strict reader can tell."""
    if not line.endswith(b"\n") or not _is_plain(line, 2):
        return None
    return next(csv.reader([line.decode("utf-8-sig")], strict=True), None)


def blocks(stream: Any, rows: int) -> Iterator[bytes]:
    """The rest of a stream, in blocks of so many lines, the last perhaps fewer."""
    pieces: list[bytes] = []
    lines = 0
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        lines += piece.count(b"\n")
        if lines < rows:
            continue
        text, start = b"".join(pieces), 0
        ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1
        for stop in ends[rows - 1 :: rows].tolist():
            yield text[start:stop]
            start = stop
        pieces, lines = [text[start:]], lines % rows
    if text := b"".join(pieces):
        yield text


def parsed_numbers(block: bytes, width: int, places: Iterable[int]) -> dict[int, Any] | None:
    """Columns of a block of lines of `width` fields, dictionaries of Arrow; None if not plain."""
    if block.startswith(_MARK) or not _is_plain(block, width):
        return None
    import pyarrow.csv

    every = [str(place) for place in range(width)]
    wanted = [str(place) for place in dict.fromkeys(places)]
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(block),
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=every
            ),
            pyarrow.csv.ParseOptions(quote_char=False, ignore_empty_lines=width > 1),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, text),
                include_columns=wanted,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pyarrow.ArrowException:  # rows of another length: the strict reader says which
        return None
    return {int(name): table.column(name) for name in wanted}


def _is_plain(block: bytes, width: int) -> bool:
    """Whether lines are fields between commas and nothing else, in UTF-8."""
    returns = block.count(b"\r")
    if b'"' in block or b"\0" in block or returns != block.count(b"\r\n"):
        return False
    if width > 1:
        blank = (b"\n\n", b"\n\r\n") if returns else (b"\n\n",)
        if block.startswith((b"\n", b"\r")) or any(pair in block for pair in blank):
            return False
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    longest = np.diff(ends, prepend=-1, append=len(block)).max()
    if longest > csv.field_size_limit():
        return False
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# -- Tables in CSV and Parquet files, written in chunks -------------------------------------------


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
            yield csv.writer(_LineWriter(text), lineterminator="\r\n")


class _LineWriter:
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
            if spreadsheet_safe:  # negative numbers begin with a risky character too
                columns = [
                    [None if cell is None else guarded(str(cell)) for cell in column]
                    for column in columns
                ]
                header = [guarded(name) for name in header]
            if number == 0:
                lines.writerow(header)
            lines.writerows(zip(*columns, strict=True))


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


# -- What the fields of a table say: labels, missing answers and counts ---------------------------


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
            remedy = f"an empty field means a missing answer in {path}: use a Parquet file"
            raise InvalidArgument("labels", "", remedy)
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
    """Refuse texts, (n,), of an open alphabet that spreadsheet_safe= seems to have changed."""
    if file_format(path) == ".parquet":  # which has no spreadsheet_safe=
        return
    changed = [unguarded(text) != text for text in texts]
    if any(changed):
        remedy = "begins with an apostrophe and one of =, +, - and @, as written with "
        remedy += "spreadsheet_safe= (--spreadsheet-safe): keep answers for another run without "
        remedy += "it; if the apostrophe is part of the answer, use a Parquet file, which is read "
        raise InvalidArgument(named(changed.index(True)), HIDDEN, f"{remedy}as it is")


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
    held = column[~absent] if absent.any() else column
    if pd.api.types.is_integer_dtype(column.dtype) and not held.hasnans:
        quick = np.where(absent, 0, column.to_numpy(np.int64, na_value=0))
        if not quick.size or quick.min() >= 0:
            return quick
    values = objects(_plain(where, column))[~absent]
    remedy = "must be a whole number, neither negative nor missing"
    found = np.zeros(len(column), dtype=np.int64)
    with row_named(where, done, values, absent, remedy):
        found[~absent] = counts_vector(where, [number(value) for value in values], (len(values),))
    return found


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
        remedy = "is missing: leave such rows out, or count them with missing='count' "
        row = done + int(np.argmax(missing)) + 1
        raise InvalidArgument(f"{where}, row {row}", None, f"{remedy}(--missing count)")


# -- Cells of tables: their text with and without a guard, and columns as objects or codes --------


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
    if text is None:
        return np.asarray(column.to_numpy(dtype=object, na_value=None))
    # equal texts are one object
    return np.concatenate([text[1], np.full(1, None, dtype=object)])[text[0]]


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
