"""Files of reports made into counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.checks import one_of, positive_integer
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.io.files import FilePath
from ldpstats.io.tables import CHUNK_ROWS, Advance, metadata, names, read_columns
from ldpstats.io.values import (
    check_mechanism,
    label_of,
    present,
    refuse_missing,
    row_named,
    whole_counts,
)
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.base import Enumerated
from ldpstats.reports import BitCounts, Counts

__all__ = ["FINGERPRINT", "read_counts"]

MOST_BYTES = 1 << 31

FINGERPRINT = b"ldpstats.fingerprint"  # what a Parquet file of reports stores beside them


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
        For a Parquet file of another mechanism's reports.
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
    one_of("missing", missing, ("raise", "count"))
    check_mechanism(mechanism)
    columns = names("column", [column, *(c for c in (count, cohort) if c is not None)])
    na, most_bytes = names("na", na), positive_integer("most_bytes", most_bytes)
    if bits and not mechanism.n_bits:
        raise NotAvailable(f"{mechanism} does not report bits: count its reports without bits=True")
    if count == column:
        raise InvalidArgument("count", count, "is the column of reports itself")
    if cohort is not None and cohort in (column, count):
        raise InvalidArgument("cohort", cohort, "is the column of reports or of counts itself")
    if cohort is not None and not mechanism.n_cohorts:
        raise InvalidArgument("cohort", cohort, f"must be left out: {mechanism} has no cohorts")
    if column == "report":
        _check_fingerprint(path, mechanism)
    where = f"{path}, column {column!r}"
    to_label = None
    if isinstance(mechanism, Enumerated):
        to_label = label_of(path, mechanism.outputs, na)
    total = _Sum(mechanism, bits, most_bytes)
    done = 0
    for frame in read_columns(path, columns, chunk_rows, advance):
        values, absent = present(where, frame[column], to_label, na)
        if missing == "raise":
            refuse_missing(where, done, absent)
        n = np.ones(len(frame), dtype=np.int64)
        if count is not None:
            n = whole_counts(f"{path}, column {count!r}", frame[count], done)
        table = pd.DataFrame({"report": values, "count": n[~absent]})
        if cohort is not None:
            groups = _cohorts(f"{path}, column {cohort!r}", frame[cohort], done, absent, mechanism)
            table["cohort"] = groups[~absent]
        with row_named(where, done, values, absent):
            part = Counts.from_frame(
                table, mechanism, count="count", cohort=None if cohort is None else "cohort"
            )
        total.add(replace(part, n_missing=int(n[absent].sum())))
        done += len(frame)
    return total.value()


def _cohorts(
    where: str, column: pd.Series[Any], done: int, absent: Any, mechanism: Mechanism
) -> npt.NDArray[np.int64]:
    """A column of cohorts, shape (n,), 0 where the report is absent."""
    groups = whole_counts(where, column, done, absent)
    outside = groups >= mechanism.n_cohorts
    if outside.any():
        i = int(np.argmax(outside))
        raise InvalidArgument(
            f"{where}, row {done + i + 1}",
            int(groups[i]),
            f"is no cohort: they are numbered from 0 to {mechanism.n_cohorts - 1}",
        )
    return groups


class _Sum:
    """A running sum of counts.

    Parts are added like the digits of a binary counter, equals to equals, so that no report is
    copied more often than the logarithm of the number of chunks.
    """

    def __init__(self, mechanism: Mechanism, bits: bool, most_bytes: int) -> None:
        self.bits, self.most_bytes = bits, most_bytes
        empty = mechanism.no_counts()
        self.parts: list[Any] = [empty.bit_counts() if bits else empty]

    def add(self, part: Counts) -> None:
        self.parts.append(part.bit_counts() if self.bits else part)
        while len(self.parts) > 1 and _size(self.parts[-1]) >= _size(self.parts[-2]):
            self._merge()
        if sum(map(_size, self.parts)) > self.most_bytes:
            raise NotAvailable(
                f"the distinct reports fill more than {self.most_bytes} bytes of memory: sum their "
                "bits with bits=True (--bits), which linear estimates such as 'inversion' allow"
            )

    def _merge(self) -> None:
        self.parts[-2:] = [self.parts[-2] + self.parts[-1]]

    def value(self) -> Counts | BitCounts:
        while len(self.parts) > 1:
            self._merge()
        total: Counts | BitCounts = self.parts[0]
        return total


def _size(counts: Counts | BitCounts) -> int:
    """Bytes that counts fill."""
    if isinstance(counts, BitCounts):
        return counts.ones.nbytes
    cohorts = 0 if counts.cohort is None else counts.cohort.nbytes
    return counts.y.nbytes + counts.n.nbytes + cohorts


def _check_fingerprint(path: FilePath, mechanism: Mechanism) -> None:
    stored = metadata(path).get(FINGERPRINT, b"").decode("ascii", "replace")
    if stored and stored != mechanism.fingerprint:
        raise MechanismMismatch(
            f"{path} holds reports of a mechanism with fingerprint {stored}, not of {mechanism} "
            f"({mechanism.fingerprint}): use the specification that the reports were made with"
        )
