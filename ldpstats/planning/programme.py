"""The convex programme: probabilities theta of the columns that make the loss as small as possible.

With columns of mean 1, theta is a law (the reports' law under uniform answers), and the rows of Q
sum to one if sum_y theta_y T_y = 0. An unbiased estimate of A'p that gives column y the value
u_y / theta_y has the second moment sum_y p.S_y |u_y|^2 / theta_y, so the least loss is a second
order cone programme in theta and u, also where J is singular. Its dual variables make the
certificate. "D" is a determinant programme.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import comb, fsum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import EPSILON_RANGE, numbers, positive_epsilon
from ldpstats.errors import InvalidArgument, NotConverged
from ldpstats.labels import align, encode, sensitive_codes

__all__ = [
    "SPLIT",
    "Columns",
    "Cone",
    "Found",
    "Goal",
    "Limits",
    "Rays",
    "Staircases",
    "channel_of",
    "extreme_rays",
    "groups_of",
    "loss_of_matrix",
    "master",
    "optimum",
    "privacy_limits",
    "row_sums",
    "sensitive_places",
]


Array = npt.NDArray[Any]

_TOLERANCES = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
_Scenario = tuple[int, Array, Array]

_NOTHING = 1e-7  # weight of a scenario, relative to the largest, that does not matter


def solve_cones(cone: Cone, columns: Columns) -> tuple[Array, Dual]:
    """Optimal probabilities of these columns, shape (N,), and dual variables."""
    # Means of the columns for which they differ from constant ones by as much: at a small epsilon
    # staircases are almost constant, and reveal with a probability of its order.
    lengths = np.sqrt((columns.T**2).sum(axis=1) + columns.W.sum(axis=1))
    typical = float(np.median(lengths))
    level = np.minimum(1.0, typical / np.where(lengths > typical, lengths, max(typical, 1e-300)))
    # Coordinates R, (G - 1, G - 1), and s, (G,), in which all directions are of like size
    root = np.sqrt(level)[:, None]
    T, W = root * columns.T, root**2 * columns.W
    _, singular, turn = np.linalg.svd(T, full_matrices=len(T) < T.shape[1])
    sizes = np.zeros(T.shape[1])
    sizes[: singular.size] = singular / np.sqrt(len(T))
    most = max(float(sizes.max(initial=0.0)), 1e-300)
    sizes = np.where(sizes > 1e-10 * most, sizes, most)  # what these columns do not see is left
    s = np.sqrt(W.mean(axis=0))
    R, s = turn.T / sizes, np.where(s > 0.0, s, 1.0)
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
    law = np.maximum(theta.value, 0.0)
    Z, z = [], []
    for m, _, within in scenarios:
        share = law / columns.mass[:, m]
        J = columns.T.T @ (share[:, None] * columns.T)
        Z.append(np.linalg.cholesky(np.linalg.inv(J)) if len(J) else np.zeros((0, 0)))
        with np.errstate(divide="ignore"):
            z.append(np.where(within > 0.0, 1.0 / np.sqrt(share @ columns.W), 0.0))
    multiplier = _multiplier(equations, columns.T.shape[1])
    return law, Dual(weights, tuple(Z), tuple(z), *multiplier)


# -- Column generation: solve for some columns, price all, add the best, until none is better -----


_ALL_AT_ONCE = 300  # orbits that are solved for without pricing
_KEPT = 1 << 17
SPLIT = 1 << 30
_CONES = 1500  # entries of estimates beyond which the barrier method is quicker than cones
_MOST_CONES = 4_000  # the same, beyond which an inaccurate barrier method is put up with
_UNCERTAIN = 1e-6  # gap of the columns at hand at which the barrier method is inaccurate
_ROUNDS = 120
_FINE = 1 << 21  # columns up to which a search goes on to the end
_ROUGH = 1e-4  # improvement of a ratio that counts where there are more
_CLIMBS = 60  # rounds of local search where there are more
_LOOSE = 1.0 - 1e-6  # bound, relative to the loss, below which the solver's lambda is improved
_CLOSE = 1e-8  # gap at which the search ends


@dataclass(frozen=True, eq=False)
class Found:
    """Columns with probabilities theta, and a bound on the loss (0.0 where there is none)."""

    columns: Columns
    theta: Array
    bound: float


def optimum(cone: Staircases | Rays) -> Found:
    """The best law of the columns of a cone, with its certificate."""
    working = _start(cone)
    orbits = len(cone.rays) if isinstance(cone, Rays) else cone.n_orbits
    pricer: Kept | Split | None = None
    if orbits <= _KEPT:
        pricer = Kept(cone)
    elif orbits <= SPLIT:  # prices only what a local search leaves
        assert isinstance(cone, Staircases)
        pricer = Split(cone)
    bound, passes, best = 0.0, 0, None
    fine = not isinstance(pricer, Split) or pricer.cone.n_orbits <= _FINE
    for turn in range(_ROUNDS if pricer is not None else _CLIMBS):
        theta, dual = master(cone, working)
        loss = cone.loss(working, theta)
        own = dual.ratios(cone, working)
        count = max(40, 4 * cone.codes.size)
        climbing = False
        if not isinstance(pricer, Kept):
            assert isinstance(cone, Staircases)
            used = working.members[np.argsort(-theta, kind="stable")[:240]]
            used = used[(used >= 0).all(axis=1)]
            shifted = np.concatenate([np.roll(used[:80], by, axis=1) for by in (1, 2, 5, 11)])
            shifted = shifted[(shifted <= cone.sizes).all(axis=1)]
            seeds = np.concatenate([used, shifted])
            priced = climb(cone, dual, seeds, count)
            climbing = priced.kappa > own.max() * (1.0 + (1e-7 if fine else _ROUGH))
            climbing &= fine or turn - 20 * passes < _CLIMBS
        if not climbing and pricer is not None:
            priced, passes = pricer.price(dual, count), passes + 1
            kappa = max(priced.kappa, float(own.max()))
            bound = max(bound, dual.bound(cone, kappa))
            if isinstance(pricer, Kept) and kappa <= own.max() * 1.1 and bound < loss * _LOOSE:
                tightened = dual.tightened(cone, pricer.columns)
                kappa = float(tightened.ratios(cone, pricer.columns).max())
                bound = max(bound, tightened.bound(cone, kappa))
        if best is None or loss < best[2]:
            best = working, theta, loss
        done = bound > 0.0 and 1.0 - bound / best[2] <= _CLOSE
        tired = isinstance(pricer, Split) and passes >= (4 if fine else 2)
        if done or tired or (pricer is None and not climbing):
            break
        known = {tuple(row) for row in working.members.tolist()}
        least = float(own.max()) * (1.0 + 1e-10)
        new = [
            i
            for i, row in enumerate(priced.members.tolist())
            if tuple(row) not in known and priced.ratios[i] > least
        ]
        if not new:
            break
        stay = (theta > 1e-6 * theta.max()) | (own > (0.95 if fine else 0.997) * own.max())
        working = working.take(np.flatnonzero(stay)) if climbing else working
        working = working + cone.columns(priced.members[new])
    assert best is not None
    return Found(best[0], best[1], bound)


def master(cone: Cone, columns: Columns) -> tuple[Array, Dual]:
    """The programme of these columns, by the quicker method."""
    rows = sum(A.shape[1] for _, A, _ in cone.scenarios)
    smooth = cone.goal.kind in ("total", "D")
    barrier = None
    if smooth and rows * len(columns) > _CONES and len(columns) <= 4000:
        try:
            theta, dual = barrier = solve_by_barrier(cone, columns)
        except (NotConverged, np.linalg.LinAlgError):
            pass
        else:
            bound = dual.bound(cone, float(dual.ratios(cone, columns).max()))
            size = np.maximum(np.abs(columns.T).max(axis=0, initial=0.0), 1e-300)
            balanced = (np.abs(columns.T.T @ theta) <= 1e-8 * size).all()
            close = bound >= (1.0 - _UNCERTAIN) * cone.loss(columns, theta)
            if (balanced and close) or rows * len(columns) > _MOST_CONES:
                return barrier
    try:
        return solve_cones(cone, columns)
    except NotConverged:
        if barrier is None:
            raise
        return barrier


def _start(cone: Staircases | Rays) -> Columns:
    """Columns that admit a channel and identify all categories."""
    if isinstance(cone, Rays):
        N = len(cone.rays)
        if N <= _ALL_AT_ONCE:
            return cone.columns(cone.every())
        # Numbers of few columns that make a channel together
        columns = cone.columns(cone.every())
        from scipy.optimize import linprog

        E = np.vstack([np.ones(len(columns)), columns.T.T])
        cost = np.linspace(0.0, 1.0, len(columns))
        found = linprog(cost, A_eq=E, b_eq=np.eye(len(E))[0], bounds=(0, None), method="highs")
        if found.status != 0:
            raise NotConverged(f"no channel was found within these limits ({found.message})")
        vertex = np.flatnonzero(found.x > 0.0)
        some = np.union1d(vertex, np.arange(0, N, N // 200 + 1))
        return cone.columns(some[:, None])
    if cone.n_orbits <= _ALL_AT_ONCE:
        return cone.columns(cone.every())
    k, G = cone.codes.size, cone.G
    one = np.eye(G, dtype=np.int64)
    order = np.argsort(-cone.prior.mean(axis=0), kind="stable")
    usual = max(2, round(k / (1.0 + float(np.exp(cone.limits.mean())))))
    pairs = [(n, 1) for n in (2, 3, round(G / 4), round(G / 3), G // 2)]
    pairs += [(n, stride) for n in (usual, usual + 1) for stride in (1, 2, 3, 4, 5, 7)]
    runs = []  # categories in the order of the priors, so many steps apart, around the end
    for length, stride in sorted({(n, s) for n, s in pairs if 1 < n < G}):
        high = (np.arange(G)[:, None] + stride * np.arange(length)) % G
        run = np.zeros((G, G), dtype=np.int64)
        run[np.arange(G)[:, None], order[high]] = 1
        runs.append(run)
    grid = np.linspace(0.1, 0.9, 9)[:, None] * cone.sizes
    members = np.concatenate([one, cone.sizes - one, *runs, np.rint(grid).astype(np.int64)])
    total = members.sum(axis=1)
    members = np.unique(members[(total > 0) & (total < k)], axis=0)
    return cone.columns(np.concatenate([members, cone.units()]))


# -- Pricing: the column whose ratio d(S) / (lambda.S) is largest, which the bound rests on -------
# Up to some orbits are computed once and kept. More staircases are split in two halves of the
# groups: all that a ratio needs is a sum over the halves, except for one product of matrices, so
# 2^30 columns take seconds and little memory. Beyond, a local search finds good columns and
# certifies nothing.


_LOW = 1 << 15  # orbits of the half that is held at once
_BLOCK = 16  # of the other half, at a time


@dataclass(frozen=True, eq=False)
class Priced:
    """The best columns found, by falling ratio, and the largest ratio of all columns."""

    members: Array
    ratios: Array
    kappa: float


@dataclass(frozen=True, eq=False)
class Kept:
    """All columns of a cone, kept."""

    cone: Cone

    @cached_property
    def columns(self) -> Columns:
        assert isinstance(self.cone, Staircases | Rays)
        return self.cone.columns(self.cone.every())

    def price(self, dual: Dual, count: int) -> Priced:
        ratios = dual.ratios(self.cone, self.columns)
        best = np.argsort(-ratios, kind="stable")[:count]
        return Priced(self.columns.members[best], ratios[best], float(ratios.max()))


@dataclass(frozen=True, eq=False)
class Split:
    """All staircases of a cone, in two halves."""

    cone: Staircases

    def price(self, dual: Dual, count: int) -> Priced:
        size, cut = 1, self.cone.G  # the groups from `cut` on are the half that is held at once
        while cut > 1 and size * (int(self.cone.sizes[cut - 1]) + 1) <= _LOW:
            cut -= 1
            size *= int(self.cone.sizes[cut]) + 1
        halves = []
        for groups in (slice(0, cut), slice(cut, None)):
            # Counts of high categories, (n, G), with zeros in the other half
            shape = (self.cone.sizes + 1)[groups]
            counts = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
            half = np.zeros((len(counts), self.cone.G), dtype=np.int16)
            half[:, groups] = counts
            halves.append(half)
        high, low = halves
        terms = _Terms(self.cone, dual)
        low_terms = terms.of(low)
        best, at = np.empty(len(high)), np.empty(len(high), dtype=np.int64)
        for start in range(0, len(high), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(high)))
            ratio = terms.ratios(terms.of(high[part]), low_terms)
            if start == 0:
                ratio[0, 0] = -np.inf  # none high
            if part.stop == len(high):
                ratio[-1, -1] = -np.inf  # all high
            at[part] = ratio.argmax(axis=1)
            best[part] = ratio[np.arange(len(ratio)), at[part]]
        members = high + low[at]
        units = self.cone.units()
        if len(units):
            shown = dual.ratios(self.cone, self.cone.columns(units))
            members, best = np.concatenate([members, units]), np.append(best, shown)
        order = np.argsort(-best, kind="stable")[:count]
        return Priced(members[order].astype(np.int64), best[order], float(best.max()))


class _Terms:
    """What a ratio is made of, as sums over the groups."""

    def __init__(self, cone: Staircases, dual: Dual) -> None:
        self.cone, k = cone, cone.codes.size
        priors = sorted({m for m, _, _ in cone.scenarios})
        h, sizes = cone.heights, cone.sizes
        ones = np.asarray(
            dual.level / k + (self.cone.basis @ dual.slope) / np.sqrt(self.cone.sizes)
        )
        self.limit = (h * ones, dual.level)  # lambda.S of the categories that are high, and of 1
        self.mass = [(h * cone.prior[m], float(sizes @ cone.prior[m])) for m in priors]
        self.roots, self.within = [], []
        to_T = (h / np.sqrt(sizes))[:, None] * cone.basis
        for m in priors:
            at = [s for s, scenario in enumerate(cone.scenarios) if scenario[0] == m]
            R = np.concatenate([np.sqrt(dual.weights[s]) * (to_T @ dual.Z[s]) for s in at], axis=1)
            if R.shape[1] > cone.G:
                values, vectors = np.linalg.eigh(R @ R.T)
                R = vectors * np.sqrt(values.clip(0.0))
            self.roots.append(R)
            self.within.append(
                sum(dual.weights[s] * cone.scenarios[s][2] * dual.z[s] ** 2 for s in at)
            )

    def of(self, n: Array) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """lambda.S, and for each prior |Z'S|^2, Z'S and p.S, all without the part of 1."""
        k, h = self.cone.sizes, self.cone.heights
        W = h**2 * n * (k - n) / (k * np.maximum(k - 1.0, 1.0))
        out = []
        for R, within, (mass, _) in zip(self.roots, self.within, self.mass, strict=True):
            A = n @ R
            out.append(((A**2).sum(axis=1) + W @ within, A, n @ mass))
        return n @ self.limit[0], out

    def ratios(self, first: Any, second: Any) -> Array:
        limit = np.add.outer(first[0] + self.limit[1], second[0])
        total: Array = np.zeros_like(limit)
        for (s1, A1, m1), (s2, A2, m2), (_, base) in zip(
            first[1], second[1], self.mass, strict=True
        ):
            square = (2.0 * A1) @ A2.T
            square += s2
            square += s1[:, None]
            square /= np.add.outer(m1 + base, m2)
            total += square
        total /= np.where(limit > 0.0, limit, 1e-300)
        return np.asarray(total)


def climb(cone: Staircases, dual: Dual, starts: Array, count: int) -> Priced:
    """Staircases that no change of one group's count, and no exchange between two, improves."""
    now = np.unique(starts[(starts >= 0).all(axis=1)], axis=0)
    moves = np.concatenate([np.eye(cone.G, dtype=np.int64), -np.eye(cone.G, dtype=np.int64)])
    best = dual.ratios(cone, cone.columns(now))
    for _ in range(4 * cone.G):
        near = (now[:, None, :] + moves).reshape(-1, cone.G)
        total = near.sum(axis=1)
        fits = (near >= 0).all(axis=1) & (near <= cone.sizes).all(axis=1)
        fits &= (total > 0) & (total < cone.codes.size)
        ratio = np.full(len(near), -np.inf)
        ratio[fits] = dual.ratios(cone, cone.columns(near[fits]))
        table = ratio.reshape(len(now), -1)
        at = table.argmax(axis=1)
        highest = table[np.arange(len(now)), at]
        better = highest > best * (1.0 + 1e-12)
        if not better.any():
            break
        now = np.where(better[:, None], now + moves[at], now)
        best = np.where(better, highest, best)
        now, first = np.unique(now, axis=0, return_index=True)
        best = best[first]
    order = np.argsort(-best, kind="stable")[:count]
    return Priced(now[order], best[order], float(best.max()))


