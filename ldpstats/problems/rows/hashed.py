"""Likelihoods of hashed reports: labels and Bloom filters in cohorts, over candidate strings.

Both are rows W in the sense of `ldpstats.problems.rows.base`, one a distinct report and a column a
candidate, in memory that does not grow with their product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.problems.hash_design import HashDesign, least_squares
from ldpstats.problems.rows.base import Rows, dense_if_small, log_noise
from ldpstats.problems.rows.two_bits import gram_of_two
from ldpstats.problems.simplex import project_simplex

__all__ = ["BloomRows", "LabelRows"]

Array = npt.NDArray[Any]

_LARGE = 1 << 21  # likelihoods from which compiled loops repay the import of numba
_FEW = 0.35  # share of set bits up to which few candidates have both of theirs
_ROUGH = 1e-2  # a start need not be more accurate than the step that follows


@dataclass(frozen=True, eq=False)
class LabelRows(Rows):
    """Rows ``b + a [y_i is x's label in cohort c_i]``: k-RR of a hashed value (KBR16 section 5.1).

    Parameters
    ----------
    cells : array of uint16 or uint32, shape (C, S, 1)
        Label of each candidate in each cohort.
    cohort, y : arrays of int, shape (u,)
        Cohort and label of each report.
    a : float
        Probability of the label of one's own value, less b. Not 0.
    b : float
        Probability of each other label.

    Raises
    ------
    InvalidArgument
        Where a shape is wrong, a cohort or label out of range, or a is 0.

    Examples
    --------
    >>> cells = np.array([[[0], [1], [1]], [[0], [0], [1]]], dtype=np.uint16)
    >>> rows = LabelRows(cells, cohort=np.array([0, 1]), y=np.array([1, 1]), a=0.5, b=0.25)
    >>> rows.dense()
    array([[0.25, 0.75, 0.75],
           [0.25, 0.25, 0.75]])
    """

    cells: Array
    cohort: Array
    y: Array
    a: float
    b: float

    def __post_init__(self) -> None:
        if self.cells.ndim != 3 or self.cells.shape[2] != 1:
            raise InvalidArgument("cells", self.cells.shape, "must have shape (C, S, 1)")
        if self.a == 0.0:
            raise InvalidArgument("a", self.a, "must not be 0: the reports would say nothing")
        _check_cohort(self.cohort, self.cells.shape[0])
        if self.y.shape != self.cohort.shape or (self.y.size and self.y.min() < 0):
            raise InvalidArgument("y", self.y, "must be labels >= 0, as many as cohorts")

    @property
    def shape(self) -> tuple[int, int]:
        return self.y.size, self.cells.shape[1]

    @property
    def is_structured(self) -> bool:
        return True

    @cached_property
    def design(self) -> HashDesign:
        """The likelihoods of all labels of all cohorts, of which the rows are some."""
        n_cells = 1 + max(int(self.cells.max(initial=0)), int(self.y.max(initial=0)))
        return HashDesign(self.cells, n_cells, slope=self.a, background=-self.b / self.a)

    @cached_property
    def _position(self) -> Array:
        """Row of `design` of each report, shape (u,)."""
        return self.cohort.astype(np.int64) * self.design.n_cells + self.y

    @cached_property
    def _complete(self) -> bool:
        """Whether the rows are those of `design`, each once and in order."""
        size = self.design.shape[0]
        return self.y.size == size and bool(np.all(self._position == np.arange(size)))

    def tally(self, v: Array) -> Array:
        """The sum of v, shape (u,), over the reports of each label of each cohort, (C m,)."""
        if self._complete:
            return np.asarray(v, dtype=np.float64)
        return np.bincount(self._position, v, self.design.shape[0])

    def mix(self, p: Array) -> Array:
        every = self.design.times(p)
        return every if self._complete else every[self._position]

    def adjoint(self, v: Array) -> Array:
        return self.design.adjoint(self.tally(v))

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        own, rest = self.design.owners(self.tally(v)), self.b * float(np.sum(v))
        return self.a * own + rest, (self.a + 2.0 * self.b) * self.a * own + self.b * rest

    def gram(self, v: Array) -> Array:
        return self.design.gram(self.tally(v))

    def take(self, start: int, stop: int) -> Array:
        labels = self.cells[self.cohort[start:stop], :, 0]
        return np.where(labels == self.y[start:stop, None], self.a + self.b, self.b)

    def select(self, keep: Array) -> LabelRows:
        return replace(self, cohort=self.cohort[keep], y=self.y[keep])

    def prepared(self) -> Rows:
        return dense_if_small(self)

    def start(self, n: Array) -> Array:
        m = self.design.n_cells
        counts = self.tally(n).reshape(-1, m)
        reports = counts.sum(axis=1)
        owned = (counts / np.maximum(reports, 1.0)[:, None] - self.b) / self.a
        return _decoded(replace(self.design, slope=1.0, background=1.0 / m), reports, owned)


@dataclass(frozen=True, eq=False)
class BloomRows(Rows):
    """Rows of noisy Bloom filters: candidate x sets its own bits with p1, every other with p0.

    Up to the factor ``prod_j p0^y_j (1-p0)^(1-y_j)`` of the row, which `log_scale` holds, W[i, x]
    is a product over the distinct bits j that x owns: p1/p0 where report i has the bit set, else
    (1-p1)/(1-p0). It is the exact likelihood of a whole report, however its bits hang together.

    Parameters
    ----------
    packed : array of uint8, shape (u, ceil(n_bits/8))
        Bit j of a report in byte j // 8 at position j % 8.
    cohort : array of int, shape (u,)
        Cohort of each report.
    cells : array of uint16 or uint32, shape (C, S, h)
        Distinct bits of each candidate in each cohort, n_bits where a hash repeats another.
    n_bits : int
        Bits of a report.
    p1, p0 : float
        Probabilities, within (0, 1), that a bit of one's own value and that another is reported
        set.

    Raises
    ------
    InvalidArgument
        Where a shape is wrong, a cohort or bit out of range, or a probability is 0 or 1.

    Examples
    --------
    >>> cells = np.array([[[0, 1], [1, 2]]], dtype=np.uint16)   # 1 cohort, 2 candidates, 2 hashes
    >>> packed = np.array([[0b011], [0b100]], dtype=np.uint8)
    >>> BloomRows(packed, np.array([0, 0]), cells, n_bits=3, p1=0.75, p0=0.25).dense().round(3)
    array([[9.   , 1.   ],
           [0.111, 1.   ]])
    """

    packed: npt.NDArray[np.uint8]
    cohort: Array
    cells: Array
    n_bits: int
    p1: float
    p0: float

    def __post_init__(self) -> None:
        for name, value in (("p1", self.p1), ("p0", self.p0)):
            if not 0.0 < value < 1.0:
                raise InvalidArgument(name, value, "must lie in (0, 1), for example 0.25")
        u, width = self.cohort.size, -(-self.n_bits // 8)
        if self.packed.shape != (u, width) or self.packed.dtype != np.uint8:
            form = f"{self.packed.dtype} of shape {self.packed.shape}"
            raise InvalidArgument("packed", form, f"must be uint8 of shape {(u, width)}")
        _check_cohort(self.cohort, self.design.n_cohorts)

    @property
    def shape(self) -> tuple[int, int]:
        return self.cohort.size, self.cells.shape[1]

    @property
    def is_structured(self) -> bool:
        return True

    @cached_property
    def design(self) -> HashDesign:
        """Which candidate owns which bit, less the share of candidates that own it on average."""
        h = self.cells.shape[-1]
        return HashDesign(self.cells, self.n_bits, background=1.0 - (1.0 - 1.0 / self.n_bits) ** h)

    @property
    def present(self) -> float:
        """Likelihood ratio of an own bit that is set."""
        return self.p1 / self.p0

    @property
    def absent(self) -> float:
        """Likelihood ratio of an own bit that is not set."""
        return (1.0 - self.p1) / (1.0 - self.p0)

    @cached_property
    def log_scale(self) -> Array:
        return log_noise(self.packed, self.p0, self.n_bits)

    def mix(self, p: Array) -> Array:
        out, p = np.empty(self.shape[0]), np.asarray(p, dtype=np.float64).reshape(self.shape[1])
        if out.size * p.size < _LARGE:
            for part, block in self.blocks():
                out[part] = block @ p
            return out
        from ldpstats.kernels.cells import bloom_mix, bloom_two_mix

        held = np.flatnonzero(p)  # most candidates are absent where a maximum is
        cells, p, table = np.ascontiguousarray(self._two[:, held]), p[held], self._table
        if cells.shape[2] > 2:
            bloom_mix(self.packed, self.cohort, cells, self.n_bits, table, p, out)
        else:
            table = np.concatenate([table, np.ones((1, 8))])
            bloom_two_mix(self.packed, *self._eights, cells, self.n_bits, table, p, out)
        return out

    def adjoint(self, v: Array) -> Array:
        return self.adjoints(v)[0]

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        u, k = self.shape
        if u * k < _LARGE:
            return super().adjoints(v)
        v = np.asarray(v, dtype=np.float64).reshape(u)
        if self.cells.shape[2] <= 2:
            return self._adjoints_of_two(v)
        from ldpstats.kernels.cells import bloom_sums

        first, second, table = np.zeros(k), np.zeros(k), self._table
        bloom_sums(self.packed, self.cohort, self.cells, self.n_bits, table, v, first, second)
        return first, second

    def _adjoints_of_two(self, v: Array) -> tuple[Array, Array]:
        """`adjoints` where a candidate owns at most two bits a and b.

        A likelihood is ``(absent + gain a) (absent + gain b)``, or one such factor: with the sums
        of v over the reports of a cohort, over those with a set, and over those with both, all sums
        are known.
        """
        from ldpstats.kernels.cells import bloom_two_sums

        C, S, _ = self.cells.shape
        single, pair, m = np.zeros((C, self.n_bits)), np.zeros(S), self.n_bits
        bloom_two_sums(self.packed, *self._eights, self._two, m, v, single, pair)
        totals, first, second = np.bincount(self.cohort, v, C), np.zeros(S), np.zeros(S)
        squares = self.absent**2, self.present**2
        for c, own in enumerate(self._two):
            one = np.append(single[c], 0.0)[own].sum(axis=1)
            both = own[:, 1] < m
            for sums, (low, high) in ((first, (self.absent, self.present)), (second, squares)):
                factor = np.where(both, low, 1.0)
                sums += factor * (low * totals[c] + (high - low) * one)
        gain, gains = self.present - self.absent, squares[1] - squares[0]
        return first + gain**2 * pair, second + gains**2 * pair

    def gram(self, v: Array) -> Array:
        u, k = self.shape
        ones = np.bitwise_count(self.packed).sum(dtype=np.int64)
        if u * k < _LARGE or self.cells.shape[2] > 2 or ones > _FEW * u * self.n_bits:
            return super().gram(v)
        ratios, v = (self.absent, self.present), np.asarray(v, dtype=np.float64)
        return gram_of_two(self.packed, self.cohort, self._two, self.n_bits, ratios, v)

    @cached_property
    def _two(self) -> Array:
        """The cells; of candidates with a single bit a second one that stands for none."""
        if self.cells.shape[2] > 1:
            return self.cells
        none = np.full(self.cells.shape, self.n_bits, dtype=self.cells.dtype)
        return np.concatenate([self.cells, none], axis=2)

    @cached_property
    def _eights(self) -> tuple[Array, Array]:
        """Places, (g, 8), of the reports of a cohort by eights, -1 for none; and the cohorts."""
        sizes = np.bincount(self.cohort, minlength=self.design.n_cohorts)
        groups = -(-sizes // 8)
        gaps = 8 * groups - sizes  # places without a report, before those of the next cohort
        order = np.argsort(self.cohort, kind="stable")
        place = np.full(8 * groups.sum(), -1)
        place[np.arange(order.size) + np.repeat(np.cumsum(gaps) - gaps, sizes)] = order
        return place.reshape(-1, 8), np.repeat(np.arange(sizes.size), groups)

    @property
    def _table(self) -> Array:
        """Likelihood ratios of the eight bits of each byte, shape (256, 8)."""
        bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
        return np.where(bits, self.present, self.absent)

    def take(self, start: int, stop: int) -> Array:
        part, cohort = self.packed[start:stop], self.cohort[start:stop]
        bits = np.full((len(part), self.n_bits + 1), 2, np.uint8)  # the last stands for no bit
        bits[:, :-1] = np.unpackbits(part, axis=1, count=self.n_bits, bitorder="little")
        ratio = np.array([self.absent, self.present, 1.0])
        out = np.empty((len(bits), self.shape[1]))
        order = np.argsort(cohort, kind="stable")
        ends = np.searchsorted(cohort[order], np.arange(self.design.n_cohorts + 1))
        for c in np.flatnonzero(np.diff(ends)):  # of one cohort all reports own the same columns
            rows = order[ends[c] : ends[c + 1]]
            own = bits[rows]
            first, *others = self.cells[c].T.astype(np.intp)
            block = ratio[own[:, first]]
            for columns in others:
                block *= ratio[own[:, columns]]
            out[rows] = block
        return out

    def select(self, keep: Array) -> Self:
        return replace(self, packed=self.packed[keep], cohort=self.cohort[keep])

    def prepared(self) -> Rows:
        return dense_if_small(self)

    def start(self, n: Array) -> Array:
        if self.p1 == self.p0:
            return super().start(n)
        from ldpstats.kernels.bits import bit_sums

        reports = np.bincount(self.cohort, n, self.design.n_cohorts)
        order = np.argsort(self.cohort, kind="stable")
        ends = np.cumsum(np.bincount(self.cohort, minlength=reports.size))[:-1]
        packed, counts = np.split(self.packed[order], ends), np.split(n[order], ends)
        ones = [bit_sums(y, c, self.n_bits) for y, c in zip(packed, counts, strict=True)]
        means = np.array(ones) / np.maximum(reports, 1.0)[:, None]
        return _decoded(self.design, reports, (means - self.p0) / (self.p1 - self.p0))


def _decoded(design: HashDesign, reports: Array, owned: Array) -> Array:
    """The projected p with H p = `owned`, shape (C, m), by least squares over the cohorts."""
    weights = np.repeat(reports, design.n_cells)
    rhs = owned.reshape(-1) - design.background
    return project_simplex(least_squares(design, weights, rhs, _ROUGH, max_iter=50).p)


def _check_cohort(cohort: Array, n_cohorts: int) -> None:
    if cohort.ndim != 1 or (cohort.size and not 0 <= cohort.min() <= cohort.max() < n_cohorts):
        raise InvalidArgument("cohort", cohort, f"must be one of 0 to {n_cohorts - 1} per report")
