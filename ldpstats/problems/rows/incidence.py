"""Likelihoods of labels that stand for blocks of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.blocks.base import BlockDesign
from ldpstats.problems.rows.base import Rows, dense_if_small
from ldpstats.problems.simplex import project_simplex

__all__ = ["BlockRows"]

Array = npt.NDArray[Any]

_MOST_PARTS = 128  # that a model of the Hessian keeps apart


@dataclass(frozen=True, eq=False)
class BlockRows(Rows):
    """Rows of a block design: ``W[i, x]`` is one where the block of report i holds x, else `ratio`.

    Products take one transform of the design, whatever the number of reports.

    Parameters
    ----------
    codes : array of int, shape (u,)
        Labels that were reported.
    design : BlockDesign
        Which categories a label stands for.
    ratio : float
        Probability of a label under a category outside its block, over that under one inside.
    high : float
        The latter, the scale of every row.

    Examples
    --------
    >>> from ldpstats.problems.blocks.hadamard import HadamardDesign
    >>> rows = BlockRows(np.array([0, 2]), HadamardDesign(3, 1, 4), ratio=0.5, high=1 / 3)
    >>> rows.mix(np.array([0.5, 0.25, 0.25]))
    array([1.  , 0.75])
    """

    codes: Array
    design: BlockDesign
    ratio: float
    high: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.design.k

    @property
    def is_structured(self) -> bool:
        return True

    @cached_property
    def log_scale(self) -> Array:
        return np.full(self.codes.size, np.log(self.high))

    def mix(self, p: Array) -> Array:
        inside = self.design.masses(p)[self.codes]
        return np.asarray(self.ratio * p.sum() + (1.0 - self.ratio) * inside)

    def mix_squares(self, p: Array) -> Array:
        inside, square = self.design.masses(p)[self.codes], self.ratio**2
        return np.asarray(square * p.sum() + (1.0 - square) * inside)

    def adjoint(self, v: Array) -> Array:
        return np.asarray(self.ratio * v.sum() + (1.0 - self.ratio) * self._inside(v))

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        inside, total, square = self._inside(v), float(v.sum()), self.ratio**2
        first = self.ratio * total + (1.0 - self.ratio) * inside
        return first, square * total + (1.0 - square) * inside

    def _inside(self, v: Array) -> Array:
        """Weighted number of the reports that hold each category, shape (k,)."""
        return self.design.tallies(
            np.bincount(self.codes, weights=v, minlength=self.design.n_labels)
        )

    def take(self, start: int, stop: int) -> Array:
        return np.where(self.design.holds(self.codes[start:stop]), 1.0, self.ratio)

    def select(self, keep: Array) -> BlockRows:
        return replace(self, codes=self.codes[keep])

    def groups(self, v: Array) -> list[tuple[Rows, Array]]:
        """The reports of each part of the design, which tell of other categories each."""
        part = self.design.label_parts(self.codes)
        members = [part == i for i in np.unique(part)]
        if not 1 < len(members) <= _MOST_PARTS:
            return super().groups(v)
        return [(self.select(own), v[own]) for own in members]

    def prepared(self) -> Rows:
        return dense_if_small(self)

    def start(self, n: Array) -> Array:
        return project_simplex(self.linear(n / n.sum(), 1.0))

    def linear(self, v: Array, total: float) -> Array:
        """The tallies of the own labels, without what other answers add on average.

        Those add alike where two categories have as many labels in common whichever they are, else
        about so.
        """
        design = self.design
        l, s = design.n_labels, design.size  # noqa: E741
        common = design.common if design.common is not None else s * s / l
        Z = s + (l - s) * self.ratio
        own, other = s / Z, (common + (s - common) * self.ratio) / Z
        return np.asarray((self._inside(v) - other * total) / (own - other))
