"""Explicit columns for a design: whole orbits where they are few, else some that do as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotConverged
from ldpstats.planning.best.cones import Columns, Cone, Rays, Staircases
from ldpstats.planning.best.goals import Goal, loss_of_matrix
from ldpstats.planning.best.polish import channel_of
from ldpstats.planning.best.search import Found, master

__all__ = ["explicit", "few", "merged", "sampled", "supported"]

Array = npt.NDArray[Any]

_ENTRIES = 1 << 19  # of a channel that is written out
_WORSE = 1e-7  # relative loss that fewer columns may cost
_THRESHOLDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def supported(cone: Cone, found: Found) -> Found:
    """The same optimum with as few columns as a threshold on their probabilities leaves."""
    columns, theta = found.columns, found.theta
    loss = cone.loss(columns, theta)
    for threshold in _THRESHOLDS:
        at = np.flatnonzero(theta > threshold * theta.max())
        if at.size == len(columns):
            continue
        kept = columns.take(at)
        try:
            laws = [master(cone, kept)[0], theta[at]]
        except (NotConverged, np.linalg.LinAlgError):
            laws = [theta[at]]  # what was left out may be no more than the solver's rest
        for law in (law / law.sum() for law in laws):
            if _balanced(kept, law) and cone.loss(kept, law) <= loss * (1.0 + _WORSE):
                return Found(kept, law, found.bound)
    at = np.flatnonzero(theta > 1e-9 * theta.max())
    return Found(columns.take(at), theta[at], found.bound)


def _balanced(columns: Columns, theta: Array) -> bool:
    return bool(np.abs(columns.T.T @ theta).max(initial=0.0) <= 1e-8)


def explicit(cone: Staircases | Rays, found: Found) -> tuple[Array, Array] | None:
    """Columns of mean 1, shape (k, l), and probabilities; None where they are too many."""
    sizes = [cone.orbit_size(row) for row in found.columns.members]
    if sum(sizes) * cone.codes.size > _ENTRIES:
        return None
    parts = [cone.orbit(row) for row in found.columns.members]
    S = np.concatenate(parts, axis=1)
    law = np.repeat(found.theta / np.array(sizes), sizes)
    return S / S.mean(axis=0), law


def few(S: Array, theta: Array, goal: Goal, most: int) -> Array | None:
    """A channel with at most `most` of these columns; None where none was found.

    First as many are left out as the information of the full channel allows (a vertex of all laws
    with that information); then those with the smallest probabilities, and the rest are weighted
    anew.
    """
    cone = Rays(np.arange(len(S)), goal, np.zeros(len(S), dtype=bool), S.T)
    columns = cone.columns(cone.every())
    at = np.arange(len(columns))
    while at.size > most:
        keep = max(most, int(0.8 * at.size)) if at.size > most + 4 else at.size - 1
        order = np.argsort(-theta, kind="stable")[:keep]
        next_ = _weighted(cone, columns.take(at[order]))
        if next_ is None:
            return None
        at, theta = at[order], next_
        used = theta > 1e-7 * theta.max()
        at, theta = at[used], theta[used]
    Q = channel_of(S[:, at], theta)
    return Q if loss_of_matrix(Q, goal) < np.inf else None


def _weighted(cone: Rays, columns: Columns) -> Array | None:
    try:
        theta, _ = master(cone, columns)
    except (NotConverged, np.linalg.LinAlgError):
        return None
    theta = theta / theta.sum()
    return theta if _balanced(columns, theta) else None


def merged(Q: Array, goal: Goal, most: int) -> Array:
    """Join reports, two at a time with the least loss of information, until they are few enough."""
    p = goal.priors.mean(axis=0)
    while Q.shape[1] > most:
        mass = p @ Q
        shape = (Q / mass) * np.sqrt(1.0 / np.maximum(p, 1e-12))[:, None] * p[:, None]
        gram = shape.T @ shape
        distance = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
        cost = distance * (mass[:, None] * mass) / (mass[:, None] + mass)
        np.fill_diagonal(cost, np.inf)
        i, j = divmod(int(cost.argmin()), len(cost))
        Q = np.column_stack([np.delete(Q, [i, j], axis=1), Q[:, i] + Q[:, j]])
    return Q


def sampled(cone: Staircases, found: Found, count: int) -> tuple[Array, Array]:
    """Some columns of large orbits with the information of all of them, and probabilities.

    The laws of the columns with that information are a polytope; one of its vertices, of which a
    linear programme finds one, has at most k (k + 1) / 2 columns. The columns to choose from are
    spread evenly over the orbits.
    """
    from scipy.optimize import linprog

    parts = [_spread(cone, row, count) for row in found.columns.members]
    S = np.concatenate(parts, axis=1)
    S = S / S.mean(axis=0)
    sizes = [part.shape[1] for part in parts]
    k = cone.codes.size
    upper = np.triu_indices(k)
    rows, goals = [], []
    for p in cone.goal.priors:
        moment = np.array([np.outer(s, s)[upper] / (p @ s) for s in S.T]).T
        target = np.zeros(upper[0].size)
        for theta, part in zip(
            found.theta, np.split(moment, np.cumsum(sizes)[:-1], axis=1), strict=True
        ):
            target += theta * part.mean(axis=1)
        rows.append(moment)
        goals.append(_symmetrised(cone, target, upper))
    E, b = np.vstack([S, *rows]), np.concatenate([np.ones(k), *goals])
    cost = np.linspace(0.0, 1.0, S.shape[1]) % 0.37
    done = linprog(cost, A_eq=E, b_eq=b, bounds=(0, None), method="highs")
    if done.status != 0:
        raise NotConverged("no short list of reports has the information of the best channel")
    used = done.x > 0.0
    return S[:, used], done.x[used]


def _symmetrised(cone: Staircases, target: Array, upper: Any) -> Array:
    """The mean of a symmetric matrix over the permutations of like categories."""
    k, codes = cone.codes.size, cone.codes
    full = np.zeros((k, k))
    full[upper] = target
    full = full + np.triu(full, 1).T
    out = np.empty_like(full)
    for g in range(cone.G):
        for h in range(cone.G):
            block = np.ix_(codes == g, codes == h)
            part = full[block]
            if g == h and len(part) > 1:
                diagonal = np.trace(part) / len(part)
                rest = (part.sum() - np.trace(part)) / (len(part) * (len(part) - 1))
                out[block] = np.where(np.eye(len(part), dtype=bool), diagonal, rest)
            else:
                out[block] = part.mean()
    return np.asarray(out[upper])


def _spread(cone: Staircases, member: Array, count: int) -> Array:
    """Columns of one orbit: all of them where they are few, else some that are spread evenly.

    Turn t ranks the categories of a group by the fractional parts of t times the roots of primes.
    """
    if cone.orbit_size(member) <= count:
        return cone.orbit(member)
    where = [np.flatnonzero(cone.codes == g) for g in range(cone.G)]
    roots = np.sqrt(_primes(cone.codes.size))
    subsets: set[tuple[int, ...]] = set()
    for turn in range(1, 20 * count):
        rank = np.mod(turn * roots, 1.0)
        parts = [
            at[np.argsort(rank[at], kind="stable")[:n]].tolist()
            for at, n in zip(where, member.tolist(), strict=True)
        ]
        subsets.add(tuple(sorted(x for part in parts for x in part)))
        if len(subsets) >= count:
            break
    return cone.of_subsets(sorted(subsets))


def _primes(n: int) -> Array:
    """The first n primes."""
    found: list[int] = []
    number = 2
    while len(found) < n:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return np.array(found, dtype=np.float64)
