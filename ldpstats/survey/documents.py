"""What a questionnaire is made of: names, mechanisms, and their specifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import category

import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.io.kept import STORED_FINGERPRINT
from ldpstats.io.report_columns import cell_type
from ldpstats.io.specifications import QUESTIONNAIRE, SURVEY, is_format, json_document
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.mechanisms import PUM, Mechanism, mechanism_from_dict
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.reports.packed import cohort_column
from ldpstats.survey.questions import Question

__all__ = [
    "FINGERPRINTS",
    "QUESTIONNAIRE",
    "STORED_FINGERPRINT",
    "check_columns",
    "check_whole_labels",
    "checked_ask",
    "checked_mechanisms",
    "checked_refused",
    "read_questions",
    "read_specification",
]

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


def check_columns(questions: tuple[Question, ...]) -> None:
    """Refuse a column that belongs to two questions, or to the fingerprints."""
    every = [column for question in questions for column in (question.name, *question.columns)]
    owner = {fingerprint_column(column): f"the fingerprints of {column!r}" for column in every}
    owner[FINGERPRINTS] = "the fingerprints of tables"
    for question in questions:
        named = [c for c, mechanism in question.mechanisms.items() if mechanism.cohort_names]
        owner |= {cohort_column(c): f"the groups of {c!r}" for c in named}
    for question in questions:
        for column in dict.fromkeys((question.name, *question.columns)):
            if column in owner:
                remedy = f"the column {column!r} belongs to {owner[column]}: rename the question"
                raise InvalidArgument("mechanisms", question.name, remedy)
            owner[column] = f"the question {question.name!r}"


def check_whole_labels(questions: tuple[Question, ...]) -> None:
    """Refuse reports that are whole numbers which a column of 64 bits does not hold."""
    for question in questions:
        for mechanism in question.mechanisms.values():
            if not isinstance(mechanism, Enumerated) or cell_type(mechanism) is not int:
                continue
            outputs = mechanism.outputs
            if isinstance(outputs, pd.RangeIndex):
                continue
            for label in outputs.tolist():
                if not -(2**63) <= label < 2**63:
                    remedy = f"is a whole number beyond 64 bits: make it text, '{label}'"
                    raise InvalidArgument(f"mechanisms[{question.name!r}]", label, remedy)


def checked_ask(ask: object, n_private: int) -> int | None:
    """How many private questions to ask; None for all."""
    if ask is None:
        return None
    if not n_private:
        raise InvalidArgument("ask", ask, "must be None: no question is private")
    number = positive_integer("ask", ask)
    if number > n_private:
        remedy = f"must be at most {n_private}, the number of private questions"
        raise InvalidArgument("ask", ask, remedy)
    return number


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
    document = json_document(path)
    if is_format(document, QUESTIONNAIRE):
        raise refusal(path, "is the specification of a questionnaire, not of one question")
    try:
        return _read_mechanism(document)
    except (ValueError, OverflowError, RecursionError) as error:
        raise refusal(path, f"is not the specification of a mechanism ({error})") from None


def _read_mechanism(document: Any) -> Mechanism | PUM | DictionarySurvey:
    """What a specification of any kind specifies."""
    if is_format(document, SURVEY):
        return DictionarySurvey.from_dict(document)
    if is_format(document, "ldpstats-pum"):
        return PUM.from_dict(document)
    return mechanism_from_dict(document)
