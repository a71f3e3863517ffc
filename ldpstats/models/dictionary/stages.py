"""Stages of a fit, and who is told how far they have come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ldpstats.models.dictionary.search.progress import Advance, silent
from ldpstats.models.shared.bar import progress_bar

__all__ = ["Progress", "stage", "told"]

Progress = Callable[[str, float], None]

_STAGES = ("grams", "pairs", "search", "test")


@contextmanager
def told(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Who is told of the progress: the caller's function, a bar, or nobody."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        with progress_bar("discovering") as move:
            yield lambda stage, fraction: move(fraction, stage)


@contextmanager
def stage(progress: Progress | None, name: str) -> Iterator[Advance]:
    """A stage that tells its beginning and end, and all that `advance` is told in between."""
    if progress is None:
        yield silent
        return
    place = _STAGES.index(name)

    def advance(fraction: float) -> None:
        progress(name, (place + fraction) / len(_STAGES))

    advance(0.0)
    yield advance
    advance(1.0)
