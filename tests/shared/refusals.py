"""Tables of bad arguments made from one good call, in which each argument is spoiled in turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from ldpstats.errors import InvalidArgument, LDPError

NO_NUMBER = (None, "1", True, [1.0], 1j, np.nan, np.inf)

NO_EPSILON = (*NO_NUMBER, 0, -1.0, 10**400)

NO_PROBABILITY = (*NO_NUMBER, -0.1, 1.1)

NO_COUNT = (*NO_NUMBER, 0, -1, 2.5)

NO_LABELS = (
    *(None, "ab", 0, 1, -2, 2.5, 10**30, {"a", "b"}, {"a": 1, "b": 2}),
    *((), ("a",), ("a", "a"), (1, "1"), ("a", None), (1.0, np.nan), (("a",), ("b",))),
)


def refusals(
    call: Callable[..., Any], good: Mapping[str, Any], bad: Mapping[str, Sequence[Any]]
) -> list[Any]:
    """A case for each bad value of each argument, with good values of all others.

    Keys of `bad` say how the error begins: ``sensitive``, or ``sensitive[1]`` where it names the
    place. The good call must pass, so that each error is about the bad value.
    """
    call(**good)
    return [
        pytest.param(
            Refusal(
                field,
                partial(_spoiled, call, good, field.partition("[")[0]),
                value if isinstance(value, Said) else said(value),
                LDPError,
            ),
            id=f"{call.__name__} {field}={_short(value)}",
        )
        for field, values in bad.items()
        for value in values
    ]


def _spoiled(call: Callable[..., Any], good: Mapping[str, Any], name: str, value: Any) -> Any:
    return call(**{**good, name: value})


def _short(value: Any) -> str:
    """The value in a few characters, the same in every process: sets have no order."""
    bare = value.value if isinstance(value, Said) else value
    return str(sorted(bare) if isinstance(bare, set) else bare)[:30]


# Tables of bad arguments: a field, a call that takes it, and the values that it must refuse.


@dataclass(frozen=True)
class Said:
    """A bad value, and words that its error has to say about it."""

    value: Any
    words: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """A call with one bad value, and how its error begins."""

    field: str
    call: Callable[[Any], Any]
    bad: Said
    kind: type[LDPError]

    def check(self) -> None:
        with pytest.raises(self.kind) as caught:
            self.call(self.bad.value)
        message = str(caught.value)
        assert message.startswith(self.field)
        if self.field and self.field[-1] != "=":  # the whole of the name
            assert message[len(self.field)] in "=[(:., "
        for words in self.bad.words:
            assert words in message
        assert "\n" not in message and len(message) < 400
        assert ": " in message or "; " in message  # what is wrong, then what to do


def said(value: Any, *words: str) -> Said:
    return Said(value, words)


def refuses(
    field: str,
    call: Callable[[Any], Any],
    values: dict[str, Any],
    kind: type[LDPError] = InvalidArgument,
) -> list[Any]:
    """A case for each bad value of the field, by what is wrong with it."""
    return [
        pytest.param(Refusal(field, call, bad if isinstance(bad, Said) else said(bad), kind), id=id)
        for id, bad in values.items()
    ]
