"""Conditions as expressions that an engine evaluates where its rows are.

Text, booleans and categories: the truth of a test for each distinct value, as in memory. Numbers
and dates, which may have as many values as rows, are compared by the engine. Every expression is
true or false in every row, never unknown, so that engines need not agree on what that means.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Any, Protocol

import numpy as np

from ldpstats.errors import NotAvailable
from ldpstats.survey.columns import Column
from ldpstats.survey.conditions import Among, And, Compare, Condition, Holds, Missing, Name, Not, Or
from ldpstats.survey.selecting import (
    SIGNS,
    Rows,
    converted,
    refuse_flag,
    refuse_unlike,
    truth,
)

__all__ = ["Asked", "expression", "known"]

MOST_PAIRS = 10_000  # pairs of distinct values by which two columns of text are compared

_MOST_DECIMAL = 10**38  # beyond it engines know no whole number
_MICROSECOND = dt.timedelta(microseconds=1)
_NONE: Any = np.empty(0, dtype=np.int64)


class Asked(Protocol):
    """What a condition is about: rows that an engine holds."""

    def compared(self, name: str) -> Any: ...  # type, of Narwhals, of numbers and dates; else None
    def is_empty(self, name: str) -> bool: ...  # whether no row of the table has a value
    def distinct(self, names: Sequence[str]) -> tuple[Rows, Sequence[Sequence[Any]]]: ...


@dataclass(frozen=True, eq=False)
class _Sides:
    """Expressions that are true where a condition is true, and where it is false."""

    true: Any
    false: Any


def expression(condition: Condition, rows: Asked) -> Any:
    """The rows for which a condition is true, as an expression of Narwhals.

    Raises
    ------
    InvalidArgument
        For columns that do not exist or hold values of another kind than they are compared with.
    NotAvailable
        For a comparison of two columns of text with very many values.
    """
    return _sides(condition, rows).true


def _sides(condition: Condition, rows: Asked) -> _Sides:
    if isinstance(condition, Not):
        part = _sides(condition.part, rows)
        return _Sides(part.false, part.true)
    if isinstance(condition, And | Or):
        parts = [_sides(part, rows) for part in condition.parts]
        true, false = [part.true for part in parts], [part.false for part in parts]
        if isinstance(condition, And):
            return _Sides(_joined(true, all_of=True), _joined(false, all_of=False))
        return _Sides(_joined(true, all_of=False), _joined(false, all_of=True))
    if isinstance(condition, Compare) and isinstance(condition.right, Name):
        return _two_columns(condition, condition.right.name, rows)
    dtype = rows.compared(condition.left.name)
    if dtype is None:
        return _by_value(condition, rows)
    return _compared(condition, _Compared(condition.left.name, dtype, rows))


def _joined(parts: list[Any], all_of: bool) -> Any:
    """Expressions joined in pairs, so that a long condition is not a deeply nested one."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [p[0] if len(p) == 1 else p[0] & p[1] if all_of else p[0] | p[1] for p in pairs]
    return parts[0]


def known(name: str, dtype: Any) -> Any:
    """Where a column of this type has a value."""
    import narwhals

    col = narwhals.col(name)
    return ~col.is_null() & ~col.is_nan() if dtype.is_float() else ~col.is_null()


# -- values that the engine compares ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Compared:
    """A column of numbers or dates."""

    name: str
    dtype: Any
    rows: Asked

    @cached_property
    def col(self) -> Any:
        import narwhals

        return narwhals.col(self.name)

    @cached_property
    def known(self) -> Any:
        return known(self.name, self.dtype)

    @property
    def never(self) -> Any:
        return self.known & ~self.known

    @cached_property
    def column(self) -> Column:
        """Its kind, without values."""
        kind = "number" if self.dtype.is_numeric() else "date"
        return Column(self.name, "empty" if self.rows.is_empty(self.name) else kind, _NONE, _NONE)

    def read(self, value: Any) -> Any:
        """A value of the column as conditions have it."""
        return value if self.dtype.is_numeric() else np.datetime64(value, "us")

    def test(self, sign: str, value: Any) -> Any:
        """Where it is known, and a comparison with a value is true."""
        import narwhals

        if not self.dtype.is_numeric():
            return self.known & self._dated(sign, max(value.item(), dt.datetime.min))
        if self.dtype.is_decimal() and isinstance(value, int) and abs(value) < _MOST_DECIMAL:
            return self.known & SIGNS[sign](self.col, value)  # float has fewer digits
        if not self.dtype.is_integer():
            return self.known & SIGNS[sign](self.col.cast(narwhals.Float64), float(value))
        return self.known & self._discrete(sign, floor(value), value == floor(value))

    def _dated(self, sign: str, moment: dt.datetime) -> Any:
        import narwhals

        if self.dtype == narwhals.Date:
            day = moment.date()
            return self._discrete(sign, day, moment == dt.datetime.combine(day, dt.time()))
        col = self.col
        if self.dtype.time_unit in ("s", "ms"):  # Polars would cut the bounds to that
            col = col.cast(narwhals.Datetime("us"))
        after = moment + _MICROSECOND  # parts of a microsecond do not count
        if sign in ("==", "!="):
            equal = (col >= moment) & (col < after)
            return equal if sign == "==" else ~equal
        bound = moment if sign in ("<", ">=") else after
        return col < bound if sign.startswith("<") else col >= bound

    def _discrete(self, sign: str, value: Any, whole: bool) -> Any:
        """A comparison of whole numbers or days with one, or with what follows it closely."""
        low, high = _RANGES.get(str(self.dtype), (value, value))
        if value < low or value > high:
            always = sign == "!=" or sign.startswith("<" if value > high else ">")
            return self.known if always else self.never
        if whole:
            return SIGNS[sign](self.col, value)
        if sign in ("==", "!="):
            return self.never if sign == "==" else self.known
        return self.col <= value if sign in ("<", "<=") else self.col > value


