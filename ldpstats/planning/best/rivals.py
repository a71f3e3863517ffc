"""The loss of named mechanisms, for comparison with a design.

k-RR, k-RAPPOR and subset selection are laws of the size of a random set: all their reports are
staircases, and sets of one size are equally probable. So their information is a sum over orbits,
however many reports they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import LDPError
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.mechanisms.krr import KRR
from ldpstats.mechanisms.sensitive.urap import URAP
from ldpstats.mechanisms.sensitive.urr import URR
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.planning.best.cones import Staircases, groups_of
from ldpstats.planning.best.goals import Goal, loss_of_matrix
from ldpstats.planning.best.limits import Limits

__all__ = ["rival_losses", "subset_loss"]

Array = npt.NDArray[Any]

_ORBITS = 1 << 17
_MATRIX = 1 << 22


def rival_losses(
    goal: Goal, labels: pd.Index[Any], limits: Limits, open_: Array
) -> dict[str, float]:
    """Loss of each named mechanism at the strictest epsilon; inf where it does not answer.

    Of subset selection that of the best size.
    """
    epsilon, k = limits.least, len(labels)
    none, own = np.zeros(k, dtype=bool), np.full(k, epsilon)
    cone = Staircases(groups_of(goal, own, none), goal, none, own)
    found: dict[str, float] = {}
    if cone.n_orbits <= _ORBITS:
        by_size = _Sizes(cone, epsilon)
        found["KRR"] = by_size.loss(by_size.fixed(1))
        found["KRAPPOR"] = by_size.loss(by_size.rappor())
        sizes = {} if k == 2 else {d: by_size.loss(by_size.fixed(d)) for d in _sizes(k, epsilon)}
        if sizes:
            best = min(sizes, key=lambda d: (sizes[d], d))
            found[f"SubsetSelection(size={best})"] = sizes[best]
    else:
        subsets = SubsetSelection(labels, epsilon)
        found["KRR"] = loss_of_matrix(KRR(labels, epsilon).channel().matrix(), goal)
        found["KRAPPOR"] = _linear(KRAPPOR(labels, epsilon), goal)
        found[f"SubsetSelection(size={subsets.d})"] = _linear(subsets, goal)
    if open_.any():
        urr, urap = _sensitive(labels, limits, open_)
        found["URR"] = loss_of_matrix(urr.channel().matrix(), goal)
        small = k <= 12
        found["URAP"] = (
            loss_of_matrix(urap.channel().matrix(), goal) if small else _linear(urap, goal)
        )
    elif limits.kind == "own":
        levels = dict(zip(labels.tolist(), limits.own.tolist(), strict=True))
        found["URR"] = loss_of_matrix(URR(labels, epsilon=levels).channel().matrix(), goal)
    return found


def subset_loss(mechanism: SubsetSelection, goal: Goal) -> float:
    """The loss of subset selection; that of its linear estimate where there are many groups."""
    k = mechanism.k
    none, own = np.zeros(k, dtype=bool), np.full(k, mechanism.epsilon)
    cone = Staircases(groups_of(goal, own, none), goal, none, own)
    if cone.n_orbits > _ORBITS:
        return _linear(mechanism, goal)
    by_size = _Sizes(cone, mechanism.epsilon)
    return by_size.loss(by_size.fixed(mechanism.d))


def _sensitive(labels: pd.Index[Any], limits: Limits, open_: Array) -> tuple[Mechanism, Mechanism]:
    sensitive, own = labels[~open_], limits.own[~open_]
    if limits.kind == "own":
        levels: Any = dict(zip(sensitive.tolist(), own.tolist(), strict=True))
        return URR(labels, epsilon=levels), URAP(labels, sensitive, limits.least)
    return URR(labels, sensitive, limits.least), URAP(labels, sensitive, limits.least)


def _sizes(k: int, epsilon: float) -> list[int]:
    """Sizes of sets worth a comparison: all where they are few, or those around the usual one."""
    usual = k / (np.exp(epsilon) + 1.0)
    low, high = max(1, int(usual / 4.0) - 8), min(k - 1, int(2.0 * usual) + 8)
    return list(range(low, high + 1))


def _linear(mechanism: Mechanism, goal: Goal) -> float:
    """Loss of the linear estimate; nan for "D", and for a mechanism that has none."""
    if goal.kind == "D":
        return float("nan")
    problem = mechanism.moments(mechanism.specimen())
    try:
        found = [problem.covariance(p) for p in goal.priors]
    except LDPError:
        return float("nan")
    if goal.contrasts is not None:
        return float(max(V.forms(goal.contrasts.T).sum() for V in found))
    variances = [V.variances() for V in found]
    return float(max(v.max() if goal.kind == "worst" else v.sum() for v in variances))


class _Sizes:
    """Mechanisms whose reports are sets of categories, by the law of the size of the set."""

    def __init__(self, cone: Staircases, epsilon: float) -> None:
        from scipy.special import gammaln

        self.cone, self.epsilon, self.k = cone, epsilon, cone.codes.size
        self.members = cone.listed(1, cone.n_orbits - 1)
        self.columns = cone.columns(self.members)
        n, k = self.members, cone.sizes
        self.choices = (gammaln(k + 1) - gammaln(n + 1) - gammaln(k - n + 1)).sum(axis=1)
        self.sizes = n.sum(axis=1)
        # mean entry of a staircase with a set of this size, which scales it
        self.level = np.log1p(np.expm1(epsilon) * self.sizes / self.k)

    def loss(self, log_low: Array) -> float:
        """Loss, from the logarithm of the smaller entry of the column of a set of each size."""
        theta = np.exp(log_low[self.sizes] + self.choices + self.level)
        return self.cone.loss(self.columns, theta)

    def fixed(self, d: int) -> Array:
        """k-RR (d = 1) or subset selection."""
        from scipy.special import logsumexp

        ways = [_log_choose(self.k - 1, d - 1) + self.epsilon, _log_choose(self.k - 1, d)]
        out = np.full(self.k + 1, -np.inf)
        out[d] = -logsumexp(ways)
        return out

    def rappor(self) -> Array:
        """k-RAPPOR, which flips a bit with probability 1 / (1 + e^(eps / 2))."""
        m = np.arange(self.k + 1)
        keep, flip = (-np.logaddexp(0.0, sign * self.epsilon / 2.0) for sign in (-1.0, 1.0))
        return np.asarray((m + 1) * flip + (self.k - 1 - m) * keep)


def _log_choose(n: int, m: int) -> float:
    from scipy.special import gammaln

    if not 0 <= m <= n:
        return -np.inf
    return float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))
