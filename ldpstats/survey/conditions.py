"""Conditions on rows, such as ``age >= 18 and region == 'n'``: one grammar for every table.

A condition is a Python expression of names, values, comparisons, ``and``, ``or``, ``not``, read by
`ast`; besides Python it has ``is missing``, ``is not missing``, ``true``, ``false``, and any name
in `backquotes`. `ast` sees a skeleton: blanks, brackets, operators, and "n" for the characters of
names and values. Nothing else of the text is ever Python.

A missing cell makes a test neither true nor false, as in SQL, and only rows for which the condition
is true are selected. `sides` finds where a condition is true and where it is false, from the same
of each test: a column in memory answers with masks, one of an engine with expressions.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ldpstats.arguments import nearest_label, record
from ldpstats.engines.query import compared, known
from ldpstats.errors import InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.io.tables import SIGNS
from ldpstats.survey.tables import DATE, Column

MOST_CHARACTERS, MOST_DIGITS, MOST_NESTED = 10_000, 40, 50


class Name(str):
    """A column."""

    __slots__ = ()


@dataclass(frozen=True)
class Condition:
    """A test, or several conditions joined."""

    sign: str  # "and", "or", "not"; of a test one of == != < <= > >=, "in", "missing", "true"
    parts: tuple[Any, ...]  # conditions; of a test the column, and the value, values or column
    text: str  # as it is written

    def columns(self) -> Iterator[str]:
        """The names of the columns in it."""
        for part in self.parts:
            if isinstance(part, Condition):
                yield from part.columns()
            elif isinstance(part, Name):
                yield part


# -- reading ---------------------------------------------------------------------------------------


_WORD = re.compile(
    r"""
    (?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
  | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
  | (?P<quoted>`(?:[^`]|``)+`)
  | (?P<name>[^\W\d]\w*)
  | (?P<sign>==|!=|<=|>=|<(?!>)|>|\(|\)|\[|\]|,)
  | (?P<blank>\s+)
    """,
    re.VERBOSE,
)
_NOT_NOT = re.compile(r"(^|\(|and|or)(\s*not\s+not\b)+")  # `ast` takes only so many
_KEYWORDS = ("and", "or", "not", "in", "is")
_PLAIN = {"True": True, "true": True, "False": False, "false": False}
_NOTHING = ("None", "null", "NULL", "nan", "NaN", "NA")
_OPENING, _CLOSING = ("(", "["), (")", "]")
_FLIPPED = str.maketrans("<>", "><")
_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

# what people write in other languages, by its first character, and what to write here
_ARITHMETIC = "arithmetic is not part of a condition: compute a column first"
_REMEDIES = {
    "<": "write != for unequal",
    "=": "write == to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "!": "write 'not', or != for unequal",
    "@": "write the value itself; variables are not known here",
    ".": "attributes, methods and names with dots are not part of a condition; write a column's "
    "name with dots in `backquotes`",
    "'\"": "the quotation mark is not closed",
    "`": "the backquote is not closed, or nothing is in it",
    ";": "write one condition; join several by 'and'",
    "{": "write a list as [1, 2] or (1, 2)",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "#": "comments are not part of a condition",
    "+-*/%^": _ARITHMETIC,
    "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb": "write straight quotation marks, 'n'",
}
_TOUCHING = {  # another word without a blank
    "number": _ARITHMETIC,
    "text": "text stands alone, without a prefix and without + between parts",
}
_OPERAND = "a column's name or a value is missing here"
_END = "here the condition should end, or go on with 'and' or 'or'"
_ALONE = "a value alone is no condition: compare a column with it"
_LISTED = "a value is missing here: a number, true, false, or text in quotes"
# words, in lower case, where a condition should end
_INSTEAD = {word: f"write {word!r} in lower case" for word in _KEYWORDS}
for _word in ("between", "like"):
    _INSTEAD[_word] = f"{_word!r} is not known here; write 18 <= age <= 64, or a list after 'in'"
