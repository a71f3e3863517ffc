"""The respondent's device under RAPPOR: permanent responses from a secret, without a memory.

The secret, the cohort and the permanent responses are specified in section 8 of
``ldpstats/clients/SPECIFICATION.md``; `ldpstats.clients.portable` has the code.

Surveys with the same filters and noise, in which only p and q differ, share the permanent response
of every answer, and tell nothing new. Any other two share none: were some answers shared and others
not, responses that differ would rule out some answers for sure.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import encode
from ldpstats.clients.budget import Budget, check_state
from ldpstats.clients.device import SingleDevice
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.secrecy import HIDDEN, secretive
from ldpstats.clients.state import StateFile
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.sampling.words import SystemWords

__all__ = ["RAPPORClient", "opened_client"]

Array = npt.NDArray[Any]

_FORMAT, _VERSION = "ldpstats-rappor-client", 2


@dataclass(frozen=True, eq=False, repr=False)
class RAPPORClient(SingleDevice):
    """One respondent's device: it keeps a secret and a cohort, and gives an answer one response.

    Made by `RAPPOR.client`. The permanent response is a keyed function of the secret and the
    answer, so that threads, copies of the process and restarts cannot make two: however often an
    answer is reported, the reports together tell no more than its permanent response, which is
    `RAPPOR.lifetime_epsilon` private. Answers that change cost a lifetime each. At f = 0 there is
    no noise in it, and a client makes one report; that it did, only a state file remembers. No
    error shows an answer.

    For the answers of many respondents, one report each, there is `RAPPOR.collector`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rappor = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)
    >>> client = rappor.client()
    >>> report = client.report("www.example.org")
    >>> again = ldp.RAPPORClient.from_dict(client.to_dict(), rappor)
    >>> again.cohort == client.cohort
    True
    >>> client.total_epsilon == rappor.lifetime_epsilon
    True
    """

    mechanism: Any
    cohort: int
    _secret: bytes = field(repr=False)
    _words: Any = field(repr=False)
    _budget: Budget = field(repr=False)
    _cells: Array | None = field(repr=False)  # that answers from a list own in her cohort, (S, h)

    def _epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def total_epsilon(self) -> float:
        """Privacy of all reports of one answer together, in nats."""
        once = self._budget.limit is not None
        return float(self._epsilon() if once else self.mechanism.lifetime_epsilon)

    @secretive
    def report(self, value: object) -> Any:
        """One report of the answer, from its permanent response: "cohort:bits", or one bit.

        Raises
        ------
        InvalidArgument
            If the value is not a string, over an open alphabet.
        UnknownCategory
            For a value that is not in the alphabet.
        BudgetSpent
            For a second report at f = 0.
        """
        return self._budget.spend(lambda: self._drawn(value))

    def _drawn(self, value: object) -> Any:
        rappor = self.mechanism
        one, zero = rappor.report_thresholds()
        # no bit is owned here: each has the threshold of its permanent value
        permanent = self._permanent(value).tolist()
        groups = portable.groups_of([one if bit else zero for bit in permanent])
        y = portable.bits(rappor.n_cells, (), (), groups, self._words)
        sent = portable.shown(y, rappor.n_cells)
        return f"{self.cohort}:{sent}" if rappor.n_cohorts else int(sent)

    def _permanent(self, value: object) -> npt.NDArray[np.bool_]:
        """The bits of the permanent response, (m,)."""
        rappor = self.mechanism
        text, cells = self._owned(value)
        owned, absent = rappor.permanent_thresholds()
        head = f"{self.cohort} {absent} {rappor.filter_digest}"
        return np.array(
            portable.permanent_response(
                self._secret, head, text, cells, rappor.n_cells, owned, absent
            )
        )

    def _owned(self, value: object) -> tuple[str, list[int]]:
        """The text of an answer, and the cells that it owns."""
        rappor = self.mechanism
        if self._cells is not None:
            code = int(encode("value", [value], rappor.labels())[0][0])
            return str(rappor.labels()[code]), self._cells[code].tolist()
        device = rappor._device
        with suppress(portable.Refused):
            if device is not None:
                return device.read(value), device.hash.of(value, self.cohort)
        # an Enum is hashed as the text that it is, not as what it calls itself; others are refused
        cells = rappor.answer_hash.own(pd.Series([value], dtype=object), np.array([self.cohort]))
        return str.__str__(value), cells[0].tolist()

    def privatize(self, values: object, missing: str = "raise") -> NoReturn:
        """Refused: a device has the answers of one respondent."""
        del values
        raise NotAvailable(
            "a RAPPORClient is one respondent's device: use report(value); for many respondents "
            "who report once each, use mechanism.collector().privatize(values)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The state as plain JSON types: the secret and the cohort, no answers.

        It belongs on the respondent's device alone: with the secret, reports can be seen through.
        """
        return _state(self.mechanism, self.cohort, self._secret)

    @classmethod
    def from_dict(
        cls,
        document: dict[str, Any],
        mechanism: Any,
        entropy: Callable[[int], bytes] | None = None,
    ) -> RAPPORClient:
        """Read the state that `to_dict` wrote; at f = 0 with a report to make, made or not.

        Raises
        ------
        InvalidArgument
            If the document is not such a state, or 0.1.0 wrote it.
        MechanismMismatch
            For the state of a client with other parameters.
        """
        device = mechanism.client(entropy) if isinstance(mechanism, Mechanism) else None
        if not isinstance(device, RAPPORClient):
            raise InvalidArgument("mechanism", mechanism, "must be the RAPPOR of the client")
        cohort, secret = _checked_state(document, mechanism, "document")
        cells = _alphabet_cells(mechanism, cohort)
        return replace(device, cohort=cohort, _secret=secret, _cells=cells)

    def __repr__(self) -> str:
        once = ", reports=1" if self._budget.limit is not None else ""
        return (
            f"RAPPORClient({self.mechanism}, cohort={self.cohort}{once}, epsilon of all reports of "
            f"an answer together: {self.total_epsilon:.6g})"
        )


