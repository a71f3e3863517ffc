"""Conditions on rows, such as ``age >= 18 and region == 'n'``: one grammar for every table.

Read into a tree of the tests below, a condition is found true or false for the distinct values of
columns in memory, or becomes an expression that an engine evaluates.

    condition  := both ("or" both)*
    both       := single ("and" single)*
    single     := "not" single | "(" condition ")" | test
    test       := name                                  a column of booleans
                | name "is" ["not"] "missing"
                | name ["not"] "in" list                list := "[" value ("," value)* "]", or (...)
                | operand (sign operand)+               sign := == != < <= > >=
    operand    := name | value

Names are words, or anything in `backquotes`; values are numbers, 'text', "text", true and false.
``18 <= age < 65`` means ``18 <= age and age < 65``. A missing cell makes a test neither true nor
false, as in SQL, and only rows for which the condition is true are selected.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, isfinite
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import nearest_label
from ldpstats.errors import InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.survey.tables import DATE, Column

__all__ = ["And", "Condition", "columns_in", "expression", "known", "parse", "truth", "words"]


Value = str | int | float | bool

MOST_NESTED = 50
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOTHING = ("None", "null", "NULL", "nan", "NaN", "NA")


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True)
class Compare:
    """A column compared with a value or with another column; `sign` is one of == != < <= > >=."""

    left: Name
    sign: str
    right: Name | Value


@dataclass(frozen=True)
class Among:
    """A column whose value is one of several."""

    left: Name
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Missing:
    """A column without a value."""

    left: Name


@dataclass(frozen=True)
class Holds:
    """A column of booleans that is true."""

    left: Name


@dataclass(frozen=True)
class Not:
    """The contrary; unknown stays unknown."""

    part: Condition


@dataclass(frozen=True)
class And:
    """All of several conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    """One of several conditions, or more."""

    parts: tuple[Condition, ...]


Condition = Compare | Among | Missing | Holds | Not | And | Or


def parse(text: object) -> Condition:
    """Read a condition; the error about anything else says where, and what to write instead."""
    if not isinstance(text, str) or not text.strip():
        remedy = "must be text such as \"age >= 18 and region == 'n'\"; masks go into survey[mask]"
        raise InvalidArgument("where", text, remedy)
    parser = _Parser(text)
    condition = parser.condition()
    if parser.next.kind != "end":
        parser.refuse_next("here the condition should end, or go on with 'and' or 'or'")
    return condition


def words(condition: Condition) -> str:
    """A condition as it may be written: `parse` of it is the same."""
    if isinstance(condition, And | Or):
        joint = " and " if isinstance(condition, And) else " or "
        return joint.join(
            f"({words(p)})" if isinstance(p, And | Or) else words(p) for p in condition.parts
        )
    if isinstance(condition, Not):
        part = words(condition.part)
        return f"not ({part})" if isinstance(condition.part, And | Or | Not) else f"not {part}"
    left = _spelled(condition.left)
    if isinstance(condition, Compare):
        return f"{left} {condition.sign} {_spelled(condition.right)}"
    if isinstance(condition, Among):
        return f"{left} in [{', '.join(map(_spelled, condition.values))}]"
    return f"{left} is missing" if isinstance(condition, Missing) else left


def _spelled(part: Name | Value) -> str:
    if isinstance(part, Name):
        plain = part.name.isidentifier() and part.name not in (*KEYWORDS, *PLAIN, *_NOTHING)
        return part.name if plain else f"`{part.name.replace('`', '``')}`"
    if isinstance(part, str):
        return "'" + part.replace("'", "''") + "'"
    return str(part).lower() if isinstance(part, bool) else repr(part)


