"""Sheets on the disk: none is acknowledged before it is there, and each is in one batch once.

A sheet waits in a database in ``DIR/.collecting`` until it goes, with others and in random order,
into a Parquet file in ``DIR``. A batch is made in steps, and after each the next can be
found out from what is on the disk, whatever ended the program:

1. sheets that wait are marked with the name of a file that does not exist yet;
2. the file is written under another name, flushed, and renamed to that name;
3. in one transaction the sheets are deleted, and their tokens kept, against duplicates.

A sheet by invitation and the mark that its code is spent are written in one transaction.

If the file is there after a crash, step 3 is done; if not, the marks are removed.

The rollback journal of the database is emptied after each transaction, and what is deleted is
overwritten. A write-ahead log would keep the sheets in the order in which they came.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes, token_hex
from threading import Lock

from ldpstats.collector.folder import flush_folder
from ldpstats.collector.invitations import INVITED, enrol, spend
from ldpstats.io.storage.files import refusal

__all__ = ["DiskFailure", "Sent", "Store", "opened_store"]

HOUR = 3600
PRIVATE = ".collecting"
DATABASE = "sheets.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS waiting
    (token BLOB PRIMARY KEY, sheet TEXT NOT NULL, batch TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS done (token BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_SETTINGS = (
    "PRAGMA locking_mode=EXCLUSIVE",  # for this process alone, until it ends
    "PRAGMA journal_mode=TRUNCATE",
    "PRAGMA synchronous=FULL",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",
)
_ADD = """
INSERT OR IGNORE INTO waiting (token, sheet)
SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM done WHERE token = ?1)
"""

Write = Callable[[Sequence[str], Path], None]

Sent = tuple[bytes, str] | tuple[bytes, str, bytes]
"""A token, a sheet and, where sheets are taken by invitation, the hash of a code."""


class DiskFailure(Exception):
    """The disk is full, or cannot be written: nothing was acknowledged, nothing is lost."""


@dataclass
class Store:
    """The sheets of a folder; its methods may be called from several threads.

    Made by `opened_store`.
    """

    folder: Path
    write: Write  # sheets and the name of the file to make
    _database: sqlite3.Connection
    _key: bytes
    waiting: int = 0  # sheets on the disk that are in no batch yet
    stored: int = 0  # sheets in batches
    failing: bool = False  # whether the last sheets could not be written
    stuck: bool = False  # whether the last batch could not
    most: int | None = None  # sheets that are taken in all
    _lock: Lock = field(default_factory=Lock)
    _batches: Lock = field(default_factory=Lock)
    _unsettled: str = ""  # a batch of which it is not known how far it got
    _place: tuple[int, int] = field(init=False)  # of the database on the disk

    def __post_init__(self) -> None:
        self._place = self._found()

    def add(self, sheets: Iterable[Sent]) -> dict[int, str]:
        """Keep sheets, all of them or none; those whose token is known already count once.

        When it returns they are on the disk, and their invitations are spent, except those that it
        returns: places of sheets that are not taken, "spent" if their code was, and "complete"
        where there are as many as there may be.

        Raises
        ------
        DiskFailure
            If they are not.
        """
        added, refused = 0, {}
        with self._transaction() as database:
            for place, (token, sheet, *code) in enumerate(sheets):
                database.execute("SAVEPOINT sheet")
                if database.execute(_ADD, [self._hashed(token), sheet]).rowcount:
                    if self.most is not None and self.waiting + self.stored + added >= self.most:
                        refused[place] = "complete"
                    elif code and not spend(database, self._hashed(code[0])):
                        refused[place] = "spent"
                    else:
                        added += 1
                if place in refused:
                    database.execute("ROLLBACK TO sheet")
                database.execute("RELEASE sheet")
        with self._lock:
            self.waiting += added
        return refused

    def batch(self, least: int = 1) -> int:
        """Put all sheets that wait into a file, if there are `least`; return how many.

        Raises
        ------
        DiskFailure
            If it cannot be written: the sheets wait on.
        """
        with self._batches:
            if self._unsettled:
                self._settle(self._unsettled)
            if self.waiting < max(least, 1):
                return 0
            hour = int(time.time()) // HOUR * HOUR
            name = (
                f"sheets-{time.strftime('%Y-%m-%dT%H', time.gmtime(hour))}-{token_hex(8)}.parquet"
            )
            self._unsettled = name
            sheets = self._marked(name)
            try:
                self._placed(name, sheets, hour)
            except Exception as error:  # the sheets wait, whatever it was
                self.stuck = True
                self._settle(name)
                raise DiskFailure(_reason(error)) from None
            self.stuck = False
            return self._settle(name)

    def invite(self, codes: Iterable[bytes] | None) -> None:
        """Take sheets with these codes; see `opened_store`.

        Raises
        ------
        InvalidArgument
            Without codes, for a folder whose sheets are taken by invitation.
        """
        if codes is not None:
            with self._transaction() as database:
                enrol(database, map(self._hashed, codes))
        elif self._database.execute("SELECT EXISTS (SELECT 1 FROM invited)").fetchone() == (1,):
            remedy = "takes sheets by invitation: pass the files of --invitations, as before"
            raise refusal(self.folder, remedy)

    def shortage(self, largest: int) -> str:
        """What stands against more sheets of `largest` bytes; empty where nothing does."""
        try:
            self._check_place()
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            return f"no sheet can be kept ({error.strerror or error})"
        return "the disk is nearly full" if free <= (self.waiting + 100) * 4 * largest else ""

    def close(self) -> None:
        """Give the folder back; nothing is written."""
        with self._batches, self._lock:
            self._database.close()

    # -- steps ---------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk after its block, or did not happen."""
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._check_place()
                self._database.execute("COMMIT")
            except (sqlite3.Error, OSError) as error:
                self.failing = True
                self._roll_back()
                raise DiskFailure(str(error)) from None
            except BaseException:
                self._roll_back()
                raise
            self.failing = False

    def _check_place(self) -> None:
        """A file that was removed can be written on, until it is closed."""
        if self._found() != self._place:
            raise OSError("the folder was removed, or replaced")

    def _found(self) -> tuple[int, int]:
        """Which file has the name of the database."""
        found = (self.folder / PRIVATE / DATABASE).stat()
        return found.st_dev, found.st_ino

    def _roll_back(self) -> None:
        # where this fails too, the journal stays, and the next transaction begins with it
        with suppress(sqlite3.Error):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _hashed(self, token: bytes) -> bytes:
        """What is kept of a token: its order says nothing."""
        return blake2b(token, key=self._key, digest_size=16).digest()

    def _marked(self, name: str) -> list[str]:
        """Mark the sheets that wait, and return them."""
        with self._transaction() as database:
            database.execute("UPDATE waiting SET batch = ? WHERE batch IS NULL", [name])
            found = database.execute("SELECT sheet FROM waiting WHERE batch = ?", [name])
            return [sheet for (sheet,) in found]

    def _placed(self, name: str, sheets: list[str], hour: int) -> None:
        """Write a batch, and give it its name when it is complete."""
        temporary = self.folder / PRIVATE / name
        try:
            self.write(sheets, temporary)  # flushed to the disk
            os.utime(temporary, (hour, hour))
            os.rename(temporary, self.folder / name)
        finally:
            with suppress(OSError):
                temporary.unlink()
        flush_folder(self.folder)

    def _settle(self, name: str) -> int:
        """Finish a batch whose file is there, undo it otherwise; return how many sheets it has."""
        there = (self.folder / name).exists()
        with self._transaction() as database:
            if there:
                database.execute(
                    "INSERT OR IGNORE INTO done SELECT token FROM waiting WHERE batch = ?", [name]
                )
                done = database.execute("DELETE FROM waiting WHERE batch = ?", [name]).rowcount
            else:
                database.execute("UPDATE waiting SET batch = NULL WHERE batch = ?", [name])
                done = 0
        with self._lock:
            self._unsettled = ""
            self.waiting -= done
            self.stored += done
        return done

    def recover(self) -> None:
        """Settle what an earlier process left in the folder, and count."""
        for leftover in (self.folder / PRIVATE).iterdir():
            if leftover.suffix in (".parquet", ".part"):
                leftover.unlink()
        flush_folder(self.folder)  # a file that was renamed is there for good
        query = "SELECT DISTINCT batch FROM waiting WHERE batch IS NOT NULL"
        for (name,) in self._database.execute(query).fetchall():
            self._settle(name)
        (self.waiting,) = self._database.execute("SELECT COUNT(*) FROM waiting").fetchone()
        (self.stored,) = self._database.execute("SELECT COUNT(*) FROM done").fetchone()


