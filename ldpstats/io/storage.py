"""Files that appear complete, together or not at all, and errors that do not show answers."""

from __future__ import annotations

import csv
import errno
import os
import re
import secrets
import signal
import stat
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from ldpstats.arguments import Array, boolean
from ldpstats.clients.device import stripped
from ldpstats.errors import HIDDEN, BudgetSpent, InvalidArgument, LDPError, NotAvailable

_EXISTS = "already exists: choose another name, or force=True (--force)"

# errors of file systems without hard links, or systems that forbid them
_NO_LINKS = {
    errno.EACCES,
    errno.EINVAL,
    errno.EMLINK,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EXDEV,
}
_NO_FLUSH = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextmanager
def replacing(path: FilePath, force: bool = False) -> Iterator[Path]:
    """Give a temporary file to write to, which becomes `path` unless an error ends the block.

    Parameters
    ----------
    path : path-like
        An overwritten file keeps its permissions, POSIX access control lists included, as far as
        the system allows; nobody gets more. A new file gets the usual ones. If two programs make
        the same new file at once, one is refused.
    force : bool
        Whether an existing file may be overwritten.

    Yields
    ------
    Path
        An empty file in the same directory. Its data are flushed to the disk before it is renamed.

    Raises
    ------
    InvalidArgument
        If `path` exists (unless `force`), is not a regular file, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("done")
    ...     print(Path(f"{folder}/a.txt").read_text())
    done
    """
    with replacing_all([path], force) as (temporary,):
        yield temporary


@contextmanager
def replacing_all(
    paths: Sequence[FilePath], force: bool = False, private: bool = False
) -> Iterator[list[Path]]:
    """Give temporary files that become `paths`, all of them or, after an error, none.

    If programs overwrite the same files at once, all files come from one of them. SIGINT, SIGTERM
    and SIGHUP do not interrupt the renaming in the main thread. Only a crash of the machine or
    SIGKILL can come between two files.

    Parameters
    ----------
    paths : sequence of path-like
        Different files; as for `replacing`.
    force : bool
        Whether existing files may be overwritten. If one fails, the others are restored.
    private : bool
        Whether nobody but their owner may read the files, also those that are overwritten.

    Yields
    ------
    list of Path
        A temporary file for each.

    Raises
    ------
    InvalidArgument
        As for `replacing`, and if a path is given twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing_all([f"{folder}/a.txt", f"{folder}/b.txt"]) as temporary:
    ...         for path in temporary:
    ...             _ = path.write_text("done")
    ...     print(sorted(os.listdir(folder)))
    ['a.txt', 'b.txt']
    """
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Sequence):
        raise InvalidArgument("paths", paths, "must be a list of names of files")
    targets: list[_Target] = []
    permissions: list[Permissions] = []
    try:
        for path in paths:
            target = _target(path, force)
            if target.path in [other.path for other in targets]:
                raise refusal(path, "is given twice: use a file for each")
            targets.append(target)
        for target in targets:
            with _named(target):
                permissions.append(target.start(private))
        with _named(*targets):
            yield [Path(target.temporary) for target in targets]
        _commit(targets, permissions)
    finally:
        with held():
            for target in targets:
                with suppress(OSError):
                    os.unlink(target.temporary)
            for entry in list(_unfinished):
                if entry[2] in [target.temporary for target in targets]:
                    _unfinished.discard(entry)


@contextmanager
def _named(*targets: _Target) -> Iterator[None]:
    """Turn an OSError of the block into an error that names the file, or all targets."""
    try:
        yield
    except OSError as error:
        if not targets:
            raise
        own = [t for t in targets if t.temporary in (error.filename, error.filename2)] or targets
        names = " and ".join(os.fspath(target.given) for target in own)
        remedy = f"cannot be written ({error.strerror or type(error).__name__})"
        raise refusal(names, remedy) from None


