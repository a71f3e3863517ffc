"""What a survey rests on: a collected table, some of its rows, or two waves side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable, shorten
from ldpstats.io.cohorts import cohort_labels
from ldpstats.io.report_columns import FINGERPRINT, SURVEY_FINGERPRINT, stored_text
from ldpstats.io.values import whole_counts
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.reports.packed import cohort_beside, cohort_column
from ldpstats.survey.coded import Coded, as_dictionary, as_observed, as_reports, observed_column
from ldpstats.survey.columns import Column, as_column, as_numbers
from ldpstats.survey.conditions import Condition
from ldpstats.survey.documents import FINGERPRINTS, STORED_FINGERPRINT
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.selecting import selected
from ldpstats.survey.tables import Table

__all__ = [
    "Collected",
    "Derived",
    "Held",
    "Selected",
    "coded_reports",
    "maker_of",
]

Array = npt.NDArray[Any]


class Held(ABC):
    """Rows of reports and of public columns, one a respondent."""

    questionnaire: Questionnaire

    @property
    def lost(self) -> tuple[int, int]:
        """Persons who were left out when waves were matched: in the first or second only."""
        return 0, 0

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""

    @property
    @abstractmethod
    def public_columns(self) -> tuple[str, ...]:
        """Names of those that hold neither reports nor fingerprints."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @property
    def index(self) -> pd.Index[Any]:
        """Labels of the rows: their numbers from 0, but for tables of pandas."""
        return pd.RangeIndex(len(self))

    @property
    def respondents(self) -> int:
        """How many respondents the rows are."""
        return len(self)

    @property
    def ordered(self) -> bool:
        """Whether rows stay in one order, however often they are read."""
        return True

    def cells(
        self, names: Sequence[str], count: str | None = None
    ) -> tuple[Held, npt.NDArray[np.int64] | None]:
        """Rows for what these questions and columns hold together, and how many respondents each.

        In memory the rows themselves, which are one each (None), or as many as the column `count`
        says. On an engine their distinct combinations.
        """
        return self, None if count is None else self.times(count)

    def missing_codes(self, name: str) -> tuple[str, ...]:
        """What means missing in a column, besides what is."""
        return ()

    def times(self, count: str) -> npt.NDArray[np.int64]:
        """How many respondents each row stands for, from a column of counts."""
        raise NotAvailable(f"{count!r}: rows of this table are one respondent each")

    def numbers(self, argument: str, name: str) -> Array:
        """A public column of numbers, (n,), NaN where one is missing; `argument` names it."""
        raise NotAvailable(f"{argument}={name!r}: the numbers of this table are not read as such")

    def read(self, names: Sequence[str]) -> Held:
        """All rows in memory, as far as these questions and columns need them."""
        return self

    def where(self, condition: Condition) -> Held:
        """The rows for which a condition is true."""
        return Selected(self, np.flatnonzero(selected(condition, self)))

    def some(self, rows: npt.NDArray[np.int64]) -> Held:
        """The rows at these positions, each at most once."""
        return Selected(self, rows)

    @abstractmethod
    def parts_of(self, name: str) -> dict[str, str | None]:
        """The columns of a question, each with that of its cohorts; a public column is its own."""

    def columns_of(self, names: Iterable[str]) -> list[str]:
        """All columns that these questions and public columns rest on."""
        parts = [pair for name in names for pair in self.parts_of(name).items()]
        return list(dict.fromkeys(c for pair in parts for c in pair if c is not None))

    @abstractmethod
    def prepare(self, names: Iterable[str]) -> None:
        """Read what these columns need, together."""

    @abstractmethod
    def unasked(self, name: str) -> Column:
        """A column that no question has."""

    @abstractmethod
    def reported(self, name: str) -> Coded:
        """The reports of a question."""

    @abstractmethod
    def owner(self, name: str) -> str | None:
        """The question that a column belongs to."""

    def origin(self, name: str) -> str:
        """What a question is called where waves are not told apart."""
        return name

    def public(self, name: str) -> Column:
        """A column without noise: public, or of an unprotected question.

        Raises
        ------
        InvalidArgument
            For a column of a private question: its reports are noisy.
        """
        self.refuse_private(name)
        if self.owner(name) is None:
            return self.unasked(name)
        return observed_column(name, self.reported(name))

    def refuse_private(self, name: str) -> None:
        """Refuse a column of a private question where one without noise is needed."""
        question = self.owner(name)
        if question in self.questionnaire.private:
            made_by = self.questionnaire[question]
            if question != name and isinstance(made_by, Mechanism) and made_by.cohort_names:
                remedy = f"says with which device {question!r} was asked: all groups are fitted "
                remedy += f"together, by survey.frequencies({question!r})"
                raise InvalidArgument("column", name, remedy)
            remedy = (
                "is private: a noisy report is not an answer, and rows chosen by it are not those "
                f"of the answer; use survey.association({question!r}, ...), whose conditional() "
                "compares by true answers"
            )
            raise InvalidArgument("column", name, remedy)

    def coded(self, name: str) -> Coded:
        """The reports of a question, or a public column as one without protection."""
        if name in self.questionnaire:
            return self.reported(name)
        return as_observed(self.public(name))


