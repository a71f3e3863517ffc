"""Files of reports made into counts, of one variable or of several together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, positive_integer, reports_in_all
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.reports import ReportColumn
from ldpstats.io.storage import FilePath
from ldpstats.io.tables import (
    CHUNK_ROWS,
    Advance,
    file_format,
    names,
    present,
    table_chunks,
    unguarded,
    whole_counts,
)
from ldpstats.mechanisms import Mechanism
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import BitCounts, Counts, Reports

T = TypeVar("T")

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
        Column of reports: output labels, or bits as text such as "0110" or as bytes; see
        `reports.layout`.
    count : str, optional
        Column of whole counts, where a row stands for several equal reports.
    cohort : str, optional
        Column of cohorts, whole numbers from 0 or the names of a device's. By default cohorts are
        before the reports, as in "3:0110", or in the column report_cohort for the column report.
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
    empty = mechanism.no_counts()

    def parts() -> Iterator[Counts | BitCounts]:
        yield empty.bit_counts() if bits else empty
        for _, _, n, ((found, absent),) in _chunks([reports], counted, chunk_rows, advance):
            absent_n = reports_in_all(f"{path}, column {count!r}", n[absent])
            part = Counts(found.y, n[~absent], mechanism, absent_n, found.cohort)
            yield part.bit_counts() if bits else empty + part  # the sum merges equal reports

    return _summed(parts(), most_bytes, _BITS)


def _chunks(
    variables: Sequence[ReportColumn],
    count: Sequence[str],
    chunk_rows: int,
    advance: Advance | None,
    beside: Sequence[str] = (),
) -> Iterator[tuple[pd.DataFrame, int, Array, list[tuple[Reports, Array]]]]:
    """Chunks of a table: the columns, the rows before, how many respondents each row is, reports.

    Of the reports each variable says which rows have none.
    """
    path, done = variables[0].path, 0
    used = [column for part in variables for column in part.columns]
    used = list(dict.fromkeys([*used, *count, *beside]))
    optional = [column for part in variables for column in part.optional]
    for frame in table_chunks(
        path, used, chunk_rows, advance, optional=optional, codes=[*used, *optional]
    ):
        n = np.ones(len(frame), dtype=np.int64)
        for name in count:
            n = whole_counts(f"{path}, column {name!r}", frame[name], done)
        yield frame, done, n, [part.read(frame, done) for part in variables]
        done += len(frame)


def _summed(parts: Iterable[T], most_bytes: int, remedy: str) -> T:
    """The sum of counts, merged as in a binary counter: log2(chunks) copies of a report."""
    held: list[Any] = []
    for part in parts:
        held.append(part)
        while len(held) > 1 and size_of(held[-1]) >= size_of(held[-2]):
            held[-2:] = [held[-2] + held[-1]]
        refuse_more(sum(map(size_of, held)), most_bytes, remedy)
    total: T = held.pop()
    while held:
        total = held.pop() + total
    return total


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


# -- Files of reports on several variables made into counts of their combinations -----------------


_FEWER = "analyse a random part of the respondents, or allow more with most_bytes="


def read_joint_counts(
    path: FilePath | Sequence[FilePath],
    mechanisms: Sequence[Mechanism],
    columns: Sequence[str],
    count: str | None = None,
    *,
    cohorts: Sequence[str | None] | None = None,
    id: str | None = None,
    missing: str = "raise",
    na: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> JointCounts:
    """Count the combinations of reports in CSV or Parquet files.

    Parameters
    ----------
    path : path-like, or sequence of path-like
        One table that holds all variables, read chunk by chunk; or a table for each variable (which
        may be the same one several times), matched on `id`.
    mechanisms : sequence of Mechanism
        The mechanism of each variable, two or more.
    columns : sequence of str
        Column of reports of each variable, as in `read_counts`.
    count : str, optional
        Column of whole counts, where a row stands for several respondents.
    cohorts : sequence of str or None, optional
        Column of cohorts of each variable, as in `read_counts`; None where that is the default.
        Variables may share one.
    id : str, optional
        Column that identifies the respondents, in each table, compared as text (in CSV without the
        apostrophe of spreadsheet_safe=). Rows may be in any order; all reports are held in memory.
    missing : {"raise", "count"}
        Refuse missing reports and respondents who are not in every table; or leave out and count
        respondents without a report on every variable: their number is the `n_missing` of each
        element of `JointCounts.reports`.
    na, most_bytes, chunk_rows, advance
        As in `read_counts`.

    Returns
    -------
    JointCounts

    Raises
    ------
    InvalidArgument
        As in `read_counts`; also if a column is named twice, several tables come without `id`, or
        identifiers are missing, repeat or, unless these are counted, are not in every table.
    MechanismMismatch
        As in `read_counts`.
    NotAvailable
        If the distinct reports take more than `most_bytes`.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> warner = ldp.Warner(epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "reports.csv")
    ...     _ = path.write_text("smokes,coughs\\nyes,yes\\nno,no\\nyes,yes\\n,no\\n")
    ...     both = (warner, warner), ("smokes", "coughs")
    ...     counts = read_joint_counts(path, *both, missing="count")
    >>> counts.table()
    array([[1, 0],
           [0, 2]])
    >>> [part.n_missing for part in counts.reports]
    [1, 1]
    """
    if not isinstance(mechanisms, list | tuple) or len(mechanisms) < 2:
        remedy = "must be two or more, one for each variable; read_counts is for one"
        raise InvalidArgument("mechanisms", mechanisms, remedy)
    d = len(mechanisms)
    paths = path if isinstance(path, list | tuple) else [path] * d
    groups = [None] * d if cohorts is None else cohorts
    for name, given in (("path", paths), ("columns", columns), ("cohorts", groups)):
        if not isinstance(given, list | tuple) or len(given) != d:
            raise InvalidArgument(name, given, f"must be {d}, one for each of the mechanisms")
    variables = [
        ReportColumn(*each, missing, na)
        for each in zip(paths, mechanisms, columns, groups, strict=True)
    ]
    taken: set[tuple[str, str | None]] = set()
    for part in variables:
        key = (os.path.realpath(part.path), part.column)
        if key in taken:
            raise InvalidArgument("columns", part.column, "is named twice: name each column once")
        taken.add(key)
    for name, other in (("count", count), ("id", id)):
        for part in variables:
            if (os.path.realpath(part.path), part.cohort) in taken:
                raise InvalidArgument("cohorts", part.cohort, "is a column of reports")
            if other is not None and names(name, [other])[0] in part.columns:
                raise InvalidArgument(name, other, "is a column of reports or of cohorts")
    most_bytes = positive_integer("most_bytes", most_bytes)
    if id is not None:
        if count is not None:
            remedy = "cannot be combined with id: a respondent is counted once"
            raise InvalidArgument("count", count, remedy)
        strict, share = missing == "raise", most_bytes // d
        return _matched(variables, id, strict, share, chunk_rows, advance)
    if len({os.path.realpath(part.path) for part in variables}) > 1:
        remedy = "is needed to match respondents across tables: name the column of identifiers"
        raise InvalidArgument("id", None, remedy)
    empty = [part.mechanism.no_counts() for part in variables]
    none = JointCounts([Reports(part.y, part.mechanism, 0, part.cohort) for part in empty])
    counted = [] if count is None else [count]

    def parts() -> Iterator[JointCounts]:
        yield none
        for _, _, n, found in _chunks(variables, counted, chunk_rows, advance):
            reports_in_all(f"{paths[0]}, column {count!r}", n)
            yield JointCounts.of_rows([(r, ~absent) for r, absent in found], n).tally()

    return _summed(parts(), most_bytes, _FEWER)


def _matched(
    variables: Sequence[ReportColumn],
    id: str,
    strict: bool,
    most_bytes: int,
    chunk_rows: int,
    advance: Advance | None,
) -> JointCounts:
    """Counts of the respondents who are in all tables, each of `most_bytes`, with a report."""
    d, wheres = len(variables), [f"{variable.path}, column {id!r}" for variable in variables]
    respondents, there, reports = [], [], []  # of each row of each table
    for v, (variable, where) in enumerate(zip(variables, wheres, strict=True)):
        show = None if advance is None else lambda done, v=v: advance((v + done) / d)
        # in CSV as it was before spreadsheet_safe=
        plain = str if file_format(variable.path) == ".parquet" else lambda i: unguarded(str(i))
        empty = variable.mechanism.no_counts()
        ids: list[str] = []
        cohorts: list[Any] = [empty.cohort]
        has, y, size = [np.empty(0, dtype=bool)], [empty.y], 0
        for frame, done, _, ((some, absent),) in _chunks([variable], [], chunk_rows, show, [id]):
            values, unknown = present(where, frame[id], None, ())
            if unknown.any():
                row = done + int(np.argmax(unknown)) + 1
                remedy = "is missing: every respondent needs an identifier"
                raise InvalidArgument(f"{where}, row {row}", None, remedy)
            ids += map(plain, values.tolist())
            has.append(~absent)
            y.append(some.y)
            cohorts.append(some.cohort)
            size += size_of(some)
            refuse_more(size, most_bytes, _FEWER)
        respondents.append(pd.Index(ids, dtype=object))
        there.append(np.concatenate(has))
        groups = None if empty.cohort is None else np.concatenate(cohorts)
        reports.append(Reports(np.concatenate(y), variable.mechanism, 0, groups))
    for where, own in zip(wheres, respondents, strict=True):
        again = np.flatnonzero(own.duplicated())
        if again.size:
            value = own[again[0]]
            first = int(np.argmax(own == value)) + 1
            remedy = f"is also the respondent of row {first}: keep one report of each respondent"
            raise InvalidArgument(f"{where}, row {again[0] + 1}", value, remedy)
    everyone = respondents[0].append(respondents[1:]).unique()
    rows = np.array([own.get_indexer(everyone) for own in respondents])  # in each table
    strangers = np.flatnonzero((rows < 0).any(axis=0))
    if strict and strangers.size:
        who = strangers[0]
        holds, lacks = (int(np.argmax(found)) for found in (rows[:, who] >= 0, rows[:, who] < 0))
        raise InvalidArgument(
            f"{wheres[holds]}, row {rows[holds, who] + 1}",
            everyone[who],
            f"is not in {wheres[lacks]} ({strangers.size} respondents are not in every table): "
            "remove them from all tables, or leave them out and count them with missing='count' "
            "(--missing count)",
        )
    parts = []
    for place, has_one, found in zip(rows, there, reports, strict=True):
        # the last place serves row -1, of respondents who are not in the table
        at = np.append(np.where(has_one, np.cumsum(has_one) - 1, -1), -1)[place]
        parts.append((found[at[at >= 0]], at >= 0))
    return JointCounts.of_rows(parts).tally()
