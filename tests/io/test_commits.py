"""Files that appear complete, together or not at all, whoever interrupts whatever when."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import program as cli
from ldpstats.io.storage import commits, interrupts, locks
from ldpstats.io.storage.permissions import Permissions

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
ENDING = [signal.SIGTERM, signal.SIGHUP]


ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(ldp.__file__).parents[1])}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def no_links(*paths: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=["links", "no links"])
def links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems with hard links, and without."""
    if request.param == "no links":
        monkeypatch.setattr(os, "link", no_links)


# -- one file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(umask: int, links: None, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        with io.replacing(tmp_path / "a") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o666 & ~umask and names(tmp_path) == ["a"]


@pytest.mark.parametrize("umask", [0o222, 0o377, 0o777])
@pytest.mark.parametrize("force", [False, True])
def test_a_umask_that_forbids_the_owner(
    force: bool, umask: int, links: None, tmp_path: Path
) -> None:
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
def test_an_overwritten_file_keeps_its_mode(permissions: int, links: None, tmp_path: Path) -> None:
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
    permissions: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def acl(tmp_path: Path) -> None:
    try:
        os.setxattr(tmp_path, ACCESS, LIST)
        os.removexattr(tmp_path, ACCESS)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no POSIX access control lists here: {error}")


def test_an_overwritten_file_keeps_its_access_control_list(
    acl: None, links: None, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.setxattr(path, ACCESS, LIST)
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("new")
        assert mode(temporary) == 0o600 and listed(temporary) is None
    # the bits of the group are the mask; without the list, they would be what the group may do
    assert listed(path) == LIST and mode(path) == 0o660 and path.read_text() == "new"


def test_a_list_that_cannot_be_given_leaves_the_owner_alone(
    acl: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_the_default_list_of_a_directory(acl: None, umask: int, tmp_path: Path) -> None:
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


def test_the_second_to_make_a_new_file_is_refused(links: None, tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(ldp.InvalidArgument, match="already exists"), io.replacing(path) as later:
        later.write_text("later")
        with io.replacing(path) as temporary:
            temporary.write_text("first")
    assert path.read_text() == "first" and names(tmp_path) == ["a"]


def test_a_file_that_appeared_meanwhile_is_overwritten_on_request(
    links: None, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("mine")
        path.write_text("theirs")
    assert path.read_text() == "mine" and names(tmp_path) == ["a"]


def test_threads_that_make_one_new_file(links: None, tmp_path: Path) -> None:
    """One of eight gets it, all others are refused, and its data are whole: 50 times."""
    for i in range(50):
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
    assert names(tmp_path) == sorted(f"a{i}" for i in range(50)) and not interrupts._unfinished


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 251 + ".csv")
    io.write_reports(KRR.privatize(JOBS, np.random.default_rng(1)), path)
    assert names(tmp_path) == [path.name]


def test_data_are_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_a_full_disk_leaves_nothing(
    force: bool, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_file_system_that_cannot_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*given: Any) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", cannot)
    with io.replacing(tmp_path / "a") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a").read_text() == "new"


def test_words_of_others_are_not_shown(tmp_path: Path) -> None:
    """An OSError without a number is somebody else's, and may quote an answer."""
    with pytest.raises(ldp.InvalidArgument, match=r"cannot be written \(OSError\)") as caught:
        with io.replacing(tmp_path / "a"):
            raise OSError("zebra")
    assert "zebra" not in str(caught.value) and names(tmp_path) == []


def test_a_folder_that_vanishes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    says = r"cannot be written \(No such file"
    with pytest.raises(ldp.InvalidArgument, match=says), io.replacing(folder / "a"):
        shutil.rmtree(folder)
    with pytest.raises(ldp.InvalidArgument, match=says), io.replacing(folder / "a"):
        pass
    assert names(tmp_path) == [] and not interrupts._unfinished


# -- several files ---------------------------------------------------------------------------------


def test_files_appear_together(links: None, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    b.write_text("old")
    with io.replacing_all([a, b], force=True) as temporary:
        for path in temporary:
            path.write_text("new")
        assert not a.exists() and b.read_text() == "old"
    assert a.read_text() == b.read_text() == "new" and names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("there", [(), (0,), (1,), (0, 1, 2), (2,), (0, 2)])
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_files_appear_together_or_not_at_all(
    fails: int, there: tuple[int, ...], links: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in "abc"]
    for i in there:
        paths[i].write_text(f"old {i}")
        paths[i].chmod(0o640)
    real = commits._Target.place

    def place(self: Any, keep: bool) -> None:
        if self.path == str(paths[fails]):
            raise OSError(errno.EIO, "Input/output error")
        real(self, keep)

    monkeypatch.setattr(commits._Target, "place", place)
    says = rf"{paths[fails].name}'.*cannot be written \(Input/output"
    with pytest.raises(ldp.InvalidArgument, match=says):
        with io.replacing_all(paths, force=True) as temporary:
            for path in temporary:
                path.write_text("new")
    assert names(tmp_path) == [paths[i].name for i in there]
    assert all(paths[i].read_text() == f"old {i}" and mode(paths[i]) == 0o640 for i in there)


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("error", [OSError(errno.EIO, "fault"), KeyboardInterrupt()])
def test_a_fault_at_any_step_of_the_commit(
    error: BaseException, at: int, links: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_second_file_of_another_program_undoes_the_first(links: None, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    with pytest.raises(ldp.InvalidArgument, match=r"b'.*already exists"):
        with io.replacing_all([a, b]):
            b.write_text("theirs")
    assert names(tmp_path) == ["b"] and b.read_text() == "theirs"


def test_what_cannot_be_restored_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_threads_that_overwrite_the_same_files(links: None, tmp_path: Path) -> None:
    """Of two at once, all files are those of one: 100 times."""
    paths = [tmp_path / "folder" / "a", tmp_path / "b"]
    paths[0].parent.mkdir()

    def write(text: str, start: threading.Barrier) -> None:
        with io.replacing_all(paths if text == "x" else paths[::-1], force=True) as temporary:
            for path in temporary:
                path.write_text(text)
            start.wait()

    for _ in range(100):
        start = threading.Barrier(2)
        threads = [threading.Thread(target=write, args=(text, start)) for text in "xy"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert paths[0].read_text() == paths[1].read_text()
    assert names(tmp_path) == ["b", "folder"]


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


def test_programs_that_overwrite_the_same_files(tmp_path: Path) -> None:
    """Of two at once, all files are those of one: 100 times."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command, where = [sys.executable, "-c", OVERWRITE], {"cwd": tmp_path, "env": ENVIRONMENT}
    with ExitStack() as stack:
        programs: list[subprocess.Popen[str]] = [
            stack.enter_context(subprocess.Popen(command, **pipes, **where)) for _ in range(2)
        ]
        told = [program.stdin for program in programs]
        for i in range(100):
            for line, answer in ((f"{i} %d\n", "ready\n"), ("go\n", "done\n")):
                for number, pipe in enumerate(told):
                    pipe.write(line.replace("%d", str(number)))
                    pipe.flush()
                assert [program.stdout.readline() for program in programs] == [answer] * 2
            assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
        for pipe in told:
            pipe.close()
    assert names(tmp_path) == ["a", "b"]


def test_one_directory_of_two_names_is_locked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waits for itself"))
    with locks.alone_in([str(tmp_path), f"{tmp_path}/.", str(tmp_path / "none")]):
        pass
    with locks.alone_in([str(tmp_path)]):  # nobody has it
        pass


def test_somebody_else_who_keeps_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``flock FOLDER ldpstats ...``, where waiting would have no end."""
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with io.replacing(tmp_path / "a") as temporary:
        temporary.write_text("new")
    os.close(handle)
    assert names(tmp_path) == ["a"]


def test_one_file_twice(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(ldp.InvalidArgument, match="is given twice"):
        with io.replacing_all([tmp_path / "a", tmp_path / "link"]):
            pass
    for paths in ("ab", Path("a"), None, 3):
        with pytest.raises(ldp.InvalidArgument, match="paths="):
            with io.replacing_all(paths):  # type: ignore[arg-type]
                pass
    assert names(tmp_path) == ["link"]


# -- signals ---------------------------------------------------------------------------------------


class Came(Exception):
    """What the handler of a test raises."""


@pytest.fixture
def handlers() -> Iterator[None]:
    """Handlers that raise an error, as that of SIGINT does."""

    def came(number: int, frame: Any) -> None:
        raise Came(number)

    before = {number: signal.signal(number, came) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [*ENDING, signal.SIGINT])
def test_a_signal_waits_for_the_commit(
    number: signal.Signals, handlers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    real = commits._Target.place

    def place(self: Any, keep: bool) -> None:
        signal.raise_signal(number)
        real(self, keep)

    monkeypatch.setattr(commits._Target, "place", place)
    before = {n: signal.getsignal(n) for n in (*ENDING, signal.SIGINT)}
    with pytest.raises((Came, KeyboardInterrupt)), io.replacing_all(paths):
        pass
    assert names(tmp_path) == ["a", "b"]
    assert {n: signal.getsignal(n) for n in before} == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts.cleaning_up():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            with interrupts.held():
                signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_handler_of_the_caller_is_left_alone(handlers: None) -> None:
    before = [signal.getsignal(number) for number in ENDING]
    with interrupts.cleaning_up():
        assert [signal.getsignal(number) for number in ENDING] == before
    assert cli.main(["--version"]) == 0
    assert [signal.getsignal(number) for number in ENDING] == before


def test_other_threads_change_no_handler() -> None:
    found: list[int] = []
    with interrupts.cleaning_up():
        assert signal.getsignal(signal.SIGTERM) == interrupts._clean_and_end
        thread = threading.Thread(target=lambda: found.append(cli.main(["--version"])))
        thread.start()
        thread.join()
    assert found == [0] and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_fork_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    with io.replacing(tmp_path / "a") as temporary:
        entry = next(iter(interrupts._unfinished))
        interrupts._unfinished.add((entry[0] + 1, *entry[1:]))  # as the child of a fork sees it
        interrupts._unfinished.discard(entry)
        interrupts.remove_unfinished(everyones=True)
        assert temporary.exists()


def test_the_files_of_other_threads_stay(tmp_path: Path) -> None:
    with io.replacing(tmp_path / "a") as temporary:
        thread = threading.Thread(target=interrupts.remove_unfinished)
        thread.start()
        thread.join()
        assert temporary.exists()
        interrupts.remove_unfinished()
        assert not temporary.exists()
        temporary.write_text("again")


COMMAND = [sys.executable, "-c", "from ldpstats.cli.program import main; raise SystemExit(main())"]
SPEC = "--mechanism krr --epsilon 1 --categories nurse,teacher,driver --write-spec spec.json"
PRIVATIZE = ["privatize", "answers.csv", "reports.csv", "--column", "job", *SPEC.split()]


def start(folder: Path, *more: str, **how: Any) -> subprocess.Popen[bytes]:
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": folder} | how
    return subprocess.Popen([*COMMAND, *PRIVATIZE, *more], **how)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes seconds to privatise."""
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    path.write_text("job\n" + "nurse\nteacher\ndriver\n" * 1_500_000)
    return path


def unfinished(folder: Path, program: subprocess.Popen[bytes]) -> bool:
    """Wait until a program writes; false if it ended before it was seen to."""
    while program.poll() is None:
        if any(path.stat().st_size for path in folder.glob(".ldpstats-*")):
            return True
        time.sleep(0.005)
    return False


@pytest.mark.parametrize("number", [*ENDING, signal.SIGINT])
@pytest.mark.parametrize("old", [False, True])
def test_a_signal_leaves_nothing(
    old: bool, number: signal.Signals, answers: Path, tmp_path: Path
) -> None:
    (tmp_path / "answers.csv").symlink_to(answers)
    before = {}
    if old:
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).write_text("mine")
            before[name] = "mine"
    program = start(tmp_path, "--force")
    assert unfinished(tmp_path, program)
    program.send_signal(number)
    out, err = program.communicate()
    # the process ends by the signal, which a shell shows as 143 or 129
    assert program.returncode == (130 if number == signal.SIGINT else -number)
    assert out == b"" and err == (b"" if number in ENDING else b"ldpstats: error: interrupted\n")
    (tmp_path / "answers.csv").unlink()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_hangup_that_is_ignored_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\n" * 400_000)
    program = start(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while program.poll() is None:
        program.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    out, err = program.communicate()
    assert (program.returncode, err) == (0, b"") and b"400000 reports" in out


@pytest.mark.slow
@pytest.mark.parametrize("number", [*ENDING, signal.SIGINT])
def test_a_signal_at_any_moment(
    number: signal.Signals, tmp_path: Path, attempts: Callable[[int], int]
) -> None:
    """100 moments, or a share, from the first temporary file on, over the work and the commit."""
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\nteacher\ndriver\n" * 100_000)
    program = start(tmp_path)
    begun = None
    while program.poll() is None:
        if begun is None and list(tmp_path.glob(".ldpstats-*")):
            begun = time.monotonic()
    assert begun is not None
    whole, done = time.monotonic() - begun, 0
    program.communicate()
    moments = attempts(100)
    for i in range(moments):
        old = {}
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).unlink(missing_ok=True)
            if i % 2:
                (tmp_path / name).write_text("mine")
                old[name] = "mine"
        program = start(tmp_path, "--force")
        while program.poll() is None and not list(tmp_path.glob(".ldpstats-*")):
            pass
        time.sleep(1.1 * whole * i / moments)
        program.send_signal(number)
        _, err = program.communicate()
        assert b"Traceback" not in err
        found = {p.name: p.read_text() for p in tmp_path.iterdir() if p.name != "answers.csv"}
        if found != old:  # the signal came too late: both files are there and whole
            done += 1
            whole *= 0.9  # of a machine that was busy with other work when this was measured
            mechanism = io.read_mechanism(tmp_path / "spec.json")
            assert set(found) == {"reports.csv", "spec.json"}
            assert io.read_counts(tmp_path / "reports.csv", mechanism).nobs == 300_000
        else:
            assert program.returncode in (-number, 130)
    assert done < moments  # the negative control: there was something to interrupt


@pytest.mark.slow
def test_programs_that_make_one_new_file(tmp_path: Path, attempts: Callable[[int], int]) -> None:
    """Of two programs at once one is refused, and the specification is that of the reports."""
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\nteacher\ndriver\n" * 1000)
    for _ in range(attempts(50)):
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).unlink(missing_ok=True)
        programs = [start(tmp_path, "--epsilon", epsilon) for epsilon in ("1", "2")]
        ends = [(*program.communicate(), program.returncode) for program in programs]
        assert sorted(code for *_, code in ends) == [0, 2]
        assert next(err for _, err, code in ends if code).count(b"already exists") == 1
        mechanism = io.read_mechanism(tmp_path / "spec.json")
        assert mechanism.epsilon == 1.0 + [code for *_, code in ends].index(0)
        assert io.read_counts(tmp_path / "reports.csv", mechanism).nobs == 3000
        assert names(tmp_path) == ["answers.csv", "reports.csv", "spec.json"]
