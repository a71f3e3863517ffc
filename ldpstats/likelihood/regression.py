"""The likelihood of a regression in which answers are privatised.

Respondent i has private predictors in one of C configurations (one, if none are private), with
probability rho_c(z_i; gamma), and reports on them of likelihood B_ic. With f_ic the probability or
density of what is seen of her outcome, she adds ``w_i log m_i``, ``m_i = sum_c B_ic rho_ic f_ic``.
Of a categorical outcome is seen a report with likelihood A[y] = P(report | true = y), (n, k), so
that ``f = sum_y A[y] pi_y(eta)``; of a number, the number itself. The linear predictors eta are
functions of the parameters: those of each predictor in turn ("separate"), common slopes and
thresholds ("parallel"), or slopes and the logarithm of a standard deviation ("scaled").

A report of law ``P(r) = sum_y pi_y(eta) Q[y, r]`` has the information ``sum_r d_r d_r' / P(r)`` on
the linear predictors, d_r the derivative of P(r). Half the logarithm of its determinant is a
penalty: where a maximum of the likelihood is at infinity the determinant vanishes, so that the
penalised maximum is finite (Firth 1993; Heinze and Schemper 2002, for answers without noise).

With phi_ic the unbiased indicator that respondent i is in configuration c of the private
predictors, and a_iy that her outcome is y, the corrected log-likelihood is ``sum_i w_i sum_c phi_ic
sum_y a_iy log pi_y(eta_ic)``. Given the true answers its mean is their log-likelihood, whatever the
law of the private predictors. As indicators may be negative it need be neither concave nor bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.likelihood.joint import distinct_reports, each_once
from ldpstats.reports.single import Reports

__all__ = [
    "LINKS",
    "Binary",
    "Categorical",
    "CorrectedLikelihood",
    "ExpectedInformation",
    "Multinomial",
    "Normal",
    "Ordered",
    "Outcome",
    "Parallel",
    "Poisson",
    "Predictors",
    "RegressionLikelihood",
    "ReportLaw",
    "Scaled",
    "Seen",
    "Separate",
    "alike",
    "crossed",
    "likelihoods",
    "predictors_of",
]


Array = npt.NDArray[Any]

_BLOCK = 1 << 20  # numbers of the largest array that is made at a time: it stays in the cache


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of categories: a `table` of the likelihoods of distinct reports.

    The table is (u, k), or (c, u, k) of c channels; `at`, (n,), is the report of each row.
    """

    table: Array
    at: npt.NDArray[np.int64]

    def __getitem__(self, rows: Any) -> Array:
        """Likelihoods of some rows, (., k) or (c, ., k)."""
        return np.asarray(self.table[..., self.at[rows], :])

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class RegressionLikelihood:
    """Log-likelihood of parameters theta: those of the outcome, then those of the predictors.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors
        Those of the outcome in each configuration of the private predictors.
    seen : Seen, or array of shape (n,)
        What is seen of a categorical outcome, or the numbers.
    weights : array, shape (n,)
    B : Seen, optional
        Likelihoods of the reports on the private predictors, over the C configurations.
    marginal : Predictors, optional
        Linear predictors of the configurations, C - 1 of them, if there are several.
    constant : float
        Added to the logarithm.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    seen: Any
    weights: Array
    B: Seen | None = None
    marginal: Predictors | None = None
    constant: float = 0.0

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
        return self.n_outcome + (0 if self.marginal is None else self.marginal.size)

    @cached_property
    def _configurations(self) -> Multinomial:
        return Multinomial(len(self.designs))

    def take(self, rows: Any, weights: Array | None = None) -> RegressionLikelihood:
        """The likelihood of some rows, without the constant."""
        seen = self.seen
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

    def blocks(self, step: int | None = None) -> Iterator[RegressionLikelihood]:
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
            rows = part.row_values(theta)
            there = part.weights != 0.0
            total += float(part.weights[there] @ rows[there])
        return total if not np.isnan(total) else -np.inf

    def row_values(self, theta: Array) -> Array:
        """log m of each row, shape (n,)."""
        if self.marginal is None:
            return self.outcome.logarithm(self.designs[0].eta(theta), self.seen[:])
        joint, top = self._joint(theta)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(joint.sum(axis=1)) + top)

    def law(self, theta: Array) -> Array:
        """P(configuration | public covariates), shape (n, C)."""
        if self.marginal is None:
            return np.ones((self.n, 1))
        gamma = theta[self.n_outcome :]
        return self._configurations.mean(self.marginal.eta(gamma))

    def _joint(self, theta: Array, logarithms: Array | None = None) -> tuple[Array, Array]:
        """B rho f, (n, C), from log f, with the largest f of each row taken out; its logarithm."""
        assert self.B is not None
        if logarithms is None:
            beta, seen, logarithm = theta[: self.n_outcome], self.seen[:], self.outcome.logarithm
            each = [logarithm(design.eta(beta), seen) for design in self.designs]
            logarithms = np.column_stack(each)
        top = np.nan_to_num(logarithms.max(axis=1), neginf=0.0)
        return self.B[:] * self.law(theta) * np.exp(logarithms - top[:, None]), top

    def posterior(self, theta: Array) -> Array:
        """P(configuration | all that is seen), shape (n, C)."""
        if self.marginal is None:
            return np.ones((self.n, 1))
        joint, _ = self._joint(theta)
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    # -- derivatives ---------------------------------------------------------------------------

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (size,), and Hessian, (size, size)."""
        value, score = self.constant, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        for part in self.blocks():
            if part.marginal is not None:
                logarithm, slope, bend = part._mixed(theta)
                value, score, hessian = value + logarithm, score + slope, hessian + bend
                continue
            design, w = part.designs[0], part.weights
            logarithms, first, second = part.outcome.terms(design.eta(theta), part.seen[:])
            first = first * w[:, None]
            value += float(w @ logarithms)
            score += design.adjoint(theta, first)
            hessian += design.hessian(theta, second * w[:, None, None], first)
        return value, score, hessian

    def _mixed(self, theta: Array) -> tuple[float, Array, Array]:
        """`evaluate` over the configurations of private predictors, without the constant."""
        marginal, w, m = self.marginal, self.weights, self.n_outcome
        assert marginal is not None
        beta, gamma = theta[:m], theta[m:]
        terms = self._all_terms(beta)
        joint, top = self._joint(theta, np.column_stack([value for value, _, _ in terms]))
        total = joint.sum(axis=1)
        posterior, law = joint / total[:, None], self.law(theta)
        weighted = posterior * w[:, None]
        score, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        mean = np.zeros((self.n, m))
        cross = np.zeros((m, marginal.size))
        for c, (design, (_, slope, bend)) in enumerate(zip(self.designs, terms, strict=True)):
            wc = weighted[:, c]
            first = slope * wc[:, None]
            score[:m] += design.adjoint(beta, first)
            hessian[:m, :m] += design.hessian(beta, bend * wc[:, None, None], first)
            rows = design.rows(beta, slope)
            hessian[:m, :m] += (rows * wc[:, None]).T @ rows
            mean += rows * posterior[:, c : c + 1]
            if c:
                away = np.zeros((self.n, len(self.designs) - 1))
                away[:, c - 1] = wc
                cross += rows.T @ marginal.rows(gamma, away)
        first = posterior[:, 1:] - law[:, 1:]
        second = self._configurations.spread(posterior) - self._configurations.spread(law)
        score[m:] = marginal.adjoint(gamma, first * w[:, None])
        hessian[m:, m:] = marginal.hessian(gamma, second * w[:, None, None], first)
        hessian[:m, :m] -= (mean * w[:, None]).T @ mean
        cross -= mean.T @ marginal.rows(gamma, posterior[:, 1:] * w[:, None])
        hessian[:m, m:], hessian[m:, :m] = cross, cross.T
        return float(w @ (np.log(total) + top)), score, hessian

    def _all_terms(self, beta: Array) -> list[Terms]:
        seen = self.seen[:]
        return [self.outcome.terms(design.eta(beta), seen) for design in self.designs]

    def score_obs(self, theta: Array) -> Array:
        """Score of each row, without its weight, shape (n, size)."""
        beta, gamma = theta[: self.n_outcome], theta[self.n_outcome :]
        scores = []
        for part in self.blocks():
            terms = part._all_terms(beta)
            if part.marginal is None:
                scores.append(part.designs[0].rows(beta, terms[0][1]))
                continue
            joint, _ = part._joint(theta, np.column_stack([value for value, _, _ in terms]))
            posterior = joint / joint.sum(axis=1, keepdims=True)
            outcome = sum(
                design.rows(beta, slope * posterior[:, c : c + 1])
                for c, (design, (_, slope, _)) in enumerate(zip(part.designs, terms, strict=True))
            )
            first = posterior[:, 1:] - part.law(theta)[:, 1:]
            scores.append(np.hstack([outcome, part.marginal.rows(gamma, first)]))
        return np.vstack(scores)