_RANGES = {
    **{f"Int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}


def _compared(condition: Condition, column: _Compared) -> _Sides:
    if isinstance(condition, Missing):
        return _Sides(~column.known, column.known)
    if isinstance(condition, Holds):
        refuse_flag(column.column)
    found = list(_tests(condition, column))
    true = _joined(found, all_of=False) if found else column.never
    return _Sides(true, column.known & ~true)


def _tests(condition: Condition, column: _Compared) -> Iterator[Any]:
    """Expressions of which one is true where the condition is; none if the column is empty."""
    if isinstance(condition, Among):
        pairs: list[tuple[str, Any]] = [("==", value) for value in condition.values]
    else:
        pairs = [(condition.sign, condition.right)] if isinstance(condition, Compare) else []
    for sign, value in pairs:
        wanted = converted(column.column, value)
        if column.column.kind != "empty":
            yield column.test(sign, wanted)


# -- values that are compared here -----------------------------------------------------------------


def _by_value(condition: Condition, rows: Asked) -> _Sides:
    """The truth for each distinct value, and where those are."""
    values, (raw,) = rows.distinct([condition.left.name])  # type: ignore[union-attr]
    found = truth(condition, values)
    name = condition.left.name  # type: ignore[union-attr]
    return _Sides(_among(name, raw, found.true), _among(name, raw, found.false))


def _among(name: str, raw: Sequence[Any], chosen: Any) -> Any:
    """Where a column holds one of its distinct values that are `chosen`, (u,)."""
    import narwhals

    col = narwhals.col(name)
    there = ~col.is_null()
    picked = [value for value, yes in zip(raw, chosen, strict=True) if yes and value is not None]
    found = there & col.is_in(picked) if picked else there & ~there
    missing = any(yes and value is None for value, yes in zip(raw, chosen, strict=True))
    return found | ~there if missing else found


def _two_columns(condition: Compare, other: str, rows: Asked) -> _Sides:
    names, sign = (condition.left.name, other), condition.sign
    types = [rows.compared(name) for name in names]
    left, right = (
        rows.distinct([name])[0].public(name) if dtype is None else _Compared(name, dtype, rows)
        for name, dtype in zip(names, types, strict=True)
    )
    columns = [side.column if isinstance(side, _Compared) else side for side in (left, right)]
    refuse_unlike(sign, *columns)
    if not (isinstance(left, _Compared) and isinstance(right, _Compared)):
        sides = tuple(side if isinstance(side, _Compared) else side.name for side in (left, right))
        return _by_pairs(condition, names, sides, rows)
    if "empty" in (left.column.kind, right.column.kind):
        return _Sides(left.never, left.never)
    known = left.known & right.known
    true = known & SIGNS[sign](*_alike(left, right))
    return _Sides(true, known & ~true)


def _alike(left: _Compared, right: _Compared) -> list[Any]:
    """Two columns in one type, of those that differ."""
    import narwhals

    kinds = {left.dtype, right.dtype}
    if len(kinds) == 1 or all(kind.is_integer() for kind in kinds):
        return [left.col, right.col]
    both = narwhals.Float64() if left.dtype.is_numeric() else narwhals.Datetime("us")
    return [left.col.cast(both), right.col.cast(both)]


def _by_pairs(
    condition: Compare, names: tuple[str, str], sides: Sequence[_Compared | str], rows: Asked
) -> _Sides:
    """The truth for each pair of values that occurs."""
    values, raw = rows.distinct(names)
    if len(values) > MOST_PAIRS:
        raise NotAvailable(
            f"{names[0]!r} {condition.sign} {names[1]!r}: the two columns have {len(values)} "
            f"different pairs of values, {MOST_PAIRS} at most: add a column of booleans to the "
            "table, and select by that"
        )
    found = truth(condition, values)
    return _Sides(_pairs(sides, raw, found.true), _pairs(sides, raw, found.false))


def _pairs(sides: Sequence[_Compared | str], raw: Sequence[Sequence[Any]], chosen: Any) -> Any:
    """Where two columns hold one of the pairs that are `chosen`."""
    partners: dict[Any, list[Any]] = {}
    for first, second, yes in zip(*raw, chosen, strict=True):
        if yes:
            partners.setdefault(first, []).append(second)
    found = [_held(sides[0], [one]) & _held(sides[1], rest) for one, rest in partners.items()]
    return _joined(found or [_held(sides[0], [])], all_of=False)


def _held(side: _Compared | str, values: list[Any]) -> Any:
    """Where a column holds one of some values, which are known."""
    if isinstance(side, str):
        return _among(side, values, [True] * len(values))
    return _joined([side.test("==", side.read(value)) for value in values] or [side.never], False)
