"""Linear equations between the frequencies p and those of the reports.

`Moments` is what every set of equations answers, whatever reports it is of: a model asks its
equations and never their class. It asks what inference rests on, which laws are known, and what can
be tested of the reports whatever p is. `Equations` are of labels or bits; `BlockEquations` of how
many reports have a label whose block holds each category.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.likelihood.blocks import BlockDesign, HadamardDesign
from ldpstats.likelihood.covariance import (
    Covariance,
    ExactForm,
    Pair,
    PathLaw,
    ReportLaw,
    ReportPart,
    Tallies,
    Uncertain,
    Unexplained,
    answer_moments,
    bit_reach,
    finite_array,
    label_moments,
    label_reach,
    picked,
    project_simplex,
    spectral_norm,
    without_rounding,
)

_ILL_CONDITIONED = 1e8
LARGEST_LIST = 1 << 20  # numbers that a list of all possible reports may take


def ill_conditioned(condition: float) -> str:
    """What is said of a channel that hardly tells categories apart; "" of others.

    From 1e8 on, a probability that is wrong in its eighth digit changes the estimate beyond use.
    """
    if not condition > _ILL_CONDITIONED:
        return ""
    return (
        f"the channel's condition number is {condition:.2g}: errors of its probabilities and the "
        "noise of the reports are multiplied by up to as much; merge categories that give nearly "
        "the same reports, or use a larger epsilon"
    )


class Check(Enum):
    """What can be tested of the reports, whatever p is."""

    LAWS = "the distance of labels from the laws that the channel can make"
    NEGATIVE = "the most negative estimate"
    ONES = "the number of ones in reports of bits"
    SUM = "the sum of the estimates"
    CELLS = "the residuals of hashed cells"


@record
class OwnCounts:
    """A binomial count of each category: a share ``offset + slope p`` of `nobs` reports.

    `precision`, shape (k,), is that of the estimates at the uniform p.
    """

    nobs: int
    offset: Array
    slope: Array
    precision: Array


@record
class Estimable:
    """What a source says of p: ``C p = G estimate`` on average; all of p unless `partial`."""

    C: Array
    G: Array
    estimate: Array
    covariance: Covariance
    partial: bool


@record
class Misfit:
    """How far the frequencies are from all laws that the candidates can make.

    `statistic` is the weighted residual sum of squares, with its `mean` and `variance` if the
    candidates (and, over an open alphabet, answers that hash evenly) explain the reports.
    """

    statistic: float
    mean: float
    variance: float
    per_answer: float = np.inf  # what an answer that all hold and nobody listed adds on average
    n_sources: int = 1  # mechanisms whose reports are tested at once

    @property
    def least_unlisted(self) -> float:
        """The smallest share of answers that are not listed that makes such a statistic.

        Shares q of several answers add in proportion to the sum of their squares, which is the
        largest where there is one answer only.
        """
        return float(np.sqrt(max(self.statistic - self.mean, 0.0) / self.per_answer))

    @property
    def df(self) -> float:
        """Degrees of freedom of the multiple of a chi-square that has this mean and variance."""
        return 2.0 * self.mean**2 / self.variance

    @property
    def chi_square(self) -> float:
        """The statistic, scaled to the mean of a chi-square with `df` degrees of freedom."""
        return self.statistic / (self.mean / self.df)

    @property
    def pvalue(self) -> float:
        """Upper tail of that chi-square."""
        from scipy.special import chdtrc

        return float(chdtrc(max(self.df, 1.0), self.chi_square))

    @property
    def dispersion(self) -> float:
        """The statistic over its mean."""
        return self.statistic / self.mean


class Moments(ABC):
    """Linear equations in p that the frequencies of reports satisfy on average.

    What matters of them is the unbiased linear estimate of p and its covariance. The rest has an
    answer here that fits equations about which nothing more is known.
    """

    # annotations only: a subclass has them as fields or as properties
    kind: str  # "labels", "bits", "cohorts" or "pooled": what the frequencies are of
    nobs: int  # number of reports

    # what a subclass knows otherwise it has as a property
    is_open: bool = False  # whether answers may not be among the candidates
    is_dense: bool = False  # whether every report may tell of every category: A is a matrix
    has_blocks: bool = False  # whether a label tells of several categories at once
    has_errors: bool = True  # whether the categories are few enough for standard errors
    has_covariance: bool = True  # and, where there are such, for covariances
    checks: tuple[Check, ...] = ()  # what can be tested of the reports, whatever p is
    collisions: float = 0.0  # sum of the squared frequencies of the answers that are not listed
    # Condition number of the map from p to the law of the reports; about, where p is long. What is
    # wrong in the entries of a channel is multiplied by it in the estimate, and so is the noise of
    # the reports. One where it is not known.
    condition: float = 1.0
    linear_method: ClassVar[str] = "inversion"  # what the linear estimate is called

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories or candidates."""

    @abstractmethod
    def estimate(self) -> tuple[Array, str]:
        """The linear estimate, shape (k,), and how well it fits, in words."""

    @abstractmethod
    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the linear estimate if the frequencies are p.

        By default p is `plug_in`.
        """

    def estimate_variances(self, p: Array | None = None) -> Array:
        """Variances of the linear estimate if the frequencies are p, shape (k,)."""
        return self.covariance(p).variances()

    def null_standard_errors(self) -> Array:
        """Standard error of each entry of the linear estimate if its own p_j were zero, shape (k,).

        By default that at `plug_in`: among many candidates one absent more or less changes nothing.
        """
        return np.sqrt(self.covariance().variances())

    @cached_property
    def plug_in(self) -> Array:
        """The linear estimate projected onto the simplex.

        Where the estimate is a distribution, covariances at this p are the plug-in of the observed
        frequencies; elsewhere it keeps reports that were not seen from passing for impossible ones.
        """
        return project_simplex(self.estimate()[0])

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        """Least and largest linear estimate that one report alone can make, shape (k,) both.

        With a pair of positions that of the difference of the two, shape (1,). Where there are
        cohorts, the mean over cohorts.
        """
        raise NotAvailable(
            f"what one report can do to estimates of kind {self.kind!r} is not known"
        )

    # -- several sources ---------------------------------------------------------------------

    @property
    def parts(self) -> tuple[Moments, ...]:
        """The equations that were pooled to these, each of which can be tested alone."""
        return (self,)

    def merged(self, others: Sequence[Moments]) -> Moments | None:
        """One problem with others of the same form; None where only estimates can be pooled."""
        return None

    def matched(self, other: Moments) -> tuple[Moments, Moments] | None:
        """These equations and another group's, weighted so that answers not listed cancel."""
        return None

    def estimable(self, p: Array, contrasts: Array) -> Estimable:
        """The contrasts, shape (g, k), of p; or what the equations do tell, if they leave p open.

        The covariance is that at p.
        """
        return Estimable(contrasts, contrasts, self.estimate()[0], self.covariance(p), False)

    # -- tests of the reports, and of p --------------------------------------------------------

    def misfit(self) -> Misfit | None:
        """Goodness of fit of candidates; None where nothing can be tested."""
        return None

    def cell_bounds(self) -> list[tuple[Array, Array, float, float, int | None]]:
        """Of hashed cells over an open alphabet what `any_answers_fit` takes."""
        return []

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        """Counts of the reports and their law under p, (k,); None but for a label each category."""
        return None

    def rules_out(self, p: Array) -> bool:
        """Whether a category was reported that p makes impossible."""
        return False

    def information(self, p: Array) -> Array | None:
        """Expected Fisher information of all reports at p, (k, k); None if unknown."""
        return None

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        """Categories, shape (k,), that p makes impossible to hold, so that they do not vary."""
        return np.zeros(p.size, dtype=bool)

    # -- laws of the estimate ------------------------------------------------------------------

    def exact_form(self) -> ExactForm | None:
        """The categories whose linear estimate is an affine function of one binomial count.

        An estimate that weights all reports with two weights only counts the reports of the larger
        weight, and its mean gives the law of that count: ``P(counted) = offset + scale p_x``.
        """
        return None

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        """What each possible report adds to the linear estimate, and how probable it is under p.

        Of every independent source its number of reports, what one report of each kind adds, shape
        (u, k) and up to a constant, and the law of these kinds, (u,). None where there are too many
        kinds to list, or only sums were kept whose reports are unknown.
        """
        return None

    def own_counts(self) -> OwnCounts | None:
        """The binomial counts, where each category has one of its own that nothing else enters."""
        return None

    def report_law(self, p: Array | None = None) -> ReportLaw | None:
        """The law of the linear estimate near p; None where it is not that of labels."""
        return None

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """Counts that the linear estimate rests on, as its skewness depends on them, near p."""
        return None

    # -- answers that are not listed -----------------------------------------------------------

    def dispersion(self, collisions: float | None = None) -> float:
        """How much larger variances are, on average, than those of the reports alone.

        With these weights, for the estimated `collisions`, or others that are known.
        """
        return 1.0

    def for_inference(self, incomplete: bool = False) -> Moments:
        """The equations that inference rests on: they allow for others where there are any."""
        return self

    def unexplained(self, linear: Uncertain) -> Unexplained | None:
        """Share of the answers that are not among the candidates; None over a closed list."""
        return None

    def caution(self, others: bool) -> str:
        """Why tests may not keep their level if `others` than the candidates are held; else ""."""
        return ""

    def wald_law(self) -> tuple[float, float] | None:
        """Law of the Wald statistic of all candidates, where it is not chi-square.

        Degrees of freedom of the residuals, and the variance of the statistic over 2 k.
        """
        return None


