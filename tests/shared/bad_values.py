"""Tables of bad arguments: a field, a call that takes it, and the values that it must refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ldpstats.errors import InvalidArgument, LDPError


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