class _Parser:
    """Recursive descent, one word ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(tokens(text))
        self.place = 0
        self.depth = 0

    # -- words ---------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.words[self.place]

    def follows(self, *values: str) -> bool:
        """Whether one of these signs or keywords comes next."""
        return self.next.kind in ("sign", "keyword") and self.next.value in values

    def take(self) -> Token:
        token = self.next
        self.place += token.kind != "end"
        return token

    def took(self, *values: str) -> bool:
        """Go on if one of these comes next."""
        return self.follows(*values) and bool(self.take())

    def refuse_next(self, remedy: str) -> NoReturn:
        token, before = self.next, self.words[self.place - 1] if self.place else None
        word = str(token.value)
        if token.kind == "name" and word.lower() in ("and", "or", "not", "in", "is"):
            remedy = f"write {word.lower()!r} in lower case"
        elif before and before.kind == "name" and before.value in ("NOT", "Not"):
            remedy = "write 'not' in lower case"
        elif token.kind == "name" and word in ("between", "like", "BETWEEN", "LIKE"):
            remedy = f"{word!r} is not known here; write 18 <= age <= 64, or a list after 'in'"
        elif token.value == "(" and token.kind == "sign" and before and before.kind == "name":
            remedy = "functions and methods are not part of a condition: compute a column first"
        refuse(self.text, token.at, remedy)

    # -- grammar -------------------------------------------------------------------------------

    def condition(self) -> Condition:
        self.depth += 1
        if self.depth > MOST_NESTED:
            refuse(self.text, self.next.at, f"more than {MOST_NESTED} levels: pass a mask instead")
        parts = [self.both()]
        while self.took("or"):
            parts.append(self.both())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def both(self) -> Condition:
        parts = [self.single()]
        while self.took("and"):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def single(self) -> Condition:
        negations = 0
        while self.took("not"):
            negations += 1
        if self.took("("):
            found = self.condition()
            if not self.took(")"):
                self.refuse_next("a closing parenthesis is missing here")
        else:
            found = self.test()
        return Not(found) if negations % 2 else found

    def test(self) -> Condition:
        start = self.next
        left = self.operand()
        parts: list[Condition] = []
        while self.follows(*_COMPARISONS):
            sign = self.take()
            right = self.operand()
            spelled = str(sign.value)
            if isinstance(left, Name):
                parts.append(Compare(left, spelled, right))
            elif isinstance(right, Name):
                parts.append(Compare(right, _FLIPPED[spelled], left))
            else:
                refuse(self.text, sign.at, "compares two values: one side must be a column")
            left = right
        if parts:
            return parts[0] if len(parts) == 1 else And(tuple(parts))
        if not isinstance(left, Name):
            refuse(self.text, start.at, "a value alone is no condition: compare a column with it")
        if self.took("in"):
            return Among(left, self.listed())
        if self.took("is"):
            negated = self.took("not")
            if self.next.kind != "name" or self.next.value != "missing":
                self.refuse_next("after 'is' write 'missing' or 'not missing'")
            self.take()
            return Not(Missing(left)) if negated else Missing(left)
        if self.follows("not"):
            self.take()
            if not self.took("in"):
                self.refuse_next("after a name, 'not' goes on with 'in'")
            return Not(Among(left, self.listed()))
        return Holds(left)

    def operand(self) -> Name | Value:
        token = self.next
        if token.kind == "name":
            if token.value in _NOTHING:
                self.refuse_next("write 'is missing' or 'is not missing' after a column's name")
            self.take()
            if self.follows("("):
                self.refuse_next("here the test should go on")
            return Name(str(token.value))
        if token.kind != "value":
            self.refuse_next("a column's name or a value is missing here")
        return self.value()

    def listed(self) -> tuple[Value, ...]:
        opened = self.next
        if not self.took("(", "["):
            self.refuse_next("after 'in' write a list, such as ['n', 's']")
        closing = ")" if opened.value == "(" else "]"
        values: list[Value] = []
        while not self.took(closing):
            values.append(self.value())
            if not self.took(",") and not self.follows(closing):
                self.refuse_next(f"the list goes on with a comma or ends with {closing}")
        if not values:
            refuse(self.text, opened.at, "the list is empty: name the values")
        return tuple(values)

    def value(self) -> Value:
        token = self.next
        if token.kind != "value":
            self.refuse_next("a value is missing here: a number, true, false, or text in quotes")
        if token.value == "" and isinstance(token.value, str):
            self.refuse_next("empty text means missing: write 'is missing' after a column's name")
        self.take()
        return token.value


# -- The words of a condition on rows: names, values, and the signs between them ------------------


MOST_CHARACTERS = 10_000
MOST_DIGITS = 40
KEYWORDS = ("and", "or", "not", "in", "is")

_TOKEN = re.compile(
    r"""
    (?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
  | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
  | (?P<quoted>`(?:[^`]|``)+`)
  | (?P<name>[^\W\d]\w*)
  | (?P<sign>==|!=|<=|>=|<(?!>)|>|\(|\)|\[|\]|,)
    """,
    re.VERBOSE,
)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
PLAIN = {"True": True, "true": True, "False": False, "false": False}

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


@dataclass(frozen=True)
class Token:
    """A word of a condition."""

    kind: str  # "name", "value", "sign", "keyword" or "end"
    value: str | int | float | bool  # the name, the value or the sign
    at: int  # its position, counted from 1


def refuse(text: str, at: int, remedy: str) -> NoReturn:
    """Refuse a condition for what stands at a position, counted from 1."""
    near = text[at - 1 : at + 14]
    where = f"at character {at}, {near!r}: " if near else "at its end: "
    raise InvalidArgument("where", text, where + remedy)


def tokens(text: str) -> Iterator[Token]:
    """The words of a condition, the end as the last."""
    if len(text) > MOST_CHARACTERS:
        remedy = f"has {len(text)} characters, {MOST_CHARACTERS} at most: pass a mask, survey[mask]"
        raise InvalidArgument("where", text, remedy)
    place, ended = 0, True  # whether the last word may be followed by another without a blank
    while place < len(text):
        if text[place].isspace():
            place, ended = place + 1, True
            continue
        found = _TOKEN.match(text, place)
        if found is None:
            wrong = next((w for w in _REMEDIES if text.startswith(w, place)), None)
            remedy = _REMEDIES[wrong] if wrong else "this is not part of a condition"
            refuse(text, place + 1, remedy)
        token = _token(text, found)
        if token.kind != "sign" and not ended:
            remedy = "a number, a text or a name ends here: is a blank missing?"
            if token.kind == "value":
                remedy = "arithmetic is not part of a condition: compute a column first"
                if isinstance(token.value, str):
                    remedy = "text stands alone, without a prefix and without + between parts"
            refuse(text, place + 1, remedy)
        yield token
        place, ended = found.end(), token.kind == "sign"
    yield Token("end", "", len(text) + 1)


def _token(text: str, found: re.Match[str]) -> Token:
    word, at = found[0], found.start() + 1
    if found["number"] is not None:
        if _LEADING_ZERO.match(word):
            refuse(text, at, f"a number has no leading zero; text is quoted, '{word}'")
        if not set(word) & set(".eE") and len(word) <= MOST_DIGITS:
            return Token("value", int(word), at)
        number = float(word)
        if len(word) > MOST_DIGITS or not isfinite(number):
            refuse(text, at, "the number is too large or too long")
        return Token("value", number, at)
    if found["text"] is not None:
        return Token("value", word[1:-1].replace(word[0] * 2, word[0]), at)
    if found["quoted"] is not None:
        return Token("name", word[1:-1].replace("``", "`"), at)
    if found["sign"] is not None:
        return Token("sign", word, at)
    if word in PLAIN:
        return Token("value", PLAIN[word], at)
    return Token("keyword" if word in KEYWORDS else "name", word, at)


