"""The programme by a barrier method: Newton's steps for many columns, where cones are slow.

Minimise tau * top - sum_s ln(top - f_s(theta)) - sum_y ln theta_y for growing tau, where f_s is a
form tr A'J^-1 A, or ln det J^-1 for "D", subject to the equations of theta. All forms at one prior
share a Hessian, (T V A diag(w) A' V T') * (T V T') entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotConverged
from ldpstats.planning.best.certificate import Dual
from ldpstats.planning.best.cones import Columns, Cone

__all__ = ["solved_by_barrier"]

Array = npt.NDArray[Any]

_GROWTH, _STEPS = 8.0, 200


@dataclass(frozen=True, eq=False)
class _Point:
    """Values f (s,), gradients (s, N), and V, omega of each scenario, at theta."""

    f: Array
    gradient: Array
    V: list[Array]
    omega: list[Array]


def solved_by_barrier(cone: Cone, columns: Columns, accuracy: float = 1e-8) -> tuple[Array, Dual]:
    """Optimal probabilities of these columns, shape (N,), and dual variables."""
    theta = _inside(columns)
    at = _evaluated(cone, columns, theta)
    if at is None:
        raise NotConverged("the columns at hand do not identify what the loss asks for")
    E = np.vstack([np.ones(len(columns)), columns.T.T])
    top = float(at.f.max() + max(abs(at.f.max()), 1.0))
    size = max(abs(at.f.max()), 1.0) if cone.goal.kind != "D" else 1.0
    count = len(columns) + at.f.size
    tau = count / size
    multiplier, y = np.ones(at.f.size), np.zeros(len(E))
    for _ in range(_STEPS):
        at = _evaluated(cone, columns, theta)
        assert at is not None
        step, up, multiplier, y = _newton(cone, columns, at, theta, top, tau, E)
        length = float((step / theta) @ (step / theta))
        if at.f.size > 1:
            length += float((((at.gradient @ step - up) / (top - at.f)) ** 2).sum())
        last = count / tau <= accuracy * size
        if last and length < 1e-6:
            break
        theta, top, moved = _moved(cone, columns, theta, top, step, up, tau)
        if last and not moved:
            break
        if length < 0.1 or not moved:
            tau *= 1.0 if last else _GROWTH
    return theta, _dual(cone, at, multiplier.clip(0.0) / tau, y / tau)


def _inside(columns: Columns) -> Array:
    """A law of the columns that satisfies the equations, away from zero."""
    from scipy.optimize import linprog

    N = len(columns)
    E = np.vstack([np.ones(N), columns.T.T])
    E = np.column_stack([E, E.sum(axis=1)])  # theta = s + rest, with s as large as can be
    cost = np.zeros(N + 1)
    cost[-1] = -1.0
    found = linprog(cost, A_eq=E, b_eq=np.eye(len(E))[0], bounds=(0, None), method="highs")
    if found.status != 0 or found.x[-1] <= 0.0:
        raise NotConverged("no channel has all of these columns")
    return np.asarray(found.x[:-1] + found.x[-1])


def _evaluated(cone: Cone, columns: Columns, theta: Array) -> _Point | None:
    """Values and gradients; None where J is singular."""
    f, gradient, Vs, omegas = [], [], [], []
    J_of: dict[int, tuple[Array, Array, Array]] = {}
    for m, A, within in cone.scenarios:
        if m not in J_of:
            share = theta / columns.mass[:, m]
            J = columns.T.T @ (share[:, None] * columns.T)
            try:
                root = np.linalg.inv(np.linalg.cholesky(J)) if len(J) else J
            except np.linalg.LinAlgError:
                return None
            J_of[m] = root.T @ root, share @ columns.W, columns.T @ root.T
        V, omega, half = J_of[m]
        inner = within > 0.0
        if cone.goal.kind == "D":
            f.append(float(np.linalg.slogdet(V)[1] - within[inner] @ np.log(omega[inner])))
            pull = (half**2).sum(axis=1) + columns.W[:, inner] @ (within[inner] / omega[inner])
        else:
            VA = V @ A
            f.append(float((A * VA).sum() + (within[inner] / omega[inner]).sum()))
            pull = ((columns.T @ VA) ** 2).sum(axis=1)
            pull = pull + columns.W[:, inner] @ (within[inner] / omega[inner] ** 2)
        gradient.append(-pull / columns.mass[:, m])
        Vs.append(V)
        omegas.append(omega)
    if not np.all(np.isfinite(f)):
        return None
    return _Point(np.array(f), np.array(gradient), Vs, omegas)


def _hessian(cone: Cone, columns: Columns, at: _Point, weights: Array) -> Array:
    """sum_s w_s Hessian of f_s, shape (N, N)."""
    N, D = len(columns), cone.goal.kind == "D"
    out = np.zeros((N, N))
    for m in sorted({m for m, _, _ in cone.scenarios}):
        at_m = [s for s, scenario in enumerate(cone.scenarios) if scenario[0] == m]
        V, omega, mass = at.V[at_m[0]], at.omega[at_m[0]], columns.mass[:, m]
        root = columns.T / np.sqrt(mass)[:, None]
        TV = root @ V
        cross = TV @ root.T
        if D:
            out += weights[at_m].sum() * cross**2
        else:
            parts = [np.sqrt(weights[s]) * cone.scenarios[s][1] for s in at_m]
            R = TV @ np.concatenate(parts, axis=1)
            out += 2.0 * (R @ R.T) * cross
        within = sum(weights[s] * cone.scenarios[s][2] for s in at_m)
        inner = within > 0.0
        power = within[inner] / (omega[inner] ** 2 if D else omega[inner] ** 3 / 2.0)
        scaled = (columns.W / mass[:, None])[:, inner]
        out += (scaled * power) @ scaled.T
    return out


def _newton(
    cone: Cone, columns: Columns, at: _Point, theta: Array, top: float, tau: float, E: Array
) -> tuple[Array, float, Array, Array]:
    """Steps of theta and top; multipliers of the scenarios, of sum tau, and of the equations."""
    from scipy.linalg import cho_factor, cho_solve

    s, n, slack = at.f.size, len(E), top - at.f
    # in units of theta, so that the barrier has the second derivative one
    H = _hessian(cone, columns, at, tau / s / slack / (1.0 / slack).mean())
    H *= theta[:, None] * theta
    H[np.diag_indices(len(H))] += 1.0
    factor = cho_factor(H, lower=True, check_finite=False)
    pulls = np.vstack([at.gradient, E]) * theta  # (s + n, N)
    X = cho_solve(factor, np.column_stack([np.ones(len(theta)), pulls.T]), check_finite=False)
    # unknown: multipliers, up, y;  step = X_1 - X_pulls (multipliers, y)
    M, b = np.zeros((s + n + 1, s + n + 1)), np.zeros(s + n + 1)
    known = [*range(s), *range(s + 1, s + n + 1)]
    M[np.ix_(known, known)] = pulls @ X[:, 1:]
    b[known] = pulls @ X[:, 0]
    M[range(s), range(s)] += slack**2 if s > 1 else 1.0
    b[:s] += slack if s > 1 else 1.0
    M[:s, s] = M[s, :s] = 1.0
    b[s] = tau
    rest = -(E @ theta)
    rest[0] += 1.0
    b[s + 1 :] -= rest
    found = np.linalg.lstsq(M, b, rcond=None)[0]
    step = X[:, 0] - X[:, 1:] @ found[known]
    return step * theta, float(found[s]), found[:s], found[s + 1 :]


def _moved(
    cone: Cone, columns: Columns, theta: Array, top: float, step: Array, up: float, tau: float
) -> tuple[Array, float, bool]:
    """The end of the step, shortened until it stays inside and does not rise; whether it moved."""
    start = _evaluated(cone, columns, theta)
    assert start is not None

    def rise(x: Array, t: float) -> float:
        at = _evaluated(cone, columns, x)
        if at is None:
            return np.inf
        if at.f.size == 1:
            return float(tau * (at.f[0] - start.f[0]) - np.log(x / theta).sum())
        if not (at.f < t).all():
            return np.inf
        return float(
            tau * (t - top) - np.log((t - at.f) / (top - start.f)).sum() - np.log(x / theta).sum()
        )

    noise = 1e-9 + 1e-13 * tau * float(np.abs(start.f).max())
    falling = step < 0.0
    length = min(1.0, 0.95 * float((-theta[falling] / step[falling]).min(initial=np.inf)))
    for _ in range(40):
        x, t = theta + length * step, top + length * up
        if rise(x, t) <= noise:
            return x, t, True
        length /= 2.0
    return theta, top, False


def _dual(cone: Cone, at: _Point, weights: Array, y: Array) -> Dual:
    Z, z = [], []
    for (_, A, within), V, omega in zip(cone.scenarios, at.V, at.omega, strict=True):
        inner = within > 0.0
        root = 0.5 if cone.goal.kind == "D" else 1.0
        across = np.where(inner, np.where(inner, omega, 1.0) ** -root, 0.0)
        Z.append(np.linalg.cholesky(V) if cone.goal.kind == "D" else V @ A)
        z.append(across)
    sign = 1.0 if y[0] > 0.0 else -1.0
    return Dual(weights, tuple(Z), tuple(z), float(sign * y[0]), sign * y[1:])
