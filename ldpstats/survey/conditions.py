"""Conditions on rows, such as ``age >= 18 and region == 'n'``: one grammar for every table.

A condition is a Python expression of names, values, comparisons, ``and``, ``or``, ``not``, read by
`ast`; besides Python it has ``is missing``, ``is not missing``, ``true``, ``false``, and any name
in `backquotes`. `ast` sees a skeleton: blanks, brackets, operators, and "n" for the characters of
names and values. Nothing else of the text is ever Python.

A missing cell makes a test neither true nor false, as in SQL, and only rows for which the condition
is true are selected. `sides` finds where a condition is true and where it is false, from the same
of each test: masks of the rows in memory, or expressions that an engine evaluates.
"""

from __future__ import annotations

import ast
import datetime as dt
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import nearest_label
from ldpstats.errors import InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.survey.tables import DATE, Column

__all__ = ["Condition", "in_memory", "known", "parse", "pushed", "read", "sides"]

MOST_CHARACTERS, MOST_DIGITS, MOST_NESTED = 10_000, 40, 50


class Name(str):
    """A column."""

    __slots__ = ()


Value = str | int | float | bool


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
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUAL = ("==", "!=")
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


def read(given: object) -> Any:
    """A condition from text, or the expression of Narwhals that was given."""
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
            kind = "sign" if word in SIGNS else word
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


Mask = npt.NDArray[np.bool_]
Sides = tuple[Any, Any]
"""Where a condition is true, and where it is false: masks, or expressions of Narwhals."""
Test = Callable[[str, Name, Any], Sides]
"""The sides of a test, from its sign, its column, and the value, values or column beside it."""


def sides(condition: Condition, test: Test) -> Sides:
    """The sides of a condition, from those of each test in it."""
    parts = condition.parts
    if condition.sign == "not":
        true, false = sides(parts[0], test)
        return false, true
    if condition.sign not in ("and", "or"):
        return test(condition.sign, *parts)
    if len(parts) == 1:
        return sides(parts[0], test)
    # by halves, so that a long condition is not a deep one
    halves = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    (true, false), (also, nor) = (sides(replace(condition, parts=half), test) for half in halves)
    if condition.sign == "and":
        return true & also, false | nor
    return true | also, false & nor


def in_memory(rows: Any) -> Test:
    """Tests of the public columns of rows in memory, see `Held`: masks, (n,)."""

    def test(sign: str, name: Name, other: Any) -> tuple[Mask, Mask]:
        column = rows.public(name)
        if sign == "missing":
            return column.missing, ~column.missing
        known = ~column.missing
        if not isinstance(other, Name):
            true = np.append(_holds(column, sign, other), False)[column.codes]
            return true, known & ~true
        right = rows.public(other)
        _refuse_unlike(sign, column, right)
        known &= ~right.missing
        true = np.zeros(len(known), dtype=bool)
        if known.any():
            pair = [one.values[one.codes[known]] for one in (column, right)]
            if column.ordered and sign not in _EQUAL:
                pair = [one.codes[known] for one in (column, right)]
            true[known] = SIGNS[sign](*pair)
        return true, known & ~true

    return test


def _holds(column: Column, sign: str, value: Any) -> Mask:
    """For which distinct values of a column a test holds, shape (u,)."""
    if sign == "true":
        _refuse_unflagged(column)
        return column.values.astype(bool)
    if sign == "in":
        found: Mask = np.any([_holds(column, "==", one) for one in value], axis=0)
        return found
    wanted = _converted(column, value)
    if sign not in _EQUAL:
        _refuse_unordered(column)
        if column.ordered is None:
            return np.asarray(SIGNS[sign](column.values, wanted), dtype=bool)
    equal = np.asarray(column.values == wanted, dtype=bool)
    # text and categories that no row of the table has may be misspelled
    listed = column.kind == "text" or (column.ordered is not None and column.kind != "empty")
    if not equal.any() and (listed or sign not in _EQUAL):
        what = "value" if sign in _EQUAL else "category"
        close = nearest_label(str(value), [str(label) for label in column.values])
        hint = "" if close is None else f"; the nearest is {close!r}"
        raise UnknownCategory("where", value, f"is no {what} of {column.name!r}{hint}")
    if sign in _EQUAL:
        return equal if sign == "==" else ~equal
    return np.asarray(SIGNS[sign](np.arange(len(equal)), np.argmax(equal)), dtype=bool)


