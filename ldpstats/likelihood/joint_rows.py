"""Likelihoods of the reports on several variables, of several groups, and of hashed reports.

The mechanisms of the variables draw their noise independently, so that the likelihood of a joint
report is the Kronecker product of its parts: ``W[i, (x, y)] = W1[i, x] W2[i, y]``, cells row-major.
The products below never form it. Where the distinct reports of the variables are few, as with
k-RR, they go through the table of all their combinations; else from block to block of reports.

Rows are also made of others: of several groups, with an entry of p held fixed, with one category
more. Rows of labels and Bloom filters in cohorts have a column a candidate, in memory that does not
grow with the product of reports and candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ldpstats.likelihood.hashed import HashDesign, least_squares
from ldpstats.likelihood.rows import Rows, log_noise
from ldpstats.likelihood.tallies import project_simplex

__all__ = [
    "BloomRows",
    "Factor",
    "FixedEntry",
    "JointRows",
    "LabelRows",
    "StackedRows",
    "WithOther",
    "along",
    "combinations_of",
]


Array = npt.NDArray[Any]

_BLOCK = 1 << 19  # float64 numbers that a block of reports takes (4 MB); more leave the cache
_THIN = 32  # reports in a block below which products of pairs are not worth it
_QUICK = 4  # multiplications of a large product in the time that one by blocks takes
_TABLE = 1 << 25  # combinations of distinct reports (256 MB) up to which they are tabulated


class Factor(NamedTuple):
    """One variable's part of joint rows.

    `W`, (u_v, k_v), has likelihoods up to a factor per row, whose natural logarithm is `scale`,
    (u_v,), None for zeros; float64, float32 or integers, negative ones included. `index`, (u,), is
    the row of W that belongs to each joint report; None where W has one row per joint report.
    """

    W: Array
    index: Array | None = None
    scale: Array | None = None

    def rows(self, part: slice) -> Array:
        """The rows of the joint reports in `part`, float64."""
        chosen = part if self.index is None else self.index[part]
        return np.asarray(self.W[chosen], dtype=np.float64)


class JointRows(Rows):
    """Rows whose entries are products over variables: row i is the Kronecker product of theirs.

    `sizes` are the categories k_1, ..., k_d of the variables, `extent` their distinct reports.
    """

    is_structured: ClassVar[bool] = True
    is_joint: ClassVar[bool] = True
    shape: tuple[int, int] = (0, 0)

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.factors, sizes, extent, known = tuple(factors), [], [], True
        for W, index, _ in factors:
            sizes.append(W.shape[1])
            extent.append(len(W))
            known &= index is not None
        W, index, _ = factors[0]
        self.sizes, self.extent = tuple(sizes), tuple(extent)
        self.shape = len(W) if index is None else index.size, prod(sizes)
        work = 0  # of a product through the table of all combinations of distinct reports
        for i, size in enumerate(sizes):
            work += prod(extent[: i + 1]) * size * prod(sizes[i + 1 :])
        quick = prod(extent) <= _TABLE and work <= _QUICK * prod(self.shape)
        self.is_table = known and quick  # type: ignore[misc]

    @cached_property
    def log_scale(self) -> Array:
        total = np.zeros(self.shape[0])
        for _, index, scale in self.factors:
            if scale is not None:
                total += scale if index is None else scale[index]
        return total

    def mix(self, p: Array, power: Callable[[Array], Array] = np.asarray) -> Array:
        """W p, shape (u,), or with a power of each entry of W."""
        if self.is_table:
            return along(p, map(power, self._matrices))[self._table]
        out, P = np.empty(self.shape[0]), np.ascontiguousarray(p.reshape(self.sizes[0], -1))
        for part, left, right in self._halves():
            out[part] = np.einsum("ij,ij->i", power(left) @ P, power(right))
        return out

    def mix_squares(self, p: Array) -> Array:
        return self.mix(p, np.square)

    def adjoint(self, v: Array) -> Array:
        if self.is_table:
            return along(self._tally(v), map(np.transpose, self._matrices))
        total = np.zeros(self._half_sizes)
        for part, left, right in self._halves():
            total += left.T @ (v[part, None] * right)
        return total.reshape(-1)

    def mix_each(self, p: Array) -> Array:
        if not self.is_table:
            return super().mix_each(p)
        return along(p.T, self._matrices)[self._table].T

    def adjoint_each(self, v: Array) -> Array:
        if not self.is_table:
            return super().adjoint_each(v)
        size = prod(self.extent)
        places = self._table + size * np.arange(len(v))[:, None]
        tables = np.bincount(places.ravel(), v.ravel(), len(v) * size).reshape(len(v), -1)
        return along(tables.T, map(np.transpose, self._matrices)).T

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        if self.is_table:
            squares = map(np.transpose, map(np.square, self._matrices))
            return self.adjoint(v), along(self._tally(v), squares)
        first, second = np.zeros((2, *self._half_sizes))
        for part, left, right in self._halves():
            weighted = v[part, None] * right
            first += left.T @ weighted
            second += (left * left).T @ (weighted * right)
        return first.reshape(-1), second.reshape(-1)

    def gram(self, v: Array) -> Array:
        """W' diag(v) W, shape (k, k).

        An entry depends on the two categories of each variable without their order: the products of
        equal pairs are made once. Where those of the variable with most categories are too many, it
        takes a dense product for each pair of the others.
        """
        if self.is_table:
            W, growth = self._matrices, n_pairs(np.array(self.sizes)) / self.extent
            *first, last = order = np.argsort(growth, kind="stable").tolist()  # small tables first
            table = self._tally(v).reshape(self.extent).transpose(order)
            for axis in first:  # summed along its first axis with `pairs` of W, which are put last
                total = np.zeros((*table.shape[1:], n_pairs(self.sizes[axis])))
                step = max(1, _BLOCK // total.shape[-1])
                for start in range(0, len(W[axis]), step):
                    rows = slice(start, start + step)
                    total += np.tensordot(table[rows], pairs(W[axis][rows]), axes=(0, 0))
                table = total
            k = self.sizes[last]
            packed = np.zeros((*table.shape[1:], k, k))
            add_grams(packed.reshape(-1, k, k), table.reshape(len(table), -1), W[last])
            return unpack(packed, self.sizes, order)
        sizes = self._half_sizes
        lengths = n_pairs(np.array(sizes))
        if lengths.sum() <= _BLOCK // _THIN:
            total = np.zeros(lengths)
            for part, left, right in self._halves(lengths.sum()):
                total += pairs(left).T @ (pairs(right) * v[part, None])
            return unpack(total, sizes, (0, 1))
        less, more = np.argsort(sizes, kind="stable").tolist()
        total = np.zeros((lengths[less], sizes[more], sizes[more]))
        for part, *halves in self._halves(lengths[less] + sizes[more]):
            add_grams(total, pairs(halves[less]) * v[part, None], halves[more])
        return unpack(total, sizes, (less, more))

    def rough_gram(self, v: Array) -> Array:
        sizes = self._half_sizes
        lengths = n_pairs(np.array(sizes))
        if self.is_table or lengths.sum() > _BLOCK // _THIN:
            return self.gram(v)
        total = np.zeros(lengths)
        for part, *halves in self._halves(lengths.sum()):
            # rows with a largest entry of one stay in the range of float32
            tops = [np.abs(half).max(axis=1, keepdims=True) for half in halves]
            left, right = (
                pairs((half / top).astype(np.float32))
                for half, top in zip(halves, tops, strict=True)
            )
            weights = v[part, None] * (tops[0] * tops[1]) ** 2
            total += left.T @ (right * weights.astype(np.float32))
        return unpack(total, sizes, (0, 1))

    def take(self, start: int, stop: int) -> Array:
        return reduce(khatri_rao, (factor.rows(slice(start, stop)) for factor in self.factors))

    def select(self, keep: Array | slice) -> JointRows:
        """The rows in `keep`, a boolean array of shape (u,) or a slice, which copies nothing."""
        factors = []
        for W, index, scale in self.factors:
            if index is not None:
                factors.append(Factor(W, index[keep], scale))
            else:
                factors.append(Factor(W[keep], None, None if scale is None else scale[keep]))
        return JointRows(factors)

    def margins(self, n: Array) -> list[tuple[Array, Array]]:
        return [
            (W, n if index is None else np.bincount(index, n, len(W)))
            for W, index, _ in self.factors
        ]

    # ---- through the table of all combinations of the variables' distinct reports

    @cached_property
    def _table(self) -> Array:
        """Cell of the table that each joint report is in, (u,)."""
        _, indices, _ = zip(*self.factors, strict=True)
        return np.asarray(np.ravel_multi_index(indices, self.extent))

    @cached_property
    def _matrices(self) -> list[Array]:
        matrices = []
        for W, *_ in self.factors:
            matrices.append(np.asarray(W, dtype=np.float64))
        return matrices

    def _tally(self, v: Array) -> Array:
        """The sum of v over the joint reports of each cell of the table, (u_1 u_2 ...,)."""
        return np.bincount(self._table, v, prod(self.extent))

    # ---- from block to block of reports

    @property
    def _half_sizes(self) -> tuple[int, int]:
        """Categories of the first variable and of the others together."""
        return self.sizes[0], prod(self.sizes[1:])

    def _halves(self, width: int = 0) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of reports: the rows of the first variable and of the others together.

        `width` is how many numbers a report takes, if more than these rows.
        """
        step = max(1, _BLOCK // max(width, sum(self._half_sizes)))
        for start in range(0, self.shape[0], step):
            part = slice(start, min(start + step, self.shape[0]))
            left, *others = (factor.rows(part) for factor in self.factors)
            yield part, left, reduce(khatri_rao, others)


# -- Products of the rows of several variables, and of pairs of their categories ------------------


def combinations_of(matrices: Sequence[Array]) -> JointRows:
    """A row for each combination of the rows of matrices (l_v, k_v), the last varying fastest."""
    grid = np.indices(tuple(map(len, matrices))).reshape(len(matrices), -1)
    return JointRows(tuple(map(Factor, map(np.ascontiguousarray, matrices), grid)))


def along(values: Array, matrices: Iterable[Array]) -> Array:
    """``(M_1 (x) M_2 (x) ...) values`` for values of shape (k_1 k_2 ..., ...)."""
    tail = values.shape[1:]
    for M in matrices:  # each takes the first axis and puts its own last
        values = (M @ values.reshape(M.shape[1], -1)).T
    return values.reshape(prod(tail), -1).T.reshape(-1, *tail)


def khatri_rao(left: Array, right: Array) -> Array:
    """Row by row Kronecker products, shape (b, k_1 k_2)."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), left.shape[1] * right.shape[1])


def pairs(rows: Array) -> Array:
    """Products of columns i <= s of (b, k) rows, shape (b, k (k + 1) / 2), by i, then s."""
    k = rows.shape[1]
    columns = np.ascontiguousarray(rows.T)
    out = np.empty((n_pairs(k), len(rows)), dtype=rows.dtype)
    end = 0
    for i in range(k):
        start, end = end, end + k - i
        np.multiply(columns[i], columns[i:], out=out[start:end])
    return out.T


def n_pairs(k: Any) -> Any:
    """Columns of `pairs`."""
    return k * (k + 1) // 2


def add_grams(total: Array, weights: Array, W: Array) -> None:
    """Add ``W' diag(w) W`` for each column w of the weights, (b, m), to the total, (m, k, k)."""
    b, k = W.shape
    step = max(1, _BLOCK // (b * k))
    columns = np.ascontiguousarray(W.T)
    for start in range(0, len(total), step):
        some = slice(start, start + step)
        weighted = weights.T[some, None, :] * columns
        total[some] += (weighted.reshape(-1, b) @ W).reshape(-1, k, k)


def unpack(packed: Array, sizes: Sequence[int], order: Sequence[int]) -> Array:
    """The (k, k) matrix, k = k_1 ... k_d, of cells in `packed`, whose axes are variables in order.

    Each is a cell per `pairs`; if there is one more axis, the last two are of the last variable.
    """
    d, cells = len(sizes), []
    for axis in order:
        size = sizes[axis]
        first, second = np.indices((size, size))
        low, high = np.minimum(first, second), np.maximum(first, second)
        whole = packed.ndim > d and axis == order[-1]
        at = [1] * (2 * d)
        at[axis] = at[d + axis] = size
        for cell in (low, high) if whole else (low * (2 * size - low - 1) // 2 + high,):
            cells.append(cell.reshape(at))
    k = prod(sizes)
    return np.asarray(packed[tuple(cells)].reshape(k, k))


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
        blocks = []
        for part, first, last in zip(self.parts, self._ends[:-1], self._ends[1:], strict=True):
            if first < stop and last > start:
                blocks.append(part.take(max(start - first, 0), min(stop, last) - first))
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]))

    def select(self, keep: Array) -> StackedRows:
        return StackedRows(tuple(part.select(w) for part, w in self.groups(keep)))

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


