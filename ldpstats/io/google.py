"""The files of google/rappor: parameters, map of candidates, counts and reports.

What its tools write and read, in CSV with UTF-8 text (``.csv`` or ``.csv.gz``). It writes k for
`n_bits`, h for `n_hashes` and m for `n_cohorts`; p, q and f are those of `RAPPOR`. Bits b are
numbered from 0, the least significant, and cohorts c from 0.

- *params*: the header ``k,h,m,p,q,f`` and one row.
- *map*: no header, a row for each candidate: the string, then h positions in cohort 0, h in cohort
  1, and so on. The position of bit b in cohort c is ``c k + b + 1``. Its tool hashes as its clients
  in Python and C++ do, and as ``RAPPOR(..., hashing="google")`` does, up to 256 bits; its client in
  Java takes two bytes of the MD5 for each hash instead of one, so that its reports need a map made
  elsewhere. Its simulations in R draw the positions at random, write those of a candidate in
  ascending order, each once, and leave as many fields at the end of the row empty; that is read as
  well.
- *counts*: no header, a row for each cohort in order: the number of reports, then how many of them
  have bit 0, bit 1, ..., bit k - 1 set.
- *reports*: a header with the columns ``cohort`` and ``irr`` (once called ``rappor``) among others,
  now ``client,cohort,bloom,prr,irr``; a row for each report. ``irr`` is k digits, the most
  significant bit first: the first digit is bit k - 1, the last is bit 0. The text of reports that
  `write_reports` writes has the opposite order, bit 0 first: `read_counts` would take these files
  for reports with their bits reversed.

A variable of truth values (``boolean`` in its schemas) has one bit, k = 1, that TRUE owns and FALSE
does not, and no map. Its reports are digits 0 and 1; cohorts say nothing of them.

``bloom`` and ``prr`` would give the answer away; they are neither read nor written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpstats.arguments import Array
from ldpstats.errors import InvalidArgument
from ldpstats.io.counting import read_counts
from ldpstats.io.storage import FilePath, checked_path, refusal, replacing
from ldpstats.io.tables import Advance, csv_lines, csv_writer, file_format
from ldpstats.mechanisms import RAPPOR, BooleanRAPPOR, CandidateMap, Mechanism
from ldpstats.reports.layout import format_bits
from ldpstats.reports.single import BitCounts, Counts, Reports

# its names and ours, in the order of its file
_FIELDS = {"k": "n_bits", "h": "n_hashes", "m": "n_cohorts", "p": "p", "q": "q", "f": "f"}


# -- parameters ------------------------------------------------------------------------------------


def read_rappor_params(path: FilePath, *, hashing: str = "google") -> RAPPOR:
    """Read the parameters of a collection with google/rappor.

    Parameters
    ----------
    path : path-like
        CSV with the header ``k,h,m,p,q,f`` and one row.
    hashing : {"google", "ldpstats", "given"}
        The hash of the clients, which is not in the file. It does not matter if candidates come
        from `read_rappor_map`; "given" is for clients with another hash, such as those with more
        than 256 bits, and needs the map.

    Returns
    -------
    RAPPOR; of one bit BooleanRAPPOR

    Raises
    ------
    InvalidArgument
        If the file cannot be read, has another header or number of rows, or its values are not
        parameters of RAPPOR.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "params.csv").write_text("k,h,m,p,q,f\\n16,2,64,0.5,0.75,0.5\\n")
    ...     print(read_rappor_params(f"{folder}/params.csv"))
    RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.5, q=0.75, hashing='google')
    """
    names = list(_FIELDS)
    rows = [row for _, row in rows_of(path, len(names), "a value for each column", names)]
    if len(rows) > 1:
        raise refusal(path, f"has {len(rows)} rows below its header: keep one")
    given = dict(zip(names, rows[0], strict=True))
    values: dict[str, Any] = {"hashing": hashing}
    for field, text in given.items():
        integer = field in ("k", "h", "m")
        value = whole(text) if integer else number(text)
        if value is None:
            remedy = f"must be a {'whole ' * integer}number"
            raise InvalidArgument(f"{path}, row 1, field {field!r}", text, remedy)
        values[_FIELDS[field]] = value
    try:
        return RAPPOR(**values)
    except InvalidArgument as error:
        for field, name in _FIELDS.items():
            if name == error.name:
                where = f"{path}, row 1, field {field!r}"
                raise InvalidArgument(where, given[field], error.remedy) from None
        raise refusal(path, f"row 1 does not fit {error}") from None


def write_rappor_params(rappor: RAPPOR, path: FilePath, *, force: bool = False) -> None:
    """Write the parameters of a RAPPOR as google/rappor reads them.

    Parameters
    ----------
    rappor : RAPPOR
        Over an open alphabet. Its hash is not written: unless it is "google", pass it to
        `read_rappor_params`, and give other tools a map (`write_rappor_map`).
    path, force
        As in `write_reports`.

    Raises
    ------
    InvalidArgument
        If the mechanism is another one, or the file exists or cannot be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> rappor = ldp.RAPPOR(16, 2, 64, f=0.5, p=0.5, q=0.75, hashing="google")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rappor_params(rappor, f"{folder}/params.csv")
    ...     Path(f"{folder}/params.csv").read_text()
    'k,h,m,p,q,f\\n16,2,64,0.5,0.75,0.5\\n'
    """
    checked = check_rappor("rappor", rappor)
    own: dict[str, int] = {}
    if isinstance(checked, BooleanRAPPOR):
        own = dict.fromkeys(("n_bits", "n_hashes", "n_cohorts"), 1)
    values = [repr(own.get(name) or getattr(checked, name)) for name in _FIELDS.values()]
    write_rows(path, [list(_FIELDS), values], force)


# -- map -------------------------------------------------------------------------------------------


def read_rappor_map(path: FilePath, rappor: RAPPOR) -> CandidateMap:
    """Read the candidates of google/rappor with the bits that each sets.

    Parameters
    ----------
    path : path-like
        CSV without a header: in each row a candidate and h m positions.
    rappor : RAPPOR
        From `read_rappor_params`.

    Returns
    -------
    CandidateMap
        To be passed as ``candidates=``.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, a row has another width, a candidate occurs twice, or a position
        is not a number or outside the range of its cohort. Row and field are named, from 1.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> rappor = ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "map.csv").write_text("apple,1,8,9,12\\npear,3,3,16,10\\n")
    ...     read_rappor_map(f"{folder}/map.csv", rappor).cells
    array([[[0, 7],
            [2, 2]],
    <BLANKLINE>
           [[0, 3],
            [7, 1]]])
    """
    rappor = _check_hashed(rappor)
    k, h, C = rappor.n_bits, rappor.n_hashes, rappor.n_cohorts
    what = f"a candidate and {h} positions in each of {C} cohorts"
    rows: dict[str, int] = {}
    cells = []
    cohort = np.repeat(np.arange(C), h)
    for row, (label, *fields) in rows_of(path, 1 + C * h, what):
        first = rows.setdefault(label, row)
        if first != row:
            remedy = f"is also the candidate of row {first}: remove one of the rows"
            raise InvalidArgument(f"{path}, row {row}, field 1", label, remedy)
        given = len(fields)
        while given and not fields[given - 1]:
            given -= 1
        position = np.array(wholes(path, row, fields[:given], 2), dtype=np.int64)
        if given < len(fields):
            position = _repeated(path, row, position, rappor)
        wrong = np.flatnonzero((position - 1) // k != cohort)
        if wrong.size:
            i = int(wrong[0])
            low = int(cohort[i]) * k
            remedy = f"is outside cohort {cohort[i]}, which has positions {low + 1} to {low + k}"
            raise InvalidArgument(f"{path}, row {row}, field {i + 2}", int(position[i]), remedy)
        cells.append(np.asarray((position - 1) % k).reshape(C, h))
    return CandidateMap(tuple(rows), np.stack(cells, axis=1))


def _check_hashed(given: RAPPOR) -> RAPPOR:
    """Refuse mechanisms whose answers need no map."""
    rappor = check_rappor("rappor", given)
    if isinstance(rappor, BooleanRAPPOR):
        remedy = "has no map: its answers are known, and the counts or reports are all it needs"
        raise InvalidArgument("rappor", rappor, remedy)
    return rappor


def _repeated(path: FilePath, row: int, position: Array, rappor: RAPPOR) -> Array:
    """Distinct positions, with the last of each cohort repeated to make h."""
    k, h, C = rappor.n_bits, rappor.n_hashes, rappor.n_cohorts
    present, start, times = np.unique((position - 1) // k, return_index=True, return_counts=True)
    ascending = bool((np.diff(position) > 0).all())
    if not (ascending and np.array_equal(present, np.arange(C)) and times.max() <= h):
        raise refusal(
            path,
            f"row {row} has empty fields: the others must be distinct positions, ascending, 1 to "
            f"{h} of them from {k} c + 1 to {k} c + {k} for each cohort c from 0 to {C - 1}",
        )
    return np.asarray(position[(start + np.minimum.outer(np.arange(h), times - 1)).T.ravel()])


def write_rappor_map(
    candidates: Any, rappor: RAPPOR, path: FilePath, *, force: bool = False
) -> None:
    """Write candidates with the bits that each sets, as google/rappor reads them.

    Parameters
    ----------
    candidates : sequence of str, or CandidateMap
    rappor : RAPPOR
        Over an open alphabet. It hashes the strings.
    path, force
        As in `write_reports`.

    Raises
    ------
    InvalidArgument
        If candidates are not distinct strings or their cells do not fit the mechanism, or the file
        exists or cannot be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> rappor = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75, hashing="google")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rappor_map(["apple"], rappor, f"{folder}/map.csv")
    ...     Path(f"{folder}/map.csv").read_text()
    'apple,5,1,26,26,38,34,63,62\\n'
    """
    rappor = _check_hashed(rappor)
    labels = rappor.labels(candidates)
    rappor.cells(candidates)  # refuses cells that do not fit
    if isinstance(candidates, CandidateMap):
        cells = candidates.cells.astype(np.int64)  # of all hashes, (C, S, h), repetitions included
    else:
        cells = rappor.answer_hash.table("candidates", labels).astype(np.int64)
    first = 1 + np.arange(rappor.n_cohorts) * rappor.n_bits
    positions = (cells + first[:, None, None]).transpose(1, 0, 2).reshape(len(labels), -1)
    rows = ([label, *own.tolist()] for label, own in zip(labels, positions, strict=True))
    write_rows(path, rows, force)


# -- counts and reports ----------------------------------------------------------------------------


_HEADER = ("client", "cohort", "bloom", "prr", "irr")
_REPORT_COLUMNS = ("irr", "rappor")  # what the column of reports is called, and once was
_BLOCK_ROWS = 1 << 16


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
                remedy = f"exceeds the number of reports in field 1, {reports}: repair the file"
                raise InvalidArgument(f"{path}, row {row}, field {i}", count, remedy)
        rows.append((reports, ones))
    if isinstance(rappor, BooleanRAPPOR):
        yes = sum(own for _, (own,) in rows)
        return rappor.counts([sum(n for n, _ in rows) - yes, yes])
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
    path, force
        As in `write_reports`.

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
    bits, advance
        As in `read_counts`; no bits are summed of a BooleanRAPPOR.

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
        remedy = "must have the columns 'cohort' and 'irr' (or 'rappor'): its header is "
        raise refusal(path, f"{remedy}{header}")
    how: dict[str, Any] = {"missing": missing, "advance": advance}
    if isinstance(rappor, BooleanRAPPOR):
        return read_counts(path, rappor, column, **how)
    counts = read_counts(path, rappor, column, cohort="cohort", bits=bits, **how)
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
    path, force
        As in `write_reports`.

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
        remedy = f"has no place in the file: pass dataclasses.replace({name}, n_missing=0)"
        raise InvalidArgument(f"{name}.n_missing", data.n_missing, remedy)
    return rappor


# -- Rows and fields of google/rappor's files -----------------------------------------------------


# as Python and R write numbers, where R writes 100000 as 1e+05
_NUMBER = re.compile(r"-?([0-9]{1,17}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")


def check_rappor(name: str, mechanism: Mechanism) -> RAPPOR | BooleanRAPPOR:
    """Refuse mechanisms that google/rappor's files cannot describe."""
    if isinstance(mechanism, BooleanRAPPOR):
        return mechanism
    if not isinstance(mechanism, RAPPOR) or not mechanism.is_open:
        remedy = "must be RAPPOR over an open alphabet, as google/rappor is"
        raise InvalidArgument(name, mechanism, remedy)
    return mechanism