_INSTEAD["("] = "functions and methods are not part of a condition: compute a column first"


def is_mask(given: object) -> bool:
    """Whether this chooses rows by a value for each."""
    return isinstance(given, np.ndarray | pd.Series | list)


def read(given: object) -> Any:
    """A condition from text; a mask, and an expression of Narwhals, as it was given."""
    import narwhals

    return given if is_mask(given) or isinstance(given, narwhals.Expr) else parse(given)


def parse(text: object) -> Condition:
    """Read a condition; the error about anything else says where, and what to write instead."""
    if not isinstance(text, str) or not text.strip():
        remedy = "must be text such as \"age >= 18 and region == 'n'\"; masks go into survey[mask]"
        raise InvalidArgument("where", text, remedy)
    if len(text) > MOST_CHARACTERS:
        remedy = f"has {len(text)} characters, {MOST_CHARACTERS} at most: pass a mask, survey[mask]"
        raise InvalidArgument("where", text, remedy)
    skeleton, operands = _skeleton(text)
    start = len(skeleton) - len(skeleton.lstrip())
    try:
        tree = ast.parse(skeleton[start:], mode="eval").body
    except SyntaxError as error:
        at = start + error.offset - 1 if error.offset else len(text)
        remedy = "this bracket is not closed" if text[at : at + 1] in _OPENING else _OPERAND
        _refuse(text, at, _END if text[at : at + 1] in _CLOSING else remedy)

    def operand(node: Any, remedy: str = _OPERAND, column: bool | None = None) -> Any:
        """A column's name or a value; with `column` one that is a name, or is none."""
        found = operands.get(start + node.col_offset) if isinstance(node, ast.Name) else None
        if found is None or column not in (None, isinstance(found, Name)):
            _refuse(text, start + node.col_offset, remedy)
        return found

    def read(node: Any) -> Condition:
        shown = text[start + node.col_offset : start + node.end_col_offset]
        if isinstance(node, ast.BoolOp):
            join = "and" if isinstance(node.op, ast.And) else "or"
            return Condition(join, tuple(map(read, node.values)), shown)
        if isinstance(node, ast.UnaryOp):
            return Condition("not", (read(node.operand),), shown)
        if not isinstance(node, ast.Compare):
            remedy = _ALONE if isinstance(node, ast.Name) else _OPERAND
            return Condition("true", (operand(node, remedy, True), None), shown)
        op: Any = node.ops[0]
        rights: list[Any] = node.comparators
        if not _SIGNS.keys() >= {*map(type, node.ops)}:
            if len(rights) > 1:
                _refuse(text, start + rights[0].end_col_offset, _END)
            test = Condition("missing", (operand(node.left, _ALONE, True), None), shown)
            if isinstance(op, ast.In | ast.NotIn):
                elements = getattr(rights[0], "elts", rights)
                values = tuple(operand(element, _LISTED, False) for element in elements)
                if not values:
                    remedy = "the list is empty: name the values"
                    _refuse(text, start + rights[0].col_offset, remedy)
                test = Condition("in", (test.parts[0], values), shown)
            contrary = isinstance(op, ast.NotIn | ast.IsNot)
            return Condition("not", (test,), shown) if contrary else test
        tests = []
        left: Any = node.left
        for op, right in zip(node.ops, rights, strict=True):
            sign, name, other = _SIGNS[type(op)], operand(left), operand(right)
            if not isinstance(name, Name):
                name, sign, other = other, sign.translate(_FLIPPED), name
            if not isinstance(name, Name):
                remedy = "compares two values: one side must be a column"
                _refuse(text, start + left.col_offset, remedy)
            own = text[start + left.col_offset : start + right.end_col_offset]
            tests.append(Condition(sign, (name, other), own))
            left = right
        return tests[0] if len(tests) == 1 else Condition("and", tuple(tests), shown)

    return read(tree)