# -- Laws of the true outcome given its linear predictors, and what is seen of it -----------------


_CLEAR = 1e-4  # likelihood of an answer, relative to the other's, below which a report tells it


Terms = tuple[Array, Array, Array]  # log f of n rows, first (n, q), and second derivatives by eta


class Outcome(ABC):
    """A law with q linear predictors eta, shape (n, q)."""

    q: ClassVar[int]

    @abstractmethod
    def logarithm(self, eta: Array, seen: Array) -> Array:
        """log f, shape (n,)."""

    @abstractmethod
    def terms(self, eta: Array, seen: Array) -> Terms:
        """log f and its derivatives, (n,), (n, q) and (n, q, q)."""

    @abstractmethod
    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        """log f and its first derivatives, (..., q) -> (...) and (..., q); `seen` is broadcast."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Probabilities of the categories, shape (n, k), or the mean of a number, (n, 1)."""

    @abstractmethod
    def jacobian(self, eta: Array) -> Array:
        """Derivatives of `mean`, shape (n, k, q)."""

    @abstractmethod
    def curvature(self, eta: Array) -> Array:
        """Second derivatives of `mean`, shape (n, k, q, q)."""

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        """`mean` and `jacobian` together."""
        return self.mean(eta), self.jacobian(eta)

    def bent(self, eta: Array, M: Array) -> Array:
        """Sum over a and y of M[a, y] and `curvature` [y, a, c]; M (n, q, k) -> (n, q)."""
        return np.asarray(np.einsum("nak,nkac->nc", M, self.curvature(eta)))


