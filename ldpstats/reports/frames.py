"""Counts from the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import counts_vector, one_of, reports_in_all
from ldpstats.arguments.labels import check_column
from ldpstats.errors import InvalidArgument
from ldpstats.reports.fingerprints import check_fingerprints, fingerprint_column
from ldpstats.reports.packed import cohort_beside
from ldpstats.reports.source import check_mechanism

__all__ = ["counted_columns"]

Array = npt.NDArray[Any]


def counted_columns(
    frame: pd.DataFrame,
    mechanism: Any,
    report: str,
    count: str | None,
    cohort: str | None,
    missing: str,
) -> tuple[Array, Array, Array | None, int]:
    """Reports, how often each was seen, their cohorts, and how many are missing.

    See `Counts.from_frame`.
    """
    missing = one_of("missing", missing, ("raise", "count"))
    if not isinstance(frame, pd.DataFrame):
        raise InvalidArgument("frame", frame, "must be a pandas DataFrame, one row per report")
    check_mechanism("mechanism", mechanism)
    used = _distinct(frame, report, count, cohort)
    digits = fingerprint_column(str(report))
    if frame.columns.tolist().count(digits) == 1 and digits not in used:
        check_fingerprints(f"column {digits!r}", digits, frame[digits], mechanism)
    if count is None:
        n = np.ones(len(frame), dtype=np.int64)
    else:
        n = counts_vector(f"column {count!r}", frame[count].to_numpy(), (len(frame),))
    name, reports, n_missing = f"column {report!r}", frame[report], 0
    if cohort is None:
        first = reports.dropna().head(1).tolist()
        every = frame.columns.tolist()
        beside = [c for c in every if c not in used and every.count(c) == 1]
        cohort = cohort_beside(str(report), mechanism, beside, *first or [None])
    groups = None if cohort is None else frame[cohort]
    absent = reports.isna().to_numpy()
    if missing == "count" and absent.any():
        # rows are numbered anew in errors, and the name says so
        name, reports = f"{name}.dropna()", reports[~absent]
        n, n_missing = n[~absent], reports_in_all(f"column {count!r}", n[absent])
        groups = None if groups is None else groups[~absent]
    found = mechanism.parse(name, reports, groups)
    reports_in_all(f"column {count!r}", n)
    return found.y, n, found.cohort, n_missing


def _distinct(frame: pd.DataFrame, report: str, count: str | None, cohort: str | None) -> list[Any]:
    """The columns that are named, each once."""
    used: list[Any] = []
    for name, column in (("report", report), ("count", count), ("cohort", cohort)):
        if column is None and name != "report":
            continue
        check_column(name, column, frame)
        if column in used:
            raise InvalidArgument(name, column, "is named twice: give a column for each")
        used.append(column)
    return used
