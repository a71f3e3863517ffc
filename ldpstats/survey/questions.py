"""Kinds of questions: how answers are read, what a report of one is, and where it is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from math import fsum
from typing import Any
from unicodedata import category

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.channels.certificates import Audit
from ldpstats.clients.device import kept_question, plain
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.devices import Device
from ldpstats.errors import HIDDEN, InvalidArgument, NotAvailable
from ldpstats.io.reports import SURVEY_COLUMNS, Layout
from ldpstats.io.specifications import QUESTIONNAIRE, SURVEY, is_format, specified
from ldpstats.io.storage import FilePath
from ldpstats.io.tables import cell_type
from ldpstats.labels import as_series, matched, missing_entries, preview
from ldpstats.mechanisms import PUM, ByColumn, Mechanism
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.mechanisms.designs import DesignFunction
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.layout import in_turn
from ldpstats.reports.layout import cohort_column, cohort_index, fingerprint_column
from ldpstats.reports.single import Reports
from ldpstats.sampling.samplers import Words, entropy_of, sample_krr, system_words
from ldpstats.survey.tables import Table

Named = Callable[[int | None], str]
"""Names the place of answer i in an error, or all answers to a question if i is None."""

_ROW, _PLACE = re.compile(r", row (\d+)$"), re.compile(r"\[(\d+)\]$")


def maker_of(made_by: Any) -> Any:
    """The mechanism that makes the reports of a question."""
    return made_by.common if isinstance(made_by, PUM) else made_by


@record
class Question:
    """A named question, and the mechanism that privatises its answers."""

    name: str
    made_by: Any

    @property
    def private(self) -> bool:
        """Whether its answers are protected, or meant to be."""
        return not self.made_by.unprotected

    @property
    def epsilon(self) -> float:
        """What one report spends, in nats."""
        epsilon: float = self.made_by._spent()
        return epsilon

    @property
    def labels(self) -> pd.Index[Any] | None:
        """The possible answers; None where any text is one."""
        return None if self.made_by.is_open else self.made_by.labels()

    @property
    def sensitive(self) -> Any:
        """The answers that are protected; None where all are."""
        return self.made_by.sensitive

    @cached_property
    def layout(self) -> Layout:
        """How its reports stand in a table."""
        return Layout(maker_of(self.made_by), (self.name,))

    @cached_property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanisms whose reports its columns hold, by column."""
        return {c: made_by for c, made_by in self.layout.parts.items() if made_by is not None}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Its columns in a table of reports."""
        return self.layout.columns

    def audit(self) -> Audit:
        """The audit of its mechanism."""
        audit: Audit = maker_of(self.made_by).audit()
        return audit

    def document(self) -> Any:
        """Its answers, reports and draw in a client document."""
        return self.made_by._question_document()

    # -- answers -----------------------------------------------------------------------------

    def checked_label(self, where: str, label: object) -> Any:
        """A possible answer in plain Python; refuse anything else."""
        remedy = f"is no category of {self.name!r}, which has "
        remedy += "any text" if self.labels is None else preview(self.labels)
        try:
            given, absent = self.answers([label], lambda i: where)
            if not absent[0]:
                if self.labels is None:
                    self.draw(given, system_words())  # which says whether this text will do
                return plain(given[0] if self.labels is None else self.labels[int(given[0])])
        except InvalidArgument as error:
            remedy = error.unquoted
        raise InvalidArgument(where, label, remedy)

    def answers(self, values: object, named: Named) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Codes of labels, or texts as objects, (n,), and which are missing; errors show none."""
        if isinstance(self.made_by, Mechanism):  # which may read numbers as bins
            try:
                values = self.made_by.to_labels("values", values)
            except InvalidArgument as error:
                raise _renamed(error, _PLACE, 0, named) from None
        if self.labels is not None:
            try:
                codes = matched("", values, self.labels, secret=True)
            except InvalidArgument as error:
                raise _renamed(error, _ROW, 1, named) from None
            return codes, codes < 0
        try:
            series = as_series("values", values)
            absent = missing_entries("values", series)
        except InvalidArgument as error:
            raise _renamed(error, _PLACE, 0, named) from None
        blank = [isinstance(v, str) and not v.strip() for v in series]  # as in `matched`
        return series.to_numpy(dtype=object), absent | np.array(blank, dtype=bool)

    def draw(self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None) -> Any:
        """Reports of answers in the form of `answers`; `tags`: respondents' own, (n,), of `PUM`."""
        values = given if self.labels is None else self.labels.take(given)
        return self.made_by._report(values, words, "raise")

    def reports(
        self, given: Array, words: Words, named: Named, tags: Mapping[Any, Any] | None = None
    ) -> Any:
        """What `draw` returns; errors name the place of an answer that it refuses."""
        try:
            return self.draw(given, words, tags)
        except InvalidArgument as error:
            if not error.name.startswith(("values", "tags")):  # of the randomness
                raise
            raise _renamed(error, _PLACE, 0, named) from None

    # -- reports -----------------------------------------------------------------------------

    def message(self, reports: Any) -> Any:
        """What a device sends for one report, in plain Python."""
        return maker_of(self.made_by)._message(reports)

    def device(self, words: Words, tags: Mapping[Any, Any]) -> Callable[[Array], Any]:
        """The function from one answer, in the form of `answers`, to what a device sends."""
        if tags:
            remedy = f"are for a PUM: {self.name!r} has {self.made_by}"
            raise InvalidArgument("tags", HIDDEN, remedy)
        where, drawn = f"answers[{self.name!r}]", self.made_by._sent
        _ = self.made_by._device  # opened before there is an answer

        def report(given: Array) -> Any:
            found = drawn(given[0], words)
            if found is not None:
                return found
            return self.message(self.reports(given, words, lambda i: where))

        return report


