"""Chi-square statistics of few reports: laws of quadratic forms, from their first three moments.

A chi-square statistic is the squared norm of a sum of coordinates, one vector a report. With many
reports its law is chi-square; with few, or few that tell of a rare category, it has larger variance
and skewness: a report with an expected count of c adds 1/c to the fourth cumulant. Where the law of
a report is known, so are the moments of the statistic, for any number of reports. The tail is that
of Pearson's type III law, as for permutations (`inference.tables.permutation_moments`).

References
----------
Haldane (1937), Biometrika 29, 133-143, for Pearson's statistic. McCullagh (1987), Tensor Methods in
Statistics, chapter 3, for cumulants of polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables.permutation_moments import Cumulants
from ldpstats.inference.tables.spread import Spread, blocks_of
from ldpstats.inference.tails import chi2_pvalue

__all__ = ["Part", "ReportSums", "form_cumulants", "is_feasible"]

Array = npt.NDArray[Any]

Part = tuple[int, Array, Array]  # reports, coordinates of each, (u, r), and their law, (u,)

_WORK = 2e9  # most multiplications for the third moments: about a second
_KNOWN = 1e-10  # variance, relative to the largest, of a contrast that is known under the null
_AGREES = 1e-5  # and how far it may be from its value


def is_feasible(n_rows: int, r: int) -> bool:
    """Whether the moments of so many kinds of reports, in r coordinates, are quick to compute."""
    return min(float(n_rows), r**2 / 3.0) * n_rows * r <= _WORK


def form_cumulants(parts: Sequence[Part]) -> Cumulants:
    """Of ``|sum_i z_i|^2``, over independent reports i with coordinates z_i of mean zero.

    Parameters
    ----------
    parts : sequence of (n, z, m)
        Of each source the number of reports, the coordinates of every possible report, shape (u,
        r), and their probabilities, (u,). Coordinates are centred here.

    Returns
    -------
    Cumulants
        Exact, but for rounding.

    Notes
    -----
    With S the covariance of the sum, k3, k4 and k6 its cumulants contracted over pairs of indices,
    and v the third cumulants contracted over one pair, the mean is tr S, the variance ``2 tr S^2 +
    k4`` and the third cumulant ``8 tr S^3 + 12 tr(k4 S) + 6 |v|^2 + 4 |k3|^2 + k6``. Cumulants add
    up over reports.

    Examples
    --------
    Pearson's statistic of 10 reports of two labels, one of which is rare; Haldane's variance is
    ``2 df + (sum 1/m - l^2 - 2 l + 2) / n``:

    >>> m = np.array([0.9, 0.1])
    >>> law = form_cumulants([(10, np.diag(1 / np.sqrt(10 * m)), m)])
    >>> round(law.mean, 6), round(law.variance, 6), round(2 + (1 / 0.9 + 1 / 0.1 - 6) / 10, 6)
    (1.0, 2.511111, 2.511111)
    """
    centred = [(n, z - m @ z, m) for n, z, m in parts]
    r = centred[0][1].shape[1]
    zero, unit = np.zeros(r), np.eye(r)

    def blocks() -> Any:
        return ((z, n * m) for n, z, m in centred)

    total = Spread.of(blocks, zero, unit)
    S = np.sum([n * (z.T * m) @ z for n, z, m in centred], axis=0)
    k4, k4S, k6 = total.s2, total.r, 0.0
    for n, z, m in centred:
        own = Spread.of(blocks_of(z, m), zero, unit)
        S1 = (z.T * m) @ z
        k4 -= n * (own.t1**2 + 2.0 * own.t2)
        k4S -= n * (own.t1 * float(np.sum(S1 * S)) + 2.0 * float(np.sum((S1 @ S1) * S)))
        of_square = own.s3 - 3.0 * own.t1 * own.s2 + 2.0 * own.t1**3
        inner = own.r - own.t1 * own.t2 - 2.0 * own.t3
        k6 += n * (of_square - 8.0 * own.t3 - 12.0 * inner - 6.0 * own.b - 4.0 * own.u)
    third = 8.0 * total.t3 + 12.0 * k4S + 6.0 * total.b + 4.0 * total.u + k6
    return Cumulants(total.t1, 2.0 * total.t2 + k4, third)


@dataclass(frozen=True, eq=False)
class ReportSums:
    """Contrasts of an estimate under a null hypothesis, as means over the reports.

    Parameters
    ----------
    covariance : array, shape (q, q)
        Of the contrasts.
    parts : sequence of (array, array, int)
        Of each source: what each report counts for, (q, l), the probabilities of the reports, (l,),
        and their number. Empty where only the covariance is known.

    Examples
    --------
    Three counts of which 195, 4 and 1 are expected; chi-square would say .011:

    >>> p, n = np.array([0.975, 0.02, 0.005]), 200
    >>> u = np.eye(3)[1:]
    >>> sums = ReportSums((np.diag(p) - np.outer(p, p))[1:, 1:] / n, [(u, p, n)])
    >>> statistic, df, pvalue = sums.test(np.array([0.0, 0.015]))
    >>> round(statistic, 2), df, round(pvalue, 3)
    (9.05, 2, 0.022)
    """

    covariance: Array
    parts: Sequence[tuple[Array, Array, int]] = ()

    def test(self, gap: Array) -> tuple[float, int, float]:
        """Statistic, degrees of freedom and p-value of contrasts that are off by `gap`, (q,).

        A contrast without variance under the null is not tested where it is as the null says; else
        the p-value is 0.
        """
        variances, directions = np.linalg.eigh(self.covariance)
        varies = variances > _KNOWN * max(float(variances[-1]), 0.0)
        df = int(varies.sum())
        if np.any(np.abs(directions[:, ~varies].T @ gap) > _AGREES):
            return np.inf, gap.size, 0.0
        whitened = directions[:, varies].T / np.sqrt(variances[varies])[:, None]
        statistic = float(np.sum((whitened @ gap) ** 2))
        law, limit = self._cumulants(whitened), float(chi2_pvalue(statistic, df))
        # where next to no report of a kind is expected, three moments put all of the law at its
        # lower end: few reports make tails heavier than chi-square, never lighter
        return statistic, df, limit if law is None else max(limit, law.pvalue(statistic))

    def _cumulants(self, whitened: Array) -> Cumulants | None:
        """Cumulants of ``|s|^2``; None where reports are unknown or too many."""
        parts = [(n, (whitened @ u[:, m > 0.0] / n).T, m[m > 0.0]) for u, m, n in self.parts]
        kinds = sum(m.size for _, _, m in parts)
        if not kinds or not whitened.size or not is_feasible(kinds, len(whitened)):
            return None
        # the identity where all reports are listed; near it where a sample stands for them
        S = sum(n * np.atleast_2d(np.cov(z.T, aweights=m, ddof=0)) for n, z, m in parts)
        spread = np.linalg.eigvalsh(S)
        if spread[0] < 0.5 or spread[-1] > 2.0:
            return None
        root = np.linalg.inv(np.linalg.cholesky(S))
        return form_cumulants([(n, z @ root.T, m) for n, z, m in parts])