@dataclass(frozen=True, eq=False)
class FixedEntry(Rows):
    """The rows seen by the other k - 1 categories when ``p[index] = value`` is held fixed.

    ``mix(r)`` is the base's of `value` at `index` and ``(1 - value) r`` elsewhere: a profile.
    """

    base: Rows
    index: int
    value: float

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
        return np.asarray((1.0 - self.value) * others + self.value * (self._column @ v))

    def take(self, start: int, stop: int) -> Array:
        block = np.delete(self.base.take(start, stop), self.index, axis=1)
        return (1.0 - self.value) * block + self.value * self._column[start:stop, None]

    def select(self, keep: Array) -> FixedEntry:
        return replace(self, base=self.base.select(keep))

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


@dataclass(frozen=True, eq=False)
class WithOther(Rows):
    """Rows with one more category, the last, whose likelihood in the base's scale is `other`."""

    base: Rows
    other: Array

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

    def select(self, keep: Array) -> WithOther:
        return WithOther(self.base.select(keep), self.other[keep])


# -- Likelihoods of hashed reports: labels and Bloom filters in cohorts, over candidate strings ---


_LARGE = 1 << 21  # likelihoods from which compiled loops repay the import of numba
_FEW = 0.35  # share of set bits up to which few candidates have both of theirs
_ROUGH = 1e-2  # a start need not be more accurate than the step that follows


