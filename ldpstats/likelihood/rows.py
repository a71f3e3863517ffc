"""The likelihood of observed reports, and its matrix W, kept in the form that its channel allows.

`Likelihood` is what the reports say about p exactly, one of the two problems that estimators solve;
`moments.Moments`, linear equations in p, is the other. `Solution` is the form of their answer. None
knows the mechanism that made the reports.

Row i belongs to one distinct report y_i, column x to one category:
``W[i, x] = Q[x, y_i] / exp(log_scale[i])``. A solver needs only the products below, so the matrix
itself is formed for dense channels alone. The scale of a row leaves the maximum where it is, and
keeps reports of many bits, whose probabilities underflow, in range.

Rows also answer what a solver wants to know of their structure: which form has the fastest products
(`prepared`), where iterations start (`start`), whether counts give the maximum (`closed_form`) or a
smaller problem does (`reduced`), and which reports are noisy (`noise`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, distribution, one_of, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import encode
from ldpstats.likelihood.blocks import BlockDesign
from ldpstats.likelihood.covariance import project_simplex, water_filling
from ldpstats.likelihood.hashed import HashDesign
from ldpstats.reports.single import Counts, Reports, cell_counts

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of a gap; 1.3 was seen in exact arithmetic


def nats_to_gain(nobs: int, gap: float) -> float:
    """Upper bound, in nats, of what `nobs` reports may still gain at a gap per report.

    A gap is computed from numbers near one, with an error of a few times the machine epsilon. From
    1e12 reports on that may be a thousandth of a nat in all or more, so it is added.
    """
    return nobs * (gap + _ROUNDING)


@record
class Likelihood:
    """Log-likelihood ``sum_i n_i log (W p)_i`` of a distribution p on k categories; concave in p.

    Parameters
    ----------
    W : Rows or array, shape (u, k)
        Likelihood of each distinct report under each category, up to a factor per row.
    n : array, shape (u,)
        How often each distinct report was seen.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> problem.gap(np.array([0.7, 0.3])) < 1e-12   # the maximum: 0.6 = 0.75 * 0.7 + 0.25 * 0.3
    True
    """

    W: Rows
    n: Array

    def __init__(self, W: Rows | Array, n: Array) -> None:
        # what a caller passes may be a plain array
        object.__setattr__(self, "W", W if isinstance(W, Rows) else DenseRows(np.asarray(W)))
        object.__setattr__(self, "n", np.asarray(n))

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.W.shape[1]

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return round(float(self.n.sum()))  # weights sum to a whole number but for rounding

    def prepared(self) -> Likelihood:
        """With the rows in the form whose products are fastest (`Rows.prepared`)."""
        return Likelihood(self.W.prepared(), self.n)

    def loglike(self, p: Array) -> float:
        """Log-likelihood of p in nats, the scale of each row included."""
        seen = self.n > 0  # 0 log 0 = 0
        with np.errstate(divide="ignore"):
            terms = np.log(self.W.mix(p)[seen]) + self.W.log_scale[seen]
        return float(self.n[seen] @ terms)

    def score(self, p: Array) -> Array:
        """Gradient ``sum_i n_i W_i / (W p)_i``, shape (k,)."""
        return self.W.adjoint(self._over(self.W.mix(p)))

    def information(self, p: Array) -> Array:
        """Observed information ``sum_i n_i W_i W_i' / (W p)_i^2``, shape (k, k)."""
        return self.W.gram(self._over(self.W.mix(p) ** 2))

    def _over(self, d: Array) -> Array:
        """n / d; reports that were never seen count for nothing, even where d = 0."""
        with np.errstate(divide="ignore"):
            return np.divide(self.n, d, out=np.zeros(d.shape), where=self.n > 0)

    def gap(self, p: Array) -> float:
        """Certificate per report, ``max_x score_x / n - 1 >= 0``; zero only at the maximum.

        By concavity the log-likelihood still to gain is at most ``nobs * gap(p)`` nats, but for
        rounding: see `gap_nats`.
        """
        return max(float(self.score(p).max()) / self.nobs - 1.0, 0.0)

    def gap_nats(self, p: Array) -> float:
        """Upper bound, in nats, of the log-likelihood that is still to gain at p."""
        return nats_to_gain(self.nobs, self.gap(p))


@record
class Solution:
    """What an estimator found."""

    p: Array  # (k,), the estimate
    gap: float  # per report (see `Likelihood.gap`); nan where no likelihood is maximised
    n_iter: int  # 0 for closed forms
    converged: bool  # whether the estimator's own certificate was reached
    message: str  # how it ended, in words
    support: Array | None = None  # (s,), positions that were selected; None for all

    @property
    def ended(self) -> dict[str, Any]:
        """How the estimator ended, by name: "gap", "n_iter", "converged", "message"."""
        return {name: getattr(self, name) for name in ("gap", "n_iter", "converged", "message")}


# -- The rows of W, by structure ----------------------------------------------------------------


_BLOCK = 1 << 21  # entries of W that are unpacked at a time (16 MB as float64)
_SMALL = 1 << 21  # entries of W up to which the dense matrix is the fastest form


