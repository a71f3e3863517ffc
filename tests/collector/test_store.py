"""Sheets on the disk: exactly once, whatever ends the program or fills the disk."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ldpstats.collector import store as storing
from ldpstats.collector.files import About
from ldpstats.collector.store import DiskFailure, Store, opened_store
from ldpstats.errors import InvalidArgument


class Lines:
    """Files of text, with a sheet in a line; the first says which batch, and what was merged."""

    def write(self, sheets: Sequence[str], path: Path) -> None:
        path.write_text("\n".join([os.urandom(8).hex(), *sheets]))

    def merge(self, files: Sequence[Path], path: Path) -> None:
        texts = [file.read_text().splitlines() for file in files]
        head = " ".join([os.urandom(8).hex(), *(batch for batch, *_ in texts)])
        path.write_text("\n".join([head, *(line for _, *lines in texts for line in lines)]))

    def about(self, path: Path) -> About:
        head, *lines = path.read_text().splitlines()
        batch, *merged = head.split()
        return About(len(lines), batch, frozenset(merged))


LINES = Lines()


def written(folder: Path) -> Counter[str]:
    """The sheets in the files of a folder, as a reader finds them at any moment."""
    files = {file: LINES.about(file) for file in folder.iterdir() if file.suffix == ".parquet"}
    merged = frozenset[str]().union(*(about.merged for about in files.values()))
    lines = [f.read_text().splitlines()[1:] for f, about in files.items() if about.batch not in merged]
    return Counter(line for sheets in lines for line in sheets)


def pairs(first: int, last: int) -> list[tuple[bytes, str]]:
    return [(i.to_bytes(16, "big"), f"sheet {i}") for i in range(first, last)]


def test_each_sheet_goes_into_one_file(tmp_path: Path) -> None:
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


def test_what_waits_outlives_the_process(tmp_path: Path) -> None:
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


def test_a_folder_has_one_collector(tmp_path: Path) -> None:
    store = opened_store(tmp_path, LINES)
    with pytest.raises(InvalidArgument, match="another collector uses it"):
        opened_store(tmp_path, LINES)
    store.close()
    opened_store(tmp_path, LINES).close()


def test_another_process_is_refused_too(tmp_path: Path) -> None:
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 1))

    def open_too() -> None:
        with pytest.raises(InvalidArgument, match="another collector uses it"):
            opened_store(tmp_path, LINES)
        os._exit(7)

    assert in_a_process(open_too) == 7
    store.close()


def test_times_are_whole_hours(tmp_path: Path) -> None:
    store = opened_store(tmp_path, LINES)
    store.add(pairs(0, 3))
    store.batch()
    (file,) = tmp_path.glob("*.parquet")
    made = file.stat().st_mtime
    assert made % 3600 == 0 and 0 <= time.time() - made < 3660
    assert file.name.startswith(time.strftime("sheets-%Y-%m-%dT%H-", time.gmtime(made)))
    store.close()


def test_no_token_and_no_deleted_sheet_stays_in_the_database(tmp_path: Path) -> None:
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


def test_hashes_of_tokens_have_a_key_of_their_own(tmp_path: Path) -> None:
    hashes = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        store = opened_store(tmp_path / name, LINES)
        store.add(pairs(0, 1))
        store.batch()
        hashes += store._database.execute("SELECT token FROM done").fetchall()
        store.close()
    assert hashes[0] != hashes[1] and len(hashes[0][0]) == 16


# -- failures --------------------------------------------------------------------------------------


def test_a_batch_that_cannot_be_written_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_an_error_shows_no_sheet(tmp_path: Path) -> None:
    class Spoilt(Lines):
        def write(self, sheets: Sequence[str], path: Path) -> None:
            raise ValueError(f"cannot be read: {sheets}")

    store = opened_store(tmp_path, Spoilt())
    store.add(pairs(0, 4))
    with pytest.raises(DiskFailure, match=r"^ValueError$"):
        store.batch()
    assert store.waiting == 4
    store.close()


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
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


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / storing.PRIVATE).write_text("")
    with pytest.raises(InvalidArgument, match="cannot be written"):
        opened_store(tmp_path, LINES)
    database = tmp_path / "other" / storing.PRIVATE / "sheets.db"
    database.parent.parent.mkdir()
    database.parent.mkdir(mode=0o700)
    database.write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidArgument, match="cannot be used"):
        opened_store(tmp_path / "other", LINES)


def test_nothing_is_acknowledged_in_a_folder_that_is_gone(tmp_path: Path) -> None:
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


POINTS = [(Store, "_marked"), (Store, "_placed"), (Store, "_settle"), (os, "rename"),
          (os, "utime"), (os, "fsync")]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "place", "before"),
    [*((*point, before) for point in POINTS for before in (True, False)), (None, "write", True)],
)
def test_a_crash_in_the_middle_of_a_batch(
    tmp_path: Path, owner: Any, place: str, before: bool
) -> None:
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


def test_a_crash_in_a_transaction(tmp_path: Path) -> None:
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


def test_the_database_is_of_this_library() -> None:
    assert sqlite3.sqlite_version_info >= (3, 8, 2)  # WITHOUT ROWID
