"""Variances of weighted totals from given columns of replicate weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.sample import Replication, Sample, Scores, dense

__all__ = ["KINDS", "GivenWeights", "scales_of"]

Array = npt.NDArray[Any]

KINDS = (
    "BRR",
    "Fay",
    "JK1",
    "JK2",
    "JKn",
    "bootstrap",
    "successive-difference",
    "ACS",
    "other",
)
_DEPENDENT = 1e-5  # of a column's length: what is left of it if it depends on others, as in R


def scales_of(
    kind: str,
    n: int,
    rho: float | None = None,
    scale: float | None = None,
    rscales: Array | None = None,
) -> Array:
    """What the squared deviation of each of n replicates counts, as R's svrepdesign has it, (n,).

    Wolter (2007, Introduction to Variance Estimation, chapters 3 to 5); for successive differences
    Fay and Train (1995).
    """
    known = {
        "BRR": 1.0 / n,
        "Fay": 1.0 / (n * (1.0 - (rho or 0.0)) ** 2),
        "JK1": (n - 1.0) / n,
        "bootstrap": 1.0 / (n - 1.0) if n > 1 else np.inf,
        "successive-difference": 4.0 / n,
        "ACS": 4.0 / n,
    }
    common = known.get(kind, 1.0) if scale is None else scale
    return np.full(n, common) * (1.0 if rscales is None else rscales)


@dataclass(frozen=True, eq=False)
class GivenWeights(Replication):
    """Replicates whose weights somebody else made.

    Parameters
    ----------
    weights : array, shape (c, R)
        Sums of the replicate weights of each cell.
    scale : array, shape (R,)
        See `scales_of`.
    about_estimate : bool
        Whether deviations are from the estimate, not from the mean of the replicates.
    df : float, optional
        Degrees of freedom; by default the rank of the weights less one.
    """

    weights: Array
    scale: Array
    about_estimate: bool = False
    df: float | None = None

    def scales(self, sample: Sample) -> Array:
        return self.scale

    def totals(self, sample: Sample, scores: Scores) -> Array:
        from scipy.sparse import csr_array

        found = np.zeros((scores.size, len(self.scale)))
        for at, table in scores.parts:
            there = np.flatnonzero(at >= 0)
            shape = (table.shape[0], len(at))
            sums = csr_array((np.ones(there.size), (at[there], there)), shape=shape) @ self.weights
            found += dense(table.T @ sums)
        return found.T

    def degrees_of_freedom(self, sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
        return _rank(self.weights[inside]) - 1.0 if self.df is None else self.df

    def missed(self, sample: Sample) -> Array:
        return np.zeros(sample.w.shape)

    def rest(self, sample: Sample, scores: Scores) -> Array:
        return np.zeros((scores.size, scores.size))

    def times(self, factor: Array) -> GivenWeights:
        return replace(self, weights=self.weights * factor[:, None])


def _rank(weights: Array) -> int:
    """Number of columns that do not depend on others, by a pivoted Cholesky decomposition."""
    from scipy.linalg.lapack import dpstrf

    products = weights.T @ weights
    length = np.sqrt(np.diagonal(products))
    there = np.flatnonzero(length > 0.0)
    if not there.size:
        return 0
    cosines = products[np.ix_(there, there)] / np.outer(length[there], length[there])
    return int(dpstrf(cosines, tol=_DEPENDENT**2)[2])
