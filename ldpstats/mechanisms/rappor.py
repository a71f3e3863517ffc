"""RAPPOR: Bloom filters with a permanent and an instantaneous randomised response.

The respondent's device makes permanent responses from a secret, without a memory. The secret, the
cohort and the permanent responses are specified in section 8 of
``ldpstats/clients/SPECIFICATION.md``; `ldpstats.clients.portable` has the code.

Surveys with the same filters and noise, in which only p and q differ, share the permanent response
of every answer, and tell nothing new. Any other two share none: were some answers shared and others
not, responses that differ would rule out some answers for sure.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    named_only,
    one_of,
    positive_integer,
    probability,
    record,
)
from ldpstats.channels.certificates import Audit
from ldpstats.channels.structured import Dense, bit_ratios
from ldpstats.clients.device import (
    Budget,
    SingleDevice,
    StateFile,
    check_audit,
    check_cohorts,
    check_state,
    client_document,
    secretive,
)
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import HIDDEN, InvalidArgument, NotAvailable
from ldpstats.hints import guided
from ldpstats.labels import Labels, Mask, as_labels, encode, labels_to_json
from ldpstats.likelihood.joint import of_paths
from ldpstats.mechanisms.base import Mechanism, set_fields
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated
from ldpstats.mechanisms.hashed import (
    AnswerHash,
    HashedBits,
    MD5Hash,
    UnknownHash,
)
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import system_words

_HASHES = ("ldpstats", "google", "given")
_LEAST_F = 1e-6  # as the least epsilon: below it probabilities near one lose their digits


_MOST_OWNED = 8  # bits of a cohort that are listed as labels
_MOST_PATHS = 1 << 16  # pairs of paths of answers


def two_steps(device: TwoResponses, owned: Array) -> tuple[Array, Array]:
    """Channels of a permanent response, (k, 2^m), and of a report given it, (2^m, 2^m).

    Of the m bits that k answers own or not, (k, m); the first changes fastest.
    """
    P, R = np.ones((len(owned), 1)), np.ones((1, 1))
    report = np.array([[1.0 - device.p, device.p], [1.0 - device.q, device.q]])
    for bit in owned.T:
        one = np.where(bit, 1.0 - device.f / 2.0, device.f / 2.0)
        P, R = np.hstack([P * (1.0 - one)[:, None], P * one[:, None]]), np.kron(report, R)
    return P, R


class TwoResponses(Mechanism):
    """A permanent response to an answer, which is randomised anew for every report."""

    f: float
    p: float
    q: float
    lifetime_epsilon: float  # of any number of reports of one answer by one client
    filter_digest: str  # of all that says which bits an answer owns
    cells_of_cohort: Any  # those of the answers of a list, (S, h), in one cohort
    _unsaid = ("epsilon",)  # f, p and q are long enough, and say it

    def lifetime_audit(self) -> Audit:
        """The audit of all reports of one answer together: of the permanent response."""
        permanent: Any = replace(self, p=0.0, q=1.0)  # type: ignore[type-var]
        sampler = permanent._largest(*portable.rise_and_fall(*self.permanent_thresholds()))
        words, epsilon = f"the permanent response of {self}", permanent._channel_epsilon()
        return Audit(words, self.lifetime_epsilon, epsilon, sampler)

    @property
    def p1(self) -> float:
        """q*: P(bit = 1) in one report, of a bit that the answer owns."""
        return (1.0 - self.f) * self.q + self.f * (self.p + self.q) / 2.0

    @property
    def p0(self) -> float:
        """p*: P(bit = 1) in one report, of any other bit."""
        return (1.0 - self.f) * self.p + self.f * (self.p + self.q) / 2.0

    @property
    def permanent(self) -> str | None:
        """What `client` makes permanent responses from, beside its secret and the answer."""
        return f"{self.filter_digest} {self.permanent_thresholds()[1]}" if self.f else None

    def permanent_thresholds(self) -> tuple[int, int]:
        """P(permanent bit = 1) of a bit that the answer owns, and does not own, out of 2^64."""
        turned = samplers.threshold(self.f / 2.0, "up")
        return (1 << 64) - turned, turned

    def report_thresholds(self) -> tuple[int, int]:
        """P(reported bit = 1) where the permanent one is 1, and where it is 0, out of 2^64."""
        return samplers.bit_thresholds(self.q, self.p)

    def _check_noise(self) -> None:
        """Check f, p and q."""
        set_fields(self, f=probability("f", self.f, one=False))
        if 0.0 < self.f < _LEAST_F:
            raise InvalidArgument(
                "f", self.f, f"must be 0 or at least {_LEAST_F:g}: less noise cannot be audited"
            )
        set_fields(self, p=probability("p", self.p), q=probability("q", self.q))
        if self.p == self.q:
            raise InvalidArgument("q", self.q, "must differ from p: reports would say nothing")

    def audit(self) -> Audit:
        """Compare the declared epsilon of one report with the worst pair of answers; the sampler's.

        `Audit.lifetime` is the epsilon of all reports of one answer (see `lifetime_audit`).
        """
        return replace(super().audit(), lifetime=self.lifetime_epsilon)

    def client(  # type: ignore[override]
        self,
        entropy: Callable[[int], bytes] | None = None,
        *,
        secret: bytes | None = None,
        state: str | os.PathLike[str] | None = None,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
    ) -> RAPPORClient:
        """A respondent's client, which gives each answer one permanent response for good.

        Parameters
        ----------
        entropy : callable, optional
            As for `collector`.
        secret : bytes of length 32, optional
            The device's secret, from a key store of its own.
        state : path-like, optional
            File that keeps the secret and the cohort, made (for its user alone) if there is none;
            no answer or trace of one is in it. One that others may read or change is refused.
            Where it counts (at f = 0), restoring an older copy gives the budget again.
        max_epsilon : float, optional
            The largest lifetime epsilon that is accepted, in nats; at f = 0, epsilon of the one
            report.
        allow_no_privacy : bool
            Whether to run a mechanism that does not protect every answer that it should; and, at
            f = 0, whether to report more than once.

        Returns
        -------
        RAPPORClient

        Raises
        ------
        InvalidArgument
            Where an audit, of one report or of a lifetime, finds that the sampler leaks too much;
            for a secret of another kind, both a secret and a state, and a file that cannot be used.
        MechanismMismatch
            For the state of a client of another mechanism.

        Warns
        -----
        LDPWarning
            Beyond 2^16 cohorts, by one of which a respondent could be recognised.

        Notes
        -----
        With neither `secret` nor `state`, a secret is drawn and lives in memory only. That is for
        devices that never restart: a new secret gives each answer a new permanent response, and two
        of them tell more than one lifetime. At f = 0 what must not be forgotten is that the report
        was made, and only `state` keeps that.

        One secret may serve several surveys. Those with the same filters and f, that differ in p
        and q only, share the permanent response of every answer; others share none.
        """
        check_cohorts(self.n_cohorts)
        once = self.f == 0.0 and not boolean("allow_no_privacy", allow_no_privacy)
        spent = self.epsilon if once else self.lifetime_epsilon
        self._permitted(spent, max_epsilon, allow_no_privacy)
        check_audit(self.lifetime_audit())
        words, budget = system_words(entropy), Budget(1 if once else None)
        if secret is not None:
            if state is not None:
                remedy = "goes without a secret, which it would hold too"
                raise InvalidArgument("state", state, remedy)
            if not isinstance(secret, bytes) or len(secret) != portable.SECRET_BYTES:
                remedy = f"must be {portable.SECRET_BYTES} random bytes, "
                remedy += "such as secrets.token_bytes(32)"
                raise InvalidArgument("secret", HIDDEN, remedy)

        def fresh() -> dict[str, Any]:
            own = words.bytes(portable.SECRET_BYTES) if secret is None else secret
            return _state(self, portable.cohort_of(own, max(self.n_cohorts, 1)), own)

        # the secret that is given, that of the file, or a new one
        file = None if state is None else StateFile(state)
        document, made = (fresh(), 0) if file is None else file.opened(fresh)
        cohort, own = _checked_state(document, self, "" if file is None else file.path)
        if once and file is not None:  # marks would be a trace of each report
            budget = Budget(1, file, document, made)
        cells = None if self.is_open else self.cells_of_cohort(cohort)
        return RAPPORClient(self, cohort, own, words, budget, cells)


@named_only("RAPPOR(16, 2, 8, f=0.5, p=0.25, q=0.75)")
@record
class RAPPOR(TwoResponses, HashedBits):  # type: ignore[override]
    """RAPPOR (EPK14; FPE16 section II).

    The Bloom filter of the answer is randomised once and for all (permanent response: each bit
    becomes 1 with probability f/2, 0 with f/2, and stays as it is otherwise), and that is
    randomised anew for every report (instantaneous response: 1 with probability q where it is 1, p
    where it is 0). One report sets a bit that the answer owns with probability
    ``q* = (1 - f) q + f (p + q)/2``, any other with ``p* = (1 - f) p + f (p + q)/2``.

    Parameters
    ----------
    n_bits : int
        Bits of a report. With one bit, and one hash, it is a `BooleanRAPPOR`, which is what the
        call returns: the answers are False and True, or the two of `alphabet`.
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
        The package's own hash; or the MD5 of google/rappor's Python client (at most 16
        hashes and 256 bits; its C++ client agrees up to 256 cohorts); or one that is not known
        here, for reports of other clients: candidates are then a `CandidateMap`.

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
    _: KW_ONLY
    f: float
    p: float
    q: float
    alphabet: Any = None
    hashing: str = "ldpstats"

    @guided
    def __new__(
        cls,
        n_bits: int,
        n_hashes: int,
        n_cohorts: int,
        f: float,
        p: float,
        q: float,
        alphabet: Any = None,
        hashing: str = "ldpstats",
    ) -> Self:
        whole = isinstance(n_bits, int | np.integer) and not isinstance(n_bits, bool)
        if cls is RAPPOR and whole and n_bits == 1:
            one_of("hashing", hashing, _HASHES)
            if positive_integer("n_hashes", n_hashes) > 1:
                remedy = "must be 1 where a report has one bit: a true answer owns it, or does not"
                raise InvalidArgument("n_hashes", n_hashes, remedy)
            positive_integer("n_cohorts", n_cohorts)
            categories = _truth_values("alphabet", (False, True) if alphabet is None else alphabet)
            return BooleanRAPPOR(f=f, p=p, q=q, categories=categories)  # type: ignore[return-value]
        return super().__new__(cls)

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What copies of it are made from."""
        return tuple(getattr(self, item.name) for item in fields(self))

    def __post_init__(self) -> None:
        self._check_noise()
        one_of("hashing", self.hashing, _HASHES)
        self._check_bits()
        if self.hashing != "ldpstats" and self.alphabet is not None:
            raise InvalidArgument("hashing", self.hashing, "goes without an alphabet")
        if self.hashing == "google":
            if self.n_hashes > 16 or self.n_bits > 256:
                raise InvalidArgument("hashing", "google", "has at most n_hashes=16 and n_bits=256")

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """Privacy of one report, in nats."""
        return self._epsilon

    @cached_property
    def _epsilon(self) -> float:
        return self._largest(*bit_ratios(self.p1, self.p0))

    @property
    def lifetime_epsilon(self) -> float:  # type: ignore[override]
        """Privacy of any number of reports of one answer by one client, in nats (EPK14 Thm 1)."""
        return self._largest(*bit_ratios(1.0 - self.f + self.f / 2.0, self.f / 2.0))

    def _thresholds(self) -> tuple[int, int]:
        owned, other = self.permanent_thresholds()
        one, zero = self.report_thresholds()
        both = owned * one + other * zero, other * one + owned * zero  # out of 2**128
        up = [-(-value >> 64) for value in both]
        down = [value >> 64 for value in both]
        return (down[0], up[1]) if self.q > self.p else (up[0], down[1])

    @property
    def answer_hash(self) -> AnswerHash:
        shape = self.n_cohorts, self.n_hashes, self.n_bits
        if self.hashing == "given":
            return UnknownHash(*shape, str(self))
        return MD5Hash(*shape) if self.hashing == "google" else AnswerHash(*shape)

    def _owned(self, cells: Array) -> Mask:
        """Which bits answers own, (k, m), whose cells these are, (k, h)."""
        owned = np.zeros((len(cells), self.n_bits + 1), dtype=bool)  # the last is none
        np.put_along_axis(owned, cells.astype(np.int64), True, axis=1)
        return np.asarray(owned[:, :-1])

    def joint_epsilon(self, waves: int | Sequence[Mechanism], candidates: Any = None) -> float:
        made, law = self._waves(waves), (self.filter_digest, self.f)
        laws = {(one.filter_digest, one.f) if isinstance(one, RAPPOR) else None for one in made}
        if laws != {law}:
            remedy = f"must be waves of RAPPOR with the filters and the f of {self}"
            raise InvalidArgument("waves", waves, remedy)
        T, k = len(made), len(self.labels(candidates))
        if k ** (2 * T) > _MOST_PATHS:
            raise NotAvailable(f"epsilon of {k} answers in {T} waves has too many pairs of paths")
        seen = np.indices((2,) * T).reshape(T, -1)  # what may be reported of a bit
        found = 0.0
        for cells in self.cells(candidates):
            kinds, n = np.unique(self._owned(cells), axis=1, return_counts=True)  # of bits

            def same(some: tuple[int, ...], kinds: Array = kinds) -> Array:
                total: Any = 0.0
                for kept in (False, True):
                    law = np.where(kinds == kept, 1.0 - self.f / 2.0, self.f / 2.0)[:, :, None]
                    for t in some:
                        one = made[t].q if kept else made[t].p
                        law = law * np.where(seen[t], one, 1.0 - one)
                    total = total + law
                log_law = np.log(np.maximum(total, 1e-300))  # (k, kinds, reports)
                return np.asarray(log_law.reshape(k, -1).T)

            L = of_paths(same, tuple(range(T)), T, k).T.reshape(k**T, len(n), -1)
            for one in L:
                found = max(found, float(((one - L).max(axis=2) @ n).max()))
        return found

    def as_labels(self, reports: Reports, candidates: Any = None) -> list[tuple[Array, Reports]]:
        """Reports of the bits that answers own, as numbers: respondents of a cohort, and theirs.

        Other bits say nothing of the answer in one wave, and in several as much as the noise of
        the permanent response keeps of whether it is the same.

        Raises
        ------
        NotAvailable
            For more than 8 bits that answers own in a cohort.
        """
        found, cells = [], self.cells(candidates)
        assert reports.cohort is not None
        for c in np.unique(reports.cohort):
            rows, owned = np.flatnonzero(reports.cohort == c), self._owned(cells[c])
            bits = np.unpackbits(reports.y[rows], axis=1, count=self.n_bits, bitorder="little")
            own = owned.any(axis=0)
            if own.sum() > _MOST_OWNED:
                raise NotAvailable(
                    f"{self}: answers own {own.sum()} bits, of which at most {_MOST_OWNED} can be "
                    "listed: use fewer candidates"
                )
            steps = two_steps(self, owned[:, own])
            made = CustomMechanism(
                steps[0] @ steps[1],
                self.labels(candidates),
                steps[1].shape[1],
                description=str(self),
                permanent=self.permanent,
                steps=steps if self.f else None,
            )
            y = bits[:, own].astype(np.int64) @ (1 << np.arange(own.sum()))
            found.append((rows, Reports(y, made)))
        return found

    def client_document(self) -> dict[str, Any]:
        """What a device without Python is given, see `Mechanism.client_document`.

        Its `epsilon` is that of all reports of one answer; at f = 0, of the one report. In a
        questionnaire a device draws each report anew, without a permanent response, unless the
        questionnaire has ``keep=True``.

        Raises
        ------
        InvalidArgument, NotAvailable
            As for `Mechanism.client_document`.

        Examples
        --------
        >>> rappor = RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.25, q=0.75)
        >>> draw = rappor.client_document()["question"]["draw"]
        >>> draw["kind"], draw["absent"], draw["once"]
        ('rappor', '4611686018427387904', False)
        """
        once = self.f == 0.0
        check_audit(self.audit())
        check_audit(self.lifetime_audit())
        spent = self.epsilon if once else self.lifetime_epsilon
        return client_document(self.fingerprint, spent, {"question": self._own_document()})

    def _own_document(self) -> dict[str, Any]:
        """The question of a device that keeps its secret."""
        names = ("owned", "absent", "one", "zero")
        both = (*self.permanent_thresholds(), *self.report_thresholds())
        thresholds = dict(zip(names, map(str, both), strict=True))
        draw = {"kind": "rappor", **self._hash_document(), "digest": self.filter_digest}
        draw |= {**thresholds, "once": self.f == 0.0}
        return self._question_document() | {"draw": draw}

    def _kept_document(self) -> dict[str, Any] | None:
        return self._own_document() if self.f else None

    @cached_property
    def filter_digest(self) -> str:  # type: ignore[override]
        """SHA-256, in hexadecimal digits, of all that says which bits an answer owns.

        Two surveys with one digest have the same filters of all answers.
        """
        labels = None if self.alphabet is None else labels_to_json(self.alphabet)
        law = [self.n_bits, self.n_hashes, self.n_cohorts, self.hashing, labels]
        return hashlib.sha256(portable.canonical(law)).hexdigest()


@guided
@named_only("BooleanRAPPOR(f=0.5, p=0.25, q=0.75)")
@record
class BooleanRAPPOR(TwoResponses, Enumerated):
    """RAPPOR of a truth value: one bit, which a true answer owns and a false one does not.

    Its noise is that of `RAPPOR`, which makes it with ``n_bits=1``: where the answer is true the
    bit is 1 with probability ``p1 = (1 - f) q + f (p + q)/2``, where it is false with ``p0 = (1 -
    f) p + f (p + q)/2``. Nothing is hashed, and cohorts say nothing: a report is 0 or 1. A
    client that rests on `client_document` keeps nothing; that of `client` is as of `RAPPOR`, and
    in a questionnaire with ``keep=True`` all keep their responses.

    Parameters
    ----------
    f : float
        Noise of the permanent response, in [0, 1); 0 is for collection that happens once.
    p, q : float
        P(reported bit = 1) where the permanent one is 0, and where it is 1; different.
    categories : sequence of two labels, optional
        The answers, that of a true one second.

    Examples
    --------
    >>> rappor = RAPPOR(n_bits=1, n_hashes=1, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    >>> print(rappor)
    BooleanRAPPOR(f=0.5, p=0.25, q=0.75)
    >>> rappor.channel().matrix()
    array([[0.625, 0.375],
           [0.375, 0.625]])
    >>> round(rappor.epsilon, 3), round(rappor.lifetime_epsilon, 3)
    (0.511, 1.099)
    """

    _: KW_ONLY
    f: float
    p: float
    q: float
    categories: Any = (False, True)
    outputs = pd.RangeIndex(2)
    n_cells = 1

    def __post_init__(self) -> None:
        self._check_noise()
        set_fields(self, categories=_truth_values("categories", self.categories))

    @cached_property
    def _channel(self) -> Dense:
        one = np.array([self.p0, self.p1])
        return Dense(np.column_stack([1.0 - one, one]))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """Privacy of one report, in nats."""
        return self._channel.epsilon()

    @property
    def steps(self) -> tuple[Array, Array] | None:  # type: ignore[override]
        return two_steps(self, np.array([[False], [True]])) if self.f else None

    @property
    def lifetime_epsilon(self) -> float:  # type: ignore[override]
        """Privacy of any number of reports of one answer by one client, in nats."""
        return float(np.log((1.0 - self.f / 2.0) / (self.f / 2.0))) if self.f else float("inf")

    def _largest(self, up: float, down: float) -> float:
        return max(up, down)

    @cached_property
    def filter_digest(self) -> str:  # type: ignore[override]
        """SHA-256, in hexadecimal digits, of the answers."""
        law = ["boolean", labels_to_json(self.categories)]
        return hashlib.sha256(portable.canonical(law)).hexdigest()

    def cells_of_cohort(self, cohort: int) -> Array:
        """The bit that each answer owns, (2, 1): a false one owns none that is sent."""
        return np.array([[1], [0]])


def _truth_values(name: str, given: Any) -> Labels:
    """The two answers that one bit tells apart."""
    labels = as_labels(name, given)
    if len(labels) != 2:
        remedy = "must be two labels where a report has one bit, that of a true answer second"
        raise InvalidArgument(name, given, remedy)
    return labels


# -- The respondent's device under RAPPOR: permanent responses from a secret, without a memory ----


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

    @property
    def total_epsilon(self) -> float:
        """Privacy of all reports of one answer together, in nats."""
        once = self._budget.limit is not None
        return float(self.mechanism.epsilon if once else self.mechanism.lifetime_epsilon)

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
        y = portable.bits((), (), groups, self._words)
        sent = portable.shown(y, rappor.n_cells)
        return f"{self.cohort}:{sent}" if rappor.n_cohorts else int(sent)

    def _permanent(self, value: object) -> Mask:
        """The bits of the permanent response, (m,)."""
        rappor, cells = self.mechanism, None
        if self._cells is not None:
            code = int(encode("value", [value], rappor.labels())[0][0])
            text, cells = str(rappor.labels()[code]), self._cells[code].tolist()
        elif rappor._device is not None:
            device = rappor._device
            with suppress(portable.Refused):
                text, cells = device.read(value), device.hash.of(value, self.cohort)
        if cells is None:
            # an Enum is hashed as the text that it is, not as what it calls itself; others are
            # refused
            answer, cohort = pd.Series([value], dtype=object), np.array([self.cohort])
            cells = rappor.answer_hash.own(answer, cohort)[0].tolist()
            text = str.__str__(value)
        owned, absent = rappor.permanent_thresholds()
        head = f"{self.cohort} {absent} {rappor.filter_digest}"
        return np.array(
            portable.permanent_response(
                self._secret, head, text, cells, rappor.n_cells, owned, absent
            )
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
        cells = None if mechanism.is_open else mechanism.cells_of_cohort(cohort)
        return replace(device, cohort=cohort, _secret=secret, _cells=cells)

    def __repr__(self) -> str:
        once = ", reports=1" if self._budget.limit is not None else ""
        return (
            f"RAPPORClient({self.mechanism}, cohort={self.cohort}{once}, epsilon of all reports of "
            f"an answer together: {self.total_epsilon:.6g})"
        )


def _state(rappor: Any, cohort: int, secret: bytes) -> dict[str, Any]:
    head = {"format": _FORMAT, "version": _VERSION, "fingerprint": rappor.fingerprint}
    return head | {"cohort": cohort, "secret": secret.hex()}


def _checked_state(document: Any, rappor: Any, path: str) -> tuple[int, bytes]:
    """Cohort and secret of a state; messages do not show it."""
    given = document if isinstance(document, dict) else {}
    if repr(given.get("format")) == repr(_FORMAT) and "permanent" in given:
        remedy = "was written by 0.1.0, which kept responses and hashes of answers: remove it, and "
        remedy += "let client(state=...) make another; each answer that is reported again then "
        raise InvalidArgument("state", path, f"{remedy}costs one more lifetime epsilon")
    check_state(given, {"format": _FORMAT, "version": _VERSION}, rappor.fingerprint, path)
    cohort, secret, most = given.get("cohort"), given.get("secret"), max(rappor.n_cohorts, 1)
    if type(cohort) is not int or not 0 <= cohort < most:
        raise InvalidArgument("cohort", cohort, f"must be a number below {most}")
    digits = 2 * portable.SECRET_BYTES
    if not isinstance(secret, str) or not re.fullmatch(f"[0-9a-f]{{{digits}}}", secret):
        raise InvalidArgument("secret", HIDDEN, f"must be {digits} hexadecimal digits")
    return cohort, bytes.fromhex(secret)
