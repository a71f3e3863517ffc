"""Respondents whose reports on different variables are independent given their true values.

With the features a_v and responses R_v of `ldpstats.problems.joint.features`, products of features
have the means ``E[a_1 (x) a_2] = (R_1 (x) R_2) vec(P)`` within a stratum, whatever the joint
distribution P is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.problems.joint.products import Unit
from ldpstats.problems.rows.base import DenseRows
from ldpstats.problems.rows.joint import JointRows

__all__ = ["Alphabet", "Listing", "PathMoments", "Stratum", "apply_along", "unbiased_map"]

Array = npt.NDArray[Any]

_RARE = 10  # times that a report is seen below which its share is no measure of its variance
_ROUNDING = 1e-13  # variance, relative to the mean square, that is rounding
_ALONE = 1e-9  # share of all other cells below which it is rounding
_MOST_LISTED = 1 << 22  # combinations of reports times cells, over several strata, to list
_SINGULAR = 1e-10  # relative singular value below which a mean says nothing of some direction


@dataclass(frozen=True, eq=False)
class Listing:
    """All combinations of reports that respondents of one stratum can make, a row each.

    Parameters
    ----------
    features : JointRows
        Products of their features.
    channel : JointRows
        Their probabilities given the true cells.
    seen : array, shape (u,)
        How often each was seen.
    """

    features: JointRows
    channel: JointRows
    seen: Array

    def plug_in(self, p: Array) -> Array:
        """The law of the reports for a variance: as seen, and where reports are rare that at p.

        The projection p of a noisy estimate takes from large cells what it gives to empty ones; the
        law that was seen makes rare reports look certain, where they happen to be rarer.
        """
        share = self.seen / self.seen.sum()
        rare = self.seen < _RARE
        law = np.where(rare, np.maximum(share, self.channel.mix(p)), share)
        return np.asarray(law / law.sum())


@dataclass(frozen=True, eq=False)
class Alphabet:
    """All reports that one variable can make, a row each.

    Parameters
    ----------
    features : array, shape (l, f)
        Their features.
    channel : array, shape (l, k)
        Their probabilities given the true category.
    """

    features: Array
    channel: Array

    def gram(self) -> Array:
        """Mean outer products of the features given the true category, shape (f f, k)."""
        F = self.features
        return np.concatenate([(F * F[:, [i]]).T @ self.channel for i in range(F.shape[1])])


@dataclass(frozen=True, eq=False)
class PathMoments:
    """Moments of the unbiased products of features of one stratum along paths of distributions.

    On the path of a cell its frequency goes from 0 to 1 while the others keep their proportions.

    Parameters
    ----------
    nobs : int
        Number of respondents of the stratum.
    own, rest : array, shape (3, k)
        First three moments, for each cell, of respondents who are in it, and of the others.
    step : array, shape (k,)
        How far one report more, of the combination that tells most of the cell, moves the sum.
    share : array, shape (k,)
        Part of the variance that the count of this combination has, at the distribution given.
    doubt : array, shape (k,)
        Variance of the second moments in `rest`, which are estimates; zero where it is not known.
    """

    nobs: int
    own: Array
    rest: Array
    step: Array
    share: Array
    doubt: Array


@dataclass(frozen=True, eq=False)
class Stratum:
    """Respondents whose reports on different variables are independent given the true values.

    Parameters
    ----------
    rows : JointRows, shape (u, f)
        Products of the features of each combination of reports, up to a factor per row.
    first, second : array, shape (u,)
        How often each was seen, times that factor, and times its square.
    nobs : int
        Number of respondents.
    responses : tuple of array, shape (f_v, k_v)
        Means of each variable's features given its true category.
    listing : Listing or None
        All combinations of reports, where these can be listed.
    alphabets : tuple of Alphabet or None
        All reports of each variable, where these can be listed.
    units : tuple of Unit or None
        The features of each variable once they are unbiased, where they are simple.
    """

    rows: JointRows
    first: Array
    second: Array
    nobs: int
    responses: tuple[Array, ...]
    listing: Listing | None = None
    alphabets: tuple[Alphabet, ...] | None = None
    units: tuple[Unit, ...] | None = None

    @cached_property
    def sums(self) -> Array:
        """Sum over respondents of the products of features, shape (f,)."""
        return self.rows.adjoint(self.first)

    @cached_property
    def observed_squares(self) -> Array:
        """Sum over respondents of the outer products of these products, shape (f, f)."""
        return self.rows.gram(self.second)

    def feature_spread(self, v: int) -> Array:
        """Sum of the centred outer products of the features of one variable, (f_v, f_v)."""
        factor, n = self.rows.factors[v], self.first
        if factor.index is not None:
            n = np.bincount(factor.index, n, len(factor.W))
        rows = DenseRows(np.asarray(factor.W, dtype=np.float64))
        sums = rows.adjoint(n)
        return np.asarray(rows.gram(n) - np.outer(sums, sums) / self.nobs)

    def unbiased(self, v: int, name: str) -> Stratum:
        """With features of variable v whose mean is the indicator of its true category."""
        inverse = unbiased_map(self.responses[v], name)
        return self._changed(v, lambda values: values @ inverse.T, np.eye(len(inverse)))

    def without_excess(self, v: int, load: Array) -> Stratum:
        """With unbiased features of variable v that sum to one: what is too much goes by `load`."""
        changed = self._changed(
            v,
            lambda values: values - np.outer(values.sum(axis=1) - 1.0, load),
            self.responses[v],
        )
        if self.units is None:
            return changed
        own = self.units[v].without_excess(load)
        return replace(changed, units=(*self.units[:v], own, *self.units[v + 1 :]))

    def _changed(self, v: int, change: Callable[[Array], Array], response: Array) -> Stratum:
        def changed(rows: JointRows) -> JointRows:
            factors = list(rows.factors)
            factors[v] = replace(factors[v], W=change(factors[v].W))
            return JointRows(tuple(factors))

        responses = list(self.responses)
        responses[v] = response
        listing = self.listing
        if listing is not None:
            listing = replace(listing, features=changed(listing.features))
        alphabets = self.alphabets
        if alphabets is not None:
            own = replace(alphabets[v], features=change(alphabets[v].features))
            alphabets = (*alphabets[:v], own, *alphabets[v + 1 :])
        return replace(
            self,
            rows=changed(self.rows),
            responses=tuple(responses),
            listing=listing,
            alphabets=alphabets,
        )

    def spread(self) -> Array:
        """Covariance of `sums` as the reports show it, shape (f, f)."""
        mean = self.sums / self.nobs
        return np.asarray(self.observed_squares - self.nobs * np.outer(mean, mean))

    def spread_at(self, law: Array) -> Array:
        """Covariance of `sums` if the listed reports have this law."""
        assert self.listing is not None
        mean = self.listing.features.adjoint(law)
        return np.asarray(self.nobs * (self.listing.features.gram(law) - np.outer(mean, mean)))

    def expected_spread(self, p: Array) -> Array:
        """Covariance of `sums` if the true cells have law p, from the reports of each variable."""
        assert self.alphabets is not None
        d, sizes = len(self.alphabets), [a.features.shape[1] for a in self.alphabets]
        squares = apply_along(p, [alphabet.gram() for alphabet in self.alphabets])
        # axes are those of the variables, twice each: to all of the first, then all of the second
        split = squares.reshape([size for f in sizes for size in (f, f)])
        order = [*range(0, 2 * d, 2), *range(1, 2 * d, 2)]
        outer = split.transpose(order).reshape(int(np.prod(sizes)), -1)
        mean = apply_along(p, [a.features.T @ a.channel for a in self.alphabets])
        return np.asarray(self.nobs * (outer - np.outer(mean, mean)))

    def path_moments(self, p: Array, solve: Sequence[Array], V: Array | None) -> PathMoments | None:
        """Moments along the path of each cell from p; None where reports are too many to list.

        `solve` maps features to unbiased ones: a matrix for each variable, or one for all. V is the
        covariance of p, shape (k, k).
        """
        assert self.alphabets is not None
        features = [alphabet.features for alphabet in self.alphabets]
        channels = [alphabet.channel for alphabet in self.alphabets]
        if len(solve) < len(features):
            if np.prod([float(len(Q)) for Q in channels]) * p.size > _MOST_LISTED:
                return None
            features, channels = [reduce(np.kron, features)], [reduce(np.kron, channels)]
        pairs = list(zip(features, solve, channels, strict=True))
        maps = [(F @ M.T, Q) for F, M, Q in pairs]
        own, total = np.empty((3, p.size)), np.empty((3, p.size))
        for r in range(3):
            given = [(G ** (r + 1)).T @ Q for G, Q in maps]
            own[r] = reduce(np.kron, [np.diagonal(M) for M in given])
            total[r] = apply_along(p, given)
        others = 1.0 - p
        alone = others < _ALONE  # nothing is known of where the others would be
        rest = np.empty_like(own)
        for r in range(3):
            rest[r] = (total[r] - p * own[r]) / np.where(alone, 1.0, others)
            if alone.any():
                even = apply_along(
                    np.full(p.size, 1.0 / p.size), [(G ** (r + 1)).T @ Q for G, Q in maps]
                )
                rest[r, alone] = even[alone]
        rest[1] = np.maximum(rest[1], 0.0)  # below 0 by rounding only
        step, share = _largest_step(maps, p, total[1] - total[0] ** 2)
        doubt = np.zeros(p.size)
        if V is not None:
            squares = np.array(reduce(np.kron, [(G**2).T @ Q for G, Q in maps]))
            doubt = np.where(alone, 0.0, _doubt(squares, rest[1], V, np.maximum(others, _ALONE)))
        return PathMoments(self.nobs, own, rest, step, share, doubt)


def _doubt(given: Array, mean: Array, V: Array, others: Array) -> Array:
    """Variances of means over all cells but one, shape (k,), if frequencies have covariance V.

    `given` has what is averaged, a row for each cell that is left out; `others` what those that are
    not add up to. No distribution of them has a mean that varies more than its range allows.
    """
    rates = given - mean[:, None]
    np.fill_diagonal(rates, 0.0)
    most = -rates.max(axis=1) * rates.min(axis=1)
    found = np.einsum("ij,ij->i", rates @ V, rates) / others**2
    return np.asarray(np.clip(found, 0.0, most))


def _largest_step(maps: Sequence[tuple[Array, Array]], p: Array, variance: Array) -> Any:
    """Size of the largest product of features of each cell, and its part in the variance at p.

    `maps` has the unbiased features and the channel of the reports of each variable.
    """
    tops = [np.abs(G).argmax(axis=0) for G, _ in maps]
    pairs = list(zip(maps, tops, strict=True))
    step = reduce(np.kron, [np.abs(G[top, np.arange(G.shape[1])]) for (G, _), top in pairs])
    seen = apply_along(p, [Q[top] for (_, Q), top in pairs])
    own = step**2 * seen * (1.0 - seen)
    share = np.divide(own, variance, out=np.ones_like(own), where=variance > _ROUNDING * step**2)
    return step, np.clip(share, 0.0, 1.0)


def apply_along(values: Array, matrices: Sequence[Array]) -> Array:
    """``(M_1 (x) M_2 (x) ...) values`` for values of shape (prod f_v, ...), without the product."""
    tail = values.shape[1:]
    out = values.reshape([M.shape[1] for M in matrices] + [-1])
    for axis, M in enumerate(matrices):
        out = np.moveaxis(np.tensordot(M, out, (1, axis)), 0, axis)
    return out.reshape((-1, *tail))


def unbiased_map(response: Array, name: str) -> Array:
    """Inverse of a response, shape (k, k), which makes features unbiased for the categories."""
    scale = np.sqrt(np.outer(np.abs(response).max(axis=1), np.abs(response).max(axis=0)))
    ok = bool(np.all(scale > 0.0))
    if ok:
        singular = np.linalg.svd(response / scale, compute_uv=False)
        ok = singular[-1] > _SINGULAR * singular[0]
    if not ok:
        raise NotIdentified(
            f"reports of {name} do not determine the frequencies: different distributions give "
            "the same reports; use a mechanism with epsilon > 0 and full rank, more bits or "
            "cohorts, or merge categories"
        )
    return np.linalg.inv(response)
