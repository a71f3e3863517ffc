"""A collector as a program, `collect`: its answers to requests, its server and its limits."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.arguments import boolean, listed, positive_integer
from ldpstats.collector.files import BatchWriter
from ldpstats.collector.intake import Checks, Intake, Refused, say
from ldpstats.collector.store import (
    FEWEST,
    DiskFailure,
    Store,
    Withdrawals,
    opened_folder,
    opened_store,
    opened_withdrawals,
    read_invitations,
)
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable
from ldpstats.io.storage import FilePath, refusal
from ldpstats.mechanisms import Observed
from ldpstats.page import page_text
from ldpstats.survey.questionnaire import Questionnaire

_CONNECTIONS = 2_000  # at a time
_TOO_FEW = (
    f"must be {FEWEST} or more: a smaller file tells when each of its sheets came; at the end of "
    "the survey --finish (finish=True) writes those that wait, however few"
)
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def collect(
    questionnaire: Questionnaire,
    folder: FilePath,
    *,
    texts: Any = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    batch: int = 1000,
    limits: Limits | None = None,
    invitations: Sequence[FilePath] = (),
    max_sheets: int | None = None,
    estimates: bool = False,
    finish: bool = False,
    forget_tokens: bool = False,
) -> None:
    """Take answer sheets over HTTP until SIGTERM or SIGINT, and write them to Parquet files.

    ``Survey(folder)`` reads what is in files. A sheet is acknowledged when it is on the disk. The
    files hold the reports of many sheets in random order. No address, no name of a program and no
    time is kept, except the hour in which a file was written. ``ldpstats/collector/README.md`` has
    the use behind a reverse proxy, and what is protected against whom.

    Parameters
    ----------
    questionnaire : Questionnaire
    folder : path-like
        Where to keep the sheets; it is made if there is none. It belongs to this questionnaire, and
        to this wave of it, and to one collector at a time.
    texts : path-like or mapping, optional
        Words that replace those of the page at /, as of `page.write_page`.
    host, port : str, int
        Where to listen. Port 0 takes any that is free.
    origins : sequence of str
        Origins of other pages that may send sheets, such as "https://survey.example"; "null" for a
        page that is opened from a disk.
    behind_proxy : bool
        Whether all requests come through a proxy that appends the sender's address to
        X-Forwarded-For. It is used for limits only.
    batch : int
        Sheets in a file, at least 20. Fewer are written at the turn of the hour, if a tenth of that
        wait, and when the collector is stopped, but never fewer than 20: the last ones wait for the
        next start. Small files are merged at the turn of the day, and when it is stopped.
    limits : Limits, optional
    invitations : sequence of path-like
        Files that `invite` wrote for the collector. A sheet is then taken with a code alone, and a
        code takes one sheet. Without them anybody can send any number of sheets.
    max_sheets : int, optional
        How many sheets are taken in all, those in files included.
    estimates : bool
        Show at /counts what the sheets in files say, of each question that is protected: estimates
        with intervals that hold at all looks together. Whoever can reach the collector sees them,
        respondents too.
    finish : bool
        Write the sheets that wait, however few they are, merge small files, and return: no sheet is
        taken. For the end of a survey.
    forget_tokens : bool
        Begin a new record where that of the folder was lost, or does not fit the files. Sheets that
        were taken before would count again if they are sent again.

    Raises
    ------
    NotAvailable
        If the packages of the extra `collect` are not installed, or the questionnaire has no client
        document.
    InvalidArgument, MechanismMismatch
        For a folder that cannot be used, is that of another questionnaire, in which another
        collector works, or of which the record does not have all files.

    Examples
    --------
    It runs until it is stopped::

        import ldpstats as ldp
        from ldpstats.collector import collect

        sheet = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), epsilon=1.0)})
        collect(sheet, "answers", port=8000)

    Meanwhile, or afterwards, ``ldp.Survey("answers")`` is the table of the sheets in files.
    """
    forget = boolean("forget_tokens", forget_tokens)
    if boolean("finish", finish):
        # Write what waits, merge, and say how many sheets there are
        desk = opened_desk(questionnaire, folder, batch=batch, forget_tokens=forget)
        with closing(desk.intake.store) as store:
            _say_faults(store)
            try:
                store.batch()
                store.merge()
            except DiskFailure as error:
                raise refusal(store.folder, f"the sheets cannot be written ({error})") from None
            sheets = "sheet" if store.stored == 1 else "sheets"
            print(f"{store.stored:,} {sheets} in files, and none waits")
        return
    packages()
    with closing(listening(host, port)) as where:
        desk = opened_desk(
            *(questionnaire, folder, texts, origins, behind_proxy, batch, limits),
            *(invitations, max_sheets, estimates, forget),
        )
        with closing(desk.intake.store):
            _say_faults(desk.intake.store)
            _check_open(desk, max_sheets)
            running = server(application(desk), desk.limits.seconds, _CONNECTIONS)

            def stop(*signalled: object) -> None:
                running.should_exit = True

            # Signals stop the server in order: uvicorn raises them again when it has stopped
            ends = (signal.SIGTERM, signal.SIGINT)
            before = {number: signal.signal(number, stop) for number in ends}
            try:
                shown = f"[{host}]" if ":" in host else host
                print(f"collecting at http://{shown}:{where.getsockname()[1]}/", flush=True)
                running.run(sockets=[where])
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)


def _check_open(desk: Desk, max_sheets: int | None) -> None:
    """Say what it means that anybody can send sheets; refuse where only those invited could."""
    if desk.checks.invitations is not None:
        return
    if desk.intake.store.by_invitation:
        remedy = "takes sheets by invitation: pass the files of --invitations, as before"
        raise refusal(desk.intake.store.folder, remedy)
    if max_sheets is None:
        rate = f"{desk.limits.per_address:,} sheets a minute from one address"
        say(
            f"without --invitations and --max-sheets anybody can send {rate}, and decide the "
            "result: see ldpstats invite --help"
        )


def _say_faults(store: Store) -> None:
    for name, why in sorted(store.faults.items()):
        say(f"warning: {name}: {why}")


def opened_desk(
    questionnaire: Questionnaire,
    folder: FilePath,
    texts: Any = None,
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    batch: int = 1000,
    limits: Limits | None = None,
    invitations: Sequence[FilePath] = (),
    max_sheets: int | None = None,
    estimates: bool = False,
    forget_tokens: bool = False,
) -> Desk:
    """The desk of a collector, with its folder open; see `collect`."""
    if not isinstance(questionnaire, Questionnaire):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise InvalidArgument("limits", limits, "must be Limits(...)")
    size, behind = positive_integer("batch", batch), boolean("behind_proxy", behind_proxy)
    if size < FEWEST:
        raise InvalidArgument("batch", batch, _TOO_FEW)
    allowed = tuple(listed("origins", origins, "must be a list of origins"))
    for origin in allowed:
        if not isinstance(origin, str) or not (origin == "null" or _ORIGIN.fullmatch(origin)):
            remedy = 'must be an origin, such as "https://survey.example" without a path, or "null"'
            raise InvalidArgument("origins", origin, remedy)
    document = questionnaire.client_document()
    checks = Checks.of(document, read_invitations(invitations, document["survey"]))
    most = None if max_sheets is None else positive_integer("max_sheets", max_sheets)
    for question in document["questions"]:  # no file can hold some reports
        for text in question["reports"] if isinstance(question["reports"], list) else ():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                remedy = f"a report to {question['name']!r} has no UTF-8 form: rename the label"
                raise InvalidArgument("questionnaire", text, remedy) from None
    page = page_text(questionnaire, texts, "/sheets", invitations=checks.invitations is not None)
    tables = BatchWriter(questionnaire, document)
    opened = opened_folder(folder, questionnaire)
    deleted = opened_withdrawals(opened)
    store = opened_store(opened, tables, forget_tokens)
    store.most = most
    if checks.invitations is not None:
        store.invite(checks.invitations.hashes)
    client = json.dumps(document).encode("ascii")
    intake = Intake(store, size)
    shown = Estimates(questionnaire, opened) if boolean("estimates", estimates) else None
    text = page.encode("utf-8")
    return Desk(checks, intake, limits, text, client, deleted, allowed, behind, shown)


# -- The collector's answers to HTTP requests -----------------------------------------------------
# Nothing that a request says about its sender is stored or logged. No answer shows a traceback, or
# more about the sheets than how many are in files, and the estimates from these if it is told to.


if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    Answer = Callable[[Request], Awaitable[Response]]

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PLACES = {404: "no such page", 405: "no such method for this page"}


@dataclass
class Desk:
    """What a request needs to be answered."""

    checks: Checks  # what a sheet is
    intake: Intake  # where it goes
    limits: Limits  # how many are taken
    page: bytes  # the questionnaire as a page
    client: bytes  # the client document as JSON
    withdrawals: Withdrawals  # how many reports were deleted after they had been shown
    origins: Sequence[str] = ()  # of other pages that may send; "null" for those opened from a disk
    behind_proxy: bool = False  # whether the sender's address is the last one of X-Forwarded-For
    estimates: Estimates | None = None  # what sheets say so far, if it is shown
    _dealing: int = 0
    rates: Rates = field(init=False)

    def __post_init__(self) -> None:
        self.rates = Rates(self.limits)

    # -- sheets --------------------------------------------------------------------------------

    async def take(self, request: Request) -> Response:
        """POST /sheets: keep a sheet; OPTIONS, by which a browser asks whether it may."""
        if request.method == "OPTIONS":
            return await self.preflight(request)
        if self._dealing >= self.limits.requests:
            raise Refused("too many requests at the moment: try again later", 503, 1)
        self._dealing += 1
        try:
            self._check_sender(request)
            await self.intake.take(self.checks.read(await self._body(request)))
        finally:
            self._dealing -= 1
        return self._answer(request, {"accepted": True})

    async def withdrawn(self, request: Request) -> Response:
        """POST /withdrawn: somebody deleted reports that a page had shown; OPTIONS as of sheets."""
        if request.method == "OPTIONS":
            return await self.preflight(request)
        self._check_sender(request)
        self.checks.withdrawal(await self._body(request))
        await asyncio.get_running_loop().run_in_executor(None, self.withdrawals.add)
        return self._answer(request, {"accepted": True})

    def _check_sender(self, request: Request) -> None:
        self._check_origin(request)
        given = request.headers.get("content-type", "").partition(";")[0]
        if given.strip().lower() != "application/json":
            raise Refused("the content type must be application/json", 415)
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Refused("the content must not be compressed", 415)
        # Whose limit a request counts for; it is not kept
        address = "" if request.client is None else request.client.host
        if self.behind_proxy:  # some proxies append to the header, others add another one
            address = ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2]
        wait = self.rates.wait(address)
        if wait:
            raise Refused("too many sheets in this minute: try again later", 429, wait)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is not None and not self._allowed(origin, request):
            raise Refused("pages of this origin may not send sheets here", 403)

    def _allowed(self, origin: str, request: Request) -> bool:
        """Whether a browser's page may send sheets: the collector's own, or one that is listed."""
        # what a browser says of its page, whatever a proxy made of the host
        if origin in self.origins or request.headers.get("sec-fetch-site") == "same-origin":
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host != "" and host == request.headers.get("host")

    async def _body(self, request: Request) -> bytes:
        """The body of a request, if it is short and arrives in time."""
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            raise Refused("the content length is no number", 400)
        self._check_size(int(length))
        from starlette.requests import ClientDisconnect

        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for part in request.stream():
                    self._check_size(len(body) + len(part))
                    body += part
        except TimeoutError:
            raise Refused("the request did not arrive in time: try again", 408) from None
        except ClientDisconnect:
            raise Refused("the request was cut off", 400) from None
        return bytes(body)

    def _check_size(self, size: int) -> None:
        if size > self.checks.largest:
            raise Refused(f"must have {self.checks.largest} bytes at most", 413)

    async def preflight(self, request: Request) -> Response:
        """OPTIONS /sheets: whether a page of another origin may send."""
        self._check_origin(request)
        headers = {
            "Access-Control-Allow-Methods": "POST",
            "Access-Control-Allow-Headers": "content-type",
            "Access-Control-Max-Age": "600",
        }
        return self._answer(request, None, 204, headers)

    # -- pages ---------------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        """GET /health: whether sheets can be kept (the status), and files are as written."""
        store = self.intake.store
        loop = asyncio.get_running_loop()
        shortage = await loop.run_in_executor(None, store.shortage, self.checks.largest)
        errors = ["sheets cannot be written to the disk"] * store.failing
        errors += ["files of sheets cannot be written; sheets wait"] * store.stuck
        errors += [shortage] * bool(shortage)
        status = 503 if errors else 200
        errors += [f"{name}: {why}" for name, why in sorted(store.faults.items())]
        return self._answer(request, {"healthy": not errors, "errors": errors}, status)

    async def counts(self, request: Request) -> Response:
        """GET /counts: sheets in files, and reports that were deleted, in steps."""
        # Sheets that wait are not counted: a count that grows with each would tell when it came
        stored = self.intake.store.stored
        counts: dict[str, Any] = {"survey": self.checks.survey, "sheets": stored}
        counts["withdrawn"] = self.withdrawals.shown
        if self.estimates is not None:
            look = asyncio.get_running_loop().run_in_executor
            counts["estimates"] = await look(None, self.estimates.at, stored)
        return self._answer(request, counts)

    # -- answers -------------------------------------------------------------------------------

    async def refuse(self, request: Request, error: Exception) -> Response:
        """The answer to what was refused, or failed."""
        content: dict[str, Any] = {"accepted": False}
        if isinstance(error, DiskFailure):
            error = Refused("sheets cannot be kept at the moment: try again later", 503, 30)
        if isinstance(error, Refused):
            status, text, wait = error.status, error.text, error.wait
            content |= {"reason": error.reason} if error.reason else {}
        else:
            status = getattr(error, "status_code", 500)
            text, wait = _PLACES.get(status, "the request failed: try again later"), 0
        headers = dict(getattr(error, "headers", None) or {})  # Allow, of 405
        if wait:
            headers["Retry-After"] = str(wait)
        if request.method == "POST":  # what was not read is not looked at
            headers["Connection"] = "close"
        if status == 500:
            say(f"error: {type(error).__name__}")  # its text may show what was sent
        return self._answer(request, content | {"error": text}, status, headers)

    def _answer(
        self,
        request: Request,
        content: dict[str, Any] | None,
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """An answer in JSON, which a page of an allowed origin may read."""
        body = b"" if content is None else json.dumps(content).encode("ascii")
        response = _response(body, status, "application/json", headers)
        origin = request.headers.get("origin")
        if origin is not None and self._allowed(origin, request):
            response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Vary"] = "Origin"
        return response


def _response(
    body: bytes, status: int, kind: str, headers: dict[str, str] | None = None
) -> Response:
    from starlette.responses import Response

    response = Response(body, status, {**_HEADERS, **(headers or {})})
    if body:
        response.headers["Content-Type"] = kind
    return response


def application(desk: Desk) -> Starlette:
    """The application of a desk, for a server of ASGI."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: say(f"error: {type(context.get('exception')).__name__}")
        )
        desk.intake.open()
        forgetting = asyncio.create_task(desk.rates.forget())
        yield
        forgetting.cancel()
        await desk.intake.close()

    def guarded(answer: Answer) -> Answer:
        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except Exception as error:  # nothing of it is shown
                return await desk.refuse(request, error)

        return answered

    def fixed(content: bytes, kind: str) -> Answer:
        async def sent(request: Request) -> Response:
            return _response(content, 200, kind)

        return sent

    answers: list[tuple[str, Answer, list[str]]] = [
        ("/", fixed(desk.page, "text/html; charset=utf-8"), ["GET"]),
        ("/client.json", fixed(desk.client, "application/json"), ["GET"]),
        ("/health", desk.health, ["GET"]),
        ("/counts", desk.counts, ["GET"]),
        ("/sheets", desk.take, ["POST", "OPTIONS"]),
        ("/withdrawn", desk.withdrawn, ["POST", "OPTIONS"]),
    ]
    routes = [Route(path, guarded(answer), methods=methods) for path, answer, methods in answers]
    handlers: Any = {HTTPException: desk.refuse}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