class Categorical(Outcome):
    """A law of one of k categories."""

    k: int

    def logarithm(self, eta: Array, seen: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.einsum("nk,nk->n", seen, self.mean(eta))))


class _Simple(Categorical):
    """One whose probabilities have simpler derivatives than their logarithms."""

    @abstractmethod
    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        """f, its first derivatives and its second, (n,), (n, q), (n, q, q)."""

    def terms(self, eta: Array, seen: Array) -> Terms:
        f, d, h = self.mixed(eta, seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = d / f[:, None]
            second = h / f[:, None, None] - first[:, :, None] * first[:, None, :]
            return np.log(f), first, second


def _logit(eta: Array) -> tuple[Array, Array, Array, Array]:
    from scipy.special import expit

    success, failure = expit(eta), expit(-eta)
    slope = success * failure
    return failure, success, slope, slope * (failure - success)


def _probit(eta: Array) -> tuple[Array, Array, Array, Array]:
    from scipy.special import ndtr

    slope = np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi)
    return ndtr(-eta), ndtr(eta), slope, -eta * slope


def _cloglog(eta: Array) -> tuple[Array, Array, Array, Array]:
    rate = np.exp(np.minimum(eta, 700.0))  # beyond, the probability of failure is zero anyway
    failure = np.exp(-rate)
    slope = rate * failure
    return failure, -np.expm1(-rate), slope, slope * (1.0 - rate)


LINKS = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}


