"""Moments of several privatised variables: products of unbiased features of their reports.

A feature map turns a report y of variable v into a vector a_v(y) whose mean given the true category
is known, ``E[a_v | X_v = i] = R_v[:, i]``. Reports of different variables are independent given the
true values, so that products of features have the means

    E[a_1 (x) a_2] = (R_1 (x) R_2) vec(P),

whatever the joint distribution P is: solving them for P is an unbiased estimate in one pass, which
adds up over chunks. Two feature maps matter: the linear estimate of a single report (moments), and
the likelihood of a report relative to a reference distribution (the dual of the likelihood). Where
respondents fall into strata with features of their own (shared cohorts, groups of mechanisms) the
right-hand side is the sum over strata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.rows.base import DenseRows
from ldpstats.problems.rows.joint import JointRows
from ldpstats.problems.simplex import project_simplex, project_subsimplex
from ldpstats.reports.single import Counts

__all__ = [
    "Alphabet",
    "FeatureMap",
    "JointMoments",
    "Listing",
    "PathMoments",
    "Stratum",
    "apply_along",
    "linear_features",
    "unbiased_map",
    "without_rounding",
]

Array = npt.NDArray[Any]

_CHUNK = 1 << 16  # reports whose bits are unpacked at a time
_LARGE = 1 << 23  # features from which single precision keeps memory in bounds
_RARE = 10  # times that a report is seen below which its share is no measure of its variance
_ROUNDING = 1e-13  # variance, relative to the mean square, that is rounding
_ALONE = 1e-9  # share of all other cells below which it is rounding
_MOST_LISTED = 1 << 22  # combinations of reports times cells, over several strata, to list
_SINGULAR = 1e-10  # relative singular value below which a mean says nothing of some direction


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features of one variable's reports.

    Parameters
    ----------
    values : array, shape (u, f)
        Features of the distinct reports.
    response : callable
        Takes the shares of the cohorts, shape (C,), or None where there are none, and returns the
        mean of the features given the true category, shape (f, k).
    """

    values: Array
    response: Callable[[Array | None], Array]

    def first(self, k: int) -> FeatureMap:
        """The features of the first k categories, which say nothing of the others."""
        if self.values.shape[1] == k:
            return self
        return FeatureMap(self.values[:, :k], lambda shares: self.response(shares)[:k, :k])


def linear_features(counts: Counts, moments: Moments, rest: bool = False) -> FeatureMap:
    """The linear estimate of each single report, times its precision.

    Parameters
    ----------
    counts : Counts
        Distinct reports, u of them.
    moments : Equations or CohortMoments
        The equations of this mechanism, of one source.
    rest : bool
        Whether the last category is all answers that are not among the candidates of a hashed
        mechanism; they hash to any cell alike.
    """
    if isinstance(moments, CohortMoments):
        found = _cohort_features(counts, moments)
        return _with_rest(found) if rest else found
    assert isinstance(moments, Equations)
    G, k = moments.inverse, moments.k
    reports, offset = _indicators(counts), np.asarray(moments.offset, dtype=np.float64)
    if reports.shape[1] > moments.t.size:  # labels that no category ever reports have no equation
        reports = reports[:, counts.mechanism.channel().matrix().any(axis=0)]
    if reports.shape[1] < moments.t.size:  # the last equation says that frequencies sum to one
        reports = np.column_stack([reports, np.ones(len(reports))])
    simple = np.ndim(G) < 2  # an equation for each category
    values = (reports - offset) * G if simple else (reports - offset) @ np.asarray(G).T
    # the precision matters only where groups of mechanisms are averaged
    size = float(np.mean(moments.weights)) / moments.nobs
    precision = size * float(np.mean(np.square(moments.A))) if simple else size
    return FeatureMap(values * precision, lambda shares: precision * np.eye(k))


def _indicators(counts: Counts) -> Array:
    """Reports as rows of zeros and ones: their bits, or a one at their label."""
    mechanism = counts.mechanism
    if mechanism.n_bits:
        bits = mechanism.format.unpack(counts.y)
        return np.asarray(bits, dtype=np.float32 if bits.size > _LARGE else np.float64)
    out = np.zeros((counts.y.size, mechanism.n_outputs))
    out[np.arange(counts.y.size), counts.y] = 1.0
    return out


