"""Tests of tables from complex samples: Pearson's statistic and what the design makes of it.

The reports of a respondent are decoded to phi, an unbiased estimate of the indicator of the true
category. Departures from a hypothesis are linear in weighted totals of phi; Pearson's statistic is
their quadratic form in the metric of a simple random sample. For labels of a square channel it is
Pearson's chi-square of the weighted table of reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import (
    array_from_json,
    array_to_json,
    number_from_json,
    number_to_json,
    one_of,
)
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.likelihood import MLE
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Totals,
    estimated_totals,
    missed_noise_estimation,
    product,
)
from ldpstats.inference.tests import TestResult, observed_tangent_inverse
from ldpstats.likelihood.joint import Decoding, LinearDecoding, distinct_reports, each_once
from ldpstats.likelihood.problem import Likelihood, Solution
from ldpstats.likelihood.rows import Rows
from ldpstats.reports.single import Counts, Reports

__all__ = [
    "METHODS",
    "Counted",
    "Differences",
    "PseudoLikelihood",
    "RaoScott",
    "at_observed",
    "critical",
    "fit_to",
    "homogeneity",
    "independence",
    "maxima",
    "metric",
    "normal_level",
    "paired",
    "pseudo_likelihood",
    "ratio_bounds",
    "score_bounds",
    "t_bounds",
]


Array = npt.NDArray[Any]

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
class RaoScott:
    """Pearson's statistic of a table from a complex sample, and the effects of the design on it.

    Parameters
    ----------
    pearson : float
        The statistic, chi-square on `d` degrees of freedom under simple random sampling.
    d : int
        Dimensions in which the table may depart from the hypothesis.
    trace, trace2 : float
        Of the matrix of generalised design effects, and of its square.
    wald : float
        Quadratic form of the departures in the inverse of their covariance under the design; nan
        where that is singular.
    nu : float
        Degrees of freedom of the design.
    """

    pearson: float
    d: int
    trace: float
    trace2: float
    wald: float
    nu: float

    @property
    def is_testable(self) -> bool:
        """Whether the departures vary, and the design has degrees of freedom to show it."""
        return self.trace > 0.0 and self.nu > 0.0

    def test(self, null: str, method: str = "unbiased") -> TestResult:
        """The test of the hypothesis that is put in words, by one of `METHODS`.

        Raises
        ------
        NotAvailable
            If the departures have no variance, or the design too few degrees of freedom.

        References
        ----------
        J. N. K. Rao, A. J. Scott (1984), On chi-squared tests for multiway contingency tables with
        cell proportions estimated from survey data, Annals of Statistics 12, 46-60. D. R. Thomas,
        J. N. K. Rao (1987), Small-sample comparisons of level and power for simple goodness-of-fit
        statistics under cluster sampling, JASA 82, 630-636, for the F laws. M. S. Srivastava
        (2005), Some tests concerning the covariance matrix in high dimensional data, Journal of the
        Japan Statistical Society 35, 251-272, for the unbiased trace of the squared effects.
        """
        words = METHODS[one_of("method", method, tuple(METHODS))]
        if not self.trace > 0.0:
            raise NotAvailable("the departures have no variance: there is nothing to test")
        if method.startswith("wald"):
            return self._wald(null, words, method == "wald-adjusted")
        d = self._dimension(method)
        if method.endswith("chi2"):
            return TestResult.chi_square(null, self.pearson * d / self.trace, d, words)
        return _f_test(null, self.pearson / self.trace, d, d * self._freedom, words)

    def _dimension(self, method: str) -> float:
        """Degrees of freedom of the statistic: less than d, the more uneven the effects are."""
        if method.startswith("first"):
            return float(self.d)
        if method.startswith("second"):
            return self.trace**2 / self.trace2
        return self._unbiased_dimension()

    def _unbiased_dimension(self) -> float:
        """``(tr M)^2 / tr M^2`` of the effects M, of which the estimate has a Wishart law.

        Chance spreads the estimated effects: ``E tr M^2 = (1 + 1/nu) tr M^2 + (tr M)^2 / nu`` and
        ``E (tr M)^2 = (tr M)^2 + 2 tr M^2 / nu``, which are solved for what M has.
        """
        nu, squared = self.nu, self.trace**2
        if nu <= 1.0:
            return float(self.d)
        squares = (self.trace2 - squared / nu) * nu**2 / ((nu + 2.0) * (nu - 1.0))
        squared -= 2.0 * squares / nu
        return max(squared / max(squares, squared / self.d), 1.0)

    def _wald(self, null: str, words: str, adjusted: bool) -> TestResult:
        if np.isnan(self.wald):
            raise NotAvailable(
                f"the covariance of {self.d} departures from {self.nu:g} degrees of freedom of the "
                "design is singular: use method='unbiased'"
            )
        if not adjusted:
            return _f_test(null, self.wald / self.d, self.d, self._freedom, words)
        rest = self._freedom - self.d + 1.0
        if rest <= 0.0:
            raise NotAvailable(
                f"the adjusted Wald test of {self.d} departures needs {self.d} degrees of freedom "
                f"of the design or more, not {self.nu:g}: use method='unbiased'"
            )
        return _f_test(null, self.wald * rest / (self.d * self.nu), self.d, rest, words)

    @property
    def _freedom(self) -> float:
        if self.nu <= 0.0:
            raise NotAvailable("the design has no degrees of freedom: join its strata")
        return self.nu

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: number_to_json(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> RaoScott:
        """Inverse of `to_dict`."""
        given: dict[str, Any] = {name: number_from_json(value) for name, value in document.items()}
        return cls(**given | {"d": int(given["d"])})


def _f_test(null: str, statistic: float, d: float, below: float, words: str) -> TestResult:
    """A statistic that has an F law under the null."""
    from scipy.special import fdtrc

    p = float(fdtrc(d, below, max(statistic, 0.0)))
    return TestResult(null, float(statistic), (float(d), float(below)), p, words)


def corrected(departure: Array, effects: Array, V: Array | None, n: float, nu: float) -> RaoScott:
    """The record of departures whose covariance under simple random sampling is I / n.

    V is that under the design, for Wald's statistic; it may be left out where there are more
    departures than degrees of freedom nu.
    """
    wald = float("nan")
    if V is not None and departure.size <= nu:  # else V is singular
        values = np.linalg.eigvalsh(V)
        if values[0] > _ZERO * max(float(values[-1]), 0.0):
            wald = float(departure @ np.linalg.solve(V, departure))
    trace, trace2 = float(np.trace(effects)), float(np.sum(effects * effects.T))
    return RaoScott(n * float(departure @ departure), departure.size, trace, trace2, wald, nu)


def metric(S: Array, closed: bool) -> Array:
    """Directions L in which categories can depart, with ``L'S L = I``, shape (k, d).

    Parameters
    ----------
    S : array, shape (k, k)
        Covariance of the decoded report of one respondent; where decoded reports sum to one, and
        where a category does not occur, it is singular.
    closed : bool
        Whether the categories are all there are, so that departures sum to zero. Decoded reports
        need not sum to one even so: departures are then estimated by generalised least squares.
    """
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
# Each function returns Pearson's statistic with the effects of the design, see `RaoScott`.


_EMPTY = 1e-13  # share of a cell of reports that is rounding
_APART = 1e-9  # shares that differ


def independence(
    totals: Totals,
    shape: tuple[int, int],
    metrics: tuple[Array, Array],
    n: float,
    nu: float,
    forms: Array | None = None,
) -> RaoScott:
    """Pearson's statistic of independence, with effects of the design under the hypothesis.

    With r and c the margins of the estimated table P, of which L_x and L_y are the `metrics` under
    simple random sampling, ``X2 = n |L_x' (P - r c') L_y|^2``, and the matrix of design effects is
    n times the covariance of ``L_x' (P - r c') L_y`` under the design.

    Parameters
    ----------
    totals : Totals
        Of ``phi_x kron phi_y``, phi_x, phi_y and one: shape (a b + a + b + 1,). The hypothesis is
        about what the population was drawn from: take the totals of a design without corrections
        for finite populations.
    shape : tuple
        Categories a and b of the two variables.
    metrics : tuple of array
        See `metric`, shapes (a, d_x) and (b, d_y).
    n : float
        Respondents.
    nu : float
        Degrees of freedom of the design.
    forms : array, shape (a b + a + b + 1, m), optional
        These totals as linear forms of m others, which `totals` are then.

    Raises
    ------
    NotAvailable
        If a variable has one category only.
    """
    table = _Table(totals, shape, np.eye(len(totals.estimate)) if forms is None else forms)
    if min(L.shape[1] for L in metrics) == 0:
        raise NotAvailable("a variable has one category only in this sample: nothing can depend")
    expected = np.outer(table.r, table.c)
    departure = _rotated((table.P - expected).reshape(-1, 1), metrics)[:, 0]
    apart = totals.covariance_of(table.shares.combined(table.moved))
    effects = n * _rotated(_rotated(apart, metrics).T, metrics)
    V = None
    if departure.size <= nu:  # else it is singular
        # with the covariance of totals, not of shares, as the survey package of R has it
        sums = product(np.hstack([table.moved, expected.reshape(-1, 1)]), table.forms)
        apart = totals.covariance_of(Ratios(sums / table.N))
        V = _rotated(_rotated(apart, metrics).T, metrics)
    return corrected(departure, effects, V, n, nu)


def _rotated(M: Array, metrics: tuple[Array, Array]) -> Array:
    """``(L_x kron L_y)' M`` of metrics (a, d_x) and (b, d_y), shape (a b, m) -> (d_x d_y, m)."""
    first, second = metrics
    half = first.T @ M.reshape(len(first), -1)
    whole = second.T @ half.reshape(first.shape[1], len(second), -1)
    return np.asarray(whole.reshape(-1, M.shape[1]))


