"""The exact maximum likelihood estimate, by the solver that suits the channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.base import LikelihoodEstimator
from ldpstats.estimators.solvers.ascent import (
    LAST_STEP,
    STEP,
    Ascent,
    check_tol,
    gap_target,
    observed,
    report,
)
from ldpstats.estimators.solvers.closed_form import solve_uniform
from ldpstats.estimators.solvers.interior import interior_newton
from ldpstats.estimators.solvers.low_rank import LowRankModel
from ldpstats.estimators.solvers.merged import maximise_merged
from ldpstats.estimators.solvers.newton import newton
from ldpstats.estimators.solvers.proximal import STALE, DiagonalModel, Model, proximal_newton
from ldpstats.estimators.solvers.sampled import has_few_reports, is_joint, is_table, sampled
from ldpstats.estimators.solvers.structured import empirical_start, is_structured, prepared
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import Rows, StackedRows, UniformRows
from ldpstats.problems.rows.sensitive import SensitiveRows

if TYPE_CHECKING:
    import cvxpy

__all__ = ["MLE", "maximise"]

Array = npt.NDArray[Any]
Constraints = Callable[["cvxpy.Expression"], list[Any]]

_POLISH_K = 64  # dense problems up to this size are taken to a gap of 1e-12
_DENSE_K = 2500  # largest k for which a k x k Hessian is formed after the structured solver
_TABLE_K = 400  # largest k for which that Hessian is formed where products are quick without it
_PROXIMAL = 50  # iterations after which Newton takes over, where it can


@dataclass(frozen=True)
class MLE(LikelihoodEstimator):
    """Maximum likelihood over the simplex, certified by its duality gap.

    The rows of the problem choose the solver: water-filling in closed form for a I + b 11' (k-RR;
    KBR16 Proposition 6), proximal Newton for unary and hashed reports, Newton for a dense matrix
    and for joint reports, with the Hessian of a sample where they are many, or without one by an
    interior point method where cells are many and reports make a table. With `constraints`,
    sequential quadratic programming over the constrained set.

    Parameters
    ----------
    constraints : callable or None
        Takes the (k,) cvxpy expression of p and returns a list of cvxpy constraints that define a
        convex set; p >= 0 and sum(p) = 1 are added. See `ldpstats.estimators.constraints`.
    tol : float or None
        Gap per report to reach. None for 1e-3 nats over all reports, and an estimated Newton step
        below 1e-3 standard errors; then dense problems of up to 64 categories go on to 1e-12.
    max_iter : int
        Largest number of iterations of each solver.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive, `max_iter` is below 1, or no p meets the constraints.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> solution = MLE().solve(problem)
    >>> solution.p.round(6), solution.gap < 1e-12
    (array([0.7, 0.3]), True)
    """

    constraints: Constraints | None = None
    tol: float | None = None
    max_iter: int = 200
    name: ClassVar[str] = "mle"

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)
        if self.constraints is not None and not callable(self.constraints):
            remedy = "must be a function of p that returns cvxpy constraints, or None"
            raise InvalidArgument("constraints", self.constraints, remedy)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood.

        Where W p is the same for several p the maximum is not unique, and one of them is returned.

        Warns
        -----
        ConvergenceWarning
            Where the gap was not reached.
        """
        W, n = observed(problem)
        target = gap_target(problem.nobs, self.tol)
        if self.constraints is None:
            found, how = maximise(W, n, target, self.tol is None, self.max_iter)
        else:
            from ldpstats.estimators.solvers.constrained import constrained_maximum

            found = constrained_maximum(prepared(W), n, self.constraints, target, self.max_iter)
            how = f"sequential quadratic programming, {found.n_iter} iterations"
        return report(found, problem.nobs, how, target)


def maximise(
    W: Rows,
    n: Array,
    target: float,
    by_step: bool,
    max_iter: int = 200,
    start: Array | None = None,
) -> tuple[Ascent, str]:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex and say how.

    Parameters
    ----------
    W : Rows, shape (u, k)
    n : array of float, shape (u,)
        Counts, all positive.
    target : float
        Gap per report to reach.
    by_step : bool
        Ask also that the next step be below 1e-3 standard errors, and polish small problems.
    max_iter : int
    start : array, shape (k,), or None
        A point of the simplex to begin at, instead of each solver's own.
    """
    k = W.shape[1]
    if isinstance(W, UniformRows) and W.a > 0.0 and start is None:
        return solve_uniform(W, n), "water-filling in closed form"
    if isinstance(W, SensitiveRows) and start is None:

        def solve(rows: Rows, counts: Array) -> tuple[Ascent, str]:
            begin = empirical_start(rows, counts) if isinstance(rows, SensitiveRows) else None
            return maximise(rows, counts, target, by_step, max_iter, begin)

        return maximise_merged(W, n, target, solve)
    small = by_step and k <= _POLISH_K
    how, steps = "", 0
    table = k > _TABLE_K and is_table(W)
    joint = k <= _DENSE_K and is_joint(W) and not table
    if is_structured(W) and not (joint and has_few_reports(W)):
        W = prepared(W)
        begin = empirical_start(W, n) if start is None else start
        tries = max_iter if k > _DENSE_K and not table else min(max_iter, _PROXIMAL)
        last = STEP if by_step else np.inf
        model_at: Callable[[Rows, Array], Model] = DiagonalModel.at
        if joint:
            model_at = sampled(W, n)
        elif isinstance(W, StackedRows) and not table:
            model_at = LowRankModel.at
        stale = np.inf if joint or table else STALE  # models of joint reports are costly
        found = proximal_newton(W, n, begin, target, last, tries, model_at, stale)
        name = "Newton with a sampled Hessian" if joint else "proximal Newton"
        steps, how = found.n_iter, f"{name}, {found.n_iter} iterations"
        if table and not found.converged:
            found = interior_newton(W, n, found.p, target, last, max_iter)
            steps += found.n_iter
            how += f"; interior point method, {found.n_iter} iterations"
            found = replace(found, n_iter=steps)
        if (found.converged and not small) or k > _DENSE_K:
            return found, how
        start, how = found.p, how + "; "
    goal = min(target, 1e-12) if small else target
    found = newton(W, n, goal, start, LAST_STEP if by_step else np.inf, max_iter)
    how += f"Newton, {found.n_iter} iterations"
    return Ascent(found.p, found.gap, steps + found.n_iter, found.gap <= target), how