@dataclass(frozen=True, eq=False)
class Collected(Held):
    """A table, and the questionnaire that describes its private columns."""

    table: Table
    questionnaire: Questionnaire
    cohorts: Mapping[str, str] = field(default_factory=dict)  # by reports, if not NAME_cohort
    whole: bool = True  # the questionnaire, not some of its mechanisms: its fingerprint must be met
    parsed: dict[str, Coded] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        sheet, there = self.questionnaire, set(self.table.columns)
        for question in sheet.questions:
            for column in sheet.columns(question):
                self.table.check_column(column, "question")
        own = self._reports()
        beside = [*map(fingerprint_column, own), *map(cohort_column, own)]
        self.table.prepare([FINGERPRINTS, *beside, *own])
        for column, made_by in self._marks().items():
            if column in there:
                self.table.check_marks(column, made_by)
        for column, question in own.items():
            self._check_stored(column, sheet[question])

    def missing_codes(self, name: str) -> tuple[str, ...]:
        return self.table.na.on(name)

    def _reports(self) -> dict[str, str]:
        """The question that each column of reports belongs to."""
        sheet = self.questionnaire
        return {column: name for name in sheet.questions for column in sheet.columns(name)}

    @cached_property
    def _cohorts(self) -> dict[str, str]:
        """The column of cohorts beside each column of reports that has one."""
        found, reports = dict(self.cohorts), self._reports()
        others = {*self.columns} - {*reports}
        for name in self.questionnaire.questions:
            for column, mechanism in self.questionnaire.question(name).mechanisms.items():
                known = mechanism.n_cohorts or mechanism.cohort_names
                beside = known and cohort_column(column) in others
                if beside and column not in found:
                    first = self.table.first(column)
                    if cohort := cohort_beside(column, mechanism, others, first):
                        found[column] = cohort
        return found

    def _owned(self) -> dict[str, str]:
        """The question that each column of reports, or of their cohorts, belongs to."""
        reports = self._reports()
        return reports | {cohort: reports[column] for column, cohort in self._cohorts.items()}

    def _marks(self) -> dict[str, Any]:
        """What made the reports beside each column of fingerprints that there may be."""
        sheet = self.questionnaire
        marks = {fingerprint_column(name): maker_of(sheet[name]) for name in sheet.questions}
        return ({FINGERPRINTS: sheet} if self.whole else {}) | marks

    def _check_stored(self, column: str, made_by: Any) -> None:
        """Refuse a column beside which another fingerprint is stored."""
        key = SURVEY_FINGERPRINT if isinstance(made_by, DictionarySurvey) else FINGERPRINT
        stored = self.table.stored(column)
        makers = {key: maker_of(made_by)}
        if self.whole:
            makers[STORED_FINGERPRINT] = self.questionnaire
        for known, maker in makers.items():
            found = stored_text(stored, known)
            if found and found != maker.fingerprint:
                raise MechanismMismatch(
                    f"column {column!r} holds reports of another mechanism or questionnaire: its "
                    f"fingerprint is {shorten(found)}, not that of {maker}, {maker.fingerprint}; "
                    "use the questionnaire that the reports were made with"
                )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.table.columns

    @property
    def public_columns(self) -> tuple[str, ...]:
        other = {*self._owned(), *self._marks(), FINGERPRINTS}
        return tuple(name for name in self.columns if name not in other)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def index(self) -> pd.Index[Any]:
        return self.table.index

    def prepare(self, names: Iterable[str]) -> None:
        self.table.prepare(names)

    def owner(self, name: str) -> str | None:
        return name if name in self.questionnaire else self._owned().get(name)

    def unasked(self, name: str) -> Column:
        self.table.check_column(name)
        return as_column(name, self.table.typed(name))

    def times(self, count: str) -> npt.NDArray[np.int64]:
        return whole_counts(f"column {count!r}", self.table.typed(count), 0)

    def numbers(self, argument: str, name: str) -> Array:
        return as_numbers(argument, name, self.table.typed(name))

    def parts_of(self, name: str) -> dict[str, str | None]:
        if name not in self.questionnaire:
            self.table.check_column(name)
            return {name: None}
        return {c: self._cohorts.get(c) for c in self.questionnaire.columns(name)}

    def reported(self, name: str) -> Coded:
        if name not in self.parsed:
            self.parsed[name] = coded_reports(self.table, self, name)
        return self.parsed[name]


