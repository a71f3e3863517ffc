"""Maximum likelihood over a convex set of distributions: sequential quadratic programming."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, LDPError, NotAvailable
from ldpstats.estimators.solvers.ascent import (
    LAST_STEP,
    STEP,
    Ascent,
    line_search,
    require_possible,
)
from ldpstats.problems.rows.base import Rows

if TYPE_CHECKING:
    import cvxpy

__all__ = ["constrained_maximum"]

Array = npt.NDArray[Any]
Constraints = Callable[["cvxpy.Expression"], list[Any]]

_LARGEST_K = 3000  # the quadratic model is a dense k x k matrix
_PATIENCE = 5  # iterations without a smaller gap before giving up
_ZERO = 1e-13  # the solver's zeros
_FINITE = "must hold finite numbers, and no parameters without a value"


def constrained_maximum(
    W: Rows, n: Array, constraints: Constraints, target: float, max_iter: int
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex and the user's constraints.

    Each iteration minimises the quadratic model over the set, in coordinates scaled by the size of
    the last step, so that the solver's tolerances are relative to it, and searches the line to
    there exactly. The gap is ``max_q score.q / N - 1`` over the q of the set, found by its own
    optimisation; beyond `target`, the step must leave one below 1e-3 standard errors.
    """
    total, k = float(n.sum()), W.shape[1]
    if k > _LARGEST_K:
        raise NotAvailable(
            f"constraints are handled up to {_LARGEST_K} categories, not {k}; merge categories"
        )
    require_possible(W)
    p = _inside(W, lambda q: _checked(constraints, q))
    best, best_at, scale, step_size = Ascent(p, np.inf, 0, False), 0, 1.0, np.inf
    for i in range(max_iter + 1):
        d = W.mix(p)
        score = W.adjoint(n / (d * total))
        gap = _gap(score, constraints)
        if gap < best.gap:
            best, best_at = Ascent(p, gap, i, gap <= target), i
        if best.converged and (step_size <= LAST_STEP or gap * total <= STEP**2 / 2.0):
            break
        if i - best_at >= _PATIENCE:
            break
        step = _model_step(W.gram(n / (d * d * total)), 1.0 - score, p, scale, constraints)
        change = W.mix(step)
        step_size = float(np.sqrt(n @ (change / d) ** 2))
        t = line_search(d, change, n, float(step.sum()), 1.0)
        p = np.maximum(p + t * step, 0.0)
        p = np.where(p < _ZERO, 0.0, p)
        scale = max(float(np.abs(step).max()), 1e-12)
    return best


def _inside(W: Rows, constraints: Constraints) -> Array:
    """A point of the set where every observed report is possible."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    k = W.shape[1]
    for share in (0.1, 1e-3, 1e-5):
        # as many entries as the set allows are at least share / k
        p, floor = cp.Variable(k, nonneg=True), cp.Variable(k)
        problem = cp.Problem(
            cp.Maximize(cp.sum(floor) * k),
            [cp.sum(p) == 1, floor <= p, floor <= share / k, *constraints(p)],
        )
        try:
            _optimise(problem)
        except (ValueError, cp.error.ParameterError) as error:  # a parameter without value
            raise InvalidArgument("constraints", str(error), _FINITE) from error
        if p.value is None:
            raise InvalidArgument(  # or, by its status, the solver failed
                "constraints",
                problem.status,
                "no distribution meets them all, with p >= 0 and sum(p) = 1; relax or remove some",
            )
        found = np.maximum(p.value, 0.0)
        if W.mix(found).min() > 0.0:
            return np.asarray(found)
    raise InvalidArgument(
        "constraints",
        "too tight",
        "every distribution that meets them gives probability zero to a report that was seen; "
        "relax or remove some",
    )


def _checked(constraints: Constraints, p: Any) -> list[Any]:
    """The user's constraints on p, once they are known to define a convex set."""
    import cvxpy

    try:
        built = constraints(p)
    except LDPError:
        raise
    except Exception as error:  # cvxpy raises many kinds, Exception itself for 0 <= p <= 1
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidArgument(
            "constraints",
            constraints,
            f"failed for p of shape {p.shape} ({reason}); return a list such as [p[0] >= p[1]]",
        ) from error
    if not isinstance(built, list | tuple):
        raise InvalidArgument(
            "constraints",
            built,
            "is what the function returns; it must be a list, such as [p[0] >= p[1]]",
        )
    for item in built:
        if not isinstance(item, cvxpy.Constraint) or not item.is_dcp():
            raise InvalidArgument(
                "constraints",
                item,
                "is no convex cvxpy constraint on p; return a list such as [p[0] >= p[1]]",
            )
        # cvxpy before 1.6 hands NaN to the solver; the sum is one of a sparse matrix too
        if any(np.isnan(abs(constant.value).sum()) for constant in item.constants()):
            raise InvalidArgument("constraints", str(item), _FINITE)
    return list(built)


def _gap(score: Array, constraints: Constraints) -> float:
    """``max_q score.q - 1`` over the set, at least zero."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    q = cp.Variable(score.size, nonneg=True)
    # Large coefficients make the solver's absolute tolerances small compared with the gap.
    problem = cp.Problem(cp.Maximize(1e4 * (score - 1.0) @ q), [cp.sum(q) == 1, *constraints(q)])
    _optimise(problem)
    if q.value is None:
        return np.inf
    return max(float((score - 1.0) @ q.value), 0.0)


def _model_step(H: Array, g: Array, p: Array, scale: float, constraints: Constraints) -> Array:
    """The step x, p + x in the set, that minimises ``g.x + x'H x / 2``."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    k = p.size
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-14 * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])).T
    z = cp.Variable(k)
    q = p + scale * z
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(root @ z) / 2 + (g / scale) @ z),
        [q >= 0, cp.sum(z) == (1.0 - p.sum()) / scale, *constraints(q)],
    )
    _optimise(problem)
    if z.value is None:
        return np.zeros(k)
    return np.asarray(scale * z.value)


def _optimise(problem: Any) -> None:
    """Solve, linear problems by HiGHS, others by CLARABEL, to tighter tolerances than usual.

    A solver that does not quite reach them still leaves its best point, which is judged by our own
    gap; so its warning, and its status, say nothing that matters here.
    """
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            if _linear(problem):
                _highs(problem)
            else:
                _clarabel(problem)
        except cp.SolverError:
            return


def _highs(problem: Any) -> None:
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    tight: dict[str, Any] = {
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
    }
    if "HIGHS" in cp.installed_solvers():
        problem.solve(solver="HIGHS", **tight)
        return
    try:  # scipy has HiGHS too, but refuses infinite bounds
        problem.solve(solver="SCIPY", scipy_options=tight | {"method": "highs"})
    except ValueError:
        _clarabel(problem)


def _clarabel(problem: Any) -> None:
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    problem.solve(solver="CLARABEL", **tight)


def _linear(problem: Any) -> bool:
    """Whether a problem is a linear program; `Problem.is_lp` needs a newer cvxpy than we do."""
    return bool(problem.is_qp() and problem.objective.expr.is_pwl())
