"""The convex programme: probabilities theta of the columns that make the loss as small as possible.

With columns of mean 1, theta is a law (the reports' law under uniform answers), and the rows of Q
sum to one if sum_y theta_y T_y = 0. An unbiased estimate of A'p that gives column y the value
u_y / theta_y has the second moment sum_y p.S_y |u_y|^2 / theta_y, so the least loss is a second
order cone programme in theta and u, also where J is singular. Its dual variables make the
certificate. "D" is a determinant programme.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotConverged
from ldpstats.planning.best.certificate import Dual
from ldpstats.planning.best.cones import Columns, Cone

__all__ = ["solved"]

Array = npt.NDArray[Any]

_TOLERANCES = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
_Scenario = tuple[int, Array, Array]

_NOTHING = 1e-7  # weight of a scenario, relative to the largest, that does not matter


def solved(cone: Cone, columns: Columns) -> tuple[Array, Dual]:
    """Optimal probabilities of these columns, shape (N,), and dual variables."""
    level = _levels(columns)
    root = np.sqrt(level)[:, None]
    R, s = _units(root * columns.T, root**2 * columns.W)
    T, W = level[:, None] * columns.T @ R, level[:, None] ** 2 * columns.W / s**2
    unit = Columns(columns.members, T, W, level[:, None] * columns.mass)
    if cone.goal.kind == "D":
        theta, dual = _determinant(cone.scenarios, unit, level)
        z = tuple(z / s for z in dual.z)
    else:
        even = np.full(len(columns), 1.0 / len(columns))
        start = cone.loss(columns, even)  # the columns at hand need not balance: only a size
        size = 1.0 / np.sqrt(start) if 0.0 < start < np.inf else 1.0
        scenarios = [(m, R.T @ A, within / s**2) for m, A, within in cone.scenarios]
        theta, dual = _forms(scenarios, unit, level, size)
        z = tuple(z / s**2 for z in dual.z)
    Z = tuple(R @ Z for Z in dual.Z)
    return level * theta, Dual(dual.weights, Z, z, dual.level, R @ dual.slope)


def _levels(columns: Columns) -> Array:
    """Means of the columns, shape (N,), for which they differ from constant ones by as much.

    At a small epsilon staircases are almost constant, and reveal with a probability of its order.
    """
    size = np.sqrt((columns.T**2).sum(axis=1) + columns.W.sum(axis=1))
    typical = float(np.median(size))
    return np.minimum(1.0, typical / np.where(size > typical, size, max(typical, 1e-300)))


def _units(T: Array, W: Array) -> tuple[Array, Array]:
    """Coordinates R, (G - 1, G - 1), and s, (G,), in which all directions are of like size."""
    _, size, turn = np.linalg.svd(T, full_matrices=len(T) < T.shape[1])
    sizes = np.zeros(T.shape[1])
    sizes[: size.size] = size / np.sqrt(len(T))
    most = max(float(sizes.max(initial=0.0)), 1e-300)
    sizes = np.where(sizes > 1e-10 * most, sizes, most)  # what these columns do not see is left
    s = np.sqrt(W.mean(axis=0))
    return turn.T / sizes, np.where(s > 0.0, s, 1.0)


def _cvxpy() -> Any:
    """cvxpy, which is slow to import; much of it has no types."""
    import cvxpy

    return cvxpy


def _run(problem: Any) -> None:
    cp = _cvxpy()
    try:
        with warnings.catch_warnings():  # of inaccuracy, which the certificate measures
            warnings.simplefilter("ignore")
            try:
                problem.solve(solver=cp.CLARABEL, **_TOLERANCES)
            except cp.SolverError:
                problem.solve(solver=cp.CLARABEL)  # with its own, coarser tolerances
    except cp.SolverError as error:
        raise NotConverged(f"the solver failed on the design ({error})") from None
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise NotConverged(f"the solver found the design {problem.status}")


def _feasible(columns: Columns, level: Array) -> tuple[Any, list[Any]]:
    """The variable theta, and the equations that make the rows of Q sum to one."""
    cp = _cvxpy()
    theta = cp.Variable(len(columns), nonneg=True)
    equations = [level @ theta == 1.0]
    if columns.T.shape[1]:
        equations.append(columns.T.T @ theta == 0.0)
    return theta, equations


def _multiplier(equations: list[Any], width: int) -> tuple[float, Array]:
    """lambda as level and slope, with a positive level."""
    level = float(equations[0].dual_value)
    slope = np.asarray(equations[1].dual_value) if width else np.zeros(0)
    return (level, slope) if level > 0.0 else (-level, -slope)


def _forms(
    scenarios: list[_Scenario], columns: Columns, level: Array, size: float
) -> tuple[Array, Dual]:
    """The largest of the forms tr A'VA, in units of 1 / size^2."""
    cp = _cvxpy()
    theta, equations = _feasible(columns, level)
    top, limits, estimates = cp.Variable(), [], []
    constraints = list(equations)
    for m, A, within in scenarios:
        inner = np.flatnonzero(within > 0.0)
        r = A.shape[1] if len(A) else 0
        u = cp.Variable((r + inner.size, len(columns)))
        tau = cp.Variable(len(columns), nonneg=True)
        constraints.append(
            cp.SOC(
                theta + tau,
                cp.vstack([2.0 * u, cp.reshape(theta - tau, (1, len(columns)), order="C")]),
                axis=0,
            )
        )
        of = []
        if r:
            of.append(u[:r] @ columns.T == size * A.T)
        if inner.size:
            roots = np.sqrt(columns.W[:, inner].T)
            of.append(cp.sum(cp.multiply(u[r:], roots), axis=1) == size * np.sqrt(within[inner]))
        constraints += of
        estimates.append((r, inner, of))
        limits.append(columns.mass[:, m] @ tau <= top)
    if len(limits) == 1:
        problem = cp.Problem(cp.Minimize(limits[0].args[0]), constraints)
    else:
        problem = cp.Problem(cp.Minimize(top), [*constraints, *limits])
    _run(problem)
    weights = np.array([float(c.dual_value) for c in limits]) if len(limits) > 1 else np.ones(1)
    weights = np.where(weights > _NOTHING * weights.max(), weights, 0.0)
    Z, z = [], []
    for weight, (r, inner, of), (_, A, within) in zip(weights, estimates, scenarios, strict=True):
        share = 1.0 / weight if weight > 0.0 else 0.0
        Z.append(share * np.asarray(of[0].dual_value).T if r else np.zeros(A.shape))
        across = np.zeros(within.size)
        if inner.size:
            across[inner] = share * np.asarray(of[-1].dual_value) / np.sqrt(within[inner])
        z.append(across)
    multiplier = _multiplier(equations, columns.T.shape[1])
    return np.maximum(theta.value, 0.0), Dual(weights, tuple(Z), tuple(z), *multiplier)


