"""Variance of the frequency of one answer, per report, whatever the mechanism.

Every mechanism here says of an answer whether a report supports it: it is the answer (k-RR), its
bit is set (unary), or the cell that it owns is reported or set (hashed). With the chance `own` that
an answer supports itself, and `other` that another one does (over random hashes, where it may own
the same cell), an answer of frequency f is supported by the share ``u = other + (own - other) f``
of the reports, and the variance of its estimate from one report is

    u (1 - u) / (own - other)^2.

An answer that owns h bits has h times the information if they are added up, as least squares does;
as a likelihood they have ``(1 + 1/v)^h - 1``, with v the variance from one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.planning.rates import Rates

__all__ = ["hashed_rates", "report_variances"]

Array = npt.NDArray[Any]


def hashed_rates(mechanisms: Sequence[Any]) -> Rates:
    """Rates of e hashed mechanisms of an open alphabet (ORR, ORAPPOR, RAPPOR), of shape (e, 1)."""
    laws = [mechanism.cell_law for mechanism in mechanisms]
    high, other = np.array([[law.high] for law in laws]), np.array([[law.mean] for law in laws])
    return Rates(high, 1.0 - high, other, high - other)


def report_variances(
    rates: Rates, frequency: float = 0.0, n_hashes: int = 1, likelihood: bool = False
) -> Array:
    """Variance from one report of the frequency of an answer, shape (e,)."""
    single = rates.deviations(np.array([frequency]), np.ones(1))[..., 0] ** 2
    if likelihood:
        return np.asarray(1.0 / np.expm1(n_hashes * np.log1p(1.0 / single)))
    return np.asarray(single / n_hashes)
