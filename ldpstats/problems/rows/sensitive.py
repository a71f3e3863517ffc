"""Likelihood rows of reports whose bits are noised for sensitive categories only (uRAP)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.rows.base import DenseRows, Reduction, Rows
from ldpstats.problems.simplex import project_simplex

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

    @property
    def is_structured(self) -> bool:
        return True

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
        """Of the protected reports; what revealed its category counts only where none are."""
        if not self.bits.shape[0]:
            return super().noise(v, first)
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

    def prepared(self) -> SensitiveRows:
        return replace(self, bits=self.bits.prepared())

    def start(self, n: Array) -> Array:
        """The linear estimate; for sensitive categories from protected reports alone."""
        noise, nobs = n[self.protected] / n.sum(), float(n.sum())
        bits = self.bits.linear(noise, noise.sum())
        if bits is None:
            return super().start(n)
        p = self._tally(n) / (nobs * self.told)
        p[self.sensitive] = bits
        return project_simplex(p)

    def reduced(self, n: Array) -> Reduction:
        """The sensitive categories and, last, all others together.

        Given their total, the maximum gives the others shares in proportion to how often each was
        revealed: the likelihood of who was revealed stands alone. Where none was, shares are even.
        """
        whole, sensitive = self.prepared(), self.sensitive
        told = self._tally(n)
        S, total = int(sensitive.sum()), float(told[~sensitive].sum())
        if S == sensitive.size:
            return Reduction(whole, whole.bits, n[self.protected], np.arange(S), np.ones(S))
        others = told / total if total > 0.0 else np.full(told.size, 1.0 / (told.size - S))
        if not self.bits.shape[0]:  # nobody made a protected report
            places, shares = np.zeros(told.size, dtype=np.int64), np.where(sensitive, 0.0, others)
            return Reduction(whole, DenseRows(np.ones((1, 1))), np.array([total]), places, shares)
        some = int(total > 0.0)
        rows = replace(
            whole,
            protected=np.arange(self.bits.shape[0] + some) < self.bits.shape[0],
            revealed=np.full(some, S),
            sensitive=np.arange(S + 1) < S,
        )
        counts = np.append(n[self.protected], total) if some else n[self.protected]
        places = np.where(sensitive, np.cumsum(sensitive) - 1, S)
        return Reduction(whole, rows, counts, places, np.where(sensitive, 1.0, others))
