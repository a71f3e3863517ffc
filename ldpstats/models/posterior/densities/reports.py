"""The log-likelihood of reports at many distributions at once, with its gradient.

A sampler moves several chains together: products with W are made of all of them in one call. Where
the reports of several variables make a table they go variable by variable, as in `JointRows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.joint import JointRows

__all__ = ["ReportTerm", "report_term"]

Array = npt.NDArray[Any]

_SMALL = 1 << 21  # entries of W up to which the dense matrix is the fastest form


class ReportTerm(ABC):
    """``sum_i n_i log (W p)_i`` as a function of p, for many p at once."""

    @abstractmethod
    def evaluate(self, p: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and gradients with respect to p, shape (c, k), at p, (c, k).

        The value is -inf, and the gradient zero, where a report that was seen is impossible.
        """

    @abstractmethod
    def information(self, p: Array) -> Array:
        """``W' diag(n / (W p)^2) W``, shape (k, k), at one p, (k,)."""


def report_term(likelihood: Likelihood) -> ReportTerm:
    """The log-likelihood of reports in the form whose products are fastest.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> values, slopes = report_term(problem).evaluate(np.array([[0.7, 0.3], [0.5, 0.5]]))
    >>> values.round(3), slopes.round(1).tolist()
    (array([-67.301, -69.315]), [[100.0, 100.0], [110.0, 90.0]])
    """
    terms: list[ReportTerm] = []
    for rows, n in likelihood.W.groups(likelihood.n):
        seen = np.asarray(n) > 0
        if seen.any():
            terms.append(_one_term(rows if seen.all() else rows.select(seen), n[seen]))
    return terms[0] if len(terms) == 1 else _Sum(tuple(terms), likelihood.k)


def _one_term(rows: Rows, n: Array) -> ReportTerm:
    if isinstance(rows, JointRows) and rows.is_table:
        indices = [np.asarray(factor.index) for factor in rows.factors]
        extent = [len(factor.W) for factor in rows.factors]
        cells = np.ravel_multi_index(tuple(indices), tuple(extent))
        table = np.bincount(cells, n, prod(extent)).reshape(extent)
        matrices = tuple(np.asarray(factor.W, dtype=np.float64) for factor in rows.factors)
        return _Table(matrices, table, rows, np.asarray(n))
    if prod(rows.shape) <= _SMALL:
        return _Dense(np.ascontiguousarray(rows.dense()), np.asarray(n, dtype=np.float64))
    return _OneByOne(rows.prepared(), np.asarray(n, dtype=np.float64))


def _values(n: Array, m: Array) -> tuple[Array, Array]:
    """``sum n log m`` and n / m for m of shape (c, u); -inf and zeros where some m is not above 0.

    Entries of n that are zero count for nothing.
    """
    axes = tuple(range(1, m.ndim))
    possible = np.all((m > 0.0) | (n == 0), axis=axes)
    safe = np.where(m > 0.0, m, 1.0)
    values = np.where(possible, (n * np.log(safe)).sum(axis=axes), -np.inf)
    return values, np.where(possible.reshape(-1, *(1 for _ in axes)), n / safe, 0.0)


@dataclass(frozen=True, eq=False)
class _Dense(ReportTerm):
    W: Array
    n: Array

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        values, ratio = _values(self.n, p @ self.W.T)
        return values, ratio @ self.W

    def information(self, p: Array) -> Array:
        weighted = self.W * (np.sqrt(self.n) / (self.W @ p))[:, None]
        return np.asarray(weighted.T @ weighted)


@dataclass(frozen=True, eq=False)
class _Table(ReportTerm):
    """Reports of several variables, tabulated: `table` of shape (u_1, ..., u_d)."""

    matrices: tuple[Array, ...]
    table: Array
    rows: JointRows
    n: Array

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        P = p.reshape(len(p), *(W.shape[1] for W in self.matrices))
        values, ratio = _values(self.table, self._along(P, 1))
        return values, self._along(ratio, 0).reshape(p.shape)

    def _along(self, tables: Array, axis: int) -> Array:
        for W in self.matrices:  # each takes the first axis of the tables and puts its own last
            tables = np.tensordot(tables, W, axes=(1, axis))
        return tables

    def information(self, p: Array) -> Array:
        return self.rows.gram(self.n / self.rows.mix(p) ** 2)


@dataclass(frozen=True, eq=False)
class _OneByOne(ReportTerm):
    rows: Rows
    n: Array

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        values, ratio = _values(self.n, np.array([self.rows.mix(one) for one in p]))
        return values, np.array([self.rows.adjoint(one) for one in ratio])

    def information(self, p: Array) -> Array:
        return self.rows.gram(self.n / self.rows.mix(p) ** 2)


@dataclass(frozen=True, eq=False)
class _Sum(ReportTerm):
    """Several groups of respondents; none for no report."""

    terms: Sequence[ReportTerm]
    k: int

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        values, slopes = np.zeros(len(p)), np.zeros(p.shape)
        for term in self.terms:
            value, slope = term.evaluate(p)
            values, slopes = values + value, slopes + slope
        return values, slopes

    def information(self, p: Array) -> Array:
        return sum((term.information(p) for term in self.terms), np.zeros((self.k, self.k)))
