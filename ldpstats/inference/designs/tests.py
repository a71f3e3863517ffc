"""Tests, maximum likelihood and intervals from complex samples.

Tests. The reports of a respondent are decoded to phi, an unbiased estimate of the indicator of the
true category. Departures from a hypothesis are linear in weighted totals of phi; Pearson's
statistic is their quadratic form in the metric of a simple random sample. For labels of a square
channel it is Pearson's chi-square of the weighted table of reports. With r and c the margins of the
estimated table P, of which L_x and L_y are the `metric` under simple random sampling, ``X2 = n
|L_x' (P - r c') L_y|^2``, and the matrix of design effects is n times the covariance of ``L_x' (P -
r c') L_y`` under the design. Chance spreads the estimated effects M, which have a Wishart law: ``E
tr M^2 = (1 + 1/nu) tr M^2 + (tr M)^2 / nu`` and ``E (tr M)^2 = (tr M)^2 + 2 tr M^2 / nu``, which
are solved for the unbiased dimension ``(tr M)^2 / tr M^2``.

Likelihoods. The pseudo-likelihood ``sum_i w_i log P(r_i; p)`` estimates that of the whole
population (Skinner 1989; Binder 1983, equation 2.3). Its maximum is p plus, to first order, the sum
of ``w_i z_i`` with z = V (s - mean s), s the score of a report and V the inverse of the weighted
information on the tangent space of the simplex. The variance between sampling units of z is the
sandwich covariance. With W the sum of the weights, ``phi = p + W z``: the weighted mean of phi is p
exactly, phi - p is its linearised score, and where p is right, phi is unbiased for the indicator of
the true category.

Intervals are of all values that an estimate does not reject at a critical value t, one for each.
The share q of the reports that a category is counted by has the variance q (1 - q) / m of m
respondents of a simple random sample, so that its variance is known at every value, as that of a
rare category must be. Where nobody, or everybody, made the report m is the number of respondents
less what weights cost, and it is that at most where the report is rare. Limits of differences are
combined as if each lay its own quantile from the estimate, towards the other side for the second,
so that they keep their skewness; where both are symmetric they are those of the t law with the
standard error of the difference.

References
----------
J. N. K. Rao, A. J. Scott (1984), On chi-squared tests for multiway contingency tables with cell
proportions estimated from survey data, Annals of Statistics 12, 46-60. D. R. Thomas, J. N. K. Rao
(1987), Small-sample comparisons of level and power for simple goodness-of-fit statistics under
cluster sampling, JASA 82, 630-636, for the F laws. M. S. Srivastava (2005), Some tests concerning
the covariance matrix in high dimensional data, Journal of the Japan Statistical Society 35,
251-272, for the unbiased trace of the squared effects. Korn, E. L. and Graubard, B. I. (1998),
Survey Methodology 24, 193-201, for the effective sample size. Zou, G. Y. (2007), Toward using
confidence intervals to compare correlations, Psychological Methods 12, 399-413, for limits of
estimates that depend on each other. Donner, A. and Zou, G. Y. (2012), Closed-form confidence
intervals for functions of the normal mean and standard deviation, Statistical Methods in Medical
Research 21, 347-359; Fieller (1954), for ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np

from ldpstats.arguments import Array, one_of, record
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.likelihood import MLE
from ldpstats.estimators.solvers import root
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Totals,
    estimated_totals,
)
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Codes, Mask
from ldpstats.likelihood.joint import (
    Decoding,
    LinearDecoding,
    along,
    distinct_reports,
    each_once,
    places_of,
)
from ldpstats.likelihood.rows import Likelihood, Rows, Solution
from ldpstats.reports.single import Reports

METHODS = {
    "unbiased": "Pearson's chi-square with the second-order correction of Rao and Scott, "
    "unbiased effects, F",
    "first": "Pearson's chi-square with the first-order correction of Rao and Scott, F",
    "first-chi2": "Pearson's chi-square with the first-order correction of Rao and Scott",
    "second": "Pearson's chi-square with the second-order correction of Rao and Scott, F",
    "second-chi2": "Pearson's chi-square with the second-order correction of Rao and Scott",
    "wald": "Wald test with the covariance of the design, F",
    "wald-adjusted": "Wald test with the covariance of the design, adjusted F",
}
_ZERO = 1e-10  # share of the largest eigenvalue below which there is no variance


@dataclass(frozen=True)
class RaoScott(Document):
    """Pearson's statistic of a table from a complex sample, and the effects of the design on it."""

    pearson: float  # chi-square on d degrees of freedom under simple random sampling
    d: int  # dimensions in which the table may depart from the hypothesis
    trace: float  # of the matrix of generalised design effects
    trace2: float  # and of its square
    wald: float  # form of the departures in their inverse covariance; nan where it is singular
    nu: float  # degrees of freedom of the design

    @property
    def is_testable(self) -> bool:
        """Whether the departures vary, and the design has degrees of freedom to show it."""
        return self.trace > 0.0 and self.nu > 0.0

    def test(self, null: str, method: str = "unbiased") -> TestResult:
        """The test of the hypothesis that is put in words, by one of `METHODS`."""
        from scipy.special import fdtrc

        words = METHODS[one_of("method", method, tuple(METHODS))]
        nu, squared = self.nu, self.trace**2
        if not self.trace > 0.0:
            raise NotAvailable("the departures have no variance: there is nothing to test")
        if method.startswith("wald") and np.isnan(self.wald):
            raise NotAvailable(
                f"the covariance of {self.d} departures from {nu:g} degrees of freedom of the "
                "design is singular: use method='unbiased'"
            )
        d = float(self.d)  # of the statistic: less, the more uneven the effects are
        if method.startswith("second"):
            d = squared / self.trace2
        elif method == "unbiased" and nu > 1.0:
            squares = (self.trace2 - squared / nu) * nu**2 / ((nu + 2.0) * (nu - 1.0))
            squared -= 2.0 * squares / nu
            d = max(squared / max(squares, squared / self.d), 1.0)
        if method.endswith("chi2"):
            return TestResult.chi_square(null, self.pearson * d / self.trace, d, words)
        if nu <= 0.0:
            raise NotAvailable("the design has no degrees of freedom: join its strata")
        statistic, below = self.pearson / self.trace, d * nu
        if method.startswith("wald"):
            statistic, below = self.wald / d, nu
        if method == "wald-adjusted":  # by the degrees of freedom that the covariance takes
            below = nu - d + 1.0
            if below <= 0.0:
                raise NotAvailable(
                    f"the adjusted Wald test of {self.d} departures needs {self.d} degrees of "
                    f"freedom of the design or more, not {nu:g}: use method='unbiased'"
                )
            statistic *= below / nu
        p = float(fdtrc(d, below, max(statistic, 0.0)))
        return TestResult(null, float(statistic), (d, float(below)), p, words)