def _logarithmic(f: Array, d: Array) -> tuple[Array, Array]:
    """log f and its derivatives, from those of f."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(f), d / f[..., None]


@dataclass(frozen=True)
class Binary(_Simple):
    """Two categories; the probability of the second, success, is `link` of one predictor."""

    link: str = "logit"
    k: int = field(default=2, init=False)

    q: ClassVar[int] = 1

    def mean(self, eta: Array) -> Array:
        failure, success, _, _ = LINKS[self.link](eta[:, 0])
        return np.column_stack([failure, success])

    def jacobian(self, eta: Array) -> Array:
        slope = LINKS[self.link](eta[:, 0])[2]
        return np.column_stack([-slope, slope])[:, :, None]

    def curvature(self, eta: Array) -> Array:
        bend = LINKS[self.link](eta[:, 0])[3]
        return np.column_stack([-bend, bend])[:, :, None, None]

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        failure, success, slope, _ = LINKS[self.link](eta[:, 0])
        mean = np.column_stack([failure, success])
        return mean, np.column_stack([-slope, slope])[:, :, None]

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        gain = seen[..., 1] - seen[..., 0]
        if self.link == "logit" and seen.min() > _CLEAR * seen.max():
            from scipy.special import expit

            # no report tells the answer for sure: one tail has all digits that matter
            success = expit(eta[..., 0])
            f = seen[..., 0] + gain * success
            return _logarithmic(f, (gain * success * (1.0 - success))[..., None])
        failure, success, slope, _ = LINKS[self.link](eta[..., 0])
        f = seen[..., 0] * failure + seen[..., 1] * success
        return _logarithmic(f, (gain * slope)[..., None])

    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        failure, success, slope, bend = LINKS[self.link](eta[:, 0])
        gain = seen[:, 1] - seen[:, 0]
        f = seen[:, 0] * failure + seen[:, 1] * success
        return f, (gain * slope)[:, None], (gain * bend)[:, None, None]


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
        return np.asarray(whole)

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        p = self.mean(eta)
        joint = seen * p
        value, posterior = _logarithmic(joint.sum(axis=-1), joint)
        return value, posterior[..., 1:] - p[..., 1:]

    def jacobian(self, eta: Array) -> Array:
        return self.mean_jacobian(eta)[1]

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        p = self.mean(eta)
        jacobian = -p[:, :, None] * p[:, None, 1:]
        jacobian[:, range(1, self.k), range(self.q)] += p[:, 1:]
        return p, jacobian

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

    def curvature(self, eta: Array) -> Array:
        p = self.mean(eta)
        own = np.eye(self.k)[:, 1:] - p[:, None, 1:]  # (n, k, q)
        spread = self.spread(p)
        return p[:, :, None, None] * (own[..., :, None] * own[..., None, :] - spread[:, None])

    def spread(self, p: Array) -> Array:
        """Covariance of the indicators of all categories but the reference, (n, q, q)."""
        covariance = -p[:, 1:, None] * p[:, None, 1:]
        covariance[:, range(self.q), range(self.q)] += p[:, 1:]
        return covariance

    def terms(self, eta: Array, seen: Array) -> Terms:
        p = self.mean(eta)
        joint = seen * p
        f = joint.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = joint / f[:, None]
            # differences of the moments of posterior and prior
            second = self.spread(posterior) - self.spread(p)
            return np.log(f), posterior[:, 1:] - p[:, 1:], second


@dataclass(frozen=True)
class Ordered(_Simple):
    """k ordered categories, ``P(y <= a) = F(eta_a)`` with F logistic and increasing eta."""

    k: int

    @property
    def q(self) -> int:  # type: ignore[override]
        return self.k - 1

    def mean(self, eta: Array) -> Array:
        from scipy.special import expit

        below, above = expit(eta), expit(-eta)
        mean = np.empty((*eta.shape[:-1], self.k))
        mean[..., 0], mean[..., -1] = below[..., 0], above[..., -1]
        # the smaller tail keeps the digits of a difference
        up, down = below[..., 1:] - below[..., :-1], above[..., :-1] - above[..., 1:]
        mean[..., 1:-1] = np.where(eta[..., 1:] < 0.0, up, down)
        return mean

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        gain = seen[..., :-1] - seen[..., 1:]
        f = (seen * self.mean(eta)).sum(axis=-1)
        return _logarithmic(f, gain * _logit(eta)[2])

    def jacobian(self, eta: Array) -> Array:
        return self._steps(_logit(eta)[2])

    def curvature(self, eta: Array) -> Array:
        curvature = np.zeros((len(eta), self.k, self.q, self.q))
        curvature[..., range(self.q), range(self.q)] = self._steps(_logit(eta)[3])
        return curvature

    def _steps(self, slope: Array) -> Array:
        """Derivatives of the k probabilities where those of F(eta) are `slope`, (n, k, q)."""
        steps = np.zeros((len(slope), self.k, self.q))
        steps[:, range(self.q), range(self.q)] = slope
        steps[:, range(1, self.k), range(self.q)] = -slope
        return steps

    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        _, _, slope, bend = _logit(eta)
        gain = seen[:, :-1] - seen[:, 1:]
        second = np.zeros((len(eta), self.q, self.q))
        second[:, range(self.q), range(self.q)] = gain * bend
        return np.einsum("nk,nk->n", seen, self.mean(eta)), gain * slope, second


@dataclass(frozen=True)
class Normal(Outcome):
    """A number with a normal law: its mean, and the logarithm of its standard deviation."""

    q: ClassVar[int] = 2

    def logarithm(self, eta: Array, seen: Array) -> Array:
        return self.slopes(eta, seen)[0]

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        each = np.exp(-eta[..., 1])
        z = (seen - eta[..., 0]) * each
        value = -0.5 * z**2 - eta[..., 1] - 0.5 * np.log(2.0 * np.pi)
        return value, np.stack([z * each, z**2 - 1.0], axis=-1)

    def terms(self, eta: Array, seen: Array) -> Terms:
        precision = np.exp(-2.0 * eta[:, 1])
        off = seen - eta[:, 0]
        square = off**2 * precision
        second = np.empty((len(eta), 2, 2))
        second[:, 0, 0] = -precision
        second[:, 0, 1] = second[:, 1, 0] = -2.0 * off * precision
        second[:, 1, 1] = -2.0 * square
        first = np.column_stack([off * precision, square - 1.0])
        return self.logarithm(eta, seen), first, second

    def mean(self, eta: Array) -> Array:
        return eta[:, :1]

    def jacobian(self, eta: Array) -> Array:
        return np.broadcast_to([[1.0, 0.0]], (len(eta), 1, 2))

    def curvature(self, eta: Array) -> Array:
        return np.zeros((len(eta), 1, 2, 2))


@dataclass(frozen=True)
class Poisson(Outcome):
    """A count whose mean is exp(eta)."""

    q: ClassVar[int] = 1

    def logarithm(self, eta: Array, seen: Array) -> Array:
        from scipy.special import gammaln

        with np.errstate(over="ignore"):
            return np.asarray(seen * eta[..., 0] - np.exp(eta[..., 0]) - gammaln(seen + 1.0))

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            first = seen[..., None] - np.exp(eta)
        return self.logarithm(eta, seen), first

    def terms(self, eta: Array, seen: Array) -> Terms:
        rate = np.exp(eta)
        return self.logarithm(eta, seen), seen[:, None] - rate, -rate[:, :, None]

    def mean(self, eta: Array) -> Array:
        return np.exp(eta)

    def jacobian(self, eta: Array) -> Array:
        return np.exp(eta)[:, :, None]

    def curvature(self, eta: Array) -> Array:
        return np.exp(eta)[:, :, None, None]


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


def crossed(each: Sequence[Seen]) -> Seen:
    """Likelihoods over the combinations of several variables' categories, the last one fastest."""
    joint = each[0]
    for other in each[1:]:
        pairs, at = np.unique(joint.at * len(other.table) + other.at, return_inverse=True)
        first, second = np.divmod(pairs, len(other.table))
        product = joint.table[first][:, :, None] * other.table[second][:, None, :]
        joint = Seen(product.reshape(len(pairs), -1), at.astype(np.int64))
    return joint