# -- The columns that a channel may have: extreme rays of the cone that a privacy limit describes --
# Every report's column Q[., y] obeys ``Q[x, y] <= e^eps_x Q[x', y]``. The extreme rays of these
# columns are staircases: some categories at e^eps_x, the others at 1. Categories that are not to be
# protected also have columns of their own, which reveal them. Where categories are alike (same
# prior, limit and weight in the loss) only the number of high ones in a group matters, and a group
# of columns that differ by a permutation of like categories is an orbit: one column of the
# programme. For a limit of every pair the rays are listed (`vertices`).
#
# A column is scaled to have the mean 1 over the categories. What the programme needs of the orbit
# of S is, besides its mass p.S: T, the mean over the orbit on an orthonormal basis of the group
# means that are orthogonal to 1, and W, for each group the mean square of S along one direction
# within it.


@dataclass(frozen=True, eq=False)
class Columns:
    """Orbits of columns: `members` (N, .) names them; T (N, G - 1), W (N, G), mass (N, M)."""

    members: Array
    T: Array
    W: Array
    mass: Array

    def __len__(self) -> int:
        return len(self.members)

    def take(self, at: Array) -> Columns:
        return Columns(self.members[at], self.T[at], self.W[at], self.mass[at])

    def __add__(self, other: Columns) -> Columns:
        pairs = ((getattr(self, n), getattr(other, n)) for n in ("members", "T", "W", "mass"))
        return Columns(*(np.concatenate(pair) for pair in pairs))


