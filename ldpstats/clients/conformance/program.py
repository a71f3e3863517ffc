"""A client that runs as a program: it answers lines with lines, or does anything else."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, Full, SimpleQueue
from queue import Queue as BoundedQueue
from types import TracebackType
from typing import IO

from ldpstats.errors import InvalidArgument, cut

__all__ = ["Fault", "Program", "shown"]

MOST_BYTES = 2**24
"""Of a line."""

_AHEAD = 8  # lines that are held before anybody wants them
_TAIL = 4096  # bytes of standard error


class Fault(Exception):
    """What a program did in place of answering."""


def shown(text: str, length: int = 200) -> str:
    """Text of a program, fit for a terminal."""
    return cut("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text), length)


class Program:
    """A program that is running; `with` ends it, and all that it started.

    Each of its three streams has a thread, so that a program that does not read or write blocks
    nothing here. Input that it does not take, lines that were not asked for, and all but the end of
    its standard error are dropped.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    timeout : float
        Seconds that it may take for a line.

    Raises
    ------
    InvalidArgument
        If it cannot be started.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._timeout = timeout
        self._process = _started(command)
        self._input: SimpleQueue[bytes | None] = SimpleQueue()
        self._said: BoundedQueue[bytes] = BoundedQueue(_AHEAD)
        self._complaint = b""
        self._over = False
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()
        for work in (self._write, self._read):
            threading.Thread(target=work, daemon=True).start()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = True
        self._input.put(None)
        _kill(self._process)

    def ask(self, line: bytes) -> bytes:
        """Send a line, and return the line that comes back.

        Raises
        ------
        Fault
            If another comes before, or none.
        """
        if not self._said.empty():
            said = self._next()
            raise Fault(f"wrote a line that nobody asked for: {self._quoted(said)}")
        self._input.put(line + b"\n")
        return self._next()

    def end(self) -> None:
        """Close its input.

        Raises
        ------
        Fault
            If it says more, or does not end with status 0.
        """
        self._input.put(None)
        try:
            said = self._said.get(timeout=self._timeout)
        except Empty:
            said = None
        if said:
            raise Fault(f"wrote a line that nobody asked for: {self._quoted(said)}")
        with suppress(subprocess.TimeoutExpired):
            if self._process.wait(self._timeout) == 0:
                return
        raise Fault(self._how_it_ended("did not end when its input did"))

    def _next(self) -> bytes:
        try:
            line = self._said.get(timeout=self._timeout)
        except Empty:
            hint = "does it flush its output after every line?"
            raise Fault(f"wrote no line within {self._timeout:g} s ({hint})") from None
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(min(1.0, self._timeout))
            raise Fault(self._how_it_ended("closed its output"))
        if len(line) > MOST_BYTES:
            raise Fault(f"wrote a line of more than {MOST_BYTES:,} bytes")
        if not line.endswith(b"\n"):
            raise Fault(f"wrote a line without an end: {self._quoted(line)}")
        return line[:-1]

    @staticmethod
    def _quoted(line: bytes) -> str:
        return shown(line.decode("utf-8", "backslashreplace").strip())

    def _how_it_ended(self, running: str) -> str:
        status = self._process.poll()
        how = running if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by signal {-status}"
        if status is not None:  # its last words may not have been read yet
            self._draining.join(min(1.0, self._timeout))
        lines = self._complaint.decode("utf-8", "backslashreplace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return how + (f" ({shown(last)})" if last else "")

    # -- threads -----------------------------------------------------------------------------------

    def _write(self) -> None:
        with suppress(OSError, ValueError), _pipe(self._process.stdin) as pipe:
            while (line := self._input.get()) is not None:
                pipe.write(line)
                pipe.flush()

    def _read(self) -> None:
        with suppress(OSError, ValueError), _pipe(self._process.stdout) as pipe:
            while line := pipe.readline(MOST_BYTES + 1):
                if not self._kept(line) or len(line) > MOST_BYTES:
                    return
        self._kept(b"")

    def _kept(self, line: bytes) -> bool:
        while not self._over:
            with suppress(Full):
                self._said.put(line, timeout=0.1)
                return True
        return False

    def _drain(self) -> None:
        with suppress(OSError, ValueError), _pipe(self._process.stderr) as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                self._complaint = (self._complaint + data)[-_TAIL:]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        remedy = f"cannot be run ({why}): pass a program, and its arguments after it"
        raise InvalidArgument("COMMAND", command[0], remedy) from None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started, and wait for it."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