def corrected(departure: Array, effects: Array, V: Array | None, n: float, nu: float) -> RaoScott:
    """The statistic of departures, (d,), whose covariance under simple random sampling is I / n.

    V is that under the design, for Wald's statistic; None where there are more departures than nu.
    """
    wald = float("nan")
    if V is not None and departure.size <= nu:  # else V is singular
        values = np.linalg.eigvalsh(V)
        if values[0] > _ZERO * max(float(values[-1]), 0.0):
            wald = float(departure @ np.linalg.solve(V, departure))
    trace, trace2 = float(np.trace(effects)), float(np.sum(effects * effects.T))
    return RaoScott(n * float(departure @ departure), departure.size, trace, trace2, wald, nu)


def metric(S: Array, closed: bool) -> Array:
    """Directions L, (k, d), in which categories can depart, with ``L'S L = I``.

    S, (k, k), is the covariance of a decoded report; departures of `closed` alphabets sum to zero.
    """
    # decoded reports need not sum to one where categories are all there are: departures are then
    # estimated by generalised least squares
    k = len(S)
    values, vectors = np.linalg.eigh((S + S.T) / 2.0)
    least = _ZERO * max(float(values[-1]), 0.0)
    if values[0] < -least:
        raise NotAvailable(
            "the estimated frequencies are so far outside of [0, 1] that no random sample has "
            "them: merge categories"
        )
    there = values > least
    s, U = values[there], vectors[:, there]
    L = U / np.sqrt(s)
    ones = np.sqrt(s) * U.sum(axis=0)  # of length one: the variance of the sum of phi
    if not closed or ones @ ones <= k * least:
        return np.asarray(L)
    # L'departure has unit noise, and a mean orthogonal to `ones`, as departures sum to zero
    return np.asarray(L @ np.linalg.svd(ones[None, :])[2][1:].T)


