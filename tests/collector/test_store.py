"""Sheets on the disk: exactly once, whatever ends the program or fills the disk."""

import gzip
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from grid import MECHANISMS, WORDS
from shared.collecting import collecting, message, people, questionnaire, sent

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.collector import collect
from ldpstats.collector import store as storing
from ldpstats.collector.app import opened_desk
from ldpstats.collector.files import BatchWriter
from ldpstats.collector.intake import Checks
from ldpstats.collector.store import DiskFailure, Store, opened_store
from ldpstats.errors import InvalidArgument, LDPWarning


class Lines:
    """Files of text, with a sheet in a line; the first says which batch, and what was merged."""

    def write(self, sheets: Sequence[str], path: Path) -> None:
        path.write_text("\n".join([os.urandom(8).hex(), *sheets]))

    def merge(self, files: Sequence[Path], path: Path) -> None:
        texts = [file.read_text().splitlines() for file in files]
        head = " ".join([os.urandom(8).hex(), *(batch for batch, *_ in texts)])
        path.write_text("\n".join([head, *(line for _, *lines in texts for line in lines)]))

    def about(self, path: Path) -> SimpleNamespace:
        head, *lines = path.read_text().splitlines()
        batch, *merged = head.split()
        return SimpleNamespace(n=len(lines), batch=batch, merged=frozenset(merged))


LINES = Lines()


def written(folder: Path) -> Counter[str]:
    """The sheets in the files of a folder, as a reader finds them at any moment."""
    there = [file for file in folder.glob("*.parquet") if file.stat().st_size]
    files = {file: LINES.about(file) for file in there}
    merged = frozenset[str]().union(*(about.merged for about in files.values()))
    lines = [
        f.read_text().splitlines()[1:] for f, about in files.items() if about.batch not in merged
    ]
    return Counter(line for sheets in lines for line in sheets)


def pairs(first: int, last: int) -> list[tuple[bytes, str]]:
    return [(i.to_bytes(16, "big"), f"sheet {i}") for i in range(first, last)]


def test_each_sheet_goes_into_one_file(tmp_path):
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 5))
    store.add(pairs(3, 8))  # two of them again
    assert (store.waiting, store.stored) == (8, 0)
    assert store.batch(9) == 0 and store.batch() == 8 and store.batch() == 0
    store.add(pairs(0, 10))  # eight are in a file
    assert (store.waiting, store.stored) == (2, 8)
    assert store.batch() == 2
    assert written(tmp_path) == Counter(sheet for _, sheet in pairs(0, 10))
    store.close()


def test_what_waits_outlives_the_process(tmp_path):
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 3))
    store.batch()
    store.add(pairs(3, 5))
    store.close()
    again = opened_store(tmp_path, LINES)
    assert (again.waiting, again.stored) == (2, 3)
    again.add(pairs(0, 5))
    assert again.batch() == 2
    again.close()
    assert written(tmp_path) == Counter(sheet for _, sheet in pairs(0, 5))


def test_a_folder_has_one_collector(tmp_path):
    store = opened_store(tmp_path, LINES)
    with pytest.raises(InvalidArgument, match="another collector uses it"):
        opened_store(tmp_path, LINES)
    store.close()
    opened_store(tmp_path, LINES).close()


def test_another_process_is_refused_too(tmp_path):
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 1))

    def open_too() -> None:
        with pytest.raises(InvalidArgument, match="another collector uses it"):
            opened_store(tmp_path, LINES)
        os._exit(7)

    assert in_a_process(open_too) == 7
    store.close()


def test_times_are_whole_hours(tmp_path):
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 3))
    store.batch()
    (file,) = tmp_path.glob("*.parquet")
    made = file.stat().st_mtime
    assert made % 3600 == 0 and 0 <= time.time() - made < 3660
    assert file.name.startswith(time.strftime("sheets-%Y-%m-%dT%H-", time.gmtime(made)))
    store.close()


def test_no_token_and_no_deleted_sheet_stays_in_the_database(tmp_path):
    store = opened_store(tmp_path, LINES)
    sheets = [(os.urandom(16), f"a long sheet of its own {i:05d}") for i in range(200)]
    store.add(sheets)
    database = tmp_path / storing.PRIVATE / "sheets.db"
    before = database.read_bytes()
    assert b"sheet of its own 00007" in before and sheets[7][0] not in before
    assert store.batch() == 200
    left = b"".join(file.read_bytes() for file in database.parent.iterdir())
    assert b"of its own" not in left
    assert not any(token in left for token, _ in sheets)
    store.close()


