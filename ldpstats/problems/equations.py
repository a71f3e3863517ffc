"""Moments: linear equations in p that the report counts satisfy on average."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ldpstats.errors import NotIdentified
from ldpstats.problems.covariance import Covariance, block_diagonal
from ldpstats.problems.problem import Array
from ldpstats.problems.simplex import project_simplex

__all__ = ["Equations", "Moments", "pool", "precisions"]


class Moments(ABC):
    """Linear equations in p that the frequencies of reports satisfy on average.

    What matters of them is the unbiased linear estimate of p and its covariance.
    """

    # annotations only: a subclass has them as fields or as properties
    kind: str  # "labels", "bits", "cohorts" or "pooled": what the frequencies are of
    nobs: int  # number of reports

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories or candidates."""

    @abstractmethod
    def estimate(self) -> tuple[Array, str]:
        """The linear estimate, shape (k,), and how well it fits, in words.

        Raises
        ------
        NotIdentified
            Where different p give the same reports.
        """

    @abstractmethod
    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the linear estimate if the frequencies are p.

        By default p is `plug_in`.
        """

    @property
    def condition(self) -> float:
        """Condition number of the map from p to the law of the reports; about, where p is long.

        What is wrong in the entries of a channel is multiplied by it in the estimate, and so is the
        noise of the reports. One where it is not known.
        """
        return 1.0

    def plug_in(self) -> Array:
        """The linear estimate projected onto the simplex.

        Where the estimate is a distribution, covariances at this p are the plug-in of the observed
        frequencies; elsewhere it keeps reports that were not seen from passing for impossible ones.
        """
        return project_simplex(self.estimate()[0])


@dataclass(frozen=True, eq=False)
class Equations(Moments):
    """Linear equations ``E[t] = offset + A p`` with ``Var(t) = V(p)``.

    Parameters
    ----------
    A : float or array, shape (k,) or (d, k)
        Design. A float stands for that multiple of the identity (d = k), which k-RR, binary
        designs and unary reports have and which keeps k = 1e6 cheap; shape (k,) for a diagonal.
    offset : float or array, shape (d,)
        Added to the equations.
    t : array, shape (d,)
        Observed frequencies, of outputs or of bits.
    V : callable
        Covariance of t as a function of p in the simplex, shape (k,) -> `Covariance` of size d.
    weights : array, shape (d,)
        Precision of the equations at the uniform p, for least squares: fixed before the data are
        seen, so that weighting leaves the estimate unbiased.
    nobs : int
        Number of reports.
    kind : {"labels", "bits", "lumped", "sensitive", "pooled"}
        Frequencies of labels (they sum to one), of bits, of the bits of all categories but the last
        and then the sum of p, of bits that are noised for sensitive categories only, or of several
        sources together.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> warner = ldp.Warner(epsilon=np.log(3))
    >>> problem = warner.moments(warner.counts([60, 40]))   # P(no) = 0.25 + 0.5 p
    >>> round(problem.A, 12), problem.t
    (0.5, array([0.6, 0.4]))
    """

    A: float | Array
    offset: float | Array
    t: Array
    V: Callable[[Array], Covariance]
    weights: Array
    nobs: int
    kind: str = "labels"

    @property
    def k(self) -> int:
        return int(np.shape(self.A)[1] if np.ndim(self.A) == 2 else self.t.size)

    @property
    def condition(self) -> float:
        if np.ndim(self.A) == 2:
            values = np.linalg.svd(self.A + np.reshape(self.offset, (-1, 1)), compute_uv=False)
            return (
                float(values[0] / values[-1])
                if values[-1] > 0.0 and len(values) == self.k
                else np.inf
            )
        slope, k = np.abs(self.A), self.k  # exact where all categories are alike
        background = np.sqrt(k) * np.linalg.norm(np.broadcast_to(self.offset, (k,)))
        return float((np.max(slope) + background) / np.min(slope))

    def estimate(self) -> tuple[Array, str]:
        G, moved = self.inverse, np.asarray(self.t - self.offset, dtype=np.float64)
        if np.ndim(G) < 2:
            return moved * G, "one equation per category, solved exactly"
        p = G @ moved
        misfit = float(np.abs(moved - self.A @ p).max())
        return p, (
            f"least squares of {moved.size} equations, weights their precision at the uniform p: "
            f"largest misfit {misfit:.2e}"
        )

    def plug_in(self) -> Array:
        """The linear estimate projected onto the simplex, see `Moments.plug_in`.

        Where some categories are reported with less noise than others (uRR, uRAP) distances are
        counted in standard errors, at the estimate without its negative entries. All categories
        would else make up alike for what is the noise of a few: those that are known well would
        end far from where they were seen to be, often at zero.
        """
        p = self.estimate()[0]
        precision = np.square(self.A) * self.weights if np.ndim(self.A) < 2 else np.ones(1)
        if np.ptp(precision) <= 1e-9 * np.max(precision) or np.max(p) <= 0.0:
            return project_simplex(p)
        positive = np.maximum(p, 0.0)
        return project_simplex(p, self.covariance(positive / positive.sum()).variances())

    def covariance(self, p: Array | None = None) -> Covariance:
        G, V = self.inverse, self.V(self.plug_in() if p is None else p)
        if np.ndim(G) < 2:
            return V.stretched(G)
        G, found = np.asarray(G), V.transform(np.asarray(G))
        size = np.abs(G) @ np.sqrt(V.variances())  # standard errors if nothing cancelled
        known = np.diagonal(found) <= 1e-13 * size**2
        found[known] = found[:, known] = 0.0  # what is left of them is rounding
        return Covariance.dense(found)

    @cached_property
    def inverse(self) -> float | Array:
        """The G of the linear estimate ``p = G (t - offset)``, whose covariance is G V(p) G'.

        Weighted least squares: ``G = (A' D A)^-1 A' D`` with D the diagonal of `weights`, which is
        A^-1 for a square A. Equations of weight zero are left out. A float g stands for g times the
        identity and shape (k,) for a diagonal, as in `A`; else the shape is (k, d).

        Raises
        ------
        NotIdentified
            Where the rank of A is below k, so that different p give the same reports.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> warner = ldp.Warner(epsilon=np.log(3.0))   # Q = [[.75, .25], [.25, .75]] = I/2 + 11'/4
        >>> round(warner.moments(warner.counts([60, 40])).inverse, 12)
        2.0
        """
        if np.ndim(self.A) < 2:
            if not np.all(self.A):
                raise NotIdentified(
                    "every category gives the same reports; use a mechanism with epsilon > 0"
                )
            return 1.0 / np.asarray(self.A) if np.ndim(self.A) else 1.0 / float(self.A)
        A = np.asarray(self.A, dtype=np.float64)
        d, k = A.shape
        root = np.sqrt(np.broadcast_to(np.asarray(self.weights, dtype=np.float64), (d,)))
        left, values, right = np.linalg.svd(root[:, None] * A, full_matrices=False)
        rank = int(np.sum(values > max(d, k) * np.finfo(np.float64).eps * values[0]))
        if rank < k:
            raise NotIdentified(
                f"the {d} equations for {k} categories have rank {rank}: {k - rank} more "
                "independent outputs, bits or cohorts are needed; collect them, or merge "
                "categories that give the same reports"
            )
        return np.asarray((right.T / values) @ left.T * root)


def pool(problems: Sequence[Equations]) -> Equations:
    """One problem from several independent sources about the same p.

    Sources that each have their own equation per category are averaged, weighted by their
    precision at the uniform p; otherwise all equations are stacked.
    """
    nobs = sum(problem.nobs for problem in problems)
    if all(np.ndim(problem.A) < 2 for problem in problems):
        return _averaged(problems, nobs)
    design = [
        np.asarray(problem.A) if np.ndim(problem.A) == 2 else np.eye(problem.k) * problem.A
        for problem in problems
    ]
    return Equations(
        A=np.vstack(design),
        offset=np.concatenate([np.broadcast_to(q.offset, q.t.shape) for q in problems]),
        t=np.concatenate([problem.t for problem in problems]),
        V=lambda p: block_diagonal([problem.V(p) for problem in problems]),
        weights=np.concatenate([problem.weights for problem in problems]),
        nobs=nobs,
        kind="pooled",
    )


def precisions(problems: Sequence[Equations]) -> tuple[Array, Array]:
    """Slopes of the equations of several sources, and precision of their estimates at uniform p.

    Both of shape (sources, k); for sources that each have their own equation per category.
    """
    k = problems[0].weights.size
    slopes = np.array([np.broadcast_to(problem.A, k) for problem in problems], dtype=np.float64)
    return slopes, slopes**2 * [problem.weights for problem in problems]


def _averaged(problems: Sequence[Equations], nobs: int) -> Equations:
    slopes, precision = precisions(problems)
    factor = precision / precision.sum(axis=0) / slopes  # of each source's t in the average

    def combined(covariances: Sequence[Covariance]) -> Covariance:
        parts = [v.stretched(c) for v, c in zip(covariances, factor, strict=True)]
        return reduce(Covariance.__add__, parts)

    return Equations(
        A=1.0,
        offset=0.0,
        t=np.sum([c * (q.t - q.offset) for c, q in zip(factor, problems, strict=True)], axis=0),
        V=lambda p: combined([problem.V(p) for problem in problems]),
        weights=precision.sum(axis=0),
        nobs=nobs,
        kind="pooled",
    )
