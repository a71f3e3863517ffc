"""Files of true answers made into files of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.intervals import midpoints
from ldpstats.errors import InvalidArgument
from ldpstats.io.answers import Answers, check_labels, chunks_of, filled
from ldpstats.io.cells import taken
from ldpstats.io.kept import KeptColumns, constant
from ldpstats.io.layout import stored_columns, stored_names
from ldpstats.io.report_columns import ARROW_TYPES, cell_type, stored_fingerprint
from ldpstats.io.secrecy import without_answers
from ldpstats.io.storage.files import FilePath
from ldpstats.io.table_writing import write_table
from ldpstats.io.tables import CHUNK_ROWS, Advance, file_format, names
from ldpstats.mechanisms import Client, Collector, Mechanism, RAPPORClient
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.reports.single import Reports

__all__ = ["privatize_file", "write_reports"]


def write_reports(
    reports: Reports | Iterable[Reports],
    path: FilePath,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write reports to a CSV or Parquet file, in the column `report`; see `io.layout`.

    Parameters
    ----------
    reports : Reports or iterable of Reports
        Chunks of one mechanism's reports. A respondent who gave no answer becomes an empty report.
    path : path-like
        A Parquet file holds bits as bytes, and cohorts in the column `report_cohort`. The
        mechanism's fingerprint goes with the reports: a CSV file has it in every row, missing
        answers included, in the column `report_fingerprint`; a Parquet file stores it once. Keep
        the specification beside the file (`write_mechanism`): without it the reports cannot be
        analysed.
    force : bool
        Whether an existing file may be overwritten.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula. `read_counts` takes "'-5" for the label -5.

    Raises
    ------
    InvalidArgument
        If the file exists or cannot be written, there are no chunks, a chunk is not Reports, or
        `spreadsheet_safe` is True for Parquet or makes two labels equal.
    MechanismMismatch
        If the chunks are of several mechanisms.

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
    mechanism, chunks = chunks_of(reports, Reports, lambda chunk: chunk.mechanism)
    columns = _Columns(mechanism, path, "report")
    frames = (
        columns.of(chunk, np.arange(len(chunk) + chunk.n_missing) >= len(chunk)) for chunk in chunks
    )
    columns.write(map(pd.DataFrame, frames), force=force, spreadsheet_safe=spreadsheet_safe)


@without_answers
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
        From `Mechanism.collector`. A respondent's `Client` makes as many reports as it may.
    name : str
        Name of the column of reports. In a Parquet file cohorts, if there are any, follow in the
        column NAME_cohort. In a CSV file the column NAME_fingerprint follows: every row, missing
        answers included, says which mechanism made it.
    keep : sequence of str
        Other columns to copy beside it, unchanged. Reports made before keep their fingerprints.
    missing : {"raise", "count"}
        Refuse missing answers, or write an empty report for each, so the file still shows that the
        answer was missing.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether existing files may be overwritten.
    specification : path-like, optional
        Where to write the specification of the mechanism; both files appear or neither.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula. `read_counts` takes "'-5" for the label -5. Not for answers that
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
        there are no answers, or `keep` names the true column; with an open alphabet, if
        `spreadsheet_safe` seems to have changed an answer in CSV.
    NotAvailable
        If `client` serves a single respondent (`RAPPOR.client`).
    UnknownCategory
        If an answer is not one of the categories; the row is named, the answer is not shown.

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
    if not isinstance(client, Collector | Client | RAPPORClient):
        raise InvalidArgument("client", client, "must be a collector: mechanism.collector()")
    mechanism = client.mechanism
    names("name", [name])
    columns, totals = _Columns(mechanism, target, name), [0, 0]
    own = [*stored_names(name, mechanism), fingerprint_column(name)]
    kept = KeptColumns(source, target, names("keep", keep), [column], own, spreadsheet_safe)
    labels = None if mechanism.is_open else mechanism.labels()
    answers = Answers(kept, labels, missing, na, specification)
    how: dict[str, Any] = {"chunk_rows": chunk_rows, "advance": advance}
    columns.write(
        answers.privatized(client, _remedy(labels), columns.of, totals, **how),
        kept.stored,
        force=force,
        beside=answers.beside(mechanism),
        spreadsheet_safe=spreadsheet_safe,
    )
    return totals[0], totals[1]


def _remedy(labels: pd.Index[Any] | None) -> str:
    """What to do about an answer that the mechanism refuses, without showing it."""
    if labels is None:
        return "must be text that has a UTF-8 form: convert it, or read it in its own encoding"
    shown = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
    if midpoints(labels) is not None:
        return f"is in none of the {len(labels)} bins {shown}: correct it, or extend the edges"
    return (
        f"is not among the {len(labels)} labels {shown}: correct it or add the label to categories="
    )


@dataclass(frozen=True)
class _Columns:
    """The columns of a mechanism's reports in a file."""

    mechanism: Mechanism
    path: FilePath
    name: str  # of the column of reports

    def of(self, reports: Reports, absent: npt.NDArray[np.bool_]) -> dict[str, pd.Series[Any]]:
        """A chunk of reports, empty where `absent`, (n,); in CSV with fingerprints."""
        parquet = file_format(self.path) == ".parquet"
        if parquet and not isinstance(self.mechanism, Enumerated):
            return stored_columns(self.name, reports, absent)
        found = {self.name: self._cells(reports, absent)}
        if not parquet:
            digits = constant(self.mechanism.fingerprint, absent.size)
            found[fingerprint_column(self.name)] = digits
        return found

    def _cells(self, reports: Reports, absent: npt.NDArray[np.bool_]) -> pd.Series[Any]:
        """The column of reports; text of Parquet from its codes, not from Python's objects."""
        mechanism = reports.mechanism
        if file_format(self.path) != ".parquet" or cell_type(mechanism) is not str:
            return filled(mechanism.report_labels(reports), absent)
        codes = np.full(absent.size, -1, dtype=np.int64)
        codes[~absent] = reports.y
        column = taken(codes, mechanism.outputs.tolist())
        return pd.Series(column, dtype=pd.ArrowDtype(column.type))

    def write(
        self,
        frames: Iterable[pd.DataFrame],
        kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
        **how: Any,
    ) -> None:
        """Write frames with these columns, and what is stored beside `kept` ones; `write_table`."""
        check_labels(self.path, self.mechanism, how["spreadsheet_safe"])
        kind = ARROW_TYPES.get(cell_type(self.mechanism), "string")
        own = stored_names(self.name, self.mechanism)
        stored = {**(kept or {}), **dict.fromkeys(own, stored_fingerprint(self.mechanism))}
        write_table(frames, self.path, {self.name: kind}, stored, **how)
