"""Specifications as JSON files: what such a file holds, and that of a mechanism."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ldpstats.errors import InvalidArgument
from ldpstats.io.storage import FilePath, reading, refusal, replacing
from ldpstats.io.tables import check_mechanism
from ldpstats.mechanisms import Mechanism
from ldpstats.models.dictionary.survey import DictionarySurvey

T = TypeVar("T")

MECHANISM, SURVEY = "ldpstats-mechanism", "ldpstats-dictionary-survey"  # what `to_dict` says
QUESTIONNAIRE = "ldpstats-questionnaire"
_SHEET = "is a questionnaire: read it with Questionnaire.from_json, or pass it as --questionnaire"


def read_mechanism(path: FilePath) -> Mechanism:
    """Read the specification of a mechanism from a JSON file.

    Parameters
    ----------
    path : path-like
        What `write_mechanism` wrote.

    Returns
    -------
    Mechanism

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is not JSON, or specifies no mechanism of this release.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mechanism(ldp.KRR(("a", "b"), epsilon=1.0), f"{folder}/spec.json")
    ...     print(read_mechanism(f"{folder}/spec.json"))
    KRR(k=2, epsilon=1)
    """
    other = "is the specification of a survey of strings, not of a mechanism"
    others = {SURVEY: other, QUESTIONNAIRE: _SHEET}
    return specified(path, "mechanism", Mechanism.from_dict, others)


def specified(
    path: FilePath, what: str, read: Callable[[Any], T], others: Mapping[str, str] | None = None
) -> T:
    """What a file specifies, as `read`; files of the `others` are refused, by their format."""
    document = json_document(path)
    for kind, remedy in (others or {}).items():
        if is_format(document, kind):
            raise refusal(path, remedy)
    try:
        return read(document)
    except (ValueError, OverflowError, RecursionError) as error:
        raise refusal(path, f"is not the specification of a {what} ({error})") from None


def json_document(path: FilePath) -> Any:
    """What a JSON file holds."""
    with reading(path), open(path, encoding="utf-8-sig") as file:
        return json_text(file.read(), "path", os.fspath(path))


def json_text(text: str, name: str = "text", shown: object = None) -> Any:
    """What JSON text holds; an error calls it `name` and shows it, or what is `shown`."""
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        given = text if shown is None else shown
        raise InvalidArgument(name, given, f"is not a specification ({error})") from None


def is_format(document: Any, name: str) -> bool:
    """Whether a document says that it has this format."""
    return isinstance(document, dict) and document.get("format") == name


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise InvalidArgument("specification", [key for key, _ in pairs], "repeats a field")
    return document


def write_mechanism(mechanism: Mechanism, path: FilePath, *, force: bool = False) -> None:
    """Write the specification of a mechanism to a JSON file.

    Parameters
    ----------
    mechanism : Mechanism
    path, force
        As in `write_reports`.

    Raises
    ------
    InvalidArgument
        If `mechanism` is not a mechanism, or the file exists or cannot be written.

    Examples
    --------
    See `read_mechanism`.
    """
    check_mechanism(mechanism)
    write_specification(mechanism, path, force)


def write_specification(made_by: Any, path: FilePath, force: bool) -> None:
    """Write the specification of a mechanism, survey or questionnaire to a JSON file."""
    with replacing(path, force) as temporary:
        temporary.write_text(specification_text(made_by), encoding="utf-8")


def specification_text(made_by: Any) -> str:
    """The text of such a file."""
    return json.dumps(made_by.to_dict(), indent=2) + "\n"


def read_survey(path: FilePath) -> DictionarySurvey:
    """Read the specification of a dictionary survey from a JSON file.

    Parameters
    ----------
    path : path-like
        What `write_survey` wrote.

    Returns
    -------
    DictionarySurvey

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is not JSON, or specifies no survey of this release.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc", epsilon=6.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_survey(survey, f"{folder}/survey.json")
    ...     print(read_survey(f"{folder}/survey.json"))
    DictionarySurvey(length=6, 2-grams, alphabet of 3, epsilon=6)
    """
    other = "is the specification of a mechanism, not of a survey"
    others = {MECHANISM: other, QUESTIONNAIRE: _SHEET}
    return specified(path, "survey", DictionarySurvey.from_dict, others)


def is_survey(path: FilePath) -> bool:
    """Whether a JSON file is the specification of a dictionary survey, and not of a mechanism.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not JSON.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.io import write_mechanism
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mechanism(ldp.Warner(epsilon=1.0), f"{folder}/spec.json")
    ...     is_survey(f"{folder}/spec.json")
    False
    """
    return is_format(json_document(path), SURVEY)


def write_survey(survey: DictionarySurvey, path: FilePath, *, force: bool = False) -> None:
    """Write the specification of a dictionary survey to a JSON file.

    Parameters
    ----------
    survey : DictionarySurvey
    path, force
        As in `write_reports`.

    Raises
    ------
    InvalidArgument
        If `survey` is not a survey, or the file exists or cannot be written.

    Examples
    --------
    See `read_survey`.
    """
    check_survey(survey)
    write_specification(survey, path, force)


def check_survey(survey: object) -> None:
    """Refuse anything but a survey."""
    if not isinstance(survey, DictionarySurvey):
        raise InvalidArgument("survey", survey, "must be a survey: DictionarySurvey(...)")