# -- Rows of a regression that are alike, made one ------------------------------------------------


Codes = npt.NDArray[np.int64]

_LOOKED_AT = 4096  # rows that show whether many are alike
_FEW = 0.7  # share of distinct ones among them, above which rows are left as they are


def alike(columns: Sequence[Array]) -> tuple[Codes, Codes] | None:
    """The first of each kind of rows, (u,), and the kind of every row; None if few are alike."""
    n = len(columns[0])
    some = np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.int64)
    sample = [np.asarray(column)[some] for column in columns]
    if _kinds(sample).max(initial=0) + 1 > _FEW * some.size and some.size > 1:
        return None
    place = _kinds(columns)
    u = int(place.max()) + 1
    first = np.full(u, n, dtype=np.int64)
    first[place[::-1]] = np.arange(n - 1, -1, -1)
    return first, place


def _kinds(columns: Sequence[Array]) -> Codes:
    """The number of the kind of each row, (n,)."""
    kind = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        for one in np.asarray(column).reshape(len(kind), -1).T:
            code, values = pd.factorize(one)
            if len(values) > 1:
                kind = pd.factorize(kind * len(values) + code)[0].astype(np.int64)
    return kind


# -- Expected information of regressions on reports, and the penalty of half its log determinant --


_TINY = 1e-300  # probabilities below are of reports that do not occur


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """Channels, (k, l) each, of the reports on a categorical outcome, and the one of each row."""

    channels: tuple[Array, ...]
    at: Codes

    def take(self, rows: Any) -> ReportLaw:
        """The law of some rows."""
        return replace(self, at=self.at[rows])