# -- What sheets say so far -----------------------------------------------------------------------


@dataclass
class Estimates:
    """Frequencies from the sheets in files, with intervals that hold however often one looks.

    `Observed` columns are left out: counts of what is not protected tell of 20 sheets at a time.
    """

    questionnaire: Questionnaire
    folder: Path
    _sheets: int = 0  # in files, when they were last read
    _found: dict[str, Any] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def at(self, sheets: int) -> dict[str, Any]:
        """Estimate, lower and upper by question and category; why not, where there is no sequence.

        While they are computed for more sheets others get those from before; so do all where a file
        is damaged, which `health` names.
        """
        if sheets != self._sheets and self._lock.acquire(blocking=False):
            try:
                with suppress(LDPError):
                    self._found, self._sheets = self._computed(), sheets
            finally:
                self._lock.release()
        return self._found

    def _computed(self) -> dict[str, Any]:
        from ldpstats.survey.survey import Survey  # which takes a while

        survey, found = Survey(self.folder), dict[str, Any]()
        for name, mechanism in self.questionnaire.mechanisms.items():
            if isinstance(mechanism, Observed):
                continue
            try:
                results: Any = survey.frequencies(name)
                rows = results.conf_int(anytime=True).to_numpy()
                both = np.column_stack([results.params, rows]).round(6)
                found[name] = dict(zip(map(str, results.categories), both.tolist(), strict=True))
            except NotAvailable as error:
                found[name] = f"no estimates: {error}"
        return found


