"""Positive parts of sums of many independent variables, bounded from above on a lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["POINTS", "positive_part_bound"]

Array = npt.NDArray[Any]

POINTS = 4096  # of a law on the lattice; twice as many before it is thinned
_SHARE = 1e-4  # of the target that cut tails may add
_ROUNDING = 1e-8  # relative, far above the errors of sums of positive numbers


@dataclass(frozen=True)
class _Law:
    """Mass at the points ``start + i step``, shape (m,), of a sum of `terms` variables."""

    mass: Array
    start: float
    step: float
    terms: int

    @property
    def top(self) -> float:
        return self.start + self.step * (self.mass.size - 1)

    def plus(self, other: _Law) -> _Law:
        mass = np.convolve(self.mass, other.mass)
        return _Law(mass, self.start + other.start, self.step, self.terms + other.terms)


def positive_part_bound(
    values: Array, weights: Array, n: int, target: float, points: int = POINTS
) -> float:
    """An upper bound of ``E[max(X_1 + ... + X_n, 0)] / n`` for independent X_i.

    Values are split between neighbouring points of a lattice so that means stay as they are. By
    Jensen's inequality that increases the mean of a convex function, so that the result is an upper
    bound whatever the step. Tails that are cut are bounded by their mass and the largest value.

    Parameters
    ----------
    values, weights : array, shape (m,)
        Possible values of one X_i, and their probabilities.
    n : int
        Number of terms.
    target : float
        Size of the result that matters: cut tails add about 1e-4 of it at most.
    points : int
        Of the lattice; fewer are faster, and the bound is larger.
    """
    span = float(values.max() - values.min())
    if span == 0.0:
        return max(float(values[0]), 0.0)
    step = span / points
    one = _split(values, weights, step)
    most = float(values.max()) + step  # of a term, as a share of its sum
    levels, lost = n.bit_length(), 0.0
    law = one
    for bit in bin(n)[3:]:
        law = law.plus(law)
        if bit == "1":
            law = law.plus(_split(values, weights, law.step))
            most += law.step / law.terms
        law, gone = _trimmed(law, target * _SHARE * law.terms / (n * levels * max(most, 1e-300)))
        lost += gone * n / law.terms
        while law.mass.size > points:
            law = _thinned(law)
            most += law.step / law.terms
    sums = law.start + law.step * np.arange(law.mass.size)
    found = float(law.mass @ np.maximum(sums, 0.0)) / n
    return (found + max(most, 0.0) * lost) * (1.0 + _ROUNDING)


def _split(values: Array, weights: Array, step: float) -> _Law:
    """The law of one variable on a lattice that holds its most frequent value."""
    anchor = values[np.argmax(weights)]
    place = (values - anchor) / step
    low = np.floor(place).astype(np.int64)
    upper = weights * (place - low)
    mass = np.zeros(int(low.max() - low.min()) + 2)
    np.add.at(mass, low - low.min(), weights - upper)
    np.add.at(mass, low - low.min() + 1, upper)
    return _Law(mass, float(anchor + step * low.min()), step, 1)


def _trimmed(law: _Law, tail: float) -> tuple[_Law, float]:
    """The law without ends of mass at most `tail` each, rescaled to one, and the mass of both."""
    mass = law.mass
    first = int(np.searchsorted(np.cumsum(mass), tail, side="right"))
    last = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), tail, side="right"))
    kept = mass[first:last]
    gone = float(mass[:first].sum() + mass[last:].sum())
    return _Law(kept / kept.sum(), law.start + law.step * first, law.step, law.terms), gone


def _thinned(law: _Law) -> _Law:
    """The law on every second point: the mass of the others goes to both neighbours in halves."""
    mass, start = law.mass, law.start
    if mass[0::2].sum() < mass[1::2].sum():  # the heavier half stays where it is
        mass, start = np.concatenate([[0.0], mass]), start - law.step
    if mass.size % 2 == 0:
        mass = np.append(mass, 0.0)
    kept, moved = mass[0::2].copy(), mass[1::2] / 2.0
    kept[:-1] += moved
    kept[1:] += moved
    return _Law(kept, start, 2.0 * law.step, law.terms)
