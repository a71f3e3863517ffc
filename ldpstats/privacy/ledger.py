"""What one respondent has spent over questions and waves."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed, one_of, probability, real_number
from ldpstats.arguments.markup import html_table
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.specification import Specified, check_fingerprint, check_format
from ldpstats.errors import BudgetSpent, InvalidArgument, NotAvailable
from ldpstats.privacy.budget import compose
from ldpstats.privacy.ledger_entries import (
    LedgerFile,
    Spending,
    spending_from_dict,
    spending_of,
    spendings_of_sheet,
    unmatched,
)
from ldpstats.privacy.ledger_sums import costs, entries_table, entries_text, independent, shares

__all__ = ["Ledger"]

_FORMAT, _VERSION = "ldpstats-ledger", 1
_FIELDS = {"format", "version", "limit", "entries", "fingerprint"}
_ROUNDING = 1e-12  # relative, of sums


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
    name: reports of one answer by `RAPPOR` cost no more than its `lifetime_epsilon` (EPK14, Theorem
    1), and reports that repeat a stored report of any other mechanism no more than the first. An
    answer that has changed is another permanent answer and needs another name. The ledger cannot
    see that; where answers may have changed between two waves, use a name a wave.

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
        made = listed("entries", entries, remedy)
        for i, entry in enumerate(made):
            if not isinstance(entry, Spending):
                raise InvalidArgument(f"entries[{i}]", entry, remedy)
        self._entries, self._limit = tuple(made), _checked_limit(limit)
        self._lock, self._process = threading.RLock(), os.getpid()
        self._file = None if state is None else LedgerFile(state)
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

    # -- what was spent ----------------------------------------------------------------------

    @property
    def total(self) -> float:
        """Epsilon of all reports together, in nats."""
        return compose([cost for _, cost in costs(self.entries)])

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
        partial = [entry for entry in self.entries if entry.sensitive is not None]
        if chance == 0.0:
            return self.total
        if partial:
            raise NotAvailable(
                f"delta={delta!r}: {partial[0].question!r} protects some categories only, for "
                "which epsilons add up: use delta=0"
            )
        return min(compose(independent(self.entries), chance), self.total)

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
        known = tuple(dict.fromkeys(entry.question for entry in self.entries))
        if not known:
            raise InvalidArgument("question", question, "has no entries: the ledger is empty")
        name = one_of("question", question, known)
        own = [(entry, cost) for entry, cost in costs(self.entries) if entry.question == name]
        if not all(entry.protects(category) for entry, _ in own):
            return np.inf
        return compose([cost for _, cost in own])

    def by(self, what: str = "question") -> pd.Series[float]:
        """Epsilon by "question", "wave" or "mechanism", in nats; the sum is the total."""
        return shares(self.entries, one_of("what", what, ("question", "wave", "mechanism")))

    def table(self) -> pd.DataFrame:
        """A row an entry, with what it would spend alone and what it added to the total."""
        return entries_table(self.entries)

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
            for once: a lifetime of `RAPPOR`, or one report of another mechanism.

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
        return self._add([spending_of(question, mechanism, wave, reports, permanent)])

    def spend_sheet(
        self, questionnaire: Any, wave: str = "", asked: Iterable[str] | None = None
    ) -> Self:
        """Add the private questions of an answer sheet to this ledger, an entry each.

        Parameters
        ----------
        questionnaire : Questionnaire
        wave : str
        asked : sequence of str, optional
            The questions that she was asked. By default all; needed where the questionnaire draws
            some of them.

        Returns
        -------
        Ledger
            This ledger.

        Raises
        ------
        BudgetSpent
            If the total would exceed the limit; then nothing is added.
        InvalidArgument
            If `questionnaire` is not a Questionnaire, or has no such question.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> sheet = ldp.Questionnaire({"job": ldp.KRR(3, 1.0), "ill": ldp.Warner(epsilon=0.5)})
        >>> Ledger().spend_sheet(sheet, wave="2024").by().to_dict()
        {'job': 1.0, 'ill': 0.5}
        """
        return self._add(spendings_of_sheet(questionnaire, wave, asked))

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
        before, after = (
            compose([cost for _, cost in costs(some)]) for some in (spent, (*spent, *more))
        )
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
        more = unmatched(self.entries, other.entries, choice)
        limits = [limit for limit in (self.limit, other.limit) if limit is not None]
        return Ledger((*self.entries, *more), min(limits) if limits else None)

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
        entries = [spending_from_dict(i, entry) for i, entry in enumerate(checked["entries"])]
        made = cls(tuple(entries), checked.get("limit"))
        check_fingerprint(checked, made.fingerprint)
        return made

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
        return "\n".join([repr(self), entries_text(self.entries)] if self.entries else [repr(self)])

    def _repr_html_(self) -> str:
        rows = [(f"{name}", f"{value:.6g}") for name, value in self.by().items()]
        return html_table(repr(self), rows)


def _checked_limit(limit: object) -> float | None:
    if limit is None:
        return None
    remedy = "must be a positive finite number (in nats), or None for no limit"
    value = real_number("limit", limit, remedy)
    if not 0.0 < value < np.inf:
        raise InvalidArgument("limit", limit, remedy)
    return value
