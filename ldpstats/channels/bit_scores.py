"""Expected values over reports of independent bits, whose patterns are too many to list.

Up to the probability of noise, a report with the bits y has the likelihood ``w_x = constant_x +
gain_x y_x`` under category x, and ``d = p.w`` under the frequencies p; its score is ``w / d``. The
means of ratios of such sums need no list of the 2^k patterns. Since

    1/d^j = int_0^inf t^(j-1) exp(-t d) dt / (j-1)!

and exp(-t d) is a product over bits, the bits are independent under every t, and what is left is
one integral over t, of products of known moments. The trapezoidal rule on ln t converges
exponentially: its error is about exp(-pi^2 / step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BitScores", "unary_scores"]

Array = npt.NDArray[Any]

_STEP = 0.25  # of ln t: an error of 1e-17
_LEFT, _RIGHT = 1e-17, 45.0  # where t d is as good as zero, and where exp(-t d) is


@dataclass(frozen=True, eq=False)
class BitScores:
    """The law of reports in which each category owns at most one bit; arrays (k,).

    ``constant_x + gain_x y_x >= 0`` is the likelihood of a report under category x, over that of
    noise. `noise` and `own` are P(bit x = 1) where x is not the category, and where it is. A
    category without a bit has gain, noise and own zero. With one bit a report:

    >>> scores = BitScores(*np.array([[0.5, 1.0], [2.0, 0.0], [0.25, 0.0], [0.625, 0.0]]))
    >>> p = np.array([0.4, 0.6])
    >>> clear, set_ = np.array([0.5, 1.0]), np.array([2.5, 1.0])   # w of both patterns
    >>> by_hand = 0.75 * np.outer(clear, clear) / (clear @ p)
    >>> by_hand += 0.25 * np.outer(set_, set_) / (set_ @ p)
    >>> bool(np.abs(scores.information(p) - by_hand).max() < 1e-12)
    True
    """

    constant: Array
    gain: Array
    noise: Array
    own: Array

    def information(self, p: Array) -> Array:
        """Mean of ``w w' / d`` over noise, shape (k, k): the expected information of a report."""
        t, weight = self._nodes(p)
        tilted, log = self._tilted(p, t, self.noise)
        mass = weight * np.exp(log.sum(axis=1) - t * (self.constant @ p))
        mean = self.constant + self.gain * tilted
        J = (mean * mass[:, None]).T @ mean
        J[np.diag_indices_from(J)] += self.gain**2 * (mass @ (tilted * (1.0 - tilted)))
        return np.asarray(J)

    def moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Raw moments of ``u_i = features_i . w / d`` of one report."""
        F, own_F = features, np.diagonal(features)
        t, weight = self._nodes(p)
        tilted, log = self._tilted(p, t, self.noise)
        owned, log_own = self._tilted(p, t, self.own)
        bits = F * self.gain
        first = F @ self.constant + tilted @ bits.T
        spread, owned_spread = tilted * (1.0 - tilted), owned * (1.0 - owned)
        second = spread @ (bits**2).T
        third = (spread * (1.0 - 2.0 * tilted)) @ (bits**3).T
        total = log.sum(axis=1) - t * (self.constant @ p)
        mass = weight * np.exp(total)
        mean = np.array(
            [
                F @ self.constant + bits @ self.noise,
                mass @ (second + first**2),
                (mass * t) @ (third + 3.0 * first * second + first**3),
            ]
        )
        g = own_F * self.gain  # the own bit has another law where its owner is the category
        first = first + g * (owned - tilted)
        second = second + g**2 * (owned_spread - spread)
        third = third + g**3 * (owned_spread * (1.0 - 2.0 * owned) - spread * (1.0 - 2.0 * tilted))
        mass_own = weight[:, None] * np.exp(total[:, None] - log + log_own)
        own = np.array(
            [
                (mass_own * first).sum(axis=0),
                (mass_own * t[:, None] * (second + first**2)).sum(axis=0),
                (mass_own * t[:, None] ** 2 / 2.0 * (third + 3.0 * first * second + first**3)).sum(
                    axis=0
                ),
            ]
        )
        return own, mean

    def reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Least and largest ``features . w / d`` of any pattern of bits; features (q, k)."""
        return -self._largest(p, -features), self._largest(p, features)

    def _largest(self, p: Array, F: Array) -> Array:
        """Maximum of a ratio of sums over bits, by Dinkelbach's steps: each is a better pattern."""
        value = np.full(len(F), -np.inf)
        y = np.zeros(F.shape)
        while True:
            w = self.constant + self.gain * y
            found = (F * w).sum(axis=1) / (w @ p)
            if not np.any(found > value):
                return value
            value = np.maximum(value, found)
            y = np.where(self.gain * (F - value[:, None] * p) > 0.0, 1.0, 0.0)

    def _nodes(self, p: Array) -> tuple[Array, Array]:
        """Values of t and their weights, both of shape (T,)."""
        least = float(self.constant @ p)
        most = least + float(self.gain @ p)
        log_t = np.arange(np.log(_LEFT / most), np.log(_RIGHT / least) + _STEP, _STEP)
        t = np.exp(log_t)
        return t, _STEP * t

    def _tilted(self, p: Array, t: Array, chance: Array) -> tuple[Array, Array]:
        """P(bit = 1) under the weight exp(-t gain p bit), and ln of its mean, both (T, k)."""
        weight = chance * np.exp(-t[:, None] * (self.gain * p))
        mean = 1.0 - chance + weight
        return weight / mean, np.log(mean)


def unary_scores(p1: Any, p0: Any, owners: int, others: Array) -> BitScores:
    """Scores of unary reports, for `owners` categories with a bit each and others without.

    Where bits differ in their noise, p1 > p0 are arrays of shape (owners,).
    """
    present, absent = p1 / p0, (1.0 - p1) / (1.0 - p0)
    if np.all(p1 < p0):  # a clear bit is evidence for its owner: swap set and clear
        present, absent, p1, p0 = absent, present, 1.0 - p1, 1.0 - p0
    bit, none = np.ones(owners), np.zeros(len(others))
    return BitScores(
        np.concatenate([absent * bit, others]),
        np.append((present - absent) * bit, none),
        np.append(p0 * bit, none),
        np.append(p1 * bit, none),
    )