def groups_of(goal: Goal, limits: Array, open_: Array) -> Array:
    """Group of each category, shape (k,): alike in priors, limit (k,), openness and loss."""
    weights = np.zeros((0, goal.k)) if goal.contrasts is None else goal.contrasts.T
    keys = np.vstack([goal.priors, limits, open_, weights]).T
    _, first, codes = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.empty(first.size, dtype=np.int64)
    order[np.argsort(first)] = np.arange(first.size)  # groups in the order of their first category
    return order[codes.reshape(-1)]


@dataclass(frozen=True, eq=False)
class Cone(ABC):
    """Parameters: codes (k,) of groups, the goal, and which categories are open, (k,) of bool."""

    codes: Array
    goal: Goal
    open_: Array

    @cached_property
    def sizes(self) -> Array:
        return np.bincount(self.codes)

    @property
    def G(self) -> int:
        return int(self.sizes.size)

    @cached_property
    def first(self) -> Array:
        """The first category of each group, shape (G,)."""
        return np.unique(self.codes, return_index=True)[1]

    @cached_property
    def basis(self) -> Array:
        """Basis of the group means orthogonal to 1, shape (G, G - 1)."""
        return tangent_basis(np.sqrt(self.sizes))

    @cached_property
    def prior(self) -> Array:
        """Probability of one category of each group, shape (M, G)."""
        return self.goal.priors[:, self.first]

    @cached_property
    def open_groups(self) -> Array:
        return np.flatnonzero(self.open_[self.first])

    def _made(self, members: Array, sums: Array, centred: Array, W: Array) -> Columns:
        """Columns from sums over the groups (N, G), and the same up to a multiple of 1."""
        level = sums.sum(axis=1, keepdims=True) / self.codes.size
        T = (centred / level / np.sqrt(self.sizes)) @ self.basis
        return Columns(members, T, W / level**2, (sums / level) @ self.prior.T)

    # -- what the goal asks for, in these coordinates ---------------------------------------------

    @cached_property
    def scenarios(self) -> list[tuple[int, Array, Array]]:
        """Prior, A of shape (G - 1, r), and weight of the directions within each group, (G,)."""
        goal, B, sizes = self.goal, self.basis, self.sizes
        within = sizes - 1.0
        priors = range(len(goal.priors))
        if goal.kind == "contrasts":
            assert goal.contrasts is not None
            A = B.T @ (goal.contrasts[self.first] * np.sqrt(sizes)[:, None])
            return [(m, A, np.zeros(self.G)) for m in priors]
        if goal.kind == "worst":
            one = np.eye(self.G)
            return [
                (m, B.T @ one[:, [g]] / np.sqrt(sizes[g]), one[g] * within / sizes)
                for m in priors
                for g in range(self.G)
            ]
        return [(m, np.eye(self.G - 1), within) for m in priors]

    def loss(self, columns: Columns, theta: Array) -> float:
        """The loss of the channel that has these orbits with probabilities theta, shape (N,)."""
        losses, used = [], theta > 0.0
        for m, A, within in self.scenarios:
            weight = theta[used] / columns.mass[used, m]
            root = columns.T[used] * np.sqrt(weight)[:, None]
            _, s, R = np.linalg.svd(root, full_matrices=len(root) < self.G - 1)
            values = np.zeros(self.G - 1)
            values[: s.size] = s**2
            omega = weight @ columns.W[used]
            seen = values > 1e-11 * max(values.max(initial=0.0), omega.max(initial=0.0), 1e-300)
            turned, inner = R @ A, within > 0.0
            blind = (within[inner] > 0.0) & (omega[inner] <= 0.0)
            if blind.any() or np.linalg.norm(turned[~seen]) > 1e-7 * np.linalg.norm(A):
                losses.append(np.inf)
            elif self.goal.kind == "D":
                total = -np.log(values).sum() - (within[inner] * np.log(omega[inner])).sum()
                losses.append(float(np.exp(total / (self.goal.k - 1))))
            else:
                total = (turned[seen] ** 2 / values[seen, None]).sum()
                losses.append(float(total + (within[inner] / omega[inner]).sum()))
        return max(losses)

    # -- what a subclass knows --------------------------------------------------------------------

    @abstractmethod
    def columns(self, members: Array) -> Columns:
        """The columns of these names."""

    @abstractmethod
    def orbit_size(self, member: Array) -> int:
        """How many columns an orbit has."""

    @abstractmethod
    def orbit(self, member: Array) -> Array:
        """All columns of an orbit, not scaled, shape (k, size)."""