def _commit(targets: Sequence[_Target], permissions: Sequence[Permissions]) -> None:
    """Put every temporary file in its place, or leave every place as it was."""
    identities = []
    for target, allowed in zip(targets, permissions, strict=True):
        with _named(target):
            identities.append(target.flush(allowed))
    begun = []
    folders = {os.path.dirname(target.path) for target in targets}
    with alone_in(folders), held():
        try:
            for target, identity in zip(targets, identities, strict=True):
                begun.append((target, identity))
                with _named(target):
                    # nothing can fail after the last one: no backup is needed
                    target.place(keep=target is not targets[-1])
        except BaseException:
            failures = []  # all places are restored, then the first is told
            for target, identity in reversed(begun):
                try:
                    target.undo(identity)
                except InvalidArgument as error:
                    failures.append(error)
            if failures:
                raise failures[0] from None
            raise
        for target in targets:
            with suppress(OSError):
                os.unlink(target.backup)
    for folder in folders:  # write the names in it to the disk, if the system can
        with suppress(OSError):
            flush_folder(folder)


def flush_folder(folder: FilePath) -> None:
    """Write the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- one file --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Target:
    """A file to write, with its temporary and backup files in the same directory."""

    given: FilePath  # the name, as the caller spelled it
    path: str  # without symbolic links
    temporary: str
    backup: str  # of what was there before
    force: bool
    before: Permissions | None  # of the file that is overwritten

    def start(self, private: bool) -> Permissions:
        """Make the temporary file, private if it replaces one; return its final permissions."""
        # registered before it is there: a signal may come between
        _unfinished.add((os.getpid(), threading.get_ident(), self.temporary))
        mode = 0o666 if self.before is None and not private else 0o600
        handle = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            usual = Permissions.of_new(handle)
            given = usual if self.before is None else self.before
            return replace(given, mode=given.mode & 0o700, acl=None) if private else given
        finally:
            os.close(handle)

    def flush(self, allowed: Permissions) -> tuple[int, int]:
        """Set permissions, write all data to the disk, and return what identifies the file."""
        handle = os.open(self.temporary, os.O_RDWR)
        try:
            allowed.give(handle)
            try:
                os.fsync(handle)
            except OSError as error:
                if error.errno not in _NO_FLUSH:
                    raise
            return _identity(os.fstat(handle))
        finally:
            os.close(handle)

    def place(self, keep: bool) -> None:
        """Put the temporary file in its place; `keep` what was there, for `undo`."""
        if self.before is None:
            try:
                _put_new(self.temporary, self.path)
                return
            except FileExistsError:  # somebody else made it meanwhile
                if not self.force:
                    raise refusal(self.given, _EXISTS) from None
        if keep:
            with suppress(FileNotFoundError):
                try:
                    os.link(self.path, self.backup)
                except OSError as error:  # where a file cannot have two names
                    if error.errno not in _NO_LINKS:
                        raise
                    os.rename(self.path, self.backup)
        os.replace(self.temporary, self.path)

    def undo(self, identity: tuple[int, int]) -> None:
        """Make the place what it was before `place`, however far that got."""
        try:
            if not os.path.lexists(self.backup):
                if self._is_there(identity):
                    os.unlink(self.path)
            elif self._is_there(_identity(os.stat(self.backup))):  # the same file twice
                os.unlink(self.backup)
            else:
                os.replace(self.backup, self.path)
        except OSError as error:
            remedy = f"cannot be restored ({error.strerror}): what it held is in {self.backup}"
            raise refusal(self.given, remedy) from None

    def _is_there(self, identity: tuple[int, int]) -> bool:
        with suppress(FileNotFoundError):
            return _identity(os.stat(self.path)) == identity
        return False


def _target(path: FilePath, force: bool) -> _Target:
    """Check a file before it is written, and name its temporary files."""
    name = os.path.realpath(checked_path(path))
    force, before = boolean("force", force), None
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISREG(os.stat(name).st_mode):
                raise refusal(path, "is not a regular file: give the name of a file to write")
            before = Permissions.of(name)
    except OSError as error:
        raise refusal(path, f"cannot be written ({error.strerror})") from None
    if before is not None and not force:
        raise refusal(path, _EXISTS)
    # not made of the file's own name, which may be as long as names can be
    hidden = os.path.join(os.path.dirname(name), f".ldpstats-{secrets.token_hex(8)}")
    return _Target(path, name, f"{hidden}.part", f"{hidden}.old", force, before)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _put_new(temporary: str, path: str) -> None:
    """Give a file the name `path` too, unless there is such a file."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # an empty file takes the name, and is then replaced
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.replace(temporary, path)
        except BaseException:
            os.unlink(path)
            raise


# -- Names of files, and errors of reading them that name the file and say what to do -------------


FilePath = str | os.PathLike[str]


