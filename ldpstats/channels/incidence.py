"""The channel of a design of blocks: a label is more probable for the categories in its block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel, OutputClasses
from ldpstats.problems.blocks.base import BlockDesign
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.incidence import BlockRows

__all__ = ["Blocks"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Blocks(Channel):
    """``Q[x, y] = high`` where the block of label y holds category x, else `low`.

    Parameters
    ----------
    design : BlockDesign
        Which categories each label stands for; a category has `design.size` own labels of l.
    high, low : float
        Probabilities of a label, ``size high + (l - size) low = 1``.
    gain : float
        ``high - low`` to full precision.

    Examples
    --------
    >>> from ldpstats.problems.blocks.hadamard import HadamardDesign
    >>> Blocks(HadamardDesign(3, 1, 4), high=0.375, low=0.125, gain=0.25).matrix()
    array([[0.375, 0.125, 0.375, 0.125],
           [0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.125, 0.375]])
    """

    design: BlockDesign
    high: float
    low: float
    gain: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.design.k, self.design.n_labels

    def _matrix(self) -> Array:
        held = self.design.holds(np.arange(self.design.n_labels))
        return np.where(held.T, self.high, self.low)

    def forward(self, p: Array) -> Array:
        inside = self.design.masses(np.asarray(p))
        return np.asarray(self.low * np.sum(p) + self.gain * inside)

    def rows(self, y: Array) -> Rows:
        return BlockRows(np.asarray(y), self.design, self.low / self.high, self.high)

    def epsilon(self) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(self.high / self.low))

    def output_classes(self) -> OutputClasses:
        if self.low == 0.0 or self.design.n_labels < 1 << 12:
            return super().output_classes()
        held = self.design.masses(np.ones(self.design.k))
        told = (held > 0.5) & (held < self.design.k - 0.5)  # by some and not by all
        number = np.array([told.sum(), (~told).sum()], dtype=np.float64)
        return OutputClasses(np.array([self.epsilon(), 0.0]), np.array([-1, -1]), number)
