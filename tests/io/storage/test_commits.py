"""Files that appear complete, together or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.written_tables import mode, names

import ldpstats as ldp
from ldpstats import io
from ldpstats.io import storage
from ldpstats.io.storage import Permissions

JOBS = ("nurse", "teacher", "driver")

KRR = ldp.KRR(JOBS, epsilon=1.0)

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(ldp.__file__).parents[1])}


# -- one file --------------------------------------------------------------------------------------
def test_the_second_to_make_a_new_file_is_refused(links, tmp_path):
    path = tmp_path / "a"
    with pytest.raises(ldp.InvalidArgument, match="already exists"), io.replacing(path) as later:
        later.write_text("later")
        with io.replacing(path) as temporary:
            temporary.write_text("first")
    assert path.read_text() == "first" and names(tmp_path) == ["a"]


def test_a_file_that_appeared_meanwhile_is_overwritten_on_request(links, tmp_path):
    path = tmp_path / "a"
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("mine")
        path.write_text("theirs")
    assert path.read_text() == "mine" and names(tmp_path) == ["a"]


def test_threads_that_make_one_new_file(links, tmp_path):
    """One of eight gets it, all others are refused, and its data are whole: 20 times."""
    for i in range(20):
        won: list[int] = []
        path, start = tmp_path / f"a{i}", threading.Barrier(8)

        def make(number: int, path: Path, won: list[int], start: threading.Barrier) -> None:
            start.wait()
            try:
                with io.replacing(path) as temporary:
                    temporary.write_text(str(number) * 1000)
            except ldp.InvalidArgument as error:
                assert "already exists" in str(error)
            else:
                won.append(number)

        threads = [threading.Thread(target=make, args=(n, path, won, start)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1 and path.read_text() == str(won[0]) * 1000
    assert names(tmp_path) == sorted(f"a{i}" for i in range(20)) and not storage._unfinished


def test_data_are_on_the_disk_before_the_name(tmp_path, monkeypatch):
    done: list[str] = []
    kinds = {True: "folder", False: "file"}

    def told(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            what = kinds[stat.S_ISDIR(os.fstat(given[0]).st_mode)] if name == "fsync" else ""
            done.append(f"{name} {what}".strip())
            return real(*given)

        return call

    for name in ("fsync", "link", "replace"):
        monkeypatch.setattr(os, name, told(name, getattr(os, name)))
    for force, renamed in ((False, "link"), (True, "replace")):
        with io.replacing(tmp_path / "a", force) as temporary:
            temporary.write_text("new")
        assert done == ["fsync file", renamed, "fsync folder"]
        done.clear()


@pytest.mark.parametrize("name", ["fsync", "open"])
@pytest.mark.parametrize("force", [False, True])
def test_a_full_disk_leaves_nothing(force, name, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    if force:
        path.write_text("old")

    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, name, full)
    with pytest.raises(ldp.InvalidArgument, match=r"a\.csv.*cannot be written \(No space left"):
        io.write_reports(KRR.privatize(JOBS, np.random.default_rng(1)), path, force=force)
    monkeypatch.undo()
    assert names(tmp_path) == (["a.csv"] if force else [])
    assert not force or path.read_text() == "old"


def test_words_of_others_are_not_shown(tmp_path):
    """An OSError without a number is somebody else's, and may quote an answer."""
    with pytest.raises(ldp.InvalidArgument, match=r"cannot be written \(OSError\)") as caught:
        with io.replacing(tmp_path / "a"):
            raise OSError("zebra")
    assert "zebra" not in str(caught.value) and names(tmp_path) == []


