"""What every mechanism is, and what mechanisms share.

Bits of categories, of which each is noised on its own; the thresholds of samplers; the linear
equations of reports that are labels from a list; mechanisms by name, which reads specifications;
labels of several answers joined to one; and a mechanism in words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    as_array,
    counts_vector,
    distribution,
    html_table,
    listed,
    positive_epsilon,
    positive_integer,
    probability,
)
from ldpstats.channels.certificates import Audit
from ldpstats.channels.structured import Channel
from ldpstats.clients import Client, Collector
from ldpstats.clients.device import (
    Budget,
    Instrument,
    check_fingerprint,
    check_format,
    opened,
    plain,
    texts,
)
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable, shorten
from ldpstats.hints import guided
from ldpstats.labels import (
    Labels,
    align,
    as_labels,
    as_series,
    column_name,
    encode,
    labels_from_json,
    labels_to_json,
    place_of,
    sensitive_codes,
)
from ldpstats.likelihood.covariance import Covariance, multinomial
from ldpstats.likelihood.moments import Equations, Moments
from ldpstats.likelihood.rows import Likelihood
from ldpstats.reports.layout import (
    BitFormat,
    ReportFormat,
    label_codes,
    split_cohorts,
    with_cohorts,
)
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import SystemWords, Words, simulation_words

_FORMAT, _VERSION = "ldpstats-mechanism", 1
_HEAD = ("format", "version", "mechanism", "fingerprint")


class Mechanism(Instrument[Client, Collector]):
    """A known random mechanism with labelled categories.

    A subclass is a frozen dataclass. Its fields are its specification: they are what `to_dict`
    writes, and two mechanisms are equal when their specifications are.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> mechanism = ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0)
    >>> mechanism.epsilon, mechanism.fingerprint
    (1.0, '211ad228c83a')
    >>> recoded = mechanism >> {"nurse": "care", "teacher": "school", "driver": "transport"}
    >>> recoded.description, list(recoded.outputs)
    ('KRR(k=3, epsilon=1) >> recoded', ['care', 'school', 'transport'])
    >>> same = ldp.mechanism_from_dict(mechanism.to_dict())
    >>> same == mechanism
    True
    """

    # annotations only: a subclass has them as fields or as properties
    categories: Labels
    epsilon: float  # local differential privacy of one report, in nats; inf if there is none
    n_outputs: int  # possible labels of a report (of one cohort); 0 where reports are bit patterns
    n_bits: int  # width of a report in bits; 0 where reports are labels
    n_cohorts: int  # 0 for a mechanism that knows none
    sensitive: Labels | None = None  # the categories that are protected; None for all
    cohort_names: tuple[str, ...] = ()  # of a device of cohorts, before each report
    cohort_parts: tuple[Any, ...] = ()  # of a device of cohorts, what each of them does
    _cohort_shares: tuple[float, ...] = ()  # of a device of cohorts, how likely each is drawn
    is_separable: bool = True  # whether each of these determines the frequencies alone
    _unwritten: ClassVar[dict[str, Any]] = {}  # values of fields that documents leave out
    unknown: tuple[str, ...] = ()  # parameters of the channel that are estimated: `UnknownDevice`
    # channels of the response that devices keep, (k, b), and of a report given it, (b, l)
    steps: tuple[Array, Array] | None = None
    _channel: ClassVar[Any]  # Q, of mechanisms that list their categories
    _unsaid: tuple[str, ...] = ()  # parameters that the others say, and a name in words leaves out

    @property
    def shielded(self) -> Labels | None:
        """The categories that the design is made for, where epsilon is that of all; None for all.

        `privacy.uldp` certifies what they are promised.
        """
        return None

    @property
    def permanent(self) -> str | None:
        """Name of the response that devices may keep and report again with new noise; None if none.

        Mechanisms with one name may rest on one such response: two reports of one answer are then
        not independent given the answer. What joins two reports of a person asks this, and no other
        place says what is memoised.
        """
        return None

    @property
    def is_ordered(self) -> bool:
        """Whether the mechanism rests on the order of its categories."""
        return False

    def to_labels(self, name: str, values: object) -> object:
        """Answers, shape (n,), as labels of categories: numbers as their bins, where there are any.

        Parameters
        ----------
        name : str
            What to call the answers in an error.
        values : array-like, shape (n,)

        Raises
        ------
        UnknownCategory
            For a number that is in no bin; the message has its place.
        """
        return values

    def channel(self, candidates: Any = None) -> Channel:
        """The channel matrix Q, in structured form."""
        self._closed(candidates)
        return self._channel  # type: ignore[no-any-return]

    def matrix(self) -> pd.DataFrame:
        """Q as a table: answers in rows, reports in columns.

        Returns
        -------
        DataFrame, shape (k, l)
            The numbers of ``channel().matrix()``. Columns are what reports are in files: labels,
            bits such as "0110", with cohorts "cohort:report". Reports that tell the same share a
            column, as those of `URAP` that reveal an answer do, whatever the noise beside it.

        Raises
        ------
        NotAvailable
            Where answers are not listed, parameters are unknown, or reports are too many to list.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0).matrix().round(3)
                 nurse  teacher  driver
        nurse    0.576    0.212   0.212
        teacher  0.212    0.576   0.212
        driver   0.212    0.212   0.576
        >>> ldp.KRAPPOR(("no", "yes"), epsilon=2.0).matrix().round(3)
                00     10     01     11
        no   0.197  0.534  0.072  0.197
        yes  0.197  0.072  0.534  0.197
        """
        if self.is_open:
            raise NotAvailable(
                f"any text is an answer to {self}: channel(candidates).matrix() has rows of a list "
                "of answers"
            )
        Q = self.channel().matrix()
        return pd.DataFrame(Q, self.categories, pd.Index(self._report_names(Q.shape[1])))

    def _report_names(self, size: int) -> Array:
        """All reports as they are in files, in the order of the columns of Q."""
        C = max(self.n_cohorts, 1)
        y: Array = np.arange(size // C)
        if self.n_bits:
            width = -(-self.format.packed_bits // 8)
            y = y.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width]
        text = self.format.text(y)
        if not self.n_cohorts:
            return text
        return with_cohorts(np.tile(text, C), np.repeat(np.arange(C), size // C))

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        """The linear equations in p that the counts satisfy on average."""
        self._closed(candidates)
        self._own(counts)
        return self._moments(counts)

    def _moments(self, counts: Any) -> Moments:
        """The equations of counts of this mechanism, where its categories are listed."""
        raise NotImplementedError

    @abstractmethod
    def sample(self, codes: Array, words: Words) -> Array:
        """Reports of category codes, drawn from a source of uniform 64-bit words."""

    @abstractmethod
    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        """Draw the counts of reports of a whole population at once (see `draw`)."""

    def _sampler_epsilon(self) -> float:
        """Epsilon of the law that the sampler's integers realise, as a device reads them."""
        kinds = portable._BITS if self.n_bits else portable._LABELS
        draw = portable.Fields(self._draw_document())
        return portable.open_draw(kinds, draw, self.k).spent()

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer, so that estimates need a list of candidates."""
        return False

    def labels(self, candidates: Any = None) -> Labels:
        """Labels of the frequencies that are estimated: the categories, or the candidates."""
        self._closed(candidates)
        return self.categories

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts | BitCounts:
        """Counts from a vector of output counts.

        Parameters
        ----------
        n : array-like of int, shape (l,)
            How often each report was seen, in the order of `outputs`; a Series, such as
            `value_counts` makes, is matched by label and need not hold reports never seen.
        nobs : None
            Not used: the number of reports is ``sum(n)``.

        Raises
        ------
        InvalidArgument
            For a vector of another length, or entries that are negative or fractional.
        """
        if nobs is not None:
            raise InvalidArgument("nobs", nobs, "is for bit sums only; here it is sum(n)")
        labels = getattr(self, "outputs", pd.RangeIndex(self.n_outputs))
        vector = counts_vector("n", align("n", n, labels, absent=0), (self.n_outputs,))
        seen = np.flatnonzero(vector)
        return Counts(seen, vector[seen], self)

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        """The exact likelihood of the reports."""
        Q = self.channel(candidates)
        self._own(counts)
        if isinstance(counts, BitCounts):
            raise NotAvailable("sums of bits have no likelihood: tally() without bits=True has one")
        return Likelihood(Q.rows(counts.y), counts.n)

    def as_labels(self, reports: Reports, candidates: Any = None) -> list[tuple[Array, Reports]]:
        """Reports whose law can be listed: respondents, (u,), and theirs, by cohort.

        Raises
        ------
        NotAvailable
            For reports that cannot be listed.
        """
        if self.n_bits or self.n_cohorts:
            raise NotAvailable(f"reports of {self} cannot be listed")
        return [(np.arange(len(reports)), reports)]

    def joint_law(self, waves: int | Sequence[Mechanism] = 2) -> Any:
        """The law of the reports of several waves, where reports are labels: see `Enumerated`."""
        raise NotAvailable(f"reports of {self} cannot be listed: use those of as_labels()")

    def joint_epsilon(self, waves: int | Sequence[Mechanism], candidates: Any = None) -> float:
        """Epsilon of the reports of several waves together, of devices that keep their responses.

        That of the worst pair of paths, in nats, from the law of all reports. Whether an answer
        changed is known better than what it was: the permanent response hides the latter alone.

        Parameters
        ----------
        waves : int, or sequence of Mechanism
            As for `joint_law`.
        candidates : optional
            Answers over an open alphabet.
        """
        return float(self.joint_law(waves).epsilon)

    def _waves(self, waves: int | Sequence[Mechanism]) -> list[Any]:
        """The mechanism of each wave, all this one if `waves` is their number."""
        if not isinstance(waves, int | np.integer):
            remedy = "must be a number of waves, or a list of mechanisms"
            return listed("waves", waves, remedy)
        number = positive_integer("waves", waves, 2)
        if number > _MOST_WAVES:
            raise InvalidArgument("waves", waves, f"must be at most {_MOST_WAVES}")
        return [self] * number

    @property
    @abstractmethod
    def format(self) -> ReportFormat:
        """How reports are held in `Reports.y`, and written as text."""

    def parse(self, name: str, labels: object, cohort: object = None) -> Reports:
        """Read reports: a column of one's own, as a file or a message has them.

        Labels are matched as people write them: surrounding blanks are ignored, text stands for the
        number or truth value (True, true, TRUE) that it spells, a whole float for an integer. What
        fits no label, or several, is refused; case matters. Bits are text such as "0110", or bytes
        (`reports.layout`).

        Parameters
        ----------
        name : str
            What to call the column in an error.
        labels : array-like, shape (n,)
            One report a respondent; a Series keeps its name as that of the variable. If the
            mechanism has cohorts and `cohort` is not given, reports read "cohort:report".
        cohort : array-like, shape (n,), optional
            Cohort of each respondent, for mechanisms that have cohorts: a whole number, or for a
            device of cohorts its name.

        Returns
        -------
        Reports

        Raises
        ------
        UnknownCategory
            For what is no report; the message has the row, from 1, and the nearest label.
        InvalidArgument
            For missing reports, bits of another length, or cohorts that do not exist.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> column = pd.Series(["nurse", " cook", "nurse"], name="job")
        >>> reports = ldp.KRR(("nurse", "cook"), epsilon=1.0).parse("job", column)
        >>> reports.name, reports.y.tolist()
        ('job', [0, 1, 0])
        """
        if self.n_cohorts:
            text = as_series(name, labels)
            if cohort is None:
                text, groups = split_cohorts(name, text, self.n_bits)
            else:
                groups = counts_vector("cohort", cohort, (len(text),))
            outside = np.flatnonzero(groups >= self.n_cohorts)
            if outside.size:
                at, remedy = outside[0], f"they are numbered from 0 to {self.n_cohorts - 1}"
                raise InvalidArgument(f"{name}[{at}]", int(groups[at]), f"is no cohort: {remedy}")
            return Reports(self.format.parse(name, text), self, 0, groups, column_name(labels))
        if cohort is not None and self.cohort_names:
            form: Any = self.format  # of labels
            codes = form.all_there(name, label_codes(self, (name, "cohort"), labels, cohort))
            return Reports(codes, self, name=column_name(labels))
        if cohort is not None:
            raise InvalidArgument("cohort", cohort, f"must be None: {self} has no cohorts")
        return Reports(self.format.parse(name, labels), self, name=column_name(labels))

    def report_labels(self, reports: Reports) -> npt.NDArray[Any]:
        """Text form of reports, for files: labels, or strings of bits in category order.

        Where there are cohorts, "cohort:report".
        """
        text = self.format.text(reports.y)
        return text if reports.cohort is None else with_cohorts(text, reports.cohort)

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @guided
    def privatize(
        self, values: object, rng: np.random.Generator, missing: str = "raise"
    ) -> Reports:
        """Simulate the reports of many respondents.

        For real collection use `client`, whose randomness comes from the operating system.

        Parameters
        ----------
        values : array-like, shape (n,)
            True categories (labels).
        rng : numpy.random.Generator
            Source of randomness, for example ``np.random.default_rng(2024)``.
        missing : {"raise", "count"}
            Refuse missing answers, or leave them out and report how many there were.

        Returns
        -------
        Reports

        Raises
        ------
        UnknownCategory
            For a value that is not one of `categories`.
        InvalidArgument
            For missing values (unless counted) or an `rng` that is not a Generator.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
        >>> reports = krr.privatize(["a"] * 1000, np.random.default_rng(1))
        >>> len(reports)
        1000
        """
        return self._report(values, simulation_words(rng), missing)

    def _report(self, values: object, words: Words, missing: str) -> Reports:
        labels = self.to_labels("values", values)
        codes, n_missing = encode("values", labels, self.categories, missing, check=False)
        try:  # the samplers check the range of the codes in a pass that they make anyway
            return Reports(self.sample(codes, words), self, n_missing, name=column_name(values))
        except InvalidArgument:
            encode("values", labels, self.categories, missing)  # says which value is no label
            raise

    def _spent(self) -> float:
        if self.sensitive is not None and not len(self.sensitive):
            return float("inf")
        return self.epsilon

    def _most_cohorts(self) -> int:
        return self.n_cohorts

    def _collector(self, words: Words) -> Collector:
        return Collector(self, words)

    def _client(self, words: Words, budget: Budget) -> Client:
        return Client(self, words, budget)

    def _draw_document(self) -> dict[str, Any]:
        """How `sample` draws the report of one respondent, as client documents say it."""
        raise NotAvailable(f"{self} does not say how a device draws its reports")

    def _reports_document(self) -> Any:
        """What reports are in a client document."""
        return {"bits": self.n_bits} if self.n_bits else self.n_outputs

    def _question_document(self) -> dict[str, Any]:
        """The answers, reports and draw of a client document."""
        answers = None if self.is_open else texts(self.categories)
        reports, draw = self._reports_document(), self._draw_document()
        return {"answers": answers, "reports": reports, "draw": draw}

    def _asked_document(self) -> dict[str, Any]:
        return {"question": self._question_document()}

    def _kept_document(self) -> dict[str, Any] | None:
        """The question of a device that keeps a response to each answer; None if it cannot."""
        return None

    def _single(self, value: object, words: Words) -> Any:
        """What a device sends for one answer."""
        code = None if self.n_cohorts else place_of(value, self.categories)
        if code is None:  # of another type, or no answer, which the error says
            return self._message(self._report([value], words, "raise"))
        return self._sent(code, words)

    def _sent(self, answer: Any, words: Words) -> Any:
        """What a device sends for the code of an answer; None where there are no codes."""
        if self.n_cohorts:
            return None
        code, device = int(answer), self._device if isinstance(words, SystemWords) else None
        if device is None:
            return plain(self.format.single(self.sample(np.array([code]), words)))
        if self.n_bits:
            return device.report(code, words)
        return plain(self.format.single(np.array([device.draw(code, words)])))

    @cached_property
    def _device(self) -> Any:
        """The draw of the client for devices; None where only `sample` draws."""
        # numbers, not labels: codes go in and come out
        reports, answers = Mechanism._reports_document(self), len(self.categories)
        return opened(
            lambda: {"answers": answers, "reports": reports, "draw": self._draw_document()}
        )

    def _message(self, reports: Reports) -> Any:
        """What a device sends for one report, in plain Python."""
        return plain(self.report_labels(reports)[0])

    def draw(
        self, p: npt.ArrayLike, n: int, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        """Draw the counts of n simulated respondents whose categories have law p.

        The counts have exactly the law of ``privatize(...).tally()``, without the n reports: bit
        reports come as bit sums.

        Parameters
        ----------
        p : array-like, shape (k,)
            Distribution of the true categories.
        n : int
            Number of respondents.
        rng : numpy.random.Generator
        candidates : sequence of str, optional
            The strings that p is the distribution of; for mechanisms with an open alphabet only.

        Raises
        ------
        InvalidArgument
            If p is not a distribution, or n is not a whole number.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.KRR(3, epsilon=1.0).draw([0.5, 0.3, 0.2], 10**9, np.random.default_rng(1)).nobs
        1000000000
        """
        simulation_words(rng)
        labels = self.labels(candidates)
        law = distribution("p", align("p", p, labels), len(labels))
        people = positive_integer("n", n, 0)
        # numpy wants a sum of one to the last digit
        return self.simulate_counts(rng.multinomial(people, law / law.sum()), rng, candidates)

    def no_counts(self) -> Counts:
        """Counts of nothing: the start of a sum over chunks."""
        width = -(-self.format.packed_bits // 8)
        empty = np.empty((0, width), np.uint8) if self.n_bits else np.empty(0, int)
        none = np.empty(0, dtype=np.int64)
        return Counts(empty, none, self, cohort=none if self.n_cohorts else None)

    def specimen(self) -> Counts | BitCounts:
        """Counts of one report in every cohort, whose value does not matter: for plans, say."""
        C = self.n_cohorts
        one = np.zeros((C or 1, self.n_bits or self.n_outputs), dtype=np.int64)
        one[:, 0] = 1
        return self.counts(one if C else one[0], (one[:, 0] if C else 1) if self.n_bits else None)

    def audit(self) -> Audit:
        """Compare the declared epsilon with Q and with the sampler's integer thresholds."""
        sensitive = None if self.sensitive is None else (len(self.sensitive), self.k)
        channel, sampler = self._channel_epsilon(), self._sampler_epsilon()
        return Audit(str(self), self.epsilon, channel, sampler, sensitive=sensitive)

    def _channel_epsilon(self) -> float:
        """Epsilon of Q, in nats: of the sensitive categories, if only some are."""
        if self.sensitive is None:
            return self.channel().epsilon()
        return self.channel().protected_epsilon(sensitive_codes(self.sensitive, self.categories))

    def _specification(self) -> dict[str, Any]:
        if not is_dataclass(self):
            own = type(self).__name__
            raise InvalidArgument("class", own, "must be a frozen dataclass: its fields specify it")
        document: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
        document["mechanism"] = type(self).__name__
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, pd.Index):
                value = labels_to_json(value)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            value = list(value) if isinstance(value, tuple) else value
            if not (item.name in self._unwritten and value == self._unwritten[item.name]):
                document[item.name] = value
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read the specification that `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            When the document is of another mechanism or version, has fields missing or unknown, or
            a fingerprint that is missing or not that of the other fields.
        """
        checked = cls._unwritten | check_document(document)
        if cls is Mechanism:  # of any kind
            read: Any = read_mechanism(checked["mechanism"], document)
            return read  # type: ignore[no-any-return]
        if checked["mechanism"] != cls.__name__:
            remedy = f"the specification is not of a {cls.__name__}"
            raise InvalidArgument("mechanism", checked["mechanism"], remedy)
        names = [item.name for item in fields(cls)]  # type: ignore[arg-type]
        given = {k: v for k, v in checked.items() if k not in _HEAD}
        if set(given) != set(names):
            remedy = f"a {cls.__name__} has the fields {sorted(names)}"
            raise InvalidArgument("specification", sorted(given, key=str), remedy)
        for name in ("categories", "outputs", "alphabet"):
            if given.get(name) is not None:
                given[name] = labels_from_json(name, given[name])
        made = cls(**given)
        check_fingerprint(checked, made.fingerprint)
        return made

    def __str__(self) -> str:
        """As it might be called: its name and parameters; what it is made of, if that is said."""
        if (made := _made_of(self)) is not None:
            return brief(made)
        shown = [f"{name}={text}" for name, text in parameters(self) if name not in self._unsaid]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """The parameters, in a notebook."""
        return html_table(type(self).__name__, parameters(self))

    def __rshift__(self, other: object) -> Mechanism:
        """What becomes of a report, where reports are labels from a list (see `Enumerated`)."""
        raise NotAvailable(
            f"reports of {self} are not labels from a list, which >> needs: use a mechanism whose "
            "reports can be listed, such as KRR"
        )

    def _own(self, counts: Counts | BitCounts) -> None:
        """Refuse counts that another mechanism made."""
        if not isinstance(counts, Counts | BitCounts):
            remedy = "must be Counts or BitCounts, as reports.tally() makes"
            raise InvalidArgument("counts", counts, remedy)
        if counts.mechanism is not self and counts.mechanism != self:
            raise InvalidArgument(
                "counts", str(counts.mechanism), f"were not made by {self}: check the parameters"
            )
        if counts.nobs == 0:
            raise InvalidArgument("counts", 0, "hold no report: there is nothing to estimate from")

    def _closed(self, candidates: object) -> None:
        if candidates is not None:
            raise NotAvailable(
                f"candidates= is for open alphabets; {self} already lists its categories"
            )


def check_document(given: object) -> dict[str, Any]:
    """Check the head of a mechanism's specification."""
    document = check_format(given, _FORMAT)
    if repr(document.get("version")) != repr(_VERSION):  # true is no version, though it equals 1
        raise InvalidArgument(
            "version", document.get("version"), f"this release reads version {_VERSION}"
        )
    if not isinstance(document.get("mechanism"), str):
        raise InvalidArgument("mechanism", document.get("mechanism"), "must name the mechanism")
    return document


def set_fields(made: object, **values: Any) -> None:
    """Set fields of a frozen object that is being made."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def check_labels(mechanism: Any) -> None:
    """Check the two fields that most mechanisms have: categories and epsilon."""
    set_fields(mechanism, categories=as_labels("categories", mechanism.categories))
    set_fields(mechanism, epsilon=positive_epsilon("epsilon", mechanism.epsilon))


def threshold_of(chance: float, rest: float) -> int:
    """Threshold out of 2^64 of a chance of the truth, rounded towards more privacy.

    From the smaller of the chance and `rest`, its complement, which a double holds to full
    precision.
    """
    if chance < 0.5:
        return samplers.threshold(chance, "down")
    return (1 << 64) - (max(samplers.threshold(rest, "up"), 1) if rest > 0.0 else 0)


# -- What mechanisms share that report noisy bits of their categories -----------------------------


class CategoryBits(Mechanism):
    """A mechanism that reports a bit for each category, in their order.

    A bit is 1 with probability p1 if its category is the answer, p0 if not.
    """

    n_outputs = 0
    n_cohorts = 0
    p1: Any
    p0: Any

    @property
    def _chances(self) -> tuple[Any, Any]:
        """P(bit = 1) of each category where it is the answer and where it is not."""
        return self.p1, self.p0

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def format(self) -> BitFormat:
        return BitFormat(self.n_bits)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> BitCounts:
        """Counts from the sums of the k bits.

        Parameters
        ----------
        n : array-like of int, shape (k,) or (1, k)
            How often each bit was set, in category order.
        nobs : int
            Number of reports; bit sums alone do not say.

        Raises
        ------
        InvalidArgument
            For a missing `nobs`, a wrong length, or sums that so many reports cannot have.
        """
        if nobs is None:
            raise InvalidArgument("nobs", None, "is needed: bit sums do not say how many reports")
        k = self.n_bits
        n = align("n", n, self.categories[:k])
        n = as_array("n", n, f"must be {k} sums of bits")
        ones = counts_vector("n", n, (k,) if n.ndim == 1 else (1, k)).reshape(1, k)
        each = np.atleast_1d(as_array("nobs", nobs, "must be the number of reports"))
        return BitCounts(ones, counts_vector("nobs", each, (1,)), self)

    def _equations(
        self,
        kind: str,
        counts: Counts | BitCounts,
        slope: Any,
        p0: Any,
        V: Callable[[Array, int], Covariance],
    ) -> Equations:
        """``E[share of bit x] = p0 + slope p_x``, with their covariance ``V(p, nobs)``."""
        sums = counts.bit_counts()
        nobs, mean = sums.nobs, p0 + slope / self.k
        weights = np.array(np.broadcast_to(nobs / (mean * (1.0 - mean)), (self.k,)))
        t = sums.ones.sum(axis=0) / nobs
        return Equations(slope, p0, t, lambda p: V(p, nobs), weights, nobs, kind)

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> BitCounts:
        self._closed(candidates)
        nobs, owners = int(np.sum(true_counts)), np.asarray(true_counts)[: self.n_bits]
        own, other = self._chances
        ones = rng.binomial(owners, own) + rng.binomial(nobs - owners, other)
        return BitCounts(ones[None, :], np.array([nobs]), self)


LEAST_THETA = 1e-9  # below, the integers of the sampler are too coarse to hold epsilon


def even_bit(epsilon: float) -> tuple[float, float]:
    """P(bit = 1) of an own bit and of another where both are kept with the odds ``e^epsilon``."""
    small = np.exp(-epsilon)
    return float(1.0 / (1.0 + small)), float(small / (1.0 + small))


def other_bit(theta: float, epsilon: float) -> float:
    """P(bit = 1) of a category that is not the answer, ``theta / ((1 - theta) e^eps + theta)``."""
    weight = theta * np.exp(-epsilon)
    total = 1.0 - theta + weight
    other, clear = weight / total, (1.0 - theta) / total
    while 1.0 - other > clear * (1.0 + 5e-16):  # theta near one: rounding down would leak more
        other = np.nextafter(other, 1.0)
    return float(other)


def check_theta(theta: object, graded: bool = False) -> float:
    """P(own bit = 1) as a float, in (0, 1), not too near zero, and if `graded` nor to one."""
    value = probability("theta", theta, zero=False, one=False)
    if value < LEAST_THETA:
        raise InvalidArgument("theta", value, f"must be at least {LEAST_THETA:g}, such as 0.5")
    if graded and value > 1.0 - LEAST_THETA:
        remedy = f"must be at most 1 - {LEAST_THETA:g} where categories differ in epsilon"
        raise InvalidArgument("theta", value, remedy)
    return value


# -- Mechanisms by name: what reads a specification, of parts of others too -----------------------


KINDS = (
    "BooleanRAPPOR",
    "ByColumn",
    "CustomMechanism",
    "DeviceMechanism",
    "ForcedResponse",
    "KRAPPOR",
    "KRR",
    "LumpedUnary",
    "Mangat",
    "ORAPPOR",
    "ORR",
    "RAPPOR",
    "HadamardResponse",
    "ProjectiveGeometryResponse",
    "SubsetSelection",
    "GeometricResponse",
    "Observed",
    "Panel",
    "Product",
    "SquareWave",
    "URAP",
    "URR",
    "UnknownDevice",
    "UnrelatedQuestion",
    "Warner",
)
"""Mechanisms that a specification may name."""


def kind_of(name: str) -> Any:
    """The class of mechanisms of this name."""
    return getattr(import_module("ldpstats.mechanisms"), name)


def read_mechanism(name: object, document: dict[str, Any]) -> Any:
    """Read the specification of a mechanism of this name."""
    if not isinstance(name, str) or name not in KINDS:
        remedy = f"must be one of {', '.join(KINDS)}; from_dict of its own class reads another"
        raise InvalidArgument("mechanism", name, remedy)
    return kind_of(name).from_dict(document)


# -- Labels of several answers or reports, joined to one ------------------------------------------


SEPARATOR = ", "


def joined_labels(name: str, several: Sequence[tuple[Any, ...]]) -> Labels:
    """Each of several tuples of labels as one label, such as "nurse, yes"."""
    if several and len(several[0]) == 1:
        return as_labels(name, [label for (label,) in several], least=1)
    found: dict[str, tuple[Any, ...]] = {}
    for labels in several:
        text = SEPARATOR.join(map(str, labels))
        if text in found:
            remedy = f"stands for {found[text]} and for {labels}: use labels without a comma"
            raise InvalidArgument(name, text, remedy)
        found[text] = labels
    return as_labels(name, list(found), least=1)


# -- The linear equations of reports that are labels from a list ----------------------------------


_ALIKE = 1e-9  # of a, by which entries may be off that were typed in, or computed otherwise


def label_moments(Q: Array, n: Array) -> Equations:
    """Equations for output counts n, shape (l,), of a channel Q, shape (k, l).

    Outputs that no category makes say nothing, and are left out.
    """
    nobs, made = int(n.sum()), Q.any(axis=0)
    Q, t = Q[:, made], n[made] / nobs
    reference = np.full(len(Q), 1.0 / len(Q)) @ Q  # law of a report under the uniform p
    simple = identity_plus_rank_one(Q)
    a, b = (Q.T, 0.0) if simple is None else simple
    return Equations(a, b, t, lambda p: multinomial(p @ Q, nobs), nobs / reference, nobs)


def identity_plus_rank_one(Q: Array) -> tuple[float, Array] | None:
    """Q as ``a I + 1 b'`` (binary designs, k-RR), if it is so: ``P(report x) = b_x + a p_x``."""
    k, l = Q.shape  # noqa: E741
    if k != l or k < 2:
        return None
    b = (Q.sum(axis=0) - np.diag(Q)) / (k - 1)  # column x away from its diagonal
    a = float(np.mean(np.diag(Q) - b))
    off = np.abs(Q - a * np.eye(k) - b).max()
    if a == 0.0 or off > max(1e-15, _ALIKE * abs(a)):
        return None
    return a, b


# -- A mechanism and its parameters in words, for summaries, messages and notebooks ---------------


_MOST_WAVES = 20
_NAMED = 3  # sensitive categories that are named one by one
_LONGEST = 20  # characters of a label
_LONGEST_STEPS = 72  # of a device, or of what a mechanism is made of
_UNNAMED = ("device", "description")  # which say themselves what they are
# lists, by their length; edges, by what is between them
_ALIASES = {"categories": "k", "alphabet": "k", "edges": "k", "outputs": "n_outputs"}


def _made_of(mechanism: Any) -> object | None:
    """The steps of a device, or the description of a computed mechanism; None of others."""
    own: dict[str, object] = vars(mechanism)
    return own.get("device") or own.get("description")


def told_apart(mechanisms: Iterable[Any]) -> list[str]:
    """Mechanisms in words, in full where the beginning does not tell two of them apart."""
    every = list(mechanisms)
    words = []
    for one in every:
        text = str(one)
        if text.endswith("...") and any(str(other) == text and other != one for other in every):
            text = " ".join(str(_made_of(one)).split())
        words.append(text)
    return words


def described(name: str, text: object, what: str) -> str:
    """A description, which may come from a document, as one printable line."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(name, text, f"must be text that says what {what}, or None")
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def brief(text: object) -> str:
    """What a mechanism is made of, on one line; the beginning, where it is long."""
    line = " ".join(str(text).split())
    if len(line) <= _LONGEST_STEPS:
        return line
    start = line[: _LONGEST_STEPS - 3]
    at = start.rfind(", ") + 2  # after a whole step, if there is one
    return f"{start[:at] if at > _LONGEST else start}..."


def parameters(mechanism: Any) -> list[tuple[str, str]]:
    """Names and values of the parameters, of lists their length; epsilon last where it follows.

    Parameters that are as they are by default are left out.
    """
    epsilon = ("epsilon", f"{mechanism.epsilon:.6g}")
    if not is_dataclass(mechanism):
        return [("k", str(mechanism.k)), epsilon]
    pairs = []
    for item in fields(mechanism):
        value = getattr(mechanism, item.name)
        default = value is None or (isinstance(value, str) and value == item.default)
        if isinstance(value, pd.Index):
            default = isinstance(item.default, tuple)  # two labels, whatever they are
        if not default and (text := _text(mechanism, item.name, value)):
            pairs.append((_ALIASES.get(item.name, item.name), text))
    if "epsilon" not in dict(pairs):
        pairs.append(epsilon)
    return pairs


def _text(mechanism: Any, name: str, value: Any) -> str:
    """A parameter in words; "" where another one says it."""
    if name == "sensitive":  # the categories where they are few, else their number
        labels = value.tolist()
        if len(labels) in (0, mechanism.k):
            return "all" if labels else "none"
        if len(labels) > _NAMED:
            return f"{len(labels)} of {mechanism.k}"
        return "{" + ", ".join(shorten(label, _LONGEST) for label in labels) + "}"
    if name == "epsilon" and (levels := vars(mechanism).get("levels")) is not None:
        # of each sensitive category
        if len(levels) > _NAMED:
            return f"{min(levels):.6g} to {max(levels):.6g}"
        return "(" + ", ".join(f"{one:.6g}" for one in levels) + ")"
    if name == "edges":
        return str(mechanism.k)
    if name in _UNNAMED:
        return brief(value)
    if name in ("levels", "permanent", "steps") or isinstance(value, np.ndarray):
        return ""  # told with epsilon, a fingerprint, and too many numbers
    if isinstance(value, pd.Index):
        alike = name == "outputs" and value.equals(mechanism.categories)
        return "" if alike else str(len(value))
    return f"{value:.6g}" if isinstance(value, int | float) else shorten(value, _LONGEST)


def joint_epsilon(mechanisms: Iterable[Any]) -> float:
    """Privacy of what one respondent sends about several variables, in nats.

    The sum over those that are protected: `Observed` ones do not enter it. Infinite if none is.
    """
    private = [mechanism.epsilon for mechanism in mechanisms if not mechanism.unprotected]
    return float(sum(private)) if private else float("inf")


def protect_some(mechanisms: Iterable[Any]) -> bool:
    """Whether the epsilon of some mechanism protects only its sensitive categories."""
    return any(one.sensitive is not None and len(one.sensitive) < one.k for one in mechanisms)


def common_labels(mechanisms: Sequence[Any], candidates: Any, who: str) -> Labels:
    """The labels of mechanisms that are analysed together; refused are others than the first's.

    `who` says in the error of whom they are.
    """
    first, *others = mechanisms
    labels: Labels = first.labels(candidates)
    for other in others:
        if not other.labels(candidates).equals(labels):
            raise MechanismMismatch(
                f"{other} and {first} have different categories: {who} need the same labels in the "
                "same order"
            )
    return labels
