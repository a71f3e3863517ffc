"""What one respondent has spent over questions and waves, and what the epsilons add up to.

No composition is worse than that of binary randomised response (Kairouz, Oh, Viswanath 2015,
Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5 for epsilons that differ), of which the log
likelihood ratio is a sum of independent ``+-epsilon_i``. Where there are too many sums, each
epsilon is rounded up to a multiple of 2^-16 of the total.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    html_table,
    listed,
    one_of,
    positive_integer,
    probability,
    real_number,
)
from ldpstats.clients.device import (
    Instrument,
    Specified,
    StateFile,
    check_fingerprint,
    check_format,
)
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.documents import number_to_json
from ldpstats.errors import BudgetSpent, InvalidArgument, NotAvailable, shorten
from ldpstats.mechanisms.base import Mechanism, set_fields
from ldpstats.mechanisms.custom import CustomMechanism
from ldpstats.mechanisms.pum import PUM
from ldpstats.mechanisms.rappor import RAPPOR, BooleanRAPPOR
from ldpstats.models.layout import Table, one_line

_FORMAT, _VERSION = "ldpstats-ledger", 1
_FIELDS = {"format", "version", "limit", "entries", "fingerprint"}
_NUMBER = "must be a number of at least 0, in nats; inf is no privacy"

_ROUNDING = 1e-12  # relative, of sums
_MOST_REPORTS = 100_000  # that are composed one by one
_MOST_SUMS = 200_000
_STEPS = 1 << 16  # of the lattice to which epsilons are rounded up where sums are too many
_MOST_ROUNDED = 5000

_MOST_LINES = 40  # of entries in print
_LONGEST = 24  # characters of a name in print
_USUAL = {"permanent": "", "protects": "all"}  # columns that are shown where they are not this


class Ledger(Specified):
    """What one respondent has spent over questions and waves: a record that only ever grows.

    `spend` adds to this ledger, so that what was spent counts whatever becomes of the value that it
    returns. The ledger holds no answer and no report, only which mechanisms ran. Threads may share
    it; processes share one by its `state` file.

    Parameters
    ----------
    entries : sequence of Spending
        As `spend` makes them.
    limit : float, optional
        The largest total epsilon, in nats; `spend` refuses what would exceed it.
    state : path-like, optional
        A file that keeps the ledger. It is made if there is none. If it exists, its entries and its
        limit hold. An entry is on the disk before `spend` returns, and all that use the file spend
        together; it is its user's alone, and one that others may read or change is refused.
        Restoring an older copy of the file gives the budget again. Without a file, the ledger ends
        with the process.

    Raises
    ------
    InvalidArgument
        If an entry is not a Spending, the limit is not positive, or the file is no ledger, has
        another limit, or cannot be used.

    Notes
    -----
    Epsilons add up, over questions too: the total protects her whole row of answers. Where a
    mechanism protects some categories only, the total protects those (MK19, Propositions 1 and 12);
    `table` says which entries do, and `epsilon_of` has the total for one category.

    A permanent answer, which a device randomises once and keeps, is counted once for good under its
    name: reports of one answer by `RAPPOR`, or by ``first >> second``, cost no more than its
    `lifetime_epsilon` (EPK14, Theorem 1), and reports that repeat a stored report of any other
    mechanism no more than the first. An answer that has changed is another permanent answer and
    needs another name. The ledger cannot see that; where answers may have changed between two
    waves, use a name a wave.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ledger = Ledger(limit=2.0)
    >>> _ = ledger.spend("job", ldp.KRR(("cook", "nurse"), epsilon=1.0), wave="2024")
    >>> _ = ledger.spend("ill", ldp.Warner(epsilon=0.5), wave="2024")
    >>> ledger.total, ledger.remaining
    (1.5, 0.5)
    >>> print(ledger)
    Ledger(2 entries; epsilon=1.5 of 2)
    question wave  reports  epsilon  added
         job 2024        1        1      1
         ill 2024        1      0.5    0.5
    """

    def __init__(
        self, entries: Iterable[Spending] = (), limit: float | None = None, state: Any = None
    ) -> None:
        remedy = "must be a sequence of Spending, as spend() makes them"
        given = listed("entries", entries, remedy)
        for i, entry in enumerate(given):
            if not isinstance(entry, Spending):
                raise InvalidArgument(f"entries[{i}]", entry, remedy)
        self._entries, self._limit = tuple(given), _checked_limit(limit)
        self._lock, self._process = threading.RLock(), os.getpid()
        self._file = None if state is None else _LedgerFile(state)
        if self._file is not None:
            self._limit = _checked_limit(self._file.opened_with(self._entries, self._limit))

    @property
    def entries(self) -> tuple[Spending, ...]:
        """All entries, in order: those in the file, where there is one."""
        return self._entries if self._file is None else self._file.entries()

    @property
    def limit(self) -> float | None:
        """The largest total epsilon, in nats; None for no limit."""
        return self._limit

    @property
    def total(self) -> float:
        """Epsilon of all reports together, in nats."""
        return compose([cost for _, cost in _costs(self.entries)])

    @property
    def remaining(self) -> float:
        """What may still be spent, in nats, never below zero; inf without a limit."""
        return np.inf if self.limit is None else max(self.limit - self.total, 0.0)

    def epsilon(self, delta: float = 0.0) -> float:
        """Epsilon of all reports together, in nats, for a delta: tight, and at most the total.

        Parameters
        ----------
        delta : float
            In [0, 1); see `privacy.compose`.

        Raises
        ------
        NotAvailable
            If delta is positive and an entry protects some categories only: the theorems of optimal
            composition do not cover that.

        Examples
        --------
        >>> ledger = Ledger()
        >>> for year in range(2000, 2020):
        ...     _ = ledger.spend("ill", 0.2, wave=str(year))
        >>> round(ledger.total, 12), round(ledger.epsilon(delta=1e-6), 3)
        (4.0, 3.829)
        """
        chance = probability("delta", delta, one=False)
        entries = self.entries
        if chance == 0.0:
            return self.total
        if partial := [entry for entry in entries if entry.sensitive is not None]:
            raise NotAvailable(
                f"delta={delta!r}: {partial[0].question!r} protects some categories only, for "
                "which epsilons add up: use delta=0"
            )
        # reports with independent noise: all reports of a permanent answer are one
        epsilons: list[float] = []
        permanent: dict[Any, float] = {}
        for entry, cost in _costs(entries):
            if entry.permanent is not None:
                permanent[entry.answer] = permanent.get(entry.answer, 0.0) + cost
            elif len(epsilons) + entry.reports > _MOST_REPORTS:
                epsilons.append(cost)
            else:
                epsilons += [entry.epsilon] * entry.reports
        return min(compose([*epsilons, *permanent.values()], chance), self.total)

    def epsilon_of(self, question: str, category: Any) -> float:
        """What reports of one question spent of the protection of one category, in nats.

        Infinite if some mechanism does not protect it, or does not know it.

        Raises
        ------
        InvalidArgument
            If the question has no entries.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ledger = Ledger().spend("job", ldp.URR(("cook", "nurse", "spy"), {"spy"}, 1.0))
        >>> ledger.epsilon_of("job", "spy"), ledger.epsilon_of("job", "cook")
        (1.0, inf)
        """
        costs = _costs(self.entries)
        if not costs:
            raise InvalidArgument("question", question, "has no entries: the ledger is empty")
        name = one_of("question", question, tuple({entry.question: None for entry, _ in costs}))
        about = [(entry, cost) for entry, cost in costs if entry.question == name]
        if not all(entry.protects(category) for entry, _ in about):
            return np.inf
        return compose([cost for _, cost in about])

    def by(self, what: str = "question") -> pd.Series[float]:
        """Epsilon by "question", "wave" or "mechanism", in nats; the sum is the total."""
        column = one_of("what", what, ("question", "wave", "mechanism"))
        spent: dict[str, list[float]] = {}
        for entry, cost in _costs(self.entries):
            spent.setdefault(getattr(entry, column), []).append(cost)
        values = [compose(costs) for costs in spent.values()]
        return pd.Series(values, pd.Index(list(spent), name=column), name="epsilon", dtype=float)

    def table(self) -> pd.DataFrame:
        """A row an entry, with what it would spend alone and what it added to the total."""
        return Table(_entries_table(self.entries))

    # -- spending ----------------------------------------------------------------------------

    def spend(
        self,
        question: str,
        mechanism: Any,
        wave: str = "",
        *,
        reports: int = 1,
        permanent: str | None = None,
    ) -> Self:
        """Add an entry to this ledger.

        Parameters
        ----------
        question : str
        mechanism : Mechanism, PUM, DictionarySurvey, Questionnaire, or float
            What made the report; or its epsilon, in nats.
        wave : str
            When, for example "2024".
        reports : int
            How many reports.
        permanent : str, optional
            A name for the permanent answer that the reports repeat, such as "first address". It
            must not say what the answer is. Under the same name, question and mechanism it is paid
            for once: a lifetime of `RAPPOR` and of ``first >> second``, whose first step the device
            keeps; or one report of another mechanism, which is sent again.

        Returns
        -------
        Ledger
            This ledger.

        Raises
        ------
        BudgetSpent
            If the total would exceed the limit; then nothing is added.
        InvalidArgument
            If `mechanism` is neither a mechanism nor an epsilon, or another argument is invalid; if
            the state file cannot be used; or, without a file, in a forked process.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> rappor = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
        >>> ledger = Ledger()
        >>> for day in range(100):
        ...     _ = ledger.spend("url", rappor, wave=f"day {day}", permanent="home page")
        >>> round(ledger.total, 3), round(100 * rappor.epsilon, 1)
        (4.394, 107.4)
        """
        return self._add([_spending_of(question, mechanism, wave, reports, permanent)])

    def spend_sheet(
        self, questionnaire: Any, wave: str = "", asked: Iterable[str] | None = None
    ) -> Self:
        """Add the private questions of an answer sheet to this ledger, an entry each.

        All are added or none; otherwise as `spend`.

        Parameters
        ----------
        questionnaire : Questionnaire
        wave : str
            By default that of the questionnaire.
        asked : sequence of str, optional
            The questions that she was asked. By default all; needed where the questionnaire draws
            some of them.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> sheet = ldp.Questionnaire({"job": ldp.KRR(3, 1.0), "ill": ldp.Warner(epsilon=0.5)})
        >>> Ledger().spend_sheet(sheet, wave="2024").by().to_dict()
        {'job': 1.0, 'ill': 0.5}

        The sheets of waves are drawn anew, so each costs its epsilon:

        >>> ledger = Ledger(limit=3.0)
        >>> for year in ("2024", "2025"):
        ...     _ = ledger.spend_sheet(sheet.in_wave(year))
        >>> ledger.by("wave").to_dict(), ledger.remaining
        ({'2024': 1.5, '2025': 1.5}, 0.0)
        """
        is_sheet = all(hasattr(questionnaire, name) for name in ("private", "ask", "mechanisms"))
        if not (isinstance(questionnaire, Instrument) and is_sheet):
            raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
        sheet: Any = questionnaire
        private, mechanisms = sheet.private, sheet.mechanisms
        if not isinstance(wave, str):
            raise InvalidArgument("wave", wave, "must be text")
        if wave and sheet.wave not in (None, wave):
            remedy = f"the questionnaire is of wave {sheet.wave!r}: pass questionnaire.in_wave(...)"
            raise InvalidArgument("wave", wave, remedy)
        wave = wave or sheet.wave or ""
        if asked is None and sheet.ask not in (None, len(private)):
            remedy = f"is needed: only {sheet.ask} of {len(private)} questions are asked"
            raise InvalidArgument("asked", None, remedy)
        names = (
            list(private) if asked is None else listed("asked", asked, "must be a list of names")
        )
        for i, name in enumerate(names):
            if not isinstance(name, str) or str.__str__(name) not in private or name in names[:i]:
                remedy = f"must be distinct private questions: {', '.join(map(repr, private))}"
                raise InvalidArgument(f"asked[{i}]", name, remedy)
        return self._add([_spending_of(name, mechanisms[name], wave, 1, None) for name in names])

    def _add(self, more: list[Spending]) -> Self:
        with self._lock:
            if self._file is not None:
                with self._file.growing() as (spent, write):
                    self._check(spent, more)
                    write(more)
                return self
            if os.getpid() != self._process:
                remedy = "name a file: a ledger in memory does not see what other processes spend"
                raise InvalidArgument("state", None, remedy)
            self._check(self._entries, more)
            self._entries = (*self._entries, *more)
        return self

    def _check(self, spent: tuple[Spending, ...], more: list[Spending]) -> None:
        """Refuse what would exceed the limit."""
        if self.limit is None:
            return
        costs = [cost for _, cost in _costs((*spent, *more))]
        before, after = compose(costs[: len(spent)]), compose(costs)
        if after > self.limit * (1.0 + _ROUNDING):
            names = ", ".join(repr(entry.question) for entry in more)
            left = max(self.limit - before, 0.0)
            raise BudgetSpent(
                f"question={names}: would spend {after - before:.6g}, and {left:.6g} of "
                f"epsilon={self.limit:.6g} remain. Ask less, "
                "or with a smaller epsilon; a new Ledger(entries, limit) has another limit"
            )

    def merge(self, other: Ledger, repeated: str = "refuse") -> Ledger:
        """A new ledger, in memory, with the entries of two and the smaller of their limits.

        Both are of one respondent, and stay as they are. If they exceed the limit together nothing
        remains, but that is no error.

        Parameters
        ----------
        other : Ledger
        repeated : {"refuse", "once", "add"}
            What to do with entries that are in both: the same report, noted twice, counts "once";
            another report of the same kind is to "add".

        Raises
        ------
        InvalidArgument
            If `other` is not a Ledger, or both have an entry and `repeated` is "refuse".

        Examples
        --------
        >>> first, second = Ledger().spend("ill", 0.5, "2023"), Ledger().spend("ill", 0.5, "2024")
        >>> first.merge(second).total
        1.0
        """
        if not isinstance(other, Ledger):
            raise InvalidArgument("other", other, "must be a Ledger")
        choice = one_of("repeated", repeated, ("refuse", "once", "add"))
        entries, more = self.entries, []
        unmatched = list(entries)
        for entry in other.entries:
            if entry not in unmatched or choice == "add":
                more.append(entry)
                continue
            if choice == "refuse":
                which = f"{entry.question!r} of wave {entry.wave!r}"
                remedy = f"both ledgers have {which}: is that one report?"
                raise InvalidArgument("repeated", choice, f'{remedy} pass "once" or "add"')
            unmatched.remove(entry)
        limits = [limit for limit in (self.limit, other.limit) if limit is not None]
        return Ledger((*entries, *more), min(limits) if limits else None)

    # -- documents ---------------------------------------------------------------------------

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def fingerprint(self) -> str:
        """Of what the ledger holds now."""
        return portable.fingerprint(self._specification())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._file is not None:
            return Ledger, ((), self.limit, self._file.path)
        return Ledger, (self.entries, self.limit)

    def _specification(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "limit": self.limit,
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Ledger:
        """Read what `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            If the document is not a ledger of this version, or its fingerprint does not match its
            fields.

        Examples
        --------
        >>> ledger = Ledger(limit=2.0).spend("ill", 0.5)
        >>> Ledger.from_dict(ledger.to_dict()) == ledger
        True
        """
        checked = check_format(document, _FORMAT)
        if repr(checked.get("version")) != repr(_VERSION) or not set(checked) <= _FIELDS:
            remedy = f"must have version {_VERSION} and the fields {sorted(_FIELDS)}"
            raise InvalidArgument("ledger", sorted(checked, key=str), remedy)
        if not isinstance(checked.get("entries"), list):
            raise InvalidArgument("entries", checked.get("entries"), "must be a list of objects")
        entries = [_spending_from_dict(i, entry) for i, entry in enumerate(checked["entries"])]
        ledger = cls(tuple(entries), checked.get("limit"))
        check_fingerprint(checked, ledger.fingerprint)
        return ledger

    def summary(self) -> str:
        """Total, what remains, and epsilon by question and wave, as text."""
        lines = [f"Spent in {self._size()}: epsilon {self.total:.6g}"]
        if self.limit is not None:
            over = self.total > self.limit * (1.0 + _ROUNDING)
            left = "WARNING: more than the limit" if over else f"{self.remaining:.6g} remain"
            lines.append(f"  limit {self.limit:.6g}: {left}")
        for what in ("question", "wave"):
            spent = self.by(what)
            lines += [f"  {what} {name or '(none)'}: {value:.6g}" for name, value in spent.items()]
        partly = list(dict.fromkeys(e.question for e in self.entries if e.sensitive is not None))
        if partly:
            lines.append(f"  NOTE: only sensitive categories are protected of {', '.join(partly)}")
        return "\n".join(lines)

    def _size(self) -> str:
        return "1 entry" if len(self) == 1 else f"{len(self)} entries"

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f" of {self.limit:.6g}"
        return f"Ledger({self._size()}; epsilon={self.total:.6g}{limit})"

    def __str__(self) -> str:
        entries = self.entries
        if not entries:
            return repr(self)
        table = _entries_table(entries[:_MOST_LINES])
        for name in ("question", "wave", "permanent", "protects"):
            table[name] = [one_line(text, _LONGEST) for text in table[name].fillna("")]
        columns = ["question", "wave", "reports", "epsilon", "added"]
        columns += [name for name, usual in _USUAL.items() if (table[name] != usual).any()]
        text = table[columns].to_string(index=False, float_format="{:.6g}".format)
        more = len(entries) - len(table)
        text += f"\nand {more:,} more entries; table() has all" if more else ""
        return f"{self!r}\n{text}"

    def _repr_html_(self) -> str:
        return html_table(repr(self), [(f"{k}", f"{v:.6g}") for k, v in self.by().items()])


def _checked_limit(limit: object) -> float | None:
    remedy = "must be a positive finite number (in nats), or None for no limit"
    return None if limit is None else _positive("limit", limit, remedy)


# -- entries: what reports of one question in one wave spent --------------------------------------


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
        for name in ("question", "permanent", "wave", "mechanism", "fingerprint"):
            value = getattr(self, name)
            if name != "permanent" or value is not None:
                empty = name not in ("question", "permanent")
                if not isinstance(value, str) or not (empty or value.strip()):
                    raise InvalidArgument(
                        name, value, f"must be {'' if empty else 'non-empty '}text"
                    )
                set_fields(self, **{name: str.__str__(value)})
        set_fields(self, epsilon=_nats("epsilon", self.epsilon))
        set_fields(self, lifetime=_nats("lifetime", self.lifetime))
        set_fields(self, reports=positive_integer("reports", self.reports))
        if self.sensitive is not None:
            remedy = "must be a list of labels, or None where all categories are protected"
            labels = listed("sensitive", self.sensitive, remedy)
            if not all(isinstance(label, str | int | float | bool) for label in labels):
                raise InvalidArgument("sensitive", self.sensitive, remedy)
            set_fields(self, sensitive=tuple(labels))

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


def _spending_of(
    question: str, mechanism: Any, wave: str, reports: int, permanent: str | None
) -> Spending:
    """The entry of reports of a mechanism, or of a number that is their epsilon."""
    if isinstance(mechanism, PUM):  # its bots stand for her own categories: those are hers to keep
        mechanism = mechanism.common
    made_by: Any = mechanism
    known = isinstance(made_by, Instrument)
    remedy = f"must be a mechanism, a questionnaire or an epsilon, which {_NUMBER}"
    epsilon = lifetime = made_by._spent() if known else _nats("mechanism", made_by, remedy)
    # a response that is kept, and reported with new noise
    keeps = isinstance(made_by, CustomMechanism) and made_by.permanent is not None
    if permanent is None:
        lifetime = np.inf
    elif keeps or isinstance(made_by, RAPPOR | BooleanRAPPOR):
        lifetime = made_by.lifetime_epsilon
    labels = made_by.sensitive if isinstance(made_by, Mechanism) else None
    protected = None if labels is None else tuple(labels.tolist())
    spent = Spending(question, epsilon, wave, "", reports, protected, permanent, lifetime)
    return (
        replace(spent, mechanism=str(made_by), fingerprint=made_by.fingerprint) if known else spent
    )


def _spending_from_dict(place: int, document: object) -> Spending:
    """Read an entry of a document."""
    name = f"entries[{place}]"
    fields = set(Spending.__dataclass_fields__)
    if not isinstance(document, dict) or set(document) != fields:
        raise InvalidArgument(name, document, f"must be an object with the fields {sorted(fields)}")
    infinite = {k: np.inf for k in ("epsilon", "lifetime") if document[k] == "inf"}
    try:
        return Spending(**document | infinite)
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}.{error.name}", shorten(document), error.remedy) from None


class _LedgerFile(StateFile):
    """A file of entries that is never rewritten: an object with the limit, then an entry a line."""

    def opened_with(self, entries: tuple[Spending, ...], limit: float | None) -> float | None:
        """Make the file with these if there is none; the limit that holds."""
        head = {"format": "ldpstats-ledger-file", "version": 1, "limit": limit}
        written: float | None
        written, kept = self.opened(lambda: [head, *(entry.to_dict() for entry in entries)])
        if entries and kept[: len(entries)] != entries:
            raise self.refusal("has other entries: give entries only for a file that is new")
        if limit is not None and written != limit:
            raise self.refusal(f"has the limit {written}: give this one, or none")
        return written

    def entries(self) -> tuple[Spending, ...]:
        """All that are in the file now."""
        with self._failures():
            return self._split(self._read())[1]

    @contextmanager
    def growing(self) -> Iterator[tuple[tuple[Spending, ...], Callable[[list[Spending]], None]]]:
        """The entries, and the function that writes more; others wait until the block ends."""
        with self._failures(), open(self.path, "r+b", buffering=0) as file:
            with portable._locked(file.fileno()):
                content = file.read()

                def write(more: list[Spending]) -> None:
                    try:
                        left = self._content(entry.to_dict() for entry in more)
                        while left:
                            left = left[file.write(left) or 0 :]
                        os.fsync(file.fileno())
                    except OSError:
                        file.truncate(len(content))
                        raise

                yield self._split(content)[1], write

    def _content(self, documents: Iterable[dict[str, Any]]) -> bytes:
        return "".join(json.dumps(document) + "\n" for document in documents).encode("ascii")

    def _split(self, content: bytes) -> tuple[float | None, tuple[Spending, ...]]:
        """The limit and the entries."""
        try:
            head, *rest = [json.loads(line) for line in content.decode("ascii").splitlines()]
            whole = content.endswith(b"\n") and head["format"] == "ldpstats-ledger-file"
            entries = tuple(_spending_from_dict(i, entry) for i, entry in enumerate(rest))
            if whole and repr(head["version"]) == "1":
                return head["limit"], entries
        except (ValueError, TypeError, KeyError, RecursionError):  # of JSON and of entries
            pass
        raise self.refusal("is no file of a ledger, or is damaged: restore it from a copy")


def _costs(entries: Sequence[Spending]) -> list[tuple[Spending, float]]:
    """What each entry added to the total: less where a permanent answer was paid for."""
    paid: dict[Any, float] = {}
    costs = []
    for entry in entries:
        cost = entry.reports * entry.epsilon
        if entry.permanent is not None:
            before = paid.get(entry.answer, 0.0)
            paid[entry.answer] = min(before + cost, entry.lifetime)
            cost = 0.0 if before == paid[entry.answer] else paid[entry.answer] - before
        costs.append((entry, cost))
    return costs


def _entries_table(entries: Sequence[Spending]) -> pd.DataFrame:
    """A row an entry."""
    names = ("question", "wave", "mechanism", "reports", "alone", "permanent", "sensitive")
    table = pd.DataFrame({name: [getattr(one, name) for one in entries] for name in names})
    table.insert(5, "added", [cost for _, cost in _costs(entries)])
    protected = (
        "all" if e.sensitive is None else ", ".join(map(str, e.sensitive)) for e in entries
    )
    table["sensitive"] = list(protected)
    return table.rename(columns={"alone": "epsilon", "sensitive": "protects"})


# -- epsilon of several reports about one respondent ----------------------------------------------


def compose(epsilons: Sequence[float], delta: float = 0.0) -> float:
    """Epsilon of several reports about the same value: they add up (sequential composition).

    So do those of utility-optimised LDP for the same sensitive categories (MK19 Proposition 1), and
    those of LDP with them (Proposition 12). `sequential` gives the channel of both together.

    Parameters
    ----------
    epsilons : sequence of float
        In nats; zero for a report without information, inf for one without protection.
    delta : float
        In [0, 1). Above zero, the smallest epsilon for which all reports together are (epsilon,
        delta)-private, without any approximation from below (Kairouz, Oh, Viswanath 2015,
        Theorem 3.3; Murtagh, Vadhan 2016, Theorem 1.5). It needs epsilons that were fixed before
        the first report, and that protect all categories.

    Raises
    ------
    InvalidArgument
        If `epsilons` is not a sequence, or one is negative, NaN or not a number; or `delta` is no
        probability below one.

    Examples
    --------
    >>> compose([1.0, 0.5])
    1.5
    >>> round(compose([0.1] * 50, delta=1e-6), 3)
    3.173
    """
    given = [_nats(f"epsilons[{i}]", v) for i, v in enumerate(_sequence("epsilons", epsilons))]
    chance = probability("delta", delta, one=False)
    total = float(sum(given))
    if chance == 0.0 or not np.isfinite(total):
        return total
    return _optimal_epsilon(given, chance)


def split_budget(total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Divide a total epsilon over several reports in proportion to `weights`.

    Parameters
    ----------
    total : float
        In nats, positive and finite.
    weights : sequence of float
        Positive and finite, of any size: only their ratios matter.

    Raises
    ------
    InvalidArgument
        If the total or a weight is not positive and finite, or there are no weights.

    Examples
    --------
    >>> split_budget(3.0, [1, 1, 2])
    (0.75, 0.75, 1.5)
    """
    whole = _positive("total", total, "must be a positive finite number (in nats), for example 1.0")
    remedy = "must be a positive finite number: the share of one report, such as 1 for equal shares"
    parts = enumerate(_sequence("weights", weights))
    given = [_positive(f"weights[{i}]", value, remedy) for i, value in parts]
    if not given:
        raise InvalidArgument("weights", weights, "needs at least one positive finite number")
    shares = np.array(given, dtype=np.float64)
    shares = shares / shares.max()  # whose sum cannot overflow
    split = whole * (shares / shares.sum())
    if not split.all():
        raise InvalidArgument("weights", weights, "differ so much that a share rounds to zero")
    return tuple(split.tolist())


def _sequence(name: str, values: object) -> list[Any]:
    remedy = "must be a sequence of numbers, such as [1.0, 0.5]"
    if isinstance(values, Set | Mapping):  # which merge equal numbers
        raise InvalidArgument(name, values, remedy)
    return listed(name, values, remedy)


def _nats(name: str, value: object, remedy: str = _NUMBER) -> float:
    """An epsilon, from 0 to inf."""
    number = real_number(name, value, remedy)
    if not number >= 0.0:
        raise InvalidArgument(name, value, remedy)
    return number


def _positive(name: str, value: object, remedy: str) -> float:
    number = real_number(name, value, remedy)
    if not 0.0 < number < np.inf:
        raise InvalidArgument(name, value, remedy)
    return number


def _optimal_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """The smallest epsilon for which finite epsilons are (epsilon, delta)-private together."""
    total = float(np.sum(epsilons))
    if total == 0.0:
        return 0.0
    sums, mass = _loss_law([e for e in epsilons if e > 0.0], total)
    order = np.argsort(-sums, kind="stable")
    sums, mass, mirrored = sums[order], mass[order], mass[order][::-1]
    above, below = np.cumsum(mass), np.cumsum(mirrored)  # probabilities of s and, under R, of s
    with np.errstate(divide="ignore"):
        deltas = above - np.exp(sums + np.log(below))
        first = int(np.searchsorted(np.maximum.accumulate(deltas), delta, side="right"))
        # between sums first - 1 and first, delta is above - e^eps below
        last = max(first - 1, 0)
        bound = np.log(max(above[last] - delta, 0.0)) - np.log(below[last])
    epsilon = float(np.clip(bound, 0.0, total))
    return min(epsilon * (1.0 + _ROUNDING) + _ROUNDING, total) if epsilon > 0.0 else 0.0


def _loss_law(epsilons: Sequence[float], total: float) -> tuple[Array, Array]:
    """Possible sums of ``+-epsilon_i`` and their probabilities, symmetric about zero."""
    from scipy.special import gammaln

    distinct = Counter(epsilons)
    if prod(n + 1 for n in distinct.values()) <= _MOST_SUMS:
        sums, mass = np.zeros(1), np.ones(1)
        for epsilon, n in distinct.items():
            ups = np.arange(n + 1.0)  # how many of n binary reports are the true answer
            log = gammaln(n + 1.0) - gammaln(ups + 1.0) - gammaln(n - ups + 1.0)
            log += -ups * np.log1p(np.exp(-epsilon)) + (n - ups) * -np.logaddexp(0.0, epsilon)
            sums = np.add.outer(sums, epsilon * (2.0 * ups - n)).ravel()
            mass = np.outer(mass, np.exp(log)).ravel()
        order = np.argsort(sums, kind="stable")
        sums, mass = sums[order], mass[order]
        return (sums - sums[::-1]) / 2.0, mass
    if len(epsilons) > _MOST_ROUNDED:
        raise NotAvailable(
            f"delta: {len(epsilons)} different epsilons are too many for the optimal composition "
            f"(at most {_MOST_ROUNDED}); delta=0 adds them up"
        )
    step = 2.0 * total / _STEPS
    mass, most = np.ones(1), 0
    for size, n in Counter(float(np.ceil(e / step - 1e-9)) for e in epsilons).items():
        shift, up = int(size), 1.0 / (1.0 + np.exp(-size * step))
        for _ in range(n):
            grown = np.zeros(mass.size + 2 * shift)
            grown[: mass.size] += (1.0 - up) * mass
            grown[2 * shift :] += up * mass
            mass, most = grown, most + shift
    return step * (np.arange(mass.size) - most), mass