@record
class Reduction:
    """A likelihood of k' categories whose maximum q gives that of all k, q[places] * shares."""

    whole: Rows  # (u, k), of all categories, `prepared`
    W: Rows  # (u', k')
    n: Array  # (u',)
    places: Array  # (k,): which of the k' categories each belongs to
    shares: Array  # (k,): its share of that category at the maximum

    def expanded(self, q: Array) -> Array:
        """The p, shape (k,), that belongs to q, shape (k',)."""
        return q[self.places] * self.shares


class Rows(ABC):
    """A (u, k) matrix of report likelihoods, known through its products.

    `is_structured` says whether products are cheaper than a dense matrix makes them, `is_joint`
    whether these are joint reports on several variables, and `is_table` whether products go through
    a table of the distinct reports, which makes them quick. `may_be_dense` says whether a dense
    matrix is the fastest form if it is small.
    """

    is_structured: ClassVar[bool] = False
    is_joint: ClassVar[bool] = False
    is_table: ClassVar[bool] = False
    may_be_dense: ClassVar[bool] = False
    by_report: ClassVar[tuple[str, ...]] = ()  # fields that have an entry for each report

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of distinct reports u and of categories k."""

    @property
    def log_scale(self) -> Array:
        """Natural logarithm, shape (u,), of the factor taken out of each row."""
        return np.zeros(self.shape[0])

    def mix(self, p: Array) -> Array:
        """W p, shape (u,): the scaled probability of each report under p."""
        out = np.empty(self.shape[0])
        for part, block in self.blocks():
            out[part] = block @ p
        return out

    def adjoint(self, v: Array) -> Array:
        """W' v, shape (k,)."""
        out = np.zeros(self.shape[1])
        for part, block in self.blocks():
            out += v[part] @ block
        return out

    def mix_each(self, p: Array) -> Array:
        """`mix` of several p, shape (c, k), at once: shape (c, u)."""
        return np.stack([self.mix(one) for one in p])

    def adjoint_each(self, v: Array) -> Array:
        """`adjoint` of several v, shape (c, u), at once: shape (c, k)."""
        return np.stack([self.adjoint(one) for one in v])

    @abstractmethod
    def take(self, start: int, stop: int) -> Array:
        """Rows `start` to `stop` as a dense (stop - start, k) float64 array."""

    def select(self, keep: Array) -> Self:
        """The rows where the boolean `keep`, shape (u,), is true, in the same form."""
        whole: Any = self  # a dataclass
        own = {name: getattr(self, name) for name in self.by_report}
        kept = {
            name: value.select(keep) if isinstance(value, Rows) else value[keep]
            for name, value in own.items()
            if value is not None
        }
        return replace(whole, **kept)  # type: ignore[no-any-return]

    # -- what a solver asks

    def prepared(self) -> Rows:
        """These rows in the form whose products are fastest: dense if small, else compiled."""
        return dense_if_small(self) if self.may_be_dense else self

    def groups(self, v: Array) -> list[tuple[Rows, Array]]:
        """The rows of each group of respondents, with its part of v, shape (u,)."""
        return [(self, v)]

    def closed_form(self, n: Array) -> Array | None:
        """The maximum of the likelihood for counts n, shape (u,), where a formula gives it."""
        return None

    def closed_form_beside(self, n: Array, index: int, value: float) -> Array | None:
        """The shares of the other categories, (k - 1,), at the maximum where one is held fixed."""
        return None

    def reduced(self, n: Array) -> Reduction | None:
        """A smaller problem that has the same maximum for counts n, where there is one."""
        return None

    def start(self, n: Array) -> Array:
        """Where to start for counts n: a projected linear estimate, else the uniform p.

        Solvers ask it of rows that are `prepared`; see also `margins`.
        """
        p = self.linear(n / n.sum(), 1.0)
        return np.full(self.shape[1], 1.0 / self.shape[1]) if p is None else project_simplex(p)

    def linear(self, v: Array, total: float) -> Array | None:
        """The linear estimate from weights v that sum to `total`; None where it is not quick."""
        return None

    def margins(self, n: Array) -> list[tuple[Array, Array]]:
        """W and counts of the reports on each variable alone; none where there is but one."""
        return []

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        """W' v and 1' v over noisy reports alone, if there are any, where W' v is `first`."""
        return first, float(v.sum())

    def pinned(self, p: Array) -> Array:
        """Categories, bool of shape (k,), that are absent under p beyond doubt.

        One respondent of such a category may make a report that no other can, and that has
        probability zero under p: the information about its absence is infinite.
        """
        return np.zeros(self.shape[1], dtype=bool)

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        """W' v and (W * W)' v, both (k,); the latter is the diagonal of `gram`."""
        first, second = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for part, block in self.blocks():
            first += v[part] @ block
            second += v[part] @ (block * block)
        return first, second

    def mix_squares(self, p: Array) -> Array:
        """(W * W) p, shape (u,)."""
        return np.concatenate([(block * block) @ p for _, block in self.blocks()])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Dense blocks of rows, each of at most about 16 MB."""
        u, k = self.shape
        step = max(1, _BLOCK // max(k, 1))
        for start in range(0, u, step):
            stop = min(start + step, u)
            yield slice(start, stop), self.take(start, stop)

    def dense(self) -> Array:
        """The whole scaled matrix, shape (u, k)."""
        return self.take(0, self.shape[0])

    def gram(self, v: Array) -> Array:
        """W' diag(v) W, shape (k, k), for v >= 0."""
        k = self.shape[1]
        total = np.zeros((k, k))
        root = np.sqrt(v)
        for part, block in self.blocks():
            weighted = block * root[part, None]
            total += weighted.T @ weighted
        return total

    def rough_gram(self, v: Array) -> Array:
        """`gram`, to about seven digits where that is quicker: enough to steer iterations."""
        return self.gram(v)


