"""Answer sheets: a respondent's reports to the questions that she is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.clients.budget import Budget
from ldpstats.clients.device import SingleDevice
from ldpstats.clients.secrecy import secretive
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.sampling.words import Words
from ldpstats.survey.asking import draw_asked
from ldpstats.survey.privatizing import filled_in, privatized
from ldpstats.survey.questions import Question

__all__ = ["SheetClient", "SheetCollector", "devices", "opened_sheets"]

Reporter = Callable[[npt.NDArray[Any]], Any]


@dataclass(frozen=True)
class SheetCollector:
    """Privatises the answers of many respondents, each of whom fills in one sheet.

    Made by `Questionnaire.collector`. It counts nothing: who fills in two sheets spends epsilon
    twice. On a respondent's own device belongs a `SheetClient`. No error shows an answer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> jobs = ldp.KRR(("cook", "nurse"), epsilon=1.0)
    >>> sheet = ldp.Questionnaire({"job": jobs, "ill": ldp.Warner(epsilon=0.5)})
    >>> collector = sheet.collector()
    >>> list(collector.report({"job": "cook", "ill": "no"}))
    ['job', 'ill']
    """

    mechanism: Any  # a Questionnaire
    words: Words = field(repr=False)
    known: Mapping[str, Any] = field(default_factory=dict)  # devices whose parameters have values

    @secretive
    def report(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """One respondent's sheet, as of `SheetClient.report`."""
        sheet, asked = self.mechanism, next_asked(self.mechanism, self.words)
        if self.known:
            sheet = replace(sheet, mechanisms={**sheet.mechanisms, **self.known})
        return _filled(sheet, answers, asked, devices(sheet, self.words, None))

    @secretive
    def privatize(self, frame: Any, tags: Mapping[str, Any] | None = None) -> Any:
        """Privatise a table of answers, a row a respondent, as `Questionnaire.privatize` does.

        Raises
        ------
        InvalidArgument, UnknownCategory
            For an answer that cannot be: the error names question and row, and does not show it.
        """
        return privatized(self.mechanism, frame, self.words, tags, known=self.known)

    def __repr__(self) -> str:
        return f"SheetCollector({self.mechanism}, many respondents, one sheet each)"


@dataclass(eq=False)
class _Next:
    """The questions of the next sheet."""

    asked: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SheetClient(SingleDevice):
    """Fills in one respondent's answer sheets on her own device.

    Made by `Questionnaire.client`. Nothing but privatised reports leaves it, and no error shows an
    answer. All reports of a sheet are counted as one: together they spend the questionnaire's
    epsilon. It fills in as many sheets as were allowed when it was made, one by default; each is
    drawn anew, also under `RAPPOR`, whose client with a memory is for single questions.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> jobs, ill = ldp.KRR(("cook", "nurse"), 1.0), ldp.Warner(epsilon=0.5)
    >>> client = ldp.Questionnaire({"job": jobs, "ill": ill}, ask=1).client()
    >>> client.asked in (("job",), ("ill",)), client.total_epsilon
    (True, 1.0)
    >>> sheet = client.report({"job": "cook", "ill": "no"})
    >>> sum(report is None for report in sheet.values())
    1
    """

    mechanism: Any  # a Questionnaire
    _words: Words = field(repr=False)
    _budget: Budget = field(repr=False)
    _devices: Mapping[str, Reporter] = field(repr=False)
    _next: _Next = field(repr=False)

    def _epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions of the next sheet, in order: only their answers are looked at.

        They are drawn when the client is made and after each sheet, without regard to any answer.
        """
        return self._next.asked

    @secretive
    def report(self, answers: object) -> dict[str, Any]:
        """One answer sheet: a report for each question, in plain Python that `json.dumps` takes.

        Parameters
        ----------
        answers : mapping from question to answer
            Questions may be left out, or their answers None: then they are missing. Answers to
            questions that are not asked are not looked at.

        Returns
        -------
        dict
            A report for every question, as `Mechanism.client` sends it; None where it was not asked
            or not answered. The report of a dictionary question is a dict itself.

        Raises
        ------
        BudgetSpent
            If no sheet is left; the answers are not looked at.
        UnknownCategory, InvalidArgument
            For an answer that cannot be, or a question that does not exist; no sheet is spent.
        """
        sheet: dict[str, Any] = self._budget.spend(lambda: self._sheet(answers))
        return sheet

    def _sheet(self, answers: object) -> dict[str, Any]:
        found = _filled(self.mechanism, answers, self.asked, self._devices)
        self._next.asked = next_asked(self.mechanism, self._words)
        return found


def opened_sheets(sheet: Any, words: Words, budget: Budget) -> SheetClient:
    """The client of a questionnaire, without categories of the respondent's own."""
    first = _Next(next_asked(sheet, words))
    return SheetClient(sheet, words, budget, devices(sheet, words, None), first)


