"""Profile-likelihood intervals of frequencies and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.parametric.interior import climb
from ldpstats.estimators.parametric.maximum import continued, wide_bounds
from ldpstats.problems.parametric.likelihood import ParametricLikelihood

__all__ = ["likelihood_ratio", "profile_intervals", "signed_roots"]

Array = npt.NDArray[Any]

_CLOSE = 1e-5  # of the signed root, that a limit may be off
_ROUNDS = 40
_NARROW = 1e-8  # of a bracket, or the distance from a bound
_BETTER = 1e-6  # nats by which a restricted maximum may exceed the free one


def likelihood_ratio(
    likelihood: ParametricLikelihood, top: Array, index: int, value: float
) -> Array:
    """Twice the fall of the continued likelihood where entry `index` is `value`.

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Counts of shape (R, l_g) for R surveys.
    top : array, shape (R, k + m)
        The maximum of each (`continued`), which need not be exact.
    index : int
        Of the frequency or parameter.
    value : float
        What it is under the null.

    Returns
    -------
    array, shape (R,)
        Chi-square with one degree of freedom under the null.

    Examples
    --------
    >>> from ldpstats.problems.parametric.matrices import PolynomialMatrix
    >>> warner = PolynomialMatrix.constant(np.array([[.75, .25], [.25, .75]]), m=0)
    >>> survey = ParametricLikelihood((warner,), (np.array([[60., 40.]]),))
    >>> likelihood_ratio(survey, np.array([[.7, .3]]), 1, 0.5).round(4)
    array([4.0271])
    """
    lower, upper = wide_bounds(likelihood.k, likelihood.m)
    free = climb(likelihood, top, lower, upper, barrier=1e-8).x
    held = np.zeros(top.shape, dtype=bool)
    held[:, index] = True
    start = np.array([_beside(x, index, value, likelihood.k) for x in top])
    bound = climb(likelihood, start, lower, upper, held, barrier=1e-8).x
    return np.asarray(2.0 * (likelihood.loglike(free) - likelihood.loglike(bound)))


def profile_intervals(
    likelihood: ParametricLikelihood,
    top: Array,
    spread: Array,
    alpha: float,
    index: npt.ArrayLike,
) -> Array:
    """Values in [0, 1] that the likelihood ratio does not reject.

    The likelihood is continued beyond [0, 1], as far as every report stays possible, so that the
    ratio is chi-square also where the true value is at a bound; the interval is then cut. An
    interval that lies wholly outside gets the limit v at which ``P(X <= x)`` is alpha/2 times what
    it is at the bound, by the signed root of the ratio (`inference.edges.edge_normal`).

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Of one survey.
    top : array, shape (k + m,)
        Maximum of the continued likelihood.
    spread : array, shape (k + m,)
        Standard errors, where known: they say where limits are looked for first.
    alpha : float
    index : array of int, shape (q,)
        The frequencies and parameters.

    Returns
    -------
    array, shape (q, 2)
    """
    for _ in range(5):
        search = _Search.of(likelihood, top, spread, alpha, np.asarray(index))
        limits, better = search.limits()
        if better is None:
            return limits.reshape(2, -1).T
        top = continued(likelihood, better)[0]  # the profile met a larger maximum
    return limits.reshape(2, -1).T


def signed_roots(
    likelihood: ParametricLikelihood, top: Array, index: npt.ArrayLike, values: npt.ArrayLike
) -> Array:
    """Roots of the likelihood ratio of entries that are these values, positive for values below.

    Parameters
    ----------
    likelihood : ParametricLikelihood
        Of one survey.
    top : array, shape (k + m,)
        Maximum of the continued likelihood.
    index : array of int, shape (q,)
        The frequencies and parameters.
    values : array, shape (q,)

    Returns
    -------
    array, shape (q,)
        Standard normal under the null.
    """
    place, at = np.asarray(index), np.asarray(values, dtype=np.float64)
    search = _Search.of(likelihood, top, np.full(top.size, np.nan), 0.05, place)
    fall = search.falls(at, np.tile(top, (place.size, 1)), place)[0]
    return np.asarray(np.copysign(fall, top[place] - at))


@dataclass(frozen=True, eq=False)
class _Search:
    """Limits that are looked for together: lower ones of all entries, then upper ones."""

    likelihood: ParametricLikelihood
    top: Array
    value: float
    place: npt.NDArray[np.int64]  # (B,)
    side: Array  # (B,): -1 or 1
    step: Array  # (B,)
    root: Array  # (B,): how far the signed root goes
    alpha: float

    @classmethod
    def of(
        cls,
        likelihood: ParametricLikelihood,
        top: Array,
        spread: Array,
        alpha: float,
        index: npt.NDArray[np.int64],
    ) -> _Search:
        from scipy.special import ndtri

        root = float(-ndtri(alpha / 2.0))
        step = np.where(np.isfinite(spread) & (spread > 1e-9), root * spread, 0.1)[index]
        return cls(
            likelihood,
            top,
            float(likelihood.loglike(top)),
            np.tile(index, 2),
            np.repeat([-1.0, 1.0], index.size),
            np.tile(np.clip(step, 0.01, 0.5), 2),
            np.full(2 * index.size, root),
            alpha,
        )

    def limits(self) -> tuple[Array, Array | None]:
        """The limits, (B,), and a point where the likelihood is larger than at the top, or None."""
        center = self.top[self.place]
        edge = (self.side + 1.0) / 2.0
        limits = edge.copy()
        beyond = (self.side * (center - edge)) >= 0.0  # the bound on this side stays the limit
        inner = np.clip(center, 0.0, 1.0)
        fall, at, better = self.falls(inner, np.tile(self.top, (len(inner), 1)), self.place)
        if better is not None:
            return limits, better
        search = replace(self, root=self._targets(center, inner, fall))
        open_ = np.flatnonzero(~beyond)
        limits[open_], better = search._outwards(open_, inner[open_], fall[open_], at[open_])
        return limits, better

    def _targets(self, center: Array, inner: Array, fall: Array) -> Array:
        """Signed roots of the limits; further where the whole interval lies outside [0, 1]."""
        from scipy.special import log_ndtr, ndtri_exp

        further = -ndtri_exp(np.log(self.alpha / 2.0) + log_ndtr(-np.minimum(fall, 1e3)))
        return np.where((center != inner) & (fall > self.root), further, self.root)

    def _outwards(
        self, rows: Array, inner: Array, fall: Array, at: Array
    ) -> tuple[Array, Array | None]:
        """Limits between points inside and the bounds."""
        edge, side = (self.side[rows] + 1.0) / 2.0, self.side[rows]
        root, place, step = self.root[rows], self.place[rows], self.step[rows].copy()
        outer = inner + side * np.minimum(step, np.abs(edge - inner))
        outer_fall, found = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        bracketed = np.zeros(len(rows), dtype=bool)
        for turn in range(_ROUNDS):
            todo = np.flatnonzero(np.isnan(found))
            if not todo.size:
                break
            ends = inner, outer, fall, outer_fall
            tried = self._tried(ends, bracketed, root, turn % 3 == 2)[todo]
            value, point, better = self.falls(tried, at[todo], place[todo], turn < 2)
            if better is not None:
                return edge, better
            below = value < root[todo]
            at_edge = below & (tried == edge[todo])
            found[todo[at_edge]] = edge[todo[at_edge]]
            done = np.abs(value - root[todo]) < _CLOSE
            found[todo[done & ~at_edge]] = tried[done & ~at_edge]
            up, out = todo[below], todo[~below]
            inner[up], fall[up], at[up] = tried[below], value[below], point[below]
            outer[out], outer_fall[out], bracketed[out] = tried[~below], value[~below], True
            grow = up[~bracketed[up]]
            step[grow] *= 3.0
            outer[grow] = inner[grow] + side[grow] * np.minimum(
                step[grow], np.abs(edge[grow] - inner[grow])
            )
            close = np.abs(outer - inner) < _NARROW
            shut = np.isnan(found) & bracketed & close
            found[shut] = inner[shut]
        found = np.where(np.isnan(found), outer, found)
        return np.where(np.abs(found - edge) < 2.0 * _NARROW, edge, found), None

    @staticmethod
    def _tried(
        ends: tuple[Array, Array, Array, Array], bracketed: Array, root: Array, halve: bool
    ) -> Array:
        """Where to look next: where a line between the ends has the root, or half way."""
        inner, outer, fall, outer_fall = ends
        gap = np.where(np.isfinite(outer_fall), outer_fall, np.inf) - fall
        straight = np.isfinite(gap) & (gap > 0.0) & (not halve)
        share = np.where(straight, (root - fall) / np.where(straight, gap, 1.0), 0.5)
        return np.where(bracketed, inner + np.clip(share, 0.02, 0.98) * (outer - inner), outer)

    def falls(
        self, values: Array, near: Array, place: Array, central: bool = True
    ) -> tuple[Array, Array, Array | None]:
        """Roots of twice the fall where entries have these values, and the restricted maxima.

        They are looked for from points `near`, and from the centre if `central`.
        """
        k, m = self.likelihood.k, self.likelihood.m
        lower, upper = wide_bounds(k, m)
        rows = np.arange(len(values))
        held = np.zeros((len(values), k + m), dtype=bool)
        held[rows, place] = True
        first = np.array([_beside(x, j, v, k) for x, j, v in zip(near, place, values, strict=True)])
        second = np.array([_central(j, v, k, m) for j, v in zip(place, values, strict=True)])
        best, at = np.full(len(values), -np.inf), second.copy()
        for start in (first, second) if central else (first,):
            good = np.array([self._is_possible(x) for x in start])
            good &= np.all((start > lower) & (start < upper), axis=1)
            if not good.any():
                continue
            end = climb(self.likelihood, start[good], lower, upper, held[good], barrier=1e-5).x
            reached = np.full(len(values), -np.inf)
            reached[good] = self.likelihood.loglike(end)
            places = np.flatnonzero(good)
            gain = reached[places] > best[places]
            at[places[gain]] = end[gain]
            best = np.maximum(best, reached)
        better = at[int(np.argmax(best))] if best.max() > self.value + _BETTER else None
        return np.sqrt(np.maximum(0.0, 2.0 * (self.value - best))), at, better

    def _is_possible(self, x: Array) -> bool:
        return all(bool(np.all(law > 0.0)) for law in self.likelihood.laws(x))


def _beside(x: Array, index: int, value: float, k: int) -> Array:
    """A point with one entry at a value; other frequencies share the difference evenly."""
    moved = x.copy()
    if index < k:
        moved[:k] += (x[index] - value) / (k - 1)
    moved[index] = value
    return moved


def _central(index: int, value: float, k: int, m: int) -> Array:
    """The centre of the simplex and the parameters, with one entry at a value."""
    return _beside(np.r_[np.full(k, 1.0 / k), np.full(m, 0.5)], index, value, k)