def test_a_folder_that_vanishes(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    says = r"cannot be written \(No such file"
    with pytest.raises(ldp.InvalidArgument, match=says), io.replacing(folder / "a"):
        shutil.rmtree(folder)
    with pytest.raises(ldp.InvalidArgument, match=says), io.replacing(folder / "a"):
        pass
    assert names(tmp_path) == [] and not storage._unfinished


# -- several files ---------------------------------------------------------------------------------
@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("error", [OSError(errno.EIO, "fault"), KeyboardInterrupt()])
def test_a_fault_at_any_step_of_the_commit(error, at, links, tmp_path, monkeypatch):
    """Whichever of the calls that name files fails, all files are the old ones, or all the new."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths[:2]:
        path.write_text("old")
    before, calls = {"a": "old", "b": "old"}, 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at:
                raise error
            return real(*given)

        return call

    for name in ("link", "rename", "replace"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    try:
        with io.replacing_all(paths, force=True) as temporary:
            for path in temporary:
                path.write_text("new")
    except (ldp.InvalidArgument, KeyboardInterrupt):
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    else:
        assert calls < at or isinstance(error, OSError)
        assert [path.read_text() for path in paths] == ["new"] * 3
    monkeypatch.undo()
    assert set(names(tmp_path)) in ({"a", "b"}, {"a", "b", "c"})


def test_the_second_file_of_another_program_undoes_the_first(links, tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    with pytest.raises(ldp.InvalidArgument, match=r"b'.*already exists"):
        with io.replacing_all([a, b]):
            b.write_text("theirs")
    assert names(tmp_path) == ["b"] and b.read_text() == "theirs"


def test_what_cannot_be_restored_is_not_lost(tmp_path, monkeypatch):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text("old")
    real, calls = os.replace, 0

    def once(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.EIO, "Input/output error")
        real(*given)

    monkeypatch.setattr(os, "replace", once)
    with pytest.raises(ldp.InvalidArgument, match=r"a'.*cannot be restored.*what it held is in"):
        with io.replacing_all(paths, force=True):
            pass
    (kept,) = tmp_path.glob(".ldpstats-*.old")
    assert kept.read_text() == "old"


OVERWRITE = """
import sys
from ldpstats.io import replacing_all
for text in sys.stdin:
    with replacing_all(["a", "b"], force=True) as temporary:
        for path in temporary:
            path.write_text(text)
        print("ready", flush=True)
        sys.stdin.readline()
    print("done", flush=True)
"""


def test_programs_that_overwrite_the_same_files(tmp_path):
    """Of two at once, which take two seconds to start, all files are those of one: 40 times."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command, where = [sys.executable, "-c", OVERWRITE], {"cwd": tmp_path, "env": ENVIRONMENT}
    with ExitStack() as stack:
        programs: list[subprocess.Popen[str]] = [
            stack.enter_context(subprocess.Popen(command, **pipes, **where)) for _ in range(2)
        ]
        told = [program.stdin for program in programs]
        for i in range(40):
            for line, answer in ((f"{i} %d\n", "ready\n"), ("go\n", "done\n")):
                for number, pipe in enumerate(told):
                    pipe.write(line.replace("%d", str(number)))
                    pipe.flush()
                assert [program.stdout.readline() for program in programs] == [answer] * 2
            assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
        for pipe in told:
            pipe.close()
    assert names(tmp_path) == ["a", "b"]


def test_one_directory_of_two_names_is_locked_once(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waits for itself"))
    with storage.alone_in([str(tmp_path), f"{tmp_path}/.", str(tmp_path / "none")]):
        pass
    with storage.alone_in([str(tmp_path)]):  # nobody has it
        pass


def test_somebody_else_who_keeps_the_directory(tmp_path, monkeypatch):
    """As with ``flock FOLDER ldpstats ...``, where waiting would have no end."""
    monkeypatch.setattr(storage, "_PATIENCE", 0.0)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with io.replacing(tmp_path / "a") as temporary:
        temporary.write_text("new")
    os.close(handle)
    assert names(tmp_path) == ["a"]


def test_one_file_twice(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(ldp.InvalidArgument, match="is given twice"):
        with io.replacing_all([tmp_path / "a", tmp_path / "link"]):
            pass
    for paths in ("ab", Path("a"), None, 3):
        with pytest.raises(ldp.InvalidArgument, match="paths="):
            with io.replacing_all(paths):
                pass
    assert names(tmp_path) == ["link"]


# Who may read a file that is written: modes, groups and access control lists.


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(umask, links, tmp_path):
    before = os.umask(umask)
    try:
        with io.replacing(tmp_path / "a") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o666 & ~umask and names(tmp_path) == ["a"]


@pytest.mark.parametrize("umask", [0o222, 0o377, 0o777])
@pytest.mark.parametrize("force", [False, True])
def test_a_umask_that_forbids_the_owner(force, umask, links, tmp_path):
    """Who made the temporary file can open it again, and the file gets what the umask leaves."""
    path = tmp_path / "a"
    if force:
        path.write_text("old")
        path.chmod(0o444)
    before = os.umask(umask)
    try:
        with io.replacing(path, force) as temporary:
            assert mode(temporary) & 0o600 == 0o600
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(path) == (0o444 if force else 0o666 & ~umask)


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o444, 0o664, 0o755])
def test_an_overwritten_file_keeps_its_mode(permissions, links, tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(permissions)
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("new")
        # nobody may read it who may not read the file that it replaces
        assert mode(temporary) == 0o600
    assert path.read_text() == "new" and mode(path) == permissions and names(tmp_path) == ["a"]


@pytest.mark.parametrize(("permissions", "left"), [(0o664, 0o604), (0o604, 0o600), (0o640, 0o600)])
def test_what_a_group_was_allowed_is_not_allowed_to_another(
    permissions, left, tmp_path, monkeypatch
):
    """Nor are its members, who are others now, allowed what they were not."""
    path = tmp_path / "a"
    path.write_text("old")

    def refuse(*given: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    real = path.stat()
    monkeypatch.setattr(os, "fchown", refuse)
    for acl in (None, b"a list of another group's"):
        with path.open("r+") as file:
            Permissions(permissions, real.st_uid, real.st_gid + 1, acl).give(file.fileno())
        assert mode(path) == (left if acl is None else 0o600)


def entries(*given: tuple[int, int, int]) -> bytes:
    """A POSIX access control list: tag, permissions and identity of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in given)


NOBODY = 0xFFFFFFFF

# the owner, user 1234, the group, the mask, and others
LIST = entries((1, 6, NOBODY), (2, 6, 1234), (4, 0, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def listed(path: Path, name: str = ACCESS) -> bytes | None:
    try:
        return os.getxattr(path, name)
    except OSError:
        return None


@pytest.fixture
def acl(tmp_path):
    try:
        os.setxattr(tmp_path, ACCESS, LIST)
        os.removexattr(tmp_path, ACCESS)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no POSIX access control lists here: {error}")


def test_an_overwritten_file_keeps_its_access_control_list(acl, links, tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.setxattr(path, ACCESS, LIST)
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("new")
        assert mode(temporary) == 0o600 and listed(temporary) is None
    # the bits of the group are the mask; without the list, they would be what the group may do
    assert listed(path) == LIST and mode(path) == 0o660 and path.read_text() == "new"


def test_a_list_that_cannot_be_given_leaves_the_owner_alone(acl, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    os.setxattr(path, ACCESS, LIST[:-8] + struct.pack("<HHI", 32, 4, NOBODY))
    assert mode(path) == 0o664

    def refuse(*given: Any) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "setxattr", refuse)
    with io.replacing(path, force=True):
        pass
    assert mode(path) == 0o600 and listed(path) is None


@pytest.mark.parametrize("umask", [0o022, 0o777])
def test_the_default_list_of_a_directory(acl, umask, tmp_path):
    """It holds for new files, as for those of other programs, and for no others."""
    old, new, usual = (tmp_path / name for name in ("old", "new", "usual"))
    old.write_text("old")
    old.chmod(0o640)
    os.setxattr(tmp_path, DEFAULT, LIST)
    before = os.umask(umask)
    try:
        usual.write_text("")
        with io.replacing_all([old, new], force=True):
            pass
    finally:
        os.umask(before)
    assert mode(old) == 0o640 and listed(old) is None
    assert listed(usual) is not None and mode(usual) == mode(new) == 0o660
    assert listed(new) == listed(usual)
