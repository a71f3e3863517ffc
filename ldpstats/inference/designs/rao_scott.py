"""Tests of tables from complex samples: Pearson's statistic and what the design makes of it.

The reports of a respondent are decoded to phi, an unbiased estimate of the indicator of the true
category. Departures from a hypothesis are linear in weighted totals of phi; Pearson's statistic is
their quadratic form in the metric of a simple random sample. For labels of a square channel it is
Pearson's chi-square of the weighted table of reports.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of
from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.totals import Ratios, Totals
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.tails import chi2_pvalue

__all__ = ["METHODS", "RaoScott", "fit_to", "independence", "metric", "observed_effects"]

Array = npt.NDArray[Any]

METHODS = {
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

    def test(self, null: str, method: str = "first") -> TestResult:
        """The test of the hypothesis that is put in words, by one of `METHODS`.

        References
        ----------
        J. N. K. Rao, A. J. Scott (1984), On chi-squared tests for multiway contingency tables with
        cell proportions estimated from survey data, Annals of Statistics 12, 46-60, equations (4.2)
        and (4.5); R. E. Fay (1979) for the adjusted Wald test.
        """
        words = METHODS[one_of("method", method, tuple(METHODS))]
        if not self.trace > 0.0:
            raise NotAvailable("the departures have no variance: there is nothing to test")
        if method.startswith("wald"):
            return self._wald(null, words, method == "wald-adjusted")
        first = method.startswith("first")
        d = float(self.d) if first else self.trace**2 / self.trace2
        if method.endswith("chi2"):
            return TestResult.chi_square(null, self.pearson * d / self.trace, d, words)
        return _f_test(null, self.pearson / self.trace, d, d * self._freedom(d), words)

    def _wald(self, null: str, words: str, adjusted: bool) -> TestResult:
        if np.isnan(self.wald):
            raise NotAvailable(
                f"the covariance of {self.d} departures from {self.nu:g} degrees of freedom of the "
                "design is singular: use method='first'"
            )
        if not adjusted:
            return _f_test(null, self.wald / self.d, self.d, self._freedom(self.d), words)
        rest = self._freedom(self.d) - self.d + 1.0
        if rest <= 0.0:
            raise NotAvailable(
                f"the adjusted Wald test of {self.d} departures needs {self.d} degrees of freedom "
                f"of the design or more, not {self.nu:g}: use method='first'"
            )
        return _f_test(null, self.wald * rest / (self.d * self.nu), self.d, rest, words)

    def _freedom(self, d: float) -> float:
        if self.nu <= 0.0:
            raise NotAvailable("the design has no degrees of freedom: join its strata")
        return self.nu

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: number_to_json(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> RaoScott:
        """Inverse of `to_dict`."""
        given = {name: number_from_json(value) for name, value in document.items()}
        return cls(**given | {"d": int(given["d"])})


def _f_test(null: str, statistic: float, d: float, below: float, words: str) -> TestResult:
    """A statistic that has an F law under the null."""
    from scipy.special import fdtrc

    p = float(fdtrc(d, below, max(statistic, 0.0)))
    return TestResult(null, float(statistic), (float(d), float(below)), p, words)


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


def independence(
    totals: Totals, shape: tuple[int, int], metrics: tuple[Array, Array], n: float, nu: float
) -> RaoScott:
    """Pearson's statistic of independence, corrected with effects under the hypothesis.

    With r and c the margins of the estimated table P, of which L_x and L_y are the `metrics` under
    simple random sampling, ``X2 = n |L_x' (P - r c') L_y|^2``, and the matrix of design effects is
    n times the covariance of ``L_x' (P - r c') L_y`` under the design.

    Parameters
    ----------
    totals : Totals
        Of ``phi_x kron phi_y``, phi_x, phi_y and one: shape (a b + a + b + 1,). The hypothesis is
        about what the population was drawn from, so that the design has no corrections for finite
        populations.
    shape : tuple
        Categories a and b of the two variables.
    metrics : tuple of array
        See `metric`, shapes (a, d_x) and (b, d_y).
    n : float
        Respondents.
    nu : float
        Degrees of freedom of the design.

    Raises
    ------
    NotAvailable
        If a variable has one category only.
    """
    (a, b), T = shape, totals.estimate
    cells, N = a * b, T[-1]
    P = T[:cells].reshape(shape) / N
    r, c = T[cells : cells + a] / N, T[cells + a : -1] / N
    Lx, Ly = metrics
    L = np.kron(Lx, Ly)
    if L.shape[1] == 0:
        raise NotAvailable("independence: a variable has one category only in this sample")
    shares = np.eye(T.size)[:-1]
    of_N = np.zeros_like(shares)
    of_N[:, -1] = 1.0
    moved = np.hstack([np.eye(cells), -np.kron(np.eye(a), c[:, None]), -np.kron(r[:, None], np.eye(b))])
    departure = L.T @ (P - np.outer(r, c)).ravel()
    effects = n * totals.covariance_of(Ratios(shares, of_N, L.T @ moved))
    # of the totals themselves, as R's survey has it
    whole = np.hstack([moved, np.outer(r, c).reshape(-1, 1)]) / N
    return _corrected(departure, effects, totals.covariance_of(Ratios(L.T @ whole)), n, nu)


def _corrected(departure: Array, effects: Array, V: Array, n: float, nu: float) -> RaoScott:
    """The record of departures that have unit covariance under simple random sampling, times n."""
    wald = float("nan")
    values = np.linalg.eigvalsh(V)
    if values[0] > _ZERO * max(float(values[-1]), 0.0):
        wald = float(departure @ np.linalg.solve(V, departure))
    trace2 = float(np.sum(effects * effects.T))
    return RaoScott(
        n * float(departure @ departure), departure.size, float(np.trace(effects)), trace2, wald, nu
    )
