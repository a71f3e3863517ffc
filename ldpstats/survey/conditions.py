"""Conditions on rows, such as ``age >= 18 and region == 'n'``: one grammar for every table.

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

from dataclasses import dataclass
from typing import NoReturn

from ldpstats.errors import InvalidArgument
from ldpstats.survey.tokens import KEYWORDS, PLAIN, Token, refuse, tokens

__all__ = [
    "Among",
    "And",
    "Compare",
    "Condition",
    "Holds",
    "Missing",
    "Name",
    "Not",
    "Or",
    "parse",
    "words",
]

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
    """Read a condition.

    Raises
    ------
    InvalidArgument
        For anything outside the grammar; the error says where, and what to write instead.
    """
    if not isinstance(text, str) or not text.strip():
        remedy = "must be text such as \"age >= 18 and region == 'n'\"; masks go into survey[mask]"
        raise InvalidArgument("where", text, remedy)
    return _Parser(text).whole()


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

    def whole(self) -> Condition:
        found = self.condition()
        if self.next.kind != "end":
            self.refuse_next("here the condition should end, or go on with 'and' or 'or'")
        return found

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
        if not self.follows(*_COMPARISONS):
            return self.about(left, start)
        parts: list[Condition] = []
        while self.follows(*_COMPARISONS):
            sign = self.take()
            right = self.operand()
            parts.append(self.comparison(left, sign, right))
            left = right
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def about(self, left: Name | Value, start: Token) -> Condition:
        """A test that is no comparison."""
        if not isinstance(left, Name):
            refuse(self.text, start.at, "a value alone is no condition: compare a column with it")
        if self.took("in"):
            return Among(left, self.listed())
        if self.took("is"):
            return self.absence(left)
        if self.follows("not"):
            self.take()
            if not self.took("in"):
                self.refuse_next("after a name, 'not' goes on with 'in'")
            return Not(Among(left, self.listed()))
        return Holds(left)

    def absence(self, left: Name) -> Condition:
        negated = self.took("not")
        if self.next.kind != "name" or self.next.value != "missing":
            self.refuse_next("after 'is' write 'missing' or 'not missing'")
        self.take()
        return Not(Missing(left)) if negated else Missing(left)

    def comparison(self, left: Name | Value, sign: Token, right: Name | Value) -> Condition:
        spelled = str(sign.value)
        if isinstance(left, Name):
            return Compare(left, spelled, right)
        if isinstance(right, Name):
            return Compare(right, _FLIPPED[spelled], left)
        refuse(self.text, sign.at, "compares two values: one side must be a column")

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
