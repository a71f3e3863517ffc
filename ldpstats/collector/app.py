"""The collector's answers to HTTP requests.

Nothing that a request says about its sender is stored or logged. No answer shows a traceback, or
more about the sheets than how many are in files.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ldpstats.collector.checks import Checks, NotASheet
from ldpstats.collector.intake import Intake, NotTaken
from ldpstats.collector.limits import Limits, Rates
from ldpstats.collector.store import DiskFailure
from ldpstats.collector.withdrawals import Withdrawals

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    Answer = Callable[[Request], Awaitable[Response]]

__all__ = ["Desk", "application"]

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PLACES = {404: "no such page", 405: "no such method for this page"}
_ONE_TOO_MANY = {
    "spent": "invitation: another sheet came with this code, which takes one",
    "complete": "this survey is complete: no more sheets are taken",
}
_FULL = "sheets cannot be kept at the moment: try again later"


class Refused(Exception):
    """An answer that is an error: its status and text, seconds to wait, and a reason, if any."""

    def __init__(self, status: int, text: str, wait: int = 0, reason: str = "") -> None:
        super().__init__(text)
        self.status, self.text, self.wait, self.reason = status, text, wait, reason


@dataclass
class Desk:
    """What a request needs to be answered.

    Attributes
    ----------
    checks, intake, limits
        What a sheet is, where it goes, and how many are taken.
    page : bytes
        The questionnaire as a page.
    client : bytes
        The client document as JSON.
    withdrawals : Withdrawals
        How many reports were deleted after they had been shown.
    origins : sequence of str
        Origins of other pages that may send sheets; "null" for pages opened from a disk.
    behind_proxy : bool
        Whether the address of a sender is the last one of X-Forwarded-For.
    """

    checks: Checks
    intake: Intake
    limits: Limits
    page: bytes
    client: bytes
    withdrawals: Withdrawals
    origins: Sequence[str] = ()
    behind_proxy: bool = False
    _dealing: int = 0
    rates: Rates = field(init=False)

    def __post_init__(self) -> None:
        self.rates = Rates(self.limits)

    # -- sheets --------------------------------------------------------------------------------

    async def sheets(self, request: Request) -> Response:
        """POST /sheets, and OPTIONS, by which a browser asks whether it may."""
        return await (self.preflight if request.method == "OPTIONS" else self.take)(request)

    async def take(self, request: Request) -> Response:
        """Keep a sheet."""
        if self._dealing >= self.limits.requests:
            raise Refused(503, "too many requests at the moment: try again later", 1)
        self._dealing += 1
        try:
            self._check_sender(request)
            body = await self._body(request)
            try:
                sheet = self.checks.read(body)
            except NotASheet as error:
                raise Refused(error.status, str(error), reason=error.reason) from None
            try:
                await self.intake.take(sheet)
            except NotTaken as error:
                text = _ONE_TOO_MANY[error.reason]
                raise Refused(403, text, reason=error.reason) from None
            except DiskFailure:
                raise Refused(503, _FULL, 30) from None
        finally:
            self._dealing -= 1
        return self._answer(request, {"accepted": True})

    async def withdrawn(self, request: Request) -> Response:
        """POST /withdrawn: somebody deleted reports that a page had shown; OPTIONS as of sheets."""
        if request.method == "OPTIONS":
            return await self.preflight(request)
        self._check_sender(request)
        try:
            self.checks.withdrawal(await self._body(request))
        except NotASheet as error:
            raise Refused(error.status, str(error)) from None
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.withdrawals.add)
        except DiskFailure:
            raise Refused(503, _FULL, 30) from None
        return self._answer(request, {"accepted": True})

    def _check_sender(self, request: Request) -> None:
        self._check_origin(request)
        given = request.headers.get("content-type", "").partition(";")[0]
        if given.strip().lower() != "application/json":
            raise Refused(415, "the content type must be application/json")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Refused(415, "the content must not be compressed")
        wait = self.rates.wait(self._address(request))
        if wait:
            raise Refused(429, "too many sheets in this minute: try again later", wait)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is not None and not self._allowed(origin, request):
            raise Refused(403, "pages of this origin may not send sheets here")

    def _allowed(self, origin: str, request: Request) -> bool:
        """Whether a browser's page may send sheets: the collector's own, or one that is listed."""
        # what a browser says of its page, whatever a proxy made of the host
        if origin in self.origins or request.headers.get("sec-fetch-site") == "same-origin":
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host != "" and host == request.headers.get("host")

    def _address(self, request: Request) -> str:
        """Whose limit a request counts for; it is not kept."""
        if self.behind_proxy:
            # some proxies append to the header, others add another one
            return ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2]
        return "" if request.client is None else request.client.host

    async def _body(self, request: Request) -> bytes:
        """The body of a request, if it is short and arrives in time."""
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            raise Refused(400, "the content length is no number")
        self._check_size(int(length))
        from starlette.requests import ClientDisconnect

        found = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for part in request.stream():
                    self._check_size(len(found) + len(part))
                    found += part
        except TimeoutError:
            raise Refused(408, "the request did not arrive in time: try again") from None
        except ClientDisconnect:
            raise Refused(400, "the request was cut off") from None
        return bytes(found)

    def _check_size(self, size: int) -> None:
        if size > self.checks.largest:
            raise Refused(413, f"must have {self.checks.largest} bytes at most")

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

    async def show_page(self, request: Request) -> Response:
        """GET /."""
        return _response(self.page, 200, "text/html; charset=utf-8")

    async def show_client(self, request: Request) -> Response:
        """GET /client.json."""
        return _response(self.client, 200, "application/json")

    async def health(self, request: Request) -> Response:
        """GET /health: whether sheets can be kept, and files are as they were written.

        The status is about the first alone.
        """
        store = self.intake.store
        loop = asyncio.get_running_loop()
        shortage = await loop.run_in_executor(None, store.shortage, self.checks.largest)
        errors = [
            text
            for text, wrong in (
                ("sheets cannot be written to the disk", store.failing),
                ("files of sheets cannot be written; sheets wait", store.stuck),
                (shortage, shortage),
            )
            if wrong
        ]
        status = 503 if errors else 200
        errors += [f"{name}: {why}" for name, why in sorted(store.faults.items())]
        return self._answer(request, {"healthy": not errors, "errors": errors}, status)

    async def counts(self, request: Request) -> Response:
        """GET /counts: sheets in files, and reports that were deleted, in steps.

        Sheets that wait are not counted: a count that grows with each sheet would tell when each
        came.
        """
        found = {"survey": self.checks.survey, "sheets": self.intake.store.stored}
        found["withdrawn"] = self.withdrawals.shown
        return self._answer(request, found)

    # -- answers -------------------------------------------------------------------------------

    async def refuse(self, request: Request, error: Exception) -> Response:
        """The answer to what was refused, or failed."""
        content: dict[str, Any] = {"accepted": False}
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
            _say_error(error)
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


def _say_error(error: BaseException | None) -> None:
    """What kind of error there was, in one line: its text may show what was sent."""
    print(f"ldpstats: error: {type(error).__name__}", file=sys.stderr, flush=True)


def _say_kind(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What an event loop calls where nobody catches an error."""
    _say_error(context.get("exception"))


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
        asyncio.get_running_loop().set_exception_handler(_say_kind)
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

    answers: list[tuple[str, Answer, list[str]]] = [
        ("/", desk.show_page, ["GET"]),
        ("/client.json", desk.show_client, ["GET"]),
        ("/health", desk.health, ["GET"]),
        ("/counts", desk.counts, ["GET"]),
        ("/sheets", desk.sheets, ["POST", "OPTIONS"]),
        ("/withdrawn", desk.withdrawn, ["POST", "OPTIONS"]),
    ]
    routes = [Route(path, guarded(answer), methods=methods) for path, answer, methods in answers]
    handlers: Any = {HTTPException: desk.refuse}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app
