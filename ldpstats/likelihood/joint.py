"""Several privatised variables together, and several sources of one: linear estimates.

Reports of different variables are independent given the true values. A feature map turns a report y
of variable v into a vector a_v(y) with ``E[a_v | X_v = i] = R_v[:, i]``, its response. Products of
features then have the means ``E[a_1 (x) a_2] = (R_1 (x) R_2) vec(P)`` whatever the joint
distribution P is: solving them for P is an unbiased estimate in one pass, which adds up over
chunks. Where respondents fall into strata with features of their own (shared cohorts, groups of
mechanisms) the right-hand side is the sum over strata. Two maps matter: the linear estimate of a
single report, and the likelihood of a report relative to a reference distribution (the dual of the
likelihood), in `ldpstats.models.association.groups.Scores`.

The unbiased features of k-RR and of unary bits are simple: one entry that belongs to the category,
times a number, and one number r of the whole report, shared out by a load. Of products of such
features of two variables only the sums along rows and columns are correlated, so that the
covariance of k1 k2 cells needs 2 (k1 + k2) + 3 factors, and no matrix of k1 k2 rows is formed.

The decoded report phi of a respondent is unbiased for the indicator of her true category. Weighted
totals of phi are then unbiased for the weighted totals of the truth, whatever the weights, and what
her randomisation adds to their variance is the covariance C_x of phi given her category x, which is
known. ``phi_x kron phi_y`` is unbiased for the indicator of a pair; its covariance, with E_x the
matrix that has a one at (x, x) alone, is ``(C_x + E_x) kron (C_y + E_y) - E_x kron E_y``, and so on
for more variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import combinations
from itertools import product as assignments
from math import prod
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ldpstats.arguments import Array, floats, record
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.labels import Codes
from ldpstats.likelihood.covariance import (
    Covariance,
    ExactForm,
    Pair,
    PooledTallies,
    Tallies,
    Uncertain,
    block_diagonal,
    project_simplex,
    project_subsimplex,
    without_rounding,
)
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.likelihood.moments import Equations, Moments, OwnCounts
from ldpstats.likelihood.rows import DenseRows, Rows
from ldpstats.reports.single import Counts, Reports

_ROUNDING = 1e-13  # variance, relative to the mean square, that is rounding
_SINGULAR = 1e-10  # spread of a sum, relative to that of its parts, below which it is certain


@record
class JointMoments(Moments):
    """Equations for a joint distribution from products of features.

    `complete` says whether the frequencies of all cells of the variables `names` sum to one.
    """

    strata: tuple[Stratum, ...]
    names: tuple[str, ...]
    nobs: int
    complete: bool = True
    kind: str = "joint"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(map(len, self.strata[0].responses))

    @property
    def k(self) -> int:
        return prod(self.sizes)

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """Inverse of the response of each variable alone, or of all at once over several strata."""
        N = self.nobs
        if len(self.strata) == 1:
            return tuple(map(unbiased_map, self.strata[0].responses, self.names))
        total = sum(s.nobs / N * reduce(np.kron, s.responses) for s in self.strata)
        return (unbiased_map(np.asarray(total), f"{' and '.join(self.names)} together"),)

    def estimate(self) -> tuple[Array, str]:
        total = sum(map(attrgetter("sums"), self.strata)) / self.nobs
        strata = "" if len(self.strata) == 1 else f" in {len(self.strata)} strata"
        return along(total, self.inverses), f"products of unbiased features{strata}, solved exactly"

    @cached_property
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
            return self.plug_in
        mean, square = self._observed
        variances = square - mean**2
        least = _ROUNDING * square
        return project_simplex(self.estimate()[0], np.where(variances > least, variances, 0.0))

    @cached_property
    def unbiased(self) -> Stratum:
        """The first stratum, with features whose means are the indicators of the categories."""
        stratum = self.strata[0]
        for v, name in enumerate(self.names):
            stratum = stratum.unbiased(v, name)
        return stratum

    def summing_to_one(self) -> JointMoments:
        """These moments from features that sum to one over the categories of their variable.

        What a feature x has too much is taken off along a = S 1 / 1'S 1, with S the covariance of
        the features: ``x - a (1'x - 1)`` is as unbiased and varies least.
        """
        strata = list(self.strata)
        for v, name in enumerate(self.names):
            unbiased = [stratum.unbiased(v, name) for stratum in strata]
            spread = np.sum([s.feature_spread(v) for s in unbiased], axis=0)
            load, total = spread.sum(axis=1), float(spread.sum())
            if total > _SINGULAR * float(np.abs(spread).sum()):
                strata = [s.without_excess(v, load / total) for s in unbiased]
        return replace(self, strata=tuple(strata))

    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the estimate.

        Where all combinations of reports can be listed it is that at p, by default at the law of
        `Stratum.report_law`; where those of each variable can, that at p, by default `in_errors`;
        else the spread of the products of features as observed, whatever p is.
        """
        spread, squares = np.asarray(0.0), np.asarray(0.0)
        if all(one.listed is None and one.alphabets is not None for one in self.strata):
            at = self.in_errors if p is None else p
            spread = np.sum([stratum.expected_spread(at) for stratum in self.strata], axis=0)
            return without_rounding(self._sandwich(spread), 1.0 / self.nobs)
        for stratum in self.strata:
            squares = squares + stratum.observed_squares
            if stratum.listed is None:
                mean = stratum.sums / stratum.nobs
                spread = spread + stratum.observed_squares - stratum.nobs * np.outer(mean, mean)
                continue
            law = stratum.report_law(self.plug_in) if p is None else stratum.listed[0].mix(p)
            mean, gram = stratum.products.adjoint(law), stratum.products.gram(law)
            spread = spread + stratum.nobs * (gram - np.outer(mean, mean))
        return without_rounding(self._sandwich(spread), np.diagonal(self._sandwich(squares)))

    @property
    def factored(self) -> Covariance | None:
        """The covariance of very many cells of two variables, diagonal plus low rank.

        Of labels at the law of `Stratum.report_law`, else at `in_errors`; None where features are
        not simple, or respondents fall into strata.
        """
        stratum = self.strata[0]
        if len(self.strata) > 1 or len(self.names) != 2 or stratum.units is None:
            return None
        if (units := stratum.units(stratum.loads)) is None:
            return None
        (one, other), law = units, self.in_errors
        if stratum.listed is not None:
            one, other, law = one.reported(), other.reported(), stratum.report_law(self.plug_in)
        return product_covariance(one, other, law.reshape(self.sizes), self.nobs)

    def variances(self) -> Array:
        """Variances of the estimate, shape (k,), without their covariances; one stratum."""
        if len(self.strata) > 1:
            raise NotAvailable("variances alone are of one stratum: use fewer cells, or groups")
        stratum = self.unbiased
        if stratum.listed is not None:
            mean, square = stratum.products.adjoints(stratum.report_law(self.plug_in))
        else:
            mean, square = self._observed
        return np.asarray(np.maximum(square - mean**2, 0.0) / self.nobs)

    @property
    def sources(self) -> list[tuple[Stratum, Sequence[Array], int, Array | None]]:
        """The strata, what makes their features unbiased, of how many, over sums of which cells."""
        return [(stratum, self.inverses, self.nobs, None) for stratum in self.strata]

    @property
    def _observed(self) -> tuple[Array, Array]:
        """Mean unbiased features of the respondents, and mean squares; one stratum."""
        stratum = self.unbiased
        mean = stratum.rows.adjoint(stratum.first) / self.nobs
        return mean, stratum.rows.adjoints(stratum.second)[1] / self.nobs

    def _sandwich(self, spread: Array) -> Array:
        half = along(spread, self.inverses)
        V = along(half.T, self.inverses) / self.nobs**2
        return (V + V.T) / 2.0


@record
class PartialMoments(JointMoments):
    """Moments of those who were asked all variables, and of those who were asked some, `partial`.

    Of the latter a variable that was not asked has one category: they estimate sums A_s p, by q_s.
    By generalised least squares ``p = p_0 + sum_s B_s (q_s - A_s p_0)``, with p_0 the estimate of
    those who were asked all, at which B is computed.
    """

    partial: tuple[JointMoments, ...] = ()

    @cached_property
    def whole(self) -> JointMoments:
        """The moments of those who were asked all variables."""
        return JointMoments(self.strata, self.names, self.nobs, self.complete)

    @cached_property
    def _terms(self) -> list[tuple[JointMoments, Array, Array]]:
        """Moments, the cells that they sum, A, (k_s, k), and what they add to p, B, (k, k_s)."""
        sums, V, p = list[Array](), self.whole.covariance().matrix(), self.whole.in_errors
        for part in self.partial:
            gone = tuple(np.flatnonzero(np.equal(part.sizes, 1)))
            whole = np.eye(self.k).reshape(*self.sizes, self.k)
            sums.append(whole.sum(axis=gone).reshape(part.k, self.k))
        noise = [q.covariance(A @ p) for q, A in zip(self.partial, sums, strict=True)]
        A = np.concatenate(sums)
        S = A @ V @ A.T + block_diagonal(noise).matrix()
        B = V @ A.T @ np.linalg.pinv(S, rcond=_SINGULAR, hermitian=True)
        ends = np.cumsum([part.k for part in self.partial])[:-1]
        rest = zip(self.partial, sums, np.split(B, ends, axis=1), strict=True)
        return [(self.whole, np.eye(self.k), np.eye(self.k) - B @ A), *rest]

    @property
    def sources(self) -> list[tuple[Stratum, Sequence[Array], int, Array | None]]:
        return [
            (stratum, [B @ reduce(np.kron, problem.inverses)], problem.nobs, A)
            for problem, A, B in self._terms
            for stratum in problem.strata
        ]

    def estimate(self) -> tuple[Array, str]:
        p: Any = sum(B @ problem.estimate()[0] for problem, _, B in self._terms)
        return p, f"{self.whole.estimate()[1]}; partial answers by least squares"

    @cached_property
    def in_errors(self) -> Array:
        return project_simplex(self.estimate()[0], self.covariance().variances())

    def covariance(self, p: Array | None = None) -> Covariance:
        at, V = self.plug_in if p is None else p, np.zeros((self.k,) * 2)
        for problem, A, B in self._terms:
            own = problem.covariance(p if problem is self.whole else A @ at)
            V += B @ own.matrix() @ B.T
        return Covariance.dense((V + V.T) / 2.0)


# -- Respondents whose reports on different variables are independent given their true values -----


_RARE = 10  # times that a report is seen below which its share is no measure of its variance
_ALONE = 1e-9  # share of all other cells below which it is rounding
_MOST_LISTED = 1 << 22  # combinations of reports times cells, over several strata, to list


class Alphabet(NamedTuple):
    """All reports of one variable, a row each: features (l, f), and the channel, (k, l)."""

    features: Array
    channel: Array


@record
class Stratum:
    """Respondents whose reports on different variables are independent given the true values.

    `rows`, (u, f), has the products of the features of each combination of reports, up to a factor
    per row; `first` and `second`, (u,), how often each was seen, times that factor, and times its
    square. `responses` are the R_v, (f_v, k_v). Where all reports of each variable can be listed
    they are the `alphabets`; where all their combinations can, `listed` has a row of the channel
    for each, and how often it was seen. `units` makes the unbiased features of each variable, where
    they are simple, whose excess over a sum of one is shared out by `loads`.
    """

    rows: JointRows
    first: Array
    second: Array
    nobs: int
    responses: tuple[Array, ...]
    alphabets: tuple[Alphabet, ...] | None = None
    listed: tuple[JointRows, Array] | None = None
    units: Callable[[Mapping[int, Array]], tuple[Unit, ...] | None] | None = None
    loads: Mapping[int, Array] = field(default_factory=dict)

    @property
    def products(self) -> JointRows:
        """Products of the features of all combinations of reports."""
        features, _ = zip(*self.alphabets or (), strict=True)
        return combinations_of(features)

    def report_law(self, p: Array) -> Array:
        """The law of the listed reports for a variance: as seen, where they are rare that at p.

        The projection p of a noisy estimate takes from large cells what it gives to empty ones; the
        law that was seen makes rare reports look certain, where they happen to be rarer.
        """
        assert self.listed is not None
        channel, seen = self.listed
        share = seen / seen.sum()
        law = np.where(seen < _RARE, np.maximum(share, channel.mix(p)), share)
        return np.asarray(law / law.sum())

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
        rows = DenseRows(floats(factor.W))
        sums = rows.adjoint(n)
        return rows.gram(n) - np.outer(sums, sums) / self.nobs

    def unbiased(self, v: int, name: str) -> Stratum:
        """With features of variable v whose mean is the indicator of its true category."""
        inverse = unbiased_map(self.responses[v], name)
        return self._changed(v, lambda values: values @ inverse.T, np.eye(len(inverse)))

    def without_excess(self, v: int, load: Array) -> Stratum:
        """With unbiased features of variable v that sum to one: what is too much goes by `load`."""

        def change(values: Array) -> Array:
            return values - np.outer(values.sum(axis=1) - 1.0, load)

        made = self._changed(v, change, self.responses[v])
        return replace(made, loads={**self.loads, v: load})

    def _changed(self, v: int, change: Callable[[Array], Array], response: Array) -> Stratum:
        factors, responses = list(self.rows.factors), list(self.responses)
        factors[v] = factors[v]._replace(W=change(factors[v].W))
        responses[v] = response
        made = replace(self, rows=JointRows(factors), responses=tuple(responses))
        if self.alphabets is None:
            return made
        alphabets = list(self.alphabets)
        alphabets[v] = Alphabet(change(alphabets[v].features), alphabets[v].channel)
        return replace(made, alphabets=tuple(alphabets))

    def expected_spread(self, p: Array) -> Array:
        """Covariance of `sums` if the true cells have law p, from the reports of each variable."""
        assert self.alphabets is not None
        squares, means = [], []
        for F, Q in self.alphabets:  # mean outer products given the true category, (f f, k)
            squares.append(np.concatenate([Q @ (F * f[:, None]) for f in F.T], axis=1).T)
            means.append(F.T @ Q.T)
        sizes = [len(M) for M in means]
        d, outer = len(sizes), along(p, squares)
        # axes are those of the variables, twice each: to all of the first, then all of the second
        split = outer.reshape([size for f in sizes for size in (f, f)])
        order = [*range(0, 2 * d, 2), *range(1, 2 * d, 2)]
        outer, mean = split.transpose(order).reshape(int(np.prod(sizes)), -1), along(p, means)
        return np.asarray(self.nobs * (outer - np.outer(mean, mean)))

    def path_moments(
        self, p: Array, solve: Sequence[Array], V: Array | None, A: Array | None = None
    ) -> tuple[Array, Array, Array, Array, Array] | None:
        """Moments of unbiased products of features along the path of each cell from p; or None.

        On the path its frequency goes from 0 to 1 while the others keep their proportions. First
        three moments of respondents in the cell, and of others, (3, k) each; how far one report
        more moves the sum, of the combination that tells most of the cell, and the part of the
        variance at p that the count of this has; variance of the second moments of others, zero
        where V, the covariance of p, is not known. `solve` makes features unbiased: a matrix for
        each variable, or one for all; with `A` reports tell of the sums A p alone. It is None where
        reports are too many, or cannot be listed.
        """
        if self.alphabets is None:
            return None
        features, channels = zip(*self.alphabets, strict=True)
        if len(solve) < len(features):
            if np.prod([float(len(F)) for F in features]) * p.size > _MOST_LISTED:
                return None
            features, channels = (reduce(np.kron, features),), (reduce(np.kron, channels),)
        if A is not None:
            channels = (A.T @ channels[0],)
        columns = zip(features, solve, channels, strict=True)
        maps = [(F @ M.T, Q.T) for F, M, Q in columns]
        own, total = np.empty((3, p.size)), np.empty((3, p.size))
        for r in range(3):
            given = [(G ** (r + 1)).T @ Q for G, Q in maps]
            own[r] = reduce(np.kron, [np.diagonal(M) for M in given])
            total[r] = along(p, given)
        others = 1.0 - p
        alone = others < _ALONE  # nothing is known of where the others would be
        rest = (total - p * own) / np.where(alone, 1.0, others)
        if alone.any():
            even = np.full(p.size, 1.0 / p.size)
            for r in range(3):
                rest[r, alone] = along(even, [(G ** (r + 1)).T @ Q for G, Q in maps])[alone]
        rest[1] = np.maximum(rest[1], 0.0)  # below 0 by rounding only
        # the largest product of features of each cell, and its part in the variance at p
        tops = [np.abs(G).argmax(axis=0) for G, _ in maps]
        largest = list(zip(maps, tops, strict=True))
        step = reduce(np.kron, [np.abs(G[top, np.arange(G.shape[1])]) for (G, _), top in largest])
        seen = along(p, [Q[top] for (_, Q), top in largest])
        part, variance = step**2 * seen * (1.0 - seen), total[1] - total[0] ** 2
        some = variance > _ROUNDING * step**2
        share = np.clip(np.divide(part, variance, out=np.ones_like(part), where=some), 0.0, 1.0)
        doubt = np.zeros(p.size)
        if V is not None:  # variances of means over all cells but one, within what ranges allow
            rates = np.array(reduce(np.kron, [(G**2).T @ Q for G, Q in maps])) - rest[1][:, None]
            np.fill_diagonal(rates, 0.0)
            most = -rates.max(axis=1) * rates.min(axis=1)
            of_means = np.einsum("ij,ij->i", rates @ V, rates) / np.maximum(others, _ALONE) ** 2
            doubt = np.where(alone, 0.0, np.clip(of_means, 0.0, most))
        return own, rest, step, share, doubt


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


# -- Waves of devices that keep what they once drew -----------------------------------------------


def of_paths(
    same: Callable[[tuple[int, ...]], Array], own: tuple[int, ...], n_waves: int, k: int
) -> Array:
    """Log-likelihoods under each path, (u, k^T), of the reports of one device in its `own` waves.

    A device that memoises draws one response b to each answer, and noise anew for every report:
    ``P(r | x) = prod over distinct v in x of sum_b P(b | v) prod_{t: x_t = v} P(r_t | b)``, so that
    waves with one answer share b, and waves with different answers are independent. `same` gives
    the logarithm of a factor: of some waves if one answer was given in them, (u, k).
    """
    alike: dict[tuple[int, ...], Array] = {}
    columns = []
    for path in assignments(range(k), repeat=n_waves):
        total: Any = 0.0
        for v in {path[t] for t in own}:
            some = tuple([t for t in own if path[t] == v])
            if some not in alike:
                alike[some] = same(some)
            total = total + alike[some][:, v]
        columns.append(total)
    return np.stack(columns, axis=1)


# -- The likelihood of the reports on several variables, known through its products ----------------

# The mechanisms of the variables draw their noise independently, so that the likelihood of a joint
# report is the Kronecker product of its parts: W[i, (x, y)] = W1[i, x] W2[i, y], cells row-major.
# The products never form it. Where the distinct reports of the variables are few, as with k-RR,
# they go through the table of all their combinations; else from block to block of reports.
_BLOCK = 1 << 19  # float64 numbers that a block of reports takes (4 MB); more leave the cache
_THIN = 32  # reports in a block below which products of pairs are not worth it
_QUICK = 4  # multiplications of a large product in the time that one by blocks takes
_SMALL = 32  # rows and columns up to which matrices of two variables are joined
_TABLE = 1 << 25  # combinations of distinct reports (256 MB) up to which they are tabulated


class Factor(NamedTuple):
    """One variable's part of joint rows.

    `W`, (u_v, k_v), has likelihoods up to a factor per row, whose natural logarithm is `scale`,
    (u_v,), None for zeros; float64, float32 or integers, negative ones included. `index`, (u,), is
    the row of W that belongs to each joint report; None where W has one row per joint report.
    """

    W: Array
    index: Array | None = None  # type: ignore[assignment]  # tuple has a method of this name
    scale: Array | None = None

    def rows(self, part: slice) -> Array:
        """The rows of the joint reports in `part`, float64."""
        chosen = part if self.index is None else self.index[part]
        return floats(self.W[chosen])

    def select(self, keep: Array | slice) -> Factor:
        """The part of some joint reports."""
        if self.index is not None:
            return self._replace(index=self.index[keep])
        return Factor(self.W[keep], None, None if self.scale is None else self.scale[keep])


class JointRows(Rows):
    """Rows whose entries are products over variables: row i is the Kronecker product of theirs.

    `sizes` are the categories k_1, ..., k_d of the variables, `extent` their distinct reports.
    """

    is_structured: ClassVar[bool] = True
    is_joint: ClassVar[bool] = True
    shape: tuple[int, int] = (0, 0)

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.factors, (W, index, _) = tuple(factors), factors[0]
        matrices = [factor.W for factor in factors]
        self.extent, self.sizes = zip(*map(np.shape, matrices), strict=True)
        self.shape = len(W) if index is None else index.size, prod(self.sizes)
        # work of a product through the table of all combinations of distinct reports
        work = sum(prod(self.extent[: i + 1] + self.sizes[i:]) for i in range(len(factors)))
        quick = prod(self.extent) <= _TABLE and work <= _QUICK * prod(self.shape)
        known = all(factor.index is not None for factor in factors)
        self.is_table = known and quick  # type: ignore[misc]

    @cached_property
    def log_scale(self) -> Array:
        scales = [(index, scale) for _, index, scale in self.factors if scale is not None]
        start = np.zeros(self.shape[0])
        return sum((scale if at is None else scale[at] for at, scale in scales), start)

    def mix(self, p: Array, power: Callable[[Array], Array] = np.asarray) -> Array:
        """W p, shape (u,), or with a power of each entry of W."""
        if self.is_table:
            return along(p.T, map(power, self._joined))[self._table].T
        out, P = np.empty(self.shape[0]), np.ascontiguousarray(p.reshape(self.sizes[0], -1))
        for part, left, right in self._halves():
            out[part] = np.einsum("ij,ij->i", power(left) @ P, power(right))
        return out

    def mix_squares(self, p: Array) -> Array:
        return self.mix(p, np.square)

    def adjoint(self, v: Array) -> Array:
        if self.is_table:
            return along(self._tally(v), map(np.transpose, self._joined))
        total = np.zeros(self._half_sizes)
        for part, left, right in self._halves():
            total += left.T @ (v[part, None] * right)
        return total.reshape(-1)

    def mix_each(self, p: Array) -> Array:
        return self.mix(p) if self.is_table else super().mix_each(p)

    def adjoint_each(self, v: Array) -> Array:
        if not self.is_table:
            return super().adjoint_each(v)
        tables = np.stack([self._tally(one) for one in v], axis=1)
        return along(tables, map(np.transpose, self._joined)).T

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        if self.is_table:
            squares = map(np.transpose, map(np.square, self._joined))
            return self.adjoint(v), along(self._tally(v), squares)
        first, second = np.zeros((2, *self._half_sizes))
        for part, left, right in self._halves():
            weighted = v[part, None] * right
            first += left.T @ weighted
            second += (left * left).T @ (weighted * right)
        return first.reshape(-1), second.reshape(-1)

    def gram(self, v: Array, rough: bool = False) -> Array:
        """W' diag(v) W, shape (k, k).

        An entry depends on the two categories of each variable without their order: the products of
        equal pairs are made once. Where those of the variable with most categories are too many, it
        takes a dense product for each pair of the others.
        """
        if self.is_table:
            W, growth = self._matrices, n_pairs(np.array(self.sizes)) / self.extent
            *first, last = order = np.argsort(growth, kind="stable").tolist()  # small tables first
            table = self._tally(v).reshape(self.extent).transpose(order)
            for axis in first:  # summed along its first axis with `pairs` of W, which are put last
                total = np.zeros((*table.shape[1:], n_pairs(self.sizes[axis])))
                step = max(1, _BLOCK // total.shape[-1])
                for start in range(0, len(W[axis]), step):
                    rows = slice(start, start + step)
                    total += np.tensordot(table[rows], pairs(W[axis][rows]), axes=(0, 0))
                table = total
            k = self.sizes[last]
            packed = np.zeros((*table.shape[1:], k, k))
            add_grams(packed.reshape(-1, k, k), table.reshape(len(table), -1), W[last])
            return unpack(packed, self.sizes, order)
        sizes = self._half_sizes
        lengths = n_pairs(np.array(sizes))
        if lengths.sum() <= _BLOCK // _THIN:
            total = np.zeros(lengths)
            for part, *halves in self._halves(lengths.sum()):
                weights = v[part, None]
                if rough:  # rows with a largest entry of one stay in the range of float32
                    tops = [np.abs(half).max(axis=1, keepdims=True) for half in halves]
                    weights = (weights * (tops[0] * tops[1]) ** 2).astype(np.float32)
                    scaled = zip(halves, tops, strict=True)
                    halves = [(half / top).astype(np.float32) for half, top in scaled]
                left, right = map(pairs, halves)
                total += left.T @ (right * weights)
            return unpack(total, sizes, (0, 1))
        less, more = np.argsort(sizes, kind="stable").tolist()
        total = np.zeros((lengths[less], sizes[more], sizes[more]))
        for part, *halves in self._halves(lengths[less] + sizes[more]):
            add_grams(total, pairs(halves[less]) * v[part, None], halves[more])
        return unpack(total, sizes, (less, more))

    def rough_gram(self, v: Array) -> Array:
        return self.gram(v, rough=True)

    def take(self, start: int, stop: int) -> Array:
        return reduce(khatri_rao, (factor.rows(slice(start, stop)) for factor in self.factors))

    def select(self, keep: Array | slice) -> Self:
        """The rows in `keep`, a boolean array of shape (u,) or a slice, which copies nothing."""
        return type(self)([factor.select(keep) for factor in self.factors])

    def margins(self, n: Array) -> list[tuple[Array, Array]]:
        return [
            (W, n if index is None else np.bincount(index, n, len(W)))
            for W, index, _ in self.factors
        ]

    # ---- through the table of all combinations of the variables' distinct reports

    @cached_property
    def _table(self) -> Array:
        """Cell of the table that each joint report is in, (u,)."""
        _, indices, _ = zip(*self.factors, strict=True)
        return np.asarray(np.ravel_multi_index(indices, self.extent))

    @cached_property
    def _matrices(self) -> list[Array]:
        return [floats(factor.W) for factor in self.factors]

    @cached_property
    def _joined(self) -> list[Array]:
        """The same product of fewer matrices: small ones are joined, for each passes over all."""
        joined = self._matrices[:1]
        for W in self._matrices[1:]:
            if max(np.multiply(joined[-1].shape, W.shape)) <= _SMALL:
                joined[-1] = np.kron(joined[-1], W)
            else:
                joined.append(W)
        return joined

    def _tally(self, v: Array) -> Array:
        """The sum of v over the joint reports of each cell of the table, (u_1 u_2 ...,)."""
        return np.bincount(self._table, v, prod(self.extent))

    # ---- from block to block of reports

    @property
    def _half_sizes(self) -> tuple[int, int]:
        """Categories of the first variable and of the others together."""
        return self.sizes[0], prod(self.sizes[1:])

    def _halves(self, width: int = 0) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of reports: the rows of the first variable and of the others together.

        `width` is how many numbers a report takes, if more than these rows.
        """
        step = max(1, _BLOCK // max(width, sum(self._half_sizes)))
        for start in range(0, self.shape[0], step):
            part = slice(start, min(start + step, self.shape[0]))
            left, *others = (factor.rows(part) for factor in self.factors)
            yield part, left, reduce(khatri_rao, others)


# -- Products of the rows of several variables, and of pairs of their categories ------------------


def combinations_of(matrices: Sequence[Array]) -> JointRows:
    """A row for each combination of the rows of matrices (l_v, k_v), the last varying fastest."""
    grid = np.indices(tuple(map(len, matrices))).reshape(len(matrices), -1)
    return JointRows(tuple(map(Factor, map(np.ascontiguousarray, matrices), grid)))


def along(values: Array, matrices: Iterable[Array]) -> Array:
    """``(M_1 (x) M_2 (x) ...) values`` for values of shape (k_1 k_2 ..., ...)."""
    tail = values.shape[1:]
    for M in matrices:  # each takes the first axis and puts its own last
        values = values.reshape(M.shape[1], -1).T @ M.T
    return values.reshape(prod(tail), -1).T.reshape(-1, *tail)


def khatri_rao(left: Array, right: Array) -> Array:
    """Row by row Kronecker products, shape (b, k_1 k_2)."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), left.shape[1] * right.shape[1])


def pairs(rows: Array) -> Array:
    """Products of columns i <= s of (b, k) rows, shape (b, k (k + 1) / 2), by i, then s."""
    k = rows.shape[1]
    columns = np.ascontiguousarray(rows.T)
    out = np.empty((n_pairs(k), len(rows)), dtype=rows.dtype)
    end = 0
    for i in range(k):
        start, end = end, end + k - i
        np.multiply(columns[i], columns[i:], out=out[start:end])
    return out.T


def n_pairs(k: Any) -> Any:
    """Columns of `pairs`."""
    return k * (k + 1) // 2


def add_grams(total: Array, weights: Array, W: Array) -> None:
    """Add ``W' diag(w) W`` for each column w of the weights, (b, m), to the total, (m, k, k)."""
    b, k = W.shape
    step = max(1, _BLOCK // (b * k))
    columns = np.ascontiguousarray(W.T)
    for start in range(0, len(total), step):
        some = slice(start, start + step)
        weighted = weights.T[some, None, :] * columns
        total[some] += (weighted.reshape(-1, b) @ W).reshape(-1, k, k)


def unpack(packed: Array, sizes: Sequence[int], order: Sequence[int]) -> Array:
    """The (k, k) matrix, k = k_1 ... k_d, of cells in `packed`, whose axes are variables in order.

    Each is a cell per `pairs`; if there is one more axis, the last two are of the last variable.
    """
    d, cells = len(sizes), []
    for axis in order:
        size = sizes[axis]
        first, second = np.indices((size, size))
        low, high = np.minimum(first, second), np.maximum(first, second)
        whole = packed.ndim > d and axis == order[-1]
        at = [1] * (2 * d)
        at[axis] = at[d + axis] = size
        for cell in (low, high) if whole else (low * (2 * size - low - 1) // 2 + high,):
            cells.append(cell.reshape(at))
    k = prod(sizes)
    return np.asarray(packed[tuple(cells)].reshape(k, k))


# -- Features of the single reports of one variable -----------------------------------------------


_CHUNK = 1 << 16  # reports whose bits are unpacked at a time
_LARGE = 1 << 23  # features from which single precision keeps memory in bounds


def linear_features(
    counts: Counts | Reports, moments: Equations | CohortMoments, rest: bool = False
) -> Array:
    """The linear estimate of each single report, times its precision, (u, f).

    With a constant more for the `rest`, which every answer has.
    """
    if isinstance(moments, CohortMoments):  # one design a cohort, not one for all reports
        values = _cohort_features(counts, moments)
        return np.column_stack([values, np.ones(len(values), values.dtype)]) if rest else values
    return single_estimates(counts, moments) * _precision(moments)


def linear_response(
    moments: Equations | CohortMoments, shares: Array | None, rest: bool = False
) -> Array:
    """Mean `linear_features` given the category, (f, k), for the shares of the cohorts, (C,)."""
    if not isinstance(moments, CohortMoments):
        return _precision(moments) * np.eye(moments.k)
    assert shares is not None
    source, R = moments.sources[0], np.zeros((moments.k,) * 2)
    for c in np.flatnonzero(shares).tolist():
        A = source.design.block(c)
        R += source.precision * shares[c] * (A.T @ A)
    if rest:  # a category that has only the constant
        R = np.pad(R, ((0, 1), (0, 1)))
        R[-1] = 1.0
    return R


def _precision(moments: Equations) -> float:
    """Of one report; it matters only where groups of mechanisms are averaged."""
    slope = 1.0 if moments.is_dense else float(np.mean(np.square(moments.A)))
    return float(np.mean(moments.weights)) / moments.nobs * slope


def single_estimates(counts: Counts | Reports, moments: Equations) -> Array:
    """The linear estimate of each single report, ``G (t - offset)``, shape (u, k).

    Given the true category its mean is the indicator of that.
    """
    G = moments.inverse
    reports, offset = indicators(counts), floats(moments.offset)
    if reports.shape[1] > moments.t.size:  # labels that no category ever reports have no equation
        reports = reports[:, counts.mechanism.channel().matrix().any(axis=0)]
    if reports.shape[1] < moments.t.size:  # the last equation says that frequencies sum to one
        reports = np.column_stack([reports, np.ones(len(reports))])
    moved = reports - offset
    return moved * G if np.ndim(G) < 2 else moved @ np.asarray(G).T


def indicators(counts: Counts | Reports) -> Array:
    """Reports as rows of zeros and ones: their bits, or a one at their label.

    Where equations are of other features of the labels, those.
    """
    mechanism = counts.mechanism
    features = mechanism.format.features(counts.y)
    if features is not None:
        return np.asarray(features)
    if mechanism.n_bits:
        bits = mechanism.format.unpack(counts.y)
        return np.asarray(bits, dtype=np.float32 if bits.size > _LARGE else np.float64)
    out = np.zeros((counts.y.size, mechanism.n_outputs))
    out[np.arange(counts.y.size), counts.y] = 1.0
    return out


def _cohort_features(counts: Counts | Reports, moments: CohortMoments) -> Array:
    """A_c'(t - offset) of each report t, with A_c the equations of its cohort c."""
    source = moments.sources[0]
    design, offset, cohort = source.design, source.offset, counts.cohort
    assert cohort is not None
    S = design.cells.shape[1]
    values = np.empty((len(cohort), S), np.float32 if len(cohort) * S > _LARGE else np.float64)
    order = np.argsort(cohort, kind="stable")
    ends = np.searchsorted(cohort[order], np.arange(len(design.cells) + 1))
    for c in np.flatnonzero(np.diff(ends)):
        A = source.precision * design.block(int(c))
        level = offset * A.sum(axis=0)
        for start in range(ends[c], ends[c + 1], _CHUNK):
            rows = order[start : min(start + _CHUNK, ends[c + 1])]
            if counts.mechanism.n_bits:
                bits = np.unpackbits(counts.y[rows], axis=1, count=len(A), bitorder="little")
                values[rows] = bits.astype(np.float64) @ A - level
            else:
                values[rows] = A[counts.y[rows]] - level
    return values


# -- Covariances of tables of many cells as a diagonal plus a low rank ----------------------------


@record
class Unit:
    """Unbiased features ``scale e_i + load_i r`` of one variable, with E[e_i e_j] = 0, i != j.

    `mean`, `square` and `cross`, (k, c), are the means of e_i, e_i^2 and e_i r given each of c
    states, true categories or reports; `rest` and `rest_square`, (c,), those of r and r^2.
    """

    mean: Array
    square: Array
    cross: Array
    rest: Array
    rest_square: Array
    scale: float
    load: Array

    @classmethod
    def of_labels(cls, Q: Array, a: float, b: float | Array) -> Unit:
        """Of reports by the channel Q = a I + 1 b': e is the indicator of the report, r = 1."""
        k = len(Q)
        load = -np.broadcast_to(b, (k,)) / a
        return cls(Q.T, Q.T, Q.T, np.ones(k), np.ones(k), 1.0 / a, load)

    @classmethod
    def of_bits(cls, k: int, p1: float, p0: float, load: Array) -> Unit:
        """Of unary bits: e_i is (bit i - p0) / (p1 - p0), and r what their sum lacks of one."""
        square = np.full((k, k), p0 * (1.0 - p0))
        np.fill_diagonal(square, p1 * (1.0 - p0) ** 2 + (1.0 - p1) * p0**2)
        square /= (p1 - p0) ** 2
        rest = square.sum(axis=0) - 1.0
        return cls(np.eye(k), square, np.eye(k) - square, np.zeros(k), rest, 1.0, load)

    def reported(self) -> Unit:
        """Of labels, with the reports for the states."""
        own = np.eye(len(self.mean))
        return replace(self, mean=own, square=own, cross=own)


def product_covariance(one: Unit, other: Unit, law: Array, nobs: int) -> Covariance:
    """Covariance of mean products of two variables' features, of `nobs` states of law (c1, c2).

    Of the k1 k2 cells, first variable in rows: diagonal plus 2 (k1 + k2) + 3 factors.
    """
    k1, k2 = len(one.mean), len(other.mean)
    square, both = one.square @ law @ other.square.T, one.cross @ law @ other.cross.T
    by_row, by_column = one.square @ law @ other.cross.T, one.cross @ law @ other.square.T
    # Cell ij has the part scale e_i f_j, of the diagonal, and what w = (e q, r f, r q) adds by J;
    # q and r are the numbers of the whole reports.
    J = np.zeros((k1, k2, k1 + k2 + 1))
    X = np.zeros_like(J)  # means of e_i f_j w
    rows, columns = np.arange(k1), np.arange(k2)
    J[rows, :, rows] = one.scale * other.load
    J[:, columns, k1 + columns] = other.scale * one.load[:, None]
    J[:, :, -1] = np.outer(one.load, other.load)
    X[rows, :, rows] = by_row
    X[:, columns, k1 + columns] = by_column
    X[:, :, -1] = both
    scale = one.scale * other.scale
    F = J.reshape(k1 * k2, -1)
    # the mean outer product, (k1 + k2 + 1,) * 2, and the mean of w
    W = np.zeros((k1 + k2 + 1,) * 2)
    W[:k1, :k1] = np.diag(one.square @ law @ other.rest_square)
    W[k1:-1, k1:-1] = np.diag(one.rest_square @ law @ other.square.T)
    W[:k1, k1:-1] = both
    W[:k1, -1] = one.cross @ law @ other.rest_square
    W[k1:-1, -1] = one.rest_square @ law @ other.cross.T
    W = np.triu(W) + np.triu(W, 1).T
    W[-1, -1] = one.rest_square @ law @ other.rest_square
    of_rows, of_columns = one.mean @ law @ other.rest, one.rest @ law @ other.mean.T
    mean_w = np.concatenate([of_rows, of_columns, [one.rest @ law @ other.rest]])
    mean = scale * (one.mean @ law @ other.mean.T).ravel() + F @ mean_w
    q = len(W)
    core = np.zeros((2 * q + 1,) * 2)
    core[:q, :q] = W
    core[:q, q : 2 * q] = core[q : 2 * q, :q] = np.eye(q)
    core[-1, -1] = -1.0
    factors = np.column_stack([F, scale * X.reshape(k1 * k2, -1), mean])
    return Covariance(scale**2 * square.ravel() / nobs, core / nobs, factors)


# -- Decoded reports of two variables together: their products, and the noise of these ------------


def places_of(sizes: Sequence[int]) -> Codes:
    """Places of the totals of a table of d variables, in an array of shape (k_1 + 1, ..., k_d + 1).

    A table has the totals of all its cells, then those of each set of its variables, larger sets
    first, last the number of persons. A variable that is not in the set is at its last index.
    """
    d, before = len(sizes), 0
    places = np.empty([k + 1 for k in sizes], dtype=np.int64)
    for size in range(d, -1, -1):
        for own in combinations(range(d), size):
            shape = [sizes[v] for v in own]
            at = tuple(slice(k) if v in own else k for v, k in enumerate(sizes))
            places[at] = before + np.arange(prod(shape)).reshape(shape)
            before += prod(shape)
    return places


def places_within(sizes: Sequence[int], keep: Sequence[int]) -> Codes:
    """Places of the totals of the table of some of the variables, in an order of their own."""
    away = len(sizes) - len(keep)
    own = places_of([sizes[v] for v in keep])
    found = np.empty(own.size, dtype=np.int64)
    whole = np.moveaxis(places_of(sizes), list(keep), range(-len(keep), 0))
    found[own.reshape(-1)] = whole[(-1,) * away].reshape(-1)
    return found


def table_rows(phis: Sequence[Array]) -> Array:
    """What respondents with decoded reports, (u, k_v) of each variable, add to totals, (u, m)."""
    whole = reduce(khatri_rao, [np.column_stack([phi, np.ones(len(phi))]) for phi in phis])
    rows = np.empty_like(whole)
    rows[:, places_of([phi.shape[1] for phi in phis]).reshape(-1)] = whole
    return rows


def table_noise(totals: Array, decodings: Sequence[Decoding]) -> Array:
    """Randomisation covariance of the totals of a table, (m, m), in the order of `places_of`.

    In the totals, (m,), each respondent counts by her squared weight.
    """
    places = places_of([one.k for one in decodings])
    noise, at = np.empty((totals.size, totals.size)), places.reshape(-1)
    noise[np.ix_(at, at)] = randomised(totals[places], decodings)[0]
    return noise


def randomised(T: Array, decodings: Sequence[Decoding]) -> tuple[Array, Array]:
    """Of totals, (k_1 + 1, ..., k_d + 1), the noise, and second moments of what is true, (m, m).

    With psi a decoded report and a one, and e its mean given the truth, these are the sums of
    ``E[psi psi'] - e e'`` and of ``e e'`` of Kronecker products over the variables.
    """
    first, *others = decodings
    k = first.k
    whole = [randomised(part, others) for part in T] if others else []
    m = len(whole[0][0]) if whole else 1
    noise, true = np.zeros((2, k + 1, m, k + 1, m))
    if not others:
        noise[:k, 0, :k, 0] = first.noise(T[:k], float(T[k]))
    for x in range(k + 1):
        for found, one in zip((noise, true), whole[x] if whole else (None, T[x]), strict=True):
            if one is not None:
                found[x, :, x] = found[x, :, k] = found[k, :, x] = one
    if others:
        second = [sum(both) for both in whole]
        other = second[k] - sum(second[:k])
        for x, unit in enumerate(np.eye(k + 1, k)):  # the last is any other answer
            law = first.noise(unit, 1.0)
            noise[:k, :, :k] += np.einsum("ij,kl->ikjl", law, second[x] if x < k else other)
    return noise.reshape((k + 1) * m, -1), true.reshape((k + 1) * m, -1)


def report_covariance(p: Array, decodings: Sequence[Decoding]) -> tuple[Array, Array]:
    """Covariance of the decoded report of one respondent whose cell has the law p, (k_1, .., k_d).

    Returned are that of the randomisation and that in all, (cells, cells).
    """
    T, cells = p, (slice(-1),) * p.ndim
    for axis in range(p.ndim):
        T = np.concatenate([T, T.sum(axis=axis, keepdims=True)], axis=axis)
    T[(-1,) * p.ndim] = 1.0  # what it lacks are other answers
    whole = (one.reshape(T.shape * 2)[cells * 2] for one in randomised(T, decodings))
    noise, true = (one.reshape(p.size, p.size) for one in whole)
    return noise, noise + true - np.outer(p, p)


# -- Several independent sources of reports about the same p, as one problem ----------------------


def joined(problems: Sequence[Moments]) -> Moments:
    """The equations of all sources together."""
    first, *others = problems
    if not others:
        return first
    return first.merged(others) or pool(problems)


@record
class PooledEquations(Equations):
    """The equations of several sources, `given`, pooled from the `equations` of each."""

    given: tuple[Moments, ...] = ()
    equations: tuple[Equations, ...] = ()

    @property
    def parts(self) -> tuple[Moments, ...]:
        return self.given

    @property
    def condition(self) -> float:  # type: ignore[override]
        """Of the best source, or of all together, whichever is smaller."""
        best = min(problem.condition for problem in self.given)
        return min(best, super().condition) if self.is_dense else best

    def own_counts(self) -> OwnCounts | None:
        return None  # sums of counts from several laws are no binomial counts

    def rules_out(self, p: Array) -> bool:
        return any(problem.rules_out(p) for problem in self.given)

    def exact_form(self) -> ExactForm | None:
        """The exact form of categories that are reported only where they are true.

        The sum of their counts is Poisson binomial, not binomial where sources differ, but its
        tails are the lighter ones (Hoeffding 1956), so that what is exact for a binomial count of
        the same mean is valid, and nearly exact for the few reports where it matters.
        """
        forms = [form for q in self.given if (form := q.exact_form()) is not None]
        noiseless = np.all([form.offset == 0.0 for form in forms], axis=0)
        if len(forms) < len(self.given) or not noiseless.any():
            return None
        nobs, none = sum(form.nobs for form in forms), np.where(noiseless, 0.0, np.nan)
        scale = sum(form.nobs * form.scale for form in forms) / nobs
        return ExactForm(np.sum([form.tally for form in forms], axis=0), nobs, none, scale + none)

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """The counts of several sources, if categories have a count of their own in each."""
        counts = [own for q in self.given if (own := q.own_counts()) is not None]
        if len(counts) < len(self.given):
            return super().tally(linear, p)
        precision = np.array([own.precision for own in counts])
        return PooledTallies(
            nobs=np.array([[float(own.nobs)] for own in counts]),
            offset=np.array([own.offset for own in counts], dtype=float),
            scale=np.array([own.slope for own in counts], dtype=np.float64),
            share=precision / precision.sum(axis=0),
        )

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        return Moments.reach(self, pair)  # which is not known of several sources

    def _weighted(self) -> list[tuple[Equations, Array]]:
        if self.is_dense:
            ends = np.cumsum([q.t.size for q in self.equations])[:-1]
            weights = np.split(np.asarray(self.inverse), ends, axis=1)
        else:
            slopes, precision = precisions(self.equations)
            weights = list(precision / precision.sum(axis=0) / slopes)
        return list(zip(self.equations, weights, strict=True))


def precisions(problems: Sequence[Equations]) -> tuple[Array, Array]:
    """Slopes of the equations of several sources, and precision of their estimates at uniform p.

    Both of shape (sources, k); for sources that each have their own equation per category.
    """
    k = problems[0].weights.size
    slopes = np.array([np.broadcast_to(problem.A, k) for problem in problems], dtype=np.float64)
    return slopes, slopes**2 * [problem.weights for problem in problems]


def pool(problems: Sequence[Moments]) -> PooledEquations:
    """One problem from several independent sources about the same p: all equations stacked, or, if
    each source has an equation per category, their mean by precision at the uniform p.
    """
    parts: list[Equations] = []
    for problem in problems:
        if isinstance(problem, Equations):  # nothing is lost, and they may leave p open
            parts.append(problem)
            continue
        # one equation a category: its linear estimate
        estimate, V, nobs = problem.estimate()[0], problem.covariance, problem.nobs
        variances = V(np.full(problem.k, 1.0 / problem.k)).variances()
        parts.append(Equations(1.0, 0.0, estimate, V, 1.0 / variances, nobs, kind="pooled"))
    system: dict[str, Any]
    if any(part.is_dense for part in parts):
        system = {
            "A": np.vstack([part.dense_slopes().T for part in parts]),
            "offset": np.concatenate([np.broadcast_to(q.offset, q.t.shape) for q in parts]),
            "t": np.concatenate([part.t for part in parts]),
            "V": lambda p: block_diagonal([part.V(p) for part in parts]),
            "weights": np.concatenate([part.weights for part in parts]),
        }
    else:
        slopes, precision = precisions(parts)
        factor = precision / precision.sum(axis=0) / slopes  # of each source's t in the average
        pairs = list(zip(factor, parts, strict=True))
        system = {
            "A": 1.0,
            "offset": 0.0,
            "t": np.sum([c * (part.t - part.offset) for c, part in pairs], axis=0),
            "V": lambda p: reduce(Covariance.__add__, [q.V(p).stretched(c) for c, q in pairs]),
            "weights": precision.sum(axis=0),
        }
    return PooledEquations(
        **system,
        nobs=sum(problem.nobs for problem in problems),
        kind="pooled",
        given=tuple(problems),
        equations=tuple(parts),
    )


# -- What single reports say of the true category: the basis of every weighted estimate -----------


_LISTED = 1 << 16  # numbers that keys may have, up to which they are counted and not sorted
_RESIDUE = 1e-14  # of a covariance, of which those of the truth were taken away
_KEY = 8  # bytes of packed reports up to which equal ones are merged


@record
class Decoding(ABC):
    """The reports of one variable, decoded: `phi`, (u, k), the estimate that each distinct report
    is on its own, and `place`, (n,), the row of `phi` of each report.
    """

    phi: Array
    place: Codes
    # whether `phi` is the same in every domain, as it does not depend on the weights
    is_fixed: ClassVar[bool] = False
    is_open: ClassVar[bool] = False  # whether other answers than the listed ones are possible

    @property
    def k(self) -> int:
        """Number of categories, or of candidates."""
        return int(self.phi.shape[1])

    @property
    def laws(self) -> tuple[tuple[Codes | slice, Decoding], ...]:
        """Rows of `phi` of the reports whose randomisation has one law, and its `noise`."""
        return ((slice(None), self),)

    @abstractmethod
    def noise_at(self, q: Array) -> Array:
        """``sum_x q_x C_x``, (k, k), for shares q >= 0 of the categories, shape (k,).

        Where the list is open, what is missing to a sum of one are shares of other answers.
        """

    def noise(self, t: Array, total: float | None = None) -> Array:
        """``sum_x t_x C_x``, shape (k, k): the randomisation covariance of weighted categories.

        With t, (k,), the sum of ``v_i phi_i`` it is the unbiased estimate of what the randomisation
        adds to the variance of a total whose squared weights are v_i. `total` is the sum of the
        v_i; what t lacks of it is the share of answers that are not listed, by default none.
        """
        rest = total - float(np.sum(t)) if self.is_open and total is not None else 0.0
        every, noise = np.append(t, rest), np.zeros((self.k, self.k))
        for sign in (1.0, -1.0):
            part = np.maximum(sign * every, 0.0)
            size = float(part.sum())
            if size > 0.0:
                noise += sign * size * self.noise_at(part[:-1] / size)
        return noise


@record
class LinearDecoding(Decoding):
    """Reports that all obey the same equations, ``phi = G (t - offset)``."""

    equations: Equations
    is_fixed: ClassVar[bool] = True

    def noise_at(self, q: Array) -> Array:
        # the covariance of phi is that of the truth, diag(q) - q q', and the noise
        whole = self.equations.covariance(q).matrix() * self.equations.nobs
        noise = whole - np.diag(q) + np.outer(q, q)
        # without noise only rounding is left, which may be negative
        least = _RESIDUE * np.abs(whole).max(initial=0.0)
        return np.where(np.abs(noise) <= least, 0.0, noise)


@record
class CohortDecoding(Decoding):
    """Hashed reports, whose equations ``E[b] = offset + A_c p`` differ by cohort.

    One cohort does not determine p, so that single reports are decoded around the weighted estimate
    of all, ``phi_i = p + M^-1 A_c' D (b_i - offset - A_c p)`` with D the precision of the equations
    and M the weighted mean of ``A_c' D A_c``. Their weighted mean is p, by weighted least squares,
    and phi - p is its linearised score. Both are those of the domain that the weights are of.
    """

    distinct: Reports
    moments: CohortMoments
    p: Array

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return self.moments.is_open

    def noise_at(self, q: Array) -> Array:
        source, p, W = self.moments.sources[0], self.p, self.moments.sources[0].reports
        inverse = self.moments.inverse * W.sum()
        off = source.design.by_cohort(source.precision * source.design.times(q - p))
        # noise_weights are D^2 times the weight of each cohort
        squares = source.spread(q) + (off.T * W) @ off
        truth = np.diag(q) - np.outer(q, p) - np.outer(p, q) + q.sum() * np.outer(p, p)
        rest = (1.0 - q.sum()) * np.outer(p, p)
        return np.asarray(inverse @ (squares / W.sum()) @ inverse - truth - rest)


@record
class GroupedDecoding(Decoding):
    """Reports of a device of cohorts, each decoded by the device of the respondent's own cohort.

    The noise of all together is by the weighted shares of the cohorts.
    """

    parts: tuple[tuple[Codes, Decoding], ...]
    shares: Array

    @property
    def laws(self) -> tuple[tuple[Codes | slice, Decoding], ...]:
        return self.parts

    def noise_at(self, q: Array) -> Array:
        pairs = zip(self.shares, self.parts, strict=True)
        return np.asarray(sum(share * one.noise_at(q) for share, (_, one) in pairs))


@record
class PooledDecoding(Decoding):
    """Reports of a device of cohorts of which one alone does not determine the frequencies.

    As hashed ones they are decoded around the weighted estimate p of all,
    ``phi = p + M^-1 (L_c[:, y] - L_c Q_c' p)`` with L_c the channel Q_c of cohort c over the law of
    its reports at the uniform p, and M the weighted mean of ``L_c Q_c'``. The weighted mean of phi
    is p. `Q`, (k, l), has the probabilities of all reports, times the weighted share of their
    cohort, `off`, (l, k), the phi of each less p.
    """

    p: Array
    Q: Array
    off: Array

    def noise_at(self, q: Array) -> Array:
        truth = np.diag(q) - np.outer(q, self.p) - np.outer(self.p, q)
        truth += q.sum() * np.outer(self.p, self.p)
        return np.asarray((self.off.T * (q @ self.Q)) @ self.off - truth)


def decode(reports: Reports, weights: Array | None = None, candidates: Any = None) -> Decoding:
    """Decode reports of n respondents, or of n groups of them with equal reports.

    The `weights`, (n,), zero outside the domain, matter for hashed reports: see `CohortDecoding`.
    """
    distinct, place = distinct_reports(reports)
    weights = np.ones(len(reports)) if weights is None else weights
    if reports.mechanism.cohort_parts:
        return _by_cohort(distinct, place, np.bincount(place, weights, len(distinct)))
    moments = reports.mechanism.moments(each_once(distinct), candidates)
    if not isinstance(moments, CohortMoments):
        return LinearDecoding(single_estimates(distinct, moments), place, moments)
    # the equations of weighted frequencies, whose cohorts count by their weights
    source, cohort = moments.sources[0], distinct.cohort
    assert cohort is not None
    weights = np.bincount(place, weights, len(distinct))
    ones = np.zeros(source.ones.shape)
    for c in np.unique(cohort):
        here = np.flatnonzero(cohort == c)
        ones[c] = weights[here] @ indicators(distinct[here])
    sizes = np.bincount(cohort, weights, len(ones))
    source = replace(source, ones=ones, reports=sizes, cohort_weights=source.precision * sizes)
    weighted = replace(moments, sources=(source,))
    p = weighted.estimate()[0]
    mean = source.design.by_cohort(source.precision * source.design.times(p))
    scores = linear_features(distinct, weighted) - mean[cohort]
    phi = p + scores @ (weighted.inverse * weights.sum())
    return CohortDecoding(phi, place, distinct, weighted, p)


def each_once(distinct: Reports) -> Counts:
    """Counts of one of each, whose equations are those of any reports."""
    n = np.ones(len(distinct), dtype=np.int64)
    return Counts(distinct.y, n, distinct.mechanism, cohort=distinct.cohort)


def _by_cohort(distinct: Reports, place: Codes, weights: Array) -> Decoding:
    """Decoded reports of a device of cohorts, from the weights of the distinct ones, (u,)."""
    mechanism = distinct.mechanism
    mechanism.moments(each_once(distinct))  # refuses reports that no cohort can make
    shares, parts = np.zeros(len(mechanism.cohort_parts)), []
    for c, part in enumerate(mechanism.cohort_parts):
        code = np.full(mechanism.n_outputs, -1)
        code[part.places] = np.arange(part.places.size)
        rows = np.flatnonzero(code[distinct.y] >= 0)
        shares[c] = weights[rows].sum() / weights.sum()
        if rows.size:
            parts.append((rows, Reports(code[distinct.y[rows]], part.mechanism)))
    try:
        decoded = tuple((rows, decode(own)) for rows, own in parts)
    except NotIdentified:
        return _pooled(distinct, place, shares, weights)
    phi = np.empty((len(distinct), mechanism.k))
    for rows, one in decoded:
        phi[rows] = one.phi[one.place]
    return GroupedDecoding(phi, place, decoded, shares[shares > 0.0])


def _pooled(distinct: Reports, place: Codes, shares: Array, weights: Array) -> PooledDecoding:
    """`PooledDecoding` from the weighted shares of all cohorts."""
    mechanism, k = distinct.mechanism, distinct.mechanism.k
    Q, L = np.zeros((2, k, mechanism.n_outputs))
    M, B = np.zeros((k, k)), []
    for share, part in zip(shares, mechanism.cohort_parts, strict=True):
        own = part.mechanism.channel().matrix()
        Q[:, part.places] = share * own
        L[:, part.places] = own / own.mean(axis=0)
        B.append(L[:, part.places] @ own.T)
        M += share * B[-1]
    if np.linalg.matrix_rank(M, hermitian=True) < k:
        raise NotIdentified(
            f"the cohorts with reports do not determine the {k} frequencies together: collect "
            "reports of more cohorts, or merge categories that give the same reports"
        )
    inverse = np.linalg.inv(M)
    t = np.bincount(distinct.y, weights, mechanism.n_outputs) / weights.sum()
    p = inverse @ (L @ t)
    for part, own in zip(mechanism.cohort_parts, B, strict=True):
        L[:, part.places] -= (own @ p)[:, None]
    off = L.T @ inverse
    return PooledDecoding(p + off[distinct.y], place, p, Q, off)


def distinct_reports(reports: Reports) -> tuple[Reports, Codes]:
    """The distinct reports, one cohort after the other, and which of them each report is, (n,).

    Patterns of more than 64 bits hardly ever repeat and are not merged.
    """
    y, keys = reports.y, np.arange(len(reports))
    if y.ndim == 1:
        keys = y.astype(np.int64)
    elif y.shape[1] <= _KEY:
        words = np.zeros((len(y), _KEY), dtype=np.uint8)
        words[:, : y.shape[1]] = y
        keys = words.view(np.int64)[:, 0]
    if reports.cohort is not None:
        if y.ndim > 1:  # number the patterns first
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        keys = reports.cohort * (keys.max(initial=0) + 1) + keys
    size = int(keys.max(initial=-1)) + 1
    if keys.min(initial=0) < 0 or size > max(_LISTED, 4 * keys.size):
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        return replace(reports[first], ids=None), place.astype(np.int64)
    at = np.full(size, -1)  # by counting, which is quicker than sorting
    at[keys[::-1]] = np.arange(keys.size)[::-1]
    there = at >= 0
    return replace(reports[at[there]], ids=None), (np.cumsum(there) - 1)[keys]
