"""Collecting strings from a dictionary that the collector does not know (FPE16 section IV).

The survey, its reports, and how strings of a fixed length over an alphabet are cut into n-grams.
Characters are Unicode code points. A shorter string is padded at its end, so that a pad is followed
by pads alone; what is longer than the length is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    EPSILON_RANGE,
    Array,
    as_array,
    html_table,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
    record,
    whole_below,
)
from ldpstats.channels.certificates import Audit
from ldpstats.channels.structured import Dense
from ldpstats.clients import Client, Collector
from ldpstats.clients.device import (
    Budget,
    Instrument,
    check_fields,
    check_fingerprint,
    drawn_report,
    opened,
)
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.labels import as_series, column_name, present_answers
from ldpstats.mechanisms import KRAPPOR, KRR, ORR, RAPPOR, Mechanism, mechanism_from_dict
from ldpstats.mechanisms.hashed import Hashed
from ldpstats.reports.single import Reports, held
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words, simulation_words

_FORMAT, _VERSION = "ldpstats-dictionary-survey", 1
_READ = ("length", "gram", "alphabet", "pad", "step", "replace")  # how strings are read
_FIELDS = ("format", "version", *_READ, "gram_mechanism", "string_mechanism")
_MOST_ENTRIES = 1 << 24  # of a channel that is written out


@record
class DictionarySurvey(Instrument["DictionaryClient", "DictionaryCollector"]):
    """Collection of strings that nobody listed (FPE16 section IV).

    A respondent's string is padded or cut to `length` characters. Two distinct positions are drawn
    evenly among those of its grams, and sent in the clear; the grams that are there, and the whole
    string, are each privatised. The epsilons of the three reports add up to that of the survey.

    Parameters
    ----------
    length : int
        Characters M of a string, a multiple of `gram`. What is longer loses its end for good: no
        report tells of it.
    gram : int
        Characters n of a gram.
    alphabet : str
        The D characters that strings are made of.
    epsilon : float, optional
        Privacy of all that a respondent sends, in nats. May be left out where both mechanisms are
        given.
    split : sequence of three numbers, optional
        Shares of epsilon that the string, the first and the second gram get; they add up to one,
        those of the grams are equal. A third each by default, as in FPE16;
        `planning.plan_dictionary` recommends better ones.
    gram_mechanism : Mechanism or {"best", "krr", "oue", "orr", "rappor"}, optional
        How grams are privatised: over all grams or, hashed, over any strings. By default "best",
        see `ldpstats.models.dictionary.survey.gram_mechanism`.
    string_mechanism : Mechanism or {"orr", "rappor"}, optional
        How strings are privatised; of an open alphabet. "orr" by default. With fewer than 64
        cohorts and few reports the test of strings rejects too often. A client remembers nothing:
        RAPPOR's f only adds noise here.
    pad : str
        The character that fills short strings; not one of the alphabet.
    step : int, optional
        Characters from one gram to the next; less than `gram` makes them overlap.
    replace : str, optional
        A character of the alphabet that takes the place of those outside. By default they are
        refused.

    Raises
    ------
    InvalidArgument
        For a length that is not a multiple of the gram, an alphabet with the pad, budgets that do
        not add up, or mechanisms that cannot carry grams or strings.

    Examples
    --------
    >>> survey = DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0)
    >>> print(survey.gram_mechanism)
    KRR(k=31, epsilon=4)
    >>> survey.client().report("abcade")["positions"] in ([0, 2], [0, 4], [2, 4])
    True
    """

    length: int
    gram: int
    alphabet: str
    epsilon: float | None = None
    split: Any = None
    gram_mechanism: Any = None
    string_mechanism: Any = None
    pad: str = " "
    step: int | None = None
    replace: str | None = None

    def __post_init__(self) -> None:
        layout = self.layout
        if layout.too_large:
            raise InvalidArgument("gram", self.gram, layout.too_large)
        for name in ("length", "gram", "alphabet", "step"):
            object.__setattr__(self, name, getattr(layout, name))
        if self.replace is not None and (
            not isinstance(self.replace, str)
            or len(self.replace) != 1
            or self.replace not in layout.alphabet
        ):
            remedy = "must be one character of the alphabet, or None to refuse others"
            raise InvalidArgument("replace", self.replace, remedy)
        string, gram, total = _budgets(
            self.epsilon, self.split, self.string_mechanism, self.gram_mechanism
        )
        grams = self.gram_mechanism
        if not isinstance(grams, Mechanism):
            grams = gram_mechanism("best" if grams is None else grams, gram, layout)
        if grams.sensitive is not None:
            remedy = "protects sensitive categories alone: use one of all, such as KRR or KRAPPOR"
            raise InvalidArgument("gram_mechanism", str(grams), remedy)
        if grams.is_open and not _hashes_any(grams):
            remedy = "must hash any string by a hash that is known here, or list all grams"
            raise InvalidArgument("gram_mechanism", str(grams), remedy)
        if not grams.is_open:
            known, labels = layout.grams(), grams.categories
            lacking = known[~pd.Index(known.tolist(), dtype=object).isin(labels)]
            if lacking.size or len(labels) != known.size:
                shown = str(lacking[0]) if lacking.size else f"{len(labels)} labels"
                remedy = f"must have the {known.size} grams for its categories ({shown!r} is at "
                remedy += "fault): DictionarySurvey(...).layout.grams() lists them"
                raise InvalidArgument("gram_mechanism", str(grams), remedy)
        whole = self.string_mechanism
        if not isinstance(whole, Mechanism):
            whole = string_mechanism("orr" if whole is None else whole, string)
        if not _hashes_any(whole):
            remedy = "must hash any string: an ORR, RAPPOR or ORAPPOR without an alphabet"
            raise InvalidArgument("string_mechanism", str(whole), remedy)
        object.__setattr__(self, "gram_mechanism", grams)
        object.__setattr__(self, "string_mechanism", whole)
        string, gram = whole.epsilon, grams.epsilon
        spent = string + 2.0 * gram  # other than asked for where RAPPOR has almost no noise
        if abs(spent - total) > 1e-12 * max(total, 1.0):
            total = spent
        object.__setattr__(self, "epsilon", total)
        object.__setattr__(self, "split", (string / total, gram / total, gram / total))

    @cached_property
    def layout(self) -> GramLayout:
        """Positions, pairs of positions, and grams."""
        step = self.gram if self.step is None else self.step
        return GramLayout(self.length, self.gram, self.alphabet, self.pad, step)

    @property
    def mechanisms(self) -> tuple[Mechanism, Mechanism, Mechanism]:
        """Of the first gram, the second gram and the string."""
        return self.gram_mechanism, self.gram_mechanism, self.string_mechanism

    # -- reports -----------------------------------------------------------------------------

    def privatize(
        self, values: object, rng: np.random.Generator, missing: str = "raise"
    ) -> DictionaryReports:
        """Simulate the reports of many respondents.

        For real collection use `client` or `collector`, whose randomness comes from the operating
        system.

        Parameters
        ----------
        values : array-like of str, shape (n,)
            True strings.
        rng : numpy.random.Generator
        missing : {"raise", "count"}
            Refuse missing answers, or leave them out and report how many there were.

        Returns
        -------
        DictionaryReports

        Raises
        ------
        InvalidArgument
            For characters outside the alphabet (unless `replace` is chosen), empty strings, and
            missing answers (unless counted).
        """
        return self._report(values, simulation_words(rng), missing)

    def _report(self, values: object, words: Words, missing: str) -> DictionaryReports:
        # errors name those that are there by their places among all
        series, n_missing = present_answers("values", values, missing)
        layout = self.layout
        strings = layout.strings("values", series, self.replace)
        n, pairs = strings.size, np.array(layout.pairs)
        pair = samplers.sample_krr(np.zeros(n, dtype=np.int64), len(pairs), 0, words)
        parts = []
        for side in (0, 1):
            grams = np.empty(n, dtype=f"<U{layout.gram}")
            for position in range(layout.n_positions):
                here = pairs[pair, side] == position
                grams[here] = layout.grams_at(strings[here], position)
            # plain strings; as many Python objects as there are distinct ones
            codes, distinct = pd.factorize(grams)
            objects = np.array([str(text) for text in distinct], dtype=object)[codes]
            column = pd.Series(objects, dtype=object)
            parts.append(self.gram_mechanism._report(column, words, "raise"))
        whole = pd.Series(layout.unpadded(strings), dtype=object, name=column_name(values))
        string = self.string_mechanism._report(whole, words, "raise")
        return DictionaryReports(self, pair, parts[0], parts[1], string, n_missing)

    def _question_document(self) -> dict[str, Any]:
        """The answers, reports and draw of a client document."""
        order = ("length", "gram", "step", "alphabet", "pad", "replace")
        draw = {"kind": "grams"} | {name: getattr(self, name) for name in order}
        draw["gram_question"] = self.gram_mechanism._question_document()
        draw["string_question"] = self.string_mechanism._question_document()
        return {"answers": None, "reports": None, "draw": draw}

    def _asked_document(self) -> dict[str, Any]:
        return {"question": self._question_document()}

    def _single(self, value: object, words: Words) -> Any:
        """What a device sends for one answer."""
        sent = self._sent(value, words)
        return self._message(self._report([value], words, "raise")) if sent is None else sent

    def _sent(self, answer: object, words: Words) -> Any:
        return drawn_report(self._device, answer, words)

    @cached_property
    def _device(self) -> Any:
        """The draw of the client for devices; None where only the samplers draw."""
        return opened(self._question_document)

    def _spent(self) -> float:
        assert self.epsilon is not None
        return self.epsilon

    def _most_cohorts(self) -> int:
        return max(mechanism.n_cohorts for mechanism in self.mechanisms)

    def _collector(self, words: Words) -> DictionaryCollector:
        return DictionaryCollector(self, words)

    def _client(self, words: Words, budget: Budget) -> DictionaryClient:
        return DictionaryClient(self, words, budget)

    def _message(self, reports: DictionaryReports) -> dict[str, Any]:
        """What a device sends, in plain Python."""
        row = reports.to_frame().iloc[0]
        return {
            "positions": [int(row["start_1"]), int(row["start_2"])],
            "grams": [str(row["gram_1"]), str(row["gram_2"])],
            "string": str(row["string"]),
        }

    def no_reports(self) -> DictionaryReports:
        """No reports yet: the start of a sum over chunks."""
        none = np.empty(0, dtype=np.int64)
        counts = [mechanism.no_counts() for mechanism in self.mechanisms]
        parts = [Reports(c.y, c.mechanism, 0, c.cohort) for c in counts]
        return DictionaryReports(self, none, parts[0], parts[1], parts[2])

    # -- privacy -----------------------------------------------------------------------------

    def audit(self) -> Audit:
        """Add up the audits of the three reports; positions are drawn without regard to the string.

        Two strings that differ in every gram, and whose hashes are as different as can be, attain
        the sum.
        """
        gram, string = self.gram_mechanism.audit(), self.string_mechanism.audit()
        assert self.epsilon is not None
        return Audit(
            str(self),
            self.epsilon,
            2.0 * gram.channel + string.channel,
            2.0 * gram.sampler + string.sampler,
        )

    def channel(self, strings: Sequence[str]) -> Dense:
        """Q of everything that a respondent sends, written out for a few strings.

        Columns run over the pairs of positions, the reports of the first and of the second gram and
        those of the string, the last fastest. For audits of small instances.

        Parameters
        ----------
        strings : sequence of str
            The rows.

        Raises
        ------
        NotAvailable
            Where there are too many reports to list.

        Examples
        --------
        >>> from ldpstats import ORR
        >>> small = ORR(n_outputs=2, n_cohorts=2, epsilon=0.5)
        >>> survey = DictionarySurvey(4, 2, "ab", epsilon=2.0, split=(0.25, 0.375, 0.375),
        ...                           string_mechanism=small)
        >>> Q = survey.channel(["abab", "bb"])
        >>> Q.matrix().shape, round(Q.epsilon(), 12)
        ((2, 196), 2.0)
        """

        def rows(mechanism: Mechanism, labels: list[str]) -> Array:
            """Of a mechanism's Q, for some labels, which may repeat."""
            distinct = pd.Index(list(dict.fromkeys(labels)))
            channel = mechanism.channel(distinct.tolist() if mechanism.is_open else None)
            known = distinct if mechanism.is_open else mechanism.categories
            return channel.matrix()[known.get_indexer(pd.Index(labels))]

        layout = self.layout
        padded = layout.strings("strings", strings, self.replace)
        plain = layout.unpadded(padded)
        whole = rows(self.string_mechanism, plain)
        grams = [
            rows(self.gram_mechanism, layout.grams_at(padded, a).tolist())
            for a in range(layout.n_positions)
        ]
        size = len(plain) * len(layout.pairs) * grams[0].shape[1] ** 2 * whole.shape[1]
        if size > _MOST_ENTRIES:
            raise NotAvailable(f"the channel has {size:.3g} entries: write out a smaller instance")
        blocks = [
            np.einsum("xi,xj,xk->xijk", grams[a], grams[b], whole).reshape(len(plain), -1)
            for a, b in layout.pairs
        ]
        return Dense(np.hstack(blocks) / len(layout.pairs))

    # -- specification -----------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _FIELDS[2:]}
        made_by = {name: values[name].to_dict() for name in _FIELDS[-2:]}
        return {"format": _FORMAT, "version": _VERSION} | values | made_by

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> DictionarySurvey:
        """Inverse of `to_dict`.

        Raises
        ------
        InvalidArgument
            For another document, or one of another version, and a fingerprint that is missing or
            not that of the other fields.
        """
        document = check_fields(document, _FORMAT, _VERSION, _FIELDS)
        values = {name: document[name] for name in _FIELDS[2:]}
        for name in _FIELDS[-2:]:
            values[name] = mechanism_from_dict(values[name])
        survey = cls(**values)
        check_fingerprint(document, survey.fingerprint)
        return survey

    def _repr_html_(self) -> str:
        """The parameters, in a notebook."""
        mechanisms = ("grams by", self.gram_mechanism), ("strings by", self.string_mechanism)
        rows = [(what, str(mechanism)) for what, mechanism in mechanisms]
        return html_table("DictionarySurvey", [("survey", str(self)), *rows])

    def __str__(self) -> str:
        grams = f"{self.gram}-grams"
        if self.step != self.gram:
            grams += f" every {self.step}"
        return (
            f"DictionarySurvey(length={self.length}, {grams}, alphabet of {len(self.alphabet)}, "
            f"epsilon={self.epsilon:.6g})"
        )

    __repr__ = __str__


