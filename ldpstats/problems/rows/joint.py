"""Likelihoods of the reports on several variables together, kept variable by variable.

The mechanisms of the variables draw their noise independently, so that the likelihood of a joint
report is the Kronecker product of its parts: ``W[i, (x, y)] = W1[i, x] W2[i, y]``, cells row-major.
The products below never form it. Where the distinct reports of the variables are few, as with
k-RR, they go through the table of all their combinations; else from block to block of reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.kronecker import (
    add_grams,
    along_each,
    contracted,
    contracted_pairs,
    khatri_rao,
    n_pairs,
    pairs,
    unpacked,
)

__all__ = ["Factor", "JointRows"]

Array = npt.NDArray[Any]

_BLOCK = 1 << 19  # float64 numbers that a block of reports takes (4 MB); more leave the cache
_THIN = 32  # reports in a block below which products of pairs are not worth it
_QUICK = 4  # multiplications of a large product in the time that one by blocks takes
_TABLE = 1 << 25  # combinations of distinct reports (256 MB) up to which they are tabulated


@dataclass(frozen=True, eq=False)
class Factor:
    """One variable's part of joint rows.

    Parameters
    ----------
    W : array, shape (u_v, k_v)
        Likelihoods, up to a factor per row; float64, float32 or integers, negative ones included.
    index : array of int, shape (u,), or None
        Row of W that belongs to each joint report; None where W has one row per joint report.
    scale : array, shape (u_v,), or None
        Natural logarithm of the factor taken out of each row of W; None for zeros.

    Raises
    ------
    InvalidArgument
        Where a shape is wrong or an index out of range.

    Examples
    --------
    >>> Factor(np.array([[3, 1], [1, 3]]), index=np.array([1, 1, 0])).rows(slice(0, 3))
    array([[1., 3.],
           [1., 3.],
           [3., 1.]])
    """

    W: Array
    index: Array | None = None
    scale: Array | None = None

    def __post_init__(self) -> None:
        if self.W.ndim != 2:
            raise InvalidArgument("W", self.W.shape, "must have shape (u_v, k_v)")
        if self.scale is not None and self.scale.shape != self.W.shape[:1]:
            raise InvalidArgument("scale", self.scale.shape, "must hold one number per row of W")
        if self.index is not None and not (
            self.index.ndim == 1
            and np.issubdtype(self.index.dtype, np.integer)
            and (self.index.size == 0 or 0 <= self.index.min() <= self.index.max() < len(self.W))
        ):
            remedy = f"must be integers from 0 to {len(self.W) - 1}, one per joint report"
            raise InvalidArgument("index", self.index, remedy)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of joint reports u and of categories k_v."""
        return (len(self.W) if self.index is None else self.index.size), self.W.shape[1]

    @property
    def log_scale(self) -> Array:
        """Natural logarithm, shape (u,), of the factor taken out of each report's row."""
        if self.scale is None:
            return np.zeros(self.shape[0])
        return self.scale if self.index is None else self.scale[self.index]

    def rows(self, part: slice) -> Array:
        """The rows of the joint reports in `part`, float64."""
        chosen = part if self.index is None else self.index[part]
        return np.asarray(self.W[chosen], dtype=np.float64)

    def select(self, keep: Array | slice) -> Factor:
        """The part of the joint reports in `keep`; a slice copies nothing."""
        if self.index is not None:
            return replace(self, index=self.index[keep])
        return Factor(self.W[keep], scale=None if self.scale is None else self.scale[keep])


