"""Survey instruments: what a respondent's device can run."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ldpstats.arguments.checks import boolean
from ldpstats.channels.audit import Audit
from ldpstats.clients.budget import opened_budget
from ldpstats.clients.device import Device
from ldpstats.clients.document import client_document
from ldpstats.clients.limits import check_audit, check_cohorts, check_epsilon
from ldpstats.clients.specification import Specified
from ldpstats.sampling.words import Words, system_words

__all__ = ["Instrument"]

ClientType = TypeVar("ClientType", bound=Device)
CollectorType = TypeVar("CollectorType")


class Instrument(Specified, Generic[ClientType, CollectorType]):
    """What privatises answers on a device: a mechanism, or a survey that combines several."""

    @abstractmethod
    def _spent(self) -> float:
        """Privacy that one report spends, in nats; inf where no category is sensitive."""

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
        return client_document(self.fingerprint, self._spent(), asked)

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
            reports x epsilon private. None lifts the limit; their epsilon is then unbounded.
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
        self._permitted(self._spent(), max_epsilon, allow_no_privacy)
        words = system_words(entropy)
        return self._client(words, opened_budget(reports, state, self.fingerprint))

    def _permitted(self, epsilon: float, max_epsilon: float | None, allow_no_privacy: bool) -> None:
        """Refuse to run on a device what it does not allow, or what leaks more than it claims."""
        allowed = boolean("allow_no_privacy", allow_no_privacy) or self.unprotected
        check_epsilon(self, epsilon, max_epsilon, allowed)
        check_audit(self.audit())