# -- Departures of weighted shares from a hypothesis, and how the design makes them vary ----------


_EMPTY = 1e-13  # share of a cell of reports that is rounding
_APART = 1e-9  # shares that differ


def independence(
    totals: Totals,
    sizes: Sequence[int],
    metrics: Sequence[Array],
    n: float,
    nu: float,
    forms: Array | None = None,
) -> RaoScott:
    """Pearson's statistic of independence, with effects of the design under the hypothesis.

    `totals` are those of a table of variables with the `sizes` (see `places_of`), or those of which
    these are the `forms`.
    """
    # departures are means of products of two or more whitened reports, phi_v less its mean
    if not all(L.size for L in metrics):
        raise NotAvailable("a variable has one category only in this sample: nothing can depend")
    places = places_of(sizes)
    forms = np.eye(len(totals.estimate)) if forms is None else forms
    T = (forms @ totals.estimate)[places]
    maps, white = [], []
    for v, L in enumerate(metrics):
        margin = T[(-1,) * v + (slice(-1),) + (-1,) * (T.ndim - v - 1)] / T.flat[-1]
        one = np.zeros((L.shape[1] + 1, len(L) + 1))
        one[:-1, :-1], one[:-1, -1], one[-1, -1] = L.T, -(L.T @ margin), 1.0
        maps.append(one)
        white.append(np.arange(len(one)) < L.shape[1])
    several = reduce(np.add.outer, [own.astype(int) for own in white]).reshape(-1) > 1
    cells = forms[places.reshape(-1)]
    persons = forms[places.flat[-1:]].repeat(len(cells), axis=0)

    def of_departures(C: Array) -> Array:
        """Their covariance, from that of the cells."""
        return np.asarray(along(along(C, maps)[several].T, maps)[several])

    effects = n * of_departures(totals.covariance_of(Ratios(cells, persons)))
    V = None
    if several.sum() <= nu:  # of totals, not of shares, as the survey package of R has it
        V = of_departures(totals.covariance_of(Ratios(cells / T.flat[-1])))
    return corrected(along(T.reshape(-1) / T.flat[-1], maps)[several], effects, V, n, nu)


def departures(totals: Totals, g: Array, G: Array, V: Array, n: float, nu: float) -> RaoScott:
    """Score statistic of smooth functions g, (q,), of the shares of cells, which would be zero.

    G, (q, cells), are their derivatives and V, (cells, cells), the covariance of one decoded report
    under simple random sampling and the hypothesis. `totals` begin with the cells.
    """
    simple = G @ V @ G.T
    size = np.sqrt(np.maximum(np.diagonal(simple), 0.0))
    size = np.where(size > 0.0, size, np.inf)  # one without variance has no weight
    L = metric(simple / np.outer(size, size), False) / size[:, None]
    m = len(totals.estimate)
    cells, persons = np.eye(m)[: len(V)], np.eye(m)[-1:].repeat(len(V), axis=0)
    C = totals.covariance_of(Ratios(cells, persons, L.T @ G))
    return corrected(L.T @ g, n * C, C, n, nu)


