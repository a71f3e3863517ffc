"""The column of a table that says which mechanism made the reports beside it.

Twelve hexadecimal digits in every row, so that rows of another mechanism are found wherever tables
were put together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isclose
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument, MechanismMismatch, shorten

__all__ = ["check_coded", "check_fingerprints", "fingerprint_column", "is_fingerprint"]

_DIGITS = re.compile("[0-9a-f]{12}")


def fingerprint_column(reports: str) -> str:
    """The name of the column of fingerprints that belongs to a column of reports."""
    return f"{reports}_fingerprint"


def is_fingerprint(text: object) -> bool:
    """Whether a field is written as a fingerprint: twelve hexadecimal digits."""
    return isinstance(text, str) and _DIGITS.fullmatch(text) is not None


def check_fingerprints(where: str, column: str, values: Any, made_by: Any, done: int = 0) -> None:
    """Refuse rows of another mechanism or survey; skip missing and empty fields."""
    try:
        codes, distinct = pd.factorize(pd.Series(values))
    except (TypeError, ValueError):  # lists, arrays
        raise InvalidArgument(where, values, "must hold fingerprints: text or nothing") from None
    check_coded(where, column, codes, distinct.tolist(), made_by, done)


def check_coded(
    where: str, column: str, codes: Any, distinct: Sequence[Any], made_by: Any, done: int = 0
) -> None:
    """`check_fingerprints` from codes, (n,), and the fields that they stand for, if in any row."""
    own = made_by.fingerprint
    wrong = [i for i, v in enumerate(distinct) if v is not None and v != "" and not _alike(v, own)]
    rows = np.flatnonzero(np.isin(codes, wrong)) if wrong else np.empty(0)
    if not rows.size:
        return
    first = int(rows[0])
    row, found = f"{where}, row {done + first + 1}", distinct[codes[first]]
    if found == column:
        raise MechanismMismatch(f"{row}: is a second header line: remove it")
    rewritten = "; this is not a fingerprint: if a spreadsheet rewrote the column, empty it"
    raise MechanismMismatch(
        f"{row}: the report is of a mechanism or survey with fingerprint {shorten(found)}, not "
        f"of {made_by} ({own}): use the specification that it was made with, and keep reports "
        f"of several in files of their own{'' if is_fingerprint(found) else rewritten}"
    )


def _alike(found: object, own: str) -> bool:
    """Whether a field holds this fingerprint, perhaps rewritten as a number by a program."""
    if found == own:
        return True
    try:  # 001234567890 becomes 1234567890, and 12345678e012 becomes 1.2345678e19
        number, digits = float(found), float(own)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    if number == digits:
        return True
    # Excel saves 447870912345 as 4.47871E+11, which pandas reads as 447871000000.0
    short = "E+" in found if isinstance(found, str) else isinstance(found, float)
    return short and float(f"{number:.5e}") == number and isclose(number, digits, rel_tol=5e-6)
