"""The best columns of a channel: a convex programme over all that a privacy limit allows.

Every report's column Q[., y] obeys ``Q[x, y] <= e^c_xx' Q[x', y]``, and is a sum of extreme rays of
these columns. With one limit for each category they are staircases: some categories at e^eps_x, the
others at 1. Categories that are not protected also have columns that reveal them. Columns that
differ by a permutation of like categories (same prior, limit and weight in the loss) are an orbit,
of which one is listed: with a uniform prior there are k - 1.

The covariance of n efficient estimates is V / n, V = B (B'JB)^-1 B' on the vectors that sum to zero
and J = sum_y q_y q_y' / (p.q_y). A loss is the largest of some forms tr A'VA, or, for "D", the
geometric mean of V's eigenvalues. A column is scaled to the mean 1, and theta is the law of the
columns. What is needed of an orbit is its mass p.S; T, its mean over the orbit in a basis of the
group means orthogonal to 1; and W, for each group its mean square along one direction within it.

The certificate: take weights w_s of the scenarios (a prior and a matrix A_s), matrices Z_s whose
columns sum to zero, and a vector lambda with d(S) = sum_s w_s |Z_s'S|^2 / (p_s.S) <= kappa lambda.S
for all columns S that the privacy allows. Then every channel has

    max_s tr A_s' V_s A_s  >=  (sum_s w_s tr A_s' Z_s)^2 / (kappa lambda.1),

because tr A'VA >= 2 t tr A'Z - t^2 tr Z'JZ for every t. For "D", with L_s = Z_s Z_s', the geometric
mean is at least exp(sum_s w_s ln det L_s / (k - 1)) (k - 1) / (kappa lambda.1). Nothing is assumed
of w and Z: a solver's inaccuracy weakens the bound, but cannot falsify it.

The law solves a programme with A'VA <= U as the matrix inequality [[J, A], [A', U]] >= 0 and the
loss tr U; the multipliers of the losses are w, those of the matrices hold Z.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
from math import comb, fsum, prod
from typing import Any

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.errors import NotConverged

_MOST = 1 << 12  # orbits that are listed: all of 12 categories that differ
_RANK = 1e-11  # relative to the largest: eigenvalues below count as zero
_SEEN = 1e-7  # by which a contrast may leave the range of J, relatively, and still be estimated


@record
class Goal:
    """A loss: its kind, priors (m, k), and contrasts (k, q)."""

    kind: str
    priors: Array
    contrasts: Array | None = None

    @property
    def k(self) -> int:
        return int(self.priors.shape[1])


# -- Columns, and what they lose ------------------------------------------------------------------


@record
class Columns:
    """One of each orbit, ``S = base + above``: base (N,), above (N, k), codes of groups (k,)."""

    goal: Goal
    codes: Array
    base: Array
    above: Array

    def take(self, at: Array) -> Columns:
        return replace(self, base=self.base[at], above=self.above[at])

    @cached_property
    def sizes(self) -> Array:
        return np.bincount(self.codes)

    @cached_property
    def level(self) -> Array:
        """Mean of each column as it is listed, (N,)."""
        return np.asarray(self.base + self.above.mean(axis=1))

    @cached_property
    def _basis(self) -> Array:
        """Basis (G, G - 1) orthogonal to the roots of `sizes`, which it reflects to an axis."""
        root, one = np.sqrt(self.sizes), np.eye(self.sizes.size)
        v = root / np.linalg.norm(root) + one[0]  # v[0] > 0: no cancellation
        return np.asarray((one - 2.0 * np.outer(v, v) / (v @ v))[:, 1:])

    @cached_property
    def _sums(self) -> Array:
        """Sums of `above` over the groups, (N, G)."""
        return self.above @ np.eye(self.sizes.size)[self.codes]

    @cached_property
    def T(self) -> Array:
        return (self._sums / self.level[:, None] / np.sqrt(self.sizes)) @ self._basis

    @cached_property
    def W(self) -> Array:
        inside = self.above - (self._sums / self.sizes)[:, self.codes]
        square = inside**2 @ np.eye(self.sizes.size)[self.codes] / np.maximum(self.sizes - 1.0, 1.0)
        return np.asarray(np.where(self.sizes > 1, square, 0.0) / self.level[:, None] ** 2)

    @cached_property
    def mass(self) -> Array:
        """Probability of each column under each prior, (N, m)."""
        return (
            np.asarray(self.base[:, None] + self.above @ self.goal.priors.T) / self.level[:, None]
        )

    @cached_property
    def scenarios(self) -> list[tuple[int, Array, Array]]:
        """Prior, A of shape (G - 1, r), and weight of the directions within each group, (G,)."""
        goal, B, sizes = self.goal, self._basis, self.sizes
        within, one = sizes - 1.0, np.eye(sizes.size)
        first = np.unique(self.codes, return_index=True)[1]
        forms = [(np.eye(sizes.size - 1), within)]
        if goal.contrasts is not None:
            forms = [(B.T @ (goal.contrasts[first] * np.sqrt(sizes)[:, None]), 0.0 * within)]
        elif goal.kind == "worst":
            groups = range(sizes.size)
            forms = [
                (B.T @ one[:, [g]] / sizes[g] ** 0.5, (one * within / sizes)[g]) for g in groups
            ]
        return [(m, *form) for m in range(len(goal.priors)) for form in forms]

    def loss(self, theta: Array) -> float:
        """The loss of the channel that has these orbits with probabilities theta, (N,)."""
        losses, used = [], theta > 0.0
        for m, A, within in self.scenarios:
            weight = theta[used] / self.mass[used, m]
            root = self.T[used] * np.sqrt(weight)[:, None]
            _, s, R = np.linalg.svd(root, full_matrices=len(root) < root.shape[1])
            values = np.zeros(root.shape[1])
            values[: s.size] = s**2
            inner = within > 0.0
            omega, within = (weight @ self.W[used])[inner], within[inner]
            seen = values > _RANK * max(values.max(initial=0.0), omega.max(initial=0.0), 1e-300)
            turned = R @ A
            if (omega <= 0.0).any() or np.linalg.norm(turned[~seen]) > _SEEN * np.linalg.norm(A):
                return np.inf
            if self.goal.kind == "D":
                total = -np.log(values).sum() - (within * np.log(omega)).sum()
                losses.append(float(np.exp(total / (self.goal.k - 1))))
            else:
                total = (turned[seen] ** 2 / values[seen, None]).sum()
                losses.append(float(total + (within / omega).sum()))
        return max(losses)

    def balanced(self, theta: Array) -> bool:
        """Whether the rows of a channel with this law sum to one, nearly."""
        return bool(np.abs(self.T.T @ theta).max(initial=0.0) <= _BALANCED * theta.sum())

    @cached_property
    def _orbits(self) -> list[list[tuple[Array, int]]]:
        """The categories of each group, and how many of them are high in each column."""
        groups = [np.flatnonzero(self.codes == g) for g in range(self.sizes.size)]
        return [[(at, int((row[at] > row[at].min()).sum())) for at in groups] for row in self.above]

    @property
    def reports(self) -> list[int]:
        """Number of columns of each orbit."""
        return [prod(comb(len(at), high) for at, high in groups) for groups in self._orbits]

    def expanded(self, theta: Array) -> tuple[Array, Array]:
        """All columns of the orbits, of mean 1, shape (k, l), and their law, (l,)."""
        columns = []
        for base, above, level, groups in zip(
            self.base, self.above, self.level, self._orbits, strict=True
        ):
            for parts in product(*(combinations(at, high) for at, high in groups)):
                S = above.copy()
                for (at, _), up in zip(groups, parts, strict=True):
                    S[at], top = above[at].min(), above[at].max()
                    S[list(up)] = top
                columns.append((base + S) / level)
        sizes = self.reports
        return np.array(columns).T, np.repeat(theta / np.array(sizes, dtype=float), sizes)


def of_matrix(S: Array, goal: Goal) -> Columns:
    """Columns S, (k, N), whose categories all differ."""
    base = S.min(axis=0)
    return Columns(goal, np.arange(len(S)), base, (S - base).T)


def loss_of_matrix(Q: Array, goal: Goal) -> float:
    """The loss of a channel, shape (k, l), for one respondent; inf where it is not estimated."""
    columns = of_matrix(Q[:, Q.any(axis=0)], goal)
    return columns.loss(columns.level)


def staircases(goal: Goal, own: Array, open_: Array) -> Columns | None:
    """All staircases with own limits (k,), and columns that reveal; None if they are too many."""
    weights = np.zeros((0, goal.k)) if goal.contrasts is None else goal.contrasts.T
    keys = np.vstack([goal.priors, own, open_, weights]).T
    _, first, codes = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes.reshape(-1)]  # in the order of first categories
    sizes = np.bincount(codes)
    if prod((sizes + 1).tolist()) > _MOST:
        return None
    # How many are high in each group; none, and all, are no extreme rays
    counts = np.stack(np.unravel_index(np.arange(1, np.prod(sizes + 1) - 1), sizes + 1), axis=1)
    rank = np.array([np.sum(codes[:x] == codes[x]) for x in range(goal.k)])
    above = (rank < counts[:, codes]) * np.expm1(own)
    shown = np.eye(goal.k)[(rank == 0) & open_]
    base = np.repeat([1.0, 0.0], [len(above), len(shown)])
    return Columns(goal, codes, base, np.concatenate([above, shown]))


# -- The certificate, and the programme by cvxpy --------------------------------------------------


# Weights of the scenarios; Z (G - 1, r) and z (G,), on the directions within groups, of each
Dual = tuple[Array, list[Array], list[Array]]


def certificate(columns: Columns, dual: Dual) -> tuple[float, Array]:
    """A bound on the loss of all channels of these columns, and d(S) / (lambda.S), (N,)."""
    from scipy.optimize import linprog

    T, k1, logs = columns.T, columns.goal.k - 1, columns.goal.kind == "D"
    price, value = np.zeros(len(T)), 0.0
    for weight, (m, A, within), Z, z in zip(dual[0], columns.scenarios, *dual[1:], strict=True):
        square = ((T @ Z) ** 2).sum(axis=1) + columns.W @ (within * z**2)
        price += weight * square / columns.mass[:, m]
        if logs:
            inner = within > 0.0
            log_det = np.linalg.slogdet(Z)[1] + within[inner] @ np.log(z[inner])
            value += 2.0 / k1 * weight * log_det
        else:
            value += weight * ((A * Z).sum() + within @ z)
    # the lambda of least lambda.1 with lambda.S >= d(S)
    top = max(float(price.max()), 1e-300)
    size = np.maximum(np.abs(T).max(axis=0, initial=0.0), 1e-300)
    rows = np.column_stack([np.ones(len(T)), T / size])
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
        return 0.0, price / top
    limit, level = top * (rows @ found.x), top * float(found.x[0])
    ratios = np.where(limit > 0.0, price / np.where(limit > 0.0, limit, 1.0), np.inf)
    total = float(dual[0].sum())  # as if the weights summed to one
    kappa = float(ratios.max()) / total
    if not 0.0 < kappa < np.inf or level <= 0.0:
        return 0.0, ratios
    best = np.exp(value / total) * k1 if logs else (value / total) ** 2
    return float(best / (kappa * level)), ratios


_NOTHING = 1e-7  # weight of a scenario, relative to the largest, that does not matter


def _solved(columns: Columns) -> tuple[Array, Dual]:
    """Optimal probabilities of these columns, (N,), and the dual."""
    import cvxpy

    cp: Any = cvxpy  # much of it has no types

    # Columns scaled so that they differ from constant ones by as much: at a small epsilon
    # staircases are almost constant, and reveal with a probability of its order; and coordinates
    # (R, s) in which all directions are of like size, under each prior where some are rare.
    T, W, N = columns.T, columns.W, len(columns.base)
    G1, logs = T.shape[1], columns.goal.kind == "D"
    lengths = np.sqrt((T**2).sum(axis=1) + W.sum(axis=1))
    typical = max(float(np.median(lengths)), 1e-300)
    level = np.minimum(1.0, typical / np.maximum(lengths, typical))

    def alike(weights: Array) -> tuple[Array, Array]:
        value, turn = np.linalg.eigh(T.T @ (weights[:, None] * T) / N)
        most = max(float(value.max(initial=0.0)), 1e-300)
        s = np.sqrt(weights @ W / N)
        # directions that no column sees are left
        return turn / np.sqrt(np.where(value > 1e-13 * most, value, most)), np.where(s > 0.0, s, 1)

    R, s = alike(level)
    even = columns.loss(np.full(N, 1.0 / N))  # these need not balance: only a size
    scale = 1.0 / even if 0.0 < even < np.inf else 1.0
    # The law is level * theta; J is R'JR here, A is R'A, and the loss and A'VA are times the scale
    theta, least = cp.Variable(N, nonneg=True), cp.Variable()
    rules: list[Any] = [level @ theta == 1.0]
    if G1:
        rules.append((level[:, None] * T @ R).T @ theta == 0.0)
    limits, matrices, turns = [], [], []
    for m, A, within in columns.scenarios:
        inner, loss = within > 0.0, 0.0
        if not logs:  # whose determinants are compared
            R, s = alike(1.0 / columns.mass[:, m])
        turns.append(R)
        products = level[:, None, None] * (T @ R)[:, :, None] * (T @ R)[:, None, :]
        share = cp.multiply(theta, 1.0 / columns.mass[:, m])
        if G1:
            J = cp.reshape(products.reshape(N, -1).T @ share, (G1, G1), order="C")
            if logs:
                loss -= cp.log_det(J)
            else:
                U, A = cp.Variable((A.shape[1],) * 2, symmetric=True), np.sqrt(scale) * R.T @ A
                matrices.append(cp.bmat([[J, A], [A.T, U]]) >> 0)
                loss += cp.trace(U)
        if inner.any():
            omega = (level[:, None] * W / s**2)[:, inner].T @ share
            size = (within if logs else scale * within / s**2)[inner]
            loss += size @ (-cp.log(omega) if logs else cp.inv_pos(omega))
        limits.append(loss <= least)
    problem = cp.Problem(cp.Minimize(least), rules + limits + matrices)
    with warnings.catch_warnings():  # of inaccuracy, which the certificate measures
        warnings.simplefilter("ignore")
        for asked in (dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10), {}):
            with suppress(cp.SolverError):  # with its own, coarser tolerances, then
                problem.solve(solver=cp.CLARABEL, **asked)
                break
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise NotConverged(f"the solver did not find a design ({problem.status})")
    law = level * np.maximum(theta.value, 0.0)
    weights = np.abs(np.array([float(limit.dual_value) for limit in limits]))
    weights = np.where(weights > _NOTHING * weights.max(), weights, 0.0)
    Zs, zs = [], []
    for i, (m, _, within) in enumerate(columns.scenarios):
        share = law / columns.mass[:, m]
        if logs:
            Z = np.linalg.cholesky(np.linalg.inv(T.T @ (share[:, None] * T)))
        elif G1 and weights[i] > 0.0:
            Z = turns[i] @ matrices[i].dual_value[:G1, G1:] / (-np.sqrt(scale) * weights[i])
        else:
            Z = np.zeros(columns.scenarios[i][1].shape)
        omega = np.where(within > 0.0, share @ W, 1.0)
        Zs.append(Z)
        zs.append(np.where(within > 0.0, omega ** (-0.5 if logs else -1.0), 0.0))
    return law, (weights, Zs, zs)


_ALL_AT_ONCE = 300  # columns that are solved for without pricing
_FIRST, _MORE = 150, 80  # of more, those that are solved for first, and added at a time
_ROUNDS = 40
_CLOSE = 5e-8  # gap at which the search ends
_BALANCED = 1e-8  # by which the rows of Q may differ from one
_WORSE = 1e-7  # relative loss that fewer columns may cost


def best_law(columns: Columns) -> tuple[Columns, Array, float]:
    """Columns and their probabilities, of the least loss, and a bound on that of any channel."""
    from scipy.optimize import linprog

    N, bound, best = len(columns.base), 0.0, None
    at = np.arange(N)
    if N > _ALL_AT_ONCE:
        # Begin with the columns that look most informative, and with some whose rows can balance
        length = np.sqrt((columns.T**2).sum(axis=1) + columns.W.sum(axis=1))
        first = np.argsort(-length, kind="stable")[:_FIRST]
        rows = np.vstack([np.ones(N), (columns.T / length[:, None]).T])
        law = linprog(-length / length.max(), A_eq=rows, b_eq=np.eye(len(rows))[0]).x
        at = np.union1d(first, np.flatnonzero(law > 0.0))
    for turn in range(_ROUNDS):
        part = columns.take(at)
        theta, dual = _solved(part)
        loss = part.loss(theta)
        lower, ratios = certificate(columns, dual)
        bound = max(bound, lower)
        if best is None or loss < best[2]:
            best = part, theta, loss
        new = np.setdiff1d(np.argsort(-ratios, kind="stable")[:_MORE], at)
        if bound >= (1.0 - _CLOSE) * best[2] or not new.size:
            break
        at = np.union1d(at[theta > 1e-7 * theta.max()] if turn < 3 else at, new)
    assert best is not None
    found, theta, loss = best
    # Of these as few as a threshold on their probabilities leaves
    for threshold in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        kept = theta > threshold * theta.max()
        part = found.take(kept)
        with suppress(NotConverged, np.linalg.LinAlgError):
            law, dual = _solved(part)
            law, bound = law / law.sum(), max(bound, certificate(columns, dual)[0])
            if part.balanced(law) and part.loss(law) <= loss * (1.0 + _WORSE):
                return part, law, bound
    kept = theta > 1e-9 * theta.max()
    return found.take(kept), theta[kept], bound


# -- Fewer columns, and a channel of them ---------------------------------------------------------


def fewer_reports(S: Array, theta: Array, goal: Goal, most: int) -> Array | None:
    """A channel with at most `most` reports, of these columns (k, l); None if none was found."""
    columns, law = of_matrix(S, goal), theta
    while law.size > most:  # the least probable columns are left out, and the rest weighted anew
        order = np.argsort(-law, kind="stable")[::-1]
        several = law.size - max(most, int(0.8 * law.size)) if law.size > most + 4 else 1
        for gone in (order[:several], *order[:, None]):  # or the next, without which it can be done
            part = columns.take(np.delete(np.arange(law.size), gone))
            try:
                weights, _ = _solved(part)
            except (NotConverged, np.linalg.LinAlgError):
                continue
            if part.balanced(weights):
                used = weights > 1e-7 * weights.max()
                columns, law = part.take(used), weights[used]
                break
        else:
            return None
    return channel_of((columns.base[:, None] + columns.above).T / columns.level, law)


def channel_of(S: Array, theta: Array) -> Array:
    """Q, shape (k, l), from columns S of mean 1 and their probabilities, shape (l,)."""
    # The probabilities change as little as possible, relatively, so that the rows sum to one. What
    # is then left, below rounding or where few columns cannot balance, goes with a constant to the
    # largest column, which brings its entries closer to one another: no limit is exceeded.
    S, theta = S[:, theta > 0.0], theta[theta > 0.0]
    weights = theta / theta.sum()
    for _ in range(4):
        scaled = S * weights
        # the least |change / weights| with S change = rest
        change = np.linalg.lstsq(scaled, 1.0 - scaled.sum(axis=1), rcond=1e-12)[0]
        weights = weights * np.maximum(1.0 + change, 0.5)
    Q = S * weights
    for _ in range(4):
        rest = np.array([fsum([1.0, *(-row).tolist()]) for row in Q])
        if not rest.any():
            break
        largest = int(np.argmax(Q.min(axis=0)))
        column = Q[:, largest]
        low = float(column.min())
        if low <= 0.0 or np.ptp(rest) == 0.0:
            Q = Q / Q.sum(axis=1, keepdims=True)
            continue
        # the constant c with (high + rest + c) / (low + rest + c) <= high / low
        spread = float(np.log(column.max() / low))
        c = 4.0 * float(np.abs(rest).max()) / max(np.expm1(min(spread, 1.0)), 1e-300)
        if c >= 1.0:
            raise NotConverged("the probabilities that the solver found do not make a channel")
        Q = Q * (1.0 - c)
        Q[:, largest] += c + rest * (1.0 - c)
    return np.asarray(Q)


# -- Extreme rays of the columns q with ``q_x <= e^c_xx' q_x'``, where every pair has its own limit


_MANY = 10  # categories up to which every pair may have a limit that no others imply


def extreme_rays(goal: Goal, limits: Array, open_: Array) -> Columns | None:
    """Rays, and columns that reveal; limits (k, k). None if they are too many to be listed."""
    from scipy.spatial import HalfspaceIntersection

    # In v = ln q, with v_0 = 0, the limits v_x - v_x' <= c_xx' are a polytope of these corners
    k, one = len(limits), np.eye(len(limits))
    if k > 12:
        return None
    through = np.where(one[:, :, None] + one[None] > 0, np.inf, limits[:, :, None] + limits[None])
    x, z = np.nonzero((limits < through.min(axis=1) * (1.0 - 1e-12)) & (one == 0.0))
    if k > _MANY and x.size > 4 * k:
        return None
    logs = limits.T  # of two categories
    if k > 2:
        planes = np.column_stack([(one[x] - one[z])[:, 1:], -limits[x, z]])
        inside = limits.mean(axis=1) - limits[0].mean()
        logs = np.insert(HalfspaceIntersection(planes, inside[1:]).intersections, 0, 0.0, axis=1)
    logs = (logs[:, None] + limits).min(axis=2)  # inside, whatever was rounded
    logs = logs - logs.max(axis=1, keepdims=True)
    logs = logs[np.unique(np.rint(logs * 1e8), axis=0, return_index=True)[1]]
    return of_matrix(np.concatenate([np.exp(logs), one[open_]]).T, goal)