def at_observed(
    statistic: RaoScott, totals: Totals, channels: tuple[Array, Array], n: float
) -> RaoScott:
    """The statistic with effects of the design at the table of reports as observed, as in R."""
    # (C' D^-1 C)^-1 n C' D^-1 V D^-1 C, with V the covariance of the table of reports, D its
    # diagonal and C the contrasts of interaction, as svychisq has them; nothing is divided by the
    # share of an empty cell; in sparse tables its tests reject too often
    (a, b), T = (len(Q) for Q in channels), totals.estimate
    P = channels[0].T @ (T[: a * b] / T[-1]).reshape(a, b) @ channels[1]
    cells, back = np.eye(len(T))[: a * b], np.kron(channels[0].T, channels[1].T)
    V = totals.covariance_of(Ratios(cells, np.eye(len(T))[-1:].repeat(a * b, 0), back))
    P = np.where(P > _EMPTY, P, 0.0)
    rows, columns = P.any(axis=1), P.any(axis=0)
    here = np.outer(rows, columns).reshape(-1)
    p = P.reshape(-1)[here]
    sizes = int(rows.sum()), int(columns.sum())  # contrasts: orthonormal, and orthogonal to ones
    C = np.kron(*(np.linalg.svd(np.ones((1, k)))[2][1:].T for k in sizes))
    C_D = C * np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0)[:, None]
    simple = C_D.T @ C
    if np.linalg.matrix_rank(simple, hermitian=True) < len(simple):
        raise NotAvailable("so many cells are empty that their effects are not determined: merge")
    effects = np.linalg.solve(simple, n * C_D.T @ V[np.ix_(here, here)] @ C_D)
    trace2 = float(np.sum(effects * effects.T))
    return replace(statistic, trace=float(np.trace(effects)), trace2=trace2)


def fit_to(totals: Totals, p0: Array, L: Array, n: float, nu: float) -> RaoScott:
    """Pearson's statistic of the fit to p0, (k,), ``n |L' (p - p0)|^2`` with L its `metric`.

    `totals` are of phi and one; infinite where reports without noise contradict a zero of p0.
    """
    N = totals.estimate[-1]
    p = totals.estimate[:-1] / N
    k = len(p)
    size = np.abs(L).max(axis=1, initial=0.0)
    certain = size <= _APART * size.max()  # p0 has nobody there, or everybody
    if np.any(certain & (np.abs(p - p0) > _APART)):
        return RaoScott(np.inf, max(L.shape[1], 1), 1.0, 1.0, np.inf, nu)
    departure = L.T @ (p - p0)
    # the effects are of w (phi - (p + p0) / 2), as those of svygofchisq in R's survey
    scores = L.T @ np.column_stack([np.eye(k), -(p + p0) / 2.0]) / N
    V = totals.covariance_of(Ratios(scores))
    return corrected(departure, n * V, V, n, nu)


def homogeneity(totals: Totals, g: int, S: Array, closed: bool, n: float, nu: float) -> RaoScott:
    """Pearson's statistic that g domains have one distribution: independence of domain and answer.

    `totals` are in each domain those of phi, (k,), and of one; S is as in `metric`, of all domains.
    """
    k = len(S)
    cell, person = np.eye(k + 1)[:k], np.eye(k + 1)[k:]
    every = np.ones((1, g))
    forms = [np.kron(np.eye(g), cell), np.kron(np.eye(g), person)]
    forms += [np.kron(every, cell), np.kron(every, person)]
    sizes = totals.estimate.reshape(g, k + 1)[:, k]
    r = sizes / sizes.sum()
    metrics = metric(np.diag(r) - np.outer(r, r), True), metric(S, closed)
    return independence(totals, (g, k), metrics, n, nu, np.vstack(forms))


# -- Weighted likelihoods of privatised reports: their maximum, and its linearised score ----------


_LARGEST = 2048  # categories up to which an information matrix is formed