def test_hashes_of_tokens_have_a_key_of_their_own(tmp_path):
    hashes = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        store = opened_store(tmp_path / name, LINES)
        store.add(pairs(0, 1))
        store.batch()
        hashes += store._database.execute("SELECT token FROM done").fetchall()
        store.close()
    assert hashes[0] != hashes[1] and len(hashes[0][0]) == 16


# -- a copy of the folder, in mid-run --------------------------------------------------------------
def copied(folder: Path) -> dict[str, bytes]:
    private = folder / storing.PRIVATE
    return {file.name: file.read_bytes() for file in private.iterdir() if file.is_file()}


def order(copy: dict[str, bytes], texts: Sequence[bytes]) -> list[int]:
    """Numbers of texts by where they lie in the file of the database."""
    at = [copy["sheets.db"].find(text) for text in texts]
    assert min(at) >= 0
    return sorted(range(len(texts)), key=at.__getitem__)


def rows_of(copy: dict[str, bytes], place: Path) -> list[list[bytes]]:
    """Every row of every table of the database, as bytes, in the order of its keys."""
    place.write_bytes(copy["sheets.db"])
    with closing(sqlite3.connect(place)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = [row for (name,) in names for row in database.execute(f"SELECT * FROM {name}")]
    return [[str(x).encode() if isinstance(x, int) else x for x in row if x] for row in found]


def linked(rows: list[list[bytes]], hashes: Sequence[bytes], sheets: Sequence[bytes]) -> int:
    """How many tokens lead to their sheets: in a row, or as the first with the first, and so on."""
    texts = [b"|".join(x if isinstance(x, bytes) else x.encode() for x in row) for row in rows]
    in_rows = sum(
        any(h in t and s in t for t in texts) for h, s in zip(hashes, sheets, strict=True)
    )
    by_rank = [
        [i for text in texts for i, x in enumerate(of) if x in text] for of in (hashes, sheets)
    ]
    return max(in_rows, sum(i == j for i, j in zip(*by_rank, strict=True)))


def in_order(found: Sequence[int]) -> float:
    """Standard errors by which numbers rise, or fall, more often than in random order."""
    rises = sum(i < j for i, j in itertools.pairwise(found))
    n, rank = len(found), np.corrcoef(found, range(len(found)))[0, 1]
    return max(abs(rises - (n - 1) / 2) / ((n + 1) / 12) ** 0.5, abs(rank) * (n - 1) ** 0.5)


def test_a_copy_links_no_token_to_its_sheet_and_shows_no_order(tmp_path):
    """Copies after each sheet and within the transaction of each; some sheets are in a file."""
    store = opened_store(tmp_path, LINES)
    store.add((os.urandom(16), f"an earlier sheet {i}") for i in range(30))
    store.batch()
    n, copies = 51, {}
    tokens = [os.urandom(16) for _ in range(n)]
    sheets = [f"[{os.urandom(4).hex()}]" for i in range(n)]
    for i in range(n):
        store.add([(tokens[i], sheets[i])])
        copies[i] = copied(tmp_path)
    hashes, texts = [store._hashed(token) for token in tokens], [sheet.encode() for sheet in sheets]
    store.close()
    for i in (30, 40, n - 1):
        copy, first = copies[i], slice(0, i + 1)
        assert copy["sheets.db-journal"] == b""
        # of random permutations one in nine million has ten fixed points or more
        assert linked(rows_of(copy, tmp_path / "copy.db"), hashes[first], texts[first]) < 10
        places = [order(copy, hashes[first]), order(copy, texts[first])]
        assert max(map(in_order, places)) < 5 and sum(map(int.__eq__, *places)) < 10


def test_the_attack_finds_what_is_in_order(tmp_path):
    """The control of the test above: the table of 0.2.0, and one that is filled in order."""
    hashes, sheets = [os.urandom(16) for _ in range(51)], [os.urandom(8) for _ in range(51)]
    for name in ("old", "new"):
        with closing(sqlite3.connect(tmp_path / name)) as database, database:
            if name == "old":
                database.execute("CREATE TABLE w (t BLOB PRIMARY KEY, s BLOB) WITHOUT ROWID")
                database.executemany(
                    "INSERT INTO w VALUES (?, ?)", zip(hashes, sheets, strict=True)
                )
            for table in ("t", "s"):
                database.execute(f"CREATE TABLE {table} (x BLOB)")
            for row in zip(hashes, sheets, strict=True) if name == "new" else ():
                for table, x in zip("ts", row, strict=True):
                    database.execute(f"INSERT INTO {table} VALUES (?)", [x])
        copy = {"sheets.db": (tmp_path / name).read_bytes()}
        assert linked(rows_of(copy, tmp_path / "copy.db"), hashes, sheets) == 51
        assert in_order(order(copy, sheets)) > 5 or name == "old"


def test_a_copy_within_a_transaction_shows_no_more_than_that(tmp_path):
    store, copies = opened_store(tmp_path, LINES), []
    sheets = [(os.urandom(16), f"[{os.urandom(4).hex()}]") for i in range(40)]
    for number, sheet in enumerate(sheets):
        if number == 30:  # between the last write and the commit
            store._check_place = lambda: copies.append(copied(tmp_path))
        store.add([sheet])
    hashes = [store._hashed(token) for token, _ in sheets]
    store.close()
    for number, copy in enumerate(copies, 30):
        raw = copy["sheets.db"] + copy["sheets.db-journal"]
        before = [text.encode() for _, text in sheets[:number]]
        order(copy, before), order(copy, hashes[:number])  # all are there
        rows = rows_of(copy, tmp_path / "copy.db")
        assert linked(rows, hashes[:number], before) < 10
        assert raw.count(sheets[number][1].encode()) <= 1


# -- growth ----------------------------------------------------------------------------------------
def small_files(folder: Path, files: int, each: int) -> Store:
    store = opened_store(folder, LINES)
    for i in range(files):
        store.add(pairs(each * i, each * (i + 1)))
        store.batch()
    return store


def test_small_files_are_merged(tmp_path, monkeypatch):
    every = Counter(sheet for _, sheet in pairs(0, 200))
    store = small_files(tmp_path, 10, 20)
    store.add(pairs(200, 210))  # these wait on
    monkeypatch.setattr(storing, "SMALL", 100)
    assert store.merge() == 10 and store.merge() == 0
    sizes = sorted(LINES.about(file).n for file in tmp_path.glob("*.parquet"))
    assert sizes == [100, 100] and written(tmp_path) == every
    assert (store.waiting, store.stored) == (10, 200)
    store.add(pairs(0, 210))  # all known
    assert store.batch() == 10
    store.close()
    again = opened_store(tmp_path, LINES)
    assert not again.faults and (again.waiting, again.stored) == (0, 210)
    again.close()


def test_a_merge_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    store = small_files(tmp_path, 3, 20)
    before = sorted(tmp_path.glob("*.parquet"))

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    for place in ("rename", "utime"):
        with monkeypatch.context() as patch:
            patch.setattr(os, place, full)
            with pytest.raises(DiskFailure, match="No space left"):
                store.merge()
        assert store.stored == 60 and sorted(tmp_path.glob("*.parquet")) == before
    before[0].write_text("")
    assert store.merge() == 2 and store.faults == {before[0].name: "is empty"}
    assert sum(written(tmp_path).values()) == 40
    store.close()


# -- the record of files ---------------------------------------------------------------------------
def lost(folder: Path) -> None:
    shutil.rmtree(folder / storing.PRIVATE)


def emptied(folder: Path) -> None:
    (folder / storing.PRIVATE / "sheets.db").write_bytes(b"")


def without_tokens(folder: Path) -> None:
    with closing(sqlite3.connect(folder / storing.PRIVATE / "sheets.db")) as database, database:
        database.execute("DELETE FROM done")


def older(folder: Path) -> None:
    shutil.copy(folder / "earlier.db", folder / storing.PRIVATE / "sheets.db")


def damaged(folder: Path) -> None:
    (folder / storing.PRIVATE / "sheets.db").write_bytes(b"not a database" * 100)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("spoil", [lost, emptied, without_tokens, older, damaged])
def test_a_record_that_does_not_fit_the_files_is_no_new_survey(tmp_path, spoil, merged):
    small_files(tmp_path, 2, 20).close()
    shutil.copy(tmp_path / storing.PRIVATE / "sheets.db", tmp_path / "earlier.db")
    store = opened_store(tmp_path, LINES)
    store.add(pairs(40, 60))
    store.batch()
    assert store.merge() == 3 if merged else True
    store.add(pairs(60, 65))
    store.close()
    spoil(tmp_path)
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="start once with --forget-tokens"):
            opened_store(tmp_path, LINES)
    store = opened_store(tmp_path, LINES, forget_tokens=True)
    assert (store.stored, store.waiting) == (60, 0)
    store.add(pairs(0, 20))  # sent again
    assert store.batch() == 20 and store.merge()
    store.close()
    assert written(tmp_path)["sheet 0"] == 2 and written(tmp_path)["sheet 20"] == 1
    assert (tmp_path / storing.PRIVATE / "forgotten-1.db").exists()
    again = opened_store(tmp_path, LINES)
    assert again.stored == 80 and not again.faults
    again.close()
    with pytest.raises(InvalidArgument, match="the record has all files: leave it out"):
        opened_store(tmp_path, LINES, forget_tokens=True)


