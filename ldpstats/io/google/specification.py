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

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.io.google.fields import check_rappor, number, rows_of, whole, wholes, write_rows
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.mechanisms import RAPPOR, BooleanRAPPOR, CandidateMap

__all__ = ["read_rappor_map", "read_rappor_params", "write_rappor_map", "write_rappor_params"]

Array = npt.NDArray[Any]

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
            remedy = f"must be a {'whole ' if integer else ''}number"
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
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

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
    shape = (rappor.n_cohorts, rappor.n_hashes)
    what = f"a candidate and {shape[1]} positions in each of {shape[0]} cohorts"
    rows: dict[str, int] = {}
    cells = []
    for row, (label, *fields) in rows_of(path, 1 + shape[0] * shape[1], what):
        first = rows.setdefault(label, row)
        if first != row:
            raise InvalidArgument(
                f"{path}, row {row}, field 1",
                label,
                f"is also the candidate of row {first}: remove one of the rows",
            )
        cells.append(_own_cells(path, row, fields, rappor).reshape(shape))
    return CandidateMap(tuple(rows), np.stack(cells, axis=1))


def _check_hashed(given: RAPPOR) -> RAPPOR:
    """Refuse mechanisms whose answers need no map."""
    rappor = check_rappor("rappor", given)
    if isinstance(rappor, BooleanRAPPOR):
        remedy = "has no map: its answers are known, and the counts or reports are all it needs"
        raise InvalidArgument("rappor", rappor, remedy)
    return rappor


def _own_cells(path: FilePath, row: int, fields: list[str], rappor: RAPPOR) -> Array:
    """Cells of a candidate, shape (C h,), from its positions."""
    k, h, C = rappor.n_bits, rappor.n_hashes, rappor.n_cohorts
    given = len(fields)
    while given and not fields[given - 1]:
        given -= 1
    position = np.array(wholes(path, row, fields[:given], 2), dtype=np.int64)
    if given < len(fields):
        position = _repeated(path, row, position, rappor)
    cohort = np.repeat(np.arange(C), h)
    wrong = np.flatnonzero((position - 1) // k != cohort)
    if wrong.size:
        i = int(wrong[0])
        low = int(cohort[i]) * k
        raise InvalidArgument(
            f"{path}, row {row}, field {i + 2}",
            int(position[i]),
            f"is outside cohort {cohort[i]}, which has positions {low + 1} to {low + k}",
        )
    return np.asarray((position - 1) % k)


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
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

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
    cells = _cells(candidates, labels, rappor).astype(np.int64)
    first = 1 + np.arange(rappor.n_cohorts) * rappor.n_bits
    positions = (cells + first[:, None, None]).transpose(1, 0, 2).reshape(len(labels), -1)
    write_rows(
        path, ([label, *own.tolist()] for label, own in zip(labels, positions, strict=True)), force
    )


def _cells(candidates: Any, labels: Any, rappor: RAPPOR) -> Array:
    """Cells of all hashes, shape (C, S, h), repetitions included."""
    if isinstance(candidates, CandidateMap):
        return candidates.cells
    return rappor.answer_hash.table("candidates", labels)