class KeptQuestion(Question):
    """A question of linked waves whose devices keep a response to each answer."""

    @property
    def epsilon(self) -> float:
        return float(self.made_by.lifetime_epsilon)

    def audit(self) -> Audit:
        audit: Audit = self.made_by.lifetime_audit()
        return audit

    def document(self) -> Any:
        return self.made_by._kept_document()

    def remembering(self, words: Words, secret: bytes) -> Callable[[Array], Any]:
        """What `device` returns, where responses are kept under the secret of the device."""
        kept = kept_question(self.document(), portable.secret_of(secret, self.name))
        source: Any = words

        def report(given: Array) -> Any:
            if self.labels is None:
                return kept.report(kept.read(str.__str__(given[0])), source)
            if isinstance(kept, portable.Kept):
                return plain(self.made_by.outputs[kept.draw(int(given[0]), source)])
            return kept.report(kept.read(str(self.labels[int(given[0])])), source)

        return report


class PersonalQuestion(Question):
    """A question under a personalised mechanism: its reports are of the common one."""

    made_by: PUM
    private = True

    @property
    def epsilon(self) -> float:
        return self.made_by.epsilon

    @property
    def labels(self) -> pd.Index[Any]:
        return self.made_by.categories

    @property
    def sensitive(self) -> Any:
        return self.made_by.mechanism.sensitive

    def draw(self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None) -> Reports:
        codes = self.made_by.preprocess(self.labels.take(given), tags)
        return Reports(self.made_by.common.sample(codes, words), self.made_by.common)

    def device(self, words: Words, tags: Mapping[Any, Any]) -> Callable[[Array], Any]:
        own = self.made_by.client(tags, entropy_of(words), reports=None)  # the sheet has the budget
        return lambda given: own.report(self.labels[int(given[0])])


class DictionaryQuestion(Question):
    """A question about strings that nobody listed; its reports have five columns."""

    made_by: DictionarySurvey
    private, labels, sensitive = True, None, None

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.made_by, tuple(f"{self.name}_{part}" for part in SURVEY_COLUMNS))


def question_of(name: str, made_by: object, keep: bool = False) -> Question:
    """The kind of question that a mechanism or survey makes; `keep`: of devices that remember."""
    if isinstance(made_by, Mechanism):
        if keep and made_by._kept_document() is not None:
            return KeptQuestion(name, made_by)
        return Question(name, made_by)
    if isinstance(made_by, PUM):
        return PersonalQuestion(name, made_by)
    if isinstance(made_by, DictionarySurvey):
        return DictionaryQuestion(name, made_by)
    if isinstance(made_by, type):
        remedy = f"is a class: pass a mechanism, such as {made_by.__name__}(...)"
        raise InvalidArgument(f"mechanisms[{name!r}]", made_by.__name__, remedy)
    remedy = "must be a mechanism, such as KRR(...), a PUM or a DictionarySurvey"
    if isinstance(made_by, DesignFunction):
        remedy = f"reads the columns {', '.join(made_by.columns)} of a table: pass the dict of "
        remedy += "mechanisms to ldpstats.Survey(table, {...}), or give by_column a dict"
    if isinstance(made_by, Device):
        remedy = "is a device: give device.mechanism(categories), for example .mechanism((2, 1))"
    raise InvalidArgument(f"mechanisms[{name!r}]", made_by, remedy)