@dataclass(frozen=True, eq=False)
class JointRows(Rows):
    """Rows whose entries are products over variables: row i is the Kronecker product of theirs.

    Parameters
    ----------
    factors : tuple of Factor
        Two or more, over the same joint reports.

    Raises
    ------
    InvalidArgument
        Where there are fewer than two factors, or their numbers of reports differ.

    Examples
    --------
    >>> flip = np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> rows = JointRows((Factor(flip, np.array([0, 1])), Factor(flip, np.array([0, 0]))))
    >>> rows.dense()
    array([[9., 3., 3., 1.],
           [3., 1., 9., 3.]])
    >>> rows.mix(np.full(4, 0.25))
    array([4., 4.])
    """

    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        sizes = [factor.shape[0] for factor in self.factors]
        if len(sizes) < 2 or len(set(sizes)) > 1:
            raise InvalidArgument(
                "factors", sizes, "must be two or more, with the same number of joint reports"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories k_1, ..., k_d of the variables."""
        return tuple(factor.shape[1] for factor in self.factors)

    @property
    def shape(self) -> tuple[int, int]:
        return self.factors[0].shape[0], prod(self.sizes)

    @property
    def is_structured(self) -> bool:
        return True

    @property
    def is_joint(self) -> bool:
        return True

    @property
    def is_table(self) -> bool:
        return self._table is not None

    @cached_property
    def log_scale(self) -> Array:
        return np.asarray(np.sum([factor.log_scale for factor in self.factors], axis=0))

    def mix(self, p: Array) -> Array:
        if self.is_table:
            return contracted(p.reshape(self.sizes), self._matrices, 1).reshape(-1)[self._table]
        out, P = np.empty(self.shape[0]), np.ascontiguousarray(p.reshape(self.sizes[0], -1))
        for part, left, right in self._halves():
            out[part] = np.einsum("ij,ij->i", left @ P, right)
        return out

    def adjoint(self, v: Array) -> Array:
        if self.is_table:
            return contracted(self._tally(v), self._matrices, 0).reshape(-1)
        total = np.zeros(self._half_sizes)
        for part, left, right in self._halves():
            total += left.T @ (v[part, None] * right)
        return total.reshape(-1)

    def mix_each(self, p: Array) -> Array:
        if not self.is_table:
            return super().mix_each(p)
        tables: Array = along_each(p.reshape(len(p), *self.sizes), self._matrices, 1)
        return np.asarray(tables.reshape(len(p), -1)[:, self._table])

    def adjoint_each(self, v: Array) -> Array:
        if not self.is_table:
            return super().adjoint_each(v)
        assert self._table is not None
        extent = [len(factor.W) for factor in self.factors]
        places = self._table + prod(extent) * np.arange(len(v))[:, None]
        tables = np.bincount(places.ravel(), v.ravel(), len(v) * prod(extent))
        tables = tables.reshape(len(v), *extent)
        return np.asarray(along_each(tables, self._matrices, 0).reshape(len(v), -1))

    def adjoints(self, v: Array) -> tuple[Array, Array]:
        if self.is_table:
            squares = [W * W for W in self._matrices]
            return self.adjoint(v), contracted(self._tally(v), squares, 0).reshape(-1)
        first, second = np.zeros(self._half_sizes), np.zeros(self._half_sizes)
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
            return self._table_gram(self._tally(v))
        sizes = self._half_sizes
        lengths = [n_pairs(size) for size in sizes]
        if sum(lengths) <= _BLOCK // _THIN:
            total = np.zeros(lengths)
            for part, left, right in self._halves(sum(lengths)):
                total += pairs(left).T @ (pairs(right) * v[part, None])
            return unpacked(total, sizes, (0, 1))
        less, more = np.argsort(sizes, kind="stable").tolist()
        total = np.zeros((lengths[less], sizes[more], sizes[more]))
        for part, *halves in self._halves(lengths[less] + sizes[more]):
            add_grams(total, pairs(halves[less]) * v[part, None], halves[more], _BLOCK)
        return unpacked(total, sizes, (less, more))

    def rough_gram(self, v: Array) -> Array:
        sizes = self._half_sizes
        lengths = [n_pairs(size) for size in sizes]
        if self.is_table or sum(lengths) > _BLOCK // _THIN:
            return self.gram(v)
        total = np.zeros(lengths)
        for part, *halves in self._halves(sum(lengths)):
            # rows with a largest entry of one stay in the range of float32
            tops = [np.abs(half).max(axis=1, keepdims=True) for half in halves]
            left, right = (
                pairs((half / top).astype(np.float32))
                for half, top in zip(halves, tops, strict=True)
            )
            weights = v[part, None] * (tops[0] * tops[1]) ** 2
            total += left.T @ (right * weights.astype(np.float32))
        return unpacked(total, sizes, (0, 1))

    def mix_squares(self, p: Array) -> Array:
        if self.is_table:
            squares = [W * W for W in self._matrices]
            return contracted(p.reshape(self.sizes), squares, 1).reshape(-1)[self._table]
        out, P = np.empty(self.shape[0]), np.ascontiguousarray(p.reshape(self.sizes[0], -1))
        for part, left, right in self._halves():
            out[part] = np.einsum("ij,ij->i", (left * left) @ P, right * right)
        return out

    def take(self, start: int, stop: int) -> Array:
        return reduce(khatri_rao, (factor.rows(slice(start, stop)) for factor in self.factors))

    def select(self, keep: Array | slice) -> JointRows:
        """The rows in `keep`, a boolean array of shape (u,) or a slice, which copies nothing."""
        return JointRows(tuple(factor.select(keep) for factor in self.factors))

    def margins(self, n: Array) -> list[tuple[Array, Array]]:
        return [
            (part.W, n if part.index is None else np.bincount(part.index, n, len(part.W)))
            for part in self.factors
        ]

    # ---- through the table of all combinations of the variables' distinct reports

    @cached_property
    def _table(self) -> Array | None:
        """Cell of the table that each joint report is in, (u,); None where blocks are quicker."""
        indices = [factor.index for factor in self.factors]
        extent = [len(factor.W) for factor in self.factors]
        if any(index is None for index in indices) or prod(extent) > _TABLE:
            return None
        work = 0
        for i, size in enumerate(self.sizes):
            work += prod(extent[: i + 1]) * size * prod(self.sizes[i + 1 :])
        if work > _QUICK * prod(self.shape):
            return None
        return np.asarray(np.ravel_multi_index(indices, extent))  # type: ignore[arg-type]

    @cached_property
    def _matrices(self) -> list[Array]:
        return [np.asarray(factor.W, dtype=np.float64) for factor in self.factors]

    def _tally(self, v: Array) -> Array:
        """The sum of v over the joint reports of each cell of the table, shape (u_1, ..., u_d)."""
        extent = [len(factor.W) for factor in self.factors]
        return np.bincount(self._table, v, prod(extent)).reshape(extent)  # type: ignore[arg-type]

    def _table_gram(self, table: Array) -> Array:
        """`gram` for the sums of v in each cell of the table."""
        W, sizes = self._matrices, self.sizes
        growth = [n_pairs(k) / len(rows) for k, rows in zip(sizes, W, strict=True)]
        *first, last = order = np.argsort(growth, kind="stable").tolist()  # small tables first
        table = table.transpose(order)
        for axis in first:
            table = contracted_pairs(table, W[axis], _BLOCK)
        packed = np.zeros((*table.shape[1:], sizes[last], sizes[last]))
        weights = table.reshape(len(table), -1)
        add_grams(packed.reshape(-1, sizes[last], sizes[last]), weights, W[last], _BLOCK)
        return unpacked(packed, sizes, order)

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
