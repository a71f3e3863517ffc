"""Sheets on their way to the disk: those that come together are written together."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.collector.files import HOUR
from ldpstats.collector.store import FEWEST, DiskFailure, Invitations, Sent, Store

DAY = 24 * HOUR
_RETRY = 10.0  # seconds after a batch could not be written


_ONE_TOO_MANY = {
    "spent": "invitation: another sheet came with this code, which takes one",
    "complete": "this survey is complete: no more sheets are taken",
}


class Refused(Exception):
    """An answer of HTTP that is an error: its text, status, seconds to wait, and a reason, if any.

    The text shows nothing of what was sent; the reason is "code", "spent" or "complete".
    """

    def __init__(self, text: str, status: int = 400, wait: int = 0, reason: str = "") -> None:
        super().__init__(text)
        self.text, self.status, self.wait, self.reason = text, status, wait, reason


@dataclass
class Intake:
    """Takes sheets in an event loop, and answers when they are on the disk."""

    # One thread writes to the database, another the batches: one when `size` sheets wait, one at
    # the turn of the hour if a tenth of that do, and one at the end; none has fewer than `FEWEST`.
    # Small files are merged at the turn of the day, and at the end.
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
        """Return when a sheet is on the disk; raise DiskFailure, or Refused, if it is not kept."""
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
        for task in (self._adding, self._batching):
            if task is not None:
                await task
        await self._batch(FEWEST)
        await self._merge()
        if 0 < self.store.waiting < FEWEST:
            say(f"fewer than {FEWEST} sheets wait for the next start, or for --finish")
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
                    reason = refused[place]
                    sender.set_exception(Refused(_ONE_TOO_MANY[reason], 403, reason=reason))
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
        try:
            if made := await self._in_batcher(self.store.batch, least):
                say(f"{made:,} sheets in a file, {self.store.stored:,} in all")
        except DiskFailure as error:
            self._not_before = time.monotonic() + _RETRY
            say(f"a file of sheets cannot be written ({error}): they wait, and it is tried again")

    async def _in_batcher(self, work: Callable[..., int], *given: int) -> int:
        return await asyncio.get_running_loop().run_in_executor(self._batcher, work, *given)

    async def _merge(self) -> None:
        try:
            if merged := await self._in_batcher(self.store.merge):
                say(f"{merged:,} small files were merged")
        except DiskFailure as error:
            say(f"small files cannot be merged ({error}): they stay as they are")

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


def say(text: str) -> None:
    """A line on standard error, if there is any."""
    with suppress(OSError, ValueError):
        print(f"ldpstats: {text}", file=sys.stderr, flush=True)


# -- What a sheet of a survey is: the JSON that a device sends, checked field by field ------------
# A sheet is checked against the client document of its questionnaire (`clients/SPECIFICATION.md`),
# in plain Python and before anything else is done with it. What no client can have sent is refused.


FORMAT, WITHDRAWAL, VERSION = "ldpstats-sheet", "ldpstats-withdrawal", 1
_FIELDS = ("format", "version", "survey", "token", "sheet")
_TOKEN = re.compile("[0-9a-fA-F]{32}")
_FRAME = 1_000  # bytes of a sheet beside its questions and reports, with room for spaces
_OUTDATED = (
    "these are reports to another questionnaire or another wave of it, or this page is outdated: "
    "load the page again, or fetch the collector's client document"
)


@dataclass(frozen=True)
class _Item:
    """A question, as a collector sees it."""

    name: str
    shape: Shape
    private: bool
    always: bool  # whether a missing answer has a report too


@dataclass(frozen=True)
class Checks:
    """Reads the sheets of one survey."""

    survey: str  # the fingerprint of the questionnaire
    ask: int | None  # how many private questions each respondent is asked
    items: tuple[_Item, ...]
    invitations: Invitations | None = None  # the codes that sheets need, if they need one
    link: bool = False  # whether the token is a pseudonym, which is kept with the reports

    @classmethod
    def of(cls, document: Mapping[str, Any], invitations: Invitations | None = None) -> Checks:
        """The checks of a questionnaire's client document."""
        items = tuple(
            _Item(q["name"], shape_of(q["reports"], q["draw"]), q["private"], "refused" in q)
            for q in document["questions"]
        )
        link = document.get("link", False)
        return cls(document["survey"], document["ask"], items, invitations, link)

    @cached_property
    def largest(self) -> int:
        """Bytes of the longest sheet, every character escaped, twice over."""
        reports = sum(len(json.dumps(item.name)) + item.shape.longest + 2 for item in self.items)
        return 2 * (reports + _FRAME)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(item.name for item in self.items)

    def read(self, body: bytes) -> Sent:
        """The token of a sheet, its reports as JSON in order, and the hash of its code, if any."""
        sent = _object(_json(body), "the message")
        if sent.get("format") != FORMAT or repr(sent.get("version")) != repr(VERSION):
            raise Refused(f'must be an object of format "{FORMAT}", version {VERSION}')
        if not isinstance(sent.get("survey"), str):
            raise Refused("survey: must be the fingerprint of the questionnaire")
        if sent["survey"] != self.survey:
            raise Refused(_OUTDATED, 409)
        code = sent.pop("invitation", None) if self.invitations is not None else None
        if "invitation" in sent:
            raise Refused("invitation: this survey takes sheets without: leave the field out")
        if set(sent) != set(_FIELDS):
            raise Refused(f"must have the fields {', '.join(_FIELDS)}, and no others")
        token, known = sent["token"], None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise Refused("token: must be 32 hexadecimal digits")
        if self.invitations is not None:
            compare = "compare it with the one that you were given"
            why = f"no code of this survey: {compare}"
            if code is None:
                why = "this survey takes sheets with a code only"
            else:
                try:
                    known = self.invitations.find(portable.invitation_code(code))
                except portable.Refused:
                    why = f"a typing error in the code: {compare}"
            if known is None:
                raise Refused(f"invitation: {why}", 403, reason="code")
        reports = self._reports(_object(sent["sheet"], "sheet"))
        reports += [token.lower()] if self.link else []
        taken = bytes.fromhex(token), json.dumps(reports, separators=(",", ":"))
        return taken if known is None else (*taken, known)

    def withdrawal(self, body: bytes) -> None:
        """Whether a page says that its reports were deleted."""
        sent = _object(_json(body), "the message")
        if sent.get("format") == WITHDRAWAL and sent.get("survey") != self.survey:
            raise Refused(_OUTDATED, 409)
        expected = {"format": WITHDRAWAL, "version": VERSION, "survey": self.survey}
        if sent != expected or repr(sent["version"]) != repr(VERSION):
            raise Refused(f'must be an object of format "{WITHDRAWAL}", version and survey')

    def _reports(self, sheet: dict[str, Any]) -> list[Any]:
        """The reports of a sheet, in the order of the questions."""
        if sheet.keys() != self._names:
            raise Refused("sheet: must have a report, or null, for every question, and no other")
        reports = []
        asked = missing = 0
        for item in self.items:
            report = sheet[item.name]
            if report is not None and not item.shape.fits(report):
                raise Refused(f"sheet: the report to {item.name!r} is none of its mechanism")
            reports.append(report)
            asked += item.private and report is not None
            missing += item.private and report is None and not item.always
        ask = sum(item.private for item in self.items) if self.ask is None else self.ask
        if not asked <= ask <= asked + missing:
            raise Refused(f"sheet: {ask} private questions are asked, not as many as here")
        return reports


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused(f"{what}: must be an object")
    return value


