"""The specification of a dictionary survey as a JSON file."""

from __future__ import annotations

from ldpstats.dictionary_survey import DictionarySurvey
from ldpstats.errors import InvalidArgument
from ldpstats.io.commits import replacing
from ldpstats.io.files import FilePath, refusal
from ldpstats.io.specifications import (
    MECHANISM,
    SURVEY,
    is_format,
    json_document,
    specification_text,
)

__all__ = ["check_survey", "is_survey", "read_survey", "write_survey"]


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
        For a file that cannot be read, is not JSON, or specifies no survey of this release.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc", epsilon=6.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_survey(survey, f"{folder}/survey.json")
    ...     print(read_survey(f"{folder}/survey.json"))
    DictionarySurvey(length=6, 2-grams, alphabet of 3, epsilon=6)
    """
    document = json_document(path)
    if is_format(document, MECHANISM):
        raise refusal(path, "is the specification of a mechanism, not of a survey")
    try:
        return DictionarySurvey.from_dict(document)
    except (ValueError, OverflowError, RecursionError) as error:
        raise refusal(path, f"is no specification of a survey ({error})") from None


def is_survey(path: FilePath) -> bool:
    """Whether a JSON file is the specification of a dictionary survey, and not of a mechanism.

    Raises
    ------
    InvalidArgument
        For a file that cannot be read, or is not JSON.

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
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        For what is no survey, and for a file that exists or cannot be written.

    Examples
    --------
    See `read_survey`.
    """
    check_survey(survey)
    with replacing(path, force) as temporary:
        temporary.write_text(specification_text(survey), encoding="utf-8")


def check_survey(survey: object) -> None:
    """Refuse what is no survey."""
    if not isinstance(survey, DictionarySurvey):
        raise InvalidArgument("survey", survey, "must be a survey: DictionarySurvey(...)")
