"""Departures of weighted shares from a hypothesis, and how the design makes them vary.

Each function returns Pearson's statistic with the effects of the design, see `RaoScott`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.designs.rao_scott import RaoScott, corrected, metric
from ldpstats.inference.designs.totals import Ratios, Totals, product

__all__ = ["at_observed", "fit_to", "homogeneity", "independence"]

Array = npt.NDArray[Any]

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
