"""Questionnaires: what respondents answer, and what all their answers together spend."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpstats.clients.budget import Budget
from ldpstats.clients.secrecy import bare, secretive
from ldpstats.clients.specification import check_fingerprint, check_format
from ldpstats.errors import InvalidArgument
from ldpstats.io.specifications import json_document, json_text
from ldpstats.io.storage.commits import replacing
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.sampling.words import Words, simulation_words, system_words
from ldpstats.survey.asked import AskedQuestions
from ldpstats.survey.documents import (
    FINGERPRINTS,
    QUESTIONNAIRE,
    read_questions,
)
from ldpstats.survey.listing import as_html
from ldpstats.survey.privatizing import privatized
from ldpstats.survey.questions import Question
from ldpstats.survey.sheets import SheetClient, SheetCollector, devices, opened_sheets
from ldpstats.survey.worked import checked_parameters

__all__ = ["FINGERPRINTS", "Questionnaire"]

_VERSION = 1
_FIELDS = {"format", "version", "questions", "ask", "refused"}


@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire(AskedQuestions):
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
        mechanism; whole numbers beyond 64 bits as labels; more questions to ask than there are; and
        `refused` that is no category, or none that its mechanism protects.

    Notes
    -----
    Reports of one respondent add up: epsilon of the sheet is the sum over its private questions, or
    of the `ask` largest. Where a mechanism protects some categories only (`URR`, `URAP`, `PUM`),
    the sheet protects those.

    ``questionnaire[name]`` is the mechanism of a question, as in a dict; `questions` has the names.

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

    # -- reports -----------------------------------------------------------------------------

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
            under `RAPPOR`: its permanent response belongs to `RAPPOR.client`.
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
            how: dict[str, Any] = {"reports": reports, "state": state, "max_epsilon": max_epsilon}
            made = super().client(entropy, **how, allow_no_privacy=allow_no_privacy)
            return made if own is None else replace(made, _devices=own)
        except BaseException as error:
            failure = error
        del tags  # of what a logger may write of this frame
        raise bare(failure)

    def _asked_document(self) -> dict[str, Any]:
        return {"questions": [self._entry(question) for question in self.entries], "ask": self.ask}

    def _entry(self, question: Question) -> dict[str, Any]:
        """A question in the client document."""
        name, refused = question.name, self.refused.get(question.name)
        document: dict[str, Any] = question.made_by._question_document()
        head = {"name": name, "private": question.private}
        return head | document | ({} if refused is None else {"refused": str(refused)})

    def _spent(self) -> float:
        return self.epsilon

    def _most_cohorts(self) -> int:
        mechanisms = (m for question in self.entries for m in question.mechanisms.values())
        return max(mechanism.n_cohorts for mechanism in mechanisms)

    def _collector(self, words: Words) -> SheetCollector:
        return SheetCollector(self, words)

    def _client(self, words: Words, budget: Budget) -> SheetClient:
        return opened_sheets(self, words, budget)

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
        checked = check_format(document, QUESTIONNAIRE)
        known = set(checked) - {"fingerprint"} == _FIELDS
        if repr(checked.get("version")) != repr(_VERSION) or not known:
            remedy = f"must have version {_VERSION} and the fields {sorted(_FIELDS)}"
            raise InvalidArgument("specification", sorted(checked, key=str), remedy)
        if not isinstance(checked["refused"], dict):
            raise InvalidArgument("refused", checked["refused"], "must be an object")
        refused = checked["refused"] or None  # without private questions there can be none
        made = cls(read_questions(checked["questions"]), checked["ask"], refused)
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
        >>> sheet = Questionnaire({"ill": ldp.Warner(epsilon=0.5)})
        >>> Questionnaire.from_json(sheet.to_json()) == sheet
        True
        """
        if isinstance(source, str) and source.lstrip().startswith(("{", "[")):
            return cls.from_dict(json_text(source))
        document = json_document(source)
        try:
            return cls.from_dict(document)
        except (ValueError, OverflowError, RecursionError) as error:
            raise refusal(
                source, f"is not the specification of a questionnaire ({error})"
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:  # read-only dicts cannot be pickled
        return type(self), (dict(self.mechanisms), self.ask, dict(self.refused))

    def __str__(self) -> str:
        if not self.private:
            return f"Questionnaire(nothing protected; observed: {', '.join(self.observed)})"
        names = ", ".join(self.private)
        asked = "" if self.ask is None else f"; {self.ask} of {len(self.private)} asked"
        observed = f"; observed: {', '.join(self.observed)}" if self.observed else ""
        return f"Questionnaire({names}{asked}; epsilon={self.epsilon:.6g}{observed})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)
