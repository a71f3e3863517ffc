"""Questionnaires: what respondents answer, and what all their answers together spend.

Answer sheets of one respondent, the questionnaire itself, tables of answers made into tables of
reports, and columns of a table read as reports.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from secrets import token_hex
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, did_you_mean, positive_integer, record
from ldpstats.clients.device import (
    Budget,
    Instrument,
    SingleDevice,
    bare,
    check_fields,
    check_fingerprint,
    secretive,
)
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import HIDDEN, InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.hints import guided
from ldpstats.io.dictionary import of_fields, starts_in
from ldpstats.io.reports import ALREADY, is_of_reports
from ldpstats.io.specifications import (
    QUESTIONNAIRE,
    json_text,
    specification_text,
    specified,
    write_specification,
)
from ldpstats.io.storage import FilePath
from ldpstats.io.tables import columns_of, reports_in
from ldpstats.labels import as_series, column_name, matched
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.krr import Observed
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.layout import fingerprint_column
from ldpstats.reports.single import Reports
from ldpstats.sampling.samplers import Words, simulation_words, system_words
from ldpstats.survey.questions import (
    FINGERPRINTS,
    KeptQuestion,
    Named,
    PersonalQuestion,
    Question,
    SheetAudit,
    as_html,
    by_hand,
    check_columns,
    checked_mechanisms,
    checked_parameters,
    checked_refused,
    draw_asked,
    given_cohorts,
    largest,
    question_of,
    read_questions,
)
from ldpstats.survey.statement import Statement, statement_of
from ldpstats.survey.tables import Column, MissingCodes, Table

# -- Answer sheets: a respondent's reports to the questions that she is asked ---------------------


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


@dataclass(frozen=True, eq=False, repr=False)
class SheetClient(SingleDevice):
    """Fills in one respondent's answer sheets on her own device.

    Made by `Questionnaire.client`. Nothing but privatised reports leaves it, and no error shows an
    answer. All reports of a sheet are counted as one: together they spend the questionnaire's
    epsilon. It fills in as many sheets as were allowed when it was made, one by default; each is
    drawn anew, but for the responses that a questionnaire with ``keep=True`` lets it keep.

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
    _next: list[str] = field(repr=False)

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions of the next sheet, in order: only their answers are looked at.

        They are drawn when the client is made and after each sheet, without regard to any answer.
        """
        return tuple(self._next)

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

        def fill_in() -> dict[str, Any]:
            reports = _filled(self.mechanism, answers, self.asked, self._devices)
            self._next[:] = next_asked(self.mechanism, self._words)
            return reports

        sheet: dict[str, Any] = self._budget.spend(fill_in)
        return sheet


def next_asked(sheet: Any, words: Words) -> tuple[str, ...]:
    """The questions of a sheet, drawn anew: some of the private ones, and all others."""
    drawn = draw_asked(1, len(sheet.private), sheet.ask, words)[0]
    left_out = {name for name, asked in zip(sheet.private, drawn, strict=True) if not asked}
    return tuple(name for name in sheet.questions if name not in left_out)


def devices(
    sheet: Any, words: Words, tags: object, secret: bytes | None = None
) -> dict[str, Reporter]:
    """What makes the report of each question; `tags` are the respondent's own categories.

    With a secret questions keep their responses, where they can.
    """
    tags = {} if tags is None else tags
    remedy = "must be a dict from questions to dicts, as of PUM.client"
    if not isinstance(tags, Mapping):
        raise InvalidArgument("tags", type(tags).__name__, remedy)
    if not set(tags) <= set(sheet.questions):
        raise InvalidArgument("tags", HIDDEN, f"{remedy}: one key is no question")
    made = {one.name: one.device(words, tags.get(one.name, {})) for one in sheet.entries}
    if secret is not None:
        kept = [one for one in sheet.entries if isinstance(one, KeptQuestion)]
        made |= {one.name: one.remembering(words, secret) for one in kept}
    return made


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
    codes = {name: _answer(sheet, name, answers.get(name)) for name in asked}  # all are read first
    reports: dict[str, Any] = dict.fromkeys(sheet.questions)
    for name, code in codes.items():
        reports[name] = None if code is None else reporters[name](code)
    return reports


def _answer(sheet: Any, name: str, answer: object) -> npt.NDArray[Any] | None:
    """One answer in the form that a question's device takes; None if it is missing."""
    question: Question = sheet.question(name)
    if name in sheet.refused and _is_missing(answer, question):
        # before it is read: in the time of any answer, which does not tell who refused
        answer = sheet.refused[name]
    values = np.empty(1, dtype=object)
    values[0] = answer  # a list in it is one answer, and refused
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