def coded_reports(table: Table, held: Held, name: str) -> Coded:
    """The reports of a question in the columns of a table."""
    sheet, parts = held.questionnaire, held.parts_of(name)
    made_by, made = sheet[name], sheet.question(name).mechanisms
    kinds = {c: made[own] for own, c in zip(sheet.columns(name), parts, strict=True) if own in made}
    outputs = {
        c: m.outputs if parts[c] is None else cohort_labels(m)
        for c, m in kinds.items()
        if isinstance(m, Enumerated)
    }
    given = [(c, table.reports(c, outputs.get(c))) for c in parts]
    cohorts = {c: table.column(cohort) for c, cohort in parts.items() if cohort is not None}
    if isinstance(made_by, DictionarySurvey):
        return as_dictionary(name, made_by, given, cohorts)
    ((column, reports),) = given
    return as_reports(name, maker_of(made_by), reports, cohorts.get(column))


def maker_of(made_by: Any) -> Any:
    """The mechanism that makes the reports of a question."""
    return made_by.common if isinstance(made_by, PUM) else made_by


@dataclass(frozen=True, eq=False)
class Derived(Held):
    """Rows of a table that has the same columns and questions as another, its whole."""

    whole: Held

    @property
    def questionnaire(self) -> Questionnaire:  # type: ignore[override]
        return self.whole.questionnaire

    @property
    def lost(self) -> tuple[int, int]:
        return self.whole.lost

    @property
    def columns(self) -> tuple[str, ...]:
        return self.whole.columns

    @property
    def public_columns(self) -> tuple[str, ...]:
        return self.whole.public_columns

    def owner(self, name: str) -> str | None:
        return self.whole.owner(name)

    def origin(self, name: str) -> str:
        return self.whole.origin(name)

    def parts_of(self, name: str) -> dict[str, str | None]:
        return self.whole.parts_of(name)


@dataclass(frozen=True, eq=False)
class Selected(Derived):
    """Some rows."""

    rows: npt.NDArray[np.int64]  # positions, each at most once

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def index(self) -> pd.Index[Any]:
        return self.whole.index.take(self.rows)

    def prepare(self, names: Iterable[str]) -> None:
        self.whole.prepare(names)

    def unasked(self, name: str) -> Column:
        return self.whole.unasked(name).taken(self.rows)

    def reported(self, name: str) -> Coded:
        return self.whole.reported(name).taken(self.rows)

    def times(self, count: str) -> npt.NDArray[np.int64]:
        return self.whole.times(count)[self.rows]

    def numbers(self, argument: str, name: str) -> Array:
        return self.whole.numbers(argument, name)[self.rows]
