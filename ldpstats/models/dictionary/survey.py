"""Collecting strings from a dictionary that the collector does not know (FPE16 section IV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.arguments.labels import as_series, column_name
from ldpstats.arguments.markup import html_table
from ldpstats.channels.audit import Audit
from ldpstats.channels.structured import Dense
from ldpstats.clients import Client, Collector
from ldpstats.clients.budget import Budget
from ldpstats.clients.device import Procedure
from ldpstats.clients.drawing import drawn_report, opened
from ldpstats.clients.instrument import Instrument
from ldpstats.clients.specification import check_fingerprint, check_format
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import Mechanism, mechanism_from_dict
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.mechanisms import (
    budgets,
    carries_grams,
    gram_mechanism,
    hashes_any,
    string_mechanism,
)
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.words import Words, simulation_words

__all__ = ["DictionaryClient", "DictionaryCollector", "DictionarySurvey"]

Array = npt.NDArray[Any]

_FORMAT, _VERSION = "ldpstats-dictionary-survey", 1
_FIELDS = (
    "format",
    "version",
    "length",
    "gram",
    "alphabet",
    "pad",
    "step",
    "replace",
    "gram_mechanism",
    "string_mechanism",
)
_MOST_ENTRIES = 1 << 24  # of a channel that is written out


@dataclass(frozen=True, eq=False)
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
        see `ldpstats.models.dictionary.mechanisms.gram_mechanism`.
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
        string, gram, total = budgets(
            self.epsilon, self.split, self.string_mechanism, self.gram_mechanism
        )
        made = self.gram_mechanism
        if not isinstance(made, Mechanism):
            made = gram_mechanism("best" if made is None else made, gram, layout)
        carries_grams(made, layout)
        whole = self.string_mechanism
        if not isinstance(whole, Mechanism):
            whole = string_mechanism("orr" if whole is None else whole, string)
        if not hashes_any(whole):
            remedy = "must hash any string: an ORR, RAPPOR or ORAPPOR without an alphabet"
            raise InvalidArgument("string_mechanism", str(whole), remedy)
        object.__setattr__(self, "gram_mechanism", made)
        object.__setattr__(self, "string_mechanism", whole)
        string, gram = whole.epsilon, made.epsilon
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
        one_of("missing", missing, ("raise", "count"))
        series = as_series("values", values)
        absent = series.isna().to_numpy()
        n_missing = int(absent.sum())
        if n_missing and missing == "raise":
            first = int(np.argmax(absent))
            raise InvalidArgument(
                f"values[{first}]",
                series.iloc[first],
                "is missing: leave such answers out, or pass missing='count' to have them counted",
            )
        if n_missing:
            series = series[~absent]  # errors name the others by their places among all
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
            parts.append(self.gram_mechanism.procedure.draw(_objects(grams), words, "raise"))
        whole = pd.Series(layout.unpadded(strings), dtype=object, name=column_name(values))
        string = self.string_mechanism.procedure.draw(whole, words, "raise")
        return DictionaryReports(self, pair, parts[0], parts[1], string, n_missing)

    @property
    def procedure(self) -> Procedure:
        """How a device makes a report, and the privacy that one report spends."""
        return Procedure(self._report, self._message, self._spent, self._single, self._sent)

    def _question_document(self) -> dict[str, Any]:
        """The answers, reports and draw of a client document."""
        draw = {
            "kind": "grams",
            "length": self.length,
            "gram": self.gram,
            "step": self.layout.step,
            "alphabet": self.layout.alphabet,
            "pad": self.pad,
            "replace": self.replace,
            "gram_question": self.gram_mechanism._question_document(),
            "string_question": self.string_mechanism._question_document(),
        }
        return {"answers": None, "reports": None, "draw": draw}

    def _asked_document(self) -> dict[str, Any]:
        return {"question": self._question_document()}

    def _single(self, value: object, words: Words) -> dict[str, Any]:
        """What a device sends for one answer."""
        found: dict[str, Any] | None = self._sent(value, words)
        return self._message(self._report([value], words, "raise")) if found is None else found

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
        layout = self.layout
        padded = layout.strings("strings", strings, self.replace)
        plain = layout.unpadded(padded)
        whole = self._rows(self.string_mechanism, plain)
        grams = [
            self._rows(self.gram_mechanism, layout.grams_at(padded, a).tolist())
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

    def _rows(self, mechanism: Mechanism, labels: list[str]) -> Array:
        """Rows of a mechanism's Q for some labels, which may repeat."""
        distinct = list(dict.fromkeys(labels))
        if mechanism.is_open:
            Q = mechanism.channel(distinct).matrix()
            return np.asarray(Q[[distinct.index(label) for label in labels]])
        return np.asarray(
            mechanism.channel().matrix()[mechanism.categories.get_indexer(pd.Index(labels))]
        )

    # -- specification -----------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "length": self.length,
            "gram": self.gram,
            "alphabet": self.alphabet,
            "pad": self.pad,
            "step": self.step,
            "replace": self.replace,
            "gram_mechanism": self.gram_mechanism.to_dict(),
            "string_mechanism": self.string_mechanism.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> DictionarySurvey:
        """Inverse of `to_dict`.

        Raises
        ------
        InvalidArgument
            For another document, or one of another version, and a fingerprint that is missing or
            not that of the other fields.
        """
        document = check_format(document, _FORMAT)
        known = set(document) - {"fingerprint"} == set(_FIELDS)
        if repr(document.get("version")) != repr(_VERSION) or not known:
            remedy = f"must have version {_VERSION} and the fields {sorted(_FIELDS)}"
            raise InvalidArgument("specification", sorted(document, key=str), remedy)
        given = {name: document[name] for name in _FIELDS[2:]}
        for name in ("gram_mechanism", "string_mechanism"):
            given[name] = mechanism_from_dict(given[name])
        made = cls(**given)
        check_fingerprint(document, made.fingerprint)
        return made

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

    @property
    def survey(self) -> DictionarySurvey:
        """What is collected."""
        survey: DictionarySurvey = self.mechanism
        return survey


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

    @property
    def survey(self) -> DictionarySurvey:
        """What is collected."""
        survey: DictionarySurvey = self.mechanism
        return survey


def _objects(text: Array) -> pd.Series[Any]:
    """Plain strings; as many Python objects as there are distinct ones."""
    codes, distinct = pd.factorize(text)
    return pd.Series(np.array([str(t) for t in distinct], dtype=object)[codes], dtype=object)