@dataclass(frozen=True, eq=False)
class _Table:
    """A two-way table of shares, and its margins."""

    totals: Totals
    shape: tuple[int, int]
    forms: Array

    @cached_property
    def N(self) -> float:
        return float(self.forms[-1] @ self.totals.estimate)

    @property
    def shares(self) -> Ratios:
        """Cells and both margins."""
        return Ratios(self.forms[:-1], np.repeat(self.forms[-1:], len(self.forms) - 1, axis=0))

    @cached_property
    def _values(self) -> list[Array]:
        a, b = self.shape
        return np.split(self.forms[:-1] @ self.totals.estimate / self.N, [a * b, a * b + a])

    @property
    def P(self) -> Array:
        return self._values[0].reshape(self.shape)

    @property
    def r(self) -> Array:
        return self._values[1]

    @property
    def c(self) -> Array:
        return self._values[2]

    @property
    def moved(self) -> Array:
        """Derivatives of ``P - r c'`` by cells and both margins."""
        a, b = self.shape
        rows, columns = np.kron(np.eye(a), self.c[:, None]), np.kron(self.r[:, None], np.eye(b))
        return np.hstack([np.eye(a * b), -rows, -columns])


def at_observed(
    found: RaoScott, totals: Totals, channels: tuple[Array, Array], n: float
) -> RaoScott:
    """The same with design effects at the table of reports as observed, as R's svychisq has them.

    The matrix is ``(C' D^-1 C)^-1 n C' D^-1 V D^-1 C``, with V the covariance of the table of
    reports, D its diagonal and C the contrasts of interaction; nothing is divided by the share of
    an empty cell. In sparse tables its tests reject too often.

    Parameters
    ----------
    found : RaoScott
    totals : Totals
        As for `independence`.
    channels : tuple of array
        Of both variables, (a, a) and (b, b), rows sum to one; for labels only.
    n : float
        Respondents.

    Raises
    ------
    NotAvailable
        If too many cells are empty.
    """
    (a, b), m = (len(Q) for Q in channels), len(totals.estimate)
    table = _Table(totals, (a, b), np.eye(m))
    back = np.kron(channels[0].T, channels[1].T)
    P = channels[0].T @ table.P @ channels[1]
    V = totals.covariance_of(table.shares.combined(np.hstack([back, np.zeros((a * b, a + b))])))
    P = np.where(P > _EMPTY, P, 0.0)
    rows, columns = P.any(axis=1), P.any(axis=0)
    here = np.outer(rows, columns).reshape(-1)
    p = P.reshape(-1)[here]
    C = np.kron(_contrasts(int(rows.sum())), _contrasts(int(columns.sum())))
    C_D = C * np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0)[:, None]
    simple = C_D.T @ C
    if np.linalg.matrix_rank(simple, hermitian=True) < len(simple):
        raise NotAvailable("so many cells are empty that their effects are not determined: merge")
    effects = np.linalg.solve(simple, n * C_D.T @ V[np.ix_(here, here)] @ C_D)
    trace2 = float(np.sum(effects * effects.T))
    return replace(found, trace=float(np.trace(effects)), trace2=trace2)