def next_asked(sheet: Any, words: Words) -> tuple[str, ...]:
    """The questions of a sheet, drawn anew: some of the private ones, and all others."""
    drawn = draw_asked(1, len(sheet.private), sheet.ask, words)[0]
    left_out = {name for name, asked in zip(sheet.private, drawn, strict=True) if not asked}
    return tuple(name for name in sheet.questions if name not in left_out)


def devices(sheet: Any, words: Words, tags: object) -> dict[str, Reporter]:
    """What makes the report of each question; `tags` are the respondent's own categories."""
    tags = {} if tags is None else tags
    remedy = "must be a dict from questions to dicts, as of PUM.client"
    if not isinstance(tags, Mapping):
        raise InvalidArgument("tags", type(tags).__name__, remedy)
    if not set(tags) <= set(sheet.questions):
        raise InvalidArgument("tags", HIDDEN, f"{remedy}: one key is no question")
    return {
        question.name: question.device(words, tags.get(question.name, {}))
        for question in sheet.entries
    }


def _filled(
    sheet: Any, answers: object, asked: tuple[str, ...], reporters: Mapping[str, Reporter]
) -> dict[str, Any]:
    """Reports by question, None where it was not asked or not answered."""
    remedy = 'must be a dict from questions to answers, such as {"job": "nurse"}'
    if not isinstance(answers, Mapping):
        raise InvalidArgument("answers", type(answers).__name__, remedy)
    if not set(answers) <= set(sheet.questions):  # not shown: it might be an answer
        shown = ", ".join(map(repr, sheet.questions))
        raise InvalidArgument("answers", HIDDEN, f"a key is no question; they are {shown}")
    given = {name: _answer(sheet, name, answers.get(name)) for name in asked}  # all are read first
    found: dict[str, Any] = dict.fromkeys(sheet.questions)
    for name, answer in given.items():
        found[name] = None if answer is None else reporters[name](answer)
    return found


def _answer(sheet: Any, name: str, answer: object) -> npt.NDArray[Any] | None:
    """One answer in the form that a question's device takes; None if it is missing."""
    question: Question = sheet.question(name)
    values = np.empty(1, dtype=object)
    values[0] = answer  # a list in it is one answer, and refused
    if name in sheet.refused and _is_missing(answer, question):
        # before it is read: in the time of any answer, which does not tell who refused
        values[0] = sheet.refused[name]
    given, absent = question.answers(values, lambda i: f"answers[{name!r}]")
    given, absent = filled_in(question, sheet.refused, given, absent)
    return None if absent[0] else given


def _is_missing(answer: object, question: Question) -> bool:
    """Whether an answer is missing, where that is soon said; the question reads all others."""
    if isinstance(answer, str):
        if answer.strip():
            return False
        labels = () if question.labels is None else question.labels
        return answer not in labels and "" not in labels
    return answer is None or answer is pd.NA or (isinstance(answer, float) and answer != answer)