def _json(body: bytes) -> object:
    """JSON in UTF-8, strictly: no field twice, no NaN, no number that only some programs read."""

    def no_number(text: str) -> NoReturn:
        raise Refused("must not have numbers that are not finite")

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise Refused("must not have a field twice")
        return made

    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=fields, parse_constant=no_number)
    except Refused:
        raise
    except (ValueError, RecursionError):  # json.JSONDecodeError and UnicodeDecodeError among them
        raise Refused("must be JSON in UTF-8") from None


# -- What a report of one question can be: texts, bits, cohorts and grams, in plain Python --------


Fits = Callable[[Any], bool]


@dataclass(frozen=True)
class Shape:
    """The reports of a question: whether a value of JSON `fits`, and bytes of the longest."""

    fits: Fits
    longest: int


def shape_of(reports: Any, draw: Mapping[str, Any]) -> Shape:
    """The shape of the reports of a client document's question, section 4 of the specification."""
    if draw["kind"] == "grams":
        return _grams(draw)
    of_report = _bits(reports["bits"], draw) if isinstance(reports, dict) else _texts(reports)
    if "cohorts" not in draw:
        return of_report
    of_cohorts = _texts(draw["cohorts"])

    def fits(report: Any) -> bool:
        cohort, colon, rest = report.partition(":") if isinstance(report, str) else ("", "", "")
        return colon == ":" and of_cohorts.fits(cohort) and of_report.fits(rest)

    return Shape(fits, of_cohorts.longest + of_report.longest)


def _texts(reports: list[str] | int) -> Shape:
    """Texts from a list; a number k stands for 0, 1, ... k - 1."""
    known = portable.Texts(reports)
    last = [str(reports - 1)] if isinstance(reports, int) else reports
    return Shape(lambda text: known.place(text) >= 0, max(len(json.dumps(one)) for one in last))


def _bits(n: int, draw: Mapping[str, Any]) -> Shape:
    """Strings of n bits, those that the draw can make."""
    able = _able(draw)

    def fits(report: Any) -> bool:
        bits = isinstance(report, str) and len(report) == n and not report.strip("01")
        return bits and able(report)

    return Shape(fits, n + 2)


def _able(draw: Mapping[str, Any]) -> Fits:
    """What a draw of bits says of all of them."""
    if draw["kind"] == "personal":
        return _able(draw["draw"])
    if draw["kind"] == "subset":
        return lambda report: report.count("1") == draw["size"]
    if draw["kind"] == "reveal":
        sensitive = set(draw["sensitive"])
        return lambda report: (
            sum(bit == "1" and j not in sensitive for j, bit in enumerate(report)) <= 1
        )
    return lambda report: True


def _grams(draw: Mapping[str, Any]) -> Shape:
    """Two grams of a string, where they begin, and the whole of it."""
    gram = shape_of(draw["gram_question"]["reports"], draw["gram_question"]["draw"])
    whole = shape_of(draw["string_question"]["reports"], draw["string_question"]["draw"])
    starts = range(0, draw["length"] - draw["gram"] + 1, draw["step"])

    def fits(report: Any) -> bool:
        if not isinstance(report, dict) or report.keys() != {"positions", "grams", "string"}:
            return False
        places, grams = report["positions"], report["grams"]
        return (
            all(isinstance(two, list) and len(two) == 2 for two in (places, grams))
            and whole.fits(report["string"])
            and all(type(place) is int and place in starts for place in places)
            and bool(places[0] < places[1])
            and all(map(gram.fits, grams))
        )

    frame = len(json.dumps({"positions": [starts[-1]] * 2, "grams": ["", ""], "string": ""}))
    return Shape(fits, frame + 2 * gram.longest + whole.longest)
