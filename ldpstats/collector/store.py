"""Sheets on the disk: none is acknowledged before it is there, and each is in one file once.

A sheet waits in a database in ``DIR/.collecting`` until it goes, with others and in random order,
into a Parquet file in ``DIR``. A file is made in steps, and after each the next can be found out
from what is on the disk, whatever ended the program:

1. sheets that wait are marked;
2. the file is written in ``DIR/.collecting``, flushed, and its name, which ends in a digest of it,
   is noted in the record of files;
3. it is renamed into ``DIR``;
4. in one transaction the sheets are deleted, and their tokens kept, against duplicates.

If the file is there after a crash, step 4 is done; if not, the marks are removed. Small files are
merged in the same way. The merged file says which it has merged, so that readers count each sheet
once before those are removed.

A sheet by invitation and the mark that its code is spent are written in one transaction.

Sheets that wait, and the hashes of their tokens, lie in two tables at random places (`slots`). The
rollback journal of the database is emptied after each transaction, and what is deleted is
overwritten. A write-ahead log would keep the sheets in the order in which they came.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes, token_hex
from threading import Lock

from ldpstats.collector.files import Tables, compared, fault_of, named, taken
from ldpstats.collector.folder import flush_folder
from ldpstats.collector.invitations import INVITED, enrol, spend
from ldpstats.collector.slots import FREE, MARKED, WAITING, Slots
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import refusal

__all__ = ["FEWEST", "DiskFailure", "Sent", "Store", "opened_store"]

FEWEST = 20  # sheets in a file, but for the last one
SMALL = 50_000  # sheets: files with fewer are merged
_SMALL_BYTES = 1 << 25  # files with more are not
PRIVATE = ".collecting"
DATABASE = "sheets.db"
_HASH = 16  # bytes of what is kept of a token
_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sheets (place INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (place INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS done (token BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (sheets INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS files
    (name TEXT PRIMARY KEY, digest TEXT, sheets INTEGER, state TEXT, merged_into TEXT)
    WITHOUT ROWID;
"""
# states of files: "begun" until it is in the folder, "there", "replaced" by one that is there and
# to be removed, "merged" when that is done
_SETTINGS = (
    "PRAGMA locking_mode=EXCLUSIVE",  # for this process alone, until it ends
    "PRAGMA journal_mode=TRUNCATE",
    "PRAGMA synchronous=FULL",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",
)
_IN_USE = "another collector uses it"
_LOST = (
    "has files of sheets that its record in .collecting does not have, for the record was lost, "
    "emptied, or is older than the files ({shown}): restore files and record from one backup, or "
    "start once with --forget-tokens (forget_tokens=True), which takes the files as they are; "
    "sheets that were taken before would count again if they are sent again"
)

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
    tables: Tables
    _database: sqlite3.Connection
    _key: bytes
    waiting: int = 0  # sheets on the disk that are in no file yet
    stored: int = 0  # sheets in files
    faults: dict[str, str] = field(default_factory=dict)  # of files, by name
    failing: bool = False  # whether the last sheets could not be written
    stuck: bool = False  # whether the last file could not
    most: int | None = None  # sheets that are taken in all
    _lock: Lock = field(default_factory=Lock)
    _files: Lock = field(default_factory=Lock)
    _unsettled: bool = True  # whether a file was begun of which it is not known how far it got
    _known: set[bytes] | None = None  # hashes of tokens whose sheets wait; None: not read
    _place: tuple[int, int] = field(init=False)  # of the database on the disk
    _sheets: Slots = field(init=False)
    _tokens: Slots = field(init=False)

    def __post_init__(self) -> None:
        self._place = self._found()
        self._sheets = Slots(self._database, "sheets")
        self._tokens = Slots(self._database, "tokens")

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
        new: dict[bytes, str] = {}
        refused: dict[int, str] = {}
        with self._transaction() as database:
            known = self._waiting_tokens()
            query = "SELECT 1 FROM done WHERE token = ?"
            for place, (given, sheet, *code) in enumerate(sheets):
                token = self._hashed(given)
                if token in known or token in new or database.execute(query, [token]).fetchone():
                    continue
                if self.most is not None and self.waiting + self.stored + len(new) >= self.most:
                    refused[place] = "complete"
                elif code and not spend(database, self._hashed(code[0])):
                    refused[place] = "spent"
                else:
                    new[token] = sheet
            if new:
                self._sheets.put([sheet.encode() for sheet in new.values()])
                self._tokens.put(list(new))
                known.update(new)
        with self._lock:
            self.waiting += len(new)
        return refused

    def batch(self, least: int = 1) -> int:
        """Put all sheets that wait into a file, if there are `least`; return how many.

        Raises
        ------
        DiskFailure
            If it cannot be written: the sheets wait on.
        """
        with self._files:
            if self._unsettled:
                self._settle()
            if self.waiting < max(least, 1):
                return 0
            self._unsettled = True
            sheets = self._marked()
            with self._undone():
                temporary = self._private(f"{token_hex(8)}.parquet")
                self.tables.write(sheets, temporary)
                self._placed(temporary, len(sheets), ())
            self._settle()
            return len(sheets)

    def merge(self) -> int:
        """Merge small files, their sheets in random order; return how many files were merged.

        Raises
        ------
        DiskFailure
            If a file cannot be written: the others stay as they are.
        """
        merged = 0
        while True:
            with self._files:
                if self._unsettled:
                    self._settle()
                files = self._small()
                if len(files) < 2:
                    return merged
                self._unsettled = True
                with self._undone():
                    temporary = self._private(f"{token_hex(8)}.parquet")
                    self.tables.merge([self.folder / name for name in files], temporary)
                    sheets = sum(files.values())
                    if self.tables.about(temporary).sheets != sheets:
                        raise OSError("files have other sheets than their record says")
                    self._placed(temporary, sheets, files)
                self._settle()
                self._remove_replaced()
                merged += len(files)

    def invite(self, codes: Iterable[bytes]) -> None:
        """Take sheets with these codes, given by their hashes; spent ones stay spent.

        Raises
        ------
        DiskFailure
            If they cannot be written.
        """
        with self._transaction() as database:
            enrol(database, map(self._hashed, codes))

    @property
    def by_invitation(self) -> bool:
        """Whether there are codes, of this process or an earlier one."""
        with self._lock:
            found = self._database.execute("SELECT EXISTS (SELECT 1 FROM invited)").fetchone()
        return bool(found[0])

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
        with self._files, self._lock:
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

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Undo a file that cannot be written, or placed."""
        try:
            yield
        except Exception as error:  # the sheets wait, or stay where they are, whatever it was
            self.stuck = True
            with suppress(OSError):
                self._clean()
            self._settle()
            raise DiskFailure(_reason(error)) from None
        self.stuck = False

    def _check_place(self) -> None:
        """A file that was removed can be written on, until it is closed."""
        if self._found() != self._place:
            raise OSError("the folder was removed, or replaced")

    def _found(self) -> tuple[int, int]:
        """Which file has the name of the database."""
        found = self._private(DATABASE).stat()
        return found.st_dev, found.st_ino

    def _private(self, name: str) -> Path:
        return self.folder / PRIVATE / name

    def _roll_back(self) -> None:
        # where this fails too, the journal stays, and the next transaction begins with it
        with suppress(sqlite3.Error):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
        self._sheets.forget()
        self._tokens.forget()
        self._known = None

    def _hashed(self, token: bytes) -> bytes:
        """What is kept of a token: its order says nothing."""
        return blake2b(token, key=self._key, digest_size=_HASH).digest()

    def _waiting_tokens(self) -> set[bytes]:
        if self._known is None:
            self._known = {row.ljust(_HASH, b"\0") for _, _, row in self._tokens.rows()}
        return self._known

    def _marked(self) -> list[str]:
        """Mark the sheets that wait, and return them."""
        with self._transaction():
            found = self._sheets.rows()
            self._sheets.mark([place for place, _, _ in found], MARKED)
            self._tokens.mark([place for place, _, _ in self._tokens.rows()], MARKED)
            return [sheet.decode() for _, _, sheet in found]

    def _placed(self, temporary: Path, sheets: int, parts: Iterable[str]) -> None:
        """Note a complete file, and which it has merged, and put it into its place."""
        name, content, hour = named(temporary)
        os.utime(temporary, (hour, hour))
        if (self.folder / name).exists():
            raise OSError("there is a file with the same content")
        with self._transaction() as database:
            row = (name, content, sheets)
            database.execute("INSERT INTO files VALUES (?, ?, ?, 'begun', NULL)", row)
            into = "UPDATE files SET merged_into = ? WHERE name = ?"
            database.executemany(into, [(name, part) for part in parts])
        os.rename(temporary, self.folder / name)
        flush_folder(self.folder)

    def _settle(self) -> None:
        """Finish a file that was begun and is in its place; undo it otherwise."""
        with self._transaction() as database:
            query = "SELECT name FROM files WHERE state = 'begun'"
            (name,) = database.execute(query).fetchone() or ("",)
            there = bool(name) and (self.folder / name).exists()
            done = [i for i, state, _ in self._sheets.rows() if state == MARKED]
            tokens = [(i, row) for i, state, row in self._tokens.rows() if state == MARKED]
            if there:
                hashes = sorted(row.ljust(_HASH, b"\0") for _, row in tokens)
                database.executemany("INSERT INTO done VALUES (?)", [(row,) for row in hashes])
                database.execute("UPDATE files SET state = 'there' WHERE name = ?", [name])
                merged = "UPDATE files SET state = 'replaced' WHERE merged_into = ?"
                database.execute(merged, [name])
            else:
                database.execute("DELETE FROM files WHERE name = ?", [name])
                database.execute(
                    "UPDATE files SET merged_into = NULL WHERE merged_into = ?", [name]
                )
            self._sheets.mark(done, FREE if there else WAITING)
            self._tokens.mark([i for i, _ in tokens], FREE if there else WAITING)
            (stored,) = database.execute(
                "SELECT COALESCE(SUM(sheets), 0) FROM files WHERE state = 'there'"
            ).fetchone()
        with self._lock:
            self._unsettled = False
            self._known = None  # until it is next needed
            self.waiting -= len(done) if there else 0
            self.stored = stored

    def _small(self) -> dict[str, int]:
        """Files to be merged into one, with the numbers of their sheets."""
        query = "SELECT name, digest, sheets FROM files WHERE state = 'there' AND sheets < ?"
        with self._lock:
            found = self._database.execute(query + " ORDER BY name", [SMALL]).fetchall()
        chosen: dict[str, int] = {}
        size = 0
        for name, content, sheets in found:
            path = self.folder / name
            if name not in self.faults and (fault := fault_of(path, content)):
                self.faults[name] = fault
            if name in self.faults or path.stat().st_size > _SMALL_BYTES:
                continue
            size += path.stat().st_size
            chosen[name] = sheets
            if sum(chosen.values()) >= SMALL or size >= _SMALL_BYTES:
                break
        return chosen

    def _remove_replaced(self) -> None:
        """Remove files that were merged into one that is there."""
        query = "SELECT name FROM files WHERE state = 'replaced'"
        with self._lock:
            names = [name for (name,) in self._database.execute(query)]
        if names:
            for name in names:
                (self.folder / name).unlink(missing_ok=True)
            flush_folder(self.folder)
            with self._transaction() as database:
                database.execute("UPDATE files SET state = 'merged' WHERE state = 'replaced'")

    def _clean(self) -> None:
        """Remove what was not finished."""
        for leftover in (self.folder / PRIVATE).iterdir():
            if leftover.suffix in (".parquet", ".part"):
                leftover.unlink()

    # -- the record ----------------------------------------------------------------------------

    def recover(self) -> None:
        """Settle what an earlier process left in the folder, count, and compare it with the record.

        Raises
        ------
        InvalidArgument
            If the record does not have all files.
        """
        self._clean()
        flush_folder(self.folder)  # a file that was renamed is there for good
        self.waiting = len(self._waiting_tokens())
        self._settle()
        self._remove_replaced()
        query = "SELECT name, digest FROM files WHERE state "
        record = dict(self._database.execute(query + "= 'there'").fetchall())
        merged = dict(self._database.execute(query + "= 'merged'").fetchall())
        self.faults, unknown = compared(self.folder, record, merged)
        (tokens,) = self._database.execute(
            "SELECT (SELECT COUNT(*) FROM done) + COALESCE(SUM(sheets), 0) FROM forgotten"
        ).fetchone()
        if unknown or tokens != self.stored:
            shown = f"such as {unknown[0]}" if unknown else f"{tokens:,} tokens of {self.stored:,}"
            raise refusal(self.folder, _LOST.format(shown=shown))

    def adopt(self) -> int:
        """Note the files that are in the folder, and return how many sheets they have."""
        with self._transaction() as database:
            files = taken(self.folder, self.tables)
            row = "INSERT INTO files VALUES (?, ?, ?, 'there', NULL)"
            database.executemany(row, files)
        return sum(sheets for _, _, sheets in files)

    def upgrade(self) -> None:
        """Take over what a collector of 0.2.0 left: sheets that wait in rows with their tokens."""
        self.adopt()
        with self._transaction() as database:
            rows = database.execute(
                "SELECT token, sheet, batch FROM waiting ORDER BY token"
            ).fetchall()
            there = [bool(batch) and (self.folder / batch).exists() for _, _, batch in rows]
            placed = [(row[0],) for row, done in zip(rows, there, strict=True) if done]
            left = [row for row, done in zip(rows, there, strict=True) if not done]
            database.executemany("INSERT INTO done VALUES (?)", placed)
            self._sheets.put([sheet.encode() for _, sheet, _ in left])
            self._tokens.put([token for token, _, _ in left])
            database.execute("DROP TABLE waiting")


def opened_store(folder: Path, tables: Tables, forget_tokens: bool = False) -> Store:
    """The store of a folder, with what an earlier process left in it.

    With `forget_tokens` a record that does not fit the files is put aside, and a new one begun.

    Raises
    ------
    InvalidArgument
        If it cannot be opened, another process has it, others can read it, or its record does not
        have all files; with `forget_tokens` also if it has.
    """
    _check_private(folder / PRIVATE)
    try:
        store = _opened(folder, tables)
    except InvalidArgument as error:
        if not forget_tokens or _IN_USE in str(error):
            raise
        return _begun_anew(folder, tables)
    if forget_tokens:
        store.close()
        raise InvalidArgument("forget_tokens", True, "the record has all files: leave it out")
    return store


def _opened(folder: Path, tables: Tables, begin: bool = False) -> Store:
    """Open the database; `begin` a record with the files that are there."""
    place = folder / PRIVATE / DATABASE
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner alone
        database = sqlite3.connect(
            place, timeout=0.2, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise refusal(folder, f"cannot be written ({error})") from None
    try:
        for setting in _SETTINGS:
            database.execute(setting)
        database.executescript(f"BEGIN EXCLUSIVE; {_SCHEMA} {INVITED} COMMIT;")
        store = Store(folder, tables, database, _key(database))
        if begin:
            database.execute("INSERT INTO forgotten VALUES (?)", [store.adopt()])
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'waiting'").fetchone():
            store.upgrade()
        store.recover()
        return store
    except InvalidArgument:
        database.close()
        raise
    except (OSError, sqlite3.Error, DiskFailure) as error:
        database.close()
        remedy = f"cannot be used ({error}): restore {PRIVATE}/{DATABASE} and the files from one "
        remedy += "backup, or start once with --forget-tokens (forget_tokens=True)"
        if "locked" in str(error):
            remedy = f"{_IN_USE}: stop that one, or name another folder"
        raise refusal(folder, remedy) from None


def _begun_anew(folder: Path, tables: Tables) -> Store:
    """Put the database aside, and begin another."""
    place = folder / PRIVATE / DATABASE
    aside = next(
        path
        for number in range(1, 10**6)
        if not (path := place.with_name(f"forgotten-{number}.db")).exists()
    )
    for end in ("-journal", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{place}{end}", f"{aside}{end}")
    return _opened(folder, tables, begin=True)


def _check_private(private: Path) -> None:
    """Refuse a folder that others can read: sheets that wait are in it, and the key of hashes."""
    if os.name == "posix" and private.is_dir() and private.stat().st_mode & 0o077:
        raise refusal(private, f"others can read what is private: chmod -R go= {private}")


def _key(database: sqlite3.Connection) -> bytes:
    """The key of the hashes of tokens, drawn once."""
    database.execute(
        "INSERT INTO key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key)", [token_bytes(32)]
    )
    (key,) = database.execute("SELECT key FROM key").fetchone()
    found: bytes = key
    return found


def _reason(error: Exception) -> str:
    """Why a file cannot be written, without what is in it."""
    is_file = isinstance(error, OSError) or getattr(error, "name", "") == "path"
    return str(error) if is_file else type(error).__name__