def refusal(path: FilePath, remedy: str) -> InvalidArgument:
    """The error that a file cannot be used, and why."""
    return InvalidArgument("path", os.fspath(path), remedy)


def checked_path(path: object) -> Path:
    """Refuse anything but the name of a file: a number would mean an open file."""
    remedy = "must be the name of a file"
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise InvalidArgument("path", path, remedy)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        raise InvalidArgument("path", path, remedy) from None
    return Path(path)


@contextmanager
def reading(
    path: FilePath, *others: type[Exception], secret: bool = False, regular: bool = False
) -> Iterator[None]:
    """Turn errors of reading, and `others`, into one that names the file, and shows no `secret`."""
    damage: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *others)
    try:
        if checked_path(path).is_dir():
            raise refusal(path, "is a directory: give the name of a file")
        if regular and Path(path).exists() and not Path(path).is_file():
            raise refusal(path, "is not a regular file: write its content to a file, and read that")
        yield
    except FileNotFoundError:
        raise refusal(path, "no such file: check the name") from None
    except UnicodeDecodeError as error:
        byte = "" if secret else f" (byte 0x{error.object[error.start]:02x})"
        raise refusal(path, f"is not UTF-8 text{byte}: save it as UTF-8") from None
    except csv.Error as error:
        fault = "" if secret else f" ({error})"
        raise refusal(path, f"is not well-formed CSV{fault}: repair the file") from None
    except damage as error:
        reason = getattr(error, "strerror", None) or (type(error).__name__ if secret else error)
        shown = " ".join(str(reason).split())
        raise refusal(path, f"cannot be read ({shown}): it may be damaged or cut off") from None


# -- Signals that end a program, and the unfinished files that they must not leave behind ---------


# Windows has no SIGHUP
_ENDING = [s for s in signal.Signals if s.name in ("SIGTERM", "SIGHUP")]
_HELD = [*_ENDING, signal.SIGINT]

# process, thread and path of each: a fork has its parent's list, but none of its files
_unfinished: set[tuple[int, int, str]] = set()


def remove_unfinished(everyones: bool = False) -> None:
    """Remove the unfinished files of this thread, or of all threads of this process."""
    process, thread = os.getpid(), threading.get_ident()
    for entry in list(_unfinished):
        if entry[0] == process and (everyones or entry[1] == thread):
            with suppress(OSError):
                os.unlink(entry[2])
            _unfinished.discard(entry)


@contextmanager
def held() -> Iterator[None]:
    """Deliver signals after the block; only in the main thread, where Python handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: set[int] = set()

    def deliver() -> None:
        # signals that end the process first: SIGINT raises an error, after which none is delivered
        for number in filter(came.__contains__, _HELD):
            signal.raise_signal(number)

    with ExitStack() as stack:
        stack.callback(deliver)
        for number in _HELD:
            handler = signal.getsignal(number)
            if handler is not None and handler != signal.SIG_IGN:
                # restored even where the handler of another signal raises an error
                stack.callback(signal.signal, number, handler)
                signal.signal(number, lambda n, frame: came.add(n))
        yield


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Let SIGTERM and SIGHUP remove unfinished files before they end the process."""
    # the exit status still shows the signal; signals that are ignored, as under nohup, or handled
    # otherwise are left alone, and all signals outside the main thread
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with ExitStack() as stack:
        for number in _ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                stack.callback(signal.signal, number, signal.SIG_DFL)
                signal.signal(number, _clean_and_end)
        yield


