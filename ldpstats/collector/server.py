"""The server of HTTP: connections that say nothing are closed, and signals end it in order."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["listening", "packages", "server", "stopping"]

_GRACE = 30  # seconds for requests that have begun when it is told to stop
_MORE = 10  # seconds that a connection has beyond those of its request
_WAITING = 2_048  # connections that wait to be accepted; beyond, the system may reset some
_AT_ONCE = 16  # connections that are accepted before those too many are closed
_FILES = 4_096  # open files that are asked of the system


def packages() -> Any:
    """The package uvicorn.

    Raises
    ------
    NotAvailable
        If it, or starlette, is not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise NotAvailable(
            f"a collector needs the package {error.name}: pip install 'ldpstats[collect]'"
        ) from None
    return uvicorn


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises
    ------
    InvalidArgument
        If nothing can listen there.
    """
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise InvalidArgument("port", port, "must be a whole number from 0 to 65535")
    if not isinstance(host, str) or not host.strip():
        raise InvalidArgument("host", host, "must be a name or an address, such as 127.0.0.1")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except (OSError, UnicodeError) as error:
        raise InvalidArgument("host and port", f"{host}:{port}", _why_not(error)) from None


def _why_not(error: Exception) -> str:
    """Why nothing can listen, without the address, which the system's own text may repeat."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return "another program listens there: name another port, or 0 for any that is free"
    reason = getattr(error, "strerror", None) or type(error).__name__
    return f"cannot listen ({reason.partition(' (while')[0]}): name another host or port"


def server(app: Any, seconds: int, connections: int) -> Any:
    """A server of an application, which `run(sockets=)` starts and `should_exit` stops.

    A request has `seconds` to arrive. There are so many connections at most, and no more than half
    the files that the process may open: the others are for the disk.
    """
    uvicorn = packages()
    config = uvicorn.Config(
        app,
        http=_protocol(seconds + _MORE, min(connections, _open_files() // 2)),
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


def _open_files() -> int:
    """How many files this process may open, after asking for enough."""
    try:
        import resource
    except ImportError:  # on Windows, where sockets do not count as files
        return _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _FILES:
        return _FILES
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@contextmanager
def stopping(running: Any) -> Iterator[None]:
    """Let signals stop a server in order: uvicorn raises them again when it has stopped."""

    def stop(*given: object) -> None:
        running.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
