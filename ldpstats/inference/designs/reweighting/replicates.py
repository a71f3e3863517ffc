"""Replicates of calibrated weights: each is calibrated to the same population totals anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.sample import Replication, Sample, Scores

__all__ = ["Recalibrated"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Recalibrated(Replication):
    """Replicates whose weights get a factor in each of M margin cells.

    Parameters
    ----------
    base : Replication
        That of the weights before calibration.
    before : Sample
        The sample with those weights.
    at : array of int64, shape (c,)
        The margin cell of each cell.
    size : int
        The number M of margin cells.
    anew : callable
        The factors, shape (M, R), from the sum of the weights of each margin cell in each
        replicate, of the same shape.
    later : array, shape (c,), optional
        What weights were multiplied by after calibration, as in trimming.
    """

    base: Replication
    before: Sample
    at: Codes
    size: int
    anew: Callable[[Array], Array]
    later: Array | None = None

    @property
    def about_estimate(self) -> bool:
        return self.base.about_estimate

    @property
    def knows_units(self) -> bool:
        return self.base.knows_units

    def totals(self, sample: Sample, scores: Scores) -> Array:
        base = self.base
        before = replace(self.before, stages=sample.stages, single_unit=sample.single_unit)
        factors = self.anew(base.totals(before, Scores(((self.at, np.eye(self.size)),))).T)
        if self.later is not None:
            base, before = base.times(self.later), before.times(self.later)
        found = np.zeros((factors.shape[1], scores.size))
        for m in range(self.size):  # so that no weights by cell and replicate are kept
            own = tuple((np.where(self.at == m, at, -1), table) for at, table in scores.parts)
            found += factors[m][:, None] * base.totals(before, Scores(own))
        return found

    def scales(self, sample: Sample) -> Array:
        return self.base.scales(sample)

    def degrees_of_freedom(self, sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
        return self.base.degrees_of_freedom(sample, inside)

    def missed(self, sample: Sample) -> Array:
        return self.base.missed(sample)

    def rest(self, sample: Sample, scores: Scores) -> Array:
        return self.base.rest(sample, scores)

    def times(self, factor: Array) -> Recalibrated:
        return replace(self, later=factor if self.later is None else self.later * factor)
