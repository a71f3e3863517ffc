"""Reports of a mechanism as numbers from 0, cohorts included, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.reports.single import Reports
from ldpstats.reports.source import Source

__all__ = ["numbered_reports", "possible_reports", "report_numbers"]

Array = npt.NDArray[Any]


def possible_reports(mechanism: Source) -> int:
    """Number of different reports, cohorts included."""
    C = max(mechanism.n_cohorts, 1)
    return C * (2**mechanism.format.packed_bits if mechanism.n_bits else mechanism.n_outputs)


def report_numbers(part: Reports) -> Array:
    """A number for each report, the cohort in front; for patterns of up to 62 bits."""
    bits = part.mechanism.format.packed_bits
    code: Array = part.y if bits else part.y.astype(np.int64)
    if bits:
        words = np.zeros((len(part.y), 8), dtype=np.uint8)
        width = min(part.y.shape[1], 8)
        words[:, :width] = part.y[:, :width]
        code = words.view(np.int64)[:, 0]
    size = 2**bits if bits else part.mechanism.n_outputs
    return code if part.cohort is None else part.cohort * size + code


def numbered_reports(part: Reports, codes: Array) -> Reports:
    """The reports that have these numbers."""
    bits = part.mechanism.format.packed_bits
    size = 2**bits if bits else part.mechanism.n_outputs
    y, cohort = codes % size, None if part.cohort is None else codes // size
    if bits:
        words = np.ascontiguousarray(y.astype("<i8")).view(np.uint8).reshape(-1, 8)
        y = words[:, : part.y.shape[1]]
    return replace(part, y=y, cohort=cohort)
