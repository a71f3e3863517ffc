"""Kinds of questions: how answers are read, what a report of one is, and where it is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.arguments.labels import position, preview
from ldpstats.channels.audit import Audit
from ldpstats.clients.device import plain
from ldpstats.errors import InvalidArgument
from ldpstats.io.report_columns import SURVEY_COLUMNS
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.sampling.words import system_words

__all__ = ["DictionaryQuestion", "PersonalQuestion", "Question", "question_of"]


@dataclass(frozen=True, eq=False)
class Question(ABC):
    """A named question, and what privatises its answers."""

    name: str
    made_by: Any

    @property
    def private(self) -> bool:
        """Whether its answers are protected, or meant to be."""
        return True

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """What one report spends, in nats."""

    @property
    @abstractmethod
    def labels(self) -> pd.Index[Any] | None:
        """The possible answers; None where any text is one."""

    @property
    @abstractmethod
    def n_cohorts(self) -> int:
        """Cohorts of a respondent, of which a report names one."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in a table of reports."""
        return (self.name,)

    @abstractmethod
    def audit(self) -> Audit:
        """The audit of its mechanism."""

    def checked_label(self, where: str, label: object) -> Any:
        """A possible answer in plain Python; refuse anything else."""
        if self.labels is not None:
            remedy = f"is no category of {self.name!r}, which has {preview(self.labels)}"
            return plain(self.labels[position(where, label, self.labels, remedy)])
        remedy = f"must be text that {self.made_by} takes for an answer to {self.name!r}"
        if not isinstance(label, str) or not label.strip():
            raise InvalidArgument(where, label, remedy)
        try:
            self.made_by.procedure.draw([label], system_words(), "raise")
        except InvalidArgument as error:
            raise InvalidArgument(where, label, f"{remedy}; it {error.remedy}") from None
        return plain(label)


class MechanismQuestion(Question):
    """A question whose answers a mechanism privatises."""

    made_by: Mechanism

    @property
    def private(self) -> bool:
        return not self.made_by.unprotected

    @property
    def epsilon(self) -> float:
        return float(self.made_by.procedure.epsilon)

    @property
    def labels(self) -> pd.Index[Any] | None:
        return None if self.made_by.is_open else self.made_by.labels()

    @property
    def n_cohorts(self) -> int:
        return self.made_by.n_cohorts

    def audit(self) -> Audit:
        return self.made_by.audit()


class PersonalQuestion(Question):
    """A question under a personalised mechanism: its reports are of the common one."""

    made_by: PUM

    @property
    def epsilon(self) -> float:
        return self.made_by.epsilon

    @property
    def labels(self) -> pd.Index[Any] | None:
        return self.made_by.categories

    @property
    def n_cohorts(self) -> int:
        return 0

    def audit(self) -> Audit:
        return self.made_by.common.audit()


class DictionaryQuestion(Question):
    """A question about strings that nobody listed; its reports have five columns."""

    made_by: DictionarySurvey

    @property
    def epsilon(self) -> float:
        return float(self.made_by.procedure.epsilon)

    @property
    def labels(self) -> pd.Index[Any] | None:
        return None

    @property
    def n_cohorts(self) -> int:
        return max(mechanism.n_cohorts for mechanism in self.made_by.mechanisms)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{part}" for part in SURVEY_COLUMNS)

    def audit(self) -> Audit:
        return self.made_by.audit()


def question_of(name: str, made_by: object) -> Question:
    """The kind of question that a mechanism or survey makes."""
    if isinstance(made_by, Mechanism):
        return MechanismQuestion(name, made_by)
    if isinstance(made_by, PUM):
        return PersonalQuestion(name, made_by)
    if isinstance(made_by, DictionarySurvey):
        return DictionaryQuestion(name, made_by)
    if isinstance(made_by, type):
        remedy = f"is a class: pass a mechanism, such as {made_by.__name__}(...)"
        raise InvalidArgument(f"mechanisms[{name!r}]", made_by.__name__, remedy)
    remedy = "must be a mechanism, such as KRR(...), a PUM or a DictionarySurvey"
    raise InvalidArgument(f"mechanisms[{name!r}]", made_by, remedy)
