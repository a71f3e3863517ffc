"""Does a client, in any language, make the reports of the specification?

`random_vectors` has the vectors that come with the package, and makes others. `Program` runs a
client, and `compared` says where its answers differ.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from queue import Empty, Full, SimpleQueue
from queue import Queue as BoundedQueue
from typing import Any

from ldpstats.arguments import Printed
from ldpstats.clients.random_vectors import Vector
from ldpstats.errors import InvalidArgument, cut

# -- What a client answers to test vectors, and where that differs from what is expected ----------


_TOKEN = re.compile("[0-9a-f]{32}")

MOST_FAULTS = 3
"""A client that failed so often is not started again."""


@dataclass(frozen=True)
class Difference:
    """One place where a client said something else about a vector; as JSON, or what went wrong.

    The place is "report 2", "token 2" of a message, "used", "asked", "refused", "answer" where one
    refuses and the other does not, or "line" where no answer could be read.
    """

    name: str
    kind: str
    place: str
    expected: str
    got: str

    def __str__(self) -> str:
        if self.place == "line":
            return f"{self.name}: the client {self.got}"
        return f"{self.name}, {self.place}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True)
class Conformance(Printed):
    """What a client did with test vectors: the differences of each that was sent, by its name.

    `faults` is what the program did beside answering.
    """

    vectors: tuple[Vector, ...]
    answered: Mapping[str, tuple[Difference, ...]] = field(repr=False)
    faults: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether it agrees on all."""
        return not self.missing and not self.differences and not self.faults

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All differences."""
        return tuple(one for found in self.answered.values() for one in found)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the vectors that were not sent, because the client had failed too often."""
        return tuple(one.name for one in self.vectors if one.name not in self.answered)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """How many vectors of each kind of draw there are, and how many agree."""
        counts: dict[str, tuple[int, int]] = {}
        for one in self.vectors:
            n, agree = counts.get(one.kind, (0, 0))
            counts[one.kind] = (n + 1, agree + (self.answered.get(one.name) == ()))
        return dict(sorted(counts.items()))

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "agrees": self.agrees,
            "vectors": len(self.vectors),
            "kinds": {k: {"vectors": n, "agree": a} for k, (n, a) in self.by_kind().items()},
            "differences": [vars(one) for one in self.differences],
            "faults": list(self.faults),
            "missing": list(self.missing),
        }

    def __str__(self) -> str:
        counts, wrong, most = self.by_kind(), self.differences, 10
        total = tuple(sum(column) for column in zip(*counts.values(), strict=True))
        lines = [f"{'kind of draw':<16}{'vectors':>9}{'agree':>9}"]
        for kind, (n, agree) in {**counts, "all": total}.items():
            lines.append(f"{shown(kind, 15):<16}{n:>9,}{agree:>9,}")
        if wrong:
            first = f"the first {most} of " if len(wrong) > most else ""
            lines.append(f"differences ({first}{len(wrong):,}):")
        lines += [f"  {one}" for one in wrong[:most]]
        lines += [f"the client {one}" for one in self.faults]
        if self.missing:
            were = " was" if len(self.missing) == 1 else "s were"
            why = f"the client failed {MOST_FAULTS} times"
            lines.append(f"{len(self.missing):,} vector{were} not sent, because {why}")
        if self.answered and all(one.place == "line" for one in wrong) and not total[1]:
            lines += [
                "It answered no vector. Does it need an option to read them? Clients that ldpstats",
                "writes have one: COMMAND --conformance, with no other argument.",
            ]
        lines.append(f"The client {'agrees' if self.agrees else 'does NOT agree'}.")
        return "\n".join(lines)


def compared(vectors: Sequence[Vector], command: Sequence[str], timeout: float) -> Conformance:
    """Run a client and compare it with vectors, of different names; `timeout` seconds for a line.

    A client that fails is started again for the next vector, up to `MOST_FAULTS` times.
    """
    answered: dict[str, tuple[Difference, ...]] = {}
    faults: list[str] = []
    left = deque(enumerate(vectors))
    for _ in range(MOST_FAULTS):
        with closing(Program(command, timeout)) as program:
            while left:  # up to the first that the program fails on
                number, vector = left.popleft()
                try:
                    said = _answer(program, number, vector)
                except Fault as fault:
                    line = _difference(vector, "line", vector.expected, str(fault))
                    answered[vector.name] = (line,)
                    break
                answered[vector.name] = tuple(_differences(vector, said))
            if left:
                continue
            if not any(one.place == "line" for found in answered.values() for one in found[:1]):
                try:  # a program that failed was ended, or said why
                    program.end()
                except Fault as fault:
                    faults.append(f"{fault}, after its input had ended")
        break
    return Conformance(tuple(vectors), answered, tuple(faults))


