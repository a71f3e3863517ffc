"""Shares of Parquet files, worked on by threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from ldpstats.engines.base import BATCH_ROWS, Engine, Partial
from ldpstats.engines.failures import EngineFailure, running
from ldpstats.engines.footers import Footer
from ldpstats.engines.watch import tell

__all__ = ["shares"]

SHARE_ROWS = 1 << 20


class _Files(Protocol):
    """Parquet files, as far as shares need them."""

    @property
    def name(self) -> str: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def footers(self) -> Any: ...
    @property
    def widths(self) -> dict[str, str]: ...
    def refused_damaged(self, file: str) -> bool: ...
    def refused_changed(self, file: str) -> bool: ...


@dataclass(frozen=True)
class _Share:
    """Row groups of a file; all rows that a query selects where they are None."""

    file: str
    groups: tuple[int, ...] | None


def shares(
    source: _Files,
    frame: Callable[[Any], Any],
    function: Partial,
    names: Sequence[str],
    whole: bool,
) -> Iterator[Any]:
    """What `function` makes of the shares of all files; nothing of a file that is left out."""

    def work(share: _Share) -> list[Any]:
        with running(source.name, share.file):
            return list(function(_batches(source, share, frame, names)))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        begun = [
            (file, [pool.submit(work, share) for share in _cut(file, source.footers[file], whole)])
            for file in source.files
        ]
        done, everything = 0, sum(len(futures) for _, futures in begun)
        try:
            for file, futures in begun:
                yield from _of_file(source, file, futures)
                done += len(futures)
                tell(done / max(1, everything))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _of_file(source: _Files, file: str, futures: list[Future[list[Any]]]) -> list[Any]:
    """All results of a file; none if it is left out."""
    try:
        found = [batch for future in futures for batch in future.result()]
    except EngineFailure:
        if not (source.refused_changed(file) or source.refused_damaged(file)):
            raise
        return []
    return [] if source.refused_changed(file) else found  # before any of it is handed on


def _cut(file: str, footer: Footer, whole: bool) -> Iterator[_Share]:
    """Row groups together as far as they are small; a query takes a file as it is."""
    if not whole:
        yield _Share(file, None)
        return
    groups: list[int] = []
    rows = 0
    for group, n in enumerate(footer.groups):
        groups.append(group)
        rows += n
        if rows >= SHARE_ROWS or group == len(footer.groups) - 1:
            yield _Share(file, tuple(groups))
            groups, rows = [], 0


def _batches(
    source: _Files, share: _Share, frame: Callable[[Any], Any], names: Sequence[str]
) -> Iterator[Any]:
    if share.groups is None:
        session = source.engine.session()
        yield from session.batches(frame(session.scan([share.file], source.widths)), BATCH_ROWS)
        return
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(share.file) as opened:
        batches = opened.iter_batches(
            BATCH_ROWS, row_groups=list(share.groups), columns=list(names), use_threads=False
        )
        for batch in batches:  # in the order of the file, and "a" would bring "a.b" with it
            yield batch.select(list(names))
