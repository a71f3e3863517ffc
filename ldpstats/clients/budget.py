"""How many reports a device may make."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ldpstats.arguments.checks import positive_integer
from ldpstats.clients.state import StateFile
from ldpstats.errors import BudgetSpent, InvalidArgument, MechanismMismatch, NotAvailable, shorten

__all__ = ["Budget", "FileBudget", "MemoryBudget", "check_state", "opened_budget"]

T = TypeVar("T")

_FORMAT, _VERSION = "ldpstats-client", 1


class Budget(ABC):
    """Reports that may be made, and those that were."""

    limit: int | None  # None is no limit
    before: int  # reports that were made before this one was opened

    @property
    def total(self) -> float:
        """Reports that are made in all, before and at most; inf without a limit."""
        return float("inf") if self.limit is None else max(self.limit, self.before)

    @abstractmethod
    def spend(self, draw: Callable[[], T], reports: Callable[[T], int]) -> T:
        """What `draw` returns, once the number of `reports` in it is counted.

        Nothing is given out that is not counted; where `draw` fails nothing is.
        """

    def _check(self, made: int, more: int) -> None:
        if self.limit is not None and made + more > self.limit:
            left = max(self.limit - made, 0)
            raise BudgetSpent(
                f"reports={self.limit}: {'all were made' if not left else f'{left} are left'}; "
                "each report spends epsilon once more. client(reports=...) sets how many a "
                "respondent may make, collector() is for the answers of many respondents"
            )


@dataclass(eq=False)
class MemoryBudget(Budget):
    """Counts in the memory of one process, among its threads."""

    limit: int | None
    made: int = 0
    before = 0
    # a thread that reports while it reports finds, after the inner report, that one was made
    _lock: Any = field(default_factory=threading.RLock, repr=False)
    _process: int = field(default_factory=os.getpid, repr=False)

    def spend(self, draw: Callable[[], T], reports: Callable[[T], int]) -> T:
        if self.limit is None:
            return draw()
        if os.getpid() != self._process:
            raise NotAvailable(
                "this client was made in another process, which counts its reports in its own "
                "memory: make it where it is used, or pass state= to count in a file"
            )
        with self._lock:
            self._check(self.made, 1)
            found = draw()
            more = reports(found)
            self._check(self.made, more)
            self.made += more
            return found


@dataclass(frozen=True, eq=False)
class FileBudget(Budget):
    """Counts in a file, among all processes that use it."""

    limit: int | None
    file: StateFile
    document: dict[str, Any] = field(repr=False)  # that was in the file when it was opened
    before: int
    _busy: set[tuple[int, int]] = field(default_factory=set, repr=False)  # processes and threads

    def spend(self, draw: Callable[[], T], reports: Callable[[T], int]) -> T:
        with self._alone(), self.file.counting(self.document) as (made, mark):
            self._check(made, 1)
            found = draw()
            more = reports(found)
            self._check(made, more)
            mark(more)
            return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a report within a report of the same thread, which would wait for itself."""
        me = os.getpid(), threading.get_ident()
        if me in self._busy:
            raise NotAvailable("a report of this client is being made: not from within it")
        self._busy.add(me)
        try:
            yield
        finally:
            self._busy.discard(me)


def opened_budget(reports: int | None, state: object, fingerprint: str) -> Budget:
    """The budget of a client, in its file where it has one."""
    limit = None if reports is None else positive_integer("reports", reports)
    if state is None:
        return MemoryBudget(limit)
    file = StateFile.at(state)
    head = {"format": _FORMAT, "version": _VERSION}
    document, made = file.opened(lambda: head | {"fingerprint": fingerprint})
    check_state(document, head, fingerprint, str(file.path))
    return FileBudget(limit, file, document, made)


def check_state(
    document: dict[str, Any], head: dict[str, Any], fingerprint: str, path: str
) -> None:
    """Refuse a state of another format, version or mechanism; `head` has the first two."""
    found = {name: document.get(name) for name in head}
    if repr(found) != repr(head):
        remedy = f'must have "format": "{head["format"]}", "version": {head["version"]}'
        raise InvalidArgument("state", path, f"{remedy}: it is of another client")
    if repr(document.get("fingerprint")) != repr(fingerprint):
        raise MechanismMismatch(
            f"state={path!r} is of a client with fingerprint "
            f"{shorten(document.get('fingerprint'))}, not {fingerprint!r}: a client keeps its "
            "parameters; another mechanism needs another file"
        )
