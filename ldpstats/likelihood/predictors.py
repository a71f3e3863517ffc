"""Around the likelihood of a regression: devices with unknown parameters, many points, starts.

Respondent i of group g makes the report y with probability ``f_i = pi_i(beta) Q_g(theta)[:, y]``;
theta are probabilities, and beta the parameters of the law pi of the true answer. With private
predictors beta are those of their law too, and ``f_i = sum_c B_ic(theta) rho_ic(beta) pi_ic(beta)
Q_g(theta)[:, y]`` as in `ldpstats.likelihood.regression`: either device may be unknown, or both.

Then: values and scores at many parameter vectors at once; the law of linear predictors under which
probabilities are uniform; unbiased indicators of the true category, which estimating equations take
for the answer; where iterations start, and in which units parameters are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from functools import cached_property
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record
from ldpstats.labels import Codes
from ldpstats.likelihood.joint import decode
from ldpstats.likelihood.parametric import PolynomialMatrix, crossed, scattered
from ldpstats.likelihood.regression import (
    Binary,
    Categorical,
    Intercepts,
    Multinomial,
    Normal,
    Ordered,
    Parallel,
    Poisson,
    Predictors,
    RegressionLikelihood,
    Seen,
)
from ldpstats.reports.single import Reports


@record
class ParametricRegression(RegressionLikelihood):
    """Log-likelihood of x, (p + m,): parameters of the regression, and theta of devices.

    `matrices` are those of the response, by group, and `private` that of the distinct reports on
    private predictors. The tables of `seen` and `B` are not used: ``seen.at`` is each row's report
    among those of all groups, and ``B.at`` that on the predictors. As f_i is linear in either
    likelihood, its derivatives by theta are f_i with derivatives in their place.
    """

    _: KW_ONLY
    matrices: tuple[PolynomialMatrix, ...]
    private: PolynomialMatrix

    @property
    def m(self) -> int:  # type: ignore[override]
        return self.matrices[0].shape[0]

    @cached_property
    def group(self) -> Codes:
        """The group of each row, shape (u,)."""
        ends = np.cumsum([Q.shape[2] for Q in self.matrices])
        return np.asarray(np.searchsorted(ends, self.seen.at, side="right"), dtype=np.int64)

    @property
    def _given(self) -> Codes:
        """Each row's reports on private predictors, shape (u,)."""
        return np.zeros(self.n, dtype=np.int64) if self.B is None else self.B.at

    @cached_property
    def _whole(self) -> PolynomialMatrix:
        """The matrices beside each other, (m, k, reports of all groups)."""
        return PolynomialMatrix.beside(self.matrices)

    @property
    def saturated(self) -> PolynomialMatrix:
        """The matrix of joint reports: any on the response, beside those seen on predictors.

        Its categories are a configuration of the predictors and an answer.
        """
        sizes = np.array([Q.shape[2] for Q in self.matrices])
        given, group = np.unique([self._given, self.group], axis=1)
        reports = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        y = np.concatenate([reports[g] for g in group])
        pair = (self.private, np.repeat(given, sizes[group])), (self._whole, y)
        return crossed(pair)[0]

    def known(self, theta: Array) -> RegressionLikelihood:
        """The likelihood of beta at theta, shape (m,); at (c, m) that of `scores_at` alone."""
        seen, B = self._tables(theta)
        private = None if self.B is None else Seen(B, self.B.at)
        rest = self.weights, private, self.marginal, self.constant
        return RegressionLikelihood(self.outcome, self.designs, Seen(seen, self.seen.at), *rest)

    def _tables(self, theta: Array, order: int = 0) -> tuple[Array, Array]:
        """Likelihoods of the reports on response, (..., l, k), and predictors, (..., u, C).

        Or their derivatives, as of `PolynomialMatrix.at`.
        """
        seen, B = (np.swapaxes(Q.at(theta, order), -1, -2) for Q in (self._whole, self.private))
        return seen, B

    def value(self, x: Array) -> float:
        """The log-likelihood; minus infinity beyond [0, 1] and where a report is impossible."""
        beta, theta = np.split(x, [-self.m])
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        with np.errstate(all="ignore"):
            return self.known(theta).value(beta)

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (p + m,), and Hessian, (p + m, p + m)."""
        beta, theta = np.split(x, [-self.m])
        p, tables = beta.size, [self._tables(theta, order) for order in range(3)]
        score, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        value, score[:p], hessian[:p, :p] = self.known(theta).evaluate(beta)
        for part in self.blocks():
            law, w = _Answers(part, beta), part.weights
            (A, B), (A1, B1), (A2, B2) = (part._rows(pair) for pair in tables)
            f, t = law.by_devices(A, B, A1, B1)
            own, v = part.known(theta).score_obs(beta), (w / f)[:, None]
            score[p:] += w @ t
            hessian[p:, p:] -= (t * w[:, None]).T @ t
            hessian[:p, p:] -= (own * w[:, None]).T @ t
            h, turned = law.joint(B), [law.joint(one) for one in B1]
            for a in range(self.m):
                hessian[:p, p + a] += law.derivative(A1[a] * v, B, "adjoint")
                hessian[:p, p + a] += law.derivative(A * v, B1[a], "adjoint")
                for b in range(self.m):
                    bend = A2[a, b] * h + A1[a] * turned[b] + A1[b] * turned[a]
                    hessian[p + a, p + b] += ((bend + A * law.joint(B2[a, b])) * v).sum()
        hessian[p:, :p] = hessian[:p, p:].T
        return value, score, hessian

    def _rows(self, tables: tuple[Array, Array]) -> tuple[Array, Array]:
        """Of `_tables` what each row has, (..., n, k) and (..., n, C)."""
        return tables[0][..., self.seen.at, :], tables[1][..., self._given, :]

    def score_obs(self, x: Array) -> Array:
        beta, theta = np.split(x, [-self.m])
        tables, scores = (self._tables(theta), self._tables(theta, 1)), []
        for part in self.blocks():
            (A, B), (A1, B1) = map(part._rows, tables)
            t = _Answers(part, beta).by_devices(A, B, A1, B1)[1]
            scores.append(np.hstack([part.known(theta).score_obs(beta), t]))
        return np.vstack(scores)

    def scores_at(self, xs: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and scores, (c, p + m), at several points (c, p + m)."""
        betas, thetas = xs[:, : -self.m], xs[:, -self.m :]
        known, tables = self.known(thetas), (self._tables(thetas), self._tables(thetas, 1))
        values, by_beta = known.scores_at(betas)
        by_theta = np.zeros(thetas.shape)
        for part in self.blocks(max(256, (1 << 16) // len(xs))):
            (A, B), (A1, B1) = map(part._rows, tables)
            t = _Answers(part, betas).by_devices(A, B, A1, B1)[1]
            by_theta += part.weights @ t
        return values, np.concatenate([by_beta, by_theta], axis=1)

    def expected(self, x: Array) -> Array:
        """Expected information of all reports, shape (p + m, p + m).

        Over the reports of the response, given those on private predictors.
        """
        beta, theta = np.split(x, [-self.m])
        total, ends = np.zeros((self.size, self.size)), 0
        for g, Q in enumerate(self.matrices):
            own = np.flatnonzero(self.group == g)
            columns = range(ends, ends + Q.shape[2])
            ends += Q.shape[2]
            if not own.size:
                continue
            part = self.take(own)
            law, pairs = _Answers(part, beta), (self._tables(theta), self._tables(theta, 1))
            weight = part.weights / law.joint(part._rows(pairs[0])[1]).sum(axis=1)
            for y in columns:
                row = replace(part, seen=Seen(part.seen.table, np.full(part.n, y)))
                (A, B), (A1, B1) = map(row._rows, pairs)
                with np.errstate(all="ignore"):
                    f, t = law.by_devices(A, B, A1, B1)
                there = f > 0.0
                D = np.hstack([law.derivative(A, B, "rows"), t * f[:, None]])[there]
                total += (D * (weight / f)[there, None]).T @ D
        return total


class _Answers:
    """P(configuration, category) of each row, summed over the former, and its slopes.

    With likelihoods B of the reports on predictors, (..., n, C), the sums are `joint`.
    """

    def __init__(self, part: RegressionLikelihood, beta: Array) -> None:
        self._part, self._rho = part, part.law(beta)
        self._beta, self._gamma = np.split(beta, [part.n_outcome], axis=-1)
        self._etas = [one.eta(self._beta) for one in part.designs]
        self._means = [part.outcome.mean(eta) for eta in self._etas]

    @cached_property
    def _jacobians(self) -> list[Array]:
        return [self._part.outcome.moments(eta, 1)[1] for eta in self._etas]

    def joint(self, B: Array) -> Array:
        """P(category and reports on predictors), (..., n, k)."""
        u = B * self._rho
        return np.asarray(sum(u[..., c, None] * mean for c, mean in enumerate(self._means)))

    def by_devices(self, A: Array, B: Array, A1: Array, B1: Array) -> tuple[Array, Array]:
        """f, (..., n), and derivatives of its logarithm by theta, (..., n, m).

        From the likelihoods of each row's reports, and their derivatives, (..., m, n, .).
        """
        h = self.joint(B)
        f, slopes = (A * h).sum(axis=-1), []
        for a in range(A1.shape[-3]):
            slope, turned = A1[..., a, :, :] * h, B1[..., a, :, :]
            if turned.any():
                slope += A * self.joint(turned)
            slopes.append(slope.sum(axis=-1) / f)
        return f, np.stack(slopes, axis=-1)

    def derivative(self, G: Array, B: Array, how: str) -> Array:
        """By beta of ``sum_k G[i, k] joint[i, k]``: its "rows", (n, p), or their sum, "adjoint"."""
        part, derivative, u = self._part, 0.0, B * self._rho
        for design, weight, jacobian in zip(part.designs, u.T, self._jacobians, strict=True):
            by_eta = np.einsum("nk,nkq->nq", G, jacobian) * weight[:, None]
            derivative = derivative + getattr(design, how)(self._beta, by_eta)
        if part.marginal is None:
            return np.asarray(derivative)
        each = u * np.einsum("nk,cnk->nc", G, np.stack(self._means))
        away = each[:, 1:] - self._rho[:, 1:] * each.sum(axis=1, keepdims=True)
        return np.concatenate([derivative, getattr(part.marginal, how)(self._gamma, away)], axis=-1)


# -- The law of linear predictors under which probabilities are uniform, and its derivatives ------


@record
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
        return np.kron(np.eye(q), x)

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


@record
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
        return self.phi[self.place]


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
    phi = floats(decoded.phi)
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
    elif isinstance(design, Intercepts):
        theta[-design.h :] = 0.5
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
    if isinstance(design, Intercepts):
        m = design.h * p
        whole[:m, :m] = np.kron(np.eye(design.h), own)
        return whole
    return np.kron(np.eye(design.q), own)
