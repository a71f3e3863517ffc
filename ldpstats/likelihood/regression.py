"""The likelihood of a regression in which answers are privatised.

Respondent i has private predictors in one of C configurations (one, if none are private), with
probability rho_c(z_i; gamma), and reports on them of likelihood B_ic. With f_ic the probability or
density of what is seen of her outcome, she adds ``w_i log sum_c B_ic rho_ic f_ic``. Of a
categorical outcome is seen a report of likelihood A[y], ``f = sum_y A[y] pi_y(eta)``; of a number,
the number itself. Linear predictors eta have coefficients of their own, or common slopes.

A report of law ``P(r) = sum_y pi_y(eta) Q[y, r]`` has the information ``sum_r d_r d_r' / P(r)`` on
eta, d_r the derivative of P(r). Half the logarithm of its determinant is a penalty that makes
maxima finite (Firth 1993; Heinze and Schemper 2002, for answers without noise).

With unbiased indicators phi_ic of configurations and a_iy of outcomes, the corrected log-likelihood
is ``sum_i w_i sum_c phi_ic sum_y a_iy log pi_y(eta_ic)``. Given the true answers its mean is their
log-likelihood. As indicators may be negative it need be neither concave nor bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.labels import Codes
from ldpstats.likelihood.joint import distinct_reports, each_once
from ldpstats.reports.single import Reports

Derivatives = tuple[Array, ...]  # a function of the linear predictors, and its derivatives
Expansion = tuple[float, Array, Array]  # value, gradient and Hessian
Tails = tuple[Array, Array, Array, Array]  # P(y <= a), P(y > a), two derivatives of the first

_BLOCK = 1 << 20  # numbers of the largest array that is made at a time: it stays in the cache


def scaled(M: Array) -> tuple[Array, Array]:
    """A symmetric matrix in units of the roots of its diagonal, and these; one where it is zero."""
    size = np.sqrt(np.abs(np.diagonal(M)))
    size = np.where(size > 0.0, size, 1.0)
    return M / np.outer(size, size), size


@record
class Seen:
    """What is seen of categories: a `table` of the likelihoods of distinct reports.

    The table is (u, k), or (c, u, k) of c channels; `at`, (n,), is the report of each row.
    """

    table: Array
    at: Codes

    def __getitem__(self, rows: Any) -> Array:
        """Likelihoods of some rows, (., k) or (c, ., k)."""
        return self.table[..., self.at[rows], :]


@record
class RegressionLikelihood:
    """Log-likelihood of parameters theta: those of the outcome, then those of the predictors.

    `designs` are those of the outcome in each of C configurations of the private predictors; `seen`
    what is seen of a categorical outcome, or numbers, (n,), or None of rows to predict for; `B` the
    likelihoods of the reports on the private predictors, and `marginal` the C - 1 linear predictors
    of their law; `constant` is added to the logarithm.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    seen: Any
    weights: Array
    B: Seen | None = None
    marginal: Predictors | None = None
    constant: float = 0.0

    m: ClassVar[int] = 0  # unknown parameters of devices, which come last
    group: ClassVar[Any] = None  # of each row, (n,), where groups have intercepts

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def n_outcome(self) -> int:
        """Number of parameters of the outcome, which come first."""
        return self.designs[0].size

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.n_outcome + (0 if self.marginal is None else self.marginal.size) + self.m

    def take(self, rows: Any, weights: Array | None = None) -> Self:
        """The likelihood of some rows, without the constant."""
        seen = self.seen
        if seen is not None:
            seen = Seen(seen.table, seen.at[rows]) if isinstance(seen, Seen) else seen[rows]
        return replace(
            self,
            designs=tuple(design.take(rows) for design in self.designs),
            seen=seen,
            weights=self.weights[rows] if weights is None else weights,
            B=None if self.B is None else Seen(self.B.table, self.B.at[rows]),
            marginal=None if self.marginal is None else self.marginal.take(rows),
            constant=0.0,
        )

    def blocks(self, step: int | None = None) -> Iterator[Self]:
        """Parts of the rows that fit in the cache, or of `step` rows each."""
        if step is None:
            q = self.outcome.q
            width = max(q * q, q * self.designs[0].p, len(self.designs) * (q + 1), 8)
            step = max(256, _BLOCK // width)
        if step >= self.n:
            yield self
            return
        for start in range(0, self.n, step):
            yield self.take(slice(start, start + step))

    # -- values --------------------------------------------------------------------------------

    def value(self, theta: Array) -> float:
        """The log-likelihood, minus infinity where it is not defined."""
        total = self.constant
        for part in self.blocks():
            rows, there = part._mixture(theta, 0).logs, part.weights != 0.0
            total += float(part.weights[there] @ rows[there])
        return total if not np.isnan(total) else -np.inf

    def law(self, theta: Array) -> Array:
        """P(configuration | public covariates), shape (..., n, C)."""
        if self.marginal is None:
            return np.ones((self.n, 1))
        gamma = theta[..., self.n_outcome :]
        return Multinomial(len(self.designs)).mean(self.marginal.eta(gamma))

    def posterior(self, theta: Array) -> Array:
        """P(configuration | all that is seen), shape (n, C)."""
        return self._mixture(theta, 0).posterior

    def _mixture(self, theta: Array, order: int) -> _Mixture:
        """The law of what is seen, with so many derivatives, at parameters of shape (..., size)."""
        beta, seen = theta[..., : self.n_outcome], self.seen[:]
        each = [self.outcome.terms(design.eta(beta), seen, order) for design in self.designs]
        if self.marginal is None:
            ones = np.ones((self.n, 1))
            return _Mixture(each, each[0][0], ones, ones)
        assert self.B is not None
        logs, law = np.stack([terms[0] for terms in each], axis=-1), self.law(theta)
        top = np.nan_to_num(logs.max(axis=-1), neginf=0.0)  # the largest f of each row
        joint = self.B[:] * law * np.exp(logs - top[..., None])
        total = joint.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return _Mixture(each, np.log(total) + top, joint / total[..., None], law)

    # -- derivatives ---------------------------------------------------------------------------

    def evaluate(self, theta: Array) -> Expansion:
        """Value, score, shape (size,), and Hessian, (size, size)."""
        m, hessian = self.n_outcome, np.zeros((self.size, self.size))
        value, score = np.asarray(self.constant), np.zeros(self.size)
        for part in self.blocks():
            marginal, w, beta = part.marginal, part.weights, theta[:m]
            mixture = part._mixture(theta, 2)
            posterior, law = mixture.posterior, mixture.law
            value = part._add(theta, mixture, value, score)
            mean = np.zeros((part.n, m))
            cross = np.zeros((m, self.size - m))
            for c, (design, (_, slope, bend)) in enumerate(
                zip(part.designs, mixture.each, strict=True)
            ):
                wc = posterior[:, c] * w
                hessian[:m, :m] += design.hessian(
                    beta, bend * wc[:, None, None], slope * wc[:, None]
                )
                if marginal is None:
                    continue
                rows = design.rows(beta, slope)
                hessian[:m, :m] += (rows * wc[:, None]).T @ rows
                mean += rows * posterior[:, c : c + 1]
                if c:
                    away = np.zeros((part.n, len(part.designs) - 1))
                    away[:, c - 1] = wc
                    cross += rows.T @ marginal.rows(theta[m:], away)
            if marginal is None:
                continue
            spread = Multinomial(len(part.designs)).spread
            first = posterior[:, 1:] - law[:, 1:]
            second = (spread(posterior) - spread(law)) * w[:, None, None]
            hessian[m:, m:] += marginal.hessian(theta[m:], second, first)
            hessian[:m, :m] -= (mean * w[:, None]).T @ mean
            hessian[:m, m:] += cross - mean.T @ marginal.rows(
                theta[m:], posterior[:, 1:] * w[:, None]
            )
        hessian[m:, :m] = hessian[:m, m:].T
        return float(value), score, hessian

    def scores_at(self, thetas: Array) -> tuple[Array, Array]:
        """Values, (c,), minus infinity or nan where undefined, and scores at (c, size)."""
        values, scores = np.full(len(thetas), self.constant), np.zeros(thetas.shape)
        width = len(thetas) * len(self.designs) * (self.outcome.q + 1)
        for part in self.blocks(max(256, (1 << 17) // width)):
            values = part._add(thetas, part._mixture(thetas, 1), values, scores)
        return values, scores

    def _add(self, theta: Array, mixture: _Mixture, value: Array, score: Array) -> Array:
        """The value with that of these rows; their score is added in place."""
        m, w = self.n_outcome, self.weights
        for c, (design, terms) in enumerate(zip(self.designs, mixture.each, strict=True)):
            first = terms[1] * (mixture.posterior[..., c] * w)[..., None]
            score[..., :m] += design.adjoint(theta[..., :m], first)
        if self.marginal is not None:
            away = (mixture.posterior[..., 1:] - mixture.law[..., 1:]) * w[:, None]
            score[..., m:] += self.marginal.adjoint(theta[..., m:], away)
        return np.asarray(value + mixture.logs @ w)

    def score_obs(self, theta: Array) -> Array:
        """Score of each row, without its weight, shape (n, size)."""
        beta, scores = theta[: self.n_outcome], []
        for part in self.blocks():
            mixture = part._mixture(theta, 1)
            own = sum(
                design.rows(beta, terms[1] * mixture.posterior[:, c : c + 1])
                for c, (design, terms) in enumerate(zip(part.designs, mixture.each, strict=True))
            )
            if part.marginal is not None:
                away = mixture.posterior[:, 1:] - mixture.law[:, 1:]
                own = np.hstack([own, part.marginal.rows(theta[self.n_outcome :], away)])
            scores.append(own)
        return np.vstack(scores)


class _Mixture(NamedTuple):
    """The law of what is seen over the configurations of private predictors."""

    each: list[Derivatives]  # log f in each, with derivatives by eta
    logs: Array  # log m, (..., n)
    posterior: Array  # P(configuration | all that is seen), (..., n, C)
    law: Array  # P(configuration | public covariates), (..., n, C)


# -- Laws of the true outcome given its linear predictors, and what is seen of it -----------------


_CLEAR = 1e-4  # likelihood of an answer, relative to the other's, below which a report tells it


class Outcome(ABC):
    """A law with q linear predictors eta, shape (..., n, q)."""

    q: ClassVar[int]

    @abstractmethod
    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        """log f of what is seen, (..., n), and so many derivatives, (..., q) and (..., q, q)."""

    @abstractmethod
    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        """Probabilities of the categories, (..., n, k), and so many derivatives.

        Of shape (..., n, k, q) and (..., n, k, q, q). Of a number the mean, k = 1.
        """

    def mean(self, eta: Array) -> Array:
        """Probabilities of the categories, (..., n, k), or the mean of a number, (..., n, 1)."""
        return self.moments(eta)[0]

    def bent(self, eta: Array, M: Array) -> Array:
        """Sum over a and y of M[a, y] and the second derivative [y, a, c]; (n, q, k) -> (n, q)."""
        return np.asarray(np.einsum("nak,nkac->nc", M, self.moments(eta, 2)[2]))


class Categorical(Outcome):
    """A law of one of k categories."""

    k: int


def _logit(eta: Array) -> Tails:
    from scipy.special import expit

    success, failure = expit(eta), expit(-eta)
    slope = success * failure
    return failure, success, slope, slope * (failure - success)


def _probit(eta: Array) -> Tails:
    from scipy.special import ndtr

    slope = np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi)
    return ndtr(-eta), ndtr(eta), slope, -eta * slope


def _cloglog(eta: Array) -> Tails:
    rate = np.exp(np.minimum(eta, 700.0))  # beyond, the probability of failure is zero anyway
    failure = np.exp(-rate)
    slope = rate * failure
    return failure, -np.expm1(-rate), slope, slope * (1.0 - rate)


LINKS = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}


class _Cumulative(Categorical):
    """One in which ``P(y <= a)`` is a function of the predictor eta_a alone."""

    @abstractmethod
    def below(self, eta: Array) -> Tails:
        """P(y <= a), P(y > a), and two derivatives of the first."""

    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        below, above, slope, bend = self.below(eta)
        f = seen[..., 0] * below[..., 0] + seen[..., -1] * above[..., -1]
        if self.k > 2:
            middle = self._between(eta, below, above)
            f = f + np.einsum("...k,...k->...", seen[..., 1:-1], middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(f)
            if not order:
                return (value,)
            gain, each = seen[..., :-1] - seen[..., 1:], f[..., None]
            first = gain * slope / each
            if order == 1:
                return value, first
            second = -first[..., :, None] * first[..., None, :]
            second[..., range(self.q), range(self.q)] += gain * bend / each
        return value, first, second

    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        below, above, *derivatives = self.below(eta)
        parts, at = [below[..., :1], above[..., -1:]], [range(self.q)]
        if self.k > 2:
            parts.insert(1, self._between(eta, below, above))
        moments = [np.concatenate(parts, axis=-1)]
        for i, derivative in enumerate(derivatives[:order]):
            steps = np.zeros((*eta.shape[:-1], self.k, *[self.q] * (i + 1)))
            place: Any = at * (i + 1)
            steps[(..., *at, *place)] = derivative
            steps[(..., range(1, self.k), *place)] = -derivative
            moments.append(steps)
        return tuple(moments)

    def _between(self, eta: Array, below: Array, above: Array) -> Array:
        """Probabilities of all categories but the first and last, (..., k - 2)."""
        # the smaller tail keeps the digits of a difference
        up, down = below[..., 1:] - below[..., :-1], above[..., :-1] - above[..., 1:]
        return np.where(eta[..., 1:] < 0.0, up, down)


@dataclass(frozen=True)
class Binary(_Cumulative):
    """Two categories; the probability of the second, success, is `link` of one predictor."""

    link: str = "logit"
    k: int = field(default=2, init=False)

    q: ClassVar[int] = 1

    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        if order == 2 or self.link != "logit" or seen.min() <= _CLEAR * seen.max():
            return super().terms(eta, seen, order)
        from scipy.special import expit

        # no report tells the answer for sure: one tail has all digits that matter
        success, gain = expit(eta[..., 0]), seen[..., 1] - seen[..., 0]
        f = seen[..., 0] + gain * success
        return np.log(f), (gain * success * (1.0 - success) / f)[..., None]

    def below(self, eta: Array) -> Tails:
        failure, success, slope, bend = LINKS[self.link](eta)
        return failure, success, -slope, -bend


@dataclass(frozen=True)
class Ordered(_Cumulative):
    """k ordered categories, ``P(y <= a) = F(eta_a)`` with F logistic and increasing eta."""

    k: int

    @property
    def q(self) -> int:  # type: ignore[override]
        return self.k - 1

    def below(self, eta: Array) -> Tails:
        above, below, slope, bend = _logit(eta)
        return below, above, slope, bend


@dataclass(frozen=True)
class Multinomial(Categorical):
    """k categories, the first of them the reference: the multinomial logit."""

    k: int

    @property
    def q(self) -> int:  # type: ignore[override]
        return self.k - 1

    def mean(self, eta: Array) -> Array:
        whole = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        whole -= whole.max(axis=-1, keepdims=True)
        np.exp(whole, out=whole)
        whole /= whole.sum(axis=-1, keepdims=True)
        return whole

    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        p = self.mean(eta)
        joint = seen * p
        f = joint.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = joint / f[..., None]
            terms = np.log(f), posterior[..., 1:] - p[..., 1:]
            # differences of the moments of posterior and prior
            return terms if order < 2 else (*terms, self.spread(posterior) - self.spread(p))

    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        p = self.mean(eta)
        moments = [p]
        if order:
            jacobian = -p[..., None] * p[..., None, 1:]
            jacobian[..., range(1, self.k), range(self.q)] += p[..., 1:]
            moments.append(jacobian)
        if order > 1:
            own = np.eye(self.k)[:, 1:] - p[..., None, 1:]  # (..., k, q)
            pairs = own[..., :, None] * own[..., None, :] - self.spread(p)[..., None, :, :]
            moments.append(p[..., None, None] * pairs)
        return tuple(moments)

    def bent(self, eta: Array, M: Array) -> Array:
        # of p_y ((1[y=a] - p_a)(1[y=c] - p_c) - (1[a=c] p_a - p_a p_c))
        p = self.mean(eta)
        s, weighted = p[:, 1:], M * p[:, None, :]  # (n, q, k)
        own = np.diagonal(weighted[:, :, 1:], axis1=1, axis2=2)  # y = a
        total = weighted.sum(axis=2)  # over y
        alone = own.sum(axis=1) - (s * total).sum(axis=1)  # (1[y=a] - p_a) over a and y
        pairs = own - (s[:, :, None] * weighted[:, :, 1:]).sum(axis=1)  # and where y = c
        spread = s * total - s * (s * total).sum(axis=1, keepdims=True)
        return np.asarray(pairs - s * alone[:, None] - spread)

    def spread(self, p: Array) -> Array:
        """Covariance of the indicators of all categories but the reference, (..., q, q)."""
        covariance = -p[..., 1:, None] * p[..., None, 1:]
        own = np.einsum("...aa->...a", covariance)
        own += p[..., 1:]
        return covariance


@dataclass(frozen=True)
class Normal(Outcome):
    """A number with a normal law: its mean, and the logarithm of its standard deviation."""

    q: ClassVar[int] = 2

    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        each = np.exp(-eta[..., 1])
        z = (seen - eta[..., 0]) * each
        value = -0.5 * z**2 - eta[..., 1] - 0.5 * np.log(2.0 * np.pi)
        first = np.stack([z * each, z**2 - 1.0], axis=-1)
        if order < 2:
            return value, first
        second = -np.stack([each**2, 2.0 * z * each, 2.0 * z * each, 2.0 * z**2], axis=-1)
        return value, first, second.reshape(*eta.shape, 2)

    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        first = np.broadcast_to([[1.0, 0.0]], (*eta.shape[:-1], 1, 2))
        return (eta[..., :1], first, np.zeros((*eta.shape[:-1], 1, 2, 2)))[: order + 1]


@dataclass(frozen=True)
class Poisson(Outcome):
    """A count whose mean is exp(eta)."""

    q: ClassVar[int] = 1

    def terms(self, eta: Array, seen: Array, order: int = 2) -> Derivatives:
        from scipy.special import gammaln

        with np.errstate(over="ignore"):
            rate = np.exp(eta)
            value = seen * eta[..., 0] - rate[..., 0] - gammaln(seen + 1.0)
        return value, seen[..., None] - rate, -rate[..., None]

    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        rate = np.exp(eta)
        return (rate, rate[..., None], rate[..., None, None])[: order + 1]


# -- Laws whose predictors have a normal intercept of each group of respondents -------------------


@cache
def hermite(n: int, h: int) -> tuple[Array, Array]:
    """Nodes, (n**h, h), and logarithms of weights, of means over h standard normal variables."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    logs = np.log(weights) - 0.5 * np.log(2.0 * np.pi)
    grid = np.indices((n,) * h).reshape(h, -1)
    return nodes[grid].T, logs[grid].sum(axis=0)


_AVERAGED = (41, 13)  # nodes along each of one or two intercepts


@dataclass(frozen=True)
class Mixed(Categorical):
    """A law in groups: predictors are those of the typical group, and the sds of intercepts.

    Its moments are those of the population, whose groups differ; of the typical group, of intercept
    zero, unless `average`.
    """

    average: bool = True

    @property
    @abstractmethod
    def within(self) -> Categorical:
        """The law given the intercepts of the group."""

    def mean(self, eta: Array) -> Array:
        return self.moments(eta)[0]

    def moments(self, eta: Array, order: int = 0) -> Derivatives:
        law, h = self.within, self.within.q
        nodes, logs = np.zeros((1, h)), np.zeros(1)
        if self.average:
            nodes, logs = hermite(_AVERAGED[h - 1], h)
        moments: list[Any] = [0.0] * (order + 1)
        for u, weight in zip(nodes, np.exp(logs), strict=True):
            both = np.hstack([np.eye(h), np.diag(u)])  # derivatives of eta + sd u by eta and sd
            given = law.moments(eta[..., :h] + eta[..., h:] * u, order)
            for i, moment in enumerate(given):
                if i:
                    moment = moment @ both
                if i == 2:
                    moment = both.T @ moment
                moments[i] = moments[i] + weight * moment
        return tuple(moments)


@dataclass(frozen=True)
class MixedBinary(Mixed, Binary):
    """Two categories, in groups with an intercept."""

    q: ClassVar[int] = 2

    @property
    def within(self) -> Binary:
        return Binary(self.link)


@dataclass(frozen=True)
class MixedMultinomial(Mixed, Multinomial):
    """k categories, in groups with an intercept for each but the first."""

    @property
    def q(self) -> int:  # type: ignore[override]
        return 2 * (self.k - 1)

    @property
    def within(self) -> Multinomial:
        return Multinomial(self.k)


# -- Reports on one variable as what a regression needs of them: the likelihood of each -----------


def likelihoods(groups: Sequence[Reports], candidates: Any = None) -> tuple[Seen, Array]:
    """Likelihoods ``P(report | true category)`` of the reports of groups, one after the other.

    With the logarithms, (n,), of what was taken out of each row; candidates are all answers.
    """
    tables, places, scales, before = [], [], [], 0
    for reports in groups:
        if not len(reports):
            continue
        distinct, place = distinct_reports(reports)
        rows = reports.mechanism.likelihood(each_once(distinct), candidates).W
        tables.append(rows.dense())
        places.append(place + before)
        scales.append(rows.log_scale[place])
        before += len(distinct)
    return Seen(np.vstack(tables), np.concatenate(places)), np.concatenate(scales)


# -- Rows of a regression that are alike, made one ------------------------------------------------


_LOOKED_AT = 4096  # rows that show whether many are alike
_FEW = 0.7  # share of distinct ones among them, above which rows are left as they are


def alike(columns: Sequence[Array]) -> tuple[Codes, Codes] | None:
    """The first of each kind of rows, (u,), and the kind of every row; None if few are alike."""
    n = len(columns[0])
    some = np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.int64)
    if _kinds(columns, some).max(initial=0) + 1 > _FEW * some.size and some.size > 1:
        return None
    place = _kinds(columns)
    u = int(place.max()) + 1
    first = np.full(u, n, dtype=np.int64)
    first[place[::-1]] = np.arange(n - 1, -1, -1)
    return first, place


def _kinds(columns: Sequence[Array], some: Any = slice(None)) -> Codes:
    """The number of the kind of each row, (n,), or of some."""
    kind: Codes = np.zeros(len(columns[0]), dtype=np.int64)[some]
    for column in columns:
        for one in np.asarray(column)[some].reshape(len(kind), -1).T:
            code, values = pd.factorize(one)
            if len(values) > 1:
                kind = pd.factorize(kind * len(values) + code)[0].astype(np.int64)
    return kind


# -- Expected information of regressions on reports, and the penalty of half its log determinant --


_TINY = 1e-300  # probabilities below are of reports that do not occur


@record
class ReportLaw:
    """Channels, (k, l) each, of the reports on a categorical outcome, and the one of each row."""

    channels: Derivatives
    at: Codes

    def take(self, rows: Any) -> ReportLaw:
        """The law of some rows."""
        return replace(self, at=self.at[rows])


@record
class ExpectedInformation:
    """Expected information of the outcome's parameters.

    `weights`, (n, C), are those of each row and configuration of the private predictors, and `law`
    says how categories are reported; None for numbers.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    weights: Array
    law: ReportLaw | None = None

    def _parts(self) -> Iterator[tuple[Predictors, Array, Array | None]]:
        """Rows of one design and channel that fit in the cache, with their weights."""
        q, m = self.outcome.q, self.designs[0].size
        channels = (None,) if self.law is None else self.law.channels
        for c, design in enumerate(self.designs):
            for g, Q in enumerate(channels):
                rows: Any = None  # all
                if self.law is not None and len(channels) > 1:
                    rows = np.flatnonzero(self.law.at == g)
                step = max(256, _BLOCK // ((2 if Q is None else Q.shape[1]) * q * q + m))
                for start in range(0, design.n if rows is None else len(rows), step):
                    some: Any = slice(start, start + step)
                    some = some if rows is None else rows[some]
                    yield design.take(some), self.weights[some, c], Q

    def _row(self, eta: Array, Q: Array | None) -> tuple[Array, tuple[Array, Array] | None]:
        """Information of each row on its predictors, (n, q, q); P(r), (n, l), and d, (n, q, l)."""
        if Q is not None:
            mean, jacobian = self.outcome.moments(eta, 1)
            P, d = np.maximum(mean @ Q, _TINY), jacobian.transpose(0, 2, 1) @ Q
            if d.shape[1] == 1:
                return (d[:, 0] ** 2 / P).sum(axis=1)[:, None, None], (P, d)
            return (d / P[:, None, :]) @ d.transpose(0, 2, 1), (P, d)
        if isinstance(self.outcome, Poisson):
            return np.exp(eta)[:, :, None], None
        information = np.zeros((len(eta), 2, 2))  # of a normal law
        information[:, 0, 0], information[:, 1, 1] = np.exp(-2.0 * eta[:, 1]), 2.0
        return information, None

    def matrix(self, theta: Array, kept: list[Any] | None = None) -> Array:
        """The information, shape (size, size); what it is summed over is added to `kept`."""
        total = np.zeros((self.designs[0].size,) * 2)
        for design, w, Q in self._parts():
            eta = design.eta(theta)
            J, law = self._row(eta, Q)
            total += design.hessian(theta, J * w[:, None, None], np.zeros(eta.shape))
            if kept is not None:
                kept.append((design, w, eta, Q, law, J))
        return total

    def penalty(self, theta: Array, with_slope: bool = True) -> tuple[float, Array]:
        """Half the log determinant, minus infinity where singular, and its derivatives, (size,)."""
        kept: list[Any] = []
        matrix = self.matrix(theta, kept if with_slope else None)
        sign, size = np.linalg.slogdet(matrix) if np.isfinite(matrix).all() else (0.0, 0.0)
        if sign <= 0 or not np.isfinite(size):
            return -np.inf, np.full(len(matrix), np.nan)
        if not with_slope:
            return 0.5 * float(size), np.zeros(0)
        inverse = np.linalg.inv(matrix)
        slope = self.designs[0].stretch(theta)[1]
        for design, w, eta, Q, law, J in kept:
            S = design.quadratic(theta, inverse)
            # derivatives of tr(S J), S held fixed
            if law is None:
                by = [1.0] if isinstance(self.outcome, Poisson) else [0.0, -2.0]
                by_eta = np.outer(J[:, 0, 0] * S[:, 0, 0], by)
            elif eta.shape[1] == 1:
                share, d = law[1][:, 0] / law[0], law[1][:, 0]
                bend = self.outcome.moments(eta, 2)[2][:, :, 0, 0]
                twice = 2.0 * ((share @ Q.T) * bend).sum(axis=1)
                by_eta = S[:, 0] * (twice - (share**2 * d).sum(axis=1))[:, None]
            else:
                P, d = law
                along = (S @ d) / P[:, None, :]  # (n, q, l)
                squares = (along * d).sum(axis=1) / P
                by_eta = 2.0 * self.outcome.bent(eta, along @ Q.T)
                by_eta = by_eta - (d @ squares[:, :, None])[:, :, 0]
            slope = slope + 0.5 * design.adjoint(theta, by_eta * w[:, None])
        return 0.5 * float(size), slope


# -- The log-likelihood of completed data, whose weights may be negative ---------------------------


_LEAST = 0.02  # share of a configuration in the smoothed indicators, relative to an equal one


@record
class CompletedLikelihood:
    """``sum_i w_i sum_c phi_ic sum_y a_iy log pi_y(eta_ic)``, or of a number its log density.

    With unbiased indicators phi, (n, C), of the configurations and a, (n, k), of the categories it
    is the corrected log-likelihood; with probabilities given the reports, a of shape (n, C, k),
    what a step of the EM algorithm maximises. `response` are a, or numbers (n,).
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    phi: Array
    response: Array
    weights: Array

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.designs[0].size

    @cached_property
    def is_seen(self) -> bool:
        """Whether the outcome is a number, or one category for certain."""
        a = self.response
        return a.ndim == 1 or (
            a.ndim == 2 and bool(np.isin(a, (0.0, 1.0)).all() and (a.sum(axis=1) == 1.0).all())
        )

    def smoothed(self, t: float) -> CompletedLikelihood:
        """With indicators ``mean + t (phi - mean)``; t = 0 takes all news.

        The means of the indicators, cut to be positive, take the place of those that are not.
        """
        response = self.response if self.is_seen else self._toward_mean(self.response, t)
        return replace(self, phi=self._toward_mean(self.phi, t), response=response)

    def _toward_mean(self, phi: Array, t: float) -> Array:
        mean = np.maximum(self.weights @ phi / self.weights.sum(), _LEAST / phi.shape[1])
        return np.asarray((1.0 - t) * mean / mean.sum() + t * phi)

    def _parts(self, theta: Array, order: int) -> Iterator[tuple[Predictors, Array, Any]]:
        """Each design, with the weights of its rows, and log f with so many derivatives."""
        for c, design in enumerate(self.designs):
            eta, a, w = design.eta(theta), self.response, self.weights * self.phi[:, c]
            if self.is_seen:
                yield design, w, self.outcome.terms(eta, a, order)
                continue
            a = a if a.ndim == 2 else a[:, c]
            terms: list[Any] = [0.0] * (order + 1)
            for share, certain in zip(a.T, np.eye(a.shape[1]), strict=True):
                for i, one in enumerate(self.outcome.terms(eta, certain, order)[: order + 1]):
                    each = share.reshape(-1, *[1] * i)
                    terms[i] = terms[i] + np.where(each == 0.0, 0.0, each * one)
            yield design, w, terms

    def value(self, theta: Array) -> float:
        """The log-likelihood; minus infinity where it is not finite."""
        with np.errstate(all="ignore"):
            total = sum(float(w @ terms[0]) for _, w, terms in self._parts(theta, 0))
        return total if np.isfinite(total) else -np.inf

    def evaluate(self, theta: Array) -> Expansion:
        """Value, first and second derivatives."""
        total, score = 0.0, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        with np.errstate(all="ignore"):
            for design, w, (value, slope, bend) in self._parts(theta, 2):
                first = slope * w[:, None]
                total += float(w @ value)
                score += design.adjoint(theta, first)
                hessian += design.hessian(theta, bend * w[:, None, None], first)
        return total if np.isfinite(total) else -np.inf, score, hessian

    def score_rows(self, theta: Array) -> Array:
        """The score of each respondent, without her weight; shape (n, size)."""
        parts = replace(self, weights=np.ones(len(self.weights)))._parts(theta, 1)
        return np.asarray(sum(design.rows(theta, t[1] * w[:, None]) for design, w, t in parts))

    def spread(self, theta: Array) -> float:
        """Root of the mean square of the linear predictors, about their weighted means."""
        etas = [design.eta(theta) for design in self.designs]
        variances = self._mean([eta**2 for eta in etas]) - self._mean(etas) ** 2
        return float(np.sqrt(max(np.max(variances), 0.0)))

    def moved(self, theta: Array, other: Array) -> float:
        """Root mean square of the change of the linear predictors between two parameters."""
        squares = [(design.eta(other) - design.eta(theta)) ** 2 for design in self.designs]
        return float(np.sqrt(np.max(self._mean(squares))))

    def _mean(self, values: list[Array]) -> Array:
        """Weighted mean over rows and configurations, (q,)."""
        return np.asarray(self.weights @ np.mean(values, axis=0) / self.weights.sum())


# -- Linear predictors of n respondents as functions of the parameters ----------------------------


@record
class Predictors(ABC):
    """Predictors eta, (n, q), of parameters theta, (size,), for covariates X, (n, p).

    The `offset`, (n,), is added to the predictors of the slopes.
    """

    X: Array
    q: int
    offset: Array | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def p(self) -> int:
        """Number of covariates."""
        return int(self.X.shape[1])

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of parameters."""

    def take(self, rows: Any) -> Self:
        """The predictors of some rows."""
        offset = None if self.offset is None else self.offset[rows]
        return replace(self, X=self.X[rows], offset=offset)

    def stretch(self, theta: Array) -> tuple[float, Array]:
        """Log of the volume that a unit of parameters has in linear ones, and its derivative."""
        return 0.0, np.zeros(self.size)

    @abstractmethod
    def eta(self, theta: Array) -> Array:
        """The predictors, shape (..., size) -> (..., n, q)."""

    @abstractmethod
    def adjoint(self, theta: Array, G: Array) -> Array:
        """Sum over rows of derivative times G, shape (..., n, q) -> (..., size)."""

    @abstractmethod
    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        """Second derivative of what has derivatives G, (n, q), and W, (n, q, q), by eta."""

    @abstractmethod
    def rows(self, theta: Array, G: Array) -> Array:
        """Derivative of each row's predictors times G, shape (n, size)."""

    @abstractmethod
    def quadratic(self, theta: Array, V: Array) -> Array:
        """``D_i V D_i'`` for the derivative D_i of each row, (size, size) -> (n, q, q)."""


@record
class Separate(Predictors):
    """Coefficients of their own for each predictor, one predictor after the other."""

    @property
    def h(self) -> int:
        """Number of predictors with coefficients; the others are parameters, the last ones."""
        return self.q

    @property
    def size(self) -> int:
        return self.h * self.p + self.q - self.h

    def eta(self, theta: Array) -> Array:
        h, m = self.h, self.h * self.p
        linear = theta[..., :m].reshape(-1, self.p) @ self.X.T
        linear = linear.reshape(*theta.shape[:-1], h, self.n).swapaxes(-1, -2)
        if self.offset is not None:
            linear = linear + self.offset[:, None]
        if h == self.q:
            return linear
        rest = np.broadcast_to(theta[..., None, m:], (*linear.shape[:-1], self.q - h))
        return np.concatenate([linear, rest], axis=-1)

    def adjoint(self, theta: Array, G: Array) -> Array:
        each = G[..., : self.h].swapaxes(-1, -2).reshape(-1, self.n) @ self.X
        each = each.reshape(*G.shape[:-2], self.h * self.p)
        return np.concatenate([each, G[..., self.h :].sum(axis=-2)], axis=-1)

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        if self.q == 1:
            return (self.X * W[:, 0]).T @ self.X
        h, p, m = self.h, self.p, self.h * self.p
        hessian = np.empty((self.size, self.size))
        for a in range(h):
            # the blocks from the diagonal on
            own = slice(a * p, (a + 1) * p)
            weighted = (W[:, a, a:h, None] * self.X[:, None, :]).reshape(self.n, -1)
            hessian[own, a * p : m] = self.X.T @ weighted
            hessian[a * p : m, own] = hessian[own, a * p : m].T
            hessian[own, m:] = self.X.T @ W[:, a, h:]
        hessian[m:, :m] = hessian[:m, m:].T
        hessian[m:, m:] = W[:, h:, h:].sum(axis=0)
        return hessian

    def rows(self, theta: Array, G: Array) -> Array:
        each = (G[:, : self.h, None] * self.X[:, None, :]).reshape(self.n, self.h * self.p)
        return np.hstack([each, G[:, self.h :]]) if self.h < self.q else each

    def quadratic(self, theta: Array, V: Array) -> Array:
        q, h, p, m = self.q, self.h, self.p, self.h * self.p
        if q == 1:
            return np.asarray(np.einsum("np,np->n", self.X @ V, self.X)[:, None, None])
        own = V[:m, :m].reshape(h, p, m).transpose(1, 0, 2).reshape(p, -1)
        forms = np.empty((self.n, q, q))
        forms[:, :h, :h] = np.einsum("nabp,np->nab", (self.X @ own).reshape(-1, h, h, p), self.X)
        forms[:, :h, h:] = np.einsum("np,apb->nab", self.X, V[:m, m:].reshape(h, p, q - h))
        forms[:, h:, :h] = forms[:, :h, h:].transpose(0, 2, 1)
        forms[:, h:, h:] = V[m:, m:]
        return forms


@record
class Parallel(Predictors):
    """Slopes beta and thresholds alpha, ``eta_a = alpha_a - x'beta``.

    The parameters are beta, alpha_1 and log(alpha_a - alpha_(a-1)), which may have any values.
    """

    @property
    def size(self) -> int:
        return self.p + self.q

    def stretch(self, theta: Array) -> tuple[float, Array]:
        slope = np.zeros(self.size)
        slope[self.p + 1 :] = 1.0
        return float(theta[self.p + 1 :].sum()), slope

    def _growth(self, theta: Array) -> Array:
        """Derivatives of alpha, (q, q)."""
        # larger ones are far beyond all probabilities, and infinite ones have no product with zero
        each = np.append(1.0, np.exp(np.minimum(theta[self.p + 1 :], 300.0)))
        return np.asarray(np.tri(self.q) * each)

    def eta(self, theta: Array) -> Array:
        linear = theta[..., : self.p] @ self.X.T
        if self.offset is not None:
            linear = linear + self.offset
        with np.errstate(over="ignore"):
            steps = np.exp(theta[..., self.p + 1 :])
        cuts = np.concatenate([theta[..., [self.p]], steps], axis=-1).cumsum(axis=-1)
        return np.asarray(cuts[..., None, :] - linear[..., :, None])

    def adjoint(self, theta: Array, G: Array) -> Array:
        slopes = -(G.sum(axis=-1) @ self.X)
        above = G.sum(axis=-2)[..., ::-1].cumsum(axis=-1)[..., ::-1]  # a step raises cuts above
        above[..., 1:] *= np.exp(np.minimum(theta[..., self.p + 1 :], 300.0))
        return np.concatenate([slopes, above], axis=-1)

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        p, growth = self.p, self._growth(theta)
        hessian = np.empty((self.size, self.size))
        beside = W.sum(axis=2)
        hessian[:p, :p] = (self.X * beside.sum(axis=1)[:, None]).T @ self.X
        hessian[:p, p:] = -(self.X.T @ beside) @ growth
        hessian[p:, :p] = hessian[:p, p:].T
        hessian[p:, p:] = growth.T @ W.sum(axis=0) @ growth
        bend = G.sum(axis=0) @ growth  # each increment is an exponential
        at = np.arange(p + 1, self.size)
        hessian[at, at] += bend[1:]
        return hessian

    def rows(self, theta: Array, G: Array) -> Array:
        return np.hstack([-G.sum(axis=1)[:, None] * self.X, G @ self._growth(theta)])

    def quadratic(self, theta: Array, V: Array) -> Array:
        p, growth = self.p, self._growth(theta)
        slopes = np.einsum("np,np->n", self.X @ V[:p, :p], self.X)
        cross = -(self.X @ V[:p, p:]) @ growth.T
        return np.asarray(
            slopes[:, None, None]
            + cross[:, :, None]
            + cross[:, None, :]
            + growth @ V[p:, p:] @ growth.T
        )


class Intercepts(Separate):
    """Half of the predictors have coefficients; the others are their standard deviations."""

    @property
    def h(self) -> int:
        return self.q // 2

    @property
    def fixed(self) -> Separate:
        """The predictors with coefficients: those of the group of intercept zero."""
        return Separate(self.X, self.h, self.offset)


class Scaled(Intercepts):
    """Slopes of the mean of a number, and the logarithm of its standard deviation."""


_PREDICTORS: dict[type[Outcome], type[Predictors]] = {
    Ordered: Parallel,
    Normal: Scaled,
    MixedBinary: Intercepts,
    MixedMultinomial: Intercepts,
}


def predictors_of(outcome: Outcome, X: Array, offset: Array | None = None) -> Predictors:
    """The linear predictors that an outcome has."""
    return _PREDICTORS.get(type(outcome), Separate)(X, outcome.q, offset)
