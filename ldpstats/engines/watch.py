"""How far a query has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any

__all__ = ["polled", "tell", "watched"]

_watch: ContextVar[Callable[[float], None] | None] = ContextVar("watch", default=None)

SECONDS = 0.2  # from one look to the next


@contextmanager
def watched(advance: Callable[[float], None] | None) -> Iterator[None]:
    """Queries that run meanwhile call `advance` with the fraction that is done, if they know it."""
    token = _watch.set(advance)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(fraction: float) -> None:
    """Say how far the query that runs has come."""
    advance = _watch.get()
    if advance is not None:
        advance(min(1.0, fraction))


@contextmanager
def polled(connection: Any) -> Iterator[None]:
    """Look how far DuckDB has come with a grouped query, which runs meanwhile."""
    advance = _watch.get()
    if advance is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true")  # without it DuckDB does not count
    connection.execute("SET enable_progress_bar_print = false")
    ended = Event()

    def look() -> None:
        while not ended.wait(SECONDS):
            # reading is the first half of what DuckDB counts; the groups are the other
            done = 2 * connection.query_progress() / 100
            if done > 0:  # -1 before it begins, and at its end
                advance(min(1.0, done))

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
