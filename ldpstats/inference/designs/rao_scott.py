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
from ldpstats.errors import NotAvailable
from ldpstats.inference.outcome import TestResult

__all__ = ["METHODS", "RaoScott", "corrected", "metric"]

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