class DictionaryCollector(Collector):
    """Privatises the strings of many respondents; made by `DictionarySurvey.collector`."""

    survey = property(attrgetter("mechanism"), doc="What is collected.")


class DictionaryClient(Client):
    """A respondent's device under a `DictionarySurvey`; made by `DictionarySurvey.client`.

    A report is a dict in JSON types: "positions" (starts of the two grams, counted from 0), "grams"
    and "string" (reports in the text form of files). Each spends the survey's epsilon.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=4.0)
    >>> sorted(survey.client().report("abcade"))
    ['grams', 'positions', 'string']
    """

    survey = property(attrgetter("mechanism"), doc="What is collected.")


# -- how grams and whole strings are privatised: mechanisms by name, and their parts of epsilon ---


GRAM_MECHANISMS = ("krr", "oue", "orr", "rappor")
STRING_MECHANISMS = ("orr", "rappor")
_MOST_CELLS = 1 << 22  # labels of all cohorts together
MOST_BITS = 4096  # of a unary report
_GRAM_COHORTS, _STRING_COHORTS, _BLOOM_COHORTS = 1024, 4096, 64


def gram_mechanism(name: str, epsilon: float, layout: GramLayout) -> Mechanism:
    """A mechanism for grams by its name."""
    one_of("gram_mechanism", name, (*GRAM_MECHANISMS, "best"))
    size = layout.n_grams
    if name == "best":
        few = int(3.0 * np.exp(epsilon) + 2.0)  # a size beyond floats compares with integers
        name = "krr" if size <= few else "orr"
    if name in ("krr", "oue"):
        if name == "oue" and size > MOST_BITS:
            remedy = f"would report more than {MOST_BITS} bits: use 'orr', of like variance"
            raise InvalidArgument("gram_mechanism", name, remedy)
        grams = layout.grams().tolist()
        return KRR(grams, epsilon) if name == "krr" else KRAPPOR(grams, epsilon, theta=0.5)
    return _hashed(name, epsilon, _GRAM_COHORTS)


