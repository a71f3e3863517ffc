"""The file of a device: what it must not forget, and how often it has reported."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpstats.errors import InvalidArgument

__all__ = ["StateFile"]

_PATIENCE = 1.0  # seconds
_MARK = b"."  # one for each report, after the document and its line end


@dataclass(frozen=True)
class StateFile:
    """A file that is never rewritten: a JSON document on a line, then a mark for each report.

    It is made before anything is reported, and a mark is on the disk before its report is given
    out, so that no crash, copy of the process, or second process can forget what was spent.
    """

    path: Path

    @classmethod
    def at(cls, path: object) -> StateFile:
        """Check the name of the file."""
        remedy = "must be the name of a file"
        try:
            name = os.fsdecode(path)  # type: ignore[arg-type]
        except (TypeError, ValueError):  # no path, or one that no file can have
            raise InvalidArgument("state", path, remedy) from None
        if isinstance(path, bytes) or "\0" in name:
            raise InvalidArgument("state", path, remedy)
        return cls(Path(os.path.abspath(name)))

    def opened(self, fresh: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], int]:
        """The document in the file, and how many reports have been marked.

        A fresh document is written first where there is no file.

        The file belongs to its user alone (mode 600) and appears complete or not at all: of several
        that make it at once, one does, and the others read that.
        """
        with self._failures():
            if self.path.exists() and not self.path.is_file():
                raise self._refusal("is no regular file: give the name of a file")
            if not os.path.lexists(self.path):
                self._create(json.dumps(fresh()).encode("ascii") + b"\n")
            return self._split(self._read())

    def _create(self, content: bytes) -> None:
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            _write_new(temporary, content)
            try:
                os.link(temporary, self.path)
            except FileExistsError:
                return
            except OSError:  # a file system without links: others may find an empty file
                with contextlib.suppress(FileExistsError):
                    _write_new(self.path, content)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        _flush_directory(self.path.parent)

    @contextlib.contextmanager
    def counting(self, document: dict[str, Any]) -> Iterator[tuple[int, Callable[[int], None]]]:
        """Give the number of reports so far, and the function that marks more of them.

        Others who use the file wait until the block ends. It must still hold the `document`.
        """
        with contextlib.ExitStack() as stack:
            with self._failures():
                # not buffered: what a full disk refuses must not be tried again on closing
                file = stack.enter_context(open(self.path, "r+b", buffering=0))
                stack.enter_context(_locked(file.fileno()))
                found, made = self._split(file.read())
            if found != document:
                raise self._refusal("is not the file that this client was made with: make it anew")

            def mark(more: int) -> None:
                with self._failures():
                    file.seek(0, os.SEEK_END)
                    left = more
                    while left:
                        left -= file.write(_MARK * left)
                    os.fsync(file.fileno())

            yield made, mark

    def _read(self) -> bytes:
        """What is in the file; an empty one is being made, and is waited for."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            with open(self.path, "rb") as file:
                content = file.read()
            if content or time.monotonic() > deadline:
                return content
            time.sleep(0.01)

    def _split(self, content: bytes) -> tuple[dict[str, Any], int]:
        """The document and the number of marks."""
        if not content:
            raise self._refusal("is empty: remove it if nobody is making it, and try again")
        line, end, marks = content.partition(b"\n")
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not end or marks.strip(_MARK):
            raise self._refusal(
                "is no state of a client, or is damaged: if it cannot be restored, a new file "
                "starts a new lifetime of the respondent's budget"
            )
        return document, len(marks)

    def _refusal(self, remedy: str) -> InvalidArgument:
        return InvalidArgument("state", str(self.path), remedy)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise self._refusal(f"cannot be used ({reason}): nothing was reported") from None


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet, and wait until it is on the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk, where the system can be asked to."""
    with contextlib.suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextlib.contextmanager
def _locked(number: int) -> Iterator[None]:
    """Hold an open file alone, among all threads and processes."""
    if sys.platform == "win32":
        import msvcrt

        far = 1 << 30  # a byte that holds nothing: locked ones cannot be read
        os.lseek(number, far, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
        os.lseek(number, 0, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(number, far, os.SEEK_SET)
            msvcrt.locking(number, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(number, fcntl.LOCK_UN)