# -- Rows of a table for which a condition holds --------------------------------------------------


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
        whole = truth(condition.parts[0], rows)
        for one in condition.parts[1:]:
            part = truth(one, rows)
            if isinstance(condition, And):
                whole = Truth(whole.true & part.true, whole.false | part.false)
            else:
                whole = Truth(whole.true | part.true, whole.false & part.false)
        return whole
    column = rows.public(condition.left.name)
    if isinstance(condition, Missing):
        return Truth(column.missing, ~column.missing)
    if isinstance(condition, Compare) and isinstance(condition.right, Name):
        right = rows.public(condition.right.name)
        refuse_unlike(condition.sign, column, right)
        known = ~column.missing & ~right.missing
        true = np.zeros(len(known), dtype=bool)
        if known.any():
            pair = [column.values[column.codes[known]] for column in (column, right)]
            if column.ordered and condition.sign not in _EQUAL:
                pair = [column.codes[known] for column in (column, right)]
            true[known] = SIGNS[condition.sign](*pair)
        return Truth(true, known & ~true)
    true = np.append(_holds(condition, column), False)[column.codes]
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
    wanted = converted(column, value)
    if column.ordered is not None:
        _refuse_unordered(column)
        place = np.flatnonzero(column.values == wanted)
        if not place.size:
            raise UnknownCategory("where", value, f"is no category of {_nearest(column, value)}")
        return np.asarray(SIGNS[sign](np.arange(len(column.values)), place[0]), dtype=bool)
    _refuse_unordered(column)
    return np.asarray(SIGNS[sign](column.values, wanted), dtype=bool)


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
        try:
            if DATE.fullmatch(value):  # numpy reads more, "now" included
                return np.datetime64(value.replace(" ", "T"), "us")
        except ValueError:  # the 31st of February
            pass
        remedy = f"is no date to compare {column.name!r} with: write '2024-12-31'"
        raise InvalidArgument("where", value, remedy)
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


