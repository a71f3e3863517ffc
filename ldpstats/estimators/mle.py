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
    certified_gap,
    check_tol,
    gap_target,
    maximise_reduced,
    observed,
    report,
)
from ldpstats.estimators.solvers.dense import DenseModel
from ldpstats.estimators.solvers.interior import interior_newton
from ldpstats.estimators.solvers.low_rank import LowRankModel
from ldpstats.estimators.solvers.newton import newton
from ldpstats.estimators.solvers.proximal import STALE, DiagonalModel, Model, proximal_newton
from ldpstats.estimators.solvers.sampled import has_few_reports, sampled, starting_point
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import Rows

if TYPE_CHECKING:
    import cvxpy

__all__ = ["MLE", "maximise", "model_of_refits", "refitted"]

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

            found = constrained_maximum(W.prepared(), n, self.constraints, target, self.max_iter)
            how = f"sequential quadratic programming, {found.n_iter} iterations"
        return report(found, problem.nobs, how, target)


def refitted(W: Rows, n: Array, start: Array | None, model: DenseModel | None = None) -> Solution:
    """What ``MLE().solve`` finds for counts n > 0, from a point that is near the maximum.

    A `model` of the Hessian there, of other reports with the same law, spares forming one; small
    problems are then not polished, since what their reports leave to chance is far more.
    """
    nobs = int(n.sum())
    target = gap_target(nobs, None)
    if start is not None and model is not None:
        rows, shared = W.prepared(), lambda *_: model
        found = proximal_newton(rows, n, start, target, STEP, _PROXIMAL, shared, np.inf)
        if found.converged:
            how = f"Newton with the Hessian of other reports, {found.n_iter} iterations"
            return report(found, nobs, how, target)
        start = found.p
    found, how = maximise(W, n, target, True, start=start)
    return report(found, nobs, how, target)


def model_of_refits(W: Rows, n: Array, p: Array) -> DenseModel | None:
    """The Hessian at p that `refitted` shares between surveys; None where its own is as quick."""
    if not W.is_structured or W.shape[1] > _POLISH_K:
        return None
    W = W.prepared()
    return DenseModel(W.gram(n / (float(n.sum()) * W.mix(p) ** 2)))


def maximise(
    W: Rows,
    n: Array,
    target: float,
    by_step: bool,
    max_iter: int = 200,
    start: Array | None = None,
) -> tuple[Ascent, str]:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, for counts n > 0, and say how.

    It stops at a gap of `target` per report; with `by_step` the next step must also be below 1e-3
    standard errors, and small problems are polished. `start`, shape (k,), is a point of the simplex
    to begin at, instead of each solver's own; closed forms are then not used.
    """
    if start is not None:
        return _iterated(W, n, target, by_step, max_iter, start)
    known = W.closed_form(n)
    if known is not None:
        how = "water-filling in closed form"
        return Ascent(known, certified_gap(W, n, known), 0, True), how

    def solve(rows: Rows, counts: Array) -> tuple[Ascent, str]:
        return _iterated(rows, counts, target, by_step, max_iter, None)

    return maximise_reduced(W, n, target, solve)


def _iterated(
    W: Rows, n: Array, target: float, by_step: bool, max_iter: int, begin: Array | None
) -> tuple[Ascent, str]:
    """`maximise`, by cheap products first where W has structure, then by Newton where needed.

    Newton takes over where k is small enough for its Hessian: to close the gap, and to polish.
    """
    k = W.shape[1]
    small = by_step and k <= _POLISH_K
    last = LAST_STEP if by_step else np.inf
    goal = min(target, 1e-12) if small else target
    newton_alone = not W.is_structured or (_is_sampled(W) and has_few_reports(W))
    if newton_alone:
        found = newton(W, n, goal, begin, last, max_iter)
        return replace(found, converged=found.gap <= target), f"Newton, {found.n_iter} iterations"
    W = W.prepared()
    first, how = _by_products(W, n, target, by_step, max_iter, begin)
    if (first.converged and not small) or k > _DENSE_K:
        return first, how
    found = newton(W, n, goal, first.p, last, max_iter)
    how += f"; Newton, {found.n_iter} iterations"
    return Ascent(found.p, found.gap, first.n_iter + found.n_iter, found.gap <= target), how


def _by_products(
    W: Rows, n: Array, target: float, by_step: bool, max_iter: int, begin: Array | None
) -> tuple[Ascent, str]:
    """Proximal Newton with the model of the Hessian that suits the rows, without forming it."""
    table, joint = _is_large_table(W), _is_sampled(W)
    tries = max_iter if W.shape[1] > _DENSE_K and not table else min(max_iter, _PROXIMAL)
    last = STEP if by_step else np.inf
    model_at: Callable[[Rows, Array], Model] = DiagonalModel.at
    if joint:
        model_at = sampled(W, n)
    elif len(W.groups(n)) > 1 and not table:
        model_at = LowRankModel.at
    stale = np.inf if joint or table else STALE  # models of joint reports are costly
    begin = starting_point(W, n) if begin is None else begin
    found = proximal_newton(W, n, begin, target, last, tries, model_at, stale)
    name = "Newton with a sampled Hessian" if joint else "proximal Newton"
    how = f"{name}, {found.n_iter} iterations"
    if not table or found.converged:
        return found, how
    inner = interior_newton(W, n, found.p, target, last, max_iter)
    how += f"; interior point method, {inner.n_iter} iterations"
    return replace(inner, n_iter=found.n_iter + inner.n_iter), how


def _is_large_table(W: Rows) -> bool:
    """Whether cells are many and products quick, so that no k x k Hessian is worth forming."""
    return W.shape[1] > _TABLE_K and W.is_table


def _is_sampled(W: Rows) -> bool:
    """Whether a sample of the reports may give the Hessian: of joint reports on few cells."""
    return W.shape[1] <= _DENSE_K and W.is_joint and not _is_large_table(W)
