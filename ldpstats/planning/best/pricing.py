"""Pricing: the column whose ratio d(S) / (lambda.S) is largest, which the bound rests on.

Up to some orbits are computed once and kept. More staircases are split in two halves of the groups:
all that a ratio needs is a sum over the halves, except for one product of matrices, so 2^30 columns
take seconds and little memory. Beyond, a local search finds good columns and certifies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.planning.best.certificate import Dual
from ldpstats.planning.best.cones import Columns, Cone, Rays, Staircases

__all__ = ["Kept", "Priced", "Split", "climbed"]

Array = npt.NDArray[Any]

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

    def bound(self, dual: Dual) -> float:
        """The least loss of any channel, by these dual variables."""
        return dual.bound(self.cone, float(dual.ratios(self.cone, self.columns).max()))


@dataclass(frozen=True, eq=False)
class Split:
    """All staircases of a cone, in two halves."""

    cone: Staircases

    @cached_property
    def cut(self) -> int:
        """The first group of the half that is held at once."""
        size, g = 1, self.cone.G
        while g > 1 and size * (int(self.cone.sizes[g - 1]) + 1) <= _LOW:
            g -= 1
            size *= int(self.cone.sizes[g]) + 1
        return g

    def _half(self, first: bool) -> Array:
        """Counts of high categories, (n, G), with zeros in the other half."""
        groups = slice(0, self.cut) if first else slice(self.cut, None)
        shape = (self.cone.sizes + 1)[groups]
        counts = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
        out = np.zeros((len(counts), self.cone.G), dtype=np.int16)
        out[:, groups] = counts
        return out

    def price(self, dual: Dual, count: int) -> Priced:
        high, low = self._half(True), self._half(False)
        terms = _Terms(self.cone, dual)
        held = terms.of(low)
        best, at = np.empty(len(high)), np.empty(len(high), dtype=np.int64)
        for start in range(0, len(high), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(high)))
            ratio = terms.ratios(terms.of(high[part]), held)
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
        h, sizes = cone.heights, cone.sizes
        ones = self._lower(dual, k)
        self.limit = (h * ones, dual.level)  # lambda.S of the categories that are high, and of 1
        self.mass = [(h * cone.prior[m], float(sizes @ cone.prior[m])) for m in self._priors()]
        self.roots, self.within = [], []
        to_T = (h / np.sqrt(sizes))[:, None] * cone.basis
        for m in self._priors():
            at = [s for s, scenario in enumerate(cone.scenarios) if scenario[0] == m]
            R = np.concatenate([np.sqrt(dual.weights[s]) * (to_T @ dual.Z[s]) for s in at], axis=1)
            if R.shape[1] > cone.G:
                values, vectors = np.linalg.eigh(R @ R.T)
                R = vectors * np.sqrt(values.clip(0.0))
            self.roots.append(R)
            self.within.append(
                sum(dual.weights[s] * cone.scenarios[s][2] * dual.z[s] ** 2 for s in at)
            )

    def _priors(self) -> list[int]:
        return sorted({m for m, _, _ in self.cone.scenarios})

    def _lower(self, dual: Dual, k: int) -> Array:
        """lambda of one category of each group, (G,)."""
        return np.asarray(
            dual.level / k + (self.cone.basis @ dual.slope) / np.sqrt(self.cone.sizes)
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


def climbed(cone: Staircases, dual: Dual, starts: Array, count: int) -> Priced:
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
        found = table[np.arange(len(now)), at]
        better = found > best * (1.0 + 1e-12)
        if not better.any():
            break
        now = np.where(better[:, None], now + moves[at], now)
        best = np.where(better, found, best)
        now, first = np.unique(now, axis=0, return_index=True)
        best = best[first]
    order = np.argsort(-best, kind="stable")[:count]
    return Priced(now[order], best[order], float(best.max()))