def _renamed(
    error: InvalidArgument, place: re.Pattern[str], first: int, named: Named
) -> InvalidArgument:
    """An error about a value, whose name has its place counted from `first`, without the value."""
    found = place.search(error.name)
    where = named(None if found is None else int(found[1]) - first)
    return type(error)(where, HIDDEN, error.unquoted)


# -- Which of the private questions each respondent is asked --------------------------------------


def draw_asked(n: int, n_questions: int, ask: int | None, words: Words) -> npt.NDArray[np.bool_]:
    """Which questions n respondents are asked, (n, n_questions): each set of `ask` as likely."""
    # exactly, by the shuffle of Fisher and Yates; all if `ask` is None
    if ask is None or ask == n_questions:
        return np.ones((n, n_questions), dtype=bool)
    fewer = min(ask, n_questions - ask)  # drawn are those that are asked, or those that are not
    order = np.tile(np.arange(n_questions, dtype=np.int32), (n, 1))
    drawn, rows = np.zeros((n, n_questions), dtype=bool), np.arange(n)
    for i in range(fewer):
        j = i + sample_krr(np.zeros(n, dtype=np.int64), n_questions - i, 0, words)
        drawn[rows, order[rows, j]] = True
        order[rows, j] = order[:, i]  # what was drawn is not drawn again
    return drawn if fewer == ask else ~drawn


# -- How a questionnaire is shown: a line for each question ---------------------------------------


_HEAD = ("question", "mechanism", "categories", "epsilon")
_WIDTH, _MOST = 40, 6  # characters of a cell, categories that are listed


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _lines(sheet: Any) -> list[tuple[str, str, str, str]]:
    """The cells of each question."""
    lines = []
    for question in sheet.entries:
        labels, made_by = question.labels, question.made_by
        shown, kind = "any text", type(made_by).__name__
        if labels is not None:
            shown = ", ".join(map(str, labels[:_MOST])) + ", ..." * (len(labels) > _MOST)
            shown = f"{len(labels)}: {shown}"
        if isinstance(made_by, Mechanism) and made_by.cohort_names:
            kind = f"{kind}, groups {', '.join(made_by.cohort_names)}"
        if question.name in sheet.refused:
            kind = f"{kind}, refused: {sheet.refused[question.name]}"
        spent = f"{question.epsilon:.6g}" if question.private else "observed"
        lines.append((_cut(question.name), _cut(kind), _cut(shown), spent))
    return lines


def _foot(sheet: Any) -> str:
    """What a whole sheet spends, in words."""
    wave = "" if sheet.wave is None else f"; wave {sheet.wave}{', linked' * sheet.link}"
    wave += ", responses kept" * sheet.keep
    end = f"{wave}; fingerprint {sheet.fingerprint}"
    if not sheet.private:
        return f"no question is protected{end}"
    asked = ""
    if sheet.ask is not None:
        asked = f", {sheet.ask} of {len(sheet.private)} private questions asked at random"
    return f"epsilon of a sheet: {sheet.epsilon:.6g}{asked}{end}"


