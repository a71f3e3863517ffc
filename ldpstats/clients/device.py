"""Clients of mechanisms without a memory of answers, and collectors of many answers."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from typing import Any, Generic, NoReturn, ParamSpec, Self, TypeVar

import numpy as np
import pandas as pd

from ldpstats.arguments import boolean, positive_integer, positive_number
from ldpstats.channels.certificates import Audit
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.portable.ldpstats_client import Question, Refused, fingerprint
from ldpstats.errors import (
    HIDDEN,
    BudgetSpent,
    InvalidArgument,
    LDPError,
    LDPWarning,
    MechanismMismatch,
    NotAvailable,
    shorten,
)
from ldpstats.hints import Hinted, refused_call
from ldpstats.labels import Labels
from ldpstats.sampling.samplers import SystemWords, Words, system_words

# -- Single reports, which the client for devices draws: the same as the samplers, but sooner -----


def opened(document: Callable[[], dict[str, Any]]) -> Any:
    """The question of a client document; None where it has none, as its table is too large."""
    with suppress(NotAvailable, Refused):
        return portable.open_question(portable.Fields(document()))
    return None


def kept_question(document: dict[str, Any] | None, secret: bytes) -> Any:
    """The question of a client document whose responses are kept, under the secret of a device."""
    question: Any = portable.open_question(portable.Fields(document))
    question.keep_secret(secret)
    return question


def drawn_report(question: Question | None, text: object, words: Words) -> Any:
    """The report of an answer in text; None where a sampler draws, or says why it does not."""
    if question is not None and isinstance(words, SystemWords):
        source: Any = words
        with suppress(Refused):
            return question.report(question.read(text), source)
    return None


# -- The file of a device: what it must not forget, and how often it has reported -----------------


class StateFile(portable.StateFile):
    """The state file of the client for devices, with the errors of the package."""

    def __init__(self, path: object) -> None:
        remedy = "must be the name of a file"
        try:
            name = os.fsdecode(path)  # type: ignore[arg-type]
        except (TypeError, ValueError):  # no path, or one that no file can have
            raise InvalidArgument("state", path, remedy) from None
        if isinstance(path, bytes) or "\0" in name:
            raise InvalidArgument("state", path, remedy)
        super().__init__(name)

    def refusal(self, remedy: str) -> InvalidArgument:
        return InvalidArgument("state", self.path, remedy)


# -- How many reports a device may make -----------------------------------------------------------


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

    def secret(self, words: Any) -> bytes:
        """The secret in the file; without a file a new one, which lives in memory."""
        if self.file is None:
            return bytes(words.bytes(portable.SECRET_BYTES))
        return portable.kept_secret(self._document, self.file)


def opened_budget(reports: int | None, state: object, fresh: dict[str, str]) -> Budget:
    """The budget of a client, in its file where it has one."""
    limit = None if reports is None else positive_integer("reports", reports)
    if state is None:
        return Budget(limit)
    file = StateFile(state)
    head = {"format": _FORMAT, "version": _VERSION}
    document, made = file.opened(lambda: head | fresh)
    check_state(document, head, fresh["fingerprint"], file.path)
    return Budget(limit, file, document, made)


def check_state(
    document: dict[str, Any], head: dict[str, Any], fingerprint: str, path: str
) -> None:
    """Refuse a state of another format, version or mechanism; `head` has the first two."""
    of_state = {name: document.get(name) for name in head}
    if repr(of_state) != repr(head):
        remedy = f'must have "format": "{head["format"]}", "version": {head["version"]}'
        raise InvalidArgument("state", path, f"{remedy}: it is of another client")
    if repr(document.get("fingerprint")) != repr(fingerprint):
        raise MechanismMismatch(
            f"state={path!r} is of a client with fingerprint "
            f"{shorten(document.get('fingerprint'))}, not {fingerprint!r}: a client keeps its "
            "parameters; another mechanism needs another file"
        )


# -- What a device refuses to run: no privacy, or less than it asks for ---------------------------


_MOST_COHORTS = 1 << 16


def check_audit(audit: Audit) -> None:
    """Refuse a mechanism that leaks more than it claims."""
    if not audit.agrees:
        raise InvalidArgument("mechanism", audit.mechanism, f"leaks more than it claims\n{audit}")


def check_cohorts(n_cohorts: int) -> None:
    """Warn of cohorts so many that one of them tells who the respondent is."""
    if n_cohorts > _MOST_COHORTS:
        warnings.warn(
            f"n_cohorts={n_cohorts}: a report names one of more than {_MOST_COHORTS} cohorts, by "
            "which its respondent may be recognised: use fewer",
            LDPWarning,
            stacklevel=3,
        )


# -- Client documents, from which a device makes reports: SPECIFICATION.md says what they mean ----


_MOST_NUMBERS = 1 << 18


def client_document(survey: str, epsilon: float, asked: dict[str, Any]) -> dict[str, Any]:
    """The document of a survey with this fingerprint; `asked` is the question, or the questions."""
    head = {"format": _FORMAT, "version": _VERSION, "survey": survey}
    document = head | {"epsilon": repr(float(epsilon))} | asked
    return document | {"fingerprint": fingerprint(document)}


def texts(labels: Labels) -> int | list[str]:
    """Labels as a list of texts: what tables have, or a number k for 0 .. k-1."""
    return len(labels) if isinstance(labels, pd.RangeIndex) else [str(v) for v in labels.tolist()]


def listed(given: int | list[str]) -> list[str]:
    """A list of texts, or the numbers that k stands for."""
    return [str(i) for i in range(given)] if isinstance(given, int) else list(given)


def fraction(value: Fraction) -> list[str]:
    """A fraction as two texts."""
    return [str(value.numerator), str(value.denominator)]


def numbers(values: Any) -> list[str]:
    """Integers as texts."""
    return [str(value) for value in np.asarray(values, dtype=object).tolist()]


def check_table(source: object, size: int) -> None:
    """Refuse a table of so many numbers, if it is too large for a document."""
    if size > _MOST_NUMBERS:
        raise NotAvailable(
            f"{source} draws reports from a table of {size} numbers, which is too large for the "
            f"document of a device (at most {_MOST_NUMBERS}): use a mechanism without a table, "
            "such as KRR or KRAPPOR, or collector() in Python"
        )


# -- Errors that do not show the answers: an error ends in logs, and in reports of crashes --------


P = ParamSpec("P")
T = TypeVar("T")


# what the package raises, and what the system does, which does not know the answer
_SAFE = (LDPError, OSError, MemoryError)


def bare(failure: BaseException) -> BaseException:
    """An error without the frames, causes and contexts that know the answer."""
    failure.__context__ = failure.__cause__ = None
    return failure.with_traceback(None)


def stripped(
    function: Callable[P, T], harmless: Callable[[BaseException], BaseException]
) -> Callable[P, T]:
    """Let errors of a function show no local variable of its frames, and no more than `harmless`.

    That returns the error, or another in its place.
    """

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        failure: BaseException
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # an interruption too
            failure = harmless(error)
        # only now: to bind takes longer than to draw a report
        failure = refused_call(function, args, kwargs) or failure
        del args, kwargs
        raise bare(failure)

    return guarded


def secretive(method: Callable[P, T]) -> Callable[P, T]:
    """Let no error of a method show what it was given, nor any local variable of its frames."""
    # Errors that name an argument "value" or "values[i]" keep their place and lose the value. What
    # is raised beside the errors of ldpstats may quote the answer, so only its type is shown. The
    # place in what `report` was given, which is one answer, is "value".
    alone = method.__name__ == "report"
    return stripped(method, lambda error: _without_answers(error, alone))


def _without_answers(error: BaseException, alone: bool) -> BaseException:
    if isinstance(error, InvalidArgument) and error.name.startswith("value"):
        return type(error)("value" if alone else error.name, HIDDEN, error.unquoted)
    if isinstance(error, _SAFE) or not isinstance(error, Exception):
        return error
    remedy = f"could not be privatised ({type(error).__name__}): is it an answer of the right type?"
    return InvalidArgument("value", HIDDEN, remedy)


def plain(value: Any) -> Any:
    """A scalar as one of Python, which `json.dumps` takes."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Collector:
    """Privatises the answers of many respondents, each of whom reports once.

    Made by `Mechanism.collector`. It counts nothing: who reports twice spends epsilon twice. On a
    respondent's own device belongs a `Client`. No error shows an answer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> collector = ldp.Warner(epsilon=1.0).collector()
    >>> len(collector.privatize(["yes", "no", "no"]))
    3
    >>> print(collector)
    Collector(Warner(epsilon=1), many respondents, one report each)
    """

    mechanism: Any
    words: Words = field(repr=False)

    @secretive
    def report(self, value: object) -> Any:
        """One respondent's privatised report, as of `Client.report`."""
        return self.mechanism._single(value, self.words)

    @secretive
    def privatize(self, values: object, missing: str = "raise") -> Any:
        """Privatise the answers of many respondents, as `Mechanism.privatize` does.

        Raises
        ------
        UnknownCategory, InvalidArgument
            For an answer that cannot be; the message has its place, and does not show it.
        """
        return self.mechanism._report(values, self.words, missing)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism}, many respondents, one report each)"