@record
class DenseRows(Rows):
    """An explicit matrix, shape (u, k), with an optional scale per row."""

    W: Array
    scale: Array | None = None
    by_report = ("W", "scale")

    @property
    def shape(self) -> tuple[int, int]:
        return self.W.shape[0], self.W.shape[1]

    @property
    def log_scale(self) -> Array:
        return np.zeros(self.W.shape[0]) if self.scale is None else self.scale

    def mix(self, p: Array) -> Array:
        return p @ self.W.T

    def adjoint(self, v: Array) -> Array:
        return v @ self.W

    mix_each, adjoint_each = mix, adjoint

    def take(self, start: int, stop: int) -> Array:
        return self.W[start:stop]


@record
class UniformRows(Rows):
    """Rows ``b_y + a [x == y]``, y = codes[i], of a channel a I + 1 b' (k-RR, uRR), in O(u) memory.

    `b` is a number where all reports are alike (k-RR), else of shape (k,).
    """

    is_structured: ClassVar[bool] = True
    codes: Array
    a: float
    b: float | Array
    k: int
    by_report = ("codes",)

    @cached_property
    def background(self) -> Any:
        """What all categories share of each row: a number, or shape (u,)."""
        return self.b if np.ndim(self.b) == 0 else np.asarray(self.b)[self.codes]

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.k

    def mix(self, p: Array) -> Array:
        return np.asarray(self.a * p[self.codes] + self.background * p.sum())

    def adjoint(self, v: Array) -> Array:
        own = np.bincount(self.codes, weights=v, minlength=self.k)
        return np.asarray(self.a * own + (self.background * v).sum())

    def mix_each(self, p: Array) -> Array:
        totals = p.sum(axis=1, keepdims=True)
        return np.asarray(self.a * p[:, self.codes] + self.background * totals)

    def adjoint_each(self, v: Array) -> Array:
        places = self.codes + self.k * np.arange(len(v))[:, None]
        own = np.bincount(places.ravel(), weights=v.ravel(), minlength=self.k * len(v))
        common = (v * self.background).sum(axis=1, keepdims=True)
        return np.asarray(self.a * own.reshape(len(v), self.k) + common)

    def take(self, start: int, stop: int) -> Array:
        codes = self.codes[start:stop]
        block = np.empty((codes.size, self.k))
        block.T[:] = np.broadcast_to(self.background, self.codes.shape)[start:stop]
        block[np.arange(codes.size), codes] += self.a
        return block

    def closed_form(self, n: Array) -> Array | None:
        """By water-filling (KBR16 Proposition 6), unless reports contradict their label."""
        if not self.a > 0.0:
            return None
        return water_filling(np.bincount(self.codes, n, self.k), self.a, self.b)

    def closed_form_beside(self, n: Array, index: int, value: float) -> Array | None:
        """By water-filling too: the other categories have reports as from a smaller a."""
        if not self.a > 0.0:
            return None
        counts = np.delete(np.bincount(self.codes, n, self.k), index)
        if not counts.any():
            return np.full(self.k - 1, 1.0 / (self.k - 1))
        b = self.b if np.ndim(self.b) == 0 else np.delete(self.b, index)
        return water_filling(counts, self.a * (1.0 - value), b)

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        if not np.any(self.background):
            return super().noise(v, first)
        noisy = np.where(self.background > 0.0, v, 0.0)
        return self.adjoint(noisy), float(noisy.sum())

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        b = self.background
        tally = np.bincount(self.codes, weights=v, minlength=self.k)
        twice = np.bincount(self.codes, weights=(self.a + 2.0 * b) * v, minlength=self.k)
        return self.a * tally + (b * v).sum(), self.a * twice + (b * b * v).sum()


def dense_if_small(W: Rows) -> Rows:
    """W as a dense matrix where that is its fastest form, else W itself."""
    return DenseRows(W.dense(), W.log_scale) if W.shape[0] * W.shape[1] <= _SMALL else W


