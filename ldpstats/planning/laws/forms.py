"""Tests whose statistic is a quadratic form of normal variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.planning.laws.base import PlannedTest

__all__ = ["FormTest"]

Array = npt.NDArray[Any]

_RANK = 1e-10  # eigenvalue, relative to the largest, that counts as zero
_LARGEST = 4096  # order of the largest covariance matrix
_NOTHING = 1e-24  # noncentrality of one respondent that rounding leaves
_STRAIGHT = 5e-3  # skewness, over sqrt(8), below which the law is normal
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class FormTest(PlannedTest):
    """A chi-square test of a vector of estimates, whose covariance is not that of the null.

    With the null covariance S0/n the statistic is T = n d' S0^- d; the estimate d has the mean
    delta and the covariance S1/n. In coordinates in which S0 is the identity, with M = S1 there,
    its cumulants are 2^(j-1) (j-1)! (tr M^j + j n delta' M^(j-1) delta).

    Parameters
    ----------
    df : int
    spread, pull : array, shape (4,)
        tr M^j and delta' M^(j-1) delta for j = 1, 2, 3, 4.
    alpha : float
        Level of the test.

    References
    ----------
    Liu, H., Tang, Y. and Zhang, H. H. (2009), Computational Statistics & Data Analysis 53, 853-856:
    the noncentral chi-square law with these cumulants. It is exact where M is a multiple of the
    identity, as for one degree of freedom.

    Examples
    --------
    >>> FormTest.local(df=2, noncentrality=0.02, alpha=0.05).power(np.array([500.0])).round(4)
    array([0.8154])
    """

    df: int
    spread: Array
    pull: Array
    alpha: float

    @classmethod
    def local(cls, df: int, noncentrality: float, alpha: float) -> FormTest:
        """With the covariance of the null; the noncentrality is that of one respondent."""
        return cls(df, np.full(4, float(df)), np.full(4, noncentrality), alpha)

    @classmethod
    def of(cls, delta: Array, null: Array, truth: Array, alpha: float) -> FormTest:
        """From the mean, (d,), and the covariances of one respondent's estimate, (d, d)."""
        W = whitening(null)
        M, mean = W @ truth @ W.T, W @ delta
        power, spread, pull = np.eye(len(W)), [], []
        for _ in range(4):
            pull.append(float(mean @ power @ mean))
            power = power @ M
            spread.append(float(np.trace(power)))
        return cls(len(W), np.array(spread), np.array(pull), alpha)

    @property
    def differs(self) -> bool:
        return bool(self.pull[0] > _NOTHING)

    def power(self, n: Array) -> Array:
        from scipy.special import chdtrc, chdtri, chndtr, ndtr

        critical = float(chdtri(self.df, self.alpha))
        j = np.arange(1, 5)[:, None]
        c1, c2, c3, c4 = self.spread[:, None] + j * n * self.pull[:, None]
        c2 = np.maximum(c2, _TINY)
        z, skewness = (critical - c1) / np.sqrt(2.0 * c2), c3 / c2**1.5
        normal = skewness < _STRAIGHT
        s1 = np.where(normal, 1.0, skewness)
        s2 = np.where(normal, 1.0, c4 / c2**2)
        bent = s1**2 > s2 * (1.0 + 1e-12)
        root = np.sqrt(np.where(bent, s1**2 - s2, 0.0))
        a = 1.0 / (s1 - root)
        shift = np.where(bent, s1 * a**3 - a**2, 0.0)
        df = np.where(bent, a**2 - 2.0 * shift, a**2)
        x = np.maximum(z * np.sqrt(2.0) * a + df + shift, 0.0)
        near = np.where(shift > 0.0, 1.0 - chndtr(x, df, shift), chdtrc(df, x))
        return np.asarray(np.clip(np.where(normal, ndtr(-z), near), 0.0, 1.0))


def whitening(S: Array) -> Array:
    """W of shape (rank, d) with W S W' = I."""
    if len(S) > _LARGEST:
        raise NotAvailable(
            f"the power of a test of {len(S)} frequencies at once needs a matrix of that order; "
            f"the largest is {_LARGEST}: name one category, or merge categories"
        )
    size = np.sqrt(np.maximum(np.diagonal(S), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(S / np.outer(size, size))
    kept = values > _RANK * values[-1]
    if not kept.any() or values[-1] <= 0.0:
        raise NotIdentified("the reports do not vary under the null hypothesis: nothing is tested")
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T / size)
