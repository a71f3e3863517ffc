"""The respondent's device under RAPPOR: permanent responses from a secret, without a memory.

Specification, for devices in other languages
---------------------------------------------
The secret is 32 random bytes. Numbers in messages are decimal ASCII.

1. The words of a message, 64 bits each, come from HMAC over a counter. Block i, from 0, is
   ``HMAC-SHA-256(secret, message || i as 8 bytes, big-endian)``; it has four words, the least
   significant byte of each first.
2. The cohort is ``floor(w C / 2^64)``, w the first word of the message ``ldpstats cohort 1 C``.
3. The permanent response to an answer has bit j set if word j is below the threshold, out of 2^64,
   of a bit that the answer owns or does not own: ``2^64 - t`` and t, where t is ``2^63 f`` rounded
   up. The message is ``ldpstats permanent 1 c t d`` with the cohort c and the digest d of the
   filter, then a NUL, then the SHA-256 of the answer's UTF-8 bytes. An answer from a list that is
   no text has the bytes of its text in Python.
4. The digest is the SHA-256, in hexadecimal digits, of the JSON ``[m,h,C,hashing,alphabet]`` in
   ASCII without spaces: bits, hashes, cohorts, "ldpstats" or "google", and the alphabet as in the
   specification (null, a number, or a list).

So surveys with the same filters and noise, in which only p and q differ, share the permanent
response of every answer, and tell nothing new. Any other two share none: were some answers shared
and others not, responses that differ would rule out some answers for sure.

Test vectors: the secret has the bytes 0 to 31. Its cohort among 64 is 54. RAPPOR of 16 bits with
two hashes, 64 cohorts and f = 1/2 has t = 2^62, and the permanent response to "a" is
1001001000001000 (bit 0 first), to "Zürich" 0100101010000100.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import encode
from ldpstats.clients.budget import Budget, FileBudget, MemoryBudget, check_state
from ldpstats.clients.device import SingleDevice
from ldpstats.clients.secrecy import HIDDEN, secretive
from ldpstats.clients.state import StateFile
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.words import Words

__all__ = ["RAPPORClient", "opened_client"]

Array = npt.NDArray[Any]

_FORMAT, _VERSION = "ldpstats-rappor-client", 2
_SECRET_BYTES = 32


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
    _words: Words = field(repr=False)
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
    def report(self, value: object) -> str:
        """One report of the answer, "cohort:bits", from its permanent response.

        Raises
        ------
        InvalidArgument
            If the value is not a string, over an open alphabet.
        UnknownCategory
            For a value that is not in the alphabet.
        BudgetSpent
            For a second report at f = 0.
        """
        return self._budget.spend(lambda: self._drawn(value), lambda report: 1)

    def _drawn(self, value: object) -> str:
        rappor = self.mechanism
        one, zero = rappor.report_thresholds()
        thresholds = [one if bit else zero for bit in self._permanent(value)]
        # no bit is owned here: each has the threshold of its permanent value
        none = np.empty((1, 0), dtype=np.int64)
        y = samplers.sample_bits(none, rappor.n_bits, 0, thresholds, self._words)
        return str(rappor.report_labels(Reports(y, rappor, cohort=np.array([self.cohort])))[0])

    def _permanent(self, value: object) -> npt.NDArray[np.bool_]:
        """The bits of the permanent response, (m,); see the specification above."""
        rappor = self.mechanism
        if self._cells is not None:
            codes, _ = encode("value", [value], rappor.alphabet)
            cells, text = self._cells[codes[0]], str(rappor.alphabet[codes[0]])
        else:
            answer = pd.Series([value], dtype=object)
            cells = rappor.answer_hash.own(answer, np.array([self.cohort]))[0]
            text = str.__str__(value)  # what is hashed, not what an Enum calls itself
        own = np.zeros(rappor.n_bits, dtype=bool)
        own[cells] = True
        owned, other = rappor.permanent_thresholds()
        head = f"ldpstats permanent 1 {self.cohort} {other} {rappor.filter_digest}\0"
        message = head.encode("ascii") + hashlib.sha256(text.encode("utf-8")).digest()
        words = _keyed_words(self._secret, message, rappor.n_bits)
        return np.where(own, _below(words, owned), _below(words, other))

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
    words: Words,
    secret: bytes | None,
    state: str | os.PathLike[str] | None,
    limit: int | None,
) -> RAPPORClient:
    """A client with the secret that is given, that of its file, or a new one."""
    budget: Budget = MemoryBudget(limit)
    if secret is not None:
        if state is not None:
            raise InvalidArgument("state", state, "goes without a secret, which it would hold too")
        if not isinstance(secret, bytes) or len(secret) != _SECRET_BYTES:
            remedy = f"must be {_SECRET_BYTES} random bytes, such as secrets.token_bytes(32)"
            raise InvalidArgument("secret", HIDDEN, remedy)
        return _client(rappor, _cohort(secret, rappor.n_cohorts), secret, words, budget)

    def drawn() -> tuple[int, bytes]:
        new = words(_SECRET_BYTES // 8).astype("<u8").tobytes()
        return _cohort(new, rappor.n_cohorts), new

    if state is None:
        return _client(rappor, *drawn(), words, budget)
    file = StateFile.at(state)
    document, made = file.opened(lambda: _state(rappor, *drawn()))
    cohort, kept = _checked_state(document, rappor, str(file.path))
    if limit is not None:  # marks would be a trace of each report
        budget = FileBudget(limit, file, document, made)
    return _client(rappor, cohort, kept, words, budget)


def _client(rappor: Any, cohort: int, secret: bytes, words: Words, budget: Budget) -> RAPPORClient:
    cells = _alphabet_cells(rappor, cohort)
    return RAPPORClient(rappor, cohort, secret, words, budget, cells)


def _alphabet_cells(rappor: Any, cohort: int) -> Array | None:
    return None if rappor.alphabet is None else rappor.cells_of_cohort(cohort)


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
    if type(cohort) is not int or not 0 <= cohort < rappor.n_cohorts:
        raise InvalidArgument("cohort", cohort, f"must be a number below {rappor.n_cohorts}")
    digits = 2 * _SECRET_BYTES
    if (
        not isinstance(secret, str)
        or len(secret) != digits
        or set(secret) - set("0123456789abcdef")
    ):
        raise InvalidArgument("secret", HIDDEN, f"must be {digits} hexadecimal digits")
    return cohort, bytes.fromhex(secret)


def _keyed_words(secret: bytes, message: bytes, n: int) -> npt.NDArray[np.uint64]:
    """The first n words of the stream of a message, (n,): step 1 of the specification."""
    blocks = (
        hmac.digest(secret, message + i.to_bytes(8, "big"), "sha256") for i in range(-(-n // 4))
    )
    return np.frombuffer(b"".join(blocks), dtype="<u8")[:n].astype(np.uint64)


def _cohort(secret: bytes, n_cohorts: int) -> int:
    """The cohort of a device: step 2 of the specification."""
    message = f"ldpstats cohort 1 {n_cohorts}".encode("ascii")
    return (int(_keyed_words(secret, message, 1)[0]) * n_cohorts) >> 64


def _below(words: npt.NDArray[np.uint64], threshold: int) -> npt.NDArray[np.bool_]:
    """Which words are below a threshold from 0 to 2^64."""
    if threshold == 0:
        return np.zeros(words.size, dtype=bool)
    return np.asarray(words <= np.uint64(threshold - 1))