def _refuse_unflagged(column: Column) -> None:
    """Refuse a column that is no condition by itself."""
    if column.kind not in ("boolean", "empty"):
        remedy = f"holds {column.what}: compare it with a value"
        raise InvalidArgument("where", column.name, remedy)


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


def _converted(column: Column, value: Value) -> Any:
    """A value of a condition in the type of the column's values; refuse one of another kind."""
    kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
    if column.kind == "date" and isinstance(value, str):
        try:
            if DATE.fullmatch(value):  # numpy reads more, "now" included
                return np.datetime64(value.replace(" ", "T"), "us")
        except ValueError:  # the 31st of February
            pass
        remedy = f"is no date to compare {column.name!r} with: write '2024-12-31'"
        raise InvalidArgument("where", value, remedy)
    if column.kind not in (kind, "empty"):
        written = {"text": "text", "number": "a number", "boolean": "true or false"}[kind]
        ways = {
            "text": f"write text in quotes, '{value}', or make it a column of {kind}s",
            "number": "write a number, without quotes",
            "boolean": "write true or false",
            "date": "write a date in quotes, '2024-12-31'",
        }
        remedy = f"is {written}, but {column.name!r} holds {column.what}: {ways[column.kind]}"
        raise InvalidArgument("where", value, remedy)
    return value


# -- tests as expressions that an engine evaluates where its rows are ------------------------------
# Text, booleans and categories: the truth of a test for each distinct value, as in memory. Numbers
# and dates, which may have as many values as rows, are compared by the engine. Every expression is
# true or false in every row, never unknown, so that engines need not agree on what that means.


MOST_PAIRS = 10_000  # pairs of distinct values by which two columns of text are compared

_MOST_DECIMAL = 10**38  # beyond it engines know no whole number
_NONE: Any = np.empty(0, dtype=np.int64)


def pushed(rows: Any) -> Test:
    """Tests of columns that an engine holds, see `Remote`: expressions of Narwhals."""

    def test(sign: str, name: Name, other: Any) -> Sides:
        if isinstance(other, Name):
            return _sides_of_two(rows, sign, name, other)
        dtype = rows.compared(name)
        if dtype is None:
            values, (raw,) = rows.distinct([name])
            true, false = in_memory(values)(sign, name, other)
            return _among(name, raw, true), _among(name, raw, false)
        there = known(name, dtype)
        if sign == "missing":
            return ~there, there
        column = _compared(rows, name, dtype)
        if sign == "true":
            _refuse_unflagged(column)
        wanted = [_converted(column, value) for value in (other if sign == "in" else [other])]
        if column.kind == "empty":
            return there & ~there, there & ~there
        sign = "==" if sign == "in" else sign
        holds = _any_of([_against(name, dtype, sign, value) for value in wanted])
        return there & holds, there & ~holds

    return test


def known(name: str, dtype: Any) -> Any:
    """Where a column of this type has a value."""
    import narwhals

    col = narwhals.col(name)
    return ~col.is_null() & ~col.is_nan() if dtype.is_float() else ~col.is_null()


def _compared(rows: Any, name: str, dtype: Any) -> Column:
    """A column of numbers or dates, without values."""
    kind = "number" if dtype.is_numeric() else "date"
    return Column(name, "empty" if rows.is_empty(name) else kind, _NONE, _NONE)