def _cohort_features(counts: Counts, moments: CohortMoments) -> FeatureMap:
    """A_c'(t - offset) of each report t, with A_c the equations of its cohort c."""
    source = moments.sources[0]
    design, offset, cohort = source.design, source.offset, counts.cohort
    assert cohort is not None
    S = design.shape[1]
    values = np.empty((len(cohort), S), np.float32 if len(cohort) * S > _LARGE else np.float64)
    order = np.argsort(cohort, kind="stable")
    ends = np.searchsorted(cohort[order], np.arange(design.n_cohorts + 1))
    for c in np.flatnonzero(np.diff(ends)):
        A = source.precision * design.block(int(c))
        level = offset * A.sum(axis=0)
        for start in range(ends[c], ends[c + 1], _CHUNK):
            rows = order[start : min(start + _CHUNK, ends[c + 1])]
            values[rows] = _cells(counts, rows, A) - level

    def response(shares: Array | None) -> Array:
        assert shares is not None
        blocks = ((shares[c], design.block(int(c))) for c in np.flatnonzero(shares))
        return np.asarray(sum(source.precision * share * (A.T @ A) for share, A in blocks))

    return FeatureMap(values, response)


def _cells(counts: Counts, rows: Array, A: Array) -> Array:
    """A' t of the reports in these rows."""
    if not counts.mechanism.n_bits:
        return np.asarray(A[counts.y[rows]])
    bits = np.unpackbits(counts.y[rows], axis=1, count=len(A), bitorder="little")
    return np.asarray(bits.astype(np.float64) @ A)


