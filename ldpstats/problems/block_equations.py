"""Equations of block designs: how many reports have a label whose block holds each category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.problems.blocks.base import BlockDesign
from ldpstats.problems.blocks.hadamard import HadamardDesign
from ldpstats.problems.covariance import Covariance, finite_array
from ldpstats.problems.equations import Equations
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.moments import LARGEST_LIST, Array, Check, OwnCounts
from ldpstats.problems.reach import Pair
from ldpstats.problems.tallies import PathLaw, Tallies

__all__ = ["BlockEquations", "block_equations"]

_MOST_OPERATIONS = 4e10  # multiplications that a covariance may take: about 2 s
_LARGEST = 2048  # categories up to which a covariance is formed
_LARGEST_FIT = 1 << 18  # entries of Q up to which the distance from its laws is tested


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockEquations(Equations):
    """Equations ``E[t] = offset + A p``, t the mean of `design.features` of the reports.

    Where two categories have the same number of labels in common, whichever they are, feature x
    says whether the report holds x: ``n t_x ~ Bin(n, offset + A p_x)`` exactly. Of Hadamard
    matrices side by side it is 1/2 for an own label, -1/2 for another of the same matrix and else
    0, so that categories of other matrices add nothing.

    Parameters
    ----------
    design : BlockDesign
    low, gain : float
        Probability of a label under a category outside its block, and what one inside has more.
    """

    design: BlockDesign
    low: float
    gain: float

    @property
    def signed(self) -> bool:
        """Whether features are signs of several Hadamard matrices."""
        return self.design.common is None

    @property
    def has_blocks(self) -> bool:
        return self.design.size > 1 or self.signed

    @property
    def has_covariance(self) -> bool:
        k = self.k
        return k <= _LARGEST and float(k) * k * self.design.n_labels <= _MOST_OPERATIONS

    def estimate_variances(self, p: Array | None = None) -> Array:
        law = finite_array("p", self.plug_in() if p is None else p, 1)
        t = self.offset + self.A * law
        return np.asarray((self._squares(law) - t**2) / self.nobs / np.square(self.A))

    def _squares(self, p: Array) -> Array:
        """Mean square of each feature of a report, shape (k,)."""
        if self.signed:
            return self._signs(self.design.part_masses(p))
        return np.asarray(self.offset + self.A * p)

    def _signs(self, inside: Any) -> Array:
        """Mean square of signs where answers of one matrix have this share."""
        return np.asarray(self.design.size * (2.0 * self.low + self.gain * inside) / 4.0)

    def null_standard_errors(self) -> Array:
        """As of `Equations`; of signs, the others keep their proportions."""
        p = self.plug_in()
        if self.signed:
            others = self.design.part_masses(p) - p
            share = np.divide(others, 1.0 - p, out=np.zeros(p.size), where=p < 1.0)
            spread = self._signs(np.clip(share, 0.0, 1.0))
        else:
            spread = np.full(p.size, self.offset * (1.0 - self.offset))
        return np.asarray(np.sqrt(spread / self.nobs) / np.abs(self.A))

    @property
    def checks(self) -> tuple[Check, ...]:
        small = self.k * self.design.n_labels <= _LARGEST_FIT
        return (Check.LAWS,) if small and self.design.n_labels > self.k else (Check.NEGATIVE,)

    def rules_out(self, p: Array) -> bool:
        return False if self.signed else super().rules_out(p)

    def exact_form(self) -> ExactForm | None:
        return None if self.signed else super().exact_form()

    def kinds_of_reports(self, p: Array) -> tuple[Array, Array] | None:
        if self.k * self.design.n_labels > LARGEST_LIST:
            return None
        every = self.design.features(np.arange(self.design.n_labels))
        return every, self.low + self.gain * self.design.masses(p)

    def own_counts(self) -> OwnCounts | None:
        return None if self.signed else super().own_counts()

    @property
    def features(self) -> tuple[float, float]:
        return (-0.5, 0.5) if self.signed else (0.0, 1.0)

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        low, high = super().reach(pair)
        if pair is not None and self.signed and isinstance(self.design, HadamardDesign):
            first, second = self.design.place(np.array(pair))[0]
            if first != second:  # a report says nothing of one of the two matrices
                return low / 2.0, high / 2.0
        return low, high

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """The law of a sum of signs along the path of each frequency; None of binomial counts."""
        if not self.signed:
            return None
        at, unit = self.plug_in() if p is None else p, 1.0 / np.square(2.0 * self.A)
        own = np.array([np.ones(self.k), np.full(self.k, 4.0 * unit * self._signs(1.0))])
        mean = np.array([at, 4.0 * unit * self._squares(at)])
        # the cube of a weight is the weight times its square, which is the same but for zero
        own, mean = np.vstack([own, own[:1] * unit]), np.vstack([mean, mean[:1] * unit])
        return PathLaw.around(at, [self.nobs], [(own, mean)])


def block_equations(
    design: BlockDesign, low: float, gain: float, counts: Array, nobs: int
) -> BlockEquations:
    """The equations of counts of the labels, shape (l,), of a design."""
    s, common = design.size, design.common
    if common is None:
        assert isinstance(design, HadamardDesign)
        t, offset, slope = design.differences(counts), 0.0, s * gain / 2.0
        mean = 2 * s * low + s * gain / design.parts
        weight = 4.0 * nobs / mean
    else:
        t, slope = design.tallies(counts), (s - common) * gain
        offset = s * low + common * gain
        centre = offset + slope / design.k
        weight = nobs / (centre * (1.0 - centre))

    def covariance(p: Array) -> Covariance:
        law = finite_array("p", p, 1)
        held = design.features(np.arange(design.n_labels))
        m = low + gain * design.masses(law)
        mean = offset + slope * law
        return Covariance.dense(((held.T * m) @ held - np.outer(mean, mean)) / nobs)

    return BlockEquations(
        slope,
        offset,
        t / nobs,
        covariance,
        np.full(design.k, weight),
        nobs,
        kind="blocks",
        design=design,
        low=low,
        gain=gain,
    )
