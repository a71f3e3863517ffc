"""Rows made of others: of several groups, with an entry of p held fixed, with one category more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.problems.rows.base import Rows

__all__ = ["FixedEntry", "StackedRows", "WithOther"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class StackedRows(Rows):
    """The rows of several groups of respondents (mechanisms, cohorts), one after the other."""

    parts: tuple[Rows, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @cached_property
    def log_scale(self) -> Array:
        return np.concatenate([part.log_scale for part in self.parts])

    @property
    def is_structured(self) -> bool:
        return any(part.is_structured for part in self.parts)

    @property
    def is_joint(self) -> bool:
        return all(part.is_joint for part in self.parts)

    @property
    def is_table(self) -> bool:
        return all(part.is_table for part in self.parts)

    @cached_property
    def _ends(self) -> Array:
        return np.cumsum([0] + [part.shape[0] for part in self.parts])

    def mix(self, p: Array) -> Array:
        return np.concatenate([part.mix(p) for part in self.parts])

    def adjoint(self, v: Array) -> Array:
        return np.asarray(np.sum([part.adjoint(w) for part, w in self.groups(v)], axis=0))

    def mix_each(self, p: Array) -> Array:
        return np.concatenate([part.mix_each(p) for part in self.parts], axis=1)

    def adjoint_each(self, v: Array) -> Array:
        pieces = np.split(v, self._ends[1:-1], axis=1)
        found = [part.adjoint_each(w) for part, w in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(found, axis=0))

    def take(self, start: int, stop: int) -> Array:
        found = []
        for part, first, last in zip(self.parts, self._ends[:-1], self._ends[1:], strict=True):
            if first < stop and last > start:
                found.append(part.take(max(start - first, 0), min(stop, last) - first))
        return np.concatenate(found) if found else np.empty((0, self.shape[1]))

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

    For r on the simplex of the others, ``mix(r)`` is the base's ``mix`` of the distribution that
    has `value` at `index` and ``(1 - value) r`` elsewhere: a profile likelihood is then an
    ordinary one.
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
    def is_structured(self) -> bool:
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
    """Rows with one more category, the last: what its likelihood is, a number a row.

    Parameters
    ----------
    base : Rows
        Likelihoods of the other categories, shape (u, k).
    other : array, shape (u,)
        Likelihood of each report under the last category, divided by ``exp(base.log_scale)``.

    Raises
    ------
    InvalidArgument
        Where `other` has another shape, or entries that are negative or not finite.

    Examples
    --------
    >>> from ldpstats.problems.rows.base import DenseRows
    >>> rows = WithOther(DenseRows(np.array([[3.0], [0.5]])), np.ones(2))
    >>> rows.dense()
    array([[3. , 1. ],
           [0.5, 1. ]])
    """

    base: Rows
    other: Array

    def __post_init__(self) -> None:
        if self.other.shape != self.base.shape[:1]:
            remedy = f"must be of shape {self.base.shape[:1]}: a number a report"
            raise InvalidArgument("other", self.other.shape, remedy)
        if not np.all(np.isfinite(self.other)) or self.other.min(initial=0.0) < 0.0:
            raise InvalidArgument("other", self.other, "must hold likelihoods: finite, from 0 on")

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
