"""Signals that end a program, and the unfinished files that they must not leave behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

__all__ = ["begin", "cleaning_up", "end", "held", "remove_unfinished"]

# Windows has no SIGHUP
_ENDING = [s for s in signal.Signals if s.name in ("SIGTERM", "SIGHUP")]
_HELD = [*_ENDING, signal.SIGINT]

# process, thread and path of each: a fork has its parent's list, but none of its files
_unfinished: set[tuple[int, int, str]] = set()


def begin(path: str) -> None:
    """Register a file that is about to be written."""
    _unfinished.add((os.getpid(), threading.get_ident(), path))


def end(path: str) -> None:
    """Remove a file that `begin` registered, if it is still there."""
    with suppress(OSError):
        os.unlink(path)
    for entry in list(_unfinished):
        if entry[2] == path:
            _unfinished.discard(entry)


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
    with ExitStack() as stack:
        stack.callback(_deliver, came)
        for number in _HELD:
            handler = signal.getsignal(number)
            if handler is not None and handler != signal.SIG_IGN:
                # restored even where the handler of another signal raises an error
                stack.callback(signal.signal, number, handler)
                signal.signal(number, lambda n, frame: came.add(n))
        yield


def _deliver(came: set[int]) -> None:
    # signals that end the process first: SIGINT raises an error, after which none is delivered
    for number in _HELD:
        if number in came:
            signal.raise_signal(number)


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Let SIGTERM and SIGHUP remove unfinished files before they end the process.

    The exit status still shows the signal: 143 or 129 in a shell. Signals that are ignored, as
    under nohup, or handled otherwise are left alone, and all signals outside the main thread.
    """
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