def _refuse(text: str, at: int, remedy: str) -> NoReturn:
    """Refuse a condition for what stands at a place, counted from 0."""
    rest = text[at:].lstrip()
    where = f"at character {len(text) - len(rest) + 1}, {rest[:15]!r}: " if rest else "at its end: "
    raise InvalidArgument("where", text, where + remedy)


def _skeleton(text: str) -> tuple[str, dict[int, Any]]:
    """What `ast` reads of a condition, and its names and values by place; refuse other words."""
    skeleton, operands, depth = "", dict[int, Any](), 0
    last, before, closed, apart = "", "", False, True  # words; ends an operand; a blank follows
    while (at := len(skeleton)) < len(text):
        found = _WORD.match(text, at)
        if found is None:
            fits = (remedy for signs, remedy in _REMEDIES.items() if text[at] in signs)
            _refuse(text, at, next(fits, "this is not part of a condition"))
        operand: Any = None
        word, kind = found[0], str(found.lastgroup)
        if kind == "blank":
            skeleton, apart = skeleton + " " * len(word), True
            continue
        if kind == "number":
            if re.match(r"[-+]?0[0-9]", word):
                _refuse(text, at, f"a number has no leading zero; text is quoted, '{word}'")
            if len(word) > MOST_DIGITS or not isfinite(float(word)):
                _refuse(text, at, "the number is too large or too long")
            operand = float(word) if {*word} & {*".eE"} else int(word)
        elif kind == "text":
            operand = word[1:-1].replace(word[0] * 2, word[0])
        elif kind == "quoted":
            operand = Name(word[1:-1].replace("``", "`"))
        elif kind == "name" and word not in _KEYWORDS:
            operand = _PLAIN.get(word, Name(word))
        if not apart and kind != "sign":
            remedy = "a number, a text or a name ends here: is a blank missing?"
            _refuse(text, at, _TOUCHING.get(kind, remedy))
        is_test = last == "is" or (before, last) == ("is", "not")
        if is_test and word != "missing" and (last, word) != ("is", "not"):
            _refuse(text, at, "after 'is' write 'missing' or 'not missing'")
        if last == "in" and word not in _OPENING:
            _refuse(text, at, "after 'in' write a list, such as ['n', 's']")
        if closed and (operand is not None or word in _OPENING or (word == "," and not depth)):
            wrong = last if last in ("NOT", "Not") else word
            _refuse(text, at, _INSTEAD.get(wrong.lower(), _END))
        if word in _NOTHING or operand == "":
            remedy = "empty text means missing: " * (operand == "")
            remedy += "write 'is missing' or 'is not missing' after a column's name"
            _refuse(text, at, remedy)
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == MOST_NESTED:
            _refuse(text, at, f"more than {MOST_NESTED} levels: pass a mask instead")
        if operand is not None and not is_test:
            operands[at] = operand
        skeleton += word if operand is None else "n" * len(word)
        closed, apart = operand is not None or word in _CLOSING, kind == "sign"
        last, before = word, last
    return _NOT_NOT.sub(lambda found: found[1].ljust(len(found[0])), skeleton), operands


# -- where a condition is true, and where it is false ----------------------------------------------
# A column says where its own tests hold, as a mask of rows in memory or as an expression that an
# engine evaluates; what the tests are, and what they refuse, is the same for both.


_CONTRARY = {"!=": "==", "<=": ">", ">=": "<"}


def sides(condition: Condition, column_of: Callable[[str], Column]) -> tuple[Any, Any]:
    """Where a condition is true, and where it is false: masks (n,), or expressions of Narwhals."""
    parts, sign = condition.parts, condition.sign
    if sign == "not" or sign in _CONTRARY:
        other = parts[0] if sign == "not" else replace(condition, sign=_CONTRARY[sign])
        true, false = sides(other, column_of)
        return false, true
    if sign not in ("and", "or"):
        return _tested(sign, column_of, *parts)
    trues, falses = zip(*(sides(part, column_of) for part in parts), strict=True)
    both = operator.and_, operator.or_
    one, other = both if sign == "and" else both[::-1]
    return joined(one, trues), joined(other, falses)


