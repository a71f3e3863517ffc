"""Checks of single arguments, each with the message a caller needs; numbers and text elsewhere.

Then names that people misspell, and text in HTML, LaTeX and a terminal.
"""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument

Array = npt.NDArray[Any]
Class = TypeVar("Class", bound=type)
Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(kind: type[Kind]) -> type[Kind]:
    """A frozen dataclass; two are equal only if they are one, as their arrays have many answers."""
    return dataclass(frozen=True, eq=False)(kind)


EPSILON_RANGE = (1e-6, 50.0)
_LEAST_LEVEL = 1e-300
_MOST_REPLICATES = 10_000_000


def named_only(*spellings: str) -> Callable[[Class], Class]:
    """Decorate a class whose numbers are keyword-only: an error for bare ones says how to write it.

    A bare number could be read as another quantity: 0.8 as an epsilon, or as a probability.
    """

    def decorated(kind: Class) -> Class:
        made = kind.__init__  # type: ignore[misc]
        _, *parameters = signature(made).parameters.values()
        unnamed = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)

        @wraps(made)
        def init(self: object, *given: object, **named: object) -> None:
            if len(given) > unnamed:
                remedy = f"needs its name: write {' or '.join(spellings)}"
                raise InvalidArgument(f"argument {unnamed + 1}", given[unnamed], remedy)
            made(self, *given, **named)

        kind.__init__ = init  # type: ignore[misc]
        return kind

    return decorated


def real_number(name: str, value: object, remedy: str) -> float:
    """Return a real number, infinity and NaN included, as a float; refuse text and booleans."""
    # numpy's durations count as integers
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Real | Decimal):
        raise InvalidArgument(name, value, remedy)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise InvalidArgument(name, value, remedy) from None


def positive_epsilon(name: str, value: object) -> float:
    """Return an epsilon in the range for which channels are exact in double precision."""
    low, high = EPSILON_RANGE
    remedy = f"must be a number from {low:g} to {high:g} (in nats), for example 1.0"
    number = real_number(name, value, remedy)
    if not low <= number <= high:
        raise InvalidArgument(name, value, remedy)
    return number


def positive_number(name: str, value: object, bounds: tuple[float, float]) -> float:
    """Return a finite number within bounds."""
    low, high = bounds
    remedy = f"must be a number from {low:g} {'on' if high == np.inf else f'to {high:g}'}"
    number = real_number(name, value, remedy)
    if not (low <= number <= high and number < np.inf):
        raise InvalidArgument(name, value, remedy)
    return number


def probability(name: str, value: object, *, zero: bool = True, one: bool = True) -> float:
    """Return a probability; `zero` and `one` say whether the ends are allowed."""
    bounds = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
    remedy = f"must be a probability in {bounds}"
    number = real_number(name, value, remedy)
    if not 0.0 <= number <= 1.0 or (number == 0.0 and not zero) or (number == 1.0 and not one):
        raise InvalidArgument(name, value, remedy)
    return number + 0.0  # -0.0 is 0, in a specification too


def level(alpha: object) -> float:
    """Return a significance level in (0, 1), of which small fractions do not underflow."""
    remedy = "must lie strictly between 0 and 1, for example 0.05"
    number = real_number("alpha", alpha, remedy)
    if not _LEAST_LEVEL <= number < 1.0:
        raise InvalidArgument("alpha", alpha, remedy)
    return number


def positive_integer(name: str, value: object, least: int = 1) -> int:
    """Return an integer that is at least `least`."""
    remedy = f"must be an integer of at least {least}, below 2**63"
    # numpy's durations count as integers
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Integral):
        raise InvalidArgument(name, value, remedy)
    number = int(value)
    if not least <= number < 2**63:
        raise InvalidArgument(name, value, remedy)
    return number


def replicates(name: str, value: object, least: int = 1) -> int:
    """Return a number of random draws, bounded so that the work ends."""
    number = positive_integer(name, value, least)
    if number > _MOST_REPLICATES:
        raise InvalidArgument(name, value, f"must be at most {_MOST_REPLICATES}")
    return number


