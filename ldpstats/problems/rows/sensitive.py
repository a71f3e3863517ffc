"""Likelihood rows of reports whose bits are noised for sensitive categories only (uRAP)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.rows.base import Rows

__all__ = ["SensitiveRows"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class SensitiveRows(Rows):
    """Rows of reports that are bits of the sensitive categories, or reveal another category.

    A protected report has the likelihood of its bits under each sensitive category, and the same
    likelihood `leftover` times that of noise under all others. An invertible report has likelihood
    `told` under the category that it reveals, and none under any other.

    Parameters
    ----------
    bits : Rows, shape (u_P, S)
        Protected reports under the sensitive categories, scaled by the probability of noise.
    protected : array of bool, shape (u,)
        Which reports are protected.
    revealed : array of int, shape (u - u_P,)
        Category that each of the others reveals.
    sensitive : array of bool, shape (k,)
        Which categories are sensitive, in the order of the columns of `bits`.
    told : float
        Probability that a category that is not sensitive is revealed.
    """

    bits: Rows
    protected: npt.NDArray[np.bool_]
    revealed: Array
    sensitive: npt.NDArray[np.bool_]
    told: float
    leftover: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.protected.size, self.sensitive.size

    @cached_property
    def log_scale(self) -> Array:
        out = np.zeros(self.protected.size)
        out[self.protected] = self.bits.log_scale
        return out

    def mix(self, p: Array) -> Array:
        out = np.empty(self.protected.size)
        rest = self.leftover * p[~self.sensitive].sum()
        out[self.protected] = self.bits.mix(p[self.sensitive]) + rest
        out[~self.protected] = self.told * p[self.revealed]
        return out

    def adjoint(self, v: Array) -> Array:
        noise, told = v[self.protected], self._tally(v)
        out = self.told * told + self.leftover * noise.sum()
        out[self.sensitive] = self.bits.adjoint(noise)
        return np.asarray(out)

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        noise, told = v[self.protected], self._tally(v)
        first = self.told * told + self.leftover * noise.sum()
        second = self.told**2 * told + self.leftover**2 * noise.sum()
        first[self.sensitive], second[self.sensitive] = self.bits.adjoints(noise)
        return first, second

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        """W' v and the sum of v over protected reports alone, where W' v over all is `first`."""
        total = float(v[self.protected].sum())
        return np.where(self.sensitive, first, self.leftover * total), total

    def _tally(self, v: Array) -> Array:
        return np.bincount(self.revealed, weights=v[~self.protected], minlength=self.sensitive.size)

    def take(self, start: int, stop: int) -> Array:
        protected = self.protected[start:stop]
        before = int(np.count_nonzero(self.protected[:start]))
        within = int(np.count_nonzero(protected))
        block = np.zeros((protected.size, self.sensitive.size))
        block[np.ix_(protected, self.sensitive)] = self.bits.take(before, before + within)
        block[np.ix_(protected, ~self.sensitive)] = self.leftover
        revealed = self.revealed[start - before :][: protected.size - within]
        block[np.flatnonzero(~protected), revealed] = self.told
        return block

    def gram(self, v: Array) -> Array:
        noise, told = v[self.protected], self._tally(v)
        S, N = self.sensitive, ~self.sensitive
        out = np.full((S.size, S.size), self.leftover**2 * noise.sum())
        out[np.diag_indices(S.size)] += self.told**2 * told
        cross = self.leftover * self.bits.adjoint(noise)
        out[np.ix_(S, N)], out[np.ix_(N, S)] = cross[:, None], cross
        out[np.ix_(S, S)] = self.bits.gram(noise)
        return out

    def select(self, keep: Array) -> SensitiveRows:
        return replace(
            self,
            bits=self.bits.select(keep[self.protected]),
            protected=self.protected[keep],
            revealed=self.revealed[keep[~self.protected]],
        )

    def pinned(self, p: Array) -> Array:
        # what alone was never revealed is zero at the maximum, and only nearly so where EM stops
        never = (self._tally(np.ones(self.protected.size)) == 0.0) & bool(self.revealed.size)
        return np.asarray(~self.sensitive & ((p <= 0.0) | never))

    # -- the categories that are not sensitive, taken together -----------------------------------

    def merged(self, n: Array) -> tuple[SensitiveRows, Array, Array]:
        """The rows seen by the sensitive categories and by all others together, the last column.

        Given their total, the maximum gives the others shares in proportion to how often each was
        revealed: the likelihood of who was revealed stands alone.

        Parameters
        ----------
        n : array, shape (u,)
            Counts.

        Returns
        -------
        SensitiveRows, shape (u_P + 1, S + 1)
        n : array, shape (u_P + 1,)
        shares : array, shape (k - S,)
            Of each other category in the total; even where none was revealed.
        """
        told = self._tally(n)[~self.sensitive]
        S, total = int(self.sensitive.sum()), float(told.sum())
        some = total > 0.0
        rows = replace(
            self,
            protected=np.arange(self.bits.shape[0] + some) < self.bits.shape[0],
            revealed=np.full(int(some), S),
            sensitive=np.arange(S + 1) < S,
        )
        counts = np.append(n[self.protected], total) if some else n[self.protected]
        shares = told / total if some else np.full(told.size, 1.0 / max(told.size, 1))
        return rows, counts, shares