@dataclass(frozen=True, eq=False)
class LabelRows(Rows):
    """Rows ``b + a [y_i is x's label in cohort c_i]``: k-RR of a hashed value (KBR16 section 5.1).

    `cells`, (C, S, 1), has the label of each candidate in each cohort, `cohort` and `y`, (u,), the
    cohort and label of each report; b is the probability of each label that is not one's own.
    """

    is_structured: ClassVar[bool] = True
    may_be_dense: ClassVar[bool] = True
    cells: Array
    cohort: Array
    y: Array
    a: float
    b: float

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

    def start(self, n: Array) -> Array:
        m = self.design.n_cells
        counts = self.tally(n).reshape(-1, m)
        reports = counts.sum(axis=1)
        owned = (counts / np.maximum(reports, 1.0)[:, None] - self.b) / self.a
        return _decode(replace(self.design, slope=1.0, background=1.0 / m), reports, owned)


@dataclass(frozen=True, eq=False)
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
        out, p = np.empty(self.shape[0]), np.asarray(p, dtype=np.float64).reshape(self.shape[1])
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

        v, m = np.asarray(v, dtype=np.float64).reshape(u), self.n_bits
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
        from ldpstats.kernels.two_bits import pair_gram

        v, n_bits, absent = np.asarray(v, dtype=np.float64), self.n_bits, self.absent
        gain, half, both = self.present - absent, np.zeros((k, k)), np.zeros((k, k))
        for c, own in enumerate(self._two):
            products, cross = np.zeros((n_bits + 1,) * 2), np.zeros((k, n_bits + 1))
            members = np.flatnonzero(self.cohort == c)
            for rows in np.array_split(members, 1 + members.size * n_bits // _BLOCK):
                packed, weights = self.packed[rows], v[rows]
                pair_gram(packed, weights, own, n_bits, both, cross)
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

    def select(self, keep: Array) -> Self:
        return replace(self, packed=self.packed[keep], cohort=self.cohort[keep])

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
