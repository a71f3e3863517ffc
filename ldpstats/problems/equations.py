"""Equations between p and the frequencies of reports: of labels, or of bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpstats.errors import NotIdentified
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.laws import bit_moments, label_moments
from ldpstats.problems.moments import LARGEST_LIST, Array, Check, Estimable, Moments, OwnCounts
from ldpstats.problems.reach import Pair, bit_reach, label_reach, own_reach, picked
from ldpstats.problems.report_law import ReportLaw, ReportPart
from ldpstats.problems.simplex import project_simplex
from ldpstats.problems.spectra import spectral_norm
from ldpstats.problems.tallies import PathLaw, Tallies

__all__ = ["Equations", "Moments"]

_LARGE = 512  # equations from which on singular values take longer than all else
_CLEAR = 1e7  # condition number up to which a matrix has full rank whatever the rounding
_MANY = 10  # reports from which on their observed frequency is the better plug-in
_LARGEST_LAW = 1 << 20  # numbers that results may hold for the sake of tests
_LISTED = ("labels", "bits", "sensitive")  # equations whose reports have a law that can be listed
_CHECKS = {
    "labels": (Check.NEGATIVE,),
    "bits": (Check.ONES,),
    "subsets": (Check.NEGATIVE,),
    "blocks": (Check.NEGATIVE,),
    "lumped": (Check.NEGATIVE,),
    "sensitive": (Check.NEGATIVE, Check.SUM),
    "pooled": (),
}


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
    kind : {"labels", "bits", "subsets", "blocks", "lumped", "sensitive", "pooled"}
        Frequencies of labels (they sum to one), of independent bits, of the bits of subsets of one
        size, of categories in the blocks of labels, of the bits of all categories but the last and
        then the sum of p, of bits that are noised for sensitive categories only, or of several
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
    def is_dense(self) -> bool:
        """Whether A is a matrix, and not one equation a category."""
        return np.ndim(self.A) == 2

    @cached_property
    def condition(self) -> float:
        if self.is_dense:
            if self._solved is not None and not np.any(self.offset):
                return spectral_norm(np.asarray(self.A)) * spectral_norm(self._solved)
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
        return self._plugged_in

    @cached_property
    def _plugged_in(self) -> Array:
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

    def null_standard_errors(self) -> Array:
        """With one equation a category, variance j depends on p_j alone, so a vertex gives it.

        Otherwise the remaining mass is taken from the projected estimate without category j.
        """
        G, k = self.inverse, self.k
        if np.ndim(G) < 2:
            vertex = np.eye(1, k)[0]
            variances = self.V(vertex).variances()
            variances[0] = self.V(np.roll(vertex, 1)).variances()[0]
            return np.asarray(np.sqrt(variances) * np.abs(G))
        p, found = self.plug_in(), np.empty(k)
        for j in range(k):
            absent = np.arange(k) == j
            others = np.where(absent, 0.0, p)
            if others.sum() == 0.0:
                others = np.where(absent, 0.0, 1.0)
            found[j] = self._null_variance(np.asarray(G)[j], others / others.sum())
        return np.sqrt(found)

    def _null_variance(self, g: Array, p: Array) -> float:
        """Variance of ``g t`` at p; zero where only rounding is left."""
        V = self.V(p)
        without_cancellation = float(np.abs(g) @ np.sqrt(V.variances())) ** 2
        variance = float(V.transform(g[None])[0, 0])
        return variance if variance > 1e-13 * without_cancellation else 0.0

    @property
    def features(self) -> tuple[float, float]:
        """Least and largest entry of t of one report, where each category has an equation."""
        return 0.0, 1.0

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        if len(self.sources) > 1:
            return super().reach(pair)
        if not self.is_dense:
            return own_reach(self.inverse, self.offset, self.k, self.features, pair)
        weights = picked(np.asarray(self.inverse), pair)
        base = weights @ np.broadcast_to(self.offset, self.t.shape)
        if self.kind == "lumped":  # the last equation is the same for all reports
            base, weights = base - weights[:, -1], weights[:, :-1]
        low, high = (bit_reach if self.kind == "lumped" else label_reach)(weights)
        return low - base, high - base

    @cached_property
    def inverse(self) -> float | Array:
        """The G of the linear estimate ``p = G (t - offset)``, whose covariance is G V(p) G'.

        Weighted least squares: ``G = (A' D A)^-1 A' D`` with D the diagonal of `weights`, which is
        A^-1 for a square A. Equations of weight zero are left out. A float g stands for g times the
        identity and shape (k,) for a diagonal, as in `A`; else the shape is (k, d).
        """
        if np.ndim(self.A) < 2:
            if not np.all(self.A):
                raise NotIdentified(
                    "every category gives the same reports; use a mechanism with epsilon > 0"
                )
            return 1.0 / np.asarray(self.A) if np.ndim(self.A) else 1.0 / float(self.A)
        if self._solved is not None:
            return self._solved
        A = np.asarray(self.A, dtype=np.float64)
        d, k = A.shape
        root = self._root
        left, values, right = np.linalg.svd(root[:, None] * A, full_matrices=False)
        rank = int(np.sum(values > max(d, k) * np.finfo(np.float64).eps * values[0]))
        if rank < k:
            raise NotIdentified(
                f"the {d} equations for {k} categories have rank {rank}: {k - rank} more "
                "independent outputs, bits or cohorts are needed; collect them, or merge "
                "categories that give the same reports"
            )
        return np.asarray((right.T / values) @ left.T * root)

    @property
    def _root(self) -> Array:
        """Square roots of the weights, shape (d,)."""
        weights = np.asarray(self.weights, dtype=np.float64)
        return np.sqrt(np.broadcast_to(weights, self.t.shape))

    @cached_property
    def _solved(self) -> Array | None:
        """A^-1 for a large square A whose rank is beyond doubt; None for others.

        The product of the Frobenius norms bounds the condition number.
        """
        A = np.asarray(self.A, dtype=np.float64)
        if A.ndim < 2 or len(A) < _LARGE or A.shape[1] != len(A) or not np.all(self._root > 0.0):
            return None
        try:
            found = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return None
        bound = np.linalg.norm(self._root[:, None] * A) * np.linalg.norm(found / self._root)
        return found if bound < _CLEAR else None

    # -- what can be tested --------------------------------------------------------------------

    @property
    def sources(self) -> tuple[Equations, ...]:
        """The equations of each source that was pooled to these."""
        return (self,)

    @property
    def checks(self) -> tuple[Check, ...]:
        if self.kind == "labels" and self.is_dense:
            return (Check.LAWS,)
        return _CHECKS[self.kind]

    def estimable(self, p: Array, contrasts: Array) -> Estimable:
        try:
            return super().estimable(p, contrasts)
        except NotIdentified:  # what a source tells that withholds reports, say
            A, root = np.asarray(self.A, dtype=np.float64), np.sqrt(self.weights)
        left, values, right = np.linalg.svd(root[:, None] * A, full_matrices=False)
        rank = int(np.sum(values > max(A.shape) * np.finfo(np.float64).eps * values[0]))
        G = (left[:, :rank] / values[:rank]).T * root
        return Estimable(right[:rank], G, self.t - self.offset, self.V(p), True)

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        if self.kind != "labels" or np.ndim(self.A) > 0:
            return None
        return np.rint(self.t * self.nobs), self.offset + self.A * p

    def rules_out(self, p: Array) -> bool:
        if self.is_dense:
            return False
        return bool(np.any((self.offset + self.A * p <= 0.0) & (self.t > 0.0)))

    # -- laws of the linear estimate -----------------------------------------------------------

    @property
    def _tallies(self) -> Array:
        """How often each output, or bit, was reported; shape (d,)."""
        return np.asarray(np.rint(self.t * self.nobs).astype(np.int64))

    def exact_form(self) -> ExactForm | None:
        if not self.is_dense:
            offset = np.broadcast_to(self.offset, self.t.shape).astype(np.float64)
            scale = np.broadcast_to(self.A, self.t.shape).astype(np.float64)
            return ExactForm(self._tallies, self.nobs, offset, scale)
        if self.kind == "lumped":  # a bit of each category but the last, which none is counted for
            offset, scale = np.array(self.offset), np.diagonal(self.A).copy()
            offset[-1] = scale[-1] = np.nan
            return ExactForm(self._tallies, self.nobs, offset, scale)
        return self._two_weights() if self.kind == "labels" else None

    def _two_weights(self) -> ExactForm | None:
        """The exact form of categories whose estimate weighs all reports with two weights only."""
        try:
            G = np.asarray(self.inverse)
        except NotIdentified:  # of a source that others complete
            return None
        low, high = G.min(axis=1), G.max(axis=1)
        tolerance = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
        counted = high[:, None] - G <= tolerance
        known = np.all(counted | (G - low[:, None] <= tolerance), axis=1) & (high > low)
        scale = np.divide(1.0, high - low, out=np.full(low.shape, np.nan), where=known)
        offset = np.where(np.abs(low) <= tolerance[:, 0], 0.0, -low) * scale
        return ExactForm(counted @ self._tallies, self.nobs, offset, scale)

    def own_counts(self) -> OwnCounts | None:
        if self.is_dense:
            return None
        offset, slope = (np.broadcast_to(v, self.t.shape) for v in (self.offset, self.A))
        return OwnCounts(self.nobs, offset, slope, slope**2 * self.weights)

    def report_law(self, p: Array | None = None) -> ReportLaw | None:
        """The law of the linear estimate; None for bits and hashes, and for very many categories.

        Reports have their observed frequencies, or where fewer than ten were seen at least the
        probability under p: what was not seen is not impossible.
        """
        size = sum(q.t.size * (2 * q.k if self.is_dense else 1) for q in self.sources)
        if any(q.kind != "labels" for q in self.sources) or size > _LARGEST_LAW:
            return None
        at, parts = self.plug_in() if p is None else p, []
        for q, weights, slopes in zip(self.sources, self._weights(), self._slopes(), strict=True):
            step = q.A @ at if q.is_dense else q.A * at
            expected = np.maximum(q.offset + step, 0.0)
            law = np.where(q.t * q.nobs >= _MANY, q.t, np.maximum(q.t, expected))
            parts.append(ReportPart(weights, slopes, law / law.sum(), q.nobs))
        return ReportLaw(tuple(parts))

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        found = []
        for q, weights in zip(self.sources, self._weights(), strict=True):
            kinds = q.kinds_of_reports(p)
            if kinds is None:
                return None
            t, law = kinds
            each = t * weights if weights.ndim == 1 else t @ weights.T
            found.append((q.nobs, np.asarray(each / q.nobs), law))
        return found

    def kinds_of_reports(self, p: Array) -> tuple[Array, Array] | None:
        """The t that one report of each kind makes, (u, d), and their law at p; None if too many.

        Each label is a kind, or each pattern of bits.
        """
        d = self.t.size
        if self.kind == "labels" and d * d <= LARGEST_LIST:
            law = self.offset + (self.A @ p if self.is_dense else self.A * p)
            law = np.maximum(law, 0.0)  # of rounding
            return np.eye(d), law / law.sum()
        if self.kind != "bits" or self.is_dense or d * 2.0**d > LARGEST_LIST:
            return None
        bits = (np.arange(1 << d)[:, None] >> np.arange(d)) % 2 == 1
        absent, present = (np.broadcast_to(m, d) for m in (self.offset, self.offset + self.A))
        noise = np.where(bits, absent, 1.0 - absent)
        own, law = np.where(bits, present, 1.0 - present), np.zeros(len(bits))
        for x in range(d):  # without a quotient: a bit may be certain
            law += p[x] * own[:, x] * np.delete(noise, x, axis=1).prod(axis=1)
        return bits.astype(np.float64), law

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """The law along the path of each frequency; where every report may tell of all of them.

        None where each category has an equation of its own, for hashes, and where sources are such
        that only the covariance is known.
        """
        if not self.is_dense or any(q.kind not in _LISTED for q in self.sources):
            return None
        if 2 * self.k * sum(q.t.size for q in self.sources) > _LARGEST_LAW:
            return None
        at = self.plug_in() if p is None else p
        pairs = zip(self.sources, self._weights(), strict=True)
        moments = [q.weight_moments(weights, at) for q, weights in pairs]
        return PathLaw.around(at, [q.nobs for q in self.sources], moments)

    def weight_moments(self, weights: Array, p: Array) -> tuple[Array, Array]:
        """Raw moments of the weights of one report, see `problems.laws`."""
        if self.kind == "labels":  # where one category has it all, t is a row of the channel
            A = self.A if self.is_dense else np.eye(self.k) * self.A
            return label_moments((np.reshape(self.offset, (-1, 1)) + A).T, weights, p)
        return bit_moments(np.broadcast_to(self.offset, p.shape), self.A, weights, p)

    def _weights(self) -> list[Array]:
        """What the estimate makes of the reports of each source, (d,) for a diagonal or (k, d)."""
        return [np.asarray(self.inverse)] if self.is_dense else [1.0 / self._slopes()[0]]

    def _slopes(self) -> list[Array]:
        """Growth of the probability of each report with each frequency, in the same shapes."""
        if self.is_dense:
            return [q.dense_slopes() for q in self.sources]
        return [np.broadcast_to(q.A, q.t.shape).astype(np.float64) for q in self.sources]

    def dense_slopes(self) -> Array:
        """The transpose of A, shape (k, d)."""
        A = np.asarray(self.A)
        return A.T if self.is_dense else np.eye(self.k) * A
