"""Score intervals and p-values of the difference of two independent frequencies.

Both estimates have variances and third cumulants that are polynomials in their own frequency
(`CellLaw`). At a difference d the frequencies are those that solve the score equation under it,

    (t1 - d - v) / V1(v + d) + (t2 - v) / V2(v) = 0,

with v the second one, as in Miettinen and Nurminen (1985), whose interval this is where two counts
are seen without noise, but for the skewness. At v the difference of the estimates is compared with
Pearson's type III law with its own variance V1 + V2 and third cumulant K1 - K2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.edges import edge_range
from ldpstats.inference.normal_intervals import inverted
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tails import two_sided

__all__ = ["Difference"]

Array = npt.NDArray[np.float64]

_STEPS = 40  # of Newton, who needs a few, or of bisection: accurate to 1e-12 at worst


@dataclass(frozen=True, eq=False)
class Difference:
    """Differences of k pairs of independent estimates.

    Parameters
    ----------
    first, second : array, shape (k,)
        Unbiased estimates.
    first_law, second_law : CellLaw
        Their cumulants, as polynomials in their frequencies.

    Raises
    ------
    InvalidArgument
        If an estimate is not a number, or shapes disagree.

    References
    ----------
    Miettinen, O. and Nurminen, M. (1985), Statistics in Medicine 4, 213-226.

    Examples
    --------
    56 of 70 and 48 of 80, counted without noise; the interval of Miettinen and Nurminen is
    [.0528, .3382]:

    >>> from ldpstats.inference.skewness import path_cumulants
    >>> laws = [
    ...     CellLaw(*path_cumulants(np.ones((3, 1)), np.zeros((3, 1)), n), np.zeros(1), np.zeros(1))
    ...     for n in (70.0, 80.0)
    ... ]
    >>> difference = Difference(np.array([0.8]), np.array([0.6]), *laws)
    >>> difference.interval().round(3)
    array([[0.054, 0.339]])
    """

    first: Array
    second: Array
    first_law: CellLaw
    second_law: CellLaw

    def __post_init__(self) -> None:
        if np.isnan(self.first).any() or np.isnan(self.second).any():
            raise InvalidArgument("first", self.first, "and second must be numbers, not NaN")
        shapes = {len(v) for v in (self.first, self.second)}
        shapes |= {law.step.size for law in (self.first_law, self.second_law)}
        if len(shapes) > 1:
            raise InvalidArgument("second", self.second.shape, "must match first, and both laws")

    @property
    def estimate(self) -> Array:
        """first - second, shape (k,)."""
        return self.first - self.second

    @property
    def se(self) -> Array:
        """Standard errors, shape (k,), at the estimated frequencies."""
        return np.hypot(self.first_law.at(self.first)[0], self.second_law.at(self.second)[0])

    def law(self, gap: Array) -> tuple[Array, Array]:
        """Standard error and skewness of the estimates if the differences are `gap`, (k,)."""
        v = self._restricted(gap)
        (s1, g1), (s2, g2) = self.first_law.at(v + gap), self.second_law.at(v)
        se = np.hypot(s1, s2)
        third = g1 * s1**3 - g2 * s2**3
        return se, np.where(se > 0.0, third, 0.0) / np.where(se > 0.0, se, 1.0) ** 3

    def _restricted(self, gap: Array) -> Array:
        """The second frequency, (k,), that solves the score equation where they differ by `gap`.

        Variances are quadratic, so that the equation, times both, is a cubic one. Newton's steps
        find its root, or bisection where they leave the bracket.
        """
        a, b, c = self.first_law.variance.T
        moved = np.array([a + gap * (b + gap * c), b + 2.0 * gap * c, c])  # V1 in powers of v
        other = self.second_law.variance.T
        cubic = np.zeros((4, gap.size))
        for t, V in ((self.first - gap, other), (self.second, moved)):
            cubic[:3] += t * V
            cubic[1:] -= V
        low, high = np.maximum(0.0, -gap), np.minimum(1.0, 1.0 - gap)
        v = 0.5 * (low + high)
        for _ in range(_STEPS):
            value = cubic[0] + v * (cubic[1] + v * (cubic[2] + v * cubic[3]))
            slope = cubic[1] + v * (2.0 * cubic[2] + 3.0 * v * cubic[3])
            low, high = np.where(value > 0.0, v, low), np.where(value > 0.0, high, v)
            step = v - np.divide(value, slope, out=np.full(v.shape, np.inf), where=slope != 0.0)
            inside = (step > low) & (step < high)
            v = np.where(inside, step, 0.5 * (low + high))
        return np.asarray(v)

    def interval(self, alpha: float = 0.05) -> Array:
        """All differences that neither one-sided test of level alpha/2 rejects, shape (k, 2).

        They are cut to [-1, 1]; an interval outside gets a limit of its own (`edge_range`).
        """
        bounds = inverted(self.estimate, self.law, alpha, (-1.0, 1.0))
        return edge_range(bounds, self.estimate, self.se, (-1.0, 1.0), alpha)

    def pvalues(self, value: float = 0.0) -> Array:
        """Two-sided p-values, shape (k,), of differences equal to `value`."""
        se, skewness = self.law(np.full(self.first.shape, value))
        return two_sided(self.estimate - value, se, skewness)
