"""What a sheet of a survey is: the JSON that a device sends, checked field by field.

A sheet is checked against the client document of its questionnaire (`clients/SPECIFICATION.md`), in
plain Python and before anything else is done with it. What no client can have sent is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from ldpstats.clients.portable.ldpstats_client import Refused, invitation_code
from ldpstats.collector.invitations import Invitations
from ldpstats.collector.reports import Shape, shape_of
from ldpstats.collector.store import Sent

__all__ = ["Checks", "NotASheet"]

FORMAT, WITHDRAWAL, VERSION = "ldpstats-sheet", "ldpstats-withdrawal", 1
_FIELDS = ("format", "version", "survey", "token", "sheet")
_TOKEN = re.compile("[0-9a-fA-F]{32}")
_FRAME = 1_000  # bytes of a sheet beside its questions and reports, with room for spaces
_OUTDATED = (
    "these are reports to another questionnaire, or this page is outdated: load the page again, or "
    "fetch the collector's client document"
)


class NotASheet(Exception):
    """What was sent is no sheet of this survey: `status` of HTTP, and why, without its content.

    `reason` is "code" where its invitation is.
    """

    def __init__(self, why: str, status: int = 400, reason: str = "") -> None:
        super().__init__(why)
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class _Item:
    """A question, as a collector sees it."""

    name: str
    shape: Shape
    private: bool
    always: bool  # whether a missing answer has a report too


@dataclass(frozen=True)
class Checks:
    """Reads the sheets of one survey.

    Attributes
    ----------
    survey : str
        The fingerprint of the questionnaire.
    ask : int or None
        How many private questions each respondent is asked.
    invitations : Invitations, optional
        The codes with which sheets are taken; anybody's are if it is None.
    """

    survey: str
    ask: int | None
    items: tuple[_Item, ...]
    invitations: Invitations | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any], invitations: Invitations | None = None) -> Checks:
        """Those of a questionnaire's client document."""
        items = tuple(
            _Item(q["name"], shape_of(q["reports"], q["draw"]), q["private"], "refused" in q)
            for q in document["questions"]
        )
        return cls(document["survey"], document["ask"], items, invitations)

    @cached_property
    def largest(self) -> int:
        """Bytes of the longest sheet, every character escaped, twice over."""
        reports = sum(len(json.dumps(item.name)) + item.shape.longest + 2 for item in self.items)
        return 2 * (reports + _FRAME)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(item.name for item in self.items)

    def read(self, body: bytes) -> Sent:
        """The token of a sheet, and its reports as JSON, in the order of the questions.

        Where sheets are taken by invitation, the hash of the code too.

        Raises
        ------
        NotASheet
            For anything else.
        """
        sent = _object(_json(body), "the message")
        if sent.get("format") != FORMAT or not _is(sent.get("version"), VERSION):
            raise NotASheet(f'must be an object of format "{FORMAT}", version {VERSION}')
        if not isinstance(sent.get("survey"), str):
            raise NotASheet("survey: must be the fingerprint of the questionnaire")
        if sent["survey"] != self.survey:
            raise NotASheet(_OUTDATED, 409)
        code = sent.pop("invitation", None) if self.invitations is not None else None
        if "invitation" in sent:
            raise NotASheet("invitation: this survey takes sheets without: leave the field out")
        if set(sent) != set(_FIELDS):
            raise NotASheet(f"must have the fields {', '.join(_FIELDS)}, and no others")
        token = sent["token"]
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise NotASheet("token: must be 32 hexadecimal digits")
        known = None if self.invitations is None else _known(self.invitations, code)
        reports = self._reports(_object(sent["sheet"], "sheet"))
        text = json.dumps(reports, separators=(",", ":"))
        taken = bytes.fromhex(token), text
        return taken if known is None else (*taken, known)

    def withdrawal(self, body: bytes) -> None:
        """Whether a page says that its reports were deleted.

        Raises
        ------
        NotASheet
            For anything else.
        """
        sent = _object(_json(body), "the message")
        expected = {"format": WITHDRAWAL, "version": VERSION, "survey": self.survey}
        if sent.get("format") == WITHDRAWAL and sent.get("survey") != self.survey:
            raise NotASheet(_OUTDATED, 409)
        if sent != expected or not _is(sent["version"], VERSION):
            raise NotASheet(f'must be an object of format "{WITHDRAWAL}", version and survey')

    def _reports(self, sheet: dict[str, Any]) -> list[Any]:
        """The reports of a sheet, in the order of the questions."""
        if sheet.keys() != self._names:
            raise NotASheet("sheet: must have a report, or null, for every question, and no other")
        found = []
        for item in self.items:
            report = sheet[item.name]
            if report is not None and not item.shape.fits(report):
                raise NotASheet(f"sheet: the report to {item.name!r} is none of its mechanism")
            found.append(report)
        self._check_asked(found)
        return found

    def _check_asked(self, reports: list[Any]) -> None:
        """Refuse sheets that were asked other questions than any respondent is."""
        asked = missing = private = 0
        for item, report in zip(self.items, reports, strict=True):
            private += item.private
            asked += item.private and report is not None
            missing += item.private and report is None and not item.always
        ask = private if self.ask is None else self.ask
        if not asked <= ask <= asked + missing:
            raise NotASheet(f"sheet: {ask} private questions are asked, not as many as here")


def _known(invitations: Invitations, given: object) -> bytes:
    """The hash of an invitation's code."""
    compare = "compare it with the one that you were given"
    if given is None:
        raise NotASheet("invitation: this survey takes sheets with a code only", 403, "code")
    try:
        found = invitations.find(invitation_code(given))
    except Refused:
        raise NotASheet(f"invitation: a typing error in the code: {compare}", 403, "code") from None
    if found is None:
        raise NotASheet(f"invitation: no code of this survey: {compare}", 403, "code")
    return found


def _is(value: object, number: int) -> bool:
    return type(value) is int and value == number


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotASheet(f"{what}: must be an object")
    return value


def _json(body: bytes) -> object:
    """JSON in UTF-8, strictly: no field twice, no NaN, no number that only some programs read."""
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_fields, parse_constant=_no_number
        )
    except NotASheet:
        raise
    except (ValueError, RecursionError):  # json.JSONDecodeError and UnicodeDecodeError among them
        raise NotASheet("must be JSON in UTF-8") from None


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NotASheet("must not have a field twice")
    return made


def _no_number(text: str) -> NoReturn:
    raise NotASheet("must not have numbers that are not finite")