# -- Equations between p and the frequencies of reports: of labels, or of bits --------------------


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


@record
class Equations(Moments):
    """Linear equations ``E[t] = offset + A p`` with ``Var(t) = V(p)`` for t of shape (d,).

    A float A stands for that multiple of the identity (d = k), which k-RR, binary designs and unary
    reports have and which keeps k = 1e6 cheap; shape (k,) for a diagonal, else (d, k). `weights`
    are the precisions of the equations at the uniform p, for least squares: fixed before the data
    are seen, so that weighting leaves the estimate unbiased. `kind` says what t are frequencies of:
    of "labels" (they sum to one), of independent "bits", of the bits of "subsets" of one size, of
    categories in the "blocks" of labels, of the bits of all categories but the last and then the
    sum of p ("lumped"), of bits that are noised for "sensitive" categories only, or of several
    sources together ("pooled").
    """

    A: float | Array
    offset: float | Array
    t: Array
    V: Callable[[Array], Covariance]
    weights: Array
    nobs: int
    kind: str = "labels"
    # least and largest entry of t of one report, where each category has an equation
    features: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def k(self) -> int:
        return int(np.shape(self.A)[1] if np.ndim(self.A) == 2 else self.t.size)

    @property
    def is_dense(self) -> bool:  # type: ignore[override]
        """Whether A is a matrix, and not one equation a category."""
        return np.ndim(self.A) == 2

    @cached_property
    def condition(self) -> float:  # type: ignore[override]
        if self.is_dense:
            if self._solved is not None and not np.any(self.offset):
                return spectral_norm(np.asarray(self.A)) * spectral_norm(self._solved)
            values = np.linalg.svd(self.A + np.reshape(self.offset, (-1, 1)), compute_uv=False)
            is_full = values[-1] > 0.0 and len(values) == self.k
            return float(values[0] / values[-1]) if is_full else np.inf
        slope, k = np.abs(self.A), self.k  # exact where all categories are alike
        background = np.sqrt(k) * np.linalg.norm(np.broadcast_to(self.offset, (k,)))
        return float((np.max(slope) + background) / np.min(slope))

    def estimate(self) -> tuple[Array, str]:
        G, moved = self.inverse, floats(self.t - self.offset)
        if np.ndim(G) < 2:
            return moved * G, "one equation per category, solved exactly"
        p = G @ moved
        misfit = float(np.abs(moved - self.A @ p).max())
        return p, (
            f"least squares of {moved.size} equations, weights their precision at the uniform p: "
            f"largest misfit {misfit:.2e}"
        )

    @cached_property
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
        G, V = self.inverse, self.V(self.plug_in if p is None else p)
        if np.ndim(G) < 2:
            return V.stretched(G)
        size = np.abs(G) @ np.sqrt(V.variances())  # standard errors if nothing cancelled
        return without_rounding(V.transform(np.asarray(G)), size**2)

    def null_standard_errors(self) -> Array:
        """With one equation a category, variance j depends on p_j alone, so a vertex gives it.

        Otherwise the remaining mass is taken from the projected estimate without category j.
        """
        G, k = self.inverse, self.k
        if np.ndim(G) < 2:
            vertex = np.eye(1, k)[0]
            variances = self.V(vertex).variances()
            variances[0] = self.V(np.roll(vertex, 1)).variances()[0]
            return np.sqrt(variances) * np.abs(G)
        p, variances = self.plug_in, np.empty(k)
        for j in range(k):
            absent = np.arange(k) == j
            others = np.where(absent, 0.0, p)
            if others.sum() == 0.0:
                others = np.where(absent, 0.0, 1.0)
            g, V = np.asarray(G)[j], self.V(others / others.sum())
            without_cancellation = float(np.abs(g) @ np.sqrt(V.variances())) ** 2
            variance = float(V.transform(g[None])[0, 0])
            variances[j] = variance if variance > 1e-13 * without_cancellation else 0.0
        return np.sqrt(variances)

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        if not self.is_dense:
            # some report has the largest t of any category and the least of any other
            ends = self.inverse * (np.reshape(self.features, (2, 1)) - self.offset)
            ends = np.broadcast_to(ends, (2, self.k))
            low, high = ends.min(axis=0), ends.max(axis=0)
            if pair is None:
                return low, high
            first, second = pair
            return low[[first]] - high[[second]], high[[first]] - low[[second]]
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
        left, values, right = self._spectrum
        d, k, rank = self.t.size, self.k, len(values)
        if rank < k:
            raise NotIdentified(
                f"the {d} equations for {k} categories have rank {rank}: {k - rank} more "
                "independent outputs, bits or cohorts are needed; collect them, or merge "
                "categories that give the same reports"
            )
        return (right.T / values) @ left.T * self._root

    @property
    def _spectrum(self) -> tuple[Array, Array, Array]:
        """Singular vectors and values of the weighted equations, as many as their rank."""
        A = self._root[:, None] * floats(self.A)
        left, values, right = np.linalg.svd(A, full_matrices=False)
        rank = int(np.sum(values > max(A.shape) * np.finfo(np.float64).eps * values[0]))
        return left[:, :rank], values[:rank], right[:rank]

    @property
    def _root(self) -> Array:
        """Square roots of the weights, shape (d,)."""
        weights = floats(self.weights)
        return np.sqrt(np.broadcast_to(weights, self.t.shape))

    @cached_property
    def _solved(self) -> Array | None:
        """A^-1 for a large square A whose rank is beyond doubt; None for others.

        The product of the Frobenius norms bounds the condition number.
        """
        A = floats(self.A)
        if A.ndim < 2 or len(A) < _LARGE or A.shape[1] != len(A) or not np.all(self._root > 0.0):
            return None
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return None
        bound = np.linalg.norm(self._root[:, None] * A) * np.linalg.norm(inverse / self._root)
        return inverse if bound < _CLEAR else None

    # -- what can be tested --------------------------------------------------------------------

    @property
    def checks(self) -> tuple[Check, ...]:  # type: ignore[override]
        if self.kind == "labels" and self.is_dense:
            return (Check.LAWS,)
        return _CHECKS[self.kind]

    def estimable(self, p: Array, contrasts: Array) -> Estimable:
        try:
            return super().estimable(p, contrasts)
        except NotIdentified:  # what a source tells that withholds reports, say
            left, values, right = self._spectrum
        G = (left / values).T * self._root
        return Estimable(right, G, self.t - self.offset, self.V(p), True)

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        if self.kind != "labels" or np.ndim(self.A) > 0:
            return None
        return np.rint(self.t * self.nobs), self.offset + self.A * p

    def rules_out(self, p: Array) -> bool:
        if self.is_dense:
            return False
        return bool(np.any((self.offset + self.A * p <= 0.0) & (self.t > 0.0)))

    # -- laws of the linear estimate -----------------------------------------------------------

    def exact_form(self) -> ExactForm | None:
        tallies = np.rint(self.t * self.nobs).astype(np.int64)
        if not self.is_dense:
            offset = np.broadcast_to(self.offset, self.t.shape).astype(np.float64)
            scale = np.broadcast_to(self.A, self.t.shape).astype(np.float64)
            return ExactForm(tallies, self.nobs, offset, scale)
        if self.kind == "lumped":  # a bit of each category but the last, which none is counted for
            offset, scale = np.array(self.offset), np.diagonal(self.A).copy()
            offset[-1] = scale[-1] = np.nan
            return ExactForm(tallies, self.nobs, offset, scale)
        if self.kind != "labels":
            return None
        try:  # categories whose estimate weighs all reports with two weights only
            G = np.asarray(self.inverse)
        except NotIdentified:  # of a source that others complete
            return None
        low, high = G.min(axis=1), G.max(axis=1)
        tolerance = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
        counted = high[:, None] - G <= tolerance
        known = np.all(counted | (G - low[:, None] <= tolerance), axis=1) & (high > low)
        scale = np.divide(1.0, high - low, out=np.full(low.shape, np.nan), where=known)
        offset = np.where(np.abs(low) <= tolerance[:, 0], 0.0, -low) * scale
        return ExactForm(counted @ tallies, self.nobs, offset, scale)

    def own_counts(self) -> OwnCounts | None:
        if self.is_dense:
            return None
        offset, slope = (np.broadcast_to(v, self.t.shape) for v in (self.offset, self.A))
        return OwnCounts(self.nobs, offset, slope, slope**2 * self.weights)

    def report_law(self, p: Array | None = None) -> ReportLaw | None:
        """None for bits and hashes, and for very many categories.

        Where fewer than ten reports were seen, they have at least the probability under p.
        """
        at, parts, size = self.plug_in if p is None else p, [], 0
        for q, weights in self._weighted():
            size += q.t.size * (2 * q.k if self.is_dense else 1)
            if q.kind != "labels" or size > _LARGEST_LAW:
                return None
            # how the probability of each report grows with each frequency
            slopes = q.dense_slopes() if self.is_dense else np.full(q.t.shape, q.A, np.float64)
            step = q.A @ at if q.is_dense else q.A * at
            expected = np.maximum(q.offset + step, 0.0)
            law = np.where(q.t * q.nobs >= _MANY, q.t, np.maximum(q.t, expected))
            parts.append(ReportPart(weights, slopes, law / law.sum(), q.nobs))
        return ReportLaw(tuple(parts))

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        influences = []
        for q, weights in self._weighted():
            kinds = q.kinds_of_reports(p)
            if kinds is None:
                return None
            t, law = kinds
            each = t * weights if weights.ndim == 1 else t @ weights.T
            influences.append((q.nobs, np.asarray(each / q.nobs), law))
        return influences

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
        """The law along the path of each frequency, where every report may tell of all of them."""
        if not self.is_dense:
            return None
        at, size, nobs = self.plug_in if p is None else p, 0, []
        moments = []  # of the weights of one report of each source
        for q, weights in self._weighted():
            size += 2 * self.k * q.t.size
            if q.kind not in _LISTED or size > _LARGEST_LAW:
                return None
            nobs.append(q.nobs)
            if q.kind == "labels":  # where one category has it all, t is a row of the channel
                A = q.A if q.is_dense else np.eye(q.k) * q.A
                Q = (np.reshape(q.offset, (-1, 1)) + A).T
                moments.append(label_moments(Q, weights, at))
                continue
            raw = answer_moments(np.broadcast_to(q.offset, at.shape), q.A, weights)
            moments.append(
                (np.array([np.diagonal(m) for m in raw]), np.array([m @ at for m in raw]))
            )
        return PathLaw.around(at, nobs, moments)

    def _weighted(self) -> list[tuple[Equations, Array]]:
        """Each source, and the weights of its reports in the estimate, (d,) or (k, d)."""
        if self.is_dense:
            return [(self, np.asarray(self.inverse))]
        return [(self, 1.0 / np.full(self.t.shape, self.A, np.float64))]

    def dense_slopes(self) -> Array:
        """The transpose of A, shape (k, d)."""
        A = np.asarray(self.A)
        return A.T if self.is_dense else np.eye(self.k) * A