def as_text(sheet: Any) -> str:
    """A table of the questions, in plain text."""
    rows = [_HEAD, *_lines(sheet)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([line.rstrip() for line in lines] + [_foot(sheet)])


def as_html(sheet: Any) -> str:
    """A table of the questions, in HTML."""

    def row(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(line, "td") for line in _lines(sheet))
    head = f"<thead>{row(_HEAD, 'th')}</thead>"
    return f"<table><caption>{escape(_foot(sheet))}</caption>{head}<tbody>{body}</tbody></table>"


# -- What a questionnaire is made of: names, mechanisms, and their specifications -----------------


FINGERPRINTS = fingerprint_column("questionnaire")  # a column of CSV tables: who made the row


def checked_mechanisms(mechanisms: Any) -> dict[str, Any]:
    """Mechanisms by name, in order."""
    if not isinstance(mechanisms, Mapping):
        remedy = 'must be a dict from names to mechanisms, such as {"job": KRR(...)}'
        raise InvalidArgument("mechanisms", mechanisms, remedy)
    if not mechanisms:
        raise InvalidArgument("mechanisms", {}, "needs at least one question")
    return {_name(name): made_by for name, made_by in mechanisms.items()}


def _name(name: object) -> str:
    """The name of a question as plain text."""
    remedy = "must be text, not empty: the name of a question is that of its column"
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgument("mechanisms", name, remedy)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("mechanisms", name, "has no UTF-8 form: rename it") from None
    if any(category(character) in ("Cc", "Zl", "Zp") for character in name):
        remedy = "has a line break or another control character: rename the question and its column"
        raise InvalidArgument("mechanisms", name, remedy)
    return str.__str__(name)


def check_columns(questions: tuple[Question, ...], beside: tuple[str, ...] = ()) -> None:
    """Refuse columns of two questions, or of fingerprints, and labels that no column holds.

    `beside` are columns that a collector adds; readers of its files ignore case.
    """
    every = [column for question in questions for column in (question.name, *question.columns)]
    owner = {fingerprint_column(column): f"the fingerprints of {column!r}" for column in every}
    owner[FINGERPRINTS] = "the fingerprints of tables"
    for question in questions:
        named = [c for c, mechanism in question.mechanisms.items() if mechanism.cohort_names]
        owner |= {cohort_column(c): f"the groups of {c!r}" for c in named}
    for question in questions:
        for column in dict.fromkeys((question.name, *question.columns)):
            if column.casefold() in beside:
                owner[column] = "the waves of a questionnaire"
            if column in owner:
                remedy = f"the column {column!r} belongs to {owner[column]}: rename the question"
                raise InvalidArgument("mechanisms", question.name, remedy)
            owner[column] = f"the question {question.name!r}"
    for question in questions:
        for mechanism in question.mechanisms.values():
            if not isinstance(mechanism, Enumerated) or cell_type(mechanism) is not int:
                continue
            if isinstance(mechanism.outputs, pd.RangeIndex):
                continue
            for label in mechanism.outputs.tolist():
                if not -(2**63) <= label < 2**63:
                    remedy = f"is a whole number beyond 64 bits: make it text, '{label}'"
                    raise InvalidArgument(f"mechanisms[{question.name!r}]", label, remedy)


def checked_refused(
    refused: Any, private: tuple[str, ...], find: Callable[[object, str], Question]
) -> dict[str, Any]:
    """The category that stands for a missing answer, by question."""
    if refused is None:
        return {}
    if not private:
        raise InvalidArgument("refused", refused, "must be None: no question is private")
    if not isinstance(refused, Mapping) and not pd.api.types.is_scalar(refused):
        remedy = "must be a label, or a dict from question to label"
        raise InvalidArgument("refused", refused, remedy)
    given = refused if isinstance(refused, Mapping) else dict.fromkeys(private, refused)
    found = {}
    for name, label in given.items():
        question = find(name, "refused")
        if not question.private:
            raise InvalidArgument("refused", name, "is not protected: leave its answers missing")
        where = f"refused[{name!r}]" if isinstance(refused, Mapping) else "refused"
        label = question.checked_label(where, label)
        if question.sensitive is not None and label not in question.sensitive:
            remedy = f"is not protected by {question.made_by}: add it to its sensitive categories"
            raise InvalidArgument(where, label, f"{remedy}, or reports tell who refused")
        found[question.name] = label
    return {name: found[name] for name in private if name in found}


def read_questions(document: object) -> dict[str, Any]:
    """Mechanisms by name, from a list of specifications."""
    remedy = 'must be a list of objects with the fields "name" and "mechanism"'
    if not isinstance(document, list):
        raise InvalidArgument("questions", document, remedy)
    found: dict[str, Any] = {}
    for entry in document:
        if not isinstance(entry, dict) or set(entry) != {"name", "mechanism"}:
            raise InvalidArgument("questions", entry, remedy)
        name = _name(entry["name"])
        if name in found:
            raise InvalidArgument("questions", name, "is the name of two questions")
        found[name] = _read_mechanism(entry["mechanism"])
    return found


def read_specification(path: FilePath) -> Mechanism | PUM | DictionarySurvey:
    """What a JSON file specifies: a mechanism of any kind, or a dictionary survey."""
    other = "is the specification of a questionnaire, not of one question"
    return specified(path, "mechanism", _read_mechanism, {QUESTIONNAIRE: other})


def _read_mechanism(document: Any) -> Mechanism | PUM | DictionarySurvey:
    """What a specification of any kind specifies."""
    kinds: dict[str, Any] = {SURVEY: DictionarySurvey, "ldpstats-pum": PUM}
    found = next((kind for own, kind in kinds.items() if is_format(document, own)), Mechanism)
    made_by: Mechanism | PUM | DictionarySurvey = found.from_dict(document)
    return made_by


# -- Reports of devices that respondents work by hand: in groups, and with unknown parameters -----


Parameters = Mapping[str, Mapping[str, Any]]


def _mechanisms(sheet: Any) -> dict[str, Mechanism]:
    """The mechanisms of private questions that have one."""
    made = {name: sheet[name] for name in sheet.private}
    return {name: made_by for name, made_by in made.items() if isinstance(made_by, Mechanism)}


def checked_parameters(sheet: Any, parameters: Any) -> dict[str, Any]:
    """The devices that those with unknown parameters are at the given values, by question."""
    remedy = "must be a dict from questions to dicts, such as {'used': {'cheating': 0.1}}"
    given = {} if parameters is None else parameters
    if not isinstance(given, Mapping):
        raise InvalidArgument("parameters", given, remedy)
    unknown = {name: made.unknown for name, made in _mechanisms(sheet).items() if made.unknown}
    for name, values in given.items():
        sheet.question(name, "parameters")
        if name not in unknown:
            raise InvalidArgument("parameters", name, "is a question without unknown parameters")
        if not isinstance(values, Mapping):
            raise InvalidArgument(f"parameters[{name!r}]", values, remedy)
    lacking = {name: own for name, own in unknown.items() if name not in given}
    if lacking:
        shown = {name: dict.fromkeys(own, 0.1) for name, own in lacking.items()}
        options = " ".join(f"--param {q}.{n}=0.1" for q, own in lacking.items() for n in own)
        raise NotAvailable(
            f"respondents work the device of {in_turn(list(map(repr, lacking)))} themselves, and "
            f"how some parameter comes out is unknown; to simulate them say parameters={shown} "
            f"({options})"
        )
    return {name: sheet[name].at(given[name]) for name in unknown}


def assigned(sheet: Any) -> dict[str, str]:
    """The column of cohorts that a table of answers may have, by question."""
    return {name: cohort_column(name) for name, m in _mechanisms(sheet).items() if m.cohort_names}


def given_cohorts(question: Question, table: Table) -> Array | None:
    """Numbers of the cohorts that the table assigns respondents to, (n,); None if it does not."""
    made_by, column = question.made_by, cohort_column(question.name)
    if isinstance(made_by, ByColumn):
        if not {*made_by.columns} <= {*table.columns}:
            return None
        names = made_by.cohorts_in({name: table.column(name) for name in made_by.columns})
        return matched(column, names, pd.Index(made_by.cohort_names))
    if not isinstance(made_by, Mechanism) or not made_by.cohort_names:
        return None
    if column not in table.columns:
        return None
    return matched(column, table.column(column), cohort_index(made_by))


def by_hand(
    question: Question,
    given: Array,
    words: Words,
    named: Named,
    known: Any,
    cohorts: Array | None,
) -> Reports:
    """Reports of answers, (n,), by a device of known parameters, perhaps in given cohorts."""
    mechanism, labels = question.made_by, question.labels
    assert labels is not None
    device = mechanism if known is None else known
    if cohorts is None:
        drawn = device._report(labels.take(given), words, "raise")
        return Reports(drawn.y, mechanism)
    if (cohorts < 0).any():
        column = cohort_column(question.name)
        where = named(int(np.argmax(cohorts < 0)))
        raise InvalidArgument(where, None, f"has an answer, but no cohort in the column {column!r}")
    y = np.zeros(given.size, dtype=np.int64)
    for c, part in enumerate(device.cohort_parts):
        rows = np.flatnonzero(cohorts == c)
        drawn = part.mechanism._report(labels.take(given[rows]), words, "raise")
        y[rows] = part.places[drawn.y]
    return Reports(y, mechanism)


# -- The audit of a questionnaire: of each question, and of all that a respondent sends -----------


@dataclass(frozen=True)
class SheetAudit(Audit):
    """Audits of the questions of a questionnaire, and their sum over a sheet.

    Parameters
    ----------
    mechanism, declared, channel, sampler
        As of `privacy.Audit`, for all reports of an answer sheet together.
    questions : mapping from name to Audit
        The audit of each question, observed ones included.
    observed : tuple of str
        Names of the questions that are not protected, and not in the sums of others.
    """

    questions: Mapping[str, Audit] = field(default_factory=dict)
    observed: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no question leaks more than it claims."""
        return all(audit.agrees for audit in self.questions.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        names = ("mechanism", "declared", "channel", "sampler")
        own = Audit(**{name: getattr(self, name) for name in names}).to_dict()
        questions = {name: audit.to_dict() for name, audit in self.questions.items()}
        return own | {"agrees": self.agrees, "questions": questions}

    def __str__(self) -> str:
        parts = [
            f"{name}: observed, not protected" if name in self.observed else f"{name}: {audit}"
            for name, audit in self.questions.items()
        ]
        own = str(Audit(self.mechanism, self.declared, self.channel, self.sampler))
        return "\n".join([own, *parts])


def largest(epsilons: list[float], ask: int | None) -> float:
    """The sum of the `ask` largest epsilons, in nats; of all if None."""
    return fsum(sorted(epsilons, reverse=True)[:ask])