def _contrasts(k: int) -> Array:
    """An orthonormal basis of the vectors that sum to zero, (k, k - 1)."""
    return np.asarray(np.linalg.svd(np.ones((1, k)))[2][1:].T)


def fit_to(totals: Totals, p0: Array, L: Array, n: float, nu: float) -> RaoScott:
    """Pearson's statistic of the fit of weighted shares to p0.

    ``X2 = n |L' (p - p0)|^2``; the design effects are of ``w (phi - (p + p0) / 2)``, as those of
    svygofchisq in R's survey.

    Parameters
    ----------
    totals : Totals
        Of phi and one, shape (k + 1,), of a design without corrections, see `independence`.
    p0 : array, shape (k,)
        The distribution under the hypothesis.
    L : array, shape (k, d)
        The `metric` at p0.
    n, nu : float
        Respondents, and degrees of freedom of the design.

    Notes
    -----
    The statistic is infinite where reports that need no noise contradict a zero of p0.
    """
    N = totals.estimate[-1]
    p = totals.estimate[:-1] / N
    k = len(p)
    size = np.abs(L).max(axis=1, initial=0.0)
    certain = size <= _APART * size.max()  # p0 has nobody there, or everybody
    if np.any(certain & (np.abs(p - p0) > _APART)):
        return RaoScott(np.inf, max(L.shape[1], 1), 1.0, 1.0, np.inf, nu)
    departure = L.T @ (p - p0)
    scores = L.T @ np.column_stack([np.eye(k), -(p + p0) / 2.0]) / N
    V = totals.covariance_of(Ratios(scores))
    return corrected(departure, n * V, V, n, nu)


