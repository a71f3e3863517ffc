"""Around the likelihood of a regression: devices with unknown parameters, many points, starts.

Respondent i of group g makes the report y with probability ``f_i = pi_i(beta) Q_g(theta)[:, y]``;
theta are probabilities, and beta the parameters of the law pi of the true answer. With private
predictors beta are those of their law too, and ``f_i = sum_c B_ic rho_ic(beta) pi_ic(beta)
Q_g(theta)[:, y]`` as in `ldpstats.likelihood.regression`.

Then: values and scores at many parameter vectors at once; the law of linear predictors under which
probabilities are uniform; unbiased indicators of the true category, which estimating equations take
for the answer; where iterations start, and in which units parameters are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array
from ldpstats.likelihood.joint import decode
from ldpstats.likelihood.parametric import PolynomialMatrix, scattered
from ldpstats.likelihood.regression import (
    Binary,
    Categorical,
    Multinomial,
    Normal,
    Ordered,
    Parallel,
    Poisson,
    Predictors,
    RegressionLikelihood,
    Scaled,
    Seen,
)
from ldpstats.reports.single import Reports

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ParametricRegression(RegressionLikelihood):
    """Log-likelihood of x, (p + m,): parameters of the regression, and theta of `matrices`.

    The table of `seen` is not used: ``seen.at`` is each row's report among those of all groups.
    """

    matrices: tuple[PolynomialMatrix, ...] = ()

    @property
    def m(self) -> int:  # type: ignore[override]
        return self.matrices[0].shape[0]

    @cached_property
    def group(self) -> Codes:
        """The group of each row, shape (u,)."""
        ends = np.cumsum([Q.shape[2] for Q in self.matrices])
        return np.asarray(np.searchsorted(ends, self.seen.at, side="right"), dtype=np.int64)

    @cached_property
    def _whole(self) -> PolynomialMatrix:
        """The matrices beside each other, (m, k, reports of all groups)."""
        return PolynomialMatrix.beside(self.matrices)

    def known(self, theta: Array) -> RegressionLikelihood:
        """The likelihood of beta at theta, shape (m,); at (c, m) that of `scores_at` alone."""
        seen = Seen(np.swapaxes(self._whole.at(theta), -1, -2), self.seen.at)
        rest = self.weights, self.B, self.marginal, self.constant
        return RegressionLikelihood(self.outcome, self.designs, seen, *rest)

    def slopes(self, theta: Array) -> Array:
        """Derivatives of P(report | category) by theta, shape (..., m, reports, k)."""
        return np.swapaxes(self._whole.derivatives(theta), -1, -2)

    def value(self, x: Array) -> float:
        """The log-likelihood; minus infinity beyond [0, 1] and where a report is impossible."""
        beta, theta = np.split(x, [-self.m])
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        with np.errstate(all="ignore"):
            return self.known(theta).value(beta)

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (p + m,), and Hessian, (p + m, p + m)."""
        p = x.size - self.m
        beta, theta = x[:p], x[p:]
        slopes = self.slopes(theta)
        bends = np.swapaxes(self._whole.at(theta, 2), -1, -2)
        score, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        value, score[:p], hessian[:p, :p] = self.known(theta).evaluate(beta)
        for part in self.known(theta).blocks():
            law, w, at = _Answers(part, beta), part.weights, part.seen.at
            f = (part.seen[:] * law.h).sum(axis=1)
            own = part.score_obs(beta)
            t = np.column_stack([(slope[at] * law.h).sum(axis=1) / f for slope in slopes])
            score[p:] += w @ t
            hessian[p:, p:] -= (t * w[:, None]).T @ t
            crossed = -(own * w[:, None]).T @ t
            for a, slope in enumerate(slopes):
                crossed[:, a] += law.derivative(slope[at] * (w / f)[:, None], "adjoint")
                hessian[p + a, p:] += [w @ ((d[at] * law.h).sum(axis=1) / f) for d in bends[a]]
            hessian[:p, p:] += crossed
        hessian[p:, :p] = hessian[:p, p:].T
        return value, score, hessian

    def scores_at(self, xs: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and scores, (c, p + m), at several points (c, p + m)."""
        betas, thetas = xs[:, : -self.m], xs[:, -self.m :]
        known = self.known(thetas)
        values, by_beta = known.scores_at(betas)
        by_report = np.zeros((len(xs), *known.seen.table.shape[-2:]))
        for part in known.blocks():
            q, outcome = part.n_outcome, part.outcome
            u = np.ones((len(betas), part.n, 1))
            if part.B is not None:
                u = part.B[:] * part.law(betas)
            h: Any = 0.0  # P(category and reports on predictors), (c, n, k)
            for c, design in enumerate(part.designs):
                h = h + u[:, :, c : c + 1] * outcome.mean(design.eta(betas[:, :q]))
            ratio = h * (part.weights / (part.seen[:] * h).sum(axis=2))[:, :, None]
            which = np.zeros((part.n, by_report.shape[1]))
            which[np.arange(part.n), part.seen.at] = 1.0
            by_report += (ratio.transpose(0, 2, 1) @ which).transpose(0, 2, 1)
        by_theta = np.einsum("cmyk,cyk->cm", self.slopes(thetas), by_report)
        return values, np.concatenate([by_beta, by_theta], axis=1)

    def expected(self, x: Array) -> Array:
        """Expected information of all reports, shape (p + m, p + m).

        Over the reports of the response, given those on private predictors.
        """
        beta, theta = np.split(x, [-self.m])
        total, ends = np.zeros((self.size, self.size)), 0
        known, slopes = self.known(theta), self.slopes(theta)
        for g, Q in enumerate(self.matrices):
            own = np.flatnonzero(self.group == g)
            columns = range(ends, ends + Q.shape[2])
            ends += Q.shape[2]
            if not own.size:
                continue
            part = known.take(own)
            law = _Answers(part, beta)
            weight = part.weights / law.h.sum(axis=1)
            for y in columns:
                seen = known.seen.table[y]
                f = law.h @ seen
                if not f.any():
                    continue
                rows = law.derivative(np.broadcast_to(seen, law.h.shape), "rows")
                D = np.column_stack([rows, *(law.h @ slope[y] for slope in slopes)])
                total += (D * (weight / np.maximum(f, 1e-300))[:, None]).T @ D
        return total


class _Answers:
    """P(category and reports on predictors) of each row, `h` of shape (n, k), and its slopes."""

    def __init__(self, part: RegressionLikelihood, beta: Array) -> None:
        self._part, self._beta = part, beta[: part.n_outcome]
        self._gamma, self._rho = beta[part.n_outcome :], part.law(beta)
        self._u = self._rho if part.B is None else part.B[:] * self._rho
        each = [part.outcome.moments(one.eta(self._beta), 1) for one in part.designs]
        self._means, self._jacobians = zip(*each, strict=True)
        pairs = zip(self._u.T, self._means, strict=True)
        self.h = np.asarray(sum(u[:, None] * mean for u, mean in pairs))

    def derivative(self, G: Array, how: str) -> Array:
        """By beta of ``sum_k G[i, k] h[i, k]``: its "rows", (n, p), or their sum, "adjoint"."""
        part, derivative = self._part, 0.0
        for design, u, jacobian in zip(part.designs, self._u.T, self._jacobians, strict=True):
            by_eta = np.einsum("nk,nkq->nq", G, jacobian) * u[:, None]
            derivative = derivative + getattr(design, how)(self._beta, by_eta)
        if part.marginal is None:
            return np.asarray(derivative)
        each = self._u * np.einsum("nk,cnk->nc", G, np.stack(self._means))
        away = each[:, 1:] - self._rho[:, 1:] * each.sum(axis=1, keepdims=True)
        return np.concatenate([derivative, getattr(part.marginal, how)(self._gamma, away)], axis=-1)


# -- The law of linear predictors under which probabilities are uniform, and its derivatives ------


@dataclass(frozen=True, eq=False)
class EvenLevel:
    """The prior of a level: all category probabilities at one place are as likely as any others.

    The probabilities have the flat Dirichlet law, as the frequencies of a survey without
    covariates. The density is that of the parameters: the Jacobian from the probabilities to the
    linear predictors, and from these to the parameters, is included. It is `slope` for two
    categories, the product of the probabilities for a multinomial logit, and the product of
    logistic densities at the thresholds for ordered categories. `design` has the covariates of the
    place in one row; `constant` is the one that is constant, None where thresholds stand for it.
    """

    outcome: Categorical
    design: Predictors
    constant: int | None = None

    def evaluate(self, thetas: Array) -> tuple[Array, Array]:
        """Log density, (c,), and gradient, (c, size), at c parameter vectors."""
        value, first, _ = self._bent(self.design.eta(thetas))
        _, volume = self.design.stretch(thetas[0])  # its logarithm is linear
        return value[:, 0] + thetas @ volume, self.design.adjoint(thetas, first) + volume

    def hessian(self, theta: Array) -> Array:
        """Second derivatives of the log density, (size, size); `stretch` is linear."""
        _, first, second = self._bent(self.design.eta(theta))
        return self.design.hessian(theta, second, first)

    def _bent(self, eta: Array) -> tuple[Array, Array, Array]:
        """Log of the volume, its first and second derivatives by eta, shape (..., q)."""
        if isinstance(self.outcome, Multinomial):
            k, p = self.outcome.k, self.outcome.mean(eta)
            with np.errstate(divide="ignore"):
                value = np.log(p).sum(axis=-1)
            second = k * p[..., 1:, None] * p[..., None, 1:]
            own = np.einsum("...aa->...a", second)
            own -= k * p[..., 1:]
            return value, 1.0 - k * p[..., 1:], second
        value, first, curved = _LOG_SLOPES[getattr(self.outcome, "link", "logit")](eta)
        return value.sum(axis=-1), first, curved[..., None] * np.eye(eta.shape[-1])

    @property
    def log_scale(self) -> float:
        """What `evaluate` leaves out of the logarithm of the density of linear predictors."""
        is_probit = getattr(self.outcome, "link", "") == "probit"
        return float(lgamma(self.outcome.k) - 0.5 * np.log(2.0 * np.pi) * is_probit)

    @property
    def linear(self) -> Array:
        """Linear predictors of the place as combinations of parameters (or their steps), (q, size).

        `stretch` is what turns steps between thresholds into parameters, and part of `evaluate`.
        """
        q, x = self.design.q, self.design.X
        if isinstance(self.design, Parallel):
            return np.hstack([np.repeat(-x, q, axis=0), np.tri(q)])
        return np.asarray(np.kron(np.eye(q), x))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Linear predictors of the place, shape (size, q)."""
        from scipy.special import logit, ndtri

        if isinstance(self.outcome, Multinomial):
            logarithms = np.log(rng.dirichlet(np.ones(self.outcome.k), size))
            return logarithms[:, 1:] - logarithms[:, :1]
        u = np.sort(rng.random((size, self.outcome.q)), axis=1)
        link = self.outcome.link if isinstance(self.outcome, Binary) else "logit"
        if link == "cloglog":
            return np.log(-np.log1p(-u))
        return np.asarray(ndtri(u) if link == "probit" else logit(u))

    def parameters(self, theta: Array, eta: Array) -> Array:
        """Parameters with the slopes of theta, (m, size), and these linear predictors, (m, q)."""
        parameters, p = np.array(theta), self.design.p
        x = self.design.X[0]
        if isinstance(self.design, Parallel):
            cuts = eta + (parameters[:, :p] @ x)[:, None]
            parameters[:, p] = cuts[:, 0]
            parameters[:, p + 1 :] = np.log(np.diff(cuts, axis=1))
            return parameters
        at = self.constant
        assert at is not None
        table = parameters.reshape(len(parameters), self.design.q, p)
        table[:, :, at] = 0.0
        table[:, :, at] = (eta - table @ x) / x[at]
        return table.reshape(len(parameters), -1)


def _logit(eta: Array) -> tuple[Array, Array, Array]:
    from scipy.special import expit, log_expit

    p = expit(eta)
    return log_expit(eta) + log_expit(-eta), 1.0 - 2.0 * p, -2.0 * p * expit(-eta)


def _probit(eta: Array) -> tuple[Array, Array, Array]:
    return -0.5 * eta**2, -eta, np.full(eta.shape, -1.0)


def _cloglog(eta: Array) -> tuple[Array, Array, Array]:
    rate = np.exp(np.minimum(eta, 700.0))
    return eta - rate, 1.0 - rate, -rate


_LOG_SLOPES = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}


