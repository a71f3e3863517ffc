"""Tables of bad arguments made from one good call, in which each argument is spoiled in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from shared.bad_values import Refusal, Said, said

from ldpstats.errors import LDPError

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
