"""Files that appear complete, together or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ldpstats.arguments.checks import boolean
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import FilePath, checked_path, refusal
from ldpstats.io.storage.interrupts import begin, end, held
from ldpstats.io.storage.locks import alone_in
from ldpstats.io.storage.permissions import Permissions

__all__ = ["replacing", "replacing_all"]

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
        If one of the paths exists (unless `force`), is not a regular file, cannot be written, or is
        given twice.

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
                end(target.temporary)


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
            _undo(begun)
            raise
        for target in targets:
            with suppress(OSError):
                os.unlink(target.backup)
    for folder in folders:
        _flush_folder(folder)


def _undo(begun: Sequence[tuple[_Target, tuple[int, int]]]) -> None:
    """Restore all places; then raise the first error, if any."""
    failures = []
    for target, identity in reversed(begun):
        try:
            target.undo(identity)
        except InvalidArgument as error:
            failures.append(error)
    if failures:
        raise failures[0]


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
        begin(self.temporary)
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
            _flush(handle)
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
                _put_aside(self.path, self.backup)
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


def _put_aside(path: str, backup: str) -> None:
    """Give a file the name `backup` too; or instead, where it cannot have two."""
    try:
        os.link(path, backup)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(path, backup)


def _flush(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise


def _flush_folder(folder: str) -> None:
    """Write the names in a directory to the disk, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
