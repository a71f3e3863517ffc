"""RAPPOR: Bloom filters with a permanent and an instantaneous randomised response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats import samplers
from ldpstats.checks import one_of, probability
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.labels import encode
from ldpstats.mechanisms.base import Client
from ldpstats.mechanisms.hashed_bits import HashedBits, most_different
from ldpstats.mechanisms.hashing import hash_strings, md5_cells
from ldpstats.privacy import Audit
from ldpstats.randomness import system_words
from ldpstats.reports import Reports

__all__ = ["RAPPOR", "RAPPORClient"]

Array = npt.NDArray[Any]

_FORMAT, _VERSION = "ldpstats-rappor-client", 1
_LEAST_F = 1e-6  # as the least epsilon: below it probabilities near one lose their digits


@dataclass(frozen=True, eq=False)
class RAPPOR(HashedBits):
    """RAPPOR (EPK14; FPE16 section II).

    The Bloom filter of the answer is randomised once and for all (permanent response: each bit
    becomes 1 with probability f/2, 0 with f/2, and stays as it is otherwise), and that is
    randomised anew for every report (instantaneous response: 1 with probability q where it is 1, p
    where it is 0). One report sets a bit that the answer owns with probability
    ``q* = (1 - f) q + f (p + q)/2``, any other with ``p* = (1 - f) p + f (p + q)/2``.

    Parameters
    ----------
    n_bits : int
        Bits of a report, at least 2.
    n_hashes : int
        Hashes of an answer.
    n_cohorts : int
        Cohorts; a respondent stays in hers.
    f : float
        Noise of the permanent response, in [0, 1); 0 is for collection that happens once.
    p, q : float
        P(reported bit = 1) where the permanent one is 0, and where it is 1; different.
    alphabet : int or sequence of labels, optional
        All possible answers; permutations then take the place of hashes.
    hashing : {"ldpstats", "google", "given"}
        The hash: that of `ldpstats.mechanisms.hashing`; or the MD5 of google/rappor's Python client
        (at most 16 hashes and 256 bits; its C++ client agrees up to 256 cohorts); or one that is
        not known here, for reports of other clients: candidates are then a `CandidateMap`.

    Notes
    -----
    With h hashes and at least 2 h bits, one report is ``h ln[q* (1 - p*) / (p* (1 - q*))]``
    private (`epsilon`), and all reports of one answer together ``2 h ln[(1 - f/2)/(f/2)]``
    (`lifetime_epsilon`), which is infinite at f = 0. Fewer bits make filters overlap and lower
    both. Answers that change cost a lifetime each.

    Examples
    --------
    >>> rappor = RAPPOR(n_bits=128, n_hashes=2, n_cohorts=8, f=0.0, p=0.25, q=0.75)
    >>> round(rappor.epsilon, 3), rappor.lifetime_epsilon
    (4.394, inf)
    >>> rappor = RAPPOR(n_bits=128, n_hashes=2, n_cohorts=8, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 3), round(rappor.lifetime_epsilon, 3)
    (1.074, 4.394)
    """

    n_bits: int
    n_hashes: int
    n_cohorts: int
    f: float
    p: float
    q: float
    alphabet: Any = None
    hashing: str = "ldpstats"

    def __post_init__(self) -> None:
        object.__setattr__(self, "f", probability("f", self.f, one=False))
        if 0.0 < self.f < _LEAST_F:
            raise InvalidArgument(
                "f", self.f, f"must be 0 or at least {_LEAST_F:g}: less noise cannot be audited"
            )
        object.__setattr__(self, "p", probability("p", self.p))
        object.__setattr__(self, "q", probability("q", self.q))
        if self.p == self.q:
            raise InvalidArgument("q", self.q, "must differ from p: reports would say nothing")
        one_of("hashing", self.hashing, ("ldpstats", "google", "given"))
        self._check_bits()
        if self.hashing != "ldpstats" and self.alphabet is not None:
            raise InvalidArgument("hashing", self.hashing, "goes without an alphabet")
        if self.hashing == "google":
            if self.n_hashes > 16 or self.n_bits > 256:
                raise InvalidArgument("hashing", "google", "has at most n_hashes=16 and n_bits=256")

    @property
    def p1(self) -> float:
        """q*: P(bit = 1) in one report, of a bit that the answer owns."""
        return (1.0 - self.f) * self.q + self.f * (self.p + self.q) / 2.0

    @property
    def p0(self) -> float:
        """p*: P(bit = 1) in one report, of any other bit."""
        return (1.0 - self.f) * self.p + self.f * (self.p + self.q) / 2.0

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """Privacy of one report, in nats."""
        return self.worst_channel().epsilon()

    @property
    def lifetime_epsilon(self) -> float:
        """Privacy of any number of reports of one answer by one client, in nats (EPK14 Thm 1)."""
        return self._permanent().worst_channel().epsilon()

    def _permanent(self) -> RAPPOR:
        """The permanent response as a mechanism of its own."""
        return RAPPOR(self.n_bits, self.n_hashes, self.n_cohorts, self.f, 0.0, 1.0)

    def _steps(self) -> tuple[int, int, int, int]:
        """Thresholds of a permanent 1 (owned, other) and of a reported 1 (where it is 1, or 0)."""
        turned = samplers.threshold(self.f / 2.0, "up")
        up, down = ("up", "down") if self.q > self.p else ("down", "up")
        reported = samplers.threshold(self.q, down), samplers.threshold(self.p, up)  # type: ignore[arg-type]
        return (1 << 64) - turned, turned, *reported

    def _thresholds(self) -> tuple[int, int]:
        owned, other, one, zero = self._steps()
        both = owned * one + other * zero, other * one + owned * zero  # out of 2**128
        up = [-(-value >> 64) for value in both]
        down = [value >> 64 for value in both]
        return (down[0], up[1]) if self.q > self.p else (up[0], down[1])

    def lifetime_audit(self) -> Audit:
        """The audit of all reports of one answer together: of the permanent response."""
        f, worst = self.f, self._permanent().worst_channel()
        bits = sum(most_different(self.n_bits, self.n_hashes, 1.0, 1.0))
        declared = bits * float(np.log((1.0 - f / 2.0) / (f / 2.0))) if f else float("inf")
        owned, other, *_ = self._steps()
        words = f"the permanent response of {self}"
        return Audit(words, declared, worst.epsilon(), self._realised(owned, other))

    def audit(self) -> Audit:
        """Compare the declared epsilon of one report with the worst pair of answers; the sampler's.

        `Audit.lifetime` is the epsilon of all reports of one answer (see `lifetime_audit`).
        """
        return replace(super().audit(), lifetime=self.lifetime_epsilon)

    def hashes(self, name: str, labels: pd.Index[Any]) -> Array:
        self._hash_is_known()
        if self.hashing == "ldpstats":
            return super().hashes(name, labels)
        return md5_cells(labels, self.n_cohorts, self.n_hashes, self.n_bits, name)

    def _hash_is_known(self) -> None:
        if self.hashing == "given":
            raise NotAvailable(
                f"the hash of {self} is not known here: pass candidates=CandidateMap(labels, cells)"
            )

    def _own_cells(self, strings: pd.Series[Any], cohort: Array) -> Array:
        self._hash_is_known()
        if self.hashing == "ldpstats":
            return super()._own_cells(strings, cohort)
        hash_strings("values", strings)  # refuses what is no UTF-8 string, in its place
        codes, distinct = pd.factorize(strings)
        cells = md5_cells(distinct, self.n_cohorts, self.n_hashes, self.n_bits)
        return np.asarray(cells[cohort, codes].astype(np.int64))

    def client(self, entropy: Callable[[int], bytes] | None = None) -> RAPPORClient:
        """A respondent's client, which remembers its permanent responses (see `RAPPORClient`).

        Raises
        ------
        InvalidArgument
            Where an audit, of one report or of a lifetime, finds that the sampler leaks too much.
        """
        base, lifetime = self.collector(entropy), self.lifetime_audit()
        if not lifetime.agrees:
            raise InvalidArgument("mechanism", str(self), f"leaks more than it claims\n{lifetime}")
        cohort = samplers.sample_krr(np.zeros(1, dtype=np.int64), self.n_cohorts, 0, base.words)
        return RAPPORClient(self, base.words, int(cohort[0]))

    def __str__(self) -> str:
        known = "" if self.alphabet is None else f", alphabet of {len(self.alphabet)}"
        other = "" if self.hashing == "ldpstats" else f", hashing={self.hashing!r}"
        return (
            f"RAPPOR(n_bits={self.n_bits}, n_hashes={self.n_hashes}, n_cohorts={self.n_cohorts}, "
            f"f={self.f:g}, p={self.p:g}, q={self.q:g}{known}{other})"
        )


@dataclass(frozen=True)
class RAPPORClient(Client):
    """One respondent's device: it keeps a cohort, and a permanent response for each answer.

    Made by `RAPPOR.client`. However often the same answer is reported, the reports together leak no
    more than the permanent response, which is `RAPPOR.lifetime_epsilon` private: save the state
    with `to_dict` and read it with `from_dict`, because a client that forgets starts a new
    lifetime. For the answers of many respondents, one report each, there is `RAPPOR.collector`.

    Examples
    --------
    >>> rappor = RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)
    >>> client = rappor.client()
    >>> report = client.report("www.example.org")
    >>> again = RAPPORClient.from_dict(client.to_dict(), rappor)
    >>> again.cohort == client.cohort, again.permanent == client.permanent
    (True, True)
    """

    cohort: int
    permanent: dict[str, str] = field(default_factory=dict, repr=False)

    def report(self, value: object) -> Any:
        """One report of the answer, "cohort:bits", from its permanent response.

        Raises
        ------
        InvalidArgument
            For a value that is no string, over an open alphabet.
        UnknownCategory
            For a value that is not in the alphabet.
        """
        rappor: Any = self.mechanism
        key, own = self._own_cells(value)
        owned, other, one, zero = rappor._steps()
        if key not in self.permanent:
            bits = samplers.sample_bits(own, rappor.n_bits, owned, other, self.words)
            self.permanent[key] = bits.tobytes().hex()
        remembered = np.frombuffer(bytes.fromhex(self.permanent[key]), dtype=np.uint8)[None, :]
        ones = samplers.unpack(remembered, rappor.n_bits)[0]
        thresholds = [one if bit else zero for bit in ones]
        # no bit is owned here: each has the threshold of its permanent value
        none = np.empty((1, 0), dtype=np.int64)
        y = samplers.sample_bits(none, rappor.n_bits, 0, thresholds, self.words)
        return rappor.report_labels(Reports(y, rappor, cohort=np.array([self.cohort])))[0]

    def privatize(self, values: object, missing: str = "raise") -> Reports:
        """Refused: without its memory a client would spend a lifetime on every call."""
        raise NotAvailable(
            "a RAPPORClient is one respondent's device: use report(value); for many respondents "
            "who report once each, use mechanism.collector().privatize(values)"
        )

    def _own_cells(self, value: object) -> tuple[str, Array]:
        """What the answer is remembered by, and its cells, shape (1, h)."""
        rappor: Any = self.mechanism
        cohort = np.array([self.cohort])
        if rappor.alphabet is not None:
            codes, _ = encode("value", [value], rappor.alphabet)
            return str(int(codes[0])), rappor._alphabet_own(codes, cohort)
        hashes = hash_strings("value", [value])
        cells = rappor._own_cells(pd.Series([value]), cohort)
        return f"{int(hashes[0]):016x}", cells

    def to_dict(self) -> dict[str, Any]:
        """The state as plain JSON types, which belongs on the respondent's device alone.

        It names each answer by its hash, which whoever can guess the answer can compute.
        """
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "fingerprint": self.mechanism.fingerprint,
            "cohort": self.cohort,
            "permanent": dict(self.permanent),
        }

    @classmethod
    def from_dict(
        cls,
        document: dict[str, Any],
        mechanism: RAPPOR,
        entropy: Callable[[int], bytes] | None = None,
    ) -> RAPPORClient:
        """Read the state that `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            For a document that is no such state.
        MechanismMismatch
            For the state of a client with other parameters.
        """
        head = (_FORMAT, _VERSION)
        if not isinstance(document, dict) or (
            (document.get("format"), document.get("version")) != head
        ):
            remedy = f'must have "format": "{_FORMAT}", "version": {_VERSION}'
            raise InvalidArgument("document", type(document), remedy)  # the state stays private
        if not isinstance(mechanism, RAPPOR):
            raise InvalidArgument("mechanism", mechanism, "must be the RAPPOR of the client")
        if document.get("fingerprint") != mechanism.fingerprint:
            raise MechanismMismatch(
                f"the state is of a client with fingerprint {document.get('fingerprint')}, not of "
                f"{mechanism} ({mechanism.fingerprint}): a client keeps its parameters"
            )
        cohort, permanent = document.get("cohort"), document.get("permanent")
        if type(cohort) is not int or not 0 <= cohort < mechanism.n_cohorts:
            raise InvalidArgument("cohort", cohort, f"must be below {mechanism.n_cohorts}")
        width = 2 * -(-mechanism.n_bits // 8)
        if not isinstance(permanent, dict) or not all(
            isinstance(v, str) and len(v) == width and not set(v) - set("0123456789abcdef")
            for v in permanent.values()
        ):
            raise InvalidArgument(
                "permanent", type(permanent), f"must hold {width} hexadecimal digits an answer"
            )
        return cls(mechanism, system_words(entropy), cohort, dict(permanent))
