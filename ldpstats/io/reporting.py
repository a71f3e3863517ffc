"""Files of true answers made into files of reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.checks import one_of
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.fingerprints import fingerprint_column
from ldpstats.io.files import FilePath, checked_path, refusal
from ldpstats.io.kept import KeptColumns, constant
from ldpstats.io.report_columns import stored_fingerprint
from ldpstats.io.secrecy import privatized, without_answers
from ldpstats.io.specifications import specification_text
from ldpstats.io.tables import (
    CHUNK_ROWS,
    Advance,
    check_spreadsheet_safe,
    file_format,
    names,
    table_chunks,
    write_table,
)
from ldpstats.io.values import (
    answers_in,
    check_guarded,
    label_of,
    missing_texts,
    present,
    refuse_guarded,
    refuse_missing,
)
from ldpstats.mechanisms import Client, Collector, Mechanism, RAPPORClient
from ldpstats.mechanisms.base import Enumerated
from ldpstats.reports import Reports

__all__ = ["check_paths", "privatize_file", "write_reports"]

_ARROW_TYPES = {int: "int64", float: "double", bool: "bool", str: "string"}


def write_reports(
    reports: Reports | Iterable[Reports],
    path: FilePath,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write reports to a CSV or Parquet file, in the column `report`.

    Parameters
    ----------
    reports : Reports or iterable of Reports
        Chunks of one mechanism's reports. A respondent who gave no answer becomes an empty report.
    path : path-like
        The mechanism's fingerprint goes with the reports: in a CSV file every row has it, in the
        column `report_fingerprint`, that of a missing answer too; a Parquet file stores it once.
        Keep the specification beside the file (`write_mechanism`): without it the reports cannot
        be analysed.
    force : bool
        Whether an existing file may be overwritten.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula. `read_counts` takes "'-5" for the label -5.

    Raises
    ------
    InvalidArgument
        For a file that exists or cannot be written, for chunks that are no reports, or when there
        are none; and for `spreadsheet_safe` with Parquet, or with labels that it makes alike.
    MechanismMismatch
        For chunks of several mechanisms.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.io import read_counts
    >>> warner = ldp.Warner(epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.csv.gz"
    ...     write_reports(warner.privatize(["yes"] * 9, np.random.default_rng(0)), path)
    ...     read_counts(path, warner).nobs
    9
    """
    several = reports if isinstance(reports, Iterable) else [reports]
    try:
        chunks = map(_checked, several)
    except Exception:  # somebody else's object may raise anything
        raise InvalidArgument("reports", reports, "must be reports, or chunks of them") from None
    first = next(chunks, None)
    if first is None:
        raise InvalidArgument("reports", [], "are none: there is nothing to write")
    mechanism = first.mechanism

    def frames() -> Iterator[pd.DataFrame]:
        for chunk in chain([first], chunks):
            if chunk.mechanism.fingerprint != mechanism.fingerprint:
                raise MechanismMismatch(
                    f"reports of {chunk.mechanism} and of {mechanism} do not go into one file: "
                    "write a file for each"
                )
            labels = mechanism.report_labels(chunk).tolist()
            noisy = pd.Series(labels + [None] * chunk.n_missing, dtype=object)
            yield pd.DataFrame(_beside("report", noisy, mechanism, path), dtype=object)

    _write(frames(), mechanism, path, force, spreadsheet_safe)


def _checked(chunk: object) -> Reports:
    if not isinstance(chunk, Reports):
        raise InvalidArgument("reports", chunk, "must be Reports, or several of them")
    return chunk


