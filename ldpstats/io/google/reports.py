"""Counts and reports of google/rappor; `specification` describes its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.io.counting import read_counts
from ldpstats.io.google.fields import check_rappor, header_of, rows_of, wholes, write_rows
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.io.tables import Advance
from ldpstats.mechanisms import RAPPOR, BooleanRAPPOR
from ldpstats.reports.formats import format_bits
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = [
    "read_rappor_counts",
    "read_rappor_reports",
    "write_rappor_counts",
    "write_rappor_reports",
]

Array = npt.NDArray[Any]

_HEADER = ("client", "cohort", "bloom", "prr", "irr")
_REPORT_COLUMNS = ("irr", "rappor")  # what the column of reports is called, and once was
_BLOCK_ROWS = 1 << 16


# -- counts ----------------------------------------------------------------------------------------


def read_rappor_counts(path: FilePath, rappor: RAPPOR | BooleanRAPPOR) -> Counts | BitCounts:
    """Read the bit sums of google/rappor.

    Parameters
    ----------
    path : path-like
        CSV without a header: in each row the number of a cohort's reports and k sums of bits.
    rappor : RAPPOR
        From `read_rappor_params`.

    Returns
    -------
    BitCounts; of a BooleanRAPPOR Counts, of all cohorts together

    Raises
    ------
    InvalidArgument
        If the file cannot be read, has another number of rows or fields, or entries are not whole
        numbers or exceed the reports of their cohort. Row and field are named, from 1.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> rappor = ldp.RAPPOR(4, 1, 2, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "counts.csv").write_text("10,3,2,8,1\\n12,4,4,5,9\\n")
    ...     read_rappor_counts(f"{folder}/counts.csv", rappor).ones
    array([[3, 2, 8, 1],
           [4, 4, 5, 9]])
    """
    rappor = check_rappor("rappor", rappor)
    one_bit = isinstance(rappor, BooleanRAPPOR)
    k = 1 if one_bit else rappor.n_bits
    rows = []
    for row, fields in rows_of(path, 1 + k, f"the number of reports and {k} sums of bits"):
        reports, *ones = wholes(path, row, fields, 1)
        for i, count in enumerate(ones, start=2):
            if count > reports:
                raise InvalidArgument(
                    f"{path}, row {row}, field {i}",
                    count,
                    f"exceeds the number of reports in field 1, {reports}: repair the file",
                )
        rows.append((reports, ones))
    if isinstance(rappor, BooleanRAPPOR):
        total, ones = (
            sum(column) for column in zip(*((n, own[0]) for n, own in rows), strict=True)
        )
        return rappor.counts([total - ones, ones])
    C = rappor.n_cohorts
    if len(rows) != C:
        raise refusal(path, f"has {len(rows)} rows: {C} are needed, one for each cohort")
    table = np.array([ones for _, ones in rows], dtype=np.int64)
    return BitCounts(table, np.array([n for n, _ in rows], dtype=np.int64), rappor)


def write_rappor_counts(counts: Counts | BitCounts, path: FilePath, *, force: bool = False) -> None:
    """Write the bit sums of RAPPOR reports as google/rappor reads them.

    Parameters
    ----------
    counts : Counts or BitCounts
        Of RAPPOR over an open alphabet. Missing answers have no place in the file.
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        If the counts are of another mechanism or have missing answers, or the file exists or cannot
        be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> rappor = ldp.RAPPOR(4, 1, 2, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> counts = rappor.counts([[3, 2, 8, 1], [4, 4, 5, 9]], nobs=[10, 12])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rappor_counts(counts, f"{folder}/counts.csv")
    ...     read_rappor_counts(f"{folder}/counts.csv", rappor).reports
    array([10, 12])
    """
    if not isinstance(counts, Counts | BitCounts):
        raise InvalidArgument("counts", counts, "must be Counts or BitCounts: use reports.tally()")
    if isinstance(_check_writable("counts", counts), BooleanRAPPOR):
        assert isinstance(counts, Counts)
        write_rows(path, [[counts.nobs, int(counts.vector()[1])]], force)
        return
    sums = counts.bit_counts()
    table = np.column_stack([sums.reports, sums.ones])
    write_rows(path, table.tolist(), force)


# -- reports ---------------------------------------------------------------------------------------


def read_rappor_reports(
    path: FilePath,
    rappor: RAPPOR | BooleanRAPPOR,
    *,
    missing: str = "raise",
    bits: bool = False,
    advance: Advance | None = None,
) -> Counts | BitCounts:
    """Count the reports of google/rappor, chunk by chunk.

    Parameters
    ----------
    path : path-like
        CSV with the columns ``cohort`` and ``irr`` (or ``rappor``); others are not read.
    rappor : RAPPOR
        From `read_rappor_params`.
    missing : {"raise", "count"}
        Refuse empty reports, or count them in `n_missing`.
    bits : bool
        Sum the bits instead of keeping the patterns, as in `read_counts`; not of a BooleanRAPPOR.
    advance : callable, optional
        Called after each chunk with the fraction of the file that has been read.

    Returns
    -------
    Counts, or BitCounts with `bits`

    Raises
    ------
    InvalidArgument
        If the file cannot be read, a column or cohort does not exist, or a report is not k digits 0
        or 1. The row is named, from 1 after the header.

    Examples
    --------
    The last digit of a report is bit 0:

    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> rappor = ldp.RAPPOR(4, 1, 2, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "reports.csv")
    ...     _ = path.write_text("client,cohort,bloom,prr,irr\\n5,1,,,0011\\n6,1,,,0001\\n")
    ...     read_rappor_reports(path, rappor, bits=True).ones
    array([[0, 0, 0, 0],
           [2, 1, 0, 0]])
    """
    rappor = check_rappor("rappor", rappor)
    header = header_of(path)
    column = next((name for name in _REPORT_COLUMNS if name in header), None)
    if column is None or "cohort" not in header:
        raise refusal(
            path, f"must have the columns 'cohort' and 'irr' (or 'rappor'): its header is {header}"
        )
    if isinstance(rappor, BooleanRAPPOR):
        return read_counts(path, rappor, column, missing=missing, advance=advance)
    counts = read_counts(
        path, rappor, column, cohort="cohort", missing=missing, bits=bits, advance=advance
    )
    if isinstance(counts, BitCounts):
        return replace(counts, ones=np.ascontiguousarray(counts.ones[:, ::-1]))
    return replace(counts, y=_reversed(counts.y, rappor.n_bits))


def write_rappor_reports(reports: Reports | Counts, path: FilePath, *, force: bool = False) -> None:
    """Write RAPPOR reports as google/rappor reads them.

    Parameters
    ----------
    reports : Reports or Counts
        Of RAPPOR over an open alphabet; one row a report. Missing answers have no place in the
        file. The columns of clients, Bloom filters and permanent responses stay empty.
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        If `reports` are sums of bits, of another mechanism, or have missing answers, or the file
        exists or cannot be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> rappor = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> reports = rappor.privatize(["apple", "pear"] * 50, np.random.default_rng(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rappor_reports(reports, f"{folder}/reports.csv.gz")
    ...     read_rappor_reports(f"{folder}/reports.csv.gz", rappor).nobs
    100
    """
    if isinstance(reports, BitCounts):
        raise InvalidArgument("reports", "BitCounts", "are sums: use write_rappor_counts")
    if not isinstance(reports, Reports | Counts):
        raise InvalidArgument("reports", reports, "must be Reports or Counts")
    rappor = _check_writable("reports", reports)
    n = reports.n if isinstance(reports, Counts) else np.ones(len(reports), dtype=np.int64)
    cohort: Any = reports.cohort

    def rows() -> Iterator[Iterable[Any]]:
        yield _HEADER
        for start in range(0, len(n), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            y = reports.y[block]
            if isinstance(rappor, BooleanRAPPOR):
                text, cohorts = y.tolist(), [0] * len(y)
            else:
                text = format_bits(_reversed(y, rappor.n_bits), rappor.n_bits).tolist()
                cohorts = cohort[block].tolist()
            for times, c, irr in zip(n[block].tolist(), cohorts, text, strict=True):
                for _ in range(times):
                    yield "", c, "", "", irr

    write_rows(path, rows(), force)


def _reversed(y: Array, n_bits: int) -> Array:
    """Packed reports, shape (n, bytes), with their bits in the opposite order."""
    out = np.empty_like(y)
    for start in range(0, len(y), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        bits = np.unpackbits(y[block], axis=1, count=n_bits, bitorder="little")
        out[block] = np.packbits(bits[:, ::-1], axis=1, bitorder="little")
    return out


def _check_writable(name: str, data: Counts | BitCounts | Reports) -> RAPPOR | BooleanRAPPOR:
    rappor = check_rappor(f"{name}.mechanism", data.mechanism)
    if data.n_missing:
        raise InvalidArgument(
            f"{name}.n_missing",
            data.n_missing,
            f"has no place in the file: pass dataclasses.replace({name}, n_missing=0)",
        )
    return rappor