def opened_store(
    folder: Path,
    write: Write,
    invited: Iterable[bytes] | None = None,
    most: int | None = None,
) -> Store:
    """The store of a folder, with what an earlier process left in it.

    `invited` has the hashes of all codes, where sheets are taken by invitation; `most` is how many
    sheets are taken in all.

    Raises
    ------
    InvalidArgument
        If it cannot be opened, or another process has it.
    """
    private = folder / PRIVATE
    try:
        private.mkdir(mode=0o700, exist_ok=True)
        database = sqlite3.connect(
            private / DATABASE, timeout=0.2, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise refusal(folder, f"cannot be written ({error})") from None
    try:
        for setting in _SETTINGS:
            database.execute(setting)
        database.executescript(f"BEGIN EXCLUSIVE; {_SCHEMA} {INVITED} COMMIT;")
        store = Store(folder, write, database, _key(database), most=most)
        store.invite(invited)
        store.recover()
        return store
    except (OSError, sqlite3.Error, DiskFailure) as error:
        database.close()
        remedy = f"cannot be used ({error})"
        if "locked" in str(error):
            remedy = "another collector uses it: stop that one, or name another folder"
        raise refusal(folder, remedy) from None


def _key(database: sqlite3.Connection) -> bytes:
    """The key of the hashes of tokens, drawn once."""
    database.execute(
        "INSERT INTO key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key)", [token_bytes(32)]
    )
    (key,) = database.execute("SELECT key FROM key").fetchone()
    found: bytes = key
    return found


def _reason(error: Exception) -> str:
    """Why a batch cannot be written, without what is in it."""
    is_file = isinstance(error, OSError) or getattr(error, "name", "") == "path"
    return str(error) if is_file else type(error).__name__