def header_of(path: FilePath) -> list[str]:
    """The first row of a file; empty if there is none."""
    _check_format(path)
    with csv_lines(path) as (lines, _):
        return next(lines, [])


def rows_of(
    path: FilePath, width: int, what: str, header: Sequence[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file below its header, if any, numbered from 1; each has `width` fields."""
    _check_format(path)
    row_number = 0
    with csv_lines(path) as (lines, _):
        if header is not None and (first := next(lines, [])) != list(header):
            raise refusal(path, f"must begin with the line {','.join(header)}, not with {first}")
        for row_number, row in enumerate(lines, start=1):
            if len(row) != width:
                remedy = f"has {len(row)} fields, not {width}: it must have {what}"
                raise refusal(path, f"row {row_number} {remedy}")
            yield row_number, row
    if not row_number:
        raise refusal(path, f"has no row: each must have {width} fields, {what}")


def wholes(path: FilePath, row: int, fields: list[str], first: int) -> list[int]:
    """Whole numbers in the fields of a row; `first` is the number of the first field."""
    joined = "".join(fields)
    if joined.isascii() and joined.isdigit() and all(0 < len(field) < 16 for field in fields):
        return list(map(int, fields))
    numbers = []
    for i, field in enumerate(fields, start=first):
        found = whole(field)
        if found is None:
            remedy = "must be a whole number, not negative"
            raise InvalidArgument(f"{path}, row {row}, field {i}", field, remedy)
        numbers.append(found)
    return numbers


def number(text: str) -> float | None:
    """The number in a field; None if there is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def whole(text: str) -> int | None:
    """The whole number from 0 to 2**53 - 1 in a field; None if there is none."""
    found = number(text)
    if found is None or not found.is_integer() or not 0.0 <= found < 2.0**53:
        return None
    return int(found)


def write_rows(path: FilePath, rows: Iterable[Iterable[object]], force: bool) -> None:
    """Write the rows of a file, the header included."""
    _check_format(path)
    with replacing(path, force) as temporary, csv_writer(temporary, file_format(path)) as lines:
        lines.writerows(rows)


def _check_format(path: FilePath) -> None:
    name = checked_path(path).name.lower()
    if not name.endswith((".csv", ".csv.gz")):
        what = "is called Parquet" if name.endswith(".parquet") else "has no known format"
        raise refusal(path, f"{what}: files of google/rappor end in .csv or .csv.gz")