# -- Unbiased indicators of the true category, which estimating equations take for the answer -----


_FREE = 1e-9  # variance of a sum of indicators, relative to theirs, from which on it is random


@dataclass(frozen=True, eq=False)
class Indicators:
    """Decoded reports of one variable.

    `phi`, (u, k), is the estimate that each distinct report is on its own, rows summing to one, and
    `place`, (n,), the row of each report. `noise`, (k, k), estimates the weighted sum over reports
    of the covariances by randomisation. `is_open` says whether other answers than those listed are
    possible, which are taken to be all; `unlisted` is their share over its standard error.
    """

    phi: Array
    place: npt.NDArray[np.int64]
    noise: Array
    is_open: bool
    unlisted: float

    def rows(self) -> Array:
        """The indicators of each report, shape (n, k)."""
        return np.asarray(self.phi[self.place])


def unbiased_indicators(
    reports: Reports, weights: Array | None = None, candidates: Any = None
) -> Indicators:
    """Decode reports of one mechanism; the `weights`, (n,), are not all zero.

    Indicators of a true category sum to one, while those of bits do so on average only. What the
    sum lacks of one is handed out by the covariance of the indicators with their sum: this is the
    unbiased estimate of smallest variance that sums to one, for every score of the categories.
    """
    w = np.ones(len(reports)) if weights is None else weights
    decoded = decode(reports, w, candidates)
    seen = np.bincount(decoded.place, w, len(decoded.phi))
    noise: Any = sum(law.noise(seen[rows] @ decoded.phi[rows]) for rows, law in decoded.laws)
    lacking = 1.0 - decoded.phi.sum(axis=1)[decoded.place]
    share = float(w @ lacking / w.sum())
    se = float(np.sqrt(w**2 @ (lacking - share) ** 2) / w.sum())
    phi = np.asarray(decoded.phi, dtype=np.float64)
    with_sum = noise.sum(axis=1)
    size = float(with_sum.sum())
    if size > _FREE * float(np.trace(noise)):  # rows do not sum to one
        load = with_sum / size
        phi = phi + np.outer(1.0 - phi.sum(axis=1), load)
        noise = noise - size * np.outer(load, load)
    unlisted = share / se if decoded.is_open and se > 0.0 else 0.0
    return Indicators(phi, decoded.place, noise, decoded.is_open, unlisted)


