"""Sandwich covariances of scores by clusters, averages of predictions, and chi-square statistics.

With ``K_g`` the share of cluster g, its information in units in which that of all is the identity,
its score totals vary by ``K_g - K_g K_g`` and not by ``K_g``, if the model holds. The bias-reduced
sandwich (CR2) takes ``(I - K_g)^(-1/2)`` times each total; a variance from it has the moments of a
chi-square variable, whose degrees of freedom follow (Satterthwaite). Of least squares and single
respondents these are HC2 and the degrees of freedom of Bell and McCaffrey (Survey Methodology
2002). Of several contrasts they are those of the Wishart matrix with the same total variance: "HTZ"
of J. E. Pustejovsky and E. Tipton, Journal of Business & Economic Statistics 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.inference.designs.linearisation import Ratios, Sample, Scores, estimated_totals
from ldpstats.labels import Codes, Mask
from ldpstats.likelihood.regression import Derivatives, Outcome, RegressionLikelihood, scaled

Points = RegressionLikelihood  # rows of covariates, whose answers nobody has seen

MOST_CLUSTERS = 1000  # up to which covariances of clusters are bias-reduced by default
_ALL = 1e-8  # one minus the share of a cluster that alone determines something
_BLOCK = 1 << 22  # numbers of the largest array that is made at a time
_NORMAL = 1000.0  # degrees of freedom from which on a bound of them does


@record
class InformationShares:
    """How the information on parameters is spread over clusters, or respondents."""

    basis: Array  # (P, p): parameters from units in which the information of all is the identity
    values: Array  # (G, r): eigenvalues of the share of each cluster in these units, from 0 to 1
    vectors: Array  # (G, p, r): its eigenvectors
    times: Array  # (G,): how many clusters, alike in all, each stands for

    @classmethod
    def of_clusters(cls, information: Array, inverse: Array) -> InformationShares:
        """Those of clusters by their information, (G, p, p); `inverse`, (p, p), is that of all."""
        total, scale = scaled(information.sum(axis=0))
        size, axes = np.linalg.eigh(total)
        size = np.maximum(size, 1e-14 * size.max(initial=0.0))
        root = scale[:, None] * axes * np.sqrt(size)
        back = (axes / np.sqrt(size)).T / scale
        values, vectors = np.linalg.eigh(back @ information @ back.T)
        return cls(inverse @ root, np.clip(values, 0.0, 1.0), vectors, np.ones(len(values)))

    @classmethod
    def of_rows(cls, X: Array, inverse: Array, times: Array) -> InformationShares:
        """Those of rows of least squares, X of shape (n, p) times the roots of weights."""
        size, axes = np.linalg.eigh(inverse)
        basis = axes * np.sqrt(size)
        k = X @ basis
        h = np.einsum("np,np->n", k, k)
        unit = k / np.sqrt(np.where(h > 0.0, h, 1.0))[:, None]
        return cls(basis, np.minimum(h, 1.0)[:, None], unit[:, :, None], times)

    def covariance(self, totals: Array, inverse: Array) -> Array:
        """The bias-reduced sandwich of score totals, (G, p), that `inverse` takes to parameters.

        What one cluster alone determines has no residual there, and is left out.
        """
        z = np.linalg.solve(self.basis, inverse @ totals.T).T
        share, left = self._kept(slice(None))
        along = np.einsum("gpr,gp->gr", self.vectors, z) * (share > 0.0) / np.sqrt(left)
        rows = np.einsum("gpr,gr->gp", self.vectors, along) @ self.basis.T
        return np.asarray(rows.T @ rows)

    def among(self, free: Mask) -> InformationShares:
        """With rows of the basis for others than the `free` parameters, (P,), too."""
        basis = np.zeros((free.size, self.basis.shape[1]))
        basis[free] = self.basis
        return replace(self, basis=basis)

    def _kept(self, some: slice) -> tuple[Array, Array]:
        """Shares, zero where they are all of something, and what they leave, one there."""
        share = self.values[some]
        partial = share < 1.0 - _ALL
        return np.where(partial, share, 0.0), np.where(partial, 1.0 - share, 1.0)

    def degrees(self, L: Array) -> float:
        """Degrees of freedom of the variance of L times the first parameters, L of shape (q, m).

        nan where single clusters determine over half of a contrast: its variance is unknown.
        """
        ell = (L @ self.basis[: L.shape[1]]).T
        q, size = ell.shape[1], ell.size
        known, largest = np.zeros((q, q)), 0.0
        for some in self._blocks(size):
            share, left = self._kept(some)
            c = np.einsum("gpr,pq->grq", self.vectors[some], ell)
            known += np.einsum("gr,grq,grs->qs", share * self.times[some, None], c, c)
            if q == 1:
                each = (share / left * c[:, :, 0] ** 2).sum(axis=1)
                largest = max(largest, float(each.max(initial=0.0)))
        wide, axes = np.linalg.eigh(known)
        if wide[0] <= 1e-12 * np.trace(ell.T @ ell):
            return float("nan")
        if np.linalg.eigvals(np.linalg.solve(known, ell.T @ ell)).real.max() > 2.0:
            return float("nan")
        if q == 1 and known[0, 0] >= _NORMAL * largest:
            return float(known[0, 0] / largest)  # a bound from below
        # summed variances of the entries of the estimated covariance of contrasts, which is the
        # identity on average, of normal scores
        ell = ell @ (axes / np.sqrt(wide))
        variance, T = 0.0, np.zeros((size, size))
        for some in self._blocks(size):
            share, left = self._kept(some)
            vectors, times = self.vectors[some], self.times[some]
            c = np.einsum("gpr,pq->grq", vectors, ell)
            A = np.einsum("gr,grq,grs->gqs", share / left, c, c)
            U = np.einsum("gpr,grq->gpq", vectors, c * (share / np.sqrt(left))[:, :, None])
            UU = np.einsum("gpq,gps->gqs", U, U)
            a, u = (np.einsum("gqq->g", one) for one in (A, UU))
            squares = np.einsum("gqs,gqs->g", A, A - 2.0 * UU)
            variance += float(times @ (a * (a - 2.0 * u) + squares))
            flat = U.reshape(len(U), -1)
            T += (flat * times[:, None]).T @ flat
        pairs = T.reshape(-1, q, len(ell), q)
        variance += float((T**2).sum() + np.einsum("asbt,atbs->", pairs, pairs))
        return float(q * (q + 1.0) / variance)

    def _blocks(self, width: int) -> Iterator[slice]:
        step = max(1, _BLOCK // max(width, 1))
        for start in range(0, len(self.values), step):
            yield slice(start, start + step)


def _totals(scores: Array, place: Codes, weights: Array, groups: Codes, n_groups: int) -> Array:
    """Weighted totals of scores by cluster, (G, p)."""
    from scipy.sparse import csr_array

    table = csr_array((weights, (groups, place)), shape=(n_groups, len(scores)))
    return np.asarray(table @ scores)


def cluster_sandwich(
    rows: tuple[Array, Array, Array, Array],
    inverse: Array,
    n: float,
    correct: bool | None,
    products: Array | None = None,
    information: Array | None = None,
) -> tuple[Array, InformationShares | None]:
    """Covariance by clusters of parameters, (p, p), and shares if it is the bias-reduced one.

    `rows`: scores of kinds of rows, (u, p); of respondents, (n,), kind, weight and cluster.
    """
    # `correct` says whether there is a factor for few clusters, None for the bias-reduced
    # covariance, which needs the information of clusters: that of kinds of rows is `products`,
    # (u, p * p), by default of their scores
    scores, place, weights, groups = rows
    n_groups, p = int(groups.max()) + 1, scores.shape[1]
    totals = _totals(scores, place, weights, groups, n_groups)
    if correct is None:
        if information is None:
            if products is None:
                products = (scores[:, :, None] * scores[:, None, :]).reshape(len(scores), -1)
            each = _totals(products, place, weights, groups, n_groups)
            information = each.reshape(n_groups, p, p)
        shares = InformationShares.of_clusters(information, inverse)
        return shares.covariance(totals, inverse), shares
    factor = n_groups / (n_groups - 1.0) * ((n - 1.0) / (n - p)) if correct else 1.0
    return inverse @ (factor * (totals.T @ totals)) @ inverse.T, None


def design_meat(sample: Sample, scores: Array, at: Codes) -> Array:
    """Covariance under a design of the weighted totals of scores, (u, p); cell i has score at[i].

    Finite population corrections are not used: coefficients describe a law, not a population.
    """
    free = sample.without_corrections()
    free.refuse_single_units()
    totals = estimated_totals(free, Scores(((at, scores),)))
    return totals.covariance_of(Ratios(np.eye(scores.shape[1])))


# -- Averages of functions of the linear predictors, with derivatives by all parameters -----------


Function = Callable[..., Derivatives]

_CACHED = 1 << 20  # numbers of arrays that fit in the cache


@record
class Average:
    """Numbers, (m,), and their derivatives by all parameters, (m, size)."""

    value: Array
    gradient: Array

    def __sub__(self, other: Average) -> Average:
        return Average(self.value - other.value, self.gradient - other.gradient)

    def __truediv__(self, other: Average) -> Average:
        """The ratio to a single number."""
        value = self.value / other.value
        gradient = (self.gradient - value[:, None] * other.gradient) / other.value
        return Average(value, gradient)

    def __getitem__(self, places: Any) -> Average:
        return Average(self.value[places], self.gradient[places])

    def mapped(self, value: Array, slope: Array) -> Average:
        """A function of each number, by its values and its derivatives there, (m,)."""
        return Average(value, slope[:, None] * self.gradient)

    def times(self, R: Array) -> Average:
        """The linear combinations that the rows of R, (r, m), are."""
        return Average(R @ self.value, R @ self.gradient)

    def covariance(self, V: Array) -> Array:
        """Covariance by the delta method, (m, m); V is that of the parameters.

        A parameter without a variance matters only where the derivative by it is not zero.
        """
        G = self.gradient
        none = np.isnan(np.diagonal(V))
        found = G @ np.where(np.isnan(V), 0.0, V) @ G.T
        lost = np.asarray(G[:, none].any(axis=1))
        return np.where(lost[:, None] | lost, np.nan, found)

    @classmethod
    def stacked(cls, parts: Sequence[Average]) -> Average:
        """Several after one another."""
        values = np.concatenate([part.value for part in parts])
        return cls(values, np.vstack([part.gradient for part in parts]))


def _evaluated(
    points: Points, theta: Array, of: Function, chosen: Any, along: Any, width: int
) -> Iterator[tuple[Points, list[Any]]]:
    """Blocks of rows, with what functions of the linear predictors are in each configuration.

    Its probabilities, (n,), with their derivatives; values, (n, m); and predictors with the
    derivatives of the values by them, (n, m, q).
    """
    beta, done = theta[: points.n_outcome], 0
    for part in points.blocks(max(256, _CACHED // width)):
        law: Array = part.law(theta)
        bend: Array | None = None
        if part.marginal is not None:
            if part.B is not None:  # given the reports on the private predictors
                law = law * part.B[:]
                law = law / law.sum(axis=1, keepdims=True)
            bend = law[:, :, None] * (np.eye(law.shape[1])[:, 1:] - law[:, None, 1:])
        rows, done = slice(done, done + part.n), done + part.n
        each = []
        for c in range(len(part.designs)) if chosen is None else chosen:
            designs = [part.designs[c]]
            etas = [designs[0].eta(beta)]
            if along is not None:  # the rate of change, of the directions less that of zeros
                step = replace(designs[0], X=along[c][rows], offset=None)
                designs += [step, replace(step, X=np.zeros_like(step.X))]
                etas.append(step.eta(beta) - designs[2].eta(beta))
            values, *firsts = of(*etas)
            firsts += [-first for first in firsts[1:]]
            slopes = list(zip(designs, firsts, strict=True))
            each.append((law[:, c], None if bend is None else bend[:, c], values, slopes))
        yield part, each


def average(
    points: Points,
    theta: Array,
    of: Function,
    chosen: Sequence[int] | None = None,
    along: Sequence[Array] | None = None,
) -> Average:
    """The weighted sum of functions of the linear predictors over rows and chosen configurations.

    `of` maps eta, (n, q), to values, (n, m), and derivatives, (n, m, q). Where covariates move
    `along` directions, (n, p) in each configuration, it is of eta and its rate of change, with
    derivatives by both.
    """
    m, q = points.n_outcome, points.outcome.q
    beta, gamma = theta[:m], theta[m:]
    value: Any = 0.0
    gradient: Any = 0.0
    width = q * max(getattr(points.outcome, "k", 1), 1) * (q + 1)
    for part, each in _evaluated(points, theta, of, chosen, along, width):
        marginal: Any = part.marginal
        for chance, bend, values, moves in each:
            u = part.weights * chance
            value = value + u @ values
            slopes = np.zeros((values.shape[1], theta.size))
            for a, slope in enumerate(slopes):
                for design, first in moves:
                    slope[:m] += design.adjoint(beta, u[:, None] * first[:, a])
                if bend is not None:
                    away = (part.weights * values[:, a])[:, None] * bend
                    slope[m:] = marginal.adjoint(gamma, away)
            gradient = gradient + slopes
    return Average(value, gradient)


def row_means(
    points: Points,
    theta: Array,
    V: Array | None = None,
    of: Function | None = None,
    along: Sequence[Array] | None = None,
) -> tuple[Array, Array | None]:
    """Functions as of `average`, by default means, of each row over the configurations, (n, m).

    With V, the covariance of the parameters, (size, size), also their variances.
    """
    m, of = points.n_outcome, means(points.outcome) if of is None else of
    beta, gamma = theta[:m], theta[m:]
    found, variances = [], []
    for part, each in _evaluated(
        points, theta, of, None, along, theta.size + points.outcome.q**2 * 8
    ):
        marginal: Any = part.marginal
        found.append(np.sum([chance[:, None] * values for chance, _, values, _ in each], axis=0))
        if V is None:
            continue
        variance = np.empty(found[-1].shape)
        for a in range(variance.shape[1]):
            G = np.zeros((part.n, theta.size))
            for chance, bend, values, moves in each:
                for design, first in moves:
                    G[:, :m] += design.rows(beta, chance[:, None] * first[:, a])
                if bend is not None:
                    G[:, m:] += marginal.rows(gamma, values[:, a, None] * bend)
            # parameters by which nothing changes need no variance
            forms = np.einsum("np,np->n", G @ np.where(np.isnan(V), 0.0, V), G)
            lost = G[:, np.isnan(np.diagonal(V))].any(axis=1)
            variance[:, a] = np.where(lost, np.nan, forms)
        variances.append(variance)
    return np.vstack(found), np.vstack(variances) if V is not None else None


def means(outcome: Outcome, logarithm: bool = False) -> Function:
    """The mean of the outcome (probabilities of its categories), or its logarithm."""

    def of(eta: Array) -> tuple[Array, Array]:
        mean, first = outcome.moments(eta, 1)
        if not logarithm:
            return mean, first
        return np.log(mean), first / mean[:, :, None]

    return of


def ones(eta: Array) -> tuple[Array, Array]:
    """One, whatever the linear predictors are."""
    return np.ones((len(eta), 1)), np.zeros((len(eta), 1, eta.shape[1]))


def rates(outcome: Outcome, logarithm: bool = False) -> Function:
    """The rate of change of the mean, or of its logarithm, where eta has a rate of change."""

    def of(eta: Array, change: Array) -> Derivatives:
        mean, first, second = outcome.moments(eta, 2)
        if logarithm:
            first = first / mean[:, :, None]
            second = second / mean[:, :, None, None]
            second = second - first[:, :, :, None] * first[:, :, None, :]
        value = np.einsum("nkq,nq->nk", first, change)
        return value, np.einsum("nkqs,ns->nkq", second, change), first

    return of


# -- Chi-square statistics of what was reported against what a regression expects -----------------


_KNOWN = 0.02  # variance of a direction, as a share of what it had with known parameters


def pearson(observed: Array, expected: Array) -> float:
    """Pearson's statistic of counts, of any shape."""
    return float(np.sum((observed - expected) ** 2 / expected))


def quadratic_form(gaps: Array, V: Array, spread: Array) -> tuple[float, int]:
    """Chi-square statistic of gaps, (m,), with covariance V, (m, m), and its degrees of freedom."""
    # directions in which fitted parameters leave hardly any of the spread that there would be with
    # known ones are left out: rounding and terms of higher order are all that is there
    size, axes = np.linalg.eigh(spread)
    there = size > 1e-10 * size.max(initial=1e-300)
    root = axes[:, there] / np.sqrt(size[there])
    share, directions = np.linalg.eigh(root.T @ V @ root)
    varies = share > _KNOWN
    along = directions[:, varies].T @ (root.T @ gaps)
    return float(np.sum(along**2 / share[varies])), int(varies.sum())


def score_groups(score: Array, weights: Array, groups: int) -> Codes:
    """Groups of about equal weight by a score, equal scores together, numbered from 0."""
    values, place = np.unique(np.round(score, 12), return_inverse=True)
    sizes = np.bincount(place, weights, len(values))
    middle = np.cumsum(sizes) - sizes / 2.0
    group = np.minimum((groups * middle / sizes.sum()).astype(np.int64), groups - 1)
    return np.asarray(np.unique(group, return_inverse=True)[1][place], dtype=np.int64)