@dataclass(frozen=True, eq=False)
class Staircases(Cone):
    """Staircases of heights e^eps_x: `members` (N, G) counts the high categories of each group.

    A column that reveals a category of group g has -1 there.
    """

    limits: Array  # epsilon of each category, shape (k,)

    @cached_property
    def heights(self) -> Array:
        return np.expm1(self.limits[self.first])

    @property
    def n_orbits(self) -> int:
        """Orbits of staircases, the constant ones included."""
        total = 1
        for size in self.sizes.tolist():
            total *= size + 1
        return total

    def listed(self, start: int, stop: int) -> Array:
        """Orbits by number, shape (n, G); the constant columns are among them."""
        return np.stack(np.unravel_index(np.arange(start, stop), self.sizes + 1), axis=1)

    def units(self) -> Array:
        """The columns that reveal, shape (u, G)."""
        return -np.eye(self.G, dtype=np.int64)[self.open_groups]

    def every(self) -> Array:
        """All orbits but the constant ones."""
        # none high is the first, all high the last: neither is an extreme ray
        return np.concatenate([self.listed(1, self.n_orbits - 1), self.units()])

    def columns(self, members: Array) -> Columns:
        members = np.asarray(members, dtype=np.int64).reshape(-1, self.G)
        n, k, h = members.clip(0), self.sizes, self.heights
        centred = n * h
        sums = k + centred
        W = h**2 * n * (k - n) / (k * np.maximum(k - 1.0, 1.0))
        shown = (members < 0).any(axis=1)
        if shown.any():
            alone = (members[shown] < 0) * 1.0
            sums[shown], centred[shown], W[shown] = alone, alone, alone / k * (k > 1)
        return self._made(members, sums, centred, W)

    def orbit_size(self, member: Array) -> int:
        if (member < 0).any():
            return int(self.sizes[np.argmin(member)])
        total = 1
        for size, n in zip(self.sizes.tolist(), member.tolist(), strict=True):
            total *= comb(size, n)
        return total

    def orbit(self, member: Array) -> Array:
        where = [np.flatnonzero(self.codes == g) for g in range(self.G)]
        k = self.codes.size
        if (member < 0).any():
            return np.eye(k)[:, where[int(np.argmin(member))]]
        chosen = product(
            *(combinations(at.tolist(), n) for at, n in zip(where, member.tolist(), strict=True))
        )
        return self.of_subsets([sum(parts, ()) for parts in chosen])

    def of_subsets(self, subsets: list[tuple[int, ...]]) -> Array:
        """Staircases whose high categories are given, shape (k, n)."""
        out = np.ones((self.codes.size, len(subsets)))
        for y, high in enumerate(subsets):
            out[list(high), y] = np.exp(self.limits[list(high)])
        return out