def stacked_indicators(
    groups: Sequence[Reports], weights: Array, candidates: Any = None
) -> tuple[Array, Array, bool]:
    """The indicators of all respondents of several groups, shape (n, k); their noise; is_open.

    Those of a group without weight are zero.
    """
    parts: list[Array] = []
    noise: Array | float = 0.0
    start, is_open = 0, False
    for group in groups:
        own = weights[start : start + len(group)]
        start += len(group)
        if own.any():
            one = unbiased_indicators(group, own, candidates)
            parts.append(one.rows())
            noise, is_open = noise + one.noise, is_open or one.is_open
        else:
            parts.append(np.zeros((len(group), len(group.mechanism.labels(candidates)))))
    return np.concatenate(parts), np.asarray(noise), is_open


# -- Parameters of a regression: where iterations start, and in which units they are measured -----


_PART = 1e-6  # of the length of a constant, what is none of it


def constant_column(designs: Sequence[Array]) -> int | None:
    """The first column that is the same for all, and not zero, if there is one."""
    first = designs[0][0]
    for j in np.flatnonzero(first):
        if all(np.all(X[:, j] == first[j]) for X in designs):
            return int(j)
    return None


def constant_combination(designs: Sequence[Array]) -> Array | None:
    """Coefficients of the covariates whose sum is one for all, (p,), if there are such.

    As of a constant, or of dummies of all levels of a factor.
    """
    at, p = constant_column(designs), designs[0].shape[1]
    if at is not None:
        return np.asarray(np.eye(p)[at] / designs[0][0, at])
    size = np.sqrt(sum((X**2).sum(axis=0) for X in designs))
    size = np.where(size > 0.0, size, 1.0)
    gram = np.asarray(sum(X.T @ X for X in designs)) / np.outer(size, size)
    total = np.asarray(sum(X.sum(axis=0) for X in designs)) / size
    coefficients = np.linalg.lstsq(gram, total, rcond=1e-12)[0]
    length = np.sqrt(sum(len(X) for X in designs))
    coefficients = np.where(np.abs(coefficients) > _PART * length, coefficients, 0.0) / size
    off = max(float(np.abs(X @ coefficients - 1.0).max()) for X in designs)
    return coefficients if off < _PART else None