def homogeneity(totals: Totals, g: int, S: Array, closed: bool, n: float, nu: float) -> RaoScott:
    """Pearson's statistic that g domains have one distribution: independence of domain and answer.

    Parameters
    ----------
    totals : Totals
        In each domain those of phi, (k,), and of one: shape (g (k + 1),); without corrections, see
        `independence`.
    g : int
    S : array, shape (k, k)
        Covariance of phi under simple random sampling of all domains together.
    closed : bool
        See `metric`.
    n, nu : float
        Respondents of all domains, and degrees of freedom of the design.
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
# The pseudo-likelihood ``sum_i w_i log P(r_i; p)`` estimates that of the whole population (Skinner
# 1989; Binder 1983, equation 2.3). Its maximum is p plus, to first order, the sum of ``w_i z_i``
# with z = V (s - mean s), s the score of a report and V the inverse of the weighted information on
# the tangent space of the simplex. The variance between sampling units of z is the sandwich
# covariance.


Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LARGEST = 2048  # categories up to which an information matrix is formed


@dataclass(frozen=True, eq=False)
class PseudoLikelihood(Decoding):
    """The maximum of a weighted likelihood, and reports decoded around it.

    With W the sum of the weights, ``phi = p + W z``, z as above. So the weighted mean of phi is p
    exactly, phi - p is its linearised score, and where p is right, phi is unbiased for the
    indicator of the true category, as every `Decoding` is.

    Parameters
    ----------
    solution : Solution
        Its gap is that of the weighted likelihood, per report.
    llf : float
        Log-likelihood in nats, with weights that sum to the number of respondents.
    rows : Rows
        Likelihood of each distinct report, (u, k).
    shares : array, shape (u,)
        Weighted share of each distinct report.
    has_errors : bool
        Whether the scores are known; where not, `phi` is nan.
    """

    solution: Solution
    llf: float
    rows: Rows
    shares: Array
    has_errors: bool = True

    @property
    def is_fixed(self) -> bool:
        return False

    def noise_at(self, q: Array) -> Array:
        # reports as they were seen have the law m of p; those of q are seen q Q / m times as often
        seen = self._over(self.rows.mix(q))
        squares = (self.phi.T * seen) @ self.phi
        return np.asarray(squares - (self._means.T * q) @ self._means)

    def noise(self, t: Array, total: float | None = None) -> Array:
        return np.asarray(self.noise_at(t))  # the likelihood takes the candidates for all answers

    def _over(self, v: Array) -> Array:
        """Share of each report times v, (u,), relative to its probability; zero if never seen."""
        d, seen = self.rows.mix(self.solution.p), self.shares > 0.0
        return np.asarray(np.divide(self.shares * v, d, out=np.zeros(d.shape), where=seen))

    @cached_property
    def _means(self) -> Array:
        """Mean of phi given each category, (k, k)."""
        weights = self._over(np.ones(self.shares.shape))
        return np.asarray((self.rows.dense().T * weights) @ self.phi)


def pseudo_likelihood(
    reports: Reports,
    weights: Array,
    nobs: float,
    candidates: Any = None,
    constraints: Any = None,
) -> PseudoLikelihood:
    """Maximise the weighted likelihood of the reports of one variable in one domain.

    Parameters
    ----------
    reports : Reports
        Of n respondents, or of n groups of respondents with equal reports.
    weights : array, shape (n,)
        Of each, at least zero; zero outside the domain.
    nobs : float
        Respondents in the domain, which the weights are made to sum to: tolerances are about
        them.
    candidates : sequence of str, optional
        Where any string is an answer; the likelihood takes them for all answers.
    constraints : callable, optional
        As for `MLE`; a constrained estimate has no scores.

    Raises
    ------
    InvalidArgument
        If no p meets the constraints, or no weight is positive.

    Warns
    -----
    ConvergenceWarning
        Where the gap of the weighted likelihood was not reached.
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
        free = _free(once, problem.W, candidates, solution.p)
        z = _influence(problem, solution.p, free)
    phi = np.full(problem.W.shape, np.nan) if z is None else solution.p + z
    llf, shares = problem.loglike(solution.p), total / total.sum()
    return PseudoLikelihood(phi, place, solution, llf, rows, shares, z is not None)


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maxima of the weighted likelihoods of g domains, and how they vary together.

    Parameters
    ----------
    domains : tuple of PseudoLikelihood
        Their `place` is that of the domain's cells.
    covariance : array, shape (g k, g k), or None
        Sandwich covariance under the design; None where a domain has no scores.
    """

    domains: tuple[PseudoLikelihood, ...]
    covariance: Array | None

    @property
    def p(self) -> Array:
        """The estimates, shape (g k,)."""
        return np.concatenate([one.solution.p for one in self.domains])

    @property
    def llf(self) -> float:
        """Log-likelihood of all domains, with weights that sum to the respondents of each."""
        return sum(one.llf for one in self.domains)

    @property
    def solution(self) -> Solution:
        """All of them, with the certificate of the worst."""
        found = [one.solution for one in self.domains]
        worst = max(found, key=lambda one: (not one.converged, one.gap))
        return replace(worst, p=self.p, n_iter=max(one.n_iter for one in found))


def maxima(
    sample: Sample,
    reports: Reports,
    at: Codes,
    domain: Codes,
    candidates: Any = None,
    constraints: Any = None,
) -> Maxima:
    """Maximise the weighted likelihood in every domain, under a design.

    Parameters
    ----------
    sample : Sample
        Of c cells.
    reports : Reports
        Those that cells have.
    at, domain : array of int64, shape (c,)
        The report and the domain of each cell; -1 for none. Each domain has a report.
    candidates, constraints : optional
        As for `pseudo_likelihood`, where the errors and warnings are too.
    """
    distinct, place = distinct_reports(reports)
    at = np.append(place, -1)[at]
    cells = [np.flatnonzero((domain == g) & (at >= 0)) for g in range(int(domain.max()) + 1)]
    found = []
    for own in cells:
        seen, mine = np.unique(at[own], return_inverse=True)  # distinct reports keep their order
        weights, nobs = np.bincount(mine, sample.w[own]), float(sample.n[own].sum())
        one = pseudo_likelihood(distinct[seen], weights, nobs, candidates, constraints)
        found.append(replace(one, place=mine))
    covariance = None
    if all(one.has_errors for one in found):
        covariance = _joint_covariance(sample, cells, found)
    return Maxima(tuple(found), covariance)


def _joint_covariance(sample: Sample, cells: list[Codes], found: list[PseudoLikelihood]) -> Array:
    """Covariance of the maxima of all domains, of some cells each, from their linearised scores."""
    from scipy.linalg import block_diag
    from scipy.sparse import block_diag as sparse_diag

    place, missed = np.full(sample.w.shape, -1), sample.w2 * missed_noise_estimation(sample)
    domain = np.full(sample.w.shape, -1)
    parts, before = [], 0
    noise: list[Array] = []
    lost: list[Array] = []
    for i, (own, one) in enumerate(zip(cells, found, strict=True)):
        domain[own] = i
        rows, total = one.place, sample.w[own].sum()
        place[own] = before + rows
        before += len(one.phi)
        parts.append((one.phi - one.solution.p) / total)
        for v, kept in ((sample.w2, noise), (missed, lost)):
            t = np.bincount(rows, v[own], len(one.phi)) @ one.phi
            kept.append(one.noise(t) / total**2)
    table = parts[0] if len(parts) == 1 else sparse_diag(parts, format="csr")
    totals = estimated_totals(
        sample,
        Scores(((place, table),), domain, len(found)),
        block_diag(*noise),
        block_diag(*lost),
    )
    return totals.covariance_of(Ratios(np.eye(len(found) * found[0].k)))


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
    found = np.zeros(problem.W.shape)
    found[:, free] = np.where(seen[:, None], scores, 0.0) @ V
    return found


def _free(once: Counts, W: Rows, candidates: Any, p: Array) -> Mask:
    """Categories whose estimate can vary, as in the covariance of unweighted estimates.

    One that some report with probability zero would reveal is known to be absent, to first order.
    """
    mechanism = once.mechanism
    free = ~(W.pinned(p) | mechanism.moments(once, candidates).pinned(p))
    if mechanism.n_outputs and not mechanism.n_cohorts:
        Q = mechanism.channel().matrix()
        never = (p @ Q <= 0.0) & Q.any(axis=0)
        free &= ~Q[:, never].any(axis=1)
    return np.asarray(free)


# -- Intervals of weighted shares, their ratios and differences -----------------------------------
# Each is of all values that an estimate does not reject at a critical value t, one for each.


_ALIKE = 1e-12  # scales of different categories
_FEW = 20.0  # reports, of effective respondents
_LEAST, _MOST = 1e-6, 1e9  # critical values
_ROUNDING = 1e-13  # of a variance, relative to its terms
_GRID = np.geomspace(0.05, 500.0, 40)  # between which limits move one way
_STEPS = 48  # of bisection of logarithms between two of these


@dataclass(frozen=True, eq=False)
class Counted:
    """What share of the respondents makes the report that a category is counted by.

    ``q_j = offset_j + scale_j p_j``, shape (k,) both; nan where a category has no report, or bit,
    of its own.
    """

    offset: Array
    scale: Array

    @classmethod
    def by(cls, decoding: Decoding) -> Counted:
        """The reports that categories are counted by."""
        form = decoding.equations.exact_form() if isinstance(decoding, LinearDecoding) else None
        if form is None:
            return cls(np.full(decoding.k, np.nan), np.full(decoding.k, np.nan))
        return cls(form.offset, form.scale)

    def to_json(self) -> list[Any]:
        """Plain JSON types."""
        return [array_to_json(self.offset), array_to_json(self.scale)]

    @classmethod
    def from_json(cls, document: list[Any]) -> Counted:
        """Inverse of `to_json`."""
        offset, scale = map(array_from_json, document)
        if np.isinf(offset).any() or np.isinf(scale).any() or (scale == 0.0).any():
            remedy = "is damaged: scales must be numbers other than zero"
            raise InvalidArgument("document", document, remedy)
        return cls(offset, scale)

    def some(self, at: Any) -> Counted:
        """Those of some categories."""
        return Counted(self.offset[at], self.scale[at])

    def joined(self, members: Array, disjoint: bool) -> Counted:
        """The reports that sets of categories are counted by, (r, k) of zeros and ones -> (r,).

        Of several categories there are such where reports are `disjoint`, so that each respondent
        makes that of one category at most, and alike. Reports that are sets, which hold more than
        one category on average, are not.
        """
        offset, scale = np.full((2, len(members)), np.nan)
        for i, own in enumerate(members > 0.0):
            one = self.some(own)
            single = self.offset.sum() + one.scale[0] <= 1.0 + _ALIKE * self.offset.size
            alike = disjoint and single and np.ptp(one.scale) <= _ALIKE
            if own.sum() == 1 or alike:
                offset[i], scale[i] = one.offset.sum(), one.scale[0]
        return Counted(offset, scale)

    def crossed(self, other: Counted, rows: Array, columns: Array) -> Counted:
        """The pairs of reports that cells of two variables are counted by, row-major, (a b,).

        Others who make a pair depend on the shares of `rows`, (a,), and `columns`, (b,), which are
        taken as known; the variance of a cell holds what they add to it.
        """
        first, second = (np.clip(margin, 0.0, 1.0) for margin in (rows, columns))
        mixed = np.outer(self.offset, other.offset + other.scale * second)
        offset = mixed + np.outer(self.scale * first, other.offset)
        scale = np.outer(self.scale, other.scale)
        return Counted(offset.reshape(-1), scale.reshape(-1))


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

    The share q of the reports that a category is counted by has the variance q (1 - q) / m of m
    respondents of a simple random sample, so that its variance is known at every value, as that of
    a rare category must be: the interval is all values that the estimate does not reject. Where
    nobody, or everybody, made the report m is `n`, the respondents less what weights cost, and it
    is `n` at most where the report is rare. As `t_bounds` where a category has no such report.

    References
    ----------
    Korn, E. L. and Graubard, B. I. (1998), Survey Methodology 24, 193-201, for the effective
    sample size.
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
    """Limits of ratios of shares from the limits of both, (q, 2) each; they may be infinite.

    All ratios r at which ``above - r below`` does not differ from zero, its limits being those of
    `Differences`; Fieller's set (1954) where limits are symmetric. `covariance` holds variances of
    `above` and `below`, and their covariance, (3, q).

    References
    ----------
    Donner, A. and Zou, G. Y. (2012), Closed-form confidence intervals for functions of the normal
    mean and standard deviation, Statistical Methods in Medical Research 21, 347-359.
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


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of estimates, first minus second, from the limits of each.

    Limits of both are combined as if each lay its own quantile from the estimate, towards the other
    side for the second, so that they keep their skewness; where both are symmetric they are those
    of the t law with the standard error of the difference.

    Parameters
    ----------
    first, second : array, shape (r,)
    covariance : array, shape (3, r)
        Variances of first and second, and their covariance.
    limits : callable
        Limits of first and of second at critical values t, (r,) -> (r, 2) both.

    References
    ----------
    Zou, G. Y. (2007), Toward using confidence intervals to compare correlations, Psychological
    Methods 12, 399-413, for limits of estimates that depend on each other.
    """

    first: Array
    second: Array
    covariance: Array
    limits: Callable[[Array], tuple[Array, Array]]

    @property
    def estimate(self) -> Array:
        """The differences, (r,)."""
        return self.first - self.second

    @cached_property
    def _r(self) -> Array:
        return _correlation(self.covariance)

    @property
    def se(self) -> Array:
        """Their standard errors, (r,); zero where only rounding is left."""
        first, second, both = self.covariance
        variance = first + second - 2.0 * both
        return np.sqrt(np.where(variance <= _ROUNDING * (first + second), 0.0, variance))

    def bounds(self, t: Array) -> Array:
        """Limits of the differences, (r, 2); infinite where those of one are.

        They are the farthest up to t: of estimates that go together those of a difference draw in
        again where the limits of one have come to their end, and those of the other have not.
        """
        found = self._reaches(t)
        for least in _GRID[_GRID < t.max(initial=0.0)]:
            found = np.maximum(found, self._reaches(np.minimum(t, least)))
        return np.asarray(self.estimate[:, None] + found * [-1.0, 1.0])

    def pvalues(self, df: Array) -> Array:
        """Two-sided p-values, (r,), of differences of zero: at the least t whose limits hold it."""
        from scipy.special import stdtr

        low, high = np.full(df.shape, _LEAST), np.full(df.shape, _MOST)
        for t in _GRID[::-1]:
            rejected = self._rejected(np.full(df.shape, t))
            low = np.where(rejected, np.maximum(low, t), _LEAST)
            high = np.where(rejected, high, t)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            rejected = self._rejected(middle)
            low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
        p = 2.0 * stdtr(np.maximum(df, 1.0), -low)
        return np.asarray(np.where(self.estimate == 0.0, 1.0, p))

    def _rejected(self, t: Array) -> npt.NDArray[np.bool_]:
        """Whether zero is beyond the limits, (r,)."""
        down, up = self._reaches(t).T
        return np.asarray((self.estimate > down) | (self.estimate < -up))

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
    return np.asarray(np.clip(r, -1.0, 1.0))


def _combined(first: Array, second: Array, r: Array) -> Array:
    """Length of the sum of two sides with the correlation -r; infinite where one is."""
    square = first**2 + second**2 - 2.0 * r * first * second
    endless = np.isinf(first) | np.isinf(second)
    return np.where(endless, np.inf, np.sqrt(np.maximum(square, 0.0)))