@dataclass(frozen=True, eq=False)
class Rays(Cone):
    """Listed rays, shape (R, k), each category a group of its own; `members` (N, 1) numbers them.

    The columns that reveal are the last of them.
    """

    rays: Array

    def every(self) -> Array:
        return np.arange(len(self.rays))[:, None]

    def columns(self, members: Array) -> Columns:
        members = np.asarray(members, dtype=np.int64).reshape(-1, 1)
        S = self.rays[members[:, 0]]
        low = S.min(axis=1, keepdims=True)
        return self._made(members, S, S - low, np.zeros(S.shape))

    def orbit_size(self, member: Array) -> int:
        return 1

    def orbit(self, member: Array) -> Array:
        return self.rays[member].T


# -- The programme by a barrier method: Newton's steps for many columns, where cones are slow -----
# Minimise tau * top - sum_s ln(top - f_s(theta)) - sum_y ln theta_y for growing tau, where f_s is a
# form tr A'J^-1 A, or ln det J^-1 for "D", subject to the equations of theta. All forms at one
# prior share a Hessian, (T V A diag(w) A' V T') * (T V T') entry by entry.


_GROWTH, _STEPS = 8.0, 200


@dataclass(frozen=True, eq=False)
class _Point:
    """Values f (s,), gradients (s, N), and V, omega of each scenario, at theta."""

    f: Array
    gradient: Array
    V: list[Array]
    omega: list[Array]


def solve_by_barrier(cone: Cone, columns: Columns, accuracy: float = 1e-8) -> tuple[Array, Dual]:
    """Optimal probabilities of these columns, shape (N,), and dual variables."""
    from scipy.optimize import linprog

    # A law of the columns that satisfies the equations, away from zero
    N = len(columns)
    E = np.vstack([np.ones(N), columns.T.T])
    wider = np.column_stack([E, E.sum(axis=1)])  # theta = s + rest, with s as large as can be
    cost = np.zeros(N + 1)
    cost[-1] = -1.0
    found = linprog(cost, A_eq=wider, b_eq=np.eye(len(E))[0], bounds=(0, None), method="highs")
    if found.status != 0 or found.x[-1] <= 0.0:
        raise NotConverged("no channel has all of these columns")
    theta = np.asarray(found.x[:-1] + found.x[-1])
    at = _evaluated(cone, columns, theta)
    if at is None:
        raise NotConverged("the columns at hand do not identify what the loss asks for")
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
        theta, top, moved = _line_search(cone, columns, theta, top, step, up, tau)
        if last and not moved:
            break
        if length < 0.1 or not moved:
            tau *= 1.0 if last else _GROWTH
    y = y / tau
    Z, z = [], []
    for (_, A, within), V, omega in zip(cone.scenarios, at.V, at.omega, strict=True):
        inner = within > 0.0
        root = 0.5 if cone.goal.kind == "D" else 1.0
        z.append(np.where(inner, np.where(inner, omega, 1.0) ** -root, 0.0))
        Z.append(np.linalg.cholesky(V) if cone.goal.kind == "D" else V @ A)
    sign = 1.0 if y[0] > 0.0 else -1.0
    weights = multiplier.clip(0.0) / tau
    return theta, Dual(weights, tuple(Z), tuple(z), float(sign * y[0]), sign * y[1:])


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
    solution = np.linalg.lstsq(M, b, rcond=None)[0]
    step = X[:, 0] - X[:, 1:] @ solution[known]
    return step * theta, float(solution[s]), solution[:s], solution[s + 1 :]