# -- Equations of block designs: how many reports have a label whose block holds each category ----


_MOST_OPERATIONS = 4e10  # multiplications that a covariance may take: about 2 s
_LARGEST = 2048  # categories up to which a covariance is formed
_LARGEST_FIT = 1 << 18  # entries of Q up to which the distance from its laws is tested


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockEquations(Equations):
    """Equations ``E[t] = offset + A p``, t the mean of `design.features` of the reports.

    Where two categories have the same number of labels in common, whichever they are, feature x
    says whether the report holds x: ``n t_x ~ Bin(n, offset + A p_x)`` exactly. Of Hadamard
    matrices side by side it is 1/2 for an own label, -1/2 for another of the same matrix and else
    0, so that categories of other matrices add nothing. `low` is the probability of a label under a
    category outside its block, `gain` what one inside has more.
    """

    design: BlockDesign
    low: float
    gain: float

    @property
    def signed(self) -> bool:
        """Whether features are signs of several Hadamard matrices."""
        return self.design.common is None

    @property
    def has_blocks(self) -> bool:  # type: ignore[override]
        return self.design.size > 1 or self.signed

    @property
    def has_covariance(self) -> bool:  # type: ignore[override]
        k = self.k
        return k <= _LARGEST and float(k) * k * self.design.n_labels <= _MOST_OPERATIONS

    def estimate_variances(self, p: Array | None = None) -> Array:
        law = finite_array("p", self.plug_in if p is None else p, 1)
        t = self.offset + self.A * law
        return (self._squares(law) - t**2) / self.nobs / np.square(self.A)

    def _squares(self, p: Array) -> Array:
        """Mean square of each feature of a report, shape (k,)."""
        if self.signed:
            return self._signs(self.design.part_masses(p))
        return self.offset + self.A * p

    def _signs(self, inside: Any) -> Array:
        """Mean square of signs where answers of one matrix have this share."""
        return np.asarray(self.design.size * (2.0 * self.low + self.gain * inside) / 4.0)

    def null_standard_errors(self) -> Array:
        """As of `Equations`; of signs, the others keep their proportions."""
        p = self.plug_in
        if self.signed:
            others = self.design.part_masses(p) - p
            share = np.divide(others, 1.0 - p, out=np.zeros(p.size), where=p < 1.0)
            spread = self._signs(np.clip(share, 0.0, 1.0))
        else:
            spread = np.full(p.size, self.offset * (1.0 - self.offset))
        return np.sqrt(spread / self.nobs) / np.abs(self.A)

    @property
    def checks(self) -> tuple[Check, ...]:  # type: ignore[override]
        small = self.k * self.design.n_labels <= _LARGEST_FIT
        return (Check.LAWS,) if small and self.design.n_labels > self.k else (Check.NEGATIVE,)

    def rules_out(self, p: Array) -> bool:
        return False if self.signed else super().rules_out(p)

    def exact_form(self) -> ExactForm | None:
        return None if self.signed else super().exact_form()

    def kinds_of_reports(self, p: Array) -> tuple[Array, Array] | None:
        if self.k * self.design.n_labels > LARGEST_LIST:
            return None
        every = self.design.features(np.arange(self.design.n_labels))
        return every, self.low + self.gain * self.design.masses(p)

    def own_counts(self) -> OwnCounts | None:
        return None if self.signed else super().own_counts()

    @property
    def features(self) -> tuple[float, float]:  # type: ignore[override]
        return (-0.5, 0.5) if self.signed else (0.0, 1.0)

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        low, high = super().reach(pair)
        if pair is not None and self.signed and isinstance(self.design, HadamardDesign):
            first, second = self.design.place(np.array(pair))[0]
            if first != second:  # a report says nothing of one of the two matrices
                return low / 2.0, high / 2.0
        return low, high

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """The law of a sum of signs along the path of each frequency; None of binomial counts."""
        if not self.signed:
            return None
        at, unit = self.plug_in if p is None else p, 1.0 / np.square(2.0 * self.A)
        own = np.array([np.ones(self.k), np.full(self.k, 4.0 * unit * self._signs(1.0))])
        mean = np.array([at, 4.0 * unit * self._squares(at)])
        # the cube of a weight is the weight times its square, which is the same but for zero
        own, mean = np.vstack([own, own[:1] * unit]), np.vstack([mean, mean[:1] * unit])
        return PathLaw.around(at, [self.nobs], [(own, mean)])


def block_equations(
    design: BlockDesign, low: float, gain: float, counts: Array, nobs: int
) -> BlockEquations:
    """The equations of counts of the labels, shape (l,), of a design."""
    s, common = design.size, design.common
    if common is None:
        assert isinstance(design, HadamardDesign)
        t, offset, slope = design.differences(counts), 0.0, s * gain / 2.0
        mean = 2 * s * low + s * gain / design.parts
        weight = 4.0 * nobs / mean
    else:
        t, slope = design.tallies(counts), (s - common) * gain
        offset = s * low + common * gain
        centre = offset + slope / design.k
        weight = nobs / (centre * (1.0 - centre))

    def covariance(p: Array) -> Covariance:
        law = finite_array("p", p, 1)
        rows = design.features(np.arange(design.n_labels))
        m = low + gain * design.masses(law)
        mean = offset + slope * law
        return Covariance.dense(((rows.T * m) @ rows - np.outer(mean, mean)) / nobs)

    return BlockEquations(
        slope,
        offset,
        t / nobs,
        covariance,
        np.full(design.k, weight),
        nobs,
        kind="blocks",
        design=design,
        low=low,
        gain=gain,
    )