def test_files_that_are_not_as_they_were_written_are_named(tmp_path):
    small_files(tmp_path, 5, 20).close()
    cut, empty, copy, gone, whole = sorted(tmp_path.glob("*.parquet"))
    cut.write_text(cut.read_text()[:50])
    empty.write_text("")
    shutil.copy(copy, tmp_path / "sheets (1).parquet")
    gone.unlink()
    (tmp_path / "other.parquet").write_text("x")
    store = opened_store(tmp_path, LINES)
    assert store.faults == {
        cut.name: "was changed or cut off",
        empty.name: "is empty",
        "sheets (1).parquet": f"is a copy of {copy.name}: remove it",
        gone.name: "is missing",
        "other.parquet": "was not written by a collector: remove it",
    }
    assert store.stored == 100 and store.merge() == 2  # of what is whole
    assert not whole.exists() and not copy.exists()
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="has other permissions")
def test_what_others_can_read_is_refused(tmp_path):
    opened_store(tmp_path, LINES).close()
    private = tmp_path / storing.PRIVATE
    assert [path.stat().st_mode & 0o777 for path in (private, private / "sheets.db")] == [
        0o700,
        0o600,
    ]
    private.chmod(0o750)
    with pytest.raises(InvalidArgument, match="others can read what is private: chmod -R go= "):
        opened_store(tmp_path, LINES)


