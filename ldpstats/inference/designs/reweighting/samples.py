"""Samples with calibrated weights: residuals take the place of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.reweighting.calibration import (
    Margins,
    Solved,
    calibrate_replicates,
    solved_equations,
)
from ldpstats.inference.designs.reweighting.distances import Distance
from ldpstats.inference.designs.reweighting.replicates import Recalibrated
from ldpstats.inference.designs.sample import Adjustment, Sample, Scores, dense

__all__ = ["Calibrated", "Step", "calibrated_sample"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Step:
    """One calibration of M margin cells."""

    margins: Margins
    distance: Distance
    solved: Solved

    @property
    def factors(self) -> Array:
        """What the weights of the margin cells were multiplied by, shape (M,)."""
        return self.solved.factors

    def anew(self, weights: Array) -> Array:
        """Factors of other weights of the margin cells, (M, R), that reach the same totals."""
        start = self.solved.multipliers
        return calibrate_replicates(weights, self.margins, self.distance, start)


@dataclass(frozen=True, eq=False)
class Calibrated(Adjustment):
    """Weights of a sample that were calibrated, perhaps in several steps.

    Parameters
    ----------
    weights : array, shape (c,)
        Those of the cells of the sample, before.
    at : array of int64, shape (c,)
        The margin cell of each.
    steps : tuple of Step
    """

    weights: Array
    at: Codes
    steps: tuple[Step, ...]

    def residuals(self, scores: Scores) -> Scores:
        """Scores less their regression on the categories, step by step, the last step first.

        A total under the weights w g varies as that of ``g (z - x'B)`` under w, with B from the
        weights w (Deville and Saerndal 1992, equation 3.4; any distance has the same residuals in
        large samples). Those are the scores that an earlier step calibrated.
        """
        factors = np.array([step.factors for step in self.steps])
        before = np.cumprod(np.vstack([np.ones_like(factors[0]), factors[:-1]]), axis=0)
        d = np.bincount(self.at, self.weights, len(factors[0]))
        sums = dense(scores.totals(self.weights, self.at, len(d)))
        table, later = np.zeros(sums.shape), np.ones(len(d))
        for k in reversed(range(len(self.steps))):
            X, w = self.steps[k].margins.indicators, before[k] * later
            right = X.T @ (w[:, None] * (sums + d[:, None] * table))
            B = solved_equations(X, before[k] * d, right)
            table -= (X @ B) / later[:, None]
            later = later * factors[k]
        return scores + Scores(((self.at, table),))


def calibrated_sample(sample: Sample, at: Codes, steps: Sequence[Step]) -> Sample:
    """A sample with calibrated weights.

    Parameters
    ----------
    sample : Sample
    at : array of int64, shape (c,)
        The margin cell of each cell.
    steps : sequence of Step
        In the order of calibration, all of the same margin cells.

    Raises
    ------
    InvalidArgument
        If a second calibration gives weights of zero.
    """
    for step in steps[1:]:
        if np.any(step.factors == 0.0):
            remedy = "gives some respondents the weight zero, which only a first calibration can: "
            remedy += "choose a lower bound above zero"
            raise InvalidArgument("bounds", 0.0, remedy)
    factors = np.prod([step.factors for step in steps], axis=0)
    base = sample.replication
    anew = partial(_anew, steps=steps)
    return replace(
        sample.times(factors[at]),
        calibration=Calibrated(sample.w, at, tuple(steps)),
        replication=base and Recalibrated(base, sample, at, len(factors), anew),
    )


def _anew(weights: Array, steps: Sequence[Step]) -> Array:
    """Factors of the weights of margin cells in replicates, (M, R), of all steps."""
    found = np.ones(weights.shape)
    for step in steps:
        found *= step.anew(weights * found)
    return found
