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
        Column of reports: output labels, or bits as text such as "0110", first bit first. Where
        the mechanism has cohorts, and no column of them is named, reports are "cohort:report".
    count : str, optional
        Column of whole counts, where a row stands for several equal reports.
    cohort : str, optional
        Column of cohorts, whole numbers from 0.
    missing : {"raise", "count"}
        Refuse missing reports, or count them in `n_missing`.
    na : sequence of str
        Text that means a missing report too, for example ("NA",).
    bits : bool
        Sum the bits instead of counting the patterns: that takes hardly any memory, and is all that
        linear estimates need, but it determines no likelihood.
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
        For a file that cannot be read or is malformed, for missing or unknown reports, for counts
        that are negative or fractional, and for cohorts that do not exist; the row is named, from 1
        after the header.
    MechanismMismatch
        For a Parquet file of another mechanism's reports, and a row of any file with another one's
        fingerprint in the column of fingerprints (report_fingerprint beside the column report).
    NotAvailable
        For `bits` with a mechanism that reports none, and for more reports than `most_bytes` hold.

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
        raise InvalidArgument("count", count, "is the column of reports itself")
    if count in reports.optional:
        raise InvalidArgument("count", count, "is the column of fingerprints: rename it")
    if cohort is not None and cohort == count:
        raise InvalidArgument("cohort", cohort, "is the column of counts itself")
    columns = [*reports.columns, *counted]
    empty = mechanism.no_counts()
    total = Sum(empty.bit_counts() if bits else empty, most_bytes, _BITS)
    done = 0
    optional = reports.optional
    for frame in table_chunks(path, columns, chunk_rows, advance, optional=optional):
        found, absent = reports.read(frame, done)
        n = counts_of(path, count, frame, done)
        absent_n = reports_in_all(f"{path}, column {count!r}", n[absent])
        part = Counts(found.y, n[~absent], mechanism, absent_n, found.cohort)
        total.add(part.bit_counts() if bits else empty + part)  # added to none, equals are merged
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
    """A running sum of counts.

    Parts are added like the digits of a binary counter, equals to equals, so that no report is
    copied more often than the logarithm of the number of chunks.

    Parameters
    ----------
    empty : Counts, BitCounts or JointCounts
        What the sum of no parts is.
    most_bytes : int
        Memory that the parts may fill.
    remedy : str
        What to do where that is not enough.
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
    """Refuse reports that fill more memory than they may."""
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
