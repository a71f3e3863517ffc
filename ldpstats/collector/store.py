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

Sheets that wait, and the hashes of their tokens, lie in two tables at random places (`Slots`). The
rollback journal of the database is emptied after each transaction, and what is deleted is
overwritten. A write-ahead log would keep the sheets in the order in which they came.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from secrets import SystemRandom, choice, token_bytes, token_hex
from threading import Lock
from urllib.parse import urlsplit

from ldpstats.arguments import listed, positive_integer
from ldpstats.clients.portable.ldpstats_client import CODE_LENGTH, LETTERS, checked_with
from ldpstats.collector.files import HOUR, BatchWriter, compared, fault_of, named, taken
from ldpstats.engines.parquet import found_files
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.specifications import is_format, json_document
from ldpstats.io.storage import FilePath, checked_path, flush_folder, refusal, replacing_all
from ldpstats.survey.data import QUESTIONNAIRE_FILE
from ldpstats.survey.questionnaire import Questionnaire

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
    """The sheets of a folder; its methods may be called from several threads."""

    folder: Path
    tables: BatchWriter
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
        """Keep sheets, all or none, each token once; places of those not taken, and why."""
        # When it returns they are on the disk, and their invitations are spent. Not taken are those
        # whose code was "spent", and those beyond as many as there may be ("complete").
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
        """Put all sheets that wait into a file, if there are `least`; return how many."""
        with self._files:
            if self._unsettled:
                self._settle()
            if self.waiting < max(least, 1):
                return 0
            self._unsettled = True
            sheets = self._marked()
            with self._undone() as temporary:
                self.tables.write(sheets, temporary)
                self._placed(temporary, len(sheets), ())
            return len(sheets)

    def merge(self) -> int:
        """Merge small files, their sheets in random order; return how many files were merged."""
        merged = 0
        while True:
            with self._files:
                if self._unsettled:
                    self._settle()
                files = self._small()
                if len(files) < 2:
                    return merged
                self._unsettled = True
                with self._undone() as temporary:
                    self.tables.merge([self.folder / name for name in files], temporary)
                    sheets = sum(files.values())
                    if self.tables.about(temporary).n != sheets:
                        raise OSError("files have other sheets than their record says")
                    self._placed(temporary, sheets, files)
                self._remove_replaced()
                merged += len(files)

    def invite(self, codes: Iterable[bytes]) -> None:
        """Take sheets with these codes, given by their hashes; spent ones stay spent."""
        with self._transaction() as database:
            enrol(database, map(self._hashed, codes))

    @property
    def by_invitation(self) -> bool:
        """Whether there are codes, of this process or an earlier one."""
        with self._lock:
            row = self._database.execute("SELECT EXISTS (SELECT 1 FROM invited)").fetchone()
        return bool(row[0])

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
    def _undone(self) -> Iterator[Path]:
        """The name of a new file, to be written and placed; undo one for which that fails."""
        try:
            yield self._private(f"{token_hex(8)}.parquet")
        except Exception as error:  # the sheets wait, or stay where they are, whatever it was
            self.stuck = True
            with suppress(OSError):
                self._clean()
            self._settle()
            is_file = isinstance(error, OSError) or getattr(error, "name", "") == "path"
            reason = str(error) if is_file else type(error).__name__
            raise DiskFailure(reason) from None
        self.stuck = False
        self._settle()

    def _check_place(self) -> None:
        """A file that was removed can be written on, until it is closed."""
        if self._found() != self._place:
            raise OSError("the folder was removed, or replaced")

    def _found(self) -> tuple[int, int]:
        """Which file has the name of the database."""
        status = self._private(DATABASE).stat()
        return status.st_dev, status.st_ino

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
            sheets = self._sheets.rows()
            self._sheets.mark([place for place, _, _ in sheets], MARKED)
            self._tokens.mark([place for place, _, _ in self._tokens.rows()], MARKED)
            return [sheet.decode() for _, _, sheet in sheets]

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
            rows = self._database.execute(query + " ORDER BY name", [SMALL]).fetchall()
        chosen: dict[str, int] = {}
        size = 0
        for name, content, sheets in rows:
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
        """Settle what an earlier process left, count, and compare the folder with the record."""
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


