"""The likelihood of regressions whose groups of respondents have normal intercepts of their own.

The respondents i of group g share h intercepts, ``sd * u`` with u standard normal and independent:
one for two categories, one for each category but the first of a multinomial logit. With f_i the
probability of what i reported, as in `ldpstats.likelihood.regression`, the group adds ::

    log integral of exp(sum_i w_i log f_i(x_i beta + sd u)) phi(u) du

by adaptive Gauss-Hermite quadrature: the nodes of each group are about the mode of its integrand,
as far apart as the curvature there says (Liu and Pierce 1994; Pinheiro and Bates 1995). With the
weights P that nodes have given the reports, and the score S_c of the group's reports at node c, its
score is the mean of S_c under P, and its second derivative the mean of those of the reports plus
the covariance of S_c under P (Louis 1982). The likelihood is even in each standard deviation, so
that a maximum at zero is a maximum like others.

Functions of the intercepts that also depend on parameters have the mean ``E h`` given the reports,
with derivative ``E dh + Cov(h, S)``; their variance given the reports is that at fixed parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.labels import Codes
from ldpstats.likelihood.regression import Intercepts, RegressionLikelihood, hermite

_BLOCK = 1 << 18  # numbers of the largest array that is made at a time
_STEPS = 20  # towards a mode
_CLOSE = 1e-6  # of standard deviations of intercepts, that a mode may be off
_LONGEST = 2.0  # of these, that a step may be long
_NOTHING = 1e-200  # information
_LEAST = 0.25  # curvature of the integrand, relative to that of the normal law, that nodes assume


@record
class GroupedLikelihood(RegressionLikelihood):
    """The log-likelihood of coefficients and, last, of the standard deviations of intercepts.

    `group` is the group of each row, and `n_nodes` those of quadrature along each intercept.
    """

    _: KW_ONLY
    group: Codes  # type: ignore[misc]
    n_nodes: int

    @property
    def h(self) -> int:
        """Number of intercepts of a group."""
        return self.design.h

    @property
    def design(self) -> Intercepts:
        """The linear predictors, and the standard deviations."""
        (design,) = self.designs
        assert isinstance(design, Intercepts)
        return design

    def take(self, rows: Any, weights: Array | None = None) -> Self:
        return replace(super().take(rows, weights), group=self.group[rows])

    @cached_property
    def parts(self) -> list[Self]:
        """Whole groups, numbered from zero and in order, whose arrays fit in the cache."""
        order = np.argsort(self.group, kind="stable")
        group = self.group[order]
        width = self.n_nodes**self.h * (1 + self.h + self.h**2)
        ends = np.append(np.flatnonzero(np.diff(group)) + 1, self.n)
        parts, start = [], 0
        while start < self.n:
            end = max(ends[ends > start][0], ends[ends <= start + _BLOCK // width].max(initial=0))
            some = self.take(order[start:end])
            parts.append(replace(some, group=np.unique(some.group, return_inverse=True)[1]))
            start = int(end)
        return parts

    # -- values and derivatives ----------------------------------------------------------------

    def value(self, theta: Array) -> float:
        total = self.constant + sum(part._integrated(theta, 0).logs.sum() for part in self.parts)
        return float(total) if not np.isnan(total) else -np.inf

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (size,), and Hessian, (size, size)."""
        h, value, score = self.h, self.constant, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        for part in self.parts:
            there = part._integrated(theta, 2)
            u, (_, slope, bend) = there.nodes[:, part.group], there.terms
            given = (there.posterior[:, part.group] * part.weights)[..., None]  # (nodes, n, 1)
            first, moved = slope * given, u * given
            second = np.zeros((part.n, 2 * h, 2 * h))
            second[:, :h, :h] = np.einsum("cnab,cn->nab", bend, given[..., 0])
            second[:, :h, h:] = np.einsum("cnab,cnb->nab", bend, moved)
            second[:, h:, :h] = second[:, :h, h:].transpose(0, 2, 1)
            second[:, h:, h:] = np.einsum("cnab,cna,cnb->nab", bend, u, moved)
            G = np.concatenate([first.sum(axis=0), (first * u).sum(axis=0)], axis=-1)
            S, P = part._scores(there), there.posterior[..., None]
            mean = (S * P).sum(axis=0)
            spread = (S * P).reshape(-1, self.size).T @ S.reshape(-1, self.size) - mean.T @ mean
            value += float(there.logs.sum())
            score += part.design.adjoint(theta, G)
            hessian += part.design.hessian(theta, second, G) + spread
        return value, score, hessian

    def angle(self, theta: Array) -> float:
        """The angle between two variances of intercepts at zero, in their information.

        By the products of the scores of groups; a half circle would be one variance twice.
        """
        h, m, rows = self.h, self.size - self.h, []
        for part in self.parts:
            terms = part._terms(theta, np.zeros((1, part.group[-1] + 1, h)), 2)
            w = part.weights[:, None]
            first = part._sums(terms[1] * w, 1)[0]
            bend = part._sums(terms[2].diagonal(axis1=-2, axis2=-1) * w, 1)[0]
            slopes = [part._sums(terms[1][0, :, [a]].T * part.design.X * w, 0) for a in range(h)]
            rows.append(np.hstack([*slopes, 0.5 * (first**2 + bend)]))
        each = np.vstack(rows)
        J = each.T @ each
        J = J[m:, m:] - J[m:, :m] @ np.linalg.lstsq(J[:m, :m], J[:m, m:], rcond=1e-10)[0]
        return float(np.arccos(np.clip(J[0, 1] / np.sqrt(J[0, 0] * J[1, 1]), -1.0, 1.0)))

    def restricted(self, theta: Array) -> RestrictedLikelihood:
        """The likelihood of the standard deviations, with what is known of levels at theta."""
        h, m = self.h, self.size - self.h
        rest, own, of_groups = np.zeros((m, m)), list[Array](), list[Array]()
        for part in self.parts:
            there, X = part._integrated(theta, 1), part.design.X
            given, slope = there.posterior[:, part.group] * part.weights, there.terms[1]
            each = np.einsum("cn,cna,cnb->nab", given, slope, slope)
            w = part._sums(each, 0)
            w = np.where(np.abs(w) > _NOTHING, w, 0.0)
            C = part._sums(each[:, :, None, :] * X[:, None, :, None], 0).reshape(len(w), m, h)
            D = C @ np.linalg.pinv(w, 1e-10, True)
            rest += np.einsum("nab,np,nq->apbq", each, X, X).reshape(m, m)
            rest -= np.einsum("gma,gab,gnb->mn", D, w, D)
            own.append(w)
            of_groups.append(D)
        return RestrictedLikelihood(self, rest, np.concatenate(own), np.concatenate(of_groups))

    def _integrated(self, theta: Array, order: int) -> _Integrated:
        """The integrals of the groups of a part, at their nodes."""
        u, logs = self._nodes(theta)
        terms = self._terms(theta, u, order)
        logs = logs + self._sums(terms[0] * self.weights)
        top = np.nan_to_num(logs.max(axis=0), neginf=0.0)
        joint = np.exp(logs - top)
        total = joint.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return _Integrated(np.log(total) + top, joint / total, u, terms)

    def _terms(self, theta: Array, u: Array, order: int) -> tuple[Array, ...]:
        """Logarithms of f at intercepts ``sd * u`` of the groups, (..., n), with derivatives."""
        outcome: Any = self.outcome
        fixed = self.design.fixed.eta(theta[: -self.h])
        return tuple(
            outcome.within.terms(
                fixed + theta[-self.h :] * u[..., self.group, :], self.seen[:], order
            )
        )

    def _nodes(self, theta: Array) -> tuple[Array, Array]:
        """Nodes u of each group, (nodes, groups, h), and logarithms of weights, (nodes, groups)."""
        h, sd, w = self.h, theta[-self.h :], self.weights[:, None]
        u, eye = np.zeros((self.group[-1] + 1, h)), np.eye(h)
        for _ in range(_STEPS):
            _, slope, bend = self._terms(theta, u, 2)
            uphill = sd * self._sums(slope * w, 0) - u
            curved = eye - np.outer(sd, sd) * self._sums(bend * w[..., None], 0)
            size, axes = np.linalg.eigh(np.nan_to_num(curved))
            scale = axes / np.sqrt(np.maximum(size, _LEAST))[:, None, :]
            step = (scale @ (scale.transpose(0, 2, 1) @ uphill[..., None]))[..., 0]
            length = np.abs(step).max(axis=1, keepdims=True)
            u = u + step * np.minimum(1.0, _LONGEST / np.maximum(length, _LONGEST))
            if length.max() < _CLOSE:
                break
        z, logs = hermite(self.n_nodes, h)
        nodes = u + np.einsum("gab,cb->cga", scale, z)
        away = 0.5 * (z**2).sum(axis=1)[:, None] - 0.5 * (nodes**2).sum(axis=2)
        return nodes, logs[:, None] + away - 0.5 * np.log(np.maximum(size, _LEAST)).sum(axis=1)

    def _sums(self, values: Array, axis: int = -1) -> Array:
        """Sums of rows, along an axis, over each group of a part."""
        starts = np.append(0, np.flatnonzero(np.diff(self.group)) + 1)
        return np.asarray(np.add.reduceat(values, starts, axis=axis))

    def _scores(self, there: _Integrated) -> Array:
        """Score of the reports of each group at each node, (nodes, groups, size)."""
        first = there.terms[1] * self.weights[:, None]  # (nodes, n, h)
        slopes = [self._sums(first[..., a, None] * self.design.X, 1) for a in range(self.h)]
        return np.concatenate([*slopes, self._sums(first, 1) * there.nodes], axis=-1)

    # -- given the reports ---------------------------------------------------------------------

    def intercepts(self, theta: Array, V: Array) -> tuple[Array, Array]:
        """Means of the intercepts of each group given its reports, (groups, h), and variances."""
        h, sd = self.h, theta[-self.h :]

        def of(part: Self, u: Array) -> tuple[Array, Array]:
            slopes = np.zeros((*u.shape, self.size))
            slopes[..., range(h), range(self.size - h, self.size)] = u
            return sd * u, slopes

        return self._given(theta, V, of)

    def shares(self, theta: Array, V: Array) -> tuple[Array, Array]:
        """Means of the shares of the categories in each group, (groups, k), and variances."""
        outcome: Any = self.outcome
        h = self.h

        def of(part: Self, u: Array) -> tuple[Array, Array]:
            eta = part.design.fixed.eta(theta[:-h]) + theta[-h:] * u[:, part.group]
            mean, first = outcome.within.moments(eta, 1)
            w = part.weights / part._sums(part.weights)[part.group]
            first = first * w[:, None, None]
            each = [
                part._sums(first[..., a, None] * part.design.X[:, None, :], 1) for a in range(h)
            ]
            each.append(part._sums(first, 1) * u[:, :, None, :])
            return part._sums(mean * w[:, None], 1), np.concatenate(each, axis=-1)

        return self._given(theta, V, of)

    def _given(
        self, theta: Array, V: Array, of: Callable[[Self, Array], tuple[Array, Array]]
    ) -> tuple[Array, Array]:
        """Means of functions of the intercepts given the reports, (groups, m), and variances.

        Variances are those given the reports and, by the delta method, of the parameters, whose
        covariance is V. `of` has values at nodes, (nodes, groups, m), and their derivatives.
        """
        means, variances = [], []
        for part in self.parts:
            there = part._integrated(theta, 1)
            P, S = there.posterior, part._scores(there)
            values, slopes = of(part, there.nodes)
            mean = np.einsum("cg,cgm->gm", P, values)
            off = values - mean
            D = np.einsum("cg,cgms->gms", P, slopes) + np.einsum("cg,cgm,cgs->gms", P, off, S)
            means.append(mean)
            variances.append(
                np.einsum("cg,cgm->gm", P, off**2) + np.einsum("gms,st,gmt->gm", D, V, D)
            )
        return np.vstack(means), np.vstack(variances)


