"""How far a step of the search has come, as a fraction of it that never falls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

__all__ = ["Advance", "between", "counted", "nested", "silent"]

T = TypeVar("T")

Advance = Callable[[float], None]
"""Is told the fraction of a step that is done, from 0 to 1."""


def silent(fraction: float) -> None:
    """Tell nobody."""


def between(advance: Advance, start: float, stop: float) -> Advance:
    """Tell the fraction of a part of the step, which takes it from `start` to `stop`."""
    if advance is silent:
        return silent

    def part(fraction: float) -> None:
        advance(start + (stop - start) * fraction)

    return part


def counted(items: Sequence[T], advance: Advance, every: int = 1) -> Iterator[T]:
    """The items, telling after each, or after some, how many are done."""
    n = len(items)
    for done, item in enumerate(items, start=1):
        yield item
        if done == n or done % every == 0:
            advance(done / n)


def nested(items: Sequence[T], advance: Advance) -> Iterator[tuple[T, Advance]]:
    """The items, each with what is to be told how far it has come itself."""
    n = len(items)
    for done, item in enumerate(items):
        yield item, between(advance, done / n, (done + 1) / n)
        advance((done + 1) / n)
