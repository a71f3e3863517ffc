"""Kinds of questions: how answers are read, what a report of one is, and where it is kept."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_series, missing_entries, preview
from ldpstats.arguments.matching import matched
from ldpstats.channels.audit import Audit
from ldpstats.clients.device import plain
from ldpstats.devices import Device
from ldpstats.errors import HIDDEN, InvalidArgument
from ldpstats.io.layout import stored_names
from ldpstats.io.report_columns import SURVEY_COLUMNS, SURVEY_FINGERPRINT, stored_fingerprint
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.models.dictionary.reports import DictionaryReports, starts_of
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.single import Reports
from ldpstats.sampling.words import Words, entropy_of, system_words
from ldpstats.survey.cells import cells_of_reports, cells_of_text, stored_cells

__all__ = ["Named", "PersonalQuestion", "Question", "question_of"]

Array = npt.NDArray[Any]
Named = Callable[[int | None], str]
"""Names the place of answer i in an error, or all answers to a question if i is None."""

_ROW, _PLACE = re.compile(r", row (\d+)$"), re.compile(r"\[(\d+)\]$")


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
    def sensitive(self) -> pd.Index[Any] | None:
        """The answers that are protected; None where all are."""
        return None

    @property
    @abstractmethod
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanisms whose reports its columns hold, by column."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in a table of reports."""
        return (self.name,)

    @abstractmethod
    def audit(self) -> Audit:
        """The audit of its mechanism."""

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
        """Answers in the form that `draw` takes, (n,), and which are missing; errors show none.

        Codes of labels, int64; or, where any text is an answer, objects.
        """
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

    @abstractmethod
    def draw(self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None) -> Any:
        """Reports of answers that are not missing, in the form of `answers`.

        `tags` are categories of the respondents' own, an array (n,) for each tag; see `PUM`.
        """

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

    def cells(self, reports: Any, absent: npt.NDArray[np.bool_]) -> dict[str, pd.Series[Any]]:
        """The columns of reports in a table, empty where `absent`, (n,)."""
        return {self.name: cells_of_reports(reports, absent)}

    def stored_cells(
        self, reports: Any, absent: npt.NDArray[np.bool_]
    ) -> dict[str, pd.Series[Any]]:
        """The columns of reports as a Parquet file holds them; see `io.layout`."""
        return stored_cells(self.name, reports, absent)

    @property
    def stored_columns(self) -> tuple[str, ...]:
        """Its columns in a Parquet file of reports."""
        made = self.mechanisms
        return tuple(
            n for c in self.columns for n in (stored_names(c, made[c]) if c in made else [c])
        )

    @property
    def stored(self) -> dict[str, dict[bytes, bytes]]:
        """What a Parquet file stores beside its columns: who made them."""
        return {
            name: stored_fingerprint(made_by)
            for column, made_by in self.mechanisms.items()
            for name in stored_names(column, made_by)
        }

    @abstractmethod
    def message(self, reports: Any) -> Any:
        """What a device sends for one report, in plain Python."""

    def device(self, words: Words, tags: Mapping[Any, Any]) -> Callable[[Array], Any]:
        """The function from one answer, in the form of `answers`, to what a device sends."""
        if tags:
            remedy = f"are for a PUM: {self.name!r} has {self.made_by}"
            raise InvalidArgument("tags", HIDDEN, remedy)
        where, drawn = f"answers[{self.name!r}]", self.made_by.procedure.drawn
        _ = self.made_by._device  # opened before there is an answer

        def report(given: Array) -> Any:
            found = drawn(given[0], words)
            if found is not None:
                return found
            return self.message(self.reports(given, words, lambda i: where))

        return report