def boolean(name: str, value: object) -> bool:
    """Return a truth value, of Python or numpy."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(name, value, "must be True or False")
    return bool(value)


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return `value` as plain text if it is one of `choices`."""
    text = str.__str__(value) if isinstance(value, str) else None
    if text not in choices:
        hint = did_you_mean(text, choices) if text else ""
        remedy = f"must be one of {', '.join(map(repr, choices))}{hint}"
        raise InvalidArgument(name, value, remedy)
    return text


def listed(name: str, value: object, remedy: str) -> list[Any]:
    """Return the elements of an ordered collection other than text; refuse anything else."""
    unordered = isinstance(value, str | bytes | set | frozenset | Mapping)
    if unordered or not isinstance(value, Iterable):
        raise InvalidArgument(name, value, remedy)
    try:
        return list(value)
    except Exception:  # somebody else's object may raise anything
        raise InvalidArgument(name, value, remedy) from None


def as_array(name: str, value: object, remedy: str) -> Array:
    """Return an argument as an array; refuse what cannot become one, and masked entries."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InvalidArgument(name, value, f"must not be masked: {remedy}")
    try:
        return np.asarray(value)
    except Exception:  # rows of several lengths; and somebody else's object may raise anything
        raise InvalidArgument(name, value, remedy) from None


def floats(value: Any) -> npt.NDArray[np.float64]:
    """An array of float64, as numpy reads it."""
    return np.asarray(value, dtype=np.float64)


def check_slice(name: str, value: slice, n: int) -> None:
    """Refuse a slice that does not choose among n positions."""
    try:
        value.indices(n)
    except (TypeError, ValueError):  # bounds that are no whole numbers; a step of zero
        remedy = "must be a slice of whole numbers, such as [:100], with a step other than 0"
        raise InvalidArgument(name, value, remedy) from None


def numbers(
    name: str, value: object, remedy: str, shape: tuple[int, ...] | None = None
) -> npt.NDArray[np.float64]:
    """Return real numbers as float64, of the given shape if any; refuse text."""
    array = as_array(name, value, remedy)
    if shape is not None and array.shape != shape:
        raise InvalidArgument(name, f"array of shape {array.shape}", remedy)
    real = array.dtype.kind in "biuf"
    if array.dtype == object:
        real = all(isinstance(number, Real | Decimal) for number in array.flat)
    if not real:
        what = f"array of {array.dtype}" if array.ndim and array.dtype != object else value
        raise InvalidArgument(name, what, remedy)
    try:
        with np.errstate(over="ignore"):  # infinite, which is refused where it must be
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(name, value, remedy) from None


def counts_vector(name: str, value: object, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return non-negative whole counts of the given shape as int64."""
    remedy = f"must be non-negative whole counts below 2**53 of shape {shape}"
    array = as_array(name, value, remedy)
    if array.shape != shape:
        raise InvalidArgument(name, f"array of shape {array.shape}", remedy)
    if array.dtype.kind not in "iuf":
        raise InvalidArgument(name, f"array of {array.dtype}", remedy)
    if array.dtype == np.float16:  # which ends below 2**53
        array = array.astype(np.float64)
    bad = ~np.isfinite(array) | (array < 0) | (array != np.floor(array)) | (array >= 2.0**53)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        at = ", ".join(map(str, first))
        raise InvalidArgument(f"{name}[{at}]", array[first].item(), remedy)
    return array.astype(np.int64)


def reports_in_all(name: str, n: Array) -> int:
    """Return the sum of non-negative counts; refuse 2**53 or more, where sums are not exact."""
    # in float64, as int64 wraps around at 2**63: exact below 2**53, and at least 2**53 above
    total = float(np.sum(n, dtype=np.float64))
    if total >= 2.0**53:
        remedy = "must be fewer than 2**53 reports in all, beyond which sums are not exact"
        raise InvalidArgument(name, int(total), remedy)
    return int(total)