# -- The server of HTTP: connections that say nothing are closed, and signals end it in order -----


_GRACE = 30  # seconds for requests that have begun when it is told to stop
_MORE = 10  # seconds that a connection has beyond those of its request
_WAITING = 2_048  # connections that wait to be accepted; beyond, the system may reset some
_AT_ONCE = 16  # connections that are accepted before those too many are closed
_FILES = 4_096  # open files that are asked of the system


def packages() -> Any:
    """The package uvicorn; refused if it, or starlette, is not installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise NotAvailable(
            f"a collector needs the package {error.name}: pip install 'ldpstats[collect]'"
        ) from None
    return uvicorn


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise InvalidArgument("port", port, "must be a whole number from 0 to 65535")
    if not isinstance(host, str) or not host.strip():
        raise InvalidArgument("host", host, "must be a name or an address, such as 127.0.0.1")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except (OSError, UnicodeError) as error:
        # Why, without the address, which the system's own text may repeat
        reason = (getattr(error, "strerror", None) or type(error).__name__).partition(" (while")[0]
        remedy = f"cannot listen ({reason}): name another host or port"
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            remedy = "another program listens there: name another port, or 0 for any that is free"
        raise InvalidArgument("host and port", f"{host}:{port}", remedy) from None


def server(app: Any, seconds: int, connections: int) -> Any:
    """A server of an application, which `run(sockets=)` starts and `should_exit` stops."""
    # A request has `seconds` to arrive. Connections have half the files that the process may open
    # at most: the others are for the disk.
    uvicorn, open_files = packages(), _FILES
    with suppress(ImportError):  # on Windows sockets do not count as files
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < _FILES:
            wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    config = uvicorn.Config(
        app,
        http=_protocol(seconds + _MORE, min(connections, open_files // 2)),
        backlog=_AT_ONCE,
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    running = uvicorn.Server(config)
    begin = running.startup

    async def startup(sockets: Any = None) -> None:
        await begin(sockets)
        for listener in sockets or ():  # asyncio lets as many wait as it accepts at once
            listener.listen(_WAITING)

    running.startup = startup
    return running


def _protocol(seconds: float, most: int) -> Any:
    """The protocol of uvicorn, which drops idle connections, and those beyond `most`."""
    # not httptools, which would be faster: it reads heads of any length
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """A connection that makes no new request for `seconds` is dropped."""

        _alarm: asyncio.TimerHandle | None = None
        _seen: Any = None  # the request of the last look

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()
            self._alarm = self.loop.call_later(seconds, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._alarm is not None:
                self._alarm.cancel()
            super().connection_lost(exc)

        def _look(self) -> None:
            if self.cycle is self._seen:
                self.transport.abort()
                return
            self._seen = self.cycle
            self._alarm = self.loop.call_later(seconds, self._look)

    return Protocol


# -- What a collector takes, from all and from one address, at most -------------------------------


MINUTE = 60
_ADDRESSES = 100_000  # that are told apart in a minute; those beyond share one limit
_WITH_PORT = re.compile(r"\[([^]]*)\](?::\d+)?|([0-9.]+):\d+")  # as some proxies write it


@dataclass(frozen=True)
class Limits:
    """Limits of a collector.

    Parameters
    ----------
    per_minute : int
        Sheets that are looked at in a minute, of all senders together.
    per_address : int
        Sheets in a minute from one address; of IPv6, from one network of 64 bits. Respondents
        behind one address, such as a school's, share it.
    requests : int
        Requests that are handled at the same time.
    seconds : int
        How long a request may take to arrive.

    Raises
    ------
    InvalidArgument
        For what is no positive whole number.

    Examples
    --------
    >>> Limits(per_address=600).per_minute
    60000
    """

    per_minute: int = 60_000
    per_address: int = 120
    requests: int = 500
    seconds: int = 20

    def __post_init__(self) -> None:
        for name in ("per_minute", "per_address", "requests", "seconds"):
            object.__setattr__(self, name, positive_integer(name, getattr(self, name)))


@dataclass
class Rates:
    """Counts sheets in the present minute, in memory only: addresses are forgotten with it."""

    limits: Limits
    _minute: int = -1
    _all: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)

    def wait(self, address: str) -> int:
        """Count a sheet; seconds until there is room for it, 0 where there is now."""
        now = self.turn()
        place = network(address)
        if place not in self._by_address and len(self._by_address) >= _ADDRESSES:
            place = ""
        own = self._by_address[place]
        if self._all >= self.limits.per_minute or own >= self.limits.per_address:
            return max(ceil(MINUTE - now % MINUTE), 1)
        self._all += 1
        self._by_address[place] = own + 1
        return 0

    def turn(self) -> float:
        """Forget what was counted in a minute that is over; the time."""
        now = time.monotonic()
        if int(now // MINUTE) != self._minute:
            self._minute, self._all = int(now // MINUTE), 0
            self._by_address.clear()
        return now

    async def forget(self) -> None:
        """Forget addresses at each turn of the minute, also where no other sheet comes."""
        while True:
            await asyncio.sleep(MINUTE - time.monotonic() % MINUTE + 0.1)
            self.turn()


def network(address: str) -> str:
    """The address that a limit is for: whole of IPv4, the first 64 bits of IPv6; without a port."""
    plain = address.strip()
    if port := _WITH_PORT.fullmatch(plain):
        plain = port[1] or port[2]
    try:
        parsed = ip_address(plain.partition("%")[0])
    except ValueError:
        return ""
    if parsed.version == 4:
        return str(parsed)
    return str(parsed.ipv4_mapped or int(parsed) >> 64)
