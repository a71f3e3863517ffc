"""Sheets on their way to the disk: those that come together are written together."""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from ldpstats.collector.files import HOUR
from ldpstats.collector.store import FEWEST, DiskFailure, Sent, Store

__all__ = ["Intake", "NotTaken"]

DAY = 24 * HOUR
_RETRY = 10.0  # seconds after a batch could not be written


class NotTaken(Exception):
    """A sheet that is one too many: `reason` is "spent", of its invitation, or "complete"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Intake:
    """Takes sheets in an event loop, and answers when they are on the disk.

    One thread writes to the database, another the batches: one when `size` sheets wait, one at the
    turn of the hour if a tenth of that do, and one when it is closed; none has fewer than `FEWEST`.
    Small files are merged at the turn of the day, and when it is closed.
    """

    store: Store
    size: int
    _sheets: list[Sent] = field(default_factory=list)
    _senders: list[asyncio.Future[None]] = field(default_factory=list)
    _adding: asyncio.Task[None] | None = None
    _batching: asyncio.Task[None] | None = None
    _hours: asyncio.Task[None] | None = None
    _not_before: float = 0.0
    _writer: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _batcher: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def open(self) -> None:
        """Begin; within the event loop."""
        self._hours = asyncio.create_task(self._each_hour())
        self._batch_if(self.size)

    async def take(self, sheet: Sent) -> None:
        """Return when a sheet is on the disk.

        Raises
        ------
        DiskFailure
            If it is not, and is not kept.
        NotTaken
            If its invitation was spent, or there are as many sheets as there may be.
        """
        sender = asyncio.get_running_loop().create_future()
        self._sheets.append(sheet)
        self._senders.append(sender)
        if self._adding is None or self._adding.done():
            self._adding = asyncio.create_task(self._add())
        await sender

    async def close(self) -> None:
        """Write what waits if that is enough for a file, merge files, and give the folder back."""
        if self._hours is not None:
            self._hours.cancel()
        if self._adding is not None:
            await self._adding
        if self._batching is not None:
            await self._batching
        await self._batch(FEWEST)
        await self._merge()
        if 0 < self.store.waiting < FEWEST:
            _say(f"fewer than {FEWEST} sheets wait for the next start, or for --finish")
        self._writer.shutdown()
        self._batcher.shutdown()
        self.store.close()

    async def _add(self) -> None:
        """Write the sheets that came while others were written, all at once, until none is left."""
        loop = asyncio.get_running_loop()
        while self._sheets:
            sheets, self._sheets = self._sheets, []
            senders, self._senders = self._senders, []
            failure: Exception | None = None
            refused: dict[int, str] = {}
            try:
                refused = await loop.run_in_executor(self._writer, self.store.add, sheets)
            except Exception as error:  # every sender hears of it
                failure = error
            for place, sender in enumerate(senders):
                if sender.done():  # who sent it has gone
                    continue
                if failure is not None:
                    sender.set_exception(failure)
                elif place in refused:
                    sender.set_exception(NotTaken(refused[place]))
                else:
                    sender.set_result(None)
            self._batch_if(self.size)

    def _batch_if(self, least: int) -> None:
        """Begin a batch if enough sheets wait for one."""
        busy = self._batching is not None and not self._batching.done()
        if busy or self.store.waiting < least or time.monotonic() < self._not_before:
            return
        self._batching = asyncio.create_task(self._batch(least))

    async def _batch(self, least: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            made = await loop.run_in_executor(self._batcher, self.store.batch, least)
            if made:
                _say(f"{made:,} sheets in a file, {self.store.stored:,} in all")
        except DiskFailure as error:
            self._not_before = time.monotonic() + _RETRY
            _say(f"a file of sheets cannot be written ({error}): they wait, and it is tried again")

    async def _merge(self) -> None:
        try:
            merged = await asyncio.get_running_loop().run_in_executor(
                self._batcher, self.store.merge
            )
            if merged:
                _say(f"{merged:,} small files were merged")
        except DiskFailure as error:
            _say(f"small files cannot be merged ({error}): they stay as they are")

    async def _each_hour(self) -> None:
        """Write what waits as the hour turns, merge as the day does, and retry what failed."""
        while True:
            now = time.time()
            await asyncio.sleep(min(_RETRY, HOUR - now % HOUR + 0.1))
            later = time.time()
            turned = now // HOUR != later // HOUR
            self._batch_if(max(self.size // 10, FEWEST) if turned else self.size)
            if now // DAY != later // DAY:
                await self._merge()


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        print(f"ldpstats: {text}", file=sys.stderr, flush=True)
