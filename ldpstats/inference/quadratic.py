"""Tests of several restrictions together: the law of a quadratic form of means of reports.

The statistic is ``T = |s|^2`` of a vector s of mean zero and covariance I under the null, a sum of
independent contributions of the reports. With many reports T is chi-square. With few, or few that
tell of a rare category, it has larger variance and skewness; both are known where the law of a
report is, and Pearson's type III law with these moments keeps the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables.permutation_moments import Cumulants
from ldpstats.inference.tails import chi2_pvalue

__all__ = ["ReportSums"]

Array = npt.NDArray[np.float64]

_KNOWN = 1e-10  # variance, relative to the largest, of a contrast that is known under the null
_AGREES = 1e-5  # and how far it may be from its value
_MOST_OPERATIONS = 2e10  # multiplications that third cumulants may take: about 2 s
_LARGEST_GRAM = 1 << 24  # entries of a matrix of all pairs of reports


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
        """Cumulants of ``|s|^2``; None where the reports are not known, or too many of them.

        With joint cumulants of s, k_ab.. contracted over pairs of indices: the mean is df, the
        variance ``2 df + k_aabb``, and the third cumulant ``8 df + 12 k_aabb + 6 k_aac k_bbc + 4
        k_abc k_abc + k_aabbcc``.
        """
        df = len(whitened)
        parts = [(whitened @ u[:, m > 0.0] / n, m[m > 0.0], n) for u, m, n in self.parts]
        cost = sum(df * m.size * min(df**2, m.size) for _, m, _ in parts)
        if not df or not parts or cost > _MOST_OPERATIONS:
            return None
        k4 = k6 = 0.0
        lean, each = np.zeros(df), []
        for u, m, n in parts:
            z = u - (u @ m)[:, None]
            square = np.einsum("ay,ay->y", z, z)
            S, own = (z * m) @ z.T, z @ (m * square)
            t, t2, t3 = np.trace(S), np.sum(S * S), np.sum(S * (S @ S))
            fourth = m @ square**2 - t**2 - 2.0 * t2
            M = (z * (m * square)) @ z.T - t * S - 2.0 * S @ S
            sixth = m @ square**3 - t**3 - 6.0 * t * t2 - 8.0 * t3 - 3.0 * t * fourth
            sixth -= 12.0 * np.sum(S * M) + 6.0 * own @ own + 4.0 * _third([(z, m)])
            k4, k6, lean = k4 + n * fourth, k6 + n * sixth, lean + n * own
            each.append((z, n * m))
        third = 8.0 * df + 12.0 * k4 + 6.0 * lean @ lean + 4.0 * _third(each) + k6
        return Cumulants(float(df), float(2.0 * df + k4), float(third))


def _third(parts: Sequence[tuple[Array, Array]]) -> float:
    """Sum of the squares of all third moments ``sum_y w_y z_ay z_by z_cy``."""
    z, w = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    if w.size <= min(len(z) ** 2, _LARGEST_GRAM**0.5):
        gram = z.T @ z
        return float(w @ (gram * gram * gram) @ w)
    return float(sum(np.sum(((z * (row * w)) @ z.T) ** 2) for row in z))