@record
class PseudoLikelihood(Decoding):
    """The maximum of a weighted likelihood, and reports decoded around it."""

    solution: Solution  # its gap is that of the weighted likelihood, per report
    llf: float  # in nats, with weights that sum to the number of respondents
    rows: Rows  # (u, k): likelihood of each distinct report
    shares: Array  # (u,): weighted share of each distinct report
    has_errors: bool = True  # whether the scores are known; where not, `phi` is nan

    def noise_at(self, q: Array) -> Array:
        # reports as they were seen have the law m of p; those of q are seen q Q / m times as often
        seen = self._over(self.rows.mix(q))
        squares = (self.phi.T * seen) @ self.phi
        return np.asarray(squares - (self._means.T * q) @ self._means)

    def noise(self, t: Array, total: float | None = None) -> Array:
        return self.noise_at(t)  # the likelihood takes the candidates for all answers

    def _over(self, v: Array) -> Array:
        """Share of each report times v, (u,), relative to its probability; zero if never seen."""
        d, seen = self.rows.mix(self.solution.p), self.shares > 0.0
        return np.asarray(np.divide(self.shares * v, d, out=np.zeros(d.shape), where=seen))

    @cached_property
    def _means(self) -> Array:
        """Mean of phi given each category, (k, k)."""
        weights = self._over(np.ones(self.shares.shape))
        return (self.rows.dense().T * weights) @ self.phi


def pseudo_likelihood(
    reports: Reports,
    weights: Array,
    nobs: float,
    candidates: Any = None,
    constraints: Any = None,
) -> PseudoLikelihood:
    """Maximise the weighted likelihood of the reports, (n,), of one variable in one domain.

    Weights are zero outside, and made to sum to its respondents `nobs`, which tolerances are about.
    """
    distinct, place = distinct_reports(reports)
    total = np.bincount(place, weights, len(distinct))
    once = each_once(distinct)
    if not total.any():
        raise InvalidArgument("weights", 0.0, "must be positive for one report at least")
    rows = reports.mechanism.likelihood(once, candidates).W
    problem = Likelihood(rows, total * (nobs / total.sum()))
    solution = MLE(constraints=constraints).solve(problem)
    z = None
    if constraints is None:
        mechanism, p = reports.mechanism, solution.p
        # what can vary: a category that a report of probability zero would reveal is known to be
        # absent, to first order
        free = ~(problem.W.pinned(p) | mechanism.moments(once, candidates).pinned(p))
        if mechanism.n_outputs and not mechanism.n_cohorts:
            Q = mechanism.channel().matrix()
            never = (p @ Q <= 0.0) & Q.any(axis=0)
            free &= ~Q[:, never].any(axis=1)
        z = _influence(problem, p, np.asarray(free))
    phi = np.full(problem.W.shape, np.nan) if z is None else solution.p + z
    llf, shares = problem.loglike(solution.p), total / total.sum()
    return PseudoLikelihood(phi, place, solution, llf, rows, shares, z is not None)


