"""The columns that a channel may have: extreme rays of the cone that a privacy limit describes.

Every report's column Q[., y] obeys ``Q[x, y] <= e^eps_x Q[x', y]``. The extreme rays of these
columns are staircases: some categories at e^eps_x, the others at 1. Categories that are not to be
protected also have columns of their own, which reveal them. Where categories are alike (same prior,
limit and weight in the loss) only the number of high ones in a group matters, and a group of
columns that differ by a permutation of like categories is an orbit: one column of the programme.
For a limit of every pair the rays are listed (`vertices`).

A column is scaled to have the mean 1 over the categories. What the programme needs of the orbit of
S is, besides its mass p.S: T, the mean over the orbit on an orthonormal basis of the group means
that are orthogonal to 1, and W, for each group the mean square of S along one direction within it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.planning.best.goals import Goal, tangent_basis

__all__ = ["Columns", "Cone", "Rays", "Staircases", "groups_of"]

Array = npt.NDArray[Any]


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
        return max(self._losses(columns, theta))

    def _losses(self, columns: Columns, theta: Array) -> list[float]:
        found, used = [], theta > 0.0
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
                found.append(np.inf)
            elif self.goal.kind == "D":
                total = -np.log(values).sum() - (within[inner] * np.log(omega[inner])).sum()
                found.append(float(np.exp(total / (self.goal.k - 1))))
            else:
                total = (turned[seen] ** 2 / values[seen, None]).sum()
                found.append(float(total + (within[inner] / omega[inner]).sum()))
        return found

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
