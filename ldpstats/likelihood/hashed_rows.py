"""Likelihoods of hashed reports: labels and Bloom filters in cohorts, over candidate strings.

Rows have a column a candidate, in memory that does not grow with the product of reports and
candidates.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record
from ldpstats.likelihood.covariance import project_simplex
from ldpstats.likelihood.hashed import HashDesign, least_squares
from ldpstats.likelihood.rows import Rows, TwoValued, log_noise

_BLOCK = 1 << 19  # float64 numbers that a block of reports takes (4 MB); more leave the cache
_LARGE = 1 << 21  # likelihoods from which compiled loops repay the import of numba
_FEW = 0.35  # share of set bits up to which few candidates have both of theirs
_ROUGH = 1e-2  # a start need not be more accurate than the step that follows


@record
class LabelRows(TwoValued):
    """Rows ``b + a [y_i is x's label in cohort c_i]``: k-RR of a hashed value (KBR16 section 5.1).

    `cells`, (C, S, 1), has the label of each candidate in each cohort, `cohort` and `y`, (u,), the
    cohort and label of each report; b is the probability of each label that is not one's own.
    """

    may_be_dense: ClassVar[bool] = True
    cells: Array
    cohort: Array
    y: Array
    a: float
    b: float
    by_report = ("cohort", "y")

    @property
    def present(self) -> float:  # type: ignore[override]
        return self.a + self.b

    @property
    def absent(self) -> float:  # type: ignore[override]
        return self.b

    @property
    def shape(self) -> tuple[int, int]:
        return self.y.size, self.cells.shape[1]

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
            return floats(v)
        return np.bincount(self._position, v, self.design.shape[0])

    def supported(self, p: Array) -> Array:
        every = self.design.owned(p).reshape(-1)
        return every if self._complete else every[self._position]

    def supports(self, v: Array) -> Array:
        return self.design.owners(self.tally(v))

    def gram(self, v: Array) -> Array:
        return self.design.gram(self.tally(v))

    def take(self, start: int, stop: int) -> Array:
        labels = self.cells[self.cohort[start:stop], :, 0]
        return np.where(labels == self.y[start:stop, None], self.present, self.b)

    def start(self, n: Array) -> Array:
        m = self.design.n_cells
        counts = self.tally(n).reshape(-1, m)
        reports = counts.sum(axis=1)
        owned = (counts / np.maximum(reports, 1.0)[:, None] - self.b) / self.a
        return _decode(replace(self.design, slope=1.0, background=1.0 / m), reports, owned)


@record
class BloomRows(Rows):
    """Rows of noisy Bloom filters: candidate x sets its own bits with p1, every other with p0.

    Up to the factor ``prod_j p0^y_j (1-p0)^(1-y_j)`` of the row, which `log_scale` holds, W[i, x]
    is a product over the distinct bits j that x owns: p1/p0 where report i has the bit set, else
    (1-p1)/(1-p0). It is the exact likelihood of a whole report, however its bits hang together.

    `packed`, (u, ceil(n_bits / 8)), has bit j of a report in byte j // 8 at position j % 8;
    `cells`, (C, S, h), the distinct bits of each candidate, n_bits where a hash repeats another.
    """

    is_structured: ClassVar[bool] = True
    may_be_dense: ClassVar[bool] = True
    packed: npt.NDArray[np.uint8]
    cohort: Array
    cells: Array
    n_bits: int
    p1: float
    p0: float
    by_report = ("packed", "cohort")

    @property
    def shape(self) -> tuple[int, int]:
        return self.cohort.size, self.cells.shape[1]

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
        out, p = np.empty(self.shape[0]), floats(p).reshape(self.shape[1])
        if out.size * p.size < _LARGE:
            return super().mix(p)
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
        from ldpstats.kernels.cells import bloom_sums, bloom_two_sums

        v, m = floats(v).reshape(u), self.n_bits
        first, second = np.zeros(k), np.zeros(k)
        if self.cells.shape[2] > 2:
            table = self._table
            bloom_sums(self.packed, self.cohort, self.cells, m, table, v, first, second)
            return first, second
        # Of at most two bits a and b a likelihood is (absent + gain a) (absent + gain b), or one
        # such factor: with the sums of v over the reports of a cohort, over those with a set, and
        # over those with both, all sums are known.
        single, pair = np.zeros((len(self.cells), m)), np.zeros(k)
        bloom_two_sums(self.packed, *self._eights, self._two, m, v, single, pair)
        totals = np.bincount(self.cohort, v, len(self.cells))
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
        # A likelihood is (absent + gain y_a) (absent + gain y_b): what is linear in the bits,
        # B'(y, 1), and gain^2 where both are set, which few candidates have. The squares of the
        # former take the products of all bits of a cohort, the others lists of few.
        from ldpstats.kernels.cells import two_bit_gram

        v, n_bits, absent = floats(v), self.n_bits, self.absent
        gain, half, both = self.present - absent, np.zeros((k, k)), np.zeros((k, k))
        for c, own in enumerate(self._two):
            products, cross = np.zeros((n_bits + 1,) * 2), np.zeros((k, n_bits + 1))
            members = np.flatnonzero(self.cohort == c)
            for rows in np.array_split(members, 1 + members.size * n_bits // _BLOCK):
                packed, weights = self.packed[rows], v[rows]
                two_bit_gram(packed, weights, own, n_bits, both, cross)
                bits = np.ones((len(packed), n_bits + 1))
                bits[:, :-1] = np.unpackbits(packed, axis=1, count=n_bits, bitorder="little")
                products += (bits * weights[:, None]).T @ bits
            alone, B = own[:, 1] == n_bits, np.zeros((n_bits + 1, k))
            B[own, np.arange(k)[:, None]] = (gain * np.where(alone, 1.0, absent))[:, None]
            B[-1] = np.where(alone, absent, absent**2)
            half += B.T @ (products @ B / 2.0 + gain**2 * cross.T)
        half += gain**4 * np.triu(both, 1)
        half[np.diag_indices(k)] += gain**4 * both.diagonal() / 2.0
        return half + half.T

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
        return _decode(self.design, reports, (means - self.p0) / (self.p1 - self.p0))


def _decode(design: HashDesign, reports: Array, owned: Array) -> Array:
    """The projected p with H p = `owned`, shape (C, m), by least squares over the cohorts."""
    weights = np.repeat(reports, design.n_cells)
    rhs = owned.reshape(-1) - design.background
    return project_simplex(least_squares(design, weights, rhs, _ROUGH, max_iter=50)[0])