def privatize_file(
    source: FilePath,
    target: FilePath,
    column: str,
    client: Collector,
    *,
    name: str = "report",
    keep: Sequence[str] = (),
    missing: str = "raise",
    na: Sequence[str] = (),
    force: bool = False,
    specification: FilePath | None = None,
    spreadsheet_safe: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> tuple[int, int]:
    """Privatise a column of a file into another file, chunk by chunk.

    The true column is never copied, and no error shows what it holds. The rows keep their order.

    A row is one respondent, who reports once. The answers of one respondent in several rows spend
    epsilon once for each row. For RAPPOR, repeated reports of the same person need the client that
    remembers, one for each person (`RAPPOR.client`), not this function.

    Parameters
    ----------
    source, target : path-like
        CSV or Parquet files.
    column : str
        Column of true categories.
    client : Collector
        From `Mechanism.collector`; a `Client`, one respondent's, makes the reports that it may.
    name : str
        What to call the column of reports. In a CSV file the column NAME_fingerprint follows it:
        every row, also that of a missing answer, says which mechanism made it.
    keep : sequence of str
        Other columns to copy beside it, as they are: reports, if they were privatised before, which
        take their fingerprints along.
    missing : {"raise", "count"}
        Refuse missing answers, or write an empty report for each, so the file still shows that the
        answer was missing.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether existing files may be overwritten.
    specification : path-like, optional
        Where to write the specification of the mechanism. It appears together with `target` or not
        at all.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula. `read_counts` takes "'-5" for the label -5. Do without it where
        `keep` leaves answers for another run: with an open alphabet that run refuses them.
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
        are counted, for a file without answers, and for `keep` with the true column;
        where any text is an answer, for one in CSV that `spreadsheet_safe` seems to have changed.
    NotAvailable
        For the client of a single respondent (`RAPPOR.client`).
    UnknownCategory
        For an answer that is not one of the categories; the row is named, the answer is not.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> client = ldp.Warner(epsilon=1.0).collector()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answers, reports = Path(folder, "answers.csv"), Path(folder, "reports.csv")
    ...     _ = answers.write_text("sex,answer\\nf,yes\\nm,\\nf,no\\n")
    ...     privatize_file(answers, reports, "answer", client, keep=["sex"], missing="count")
    ...     reports.read_text().splitlines()[0]
    (2, 1)
    'report,report_fingerprint,sex'
    """
    return without_answers(
        lambda: _privatized(
            source,
            target,
            column,
            client,
            name,
            keep,
            missing,
            na,
            force,
            specification,
            spreadsheet_safe,
            chunk_rows,
            advance,
        )
    )


def _privatized(
    source: FilePath,
    target: FilePath,
    column: str,
    client: Collector,
    name: str,
    keep: Sequence[str],
    missing: str,
    na: Sequence[str],
    force: bool,
    specification: FilePath | None,
    spreadsheet_safe: bool,
    chunk_rows: int,
    advance: Advance | None,
) -> tuple[int, int]:
    """See `privatize_file`."""
    one_of("missing", missing, ("raise", "count"))
    if not isinstance(client, Collector | Client | RAPPORClient):
        raise InvalidArgument("client", client, "must be a collector: mechanism.collector()")
    keep, na, _ = names("keep", keep), names("na", na), names("name", [name])
    check_paths(source, target, specification)
    check_spreadsheet_safe(spreadsheet_safe, target)
    own = [name, fingerprint_column(name)]
    kept = KeptColumns(source, target, keep, column, own, spreadsheet_safe)
    mechanism = client.mechanism
    labels = None if mechanism.is_open else mechanism.labels()
    to_label = None if labels is None else label_of(source, labels, na)
    absent_texts = missing_texts(source, na, () if labels is None else labels)
    where = f"{source}, column {column!r}"
    totals = [0, 0]

    def frames() -> Iterator[pd.DataFrame]:
        used, extra = [column, *keep], kept.optional
        for frame in table_chunks(source, used, chunk_rows, advance, optional=extra, secret=True):
            done = sum(totals)
            values, absent = present(where, frame[column], to_label, absent_texts)
            if missing == "raise":
                refuse_missing(where, done, absent)
            named = answers_in(where, done, absent)
            if mechanism.is_open:
                refuse_guarded(source, values, named)
            reports = privatized(client, values, named, _remedy(mechanism))
            labels = np.full(len(frame), None, dtype=object)
            labels[~absent] = mechanism.report_labels(reports).tolist()
            totals[0] += len(reports)
            totals[1] += int(absent.sum())
            noisy = pd.Series(labels, dtype=object)
            yield pd.DataFrame(_beside(name, noisy, mechanism, target) | kept.of(frame, done))
        if not totals[0]:
            raise refusal(source, "holds no answer: there is nothing to privatise")

    beside = {} if specification is None else {specification: specification_text(mechanism)}
    _write(frames(), mechanism, target, force, spreadsheet_safe, name, kept.stored, beside)
    return totals[0], totals[1]


def check_paths(source: FilePath, target: FilePath, specification: FilePath | None) -> None:
    """Refuse what is no name of a file, and to write to the file of true answers."""
    checked_path(source)
    for path in [target] if specification is None else [target, specification]:
        checked_path(path)
        if os.path.realpath(source) == os.path.realpath(path):
            raise refusal(path, "is the file that is read: write to another one")


def _remedy(mechanism: Mechanism) -> str:
    """What to do about an answer that the mechanism refuses, which is not shown."""
    if mechanism.is_open:
        return "must be text that has a UTF-8 form: convert it, or read it in its own encoding"
    labels = mechanism.labels()
    shown = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
    return f"is not among the {len(labels)} labels {shown}: correct it or add the label"


def _beside(
    name: str, noisy: pd.Series[Any], mechanism: Mechanism, path: FilePath
) -> dict[str, pd.Series[Any]]:
    """A column of reports, and in CSV that of their fingerprints."""
    if file_format(path) == ".parquet":
        return {name: noisy}
    return {name: noisy, fingerprint_column(name): constant(mechanism.fingerprint, len(noisy))}


def _write(
    frames: Iterable[pd.DataFrame],
    mechanism: Mechanism,
    path: FilePath,
    force: bool,
    spreadsheet_safe: bool,
    name: str = "report",
    kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
    beside: Mapping[FilePath, str] | None = None,
) -> None:
    """Write frames with a column of reports, `name`, and what is stored beside `kept` columns."""
    kind = "string"
    if isinstance(mechanism, Enumerated):
        label_of(path, mechanism.outputs, ())  # refuses a label that the format cannot hold
        if spreadsheet_safe:
            check_guarded(mechanism.outputs)
        kinds = {type(label) for label in mechanism.outputs.tolist()}
        kind = _ARROW_TYPES[kinds.pop()] if len(kinds) == 1 else "string"
    stored = {**(kept or {}), name: stored_fingerprint(mechanism)}
    write_table(
        frames,
        path,
        {name: kind},
        stored,
        force,
        beside=beside,
        spreadsheet_safe=spreadsheet_safe,
    )