def opened_store(folder: Path, tables: BatchWriter, forget_tokens: bool = False) -> Store:
    """The store of a folder, with what an earlier process left in it.

    With `forget_tokens` a record that does not fit the files is put aside, and a new one begun.
    """
    private = folder / PRIVATE
    if os.name == "posix" and private.is_dir() and private.stat().st_mode & 0o077:
        raise refusal(private, f"others can read what is private: chmod -R go= {private}")
    try:
        store = _opened(folder, tables)
    except InvalidArgument as error:
        if not forget_tokens or _IN_USE in str(error):
            raise
        # Put the database aside, and begin another
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
    if forget_tokens:
        store.close()
        raise InvalidArgument("forget_tokens", True, "the record has all files: leave it out")
    return store


def _opened(folder: Path, tables: BatchWriter, begin: bool = False) -> Store:
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
        new_key = "INSERT INTO key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key)"
        database.execute(new_key, [token_bytes(32)])
        (key,) = database.execute("SELECT key FROM key").fetchone()  # of the hashes of tokens
        store = Store(folder, tables, database, key)
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


# -- The folder of a survey: its questionnaire, and files of sheets -------------------------------


def opened_folder(path: FilePath, sheet: Questionnaire) -> Path:
    """A folder for the sheets of a questionnaire, which is written into it once."""
    folder = checked_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(path, f"cannot be made a folder ({error.strerror})") from None
    own = folder / QUESTIONNAIRE_FILE
    if own.exists():
        before = Questionnaire.from_json(own)
        if before.fingerprint != sheet.fingerprint:
            held = f"a questionnaire with fingerprint {before.fingerprint}, not {sheet.fingerprint}"
            if before.family == sheet.family:
                held = f"wave {before.wave!r}, not {sheet.wave!r}"
            raise MechanismMismatch(
                f"{folder} holds sheets of {held}: name another folder for each questionnaire, and "
                "for each wave of it"
            )
        return folder
    try:
        others = bool(found_files(folder)[0])
    except InvalidArgument:
        others = False
    if others:
        raise refusal(path, "holds tables of other programs: name a new folder")
    sheet.to_json(own)
    flush_folder(folder.parent)
    return folder


# -- Rows that wait, at random places of a table of a database: where a row is says nothing -------
# SQLite puts rows into a page in the order in which they come, whatever their keys. So the places
# are made before, all of one width and filled with zeros, and a row is written over a free one
# that is drawn. Where places become few, all rows are put into a larger table, at places that are
# drawn anew. A row has no zero at its end. After a transaction that failed, `forget` is called.


FREE, WAITING, MARKED = b"\0", b"\1", b"\2"  # the first byte of a place
_DRAWN = SystemRandom()
_FEWEST = 64  # places of a new table
_STEP = 64  # bytes by which places widen, at least


