"""The questions of a questionnaire, and what all of them together spend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ldpstats.arguments.names import did_you_mean
from ldpstats.clients.instrument import Instrument
from ldpstats.errors import InvalidArgument
from ldpstats.survey.audits import SheetAudit, audited, largest
from ldpstats.survey.documents import (
    check_columns,
    check_whole_labels,
    checked_ask,
    checked_mechanisms,
    checked_refused,
)
from ldpstats.survey.questions import Question, question_of
from ldpstats.survey.sheets import SheetClient, SheetCollector

__all__ = ["AskedQuestions"]


class _Names(tuple[str, ...]):
    """Names, which are no mapping to mechanisms: the error says where those are."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            remedy = f"questions are names: questionnaire[{place!r}] is the mechanism of one"
            raise InvalidArgument("questions", place, remedy)
        return super().__getitem__(place)


@dataclass(frozen=True, eq=False, repr=False)
class AskedQuestions(Instrument[SheetClient, SheetCollector]):
    """Named questions, how many are asked, and what stands for a refusal: see `Questionnaire`."""

    mechanisms: Mapping[str, Any]
    ask: int | None = None
    refused: Any = None

    def __post_init__(self) -> None:
        made = checked_mechanisms(self.mechanisms)
        object.__setattr__(self, "mechanisms", MappingProxyType(made))
        check_columns(self.entries)
        check_whole_labels(self.entries)
        object.__setattr__(self, "ask", checked_ask(self.ask, len(self.private)))
        refused = checked_refused(self.refused, self.private, self.question)
        object.__setattr__(self, "refused", MappingProxyType(refused))

    # -- questions ---------------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Question, ...]:
        """The questions, in order."""
        return tuple(question_of(name, made_by) for name, made_by in self.mechanisms.items())

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions, in order; the mechanism of one is ``questionnaire[name]``."""
        return _Names(self.mechanisms)

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
        text = str.__str__(name) if isinstance(name, str) else ""
        if text in self:
            return next(question for question in self.entries if question.name == text)
        hint = did_you_mean(text, self.questions)
        shown = ", ".join(map(repr, self.questions))
        raise InvalidArgument(what, name, f"is no question: they are {shown}{hint}")

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
        >>> ldp.Questionnaire({"url": strings}).columns("url")[:2]
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
        return isinstance(name, str) and str.__str__(name) in self.questions

    @property
    def epsilon(self) -> float:
        """Privacy of all reports of a sheet together, in nats: of the `ask` largest where set.

        Infinite where no question is protected, as of `Observed` itself.
        """
        return largest([q.epsilon for q in self.entries if q.private or not self.private], self.ask)

    @property
    def unprotected(self) -> bool:
        """Whether no question is protected: to observe all of them was consent to no privacy."""
        return not self.private

    def audit(self) -> SheetAudit:
        """Audit each question; `questions` of the audit has them by name.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> asked = {"ill": ldp.Warner(epsilon=0.5), "late": ldp.Warner(epsilon=1.0)}
        >>> audit = ldp.Questionnaire(asked).audit()
        >>> audit.declared, audit.questions["ill"].declared, audit.agrees
        (1.5, 0.5, True)
        """
        return audited(self)
