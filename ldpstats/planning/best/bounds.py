"""The best columns within privacy limits, and the bound on every channel's loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.planning.best.coarse import coarse_bound
from ldpstats.planning.best.cones import Rays, Staircases, groups_of
from ldpstats.planning.best.goals import Goal, loss_of_matrix
from ldpstats.planning.best.limits import Limits
from ldpstats.planning.best.rivals import subset_loss
from ldpstats.planning.best.search import SPLIT, Found, optimum
from ldpstats.planning.best.vertices import extreme_rays

__all__ = ["bound_of", "design_loss", "searched"]

Array = npt.NDArray[Any]

_RAYS = 4000  # of limits of pairs, beyond which they are not all listed
_CLIMBED = 48  # categories up to which columns are searched for where they cannot all be priced


def design_loss(mechanism: Mechanism, goal: Goal) -> float:
    """The loss of a mechanism at one respondent."""
    if isinstance(mechanism, SubsetSelection):
        return subset_loss(mechanism, goal)
    return loss_of_matrix(mechanism.channel().matrix(), goal)


def bound_of(goal: Goal, limits: Limits, open_: Array) -> float:
    """The bound on the loss of any channel within these limits."""
    return searched(goal, limits, open_)[1].bound


def _cone(goal: Goal, limits: Limits, open_: Array) -> tuple[Staircases | Rays, bool]:
    """The cone of columns, and whether it has all rays."""
    if limits.kind != "pairs":
        return Staircases(groups_of(goal, limits.own, open_), goal, open_, limits.own), True
    rays, all_ = extreme_rays(limits.pairs, _RAYS)
    units = np.eye(goal.k)[open_]
    return Rays(np.arange(goal.k), goal, open_, np.concatenate([rays, units])), all_


def searched(goal: Goal, limits: Limits, open_: Array) -> tuple[Staircases | Rays | None, Found]:
    """The best columns, and a bound; no columns where there are too many categories to search."""
    cone, all_ = _cone(goal, limits, open_)
    if isinstance(cone, Rays):
        found = optimum(cone)
        if not all_:  # the rows' largest limits allow more
            wider = Limits(np.where(np.eye(goal.k) > 0, 0.0, limits.own[:, None]), "own")
            found = Found(found.columns, found.theta, bound_of(goal, wider, open_))
        return cone, found
    if cone.n_orbits <= SPLIT:
        return cone, optimum(cone)
    bound = coarse_bound(goal, limits.own, open_)
    if cone.G > _CLIMBED:
        return None, Found(cone.columns(cone.units()), np.zeros(cone.open_groups.size), bound)
    found = optimum(cone)
    return cone, Found(found.columns, found.theta, bound)