def string_mechanism(name: str, epsilon: float) -> Mechanism:
    """A mechanism for whole strings by its name, "orr" or "rappor"; see `gram_mechanism`."""
    return _hashed(one_of("string_mechanism", name, STRING_MECHANISMS), epsilon, _STRING_COHORTS)


def _hashed(name: str, epsilon: float, n_cohorts: int) -> Mechanism:
    if name == "rappor":
        odds = np.exp(epsilon / 2.0) / 3.0  # of q; those of p = 1/4 are 1/3
        return RAPPOR(128, 2, _BLOOM_COHORTS, f=0.0, p=0.25, q=float(odds / (1.0 + odds)))
    # more labels would hardly help, and their counts in all cohorts are held in memory
    outputs = min(max(round(float(np.exp(epsilon))) + 1, 2), _MOST_CELLS // n_cohorts)
    return ORR(outputs, n_cohorts, epsilon=epsilon)


def _hashes_any(mechanism: Mechanism) -> bool:
    """Whether a mechanism takes any string, by a hash that is known here."""
    return isinstance(mechanism, Hashed) and mechanism.is_open and mechanism.answer_hash.is_known


def _budgets(
    epsilon: float | None, split: Any, string: Any, gram: Any
) -> tuple[float, float, float]:
    """Epsilons of the string, of a gram, and of all three reports."""
    names = "string_mechanism", "gram_mechanism"
    own = [one.epsilon if isinstance(one, Mechanism) else None for one in (string, gram)]
    for name, value in zip(names, own, strict=True):
        if value is not None and not np.isfinite(value):
            raise InvalidArgument(name, value, "has no finite epsilon: nothing is protected")
    own_string, own_gram = own
    if epsilon is not None:
        total = positive_epsilon("epsilon", epsilon)
    elif own_string is not None and own_gram is not None:
        total = own_string + 2.0 * own_gram
    else:
        remedy = "is needed unless both mechanisms are given, which have their own"
        raise InvalidArgument("epsilon", None, remedy)
    if split is not None:
        remedy = (
            "must be three positive shares (string, first gram, second gram) that add up to one, "
            "the two of the grams equal: for example (0.3, 0.35, 0.35)"
        )
        shares = [] if isinstance(split, str | Mapping) or not np.iterable(split) else list(split)
        known = (int, float, np.integer, np.floating)
        if len(shares) != 3 or not all(
            isinstance(s, known) and not isinstance(s, bool) for s in shares
        ):
            raise InvalidArgument("split", split, remedy)
        if not all(0.0 < s < 1.0 for s in shares) or abs(sum(shares) - 1.0) > 1e-9:
            raise InvalidArgument("split", split, f"adds up to {sum(shares):.6g}: {remedy}")
        if abs(shares[1] - shares[2]) > 1e-9:
            raise InvalidArgument("split", split, remedy)
        share = float(shares[0])
    elif own_string is not None:
        share = own_string / total
    else:
        share = 1.0 / 3.0 if own_gram is None else 1.0 - 2.0 * own_gram / total
    parts = [share * total, (1.0 - share) / 2.0 * total]
    for i, (name, value) in enumerate(zip(names, own, strict=True)):
        part = parts[i]
        if value is None and part < EPSILON_RANGE[0]:
            remedy = f"leaves {part:.6g} for {name}: the budgets do not add up"
            raise InvalidArgument("epsilon", total, remedy)
        if value is not None and abs(part - value) > 1e-9 * total:
            remedy = f"does not fit: of epsilon={total:.6g} its share is {part:.6g}; a string and "
            remedy += "two grams must add up to the whole"
            raise InvalidArgument(name, f"epsilon {value:.6g}", remedy)
        parts[i] = part if value is None else value
    return parts[0], parts[1], total


# -- what a collector holds: two noisy grams and the noisy whole ----------------------------------


_PARTS = ("first", "second", "string")  # of the reports


@record
class DictionaryReports:
    """Reports of a `DictionarySurvey`: report i of each part is from the same respondent.

    Parameters
    ----------
    survey : DictionarySurvey
        What they were collected with.
    pair : array of int, shape (n,)
        Number of the pair of positions, in the order of ``survey.layout.pairs``.
    first, second : Reports
        Of the grams at the two positions, by `survey.gram_mechanism`.
    string : Reports
        Of the whole strings, by `survey.string_mechanism`.
    n_missing : int
        Respondents who gave no answer.

    Raises
    ------
    InvalidArgument
        For parts of different lengths, pairs that do not exist, or an invalid number of missing
        answers.
    MechanismMismatch
        For parts that other mechanisms made.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    >>> reports = survey.privatize(["abca", "cc"] * 10, np.random.default_rng(1))
    >>> len(reports), len(reports + reports)
    (20, 40)
    """

    survey: Any
    pair: npt.NDArray[np.int64]
    first: Reports
    second: Reports
    string: Reports
    n_missing: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.survey, DictionarySurvey):
            raise InvalidArgument("survey", self.survey, "must be a DictionarySurvey")
        n_pairs = len(self.survey.layout.pairs)
        remedy = f"must be whole numbers from 0 to {n_pairs - 1}, one a respondent"
        pair = as_array("pair", self.pair, remedy)
        if pair.ndim != 1 or not whole_below(pair, n_pairs):
            raise InvalidArgument("pair", self.pair, remedy)
        object.__setattr__(self, "pair", pair.astype(np.int64, copy=False))
        object.__setattr__(self, "n_missing", positive_integer("n_missing", self.n_missing, 0))
        survey = self.survey
        for name, mechanism in zip(_PARTS, survey.mechanisms, strict=True):
            reports = getattr(self, name)
            if not isinstance(reports, Reports):
                raise InvalidArgument(name, reports, "must be Reports")
            if reports.mechanism != mechanism:
                other = reports.mechanism
                raise MechanismMismatch(
                    f"reports of {other} (fingerprint {other.fingerprint}) are not of the survey's "
                    f"{mechanism} ({mechanism.fingerprint})"
                )
            if len(reports) != pair.size:
                remedy = f"must be {pair.size}: one of each respondent"
                raise InvalidArgument(name, f"{len(reports)} reports", remedy)

    @classmethod
    def at_positions(
        cls,
        survey: Any,
        a: Array,
        b: Array,
        parts: tuple[Reports, Reports, Reports],
        n_missing: int = 0,
    ) -> DictionaryReports:
        """Reports of grams at two distinct positions, in any order, and of the strings.

        Parameters
        ----------
        survey : DictionarySurvey
        a, b : array of int, shape (n,)
            Numbers of the positions of the two grams, among ``survey.layout.starts``.
        parts : three Reports
            Of the grams at `a`, of the grams at `b`, and of the strings.
        n_missing : int
            Respondents who gave no answer.
        """
        pairs = np.array(survey.layout.pairs)
        numbers = np.full((survey.layout.n_positions,) * 2, -1)
        numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        pair = numbers[np.minimum(a, b), np.maximum(a, b)]
        both, n = _concatenated(*parts[:2]), len(a)
        places = np.arange(n) + n * np.array([a > b, a < b])
        return cls(survey, pair, both[places[0]], both[places[1]], parts[2], n_missing)

    def __len__(self) -> int:
        return int(self.pair.size)

    def __add__(self, other: DictionaryReports) -> DictionaryReports:
        if not isinstance(other, DictionaryReports):
            return NotImplemented
        if self.survey != other.survey:
            raise MechanismMismatch(
                f"reports of {self.survey} (fingerprint {self.survey.fingerprint}) cannot be added "
                f"to those of {other.survey} ({other.survey.fingerprint})"
            )
        parts = {one: _concatenated(getattr(self, one), getattr(other, one)) for one in _PARTS}
        pair, n_missing = np.concatenate([self.pair, other.pair]), self.n_missing + other.n_missing
        return DictionaryReports(self.survey, pair, **parts, n_missing=n_missing)

    def __radd__(self, other: int) -> DictionaryReports:
        # sum() starts from zero
        return self if other == 0 else NotImplemented

    def select(self, keep: Array) -> DictionaryReports:
        """Those of some respondents: a mask or positions; `n_missing` stays as it is.

        Raises
        ------
        InvalidArgument
            For what is neither a mask of all respondents nor positions among them.
        """
        n = len(self)
        keep = as_array("keep", keep, f"must be a mask of {n} respondents, or positions")
        mask = keep.dtype == bool
        if keep.ndim != 1 or not (keep.size == n if mask else whole_below(keep, n)):
            remedy = f"must be a mask of {n} respondents, or positions from 0 to {n - 1}"
            raise InvalidArgument("keep", keep, remedy)
        return replace(self, **{part: getattr(self, part)[keep] for part in ("pair", *_PARTS)})

    @cached_property
    def _by_pair(self) -> tuple[Array, Array]:
        """Respondents in the order of their pairs, and where each pair begins and ends."""
        bounds = np.arange(len(self.survey.layout.pairs) + 1)
        order = np.argsort(self.pair, kind="stable")
        return order, np.searchsorted(self.pair[order], bounds)

    def at_pair(self, number: int) -> tuple[Reports, Reports]:
        """Reports of the grams of the respondents with this pair of positions.

        Raises
        ------
        InvalidArgument
            For a pair that does not exist.
        """
        n_pairs = len(self.survey.layout.pairs)
        if positive_integer("number", number, 0) >= n_pairs:
            raise InvalidArgument("number", number, f"must be from 0 to {n_pairs - 1}")
        order, ends = self._by_pair
        here = order[ends[number] : ends[number + 1]]
        return self.first[here], self.second[here]

    def to_frame(self) -> pd.DataFrame:
        """A row a respondent: the start of each gram, counted from 0, and the reports as text."""
        start_1, start_2 = starts_of(self)
        gram_1, gram_2, string = (
            pd.Series(part.mechanism.report_labels(part), dtype=str)  # also where there is none
            for part in (self.first, self.second, self.string)
        )
        columns = {"start_1": start_1, "gram_1": gram_1, "start_2": start_2, "gram_2": gram_2}
        return pd.DataFrame(columns | {"string": string})

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        return held("Dictionary reports", [self.survey], len(self), [self.n_missing], [])

    def __repr__(self) -> str:
        return f"DictionaryReports({self.survey}; n={len(self)})"


