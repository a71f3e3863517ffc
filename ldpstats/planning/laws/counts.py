"""Tests that rest on a binomial count of reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tails import one_sided
from ldpstats.planning.laws.base import PlannedTest

__all__ = ["CountTest"]

Array = npt.NDArray[Any]

_TEETH = 6.0  # of the zigzag, to be sure


@dataclass(frozen=True)
class CountTest(PlannedTest):
    """A test of a count that is Binomial(n, null) under the null, and Binomial(n, truth) in truth.

    All tallies that the test rejects are found, and their probability is summed exactly.

    Parameters
    ----------
    null, truth : float
        Probability that a report is counted.
    alpha : float
        Level of the test.
    exact : bool
        One-sided against larger counts, by the binomial tail, as `FrequencyResults.detected`; else
        two-sided by the score test with its skewness, as `FrequencyResults.t_test`.

    Examples
    --------
    >>> test = CountTest(null=0.5, truth=0.6, alpha=0.05, exact=False)
    >>> test.power(np.array([200.0])).round(4)
    array([0.8261])
    """

    null: float
    truth: float
    alpha: float
    exact: bool

    @property
    def differs(self) -> bool:
        return self.truth > self.null if self.exact else self.truth != self.null

    def power(self, n: Array) -> Array:
        whole = np.maximum(np.floor(n + 1e-9 * n), 1.0)
        if self.exact:
            return _reached(whole, _least(whole, _binomial(self.null), self.alpha), self.truth)
        sides = ((self.null, self.truth), (1.0 - self.null, 1.0 - self.truth))
        half = self.alpha / 2.0
        found = [_reached(whole, _least(whole, _score(m0), half), m1) for m0, m1 in sides]
        return np.asarray(np.minimum(found[0] + found[1], 1.0))

    def zigzag(self, n: float) -> float:
        spread = max(self.truth * (1.0 - self.truth), 1e-12)
        return float(_TEETH * (np.sqrt(n / spread) + 1.0 / max(self.null, 1.0 / n)))


def _binomial(m0: float) -> Callable[[Array, Array], Array]:
    """p-value of a tally, against larger ones."""
    from scipy.special import betainc

    def pvalue(t: Array, n: Array) -> Array:
        above = betainc(np.maximum(t, 1.0), np.maximum(n - t + 1.0, 1.0), m0)
        return np.where(t <= 0.0, 1.0, above)

    return pvalue


def _score(m0: float) -> Callable[[Array, Array], Array]:
    """One tail of the score test of a tally."""
    spread = m0 * (1.0 - m0)

    def pvalue(t: Array, n: Array) -> Array:
        se = np.sqrt(spread / n)
        skewness = (1.0 - 2.0 * m0) / np.sqrt(n * spread) if spread > 0.0 else np.zeros(n.shape)
        return one_sided(t / n - m0, se, skewness, upper=True)

    return pvalue


def _least(n: Array, pvalue: Callable[[Array, Array], Array], alpha: float) -> Array:
    """The smallest tally that is rejected, n + 1 where none is; it grows with n."""
    ends = np.array([n.min(), n.max()])
    low, high = _halved(ends, np.full(2, -1.0), ends + 1.0, pvalue, alpha)
    return _halved(n, np.full(n.shape, low[0] - 1.0), np.minimum(high[1], n + 1.0), pvalue, alpha)[
        1
    ]


def _halved(
    n: Array, low: Array, high: Array, pvalue: Callable[[Array, Array], Array], alpha: float
) -> tuple[Array, Array]:
    """Bisection between tallies that are not rejected, and rejected or impossible."""
    low = np.maximum(low, -1.0)
    while np.any(inside := high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        inside &= (middle > low) & (middle < high)  # beyond 2**53 some are no numbers
        if not inside.any():
            break
        rejected = pvalue(np.clip(middle, 0.0, n), n) <= alpha
        high = np.where(inside & rejected, middle, high)
        low = np.where(inside & ~rejected, middle, low)
    return low, high


def _reached(n: Array, least: Array, m: float) -> Array:
    """P(Binomial(n, m) >= least)."""
    from scipy.special import betainc

    found = betainc(np.maximum(least, 1.0), np.maximum(n - least + 1.0, 1.0), m)
    return np.where(least <= 0.0, 1.0, np.where(least > n, 0.0, found))