class Device(Hinted, ABC):
    """One respondent's client, which makes as many reports as its budget allows."""

    __slots__ = ()

    mechanism: Any
    _budget: Budget

    @abstractmethod
    def report(self, value: object) -> Any:
        """One privatised report."""

    @property
    def total_epsilon(self) -> float:
        """Privacy of all reports together, in nats; inf where their number is not limited.

        Those that the state file had when the client was made count too.
        """
        return float(self._budget.total * self.mechanism._spent())

    def __repr__(self) -> str:
        total = self.total_epsilon
        return (
            f"{type(self).__name__}({self.mechanism}, reports={self._budget.limit}, epsilon of all "
            f"together: {f'{total:.6g}' if np.isfinite(total) else 'unbounded'})"
        )


class SingleDevice(Device):
    """A client of which there is one: a copy is the client itself, so nothing counts twice."""

    def privatize(self, values: object, missing: str = "raise") -> Any:
        """Refused: a device has the answers of one respondent."""
        del values
        raise NotAvailable(
            f"a {type(self).__name__} is one respondent's device: use report(value); for many "
            "respondents who report once each, use mechanism.collector().privatize(values)"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotAvailable(
            "a client is not pickled, because what it remembers would be there twice: make it "
            "where it is used, and pass state= to keep what it must not forget in a file"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Client(SingleDevice):
    """Privatises one respondent's true answers on her own device.

    Made by `Mechanism.client`. Nothing but the privatised report leaves it, and no error shows an
    answer. It makes as many reports as were allowed when it was made, one by default: all together
    tell at most their number times epsilon. A copy of a client is the client itself. With a state
    file the count outlives the process, and is shared by all that use the file.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> client = ldp.Warner(epsilon=1.0).client(reports=2)
    >>> client
    Client(Warner(epsilon=1), reports=2, epsilon of all together: 2)
    >>> client.report("yes") in ("no", "yes"), client.report("yes") in ("no", "yes")
    (True, True)
    >>> try:
    ...     client.report("yes")
    ... except ldp.BudgetSpent as error:
    ...     print(str(error).partition(";")[0])
    reports=2: all were made
    """

    mechanism: Any
    _words: Words = field(repr=False)
    _budget: Budget = field(repr=False)

    @secretive
    def report(self, value: object) -> Any:
        """One privatised report: plain Python that `json.dumps` takes.

        Returns
        -------
        int, float, bool, or str
            A label; or text such as "0110" for bits, "3:17" and "3:0110" with a cohort.

        Raises
        ------
        BudgetSpent
            If no report is left; the answer is not looked at.
        UnknownCategory, InvalidArgument
            For an answer that cannot be; no report is spent.
        """
        return self._budget.spend(lambda: self.mechanism._single(value, self._words))

    @secretive
    def privatize(self, values: object, missing: str = "raise") -> Any:
        """Privatise several answers; each spends a report.

        So does a missing answer that is counted, since the count shows it. For the answers of many
        respondents use `Mechanism.collector`.
        """
        return self._budget.spend(
            lambda: self.mechanism._report(values, self._words, missing),
            lambda reports: len(reports) + reports.n_missing,
        )


# -- Specifications: what respondents and the collector share, as plain JSON types ----------------


class Specified(Hinted, ABC):
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
        return portable.fingerprint(_unnamed(self._specification()))

    def __getstate__(self) -> dict[str, Any]:
        """All but the draw of a device, which has functions that are not pickled."""
        return {name: value for name, value in vars(self).items() if name != "_device"}

    def __eq__(self, other: object) -> bool:
        if self is other:  # fingerprints take long where Q is large
            return True
        return isinstance(other, Specified) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _unnamed(field: Any) -> Any:
    """A specification, or a field of one, without what devices are called: two names of one law."""
    if isinstance(field, dict):
        kept = {k: v for k, v in field.items() if not ("device" in field and k == "description")}
        return {key: _unnamed(value) for key, value in kept.items()}
    return list(map(_unnamed, field)) if isinstance(field, list) else field


def check_format(document: object, name: str) -> dict[str, Any]:
    """Refuse a document that is not of this format."""
    # a format that is an array is unequal entry by entry
    if not isinstance(document, dict) or repr(document.get("format")) != repr(name):
        remedy = f'must be an object with "format": "{name}"'
        raise InvalidArgument("specification", document, remedy)
    return document


def check_fields(
    document: object, name: str, version: int, fields: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Refuse a specification of another format or version, or with other fields."""
    checked, known = check_format(document, name), sorted(fields)
    given = set(checked) - {"fingerprint", *optional}
    if repr(checked.get("version")) != repr(version) or given != set(known):
        remedy = f"must have version {version} and the fields {known}"
        raise InvalidArgument("specification", sorted(checked, key=str), remedy)
    return checked


def check_fingerprint(
    document: dict[str, Any],
    fingerprint: str,
    what: str = "specification",
    how: str = "to_dict() or --write-spec",
) -> None:
    """Refuse a specification, or what else a document is, without its own fingerprint.

    `how` says what writes it anew.
    """
    found = document.get("fingerprint")
    remedy = f"is not that of the other fields, {fingerprint}: the {what} was changed or damaged; "
    remedy += "get it anew, or write it anew if the change is meant"
    if "fingerprint" not in document:
        remedy = f"is missing from the {what}: write it again, with {how}; or add "
        remedy += f'"fingerprint": "{fingerprint}" if all of its fields are right'
    if repr(found) != repr(fingerprint):
        raise InvalidArgument("fingerprint", found, remedy)


# -- Survey instruments: what a respondent's device can run ---------------------------------------


ClientType = TypeVar("ClientType", bound=Device)
CollectorType = TypeVar("CollectorType")


class Instrument(Specified, Generic[ClientType, CollectorType]):
    """What privatises answers on a device: a mechanism, or a survey that combines several."""

    @abstractmethod
    def _spent(self) -> float:
        """Privacy that one report spends, in nats; inf where no category is sensitive."""

    def _lifetime(self) -> float:
        """What a client document and a device declare: more than one report where it keeps some."""
        return self._spent()

    def _state(self) -> dict[str, str]:
        """What a new state file says: the fingerprint of what is counted together, a secret."""
        return {"fingerprint": self.fingerprint}

    @property
    def unprotected(self) -> bool:
        """Whether choosing it was consent to no privacy."""
        return False

    @abstractmethod
    def audit(self) -> Audit:
        """Compare the declared epsilon with that of the channel and of the sampler."""

    @abstractmethod
    def _most_cohorts(self) -> int:
        """Cohorts of a respondent, of which a report names one."""

    @abstractmethod
    def _collector(self, words: Words) -> CollectorType:
        """The collector with a source of words."""

    @abstractmethod
    def _client(self, words: Words, budget: Any) -> ClientType:
        """The client with a source of words and a budget."""

    @abstractmethod
    def _asked_document(self) -> dict[str, Any]:
        """The question, or the questions, of the client document."""

    def client_document(self) -> dict[str, Any]:
        """What a device without Python is given: the survey with its probabilities as integers.

        ``ldpstats/clients/SPECIFICATION.md`` says what its fields mean; ``ldpstats client`` writes
        it beside clients in other languages. It holds no answer.

        Returns
        -------
        dict
            In JSON types, with a fingerprint of its own.

        Raises
        ------
        InvalidArgument
            If the audit finds that the sampler would leak more than `epsilon`.
        NotAvailable
            If reports are drawn from a table of more than 2^18 numbers, if a device has unknown
            parameters, and if a hash is not known here.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> document = ldp.Warner(epsilon=1.0).client_document()
        >>> document["question"]["answers"], document["question"]["draw"]
        (['no', 'yes'], {'kind': 'keep', 'k': 2, 'keep': '8524556932045589504'})
        """
        asked = self._asked_document()  # refuses large tables, of which audits take long
        check_audit(self.audit())
        return client_document(self.fingerprint, self._lifetime(), asked)

    def collector(
        self,
        entropy: Callable[[int], bytes] | None = None,
        *,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
    ) -> CollectorType:
        """Privatises the answers of many respondents, each of whom reports once.

        Parameters
        ----------
        entropy : callable, optional
            ``entropy(n)`` returns n random bytes; the default is `os.urandom`. Only a test has
            reason to pass another.
        max_epsilon : float, optional
            The largest epsilon that is accepted, in nats, of all that a respondent sends: a device
            need not trust the specification that it was sent.
        allow_no_privacy : bool
            Whether to run a mechanism that does not protect every answer that it should.

        Raises
        ------
        InvalidArgument
            Where the audit finds that the sampler would leak more than `epsilon`, where that
            exceeds `max_epsilon`, and where it is infinite, or no category is sensitive (unless
            allowed; `Observed` needs no permission).
        """
        self._permitted(self._spent(), max_epsilon, allow_no_privacy)
        return self._collector(system_words(entropy))

    def client(
        self,
        entropy: Callable[[int], bytes] | None = None,
        *,
        reports: int | None = 1,
        state: str | os.PathLike[str] | None = None,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
    ) -> ClientType:
        """One respondent's client, with the operating system's randomness.

        Parameters
        ----------
        entropy, max_epsilon, allow_no_privacy
            As for `collector`.
        reports : int or None
            How many reports it may make, each of which spends epsilon: all together are
            reports x epsilon private. None lifts the limit; their epsilon is then unbounded. Of
            a mechanism that keeps responses (`Enumerated.then`) there is no limit.
        state : path-like, optional
            File that keeps the count, so that it outlives the process; it is made if there is none,
            for its user alone, and one that others may read or change is refused. It holds no
            answer. Restoring an older copy of it gives the budget again. Without it the count is in
            memory, and a restart begins anew.

        Raises
        ------
        InvalidArgument
            As for `collector`; for another number of `reports`, and a file that cannot be used.
        MechanismMismatch
            For the file of a client of another mechanism.

        Warns
        -----
        LDPWarning
            Beyond 2^16 cohorts, by one of which a respondent could be recognised.
        """
        check_cohorts(self._most_cohorts())
        self._permitted(self._lifetime(), max_epsilon, allow_no_privacy)
        words = system_words(entropy)
        return self._client(words, opened_budget(reports, state, self._state()))

    def _permitted(self, epsilon: float, max_epsilon: float | None, allow_no_privacy: bool) -> None:
        """Refuse to run on a device what it does not allow, or what leaks more than it claims."""
        allowed = boolean("allow_no_privacy", allow_no_privacy) or self.unprotected
        if max_epsilon is not None:
            most = positive_number("max_epsilon", max_epsilon, (0.0, np.inf))
            if not epsilon <= most * (1.0 + 1e-12):  # rounding of an epsilon computed from Q
                remedy = f"is less than {self} spends, {epsilon:.6g}: do not run it on this device"
                raise InvalidArgument("max_epsilon", most, remedy)
        if np.isinf(epsilon) and not allowed:
            raise InvalidArgument(
                "mechanism",
                str(self),
                "does not protect its respondents: some report tells for sure what should be "
                "hidden; pass allow_no_privacy=True (--allow-no-privacy) if that is meant",
            )
        check_audit(self.audit())