# -- The questions of a questionnaire, and what all of them together spend ------------------------


class _Names(tuple[str, ...]):
    """Names, which are no mapping to mechanisms: the error says where those are."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            remedy = f"questions are names: questionnaire[{place!r}] is the mechanism of one"
            raise InvalidArgument("questions", place, remedy)
        return super().__getitem__(place)


_VERSION = 1
_FIELDS = {"format", "version", "questions", "ask", "refused"}
_WAVES = ("wave", "link", "keep")
_WAVE = 'must be the name of a wave, such as "2026-05", without blanks at its ends; or None'


@guided
@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire(Instrument[SheetClient, SheetCollector]):
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
    wave : str, optional
        The name of this wave of a survey that comes back, such as "2026-05". A collector takes one
        wave, and writes it into the public column ``wave``. Questions with that name are refused.
    link : bool
        Whether each device sends the same pseudonym in every wave, in the public column ``token``,
        by which `Survey.matched` joins waves. The page tells respondents so, and what it reveals.
    keep : bool
        Whether the devices of linked waves keep the response that `RAPPOR` with f > 0 and
        ``first >> second`` make of an answer, and report it again with new noise. By default every
        wave is drawn anew.

    Raises
    ------
    InvalidArgument
        For names that are no text, empty, or clash with the columns of another question; what is no
        mechanism; whole numbers beyond 64 bits as labels; more questions to ask than there are; and
        `refused` that is no category, or none that its mechanism protects; a wave without a name,
        `link` without a wave, and `keep` without `link` or where no question has such a response.

    Notes
    -----
    Reports of one respondent add up: epsilon of the sheet is the sum over its private questions, or
    of the `ask` largest. Where a mechanism protects some categories only (`URR`, `URAP`, `PUM`),
    the sheet protects those.

    ``questionnaire[name]`` is the mechanism of a question, as in a dict; `questions` has the names.

    Every wave spends epsilon again: a device counts the sheets of all waves together, and T of them
    are T x epsilon private, whether they are joined or not. Each wave has a fingerprint of its own;
    `family` is what they have in common.

    Where responses are kept, epsilon of a question is its `lifetime_epsilon`: that of all reports
    of one answer, in however many waves. Whether an answer changed is hidden by the noise of each
    report alone; `Mechanism.joint_epsilon` has the epsilon of that, too.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> jobs = ldp.KRR(("cook", "nurse"), epsilon=1.0)
    >>> sheet = Questionnaire({"job": jobs, "ill": ldp.Warner(epsilon=0.5)})
    >>> print(sheet)
    Questionnaire(job, ill; epsilon=1.5)
    >>> print(sheet["ill"])
    Warner(epsilon=0.5)
    """

    mechanisms: Mapping[str, Any]
    ask: int | None = None
    refused: Any = None
    wave: str | None = None
    link: bool = False
    keep: bool = False

    def __post_init__(self) -> None:
        made = checked_mechanisms(self.mechanisms)
        object.__setattr__(self, "mechanisms", MappingProxyType(made))
        wave = self.wave
        if wave is not None:
            if not (isinstance(wave, str) and wave.isprintable() and wave and wave == wave.strip()):
                raise InvalidArgument("wave", wave, _WAVE)
            object.__setattr__(self, "wave", str.__str__(wave))
        for name in ("link", "keep"):
            object.__setattr__(self, name, boolean(name, getattr(self, name)))
        link = self.link
        if link and wave is None:
            remedy = 'joins the waves of a questionnaire: name this one, wave="2026-05"'
            raise InvalidArgument("link", self.link, remedy)
        if self.keep and not link:
            remedy = "is for waves of one device: pass link=True, too"
            raise InvalidArgument("keep", True, remedy)
        if self.keep and not any(isinstance(one, KeptQuestion) for one in self.entries):
            remedy = "needs a question whose devices can keep responses: RAPPOR with f > 0, or "
            raise InvalidArgument("keep", True, f"{remedy}first >> second")
        # those that a collector adds
        check_columns(self.entries, ("wave", "token")[: (wave is not None) + link])
        ask, n_private = self.ask, len(self.private)
        if ask is not None:
            if not n_private:
                raise InvalidArgument("ask", ask, "must be None: no question is private")
            ask = positive_integer("ask", ask)
            if ask > n_private:
                remedy = f"must be at most {n_private}, the number of private questions"
                raise InvalidArgument("ask", self.ask, remedy)
        object.__setattr__(self, "ask", ask)
        refused = checked_refused(self.refused, self.private, self.question)
        object.__setattr__(self, "refused", MappingProxyType(refused))

    # -- waves -------------------------------------------------------------------------------

    def in_wave(self, wave: str | None) -> Questionnaire:
        """The same questions in another wave; with None without a wave, and so without `link`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> may = Questionnaire({"ill": ldp.Warner(epsilon=0.5)}, wave="2026-05", link=True)
        >>> print(june := may.in_wave("2026-06"))
        Questionnaire(ill; epsilon=0.5; wave='2026-06', linked)
        >>> june.fingerprint == may.fingerprint, june.family == may.family
        (False, True)
        """
        if wave is None and self.wave is None:
            return self
        refused = self.refused or None  # without private questions there can be none
        link, keep = (one and wave is not None for one in (self.link, self.keep))
        return replace(self, refused=refused, wave=wave, link=link, keep=keep)

    @cached_property
    def family(self) -> str:
        """The fingerprint that all its waves have in common: that of the same without a wave."""
        return self.in_wave(None).fingerprint

    # -- questions ---------------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Question, ...]:
        """The questions, in order."""
        made = self.mechanisms.items()
        return tuple(question_of(name, made_by, self.keep) for name, made_by in made)

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
            return self.entries[self.questions.index(text)]
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
        audits = {question.name: question.audit() for question in self.entries}
        own = [audits[name] for name in self.private or self.observed]
        channel = largest([audit.channel for audit in own], self.ask)
        sampler = largest([audit.sampler for audit in own], self.ask)
        return SheetAudit(
            str(self), self.epsilon, channel, sampler, questions=audits, observed=self.observed
        )

    # -- reports -----------------------------------------------------------------------------

    def statement(self) -> Statement:
        """A privacy statement, one page for whoever approves the survey, as text and HTML.

        What is asked, what leaves a device, epsilon by question and in all, what anyone can
        conclude, over several waves too, and what is not protected: computed from this
        questionnaire alone.

        Returns
        -------
        Statement
            ``print`` shows it, ``to_html("statement.html")`` writes it, `table` has its numbers.

        Raises
        ------
        NotAvailable
            For devices with unknown parameters, whose epsilon depends on them.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> statement = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0)}).statement()
        >>> print(str(statement).partition("What leaves")[0].rstrip())
        Privacy statement
        =================
        <BLANKLINE>
        What is asked
        -------------
        The questionnaire has 1 question, of which 1 is protected.
        - “ill”: 2 answers: 'no', 'yes'
        """
        return statement_of(self)

    @secretive
    def privatize(
        self,
        frame: Any,
        rng: np.random.Generator,
        tags: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Any:
        """Simulate the answer sheets of many respondents.

        For real collection use `client` or `collector`, whose randomness comes from the operating
        system.

        Parameters
        ----------
        frame : pandas or Polars DataFrame, or Arrow table
            A row a respondent, with a column for each question.
        rng : numpy.random.Generator
            Questions are drawn in the order of the questionnaire, whatever that of the columns.
        tags : mapping from question to (mapping from tag to column), optional
            For questions with a `PUM`: the categories of the respondents' own, as names of columns
            of `frame`, which are secret and left out of the result, or as arrays of shape (n,).
            A Series with the name of a column of `frame` is refused: the column would stay.
        parameters : mapping from question to (mapping from parameter to probability), optional
            Values of the unknown parameters of devices, with which respondents are simulated. A
            device of cohorts draws the cohort of each respondent, or takes it from the column
            NAME_cohort of `frame`, if there is one.

        Returns
        -------
        frame of the same kind
            The rows in their order, with reports in place of the answers to private questions:
            labels with their own type, other reports as text. A `DictionarySurvey` makes five
            columns of one. All other columns, and the index of pandas, stay as they are. Notes on
            the table (`attrs` of pandas, metadata of an Arrow schema) are left out.

        Raises
        ------
        InvalidArgument, UnknownCategory
            For a table that lacks a question, whose index has the name of a private question, and
            an answer that cannot be: the error names question and row, and does not show the
            answer.
        NotAvailable
            With ``keep=True``: a table has no devices that could keep their responses.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> people = pd.DataFrame({"age": [31, 47], "job": ["cook", None]})
        >>> sheet = Questionnaire({"job": ldp.KRR(("cook", "nurse"), 1.0)})
        >>> sheet.privatize(people, np.random.default_rng(2)).columns.tolist()
        ['age', 'job']
        """
        return privatized(self, frame, simulation_words(rng), tags, parameters)

    def collector(
        self,
        entropy: Callable[[int], bytes] | None = None,
        *,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
        parameters: Mapping[str, Any] | None = None,
    ) -> SheetCollector:
        """Privatises the answers of many respondents, each of whom fills in one sheet.

        Parameters
        ----------
        entropy, max_epsilon, allow_no_privacy
            As for `Mechanism.collector`; epsilon is that at the values of `parameters`.
        parameters : mapping from question to (mapping from parameter to probability), optional
            As for `privatize`.

        Raises
        ------
        InvalidArgument
            As for `Mechanism.collector`.
        NotAvailable
            For devices whose unknown parameters have no values here.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> device = ldp.devices.library.cheating_detection("1/2", "1/6").mechanism(("no", "yes"))
        >>> sheet = Questionnaire({"used": device})
        >>> collector = sheet.collector(parameters={"used": {"cheating": 0.1}})
        >>> collector.report({"used": "yes"})["used"] in ("no", "yes")
        True
        """
        known = checked_parameters(self, parameters)
        limits: dict[str, Any] = {"max_epsilon": max_epsilon, "allow_no_privacy": allow_no_privacy}
        if not known:
            return super().collector(entropy, **limits)
        at_values = replace(self, mechanisms={**self.mechanisms, **known})
        return replace(at_values.collector(entropy, **limits), mechanism=self, known=known)

    def client(
        self,
        entropy: Callable[[int], bytes] | None = None,
        *,
        reports: int | None = 1,
        state: str | os.PathLike[str] | None = None,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
        tags: Mapping[str, Any] | None = None,
    ) -> SheetClient:
        """One respondent's client, which fills in whole answer sheets.

        Parameters
        ----------
        entropy, state, allow_no_privacy
            As for `Mechanism.client`. Observed questions need no permission.
        reports : int or None
            How many sheets it may fill in, each of which spends the questionnaire's epsilon, also
            under `RAPPOR`: without ``keep=True`` each sheet is drawn anew.
        max_epsilon : float, optional
            The largest epsilon of a sheet that is accepted, in nats.
        tags : mapping from question to (mapping from tag to set of categories), optional
            For questions with a `PUM`: the respondent's own categories, as of `PUM.client`.

        Raises
        ------
        InvalidArgument
            As for `Mechanism.client` and `PUM.client`.
        MechanismMismatch
            For the file of a client of another questionnaire.

        Warns
        -----
        LDPWarning
            Beyond 2^16 cohorts, by one of which a respondent could be recognised.
        """
        failure: BaseException
        try:
            checked_parameters(self, None)
            own = None if tags is None else devices(self, system_words(entropy), tags)
            made = super().client(
                entropy,
                reports=reports,
                state=state,
                max_epsilon=max_epsilon,
                allow_no_privacy=allow_no_privacy,
            )
            if tags is None or own is None:
                return made
            return replace(made, _devices={**made._devices, **{name: own[name] for name in tags}})
        except BaseException as error:
            failure = error
        del tags  # of what a logger may write of this frame
        raise bare(failure)

    def _asked_document(self) -> dict[str, Any]:
        questions = []
        for question in self.entries:
            document: dict[str, Any] = {"name": question.name, "private": question.private}
            document |= question.document()
            refused = self.refused.get(question.name)
            questions.append(document | ({} if refused is None else {"refused": str(refused)}))
        waves: dict[str, Any] = {}
        if self.wave is not None:
            waves = {"wave": self.wave, "family": self.family}
            waves |= {"link": True} if self.link else {}
        return {"questions": questions, "ask": self.ask, **waves}

    def _spent(self) -> float:
        return self.epsilon

    def _state(self) -> dict[str, str]:
        secret = {"secret": token_hex(portable.SECRET_BYTES)} if self.link else {}
        return {"fingerprint": self.family, **secret}

    def _most_cohorts(self) -> int:
        mechanisms = (m for question in self.entries for m in question.mechanisms.values())
        return max(mechanism.n_cohorts for mechanism in mechanisms)

    def _collector(self, words: Words) -> SheetCollector:
        return SheetCollector(self, words)

    def _client(self, words: Words, budget: Budget) -> SheetClient:
        secret = budget.secret(words) if self.keep else None
        reporters = devices(self, words, None, secret)
        return SheetClient(self, words, budget, reporters, [*next_asked(self, words)])

    # -- specification -----------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        return {
            "format": QUESTIONNAIRE,
            "version": _VERSION,
            "questions": [
                {"name": name, "mechanism": made_by.to_dict()}
                for name, made_by in self.mechanisms.items()
            ],
            "ask": self.ask,
            "refused": dict(self.refused),
            **{name: own for name in _WAVES if (own := getattr(self, name))},
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
        checked = check_fields(document, QUESTIONNAIRE, _VERSION, _FIELDS, _WAVES)
        if not isinstance(checked["refused"], dict):
            raise InvalidArgument("refused", checked["refused"], "must be an object")
        refused = checked["refused"] or None  # without private questions there can be none
        given = {name: checked[name] for name in _WAVES if name in checked}
        made = cls(read_questions(checked["questions"]), checked["ask"], refused, **given)
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
        if path is None:
            return specification_text(self)
        write_specification(self, path, force)
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
        >>> sheet = Questionnaire({"ill": ldp.Warner(epsilon=0.5)})
        >>> Questionnaire.from_json(sheet.to_json()) == sheet
        True
        """
        if isinstance(source, str) and source.lstrip().startswith(("{", "[")):
            return cls.from_dict(json_text(source))
        return specified(source, "questionnaire", cls.from_dict)

    def __reduce__(self) -> tuple[Any, ...]:  # read-only dicts cannot be pickled
        refused = dict(self.refused) or None
        how = self.ask, refused, self.wave, self.link, self.keep
        return type(self), (dict(self.mechanisms), *how)

    def __str__(self) -> str:
        wave = "" if self.wave is None else f"; wave={self.wave!r}{', linked' * self.link}"
        wave += ", kept" * self.keep
        if not self.private:
            return f"Questionnaire(nothing protected; observed: {', '.join(self.observed)}{wave})"
        names = ", ".join(self.private)
        asked = "" if self.ask is None else f"; {self.ask} of {len(self.private)} asked"
        observed = f"; observed: {', '.join(self.observed)}" if self.observed else ""
        return f"Questionnaire({names}{asked}; epsilon={self.epsilon:.6g}{observed}{wave})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)


# -- Tables of true answers made into tables of reports -------------------------------------------

_TAGS = 'must be a dict of dicts, such as {"place": {"home": "home"}}'
_OWN = (
    "must be one category a row: the name of a column, a Series, array or list (a respondent with "
    "several needs a client of her own: client(tags=))"
)

Wheres = Callable[[str], Named]
"""How errors about the answers to a question name their places."""


def _row(name: str) -> Named:
    return lambda i: name if i is None else f"{name}, row {i + 1}"


def privatized(
    sheet: Any,
    frame: object,
    words: Words,
    tags: Mapping[str, Any] | None = None,
    parameters: Any = None,
    known: Mapping[str, Any] | None = None,
) -> Any:
    """A frame of the same kind, with reports in place of the answers to private questions."""
    if sheet.keep:
        raise NotAvailable(
            "a table has no devices, which keep their responses to the next wave as keep=True "
            "says: answer with client() of each device; simulate all waves of a question by "
            "mechanism.joint_law(waves).privatize(paths), and one wave without keep=True"
        )
    table = Table.of(frame, "frame", secret=True)
    found = [column for column in marks(sheet) if column in table.columns]
    private = [name for name in sheet.private if name in table.columns]
    found += [name for name in private if is_of_reports(table.stored(name))]
    if found:
        raise InvalidArgument("frame", found[0], ALREADY)
    for question in sheet.entries:
        table.check_column(question.name, "question")
        for column in question.columns:
            if column != question.name and column in table.columns:
                remedy = f"is a column that reports of {question.name!r} will have: rename it"
                raise InvalidArgument("frame", column, remedy)
    hidden, own = _own_categories(sheet, table, tags)
    for name in table.index_names():  # an index of true answers would stay beside the reports
        if name in (*sheet.private, *hidden):
            remedy = "is the name of the index too, whose true answers would stay beside the "
            remedy += "reports: call reset_index(drop=True), or make the Arrow table without it"
            raise InvalidArgument("frame", name, remedy)
    known = known or checked_parameters(sheet, parameters)
    reports = report_columns(sheet, table, words, own, known=known)
    columns: dict[str, Any] = {}
    for name in table.columns:
        if name not in hidden:
            columns.update(reports.get(name, {name: None}))
    return table.arranged(columns)


def report_columns(
    sheet: Any,
    table: Table,
    words: Words,
    own: Mapping[str, Mapping[Any, Array]] | None = None,
    where: Wheres = _row,
    stored: bool = False,
    known: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, pd.Series[Any]]]:
    """The columns of reports in place of each private question; `stored`: of a Parquet file."""
    # all answers are read before anything is drawn, in the questionnaire's order, not the table's
    read = {}
    for question in sheet.entries:
        answers = question.answers(table.column(question.name), where(question.name))
        read[question.name] = filled_in(question, sheet.refused, *answers)
    private = [question for question in sheet.entries if question.private]
    groups = {q.name: given_cohorts(q, table) for q in private}
    asked = draw_asked(len(table), len(private), sheet.ask, words)
    found = {}
    for j, question in enumerate(private):
        given, absent = read[question.name]
        rows = np.flatnonzero(asked[:, j] & ~absent)
        tags = None
        if own is not None and question.name in own:
            tags = {tag: categories[rows] for tag, categories in own[question.name].items()}
        named = _among(where(question.name), rows)
        device = None if known is None else known.get(question.name)
        cohorts = groups[question.name]
        if device is None and cohorts is None:
            reports = question.reports(given[rows], words, named, tags)
        else:
            own_groups = None if cohorts is None else cohorts[rows]
            reports = by_hand(question, given[rows], words, named, device, own_groups)
        empty = np.ones(len(table), dtype=bool)
        empty[rows] = False
        found[question.name] = columns_of(question.layout.cells(reports), empty, stored)
    return found


def filled_in(
    question: Question, refused: Mapping[str, Any], given: Array, absent: npt.NDArray[np.bool_]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Answers, (n,), with the category of a refusal in place of missing ones, if there is one."""
    if question.name not in refused or not absent.any():
        return given, absent
    stand_in = question.answers([refused[question.name]], lambda i: "refused")[0]
    given = given.copy()
    given[absent] = stand_in[0]
    return given, np.zeros_like(absent)


def _among(named: Named, rows: Array) -> Named:
    """Names of the answers in some rows."""
    return lambda i: named(None if i is None else int(rows[i]))


def marks(sheet: Any) -> list[str]:
    """The columns of fingerprints that a table may have if it holds reports already."""
    return [FINGERPRINTS, *map(fingerprint_column, sheet.private)]


def _own_categories(
    sheet: Any, table: Table, tags: object
) -> tuple[Sequence[str], dict[str, dict[Any, Array]] | None]:
    """Columns of `tags`, and the respondents' own categories, (n,), by question and tag."""
    if tags is None:
        return (), None
    if not isinstance(tags, Mapping):
        raise InvalidArgument("tags", type(tags).__name__, _TAGS)
    columns, found = [], {}
    for name, given in tags.items():
        if name not in sheet:
            shown = ", ".join(map(repr, sheet.questions))
            raise InvalidArgument("tags", HIDDEN, f"a key is no question; they are {shown}")
        question = sheet.question(name)
        where = f"tags[{question.name!r}]"
        if not isinstance(question, PersonalQuestion):
            remedy = f"are for a PUM, not for {question.made_by}"
            raise InvalidArgument("tags", question.name, remedy)
        if not isinstance(given, Mapping):
            raise InvalidArgument(where, type(given).__name__, _TAGS)
        known = question.made_by.tags.tolist()
        if not set(given) <= set(known):
            raise InvalidArgument(where, HIDDEN, f"a key is no tag: they are {known}")
        columns += [column for column in given.values() if isinstance(column, str)]
        found[question.name] = {
            tag: _own_of(question, f"{where}[{tag!r}]", table, column)
            for tag, column in given.items()
        }
        stay = {*table.columns} - {*sheet.questions}
        if any(isinstance(own, pd.Series) and column_name(own) in stay for own in given.values()):
            remedy = "has the name of a column, which is secret and would stay: pass that name"
            raise InvalidArgument(where, "Series", remedy)
    asked = [name for name in columns if name in sheet.questions]
    if asked:
        raise InvalidArgument("tags", asked[0], "is the column of a question: name another")
    return columns, found


def _own_of(question: PersonalQuestion, where: str, table: Table, column: object) -> Array:
    """Each respondent's category of a tag, objects of shape (n,), None for who has none.

    Errors show nothing of what was given: secret categories may stand where a column should.
    """
    if isinstance(column, str) and column not in table.columns:
        remedy = "is no column of the table: name one, or pass an array of shape (n,)"
        raise InvalidArgument(where, HIDDEN, remedy)
    try:
        values = table.column(column) if isinstance(column, str) else as_series(where, column)
    except InvalidArgument:
        raise InvalidArgument(where, HIDDEN, _OWN) from None
    if len(values) != len(table):
        raise InvalidArgument(where, len(values), f"must be {len(table)} categories, one a row")
    codes, absent = question.answers(values, _row(where))
    categories = np.full(len(table), None, dtype=object)
    categories[~absent] = question.labels.take(codes[~absent])
    return categories


# -- Columns of a table as reports: what mechanisms made, and which row holds which ---------------


_PUBLIC = (
    "make bands of it first, for example pd.cut(..., labels=[...]), or turn it into text or an "
    "ordered categorical"
)


@record
class Coded:
    """The reports of a question, and where they stand in a table of n rows."""

    reports: Any  # Reports or DictionaryReports; `n_missing` counts the rows without one
    at: npt.NDArray[np.int64]  # number of the report of each row, (n,), -1 where it has none

    @classmethod
    def of(cls, reports: Any, absent: npt.NDArray[np.bool_]) -> Coded:
        """Reports of the rows that are not `absent`, (n,), in order."""
        at = np.where(absent, -1, np.cumsum(~absent) - 1).astype(np.int64)
        return cls(replace(reports, n_missing=int(absent.sum())), at)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows have a report."""
        return np.asarray(self.at >= 0)

    def taken(self, rows: Array) -> Coded:
        """Those of some rows: positions, each at most once."""
        at, some = self.at[rows], self.reports
        chosen = at[at >= 0]
        return Coded.of(some[chosen] if isinstance(some, Reports) else some.select(chosen), at < 0)


def as_reports(
    name: str,
    mechanism: Mechanism,
    column: pd.Series[Any],
    cohort: pd.Series[Any] | None = None,
    exact: bool = False,
) -> Coded:
    """Read a column of reports, and of their cohorts if there is one; labels as people write them.

    With ``exact=True`` they are labels as they stand. Errors name the question, the row from 1, and
    the value.
    """
    places = name, f"{name}, cohort"
    found, absent = reports_in(places, mechanism, column, cohort, exact=exact)
    return Coded.of(replace(found, name=name), absent)


def as_dictionary(
    name: str,
    survey: DictionarySurvey,
    columns: Sequence[tuple[str, pd.Series[Any]]],
    cohorts: Mapping[str, pd.Series[Any]],
) -> Coded:
    """Read the five columns of a dictionary question: start, gram, start, gram and string.

    `cohorts` has the columns of cohorts, by the column of reports.
    """
    start_1, gram_1, start_2, gram_2, string = columns
    a, b = (starts_in(survey, *start) for start in (start_1, start_2))
    given = zip(survey.mechanisms, (gram_1, gram_2, string), strict=True)
    parts = [as_reports(c, made_by, column, cohorts.get(c), True) for made_by, (c, column) in given]
    first, second, whole = ((replace(p.reports, n_missing=0), ~p.present) for p in parts)
    fields = a, first, b, second, whole
    return Coded.of(*of_fields(survey, [name for name, _ in columns], fields))


def as_observed(column: Column) -> Coded:
    """Read a public column as answers without noise; its values are the categories.

    Of ordered categories all are, also those that nobody has: a scale is what was asked.
    """
    if column.kind == "number" and column.ordered is None:
        raise InvalidArgument("column", column.name, f"holds numbers: {_PUBLIC}")
    found = column.categories(_PUBLIC, declared=True)
    if len(found.values) < 2:
        held = f"holds {found.values[0]!r} only" if len(found.values) else "is empty"
        remedy = f"{held}: two categories are needed, or more"
        raise InvalidArgument("column", column.name, remedy)
    mechanism = Observed(found.values.tolist())
    there = ~found.missing
    return Coded.of(Reports(found.codes[there], mechanism, name=column.name), ~there)


def observed_column(name: str, coded: Coded) -> Column:
    """The answers to an unprotected question, as a column whose text is in the categories' order.

    Numbers and booleans compare as such.
    """
    labels = coded.reports.mechanism.categories
    values = np.array(labels.tolist(), dtype=object)
    kinds = {str: "text", bool: "boolean"}
    found = {kinds.get(type(value), "number") for value in values.tolist()}
    if len(found) > 1:
        remedy = "has categories of several types: a condition needs text, numbers or booleans"
        raise InvalidArgument("column", name, remedy)
    kind = found.pop()
    codes = np.append(coded.reports.y, -1)[coded.at]
    return Column(name, kind, codes, values, True if kind == "text" else None)


def refuse_labels(na: MissingCodes, questions: Sequence[Question]) -> None:
    """Refuse a label of a question as a code that means missing."""
    for question in questions:
        labels = question.labels
        if labels is None:  # any text is an answer, but no report
            continue
        everywhere = na.get(None, ())
        for code in everywhere + na.get(question.name, ()):
            try:
                known = matched("na", [code], labels)[0] >= 0
            except UnknownCategory:
                continue
            if known:
                remedy = f"is a label of {question.name!r}: it cannot stand for a missing answer"
                if code in everywhere:
                    remedy += f"; for other columns name them, na={{'COLUMN': [{code!r}]}}"
                raise InvalidArgument("na", code, remedy)
