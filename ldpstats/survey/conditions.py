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
import datetime as dt
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ldpstats.arguments import nearest_label
from ldpstats.errors import InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.survey.tables import DATE, SIGNS, Column

__all__ = ["Condition", "Pushed", "is_mask", "known", "parse", "read", "sides"]

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
    """,
    re.VERBOSE,
)
_KEYWORDS = ("and", "or", "not", "in", "is")
_PLAIN = {"True": True, "true": True, "False": False, "false": False}
_NOTHING = ("None", "null", "NULL", "nan", "NaN", "NA")
_BRACKETS = {"(": ")", "[": "]"}
_SIGNS = ("==", "!=", "<", "<=", ">", ">=")
_FLIPPED = str.maketrans("<>", "><")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "in",
    ast.Is: "missing",
    ast.IsNot: "missing",
}

# what people write in other languages, the longest first, and what to write here
_REMEDIES = {
    "<>": "write != for unequal",
    "&&": "write 'and'",
    "||": "write 'or'",
    "=": "write == to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "!": "write 'not', or != for unequal",
    "@": "write the value itself; variables are not known here",
    ".": "attributes, methods and names with dots are not part of a condition; write a column's "
    "name with dots in `backquotes`",
    "'": "the quotation mark is not closed",
    '"': "the quotation mark is not closed",
    "`": "the backquote is not closed, or nothing is in it",
    ";": "write one condition; join several by 'and'",
    "{": "write a list as [1, 2] or (1, 2)",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "#": "comments are not part of a condition",
}
_REMEDIES |= dict.fromkeys(
    "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb", "write straight quotation marks, 'n'"
)
_REMEDIES |= dict.fromkeys(
    "+-*/%^", "arithmetic is not part of a condition: compute a column first"
)

_OPERAND = "a column's name or a value is missing here"
_END = "here the condition should end, or go on with 'and' or 'or'"
_ALONE = "a value alone is no condition: compare a column with it"
_MISSING = "after 'is' write 'missing' or 'not missing'"
_CLOSED = {"and": "start", "or": "start", ")": "ended", "end": "ended"}
# what may follow what has been read, and what has been read then; and the error about other words
_GRAMMAR: dict[str, tuple[dict[str, str], str]] = {
    "start": ({"name": "name", "value": "value", "not": "start", "(": "start"}, _OPERAND),
    "name": (_CLOSED | {"sign": "sign", "in": "in", "is": "is", "not": "name not"}, _END),
    "value": ({"sign": "value sign"}, _ALONE),
    "sign": ({"name": "right name", "value": "right value"}, _OPERAND),
    "value sign": ({"name": "right name"}, _OPERAND),
    "right name": (_CLOSED | {"sign": "sign"}, _END),
    "right value": (_CLOSED | {"sign": "value sign"}, _END),
    "name not": ({"in": "in"}, "after a name, 'not' goes on with 'in'"),
    "is": ({"not": "is not", "missing": "ended"}, _MISSING),
    "is not": ({"missing": "ended"}, _MISSING),
    "in": ({"(": "list", "[": "list"}, "after 'in' write a list, such as ['n', 's']"),
    "list": (
        {"value": "listed", ")": "ended", "]": "ended"},
        "a value is missing here: a number, true, false, or text in quotes",
    ),
    "listed": (
        {",": "list", ")": "ended", "]": "ended"},
        "the list goes on with a comma or ends with ",
    ),
    "ended": (_CLOSED, _END),
}


@dataclass(frozen=True)
class _Word:
    at: int  # its place, from 0
    text: str
    kind: str  # "name", "value", "sign"; of keywords, brackets, the comma and the end the word
    operand: Any = None  # the value, or the name of the column


def is_mask(given: object) -> bool:
    """Whether this chooses rows by a value for each."""
    return isinstance(given, np.ndarray | pd.Series | list)


def read(given: object) -> Any:
    """A condition from text; a mask, and an expression of Narwhals, as it was given."""
    if is_mask(given):
        return given
    if type(given).__module__.partition(".")[0] != "narwhals":
        return parse(given)
    import narwhals

    return given if isinstance(given, narwhals.Expr) else parse(given)


def parse(text: object) -> Condition:
    """Read a condition; the error about anything else says where, and what to write instead."""
    if not isinstance(text, str) or not text.strip():
        remedy = "must be text such as \"age >= 18 and region == 'n'\"; masks go into survey[mask]"
        raise InvalidArgument("where", text, remedy)
    if len(text) > MOST_CHARACTERS:
        remedy = f"has {len(text)} characters, {MOST_CHARACTERS} at most: pass a mask, survey[mask]"
        raise InvalidArgument("where", text, remedy)
    words = _checked(text, list(_words(text)))  # which it must be able to read as a whole
    start, skeleton = words[0].at, ""
    for word in words:
        skeleton = skeleton.ljust(word.at - start)
        skeleton += word.text if word.operand is None else "n" * len(word.text)
    operands = {word.at - start: word.operand for word in words}  # by place in the skeleton

    def written(first: Any, last: Any) -> str:
        return text[start + first.col_offset : start + last.end_col_offset]

    def read(node: Any) -> Condition:
        shown = written(node, node)
        if isinstance(node, ast.BoolOp):
            return Condition(_OPERATORS[type(node.op)], tuple(map(read, node.values)), shown)
        if isinstance(node, ast.UnaryOp):
            return Condition("not", (read(node.operand),), shown)
        if isinstance(node, ast.Name):
            return Condition("true", (operands[node.col_offset], None), shown)
        tests = []
        for op, left, right in zip(
            node.ops, [node.left, *node.comparators], node.comparators, strict=False
        ):
            sign, name = _OPERATORS[type(op)], operands[left.col_offset]
            other = operands.get(right.col_offset)
            if sign == "in":
                listed = getattr(right, "elts", [right])
                other = tuple(operands[value.col_offset] for value in listed)
            elif not isinstance(name, Name):
                name, sign, other = other, sign.translate(_FLIPPED), name
            tests.append(Condition(sign, (name, other), written(left, right)))
        if isinstance(node.ops[0], ast.NotIn | ast.IsNot):
            return Condition("not", tuple(tests), shown)
        return tests[0] if len(tests) == 1 else Condition("and", tuple(tests), shown)

    return read(ast.parse(skeleton, mode="eval").body)


def _refuse(text: str, at: int, remedy: str) -> NoReturn:
    """Refuse a condition for what stands at a place, counted from 0."""
    near = text[at : at + 15]
    where = f"at character {at + 1}, {near!r}: " if near else "at its end: "
    raise InvalidArgument("where", text, where + remedy)


def _words(text: str) -> Iterator[_Word]:
    """The words of a condition, the end as the last."""
    at, ended = 0, True  # whether the last word may be followed by another without a blank
    while at < len(text):
        if text[at].isspace():
            at, ended = at + 1, True
            continue
        found = _WORD.match(text, at)
        if found is None:
            wrong = next((w for w in _REMEDIES if text.startswith(w, at)), None)
            _refuse(text, at, _REMEDIES[wrong] if wrong else "this is not part of a condition")
        word, kind = found[0], str(found.lastgroup)
        operand: Any = None
        remedy = "a number, a text or a name ends here: is a blank missing?"
        if kind == "number":
            if re.match(r"[-+]?0[0-9]", word):
                _refuse(text, at, f"a number has no leading zero; text is quoted, '{word}'")
            if len(word) > MOST_DIGITS or not isfinite(float(word)):
                _refuse(text, at, "the number is too large or too long")
            kind, operand = "value", float(word) if {*word} & {*".eE"} else int(word)
            remedy = "arithmetic is not part of a condition: compute a column first"
        elif kind == "text":
            kind, operand = "value", word[1:-1].replace(word[0] * 2, word[0])
            remedy = "text stands alone, without a prefix and without + between parts"
        elif kind == "quoted":
            kind, operand = "name", Name(word[1:-1].replace("``", "`"))
        elif word in _PLAIN:
            kind, operand = "value", _PLAIN[word]
        elif word in _KEYWORDS or kind == "sign":
            kind = "sign" if word in _SIGNS else word
        else:
            operand = Name(word)
        if found["sign"] is None and not ended:
            _refuse(text, at, remedy)
        yield _Word(at, word, kind, operand)
        at, ended = found.end(), found["sign"] is not None
    yield _Word(len(text), "", "end")


def _checked(text: str, words: Iterable[_Word]) -> list[_Word]:
    """The words of a condition, without "not not"; refuse the first with which none goes on."""
    state, opened, kept = "start", list[_Word](), list[_Word]()
    for word in words:
        if word.text == "missing" and state in ("is", "is not"):
            word = _Word(word.at, word.text, "missing")
        closing = _BRACKETS[opened[-1].kind] if opened else "end"
        following, remedy = _GRAMMAR[state]
        kind = word.kind
        if kind not in following or (kind in (")", "]", "end") and kind != closing):
            _refuse_word(text, word, kept[-1] if kept else word, state, closing, remedy)
        if kind == "name" and word.text in _NOTHING:
            remedy = "write 'is missing' or 'is not missing' after a column's name"
            _refuse(text, word.at, remedy)
        if kind == "value" and word.operand == "":
            remedy = "empty text means missing: write 'is missing' after a column's name"
            _refuse(text, word.at, remedy)
        if kind in _BRACKETS:
            opened.append(word)
            if len(opened) == MOST_NESTED:
                _refuse(text, word.at, f"more than {MOST_NESTED} levels: pass a mask instead")
        elif kind == closing != "end":
            if opened.pop() is kept[-1]:
                _refuse(text, kept[-1].at, "the list is empty: name the values")
        if kind == "not" and state == "start" and kept and kept[-1].kind == "not":
            kept.pop()  # `ast` takes only so many
        else:
            kept.append(word)
        state = following[kind]
    return kept


def _refuse_word(
    text: str, word: _Word, before: _Word, state: str, closing: str, remedy: str
) -> NoReturn:
    """Refuse a word that does not go on with what has been read."""
    if state == "value":
        _refuse(text, before.at, remedy)
    if state == "value sign" and word.kind == "value":
        _refuse(text, before.at, "compares two values: one side must be a column")
    if word.kind == "name" and word.text.lower() in _KEYWORDS:
        remedy = f"write {word.text.lower()!r} in lower case"
    elif before.text in ("NOT", "Not"):
        remedy = "write 'not' in lower case"
    elif word.kind == "name" and word.text.lower() in ("between", "like"):
        remedy = f"{word.text!r} is not known here; write 18 <= age <= 64, or a list after 'in'"
    elif word.kind == "(" and before.kind == "name":
        remedy = "functions and methods are not part of a condition: compute a column first"
    elif state == "listed":
        remedy += closing
    elif remedy == _END and closing != "end":
        remedy = "a closing parenthesis is missing here"
    _refuse(text, word.at, remedy)


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
    found = [sides(part, column_of) for part in parts]
    trues, falses = zip(*found, strict=True)
    if sign == "and":
        return joined(operator.and_, trues), joined(operator.or_, falses)
    return joined(operator.or_, trues), joined(operator.and_, falses)


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

_MOST_DECIMAL = 10**38  # beyond it engines know no whole number


@dataclass(frozen=True, eq=False)
class Pushed(Column):
    """The distinct cells of a column as rows, (u,); numbers and dates have a type instead."""

    cells: Sequence[Any] = ()  # as they are stored, (u,)
    dtype: Any = None  # of Narwhals, where the engine compares
    rows: Any = field(default=None, repr=False)  # which are `Remote`

    @property
    def vacant(self) -> bool:
        return super().vacant if self.dtype is None else bool(self.rows.is_empty(self.name))

    @property
    def known(self) -> Any:
        if self.dtype is None:
            return self.holding(np.full(len(self.values), True))
        return known(self.name, self.dtype)

    def holding(self, chosen: Any) -> Any:
        some, rest = list[Any](), list[Any]()
        for cell, yes in zip(self.cells, super().holding(chosen), strict=True):
            if cell is not None:
                (some if yes else rest).append(cell)
        if len(some) <= len(rest):
            return self._among(some)
        there = known(self.name, self.dtype)
        return there & ~self._among(rest) if rest else there

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
        """Where numbers or dates, which are known, compare with a value."""
        import narwhals

        dtype = self.dtype
        if dtype is None:
            return super().compared(sign, wanted)
        col = narwhals.col(self.name)
        if dtype.is_decimal() and isinstance(wanted, int) and abs(wanted) < _MOST_DECIMAL:
            return SIGNS[sign](col, wanted)  # float has fewer digits
        if dtype.is_numeric() and not dtype.is_integer():
            return SIGNS[sign](col.cast(narwhals.Float64), float(wanted))
        unit: Any = None
        step = 1
        if dtype.is_integer():
            signed, bits = str(dtype).startswith("I"), int(str(dtype).lstrip("UInt"))
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        else:  # days, or microseconds, parts of which do not count
            unit, step = ("D", 86_400_000_000) if dtype == narwhals.Date else ("us", 1)
            if unit == "us" and dtype.time_unit in ("s", "ms"):  # Polars would cut the bounds to it
                col = col.cast(narwhals.Datetime("us"))
            wanted = int(wanted.astype(np.int64))
            ends = np.array([dt.datetime.min, dt.datetime.max], dtype="M8[us]").astype(np.int64)
            low, high = (ends // step).tolist()
            if unit == "us" and dtype.time_unit == "ns":
                low, high = -(1 << 63) // 1000 + 1, ((1 << 63) - 1) // 1000

        def made(number: float) -> Any:
            return np.datetime64(int(number), unit).item() if unit else int(number)

        def at_least(bound: float) -> Any:
            return col >= made(max(bound, low)) if bound <= high else col > made(high)

        last, first = wanted // step, -(-wanted // step)
        if sign == "==":
            if first == last and unit != "us" and low <= first <= high:
                return col == made(first)
            return at_least(first) & ~at_least(last + 1)
        return at_least(last + 1) if sign == ">" else ~at_least(first)

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


def known(name: str, dtype: Any) -> Any:
    """Where a column, of this type if it has numbers or dates, has a value."""
    import narwhals

    col = narwhals.col(name)
    return ~col.is_null() & ~col.is_nan() if dtype and dtype.is_float() else ~col.is_null()