@dataclass(frozen=True, eq=False)
class ExpectedInformation:
    """Expected information of the outcome's parameters.

    Parameters
    ----------
    outcome : Outcome
    designs : tuple of Predictors
        One, or one for each configuration of the private predictors.
    weights : array, shape (n, C)
        Weight of each row and configuration.
    law : ReportLaw, or None
        How categories are reported; None for numbers.
    """

    outcome: Outcome
    designs: tuple[Predictors, ...]
    weights: Array
    law: ReportLaw | None = None

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.designs[0].size

    def _parts(self) -> Iterator[tuple[Predictors, Array, Array | None]]:
        """Rows of one design and channel that fit in the cache, with their weights."""
        q, n = self.outcome.q, self.designs[0].n
        kinds: list[tuple[Array | None, Any]] = [(None, slice(0, n))]
        longest = 2
        if self.law is not None:
            longest = max(Q.shape[1] for Q in self.law.channels)
            kinds = [(self.law.channels[0], slice(0, n))]
            if len(self.law.channels) > 1:
                kinds = [
                    (Q, np.flatnonzero(self.law.at == g)) for g, Q in enumerate(self.law.channels)
                ]
        step = max(256, _BLOCK // (longest * q * q + self.size))
        for c, design in enumerate(self.designs):
            for Q, rows in kinds:
                size = n if isinstance(rows, slice) else len(rows)
                for start in range(0, size, step):
                    some = slice(start, start + step)
                    some = some if isinstance(rows, slice) else rows[some]
                    yield design.take(some), self.weights[some, c], Q

    def _row(self, eta: Array, Q: Array | None) -> tuple[Array, tuple[Array, Array] | None]:
        """Information of each row on its predictors, (n, q, q); P(r), (n, l), and d, (n, q, l)."""
        if Q is not None:
            mean, jacobian = self.outcome.mean_jacobian(eta)
            P, d = np.maximum(mean @ Q, _TINY), jacobian.transpose(0, 2, 1) @ Q
            if d.shape[1] == 1:
                return (d[:, 0] ** 2 / P).sum(axis=1)[:, None, None], (P, d)
            return (d / P[:, None, :]) @ d.transpose(0, 2, 1), (P, d)
        information = np.zeros((len(eta), self.outcome.q, self.outcome.q))
        if isinstance(self.outcome, Poisson):
            information[:, 0, 0] = np.exp(eta[:, 0])
        if isinstance(self.outcome, Normal):
            information[:, 0, 0] = np.exp(-2.0 * eta[:, 1])
            information[:, 1, 1] = 2.0
        return information, None

    def matrix(self, theta: Array) -> Array:
        """The information, shape (size, size)."""
        total = np.zeros((self.size, self.size))
        for design, w, Q in self._parts():
            eta = design.eta(theta)
            J = self._row(eta, Q)[0] * w[:, None, None]
            total += design.hessian(theta, J, np.zeros(eta.shape))
        return total

    def penalty(self, theta: Array) -> float:
        """Half the log determinant; minus infinity where it is singular."""
        matrix = self.matrix(theta)
        if not np.isfinite(matrix).all():
            return -np.inf
        sign, size = np.linalg.slogdet(matrix)
        return 0.5 * float(size) if sign > 0 else -np.inf

    def penalty_slope(self, theta: Array) -> tuple[float, Array]:
        """`penalty` and its derivatives, shape (size,)."""
        matrix, kept = np.zeros((self.size, self.size)), []
        for design, w, Q in self._parts():
            eta = design.eta(theta)
            J, law = self._row(eta, Q)
            matrix += design.hessian(theta, J * w[:, None, None], np.zeros(eta.shape))
            kept.append((design, w, eta, Q, law))
        sign, size = np.linalg.slogdet(matrix) if np.isfinite(matrix).all() else (0.0, 0.0)
        if sign <= 0 or not np.isfinite(size):
            return -np.inf, np.full(self.size, np.nan)
        inverse = np.linalg.inv(matrix)
        slope = self.designs[0].stretch(theta)[1]
        for design, w, eta, Q, law in kept:
            S = design.quadratic(theta, inverse)
            by_eta = np.zeros(eta.shape)  # of tr(S J), S held fixed
            if law is not None and Q is not None:
                by_eta = self._row_slope(eta, Q, *law, S)
            elif isinstance(self.outcome, Poisson):
                by_eta[:, 0] = np.exp(eta[:, 0]) * S[:, 0, 0]
            elif isinstance(self.outcome, Normal):
                by_eta[:, 1] = -2.0 * np.exp(-2.0 * eta[:, 1]) * S[:, 0, 0]
            slope = slope + 0.5 * design.adjoint(theta, by_eta * w[:, None])
        return 0.5 * float(size), slope

    def _row_slope(self, eta: Array, Q: Array, P: Array, d: Array, S: Array) -> Array:
        """Derivative by the predictors of ``tr(S J)`` of reports, S held fixed; (n, q)."""
        if d.shape[1] == 1:
            share = d[:, 0] / P
            bend = self.outcome.curvature(eta)[:, :, 0, 0]
            twice = 2.0 * ((share @ Q.T) * bend).sum(axis=1)
            return np.asarray(S[:, 0] * (twice - (share**2 * d[:, 0]).sum(axis=1))[:, None])
        along = (S @ d) / P[:, None, :]  # (n, q, l)
        squares = (along * d).sum(axis=1) / P
        twice = 2.0 * self.outcome.bent(eta, along @ Q.T)
        return np.asarray(twice - (d @ squares[:, :, None])[:, :, 0])


# -- The corrected log-likelihood: unbiased for the one that true answers would give --------------


_LEAST = 0.02  # share of a configuration in the smoothed indicators, relative to an equal one


@dataclass(frozen=True, eq=False)
class CorrectedLikelihood:
    """The corrected log-likelihood of the parameters of an outcome.

    `designs` are those of the outcome in each of C configurations, `phi`, (n, C), unbiased
    indicators of these; `response` are numbers, (n,), or unbiased indicators of categories, (n, k).
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
        return a.ndim == 1 or bool(np.all((a == 0.0) | (a == 1.0)) and np.all(a.sum(axis=1) == 1.0))

    def smoothed(self, t: float) -> CorrectedLikelihood:
        """With indicators ``mean + t (phi - mean)``; t = 0 takes all news.

        The means of the indicators, cut to be positive, take the place of those that are not.
        """
        a = self.response
        response = a if a.ndim == 1 or self.is_seen else self._toward_mean(a, t)
        return replace(self, phi=self._toward_mean(self.phi, t), response=response)

    def _toward_mean(self, phi: Array, t: float) -> Array:
        mean = np.maximum(self.weights @ phi / self.weights.sum(), _LEAST / phi.shape[1])
        return np.asarray((1.0 - t) * mean / mean.sum() + t * phi)

    def value(self, theta: Array) -> float:
        """The corrected log-likelihood; minus infinity where it is not finite."""
        total = 0.0
        with np.errstate(all="ignore"):
            for c, design in enumerate(self.designs):
                eta = design.eta(theta)
                if self.is_seen:
                    rows = self.outcome.logarithm(eta, self.response)
                else:
                    rows = np.einsum("nk,nk->n", self.response, np.log(self.outcome.mean(eta)))
                total += float((self.weights * self.phi[:, c]) @ rows)
        return total if np.isfinite(total) else -np.inf

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, first and second derivatives."""
        total, score = 0.0, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        with np.errstate(all="ignore"):
            for c, design in enumerate(self.designs):
                value, slope, bend = self._terms(design.eta(theta))
                w = self.weights * self.phi[:, c]
                first = slope * w[:, None]
                total += float(w @ value)
                score += design.adjoint(theta, first)
                hessian += design.hessian(theta, bend * w[:, None, None], first)
        return total if np.isfinite(total) else -np.inf, score, hessian

    def score_rows(self, theta: Array) -> Array:
        """The corrected score of each respondent, without her weight; shape (n, size)."""
        scores = np.zeros((len(self.weights), self.size))
        for c, design in enumerate(self.designs):
            slope = self._terms(design.eta(theta))[1]
            scores += design.rows(theta, slope * self.phi[:, [c]])
        return scores

    def _terms(self, eta: Array) -> Terms:
        """Terms of the outcome, linear in the indicators of its categories."""
        outcome, a = self.outcome, self.response
        if self.is_seen:
            return outcome.terms(eta, a)
        assert isinstance(outcome, Categorical)
        n, q = eta.shape
        value, first, second = np.zeros(n), np.zeros((n, q)), np.zeros((n, q, q))
        for y in range(outcome.k):
            certain = np.zeros((n, outcome.k))
            certain[:, y] = 1.0
            logarithm, slope, bend = outcome.terms(eta, certain)
            value += a[:, y] * logarithm
            first += a[:, [y]] * slope
            second += a[:, y, None, None] * bend
        return value, first, second

    def spread(self, theta: Array) -> float:
        """Root of the mean square of the linear predictors, about their weighted means."""
        total = float(self.weights.sum()) * len(self.designs)
        means = squares = np.zeros(self.outcome.q)
        for design in self.designs:
            eta = design.eta(theta)
            means = means + self.weights @ eta / total
            squares = squares + self.weights @ eta**2 / total
        return float(np.sqrt(max(np.max(squares - np.square(means)), 0.0)))

    def moved(self, theta: Array, other: Array) -> float:
        """Root mean square of the change of the linear predictors between two parameters."""
        total, size = float(self.weights.sum()) * len(self.designs), np.zeros(self.outcome.q)
        for design in self.designs:
            change = design.eta(other) - design.eta(theta)
            size = size + self.weights @ change**2 / total
        return float(np.sqrt(np.max(size)))


# -- Linear predictors of n respondents as functions of the parameters ----------------------------


@dataclass(frozen=True, eq=False)
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
        """The predictors, shape (n, q)."""

    @abstractmethod
    def adjoint(self, theta: Array, G: Array) -> Array:
        """Sum over rows of derivative times G, shape (n, q) -> (size,)."""

    @abstractmethod
    def etas(self, thetas: Array) -> Array:
        """The predictors at c parameter vectors, shape (c, size) -> (c, n, q)."""

    @abstractmethod
    def adjoints(self, thetas: Array, G: Array) -> Array:
        """`adjoint` at c parameter vectors, G (c, n, q) -> (c, size)."""

    @abstractmethod
    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        """Second derivative of what has derivatives G, (n, q), and W, (n, q, q), by eta."""

    @abstractmethod
    def rows(self, theta: Array, G: Array) -> Array:
        """Derivative of each row's predictors times G, shape (n, size)."""

    @abstractmethod
    def quadratic(self, theta: Array, V: Array) -> Array:
        """``D_i V D_i'`` for the derivative D_i of each row, (size, size) -> (n, q, q)."""


@dataclass(frozen=True, eq=False)
class Separate(Predictors):
    """Coefficients of their own for each predictor, one predictor after the other."""

    @property
    def size(self) -> int:
        return self.q * self.p

    def eta(self, theta: Array) -> Array:
        linear = self.X @ theta.reshape(self.q, self.p).T
        return linear if self.offset is None else linear + self.offset[:, None]

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.asarray((G.T @ self.X).ravel())

    def etas(self, thetas: Array) -> Array:
        etas = (thetas.reshape(-1, self.p) @ self.X.T).reshape(len(thetas), self.q, self.n)
        etas = etas.transpose(0, 2, 1)
        return etas if self.offset is None else etas + self.offset[:, None]

    def adjoints(self, thetas: Array, G: Array) -> Array:
        each = G.transpose(0, 2, 1).reshape(-1, self.n) @ self.X
        return np.asarray(each.reshape(len(thetas), self.size))

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        if self.q == 1:
            return np.asarray((self.X * W[:, 0]).T @ self.X)
        p, hessian = self.p, np.empty((self.size, self.size))
        for a in range(self.q):
            # the blocks from the diagonal on
            weighted = (W[:, a, a:, None] * self.X[:, None, :]).reshape(self.n, -1)
            hessian[a * p : (a + 1) * p, a * p :] = self.X.T @ weighted
            hessian[a * p :, a * p : (a + 1) * p] = hessian[a * p : (a + 1) * p, a * p :].T
        return hessian

    def rows(self, theta: Array, G: Array) -> Array:
        return np.asarray((G[:, :, None] * self.X[:, None, :]).reshape(self.n, self.size))

    def quadratic(self, theta: Array, V: Array) -> Array:
        q, p = self.q, self.p
        if q == 1:
            return np.asarray(np.einsum("np,np->n", self.X @ V, self.X)[:, None, None])
        product = (self.X @ V.reshape(q, p, q * p).transpose(1, 0, 2).reshape(p, -1)).reshape(
            self.n, q, q, p
        )
        return np.asarray(np.einsum("nabp,np->nab", product, self.X))


@dataclass(frozen=True, eq=False)
class Parallel(Predictors):
    """Slopes beta and thresholds alpha, ``eta_a = alpha_a - x'beta``.

    The parameters are beta, alpha_1 and log(alpha_a - alpha_(a-1)), which may have any values.
    """

    @property
    def size(self) -> int:
        return self.p + self.q

    def thresholds(self, theta: Array) -> Array:
        """alpha, shape (q,)."""
        with np.errstate(over="ignore"):
            return np.cumsum(np.append(theta[self.p], np.exp(theta[self.p + 1 :])))

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
        linear = self.X @ theta[: self.p]
        if self.offset is not None:
            linear = linear + self.offset
        return np.asarray(self.thresholds(theta) - linear[:, None])

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.append(-(self.X.T @ G.sum(axis=1)), G.sum(axis=0) @ self._growth(theta))

    def etas(self, thetas: Array) -> Array:
        linear = thetas[:, : self.p] @ self.X.T
        if self.offset is not None:
            linear = linear + self.offset
        with np.errstate(over="ignore"):
            steps = np.exp(thetas[:, self.p + 1 :])
        cuts = np.cumsum(np.column_stack([thetas[:, self.p], steps]), axis=1)
        return np.asarray(cuts[:, None, :] - linear[:, :, None])

    def adjoints(self, thetas: Array, G: Array) -> Array:
        slopes = -(G.sum(axis=2) @ self.X)
        above = G.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]  # a step raises all cuts above
        above[:, 1:] *= np.exp(np.minimum(thetas[:, self.p + 1 :], 300.0))
        return np.hstack([slopes, above])

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