def distribution(name: str, value: object, k: int, partial: bool = False) -> Array:
    """Return a probability vector of shape (k,); a `partial` one may sum to less than one."""
    most = "at most one" if partial else "one"
    remedy = f"must be {k} non-negative probabilities that sum to {most} (to 1e-9)"
    p = numbers(name, value, remedy, (k,))
    total = p.sum()
    if not (np.all(p >= 0.0) and (0.0 if partial else 1.0 - 1e-9) <= total <= 1.0 + 1e-9):
        raise InvalidArgument(name, p.tolist(), remedy)
    return p


def whole_below(codes: Array, bound: int) -> bool:
    """Whether an array holds integers from 0 to bound - 1 only."""
    if codes.dtype.kind not in "iu":
        return False
    codes = codes.astype(np.int64 if codes.dtype.kind == "i" else np.uint64, copy=False)
    # seen as unsigned, a negative code is a large one: one pass finds both kinds
    return not codes.size or bool(codes.view(np.uint64).max() < bound)


# -- Names that people misspell -------------------------------------------------------------------


_ALIKE = 0.75  # below which two labels are two answers, and not one misspelt
# what files say in place of an answer: the misspelt form of no answer
_NO_ANSWER = {"no answer", "no reply", "no response", "none given", "not answered", "not asked"}
_NO_ANSWER |= {"not applicable", "n/a", "na", "missing", "unknown", "refused", "refusal", "dk"}
_NO_ANSWER |= {"don't know", "dont know", "do not know", "prefer not to say", "keine angabe"}


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message: the known name that is most like one, whatever its case; or nothing."""
    folded = {text.casefold(): text for text in reversed(list(known))}
    alike = get_close_matches(str(name).strip().casefold(), folded, 1)
    return f"; did you mean {folded[alike[0]]!r}?" if alike else ""


def nearest_label(text: str, known: Iterable[object]) -> object | None:
    """The known label of which a text is a misspelt form; None if it is of none.

    A number is no misspelt form of another one, nor is "No answer" one of "No, never".
    """
    folded = {str(label).strip().casefold(): label for label in reversed(list(known))}
    given = text.strip().casefold()
    if given in folded or any(letter.isdigit() for letter in given):
        return folded.get(given)
    absent = given in _NO_ANSWER
    alike = get_close_matches(
        given, [t for t in folded if not absent or t in _NO_ANSWER], 1, _ALIKE
    )
    return folded[alike[0]] if alike else None


# -- Text in HTML, LaTeX and a terminal; small tables by which objects show themselves ------------


_LATEX = {c: f"\\{c}" for c in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values under a caption; all of it is text, not markup."""
    # a browser would break a caption to the width of the table
    style = "text-align:left; white-space:nowrap"
    head = f'<caption style="{style}">{html_text(caption)}</caption>'
    body = "".join(
        f'<tr><th style="text-align:left">{html_text(name)}</th>'
        f'<td style="text-align:left">{html_text(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{head}{body}</table>"


def html_lines(text: str) -> str:
    """Text whose lines and columns stay as they are printed; all of it is text, not markup."""
    return f"<pre>{html_text(text)}</pre>"


class Printed:
    """What a notebook shows as it is printed."""

    def _repr_html_(self) -> str:
        return html_lines(str(self))


def page_text(text: str, indent: int) -> str:
    """Text in lines of 80 columns, broken at blanks; what goes on below is indented."""
    how: Any = {"subsequent_indent": " " * indent, "break_long_words": False}
    together = re.sub(r"(\[[^][ ]+,) ([^][ ]+\])", "\\1\0\\2", text)  # both ends of an interval
    lines = [
        one if len(one) <= 80 else textwrap.fill(one, 80, break_on_hyphens=False, **how)
        for one in together.split("\n")
    ]
    return "\n".join(lines).replace("\0", " ")


def html_text(text: str) -> str:
    """A text in HTML; what is between two dollar signs is no mathematics to a notebook."""
    return html.escape(text).replace("$", "<span>$</span>")


def latex_text(text: str) -> str:
    """A text in LaTeX, whose special characters are text."""
    return "".join(_LATEX.get(character, character) for character in text)


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none to combine one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
