"""Pairs of answers as an observer of shuffled reports sees them, and their hockey-stick divergence.

Let the reports of all others be independent with one law rho, and let a respondent's own report
have law P if she gives one answer and R if another. All shuffled reports together then have
divergence ``E[max(L_1 + ... + L_n, 0)] / n`` at level e^eps, where ``L = (P - e^eps R)(Y) /
rho(Y)`` and Y has law rho. The bounds of Balle, Bell, Gascon and Nissim (CRYPTO 2019, Lemma 5.3),
of Feldman, McMillan and Talwar (FOCS 2021) and attacks that bound them from below are of this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.privacy.binomial_windows import binomial_window, reach
from ldpstats.privacy.lattice_sums import POINTS, positive_part_bound

__all__ = ["WINDOW", "ReportLaws"]

Array = npt.NDArray[Any]

_ENUMERATED = 20_000  # numbers of reports of each kind that are listed
WINDOW = 30_000  # binomial tails that are computed for one divergence
_ROUNDING = 1e-11  # relative, of binomial probabilities
_CUT = 1e-6  # of the target that unlikely numbers may add


@dataclass(frozen=True, eq=False)
class ReportLaws:
    """Laws of a report of others, and of a respondent's with either of two answers; arrays (m,).

    Parameters
    ----------
    others : array
        Positive, sums to one.
    first, second : array
        Laws of her own report; a report that no other can send is left out if it is as likely with
        either answer.
    """

    others: Array
    first: Array
    second: Array

    @classmethod
    def merged(cls, others: Array, first: Array, second: Array) -> ReportLaws:
        """The same laws, where reports with equal likelihood ratios (to 1e-13) are one."""
        drawn = others > 0.0
        others, first, second = others[drawn], first[drawn], second[drawn]
        ratios = np.round(np.log(np.array([first, second]) / others + 1e-300), 12)
        _, place = np.unique(ratios, axis=1, return_inverse=True)
        place = place.reshape(-1)
        laws = [np.bincount(place, weights=law) for law in (others, first, second)]
        return cls(*laws)

    def swapped(self) -> ReportLaws:
        """The two answers in the other order."""
        return ReportLaws(self.others, self.second, self.first)

    def values(self, epsilon: float) -> Array:
        """``(P - e^eps R) / rho`` of each report."""
        return np.asarray((self.first - np.exp(epsilon) * self.second) / self.others)

    def spread(self) -> float:
        """Standard deviation of ``(P - R) / rho``, by which pairs of answers can be ordered."""
        return float(np.sqrt(((self.first - self.second) ** 2 / self.others).sum()))

    def signature(self) -> bytes:
        """Equal for pairs of answers that are alike (to 1e-10)."""
        laws = np.round(np.array([self.first / self.others, self.second / self.others]), 10)
        order = np.lexsort(laws)
        return np.vstack([laws, np.round(self.others, 12)])[:, order].tobytes()

    def delta(self, epsilon: float, n: int, target: float, points: int = POINTS) -> float:
        """An upper bound of the divergence: exact but for rounding where reports are few.

        Where it is computed on a lattice, fewer `points` are faster, and the bound is larger.
        """
        values = self.values(epsilon)
        if values.max() <= 0.0:
            return 0.0
        if comb(n + values.size - 1, values.size - 1) <= _ENUMERATED:
            return _enumerated(values, self.others, n) * (1.0 + _ROUNDING)
        if values.size <= 3 and self.window(n, target) <= WINDOW:
            found, cut, error = _three_kinds(values, self.others, n, target)
            return found + cut + error
        return positive_part_bound(values, self.others, n, target, points)

    def delta_below(self, epsilon: float, n: int, target: float) -> float:
        """A lower bound of the divergence, for at most three kinds of reports."""
        values = self.values(epsilon)
        if values.max() <= 0.0:
            return 0.0
        found, _, error = _three_kinds(values, self.others, n, target)
        return max(found - error, 0.0)

    def window(self, n: int, target: float) -> float:
        """How many binomial tails three kinds of reports need."""
        middle = _middle(self.values(0.0))
        share = float(np.delete(self.others, middle).sum()) if self.others.size > 2 else 1.0
        return 2.0 * reach(n, share, _CUT * target)


def _enumerated(values: Array, weights: Array, n: int) -> float:
    """The divergence by all numbers of reports of each kind that add up to n."""
    counts, log_ways = _numbers(n, values.size)
    return float(np.exp(log_ways + counts @ np.log(weights)) @ np.maximum(counts @ values, 0.0)) / n


@lru_cache(maxsize=4)
def _numbers(n: int, kinds: int) -> tuple[Array, Array]:
    """All numbers of n reports of each kind, (u, kinds), and logs of multinomial coefficients."""
    counts = _compositions(n, kinds)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return counts, log_factorial[n] - log_factorial[counts].sum(axis=1)


def _compositions(n: int, kinds: int) -> Array:
    """All non-negative whole numbers that sum to n, shape (u, kinds)."""
    if kinds == 1:
        return np.array([[n]])
    parts = []
    for first in range(n + 1):
        rest = _compositions(n - first, kinds - 1)
        parts.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(parts)


def _middle(values: Array) -> int:
    """Which of the kinds has the value between the others."""
    return int(np.argsort(values)[values.size // 2]) if values.size > 2 else -1


def _three_kinds(
    values: Array, weights: Array, n: int, target: float
) -> tuple[float, float, float]:
    """The divergence by binomial tails; what is cut adds at most the second, rounding the third.

    Of n reports, t are not of the middle kind, and of those a binomial number is of the highest.
    """
    from scipy.special import bdtrc  # (k, n, p): P(more than k)

    middle = _middle(values)
    rest = 0.0 if middle < 0 else float(values[middle])
    high, low = float(values.max()), float(values.min())
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    share = float(weights[top] + weights[bottom]) if middle >= 0 else 1.0
    ratio = float(weights[top] / (weights[top] + weights[bottom]))
    t, mass = binomial_window(n, share, _CUT * target)
    cut = 0.0 if share >= 1.0 else _CUT * target
    base = low * t + rest * (n - t)
    slope = high - low
    least = np.clip(np.floor(-base / slope) + 1.0, 0.0, t + 1.0)  # of the highest kind
    more, fewer = np.maximum(t - 1.0, 0.0), t

    def tail(start: Array, size: Array) -> Array:
        found = bdtrc(np.clip(start - 1.0, 0.0, size), size.astype(int), ratio)
        return np.where(start <= 0.0, 1.0, np.where(start > size, 0.0, found))

    gain = slope * t * ratio * tail(least - 1.0, more)
    gain = np.where(t > 0.0, gain, 0.0)
    loss = base * tail(least, fewer)
    found = float(mass @ np.maximum(gain + loss, 0.0)) / n
    error = _ROUNDING * float(mass @ (np.abs(gain) + np.abs(loss))) / n
    return found, cut, error
