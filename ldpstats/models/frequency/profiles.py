"""Intervals of a frequency where its profile likelihood is not much below the maximum."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.mle import MLE
from ldpstats.inference import intervals
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import FixedEntry

__all__ = ["profiles"]

Array = npt.NDArray[Any]


def profiles(likelihood: Likelihood, alpha: float) -> Array:
    """Profile-likelihood intervals of all categories, shape (k, 2)."""
    best = MLE().solve(likelihood).p
    maximum = likelihood.loglike(best)

    def at(i: int, v: float) -> float:
        if v >= 1.0:
            return likelihood.loglike(np.eye(likelihood.k)[i])
        fixed = Likelihood(FixedEntry(likelihood.W, i, v), likelihood.n)
        flat = np.full(fixed.k, 1.0 / fixed.k)
        if fixed.W.mix(flat).min() <= 0.0:  # v makes a report impossible that was seen
            return -np.inf
        return fixed.loglike(MLE().solve(fixed).p)

    ends = [
        intervals.profile(partial(at, i), float(best[i]), maximum, alpha)
        for i in range(likelihood.k)
    ]
    return np.array(ends)