def joined(join: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Masks or expressions joined by halves, so that a long condition is not a deep one."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(joined(join, parts[:half]), joined(join, parts[half:]))


def _tested(
    sign: str, column_of: Callable[[str], Column], name: Name, other: Any
) -> tuple[Any, Any]:
    """The sides of a test of a column: with a value, values (one is equal) or another column."""
    column = column_of(name)
    known = column.known
    if sign == "missing":
        return ~known, known
    if isinstance(other, Name):
        right = column_of(other)
        _refuse_unlike(sign, column, right)
        known = known & right.known
        true = column.beside(sign, right)
    elif sign == "true":
        if column.kind != "boolean" and not column.vacant:
            remedy = f"holds {column.what}: compare it with a value"
            raise InvalidArgument("where", column.name, remedy)
        true = column.holding(column.values.astype(bool))
    elif sign == "in":
        true = joined(operator.or_, [_compared(column, "==", value) for value in other])
    else:
        true = _compared(column, sign, other)
    return known & true, known & ~true


def _compared(column: Column, sign: str, value: Any) -> Any:
    """Where a column is equal to, less or greater than a value; refuse one that is unlike it."""
    wanted = _converted(column, value)
    if sign != "==":
        _refuse_unordered(column)
    if wanted is None:
        return column.holding(np.zeros(len(column.values), dtype=bool))
    if column.ordered is None and column.kind != "text":
        return column.compared(sign, wanted)
    equal = np.asarray(column.values == wanted, dtype=bool)
    if not equal.any():  # text and categories that no row of the table has may be misspelled
        what = "value" if sign == "==" else "category"
        close = nearest_label(str(value), [str(label) for label in column.values])
        hint = "" if close is None else f"; the nearest is {close!r}"
        raise UnknownCategory("where", value, f"is no {what} of {column.name!r}{hint}")
    if sign == "==":
        return column.holding(equal)
    return column.holding(SIGNS[sign](np.arange(len(equal)), np.argmax(equal)))


def _refuse_unordered(column: Column) -> None:
    """Refuse to compare by order what has none."""
    if column.ordered or (column.ordered is None and column.kind in ("number", "date", "empty")):
        return
    remedy = f"holds {column.what} without an order: use ==, != or in"
    if column.kind == "text":
        remedy += "; or make it an ordered categorical, or a column of numbers or dates"
    raise InvalidArgument("where", column.name, remedy)


def _refuse_unlike(sign: str, left: Column, right: Column) -> None:
    """Refuse to compare two columns of different kinds, or by an order that they do not share."""
    if left.kind != right.kind and not (left.vacant or right.vacant):
        remedy = f"holds {left.what}, but {right.name!r} holds {right.what}: compare like with like"
        raise InvalidArgument("where", left.name, remedy)
    if sign != "==":
        for column in (left, right):
            _refuse_unordered(column)
        if left.ordered is not right.ordered or (
            left.ordered and left.values.tolist() != right.values.tolist()
        ):
            remedy = f"and {right.name!r} have categories of their own, in no common order"
            raise InvalidArgument("where", left.name, remedy)


def _converted(column: Column, value: str | float) -> Any:
    """A value in the type of the column's values; None if it has none, of whatever kind."""
    kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
    if column.kind == kind:
        return value
    remedy = f"is no date to compare {column.name!r} with: write '2024-12-31'"
    if isinstance(value, str) and column.kind == "date":
        with suppress(ValueError):  # the 31st of February
            if DATE.fullmatch(value):  # numpy reads more, "now" included
                return np.datetime64(value.replace(" ", "T"), "us")
    elif column.kind != "empty":
        written = {"text": "text", "number": "a number", "boolean": "true or false"}[kind]
        ways = {
            "text": f"write text in quotes, '{value}', or make it a column of {kind}s",
            "number": "write a number, without quotes",
            "boolean": "write true or false",
            "date": "write a date in quotes, '2024-12-31'",
        }
        remedy = f"is {written}, but {column.name!r} holds {column.what}: {ways[column.kind]}"
    if column.vacant:
        return None
    raise InvalidArgument("where", value, remedy)


# -- columns of an engine, whose tests it evaluates where its rows are -----------------------------
# Text, booleans and categories: the truth of a test for each distinct value, as in memory. Numbers
# and dates, which may have as many values as rows, are compared by the engine. Every expression is
# true or false in every row, never unknown, so that engines need not agree on what that means.


MOST_PAIRS = 10_000  # pairs of distinct values by which two columns of text are compared


@record
class Pushed(Column):
    """The distinct cells of a column as rows, (u,); numbers and dates have a type instead."""

    cells: Sequence[Any] = ()  # as they are stored, (u,)
    dtype: Any = None  # of Narwhals, where the engine compares
    rows: Any = field(default=None, repr=False)  # which are `Held`

    @property
    def vacant(self) -> bool:
        return super().vacant if self.dtype is None else bool(self.rows.table.is_empty(self.name))

    @property
    def known(self) -> Any:
        return self._except(
            [cell for cell, code in zip(self.cells, self.codes, strict=True) if code < 0]
        )

    def holding(self, chosen: Any) -> Any:
        found = list(zip(self.cells, super().holding(chosen).tolist(), strict=True))
        some, rest = ([cell for cell, yes in found if yes is side] for side in (True, False))
        return self._among(some) if len(some) <= len(rest) else self._except(rest)

    def _except(self, cells: list[Any]) -> Any:
        """Where it holds a value, but none of some cells."""
        cells = [cell for cell in cells if cell is not None]
        there = known(self.name, self.dtype)
        return there & ~self._among(cells) if cells else there

    def _among(self, cells: list[Any]) -> Any:
        """Where it holds one of some cells."""
        import narwhals

        col, there = narwhals.col(self.name), known(self.name, self.dtype)
        if not cells:
            return there & ~there
        if self.dtype is None:
            return there & col.is_in(cells)
        if not self.dtype.is_numeric():
            cells = [np.datetime64(cell, "us") for cell in cells]
        return there & joined(operator.or_, [self.compared("==", cell) for cell in cells])

    def compared(self, sign: str, wanted: Any) -> Any:
        if self.dtype is None:
            return super().compared(sign, wanted)
        return compared(self.name, self.dtype, sign, wanted)

    def beside(self, sign: str, right: Any) -> Any:
        """Where the comparison with another column of the engine holds."""
        import narwhals

        sides, types = (self, right), (self.dtype, right.dtype)
        if self.vacant or right.vacant:
            return self._among([])
        if None not in types:
            pair = [narwhals.col(side.name) for side in sides]
            if types[0] != types[1] and not all(dtype.is_integer() for dtype in types):
                both = narwhals.Float64() if types[0].is_numeric() else narwhals.Datetime("us")
                pair = [col.cast(both) for col in pair]
            return SIGNS[sign](*pair)
        # by the pairs of their values
        left, other = self.rows.pairs(self.name, right.name)
        if len(left.cells) > MOST_PAIRS:
            raise NotAvailable(
                f"{self.name!r} {sign} {right.name!r}: the two columns have {len(left.cells)} "
                f"different pairs of values, {MOST_PAIRS} at most: add a column of booleans to the "
                "table, and select by that"
            )
        partners: dict[Any, list[Any]] = {}
        for at in np.flatnonzero(Column.beside(left, sign, other)):
            partners.setdefault(left.cells[at], []).append(other.cells[at])
        found = [self._among([one]) & right._among(rest) for one, rest in partners.items()]
        return joined(operator.or_, found) if found else self._among([])
