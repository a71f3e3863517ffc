"""The words of a condition on rows: names, values, and the signs between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn

from ldpstats.errors import InvalidArgument

__all__ = ["KEYWORDS", "PLAIN", "Token", "refuse", "tokens"]

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
    """A word of a condition.

    `kind` is "name", "value", "sign", "keyword" or "end"; `value` the name, the value or the sign,
    and `at` its position, counted from 1.
    """

    kind: str
    value: str | int | float | bool
    at: int


def refuse(text: str, at: int, remedy: str) -> NoReturn:
    """Refuse a condition for what stands at a position, counted from 1."""
    near = text[at - 1 : at + 14]
    where = f"at character {at}, {near!r}: " if near else "at its end: "
    raise InvalidArgument("where", text, where + remedy)


def tokens(text: str) -> Iterator[Token]:
    """The words of a condition, the end as the last.

    Text is quoted by ' or ", doubled where the text holds it; names that are not single words by `.
    """
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
            refuse(text, place + 1, _joined(token))
        yield token
        place, ended = found.end(), token.kind == "sign"
    yield Token("end", "", len(text) + 1)


def _token(text: str, found: re.Match[str]) -> Token:
    word, at = found[0], found.start() + 1
    if found["number"] is not None:
        if _LEADING_ZERO.match(word):
            refuse(text, at, f"a number has no leading zero; text is quoted, '{word}'")
        return Token("value", _number(text, word, at), at)
    if found["text"] is not None:
        return Token("value", word[1:-1].replace(word[0] * 2, word[0]), at)
    if found["quoted"] is not None:
        return Token("name", word[1:-1].replace("``", "`"), at)
    if found["sign"] is not None:
        return Token("sign", word, at)
    if word in PLAIN:
        return Token("value", PLAIN[word], at)
    return Token("keyword" if word in KEYWORDS else "name", word, at)


def _number(text: str, word: str, at: int) -> int | float:
    if not set(word) & set(".eE") and len(word) <= MOST_DIGITS:
        return int(word)
    number = float(word)
    if len(word) > MOST_DIGITS or not isfinite(number):
        refuse(text, at, "the number is too large or too long")
    return number


def _joined(token: Token) -> str:
    """Why a word cannot follow the last one without a blank."""
    if isinstance(token.value, str) and token.kind == "value":
        return "text stands alone, without a prefix and without + between parts"
    if token.kind == "value":
        return "arithmetic is not part of a condition: compute a column first"
    return "a number, a text or a name ends here: is a blank missing?"