# -- failures --------------------------------------------------------------------------------------
def test_a_batch_that_cannot_be_written_waits(tmp_path, monkeypatch):
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 4))

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        with pytest.raises(DiskFailure, match="No space left"):
            store.batch()
        assert store.stuck and store.waiting == 4 and not written(tmp_path)
        assert [file.name for file in (tmp_path / storing.PRIVATE).glob("*.p*")] == []
        store.add(pairs(4, 6))  # sheets are still taken
    assert store.batch() == 6 and not store.stuck
    assert written(tmp_path) == Counter(sheet for _, sheet in pairs(0, 6))
    store.close()


def test_an_error_shows_no_sheet(tmp_path):
    class Spoilt(Lines):
        def write(self, sheets: Sequence[str], path: Path) -> None:
            raise ValueError(f"cannot be read: {sheets}")

    store = opened_store(tmp_path, Spoilt())
    store.add(pairs(0, 4))
    with pytest.raises(DiskFailure, match=r"^ValueError$"):
        store.batch()
    assert store.waiting == 4
    store.close()


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path):
    """The database may not grow: SQLite says of that what it says of a full disk."""
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 4))
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count={pages}")
    more = [(token, sheet * 100) for token, sheet in pairs(4, 100)]
    with pytest.raises(DiskFailure, match="full"):
        store.add(more)
    assert store.failing and store.waiting == 4
    store._database.execute("PRAGMA max_page_count=1000000")
    store.add(more)
    assert not store.failing and store.waiting == 100
    assert store.batch() == 100
    assert sum(written(tmp_path).values()) == 100
    store.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / storing.PRIVATE).write_text("")
    with pytest.raises(InvalidArgument, match="cannot be written"):
        opened_store(tmp_path, LINES)
    database = tmp_path / "other" / storing.PRIVATE / "sheets.db"
    database.parent.parent.mkdir()
    database.parent.mkdir(mode=0o700)
    database.write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidArgument, match="cannot be used"):
        opened_store(tmp_path / "other", LINES)


def test_nothing_is_acknowledged_in_a_folder_that_is_gone(tmp_path):
    """A file that was removed can be written on: what is in it is lost when it is closed."""
    folder, moved = tmp_path / "sheets", tmp_path / "moved"
    folder.mkdir()
    store = opened_store(folder, LINES)
    store.add(pairs(0, 4))
    folder.rename(moved)
    for replaced in (False, True):  # by a folder of the same name, with a collector of its own
        if replaced:
            folder.mkdir()
            opened_store(folder, LINES).close()
        with pytest.raises(DiskFailure):
            store.add(pairs(4, 8))
        with pytest.raises(DiskFailure):
            store.batch()
        assert store.failing
    shutil.rmtree(folder)
    moved.rename(folder)
    store.add(pairs(3, 8))
    assert store.batch() == 8 and not store.failing
    assert written(folder) == Counter(sheet for _, sheet in pairs(0, 8))
    store.close()