@record
class RestrictedLikelihood:
    """The log-likelihood less half the log determinant of the information on the m coefficients.

    That of standard deviations by D. R. Cox and N. Reid, Parameter orthogonality and approximate
    conditional inference, Journal of the Royal Statistical Society B 1987; of a linear mixed model
    it is the restricted likelihood. The information is that of the linear mixed model whose rows
    know as much: with w_g that of group g on its level, V the variances of intercepts, and w_g D_g'
    on level and coefficients together, it is ``rest + sum of D_g (1 + w_g V)^-1 w_g D_g'``, whose
    second term is in the levels of groups.
    """

    whole: GroupedLikelihood
    rest: Array  # information within groups, (m, m)
    w: Array  # (G, h, h)
    D: Array  # (G, m, h)

    def _information(self, sd: Array) -> tuple[Array, Array]:
        """That which is in levels, (m, m), and that of each level about the mean, (G, h, h)."""
        known = np.linalg.solve(np.eye(sd.size) + self.w * sd**2, self.w)
        return np.einsum("gma,gab,gnb->mn", self.D, known, self.D), known

    def levels(self, theta: Array) -> tuple[Array, float]:
        """The part of the covariance of the coefficients that is in levels of groups, (m, m).

        Also how many coefficients the levels determine, for each intercept.
        """
        between, _ = self._information(theta[-self.whole.h :])
        total = self.rest + between
        scale = np.sqrt(np.maximum(np.diagonal(total), _NOTHING))  # none where it is at infinity
        total, between = (one / np.outer(scale, scale) for one in (total, between))
        inverse = np.linalg.pinv(total, 1e-10, True)
        taken = float(np.trace(inverse @ between)) / self.whole.h
        return inverse @ between @ inverse / np.outer(scale, scale), taken

    def _penalty(self, sd: Array) -> tuple[float, Array]:
        """Minus half the log determinant, and its slopes."""
        between, known = self._information(sd)
        A = self.D @ known
        solved = np.linalg.solve(self.rest + between, A)
        slopes = sd * np.einsum("gma,gma->a", A, solved)
        return -0.5 * float(np.linalg.slogdet(self.rest + between)[1]), slopes

    def value(self, theta: Array) -> float:
        return self.whole.value(theta) + self._penalty(theta[-self.whole.h :])[0]

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, score, shape (size,), and Hessian, (size, size)."""
        h = self.whole.h
        value, score, hessian = self.whole.evaluate(theta)
        more, slopes = self._penalty(theta[-h:])
        step = 1e-4 * np.eye(h)
        ends = [[self._penalty(theta[-h:] + s * d)[1] for s in (1, -1)] for d in step]
        score[-h:] += slopes
        hessian[-h:, -h:] += [(up - down) / 2e-4 for up, down in ends]
        return value + more, score, hessian


class _Integrated(NamedTuple):
    """Groups at the nodes of their integrals."""

    logs: Array  # of the integrals, (groups,)
    posterior: Array  # weights of the nodes given the reports, (nodes, groups)
    nodes: Array  # (nodes, groups, h)
    terms: tuple[Array, ...]  # log f of each row at each node, with derivatives
