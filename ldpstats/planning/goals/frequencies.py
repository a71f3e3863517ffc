"""Departures of one frequency from its value under the null hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.planning.goals.base import Ray, Setting
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.laws.counts import CountTest
from ldpstats.planning.laws.estimates import EstimateTest
from ldpstats.planning.laws.frequencies import frequency_law

__all__ = ["FrequencyRay"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FrequencyRay(Ray):
    """One frequency goes from `value` to the true one, the others keep their proportions.

    Parameters
    ----------
    at : Setting
    x : int
        Position of the category.
    value : float
        Its frequency under the null hypothesis.
    presence : bool
        Whether the test is of presence, one-sided, and else two-sided.
    tests : int
        Tests among which alpha is divided (Bonferroni).
    """

    at: Setting
    x: int
    value: float
    presence: bool = False
    tests: int = 1

    @property
    def most(self) -> float:
        gap = float(self.at.p[self.x]) - self.value
        if gap == 0.0:
            return np.inf
        return (1.0 - self.value) / gap if gap > 0.0 else -self.value / gap

    @property
    def unit(self) -> str:
        return f"frequency of {self.at.labels[self.x]!r}"

    def effect(self, multiple: float) -> float:
        moved = self.value + multiple * (float(self.at.p[self.x]) - self.value)
        return min(max(moved, 0.0), 1.0)

    def truth(self, multiple: float) -> pd.Series[float]:
        return pd.Series(self._law(multiple), index=self.at.labels, name="p")

    def _law(self, multiple: float) -> Array:
        share, rest = self.effect(multiple), np.delete(self.at.p, self.x)
        even = np.full(rest.size, 1.0 / rest.size)
        rest = rest / rest.sum() if rest.sum() > 0.0 else even
        return np.insert((1.0 - share) * rest, self.x, share)

    def test(self, multiple: float, alpha: float) -> PlannedTest:
        truth, level = self.effect(multiple), alpha / self.tests
        law = frequency_law(self.at.mechanism, self._law(multiple), self.x, self.at.candidates)
        if law.count is not None:
            offset, scale = law.count
            null, true = (min(max(offset + scale * v, 0.0), 1.0) for v in (self.value, truth))
            return CountTest(null, true, level, exact=self.presence)
        cumulants = law.cumulants(self.value), law.cumulants(truth)
        shift, plain = truth - self.value, self.presence and law.continuous
        return EstimateTest(shift, *cumulants, level, larger=self.presence, continuous=plain)
