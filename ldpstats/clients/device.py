"""Clients of mechanisms without a memory of answers, and collectors of many answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from ldpstats.clients.budget import Budget
from ldpstats.clients.secrecy import secretive
from ldpstats.errors import NotAvailable
from ldpstats.sampling.words import Words

__all__ = ["Client", "Collector", "Device", "Procedure", "SingleDevice", "plain"]


def plain(value: Any) -> Any:
    """A scalar as one of Python, which `json.dumps` takes."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Procedure:
    """How a device makes reports, and what one of them spends."""

    draw: Callable[[object, Words, str], Any]  # reports of answers; the last says what is missing
    message: Callable[[Any], Any]  # what is sent for one report, in plain Python
    spent: Callable[[], float]  # what `epsilon` is, looked up when it is asked for
    single: Callable[[object, Words], Any]  # what is sent for one answer
    # what is sent for the code of an answer, or a text; None where `draw` has to say why not
    drawn: Callable[[Any, Words], Any]

    @property
    def epsilon(self) -> float:
        """Epsilon of one report, in nats; inf where no category is sensitive."""
        return self.spent()


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
        return self.mechanism.procedure.single(value, self.words)

    @secretive
    def privatize(self, values: object, missing: str = "raise") -> Any:
        """Privatise the answers of many respondents, as `Mechanism.privatize` does.

        Raises
        ------
        UnknownCategory, InvalidArgument
            For an answer that cannot be; the message has its place, and does not show it.
        """
        return self.mechanism.procedure.draw(values, self.words, missing)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism}, many respondents, one report each)"


class Device(ABC):
    """One respondent's client, which makes as many reports as its budget allows."""

    __slots__ = ()

    mechanism: Any
    _budget: Budget

    @abstractmethod
    def report(self, value: object) -> Any:
        """One privatised report."""

    @abstractmethod
    def _epsilon(self) -> float:
        """Epsilon of one report, in nats."""

    @property
    def total_epsilon(self) -> float:
        """Privacy of all reports together, in nats; inf where their number is not limited.

        Those that the state file had when the client was made count too.
        """
        return self._budget.total * self._epsilon()

    def __repr__(self) -> str:
        total = self.total_epsilon
        return (
            f"{type(self).__name__}({self.mechanism}, reports={self._budget.limit}, epsilon of all "
            f"together: {f'{total:.6g}' if np.isfinite(total) else 'unbounded'})"
        )


class SingleDevice(Device):
    """A client of which there is one: a copy is the client itself, so nothing counts twice."""

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

    def _epsilon(self) -> float:
        return float(self.mechanism.procedure.epsilon)

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
        procedure: Procedure = self.mechanism.procedure
        return self._budget.spend(lambda: procedure.single(value, self._words))

    @secretive
    def privatize(self, values: object, missing: str = "raise") -> Any:
        """Privatise several answers; each spends a report.

        So does a missing answer that is counted, since the count shows it. For the answers of many
        respondents use `Mechanism.collector`.
        """
        return self._budget.spend(
            lambda: self.mechanism.procedure.draw(values, self._words, missing),
            lambda reports: len(reports) + reports.n_missing,
        )
