"""CSV without quotes, read by Arrow where that cannot differ from Python's strict reader."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["blocks", "header_of", "parsed"]

_PIECE = 1 << 13
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


def parsed(block: bytes, width: int, places: Iterable[int]) -> dict[int, Any] | None:
    """Columns of a block of lines with `width` fields each, by place; None if it is not plain.

    Text as dictionaries of Arrow, null where empty.
    """
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
