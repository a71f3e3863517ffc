"""Files of true answers made into files of reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from ldpstats.checks import one_of
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.files import FilePath, checked_path, refusal
from ldpstats.io.report_columns import fingerprint_of, stored_fingerprint
from ldpstats.io.tables import CHUNK_ROWS, Advance, names, read_columns, write_table
from ldpstats.io.values import label_of, present, refuse_missing, row_named
from ldpstats.mechanisms import Client, Collector, Mechanism, RAPPORClient
from ldpstats.mechanisms.base import Enumerated
from ldpstats.reports import Reports

__all__ = ["privatize_file", "write_reports"]

_ARROW_TYPES = {int: "int64", float: "double", bool: "bool", str: "string"}


def write_reports(
    reports: Reports | Iterable[Reports], path: FilePath, *, force: bool = False
) -> None:
    """Write reports to a CSV or Parquet file with one column, `report`.

    Parameters
    ----------
    reports : Reports or iterable of Reports
        Chunks of one mechanism's reports. A respondent who gave no answer becomes an empty report.
    path : path-like
        A Parquet file holds the mechanism's fingerprint too. Keep the specification beside either
        (`write_mechanism`): without it the reports cannot be analysed.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        For a file that exists or cannot be written, for chunks that are no reports, or when there
        are none.
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
    chunks = map(_checked, several)
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
            yield pd.DataFrame({"report": labels + [None] * chunk.n_missing}, dtype=object)

    _write(frames(), mechanism, path, force)


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
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> tuple[int, int]:
    """Privatise a column of a file into another file, chunk by chunk.

    The true column is never copied. The rows keep their order.

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
        What to call the column of reports.
    keep : sequence of str
        Other columns to copy beside it, as they are: reports, if they were privatised before.
    missing : {"raise", "count"}
        Refuse missing answers, or write an empty report for each, which does not hide that the
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
        are counted, for a file without answers, and for `keep` with the true column.
    NotAvailable
        For the client of a single respondent (`RAPPOR.client`).
    UnknownCategory
        For an answer that is not one of the categories; the row is named.

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
    'report,sex'
    """
    one_of("missing", missing, ("raise", "count"))
    if not isinstance(client, Collector | Client | RAPPORClient):
        raise InvalidArgument("client", client, "must be a collector: mechanism.collector()")
    keep, na, _ = names("keep", keep), names("na", na), names("name", [name])
    if column in keep:
        raise InvalidArgument("keep", column, "holds the true answers, which are never copied")
    if name in keep or len(set(keep)) < len(keep):
        remedy = f"must be distinct names, and none be {name!r}, the column of reports"
        raise InvalidArgument("keep", list(keep), remedy)
    checked_path(source), checked_path(target)
    if os.path.realpath(source) == os.path.realpath(target):
        raise refusal(target, "is the file that is read: write to another one")
    mechanism = client.mechanism
    to_label = None if mechanism.is_open else label_of(source, mechanism.labels(), na)
    where = f"{source}, column {column!r}"
    totals = [0, 0]

    def frames() -> Iterator[pd.DataFrame]:
        for frame in read_columns(source, [column, *keep], chunk_rows, advance):
            done = sum(totals)
            values, absent = present(where, frame[column], to_label, na)
            if missing == "raise":
                refuse_missing(where, done, absent)
            with row_named(where, done, values, absent):
                reports = client.privatize(values)
            labels = np.full(len(frame), None, dtype=object)
            labels[~absent] = mechanism.report_labels(reports).tolist()
            totals[0] += len(reports)
            totals[1] += int(absent.sum())
            noisy = pd.Series(labels, dtype=object, name=name)
            yield pd.concat([noisy, frame[list(keep)]], axis=1)
        if not totals[0]:
            raise refusal(source, "holds no answer: there is nothing to privatise")

    kept = {other: fingerprint_of(source, other) for other in keep}
    _write(frames(), mechanism, target, force, name, kept)
    return totals[0], totals[1]


def _write(
    frames: Iterable[pd.DataFrame],
    mechanism: Mechanism,
    path: FilePath,
    force: bool,
    name: str = "report",
    kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
) -> None:
    """Write frames with a column of reports, `name`, and what is stored beside `kept` columns."""
    kind = "string"
    if isinstance(mechanism, Enumerated):
        label_of(path, mechanism.outputs, ())  # refuses a label that the format cannot hold
        kinds = {type(label) for label in mechanism.outputs.tolist()}
        kind = _ARROW_TYPES[kinds.pop()] if len(kinds) == 1 else "string"
    stored = {**(kept or {}), name: stored_fingerprint(mechanism)}
    write_table(frames, path, {name: kind}, stored, force)
