"""Files of strings made into files of a dictionary survey's reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.checks import one_of
from ldpstats.dictionary_reports import DictionaryReports
from ldpstats.dictionary_survey import DictionaryClient, DictionaryCollector, DictionarySurvey
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.dictionary_reading import COLUMNS, FINGERPRINT
from ldpstats.io.files import FilePath, checked_path, refusal
from ldpstats.io.report_columns import fingerprint_of, stored_fingerprint
from ldpstats.io.tables import CHUNK_ROWS, Advance, names, read_columns, write_table
from ldpstats.io.values import label_of, present, refuse_missing, row_named
from ldpstats.mechanisms.base import Enumerated

__all__ = ["privatize_strings", "write_dictionary_reports"]

Array = npt.NDArray[Any]


def write_dictionary_reports(
    reports: DictionaryReports | Iterable[DictionaryReports],
    path: FilePath,
    *,
    force: bool = False,
) -> None:
    """Write the reports of a dictionary survey to a CSV or Parquet file.

    Parameters
    ----------
    reports : DictionaryReports or iterable of DictionaryReports
        Chunks of one survey's reports. A respondent who gave no answer becomes an empty row.
    path : path-like
        Its columns are those of `DictionaryReports.to_frame`. A Parquet file holds the survey's
        fingerprint too. Keep the specification beside either (`write_survey`): without it the
        reports cannot be analysed.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        For a file that exists or cannot be written, for chunks that are no reports, or when there
        are none.
    MechanismMismatch
        For chunks of several surveys.

    Examples
    --------
    See `read_dictionary_reports`.
    """
    several = reports if isinstance(reports, Iterable) else [reports]
    chunks = map(_checked, several)
    first = next(chunks, None)
    if first is None:
        raise InvalidArgument("reports", [], "are none: there is nothing to write")
    survey = first.survey

    def frames() -> Iterator[pd.DataFrame]:
        for chunk in chain([first], chunks):
            if chunk.survey != survey:
                raise MechanismMismatch(
                    f"reports of {chunk.survey} and of {survey} do not go into one file: write a "
                    "file for each"
                )
            yield _spread(chunk, np.arange(len(chunk) + chunk.n_missing) >= len(chunk))

    _write(frames(), survey, path, force)


def _checked(chunk: object) -> DictionaryReports:
    if not isinstance(chunk, DictionaryReports):
        raise InvalidArgument("reports", chunk, "must be DictionaryReports, or several of them")
    return chunk


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
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> tuple[int, int]:
    """Privatise a column of strings for a dictionary survey into another file, chunk by chunk.

    The true column is never copied. The rows keep their order. A row is one respondent, who reports
    once: the strings of one respondent in several rows spend epsilon once for each row.

    Parameters
    ----------
    source, target : path-like
        CSV or Parquet files. The reports are the columns start_1, gram_1, start_2, gram_2 and
        string of `target`, as in `DictionaryReports.to_frame`.
    column : str
        Column of true strings.
    client : DictionaryCollector
        From `DictionarySurvey.collector`.
    keep : sequence of str
        Other columns to copy beside the reports, as they are.
    missing : {"raise", "count"}
        Refuse missing answers, or leave the report of each empty, which does not hide that the
        respondent gave none.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether an existing `target` may be overwritten.
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    nobs, n_missing : int
        Reports, and missing answers.

    Raises
    ------
    InvalidArgument
        For a file that cannot be read or written or is malformed, for missing answers unless they
        are counted, for strings that the survey refuses, for a file without answers, and for `keep`
        with the true column. The row is named, from 1 after the header.

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
    'start_1,gram_1,start_2,gram_2,string,sex'
    """
    one_of("missing", missing, ("raise", "count"))
    if not isinstance(client, DictionaryCollector | DictionaryClient):
        raise InvalidArgument("client", client, "must be a collector: survey.collector()")
    keep, na = names("keep", keep), names("na", na)
    if column in keep:
        raise InvalidArgument("keep", column, "holds the true answers, which are never copied")
    if len({*keep, *COLUMNS}) < len(keep) + len(COLUMNS):
        remedy = f"must be distinct names, and none of the reports' own: {', '.join(COLUMNS)}"
        raise InvalidArgument("keep", keep, remedy)
    checked_path(source), checked_path(target)
    if os.path.realpath(source) == os.path.realpath(target):
        raise refusal(target, "is the file that is read: write to another one")
    where = f"{source}, column {column!r}"
    totals = [0, 0]

    def frames() -> Iterator[pd.DataFrame]:
        for frame in read_columns(source, [column, *keep], chunk_rows, advance):
            done = sum(totals)
            values, absent = present(where, frame[column], None, na)
            if missing == "raise":
                refuse_missing(where, done, absent)
            with row_named(where, done, values, absent):
                reports = client.privatize(values)
            totals[0] += len(reports)
            totals[1] += int(absent.sum())
            yield pd.concat([_spread(reports, absent), frame[keep]], axis=1)
        if not totals[0]:
            raise refusal(source, "holds no answer: there is nothing to privatise")

    kept = {other: fingerprint_of(source, other) for other in keep}
    _write(frames(), client.survey, target, force, kept)
    return totals[0], totals[1]


def _spread(reports: DictionaryReports, absent: Array) -> pd.DataFrame:
    """Reports in a table with an empty row where a respondent is `absent`, (n,)."""
    table = {}
    for name, column in reports.to_frame().items():
        table[name] = np.full(absent.size, None, dtype=object)
        table[name][~absent] = column.tolist()
    return pd.DataFrame(table, dtype=object)


def _write(
    frames: Iterable[pd.DataFrame],
    survey: DictionarySurvey,
    path: FilePath,
    force: bool,
    kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
) -> None:
    """Write frames with the columns of reports, and what is stored beside `kept` columns."""
    for mechanism in survey.mechanisms:
        if isinstance(mechanism, Enumerated):
            label_of(path, mechanism.outputs, ())  # refuses a label that the format cannot hold
    own = {FINGERPRINT: survey.fingerprint.encode("ascii")}
    stored: dict[str, Mapping[bytes, bytes]] = {**(kept or {}), **dict.fromkeys(COLUMNS, own)}
    for name, mechanism in zip(("gram_1", "gram_2", "string"), survey.mechanisms, strict=True):
        stored[name] = own | stored_fingerprint(mechanism)  # for who reads this column alone
    write_table(frames, path, {"start_1": "int64", "start_2": "int64"}, stored, force)
