"""Files of reports made into counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, positive_integer, reports_in_all
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.report_columns import ReportColumn
from ldpstats.io.storage.files import FilePath
from ldpstats.io.tables import CHUNK_ROWS, Advance, names, table_chunks
from ldpstats.io.values import whole_counts
from ldpstats.mechanisms import Mechanism
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["MOST_BYTES", "Sum", "counts_of", "read_counts", "refuse_more", "size_of"]

MOST_BYTES = 1 << 31

_BITS = "sum their bits with bits=True (--bits), which linear estimates such as 'inversion' allow"


def read_counts(
    path: FilePath,
    mechanism: Mechanism,
    column: str = "report",
    count: str | None = None,
    *,
    cohort: str | None = None,
    missing: str = "raise",
    na: Sequence[str] = (),
    bits: bool = False,
    most_bytes: int = MOST_BYTES,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> Counts | BitCounts:
    """Count the reports in a CSV or Parquet file, chunk by chunk.

    Parameters
    ----------
    path : path-like
    mechanism : Mechanism
        The mechanism that made the reports.
    column : str
        Column of reports: output labels, or bits as text such as "0110" or as bytes (`io.layout`).
    count : str, optional
        Column of whole counts, where a row stands for several equal reports.
    cohort : str, optional
        Column of cohorts, whole numbers from 0. By default cohorts are before the reports, as in
        "3:0110", or in the column report_cohort for the column report.
    missing : {"raise", "count"}
        Refuse missing reports, or count them in `n_missing`.
    na : sequence of str
        Text that means a missing report too, for example ("NA",).
    bits : bool
        Sum the bits instead of counting the patterns: this takes little memory and suffices for
        linear estimates, but does not give the likelihood.
    most_bytes : int
        Memory that distinct reports may fill.
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    Counts, or BitCounts with `bits`

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is malformed, reports are missing or unknown, counts are
        negative or fractional, or cohorts do not exist. The row is named, from 1 after the header.
    MechanismMismatch
        If the Parquet file, or a row's fingerprint (in the column report_fingerprint for the column
        report), is of another mechanism.
    NotAvailable
        If `bits` is True and the mechanism does not report bits, or the distinct reports take more
        than `most_bytes`.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "reports.csv").write_text("report\\nyes\\nno\\nyes\\n")
    ...     read_counts(f"{folder}/reports.csv", ldp.Warner(epsilon=1.0)).vector()
    array([1, 2])
    """
    reports = ReportColumn(path, mechanism, column, cohort, missing, na)
    most_bytes = positive_integer("most_bytes", most_bytes)
    bits, counted = boolean("bits", bits), names("count", [] if count is None else [count])
    if bits and not mechanism.n_bits:
        raise NotAvailable(f"{mechanism} does not report bits: count its reports without bits=True")
    if count == column:
        raise InvalidArgument("count", count, "is the column of reports")
    if count in reports.optional:
        raise InvalidArgument("count", count, "is the column of fingerprints or cohorts: rename it")
    if cohort is not None and cohort == count:
        raise InvalidArgument("cohort", cohort, "is the column of counts")
    columns = [*reports.columns, *counted]
    empty = mechanism.no_counts()
    total = Sum(empty.bit_counts() if bits else empty, most_bytes, _BITS)
    done = 0
    beside: dict[str, Any] = {"optional": reports.optional, "codes": columns + reports.optional}
    for frame in table_chunks(path, columns, chunk_rows, advance, **beside):
        found, absent = reports.read(frame, done)
        n = counts_of(path, count, frame, done)
        absent_n = reports_in_all(f"{path}, column {count!r}", n[absent])
        part = Counts(found.y, n[~absent], mechanism, absent_n, found.cohort)
        total.add(part.bit_counts() if bits else empty + part)  # the sum merges equal reports
        done += len(frame)
    value: Counts | BitCounts = total.value()
    return value


def counts_of(
    path: FilePath, count: str | None, frame: pd.DataFrame, done: int
) -> npt.NDArray[np.int64]:
    """How many respondents each row of a chunk stands for, shape (n,)."""
    if count is None:
        return np.ones(len(frame), dtype=np.int64)
    return whole_counts(f"{path}, column {count!r}", frame[count], done)


class Sum:
    """A running sum of counts, from `empty`, in at most `most_bytes` of memory.

    Parts of about the same size are merged, as in a binary counter: each report is copied about
    log2(number of chunks) times.
    """

    def __init__(self, empty: Any, most_bytes: int, remedy: str) -> None:
        self.parts: list[Any] = [empty]
        self.most_bytes, self.remedy = most_bytes, remedy

    def add(self, part: Any) -> None:
        self.parts.append(part)
        while len(self.parts) > 1 and size_of(self.parts[-1]) >= size_of(self.parts[-2]):
            self._merge()
        refuse_more(sum(map(size_of, self.parts)), self.most_bytes, self.remedy)

    def _merge(self) -> None:
        self.parts[-2:] = [self.parts[-2] + self.parts[-1]]

    def value(self) -> Any:
        while len(self.parts) > 1:
            self._merge()
        return self.parts[0]


def refuse_more(size: int, most_bytes: int, remedy: str) -> None:
    """Refuse reports that fill more than `most_bytes` of memory."""
    if size > most_bytes:
        raise NotAvailable(
            f"the distinct reports fill more than {most_bytes} bytes of memory: {remedy}"
        )


def size_of(data: Any) -> int:
    """Bytes that reports or their counts fill."""
    if isinstance(data, BitCounts):
        return data.ones.nbytes
    if isinstance(data, JointCounts):
        return data.n.nbytes + sum(map(size_of, data.reports))
    size = data.y.nbytes + (0 if data.cohort is None else data.cohort.nbytes)
    return int(size + (data.n.nbytes if isinstance(data, Counts) else 0))
