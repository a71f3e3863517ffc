"""Several questions as one: an answer to each, a report of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as combinations
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import encode, missing_entries
from ldpstats.channels.base import Channel
from ldpstats.channels.combined import Kronecker
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import check_document
from ldpstats.mechanisms.enumerated import Enumerated, listed_mechanism
from ldpstats.mechanisms.joined import joined_labels
from ldpstats.mechanisms.reading import read_mechanism
from ldpstats.problems.rows.base import Rows
from ldpstats.reports.single import Reports
from ldpstats.sampling.words import Words

__all__ = ["Product", "product"]

Array = npt.NDArray[Any]

_MOST = 1 << 20  # combinations of answers, or of reports, that get labels
_QUESTIONS = "must be a dictionary from the name of each question, which is text, to its mechanism"


class _Numbered(Kronecker):
    """Several variables whose combinations of reports are numbered, the last changing fastest."""

    def rows(self, y: Any) -> Rows:
        sizes = [channel.shape[1] for channel in self.channels]
        return super().rows(np.unravel_index(np.asarray(y, dtype=np.int64), sizes))


@dataclass(frozen=True, eq=False)
class Product(Enumerated):
    """Several questions as one, each privatised by its own mechanism.

    A category is a combination of answers, a report one of reports, both joined by ", ":
    ``"nurse, yes"``. Frequencies are then those of the joint table, in row-major order. Answers may
    be given as a table with a column for each question too, or a respondent's as a dictionary.
    `Questionnaire` privatises questions that are analysed one by one, or in pairs.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each question; their reports can be listed.

    Raises
    ------
    InvalidArgument
        For no questions, names that are no text, and combinations of labels that read alike.
    NotAvailable
        For mechanisms whose reports cannot be listed, and more than 2^20 combinations.

    Notes
    -----
    Epsilon is the sum over the questions (the channel is their Kronecker product), and infinite if
    that of one is. A mechanism that protects some categories only has, for the combinations, no
    guarantee of that kind: an answer that reveals itself makes epsilon infinite.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> job = ldp.KRR(("nurse", "cook"), epsilon=1.0)
    >>> both = ldp.product({"job": job, "late": ldp.Warner(epsilon=0.5)})
    >>> both.categories.tolist()
    ['nurse, no', 'nurse, yes', 'cook, no', 'cook, yes']
    >>> both.epsilon
    1.5
    >>> people = pd.DataFrame({"late": ["no", "yes"], "job": ["cook", "nurse"]})
    >>> reports = both.privatize(people, np.random.default_rng(1))
    >>> [str(of.mechanism) for of in both.split(reports).values()]
    ['KRR(k=2, epsilon=1)', 'Warner(epsilon=0.5)']
    """

    questions: Any

    def __post_init__(self) -> None:
        if not isinstance(self.questions, Mapping) or not len(self.questions):
            raise InvalidArgument("questions", self.questions, _QUESTIONS)
        made: dict[str, Enumerated] = {}
        for name, mechanism in self.questions.items():
            if not isinstance(name, str) or not name:
                raise InvalidArgument("questions", name, _QUESTIONS)
            made[str.__str__(name)] = listed_mechanism(f"questions[{name!r}]", mechanism)
        object.__setattr__(self, "questions", MappingProxyType(made))
        for sizes in (self._sizes, tuple(part.k for part in self._parts)):
            if np.prod([float(size) for size in sizes]) > _MOST:
                shown = " x ".join(map(str, sizes))
                raise NotAvailable(
                    f"{shown} combinations are too many to list: use Questionnaire, and "
                    "AssociationModel for some of the questions"
                )
        self.categories, self.outputs  # noqa: B018  refuses labels that read alike

    @property
    def _parts(self) -> tuple[Enumerated, ...]:
        return tuple(self.questions.values())

    @property
    def _sizes(self) -> tuple[int, ...]:
        """How many reports there are to each question."""
        return tuple(part.n_outputs for part in self._parts)

    @cached_property
    def categories(self) -> pd.Index[Any]:  # type: ignore[override]
        labels = (part.categories.tolist() for part in self._parts)
        return joined_labels("categories", list(combinations(*labels)))

    @cached_property
    def outputs(self) -> pd.Index[Any]:
        labels = (part.outputs.tolist() for part in self._parts)
        return joined_labels("outputs", list(combinations(*labels)))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.channel().epsilon()

    @cached_property
    def _channel(self) -> Channel:
        return _Numbered([part.channel() for part in self._parts])

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel

    def to_labels(self, name: str, values: object) -> object:
        """Answers as joined labels; a table, or dictionaries, has a column for each question."""
        if isinstance(values, list | tuple) and values:
            if all(isinstance(value, Mapping) for value in values):
                values = _table_of(name, values, tuple(self.questions))
        if not isinstance(values, pd.DataFrame):
            return values
        columns: list[Any] = values.columns.tolist()
        if sorted(map(str, columns)) != sorted(self.questions) or not values.columns.is_unique:
            raise InvalidArgument(
                f"{name}.columns", columns, f"must be the questions {list(self.questions)}"
            )
        codes, absent = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
        for question, part in self.questions.items():
            place = f"{name}[{question!r}]"
            answers = pd.Series(part.to_labels(place, values[question]))
            answers = answers.reset_index(drop=True)
            lacking = missing_entries(place, answers)
            own = np.zeros(len(values), dtype=np.int64)
            own[~lacking] = encode(place, answers, part.categories, "count")[0]
            codes, absent = codes * part.k + own, absent | lacking
        labels = self.categories.to_numpy(dtype=object, copy=True)[codes]
        labels[absent] = None
        return labels

    def split(self, reports: Reports) -> dict[str, Reports]:
        """The reports of each question, by its name: for `AssociationModel`, say.

        Raises
        ------
        InvalidArgument
            If `reports` are not of this mechanism.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> both = ldp.product({"a": ldp.KRR(2, epsilon=1.0), "b": ldp.KRR(3, epsilon=1.0)})
        >>> reports = both.privatize(["0, 2", "1, 1"] * 500, np.random.default_rng(1))
        >>> joint = ldp.AssociationModel(*both.split(reports).values()).fit()
        >>> joint.table.shape
        (2, 3)
        """
        if not isinstance(reports, Reports) or reports.mechanism != self:
            raise InvalidArgument("reports", reports, f"must be Reports of {self}")
        codes = np.unravel_index(reports.y.astype(np.int64), self._sizes)
        return {
            name: Reports(y, part, reports.n_missing, name=name, ids=reports.ids)
            for (name, part), y in zip(self.questions.items(), codes, strict=True)
        }

    def sample(self, codes: Array, words: Words) -> Array:
        y = np.zeros(np.shape(codes), dtype=np.int64)
        own = np.unravel_index(np.asarray(codes), [part.k for part in self._parts])
        for part, answers in zip(self._parts, own, strict=True):
            y = y * part.n_outputs + part.sample(answers, words)
        return y

    def _draw_document(self) -> dict[str, Any]:
        parts = [
            {"answers": part.k, "reports": part.n_outputs, "draw": part._draw_document()}
            for part in self._parts
        ]
        return {"kind": "parts", "parts": parts}

    def _sampler_epsilon(self) -> float:
        return float(sum(part._sampler_epsilon() for part in self._parts))

    def _specification(self) -> dict[str, Any]:
        parts = [[name, part.to_dict()] for name, part in self.questions.items()]
        head = {"format": "ldpstats-mechanism", "version": 1, "mechanism": type(self).__name__}
        return head | {"questions": parts}  # a list: the order counts

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        given = dict(check_document(document))
        remedy = 'must be a list of pairs: ["job", {"mechanism": ...}]'
        parts = given.get("questions")
        if not isinstance(parts, list):
            raise InvalidArgument("questions", parts, remedy)
        made: dict[str, Any] = {}
        for pair in parts:
            named = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not named or pair[0] in made:
                raise InvalidArgument("questions", pair, remedy)
            part = check_document(pair[1])
            made[pair[0]] = read_mechanism(part["mechanism"], part)
        return super().from_dict(given | {"questions": made})

    def __str__(self) -> str:
        names = ", ".join(self.questions)
        return f"Product({names}; k={self.k}, epsilon={self.epsilon:.6g})"

    __repr__ = __str__


def product(questions: Mapping[str, Any]) -> Product:
    """The mechanism of several questions at once, see `Product`.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each question.

    Raises
    ------
    InvalidArgument, NotAvailable
        As of `Product`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=1.0)
    >>> ldp.product({"before": krr, "after": krr})
    Product(before, after; k=9, epsilon=2)
    """
    return Product(questions)


def _table_of(name: str, values: Sequence[Any], questions: tuple[str, ...]) -> pd.DataFrame:
    """Dictionaries of answers as a table with a row for each."""
    for i, value in enumerate(values):
        if set(value) != set(questions):
            raise InvalidArgument(
                f"{name}[{i}]",
                sorted(map(str, value)),
                f"must have the questions {list(questions)}",
            )
    return pd.DataFrame([dict(value) for value in values], columns=list(questions), dtype=object)
