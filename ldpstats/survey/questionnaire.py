"""Questionnaires: what respondents answer, and what all their answers together spend."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import fsum
from types import MappingProxyType
from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.clients.specification import Specified, check_fingerprint, check_format
from ldpstats.errors import InvalidArgument
from ldpstats.io.specifications import SURVEY, is_format, json_document, json_text
from ldpstats.io.storage.commits import replacing
from ldpstats.io.storage.files import FilePath
from ldpstats.mechanisms import PUM, Mechanism, mechanism_from_dict
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.survey.questions import Question, question_of

__all__ = ["FINGERPRINTS", "Questionnaire"]

FINGERPRINTS = fingerprint_column("questionnaire")  # a column of tables in CSV, of this fingerprint

_FORMAT, _VERSION = "ldpstats-questionnaire", 1
_FIELDS = {"format", "version", "questions", "ask", "refused"}


@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire(Specified):
    """Named questions, each with the mechanism that privatises its answers.

    A respondent's answer sheet has a report for each question that she was asked and answered.
    `epsilon` holds for all reports of a sheet together.

    Parameters
    ----------
    mechanisms : mapping from name to Mechanism, PUM or DictionarySurvey
        The questions, in order. Questions with the mechanism `Observed` are not protected: they are
        listed apart, and epsilon is that of the others.
    ask : int, optional
        How many of the private questions each respondent is asked, drawn at random without regard
        to her answers; by default all. What was not asked is an empty cell.
    refused : label, or mapping from name to label, optional
        The category that stands for a missing answer: one for all private questions, or one for
        each of those that are named. Without it a missing answer is an empty cell, in that question
        only: the table then shows who did not answer, and epsilon does not protect that.

    Raises
    ------
    InvalidArgument
        For names that are no text, empty, or clash with the columns of another question; what is no
        mechanism; more questions to ask than there are; and `refused` that is no category.

    Notes
    -----
    Reports of one respondent add up: epsilon of the sheet is the sum over its private questions, or
    of the `ask` largest. Where a mechanism protects some categories only (`URR`, `URAP`, `PUM`),
    the sheet protects those.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> sheet = Questionnaire({"job": ldp.KRR(("cook", "nurse"), 1.0), "ill": ldp.Warner(0.5)})
    >>> print(sheet)
    Questionnaire(job, ill; epsilon=1.5)
    >>> sheet["ill"]
    Warner(epsilon=0.5)
    """

    mechanisms: Mapping[str, Any]
    ask: int | None = None
    refused: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.mechanisms, Mapping):
            kind = type(self.mechanisms).__name__
            remedy = 'must be a dict from names to mechanisms, such as {"job": KRR(...)}'
            raise InvalidArgument("mechanisms", kind, remedy)
        if not self.mechanisms:
            raise InvalidArgument("mechanisms", {}, "needs at least one question")
        made = {_checked_name(name): made_by for name, made_by in self.mechanisms.items()}
        object.__setattr__(self, "mechanisms", MappingProxyType(made))
        _check_columns(self.entries)
        if self.ask is not None:
            object.__setattr__(self, "ask", _checked_ask(self.ask, len(self.private)))
        object.__setattr__(self, "refused", self._stand_ins(self.refused))

    def _stand_ins(self, refused: Any) -> Mapping[str, Any]:
        """The category for a missing answer, by question."""
        if refused is None:
            return MappingProxyType({})
        given = refused if isinstance(refused, Mapping) else dict.fromkeys(self.private, refused)
        found = {}
        for name, label in given.items():
            where = f"refused[{name!r}]" if isinstance(refused, Mapping) else "refused"
            question = self.question(name, "refused")
            if not question.private:
                remedy = "is not protected: leave its missing answers empty"
                raise InvalidArgument("refused", name, remedy)
            found[name] = question.checked_label(where, label)
        return MappingProxyType({name: found[name] for name in self.questions if name in found})

    # -- questions ---------------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Question, ...]:
        """The questions, in order."""
        return tuple(question_of(name, made_by) for name, made_by in self.mechanisms.items())

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions, in order."""
        return tuple(self.mechanisms)

    @cached_property
    def private(self) -> tuple[str, ...]:
        """Names of the questions whose answers are protected."""
        return tuple(question.name for question in self.entries if question.private)

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """Names of the questions whose answers are reported as they are."""
        return tuple(question.name for question in self.entries if not question.private)

    def question(self, name: object, what: str = "question") -> Question:
        """A question by its name; `what` names the argument in an error."""
        found = [question for question in self.entries if question.name == name]
        if not found:
            alike = get_close_matches(str(name), self.questions, 1)
            hint = f"; did you mean {alike[0]!r}?" if alike else ""
            shown = ", ".join(map(repr, self.questions))
            raise InvalidArgument(what, name, f"is no question: they are {shown}{hint}")
        return found[0]

    def columns(self, name: str) -> tuple[str, ...]:
        """Columns of a question in a table of reports: one, or five of a `DictionarySurvey`.

        Raises
        ------
        InvalidArgument
            For a name that is no question.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
        >>> Questionnaire({"url": strings}).columns("url")[:2]
        ('url_start_1', 'url_gram_1')
        """
        return self.question(name, "name").columns

    def __getitem__(self, name: str) -> Any:
        """The mechanism of a question."""
        return self.question(name).made_by

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def __contains__(self, name: object) -> bool:
        return name in self.questions

    @property
    def epsilon(self) -> float:
        """Privacy of all reports of a sheet together, in nats: of the `ask` largest where set."""
        spent = sorted((q.epsilon for q in self.entries if q.private), reverse=True)
        return fsum(spent[: self.ask])

    # -- specification -----------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "questions": [
                {"name": name, "mechanism": made_by.to_dict()}
                for name, made_by in self.mechanisms.items()
            ],
            "ask": self.ask,
            "refused": dict(self.refused),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Questionnaire:
        """Read the specification that `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            For another document, or one of another version, and a fingerprint that is missing or
            not that of the other fields.
        """
        checked = check_format(document, _FORMAT)
        known = set(checked) - {"fingerprint"} == _FIELDS
        if repr(checked.get("version")) != repr(_VERSION) or not known:
            remedy = f"must have version {_VERSION} and the fields {sorted(_FIELDS)}"
            raise InvalidArgument("specification", sorted(checked, key=str), remedy)
        if not isinstance(checked["refused"], dict):
            raise InvalidArgument("refused", checked["refused"], "must be an object")
        made = cls(_read_questions(checked["questions"]), checked["ask"], checked["refused"])
        check_fingerprint(checked, made.fingerprint)
        return made

    def to_json(self, path: FilePath | None = None, force: bool = False) -> str | None:
        """Write the specification to a JSON file; without a path, return its text.

        Parameters
        ----------
        path : path-like, optional
        force : bool
            Whether an existing file may be overwritten.

        Raises
        ------
        InvalidArgument
            If the file exists or cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        if path is None:
            return text
        with replacing(path, force) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return None

    @classmethod
    def from_json(cls, source: FilePath) -> Questionnaire:
        """Read a file that `to_json` wrote, or the text that it returned.

        Raises
        ------
        InvalidArgument
            If the file cannot be read, or holds no questionnaire.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> sheet = Questionnaire({"ill": ldp.Warner(0.5)})
        >>> Questionnaire.from_json(sheet.to_json()) == sheet
        True
        """
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        return cls.from_dict(json_text(str(source)) if is_text else json_document(source))

    def __reduce__(self) -> tuple[Any, ...]:  # read-only dicts cannot be pickled
        return type(self), (dict(self.mechanisms), self.ask, dict(self.refused))

    def __str__(self) -> str:
        names = ", ".join(self.private) or "none private"
        asked = "" if self.ask is None else f"; {self.ask} of {len(self.private)} asked"
        observed = f"; observed: {', '.join(self.observed)}" if self.observed else ""
        return f"Questionnaire({names}{asked}; epsilon={self.epsilon:.6g}{observed})"

    __repr__ = __str__


def _checked_name(name: object) -> str:
    """The name of a question as plain text."""
    remedy = "must be text, not empty: the name of a question is that of its column"
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgument("mechanisms", name, remedy)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("mechanisms", name, "has no UTF-8 form: rename it") from None
    return str.__str__(name)


def _check_columns(questions: tuple[Question, ...]) -> None:
    """Refuse a column that belongs to two questions, or to the fingerprints."""
    owner = {FINGERPRINTS: "the fingerprints of tables"}
    for question in questions:
        for column in dict.fromkeys((question.name, *question.columns)):
            if column in owner:
                remedy = f"the column {column!r} belongs to {owner[column]}: rename the question"
                raise InvalidArgument("mechanisms", question.name, remedy)
            owner[column] = f"the question {question.name!r}"


def _checked_ask(ask: object, n_private: int) -> int:
    if not n_private:
        raise InvalidArgument("ask", ask, "must be None: no question is private")
    number = positive_integer("ask", ask)
    if number > n_private:
        remedy = f"must be at most {n_private}, the number of private questions"
        raise InvalidArgument("ask", ask, remedy)
    return number


def _read_questions(document: object) -> dict[str, Any]:
    """Mechanisms by name, from a list of specifications."""
    remedy = 'must be a list of objects with the fields "name" and "mechanism"'
    if not isinstance(document, list):
        raise InvalidArgument("questions", document, remedy)
    found: dict[str, Any] = {}
    for entry in document:
        if not isinstance(entry, dict) or set(entry) != {"name", "mechanism"}:
            raise InvalidArgument("questions", entry, remedy)
        name = _checked_name(entry["name"])
        if name in found:
            raise InvalidArgument("questions", name, "is the name of two questions")
        found[name] = _read_mechanism(entry["mechanism"])
    return found


def _read_mechanism(document: Any) -> Mechanism | PUM | DictionarySurvey:
    """What a specification of any kind specifies."""
    if is_format(document, SURVEY):
        return DictionarySurvey.from_dict(document)
    if is_format(document, "ldpstats-pum"):
        return PUM.from_dict(document)
    return mechanism_from_dict(document)
