"""Files of a dictionary survey's reports: read, written, and made from files of strings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, one_of
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.io.reports import (
    SURVEY_COLUMNS,
    SURVEY_FINGERPRINTS,
    Layout,
    ReportColumn,
    chunks_of,
    read_fingerprints,
)
from ldpstats.io.specifications import check_survey
from ldpstats.io.storage import FilePath, without_answers
from ldpstats.io.tables import (
    CHUNK_ROWS,
    Advance,
    filled,
    missing_texts,
    names,
    present,
    refuse_missing,
    table_chunks,
)
from ldpstats.labels import matched, preview
from ldpstats.models.dictionary.survey import (
    DictionaryClient,
    DictionaryCollector,
    DictionaryReports,
    DictionarySurvey,
)


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
        gram_2 and string. The order of the two grams does not matter.
    missing : {"raise", "count"}
        Refuse rows that are empty in all five columns, or leave them out and count them.
    na : sequence of str
        Text that means an empty field too.
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    DictionaryReports
        In the order of the rows.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is malformed, or holds reports that the mechanisms cannot
        make, invalid or equal start positions, or partly empty rows. The row is named, from 1 after
        the header.
    MechanismMismatch
        If the Parquet file, or a row's fingerprint in the column survey_fingerprint, is of another
        survey.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.io import write_dictionary_reports
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
    used = names("columns", SURVEY_COLUMNS if columns is None else columns)
    if len(used) != len(SURVEY_COLUMNS) or len(set(used)) < len(SURVEY_COLUMNS):
        remedy = f"must be five distinct names, in place of {', '.join(SURVEY_COLUMNS)}"
        raise InvalidArgument("columns", used, remedy)
    Layout(survey, tuple(used)).check_stored(path)
    start_1, gram_1, start_2, gram_2, string = used
    how: dict[str, Any] = {"missing": "count", "na": names("na", na), "exact": True}
    pairs = zip(survey.mechanisms, (gram_1, gram_2, string), strict=True)
    parts = [ReportColumn(path, mechanism, column, **how) for mechanism, column in pairs]
    optional = [SURVEY_FINGERPRINTS, *(column for part in parts for column in part.optional)]
    texts = missing_texts(path, na)
    where = [f"{path}, column {column!r}" for column in used]
    how = {"optional": optional, "codes": [*used, *optional]}
    chunks, done = [survey.no_reports()], 0
    for frame in table_chunks(path, used, chunk_rows, advance, **how):
        read_fingerprints(path, frame, SURVEY_FINGERPRINTS, texts, survey, done)
        starts = []
        for place, column in ((where[0], start_1), (where[2], start_2)):
            values, absent = present(place, frame[column], None, texts)
            starts.append(starts_in(survey, place, filled(values, absent), done))
        one, two, whole = (part.read(frame, done) for part in parts)
        chunk, absent = of_fields(survey, where, (starts[0], one, starts[1], two, whole), done)
        if missing == "raise":
            refuse_missing(os.fspath(path), done, absent)
        chunks.append(chunk)
        done += len(frame)
    while len(chunks) > 1:  # by halves, so that no report is copied many times
        rest = chunks[len(chunks) // 2 * 2 :]
        chunks = [a + b for a, b in zip(chunks[::2], chunks[1::2], strict=False)] + rest
    return chunks[0]


def starts_in(
    survey: DictionarySurvey, where: str, column: pd.Series[Any], done: int | None = None
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The positions of the starts in a column, (n,), -1 where missing; and which rows have none."""
    starts: pd.Index[Any] = pd.Index(list(survey.layout.starts))
    try:
        positions = matched(where, column, starts, done=done)
    except UnknownCategory as error:
        row = int(error.name.rpartition(" ")[2])
        remedy = f"is not the start of a gram: grams of the survey start at {preview(starts)}"
        raise InvalidArgument(error.name, column.iloc[row - 1 - (done or 0)], remedy) from None
    return positions, positions < 0


def of_fields(
    survey: DictionarySurvey,
    where: Sequence[str],
    fields: Sequence[tuple[Any, npt.NDArray[np.bool_]]],
    done: int = 0,
) -> tuple[DictionaryReports, npt.NDArray[np.bool_]]:
    """Reports from start, gram, start, gram and string, called `where`, and which rows are empty.

    Starts are positions, (n,), the others reports of the rows that have some; each comes with which
    rows have none, (n,). Rows that lack a field, or have equal starts, are refused.
    """
    blank = np.array([none for _, none in fields])  # (5, n)
    absent: npt.NDArray[np.bool_] = np.asarray(blank.all(axis=0))
    partly = blank.any(axis=0) & ~absent
    if partly.any():
        i = int(np.argmax(partly))
        remedy = "is missing, but other fields of the row are not: a report has all five"
        name = where[int(np.argmax(blank[:, i]))]
        raise InvalidArgument(f"{name}, row {done + i + 1}", None, remedy)
    a, first, b, second, string = (values for values, _ in fields)
    same = (a == b) & ~absent
    if same.any():
        i = int(np.argmax(same))
        remedy = "is also the start of the other gram: the two grams must be at distinct positions"
        raise InvalidArgument(f"{where[2]}, row {done + i + 1}", survey.layout.starts[b[i]], remedy)
    there = ~absent
    parts = first, second, string
    found = DictionaryReports.at_positions(survey, a[there], b[there], parts, int(absent.sum()))
    return found, absent


# -- Files of strings made into files of a dictionary survey's reports ----------------------------


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
        cohorts have columns of their own (`reports.layout`). The survey's fingerprint goes with
        them: a CSV file has it in every row, missing answers included, in the column
        `survey_fingerprint`; a Parquet file stores it once. Keep the specification beside the file
        (`write_survey`): without it the reports cannot be analysed.
    force, spreadsheet_safe
        As in `write_reports`, whose errors are those of this function.

    Examples
    --------
    See `read_dictionary_reports`.
    """
    survey, chunks = chunks_of(reports, DictionaryReports, lambda chunk: chunk.survey)
    Layout(survey, SURVEY_COLUMNS).write_chunks(path, chunks, force, spreadsheet_safe)


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
    keep, missing, na, force, specification, spreadsheet_safe, chunk_rows, advance
        As in `privatize_file`, which returns and refuses the same.

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
    remedy = (
        f"must be a string, not empty, of the {len(client.survey.alphabet)} characters of the "
        "alphabet: change such strings, or let replace= put a character of the alphabet for all "
        "others"
    )
    return Layout(client.survey, SURVEY_COLUMNS).privatize(
        source,
        target,
        column,
        client,
        None,
        remedy,
        keep=keep,
        missing=missing,
        na=na,
        specification=specification,
        spreadsheet_safe=spreadsheet_safe,
        force=force,
        chunks={"chunk_rows": chunk_rows, "advance": advance},
    )