def _clean_and_end(number: int, frame: FrameType | None) -> None:
    # the default comes after the files: a second signal must not end the process between them
    remove_unfinished(everyones=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


# -- Directories that one program at a time puts files into ---------------------------------------


_PATIENCE = 10.0  # seconds; files are put into their places within milliseconds
_PAUSE = 0.005


@contextmanager
def alone_in(folders: Iterable[str]) -> Iterator[None]:
    """Run the block while no other thread or process has one of the directories, if locks work."""
    # none where the system has none, or another program keeps it for long, as ``flock FOLDER``
    with ExitStack() as stack:
        if sys.platform != "win32":
            handles = {}
            for folder in folders:
                with suppress(OSError):
                    handle = os.open(folder, os.O_RDONLY)
                    stack.callback(os.close, handle)
                    found = os.fstat(handle)
                    handles[found.st_dev, found.st_ino] = handle
            # in the same order everywhere, and each directory once: no deadlock
            for _, handle in sorted(handles.items()):
                with suppress(OSError):
                    _lock(handle)
                    # explicitly: a fork that came meanwhile has the directory open too, and
                    # would keep the lock
                    stack.callback(fcntl.flock, handle, fcntl.LOCK_UN)
        yield


if sys.platform != "win32":
    import fcntl

    def _lock(handle: int) -> None:
        """Lock an open directory, or raise OSError."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)


# -- Who may read and write a file, handed on to the file that replaces it ------------------------


_ACL = "system.posix_acl_access"
_NO_ACL = {errno.ENODATA, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@dataclass(frozen=True)
class Permissions:
    """Who may do what with a file."""

    mode: int  # nine bits; with an access control list, those of the group are its mask
    owner: int
    group: int
    acl: bytes | None = None  # the access control list, if any, on Linux

    @classmethod
    def of(cls, file: str | int) -> Permissions:
        """The permissions of a file or an open file."""
        found = os.stat(file)
        return cls(stat.S_IMODE(found.st_mode) & 0o777, found.st_uid, found.st_gid, _acl(file))

    @classmethod
    def of_new(cls, handle: int) -> Permissions:
        """The permissions of a new file; then let its owner read and write it despite the umask."""
        found = cls.of(handle)
        if os.name == "posix" and found.mode & 0o600 != 0o600:
            os.fchmod(handle, found.mode | 0o600)
        return found

    def give(self, handle: int) -> None:
        """Give them to an open file as far as possible; nobody gets more than they allow."""
        if os.name != "posix":
            return
        mode, acl, own = self.mode, self.acl, os.fstat(handle)
        if own.st_gid != self.group:
            try:
                os.fchown(handle, -1, self.group)
            except OSError:
                # the new group gets nothing, and members of the old one, now among "others", get
                # no more than they had
                mode &= 0o700 if acl is not None else 0o700 | mode >> 3 & 0o007
                acl = None
        if own.st_uid != self.owner:
            with suppress(OSError):
                os.fchown(handle, self.owner, -1)
        if not _set_acl(handle, acl):
            mode &= 0o700  # the list may refuse some of what the mode allows the group
        with suppress(OSError):  # a file system without permissions
            os.fchmod(handle, mode)


def _acl(file: str | int) -> bytes | None:
    """The access control list of a file, if it has one; on Linux alone."""
    if sys.platform != "linux":
        return None
    try:
        return os.getxattr(file, _ACL)
    except OSError as error:
        if error.errno in _NO_ACL:
            return None
        raise


def _set_acl(handle: int, acl: bytes | None) -> bool:
    """Give an open file an access control list, or none; return whether it worked."""
    if sys.platform != "linux":
        return True
    try:
        if acl is not None:
            os.setxattr(handle, _ACL, acl)
        elif _acl(handle) is not None:  # that of its directory
            os.removexattr(handle, _ACL)
    except OSError:
        return False
    return True


# -- Errors that do not show true answers: neither their words nor the frames they passed ---------

P = ParamSpec("P")
T = TypeVar("T")
Named = Callable[[int | None], str]


def without_answers(function: Callable[P, T]) -> Callable[P, T]:
    """Strip errors of a function, and hide messages of those that are not the package's."""
    return stripped(function, _harmless)


def _harmless(error: BaseException) -> BaseException:
    if isinstance(error, LDPError | MemoryError) or not isinstance(error, Exception):
        return error
    at = traceback.extract_tb(error.__traceback__)[-1]
    return LDPError(
        f"a defect of ldpstats, please report it ({type(error).__name__} in "
        f"{Path(at.filename).name}, line {at.lineno}; its message is not shown, because it may "
        "quote an answer)"
    )


def privatized(client: Any, values: Array, named: Named, remedy: str) -> Any:
    """Reports of answers by a client; an error names the row of the first that it refuses."""
    kind, place = InvalidArgument, None
    try:
        return client.privatize(values)
    except (BudgetSpent, NotAvailable):
        raise
    except InvalidArgument as error:
        if not error.name.startswith("value"):  # of the client's state, not of the answers
            raise
        found = re.search(r"\[(\d+)\]$", error.name)
        kind, place = type(error), None if found is None else int(found[1])
    except LDPError:
        pass
    raise kind(named(place), HIDDEN, remedy)
