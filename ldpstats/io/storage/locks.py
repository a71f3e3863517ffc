"""Directories that one program at a time puts files into."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

__all__ = ["alone_in"]

_PATIENCE = 10.0  # seconds; files are put into their places within milliseconds
_PAUSE = 0.005


@contextmanager
def alone_in(folders: Iterable[str]) -> Iterator[None]:
    """Run the block while no other thread or process has one of the directories.

    No lock is taken where the system has none, or another program keeps it for long, such as
    ``flock FOLDER``.
    """
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
                    stack.callback(_unlock, handle)
        yield


if sys.platform != "win32":
    import fcntl

    def _lock(handle: int) -> None:
        """Lock an open directory, or raise OSError."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
            time.sleep(_PAUSE)

    def _unlock(handle: int) -> None:
        # a fork that came meanwhile has the directory open too, and would keep the lock
        fcntl.flock(handle, fcntl.LOCK_UN)
