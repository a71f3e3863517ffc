"""Test of the difference of one frequency in two groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.differences import Difference
from ldpstats.inference.skewness import CellLaw
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.laws.estimates import EstimateTest
from ldpstats.planning.laws.frequencies import FrequencyLaw, frequency_law

__all__ = ["difference_test"]

Array = npt.NDArray[Any]

_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_test(
    mechanisms: Sequence[Mechanism],
    p: Array,
    shares: Array,
    x: int,
    candidates: Any,
    alpha: float,
) -> EstimateTest:
    """The score test of `TwoSampleResult.differences` for category x; p of shape (2, k)."""
    pairs = zip(mechanisms, p, strict=True)
    laws = [frequency_law(made_by, row, x, candidates) for made_by, row in pairs]
    cells = [_cell(law, float(w)) for law, w in zip(laws, shares, strict=True)]
    ends = [np.array([float(row[x])]) for row in p]
    se, skewness = Difference(ends[0], ends[1], cells[0], cells[1]).law(np.zeros(1))
    variance, third = 0.0, 0.0
    for law, row, w, sign in zip(laws, p, shares, (1.0, -1.0), strict=True):
        own = law.cumulants(float(row[x]))
        variance, third = variance + own[0] / w, third + sign * own[1] / w**2
    null = float(se[0]) ** 2, float(skewness[0] * se[0] ** 3)
    return EstimateTest(float(ends[0][0] - ends[1][0]), null, (variance, third), alpha)


def _cell(law: FrequencyLaw, share: float) -> CellLaw:
    """Cumulants as polynomials in the frequency, for one respondent of all groups together."""
    variance, third = np.array([law.cumulants(v) for v in _AT]).T
    of_variance = _TO_COEFFICIENTS[:3] @ variance / share
    of_third = _TO_COEFFICIENTS @ third / share**2
    return CellLaw(of_variance[None], of_third[None], np.zeros(1), np.zeros(1))