@dataclass
class Slots:
    """The places of a table ``(place INTEGER PRIMARY KEY, content BLOB)``, within transactions."""

    database: sqlite3.Connection
    table: str
    _free: list[int] | None = None  # None: not known
    _width: int = 0

    def put(self, rows: Sequence[bytes]) -> None:
        """Write rows at places that are drawn."""
        states = [(WAITING, row) for row in rows]
        free = self._open()
        longest = 1 + max(map(len, rows), default=0)
        if len(free) < len(rows) or self._width < longest:
            before = self.rows()
            number = 2 * max(len(before) + len(rows), _FEWEST // 2)
            width = max(self._width, -(-longest // _STEP) * _STEP)
            # Free places, in place of those that are there
            self.database.execute(f"DELETE FROM {self.table}")
            self.database.executemany(
                f"INSERT INTO {self.table} VALUES (?, ZEROBLOB(?))",
                ((place, width) for place in range(number)),
            )
            self._free = free = list(range(number))
            self._width = width
            states = [(state, row) for _, state, row in before] + states
        for state, row in states:
            drawn = _DRAWN.randrange(len(free))
            free[drawn], free[-1] = free[-1], free[drawn]
            with self.database.blobopen(self.table, "content", free.pop()) as blob:
                blob.write(state + row)

    def rows(self) -> list[tuple[int, bytes, bytes]]:
        """Places that are not free: their number, state and row."""
        places = self.database.execute(f"SELECT place, content FROM {self.table}")
        return [(i, text[:1], text[1:].rstrip(b"\0")) for i, text in places if text[:1] != FREE]

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


# -- How many respondents saw their reports and deleted them: a number, and nothing else ----------
# Pages that show reports first say so at ``/withdrawn`` (see `page.page_text`). The number is in
# ``DIR/.collecting/withdrawn``. `GET /counts` has it in steps, since one that grew with each
# deletion would tell when somebody did not like a report.


_NAME = "withdrawn"


@dataclass
class Withdrawals:
    """The number in a file; `add` may be called from several threads."""

    path: Path
    n: int
    _lock: Lock = field(default_factory=Lock)

    @property
    def shown(self) -> int:
        """The number in steps of the sheets of a file, rounded down."""
        return self.n // FEWEST * FEWEST

    def add(self) -> None:
        """Count one more; it is on the disk when this returns."""
        temporary, hour = self.path.with_suffix(".part"), int(time.time()) // HOUR * HOUR
        with self._lock:
            try:
                with open(temporary, "w", encoding="ascii") as file:
                    file.write(f"{self.n + 1}\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.utime(temporary, (hour, hour))
                os.replace(temporary, self.path)
                flush_folder(self.path.parent)
            except OSError as error:
                raise DiskFailure(str(error)) from None
            self.n += 1


def opened_withdrawals(folder: Path) -> Withdrawals:
    """The number of a folder whose store is open."""
    path = folder / PRIVATE / _NAME
    try:
        return Withdrawals(path, int(path.read_text(encoding="ascii")) if path.exists() else 0)
    except (OSError, ValueError):
        remedy = "has no number of deleted reports: restore it, or remove it to count from 0"
        raise InvalidArgument("folder", str(path), remedy) from None


# -- Invitations: codes that take one sheet each --------------------------------------------------
# Two files are made together. One has the codes, for those who invite; the other has only hashes of
# them, for the collector: whoever reads it cannot answer in anybody's name. A code has 19 random
# letters out of 31, 94 bits: of a million codes a guess hits one with probability 5e-23, and
# whoever has the hashes and tries 1e12 codes a second finds the first after some 700 years.
#
# What the collector keeps of a code is whether it is spent, beside a keyed hash. All codes are
# there from the beginning, in the order of their hashes, and to spend one changes one number in
# its place. So the database says neither when nor in which order codes were spent, and nothing in
# it belongs to a code and to a sheet.


FORMAT, VERSION = "ldpstats-invitations", 1
HASH_SIZE = 16  # bytes
_MOST = 10_000_000
_HEX = re.compile(f"[0-9a-f]{{{2 * HASH_SIZE}}}")
_ADDRESS = re.compile(r"[\x21-\x7e]+")

INVITED = """
CREATE TABLE IF NOT EXISTS invited
    (code BLOB PRIMARY KEY, spent INTEGER NOT NULL) WITHOUT ROWID;
"""


# -- making codes ----------------------------------------------------------------------------------


def invite(
    questionnaire: Questionnaire,
    n: int,
    to: FilePath,
    *,
    url: str | None = None,
    force: bool = False,
) -> Path:
    """Make invitation codes, from the randomness of the operating system.

    Parameters
    ----------
    questionnaire : Questionnaire
        The codes are for its sheets alone.
    n : int
        How many.
    to : path-like
        The table of codes to write (CSV), which only its owner may read: ``code``, and ``link`` if
        there is a `url`. Whoever has it can answer in place of those who are invited.
    url : str, optional
        Where the page is. A link has the code as its fragment, which browsers do not send.
    force : bool
        Whether existing files may be overwritten: the codes in them are then lost.

    Returns
    -------
    Path
        The file for the collector, beside the table, ``codes.invitations.json`` for ``codes.csv``.
        It has a hash of each code, in an order that says nothing. Its owner alone may read it, too.

    Raises
    ------
    InvalidArgument
        For any other argument, and for files that exist or cannot be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.collector import invite
    >>> sheet = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), epsilon=1.0)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = invite(sheet, 3, f"{folder}/codes.csv", url="https://survey.example/")
    ...     print(made.name, made.with_name("codes.csv").read_text().count("\\n"))
    codes.invitations.json 4
    """
    if not isinstance(questionnaire, Questionnaire):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    if positive_integer("n", n) > _MOST:
        raise InvalidArgument("n", n, f"must be at most {_MOST}")
    link = None  # the address of a page, to which a code is added
    if url is not None:
        remedy = 'must be the address of the page, such as "https://survey.example/", without a "#"'
        try:
            parts = urlsplit(url if isinstance(url, str) and _ADDRESS.fullmatch(url) else "")
        except ValueError:
            parts = urlsplit("")
        is_web = parts.scheme in ("http", "https") and parts.netloc
        if (parts.scheme != "file" and not is_web) or "#" in url:
            raise InvalidArgument("url", url, remedy)
        link = url if parts.path else f"{url}/"
    table = checked_path(to)
    hashes = table.with_suffix(".invitations.json")
    codes: dict[str, None] = {}
    while len(codes) < n:
        codes[checked_with("".join(choice(LETTERS) for _ in range(CODE_LENGTH - 1)))] = None
    survey = questionnaire.fingerprint
    document = {"format": FORMAT, "version": VERSION, "survey": survey}
    document["codes"] = sorted(hashed(code, survey).hex() for code in codes)
    with replacing_all([table, hashes], force, private=True) as (own, other):
        with own.open("w", encoding="ascii", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["code"] if link is None else ["code", "link"])
            for code in codes:  # four letters, a hyphen, and so on
                code = "-".join(code[i : i + 4] for i in range(0, CODE_LENGTH, 4))
                rows.writerow([code] if link is None else [code, f"{link}#{code}"])
        other.write_text(json.dumps(document, indent=0) + "\n", encoding="ascii")
    return hashes


def hashed(code: str, survey: str) -> bytes:
    """The hash of a code, which is that of one questionnaire."""
    return blake2b(code.encode("ascii"), key=survey.encode("ascii"), digest_size=HASH_SIZE).digest()


# -- knowing codes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Invitations:
    """The codes that a collector knows, by their hashes, which increase."""

    survey: str
    hashes: Sequence[bytes]

    def find(self, code: str) -> bytes | None:
        """The hash of a code; None if the code is unknown."""
        code_hash = hashed(code, self.survey)
        place = bisect_left(self.hashes, code_hash)
        return code_hash if self.hashes[place : place + 1] == [code_hash] else None


def read_invitations(paths: object, survey: str) -> Invitations | None:
    """The invitations of files that `invite` wrote for the collector; None without files."""
    files = listed("invitations", paths, "must be a list of files that ldpstats invite wrote")
    if not files:
        return None
    hashes: set[bytes] = set()
    for path in files:
        if str(path).lower().endswith(".csv"):
            other = checked_path(path).with_suffix(".invitations.json").name
            remedy = f"is for those who invite: give the collector {other}, without codes"
            raise refusal(path, remedy)
        document = json_document(path)
        if not is_format(document, FORMAT) or document.get("version") != VERSION:
            raise refusal(path, "is no file of invitations: ldpstats invite writes them")
        if document.get("survey") != survey:
            raise MechanismMismatch(
                f"{path} has invitations to a questionnaire with fingerprint "
                f"{document.get('survey')}, not {survey}: name the file that ldpstats invite made "
                "for this one"
            )
        codes = document.get("codes")
        if not isinstance(codes, list) or not codes or sorted(set(map(str, codes))) != codes:
            raise refusal(path, "is damaged: it must have different hashes of codes in their order")
        if not all(_HEX.fullmatch(code) for code in codes):
            raise refusal(path, "is damaged: a hash of a code has other characters")
        hashes.update(map(bytes.fromhex, codes))
    return Invitations(survey, sorted(hashes))


# -- spending codes --------------------------------------------------------------------------------


def enrol(database: sqlite3.Connection, codes: Iterable[bytes]) -> None:
    """Give every code its place, those that are new in their order; spent ones stay spent."""
    rows = [(code,) for code in sorted(codes)]
    database.executemany("INSERT OR IGNORE INTO invited VALUES (?, 0)", rows)


def spend(database: sqlite3.Connection, code: bytes) -> bool:
    """Mark a code as spent; False if it was before."""
    query = "UPDATE invited SET spent = 1 WHERE code = ? AND spent = 0"
    return database.execute(query, [code]).rowcount == 1
