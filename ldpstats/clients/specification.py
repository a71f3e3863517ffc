"""Specifications: what respondents and the collector share, as plain JSON types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument

__all__ = ["Specified", "check_fingerprint", "check_format"]


class Specified(ABC):
    """What can be written as a specification; two are equal when their specifications are."""

    @abstractmethod
    def _specification(self) -> dict[str, Any]:
        """The specification without its fingerprint, in JSON types."""

    def to_dict(self) -> dict[str, Any]:
        """Specification as plain JSON types, to ship with the reports; it holds no answer.

        It carries its own fingerprint, which reading checks: against accidents, not forgers, who
        would compute another.
        """
        return self._specification() | {"fingerprint": self.fingerprint}

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that differ whenever two specifications do (SHA-256)."""
        return portable.fingerprint(self._specification())

    def __getstate__(self) -> dict[str, Any]:
        """All but the draw of a device, which has functions that are not pickled."""
        return {name: value for name, value in vars(self).items() if name != "_device"}

    def __eq__(self, other: object) -> bool:
        if self is other:  # fingerprints take long where Q is large
            return True
        return isinstance(other, Specified) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def check_format(document: object, name: str) -> dict[str, Any]:
    """Refuse a document that is not a specification of this format."""
    # a format that is an array is unequal entry by entry
    if not isinstance(document, dict) or repr(document.get("format")) != repr(name):
        remedy = f'must be an object with "format": "{name}"'
        raise InvalidArgument("specification", document, remedy)
    return document


def check_fingerprint(
    document: dict[str, Any],
    fingerprint: str,
    what: str = "specification",
    how: str = "to_dict() or --write-spec",
) -> None:
    """Refuse a specification, or what else a document is, without its own fingerprint.

    `how` says what writes it anew.
    """
    if "fingerprint" not in document:
        raise InvalidArgument(
            "fingerprint",
            None,
            f"is missing from the {what}: write it again, with {how}; or "
            f'add "fingerprint": "{fingerprint}" if all of its fields are right',
        )
    if repr(document["fingerprint"]) != repr(fingerprint):
        raise InvalidArgument(
            "fingerprint",
            document["fingerprint"],
            f"is not that of the other fields, {fingerprint}: the {what} was changed or "
            "damaged; get it anew, or write it anew if the change is meant",
        )