def _with_rest(found: FeatureMap) -> FeatureMap:
    """Features with a constant more, which every answer has, and a category that has only that."""
    values = np.column_stack([found.values, np.ones(len(found.values), found.values.dtype)])

    def response(shares: Array | None) -> Array:
        padded = np.pad(found.response(shares), ((0, 1), (0, 1)))
        padded[-1] = 1.0
        return padded

    return FeatureMap(values, response)


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
    """

    rows: JointRows
    first: Array
    second: Array
    nobs: int
    responses: tuple[Array, ...]
    listing: Listing | None = None
    alphabets: tuple[Alphabet, ...] | None = None

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
        return self._changed(
            v,
            lambda values: values - np.outer(values.sum(axis=1) - 1.0, load),
            self.responses[v],
        )

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
        return Stratum(
            changed(self.rows),
            self.first,
            self.second,
            self.nobs,
            tuple(responses),
            listing,
            alphabets,
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


@dataclass(frozen=True, eq=False)
class JointMoments(Moments):
    """Equations for a joint distribution from products of features.

    Parameters
    ----------
    strata : tuple of Stratum
    names : tuple of str
        Names of the variables.
    complete : bool
        Whether the frequencies of all cells sum to one.
    """

    strata: tuple[Stratum, ...]
    names: tuple[str, ...]
    complete: bool = True
    kind: str = "joint"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(R.shape[1] for R in self.strata[0].responses)

    @property
    def k(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return sum(stratum.nobs for stratum in self.strata)

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """Inverse of the response of each variable alone, or of all at once over several strata."""
        N = self.nobs
        if len(self.strata) == 1:
            responses = self.strata[0].responses
            pairs = zip(responses, self.names, strict=True)
            return tuple(unbiased_map(R, name) for R, name in pairs)
        total = sum(s.nobs / N * reduce(np.kron, s.responses) for s in self.strata)
        return (unbiased_map(np.asarray(total), f"{' and '.join(self.names)} together"),)

    def solve(self, sums: Array) -> Array:
        """The P, or columns of several, whose mean products of features are `sums`, (f, ...)."""
        if len(self.inverses) == 1:
            return np.asarray(self.inverses[0] @ sums)
        return apply_along(sums, self.inverses)

    def estimate(self) -> tuple[Array, str]:
        total = np.sum([stratum.sums for stratum in self.strata], axis=0) / self.nobs
        return self.solve(total), self._how

    @property
    def _how(self) -> str:
        strata = "" if len(self.strata) == 1 else f" in {len(self.strata)} strata"
        return f"products of unbiased features{strata}, solved exactly"

    def plug_in(self) -> Array:
        p = self.estimate()[0]
        return project_simplex(p) if self.complete else project_subsimplex(p)

    @cached_property
    def in_errors(self) -> Array:
        """The estimate projected onto the simplex, with distances in standard errors.

        Cells that are known well stay where they are, as in `Equations.plug_in`; the noise of
        others would else be taken from them, too. Over several strata it is `plug_in`.
        """
        if len(self.strata) > 1 or not self.complete:
            return self.plug_in()
        stratum = self.strata[0]
        for v, name in enumerate(self.names):
            stratum = stratum.unbiased(v, name)
        mean = stratum.rows.adjoint(stratum.first) / self.nobs
        square = stratum.rows.adjoints(stratum.second)[1] / self.nobs
        variances = square - mean**2
        least = _ROUNDING * square
        return project_simplex(self.estimate()[0], np.where(variances > least, variances, 0.0))

    def summing_to_one(self) -> JointMoments:
        """The same moments from features that sum to one over the categories of their variable.

        What a feature x has too much is taken off along a = S 1 / 1'S 1, with S the covariance of
        the features: ``x - a (1'x - 1)`` is as unbiased and varies least.

        Raises
        ------
        NotIdentified
            Where the reports of one stratum do not determine the frequencies of a variable.
        """
        strata = list(self.strata)
        for v in range(len(self.sizes)):
            unbiased = [stratum.unbiased(v, self.names[v]) for stratum in strata]
            spread = np.sum([s.feature_spread(v) for s in unbiased], axis=0)
            load, total = spread.sum(axis=1), float(spread.sum())
            if total > _SINGULAR * float(np.abs(spread).sum()):
                strata = [s.without_excess(v, load / total) for s in unbiased]
        return replace(self, strata=tuple(strata))

    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the estimate.

        Where all combinations of reports can be listed it is that at p, by default at the law of
        `Listing.plug_in`; where those of each variable can, that at p, by default at `plug_in`;
        else the spread of the products of features as observed, whatever p is.
        """
        if all(s.listing is None and s.alphabets is not None for s in self.strata):
            at = self.in_errors if p is None else p
            expected = np.sum([s.expected_spread(at) for s in self.strata], axis=0)
            return without_rounding(self._sandwich(expected), 1.0 / self.nobs)
        listings = [stratum.listing for stratum in self.strata]
        laws = [
            None
            if listing is None
            else (listing.plug_in(self.plug_in()) if p is None else listing.channel.mix(p))
            for listing in listings
        ]
        pairs = zip(self.strata, laws, strict=True)
        spread = np.sum(
            [s.spread() if law is None else s.spread_at(law) for s, law in pairs], axis=0
        )
        squares = np.sum([stratum.observed_squares for stratum in self.strata], axis=0)
        return without_rounding(self._sandwich(spread), np.diagonal(self._sandwich(squares)))

    def path_moments(self, p: Array, V: Array | None = None) -> list[PathMoments] | None:
        """Moments, by stratum, along the path of each cell from p; None where they are unknown.

        V is the covariance of p, shape (k, k), None where that is too large.
        """
        found = []
        for stratum in self.strata:
            if stratum.alphabets is None:
                return None
            part = stratum.path_moments(p, self.inverses, V)
            if part is None:
                return None
            found.append(part)
        return found

    def variances(self) -> Array:
        """Variances of the estimate, shape (k,), without their covariances; one stratum.

        Raises
        ------
        NotAvailable
            Over several strata, whose equations are solved together.
        """
        if len(self.strata) > 1:
            raise NotAvailable("variances alone are of one stratum: use fewer cells, or groups")
        stratum = self.strata[0]
        listing = stratum.listing
        for v, name in enumerate(self.names):
            stratum = stratum.unbiased(v, name)
        if stratum.listing is not None and listing is not None:
            law = listing.plug_in(self.plug_in())
            mean, square = stratum.listing.features.adjoints(law)
        else:
            mean = stratum.rows.adjoint(stratum.first) / self.nobs
            square = stratum.rows.adjoints(stratum.second)[1] / self.nobs
        return np.asarray(np.maximum(square - mean**2, 0.0) / self.nobs)

    def _sandwich(self, spread: Array) -> Array:
        half = self.solve(spread)
        V = self.solve(half.T) / self.nobs**2
        return np.asarray((V + V.T) / 2.0)


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


def without_rounding(V: Array, squares: Any) -> Covariance:
    """A covariance matrix in which variances that rounding alone has left are zero.

    `squares` are what the variances were computed from, by subtraction: a number, or shape (k,).
    """
    still = np.abs(np.diagonal(V)) <= _ROUNDING * squares
    V = V.copy()
    V[still], V[:, still] = 0.0, 0.0
    return Covariance.dense(V)


def apply_along(values: Array, matrices: Sequence[Array]) -> Array:
    """``(M_1 (x) M_2 (x) ...) values`` for values of shape (prod f_v, ...), without the product."""
    tail = values.shape[1:]
    out = values.reshape([M.shape[1] for M in matrices] + [-1])
    for axis, M in enumerate(matrices):
        out = np.moveaxis(np.tensordot(M, out, (1, axis)), 0, axis)
    return out.reshape((-1, *tail))


def unbiased_map(response: Array, name: str) -> Array:
    """Inverse of a response, shape (k, k), which makes features unbiased for the categories.

    Raises
    ------
    NotIdentified
        Where reports of the variable `name` do not determine the frequencies.

    Examples
    --------
    >>> unbiased_map(np.array([[0.75, 0.25], [0.25, 0.75]]), "x")
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
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
