"""How far a maximiser has come, for whoever watches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import log

__all__ = ["tell", "watched"]

_watch: ContextVar[Callable[[float, float], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched(advance: Callable[[float], None]) -> Iterator[None]:
    """Maximisers that run meanwhile tell `advance` the fraction that is done, which never falls.

    Gaps fall by factors: the fraction is that of the way from the logarithm of the largest gap that
    was seen to that of the gap to reach.
    """
    largest, done = 0.0, 0.0

    def heard(gap: float, target: float) -> None:
        nonlocal largest, done
        largest = max(largest, gap)
        if largest > target:
            way = log(largest / max(gap, target)) / log(largest / target)
            done = max(done, way)
            advance(done)

    token = _watch.set(heard)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(gap: float, target: float) -> None:
    """Say which gap was reached, and which is the target."""
    heard = _watch.get()
    if heard is not None:
        heard(gap, target)