# -- Conditions as expressions that an engine evaluates where its rows are ------------------------
# Text, booleans and categories: the truth of a test for each distinct value, as in memory. Numbers
# and dates, which may have as many values as rows, are compared by the engine. Every expression is
# true or false in every row, never unknown, so that engines need not agree on what that means.


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
    """The rows for which a condition is true, as an expression of Narwhals."""
    return _sides(condition, rows).true


def _sides(condition: Condition, rows: Asked) -> _Sides:
    if isinstance(condition, Not):
        part = _sides(condition.part, rows)
        return _Sides(part.false, part.true)
    if isinstance(condition, And | Or):
        parts = [_sides(part, rows) for part in condition.parts]
        true, false = [part.true for part in parts], [part.false for part in parts]
        if isinstance(condition, And):
            return _Sides(_in_pairs(true, all_of=True), _in_pairs(false, all_of=False))
        return _Sides(_in_pairs(true, all_of=False), _in_pairs(false, all_of=True))
    if isinstance(condition, Compare) and isinstance(condition.right, Name):
        return _sides_of_two(condition, condition.right.name, rows)
    dtype = rows.compared(condition.left.name)
    if dtype is None:
        name = condition.left.name
        values, (raw,) = rows.distinct([name])
        found = truth(condition, values)
        return _Sides(_among(name, raw, found.true), _among(name, raw, found.false))
    column = _Compared(condition.left.name, dtype, rows)
    if isinstance(condition, Missing):
        return _Sides(~column.known, column.known)
    tests: list[tuple[str, Any]] = []
    if isinstance(condition, Holds):
        refuse_flag(column.column)
    elif isinstance(condition, Among):
        tests = [("==", value) for value in condition.values]
    else:
        tests = [(condition.sign, condition.right)]
    met = []
    for sign, value in tests:
        wanted = converted(column.column, value)
        if column.column.kind != "empty":
            met.append(column.test(sign, wanted))
    holds = _in_pairs(met, all_of=False) if met else column.never
    return _Sides(holds, column.known & ~holds)


def _in_pairs(parts: list[Any], all_of: bool) -> Any:
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


# -- values that are compared here -----------------------------------------------------------------


def _among(name: str, raw: Sequence[Any], chosen: Any) -> Any:
    """Where a column holds one of its distinct values that are `chosen`, (u,)."""
    import narwhals

    col = narwhals.col(name)
    there = ~col.is_null()
    picked = [value for value, yes in zip(raw, chosen, strict=True) if yes and value is not None]
    found = there & col.is_in(picked) if picked else there & ~there
    missing = any(yes and value is None for value, yes in zip(raw, chosen, strict=True))
    return found | ~there if missing else found


def _sides_of_two(condition: Compare, other: str, rows: Asked) -> _Sides:
    """Where a comparison of two columns is true and false."""
    import narwhals

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
        values, raw = rows.distinct(names)
        if len(values) > MOST_PAIRS:
            raise NotAvailable(
                f"{names[0]!r} {condition.sign} {names[1]!r}: the two columns have {len(values)} "
                f"different pairs of values, {MOST_PAIRS} at most: add a column of booleans to the "
                "table, and select by that"
            )
        found = truth(condition, values)
        return _Sides(_pairs(sides, raw, found.true), _pairs(sides, raw, found.false))
    if "empty" in (left.column.kind, right.column.kind):
        return _Sides(left.never, left.never)
    known = left.known & right.known
    pair, kinds = [left.col, right.col], {left.dtype, right.dtype}
    if len(kinds) > 1 and not all(kind.is_integer() for kind in kinds):
        both = narwhals.Float64() if left.dtype.is_numeric() else narwhals.Datetime("us")
        pair = [col.cast(both) for col in pair]
    true = known & SIGNS[sign](*pair)
    return _Sides(true, known & ~true)


def _pairs(sides: Sequence[_Compared | str], raw: Sequence[Sequence[Any]], chosen: Any) -> Any:
    """Where two columns hold one of the pairs that are `chosen`."""
    partners: dict[Any, list[Any]] = {}
    for first, second, yes in zip(*raw, chosen, strict=True):
        if yes:
            partners.setdefault(first, []).append(second)
    found = [_held(sides[0], [one]) & _held(sides[1], rest) for one, rest in partners.items()]
    return _in_pairs(found or [_held(sides[0], [])], all_of=False)


def _held(side: _Compared | str, values: list[Any]) -> Any:
    """Where a column holds one of some values, which are known."""
    if isinstance(side, str):
        return _among(side, values, [True] * len(values))
    if not side.dtype.is_numeric():
        values = [np.datetime64(value, "us") for value in values]
    return _in_pairs([side.test("==", value) for value in values] or [side.never], False)
