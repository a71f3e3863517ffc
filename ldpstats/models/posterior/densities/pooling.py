"""The posterior of several groups with partial pooling, in coordinates that mix well.

Group g has the distribution ``softmax(H e_g)``, with H an orthonormal basis of the vectors of k
numbers that sum to zero, and ``e_g ~ N(m, t^2 / 2)`` in every direction, so that the logarithm of
the ratio of any two frequencies varies between groups with standard deviation t. Sampling
(m, log t, e) is slow where groups are small, and (m, log t, (e - m) / t) where they are large. Here
a group's coordinates are what is left of e_g when the normal approximation of its law given m, t
and its reports is taken off: for reports as good as normal they are standard normal, whatever m and
t are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity, maximum
from ldpstats.priors.base import LogitLaw, softmax_log
from ldpstats.problems.problem import Likelihood

__all__ = ["Frames", "GroupReports", "PooledDensity", "ScaleLaw", "contrasts"]

Array = npt.NDArray[Any]

_WIDER = 4  # times the rows of the largest group up to which all groups share one matrix
_ROUNDS = 50
_STEP = 1e-4  # of finite differences, in standard deviations


class ScaleLaw(Protocol):
    """The prior of the standard deviation between groups."""

    def log_density(self, sd: Array) -> tuple[Array, Array]:
        """Up to a constant, and its derivative with respect to log(sd)."""


def contrasts(k: int) -> Array:
    """An orthonormal basis, shape (k, k - 1), of the vectors whose k entries sum to zero."""
    steps = np.arange(1, k)
    basis = np.triu(np.ones((k, k - 1)))
    basis[steps, steps - 1] = -steps
    return np.asarray(basis / np.sqrt(steps * (steps + 1.0)))


@dataclass(frozen=True, eq=False)
class GroupReports:
    """The log-likelihood of each group's reports at a distribution of its own.

    Parameters
    ----------
    parts : list of (groups, W, n)
        Numbers of groups, (b,), a matrix of likelihoods, (u, k), and counts, (b, u). A group is in
        one part at most.
    n_groups, k : int
    """

    parts: tuple[tuple[Array, Array, Array], ...]
    n_groups: int
    k: int

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood | None], k: int) -> GroupReports:
        """From the likelihood of each group, None for one without reports.

        Rows that groups share are kept once, unless groups have mostly rows of their own.
        """
        held = [g for g, one in enumerate(likelihoods) if one is not None]
        rows = [np.asarray(one.W.dense(), float) for one in likelihoods if one is not None]
        counts = [np.asarray(one.n, float) for one in likelihoods if one is not None]
        most = max(map(len, rows), default=0)
        if not held:
            return cls((), len(likelihoods), k)
        shared, place = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        if len(shared) > _WIDER * most:
            single = zip(held, rows, counts, strict=True)
            parts = tuple((np.array([g]), W, n[None]) for g, W, n in single)
            return cls(parts, len(likelihoods), k)
        table, owner = (
            np.zeros((len(held), len(shared))),
            np.repeat(range(len(held)), [*map(len, rows)]),
        )
        np.add.at(table, (owner, place.reshape(-1)), np.concatenate(counts))
        return cls(((np.array(held), shared, table),), len(likelihoods), k)

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        """Values, (c,), and gradients with respect to p, at p of shape (c, g, k)."""
        values, slopes = np.zeros(len(p)), np.zeros(p.shape)
        for groups, W, n in self.parts:
            m = p[:, groups] @ W.T
            possible = np.all((m > 0.0) | (n == 0), axis=(1, 2))
            safe = np.where(m > 0.0, m, 1.0)
            values += np.where(possible, (n * np.log(safe)).sum(axis=(1, 2)), -np.inf)
            slopes[:, groups] = np.where(possible[:, None, None], n / safe, 0.0) @ W
        return values, slopes

    def information(self, p: Array) -> Array:
        """Expected information about p, (g, k, k), of the groups' reports at p, (g, k).

        With expected counts in place of those observed it is never indefinite in log ratios.
        """
        found = np.zeros((self.n_groups, self.k, self.k))
        for groups, W, n in self.parts:
            m = p[groups] @ W.T
            weights = np.where(m > 0.0, n / np.maximum(m, 1e-300) ** 2, 0.0)
            found[groups] = np.einsum("gu,ui,uj->gij", weights, W, W, optimize=True)
        return found


def _softmax(logs: Array) -> Array:
    """Distributions, over the last axis, from logarithms up to a constant."""
    return np.asarray(np.exp(softmax_log(logs)))


def _by_logs(p: Array, slopes: Array) -> Array:
    """Gradients with respect to the logarithms whose softmax is p."""
    return np.asarray(p * (slopes - (p * slopes).sum(axis=-1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class Frames:
    """Normal approximation ``s' (e - e0) - (e - e0)' U L U' (e - e0) / 2`` of each group's reports.

    Parameters
    ----------
    centre : array, shape (g, k - 1)
        The e0 of each group.
    directions : array, shape (g, k - 1, k - 1)
        The U, in columns.
    precision : array, shape (g, k - 1)
        The diagonal of L, from 0 on.
    score : array, shape (g, k - 1)
        ``U' s``.
    """

    centre: Array
    directions: Array
    precision: Array
    score: Array

    @classmethod
    def at(cls, reports: GroupReports, centre: Array, basis: Array) -> Frames:
        """That at `centre`."""
        p = _softmax(centre @ basis.T)
        slopes = _by_logs(p, reports.evaluate(p[None])[1][0]) @ basis
        J = (p[:, :, None] * basis) - p[:, :, None] * (p @ basis)[:, None, :]
        info = np.einsum("gia,gij,gjb->gab", J, reports.information(p), J, optimize=True)
        values, U = np.linalg.eigh(info)
        return cls(centre, U, np.maximum(values, 0.0), np.einsum("gab,ga->gb", U, slopes))


@dataclass(frozen=True, eq=False)
class PooledDensity(LogDensity):
    """Log posterior of groups with partial pooling.

    Coordinates are the common m, (k - 1,), log t, and those of each group, (g, k - 1), row by row.
    Reported are the groups' distributions, (g, k), the distribution of a group without effect,
    softmax(H m), and t: g k + k + 1 numbers.

    Parameters
    ----------
    reports : GroupReports
    common : LogitLaw
        The prior of softmax(H m).
    scale : ScaleLaw
        The prior of t.
    """

    reports: GroupReports
    common: LogitLaw
    scale: ScaleLaw

    @property
    def size(self) -> int:  # type: ignore[override]
        return (self.reports.k - 1) * (self.reports.n_groups + 1) + 1

    @cached_property
    def basis(self) -> Array:
        """H, shape (k, k - 1)."""
        return contrasts(self.reports.k)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        e, parts = self._effects(z)
        m, t, h, shrink, spread, w, rest = parts
        f = self.frames
        p = _softmax(e @ self.basis.T)
        values, slopes = self.reports.evaluate(p)
        by_e = _by_logs(p, slopes) @ self.basis
        half = 0.5 * t[:, None, None] ** 2  # t^2 / 2, the variance in each direction
        turned = np.einsum("gab,cga->cgb", f.directions, by_e) - w / half
        width = (self.reports.k - 1) * self.reports.n_groups
        values = values - (w**2 / half).sum(axis=(1, 2)) / 2.0 - width * np.log(t)
        values = values + np.log(spread).sum(axis=(1, 2))
        by_m = by_e - np.einsum("gab,cgb->cga", f.directions, f.precision * shrink * turned)
        keeps = rest  # 1 / (1 + t^2 L / 2)
        by_t = (turned * (2.0 * shrink * keeps * h + spread * keeps * self._own(z))).sum(
            axis=(1, 2)
        )
        by_t += (w**2 / half).sum(axis=(1, 2)) - width + keeps.sum(axis=(1, 2))
        prior, prior_m = self._common(m)
        scale, scale_t = self.scale.log_density(t)
        gradient = np.concatenate(
            [
                by_m.sum(axis=1) + prior_m,
                (by_t + scale_t + 1.0)[:, None],
                (turned * spread).reshape(len(z), -1),
            ],
            axis=1,
        )
        return values + prior + scale + np.log(t), gradient

    def mode(self) -> Array:
        return maximum(self, self._start)

    def curvature(self, z: Array) -> Array:
        """By differences of gradients; groups have no curvature in common but through m and t."""
        d, g = self.reports.k - 1, self.reports.n_groups
        moves = np.zeros((2 * d + 1, self.size))
        moves[np.arange(d + 1), np.arange(d + 1)] = _STEP
        for a in range(d):
            moves[d + 1 + a, d + 1 + a :: d] = _STEP
        ahead = self.evaluate(z + moves)[1]
        change = (self.evaluate(z - moves)[1] - ahead) / (2.0 * _STEP)
        found = np.zeros((self.size, self.size))
        found[: d + 1] = change[: d + 1]
        found[:, : d + 1] = change[: d + 1].T
        found[: d + 1, : d + 1] = (change[: d + 1, : d + 1] + change[: d + 1, : d + 1].T) / 2.0
        own = change[d + 1 :, d + 1 :].reshape(d, g, d)
        for group in range(g):
            at = slice(d + 1 + group * d, d + 1 + (group + 1) * d)
            found[at, at] = (own[:, group] + own[:, group].T) / 2.0
        return found

    def constrained(self, z: Array) -> Array:
        flat = z.reshape(-1, self.size)
        e, parts = self._effects(flat)
        groups = _softmax(e @ self.basis.T).reshape(len(flat), -1)
        common = _softmax(parts[0] @ self.basis.T)
        found = np.concatenate([groups, common, parts[1][:, None]], axis=1)
        return found.reshape(*z.shape[:-1], -1)

    # -- inside

    def _own(self, z: Array) -> Array:
        return z[:, self.reports.k :].reshape(len(z), self.reports.n_groups, self.reports.k - 1)

    def _effects(self, z: Array) -> tuple[Array, tuple[Array, ...]]:
        """The e of all groups, (c, g, k - 1), and what they are made of."""
        d, f = self.reports.k - 1, self.frames
        m, t = z[:, :d], np.exp(np.clip(z[:, d], -300.0, 300.0))
        half = 0.5 * t[:, None, None] ** 2
        rest = 1.0 / (1.0 + half * f.precision)
        shrink, spread = half * rest, np.sqrt(half * rest)
        away = np.einsum("gab,cga->cgb", f.directions, f.centre - m[:, None, :])
        h = f.precision * away + f.score
        w = shrink * h + spread * self._own(z)
        e = m[:, None, :] + np.einsum("gab,cgb->cga", f.directions, w)
        return e, (m, t, h, shrink, spread, w, rest)

    def _common(self, m: Array) -> tuple[Array, Array]:
        """The prior of m, (c, k - 1), and its gradient."""
        values, slopes = self.common.evaluate(softmax_log(m @ self.basis.T))
        return values, slopes @ self.basis

    @cached_property
    def _fit(self) -> tuple[Frames, Array]:
        """Frames, and a start (m, log t), by alternating between groups and what they share."""
        d, g = self.reports.k - 1, self.reports.n_groups
        e, m, variance = np.zeros((g, d)), np.zeros(d), 0.5
        for _ in range(_ROUNDS):
            before = e
            frames = Frames.at(self.reports, e, self.basis)
            gains = variance / (1.0 + variance * frames.precision)
            away = np.einsum("gab,ga->gb", frames.directions, frames.centre - m)
            w = gains * (frames.precision * away + frames.score)
            step = m + np.einsum("gab,gb->ga", frames.directions, w) - e
            e = e + np.clip(step, -2.0, 2.0)
            m = e.mean(axis=0)
            variance = float(np.clip(((e - m) ** 2 + gains).mean(), 1e-4, 4.0))
            if np.abs(e - before).max() < 1e-6:
                break
        frames = Frames.at(self.reports, e, self.basis)
        return frames, np.append(m, 0.5 * np.log(2.0 * variance))

    @property
    def frames(self) -> Frames:
        """The normal approximations that coordinates rest on."""
        return self._fit[0]

    @property
    def _start(self) -> Array:
        return np.concatenate([self._fit[1], np.zeros(self.size - self.reports.k)])