# -- crashes ---------------------------------------------------------------------------------------
def in_a_process(what: Callable[[], object]) -> int:
    """Run a function in a fork; the status that it ends with, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            what()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def crashing(owner: Any, place: str, before: bool) -> None:
    """Let a function kill the process before or after it does its work."""
    real = getattr(owner, place)

    def called(*given: Any, **named: Any) -> None:
        if not before:
            real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, place, called)


class HalfWritten(Lines):
    def write(self, sheets: Sequence[str], path: Path) -> None:
        text = "\n".join(sheets)
        path.write_text(text[: len(text) // 2])
        os.kill(os.getpid(), signal.SIGKILL)


def survives(folder: Path, crash: Callable[[], object], n: int) -> Store:
    """The store after a crash that readers do not see."""
    assert in_a_process(crash) == -signal.SIGKILL
    found = written(folder)
    assert not found or found == Counter(sheet for _, sheet in pairs(0, n))
    return opened_store(folder, LINES)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("owner", "place"),
    [(Store, "_placed"), (Store, "_settle"), (Store, "_remove_replaced"), (os, "rename"),
     (os, "utime"), (os, "fsync"), (Path, "unlink"), (Lines, "merge")],
)  # fmt: skip
def test_a_crash_in_the_middle_of_merging(tmp_path, owner, place, before):
    small_files(tmp_path, 5, 20).close()

    def crash() -> None:
        store = opened_store(tmp_path, LINES)
        crashing(owner, place, before)
        store.merge()

    store = survives(tmp_path, crash, 100)
    assert store.stored == 100 and not store.faults
    store.add(pairs(0, 100))
    assert store.waiting == 0
    store.merge()
    store.close()
    assert written(tmp_path) == Counter(sheet for _, sheet in pairs(0, 100))
    assert len(list(tmp_path.glob("*.parquet"))) == 1


def test_ten_kills_while_files_are_merged(tmp_path):
    """Wherever kill -9 comes, no sheet is lost or doubled, for readers neither."""
    small, files = Store._small, 100
    small_files(tmp_path, files, 20).close()
    every = Counter(sheet for _, sheet in pairs(0, 20 * files))

    def merge(begins: int) -> None:
        """Two files at a time; after eight merges it waits for the kill."""
        left = iter(range(8))

        def two(store: Store) -> dict[str, Any]:
            if next(left, None) is None:
                signal.pause()
            os.write(begins, b"x")
            return dict(list(small(store).items())[:2])

        Store._small = two
        opened_store(tmp_path, LINES).merge()

    for merges in range(10):
        begun, begins = os.pipe()
        child = os.fork()
        if child == 0:
            merge(begins)
            os._exit(0)
        for _ in range(1 + merges % 4):
            os.read(begun, 1)
        time.sleep(0.005 * random.random())
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert written(tmp_path) == every
    store = opened_store(tmp_path, LINES)
    assert (store.stored, store.faults) == (20 * files, {})
    assert store.merge() > 0
    store.close()
    assert written(tmp_path) == every and len(list(tmp_path.glob("*.parquet"))) == 1


POINTS = [(Store, "_marked"), (Store, "_placed"), (Store, "_settle"), (os, "rename"),
          (os, "utime"), (os, "fsync")]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "place", "before"),
    [*((*point, before) for point in POINTS for before in (True, False)), (None, "write", True)],
)
def test_a_crash_in_the_middle_of_a_batch(tmp_path, owner, place, before):
    def crash() -> None:
        store = opened_store(tmp_path, HalfWritten() if place == "write" else LINES)
        store.add(pairs(0, 50))
        if owner is not None:
            crashing(owner, place, before)
        store.batch()

    assert in_a_process(crash) == -signal.SIGKILL
    store = opened_store(tmp_path, LINES)
    assert store.waiting + store.stored == 50
    store.add(pairs(0, 60))  # senders that were not answered send again
    store.batch()
    assert store.stored == 60 and store.waiting == 0
    store.close()
    assert written(tmp_path) == Counter(sheet for _, sheet in pairs(0, 60))
    assert [file.name for file in (tmp_path / storing.PRIVATE).glob("*.p*")] == []


def test_a_crash_in_a_transaction(tmp_path):
    """The journal that it leaves is rolled back."""
    store: Store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 4))
    store.close()
    crash = "import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    crash += "d.execute('PRAGMA cache_size=1'); d.execute('BEGIN')\n"
    crash += "for i in range(2000): d.execute('INSERT INTO sheets VALUES (?, ?)',"
    crash += " (1000 + i, b'x' * 500))\n"
    crash += "d.execute('DELETE FROM sheets WHERE place < 1000'); os._exit(9)"
    database = tmp_path / storing.PRIVATE / "sheets.db"
    assert subprocess.run([sys.executable, "-c", crash, database]).returncode == 9
    assert os.path.getsize(f"{database}-journal") > 0
    again = opened_store(tmp_path, LINES)
    assert again.waiting == 4 and again.batch() == 4
    again.close()


def test_the_database_is_of_this_library():
    assert sqlite3.sqlite_version_info >= (3, 8, 2)  # WITHOUT ROWID


# Files of sheets, as Parquet: merged, copied, damaged, of 0.2.0, and as `Survey` reads them.

SHEET = questionnaire()


def filled(folder: Path, files: int = 4, each: int = 25, finish: bool = True) -> list[Path]:
    """A folder with files of sheets, and five sheets that wait."""
    desk = opened_desk(SHEET, folder)
    sheets = list(map(desk.checks.read, sent(SHEET, people(files * each + 5, 1), 2)))
    with closing(desk.intake.store) as store:
        for i in range(files):
            store.add(sheets[i * each : (i + 1) * each])
            assert store.batch() == each
        store.add(sheets[-5:])
        if finish:
            store.batch()
    return sorted(folder.glob("*.parquet"))


def rows(folder: Path) -> Counter[tuple[str, ...]]:
    table = pd.concat([pd.read_parquet(file) for file in folder.glob("*.parquet")])
    return Counter(table.itertuples(index=False, name=None))


def test_merged_files_are_the_same_survey_in_another_order(tmp_path):
    files = filled(tmp_path)
    before = ldp.Survey(tmp_path)
    found, table = rows(tmp_path), pd.concat(map(pd.read_parquet, files), ignore_index=True)
    estimates = before.frequencies("job").params
    collect(SHEET, tmp_path, finish=True)
    (file,) = tmp_path.glob("*.parquet")
    merged = pd.read_parquet(file)
    assert rows(tmp_path) == found and not merged.equals(table)
    assert {*merged.index} == {*range(105)} and file.stat().st_mtime % 3600 == 0
    assert ldp.Survey(tmp_path).frequencies("job").params.equals(estimates)
    assert ldp.Survey(file, SHEET).frequencies("sex").nobs == 105


def test_readers_count_once_what_is_merged(tmp_path):
    """The collector is killed when the whole is there and its parts are too."""
    parts = filled(tmp_path)
    child = os.fork()
    if child == 0:
        store = opened_desk(SHEET, tmp_path).intake.store
        Store._remove_replaced = lambda store: os.kill(os.getpid(), signal.SIGKILL)
        store.merge()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.parquet"))) == len(parts) + 1
    assert len(ldp.Survey(tmp_path)) == 105 and len(ldp.Survey(parts, SHEET)) == 105
    collect(SHEET, tmp_path, finish=True)
    assert len(list(tmp_path.glob("*.parquet"))) == 1 and len(ldp.Survey(tmp_path)) == 105


def test_readers_count_once_what_0_2_0_wrote(tmp_path):
    """Its files have no mark of their own: the merged one has their names."""
    old, *_ = filled(tmp_path / "sheets")
    plain = tmp_path / "sheets-2026-11-01T10-0123456789abcdef.parquet"
    pyarrow.parquet.write_table(
        pyarrow.parquet.read_table(old).replace_schema_metadata(None), plain
    )
    BatchWriter(SHEET, SHEET.client_document()).merge([plain], tmp_path / "all.parquet")
    n = len(pd.read_parquet(old))
    assert len(ldp.Survey([plain, tmp_path / "all.parquet"], SHEET)) == n
    assert len(ldp.Survey(plain, SHEET)) == n


def test_a_copy_counts_once_and_damage_is_named(tmp_path, capfd):
    first, second, *_ = filled(tmp_path)
    shutil.copy(first, tmp_path / "a copy.parquet")
    with pytest.warns(LDPWarning, match="holds the same sheets as .*: remove one of them"):
        assert len(ldp.Survey(tmp_path)) == 105
    second.write_bytes(second.read_bytes()[:-40])
    with pytest.raises(InvalidArgument, match="may be damaged or cut off"):
        ldp.Survey(tmp_path)
    with collecting(tmp_path) as sender:
        health = sender.get("/health")
        assert (health.status, health.json()["healthy"]) == (200, False)
        named = [f"a copy.parquet: is a copy of {first.name}: remove it"]
        assert health.json()["errors"] == [*named, f"{second.name}: was changed or cut off"]
        assert sender.get("/counts").json()["sheets"] == 105
    capfd.readouterr()
    collect(SHEET, tmp_path, finish=True)
    said = capfd.readouterr().err.splitlines()
    gone = "a copy.parquet: was merged into another file: remove it"  # when the collector stopped
    assert said == [f"ldpstats: warning: {text}" for text in (gone, health.json()["errors"][1])]


def test_tokens_that_are_forgotten_are_said_to_be(tmp_path):
    filled(tmp_path)
    shutil.rmtree(tmp_path / ".collecting")
    for how in ({}, {"finish": True}):
        with pytest.raises(InvalidArgument, match=r"--forget-tokens \(forget_tokens=True\)"):
            with (
                collecting(tmp_path, **how) if not how else closing(collect(SHEET, tmp_path, **how))
            ):
                pass
    with collecting(tmp_path, forget_tokens=True) as sender:
        assert sender.get("/counts").json()["sheets"] == 105
        assert sender.get("/health").json() == {"healthy": True, "errors": []}


def test_a_folder_of_the_version_before(tmp_path):
    """Files, tokens and sheets that wait, as 0.2.0 leaves them; one is in a file."""
    for number, file in enumerate(filled(tmp_path, 2, 20, finish=False)):
        file.rename(tmp_path / f"sheets-2026-11-01T10-{number:016x}.parquet")
    base = tmp_path / ".collecting" / "sheets.db"
    with closing(sqlite3.connect(base)) as database, database:
        done = [token for (token,) in database.execute("SELECT token FROM done")]
        texts = database.execute("SELECT content FROM sheets WHERE content > ZEROBLOB(1000)")
        waits = [text[1:].rstrip(b"\0").decode() for (text,) in texts]
        for name in ("sheets", "tokens", "files", "forgotten", "done"):
            database.execute(f"DROP TABLE {name}")
        database.execute("CREATE TABLE done (token BLOB PRIMARY KEY) WITHOUT ROWID")
        rest = done[1:]
        database.executemany("INSERT INTO done VALUES (?)", [(token,) for token in rest])
        table = "waiting (token BLOB PRIMARY KEY, sheet TEXT NOT NULL, batch TEXT) WITHOUT ROWID"
        database.execute(f"CREATE TABLE {table}")
        placed = (done[0], waits[0], "sheets-2026-11-01T10-0000000000000001.parquet")
        left = [(os.urandom(16), text, "none.parquet") for text in waits]
        database.executemany("INSERT INTO waiting VALUES (?, ?, ?)", [placed, *left])
    store = opened_desk(SHEET, tmp_path).intake.store
    assert (store.stored, store.waiting, store.faults) == (40, 5, {})
    store.close()
    collect(SHEET, tmp_path, finish=True)
    assert len(ldp.Survey(tmp_path)) == 45


def test_one_field_does_not_fill_the_memory(tmp_path):
    """Little gzip holds a line of 60 megabytes."""
    path = tmp_path / "sheets.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"job,late,sex\nnurse,no,f\ncook,")
        for _ in range(60):
            file.write(b"x" * 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match="a line has more than 16 megabytes"):
            ldp.Survey(path, SHEET).frequencies("job")
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
    assert path.stat().st_size < 600_000


# Sheets of every mechanism: what a device sends is taken, written, and read by `Survey`.

N = 40

STRINGS = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc", epsilon=6.0)

PUM = ldp.PUM(ldp.URR(("a", "b", "c", "d"), {"a"}, epsilon=1.0), tags=("home", "work"))

OTHERS = {"strings": STRINGS, "pum": PUM}

_PARTS = ("start_1", "gram_1", "start_2", "gram_2", "string")


def as_sent(
    reports: pd.DataFrame, sheet: ldp.Questionnaire, strings: str = "q"
) -> list[dict[str, Any]]:
    """The rows of a table as devices send them."""
    rows = []
    for row in reports.astype(object).where(reports.notna(), None).to_dict("records"):
        texts = {name: None if cell is None else str(cell) for name, cell in row.items()}
        if f"{strings}_string" in texts:
            parts = {part: texts.pop(f"{strings}_{part}") for part in _PARTS}
            starts = [row[f"{strings}_start_{i}"] for i in (1, 2)]
            grams = [parts["gram_1"], parts["gram_2"]]
            found = {"positions": starts, "grams": grams, "string": parts["string"]}
            texts[strings] = None if parts["string"] is None else found
        rows.append(texts)
    return rows


def answered(made_by: Any, rng: np.random.Generator) -> pd.DataFrame:
    if made_by is STRINGS:
        answers: Any = ["abc", "cab", "bb"]
    elif isinstance(made_by, ldp.mechanisms.Mechanism) and made_by.is_open:
        answers = WORDS
    else:
        answers = made_by.categories if made_by is PUM else made_by.labels()
    given = pd.Series(answers).astype(object).take(rng.integers(0, len(answers), N))
    given.iloc[3] = None
    return pd.DataFrame({"q": given.to_numpy()})


@pytest.mark.parametrize("name", [*MECHANISMS, *OTHERS])
def test_a_sheet_of_every_mechanism(name, tmp_path):
    rng = np.random.default_rng(7)
    made_by = (MECHANISMS | OTHERS)[name]
    sheet = ldp.Questionnaire({"q": made_by})
    document = sheet.client_document()
    checks, writer = Checks.of(document), BatchWriter(sheet, document)
    reports = sheet.privatize(answered(made_by, rng), rng)
    rows = as_sent(reports, sheet)
    kept = [checks.read(json.dumps(message(sheet, row)).encode())[1] for row in rows]
    assert all(2 * len(json.dumps(message(sheet, row))) <= checks.largest for row in rows)
    writer.write(kept, tmp_path / "sheets.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "sheets.parquet")
    read = ldp.Survey(table, sheet)
    assert len(read) == N
    if made_by is STRINGS:
        starts = ["q_start_1", "q_start_2"]
        found, given = table.select(starts).to_pandas(), reports[starts]
        assert Counter(found.dropna().itertuples(index=False, name=None)) == Counter(
            given.dropna().itertuples(index=False, name=None)
        )
        assert {column.null_count for column in table.columns} == {1}
        return
    direct = ldp.Survey(reports, sheet)
    assert texts_of(read) == texts_of(direct) and sum(texts_of(read).values()) == N - 1


def texts_of(survey: ldp.Survey) -> Counter[Any]:
    found = survey.reports("q")
    return Counter(found.mechanism.report_labels(found))


def test_files_have_the_columns_that_privatize_writes(tmp_path):
    """The same names, types and notes, for questions of every kind."""
    questions = {
        "number": ldp.KRR(5, 1.0),
        "text": ldp.KRR(("a", "b"), 1.0),
        "half": ldp.URR((0.5, 2.5), (0.5,), 1.0),
        "truth": ldp.KRR((True, False), 1.0),
        "bits": ldp.KRAPPOR(9, 1.0),
        "host": ldp.ORAPPOR(6, 2, 3, epsilon=3.0),
        "strings": STRINGS,
        "sex": ldp.Observed(("f", "m")),
    }
    sheet = ldp.Questionnaire(questions)
    people = pd.DataFrame({"number": [1, 2], "text": ["a", "b"], "half": [0.5, 2.5],
                           "truth": [True, False], "bits": [3, 4], "host": ["x", "y"],
                           "strings": ["ab", "abc"], "sex": ["f", "m"]})  # fmt: skip
    people.to_parquet(tmp_path / "answers.parquet")
    sheet.to_json(tmp_path / "sheet.json")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("answers", "a")]
    assert main(["privatize", *paths, "--questionnaire", str(tmp_path / "sheet.json")]) == 0
    document = sheet.client_document()
    rows = as_sent(pd.DataFrame(sheet.collector().privatize(people)), sheet, "strings")
    kept = [Checks.of(document).read(json.dumps(message(sheet, row)).encode())[1] for row in rows]
    BatchWriter(sheet, document).write(kept, tmp_path / "b.parquet")
    one, other = (pyarrow.parquet.read_schema(tmp_path / f"{name}.parquet") for name in "ab")
    assert one.names == other.names and one.field("sex").metadata == other.field("sex").metadata
    for name in [name for name in one.names if name != "sex"]:  # whose type is that of the answers
        assert one.field(name).type == other.field(name).type, name
        assert one.field(name).metadata == other.field(name).metadata, name
