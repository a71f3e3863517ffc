"""Expectation maximisation as FPE16 prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.arguments.checks import positive_integer, real_number
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.base import LikelihoodEstimator
from ldpstats.estimators.em import em_step
from ldpstats.estimators.solvers.ascent import observed, require_possible
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.problem import Likelihood, Solution

__all__ = ["PlainEM"]

_DELTA = "must be a positive number, for example 1e-6"


@dataclass(frozen=True)
class PlainEM(LikelihoodEstimator):
    """EM from the uniform distribution until no frequency moves by `delta` (FPE16 section III-A).

    Step 1 of FPE16 starts at the uniform distribution, step 2 is `em_step`, and step 3 stops when
    ``max |p_new - p| < delta``, "some small positive value". EM moves slowly where noise is strong:
    small steps do not mean that the maximum is near, and the rule stops far from it. The estimate
    then depends on the start and on `delta`, and is smoother than the maximum. `gap` says how far
    it is, and `message` in nats. `EM`, the default under that name, makes the same steps,
    extrapolates them and stops on the gap; `MLE` is faster still.

    Parameters
    ----------
    delta : float
        Largest change of a frequency in the last step. FPE16 names no value; 1e-6 by default.
    max_iter : int
        Largest number of steps; FPE16 has no such limit.

    Raises
    ------
    InvalidArgument
        If `delta` is not positive or `max_iter` is below 1.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> solution = PlainEM(delta=0.03).solve(problem)      # the maximum is at 0.7
    >>> solution.p.round(4), solution.n_iter, solution.gap > 0.01
    (array([0.6148, 0.3852]), 3, True)
    """

    delta: float = 1e-6
    max_iter: int = 1_000_000
    name: ClassVar[str] = "em-fpe16"

    def __post_init__(self) -> None:
        if not 0.0 < real_number("delta", self.delta, _DELTA) < np.inf:
            raise InvalidArgument("delta", self.delta, _DELTA)
        positive_integer("max_iter", self.max_iter)

    def solve(self, problem: Likelihood) -> Solution:
        """Iterate to the printed rule; `converged` says that it holds, and `gap` how far p is."""
        W, n = observed(problem)
        prepared = Likelihood(W.prepared(), n)
        p, change = np.full(prepared.k, 1.0 / prepared.k), np.inf
        if not prepared.W.mix(p).min() > 0.0:
            require_possible(prepared.W)
        steps = 0
        while change >= self.delta and steps < self.max_iter:
            new = em_step(prepared, p)
            change, p, steps = float(np.abs(new - p).max()), new, steps + 1
            tell(change, self.delta)
        gap, nats = prepared.gap(p), prepared.gap_nats(p)
        done = change < self.delta
        message = f"EM as printed, {steps} steps, the last below {self.delta:g}"
        if not done:
            message = f"EM as printed, not converged after {steps} steps"
        message += f": gap {gap:.1e} per report, up to {nats:.1e} nats below the maximum"
        return Solution(p, gap, steps, done, message)
