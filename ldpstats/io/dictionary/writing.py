"""Files of strings made into files of a dictionary survey's reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.io.answers import Answers, check_labels, chunks_of, filled
from ldpstats.io.kept import KeptColumns, constant
from ldpstats.io.layout import stored_columns, stored_names
from ldpstats.io.report_columns import (
    SURVEY_COLUMNS,
    SURVEY_FINGERPRINT,
    SURVEY_FINGERPRINTS,
    stored_fingerprint,
)
from ldpstats.io.secrecy import without_answers
from ldpstats.io.storage.files import FilePath
from ldpstats.io.table_writing import write_table
from ldpstats.io.tables import CHUNK_ROWS, Advance, file_format, names
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.models.dictionary.reports import DictionaryReports, starts_of
from ldpstats.models.dictionary.survey import (
    DictionaryClient,
    DictionaryCollector,
    DictionarySurvey,
)
from ldpstats.reports.packed import cohort_column

__all__ = ["privatize_strings", "write_dictionary_reports"]

_PRIVATIZED = ("gram_1", "gram_2", "string")  # of SURVEY_COLUMNS; the others are starts of grams

Array = npt.NDArray[Any]


def write_dictionary_reports(
    reports: DictionaryReports | Iterable[DictionaryReports],
    path: FilePath,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the reports of a dictionary survey to a CSV or Parquet file.

    Parameters
    ----------
    reports : DictionaryReports or iterable of DictionaryReports
        Chunks of one survey's reports. A respondent who gave no answer becomes an empty row.
    path : path-like
        Its columns are those of `DictionaryReports.to_frame`; in Parquet bits are bytes, and
        cohorts have columns of their own (`io.layout`). The survey's fingerprint goes with
        them: a CSV file has it in every row, missing answers included, in the column
        `survey_fingerprint`; a Parquet file stores it once. Keep the specification beside the file
        (`write_survey`): without it the reports cannot be analysed.
    force : bool
        Whether an existing file may be overwritten.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula; `read_dictionary_reports` leaves it out.

    Raises
    ------
    InvalidArgument
        If the file exists or cannot be written, there are no chunks, a chunk is not a
        DictionaryReports, or `spreadsheet_safe` is True for Parquet.
    MechanismMismatch
        If the chunks are of several surveys.

    Examples
    --------
    See `read_dictionary_reports`.
    """
    survey, chunks = chunks_of(reports, DictionaryReports, lambda chunk: chunk.survey)
    frames = (
        _columns(chunk, np.arange(len(chunk) + chunk.n_missing) >= len(chunk), path)
        for chunk in chunks
    )
    _write(map(pd.DataFrame, frames), survey, path, force=force, spreadsheet_safe=spreadsheet_safe)