def starts(likelihood: RegressionLikelihood) -> list[Array]:
    """`start` with parameters of devices all over (0, 1)^m."""
    first, m = start(likelihood), likelihood.m
    return [np.append(first[: first.size - m], theta) for theta in scattered(m)]


def start(likelihood: RegressionLikelihood) -> Array:
    """No effects: thresholds, means and spreads as in the whole; parameters of devices are half."""
    theta = np.zeros(likelihood.size)
    theta[likelihood.size - likelihood.m :] = 0.5
    design, outcome, w = likelihood.designs[0], likelihood.outcome, likelihood.weights
    p = design.p
    if isinstance(outcome, Ordered):
        cuts = np.log(np.arange(1, outcome.k) / (outcome.k - np.arange(1, outcome.k)))
        theta[p : p + outcome.q] = np.append(cuts[0], np.log(np.diff(cuts)))
    elif isinstance(outcome, Normal):
        y = likelihood.seen
        off = 0.0 if design.offset is None else design.offset
        X = sum(one.X for one in likelihood.designs) / len(likelihood.designs)
        root = np.sqrt(w)[:, None]
        slopes = np.linalg.lstsq(X * root, (y - off) * root[:, 0], rcond=None)[0]
        theta[:p] = slopes
        spread = float(w @ (y - off - X @ slopes) ** 2 / w.sum())
        theta[p] = 0.5 * np.log(max(spread, 1e-300))
    elif isinstance(outcome, Poisson):
        at = constant_column([one.X for one in likelihood.designs])
        if at is not None:
            mean = float(w @ likelihood.seen / w.sum())
            theta[at] = np.log(max(mean, 1e-3)) / design.X[0, at]
    return theta