def _answer(program: Program, number: int, vector: Vector) -> dict[str, Any]:
    """What the program says to a vector, without the number."""
    line = program.ask(json.dumps({"id": number, **vector.request}).encode("ascii"))
    try:
        said = json.loads(line.decode("utf-8"), parse_constant=int)  # no NaN
    except (ValueError, RecursionError):
        text = shown(line.decode("utf-8", "backslashreplace"))
        raise Fault(f"wrote a line that is no JSON: {text}") from None
    if not isinstance(said, dict):
        raise Fault(f"wrote a line that is no JSON object: {_text(said)}")
    if not _same(said.pop("id", None), number):
        raise Fault(f"answered another line than that of id {number}: {shown(line.decode())}")
    return said


def _differences(vector: Vector, said: dict[str, Any]) -> Iterator[Difference]:
    """Where an answer differs from what is expected."""
    expected = vector.expected
    if ("refused" in expected) != ("refused" in said) and not {"refused", "reports"} <= {*said}:
        yield _difference(vector, "answer", dict(expected), _text(said))
        return
    for name in [*expected, *(name for name in said if name not in expected)]:
        if name not in expected:
            yield _difference(vector, shown(name, 40), "nothing", _text(said[name]))
        elif name not in said:
            yield _difference(vector, name, expected[name], "nothing")
        elif (
            name == "reports"
            and isinstance(said[name], list)
            and len(said[name]) == len(expected[name])
        ):
            tokens: set[Any] = set()
            for i, (one, other) in enumerate(zip(expected[name], said[name], strict=True)):
                is_message = vector.request.get("messages") and not {"refused", "token"} & {*one}
                token = ""  # of a message, which the vector cannot know
                if is_message and isinstance(other, dict):
                    token = str(other.get("token"))
                    other = {k: v for k, v in other.items() if k != "token"}
                if is_message and (token in tokens or not _TOKEN.fullmatch(token)):
                    words = "32 hexadecimal digits, drawn for this message alone"
                    yield _difference(vector, f"token {i + 1}", words, _text(token))
                tokens.add(token)
                if not _same(one, other):
                    yield _difference(vector, f"report {i + 1}", one, _text(other))
        elif not _same(expected[name], said[name]):
            yield _difference(vector, name, expected[name], _text(said[name]))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is not true, and the order of names is free."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)


def _difference(vector: Vector, place: str, expected: Any, got: str) -> Difference:
    said = expected if expected == "nothing" else _text(expected)
    return Difference(vector.name, vector.kind, place, said, got)


def _text(value: Any) -> str:
    return shown(json.dumps(value))


# -- A client that runs as a program: it answers lines with lines, or does anything else ----------


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
    """A program that is running; `close` ends it, and all that it started."""

    # Each of its three streams has a thread, so that a program that does not read or write blocks
    # nothing here. Input that it does not take, lines that were not asked for, and all but the end
    # of its standard error are dropped.

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._timeout = timeout
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        try:
            self._process: Any = subprocess.Popen(command, **pipes, start_new_session=True)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            remedy = f"cannot be run ({why}): pass a program, and its arguments after it"
            raise InvalidArgument("COMMAND", command[0], remedy) from None
        self._input: SimpleQueue[bytes | None] = SimpleQueue()
        self._said: BoundedQueue[bytes] = BoundedQueue(_AHEAD)
        self._complaint = b""
        self._over = False
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()
        for work in (self._write, self._read):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """End the program and what it started, and wait for it."""
        self._over = True
        self._input.put(None)
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()

    def ask(self, line: bytes) -> bytes:
        """Send a line, and return the line that comes back."""
        if not self._said.empty():
            said = self._next()
            raise Fault(f"wrote a line that nobody asked for: {self._quoted(said)}")
        self._input.put(line + b"\n")
        return self._next()

    def end(self) -> None:
        """Close its input."""
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
        with suppress(OSError, ValueError), self._process.stdin as pipe:
            while (line := self._input.get()) is not None:
                pipe.write(line)
                pipe.flush()

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._process.stdout as pipe:
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
        with suppress(OSError, ValueError), self._process.stderr as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                self._complaint = (self._complaint + data)[-_TAIL:]