def maxima(
    sample: Sample,
    reports: Reports,
    at: Codes,
    domain: Codes,
    candidates: Any = None,
    constraints: Any = None,
) -> tuple[tuple[PseudoLikelihood, ...], Array | None]:
    """Maximise the weighted likelihood in each of g domains, under a design.

    `at` and `domain`, (c,), are the report and the domain of each cell, -1 for none. Returned are
    the maxima, each with the `place` of its own cells, and their sandwich covariance, (g k, g k),
    None where a domain has no scores.
    """
    from scipy.linalg import block_diag
    from scipy.sparse import block_diag as sparse_diag

    distinct, place = distinct_reports(reports)
    at = np.append(place, -1)[at]
    cells = [np.flatnonzero((domain == g) & (at >= 0)) for g in range(int(domain.max()) + 1)]
    domains = []
    for inside in cells:
        seen, rows = np.unique(at[inside], return_inverse=True)  # distinct reports keep their order
        weights, nobs = np.bincount(rows, sample.w[inside]), float(sample.n[inside].sum())
        one = pseudo_likelihood(distinct[seen], weights, nobs, candidates, constraints)
        domains.append(replace(one, place=rows))
    if not all(one.has_errors for one in domains):
        return tuple(domains), None
    # the covariance, from the linearised scores of each domain
    sizes = [sample.w[inside].sum() for inside in cells]
    (place, where), tables, before = np.full((2, len(sample.w)), -1), [], 0
    for i, (inside, one) in enumerate(zip(cells, domains, strict=True)):
        where[inside] = i
        place[inside] = before + one.place
        before += len(one.phi)
        tables.append((one.phi - one.solution.p) / sizes[i])

    def noise(v: Array) -> Array:
        blocks = []
        for inside, one, size in zip(cells, domains, sizes, strict=True):
            t = np.bincount(one.place, v[inside], len(one.phi)) @ one.phi
            blocks.append(one.noise(t) / size**2)
        return np.asarray(block_diag(*blocks))

    table = tables[0] if len(tables) == 1 else sparse_diag(tables, format="csr")
    totals = estimated_totals(sample, Scores(((place, table),), where, len(domains)), noise)
    return tuple(domains), totals.covariance_of(Ratios(np.eye(len(domains) * domains[0].k)))


def _influence(problem: Likelihood, p: Array, free: Mask) -> Array | None:
    """Change of the maximum with the share of each report, (u, k); None if it is not unique."""
    seen, total = problem.n > 0, float(problem.n.sum())
    if p.size > _LARGEST:
        return None
    try:
        J = problem.information(p)[np.ix_(free, free)]
        V = observed_tangent_inverse(J).matrix() * total
    except NotIdentified:
        return None
    d = np.where(seen, problem.W.mix(p), 1.0)
    scores = problem.W.dense()[:, free] / d[:, None] - problem.score(p)[free] / total
    influence = np.zeros(problem.W.shape)
    influence[:, free] = np.where(seen[:, None], scores, 0.0) @ V
    return influence


# -- Intervals of weighted shares, their ratios and differences -----------------------------------


_ALIKE = 1e-12  # scales of different categories
_FEW = 20.0  # reports, of effective respondents
_LEAST, _MOST = 1e-6, 1e9  # critical values
_ROUNDING = 1e-13  # of a variance, relative to its terms
_GRID = np.geomspace(0.05, 500.0, 40)  # between which limits move one way


@record
class Counted:
    """The share of respondents who make the report that a category is counted by: offset + scale p.

    Shape (k,) both; nan where a category has no report, or bit, of its own.
    """

    _listed: ClassVar[bool] = True  # a document has its values without their names

    offset: Array
    scale: Array

    @classmethod
    def by(cls, decoding: Decoding) -> Counted:
        """The reports that categories are counted by."""
        form = decoding.equations.exact_form() if isinstance(decoding, LinearDecoding) else None
        if form is None:
            return cls(np.full(decoding.k, np.nan), np.full(decoding.k, np.nan))
        return cls(form.offset, form.scale)

    def some(self, at: Any) -> Counted:
        """Those of some categories."""
        return Counted(self.offset[at], self.scale[at])

    def joined(self, members: Array, disjoint: bool) -> Counted:
        """The reports that sets of categories are counted by, (r, k) of zeros and ones -> (r,)."""
        # of several categories there are such where reports are disjoint, so that each respondent
        # makes that of one category at most, and alike; reports that are sets are not
        offset, scale = np.full((2, len(members)), np.nan)
        for i, inside in enumerate(members > 0.0):
            one = self.some(inside)
            single = self.offset.sum() + one.scale[0] <= 1.0 + _ALIKE * self.offset.size
            alike = disjoint and single and np.ptp(one.scale) <= _ALIKE
            if inside.sum() == 1 or alike:
                offset[i], scale[i] = one.offset.sum(), one.scale[0]
        return Counted(offset, scale)

    @classmethod
    def crossed(cls, each: Sequence[Counted], shares: Array) -> Counted:
        """The reports together that cells of several variables are counted by, row-major.

        Others who make them depend on the `shares` of sets of variables, arranged by `places_of`,
        which are taken as known; the variance of a cell holds what they add to it.
        """
        offset = np.clip(shares, 0.0, 1.0)
        offset[(slice(-1),) * offset.ndim] = 0.0
        for one in each:  # the first axis goes last
            offset = np.moveaxis(offset, 0, -1)
            offset = offset[..., :-1] * one.scale + offset[..., -1:] * one.offset
        return cls(
            offset.reshape(-1), reduce(np.multiply.outer, [one.scale for one in each]).reshape(-1)
        )