@dataclass(frozen=True, eq=False)
class Scaled(Predictors):
    """Slopes of the first predictor; the second is a parameter itself, the last."""

    @property
    def size(self) -> int:
        return self.p + 1

    def eta(self, theta: Array) -> Array:
        linear = self.X @ theta[:-1]
        if self.offset is not None:
            linear = linear + self.offset
        return np.column_stack([linear, np.full(self.n, theta[-1])])

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.append(self.X.T @ G[:, 0], G[:, 1].sum())

    def etas(self, thetas: Array) -> Array:
        linear = thetas[:, :-1] @ self.X.T
        if self.offset is not None:
            linear = linear + self.offset
        return np.stack(np.broadcast_arrays(linear, thetas[:, -1:]), axis=2)

    def adjoints(self, thetas: Array, G: Array) -> Array:
        return np.column_stack([G[:, :, 0] @ self.X, G[:, :, 1].sum(axis=1)])

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        p, hessian = self.p, np.empty((self.size, self.size))
        hessian[:p, :p] = (self.X * W[:, 0, 0][:, None]).T @ self.X
        hessian[:p, p] = hessian[p, :p] = self.X.T @ W[:, 0, 1]
        hessian[p, p] = W[:, 1, 1].sum()
        return hessian

    def rows(self, theta: Array, G: Array) -> Array:
        return np.hstack([G[:, :1] * self.X, G[:, 1:]])

    def quadratic(self, theta: Array, V: Array) -> Array:
        p, forms = self.p, np.empty((self.n, 2, 2))
        forms[:, 0, 0] = np.einsum("np,np->n", self.X @ V[:p, :p], self.X)
        forms[:, 0, 1] = forms[:, 1, 0] = self.X @ V[:p, p]
        forms[:, 1, 1] = V[p, p]
        return forms


def predictors_of(outcome: Outcome, X: Array, offset: Array | None = None) -> Predictors:
    """The linear predictors that an outcome has."""
    if isinstance(outcome, Ordered):
        return Parallel(X, outcome.q, offset)
    if isinstance(outcome, Normal):
        return Scaled(X, outcome.q, offset)
    return Separate(X, outcome.q, offset)
