"""The likelihood of a regression whose devices have unknown parameters.

Respondent i of group g makes the report y with probability ``f_i = pi_i(beta) Q_g(theta)[:, y]``;
theta are probabilities, and beta the parameters of the law pi of the true answer. With private
predictors beta are those of their law too, and ``f_i = sum_c B_ic rho_ic(beta) pi_ic(beta)
Q_g(theta)[:, y]`` as in `likelihood`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.parametric.matrices import PolynomialMatrix
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.many import scores_at
from ldpstats.problems.regression.outcomes import Multinomial
from ldpstats.problems.regression.standard import start, units

__all__ = ["ParametricRegression"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ParametricRegression:
    """Log-likelihood of x, shape (p + m,): the parameters beta of the regression, then theta.

    Parameters
    ----------
    base : RegressionLikelihood
        Of u distinct rows. The table of `seen` is not used: ``seen.at`` is the report of each row,
        among those of all groups one after the other.
    matrices : tuple of PolynomialMatrix
        The channel of each group, in the same m parameters.
    """

    base: RegressionLikelihood
    matrices: tuple[PolynomialMatrix, ...]

    @property
    def m(self) -> int:
        """Number of unknown parameters of the devices."""
        return self.matrices[0].shape[0]

    @property
    def p(self) -> int:
        """Number of parameters of the regression."""
        return self.base.size

    @property
    def size(self) -> int:
        """p + m."""
        return self.p + self.m

    @cached_property
    def start(self) -> Array:
        """Where iterations start, (p + m,): no effects, and parameters of one half."""
        return np.append(start(self.base), np.full(self.m, 0.5))

    @cached_property
    def units(self) -> Array:
        """x from standardised coefficients and theta, (p + m, p + m)."""
        found = np.eye(self.size)
        found[: self.p, : self.p] = units(self.base)
        return found

    @cached_property
    def group(self) -> Codes:
        """The group of each row, shape (u,)."""
        ends = np.cumsum([Q.shape[2] for Q in self.matrices])
        return np.asarray(np.searchsorted(ends, self.base.seen.at, side="right"), dtype=np.int64)

    @cached_property
    def _whole(self) -> PolynomialMatrix:
        """The matrices beside each other, (m, k, reports of all groups)."""
        terms, before = [], np.cumsum([0, *(Q.shape[2] for Q in self.matrices)])
        for Q, at in zip(self.matrices, before, strict=False):
            own = np.zeros((len(Q.exponents), Q.shape[1], before[-1]))
            own[:, :, at : at + Q.shape[2]] = Q.coefficients
            terms.append(own)
        exponents, place = np.unique(
            np.concatenate([Q.exponents for Q in self.matrices]), axis=0, return_inverse=True
        )
        coefficients = np.zeros((len(exponents), *terms[0].shape[1:]))
        np.add.at(coefficients, place.ravel(), np.concatenate(terms))
        return PolynomialMatrix(exponents, coefficients)

    @cached_property
    def _bends(self) -> list[list[PolynomialMatrix]]:
        """Its second derivatives, by pairs of parameters."""
        first = [_slope(self._whole, a) for a in range(self.m)]
        return [[_slope(own, b) for b in range(self.m)] for own in first]

    def known(self, theta: Array) -> RegressionLikelihood:
        """The likelihood of beta at theta, shape (m,); at (c, m) that of `scores_at` alone."""
        table = np.swapaxes(self._whole.at(theta), -1, -2)
        return replace(self.base, seen=Seen(table, self.base.seen.at))

    def slopes(self, theta: Array) -> Array:
        """Derivatives of P(report | category) by theta, shape (..., m, reports, k)."""
        return np.swapaxes(self._whole.derivatives(theta), -1, -2)

    def value(self, x: Array) -> float:
        """The log-likelihood; minus infinity beyond [0, 1] and where a report is impossible."""
        theta = x[self.p :]
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        with np.errstate(all="ignore"):
            return self.known(theta).value(x[: self.p])

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (p + m,), and Hessian, (p + m, p + m)."""
        beta, theta = x[: self.p], x[self.p :]
        p, slopes = self.p, self.slopes(theta)
        bends = [[Q.at(theta).T for Q in row] for row in self._bends]
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
                crossed[:, a] += law.adjoint(slope[at] * (w / f)[:, None])
                hessian[p + a, p:] += [w @ ((d[at] * law.h).sum(axis=1) / f) for d in bends[a]]
            hessian[:p, p:] += crossed
        hessian[p:, :p] = hessian[:p, p:].T
        return value, score, hessian

    def scores_at(self, xs: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and scores, (c, p + m), at several points (c, p + m)."""
        betas, thetas = xs[:, : self.p], xs[:, self.p :]
        known = self.known(thetas)
        values, by_beta = scores_at(known, betas)
        by_report = np.zeros((len(xs), *known.seen.table.shape[-2:]))
        for part in known.blocks():
            h = _answers_at(part, betas)
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
        beta, theta = x[: self.p], x[self.p :]
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
                rows = law.rows(np.broadcast_to(seen, law.h.shape))
                D = np.column_stack([rows, *(law.h @ slope[y] for slope in slopes)])
                total += (D * (weight / np.maximum(f, 1e-300))[:, None]).T @ D
        return total


class _Answers:
    """P(category and reports on predictors) of each row, `h` of shape (n, k), and its slopes."""

    def __init__(self, part: RegressionLikelihood, beta: Array) -> None:
        self._part, self._beta = part, beta[: part.n_outcome]
        self._gamma, self._rho = beta[part.n_outcome :], part.law(beta)
        self._u = self._rho if part.B is None else part.B[:] * self._rho
        each = [part.outcome.mean_jacobian(one.eta(self._beta)) for one in part.designs]
        self._means, self._jacobians = zip(*each, strict=True)
        pairs = zip(self._u.T, self._means, strict=True)
        self.h = np.asarray(sum(u[:, None] * mean for u, mean in pairs))

    def adjoint(self, G: Array) -> Array:
        """The sum over rows of the derivative by beta of ``sum_k G[i, k] h[i, k]``, (p,)."""
        return self._derivative(G, "adjoint")

    def rows(self, G: Array) -> Array:
        """The derivative of each row, (n, p)."""
        return self._derivative(G, "rows")

    def _derivative(self, G: Array, how: str) -> Array:
        part, found = self._part, 0.0
        for design, u, jacobian in zip(part.designs, self._u.T, self._jacobians, strict=True):
            by_eta = np.einsum("nk,nkq->nq", G, jacobian) * u[:, None]
            found = found + getattr(design, how)(self._beta, by_eta)
        if part.marginal is None:
            return np.asarray(found)
        each = self._u * np.einsum("nk,cnk->nc", G, np.stack(self._means))
        away = each[:, 1:] - self._rho[:, 1:] * each.sum(axis=1, keepdims=True)
        return np.concatenate([found, getattr(part.marginal, how)(self._gamma, away)], axis=-1)


def _answers_at(part: RegressionLikelihood, betas: Array) -> Array:
    """P(category and reports on predictors) of each row at c points, (c, n, k)."""
    m, outcome = part.n_outcome, part.outcome
    u = np.ones((len(betas), part.n, 1))
    if part.marginal is not None:
        assert part.B is not None
        u = part.B[:] * Multinomial(len(part.designs)).mean(part.marginal.etas(betas[:, m:]))
    found: Any = 0.0
    for c, design in enumerate(part.designs):
        eta = design.etas(betas[:, :m])
        mean = outcome.mean(eta.reshape(-1, eta.shape[2])).reshape(*eta.shape[:2], -1)
        found = found + u[:, :, c : c + 1] * mean
    return np.asarray(found)


def _slope(Q: PolynomialMatrix, a: int) -> PolynomialMatrix:
    """The derivative of a matrix by parameter a, as polynomials."""
    lower = Q.exponents.copy()
    lower[:, a] = np.maximum(lower[:, a] - 1, 0)
    return PolynomialMatrix(lower, Q.coefficients * Q.exponents[:, a, None, None])
