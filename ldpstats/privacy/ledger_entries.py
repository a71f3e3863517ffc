"""Entries of a ledger: what reports of one question in one wave spent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldpstats.arguments.checks import listed, positive_integer, real_number
from ldpstats.arguments.documents import number_to_json
from ldpstats.clients.instrument import Instrument
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.state import StateFile
from ldpstats.errors import InvalidArgument, shorten
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.hashed.rappor import RAPPOR, BooleanRAPPOR
from ldpstats.mechanisms.sensitive.pum import PUM

__all__ = [
    "LedgerFile",
    "Spending",
    "spending_from_dict",
    "spending_of",
    "spendings_of_sheet",
    "unmatched",
]

_KEEPING = (RAPPOR, BooleanRAPPOR)  # whose clients keep permanent responses

_NUMBER = "must be a number of at least 0, in nats; inf is no privacy"


@dataclass(frozen=True)
class Spending:
    """What reports of one question in one wave spent.

    Parameters
    ----------
    question : str
    epsilon : float
        Of one report, in nats; inf for one without protection.
    wave : str
    mechanism : str
        The mechanism, in words; empty if only epsilon is known.
    reports : int
    sensitive : tuple of labels, optional
        The categories that are protected; None for all.
    permanent : str, optional
        Name of the permanent answer that the reports repeat.
    lifetime : float
        Epsilon of any number of reports of that answer, in nats.
    fingerprint : str
        Of the mechanism's specification, if it is known.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ledger = ldp.privacy.Ledger(limit=4.0).spend("job", ldp.KRR(4, epsilon=1.0))
    >>> print(ledger.entries[0])
    Spending(question='job', epsilon=1.0, wave='', mechanism='KRR(k=4, epsilon=1)', reports=1,
    sensitive=None, permanent=None, lifetime=inf, fingerprint='fe845cf30da0')
    """

    question: str
    epsilon: float
    wave: str = ""
    mechanism: str = ""
    reports: int = 1
    sensitive: tuple[Any, ...] | None = None
    permanent: str | None = None
    lifetime: float = np.inf
    fingerprint: str = ""

    def __post_init__(self) -> None:
        for name in ("question", "wave", "mechanism", "fingerprint"):
            object.__setattr__(self, name, _text(name, getattr(self, name), name != "question"))
        if self.permanent is not None:
            object.__setattr__(self, "permanent", _text("permanent", self.permanent, False))
        for name in ("epsilon", "lifetime"):
            value = real_number(name, getattr(self, name), _NUMBER)
            if not value >= 0.0:
                raise InvalidArgument(name, value, _NUMBER)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "reports", positive_integer("reports", self.reports))
        if self.sensitive is not None:
            remedy = "must be a list of labels, or None where all categories are protected"
            labels = listed("sensitive", self.sensitive, remedy)
            if not all(isinstance(label, str | int | float | bool) for label in labels):
                raise InvalidArgument("sensitive", self.sensitive, remedy)
            object.__setattr__(self, "sensitive", tuple(labels))

    @property
    def alone(self) -> float:
        """What it would spend if nothing else had been reported, in nats."""
        return min(self.reports * self.epsilon, self.lifetime)

    @property
    def answer(self) -> tuple[Any, ...]:
        """What identifies a permanent answer: its name, and all that says how it was randomised."""
        made_by = self.mechanism, self.fingerprint, self.epsilon, self.lifetime
        return self.question, self.permanent, *made_by

    def protects(self, category: Any) -> bool:
        """Whether its reports protect a category."""
        if self.sensitive is None:
            return bool(np.isfinite(self.epsilon))
        category = category.item() if isinstance(category, np.generic) else category
        return any(type(label) is type(category) and label == category for label in self.sensitive)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        document = asdict(self)
        if self.sensitive is not None:
            document["sensitive"] = list(self.sensitive)
        return document | {n: number_to_json(document[n]) for n in ("epsilon", "lifetime")}


def spending_of(
    question: str, mechanism: Any, wave: str, reports: int, permanent: str | None
) -> Spending:
    """The entry of reports of a mechanism, or of a number that is their epsilon.

    Of a `PUM`, whose bots stand for the respondent's own categories: those are hers to keep.
    """
    if isinstance(mechanism, PUM):
        mechanism = mechanism.common
    if not isinstance(mechanism, Instrument):
        remedy = f"must be a mechanism, a questionnaire or an epsilon, which {_NUMBER}"
        epsilon = real_number("mechanism", mechanism, remedy)
        if not epsilon >= 0.0:
            raise InvalidArgument("mechanism", mechanism, remedy)
        lifetime = np.inf if permanent is None else epsilon
        return Spending(question, epsilon, wave, "", reports, None, permanent, lifetime)
    epsilon, lifetime = mechanism._spent(), np.inf
    if permanent is not None:
        lifetime = mechanism.lifetime_epsilon if isinstance(mechanism, _KEEPING) else epsilon
    return Spending(
        question,
        epsilon,
        wave,
        str(mechanism),
        reports,
        _protected(mechanism),
        permanent,
        lifetime,
        mechanism.fingerprint,
    )


def spending_from_dict(place: int, document: object) -> Spending:
    """Read an entry of a document."""
    name = f"entries[{place}]"
    fields = set(Spending.__dataclass_fields__)
    if not isinstance(document, dict) or set(document) != fields:
        raise InvalidArgument(name, document, f"must be an object with the fields {sorted(fields)}")
    given = dict(document)
    for number in ("epsilon", "lifetime"):
        if given[number] == "inf":
            given[number] = np.inf
    try:
        return Spending(**given)
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}.{error.name}", shorten(document), error.remedy) from None


@runtime_checkable
class _Sheet(Protocol):
    """What `spendings_of_sheet` needs to know of a questionnaire."""

    @property
    def private(self) -> tuple[str, ...]: ...
    @property
    def ask(self) -> int | None: ...
    @property
    def mechanisms(self) -> Mapping[str, Any]: ...


def spendings_of_sheet(
    questionnaire: Any, wave: str, asked: Iterable[str] | None
) -> list[Spending]:
    """An entry for each private question of a sheet that was asked; by default all were."""
    if not (isinstance(questionnaire, Instrument) and isinstance(questionnaire, _Sheet)):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    private = questionnaire.private
    if asked is None and questionnaire.ask not in (None, len(private)):
        remedy = f"is needed: only {questionnaire.ask} of {len(private)} questions are asked"
        raise InvalidArgument("asked", None, remedy)
    names = list(private) if asked is None else listed("asked", asked, "must be a list of names")
    for i, name in enumerate(names):
        if not isinstance(name, str) or str.__str__(name) not in private or name in names[:i]:
            remedy = f"must be distinct private questions: {', '.join(map(repr, private))}"
            raise InvalidArgument(f"asked[{i}]", name, remedy)
    return [spending_of(name, questionnaire.mechanisms[name], wave, 1, None) for name in names]


class LedgerFile(StateFile):
    """A file of entries that is never rewritten: an object with the limit, then an entry a line."""

    def opened_with(self, entries: tuple[Spending, ...], limit: float | None) -> float | None:
        """Make the file with these if there is none; the limit that holds."""
        head = {"format": "ldpstats-ledger-file", "version": 1, "limit": limit}
        with self._failures():
            if os.path.lexists(self.path) and not os.path.isfile(self.path):
                raise self.refusal("is no regular file: give the name of a file")
            if not os.path.lexists(self.path):
                self._create(_lines([head, *(entry.to_dict() for entry in entries)]))
            found, kept = self._parsed(self._read())
            self.refuse_shared()
        if entries and kept[: len(entries)] != entries:
            raise self.refusal("has other entries: give entries only for a file that is new")
        if limit is not None and found != limit:
            raise self.refusal(f"has the limit {found}: give this one, or none")
        return found

    def entries(self) -> tuple[Spending, ...]:
        """All that are in the file now."""
        with self._failures():
            return self._parsed(self._read())[1]

    @contextmanager
    def growing(self) -> Iterator[tuple[tuple[Spending, ...], Callable[[list[Spending]], None]]]:
        """The entries, and the function that writes more; others wait until the block ends."""
        with self._failures(), open(self.path, "r+b", buffering=0) as file:
            with portable._locked(file.fileno()):
                content = file.read()

                def write(more: list[Spending]) -> None:
                    try:
                        left = _lines(entry.to_dict() for entry in more)
                        while left:
                            left = left[file.write(left) or 0 :]
                        os.fsync(file.fileno())
                    except OSError:
                        file.truncate(len(content))
                        raise

                yield self._parsed(content)[1], write

    def _parsed(self, content: bytes) -> tuple[float | None, tuple[Spending, ...]]:
        """The limit and the entries."""
        try:
            head, *rest = [json.loads(line) for line in content.decode("ascii").splitlines()]
            whole = content.endswith(b"\n") and head["format"] == "ldpstats-ledger-file"
            entries = tuple(spending_from_dict(i, entry) for i, entry in enumerate(rest))
            if whole and repr(head["version"]) == "1":
                return head["limit"], entries
        except (ValueError, TypeError, KeyError, RecursionError):  # of JSON and of entries
            pass
        raise self.refusal("is no file of a ledger, or is damaged: restore it from a copy")


def _lines(documents: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(document) + "\n" for document in documents).encode("ascii")


def unmatched(
    entries: Sequence[Spending], others: Sequence[Spending], repeated: str
) -> list[Spending]:
    """The other ledger's entries that count beside these; `repeated` as in `Ledger.merge`."""
    more, left = [], list(entries)
    for entry in others:
        if entry not in left or repeated == "add":
            more.append(entry)
            continue
        if repeated == "refuse":
            which = f"{entry.question!r} of wave {entry.wave!r}"
            remedy = f"both ledgers have {which}: is that one report?"
            raise InvalidArgument("repeated", repeated, f'{remedy} pass "once" or "add"')
        left.remove(entry)
    return more


def _protected(instrument: Any) -> tuple[Any, ...] | None:
    """Labels of the protected categories; None for all."""
    labels = instrument.sensitive if isinstance(instrument, Mechanism) else None
    return None if labels is None else tuple(labels.tolist())


def _text(name: str, value: object, empty: bool) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise InvalidArgument(name, value, f"must be {'' if empty else 'non-empty '}text")
    return str.__str__(value)