def starts_of(reports: DictionaryReports) -> tuple[Array, Array]:
    """Where the two grams of each respondent start, counted from 0, (n,) each."""
    layout = reports.survey.layout
    starts = np.array(layout.starts)[np.array(layout.pairs)[reports.pair]]
    return starts[:, 0], starts[:, 1]


def _concatenated(left: Reports, right: Reports) -> Reports:
    cohort = None
    if left.cohort is not None and right.cohort is not None:
        cohort = np.concatenate([left.cohort, right.cohort])
    y = np.concatenate([left.y, right.y])
    return Reports(y, left.mechanism, 0, cohort, left.name or right.name)


# -- strings of a fixed length over an alphabet, cut into n-grams ---------------------------------


_MOST_GRAMS = 1 << 28  # of an alphabet that are listed in turn
_MOST_POSITIONS = 128  # of grams: eight thousand pairs
_MOST_CHARACTERS = 1024  # of a string


@dataclass(frozen=True)
class GramLayout:
    """How strings are padded and cut into n-grams (FPE16 section IV).

    Examples
    --------
    >>> layout = GramLayout(length=6, gram=2, alphabet="abc", pad=" ", step=2)
    >>> layout.starts, layout.pairs, layout.n_grams
    ((0, 2, 4), ((0, 1), (0, 2), (1, 2)), 13)
    """

    length: int  # characters M of a string, after padding or truncation; at most 1024
    gram: int  # characters n of a gram, of which `length` is a multiple, at least twice
    alphabet: str  # the D characters that strings are made of
    pad: str  # fills short strings; not one of the alphabet
    step: int  # from one gram to the next: n where they lie side by side, less where they overlap

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", positive_integer("length", self.length, 2))
        object.__setattr__(self, "gram", positive_integer("gram", self.gram))
        object.__setattr__(self, "step", positive_integer("step", self.step))
        if self.length % self.gram or self.length == self.gram:
            near = max(-(-self.length // self.gram), 2) * self.gram
            raise InvalidArgument(
                "length",
                self.length,
                f"must be a multiple of gram={self.gram}, at least twice: for example {near}",
            )
        if self.length > _MOST_CHARACTERS:
            raise InvalidArgument("length", self.length, f"must be at most {_MOST_CHARACTERS}")
        if self.step > self.gram or (self.length - self.gram) % self.step:
            remedy = f"must be at most gram={self.gram}, and divide {self.length - self.gram}"
            raise InvalidArgument("step", self.step, f"{remedy}: some characters would be left out")
        remedy = 'must be distinct characters, at least two, for example "abc"'
        given: Any = self.alphabet
        if isinstance(given, Set | Mapping):
            raise InvalidArgument("alphabet", given, f"has no order: {remedy}")
        characters = listed("alphabet", list(given) if isinstance(given, str) else given, remedy)
        for c in characters:
            if not isinstance(c, str) or len(c) != 1 or not _is_text(c):
                raise InvalidArgument("alphabet", c, remedy)
        if len(characters) < 2:
            raise InvalidArgument("alphabet", given, remedy)
        twice = sorted(c for c, n in Counter(characters).items() if n > 1)
        if twice:
            raise InvalidArgument("alphabet", "".join(twice), f"occurs twice: {remedy}")
        object.__setattr__(self, "alphabet", "".join(characters))
        if not isinstance(self.pad, str) or len(self.pad) != 1 or not _is_text(self.pad):
            raise InvalidArgument("pad", self.pad, 'must be one character, for example " "')
        if self.pad in self.alphabet:
            raise InvalidArgument(
                "alphabet", self.pad, "holds the pad: choose a pad that no string contains"
            )

    # -- positions ---------------------------------------------------------------------------

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """First character of each of the K positions, counted from 0."""
        return tuple(range(0, self.length - self.gram + 1, self.step))

    @property
    def n_positions(self) -> int:
        """Number of positions K."""
        return len(self.starts)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The K (K - 1) / 2 pairs of positions, in order."""
        return tuple(combinations(range(self.n_positions), 2))

    @property
    def too_large(self) -> str:
        """Why no analysis could do with such grams; empty where one can."""
        if self.n_grams > _MOST_GRAMS:
            D = len(self.alphabet)
            count = f"makes {D}^{self.gram} grams of an alphabet of {D}"
            return f"{count}, more than {_MOST_GRAMS}: use shorter grams"
        if self.n_positions > _MOST_POSITIONS:
            return (
                f"makes {self.n_positions} positions, more than {_MOST_POSITIONS}: use longer grams"
            )
        return ""

    # -- strings -----------------------------------------------------------------------------

    def strings(self, name: str, values: object, replace: str | None = None) -> npt.NDArray[Any]:
        """Padded and truncated strings, as numpy text of shape (n,)."""
        series = values if isinstance(values, pd.Series) else as_series(name, values)
        is_text = series.map(lambda v: isinstance(v, str)).to_numpy(bool)
        if not is_text.all():
            first = int(np.argmin(is_text))
            where = f"{name}[{series.index[first]}]"
            raise InvalidArgument(where, series.iloc[first], "must be a string")
        codes, distinct = pd.factorize(series)
        known, texts = frozenset(self.alphabet), []
        for i, text in enumerate(map(str, distinct)):
            stray = sorted(set(text) - known)
            if not text or (stray and replace is None):
                where = f"{name}[{series.index[int(np.argmax(codes == i))]}]"
                if not stray:
                    empty = "is empty: leave such answers out"
                    raise InvalidArgument(where, text, empty, empty)
                remedy = "has characters outside the alphabet{}: add them, change the strings, or "
                remedy += "choose one of the alphabet with replace="
                quoted = f" ({', '.join(map(repr, stray[:5]))})"
                raise InvalidArgument(where, text, remedy.format(quoted), remedy.format(""))
            if stray:
                text = "".join(c if c in known else str(replace) for c in text)
            texts.append(text[: self.length].ljust(self.length, self.pad))
        return np.array(texts, dtype=f"<U{self.length}")[codes]

    def grams_at(self, strings: Array, position: int) -> npt.NDArray[Any]:
        """The gram of each padded string, (n,), at a position from 0 to K - 1."""
        characters = np.ascontiguousarray(strings).view("<U1").reshape(len(strings), self.length)
        start = self.starts[position]
        grams = np.ascontiguousarray(characters[:, start : start + self.gram])
        return grams.view(f"<U{self.gram}")[:, 0]

    def joined(self, grams: list[Array]) -> npt.NDArray[Any]:
        """Padded strings from their grams, K arrays of shape (n,): inverse of `grams_at`.

        Where grams overlap the later ones add their last characters.
        """
        text = [np.ascontiguousarray(g, dtype=f"<U{self.gram}").view("<U1") for g in grams]
        parts = [g.reshape(-1, self.gram) for g in text]
        parts = [part if i == 0 else part[:, -self.step :] for i, part in enumerate(parts)]
        whole = np.ascontiguousarray(np.hstack(parts))
        return whole.view(f"<U{self.length}")[:, 0]

    def unpadded(self, strings: Array) -> list[str]:
        """Plain strings, without their padding."""
        return [str(text).rstrip(self.pad) for text in strings]

    # -- grams -------------------------------------------------------------------------------

    @property
    def n_grams(self) -> int:
        """Number of grams that a position can hold: a pad is followed by pads."""
        return sum(len(self.alphabet) ** j for j in range(self.gram + 1))

    def grams(self) -> npt.NDArray[Any]:
        """All grams in order, as numpy text of shape (n_grams,); see `gram_blocks`."""
        return np.concatenate(list(self.gram_blocks(self.n_grams)))

    def gram_blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """All grams in blocks of at most about `size`, the longest without pads first."""
        if self.n_grams > _MOST_GRAMS:
            raise InvalidArgument("gram", self.gram, self.too_large)
        letters = np.array(list(self.alphabet), dtype="<U1")
        D = letters.size
        for filled in range(self.gram, -1, -1):
            total = D**filled
            for start in range(0, total, size):
                numbers = np.arange(start, min(start + size, total))
                out = np.full((numbers.size, self.gram), self.pad, dtype="<U1")
                for place in range(filled - 1, -1, -1):
                    numbers, digit = np.divmod(numbers, D)
                    out[:, place] = letters[digit]
                yield np.asarray(out.view(f"<U{self.gram}")[:, 0])

    def may_follow(self, first: Array, second: Array, gap: int) -> npt.NDArray[np.bool_]:
        """Whether grams can be in one string, shape (a, b): `second` lies `gap` positions later.

        They must agree where they overlap, and nothing but pads follows a pad.
        """
        a, b = (np.ascontiguousarray(g, dtype=f"<U{self.gram}") for g in (first, second))
        if not a.size or not b.size:
            return np.zeros((a.size, b.size), dtype=bool)
        left, right = a.view("<U1").reshape(-1, self.gram), b.view("<U1").reshape(-1, self.gram)
        ended = (left == self.pad).any(axis=1)
        empty = (right == self.pad).all(axis=1)
        apart = gap * self.step
        if apart >= self.gram:
            return np.asarray(~ended[:, None] | empty[None, :])
        agree = np.ones((a.size, b.size), dtype=bool)
        for j in range(self.gram - apart):
            agree &= left[:, None, apart + j] == right[None, :, j]
        tail = (right[:, self.gram - apart :] == self.pad).all(axis=1)
        return np.asarray(agree & (~ended[:, None] | tail[None, :]))


def _is_text(character: str) -> bool:
    """Whether a character can be written in UTF-8, and numpy keeps it at the end of a text."""
    return character != "\0" and not "\ud800" <= character <= "\udfff"
