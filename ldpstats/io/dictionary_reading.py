"""Files of a dictionary survey's reports."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ldpstats.checks import one_of
from ldpstats.dictionary_reports import DictionaryReports
from ldpstats.dictionary_survey import DictionarySurvey
from ldpstats.io.dictionary_columns import COLUMNS, DictionaryColumns
from ldpstats.io.files import FilePath
from ldpstats.io.surveys import check_survey
from ldpstats.io.tables import CHUNK_ROWS, Advance, names, read_columns
from ldpstats.io.values import refuse_missing

__all__ = ["read_dictionary_reports"]


def read_dictionary_reports(
    path: FilePath,
    survey: DictionarySurvey,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "raise",
    na: Sequence[str] = (),
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> DictionaryReports:
    """Read the reports of a dictionary survey from a CSV or Parquet file, chunk by chunk.

    Parameters
    ----------
    path : path-like
    survey : DictionarySurvey
        The survey that the reports were collected with.
    columns : sequence of five str, optional
        Columns of the start of a gram (counted from 0) and its report, of the start and the report
        of the other gram, and of the report of the string. By default start_1, gram_1, start_2,
        gram_2 and string. Which of the two grams stands first tells nothing, and does not matter.
    missing : {"raise", "count"}
        Refuse rows that are empty in all five columns, or leave them out and count them.
    na : sequence of str
        Text that means an empty field too, for example ("NA",).
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    DictionaryReports
        In the order of the rows.

    Raises
    ------
    InvalidArgument
        For a file that cannot be read or is malformed, for reports that the mechanisms cannot make,
        starts that are none or equal, and rows that are empty in part; the row is named, from 1
        after the header.
    MechanismMismatch
        For a Parquet file of another survey's reports.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    >>> reports = survey.privatize(["abca", "cc"] * 10, np.random.default_rng(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dictionary_reports(reports, f"{folder}/reports.csv.gz")
    ...     again = read_dictionary_reports(f"{folder}/reports.csv.gz", survey)
    >>> again.to_frame().equals(reports.to_frame())
    True
    """
    one_of("missing", missing, ("raise", "count"))
    check_survey(survey)
    table = DictionaryColumns(path, survey, names("columns", COLUMNS if columns is None else columns), names("na", na))
    chunks, done = [survey.no_reports()], 0
    for frame in read_columns(path, table.columns, chunk_rows, advance):
        chunk, absent = table.read(frame, done)
        if missing == "raise":
            refuse_missing(os.fspath(path), done, absent)
        chunks.append(chunk)
        done += len(frame)
    while len(chunks) > 1:  # equals to equals, so that no report is copied many times
        chunks = [sum(chunks[i : i + 2], start=0) for i in range(0, len(chunks), 2)]
    return chunks[0]