def units(likelihood: RegressionLikelihood) -> Array:
    """Parameters from standardised ones, (size, size): slopes of standardised covariates."""
    whole, m = np.eye(likelihood.size), likelihood.n_outcome
    whole[:m, :m] = _of(likelihood.designs[0], [one.X for one in likelihood.designs])
    if isinstance(likelihood.outcome, Normal):
        whole[: m - 1, : m - 1] *= float(np.std(likelihood.seen)) or 1.0
    if likelihood.marginal is not None:
        inside = slice(m, likelihood.size - likelihood.m)
        whole[inside, inside] = _of(likelihood.marginal, [likelihood.marginal.X])
    return whole


def _of(design: Predictors, each: Sequence[Array]) -> Array:
    """Units of the parameters of one kind of predictors."""
    n = sum(len(X) for X in each)
    mean = sum(X.sum(axis=0) for X in each) / n
    spread = np.sqrt(sum(((X - mean) ** 2).sum(axis=0) for X in each) / n)
    size = np.sqrt(sum((X**2).sum(axis=0) for X in each) / n)
    varies, p = spread > 1e-12 * size, design.p
    size, whole = np.where(size > 0.0, size, 1.0), np.eye(design.size)
    if isinstance(design, Parallel):  # thresholds move along with the means
        whole[:p, :p] = np.diag(1.0 / np.where(varies, spread, size))
        whole[p, :p] = np.where(varies, mean, 0.0) / np.where(varies, spread, 1.0)
        return whole
    own, constant = np.diag(1.0 / size), constant_combination(each) if p else None
    if constant is not None:  # covariates that it is not made of are centred by it
        others = np.flatnonzero(varies & (constant == 0.0))
        own[:, others] = -np.outer(constant, mean[others] / spread[others])
        own[others, others] = 1.0 / spread[others]
    if isinstance(design, Scaled):
        whole[:p, :p] = own
        return whole
    return np.kron(np.eye(design.q), own)