def log_noise(packed: npt.NDArray[np.uint8], p0: float | Array, n_bits: int) -> Array:
    """Log-probability, (u,), of packed reports whose bits are 1 with probability p0, or (k,)."""
    if np.ndim(p0):
        odds, clear = np.log(p0) - np.log1p(-p0), float(np.log1p(-p0).sum())
        parts = np.array_split(packed, 1 + 8 * packed.size // _BLOCK)
        bits = (np.unpackbits(part, axis=1, count=n_bits, bitorder="little") for part in parts)
        return np.concatenate([part @ odds for part in bits]) + clear
    parts = np.array_split(packed, 1 + packed.size // _BLOCK)
    ones = np.concatenate([np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts])
    return np.asarray(ones * np.log(p0) + (n_bits - ones) * np.log1p(-p0))


# -- Likelihoods with two values: of reports that support some categories, and others not ---------


class TwoValued(Rows):
    """Entries are `present` where a report supports a category, and `absent` elsewhere.

    Both are numbers, or of shape (k,).
    """

    is_structured: ClassVar[bool] = True
    # annotations only: a subclass has them as fields or as properties
    present: float | Array
    absent: float | Array

    @abstractmethod
    def supported(self, p: Array) -> Array:
        """Sum of p, (k,), over the categories that each report supports, (u,)."""

    @abstractmethod
    def supports(self, v: Array) -> Array:
        """Sum of v, (u,), over the reports that support each category, (k,)."""

    def mix(self, p: Array) -> Array:
        gain = self.present - self.absent
        return np.asarray(np.sum(self.absent * p) + self.supported(gain * p))

    def mix_squares(self, p: Array) -> Array:
        low = self.absent**2
        return np.asarray(np.sum(low * p) + self.supported((self.present**2 - low) * p))

    def adjoint(self, v: Array) -> Array:
        return self.adjoints(v)[0]

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        one, zero, total, sums = self.present, self.absent, float(v.sum()), self.supports(v)
        return zero * total + (one - zero) * sums, zero**2 * total + (one**2 - zero**2) * sums


# -- Likelihoods of unary (RAPPOR-like) reports: a bit a category ---------------------------------


@record
class UnaryRows(TwoValued):
    """Rows of a unary channel: category x sets bit x with p1, every other bit with p0 < p1.

    Where bits differ in their noise p1 and p0 are arrays, shape (k,).

    Up to the factor ``prod_j p0^y_j (1-p0)^(1-y_j)`` of the row, which `log_scale` holds,
    ``W[i, x] = absent + (present - absent) * bit x of report i`` with present = p1/p0 and
    absent = (1-p1)/(1-p0): the exact likelihood of a whole report (KBR16's Proposition 7 multiplies
    the bits as if they were independent given p, which they are not).

    `packed` has shape (u, ceil(k/8)), bit j of a report in byte j // 8 at position j % 8. Of many
    reports products are compiled: by bytes, or along the set bits where these are few.
    """

    packed: npt.NDArray[np.uint8]
    p1: float | Array
    p0: float | Array
    k: int
    by_report = ("packed",)

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.k

    @property
    def present(self) -> float | Array:  # type: ignore[override]
        return self.p1 / self.p0

    @property
    def absent(self) -> float | Array:  # type: ignore[override]
        return (1.0 - self.p1) / (1.0 - self.p0)

    @cached_property
    def log_scale(self) -> Array:
        return log_noise(self.packed, self.p0, self.k)

    def take(self, start: int, stop: int) -> Array:
        block = self._bits(start, stop).astype(np.float64)
        block *= self.present - self.absent
        block += self.absent
        return block

    def _bits(self, start: int = 0, stop: int | None = None) -> Array:
        some = self.packed[start:stop]
        return np.unpackbits(some, axis=1, count=self.k, bitorder="little")

    def prepared(self) -> Rows:
        return dense_if_small(replace(self, packed=np.ascontiguousarray(self.packed)))

    @property
    def _is_large(self) -> bool:
        """Whether compiled products repay the import of numba."""
        return bool(self.packed.shape[0] * self.k > _SMALL)

    @cached_property
    def _listed(self) -> tuple[Array, Array] | None:
        from ldpstats.kernels.bits import listed

        return listed(self.packed)

    def supported(self, p: Array) -> Array:
        if not self._is_large:
            return np.asarray(self._bits() @ p)
        from ldpstats.kernels.bits import bit_mix, list_mix

        return list_mix(*self._listed, p) if self._listed else bit_mix(self.packed, p)

    def supports(self, v: Array) -> Array:
        if not self._is_large:
            return np.asarray(v @ self._bits())
        from ldpstats.kernels.bits import bit_sums, list_sums

        if self._listed:
            return list_sums(*self._listed, v, self.k)
        return bit_sums(self.packed, v, self.k)

    def gram(self, v: Array) -> Array:
        if not self._is_large or not self._listed:
            return super().gram(v)
        from ldpstats.kernels.bits import list_gram

        zero, gain = self.absent, self.present - self.absent
        gain, zero = np.broadcast_to(gain, self.k), np.broadcast_to(zero, self.k)
        cross = np.outer(gain * self.supports(v), zero)
        pairs = np.outer(gain, gain) * list_gram(*self._listed, v, self.k)
        return np.asarray(pairs + cross + cross.T + np.outer(zero, zero) * v.sum())

    def linear(self, v: Array, total: float) -> Array:
        """``(m - p0 total) / (p1 - p0)`` for the weight m of the reports that have each bit set."""
        return np.asarray((self.supports(v) - self.p0 * total) / (self.p1 - self.p0))


# -- Likelihoods of reports that are subsets of the categories, all of one size -------------------


@record
class SubsetRows(UnaryRows):
    """Rows of subset selection: ``W[i, x]`` is one where report i holds x, else `ratio`.

    `p1` and `p0` are P(x in the report) of the category itself and of any other, `ratio` the
    probability of a report under a category outside it over that under one inside, and `log_high`
    the natural logarithm of the latter, the scale of every row.
    """

    ratio: float
    log_high: float

    @property
    def present(self) -> float:  # type: ignore[override]
        return 1.0

    @property
    def absent(self) -> float:  # type: ignore[override]
        return self.ratio

    @cached_property
    def log_scale(self) -> Array:
        return np.full(len(self.packed), self.log_high)


# -- Likelihoods of labels that stand for blocks of categories ------------------------------------


_MOST_PARTS = 128  # that a model of the Hessian keeps apart


@record
class BlockRows(TwoValued):
    """Rows of a block design: ``W[i, x]`` is one where the block of label i holds x, else `absent`.

    Products take one transform of the design; `high` is the scale of every row.
    """

    may_be_dense: ClassVar[bool] = True
    codes: Array
    design: BlockDesign
    absent: float
    high: float
    present = 1.0
    by_report = ("codes",)

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.design.k

    @cached_property
    def log_scale(self) -> Array:
        return np.full(self.codes.size, np.log(self.high))

    def supported(self, p: Array) -> Array:
        return self.design.masses(p)[self.codes]

    def supports(self, v: Array) -> Array:
        return self.design.tallies(np.bincount(self.codes, v, self.design.n_labels))

    def take(self, start: int, stop: int) -> Array:
        return np.where(self.design.holds(self.codes[start:stop]), 1.0, self.absent)

    def groups(self, v: Array) -> list[tuple[Rows, Array]]:
        """The reports of each part of the design, which tell of other categories each."""
        part = self.design.label_parts(self.codes)
        members = [part == i for i in np.unique(part)]
        if not 1 < len(members) <= _MOST_PARTS:
            return super().groups(v)
        return [(self.select(own), v[own]) for own in members]

    def linear(self, v: Array, total: float) -> Array:
        """The tallies of the own labels, without what other answers add on average."""
        design = self.design  # others add alike if two categories share as many labels as any
        l, s = design.n_labels, design.size  # noqa: E741
        common = design.common if design.common is not None else s * s / l
        Z = s + (l - s) * self.absent
        own, other = s / Z, (common + (s - common) * self.absent) / Z
        return (self.supports(v) - other * total) / (own - other)


# -- Likelihood rows of reports whose bits are noised for sensitive categories only (uRAP) --------


@record
class SensitiveRows(Rows):
    """Rows of reports that are bits of the sensitive categories, or reveal another category.

    A `protected` report has the likelihood of its `bits`, (u_P, S), under each sensitive category,
    and `leftover` times that of noise under all others. An invertible report has likelihood `told`
    under the category that it reveals (`revealed`, (u - u_P,)), and none under any other.
    `sensitive`, (k,), is in the order of the columns of `bits`.
    """

    is_structured: ClassVar[bool] = True
    bits: Rows
    protected: npt.NDArray[np.bool_]
    revealed: Array
    sensitive: npt.NDArray[np.bool_]
    told: float
    leftover: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.protected.size, self.sensitive.size

    @cached_property
    def log_scale(self) -> Array:
        out = np.zeros(self.protected.size)
        out[self.protected] = self.bits.log_scale
        return out

    def mix(self, p: Array) -> Array:
        out = np.empty(self.protected.size)
        rest = self.leftover * p[~self.sensitive].sum()
        out[self.protected] = self.bits.mix(p[self.sensitive]) + rest
        out[~self.protected] = self.told * p[self.revealed]
        return out

    def adjoint(self, v: Array) -> Array:
        noise, told = v[self.protected], self._tally(v)
        out = self.told * told + self.leftover * noise.sum()
        out[self.sensitive] = self.bits.adjoint(noise)
        return np.asarray(out)

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        noise, told = v[self.protected], self._tally(v)
        first = self.told * told + self.leftover * noise.sum()
        second = self.told**2 * told + self.leftover**2 * noise.sum()
        first[self.sensitive], second[self.sensitive] = self.bits.adjoints(noise)
        return first, second

    def noise(self, v: Array, first: Array) -> tuple[Array, float]:
        """Of the protected reports; what revealed its category counts only where none are."""
        if not self.bits.shape[0]:
            return super().noise(v, first)
        total = float(v[self.protected].sum())
        return np.where(self.sensitive, first, self.leftover * total), total

    def _tally(self, v: Array) -> Array:
        return np.bincount(self.revealed, weights=v[~self.protected], minlength=self.sensitive.size)

    def take(self, start: int, stop: int) -> Array:
        protected = self.protected[start:stop]
        before = int(np.count_nonzero(self.protected[:start]))
        within = int(np.count_nonzero(protected))
        block = np.zeros((protected.size, self.sensitive.size))
        block[np.ix_(protected, self.sensitive)] = self.bits.take(before, before + within)
        block[np.ix_(protected, ~self.sensitive)] = self.leftover
        revealed = self.revealed[start - before :][: protected.size - within]
        block[np.flatnonzero(~protected), revealed] = self.told
        return block

    def gram(self, v: Array) -> Array:
        noise, told = v[self.protected], self._tally(v)
        S, N = self.sensitive, ~self.sensitive
        out = np.full((S.size, S.size), self.leftover**2 * noise.sum())
        out[np.diag_indices(S.size)] += self.told**2 * told
        cross = self.leftover * self.bits.adjoint(noise)
        out[np.ix_(S, N)], out[np.ix_(N, S)] = cross[:, None], cross
        out[np.ix_(S, S)] = self.bits.gram(noise)
        return out

    def select(self, keep: Array) -> Self:
        return replace(
            self,
            bits=self.bits.select(keep[self.protected]),
            protected=self.protected[keep],
            revealed=self.revealed[keep[~self.protected]],
        )

    def pinned(self, p: Array) -> Array:
        # what alone was never revealed is zero at the maximum, and only nearly so where EM stops
        never = (self._tally(np.ones(self.protected.size)) == 0.0) & bool(self.revealed.size)
        return np.asarray(~self.sensitive & ((p <= 0.0) | never))

    def prepared(self) -> SensitiveRows:
        return replace(self, bits=self.bits.prepared())

    def start(self, n: Array) -> Array:
        """The linear estimate; for sensitive categories from protected reports alone."""
        noise, nobs = n[self.protected] / n.sum(), float(n.sum())
        bits = self.bits.linear(noise, noise.sum())
        if bits is None:
            return super().start(n)
        p = self._tally(n) / (nobs * self.told)
        p[self.sensitive] = bits
        return project_simplex(p)

    def reduced(self, n: Array) -> Reduction:
        """The sensitive categories and, last, all others together.

        Given their total, the maximum gives the others shares in proportion to how often each was
        revealed: the likelihood of who was revealed stands alone. Where none was, shares are even.
        """
        whole, sensitive = self.prepared(), self.sensitive
        told = self._tally(n)
        S, total = int(sensitive.sum()), float(told[~sensitive].sum())
        if S == sensitive.size:
            return Reduction(whole, whole.bits, n[self.protected], np.arange(S), np.ones(S))
        others = told / total if total > 0.0 else np.full(told.size, 1.0 / (told.size - S))
        if not self.bits.shape[0]:  # nobody made a protected report
            places, shares = np.zeros(told.size, dtype=np.int64), np.where(sensitive, 0.0, others)
            return Reduction(whole, DenseRows(np.ones((1, 1))), np.array([total]), places, shares)
        some = int(total > 0.0)
        rows = replace(
            whole,
            protected=np.arange(self.bits.shape[0] + some) < self.bits.shape[0],
            revealed=np.full(some, S),
            sensitive=np.arange(S + 1) < S,
        )
        counts = np.append(n[self.protected], total) if some else n[self.protected]
        places = np.where(sensitive, np.cumsum(sensitive) - 1, S)
        return Reduction(whole, rows, counts, places, np.where(sensitive, 1.0, others))


# -- What is not among the categories of interest: the category "Other" of a likelihood -----------
# Where the mechanism allows it "Other" is exact, see `ldpstats.mechanisms.lumped`. Of hashed
# answers the law of each bit, or label, of respondents who hold no candidate is what is left over.
# It is shrunk towards that of answers that hash evenly, by the share of its variance that is noise
# (empirical Bayes: the variance over all cells, less that of privacy). Bits: P(bit = 1), kept
# between p* and q*, which are what an answer can give. Labels: probabilities that sum to one, each
# at least that of a label that is not the answer's own; the nearest such law.


_LEAST_SHARE = 1e-6  # of Other, below which there is nothing to estimate its law from
_PRINTED_CLIP = 1e-6  # of probabilities, in google/rappor's association.R
_LARGEST_LOG = 700.0  # of a likelihood ratio that a double holds


def other_rows(data: Reports | Counts, candidates: Any, p: Any, form: str = "product") -> Array:
    """Likelihood of "Other", one number a report, for answers outside the list of candidates.

    Bits: as if they were independent in reports of "Other", each with the probability that is left
    over once the candidates' part is taken off (FPE16 section III-B). Labels (O-RR) have a law that
    is left over in the same way, and need no such assumption.
    """
    form = one_of("form", form, ("product", "fpe16"))
    # a check of what a caller may pass, reports or their counts
    counts = data.tally() if isinstance(data, Reports) else data
    if not isinstance(counts, Counts):
        raise InvalidArgument("data", data, "must be Reports or Counts: whole reports")
    mechanism = data.mechanism
    if not mechanism.n_cohorts:
        raise NotAvailable(f"{mechanism} hashes no answers: lump(reports, keep) is exact")
    if form == "fpe16" and not mechanism.n_bits:
        raise NotAvailable('form="fpe16" is a product of bits; O-RR reports labels')
    cells = mechanism.cells(candidates if mechanism.is_open else None)
    if candidates is not None and not mechanism.is_open:
        cells = cells[:, encode("candidates", candidates, mechanism.categories)[0]]
    p = distribution("p", p, cells.shape[1], partial=True)
    rest, law = 1.0 - float(p.sum()), mechanism.cell_law
    if rest < _LEAST_SHARE:
        raise NotAvailable(f"the candidates sum to {p.sum():.6g}: nothing is left for Other")
    ones, reports = cell_counts(counts)
    own = HashDesign(np.ascontiguousarray(cells), mechanism.n_cells).owned(p)
    low, slope, even = law.low, law.high - law.low, law.shared  # even: share if hashes are even

    def seen(ones: Array, reports: Array) -> Array:
        """Share of the reports that have each cell, (C, m)."""
        none = np.full(ones.shape, low)
        return np.asarray(np.divide(ones, reports[:, None], out=none, where=reports[:, None] > 0))

    def owned(ones: Array, reports: Array) -> Array:
        """Share of the answers in Other that own a cell, by subtraction; `even` without reports."""
        left = seen(ones, reports) - law.high * own - low * (p.sum() - own)
        return np.asarray(np.where(reports[:, None] > 0, (left / rest - low) / slope, even))

    if form == "fpe16":  # as printed: the noise of all reports is taken off those of Other
        left = (seen(ones, reports) - law.high * own - low * (1.0 - own)) / rest
        return rows_of_law(np.clip(left, _PRINTED_CLIP, 1.0 - _PRINTED_CLIP), data)
    # the share of the variance of what is left over that is not noise, by moments: squares beyond
    # those that noise has, weighted by precision
    level = low + slope * (own + rest * even)
    weight = reports[:, None] * (rest * slope) ** 2 / (level * (1.0 - level))
    if weight.any():
        squares = float((weight * (owned(ones, reports) - even) ** 2).sum())
        variance = max((squares - np.count_nonzero(weight)) / float(weight.sum()), 0.0)
        weight = variance * weight / (1.0 + variance * weight)
    excess: Any = 0.0
    if not mechanism.n_bits:  # shares add up to one: what the projection takes off each
        whole = even + weight * (owned(ones, reports) - even)
        excess = np.array([[v.max() - project_simplex(v).max()] for v in whole])
    laws = []
    for without in (1, 0):  # from all reports but the one that has 1 or 0 there
        others = owned(np.maximum(ones - without, 0), np.maximum(reports - 1, 0))
        shares = even + weight * (others - even) - excess
        laws.append(low + slope * np.clip(shares, 0.0, 1.0))
    return rows_of_law(laws[0], data, laws[1])


def rows_of_law(law: Array, data: Reports | Counts, unset: Array | None = None) -> Array:
    """Likelihood, (u,), under a `law` of cells, (C, m), in the scale of `BloomRows`.

    `unset` is the law of other labels, and of bits that are not set, where it differs.
    """
    assert data.cohort is not None
    if not data.mechanism.n_bits:
        return law[data.cohort, data.y]
    unset = law if unset is None else unset
    p0, p1 = data.mechanism.p0, data.mechanism.p1
    if not (0.0 < p0 < 1.0 and 0.0 < p1 < 1.0):
        raise NotAvailable(f"a bit of {data.mechanism} may lack noise: a product of bits has none")
    clear = np.log1p(-unset) - np.log1p(-p0)
    log = clear.sum(axis=1)[data.cohort]
    change = np.log(law) - np.log(p0) - clear  # gained by a bit that is set
    patterns = (np.arange(256)[:, None] >> np.arange(8)) & 1
    for j in range(data.y.shape[1]):  # byte by byte: a table of its 256 patterns in each cohort
        part = change[:, 8 * j : 8 * j + 8]
        log += (part @ patterns[:, : part.shape[1]].T)[data.cohort, data.y[:, j]]
    if log.max(initial=0.0) > _LARGEST_LOG:
        raise NotAvailable(
            f"reports of {data.mechanism} are too telling for a product of bits: use fewer bits"
        )
    return np.asarray(np.exp(log))


# -- Rows made of others: of several groups, with an entry of p held fixed, with one category more -


class StackedRows(Rows):
    """The rows of several groups of respondents (mechanisms, cohorts), one after the other."""

    shape: tuple[int, int] = (0, 0)

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = tuple(parts)
        self._ends = np.cumsum([0] + [part.shape[0] for part in parts])
        self.shape = int(self._ends[-1]), parts[0].shape[1]
        self.is_structured = any(part.is_structured for part in parts)  # type: ignore[misc]
        self.is_joint = all(part.is_joint for part in parts)  # type: ignore[misc]
        self.is_table = all(part.is_table for part in parts)  # type: ignore[misc]

    @cached_property
    def log_scale(self) -> Array:
        return np.concatenate([part.log_scale for part in self.parts])

    def mix(self, p: Array) -> Array:
        return np.concatenate([part.mix(p) for part in self.parts])

    def adjoint(self, v: Array) -> Array:
        return np.asarray(np.sum([part.adjoint(w) for part, w in self.groups(v)], axis=0))

    def mix_each(self, p: Array) -> Array:
        return np.concatenate([part.mix_each(p) for part in self.parts], axis=1)

    def adjoint_each(self, v: Array) -> Array:
        pieces = np.split(v, self._ends[1:-1], axis=1)
        sums = [part.adjoint_each(w) for part, w in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(sums, axis=0))

    def take(self, start: int, stop: int) -> Array:
        blocks = [np.empty((0, self.shape[1]))]
        for part, first, last in zip(self.parts, self._ends[:-1], self._ends[1:], strict=True):
            if first < stop and last > start:
                blocks.append(part.take(max(start - first, 0), min(stop, last) - first))
        return np.concatenate(blocks)

    def select(self, keep: Array) -> Self:
        return type(self)(tuple(part.select(w) for part, w in self.groups(keep)))

    def gram(self, v: Array) -> Array:
        return np.asarray(sum(part.gram(w) for part, w in self.groups(v)))

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        first, second = np.sum([part.adjoints(w) for part, w in self.groups(v)], axis=0)
        return first, second

    def mix_squares(self, p: Array) -> Array:
        return np.concatenate([part.mix_squares(p) for part in self.parts])

    def groups(self, v: Array) -> list[tuple[Rows, Array]]:
        return list(zip(self.parts, np.split(v, self._ends[1:-1]), strict=True))

    def prepared(self) -> Rows:
        return StackedRows(tuple(part.prepared() for part in self.parts))

    def start(self, n: Array) -> Array:
        starts = [part.start(m) * m.sum() for part, m in self.groups(n)]
        return np.asarray(np.sum(starts, axis=0) / n.sum())


@record
class FixedEntry(Rows):
    """The rows seen by the other k - 1 categories when ``p[index] = value`` is held fixed.

    ``mix(r)`` is the base's of `value` at `index` and ``(1 - value) r`` elsewhere: a profile.
    """

    base: Rows
    index: int
    value: float
    by_report = ("base",)

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self.base.shape[1] - 1

    @property
    def log_scale(self) -> Array:
        return self.base.log_scale

    @property
    def is_structured(self) -> bool:  # type: ignore[override]
        return self.base.is_structured

    @cached_property
    def _column(self) -> Array:
        one = np.zeros(self.base.shape[1])
        one[self.index] = 1.0
        return self.base.mix(one)

    def mix(self, p: Array) -> Array:
        others = np.insert((1.0 - self.value) * p, self.index, self.value * p.sum())
        return self.base.mix(others)

    def adjoint(self, v: Array) -> Array:
        others = np.delete(self.base.adjoint(v), self.index)
        return (1.0 - self.value) * others + self.value * (self._column @ v)

    def take(self, start: int, stop: int) -> Array:
        block = np.delete(self.base.take(start, stop), self.index, axis=1)
        return (1.0 - self.value) * block + self.value * self._column[start:stop, None]

    def prepared(self) -> Rows:
        return replace(self, base=self.base.prepared())

    def closed_form(self, n: Array) -> Array | None:
        return self.base.closed_form_beside(n, self.index, self.value)

    def start(self, n: Array) -> Array:
        others = np.delete(self.base.start(n), self.index)
        return others / others.sum() if others.sum() > 0.0 else super().start(n)

    def gram(self, v: Array) -> Array:
        G, i = self.base.gram(v), self.index
        others, own = np.delete(np.delete(G, i, 0), i, 1), np.delete(G[i], i)
        f, g = self.value, 1.0 - self.value
        return np.asarray(g * g * others + f * g * (own[:, None] + own) + f * f * G[i, i])

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        first, second = (np.delete(part, self.index) for part in self.base.adjoints(v))
        cross = np.delete(self.base.adjoint(v * self._column), self.index)
        f, g = self.value, 1.0 - self.value
        return (
            g * first + f * (self._column @ v),
            g * g * second + 2.0 * f * g * cross + f * f * (self._column**2 @ v),
        )


@record
class WithOther(Rows):
    """Rows with one more category, the last, whose likelihood in the base's scale is `other`."""

    base: Rows
    other: Array
    by_report = ("base", "other")

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self.base.shape[1] + 1

    @property
    def log_scale(self) -> Array:
        return self.base.log_scale

    def mix(self, p: Array) -> Array:
        return np.asarray(self.base.mix(p[:-1]) + p[-1] * self.other)

    def adjoint(self, v: Array) -> Array:
        return np.append(self.base.adjoint(v), v @ self.other)

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        first, second = self.base.adjoints(v)
        return np.append(first, v @ self.other), np.append(second, v @ self.other**2)

    def gram(self, v: Array) -> Array:
        total = np.empty((self.shape[1],) * 2)
        total[:-1, :-1] = self.base.gram(v)
        total[-1, :-1] = total[:-1, -1] = self.base.adjoint(v * self.other)
        total[-1, -1] = v @ self.other**2
        return total

    def take(self, start: int, stop: int) -> Array:
        return np.column_stack([self.base.take(start, stop), self.other[start:stop]])
