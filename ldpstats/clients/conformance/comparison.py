"""What a client answers to test vectors, and where that differs from what is expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ldpstats.arguments.markup import html_lines
from ldpstats.clients.conformance.program import Fault, Program, shown
from ldpstats.clients.conformance.vectors import Vector

__all__ = ["Conformance", "Difference", "compared"]

_TOKEN = re.compile("[0-9a-f]{32}")

MOST_FAULTS = 3
"""A client that failed so often is not started again."""


@dataclass(frozen=True)
class Difference:
    """One place where a client said something else.

    Parameters
    ----------
    name, kind : str
        The vector and its kind.
    place : str
        "report 2", "token 2" of a message, "used", "asked", "refused", "answer" where one refuses
        and the other does not, or "line" where no answer could be read.
    expected, got : str
        As JSON; what went wrong, where there was no answer.
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
class Conformance:
    """What a client did with test vectors.

    Parameters
    ----------
    vectors : tuple of Vector
        All of them.
    answered : dict
        The differences of each vector that was sent, by its name.
    faults : tuple of str
        What the program did beside answering.
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
        return "\n".join(_lines(self, 10))

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


def _lines(result: Conformance, most: int) -> Iterator[str]:
    counts = result.by_kind()
    total = tuple(sum(column) for column in zip(*counts.values(), strict=True))
    yield f"{'kind of draw':<16}{'vectors':>9}{'agree':>9}"
    for kind, (n, agree) in {**counts, "all": total}.items():
        yield f"{shown(kind, 15):<16}{n:>9,}{agree:>9,}"
    wrong = result.differences
    if wrong:
        yield f"differences ({f'the first {most} of ' if len(wrong) > most else ''}{len(wrong):,}):"
    yield from (f"  {one}" for one in wrong[:most])
    yield from (f"the client {one}" for one in result.faults)
    if result.missing:
        why = f"the client failed {MOST_FAULTS} times"
        one = len(result.missing) == 1
        yield f"{len(result.missing):,} vector{' was' if one else 's were'} not sent, because {why}"
    if result.answered and all(one.place == "line" for one in wrong) and not total[1]:
        yield "It answered no vector. Does it need an option to read them? Clients that ldpstats"
        yield "writes have one: COMMAND --conformance, with no other argument."
    yield "The client agrees." if result.agrees else "The client does NOT agree."


def compared(vectors: Sequence[Vector], command: Sequence[str], timeout: float) -> Conformance:
    """Run a client and compare it with vectors.

    A client that fails is started again for the next vector, up to `MOST_FAULTS` times.

    Parameters
    ----------
    vectors : sequence of Vector
        They have different names.
    command : sequence of str
        The program and its arguments.
    timeout : float
        Seconds that it may take for a line.

    Raises
    ------
    InvalidArgument
        If the program cannot be started.
    """
    answered: dict[str, tuple[Difference, ...]] = {}
    faults: list[str] = []
    left = list(enumerate(vectors))
    for _ in range(MOST_FAULTS):
        with Program(command, timeout) as program:
            left = _asked(program, left, answered)
            if not left and not faults:
                faults += _fault_at_the_end(program, answered)
        if not left:
            break
    return Conformance(tuple(vectors), answered, tuple(faults))


def _asked(
    program: Program, left: list[tuple[int, Vector]], answered: dict[str, tuple[Difference, ...]]
) -> list[tuple[int, Vector]]:
    """Send vectors up to the first that the program fails on; return those after it."""
    for place, (number, vector) in enumerate(left):
        try:
            said = _answer(program, number, vector)
        except Fault as fault:
            answered[vector.name] = (_difference(vector, "line", vector.expected, str(fault)),)
            return left[place + 1 :]
        answered[vector.name] = tuple(_differences(vector, said))
    return []


def _fault_at_the_end(
    program: Program, answered: Mapping[str, tuple[Difference, ...]]
) -> Iterator[str]:
    if any(one.place == "line" for found in answered.values() for one in found[:1]):
        return  # it was ended, or said why it failed
    try:
        program.end()
    except Fault as fault:
        yield f"{fault}, after its input had ended"


def _answer(program: Program, number: int, vector: Vector) -> dict[str, Any]:
    """What the program says to a vector, without the number."""
    line = program.ask(json.dumps({"id": number, **vector.request}).encode("ascii"))
    try:
        said = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        text = shown(line.decode("utf-8", "backslashreplace"))
        raise Fault(f"wrote a line that is no JSON: {text}") from None
    if not isinstance(said, dict):
        raise Fault(f"wrote a line that is no JSON object: {_text(said)}")
    if not _same(said.pop("id", None), number):
        raise Fault(f"answered another line than that of id {number}: {shown(line.decode())}")
    return said


def _no_number(text: str) -> None:
    raise ValueError(text)


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
        elif name == "reports" and _comparable(expected[name], said[name]):
            tokens: set[Any] = set()
            for i, (one, other) in enumerate(zip(expected[name], said[name], strict=True)):
                if vector.request.get("messages") and "refused" not in one:
                    token, other = _token_of(other)
                    if token in tokens or not _TOKEN.fullmatch(token):
                        words = "32 hexadecimal digits, drawn for this message alone"
                        yield _difference(vector, f"token {i + 1}", words, _text(token))
                    tokens.add(token)
                if not _same(one, other):
                    yield _difference(vector, f"report {i + 1}", one, _text(other))
        elif not _same(expected[name], said[name]):
            yield _difference(vector, name, expected[name], _text(said[name]))


def _token_of(message: Any) -> tuple[str, Any]:
    """The token of a message, which the vector cannot know, and the rest."""
    if not isinstance(message, dict):
        return "", message
    return str(message.get("token")), {k: v for k, v in message.items() if k != "token"}


def _comparable(expected: list[Any], said: Any) -> bool:
    return isinstance(said, list) and len(said) == len(expected)


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
