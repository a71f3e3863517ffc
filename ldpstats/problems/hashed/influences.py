"""What chance collisions with unlisted answers do to estimates, by the influence of each cell.

Collisions only ever add to a cell, so that estimates have a long upper tail: how long, the cubes of
the residuals show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.hashed.cohorts import CohortSource

__all__ = ["collided", "fourth_cumulant", "roughly_collided"]

Array = npt.NDArray[Any]

_LEAST_LEFT = 0.05  # of a residual, that least squares is taken to leave


def _influences(
    sources: Sequence[CohortSource], inverse: Array
) -> Iterator[tuple[int, int, Array, Array]]:
    """Source, cohort, and of its cells the leverage, (m,), and the influences, (m, S).

    The influence of a cell on an estimate is what it changes by as the cell does.
    """
    for number, source in enumerate(sources):
        for c in np.flatnonzero(source.reports):
            A = source.design.block(int(c))
            L = float(source.cohort_weights[c]) * (A @ inverse)
            yield number, int(c), (A * L).sum(axis=1), L


def collided(
    sources: Sequence[CohortSource],
    residuals: Sequence[Array],
    p: Array,
    collisions: float,
    inverse: Array,
) -> tuple[Array, Array, float]:
    """Third cumulants of the estimates by collisions, and what variances cells show, (S,) both.

    And the sum of the cubed frequencies of the unlisted answers. The variances are those of
    MacKinnon and White (1985, HC3), the squared residuals of each candidate's own influences: they
    are large where a candidate owes its estimate to few cells.
    """
    cubes, squares = np.zeros(p.size), np.zeros(p.size)
    thirds = [source.noise_third(p) for source in sources]
    found = expected = 0.0
    for number, c, leverage, L in _influences(sources, inverse):
        source = sources[number]
        r = residuals[number].reshape(source.ones.shape)[c]
        left = 1.0 - np.minimum(leverage, 1.0)
        g = float(source.cohort_weights[c]) ** 1.5
        found += g * float((_cube(r) - _cube(left) * thirds[number][c]).sum())
        expected += g * source.collision_third * float(_cube(left).sum())
        cubes += source.collision_third * (L * L * L).sum(axis=0)
        squares += (r / np.maximum(left, _LEAST_LEFT)) ** 2 @ (L * L)
    third = _skewed(found, expected, collisions)
    return third * cubes, squares, third


def roughly_collided(
    sources: Sequence[CohortSource], residuals: Sequence[Array], p: Array, collisions: float
) -> tuple[Array, Array, float]:
    """The same where candidates are many, as if only own cells had influence.

    Leverages are those of cells that are alike but for their weights: W q / (1 + W q), with q such
    that their sum is the number of candidates.
    """
    slopes = [source.design.slope for source in sources]
    weights = [s.weights * slope**2 for s, slope in zip(sources, slopes, strict=True)]
    every = np.concatenate(weights)
    high = _scale_of_leverages(every, p.size)
    pulls = [s.design.owners(w) for s, w in zip(sources, weights, strict=True)]
    total = np.sum(pulls, axis=0)
    cubes, squares, found, expected = np.zeros(p.size), np.zeros(p.size), 0.0, 0.0
    for source, w, slope, r in zip(sources, weights, slopes, residuals, strict=True):
        left = 1.0 / (1.0 + w / every.max() * high)
        g, owners = source.weights**1.5, source.design.owners
        noise = source.noise_third(p).reshape(-1)
        found += float((g * (_cube(r) - _cube(left) * noise)).sum())
        expected += source.collision_third * float((g * _cube(left)).sum())
        cubes += source.collision_third * owners(_cube(w)) / (slope * total) ** 3
        squares += owners((w * r / np.maximum(left, _LEAST_LEFT)) ** 2) / (slope * total) ** 2
    third = _skewed(found, expected, collisions)
    return third * cubes, squares, third


def _scale_of_leverages(weights: Array, total: int) -> float:
    """q at which leverages of cells with these weights, the largest taken for one, have a sum."""
    low, high = 1e-12, 1e12
    for _ in range(60):
        q = np.sqrt(low * high)
        w = weights / weights.max() * q
        low, high = (q, high) if (w / (1.0 + w)).sum() < total else (low, q)
    return float(high)


def fourth_cumulant(sources: Sequence[CohortSource], inverse: Array) -> float:
    """What collisions of equal answers add to the variance of a Wald statistic, but for scales."""
    total = 0.0
    for number, c, leverage, _ in _influences(sources, inverse):
        source = sources[number]
        r, weight = source.design.background, float(source.cohort_weights[c])
        fourth = source.design.slope**2 * source.collision_variance * (1.0 - 6.0 * r * (1.0 - r))
        total += max(fourth, 0.0) * float(((weight * leverage) ** 2).sum())
    return total


def _skewed(found: float, expected: float, collisions: float) -> float:
    """Sum of the cubed frequencies of unlisted answers: at most that of a single one."""
    ratio = found / expected if expected > 0.0 else 0.0
    return float(min(max(ratio, 0.0), collisions**1.5))


def _cube(x: Array) -> Array:
    return x * x * x  # many times faster than a power
