"""Rows of a table for which a condition holds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.names import nearest_label
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.survey.columns import DATE, Column
from ldpstats.survey.conditions import (
    Among,
    And,
    Compare,
    Condition,
    Holds,
    Missing,
    Name,
    Not,
    Or,
    Value,
)

__all__ = [
    "SIGNS",
    "Rows",
    "Truth",
    "columns_in",
    "converted",
    "refuse_flag",
    "refuse_unlike",
    "selected",
    "truth",
]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUAL = ("==", "!=")
_WRITTEN = {"text": "text", "number": "a number", "boolean": "true or false"}


class Rows(Protocol):
    """What a condition is about: a table whose columns may be read by name."""

    def __len__(self) -> int: ...
    def public(self, name: str) -> Column: ...


def selected(condition: Condition, rows: Rows) -> Mask:
    """Rows for which the condition is true, shape (n,): neither false nor unknown.

    Raises
    ------
    InvalidArgument
        For columns that do not exist or hold values of another kind than they are compared with.
    """
    return truth(condition, rows).true


def columns_in(condition: Condition) -> Iterator[str]:
    """The names of columns in a condition."""
    if isinstance(condition, And | Or):
        for part in condition.parts:
            yield from columns_in(part)
    elif isinstance(condition, Not):
        yield from columns_in(condition.part)
    else:
        yield condition.left.name
        if isinstance(condition, Compare) and isinstance(condition.right, Name):
            yield condition.right.name


@dataclass(frozen=True, eq=False)
class Truth:
    """Rows where a condition is true and where it is false; it is unknown in the others."""

    true: Mask
    false: Mask


def truth(condition: Condition, rows: Rows) -> Truth:
    """Where a condition is true, false and unknown, row by row."""
    if isinstance(condition, Not):
        part = truth(condition.part, rows)
        return Truth(part.false, part.true)
    if isinstance(condition, And | Or):
        both = _both if isinstance(condition, And) else _either
        return reduce(both, (truth(part, rows) for part in condition.parts))
    column = rows.public(condition.left.name)
    if isinstance(condition, Missing):
        return Truth(column.missing, ~column.missing)
    if isinstance(condition, Compare) and isinstance(condition.right, Name):
        return _two_columns(condition.sign, column, rows.public(condition.right.name))
    return _by_value(column, _holds(condition, column))


def _both(one: Truth, two: Truth) -> Truth:
    return Truth(one.true & two.true, one.false | two.false)


def _either(one: Truth, two: Truth) -> Truth:
    return Truth(one.true | two.true, one.false & two.false)


def _by_value(column: Column, holds: Mask) -> Truth:
    """The truth of a test of one column, from that for each of its values, shape (u,)."""
    true = np.append(holds, False)[column.codes]
    return Truth(true, ~true & ~column.missing)


def _holds(condition: Compare | Among | Holds, column: Column) -> Mask:
    """For which values of a column a test holds, shape (u,)."""
    if isinstance(condition, Holds):
        refuse_flag(column)
        return column.values.astype(bool)
    if isinstance(condition, Among):
        found: Mask = np.any([_equal(column, value) for value in condition.values], axis=0)
        return found
    value, sign = condition.right, condition.sign
    assert not isinstance(value, Name)
    if sign in _EQUAL:
        equal = _equal(column, value)
        return equal if sign == "==" else ~equal
    return _order(sign, column, value)


def refuse_flag(column: Column) -> None:
    """Refuse a column that is no condition by itself."""
    if column.kind not in ("boolean", "empty"):
        remedy = f"holds {column.what}: compare it with a value"
        raise InvalidArgument("where", column.name, remedy)


def _equal(column: Column, value: Value) -> Mask:
    """Which values of a column equal one that is written in a condition, shape (u,).

    Text and categories that no row of the table has are refused: they may be misspelled.
    """
    wanted = converted(column, value)
    found = np.asarray(column.values == wanted, dtype=bool)
    listed = column.kind == "text" or (column.ordered is not None and column.kind != "empty")
    if listed and not found.any():
        raise UnknownCategory("where", value, f"is no value of {_nearest(column, value)}")
    return found


def _order(sign: str, column: Column, value: Value) -> Mask:
    """Which values of a column are before or after one, shape (u,)."""
    wanted = converted(column, value)
    if column.ordered is not None:
        _refuse_unordered(column)
        place = np.flatnonzero(column.values == wanted)
        if not place.size:
            raise UnknownCategory("where", value, f"is no category of {_nearest(column, value)}")
        return np.asarray(SIGNS[sign](np.arange(len(column.values)), place[0]), dtype=bool)
    _refuse_unordered(column)
    return np.asarray(SIGNS[sign](column.values, wanted), dtype=bool)


def _refuse_unordered(column: Column) -> None:
    """Refuse to compare by order what has none."""
    if column.ordered or (column.ordered is None and column.kind in ("number", "date", "empty")):
        return
    remedy = f"holds {column.what} without an order: use ==, != or in"
    if column.kind == "text":
        remedy += "; or make it an ordered categorical, or a column of numbers or dates"
    raise InvalidArgument("where", column.name, remedy)


def _nearest(column: Column, value: Value) -> str:
    names = [str(label) for label in column.values]
    close = nearest_label(str(value), names)
    return f"{column.name!r}" + ("" if close is None else f"; the nearest is {close!r}")


def converted(column: Column, value: Value) -> Any:
    """A value of a condition in the type of the column's values; refuse one of another kind."""
    kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
    if column.kind == "date" and isinstance(value, str):
        return _date(value, column)
    if column.kind not in (kind, "empty"):
        ways = {
            "text": f"write text in quotes, '{value}', or make it a column of {kind}s",
            "number": "write a number, without quotes",
            "boolean": "write true or false",
            "date": "write a date in quotes, '2024-12-31'",
        }
        remedy = (
            f"is {_WRITTEN[kind]}, but {column.name!r} holds {column.what}: {ways[column.kind]}"
        )
        raise InvalidArgument("where", value, remedy)
    return value


def _date(text: str, column: Column) -> np.datetime64:
    try:
        if DATE.fullmatch(text):  # numpy reads more, "now" included
            return np.datetime64(text.replace(" ", "T"), "us")
    except ValueError:  # the 31st of February
        pass
    remedy = f"is no date to compare {column.name!r} with: write '2024-12-31'"
    raise InvalidArgument("where", text, remedy)


def _two_columns(sign: str, left: Column, right: Column) -> Truth:
    """The truth of a comparison of two columns, row by row."""
    refuse_unlike(sign, left, right)
    known = ~left.missing & ~right.missing
    true = np.zeros(len(known), dtype=bool)
    if known.any():
        pair = [column.values[column.codes[known]] for column in (left, right)]
        if left.ordered and sign not in _EQUAL:
            pair = [column.codes[known] for column in (left, right)]
        true[known] = SIGNS[sign](*pair)
    return Truth(true, known & ~true)


def refuse_unlike(sign: str, left: Column, right: Column) -> None:
    """Refuse to compare two columns of different kinds, or by an order that they do not share."""
    if "empty" not in (left.kind, right.kind) and left.kind != right.kind:
        remedy = f"holds {left.what}, but {right.name!r} holds {right.what}: compare like with like"
        raise InvalidArgument("where", left.name, remedy)
    if sign not in _EQUAL:
        for column in (left, right):
            _refuse_unordered(column)
        if left.ordered is not right.ordered or (
            left.ordered and left.values.tolist() != right.values.tolist()
        ):
            remedy = f"and {right.name!r} have categories of their own, in no common order"
            raise InvalidArgument("where", left.name, remedy)
