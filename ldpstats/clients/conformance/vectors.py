"""Test vectors: client documents, random bytes, answers, and the reports that come of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ldpstats.clients.conformance.random_draws import DRAWS
from ldpstats.errors import InvalidArgument

__all__ = ["Vector", "chosen", "kinds", "stored_vectors"]


@dataclass(frozen=True)
class Vector:
    """What one client is given, and what it must answer.

    Parameters
    ----------
    name : str
        Its name.
    request : dict
        The line of section 11, without `id`.
    expected : dict
        What comes back, without `id`.
    """

    name: str
    request: Mapping[str, Any]
    expected: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of draw of its document, or what stands for it."""
        return kinds(self.request["client"])[0]


def kinds(document: Any) -> list[str]:
    """The kinds of draw of a client document, the outermost first; "questionnaire" is one."""
    found = ["questionnaire"] if isinstance(document, dict) and "questions" in document else []
    found += _inner(document)
    return list(dict.fromkeys(found)) or ["other"]


def _inner(part: Any) -> list[str]:
    if isinstance(part, list):
        return [kind for one in part for kind in _inner(one)]
    if not isinstance(part, dict):
        return []
    draw = part.get("draw")
    own = draw.get("kind") if isinstance(draw, dict) else None
    found = [own] if own in DRAWS else []
    return found + [kind for one in part.values() for kind in _inner(one)]


@cache
def stored_vectors() -> tuple[Vector, ...]:
    """The vectors that come with the package."""
    stored = json.loads(files("ldpstats.clients").joinpath("vectors.json").read_bytes())
    return tuple(_vector(one, stored["clients"]) for one in stored["vectors"])


def _vector(stored: dict[str, Any], clients: dict[str, Any]) -> Vector:
    request = {name: value for name, value in stored.items() if name not in ("name", "expected")}
    if isinstance(request["client"], str):
        request["client"] = clients[request["client"]]
    return Vector(stored["name"], request, stored["expected"])


def chosen(vectors: Iterable[Vector], only: Sequence[str]) -> tuple[Vector, ...]:
    """Those that have one of the names, or a draw of one of the kinds; all where there is none.

    Raises
    ------
    InvalidArgument
        For a name that no vector and no draw has.
    """
    known = [(one, {one.name, *kinds(one.request["client"])}) for one in vectors]
    for name in only:
        if not any(name in names for _, names in known):
            every = {kind for one, _ in known for kind in kinds(one.request["client"])}
            remedy = f"is no name of a vector and no kind of draw: {', '.join(sorted(every))}"
            raise InvalidArgument("--only", name, remedy)
    return tuple(one for one, names in known if not only or names & set(only))