def _any_of(parts: list[Any]) -> Any:
    """One of several expressions, joined by halves."""
    if len(parts) == 1:
        return parts[0]
    return _any_of(parts[: len(parts) // 2]) | _any_of(parts[len(parts) // 2 :])


def _against(name: str, dtype: Any, sign: str, value: Any) -> Any:
    """Where a column of numbers or dates, which is known, compares with a value."""
    import narwhals

    col = narwhals.col(name)
    if dtype.is_decimal() and isinstance(value, int) and abs(value) < _MOST_DECIMAL:
        return SIGNS[sign](col, value)  # float has fewer digits
    if dtype.is_numeric() and not dtype.is_integer():
        return SIGNS[sign](col.cast(narwhals.Float64), float(value))
    unit: Any = None
    step = 1
    if dtype.is_integer():
        signed, bits = str(dtype).startswith("I"), int(str(dtype).lstrip("UInt"))
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    else:  # days, or microseconds, parts of which do not count
        unit, step = ("D", 86_400_000_000) if dtype == narwhals.Date else ("us", 1)
        if unit == "us" and dtype.time_unit in ("s", "ms"):  # Polars would cut the bounds to that
            col = col.cast(narwhals.Datetime("us"))
        value = int(value.astype(np.int64))
        ends = np.array([dt.datetime.min, dt.datetime.max], dtype="M8[us]").astype(np.int64)
        low, high = (ends // step).tolist()
        if unit == "us" and dtype.time_unit == "ns":
            low, high = -(1 << 63) // 1000 + 1, ((1 << 63) - 1) // 1000

    def made(number: float) -> Any:
        return np.datetime64(int(number), unit).item() if unit else int(number)

    def at_least(bound: float) -> Any:
        return col >= made(max(bound, low)) if bound <= high else col > made(high)

    last, first = value // step, -(-value // step)
    if first == last and unit != "us" and sign in _EQUAL and low <= first <= high:
        return SIGNS[sign](col, made(first))
    tests = {">=": at_least(first), ">": at_least(last + 1)}
    tests |= {"<": ~tests[">="], "<=": ~tests[">"], "==": tests[">="] & ~tests[">"]}
    return ~tests["=="] if sign == "!=" else tests[sign]


def _among(name: str, raw: Sequence[Any], chosen: Any) -> Any:
    """Where a column holds one of its distinct values that are `chosen`, (u,)."""
    import narwhals

    col = narwhals.col(name)
    there = ~col.is_null()
    picked = [value for value, yes in zip(raw, chosen, strict=True) if yes]
    values = [value for value in picked if value is not None]
    found = there & col.is_in(values) if values else there & ~there
    return found | ~there if None in picked else found


def _sides_of_two(rows: Any, sign: str, *names: Name) -> Sides:
    """Where a comparison of two columns is true and false."""
    import narwhals

    types = [rows.compared(name) for name in names]
    columns = [
        rows.distinct([name])[0].public(name) if dtype is None else _compared(rows, name, dtype)
        for name, dtype in zip(names, types, strict=True)
    ]
    _refuse_unlike(sign, *columns)
    if None in types:
        values, raw = rows.distinct(names)
        if len(values) > MOST_PAIRS:
            raise NotAvailable(
                f"{names[0]!r} {sign} {names[1]!r}: the two columns have {len(values)} different "
                f"pairs of values, {MOST_PAIRS} at most: add a column of booleans to the table, "
                "and select by that"
            )
        true, false = (
            _pairs(names, types, raw, chosen) for chosen in in_memory(values)(sign, *names)
        )
        return true, false
    there = known(names[0], types[0]) & known(names[1], types[1])
    if "empty" in (columns[0].kind, columns[1].kind):
        return there & ~there, there & ~there
    pair = [narwhals.col(name) for name in names]
    if types[0] != types[1] and not all(dtype.is_integer() for dtype in types):
        both = narwhals.Float64() if types[0].is_numeric() else narwhals.Datetime("us")
        pair = [col.cast(both) for col in pair]
    true = SIGNS[sign](*pair)
    return there & true, there & ~true


def _pairs(names: Sequence[str], types: Sequence[Any], raw: Any, chosen: Any) -> Any:
    """Where two columns hold one of the pairs of their distinct values that are `chosen`."""
    partners: dict[Any, list[Any]] = {}
    for first, second, yes in zip(*raw, chosen, strict=True):
        if yes:
            partners.setdefault(first, []).append(second)

    def held(side: int, values: list[Any]) -> Any:
        name, dtype = names[side], types[side]
        if dtype is None:
            return _among(name, values, [True] * len(values))
        if not dtype.is_numeric():
            values = [np.datetime64(value, "us") for value in values]
        return known(name, dtype) & _any_of([_against(name, dtype, "==", v) for v in values])

    found = [held(0, [one]) & held(1, rest) for one, rest in partners.items()]
    return _any_of(found) if found else _among(names[0], [], [])