def _determinant(scenarios: list[_Scenario], columns: Columns, level: Array) -> tuple[Array, Dual]:
    """The geometric mean of V's eigenvalues, at the worst prior."""
    cp = _cvxpy()
    theta, equations = _feasible(columns, level)
    low, limits = cp.Variable(), []
    for m, _, within in scenarios:
        inner = np.flatnonzero(within > 0.0)
        share = cp.multiply(theta, 1.0 / columns.mass[:, m])
        total = 0.0
        if columns.T.shape[1]:
            total = total + cp.log_det(columns.T.T @ cp.diag(share) @ columns.T)
        if inner.size:
            total = total + within[inner] @ cp.log(columns.W[:, inner].T @ share)
        limits.append(total >= low)
    _run(cp.Problem(cp.Maximize(low), [*equations, *limits]))
    weights = np.abs(np.array([float(c.dual_value) for c in limits]))
    weights = np.where(weights > _NOTHING * weights.max(), weights, 0.0)
    found = np.maximum(theta.value, 0.0)
    Z, z = [], []
    for m, _, within in scenarios:
        share = found / columns.mass[:, m]
        J = columns.T.T @ (share[:, None] * columns.T)
        Z.append(np.linalg.cholesky(np.linalg.inv(J)) if len(J) else np.zeros((0, 0)))
        with np.errstate(divide="ignore"):
            z.append(np.where(within > 0.0, 1.0 / np.sqrt(share @ columns.W), 0.0))
    multiplier = _multiplier(equations, columns.T.shape[1])
    return found, Dual(weights, tuple(Z), tuple(z), *multiplier)
