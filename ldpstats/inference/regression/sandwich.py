"""Sandwich covariances: what scores of respondents or clusters vary by, and how well they know it.

Residuals are smaller than errors where a cluster has much of the information on a coefficient. With
``K_g`` the share of cluster g, its information in units in which that of all is the identity, the
score totals vary by ``K_g - K_g K_g`` and not by ``K_g``, if the model holds. The bias-reduced
sandwich (CR2) takes ``(I - K_g)^(-1/2)`` times each total, which makes it unbiased there; what it
takes a variance from has the moments of a chi-square variable, whose degrees of freedom follow
(Satterthwaite). Of least squares and single respondents these are HC2 and the degrees of freedom of
Bell and McCaffrey.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.estimation import estimated_totals
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Ratios

__all__ = ["MOST_CLUSTERS", "InformationShares", "cluster_sandwich", "design_meat"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


MOST_CLUSTERS = 1000  # up to which covariances of clusters are bias-reduced by default
_ALL = 1e-8  # one minus the share of a cluster that alone determines something
_BLOCK = 1 << 22  # numbers of the largest array that is made at a time
_NORMAL = 1000.0  # degrees of freedom from which on a bound of them does


@dataclass(frozen=True, eq=False)
class InformationShares:
    """How the information on parameters is spread over clusters, or respondents.

    Parameters
    ----------
    basis : array, shape (P, p)
        Parameters from units in which the information of all clusters is the identity.
    values : array, shape (G, r)
        Eigenvalues of the share of each cluster in these units, from 0 to 1.
    vectors : array, shape (G, p, r)
        Its eigenvectors.
    times : array, shape (G,)
        How many clusters, alike in all, each stands for.

    References
    ----------
    R. M. Bell and D. F. McCaffrey, Bias reduction in standard errors for linear regression with
    multi-stage samples, Survey Methodology 2002. J. E. Pustejovsky and E. Tipton, Small-sample
    methods for cluster-robust variance estimation, Journal of Business & Economic Statistics 2018.
    """

    basis: Array
    values: Array
    vectors: Array
    times: Array

    @classmethod
    def of_clusters(cls, information: Array, inverse: Array) -> InformationShares:
        """Those of clusters by their information, (G, p, p).

        Parameters
        ----------
        information : array, shape (G, p, p)
        inverse : array, shape (p, p)
            Takes scores to parameters: the inverse of the information of all.
        """
        total = information.sum(axis=0)
        scale = np.sqrt(np.diagonal(total))
        scale = np.where(scale > 0.0, scale, 1.0)
        size, axes = np.linalg.eigh(total / np.outer(scale, scale))
        size = np.maximum(size, 1e-14 * size[-1])
        root = scale[:, None] * axes * np.sqrt(size)
        back = (axes / np.sqrt(size)).T / scale
        values, vectors = np.linalg.eigh(back @ information @ back.T)
        return cls(inverse @ root, np.clip(values, 0.0, 1.0), vectors, np.ones(len(values)))

    @classmethod
    def of_rows(cls, X: Array, inverse: Array, times: Array) -> InformationShares:
        """Those of rows of least squares, X of shape (n, p) times the roots of weights."""
        size, axes = np.linalg.eigh(inverse)
        basis = axes * np.sqrt(size)
        k = X @ basis
        h = np.einsum("np,np->n", k, k)
        unit = k / np.sqrt(np.where(h > 0.0, h, 1.0))[:, None]
        return cls(basis, np.minimum(h, 1.0)[:, None], unit[:, :, None], times)

    def covariance(self, totals: Array, inverse: Array) -> Array:
        """The bias-reduced sandwich of score totals, (G, p), that `inverse` takes to parameters.

        What one cluster alone determines has no residual there, and is left out.
        """
        z = np.linalg.solve(self.basis, inverse @ totals.T).T
        share, left = self._kept(slice(None))
        along = np.einsum("gpr,gp->gr", self.vectors, z) * (share > 0.0) / np.sqrt(left)
        rows = np.einsum("gpr,gr->gp", self.vectors, along) @ self.basis.T
        return np.asarray(rows.T @ rows)

    def among(self, free: npt.NDArray[np.bool_]) -> InformationShares:
        """The same with rows of the basis for others than the `free` parameters, (P,), too."""
        basis = np.zeros((free.size, self.basis.shape[1]))
        basis[free] = self.basis
        return replace(self, basis=basis)

    def _kept(self, some: slice) -> tuple[Array, Array]:
        """Shares, zero where they are all of something, and what they leave, one there."""
        own = self.values[some]
        kept = own < 1.0 - _ALL
        return np.where(kept, own, 0.0), np.where(kept, 1.0 - own, 1.0)

    def degrees(self, L: Array) -> float:
        """Degrees of freedom of the variance of L times the first parameters, L of shape (q, m).

        Of several contrasts those of the Wishart matrix with the same total variance (Pustejovsky
        and Tipton's "HTZ"); nan where single clusters determine more than half of a contrast, so
        that its variance cannot be estimated.
        """
        ell = (L @ self.basis[: L.shape[1]]).T
        q, size = ell.shape[1], ell.size
        known, largest = np.zeros((q, q)), 0.0
        for some in self._blocks(size):
            share, left = self._kept(some)
            c = np.einsum("gpr,pq->grq", self.vectors[some], ell)
            known += np.einsum("gr,grq,grs->qs", share * self.times[some, None], c, c)
            if q == 1:
                each = (share / left * c[:, :, 0] ** 2).sum(axis=1)
                largest = max(largest, float(each.max(initial=0.0)))
        wide, axes = np.linalg.eigh(known)
        if wide[0] <= 1e-12 * np.trace(ell.T @ ell):
            return float("nan")
        if np.linalg.eigvals(np.linalg.solve(known, ell.T @ ell)).real.max() > 2.0:
            return float("nan")
        if q == 1 and known[0, 0] >= _NORMAL * largest:
            return float(known[0, 0] / largest)  # a bound from below
        return float(q * (q + 1.0) / self._variance(ell @ (axes / np.sqrt(wide))))

    def _variance(self, ell: Array) -> float:
        """Sum of the variances of the entries of the estimated covariance of contrasts, (p, q).

        The scores are normal, and the covariance is the identity on average.
        """
        p, q = ell.shape
        own, T = 0.0, np.zeros((ell.size, ell.size))
        for some in self._blocks(ell.size):
            share, left = self._kept(some)
            vectors, times = self.vectors[some], self.times[some]
            c = np.einsum("gpr,pq->grq", vectors, ell)
            A = np.einsum("gr,grq,grs->gqs", share / left, c, c)
            U = np.einsum("gpr,grq->gpq", vectors, c * (share / np.sqrt(left))[:, :, None])
            UU = np.einsum("gpq,gps->gqs", U, U)
            a, u = (np.einsum("gqq->g", one) for one in (A, UU))
            squares = np.einsum("gqs,gqs->g", A, A - 2.0 * UU)
            own += float(times @ (a * (a - 2.0 * u) + squares))
            flat = U.reshape(len(U), -1)
            T += (flat * times[:, None]).T @ flat
        pairs = T.reshape(p, q, p, q)
        return own + float((T**2).sum() + np.einsum("asbt,atbs->", pairs, pairs))

    def _blocks(self, width: int) -> Iterator[slice]:
        step = max(1, _BLOCK // max(width, 1))
        for start in range(0, len(self.values), step):
            yield slice(start, start + step)


def _totals(scores: Array, place: Codes, weights: Array, groups: Codes, n_groups: int) -> Array:
    """Weighted totals of scores by cluster, (G, p)."""
    from scipy.sparse import csr_array

    table = csr_array((weights, (groups, place)), shape=(n_groups, len(scores)))
    return np.asarray(table @ scores)


def cluster_sandwich(
    rows: tuple[Array, Array, Array, Array],
    inverse: Array,
    n: float,
    correct: bool | None,
    information: Array | None = None,
) -> tuple[Array, InformationShares | None]:
    """Covariance by clusters of parameters, (p, p), and shares if it is the bias-reduced one.

    Parameters
    ----------
    rows : scores (u, p), place (n,), weights (n,) and groups (n,)
        Scores of each kind of row; the kind, weight and cluster, from 0, of each respondent.
    inverse : array, shape (p, p)
        Takes scores to parameters.
    n : float
        Respondents.
    correct : bool or None
        Whether there is a factor for few clusters; None for the bias-reduced covariance.
    information : array, shape (G, p, p), optional
        Of the clusters; by default the products of the scores of their rows.
    """
    scores, place, weights, groups = rows
    n_groups, p = int(groups.max()) + 1, scores.shape[1]
    totals = _totals(scores, place, weights, groups, n_groups)
    if correct is None:
        if information is None:
            products = (scores[:, :, None] * scores[:, None, :]).reshape(len(scores), -1)
            information = _totals(products, place, weights, groups, n_groups)
            information = information.reshape(n_groups, p, p)
        shares = InformationShares.of_clusters(information, inverse)
        return shares.covariance(totals, inverse), shares
    factor = n_groups / (n_groups - 1.0) * ((n - 1.0) / (n - p)) if correct else 1.0
    return inverse @ (factor * (totals.T @ totals)) @ inverse.T, None


def design_meat(sample: Sample, scores: Array, at: Codes) -> Array:
    """Covariance of the weighted score totals under the design of a sample, (p, p).

    Finite population corrections are not used: coefficients describe a law, not a population.

    Parameters
    ----------
    sample : Sample
        Of c cells.
    scores : array, shape (u, p)
    at : array of int64, shape (c,)
        The score of each cell; -1 for none.
    """
    none = np.zeros((scores.shape[1], scores.shape[1]))
    free = sample.without_corrections()
    free.refuse_single_units()
    totals = estimated_totals(free, Scores(((at, scores),)), none, none)
    return totals.covariance_of(Ratios(np.eye(scores.shape[1])))