def opened_client(
    rappor: Any,
    words: SystemWords,
    secret: bytes | None,
    state: str | os.PathLike[str] | None,
    limit: int | None,
) -> RAPPORClient:
    """A client with the secret that is given, that of its file, or a new one."""
    budget = Budget(limit)
    if secret is not None:
        if state is not None:
            raise InvalidArgument("state", state, "goes without a secret, which it would hold too")
        if not isinstance(secret, bytes) or len(secret) != portable.SECRET_BYTES:
            remedy = (
                f"must be {portable.SECRET_BYTES} random bytes, such as secrets.token_bytes(32)"
            )
            raise InvalidArgument("secret", HIDDEN, remedy)
        return _client(
            rappor, portable.cohort_of(secret, max(rappor.n_cohorts, 1)), secret, words, budget
        )

    def drawn() -> tuple[int, bytes]:
        new = words.bytes(portable.SECRET_BYTES)
        return portable.cohort_of(new, max(rappor.n_cohorts, 1)), new

    if state is None:
        return _client(rappor, *drawn(), words, budget)
    file = StateFile(state)
    document, made = file.opened(lambda: _state(rappor, *drawn()))
    cohort, kept = _checked_state(document, rappor, file.path)
    if limit is not None:  # marks would be a trace of each report
        budget = Budget(limit, file, document, made)
    return _client(rappor, cohort, kept, words, budget)


def _cohort_of(rappor: Any, secret: bytes) -> int:
    return portable.cohort_of(secret, max(rappor.n_cohorts, 1))


def _client(
    rappor: Any, cohort: int, secret: bytes, words: SystemWords, budget: Budget
) -> RAPPORClient:
    cells = _alphabet_cells(rappor, cohort)
    return RAPPORClient(rappor, cohort, secret, words, budget, cells)


def _alphabet_cells(rappor: Any, cohort: int) -> Array | None:
    return None if rappor.is_open else rappor.cells_of_cohort(cohort)


def _state(rappor: Any, cohort: int, secret: bytes) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "fingerprint": rappor.fingerprint,
        "cohort": cohort,
        "secret": secret.hex(),
    }


def _checked_state(document: Any, rappor: Any, path: str) -> tuple[int, bytes]:
    """Cohort and secret of a state; messages do not show it."""
    given = document if isinstance(document, dict) else {}
    if repr(given.get("format")) == repr(_FORMAT) and "permanent" in given:
        raise InvalidArgument(
            "state",
            path,
            "was written by 0.1.0, which kept responses and hashes of answers: remove it, and let "
            "client(state=...) make another; each answer that is reported again then costs one "
            "more lifetime epsilon",
        )
    check_state(given, {"format": _FORMAT, "version": _VERSION}, rappor.fingerprint, path)
    cohort, secret = given.get("cohort"), given.get("secret")
    if type(cohort) is not int or not 0 <= cohort < max(rappor.n_cohorts, 1):
        most = max(rappor.n_cohorts, 1)
        raise InvalidArgument("cohort", cohort, f"must be a number below {most}")
    digits = 2 * portable.SECRET_BYTES
    if (
        not isinstance(secret, str)
        or len(secret) != digits
        or set(secret) - set("0123456789abcdef")
    ):
        raise InvalidArgument("secret", HIDDEN, f"must be {digits} hexadecimal digits")
    return cohort, bytes.fromhex(secret)