class MechanismQuestion(Question):
    """A question whose answers a mechanism privatises."""

    made_by: Mechanism

    @property
    def private(self) -> bool:
        return not self.made_by.unprotected

    @property
    def epsilon(self) -> float:
        return self.made_by.procedure.epsilon

    @property
    def labels(self) -> pd.Index[Any] | None:
        return None if self.made_by.is_open else self.made_by.labels()

    @property
    def sensitive(self) -> pd.Index[Any] | None:
        return self.made_by.sensitive

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        return {self.name: self.made_by}

    def audit(self) -> Audit:
        return self.made_by.audit()

    def answers(self, values: object, named: Named) -> tuple[Array, npt.NDArray[np.bool_]]:
        try:
            values = self.made_by.to_labels("values", values)
        except InvalidArgument as error:
            raise _renamed(error, _PLACE, 0, named) from None
        return super().answers(values, named)

    def draw(self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None) -> Reports:
        values = given if self.labels is None else self.labels.take(given)
        reports: Reports = self.made_by.procedure.draw(values, words, "raise")
        return reports

    def message(self, reports: Reports) -> Any:
        return self.made_by.procedure.message(reports)


class PersonalQuestion(Question):
    """A question under a personalised mechanism: its reports are of the common one."""

    made_by: PUM

    @property
    def epsilon(self) -> float:
        return self.made_by.epsilon

    @property
    def labels(self) -> pd.Index[Any]:
        return self.made_by.categories

    @property
    def sensitive(self) -> pd.Index[Any]:
        found: pd.Index[Any] = self.made_by.mechanism.sensitive
        return found

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        return {self.name: self.made_by.common}

    def audit(self) -> Audit:
        return self.made_by.common.audit()

    def draw(self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None) -> Reports:
        codes = self.made_by.preprocess(self.labels.take(given), tags)
        return Reports(self.made_by.common.sample(codes, words), self.made_by.common)

    def message(self, reports: Reports) -> Any:
        return self.made_by.common.procedure.message(reports)

    def device(self, words: Words, tags: Mapping[Any, Any]) -> Callable[[Array], Any]:
        own = self.made_by.client(tags, entropy_of(words), reports=None)  # the sheet has the budget
        return lambda given: own.report(self.labels[int(given[0])])


class DictionaryQuestion(Question):
    """A question about strings that nobody listed; its reports have five columns."""

    made_by: DictionarySurvey

    @property
    def epsilon(self) -> float:
        return self.made_by.procedure.epsilon

    @property
    def labels(self) -> None:
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{part}" for part in SURVEY_COLUMNS)

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        _, gram_1, _, gram_2, string = self.columns
        return dict(zip((gram_1, gram_2, string), self.made_by.mechanisms, strict=True))

    def audit(self) -> Audit:
        return self.made_by.audit()

    def draw(
        self, given: Array, words: Words, tags: Mapping[Any, Any] | None = None
    ) -> DictionaryReports:
        reports: DictionaryReports = self.made_by.procedure.draw(given, words, "raise")
        return reports

    def cells(self, reports: Any, absent: npt.NDArray[np.bool_]) -> dict[str, pd.Series[Any]]:
        frame: pd.DataFrame = reports.to_frame()
        return {
            column: cells_of_text(frame[part].tolist(), absent, int if "start" in part else str)
            for column, part in zip(self.columns, SURVEY_COLUMNS, strict=True)
        }

    def stored_cells(
        self, reports: Any, absent: npt.NDArray[np.bool_]
    ) -> dict[str, pd.Series[Any]]:
        start_1, gram_1, start_2, gram_2, string = self.columns
        found: dict[str, pd.Series[Any]] = {}
        pairs = ((start_1, gram_1, reports.first), (start_2, gram_2, reports.second))
        for (start, gram, part), places in zip(pairs, starts_of(reports), strict=True):
            found[start] = cells_of_text(places.tolist(), absent, int)
            found |= stored_cells(gram, part, absent)
        return found | stored_cells(string, reports.string, absent)

    @property
    def stored(self) -> dict[str, dict[bytes, bytes]]:
        own, of_mechanisms = self.made_by.fingerprint.encode("ascii"), super().stored
        return {
            column: {SURVEY_FINGERPRINT: own, **of_mechanisms.get(column, {})}
            for column in self.stored_columns
        }

    def message(self, reports: DictionaryReports) -> Any:
        return self.made_by.procedure.message(reports)


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
