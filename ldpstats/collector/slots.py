"""Rows that wait, at random places of a table of a database: where a row is says nothing.

SQLite puts rows into a page in the order in which they come, whatever their keys. So the places are
made before, all of one width and filled with zeros, and a row is written over a free one that is
drawn. Where places become few, all rows are put into a larger table, at places that are drawn anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from secrets import SystemRandom

__all__ = ["FREE", "MARKED", "WAITING", "Slots"]

FREE, WAITING, MARKED = b"\0", b"\1", b"\2"  # the first byte of a place
_DRAWN = SystemRandom()
_FEWEST = 64  # places of a new table
_STEP = 64  # bytes by which places widen, at least


@dataclass
class Slots:
    """The places of a table ``(place INTEGER PRIMARY KEY, content BLOB)``.

    Each method belongs to a transaction of the caller.
    A row has no zero at its end. After a transaction that failed, call `forget`.
    """

    database: sqlite3.Connection
    table: str
    _free: list[int] | None = None  # None: not known
    _width: int = 0

    def put(self, rows: Sequence[bytes]) -> None:
        """Write rows at places that are drawn."""
        free = self._open()
        longest = 1 + max(map(len, rows), default=0)
        if len(free) < len(rows) or self._width < longest:
            held = self.rows()
            number = 2 * max(len(held) + len(rows), _FEWEST // 2)
            width = max(self._width, -(-longest // _STEP) * _STEP)
            self._make(number, width)
            self._write([(state, row) for _, state, row in held] + [(WAITING, r) for r in rows])
        else:
            self._write([(WAITING, row) for row in rows])

    def rows(self) -> list[tuple[int, bytes, bytes]]:
        """Places that are not free: their number, state and row."""
        found = self.database.execute(f"SELECT place, content FROM {self.table}")
        return [(i, text[:1], text[1:].rstrip(b"\0")) for i, text in found if text[:1] != FREE]

    def mark(self, places: Iterable[int], state: bytes) -> None:
        """Change the state of places; what is free is overwritten."""
        free = self._open()
        for place in places:
            with self.database.blobopen(self.table, "content", place) as blob:
                blob.write(state if state != FREE else bytes(self._width))
            if state == FREE:
                free.append(place)

    def forget(self) -> None:
        """Read again which places are free, when it is next needed."""
        self._free = None

    def _open(self) -> list[int]:
        if self._free is None:
            (width,) = self.database.execute(
                f"SELECT COALESCE(MAX(LENGTH(content)), 0) FROM {self.table}"
            ).fetchone()
            query = f"SELECT place FROM {self.table} WHERE SUBSTR(content, 1, 1) = ?"
            self._free = [place for (place,) in self.database.execute(query, [FREE])]
            self._width = width
        return self._free

    def _make(self, number: int, width: int) -> None:
        """Free places, in place of those that are there."""
        self.database.execute(f"DELETE FROM {self.table}")
        self.database.executemany(
            f"INSERT INTO {self.table} VALUES (?, ZEROBLOB(?))",
            ((place, width) for place in range(number)),
        )
        self._free, self._width = list(range(number)), width

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        free = self._open()
        for state, row in rows:
            drawn = _DRAWN.randrange(len(free))
            free[drawn], free[-1] = free[-1], free[drawn]
            with self.database.blobopen(self.table, "content", free.pop()) as blob:
                blob.write(state + row)