def _line_search(
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


# -- From the probabilities of columns to a channel: rows that sum to one, limits that are kept ---


def channel_of(S: Array, theta: Array) -> Array:
    """Q, shape (k, l), from columns S of mean 1 and their probabilities, shape (l,)."""
    # The probabilities change as little as possible, relatively, so that the rows sum to one. What
    # is then left, below rounding or where few columns cannot balance, goes with a constant to the
    # largest column, which brings its entries closer to one another: no limit is exceeded.
    S, theta = S[:, theta > 0.0], theta[theta > 0.0]
    weights = theta / theta.sum()
    for _ in range(4):
        scaled = S * weights
        rest = 1.0 - scaled.sum(axis=1)
        # the least |change / weights| with S change = rest
        change = np.linalg.lstsq(scaled, rest, rcond=1e-12)[0]
        weights = weights * np.maximum(1.0 + change, 0.5)
    Q = S * weights
    for _ in range(4):
        rest = np.array([fsum([1.0, *(-Q[x]).tolist()]) for x in range(len(Q))])
        if not rest.any():
            break
        largest = int(np.argmax(Q.min(axis=0)))
        column = Q[:, largest]
        low = float(column.min())
        if low <= 0.0 or np.ptp(rest) == 0.0:
            Q = np.asarray(Q / Q.sum(axis=1, keepdims=True))
            continue
        # the constant c with (high + rest + c) / (low + rest + c) <= high / low
        spread = float(np.log(column.max() / low))
        c = 4.0 * float(np.abs(rest).max()) / max(np.expm1(min(spread, 1.0)), 1e-300)
        if c >= 1.0:
            raise NotConverged("the probabilities that the solver found do not make a channel")
        Q = Q * (1.0 - c)
        Q[:, largest] += c + rest * (1.0 - c)
    return np.asarray(Q)


def row_sums(Q: Array) -> float:
    """By how much a row sum differs from one at most."""
    return float(max(abs(fsum([-1.0, *row.tolist()])) for row in Q))


# -- Extreme rays of the columns q with ``q_x <= e^c_xx' q_x'``, where every pair has its own limit
# In v = ln q the limits are v_x - v_x' <= c_xx'. A ray is extreme if and only if the pairs whose
# limit it reaches connect all categories. From one such point others are reached along edges:
# raise a set of categories until another limit is reached.


_TIGHT = 1e-9


def extreme_rays(limits: Array, most: int) -> tuple[Array, bool]:
    """Rays, shape (R, k), with the largest entry 1, and whether they are all of them."""
    k = len(limits)
    start = limits[:, 0] - limits[:, 0].min()  # v_x = c_x0 is one
    sets = np.zeros((0, k), dtype=bool)  # proper subsets; none where they are too many
    if k <= 12:
        sets = (np.arange(1, 2**k - 1)[:, None] >> np.arange(k) & 1).astype(bool)
    queue, seen = deque([start]), {_key(start): start}
    while queue and len(seen) < most:
        v = queue.popleft()
        for raised in _edges(v, limits, sets):
            room = (limits - (v[:, None] - v))[np.ix_(raised, ~raised)]
            new = v + raised * room.min()
            new = new - new.min()
            if _key(new) not in seen:
                seen[_key(new)] = new
                queue.append(new)
    logs = np.array(list(seen.values()))
    return np.exp(logs - logs.max(axis=1, keepdims=True)), not queue


def _key(v: Array) -> tuple[int, ...]:
    return tuple(np.rint(v * 1e8).astype(np.int64).tolist())


def _edges(v: Array, limits: Array, sets: Array) -> list[Array]:
    """Sets of categories that can be raised, with the set and the rest connected."""
    k = len(v)
    tight = (limits - (v[:, None] - v) <= _TIGHT) & ~np.eye(k, dtype=bool)
    both = tight | tight.T
    if not len(sets):  # those that fall off when one reached pair is cut; all, if pairs are a tree
        halves = []
        for x, z in np.argwhere(np.triu(both)):
            cut = both.copy()
            cut[x, z] = cut[z, x] = False
            half = _reached(cut, int(x), np.ones(k, dtype=bool))
            if not half[z]:
                halves += [half, ~half]
        sets = np.array(halves).reshape(-1, k)
    # raising x while x' stays breaks a limit that is reached
    closed = ~((sets[:, :, None] & ~sets[:, None, :]) & tight).any(axis=(1, 2))
    return [
        U
        for U in sets[closed]
        if all((_reached(both, int(np.argmax(V)), V) == V).all() for V in (U, ~U))
    ]


def _reached(both: Array, start: int, inside: Array) -> Array:
    """The categories that pairs `both` (k, k) connect with `start`, within a set (k,)."""
    part = np.zeros(len(both), dtype=bool)
    part[start] = True
    while True:
        wider = part | (both[part].any(axis=0) & inside)
        if (wider == part).all():
            return part
        part = wider


# -- The certificate: a bound that no channel with the privacy asked for can beat -----------------
# Take weights w_s of the scenarios (a prior and a matrix A_s) of sum one, matrices Z_s whose
# columns sum to zero, and a vector lambda. With d(S) = sum_s w_s |Z_s'S|^2 / (p_s.S) and kappa the
# largest of d(S) / (lambda.S) over all columns S that the privacy allows, every channel has
#
#     max_s tr A_s' V_s A_s  >=  (sum_s w_s tr A_s' Z_s)^2 / (kappa lambda.1),
#
# because tr A'VA >= 2 t tr A'Z - t^2 tr Z'JZ for every t, and J is a sum over the columns of Q,
# which are sums of such S. For "D", with L_s = Z_s Z_s' as a proposal for V_s, the geometric mean
# of V's eigenvalues is at least exp(sum_s w_s ln det L_s / (k - 1)) (k - 1) / (kappa lambda.1), by
# the concavity of ln det. Nothing is assumed of w, Z and lambda: a solver's inaccuracy weakens the
# bound, but cannot falsify it.


@dataclass(frozen=True, eq=False)
class Dual:
    """Weights (s,); Z (G - 1, r) and z (G,) of each scenario; lambda.S = level + slope.T."""

    weights: Array
    Z: tuple[Array, ...]
    z: tuple[Array, ...]  # what Z is on the directions within the groups
    level: float
    slope: Array

    def prices(self, cone: Cone, columns: Columns) -> Array:
        """d(S) of each column, shape (N,)."""
        out = np.zeros(len(columns))
        parts = zip(self.weights, cone.scenarios, self.Z, self.z, strict=True)
        for weight, (m, _, within), Z, z in parts:
            if weight > 0.0:
                square = ((columns.T @ Z) ** 2).sum(axis=1) + columns.W @ (within * z**2)
                out += weight * square / columns.mass[:, m]
        return out

    def ratios(self, cone: Cone, columns: Columns) -> Array:
        """d(S) / (lambda.S), shape (N,); inf where lambda.S is not positive."""
        limit, price = self.level + columns.T @ self.slope, self.prices(cone, columns)
        safe = np.where(limit > 0.0, limit, 1.0)
        return np.where(limit > 0.0, price / safe, np.inf)

    def tightened(self, cone: Cone, columns: Columns) -> Dual:
        """With the least lambda.1 for which no column has a ratio above one; or as it is."""
        from scipy.optimize import linprog

        price = self.prices(cone, columns)
        top = max(float(price.max()), 1e-300)
        size = np.maximum(np.abs(columns.T).max(axis=0, initial=0.0), 1e-300)
        rows = np.column_stack([np.ones(len(columns)), columns.T / size])
        length = np.abs(rows).max(axis=1)
        found = linprog(
            np.eye(rows.shape[1])[0],
            A_ub=-rows / length[:, None],
            b_ub=-price / top / length,
            bounds=(None, None),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            return self
        level, slope = float(found.x[0]), found.x[1:] / size
        return replace(self, level=top * level, slope=top * slope)

    def bound(self, cone: Cone, kappa: float) -> float:
        """The least loss of any channel, if no column has a ratio above kappa."""
        if not (0.0 < kappa < np.inf) or self.level <= 0.0:
            return 0.0
        kappa = kappa / float(self.weights.sum())  # as if the weights added up to one
        parts = zip(self.weights, cone.scenarios, self.Z, self.z, strict=True)
        if cone.goal.kind == "D":
            k1 = cone.goal.k - 1
            total = 0.0
            for weight, (_, _, within), Z, z in parts:
                inner = within > 0.0
                total += weight * 2.0 * np.linalg.slogdet(Z)[1]
                total += weight * 2.0 * (within[inner] * np.log(z[inner])).sum()
            log_det = float(total / self.weights.sum())
            return float(np.exp(log_det / k1) * k1 / (kappa * self.level))
        value = sum(w * ((A * Z).sum() + within @ z) for w, (_, A, within), Z, z in parts)
        return float((value / self.weights.sum()) ** 2 / (kappa * self.level))


# -- The privacy that is asked for: a number, an epsilon of each category, or of each pair --------


_SHAPES = "a number, an epsilon of each category, or a square table of the epsilon of each pair"


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of ``ln Q[x, y] / Q[x', y]`` for every report y that reveals nobody."""

    pairs: Array  # (k, k), closed by shortest paths, zero on the diagonal
    kind: str  # "one": all alike; "own": those of a row alike; or "pairs"

    @property
    def own(self) -> Array:
        """The largest limit of each category, shape (k,)."""
        return np.asarray(self.pairs.max(axis=1))

    @property
    def least(self) -> float:
        """The strictest limit of two categories."""
        return float(self.pairs[~np.eye(len(self.pairs), dtype=bool)].min())

    def excess(self, Q: Array, open_: Array) -> float:
        """By how much a channel exceeds its limits at most, in nats; negative where it is inside.

        A report that only one category makes is no breach if that category is open, (k,) of bool.
        """
        made = Q > 0.0
        alone = (made.sum(axis=0) == 1) & open_[made.argmax(axis=0)]
        Q = Q[:, ~alone & made.any(axis=0)]
        with np.errstate(divide="ignore"):
            logs = np.log(Q)
        worst = -np.inf
        for x in range(len(Q)):
            with np.errstate(invalid="ignore"):
                over = (logs[x] - logs).max(axis=1, initial=-np.inf) - self.pairs[x]
            over[x] = -np.inf
            worst = max(worst, float(np.nan_to_num(over, nan=np.inf).max()))
        return worst


def privacy_limits(epsilon: object, labels: pd.Index[Any], sensitive: object = None) -> Limits:
    """Check epsilon of `design_channel`; `sensitive` only for a mapping that names only those."""
    k = len(labels)
    if isinstance(epsilon, pd.DataFrame):
        rows = [align("epsilon", epsilon.iloc[:, i], labels) for i in range(epsilon.shape[1])]
        if len(rows) != k:
            shown = f"table of shape {epsilon.shape}"
            raise InvalidArgument("epsilon", shown, f"must be {_SHAPES}")
        places = encode("epsilon", list(epsilon.columns), labels)[0]
        if np.unique(places).size != places.size:
            raise InvalidArgument("epsilon", list(epsilon.columns), "must name each category once")
        table = np.array(rows)[np.argsort(places)].T
        return _of_pairs(numbers("epsilon", table, f"must be {_SHAPES}"))
    if isinstance(epsilon, Mapping):
        codes = encode("epsilon", list(epsilon), labels)[0]
        values = [positive_epsilon(f"epsilon[{n!r}]", v) for n, v in epsilon.items()]
        if np.unique(codes).size != codes.size or not values:
            raise InvalidArgument("epsilon", dict(epsilon), "must name each category once")
        own = np.full(k, np.nan)
        own[codes] = values
        free = np.ones(k, dtype=bool)
        free[sensitive_places(sensitive, labels)] = False
        own[np.isnan(own) & free] = max(values)
        if np.isnan(own).any():
            lacking = labels[int(np.argmax(np.isnan(own)))]
            raise InvalidArgument("epsilon", dict(epsilon), f"lacks the category {lacking!r}")
        return _of_rows(own)
    if isinstance(epsilon, pd.Series | list | tuple) or (
        isinstance(epsilon, np.ndarray) and epsilon.ndim
    ):
        given = numbers("epsilon", align("epsilon", epsilon, labels), f"must be {_SHAPES}")
        if given.ndim == 2:
            return _of_pairs(given)
        if given.shape != (k,):
            shown = f"array of shape {given.shape}"
            raise InvalidArgument("epsilon", shown, f"must be {_SHAPES}: here {k} numbers")
        return _of_rows(given)
    value = epsilon.item() if isinstance(epsilon, np.ndarray) else epsilon
    return _of_rows(np.full(k, positive_epsilon("epsilon", value)))


def _of_rows(own: Array) -> Limits:
    own = np.array([positive_epsilon(f"epsilon[{x}]", v) for x, v in enumerate(own.tolist())])
    pairs = np.broadcast_to(own[:, None], (own.size, own.size)).copy()
    np.fill_diagonal(pairs, 0.0)
    return Limits(pairs, "one" if np.ptp(own) == 0.0 else "own")


def sensitive_places(sensitive: object, labels: pd.Index[Any]) -> Array:
    """Codes of the categories to protect: all of them where none are named."""
    if sensitive is None:
        return np.arange(len(labels))
    codes = sensitive_codes(sensitive, labels)
    if not codes.size:
        raise InvalidArgument(
            "sensitive", sensitive, "must name a category: with none the answers need no mechanism"
        )
    return codes


def _of_pairs(given: Array) -> Limits:
    """Close a table of limits by shortest paths, and check it."""
    low, high = EPSILON_RANGE
    k = len(given)
    if given.shape != (k, k) or k < 2:
        raise InvalidArgument("epsilon", f"array of shape {given.shape}", f"must be {_SHAPES}")
    off = ~np.eye(k, dtype=bool)
    if np.isnan(given).any() or (given < 0.0).any():
        raise InvalidArgument("epsilon", given.tolist(), "must hold limits of at least 0, in nats")
    if np.diag(given).any():
        raise InvalidArgument("epsilon", np.diag(given).tolist(), "must be 0 on the diagonal")
    pairs = given.copy()
    for via in range(k):
        pairs = np.minimum(pairs, pairs[:, [via]] + pairs[via])
    np.fill_diagonal(pairs, 0.0)
    if not (pairs[off] <= high).all():
        remedy = f"must limit every pair, by itself or through others, to at most {high:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    if ((pairs + pairs.T)[off] < low).any():
        x, z = np.argwhere(((pairs + pairs.T) < low) & off)[0]
        remedy = f"makes the categories {x} and {z} the same: allow them at least {low:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    rows = np.where(off, pairs, -np.inf).max(axis=1)
    alike = (np.where(off, pairs, rows[:, None]) == rows[:, None]).all() and (rows > 0.0).all()
    kind = "pairs" if not alike else "one" if np.ptp(rows) == 0.0 else "own"
    return Limits(pairs, kind)


# -- What a channel is judged by: a loss of the covariance of the estimates, at one prior or several
# The covariance of n efficient estimates is V / n, with V = B (B'JB)^-1 B' on the space of vectors
# that sum to zero, J = sum_y q_y q_y' / (p.q_y) the information of one report, and B an orthonormal
# basis of that space. A loss is the largest of some quadratic forms tr A'VA, one a prior (the
# total, contrasts) or one a prior and category ("worst"), or the geometric mean of V's eigenvalues
# ("D").


_RANK = 1e-11  # relative to the largest: eigenvalues below count as zero
_SEEN = 1e-7  # by which a contrast may leave the range of J, relatively, and still be estimated


@dataclass(frozen=True, eq=False)
class Goal:
    """A loss."""

    kind: str
    priors: Array
    contrasts: Array | None = None

    @property
    def k(self) -> int:
        return int(self.priors.shape[1])


def tangent_basis(root: Array) -> Array:
    """Basis (G, G - 1) orthogonal to `root` > 0 (G,): the reflection that maps it to an axis."""
    G = root.size
    v = root / np.linalg.norm(root)
    v = v + np.eye(G)[0]  # v[0] > 0: no cancellation
    return np.asarray((np.eye(G) - 2.0 * np.outer(v, v) / (v @ v))[:, 1:])


def loss_of_matrix(Q: Array, goal: Goal) -> float:
    """The loss of a channel, shape (k, l), for one respondent; inf where it is not estimated."""
    Q = Q[:, Q.any(axis=0)]
    level = Q.mean(axis=0)
    B = tangent_basis(np.ones(len(Q)))
    T = B.T @ (Q - level)
    if goal.kind == "contrasts":
        forms = [goal.contrasts]
    elif goal.kind == "worst":
        forms = [np.eye(goal.k)[:, [x]] for x in range(goal.k)]
    else:
        forms = [np.eye(goal.k)]
    losses = []
    for p in goal.priors:
        mass = p @ Q
        with np.errstate(divide="ignore"):
            scaled = np.where(mass > 0.0, T / np.sqrt(np.where(mass > 0.0, mass, 1.0)), 0.0)
        U, s, _ = np.linalg.svd(scaled, full_matrices=scaled.shape[1] < len(scaled))
        values = np.zeros(len(T))
        values[: s.size] = s**2
        seen = values > _RANK * max(values[0], 1e-300)
        if not seen.all() and goal.kind != "contrasts":
            return np.inf
        if goal.kind == "D":
            losses.append(float(np.exp(-np.log(values).mean())))
            continue
        turned = [U.T @ (B.T @ A) for A in forms]
        if any(np.linalg.norm(a[~seen]) > _SEEN * np.linalg.norm(a) for a in turned):
            return np.inf
        losses.append(max(float((a[seen] ** 2 / values[seen, None]).sum()) for a in turned))
    return max(losses)
