"""Tables of bad input: a call with good arguments, and by argument the values it must refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

NO_NUMBER = (None, "1", True, [1.0], 1j, np.nan, np.inf)
NO_EPSILON = (*NO_NUMBER, 0, -1.0, 10**400)
NO_PROBABILITY = (*NO_NUMBER, -0.1, 1.1)
NO_COUNT = (*NO_NUMBER, 0, -1, 2.5)
NO_LABELS = (None, "ab", 0, 1, -2, 2.5, {"a", "b"}, {"a": 1, "b": 2}, ("a",), ("a", "a"), (1, "1"))


@dataclass(frozen=True)
class Says:
    """A bad value, a pattern of what its error says of it, and at which place of the argument."""

    value: Any
    words: str = ""
    at: str | None = None


def refusals(
    call: Callable[..., Any], good: Mapping[str, Any], bad: Mapping[str, Sequence[Any]]
) -> Iterator[Any]:
    """One case for each argument and bad value: a call, and a pattern of how its error begins.

    The good arguments must pass, so that each error is about the bad value.
    """
    call(**good)
    for name, values in bad.items():
        for value in values:
            case = value if isinstance(value, Says) else Says(value)
            place = r"(\[.*?\])*" if case.at is None else re.escape(case.at)
            yield pytest.param(
                lambda name=name, value=case.value: call(**{**good, name: value}),
                rf"(?s)^{re.escape(name)}{place}=.*{case.words}",
                id=f"{call.__name__} {name}={str(case.value)[:30]}",
            )


def assert_refused(call: Callable[[], Any], begins: str) -> None:
    with pytest.raises(ldp.LDPError, match=begins):
        call()