@without_answers
def privatize_strings(
    source: FilePath,
    target: FilePath,
    column: str,
    client: DictionaryCollector,
    *,
    keep: Sequence[str] = (),
    missing: str = "raise",
    na: Sequence[str] = (),
    force: bool = False,
    specification: FilePath | None = None,
    spreadsheet_safe: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> tuple[int, int]:
    """Privatise a column of strings for a dictionary survey into another file, chunk by chunk.

    The true column is never copied, and no error shows what it holds. The rows keep their order. A
    row is one respondent, who reports once: the strings of one respondent in several rows spend
    epsilon once for each row.

    Parameters
    ----------
    source, target : path-like
        CSV or Parquet files. The reports are the columns start_1, gram_1, start_2, gram_2 and
        string of `target`, as in `DictionaryReports.to_frame`. In a CSV file the column
        survey_fingerprint follows: every row, missing answers included, says which survey made it.
    column : str
        Column of true strings.
    client : DictionaryCollector
        From `DictionarySurvey.collector`.
    keep : sequence of str
        Other columns to copy beside the reports, unchanged. Reports made before keep their
        fingerprints.
    missing : {"raise", "count"}
        Refuse missing answers, or write an empty report for each, so the file still shows that the
        answer was missing.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether existing files may be overwritten.
    specification : path-like, optional
        Where to write the specification of the survey; both files appear or neither.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula; `read_dictionary_reports` leaves it out. Not for answers that
        `keep` leaves for another run: with an open alphabet that run refuses them.
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    nobs, n_missing : int
        Reports, and missing answers.

    Raises
    ------
    InvalidArgument
        If a file cannot be read or written or is malformed, answers are missing and not counted,
        the survey refuses a string, `spreadsheet_safe` seems to have changed one in CSV, there are
        no answers, or `keep` names the true column. The row is named, from 1 after the header; the
        string is not shown.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> client = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0).collector()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     words, reports = Path(folder, "words.csv"), Path(folder, "reports.csv")
    ...     _ = words.write_text("sex,word\\nf,abca\\nm,\\nf,cc\\n")
    ...     privatize_strings(words, reports, "word", client, keep=["sex"], missing="count")
    ...     reports.read_text().splitlines()[0]
    (2, 1)
    'start_1,gram_1,start_2,gram_2,string,survey_fingerprint,sex'
    """
    if not isinstance(client, DictionaryCollector | DictionaryClient):
        raise InvalidArgument("client", client, "must be a collector: survey.collector()")
    beside = map(cohort_column, _PRIVATIZED)
    own, totals = [*SURVEY_COLUMNS, *beside, SURVEY_FINGERPRINTS], [0, 0]
    kept = KeptColumns(source, target, names("keep", keep), [column], own, spreadsheet_safe)
    answers = Answers(kept, None, missing, na, specification)
    how: dict[str, Any] = {"chunk_rows": chunk_rows, "advance": advance}
    columns = partial(_columns, path=target)
    _write(
        answers.privatized(client, _remedy(client.survey), columns, totals, **how),
        client.survey,
        target,
        kept.stored,
        force=force,
        beside=answers.beside(client.survey),
        spreadsheet_safe=spreadsheet_safe,
    )
    return totals[0], totals[1]


def _remedy(survey: DictionarySurvey) -> str:
    """What to do about a string that the survey refuses, without showing it."""
    return (
        f"must be a string, not empty, of the {len(survey.alphabet)} characters of the alphabet: "
        "change such strings, or let replace= put a character of the alphabet for all others"
    )


def _columns(
    reports: DictionaryReports, absent: Array, path: FilePath
) -> dict[str, pd.Series[Any]]:
    """Columns with empty rows where a respondent is `absent`, (n,); in CSV the fingerprints too."""
    parquet = file_format(path) == ".parquet"
    starts = dict(zip(("start_1", "start_2"), starts_of(reports), strict=True))
    parts = dict(zip(_PRIVATIZED, (reports.first, reports.second, reports.string), strict=True))
    table: dict[str, pd.Series[Any]] = {}
    for name in SURVEY_COLUMNS:
        part = parts.get(name)
        if part is None:
            table[name] = filled(starts[name].tolist(), absent)
        elif parquet and not isinstance(part.mechanism, Enumerated):
            table |= stored_columns(name, part, absent)
        else:
            table[name] = filled(part.mechanism.report_labels(part).tolist(), absent)
    if not parquet:
        table[SURVEY_FINGERPRINTS] = constant(reports.survey.fingerprint, absent.size)
    return table


def _write(
    frames: Iterable[pd.DataFrame],
    survey: DictionarySurvey,
    path: FilePath,
    kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
    **how: Any,
) -> None:
    """Write frames with the columns of reports, and what is stored beside `kept` columns."""
    own = {SURVEY_FINGERPRINT: survey.fingerprint.encode("ascii")}
    stored: dict[str, Mapping[bytes, bytes]] = {
        **(kept or {}),
        **dict.fromkeys(SURVEY_COLUMNS, own),
    }
    for name, mechanism in zip(_PRIVATIZED, survey.mechanisms, strict=True):
        check_labels(path, mechanism, how["spreadsheet_safe"])
        alone = own | stored_fingerprint(mechanism)  # for whoever reads this column alone
        stored |= dict.fromkeys(stored_names(name, mechanism), alone)
    write_table(frames, path, {"start_1": "int64", "start_2": "int64"}, stored, **how)
