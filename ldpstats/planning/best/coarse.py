"""A bound for many categories that all differ, from a problem with few kinds of them.

The information of a report falls as a prior grows, entry by entry, and a cone grows with its
limits. So the bound for priors that are rounded down and limits that are rounded up, within groups
of categories, holds for the true ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.planning.best.cones import Staircases, groups_of
from ldpstats.planning.best.goals import Goal
from ldpstats.planning.best.search import optimum

__all__ = ["coarse_bound"]

Array = npt.NDArray[Any]

_ORBITS = 1 << 15


def coarse_bound(goal: Goal, own: Array, open_: Array) -> float:
    """A bound on the loss: the largest of those at each prior, with own limits (k,)."""
    return max(_at_prior(goal, p, own, open_) for p in goal.priors)


def _at_prior(goal: Goal, p: Array, own: Array, open_: Array) -> float:
    best = 0.0
    for bins in (2, 3, 4, 5, 6, 8):
        rounded, limits = _rounded(p, own, open_, goal, bins)
        coarse = Goal(goal.kind, rounded[None], goal.contrasts)
        cone = Staircases(groups_of(coarse, limits, open_), coarse, open_, limits)
        if cone.n_orbits > _ORBITS:
            break
        best = max(best, optimum(cone).bound)
    return best


def _rounded(p: Array, own: Array, open_: Array, goal: Goal, bins: int) -> tuple[Array, Array]:
    """The prior rounded down, and the limits up, to those of at most so many groups."""
    logs = np.log(np.maximum(p, 1e-12))
    edges = np.linspace(logs.min(), logs.max() + 1e-9, bins + 1)
    bin_ = np.searchsorted(edges, logs, side="right")
    weights = np.zeros((0, p.size)) if goal.contrasts is None else goal.contrasts.T
    keys = np.vstack([bin_, open_, weights]).T
    group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    low, high = p.copy(), own.copy()
    for g in range(group.max() + 1):
        low[group == g], high[group == g] = p[group == g].min(), own[group == g].max()
    return low, high
