"""Tests that rest on one estimate whose variance and skewness are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.planning.laws.base import PlannedTest

__all__ = ["EstimateTest"]

Array = npt.NDArray[Any]

_SLIGHT = 2e-3  # skewness below which gamma laws lose digits
_ROUNDS = 6


@dataclass(frozen=True)
class EstimateTest(PlannedTest):
    """A score test of one estimate, by Pearson's type III law with the cumulants of the estimate.

    Parameters
    ----------
    shift : float
        True value less the one of the null hypothesis.
    null, truth : (float, float)
        Variance and third cumulant of the estimate from one respondent.
    alpha : float
        Level of the test.
    larger : bool
        One-sided against larger values; else two-sided.
    continuous : bool
        Whether the test has no correction for continuity.

    Examples
    --------
    >>> test = EstimateTest(0.1, (1.0, 0.0), (1.0, 0.0), alpha=0.05)
    >>> test.power(np.array([785.0])).round(4)   # 2.8 standard errors
    array([0.8001])
    """

    shift: float
    null: tuple[float, float]
    truth: tuple[float, float]
    alpha: float
    larger: bool = False
    continuous: bool = False

    @property
    def differs(self) -> bool:
        return self.shift > 0.0 if self.larger else self.shift != 0.0

    def power(self, n: Array) -> Array:
        if self.larger:
            return self._tail(n, 1.0, self.alpha)
        both = self._tail(n, 1.0, self.alpha / 2.0) + self._tail(n, -1.0, self.alpha / 2.0)
        return np.asarray(np.minimum(both, 1.0))

    def _tail(self, n: Array, sign: float, alpha: float) -> Array:
        """Probability of a rejection on the side of `sign`."""
        (se0, g0), (se1, g1) = (_scaled(*law, n) for law in (self.null, self.truth))
        beyond = _critical(sign * g0, alpha)
        if not self.continuous:
            beyond = beyond + continuity(g0)
        excess = np.where(se0 > 0.0, beyond * se0, 0.0) - sign * self.shift
        certain = np.where(excess < 0.0, -np.inf, np.inf)  # an estimate that does not vary
        z = np.where(se1 > 0.0, excess / np.where(se1 > 0.0, se1, 1.0), certain)
        return skewed_pvalue(z, sign * g1)


def _scaled(variance: float, third: float, n: Array) -> tuple[Array, Array]:
    """Standard error and skewness with n respondents."""
    skewness = third / variance**1.5 if variance > 0.0 else 0.0
    return np.sqrt(max(variance, 0.0) / n), skewness / np.sqrt(n)


def _critical(skewness: Array, alpha: float) -> Array:
    """Where the upper tail of a standardised type III law is alpha, see `skewed_pvalue`."""
    from scipy.special import gammainccinv, gammaincinv, ndtri

    normal = -float(ndtri(alpha))
    w = np.full(skewness.shape, normal)
    g = np.clip(skewness, -_SLIGHT, _SLIGHT)
    for _ in range(_ROUNDS):  # of the expansion, which hardly bends
        w = normal + g * (w**2 - 1.0) / 6.0 - g**2 * (4.0 * w**3 - 7.0 * w) / 36.0
    size = np.maximum(np.abs(skewness), _SLIGHT)
    shape = 4.0 / size**2
    right = (gammainccinv(shape, alpha) - shape) * size / 2.0
    left = (shape - gammaincinv(shape, alpha)) * size / 2.0
    beyond = np.where(skewness > 0.0, right, left)
    return np.asarray(np.where(np.abs(skewness) > _SLIGHT, beyond, w))