def critical(df: Array, alpha: float) -> Array:
    """Upper quantiles alpha / 2 of t laws; on a single degree of freedom at least."""
    from scipy.special import stdtrit

    # the lower quantile: 1 - alpha / 2 is 1 of a small alpha; far out scipy loses its sign
    return np.asarray(np.abs(stdtrit(np.maximum(df, 1.0), alpha / 2.0)))


def normal_level(df: Array, alpha: float) -> Array:
    """The levels whose normal quantiles are the t quantiles of `alpha`."""
    from scipy.special import ndtr

    return np.asarray(2.0 * ndtr(-critical(df, alpha)))


def paired(V: Array, first: Array, second: Array) -> Array:
    """Variances at the `first` places and at the `second`, and their covariances, (3, r)."""
    return np.stack([V[first, first], V[second, second], V[first, second]])


def t_bounds(estimate: Array, se: Array, t: Array) -> Array:
    """Estimates plus or minus t times standard errors, (q, 2)."""
    return np.stack([estimate - t * se, estimate + t * se], axis=-1)


def score_bounds(estimate: Array, se: Array, t: Array, counted: Counted, n: Array) -> Array:
    """Score intervals of shares (Wilson's, with an effective sample size), (q, 2).

    As `t_bounds` where a category has no report that it is counted by.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        q = counted.offset + counted.scale * estimate
        spread = q * (1.0 - q)
        variance = (counted.scale * se) ** 2
        seen = (spread > 0.0) & (variance > 0.0)
        m = np.where(seen, spread / variance, n)
        # few reports show no variance of their own: what they seem to gain is chance
        m = np.where(m * spread < _FEW, np.minimum(m, n), m)
        c = t**2 / m
        spread = np.clip(spread, 0.0, None)
        centre = (np.clip(q, 0.0, 1.0) + c / 2.0) / (1.0 + c)
        reach = np.sqrt(c * spread + c**2 / 4.0) / (1.0 + c)
        ends = (np.stack([centre - reach, centre + reach], axis=-1).T - counted.offset).T
        ends = np.sort((ends.T / counted.scale).T, axis=-1)
    plain = np.isnan(ends).any(axis=-1) | ((q < 0.0) | (q > 1.0))
    return np.where(plain[:, None], t_bounds(estimate, se, t), ends)


def ratio_bounds(
    above: Array, below: Array, covariance: Array, limits: Array, limits_below: Array
) -> Array:
    """Limits of ratios of shares, (q, 2), from the limits of both; they may be infinite.

    All r at which ``above - r below`` does not differ from zero; `covariance` is as in `paired`.
    """
    r, ratio = _correlation(covariance), np.full((len(above), 2), [-np.inf, np.inf])
    reach, reach_below = np.abs(limits - above[:, None]), np.abs(limits_below - below[:, None])
    for side, sign in enumerate((-1.0, 1.0)):
        a = reach[:, side]
        beyond = sign * above < -a  # zero: this limit has the sign of the estimate
        b = np.where(beyond, reach_below[:, 1], reach_below[:, 0])
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite limits, see the last line
            # the limit is a root of A x^2 - 2 B x + C
            A, B, C = below**2 - b**2, above * below - r * a * b, above**2 - a**2
            root = np.sqrt(np.maximum(B**2 - A * C, 0.0))
            near = beyond | ((side == 0) & (B > 0.0) & (B**2 >= A * C))
            near = np.where(near, C / (B - sign * root), sign * np.inf)
            end = np.where(A > 0.0, (B + sign * root) / A, near)
            end = sign * np.maximum(sign * end, sign * above / below)  # less rounding
        known = (below > 0.0) & np.isfinite(a) & np.isfinite(b)
        ratio[known, side] = end[known]
    return ratio


@record
class Differences:
    """Differences of pairs of estimates, first minus second, from the limits of each."""

    first: Array  # (r,)
    second: Array  # (r,)
    covariance: Array  # (3, r): see `paired`
    limits: Callable[[Array], tuple[Array, Array]]  # of both at critical values t, (r,) -> (r, 2)

    @property
    def estimate(self) -> Array:
        """The differences, (r,)."""
        return self.first - self.second

    @cached_property
    def _r(self) -> Array:
        """Correlations of first and second, (r,)."""
        return _correlation(self.covariance)

    @property
    def se(self) -> Array:
        """Their standard errors, (r,); zero where only rounding is left."""
        first, second, both = self.covariance
        variance = first + second - 2.0 * both
        return np.sqrt(np.where(variance <= _ROUNDING * (first + second), 0.0, variance))

    def bounds(self, t: Array) -> Array:
        """Limits of the differences, (r, 2); infinite where those of one are."""
        reach = self._reaches(t)
        # the farthest up to t: of estimates that go together limits draw in again where those of
        # one have come to their end, and those of the other have not
        for least in _GRID[_GRID < t.max(initial=0.0)]:
            reach = np.maximum(reach, self._reaches(np.minimum(t, least)))
        return np.asarray(self.estimate[:, None] + reach * [-1.0, 1.0])

    def pvalues(self, df: Array) -> Array:
        """Two-sided p-values, (r,), of differences of zero: at the least t whose limits hold it."""
        from scipy.special import stdtr

        low, high = np.full(df.shape, _LEAST), np.full(df.shape, _MOST)
        for t in _GRID[::-1]:
            rejected = self._beyond(np.full(df.shape, t)) > 0.0
            low = np.where(rejected, np.maximum(low, t), _LEAST)
            high = np.where(rejected, high, t)
        t = np.exp(root(lambda log: self._beyond(np.exp(log)), np.log(low), np.log(high)))
        p = 2.0 * stdtr(np.maximum(df, 1.0), -t)
        return np.where(self.estimate == 0.0, 1.0, p)

    def _beyond(self, t: Array) -> Array:
        """How far zero is beyond the limits, (r,); not above zero where it is within."""
        down, up = self._reaches(t).T
        return np.asarray(np.fmax(self.estimate - down, -up - self.estimate))

    def _reaches(self, t: Array) -> Array:
        """How far limits lie below the estimates and above, (r, 2)."""
        ends = (end for one in self.limits(t) for end in np.moveaxis(one, -1, 0))
        low, high, other_low, other_high = ends
        with np.errstate(invalid="ignore"):  # infinity less infinity
            down = _combined(self.first - low, other_high - self.second, self._r)
            up = _combined(high - self.first, self.second - other_low, self._r)
        return np.stack([down, up], axis=-1)


def _correlation(covariance: Array) -> Array:
    """Of variances and covariances, (3, q) -> (q,); zero where nothing varies."""
    first, second, both = covariance
    scale = np.sqrt(first * second)
    r: Array = np.divide(both, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return np.clip(r, -1.0, 1.0)


def _combined(first: Array, second: Array, r: Array) -> Array:
    """Length of the sum of two sides with the correlation -r; infinite where one is."""
    square = first**2 + second**2 - 2.0 * r * first * second
    endless = np.isinf(first) | np.isinf(second)
    return np.where(endless, np.inf, np.sqrt(np.maximum(square, 0.0)))
