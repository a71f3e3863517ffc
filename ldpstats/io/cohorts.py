"""Reports of devices of cohorts whose cohort stands in a column of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms import Mechanism
from ldpstats.programs.checks import distinct

__all__ = ["cohort_index", "cohort_labels", "joined_codes"]

Codes = npt.NDArray[np.int64]


def cohort_index(mechanism: Mechanism) -> pd.Index[Any]:
    """The names of the cohorts as a column has them: numbers, where all of them are."""
    names = mechanism.cohort_names
    if all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in names):
        return pd.Index([int(name) for name in names])
    return pd.Index(names)


def cohort_labels(mechanism: Mechanism) -> pd.Index[Any]:
    """What reports may be without their cohort, of any of them."""
    found: dict[Any, Any] = {}
    for part in mechanism.cohort_parts:
        for label in part.mechanism.outputs.tolist():
            found.setdefault((type(label), label), label)
    distinct("cohorts", list(found.values()))
    return as_labels("cohorts", list(found.values()), 1)


def joined_codes(
    mechanism: Mechanism, codes: Codes, cohorts: Codes, named: Callable[[int, str], str]
) -> Codes:
    """Numbers of reports among those of the whole device, (n,), -1 where there is none.

    Parameters
    ----------
    mechanism : Mechanism
        A device of cohorts.
    codes : array of int, shape (n,)
        Of `cohort_labels`, -1 where a report is missing.
    cohorts : array of int, shape (n,)
        Of `mechanism.cohort_names`, -1 where it is missing.
    named : callable
        Names the place of report i, and of its cohort, "report" or "cohort", in an error.

    Raises
    ------
    InvalidArgument
        For a report without a cohort, and one that its cohort does not make.
    """
    there = codes >= 0
    alone = there & (cohorts < 0)
    if alone.any():
        remedy = "is missing, but there is a report: say which device made it, or leave it out"
        raise InvalidArgument(named(int(np.argmax(alone)), "cohort"), None, remedy)
    labels, parts = cohort_labels(mechanism), mechanism.cohort_parts
    table = np.full((len(parts), len(labels)), -1, dtype=np.int64)
    number = {(type(label), label): j for j, label in enumerate(labels.tolist())}
    for c, part in enumerate(parts):
        for label, place in zip(part.mechanism.outputs.tolist(), part.places, strict=True):
            table[c, number[type(label), label]] = place
    found = np.full(codes.shape, -1, dtype=np.int64)
    found[there] = table[cohorts[there], codes[there]]
    strange = there & (found < 0)
    if strange.any():
        i = int(np.argmax(strange))
        part = parts[cohorts[i]]
        known = ", ".join(map(repr, part.mechanism.outputs[part.places >= 0].tolist()[:8]))
        remedy = f"is no report of the cohort {part.name!r}, which says {known}"
        raise InvalidArgument(named(i, "report"), labels[codes[i]], remedy)
    return found
