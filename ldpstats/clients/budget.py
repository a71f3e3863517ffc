"""How many reports a device may make."""

from __future__ import annotations

from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.state import StateFile
from ldpstats.errors import BudgetSpent, InvalidArgument, MechanismMismatch, NotAvailable, shorten

__all__ = ["Budget", "check_state", "opened_budget"]

_FORMAT, _VERSION = "ldpstats-client", 1


class Budget(portable.Budget):
    """Reports that may be made, and those that were; with the errors of the package."""

    def spent(self, left: int) -> BudgetSpent:
        return BudgetSpent(
            f"reports={self.limit}: {'all were made' if not left else f'{left} are left'}; "
            "each report spends epsilon once more. client(reports=...) sets how many a "
            "respondent may make, collector() is for the answers of many respondents"
        )

    def elsewhere(self) -> NotAvailable:
        return NotAvailable(
            "this client was made in another process, which counts its reports in its own "
            "memory: make it where it is used, or pass state= to count in a file"
        )

    def within(self) -> NotAvailable:
        return NotAvailable("a report of this client is being made: not from within it")


def opened_budget(reports: int | None, state: object, fingerprint: str) -> Budget:
    """The budget of a client, in its file where it has one."""
    limit = None if reports is None else positive_integer("reports", reports)
    if state is None:
        return Budget(limit)
    file = StateFile(state)
    head = {"format": _FORMAT, "version": _VERSION}
    document, made = file.opened(lambda: head | {"fingerprint": fingerprint})
    check_state(document, head, fingerprint, file.path)
    return Budget(limit, file, document, made)


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
